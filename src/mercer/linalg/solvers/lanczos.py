"""Eigenpairs by ARPACK's implicitly restarted Lanczos method."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator

from ..._core.arrays import Array, hstack
from ..._core.dense import SMALL
from ..._core.registry import register
from ..._core.scipy import seeded_eigsh
from ..._core.tiles import budget_bytes
from ..operators import Dense, Operator
from ..ritz import Ritz, orthonormal, rayleigh_ritz
from .exact import Exact

PROBES = 4  # random vectors that find pairs which a single starting vector may have missed
NARROWEST = 24  # smallest width of the Krylov space: narrower ones took longer


@register("lanczos")
@dataclass(frozen=True)
class Lanczos:
    """ARPACK's implicitly restarted Lanczos method, to the residual ``tol``·λ (0 = machine precision).

    It needs dozens of products with one vector, so the matrix is stored if it fits ``working_memory``. A single
    starting vector can miss a member of a tight cluster of eigenvalues. Therefore a final Rayleigh–Ritz step includes
    a random block that is orthogonal to the vectors found.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Lanczos
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = KernelPCA(2, solver=Lanczos(tol=1e-9)).fit(X)
    >>> model.eigenvalues_.round(3)
    array([20.531, 18.583])
    """

    tol: float = 0.0
    max_iter: int | None = None
    portable = False
    fewest_rows = 100  # up to which ``eigenpairs`` uses Exact instead

    def __call__(self, A: Operator, q: int, rng: np.random.Generator) -> Ritz:
        """Return Ritz pairs of A."""
        n = A.shape[0]
        if 2 * q >= n:
            return Exact()(A, q)  # the Krylov space would be almost the whole space
        if (n <= SMALL or _stored(A) is None) and 8 * n**2 <= budget_bytes():  # a copy of a small matrix is cheap
            A = Dense(A.dense().astype(A.dtype, copy=False))
        operator, products = counted_products(A)
        start, seed = rng.uniform(-1, 1, n).astype(A.dtype), int(rng.integers(2**31))
        m = min(n, max(NARROWEST, q + 20))  # the width of the Krylov space: ARPACK's default, 2q + 1, took longer
        _, V = seeded_eigsh(operator, q, v0=start, seed=seed, which="LA", tol=self.tol, maxiter=self.max_iter, ncv=m)
        return _repaired(A, V.astype(A.dtype), q, rng, len(products))


def counted_products(A: Operator) -> tuple[LinearOperator, list]:
    """Return A as a SciPy operator, and a list that gets one entry for every product."""
    products: list = []
    symv, K = scipy.linalg.get_blas_funcs("symv", dtype=A.dtype), _stored(A)  # it reads only half of the matrix

    def matvec(v: np.ndarray) -> np.ndarray:
        products.append(1)
        V = v.reshape(-1, 1)
        return (A @ V if K is None else A.Jt(symv(1, K, A.J(V), lower=1)[:, None]))[:, 0]

    return LinearOperator(A.shape, matvec=matvec, dtype=A.dtype), products


def _stored(A: Operator) -> np.ndarray | None:
    """Return the stored K of A = JᵀKJ in the order of columns that BLAS reads, or None."""
    if not isinstance(A.gram, Dense):
        return None
    K = A.gram.K
    return K.T if K.flags.c_contiguous else K if K.flags.f_contiguous else None


def _repaired(A: Operator, V: Array, q: int, rng: np.random.Generator, passes: int) -> Ritz:
    """Rayleigh–Ritz on the vectors found and on a random block outside their span, multiplied by A."""
    AV = A @ V
    probe = orthonormal(rng.standard_normal((len(V), PROBES)).astype(V.dtype), V)
    probe = orthonormal(A @ probe, V)
    basis, images = hstack(V, probe), hstack(AV, A @ probe)
    return rayleigh_ritz(basis, images, q, passes + 3)
