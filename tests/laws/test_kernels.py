"""Laws of kernels, over every kernel class and every way of combining them."""

import inspect
import itertools

import numpy as np
import pytest
import scipy.sparse
import sklearn.gaussian_process.kernels as gp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import pairwise

import mercer.kernels
from mercer._core import registry
from mercer.kernels import (
    RBF,
    Categorical,
    Chi2,
    Cosine,
    FromFunction,
    GaussianProcess,
    GlobalAlignment,
    InverseMultiquadric,
    Jaccard,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    OnColumns,
    Polynomial,
    Precomputed,
    Product,
    Radial,
    RandomWarping,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Sum,
    as_kernel,
    sqdist,
)
from mercer.kernels.objects import as_objects
from mercer.testing import KERNEL_LAWS, check_kernel

D = 5
ARD = np.array([0.5, 1.0, 2.0, 3.0, 0.7])


def laplace(X, Y):
    return np.exp(-np.abs(X[:, None] - Y).sum(axis=2))


KERNELS = [
    RBF(),
    RBF(gamma=0.3),
    RBF(gamma="scale"),
    RBF(gamma="median"),
    RBF(lengthscale=2.0),
    RBF(lengthscale=ARD),
    InverseMultiquadric(),
    InverseMultiquadric(lengthscale=ARD),
    RationalQuadratic(alpha=0.7),
    RationalQuadratic(alpha=3.0, lengthscale=ARD),
    *(Matern(nu=nu) for nu in (0.5, 1.5, 2.5)),
    *(Matern(nu=nu, lengthscale=ARD) for nu in (0.5, 1.5, 2.5)),
    Matern(nu=2.5, gamma="median"),
    Laplacian(),
    Laplacian(gamma="median"),
    Chi2(),
    Chi2(gamma=0.2),
    Linear(),
    Polynomial(),
    Polynomial(degree=2, gamma=0.5, coef0=0.0),
    Polynomial(degree=1, coef0=2.0),
    Sigmoid(),
    Sigmoid(gamma=0.1, coef0=-1.0),
    Cosine(),
    RBF() + Linear(),
    RBF(gamma="scale") * Polynomial(degree=2),
    2.5 * RBF(lengthscale=ARD),
    0.5 * (RBF() + Matern()) * Cosine(),
    Chi2() + RBF(),
    OnColumns(RBF(gamma="median"), [0, 3]),
    OnColumns(Polynomial(), slice(1, 4)),
    OnColumns(Laplacian(), np.array([True, False, True, True, False])) + OnColumns(Linear(), [1, 4]),
    Normalized(Polynomial()),
    Normalized(Linear() + RBF()),
    FromFunction(laplace),
    FromFunction(pairwise.rbf_kernel),
    GaussianProcess(gp.RBF(length_scale=ARD)),
    GaussianProcess(gp.ConstantKernel(2.0) * gp.Matern(nu=2.5) + gp.DotProduct()),
]


