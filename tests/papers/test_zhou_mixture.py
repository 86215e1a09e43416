"""Zhou, Probabilistic analysis of kernel principal components, section 3: mixtures, equation by equation.

The reference is EM in the explicit features of (xᵀy + 1)², with covariance matrices that are written down.
"""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from mercer import KernelPCAMixture
from mercer.datasets import two_cs
from mercer.eigen import Exact, Landmarks
from mercer.kernels import RBF, Polynomial
from mercer.rkhs.basis import Coordinates
from mercer.rkhs.em import by_chance, em

EXACTLY = 1e-10
QUADRATIC = Polynomial(degree=2, gamma=1.0, coef0=1.0)
SIGMA, RHO = 8.0, 0.01
RECOVERED = 0.95
DRAWS = range(4)


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(c, 0.5, size=(25, 2)) for c in ((-1, 0), (1, 0.5), (0, 1.5))])


@pytest.fixture
def X_new():
    return np.random.default_rng(1).normal(size=(20, 2))


@pytest.fixture
def R():
    return np.random.default_rng(2).dirichlet(np.ones(3), 75)


def phi(X):
    """φ with φ(x)ᵀφ(y) = (xᵀy + 1)²."""
    x, y = X.T
    return np.column_stack([np.ones(len(X)), *(2**0.5 * f for f in (x, y, x * y)), x**2, y**2])


def update(R, X, q, rho):
    """(18)–(20): weights, means and covariances WWᵀ + ρI in the features, from responsibilities."""
    F, K0, N = phi(X), (X @ X.T + 1) ** 2, len(X)
    m, means, covariances = R.mean(axis=0), [], []
    for r, q_i in zip(R.T, q, strict=True):
        s = r / r.sum()
        J = (np.eye(N) - np.outer(s, np.ones(N))) @ np.diag(np.sqrt(s))  # (19)
        lam, V = np.linalg.eigh(J.T @ K0 @ J)
        lam, V = lam[::-1][:q_i], V[:, ::-1][:, :q_i]
        V, lam = V[:, lam > rho], lam[lam > rho]  # which (20) needs and does not say
        Q = V * np.sqrt(1 - rho / lam)  # (20)
        W = F.T @ J @ Q  # (8)
        means.append(F.T @ s)  # (18)
        covariances.append(W @ W.T + rho * np.eye(F.shape[1]))
    return m, means, covariances


def log_terms(parameters, X):
    """log mᵢ N(φ; φ̄ᵢ, Σᵢ): the terms of (14)."""
    return np.column_stack(
        [np.log(m) + multivariate_normal.logpdf(phi(X), mean, C) for m, mean, C in zip(*parameters, strict=True)]
    )


def responsibilities(parameters, X):
    """(17)."""
    logs = log_terms(parameters, X)
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))


def constant(rho):
    """What the library leaves out of every log-density: (f/2)·log(2πρ)."""
    return phi(np.zeros((1, 2))).shape[1] / 2 * np.log(2 * np.pi * rho)


SETTINGS = [((2, 2, 2), 0.05), ((1, 3, 2), 0.05), ((5, 5, 5), 0.01), ((0, 1, 2), 0.5), ((4, 4, 4), 1e-3)]


