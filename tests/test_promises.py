"""One test for each way in which kernel PCA has gone wrong elsewhere."""

import warnings

import numpy as np
import pytest
import scipy.linalg
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as ScikitKernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import mercer.rkhs.subspace
from mercer import KernelPCA, dropin, eigen
from mercer._core import registry
from mercer.eigen import Exact
from mercer.kernels import RBF, Linear, Polynomial, Sigmoid
from mercer.models import validation

SOLVERS = ["auto", *(name for name in registry.SOLVERS if name != "landmarks")]
EVERY_SOLVER = ["auto", *registry.SOLVERS]
DROPIN_SOLVERS = ["auto", "dense", "arpack", "randomized"]


def with_spectrum(values, seed=0):
    """A symmetric matrix with these eigenvalues."""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    K = Q * values @ Q.T
    return (K + K.T) / 2


# --- the ends of a kernel's width


@pytest.mark.parametrize("q", [10, None])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_narrow_kernel_gives_all_pairs_and_a_warning(solver, q):
    X = np.random.default_rng(0).normal(size=(300, 5))
    with pytest.warns(UserWarning, match="too narrow for these data: K ≈ I"):
        model = KernelPCA(q, kernel=RBF(300.0), solver=solver, random_state=0).fit(X)
    assert model.n_components_ == (q or 299)
    np.testing.assert_allclose(model.eigenvalues_, 1, atol=1e-3)
    Y = model.transform(X)
    np.testing.assert_allclose(Y.T @ Y, np.diag(model.eigenvalues_), atol=1e-6)


@pytest.mark.parametrize("solver", DROPIN_SOLVERS)
def test_a_narrow_kernel_gives_all_pairs_in_the_dropin(solver):
    X = np.random.default_rng(0).normal(size=(300, 5))
    model = dropin.KernelPCA(10, kernel="rbf", gamma=300.0, eigen_solver=solver, random_state=0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, 1, atol=1e-3)
    assert model.transform(X).shape == (300, 10)


CONSTANT = {
    "equal rows": (np.ones((250, 3)), RBF(1.0)),
    "equal rows, linear": (np.full((250, 3), 0.1), Linear()),
    "equal rows, polynomial": (np.full((250, 3), 0.1), Polynomial(2)),
    "gamma 0": (np.random.default_rng(0).normal(size=(250, 3)), RBF(0.0)),
    "tiny numbers": (1e-200 * np.random.default_rng(0).normal(size=(250, 3)), RBF(1.0)),
    "squares that underflow, default": (1e-160 * np.random.default_rng(0).normal(size=(250, 3)), RBF()),
    "tiny numbers, median": (1e-200 * np.random.default_rng(0).normal(size=(250, 3)), RBF("median")),
    "tiny numbers, linear": (1e-200 * np.random.default_rng(0).normal(size=(250, 3)), Linear()),
    "three rows": (np.ones((3, 2)), RBF(1.0)),
}


@pytest.mark.parametrize("q", [2, None])
@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("case", CONSTANT)
def test_constant_data_give_no_components_and_a_warning(case, solver, q):
    X, kernel = CONSTANT[case]
    model = KernelPCA(q, kernel=kernel, solver=solver, random_state=0)
    with pytest.warns(UserWarning, match="constant in feature space"):
        Y = model.fit_transform(X)
    assert Y.shape == model.transform(X).shape == (len(X), 0)
    assert model.n_components_ == 0
    assert list(model.get_feature_names_out()) == []
    assert np.all(model.reconstruction_error(X) < 1e-12)


@pytest.mark.parametrize("solver", DROPIN_SOLVERS)
@pytest.mark.parametrize("case", sorted(set(CONSTANT) - {"three rows"}))
def test_constant_data_give_zeros_in_the_dropin(case, solver):
    X, kernel = CONSTANT[case]
    name, gamma = {Linear: "linear", Polynomial: "poly", RBF: "rbf"}[type(kernel)], getattr(kernel, "gamma", None)
    gamma = None if gamma == "median" else gamma
    model = dropin.KernelPCA(2, kernel=name, gamma=gamma, eigen_solver=solver, random_state=0)
    np.testing.assert_array_equal(model.fit_transform(X), np.zeros((len(X), 2)))
    np.testing.assert_array_equal(model.transform(X), np.zeros((len(X), 2)))


