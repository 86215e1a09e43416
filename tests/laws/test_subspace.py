"""Laws of principal subspaces and expansions, against explicit features and under what must not matter."""

import inspect

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from mercer._core import registry
from mercer.kernels import RBF, Cosine, Laplacian, Linear, Matern, Polynomial
from mercer.rkhs import Expansion, principal_subspace
from mercer.rkhs.landmarks import Landmarks

N = 60
QUADRATIC = Polynomial(degree=2, gamma=1.0, coef0=1.0)
KERNELS = [
    RBF(gamma=0.3),
    Matern(gamma=0.2),
    Laplacian(gamma=0.2),
    Polynomial(degree=2),
    Linear(),
    Cosine(),
    RBF() + Linear(),
]
SOLVERS = [name for name, solver in registry.SOLVERS.items() if "A" in inspect.signature(solver.__call__).parameters]


def features(X):
    """φ(x) of (xᵀy + 1)² on two columns."""
    x, y = X.T
    return np.column_stack([np.ones(len(X)), *(2**0.5 * f for f in (x, y, x * y)), x**2, y**2])


def draw(n=N, d=3, seed=0):
    """Skewed rows of different scales: the spectrum is simple and the signs are determined."""
    return np.random.default_rng(seed).gamma(2, size=(n, d)) * np.linspace(2, 0.5, d)


def coordinates(kernel, X, q=4, at=None, **options):
    bound = kernel.bind(X, options.get("weights"), options.get("center", True))
    return principal_subspace(bound, X, q, **options).project(X if at is None else at)


def covariance_of(F, w, S, groups):
    """Σ w (f − f̄)(f − f̄)ᵀ, each row about the mean of its group, and the first mean."""
    means = S.T @ F
    centred = F - means[groups]
    return (centred * w[:, None]).T @ centred, means[0]


def assert_equal_subspaces(subspace, F, C, mean, F_new, X_new):
    """The axes' variances, |coordinates| and r² are those of the eigenvectors of C in explicit features."""
    values, U = np.linalg.eigh(C)
    q = len(subspace.variances)
    values, U = values[::-1][:q], U[:, ::-1][:, :q]
    np.testing.assert_allclose(subspace.variances, values, rtol=1e-9)
    np.testing.assert_allclose(subspace.total_variance, np.trace(C), rtol=1e-12)
    np.testing.assert_allclose(subspace.mean_sqnorm, mean @ mean, rtol=1e-12, atol=1e-12)
    Y, r2 = subspace.split(X_new)
    expected = (F_new - mean) @ U
    np.testing.assert_allclose(np.abs(Y), np.abs(expected), atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(Y, subspace.project(X_new), atol=1e-12 * np.abs(expected).max())
    outside = F_new - mean - expected @ U.T
    np.testing.assert_allclose(r2, np.sum(outside**2, axis=1), atol=1e-10 * np.sum(F_new**2, axis=1).max())


# Against explicit features


@pytest.mark.parametrize("solver", ["auto", "exact", Landmarks(n=N)], ids=str)  # in coordinates, and in the dual
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [True, False])
def test_axes_variances_and_residuals_are_those_of_explicit_features(center, weighted, solver):
    X, new = draw(d=2), draw(20, 2, seed=1)
    w = np.random.default_rng(2).uniform(0.1, 2, N)
    w = w / w.sum() if weighted else np.full(N, 1 / N)
    S = (w if center else np.zeros(N))[:, None]
    C, mean = covariance_of(features(X), w, S, np.zeros(N, int))
    for q in (1, 3, 5):
        subspace = principal_subspace(QUADRATIC, X, q, weights=w if weighted else None, center=center, solver=solver)
        assert_equal_subspaces(subspace, features(X), C, mean, features(new), new)


