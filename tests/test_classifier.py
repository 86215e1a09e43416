"""The classifier and its cross-validation: scikit-learn's checks, laws, and what happens at the edges."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_val_predict
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_estimator_checks import OMITTED, takes_tables
from test_estimator_checks import pytestmark as usual

import mercer
from mercer import KernelPCAClassifier, KernelPCAClassifierCV, KernelPCAMixture, ProbabilisticKernelPCA
from mercer.kernels import RBF, Linear, Precomputed
from mercer.models import classifier_cv
from mercer.models.classifier_calibration import balanced_folds
from mercer.rkhs import calibration, held_out
from mercer.rkhs.classes import class_subspaces, energies, untied
from mercer.rkhs.gaussian import energy
from mercer.rkhs.landmarks import Landmarks

SMALL = {
    "kernels": [RBF(gamma="median"), RBF(gamma=1.0)],
    "n_components": [None, 2],
    "noise_ratios": [0.1, 0.0],
    "cv": 3,
}
MODELS = [
    KernelPCAClassifier(),
    KernelPCAClassifier(n_components=2, noise_ratio=0.0),
    KernelPCAClassifier(shrinkage=0.5, priors="uniform"),
    KernelPCAClassifier(shrinkage=1.0, kernel="linear"),
    KernelPCAClassifier(n_components=3, shrinkage=0.3, solver="landmarks", random_state=0),
    KernelPCAClassifier(kernel="precomputed"),
    KernelPCAClassifier(KernelPCAMixture(2, 1, n_init=2, random_state=0), kernel=RBF(gamma="median")),
    KernelPCAClassifierCV(**SMALL, random_state=0),
    KernelPCAClassifierCV(["linear"], noise_ratios=[0.1], shrinkages=[0.5, 1], priors=["uniform"], cv=3, n_repeats=2),
]
RULES = [
    {"noise_ratio": 0.05},
    {"noise_ratio": 0.05, "priors": "uniform", "n_components": 3},
    {"noise_ratio": 0.0, "n_components": 4},
    {"noise_ratio": 0.02, "shrinkage": 0.4},
    {"noise_ratio": 0.02, "shrinkage": 1.0, "n_components": 5},
    {"noise_ratio": 0.0, "shrinkage": 0.6, "n_components": 2, "kernel": "poly"},
]


@pytest.fixture
def data():
    """Three classes of different sizes and shapes in the plane, with strings for labels."""
    rng = np.random.default_rng(0)
    sizes, centres, scales = (30, 20, 14), ((0, 0), (2, 1), (0, 3)), ((1, 0.4), (0.5, 1), (0.8, 0.8))
    parts = [rng.normal(size=(n, 2)) * s + c for n, c, s in zip(sizes, centres, scales, strict=True)]
    return np.concatenate(parts), np.repeat(["ash", "beech", "cedar"], sizes)


@pytest.fixture
def X_new():
    return np.random.default_rng(1).normal(size=(40, 2)) * 2 + 1


# Scikit-learn's checks

# a mixture of rows that are few or equal has fewer clusters and axes than it was asked for
pytestmark = [
    *usual,
    pytest.mark.filterwarnings("ignore:The clusters have:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*clusters are left:UserWarning"),
]


def expected_failures(estimator):
    """Two of the checks give rows where a precomputed kernel takes a matrix."""
    names = ["check_classifiers_one_label_sample_weights", "check_decision_proba_consistency"]
    return {} if takes_tables(estimator) else dict.fromkeys(names, "the rows given are no kernel matrix")


@parametrize_with_checks(MODELS, expected_failed_checks=expected_failures)
def test_checks_of_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", [name for name in OMITTED if not re.search("transform|names_out", name)])
@pytest.mark.parametrize("estimator", [*filter(takes_tables, MODELS)], ids=repr)
def test_checks_that_check_estimator_omits(estimator, name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check(type(estimator).__name__, estimator)


# What must not matter


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_row_that_stands_twice_is_a_row_of_double_weight(data, X_new, rule):
    X, y = data
    counts = np.arange(len(X)) % 3
    weighted = KernelPCAClassifier(**rule).fit(X, y, sample_weight=counts)
    repeated = KernelPCAClassifier(**rule).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.decision_function(X_new), repeated.decision_function(X_new), rtol=1e-6)
    np.testing.assert_allclose(weighted.class_prior_, repeated.class_prior_)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_order_of_rows_and_the_names_of_labels_do_not_matter(data, X_new, rule):
    X, y = data
    model = KernelPCAClassifier(**rule).fit(X, y)
    order = np.random.default_rng(2).permutation(len(X))
    renamed = np.select([y == "ash", y == "beech"], [7, -1], 3)  # in another order
    other = KernelPCAClassifier(**rule).fit(X[order], renamed[order])
    assert other.classes_.tolist() == [-1, 3, 7]
    np.testing.assert_allclose(other.predict_proba(X_new)[:, [2, 0, 1]], model.predict_proba(X_new), atol=1e-8)
    names = dict(zip([7, -1, 3], ["ash", "beech", "cedar"], strict=True))
    assert [names[label] for label in other.predict(X_new)] == model.predict(X_new).tolist()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_landmarks_on_all_rows_and_a_precomputed_kernel_change_nothing(data, X_new, rule):
    X, y = data
    model = KernelPCAClassifier(**{"kernel": RBF(0.5), **rule}).fit(X, y)
    expected = model.predict_proba(X_new)
    landmarks = clone(model).set_params(solver=Landmarks(n=len(X))).fit(X, y)
    np.testing.assert_allclose(landmarks.predict_proba(X_new), expected, atol=1e-5)
    np.testing.assert_allclose(landmarks.noise_variance_, model.noise_variance_, rtol=1e-9)
    kernel = model.kernel_
    expected = model.set_params(calibration=None).fit(X, y).predict_proba(X_new)  # rows of a matrix have no order
    given = clone(model).set_params(kernel=Precomputed(diag=kernel.diag(X_new))).fit(kernel(X, X), y)
    np.testing.assert_allclose(given.predict_proba(kernel(X_new, X)), expected, atol=1e-8)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_single_precision_is_near_double_precision(data, X_new, rule):
    X, y = data
    double = KernelPCAClassifier(**rule).fit(X, y)
    single = clone(double).fit(X.astype(np.float32), y)
    p, expected = single.predict_proba(X_new.astype(np.float32)), double.predict_proba(X_new)
    assert np.mean(np.abs(p - expected)) < 1e-2
    assert np.mean(single.predict(X_new.astype(np.float32)) == double.predict(X_new)) > 0.9


# Probabilities


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_probabilities_sum_to_one_agree_with_the_labels_and_rank(data, X_new, rule):
    X, y = data
    model = KernelPCAClassifier(**rule).fit(X, y)
    p = model.predict_proba(X_new)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_new))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X_new)), p)
    assert roc_auc_score(y, model.predict_proba(X), multi_class="ovr") > 0.9
    assert len(np.unique(p[:, 0])) > len(p) / 2  # not only zeros and ones


def test_probabilities_are_finite_where_they_underflow(data, X_new):
    X, y = data
    model = KernelPCAClassifier(noise_ratio=1e-5, kernel=RBF(5.0), calibration=None).fit(X, y)
    far = np.vstack([X_new, np.full((1, 2), 1e6)])
    assert np.all(np.isfinite(model.predict_log_proba(far)))
    assert model.predict_log_proba(far).min() < np.log(np.finfo(float).tiny)
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1)


def test_priors_empirical_uniform_and_given(data, X_new):
    X, y = data
    fitted = {
        str(priors): KernelPCAClassifier(priors=priors, calibration=None).fit(X, y)
        for priors in ("empirical", "uniform", [1, 0, 1], [30, 20, 14])
    }
    np.testing.assert_allclose(fitted["empirical"].class_prior_, np.array([30, 20, 14]) / 64)
    np.testing.assert_allclose(fitted["uniform"].class_prior_, 1 / 3)
    assert "beech" not in fitted["[1, 0, 1]"].predict(X_new)
    np.testing.assert_allclose(fitted["[1, 0, 1]"].predict_proba(X_new).sum(axis=1), 1)
    assert np.array_equal(fitted["[30, 20, 14]"].predict_proba(X), fitted["empirical"].predict_proba(X))
    log_ratio = fitted["empirical"].decision_function(X_new) - fitted["uniform"].decision_function(X_new)
    np.testing.assert_allclose(log_ratio, np.log(np.array([30, 20, 14]) / 64 * 3) * np.ones((40, 1)), atol=1e-9)


# Known methods as special cases


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
def test_one_covariance_and_the_linear_kernel_are_a_linear_discriminant(data, X_new, priors):
    X, y = data
    lda = LinearDiscriminantAnalysis(solver="lsqr", priors=priors).fit(X, y)
    if priors is not None:  # scikit-learn pools by the priors, we pool by the rows
        Z = X - np.array([X[y == c].mean(axis=0) for c in lda.classes_])[np.unique(y, return_inverse=True)[1]]
        inverse = np.linalg.inv(Z.T @ Z / len(X))
        mahalanobis = np.array([np.sum((X_new - m) @ inverse * (X_new - m), axis=1) for m in lda.means_]).T
        expected = np.exp(np.log(priors) - mahalanobis / 2)
        expected /= expected.sum(axis=1, keepdims=True)
    else:
        expected = lda.predict_proba(X_new)
    model = KernelPCAClassifier(
        shrinkage=1.0,
        kernel="linear",
        noise_ratio=1e-6,
        priors="empirical" if priors is None else priors,
        calibration=None,
    )
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X_new), expected, atol=1e-9)


@pytest.mark.parametrize("noise_ratio", [0.0, 0.1])
def test_no_components_and_equal_priors_give_the_nearest_mean(data, X_new, noise_ratio):
    X, y = data
    settings = {"n_components": 0, "kernel": "linear", "noise_ratio": noise_ratio, "priors": "uniform"}
    model = KernelPCAClassifier(**settings, calibration="temperature").fit(X, y)
    means = np.array([X[y == c].mean(axis=0) for c in model.classes_])
    nearest = np.argmin(((X_new[:, None] - means) ** 2).sum(axis=2), axis=1)
    np.testing.assert_array_equal(model.predict(X_new), model.classes_[nearest])
    assert model.n_components_.tolist() == [0, 0, 0]


def test_a_mixture_of_one_cluster_is_the_plain_classifier(data, X_new):
    X, y = data
    plain = KernelPCAClassifier(n_components=2, noise_ratio=0.05).fit(X, y)
    mixture = KernelPCAClassifier(KernelPCAMixture(1, 2, random_state=0), noise_ratio=0.05).fit(X, y)
    assert mixture.noise_variance_ == pytest.approx(plain.noise_variance_)
    np.testing.assert_allclose(mixture.predict_proba(X_new), plain.predict_proba(X_new), atol=1e-7)


def test_a_mixture_for_each_class_sees_two_groups_in_one():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)) * 0.5 + c for c in ((-3, 0), (3, 0), (0, 0))])
    y = np.repeat([0, 0, 1], 40)
    kernel = Linear()
    single = KernelPCAClassifier(n_components=1, kernel=kernel, noise_ratio=0.05, calibration=None).fit(X, y)
    mixture = KernelPCAMixture(2, 0, random_state=0)
    double = KernelPCAClassifier(mixture, kernel=kernel, noise_ratio=0.05).fit(X, y)
    assert double.score(X, y) > max(single.score(X, y), 0.98)
    assert [density.noise_variance for density in double.densities_] == [double.noise_variance_] * 2


@pytest.mark.parametrize(
    "density", [KernelPCAMixture(2, 1, init="kmeans", n_init=2, random_state=0), ProbabilisticKernelPCA(2)], ids=repr
)
def test_mixtures_on_a_precomputed_matrix_are_those_on_the_samples(data, X_new, density):
    """Also with weights; k(x, x) of new rows is not needed, and held-out rows are those of the matrix."""
    order = np.lexsort(data[0].T[::-1])  # in which samples are merged: random starts follow it
    X, y = data[0][order], data[1][order]
    w, kernel = np.random.default_rng(0).integers(0, 3, len(X)), RBF(0.5)
    model = KernelPCAClassifier(density, noise_ratio=0.05, calibration=None)
    rows = clone(model).set_params(kernel=kernel).fit(X, y, sample_weight=w)
    given = clone(model).set_params(kernel="precomputed").fit(kernel(X, X), y, sample_weight=w)
    np.testing.assert_allclose(given.noise_variance_, rows.noise_variance_)
    np.testing.assert_allclose(given.predict_proba(kernel(X_new, X)), rows.predict_proba(X_new), atol=1e-6)
    fits = [({"kernel": kernel}, X), ({"kernel": "precomputed"}, kernel(X, X))]
    two = [clone(model).set_params(calibration="temperature", **k).fit(Z, y).temperature_ for k, Z in fits]
    assert min(two) > 1
    assert two[0] == pytest.approx(two[1], rel=1e-4)


def test_other_densities_need_the_samples(data):
    X, y = data
    with pytest.raises(ValueError, match="KernelPCAMixture"):
        KernelPCAClassifier(Uniform(), kernel="precomputed").fit(RBF(0.5)(X, X), y)


class Uniform(BaseEstimator):
    """A density that is the same everywhere."""

    def __init__(self, kernel=None, noise_variance=0.1):
        self.kernel, self.noise_variance = kernel, noise_variance

    def fit(self, X, y=None, sample_weight=None):
        return self

    def score_samples(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"shrinkage": 0.5}, "density=None"),
        ({"noise_ratio": 0.0}, "limiting rule"),
        ({"kernel": "precomputed"}, "positive semidefinite"),
    ],
    ids=str,
)
def test_what_a_mixture_cannot_have(data, parameters, message):
    X, y = data
    X = np.tanh(X @ X.T - 1) if "kernel" in parameters else X
    with pytest.raises(ValueError, match=message):
        KernelPCAClassifier(KernelPCAMixture(), **parameters).fit(X, y)


# Components


def test_components_common_by_class_and_by_label(data, X_new):
    X, y = data
    by_order = KernelPCAClassifier(n_components=[1, 5, None], noise_ratio=0.01).fit(X, y)
    by_label = clone(by_order).set_params(n_components={"cedar": None, "beech": 5, "ash": 1}).fit(X, y)
    assert np.array_equal(by_order.predict_proba(X_new), by_label.predict_proba(X_new))
    assert by_order.n_components_.tolist()[:2] == [1, 5]
    whole = clone(by_order).set_params(n_components=None).fit(X, y)
    assert by_order.n_components_[2] == whole.n_components_[2]
    assert all(density.subspace.variances.min() > density.rho for density in whole.densities_)


@pytest.mark.parametrize("n_components", [[1, 2], {"ash": 1, "beech": 2}, [1, 2, -1], [1, 2, 0.5]], ids=str)
def test_components_that_do_not_fit_the_classes_are_refused(data, n_components):
    with pytest.raises(ValueError, match=r"n_components .*'ash', 'beech', 'cedar'"):
        KernelPCAClassifier(n_components=n_components).fit(*data)


@pytest.mark.parametrize("priors", [[1, 2], [0, 0, 0], [-1, 1, 1], [np.nan, 1, 1]], ids=str)
def test_priors_that_do_not_fit_the_classes_are_refused(data, priors):
    with pytest.raises(ValueError, match="priors must be"):
        KernelPCAClassifier(priors=priors).fit(*data)


def test_the_noise_is_a_share_of_the_variance_within_classes(data):
    X, y = data
    within = sum(np.sum((X[y == c] - X[y == c].mean(axis=0)) ** 2) for c in np.unique(y)) / len(X)
    for parameters in ({}, {"shrinkage": 0.3}, {"shrinkage": 1.0}, {"priors": "uniform"}, {"n_components": 1}):
        model = KernelPCAClassifier(kernel="linear", noise_ratio=0.2, **parameters).fit(X, y)
        assert model.noise_variance_ == pytest.approx(0.2 * within)


# Edges


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_one_row_classes_and_duplicates(rule):
    X = np.array([[0.0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [5, 5], [0, 0]])
    y = np.array([0, 0, 0, 0, 0, 1, 2])
    model = KernelPCAClassifier(**rule).fit(X, y)
    p = model.predict_proba(X)
    assert np.all(np.isfinite(p))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.predict([[5, 5]]).tolist() == [1]


@pytest.mark.parametrize("noise_ratio", [0.0, 0.1])
@pytest.mark.parametrize("shrinkage", [0.0, 0.5, 1.0])
def test_classes_that_are_single_points_go_to_the_nearest(noise_ratio, shrinkage):
    X, y = np.array([[0.0], [0.0], [3.0]]), ["a", "a", "b"]
    model = KernelPCAClassifier(kernel="linear", noise_ratio=noise_ratio, shrinkage=shrinkage).fit(X, y)
    assert model.noise_variance_ == 0
    assert model.predict([[0.9], [2.9]]).tolist() == ["a", "b"]
    assert np.all(np.isfinite(model.predict_proba([[0.9], [2.9]])))


@pytest.mark.parametrize("n_components", [50, [50, 1, 50], None])
@pytest.mark.parametrize("shrinkage", [0.0, 0.5])
def test_more_components_than_rows(data, n_components, shrinkage):
    X, y = data
    model = KernelPCAClassifier(n_components=n_components, noise_ratio=0.0, shrinkage=shrinkage).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.all(model.n_components_ <= (len(X) if shrinkage else [29, 19, 13]))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_one_class_is_always_predicted(data, X_new, rule):
    X, _ = data
    model = KernelPCAClassifier(**rule).fit(X, np.full(len(X), "only"))
    assert set(model.predict(X_new)) == {"only"}
    np.testing.assert_array_equal(model.predict_proba(X_new), np.ones((40, 1)))


def test_ties_of_the_limiting_rule_are_broken_by_the_finer_energy_then_by_the_prior():
    r2 = np.array([[0.0, 1.0, 0.0], [1e-14, 2.0, 0.0], [0.5, 1.0, 0.0]])
    finer = np.array([[5.0, 0.0, 3.0], [4.0, 0.0, 3.0], [0.0, 0.0, 3.0]])
    log_prior = np.log([0.2, 0.3, 0.5])
    assert untied(r2, finer, log_prior, 1e-10).argmin(axis=0).tolist() == [1, 2, 2]
    np.testing.assert_allclose(untied(r2, finer, log_prior, 1e-10), r2, atol=1e-9)


def test_rows_inside_both_subspaces_go_to_the_denser_class():
    """The same points in two classes, of different shares: rule (23) alone would leave them to rounding."""
    points = np.array([[0.0, 0], [1, 0], [0, 1], [3, 3]])
    X = np.concatenate([np.repeat(points, [9, 1, 1, 1], axis=0), np.repeat(points, [1, 1, 1, 9], axis=0)])
    y = np.repeat([0, 1], 12)
    model = KernelPCAClassifier(noise_ratio=0.0, kernel=RBF(0.5)).fit(X, y)
    assert model.predict([[0.0, 0.0], [3.0, 3.0]]).tolist() == [0, 1]
    same = KernelPCAClassifier(noise_ratio=0.0, kernel=RBF(0.5), priors=[0.3, 0.7])
    assert same.fit(np.tile(points, (2, 1)), np.repeat([0, 1], 4)).predict(points).tolist() == [1, 1, 1, 1]


def test_too_many_rows_for_all_components_are_refused():
    X = np.arange(5002.0)[:, None]
    with pytest.raises(ValueError, match="n_components=None needs all eigenvalues"):
        KernelPCAClassifier().fit(X, np.arange(5002) == 0)
    with pytest.raises(ValueError, match="there are 5002 rows"):
        KernelPCAClassifierCV().fit(X, np.arange(5002) == 0)


# Sums over the axes


def test_energies_of_every_q_and_rho_are_those_of_each(data, X_new):
    X, y = data
    subspace = class_subspaces(RBF(0.5), X, np.zeros(len(X), int))[0]
    Y, r2 = subspace.split(X_new)
    q, rho = [0, 1, 5, 1000], [1.0, 0.05, 1e-3, 0.0]
    E = energies(Y, r2, subspace.variances, q, rho)
    assert E.shape == (4, 4, len(X_new))
    for i, noise in enumerate(rho):
        for j, axes in enumerate(q):
            part = subspace[: min(axes, int(np.sum(subspace.variances > noise)))]
            expected = energy(*part.split(X_new), part.variances, noise)
            np.testing.assert_allclose(E[i, j], expected, rtol=1e-9, atol=1e-9)


# Cross-validation


def grid_search(X, y, fold, grid):
    """The same errors, by fitting every setting on every fold."""
    search = GridSearchCV(
        KernelPCAClassifier(calibration=None, solver="exact"), grid, cv=PredefinedSplit(fold), refit=False
    ).fit(X, y)
    scores = zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    return {tuple(map(str, params.values())): 1 - score for params, score in scores}


def test_cross_validation_is_that_of_a_grid_search(data):
    X, y = data
    fold = classifier_cv.stratified_folds(np.unique(y, return_inverse=True)[1], 4, np.random.default_rng(0))
    assert len(y) % 4 == 0  # equal folds: scikit-learn's mean is ours
    grid = {
        "kernel": [RBF(0.5), Linear()],
        "shrinkage": [0.0, 0.4, 1.0],
        "priors": ["empirical", [0.5, 0.2, 0.3]],
        "noise_ratio": [0.1, 1e-3, 0.0],
        "n_components": [None, 0, (1, 2, 3)],
    }
    search = KernelPCAClassifierCV(
        grid["kernel"],
        shrinkages=grid["shrinkage"],
        priors=grid["priors"],
        noise_ratios=grid["noise_ratio"],
        n_components=grid["n_components"],
        cv=PredefinedSplit(fold),
    ).fit(X, y)
    expected = grid_search(X, y, fold, grid)
    results = search.cv_results_
    keys = sorted(grid)
    for i, error in enumerate(search.errors_.ravel()):
        assert error == pytest.approx(expected[tuple(str(results[f"param_{key}"][i]) for key in keys)], abs=1e-12)
    assert search.errors_.min() == pytest.approx(min(expected.values()))


def test_one_decomposition_for_each_kernel_shrinkage_fold_and_class(data, monkeypatch):
    X, y = data
    calls = []
    eigh = held_out._eigh
    monkeypatch.setattr(held_out, "_eigh", lambda A, size: calls.append(len(A)) or eigh(A, size))
    KernelPCAClassifierCV([RBF(0.1), RBF(1.0)], shrinkages=[0.0, 0.5], priors=["empirical", "uniform"]).fit(X, y)
    pooled = 1  # whose axes the shrunk classes are written on
    assert len(calls) == 2 * 5 * (2 * 3 + pooled)


def test_the_best_setting_is_the_first_of_least_error_and_is_refitted(data, X_new):
    X, y = data
    search = KernelPCAClassifierCV(shrinkages=[1.0, 0.0], n_repeats=2, scoring="accuracy", random_state=0).fit(X, y)
    results = search.cv_results_
    best = np.flatnonzero(results["rank_test_score"] == 1)[0]
    assert {key: results[f"param_{key}"][best] for key in search.best_params_} == search.best_params_
    assert results["mean_test_score"][best] == search.best_score_ == results["mean_test_score"].max()
    again = KernelPCAClassifier(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X_new), again.predict_proba(X_new), atol=1e-8)
    assert len(results["rank_test_score"]) == search.errors_.size


def test_components_of_each_class_are_candidates_like_others(data):
    X, y = data
    pairs = [(1, 2, 3), (2, 2, 2), (0, 5, 1)]
    settings = {"noise_ratios": [0.0], "shrinkages": [0.0], "random_state": 0}
    search = KernelPCAClassifierCV([RBF(0.5)], n_components=pairs, **settings).fit(X, y)
    assert search.cv_results_["param_n_components"].tolist() == pairs
    alone = KernelPCAClassifierCV([RBF(0.5)], n_components=2, noise_ratios=[0.0], random_state=0).fit(X, y)
    assert alone.errors_.ravel()[0] == search.errors_.ravel()[1]
    assert search.best_estimator_.n_components_.tolist() == list(search.best_params_["n_components"])


def test_equal_errors_choose_the_first():
    X, y = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]), np.repeat([0, 1], 3)
    kernels = [RBF(0.1), RBF(0.2)]
    for order in (kernels, kernels[::-1]):
        grid = {"noise_ratios": [0.3, 0.1], "n_components": [1, 0], "scoring": "accuracy"}
        search = KernelPCAClassifierCV(order, **grid, cv=3).fit(X, y)
        assert search.errors_.max() == 0
        assert search.best_params_ == {
            "kernel": order[0], "shrinkage": 0.0, "priors": "empirical", "noise_ratio": 0.3, "n_components": 1
        }  # fmt: skip


def test_repeats_average_over_new_folds(data):
    X, y = data
    grid = {"kernels": [RBF(0.5)], "noise_ratios": [0.1, 0.0], "n_components": [None, 1]}
    one, three = (KernelPCAClassifierCV(**grid, n_repeats=n, random_state=0).fit(X, y).errors_ for n in (1, 3))
    again = KernelPCAClassifierCV(**grid, n_repeats=3, random_state=0).fit(X, y).errors_
    assert not np.array_equal(one, three)
    np.testing.assert_array_equal(three, again)
    np.testing.assert_allclose(three * 3 * len(X), np.round(three * 3 * len(X)), atol=1e-9)  # every row counts 3 times


def test_folds_spread_every_class_evenly():
    y = np.repeat([0, 1, 2], [17, 9, 4])
    fold = classifier_cv.stratified_folds(y, 5, np.random.default_rng(0))
    for c in range(3):
        counts = np.bincount(fold[y == c], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert np.ptp(np.bincount(fold)) <= 1


def test_a_class_that_a_fold_does_not_see_is_wrong_there(data):
    X, y = data
    X, y = np.vstack([X, [[50.0, 50.0]]]), np.append(y, "yew")
    grid = {"kernels": [RBF(0.5)], "noise_ratios": [0.1, 0.0], "shrinkages": [0.0, 0.5]}
    search = KernelPCAClassifierCV(**grid, priors=["empirical", [1, 1, 1, 1]], random_state=0).fit(X, y)
    assert np.all(search.errors_ >= 1 / len(X))
    assert search.predict([[50.0, 50.0]]).tolist() == ["yew"]


def test_cross_validation_of_a_precomputed_matrix(data, X_new):
    X, y = data
    grid = {"noise_ratios": [0.1, 0.0], "n_components": [None, 2], "calibration": None, "random_state": 0}
    kernel = RBF(0.5)
    rows = KernelPCAClassifierCV([kernel], **grid).fit(X, y)
    given = KernelPCAClassifierCV([Precomputed(diag=1.0)], **grid).fit(kernel(X, X), y)
    np.testing.assert_allclose(given.errors_, rows.errors_)
    np.testing.assert_allclose(given.predict_proba(kernel(X_new, X)), rows.predict_proba(X_new), atol=1e-8)


def test_mixtures_are_searched_as_they_would_be_fitted(data):
    """On the samples and on their matrix; what a mixture does not have is infinite."""
    order = np.lexsort(data[0].T[::-1])  # in which samples are merged: random starts follow it
    X, y = data[0][order], data[1][order]
    mixtures, kernel = [None, KernelPCAMixture(2, 1, init="kmeans", n_init=1, random_state=0)], RBF(0.5)
    grid = {"noise_ratios": [0.1, 0.01, 0.0], "n_components": [None, 0, (1, 2, 0)], "shrinkages": [0.0, 0.5]}
    cv = [(np.arange(0, len(X), 2), np.arange(1, len(X), 2))]
    settings = {**grid, "cv": cv, "scoring": "neg_log_loss", "calibration": None}
    search = KernelPCAClassifierCV([kernel], densities=mixtures, **settings).fit(X, y)
    assert search.errors_.shape == (1, 2, 1, 3, 3, 2)
    alone = KernelPCAClassifierCV([kernel], **settings).fit(X, y)
    np.testing.assert_array_equal(search.errors_[..., 0], alone.errors_)
    np.testing.assert_array_equal(np.isinf(search.errors_[0, 1, ..., 1]), True)
    np.testing.assert_array_equal(np.isinf(search.errors_[0, 0, 0, 2, :, 1]), True)
    for i, ratio in enumerate(grid["noise_ratios"][:2]):
        for j, q in enumerate(grid["n_components"]):
            model = KernelPCAClassifier(mixtures[1], noise_ratio=ratio, n_components=q, kernel=kernel, calibration=None)
            log_p = model.fit(X[::2], y[::2]).predict_log_proba(X[1::2])
            own = np.take_along_axis(log_p, np.searchsorted(model.classes_, y[1::2])[:, None], axis=1)
            loss = -np.maximum(own, np.log(np.finfo(float).eps)).mean()
            assert search.errors_[0, 0, 0, i, j, 1] == pytest.approx(loss, rel=1e-4)
    given = KernelPCAClassifierCV(["precomputed"], densities=mixtures, **settings).fit(kernel(X, X), y)
    np.testing.assert_allclose(given.errors_, search.errors_, rtol=1e-4)


def test_a_search_finds_classes_of_two_groups(data):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 2)) * 0.5 + c for c in ((-3, 0), (3, 0), (0, 0))])
    y = np.repeat([0, 0, 1], 30)
    mixture = KernelPCAMixture(2, 0, random_state=0, n_init=2)
    grid = {"noise_ratios": [0.05], "n_components": [0], "shrinkages": [0.0], "densities": [None, mixture]}
    search = KernelPCAClassifierCV(["linear"], **grid).fit(X, y)
    assert search.best_params_["density"] is mixture
    assert search.score(X, y) > 0.98
    assert search.cv_results_["param_density"].tolist() == [None, mixture]
    with pytest.raises(ValueError, match="densities must contain"):
        KernelPCAClassifierCV(densities=[ProbabilisticKernelPCA()]).fit(X, y)


def test_without_a_refit_there_is_a_choice_and_no_prediction(data):
    search = KernelPCAClassifierCV([RBF(0.5)], noise_ratios=[0.1], refit=False).fit(*data)
    assert search.best_params_["noise_ratio"] == 0.1
    assert not hasattr(search, "predict")


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"noise_ratios": []}, "no value to try for noise_ratio"),
        ({"kernels": []}, "no value to try for kernel"),
        ({"noise_ratios": [-0.1]}, "noise_ratio"),
        ({"shrinkages": [2.0]}, "shrinkage"),
        ({"priors": ["even"]}, "priors"),
        ({"n_components": [[1, 2]]}, "n_components"),
        ({"cv": 100}, "cv=100 needs"),
        ({"kernels": ["precomputed"]}, "square matrix"),
    ],
    ids=str,
)
def test_grids_that_make_no_sense_are_refused(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelPCAClassifierCV(**parameters).fit(*data)


def test_progress_is_told(data):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich", reason="scikit-learn's progress bar is drawn by rich")
    search = KernelPCAClassifierCV([RBF(0.5)], noise_ratios=[0.1]).set_callbacks(callback.ProgressBar())
    search.fit(*data)


def test_public_names():
    assert mercer.KernelPCAClassifier is KernelPCAClassifier
    assert mercer.KernelPCAClassifierCV is KernelPCAClassifierCV


# Calibration


def overlapping(rng, n):
    """Two normal classes whose posterior probabilities are known, in columns of which most are noise."""
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 8))
    X[:, 0] += 1.5 * y
    return X, y, 1 / (1 + np.exp(-1.5 * (X[:, 0] - 0.75)))


@pytest.mark.parametrize("kind", ["temperature", "vector"])
def test_calibration_brings_probabilities_near_the_true_ones(kind):
    X, y, _ = overlapping(np.random.default_rng(0), 200)
    new, _, p = overlapping(np.random.default_rng(1), 500)
    raw = KernelPCAClassifier(calibration=None).fit(X, y)
    model = KernelPCAClassifier(calibration=kind).fit(X, y)
    error = [np.mean(np.abs(m.predict_proba(new)[:, 1] - p)) for m in (raw, model)]
    assert error[1] < 0.7 * error[0]
    assert raw.temperature_ == 1
    assert not np.any(raw.biases_)
    assert model.temperature_ > 2
    joint = np.column_stack([-raw.decision_function(new) / 2, raw.decision_function(new) / 2]) / model.temperature_
    expected = np.exp(joint + model.biases_)
    np.testing.assert_allclose(model.predict_proba(new), expected / expected.sum(axis=1, keepdims=True))


def test_a_temperature_changes_no_prediction_and_is_never_below_one(data, X_new):
    X, y = data
    for kind in ("temperature", "auto"):  # "auto" of the limiting rule
        raw = KernelPCAClassifier(calibration=None, noise_ratio=0.0, n_components=2).fit(X, y)
        model = clone(raw).set_params(calibration=kind).fit(X, y)
        np.testing.assert_array_equal(model.predict(X_new), raw.predict(X_new))
    apart = np.concatenate([X, X + 100])
    separated = KernelPCAClassifier(calibration="vector").fit(apart, np.repeat([0, 1], len(X)))
    assert separated.temperature_ >= 1  # every held-out row is right
    assert np.all(np.isfinite(separated.biases_))
    assert 0.9 < separated.predict_proba(apart).max(axis=1).min() < 1 - 1e-6  # not surer than the rows allow


def test_the_scale_of_the_limiting_rule_is_found():
    """In units of r², which the limit does not determine, T may be below 1, and is above 0 if every row is right."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    joint, w = 8 * (rng.normal(size=(300, 3)) + np.eye(3)[y]), np.full(300, 1 / 300)
    T = [calibration.scale(s * joint, y, w, 300)[0] for s in (1.0, 1e-3)]
    assert T[0] == pytest.approx(calibration.temperature(joint, y, w, 300)[0], rel=0.05)
    assert T[1] == pytest.approx(1e-3 * T[0], rel=1e-3)
    right, biases = calibration.scale(np.eye(3)[y], y, w, 300)
    assert 0.01 < right < 1
    assert not biases.any()