def rows(n=40, d=D, seed=0, scale=1.0):
    """Rows that every kernel takes; one stands twice and one is 0."""
    X = np.abs(scale * np.random.default_rng(seed).normal(size=(n, d)))
    X[n // 2] = X[0]
    X[n // 3] = 0
    return X


def of_objects(n=24, seed=0):
    """Kernels of objects, each with rows that it takes; one row stands twice."""
    rng = np.random.default_rng(seed)
    strings = ["".join(rng.choice(list("abçd"), size)) for size in rng.integers(0, 9, n)]
    sets = [set(rng.choice(list("abcdefgh"), size, replace=False)) for size in rng.integers(0, 6, n)]
    series = [rng.normal(size=size) for size in rng.integers(1, 7, n)]
    channels = [rng.normal(size=(size, 2)) for size in rng.integers(1, 5, n)]
    choices = np.array(["red", "blue", None, 3, np.nan], object)
    table = np.column_stack([rng.choice(choices, (n, 3)), rng.normal(size=(n, 2)).astype(object)])
    categories = [[*row] for row in table[:, :3]]
    mixed = OnColumns(RBF(), [3, 4]) * OnColumns(Categorical(), [0, 1, 2])
    kernels = [
        (Spectrum(2), strings),
        (Spectrum(3, mismatches=1), strings),
        (Normalized(Spectrum(1)), strings),
        (Jaccard(), sets),
        (Jaccard(), rng.integers(0, 2, (n, 6))),
        (GlobalAlignment(), series),
        (GlobalAlignment(bandwidth=0.5), channels),
        (RandomWarping(n_series=20, max_length=4), channels),
        *(
            (Categorical(kind, weights), categories)
            for kind in ("hamming", "overlap")
            for weights in ("equal", "rarity")
        ),
        (Categorical(gamma="median"), rng.integers(0, 3, (n, 4)).astype(float)),
        (mixed, table),
        (Normalized(2.0 * mixed + OnColumns(Categorical("overlap"), [0])), table),
    ]
    return [(kernel, [*rows[: n - 1], rows[0]] if isinstance(rows, list) else rows) for kernel, rows in kernels]


@pytest.mark.parametrize(
    ("kernel", "objects"), of_objects(), ids=lambda part: repr(part) if isinstance(part, Kernel) else ""
)
def test_laws_on_objects(kernel, objects):
    check_kernel(kernel, objects)
    for seed in range(3):
        again = dict(
            zip(map(repr, (k for k, _ in of_objects())), (rows for _, rows in of_objects(12, seed)), strict=True)
        )
        k = kernel.bind(as_objects(again[repr(kernel)], kernel.whole))
        K = k(again[repr(kernel)], again[repr(kernel)])
        assert np.linalg.eigvalsh(K)[0] > -1e-12 * max(1.0, K.max())


def test_spectrum_by_its_definition():
    """c_u(x) counts the windows of x with at most m mismatches to u, over all u of the alphabet."""
    strings, letters = ["abracadabra", "cad", "", "barbar"], "abcdr"
    for k, m in ((1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (3, 2)):
        words = ["".join(word) for word in itertools.product(letters, repeat=k)]

        def count(text, u, k=k, m=m):
            windows = [text[i : i + k] for i in range(len(text) - k + 1)]
            return sum(sum(a != b for a, b in zip(v, u, strict=True)) <= m for v in windows)

        F = np.array([[count(text, u) for u in words] for text in strings], float)
        kernel = Spectrum(k, m).bind(strings)
        np.testing.assert_array_equal(kernel(strings, strings), F @ F.T)
        np.testing.assert_array_equal(kernel.diag(strings), (F**2).sum(axis=1))
    np.testing.assert_array_equal(Spectrum(1).bind(["ab"])(["axb"], ["ab"]), [[2.0]])  # x is not in the alphabet
    with pytest.raises(ValueError, match="not bound to any"):
        Spectrum(2, mismatches=1)(["ab"], ["ab"])
    with pytest.raises(ValueError, match="below k"):
        Spectrum(2, mismatches=2).bind(["ab"])
    with pytest.raises(ValueError, match="Lower k"):
        Spectrum(40).bind(["abc"])(["ab"], ["ab"])


def test_jaccard_by_its_definition():
    sets = [{1, 2, 3}, {2, 3}, set(), {"a", 2}, set()]
    expected = [[len(x & y) / len(x | y) if x | y else 1.0 for y in sets] for x in sets]
    np.testing.assert_allclose(Jaccard()(sets, sets), expected)
    bits = np.array([[1, 0, 1], [0, 0, 0], [2, 1, 0]])
    from_bits = Jaccard()([set(np.flatnonzero(row)) for row in bits], [set(np.flatnonzero(row)) for row in bits])
    np.testing.assert_array_equal(Jaccard()(bits, bits), from_bits)
    np.testing.assert_array_equal(Jaccard()(scipy.sparse.csr_array(bits), bits), from_bits)


def test_categorical_by_its_definition():
    rows = [["a", 1], ["b", None], ["a", np.nan], ["a", 2]]
    clean = [["a", 1], ["b", None], ["a", None], ["a", 2]]
    shares = [{"a": 0.75, "b": 0.25}, {1: 0.25, None: 0.5, 2: 0.25}]
    for weights in ("equal", "rarity"):

        def w(j, c, weights=weights):
            return 1.0 if weights == "equal" else 1 - shares[j].get(c, 0.0) ** 2

        s = np.array([[sum(w(j, x[j]) * (x[j] == y[j]) for j in (0, 1)) / 2 for y in clean] for x in clean])
        h = np.array(
            [[sum((w(j, x[j]) + w(j, y[j])) / 2 * (x[j] != y[j]) for j in (0, 1)) / 2 for y in clean] for x in clean]
        )
        np.testing.assert_allclose(Categorical("overlap", weights).bind(rows)(rows, rows), s)
        np.testing.assert_allclose(Categorical(weights=weights, gamma=0.7).bind(rows)(rows, rows), np.exp(-0.7 * h))
    median = np.quantile(h[h > 0], 0.5, method="lower")
    assert Categorical(weights="rarity").bind(rows).gamma == pytest.approx(0.5 / median)
    onehot = np.array([[x[0] == "a", x[0] == "b", x[1] == 1, x[1] is None, x[1] == 2] for x in clean], float)
    np.testing.assert_allclose(Categorical(gamma=2.0)(rows, rows), RBF(0.5)(onehot, onehot))  # ‖·‖² = 2dh, d = 2


def test_alignment_by_its_definition():
    """The sum over all alignments by Cuturi's recurrence, cell by cell."""
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(size, 2)) for size in (1, 2, 5, 9, 4)]

    def a(x, y, sigma=0.7):
        table = np.zeros((len(x) + 1, len(y) + 1))
        table[0, 0] = 1
        for i, j in itertools.product(range(len(x)), range(len(y))):
            g = np.exp(-np.sum((x[i] - y[j]) ** 2) / (2 * sigma**2))
            table[i + 1, j + 1] = g / (2 - g) * (table[i, j] + table[i, j + 1] + table[i + 1, j])
        return table[-1, -1]

    K = np.array([[a(x, y) / np.sqrt(a(x, x) * a(y, y)) for y in series] for x in series])
    np.testing.assert_allclose(GlobalAlignment(0.7)(series, series), K, rtol=1e-12)
    np.testing.assert_array_equal(GlobalAlignment(0.7)([[0.0] * 400], [[1e3]]), [[0.0]])  # far beyond the number range
    np.testing.assert_allclose(GlobalAlignment(2.0)([np.zeros(900)], [np.zeros(900)]), 1.0)
    bound = RandomWarping(n_series=30, bandwidth=0.7).bind(series)
    F = GlobalAlignment(0.7)(series, list(bound._random()))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    np.testing.assert_allclose(bound(series, series), F @ F.T, rtol=1e-12)
    with pytest.raises(ValueError, match="channels"):
        GlobalAlignment(1.0)(series, [[1.0]])


def test_wrong_objects_are_named():
    for kernel, wrong in (
        (Spectrum(), ["ab", 3]),
        (Jaccard(), [{1}, "text"]),
        (GlobalAlignment(), [[1.0], []]),
        (Categorical(), [["a"], [{1}]]),
        (OnColumns(RBF(), [0]) + OnColumns(Categorical(), [1]), np.array([[1.0, "a"], ["x", "b"]], object)),
    ):
        with pytest.raises(ValueError, match="row 1, column 0,.* takes"):
            mercer.KernelPCA(1, kernel=kernel).fit(wrong)
    with pytest.raises(ValueError, match="one object for each row, and the table has 2"):
        mercer.KernelPCA(1, kernel=Spectrum()).fit(np.array([["a", "b"], ["c", "d"]], object))
    with pytest.raises(ValueError, match="kernel for objects"):
        mercer.KernelPCA(1).fit([["a"], ["b"]])
    for wrong in (Categorical(kind="hamm"), Categorical(weights="rare"), GlobalAlignment(bandwidth=-1.0)):
        with pytest.raises(ValueError, match="was given"):
            wrong.bind([["a"], ["b"]] if isinstance(wrong, Categorical) else [[1.0], [2.0]])


def classes(kernel):
    parts = [part for part in kernel.get_params().values() if isinstance(part, Kernel)]
    return {type(kernel), *map(type, parts)}


def test_every_kernel_class_is_here():
    public = {c for _, c in inspect.getmembers(mercer.kernels, inspect.isclass) if issubclass(c, Kernel)}
    concrete = {c for c in public if not inspect.isabstract(c)}
    assert concrete - {Precomputed} == set().union(*map(classes, [*KERNELS, *(kernel for kernel, _ in of_objects())]))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_laws(kernel):
    check_kernel(kernel, rows())


@settings(deadline=None, derandomize=True, phases=[Phase.generate], max_examples=20)
@given(
    kernel=st.sampled_from(KERNELS),
    n=st.integers(3, 30),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.03, 0.3, 1.0, 2.0]),
)
def test_laws_on_random_rows(kernel, n, seed, scale):
    obeyed(kernel, rows(n, D, seed, scale))


