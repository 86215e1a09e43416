"""Arrays of other libraries go into the same estimators: NumPy's results, where the arrays live, never through NumPy.

array-api-strict's second device stands for a graphics card: whoever turns one of its arrays into NumPy's gets an error.
"""

import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import estimator_checks

import mercer
from mercer import KernelPCA, MercerWarning, ProbabilisticKernelPCA
from mercer._core import arrays
from mercer.eigen import Exact, Lanczos, Randomized, eigenpairs
from mercer.kernels import (
    RBF,
    Chi2,
    Cosine,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    OnColumns,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from mercer.linalg.cholesky import rpcholesky
from mercer.linalg.eigenpairs import choose_for
from mercer.linalg.operators import Covariance, Dense, Gram
from mercer.linalg.signs import signs
from mercer.linalg.solvers.davidson import Davidson
from mercer.preimage import ClosedForm, FixedPoint, Smoother
from mercer.rkhs import Basis, principal_subspace
from mercer.rkhs.landmarks import Landmarks

pytest.importorskip("array_api_compat", reason="arrays of other libraries are an extra: pip install 'mercer[arrays]'")

BACKENDS = ["torch", "array_api_strict"]
ERRORS = ("reconstruction_error", "score")  # zero where all is explained: compared on the scale of the variance
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}  # of the largest entry
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(140, 4)) * [1.6, 1.2, 0.9, 0.6] + 1
NEW = RNG.normal(size=(20, 4)) + 1
WEIGHTS = RNG.integers(0, 4, len(ROWS)).astype(float)  # some rows count twice, some not at all

KERNELS = [
    RBF(0.3),
    RBF(np.float64(0.3)),
    RBF("median"),
    RBF("scale"),
    RBF(lengthscale=[1.0, 2.0, 3.0, 1.5]),
    Laplacian(0.2),
    Matern(0.5, gamma=0.2),
    Matern(1.5, gamma=0.2),
    Matern(2.5, gamma=0.2),
    RationalQuadratic(2.0, gamma=0.2),
    InverseMultiquadric(0.3),
    Linear(),
    Polynomial(2),
    Polynomial(3, gamma=0.1),
    Polynomial(4, gamma=0.1, coef0=2),
    Sigmoid(gamma=0.05, coef0=-0.5),
    Cosine(),
    RBF(0.2) + Linear(),
    RBF(0.2) * Laplacian(0.1),
    np.float64(2) * RBF(0.3),
    OnColumns(RBF(0.3), [0, 2]),
    OnColumns(RBF(0.3), np.array([True, False, True, True])),
    Normalized(Polynomial(2)),
]
SOLVERS = ["auto", Exact(), Randomized(), Davidson(tol=1e-13), Landmarks(40), Landmarks(40, choose="uniform")]
MODELS = [KernelPCA(3, random_state=0), ProbabilisticKernelPCA(3, random_state=0)]

pytestmark = pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite:UserWarning")


class Elsewhere:
    """A library and one of its devices: arrays go there and come back for comparisons only."""

    def __init__(self, name):
        self.module = pytest.importorskip(name, reason=f"{name} is not installed")
        self.device = "cpu" if name == "torch" else self.module.Device("device1")

    def __call__(self, values, dtype=None):
        values = np.ascontiguousarray(values, dtype)
        return self.module.asarray(values, device=self.device)

    def back(self, array):
        """To NumPy, by the one door that is open."""
        if hasattr(array, "numpy"):
            return array.numpy()
        return np.asarray(self.module.asarray(array, device=self.module.Device("CPU_DEVICE")))

    def holds(self, array):
        return arrays.is_foreign(array) and arrays.home(array) == arrays.home(self(0.0))


@pytest.fixture(params=BACKENDS)
def there(request):
    return Elsewhere(request.param)


