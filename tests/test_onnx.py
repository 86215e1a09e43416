"""What ONNX graphs promise: the results of the library, for every estimator and kernel, in both precisions."""

import json
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler

import mercer
from mercer import dropin
from mercer.app.cli import main
from mercer.io.onnx.models import METHODS
from mercer.kernels import (
    RBF,
    Cosine,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    OnColumns,
    Polynomial,
    Radial,
    RationalQuadratic,
    Sigmoid,
)

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra mercer[onnx] is not installed")

SCALES = np.array([1.5, 1.0, 0.7])
TOLERANCES = {"float32": 1e-5, "float64": 1e-10}
BATCHES = (1, 17)


@dataclass(eq=False, repr=False)
class Cauchy(Radial):
    """A kernel of a user: its formula is traced as those of the library are."""

    gamma: Any = None
    lengthscale: Any = None

    def profile(self, t):
        return np.reciprocal(1 + self.gamma * t)

    def slope(self, t):
        return -self.gamma / (1 + self.gamma * t) ** 2

    def inverse(self, v):
        return (1 / v - 1) / self.gamma


KERNELS = {
    "rbf": RBF(0.3),
    "lengthscales": RBF(lengthscale=[1.0, 2.0, 3.0]),
    "laplacian": Laplacian(0.3),
    "matern-1/2": Matern(0.5, 0.3),
    "matern-3/2": Matern(1.5, 0.3),
    "matern-5/2": Matern(2.5, 0.3),
    "rational-quadratic": RationalQuadratic(1.5, 0.3),
    "inverse-multiquadric": InverseMultiquadric(0.3),
    "poly-2": Polynomial(2, 0.3),
    "poly-3": Polynomial(3, 0.3, 0.1),
    "poly-4": Polynomial(4, 0.1),
    "linear": Linear(),
    "cosine": Cosine(),
    "sigmoid": Sigmoid(0.1, 0.1),
    "sum": RBF(0.3) + 0.7 * Linear(),
    "product": RBF(0.3) * Polynomial(2, 0.3),
    "columns": OnColumns(RBF(0.3), [0, 2]) + OnColumns(Linear(), slice(1, 3)),
    "normalized": Normalized(Polynomial(2, 0.3)),
    "own": Cauchy(0.3),
}
MODELS = {
    "kpca": lambda k: mercer.KernelPCA(3, kernel=k),
    "uncentred": lambda k: mercer.KernelPCA(2, kernel=k, center=False),
    "landmarks": lambda k: mercer.KernelPCA(2, kernel=k, solver="landmarks", random_state=0),
    "sparse": lambda k: mercer.SparseKernelPCA(2, n_anchors=6, kernel=k),
    "probabilistic": lambda k: mercer.ProbabilisticKernelPCA(2, kernel=k),
    "limit": lambda k: mercer.ProbabilisticKernelPCA(2, kernel=k, noise_variance=0.0),
    "mixture": lambda k: mercer.KernelPCAMixture(2, n_components=1, kernel=k, n_init=1, random_state=0),
    "mixture of parts": lambda k: mercer.KernelPCAMixture(2, n_components=1, kernel=k, n_parts=2, random_state=0),
    "classifier": lambda k: mercer.KernelPCAClassifier(n_components=2, kernel=k, noise_ratio=0.1),
    "limiting rule": lambda k: mercer.KernelPCAClassifier(n_components=2, kernel=k, noise_ratio=0),
    "shrunk": lambda k: mercer.KernelPCAClassifier(n_components=2, kernel=k, shrinkage=0.5),
    "round": lambda k: mercer.KernelPCAClassifier(n_components=0, kernel=k),
}


def data(n, seed=0, dtype="float64"):
    return (np.random.default_rng(seed).normal(size=(n, 3)) * SCALES).astype(dtype)


