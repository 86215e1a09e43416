"""Lines of Tipping's and Zhou's papers and of the slides that the files of these documents pass over.

The reference is written with explicit features, the columns themselves or those of (xᵀy + 1)²: Φ has a row for each
vector.
"""

import numpy as np
import pytest

from mercer import KernelPCA
from mercer.kernels import RBF, Linear, Polynomial
from mercer.linalg.operators import Covariance, Gram
from mercer.rkhs.sparse.likelihood import Likelihood

EXACTLY = 1e-10
RHO = 0.3
QUADRATIC = Polynomial(degree=2, gamma=1.0, coef0=1.0)


def phi(X):
    """φ with φ(x)ᵀφ(y) = (xᵀy + 1)²."""
    x, y = X.T
    return np.column_stack([np.ones(len(X)), *(2**0.5 * part for part in (x, y, x * y)), x**2, y**2])


FEATURES = {"linear": (Linear(), lambda X: X), "quadratic": (QUADRATIC, phi)}


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(18, 2)) * [1.0, 0.7]


@pytest.fixture
def X_new():
    return np.random.default_rng(1).uniform(-1, 1, size=(7, 2))


@pytest.fixture(params=FEATURES)
def case(request, X):
    """The kernel, its features, and Φ of the rows."""
    kernel, features = FEATURES[request.param]
    return kernel, features, features(X)


def assert_close(actual, expected, tol=EXACTLY):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * np.abs(expected).max())


# Tipping


def test_inner_and_outer_products_share_their_eigenvectors_1_to_3(case, X, X_new):
    kernel, features, Phi = case
    rank = np.linalg.matrix_rank(Phi)
    lam, U = (part[..., ::-1][..., :rank] for part in np.linalg.eigh(Phi @ Phi.T))
    assert_close(Phi.T @ Phi @ (Phi.T @ U), Phi.T @ U * lam)  # (1)
    model = KernelPCA(kernel=kernel, center=False, solver="exact").fit(X)
    assert_close(model.eigenvalues_, lam)
    axes = Phi.T @ U / np.sqrt(lam)  # (2)
    turned = np.sum(axes * (Phi.T @ model.subspace_.axes.B), axis=0)
    assert_close(np.abs(turned), np.ones(rank))
    expected = features(X_new) @ Phi.T @ U / np.sqrt(lam)  # (3)
    assert_close(model.transform(X_new) * np.sign(turned), expected)


def test_the_posterior_moments_8_11_and_12(case, X):
    """Neither Σ nor μ is formed: Σᵢᵢ = w − w²S and the mean of μ² is w²R, where S is (8) of each row."""
    kernel, _, Phi = case
    w, K = np.resize([0.3, 0.01, 0.05], len(X)), Phi @ Phi.T
    Sigma = np.linalg.inv(np.diag(1 / w) + K / RHO)  # (11)
    mu = Sigma @ K / RHO  # (12)
    eight = np.diag(K) / RHO - np.diag(K @ Sigma @ K) / RHO**2
    C = RHO * np.eye(Phi.shape[1]) + Phi.T @ np.diag(w) @ Phi
    S, R = Likelihood.of(kernel, X, np.arange(len(X))).at(RHO, w).statistics
    assert_close(eight, np.diag(Phi @ np.linalg.inv(C) @ Phi.T))
    assert_close(S, eight)
    assert_close(w * (1 - w * S), np.diag(Sigma))
    assert_close(w**2 * R, np.mean(mu**2, axis=1))


# Zhou


def test_the_matrices_and_the_kernels_1_to_4(case, X, X_new):
    kernel, _, Phi = case
    n = len(X)
    J = (np.eye(n) - 1 / n) / np.sqrt(n)
    gram, s = Gram(kernel, X), np.full(n, 1 / n)
    A = Covariance(gram, s, s).dense()
    assert_close(gram.dense(), Phi @ Phi.T)  # (2)
    assert_close(A, J.T @ Phi @ Phi.T @ J)
    C = np.cov(Phi.T, bias=True)  # (1)
    assert_close(C, Phi.T @ J @ J.T @ Phi)
    f = len(C)
    assert_close(np.linalg.eigvalsh(A)[-f:], np.linalg.eigvalsh(C))
    assert_close(kernel.features(X_new) @ kernel.features(X).T, kernel(X_new, X))  # (3)
    distances = np.linalg.norm(X_new[:, None] - X, axis=2)
    assert_close(RBF.from_sigma(1.7)(X_new, X), np.exp(-(distances**2) / (2 * 1.7**2)))  # (4)


# The slides


@pytest.mark.parametrize("kernel", [QUADRATIC, RBF.from_sigma(0.8)], ids=repr)
def test_the_components_of_the_rows_give_the_kernel_back(kernel, X):
    """k = Σ λψψ on the rows: with √λψ for the coordinates, their products are the centred kernel."""
    Y = KernelPCA(kernel=kernel, solver="exact").fit(X).transform(X)
    K = kernel(X, X)
    assert_close(Y @ Y.T, K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean(), 1e-9)


def test_the_preimage_is_the_point_with_the_nearest_image(X, X_new):
    """‖φ(x) − ψ‖² at the pre-image is what is reported, and no point of a fine grid has less."""
    model = KernelPCA(2, kernel=QUADRATIC, solver="exact", preimage="gradient").fit(X)
    Y = model.transform(X_new)
    U, mean = (phi(X).T @ f.B for f in (model.subspace_.axes, model.subspace_.mean))
    psi = Y @ U.T + mean.T
    found = model.preimages(Y)
    distances = np.sum((phi(found.X) - psi) ** 2, axis=1)
    np.testing.assert_allclose(found.error, distances, rtol=1e-6, atol=EXACTLY)
    line = np.linspace(-2, 2, 201)
    grid = phi(np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2))
    for target, distance in zip(psi, distances, strict=True):
        assert distance <= np.sum((grid - target) ** 2, axis=1).min() + EXACTLY
