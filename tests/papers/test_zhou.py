"""Zhou, Probabilistic analysis of kernel principal components, equations 1 to 16, one by one.

The reference is the Gaussian itself in explicit features: those of (xᵀy + 1)², where Σ is a matrix that can be
inverted and whose determinant can be taken. f is their number.
"""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer import KernelPCA, ProbabilisticKernelPCA
from mercer.kernels import RBF, Polynomial
from mercer.linalg.operators import Dense
from mercer.rkhs.gaussian import energies, energy, noise_variance
from mercer.rkhs.loadings import EM, LoadingStep

EXACTLY = 1e-10
N, q, f = 40, 3, 10
QUADRATIC = Polynomial(degree=2, gamma=1.0, coef0=1.0)
X = np.random.default_rng(0).normal(size=(N, 3))
NEW = np.random.default_rng(1).normal(size=(15, 3))
SOLVERS = ["exact", "auto"]  # in the dual, and in the primal space


def phi(X):
    """φ with φ(x)ᵀφ(y) = (xᵀy + 1)²: √2 on the linear and the cross terms."""
    i, j = np.triu_indices(X.shape[1], 1)
    return np.hstack([np.ones((len(X), 1)), np.sqrt(2) * X, X**2, np.sqrt(2) * X[:, i] * X[:, j]])


def k(X, Y):
    return (X @ Y.T + 1) ** 2


Phi = phi(X).T  # one column for each row
s = np.full((N, 1), 1 / N)
J = (np.eye(N) - s @ np.ones((1, N))) / np.sqrt(N)
mean = (Phi @ s)[:, 0]
C = Phi @ J @ J.T @ Phi.T  # (1)
K0 = k(X, X)
K = J.T @ K0 @ J  # (2)
LAM, V = (part[..., ::-1][..., :q] for part in np.linalg.eigh(K))
RHO = 0.4 * LAM[-1]


def loading(rho=RHO):
    """(9) with R = I."""
    return V * np.sqrt(1 - rho / LAM)


def sigma(rho=RHO):
    """Σ = WWᵀ + ρI of (7) and (8)."""
    W = Phi @ J @ loading(rho)
    return W @ W.T + rho * np.eye(f)


def model(solver="exact", rho=RHO, **parameters):
    return ProbabilisticKernelPCA(q, noise_variance=rho, kernel=QUADRATIC, solver=solver, **parameters).fit(X)


def in_features(model):
    """The axes of a fitted model, one in each column, and its mean."""
    Z = phi(model.anchors_).T
    return Z @ model.subspace_.axes.B, (Z @ model.subspace_.mean.B)[:, 0]


def assert_close(actual, expected, tol=EXACTLY):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * np.abs(expected).max())


def test_the_features_are_those_of_the_kernel():
    assert_close(Phi.T @ Phi, K0)  # (3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_mean_and_the_axes(solver):
    U, centre = in_features(model(solver))
    assert_close(centre, mean)
    assert_close(np.abs(U.T @ (Phi @ J @ V / np.sqrt(LAM))), np.eye(q))  # (5), up to the signs
    assert_close(model(solver).explained_variance_, LAM)
    assert_close(np.linalg.eigvalsh(C)[::-1][:q], LAM)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_loading_matrix_lies_in_the_span_of_the_rows(solver):
    U, _ = in_features(model(solver))
    W = U * np.sqrt(model(solver).explained_variance_ - RHO)  # (7)
    assert_close(W @ W.T, Phi @ J @ loading() @ loading().T @ J.T @ Phi.T)  # (8)


def test_the_matrix_q_8_and_9_and_em_from_it():
    fitted = model("exact")
    Q = fitted.loadings_
    assert_close(Q @ Q.T, loading() @ loading().T)  # (9), up to signs
    again = model(EM(init=Q))
    assert again.n_iter_ == 1
    np.testing.assert_allclose(again.explained_variance_, fitted.explained_variance_, rtol=1e-9)
    with pytest.raises(ValueError, match="shape"):
        model(EM(init=Q[1:]))
    with pytest.raises(ValueError, match="sample_weight"):
        _ = (
            ProbabilisticKernelPCA(q, kernel=QUADRATIC, solver="exact")
            .fit(X, sample_weight=np.arange(1, N + 1))
            .loadings_
        )


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_covariance_its_inverse_and_its_determinant(solver):
    fitted, Q = model(solver), loading()
    M = RHO * np.eye(q) + Q.T @ K @ Q
    assert_close(M, np.diag(LAM))
    assert_close((np.eye(f) - Phi @ J @ Q @ np.linalg.inv(M) @ Q.T @ J.T @ Phi.T) / RHO, np.linalg.inv(sigma()))  # (10)
    # the features of the library have an order of their own: compare what does not depend on it
    ours, F = fitted.get_covariance(), fitted.kernel_.features(X)
    assert_close(F @ ours @ F.T, Phi.T @ sigma() @ Phi)
    assert_close(F @ np.linalg.inv(ours) @ F.T, Phi.T @ np.linalg.inv(sigma()) @ Phi)
    log_det = np.sum(np.log(fitted.explained_variance_ / RHO)) + f * np.log(RHO)
    assert_close(log_det, np.linalg.slogdet(sigma())[1])
    assert_close(log_det, np.linalg.slogdet(ours)[1])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("rho", [1e-6 * RHO, RHO, 0.95 * LAM[-1]])
