"""Misprints of the five texts: the printed form fails in an explicit feature space, and the corrected one holds.

Each test is named on the page of errata; ``test_the_page_is_complete`` keeps both in step.
"""

import re
from pathlib import Path

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from mercer import KernelPCA, ProbabilisticKernelPCA
from mercer.kernels import Linear, Polynomial

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
QUADRATIC = Polynomial(degree=2, gamma=1.0, coef0=1.0)
N, q, RHO = 14, 2, 0.2
X = np.random.default_rng(0).normal(size=(N, 2)) + 1
NEW = np.random.default_rng(1).normal(size=(5, 2))
H = np.eye(N) - 1 / N


def phi(X, root=2**0.5):
    x, y = X.T
    return np.column_stack([np.ones(len(X)), root * x, root * y, root * x * y, x**2, y**2])


PHI = phi(X)
MEAN = PHI.mean(axis=0)
LAM, U = (part[..., ::-1] for part in np.linalg.eigh(np.cov(PHI.T, bias=True)))
W = U[:, :q] * np.sqrt(LAM[:q] - RHO)
SIGMA = W @ W.T + RHO * np.eye(6)
K_C = (PHI - MEAN) @ (PHI - MEAN).T
MU, V = LAM[:q] * N, (PHI - MEAN) @ U[:, :q] / np.sqrt(LAM[:q] * N)


def close(a, b):
    return np.allclose(a, b, rtol=1e-8, atol=1e-8)


def test_bishop_12_82_needs_the_centred_kernel():
    a, K = V / np.sqrt(MU), PHI @ PHI.T
    truth = (phi(NEW) - MEAN) @ U[:, :q]
    k = phi(NEW) @ PHI.T
    assert not close(k @ a, truth)
    assert close((k - K.mean(axis=0)) @ H @ a, truth)


def test_bishop_counts_one_component_too_many():
    many = np.random.default_rng(0).normal(size=(6, 2))
    K = np.exp(-((many[:, None] - many) ** 2).sum(axis=2))
    centring = np.eye(6) - 1 / 6
    assert np.linalg.matrix_rank(K) == 6
    assert np.linalg.matrix_rank(centring @ K @ centring) == 5


def test_slides_features_of_degree_two_need_roots():
    truth = (X @ X.T + 1) ** 2
    assert not close(phi(X, root=1.0) @ phi(X, root=1.0).T, truth)
    assert close(PHI @ PHI.T, truth)


def test_slides_projections_onto_a_reduced_axis_need_a_constant():
    b = np.array([0.3, -0.2, 0.5])
    axis = b @ phi(NEW[:3])
    truth = (PHI - MEAN) @ axis
    printed = PHI @ phi(NEW[:3]).T @ b
    assert not close(printed, truth)
    assert close(printed - printed.mean(), truth)


def test_tipping_weights_have_no_square_root():
    basis, lam = np.eye(3), np.array([2.0, 1.0, 0.1])  # orthonormal vectors, along which data have these second moments

    def likelihood(w):
        C = RHO * np.eye(3) + basis.T @ np.diag(w) @ basis
        return -np.linalg.slogdet(C)[1] - np.trace(np.linalg.inv(C) @ np.diag(lam))

    above = np.maximum(lam - RHO, 0)
    assert likelihood(above) > likelihood(np.sqrt(above)) + 0.01
    for shift in 0.01 * np.eye(3)[:2]:
        assert likelihood(above) > max(likelihood(above + shift), likelihood(above - shift))


def test_tipping_18_holds_for_all_axes_only():
    anchors = PHI[:4]
    K = anchors @ anchors.T
    lam, E = np.linalg.eigh(K)
    Y = PHI @ anchors.T @ E / np.sqrt(lam)
    printed = np.sum(PHI**2, axis=1) - np.einsum("ij,ij->i", PHI @ anchors.T, np.linalg.solve(K, anchors @ PHI.T).T)
    assert close(printed, np.sum(PHI**2, axis=1) - np.sum(Y**2, axis=1))
    assert not close(printed, np.sum(PHI**2, axis=1) - np.sum(Y[:, 2:] ** 2, axis=1))