def test_the_limiting_rule_is_as_sure_as_it_is_right_if_axes_are_nearly_as_many_as_samples():
    """The distances of held-out rows have the unit of the fit on all samples, not that of each fold."""
    X, y = load_digits(return_X_y=True)
    model = KernelPCAClassifier(noise_ratio=0.0, n_components=15).fit(X[:200], y[:200])
    P = model.predict_proba(X[200:800])
    right = model.classes_[P.argmax(axis=1)] == y[200:800]
    assert P.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.07)


def test_the_calibration_minimises_the_loss_with_its_prior():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    joint = 8 * (rng.normal(size=(300, 3)) + np.eye(3)[y]) + [2.0, 0.0, -2.0]
    w = rng.random(300) / 150

    doubt = calibration.doubt_of(300)
    target = np.eye(3)[y] * (1 - doubt) + doubt / 3

    def loss(T, b):
        return b @ b / 600 - w @ np.sum(target * log_softmax(joint / T + b, axis=1), axis=1)

    T, b = calibration.vector(joint, y, w, 300)
    for dT in (0.99, 1.01):
        assert loss(T, b) < loss(T * dT, b)
    for step in 0.01 * np.vstack([np.eye(3), -np.eye(3)]):
        assert loss(T, b) < loss(T, b + step)
    T, b = calibration.temperature(joint, y, w, 300)
    assert not b.any()
    assert loss(T, b) < min(loss(0.99 * T, b), loss(1.01 * T, b))


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "balanced_accuracy", "roc_auc_ovr"])
def test_other_scores_are_those_of_a_grid_search(data, scoring):
    X, y = data
    fold = classifier_cv.stratified_folds(np.unique(y, return_inverse=True)[1], 4, np.random.default_rng(0))
    grid = {"noise_ratio": [0.1, 1e-2], "n_components": [None, 1], "shrinkage": [0.0, 1.0]}
    settings = {"noise_ratios": grid["noise_ratio"], "n_components": grid["n_components"], "scoring": scoring}
    search = KernelPCAClassifierCV([RBF(0.5)], **settings, cv=PredefinedSplit(fold), calibration=None).fit(X, y)
    model = KernelPCAClassifier(kernel=RBF(0.5), calibration=None, solver="exact")
    expected = GridSearchCV(model, grid, cv=PredefinedSplit(fold), scoring=scoring).fit(X, y)
    assert search.best_score_ == pytest.approx(expected.best_score_, abs=1e-9)
    found = sorted(search.cv_results_["mean_test_score"])
    np.testing.assert_allclose(found, sorted(expected.cv_results_["mean_test_score"]), atol=1e-9)


