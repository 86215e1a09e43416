"""The report and the demo's page in a real browser: nothing runs, nothing is fetched, nothing is too wide."""

import csv

import numpy as np
import pytest
from chromium import PROGRAM, Chromium, complaints, requests
from test_cli import run

from mercer import datasets
from mercer.app import demo

pytest.importorskip("matplotlib", reason="pictures are an extra: pip install 'mercer[plots]'")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium: apt install chromium")

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<script>document.title='broken'</script>",
    """"'><svg onload="alert(2)">""",
    "</text></svg><iframe src=https://example.com></iframe>",
    "$\\frac{x}$ <b>&amp;",
    "{{ 7 * 7 }}<style>*{background:url(https://example.com/a.png)}</style>",
)
PHONE = 390  # pixels
LAYOUTS = {
    "desktop": {},
    "dark": {"scheme": "dark"},
    "phone": {"width": PHONE, "height": 844},
    "print": {"width": 780, "media": "print"},
}
# A page that does all that ours must not, to see that it would be seen.
BAD = """<title>a</title><script>document.title = "broken"; console.log("hello")</script>
<img src=x onerror="alert(1)"><img src="https://example.invalid/a.png"><div style="width: 9000px">wide</div>"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table whose names and cells are markup, one of its rows far off so that it is spoken of."""
    folder = tmp_path_factory.mktemp("hostile")
    X = datasets.three_tanks(n=60)[0][:, : len(HOSTILE)]
    X[7] += 9 * X.std(axis=0)
    path = folder / "<img src=x onerror=alert(3)>.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*HOSTILE, "kind"])
        writer.writerows([*row, HOSTILE[i % 2]] for i, row in enumerate(X.tolist()))
    return path


def report(table, model, *options):
    """The report of a model, written as a user would."""
    page = table.parent / f"{model}.html"
    for command in (
        ("fit", table, "-o", table.parent / f"{model}.mercer", "--model", model, "--seed", 0, *options),
        ("report", table.parent / f"{model}.mercer", table, "-o", page),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.output
    return page


@pytest.fixture(scope="module")
def pages(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.app.demo.timing", lambda: demo.Table(("", "a", "b"), [("<time>", "1", "2")]))
        assert run("demo", "-o", folder).exit_code == 0
    assert run("demo", "--data", table, "-o", folder / "own").exit_code == 0
    return {
        "kpca": report(table, "kpca", "-q", 3, "--categorical", "one-hot"),
        "classifier": report(table, "classifier", "--target", "kind"),
        "monitor": report(table, "monitor", "--exclude", "kind"),
        "demo": folder / "index.html",
        "own": folder / "own" / "index.html",
    }


PAGES = ("kpca", "classifier", "monitor", "demo", "own")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_only_shows(browser, pages, name):
    address = pages[name].as_uri()
    events = browser.open(address)
    assert requests(events) == [address]
    assert complaints(events) == []
    assert browser.value("document.title") != "broken"
    assert not browser.value(
        "document.querySelectorAll('script, img, iframe, object, link, [onerror], [onload]').length"
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_window(browser, pages, name):
    browser.open(pages[name].as_uri())
    for layout in LAYOUTS.values():
        browser.show(**layout)
        assert browser.overflow() <= 0


@pytest.mark.parametrize("name", ["kpca", "monitor"])
def test_names_are_shown_as_they_are(browser, pages, name):
    browser.open(pages[name].as_uri())
    shown = browser.value("document.body.innerText")
    assert all(hostile in shown for hostile in HOSTILE)
    assert np.all(np.array(browser.value("Array.from(document.querySelectorAll('svg'), s => s.clientHeight)")) > 50)


def test_what_must_not_be_would_be_seen(browser, tmp_path):
    (tmp_path / "bad.html").write_text(BAD)
    events = browser.open((tmp_path / "bad.html").as_uri())
    told = " ".join(complaints(events))
    assert "hello" in told
    assert "dialog: 1" in told
    assert "https://example.invalid/a.png" in requests(events)
    assert browser.overflow() > 0
    assert browser.value("document.title") == "broken"
