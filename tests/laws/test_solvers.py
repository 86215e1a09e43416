"""Laws of eigensolvers, over every solver and a zoo of spectra."""

import inspect

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from mercer._core import registry
from mercer.eigen import Exact, eigenpairs
from mercer.linalg.operators import Dense
from mercer.linalg.signs import signs
from mercer.testing import SOLVER_LAWS, check_solver

N, Q = 100, 6
DTYPES = [np.float64, np.float32]
# what is in registry.SOLVERS and takes an operator; landmarks take rows
SOLVERS = [name for name, solver in registry.SOLVERS.items() if "A" in inspect.signature(solver.__call__).parameters]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Matrices are small here: threads would only wait for one another."""
    with threadpool_limits(1, user_api="blas"):
        yield


def cluster(at, size, width):
    """A spectrum that falls like 0.8^i, but for ``size`` eigenvalues within ``width`` from number ``at`` on."""
    values = 0.8 ** np.arange(N)
    values[at : at + size] = values[at] * (1 - width * np.arange(size) / size)
    values[at + size :] = np.minimum(values[at + size :], values[at + size - 1])
    return values


SPECTRA = {
    "fast decay": 0.3 ** np.arange(N),
    "slow decay": 1 / np.sqrt(1 + np.arange(N)),
    "linear decay": 1 - np.arange(N) / N,
    "flat but for one": np.r_[10, np.ones(N - 1)],
    "nearly flat": 1 + 1e-3 * np.arange(N)[::-1] / N,
    "identity": np.ones(N),
    "near the identity": 1 + 1e-12 * np.arange(N)[::-1],
    "rank 3": np.r_[3, 2, 1, np.zeros(N - 3)],
    "rank q": np.r_[np.arange(Q, 0, -1.0), np.zeros(N - Q)],
    "rank 1": np.r_[1, np.zeros(N - 1)],
    "repeated": np.repeat(0.5 ** np.arange(N // 3), 3),
    "cluster inside": cluster(2, 3, 1e-9),
    "tight cluster at the cut": cluster(Q - 2, 5, 1e-12),
    "loose cluster at the cut": cluster(Q - 2, 5, 1e-4),
    "repeated at the cut": cluster(Q - 1, 8, 0),
    "tiny": 1e-24 * 0.5 ** np.arange(N),
    "huge": 1e24 * 0.5 ** np.arange(N),
}


def matrix(values, dtype=float, seed=0):
    """A symmetric matrix of this spectrum."""
    U = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    A = (U * values) @ U.T
    return ((A + A.T) / 2).astype(dtype)


# five passes, whatever the spectrum: where it hardly decays they bring vectors that hold nearly as much variance
ROUGHLY = {("randomized", spectrum): 0.1 for spectrum in ("slow decay", "linear decay", "nearly flat")}


def cases():
    for solver in SOLVERS:
        for spectrum in SPECTRA:
            for law in SOLVER_LAWS:
                for dtype in DTYPES:
                    name = f"{solver}-{spectrum}-{law.__name__}-{dtype.__name__}"
                    yield pytest.param(solver, spectrum, law, dtype, id=name)


@pytest.mark.parametrize("solver, spectrum, law, dtype", list(cases()))
def test_laws(solver, spectrum, law, dtype):
    law(solver, matrix(SPECTRA[spectrum], dtype), Q, ROUGHLY.get((solver, spectrum)))


@settings(deadline=None, derandomize=True, phases=[Phase.generate], max_examples=15)
@given(
    values=st.lists(st.integers(0, 12), min_size=8, max_size=40),
    q=st.integers(1, 10),
    seed=st.integers(0, 2**32 - 1),
)
@pytest.mark.parametrize("solver", SOLVERS)
def test_laws_on_random_spectra(solver, values, q, seed):
    """Integers make clusters; 0 stays 0, so that the rank is known."""
    values = np.sort(np.where(np.array(values) > 0, 2.0 ** -np.array(values), 0))[::-1]
    if values[0] > 0:
        check_solver(solver, matrix(values, float, seed), q)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 60])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_zero_matrix_has_no_pairs(solver, n, dtype):
    pairs = eigenpairs(Dense(np.zeros((n, n), dtype)), 3, solver)
    assert pairs.values.shape == (0,)
    assert pairs.vectors.shape == (n, 0)


@pytest.mark.parametrize("q", [1, 5, 6, 7, 100, None])
@pytest.mark.parametrize("solver", SOLVERS)
def test_more_pairs_than_rows_are_all_pairs(solver, q):
    values = np.arange(6, 0, -1.0)
    np.testing.assert_allclose(eigenpairs(Dense(matrix(values)), q, solver).values, values[:q], rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_negative_eigenvalues_are_left_out_and_reported(solver, dtype):
    """The order is the algebraic one: the largest modulus is negative here."""
    values = np.r_[5, 3, 2, np.zeros(N - 5), -4, -10]
    pairs = eigenpairs(Dense(matrix(values, dtype)), 3, solver, definite=False)
    tol = 100 * N * np.finfo(dtype).eps
    np.testing.assert_allclose(pairs.values, [5, 3, 2], rtol=max(tol, 1e-6))
    np.testing.assert_allclose(pairs.info.lowest, -10, rtol=tol)
    np.testing.assert_allclose(pairs.info.negative_mass, 14 / 24, rtol=tol)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if solver != "exact"])
def test_every_solver_finds_the_subspace_of_the_exact_one(solver, spectrum):
    """Projectors onto the eigenspaces that the spectrum separates from the rest are equal."""
    A = matrix(SPECTRA[spectrum])
    exact, other = eigenpairs(Dense(A), Q, Exact()), eigenpairs(Dense(A), Q, solver)
    tol = ROUGHLY.get((solver, spectrum), 1e-6)
    gaps = -np.diff(SPECTRA[spectrum][: Q + 1]) / SPECTRA[spectrum][0]
    for cut in np.flatnonzero(gaps > 20 * tol) + 1:  # an angle is at most the residual over the gap
        P, R = (pairs.vectors[:, :cut] @ pairs.vectors[:, :cut].T for pairs in (exact, other))
        np.testing.assert_allclose(R, P, atol=2 * tol / gaps[cut - 1])


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
