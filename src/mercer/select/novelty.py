"""Thresholds for novelty, from rows that a model has not seen: on its own rows it is too sure of itself."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv

from ..linalg.solvers.exact import Exact
from ..rkhs import principal_subspace
from ..rkhs.leave_one_out import leave_one_out

STATISTICS = ("reconstruction_error", "mahalanobis")


def held_out(model, X, *, statistic="reconstruction_error", cv="loo", random_state=None):
    """Return a statistic of each row under a model that was fitted without it.

    Parameters
    ----------
    model : KernelPCA or ProbabilisticKernelPCA
        It is not changed.
    X : array-like of shape (n_samples, n_features)
        Rows.
    statistic : {"reconstruction_error", "mahalanobis"}, default="reconstruction_error"
        The method whose values are wanted; the second one for ``ProbabilisticKernelPCA``.
    cv : "loo", int or splitter, default="loo"
        ``"loo"`` leaves each row out, by a formula: one decomposition of all rows serves, and the kernel and the noise
        variance stay those of all rows. A number of folds, or a splitter, fits a model for each.
    random_state : int or None, default=None
        Seed of the folds.

    Returns
    -------
    values : ndarray of shape (n_samples,)
        One value for each row.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters()
    >>> model = KernelPCA(10, kernel=RBF(gamma=10.0)).fit(X)
    >>> bool(select.held_out(model, X).mean() > model.reconstruction_error(X).mean())
    True
    """
    if statistic not in STATISTICS or not hasattr(model, statistic):
        raise ValueError(f"{type(model).__name__} has no statistic {statistic!r}: give one of {STATISTICS}.")
    X = np.asarray(X)
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv={cv!r}: give 'loo', a number of folds or a splitter.")
        return _without_one(clone(model).fit(X), X, statistic)
    folds = KFold(cv, shuffle=True, random_state=random_state) if isinstance(cv, int) else check_cv(cv)
    values = np.empty(len(X))
    for seen, held in folds.split(X):
        values[held] = getattr(clone(model).fit(X[seen]), statistic)(X[held])
    return values


def threshold(model, X, *, alpha=0.01, statistic="reconstruction_error", cv="loo", random_state=None):
    """Return the value that a share ``alpha`` of rows like these exceeds, from rows held out.

    It is the ⌈(n + 1)(1 − α)⌉-th smallest of the n values of :func:`held_out`, to which the other parameters go.

    Parameters
    ----------
    model, X, statistic, cv, random_state : see :func:`held_out`
        The model, the rows, what is computed of them, and how rows are held out.
    alpha : float in (0, 1), default=0.01
        The share of rows beyond the threshold.

    Returns
    -------
    threshold : float
        The value.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> X, new = datasets.three_clusters(0), datasets.three_clusters(1)
    >>> model = KernelPCA(10, kernel=RBF(gamma=10.0)).fit(X)
    >>> limit = select.threshold(model, X, alpha=0.05)
    >>> bool(np.mean(model.reconstruction_error(new) > limit) < 0.1)
    True
    """
    values = np.sort(held_out(model, X, statistic=statistic, cv=cv, random_state=random_state))
    rank = int(np.ceil((len(values) + 1) * (1 - alpha)))
    if not 0 < alpha < 1 or rank > len(values):
        raise ValueError(
            f"alpha={alpha!r} must be below 1 and, with {len(values)} rows, at least {1 / (len(values) + 1):.2g}: a "
            "rarer event than one in so many rows cannot be told from them."
        )
    return float(values[rank - 1])


def _without_one(model, X, statistic):
    """The statistic of each row of ``fit``, had that row been left out."""
    whole = principal_subspace(model.kernel_, X, center=model.center, solver=Exact())
    Y, r2 = whole.split(X)
    t2, r2 = leave_one_out(Y, r2, whole.variances, model.n_components_, center=model.center)
    return r2 if statistic == "reconstruction_error" else t2 + r2 / model.noise_variance_
