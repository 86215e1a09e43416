"""De Plaen & Suykens, A dual formulation for probabilistic principal component analysis, equation by equation.

The reference is written down in explicit features, those of (xᵀy + 1)² on the three clusters: five directions after
centring. Where the paper has a misprint the corrected form stands, with a word.
"""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer import KernelPCA, ProbabilisticKernelPCA, datasets
from mercer.kernels import RBF, Polynomial
from mercer.preimage import Smoother

EXACTLY = 1e-10
QUADRATIC = Polynomial(degree=2, gamma=1.0, coef0=1.0)
X = datasets.three_clusters(0)
NEW = datasets.three_clusters(1)[::7]
N, q = len(X), 2
H_ = np.eye(N) - 1 / N  # the centring matrix
SOLVERS = ["exact", "auto"]  # dual and primal


def phi(X):
    """φ of (xᵀy + 1)² on two columns."""
    x, y = X.T
    return np.column_stack([np.ones(len(X)), *(2**0.5 * part for part in (x, y, x * y)), x**2, y**2])


PHI = phi(X).T
PHI_C = PHI @ H_
K_C = PHI_C.T @ PHI_C
MU, E = (part[..., ::-1] for part in np.linalg.eigh(K_C))
RANK = 5
MU, E = MU[:RANK], E[:, :RANK]
FEATURES_V = PHI_C @ E / np.sqrt(MU)  # Lemma 1
NOISE = (np.trace(K_C) - MU[:q].sum()) / (N * (N - q))  # (6)
A = E[:, :q] * np.sqrt(1 / N - NOISE / MU[:q])  # table 4; (13)
W = FEATURES_V[:, :q] * np.sqrt(MU[:q] / N - NOISE)  # table 4; (5)
SIGMA = W @ W.T + NOISE * np.eye(len(W))  # of (3)
B = E * np.append(MU[:q] / np.sqrt(N), np.sqrt(NOISE * MU[q:]))  # table 4


def model(solver="exact", noise="paper", kernel=QUADRATIC, **parameters):
    return ProbabilisticKernelPCA(q, noise_variance=noise, kernel=kernel, solver=solver, **parameters).fit(X)


def k_c(F):
    """Centred kernel vectors of vectors that are columns of features."""
    return PHI_C.T @ (F - PHI.mean(axis=1, keepdims=True))


def vectors(expansion):
    return phi(expansion.Z).T @ expansion.B


def assert_close(actual, expected, tol=EXACTLY):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * np.abs(expected).max())


def up_to_signs(ours, theirs):
    """Ours with the signs of theirs, column by column."""
    return ours * np.where(np.sum(ours * theirs, axis=0) < 0, -1, 1)


@pytest.mark.parametrize("solver", SOLVERS)
def test_training(solver):
    fitted = model(solver)
    assert_close(fitted.eigenvalues_, MU[:q])
    assert fitted.noise_variance_ == pytest.approx(NOISE, rel=EXACTLY)
    assert fitted.eigenvalues_[0] == pytest.approx(35.314728, abs=1e-6)
    U = phi(fitted.anchors_).T @ fitted.subspace_.axes.B
    ours = up_to_signs(U * np.sqrt(fitted.explained_variance_ - fitted.noise_variance_), W)
    assert_close(ours, W)  # (5)
    assert_close(W, PHI_C @ A)  # Proposition 5: primal and dual are one
    assert_close((phi(fitted.anchors_).T @ fitted.subspace_.mean.B)[:, 0], PHI.mean(axis=1))  # (4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_latent_variable_from_features_and_from_kernels(solver):
    fitted, F = model(solver), phi(NEW).T
    primal = np.linalg.solve(W.T @ W + NOISE * np.eye(q), W.T @ (F - PHI.mean(axis=1, keepdims=True)))  # Proposition 4
    dual = np.linalg.solve(A.T @ K_C @ A + NOISE * np.eye(q), A.T @ k_c(F))  # Proposition 8
    assert_close(dual, primal)
    assert_close(N / MU[:q, None] * (A.T @ k_c(F)), primal)  # (20)
    assert_close(N / MU[:q, None] * (W.T @ (F - PHI.mean(axis=1, keepdims=True))), primal)  # (21)
    assert_close(up_to_signs(fitted.transform(NEW), primal.T), primal.T)
    posterior = NOISE * np.linalg.inv(W.T @ W + NOISE * np.eye(q))  # (7): the covariance is σ²Σ, the mean Σ W*(φ − μ)
    assert_close(np.diag(fitted.posterior_variance_), posterior)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_way_back_in_features_and_in_kernels(solver):
    fitted, F = model(solver), phi(NEW).T
    h = np.linalg.solve(W.T @ W + NOISE * np.eye(q), W.T @ (F - PHI.mean(axis=1, keepdims=True)))
    ours = vectors(fitted.features(fitted.transform(NEW)))
    assert_close(ours, W @ h + PHI.mean(axis=1, keepdims=True))  # (23)
    assert_close(k_c(ours), K_C @ A @ h)  # (22)
    shrunk = 1 - N * NOISE / MU[:q]
    projected = FEATURES_V[:, :q] * shrunk @ FEATURES_V[:, :q].T @ (F - PHI.mean(axis=1, keepdims=True))
    assert_close(ours - PHI.mean(axis=1, keepdims=True), projected)


