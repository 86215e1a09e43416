"""Measure mercer against its peers: ``python benchmarks/run.py [--full] [--smoke] [--only NAME …] [-o PAGE]``.

The results of a run with ``-o`` are kept in ``benchmarks/results/run.json``; ``--kept`` writes the page from them.
"""

import argparse
import os
import shlex
import sys
import time
import traceback
from fnmatch import fnmatch
from pathlib import Path

import kept
from cases import CASES
from chart import main as chart
from limits import limits
from measure import measure
from report import facts, page


def main():
    options = _options()
    if options.kept:
        return _write(options.output, *kept.read())
    chosen = _chosen(options)
    load, found = os.getloadavg()[0], limits()
    if options.smoke:  # BLAS on a busy machine is slow with several threads, and here nobody looks at the times
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
    results = [_watched(case, options.smoke, f"[{i}/{len(chosen)}]") for i, case in enumerate(chosen, 1)]
    measured = facts(_command(), load, found)
    if options.output and not options.smoke:
        kept.write(results, measured, found)
    return _write(options.output, results, measured, found, options.smoke)


def _write(output, results, measured, found, smoke=False):
    """Print the page, write it with its chart, and return whether a case failed."""
    text = page(results, measured, smoke, found)
    print(text, end="")
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
        pictures = output.parent / "images"
        pictures.mkdir(exist_ok=True)
        chart(output, pictures / "benchmarks.svg")
    return int(any(result.failed for result in results))


def _options():
    parser = argparse.ArgumentParser(description="Measure mercer against its peers.")
    parser.add_argument("--full", action="store_true", help="every case; the largest take minutes each")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: only shows that the suite works")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=["*"], help="names of cases, with * and ?")
    parser.add_argument("--kept", action="store_true", help="measure nothing: the page of the results that are kept")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE", help="write the page there too")
    return parser.parse_args()


def _chosen(options):
    """The cases of the short or the full run that were named."""
    active = [case for case in CASES if options.full or not case.full]
    chosen = [case for case in active if any(fnmatch(case.name, pattern) for pattern in options.only)]
    if not chosen:
        names = ", ".join(case.name + " (--full)" * case.full for case in CASES)
        sys.exit(f"No case is called {' '.join(options.only)}. There are: {names}.")
    return chosen


def _watched(case, smoke, count):
    """The result of a case, with a line on stderr before and after."""
    case = case.shrunk() if smoke else case
    print(f"{count} {case.name}: {case.title}", file=sys.stderr, flush=True)
    start = time.perf_counter()
    result = measure(case, smoke)
    print(f"    {_said(result)} ({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)
    if result.failed:
        traceback.print_exception(result.failed)
    return result


def _said(result):
    if result.skipped or result.failed:
        return f"skipped: {result.skipped}" if result.skipped else "FAILED"
    if result.series:
        return f"exponent {result.exponent:.2f}"
    against = f", {result.ratio:.3g}× as fast as {result.peer.label}" if result.peer else ""
    return f"{result.ours.seconds:.4g} s{against}"


def _command():
    return shlex.join(["python", "benchmarks/run.py", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
