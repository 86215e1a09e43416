"""Mixtures of kernel PCA densities: what must not matter, what they equal, starts, traps and errors."""

import pickle
import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_estimator_checks import OMITTED
from test_estimator_checks import pytestmark as usual

import mercer
from mercer import KernelPCAMixture, select
from mercer.datasets import three_clusters, two_cs
from mercer.eigen import Exact, Landmarks
from mercer.kernels import RBF, Polynomial, Precomputed, Sigmoid
from mercer.rkhs import FeatureGaussian, principal_subspace
from mercer.rkhs.basis import Coordinates
from mercer.rkhs.em import EMPTY, by_chance, by_kmeans, by_spectrum, em
from mercer.rkhs.mixture import LAPACK_SIDE

pytestmark = [*usual, pytest.mark.filterwarnings("ignore:The clusters have")]

MODELS = [
    KernelPCAMixture(n_init=2),
    KernelPCAMixture(n_init=1, init="random", kernel=RBF(gamma="median"), solver="landmarks", random_state=0),
    KernelPCAMixture(n_components=None, n_init=1, init="kmeans", noise_variance=0.05, kernel=RBF(gamma="median")),
    KernelPCAMixture(n_components=0, n_init=1, kernel=Polynomial(2, gamma="scale", coef0=0.5)),
    KernelPCAMixture(n_components=1, n_parts=2, random_state=0),
]
WIDE = RBF.from_sigma(8.0)


@parametrize_with_checks(MODELS)
@pytest.mark.filterwarnings("ignore:.*clusters are left")
def test_checks_of_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", [name for name in OMITTED if not re.search("transform|names_out", name)])
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_checks_that_check_estimator_omits(estimator, name):
    if not hasattr(estimator_checks, name):
        pytest.skip(f"this scikit-learn has no {name}")
    getattr(estimator_checks, name)(type(estimator).__name__, estimator)


@pytest.fixture
def X():
    return two_cs(0, n=80)[0]


@pytest.fixture
def R():
    return np.random.default_rng(0).dirichlet(np.ones(2), 80)


def mixture(q=2, **options):
    options = {"kernel": WIDE, "random_state": 0, "n_init": 3} | options
    return KernelPCAMixture(options.pop("n_clusters", 2), q, **options)


def assert_equal_models(one, other, X, tol=1e-9):
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X), rtol=tol, atol=tol)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=tol)
    assert one.lower_bound_ == pytest.approx(other.lower_bound_, rel=tol, abs=tol)


# What it equals


@pytest.mark.parametrize("q", [0, 2, 5])
def test_one_cluster_is_a_single_density(X, q):
    model = mixture(q, n_clusters=1).fit(X)
    single = FeatureGaussian.of(principal_subspace(WIDE, X, max(q, 1), solver="exact")[:q], 0.01)
    new = X + 0.3
    np.testing.assert_allclose(model.score_samples(new), -single.energy(new) / 2, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.densities_[0].subspace.variances, single.subspace.variances, rtol=1e-9)
    Y, expected = model.densities_[0].posterior_mean(new), single.posterior_mean(new)
    np.testing.assert_allclose(Y, expected, atol=1e-7)
    assert model.densities_[0].subspace.total_variance == pytest.approx(single.subspace.total_variance, rel=1e-9)


