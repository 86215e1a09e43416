"""Errors about arguments that a monitor cannot use, and warnings about unsuitable training rows."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from ..._core.text import plural
from ..._core.warn import RepeatedRowsWarning, warn
from .calibration import TENTHS
from .rules import effective
from .training import keys_of

TREND = 5.0  # standard errors: a high threshold, because rows in time are correlated over more than one step
FEW = 50  # independent rows: fewer raise many false alarms, or look like a table; see benchmarks/monitor_rates.py
COPIED = 0.5  # share of rows that are copies of others: at most so many, and the rate of false alarms at most doubles
SUSPECT = 0.03  # share of training rows that are too isolated; see benchmarks/monitor_shares.py


def check_smoothing(smoothing: Any) -> None:
    """Refuse a weight that is not in (0, 1]."""
    if not (isinstance(smoothing, Real) and 0 < float(smoothing) <= 1):
        raise ValueError(f"smoothing must be a number in (0, 1], and {smoothing!r} was given.")


def as_rule(run: Any) -> tuple[int, int]:
    """Return the rule (k, m), "k of the last m rows", from ``run``: an integer m means (m, m), None means (1, 1)."""
    k, m = (1, 1) if run is None else run if isinstance(run, tuple) and len(run) == 2 else (run, run)
    if not (isinstance(k, Integral) and isinstance(m, Integral) and 1 <= int(k) <= int(m)):
        raise ValueError(
            "run must be an integer ≥ 1 (consecutive rows) or a tuple (k, m), 1 ≤ k ≤ m (k of the last m rows), "
            f"and {run!r} was given."
        )
    return int(k), int(m)


def check_enough(rows: np.ndarray, lags: int) -> None:
    """Raise an error if fewer than two rows have all their predecessors."""
    if len(rows) <= 1:
        raise ValueError(f"lags={lags} leaves {len(rows)} rows with all predecessors. Give longer runs, or fewer lags.")


def check_objects(lags: int, contamination: Any) -> None:
    """Raise an error for parameters that need rows of numbers, because the rows are objects."""
    if lags or contamination != 0:
        raise ValueError(
            f"lags={lags} and contamination={contamination!r} need rows of numbers, and these are objects. "
            "Leave them at 0; if the rows are in the order of time, set in_time=True."
        )


def warn_of_constants(X: np.ndarray, names: np.ndarray | None) -> None:
    """Warn of constant columns."""
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if len(constant):
        named = constant.tolist() if names is None else names[constant].tolist()
        warn(
            f"The columns {named} are constant: their normal variation is unknown, and a change in them is measured in "
            "raw units. Check these sensors, or drop the columns.",
        )


def warn_of_one_fold(X: np.ndarray, folds: int, d: int, names: np.ndarray | None) -> None:
    """Warn of columns that are constant in all rows but those of one fold; lagged rows have d columns for each lag."""
    starts = np.unique(np.linspace(0, len(X), folds + 1).astype(int)[:-1])
    low, high = np.minimum.reduceat(X, starts, axis=0), np.maximum.reduceat(X, starts, axis=0)
    once = np.zeros(X.shape[1], bool)
    for k in range(len(starts) if len(starts) > 1 else 0):
        once |= np.delete(low, k, axis=0).min(axis=0) == np.delete(high, k, axis=0).max(axis=0)
    columns = np.unique(np.flatnonzero(once & (low.min(axis=0) < high.max(axis=0))) % d)
    if len(columns):
        named = columns.tolist() if names is None else names[columns].tolist()
        warn(
            f"The columns {named} vary in one fold of the rows only. While these rows are held out, a scaler takes "
            "the columns for constant and leaves them in raw units, and the limits depend on the units. Use more rows, "
            "drop the columns, or use the default estimator, which knows their scale.",
        )


def warn_of_few_rows(model: Any, n: int) -> None:
    """Warn if as many components are requested as there are rows."""
    asked = getattr(model, "n_components", None)
    if isinstance(asked, Integral) and int(asked) >= n:
        warn(
            f"{asked} components are asked for, and {n} rows have at most {n - 1}: the model fits every row, and its "
            "limits are not reliable. Use fewer components, or more rows.",
        )


def warn_of_few_independent(n: int, n_effective: float) -> None:
    """Warn of rows in time that are too few to know how a process varies."""
    if n_effective < FEW:
        warn(
            f"The {n} calibration rows are correlated in time, and worth only {n_effective:.0f} independent ones: "
            "normal rows of a new run may differ from them and raise many false alarms. Use rows of a longer time, "
            f"worth at least {FEW}, or of several runs.",
        )


def warn_of_unknown_order(n: int) -> None:
    """Warn of rows that are too few to show whether their order is their order in time."""
    if n < FEW:
        warn(
            f"{n} rows are too few to show whether their order is their order in time, and they are treated as "
            "exchangeable rows. Set in_time to True or False."
        )


def warn_of_seen_rows(number: int) -> None:
    """Warn that contributions of training rows are those of a model that reproduces them."""
    if number:
        warn(
            f"{plural(number, 'row')} among these were fitted on, and the model reproduces such rows: contributions "
            "show little of what makes them abnormal. Fit the monitor without the rows that are to be explained."
        )


def warn_of_copies(rows: np.ndarray) -> None:
    """Warn if most rows are copies of others, unless values repeat in every column, as codes and counts do."""
    copies = np.unique(keys_of(rows), return_counts=True)[1]
    copied = np.sum(copies[copies > 1]) / len(rows)
    if copied > COPIED and rows.shape[1] > 1 and len(copies) <= max(len(np.unique(column)) for column in rows.T):
        warn(
            f"{copied:.0%} of the training rows are copies of others: a row that is held out has copies among the rows "
            "that the model has seen, and the limits hold only for new rows that repeat training rows as often. If the "
            "copies were made by mistake, drop them, for example by np.unique(X, axis=0).",
            RepeatedRowsWarning,
        )


def warn_of_abnormal(suspect: float, left_out: float) -> None:
    """Warn of training rows that look abnormal and are not left out."""
    if left_out == 0 and suspect > SUSPECT:
        warn(
            f"{suspect:.1%} of the training rows are much more isolated than the rest and may be abnormal; they "
            "influence the axes and the limits. Check these rows, or set contamination to a share or 'auto'.",
        )


def warn_of_drift(surprise: np.ndarray) -> None:
    """Warn if held-out rows become more or less abnormal with time, or are more abnormal at the beginning and the end.

    A slow drift shows at both ends, because the model of a fold at an end has training rows on one side of it only.
    Spearman's rank correlations are compared with their standard error. The effective number of independent rows, from
    which this follows, is computed within tenths of the time, because a drift hardly changes it there.
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
        "limits may not hold for future rows. Use more rows, or only rows of steady operation.",
    )