@pytest.fixture(autouse=True)
def _scipy_knows(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@contextmanager
def dispatched():
    with sklearn.config_context(array_api_dispatch=True):
        yield


def results(model, X, X_new, weights=None):
    """All that a fitted model says, by name."""
    found = {"fit_transform": model.fit_transform(X, sample_weight=weights)}
    found |= {
        "transform": model.transform(X_new),
        "reconstruction_error": model.reconstruction_error(X_new),
        "explained_variance_": model.explained_variance_,
        "explained_variance_ratio_": model.explained_variance_ratio_,
        "eigenvalues_": model.eigenvalues_,
        "total_variance_": model.total_variance_,
        "n_rows_": model.n_rows_,
        "score": model.score(X_new),
    }
    if hasattr(model, "mahalanobis"):
        found |= {name: getattr(model, name)(X_new) for name in ("mahalanobis", "score_samples", "score_path")}
        found |= {name: getattr(model, name) for name in ("posterior_variance_", "noise_variance_")}
    return found


def same(model, there, dtype="float64", weights=None, X=ROWS, X_new=NEW):
    """Check that a model says there what it says of NumPy's arrays, in the dtypes that it has here."""
    reference = results(sklearn.clone(model), X.astype(dtype), X_new.astype(dtype), weights)
    with dispatched():
        there_w = None if weights is None else there(weights)
        found = results(sklearn.clone(model), there(X, dtype), there(X_new, dtype), there_w)
    for name, expected in reference.items():
        if isinstance(expected, float):
            assert isinstance(found[name], float), name
            values = found[name]
        else:
            assert there.holds(found[name]), f"{name} does not live where the rows do"
            values = there.back(found[name])
            assert values.dtype == expected.dtype, name
        scale = np.abs(expected).max(initial=reference["total_variance_"] if name in ERRORS else 0)
        assert_allclose(values, expected, rtol=0, atol=TOLERANCE[dtype] * scale, err_msg=name)


def test_the_other_device_lets_nothing_out():
    """What the tests on array-api-strict prove: NumPy cannot read its second device."""
    there = Elsewhere("array_api_strict")
    for leak in (np.asarray, np.sqrt, lambda x: np.float64(2) * x):
        with pytest.raises(RuntimeError, match="convert"):
            leak(there(ROWS))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_kernel_gives_numpys_results(kernel, there, dtype):
    same(KernelPCA(3, kernel=kernel, solver="exact"), there, dtype)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_model_and_solver_gives_numpys_results(model, solver, there, dtype, weights):
    if weights is not None and getattr(solver, "choose", "") == "uniform":
        pytest.skip("weighted rows are drawn on the device by a rule of its own: other landmarks")
    same(sklearn.clone(model).set_params(kernel=RBF("median"), solver=solver), there, dtype, weights)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=repr)
def test_small_feature_spaces_are_decomposed_themselves(kernel, there):
    same(KernelPCA(2, kernel=kernel), there)
    same(KernelPCA(2, kernel=kernel), there, weights=WEIGHTS, X=ROWS[:, :2], X_new=NEW[:, :2])
    flat = ROWS.copy()
    flat[:, 3] = flat[:, 0]  # rows that are drawn span less than the kernel has features
    same(KernelPCA(2, kernel=kernel), there, X=flat)


@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(0.8, kernel=RBF(0.3)),
        KernelPCA(kernel=RBF(2.0), center=False),
        ProbabilisticKernelPCA(0.8, kernel=RBF(0.3)),
        ProbabilisticKernelPCA(kernel=RBF(0.3), noise_variance=0.01),
        ProbabilisticKernelPCA(2, kernel=Linear(), noise_variance="mle"),
    ],
    ids=repr,
)
def test_numbers_of_components_and_noise(model, there):
    same(model, there, X=ROWS[:60])


