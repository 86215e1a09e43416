"""The behaviour of ``SparseKernelPCA``: its certificate, what must not matter, and as an estimator."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_estimator_checks import OMITTED, takes_tables

from mercer import KernelPCA, SparseKernelPCA, compress
from mercer.datasets import three_clusters
from mercer.kernels import RBF, Cosine, Laplacian, Linear, Matern, Polynomial, Precomputed, Sigmoid
from mercer.models import sparse as module
from mercer.preimage import Learned
from mercer.rkhs.sparse.likelihood import Likelihood, choose_candidates
from mercer.rkhs.sparse.weights import ALGORITHMS, newton

KERNELS = [
    RBF("median"),
    RBF(lengthscale=[1.0, 2.0, 3.0, 4.0]),
    Laplacian(),
    Matern(),
    Polynomial(2),
    Linear(),
    Cosine(),
]
KERNELS += [RBF("median") + 0.5 * Polynomial(2)]
unconverged = pytest.mark.filterwarnings("ignore:solver=.* has not converged:sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def toy():
    return three_clusters()


def sparse(**parameters):
    """The model of the paper's figures, unless the parameters say otherwise."""
    return SparseKernelPCA(**{"kernel": RBF(16.0), "noise_variance": 0.0625, **parameters})


def kkt(model, K, sample_weight=None):
    """The certificate from n × n matrices alone: R = S where w > 0 and R ≤ S where w = 0, relative to S."""
    p = np.ones(len(K)) if sample_weight is None else sample_weight
    w = np.zeros(len(K))
    w[model.support_] = model.weights_
    K, p, w = K[np.ix_(p > 0, p > 0)], p[p > 0], w[p > 0]
    G = K @ np.linalg.inv(model.noise_variance_ * np.eye(len(K)) + np.diag(w) @ K)
    x = np.average(G**2, axis=0, weights=p) / np.diag(G) - 1
    return max(np.abs(x[w > 0]).max(), x.max())


# --- the maximum


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
def test_the_end_is_a_certified_maximum(kernel, share, X):
    largest = Likelihood.of(kernel.bind(X, center=False), X, np.arange(len(X))).largest_noise
    model = SparseKernelPCA(kernel=kernel, noise_variance=share * largest).fit(X)
    K = model.kernel_(X, X)
    assert model.kkt_ <= 1e-6
    assert kkt(model, K) == pytest.approx(model.kkt_, abs=1e-8)
    assert np.all(model.weights_ > 0)
    assert 1 <= len(model.support_) == len(model.weights_) <= len(X)
    assert np.all(np.diff(model.support_) > 0)
    np.testing.assert_array_equal(model.anchors_, X[model.support_])


@unconverged
@pytest.mark.parametrize("solver", ALGORITHMS)
def test_the_likelihood_never_falls_and_is_that_of_the_weights(solver, toy):
    model = sparse(solver=solver, max_iter=300).fit(toy)
    values = model.log_likelihoods_
    assert len(values) == model.n_iter_ + 1
    assert model.log_likelihood_ == values[-1]
    assert np.all(np.diff(values) >= -1e-12 * np.abs(values[:-1]))
    w = np.zeros(90)
    w[model.support_] = model.weights_
    root = np.sqrt(w)
    K = model.kernel_(toy, toy)
    A = np.eye(90) + root[:, None] * K * root / 0.0625
    P = root[:, None] * np.linalg.solve(A, np.diag(root)) / 0.0625
    expected = -(90 * np.linalg.slogdet(A)[1] + (np.trace(K) - np.trace(K @ P @ K)) / 0.0625) / 2
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-10)


@unconverged
def test_the_solvers_climb_the_same_likelihood():
    X = three_clusters(n=10)
    slow, fast, best = (sparse(solver=name, max_iter=1000).fit(X) for name in ("em", "fast", "newton"))
    assert slow.log_likelihood_ < fast.log_likelihood_ <= best.log_likelihood_ + 1e-6
    assert best.log_likelihood_ - fast.log_likelihood_ < 0.5
    assert best.n_iter_ < 50 < fast.n_iter_
    assert slow.kkt_ > fast.kkt_ > best.kkt_
    assert len(slow.support_) >= len(fast.support_) >= len(best.support_)


