"""The behaviour of ``KernelPCA``: against scikit-learn, against explicit features, and as an estimator."""

import pickle
import warnings
from copy import deepcopy

import numpy as np
import pytest
import sklearn
import sklearn.gaussian_process.kernels as gp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as ScikitKernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA
from mercer._core import registry
from mercer.eigen import Exact
from mercer.kernels import RBF, Cosine, Laplacian, Linear, Matern, Polynomial, Precomputed, Sigmoid, as_kernel
from mercer.preimage import Learned

# How far coordinates may be off, as a share of the largest: LAPACK and ARPACK go to rounding, others to their ``tol``.
# Landmarks are an approximation by design.
TOLERANCE = {"exact": 1e-8, "lanczos": 1e-8}
SOLVERS = ["auto", *(name for name in registry.SOLVERS if name != "landmarks")]
ALIKE = {
    "rbf": (RBF(0.3), {"gamma": 0.3}),
    "poly": (Polynomial(3, 0.2, 1.0), {"degree": 3, "gamma": 0.2, "coef0": 1.0}),
    "cosine": (Cosine(), {}),
    "linear": (Linear(), {}),
    "sigmoid": (Sigmoid(0.05, 0.1), {"gamma": 0.05, "coef0": 0.1}),
}
KERNELS = [RBF("median"), RBF("scale"), RBF(lengthscale=[1.0, 2.0, 3.0, 4.0]), Laplacian(), Matern(), Linear()]
KERNELS += [Polynomial(2), Cosine(), RBF("median") + 0.5 * Polynomial(2)]
THREE = [RBF("median"), Linear(), Polynomial(2)]

indefinite = pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite:UserWarning")


def quadratic_features(X):
    """φ with φ(x)ᵀφ(y) = (xᵀy + 1)²."""
    i, j = np.triu_indices(X.shape[1], 1)
    return np.hstack([np.ones((len(X), 1)), np.sqrt(2) * X, X**2, np.sqrt(2) * X[:, i] * X[:, j]])


def with_clusters(n=80):
    """Rows around four centres: the leading eigenvalues stand apart."""
    rng = np.random.default_rng(2)
    centres = np.array([[0, 0, 0, 0], [4, 0, 0, 0], [0, 6, 0, 0], [0, 0, 9, 1]], float)
    return centres[rng.integers(4, size=n)] + 0.3 * rng.normal(size=(n, 4))


def exact(q=None, **parameters):
    """A model whose error is rounding."""
    return KernelPCA(q, solver="exact", **parameters)


def tolerance(solver):
    return TOLERANCE.get(solver, 1e-5)


# --- against scikit-learn


@indefinite
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ALIKE)
def test_scores_and_eigenvalues_are_scikit_learns(name, solver, X, X_new, same_up_to_sign):
    kernel, parameters = ALIKE[name]
    ours = KernelPCA(3, kernel=kernel, solver=solver, random_state=0).fit(X)
    theirs = ScikitKernelPCA(3, kernel=name, eigen_solver="dense", **parameters).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.explained_variance_, theirs.eigenvalues_ / len(X), rtol=1e-9)
    same_up_to_sign(ours.transform(X), theirs.transform(X), tolerance(solver))
    same_up_to_sign(ours.transform(X_new), theirs.transform(X_new), tolerance(solver))