def test_davidson_on_more_rows_keeps_its_tiles(there):
    """In single precision first, whose tiles are kept: n above the size where it falls back."""
    X = np.random.default_rng(1).normal(size=(400, 3))
    same(KernelPCA(2, kernel=RBF(0.1) + Linear(), solver=Davidson(tol=1e-13), random_state=0), there, X=X, X_new=X[:9])


@pytest.mark.parametrize("solver", SOLVERS[:5], ids=repr)
def test_results_do_not_depend_on_the_tiles(solver, there):
    model = KernelPCA(2, kernel=RBF(0.3), solver=solver, random_state=0)
    with sklearn.config_context(working_memory=0.01):  # a dozen rows
        same(model, there, X=ROWS[:120])


@pytest.mark.parametrize("solver", SOLVERS[:5], ids=repr)
@pytest.mark.parametrize(
    "X", [np.ones((1, 3)), np.ones((20, 3)), np.array([[0.0, 1.0], [1.0, 0.0]])], ids=["one", "constant", "two"]
)
def test_degenerate_rows_have_a_defined_result(X, solver, there):
    model = KernelPCA(3, kernel=Linear(), solver=solver, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The data are constant|The kernel is too narrow")
        expected = sklearn.clone(model).fit(X).transform(X)
        with dispatched():
            found = sklearn.clone(model).fit(there(X)).transform(there(X))
    assert_allclose(there.back(found), expected, atol=1e-12)


def test_a_doubled_weight_is_a_repeated_row(there):
    """Also on a device, where rows without weight are left out."""
    kept = ROWS[:40]
    w = WEIGHTS[:40]
    with dispatched():
        weighted = KernelPCA(3, kernel=RBF("median")).fit(there(kept), sample_weight=there(w))
        repeated = KernelPCA(3, kernel=RBF("median")).fit(there(np.repeat(kept, w.astype(int), axis=0)))
        Y, expected = weighted.transform(there(NEW)), repeated.transform(there(NEW))
    assert_allclose(there.back(Y), there.back(expected), atol=1e-10)


def test_rows_and_weights_are_not_written_to(there):
    X, w = there(ROWS), there(WEIGHTS)
    with dispatched():
        for solver in SOLVERS:
            ProbabilisticKernelPCA(2, solver=solver, random_state=0).fit(X, sample_weight=w).score_samples(X)
    assert_array_equal(there.back(X), ROWS)
    assert_array_equal(there.back(w), WEIGHTS)


def test_torch_goes_through_numpy_nowhere(monkeypatch):
    """On the processor NumPy could read the tensors, and would not be noticed: the door is shut for this test."""
    there = Elsewhere("torch")

    def shut(*args, **kwargs):
        raise AssertionError("a tensor was turned into a NumPy array")

    X, w = there(ROWS), there(WEIGHTS)
    for name in ("__array__", "numpy", "tolist"):
        monkeypatch.setattr(there.module.Tensor, name, shut)
    with pytest.raises(AssertionError):
        np.asarray(X)
    with dispatched():
        for solver in SOLVERS:
            model = ProbabilisticKernelPCA(2, kernel=RBF("median"), solver=solver, random_state=0)
            model.fit(X, sample_weight=w)
            model.inverse_transform(model.transform(X))
            model.score_samples(X)


def test_pieces_add_up(there):
    with dispatched():
        model = KernelPCA(2, kernel=RBF(0.3), solver=Landmarks(choose=np.arange(30)))
        whole = sklearn.clone(model).fit(there(ROWS)).transform(there(NEW))
        pieces = sklearn.clone(model).fit(there(ROWS[:70])).partial_fit(there(ROWS[70:])).transform(there(NEW))
    assert_allclose(there.back(pieces), there.back(whole), atol=1e-10)


@pytest.mark.parametrize("choose", ["rows", "points", "points there"])
def test_landmarks_that_are_given(choose, there):
    given = {"rows": np.arange(0, 140, 5), "points": ROWS[::5], "points there": there(ROWS[::5])}[choose]
    with dispatched():
        found = KernelPCA(2, kernel=RBF(0.3), solver=Landmarks(choose=given)).fit(there(ROWS)).transform(there(NEW))
    expected = KernelPCA(2, kernel=RBF(0.3), solver=Landmarks(choose=ROWS[::5])).fit(ROWS).transform(NEW)
    assert_allclose(there.back(found), expected, atol=1e-10)


def test_weighted_rows_are_drawn_by_their_weights(there):
    """Landmarks by chance: rows without weight never, heavy ones more often than light ones."""
    X, w = np.arange(8.0)[:, None], np.array([0, 1, 1, 1, 1, 8, 8, 0.0])
    rng, drawn = np.random.default_rng(0), []
    for _ in range(200):
        chosen = Landmarks(3, choose="uniform")(None, there(X), None, there(w / w.sum()), rng)
        drawn += there.back(chosen)[:, 0].astype(int).tolist()
    counts = np.bincount(drawn, minlength=8)
    assert counts[[0, 7]].sum() == 0
    assert counts[[5, 6]].min() > 2 * counts[1:5].max()


def test_the_same_pivots_from_the_same_seed(there):
    """Draws come from NumPy: a device chooses the rows that NumPy chooses."""
    F, pivots = rpcholesky(Gram(RBF(0.3), ROWS), 30, np.random.default_rng(0))
    F_there, pivots_there = rpcholesky(Gram(RBF(0.3), there(ROWS)), 30, np.random.default_rng(0))
    assert_array_equal(pivots_there, pivots)
    assert_allclose(there.back(F_there), F, atol=1e-12)


def test_a_basis_of_landmarks_is_lapacks(there):
    Z = np.vstack([ROWS[:30], ROWS[:5]])  # five add nothing
    here, elsewhere = Basis.of(RBF(0.3), Z), Basis.of(RBF(0.3), there(Z))
    assert len(elsewhere.kept) == 30
    assert_array_equal(elsewhere.kept % 30, here.kept % 30)  # which of two equal rows is a matter of rounding
    assert_allclose(there.back(elsewhere.R), here.R, rtol=1e-8, atol=1e-10)
    assert elsewhere.condition == pytest.approx(here.condition)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("center", [True, False])
def test_operators_are_the_same_matrices(there, dtype, center):
    X = ROWS[:50].astype(dtype)
    w, groups = WEIGHTS[:50] + 1, np.arange(50) % 2
    S = np.column_stack([w * (groups == g) for g in range(2)])
    S, groups = (S / S.sum(axis=0), groups) if center else (None, None)
    V, index, tol = RNG.normal(size=(50, 3)), np.array([4, 0, 31]), TOLERANCE[dtype] * 50
    pairs = [
        (Gram(RBF(0.3), X), Gram(RBF(0.3), there(X))),
        (Dense(RBF(0.3)(X, X)), Dense(RBF(0.3)(there(X), there(X)))),
    ]
    pairs += [
        (Covariance(a, w, S, groups), Covariance(b, there(w), None if S is None else there(S), groups))
        for a, b in pairs
    ]
    for here, elsewhere in pairs:
        for name, *args in (("__matmul__", V), ("diag",), ("columns", index), ("block", index), ("dense",)):
            args_there = [there(a) if name == "__matmul__" else a for a in args]
            found, expected = getattr(elsewhere, name)(*args_there), getattr(here, name)(*args)
            assert there.holds(found)
            assert there.back(found).dtype == expected.dtype
            assert_allclose(there.back(found), expected, atol=tol, err_msg=f"{type(here).__name__}.{name}")


def test_dense_is_a_new_array(there):
    K = there(np.eye(3))
    Dense(K).dense()[0, 0] = 7.0
    assert_array_equal(there.back(K), np.eye(3))


@pytest.mark.parametrize("columns", [1, 2])
def test_tied_signs_follow_the_rows(there, columns):
    """Coordinates whose third moment vanishes: the row of largest |y| decides, ties by the order of the rows."""
    rng = np.random.default_rng(3)
    points = rng.integers(-2, 3, size=(12, columns)).astype(float)
    Y = np.vstack([rng.normal(size=(6, 4)), np.zeros((6, 4))])
    Y[6:] = -Y[:6]
    Y = np.round(Y, 1)
    assert np.abs(np.sum(Y**3, axis=0)).max() < 1e-12
    found = signs(there(Y), None, there(points))
    assert_array_equal(there.back(found), signs(Y, None, points))
    assert_array_equal(there.back(signs(there(Y), None, None)), signs(Y, None, None))


def test_the_lowest_eigenvalue_of_a_large_indefinite_matrix(there, monkeypatch):
    monkeypatch.setattr("mercer.linalg.eigenpairs.SMALL", 50)
    A = np.random.default_rng(0).normal(size=(80, 80))
    A += A.T
    pairs = eigenpairs(Dense(there(A)), 3, Davidson(), definite=False)
    assert pairs.info.lowest == pytest.approx(np.linalg.eigvalsh(A)[0], rel=1e-2)
    assert pairs.info.negative_mass > 0


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    ("kernel", "method"),
    [(RBF(0.3), "auto"), (Matern(1.5, gamma=0.2), FixedPoint()), (RBF(0.3), "smoother"), (Linear(), ClosedForm())],
    ids=repr,
)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_preimages_are_numpys(model, kernel, method, there, dtype):
    """To the tolerance of the iteration where there is one."""
    model = sklearn.clone(model).set_params(kernel=kernel, preimage=method, solver="exact")
    X = ROWS.astype(dtype)
    here = sklearn.clone(model).fit(X)
    expected = here.preimages(here.transform(X))
    with dispatched():
        elsewhere = sklearn.clone(model).fit(there(X))
        found = elsewhere.preimages(elsewhere.transform(there(X)))
        denoised = elsewhere.denoise(there(X))
        near = elsewhere.preimages(elsewhere.transform(there(X)), near=there(X))
    assert there.holds(found.X)
    assert there.back(found.X).dtype == dtype
    off = np.linalg.norm(there.back(found.X) - expected.X, axis=1)
    tol = {"float64": 1e-4, "float32": 1e-2}[dtype]
    assert np.mean(off < tol) > 0.95  # a few rows lie between two points that are equally near
    assert_allclose(there.back(found.error), expected.error, atol=10 * TOLERANCE[dtype] + tol)
    assert found.fallback.shape == (len(X),)
    assert_allclose(there.back(denoised), there.back(near.X), atol=1e-5 if dtype == "float64" else 1e-3)
    assert np.all(there.back(near.error) <= there.back(found.error) + 10 * TOLERANCE[dtype])


