"""Eigenpairs by LAPACK on the stored matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ..._core.arrays import Array, is_foreign, namespace
from ..._core.memory import check_memory
from ..._core.registry import register
from ..._core.tiles import interruptible
from ..ritz import Ritz

SMALL = 1_500  # rows: below it LAPACK gains nothing from threads
ANYWHERE = 200  # rows: fewer fit any memory, and asking the system takes time
LAPACK_32BIT = 32_767  # rows: from here on the workspace of syevd overflows a 32-bit integer
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
        if A.shape[0] > ANYWHERE and not is_foreign(A.root):
            instead = "Use solver='davidson' with a number of components, which stores none of them, or 'landmarks'."
            check_memory("solver='exact'", A.shape[0], ARRAYS, instead)
        K = A.dense()
        values, vectors = _eigh(K, q)
        return Ritz(values, vectors, K @ vectors, passes=1)


def _eigh(K: Array, q: int) -> tuple[Array, Array]:
    """Return the q largest pairs, by LAPACK's subset driver, or by divide and conquer where that fails or is slower."""
    n = K.shape[0]
    if is_foreign(K):
        values, vectors = namespace(K).linalg.eigh(K)
        return values[n - q :], vectors[:, n - q :]
    if n >= LAPACK_32BIT:
        return scipy.linalg.eigh(K, driver="evr", subset_by_index=(n - q, n - 1), check_finite=False)
    if 4 * q < n <= SMALL:
        try:
            values, vectors = scipy.linalg.eigh(K, driver="evr", subset_by_index=(n - q, n - 1), check_finite=False)
            if len(values) == q:  # on K ≈ I it may return none at all
                return values, vectors
        except np.linalg.LinAlgError:
            pass
    values, vectors = interruptible(np.linalg.eigh, K)
    return values[n - q :], vectors[:, n - q :]
