"""Thresholds for novelty detection from held-out samples; those of the training samples would be too low."""

from typing import Any

import numpy as np
from sklearn.base import clone

from ..linalg.solvers.exact import Exact
from ..rkhs import principal_subspace
from ..rkhs.leave_one_out import leave_one_out
from .arguments import splitter

ERROR = "reconstruction_error"
STATISTICS = (ERROR, "mahalanobis")


def held_out(
    model: Any, X: Any, *, statistic: str = ERROR, cv: Any = "loo", random_state: int | None = None
) -> np.ndarray:
    """Return a statistic of each sample under a model that was fitted without it.

    Parameters
    ----------
    model : KernelPCA or ProbabilisticKernelPCA
        The model. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Samples.
    statistic : {"reconstruction_error", "mahalanobis"}, default="reconstruction_error"
        The method to evaluate; the second one for ``ProbabilisticKernelPCA``.
    cv : "loo", int or splitter, default="loo"
        ``"loo"`` leaves each sample out by a formula, from one decomposition of all samples; the kernel and the noise
        variance are those of all samples. For a number of folds, or a splitter, a model is fitted for each fold.
    random_state : int or None, default=None
        Seed for the folds.

    Returns
    -------
    values : ndarray of shape (n_samples,)
        The statistic of each sample.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters()
    >>> model = KernelPCA(10, kernel=RBF(gamma=10.0)).fit(X)
    >>> print(f"{select.held_out(model, X).mean():.3f}, of training rows {model.reconstruction_error(X).mean():.3f}")
    0.049, of training rows 0.030
    """
    if statistic not in STATISTICS or not hasattr(model, statistic):
        raise ValueError(f"{type(model).__name__} has no statistic {statistic!r}: give one of {STATISTICS}.")
    X = np.asarray(X)
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv={cv!r}: give 'loo', a number of folds or a splitter.")
        return _without_one(clone(model).fit(X), X, statistic)
    values = np.empty(len(X))
    for seen, held in splitter(cv, random_state).split(X):
        values[held] = getattr(clone(model).fit(X[seen]), statistic)(X[held])
    return values


def threshold(
    model: Any,
    X: Any,
    *,
    alpha: float = 0.01,
    statistic: str = ERROR,
    cv: Any = "loo",
    random_state: Any = None,
) -> float:
    """Return the value that a share ``alpha`` of new samples exceeds: the ⌈(n + 1)(1 − α)⌉-th smallest held-out value.

    Parameters
    ----------
    model, X, statistic, cv, random_state : see :func:`held_out`
        The same parameters.
    alpha : float in (0, 1), default=0.01
        The share of samples beyond the threshold.

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
    >>> print(f"{np.mean(model.reconstruction_error(new) > limit):.0%} of new rows are above {limit:.3f}")
    4% of new rows are above 0.195
    """
    values = np.sort(held_out(model, X, statistic=statistic, cv=cv, random_state=random_state))
    rank = int(np.ceil((len(values) + 1) * (1 - alpha)))
    if not 0 < alpha < 1 or rank > len(values):
        raise ValueError(
            f"alpha={alpha!r} must be below 1 and, with {len(values)} samples, at least {1 / (len(values) + 1):.2g}: "
            "the threshold of a rarer event cannot be estimated from so few."
        )
    return float(values[rank - 1])


def _without_one(model: Any, X: np.ndarray, statistic: str) -> np.ndarray:
    """Return the leave-one-out statistic of each training sample."""
    whole = principal_subspace(model.kernel_, X, center=model.center, solver=Exact())
    Y, r2 = whole.split(X)
    t2, r2 = leave_one_out(Y, r2, whole.variances, model.n_components_, center=model.center)
    return r2 if statistic == ERROR else t2 + r2 / model.noise_variance_