def test_kernels_without_a_fixed_point_are_smoothed(there):
    with dispatched():
        model = KernelPCA(3, kernel=Laplacian(0.2)).fit(there(ROWS))
        X = model.inverse_transform(model.transform(there(ROWS)))
    expected = KernelPCA(3, kernel=Laplacian(0.2), preimage=Smoother()).fit(ROWS)
    assert_allclose(there.back(X), expected.inverse_transform(expected.transform(ROWS)), atol=1e-8)


def test_draws_are_those_of_the_seed(there):
    model = ProbabilisticKernelPCA(2, kernel=RBF(0.3), solver="exact", random_state=3)
    here = sklearn.clone(model).fit(ROWS)
    f = here.sample_features(6)
    with dispatched():
        elsewhere = sklearn.clone(model).fit(there(ROWS))
        f_there = elsewhere.sample_features(6)
        drawn = [elsewhere.sample(6)[0], elsewhere.sample_given(there(np.zeros((4, 2))))]
        posterior = elsewhere.sample_posterior(there(ROWS[0]), 5)
    assert_allclose(there.back(f_there.sqnorms()), f.sqnorms(), atol=1e-6)
    assert_allclose(there.back(f_there(there(NEW))), f(NEW), atol=1e-6)
    assert [part.shape for part in (*drawn, posterior)] == [(6, 4), (4, 4), (5, 4)]
    assert all(there.holds(part) for part in (*drawn, posterior))
    assert_allclose(there.back(posterior), here.sample_posterior(ROWS[0], 5), atol=1e-3)


