"""Estimators on odd data: tiny, huge, constant, repeated, of all dtypes and containers.

The rule: results are finite, or an error of a documented kind is raised; a failed fit leaves the estimator as it was;
inputs are unchanged; all within the time limit.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

import mercer
from mercer import dropin
from mercer.kernels import Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid

ERRORS = (ValueError, TypeError, MemoryError)  # ValueError includes NotFittedError and LinAlgError
KERNELS = ["rbf", "linear", "poly", "cosine", "sigmoid", "laplacian", "chi2", "matern", "precomputed"]
KERNELS += [Polynomial(7), Matern(0.5), RationalQuadratic(0.1), 1e3 * Linear() + Laplacian(), Sigmoid(1e3)]
DTYPES = ["f8", "f4", "f2", "i1", "i8", "u4", "?", "O", ">f8", "f8", "f8"]
METHODS = ["transform", "reconstruction_error", "score_samples", "predict", "predict_proba", "t2", "spe", "denoise"]
SUPERVISION = [0.0, 1e-9, 0.5, 1.0]
SIZES = [1, 2, 3, 5, 12, 40]


def fitted(rng: np.random.Generator) -> str | None:
    """Fit a model with random parameters to a random table, and use it on another."""
    model, X, y = _model(rng), _container(_table(rng), rng), None
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    y = rng.integers(0, rng.integers(1, 4), size=n)
    if hasattr(model, "kernel") and model.kernel == "precomputed":
        X = np.asarray(rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-160, 160))
        X = X @ X.T if rng.random() < 0.8 else X
    fit = _fit(model, rng)
    if rng.random() < 0.2:  # an earlier fit, which must survive
        quietly(lambda: model.fit(np.random.default_rng(0).random((12, 3)), np.arange(12) % 2))
    before, copy = dict(model.__dict__), _copied(X)
    error = quietly(lambda: fit(X, y))
    if error is not None:
        if not isinstance(error, ERRORS):
            return f"{model!r}.fit raises {type(error).__name__}: {error}"
        kept = model.__dict__.keys() == before.keys() and all(model.__dict__[key] is before[key] for key in before)
        return None if kept else f"{model!r}: a failed fit ({error}) changes its state"
    if not _same(X, copy):
        return f"{model!r}.fit changes its input"
    return used(model, X, copy)


def _fit(model: Any, rng: np.random.Generator) -> Any:
    """Return the method that fits the model, for a contrastive one most often with a background."""
    if not isinstance(model, mercer.ContrastiveKernelPCA):
        return model.fit
    others = [None, np.random.default_rng(0).normal(size=(9, 3)), _table(rng)][rng.integers(3)]
    half = rng.random() < 0.5  # of the rows themselves
    return lambda X, y: model.fit(X, background=X[: (X.shape[0] + 1) // 2] if half and hasattr(X, "shape") else others)


def used(model: Any, X: Any, copy: Any) -> str | None:
    for name in METHODS:
        if not hasattr(model, name):
            continue
        found: list[Any] = []
        error = quietly(lambda name=name: found.append(getattr(model, name)(X)))  # noqa: B023
        if error is not None and not isinstance(error, ERRORS):
            return f"{model!r}.{name} raises {type(error).__name__}: {error}"
        values = np.asarray(found[0]) if found else np.zeros(1)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return f"{model!r}.{name} is not finite"
        if not _same(X, copy):
            return f"{model!r}.{name} changes its input"
    return None


def quietly(call: Any) -> Exception | None:
    """Call a function without warnings; return what it raised."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:
            return error
    return None


def _model(rng: np.random.Generator) -> Any:
    kernel = KERNELS[rng.integers(len(KERNELS))]
    q: Any = [1, 2, 5, 0.9, None][rng.integers(5)]
    solver = ["auto", "exact", "davidson", "lanczos", "randomized", "landmarks"][rng.integers(6)]
    makers = [
        lambda: mercer.KernelPCA(q, kernel=kernel, solver=solver, center=bool(rng.integers(2)), random_state=0),
        lambda: mercer.KernelPCA(q, kernel=kernel, random_state=0),
        lambda: mercer.SparseKernelPCA(q, kernel=kernel, max_iter=50, random_state=0),
        lambda: mercer.ProbabilisticKernelPCA(q, kernel=kernel, random_state=0),
        lambda: mercer.KernelPCAMixture(2, 1, kernel=kernel, n_init=2, max_iter=20, random_state=0),
        lambda: mercer.KernelPCAClassifier(kernel=kernel, random_state=0),
        lambda: mercer.KernelPCAImputer(1, kernel=kernel, n_starts=2, max_iter=5, random_state=0),
        lambda: mercer.KernelPCAMonitor(random_state=0),
        lambda: mercer.SupervisedKernelPCA(q, kernel=kernel, supervision=SUPERVISION[rng.integers(4)], random_state=0),
        lambda: mercer.ContrastiveKernelPCA(q, kernel=kernel, contrast=[1.0, 0, "auto"][rng.integers(3)]),
        lambda: dropin.KernelPCA(2, kernel="rbf", fit_inverse_transform=bool(rng.integers(2))),
    ]
    return makers[rng.integers(len(makers))]()


def _table(rng: np.random.Generator) -> np.ndarray:
    n, d = SIZES[rng.integers(len(SIZES))], int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) if rng.random() < 0.7 else rng.integers(-3, 4, size=(n, d)).astype(float)
    with np.errstate(all="ignore"):
        if rng.random() < 0.5:
            X = X * 10.0 ** rng.integers(-300, 301)
        if rng.random() < 0.3:
            X[:, rng.integers(d)] *= 10.0 ** rng.integers(-300, 301)
        if rng.random() < 0.3:
            X[rng.integers(n), rng.integers(d)] = [0.0, 1e200, -1e154, 1e-200, 1e19, 1e8][rng.integers(6)]
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = X[0, 0]
    if rng.random() < 0.3:
        X = X[rng.integers(0, max(1, n // 3), size=n)]
    if rng.random() < 0.1:
        X[rng.integers(n), rng.integers(d)] = [np.nan, np.inf][rng.integers(2)]
    return np.abs(X) if rng.random() < 0.3 else X


def _container(X: np.ndarray, rng: np.random.Generator) -> Any:
    with np.errstate(all="ignore"):
        dtype = DTYPES[rng.integers(len(DTYPES))]
        X = X.astype(dtype) if dtype not in "i1 i8 u4" or np.isfinite(X).all() else X
    kind = rng.integers(9)
    if kind == 0 and X.dtype.kind == "f" and X.dtype.itemsize > 2 and X.dtype.isnative:
        return scipy.sparse.csr_array(X)
    if kind == 1 and X.dtype.isnative:
        return pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    if kind == 2:
        return X.tolist()
    if kind == 3:
        return np.asfortranarray(X)
    if kind == 4:
        return np.repeat(X, 2, axis=0)[::2]
    if kind == 5:
        X = X.copy()
        X.flags.writeable = False
    return X


def _copied(X: Any) -> Any:
    return [list(row) for row in X] if isinstance(X, list) else X.copy()


def _same(X: Any, copy: Any) -> bool:
    if isinstance(X, list):
        return repr(X) == repr(copy)
    if hasattr(X, "toarray"):
        return np.array_equal(X.toarray(), copy.toarray(), equal_nan=True)
    return np.array_equal(np.asarray(X).astype(str), np.asarray(copy).astype(str))
