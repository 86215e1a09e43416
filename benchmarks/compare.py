"""Ten main cases in about three minutes, beside those of a stored run: ``make bench-compare``.

Ratios against scikit-learn are compared, from the least CPU seconds of alternating runs: they depend little on the
machine and on its load. ``--store`` replaces the stored run. A ratio that fell by a fifth is marked; the status is
always 0, since a shared machine is no judge.
"""

import json
import os
import sys
import time
import warnings
from datetime import date
from pathlib import Path

from cases import find
from limits import limits
from measure import in_fresh_process, interleaved, warm_up
from report import processor

FILE = Path(__file__).resolve().with_name("compare.json")
CASES = (
    "few-200",
    "few-1000-q10",
    "exact-5000",
    "exact-10000",
    "exact-5000-gamma0.5",
    "exact-10000-d256",
    "given-3000",
    "wide-1000",
    "landmarks-20000",
    "transform-float64",
)
ROUNDS = {True: 5, False: 2}  # of cases of at most FEW rows, and of others
FEW = 5000
FELL = 0.8  # of the stored ratio: what is less is marked


def main():
    smoke = "--smoke" in sys.argv[1:]  # tiny sizes, and nothing is stored: only shows that the script works
    start, stored = time.perf_counter(), json.loads(FILE.read_text()) if FILE.is_file() else {"cases": {}}
    load, found = os.getloadavg()[0], limits()
    results = {name: in_fresh_process(raced, name, smoke) for name in CASES}
    print(f"{processor()}, load {load:.1f}; {found}; {time.perf_counter() - start:.0f} s")
    print(f"Stored: {stored.get('machine', 'nothing')}, {stored.get('date', '')}, load {stored.get('load', '')}")
    print("\n".join(table(results, stored["cases"])))
    if "--store" in sys.argv[1:] and not smoke:
        facts = {"date": date.today().isoformat(), "machine": processor(), "load": round(load, 1), "limits": str(found)}
        FILE.write_text(json.dumps({**facts, "cases": results}, indent=1) + "\n")


def raced(name, smoke):
    """The least seconds of both sides, CPU and wall, and their ratios."""
    case = find(name, smoke)
    X = case.data()
    sides = {c.label: c for c in (case.ours, case.peers[0])}
    warm_up(sides.values(), X)
    with warnings.catch_warnings(action="ignore"):  # of few landmarks: the time is what counts here
        laps, _ = interleaved({k: c.ready(X) for k, c in sides.items()}, ROUNDS[case.data.n <= FEW], case.ours.label)
    (wall, cpu), (peer_wall, peer_cpu) = ([min(times) for times in zip(*laps[k], strict=True)] for k in sides)
    return {
        "cpu": round(cpu, 4),
        "wall": round(wall, 4),
        "ratio": round(peer_cpu / cpu, 3),
        "wall ratio": round(peer_wall / wall, 3),
    }


def table(results, stored):
    """One line for each case: seconds, ratio, and the ratio that is stored."""
    yield f"{'case':24} {'CPU s':>8} {'ratio':>7} {'stored':>7}  (ratio of wall seconds)"
    for name, now in results.items():
        before = stored.get(name, {}).get("ratio")
        mark = "  slower than stored" if before and now["ratio"] < FELL * before else ""
        yield f"{name:24} {now['cpu']:8.3f} {now['ratio']:7.2f} {before or '-':>7}  ({now['wall ratio']:.2f}){mark}"


if __name__ == "__main__":
    main()