def test_the_mahalanobis_distance(solver, rho):
    away = phi(NEW) - mean
    expected = np.sum(away @ np.linalg.inv(sigma(rho)) * away, axis=1)
    tol = EXACTLY if rho > 1e-3 * RHO else 1e-8  # Σ itself has a condition of λ₁/ρ
    assert_close(model(solver, rho).mahalanobis(NEW), expected, tol)  # (12)
    g, h, Q = np.sum(away**2, axis=1), Phi.T @ away.T, loading(rho)
    M = rho * np.eye(q) + Q.T @ K @ Q
    assert_close(
        model(solver, rho).mahalanobis(NEW), (g - np.sum(h * (J @ Q @ np.linalg.inv(M) @ Q.T @ J.T @ h), 0)) / rho
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_limiting_distance_is_the_reconstruction_error(solver):
    away = phi(NEW) - mean
    h = Phi.T @ away.T
    limit = np.sum(away**2, axis=1) - np.sum(h * (J @ V / LAM @ V.T @ J.T @ h), axis=0)  # (13): Q → V, M → Λ
    assert_close(model(solver).reconstruction_error(NEW), limit)
    assert_close(model(solver, 0).score_samples(NEW), -limit)
    rho = 1e-9 * LAM[-1]
    assert_close(rho * model(solver, rho).mahalanobis(NEW), limit, 1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_density(solver):
    fitted = model(solver)
    expected = multivariate_normal(mean, sigma()).logpdf(phi(NEW))
    assert_close(fitted.score_samples(NEW) - f / 2 * np.log(2 * np.pi * RHO), expected)  # (15)
    M = RHO * np.eye(q) + loading().T @ K @ loading()
    L_hat = fitted.mahalanobis(NEW) + np.linalg.slogdet(M)[1] + q * np.log(1 / RHO)  # (16)
    assert_close(fitted.score_samples(NEW), -L_hat / 2)
    assert fitted.score(NEW) == pytest.approx(np.mean(-L_hat / 2), rel=EXACTLY)


@pytest.mark.parametrize("components", [0, 1, 2, 3])
def test_one_decomposition_gives_the_likelihood_of_every_number_of_components(components):
    W = (Phi @ J @ loading())[:, :components]
    expected = multivariate_normal(mean, W @ W.T + RHO * np.eye(f)).logpdf(phi(NEW)).mean()
    assert_close(model().score_path(NEW)[components] - f / 2 * np.log(2 * np.pi * RHO), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", [QUADRATIC, RBF(0.3)], ids=repr)
def test_the_mean_distance_of_the_rows_themselves_is_the_number_of_components_and_the_rest_of_the_variance(
    kernel, center, weighted
):
    w = np.random.default_rng(2).uniform(0.1, 2, N) if weighted else None
    fitted = ProbabilisticKernelPCA(q, noise_variance=0.01, kernel=kernel, center=center).fit(X, sample_weight=w)
    tail = fitted.total_variance_ - fitted.explained_variance_.sum()
    expected = fitted.n_components_ + tail / fitted.noise_variance_
    assert np.average(fitted.mahalanobis(X), weights=w) == pytest.approx(expected, rel=EXACTLY)
    H = fitted.transform(X)
    moments = np.average(H[:, :, None] * H[:, None, :], axis=0, weights=w)
    np.testing.assert_allclose(moments + np.diag(fitted.posterior_variance_), np.eye(q), atol=EXACTLY)


@pytest.mark.parametrize("kernel", [QUADRATIC, RBF(0.3)], ids=repr)
def test_without_noise_it_is_kernel_pca(kernel):
    kpca = KernelPCA(q, kernel=kernel).fit(X)
    fitted = ProbabilisticKernelPCA(q, noise_variance=0, kernel=kernel).fit(X)
    nearly = ProbabilisticKernelPCA(q, noise_variance=1e-14 * kpca.explained_variance_[0], kernel=kernel).fit(X)
    Y = kpca.transform(NEW)
    assert_close(fitted.transform(NEW) * np.sqrt(kpca.explained_variance_), Y, 1e-12)
    assert_close(nearly.transform(NEW) * np.sqrt(kpca.explained_variance_), Y, 1e-12)
    assert_close(fitted.features(fitted.transform(NEW)).B, kpca.subspace_.lift(Y).B, 1e-12)
    assert_close(nearly.features(nearly.transform(NEW)).B, kpca.subspace_.lift(Y).B, 1e-12)
    assert_close(fitted.reconstruction_error(NEW), kpca.reconstruction_error(NEW), 1e-12)
    assert_close(fitted.denoise(NEW), kpca.denoise(NEW), 1e-12)
    assert not fitted.posterior_variance_.any()


# Expectation–maximisation


def start():
    return np.random.default_rng(3).normal(size=(N, q))


def tipping_bishop(W, rho):
    """A step of probabilistic PCA's EM in the space of the features (Tipping & Bishop 1999, eq. 27 and 28)."""
    M = W.T @ W + rho * np.eye(q)
    W_new = C @ W @ np.linalg.inv(rho * np.eye(q) + np.linalg.inv(M) @ W.T @ C @ W)
    return W_new, np.trace(C - C @ W @ np.linalg.inv(M) @ W_new.T) / f


def test_one_step_is_the_equation_and_the_step_of_tipping_and_bishop():
    Q = start()
    M = RHO * np.eye(q) + Q.T @ K @ Q
    literal = K @ Q @ np.linalg.inv(RHO * np.eye(q) + np.linalg.inv(M) @ Q.T @ K @ K @ Q)  # (11)
    step = LoadingStep.of(Q.T @ K @ Q, (K @ Q).T @ (K @ Q), RHO)
    Q_new = K @ Q @ step.turn
    assert_close(Q_new, literal)
    W_new, rho_new = tipping_bishop(Phi @ J @ Q, RHO)
    assert_close(Phi @ J @ Q_new, W_new)
    cross = (K @ Q_new).T @ (K @ Q)
    assert step.noise_variance(cross, np.trace(K), f) == pytest.approx(rho_new, rel=EXACTLY)


def test_the_likelihood_of_a_step_is_that_of_its_covariance():
    Q = start()
    W = Phi @ J @ Q
    expected = multivariate_normal(mean, W @ W.T + RHO * np.eye(f)).logpdf(phi(X)).mean() + f / 2 * np.log(2 * np.pi)
    step = LoadingStep.of(Q.T @ K @ Q, (K @ Q).T @ (K @ Q), RHO)
    assert step.log_likelihood(np.trace(K), f) == pytest.approx(expected, rel=EXACTLY)


@pytest.mark.parametrize("rho", [None, RHO, 0.0])
def test_the_iteration_is_that_of_its_steps(rho):
    """Kept as VT with an orthonormal V, Q goes through the same matrices as in the literal form."""
    em = EM(rho, f, max_iter=6, tol=0.0)
    em(Dense(K), q, np.random.default_rng(4))
    Q = np.linalg.qr(np.random.default_rng(4).standard_normal((N, q)))[0]
    noise = np.trace(K) / f if rho is None else rho
    for likelihood in em.log_likelihoods[:-1]:
        step = LoadingStep.of(Q.T @ K @ Q, (K @ Q).T @ (K @ Q), noise)
        assert likelihood == pytest.approx(step.log_likelihood(np.trace(K), f if rho is None else 0), rel=1e-8)
        Q_new = K @ Q @ step.turn
        if rho is None:
            noise = tipping_bishop(Phi @ J @ Q, noise)[1]
        Q = Q_new


@pytest.mark.parametrize("rho", ["paper", 0, RHO, 1e-3])
@pytest.mark.parametrize("kernel", [QUADRATIC, RBF(0.3)], ids=repr)
def test_expectation_maximisation_climbs_to_what_the_eigenpairs_give(kernel, rho, same_up_to_sign):
    rho = min(rho, 0.02) if kernel == RBF(0.3) and rho != "paper" else rho
    em = ProbabilisticKernelPCA(q, noise_variance=rho, kernel=kernel, solver="em", random_state=0, tol=1e-9).fit(X)
    direct = ProbabilisticKernelPCA(q, noise_variance=rho, kernel=kernel, solver="exact").fit(X)
    trace = em.log_likelihoods_
    assert len(trace) == em.n_iter_ + 1 > 2
    assert np.diff(trace).min() >= -1e-12 * np.abs(trace).max()
    np.testing.assert_allclose(em.explained_variance_, direct.explained_variance_, rtol=1e-8)
    assert em.noise_variance_ == pytest.approx(direct.noise_variance_, rel=1e-8)
    same_up_to_sign(em.transform(NEW), direct.transform(NEW), 1e-6)
    constant = N / 2 * np.log(em.noise_variance_) if rho == "paper" else 0
    assert trace[-1] + constant == pytest.approx(direct.score(X), rel=1e-6, abs=1e-12)


# The noise, and many densities at once


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_noise_is_the_mean_variance_that_the_axes_leave(solver):
    """ρ = (tr C − Σ λ) / (f − q), which maximises the likelihood (Tipping & Bishop 1999, eq. 8)."""
    left = np.linalg.eigvalsh(C)[: f - q]
    assert noise_variance(model(solver).subspace_, q, f) == pytest.approx(left.mean(), rel=1e-9)


def test_energies_of_many_noises_and_numbers_of_axes_are_those_of_each():
    Y, r2 = model().subspace_.split(NEW)
    noises = [0.0, 0.1 * LAM[-1], RHO, 2 * LAM[1]]
    many = energies(Y, r2, LAM, range(q + 1), noises)
    for i, rho in enumerate(noises):
        for p in range(q + 1):
            kept = min(p, int(np.sum(rho < LAM)))
            outside = r2 + np.sum(Y[:, kept:] ** 2, axis=1)
            assert_close(many[i, p], energy(Y[:, :kept], outside, LAM[:kept], rho))