def test_the_covariance_of_kernel_vectors():
    """K_c A Aᵀ K_c + σ²K_c: (18), (53) and table 1 print the covariance of the coefficients α instead."""
    assert_close(K_C @ A @ A.T @ K_C + NOISE * K_C, B @ B.T)
    in_features = W @ W.T + NOISE * np.eye(len(W))  # (3)
    assert_close(PHI_C.T @ in_features @ PHI_C, B @ B.T)
    alpha = A @ A.T + NOISE * np.linalg.pinv(K_C)  # as printed in (18)
    assert_close(K_C @ alpha @ K_C, B @ B.T)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_covariance_of_our_samples_is_that_of_the_model(solver):
    """Exactly: the coefficients are a linear map of standard normal numbers, taken apart column by column."""
    fitted = model(solver)
    density, basis = fitted.density_, fitted.density_._noise_basis[0]
    inputs = np.eye(q + len(basis.R))
    signal = vectors(density.features(inputs[:, :q])) - PHI.mean(axis=1, keepdims=True)
    noise = np.sqrt(NOISE) * phi(fitted.anchors_[basis.kept]).T @ basis.R @ inputs[:, q:].T
    assert_close(PHI_C.T @ (signal + noise) @ (signal + noise).T @ PHI_C, B @ B.T)


@pytest.mark.parametrize("given", [False, True])
def test_samples_of_features_and_their_lengths(given):
    fitted, rng = model(noise=0.01), np.random.default_rng(0)
    h = np.tile([[1.5, -0.5]], (20_000, 1))
    drawn = fitted.density_.sample_given(h, rng) if given else fitted.density_.sample(20_000, rng)
    F = vectors(drawn)
    np.testing.assert_allclose(drawn.sqnorms(), np.sum(F**2, axis=0), rtol=1e-9)
    assert_close(F.mean(axis=1), vectors(fitted.features(h[:1]))[:, 0] if given else PHI.mean(axis=1), 0.02)
    if given:  # k_c | h has the covariance σ²K_c
        assert np.linalg.norm(np.cov(k_c(F)) - 0.01 * K_C) < 0.02 * np.linalg.norm(0.01 * K_C)


@pytest.mark.parametrize("kernel", [RBF(gamma=10.0), QUADRATIC], ids=repr)
def test_the_covariance_of_many_samples(kernel):
    """400 000 sampled k_c are within 1 % of BBᵀ in Frobenius norm, whether the kernel's space is finite or not."""
    fitted, rng = model(kernel=kernel), np.random.default_rng(0)
    K = kernel(X, X)
    mu, vectors = (part[..., ::-1] for part in np.linalg.eigh(H_ @ K @ H_))
    mu, rho = np.maximum(mu, 0), fitted.noise_variance_
    B = vectors * np.append(mu[:q] / np.sqrt(N), np.sqrt(rho * mu[q:]))
    density, centring, second = fitted.density_, H_ @ K, np.zeros((N, N))
    for _ in range(40):
        kernel_vectors = centring @ (density.sample(10_000, rng).B - fitted.subspace_.mean.B)
        second += kernel_vectors @ kernel_vectors.T
    assert np.linalg.norm(second / 400_000 - B @ B.T) < 0.01 * np.linalg.norm(B @ B.T)


def test_primal_and_dual_samples_have_the_same_distribution_of_kernel_vectors():
    samples = [k_c(vectors(model(solver).density_.sample(50_000, np.random.default_rng(1)))) for solver in SOLVERS]
    for sample in samples:
        assert np.linalg.norm(sample @ sample.T / 50_000 - B @ B.T) < 0.03 * np.linalg.norm(B @ B.T)


