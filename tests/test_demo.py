"""The demo's page stands alone, its code is what was run, and its pictures say what the text says."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from test_cli import run

from mercer import KernelPCA, datasets
from mercer.app import demo
from mercer.kernels import RBF

plots = pytest.importorskip("mercer.plots")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.app.demo.timing", lambda: demo.Table(("", "a", "b"), [("<time>", "1", "2")]))
        result = run("demo", "-o", folder)
    assert result.exit_code == 0, result.output
    return folder, result


@pytest.fixture(scope="module")
def page(told):
    return (told[0] / "index.html").read_text(encoding="utf-8")


class Tags(HTMLParser):
    """Collect the tags, their attributes and the text of each pre, and check that tags close in order."""

    VOID = {"meta", "link", "img", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.code = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "pre":
            self.code.append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "pre":
            self.code[-1] += data


def test_the_terminal_names_the_page_and_shows_the_table(told):
    folder, result = told
    assert str(folder / "index.html") in result.stdout
    assert "kernel PCA" in result.stdout
    assert demo.STORIES[0].title in result.stderr


def test_the_page_needs_nothing_beside_itself(page):
    tags = Tags(page)
    assert tags.open == []
    assert not {"script", "link", "iframe", "object", "img"} & set(tags.tags)
    assert not re.search(r"https?:|@import|javascript:", page)
    for name, value in tags.attributes:
        assert not name.startswith("on")
        if name in {"href", "xlink:href", "src"}:
            assert value.startswith(("#", "data:image/png"))


def test_identifiers_are_unique_and_references_lead_to_them(page):
    attributes = Tags(page).attributes
    ids = [value for name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids))
    references = {value[1:] for name, value in attributes if name == "xlink:href" and value[0] == "#"}
    references |= set(re.findall(r"url\(#([^)]*)\)", page))
    assert references <= set(ids)


def test_the_page_shows_every_picture_and_exactly_the_code_that_ran(page):
    tags = Tags(page)
    assert tags.tags.count("svg") == 2 + 8 + 2 + 2 + 2 + 2 + 2
    assert tags.code == [story.code for story in demo.STORIES] + [demo.SWITCH, demo.OWN, demo.COMMANDS]


def test_text_is_escaped(page):
    assert "&lt;time&gt;" in page
    assert "<time>" not in page


def test_an_earlier_demo_is_replaced_and_an_empty_folder_is_used(told, tmp_path):
    demo.check_folder(told[0])
    demo.check_folder(tmp_path)


@pytest.mark.parametrize("draw", [datasets.rings, datasets.moons, datasets.clusters])
def test_data_are_reproducible_and_balanced(draw):
    (X, y), (again, _) = draw(3, n=60), draw(3, n=60)
    np.testing.assert_array_equal(X, again)
    assert len(set(np.bincount(y))) == 1


def test_the_story_of_the_rings_is_true():
    kernel, linear = (KernelPCA(2, kernel=k) for k in (RBF(gamma=3), "linear"))
    assert demo._accuracy(kernel, datasets.rings) > 0.95
    assert demo._accuracy(linear, datasets.rings) < 0.5


def test_the_story_of_the_clusters_is_true():
    """The first two components tell the clusters apart; the next six split one each, and each one twice."""
    X, y = datasets.clusters()
    Y = KernelPCA(8, kernel=RBF(gamma=20)).fit_transform(X)
    within = np.array([[Y[y == c, j].var() * np.mean(y == c) for c in range(3)] for j in range(8)])
    total = Y.var(axis=0)
    assert np.all(within[:2].sum(axis=1) < 0.1 * total[:2])
    assert np.all(within[2:].sum(axis=1) > 0.9 * total[2:])
    np.testing.assert_array_equal(np.bincount(within[2:].argmax(axis=1)), [2, 2, 2])


def test_the_story_of_the_digits_is_true():
    """Kernel PCA brings back more of noisy digits than linear PCA at its best."""
    X, _ = datasets.digits()
    clean, noise = X[:60], 0.3 * np.random.default_rng(0).standard_normal((60, 64))
    kernel = KernelPCA(200, kernel=RBF(gamma="median"), preimage="smoother").fit(X[60:])
    linear = [KernelPCA(q, kernel="linear").fit(X[60:]) for q in (4, 8, 12, 16, 20, 24, 32)]
    errors = [np.mean((model.denoise(clean + noise) - clean) ** 2) for model in (kernel, *linear)]
    assert errors[0] < 0.6 * min(errors[1:])


def test_the_demo_of_somebodys_table(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'xy'[int(a > 0)]}" for a, b in rng.standard_normal((40, 2))]
    lines = ["left,right,kind", *rows, ",1.0,x"]
    (tmp_path / "my.csv").write_text("\n".join(lines))
    for _ in range(2):  # an earlier page is replaced
        result = run("demo", "--data", tmp_path / "my.csv", "-o", tmp_path / "out")
        assert result.exit_code == 0, result.output
    assert "mercer fit" in result.stdout
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "kind=x" in page
    assert Tags(page).open == []