def obeyed(kernel, X):
    for law in KERNEL_LAWS:
        law(kernel, X)


@settings(deadline=None, derandomize=True, phases=[Phase.generate], max_examples=20)
@given(
    kernel=st.sampled_from([RBF(), Matern(nu=0.5), Matern(), Laplacian(), Linear(), Polynomial(), Cosine(), Chi2()]),
    d=st.integers(1, 40),  # both sides of the width up to which distances are taken column by column
    seed=st.integers(0, 2**32 - 1),
)
def test_laws_on_any_number_of_columns(kernel, d, seed):
    obeyed(kernel, rows(10, d, seed))


WIDTHLESS = [
    kernel
    for kernel in KERNELS
    if kernel.get_params().get("gamma", 1) is None and kernel.get_params().get("lengthscale") is None
]


@pytest.mark.parametrize("kernel", [kernel for kernel in WIDTHLESS if kernel.distance is None], ids=repr)
def test_the_default_scale_of_inner_products_needs_no_data(kernel):
    X = rows()
    np.testing.assert_array_equal(kernel(X, X), kernel.bind(X)(X, X))
    np.testing.assert_array_equal(kernel.diag(X), kernel.bind(X).diag(X))


@pytest.mark.parametrize("kernel", [kernel for kernel in WIDTHLESS if kernel.distance is not None], ids=repr)
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_the_default_width_is_half_over_the_median_distance(kernel, factor):
    """So that the kernel of the median pair is the same in every unit of the rows."""
    X = factor * rows()
    distances = kernel.distance(X, X)[np.triu_indices(len(X), 1)]
    gamma = kernel.bind(X).gamma
    assert gamma * np.quantile(distances, 0.5, method="lower") == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("gamma", ["scale", "median", None])