def test_explicit_covariance(there):
    model = ProbabilisticKernelPCA(2, kernel=Polynomial(2), noise_variance=0.5)
    with dispatched():
        found = sklearn.clone(model).fit(there(ROWS)).get_covariance()
    expected = sklearn.clone(model).fit(ROWS).get_covariance()
    assert_allclose(there.back(found), expected, atol=1e-10 * np.abs(expected).max())


def test_vectors_below_the_models(there):
    """Subspaces are found, indexed and lifted without any configuration."""
    subspace = principal_subspace(RBF(0.3), there(ROWS), 3, solver=Exact())
    expected = principal_subspace(RBF(0.3), ROWS, 3, solver=Exact())
    Y = subspace[[0, 2]].project(there(NEW)) if there.module.__name__ == "torch" else subspace[:2].project(there(NEW))
    columns = [0, 2] if there.module.__name__ == "torch" else [0, 1]
    assert_allclose(there.back(Y), expected.project(NEW)[:, columns], atol=1e-10)
    lifted, lifted_here = subspace.lift(subspace.project(there(NEW))), expected.lift(expected.project(NEW))
    assert_allclose(there.back(lifted.sqnorms()), lifted_here.sqnorms(), atol=1e-10)
    assert_allclose(there.back(lifted.at(there(NEW))), lifted_here.at(NEW), atol=1e-10)
    assert_allclose(there.back(lifted.inner(subspace.axes)), lifted_here.inner(expected.axes), atol=1e-10)
    assert_allclose(there.back(lifted[1:3].squares), lifted_here[1:3].squares, atol=1e-10)


