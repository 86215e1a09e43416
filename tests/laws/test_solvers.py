"""Laws of eigensolvers: every solver itself, never the one that replaces it, on many spectra."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from mercer._core import registry
from mercer._core.dense import has_cholesky
from mercer._core.scipy import ARPACK_TAKES_RNG
from mercer.eigen import Davidson, Exact, Lanczos, Ritz, eigenpairs
from mercer.linalg.operators import Dense
from mercer.linalg.signs import signs
from mercer.testing import check_solver

FEW, N, Q = 60, 400, 6
DTYPES = [np.float64, np.float32]
MISSED = "negative eigenvalues below 1e-05 of the largest one may have been missed"
SOLVERS = [name for name, solver in registry.SOLVERS.items() if not hasattr(solver, "basis")]  # landmarks are a basis


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Matrices are small here: threads would only wait for one another."""
    with threadpool_limits(1, user_api="blas"):
        yield


def cluster(n, at, size, width):
    """A spectrum that falls like 0.8^i, but for ``size`` eigenvalues within ``width`` from number ``at`` on."""
    values = 0.8 ** np.arange(n)
    values[at : at + size] = values[at] * (1 - width * np.arange(size) / size)
    values[at + size :] = np.minimum(values[at + size :], values[at + size - 1])
    return values


SPECTRA = {
    "fast decay": lambda n: 0.3 ** np.arange(n),
    "slow decay": lambda n: 1 / np.sqrt(1 + np.arange(n)),
    "linear decay": lambda n: 1 - np.arange(n) / n,
    "gapped": lambda n: np.r_[np.linspace(2, 1, Q), 0.1 * 0.99 ** np.arange(n - Q)],
    "flat but for one": lambda n: np.r_[10, np.ones(n - 1)],
    "nearly flat": lambda n: 1 + 1e-3 * np.arange(n)[::-1] / n,
    "identity": np.ones,
    "near the identity": lambda n: 1 + 1e-12 * np.arange(n)[::-1],
    "rank 1": lambda n: np.r_[1, np.zeros(n - 1)],
    "rank 3": lambda n: np.r_[3, 2, 1, np.zeros(n - 3)],
    "rank q": lambda n: np.r_[np.arange(Q, 0, -1.0), np.zeros(n - Q)],
    "repeated": lambda n: np.repeat(0.5 ** np.arange(n), 3)[:n],
    "cluster inside": lambda n: cluster(n, 2, 3, 1e-9),
    "tight cluster at the cut": lambda n: cluster(n, Q - 2, 5, 1e-12),
    "loose cluster at the cut": lambda n: cluster(n, Q - 2, 5, 1e-4),
    "repeated at the cut": lambda n: cluster(n, Q - 1, 8, 0),
    "tiny": lambda n: 1e-24 * 0.5 ** np.arange(n),
    "huge": lambda n: 1e24 * 0.5 ** np.arange(n),
}
# Randomized makes five passes, whatever the spectrum: where it hardly decays they find vectors of nearly as much
# variance, but not the eigenvectors; just beyond a gap they stop a little short of 1e-6.
ROUGH = {
    ("randomized", "slow decay"): 0.01,
    ("randomized", "linear decay"): 0.1,
    ("randomized", "nearly flat"): 1e-3,
    ("randomized", "gapped"): 1e-5,
}
# Davidson preconditions with a low-rank factor, which is no help where the spectrum hardly decays: it gives up after
# ``max_passes``, and the front door has LAPACK take over.
GIVES_UP = {("davidson", "linear decay"), ("davidson", "nearly flat")}


@cache
def matrix(spectrum, n, dtype=float):
    return of_values(SPECTRA[spectrum](n), dtype)


def of_values(values, dtype=float, seed=0):
    """A symmetric matrix of this spectrum."""
    U = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    A = (U * values) @ U.T
    return ((A + A.T) / 2).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("solver", SOLVERS)
def test_laws(solver, spectrum, dtype, request):
    if solver == "lanczos" and not ARPACK_TAKES_RNG:
        reason = "before SciPy 1.17, ARPACK restarts from a state that no caller can set"
        request.applymarker(pytest.mark.xfail(reason=reason, strict=False))
    for n in (FEW, N):
        if n == N and (solver, spectrum) in GIVES_UP:
            continue
        check_solver(solver, matrix(spectrum, n, dtype), Q, ROUGH.get((solver, spectrum)))


