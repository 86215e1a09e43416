"""Probabilistic kernel PCA as an estimator: noise, uncertainty, samples, traps, and choices by likelihood."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_estimator_checks import OMITTED, takes_tables

from mercer import KernelPCA, ProbabilisticKernelPCA, compress, datasets, select
from mercer._core import registry
from mercer.eigen import Exact, Landmarks
from mercer.kernels import RBF, Linear, Polynomial, Precomputed
from mercer.preimage import Smoother
from mercer.rkhs import FeatureGaussian, Primal, principal_subspace

QUADRATIC = Polynomial(degree=2, gamma=1.0, coef0=1.0)
SOLVERS = ["auto", "em", *registry.SOLVERS]

# What the data of scikit-learn's checks reach: both ends of a kernel's width, and of the noise.
CHECKED = [
    pytest.mark.filterwarnings(f"ignore:{message}")
    for message in (
        "The data are constant in feature space",
        "The kernel is too narrow for these data",
        "The kernel matrix is indefinite",
        "The components hold all variance",
        "The last component has hardly more variance",
        "The noise variance .* is not below",
        ".* components have no more variance than the noise",
        "solver='em' has not converged",
        "X does not have valid feature names",
        "X has feature names, but",
        "Can't check dok sparse matrix",
    )
]

MODELS = [
    ProbabilisticKernelPCA(),
    ProbabilisticKernelPCA(noise_variance=0.01),
    ProbabilisticKernelPCA(0.5, noise_variance=0.0),
    *(ProbabilisticKernelPCA(2, solver=name, random_state=0) for name in ("auto", *registry.SOLVERS)),
    ProbabilisticKernelPCA(2, kernel="linear", solver="em", tol=1e-11, max_iter=100, random_state=0),
    ProbabilisticKernelPCA(2, noise_variance="paper", center=False),
    ProbabilisticKernelPCA(2, kernel="linear", noise_variance="mle"),
    ProbabilisticKernelPCA(2, kernel="precomputed"),
]


def with_filters(test):
    for mark in CHECKED:
        test = mark(test)
    return test


def expected_failures(estimator):
    """Parts of a precomputed matrix are new rows, which carry no k(x, x): without it they have no score."""
    names = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")
    return {} if takes_tables(estimator) else dict.fromkeys(names, "rows of a precomputed matrix carry no k(x, x)")


@with_filters
@parametrize_with_checks(MODELS, expected_failed_checks=expected_failures)
def test_checks_of_check_estimator(estimator, check):
    check(estimator)


@with_filters
@pytest.mark.parametrize("name", OMITTED)
@pytest.mark.parametrize("estimator", [*filter(takes_tables, MODELS)], ids=repr)
def test_checks_that_check_estimator_omits(estimator, name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check(type(estimator).__name__, estimator)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(130, 4)) * [1.6, 1.2, 0.9, 0.6]


def fitted(X, q=3, **parameters):
    parameters = {"noise_variance": 0.01, "kernel": RBF(0.1), "random_state": 0} | parameters
    return ProbabilisticKernelPCA(q, **parameters).fit(X)


# Every solver, weights, precision


@pytest.mark.parametrize("noise", ["mle", 0.01, 0])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("solver", [*registry.SOLVERS, "em", Landmarks(n=130)], ids=str)
def test_the_solver_does_not_matter(X, X_new, solver, center, noise, same_up_to_sign):
    settings = {"noise_variance": noise, "center": center, "tol": 1e-9}
    model, exact = fitted(X, solver=solver, **settings), fitted(X, solver="exact", **settings)
    assert model.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-6)
    same_up_to_sign(model.transform(X_new), exact.transform(X_new), 1e-4)
    np.testing.assert_allclose(model.score_samples(X_new), exact.score_samples(X_new), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.posterior_variance_, exact.posterior_variance_, rtol=1e-5)
    assert model.n_iter_ >= 1


@pytest.mark.parametrize("noise", ["mle", "paper", 0.01])
@pytest.mark.parametrize("solver", ["exact", "landmarks"])
def test_a_row_that_stands_twice_is_a_row_of_double_weight(X, X_new, solver, noise):
    counts = 1 + np.arange(len(X)) % 3
    weighted = ProbabilisticKernelPCA(3, noise_variance=noise, kernel=RBF(0.1), solver=solver).fit(
        X, sample_weight=counts
    )
    repeated = fitted(np.repeat(X, counts, axis=0), noise_variance=noise, solver=solver)
    assert weighted.noise_variance_ == pytest.approx(repeated.noise_variance_, rel=1e-9)
    np.testing.assert_allclose(weighted.transform(X_new), repeated.transform(X_new), atol=1e-8)
    np.testing.assert_allclose(weighted.score_samples(X_new), repeated.score_samples(X_new), rtol=1e-8)


@pytest.mark.parametrize("kernel", [RBF(0.1), Linear(), QUADRATIC], ids=repr)
@pytest.mark.parametrize("solver", ["auto", "landmarks"])
def test_noise_by_maximum_likelihood_knows_no_unit_of_weights_and_no_copies(X, kernel, solver):
    X = X[:100]
    model = ProbabilisticKernelPCA(2, kernel=kernel, solver=solver, random_state=0)
    rho = model.fit(X).noise_variance_
    assert model.fit(X, sample_weight=np.full(len(X), 7.0)).noise_variance_ == pytest.approx(rho, rel=1e-9)
    assert model.fit(np.repeat(X, 8, axis=0)).noise_variance_ == pytest.approx(rho, rel=1e-6)


def test_weights_that_sum_to_less_than_the_components_leave_no_dimension_for_the_noise(X):
    with pytest.warns(UserWarning, match="hold all variance"):
        model = fitted(X, noise_variance="paper").fit(X, sample_weight=np.full(len(X), 1 / len(X)))
    assert model.noise_variance_ == 0
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("noise", ["mle", 0.01, 0])
@pytest.mark.parametrize("kernel", [RBF(0.1), Linear(), QUADRATIC], ids=repr)
def test_single_precision_is_near_double_precision(X, X_new, kernel, noise):
    single = fitted(X.astype(np.float32), kernel=kernel, noise_variance=noise)
    double = fitted(X, kernel=kernel, noise_variance=noise)
    H = single.transform(X_new.astype(np.float32))
    assert H.dtype == np.float32
    np.testing.assert_allclose(H, double.transform(X_new), atol=1e-3)
    scores = single.score_samples(X_new.astype(np.float32))
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, double.score_samples(X_new), rtol=1e-3, atol=1e-4 * double.total_variance_)
    assert single.inverse_transform(H).dtype == np.float32
    assert single.sample(3)[0].dtype == np.float32


def test_training_rows_are_read_off_the_eigenvectors(X):
    model = ProbabilisticKernelPCA(3, noise_variance=0.01, kernel=RBF(0.1), solver="exact")
    np.testing.assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-9)


def test_a_precomputed_matrix_is_the_kernel(X, X_new):
    kernel, rows = RBF(0.1), fitted(X)
    matrix = fitted(kernel(X, X), kernel=Precomputed(diag=1.0), preimage=Smoother(rows=X))
    np.testing.assert_allclose(matrix.transform(kernel(X_new, X)), rows.transform(X_new), atol=1e-8)
    np.testing.assert_allclose(matrix.score_samples(kernel(X_new, X)), rows.score_samples(X_new), rtol=1e-8)
    assert matrix.sample(4)[0].shape == (4, 4)
    with pytest.raises(ValueError, match="does not contain the rows"):
        fitted(kernel(X, X), kernel="precomputed").sample(1)


# The linear kernel is scikit-learn's probabilistic PCA


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_the_linear_kernel_is_probabilistic_pca(X, X_new, solver, q):
    """Covariances of scikit-learn have the divisor n − 1."""
    n, d = X.shape
    ratio = n / (n - 1)
    pca = PCA(q).fit(X)
    model = fitted(X, q, kernel="linear", noise_variance="mle", solver=solver)
    assert ratio * model.noise_variance_ == pytest.approx(pca.noise_variance_, rel=1e-10)
    np.testing.assert_allclose(ratio * model.get_covariance(), pca.get_covariance(), atol=1e-10)
    log_det = np.sum(np.log(model.explained_variance_ / model.noise_variance_))
    scores = -(model.mahalanobis(X_new) / ratio + log_det) / 2
    constant = d / 2 * np.log(2 * np.pi * ratio * model.noise_variance_)
    np.testing.assert_allclose(scores - constant, pca.score_samples(X_new), rtol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(np.zeros((1, q))), [pca.mean_], atol=1e-10)


def test_there_is_a_covariance_matrix_where_the_map_is_finite(X):
    assert fitted(X, kernel=QUADRATIC).get_covariance().shape == (15, 15)
    assert not hasattr(fitted(X), "get_covariance")


# Noise, and how many components


def test_noise_by_maximum_likelihood(X):
    lam = KernelPCA(kernel=RBF(0.1), solver="exact").fit(X).explained_variance_
    n, q = len(X), 3
    assert fitted(X, q, noise_variance="paper").noise_variance_ == pytest.approx(lam[q:].sum() / (n - q))
    assert fitted(X, q, noise_variance="mle").noise_variance_ == pytest.approx(lam[q:].sum() / (n - 1 - q))
    assert fitted(X, q, noise_variance="mle", solver=Landmarks(n=20)).noise_variance_ > 0


def test_the_number_of_components_follows_from_the_noise(X):
    kpca = KernelPCA(kernel=RBF(0.1), solver="exact").fit(X)
    lam = kpca.explained_variance_
    for rho in (0.1 * lam[0], 0.01 * lam[0]):
        assert fitted(X, None, noise_variance=rho).n_components_ == np.sum(lam > rho)
    held = np.cumsum(kpca.explained_variance_ratio_)
    for share in (None, 0.5):
        model = fitted(X, share, noise_variance="mle")
        wanted = share or 0.95
        assert held[model.n_components_ - 1] >= wanted > held[model.n_components_ - 2]
    assert fitted(X, None, noise_variance=0, kernel=QUADRATIC).n_components_ == 14


def test_components_within_the_noise_are_left_out_with_a_warning(X):
    lam = KernelPCA(5, kernel=RBF(0.1)).fit(X).explained_variance_
    rho = (lam[2] + lam[3]) / 2
    with pytest.warns(UserWarning, match="2 of 5 components have no more variance than the noise"):
        model = fitted(X, 5, noise_variance=rho)
    assert model.n_components_ == model.transform(X).shape[1] == 3
    assert model.noise_variance_ == rho
    np.testing.assert_allclose(model.explained_variance_, lam[:3], rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "em", "landmarks"])
def test_noise_above_all_variance_leaves_a_ball_around_the_mean(X, X_new, solver):
    with pytest.warns(UserWarning, match="no component is left"):
        model = fitted(X, 3, noise_variance=5.0, solver=solver)
    assert model.transform(X_new).shape == (20, 0)
    np.testing.assert_allclose(model.mahalanobis(X_new), model.reconstruction_error(X_new) / 5.0)
    np.testing.assert_allclose(model.score_samples(X_new), -model.mahalanobis(X_new) / 2)
    assert np.isfinite(model.sample(3)[0]).all()
    assert np.isfinite(model.inverse_transform(np.empty((2, 0)))).all()


def test_at_the_limit_scores_are_residuals_and_distances_are_refused(X, X_new):
    model = fitted(X, 3, noise_variance=0)
    np.testing.assert_array_equal(model.score_samples(X_new), -model.reconstruction_error(X_new))
    for method in (model.mahalanobis, model.score_path):
        with pytest.raises(ValueError, match="noise_variance_"):
            method(X_new)


@pytest.mark.parametrize("noise", ["mle", "paper"])
@pytest.mark.parametrize("kernel, rank", [(Linear(), 4), (QUADRATIC, 14)], ids=repr)
def test_components_that_hold_everything_leave_no_noise(X, kernel, rank, noise):
    for dtype in (np.float64, np.float32):
        for solver in ("auto", "exact"):
            with pytest.warns(UserWarning, match="hold all variance"):
                model = fitted(X.astype(dtype), rank + 5, kernel=kernel, noise_variance=noise, solver=solver)
            assert model.n_components_ == rank
            assert model.noise_variance_ == 0
            assert np.isfinite(model.score(X.astype(dtype)))


def test_flat_spectra_are_told():
    rows = np.eye(40)
    with pytest.warns(UserWarning, match="The last component has hardly more variance|too narrow") as caught:
        model = ProbabilisticKernelPCA(3, kernel=RBF(10.0)).fit(rows)
    assert any("hardly" in str(one.message) or "no more variance" in str(one.message) for one in caught)
    assert np.isfinite(model.score(rows))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("noise", ["mle", 0.1, 0])
def test_constant_rows_have_a_defined_result(solver, noise):
    rows = np.ones((30, 2))
    with pytest.warns(UserWarning, match="constant in feature space"):
        model = ProbabilisticKernelPCA(2, noise_variance=noise, solver=solver, random_state=0).fit(rows)
    assert model.transform(rows).shape == (30, 0)
    assert np.isfinite(model.score(rows))
    np.testing.assert_allclose(model.sample(2)[0], 1)


@pytest.mark.parametrize("noise", ["mle", "paper", 1e-3, 0])
@pytest.mark.parametrize("kernel", [RBF(0.5), QUADRATIC, Linear()], ids=repr)
def test_awkward_rows_give_finite_results(kernel, noise):
    """Duplicates, a constant column, two rows, rows that depend on each other, far rows."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(12, 2))
    duplicated = np.column_stack([np.repeat(base, 4, axis=0), np.ones(48)])
    dependent = np.column_stack([base, base @ [1.0, 2.0]])
    for rows in (duplicated, dependent, base[:2]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = ProbabilisticKernelPCA(2, noise_variance=noise, kernel=kernel, random_state=0).fit(rows)
        for values in (model.transform(rows), model.score_samples(rows), model.score_samples(1e3 * rows)):
            assert np.isfinite(values).all()
        assert np.isfinite(model.sample(3)[0]).all()


def test_an_indefinite_kernel_has_a_defined_result(X):
    with pytest.warns(UserWarning, match="indefinite|hold all variance"):
        model = ProbabilisticKernelPCA(2, kernel="sigmoid").fit(X)
    assert model.noise_variance_ >= 0
    assert np.isfinite(model.score(X))


def test_large_matrices_are_refused_before_work_unless_it_is_meant():
    rows = np.random.default_rng(0).normal(size=(5001, 2))
    with pytest.raises(ValueError, match="needs all eigenvalues of a 5001"):
        ProbabilisticKernelPCA().fit(rows)
    assert (
        ProbabilisticKernelPCA(kernel="linear", noise_variance=0.01).fit(rows).n_components_ == 2
    )  # a small primal space
    assert ProbabilisticKernelPCA(kernel=RBF(0.1), solver=Landmarks(n=50)).fit(rows).n_components_ > 2


def test_expectation_maximisation_needs_a_number_of_components(X):
    with pytest.raises(ValueError, match="solver='em' finds a given number of components"):
        ProbabilisticKernelPCA(solver="em").fit(X)
    assert fitted(X, None, noise_variance=0.05, solver="em").n_components_ >= 1


def test_expectation_maximisation_says_when_it_has_not_converged(X):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = fitted(X, solver="em", max_iter=2)
    assert model.n_iter_ == 2
    assert not hasattr(clone(model).set_params(solver="exact").fit(X), "log_likelihoods_")


# Uncertainty and generation


def test_latent_variables_come_back_through_the_features(X):
    model = fitted(X, 3, noise_variance=1e-6)
    H = np.random.default_rng(1).normal(size=(10, 3))
    vectors = model.features(H)
    Y = vectors.inner(model.subspace_.axes) - model.subspace_.offset
    np.testing.assert_allclose(Y, H * np.sqrt(model.explained_variance_ - model.noise_variance_), atol=1e-8)
    np.testing.assert_allclose(model.inverse_transform(H), model.preimages(H).X)


def test_denoising_shrinks_what_may_be_noise(X):
    """Component p is multiplied by 1 − ρ/λ."""
    model, rho = fitted(X, kernel="linear", noise_variance=0.3), 0.3
    Y = model.subspace_.project(X) * (1 - rho / model.explained_variance_)
    expected = X.mean(axis=0) + Y @ (model.subspace_.axes.B.T @ (model.anchors_ - X.mean(axis=0)))
    np.testing.assert_allclose(model.denoise(X), expected, atol=1e-10)


@pytest.mark.parametrize("solver", ["exact", "landmarks", Landmarks(n=25)], ids=str)
@pytest.mark.parametrize("noise", [0.01, 0])
def test_samples_follow_from_the_seed(X, solver, noise):
    models = [fitted(X, solver=solver, noise_variance=noise, random_state=seed) for seed in (0, 0, 1)]
    samples = [model.sample(7)[0] for model in models]
    assert samples[0].shape == (7, 4)
    assert models[0].sample()[1] is None
    np.testing.assert_array_equal(samples[0], samples[1])
    np.testing.assert_array_equal(samples[0], models[0].sample(7)[0])  # once more, from what was kept
    assert np.abs(samples[0] - samples[2]).max() > 1e-3
    vectors = models[0].sample_features(5)
    assert len(vectors) == 5
    assert len(vectors.Z) == len(models[0].anchors_)


def test_samples_of_rows_look_like_the_rows():
    rows = datasets.three_clusters(0)
    model = ProbabilisticKernelPCA(6, kernel=RBF(10.0), random_state=0).fit(rows)
    drawn, _ = model.sample(300)
    nearest = np.linalg.norm(drawn[:, None] - rows, axis=2).min(axis=1)
    assert nearest.max() < 0.15  # the clusters are half a unit apart
    np.testing.assert_allclose(drawn.mean(axis=0), rows.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(drawn.std(axis=0), rows.std(axis=0), rtol=0.15)


def test_samples_of_a_linear_model_have_its_covariance(X):
    model = fitted(X, 2, kernel="linear", noise_variance="mle")
    drawn, _ = model.sample(20_000)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.05)
    expected = model.get_covariance()
    assert np.linalg.norm(np.cov(drawn.T) - expected) < 0.03 * np.linalg.norm(expected)


def test_the_noise_of_samples_reaches_what_the_axes_do_not(X):
    """Along any direction orthogonal to the axes the variance is ρ; along the axes it is λ."""
    model = fitted(X, 2, noise_variance=0.02)
    whole = principal_subspace(model.kernel_, X, 8, solver="exact")
    vectors = model.density_.sample(20_000, np.random.default_rng(0))
    Y = vectors.inner(whole.axes) - whole.offset
    expected = np.append(model.explained_variance_, np.full(6, 0.02))
    np.testing.assert_allclose(Y.var(axis=0), expected, rtol=0.05)


def test_samples_around_one_row(X):
    """They scatter around its denoised self, the more the more noise there is, and not at all without."""
    spreads = []
    for rho in (0, 0.01, 0.3):
        model = fitted(X, kernel="linear", noise_variance=rho)
        drawn = model.sample_posterior(X[0], 4000)
        np.testing.assert_allclose(drawn.mean(axis=0), model.denoise(X[:1])[0], atol=0.05)
        U = model.subspace_.axes.B.T @ (model.anchors_ - X.mean(axis=0))
        scale = np.sqrt(model.explained_variance_ - rho) * np.sqrt(model.posterior_variance_)
        expected = (U.T * scale**2) @ U
        np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.06 * max(expected.max(), 1e-9))
        spreads.append(drawn.var(axis=0).sum())
    assert spreads[0] < 1e-20 < spreads[1] < spreads[2]


