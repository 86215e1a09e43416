"""Kernels that wrap a user-defined function or a Gaussian-process kernel of scikit-learn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arrays import Array
from .._core.registry import stored
from .base import Kernel

DIAGONAL_ROWS = 64  # rows of the small Gram matrices whose diagonals are read


class _Wrapped(Kernel):
    """A kernel defined by a function of two sets of rows; its diagonal is read from small matrices."""

    differentiable = False
    portable = False

    def diag(self, X: Array) -> Array:
        tiles = (X[i : i + DIAGONAL_ROWS] for i in range(0, X.shape[0], DIAGONAL_ROWS))
        return np.concatenate([self(tile, tile).diagonal() for tile in tiles])


@dataclass(eq=False, repr=False)
class FromFunction(_Wrapped):
    """A kernel defined by a vectorised function f(X, Y) → (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> def overlap(X, Y):
    ...     return np.minimum(X[:, None], Y).sum(axis=2)
    >>> histograms = np.random.default_rng(0).dirichlet([1, 1, 1], size=20)
    >>> KernelPCA(2, kernel=overlap).fit_transform(histograms).shape  # a function is accepted directly
    (20, 2)
    """

    f: Callable
    definite = False  # not known

    def __repr__(self) -> str:
        return f"FromFunction({getattr(self.f, '__name__', type(self.f).__name__)})"

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        return lambda x: self._checked(self.f(x, Z), (x.shape[0], Z.shape[0])).astype(x.dtype, copy=False)

    def _checked(self, K: Any, shape: tuple[int, int]) -> np.ndarray:
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
    """A kernel of ``sklearn.gaussian_process.kernels``; white noise, which only affects the diagonal, is ignored.

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

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        return lambda x: self.kernel(x, Z).astype(x.dtype, copy=False)
