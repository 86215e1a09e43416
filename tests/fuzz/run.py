"""Run the fuzzers: ``python -m fuzz.run [targets] --minutes 5``, with ``tests`` on the path (``make fuzz``).

The seed is printed. A case that is mishandled is printed with the command that repeats it, and appended to
``tests/fuzz/kept.txt``, whose cases the test suite runs.
"""

import argparse
import datetime
import faulthandler
import re
import time
from pathlib import Path

import numpy as np

from . import TARGETS, generator
from .limits import TooLong, limited

KEPT = Path(__file__).parent / "kept.txt"
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
TABLE = re.compile(r"<!-- fuzz -->.*<!-- /fuzz -->", re.DOTALL)


def tried(target: str, seed: int, number: int) -> str | None:
    """Run one case; return what was mishandled, or None."""
    try:
        with limited():
            return TARGETS[target](generator(target, seed, number))
    except TooLong:
        return "it takes too long"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", help=f"Any of {', '.join(TARGETS)}. Default: all.")
    parser.add_argument("--minutes", type=float, default=5, help="For all targets together.")
    parser.add_argument("--cases", type=int, default=10**9, help="The most cases of each target.")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", type=int, default=None, help="The number of one case.")
    parser.add_argument("--forget", action="store_true", help="Do not append to kept.txt.")
    parser.add_argument("--write", action="store_true", help="Write the counts into docs/security.md.")
    options = parser.parse_args()
    faulthandler.enable()
    seed = int(np.random.default_rng().integers(2**31)) if options.seed is None else options.seed
    targets = options.targets or list(TARGETS)
    print(f"seed {seed}")
    counts = {target: _run(target, seed, options, 60 * options.minutes / len(targets)) for target in targets}
    for target, (cases, bad) in counts.items():
        print(f"{target:14} {cases:8} tried {bad:6} mishandled")
    if options.write:
        _write(counts, seed)
    return int(any(bad for _, bad in counts.values()))


def _run(target: str, seed: int, options: argparse.Namespace, seconds: float) -> tuple[int, int]:
    """Run cases of a target for some time; return how many, and how many were mishandled."""
    end, bad, number = time.monotonic() + seconds, 0, 0
    numbers = range(options.cases) if options.only is None else [options.only]
    for number in numbers:
        problem = tried(target, seed, number)
        if problem is not None:
            bad += 1
            print(f"{target}: {problem[:500]}\n  python -m fuzz.run {target} --seed {seed} --only {number}", flush=True)
            if options.only is None and not options.forget:
                with KEPT.open("a") as file:
                    file.write(f"{target} {seed} {number}\n")
        if time.monotonic() > end:
            break
    return (1 if options.only is not None else number + 1), bad


def _write(counts: dict[str, tuple[int, int]], seed: int) -> None:
    """Add the counts to those of the page, if they are from the same day."""
    text, today = PAGE.read_text(encoding="utf-8"), datetime.date.today().isoformat()
    before = dict(re.findall(r"^\| (\S+) \| ([\d,]+ \| [\d,]+) \|$", TABLE.search(text)[0], re.MULTILINE))
    old = {name: [int(n.replace(",", "")) for n in row.split(" | ")] for name, row in before.items()}
    rows = {
        name: np.add(old.get(name, [0, 0]) if today in text else [0, 0], counts.get(name, [0, 0])) for name in TARGETS
    }
    total = sum(rows.values())
    lines = [f"| {name} | {n:,} | {bad:,} |" for name, (n, bad) in {**rows, "all": total}.items()]
    head = [f"`make fuzz`, {today}, last seed {seed}:", "", "| target | tried | mishandled |", "|---|---|---|"]
    page = TABLE.sub("\n".join(["<!-- fuzz -->", *head, *lines, "<!-- /fuzz -->"]), text)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