def test_without_noise_samples_are_those_of_kernel_pca():
    """φ̄ + U Λ^½ h, in the subspace and nowhere else."""
    fitted, kpca = model(noise=0), KernelPCA(q, kernel=QUADRATIC, solver="exact").fit(X)
    drawn = fitted.density_.sample(50, np.random.default_rng(2))
    h = np.random.default_rng(2).standard_normal((50, q))
    assert_close(vectors(drawn), vectors(kpca.subspace_.lift(h * np.sqrt(kpca.explained_variance_))), 1e-12)


def test_the_smoother_takes_the_uncentred_kernel_vector():
    """(19) with the centred k_c divides by zero: its entries sum to 0."""
    fitted = model(kernel=RBF(gamma=10.0), preimage=Smoother(neighbours=N))
    drawn = fitted.density_.sample(10, np.random.default_rng(3))
    K = RBF(gamma=10.0)(X, X)
    centred = H_ @ K @ (drawn.B - fitted.subspace_.mean.B)
    assert np.abs(centred.sum(axis=0)).max() < EXACTLY * np.abs(centred).max()
    weights = np.maximum(K @ drawn.B, 0)
    expected = (weights / weights.sum(axis=0)).T @ X
    assert_close(fitted._preimages()(drawn).X, expected)


@pytest.mark.parametrize("stabilizer", [0.0, 0.1])
def test_the_linear_smoother_and_its_stabilising_term(stabilizer):
    """(19) as it stands, with the uncentred kernel vector; the term in the denominator moves rows to the mean."""
    linear = Smoother(neighbours=None, weights="linear", stabilizer=stabilizer)
    fitted = model(kernel=RBF(gamma=10.0), preimage=linear)
    drawn = fitted.density_.sample(10, np.random.default_rng(3))
    k = RBF(gamma=10.0)(X, X) @ drawn.B
    size = k.sum(axis=0) + stabilizer * np.abs(k).sum(axis=0)
    expected = X.mean(axis=0) + (k / size).T @ (X - X.mean(axis=0))
    assert_close(fitted._preimages()(drawn).X, expected)
    if not stabilizer:
        assert_close(expected, (k / k.sum(axis=0)).T @ X)


@pytest.mark.parametrize("center", [True, False])
def test_the_density_lives_where_k_c_can_see_it(center):
    """span{φᵢ} has one dimension more than span{φᵢ − φ̄}: K_c is never of full rank."""
    whole = ProbabilisticKernelPCA(noise_variance=0, kernel=RBF(gamma=10.0), center=center).fit(X)
    assert whole.n_components_ <= N - center
    assert np.linalg.matrix_rank(PHI) == RANK + 1
    assert np.linalg.matrix_rank(PHI_C) == RANK


def test_the_normaliser_is_a_product():
    """Proposition 2 prints a sum; Lemma 3's other eigenvalues are σ², not 0."""
    sigma = W @ W.T + NOISE * np.eye(len(W))
    eigenvalues = np.sort(np.linalg.eigvalsh(sigma))[::-1]
    assert_close(eigenvalues, np.append(MU[:q] / N, np.full(len(W) - q, NOISE)))
    fitted = model()
    log_det = np.sum(np.log(fitted.explained_variance_)) + (len(W) - q) * np.log(fitted.noise_variance_)
    assert log_det == pytest.approx(np.linalg.slogdet(sigma)[1], rel=EXACTLY)


@pytest.mark.parametrize("solver", SOLVERS)
def test_kernel_vectors_given_a_latent_variable_14(solver):
    """k_c | h ~ N(K_c A h, σ²K_c), exactly: the noise is a linear map of standard normal numbers."""
    fitted = model(solver, NOISE)
    basis, h = fitted.density_._noise_basis[0], np.array([[1.5, -0.5], [0.2, 2.0]])
    noise = np.sqrt(NOISE) * phi(fitted.anchors_[basis.kept]).T @ basis.R
    assert_close(PHI_C.T @ noise @ noise.T @ PHI_C, NOISE * K_C)
    U = phi(fitted.anchors_).T @ fitted.subspace_.axes.B
    signs = np.sign(np.sum(U * FEATURES_V[:, :q], axis=0))
    assert_close(k_c(vectors(fitted.features(h))), K_C @ A @ (signs * h).T)  # (17)


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_noise_the_latent_variable_is_a_pseudo_inverse_11(solver):
    limit = FEATURES_V[:, :q] * np.sqrt(MU[:q] / N)
    away = phi(NEW).T - PHI.mean(axis=1, keepdims=True)
    h = (np.linalg.pinv(limit) @ away).T
    assert_close(up_to_signs(model(solver, 0).transform(NEW), h), h)
    whole = ProbabilisticKernelPCA(RANK, noise_variance=0, kernel=QUADRATIC, solver=solver).fit(X)
    assert_close(vectors(whole.features(whole.transform(NEW))), phi(NEW).T)  # all axes: nothing is lost