@pytest.mark.parametrize("solver, spectrum", sorted(GIVES_UP))
def test_a_solver_that_gives_up_is_replaced_and_the_report_says_so(solver, spectrum):
    A = matrix(spectrum, N)
    with pytest.raises(AssertionError, match="these are not eigenpairs"):
        check_solver(solver, A, Q)
    pairs = eigenpairs(Dense(A), Q, solver)
    assert pairs.info.note == f"Davidson converged for 0 of {Q} pairs; Exact() was used instead"
    assert pairs.info.residual < 1e-12
    np.testing.assert_allclose(pairs.values, SPECTRA[spectrum](N)[:Q], rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@settings(deadline=None, derandomize=True, phases=[Phase.generate], max_examples=15)
@given(
    values=st.lists(st.integers(0, 12), min_size=8, max_size=120),
    q=st.integers(1, 10),
    seed=st.integers(0, 2**32 - 1),
)
def test_laws_on_random_spectra(solver, values, q, seed):
    """Integers make clusters; 0 stays 0, so that the rank is known."""
    values = np.sort(np.where(np.array(values) > 0, 2.0 ** -np.array(values), 0))[::-1]
    if values[0] > 0:
        check_solver(solver, of_values(values, float, seed), min(q, len(values)))


@pytest.mark.parametrize("values", [np.ones(N), np.repeat([2.0, 1.0], N // 2), np.r_[np.ones(20), np.zeros(N - 20)]])
def test_degenerate_spectra_give_the_same_bits_in_another_process_state(values):
    """ARPACK draws new vectors where a Krylov space ends: from the generator that it is given, and no other."""
    A = Dense(of_values(values))
    first = Lanczos()(A, Q, np.random.default_rng(0))
    np.random.default_rng().normal(size=100)
    np.random.seed(1)  # noqa: NPY002
    Lanczos()(A, Q, np.random.default_rng(5))
    second = Lanczos()(A, Q, np.random.default_rng(0))
    np.testing.assert_array_equal(second.vectors, first.vectors)
    np.testing.assert_array_equal(second.values, first.values)


# Wrong solvers, for the laws to find


@dataclass(frozen=True)
class Faulty:
    """Exact with one fault at a time."""

    fault: str = ""

    def __call__(self, A, q, rng):
        ritz = Exact()(A, q + 1)
        faults = {
            "": lambda: Exact()(A, q),
            "random vectors": lambda: random_pairs(A, q, rng),
            "a pair is lost": lambda: without(ritz, q - 2),  # in rising order: one of the three at 3
            "too few pairs": lambda: Exact()(A, q - 1),
            "not orthonormal": lambda: replace(ritz, vectors=1.001 * ritz.vectors, images=1.001 * ritz.images),
            "false images": lambda: replace(ritz, images=ritz.vectors * ritz.values * (1 + 1e-6)),
            "other bits": lambda: turned(ritz, np.random.default_rng()),
            "smallest pairs": lambda: Ritz(*smallest(A, q), passes=1),
        }
        return faults[self.fault]()


def random_pairs(A, q, rng):
    """Ritz pairs of random vectors."""
    V = np.linalg.qr(rng.normal(size=(A.shape[0], q)))[0]
    values, W = np.linalg.eigh(V.T @ (A @ V))
    return Ritz(values, V @ W, A @ V @ W, passes=1)


def without(ritz, i):
    """The pairs but for one."""
    kept = np.delete(np.arange(len(ritz.values)), i)
    return Ritz(ritz.values[kept], ritz.vectors[:, kept], ritz.images[:, kept], passes=1)


def smallest(A, q):
    values, V = np.linalg.eigh(A.dense())
    return values[:q], V[:, :q], A @ V[:, :q]


def turned(ritz, rng):
    """Each vector with a random sign."""
    flips = rng.choice([-1.0, 1.0], len(ritz.values))
    return replace(ritz, vectors=ritz.vectors * flips, images=ritz.images * flips)


FAULTS = {
    "random vectors": "these are not eigenpairs",
    "a pair is lost": "an eigenvalue is missing or wrong: number 4",
    "too few pairs": "11 pairs were returned, and 12 were asked for",
    "not orthonormal": "the vectors are not orthonormal",
    "false images": "the images and A @ vectors differ",
    "other bits": "gave other vectors",
    "smallest pairs": "an eigenvalue is missing or wrong: number 1",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_law_finds_the_solver_that_breaks_it(fault):
    A = of_values(np.r_[4, 3, 3, 3, 0.5 ** np.arange(196)])
    check_solver(Faulty(), A, 12)
    with pytest.raises(AssertionError, match=FAULTS[fault]):
        check_solver(Faulty(fault), A, 12)


def test_landmarks_are_not_an_eigensolver():
    with pytest.raises(ValueError, match="chooses a basis: it is not an eigensolver"):
        check_solver("landmarks", np.eye(3), 2)


# The front door


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, FEW, 120])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_zero_matrix_has_no_pairs(solver, n, dtype):
    pairs = eigenpairs(Dense(np.zeros((n, n), dtype)), 3, solver)
    assert pairs.values.shape == (0,)
    assert pairs.vectors.shape == (n, 0)


@pytest.mark.parametrize("q", [1, 5, 6, 7, 100, None])
@pytest.mark.parametrize("solver", SOLVERS)
def test_more_pairs_than_rows_are_all_pairs(solver, q):
    values = np.arange(6, 0, -1.0)
    np.testing.assert_allclose(eigenpairs(Dense(of_values(values)), q, solver).values, values[:q], rtol=1e-12)


@pytest.mark.parametrize("solver, dtype", [(s, d) for s in SOLVERS for d in DTYPES if (s, d) != ("exact", np.float32)])
def test_pairs_are_cut_at_the_rank_in_falling_order(solver, dtype):
    """Exact computes in float64, where the rounded entries of a float32 matrix have full rank."""
    A = matrix("rank 3", N, dtype)
    pairs = eigenpairs(Dense(A), Q, solver)
    assert pairs.info.note == ""
    tol = 1e-6 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(pairs.values, [3, 2, 1], rtol=tol)
    residual = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0).max() / 3
    np.testing.assert_allclose(pairs.info.residual, residual, atol=tol)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(3), atol=tol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_negative_eigenvalues_are_left_out_and_reported(solver, dtype):
    """The order is the algebraic one: the largest modulus is negative here."""
    n = 150
    values = np.r_[5, 3, 2, np.zeros(n - 5), -4, -10]
    pairs = eigenpairs(Dense(of_values(values, dtype)), 3, solver, definite=False)
    assert pairs.info.note == ""
    tol = 100 * n * np.finfo(dtype).eps
    np.testing.assert_allclose(pairs.values, [5, 3, 2], rtol=max(tol, 1e-6))
    np.testing.assert_allclose(pairs.info.lowest, -10, rtol=tol)
    np.testing.assert_allclose(pairs.info.negative_mass, 14 / 24, rtol=tol)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if solver != "exact"])
