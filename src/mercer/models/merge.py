"""Merge models that share their landmarks, and remove rows from a model."""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, double, namespace
from .._core.dask import as_rows, is_lazy
from ..kernels import Precomputed, as_kernel
from ..kernels.objects import as_objects
from ..rkhs.basis import Basis
from ..rkhs.landmarks import Landmarks, are_means
from ..rkhs.moments import Moments
from .base import fitted_copy
from .parameters import check_count, generator
from .streams import StreamMixin
from .validation import DTYPES

SAME = 1e-12  # relative difference up to which kernel matrices of the landmarks are equal
NEGATIVE = 1e-9  # relative to the largest eigenvalue: a smaller negative one is a rounding error


def landmarks(kernel: Any, X: Any, n: int, *, random_state: Any = None) -> Array:
    """Choose landmarks among samples, by randomly pivoted Cholesky, to share between several fits.

    Parameters
    ----------
    kernel : str or Kernel
        The kernel. A data-dependent width is computed from X; use the same kernel for the fits, for example ``kernel =
        RBF("median").bind(X)``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples that represent all others, or a Dask array.
    n : int
        Number of landmarks.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Z : ndarray of shape (n, n_features)
        Landmarks, for ``solver=Landmarks(choose=Z)``: n of the samples, or all samples if there are fewer.

    Examples
    --------
    >>> import numpy as np, mercer
    >>> from mercer.eigen import Landmarks
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> kernel = RBF("median").bind(X[:500])
    >>> Z = mercer.landmarks(kernel, X[:500], 50, random_state=0)
    >>> parts = [mercer.KernelPCA(2, kernel=kernel, solver=Landmarks(choose=Z)).fit(part) for part in np.split(X, 4)]
    >>> mercer.merge(parts).n_rows_
    1000.0
    """
    check_count("n", n)
    kernel = as_kernel(kernel)
    if isinstance(kernel, Precomputed):
        raise ValueError("Landmarks are samples, and kernel='precomputed' has none. Give samples and another kernel.")
    if kernel.rows == "objects" and not is_lazy(X):
        X = kernel.on(getattr(X, "columns", None)).checked(as_objects(X, kernel.whole))
    else:
        X = as_rows(X) if is_lazy(X) else check_array(X, accept_sparse="csr" if kernel.sparse else False, dtype=DTYPES)
    bound = kernel.bind(X)
    return Landmarks(n, "rpcholesky")(bound, X, None, None, generator(random_state))


def merge(models: Iterable[Any]) -> Any:
    """Merge models that were fitted on different samples into the model of all samples.

    The models may come from other processes or from files. They must have the same kernel and the same landmarks,
    ``solver=Landmarks(choose=Z)``: see :func:`landmarks`. The result equals one fit on all samples.

    Parameters
    ----------
    models : iterable of estimators
        Fitted :class:`KernelPCA` or :class:`ProbabilisticKernelPCA`; none is changed.

    Returns
    -------
    model : estimator
        A fitted estimator with the parameters of the first one.

    Examples
    --------
    >>> import numpy as np, mercer
    >>> from mercer.eigen import Landmarks
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(600, 3))
    >>> settings = dict(kernel=RBF(0.05), solver=Landmarks(choose=X[::20]))
    >>> halves = [mercer.KernelPCA(2, **settings).fit(part) for part in (X[:250], X[250:])]
    >>> whole = mercer.KernelPCA(2, **settings).fit(X)
    >>> mercer.merge(halves).explained_variance_.round(4), whole.explained_variance_.round(4)
    (array([0.0689, 0.0635]), array([0.0689, 0.0635]))
    """
    models = list(models)
    if not models:
        raise ValueError("merge needs at least one fitted model, and none was given.")
    sums = [_moments(model, "merge") for model in models]
    first = sums[0].basis
    for i, (model, moments) in enumerate(zip(models, sums, strict=True)):
        _check_same(first, models[0], moments.basis, model, i)
    return _with_moments(models[0], reduce(add, (moments.into(first) for moments in sums)))


def remove(model: Any, X: Any, sample_weight: Any = None) -> Any:
    """Remove samples from a model, as if it had never been fitted on them.

    The landmarks and the parameters of the kernel stay. An error is raised if the result would not be exact: if
    landmarks were exchanged, if the weights of earlier samples have decayed (``half_life``), or if a sample is itself a
    landmark, which the model stores, or may be part of one that is a mean of samples.

    Parameters
    ----------
    model : estimator
        A fitted :class:`KernelPCA` or :class:`ProbabilisticKernelPCA` with landmarks; it is not changed.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples to remove, as they were given to ``fit`` or ``partial_fit``.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights that they had.

    Returns
    -------
    model : estimator
        A fitted estimator.

    Examples
    --------
    >>> import numpy as np, mercer
    >>> from mercer.eigen import Landmarks
    >>> from mercer.kernels import RBF
    >>> X, Z = np.split(np.random.default_rng(0).normal(size=(600, 3)), [550])
    >>> settings = dict(kernel=RBF(0.05), solver=Landmarks(choose=Z))
    >>> model = mercer.remove(mercer.KernelPCA(2, **settings).fit(X), X[:50])
    >>> expected = mercer.KernelPCA(2, **settings).fit(X[50:])
    >>> model.explained_variance_.round(4), expected.explained_variance_.round(4)
    (array([0.069 , 0.0635]), array([0.069 , 0.0635]))
    """
    moments = _moments(model, "remove")
    report = model.subspace_.report
    if report.changes or report.solver.half_life is not None:
        why = "landmarks were exchanged" if report.changes else "earlier rows have faded (half_life)"
        raise ValueError(f"Rows cannot be removed exactly: {why}. Fit again without these rows.")
    if are_means(report.solver, moments.basis):
        raise ValueError(
            "Rows cannot be removed exactly: the landmarks are means of rows, which the model stores. Fit again "
            "without these rows, or use landmarks that are rows, Landmarks(choose='rpcholesky'), or points of your own."
        )
    batch, weights = model._batch(X, sample_weight)
    _check_no_landmark(batch, moments.basis)
    left = moments - moments.basis.moments(batch, weights)
    _check_positive(left, moments)
    return _with_moments(model, left)