def test_fast_steps_that_go_on_long_enough_end_at_the_same_maximum():
    X = three_clusters(3, n=4)
    fast, best = (sparse(solver=solver, max_iter=100_000).fit(X) for solver in ("fast", "newton"))
    assert fast.kkt_ <= 1e-6
    np.testing.assert_array_equal(fast.support_, best.support_)
    np.testing.assert_allclose(fast.weights_, best.weights_, rtol=1e-4)
    assert fast.log_likelihood_ == pytest.approx(best.log_likelihood_, abs=1e-6)


@pytest.mark.parametrize("solver", ["fast", "em"])
def test_an_early_end_is_told(solver, toy):
    with pytest.warns(ConvergenceWarning, match=f"{solver}.* has not converged after 5 iterations.*solver='newton'"):
        model = sparse(solver=solver, max_iter=5).fit(toy)
    assert model.kkt_ > 1e-6
    assert model.n_iter_ == 5


@pytest.mark.parametrize("kernel, most", [(Linear(), 3), (Cosine(), 3), (Polynomial(2, 1.0, 1.0), 21)], ids=repr)
def test_a_kernel_of_few_features_needs_few_anchors(kernel, most, toy):
    """Σ wφφᵀ on f features has f(f + 1)/2 numbers: more anchors than that say nothing new."""
    assert len(SparseKernelPCA(kernel=kernel).fit(toy + 0.3).support_) <= most


@pytest.mark.parametrize("share", [1e-4, 1e-5, 1e-6])
def test_small_noise_ends_where_rounding_begins(share, toy):
    largest = Likelihood.of(RBF(16.0), toy, np.arange(90)).largest_noise
    model = sparse(noise_variance=share * largest).fit(toy)
    assert model.kkt_ <= max(1e-6, 1e-15 / share**2)
    assert np.all(np.diff(model.log_likelihoods_) > -1e-9 * np.abs(model.log_likelihood_))
    assert model.score(toy) > -0.01


def test_little_noise_is_uncentred_kernel_pca(X, X_new, same_up_to_sign):
    """ρ → 0: all weights tend to 1/n, and the axes to those of kernel PCA."""
    noise = SparseKernelPCA(3, kernel=RBF(2.0), noise_variance=1e-6).fit(X)
    full = KernelPCA(3, kernel=RBF(2.0), center=False, solver="exact").fit(X)
    assert len(noise.support_) == len(X)
    np.testing.assert_allclose(noise.weights_, 1 / len(X), rtol=1e-3)
    np.testing.assert_allclose(noise.explained_variance_, full.explained_variance_, rtol=1e-4)
    same_up_to_sign(noise.transform(X_new), full.transform(X_new), 1e-3)


# --- noise variance and number of anchors


def test_more_noise_leaves_fewer_anchors(toy):
    numbers = [len(sparse(noise_variance=rho).fit(toy).support_) for rho in (0.2, 0.1, 0.05, 0.01, 0.001)]
    assert numbers == sorted(numbers)
    assert numbers[0] < 5 < 20 < numbers[-1]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("n_anchors", [1, 2, 3, 9, 20, 45])
def test_as_many_anchors_as_asked_for(n_anchors, seed):
    X = three_clusters(seed)
    model = SparseKernelPCA(n_anchors=n_anchors, kernel=RBF(16.0)).fit(X)
    assert len(model.support_) == n_anchors
    assert model.kkt_ <= 1e-6
    again = SparseKernelPCA(noise_variance=model.noise_variance_, kernel=RBF(16.0)).fit(X)
    assert again.log_likelihood_ == pytest.approx(model.log_likelihood_, abs=0.5)  # perhaps of another summit


def test_a_number_that_is_leapt_over_is_reached_by_taking_out():
    """On a mirrored grid rows come in fours and eights."""
    X = np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
    for n_anchors in (1, 2, 3, 5, 7):
        model = SparseKernelPCA(n_anchors=n_anchors, kernel=RBF(0.3)).fit(X)
        assert len(model.support_) == n_anchors
        w = model.weights_
        C = Likelihood.of(RBF(0.3), X, model.support_).at(model.noise_variance_, w)
        assert C.slack <= 1e-5  # the weights that are left are the best ones of these rows