def test_every_solver_finds_the_subspace_of_the_exact_one(solver, spectrum):
    """Projectors onto the eigenspaces that the spectrum separates from the rest are equal."""
    if (solver, spectrum) in GIVES_UP:
        pytest.skip("another solver takes over: tested above")
    A, values = matrix(spectrum, N), SPECTRA[spectrum](N)
    exact, other = eigenpairs(Dense(A), Q, Exact()), eigenpairs(Dense(A), Q, solver)
    assert other.info.note == ""
    tol = ROUGH.get((solver, spectrum), 1e-6)
    gaps = -np.diff(values[: Q + 1]) / values[0]
    for cut in np.flatnonzero(gaps > 20 * tol) + 1:  # an angle is at most the residual over the gap
        P, R = (pairs.vectors[:, :cut] @ pairs.vectors[:, :cut].T for pairs in (exact, other))
        np.testing.assert_allclose(R, P, atol=2 * tol / gaps[cut - 1])


def test_few_rows_are_decomposed_exactly_and_the_report_says_so():
    pairs = eigenpairs(Dense(matrix("slow decay", FEW)), Q, Davidson())
    assert pairs.info.note == f"with so few rows ({FEW}), Exact() was used instead"


@pytest.mark.parametrize(
    "fault, why", [("random vectors", "converged for"), ("too few pairs", "converged for"), ("raises", "failed (no)")]
)
def test_the_front_door_replaces_a_solver_that_fails_and_says_so(fault, why):
    @dataclass(frozen=True)
    class Failing:
        def __call__(self, A, q, rng):
            if fault == "raises":
                raise np.linalg.LinAlgError("no")
            return Faulty(fault)(A, q, rng)

    pairs = eigenpairs(Dense(matrix("slow decay", N)), Q, Failing())
    assert why in pairs.info.note
    assert pairs.info.note.endswith("Exact() was used instead")
    np.testing.assert_allclose(pairs.values, SPECTRA["slow decay"](N)[:Q], rtol=1e-12)


