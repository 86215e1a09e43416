"""The explorer's session: every answer equals what the library gives, for every kind of model."""

import csv
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import datasets
from mercer._core.registry import MODELS
from mercer.app import explore
from mercer.app.cli import main
from mercer.app.cli.explore import _session
from mercer.app.explore.data import LEAST_SIDE, digits, of_rows, of_table, picture_shape
from mercer.app.explore.session import KINDS, Session
from mercer.app.explore.settings import KERNEL_NAMES, LANDMARKS_FROM, MODEL_NAMES, Refused, Settings
from mercer.app.explore.view import NEIGHBOURS
from mercer.app.explore.widget import markup
from mercer.io import read
from mercer.kernels import Matern
from mercer.models.monitor.contributions import contributions
from mercer.tables.table import Table, TableError

N = 120
SMALL = {"components": 3, "clusters": 2}


def table(n=N, words=True):
    """Eight numbers, a class, and a column of words."""
    X = datasets.three_tanks(n=n)[0]
    columns = {name: X[:, j] for j, name in enumerate(datasets.TANK_SENSORS)}
    columns["kind"] = np.arange(n) % 2 * 1.0
    if words:
        columns["place, town"] = np.array([("Bern", 'B"a', "C d")[i % 3] for i in range(n)], object)
    return Table(columns, "tanks.csv")


def opened(**options):
    return Session(of_table(table(), "tanks.csv", **({"target": "kind", "categorical": "error"} | options)))


def fitted(session, **settings):
    first = session.answer("open", {})[0]["settings"]
    return session.answer("fit", {"settings": first | SMALL | settings, "axes": [0, 1]})


@pytest.fixture(scope="module")
def kpca():
    session = opened()
    header, arrays = fitted(session)
    return session, header, arrays, session.views[header["model"]]


def test_the_map_is_transform(kpca):
    session, header, (x, y), view = kpca
    Y = view.model.transform(view.X)
    assert np.all(x == Y[:, 0])
    assert np.all(y == Y[:, 1])
    assert header["shares"] == view.model.explained_variance_ratio_.tolist()
    assert session.answer("map", {"model": header["model"], "axes": [2, 0]})[1][0].tolist() == Y[:, 2].tolist()


def test_a_row_is_what_the_library_says(kpca):
    session, header, _, view = kpca
    told = session.answer("row", {"model": header["model"], "row": 7, "causes": True})[0]
    assert told["novelty"] == view.model.reconstruction_error(view.X)[7]
    assert told["causes"] == contributions(view.model, view.X[7:8], "spe")[0].tolist()
    assert told["cells"] == [session.data.table.columns[name][7] for name in session.data.columns]
    assert told["target"] == 1


def test_back_is_the_pre_image(kpca):
    session, header, _, view = kpca
    Y = view.model.transform(view.X)
    near = np.argsort(np.sum((Y[:, :2] - 0.1) ** 2, axis=1))[:NEIGHBOURS]
    told, _ = session.answer("back", {"model": header["model"], "axes": [0, 1], "at": [0.1, 0.1]})
    y = np.r_[0.1, 0.1, Y[near, 2].mean()]
    assert np.allclose(told["y"], y, rtol=1e-12)
    result = view.model.preimages(np.array([told["y"]]))
    assert told["error"] == result.error[0]
    assert told["cells"] == [float(v[0]) for v in view.recipe.table(result.X).values()]
    told, _ = session.answer("back", {"model": header["model"], "axes": [0, 1], "at": Y[3, :2].tolist(), "row": 3})
    assert told["y"] == Y[3].tolist()


def test_a_walk_is_interpolate(kpca):
    session, header, _, view = kpca
    told, (x, _) = session.answer("walk", {"model": header["model"], "axes": [0, 1], "rows": [2, 9]})
    rows = view.model.interpolate(view.X[2], view.X[9], n_steps=len(x))
    assert np.all(np.array(told["rows"]) == rows * view.recipe.scale + view.recipe.mean)
    assert len(told["rows"]) == len(x)


def test_the_limit_counts_rows(kpca):
    session, header, _, view = kpca
    told, (values, order) = session.answer("novelty", {"model": header["model"]})
    for limit, flagged in zip(told["limits"], told["flagged"], strict=True):
        assert flagged == np.sum(view.novelty > limit)
        assert {*order[:flagged]} == {*np.flatnonzero(view.novelty > limit)}
    assert np.all(np.diff(told["expected"]) >= 0)
    row = session.answer("row", {"model": header["model"], "row": int(order[0])})[0]
    assert row["p"] * N == told["expected"][0]
    assert row["law"] == told["law"] == "a gamma law"
    assert np.all(values == view.novelty)


