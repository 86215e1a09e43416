"""Rows that are not numbers, in every estimator, in files, and back."""

import warnings

import numpy as np
import pytest

import mercer
from mercer._core.arrays import row_keys
from mercer.eigen import Landmarks
from mercer.io.encode import Unstorable
from mercer.kernels import (
    RBF,
    Categorical,
    GlobalAlignment,
    Jaccard,
    Normalized,
    OnColumns,
    RandomWarping,
    Spectrum,
    mixed,
)

N = 60
LABELS = np.arange(N) % 2


def strings():
    rng = np.random.default_rng(0)
    shares = {0: [0.7, 0.1, 0.1, 0.1], 1: [0.1, 0.1, 0.1, 0.7]}
    return ["".join(rng.choice(list("ACGT"), size, p=shares[i % 2])) for i, size in enumerate(rng.integers(9, 30, N))]


def sets():
    rng = np.random.default_rng(0)
    return [{f"w{j + 8 * (i % 2)}" for j in rng.integers(0, 12, rng.integers(0, 9))} for i in range(N)]


def series():
    rng = np.random.default_rng(0)
    return [
        np.linspace(0, (-1) ** i * 2, size) + rng.normal(0, 0.3, size) for i, size in enumerate(rng.integers(3, 9, N))
    ]


def table():
    rng = np.random.default_rng(0)
    colour = np.where(rng.random(N) < 0.8, np.array(["red", "blue"])[LABELS], None)
    return np.column_stack([colour, rng.choice(["s", "m", "l"], N), LABELS + rng.normal(0, 0.5, N)]).astype(object)


MIXED = OnColumns(RBF(), [2]) * OnColumns(Categorical(), [0, 1])
ROWS = {
    "strings": (Normalized(Spectrum(2)), strings()),
    "mismatches": (Spectrum(2, mismatches=1), strings()),
    "sets": (Jaccard(), sets()),
    "series": (GlobalAlignment(), series()),
    "warping": (RandomWarping(n_series=30, max_length=6), series()),
    "categories": (Categorical(weights="rarity"), [list(row[:2]) for row in table()]),
    "mixed": (MIXED, table()),
}
MODELS = {
    "kpca": lambda k: mercer.KernelPCA(3, kernel=k),
    "landmarks": lambda k: mercer.KernelPCA(3, kernel=k, solver=Landmarks(25), random_state=0),
    "probabilistic": lambda k: mercer.ProbabilisticKernelPCA(3, kernel=k),
    "sparse": lambda k: mercer.SparseKernelPCA(kernel=k),
    "supervised": lambda k: mercer.SupervisedKernelPCA(kernel=k),
    "mixture": lambda k: mercer.KernelPCAMixture(2, 1, kernel=k, n_init=1, random_state=0),
    "classifier": lambda k: mercer.KernelPCAClassifier(kernel=k),
    "search": lambda k: mercer.KernelPCAClassifierCV([k], cv=2, random_state=0),
}
pytestmark = pytest.mark.filterwarnings("ignore::mercer.LandmarkWarning")
METHODS = ["transform", "reconstruction_error", "score_samples", "predict", "predict_proba"]


def results(model, X):
    return {name: np.asarray(getattr(model, name)(X)) for name in METHODS if hasattr(model, name)}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ROWS)
def test_every_model_takes_objects_and_files_hold_them(kind, model, tmp_path):
    kernel, X = ROWS[kind]
    made = MODELS[model](kernel).fit(X, LABELS)
    found = results(made, X[:7])
    assert found
    assert all(np.all(np.isfinite(values)) for values in found.values() if values.dtype.kind == "f")
    mercer.save(made, tmp_path / "m")
    again = results(mercer.load(tmp_path / "m"), X[:7])
    for name, values in found.items():
        np.testing.assert_array_equal(values, again[name], err_msg=name)


@pytest.mark.parametrize("kind", ROWS)
def test_components_are_those_of_the_matrix(kind):
    """The model is that of the precomputed matrix, for training rows and new ones, and copies are weights."""
    kernel, X = ROWS[kind]
    model = mercer.KernelPCA(2, kernel=kernel).fit(X[:40])
    K = model.kernel_(X, X[:40])
    twin = mercer.KernelPCA(2, kernel="precomputed").fit(K[:40])
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(twin.transform(K)), atol=1e-8)
    whole = mercer.KernelPCA(2, kernel=model.kernel_, solver=Landmarks(40)).fit(X[:40])
    np.testing.assert_allclose(np.abs(whole.transform(X)), np.abs(model.transform(X)), atol=1e-6)
    twice = mercer.KernelPCA(2, kernel=model.kernel_).fit([*X[:40], *X[:5]])
    by_weight = mercer.KernelPCA(2, kernel=model.kernel_).fit(X[:40], sample_weight=[2] * 5 + [1] * 35)
    np.testing.assert_allclose(twice.transform(X), by_weight.transform(X), atol=1e-8)


