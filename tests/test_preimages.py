"""Pre-images: laws over every method, and the traps that others fell into."""

import numpy as np
import pytest
from scipy.sparse import issparse, random_array
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Theirs

from mercer import KernelPCA, ProbabilisticKernelPCA
from mercer._core import registry
from mercer.eigen import Landmarks
from mercer.kernels import RBF, Cosine, InverseMultiquadric, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.preimage import Distances, FixedPoint, Gradient, Learned, Smoother, as_preimage
from mercer.rkhs import Expansion

RADIAL = [RBF(0.3), RBF(lengthscale=[0.8, 1.2, 1.0]), InverseMultiquadric(0.5), Matern(2.5, gamma=0.3)]
SMOOTH = [*RADIAL, RationalQuadratic(2.0, 0.3), Matern(1.5, gamma=0.3), Polynomial(3, 0.3), Laplacian(0.3)]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(120, 3))


def fitted(X, kernel, method, q=100, **parameters):
    return KernelPCA(q, kernel=kernel, preimage=method, **parameters).fit(X)


@pytest.mark.parametrize("method", ["fixed_point", "gradient", "distances"])
@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_the_image_of_a_point_comes_back_to_it(kernel, method, X):
    model = fitted(X, kernel, method, None)
    result = model.preimages(model.transform(X[:20]))
    np.testing.assert_allclose(result.X, X[:20], atol=1e-4)
    assert result.error.max() < 1e-6


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
@pytest.mark.parametrize("method", ["fixed_point", "gradient"])
@pytest.mark.parametrize("q", [1, 5])
def test_iterations_never_end_farther_off_than_they_began(method, kernel, q, X):
    if method == "fixed_point" and kernel not in RADIAL:
        return
    model = fitted(X, kernel, method, q)
    Y = np.random.default_rng(1).normal(size=(15, model.n_components_)) * np.sqrt(model.explained_variance_)
    target = model.subspace_.lift(Y)
    to_anchors = kernel.bind(X).diag(X) - 2 * target(X).T + target.sqnorms()[:, None]
    assert np.all(model.preimages(Y).error <= to_anchors.min(axis=1) + 1e-10)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_fixed_point_and_gradient_reach_the_same_distance(kernel, X):
    Y = KernelPCA(4, kernel=kernel).fit_transform(X)[:30]
    errors = [fitted(X, kernel, m, 4).preimages(Y).error for m in (FixedPoint(max_iter=2000, tol=1e-9), Gradient())]
    assert np.abs(errors[0] - errors[1]).max() < 1e-5


def test_only_the_gradient_serves_a_polynomial_kernel(X):
    model = fitted(X, Polynomial(3, 0.3), "gradient", None)
    assert model.n_components_ == 19  # monomials of degree 1 to 3 in three variables
    np.testing.assert_allclose(model.inverse_transform(model.transform(X[:10])), X[:10], atol=1e-3)
    for method in ("fixed_point", "distances"):
        with pytest.raises(ValueError, match="radial kernel.*Polynomial.*preimage='gradient'"):
            fitted(X, Polynomial(3, 0.3), method, 3).inverse_transform(np.zeros((1, 3)))


def test_a_bound_keeps_points_inside_a_box(X):
    model = fitted(X, RBF(0.3), Gradient(bounds=(-0.5, 0.5)), 5)
    assert np.abs(model.inverse_transform(model.transform(X))).max() <= 0.5


@pytest.mark.parametrize("center", [True, False])
def test_the_linear_kernel_is_exact(center, X):
    X = X + 5
    model = KernelPCA(2, kernel="linear", center=center).fit(X)
    back = model.inverse_transform(model.transform(X))
    if center:
        pca = PCA(2).fit(X)
        np.testing.assert_allclose(back, pca.inverse_transform(pca.transform(X)), atol=1e-10)
    else:
        U = np.linalg.svd(X, full_matrices=False)[2][:2]
        np.testing.assert_allclose(back, X @ U.T @ U, atol=1e-10)
    np.testing.assert_allclose(model.denoise(X), back, atol=1e-10)