def test_the_limiting_rule_has_no_log_loss_before_calibration(data):
    settings = {"noise_ratios": [0.0, 0.1], "scoring": "neg_log_loss"}
    search = KernelPCAClassifierCV([RBF(0.5)], **settings, calibration=None).fit(*data)
    assert search.best_params_["noise_ratio"] == 0.1
    assert np.all(np.isinf(search.errors_[0, 0, 0, 0]))
    assert np.all(np.isfinite(KernelPCAClassifierCV([RBF(0.5)], **settings).fit(*data).errors_))
    limit = KernelPCAClassifierCV([RBF(0.5)], noise_ratios=[0.0], n_components=[9, 2], calibration=None).fit(*data)
    assert limit.best_score_ == 1 - limit.errors_.min()  # nothing but the error decides


def test_the_default_is_the_least_log_loss_near_the_least_error(data):
    """Probabilities decide between settings whose errors differ by less than two standard errors."""
    X, y = data
    search, sure, right = (
        KernelPCAClassifierCV(scoring=scoring, random_state=0).fit(X, y)
        for scoring in (None, "neg_log_loss", "accuracy")
    )
    np.testing.assert_array_equal(search.errors_, right.errors_)
    e = right.errors_.min()
    near = right.errors_ <= e + 2 * np.sqrt(e * (1 - e) / len(y))
    index = np.unravel_index(np.where(near, sure.errors_, np.inf).argmin(), near.shape)
    assert search.best_params_ == {name: search.grid_[name][i] for name, i in zip(search.grid_, index, strict=True)}
    assert search.best_score_ == 1 - right.errors_[index]


