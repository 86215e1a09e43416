"""Eigenpairs by LAPACK on the stored matrix."""

from dataclasses import dataclass
from typing import Any

from ..._core.dense import largest_eigenpairs
from ..._core.memory import check_memory
from ..._core.registry import register
from ..ritz import Ritz

ARRAYS = 4  # n × n in float64: the matrix, LAPACK's copy of it, its workspace


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
    >>> KernelPCA(solver=Exact()).fit(X).n_components_  # all that there are: one is lost to centring
    59
    """

    direct = True
    threaded = True
    complete = True  # finds the whole spectrum where it is asked for

    def __call__(self, A: Any, q: int, rng: Any = None) -> Ritz:
        """Return the q largest eigenpairs of A."""
        instead = "Use solver='davidson' with a number of components, which stores none of them, or 'landmarks'."
        check_memory("solver='exact'", A.shape[0], ARRAYS, instead, A.root)
        K = A.dense()
        values, vectors = largest_eigenpairs(K, q)
        return Ritz(values, vectors, K @ vectors, passes=1)
