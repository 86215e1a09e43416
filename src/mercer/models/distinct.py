"""The rows that a fit sees where neither their order nor their repetition may matter: equal ones are merged."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..kernels import Kernel
from ..linalg.operators import Dense
from . import validation
from .kernel_parameter import bound_to


@dataclass(frozen=True, eq=False)
class Rows:
    """The different rows that count, in an order of their own, with the share ``w`` of each in all weights.

    ``counted`` are the numbers of the rows of X with a weight, ``weights`` their weights, ``member`` which of the
    ``points`` each of them is. The rows of a precomputed kernel stay as they are. ``kernel`` is bound.
    """

    kernel: Kernel
    points: Any
    gram: Dense | None
    w: np.ndarray
    counted: np.ndarray
    weights: np.ndarray
    member: np.ndarray

    @classmethod
    def of(cls, kernel, X, sample_weight, names=None):
        """The rows of X, checked already, that have a weight."""
        weights, counted = validation.check_weights(sample_weight, X)
        weights = np.ones(len(counted)) if weights is None else weights
        kernel, points, gram = bound_to(kernel, X, weights, counted, names=names)
        points, member = _distinct(points) if gram is None else (points, np.arange(len(counted)))
        w = np.bincount(member, weights)
        return cls(kernel, points, gram, w / w.sum(), counted, weights, member)

    def merged(self, R):
        """The weighted means over equal rows of what is given for each row of X: (n, k) → (points, k)."""
        sums = [np.bincount(self.member, self.weights * r) for r in R[self.counted].T]
        return np.column_stack(sums) / np.bincount(self.member, self.weights)[:, None]


def _distinct(X):
    """The different rows in an order of their own, and which of them each row is."""
    if issparse(X):
        _, first, member = np.unique(_keys(X), return_index=True, return_inverse=True)
        return X[first], member.ravel()
    points, member = np.unique(X, axis=0, return_inverse=True)
    return points, member.ravel()  # some versions of NumPy give a column


def _keys(X):
    """Bytes for each row of a sparse matrix, equal for equal rows."""
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return np.array([X.indices[i:j].tobytes() + b"|" + X.data[i:j].tobytes() for i, j in ends], dtype=object)