@pytest.mark.parametrize("method", registry.PREIMAGES)
def test_nothing_is_nan(method, X):
    """Far points, duplicates, one component, one anchor, zero coordinates."""
    rows = np.vstack([X, X[:30]])
    model = fitted(rows, RBF(2.0), method, 3)
    for points in (X, 1e3 * X, np.repeat(X[:1], 5, axis=0)):
        assert np.all(np.isfinite(model.denoise(points)))
    result = model.preimages(np.zeros((2, 3)))
    assert np.all(np.isfinite(result.X))
    assert np.all(np.isfinite(result.error))
    with pytest.warns(UserWarning, match="constant"):
        single = fitted(X[:1], RBF(2.0), method, 1)
    np.testing.assert_allclose(single.inverse_transform(np.zeros((2, 0))), np.repeat(X[:1], 2, axis=0), atol=1e-6)


@pytest.mark.parametrize("method", registry.PREIMAGES)
def test_float32_stays_float32_and_near(method, X):
    double = fitted(X, RBF(0.3), method, 5)
    single = fitted(X.astype(np.float32), RBF(0.3), method, 5)
    back = single.inverse_transform(single.transform(X[:10].astype(np.float32)))
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, double.inverse_transform(double.transform(X[:10])), atol=5e-2)


@pytest.mark.parametrize("method", registry.PREIMAGES)
def test_batches_do_not_matter(method, X, monkeypatch):
    model = fitted(X, RBF(0.3), method, 5)
    Y = model.transform(X)
    whole = model.preimages(Y)
    monkeypatch.setattr("mercer.preimage.batches.BATCH_ENTRIES", 7 * (4 * len(X) + 20 * 3))
    parts = model.preimages(Y)
    np.testing.assert_allclose(parts.X, whole.X, atol=1e-9)
    np.testing.assert_allclose(parts.error, whole.error, atol=1e-9)
    np.testing.assert_array_equal(parts.fallback, whole.fallback)


@pytest.mark.parametrize("method", registry.PREIMAGES)
@pytest.mark.parametrize("parameters", [{"solver": Landmarks(60)}, {"center": False}], ids=str)
def test_landmarks_and_uncentred_models_go_back_too(method, parameters, X):
    model = fitted(X, RBF(0.3), method, 40, random_state=0, **parameters)
    back = model.inverse_transform(model.transform(X))
    assert np.mean((back - X) ** 2) < 0.5 * X.var()


def test_weights_are_duplicates(X):
    counts = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = KernelPCA(4, kernel=RBF(0.3)).fit(X, sample_weight=counts)
    repeated = KernelPCA(4, kernel=RBF(0.3)).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.denoise(X), repeated.denoise(X), atol=1e-4)


@pytest.mark.parametrize("method", [Smoother, Learned])
def test_a_precomputed_kernel_returns_to_the_rows_it_is_given(method, X):
    kernel = RBF(0.3)
    K = kernel(X, X)
    model = KernelPCA(20, kernel="precomputed", preimage=method(rows=X)).fit(K)
    direct = KernelPCA(20, kernel=kernel, preimage=method()).fit(X)
    Y = direct.transform(X)
    np.testing.assert_allclose(model.inverse_transform(Y), direct.inverse_transform(Y), atol=1e-8)
    with pytest.raises(ValueError, match=r"Smoother\(rows=X\) or Learned\(rows=X\)"):
        KernelPCA(3, kernel="precomputed").fit(K).inverse_transform(Y[:, :3])


def test_a_target_outside_the_subspace_is_served_too(X):
    subspace = KernelPCA(3, kernel=RBF(0.3)).fit(X).subspace_
    target = Expansion(RBF(0.3), X, np.eye(len(X))[:, [7]])  # φ(x₇) itself
    np.testing.assert_allclose(FixedPoint().bind(subspace)(target).X, X[[7]], atol=1e-6)