@pytest.mark.parametrize("kind", ROWS)
def test_pre_images_are_rows(kind):
    kernel, X = ROWS[kind]
    model = mercer.KernelPCA(kernel=kernel).fit(X)
    anchors = model.anchors_
    keys = {repr(row) for row in anchors.tolist()}
    result = model.preimages(model.transform(X[:9]), near=X[:9])
    assert result.X.shape == (9, anchors.shape[1])
    assert result.error.shape == (9,)
    if kind not in {"mixed", "categories"}:
        assert result.error.max() < 1e-6  # all components: each row comes back to itself, or to an equal image
        assert {repr(row) for row in result.X.tolist()} <= keys
        assert {repr(row) for row in model.interpolate(X[0], X[1], 4).tolist()} <= keys
    else:
        assert {*result.X[:, 1]} <= {"s", "m", "l"}
        assert {*result.X[:, 0]} <= {"red", "blue", None}
    with pytest.raises(ValueError, match="needs rows of numbers"):
        mercer.KernelPCA(2, kernel=kernel, preimage="smoother").fit(X).denoise(X[:2])


def test_components_separate_what_the_kernel_sees():
    for kind in ROWS:
        kernel, X = ROWS[kind]
        y = mercer.KernelPCA(2, kernel=kernel).fit_transform(X)[:, 0]
        assert max(np.mean((y > 0) == LABELS), np.mean((y < 0) == LABELS)) > 0.75, kind
        assert mercer.KernelPCAClassifier(kernel=kernel).fit(X, LABELS).score(X, LABELS) > 0.8, kind


def test_frames_names_and_missing_categories():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table(), columns=["colour", "size", "x"]).astype({"x": float, "size": "category"})
    kernel = OnColumns(RBF(), ["x"]) * OnColumns(Categorical(), ["colour", "size"])
    model = mercer.KernelPCA(2, kernel=kernel).fit(frame)
    assert model.kernel_.k2.columns == [0, 1]
    assert list(model.feature_names_in_) == ["colour", "size", "x"]
    expected = mercer.KernelPCA(2, kernel=MIXED).fit(table()).transform(table())
    np.testing.assert_allclose(model.transform(frame), expected, atol=1e-12)
    missing = frame.assign(colour=[None] * N, size=[np.nan] * N)
    assert np.all(np.isfinite(model.transform(missing)))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[["x", "size", "colour"]])
    with pytest.raises(ValueError, match="no column 'weight'"):
        mercer.KernelPCA(2, kernel=kernel + OnColumns(RBF(), ["weight"])).fit(frame)
    with pytest.raises(ValueError, match="row 0, column 'x', is nan"):
        model.transform(frame.assign(x=[np.nan] * N))
    polars = pytest.importorskip("polars")
    np.testing.assert_allclose(model.transform(polars.from_pandas(frame)), expected, atol=1e-12)


def test_a_series_of_strings_and_arrays_of_objects():
    pd = pytest.importorskip("pandas")
    X = strings()
    expected = mercer.KernelPCA(2, kernel=Spectrum(2)).fit_transform(X)
    for rows in (pd.Series(X), np.array(X), np.array(X, object), np.array(X, object)[:, None], tuple(X)):
        np.testing.assert_array_equal(
            mercer.KernelPCA(2, kernel="spectrum").set_params(kernel__k=2).fit_transform(rows), expected
        )


