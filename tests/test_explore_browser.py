"""The explorer in a real browser: by mouse, touch and keyboard, with hostile tables, dark, on a phone, and attacked."""

import csv
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from chromium import PATIENCE, PROGRAM, Chromium, complaints, requests
from serving import start

from mercer import datasets
from mercer.io import read
from mercer.tables.table import Table

pytest.importorskip("starlette", reason="the server is an extra: pip install 'mercer[explore]'")
pytest.importorskip("uvicorn", reason="the server is an extra: pip install 'mercer[explore]'")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium: apt install chromium")

from mercer.app.explore.data import digits, of_table  # noqa: E402
from mercer.app.explore.server import OVER, Explorer  # noqa: E402
from mercer.app.explore.session import Session  # noqa: E402

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<script>document.title='broken'</script>",
    """"'><svg onload="alert(2)">""",
    "</text></svg><iframe src=https://example.com></iframe>",
    "$\\frac{x}$ <b>&amp;",
    "{{ 7 * 7 }}<style>*{background:url(https://example.com/a.png)}</style>",
)
APP = "document.getElementById('explorer').explorer"
FIELDS = f"{APP}.fields"
SHOWN = f"{APP}.details"
READY = f"{APP}?.alarm && {APP}.straightShares && {APP}.screeShares.length > 10"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def hostile(n=150):
    """A table whose names and words are markup."""
    X = datasets.three_tanks(n=n)[0][:, : len(HOSTILE)]
    columns = dict(zip(HOSTILE, X.T, strict=True))
    columns["kind <b>"] = np.array([HOSTILE[i % 2] for i in range(n)], object)
    return of_table(
        Table(columns, "<img src=x onerror=alert(3)>.csv"), "<img src=x onerror=alert(3)>.csv", target="kind <b>"
    )


@pytest.fixture(scope="module")
def shown(browser):
    """A function that opens the page on data and returns the session; all servers end at the end."""
    running = []

    def show(data, **layout):
        explorer = Explorer(lambda: Session(data))
        running.append((explorer, start(explorer)))
        browser.show(**({"width": 1280, "height": 800} | layout))
        events = browser.open(explorer.url)
        browser.until(READY)
        return explorer, events

    yield show
    for explorer, thread in running:
        explorer.stop()
        thread.join(10)


@pytest.fixture(scope="module")
def tanks(shown):
    X, y = datasets.three_tanks(n=200, fault="step")
    columns = {name: X[:, j] for j, name in enumerate(datasets.TANK_SENSORS)}
    columns["fault"] = y.astype(float)
    return shown(of_table(Table(columns, "tanks.csv"), "tanks.csv", target="fault"))[0]


def place(browser, row):
    """Where a row is in the window."""
    return browser.value(
        f"(() => {{ const m = {APP}.map, b = m.over.getBoundingClientRect(); const [x, y] = m.toScreen(m.x[{row}], "
        f"m.y[{row}]); return [x + b.left, y + b.top] }})()"
    )


def lonely(browser):
    """The row whose nearest neighbour on the map is farthest, so that a click cannot mean another."""
    return browser.value(
        f"(() => {{ const {{x, y}} = {APP}.map; let best = 0, found = 0; for (let i = 0; i < x.length; i++) {{ let d = "
        "Infinity; for (let j = 0; j < x.length; j++) if (j !== i) d = Math.min(d, Math.hypot(x[i] - x[j], y[i] - "
        "y[j])); if (d > best) { best = d; found = i } } return found })()"
    )


def click(browser, expression):
    """A real click on an element, scrolled into view."""
    x, y = browser.value(
        f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}}); "
        "const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2] })()"
    )
    browser.mouse((x, y))


def refitted(browser):
    """Wait for the model after a change of settings."""
    before = browser.value(f"{APP}.model.model")
    yield
    browser.until(f"{APP}.model.model !== '{before}' && !{APP}.lines.fit.busy")


def current(browser, explorer):
    return explorer.session.views[browser.value(f"{APP}.model.model")]


