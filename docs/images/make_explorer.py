"""Take the pictures of the explorer in the documentation: ``python docs/images/make_explorer.py``; needs Chromium."""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from chromium import Chromium
from serving import start

from mercer.app.explore.data import digits
from mercer.app.explore.server import Explorer
from mercer.app.explore.session import Session

HERE = Path(__file__).parent
APP = "document.getElementById('explorer').explorer"
PAIR = (5, 0)  # two rows: a five and a zero
SETTLED = 0.8  # seconds after which nothing moves any more


def place(browser, row):
    """Where a row is in the window."""
    return browser.value(
        f"(() => {{ const m = {APP}.map, b = m.over.getBoundingClientRect(); const [x, y] = m.toScreen(m.x[{row}], "
        f"m.y[{row}]); return [x + b.left, y + b.top] }})()"
    )


def take(browser, name):
    """Write what the window shows."""
    time.sleep(SETTLED)
    (HERE / f"explorer-{name}.png").write_bytes(browser.picture(whole=False))


def main():
    """Show the digits, and take three pictures: a walk, the way back, and a phone."""
    explorer = Explorer(lambda: Session(digits()))
    start(explorer)
    with tempfile.TemporaryDirectory() as folder, Chromium(folder) as browser:
        browser.show(1280, 800)
        browser.open(explorer.url)
        browser.until(f"{APP}?.alarm && {APP}.straightShares && {APP}.screeShares.length > 10")
        for row in PAIR:
            browser.mouse(place(browser, row))
        browser.until(f"!{APP}.walkButton.disabled")
        browser.value(f"{APP}.walkButton.click()")
        browser.until(f"{APP}.steps && Number({APP}.walkSlider.value) === {APP}.steps.length - 1")
        browser.value(f"clearInterval({APP}.playing); {APP}.walkSlider.value = 12; {APP}.hover(-1); {APP}.show()")
        take(browser, "walk")
        browser.show(1280, 800, scheme="dark")
        browser.key("Escape")
        browser.key("l")
        browser.key("i")
        browser.key("3")
        x, y = place(browser, PAIR[0])
        browser.mouse((x, y), (x - 30, y + 40))
        browser.until(f"{APP}.probe?.cells && {APP}.thumbnails")
        take(browser, "back")
        browser.key("1")
        browser.key("l")
        browser.show(390, 844)
        browser.mouse(place(browser, PAIR[1]))
        browser.until(f"{APP}.pins.length === 1")
        take(browser, "phone")
    explorer.stop()


if __name__ == "__main__":
    main()
