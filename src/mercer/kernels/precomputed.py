"""Kernels given as a matrix: points are row numbers."""

from copy import copy
from typing import Any

import numpy as np

from .._core.registry import register, stored
from .base import Kernel


@register("precomputed")
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


@stored("kernels.PrecomputedBlock")
class PrecomputedBlock(Precomputed):
    """k between some rows of a precomputed matrix: the rest of the matrix is forgotten.

    Rows that come later carry k(x, training rows) as before; of those, only the columns of ``numbers`` are read.
    """

    numbers: np.ndarray

    @classmethod
    def of(cls, kernel, Z):
        """The block of a bound kernel on the row numbers Z."""
        block = cls(kernel.diagonal)
        block.numbers = np.unique(Z[:, 0])
        rows = block.numbers[:, None]
        block.K = kernel(rows, rows)
        return block

    def onto(self, Z):
        columns = self._places(Z)
        return lambda x: self.K[self._places(x)][:, columns] if _are_row_numbers(x) else x[:, Z[:, 0]]

    def diag(self, X):
        if _are_row_numbers(X):
            return self.K.diagonal()[self._places(X)]
        return super().diag(X)

    def _places(self, Z):
        return np.searchsorted(self.numbers, Z[:, 0])
