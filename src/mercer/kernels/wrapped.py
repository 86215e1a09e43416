"""Kernels that wrap a function of the user's, or one of scikit-learn's Gaussian-process kernels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.registry import stored
from .base import Kernel

DIAGONAL_ROWS = 64  # rows whose small Gram matrix is made to read its diagonal


class _Wrapped(Kernel):
    """k given by a function of two sets of rows, whose diagonal is read off small matrices."""

    differentiable = False
    portable = False

    def diag(self, X):
        tiles = (X[i : i + DIAGONAL_ROWS] for i in range(0, X.shape[0], DIAGONAL_ROWS))
        return np.concatenate([self(tile, tile).diagonal() for tile in tiles])


@dataclass(eq=False, repr=False)
class FromFunction(_Wrapped):
    """k given by a vectorised function f(X, Y) → (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> def overlap(X, Y):
    ...     return np.minimum(X[:, None], Y).sum(axis=2)
    >>> histograms = np.random.default_rng(0).dirichlet([1, 1, 1], size=20)
    >>> KernelPCA(2, kernel=overlap).fit_transform(histograms).shape  # a function is taken as it is
    (20, 2)
    """

    f: Callable
    definite = False  # nobody knows

    def __repr__(self):
        return f"FromFunction({getattr(self.f, '__name__', type(self.f).__name__)})"

    def onto(self, Z):
        return lambda x: self._checked(self.f(x, Z), (x.shape[0], Z.shape[0])).astype(x.dtype, copy=False)

    def _checked(self, K, shape):
        K = np.asarray(K)
        if K.shape != shape:
            raise ValueError(
                f"The kernel function must return the matrix k(x_i, y_j): for {shape[0]} and {shape[1]} rows it "
                f"returned an array of shape {K.shape}. If it takes two single rows, give "
                "lambda X, Y: sklearn.metrics.pairwise.pairwise_kernels(X, Y, metric=f)."
            )
        if not np.all(np.isfinite(K)):
            raise ValueError(f"The kernel function {self.f!r} returned NaN or infinite values.")
        return K


@stored("kernels.GaussianProcess")
@dataclass(eq=False, repr=False)
class GaussianProcess(_Wrapped):
    """A kernel of ``sklearn.gaussian_process.kernels``; white noise, which is on the diagonal alone, counts as none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> KernelPCA(2, kernel=RBF(length_scale=2.0)).fit(X).kernel_
    GaussianProcess(kernel=RBF(length_scale=2))
    """

    kernel: Any

    def onto(self, Z):
        return lambda x: self.kernel(x, Z).astype(x.dtype, copy=False)
