"""What a user gets without options: a width that adapts, and warnings that say what to do, once and at their line."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.eigen import Landmarks
from mercer.kernels import RBF

DIGITS = load_digits()
ESTIMATORS = [
    mercer.KernelPCA(3),
    mercer.ProbabilisticKernelPCA(3),
    mercer.SparseKernelPCA(n_anchors=5),
    mercer.KernelPCAMixture(2, 2, n_init=2),
    mercer.KernelPCAClassifier(),
]


def fitted(estimator, X, y):
    return estimator.fit(X, y) if hasattr(estimator, "predict_log_proba") else estimator.fit(X)


def given(estimator, X, y):
    """The warnings of the library that a fit gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted(estimator, X, y)
    return [warning for warning in caught if issubclass(warning.category, mercer.MercerWarning)]


def half(data):
    index = np.random.default_rng(0).permutation(len(data.data))[:800]
    a, b = np.array_split(index, 2)
    return data.data[a], data.target[a], data.data[b], data.target[b]


def test_ten_components_of_raw_digits_hold_more_than_half_of_the_variance():
    assert mercer.KernelPCA(10).fit(DIGITS.data).explained_variance_ratio_.sum() > 0.5


NEAR = 0.03 + 0.01  # three points, and the standard error of the comparison


@pytest.mark.parametrize("load", [load_digits, load_wine, load_breast_cancer])
def test_the_default_classifier_is_near_the_best_width(load):
    X, y = load(return_X_y=True)
    cv = StratifiedShuffleSplit(4, train_size=min(400, len(X) * 3 // 4), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.MercerWarning)
        gamma = mercer.KernelPCAClassifier().fit(X[:1000], y[:1000]).kernel_.gamma
        scores = [
            cross_val_score(mercer.KernelPCAClassifier(kernel=RBF(gamma * 4.0**i)), X, y, cv=cv).mean()
            for i in range(-2, 3)
        ]
    assert scores[2] > max(scores) - NEAR


def test_neighbours_on_two_components_are_as_good_as_with_linear_pca():
    differences = []
    for load in (load_digits, load_wine, load_breast_cancer, load_iris):
        X, y, X_new, y_new = half(load())
        for scale in (make_pipeline(StandardScaler()), make_pipeline("passthrough")):
            a, b = scale.fit_transform(X), scale.transform(X_new)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", mercer.MercerWarning)
                scores = [
                    KNeighborsClassifier(5).fit(m.fit_transform(a), y).score(m.transform(b), y_new)
                    for m in (mercer.KernelPCA(2), PCA(2))
                ]
            differences.append(scores[0] - scores[1])
    assert np.mean(differences) > -0.01


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_every_estimator_warns_of_a_narrow_kernel_once_and_at_the_users_line(estimator):
    X, y = DIGITS.data[:200].copy(), DIGITS.target[:200] % 2
    X[1] = X[0]  # one repeated row does not disarm it
    found = [w for w in given(estimator.set_params(kernel=RBF(1.0)), X, y) if "narrow" in str(w.message)]
    assert len(found) == 1
    assert issubclass(found[0].category, mercer.KernelWidthWarning)
    assert found[0].filename == __file__


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_every_estimator_warns_of_unscaled_columns_by_name(estimator):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(100, 4)) * [1, 1, 1, 1e4], columns=["a", "b", "c", "income"])
    y = (X["a"] > 0).to_numpy().astype(int)
    found = [w for w in given(estimator.set_params(kernel="rbf"), X, y) if w.category is mercer.ColumnScaleWarning]
    assert len(found) == 1
    assert "'income'" in str(found[0].message)
    assert "StandardScaler" in str(found[0].message)
    scaled = StandardScaler().fit_transform(X)
    assert not [w for w in given(estimator, scaled, y) if w.category is mercer.ColumnScaleWarning]


@pytest.mark.parametrize(
    "estimator",
    [
        mercer.KernelPCA(2, solver=Landmarks(10)),
        mercer.ProbabilisticKernelPCA(2, solver=Landmarks(10)),
        mercer.KernelPCAMixture(2, 2, solver=Landmarks(10), n_init=2),
        mercer.KernelPCAClassifier(solver=Landmarks(10)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_variance_outside_the_landmarks_is_said(estimator):
    X = np.random.default_rng(0).normal(size=(200, 6))
    estimator.set_params(kernel=RBF(0.2), random_state=0)
    found = [w for w in given(estimator, X, (X[:, 0] > 0).astype(int)) if w.category is mercer.LandmarkWarning]
    assert len(found) == 1
    assert f"{estimator.solver_.outside_share:.1%}" in str(found[0].message)


def test_one_kind_of_warning_can_be_silenced():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", mercer.KernelWidthWarning)
        mercer.KernelPCA(2, kernel=RBF(1.0)).fit(DIGITS.data[:100])


def test_mixtures_have_the_same_bits_for_any_number_of_threads():
    from threadpoolctl import threadpool_limits

    X = np.random.default_rng(0).normal(size=(300, 5))
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(mercer.KernelPCAMixture(2, 2, n_init=2, random_state=0).fit(X).responsibilities_)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("construct", "words"),
    [
        (
            lambda: mercer.KernelPCA(gamma=1.0),
            ["KernelPCA has no parameter 'gamma'", "kernel=RBF(gamma=…)", "kernel__gamma"],
        ),
        (lambda: mercer.KernelPCAMixture(sigma=1.0), ["no parameter 'sigma'", "RBF.from_sigma(…)"]),
        (lambda: RBF(sigma=2.0), ["RBF has no parameter 'sigma'", ".from_sigma(σ)"]),
        (lambda: mercer.KernelPCA(3, eigen_solver="arpack"), ["no parameter 'eigen_solver'", "solver"]),
    ],
)
def test_a_parameter_that_is_elsewhere_is_pointed_to(construct, words):
    with pytest.raises(TypeError) as raised:
        construct()
    assert all(word in str(raised.value) for word in words)
    assert next(iter(inspect.signature(mercer.KernelPCA).parameters)) == "n_components"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_estimator_says_what_was_done():
    X, y = DIGITS.data[:80, 20:40], DIGITS.target[:80] % 2
    found = [cls for cls in (getattr(mercer, name) for name in mercer.__all__) if hasattr(cls, "fit")]
    assert len(found) > 9
    for cls in found:
        assert str(cls().fit(X, y).solver_), cls
