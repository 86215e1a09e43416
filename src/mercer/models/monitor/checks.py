"""Errors for what a monitor cannot do, and warnings about training rows that it can use only badly."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from ..._core.warn import warn

TREND = 4.0  # standard errors: rows of one run without drift are beyond this one time in 16,000
SUSPECT = 0.02  # share of training rows that are too sparse: fewer do little harm


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
            f"{suspect:.1%} of the training rows are much sparser than the rest and may be abnormal: the axes and the "
            "limits would follow them. Look at these rows, or set contamination to a share or 'auto'.",
        )


def warn_of_drift(surprise: np.ndarray, n_effective: float) -> None:
    """Warn of held-out rows that become more or less abnormal from the beginning of the training rows to the end."""
    n = len(surprise)
    ranks, time = np.argsort(np.argsort(surprise)) - (n - 1) / 2, np.arange(n) - (n - 1) / 2
    trend = float(ranks @ time / (time @ time or 1.0))  # Spearman's rank correlation
    if abs(trend) * np.sqrt(max(n_effective - 1, 0)) > TREND:
        warn(
            f"The training rows drift: held-out rows become {'more' if trend > 0 else 'less'} abnormal with time (rank "
            f"correlation {trend:.2f} with about {n_effective:.0f} independent rows), and limits may not hold for rows "
            "to come. Use rows of steady operation, or more of them.",
        )