def test_generation_given_latent_variables(X):
    model = fitted(X, kernel="linear", noise_variance=0.05)
    H = np.repeat([[1.0, -1.0, 0.5]], 4000, axis=0)
    drawn = model.sample_given(H)
    np.testing.assert_allclose(drawn.mean(axis=0), model.inverse_transform(H[:1])[0], atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), 0.05 * np.eye(4), atol=0.005)


def test_errors_say_what_was_given(X):
    model = fitted(X)
    for n_samples in (0, 1.5, -1):
        with pytest.raises(ValueError, match="n_samples must be an integer ≥ 1"):
            model.sample(n_samples)
    with pytest.raises(ValueError, match="H has 2 columns, and this model has 3 components"):
        model.features(np.zeros((1, 2)))
    with pytest.raises(NotFittedError):
        ProbabilisticKernelPCA().sample()
    with pytest.raises(ValueError, match="noise_variance"):
        ProbabilisticKernelPCA(noise_variance=-1.0).fit(X)


def test_a_copy_and_a_compressed_model_sample_too(X):
    model = fitted(X)
    before = len(pickle.dumps(model))
    expected = model.sample(5)[0]
    assert len(pickle.dumps(model)) == before  # the basis of the noise stays at home
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).sample(5)[0], expected)
    small = compress(model, 30)
    assert small.sample_features(2).Z.shape == (30, 4)
    np.testing.assert_allclose(small.transform(X), model.transform(X), atol=0.05)