def test_mouse(browser, tanks):
    """Hover, pin, compare, walk, lasso, back, pan, zoom, colour, scree, alarm: and the numbers are the library's."""
    view = current(browser, tanks)
    row = lonely(browser)
    browser.point(*place(browser, row))
    browser.until(f"{APP}.hovered === {row} && {APP}.told.get({row})?.causes")
    browser.until(f"{SHOWN}.textContent.includes('contribution')")
    novelty = browser.value("Number(document.querySelector('[data-novelty]').dataset.novelty)")
    assert novelty == view.model.reconstruction_error(view.X)[row]
    assert browser.value(f"{APP}.map.x[{row}]") == np.float32(view.model.transform(view.X)[row, 0])

    browser.mouse(place(browser, row))
    browser.mouse(place(browser, 0))
    browser.until(f"{APP}.pins.length === 2 && !{APP}.walkButton.disabled")
    other = browser.value(f"{APP}.pins[1]")
    click(browser, f"{APP}.walkButton")
    browser.until(f"{APP}.steps")
    rows = view.model.interpolate(view.X[row], view.X[other], n_steps=24) * view.recipe.scale + view.recipe.mean
    assert np.allclose(browser.value(f"{APP}.steps.map(s => s.cells)"), rows, rtol=1e-12)
    browser.key("Escape")
    assert browser.value(f"{APP}.pins.length") == 0

    box = browser.value(
        f"(() => {{ const b = {APP}.map.over.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom] }})()"
    )
    left, top, right, bottom = box[0] + 5, box[1] + 5, box[2] - 5, box[3] - 5
    middle = (left + right) / 2
    browser.key("2")
    browser.mouse((left, top), (middle, top), (middle, bottom), (left, bottom))
    chosen = browser.value(f"{APP}.picked")
    half = browser.value(f"{APP}.map.toData({middle - box[0]}, 0)[0]")
    assert chosen == np.flatnonzero(view.Y[:, 0] < half).tolist()

    browser.key("3")
    browser.mouse((middle, top + 200), (middle + 40, top + 230))
    browser.until(f"{APP}.probe?.cells && !{APP}.lines.back.busy && {APP}.probe.found[0] === {APP}.probe.at[0]")
    at, row = browser.value(f"{APP}.probe.at"), browser.value(f"{APP}.probe.row")
    told = "Number(document.querySelector('[data-error]')?.dataset.error)"
    browser.until(f"{told} === {APP}.probe.error")
    error = browser.value(told)
    assert error == view.map.preimages(view.point((0, 1), at, row)[None]).error[0]

    browser.key("1")
    scale = browser.value(f"{APP}.map.view.scale")
    browser.wheel(middle, top + 100, -300)
    browser.until(f"{APP}.map.view.scale > {scale * 1.2}")
    before = browser.value(f"{APP}.map.view.x")
    browser.mouse((middle, top + 100), (middle + 80, top + 100))
    browser.until(f"{APP}.map.view.x < {before}")
    browser.key("0")
    browser.until(f"!{APP}.map.moved")


def test_controls(browser, tanks):
    for change in (
        "width.value = 0.5; {f}.width.dispatchEvent(new Event('input', {{ bubbles: true }}))",
        "kernel.value = 'laplacian'; {f}.kernel.dispatchEvent(new Event('input', {{ bubbles: true }}))",
        "scale.click()",
        "model.value = 'monitor'; {f}.model.dispatchEvent(new Event('input', {{ bubbles: true }}))",
        "model.value = 'kpca'; {f}.model.dispatchEvent(new Event('input', {{ bubbles: true }}))",
    ):
        waiting = refitted(browser)
        next(waiting)
        browser.value(f"{FIELDS}.{change.format(f=FIELDS)}")
        list(waiting)
    view = current(browser, tanks)
    assert view.model.kernel_.__class__.__name__ == "Laplacian"
    assert browser.value(f"{APP}.recipe.textContent").count("Laplacian(gamma=") == 1
    waiting = refitted(browser)
    next(waiting)
    click(browser, f"{APP}.scree.previousElementSibling.firstChild")
    list(waiting)
    q = browser.value(f"{APP}.model.components")
    assert q == current(browser, tanks).model.n_components != 10
    assert browser.value(f"{APP}.model.shares") == current(browser, tanks).model.explained_variance_ratio_.tolist()
    browser.until(f"!{APP}.lines.novelty.busy && !{APP}.lines.linear.busy")
    click(browser, f"{APP}.flagButton")
    flagged = browser.value(f"{APP}.picked.length")
    assert flagged == browser.value(f"{APP}.alarm.flagged[Number({APP}.limit.value)]") > 0
    for by in ("none", "novelty", "column 0"):
        browser.value(f"{APP}.colourBy.value = '{by}'; {APP}.recolour()")
        browser.until(f"!{APP}.lines.colour.busy")
    browser.key("Escape")