def along(U, F):
    """ϱₚ*(φ − μ) of columns of features."""
    return U.T @ (F - PHI.mean(axis=1, keepdims=True))


def squares_outside(U, F):
    """(φ − μ)*P⊥(φ − μ)."""
    return np.sum((F - PHI.mean(axis=1, keepdims=True) - U @ along(U, F)) ** 2, axis=0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_exponent_of_the_marginal_density_33_to_39(solver):
    fitted, F = model(solver, NOISE), phi(NEW).T
    U, s2 = FEATURES_V[:, :q], MU[:q] / N - NOISE
    np.testing.assert_allclose(np.linalg.eigvalsh(W.T @ W + NOISE * np.eye(q))[::-1], s2 + NOISE, rtol=EXACTLY)  # (33)
    in_parts = np.sum(along(U, F) ** 2 / (s2 + NOISE)[:, None], axis=0) + squares_outside(U, F) / NOISE
    assert_close(fitted.mahalanobis(NEW), in_parts)  # (39), left
    whole = F - PHI.mean(axis=1, keepdims=True)
    assert_close(fitted.mahalanobis(NEW), np.sum(whole * np.linalg.solve(SIGMA, whole), axis=0))  # (39), right
    density = multivariate_normal(PHI.mean(axis=1), SIGMA).logpdf(phi(NEW))
    assert_close(fitted.score_samples(NEW) - len(W) / 2 * np.log(2 * np.pi * NOISE), density)  # (35)


def mean_log_likelihood(U, s2):
    """(42) of a mean row; the sums over rows are of squares, and N stands for the dimension of the space, 6 here."""
    logs = len(U) * np.log(2 * np.pi) + (len(U) - q) * np.log(NOISE) + np.sum(np.log(s2 + NOISE))
    outside, inside = squares_outside(U, PHI).mean(), np.mean(along(U, PHI) ** 2, axis=1)
    return -(logs + outside / NOISE + np.sum(inside / (s2 + NOISE))) / 2


def test_the_likelihood_and_its_maximum_42_to_44():
    fitted, U, s2 = model(noise=NOISE), FEATURES_V[:, :q], MU[:q] / N - NOISE
    best = mean_log_likelihood(U, s2)
    assert fitted.score(X) - len(W) / 2 * np.log(2 * np.pi * NOISE) == pytest.approx(best, rel=EXACTLY)
    assert_close(np.mean(along(U, PHI) ** 2, axis=1), fitted.explained_variance_)  # (43): s² + σ² = λ
    for p in range(q):
        for factor in (0.99, 1.01):
            assert mean_log_likelihood(U, np.where(np.arange(q) == p, factor * s2, s2)) < best
    rng = np.random.default_rng(0)
    turned = [np.linalg.qr(U + 0.1 * rng.normal(size=U.shape))[0] for _ in range(20)]
    assert max(mean_log_likelihood(V, s2) for V in turned) < best  # (44)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_marginal_distribution_in_the_dual_54_to_57(solver):
    """With pseudo-inverses, because K_c is singular, and A A* where A* A is printed."""
    alpha = A @ A.T + NOISE * np.linalg.pinv(K_C, hermitian=True)
    seen = FEATURES_V @ FEATURES_V.T  # the projection onto the space of φᵢ − φ̄
    assert_close(PHI_C @ alpha @ PHI_C.T, W @ W.T + NOISE * seen)  # (54)
    assert_close(alpha, E * np.append(np.full(q, 1 / N), NOISE / MU[q:]) @ E.T)  # (55)
    K_new = k_c(phi(NEW).T)
    quadratic = np.sum(K_new * (np.linalg.pinv(PHI_C.T @ SIGMA @ PHI_C, hermitian=True) @ K_new), axis=0)
    assert_close(model(solver, NOISE).mahalanobis(NEW), quadratic, 1e-8)  # (56)
    spectrum = np.append(MU[:q] ** 2 / N, NOISE * MU[q:])
    assert_close(np.sum((E.T @ K_new) ** 2 / spectrum[:, None], axis=0), quadratic, 1e-8)  # (57)