def test_linear_and_scree(kpca):
    session, header, _, view = kpca
    told, (x, _) = session.answer("linear", {"model": header["model"]})
    linear = mercer.KernelPCA(3, kernel="linear", random_state=0).fit(view.X)
    assert np.allclose(x, linear.transform(view.X)[:, 0])
    assert told["shares"] == linear.explained_variance_ratio_.tolist()
    shares = told["scree"]
    assert len(shares) > 3
    assert np.allclose(shares[:3], header["shares"])


def test_colours(kpca):
    session, header, _, _ = kpca
    for by, words in (("novelty", None), ({"column": "kind"}, ["0", "1"]), ({"column": "level 1"}, None)):
        told, (values,) = session.answer("colour", {"model": header["model"], "by": by})
        assert told["words"] == words
        assert len(values) == N
    told, (values,) = session.answer("colour", {"model": header["model"], "by": {"column": "place, town"}})
    assert told["words"] == ['B"a', "Bern", "C d"]
    assert values[:3].tolist() == [1, 0, 2]


def test_exported_rows(kpca):
    session, header, _, view = kpca
    _, (text,) = session.answer("rows", {"model": header["model"], "rows": [3, 11]})
    lines = list(csv.DictReader(io.StringIO(text.tobytes().decode())))
    assert [line["row"] for line in lines] == ["3", "11"]
    assert float(lines[1]["component 2"]) == view.Y[11, 1]
    assert float(lines[0]["level 1"]) == session.data.table.columns["level 1"][3]
    assert lines[0]["place, town"] == "Bern"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", MODEL_NAMES)
def test_every_model_answers_everything_and_its_recipe_makes_it_again(model, tmp_path, monkeypatch):
    session = opened()
    header, _ = fitted(session, model=model)
    view, key = session.views[header["model"]], {"model": header["model"]}
    bodies = {"at": [0.0, 0.0], "axes": [0, 1], "by": "novelty", "row": 1, "causes": True, "rows": [1, 2]}
    for kind in set(KINDS) - {"fit"}:
        session.answer(kind, bodies | key)
    assert type(view.model) is MODELS[model]

    monkeypatch.chdir(tmp_path)
    mercer.tables.write({name: session.data.table.written(name) for name in session.data.table.names}, "tanks.csv")
    done = CliRunner().invoke(main, shlex.split(header["recipe"]["command"])[1:])
    assert done.exit_code == 0, done.output
    (tmp_path / "exported.mercer").write_bytes(session.answer("save", key)[1][0].tobytes())
    exported, made = read("exported.mercer"), read("model.mercer")
    assert np.all(exported.recipe.rows(session.data.table) == made.recipe.rows(session.data.table))
    method = next(name for name in ("transform", "predict_proba", "score_samples") if hasattr(made.model, name))
    X = view.X
    assert np.allclose(getattr(made.model, method)(X), getattr(view.model, method)(X), rtol=1e-9, atol=1e-9)
    assert np.all(getattr(exported.model, method)(X) == getattr(view.model, method)(X))

    values = {}
    exec(header["recipe"]["python"], values)
    assert np.all(getattr(values["model"], method)(X) == getattr(view.model, method)(X))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("scale", [True, False])
