"""Errors for what a monitor cannot do, and warnings about training rows that it can use only badly."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from ..._core.warn import warn
from .calibration import TENTHS
from .rules import effective

TREND = 5.0  # standard errors: a generous number, because rows in time are correlated over more than one step
SUSPECT = 0.03  # share of training rows that are too isolated; see benchmarks/monitor_shares.py


def check_smoothing(smoothing: Any) -> None:
    """Refuse a weight that is not in (0, 1]."""
    if not (isinstance(smoothing, Real) and 0 < float(smoothing) <= 1):
        raise ValueError(f"smoothing must be a number in (0, 1], and {smoothing!r} was given.")


def as_rule(run: Any) -> tuple[int, int]:
    """Return the rule "k of the last m rows" from ``run``: an integer m means all of m rows, None a single row."""
    k, m = (1, 1) if run is None else run if isinstance(run, tuple) and len(run) == 2 else (run, run)
    if not (isinstance(k, Integral) and isinstance(m, Integral) and 1 <= int(k) <= int(m)):
        raise ValueError(
            "run must be an integer ≥ 1 (rows in a row) or a tuple (k, m), 1 ≤ k ≤ m (k of the last m rows), "
            f"and {run!r} was given."
        )
    return int(k), int(m)


def check_enough(rows: np.ndarray, lags: int) -> None:
    """Refuse runs in which fewer than two rows have all their predecessors."""
    if len(rows) <= 1:
        raise ValueError(f"lags={lags} leaves {len(rows)} rows with all predecessors. Give longer runs, or fewer lags.")


def check_objects(lags: int, contamination: Any) -> None:
    """Refuse what needs numbers for rows that are objects."""
    if lags or contamination != 0:
        raise ValueError(
            f"lags={lags} and contamination={contamination!r} need rows of numbers, and these are objects. "
            "Leave them at 0; rows in their order of time are in_time=True."
        )


def warn_of_constants(X: np.ndarray, names: np.ndarray | None) -> None:
    """Warn of columns that tell nothing."""
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if len(constant):
        named = constant.tolist() if names is None else names[constant].tolist()
        warn(
            f"The columns {named} are constant: nothing tells how much they may change, and a change counts in raw "
            "units. Look at these sensors, or leave the columns out.",
        )


def warn_of_few_rows(model: Any, n: int) -> None:
    """Warn of a model that has a component for every row."""
    asked = getattr(model, "n_components", None)
    if isinstance(asked, Integral) and int(asked) >= n:
        warn(
            f"{asked} components are asked for, and {n} rows have at most {n - 1}: the model fits every row, and its "
            "limits say little. Ask for fewer components, or give more rows.",
        )


def warn_of_abnormal(suspect: float, left_out: float) -> None:
    """Warn of training rows that look abnormal and are not left out."""
    if left_out == 0 and suspect > SUSPECT:
        warn(
            f"{suspect:.1%} of the training rows are much more isolated than the rest and may be abnormal: axes and "
            "limits would follow them. Look at these rows, or set contamination to a share or 'auto'.",
        )


def warn_of_drift(surprise: np.ndarray) -> None:
    """Warn of held-out rows that become more or less abnormal with time, or are more abnormal at both ends of it.

    A slow drift shows at the ends: there no rows on the other side were fitted on. Spearman's rank correlations are
    judged by the number of independent rows within tenths of the time, which a drift leaves as it is.
    """
    n = len(surprise)
    ranks, time = np.argsort(np.argsort(surprise)) - (n - 1) / 2, np.linspace(-1, 1, n)
    tenth = np.arange(n) * TENTHS // n
    level = np.bincount(tenth, ranks) / np.maximum(np.bincount(tenth), 1)
    errors = np.sqrt(max(effective(ranks - level[tenth]) - 1, 0.0))
    trend, ends = (float(np.corrcoef(ranks, when)[0, 1]) for when in (time, np.abs(time)))
    if max(abs(trend), ends) * errors <= TREND:
        return
    with_time = abs(trend) > ends
    how = (
        f"become {'more' if trend > 0 else 'less'} abnormal with time"
        if with_time
        else "are more abnormal at both ends"
    )
    warn(
        f"The training rows drift: held-out rows {how} (rank correlation {trend if with_time else ends:.2f}), and "
        "limits may not hold for rows to come. Use rows of steady operation, or more of them.",
    )