@cache
def fitted(model, kernel, dtype):
    X = data(40, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of noise, widths and indefinite kernels: not the subject here
        return MODELS[model](KERNELS[kernel]).fit(X, X[:, 0] ** 2 + X[:, 1] > 1)


def session_of(graph):
    """A function of rows that returns the outputs of a graph by name."""
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda X: dict(zip(names, session.run(None, {"X": X}), strict=True))


def applied(graph, X):
    return session_of(graph)(X)


def assert_same(found, expected, tol):
    assert found.shape == expected.shape
    if expected.dtype.kind != "f":
        assert np.array_equal(found, expected)
        return
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_graphs_compute_what_the_library_does(kernel, dtype):
    """Every method of every estimator, for batches of any size."""
    for name in MODELS:
        model = fitted(name, kernel, dtype)
        session = session_of(mercer.to_onnx(model))
        for n in BATCHES:
            X = data(n, 1, dtype)
            for method, found in session(X).items():
                assert_same(found, np.asarray(getattr(model, method)(X)), TOLERANCES[dtype])


def test_every_method_of_every_estimator_is_converted():
    wanted = ("transform", "reconstruction_error", "predict", "predict_proba", "score_samples")
    public = [getattr(mercer, name) for name in mercer.__all__ if name.startswith("Kernel") or "KernelPCA" in name]
    estimators = {cls for cls in [*public, dropin.KernelPCA] if hasattr(cls, "fit")} - {mercer.KernelPCAImputer}
    assert estimators == set(METHODS)
    for cls in estimators:
        assert {method for method in wanted if hasattr(cls, method)} <= set(METHODS[cls])


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern-1/2", "linear", "poly-3"])
def test_float32_coordinates_alone_are_computed_in_float32(kernel):
    model, X = fitted("kpca", kernel, "float32"), data(17, 1, "float32")
    graph = mercer.to_onnx(model, "transform")
    assert "Cast" not in {node.op_type for node in graph.graph.node}
    assert {tensor.data_type for tensor in graph.graph.initializer} <= {1, 7}  # float32, and int64 for axes
    assert_same(applied(graph, X)["transform"], model.transform(X), TOLERANCES["float32"])


def test_outputs_are_the_methods_that_were_asked_for():
    model = fitted("mixture", "rbf", "float64")
    outputs = applied(mercer.to_onnx(model, ["predict_proba", "predict"], dtype="float32"), data(5, 1, "float32"))
    assert list(outputs) == ["predict_proba", "predict"]
    assert outputs["predict_proba"].dtype == np.float32


def test_rows_that_were_fitted_on_are_at_distance_zero_of_themselves():
    """Kernels with a kink at 0 do not see rounding, and ties of the limiting rule are broken alike."""
    X = data(40)
    for model in (fitted("kpca", "matern-1/2", "float64"), fitted("limiting rule", "rbf", "float64")):
        for method, found in applied(mercer.to_onnx(model), X).items():
            assert_same(found, np.asarray(getattr(model, method)(X)), TOLERANCES["float64"])


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([3, 8], np.int32), np.array([False, True])])
def test_labels_are_those_of_the_classifier(labels):
    X = data(40)
    y = labels[(X[:, 0] > 0).astype(int)]
    for density in (None, mercer.KernelPCAMixture(2, n_components=1, n_init=1, random_state=0)):
        model = mercer.KernelPCAClassifier(density).fit(X, y)
        outputs = applied(mercer.to_onnx(model), X)
        assert np.array_equal(outputs["predict"], model.predict(X))
        assert_same(outputs["predict_proba"], model.predict_proba(X), TOLERANCES["float64"])


def test_the_search_converts_its_best_classifier():
    X = data(40)
    model = mercer.KernelPCAClassifierCV(n_components=[1, 2], noise_ratios=[0.1], random_state=0).fit(X, X[:, 0] > 0)
    assert_same(applied(mercer.to_onnx(model), X)["predict_proba"], model.predict_proba(X), TOLERANCES["float64"])


@pytest.mark.filterwarnings("ignore:The .* calibration rows are correlated in time:UserWarning")
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("limits", ["holdout", "f-chi2"])
def test_monitors_give_alarms_and_their_statistics(limits, dtype):
    normal = mercer.datasets.three_tanks(n=200)[0].astype(dtype)
    rows = mercer.datasets.three_tanks(1, n=60, fault="sensor", start=30)[0].astype(dtype)
    estimator = make_pipeline(StandardScaler(), mercer.KernelPCA(3))
    for monitor in (
        mercer.KernelPCAMonitor(limits=limits, random_state=0),
        mercer.KernelPCAMonitor(estimator, limits=limits),
    ):
        monitor.fit(normal)
        outputs = applied(mercer.to_onnx(monitor), rows)
        assert set(outputs) == {"predict", "score_samples", "t2", "spe"}
        for method, found in outputs.items():
            assert_same(found, getattr(monitor, method)(rows), TOLERANCES[dtype])


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "cosine"])
def test_dropin_pads_with_zeros_as_it_does(kernel):
    X = data(40)
    model = dropin.KernelPCA(5, kernel=kernel, gamma=0.1, degree=2).fit(X)
    assert_same(applied(mercer.to_onnx(model), X)["transform"], model.transform(X), TOLERANCES["float64"])


@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False),
                                    RobustScaler(), RobustScaler(with_centering=False), MaxAbsScaler(),
                                    MinMaxScaler((-1, 2)), MinMaxScaler(clip=True), "passthrough"])  # fmt: skip