# ---------------------------------------------------------------------------------------------- what scikit-learn says


def scikit_learns_checks():
    """All checks of arrays that this scikit-learn has for estimators with the tag."""
    yielder = getattr(estimator_checks, "_yield_array_api_checks", None)
    models = [
        *MODELS,
        KernelPCA(2, solver="davidson"),
        KernelPCA(2, solver="landmarks"),
        KernelPCA(2, solver="randomized"),
        KernelPCA(2, kernel="linear"),
        KernelPCA(2, kernel="poly"),
        ProbabilisticKernelPCA(2, noise_variance=0.01),
    ]
    for model in models:
        for check in yielder(model) if yielder else ():
            if not hasattr(check, "keywords") or set(check.keywords.values()).isdisjoint({"cupy", "dpnp"}):
                yield pytest.param(model, check, id=f"{model!r}-{getattr(check, 'keywords', check)}")


@pytest.mark.filterwarnings("ignore:X is an array of:mercer.MercerWarning")  # it also fits without dispatch
@pytest.mark.filterwarnings("ignore:The kernel is too narrow:UserWarning")
@pytest.mark.parametrize("model, check", list(scikit_learns_checks()))
def test_scikit_learns_checks_of_arrays(model, check):
    check(type(model).__name__, model)


@pytest.mark.filterwarnings("ignore:X is an array of:mercer.MercerWarning")  # it also fits without dispatch
@pytest.mark.filterwarnings("ignore:The kernel is too narrow:UserWarning")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("library", ["numpy", *BACKENDS])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_scikit_learns_check_of_values(model, library, dtype):
    """With values and weights; pre-images in closed form, since iterations stop anywhere within their tolerance."""
    check = getattr(estimator_checks, "check_array_api_input", None)
    if check is None:
        pytest.skip("this scikit-learn has no check_array_api_input")
    pytest.importorskip(library)
    model = sklearn.clone(model).set_params(kernel="linear", n_components=2)
    check(type(model).__name__, model, library, dtype_name=dtype, check_values=True, check_sample_weight=True)


