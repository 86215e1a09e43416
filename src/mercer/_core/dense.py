"""Dense linear algebra that is faster with NumPy's LAPACK and SciPy than with the array standard."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist

from . import native
from .arrays import Array, asarray_like, eps, eye, host, is_foreign, largest, linalg_errors, namespace
from .blas import single_blas
from .tiles import in_threads, slices

SMALL = 1_500  # rows: below it LAPACK gains nothing from threads
LAPACK_32BIT = 32_767  # rows: from here on the workspace of syevd overflows a 32-bit integer
BLOCKS = 4  # of a triangular matrix
PANEL = 256  # columns of a Cholesky factor that are computed at once
EACH = 2  # slices of their rows for each thread
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


def has_cholesky(A: Any, shift: float, single: bool = False) -> bool:
    """Return True if A + shift·I of an operator A has a Cholesky factor: if no eigenvalue of A is below −shift.

    Panels of columns are computed from left to right: L_ik = (A_ik − Σ_j L_ij L_kjᵀ) L_kk⁻ᵀ, and A is not stored.
    ``single`` computes in single precision. The threads of BLAS are not used: they spend most of their time waiting on
    a busy machine.
    """
    n, dtype = A.shape[0], np.dtype(np.float32 if single else np.float64)
    if is_foreign(A.root):
        try:
            namespace(A.root).linalg.cholesky(A.dense() + shift * eye(n, A.root))
        except linalg_errors():
            return False
        return True
    potrf, trtri = scipy.linalg.lapack.get_lapack_funcs(("potrf", "trtri"), dtype=dtype)
    panels: dict[int, np.ndarray] = {}  # those of L, by their first row and column

    def left(k: slice, panel: np.ndarray, lane: Iterable[slice]) -> None:
        """Σ_j L_ij L_kjᵀ − A_ik of some rows of the panel k."""
        for i in lane:
            own = panel[i.start - k.start : i.stop - k.start]
            np.negative(A.tile(i, k), out=own, casting="same_kind")
            for start, L in panels.items():
                native.add_product(own, L[i.start - start : i.stop - start], L[k.start - start : k.stop - start].T)

    def turned(panel: np.ndarray, turn: np.ndarray, lane: Iterable[slice]) -> None:
        for i in lane:
            panel[i] = native.matmul(panel[i], turn)

    with single_blas as threads:
        for k in slices(n, PANEL):
            panel, width = np.empty((n - k.start, k.stop - k.start), dtype), k.stop - k.start
            height = max(PANEL, -(-(n - k.start) // (EACH * threads)))
            in_threads(partial(left, k, panel), slices(n, height, k.start))
            L_kk, failed = potrf(np.diag(np.full(width, shift, dtype)) - panel[:width], lower=True)
            if failed:
                return False
            panel[:width] = L_kk
            in_threads(partial(turned, panel, -trtri(L_kk, lower=True)[0].T), slices(len(panel), height, width))
            panels[k.start] = panel
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
    out = np.zeros((len(K), len(R)))
    for block in np.array_split(np.arange(len(R)), BLOCKS):
        if len(block):
            start, end = block[0], block[-1] + 1
            native.add_product(out[:, start:end], K[:, :end], R[:end, start:end])
    return out


def mirrored(A: Array) -> Array:
    """Return the symmetric matrix with the entries of A on and above the diagonal."""
    xp = namespace(A)
    upper = xp.triu(A)
    return upper + xp.triu(A, k=1).T


def cityblock(X: Array, Z: Array) -> Array:
    """Return Σ|x − z| of all pairs of rows: (n, m)."""
    if not is_foreign(X):
        return cdist(X, Z, "cityblock").astype(X.dtype)
    t = abs(X[:, :1] - Z[:, 0])
    for j in range(1, X.shape[1]):  # one column after the other: all at once would need n × m × d numbers
        t += abs(X[:, j : j + 1] - Z[:, j])
    return t