@pytest.mark.parametrize("kernel", [RBF(1.0), Polynomial(2)], ids=repr)
def test_a_model_of_constant_data_scores_and_returns_its_rows(kernel):
    X = np.full((20, 3), 0.5)
    with pytest.warns(UserWarning, match="constant in feature space"):
        model = KernelPCA(2, kernel=kernel).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X)
    assert np.isfinite(model.score(X))


# --- eigenpairs that drivers lose


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("solver", SOLVERS)
def test_near_the_identity_every_pair_asked_for_is_found(solver, seed):
    K = with_spectrum(1 + 1e-10 * np.arange(200), seed)
    with pytest.warns(UserWarning, match="too narrow"):
        model = KernelPCA(5, kernel="precomputed", center=False, solver=solver, random_state=seed).fit(K)
    np.testing.assert_allclose(model.eigenvalues_, 1, rtol=1e-7)
    V = model.subspace_.axes.B * np.sqrt(model.eigenvalues_)
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(K @ V, V, atol=1e-6)


CLUSTERS = {
    "equal": [2.0, *[1.0] * 6],
    "near": [2.0, *(1 + 1e-9 * np.arange(6)[::-1])],
    "pairs": [2.0, 2.0, 1.5, 1.5, 1.0, 1.0],
    "all equal": [1.0] * 8,
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_no_member_of_a_tight_cluster_is_lost(cluster, solver, seed):
    top = CLUSTERS[cluster]
    K = with_spectrum(np.r_[top, 0.5 * 0.97 ** np.arange(200 - len(top))], seed)
    model = KernelPCA(len(top), kernel="precomputed", center=False, solver=solver, random_state=seed).fit(K)
    tol = 1e-3 if solver == "randomized" else 1e-6  # its passes are fixed, its accuracy is not
    np.testing.assert_allclose(model.eigenvalues_, top, rtol=tol)


# --- data far from the origin


def principal_scores(X):
    """Scores of linear PCA, the mean taken in extended precision."""
    centred = (X - X.astype(np.longdouble).mean(axis=0)).astype(float)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    return U * s


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("q", [2, 4, None])
def test_linear_scores_do_not_suffer_from_a_shift(q, solver, X, same_up_to_sign):
    X = X + 1e8
    model = KernelPCA(q, kernel="linear", solver=solver, random_state=0)
    expected = principal_scores(X)[:, :q]
    same_up_to_sign(model.fit_transform(X), expected, 1e-6)
    same_up_to_sign(model.transform(X), expected, 1e-6)
    np.testing.assert_allclose(model.inverse_transform(expected * 0), np.tile(X.mean(axis=0), (60, 1)), rtol=1e-14)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("q", [2, 4])
def test_linear_scores_of_float32_do_not_suffer_from_a_shift(q, solver, X, same_up_to_sign):
    X = (X + 1e4).astype(np.float32)
    model = KernelPCA(q, kernel="linear", solver=solver, random_state=0)
    expected = principal_scores(X.astype(float))[:, :q]
    same_up_to_sign(model.fit_transform(X), expected, 1e-6)
    same_up_to_sign(model.transform(X), expected, 1e-6)


@pytest.mark.parametrize("solver", DROPIN_SOLVERS)
def test_linear_scores_of_the_dropin_do_not_suffer_from_a_shift(solver, X, same_up_to_sign):
    X = X + 1e8
    model = dropin.KernelPCA(2, kernel="linear", eigen_solver=solver, random_state=0)
    same_up_to_sign(model.fit_transform(X), principal_scores(X)[:, :2], 1e-6)
    same_up_to_sign(model.transform(X), principal_scores(X)[:, :2], 1e-6)


@pytest.mark.parametrize("kernel", [RBF(0.2), RBF("median"), RBF("scale"), RBF(lengthscale=2.0)], ids=repr)
def test_radial_scores_do_not_suffer_from_a_shift(kernel, X, X_new):
    here, there = np.round(X, 3), np.round(X, 3) + 1e8
    Y = KernelPCA(3, kernel=kernel).fit(here).transform(X_new)
    shifted = KernelPCA(3, kernel=kernel).fit(there).transform(X_new + 1e8)
    np.testing.assert_allclose(shifted, Y, atol=1e-6)


# --- numbers of components


@pytest.mark.parametrize("kernel", [RBF(0.05), RBF(2.0), Linear(), Polynomial(2), Polynomial(3)], ids=repr)
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_float32_has_as_many_components_as_float64(kernel, shift, X):
    X = (X[:, :2] + shift).astype(np.float32)
    for q in (None, 0.99, 7):
        single, double = (KernelPCA(q, kernel=kernel).fit(rows) for rows in (X, X.astype(float)))
        assert single.n_components_ == double.n_components_


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("kernel, rank", [(RBF(0.5), np.inf), (Linear(), 3), (Polynomial(2), 9)], ids=repr)
@pytest.mark.filterwarnings("ignore:The data are constant:UserWarning")
def test_more_components_than_rows_or_rank_give_what_there_is(kernel, rank, n, solver):
    X = np.random.default_rng(0).normal(size=(n, 3))
    for q in (n, n + 1, 50, None):
        model = KernelPCA(q, kernel=kernel, solver=solver, random_state=0).fit(X)
        assert model.n_components_ == min(rank, n - 1)
        assert np.all(np.isfinite(model.transform(X + 1)))
        assert model.explained_variance_ratio_.sum() == pytest.approx(1.0 if n > 1 else 0.0)


@pytest.mark.parametrize("solver", EVERY_SOLVER)
def test_a_single_row(solver):
    with pytest.warns(UserWarning, match="constant in feature space"):
        assert KernelPCA(solver=solver).fit_transform([[1.0, 2.0]]).shape == (1, 0)
    uncentred = KernelPCA(solver=solver, center=False)
    np.testing.assert_allclose(np.abs(uncentred.fit_transform([[1.0, 2.0]])), [[1.0]])


def test_a_single_column(X, same_up_to_sign):
    x = X[:, :1]
    ours, theirs = KernelPCA(5, kernel=RBF(0.5)), ScikitKernelPCA(5, kernel="rbf", gamma=0.5)
    same_up_to_sign(ours.fit_transform(x), theirs.fit_transform(x), 1e-6)
    assert KernelPCA(kernel="linear").fit(x).n_components_ == 1


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("distinct", [2, 5, 12])
def test_duplicates_count_once_in_the_rank(distinct, solver):
    X = np.random.default_rng(0).normal(size=(distinct, 3))[np.arange(60) % distinct]
    for q in (None, 20):
        model = KernelPCA(q, kernel=RBF(0.5), solver=solver, random_state=0).fit(X)
        assert model.n_components_ == distinct - 1
        Y = model.transform(X)
        np.testing.assert_allclose(Y[distinct:], Y[:-distinct], atol=1e-9)


@pytest.mark.parametrize("q", [None, 0.95])
def test_a_whole_large_spectrum_is_refused_before_work(q):
    entries = 0

    def counting(X, Y):
        nonlocal entries
        entries += len(X) * len(Y)
        return rbf_kernel(X, Y)

    n = 5001
    model = KernelPCA(q, kernel=counting)
    with pytest.raises(ValueError, match=r"5001 × 5001 matrix: about .* GB.*solver=Exact\(\)"):
        model.fit(np.random.default_rng(0).normal(size=(n, 2)))
    assert entries < n**2 / 20  # the diagonal was looked at, the matrix was not made
    assert not hasattr(model, "subspace_")


@pytest.mark.parametrize("q", [None, 0.95])
def test_a_whole_large_spectrum_is_given_to_who_means_it(q, X, monkeypatch):
    monkeypatch.setattr(validation, "ALL_COMPONENTS", 50)
    for solver in ("auto", "exact"):
        with pytest.raises(ValueError, match=r"Exact\(\)"):
            KernelPCA(q, solver=solver).fit(X)
    assert KernelPCA(q, solver=Exact()).fit(X).explained_variance_ratio_.sum() >= 0.95


# --- one solve, and tables with nullable columns


@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(3, preimage="learned"),
        KernelPCA(3, kernel="linear"),
        dropin.KernelPCA(3, kernel="rbf", fit_inverse_transform=True),
    ],
    ids=repr,
)
def test_fit_transform_and_inverse_solve_once(model, X, monkeypatch):
    solved = []

    def counting(*args, **kwargs):
        solved.append(args)
        return eigen.eigenpairs(*args, **kwargs)

    monkeypatch.setattr(mercer.rkhs.subspace, "eigenpairs", counting)
    model.inverse_transform(model.fit_transform(X))
    assert len(solved) == 1


