"""Denoising: the choice of a method, compensation, walks through coordinates, and many points at once."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from mercer import KernelPCA, select
from mercer._core import registry
from mercer._core.tiles import watched
from mercer.eigen import Landmarks
from mercer.kernels import RBF, InverseMultiquadric, Matern, Polynomial
from mercer.preimage import Compensated, FixedPoint, Learned, Smoother, projection

RADIAL = [RBF(0.3), RBF(lengthscale=[0.8, 1.2, 1.0]), InverseMultiquadric(0.5), Matern(2.5, gamma=0.3)]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(120, 3))


def fitted(X, kernel, method, q=100, **parameters):
    return KernelPCA(q, kernel=kernel, preimage=method, **parameters).fit(X)


# The choice of a method


def test_the_choice_of_a_method_follows_the_error_on_clean_rows(X):
    model = KernelPCA(10, kernel=RBF(0.3))
    choice = select.preimage(model, X, 0.2, random_state=0)
    assert set(choice.table) >= {*registry.PREIMAGES, *(f"compensated {name}" for name in registry.PREIMAGES)}
    first = next(iter(choice.table))
    assert choice.table[first].decibels == max(score.decibels for score in choice.table.values())
    assert choice.estimator.preimage is choice.best
    assert isinstance(choice.best, Compensated) == first.startswith("compensated")
    assert first in str(choice)
    by_mse = select.preimage(model, X, 0.2, criterion="mse", random_state=0).table
    assert next(iter(by_mse.values())).mse == min(score.mse for score in by_mse.values())
    with pytest.raises(ValueError, match="rows that the model was fitted on"):
        select.preimage(model.fit(X), X, 0.2)
    with pytest.raises(ValueError, match="criterion='best' is unknown"):
        select.preimage(model, X, 0.2, criterion="best")


def test_scores_of_methods_are_those_of_their_rows(X):
    """Of a fitted model, on rows it has not seen, with noise of one's own."""
    fitted = KernelPCA(10, kernel=RBF(0.3)).fit(X[:90])

    def noise(X, rng):
        return X * (rng.random(X.shape) > 0.3)

    choice = select.preimage(fitted, X[90:], noise, methods=["smoother", Learned(0.1)], n_draws=1, random_state=0)
    assert set(choice.table) == {name for m in ("smoother", repr(Learned(0.1))) for name in (m, f"compensated {m}")}
    noisy = noise(X[90:], np.random.default_rng(0))
    for name, method in (("smoother", "smoother"), ("compensated smoother", Compensated("smoother"))):
        errors = np.mean((fitted.set_params(preimage=method).fit(X[:90]).denoise(noisy) - X[90:]) ** 2, axis=1)
        decibels = np.mean(10 * np.log10(X[90:].var(axis=0).mean() / errors))
        np.testing.assert_allclose(choice.table[name], (decibels, errors.mean()), rtol=1e-10)


def test_methods_that_a_kernel_does_not_allow_are_left_out_unless_asked_for(X):
    model = KernelPCA(4, kernel=Polynomial(2, 0.3))
    choice = select.preimage(model, X[:60], 0.1, methods=None, n_draws=1)
    assert "fixed_point" not in choice.table
    assert "gradient" in choice.table
    with pytest.raises(ValueError, match="radial"):
        select.preimage(model, X[:60], 0.1, methods=["fixed_point"])


def test_the_reconstruction_score_of_a_very_wide_kernel_is_that_of_linear_pca(X):
    """The feature-space score goes to 0, its best value, with the width; this one is in the units of the rows."""
    train, test = X[:80], X[80:]
    wide = KernelPCA(2, kernel=RBF(1e-4), preimage="gradient").fit(train)
    pca = PCA(2).fit(train)
    linear = -np.mean(np.sum((test - pca.inverse_transform(pca.transform(test))) ** 2, axis=1))
    np.testing.assert_allclose(select.reconstruction(wide, test), linear, rtol=0.02)
    search = GridSearchCV(KernelPCA(2), {"kernel__gamma": [0.1, 1.0]}, scoring=select.reconstruction, cv=3).fit(X)
    assert search.best_score_ < 0


