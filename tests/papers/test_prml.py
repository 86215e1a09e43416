"""Bishop, Pattern Recognition and Machine Learning, section 12.3, equation by equation.

The reference is the covariance of explicit features: those of (xᵀy + 1)², where every vector can be written down.
"""

import numpy as np
import pytest

from mercer import KernelPCA
from mercer.kernels import RBF, Linear, Polynomial
from mercer.linalg.operators import Covariance, Gram

EXACTLY = 1e-10
CENTRES = [(-0.5, -0.2), (0.0, 0.6), (0.5, 0.0)]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


@pytest.fixture
def X_new():
    return np.random.default_rng(1).normal(size=(15, 3))


@pytest.fixture
def toy():
    """Three round clusters in the plane, thirty rows each."""
    rng = np.random.default_rng(0)
    return np.concatenate([centre + 0.1 * rng.normal(size=(30, 2)) for centre in np.array(CENTRES)])


def phi(X):
    """φ with φ(x)ᵀφ(y) = (xᵀy + 1)²: √2 on the linear and the cross terms."""
    i, j = np.triu_indices(X.shape[1], 1)
    return np.hstack([np.ones((len(X), 1)), np.sqrt(2) * X, X**2, np.sqrt(2) * X[:, i] * X[:, j]])


def k(X, Y):
    return (X @ Y.T + 1) ** 2


def polynomial(q=None, **parameters):
    return KernelPCA(q, kernel=Polynomial(degree=2, gamma=1.0, coef0=1.0), solver="exact", **parameters)


def eigenproblem(K):
    """(12.80) and (12.81): Ka = λNa with λN aᵀa = 1, for the λ that are not zero."""
    N = len(K)
    lam_N, a = np.linalg.eigh(K)
    lam_N, a = lam_N[::-1], a[:, ::-1]
    rank = np.count_nonzero(lam_N > N * np.finfo(float).eps * np.abs(K).max() * N)
    lam, a = lam_N[:rank] / N, a[:, :rank] / np.sqrt(lam_N[:rank])
    np.testing.assert_allclose(K @ a, N * lam * a, atol=EXACTLY * lam_N[0])
    np.testing.assert_allclose(lam * N * np.sum(a**2, axis=0), 1)
    return lam, a


def assert_close(actual, expected, tol=EXACTLY):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * np.abs(expected).max())


def assert_close_up_to_sign(Y, expected):
    assert_close(Y * np.sign(np.sum(Y * expected, axis=0)), expected)


def test_the_features_are_those_of_the_kernel(X, X_new):
    assert_close(phi(X_new) @ phi(X).T, k(X_new, X))


def test_uncentred_components_12_80_to_12_82(X, X_new):
    lam, a = eigenproblem(k(X, X))
    v = phi(X).T @ a  # (12.76)
    C = phi(X).T @ phi(X) / len(X)  # (12.73)
    assert_close(C @ v, lam * v)  # (12.74)
    assert_close(v.T @ v, np.eye(len(lam)))
    model = polynomial(center=False).fit(X)
    assert model.n_components_ == len(lam) == phi(X).shape[1]
    assert_close(model.explained_variance_, lam)
    assert_close_up_to_sign(model.transform(X_new), k(X_new, X) @ a)  # (12.82)
    assert_close_up_to_sign(model.transform(X_new), phi(X_new) @ v)


def test_the_coefficients_of_a_fitted_model_12_75_to_12_81(X):
    """Every line of the derivation holds for the coefficients a and the variances λ that the model keeps."""
    model = polynomial(center=False).fit(X)
    a, lam = model.subspace_.axes.B, model.explained_variance_
    N, K, F = len(X), k(X, X), phi(X)
    v = F.T @ a  # (12.76)
    assert_close(sum(np.outer(f, f @ v) for f in F) / N, lam * v)  # (12.75)
    assert_close(F.T @ F @ (F.T @ a) / N, lam * (F.T @ a))  # (12.77)
    assert_close(K @ (K @ a) / N, lam * (K @ a))  # (12.78)
    assert_close(K @ K @ a, lam * N * (K @ a))  # (12.79)
    assert_close(K @ a, lam * N * a)  # (12.80)
    assert_close(np.sum(a * (K @ a), axis=0), np.ones(len(lam)))  # (12.81)
    assert_close(lam * N * np.sum(a**2, axis=0), np.ones(len(lam)))


def test_the_centred_matrix_that_is_decomposed_12_84_and_12_85(X):
    N, K = len(X), k(X, X)
    mean = K.mean(axis=0)
    A = Covariance(Gram(polynomial().kernel, X), np.full(N, 1 / N), np.full(N, 1 / N))
    assert_close(N * A.dense(), K - mean[:, None] - mean + K.mean())