@pytest.mark.parametrize("dtype", ["Float64", "Float32", "Int64", "boolean"])
@pytest.mark.parametrize(
    "model", [KernelPCA(3), dropin.KernelPCA(3, kernel="rbf", fit_inverse_transform=True)], ids=["ours", "dropin"]
)
def test_nullable_tables_work(model, dtype, X):
    pandas = pytest.importorskip("pandas")
    rows = X > 0 if dtype == "boolean" else np.round(3 * X)
    table = pandas.DataFrame(rows).astype(dtype)
    table.columns = list("abcd")
    Y = model.fit_transform(table)
    np.testing.assert_allclose(model.transform(table), Y, atol=1e-5)
    assert model.inverse_transform(Y).shape == X.shape
    np.testing.assert_allclose(Y, model.fit_transform(rows.astype(float)), atol=1e-5)


# --- signs


def symmetric_rows(rng):
    """Rows and their mirror images: no skewness, and every largest coordinate is tied."""
    X = rng.normal(size=(30, 3)) * [3, 2, 1]
    return np.vstack([X, -X])


CLOUDS = {
    "skewed": lambda rng: rng.exponential(size=(60, 3)) * [3, 2, 1],
    "symmetric": symmetric_rows,
    "grid": lambda rng: np.stack(np.meshgrid(np.arange(7.0), 1.7 * np.arange(9)), axis=-1).reshape(-1, 2),
    "circle": lambda rng: np.c_[np.cos(np.arange(40)), 0.4 * np.sin(np.arange(40))],
}


