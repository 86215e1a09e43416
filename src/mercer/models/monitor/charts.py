"""Charts of rows in time: smoothed statistics, their limits, alarms and the detection delay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.warn import warn
from .limits import Limits

UNEVEN = 1.5  # times the median time step: a longer step is a gap

Starts = Sequence[int] | np.ndarray  # the number of the first row of each run, except for the first run


@dataclass(frozen=True, eq=False)
class Chart:
    """T² and SPE of rows in time, smoothed, with their limits.

    ``beyond`` marks the rows where T² or SPE exceeds its limit. ``alarms`` marks the rows where enough of the last rows
    are beyond a limit.

    Examples
    --------
    >>> from mercer import KernelPCAMonitor, datasets
    >>> monitor = KernelPCAMonitor(random_state=0).fit(datasets.three_tanks(n=500)[0])
    >>> chart = monitor.chart(datasets.three_tanks(1, n=200, fault="sensor", start=100)[0])
    >>> chart.delay(100)
    0
    """

    t2: np.ndarray
    spe: np.ndarray
    limits: Limits
    beyond: np.ndarray
    alarms: np.ndarray

    def delay(self, start: int = 0) -> int | None:
        """Return the number of rows from ``start``, where a fault began, to the next alarm; None without an alarm."""
        later = np.flatnonzero(self.alarms[start:])
        return int(later[0]) if len(later) else None

    def false_alarm_rate(self, stop: int | None = None) -> float:
        """Return the share of alarms among the rows before ``stop``, where a fault began."""
        return float(np.mean(self.alarms[:stop]))

    def plot(self, of: str | None = None, start: int | None = None, ax: Any = None) -> Any:
        """Draw T² and SPE with alarms and their causes (:func:`mercer.plots.alarms`), or only ``of="t2"`` or ``"spe"``.

        ``start`` is the row where a fault began, if it is known.
        """
        from ... import plots

        if of is None:
            return plots.alarms(self, start, ax)
        return plots.timeline(getattr(self, of), getattr(self.limits, of), of, ax)

    @property
    def cause(self) -> np.ndarray:
        """The statistic that exceeds its limit by the larger factor, "t2" or "spe"; "" for rows within both limits."""
        with np.errstate(divide="ignore", invalid="ignore"):  # limits may be 0
            farther = np.where(self.t2 / self.limits.t2 > self.spe / self.limits.spe, "t2", "spe")
        return np.where(self.beyond, farther, "")

    def __str__(self) -> str:
        first = np.flatnonzero(self.alarms)
        word = f"first alarm at row {first[0]}" if len(first) else "no alarm"
        return f"{len(self.t2)} rows, {int(self.beyond.sum())} beyond a limit, {word}"


def chart(
    t2: np.ndarray, spe: np.ndarray, limits: Limits, smoothing: float, rule: tuple[int, int], starts: Starts = ()
) -> Chart:
    """Return the chart of statistics in time; smoothing and run rules start again at each of the rows ``starts``."""
    pieces = np.split(np.column_stack([t2, spe]), starts)
    t2, spe = np.concatenate([smoothed(piece, smoothing) for piece in pieces]).T
    beyond = (t2 > limits.t2) | (spe > limits.spe)
    return Chart(t2, spe, limits, beyond, alarms(beyond, rule, starts))


def alarms(beyond: np.ndarray, rule: tuple[int, int], starts: Starts = ()) -> np.ndarray:
    """Return a mask of the rows where at least k of the last m rows were beyond a limit, with ``rule`` = (k, m)."""
    return np.concatenate([_runs(piece, *rule) for piece in np.split(beyond, starts)])


def smoothed(values: np.ndarray, smoothing: float) -> np.ndarray:
    """The exponentially weighted moving average sₜ = (1 − a)sₜ₋₁ + a·vₜ of each column, a = ``smoothing``, s₀ = v₀."""
    from scipy.signal import lfilter

    if len(values) == 0 or smoothing == 1:
        return values
    start = (1 - smoothing) * values[:1]
    return lfilter([smoothing], [1, smoothing - 1], values, axis=0, zi=start)[0]


def _runs(beyond: np.ndarray, k: int, m: int) -> np.ndarray:
    counts = np.cumsum(beyond)
    before = np.concatenate([np.zeros(min(m, len(beyond)), counts.dtype), counts[:-m]])
    return counts - before >= k


def gaps_of(X: Any) -> list[int]:
    """Return the numbers of the rows after a gap in the time index of a frame; raise an error unless time increases."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(index, "freq") or not hasattr(index, "asi8") or len(index) < 2:
        return []
    steps = np.diff(index.asi8)
    if np.any(steps <= 0):
        row = int(np.argmax(steps <= 0)) + 1
        raise ValueError(
            f"The rows must be in the order of time, and row {row} ({index[row]}) is not later than the row before it. "
            "Sort the frame, for example by X.sort_index(), and drop repeated times."
        )
    gaps = np.flatnonzero(steps > UNEVEN * np.median(steps)) + 1
    if len(gaps):
        warn(
            f"The rows are not evenly spaced in time: {len(gaps)} gaps, the first before row {gaps[0]} "
            f"({index[gaps[0]]}). Smoothing and run rules start again after each. Resample the frame to avoid this.",
        )
    return gaps.tolist()
