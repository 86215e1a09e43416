"""T² and SPE of the rows that determine the limits: held-out rows, rows left out one at a time, or training rows."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._core.tiles import map_rows
from ...rkhs.leave_one_out import leave_one_out
from ...rkhs.subspace import splitter
from ..kernel_pca import KernelPCA
from ..pipelines import parts

FOLDS = 5  # number of folds of exchangeable rows
TENTHS = 10  # number of folds of rows in time: in long blocks few rows have neighbours in time outside their block
ENOUGH = 10_000  # held-out rows: a rate of 1 % is then known with a relative error of one tenth


def t2_and_spe(estimator: Any, X: Any, q: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return T² = Σ y²/λ and SPE = r² of each row for the first q axes; None for all axes."""
    prepare, model = parts(estimator)
    rows = prepare(X)
    subspace = model.subspace_ if q is None else model.subspace_[:q]
    coordinates, width = splitter([subspace])
    precisions = 1 / np.asarray(subspace.variances, float)

    def tile(x: Any, k_xx: np.ndarray) -> np.ndarray:
        ((Y, relative),) = coordinates(x)
        return np.column_stack([Y**2 @ precisions, np.maximum(k_xx + relative, 0)])

    both = map_rows(tile, rows, np.asarray(subspace.kernel.diag(rows), float), width=width)
    return both[:, 0], both[:, 1]


def held_out(fit: Callable[[np.ndarray], Any], X: np.ndarray, q: int, folds: int) -> np.ndarray:
    """Return T² and SPE of each row under a model ``fit(other_rows)`` that has not seen the row: (n, 2).

    Each fold is a block of consecutive rows, so that neighbours in time are held out together. With more than 10,000
    rows, only a part of each fold is held out, from the beginning of the first fold to the end of the last one; several
    parts are then held out together, so that fewer models are fitted. The other rows have NaN.
    """
    n, folds = len(X), min(folds, len(X))
    part = -(-ENOUGH // folds)
    blocks = []
    for k, (start, stop) in enumerate(pairwise(np.linspace(0, n, folds + 1).astype(int))):
        start += max(0, stop - start - part) * k // max(1, folds - 1)
        blocks.append(np.arange(start, min(stop, start + part)))
    values, fits = np.full((n, 2), np.nan), min(folds, -(-ENOUGH * folds // n))
    for first in range(fits):
        rows = np.concatenate(blocks[first::fits])
        values[rows] = np.column_stack(t2_and_spe(fit(np.delete(X, rows, axis=0)), X[rows], q))
    return values


def left_out(estimator: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return T² and SPE of each row under the model of all other rows, from one decomposition.

    The kernel and the scaling are those of the model of all rows.
    """
    prepare, model = parts(estimator)
    if type(model) is not KernelPCA:
        raise ValueError(
            f"limits='loo' needs a KernelPCA, and the model is {type(model).__name__}. Use limits='holdout'."
        )
    rows = prepare(X)
    whole = clone(model).set_params(n_components=None, kernel=model.kernel_, solver="exact").fit(rows).subspace_
    Y, r2 = whole.split(rows)
    return leave_one_out(Y, r2, whole.variances, model.n_components_, center=model.center)
