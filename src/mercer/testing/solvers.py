"""Laws of eigensolvers: each runs the solver itself on a matrix, without the fallback for solvers that fail."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError

from ..linalg.eigenpairs import choose, eigenpairs
from ..linalg.operators import Dense
from ..linalg.ritz import Ritz
from .comparisons import close, obeyed, same, within

LAPACK_RATIO = 30  # the threshold of LAPACK's own tests
ITERATIVE_TOL = 1e-6  # the residual of an iterative solver that states none, as a share of λ₁
SIMPLE = 1e-4  # a gap to the next eigenvalue, as a share of λ₁, above which a vector is determined
NOISE = 1e-12  # of the largest entry: must not flip a sign
SEED = 0


def check_solver(solver: Any, A: Any, q: int, tol: float | None = None) -> None:
    """Check a solver, or the name of one, on a symmetric positive semi-definite matrix A: q largest pairs.

    The solver is called directly, as ``solver(operator, q, rng)``: :func:`mercer.eigen.eigenpairs` replaces a solver
    that fails by another one, which would hide the failure. One of the laws is that it is not replaced there.

    Parameters
    ----------
    solver : str or solver
        The solver, or its name.
    A : array-like of shape (n, n)
        The matrix.
    q : int
        Pairs.
    tol : float, default=None
        The accepted residual ‖Av − λv‖, as a share of λ₁; by default the solver's ``tol``, LAPACK's own threshold if
        the solver is ``direct`` and ``complete``, and 1e-6 for others.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.eigen import Randomized
    >>> from mercer.kernels import RBF
    >>> from mercer.testing import check_solver
    >>> X = np.random.default_rng(0).normal(size=(150, 3))
    >>> check_solver("lanczos", RBF(0.5)(X, X), q=3)  # obeys all laws
    >>> try:
    ...     check_solver(Randomized(oversample=0, power=0), RBF(0.5)(X, X), q=3)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    Randomized(oversample=0, power=0) breaks a law: ‖Av − λv‖ is within the tolerance, computed from A.
    """
    trial = SolverTrial(choose(solver, len(A), q), np.asarray(A), q, tol)
    for law in SOLVER_LAWS:
        obeyed(law, trial)


@dataclass(frozen=True, eq=False)
class SolverTrial:
    """One run of a solver on a matrix, which all laws share.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.eigen import Exact
    >>> from mercer.testing.solvers import SOLVER_LAWS, SolverTrial
    >>> trial = SolverTrial(Exact(), np.diag([3.0, 2.0, 1.0]), q=2)
    >>> trial.pairs.values
    array([3., 2.])
    >>> for law in SOLVER_LAWS:
    ...     law(trial)
    """

    solver: Any
    A: np.ndarray
    q: int
    tol: float | None = None

    def __repr__(self) -> str:
        return repr(self.solver)

    def run(self) -> Ritz:
        """Run the solver itself."""
        if hasattr(self.solver, "basis"):
            raise ValueError(f"{self.solver!r} chooses a basis: it is not an eigensolver, and these laws do not apply.")
        try:
            return self.solver(Dense(self.A), self.q, np.random.default_rng(SEED))
        except (ArpackError, np.linalg.LinAlgError) as error:
            raise AssertionError(f"it failed: {type(error).__name__}({error})") from error

    @cached_property
    def ritz(self) -> Ritz:
        """The result of the first run, as the solver returned it."""
        return self.run()

    @cached_property
    def pairs(self) -> Ritz:
        """The q largest pairs, in falling order."""
        order = np.argsort(self.ritz.values)[::-1][: self.q]
        values, vectors, images = self.ritz.values[order], self.ritz.vectors[:, order], self.ritz.images[:, order]
        return Ritz(values, vectors, images, self.ritz.passes)

    @cached_property
    def spectrum(self) -> np.ndarray:
        """All eigenvalues of A by numpy.linalg, in falling order."""
        return np.linalg.eigvalsh(self.A.astype(float))[::-1]

    @property
    def scale(self) -> float:
        """The largest |λ|."""
        return max(float(np.abs(self.spectrum).max()), float(np.finfo(float).tiny))

    @property
    def accepted(self) -> float:
        """The residual that is accepted, as a share of λ₁: a rounding at least."""
        n, eps = len(self.A), float(np.finfo(self.A.dtype).eps)
        lapack = LAPACK_RATIO * n * float(np.finfo(float).eps)
        if getattr(self.solver, "complete", False):
            return max(lapack, self.tol or 0.0)
        promised = getattr(self.solver, "tol", ITERATIVE_TOL) if self.tol is None else self.tol
        return max(lapack, LAPACK_RATIO * n**0.5 * eps, promised)


def counted(trial: SolverTrial) -> None:
    """There are q pairs or more: as many values, vectors and products A @ vectors."""
    ritz, n = trial.ritz, len(trial.A)
    found, asked = len(ritz.values), min(trial.q, n)
    assert found >= asked, f"{found} pairs were returned, and {asked} were asked for"
    same(ritz.vectors.shape, (n, found), "the shape of the vectors")
    same(ritz.images.shape, (n, found), "the shape of the images")


def orthonormal(trial: SolverTrial) -> None:
    """The vectors are orthonormal: LAPACK's ratio ‖I − VᵀV‖ / (n·ε) is below 30."""
    V = trial.pairs.vectors
    error = np.linalg.norm(np.eye(V.shape[1]) - V.T.astype(float) @ V, 1)
    ratio = error / (len(V) * np.finfo(V.dtype).eps)
    assert ratio < LAPACK_RATIO, (
        f"the vectors are not orthonormal: ‖I − VᵀV‖/(n·ε) = {ratio:.3g}, and {LAPACK_RATIO} is the limit"
    )