def test_monitor_of_objects():
    kernel, X = ROWS["strings"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        monitor = mercer.KernelPCAMonitor(mercer.KernelPCA(3, kernel=kernel), random_state=0).fit(X)
    odd = ["CCCCCCGGGGGGCCCCCCC"]
    assert not monitor.in_time_
    assert monitor.score_samples(odd)[0] < np.median(monitor.score_samples(X))
    with pytest.raises(ValueError, match="contributions"):
        monitor.contributions(odd)
    with pytest.raises(ValueError, match="need rows of numbers"):
        mercer.KernelPCAMonitor(mercer.KernelPCA(3, kernel=kernel), contamination=0.1).fit(X)


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    class Text(str):
        pass

    model = mercer.KernelPCA(1, kernel=Jaccard()).fit([{"a"}, {"b"}, {"a", "b"}])
    model.subspace_.axes.Z[0, 0] = Text  # not data
    with pytest.raises(Unstorable):
        mercer.save(model, tmp_path / "m")


def test_mixed_follows_the_types_and_the_mean_distances():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(0, 100, N), "flag": rng.random(N) < 0.5, "word": rng.choice(["a", "b"], N)})
    frame = frame.assign(z=rng.normal(size=N), code=pd.Categorical(rng.integers(0, 4, N)))
    kernel = mixed(frame)
    assert (kernel.k1.columns, kernel.k2.columns) == (["x", "z"], ["flag", "word", "code"])
    model = mercer.KernelPCA(2, kernel=kernel).fit(frame)
    K = model.kernel_(model.anchors_, model.anchors_)
    exponents = [-np.log(part(model.anchors_, model.anchors_)).mean() for part in model.kernel_.parts]
    np.testing.assert_allclose(exponents, [0.25 * 2 / 5, 0.25 * 3 / 5])  # by the share of the columns of each kind
    assert np.all(K.diagonal() == pytest.approx(1.0))
    scaled = mixed(frame.assign(x=frame.x / 1000))
    again = (
        mercer.KernelPCA(2, kernel=scaled).fit(frame.assign(x=frame.x / 1000)).transform(frame.assign(x=frame.x / 1000))
    )
    np.testing.assert_allclose(again, model.transform(frame), atol=1e-9)
    assert type(mixed(frame[["x", "z"]]).k1).__name__ == "RBF"
    assert mixed(frame[["word"]]).columns == ["word"]
    codes = np.column_stack([rng.normal(size=N), rng.integers(0, 3, N)])
    assert mixed(codes, [1]).k2.columns == [1]
    assert np.all(np.isfinite(mercer.KernelPCA(2, kernel=mixed(codes, [1])).fit(codes).denoise(codes)))
    with pytest.raises(ValueError, match="not in the table"):
        mixed(frame, ["town"])


def test_the_command_line_compares_categories(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from mercer.app.cli import main

    def run(*words):
        done = CliRunner().invoke(main, [*words])
        assert done.exit_code == 0, done.output
        return done.stdout

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{rng.choice(['red', 'blue'])},{'' if i % 9 == 0 else f't{i % 25}'}" for i in range(75)]
    (tmp_path / "t.csv").write_text("\n".join(["x,colour,town", *rows]))
    (tmp_path / "new.csv").write_text("x,colour,town\n0.5,violet,\n")  # a new category, and a missing one
    found = run("check", "t.csv", "--categorical", "kernel")
    assert found.count("compared as a category") == 2
    assert "a category of its own" in found
    for model in ("kpca", "monitor"):
        run("fit", "t.csv", "-o", f"{model}.mercer", "--categorical", "kernel", "--model", model)
        assert "nan" not in run("score", f"{model}.mercer", "new.csv")
        made = run("info", f"{model}.mercer", "--recipe")
        assert "--categorical kernel" in made.splitlines()[0]
        exec(made.split("\n", 2)[2], {})
        assert "colour: one of blue, red" in run("info", f"{model}.mercer")
    back = run("denoise", "kpca.mercer", "t.csv").splitlines()
    assert {line.split(",")[1] for line in back[1:]} <= {"red", "blue"}
    for more in (["--gamma", "1"], ["--auto"], ["--missing", "impute"]):
        refused = CliRunner().invoke(main, ["fit", "t.csv", "-o", "n.mercer", "--categorical", "kernel", *more])
        assert refused.exit_code == 2
        assert "--categorical kernel" in refused.output
    assert CliRunner().invoke(main, ["select", "t.csv", "--categorical", "kernel"]).exit_code == 2


@pytest.mark.parametrize("kind", ["strings", "sets", "series", "mixed"])
def test_a_damaged_table_of_objects_is_refused(kind):
    from mercer.io import objects
    from mercer.io.decode import Malformed, Source, decode
    from mercer.io.encode import encode

    Z = mercer.KernelPCA(1, kernel=ROWS[kind][0]).fit(ROWS[kind][1]).anchors_
    arrays = {}

    def store(array):
        arrays[f"a{len(arrays)}"] = array
        return f"a{len(arrays) - 1}"

    encoded = encode(Z, store, "Z")
    assert row_keys(decode(encoded, Source(arrays, 2**25))) == row_keys(Z)
    with pytest.raises(Malformed, match="memory"):
        decode(encoded, Source(arrays, 1000))
    with pytest.raises(Malformed, match="rows"):
        decode(encoded | {"rows": 7}, Source(arrays, 2**25))
    assert next(iter(encoded["columns"][0])) in objects.KINDS
    damaged = [name for name, array in arrays.items() if array.dtype == np.int64]  # lengths and codes
    for name in damaged:
        with pytest.raises(Malformed):
            decode(encoded, Source(arrays | {name: -1 - arrays[name]}, 2**25))


def test_streams_merges_and_what_needs_numbers(tmp_path):
    X, kernel = strings(), Spectrum(2).bind(strings())
    Z = mercer.landmarks(kernel, X, 20, random_state=0)
    whole, first, second = (
        mercer.KernelPCA(2, kernel=kernel, solver=Landmarks(choose=Z)).fit(rows) for rows in (X, X[:30], X[30:])
    )
    np.testing.assert_allclose(
        np.abs(mercer.merge([first, second]).transform(X)), np.abs(whole.transform(X)), atol=1e-6
    )
    stream = mercer.KernelPCA(2, kernel=kernel, solver=Landmarks(choose=Z)).partial_fit(X[:30]).partial_fit(X[30:])
    np.testing.assert_allclose(np.abs(stream.transform(X)), np.abs(whole.transform(X)), atol=1e-6)
    model = mercer.KernelPCA(2, kernel=kernel).fit(X)
    assert mercer.compress(model, n_anchors=20).transform(X[:3]).shape == (3, 2)
    for refused, what in (
        (lambda: mercer.KernelPCA(2, kernel=kernel, solver=Landmarks(20, "kmeans")).fit(X), "kmeans"),
        (lambda: mercer.dropin.KernelPCA(2, kernel=kernel).fit(X), "dropin"),
        (lambda: mercer.report(model, X, tmp_path / "r.html"), "report"),
    ):
        with pytest.raises(ValueError, match=what):
            refused()
    with pytest.raises(ValueError, match="ONNX"):
        pytest.importorskip("onnx") and mercer.to_onnx(model)
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="takes rows in memory"):
        mercer.KernelPCA(2, kernel=Jaccard(), solver=Landmarks(5)).fit(da.ones((20, 3), chunks=(10, 3)))
    codes = np.column_stack([np.linspace(0, 1, N), LABELS])
    lazy = da.from_array(codes, chunks=(20, 2))
    followed = mercer.KernelPCA(2, kernel=mixed(codes, [1]), solver=Landmarks(20), random_state=0).fit(lazy)
    np.testing.assert_allclose(followed.transform(lazy).compute(), followed.transform(codes), atol=1e-12)


