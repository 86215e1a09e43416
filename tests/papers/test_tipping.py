"""Tipping, Sparse Kernel Principal Component Analysis, equation by equation.

The reference is written with explicit features, those of (xᵀy + 1)² or the columns themselves: Φ has a row for each
vector, as in the paper, and every matrix of the feature space can be written down.
"""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import KernelPCA, SparseKernelPCA
from mercer.datasets import find, load, three_clusters
from mercer.kernels import RBF, Laplacian, Linear, Polynomial
from mercer.rkhs.sparse.likelihood import Likelihood
from mercer.rkhs.sparse.weights import fit_weights

EXACTLY = 1e-10
SIGMA2 = 0.3
QUADRATIC = Polynomial(degree=2, gamma=1.0, coef0=1.0)
WEIGHTS = [0.3, 0.0, 0.05]  # of three rows in turn: a third of them are 0
TIPPING = RBF.from_radius(0.25)  # of the figures, with σ = 0.25


def phi(X):
    """φ with φ(x)ᵀφ(y) = (xᵀy + 1)²."""
    i, j = np.triu_indices(X.shape[1], 1)
    return np.hstack([np.ones((len(X), 1)), np.sqrt(2) * X, X**2, np.sqrt(2) * X[:, i] * X[:, j]])


FEATURES = {"linear": (Linear(), lambda X: X), "quadratic": (QUADRATIC, phi)}


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(18, 3)) * [1.0, 0.7, 0.5]


@pytest.fixture
def X_new():
    return np.random.default_rng(1).normal(size=(7, 3))


@pytest.fixture(params=FEATURES)
def case(request, X):
    """Φ, the likelihood that the package keeps of the rows, and weights of which some are 0."""
    kernel, features = FEATURES[request.param]
    return features(X), Likelihood.of(kernel, X, np.arange(len(X))), np.resize(WEIGHTS, len(X))


def covariance(Phi, w):
    """(4)."""
    return SIGMA2 * np.eye(Phi.shape[1]) + Phi.T @ np.diag(w) @ Phi


def log_likelihood(Phi, w):
    """(5)."""
    C = covariance(Phi, w)
    return -(len(Phi) * np.linalg.slogdet(C)[1] + np.trace(np.linalg.inv(C) @ Phi.T @ Phi)) / 2


def posterior(Phi, w):
    """Σ and the rows μₙ of (11) and (12), for w > 0."""
    K = Phi @ Phi.T
    Sigma = np.linalg.inv(np.diag(1 / w) + K / SIGMA2)
    return Sigma, K @ Sigma / SIGMA2


def without_constant(Phi, value):
    """N·value with the term −½ND log σ² that the package leaves out."""
    N, D = Phi.shape
    return N * value - N * D * np.log(SIGMA2) / 2


def differences(f, w, h):
    """Central differences along each weight."""
    return np.array([(f(w + step) - f(w - step)) / (2 * h) for step in h * np.eye(len(w))])


def test_the_likelihood_5(case):
    Phi, data, w = case
    assert without_constant(Phi, data.at(SIGMA2, w).value) == pytest.approx(log_likelihood(Phi, w), rel=EXACTLY)
    assert without_constant(Phi, data.at(SIGMA2, 0 * w).value) == pytest.approx(log_likelihood(Phi, 0 * w), rel=EXACTLY)


def test_the_likelihood_by_the_kernel_matrix_6_to_8(case):
    Phi, data, w = case
    N, K, w = len(Phi), Phi @ Phi.T, w + 0.01
    inner = np.diag(1 / w) + K / SIGMA2  # (7)
    log_det = np.linalg.slogdet(inner)[1] + np.log(w).sum()  # (6), but for D log σ²
    quadratic = np.diag(K) / SIGMA2 - np.diag(K @ np.linalg.inv(inner) @ K) / SIGMA2**2  # (8)
    expected = -(N * log_det + quadratic.sum()) / 2
    assert N * data.at(SIGMA2, w).value == pytest.approx(expected, rel=EXACTLY)