@pytest.mark.parametrize("solver", SOLVERS)
def test_precomputed_is_the_kernel_that_made_the_matrix(solver, X, X_new, same_up_to_sign):
    K, K_new = laplacian_kernel(X, X, gamma=0.2), laplacian_kernel(X_new, X, gamma=0.2)
    given = KernelPCA(3, kernel="precomputed", solver=solver, random_state=0).fit(K)
    made = exact(3, kernel=Laplacian(0.2)).fit(X)
    theirs = ScikitKernelPCA(3, kernel="precomputed").fit(K)
    np.testing.assert_allclose(given.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    for other, rows, rows_new in [(made, X, X_new), (theirs, K, K_new)]:
        same_up_to_sign(given.transform(K), other.transform(rows), tolerance(solver))
        same_up_to_sign(given.transform(K_new), other.transform(rows_new), tolerance(solver))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("q", [1, 3, 4])
def test_the_linear_kernel_is_pca(q, solver, X, X_new, same_up_to_sign):
    X = X + [10.0, -3.0, 0.0, 5.0]
    ours = KernelPCA(q, kernel="linear", solver=solver, random_state=0).fit(X)
    pca = PCA(q).fit(X)
    n = len(X)
    np.testing.assert_allclose(ours.explained_variance_ * n / (n - 1), pca.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(ours.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-9)
    for rows in (X, X_new):
        same_up_to_sign(ours.transform(rows), pca.transform(rows), tolerance(solver))
        back, expected = ours.inverse_transform(ours.transform(rows)), pca.inverse_transform(pca.transform(rows))
        np.testing.assert_allclose(back, expected, rtol=0, atol=tolerance(solver) * np.abs(expected).max())
    np.testing.assert_allclose(
        ours.reconstruction_error(X_new),
        np.sum((X_new - pca.inverse_transform(pca.transform(X_new))) ** 2, axis=1),
        rtol=tolerance(solver),
        atol=tolerance(solver),
    )


# --- variances and numbers of components


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_total_variance_is_the_trace(kernel, center, X):
    model = exact(2, kernel=kernel, center=center).fit(X)
    K = model.kernel_(X, X)
    if center:
        K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    assert model.total_variance_ == pytest.approx(np.trace(K) / len(X), rel=1e-10)
    np.testing.assert_allclose(model.explained_variance_, np.linalg.eigvalsh(K / len(X))[:-3:-1], rtol=1e-9)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_shares_sum_to_one_only_when_all_components_are_kept(kernel, center, X):
    every = exact(kernel=kernel, center=center).fit(X)
    fewer = exact(every.n_components_ - 1, kernel=kernel, center=center).fit(X)
    assert every.explained_variance_ratio_.sum() == pytest.approx(1, abs=1e-10)
    missing = every.explained_variance_ratio_[-1]
    assert fewer.explained_variance_ratio_.sum() == pytest.approx(1 - missing, abs=1e-10)
    np.testing.assert_allclose(fewer.explained_variance_ratio_, every.explained_variance_ratio_[:-1], atol=1e-10)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_a_share_takes_the_fewest_components_that_hold_it(share, solver, X):
    model = KernelPCA(share, kernel=RBF(0.1), solver=solver).fit(X)
    held = model.explained_variance_ratio_
    assert held.sum() >= share > held[:-1].sum()
    assert model.transform(X).shape == (len(X), model.n_components_)
    np.testing.assert_allclose(
        held, exact(model.n_components_, kernel=RBF(0.1)).fit(X).explained_variance_ratio_, rtol=1e-9
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    "kernel, rank",
    [(RBF(1.0), 20), (Linear(), 2), (Polynomial(2), 6), (Polynomial(3), 10), (Laplacian(1.0), 20)],
    ids=repr,
)
@pytest.mark.parametrize("asked", [None, 19, 20, 1000])
def test_components_may_exceed_the_columns_but_never_the_rank(asked, kernel, rank, center, solver):
    X = np.random.default_rng(3).normal(size=(20, 2))
    has_constant = not isinstance(kernel, Linear)  # the constant function, or the one dimension that centring takes
    expected = rank - 1 if center and has_constant else rank
    model = KernelPCA(asked, kernel=kernel, center=center, solver=solver, random_state=0).fit(X)
    assert model.n_components_ == min(expected, asked or expected)
    assert model.transform(X).shape == (20, model.n_components_)
    assert np.all(model.explained_variance_ > 0)
    assert np.all(np.diff(model.explained_variance_) <= 0)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_training_coordinates_are_uncorrelated_with_variance_lambda(kernel, center, X):
    model = exact(4, kernel=kernel, center=center).fit(X)
    Y = model.transform(X)
    np.testing.assert_allclose(Y.T @ Y / len(X), np.diag(model.explained_variance_), atol=1e-10 * model.total_variance_)
    if center:
        np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-10 * np.abs(Y).max())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", THREE, ids=repr)
def test_fit_transform_is_fit_then_transform(kernel, solver, X):
    weights = np.arange(len(X)) % 3.0
    model = KernelPCA(4, kernel=kernel, solver=solver, random_state=0)
    for sample_weight in (None, weights + 1, weights):
        Y = clone(model).fit_transform(X, sample_weight=sample_weight)
        again = clone(model).fit(X, sample_weight=sample_weight).transform(X)
        np.testing.assert_allclose(Y, again, rtol=0, atol=tolerance(solver) * np.abs(Y).max())


def test_fit_transform_of_a_precomputed_kernel(X):
    K = rbf_kernel(X, gamma=0.1)
    for sample_weight in (None, np.arange(len(X)) % 3.0):
        Y = exact(3, kernel="precomputed").fit_transform(K, sample_weight=sample_weight)
        model = exact(3, kernel="precomputed").fit(K, sample_weight=sample_weight)
        np.testing.assert_allclose(Y, model.transform(K), atol=1e-10)


def test_rows_are_not_order_dependent(X, X_new):
    order = np.random.default_rng(4).permutation(len(X))
    model, shuffled = exact(4).fit(X), exact(4).fit(X[order])
    np.testing.assert_allclose(model.transform(X_new), shuffled.transform(X_new), atol=1e-10)


# --- sample weights


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    "kernel, solver",
    [*((kernel, "exact") for kernel in KERNELS), *((RBF("median"), name) for name in SOLVERS)],
    ids=repr,
)
def test_a_weight_counts_repetitions(kernel, solver, center, X_new):
    X = with_clusters(60)
    times = np.random.default_rng(5).integers(0, 4, size=len(X))
    model = KernelPCA(3, kernel=kernel, center=center, solver=solver, random_state=0)
    weighted = clone(model).fit(X, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0))
    assert_same_model(weighted, repeated, X_new, tolerance(solver))
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-8)
    assert np.count_nonzero(times) == len(weighted.anchors_)  # a row of weight 0 is not kept


