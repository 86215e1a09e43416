"""Components that stand out against a background: contrastive PCA for the linear kernel, kernel PCA without one."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

import mercer
from mercer import ContrastiveKernelPCA, KernelPCA
from mercer.eigen import Landmarks
from mercer.kernels import RBF, Polynomial
from mercer.rkhs.contrastive import separation

RNG = np.random.default_rng(0)
X, B = RNG.normal(size=(50, 4)) * [3, 2, 1, 1] + 2, RNG.normal(size=(40, 4)) * [3, 1, 1, 0.5]
SOLVERS = ["auto", "exact", Landmarks(90)]


def covariance(x):
    return np.cov(x.T, bias=True)


def features(x):
    """The explicit features of Polynomial(2, gamma=1, coef0=1)."""
    i, j = np.triu_indices(x.shape[1])
    return np.c_[np.ones(len(x)), np.sqrt(2) * x, x[:, i] * x[:, j] * np.where(i == j, 1, np.sqrt(2))]


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize(
    ("kernel", "phi"), [("linear", lambda x: x), (Polynomial(2, 1.0, 1.0), features)], ids=["linear", "quadratic"]
)
def test_equals_contrastive_pca_of_explicit_features(kernel, phi, solver):
    F, G = phi(X), phi(B)
    lam, U = np.linalg.eigh(covariance(F) - 0.7 * covariance(G))
    q = np.count_nonzero(lam > 1e-9 * lam[-1])
    model = ContrastiveKernelPCA(contrast=0.7, kernel=kernel, solver=solver).fit(X, background=B)
    assert model.n_components_ == q
    found = model.explained_variance_ - 0.7 * model.background_variance_
    np.testing.assert_allclose(found, lam[::-1][:q], rtol=1e-6)
    np.testing.assert_allclose(model.solver_.lowest, min(lam[0], 0), rtol=1e-6, atol=1e-9)
    scores = (F - F.mean(0)) @ U[:, ::-1][:, :q]
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(scores), atol=1e-6 * np.abs(scores).max())
    axes = model.subspace_.axes
    np.testing.assert_allclose(axes.inner(axes), np.eye(q), atol=1e-8)


def test_without_a_background_it_is_kernel_pca():
    plain, model = KernelPCA(3).fit(X), ContrastiveKernelPCA(3).fit(X)
    np.testing.assert_array_equal(model.transform(X), plain.transform(X))


def test_weights_count_copies_and_files_keep_the_model(tmp_path):
    counts = np.arange(len(X)) % 3
    model = ContrastiveKernelPCA(2, kernel=RBF(0.1)).fit(X, sample_weight=counts, background=B)
    copies = ContrastiveKernelPCA(2, kernel=RBF(0.1)).fit(np.repeat(X, counts, axis=0), background=B)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(copies.transform(X)), atol=1e-6)
    mercer.save(model, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").transform(B), model.transform(B))
    assert model.denoise(X).shape == X.shape


def blobs(rng, share=0.5):
    """Two groups of rows that differ in ten columns, beside ten columns of large variance."""
    scales = np.r_[np.full(10, 3.0), np.full(20, 1.0)]
    labels = (np.arange(200) < 200 * share).astype(int)
    samples, background = rng.normal(size=(2, 200, 30)) * scales
    samples[:, 10:20] += 1.6 * labels[:, None]
    return samples, background, labels


def proteins(rng):
    """Expressions of 77 proteins of treated animals of two genotypes, and of untreated ones; six factors are shared."""
    factors, labels = rng.normal(size=(6, 77)), np.repeat([0, 1], 135)
    rows = rng.normal(size=(405, 6)) @ factors + rng.normal(size=(405, 77))
    samples, background = rows[:270], rows[270:]
    changed = rng.choice(77, 20, replace=False)
    samples[:, changed] += 1.6 * labels[:, None] * rng.choice([-1, 1], 20)
    return samples, background, labels


def images(rng):
    """Zeros and ones on patches of a texture that has more variance than they have, and other patches of it."""
    digits, labels = (part[::2] for part in load_digits(n_class=2, return_X_y=True))
    texture = gaussian_filter(rng.normal(size=(300, 300)), (2, 0.7))
    patches = np.lib.stride_tricks.sliding_window_view(texture / texture.std(), (8, 8)).reshape(-1, 64)
    chosen = patches[rng.choice(len(patches), len(digits) + 250, replace=False)]
    return digits / 10 + chosen[: len(digits)], chosen[len(digits) :], labels


GROUPS = {  # rows, and the adjusted Rand index that two contrastive components have at least
    "blobs": (lambda rng: blobs(rng), 0.9),
    "a fifth": (lambda rng: blobs(rng, 0.2), 0.7),
    "proteins": (proteins, 0.9),
    "images": (images, 0.7),
}


@pytest.mark.parametrize("width", [None, 0.05], ids=["linear", "rbf"])
@pytest.mark.parametrize("rows", GROUPS)
def test_it_shows_groups_that_the_variance_of_the_background_hides(rows, width):
    make, least = GROUPS[rows]
    samples, background, labels = make(np.random.default_rng(1))
    kernel = "linear" if width is None else RBF(width * RBF().bind(samples).gamma)

    def agreement(model, **data):
        Y = model.fit(samples, **data).transform(samples)
        return adjusted_rand_score(labels, GaussianMixture(2, random_state=0, n_init=3).fit_predict(Y))

    model = ContrastiveKernelPCA(2, contrast="auto", kernel=kernel)
    assert agreement(model, background=background) > least
    assert agreement(KernelPCA(2, kernel=kernel)) < 0.3
    assert 2 <= len(model.contrasts_) <= 10  # few to look at; each is used as it is by contrast=
    assert model.contrast_ in model.contrasts_
    again = ContrastiveKernelPCA(2, contrast=model.contrast_, kernel=kernel)
    assert agreement(again, background=background) > least


def test_separation_is_that_of_two_groups_of_any_size():
    rng = np.random.default_rng(0)
    normal, groups = rng.normal(size=(20000, 1)), np.repeat([0.0, 1.0], [3, 17])[:, None]
    np.testing.assert_allclose(separation(normal), 2 / np.pi, rtol=0.02)
    np.testing.assert_allclose(separation(np.c_[groups, -5 * groups, 0 * groups]), [1, 1, 0], atol=1e-12)
    assert separation(groups[:1]) == 0


def test_a_precomputed_matrix_and_other_columns_are_refused():
    with pytest.raises(ValueError, match="no rows of a background"):
        ContrastiveKernelPCA(kernel="precomputed").fit(X @ X.T, background=B @ X.T)
    with pytest.raises(ValueError, match="expecting 4 features"):
        ContrastiveKernelPCA().fit(X, background=B[:, :3])