def test_the_gradient_9_and_10(case):
    Phi, data, w = case
    N = len(Phi)
    inverse = np.linalg.inv(covariance(Phi, w))
    nine = np.diag(Phi @ inverse @ Phi.T @ Phi @ inverse @ Phi.T - N * Phi @ inverse @ Phi.T) / 2
    gradient = N * data.at(SIGMA2, w).gradient()
    np.testing.assert_allclose(gradient, nine, rtol=0, atol=EXACTLY * np.abs(nine).max())
    slope = differences(lambda w: log_likelihood(Phi, w), w, 1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-6 * np.abs(slope).max())
    w = w + 0.01
    Sigma, mu = posterior(Phi, w)
    ten = (np.sum(mu**2, axis=0) + N * np.diag(Sigma) - N * w) / (2 * w**2)
    np.testing.assert_allclose(N * data.at(SIGMA2, w).gradient(), ten, rtol=0, atol=1e-9 * np.abs(ten).max())


def test_the_hessian(case):
    Phi, data, w = case
    w = w + 0.01
    at = data.at(SIGMA2, w)
    slopes = differences(lambda w: data.at(SIGMA2, w).gradient(), w, 1e-5)
    np.testing.assert_allclose(at.curvature() / np.outer(w, w), slopes, rtol=0, atol=1e-5 * np.abs(slopes).max())


def test_the_updates_13_and_14(case):
    Phi, data, w = case
    N, w = len(Phi), w + 0.01
    Sigma, mu = posterior(Phi, w)
    at = data.at(SIGMA2, w)
    thirteen = np.mean(mu**2, axis=0) + np.diag(Sigma)
    fourteen = np.sum(mu**2, axis=0) / (N * (1 - np.diag(Sigma) / w))
    np.testing.assert_allclose(at.em(), thirteen, rtol=1e-9)
    np.testing.assert_allclose(at.fast(), fourteen, rtol=1e-9)


@settings(deadline=None, derandomize=True, phases=[Phase.generate], max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(-4, 3), rho=st.floats(-3, 1))
def test_the_updates_never_lower_the_likelihood(seed, size, rho):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    at = Likelihood.of(RBF(1.0), X, np.arange(12)).at(10**rho, 10**size * rng.uniform(size=12))
    for update in (at.em, at.fast):
        assert at.moved(update()).value >= at.value - 1e-12 * abs(at.value)


@pytest.mark.parametrize("i", [0, 1, 2, 5])
def test_the_best_value_of_one_weight(case, i):
    Phi, data, w = case

    def alone(value):
        v = w.copy()
        v[i] = value
        return v

    best = data.at(SIGMA2, w).optima()[i]
    found = minimize_scalar(lambda v: -log_likelihood(Phi, alone(v)), bounds=(0, 20), options={"xatol": 1e-10})
    assert log_likelihood(Phi, alone(best)) >= -found.fun - 1e-9 * abs(found.fun)
    assert best == pytest.approx(found.x, abs=1e-4 * max(1, found.x))


def test_the_gain_of_a_new_weight(case):
    Phi, data, w = case
    at = data.at(SIGMA2, w)
    best, gains = at.optima(), len(Phi) * at.gains()
    assert np.all(gains[w > 0] == 0)
    for i in np.flatnonzero(w == 0):
        more = log_likelihood(Phi, np.where(np.arange(len(w)) == i, best, w)) - log_likelihood(Phi, w)
        assert gains[i] == pytest.approx(more, abs=1e-9 * abs(log_likelihood(Phi, w)))
        assert (gains[i] > 0) == (best[i] > 0)


def test_weights_of_rows_are_repetitions(X):
    """M and the trace of weighted rows are those of rows that stand so often."""
    counts = 1 + np.arange(len(X)) % 3
    repeated = np.repeat(X, counts, axis=0)
    first = np.r_[0, np.cumsum(counts)[:-1]]
    by_weight = Likelihood.of(QUADRATIC, X, np.arange(len(X)), counts / counts.sum())
    by_count = Likelihood.of(QUADRATIC, repeated, first)
    np.testing.assert_allclose(by_weight.M, by_count.M, rtol=EXACTLY)
    assert by_weight.trace == pytest.approx(by_count.trace, rel=EXACTLY)


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_the_weights_are_a_maximum(share, X):
    """R = S where w > 0 and R ≤ S where w = 0: the gradient (9) is 0, or points below 0."""
    data = Likelihood.of(RBF(0.5), X, np.arange(len(X)))
    C = fit_weights(data, share * data.largest_noise, "newton", 500, 1e-8).covariance
    slopes, scale = C.gradient(), np.abs(C.statistics[0]).max()
    assert len(C.active) > 0
    np.testing.assert_allclose(slopes[C.active], 0, atol=1e-6 * scale)
    assert np.all(slopes <= 1e-6 * scale)