@pytest.mark.parametrize("center", [True, False])
def test_a_weight_counts_repetitions_in_a_precomputed_matrix(center, X_new):
    X = with_clusters(60)
    times = np.random.default_rng(5).integers(0, 4, size=len(X))
    rows = np.repeat(np.arange(len(X)), times)
    K, K_new = rbf_kernel(X, gamma=0.1), rbf_kernel(X_new, X, gamma=0.1)
    weighted = exact(3, kernel="precomputed", center=center).fit(K, sample_weight=times)
    repeated = exact(3, kernel="precomputed", center=center).fit(K[np.ix_(rows, rows)])
    assert weighted.total_variance_ == pytest.approx(repeated.total_variance_, rel=1e-10)
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(weighted.transform(K_new)), np.abs(repeated.transform(K_new[:, rows])), atol=1e-9)


@pytest.mark.parametrize("factor", [1e-3, 7.3, 1e6])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_only_the_proportions_of_the_weights_matter(kernel, factor, X_new):
    X = with_clusters(60)
    weights = np.random.default_rng(6).uniform(0.2, 3, size=len(X))
    one, other = (exact(3, kernel=kernel).fit(X, sample_weight=w) for w in (weights, factor * weights))
    assert_same_model(one, other, X_new)
    np.testing.assert_allclose(other.eigenvalues_, weights.sum() * factor * one.explained_variance_, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_equal_weights_are_no_weights(kernel, X_new):
    X = with_clusters(60)
    assert_same_model(exact(3, kernel=kernel).fit(X), exact(3, kernel=kernel).fit(X, None, np.ones(60)), X_new)


def assert_same_model(one, other, X, tol=1e-8):
    assert one.total_variance_ == pytest.approx(other.total_variance_, rel=1e-10)
    np.testing.assert_allclose(one.explained_variance_, other.explained_variance_, rtol=1e-8)
    Y, r2 = one.transform(X), one.reconstruction_error(X)
    np.testing.assert_allclose(other.transform(X), Y, rtol=0, atol=tol * np.abs(Y).max())
    np.testing.assert_allclose(other.reconstruction_error(X), r2, rtol=0, atol=tol * r2.max())


@pytest.mark.parametrize(
    "weights, text",
    [
        (np.zeros(60), "All sample weights are zero|least one non-zero|at least one"),
        (np.r_[-1.0, np.ones(59)], "[Nn]egative"),
        (np.r_[np.nan, np.ones(59)], "NaN"),
        (np.ones(59), "shape|inconsistent"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights, text, X):
    model = KernelPCA(2)
    with pytest.raises(ValueError, match=text):
        model.fit(X, sample_weight=weights)
    assert not hasattr(model, "subspace_")


# --- distances to the subspace


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("q", [1, 4, 8])
def test_reconstruction_error_is_the_one_in_explicit_features(q, center, X, X_new):
    model = exact(q, kernel=Polynomial(2, gamma=1.0, coef0=1.0), center=center).fit(X)
    mean = quadratic_features(X).mean(axis=0) if center else 0.0
    axes = np.linalg.svd(quadratic_features(X) - mean, full_matrices=False)[2][:q].T
    for rows in (X, X_new):
        features = quadratic_features(rows) - mean
        expected = np.sum((features - features @ axes @ axes.T) ** 2, axis=1)
        np.testing.assert_allclose(model.reconstruction_error(rows), expected, atol=1e-9 * np.max(features**2))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_mean_error_of_the_training_rows_is_the_variance_left_out(kernel, X):
    model = exact(3, kernel=kernel).fit(X)
    left = model.total_variance_ - model.explained_variance_.sum()
    assert np.mean(model.reconstruction_error(X)) == pytest.approx(left, rel=1e-8)
    assert model.score(X) == pytest.approx(model.explained_variance_ratio_.sum() - 1, rel=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_all_components_leave_no_training_error(kernel, X, X_new):
    model = exact(kernel=kernel).fit(X)
    assert np.all(model.reconstruction_error(X) < 1e-8 * model.total_variance_)
    assert np.all(model.reconstruction_error(X_new) >= 0)


def test_far_rows_have_large_errors(X):
    model = KernelPCA(5, kernel=RBF("median")).fit(X)
    assert model.reconstruction_error(X + 50).min() > model.reconstruction_error(X).max()


def test_precomputed_rows_need_their_diagonal(X, X_new):
    K, K_new = rbf_kernel(X, gamma=0.1), rbf_kernel(X_new, X, gamma=0.1)
    model = exact(3, kernel="precomputed").fit(K)
    with pytest.raises(ValueError, match=r"Precomputed\(diag="):
        model.reconstruction_error(K_new)
    with_diagonal = exact(3, kernel=Precomputed(diag=1.0)).fit(K)
    made = exact(3, kernel=RBF(0.1)).fit(X)
    np.testing.assert_allclose(with_diagonal.reconstruction_error(K_new), made.reconstruction_error(X_new), atol=1e-10)
    np.testing.assert_allclose(model.reconstruction_error(K), made.reconstruction_error(X), atol=1e-10)


# --- kernels


def test_a_kernel_by_name_instance_function_and_gaussian_process_is_one(X, X_new):
    given = [RBF(0.25), lambda A, B: rbf_kernel(A, B, gamma=0.25), gp.RBF(2**0.5), RBF(lengthscale=2**0.5)]
    models = [exact(3, kernel=kernel).fit(X) for kernel in given]
    for model in models[1:]:
        assert_same_model(models[0], model, X_new)


@pytest.mark.parametrize(
    "name",
    sorted(
        name for name in set(registry.KERNELS) - {"precomputed", "sigmoid"} if registry.KERNELS[name].rows == "numbers"
    ),
)
def test_every_name_is_scikit_learns_kernel_or_our_default(name, X):
    """Beside the width, which adapts to the data where scikit-learn has 1/d."""
    X = np.abs(X)
    gamma = getattr(as_kernel(name).bind(X), "gamma", None)
    given = {} if gamma is None else {"gamma": gamma}
    matern = gp.Matern(length_scale=(2 * (gamma or 1)) ** -0.5, nu=1.5)
    expected = matern(X) if name == "matern" else pairwise_kernels(X, metric=name, **given)
    given, made = exact(2, kernel="precomputed").fit(expected), exact(2, kernel=name).fit(X)
    np.testing.assert_allclose(made.eigenvalues_, given.eigenvalues_, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["nonsense", 3, None, RBF])
def test_what_is_no_kernel_is_refused(kernel, X):
    with pytest.raises((ValueError, TypeError), match="kernel"):
        KernelPCA(2, kernel=kernel).fit(X)


def test_a_function_of_single_rows_is_refused_with_the_remedy(X):
    with pytest.raises(ValueError, match="pairwise_kernels"):
        KernelPCA(2, kernel=lambda x, y: float(np.sum(x * y[: len(x)]))).fit(X)


def test_the_given_kernel_is_not_changed(X):
    kernel = RBF("median")
    model = KernelPCA(2, kernel=kernel).fit(X)
    assert kernel.gamma == "median"
    assert isinstance(model.kernel_.gamma, float)


# --- indefinite kernels


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_warning_gives_the_negative_mass(solver, X):
    kernel = Sigmoid(0.5, 1.0)
    K = kernel(X, X)
    K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    values = np.linalg.eigvalsh(K)
    mass = np.abs(values[values < 0]).sum() / np.abs(values).sum()
    assert mass > 0.02
    with pytest.warns(UserWarning, match=f"indefinite.*{mass:.1%} of the spectrum's mass"):
        model = KernelPCA(2, kernel=kernel, solver=solver, random_state=0).fit(X)
    assert model.solver_.negative_mass == pytest.approx(mass, rel=1e-6)
    assert model.solver_.lowest == pytest.approx(values[0] / len(X), rel=1e-6)
    np.testing.assert_allclose(model.eigenvalues_, values[:-3:-1], rtol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_error_policy_refuses_and_leaves_the_model_unfitted(solver, X):
    model = KernelPCA(2, kernel=Sigmoid(0.5, 1.0), solver=solver, indefinite="error")
    with pytest.raises(ValueError, match=r"indefinite.*indefinite='clip'"):
        model.fit(X)
    assert not hasattr(model, "subspace_")


@pytest.mark.parametrize("policy", ["clip", "error"])
@pytest.mark.parametrize("kernel", [lambda A, B: rbf_kernel(A, B, gamma=0.2), "rbf", "linear"])
def test_a_definite_kernel_is_silent_under_both_policies(kernel, policy, X):
    assert KernelPCA(3, kernel=kernel, indefinite=policy).fit(X).solver_.negative_mass < 1e-12


# --- the report


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_report_tells_what_was_done_and_how_well(solver, X):
    model = KernelPCA(3, solver=solver, random_state=0).fit(X)
    report = model.solver_
    if solver != "auto":
        assert isinstance(report.solver, registry.SOLVERS[solver])
    assert report.passes >= 1
    V = model.subspace_.axes.B * np.sqrt(model.eigenvalues_)  # unit eigenvectors of the centred matrix
    K = model.kernel_(X, X)
    K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    true = np.linalg.norm(K @ V - V * model.eigenvalues_, axis=0).max() / model.eigenvalues_[0]
    assert report.residual == pytest.approx(true, rel=0.5, abs=1e-12)
    assert report.residual < tolerance(solver)


def test_solvers_are_given_by_name_or_instance(X):
    assert KernelPCA(2, solver=Exact()).fit(X).solver_ == KernelPCA(2, solver="exact").fit(X).solver_


@pytest.mark.parametrize("solver", SOLVERS)
def test_results_repeat_bit_for_bit_at_one_seed(solver, X):
    model = KernelPCA(3, solver=solver, random_state=7)
    np.testing.assert_array_equal(clone(model).fit_transform(X), clone(model).fit_transform(X))


# --- dtypes


@pytest.mark.parametrize(
    "q, solver", [(None, "auto"), (None, "exact"), (None, "lanczos"), *((3, name) for name in SOLVERS)]
)
@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), Polynomial(2), Laplacian(), Cosine()], ids=repr)
def test_float32_stays_float32_with_as_many_components(kernel, q, solver, X):
    X = X.astype(np.float32)
    single = KernelPCA(q, kernel=kernel, solver=solver, random_state=0).fit(X)
    double = KernelPCA(q, kernel=kernel, solver=solver, random_state=0).fit(X.astype(float))
    assert single.n_components_ == double.n_components_
    Y = single.transform(X)
    assert Y.dtype == single.fit_transform(X).dtype == single.inverse_transform(Y).dtype == np.float32
    assert single.explained_variance_.dtype == single.reconstruction_error(X).dtype == np.float64
    np.testing.assert_allclose(
        single.explained_variance_, double.explained_variance_, rtol=0, atol=1e-6 * double.explained_variance_[0]
    )
    leading = double.transform(X.astype(float))[:, :3]
    np.testing.assert_allclose(Y[:, :3], leading, rtol=0, atol=2e-5 * np.abs(leading).max())


@pytest.mark.parametrize("solver", ["davidson", "randomized"])
def test_all_components_of_float32_rows_by_iteration(solver, X):
    X = X.astype(np.float32)
    assert KernelPCA(kernel="linear", solver=solver, random_state=0).fit(X).n_components_ == 4


# --- scikit-learn's ways of working


def test_grid_search_over_the_width_of_a_kernel_given_by_name(X):
    search = GridSearchCV(KernelPCA(2, kernel="rbf"), {"kernel__gamma": [0.01, 0.1, 1.0]}, cv=3).fit(X)
    assert search.best_params_["kernel__gamma"] == 0.01  # as the documentation of score warns: the widest wins
    assert search.best_estimator_.kernel_ == RBF(0.01)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_grid_search_over_the_number_of_components(X):
    search = GridSearchCV(KernelPCA(kernel=RBF("median")), {"n_components": [1, 2, 4, 8]}, cv=3).fit(X)
    scores = search.cv_results_["mean_test_score"]
    assert np.all(np.diff(scores) > 0)  # nested subspaces: held-out error can only fall
    assert scores.max() < 0
    assert search.best_params_ == {"n_components": 8}


@pytest.mark.parametrize("kernel", ["rbf", *KERNELS], ids=repr)
def test_clones_are_equal_and_unfitted(kernel, X):
    model = KernelPCA(2, kernel=kernel, solver="exact", preimage=Learned(alpha=0.1)).fit(X)
    copy = clone(model)
    assert copy.kernel == model.kernel
    assert not hasattr(copy, "subspace_")
    np.testing.assert_array_equal(copy.fit_transform(X), model.fit_transform(X))


def test_set_params_resolves_a_kernel_given_by_name(X):
    model = KernelPCA(2, kernel="rbf").set_params(kernel__gamma=0.3, n_components=3)
    assert model.kernel == RBF(0.3)
    assert model.fit_transform(X).shape == (60, 3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_in_and_out(library, X):
    frames = pytest.importorskip(library)
    table = frames.DataFrame({f"column {i}": X[:, i] for i in range(4)})
    if not hasattr(StandardScaler().fit(table), "feature_names_in_"):
        pytest.skip(f"scikit-learn {sklearn.__version__} does not read the names of this {library}'s columns")
    model = exact(3).set_output(transform=library)
    Y = model.fit_transform(table)
    assert isinstance(Y, frames.DataFrame)
    assert list(Y.columns) == ["kernelpca0", "kernelpca1", "kernelpca2"] == list(model.get_feature_names_out())
    assert list(model.feature_names_in_) == list(table.columns)
    np.testing.assert_allclose(Y.to_numpy(), exact(3).fit_transform(X), atol=1e-12)
    np.testing.assert_allclose(model.transform(table).to_numpy(), Y.to_numpy(), atol=1e-10)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(table.rename(columns={"column 0": "other"}) if library == "pandas" else table.rename(str.upper))


def test_the_index_of_a_table_is_kept(X):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, index=np.arange(100, 160), columns=list("abcd"))
    Y = KernelPCA(2).set_output(transform="pandas").fit_transform(table)
    assert list(Y.index) == list(table.index)


def test_weights_are_routed_through_pipelines(X):
    weights = np.random.default_rng(8).uniform(size=len(X))
    target = X[:, 0] ** 2
    with sklearn.config_context(enable_metadata_routing=True):
        model = exact(3).set_fit_request(sample_weight=True)
        last = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        first = make_pipeline(clone(model), Ridge().set_fit_request(sample_weight=False))
        last.fit(X, sample_weight=weights)
        first.fit(X, target, sample_weight=weights)
    direct = exact(3).fit(StandardScaler().fit_transform(X), sample_weight=weights)
    np.testing.assert_allclose(last[-1].eigenvalues_, direct.eigenvalues_, rtol=1e-10)
    direct = exact(3).fit(X, sample_weight=weights)
    np.testing.assert_allclose(first[0].eigenvalues_, direct.eigenvalues_, rtol=1e-10)


def test_it_is_a_step_of_a_pipeline(X):
    pipeline = make_pipeline(StandardScaler(), exact(3, kernel="linear"))
    Y = pipeline.fit_transform(X)
    np.testing.assert_allclose(pipeline.transform(X), Y, atol=1e-10)
    assert pipeline.inverse_transform(Y).shape == X.shape


# --- pre-images through the estimator


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "linear"])
@pytest.mark.parametrize("preimage", ["auto", "learned"])
def test_inverse_transform_brings_rows_back(kernel, preimage):
    X = with_clusters()
    model = KernelPCA(20, kernel=kernel, preimage=preimage).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert back.shape == X.shape
    assert np.mean((back - X) ** 2) < 0.25 * X.var()


