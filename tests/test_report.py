"""The report stands alone, says what the model is, and shows text from the data as text."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_demo import Tags

import mercer
from mercer.kernels import RBF

pytest.importorskip("matplotlib", reason="pictures are an extra: pip install 'mercer[plots]'")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore:The .* calibration rows are correlated in time:UserWarning")
HOSTILE = "</script><img src=x onerror=alert(1)>"
WINE = load_wine(as_frame=True)
CS, SIDE = mercer.datasets.two_cs(n=80)
TANKS = pd.DataFrame(mercer.datasets.three_tanks(n=300)[0], columns=mercer.datasets.TANK_SENSORS)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


MODELS = {
    "kernel PCA": (mercer.KernelPCA(3, kernel=RBF("median")), WINE.data / WINE.data.std()),
    "pipeline": (scaled(mercer.KernelPCA(3, kernel=RBF("median"))), WINE.data.rename(columns={"hue": HOSTILE})),
    "one component": (mercer.KernelPCA(1, kernel=RBF(0.1)), CS),
    "plane": (mercer.KernelPCA(2, kernel=RBF(0.02)), CS),
    "landmarks": (mercer.KernelPCA(3, kernel=RBF(0.02), solver="landmarks", random_state=0), CS),
    "linear": (scaled(mercer.KernelPCA(3, kernel="linear")), WINE.data),
    "probabilistic": (mercer.ProbabilisticKernelPCA(3, kernel=RBF(0.02)), CS),
    "sparse": (mercer.SparseKernelPCA(3, n_anchors=12, kernel=RBF(0.02)), CS),
    "mixture": (mercer.KernelPCAMixture(2, 1, kernel=RBF.from_sigma(8), n_parts=2, random_state=0), CS),
    "classifier": (mercer.KernelPCAClassifier(kernel=RBF(0.02)), CS),
    "monitor": (mercer.KernelPCAMonitor(random_state=0), TANKS),
    "monitor with lags": (mercer.KernelPCAMonitor(lags=2, random_state=0), TANKS),
    "monitor of a table": (mercer.KernelPCAMonitor(random_state=0), WINE.data),
}


@pytest.fixture(scope="module", params=MODELS)
def written(request, tmp_path_factory):
    model, X = MODELS[request.param]
    path = tmp_path_factory.mktemp("report") / "report.html"
    y = SIDE if request.param == "classifier" else None
    color = None if request.param == "plane" else np.arange(len(X)) % 50 / 7
    mercer.report(model.fit(X, y), X, path, y=y, color=color)
    return request.param, path.read_text(encoding="utf-8")


def test_the_page_needs_nothing_beside_itself(written):
    tags = Tags(written[1])
    assert tags.open == []
    assert not {"script", "link", "iframe", "object", "img"} & set(tags.tags)
    for name, value in tags.attributes:
        assert not name.startswith("on")
        if name in {"href", "xlink:href", "src"}:
            assert value.startswith(("#", "data:image/png"))


def test_the_page_names_the_model(written):
    name, page = written
    kind = type(MODELS[name][0][-1] if name in {"pipeline", "linear"} else MODELS[name][0]).__name__
    assert f"Report: {kind}" in page
    assert "How to make this model" in page


SECTIONS = {
    "kernel PCA": ["Map of the rows", "coloured by novelty", "coloured by color", "linear PCA", "Unusual rows"],
    "classifier": ["Held-out accuracy", "training accuracy", "class \\ predicted", "Calibration", "least sure"],
    "mixture": ["coloured by cluster", "sum of several Gaussians", "Overlap", "Typical rows", "least certain"],
    "monitor": ["T² of each row", "SPE of each row", "Calibration", "are expected in normal operation"],
    "monitor with lags": ["T² of each row", "Calibration", "Unusual rows", "level 3 (2 before)"],
    "sparse": ["Anchors", "training row"],
    "probabilistic": ["coloured by log-density", "Samples of the model"],
}


def test_the_page_has_what_this_kind_of_model_needs(written):
    name, page = written
    for words in SECTIONS.get(name, []):
        assert words in page, words


def test_every_figure_has_an_alternative_text_and_text_as_text(written):
    _, page = written
    labels = re.findall(r'<svg role="img" aria-label="([^"]*)"', page)
    assert len(labels) == page.count("<svg")
    assert all(labels)
    assert page.count("<text") > len(labels)


def test_training_rows_and_filled_cells_are_named(tmp_path):
    from test_cli import done

    frame = WINE.frame[["alcohol", "hue", "proline", "target"]].copy()
    frame.loc[::7, "hue"] = np.nan
    frame.to_csv(tmp_path / "w.csv", index=False)
    done("fit", tmp_path / "w.csv", "-o", tmp_path / "m", "--missing", "mean", "--exclude", "target", "-q", 2)
    options = ["-o", tmp_path / "r.html", "--color", "target"]
    done("report", tmp_path / "m", tmp_path / "w.csv", *options)
    page = (tmp_path / "r.html").read_text()
    assert "These are the training rows" in page
    assert "26 empty cells in 26 rows were filled" in page
    assert "coloured by target" in page
    assert "mercer fit" in page


def test_text_from_the_data_is_text(written):
    name, page = written
    assert HOSTILE not in page
    if name == "pipeline":
        assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in page


def test_the_strangest_row_comes_first_with_its_reason(tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[17, 1] = 9.0
    model = mercer.KernelPCA(3, kernel=RBF(0.05)).fit(np.delete(X, 17, axis=0))
    mercer.report(model, X, tmp_path / "a.html", names=["left", "middle", "right"])
    rows = (tmp_path / "a.html").read_text().split("Unusual rows")[1].split("<tr>")
    assert ">17</td>" in rows[2]
    assert ">middle," in rows[2]


def test_a_reader_is_warned(tmp_path):
    X = np.random.default_rng(0).standard_normal((50, 4)) * [1, 1e4, 1, 0]
    mercer.report(mercer.KernelPCA(2, kernel="linear").fit(X), X, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "Constant columns carry no information: x3" in page
    assert "scale the columns" in page


def test_the_table_of_the_data_is_in_their_own_units(tmp_path):
    X = np.random.default_rng(0).standard_normal((50, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = mercer.KernelPCA(2, kernel=RBF(0.5)).fit(X)
    pages = []
    for units in (None, 250 + 8 * X):
        mercer.report(model, X, tmp_path / "a.html", units=units)
        pages.append((tmp_path / "a.html").read_text().split("<h2>Model")[0])
    assert '<td class="number">0</td><td class="number">1</td>' in pages[0]
    assert '<td class="number">250</td><td class="number">8</td>' in pages[1]


def test_alarms_among_training_rows_name_no_cause(tmp_path):
    X = np.random.default_rng(0).normal(size=(150, 3))
    X[:2] += 9
    for name, training, new in (("seen", X, X), ("new", X[2:], X)):
        model = mercer.KernelPCAMonitor(random_state=0).fit(training)
        mercer.report(model, new, tmp_path / f"{name}.html", names=["a", "b", "c"])
    pages = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert "a training row: fit without it to see" in pages["seen"]
    causes = dict(
        re.findall(r'number">(\d+)</td><td class="number">[^<]*</td><td class="words">([^<]*)<', pages["new"])
    )
    assert {causes[row].count(", ") for row in "01"} == {2}
    assert not any("training row" in causes[row] for row in "01")