def multiplied(trial: SolverTrial) -> None:
    """The images are A @ vectors: residuals are computed from them."""
    pairs, eps = trial.pairs, max(np.finfo(d).eps for d in (trial.A.dtype, trial.pairs.images.dtype))
    tol = LAPACK_RATIO * len(trial.A) ** 0.5 * eps * trial.scale
    within(pairs.images, trial.A.astype(float) @ pairs.vectors, tol, "the images and A @ vectors")


def converged(trial: SolverTrial) -> None:
    """‖Av − λv‖ is within the tolerance, computed from A."""
    pairs = trial.pairs
    residuals = np.linalg.norm(trial.A.astype(float) @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    worst = residuals.max(initial=0) / trial.scale
    assert worst <= trial.accepted, (
        f"these are not eigenpairs: a residual ‖Av − λv‖ is {worst:.3g} of λ₁, and {trial.accepted:.3g} is accepted"
    )


def leading(trial: SolverTrial) -> None:
    """The values are the largest eigenvalues, each as often as it occurs."""
    values, expected = np.asarray(trial.pairs.values, float), trial.spectrum[: trial.q]
    wrong = np.flatnonzero(~(np.abs(values - expected) <= trial.accepted * trial.scale))
    if len(wrong):
        i = int(wrong[0])
        raise AssertionError(
            f"an eigenvalue is missing or wrong: number {i + 1} is {values[i]:.9g}, and numpy.linalg finds "
            f"{expected[i]:.9g} ({trial.accepted:.3g} of λ₁ is accepted)"
        )


def repeatable(trial: SolverTrial) -> None:
    """A second run with the same seed gives the same bits."""
    again = trial.run()
    for name in ("values", "vectors", "images"):
        first, second = getattr(trial.ritz, name), getattr(again, name)
        assert np.array_equal(first, second), (
            f"a second run with the same seed gave other {name}: they differ by {np.abs(first - second).max():.3g}"
        )


def steady(trial: SolverTrial) -> None:
    """The front door takes the pairs as they are, and noise of 1e-12 flips no vector that is determined by A."""
    A, q = trial.A, trial.q
    if len(A) <= getattr(trial.solver, "fewest_rows", 0):
        return  # the front door decomposes so few rows exactly
    noise = NOISE * np.abs(A).max() * np.random.default_rng(SEED).normal(size=A.shape)
    kept, noisy = (
        eigenpairs(Dense(matrix), q, trial.solver, np.random.default_rng(SEED))
        for matrix in (A, (A + noise + noise.T).astype(A.dtype))
    )
    for pairs in (kept, noisy):
        assert pairs.info.note == "", f"the front door did not accept its pairs: {pairs.info.note}"
    close(kept.values, trial.pairs.values[: len(kept.values)], "the values of the front door and of the solver")
    gaps = np.minimum(-np.diff(trial.spectrum, prepend=np.inf), -np.diff(trial.spectrum, append=-np.inf))
    found = min(len(kept.values), len(noisy.values))
    simple = np.flatnonzero(gaps[:found] > max(SIMPLE, 2 * trial.accepted) * trial.scale)
    cosines = np.sum(kept.vectors[:, simple] * noisy.vectors[:, simple], axis=0)
    assert np.all(cosines > 0), f"noise of {NOISE} flipped the signs of the vectors {simple[cosines <= 0]}"


SOLVER_LAWS: tuple[Callable[[SolverTrial], None], ...] = (
    counted,
    orthonormal,
    multiplied,
    converged,
    leading,
    repeatable,
    steady,
)
