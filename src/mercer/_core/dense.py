"""Dense linear algebra that is faster with NumPy's LAPACK and SciPy than with the array standard."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist

from .arrays import Array, asarray_like, eps, eye, host, is_foreign, largest, linalg_errors, namespace
from .blas import single_blas
from .tiles import in_threads, slices

SMALL = 1_500  # rows: below it LAPACK gains nothing from threads
LAPACK_32BIT = 32_767  # rows: from here on the workspace of syevd overflows a 32-bit integer
BLOCKS = 4  # of a triangular matrix
PANEL, HEIGHT = 128, 256  # columns of a Cholesky factor that are computed at once, and rows of each in a thread
LAPACK = "mercer-lapack"  # the name of a thread that may outlive an interrupted call
POLL_SECONDS = 0.05


def largest_eigenpairs(K: Array, q: int) -> tuple[Array, Array]:
    """Return the q largest pairs, by LAPACK's subset driver, or by divide and conquer if that fails or is slower."""
    n = K.shape[0]
    if is_foreign(K):
        values, vectors = namespace(K).linalg.eigh(K)
        return values[n - q :], vectors[:, n - q :]
    if n >= LAPACK_32BIT:
        largest_of = partial(scipy.linalg.eigh, driver="evr", subset_by_index=(n - q, n - 1), check_finite=False)
        return interruptible(largest_of, K)
    if 4 * q < n <= SMALL:
        try:
            values, vectors = scipy.linalg.eigh(K, driver="evr", subset_by_index=(n - q, n - 1), check_finite=False)
            if len(values) == q:  # on K ≈ I it may return none at all
                return values, vectors
        except np.linalg.LinAlgError:
            pass
    values, vectors = interruptible(np.linalg.eigh, K)
    return values[n - q :], vectors[:, n - q :]


def interruptible(f: Callable, *args: Any) -> Any:
    """Return ``f(*args)``, computed on a second thread: Ctrl-C works although LAPACK does not check for it."""
    if threading.current_thread() is not threading.main_thread():
        return f(*args)
    future: Future = Future()

    def run() -> None:
        try:
            future.set_result(f(*args))
        except BaseException as error:  # raised in the main thread, whatever it is
            future.set_exception(error)

    thread = threading.Thread(target=run, daemon=True, name=LAPACK)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
    return future.result()


def has_cholesky(A: Array, shift: float, single: bool = False) -> bool:
    """Return True if A + shift·I has a Cholesky factor: if no eigenvalue of A is below −shift.

    Blocks of columns are computed from left to right: L_ik = (A_ik − Σ_j L_ij L_kjᵀ) L_kk⁻ᵀ. ``single`` computes in
    single precision. The threads of BLAS are not used: they spend most of their time waiting on a busy machine.
    """
    if is_foreign(A):
        try:
            namespace(A).linalg.cholesky(A + shift * eye(A.shape[0], A))
        except linalg_errors():
            return False
        return True
    L = np.empty(A.shape, np.float32 if single else np.float64)
    potrf, trtri = scipy.linalg.lapack.get_lapack_funcs(("potrf", "trtri"), (L,))

    def left(i: slice, k: slice) -> np.ndarray:
        """Return A_ik − Σ_j L_ij L_kjᵀ."""
        return A[i, k].astype(L.dtype) - L[i, : k.start] @ L[k, : k.start].T

    def column(k: slice, inverse: np.ndarray, lane: Iterable[slice]) -> None:
        for i in lane:
            rows = slice(k.stop + i.start, k.stop + i.stop)
            L[rows, k] = left(rows, k) @ inverse.T

    with single_blas:
        for k in slices(len(A), PANEL):
            block = left(k, k)
            L_kk, failed = potrf(block + shift * np.eye(len(block), dtype=L.dtype), lower=True)
            if failed:
                return False
            if k.stop < len(A):
                in_threads(partial(column, k, trtri(L_kk, lower=True)[0]), slices(len(A) - k.stop, HEIGHT))
    return True


def pivoted_cholesky(K: Array) -> tuple[Array, np.ndarray]:
    """Return F with K = FFᵀ up to rounding, one column for each pivot, and the pivots: F[pivots] is triangular.

    The next pivot is the largest diagonal entry of K − FFᵀ, until only rounding errors are left. Matrices on a device
    are factorised on the host: every pivot would wait for the device.
    """
    n = K.shape[0]
    tol = n * eps(K) * largest(K)
    L, order, rank, _ = scipy.linalg.lapack.dpstrf(host(K), lower=True, tol=tol)
    F = np.empty((n, rank))
    F[order - 1] = np.tril(L[:, :rank])
    return asarray_like(F, K, K.dtype) if is_foreign(K) else F, order[:rank] - 1


def inverse_of_lower(L: Array) -> Array:
    """Return L⁻¹ of a lower triangular matrix."""
    if is_foreign(L):
        return namespace(L).linalg.inv(L)
    return scipy.linalg.solve_triangular(L, eye(len(L), L), lower=True, check_finite=False)


def times_upper(K: Array, R: Array) -> Array:
    """Return K @ R for an upper triangular R, in four blocks of columns: five eighths of the operations."""
    if is_foreign(K):
        return K @ R
    out = np.empty((len(K), len(R)))
    for block in np.array_split(np.arange(len(R)), BLOCKS):
        if len(block):
            start, end = block[0], block[-1] + 1
            np.matmul(K[:, :end], R[:end, start:end], out=out[:, start:end])
    return out


def cityblock(X: Array, Z: Array) -> Array:
    """Return Σ|x − z| of all pairs of rows: (n, m)."""
    if not is_foreign(X):
        return cdist(X, Z, "cityblock").astype(X.dtype)
    t = abs(X[:, :1] - Z[:, 0])
    for j in range(1, X.shape[1]):  # one column after the other: all at once would need n × m × d numbers
        t += abs(X[:, j : j + 1] - Z[:, j])
    return t