@pytest.mark.parametrize(
    "model, expected",
    [
        (KernelPCA(), True),
        (ProbabilisticKernelPCA(), True),
        (KernelPCA(kernel=RBF() + Linear()), True),
        (KernelPCA(solver="lanczos"), False),
        (KernelPCA(solver=Lanczos()), False),
        (ProbabilisticKernelPCA(2, solver="em"), False),
        (KernelPCA(kernel="chi2"), False),
        (KernelPCA(kernel=RBF() + Chi2()), False),
        (KernelPCA(kernel="precomputed"), False),
        (KernelPCA(kernel=lambda X, Y: X @ Y.T), False),
        (mercer.SparseKernelPCA(), False),
    ],
)
def test_the_tag_is_true_where_it_holds(model, expected, there):
    assert model.__sklearn_tags__().array_api_support is expected
    if expected:
        return
    with dispatched(), pytest.raises((TypeError, ValueError), match="NumPy"):
        model.fit(there(np.abs(ROWS[:20, :20])))


# ------------------------------------------------------------------------------------------------- errors, and ways out


def test_lanczos_names_davidson(there):
    with dispatched(), pytest.raises(ValueError, match="works on NumPy arrays.*davidson"):
        KernelPCA(2, solver="lanczos").fit(there(ROWS))
    with pytest.raises(ValueError, match="davidson"):
        eigenpairs(Dense(there(np.eye(200))), 2, Lanczos())
    assert choose_for(there(np.zeros(2)), "auto", 1000, 2) == Exact()  # where NumPy's table has Lanczos


@pytest.mark.parametrize("name", ["gradient", "distances", "learned"])
def test_preimages_that_need_numpy_say_so(there, name):
    with dispatched():
        model = KernelPCA(2, kernel=RBF(0.3), preimage=name).fit(there(ROWS))
        with pytest.raises(ValueError, match=r"NumPy.*'fixed_point' or 'smoother'"):
            model.inverse_transform(model.transform(there(ROWS)))
        for walk in (lambda: model.interpolate(there(ROWS[0]), there(ROWS[1])), model.latent_grid):
            with pytest.raises(ValueError, match="works on NumPy arrays"):
                walk()


def test_k_means_needs_numpy(there):
    with dispatched(), pytest.raises(ValueError, match="choose='auto'"):
        KernelPCA(2, solver=Landmarks(20, choose="kmeans")).fit(there(ROWS))


def test_arrays_that_cannot_be_written_to_are_refused():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    X = jax.numpy.asarray(ROWS.astype(np.float32))
    for solver in ("auto", "exact", "davidson", "landmarks"):
        with dispatched(), pytest.raises(TypeError, match="written into arrays.*jax.*NumPy array"):
            KernelPCA(2, solver=solver).fit(X)
    with pytest.warns(MercerWarning, match="array of jax"):
        Y = KernelPCA(2, kernel=RBF(0.3)).fit_transform(X)
    assert_allclose(Y, KernelPCA(2, kernel=RBF(0.3)).fit_transform(ROWS.astype(np.float32)), atol=1e-6)


def test_rows_from_elsewhere_than_at_fit_are_refused(there):
    with dispatched():
        model, here = ProbabilisticKernelPCA(2).fit(there(ROWS)), ProbabilisticKernelPCA(2).fit(ROWS)
        for method in ("transform", "score_samples", "mahalanobis", "reconstruction_error", "score_path"):
            for fitted, X in ((model, NEW), (model, NEW.tolist()), (here, there(NEW))):
                with pytest.raises(ValueError, match=rf"PCA\.{method}\(\) must use the same namespace"):
                    getattr(fitted, method)(X)
        with pytest.raises(ValueError, match="must use the same namespace"):
            model.inverse_transform(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="array_api_dispatch=True"):
        model.transform(NEW)