def test_keyboard_alone(browser, tanks):
    """From the address bar: Tab to the map, then arrows, Enter, the lasso, the way back, linear PCA."""
    browser.value("document.activeElement.blur()")
    for _ in range(80):
        browser.key("Tab")
        if browser.value(f"document.activeElement === {APP}.map.over"):
            break
    assert browser.value(f"document.activeElement === {APP}.map.over")
    browser.key("ArrowRight")
    first = browser.value(f"{APP}.focus")
    browser.key("ArrowRight")
    assert browser.value(f"{APP}.focus") != first >= 0
    assert browser.value(f"{APP}.map.x[{APP}.focus] > {APP}.map.x[{first}]")
    browser.key("Enter")
    assert browser.value(f"{APP}.pins.length") == 1
    browser.key("ArrowRight")
    browser.key("Enter")
    browser.until(f"{APP}.pins.length === 2 && !{APP}.walkButton.disabled")
    browser.key("w")
    browser.until(f"{APP}.steps")
    middle = browser.value(f"{APP}.map.view.x")
    browser.key("ArrowRight", shift=True)
    assert browser.value(f"{APP}.map.view.x") > middle
    browser.key("0")
    browser.key("2")
    for key in ("ArrowLeft", " ", *["ArrowRight"] * 20, " ", *["ArrowUp"] * 20, " ", "ArrowLeft", "Enter"):
        browser.key(key)
    assert browser.value(f"{APP}.picked.length") > 0
    browser.key("3")
    browser.key("ArrowUp")
    browser.until(f"{APP}.probe?.cells")
    browser.key("l")
    assert not browser.value(f"{APP}.straight.node.hidden")
    browser.key("l")
    browser.key("1")
    browser.key("Escape")
    browser.value(f"{APP}.scree.focus()")
    q, most = browser.value(f"[{APP}.model.components, {APP}.screeShares.length]")
    for key, wanted in (("ArrowRight", q + 1), ("ArrowLeft", q), ("Home", 1), ("End", most)):
        browser.key(key)
        browser.until(f"{APP}.model.components === {wanted} && !{APP}.lines.fit.busy && !{APP}.lines.linear.busy")
        assert browser.value(f"{APP}.scree.value") == str(wanted) == browser.value(f"{FIELDS}.components.value")
    for slider, key in (("fields.components", "ArrowLeft"), ("fields.width", "ArrowRight"), ("limit", "ArrowRight")):
        before = browser.value(f"{APP}.{slider}.value")
        browser.value(f"{APP}.{slider}.focus()")
        browser.key(key)
        assert browser.value(f"{APP}.{slider}.value") != before
        browser.until(f"!{APP}.lines.fit.busy && !{APP}.lines.novelty.busy")


def changed(browser, select, value):
    """Choose an option as a user does: the page hears of it by the event alone."""
    browser.value(
        f"(() => {{ const e = {APP}.{select}; e.value = '{value}'; "
        "e.dispatchEvent(new Event('input', { bubbles: true })) })()"
    )


def test_components_predictions_linear_pca_and_the_limit(browser, tanks):
    """Two components of one's choice, colours by cluster, what is said of a fit, and the alarm's limit by mouse."""
    browser.value(f"{APP}.limit.value = 7; {APP}.showAlarm()")
    for axis, value in enumerate((2, 1)):
        changed(browser, f"axisSelects[{axis}]", value)
    browser.until(f"{APP}.model.axes.join() === '2,1' && !{APP}.lines.map.busy")
    assert browser.value(f"{APP}.limit.value") == "7"  # the model is the same
    assert browser.value(f"{APP}.screeShares.length") > 10
    view = current(browser, tanks)
    assert browser.value(f"Array.from({APP}.map.x)") == view.Y[:, 2].astype(np.float32).tolist()
    assert browser.value(f"{APP}.map.name.textContent").startswith("component 3 (")
    facts = browser.value(f"{APP}.facts.textContent + {APP}.status.textContent")
    assert all(word in facts for word in ("Kernel", "Holds", "Linear PCA", "pass", "anchor", "Fitted in"))

    waiting = refitted(browser)
    next(waiting)
    browser.value(f"{FIELDS}.components.value = {FIELDS}.clusters.value = 2; {FIELDS}.kernel.value = 'rbf'")
    changed(browser, "fields.model", "mixture")
    list(waiting)
    assert browser.value(f"!{FIELDS}.clusters.parentElement.hidden")
    changed(browser, "colourBy", "prediction")
    browser.until(f"!{APP}.lines.colour.busy && {APP}.words?.length > 1")
    view = current(browser, tanks)
    assert browser.value(f"Array.from({APP}.values, (v) => {APP}.words[v])") == [str(c) for c in view.predicted]
    waiting = refitted(browser)
    next(waiting)
    changed(browser, "fields.model", "kpca")
    list(waiting)
    assert browser.value(f"{APP}.colourBy.value") == "none"  # there are no clusters any more
    assert browser.value(f"{APP}.axes") == [0, 1]  # the third component is gone

    browser.until(f"!{APP}.lines.novelty.busy && !{APP}.lines.linear.busy")
    click(browser, f"{APP}.linearButton")
    view = current(browser, tanks)
    straight = view.linear.transform(view.rows)[:, 0].astype(np.float32)
    assert browser.value(f"Array.from({APP}.straight.x)") == straight.tolist()
    assert browser.value(f"{APP}.straight.over.getBoundingClientRect().width") > 200
    click(browser, f"{APP}.linearButton")

    left, top, wide, high = box_of(browser, f"{APP}.limit.previousElementSibling")
    browser.mouse((left + 4, top + high / 2), (left + wide / 2, top + high / 2))
    limit, flagged = browser.value(f"[{APP}.alarm.limits, {APP}.alarm.flagged].map((a) => a[{APP}.limit.value])")
    assert flagged == np.sum(view.novelty > limit) > 0
    assert f"flags {flagged} rows" in browser.value(f"{APP}.alarmText.textContent")
    browser.value(f"{APP}.flagButton.focus()")
    browser.key("Enter")
    assert browser.value(f"{APP}.picked.length") == flagged
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=True)
    waiting = refitted(browser)
    next(waiting)
    tap(browser, f"{APP}.scree.previousElementSibling.firstChild")
    list(waiting)
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=False)
    assert browser.value(f"{APP}.model.components") == int(browser.value(f"{FIELDS}.components.value"))
    browser.key("Escape")