def test_log_losses_of_the_search_are_those_at_the_best_temperature(data):
    X, y = data
    fold = classifier_cv.stratified_folds(np.unique(y, return_inverse=True)[1], 4, np.random.default_rng(0))
    search = KernelPCAClassifierCV(
        [RBF(0.5)], noise_ratios=[1e-4], n_components=[3], cv=PredefinedSplit(fold), scoring="neg_log_loss"
    ).fit(X, y)
    raw = KernelPCAClassifier(n_components=3, kernel=RBF(0.5), noise_ratio=1e-4, calibration=None, solver="exact")
    numbers = np.unique(y, return_inverse=True)[1]
    doubt = calibration.doubt_of(len(y))
    target = (1 - doubt) * np.eye(3)[numbers] + doubt / 3
    joint = cross_val_predict(raw, X, y, cv=PredefinedSplit(fold), method="decision_function")
    losses = [-np.mean(np.sum(target * log_softmax(joint / 2.0**k, axis=1), axis=1)) for k in range(14)]
    assert -search.best_score_ == pytest.approx(min(losses), rel=1e-6)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=2, max_size=60), st.randoms())
@settings(deadline=None, derandomize=True, max_examples=60)
def test_no_held_out_row_is_fitted_on_and_no_class_vanishes(pairs, shuffle):
    x, y = np.array(pairs).T
    y = np.unique(y, return_inverse=True)[1]
    folds, _ = balanced_folds(x[:, None].astype(float), y)
    for fold in {*folds.tolist()} - {-1}:
        held = folds == fold
        assert not {*x[held]} & {*x[~held]}
        assert {*y[~held]} == {*y}
    order = np.array(shuffle.sample(range(len(x)), len(x)))
    more = np.append(order, order[: len(order) // 2])  # in another order, and some of them twice
    again, _ = balanced_folds(x[more, None].astype(float), y[more])
    np.testing.assert_array_equal(again, folds[more])
