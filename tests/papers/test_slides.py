"""Kernel PCA in five steps, as it is taught: each step written out with its sums, against the estimator."""

import numpy as np
import pytest

from mercer import KernelPCA, compress, reduce_axes
from mercer.kernels import RBF, Polynomial, Sigmoid
from mercer.preimage.reduce import Targets, basis_on, errors, select

EXACTLY = 1e-10
KERNELS = {
    "polynomial": (lambda x, y: (x @ y + 1) ** 2, Polynomial(degree=2, gamma=1.0, coef0=1.0)),
    "cubic": (lambda x, y: (x @ y + 1) ** 3, Polynomial(degree=3, gamma=1.0, coef0=1.0)),
    "gaussian": (lambda x, y: np.exp(-((x - y) @ (x - y)) / (2 * 0.8**2)), RBF.from_sigma(0.8)),
    "tanh": (lambda x, y: np.tanh(x @ y / 2 - 2), Sigmoid(gamma=0.5, coef0=-2.0)),
}
DEFINITE = [name for name in KERNELS if name != "tanh"]  # distances to a reduced set need a definite kernel
pytestmark = pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite")  # that of the tanh is


@pytest.fixture
def parabola():
    """Rows along a parabola, with a little noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=24)
    return np.c_[x, x**2 + 0.1 * rng.normal(size=24)]


@pytest.fixture
def X_new():
    return np.random.default_rng(1).uniform(-1, 1, size=(7, 2))


def matrix(k, X, Y):
    return np.array([[k(x, y) for y in Y] for x in X])


def five_steps(k, X, q):
    """Return λ, the normalised a, the projections of X, and a function that projects other points."""
    p = len(X)
    rows = range(p)
    K_raw = matrix(k, X, X)  # 1: the kernel matrix
    K = np.array(
        [
            [
                K_raw[a, b]
                - sum(K_raw[a, d] for d in rows) / p
                - sum(K_raw[c, b] for c in rows) / p
                + sum(K_raw[c, d] for c in rows for d in rows) / p**2
                for b in rows
            ]
            for a in rows
        ]
    )  # 2: centring
    lam, a_raw = np.linalg.eigh(K / p)  # 3: the eigenvalue problem
    lam, a_raw = lam[::-1][:q], a_raw[:, ::-1][:, :q]
    a = a_raw / np.sqrt(p * lam)  # 4: normalisation
    u = np.array([[sum(a[b, j] * K[b, alpha] for b in rows) for j in range(q)] for alpha in rows])  # 5: projections

    def project(x):
        """Centred by the means of the training points alone."""
        k_x = np.array([k(x_b, x) for x_b in X])
        centred = k_x - K_raw.mean(axis=1) - k_x.mean() + K_raw.mean()
        return a.T @ centred

    return lam, a, u, project


def assert_close_up_to_sign(Y, expected):
    signs = np.sign(np.sum(Y * expected, axis=0))
    np.testing.assert_allclose(Y * signs, expected, rtol=0, atol=EXACTLY * np.abs(expected).max())


@pytest.mark.parametrize("name", KERNELS)
def test_the_estimator_is_the_five_steps(name, parabola, X_new):
    k, kernel = KERNELS[name]
    lam, a, u, project = five_steps(k, parabola, 4)
    model = KernelPCA(4, kernel=kernel, solver="exact").fit(parabola)
    np.testing.assert_allclose(model.explained_variance_, lam, rtol=EXACTLY)
    assert_close_up_to_sign(model.transform(parabola), u)
    assert_close_up_to_sign(model.transform(X_new), np.array([project(x) for x in X_new]))


@pytest.mark.parametrize("name", KERNELS)
def test_coefficients_sum_to_zero_and_axes_have_unit_length(name, parabola):
    k, kernel = KERNELS[name]
    lam, a, _, _ = five_steps(k, parabola, 4)
    B = KernelPCA(4, kernel=kernel, solver="exact").fit(parabola).subspace_.axes.B
    assert_close_up_to_sign(B, a)
    np.testing.assert_allclose(B.sum(axis=0), 0, atol=EXACTLY * np.abs(B).max())
    np.testing.assert_allclose(np.diag(B.T @ matrix(k, parabola, parabola) @ B), 1, rtol=EXACTLY)


@pytest.mark.parametrize("name", KERNELS)
def test_projections_are_uncorrelated_and_lambda_is_their_variance(name, parabola):
    model = KernelPCA(5, kernel=KERNELS[name][1]).fit(parabola)
    covariance = np.cov(model.transform(parabola).T, bias=True)
    np.testing.assert_allclose(covariance, np.diag(model.explained_variance_), atol=1e-9 * covariance[0, 0])


def quadratic_features(X):
    """Of (xᵀy + 1)²: without the roots of two these would be the features of another kernel."""
    x, y = X.T
    root = np.sqrt(2)
    return np.c_[np.ones(len(X)), root * x, root * y, x**2, y**2, root * x * y]


def test_kernel_pca_is_pca_of_the_features(parabola, X_new):
    k, kernel = KERNELS["polynomial"]
    features = quadratic_features(parabola)
    np.testing.assert_allclose(features @ features.T, matrix(k, parabola, parabola), rtol=EXACTLY)
    mean = features.mean(axis=0)
    C = (features - mean).T @ (features - mean) / len(parabola)
    lam, e = np.linalg.eigh(C)
    lam, e = lam[::-1][:5], e[:, ::-1][:, :5]
    model = KernelPCA(kernel=kernel, solver="exact").fit(parabola)
    assert model.n_components_ == 5  # more than the two columns, and the constant feature has no variance
    np.testing.assert_allclose(model.explained_variance_, lam, rtol=0, atol=EXACTLY * lam[0])
    assert_close_up_to_sign(model.transform(X_new), (quadratic_features(X_new) - mean) @ e)


def test_centred_data_are_not_centred_in_feature_space(parabola):
    X = parabola - parabola.mean(axis=0)
    k, kernel = KERNELS["polynomial"]
    centred = KernelPCA(3, kernel=kernel).fit(X)
    uncentred = KernelPCA(3, kernel=kernel, center=False).fit(X)
    mean_sqnorm = matrix(k, X, X).mean()
    assert mean_sqnorm > 0.5
    assert uncentred.total_variance_ - centred.total_variance_ == pytest.approx(mean_sqnorm, rel=1e-10)


# Reduced sets: ê = Σ b φ(z) on few points, φ = ‖e − ê‖²


def phi_of(k, X, a, Z, b):
    """φ = 1 + ΣΣ b b k(z, z) − 2 ΣΣ a b k(x, z), with its sums."""
    own = sum(b[g] * b[d] * k(Z[g], Z[d]) for g in range(len(Z)) for d in range(len(Z)))
    return 1 + own - 2 * sum(a[i] * b[g] * k(X[i], Z[g]) for i in range(len(X)) for g in range(len(Z)))


@pytest.mark.parametrize("m", [5, 8])
@pytest.mark.parametrize("name", DEFINITE)
def test_errors_of_a_reduced_set_are_the_least_of_the_slides(name, m, parabola):
    k, kernel = KERNELS[name]
    model = KernelPCA(3, kernel=kernel, solver="exact").fit(parabola)
    small = compress(model, m)
    Z, A = small.anchors_, model.subspace_.axes.B
    b = np.linalg.pinv(matrix(k, Z, Z), rcond=1e-13) @ matrix(k, Z, parabola) @ A
    rng = np.random.default_rng(0)
    for j in range(3):
        least = phi_of(k, parabola, A[:, j], Z, b[:, j])
        assert small.compression_.errors[j] == pytest.approx(least, abs=1e-8)
        for _ in range(5):
            other = b[:, j] + 0.01 * rng.normal(size=len(Z))
            assert phi_of(k, parabola, A[:, j], Z, other) >= least - 1e-9


def test_each_row_of_a_reduced_set_lowers_the_errors(parabola):
    """Each row chosen is the best one beside those before it: Σ w‖f − P_Z f‖² of all other choices is no lower."""
    kernel = RBF(2.0)
    targets = Targets([KernelPCA(3, kernel=kernel, solver="exact").fit(parabola).subspace_])
    f, weights = targets.vectors, targets.weights
    chosen = select(f, weights, 5)

    def left(rows):
        return errors(f, weights, basis_on(kernel, parabola[rows])).sum()

    for t in range(5):
        others = [left([*chosen[:t], i]) for i in range(len(parabola)) if i not in chosen[:t]]
        assert left(chosen[: t + 1]) <= 1.05 * min(others)  # a little is given up where what a row adds is short


def test_phi_is_a_squared_distance_of_features(parabola):
    k, kernel = KERNELS["polynomial"]
    a = KernelPCA(1, kernel=kernel, solver="exact").fit(parabola).subspace_.axes.B[:, 0]
    Z, b = parabola[:4], np.array([0.3, -0.2, 0.1, 0.4])
    distance = a @ quadratic_features(parabola) - b @ quadratic_features(Z)
    assert phi_of(k, parabola, a, Z, b) == pytest.approx(distance @ distance, rel=EXACTLY)


@pytest.mark.parametrize("name", DEFINITE)
def test_projections_onto_a_reduced_axis_need_one_constant(name, parabola, X_new):
    """Σ b k(z, x) − c with c the mean over the training points; the axis is then made as long as 1."""
    k, kernel = KERNELS[name]
    model = KernelPCA(1, kernel=kernel, solver="exact").fit(parabola)
    small = compress(model, 4)
    Z, a = small.anchors_, model.subspace_.axes.B[:, 0]
    K = matrix(k, Z, Z)
    b = np.linalg.solve(K, matrix(k, Z, parabola) @ a)
    c = np.mean(matrix(k, parabola, Z) @ b)
    projections = (matrix(k, X_new, Z) @ b - c) / np.sqrt(b @ K @ b)
    np.testing.assert_allclose(small.transform(X_new)[:, 0], projections, atol=1e-8 * np.abs(projections).max())


def test_the_tanh_has_no_reduced_set(parabola):
    model = KernelPCA(2, kernel=KERNELS["tanh"][1], solver="exact").fit(parabola)
    for reduced in (compress, reduce_axes):
        with pytest.raises(ValueError, match="positive semi-definite"):
            reduced(model, 5)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("name", DEFINITE)
def test_each_axis_on_points_of_its_own(name, free, parabola, X_new):
    """φ_k of each axis for its own points z, at the best b; constants are means over the training points."""
    k, kernel = KERNELS[name]
    model = KernelPCA(2, kernel=kernel, solver="exact").fit(parabola)
    few, A = reduce_axes(model, 3, free=free), model.subspace_.axes.B
    shared = compress(model, 3)
    Y = few.transform(X_new)
    for j, (axis, Z) in enumerate(zip(few.axes, few.points, strict=True)):
        b = axis.B[:, 0]
        assert few.errors[j] == pytest.approx(phi_of(k, parabola, A[:, j], Z, b), abs=1e-7)
        assert not free or few.errors[j] <= shared.compression_.errors[j] + 1e-9
        expected = matrix(k, X_new, Z) @ b - np.mean(matrix(k, parabola, Z) @ b)
        np.testing.assert_allclose(Y[:, j], expected, atol=1e-8)
