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

from .arrays import (
    at_least,
    cast,
    columns,
    count,
    double,
    elsewhere,
    eps,
    failures,
    full,
    is_single,
    largest,
    namespace,
    numbers,
    placed,
    rows,
    side_by_side,
    stacked,
    zeros,
)
from .davidson import Davidson
from .gram import Dense
from .landmarks import Landmarks
from .ritz import Ritz, orthonormal, rayleigh_ritz
from .tiles import available_bytes, budget_bytes, interruptible, single_blas

EPS, TINIEST = float(np.finfo(float).eps), float(np.finfo(float).tiny)
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

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> told = KernelPCA(2, solver="davidson").fit(X).solver_
    >>> told.residual < 1e-6
    True
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

    values: Any
    vectors: Any
    info: Report


def eigenpairs(A, q=None, solver="auto", rng=None, floor=None, definite=True):
    """Return the q largest eigenpairs of A above the rank threshold: fewer if there are not so many.

    The threshold is the rounding of λ₁, or of ``floor()`` if that is larger: the size of what A was centred from, whose
    rounding it carries. ``definite=False`` looks for negative eigenvalues too and reports their mass.
    """
    n = A.shape[0]
    q = n if q is None else min(q, n)
    solver = choose(solver, n, q) if not elsewhere(A.root) else choose_elsewhere(solver, n, q)
    if n == 0:
        return Eigenpairs(zeros((0,), A.root), zeros((0, 0), A.root), Report(solver, passes=0, residual=0.0))
    ritz = _guarded(solver, A, q if definite or not isinstance(solver, Exact) else n, rng or np.random.default_rng(0))
    xp = namespace(ritz.values)
    rounding = _rounding(n, ritz.vectors) * max(largest(ritz.values), floor() if floor else 0.0)
    order = xp.flip(xp.argsort(ritz.values))[: min(q, ritz.values.shape[0])]
    in_order = rows(ritz.values, order)
    kept = order[in_order > rounding]
    values, vectors = rows(ritz.values, kept), columns(ritz.vectors, kept)
    spectrum = ritz.values if definite or ritz.values.shape[0] == n else _both_ends(A, ritz.values)
    negative = spectrum[spectrum < -rounding] if not definite else spectrum[:0]
    info = Report(
        solver,
        ritz.passes,
        residual=largest(rows(ritz.residuals, kept)),
        last=-largest(-in_order, -np.inf),
        lowest=-largest(-negative),
        negative_mass=float(abs(xp.sum(negative))) / max(float(xp.sum(abs(spectrum))), TINIEST),
        note=ritz.note,
    )
    root = double(A.root)
    flips = signs(vectors / root, root**2, A.points)
    return Eigenpairs(double(values), vectors * cast(flips, vectors.dtype), info)


def _rounding(n, vectors):
    """The relative error of an eigenvalue: n·ε at worst, and the typical √n·ε in single precision."""
    return 4 * n**0.5 * eps(vectors) if is_single(vectors) else n * EPS


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

    Parameters
    ----------
    solver : str or solver
        A name; a solver is returned as it is.
    n : int
        Rows.
    q : int or None
        Components; None for all.

    Returns
    -------
    solver : solver
        An instance.

    Examples
    --------
    >>> from mercer.eigen import choose
    >>> choose("auto", n=50, q=2), choose("auto", n=20_000, q=10)
    (Exact(), Davidson(tol=1e-06, rank=None, max_passes=30))
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


def choose_elsewhere(solver, n, q):
    """The same table for arrays of other libraries than NumPy, with ``Exact`` where it has ``Lanczos``."""
    chosen = choose(solver, n, q)
    if not isinstance(chosen, Lanczos):
        return chosen
    if isinstance(solver, str) and solver == "auto":
        return Exact()
    raise ValueError(
        "solver='lanczos' is ARPACK, which works in NumPy's memory: it cannot stay on the device of these rows. "
        "Use solver='davidson', which finds the same components there, or give the rows as a NumPy array."
    )


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
        small = ritz.residuals < (max(solver.tol, LAST_DIGITS) if few else LOST)  # which no NaN is
        found = count(small)
        if isinstance(solver, Exact | Randomized) or found >= q:
            return ritz
        cause = f"{type(solver).__name__} converged for {found} of {q} pairs"
    except (ArpackError, *failures()) as error:
        cause = f"{type(solver).__name__} failed ({error})"
    instead = Exact() if A.shape[0] <= 2 * SMALL else Randomized()
    ritz = instead(A, q, rng)
    return replace(ritz, note=f"{cause}; {instead!r} was used instead")


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

    def __call__(self, A, q, rng=None):
        if A.shape[0] > 2 * TINY and not elsewhere(A.root):  # fewer rows fit anywhere, and asking takes time
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
    n = K.shape[0]
    if elsewhere(K):
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

    def __call__(self, A, q, rng):
        n = A.shape[0]
        choose_elsewhere(self, n, q) if elsewhere(A.root) else None
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
    basis, images = side_by_side(V, probe), side_by_side(AV, A @ probe)
    return rayleigh_ritz(basis, images, q, passes + 3)