def _moments(model: Any, name: str) -> Moments:
    """Return the moments of a fitted model, or raise an error if it has none."""
    if not isinstance(model, StreamMixin):
        raise TypeError(
            f"{name} takes KernelPCA and ProbabilisticKernelPCA, which are sums over rows on landmarks, and "
            f"{type(model).__name__} was given. Fit it again on all rows."
        )
    check_is_fitted(model)
    if not hasattr(model.subspace_.report.solver, "basis") or model.subspace_.moments is None:
        raise ValueError(
            f"{name} needs a model on landmarks that is not compressed, and this one was fitted by "
            f"{model.subspace_.report.solver!r}. Fit it with solver=Landmarks(choose=Z) of mercer.eigen."
        )
    return model.moments_


def _check_same(first: Basis, one: Any, other: Basis, model: Any, i: int) -> None:
    """Raise ValueError unless the model number i has the class, the landmarks and the kernel of the first."""
    if type(one) is not type(model):
        raise TypeError(
            f"Models must have the same class: model 0 is {type(one).__name__}, model {i} is {type(model).__name__}."
        )
    if one.center != model.center:
        raise ValueError(f"Model 0 has center={one.center}, and model {i} has center={model.center}.")
    if first.given.shape != other.given.shape or not _equal(first.given, other.given):
        raise ValueError(
            f"Model {i} has other landmarks than model 0. Choose them once, Z = mercer.landmarks(kernel, X, n), and "
            "give every fit solver=Landmarks(choose=Z)."
        )
    K, K_other = (double(kernel(first.given, first.given)) for kernel in (first.kernel, other.kernel))
    if not np.allclose(np.asarray(K), np.asarray(K_other), rtol=SAME, atol=SAME * float(abs(K).max())):
        raise ValueError(
            f"Model {i} has another kernel than model 0: {other.kernel!r} and {first.kernel!r}. Bind it once, "
            "kernel = RBF('median').bind(X), and give it to every fit. A linear kernel takes its origin from the data: "
            "use Polynomial(1, gamma=1.0, coef0=0.0)."
        )


def _equal(a: Any, b: Any) -> bool:
    if hasattr(a, "toarray"):
        return (a != b).nnz == 0
    return bool(namespace(a).all(a == b))


def _check_no_landmark(batch: Array, basis: Basis) -> None:
    """Raise ValueError if a row is one of the landmarks."""
    if is_lazy(batch):
        raise TypeError("remove takes rows in memory, and a Dask collection was given. Use X.compute().")
    dense = (x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in (batch, basis.given))
    batch, given = dense
    stored = {row.tobytes() for row in np.ascontiguousarray(given + 0.0, dtype=batch.dtype)}
    for i, row in enumerate(np.ascontiguousarray(batch + 0.0)):  # −0 + 0 = 0: equal numbers have equal bytes
        if row.tobytes() in stored:
            raise ValueError(
                f"Row {i} is one of the landmarks, which the model stores: it would not be forgotten. Fit again "
                "without these rows, on other landmarks."
            )


def _check_positive(left: Moments, before: Moments) -> None:
    """Raise ValueError if the remaining moments are impossible."""
    scale = float(abs(np.asarray(before.second)).max())
    lowest = float(np.linalg.eigvalsh(np.asarray(left.second))[0]) if left.second.shape[0] else 0.0
    rounding = NEGATIVE * before.second.shape[0] * scale
    spread = left.diagonal - float(np.trace(np.asarray(left.second)))
    if left.count <= NEGATIVE * before.count or min(lowest, spread) < -rounding:
        raise ValueError(
            "Nothing is left after removing these rows: they are all rows of the model, or some of them were not among "
            "its rows, or had another weight."
        )


def _with_moments(model: Any, moments: Moments) -> Any:
    """Return a copy of a fitted model on other moments in the same basis."""
    result = fitted_copy(model, n_rows_=moments.count)
    result.__dict__.pop("_first_rows", None)
    result.subspace_ = result._of_moments(moments, model.subspace_.report.solver)
    report = replace(result.subspace_.report, rows=moments.rows)
    result.subspace_ = replace(result.subspace_, report=report)
    return result
