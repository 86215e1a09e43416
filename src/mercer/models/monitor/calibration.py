"""Where the values come from that limits are set by: rows held out, rows left out one by one, or the rows fitted on."""

import numpy as np
from sklearn.base import clone

from ...rkhs.leave_one_out import leave_one_out
from ..kernel_pca import KernelPCA
from ..pipelines import parts

FOLDS = 5
BLOCKS = 10  # of consecutive rows in each fold: neighbours in time are held out together
ENOUGH = 10_000  # rows held out: the relative error of a rate of 1 % is then a tenth


def split(estimator, X, q=None):
    """Coordinates, squared distances and the subspace, of the first q axes, for the rows of X."""
    prepare, model = parts(estimator)
    rows = prepare(X)
    subspace = model.subspace_ if q is None else model.subspace_[:q]
    return *subspace.split(rows), subspace


def t2_and_spe(estimator, X, q=None):
    """T² = Σ y²/λ and SPE = r² of each row."""
    Y, r2, subspace = split(estimator, X, q)
    return np.sum(Y**2 / subspace.variances, axis=1), r2


def held_out(fit, X, q, rng):
    """T² and SPE of rows by models ``fit(rows)`` that have not seen them, in the order of the rows."""
    rows, values = [], []
    for held in _folds(len(X), rng):
        rows.append(np.flatnonzero(held))
        values.append(np.column_stack(t2_and_spe(fit(X[~held]), X[held], q)))
        if sum(map(len, rows)) >= ENOUGH:
            break
    order = np.argsort(np.concatenate(rows))
    t2, spe = np.concatenate(values)[order].T
    return t2, spe


def _folds(n, rng):
    """Masks of the rows to hold out: each fold has blocks of consecutive rows, drawn by lot."""
    folds = min(FOLDS, n)
    blocks = min(folds * BLOCKS, n)
    fold_of_block = rng.permutation(np.arange(blocks) % folds)
    fold_of_row = fold_of_block[np.arange(n) * blocks // n]
    return [fold_of_row == fold for fold in range(folds)]


def left_out(estimator, X, seen):
    """T² and SPE of each row by the model of all others, from one decomposition; kernel and scaling stay the same.

    ``seen`` tells the rows that the axes were found on: no other has to be left out.
    """
    prepare, model = parts(estimator)
    if type(model) is not KernelPCA:
        raise ValueError(
            f"limits='loo' needs a KernelPCA, and the model is {type(model).__name__}. Use limits='holdout'."
        )
    rows = prepare(X)
    whole = clone(model).set_params(n_components=None, kernel=model.kernel_).fit(rows[seen]).subspace_
    values = np.column_stack(t2_and_spe(estimator, X))
    Y, r2 = whole.split(rows[seen])
    found = leave_one_out(Y, r2, whole.variances, model.n_components_, center=model.center)
    values[seen] = np.column_stack(found)
    return values.T