# Compensation


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_compensated_projections_are_their_equation(kernel, X):
    """Y = κ(max(t − c, 0))B − offset, c the excess of the nearest squared distance over the median among anchors."""
    subspace = KernelPCA(4, kernel=kernel).fit(X).subspace_
    noisy = X[:30] + np.random.default_rng(1).normal(size=(30, 3))
    scale = 1.0 if kernel.lengthscale is None else np.asarray(kernel.lengthscale)

    def squares(A):
        return np.sum(((A[:, None] - X) / scale) ** 2, axis=2)

    among, t = squares(X), squares(noisy)
    np.fill_diagonal(among, np.inf)
    c = np.maximum(t.min(axis=1) - np.median(among.min(axis=1)), 0)[:, None]
    assert c.max() > 0
    for excess, value in (("nearest", c), (0.7, 0.7), (0, 0)):
        expected = kernel.bind(X).profile(np.maximum(t - value, 0)) @ subspace.axes.B - subspace.offset
        np.testing.assert_allclose(projection(subspace, excess)(noisy), expected, atol=1e-10)
    np.testing.assert_allclose(projection(subspace, 0)(noisy), subspace.project(noisy), atol=1e-10)
    np.testing.assert_allclose(projection(subspace)(X), subspace.project(X), atol=1e-7)  # rows at distance 0


def test_only_denoising_is_compensated(X):
    plain, other = fitted(X, RBF(0.3), "fixed_point", 5), fitted(X, RBF(0.3), Compensated("fixed_point"), 5)
    Y = plain.transform(X)
    np.testing.assert_allclose(other.transform(X), Y, atol=1e-10)
    np.testing.assert_allclose(other.inverse_transform(Y), plain.inverse_transform(Y), atol=1e-5)
    noisy = X + 2 * np.random.default_rng(0).normal(size=X.shape)
    lifted = other.subspace_.lift(projection(other.subspace_)(noisy))
    np.testing.assert_allclose(other.denoise(noisy), FixedPoint().bind(other.subspace_)(lifted, noisy).X, atol=1e-6)
    assert np.abs(other.denoise(noisy) - plain.denoise(noisy)).max() > 0.1
    assert clone(other).preimage == other.preimage


def test_compensation_needs_a_radial_kernel_and_a_known_excess(X):
    with pytest.raises(ValueError, match="radial kernel.*Polynomial.*preimage='auto' itself"):
        fitted(X, Polynomial(3, 0.3), Compensated(), 3).denoise(X)
    with pytest.raises(ValueError, match="excess='much' is unknown"):
        fitted(X, RBF(0.3), Compensated(excess="much"), 3).denoise(X)
    single = KernelPCA(1, kernel=RBF(0.3), preimage=Compensated())
    with pytest.warns(UserWarning, match="constant"):
        single.fit(X[:1])
    np.testing.assert_allclose(single.denoise(X[:3]), np.repeat(X[:1], 3, axis=0))


def test_compensation_undoes_what_noise_in_many_columns_does():
    rng = np.random.default_rng(0)
    clean = np.cos(np.linspace(0, 6, 150)[:, None] + np.arange(40))
    noisy = clean + 0.6 * rng.normal(size=clean.shape)
    errors = [
        np.mean((fitted(clean, RBF(0.1), method, 6).denoise(noisy) - clean) ** 2)
        for method in (FixedPoint(), Compensated(), Compensated(excess=40 * 0.6**2))
    ]
    assert max(errors[1:]) < 0.9 * errors[0]


# Walks


def test_a_walk_begins_and_ends_at_the_projections_of_two_rows(X):
    model = fitted(X, RBF(0.3), "auto", 10)
    path = model.interpolate(X[3], X[8], n_steps=7)
    ends = model.denoise(X[[3, 8]])
    assert path.shape == (7, 3)
    np.testing.assert_allclose(path[[0, -1]], ends, atol=1e-4)
    Y = model.transform(X[[3, 8]])
    halfway = model.preimages(Y.mean(axis=0, keepdims=True))
    assert model.preimages(Y.mean(axis=0, keepdims=True), near=path[3:4]).error <= halfway.error + 1e-9
    with pytest.raises(ValueError, match="2 columns, and this model has 3"):
        model.interpolate(X[0, :2], X[1, :2])


def test_walks_of_the_linear_kernel_are_straight(X):
    model, pca = KernelPCA(2, kernel="linear").fit(X), PCA(2).fit(X)
    ends = pca.inverse_transform(pca.transform(X[:2]))
    share = np.linspace(0, 1, 5)[:, None]
    np.testing.assert_allclose(model.interpolate(X[0], X[1], 5), (1 - share) * ends[0] + share * ends[1], atol=1e-10)