PROBES = 4
NARROWEST = 24


@dataclass(frozen=True)
class Randomized:
    """Randomised block Krylov: ``power + 1`` passes over A, whatever q is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Randomized
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> KernelPCA(2, solver=Randomized(power=3), random_state=0).fit(X).solver_.passes
    4
    """

    oversample: int = 10
    power: int = 4

    def __call__(self, A, q, rng):
        n = A.shape[0]
        start = placed(rng.standard_normal((n, min(n, q + self.oversample))), A.root, A.dtype)
        block = namespace(start).linalg.qr(start)[0]
        basis, images, passes = block, A @ block, 1
        while passes <= self.power and (block := orthonormal(images[:, -block.shape[1] :], basis)).shape[1]:
            basis, images, passes = side_by_side(basis, block), side_by_side(images, A @ block), passes + 1
        return rayleigh_ritz(basis, images, min(n, q + self.oversample), passes)


def signs(Y, w=None, points=None):
    """±1 for each column of coordinates such that Σ w y³ > 0; see ``_tied_sign`` where that is 0.

    The rule does not depend on the order of the rows, nor on whether a row stands twice or has twice the weight.
    """
    xp, n = namespace(Y), Y.shape[0]
    w = full((n, 1), 1 / max(n, 1), Y) if w is None else w
    skewness = xp.sum(w * Y**3, axis=0) / at_least(xp.sum(w * Y**2, axis=0) ** 1.5, TINIEST)
    flips = xp.sign(skewness)
    for j in numbers(xp.nonzero(~(abs(skewness) > SKEW))[0]).tolist():
        flips[j] = _tied_sign(Y[:, j], points)
    return flips


def _tied_sign(y, points):
    """The sign of the largest |y|; of rows that tie, the first in the lexicographic order of the points."""
    xp = namespace(y)
    tied = xp.nonzero(abs(y) >= (1 - TIE) * xp.max(abs(y)))[0]
    first = 0 if points is None or tied.shape[0] == 1 else _first(rows(points, tied))
    return float(xp.sign(y[int(tied[first])]))


def _first(points):
    """The number of the row that comes first in lexicographic order, on a coarse grid."""
    if elsewhere(points):
        return _first_elsewhere(double(points))
    points = np.asarray(points.todense() if hasattr(points, "todense") else points, float)
    grid = TIE * max(np.abs(points).max(), TINIEST)
    return np.lexsort(np.round(points / grid).T[::-1])[0]


def _first_elsewhere(points):
    """The same column by column: other libraries do not sort by many keys."""
    xp = namespace(points)
    cells = xp.round(points / (TIE * largest(abs(points), TINIEST)))
    first = xp.ones_like(cells[:, 0], dtype=xp.bool)
    for j in range(cells.shape[1]):
        first &= cells[:, j] == xp.min(cells[:, j][first])
    return int(xp.nonzero(first)[0][0])


def _both_ends(A, upper):
    """All eigenvalues of a small matrix; of a large one those above, and roughly the lowest."""
    if A.shape[0] <= SMALL:
        return namespace(upper).linalg.eigvalsh(A.dense())
    if elsewhere(upper):
        return stacked([upper, -Randomized()(_Negative(A), 1, np.random.default_rng(0)).values[-1:]])
    operator, _ = _counted(A)
    start = np.cos(np.arange(A.shape[0])).astype(A.dtype)  # any vector that no eigenvector is orthogonal to
    try:
        lowest = eigsh(operator, 1, which="SA", tol=0.01, v0=start, return_eigenvectors=False)
    except ArpackError:
        lowest = upper.min(keepdims=True)
    return np.append(upper, lowest)


@dataclass(frozen=True, eq=False)
class _Negative:
    """−A, whose largest eigenvalue is the lowest of A."""

    A: Any

    def __getattr__(self, name):
        return getattr(self.A, name)

    def __matmul__(self, V):
        return -(self.A @ V)


NAMES = {"exact": Exact, "davidson": Davidson, "lanczos": Lanczos, "randomized": Randomized, "landmarks": Landmarks}
