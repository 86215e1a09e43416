"""Precomputed kernel matrices: points are row numbers."""

from collections.abc import Callable
from copy import copy
from typing import Annotated, Any, Self

import numpy as np

from .._core.arrays import Array
from .._core.fields import Numbers
from .._core.registry import register, stored
from .base import Kernel


@register("precomputed")
class Precomputed(Kernel):
    """A precomputed kernel matrix: the rows of X are k(x, training rows), and anchors are row numbers.

    ``diag`` gives k(x, x) of new rows (a number if it is constant, or one for each row), which methods that use a
    distance in feature space need.

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

    diagonal: Any
    K: Annotated[Any, Numbers("n", "n")] = None
    definite = False
    differentiable = False
    portable = False

    def __init__(self, diag: Any = None) -> None:
        self.diagonal = diag

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"diag": self.diagonal}

    def set_params(self, **params: Any) -> Self:
        self.diagonal = params.pop("diag", self.diagonal)
        return super().set_params(**params)

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        bound = copy(self)
        bound.K = X
        return bound

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        return lambda x: self.rows(x)[:, Z[:, 0]]

    def rows(self, x: Array) -> np.ndarray:
        """Return the rows of k(x, training rows) that belong to row numbers; other rows are returned as they are."""
        return self.K[x[:, 0]] if _are_row_numbers(x) else x

    def diag(self, X: Array) -> Array:
        if _are_row_numbers(X):
            return self.K[X[:, 0], X[:, 0]]
        if X.shape == self.K.shape and np.array_equal(X, self.K):
            return self.K.diagonal()
        if self.diagonal is None:
            raise ValueError(
                "Distances in feature space need k(x, x), which the rows of a precomputed kernel do not contain. "
                "Use kernel=Precomputed(diag=…) with a number, or one for each of these rows."
            )
        return np.broadcast_to(np.asarray(self.diagonal, X.dtype), X.shape[:1])


def _are_row_numbers(x: Array) -> bool:
    return x.shape[1] == 1 and np.issubdtype(x.dtype, np.integer)


@stored("kernels.PrecomputedBlock")
class PrecomputedBlock(Precomputed):
    """Some rows and the same columns of a precomputed matrix; the rest of the matrix is not stored.

    New rows are k(x, training rows) as before; only their columns ``numbers`` are used.
    """

    numbers: Annotated[np.ndarray, Numbers("n", kinds="iu")]

    @classmethod
    def of(cls, kernel: Precomputed, Z: Array) -> "PrecomputedBlock":
        """Return the block of a bound kernel on the row numbers Z."""
        block = cls(kernel.diagonal)
        block.numbers = np.unique(Z[:, 0])
        rows = block.numbers[:, None]
        block.K = kernel(rows, rows)
        return block

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        columns = self._places(Z)
        return lambda x: self.K[self._places(x)][:, columns] if _are_row_numbers(x) else x[:, Z[:, 0]]

    def diag(self, X: Array) -> Array:
        if _are_row_numbers(X):
            return self.K.diagonal()[self._places(X)]
        return super().diag(X)

    def _places(self, Z: Array) -> np.ndarray:
        return np.searchsorted(self.numbers, Z[:, 0])