def test_the_recipe_with_texts_makes_the_model_again(scale, tmp_path, monkeypatch):
    session = opened(categorical="auto")
    header, _ = fitted(session, scale=scale)
    view = session.views[header["model"]]
    monkeypatch.chdir(tmp_path)
    mercer.tables.write({name: session.data.table.written(name) for name in session.data.table.names}, "tanks.csv")
    done = CliRunner().invoke(main, shlex.split(header["recipe"]["command"])[1:])
    assert done.exit_code == 0, done.output
    made = read("model.mercer")
    assert np.all(made.recipe.rows(session.data.table) == view.X)
    assert np.allclose(made.model.transform(view.X), view.Y, rtol=1e-9, atol=1e-9)
    values = {}
    exec(header["recipe"]["python"], values)
    assert np.allclose(values["model"].transform(view.X), view.Y, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_every_kernel_fits(kernel):
    session = opened()
    header, (x, _) = fitted(session, kernel=kernel, width=0.5)
    assert np.all(np.isfinite(x))
    assert header["settings"]["kernel"] == kernel


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "path", ["kernel_pca", "sparse", "probabilistic", "mixture", "classifier", "monitor", "dropin", "landmarks"]
)
@pytest.mark.parametrize("way", ["python", "command"])
def test_model_files_of_every_kind(path, way, request, tmp_path):
    file = str(request.path.parent / "data" / f"format1_{path}.mercer")
    model = mercer.load(file)
    with np.load(request.path.parent / "data" / f"format1_{path}.npz") as arrays:
        X = arrays["X"]
    np.save(tmp_path / "X.npy", X)
    reading = {"format_": None, "delimiter": None, "decimal": ".", "no_header": False}
    session = Session.of(model, X) if way == "python" else _session(file, str(tmp_path / "X.npy"), None, reading)
    key = session.answer("open", {})[0]["model"]
    header, (x, _) = session.answer("map", {"model": key, "axes": [0, 1]})
    assert len(x) == len(X)
    assert header["settings"] is None
    assert session.answer("open", {})[0]["settings"]["components"] == min(50, header["components"])
    view, recipe = session.views[key], read(file).recipe
    assert np.allclose(view.X, X if way == "python" or recipe is None else recipe.rows(session.data.table))
    if hasattr(model, "transform") and path != "dropin":
        assert np.allclose(x, model.transform(view.X)[:, 0])
    for kind in ("novelty", "linear", "row", "back", "walk"):
        session.answer(kind, {"model": key, "row": 0, "rows": [0, 1], "at": [0, 0], "axes": [0, 1], "causes": True})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", [mercer.KernelPCA, mercer.dropin.KernelPCA, mercer.ContrastiveKernelPCA])
def test_the_recipe_of_a_model_that_is_not_of_a_table_makes_it_again_from_its_rows(make, tmp_path):
    X, background = datasets.three_tanks(n=N)[0], datasets.three_tanks(n=N, random_state=1)[0]
    given = {"background": background} if make is mercer.ContrastiveKernelPCA else {}
    model = make(3, kernel="rbf", random_state=0).fit(X, **given)
    mercer.save(model, tmp_path / "own.mercer")
    np.save(tmp_path / "X.npy", X)
    reading = {"format_": None, "delimiter": None, "decimal": ".", "no_header": False}
    session = _session(str(tmp_path / "own.mercer"), str(tmp_path / "X.npy"), None, reading)
    recipe = session.answer("map", {"model": "m1", "axes": [0, 1]})[0]["recipe"]
    assert recipe["python"].startswith("# X: the rows")
    values = {"X": X, "background": background}
    exec(recipe["python"], values)
    assert np.all(values["model"].transform(X) == model.transform(X))


def test_a_monitor_with_lags_is_refused():
    X = datasets.three_tanks(n=600)[0]
    with pytest.raises(Refused, match="mercer report"):
        Session.of(mercer.KernelPCAMonitor(lags=1, random_state=0).fit(X), X)


def test_pipelines_and_frames():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(datasets.three_tanks(n=N)[0], columns=list(datasets.TANK_SENSORS))
    model = make_pipeline(StandardScaler(), mercer.KernelPCA(3)).fit(X)
    session = Session.of(model, X, target=np.arange(N) % 2)
    key = session.answer("open", {})[0]["model"]
    assert np.allclose(session.answer("map", {"model": key, "axes": [0, 1]})[1][0], model.transform(X)[:, 0])
    Y = model.transform(X)
    told = session.answer("back", {"model": key, "axes": [0, 1], "at": Y[0, :2].tolist(), "row": 0})[0]
    assert np.allclose(told["cells"], model[0].inverse_transform(model[1].inverse_transform(Y[:1]))[0])
    assert session.answer("open", {})[0]["target"] == "target"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", ["digits", "array", "frame", "pipeline", "classifier"])
def test_the_recipe_of_rows_that_are_in_no_file_makes_the_model_again(make):
    X, y = datasets.three_tanks(n=N)[0], np.arange(N) % 2
    if make == "frame":
        X = pytest.importorskip("pandas").DataFrame(X, columns=list(datasets.TANK_SENSORS))
        X["words"] = "ab"
    if make == "pipeline":
        session = Session.of(
            make_pipeline(StandardScaler(), mercer.KernelPCA(3, kernel=Matern(), random_state=0)).fit(X), X
        )
        header = session.answer("map", {"model": "m1", "axes": [0, 1]})[0]
    else:
        data = digits() if make == "digits" else of_rows(X, target=y)
        session = Session(data)
        header = fitted(session, model="classifier" if make == "classifier" else "kpca")[0]
    assert "no file" in header["recipe"]["command"]
    values = {"X": X, "y": y}
    exec(header["recipe"]["python"], values)
    view = session.views[header["model"]]
    method = "predict_proba" if make == "classifier" else "transform"
    made, shown = (getattr(model, method)(view.X) for model in (values["model"], view.model))
    assert np.allclose(made, shown, rtol=1e-9) if make == "frame" else np.all(made == shown)  # sums in another order


