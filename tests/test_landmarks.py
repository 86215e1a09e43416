"""Pivoted Cholesky, landmarks, and models that are fitted in pieces."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.datasets import make_blobs

from mercer import KernelPCA
from mercer.eigen import Landmarks
from mercer.kernels import RBF, Laplacian, Linear, Matern, Polynomial, Precomputed, RationalQuadratic
from mercer.linalg.cholesky import rpcholesky
from mercer.linalg.operators import Dense, Gram
from mercer.rkhs import Basis

KERNELS = [RBF(gamma=0.3), RBF(gamma=0.01), Polynomial(2, 1.0)]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(150, 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_factor_reproduces_the_pivot_columns_and_stays_below_the_matrix(kernel, dtype, X):
    K = kernel(X, X)
    F, pivots = rpcholesky(Gram(kernel, X.astype(dtype)), 40, np.random.default_rng(1))
    scale = K.max() * (1e-3 if dtype == np.float32 else 1e-9)
    assert len(np.unique(pivots)) == F.shape[1] <= 40
    np.testing.assert_allclose((F @ F.T)[:, pivots], K[:, pivots], atol=scale)
    assert np.linalg.eigvalsh(K - F @ F.T.astype(float)).min() > -scale * len(K)


def test_the_factor_ends_where_the_rank_ends(X):
    F, _ = rpcholesky(Gram(Polynomial(2, 1.0), X), 100, np.random.default_rng(0))
    assert F.shape[1] == 10  # monomials of degree ≤ 2 in 3 variables


def test_pivots_are_distributed_as_if_drawn_one_at_a_time():
    """The first pivot is proportional to the diagonal, the second to what the first leaves."""
    K = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    draws = np.array([rpcholesky(Dense(K), 2, np.random.default_rng(seed))[1] for seed in range(4000)])
    counts = np.bincount(3 * draws[:, 0] + draws[:, 1], minlength=9).reshape(3, 3) / len(draws)
    expected = np.zeros((3, 3))
    for i in range(3):
        left = np.maximum(np.diag(K) - K[:, i] ** 2 / K[i, i], 0)
        expected[i] = np.diag(K)[i] / np.trace(K) * left / left.sum()
    np.testing.assert_allclose(counts, expected, atol=0.03)


@pytest.mark.parametrize("choose", ["auto", "rpcholesky", "uniform", "kmeans"])
def test_more_landmarks_leave_less_outside(choose, X):
    shares = [
        KernelPCA(3, kernel=RBF(0.3), solver=Landmarks(m, choose), random_state=0).fit(X).solver_.outside_share
        for m in (5, 25, 75)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 2 * shares[2]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_all_points_as_landmarks_are_exact(kernel, weighted, center, X):
    weights = np.random.default_rng(1).integers(1, 4, len(X)) if weighted else None
    exact = KernelPCA(4, kernel=kernel, center=center, solver="exact").fit(X, sample_weight=weights)
    model = KernelPCA(4, kernel=kernel, center=center, solver=Landmarks(len(X))).fit(X, sample_weight=weights)
    new = X[::3] + 0.1
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.transform(new)), np.abs(exact.transform(new)), atol=1e-7)
    np.testing.assert_allclose(model.reconstruction_error(new), exact.reconstruction_error(new), atol=1e-7)
    np.testing.assert_allclose(model.total_variance_, exact.total_variance_, rtol=1e-8)
    assert model.solver_.outside_share < 1e-8


def test_what_lies_outside_is_the_trace_of_the_residual(X):
    kernel, Z = RBF(0.3), X[:20]
    model = KernelPCA(3, kernel=kernel, solver=Landmarks(choose=Z)).fit(X)
    K, K_Z = kernel(X, X), kernel(X, Z)
    residual = np.trace(K - K_Z @ np.linalg.solve(kernel(Z, Z), K_Z.T)) / len(X)
    np.testing.assert_allclose(model.solver_.outside, residual, rtol=1e-8)


@pytest.mark.parametrize("choose", [np.arange(20), slice(0, 20)])
def test_landmarks_can_be_given_as_rows_or_points(choose, X):
    choice = choose if isinstance(choose, np.ndarray) else X[choose]
    model = KernelPCA(3, kernel=RBF(0.3), solver=Landmarks(choose=choice)).fit(X)
    np.testing.assert_array_equal(np.sort(model.anchors_, axis=0), np.sort(X[:20], axis=0))


@pytest.mark.parametrize("choose", ["best", np.zeros((3, 7)), np.zeros(3)])
def test_landmarks_that_make_no_sense_are_refused(choose, X):
    with pytest.raises(ValueError, match="andmarks"):
        KernelPCA(3, solver=Landmarks(choose=choose)).fit(X)


def test_landmarks_work_on_a_precomputed_matrix(X):
    K = RBF(0.3)(X, X)
    given = KernelPCA(3, kernel=Precomputed(diag=1.0), solver=Landmarks(choose=np.arange(30))).fit(K)
    direct = KernelPCA(3, kernel=RBF(0.3), solver=Landmarks(choose=np.arange(30))).fit(X)
    np.testing.assert_allclose(np.abs(given.transform(K)), np.abs(direct.transform(X)), atol=1e-9)
    np.testing.assert_allclose(given.reconstruction_error(K), direct.reconstruction_error(X), atol=1e-9)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("gamma", [0.3, 0.001])  # well and ill conditioned landmarks: two ways to the moments
def test_a_model_fitted_in_pieces_equals_the_one_fitted_at_once(gamma, weighted, X):
    weights = np.random.default_rng(1).integers(0, 3, len(X)) if weighted else None
    solver = Landmarks(choose=X[:40])
    whole = KernelPCA(3, kernel=RBF(gamma), solver=solver).fit(X, sample_weight=weights)
    pieces = KernelPCA(3, kernel=RBF(gamma), solver=solver)
    for rows in np.array_split(np.arange(len(X)), 4):
        pieces.partial_fit(X[rows], sample_weight=None if weights is None else weights[rows])
    np.testing.assert_allclose(np.abs(pieces.transform(X)), np.abs(whole.transform(X)), atol=1e-10)
    np.testing.assert_allclose(pieces.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(pieces.reconstruction_error(X), whole.reconstruction_error(X), atol=1e-10)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("gamma", [3.0, 1.0, 0.1, 0.01])  # condition numbers of K_ZZ on both sides of the limit
def test_moments_of_rows_in_single_precision_are_those_in_double(gamma, weighted):
    X = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    weights = np.random.default_rng(1).random(len(X)) if weighted else None
    single, double = (Basis.of(RBF(gamma), X[:60].astype(dtype)) for dtype in (np.float32, np.float64))
    assert single.single == (single.condition <= 1e3)
    assert not double.single
    sums, exact = single.moments(X, weights), double.moments(X, weights)
    for ours, theirs in ((sums.first, exact.first), (sums.second, exact.second)):
        assert ours.dtype == np.float64
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-5 * abs(theirs).max())
    np.testing.assert_allclose(sums.outside, exact.outside, rtol=1e-3)


def test_pieces_go_on_after_fit(X):
    solver = Landmarks(choose=X[:40])
    model = KernelPCA(3, kernel=RBF(0.3), solver=solver).fit(X[:90], sample_weight=np.full(90, 2.0))
    model.partial_fit(X[90:])
    weights = np.where(np.arange(len(X)) < 90, 2.0, 1.0)
    whole = KernelPCA(3, kernel=RBF(0.3), solver=solver).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-10)


def test_only_landmarks_are_fitted_in_pieces():
    assert hasattr(KernelPCA(solver="landmarks"), "partial_fit")
    assert not hasattr(KernelPCA(), "partial_fit")


def test_a_memory_mapped_file_is_read_in_tiles(tmp_path, X):
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    solver = Landmarks(choose=np.arange(40))
    np.testing.assert_array_equal(
        KernelPCA(3, solver=solver).fit(mapped).transform(mapped), KernelPCA(3, solver=solver).fit(X).transform(X)
    )


def test_the_basis_is_orthonormal_and_drops_repeated_landmarks(X):
    kernel = RBF(0.3)
    basis = Basis.of(kernel, np.vstack([X[:20], X[:20]]))
    assert len(basis.Z) == 20
    np.testing.assert_allclose(basis.R.T @ kernel(basis.Z, basis.Z) @ basis.R, np.eye(20), atol=1e-9)


def test_every_cluster_gets_a_landmark():
    """Eight draws for eight tight clusters: what is left of a cluster that has one is too little to be drawn again."""
    X, y = make_blobs(300, centers=10 * np.eye(8), cluster_std=0.01, random_state=0)
    model = KernelPCA(7, kernel=RBF(1.0), solver=Landmarks(8), random_state=0).fit(X)
    nearest = np.argmin(np.linalg.norm(X[:, None] - model.anchors_, axis=2), axis=0)
    assert len(np.unique(y[nearest])) == 8


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "kernel", [RBF(0.2), RBF(5.0), Matern(1.5, gamma=0.5), RBF(lengthscale=(1.0, 2.0, 0.5))], ids=repr
)
def test_landmarks_move_to_the_means_of_their_rows_where_these_explain_more(kernel, weighted):
    """Each by the definition: its rows, their mean, and the sums of squares of both kernels."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    w = np.random.default_rng(1).integers(0, 3, 300).astype(float) if weighted else None
    choices = ("rpcholesky", "auto")
    pivots, found = (Landmarks(30, choose)(kernel.bind(X), X, 3, w, np.random.default_rng(2)) for choose in choices)
    scale = 1 if kernel.lengthscale is None else np.asarray(kernel.lengthscale)
    nearest = np.argmin(np.linalg.norm((X[:, None] - pivots) / scale, axis=2), axis=1)
    weights, moved = np.ones(300) if w is None else w, 0
    for j, z in enumerate(pivots):
        own = nearest == j
        mean = np.average(X[own], axis=0, weights=weights[own])
        explained = [weights[own] @ kernel(X[own], point[None])[:, 0] ** 2 for point in (z, mean)]
        np.testing.assert_allclose(found[j], mean if explained[1] > explained[0] else z, atol=1e-12)
        moved += explained[1] > explained[0]
    assert 0 < moved < 30 or kernel.gamma != 5.0  # a narrow kernel keeps some and moves others