@pytest.mark.parametrize("X", [np.zeros((4, 2)), np.array([["a", 1.0], ["b", 2.0]], object)])
def test_columns_that_are_not_there_are_named(X):
    kernel = OnColumns(RBF(), [1, 2]) if X.dtype == float else OnColumns(Categorical(), [0, 2])
    with pytest.raises(ValueError, match=r"the rows have 2 columns, and columns=\[., 2\]: index 2"):
        mercer.KernelPCA(1, kernel=kernel).fit(X)


@pytest.mark.parametrize("bandwidth", [1e200, 1e-200, np.inf, -1.0])
def test_bandwidths_whose_squares_are_out_of_range_are_refused(bandwidth):
    with pytest.raises(ValueError, match=r"above 0, with a square in range, and .* was given"):
        mercer.KernelPCA(1, kernel=GlobalAlignment(bandwidth)).fit([[0.0, 1.0], [2.0]])


def test_series_beyond_all_random_ones_are_equal_to_each_other():
    """Their alignments with random series underflow; they stay at the distance √2 from all others."""
    near, far = [[0.0, 1.0], [1.0, 2.0, 3.0]], [[1e9, 1e9], [-1e9]]
    kernel = RandomWarping(n_series=8, bandwidth=1.0).bind(near)
    np.testing.assert_allclose(kernel(near + far, far), [[0, 0], [0, 0], [1, 1], [1, 1]], atol=1e-12)


def test_strings_beyond_unicode_and_missing_members_are_kept(tmp_path):
    for kernel, X in (
        (Spectrum(1), ["a\ud800", "b", "ab"]),
        (Jaccard(), [{float("nan"), 1}, {float("nan")}, {1, 2}]),
    ):
        model = mercer.KernelPCA(1, kernel=kernel).fit(X)
        mercer.save(model, tmp_path / "m")
        np.testing.assert_array_equal(mercer.load(tmp_path / "m").transform(X), model.transform(X))
    assert Jaccard()([{float("nan")}], [{float("nan")}]) == 1


def test_widths_of_mixed_tables_do_not_overflow():
    table = np.array([[1e200, "a"], [-1e200, "b"], [3e200, "a"]], object)
    assert np.isfinite(mixed(table).k1.k1.lengthscale).all()