# The primal space


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    "kernel", [Linear(), QUADRATIC, Polynomial(3), Polynomial(2, coef0=0.0), Polynomial(1)], ids=repr
)
def test_primal_and_dual_are_one(X, X_new, kernel, center, weighted):
    w = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    for model in (KernelPCA(4, kernel=kernel, center=center), fitted(X, 3, kernel=kernel, center=center)):
        primal = clone(model).fit(X, sample_weight=w)
        dual = clone(model).set_params(solver="exact").fit(X, sample_weight=w)
        assert primal.solver_.solver == Primal(kernel.n_features(4))
        assert dual.solver_.solver == Exact()
        np.testing.assert_allclose(primal.explained_variance_, dual.explained_variance_, rtol=1e-9)
        scale = np.abs(dual.transform(X_new)).max()
        np.testing.assert_allclose(primal.transform(X_new), dual.transform(X_new), atol=1e-8 * scale)
        size = dual.total_variance_
        np.testing.assert_allclose(
            primal.reconstruction_error(X_new), dual.reconstruction_error(X_new), atol=1e-9 * size
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [Linear(), QUADRATIC, Polynomial(3, 0.5, 2.0), Polynomial(4, coef0=0.0)], ids=repr)
def test_explicit_features_are_those_of_the_kernel(X, kernel, dtype):
    rows = X.astype(dtype)
    bound = kernel.bind(rows)
    F = bound.features(rows)
    assert F.dtype == dtype
    assert F.shape[1] == bound.n_features(4)
    K = bound(rows, rows)
    np.testing.assert_allclose(F @ F.T, K, atol=100 * np.finfo(dtype).eps * np.abs(K).max())
    np.testing.assert_allclose(bound.features(csr_array(rows)), F, rtol=1e-6)