def test_a_width_that_follows_from_data_needs_data(gamma):
    with pytest.raises(ValueError, match="not bound to any"):
        RBF(gamma=gamma)(rows(), rows())


@pytest.mark.parametrize("gamma", ["scale", "median"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 31, 60])
def test_equal_weights_are_no_weights(gamma, n):
    """Also where rows are equal, and for an odd and an even number of pairs."""
    X = np.random.default_rng(n).normal(size=(n, 3))
    X[-1] = X[0]
    for weight in (1.0, 3.0):
        weighted = RBF(gamma=gamma).bind(X, np.full(n, weight)).gamma
        assert weighted == pytest.approx(RBF(gamma=gamma).bind(X).gamma, rel=1e-12)


@pytest.mark.parametrize("gamma", [-1.0, np.nan, np.inf, "wide", True])
def test_a_width_that_is_none_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be"):
        RBF(gamma=gamma).bind(rows())


GAMMA = 0.3
SCALE = np.array([0.5, 1.5, 2.0, 3.0, 0.7])
PAIRS = {
    "rbf": (RBF(gamma=0.25), lambda X, Y: pairwise.rbf_kernel(X, Y, 0.25)),
    "rbf, gamma": (RBF(gamma=GAMMA), lambda X, Y: pairwise.rbf_kernel(X, Y, GAMMA)),
    "laplacian": (Laplacian(gamma=0.25), lambda X, Y: pairwise.laplacian_kernel(X, Y, 0.25)),
    "laplacian, gamma": (Laplacian(gamma=GAMMA), lambda X, Y: pairwise.laplacian_kernel(X, Y, GAMMA)),
    "poly": (Polynomial(), pairwise.polynomial_kernel),
    "poly, all": (Polynomial(2, GAMMA, 0.5), lambda X, Y: pairwise.polynomial_kernel(X, Y, 2, GAMMA, 0.5)),
    "sigmoid": (Sigmoid(), pairwise.sigmoid_kernel),
    "sigmoid, all": (Sigmoid(GAMMA, -0.5), lambda X, Y: pairwise.sigmoid_kernel(X, Y, GAMMA, -0.5)),
    "linear": (Linear(), pairwise.linear_kernel),
    "cosine": (Cosine(), pairwise.cosine_similarity),
    "cosine, normalised": (Normalized(Linear()), pairwise.cosine_similarity),
    "chi2": (Chi2(), pairwise.chi2_kernel),
    "chi2, gamma": (Chi2(gamma=GAMMA), lambda X, Y: pairwise.chi2_kernel(X, Y, GAMMA)),
    "GP RBF": (RBF(lengthscale=SCALE), gp.RBF(SCALE)),
    "GP RBF, isotropic": (RBF(lengthscale=1.7), gp.RBF(1.7)),
    "GP RBF, sigma": (RBF.from_sigma(1.7), gp.RBF(1.7)),
    "GP RationalQuadratic": (RationalQuadratic(0.8, lengthscale=1.7), gp.RationalQuadratic(1.7, 0.8)),
    **{f"GP Matern {nu}": (Matern(nu, lengthscale=SCALE), gp.Matern(SCALE, nu=nu)) for nu in (0.5, 1.5, 2.5)},
    "inverse multiquadric": (
        InverseMultiquadric(GAMMA),
        lambda X, Y: (1 + GAMMA * pairwise.euclidean_distances(X, Y) ** 2) ** -0.5,
    ),
    "GP sum": (
        2.0 * RBF(lengthscale=SCALE) + Linear(),
        gp.ConstantKernel(2.0) * gp.RBF(SCALE) + gp.DotProduct(sigma_0=0),
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_kernels_are_those_of_scikit_learn(pair):
    kernel, reference = PAIRS[pair]
    X, Y = rows(), rows(20, seed=1)
    np.testing.assert_allclose(kernel(X, Y), reference(X, Y), rtol=1e-10, atol=1e-12)


def test_limits_of_families_are_the_rbf():
    X = rows()
    np.testing.assert_allclose(RationalQuadratic(alpha=1e8, gamma=0.2)(X, X), RBF(gamma=0.2)(X, X), atol=1e-6)
    np.testing.assert_allclose(RationalQuadratic(alpha=0.5, gamma=0.2)(X, X), InverseMultiquadric(gamma=0.4)(X, X))


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Matern(gamma=0.2), Laplacian(gamma=0.4), Chi2()], ids=repr)
def test_compositions_are_the_arithmetic_of_matrices(kernel):
    X, Y = rows(), rows(20, seed=1)
    K, L = kernel(X, Y), Polynomial(degree=2)(X, Y)
    np.testing.assert_allclose((kernel + Polynomial(degree=2))(X, Y), K + L)
    np.testing.assert_allclose((kernel * Polynomial(degree=2))(X, Y), K * L)
    np.testing.assert_allclose((3 * kernel)(X, Y), 3 * K)
    np.testing.assert_allclose((kernel * 3)(X, Y), 3 * K)
    np.testing.assert_allclose((np.float64(3) * kernel)(X, Y), 3 * K)
    np.testing.assert_allclose(OnColumns(kernel, [0, 3])(X, Y), kernel(X[:, [0, 3]], Y[:, [0, 3]]))