@pytest.mark.parametrize("n, solver", [(75, Exact()), (75, Landmarks(n=30)), (12, Exact())], ids=repr)
@pytest.mark.parametrize("q, rho", SETTINGS)
def test_every_step_of_em_is_that_of_explicit_features(X, R, q, rho, n, solver):
    """By the covariance of the coordinates, and by the kernel matrix where there are few rows."""
    X, R = X[:: 75 // n][:n], R[:n]
    w = np.full(len(X), 1 / len(X))
    factor = Coordinates.of(QUADRATIC, X, solver, weights=w, rng=np.random.default_rng(0))
    for _, step in zip(range(20), em(factor, R, q, rho, w), strict=False):
        parameters = update(R, X, q, rho)
        R = responsibilities(parameters, X)
        np.testing.assert_allclose(step.weights, parameters[0], rtol=0, atol=EXACTLY)
        np.testing.assert_allclose(step.R, R, rtol=0, atol=EXACTLY)
        log_p = logsumexp(log_terms(parameters, X), axis=1) + constant(rho)
        np.testing.assert_allclose(step.log_p, log_p, rtol=1e-9, atol=1e-9)
        assert step.bound == pytest.approx(log_p.mean(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("solver", ["exact", "landmarks"])
@pytest.mark.parametrize("q, rho", SETTINGS)
@pytest.mark.filterwarnings("ignore:The clusters have")
@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_new_rows_are_judged_as_in_explicit_features(X, X_new, R, q, rho, solver):
    """Centred by the responsibility-weighted means of their clusters, in the mixture as in its single densities."""
    steps = 6
    model = KernelPCAMixture(
        3, list(q), noise_variance=rho, kernel=QUADRATIC, init=R, solver=solver, max_iter=steps, tol=0
    )
    model.fit(X)
    for _ in range(steps):
        parameters = update(R, X, q, rho)
        R = responsibilities(parameters, X)
    np.testing.assert_allclose(model.responsibilities_, R, rtol=0, atol=EXACTLY)
    np.testing.assert_allclose(model.predict_proba(X_new), responsibilities(parameters, X_new), rtol=0, atol=1e-8)
    logs = log_terms(parameters, X_new) + constant(rho)
    np.testing.assert_allclose(model.score_samples(X_new), logsumexp(logs, axis=1), rtol=1e-8)
    for density, m, log in zip(model.densities_, parameters[0], logs.T, strict=True):
        np.testing.assert_allclose(np.log(m) - density.energy(X_new) / 2, log, rtol=1e-8)


@pytest.mark.parametrize("solver", ["exact", "landmarks"])
@pytest.mark.filterwarnings("ignore:The clusters have")
@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_a_cluster_of_several_gaussians_is_their_sum_in_explicit_features(X, X_new, solver):
    """(14) with Σⱼ mᵢⱼ N(φ̄ᵢⱼ, Σᵢⱼ) for each cluster i; (17) is summed over the parts j."""
    steps, rho, q = 6, 0.05, (1, 2)
    init = R = np.random.default_rng(2).dirichlet(np.ones(4), len(X))
    settings = {"noise_variance": rho, "kernel": QUADRATIC, "solver": solver, "max_iter": steps, "tol": 0}
    model = KernelPCAMixture(2, list(q), n_parts=2, init=init, **settings).fit(X)
    for _ in range(steps):
        parameters = update(R, X, (1, 1, 2, 2), rho)
        R = responsibilities(parameters, X)
    np.testing.assert_allclose(model.responsibilities_, R[:, ::2] + R[:, 1::2], rtol=0, atol=EXACTLY)
    np.testing.assert_allclose([part.weight for part in model.parts_], parameters[0], rtol=0, atol=EXACTLY)
    new = responsibilities(parameters, X_new)
    np.testing.assert_allclose(model.predict_proba(X_new), new[:, ::2] + new[:, 1::2], rtol=0, atol=1e-8)
    log_p = logsumexp(log_terms(parameters, X_new) + constant(rho), axis=1)
    np.testing.assert_allclose(model.score_samples(X_new), log_p, rtol=1e-8)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), QUADRATIC, RBF(gamma=20.0)], ids=repr)
@pytest.mark.parametrize("rho", [0.1, 0.01, 1e-4])
@pytest.mark.parametrize("q", [(0, 1, 2), (None, 2, 1), (9, 9, 9)], ids=str)
@pytest.mark.parametrize("solver", [Exact(), Landmarks(n=20)], ids=repr)
def test_the_likelihood_never_falls(X, R, kernel, rho, q, solver):
    """Cut at q and at λ > ρ, the M step is still the maximum: (Λ − ρ)₊."""
    w = np.full(len(X), 1 / len(X))
    factor = Coordinates.of(kernel, X, solver, weights=w, rng=np.random.default_rng(0))
    bounds = [step.bound for _, step in zip(range(40), em(factor, R, q, rho, w), strict=False) if not step.filled]
    assert np.diff(bounds).min() >= -1e-9 * max(1, np.abs(bounds).max())
    assert bounds[-1] > bounds[0]