def test_a_grid_is_where_it_says(X):
    """X[i, j] = x̄ + first[j] u₁ + second[i] u₂ for the linear kernel, between quantiles of the coordinates."""
    model = KernelPCA(3, kernel="linear", solver="exact").fit(X)
    grid = model.latent_grid((0, 2), n_steps=4, quantiles=(0.1, 0.9))
    Y = model.transform(X)
    for values, j in ((grid.first, 0), (grid.second, 2)):
        np.testing.assert_allclose(values[[0, -1]], np.quantile(Y[:, j], [0.1, 0.9]), atol=1e-10)
    U = model.subspace_.axes.B.T @ (X - X.mean(axis=0))
    expected = X.mean(axis=0) + grid.first[None, :, None] * U[0] + grid.second[:, None, None] * U[2]
    np.testing.assert_allclose(grid.X, expected, atol=1e-9)


@pytest.mark.parametrize("method", registry.PREIMAGES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_method_walks(method, dtype, X):
    model = fitted(X.astype(dtype), RBF(0.3), method, 4)
    grid = model.latent_grid(n_steps=3)
    assert grid.X.shape == (3, 3, 3)
    path = model.interpolate(X[0].astype(dtype), X[1].astype(dtype), 3)
    assert grid.X.dtype == path.dtype == dtype
    assert np.all(np.isfinite(grid.X))
    assert np.all(np.isfinite(path))
    for components in ((0, 4), (1, 1), (-1, 0)):
        with pytest.raises(ValueError, match="two different numbers below 4"):
            model.latent_grid(components)


@pytest.mark.parametrize("parameters", [{"solver": Landmarks(40)}, {"center": False}], ids=str)
def test_models_of_other_kinds_walk_too(parameters, X):
    model = fitted(X, RBF(0.3), "auto", 4, random_state=0, **parameters)
    inside = model.latent_grid(n_steps=3).X.reshape(-1, 3)
    assert np.abs(inside).max() < np.abs(X).max()
    assert model.interpolate(X[0], X[1], 3).shape == (3, 3)


def test_a_precomputed_kernel_walks_among_the_rows_it_is_given(X):
    K = RBF(0.3)(X, X)
    model = KernelPCA(4, kernel="precomputed", preimage=Smoother(rows=X), solver="exact").fit(K)
    direct = KernelPCA(4, kernel=RBF(0.3), preimage="smoother", solver="exact").fit(X)
    np.testing.assert_allclose(model.latent_grid(n_steps=3).X, direct.latent_grid(n_steps=3).X, atol=1e-8)
    np.testing.assert_allclose(model.interpolate(K[0], K[1], 4), direct.interpolate(X[0], X[1], 4), atol=1e-8)


# Many points


def test_pre_images_can_be_watched(X, monkeypatch):
    monkeypatch.setattr("mercer.preimage.batches.BATCH_ENTRIES", 10 * (4 * len(X) + 20 * 3))
    seen = []

    def watch(name, total):
        for done in range(total + 1):
            seen.append((name, done, total))
            yield

    model = fitted(X, RBF(0.3), "smoother", 4)
    Y = model.transform(X)
    with threadpool_limits(1), watched(watch):
        model.inverse_transform(Y)
    assert seen == [("pre-images", done, 12) for done in range(13)]


def test_rows_to_begin_from_have_the_shape_of_the_answer(X):
    model = fitted(X, RBF(0.3), "fixed_point", 4)
    Y = model.transform(X[:5])
    assert model.preimages(Y, near=X[:5]).X.shape == (5, 3)
    for near in (X[:4], X[:5, :2]):
        with pytest.raises(ValueError, match=r"near must have.*\(5, 3\)"):
            model.preimages(Y, near=near)


def test_the_fixed_point_leaves_an_anchor_with_a_kink(X):
    """The Matérn ½ kernel has an infinite slope at its anchors, where the iteration begins."""
    kernel = Matern(0.5, gamma=0.3)
    Y = KernelPCA(4, kernel=kernel).fit_transform(X)[:30]
    fixed, descent = (fitted(X, kernel, method, 4).preimages(Y).error for method in ("fixed_point", "gradient"))
    assert np.median(fixed - descent) < 0.01 * np.median(descent)