def test_a_model_alone_shows_the_rows_it_keeps():
    X = datasets.moons(n=60)[0]
    session = Session.of(mercer.KernelPCA(2).fit(X))
    assert session.answer("open", {})[0]["rows"] == 60
    with pytest.raises(ValueError, match="give the rows"):
        Session.of(mercer.KernelPCAMixture(2, random_state=0).fit(X))


def test_the_way_back_through_the_scaler_of_a_monitor():
    X = datasets.three_tanks(n=N)[0]
    monitor = mercer.KernelPCAMonitor(in_time=False, random_state=0).fit(X)
    scaler, model = monitor.estimator_
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(X)), X)
    view = Session.of(monitor, X).views["m1"]
    found = model.preimages(view.Y[:1]).X
    assert np.all(view.back(view.Y[0])[0] == scaler.inverse_transform(found)[0])


def test_what_python_gives_is_checked():
    X = datasets.moons(n=60)[0]
    model = mercer.KernelPCA(2).fit(X)
    with pytest.raises(NotFittedError, match="KernelPCA instance is not fitted"):
        Session.of(mercer.KernelPCA(2), X)
    with pytest.raises(ValueError, match="1 name for 2 columns"):
        Session.of(model, X, names=["a"])
    with pytest.raises(ValueError, match="there are 60 rows"):
        Session.of(model, X, target=[0, 1])
    with pytest.raises(ValueError, match="rows of numbers"):
        Session.of(mercer.KernelPCA(2, kernel="spectrum").fit(["abc", "abd", "xyz"] * 4))


def test_a_model_of_sparse_rows():
    """Its pre-images are sparse; contributions need dense ones, and the page says so."""
    X = sparse.csr_matrix(datasets.moons(n=60)[0])
    session = Session.of(mercer.KernelPCA(2).fit(X), X)
    body = {"model": "m1", "axes": [0, 1], "row": 0, "causes": True, "at": [0, 0]}
    told = session.answer("row", body)[0]
    assert told["causes"] is None
    assert "dense rows" in told["reason"]
    assert len(session.answer("back", body)[0]["cells"]) == 2


def test_tables_with_gaps_words_and_empty_columns():
    columns = table().columns | {"nothing": np.full(N, np.nan)}
    columns["level 1"] = np.where(np.arange(N) < 5, np.nan, columns["level 1"])
    session = Session(of_table(Table(columns, "a.csv"), "a.csv"))
    notes = " ".join(session.answer("open", {})[0]["notes"])
    assert "5 empty cells are filled" in notes
    assert "nothing" in notes
    assert "nothing (empty)" in notes
    assert "One-hot encoded: place, town" in notes
    assert "kind" in session.data.columns
    fitted(session)
    dropped = of_table(Table(columns, "a.csv"), "a.csv", missing="drop")
    assert len(dropped) == N - 5