def box_of(browser, expression):
    """The box of an element in the window, scrolled into view: left, top, width, height."""
    return browser.value(
        f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}}); "
        "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height] })()"
    )


def tap(browser, expression):
    x, y, wide, high = box_of(browser, expression)
    browser.touch([(x + wide / 2, y + high / 2)])
    time.sleep(0.1)
    browser.touch([(x + wide / 2, y + high / 2)])  # the first tap after a fast drag ends its momentum only


def test_touch(browser, tanks):
    """Tap, pan, pinch, lasso, back, walk, width, limit: by fingers alone."""
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.key("Escape")
    browser.key("0")
    browser.until(f"!{APP}.map.drawn")
    row = lonely(browser)
    x, y = where = place(browser, row)
    browser.touch([where])
    browser.until(f"{APP}.pins.includes({row})")
    scale = browser.value(f"{APP}.map.view.scale")
    browser.touch([(x - 20, y), (x - 40, y), (x - 80, y)], [(x + 20, y), (x + 40, y), (x + 80, y)])
    browser.until(f"{APP}.map.view.scale > {scale * 1.5}")
    before = browser.value(f"{APP}.map.view.x")
    left, top, wide, high = box_of(browser, f"{APP}.map.over")
    browser.touch([(left + wide / 2 + 10 * k, top + 60) for k in range(6)])
    browser.until(f"{APP}.map.view.x < {before}")
    browser.key("0")
    browser.until(f"!{APP}.map.moved")
    browser.touch([place(browser, 0)])
    browser.until(f"{APP}.pins.length === 2 && !{APP}.walkButton.disabled")
    tap(browser, f"{APP}.walkButton")
    browser.until(f"{APP}.steps && Number({APP}.walkSlider.value) > 2")

    tap(browser, f"{APP}.tools.children[1]")
    corners = [
        (left + 5, top + 5),
        (left + wide - 5, top + 5),
        (left + wide - 5, top + high - 5),
        (left + 5, top + high - 5),
    ]
    browser.touch(corners)
    browser.until(f"{APP}.picked.length === 200")
    tap(browser, f"{APP}.tools.children[2]")
    browser.touch([(left + wide / 2, top + high / 2), (left + wide / 2 + 20, top + high / 2 + 20)])
    browser.until(f"{APP}.probe?.cells")

    a, b, c, d = box_of(browser, f"{APP}.limit.previousElementSibling")
    browser.touch([(a + 4, b + d / 2), (a + c / 3, b + d / 2), (a + c / 2, b + d / 2), (a + c * 0.8, b + d / 2)])
    flagged = browser.value(f"{APP}.alarm.flagged[Number({APP}.limit.value)]")
    assert 30 < flagged < 120  # four fifths of a logarithmic axis
    before, (a, b, c, d) = browser.value(f"{APP}.model.model"), box_of(browser, f"{FIELDS}.width")
    browser.touch([(a + c / 2, b + d / 2), (a + c * 0.6, b + d / 2), (a + c * 0.7, b + d / 2)])
    browser.until(f"{APP}.model.model !== '{before}' && !{APP}.lines.fit.busy")
    assert browser.value(f"{APP}.settings().width") > 2
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=False)
    tap_free = f"{APP}.setTool('look'); {APP}.clear(); {FIELDS}.width.value = 0; {APP}.refit()"
    browser.value(tap_free)
    browser.until(f"!{APP}.lines.fit.busy")


def press(browser, expression):
    """Focus a control, and press it as the keyboard does."""
    browser.value(f"{expression}.focus()")
    browser.key("Enter")


def touch(browser, expression):
    """One tap."""
    x, y, wide, high = box_of(browser, expression)
    browser.touch([(x + wide / 2, y + high / 2)])


