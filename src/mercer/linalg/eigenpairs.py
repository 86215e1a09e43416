"""Leading eigenpairs of a symmetric operator: ``eigenpairs`` alone sorts, cuts by rank, fixes signs and checks.

Solvers are small frozen dataclasses with ``__call__(A, q, rng)``, which return Ritz pairs in any order. Their accuracy
is checked here, and a solver that fails is replaced by ``Exact`` or ``Randomized``.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError

from .._core import arrays
from .._core.arrays import Array, asarray_like, cast, columns, double, full, is_foreign, largest, namespace, rows, zeros
from .._core.blas import single_blas
from .._core.dense import SMALL, has_cholesky
from .._core.registry import SOLVERS, stored
from .operators import Dense, Operator
from .ritz import EPS, TINY, Ritz
from .signs import signs
from .solvers.davidson import Davidson
from .solvers.exact import Exact
from .solvers.lanczos import Lanczos
from .solvers.randomized import Randomized

LANCZOS_ROWS, MORE_ROWS, MANY = 1_200, 1_800, 30  # rows up to which Lanczos was fastest: for any q, for q ≥ MANY
EXACT_ROWS = 100  # rows up to which no iterative solver is faster
LAST_DIGITS = 1e-13  # the smallest residual that can be required
CHOLESKY_ROWS = 5_000  # rows up to which a Cholesky factor is as fast as a few dozen products
DOUBLE_ROWS = 2_000  # rows up to which a factor in double precision takes little time
VISIBLE = 1e-5  # relative to λ₁: negative eigenvalues of larger magnitude are found
CLOSE = 0.01  # relative residual below which a negative Ritz value is accepted as the lowest eigenvalue
SETTLED = 1e-4  # relative residual of a negative Ritz value below which Lanczos stops
SHIFTS = 6  # number of shifts σ that are tried, from the rounding error to λ₁
BREAKDOWN = 1e-10  # relative to the largest entry of T: a shorter new Lanczos vector is a rounding error
LOWEST_STEPS = 30  # Lanczos steps in the search for negative eigenvalues
FAILED = 1e-3  # a residual above this share of λ₁ means that an iterative solver has failed


@stored("eigen.Report")
@dataclass(frozen=True)
class Report:
    """The solver that was used and its accuracy: the fitted attribute ``solver_``.

    ``passes`` counts products with the whole matrix, ``residual`` is the largest ‖Av − λv‖ / λ₁ of the pairs kept,
    ``lowest`` the smallest eigenvalue found and ``negative_mass`` the share Σ|λ₋| / Σ|λ| of an indefinite matrix (a
    lower bound if not all eigenvalues were computed), ``last`` the q-th largest eigenvalue before the cut by rank.
    ``outside`` is the variance outside the span of landmarks, ``outside_share`` its share of the total variance.
    ``note`` is not empty if another method than the requested one was used.

    Models that ``partial_fit`` has updated also have ``rows``, the number of rows seen, ``recent_share``, the
    ``outside_share`` of the latest rows, and ``changes``, the last refreshes of the landmarks: (rows seen, landmarks
    exchanged).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> report = KernelPCA(2, solver="davidson").fit(X).solver_
    >>> report.solver
    Davidson(tol=1e-06, rank=None, max_passes=30)
    >>> print(f"{report.last:.3f}")
    0.093
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
    rows: int = 0
    recent_share: float = 0.0
    changes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenvalues in descending order, orthonormal eigenvectors, and the report."""

    values: Array
    vectors: Array
    info: Report
    negative: float = 0.0  # Σ|λ| of the negative eigenvalues that were found


class Solver(Protocol):
    """A solver returns Ritz pairs of A in any order, the q largest among them."""

    def __call__(self, A: Operator, q: int, rng: np.random.Generator) -> Ritz: ...


def eigenpairs(
    A: Operator,
    q: int | None = None,
    solver: str | Solver = "auto",
    rng: np.random.Generator | None = None,
    floor: Callable[[], float] | None = None,
    definite: bool = True,
) -> Eigenpairs:
    """Return the q largest eigenpairs of A, or all above the rank threshold if there are fewer.

    The threshold is the rounding error of λ₁, or of ``floor()`` if that is larger. ``floor()`` is the size of the
    matrix before centring, because A contains the rounding errors of that matrix. Eigenvalues below 1e-292 are never
    kept. ``definite=False`` also looks for negative eigenvalues.
    """
    n = A.shape[0]
    q = n if q is None else min(q, n)
    solver = choose_for(A.root, solver, n, q)
    if n == 0:
        return Eigenpairs(zeros((0,), A.root), zeros((0, 0), A.root), Report(solver, passes=0, residual=0.0))
    complete = not definite and getattr(solver, "complete", False)
    ritz = _guarded(solver, A, n if complete else q, rng or np.random.default_rng(0))
    xp = namespace(ritz.values)
    error = rounding(n, ritz.vectors) * max(largest(ritz.values), floor() if floor else 0.0)
    error = max(error, TINY / EPS)  # entries this small have lost digits, and dividing by their roots may overflow
    order = xp.flip(xp.argsort(ritz.values))[: min(q, ritz.values.shape[0])]
    in_order = rows(ritz.values, order)
    kept = order[in_order > error]
    values, vectors = rows(ritz.values, kept), columns(ritz.vectors, kept)
    known = definite or ritz.values.shape[0] == n
    spectrum, missed = (ritz.values, "") if known else _both_ends(A, double(ritz.values), error)
    negative = spectrum[spectrum < -error] if not definite else spectrum[:0]
    info = Report(
        solver,
        ritz.passes,
        residual=largest(rows(ritz.residuals, kept)),
        last=-largest(-in_order, -np.inf),
        lowest=-largest(-negative),
        negative_mass=float(abs(xp.sum(negative))) / max(float(xp.sum(abs(spectrum))), TINY),
        note="; ".join(filter(None, (ritz.note, missed))),
    )
    root = double(A.root)
    flips = signs(vectors / root, root * root, A.points)
    return Eigenpairs(double(values), vectors * cast(flips, vectors.dtype), info, float(abs(xp.sum(negative))))


def rounding(n: int, vectors: Array) -> float:
    """Return the relative error of an eigenvalue: n·ε at worst, and the typical √n·ε in single precision."""
    single = vectors.dtype == namespace(vectors).float32
    return 4 * n**0.5 * arrays.eps(vectors) if single else n * EPS


def choose(solver: str | Solver, n: int, q: int | None) -> Solver:
    """Return the solver with the given name; ``"auto"`` is resolved for an n × n operator and q pairs.

    See :func:`mercer.eigen.choose` for the whole decision table, which includes landmarks.
    """
    if not isinstance(solver, str):
        return solver
    if solver == "auto":
        if n <= EXACT_ROWS or q is None or 5 * q > n:
            return Exact()
        if n <= LANCZOS_ROWS or (n <= MORE_ROWS and q >= MANY):
            return Lanczos(tol=Davidson().tol)
        return Davidson()
    if solver in SOLVERS:
        return SOLVERS[solver]()
    raise ValueError(f"Unknown solver {solver!r}. Give 'auto', one of {SOLVERS.quoted()}, or an instance.")


def choose_for(x: Array, solver: str | Solver, n: int, q: int | None) -> Solver:
    """Return the solver for arrays like ``x``; raise ValueError if it supports only NumPy arrays."""
    chosen = choose(solver, n, q)
    if not is_foreign(x) or getattr(chosen, "portable", True):
        return chosen
    if isinstance(solver, str) and solver == "auto":
        return Exact()
    raise ValueError(
        f"{chosen!r} works on NumPy arrays, and these rows are of {arrays.library(x)}. Use "
        "solver='davidson', which finds the same components, or give the rows as a NumPy array."
    )


def _guarded(solver: Solver, A: Operator, q: int, rng: np.random.Generator) -> Ritz:
    """Run the solver; if it raises, loses pairs or does not converge, run one that cannot fail.

    BLAS is limited to one thread, except for LAPACK on large matrices.
    """
    n = A.shape[0]
    if n <= getattr(solver, "fewest_rows", 0):
        return replace(Exact()(A, q), note=f"with so few rows ({n}), Exact() was used instead")
    try:
        with nullcontext() if n > SMALL and getattr(solver, "threaded", False) else single_blas:
            ritz = solver(A, q, rng)
        found = int(namespace(ritz.values).count_nonzero(ritz.residuals < _accepted(solver, n)))  # False for NaN
        if getattr(solver, "direct", False) or found >= q:
            return ritz
        cause = f"{type(solver).__name__} converged for {found} of {q} pairs"
    except (ArpackError, *arrays.linalg_errors()) as error:
        cause = f"{type(solver).__name__} failed ({error})"
    instead = Exact() if n <= 2 * SMALL else Randomized()
    return replace(instead(A, q, rng), note=f"{cause}; {instead!r} was used instead")


def _accepted(solver: Solver, n: int) -> float:
    """Return the residual above which a pair counts as lost: the solver's ``tol`` if LAPACK can replace the solver."""
    strict = n <= 2 * SMALL and getattr(solver, "strict", False)
    return max(getattr(solver, "tol", 0.0), LAST_DIGITS) if strict else FAILED