def test_a_precomputed_kernel_returns_to_rows_that_are_given(X):
    K = rbf_kernel(X, gamma=0.25)
    model = exact(5, kernel="precomputed").fit(K)
    with pytest.raises(ValueError, match=r"Learned\(rows=X\)"):
        model.inverse_transform(model.transform(K))
    given = exact(5, kernel="precomputed", preimage=Learned(rows=X)).fit(K)
    made = exact(5, kernel=RBF(0.25), preimage="learned").fit(X)
    np.testing.assert_allclose(
        given.inverse_transform(given.transform(K)), made.inverse_transform(made.transform(X)), atol=1e-8
    )


def test_inverse_transform_refuses_another_number_of_columns(X):
    with pytest.raises(ValueError, match="Y has 2 columns, and this model has 3 components"):
        KernelPCA(3).fit(X).inverse_transform(np.zeros((5, 2)))


def test_a_refit_forgets_the_old_preimages(X):
    model = KernelPCA(3, preimage="learned").fit(X)
    model.inverse_transform(model.transform(X))
    model.fit(X + 5)
    fresh = KernelPCA(3, preimage="learned").fit(X + 5)
    Y = fresh.transform(X + 5)
    np.testing.assert_allclose(model.inverse_transform(Y), fresh.inverse_transform(Y), atol=1e-9)