def test_more_anchors_than_the_data_hold(toy):
    with pytest.warns(UserWarning, match=r"fewer anchors than n_anchors=50, namely \d+"):
        model = SparseKernelPCA(n_anchors=50, kernel="linear").fit(toy)
    assert 2 <= len(model.support_) < 50
    assert model.n_components_ == 2


def test_a_noise_variance_that_leaves_none_is_refused_with_the_largest(toy):
    with pytest.raises(ValueError, match="noise_variance=5 leaves no anchor.* less than ") as refusal:
        sparse(noise_variance=5).fit(toy)
    largest = float(str(refusal.value).split("less than ")[1].split(". ")[0])
    K = rbf_kernel(toy, gamma=16)
    assert largest == pytest.approx(np.max(np.mean(K**2, axis=0) / np.diag(K)), rel=1e-5)
    assert len(sparse(noise_variance=0.999 * largest).fit(toy).support_) == 1
    with pytest.raises(ValueError, match="leaves no anchor"):
        sparse(noise_variance=1.001 * largest).fit(toy)


def test_the_noise_variance_by_default_is_a_share_of_the_largest(toy):
    K = rbf_kernel(toy, gamma=16)
    model = SparseKernelPCA(kernel=RBF(16.0)).fit(toy)
    assert model.noise_variance_ == pytest.approx(0.05 * np.max(np.mean(K**2, axis=0)))


@pytest.mark.parametrize(
    "parameters, text",
    [
        ({"noise_variance": 0.1, "n_anchors": 3}, "both given"),
        ({"noise_variance": None, "n_anchors": 3, "solver": "fast"}, "needs solver='newton'"),
        ({"noise_variance": 1e-12}, "too small for double precision.*at least"),
        ({"noise_variance": -1.0}, "noise_variance"),
        ({"candidates": [3, 90]}, "from 0 to 89; 3 to 90"),
        ({"candidates": [-1, 3]}, "from 0 to 89; -1 to 3"),
        ({"candidates": [0.5, 1.0]}, "row numbers"),
        ({"candidates": [[1, 2]]}, "row numbers"),
        ({"candidates": 0}, "candidates"),
        ({"solver": "davidson"}, "solver"),
    ],
)
def test_what_cannot_be_asked_is_refused(parameters, text, toy):
    model = sparse(**parameters)
    with pytest.raises(ValueError, match=text):
        model.fit(toy)
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]


# --- candidates


def test_only_candidates_become_anchors(toy):
    rows = np.arange(5, 85, 4)
    model = sparse(candidates=rows).fit(toy)
    assert set(model.support_) <= set(rows)
    assert model.n_candidates_ == len(rows)
    assert model.kkt_ <= 1e-6
    every = sparse().fit(toy)
    assert model.log_likelihood_ < every.log_likelihood_
    shuffled = sparse(candidates=list(np.random.default_rng(0).permutation(rows))).fit(toy)
    np.testing.assert_array_equal(shuffled.support_, model.support_)
    certain = sparse(candidates=every.support_).fit(toy)
    np.testing.assert_array_equal(certain.support_, every.support_)
    np.testing.assert_allclose(certain.weights_, every.weights_, rtol=1e-6)


def test_candidates_by_number_are_chosen_by_pivoted_cholesky(toy):
    model = sparse(candidates=25, random_state=0).fit(toy)
    assert model.n_candidates_ == 25
    np.testing.assert_array_equal(model.support_, sparse(candidates=25, random_state=0).fit(toy).support_)
    assert model.log_likelihood_ > sparse(candidates=4, random_state=0).fit(toy).log_likelihood_
    every = sparse(candidates=1000).fit(toy)
    np.testing.assert_array_equal(every.support_, sparse().fit(toy).support_)


def test_many_rows_have_fewer_candidates(monkeypatch, X):
    monkeypatch.setattr(module, "ALL_ROWS", 50)
    monkeypatch.setattr(module, "SOME_ROWS", 20)
    assert SparseKernelPCA(random_state=0).fit(X).n_candidates_ == 20
    assert SparseKernelPCA(random_state=0, n_anchors=15, kernel=RBF(1.0)).fit(X).n_candidates_ == 30
    assert SparseKernelPCA(random_state=0).fit(X[:50]).n_candidates_ == 50