def test_the_weights_of_orthogonal_vectors_are_lambda_minus_noise():
    """After (4): wᵢ = λᵢ − σ² for unit vectors, and 0 where λᵢ is less. There is no square root."""
    a = np.array([4.0, 3.0, 2.5, 2.0, 1.0, 0.5])
    lam = a**2 / len(a)
    rho = 0.5
    model = SparseKernelPCA(kernel="linear", noise_variance=rho).fit(np.diag(a))
    np.testing.assert_array_equal(model.support_, np.flatnonzero(lam > rho))
    np.testing.assert_allclose(model.weights_ * a[:4] ** 2, lam[:4] - rho, rtol=1e-9)
    np.testing.assert_allclose(model.eigenvalues_, len(a) * lam[:4], rtol=1e-9)


@pytest.mark.parametrize("q", [1, 3, None])
def test_the_axes_the_projections_and_the_error_15_to_18(q, X, X_new):
    model = SparseKernelPCA(q, kernel=QUADRATIC, noise_variance=SIGMA2).fit(X)
    w = np.zeros(len(X))
    w[model.support_] = model.weights_
    Phi, root = phi(X), np.diag(np.sqrt(w))
    lam, U_tilde = np.linalg.eigh(root @ Phi @ Phi.T @ root)
    order = np.argsort(lam)[::-1][: model.n_components_]
    lam, U_tilde = lam[order], U_tilde[:, order]
    P = root @ U_tilde / np.sqrt(lam)
    U = Phi.T @ P  # (15)
    C = covariance(Phi, w)
    np.testing.assert_allclose(C @ U, U * (lam + SIGMA2), rtol=0, atol=EXACTLY * np.abs(C).max())  # (16)
    np.testing.assert_allclose(model.eigenvalues_, len(X) * (lam + SIGMA2), rtol=EXACTLY)
    np.testing.assert_allclose(model.subspace_.variances, lam, rtol=EXACTLY)
    Y = model.transform(X_new)
    expected = phi(X_new) @ U
    np.testing.assert_allclose(expected, phi(X_new) @ Phi.T @ P, rtol=0, atol=EXACTLY * np.abs(expected).max())  # (17)
    signs = np.sign(np.sum(Y * expected, axis=0))
    np.testing.assert_allclose(Y * signs, expected, rtol=0, atol=EXACTLY * np.abs(expected).max())
    outside = phi(X_new) - expected @ U.T
    k_xx = np.sum(phi(X_new) ** 2, axis=1)
    error = model.reconstruction_error(X_new)
    np.testing.assert_allclose(error, np.sum(outside**2, axis=1), rtol=0, atol=EXACTLY * k_xx.max())
    np.testing.assert_allclose(error, k_xx - np.sum(Y**2, axis=1), rtol=0, atol=EXACTLY * k_xx.max())
    if q is None:  # (18) holds where all axes are kept
        assert model.n_components_ == len(model.support_)
        k_hat, K_hat = phi(X_new) @ Phi[model.support_].T, (Phi @ Phi.T)[np.ix_(model.support_, model.support_)]
        eighteen = k_xx - np.sum(k_hat * np.linalg.solve(K_hat, k_hat.T).T, axis=1)
        np.testing.assert_allclose(error, eighteen, rtol=0, atol=EXACTLY * k_xx.max())


def test_golden_values_of_the_three_clusters():
    X = three_clusters()
    assert pytest.approx(16) == TIPPING.gamma
    data = Likelihood.of(TIPPING, X, np.arange(90))
    at = data.at(0.0625, np.full(90, 1 / 90))
    assert 90 * at.value == pytest.approx(-671.307498, abs=1e-6)
    assert at.fast()[0] == pytest.approx(0.0070564, abs=1e-7)
    assert at.em()[0] == pytest.approx(0.01092129, abs=1e-8)