FLAGS = [
    ("sparse", all, (RBF(), Linear())),
    ("sparse", all, (Laplacian(), RBF())),
    ("definite", all, (RBF(), Linear())),
    ("definite", all, (Sigmoid(), RBF())),
    ("nonnegative", any, (RBF(), Linear())),
    ("nonnegative", any, (Chi2(), RBF())),
    ("stationary", all, (RBF(), Linear())),
    ("stationary", all, (Laplacian(), RBF())),
]


@pytest.mark.parametrize("compose", [Sum, Product], ids=lambda c: c.__name__)
@pytest.mark.parametrize("flag, how, parts", FLAGS)
def test_flags_of_a_composition_follow_from_its_parts(flag, how, parts, compose):
    assert getattr(compose(*parts), flag) == how(getattr(part, flag) for part in parts)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel.stationary], ids=repr)
def test_stationary_kernels_do_not_see_the_origin(kernel):
    X, Y = rows(), rows(20, seed=1)
    bound = kernel.bind(X)
    np.testing.assert_allclose(bound(X + 64.0, Y + 64.0), bound(X, Y), atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_precomputed_looks_up_its_matrix(dtype):
    K = RBF(0.2)(rows(), rows()).astype(dtype)
    kernel = Precomputed()
    bound, index = kernel.bind(K), np.arange(len(K))[:, None]
    assert kernel.K is None
    some, others = index[[5, 0, 5]], index[[1, 2]]
    np.testing.assert_array_equal(bound(index, index), K)
    np.testing.assert_array_equal(bound(some, others), K[[5, 0, 5]][:, [1, 2]])
    np.testing.assert_array_equal(bound(K[:3], others), K[:3][:, [1, 2]])
    np.testing.assert_array_equal(bound.diag(index), K.diagonal())
    np.testing.assert_array_equal(bound.diag(K), K.diagonal())
    assert bound(index, index).dtype == dtype


def test_precomputed_says_that_it_needs_a_diagonal():
    K = 2 * RBF(0.2)(rows(), rows())
    with pytest.raises(ValueError, match="diag="):
        Precomputed().bind(K).diag(K[:3])
    np.testing.assert_array_equal(Precomputed(diag=2.0).bind(K).diag(K[:3]), [2, 2, 2])
    assert clone(Precomputed(diag=2.0)) == Precomputed(diag=2.0) != Precomputed()


def test_noise_of_a_gaussian_process_is_on_neither_diagonal_or_on_both():
    check_kernel(GaussianProcess(gp.RBF() + gp.WhiteKernel(0.5)), rows(), dtypes=[np.float64])


@pytest.mark.parametrize("name", registry.KERNELS)
def test_names_stand_for_kernels(name):
    assert as_kernel(name) == registry.KERNELS[name]()
    kernel = registry.KERNELS[name]()
    assert as_kernel(kernel) is kernel


def test_functions_and_gaussian_processes_become_kernels():
    assert as_kernel(laplace) == FromFunction(laplace)
    assert as_kernel(gp.RBF(2.0)) == GaussianProcess(gp.RBF(2.0))
    for nothing in ("nonsense", RBF, 3, None):
        with pytest.raises(ValueError, match="Unknown kernel"):
            as_kernel(nothing)


class Broken(RBF):
    """One fault at a time, for the laws to find."""

    def __init__(self, fault=None, gamma=0.3, lengthscale=None):
        self.fault = fault
        super().__init__(gamma, lengthscale)

    def onto(self, Z):
        k = super().onto(Z)
        changes = {
            "symmetric": lambda K: K * np.linspace(1, 1.001, len(Z)),
            "definite": lambda K: K - 0.5,
            "diagonal": lambda K: K + 1e-3,
            "single_precision": lambda K: K.astype(float),
        }
        return lambda x: changes.get(self.fault, lambda K: K)(k(x))

    def product(self, Z, B):
        k_B, width = super().product(Z, B)
        return (lambda x: 1.001 * k_B(x)) if self.fault == "fused" else k_B, width

    def slope(self, t):
        return super().slope(t.copy()) * (1.001 if self.fault == "slope_of_profile" else 1)

    def inverse(self, v):
        return super().inverse(v) * (1.001 if self.fault == "inverse_of_profile" else 1)

    def bind(self, X, weights=None, center=True):
        if self.fault == "bound_once":
            self.gamma = 0.1
        if self.fault == "unwritten":
            X[0] = 0
        return super().bind(X, weights, center)


FAULTS = ["symmetric", "definite", "diagonal", "single_precision", "fused", "slope_of_profile", "inverse_of_profile"]


@pytest.mark.parametrize("fault", [*FAULTS, "bound_once", "unwritten"])
def test_a_law_finds_the_kernel_that_breaks_it(fault):
    law = next(law for law in KERNEL_LAWS if law.__name__ == fault)
    law(Broken(), rows())
    with pytest.raises((AssertionError, ValueError)):
        law(Broken(fault), rows().astype(np.float32 if fault == "single_precision" else float))


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if isinstance(kernel, Radial)], ids=repr)
def test_values_and_slopes_from_one_evaluation(kernel):
    """with_slope gives κ(t) and κ′(t) of t = ‖x − z‖², in units of the lengthscale."""
    X = rows()
    k = kernel.bind(X)
    between = (X[:5] + X[5:10]) / 2 + 0.01  # a kink at t = 0 has no slope
    values, slopes = k.with_slope(X)(between)
    t = sqdist(k.scaled(between), k.scaled(X))
    np.testing.assert_allclose(values, k(between, X), rtol=1e-10)
    np.testing.assert_allclose(slopes, k.slope(t.copy()), rtol=1e-7)


def test_a_kernel_and_a_number_have_no_sum():
    with pytest.raises(TypeError, match="unsupported operand"):
        RBF(1.0) + 3
