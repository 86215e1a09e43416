"""Apply each mutant to a copy of the package and run the tests that should find it: ``make mutants``.

A mutant is killed when an assertion of a test fails. A patch that does not apply, an import error, an error of another
type than AssertionError and tests that are not found do not count. The unchanged code passes the same tests first.

This process imports what the tests need but for mercer itself, and each mutant runs in a fork of it: most of the time
of a short test is that of its imports.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path

import pytest

from .outcome import Outcome
from .patches import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
SECONDS = 600  # a mutant that takes longer has survived
OPTIONS = (
    *("-q", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of the libraries that are imported already
)
LIBRARIES = ("hypothesis", "scipy.stats", "scipy.optimize", "sklearn.gaussian_process", "sklearn.svm", "threadpoolctl")


@dataclass(frozen=True)
class Verdict:
    """What the tests found: the test that killed the mutant, or what happened instead."""

    name: str
    killed_by: str | None
    passed: int
    others: tuple[str, ...]
    seconds: float

    @property
    def reason(self) -> str:
        """Why it was not killed."""
        return "; ".join(self.others[:3]) or f"all {self.passed} tests passed"


def patched(mutant: Mutant) -> str:
    """Return the text of the mutant's file with the patch; an error where the old text does not occur just once."""
    text = (ROOT / "src" / "mercer" / mutant.file).read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(
            f"The patch {mutant.name!r} does not apply: its text occurs {text.count(mutant.old)} times in "
            f"src/mercer/{mutant.file}. Change tests/mutants/patches.py with the code."
        )
    return text.replace(mutant.old, mutant.new)


def judged(mutants: list[Mutant], workers: int) -> Iterator[Verdict]:
    """Run the tests of each mutant against it, some at a time; yield the verdicts in the order of their ends."""
    context = multiprocessing.get_context("fork")
    waiting, running = list(mutants), {}
    while waiting or running:
        while waiting and len(running) < workers:
            receive, send = context.Pipe(duplex=False)
            mutant = waiting.pop(0)
            process = context.Process(target=_judge, args=(mutant, send))
            process.start()
            send.close()
            running[receive] = mutant, process, time.perf_counter()
        for receive in wait(list(running), timeout=1):
            mutant, process, start = running.pop(receive)
            yield _verdict(mutant, receive, time.perf_counter() - start)
            process.join()
        for receive, (mutant, process, start) in list(running.items()):
            if time.perf_counter() - start > SECONDS:
                process.kill()
                del running[receive]
                yield Verdict(mutant.name, None, 0, (f"more than {SECONDS} seconds",), SECONDS)


def _verdict(mutant: Mutant, receive: Connection, seconds: float) -> Verdict:
    try:
        killed_by, passed, others = receive.recv()
    except EOFError:
        killed_by, passed, others = None, 0, ("the process died",)
    return Verdict(mutant.name, killed_by, passed, tuple(others), seconds)


def _judge(mutant: Mutant, send: Connection) -> None:
    """Run pytest on a copy of the package with the patch, in this process, and send what it found."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src" / "mercer", source / "mercer")  # with the C extension and the bytecode
        if mutant.file:
            (source / "mercer" / mutant.file).write_text(patched(mutant), encoding="utf-8")
        sys.path.insert(0, str(source))
        sys.dont_write_bytecode = True
        os.environ["PYTHONPATH"] = str(source)  # for the processes that tests start
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        outcome = Outcome()
        pytest.main([*OPTIONS, *mutant.tests], plugins=[outcome])
        home = str(getattr(sys.modules.get("mercer"), "__file__", ""))
        others = outcome.others if home.startswith(folder) else [f"mercer was imported from {home!r}"]
        send.send((outcome.killed_by if home.startswith(folder) else None, outcome.passed, others))


def baseline(mutants: list[Mutant], workers: int) -> list[str]:
    """Run all tests of the mutants against the unchanged package; return what failed."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    shares = [Mutant(f"unchanged, part {i + 1}", "", "", "", tuple(tests[i::workers])) for i in range(workers)]
    failed = []
    for verdict in judged([share for share in shares if share.tests], workers):
        failed += [f"{verdict.killed_by}: AssertionError"] if verdict.killed_by else []
        failed += list(verdict.others) or ([] if verdict.passed else ["no test was run"])
    return failed


def main() -> int:
    """Print the table of the mutants; return 1 where one survived or the unchanged code fails."""
    parser = argparse.ArgumentParser(prog="python -m mutants.run", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="mutants to run (default: all)")
    parser.add_argument("--sample", type=int, help="run a random sample of this size")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--skip-unchanged", action="store_true", help="do not run the unchanged code first")
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.chdir(ROOT)
    chosen = [mutant for mutant in MUTANTS if not options.names or mutant.name in options.names]
    if options.sample:
        chosen = random.Random(options.seed).sample(chosen, options.sample)
    for mutant in chosen:
        patched(mutant)  # before anything is run
    for library in LIBRARIES:
        import_module(library)
    workers, start = os.cpu_count() or 1, time.perf_counter()
    if not options.skip_unchanged:
        failed = baseline(chosen, workers)
        if failed:
            print("The unchanged code does not pass:", *failed, sep="\n  ")
            return 1
        print(f"The unchanged code passes the tests of {len(chosen)} mutants in {time.perf_counter() - start:.0f} s")
    return _table(chosen, workers)


def _table(chosen: list[Mutant], workers: int) -> int:
    """Print mutant, time and the test that killed it, as they come."""
    width, start, survived = max(len(mutant.name) for mutant in chosen), time.perf_counter(), 0
    for verdict in judged(chosen, workers):
        survived += verdict.killed_by is None
        by = verdict.killed_by or f"SURVIVED: {verdict.reason}"
        print(f"{verdict.name:<{width}} {verdict.seconds:6.1f} s  {by}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} mutants killed in {time.perf_counter() - start:.0f} s")
    return min(survived, 1)


if __name__ == "__main__":
    sys.exit(main())