# --- state


METHODS = ["transform", "inverse_transform", "reconstruction_error", "score", "get_feature_names_out"]


def call(model, method, rows):
    return getattr(model, method)(*([] if method == "get_feature_names_out" else [rows]))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_before_fit_says_so(method, X):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(KernelPCA(2), method, X)


def fail(*_):
    raise ArithmeticError("the kernel failed")


BROKEN = {
    "nan": (lambda X: (KernelPCA(2), np.where(X > 1, np.nan, X)), ValueError),
    "parameter": (lambda X: (KernelPCA(-1), X), ValueError),
    "kernel": (lambda X: (KernelPCA(2, kernel=fail), X), ArithmeticError),
    "policy": (lambda X: (KernelPCA(2, kernel=Sigmoid(0.5), indefinite="error"), X), ValueError),
    "solver": (lambda X: (KernelPCA(2, solver=fail), X), ArithmeticError),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cause", BROKEN)
def test_a_failed_fit_leaves_the_model_unfitted(cause, method, X):
    make, error = BROKEN[cause]
    model, rows = make(X)
    for fit in (model.fit, model.fit_transform):
        with pytest.raises(error):
            fit(rows)
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]
    with pytest.raises(NotFittedError):
        call(model, method, X)


@pytest.mark.parametrize("cause", BROKEN)
def test_a_failed_refit_leaves_the_earlier_fit_intact(cause, X, X_new):
    make, error = BROKEN[cause]
    broken, rows = make(np.hstack([X, X]))
    model = KernelPCA(2).fit(X)
    before, back = model.transform(X_new), model.inverse_transform(model.transform(X_new))
    model.set_params(**broken.get_params(deep=False))
    for fit in (model.fit, model.fit_transform):
        with pytest.raises(error):
            fit(rows)
    np.testing.assert_array_equal(model.transform(X_new), before)
    np.testing.assert_array_equal(model.inverse_transform(before), back)
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("copied", [lambda model: pickle.loads(pickle.dumps(model)), deepcopy], ids=["pickle", "copy"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", gp.RBF(2.0), rbf_kernel])
def test_a_fitted_model_survives_copying(kernel, copied, X, X_new):
    model = KernelPCA(3, kernel=kernel).fit(X)
    copy = copied(model)
    np.testing.assert_array_equal(copy.transform(X_new), model.transform(X_new))
    np.testing.assert_array_equal(copy.inverse_transform(copy.transform(X)), model.inverse_transform(copy.transform(X)))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_model_that_has_made_preimages_survives_pickling(kernel, X):
    model = KernelPCA(3, kernel=kernel).fit(X)
    back = model.inverse_transform(model.transform(X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.inverse_transform(again.transform(X)), back)


def test_an_ordinary_fit_is_silent(X, X_new):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(2).fit(X).transform(X_new)