def test_nine_kernels_lie_in_the_range_of_many_draws():
    """The maximum has seven or eight kernels on average; the paper's nine are one draw among others."""
    models = [SparseKernelPCA(noise_variance=0.0625, kernel=TIPPING).fit(three_clusters(seed)) for seed in range(200)]
    numbers = [len(model.support_) for model in models]
    assert 7 <= np.mean(numbers) <= 8
    assert min(numbers) <= 5
    assert 9 in numbers
    assert max(model.kkt_ for model in models) <= 1e-6


# Newton's maximum against the fast update


def zoo(n=20):
    """Rows of many kinds under several kernels and noise variances: K, and the noise as a share of the largest."""
    rng = np.random.default_rng(5)
    angle = rng.uniform(0, 2 * np.pi, n)
    rows = {
        "clusters": three_clusters(1)[:: 90 // n][:n],
        "ring": np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(n, 2)),
        "normal": rng.normal(size=(n, 5)),
        "line": np.linspace(0.1, 3, n)[:, None],
        "uniform": rng.uniform(size=(n, 1)),
        "heavy tails": rng.standard_t(2, size=(n, 2)),
        "pairs": np.repeat(rng.normal(size=(n // 2, 2)), 2, axis=0) + 1e-3 * rng.normal(size=(n, 2)),
    }
    for i, X in enumerate(rows.values()):
        kernels = [RBF("median"), RBF("median"), Laplacian("median"), QUADRATIC]
        for kernel in (kernels[i % 4], kernels[(i + 2) % 4]):
            yield kernel.bind(X)(X, X), [0.3, 0.05, 0.005][i % 3]


def fast_steps(K, rho, steps):
    """w after many steps of (14), on a stack of matrices at once."""
    N = K.shape[-1]
    M, unit = K @ K / N, np.eye(N)
    w = np.full(K.shape[:2], 1 / N)
    for _ in range(steps):
        root = np.sqrt(w)
        scale = root[:, :, None] * root[:, None, :]
        inverse = np.linalg.inv(rho[:, None, None] * unit + scale * K)
        S, R = np.einsum("bij,bij->bi", inverse, scale * K), np.einsum("bij,bij->bi", inverse @ (scale * M), inverse)
        w = w * np.divide(R, S, out=np.zeros_like(R), where=w > VANISHED)
    return w


VANISHED = 1e-100  # a weight that has fallen so far is 0


def test_newton_ends_no_lower_than_thirty_thousand_fast_steps():
    K, share = (np.array(values) for values in zip(*zoo(), strict=True))
    N = K.shape[-1]
    rows = np.arange(N)
    every = [Likelihood(k, k @ k / N, np.trace(k) / N, rows, np.full(N, 1 / N)) for k in K]
    rho = share * [data.largest_noise for data in every]
    w = fast_steps(K, rho, 30_000)
    for data, noise, fast in zip(every, rho, w, strict=True):
        fit = fit_weights(data, noise, "newton", 1000, 1e-6)
        assert fit.converged
        assert fit.kkt <= 1e-6
        assert N * fit.values[-1] >= N * data.at(noise, fast).value - 1e-3


# The diabetes data of figure 4


@pytest.fixture(scope="module")
def pima():
    try:
        find("pima")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    arrays = load("pima")
    scaler = StandardScaler().fit(arrays["X_train"])
    train, test = scaler.transform(arrays["X_train"]), scaler.transform(arrays["X_test"])
    kernel = RBF.from_radius(10)
    sparse = SparseKernelPCA(n_anchors=40, kernel=kernel).fit(train)
    full = KernelPCA(center=False, kernel=kernel, solver="exact").fit(train)
    return sparse, full, (train, arrays["y_train"]), (test, arrays["y_test"])


def test_a_fifth_of_the_kernels_reconstructs_nearly_as_well(pima):
    sparse, full, (train, _), _ = pima
    assert len(sparse.support_) == 40
    assert sparse.kkt_ <= 1e-6

    def rms(model, q):
        return np.sqrt(np.mean(model.subspace_[:q].split(train)[1]))

    ratios = {q: rms(sparse, q) / rms(full, q) for q in (1, 10, 25)}
    assert all(ratio >= 1 for ratio in ratios.values())
    assert ratios[10] <= 1.12
    assert ratios[25] <= 1.6


def test_a_linear_classifier_on_the_components_errs_no_more(pima):
    sparse, full, (train, y_train), (test, y_test) = pima

    def errors(model):
        A, B = model.transform(train), model.transform(test)
        models = (SVC(kernel="linear").fit(A[:, :q], y_train) for q in range(1, 26))
        return np.mean([np.sum(svm.predict(B[:, :q]) != y_test) for q, svm in enumerate(models, 1)])

    assert errors(sparse) <= errors(full) + 1


@pytest.mark.parametrize("center", [False, True])
def test_the_likelihood_5_at_weights_of_ones_own(center, X):
    """Of centred vectors where the model is about the mean (footnote 1)."""
    Phi = phi(X) - center * phi(X).mean(axis=0)
    model = SparseKernelPCA(noise_variance=SIGMA2, kernel=QUADRATIC, center=center).fit(X)
    w = np.resize(WEIGHTS, len(X))
    value = log_likelihood(Phi, w) + len(X) * Phi.shape[1] * np.log(SIGMA2) / 2
    np.testing.assert_allclose(model.log_likelihood(w), value, rtol=EXACTLY)
    own = np.zeros(len(X))
    own[model.support_] = model.weights_
    np.testing.assert_allclose(model.log_likelihood(own), model.log_likelihood_, rtol=EXACTLY)
    assert model.log_likelihood_ >= model.log_likelihood(w)


def test_a_sparse_mean(X, X_new):
    """Footnote 1: the weights are those of centred vectors, and the mean is its projection onto the anchors."""
    Phi, new = phi(X), phi(X_new)
    model = SparseKernelPCA(noise_variance=SIGMA2, kernel=QUADRATIC, center=True).fit(X)
    centred = Likelihood.of(Linear(), Phi - Phi.mean(axis=0), np.arange(len(X)))
    literal = fit_weights(centred, SIGMA2, "newton", 100, 1e-9)
    np.testing.assert_array_equal(model.support_, literal.covariance.active)
    np.testing.assert_allclose(model.weights_, literal.w, rtol=1e-5)
    anchors = Phi[model.support_]
    mean = anchors.T @ np.linalg.lstsq(anchors.T, Phi.mean(axis=0))[0]  # the projection of φ̄
    C = (anchors - mean).T @ np.diag(model.weights_) @ (anchors - mean)
    lam, U = np.linalg.eigh(C)
    lam, U = lam[::-1][: model.n_components_], U[:, ::-1][:, : model.n_components_]
    np.testing.assert_allclose(model.subspace_.variances, lam, rtol=1e-8)
    Y = (new - mean) @ U
    np.testing.assert_allclose(np.abs(model.transform(X_new)), np.abs(Y), atol=1e-8)
    r2 = np.sum((new - mean) ** 2, axis=1) - np.sum(Y**2, axis=1)
    np.testing.assert_allclose(model.reconstruction_error(X_new), r2, atol=1e-8)
    left = np.sum((Phi.mean(axis=0) - mean) ** 2)
    np.testing.assert_allclose(model.solver_.outside, left, atol=1e-10)
    assert f"{left / np.sum(Phi.mean(axis=0) ** 2):.1%}" in model.solver_.note
    np.testing.assert_allclose(model.total_variance_, np.mean(np.sum((Phi - mean) ** 2, axis=1)), rtol=1e-9)
    along = np.mean(((Phi - mean) @ U) ** 2, axis=0)
    np.testing.assert_allclose(model.explained_variance_, along, rtol=1e-7)


def test_where_the_mean_is_0_centring_changes_nothing(X):
    both = np.r_[X, -X]  # odd features have mean 0
    settings = {"noise_variance": SIGMA2, "kernel": Linear(), "candidates": np.arange(len(X))}
    plain, centred = (SparseKernelPCA(center=center, **settings).fit(both) for center in (False, True))
    np.testing.assert_array_equal(centred.support_, plain.support_)
    np.testing.assert_allclose(centred.transform(X), plain.transform(X), atol=1e-8)
    np.testing.assert_allclose(centred.reconstruction_error(X), plain.reconstruction_error(X), atol=1e-8)
