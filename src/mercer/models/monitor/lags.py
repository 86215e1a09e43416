"""Lagged rows: each row together with its predecessors in the same run."""

from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np

from ..._core.dask import is_lazy, rowwise


def as_runs(groups: Any, n: int) -> np.ndarray:
    """Return the run of each row as integers in the order of appearance; all 0 where ``groups`` is None.

    The rows of a run must be consecutive: an error is raised if a name appears again after another name.
    """
    if groups is None:
        return np.zeros(n, int)
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups must name the run of each of the {n} rows, and its shape is {groups.shape}.")
    labels = groups.tolist()
    missing = [row for row, label in enumerate(labels) if _missing(label)]
    if missing:
        raise ValueError(f"groups must name the run of each row, and row {missing[0]} has none.")
    runs = np.cumsum([0, *(label != before for before, label in pairwise(labels))])
    if runs[-1] + 1 != len(set(labels)):
        raise ValueError(
            "The rows of a run must be consecutive, and a run in groups continues after rows of another run. "
            "Sort the rows by run, then by time."
        )
    return runs


def _missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True


def ages(runs: np.ndarray) -> np.ndarray:
    """Return the number of predecessors that each row has in its run."""
    starts = np.flatnonzero(np.append(True, runs[1:] != runs[:-1]))
    return np.arange(len(runs)) - np.repeat(starts, np.diff(np.append(starts, len(runs))))


def lagged(X: np.ndarray, lags: int, runs: np.ndarray) -> np.ndarray:
    """Return [x_t, x_{t−1}, …, x_{t−l}] for each row t: (n, (l + 1)·d).

    If a row has fewer than l predecessors in its run, the first row of the run replaces the missing ones.
    """
    if lags == 0:
        return X
    age, index = ages(runs), np.arange(len(X))
    return np.hstack([X[index - np.minimum(lag, age)] for lag in range(lags + 1)])


def by_lag(values: np.ndarray, lags: int) -> np.ndarray:
    """Return the columns of lagged rows as an array of shape (n, lags + 1, d)."""
    return values.reshape(len(values), lags + 1, -1)


def of_rows(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method with support for Dask arrays, block by block, if no row needs its predecessors."""
    lazily = rowwise(method)

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_lazy(X):
            return method(self, X, *args, **kwargs)
        if args or kwargs or self.lags:
            raise ValueError(
                f"{method.__name__} of a Dask array sees each row alone, and lags, groups and run rules need the rows "
                "before it. Give the rows as a NumPy array."
            )
        return lazily(self, X)

    return answer