@pytest.mark.parametrize("use", [click, touch, press])
def test_every_button_by_mouse_by_touch_and_by_keyboard(browser, shown, tmp_path, use):
    """The tools, linear PCA, pictures, "show these", rows, model, the lines of the recipe, unpin, and scaling."""
    shown(digits())
    browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=use is touch)
    for tool, button in (("lasso", 1), ("back", 2), ("look", 0)):
        use(browser, f"{APP}.tools.children[{button}]")
        browser.until(f"{APP}.tool === '{tool}'")
    use(browser, f"{APP}.linearButton")
    browser.until(f"!{APP}.straight.node.hidden")
    use(browser, f"{APP}.pictureButton")
    browser.until(f"{APP}.thumbnails")
    use(browser, f"{APP}.flagButton")
    browser.until(f"{APP}.picked.length > 0")
    for button, name in (("rows", "rows.csv"), ("model", "model.mercer")):
        use(browser, f"{APP}.{button}Button")
        browser.until(f"{APP}.status.textContent === '{name} is among your downloads.'")
    for tab, text in ((1, "# The rows come from no file"), (0, "from sklearn.datasets import load_digits")):
        use(browser, f"{APP}.recipeTabs.children[{tab}]")
        browser.until(f"{APP}.recipe.textContent.startsWith('{text}')")
    browser.value(f"{APP}.pin(0)")
    browser.until(f"!{APP}.walkBox.hidden")
    use(browser, f"{APP}.walkBox.querySelectorAll('button')[1]")
    browser.until(f"{APP}.pins.length === 0")
    waiting = refitted(browser)
    next(waiting)
    before = browser.value(f"{FIELDS}.scale.checked")
    use(browser, f"{FIELDS}.scale")
    if use is press:
        browser.key(" ")  # a check box has no use for Enter
    list(waiting)
    assert browser.value(f"{APP}.model.settings.scale") != before
    browser.ask("Emulation.setTouchEmulationEnabled", enabled=False)


def test_lists_by_keyboard_sliders_by_mouse_and_zoom_by_keys(browser, tanks, shown):
    """Model, kernel, component and colour by the arrow keys of a list; width and walk by a dragged mouse."""
    explorer, _ = shown(hostile())
    for name, value in (("kernel", "laplacian"), ("model", "sparse")):
        waiting = refitted(browser)
        next(waiting)
        browser.value(f"{FIELDS}.{name}.focus()")
        browser.key("ArrowDown")
        list(waiting)
        assert browser.value(f"{APP}.model.settings.{name}") == value
    browser.value(f"{APP}.vertical.focus()")
    browser.key("ArrowDown")
    browser.until(f"{APP}.model.axes.join() === '0,2' && !{APP}.lines.map.busy")
    browser.value(f"{APP}.colourBy.focus(); {APP}.colourBy.value = 'none'")
    browser.key("ArrowDown")
    browser.until(f"{APP}.colourBy.value === 'novelty' && !{APP}.lines.colour.busy && {APP}.values.length === 150")
    view = current(browser, explorer)
    assert browser.value(f"Array.from({APP}.values)") == view.novelty.astype(np.float32).tolist()

    waiting = refitted(browser)
    next(waiting)
    left, top, wide, high = box_of(browser, f"{FIELDS}.width")
    browser.mouse((left + wide / 2, top + high / 2), (left + wide * 0.7, top + high / 2))
    list(waiting)
    assert browser.value(f"{APP}.model.settings.width") > 2
    for row in (0, 1):
        browser.value(f"{APP}.pin({row})")
    browser.until(f"!{APP}.walkButton.disabled")
    click(browser, f"{APP}.walkButton")
    browser.until(f"{APP}.steps && Number({APP}.walkSlider.value) === {APP}.steps.length - 1")
    left, top, wide, high = box_of(browser, f"{APP}.walkSlider")
    browser.mouse((left + wide - 8, top + high / 2), (left + wide / 2, top + high / 2))
    browser.until(f"{SHOWN}.textContent.includes('Step 12 of 24') || {SHOWN}.textContent.includes('Step 13 of 24')")
    browser.key("ArrowLeft")
    browser.until(f"Number({APP}.walkSlider.value) < 12")
    for key, larger in (("+", True), ("-", False)):
        scale = browser.value(f"{APP}.map.over.focus(), {APP}.map.view.scale")
        browser.key(key)
        assert (browser.value(f"{APP}.map.view.scale") > scale) == larger
    browser.key("Escape")
    assert browser.value(f"{APP}.pins.length") == 0