def test_a_square_of_columns_with_a_word_is_no_picture():
    columns = {f"p{i}": values for i, values in enumerate(np.random.default_rng(0).normal(size=(63, N)))}
    data = of_table(Table(columns | {"ok": np.array(["yes", "no"] * (N // 2), object)}, "a.csv"), "a.csv")
    assert len(data.columns) == 64
    assert Session(data).answer("open", {})[0]["image"] is None


def test_a_target_with_gaps_is_a_colour_and_not_a_class():
    columns = table(words=False).columns
    columns["place"] = np.array([None, "Bern", "Chur"] * (N // 3), object)
    session = Session(of_table(Table(columns, "a.csv"), "a.csv", target="place"))
    header, _ = fitted(session)
    found = [session.answer("row", {"model": header["model"], "row": i})[0]["target"] for i in range(3)]
    assert found == [None, "Bern", "Chur"]
    with pytest.raises(TableError, match="row 1, column 'place': the target is missing"):
        fitted(session, model="classifier")


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(TableError, match="no column of numbers"):
        of_table(Table({"a": np.array(["x", "y", "z"], object)}, "a"), "a")
    with pytest.raises(TableError, match="at least"):
        of_rows(np.ones((2, 3)))
    with pytest.raises(TableError, match="explorer takes 5000"):
        of_rows(np.ones((4, 10_000)))
    with pytest.raises(TableError, match="pixels"):
        of_table(table(), "a", image=(28, 28))


def test_a_csv_text_replaces_the_table():
    session = opened()
    fitted(session)
    info = session.table(b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % (i, i * i, -(i**3)) for i in range(20)))[0]
    assert info["rows"] == 20
    assert info["model"] is None
    assert fitted(session)[1][0].shape == (20,)
    for text in (b"", b"a,b\n1\n", b"\xff\xfe", b"a,b\nx,y\n", b",".join(b"c%d" % i for i in range(10_000)) + b"\n"):
        with pytest.raises(TableError):
            session.table(text)
    assert session.data.columns == ["b", "c"]  # a is an id


def test_pictures_are_found_by_their_smoothness():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 64))
    assert picture_shape(noise) is None
    assert picture_shape(np.cumsum(np.cumsum(noise.reshape(-1, 8, 8), 1), 2).reshape(200, 64)) == (8, 8)
    assert picture_shape(np.ones((10, (LEAST_SIDE - 1) ** 2))) is None
    assert picture_shape(np.ones((10, 64))) is None


@pytest.mark.parametrize(
    "settings",
    [
        None, [], {"model": "kpca", "evil": 1}, {"model": "KernelPCA"}, {"kernel": "precomputed"}, {"kernel": ["rbf"]},
        {"width": float("inf")}, {"width": 1e9}, {"width": "1"}, {"width": True}, {"components": 0},
        {"components": 2.0},
        {"components": 10**9}, {"degree": 99}, {"clusters": -1}, {"scale": "yes"}, {"model": "classifier"},
    ],
)  # fmt: skip
def test_settings_are_checked(settings):
    with pytest.raises(Refused):
        Settings.of(settings, of_table(table(), "tanks.csv"))


def test_only_models_that_landmarks_serve_take_many_rows():
    data = of_rows(np.zeros((LANDMARKS_FROM + 1, 2)))
    with pytest.raises(Refused, match="mercer fit --model sparse"):
        Settings.of({"model": "sparse"}, data)
    assert Settings.of({"model": "kpca"}, data)


def test_a_large_table_is_sampled_and_fitted_by_landmarks(monkeypatch):
    monkeypatch.setattr("mercer.app.explore.data.DRAWN", 1000)
    session = Session.of(mercer.KernelPCA(2).fit(datasets.moons(n=50)[0]), datasets.moons(n=LANDMARKS_FROM + 100)[0])
    info, (drawn,) = session.answer("open", {})
    assert "landmarks" in info["notes"][0]
    assert "chosen at random" in info["notes"][1]
    header, (x, _) = fitted(session)
    assert len(x) == len(drawn) == 1000
    assert header["solver"] == "Landmarks"
    assert np.all(x == session.views[header["model"]].Y[drawn, 0])


def test_old_models_are_forgotten():
    session = opened()
    first = fitted(session)[0]["model"]
    for _ in range(6):
        fitted(session)
    with pytest.raises(Refused, match="Reload"):
        session.answer("map", {"model": first, "axes": [0, 1]})


def test_rows_that_are_all_alike():
    session = Session(of_rows(np.ones((20, 3))))
    header, (x, y) = fitted(session)
    assert header["components"] == 0
    assert header["warnings"]
    assert not x.any()
    assert not y.any()
    for kind in ("novelty", "linear", "row"):
        session.answer(kind, {"model": header["model"], "row": 0})


@pytest.mark.parametrize(("control", "names"), [("model", MODEL_NAMES), ("kernel", KERNEL_NAMES)])
def test_the_page_offers_what_the_settings_take(control, names):
    offered = markup().partition(f'<select name="{control}"')[2].partition("</select>")[0]
    assert re.findall(r'<option value="(\w+)"', offered) == list(names)


MOST_LINES = 2_500  # of Python and JavaScript, all of them
MOST_WIDE = 120  # characters of a line


def test_the_explorer_stays_small():
    folder = Path(explore.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in (*folder.glob("*.py"), *folder.glob("*.js"))]
    lines = [line for text in texts for line in text.splitlines()]
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= MOST_WIDE
