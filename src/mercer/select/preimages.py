"""Which pre-image method to use, and a score that may be compared across kernels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from ..preimage import METHODS, as_preimage
from ..tiles import row_tiles

HELD_OUT = 0.25  # share of the rows that judge, where the model is not fitted yet


@dataclass(frozen=True)
class Choice:
    """What was compared (``table``: name ↦ error), the ``best`` of it, and an estimator that has it."""

    table: dict[str, float]
    best: Any
    estimator: Any

    def __str__(self):
        width = max(map(len, self.table))
        lines = [f"{name:<{width}}  {error:.6g}" for name, error in sorted(self.table.items(), key=lambda row: row[1])]
        return "\n".join([f"{'':<{width}}  mean squared error", *lines])


def reconstruction(estimator, X, y=None):
    """Score a fitted model by −mean ‖x − x̂‖² of rows and their way there and back: for ``scoring=`` of a grid search.

    It is in the units of the rows, so that kernels and widths may be compared; the feature-space ``score`` of the
    models may not, because a kernel that makes all rows alike always wins it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> import mercer
    >>> widths = {"kernel__gamma": [0.01, 0.1, 1.0]}
    >>> search = GridSearchCV(mercer.KernelPCA(3), widths, scoring=mercer.select.reconstruction)
    >>> search.fit(load_iris().data).best_params_
    {'kernel__gamma': 0.01}
    """
    X = np.asarray(X, float)
    return -float(np.mean(np.sum((X - estimator.inverse_transform(estimator.transform(X))) ** 2, axis=1)))


def preimage(model, X, noise, *, methods=None, n_draws=3, random_state=None):
    """Compare pre-image methods by how well they bring back clean rows from noisy ones.

    Parameters
    ----------
    model : estimator
        A kernel PCA. Fitted, X are rows that it has not seen; else it is fitted on three quarters of X.
    X : array-like of shape (n_samples, n_features)
        Clean rows.
    noise : float or callable
        The standard deviation of Gaussian noise, or a function (X, rng) ↦ noisy rows.
    methods : list of str or methods, default=None
        What to compare; None for all that the kernel allows.
    n_draws : int, default=3
        Draws of the noise, over which errors are averaged.
    random_state : int or None, default=None
        Seed of the split and of the noise.

    Returns
    -------
    choice : Choice
        ``table``, the mean squared error of each method; ``best``; ``estimator`` with ``preimage=best``.
    """
    X, rng = np.asarray(X, float), np.random.default_rng(random_state)
    fitted, clean = _fitted(model, X, random_state)
    draws = [_noisy(clean, noise, rng) for _ in range(n_draws)]
    table, tried = {}, {}
    for method in methods or METHODS:
        settings = as_preimage(method, fitted.kernel_)
        try:
            nearest = settings.bind(fitted.subspace_)
        except ValueError:  # not for this kernel
            if methods is not None:
                raise
            continue
        name = method if isinstance(method, str) else repr(method)
        tried[name] = settings
        table[name] = float(np.mean([_mse(fitted.subspace_, nearest, rows, clean) for rows in draws]))
    best = tried[min(table, key=table.__getitem__)]
    return Choice(table, best, clone(model).set_params(preimage=best))


def _fitted(model, X, random_state):
    """A fitted model, and rows that it has not seen."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        seen, clean = train_test_split(X, test_size=HELD_OUT, random_state=random_state)
        return clone(model).fit(seen), clean
    return model, X


def _noisy(X, noise, rng):
    return noise(X, rng) if callable(noise) else X + noise * rng.standard_normal(X.shape)


def _mse(subspace, nearest, noisy, clean):
    tiles = row_tiles(len(noisy), 4 * subspace.Z.shape[0])
    back = [nearest(subspace.lift(subspace.project(noisy[rows])), noisy[rows]).X for rows in tiles]
    return np.mean((np.concatenate(back) - clean) ** 2)
