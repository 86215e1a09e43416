"""The results of a run in a file, from which the page and its chart can be made again without measuring."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from cases import CASES, SIMD
from limits import Limits
from measure import Figures, Result

FILE = Path(__file__).parent / "results" / "run.json"


def write(results, facts, limits, path=FILE):
    """Store results, the facts about the run and the limits of its machine."""
    stored = {result.case.name: _stored(result) for result in results}
    content = {"facts": facts, "simd": SIMD, "limits": asdict(limits), "results": stored}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path=FILE):
    """Return the stored results of the cases that still exist, the facts and the limits."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if content["simd"] != SIMD:  # the targets are others
        sys.exit(f"These results were measured with {content['simd']}: set MERCER_SIMD, where the processor has it.")
    stored = content["results"]
    found = [_result(case, stored[case.name]) for case in CASES if case.name in stored]
    return found, content["facts"], Limits(**content["limits"])


def _stored(result):
    return {
        "ours": result.ours and asdict(result.ours),
        "peer": result.peer and asdict(result.peer),
        "series": result.series,
        "skipped": result.skipped,
        "failed": result.failed and [type(result.failed).__name__, str(result.failed)],
    }


def _result(case, stored):
    ours, peer = (stored[side] and Figures(**stored[side]) for side in ("ours", "peer"))
    series = {int(n): seconds for n, seconds in stored["series"].items()}
    return Result(case, ours, peer, series, stored["skipped"], stored["failed"] and _failure(*stored["failed"]))


def _failure(name, message):
    """Return an exception of the same name."""
    return type(name, (Exception,), {})(message)
