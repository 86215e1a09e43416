"""Leading eigenpairs of a symmetric operator: ``eigenpairs`` alone sorts, cuts by rank, fixes signs and checks.

Solvers are small frozen settings with ``__call__(A, q, rng)``. Each returns Ritz pairs in any order; what they promise
is checked here, and a driver that fails is replaced by one that does not.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from .davidson import Davidson
from .gram import Dense
from .landmarks import Landmarks
from .ritz import Ritz, orthonormal, rayleigh_ritz
from .tiles import available_bytes, budget_bytes, interruptible, single_blas

EPS = np.finfo(float).eps
SMALL = 1_500  # rows: below it LAPACK gains nothing from threads
FEW, SOME, MANY = 1_200, 3_000, 30  # rows and components where Lanczos on the stored matrix was fastest
TINY = 100  # rows: no iteration saves anything
LARGE = 100_000  # rows: above it, a pass over all pairs takes longer than people wait
LAPACK_32BIT = 32_767  # rows: from here on the workspace of syevd overflows a 32-bit integer
SKEW = 1e-4  # a skewness below this does not decide a sign
TIE = 1e-6  # coordinates closer than this are one
LAST_DIGITS = 1e-13  # a residual that nobody can ask to be smaller
LOST = 1e-3  # a residual above this share of λ₁ means that an iterative driver has failed


@dataclass(frozen=True)
class Report:
    """What was done, and how well: the fitted attribute ``solver_``.

    ``passes`` counts products with the whole matrix, ``residual`` is the largest ‖Av − λv‖ / λ₁ of the pairs kept,
    ``lowest`` the smallest eigenvalue seen and ``negative_mass`` the share Σ|λ₋| / Σ|λ| of an indefinite matrix (a
    lower bound where not all eigenvalues were computed), ``last`` the q-th largest eigenvalue before the cut by rank.
    ``outside`` is the variance outside the span of landmarks, also as a share of all variance. ``note`` says what was
    done instead of what was asked.
    """

    solver: Any
    passes: int
    residual: float
    last: float = 0.0
    lowest: float = 0.0
    negative_mass: float = 0.0
    outside: float = 0.0
    outside_share: float = 0.0
    note: str = ""


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenvalues in falling order, orthonormal eigenvectors, and the report."""

    values: np.ndarray
    vectors: np.ndarray
    info: Report


def eigenpairs(A, q=None, solver="auto", rng=None, floor=None, definite=True):
    """Return the q largest eigenpairs of A above the rank threshold: fewer if there are not so many.

    The threshold is the rounding of λ₁, or of ``floor()`` if that is larger: the size of what A was centred from, whose
    rounding it carries. ``definite=False`` looks for negative eigenvalues too and reports their mass.
    """
    n = A.shape[0]
    q = n if q is None else min(q, n)
    solver = choose(solver, n, q)
    if n == 0:
        return Eigenpairs(np.empty(0), np.empty((0, 0)), Report(solver, passes=0, residual=0.0))
    ritz = _guarded(solver, A, q if definite or not isinstance(solver, Exact) else n, rng or np.random.default_rng(0))
    rounding = _rounding(n, ritz.vectors.dtype) * max(ritz.values.max(initial=0.0), floor() if floor else 0.0)
    order = np.argsort(ritz.values)[::-1][:q]
    kept = order[ritz.values[order] > rounding]
    values, vectors = ritz.values[kept], ritz.vectors[:, kept]
    spectrum = ritz.values if definite or len(ritz.values) == n else _both_ends(A, ritz.values)
    negative = spectrum[spectrum < -rounding] if not definite else np.empty(0)
    info = Report(
        solver,
        ritz.passes,
        residual=float(ritz.residuals[kept].max(initial=0.0)),
        last=float(ritz.values[order].min(initial=np.inf)),
        lowest=float(negative.min(initial=0.0)),
        negative_mass=float(abs(negative.sum()) / max(np.abs(spectrum).sum(), np.finfo(float).tiny)),
        note=ritz.note,
    )
    root = A.root.astype(float)
    flips = signs(vectors / root, root**2, A.points)
    return Eigenpairs(values.astype(float), vectors * flips.astype(vectors.dtype), info)