def test_the_mean_distance_of_a_cluster_is_q_and_its_tail(X, R):
    """Σ sₙ L(xₙ) = q + (tr C − Σ λ)/ρ for the weights that a cluster was fitted with."""
    w = np.full(len(X), 1 / len(X))
    factor = Coordinates.of(RBF(gamma=0.5), X, Exact(), weights=w)
    step = next(em(factor, R, (2, 2, 2), RHO, w))
    for c, density in zip(step.components, step.mixture(factor).densities, strict=True):
        tail = density.subspace.total_variance - c.lam.sum()
        assert c.w @ density.mahalanobis(X) == pytest.approx(len(c.lam) + tail / RHO, rel=1e-9)


# Figure 2


def mixture(**options):
    return KernelPCAMixture(2, 2, noise_variance=RHO, kernel=RBF.from_sigma(SIGMA), random_state=0, **options)


def recovered(draws, labels_of, **options):
    """In how many draws of the two Cs the labels are right; the whole count is that of ``benchmarks/two_cs.py``."""
    data = [two_cs(seed, **options) for seed in draws]
    return sum(adjusted_rand_score(y, labels_of(X)) > RECOVERED for X, y in data)


@pytest.mark.parametrize("radius", [6.0, 12.0])
def test_the_two_cs_are_found(radius):
    assert recovered(DRAWS, mixture().fit_predict, radius=radius) == len(DRAWS)


def test_one_random_start_finds_most_of_them():
    assert recovered(range(20), mixture(init="random", n_init=1).fit_predict) >= 14


def test_nothing_else_finds_them():
    gamma = RBF.from_sigma(SIGMA).gamma
    others = [
        GaussianMixture(2, n_init=2, random_state=0),
        KMeans(2, n_init=2, random_state=0),
        SpectralClustering(2, gamma=gamma, random_state=0),
    ]
    assert [recovered(DRAWS, other.fit_predict) for other in others] == [0, 0, 0]


def test_labels_settle_within_a_few_iterations():
    """From random responsibilities, in the draws where that start finds the Cs."""
    settled = []
    for seed in range(10):
        X, y = two_cs(seed)
        w = np.full(len(X), 1 / len(X))
        factor = Coordinates.of(RBF.from_sigma(SIGMA), X, Exact())
        R = by_chance(factor, 2, w, np.random.default_rng(seed))
        steps = zip(range(20), em(factor, R, (2, 2), RHO, w), strict=False)
        labels = [step.R.argmax(axis=1) for _, step in steps]
        if adjusted_rand_score(y, labels[-1]) > RECOVERED:
            settled.append(
                1 + max((t for t, before in enumerate(labels, 1) if np.any(before != labels[-1])), default=0)
            )
    assert len(settled) >= 5
    assert np.median(settled) <= 4


def test_em_for_the_loadings_ends_at_the_direct_solution():
    """After (20): a step of (11) for each Qᵢ never lowers the likelihood, and ends at the same axes."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) * [0.3, 1] + 2]
    init = 0.2 + 0.6 * np.eye(2)[np.repeat([0, 1], 30)]
    kernel = Polynomial(degree=2, gamma=0.1, coef0=1.0)
    settings = {"n_components": 2, "noise_variance": 0.01, "kernel": kernel, "init": init, "max_iter": 3000}
    em = KernelPCAMixture(2, loadings="em", tol=1e-13, **settings).fit(X)
    direct = KernelPCAMixture(2, tol=1e-13, **settings).fit(X)
    assert np.diff(em.lower_bounds_).min() > -1e-10
    assert em.n_iter_ > direct.n_iter_
    np.testing.assert_allclose(em.lower_bound_, direct.lower_bound_, rtol=1e-9)
    np.testing.assert_allclose(em.responsibilities_, direct.responsibilities_, atol=1e-5)
    for one, other in zip(em.densities_, direct.densities_, strict=True):
        np.testing.assert_allclose(one.subspace.variances, other.subspace.variances, rtol=1e-4)