@pytest.mark.parametrize("kernel", [RBF(0.1), RBF(1.0), Matern(1.5, gamma=0.1), RationalQuadratic(gamma=0.1)], ids=repr)
@pytest.mark.parametrize("d", [3, 10])
def test_moved_landmarks_leave_less_outside(kernel, d):
    """Also on independent normal columns, where the pivots themselves are no better than rows drawn at random."""
    X = np.random.default_rng(3).normal(size=(2000, d))
    shares = {}
    for choose in ("auto", "rpcholesky", "uniform"):
        fits = [
            KernelPCA(3, kernel=kernel, solver=Landmarks(60, choose), random_state=seed).fit(X) for seed in range(3)
        ]
        shares[choose] = np.mean([fit.solver_.outside_share for fit in fits])
    assert shares["auto"] <= 1.02 * min(shares["rpcholesky"], shares["uniform"])


def test_landmarks_of_other_kernels_and_of_sparse_rows_are_rows():
    X = abs(np.random.default_rng(0).normal(size=(200, 4)))
    rows = {row.tobytes() for row in X}
    for kernel in (Laplacian(0.3), Matern(0.5, gamma=0.3), Polynomial(3, gamma=1.0), RBF(0.3) + Linear()):
        assert {row.tobytes() for row in KernelPCA(2, kernel=kernel, solver=Landmarks(20)).fit(X).anchors_} <= rows
    anchors = KernelPCA(2, kernel=RBF(0.3), solver=Landmarks(20)).fit(csr_array(X)).anchors_
    assert issparse(anchors)
    assert {row.tobytes() for row in anchors.toarray()} <= rows


@pytest.mark.parametrize("choose", ["rpcholesky", "uniform"])
def test_landmarks_are_the_same_far_from_the_origin(choose):
    """Single precision chooses, but not among rows that it cannot tell apart."""
    X = np.random.default_rng(2).integers(-4, 5, size=(400, 3)) / 4  # exact beside the shift
    solver = Landmarks(30, choose=choose)
    here, there = (KernelPCA(3, kernel=RBF(0.2), solver=solver, random_state=0).fit(X + shift) for shift in (0, 1e8))
    np.testing.assert_array_equal(there.anchors_ - 1e8, here.anchors_)


@pytest.mark.parametrize("n", [0, -1, "many"])
def test_a_number_of_landmarks_is_at_least_one(n):
    with pytest.raises(ValueError, match="give a number of at least 1"):
        Landmarks(n)