def test_scalers_of_pipelines_are_in_the_graph(scaler):
    X, new = 50 * data(40) + 7, 60 * data(9, 1) + 7
    pipeline = Pipeline([("scale", scaler), ("model", mercer.KernelPCA(2, kernel=RBF("median")))]).fit(X)
    outputs = applied(mercer.to_onnx(pipeline), new)
    assert_same(outputs["transform"], pipeline.transform(new), TOLERANCES["float64"])


def test_compressed_models_give_small_graphs():
    model = fitted("kpca", "rbf", "float64")
    small = mercer.compress(model, 8)
    graph, X = mercer.to_onnx(small), data(9, 1)
    assert 2 * graph.ByteSize() < mercer.to_onnx(model).ByteSize()
    assert_same(applied(graph, X)["reconstruction_error"], small.reconstruction_error(X), TOLERANCES["float64"])


def test_linear_models_hold_no_rows():
    model = mercer.KernelPCA(2, kernel="linear").fit(data(2000))
    assert mercer.to_onnx(model, "transform").ByteSize() < 2000


def fit(kernel, X=None):
    return mercer.KernelPCA(2, kernel=kernel).fit(data(20) if X is None else X)


@pytest.mark.parametrize(
    "make, reason",
    [
        (lambda: fit("precomputed", data(20) @ data(20).T), "precomputed"),
        (lambda: fit(lambda X, Y: X @ Y.T), "functions"),
        (lambda: dropin.KernelPCA(2, kernel=lambda x, y: x @ y).fit(data(20)), "functions"),
        (lambda: mercer.KernelPCAImputer().fit(data(20)), "KernelPCAImputer cannot be converted"),
        (lambda: make_pipeline(PolynomialFeatures(), mercer.KernelPCA(2)).fit(data(20)), "skl2onnx.to_onnx"),
    ],
)  # fmt: skip
def test_what_cannot_be_converted_says_so(make, reason):
    with pytest.raises(ValueError, match=reason):
        mercer.to_onnx(make())


def test_wrong_arguments_say_what_is_right():
    model = fitted("kpca", "rbf", "float64")
    with pytest.raises(ValueError, match="choose from transform, reconstruction_error"):
        mercer.to_onnx(model, "predict")
    with pytest.raises(ValueError, match="float32, float64"):
        mercer.to_onnx(model, dtype="int8")


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_skl2onnx_converts_pipelines_with_our_estimators(dtype):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    X = data(40)
    y = X[:, 0] ** 2 + X[:, 1] > 1
    ends = [
        (dropin.KernelPCA(2, kernel="rbf"), LogisticRegression()),
        (mercer.KernelPCA(2), LogisticRegression()),
        (mercer.KernelPCAClassifier(),),
    ]
    for end in ends:
        pipeline = make_pipeline(StandardScaler(), *end).fit(X, np.where(y, "in", "out"))
        graph = skl2onnx.to_onnx(pipeline, X[:1].astype(dtype), options={id(pipeline[-1]): {"zipmap": False}})
        outputs = applied(graph, X.astype(dtype))
        assert np.array_equal(outputs["label"], pipeline.predict(X))
        assert_same(outputs["probabilities"], pipeline.predict_proba(X), TOLERANCES[dtype])
    mixture = make_pipeline(StandardScaler(), mercer.KernelPCAMixture(2, n_init=1, random_state=0)).fit(X)
    outputs = applied(skl2onnx.to_onnx(mixture, X[:1].astype(dtype)), X.astype(dtype))
    assert np.array_equal(outputs["label"], mixture.predict(X))


def test_the_command_line_exports_with_the_scales_of_the_table(tmp_path):
    import onnx

    X, table, path = 50 * data(40) + 7, tmp_path / "data.csv", tmp_path / "model.onnx"
    np.savetxt(table, X, delimiter=",", header="a,b,c", comments="")
    for args in (
        ["fit", table, "-q", 2, "-o", tmp_path / "m.mercer"],
        ["export", tmp_path / "m.mercer", "-o", path, "--method", "transform"],
    ):
        result = CliRunner().invoke(main, [str(arg) for arg in args])
        assert result.exit_code == 0, result.output
    graph = onnx.load(path)
    metadata = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(metadata["columns"]) == ["a", "b", "c"]
    file = mercer.io.read(tmp_path / "m.mercer")
    expected = file.model.transform((X - file.recipe.mean) / file.recipe.scale)
    assert_same(applied(graph, X)["transform"], expected, TOLERANCES["float64"])
