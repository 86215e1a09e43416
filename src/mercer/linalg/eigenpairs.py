"""Leading eigenpairs of a symmetric operator: ``eigenpairs`` alone sorts, cuts by rank, fixes signs and checks.

Solvers are small frozen dataclasses with ``__call__(A, q, rng)``, which return Ritz pairs in any order. Their accuracy
is checked here, and a solver that fails is replaced by one that does not.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.sparse.linalg import ArpackError

from .._core import arrays
from .._core.arrays import Array, cast, columns, double, is_foreign, largest, namespace, rows, zeros
from .._core.blas import single_blas
from .._core.dense import SMALL
from .._core.registry import SOLVERS, stored
from .._core.scipy import seeded_eigsh
from .operators import Operator
from .ritz import EPS, TINY, Ritz
from .signs import signs
from .solvers.davidson import Davidson
from .solvers.exact import Exact
from .solvers.lanczos import Lanczos, counted_products
from .solvers.randomized import Randomized

LANCZOS_ROWS, MORE_ROWS, MANY = 1_200, 3_000, 30  # rows, and rows of MANY components, up to which Lanczos was fastest
EXACT_ROWS = 100  # up to which no iterative solver is faster
LAST_DIGITS = 1e-13  # the smallest residual that can be required
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

    Models that ``partial_fit`` has updated also have ``rows``, the number of rows seen, ``recent_share``, the share
    outside of the latest rows, and ``changes``, the last refreshes of the landmarks: (rows seen, landmarks exchanged).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> report = KernelPCA(2, solver="davidson").fit(X).solver_
    >>> report.residual < 1e-6
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

    The threshold is the rounding error of λ₁, or of ``floor()`` if that is larger: the size of the matrix before
    centring, whose rounding errors A contains. ``definite=False`` also looks for negative eigenvalues.
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
    order = xp.flip(xp.argsort(ritz.values))[: min(q, ritz.values.shape[0])]
    in_order = rows(ritz.values, order)
    kept = order[in_order > error]
    values, vectors = rows(ritz.values, kept), columns(ritz.vectors, kept)
    spectrum = ritz.values if definite or ritz.values.shape[0] == n else _both_ends(A, ritz.values)
    negative = spectrum[spectrum < -error] if not definite else spectrum[:0]
    info = Report(
        solver,
        ritz.passes,
        residual=largest(rows(ritz.residuals, kept)),
        last=-largest(-in_order, -np.inf),
        lowest=-largest(-negative),
        negative_mass=float(abs(xp.sum(negative))) / max(float(xp.sum(abs(spectrum))), TINY),
        note=ritz.note,
    )
    root = double(A.root)
    flips = signs(vectors / root, root * root, A.points)
    return Eigenpairs(double(values), vectors * cast(flips, vectors.dtype), info, float(abs(xp.sum(negative))))


def rounding(n: int, vectors: Array) -> float:
    """Return the relative error of an eigenvalue: n·ε at worst, and the typical √n·ε in single precision."""
    single = vectors.dtype == namespace(vectors).float32
    return 4 * n**0.5 * arrays.eps(vectors) if single else n * EPS


def choose(solver: str | Solver, n: int, q: int | None) -> Solver:
    """Return the solver of a name; ``"auto"`` is resolved for an n × n operator and q pairs.

    See :func:`mercer.eigen.choose` for the whole table, with landmarks for models.
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
    """Return the residual above which a pair counts as lost: the promised one if LAPACK can replace the solver."""
    strict = n <= 2 * SMALL and getattr(solver, "strict", False)
    return max(getattr(solver, "tol", 0.0), LAST_DIGITS) if strict else FAILED


def _both_ends(A: Operator, upper: Array) -> Array:
    """Return all eigenvalues of a small matrix; ``upper`` and an estimate of the lowest one for a large matrix."""
    xp = namespace(upper)
    if A.shape[0] <= SMALL:
        return xp.linalg.eigvalsh(A.dense())
    if is_foreign(upper):
        return xp.concat([upper, -Randomized()(_Negative(A), 1, np.random.default_rng(0)).values[-1:]])
    operator, _ = counted_products(A)
    start = np.cos(np.arange(A.shape[0])).astype(A.dtype)  # any vector that is not orthogonal to an eigenvector
    try:
        lowest = seeded_eigsh(operator, 1, v0=start, seed=0, which="SA", tol=0.01, return_eigenvectors=False)
    except ArpackError:
        lowest = upper.min(keepdims=True)
    return np.append(upper, lowest)


@dataclass(frozen=True, eq=False)
class _Negative:
    """−A, whose largest eigenvalue is minus the lowest one of A."""

    A: Operator

    def __getattr__(self, name: str) -> Any:
        return getattr(self.A, name)

    def __matmul__(self, V: Array) -> Array:
        return -(self.A @ V)