@pytest.mark.parametrize("kernel", [RBF(), Polynomial(2.5), Polynomial(2, coef0=-1.0), Polynomial(5)], ids=repr)
def test_kernels_without_a_small_explicit_map_say_so(kernel):
    rows = np.ones((3, 40))
    assert kernel.n_features(40) is None
    with pytest.raises(TypeError, match="has no explicit map of at most 1000 features on 40 columns"):
        kernel.bind(rows).features(rows)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 0.1), RBF(0.1)], ids=repr)
def test_sparse_rows_are_rows(kernel, center):
    rows = np.random.default_rng(0).poisson(0.3, size=(200, 8)).astype(float)
    sparse = fitted(csr_array(rows), kernel=kernel, center=center)
    dense = fitted(rows, kernel=kernel, center=center)
    np.testing.assert_allclose(sparse.transform(csr_array(rows)), dense.transform(rows), atol=1e-8)
    np.testing.assert_allclose(sparse.score_samples(rows), dense.score_samples(rows), rtol=1e-7)
    assert len(sparse.sample_features(3)) == 3


def test_rare_directions_are_found_in_the_primal_space():
    """A column that a single row of thousands has: rows that were drawn at random do not span it."""
    rows = np.random.default_rng(0).normal(size=(3000, 6)) * [1, 1, 1, 1, 0, 0]
    rows[17, 4], rows[2111, 5] = 5.0, -7.0
    pca, model = PCA().fit(rows), KernelPCA(kernel="linear").fit(rows)
    assert model.solver_.solver == Primal(6)
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_ * 2999 / 3000, rtol=1e-10)