@pytest.mark.parametrize("pooled", [False, True])
def test_groups_are_centred_by_their_own_means(pooled):
    X, new, rng = draw(d=2), draw(20, 2, seed=1), np.random.default_rng(3)
    groups = rng.integers(0, 3, N)
    w = rng.uniform(0.1, 2, N)
    S = rng.uniform(0.1, 1, (N, 3)) * (1 if pooled else np.eye(3)[groups])
    S /= S.sum(axis=0)
    C, mean = covariance_of(features(X), w, S, groups)
    subspace = principal_subspace(QUADRATIC, X, 4, weights=w, groups=groups, mean=S)
    assert_equal_subspaces(subspace, features(X), C, mean, features(new), new)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_without_a_centre_it_is_the_eigenproblem_of_the_kernel_matrix(kernel):
    X = draw()
    bound = kernel.bind(X, center=False)
    values, V = np.linalg.eigh(bound(X, X) / N)
    subspace = principal_subspace(bound, X, 3, center=False)
    np.testing.assert_allclose(subspace.variances, values[::-1][:3], rtol=1e-10)
    Y = subspace.project(X)
    expected = V[:, ::-1][:, :3] * np.sqrt(N * values[::-1][:3])
    np.testing.assert_allclose(np.abs(Y), np.abs(expected), atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_with_a_centre_it_is_the_eigenproblem_of_the_centred_kernel_matrix(kernel):
    X = draw()
    H = np.eye(N) - 1 / N
    values, V = np.linalg.eigh(H @ kernel.bind(X)(X, X) @ H)
    expected = V[:, ::-1][:, :3] * np.sqrt(values[::-1][:3])
    np.testing.assert_allclose(np.abs(coordinates(kernel, X, 3)), np.abs(expected), atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_axes_are_orthonormal_and_coordinates_have_the_variances(kernel):
    X = draw()
    subspace = principal_subspace(kernel.bind(X), X, 3)
    np.testing.assert_allclose(subspace.axes.inner(subspace.axes), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(subspace.axes.inner(subspace.mean)[:, 0], subspace.offset, atol=1e-9)
    np.testing.assert_allclose(subspace.mean.sqnorms()[0], subspace.mean_sqnorm, rtol=1e-9, atol=1e-9)
    Y = subspace.project(X)
    np.testing.assert_allclose(Y.T @ Y / N, np.diag(subspace.variances), atol=1e-9 * subspace.variances[0])
    dual = principal_subspace(kernel.bind(X), X, 3, solver="exact")
    np.testing.assert_allclose(dual.training_coordinates(None, 1e-6), Y, atol=1e-9 * np.abs(Y).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_variance_that_is_not_along_the_axes_is_residual(kernel):
    """Σ λ + mean r² = tr C; lifted coordinates project back onto themselves, without residual."""
    X = draw()
    subspace = principal_subspace(kernel.bind(X), X, 3)
    Y, r2 = subspace.split(X)
    assert np.all(r2 >= 0)
    np.testing.assert_allclose(subspace.variances.sum() + r2.mean(), subspace.total_variance, rtol=1e-9)
    lifted = subspace.lift(Y)
    back = lifted.inner(subspace.axes) - subspace.offset
    np.testing.assert_allclose(back, Y, atol=1e-8 * np.abs(Y).max())
    sqnorms = np.sum(Y**2, axis=1) + 2 * Y @ subspace.offset + subspace.mean_sqnorm
    np.testing.assert_allclose(lifted.sqnorms(), sqnorms, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_training_coordinates_are_those_of_the_rows(weighted):
    """λB/w, without a kernel: where the eigenpairs are good enough."""
    X = draw()
    w = np.random.default_rng(2).uniform(0.1, 2, N) if weighted else np.ones(N)
    w /= w.sum()
    subspace = principal_subspace(RBF(0.3), X, 3, weights=w if weighted else None, solver="exact")
    Y = subspace.project(X)
    read = subspace.training_coordinates(w if weighted else None, 1e-6)
    np.testing.assert_allclose(read, Y, atol=1e-9 * np.abs(Y).max())
    assert subspace.training_coordinates(w, 1e-30) is None


def test_a_part_of_a_subspace_is_the_subspace_of_fewer_components():
    X = draw()
    kernel = RBF().bind(X)
    part, whole = principal_subspace(kernel, X, 2), principal_subspace(kernel, X, 5)[:2]
    np.testing.assert_allclose(whole.project(X), part.project(X), atol=1e-10)
    np.testing.assert_allclose(whole.split(X)[1], part.split(X)[1], atol=1e-10)


@pytest.mark.parametrize("q", [1, 3])
def test_the_linear_kernel_is_linear_pca(q):
    X, new = draw(d=5), draw(20, 5, seed=1)
    pca = PCA(q).fit(X)
    subspace = principal_subspace(Linear().bind(X), X, q)
    np.testing.assert_allclose(subspace.variances, pca.explained_variance_ * (N - 1) / N, rtol=1e-10)
    np.testing.assert_allclose(np.abs(subspace.project(new)), np.abs(pca.transform(new)), atol=1e-9)
    outside = np.sum((new - pca.inverse_transform(pca.transform(new))) ** 2, axis=1)
    np.testing.assert_allclose(subspace.split(new)[1], outside, atol=1e-9)


@pytest.mark.parametrize("center, rank", [(True, 5), (False, 6)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_rank_of_quadratic_features_of_two_columns(solver, dtype, center, rank):
    """q beyond the rank gives fewer axes, the same number in single and double precision."""
    X = draw(d=2).astype(dtype)
    subspace = principal_subspace(QUADRATIC, X, 12, center=center, solver=solver)
    assert len(subspace.variances) == len(subspace.axes) == rank
    assert subspace.project(X).shape == (N, rank)


@pytest.mark.parametrize("solver", [*SOLVERS, Landmarks()], ids=str)
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), QUADRATIC, Linear()], ids=repr)
def test_constant_rows_have_no_axes(kernel, solver):
    X = np.full((N, 2), 0.1)
    subspace = principal_subspace(kernel.bind(X), X, 3, solver=solver, rng=np.random.default_rng(0))
    assert len(subspace.variances) == 0
    assert subspace.project(X).shape == (N, 0)
    np.testing.assert_allclose(subspace.split(X)[1], 0, atol=1e-14)


# What must not matter


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_row_that_stands_twice_is_a_row_of_double_weight(kernel, center):
    X = draw()
    counts = 1 + (np.arange(N) % 3 == 0)
    by_weight = coordinates(kernel, X, weights=counts / counts.sum(), center=center)
    by_count = coordinates(kernel, np.repeat(X, counts, axis=0), at=X, center=center)
    np.testing.assert_allclose(by_count, by_weight, atol=1e-9 * np.abs(by_weight).max())


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@settings(deadline=None, derandomize=True, phases=[Phase.generate], max_examples=4)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_does_not_matter(kernel, symmetric, seed):
    X = mirrored() if symmetric else draw()
    expected = coordinates(kernel, X)
    order = np.random.default_rng(seed).permutation(len(X))
    np.testing.assert_allclose(coordinates(kernel, X[order], at=X), expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@settings(deadline=None, derandomize=True, phases=[Phase.generate], max_examples=4)
@given(seed=st.integers(0, 2**32 - 1))
def test_tiny_noise_flips_no_sign(kernel, symmetric, seed):
    X = mirrored() if symmetric else draw()
    expected = coordinates(kernel, X)
    noise = 1e-12 * np.random.default_rng(seed).normal(size=X.shape)
    np.testing.assert_allclose(coordinates(kernel, X + noise, at=X), expected, atol=1e-6 * np.abs(expected).max())


def mirrored():
    """x and −x for each row, with a simple spectrum: the odd components have no skewness."""
    A = np.random.default_rng(5).normal(size=(N // 2, 3)) * [3, 2, 1.2]
    return np.vstack([A, -A])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", [RBF(gamma=0.05), Matern(gamma=0.05), Laplacian(gamma=0.1), Linear()], ids=repr)
def test_the_place_of_the_origin_does_not_matter(kernel, solver):
    X = draw()
    expected = coordinates(kernel, X, 3, solver=solver)
    shifted = coordinates(kernel, X + 1e8, 3, solver=solver)
    np.testing.assert_allclose(shifted, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", [RBF(gamma=0.05), Matern(gamma=0.05), Laplacian(gamma=0.1), Linear()], ids=repr)
def test_single_precision_is_near_double_precision(kernel, solver, shift):
    """On the same rows: what rounding did to the rows themselves is not counted."""
    X = (draw() + shift).astype(np.float32)
    single = coordinates(kernel, X, 3, solver=solver)
    double = coordinates(kernel, X.astype(float), 3, solver=solver)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=1e-4 * np.abs(double).max())


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("solver", [*SOLVERS, Landmarks(n=N)], ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_solver_does_not_matter(kernel, solver, center):
    """Landmarks on all rows span what the rows span."""
    X, new = draw(), draw(20, seed=1)
    bound = kernel.bind(X, center=center)
    expected = principal_subspace(bound, X, 3, center=center, solver="exact")
    actual = principal_subspace(bound, X, 3, center=center, solver=solver, rng=np.random.default_rng(0))
    scale = np.abs(expected.project(new)).max()
    np.testing.assert_allclose(actual.variances, expected.variances, rtol=1e-6)
    np.testing.assert_allclose(actual.total_variance, expected.total_variance, rtol=1e-6)
    np.testing.assert_allclose(actual.project(new), expected.project(new), atol=1e-5 * scale)
    np.testing.assert_allclose(actual.split(new)[1], expected.split(new)[1], atol=1e-5 * scale**2)


# Expansions


@pytest.fixture
def expansion():
    rng = np.random.default_rng(4)
    return Expansion(QUADRATIC, draw(15, 2, seed=2), rng.normal(size=(15, 4)))


def vectors(f):
    """The vectors f_j in explicit features, one in each column."""
    return features(f.Z).T @ f.B


def test_an_expansion_is_its_vectors(expansion):
    other = Expansion(QUADRATIC, draw(9, 2, seed=3), np.random.default_rng(5).normal(size=(9, 3)))
    F, G, X = vectors(expansion), vectors(other), draw(d=2)
    M = np.random.default_rng(6).normal(size=(4, 2))
    assert len(expansion) == 4
    np.testing.assert_allclose(expansion(X), features(X) @ F, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(expansion.inner(other), F.T @ G, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(expansion.inner(other), other.inner(expansion).T, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(expansion.sqnorms(), np.sum(F**2, axis=0), rtol=1e-10)
    np.testing.assert_allclose(vectors(expansion @ M), F @ M, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(vectors(expansion + expansion[2]), F + F[:, [2]], rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(vectors(expansion + expansion), 2 * F, rtol=1e-10)


@pytest.mark.parametrize("j", [0, -1, slice(1, 3), [2, 0], np.array([True, False, False, True])], ids=str)
def test_some_vectors_of_an_expansion(expansion, j):
    expected = vectors(expansion)[:, np.atleast_1d(np.arange(4)[j])]
    np.testing.assert_allclose(vectors(expansion[j]), expected, rtol=1e-12)


def test_an_expansion_is_not_changed_by_what_is_done_with_it(expansion):
    Z, B = expansion.Z.copy(), expansion.B.copy()
    expansion.inner(expansion), expansion.sqnorms(), expansion @ np.eye(4), expansion + expansion, expansion[1]
    expansion(draw(d=2))
    np.testing.assert_array_equal(expansion.Z, Z)
    np.testing.assert_array_equal(expansion.B, B)
