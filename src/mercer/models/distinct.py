"""Training samples with equal ones merged, so that neither their order nor their repetition matters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._core.arrays import is_objects, row_keys
from ..kernels import Kernel
from ..linalg.operators import Dense
from . import validation
from .kernel_parameter import bound_to


@dataclass(frozen=True, eq=False)
class Rows:
    """The distinct samples of positive weight in sorted order, with the share ``w`` of each in the sum of weights.

    ``counted`` are the row numbers of X with a positive weight, ``weights`` their weights, ``member`` the index of each
    among the ``points``. Samples of a precomputed kernel are not merged. ``kernel`` is bound.
    """

    kernel: Kernel
    points: Any
    gram: Dense | None
    w: np.ndarray
    counted: np.ndarray
    weights: np.ndarray
    member: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, X: Any, sample_weight: Any, names: Any = None) -> "Rows":
        """Return the distinct samples of X, which is validated already."""
        weights, counted = validation.check_weights(sample_weight, X)
        weights = np.ones(len(counted)) if weights is None else weights
        kernel, points, gram = bound_to(kernel, X, weights, counted, names=names)
        points, member = distinct(points) if gram is None else (points, np.arange(len(counted)))
        w = np.bincount(member, weights)
        return cls(kernel, points, gram, w / w.sum(), counted, weights, member)

    def merged(self, R: np.ndarray) -> np.ndarray:
        """Return the weighted means over equal samples of an array with a row for each sample: (n, k) → (points, k)."""
        sums = [np.bincount(self.member, self.weights * r) for r in R[self.counted].T]
        return np.column_stack(sums) / np.bincount(self.member, self.weights)[:, None]


def distinct(X: Any) -> tuple[Any, np.ndarray]:
    """Return the distinct rows in sorted order, and the index of each row among them."""
    if issparse(X) or is_objects(X):
        keys = np.array(row_keys(X), object) if is_objects(X) else _keys(X)
        _, first, member = np.unique(keys, return_index=True, return_inverse=True)
        return X[first], member.ravel()
    points, member = np.unique(X, axis=0, return_inverse=True)
    return points, member.ravel()  # some versions of NumPy return a column


def _keys(X: Any) -> np.ndarray:
    """Return bytes for each row of a sparse matrix that are equal for equal rows."""
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return np.array([X.indices[i:j].tobytes() + b"|" + X.data[i:j].tobytes() for i, j in ends], dtype=object)