def test_a_million_rows_of_a_linear_kernel():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((10**6, 10)) * np.arange(10, 0, -1) + 100
    model = ProbabilisticKernelPCA(3, kernel="linear", noise_variance="mle").fit(rows)
    assert model.solver_.solver == Primal(10)
    assert model.solver_.outside_share < 1e-12
    lam = np.linalg.eigvalsh(np.cov(rows.T, bias=True))[::-1]
    np.testing.assert_allclose(model.explained_variance_, lam[:3], rtol=1e-9)
    assert model.noise_variance_ == pytest.approx(lam[3:].mean(), rel=1e-9)
    assert len(model.anchors_) == 500


def test_the_dual_is_taken_where_it_is_smaller_or_asked_for(X):
    wide = np.random.default_rng(0).normal(size=(20, 30))
    assert not isinstance(KernelPCA(2, kernel="linear").fit(wide).solver_.solver, Primal)
    assert KernelPCA(2, kernel="linear", solver="exact").fit(X).solver_.solver == Exact()
    assert not isinstance(KernelPCA(2, kernel=RBF(0.1)).fit(X).solver_.solver, Primal)


# Choices


def test_likelihoods_of_all_numbers_of_components_at_one_noise(X, X_new):
    path = fitted(X, 6).score_path(X_new)
    assert path.shape == (7,)
    for q in (1, 3, 6):
        assert path[q] == pytest.approx(fitted(X, q).score(X_new), rel=1e-8)
    on_its_own_rows = fitted(X, 6).score_path(X)
    assert np.all(np.diff(on_its_own_rows) > 0)  # in-sample likelihood never chooses


