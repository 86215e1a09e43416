"""Leading eigenpairs of a symmetric operator: ``eigenpairs`` alone sorts, cuts by rank, fixes signs and checks.

Solvers are small frozen settings with ``__call__(A, q, rng)``. Each returns Ritz pairs in any order; what they promise
is checked here, and a driver that fails is replaced by one that does not.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError

from .._core.arrays import (
    Array,
    cast,
    columns,
    double,
    eps,
    is_foreign,
    largest,
    library,
    linalg_errors,
    namespace,
    rows,
    zeros,
)
from .._core.blas import single_blas
from .._core.dense import SMALL
from .._core.registry import SOLVERS, stored
from .._core.scipy import seeded_eigsh
from .ritz import EPS, TINY, Ritz
from .signs import signs
from .solvers.davidson import Davidson
from .solvers.exact import Exact
from .solvers.lanczos import Lanczos, counted_products
from .solvers.randomized import Randomized

FEW, SOME, MANY = 1_200, 3_000, 30  # rows and components where Lanczos on the stored matrix was fastest
FEWEST = 100  # rows: no iteration saves anything
LAST_DIGITS = 1e-13  # a residual that nobody can ask to be smaller
LOST = 1e-3  # a residual above this share of λ₁ means that an iterative driver has failed


@stored("eigen.Report")
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


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenvalues in falling order, orthonormal eigenvectors, and the report."""

    values: Any
    vectors: Any
    info: Report


def eigenpairs(
    A: Any,
    q: int | None = None,
    solver: Any = "auto",
    rng: np.random.Generator | None = None,
    floor: Callable[[], float] | None = None,
    definite: bool = True,
) -> Eigenpairs:
    """Return the q largest eigenpairs of A above the rank threshold: fewer if there are not so many.

    The threshold is the rounding of λ₁, or of ``floor()`` if that is larger: the size of what A was centred from, whose
    rounding it carries. ``definite=False`` looks for negative eigenvalues too and reports their mass.
    """
    n = A.shape[0]
    q = n if q is None else min(q, n)
    solver = choose_for(A.root, solver, n, q)
    if n == 0:
        return Eigenpairs(zeros((0,), A.root), zeros((0, 0), A.root), Report(solver, passes=0, residual=0.0))
    complete = not definite and getattr(solver, "complete", False)
    ritz = _guarded(solver, A, n if complete else q, rng or np.random.default_rng(0))
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
        negative_mass=float(abs(xp.sum(negative))) / max(float(xp.sum(abs(spectrum))), TINY),
        note=ritz.note,
    )
    root = double(A.root)
    flips = signs(vectors / root, root * root, A.points)
    return Eigenpairs(double(values), vectors * cast(flips, vectors.dtype), info)


def _rounding(n: int, vectors: Array) -> float:
    """Return the relative error of an eigenvalue: n·ε at worst, and the typical √n·ε in single precision."""
    single = vectors.dtype == namespace(vectors).float32
    return 4 * n**0.5 * eps(vectors) if single else n * EPS


def choose(solver: Any, n: int, q: int | None) -> Any:
    """Return the solver that a name stands for; ``"auto"`` is chosen for an n × n operator and q pairs.

    :func:`mercer.eigen.choose` has the whole table, which includes landmarks for models.
    """
    if not isinstance(solver, str):
        return solver
    if solver == "auto":
        if n <= FEWEST or q is None or 5 * q > n:
            return Exact()
        if n <= FEW or (n <= SOME and q >= MANY):
            return Lanczos(tol=Davidson().tol)
        return Davidson()
    if solver in SOLVERS:
        return SOLVERS[solver]()
    raise ValueError(f"Unknown solver {solver!r}. Give 'auto', one of {SOLVERS.quoted()}, or an instance.")


def choose_for(x: Array, solver: Any, n: int, q: int | None) -> Any:
    """Return the solver for the library of the array ``x``: one that works there, or an error that names one."""
    chosen = choose(solver, n, q)
    if not is_foreign(x) or getattr(chosen, "portable", True):
        return chosen
    if isinstance(solver, str) and solver == "auto":
        return Exact()
    raise ValueError(
        f"{chosen!r} works on NumPy arrays, and these rows are of {library(x)}. Use solver='davidson', which finds the "
        "same components there, or give the rows as a NumPy array."
    )


def _guarded(solver: Any, A: Any, q: int, rng: np.random.Generator) -> Ritz:
    """Run the solver; where it raises, loses pairs or has not converged, run one that cannot.

    BLAS has one thread meanwhile, except for LAPACK on large matrices, which needs them.
    """
    n = A.shape[0]
    if n <= getattr(solver, "fewest_rows", 0):
        return replace(Exact()(A, q), note=f"so few rows ({n}) were decomposed exactly")
    try:
        with nullcontext() if n > SMALL and getattr(solver, "threaded", False) else single_blas:
            ritz = solver(A, q, rng)
        found = int(namespace(ritz.values).count_nonzero(ritz.residuals < _accepted(solver, n)))  # which no NaN is
        if getattr(solver, "direct", False) or found >= q:
            return ritz
        cause = f"{type(solver).__name__} converged for {found} of {q} pairs"
    except (ArpackError, *linalg_errors()) as error:
        cause = f"{type(solver).__name__} failed ({error})"
    instead = Exact() if n <= 2 * SMALL else Randomized()
    return replace(instead(A, q, rng), note=f"{cause}; {instead!r} was used instead")


def _accepted(solver: Any, n: int) -> float:
    """Return the residual above which a pair counts as lost: the promised one where LAPACK can take over at once."""
    strict = n <= 2 * SMALL and getattr(solver, "strict", False)
    return max(solver.tol, LAST_DIGITS) if strict else LOST


def _both_ends(A: Any, upper: Array) -> Array:
    """Return all eigenvalues of a small matrix; of a large one ``upper``, and roughly the lowest."""
    xp = namespace(upper)
    if A.shape[0] <= SMALL:
        return xp.linalg.eigvalsh(A.dense())
    if is_foreign(upper):
        return xp.concat([upper, -Randomized()(_Negative(A), 1, np.random.default_rng(0)).values[-1:]])
    operator, _ = counted_products(A)
    start = np.cos(np.arange(A.shape[0])).astype(A.dtype)  # any vector that no eigenvector is orthogonal to
    try:
        lowest = seeded_eigsh(operator, 1, v0=start, seed=0, which="SA", tol=0.01, return_eigenvectors=False)
    except ArpackError:
        lowest = upper.min(keepdims=True)
    return np.append(upper, lowest)


@dataclass(frozen=True, eq=False)
class _Negative:
    """−A, whose largest eigenvalue is the lowest of A."""

    A: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.A, name)

    def __matmul__(self, V: Array) -> Array:
        return -(self.A @ V)
