"""Laws of operators, over every operator around every kind of Gram matrix, against the matrix written out."""

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array
from threadpoolctl import threadpool_limits

from mercer import KernelPCA
from mercer._core import registry, tiles
from mercer.eigen import Operator, Uncentred, eigenpairs
from mercer.kernels import RBF, Cosine, Laplacian, Linear, Matern, Normalized, Polynomial
from mercer.linalg.operators import Covariance, Dense, Gram, Kept
from mercer.testing import OPERATOR_LAWS, check_operator, tile_height
from mercer.testing.comparisons import obeyed
from mercer.testing.operators import MEMBERS

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


class InTiles(Dense):
    """A stored matrix that is multiplied in tiles, like a large one."""

    fewest_rows = 0


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
    yield "Dense in tiles", InTiles(K.astype(dtype)), K.astype(dtype).astype(float)
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


def laws(name):
    """All laws; eigenvectors are divided by the roots of weights, which must not be 0, but products take any."""
    return [law for law in OPERATOR_LAWS if "weights 0" not in name or law.__name__ != "weighted"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_laws(case, dtype):
    make, i = case
    name, shared, reference = list(make(dtype))[i]
    for law in laws(name):
        A = list(make(dtype))[i][1]  # made anew: this law does not see what another one left behind …
        assert A.dtype == dtype
        obeyed(law, A, reference)
        obeyed(law, shared, reference)  # … and this one does


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


# Operators of one's own


class LowRankPlusDiagonal(Uncentred):
    """LLᵀ + diag(d), as a user would write it, on what ``Uncentred`` supplies."""

    def __init__(self, L, d):
        self.L, self.d = L, d
        self.shape, self.dtype = (len(d), len(d)), L.dtype

    def __matmul__(self, V):
        V = V.astype(self.dtype)
        return self.L @ (self.L.T @ V) + self.d[:, None] * V

    def diag(self):
        return np.sum(self.L**2, axis=1) + self.d

    def columns(self, index):
        columns = self.L @ self.L[index].T
        columns[index, np.arange(len(index))] += self.d[index]
        return columns

    def block(self, index):
        return self.columns(index)[index]

    def dense(self):
        return (self.L @ self.L.T + np.diag(self.d)).astype(float)


class Weighted:
    """WKW of a matrix K in memory, without ``Uncentred``: J = W = diag(root)."""

    points = None

    def __init__(self, K, root):
        self.gram, self.root, self.shape, self.dtype = Dense(K), root[:, None], K.shape, K.dtype

    def __matmul__(self, V):
        return self.Jt(self.gram @ self.J(V.astype(self.dtype)))

    def J(self, V):
        return self.root * V

    Jt = J

    def congruence(self, F):
        return (self.root * F).T.astype(float) @ (self.root * F)

    def diag(self):
        return self.root[:, 0] ** 2 * self.gram.diag()

    def columns(self, index):
        return self.root * self.gram.columns(index) * self.root[index, 0]

    def block(self, index):
        return self.columns(index)[index]

    def coarse(self):
        return Weighted(self.gram.K.astype(np.float32), self.root[:, 0].astype(np.float32))

    def dense(self):
        root = self.root.astype(float)
        return root * self.gram.K * root.T


def own_operators(dtype, n=150):
    rng = np.random.default_rng(0)
    L = (rng.normal(size=(n, 12)) * 0.6 ** np.arange(12)).astype(dtype)
    yield LowRankPlusDiagonal(L, np.full(n, 0.01, dtype))
    X = rng.normal(size=(n, 3))
    yield Weighted(RBF(0.3)(X, X).astype(dtype), rng.uniform(0.5, 1.5, n).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [0, 1])
def test_an_operator_that_passes_works_in_every_solver(number, dtype):
    A = list(own_operators(dtype))[number]
    check_operator(A, A.dense())
    expected = np.linalg.eigvalsh(A.dense())[::-1][:4]
    for name, solver in registry.SOLVERS.items():
        if hasattr(solver, "basis"):
            continue
        ritz = solver()(A, 4, np.random.default_rng(0))
        np.testing.assert_allclose(np.sort(ritz.values)[::-1][:4], expected, rtol=1e-5, err_msg=name)
        pairs = eigenpairs(A, 4, name)
        np.testing.assert_allclose(pairs.values, expected, rtol=1e-5, err_msg=name)
        assert pairs.info.note == "", name


class Without:
    """An operator that lacks one member, or has a wrong one."""

    def __init__(self, A, name, member=None):
        self._A, self._name, self._member = A, name, member

    def __getattr__(self, name):
        if name == self._name:
            if self._member is None:
                raise AttributeError(name)
            return self._member
        member = getattr(self._A, name)
        return self if member is self._A else member

    def __matmul__(self, V):
        return self._A @ V


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "__matmul__"])
def test_an_operator_that_lacks_what_solvers_use_fails(name):
    A = next(own_operators(float, 20))
    check_operator(Without(A, ""), A.dense())
    with pytest.raises(AssertionError, match=rf"the operator lacks {name}, which solvers use"):
        check_operator(Without(A, name), A.dense())


def test_an_operator_without_a_product_fails():
    class NoProduct(LowRankPlusDiagonal):
        @property
        def __matmul__(self):
            raise AttributeError

    A = next(own_operators(float, 20))
    with pytest.raises(AssertionError, match="lacks __matmul__"):
        check_operator(NoProduct(A.L, A.d), A.dense())