@pytest.mark.parametrize("solver", ["auto", "lanczos", "randomized"])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.02)], ids=repr)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_signs_do_not_flip_under_noise(cloud, kernel, solver):
    rng = np.random.default_rng(0)
    X = CLOUDS[cloud](rng)
    model = KernelPCA(2, kernel=kernel, solver=solver)
    first = model.fit(X).transform(X)
    for seed in range(50):
        noisy = X + 1e-12 * rng.normal(size=X.shape)
        Y = model.set_params(random_state=seed).fit(noisy).transform(X)
        np.testing.assert_allclose(Y, first, atol=1e-5 * np.abs(first).max())


def test_signs_of_the_dropin_do_not_flip_under_noise():
    rng = np.random.default_rng(0)
    X = symmetric_rows(rng)
    first = dropin.KernelPCA(2, kernel="rbf", gamma=0.02).fit_transform(X)
    for _ in range(50):
        Y = dropin.KernelPCA(2, kernel="rbf", gamma=0.02).fit_transform(X + 1e-12 * rng.normal(size=X.shape))
        np.testing.assert_allclose(Y, first, atol=1e-6)


# --- eigenvalues that are not positive


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("q", [3, None])
def test_negative_eigenvalues_are_left_out_and_never_nan(q, solver, X, X_new):
    with pytest.warns(UserWarning, match="indefinite"):
        model = KernelPCA(q, kernel=Sigmoid(0.5, 1.0), solver=solver, random_state=0).fit(X)
    assert np.all(model.explained_variance_ > 0)
    assert np.all(np.isfinite(model.transform(X_new)))
    assert np.all(np.isfinite(model.reconstruction_error(X_new)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_eigenvalues_come_in_algebraic_order(solver):
    K = with_spectrum(np.r_[-10.0, -9.0, -8.0, 5.0, 4.0, 3.0, 0.1 * 0.9 ** np.arange(294)])
    with pytest.warns(UserWarning, match="indefinite"):
        model = KernelPCA(2, kernel="precomputed", center=False, solver=solver, random_state=0).fit(K)
    np.testing.assert_allclose(model.eigenvalues_, [5.0, 4.0], rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_negative_definite_matrix_gives_no_component(solver):
    K = -with_spectrum(np.linspace(1, 2, 40))
    model = KernelPCA(2, kernel="precomputed", center=False, solver=solver, random_state=0)
    with pytest.warns(UserWarning, match="indefinite"), pytest.warns(UserWarning, match="constant in feature space"):
        model.fit(K)
    assert model.transform(K).shape == (40, 0)


# --- the way back


def test_the_width_that_none_stands_for_is_used_in_the_inverse(X, X_new):
    by_default = KernelPCA(3, kernel="rbf").fit(X)
    by_number = KernelPCA(3, kernel=RBF(by_default.kernel_.gamma)).fit(X)
    Y = by_number.transform(X_new)
    np.testing.assert_allclose(by_default.inverse_transform(Y), by_number.inverse_transform(Y), atol=1e-12)


def test_the_width_that_none_stands_for_is_used_in_the_inverse_of_the_dropin(X, X_new):
    one, other, theirs = (
        make(3, kernel="rbf", gamma=gamma, fit_inverse_transform=True).fit(X)
        for make, gamma in [(dropin.KernelPCA, None), (dropin.KernelPCA, 0.25), (ScikitKernelPCA, None)]
    )
    back = theirs.inverse_transform(theirs.transform(X_new))
    for model in (one, other):
        np.testing.assert_allclose(model.inverse_transform(model.transform(X_new)), back, atol=1e-8)


@pytest.mark.parametrize("q", [1, 2, 4])
def test_the_mean_comes_back_with_the_linear_kernel(q, X):
    X = X + [100.0, -30.0, 7.0, 0.0]
    model, pca = KernelPCA(q, kernel="linear").fit(X), PCA(q).fit(X)
    expected = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), expected, rtol=1e-6)


# --- what arrays may look like


def as_memmap(X, path):
    np.save(path / "rows.npy", X)
    return np.load(path / "rows.npy", mmap_mode="r")


def read_only(X, path):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "memmap": as_memmap,
    "read-only": read_only,
    "column order": lambda X, path: np.asfortranarray(X),
    "negative strides": lambda X, path: X[::-1, ::-1].copy()[::-1, ::-1],
    "every other entry": lambda X, path: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "big-endian": lambda X, path: X.astype(">f8"),
    "object": lambda X, path: X.astype(object),
    "int8": lambda X, path: X.astype(np.int8),
    "uint64": lambda X, path: (X + 50).astype(np.uint64),
    "list": lambda X, path: X.tolist(),
    "float16": lambda X, path: X.astype(np.float16),
}
MODELS = {
    "rbf": lambda: KernelPCA(3, preimage="learned"),
    "linear": lambda: KernelPCA(3, kernel="linear"),
    "laplacian": lambda: KernelPCA(3, kernel="laplacian"),
    "dropin": lambda: dropin.KernelPCA(3, kernel="rbf", gamma=0.25, fit_inverse_transform=True),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_result_of_a_plain_copy(layout, name, X, tmp_path):
    given = LAYOUTS[layout](np.round(3 * X), tmp_path)  # whole numbers, which every type holds
    plain = np.array(given, dtype=float, order="C")
    model, reference = MODELS[name](), MODELS[name]()
    expected = reference.fit_transform(plain)
    np.testing.assert_allclose(model.fit_transform(given), expected, atol=1e-11)
    np.testing.assert_allclose(model.transform(given), reference.transform(plain), atol=1e-11)
    back = reference.inverse_transform(expected)
    np.testing.assert_allclose(model.inverse_transform(LAYOUTS["list"](expected, None)), back, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(np.asfortranarray(expected)), back, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_arrays_of_the_caller_are_never_written_to(name, X):
    given, Y = X.copy(), None
    model = MODELS[name]()
    for fit in (model.fit, model.fit_transform):
        fit(given)
        Y = model.transform(given)
        coordinates = Y.copy()
        model.inverse_transform(coordinates)
        np.testing.assert_array_equal(coordinates, Y)
        np.testing.assert_array_equal(given, X)
    given[:] = 0  # and what the caller does to them later does not reach the model
    np.testing.assert_array_equal(model.transform(X), Y)


def test_matrices_and_weights_of_the_caller_are_never_written_to(X):
    K, weights = rbf_kernel(X), np.arange(60.0)
    given = [K.copy(), weights.copy()]
    model = KernelPCA(3, kernel="precomputed").fit(given[0], sample_weight=given[1])
    Y = model.transform(K)
    np.testing.assert_array_equal(given[0], K)
    np.testing.assert_array_equal(given[1], weights)
    given[0][:] = 0
    np.testing.assert_array_equal(model.transform(K), Y)


@pytest.mark.parametrize("mask", [True, False])
def test_masked_arrays_are_refused(mask, X):
    masked = np.ma.masked_array(X, mask=np.full(X.shape, False))
    masked.mask[3, 1] = mask
    model = KernelPCA(2)
    with pytest.raises(ValueError, match="masked array"):
        model.fit(masked)
    with pytest.raises(ValueError, match="masked array"):
        model.fit(X).transform(masked)


def test_masked_arrays_are_refused_by_the_dropin(X):
    with pytest.raises(ValueError, match="masked array"):
        dropin.KernelPCA(2).fit(np.ma.masked_array(X, mask=X > 1))


# --- errors that name the true cause


def refused(model, X, text, error=ValueError):
    """Fit is refused with this text, by both doors, and leaves nothing behind."""
    before = set(vars(model))
    for fit in (model.fit, model.fit_transform):
        with pytest.raises(error, match=text):
            fit(X)
        assert set(vars(model)) == before
    with pytest.raises(NotFittedError):
        model.transform(X)


def half(K):
    return K[: len(K) // 2]


PRECOMPUTED = {
    "not square": (half, "square matrix"),
    "not symmetric": (lambda K: K + np.triu(K, 1), "not symmetric"),
    "distances": (lambda K: np.sqrt(2 - 2 * K), "distances"),
    "squared distances": (lambda K: 2 - 2 * K, "distances"),
    "nan": (lambda K: np.where(K < 0.2, np.nan, K), "NaN"),
}


@pytest.mark.parametrize("problem", PRECOMPUTED)
def test_a_matrix_that_is_no_kernel_is_refused(problem, X):
    spoil, text = PRECOMPUTED[problem]
    refused(KernelPCA(2, kernel="precomputed"), spoil(rbf_kernel(X)), text)


def test_rows_of_another_matrix_are_refused(X):
    K = rbf_kernel(X)
    with pytest.raises(ValueError, match="59 features.*60 features"):
        KernelPCA(2, kernel="precomputed").fit(K).transform(K[:, :59])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", [(0, 0), (3, 50)])
def test_a_function_that_returns_nan_is_named(bad, where, X):
    def kernel(A, B):
        K = rbf_kernel(A, B)
        if len(A) == len(B) == 60 or where == (0, 0):
            K[where] = bad
        return K

    refused(KernelPCA(2, kernel=kernel), X, "kernel function .* returned NaN or infinite")


@pytest.mark.parametrize(
    "kernel, scale",
    [(Polynomial(5), 1e80), (Polynomial(3, gamma=1e200), 1.0), (Linear(), 1e200), (Polynomial(1, gamma=1.0), 1e160)],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_overflow_is_called_overflow(kernel, scale, X):
    message = "overflows on these data.*Scale the columns|row 0, column 0, is .* overflow in float64"
    refused(KernelPCA(2, kernel=kernel), scale * (X + 10), message)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_overflow_of_float32_is_called_overflow(X):
    refused(KernelPCA(2, kernel="linear"), (1e30 * X).astype(np.float32), "row 0, column 0, is .* overflow in float32")


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("method", ["transform", "reconstruction_error"])
def test_overflow_of_new_rows_is_called_overflow(method, X):
    model = KernelPCA(2, kernel=Polynomial(5)).fit(X)
    with pytest.raises(ValueError, match="overflows"):
        getattr(model, method)(1e80 * X)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern", "cosine"])
def test_bounded_kernels_take_rows_of_any_size_whose_squares_are_finite(kernel, X):
    model = KernelPCA(2, kernel=kernel).fit(X)
    assert np.all(np.isfinite(model.transform(1e150 * X)))
    with pytest.raises(ValueError, match="row 0, column 0, is .* overflow"):
        model.transform(1e200 * X)


class Huge:
    """Stands for a matrix of many rows, without their memory."""

    dtype = np.dtype(float)
    root = np.ones((1, 1))

    def __init__(self, n):
        self.shape = (n, n)

    def __len__(self):
        return self.shape[0]

    def __matmul__(self, V):
        return V

    def dense(self):
        return self


@pytest.mark.parametrize("n", [32_767, 40_000])
def test_the_driver_with_a_32_bit_workspace_is_not_used_for_many_rows(n, monkeypatch):
    drivers = []

    def eigh(K, *, driver, subset_by_index, **_):
        drivers.append(driver)
        q = subset_by_index[1] - subset_by_index[0] + 1
        return np.ones(q), np.ones((len(K), q))

    def forbidden(*_, **__):
        raise AssertionError("syevd overflows")

    monkeypatch.setattr("mercer._core.memory.available_bytes", lambda: 1e13)
    monkeypatch.setattr(scipy.linalg, "eigh", eigh)
    monkeypatch.setattr(np.linalg, "eigh", forbidden)
    ritz = Exact()(Huge(n), 2, np.random.default_rng(0))
    assert drivers == ["evr"]
    assert ritz.vectors.shape == (n, 2)


def test_an_exact_request_that_cannot_fit_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr("mercer._core.memory.available_bytes", lambda: 1e5)
    X = np.random.default_rng(0).normal(size=(300, 4))
    refused(KernelPCA(2, solver="exact"), X, "300 × 300.*GB are free.*'davidson'.*'landmarks'", MemoryError)
    KernelPCA(2, solver="davidson").fit(X)


ROWS = {
    "nan": (lambda X: np.where(X > 2, np.nan, X), "contains NaN"),
    "infinite": (lambda X: np.where(X > 2, np.inf, X), "contains infinity"),
    "no rows": (lambda X: X[:0], r"0 sample\(s\)"),
    "no columns": (lambda X: X[:, :0], r"0 feature\(s\)"),
    "one dimension": (lambda X: X[:, 0], "Expected 2D array"),
    "three dimensions": (lambda X: X[None], "dim 3"),
    "text": (lambda X: np.full(X.shape, "text"), "could not convert string|dtype='numeric' is not compatible"),
    "complex": (lambda X: X + 1j, "Complex data not supported"),
}


@pytest.mark.parametrize("problem", ROWS)
@pytest.mark.parametrize("make", [KernelPCA, dropin.KernelPCA], ids=["ours", "dropin"])
def test_rows_that_cannot_be_used_are_refused(make, problem, X):
    spoil, text = ROWS[problem]
    refused(make(2, kernel="rbf"), spoil(X), text)
    fitted = make(2, kernel="rbf").fit(X)
    if problem != "no columns":
        with pytest.raises(ValueError, match=text):
            fitted.transform(spoil(X))
    assert fitted.transform(X).shape == (60, 2)


@pytest.mark.parametrize("make", [KernelPCA, dropin.KernelPCA], ids=["ours", "dropin"])
@pytest.mark.parametrize("width", [1, 3, 5])
def test_rows_of_another_width_are_refused(make, width):
    X = np.random.default_rng(0).normal(size=(20, 6))
    with pytest.raises(ValueError, match=f"X has {width} features, but KernelPCA is expecting 4 features"):
        make(2).fit(X[:, :4]).transform(X[:, :width])


@pytest.mark.parametrize("value", [-1, 1.5, -0.5, 0.0, "abc", [2], np.nan])
def test_numbers_of_components_that_mean_nothing_are_refused(value, X):
    refused(KernelPCA(value), X, "The 'n_components' parameter of KernelPCA must be")


@pytest.mark.parametrize(
    "parameter, value",
    [
        ("solver", "arpack"),
        ("solver", 3),
        ("center", "yes"),
        ("preimage", "nonsense"),
        ("indefinite", "ignore"),
        ("random_state", -1),
        ("kernel", "gaussian"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(parameter, value, X):
    refused(KernelPCA(**{parameter: value}), X, f"The '{parameter}' parameter of KernelPCA must be")


@pytest.mark.parametrize(
    "kernel, text",
    [
        (RBF(-1.0), "gamma must be a finite number ≥ 0"),
        (RBF(np.nan), "gamma must be a finite number ≥ 0"),
        (RBF("wide"), "gamma must be a number, None, 'scale', 'median'"),
        (RBF(0.1, lengthscale=1.0), "has a gamma and a lengthscale"),
        (RBF(lengthscale=[1.0, 2.0]), "lengthscale must be a positive number or 4 of them"),
        (-1.0 * RBF(), "scaled by a positive number only"),
    ],
    ids=repr,
)
def test_kernel_parameters_that_mean_nothing_are_refused(kernel, text, X):
    refused(KernelPCA(2, kernel=kernel), X, text)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "cosine", "laplacian", "matern"])
def test_columns_without_variance_and_rows_of_zeros_are_harmless(kernel, X):
    X = X.copy()
    X[:, 1] = 5.0
    X[:3] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelPCA(5, kernel=kernel).fit(X)
        assert np.all(np.isfinite(model.transform(1e6 * X)))
        assert np.all(np.isfinite(model.reconstruction_error(1e6 * X)))
