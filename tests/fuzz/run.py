"""Run the fuzzers: ``python -m fuzz.run [targets] --minutes 5``, with ``tests`` on the path (``make fuzz``).

The seed is printed. A case that is mishandled is printed with the command that repeats it, and appended to
``tests/fuzz/kept.txt``, whose cases the test suite runs. Each processor runs its own cases in its own process, so that
a case that ends its process, or never ends, is found like any other. The targets share the time by ``SHARES``.
"""

import argparse
import datetime
import faulthandler
import multiprocessing
import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from . import SHARES, TARGETS, generator
from .limits import SECONDS, WAITING, TooLong, limited

KEPT = Path(__file__).parent / "kept.txt"
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
TABLE = re.compile(r"<!-- fuzz -->.*<!-- /fuzz -->", re.DOTALL)
MEMORY = Path("/dev/shm")  # files of cases stay in memory where they can
HANGING = 2 * WAITING * SECONDS  # seconds on the clock after which a process is ended
POLL = 0.2  # seconds
PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SPAWN = multiprocessing.get_context("spawn")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


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
    parser.add_argument("--jobs", type=int, default=PROCESSORS, help="Processes. Default: the processors, %(default)s.")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", type=int, default=None, help="The number of one case.")
    parser.add_argument("--forget", action="store_true", help="Do not append to kept.txt.")
    parser.add_argument("--write", action="store_true", help="Write the counts into docs/security.md.")
    options = parser.parse_args()
    seed = int(np.random.default_rng().integers(2**31)) if options.seed is None else options.seed
    print(f"seed {seed}")
    os.environ.update(dict.fromkeys(THREADS, "1"))  # each processor has a process of its own
    names = options.targets or list(TARGETS)
    if options.only is not None:
        problem = tried(names[0], seed, options.only)
        print(f"{names[0]} {seed} {options.only}: {problem or 'handled'}")
        return int(problem is not None)
    plan = Plan(names, seed, options.cases, options.jobs, time.monotonic() + 60 * options.minutes)
    workers, bad = [Worker(plan, i) for i in range(options.jobs)], dict.fromkeys(names, 0)
    for target, number, problem in _found(workers):
        bad[target] += 1
        print(f"{target}: {problem[:500]}\n  python -m fuzz.run {target} --seed {seed} --only {number}", flush=True)
        if not options.forget:
            with KEPT.open("a") as file:
                file.write(f"{target} {seed} {number}\n")
    tried_ = np.sum([worker.counts[:] for worker in workers], axis=0)
    counts = {name: (int(n), bad[name]) for name, n in zip(names, tried_, strict=True)}
    for name, (cases, mishandled) in counts.items():
        print(f"{name:14} {cases:8} tried {mishandled:6} mishandled")
    if options.write:
        _write(counts, seed)
    return int(any(bad.values()))


@dataclass
class Plan:
    """The cases of a run; process i of n runs the cases i, i + n, i + 2n, … of each target."""

    targets: list[str]
    seed: int
    cases: int
    processes: int
    end: float  # on the clock


class Worker:
    """A process that runs cases, and is started again after a case that ends it."""

    def __init__(self, plan: Plan, first: int):
        self.plan, self.first, self.done = plan, first, False
        self.now = SPAWN.Array("q", [0, first])  # the target and the number of the case that runs
        self.counts = SPAWN.Array("q", len(plan.targets))
        self.start()

    def start(self) -> None:
        """Start a process, at the case that is now."""
        self.pipe, theirs = SPAWN.Pipe(duplex=False)
        self.process = SPAWN.Process(target=_work, args=(theirs, self.plan, self.first, self.now, self.counts))
        self.process.start()
        theirs.close()
        self.seen, self.since = self.now[:], time.monotonic()

    def problems(self) -> Iterator[tuple[str, int, str]]:
        """Yield what was found since the last call."""
        if self.done:
            return
        try:
            while self.pipe.poll():
                yield self.pipe.recv()
        except EOFError:
            yield from self._ended()
        if self.now[:] != self.seen:
            self.seen, self.since = self.now[:], time.monotonic()
        elif time.monotonic() > self.since + HANGING:
            self.process.kill()

    def _ended(self) -> Iterator[tuple[str, int, str]]:
        """Yield the case that has ended the process, and go on behind it."""
        self.process.join()
        self.done = not self.process.exitcode or time.monotonic() > self.plan.end
        if self.process.exitcode:
            target, number = self.now[:]
            yield self.plan.targets[target], number, f"the process ends with {self.process.exitcode}"
            self.counts[target] += 1
            self.now[1] = number + self.plan.processes
        if not self.done:
            self.start()


def _found(workers: list[Worker]) -> Iterator[tuple[str, int, str]]:
    """Yield the cases that are mishandled until all processes are done, or the run is interrupted."""
    try:
        while not all(worker.done for worker in workers):
            for worker in workers:
                yield from worker.problems()
            time.sleep(POLL)
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        for worker in workers:
            worker.process.kill()


def _work(pipe: Connection, plan: Plan, first: int, now: Any, counts: Any) -> None:
    """Run the cases of one process; send those that are mishandled."""
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one answers
    tempfile.tempdir = str(MEMORY) if MEMORY.is_dir() else None
    start, at = now[:]
    shares = np.array([SHARES[name] for name in plan.targets[start:]])
    ends = plan.end - (plan.end - time.monotonic()) * (1 - np.cumsum(shares) / shares.sum())
    for i, end in enumerate(ends, start):
        for number in range(at if i == start else first, plan.cases, plan.processes):
            now[:] = i, number
            problem = tried(plan.targets[i], plan.seed, number)
            counts[i] += 1
            if problem is not None:
                pipe.send((plan.targets[i], number, problem))
            if time.monotonic() > end:
                break


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