def _rounding(n, dtype):
    """The relative error of an eigenvalue: n·ε at worst, and the typical √n·ε in single precision."""
    return n * EPS if dtype == np.float64 else 4 * n**0.5 * float(np.finfo(dtype).eps)


def choose(solver, n, q):
    """Return the solver that a name stands for; ``"auto"`` by this table.

    ==============================  ============================================
    very few rows (n ≤ 100)         ``Exact``: LAPACK on the stored matrix
    many components (q > n/5)       ``Exact``: no iteration saves anything
    few rows (n ≤ 1200; n ≤ 3000    ``Lanczos`` on the stored matrix
    with q ≥ 30)
    up to 100 000 rows              ``Davidson``, no matrix stored
    more                            ``Landmarks``: one pass, error reported
    ==============================  ============================================
    """
    if not isinstance(solver, str):
        return solver
    if solver == "auto":
        if n <= TINY or q is None or 5 * q > n:
            return Exact()
        if n <= FEW or (n <= SOME and q >= MANY):
            return Lanczos(tol=Davidson().tol)
        return Davidson() if n <= LARGE else Landmarks()
    if solver in NAMES:
        return NAMES[solver]()
    raise ValueError(f"{solver!r} is no solver. Give one of 'auto', {', '.join(map(repr, NAMES))}, or an instance.")


def _guarded(solver, A, q, rng):
    """Run the solver; where it raises, loses pairs or has not converged, run one that cannot.

    BLAS has one thread meanwhile, but for LAPACK on large matrices, which lives on them.
    """
    lapack = isinstance(solver, Exact) and A.shape[0] > SMALL
    if A.shape[0] <= TINY and isinstance(solver, Davidson | Lanczos):
        return replace(Exact()(A, q), note=f"so few rows ({A.shape[0]}) were decomposed exactly")
    try:
        with nullcontext() if lapack else single_blas:
            ritz = solver(A, q, rng)
        few = A.shape[0] <= 2 * SMALL and isinstance(solver, Davidson)  # so few that LAPACK can take over at once
        found = np.isfinite(ritz.residuals) & (ritz.residuals < (max(solver.tol, LAST_DIGITS) if few else LOST))
        if isinstance(solver, Exact | Randomized) or found.sum() >= q:
            return ritz
        cause = f"{type(solver).__name__} converged for {found.sum()} of {q} pairs"
    except (ArpackError, np.linalg.LinAlgError) as error:
        cause = f"{type(solver).__name__} failed ({error})"
    instead = Exact() if A.shape[0] <= 2 * SMALL else Randomized()
    ritz = instead(A, q, rng)
    return replace(ritz, note=f"{cause}; {instead!r} was used instead")


@dataclass(frozen=True)
class Exact:
    """LAPACK on the stored matrix."""

    def __call__(self, A, q, rng=None):
        _check_memory(A.shape[0])
        K = A.dense()
        values, vectors = _eigh(K, q)
        return Ritz(values, vectors, K @ vectors, passes=1)


EXACT_ARRAYS = 4  # n × n in float64: the matrix, LAPACK's copy of it, its workspace


def _check_memory(n):
    """Refuse before anything is allocated."""
    need, free = EXACT_ARRAYS * 8 * n**2, available_bytes()
    if need > free:
        raise MemoryError(
            f"solver='exact' needs {EXACT_ARRAYS} arrays of {n} × {n}, {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB "
            "are free. Use solver='davidson' with a number of components, which stores none of them, or 'landmarks'."
        )


def _eigh(K, q):
    """The q largest pairs by LAPACK's subset driver, or all by divide and conquer where that one fails or is slower."""
    n = len(K)
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


@dataclass(frozen=True)
class Lanczos:
    """ARPACK's implicitly restarted Lanczos, one product at a time, to the residual ``tol``·λ (0 = machine precision).

    It takes dozens of products, so that the matrix is stored where it fits ``working_memory``.

    A single starting vector can miss a member of a tight cluster: a block that is orthogonal to what was found is
    sent after it, and what it brings is taken in.
    """

    tol: float = 0.0
    max_iter: int | None = None

    def __call__(self, A, q, rng):
        n = A.shape[0]
        if 2 * q >= n:
            return Exact()(A, q)  # a Krylov space that large is the whole space
        A = Dense(A.dense().astype(A.dtype, copy=False)) if 8 * n**2 <= budget_bytes() else A
        operator, products = _counted(A)
        start = rng.uniform(-1, 1, n).astype(A.dtype)
        width = min(n, max(NARROWEST, q + 20))  # of the Krylov space: ARPACK's own 2q + 1 took longer at both ends
        _, vectors = eigsh(operator, q, which="LA", tol=self.tol, maxiter=self.max_iter, v0=start, ncv=width)
        return _repaired(A, vectors.astype(A.dtype), q, rng, len(products))


