"""Latencies and frame rates of the explorer, measured in Chromium: ``python benchmarks/explorer.py --rows 2000,20000``.

Refit: from the request to the map's numbers in the page. First paint: from there to the drawn map. Back: from a point
of the map to its pre-image in the page. Frames: pans of the whole map for two seconds.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import chromium
from chromium import PROGRAM, Chromium

from mercer.app.explore.data import of_rows
from mercer.app.explore.server import Explorer
from mercer.app.explore.session import Session

ROWS = (2_000, 20_000, 100_000)
COLUMNS = 20
APP = "document.getElementById('explorer').explorer"
REPEATS = 5  # of a fit, each with another width
POINTS = 60  # of a drag
PATIENCE = 120  # seconds
BARS = {  # of the design, on two cores
    "refit s": {2_000: 0.5, 100_000: 1.5},
    "back p95 ms": {2_000: 50.0},
    "paint s": dict.fromkeys(ROWS, 1.0),
    "frames/s": {100_000: 20.0},
}
MEASURE = """(async () => {
  const app = %(app)s, found = { refit: [], paint: [], back: [], frames: 0 };
  for (let k = 0; k < %(repeats)d; k++) {
    const settings = { ...app.settings(), width: 0.5 + 0.25 * k };
    const begin = performance.now();
    const answer = await app.link.ask("fit", { settings, axes: [0, 1] });
    const got = performance.now();
    app.map.setPoints(answer.arrays[0], answer.arrays[1], false);
    found.refit.push((got - begin) / 1000);
    found.paint.push((performance.now() - got) / 1000);
    app.model = answer;
  }
  const n = app.map.x.length;
  for (let k = 0; k < %(points)d; k++) {
    const [i, j, t] = [17, n - 5, k / %(points)d];
    const at = [app.map.x[i] + (app.map.x[j] - app.map.x[i]) * t, app.map.y[i] + (app.map.y[j] - app.map.y[i]) * t];
    const begin = performance.now();
    await app.link.ask("back", { model: app.model.model, axes: [0, 1], at });
    found.back.push(performance.now() - begin);
  }
  const begin = performance.now();
  while (performance.now() - begin < 2000) {
    app.map.view.x += 1 / app.map.view.scale;
    app.map.draw();
    found.frames += 1;
    await new Promise(requestAnimationFrame);
  }
  found.frames /= (performance.now() - begin) / 1000;
  return JSON.stringify(found);
})()"""


def rows(n):
    """Rows near a curved sheet of three dimensions, a tenth of noise."""
    rng = np.random.default_rng(0)
    X = np.tanh(rng.normal(size=(n, 3)) @ rng.normal(size=(3, COLUMNS)))
    return X + 0.1 * rng.normal(size=X.shape)


def measured(browser, n):
    """The figures of one table."""
    explorer = Explorer(Session(of_rows(rows(n))))
    thread = explorer.start()
    browser.show(1280, 800)
    browser.open(explorer.url)
    browser.until(f"{APP}?.alarm && {APP}.straightShares && !{APP}.lines.scree.busy", PATIENCE)
    expression = MEASURE % {"app": APP, "repeats": REPEATS, "points": POINTS}
    answer = browser.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
    found = json.loads(answer["result"]["value"])
    explorer.stop()
    thread.join(10)
    return {
        "refit s": float(np.median(found["refit"])),
        "paint s": float(np.median(found["paint"])),
        "back p50 ms": float(np.median(found["back"])),
        "back p95 ms": float(np.quantile(found["back"], 0.95)),
        "frames/s": found["frames"],
    }


def main():
    """Print one line for each number of rows, with the bar behind each figure that has one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="numbers of rows, separated by commas")
    chosen = [int(n) for n in parser.parse_args().rows.split(",")]
    if PROGRAM is None:
        raise SystemExit("There is no Chromium: apt install chromium")
    chromium.PATIENCE = PATIENCE
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {COLUMNS} columns")
    with tempfile.TemporaryDirectory() as folder, Chromium(folder) as browser:
        for n in chosen:
            found = measured(browser, n)
            cells = [f"{name} {value:.3g}" + _bar(name, n) for name, value in found.items()]
            print(f"{n:>7} rows: " + ", ".join(cells), flush=True)


def _bar(name, n):
    bar = BARS.get(name, {}).get(n)
    return "" if bar is None else f" (bar {bar:g})"


if __name__ == "__main__":
    main()