@settings(deadline=None, derandomize=True, phases=[Phase.generate], max_examples=30)
@given(n=st.integers(2, 20), seed=st.integers(0, 2**32 - 1), symmetric=st.booleans())
def test_signs_do_not_depend_on_order_duplication_or_the_sign_before(n, seed, symmetric):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    Y = rng.normal(size=(n, 3))
    if symmetric:
        points, Y = np.vstack([points, -points]), np.vstack([Y, -Y])
    w = rng.integers(1, 3, len(Y))
    expected = Y * signs(Y, w[:, None] / w.sum(), points)
    order = rng.permutation(len(Y))
    permuted = signs(Y[order], w[order, None] / w.sum(), points[order])
    repeated = signs(np.repeat(Y, w, axis=0), None, np.repeat(points, w, axis=0))
    negated = signs(-Y, w[:, None] / w.sum(), points)
    np.testing.assert_array_equal(Y * permuted, expected)
    np.testing.assert_array_equal(Y * repeated, expected)
    np.testing.assert_array_equal(-Y * negated, expected)
    if not symmetric:  # the rule itself: the coordinates are skewed to the right
        cubes = np.sum(w[:, None] * expected**3, axis=0) / np.sum(w[:, None] * expected**2, axis=0) ** 1.5
        assert np.all(cubes > -1e-4)


@pytest.mark.parametrize("n", [400, 1700, 2100])
@pytest.mark.parametrize("share", [1e-5, 1e-2])
def test_a_negative_eigenvalue_is_found_and_measured(n, share):
    """Whatever the solver: by LAPACK for few rows, from a factor of A + σI for some thousand.

    The note says what a factor in single precision, for more than 2000 rows, cannot see.
    """
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((n, 6)))[0]
    lam = np.array([1.0, 0.5, 0.2, 0.1, 0.05, -share])
    pairs = eigenpairs(Dense((U * lam) @ U.T), 3, rng=rng, definite=False)
    np.testing.assert_allclose(pairs.values, lam[:3], rtol=1e-6)
    np.testing.assert_allclose(pairs.info.lowest, -share, rtol=1e-3)
    definite = eigenpairs(Dense((U * np.abs(lam)) @ U.T), 3, rng=rng, definite=False)
    assert definite.info.lowest == 0
    assert definite.info.note == (MISSED if n > 2000 else "")


def test_of_many_rows_the_lowest_is_looked_for_in_bounded_work(monkeypatch):
    monkeypatch.setattr("mercer.linalg.eigenpairs.CHOLESKY_ROWS", 100)
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((400, 6)))[0]
    lam = np.array([1.0, 0.5, 0.2, 0.1, 0.05, -0.01])
    info = eigenpairs(Dense((U * lam) @ U.T), 3, "davidson", rng=rng, definite=False).info
    np.testing.assert_allclose(info.lowest, -0.01, rtol=1e-6)
    info = eigenpairs(Dense((U * np.abs(lam)) @ U.T), 3, "davidson", rng=rng, definite=False).info
    assert info.lowest == 0
    assert info.note == MISSED


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("n", [1, 127, 128, 129, 600])
def test_a_cholesky_factor_shows_the_sign_of_the_lowest_eigenvalue(n, single):
    rng = np.random.default_rng(n)
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    lam = np.linspace(1.0, 2.0, n)
    lam[0] = -0.01
    A = (U * lam) @ U.T
    before = A.copy()
    assert has_cholesky(Dense(A), 0.0101, single)
    assert not has_cholesky(Dense(A), 0.0099, single)
    np.testing.assert_array_equal(A, before)
