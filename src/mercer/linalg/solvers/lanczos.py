"""Eigenpairs by ARPACK's implicitly restarted Lanczos method."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator

from ..._core.arrays import Array, hstack
from ..._core.registry import register
from ..._core.scipy import seeded_eigsh
from ..._core.tiles import budget_bytes
from ..operators import Dense
from ..ritz import Ritz, orthonormal, rayleigh_ritz
from .exact import Exact

PROBES = 4  # vectors sent after what one starting vector may have missed
NARROWEST = 24


@register("lanczos")
@dataclass(frozen=True)
class Lanczos:
    """ARPACK's implicitly restarted Lanczos, one product at a time, to the residual ``tol``·λ (0 = machine precision).

    It takes dozens of products, so that the matrix is stored where it fits ``working_memory``.

    A single starting vector can miss a member of a tight cluster: a block that is orthogonal to what was found is
    sent after it, and what it brings is taken in.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Lanczos
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> KernelPCA(2, solver=Lanczos(tol=1e-9)).fit(X).solver_.residual < 1e-9
    True
    """

    tol: float = 0.0
    max_iter: int | None = None
    portable = False
    fewest_rows = 100  # up to here the front door decomposes the whole matrix instead

    def __call__(self, A: Any, q: int, rng: Any) -> Ritz:
        """Return Ritz pairs of A."""
        n = A.shape[0]
        if 2 * q >= n:
            return Exact()(A, q)  # a Krylov space that large is the whole space
        A = Dense(A.dense().astype(A.dtype, copy=False)) if 8 * n**2 <= budget_bytes() else A
        operator, products = counted_products(A)
        start, seed = rng.uniform(-1, 1, n).astype(A.dtype), int(rng.integers(2**31))
        width = min(n, max(NARROWEST, q + 20))  # of the Krylov space: ARPACK's own 2q + 1 took longer at both ends
        _, vectors = seeded_eigsh(
            operator, q, v0=start, seed=seed, which="LA", tol=self.tol, maxiter=self.max_iter, ncv=width
        )
        return _repaired(A, vectors.astype(A.dtype), q, rng, len(products))


def counted_products(A: Any) -> tuple[LinearOperator, list]:
    """Return A as SciPy's operator, and a list that grows with every product."""
    products: list = []
    symv = scipy.linalg.get_blas_funcs("symv", dtype=A.dtype)  # reads half the matrix, which is all the cost

    def matvec(v: np.ndarray) -> np.ndarray:
        products.append(1)
        return symv(1, A.K.T, v, lower=1) if isinstance(A, Dense) else (A @ v.reshape(-1, 1))[:, 0]

    return LinearOperator(A.shape, matvec=matvec, dtype=A.dtype), products


def _repaired(A: Any, V: Array, q: int, rng: Any, passes: int) -> Ritz:
    """Rayleigh–Ritz on what was found and on a random block outside it, sent twice through A."""
    AV = A @ V
    probe = orthonormal(rng.standard_normal((len(V), PROBES)).astype(V.dtype), V)
    probe = orthonormal(A @ probe, V)
    basis, images = hstack(V, probe), hstack(AV, A @ probe)
    return rayleigh_ritz(basis, images, q, passes + 3)