def test_the_number_of_components_by_likelihood_finds_the_dimension():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 10)) * 2 + 0.3 * rng.normal(size=(400, 10))
    for model in (
        ProbabilisticKernelPCA(kernel="linear", noise_variance=0.09),
        ProbabilisticKernelPCA(kernel="linear", noise_variance=0.09, solver="em"),
    ):
        choice = select.n_components(model, rows, rule="likelihood", random_state=0, max_components=8)
        assert choice.best == choice.estimator.n_components == 3
    assert select.n_components(KernelPCA(kernel="linear"), rows, rule="gap").best == 3
    assert select.n_components(KernelPCA(kernel="linear"), rows, rule="variance", share=0.9).best <= 3
    assert "−log density" in str(choice)


def test_the_number_of_components_by_share_is_that_of_the_model(X):
    choice = select.n_components(KernelPCA(kernel=RBF(0.1)), X, share=0.8)
    assert choice.best == KernelPCA(0.8, kernel=RBF(0.1)).fit(X).n_components_
    assert choice.table[choice.best] <= 0.2 < choice.table[choice.best - 1]
    assert isinstance(choice.estimator, KernelPCA)


def test_likelihood_is_not_compared_without_noise(X):
    with pytest.raises(ValueError, match="one noise variance, and here it is 0"):
        select.n_components(ProbabilisticKernelPCA(noise_variance=0), X, rule="likelihood")
    with pytest.raises(ValueError, match="Lower noise_variance"):
        select.n_components(ProbabilisticKernelPCA(noise_variance=9.0), X, rule="likelihood")
    for parameters in ({"rule": "elbow"}, {"max_components": 0}, {"share": 1.5}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            select.n_components(KernelPCA(), X, **parameters)
    assert select.n_components(KernelPCA(kernel=RBF(0.1)), X, rule="likelihood", cv=3).best > 1


@pytest.mark.parametrize("statistic", ["reconstruction_error", "mahalanobis"])
def test_leaving_one_out_by_formula_is_leaving_one_out(X, statistic):
    rows = X[:40]
    model = ProbabilisticKernelPCA(3, noise_variance=0.01, kernel=RBF(0.1), solver="exact")
    by_formula = select.held_out(model, rows, statistic=statistic)
    np.testing.assert_allclose(
        by_formula, select.held_out(model, rows, statistic=statistic, cv=LeaveOneOut()), rtol=1e-6
    )
    assert np.mean(getattr(model.fit(rows), statistic)(rows)) < np.mean(by_formula)  # in-sample is optimistic


@pytest.mark.parametrize("cv", ["loo", 5])
def test_thresholds_from_rows_held_out_are_exceeded_as_often_as_they_say(cv):
    rng = np.random.default_rng(0)
    seen, new = rng.normal(size=(200, 3)), rng.normal(size=(4000, 3))
    model = KernelPCA(12, kernel=RBF(0.3)).fit(seen)
    errors = model.reconstruction_error(new)
    limit = select.threshold(model, seen, alpha=0.1, cv=cv, random_state=0)
    assert 0.05 < np.mean(errors > limit) < 0.15
    own = np.quantile(model.reconstruction_error(seen), 0.9)
    assert np.mean(errors > own) > 0.15  # what its own rows would have said
    with pytest.raises(ValueError, match="alpha"):
        select.threshold(model, seen, alpha=1e-4)


def test_grid_search_by_likelihood_at_one_noise():
    rows = load_digits().data[:150] / 16
    model = ProbabilisticKernelPCA(noise_variance=0.001, kernel=RBF(0.05))
    search = GridSearchCV(model, {"n_components": [2, 5, 10]}, cv=3).fit(rows)
    assert search.best_params_["n_components"] == 10


def test_a_density_keeps_only_axes_above_its_noise(X):
    subspace = principal_subspace(RBF(0.1), X, 8)
    density = FeatureGaussian.of(subspace, subspace.variances[4])
    assert len(density.subspace.variances) == 4
    energies = density.energies(X)
    np.testing.assert_allclose(energies[:, -1], density.energy(X), rtol=1e-10)


@pytest.mark.parametrize("kernel", [RBF(0.3), Linear(), Polynomial(2)], ids=repr)
@pytest.mark.parametrize("solver", ["auto", "exact", "landmarks"])
def test_no_component_is_a_ball_about_the_mean(kernel, solver):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    whole, kpca = (KernelPCA(q, kernel=kernel, solver=solver).fit(X) for q in (None, 0))
    r2 = whole.reconstruction_error(new) + np.sum(whole.transform(new) ** 2, axis=1)
    np.testing.assert_allclose(kpca.reconstruction_error(new), r2, atol=1e-12)
    np.testing.assert_allclose(kpca.total_variance_, whole.total_variance_)
    assert kpca.transform(new).shape == kpca.fit_transform(X)[:7].shape == (7, 0)
    model = ProbabilisticKernelPCA(0, kernel=kernel, solver=solver, random_state=0).fit(X)
    np.testing.assert_allclose(model.mahalanobis(new), r2 / model.noise_variance_)
    np.testing.assert_allclose(model.score_samples(new), -r2 / model.noise_variance_ / 2)
    assert np.all(np.isfinite(model.sample(3)[0]))
    if isinstance(kernel, Linear):
        np.testing.assert_allclose(model.noise_variance_, X.var(axis=0).mean())