def test_centring_12_83_to_12_85(X, X_new):
    N = len(X)
    K, one_N = k(X, X), np.full((N, N), 1 / N)
    K_tilde = K - one_N @ K - K @ one_N + one_N @ K @ one_N  # (12.85)
    phi_tilde = phi(X) - phi(X).mean(axis=0)  # (12.83)
    assert_close(K_tilde, phi_tilde @ phi_tilde.T)  # (12.84)
    lam, a = eigenproblem(K_tilde)
    v = phi_tilde.T @ a
    assert_close(phi_tilde.T @ phi_tilde / N @ v, lam * v)
    model = polynomial().fit(X)
    assert model.n_components_ == len(lam) == phi(X).shape[1] - 1
    assert_close(model.explained_variance_, lam)
    assert_close_up_to_sign(model.transform(X), K_tilde @ a)
    assert_close_up_to_sign(model.fit_transform(X), K_tilde @ a)
    # new points are centred by the means of the training points
    one_new = np.full((len(X_new), N), 1 / N)
    k_tilde = k(X_new, X) - one_new @ K - k(X_new, X) @ one_N + one_new @ K @ one_N
    assert_close_up_to_sign(model.transform(X_new), k_tilde @ a)
    assert_close_up_to_sign(model.transform(X_new), (phi(X_new) - phi(X).mean(axis=0)) @ v)


def test_new_points_are_projected_one_by_one(X, X_new):
    model = polynomial(3).fit(X)
    alone = np.vstack([model.transform(x[None]) for x in X_new])
    assert_close(alone, model.transform(X_new))


def test_the_axes_are_orthonormal_in_feature_space(X):
    model = polynomial().fit(X)
    U = phi(X).T @ model.subspace_.axes.B
    assert_close(U.T @ U, np.eye(model.n_components_))
    assert_close(phi(X).T @ model.subspace_.mean.B[:, 0], phi(X).mean(axis=0))


def test_the_covariance_comes_back_from_all_components(X):
    model = polynomial().fit(X)
    U = phi(X).T @ model.subspace_.axes.B
    phi_tilde = phi(X) - phi(X).mean(axis=0)
    assert_close(U * model.explained_variance_ @ U.T, phi_tilde.T @ phi_tilde / len(X))


def test_the_linear_kernel_recovers_standard_pca(X, X_new):
    S = np.cov(X.T, bias=True)
    lam, u = np.linalg.eigh(S)
    lam, u = lam[::-1], u[:, ::-1]
    model = KernelPCA(kernel=Linear(), solver="exact").fit(X)
    assert_close(model.explained_variance_, lam)
    assert_close_up_to_sign(model.transform(X_new), (X_new - X.mean(axis=0)) @ u)


@pytest.mark.parametrize("L", [1, 2, 3])
def test_the_reconstruction_of_linear_pca_12_88(L, X, X_new):
    """About the mean, which the equation takes to be 0."""
    mean = X.mean(axis=0)
    u = np.linalg.eigh(np.cov(X.T, bias=True))[1][:, ::-1][:, :L]
    model = KernelPCA(L, kernel=Linear(), solver="exact").fit(X)
    assert_close(model.inverse_transform(model.transform(X_new)), mean + (X_new - mean) @ u @ u.T)


def test_components_may_exceed_the_columns_and_number_at_most_n_minus_1(X):
    assert KernelPCA(kernel=RBF(1.0)).fit(X).n_components_ == len(X) - 1
    assert KernelPCA(kernel=RBF(1.0), center=False).fit(X).n_components_ == len(X)


def test_eigenvalues_of_the_three_clusters(toy):
    model = KernelPCA(4, kernel=RBF.from_radius(0.1**0.5), solver="exact").fit(toy)  # (12.86)
    assert model.kernel_.gamma == pytest.approx(10)
    np.testing.assert_allclose(model.eigenvalues_, [22.890931, 21.437737, 4.436143, 4.060936], rtol=0, atol=1e-6)


def test_two_components_separate_the_three_clusters(toy):
    Y = KernelPCA(2, kernel=RBF(10.0)).fit_transform(toy).reshape(3, 30, 2)
    centres = Y.mean(axis=1)
    within = np.linalg.norm(Y - centres[:, None], axis=2).max()
    between = min(np.linalg.norm(centres[i] - centres[j]) for i, j in [(0, 1), (0, 2), (1, 2)])
    assert within < between / 2


def test_the_polynomial_of_degree_two_has_rank_five_on_the_three_clusters(toy):
    model = polynomial().fit(toy)
    assert model.n_components_ == 5
    assert model.eigenvalues_[0] == pytest.approx(35.314728, abs=1e-6)