WRONG = {
    "shape": lambda A: (A.shape[0], 1),
    "dtype": lambda A: np.dtype(int),
    "points": lambda A: np.zeros((3, 2)),
    "root": lambda A: -A.root,
    "gram": lambda A: Dense(2 * A.gram.K),
    "J": lambda A: lambda V: V,
    "Jt": lambda A: lambda M: 2 * A.Jt(M),
    "congruence": lambda A: lambda F: F.T @ F,
    "diag": lambda A: lambda: A.gram.diag(),
    "columns": lambda A: lambda index: A.gram.columns(index),
    "block": lambda A: lambda index: A.gram.block(index),
    "coarse": lambda A: lambda: Weighted(A.gram.K.astype(np.float32) + 0.001, A.root[:, 0].astype(np.float32)),
    "dense": lambda A: lambda: A.gram.dense(),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_law_finds_the_member_that_is_wrong(name):
    A = list(own_operators(float, 20))[1]
    check_operator(Without(A, ""), A.dense())
    with pytest.raises(AssertionError, match=r"breaks a law"):
        check_operator(Without(A, name, WRONG[name](A)), A.dense())


class Recorder:
    """An operator that notes which of its members are used."""

    def __init__(self, A, used):
        self._A, self._used = A, used

    def __getattr__(self, name):
        self._used.add(name)
        member = getattr(self._A, name)
        if name == "gram":
            return Recorder(member, self._used)
        return (lambda: Recorder(member(), self._used)) if name == "coarse" else member

    def __matmul__(self, V):
        self._used.add("__matmul__")
        return self._A @ V


def test_the_protocol_declares_what_solvers_use_and_nothing_else():
    used = set()
    X = np.random.default_rng(0).normal(size=(150, 3))
    w = np.full(150, 1 / 150)
    for solver in registry.SOLVERS.values():
        if not hasattr(solver, "basis"):
            eigenpairs(Recorder(Covariance(Gram(RBF(0.3), X), w, w), used), 4, solver(), definite=False)
    assert used - {"tile"} == set(MEMBERS)  # it is optional
    assert set(MEMBERS) == {name for name, _ in inspect.getmembers(Operator) if not name.startswith("_")} | {
        "__matmul__"
    }


# Sums over tiles


def test_lanes_are_added_in_the_order_of_the_items():
    """However many threads share them: lane l has the items l, l + L, …"""
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            assert tiles.in_threads(list, range(20)) == [[*range(i, 20, 8)] for i in range(8)]


def test_sums_over_many_tiles_keep_their_digits():
    """Products of float32 tiles are added in float64: beside 2²⁸ the sums of eight ones would vanish in float32."""
    n, side, large = 1600, 8, 2.0**28
    V = np.ones((n, 1), np.float32)
    V[0] = large
    with tile_height(side, side):
        actual = tiles.symmetric_rows(lambda i, j: np.ones((i.stop - i.start, j.stop - j.start), np.float32), V)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual.astype(float) - large, n - 1, atol=np.spacing(np.float32(large)))


def test_kept_tiles_are_the_tiles():
    X = rows(np.float32, 40)
    kernel, V = RBF().bind(X), np.random.default_rng(0).normal(size=(40, 3))
    gram, kept = Gram(kernel, X), Gram(kernel, X, kept=Kept(kernel, X))
    with tile_height(7, 7):
        for _ in range(2):  # made, and read again
            np.testing.assert_allclose(kept @ V, gram @ V, rtol=1e-5, atol=1e-5)
    assert len(kept.kept) == 21


@pytest.mark.parametrize(
    "kernel", [RBF(1e-4), Matern(gamma=1e-4), Linear(), Polynomial(2, gamma=1e-4), Laplacian(1e-4)], ids=repr
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_columns_are_multiplied_in_blocks(kernel, dtype):
    """The same matrix, and the same model, as by tiles of rows."""
    X = (5 + np.random.default_rng(0).normal(size=(40, 5000))).astype(dtype)
    expected = kernel(X.astype(float), X.astype(float))
    np.testing.assert_allclose(Gram(kernel, X).dense(), expected, rtol=1e-9, atol=1e-9 * expected.max())
    wide, tall = Gram(kernel, X).repeated(), Gram(kernel, X)
    V = np.random.default_rng(1).normal(size=(40, 3)).astype(dtype)
    np.testing.assert_allclose(wide @ V, tall @ V, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kernel", [Linear(), Cosine()], ids=repr)
def test_products_with_sparse_rows_use_their_factor(kernel):
    X = random_array((300, 2000), density=0.01, random_state=np.random.default_rng(0), format="csr")
    V = np.random.default_rng(1).normal(size=(300, 3))
    np.testing.assert_allclose(Gram(kernel, X) @ V, kernel(X.toarray(), X.toarray()) @ V, atol=1e-12)
    product, _ = kernel.product(X, V)
    np.testing.assert_allclose(product(X[:20]), kernel(X[:20].toarray(), X.toarray()) @ V, atol=1e-12)
    sparse, dense = (KernelPCA(3, kernel=kernel).fit(rows) for rows in (X, X.toarray()))
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-9)