def test_without_dispatch_arrays_become_numpys():
    """As scikit-learn does: tensors are array-likes unless it is told to leave them where they are."""
    there = Elsewhere("torch")
    with pytest.warns(MercerWarning, match="array of torch, and it is converted to NumPy") as given:
        model = KernelPCA(2, random_state=0).fit(there(ROWS))
    assert len(given) == 1
    assert isinstance(model.explained_variance_, np.ndarray)
    assert_array_equal(model.transform(there(NEW)), KernelPCA(2, random_state=0).fit(ROWS).transform(NEW))


def test_few_values_are_read_from_a_device(monkeypatch):
    """Each read waits for the device: pivots and candidates are decided on the host, after one transfer."""
    torch = pytest.importorskip("torch")
    rows, reads = torch.asarray(np.random.default_rng(0).normal(size=(400, 3))), []
    for name in ("__bool__", "__int__", "__float__", "__index__", "item"):
        read = getattr(torch.Tensor, name)
        monkeypatch.setattr(torch.Tensor, name, lambda x, *a, read=read: (reads.append(1), read(x, *a))[1])
    with dispatched():
        for solver in (Landmarks(100), "davidson"):
            reads.clear()
            KernelPCA(3, solver=solver, random_state=0).fit(rows)
            assert len(reads) < 60  # where every candidate and every pivot was read, there were hundreds


def test_nan_and_overflow_are_told(there):
    bad = ROWS.copy()
    bad[3, 1] = np.nan
    with dispatched():
        with pytest.raises(ValueError, match="NaN"):
            KernelPCA(2).fit(there(bad))
        with pytest.raises(ValueError, match="overflows on these data: k.* row 5"), np.errstate(over="ignore"):
            KernelPCA(2, kernel="poly").fit(there(np.where(np.arange(140)[:, None] == 5, 1e150, ROWS)))
        with pytest.raises(ValueError, match="All sample weights are zero|at least one non-zero"):
            KernelPCA(2).fit(there(ROWS), sample_weight=there(np.zeros(140)))


def test_models_move(there):
    """By scikit-learn's own function, there and back."""
    tools = pytest.importorskip("sklearn.utils._array_api")
    if not hasattr(tools, "move_estimator_to"):
        pytest.skip("this scikit-learn does not move estimators")
    for kernel in (RBF(np.float64(0.3)), Linear(), np.float64(2) * (RBF(0.2) + Linear())):
        for solver in ("exact", Landmarks(20)):
            model = KernelPCA(2, kernel=kernel, solver=solver, random_state=0).fit(ROWS)
            expected = model.transform(NEW)
            model.inverse_transform(expected)
            with dispatched():
                xp, _, device = tools.get_namespace_and_device(there(ROWS))
                numpy, *_ = tools.get_namespace_and_device(ROWS)
                moved = tools.move_estimator_to(model, xp, device)
                assert_allclose(there.back(moved.transform(there(NEW))), expected, atol=1e-10)
                assert there.holds(moved.inverse_transform(moved.transform(there(NEW))))
                if solver != "exact":
                    moved.partial_fit(there(NEW))
                    model.partial_fit(NEW)
                returned = tools.move_estimator_to(moved, numpy, "cpu")
            assert_allclose(returned.transform(NEW), model.transform(NEW), atol=1e-8)
            assert isinstance(returned.inverse_transform(expected), np.ndarray)


def test_the_missing_package_is_named(monkeypatch):
    there = Elsewhere("torch")
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"torch need.*mercer\[arrays\]"):
        arrays.namespace(there(ROWS))


def test_numpys_own_arrays_are_no_visitors():
    for x in (ROWS, ROWS[0, 0], ROWS.tolist(), 1.0, None):
        assert not arrays.is_foreign(x)
        assert arrays.namespace(x) is np
