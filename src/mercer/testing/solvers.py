"""Laws of eigensolvers: each takes the solver, a matrix, the number of pairs, and the residual that is accepted."""

import numpy as np

from ..linalg.eigenpairs import choose, eigenpairs
from ..linalg.operators import Dense
from ..linalg.solvers.exact import Exact
from .comparisons import obeyed, same, within

LAPACK_RATIO = 30  # the threshold of LAPACK's own tests
ITERATIVE_TOL = 1e-6  # the residual of an iterative solver that states none, as a share of λ₁
SIMPLE = 1e-4  # a gap to the next eigenvalue, as a share of λ₁, above which a vector is determined
NOISE = 1e-12  # of the largest entry: what must flip no sign


def check_solver(solver, A, q, tol=None):
    """Check a solver, or the name of one, on a symmetric positive semi-definite matrix A: q largest pairs.

    Parameters
    ----------
    solver : str or solver
        The solver, or its name.
    A : array-like of shape (n, n)
        The matrix.
    q : int
        Pairs.
    tol : float, default=None
        The residual ‖Av − λv‖ that is accepted, as a share of λ₁; by default LAPACK's own threshold for the exact
        solver, and the solver's ``tol`` or 1e-6 for others.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.testing import check_solver
    >>> X = np.random.default_rng(0).normal(size=(150, 3))
    >>> check_solver("lanczos", RBF(0.5)(X, X), q=3)
    """
    for law in SOLVER_LAWS:
        obeyed(law, solver, np.asarray(A), q, tol)


def counted(solver, A, q, tol):
    """There are q pairs, or as many as the rank of A is, and the values fall.

    The rank lies between what is above rounding in A's dtype and what is above rounding in float64.
    """
    pairs = _pairs(solver, A, q)
    values = np.linalg.eigvalsh(A.astype(float))
    fewest, most = (int(np.sum(values > len(A) * np.finfo(dtype).eps * values[-1])) for dtype in (A.dtype, float))
    count = len(pairs.values)
    assert min(q, fewest) <= count <= min(q, most), (
        f"{solver!r} gave {count} pairs where {q} are asked for and the rank is {fewest} to {most}"
    )
    same(pairs.vectors.shape, (len(A), count), f"the shape of the vectors of {solver!r}")
    assert np.all(np.diff(pairs.values) <= 0), f"{solver!r} gave values that do not fall: {pairs.values}"


def orthonormal(solver, A, q, tol):
    """LAPACK's ratio ‖I − VᵀV‖ / (n·ε) is below 30."""
    V = _pairs(solver, A, q).vectors
    error = np.linalg.norm(np.eye(V.shape[1]) - V.T.astype(float) @ V, 1)
    ratio = error / (len(A) * np.finfo(V.dtype).eps)
    assert ratio < LAPACK_RATIO, f"{solver!r}: ‖I − VᵀV‖/(n·ε) = {ratio:.3g}, and below {LAPACK_RATIO} is right"


def converged(solver, A, q, tol):
    """‖Av − λv‖ is within the tolerance, and the report says what it is."""
    pairs = _pairs(solver, A, q)
    residual = np.linalg.norm(A.astype(float) @ pairs.vectors - pairs.vectors * pairs.values, axis=0).max(initial=0)
    share = residual / max(np.abs(np.linalg.eigvalsh(A.astype(float))).max(), np.finfo(float).tiny)
    accepted = _accepted(solver, A, q, tol)
    assert share <= accepted, f"{solver!r}: a residual is {share:.3g} of λ₁, and {accepted:.3g} is accepted"
    reported = pairs.info.residual * pairs.values.max(initial=0)
    rounding = LAPACK_RATIO * len(A) * np.finfo(A.dtype).eps * pairs.values.max(initial=0)
    within(reported, residual, rounding, f"the residual that {solver!r} reports and its own")


def leading(solver, A, q, tol):
    """The values are the largest ones that numpy.linalg.eigh finds."""
    pairs = _pairs(solver, A, q)
    values = np.linalg.eigvalsh(A.astype(float))[::-1][: len(pairs.values)]
    accepted = _accepted(solver, A, q, tol) * np.abs(values).max(initial=0)
    within(pairs.values, values, accepted, f"the eigenvalues of {solver!r} and of numpy.linalg.eigh")


def steady(solver, A, q, tol):
    """A second run gives the same bits; noise of 1e-12 turns no vector that is determined by A."""
    first, second = _pairs(solver, A, q), _pairs(solver, A, q)
    assert np.array_equal(first.vectors, second.vectors), f"{solver!r} gave other bits the second time"
    noise = NOISE * np.abs(A).max() * np.random.default_rng(0).normal(size=A.shape)
    noisy = _pairs(solver, (A + noise + noise.T).astype(A.dtype), q)
    values = np.linalg.eigvalsh(A.astype(float))[::-1]
    gaps = np.minimum(-np.diff(values, prepend=np.inf), -np.diff(values, append=-np.inf))
    simple = np.flatnonzero(gaps[: len(first.values)] > SIMPLE * values[0])
    cosines = np.sum(first.vectors[:, simple] * noisy.vectors[:, simple], axis=0)
    assert np.all(cosines > 0), f"{solver!r}: noise of {NOISE} flipped the signs of the vectors {simple[cosines <= 0]}"


SOLVER_LAWS = (counted, orthonormal, converged, leading, steady)


def _pairs(solver, A, q):
    return eigenpairs(Dense(A), q, solver, np.random.default_rng(0))


def _accepted(solver, A, q, tol):
    """The residual that is accepted: a rounding at least."""
    rounding = LAPACK_RATIO * len(A) * np.finfo(A.dtype).eps
    solver = choose(solver, len(A), q)
    if isinstance(solver, Exact):
        return LAPACK_RATIO * len(A) * np.finfo(float).eps
    return max(rounding, tol or getattr(solver, "tol", 0) or ITERATIVE_TOL)