def _both_ends(A: Operator, upper: Array, error: float) -> tuple[Array, str]:
    """Search for negative eigenvalues; return ``upper``, or more of the spectrum if there are any, and a note.

    Up to ``CHOLESKY_ROWS`` rows, a Cholesky factor of A + error·I proves that there are none; otherwise all eigenvalues
    (few rows) or the lowest one are returned. Beyond ``DOUBLE_ROWS`` a factor in single precision is enough, if its
    rounding error, n·ε·max aₙₙ, is small enough. With more than ``CHOLESKY_ROWS`` rows, the lowest Ritz value of
    ``LOWEST_STEPS`` Lanczos steps is appended, which is never below the lowest eigenvalue. The note says if small
    negative eigenvalues may have been missed.
    """
    n, xp = A.shape[0], namespace(upper)
    missed = f"negative eigenvalues below {VISIBLE:.0e} of the largest one may have been missed"
    if n <= CHOLESKY_ROWS:
        single = n * float(np.finfo(np.float32).eps) * largest(abs(double(A.diag())))
        enough = n > DOUBLE_ROWS and 2 * single <= VISIBLE * largest(upper)
        stored = A if hasattr(A.gram, "tile") else Dense(A.dense())
        if has_cholesky(stored, single if enough else error, enough):
            return upper, missed if enough else ""
        matrix = A.dense()
        if n <= SMALL:
            return xp.linalg.eigvalsh(matrix), ""
        return xp.concat([upper, _below_zero(matrix, largest(upper), error)]), ""
    lowest = _lowest_ritz(A)[0]
    return xp.concat([upper, lowest]), "" if lowest[0] < -error else missed


