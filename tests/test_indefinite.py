"""Kernels that are not positive semi-definite: every number is that of the positive part, in explicit coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import (
    IndefiniteKernelWarning,
    KernelPCA,
    KernelPCAClassifier,
    KernelPCAMixture,
    ProbabilisticKernelPCA,
    SparseKernelPCA,
)
from mercer.kernels import Sigmoid

pytestmark = pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning")
TANH = Sigmoid(gamma=0.5, coef0=-1.0)
KERNELS = {
    "tanh": TANH,
    "difference of Gaussians": lambda X, Y: np.exp(-_t(X, Y) / 2) - 0.4 * np.exp(-2 * _t(X, Y)),
}


def _t(X, Y):
    return np.sum((X[:, None] - Y) ** 2, axis=2)


@pytest.fixture(params=KERNELS)
def kernel(request):
    return KERNELS[request.param]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture
def new():
    return np.random.default_rng(1).normal(size=(25, 3))


def explicit(kernel, X, new=None):
    """Λ₊ above |λ_min|, and f(x) = Λ₊^{−½}V₊ᵀk_c(x) of the rows, or of new ones."""
    n = len(X)
    H = np.eye(n) - 1 / n
    K = kernel(X, X)
    lam, V = np.linalg.eigh(H @ K @ H / n)
    above = lam > -lam[0]
    k = (kernel(X if new is None else new, X) - K.mean(axis=0)) @ H
    return lam[above][::-1], k @ (V[:, above] / np.sqrt(n * lam[above]))[:, ::-1]


@pytest.mark.parametrize("q", [1, 3, None])
def test_components_and_distances_are_those_of_the_positive_part(kernel, X, new, q):
    lam, _ = explicit(kernel, X)
    model = KernelPCA(q, kernel=kernel).fit(X)
    assert_allclose(model.explained_variance_, lam[:q], rtol=1e-9)
    assert_allclose(model.total_variance_, lam.sum(), rtol=1e-9)
    for rows in (X, new):
        F = explicit(kernel, X, rows)[1]
        assert_allclose(np.abs(model.transform(rows)), np.abs(F[:, :q]), atol=1e-9)
        assert_allclose(model.reconstruction_error(rows), np.sum(F[:, len(lam[:q]) :] ** 2, axis=1), atol=1e-9)
    assert_allclose(model.reconstruction_error(X).mean(), lam.sum() - lam[:q].sum(), atol=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_share_asked_for_is_held(kernel, X, share):
    model = KernelPCA(share, kernel=kernel).fit(X)
    assert share <= model.explained_variance_ratio_.sum() <= 1 + 1e-12
    assert KernelPCA(kernel=kernel).fit(X).explained_variance_ratio_.sum() <= 1 + 1e-12


def test_the_report_says_what_was_left_out(kernel, X):
    with pytest.warns(IndefiniteKernelWarning, match="indefinite") as caught:
        report = KernelPCA(2, kernel=kernel).fit(X).solver_
    lam = np.linalg.eigvalsh((np.eye(60) - 1 / 60) @ kernel(X, X) @ (np.eye(60) - 1 / 60)) / 60
    assert len(caught) == 1
    assert_allclose(report.lowest, lam[0], rtol=1e-9)
    assert_allclose(report.negative_mass, np.abs(lam[lam < 0]).sum() / np.abs(lam).sum(), rtol=1e-9)
    kept = lam[lam > -lam[0]].sum() / lam[lam > 0].sum()
    assert "positive part" in report.note
    assert f"{kept:.1%}" in report.note
    with pytest.raises(ValueError, match="indefinite"):
        KernelPCA(2, kernel=kernel, indefinite="error").fit(X)


def test_noise_comes_from_the_clipped_spectrum(kernel, X):
    lam, F = explicit(kernel, X)
    model = ProbabilisticKernelPCA(2, kernel=kernel).fit(X)
    rho = lam[2:].sum() / (len(lam) - 2)
    assert_allclose(model.noise_variance_, rho, rtol=1e-9)
    d = np.sum(F[:, :2] ** 2 / lam[:2], axis=1) + np.sum(F[:, 2:] ** 2, axis=1) / rho
    scores = model.score_samples(X)
    assert_allclose(scores - scores[0], -0.5 * (d - d[0]), atol=1e-9)


def test_preimages_stay_in_the_box_and_their_error_is_that_of_the_positive_part(X, new):
    model = KernelPCA(5, kernel=TANH).fit(X)
    Y = model.transform(new)
    found = model.preimages(Y)
    np.testing.assert_array_equal(found.X, np.clip(found.X, X.min(axis=0), X.max(axis=0)))
    F, axes = explicit(TANH, X, found.X)[1], explicit(TANH, X, new)[1]
    flips = np.sign(np.sum(axes[:, :5] * Y, axis=0))
    literal = np.sum((F[:, :5] - Y * flips) ** 2, axis=1) + np.sum(F[:, 5:] ** 2, axis=1)
    assert_allclose(found.error, literal, atol=1e-9)


def test_a_given_matrix_is_the_same_model(kernel, X, new):
    rows, matrix = KernelPCA(3, kernel=kernel).fit(X), KernelPCA(3, kernel="precomputed").fit(kernel(X, X))
    assert_allclose(matrix.transform(kernel(new, X)), rows.transform(new), atol=1e-9)
    assert_allclose(matrix.reconstruction_error(kernel(new, X)), rows.reconstruction_error(new), atol=1e-9)


def test_weights_count_like_copies(kernel, X, new):
    weighted = KernelPCA(3, kernel=kernel).fit(X, sample_weight=np.repeat([2.0, 1.0], 30))
    copied = KernelPCA(3, kernel=kernel).fit(np.r_[X, X[:30]])
    assert_allclose(weighted.transform(new), copied.transform(new), atol=1e-9)
    assert_allclose(weighted.reconstruction_error(new), copied.reconstruction_error(new), atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [KernelPCA(3), ProbabilisticKernelPCA(3), KernelPCAMixture(2, n_components=2, random_state=0), SparseKernelPCA(3)],
    ids=lambda model: type(model).__name__,
)
def test_every_model_takes_tanh_and_is_saved(model, X, new, tmp_path):
    model.set_params(kernel=TANH).fit(X)
    assert model.kernel_ == TANH
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    for method in {"transform", "reconstruction_error", "score_samples"} & set(dir(model)):
        values = getattr(model, method)(new)
        assert np.all(np.isfinite(values))
        np.testing.assert_array_equal(getattr(again, method)(new), values)


def test_the_classifier_takes_tanh(X, new):
    model = KernelPCAClassifier(kernel=TANH).fit(X, X[:, 0] > 0)
    assert model.score(new, new[:, 0] > 0) > 0.8
    assert np.all(np.isfinite(model.predict_proba(new)))


@pytest.mark.parametrize("q", [3, 0.9])
def test_shares_of_many_rows_are_at_most_one(q):
    X = np.random.default_rng(0).normal(size=(1600, 3))
    ratios = KernelPCA(q, kernel=TANH).fit(X).explained_variance_ratio_
    assert ratios.sum() <= 1
    assert q == 3 or ratios.sum() >= q