def test_chosen_candidates_differ_and_are_row_numbers(X):
    from mercer.linalg.operators import Dense, Gram

    rng = np.random.default_rng(0)
    kernel = RBF(0.5)
    for gram in (Gram(kernel, X), Dense(kernel(X, X)), Gram(kernel, np.repeat(X, 20, axis=0))):
        rows = choose_candidates(gram, 12, rng)
        assert len(np.unique(rows)) == len(rows) == 12
        assert rows.min() >= 0
        assert rows.max() < gram.shape[0]


# --- what must not matter


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_weight_counts_repetitions(kernel, X, X_new):
    times = np.random.default_rng(5).integers(0, 4, size=len(X))
    weighted = SparseKernelPCA(kernel=kernel).fit(X, sample_weight=times)
    repeated = SparseKernelPCA(kernel=kernel).fit(np.repeat(X, times, axis=0))
    assert_same_model(weighted, repeated, X_new)
    if not isinstance(kernel, Linear | Cosine):  # of which many weights give the same covariance
        np.testing.assert_array_equal(weighted.anchors_, repeated.anchors_)
        np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-5)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-9)
    assert weighted.n_candidates_ == repeated.n_candidates_ == np.count_nonzero(times)
    assert kkt(weighted, weighted.kernel_(X, X), times) <= 1e-6


@unconverged
@pytest.mark.parametrize("solver", ALGORITHMS)
def test_a_weight_counts_repetitions_for_every_solver(solver, toy):
    times = np.random.default_rng(5).integers(1, 4, size=90)
    model = sparse(solver=solver, max_iter=200)
    weighted, repeated = clone(model).fit(toy, sample_weight=times), clone(model).fit(np.repeat(toy, times, axis=0))
    assert_same_model(weighted, repeated, toy, 1e-4)
    np.testing.assert_allclose(weighted.log_likelihoods_, repeated.log_likelihoods_, rtol=1e-9)


def assert_same_model(one, other, X, tol=1e-6):
    assert one.total_variance_ == pytest.approx(other.total_variance_, rel=1e-10)
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=tol)
    lam = one.explained_variance_
    np.testing.assert_allclose(lam, other.explained_variance_, rtol=0, atol=tol * lam.max())
    Y, r2 = one.transform(X), one.reconstruction_error(X)
    clear = lam > 0.02 * lam.max()  # axes of next to no variance are not determined so well
    np.testing.assert_allclose(other.transform(X)[:, clear], Y[:, clear], rtol=0, atol=tol * np.abs(Y).max())
    np.testing.assert_allclose(other.reconstruction_error(X), r2, rtol=0, atol=tol * one.kernel_.diag(X).max())


def test_support_counts_rows_as_given(toy):
    """Rows of weight 0 are none to the model, and keep their place."""
    weights = np.ones(90)
    weights[::2] = 0
    model, part = sparse().fit(toy, sample_weight=weights), sparse().fit(toy[1::2])
    np.testing.assert_array_equal(model.support_, 2 * part.support_ + 1)
    np.testing.assert_array_equal(model.anchors_, toy[model.support_])
    given = sparse(candidates=np.arange(30)).fit(toy, sample_weight=weights)
    assert set(given.support_) <= set(range(1, 30, 2))
    with pytest.raises(ValueError, match="All candidates have the sample weight 0"):
        sparse(candidates=[0, 2]).fit(toy, sample_weight=weights)


def test_equal_rows_are_kept_once(toy):
    twice = np.concatenate([toy, toy, toy[:7]])
    model = sparse().fit(twice)
    assert model.n_candidates_ == 90
    assert model.support_.max() < 90
    assert len(np.unique(model.anchors_, axis=0)) == len(model.anchors_)


def test_the_order_of_the_rows_does_not_matter(toy, X):
    for rows, kernel in ((toy, RBF(16.0)), (X, RBF("median"))):
        order = np.random.default_rng(4).permutation(len(rows))
        one, other = (SparseKernelPCA(kernel=kernel).fit(data) for data in (rows, rows[order]))
        assert set(order[other.support_]) == set(one.support_)
        Y = one.transform(rows)
        np.testing.assert_allclose(other.transform(rows), Y, rtol=0, atol=1e-6 * np.abs(Y).max())