def _below_zero(matrix: Array, size: float, error: float) -> Array:
    """Return the lowest eigenvalue of a matrix that has negative ones: (1,).

    A few steps of Lanczos find it if it is not much smaller than λ₁. Otherwise it is 1/θ − σ, with θ the largest
    eigenvalue of (A + σI)⁻¹. σ has the order of magnitude of the eigenvalue, and A + σI is positive definite.
    """
    if is_foreign(matrix):
        return namespace(matrix).clip(_lowest_ritz(Dense(matrix))[0], None, -2 * error)
    lowest, residual = _lowest_ritz(Dense(matrix))
    if lowest[0] < -error and residual <= CLOSE * -lowest[0]:
        return lowest
    for sigma in np.geomspace(size, 2 * max(error, -lowest[0]), SHIFTS)[::-1]:
        try:
            factor = scipy.linalg.cho_factor(matrix + sigma * np.eye(len(matrix)), check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return 1 / -_lowest_ritz(_Inverse(matrix, factor))[0] - sigma
    return lowest


class _Inverse(Dense):
    """−(A + σI)⁻¹, from a Cholesky factor."""

    def __init__(self, K: Array, factor: Any) -> None:
        super().__init__(K)
        self.__dict__["factor"] = factor

    def __matmul__(self, V: Array) -> Array:
        return -scipy.linalg.cho_solve(self.__dict__["factor"], V, check_finite=False)


def _lowest_ritz(A: Operator) -> tuple[Array, float]:
    """Return the lowest Ritz value, (1,), and its residual, after ``LOWEST_STEPS`` of Lanczos with reorthogonalisation.

    It ends early if a negative Ritz value has converged.
    """
    start = asarray_like(np.cos(np.arange(A.shape[0])), A.root)  # not orthogonal to an eigenvector
    xp, T = namespace(start), np.zeros((LOWEST_STEPS, LOWEST_STEPS))
    basis = [start / xp.linalg.vector_norm(start)]
    for step in range(LOWEST_STEPS):
        V = xp.stack(basis, axis=1)
        v = double(A @ cast(basis[-1][:, None], A.dtype))[:, 0]
        along = V.T @ v
        T[: step + 1, step] = T[step, : step + 1] = [float(along[i]) for i in range(step + 1)]
        for _ in range(2):  # orthogonal to rounding error
            v = v - V @ (V.T @ v)
        length = float(xp.linalg.vector_norm(v))
        values, vectors = np.linalg.eigh(T[: step + 1, : step + 1])
        residual = length * float(abs(vectors[-1, 0]))
        if length <= BREAKDOWN * abs(T).max() or residual <= SETTLED * -values[0]:
            break
        basis.append(v / length)
    return full((1,), float(values[0]), start), residual