def test_pictures(browser, shown):
    explorer, _ = shown(digits())
    browser.until(f"{APP}.info.image")
    browser.point(*place(browser, 0))
    browser.until(f"{APP}.hovered >= 0 && {APP}.told.get({APP}.hovered)")
    assert browser.value("document.querySelectorAll('figure canvas').length") >= 1
    browser.key("i")
    browser.until(f"{APP}.thumbnails?.length > 20")
    view = current(browser, explorer)
    assert view.X.shape == (1797, 64)
    browser.key("3")
    x, y = place(browser, 0)
    browser.mouse((x, y), (x + 30, y + 20))
    browser.until(f"{APP}.probe?.cells && {APP}.probe.found[0] === {APP}.probe.at[0]")
    cells = view.back(view.point((0, 1), browser.value(f"{APP}.probe.at"), browser.value(f"{APP}.probe.row")))[0]
    assert browser.value(f"{APP}.probe.cells") == cells
    assert browser.value(f"[{APP}.map.lens.firstChild.width, {APP}.map.lens.firstChild.height]") == [8, 8]
    waiting = refitted(browser)
    next(waiting)
    browser.value(f"{FIELDS}.width.value = 0.5; {APP}.refit()")
    list(waiting)
    browser.until(f"!{APP}.map.drawn")  # the glide has ended
    browser.key("1")


@pytest.mark.parametrize("layout", [{}, {"scheme": "dark"}, {"width": 390, "height": 844}])
def test_hostile_names_stay_text_and_nothing_leaves_the_machine(browser, shown, layout):
    explorer, events = shown(hostile(), **layout)
    browser.point(*place(browser, 3))
    browser.until(f"{APP}.told.size > 0")
    browser.value(f"{APP}.colourBy.value = 'column 0'; {APP}.recolour()")
    browser.until(f"!{APP}.lines.colour.busy")
    assert complaints(browser.events) == []
    assert all(address.startswith(explorer.guard.origin) for address in requests(browser.events))
    assert browser.value("document.querySelectorAll('img, iframe, object, [onerror], [onload]').length") == 0
    assert browser.value("document.title") == "mercer explore"
    assert all(name in browser.value("document.body.textContent") for name in HOSTILE)
    assert browser.overflow() <= 0
    assert browser.value("location.search") == ""
    assert events


def test_accessible_names_and_contrast(browser, tanks, shown):
    """Every control has a name; every text has a contrast of 4.5 to 1 against what is behind it."""
    for scheme in ("light", "dark"):
        shown(hostile(), scheme=scheme)
        tree = browser.ask("Accessibility.getFullAXTree")["nodes"]
        controls = {"button", "slider", "combobox", "checkbox", "application"}
        named = [node for node in tree if node.get("role", {}).get("value") in controls and not node.get("ignored")]
        assert len(named) > 15
        assert all(node.get("name", {}).get("value") for node in named)
        assert browser.value(CONTRAST) >= 4.5  # AA for text


CONTRAST = """(() => {
  const lum = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 }); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  let least = 99;
  for (const e of document.querySelectorAll('.mx *')) {
    if (!e.offsetParent || e.disabled || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const ground = (node) => node ? getComputedStyle(node).backgroundColor : 'rgb(255, 255, 255)';
    let behind = e; while (behind && /, 0\\)$|transparent/.test(ground(behind))) behind = behind.parentElement;
    const [a, b] = [lum(getComputedStyle(e).color), lum(ground(behind))];
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return least })()"""


def test_the_policy_forbids_eval_and_foreign_code(browser, tanks, shown):
    shown(hostile())
    probe = "try { eval('1'); 'ran' } catch (e) { e.name }"
    found = browser.ask("Runtime.evaluate", expression=probe, returnByValue=True, allowUnsafeEvalBlockedByCSP=False)
    assert found["result"]["value"] == "EvalError"
    browser.value(
        "const s = document.createElement('script'); s.textContent = 'document.title = 1'; document.body.append(s)"
    )
    assert browser.value("document.title") == "mercer explore"


def test_a_foreign_page_gets_nothing(browser, tanks):
    """A page of another origin, open in the same browser with our cookie: fetch, form, frame and script all fail."""
    page = FOREIGN % {"target": tanks.guard.origin}

    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    models = len(tanks.session.views)
    browser.open(f"http://localhost:{server.server_port}/")
    browser.until("window.done === 3")
    assert json.loads(browser.value("JSON.stringify(window.found)")) == ["TypeError"] * 3
    assert browser.value("document.querySelector('iframe').contentDocument") is None
    assert len(tanks.session.views) == models
    server.shutdown()
    server.server_close()


