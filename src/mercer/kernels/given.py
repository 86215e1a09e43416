"""Kernels that the user brings: as a function, as scikit-learn's Gaussian-process kernel, or as a matrix."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Kernel

DIAGONAL_ROWS = 64  # rows whose small Gram matrix is made to read its diagonal


class _Given(Kernel):
    """k given by a function of two sets of rows, whose diagonal is read off small matrices."""

    differentiable = False
    portable = False

    def diag(self, X):
        tiles = (X[i : i + DIAGONAL_ROWS] for i in range(0, X.shape[0], DIAGONAL_ROWS))
        return np.concatenate([self(tile, tile).diagonal() for tile in tiles])


@dataclass(eq=False, repr=False)
class FromFunction(_Given):
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


@dataclass(eq=False, repr=False)
class GaussianProcess(_Given):
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


class Precomputed(Kernel):
    """k given as a matrix: the rows of X are rows of k(x, training rows), and anchors are row numbers.

    ``diag`` gives k(x, x) of the rows that come after ``fit`` (a number where it is constant, or one for each row);
    whatever needs a distance in feature space needs it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import RBF, Precomputed
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> K = RBF(0.5)(X, X)
    >>> model = KernelPCA(2, kernel=Precomputed(diag=1.0)).fit(K[:20, :20])
    >>> model.reconstruction_error(K[20:, :20]).shape
    (10,)
    """

    K: Any = None
    definite = False
    differentiable = False
    portable = False

    def __init__(self, diag=None):
        self.diagonal = diag

    def get_params(self, deep=True):
        return {"diag": self.diagonal}

    def set_params(self, **params):
        self.diagonal = params.pop("diag", self.diagonal)
        return super().set_params(**params)

    def bind(self, X, weights=None, center=True):
        bound = copy(self)
        bound.K = X
        return bound

    def onto(self, Z):
        return lambda x: self.rows(x)[:, Z[:, 0]]

    def rows(self, x):
        """Rows of k(x, training rows): row numbers are looked up, other rows carry them."""
        return self.K[x[:, 0]] if _are_row_numbers(x) else x

    def diag(self, X):
        if _are_row_numbers(X):
            return self.K[X[:, 0], X[:, 0]]
        if X.shape == self.K.shape and np.array_equal(X, self.K):
            return self.K.diagonal()
        if self.diagonal is None:
            raise ValueError(
                "Distances in feature space need k(x, x), which the rows of a precomputed kernel do not carry. "
                "Use kernel=Precomputed(diag=…) with a number, or one for each of these rows."
            )
        return np.broadcast_to(np.asarray(self.diagonal, X.dtype), X.shape[:1])


def _are_row_numbers(x):
    return x.shape[1] == 1 and np.issubdtype(x.dtype, np.integer)