@pytest.mark.parametrize("working_memory", [1e-3, 1e-1, 1024])
def test_the_tiles_do_not_matter(working_memory, X, X_new):
    weights = np.random.default_rng(0).uniform(size=len(X))
    with sklearn.config_context(working_memory=working_memory):
        model = SparseKernelPCA(candidates=np.arange(0, 60, 2)).fit(X, sample_weight=weights)
    assert_same_model(SparseKernelPCA(candidates=np.arange(0, 60, 2)).fit(X, sample_weight=weights), model, X_new, 1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_single_precision_is_near_double_precision(kernel, X):
    X = X.astype(np.float32)
    single, double = (SparseKernelPCA(kernel=kernel).fit(rows) for rows in (X, X.astype(float)))
    np.testing.assert_array_equal(single.support_, double.support_)
    Y = single.transform(X)
    assert Y.dtype == single.fit_transform(X).dtype == single.anchors_.dtype == np.float32
    assert single.explained_variance_.dtype == single.reconstruction_error(X).dtype == np.float64
    np.testing.assert_allclose(Y[:, :2], double.transform(X.astype(float))[:, :2], rtol=0, atol=1e-4 * np.abs(Y).max())


def test_sparse_rows_are_dense_rows(X, X_new):
    X, X_new = np.where(X > 0.3, X, 0), np.where(X_new > 0.3, X_new, 0)
    for kernel in (RBF(0.5), Linear(), Polynomial(2)):
        for candidates in (None, 20):
            dense, by_rows = (
                SparseKernelPCA(kernel=kernel, candidates=candidates, random_state=0).fit(rows)
                for rows in (X, scipy.sparse.csr_matrix(X))
            )
            assert scipy.sparse.issparse(by_rows.anchors_)
            if candidates is None:  # the draws of candidates may differ in the last digit
                assert_same_model(dense, by_rows, X_new)


@pytest.mark.parametrize("candidates", [None, np.arange(0, 60, 4)], ids=["all", "some"])
@pytest.mark.parametrize("weighted", [False, True])
def test_precomputed_is_the_kernel_that_made_the_matrix(weighted, candidates, X, X_new):
    weights = np.arange(60) % 3.0 if weighted else None
    K, K_new = rbf_kernel(X, gamma=0.3), rbf_kernel(X_new, X, gamma=0.3)
    given = SparseKernelPCA(kernel=Precomputed(diag=1.0), candidates=candidates)
    np.testing.assert_allclose(given.fit_transform(K, sample_weight=weights), given.transform(K), atol=1e-12)
    made = SparseKernelPCA(kernel=RBF(0.3), candidates=candidates).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(given.support_, made.support_)
    np.testing.assert_array_equal(given.anchors_[:, 0], made.support_)
    np.testing.assert_allclose(given.weights_, made.weights_, rtol=1e-6)
    np.testing.assert_allclose(given.transform(K_new), made.transform(X_new), atol=1e-7)
    np.testing.assert_allclose(given.transform(K), made.transform(X), atol=1e-7)
    np.testing.assert_allclose(given.reconstruction_error(K_new), made.reconstruction_error(X_new), atol=1e-7)
    K[:] = 0
    np.testing.assert_allclose(given.transform(K_new), made.transform(X_new), atol=1e-7)


def test_the_rows_of_the_caller_may_change_later(toy):
    rows = toy.copy()
    model = sparse().fit(rows)
    before = model.transform(toy)
    rows[:] = 0
    np.testing.assert_array_equal(model.transform(toy), before)


# --- variances, components and errors


@pytest.mark.parametrize("q", [1, 3, 0.5, None])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_variances_are_those_of_the_training_rows(kernel, q, X):
    weights = np.random.default_rng(0).uniform(size=len(X))
    model = SparseKernelPCA(q, kernel=kernel).fit(X, sample_weight=weights)
    Y, r2, k_xx = model.transform(X), model.reconstruction_error(X), model.kernel_.diag(X)
    assert model.total_variance_ == pytest.approx(np.average(k_xx, weights=weights), rel=1e-10)
    np.testing.assert_allclose(model.explained_variance_, np.average(Y**2, axis=0, weights=weights), rtol=1e-6)
    np.testing.assert_allclose(r2, k_xx - np.sum(Y**2, axis=1), atol=1e-7 * k_xx.max())
    left = 1 - model.explained_variance_ratio_.sum()
    assert np.average(r2, weights=weights) / model.total_variance_ == pytest.approx(left, abs=1e-8)
    assert np.all(np.diff(model.eigenvalues_) <= 0)


def test_the_score_is_the_share_that_is_left(toy):
    model = sparse().fit(toy)
    assert model.score(toy) == pytest.approx(model.explained_variance_ratio_.sum() - 1, rel=1e-8)


def test_the_model_knows_the_variance_along_its_axes(toy):
    """At the maximum Σ λ̃/(λ̃ + ρ)² (mean y² − λ̃ − ρ) = 0: the axes hold on average what the model says."""
    model = sparse().fit(toy)
    rho = model.noise_variance_
    lam = model.subspace_.variances
    np.testing.assert_allclose(model.eigenvalues_, 90 * (lam + rho), rtol=1e-12)
    assert np.sum(lam / (lam + rho) ** 2 * (model.explained_variance_ - lam - rho)) == pytest.approx(0, abs=1e-9)


def test_a_share_takes_the_fewest_components_that_hold_it(toy):
    model = sparse(n_components=0.6).fit(toy)
    held = model.explained_variance_ratio_
    assert held.sum() >= 0.6 > held[:-1].sum()
    assert model.transform(toy).shape == (90, len(held))
    assert sparse(n_components=0.999).fit(toy).n_components_ == len(model.support_)  # no more are there


def test_components_number_at_most_the_anchors(toy):
    every, some = sparse(n_components=1000).fit(toy), sparse(n_components=3).fit(toy)
    assert every.n_components_ == len(every.support_) > some.n_components_ == 3
    np.testing.assert_allclose(every.transform(toy)[:, :3], some.transform(toy), atol=1e-10)
    np.testing.assert_array_equal(sparse().fit_transform(toy), sparse().fit(toy).transform(toy))


def test_the_linear_kernel_is_pca_without_a_mean(X):
    """All directions are kept, and the error of q of them is near that of the best q."""
    model = SparseKernelPCA(kernel="linear", noise_variance=1e-3).fit(X)
    assert model.n_components_ == 4
    np.testing.assert_allclose(model.reconstruction_error(X), 0, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-7)
    values = np.linalg.eigvalsh(X.T @ X / len(X))[::-1]
    np.testing.assert_allclose(model.eigenvalues_ / len(X), values, rtol=1e-3)
    pca = PCA(4).fit(np.concatenate([X, -X]))
    np.testing.assert_allclose(np.abs(model.subspace_.axes.B.T @ model.anchors_), np.abs(pca.components_), atol=1e-2)


# --- pre-images


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_inverse_transform_brings_rows_back(kernel):
    X = 3 * three_clusters()
    model = SparseKernelPCA(kernel=kernel).fit(X)
    for back in (model.inverse_transform(model.transform(X)), model.denoise(X)):
        assert np.mean((back - X) ** 2) < 0.1 * X.var()
    result = model.preimages(model.transform(X))
    assert np.all(result.error >= 0)


def test_a_precomputed_kernel_returns_to_rows_that_are_given(toy):
    K = rbf_kernel(toy, gamma=16)
    with pytest.raises(ValueError, match=r"Learned\(rows=X\)"):
        sparse(kernel="precomputed").fit(K).denoise(K)
    back = sparse(kernel="precomputed", preimage=Learned(rows=toy)).fit(K).denoise(K)
    assert np.mean((back - toy) ** 2) < 0.2 * toy.var()


# --- degenerate data


@pytest.mark.parametrize("n", [1, 2, 7])
def test_constant_rows_have_one_anchor(n):
    model = SparseKernelPCA().fit(np.ones((n, 2)))
    np.testing.assert_array_equal(model.support_, [0])
    np.testing.assert_allclose(model.weights_, 0.95)  # λ − ρ, at ρ = 0.05 λ
    np.testing.assert_allclose(model.reconstruction_error(np.ones((n, 2))), 0, atol=1e-12)


def test_rows_at_the_origin_have_no_component():
    X = np.zeros((6, 2))
    with pytest.warns(UserWarning, match="no component has any variance"):
        model = SparseKernelPCA(kernel="linear").fit(X)
    assert model.transform(X).shape == (6, 0)
    assert len(model.support_) == len(model.weights_) == 0
    np.testing.assert_array_equal(model.reconstruction_error(X), 0)
    assert model.score(X) == 0


def test_a_row_at_the_origin_is_no_anchor(X):
    X[7] = 0
    model = SparseKernelPCA(kernel="linear").fit(X)
    assert 7 not in model.support_
    assert model.n_candidates_ == len(X) - 1


def test_a_narrow_kernel_is_told_and_keeps_every_row(X):
    with pytest.warns(UserWarning, match="too narrow"):
        model = SparseKernelPCA(kernel=RBF(1e6)).fit(X)
    np.testing.assert_array_equal(model.support_, np.arange(len(X)))
    np.testing.assert_allclose(model.weights_, 0.95 / len(X))


@pytest.mark.parametrize("candidates", [None, np.arange(40)], ids=["all", "some"])
def test_an_indefinite_kernel_is_clipped_with_a_word(candidates, X):
    kernel = Sigmoid(0.5, 1.0)
    K = kernel(X, X)
    part = K if candidates is None else K[:40, :40]
    values, V = np.linalg.eigh(part)
    mass = np.abs(values[values < 0]).sum() / np.abs(values).sum()
    with pytest.warns(UserWarning, match=f"indefinite.* {mass:.1%} of the mass"):
        model = SparseKernelPCA(kernel=kernel, candidates=candidates).fit(X)
    assert model.kkt_ <= 1e-6
    assert np.all(np.isfinite(model.transform(X)))
    if candidates is None:
        positive = V[:, values > 0] * values[values > 0] @ V[:, values > 0].T
        assert kkt(model, positive) <= 1e-5


def test_a_matrix_in_single_precision_is_no_indefinite_one(toy):
    K = rbf_kernel(toy, gamma=16)
    single, double = (SparseKernelPCA(kernel="precomputed", noise_variance=1e-4).fit(k) for k in (K.astype("f"), K))
    assert single.transform(K.astype("f")).dtype == np.float32
    assert single.log_likelihood_ == pytest.approx(double.log_likelihood_, rel=1e-3)


# --- size


def test_a_hundred_thousand_rows_fit_the_memory_budget():
    pytest.importorskip("resource")  # not on Windows
    script = """
        import resource, sys
        import numpy as np
        import sklearn
        from mercer import SparseKernelPCA
        from mercer.kernels import RBF

        def peak():
            kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return kilobytes / 1024 if sys.platform != "darwin" else kilobytes / 2**20

        X = np.random.default_rng(0).normal(size=(100_000, 4))
        SparseKernelPCA(candidates=50, n_anchors=5, random_state=0).fit(X[:1000])
        before = peak()
        with sklearn.config_context(working_memory=64):
            model = SparseKernelPCA(candidates=200, noise_variance=0.01, random_state=0).fit(X)
        assert model.kkt_ <= 1e-6 and model.n_candidates_ == 200
        print(peak() - before)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    product = 8 * 100_000 * 200 / 2**20
    assert float(done.stdout) < 100 < product


def test_candidates_that_do_not_fit_are_refused_before_work(monkeypatch, X):
    monkeypatch.setattr("mercer._core.memory.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match="240 candidates needs .* Give a smaller number of candidates"):
        SparseKernelPCA().fit(np.concatenate([X + i for i in range(4)]))


def test_the_second_moment_is_that_of_all_rows(X):
    """Only K of the candidates, one product and the trace are kept: none of them is of size n."""
    p = np.random.default_rng(0).uniform(size=60)
    p /= p.sum()
    data = Likelihood.of(RBF(0.3), X, np.arange(0, 60, 5), p)
    k = rbf_kernel(X[::5], X, gamma=0.3)
    np.testing.assert_allclose(data.M, k * p @ k.T, rtol=1e-12)
    np.testing.assert_allclose(data.K, k[:, ::5], rtol=1e-12)
    assert data.trace == pytest.approx(1)
    np.testing.assert_allclose(data.shares, p[::5] / p[::5].sum())


def test_additions_stop_at_a_number(toy):
    data = Likelihood.of(RBF(16.0), toy, np.arange(90))
    fit = newton(data, 0.01, 1000, 1e-6, most=5)
    assert len(fit.w) == 5
    assert fit.converged
    assert fit.covariance.slack <= 1e-6 < fit.kkt


# --- scikit-learn's ways of working

MODELS = [
    SparseKernelPCA(),
    SparseKernelPCA(2, n_anchors=2),
    SparseKernelPCA(2, candidates=5, random_state=0),
    SparseKernelPCA(2, solver="fast", max_iter=20),
    SparseKernelPCA(0.5, kernel=RBF(gamma="median")),
    SparseKernelPCA(2, kernel="linear"),
    SparseKernelPCA(2, kernel="chi2", noise_variance=1e-3),
    SparseKernelPCA(kernel="precomputed"),
]

# The data of the checks reach both ends of a kernel's width, a matrix of arbitrary numbers is no kernel, and the checks
# of set_output go from tables to arrays.
of_checks = [
    unconverged,
    pytest.mark.filterwarnings("ignore:The data are constant in feature space:UserWarning"),
    pytest.mark.filterwarnings("ignore:The kernel is too narrow for these data:UserWarning"),
    pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite:UserWarning"),
    pytest.mark.filterwarnings(r"ignore:The model keeps fewer anchors than n_anchors:UserWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning"),
    pytest.mark.filterwarnings("ignore:X has feature names, but:UserWarning"),
    pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:sklearn.exceptions.SkipTestWarning"),
]


def for_checks(test):
    for mark in of_checks:
        test = mark(test)
    return test


def by_lot(estimator):
    """Candidates that are drawn by lot differ where a row stands twice."""
    checks = ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"]
    return dict.fromkeys(checks, by_lot.__doc__) if estimator.candidates else {}


@for_checks
@parametrize_with_checks(MODELS, expected_failed_checks=by_lot)
def test_checks_of_check_estimator(estimator, check):
    check(estimator)


@for_checks
@pytest.mark.parametrize("name", OMITTED)
@pytest.mark.parametrize("estimator", [*filter(takes_tables, MODELS)], ids=repr)
def test_checks_that_check_estimator_omits(estimator, name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check(type(estimator).__name__, estimator)


def test_grid_search_pipelines_and_clones(X):
    search = GridSearchCV(SparseKernelPCA(kernel="rbf"), {"kernel__gamma": [0.1, 1.0], "n_components": [1, 2]}, cv=3)
    assert np.all(np.isfinite(search.fit(X).cv_results_["mean_test_score"]))
    pipeline = make_pipeline(StandardScaler(), SparseKernelPCA(2))
    assert pipeline.fit_transform(X).shape == (60, 2)
    assert list(pipeline.get_feature_names_out()) == ["sparsekernelpca0", "sparsekernelpca1"]
    assert not hasattr(clone(SparseKernelPCA().fit(X)), "subspace_")


def test_it_can_be_compressed(toy):
    model = sparse(n_components=3).fit(toy)
    small = compress(model, 5)
    assert len(small.anchors_) == 5 < len(model.anchors_)
    np.testing.assert_allclose(small.transform(toy), model.transform(toy), atol=small.compression_.error**0.5)
    assert compress(model, tol=0.5).explained_variance_ratio_.shape == (3,)


def test_a_fitted_model_survives_pickling(toy):
    model = sparse().fit(toy)
    back = model.inverse_transform(model.transform(toy))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.inverse_transform(again.transform(toy)), back)
    np.testing.assert_array_equal(again.explained_variance_, model.explained_variance_)


def test_a_failed_refit_leaves_the_earlier_fit_intact(toy, X):
    model = sparse().fit(toy)
    before, support = model.transform(toy), model.support_
    with pytest.raises(ValueError, match="leaves no anchor"):
        model.set_params(noise_variance=10.0).fit(X)
    np.testing.assert_array_equal(model.transform(toy), before)
    np.testing.assert_array_equal(model.support_, support)
    assert "_given" not in vars(model)


def test_results_repeat_bit_for_bit_at_one_seed(X):
    for parameters in ({}, {"candidates": 30, "random_state": 1}, {"n_anchors": 10, "kernel": RBF(1.0)}):
        one, other = (SparseKernelPCA(**parameters).fit(X) for _ in range(2))
        np.testing.assert_array_equal(one.transform(X), other.transform(X))