def _counted(A):
    """A as SciPy sees operators, and a list that grows with every product."""
    products: list = []
    symv = scipy.linalg.get_blas_funcs("symv", dtype=A.dtype)  # reads half the matrix, which is all the cost

    def matvec(v):
        products.append(1)
        return symv(1, A.K.T, v, lower=1) if isinstance(A, Dense) else (A @ v.reshape(-1, 1))[:, 0]

    return LinearOperator(A.shape, matvec=matvec, dtype=A.dtype), products


def _repaired(A, V, q, rng, passes):
    """Rayleigh–Ritz on what was found and on a random block outside it, sent twice through A."""
    AV = A @ V
    probe = orthonormal(rng.standard_normal((len(V), PROBES)).astype(V.dtype), V)
    probe = orthonormal(A @ probe, V)
    basis, images = np.hstack([V, probe]), np.hstack([AV, A @ probe])
    return rayleigh_ritz(basis, images, q, passes + 3)


PROBES = 4
NARROWEST = 24


@dataclass(frozen=True)
class Randomized:
    """Randomised block Krylov: ``power + 1`` passes over A, whatever q is."""

    oversample: int = 10
    power: int = 4

    def __call__(self, A, q, rng):
        n = A.shape[0]
        block = np.linalg.qr(rng.standard_normal((n, min(n, q + self.oversample))).astype(A.dtype))[0]
        basis, images, passes = block, A @ block, 1
        while passes <= self.power and (block := orthonormal(images[:, -block.shape[1] :], basis)).shape[1]:
            basis, images, passes = np.hstack([basis, block]), np.hstack([images, A @ block]), passes + 1
        return rayleigh_ritz(basis, images, min(n, q + self.oversample), passes)


def signs(Y, w=None, points=None):
    """±1 for each column of coordinates such that Σ w y³ > 0; see ``_tied_sign`` where that is 0.

    The rule does not depend on the order of the rows, nor on whether a row stands twice or has twice the weight.
    """
    w = np.full((len(Y), 1), 1 / max(len(Y), 1)) if w is None else w
    skewness = np.sum(w * Y**3, axis=0) / np.maximum(np.sum(w * Y**2, axis=0) ** 1.5, np.finfo(float).tiny)
    return np.array(
        [np.sign(skew) if abs(skew) > SKEW else _tied_sign(y, points) for skew, y in zip(skewness, Y.T, strict=True)]
    )


def _tied_sign(y, points):
    """The sign of the largest |y|; of rows that tie, the first in the lexicographic order of the points."""
    rows = np.flatnonzero(np.abs(y) >= (1 - TIE) * np.abs(y).max())
    if points is None or len(rows) == 1:
        return np.sign(y[rows[0]])
    tied = points[rows]
    tied = np.asarray(tied.todense() if hasattr(tied, "todense") else tied, float)
    grid = TIE * max(np.abs(tied).max(), np.finfo(float).tiny)
    return np.sign(y[rows[np.lexsort(np.round(tied / grid).T[::-1])[0]]])


def _both_ends(A, upper):
    """All eigenvalues of a small matrix; of a large one those above, and roughly the lowest."""
    if A.shape[0] <= SMALL:
        return np.linalg.eigvalsh(A.dense())
    operator, _ = _counted(A)
    start = np.cos(np.arange(A.shape[0])).astype(A.dtype)  # any vector that no eigenvector is orthogonal to
    try:
        lowest = eigsh(operator, 1, which="SA", tol=0.01, v0=start, return_eigenvectors=False)
    except ArpackError:
        lowest = upper.min(keepdims=True)
    return np.append(upper, lowest)


NAMES = {"exact": Exact, "davidson": Davidson, "lanczos": Lanczos, "randomized": Randomized, "landmarks": Landmarks}