FOREIGN = """<!doctype html><title>evil</title><iframe src="%(target)s/"></iframe><script>
window.found = []; window.done = 0;
const tell = (word) => { window.found.push(word); window.done += 1 };
(async () => {
  const post = { method: "POST", credentials: "include", body: "{}" };
  const headers = { "Content-Type": "application/json", "X-Mercer-Token": "a" };
  await fetch("%(target)s/api/open", { ...post, headers })
    .then(() => tell("read"), (e) => tell(e.name));
  await fetch("%(target)s/api/open", { ...post, mode: "no-cors" }).then((r) => tell(r.type), (e) => tell(e.name));
  await import("%(target)s/explorer.js").then(() => tell("ran"), (e) => tell(e.name));
})();
</script>"""


def test_the_recorded_tour_needs_no_server(browser, tmp_path, monkeypatch):
    """The page of the documentation, opened as a file: each step runs, and visitors may drag and move the width."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "docs" / "tour")
    record = pytest.importorskip("record", reason="the tour is in the source tree only")
    monkeypatch.setattr(record, "ROWS", 60)
    monkeypatch.setattr(record, "GRIDS", (4, 3))
    record.write(tmp_path / "tour.html")
    browser.show(1200, 760)
    browser.open((tmp_path / "tour.html").as_uri())
    browser.until("window.tour?.app.alarm")
    for step in range(browser.value("tour.steps.length")):
        browser.value(f"tour.show({step})")
        browser.until(f"document.querySelector('.tour p').textContent.startsWith('{step + 1} of')")
        browser.until("!Object.values(tour.app.lines).some((line) => line.busy)")
    for width in (1200, 800, 390):  # in the documentation's frame, it is as wide as the page's text
        browser.show(width, 760)
        browser.until(f"innerWidth === {width}")
        assert browser.value(UNDERNEATH) <= 0
        assert browser.overflow() <= 0
        browser.value("scrollTo(0, 500)")
        assert browser.value("document.querySelector('.tour').getBoundingClientRect().top") == 0
    browser.show(1200, 760)
    browser.value("tour.app.fields.kernel.value = 'linear'; tour.app.refit()")
    browser.until("tour.app.errorText.textContent.includes('This is a recording')")
    assert requests(browser.events) == [(tmp_path / "tour.html").as_uri()]
    assert complaints(browser.events) == []


# by how many pixels the map and the line below it reach into the cards that stand under them
UNDERNEATH = """(() => { const box = (s) => document.querySelector(s).getBoundingClientRect();
  const stage = box('.stage'), parts = ['.bar', '.plots', '.under'].map((s) => box('.stage ' + s).bottom);
  const isUnder = (card) => card.left < stage.right && card.right > stage.left;
  const under = ['.side.fit', '.side.row'].map(box).filter(isUnder);
  return Math.max(...parts) - Math.min(stage.bottom, ...under.map((card) => card.top)) })()"""


def test_nothing_moves_while_the_page_is_filled(browser, shown):
    """The cumulative layout shift stays below a hundredth; 0.1 is what browsers call good."""
    for layout in ({}, {"width": 390, "height": 844}):
        shown(digits(), **layout)
        browser.value(SHIFTS)
        browser.until("window.shifted !== undefined")
        assert browser.value("window.shifted") < 0.01


SHIFTS = """new PerformanceObserver((list) => {
  window.shifted = 0;
  for (const entry of list.getEntries()) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
setTimeout(() => { window.shifted ??= 0 }, 300)"""


def test_rows_and_models_are_saved_where_the_browser_saves(browser, tanks, shown, tmp_path):
    """By real clicks: the CSV has the selected rows, the model file transforms as the model that is shown."""
    explorer, _ = shown(hostile())
    browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    click(browser, f"{APP}.flagButton")
    rows = browser.value(f"{APP}.picked")
    click(browser, f"{APP}.rowsButton")
    browser.until(f"{APP}.status.textContent.includes('rows.csv')")
    click(browser, f"{APP}.modelButton")
    browser.until(f"{APP}.status.textContent.includes('model.mercer')")
    end = time.monotonic() + PATIENCE
    while sorted(path.name for path in tmp_path.iterdir()) != ["model.mercer", "rows.csv"]:
        assert time.monotonic() < end, list(tmp_path.iterdir())
        time.sleep(0.05)
    view = current(browser, explorer)
    assert np.all(read(tmp_path / "model.mercer").model.transform(view.X) == view.Y)
    lines = list(csv.DictReader((tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()))
    assert [int(line["row"]) for line in lines] == rows
    assert [float(line["component 1"]) for line in lines] == view.Y[rows, 0].tolist()


def test_of_waiting_requests_only_the_newest_is_sent_and_reduced_motion_is_respected(browser, shown):
    """A slider that is dragged does not queue a fit for each of its places."""
    shown(hostile())
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    before = browser.value(f"{APP}.model.model")
    browser.value(
        f"(() => {{ const app = {APP}, ask = app.link.ask; app.sent = []; app.link.ask = (kind, body) => {{ "
        "if (kind === 'fit') app.sent.push(body.settings.width); return ask(kind, body); }; "
        "for (const value of [0.5, 0.75, 1]) { app.fields.width.value = value; app.refit(); } })()"
    )
    browser.until(f"{APP}.model.model !== '{before}' && !{APP}.lines.fit.busy")
    assert np.allclose(browser.value(f"{APP}.sent"), [10**0.5, 10])
    assert browser.value(f"{APP}.model.settings.width") == 10
    assert browser.value(f"{APP}.map.drawn") is None  # no step of a glide
    browser.ask("Emulation.setEmulatedMedia", features=[])


def test_the_page_waits_for_the_table_and_then_shows_it_or_why_not(browser):
    """Nothing can be pressed while the table is read, nothing moves when it is there, and a failure says why."""
    go = threading.Event()

    def load():
        assert go.wait(PATIENCE)
        return Session(digits())

    def fail():
        assert go.wait(PATIENCE)
        raise ValueError("bad.csv: line 3 has 4 fields.")

    for make in (load, fail):
        go.clear()
        explorer, failures = Explorer(make), []
        thread = threading.Thread(target=run, args=(explorer, failures))
        thread.start()
        browser.show()
        events = browser.open(explorer.url)
        browser.until(f"{APP}?.status.textContent === 'Reading the table …'")
        assert browser.value(f"{APP}.body.inert")
        for key in ("l", "3", "ArrowLeft", "w"):
            browser.key(key)
        go.set()
        if make is load:
            browser.until(READY)
            assert not browser.value(f"{APP}.body.inert || {APP}.unready.some((part) => part.inert)")
            browser.value(SHIFTS)
            browser.until("window.shifted !== undefined")
            assert browser.value("window.shifted") < 0.01
            assert complaints(events + browser.events) == []
            explorer.stop()
        else:
            browser.until(f"{APP}.status.textContent === 'Not connected'")
            text = browser.value(f"{APP}.errorText.textContent")
            assert text == f"The table cannot be shown. bad.csv: line 3 has 4 fields. {OVER}"
        thread.join(PATIENCE)
        assert [str(error) for error in failures] == ([] if make is load else ["bad.csv: line 3 has 4 fields."])


def run(explorer, failures):
    try:
        explorer.run()
    except ValueError as error:
        failures.append(error)


def test_a_fit_that_fails_or_is_stopped_leaves_the_model_before(browser, shown, monkeypatch):
    """The page says why in words, its controls go back to the model that it shows, and the next fit works."""
    shown(hostile())
    before = browser.value(f"{APP}.model.model")

    def failing(session, body):
        raise ValueError("The kernel matrix is not finite. Scale the columns.")

    def endless(session, body):
        while True:
            time.sleep(0.01)

    fit = Session.fit
    for work, text in ((failing, "The fit failed. The kernel matrix"), (endless, "The computation was stopped.")):
        monkeypatch.setattr(Session, "fit", work)
        browser.value(f"{FIELDS}.width.value = 1; {APP}.refit()")
        if work is endless:
            browser.until(f"!{APP}.stopButton.hidden && !{APP}.progress.hidden")
            click(browser, f"{APP}.stopButton")
        browser.until(f"!{APP}.error.hidden && !{APP}.lines.fit.busy")
        assert browser.value(f"{APP}.errorText.textContent").startswith(text)
        assert browser.value(f"{APP}.status.textContent") == "The model before is still shown."
        assert browser.value(f"[{APP}.model.model, {APP}.settings().width]") == [before, 1]
        click(browser, f"{APP}.error.querySelector('button')")
        assert browser.value(f"{APP}.error.hidden")
    monkeypatch.setattr(Session, "fit", fit)
    waiting = refitted(browser)
    next(waiting)
    browser.value(f"{FIELDS}.width.value = 1; {APP}.refit()")
    list(waiting)
    assert browser.value(f"{APP}.model.settings.width") == 10
    browser.until(f"{APP}.stopButton.hidden")


def test_a_stopped_server_and_a_bad_file_are_told(browser, shown):
    explorer, _ = shown(hostile())
    browser.value(f"{APP}.openFile(new File(['a,b\\nx,y\\n'], 'bad.csv'))")
    browser.until(f"!{APP}.error.hidden")
    assert "This file cannot be opened" in browser.value(f"{APP}.errorText.textContent")
    text = "a,b\\n" + "".join(f"{i},{i * i}\\n" for i in range(30))
    browser.value(f"{APP}.openFile(new File(['{text}'], 'good.csv'))")
    browser.until(f"{APP}.info.rows === 30 && {APP}.map.x.length === 30")
    explorer.stop()
    browser.until(f"{APP}.errorText.textContent.includes('server has stopped')")
    assert explorer.socket.fileno() == -1 or explorer.server.should_exit
