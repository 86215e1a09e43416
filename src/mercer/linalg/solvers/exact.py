"""Eigenpairs by LAPACK on the stored matrix."""

from dataclasses import dataclass

import numpy as np

from ..._core.dense import largest_eigenpairs
from ..._core.memory import check_memory
from ..._core.registry import register
from ..operators import Operator
from ..ritz import Ritz

LAPACK_ARRAYS = 4  # n × n in float64: the matrix, its copy, LAPACK's workspace


@register("exact")
@dataclass(frozen=True)
class Exact:
    """LAPACK on the stored matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Exact
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> KernelPCA(solver=Exact()).fit(X).n_components_  # all of them: centring removes one
    59
    """

    direct = True
    threaded = True
    complete = True  # can compute the whole spectrum

    def __call__(self, A: Operator, q: int, rng: np.random.Generator | None = None) -> Ritz:
        """Return the q largest eigenpairs of A."""
        instead = "Use solver='davidson' with a number of components, which stores no matrix, or 'landmarks'."
        check_memory("solver='exact'", A.shape[0], LAPACK_ARRAYS, instead, A.root)
        K = A.dense()
        values, vectors = largest_eigenpairs(K, q)
        return Ritz(values, vectors, K @ vectors, passes=1)
