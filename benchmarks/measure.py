"""Seconds, CPU seconds, peak memory and accuracy of a case: each taken in a process of its own.

The processes are forked from a server that has imported the libraries and done no work, so that no measurement sees
what an earlier one left behind, and this process stays too small to disturb any.
"""

import contextlib
import gc
import math
import multiprocessing
import resource
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cases import Case, find

FRESH = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
FRESH.set_forkserver_preload(["sklearn.decomposition", "sklearn.kernel_approximation", "mercer.models.kernel_pca"])
PAUSE = 0.25  # seconds: threads of BLAS wait for more work at full load for 0.1 s, and would slow the next contender
WARM_ROWS = 300  # of an untimed run of everyone: late imports, first threads
HOPELESS = 3  # a peer this many times slower than the fastest one cannot be the best of them
MEMORY_ROWS = 1000  # below, what an allocator keeps is more than what is used


@dataclass(frozen=True)
class Figures:
    """What is known of one contender; None where it was not asked for."""

    label: str
    seconds: float
    cpu: float
    error: float | None = None
    angle: float | None = None
    residual: float | None = None
    lost: float | None = None
    peak: float | None = None


@dataclass(frozen=True)
class Result:
    """A measured case."""

    case: Any
    ours: Figures | None = None
    peer: Figures | None = None
    series: dict[int, float] = field(default_factory=dict)
    skipped: str | None = None
    failed: Exception | None = None

    @property
    def ratio(self):
        return self.peer.seconds / self.ours.seconds

    @property
    def extra(self):
        return self.ours.seconds - self.peer.seconds

    @property
    def exponent(self):
        n, seconds = zip(*self.series.items(), strict=True)
        return float(np.polyfit(np.log(n), np.log(seconds), 1)[0])

    @property
    def marks(self):
        """Each bar with whether it was reached; none for a case that did not run."""
        if self.skipped or self.failed:
            return []
        return [(bar, bool(bar.reached(self))) for bar in self.case.bars]


def measure(case, smoke):
    """Run a case of ``CASES``."""
    if reason := case.missing():
        return Result(case, skipped=reason)
    try:
        return _versus(case, smoke) if isinstance(case, Case) else _growth(case, smoke)
    except Exception as error:  # one case that fails, or is killed for its memory, must not end the run
        return Result(case, failed=error)


def _versus(case, smoke):
    figures = in_fresh_process(race, case.name, smoke)
    if case.data.n >= MEMORY_ROWS:
        figures = [replace(f, peak=in_fresh_process(peak, case.name, smoke, f.label)) for f in figures]
    ours, *peer = figures
    return Result(case, ours, *peer)


def _growth(case, smoke):
    races = {step.data.n: in_fresh_process(race, step.name, smoke)[0] for step in case.steps}
    return Result(case, series={n: figures.seconds for n, figures in races.items()})


def in_fresh_process(f, *args):
    """f(*args), computed in a process that does nothing else."""
    with ProcessPoolExecutor(1, mp_context=FRESH) as pool:
        return pool.submit(f, *args).result()


def race(name, smoke):
    """Figures of ours, and of the best peer where there are any, from interleaved runs on the same rows."""
    case = find(name, smoke)
    X = case.data()
    contenders = {c.label: c for c in (*case.peers, case.ours)}
    warm_up(contenders.values(), X)
    laps, results = interleaved({label: c.ready(X) for label, c in contenders.items()}, case.rounds, case.ours.label)
    figures = [Figures(label, *map(median, zip(*laps[label], strict=True))) for label in laps]
    peers = sorted((f for f in figures if f.label != case.ours.label), key=lambda f: f.seconds)[:1]
    shown = [next(f for f in figures if f.label == case.ours.label), *peers]
    outcomes = {f.label: contenders[f.label].outcome(X, results[f.label]) for f in shown}
    exact, judge = _reference(case, X, outcomes, peers)
    return [_judged(f, outcomes[f.label], exact if f.label != judge else None) for f in shown]


def interleaved(works, rounds, ours):
    """Laps (wall, CPU) and last results: everyone once, then everyone again; hopeless peers are not asked again."""
    laps: dict[str, list] = {label: [] for label in works}
    results: dict[str, Any] = {}
    for _ in range(rounds):
        fastest = min((min(laps[label])[0] for label in works if laps[label] and label != ours), default=math.inf)
        for label, work in works.items():
            if label != ours and laps[label] and min(laps[label])[0] > HOPELESS * fastest:
                continue
            results.pop(label, None)  # its arrays are not to lie beside the new ones
            results[label], lap = timed(work)
            laps[label].append(lap)
    return laps, results


def timed(work):
    """What the work returns, and its seconds: wall, CPU of all threads."""
    gc.collect()
    time.sleep(PAUSE)
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def warm_up(contenders, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few rows
        for contender in contenders:
            contender.ready(X[:WARM_ROWS])()
    gc.freeze()  # what was imported need not be searched before every run


def _reference(case, X, outcomes, peers):
    """The outcome that judges, and the label of the contender that it came from, who is not judged by himself."""
    if case.reference is not None:
        X = X.astype(float)
        return case.reference.outcome(X, case.reference.ready(X)()), None
    if not peers:
        return None, None
    return outcomes[peers[0].label], peers[0].label


def _judged(figures, outcome, exact):
    figures = replace(figures, residual=outcome.residual, lost=outcome.lost)
    if exact is None:
        return figures
    error = None if exact.values is None else eigenvalue_error(outcome.values, exact.values)
    return replace(figures, error=error, angle=sine(outcome.vectors(), exact.vectors()))


def eigenvalue_error(values, exact):
    """max |λ̂ − λ| / λ over the leading eigenvalues that both have."""
    q = min(len(values), len(exact))
    return float(np.max(np.abs(values[:q].astype(float) - exact[:q]) / exact[:q]))


def sine(V, W):
    """The sine of the largest principal angle between the spans of the columns: ‖(I − PPᵀ)Q‖."""
    P, Q = (np.linalg.qr(A.astype(float))[0] for A in (V, W))
    return float(np.linalg.norm(Q - P @ (P.T @ Q), 2))


def peak(name, smoke, label):
    """Bytes that one run needs at most, beyond what the process held with its imports and its data."""
    case = find(name, smoke)
    contender = next(c for c in (case.ours, *case.peers) if c.label == label)
    X = case.data()
    warm_up([contender], X)
    work = contender.ready(X)
    gc.collect()
    _forget_peak()
    level = _peak_so_far()
    result = work()
    del result
    return _peak_so_far() - level


def _forget_peak():
    """Start the high-water mark anew at the present level, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_so_far():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
