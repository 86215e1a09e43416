"""Laws of operators, over every operator around every kind of Gram matrix, against the matrix written out."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mercer.kernels import RBF, Laplacian, Linear, Matern, Normalized, Polynomial
from mercer.linalg.operators import Covariance, Dense, Gram
from mercer.testing import OPERATOR_LAWS, check_operator

N, D = 29, 3
DTYPES = [np.float64, np.float32]
KERNELS = [
    RBF(),
    RBF(lengthscale=[0.5, 1, 2]),
    Matern(nu=0.5),
    Laplacian(),
    Linear(),
    Polynomial(degree=2),
    RBF() + Linear(),
]


def rows(dtype, n=N):
    X = np.random.default_rng(0).normal(size=(n, D)).astype(dtype)
    X[n // 2] = X[0]
    return X


def grams(dtype):
    """Every operator that is not centred, and the matrix that it stands for."""
    X = rows(dtype)
    for kernel in KERNELS:
        bound = kernel.bind(X)
        yield f"Gram {kernel!r}", Gram(bound, X), bound(X.astype(float), X.astype(float))
    bound = RBF().bind(X)
    K = bound(X.astype(float), X.astype(float))
    yield "Gram sparse", Gram(bound, csr_matrix(X)), K
    yield "Dense", Dense(K.astype(dtype)), K.astype(dtype).astype(float)
    yield "Dense Fortran", Dense(np.asfortranarray(K.astype(dtype))), K.astype(dtype).astype(float)


def centrings(n):
    """Weights, mean weights and groups: none, one and several."""
    rng = np.random.default_rng(1)
    uniform = np.full(n, 1 / n)
    w = rng.uniform(0.1, 2, n)
    s = rng.uniform(0, 1, n)
    groups = rng.integers(0, 3, n)
    means = rng.uniform(0, 1, (n, 3)) * np.eye(3)[groups]  # each group's mean lies on its own rows
    pooled = rng.uniform(0, 1, (n, 3))  # each group's mean lies on all rows
    yield "uncentred", (uniform, None, None)
    yield "uncentred, weighted", (w, None, None)
    yield "centred", (uniform, uniform, None)
    yield "weighted", (w / w.sum(), w / w.sum(), None)
    yield "mean of other weights", (w, s / s.sum(), None)
    yield "some weights 0", (w * (np.arange(n) % 4 > 0), s / s.sum(), None)
    yield "groups", (w, means / means.sum(axis=0), groups)
    yield "groups about pooled means", (w, pooled / pooled.sum(axis=0), groups)


def written_out(K, w, S, groups):
    """JᵀKJ, J = (I − SGᵀ) diag(√w)."""
    n = len(K)
    S = np.zeros((n, 1)) if S is None else S.reshape(n, -1)
    G = np.eye(S.shape[1])[np.zeros(n, int) if groups is None else groups]
    J = (np.eye(n) - S @ G.T) @ np.diag(np.sqrt(w))
    return J.T @ K @ J


def covariances(dtype):
    """Every centring, around a Gram matrix that is made on the way and around one in memory."""
    X = rows(dtype)
    kernel = RBF(gamma="median").bind(X)
    K = kernel(X.astype(float), X.astype(float))
    for name, (w, S, groups) in centrings(N):
        A = written_out(K, w, S, groups)
        yield f"Covariance Gram {name}", Covariance(Gram(kernel, X), w, S, groups), A
        yield f"Covariance Dense {name}", Covariance(Dense(K.astype(dtype)), w, S, groups), A


CASES = [(make, i) for make in (grams, covariances) for i, _ in enumerate(make(float))]
IDS = [name for make in (grams, covariances) for name, *_ in make(float)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("law", OPERATOR_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_laws(case, law, dtype):
    make, i = case
    _, A, reference = list(make(dtype))[i]  # made anew: no law sees what another one left behind
    assert A.dtype == dtype
    law(A, reference)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_laws_in_a_row(case, dtype):
    make, i = case
    check_operator(*list(make(dtype))[i][1:])


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_few_rows(n, dtype):
    X = rows(dtype, n)
    kernel = Normalized(Polynomial()).bind(X)
    K = kernel(X.astype(float), X.astype(float))
    check_operator(Gram(kernel, X), K)
    w = np.full(n, 1 / n)
    A, expected = Covariance(Gram(kernel, X), w, w), written_out(K, w, w, None)
    for actual in (A @ np.eye(n), A.dense(), A.columns(np.arange(n)), A.block(np.arange(n))):
        np.testing.assert_allclose(actual, expected, atol=10 * np.finfo(dtype).eps)  # of K's entries, which are 1
    np.testing.assert_allclose(A.diag(), expected.diagonal(), atol=10 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", [c for c in CASES if c[0] is covariances], ids=IDS[-2 * len(list(centrings(N))) :])
def test_a_covariance_is_a_square_of_centred_features(case, dtype):
    """JᵀKJ is positive semi-definite, and its trace is Σ w‖φ − φ̄‖²."""
    make, i = case
    _, A, reference = list(make(dtype))[i]
    values = np.linalg.eigvalsh(A.dense())
    assert values[0] >= -N * np.finfo(dtype).eps * values[-1]
    np.testing.assert_allclose(A.diag().sum(), np.trace(reference), rtol=100 * np.finfo(dtype).eps)


def test_the_means_are_the_same_whichever_method_came_first():
    X = rows(float)
    kernel = RBF().bind(X)
    w = np.full(N, 1 / N)
    firsts = [lambda A: A @ X, lambda A: A.dense(), lambda A: A.diag(), lambda A: A.columns(np.array([3]))]
    results = []
    for first in firsts:
        A = Covariance(Gram(kernel, X), w, w)
        first(A)
        results.append(A.KS)
    for KS in results:
        np.testing.assert_allclose(KS, kernel(X, X) @ w[:, None], rtol=1e-13)