def test_auto_follows_the_kernel():
    table = {Linear: "ClosedForm", RBF: "FixedPoint", Polynomial: "Gradient", Cosine: "Gradient", Laplacian: "Gradient"}
    for kernel, method in table.items():
        assert type(as_preimage("auto", kernel())).__name__ == method
    with pytest.raises(ValueError, match="Unknown pre-image method"):
        as_preimage("magic", RBF())


def test_the_error_is_the_distance_in_feature_space(X):
    kernel = Polynomial(2, 1.0)
    model = fitted(X, kernel, Smoother(), 4)
    Y = model.transform(X[:6])
    result = model.preimages(Y)

    def features(X):
        pairs = [np.sqrt(2) * X[:, i] * X[:, j] for i in range(3) for j in range(i)]
        return np.column_stack([np.ones(len(X)), np.sqrt(2) * X, X**2, *pairs])

    target = model.subspace_.lift(Y)
    expected = np.sum((features(result.X) - target.B.T @ features(X)) ** 2, axis=1)
    np.testing.assert_allclose(result.error, expected, rtol=1e-8)


def test_denoising_moves_moons_back_to_their_curves():
    clean, _ = make_moons(300, random_state=0)
    noisy = clean + 0.15 * np.random.default_rng(0).normal(size=clean.shape)
    model = KernelPCA(8, kernel=RBF(3.0)).fit(clean)

    def off(rows):
        return np.linalg.norm(rows[:, None] - clean, axis=2).min(axis=1).mean()

    assert off(model.denoise(noisy)) < 0.6 * off(noisy)


def test_ours_goes_back_better_than_scikit_learns_ridge():
    X = load_digits().data[:400] / 16
    train, test = X[:300], X[300:]
    ours = KernelPCA(30, kernel=RBF(0.05)).fit(train)
    theirs = Theirs(30, kernel="rbf", gamma=0.05, fit_inverse_transform=True).fit(train)
    error = [np.mean((m.inverse_transform(m.transform(test)) - test) ** 2) for m in (ours, theirs)]
    assert error[0] < error[1]


def test_distances_solve_for_the_point():
    from mercer.preimage.distances import from_distances

    rng = np.random.default_rng(0)
    N, x = rng.normal(size=(4, 6, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(from_distances(N, np.sum((N - x[:, None]) ** 2, axis=2)), x, atol=1e-8)
    assert Distances(5).neighbours == 5


@pytest.mark.parametrize(
    "model", [KernelPCA(5), ProbabilisticKernelPCA(5, random_state=0)], ids=lambda m: type(m).__name__
)
def test_sparse_rows_have_sparse_preimages(model):
    X = random_array((60, 200), density=0.05, random_state=np.random.default_rng(0), format="csr")
    model = model.set_params(kernel=RBF(0.3))
    sparse, dense = clone(model).fit(X), clone(model).set_params(preimage="smoother").fit(X.toarray())
    Y = sparse.transform(X)
    found, expected = sparse.preimages(Y), dense.preimages(Y)
    assert issparse(found.X)
    np.testing.assert_allclose(found.X.toarray(), expected.X, atol=1e-12)
    np.testing.assert_allclose(found.error, expected.error, atol=1e-12)
    assert issparse(sparse.denoise(X))
    assert not hasattr(sparse, "sample") or issparse(sparse.sample(3)[0])
    with pytest.raises(ValueError, match="smoother"):
        clone(model).set_params(preimage="fixed_point").fit(X).inverse_transform(Y)


def test_walks_between_sparse_rows_are_dense():
    X = random_array((60, 20), density=0.2, format="csr", random_state=np.random.default_rng(0))
    model = KernelPCA(3, kernel=RBF(0.1)).fit(X)
    rows = model.interpolate(X[:1], X[1:2], n_steps=4)
    assert rows.shape == (4, 20)
    D = X.toarray()
    dense = KernelPCA(3, kernel=RBF(0.1), preimage="smoother").fit(D).interpolate(D[0], D[1], n_steps=4)
    np.testing.assert_allclose(rows, dense, atol=1e-6)
    assert model.latent_grid(n_steps=2).X.shape == (2, 2, 20)