def test_zhou_7_9_and_20_need_variances_above_the_noise():
    rho = (LAM[1] + LAM[2]) / 2
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.sqrt(LAM[:4] - rho)).any()

    def likelihood(spread):
        return multivariate_normal(MEAN, U * (spread + rho) @ U.T).logpdf(PHI).mean()

    best = np.maximum(LAM - rho, 0)
    for shift in 0.01 * np.eye(6):
        assert likelihood(best) >= likelihood(best + shift)


def test_deplaen_2_adds_the_mean():
    """E φ = φ̄ where h has mean 0, and −φ̄ as printed."""
    h = np.random.default_rng(0).normal(size=(200_000, q))
    assert np.allclose((h @ W.T + MEAN).mean(axis=0), MEAN, atol=0.05)
    assert not np.allclose((h @ W.T - MEAN).mean(axis=0), MEAN, atol=0.05)


def test_deplaen_6_divides_by_the_dimensions_that_there_are():
    rows = np.random.default_rng(0).normal(size=(40, 7))
    theirs = PCA(3).fit(rows).noise_variance_ * 39 / 40
    mle, paper = (ProbabilisticKernelPCA(3, kernel=Linear(), noise_variance=n).fit(rows) for n in ("mle", "paper"))
    assert close(mle.noise_variance_, theirs)
    assert close(paper.noise_variance_, theirs * 4 / 37)


def test_deplaen_7_and_15_have_one_inverse_too_many():
    """The posterior by conditioning the joint Gaussian of h and φ."""
    M = W.T @ W + RHO * np.eye(q)
    gain, spread = W.T @ np.linalg.inv(SIGMA), np.eye(q) - W.T @ np.linalg.inv(SIGMA) @ W
    assert close(np.linalg.inv(M) @ W.T, gain)
    assert close(RHO * np.linalg.inv(M), spread)
    assert not close(np.linalg.inv(np.linalg.inv(M)) @ W.T, gain)


def test_deplaen_18_is_the_covariance_of_coefficients():
    A = V * np.sqrt(1 / N - RHO / MU)
    truth = (PHI - MEAN) @ SIGMA @ (PHI - MEAN).T
    printed = A @ A.T + RHO * np.linalg.pinv(K_C, rcond=1e-10)
    assert not close(printed, truth)
    assert close(K_C @ printed @ K_C, truth)


def test_deplaen_19_divides_by_zero():
    k_c = (phi(NEW) - MEAN) @ (PHI - MEAN).T
    assert np.abs(k_c.sum(axis=1)).max() < 1e-10 * np.abs(k_c).max()
    assert np.all((phi(NEW) @ PHI.T).sum(axis=1) > 0)


def test_deplaen_lemma_3_has_the_noise_as_remaining_eigenvalues():
    values = np.linalg.eigvalsh(SIGMA)[::-1]
    assert not close(values, [*LAM[:q], *[0] * 4])
    assert close(values, [*LAM[:q], *[RHO] * 4])


def test_deplaen_35_multiplies_in_its_normaliser():
    determinant = np.linalg.det(SIGMA)
    assert close(RHO**4 * np.prod(LAM[:q]), determinant)
    assert not close(RHO**4 + np.prod(LAM[:q]), determinant)


def test_deplaen_42_sums_squares():
    """The mean squared coordinate along an axis is λ; the square of the sum is 0 for centred rows."""
    Y = (PHI - MEAN) @ U[:, :q]
    assert close(np.mean(Y**2, axis=0), LAM[:q])
    assert close(np.sum(Y, axis=0) ** 2, 0)
    assert not close(LAM[:q], 0)


def test_deplaen_centred_kernel_matrices_are_never_of_full_rank():
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    assert np.linalg.matrix_rank(K) == N
    assert np.linalg.matrix_rank(H @ K @ H) == N - 1
    assert KernelPCA(kernel=QUADRATIC).fit(X).n_components_ == 5  # of six features: the constant one is gone


def test_deplaen_figure_3_has_fifty_points():
    """σ² = (1 − explained)/(N − q) by (6), with the shares of the caption of the panel with three components."""
    explained, noise, components = 0.5403, 0.0098, 3
    assert round((1 - explained) / (50 - components), 4) == noise
    assert round((1 - explained) / (20 - components), 4) != noise


def test_the_page_is_complete():
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    here = {name for name in globals() if name.startswith("test_")} - {"test_the_page_is_complete"}
    assert named == here