def test_with_all_axes_of_a_linear_kernel_it_is_a_gaussian_mixture():
    """Where every λ > ρ, WWᵀ + ρI is the whole covariance."""
    X, y = make_blobs(150, 3, centers=3, cluster_std=2.5, random_state=0)
    R = 0.7 * np.eye(3)[y] + 0.1
    rho = 0.01
    model = mixture(3, n_clusters=3, noise_variance=rho, kernel="linear", init=R, tol=1e-13, max_iter=5000).fit(X)
    s = R / R.sum(axis=0)
    means = s.T @ X
    precisions = [np.linalg.inv((s[:, i] * (X - means[i]).T) @ (X - means[i])) for i in range(3)]
    options = {"weights_init": R.mean(axis=0), "means_init": means, "precisions_init": precisions}
    theirs = GaussianMixture(3, reg_covar=0.0, tol=1e-13, max_iter=5000, **options).fit(X)
    np.testing.assert_allclose(model.weights_, theirs.weights_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    constant = 3 / 2 * np.log(2 * np.pi * rho)
    np.testing.assert_allclose(model.score_samples(X) - constant, theirs.score_samples(X), atol=1e-4)


def test_landmarks_that_are_all_rows_change_nothing(X, R):
    whole, landmarks = (mixture(init=R, solver=solver).fit(X) for solver in ("exact", Landmarks(n=80)))
    assert_equal_models(whole, landmarks, X + 0.1, tol=1e-6)
    assert landmarks.densities_[0].subspace.report.solver == Landmarks(n=80)


def test_few_landmarks_come_near():
    X, y = two_cs(1, n=1500)
    model = mixture(solver=Landmarks(n=30), n_init=4).fit(X)
    assert model.densities_[0].subspace.Z.shape == (30, 2)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.score(X) == pytest.approx(model.lower_bound_, abs=1e-6)


def test_a_precomputed_matrix_is_the_kernel(X, R):
    ours = mixture(init=R).fit(X)
    K = WIDE(X, X)
    given = mixture(init=R, kernel=Precomputed(diag=1.0)).fit(K)
    np.testing.assert_allclose(given.responsibilities_, ours.responsibilities_, atol=1e-9)
    new = X[:10] + 0.2
    np.testing.assert_allclose(given.predict_proba(WIDE(new, X)), ours.predict_proba(new), atol=1e-9)
    with pytest.raises(ValueError, match="diag"):
        mixture(init=R, kernel="precomputed").fit(K).predict(WIDE(new, X))


def test_sparse_rows_are_rows(X, R):
    X = np.where(np.abs(X) < 2, 0, X)
    dense, sparse = mixture(init=R).fit(X), mixture(init=R).fit(csr_array(X))
    np.testing.assert_allclose(sparse.responsibilities_, dense.responsibilities_, atol=1e-7)
    np.testing.assert_allclose(sparse.score_samples(csr_array(X)), dense.score_samples(X), atol=1e-7)


# What must not matter


@pytest.mark.parametrize("solver", ["exact", "landmarks"])
def test_neither_order_nor_repetition_matters(X, solver):
    """Nor the difference between a row that stands three times and a row of weight 3, whatever the starts are."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, len(X))
    repeated = rng.permutation(np.repeat(X, counts, axis=0))
    by_weight = mixture(solver=solver).fit(X, sample_weight=counts)
    by_count = mixture(solver=solver).fit(repeated)
    assert_equal_models(by_weight, by_count, X, tol=1e-12)
    np.testing.assert_allclose(by_weight.responsibilities_, by_count.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("working_memory", [1e-3, 1024])
def test_tiles_do_not_matter(X, R, working_memory):
    expected = mixture(init=R).fit(X)
    with config_context(working_memory=working_memory):
        model = mixture(init=R).fit(X)
        assert_equal_models(model, expected, X)


def test_far_rows_keep_their_digits(X, R):
    near, far = mixture(init=R).fit(X), mixture(init=R).fit(X + 1e6)
    np.testing.assert_allclose(far.responsibilities_, near.responsibilities_, atol=1e-6)


def test_the_fitted_responsibilities_are_those_predicted(X):
    for options in ({}, {"solver": "landmarks"}, {"n_clusters": 4, "q": 1}, {"kernel": RBF(gamma=2.0)}):
        model = mixture(**options).fit(X)
        np.testing.assert_allclose(model.predict_proba(X), model.responsibilities_, atol=1e-9)
        np.testing.assert_allclose(model.responsibilities_.sum(axis=1), 1)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(clone(model).fit_predict(X), model.labels_)
        assert model.score(X) == pytest.approx(model.lower_bound_, rel=1e-9)


def test_single_precision_comes_back(X):
    model, double = mixture().fit(X.astype(np.float32)), mixture().fit(X)
    assert model.responsibilities_.dtype == model.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert model.sample(3)[0].dtype == np.float32
    assert model.score_samples(X.astype(np.float32)).dtype == np.float64
    np.testing.assert_allclose(model.predict_proba(X), double.predict_proba(X), atol=1e-4)
    assert model.lower_bound_ == pytest.approx(double.lower_bound_, rel=1e-5)


def test_the_callers_arrays_are_left_alone(X, R):
    X.flags.writeable = R.flags.writeable = False
    model = mixture(init=R).fit(X)
    anchors = model.densities_[0].subspace.Z
    assert not np.shares_memory(anchors, X)


# Starts


@pytest.mark.parametrize("start", [by_chance, by_kmeans])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_starts_are_responsibilities(X, start, k):
    w = np.full(len(X), 1 / len(X))
    factor = Coordinates.of(WIDE, X, Exact())
    R = start(factor, k, w, np.random.default_rng(0))
    assert R.shape == (len(X), k)
    np.testing.assert_allclose(R.sum(axis=1), 1)
    assert R.min() >= 0
    np.testing.assert_array_equal(R, start(factor, k, w, np.random.default_rng(0)))


def test_kernel_kmeans_ends_where_every_row_is_nearest_to_its_own_mean(X):
    rng = np.random.default_rng(1)
    w = rng.uniform(0.5, 2, len(X))
    w /= w.sum()
    R = by_kmeans(Coordinates.of(WIDE, X, Exact()), 3, w, rng)
    K, s = WIDE(X, X), w[:, None] * R / (w @ R)
    distances = np.diagonal(K)[:, None] - 2 * K @ s + np.sum(s * (K @ s), axis=0)
    np.testing.assert_array_equal(distances.argmin(axis=1), R.argmax(axis=1))


def test_far_groups_are_all_found_by_kmeans():
    X, y = make_blobs(120, centers=[(0, 0), (20, 0), (0, 20), (20, 20)], cluster_std=0.5, random_state=0)
    factor = Coordinates.of(RBF(gamma=0.1), X, Exact())
    w = np.full(len(X), 1 / len(X))
    for seed in range(5):
        R = by_kmeans(factor, 4, w, np.random.default_rng(seed))
        assert adjusted_rand_score(y, R.argmax(axis=1)) == 1


def test_outlying_rows_are_no_clusters():
    X, y = make_blobs(150, 4, centers=3, random_state=0)
    far = np.random.default_rng(0).normal(size=(4, 4)) * 60
    labels = KernelPCAMixture(3, random_state=0).fit(np.r_[X, far]).labels_
    assert adjusted_rand_score(y, labels[:150]) > 0.9


def test_the_best_start_is_kept():
    X, _ = two_cs(3, n=100)
    bounds = [mixture(init="random", n_init=1, random_state=seed).fit(X).lower_bound_ for seed in range(6)]
    assert np.ptp(bounds) > 1e-3
    for options in ({"init": "random"}, {}):
        few, many = (mixture(n_init=n, **options).fit(X).lower_bound_ for n in (1, 8))
        assert many >= few  # the first start is the same
    assert mixture(n_init=8).fit(X).lower_bound_ >= max(bounds) - 1e-6


def test_given_responsibilities_are_the_start(X):
    y = two_cs(0, n=80)[1]
    model = mixture(init=np.eye(2)[y] * 7.0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    swapped = mixture(init=np.eye(2)[1 - y]).fit(X)
    np.testing.assert_array_equal(swapped.labels_, 1 - model.labels_)


def test_em_ends_at_a_fixed_point_and_says_so(X):
    model = mixture(tol=1e-12, max_iter=2000).fit(X)
    assert model.converged_
    assert model.n_iter_ == len(model.lower_bounds_)
    assert model.lower_bounds_[-1] == model.lower_bound_
    again = mixture(init=model.responsibilities_, tol=1e-12).fit(X)
    assert again.n_iter_ <= 3
    np.testing.assert_allclose(again.responsibilities_, model.responsibilities_, atol=1e-6)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        assert not mixture(max_iter=1).fit(X).converged_


def test_axes_refined_from_those_before_are_the_best_ones(monkeypatch):
    """Many coordinates: EM ends where it does with all axes found anew in every iteration, and never goes back."""
    X = np.random.default_rng(0).normal(size=(320, 8))
    X[:160, 0] += 4
    settings = {"n_components": [2, 1], "init": "kmeans", "n_init": 1, "tol": 0.0, "max_iter": 500, "random_state": 0}
    refined = KernelPCAMixture(2, **settings).fit(X)
    assert len(X) > LAPACK_SIDE
    assert refined.n_iter_ > 5
    monkeypatch.setattr("mercer.rkhs.mixture.LAPACK_SIDE", np.inf)
    anew = KernelPCAMixture(2, **settings).fit(X)
    assert refined.n_components_.tolist() == anew.n_components_.tolist() == [2, 1]
    assert np.diff(refined.lower_bounds_).min() > -1e-12
    np.testing.assert_allclose(refined.responsibilities_, anew.responsibilities_, atol=1e-6)
    assert_equal_models(refined, anew, X, tol=1e-6)
    for one, other in zip(refined.densities_, anew.densities_, strict=True):
        np.testing.assert_allclose(one.subspace.variances, other.subspace.variances, rtol=1e-8)


def test_axes_are_given_to_each_cluster_by_its_number(X):
    y = two_cs(0, n=80)[1]
    model = mixture([1, 2], init=np.eye(2)[y]).fit(X)
    np.testing.assert_array_equal(model.n_components_, [1, 2])
    every = mixture(None, init=np.eye(2)[y], noise_variance=1e-4).fit(X)
    for density, r in zip(every.densities_, every.responsibilities_.T, strict=True):
        own = r > 1e-9
        lam = principal_subspace(WIDE, X[own], weights=r[own] / r[own].sum(), solver="exact").variances
        assert len(density.subspace.variances) == np.sum(lam > 1e-4) > 2


# Clusters of several Gaussians


@pytest.fixture
def bent():
    """Two arcs, each of which one Gaussian in the features of a narrow kernel does not follow."""
    return make_moons(120, noise=0.05, random_state=0)


def test_a_cluster_is_the_sum_of_its_parts(bent):
    X, y = bent
    model = KernelPCAMixture(2, 1, n_parts=3, random_state=0).fit(X)
    assert [part.cluster for part in model.parts_] == [0, 0, 0, 1, 1, 1]
    assert sum(part.weight for part in model.parts_) == pytest.approx(1)
    terms = [part.weight * np.exp(-part.density.energy(X) / 2) for part in model.parts_]
    sums = np.column_stack([np.sum(terms[:3], axis=0), np.sum(terms[3:], axis=0)])
    np.testing.assert_allclose(model.predict_proba(X), sums / sums.sum(axis=1, keepdims=True), atol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), np.log(sums.sum(axis=1)), rtol=1e-9)
    np.testing.assert_allclose(model.weights_, model.responsibilities_.mean(axis=0), atol=1e-4)
    np.testing.assert_allclose(model.responsibilities_, model.predict_proba(X), atol=1e-9)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert adjusted_rand_score(y, model.predict(X)) == 1
    assert model.densities_ == [part.density for part in model.parts_]
    drawn, labels = model.sample(60)
    assert set(labels) == {0, 1}
    assert np.mean(model.predict(drawn) == labels) > 0.9


def test_more_parts_describe_bent_clusters_better(bent):
    X, _ = bent
    kernel = RBF(gamma=2.0)
    scores = [KernelPCAMixture(2, 1, kernel=kernel, n_parts=p, random_state=0).fit(X).score(X) for p in (1, 2, 4)]
    assert np.all(np.diff(scores) > 0)


def test_given_parts_are_the_start(X, R):
    """With a column for each Gaussian, EM is that of as many clusters."""
    R = np.random.default_rng(0).dirichlet(np.ones(4), len(X))
    flat, parted = mixture(n_clusters=4, init=R).fit(X), mixture(n_parts=2, init=R).fit(X)
    sums = flat.responsibilities_ @ np.kron(np.eye(2), np.ones((2, 1)))
    np.testing.assert_allclose(parted.responsibilities_, sums, atol=1e-12)
    assert parted.lower_bound_ == flat.lower_bound_
    with pytest.raises(ValueError, match=r"\(80, 2\) or \(80, 4\)"):
        mixture(n_parts=2, init=R[:, :3]).fit(X)


def test_a_part_without_rows_is_dropped_without_a_warning():
    X = np.r_[two_cs(0, n=60)[0], [[40.0, 40.0]]]
    init = np.eye(2)[np.r_[np.zeros(60, int), 1]]
    model = mixture(1, n_parts=2, init=init).fit(X)
    assert [part.cluster for part in model.parts_] == [0, 0, 1]
    np.testing.assert_array_equal(model.labels_, init[:, 1])


# Components without rows


@pytest.fixture
def losing(X):
    """Responsibilities of the two Cs, and of a third cluster that is next to nothing and loses even that."""
    y = two_cs(0, n=80)[1]
    return np.column_stack([np.eye(2)[y], np.full(len(X), 2e-10)])


def test_a_component_that_lost_its_rows_gets_the_one_that_is_explained_worst(X, losing):
    w = np.full(len(X), 1 / len(X))
    steps = em(Coordinates.of(WIDE, X, Exact()), losing, (2, 2, 2), 0.01, w)
    first, second = next(steps), next(steps)
    assert (w @ first.R)[2] < EMPTY
    assert second.filled
    np.testing.assert_allclose(second.components[2].w, np.arange(len(X)) == first.log_p.argmin(), atol=1e-6)
    model = mixture(n_clusters=3, init=losing).fit(X)
    assert model.weights_.min() > 1 / len(X) / 2


def test_a_component_without_a_row_from_the_start_gets_one(X):
    y = two_cs(0, n=80)[1]
    model = mixture(n_clusters=3, init=np.eye(3)[y]).fit(X)
    assert len(model.weights_) == 3
    assert model.lower_bound_ > mixture(init=np.eye(2)[y]).fit(X).lower_bound_


def test_a_component_that_loses_its_last_row_is_dropped_with_a_warning(X, losing):
    """The row that is explained worst has next to no weight."""
    X, losing = np.vstack([X, [[30.0, 0.0]]]), np.vstack([losing, [[0.5, 0.5, 2e-10]]])
    weights = np.append(np.ones(80), 1e-11)
    with pytest.warns(UserWarning, match="2 of n_clusters=3 clusters are left"):
        model = mixture(n_clusters=3, init=losing).fit(X, sample_weight=weights)
    assert model.predict_proba(X).shape == (81, 2)
    two = mixture(init=losing[:, :2]).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(X), two.predict_proba(X), atol=1e-4)


# Traps


TRAPS = {
    "underflow": ({"noise_variance": 1e-5}, lambda X: X),
    "no noise to speak of": ({"noise_variance": 1e-12, "q": None}, lambda X: X),
    "far and few": ({"noise_variance": 1e-5, "kernel": RBF(gamma=100.0)}, lambda X: X),
    "all noise": ({"noise_variance": 100.0}, lambda X: X),
    "duplicates": ({}, lambda X: np.repeat(X[:5], 9, axis=0)),
    "constant": ({"n_clusters": 1}, lambda X: np.ones((7, 2))),
    "more axes than rows": ({"q": 50}, lambda X: X[:6]),
    "one cluster": ({"n_clusters": 1}, lambda X: X),
    "a cluster for each row": ({"n_clusters": 6}, lambda X: X[:6]),
    "one row": ({"n_clusters": 1}, lambda X: X[:1]),
    "two rows": ({}, lambda X: X[:2]),
    "a row far off": ({"n_clusters": 3}, lambda X: np.vstack([X, [[1e6, 1e6]]])),
    "all alike": ({"kernel": RBF(gamma=0.0)}, lambda X: X),
    "all unlike": ({"kernel": RBF(gamma=1e6)}, lambda X: X),
    "indefinite": ({"kernel": Sigmoid(gamma=0.1, coef0=-1.0), "noise_variance": 0.05}, lambda X: X),
}


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("solver", ["exact", "landmarks"])
def test_traps_give_defined_results(X, trap, solver):
    options, rows = TRAPS[trap]
    X = rows(X)
    model = mixture(**options, solver=solver).fit(X)
    for P in (model.responsibilities_, model.predict_proba(X), model.predict_proba(X + 1e3)):
        assert np.all(np.isfinite(P))
        np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.all(np.isfinite(model.score_samples(X)))
    assert model.weights_.sum() == pytest.approx(1)
    assert np.all(np.isfinite(model.sample(4)[0]))


@pytest.mark.parametrize("init", ["auto", "random", "kmeans"])
def test_more_clusters_than_rows_are_as_many_as_rows(X, init):
    with pytest.warns(UserWarning, match="3 of n_clusters=7 clusters are left"):
        model = mixture(n_clusters=7, init=init).fit(X[:3])
    assert model.responsibilities_.shape == (3, 3)


def test_axes_below_the_noise_are_left_out_with_a_warning(X):
    with pytest.warns(UserWarning, match=r"have \[\d, \d\] of \[9, 9\] components.*noise_variance=0.01"):
        model = mixture(9).fit(X)
    for density in model.densities_:
        assert np.all(density.subspace.variances > 0.01)


# Rows drawn, models kept


def test_samples_look_like_the_clusters_they_come_from():
    X, y = two_cs(0)
    model = mixture(noise_variance=0.001).fit(X)
    drawn, labels = model.sample(200)
    assert drawn.shape == (200, 2)
    assert np.all(np.diff(labels) >= 0)
    assert np.mean(model.predict(drawn) == labels) > 0.9
    nearest = np.sqrt(np.min(np.sum((drawn[:, None] - X) ** 2, axis=2), axis=1))
    assert np.median(nearest) < 1
    np.testing.assert_array_equal(drawn, model.sample(200)[0])
    np.testing.assert_array_equal(np.bincount(labels, minlength=2).sum(), 200)


def test_other_preimages_serve_samples_too(X):
    for method in ("smoother", "gradient"):
        assert np.all(np.isfinite(mixture(preimage=method).fit(X).sample(5)[0]))


def test_a_compressed_mixture_is_the_same_on_few_anchors(X):
    model = mixture().fit(X)
    small = mercer.compress(model, 30)
    assert small.densities_[0].subspace.Z.shape == (30, 2)
    np.testing.assert_allclose(small.predict_proba(X), model.predict_proba(X), atol=1e-3)


def test_models_survive_pickling_and_parameters_by_name(X):
    model = mixture().fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    assert KernelPCAMixture().set_params(kernel__gamma=2.0).kernel == RBF(gamma=2.0)


def test_a_grid_search_compares_likelihoods(X):
    search = GridSearchCV(mixture(n_init=1), {"n_components": [0, 1, 2]}, cv=2).fit(X)
    assert search.best_params_ == {"n_components": 2}


def test_callbacks_hear_of_each_start(X):
    callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")
    heard = []

    class Listener:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            heard.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

    assert isinstance(Listener(), callback.FitCallback)
    mixture(n_init=5).set_callbacks(Listener()).fit(X)
    start = heard.index("starts of EM")
    assert heard[start + 1 :].count("tiles") >= 5


def test_a_failed_fit_leaves_the_model_as_it_was(X):
    model = mixture().fit(X)
    before = model.score_samples(X)
    with pytest.raises(ValueError):
        model.fit(X * np.nan)
    np.testing.assert_array_equal(model.score_samples(X), before)


# Errors


@pytest.mark.parametrize(
    "options, match",
    [
        ({"n_components": [1, 2, 3]}, "one such number for each of the 2 clusters"),
        ({"n_components": [1, -1]}, "integer ≥ 0"),
        ({"init": np.ones((80, 3))}, r"of shape \(80, 2\)"),
        ({"init": -np.ones((80, 2))}, "numbers ≥ 0"),
        ({"init": np.zeros((80, 2))}, "a positive sum in every row"),
        ({"solver": "lanczos"}, "solver"),
        ({"noise_variance": 0}, "noise_variance"),
    ],
)
def test_what_cannot_be_is_refused(X, options, match):
    with pytest.raises(ValueError, match=match):
        KernelPCAMixture(2, **options).fit(X)


def test_what_is_not_there_yet_is_refused(X):
    with pytest.raises(NotFittedError):
        mixture().predict(X)
    with pytest.raises(ValueError, match="n_samples must be an integer"):
        mixture().fit(X).sample(0)


def test_a_gram_matrix_that_does_not_fit_is_refused(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 2))
    monkeypatch.setattr("mercer._core.memory.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match="landmarks"):
        mixture(solver="exact").fit(X)


# The number of clusters


def test_the_table_of_clusters_chooses_three():
    X = three_clusters(0)
    model = KernelPCAMixture(n_components=2, kernel=RBF(gamma=10.0), n_init=2, random_state=0)
    choice = select.n_clusters(model, X, range(1, 5), rule="bic")
    assert choice.best == select.n_clusters(model, X, [3, 4], rule="icl").best == 3
    assert choice.estimator.n_clusters == len(choice.estimator.weights_) == 3
    likelihoods = [row.log_likelihood for row in choice.table.values()]
    assert np.all(np.diff(likelihoods) > 0)
    lines = str(choice).splitlines()
    assert len(lines) == 5
    assert [line.endswith("best") for line in lines[1:]] == [False, False, True, False]


def test_scores_are_those_of_their_definitions():
    X = three_clusters(0)
    kernel, rho = RBF(gamma=2.0), 0.01
    model = KernelPCAMixture(n_components=1, kernel=kernel, noise_variance=rho, n_init=2, random_state=0)
    row = select.n_clusters(model, X, [2], rule="bic").table[2]
    D = int(np.sum(principal_subspace(kernel, X, solver="exact").variances > rho))
    fitted = clone(model).set_params(n_clusters=2).fit(X)
    L, R = fitted.score_samples(X).sum(), fitted.responsibilities_
    assert row.n_parameters == 1 + 2 * (D + D)
    assert row.log_likelihood == pytest.approx(L, rel=1e-9)
    assert row.bic == pytest.approx(-2 * L + row.n_parameters * np.log(len(X)), rel=1e-9)
    assert row.icl == pytest.approx(row.bic - 2 * np.sum(R * np.log(np.maximum(R, 1e-300))), rel=1e-9)


@pytest.mark.parametrize("options", [{"n_components": [1, 2]}, {"init": np.ones((90, 2))}])
def test_numbers_of_clusters_are_compared_on_equal_terms(options):
    with pytest.raises(ValueError, match="for one number of clusters"):
        select.n_clusters(KernelPCAMixture(**options), three_clusters(0), rule="bic")
    with pytest.raises(ValueError, match="rule='aic'"):
        select.n_clusters(KernelPCAMixture(), three_clusters(0), rule="aic")


# Starts and widths from neighbours


def nested(seed, n=300):
    """Two circles, and two half moons: clusters that no Gaussian in the plane describes."""
    circles = make_circles(n, noise=0.05, factor=0.5, random_state=seed)
    return [circles, make_moons(n, noise=0.05, random_state=seed)]


@pytest.mark.parametrize("seed", range(2))
def test_circles_and_moons_come_apart_without_a_width(seed):
    for X, y in nested(seed):
        mixture = KernelPCAMixture(2, random_state=0).fit(X)
        assert adjusted_rand_score(y, mixture.labels_) > 0.95
        assert mixture.kernel_.gamma == pytest.approx(RBF("local").bind(X).gamma)


def test_the_local_width_is_a_quarter_over_the_distance_to_the_tenth_neighbour():
    X = np.random.default_rng(0).normal(size=(60, 3))
    t = np.sort(((X[:, None] - X) ** 2).sum(axis=2), axis=1)[:, 10]
    assert RBF("local").bind(X).gamma == pytest.approx(1 / (4 * np.sort(t)[29]))
    repeated = np.repeat(X, 3, axis=0)
    assert RBF("local").bind(repeated).gamma == pytest.approx(RBF("local").bind(X).gamma)


@pytest.mark.parametrize("solver", ["exact", Landmarks(n=200)], ids=str)
def test_the_spectral_start_finds_nested_clusters_with_any_kernel(solver):
    X, y = nested(0)[0]
    for kernel in (RBF("local"), RBF("median"), Polynomial(2, gamma="scale")):
        w = np.full(len(X), 1 / len(X))
        coordinates = Coordinates.of(kernel.bind(X), X, Exact() if solver == "exact" else solver, weights=w, q=4,
                                     rng=np.random.default_rng(0))  # fmt: skip
        R = by_spectrum(X, coordinates, 2, w, np.random.default_rng(0))
        assert set(R.ravel()) == {0.0, 1.0}
        if kernel.distance is not None:
            assert adjusted_rand_score(y, R.argmax(axis=1)) > 0.9


def test_numbers_of_clusters_by_density():
    """Clusters of any shape are counted, and noise has one."""
    model = KernelPCAMixture(random_state=0)
    for X, y in [*nested(0), two_cs(0), (three_clusters(0), range(3))]:
        choice = select.n_clusters(model, X)
        assert choice.best == len(set(y))
        assert len(choice.estimator.weights_) == choice.best
        assert choice.stability > 0.8
        assert sum(choice.table.values()) == pytest.approx(1)
    noise = select.n_clusters(model, np.random.default_rng(0).random((200, 3)))
    assert noise.best == 1
    assert "no evidence for more than one" in str(noise)
