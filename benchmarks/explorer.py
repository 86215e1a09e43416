"""Latencies and frame rates of the explorer, measured in Chromium: ``python benchmarks/explorer.py``.

Start (``--start``): from the command to its address and to the drawn map, in a browser that is open, with the CPU time
of the command by then: on digits, a table of 178 wines and a model file of it, or on the arguments ``--start`` names.
Refit: from the request to the map's numbers in the page. First paint: from there to the drawn map. Back: from a point
of the map to its pre-image in the page. Frames: pans of the whole map for two seconds.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import chromium
from chromium import PROGRAM, Chromium
from results import Results
from serving import start

from mercer.app.explore.data import of_rows
from mercer.app.explore.server import Explorer
from mercer.app.explore.session import Session

ROWS = (2_000, 20_000, 100_000)
COLUMNS = 20
APP = "document.getElementById('explorer').explorer"
REPEATS = 5  # of a fit, each with another width
POINTS = 60  # of a drag
PATIENCE = 120  # seconds
STARTS = 5  # of the command, of which the median is taken
BARS = {  # of the design, on two cores
    "refit s": {2_000: 0.5, 100_000: 1.5},
    "back p95 ms": {2_000: 50.0},
    "paint s": dict.fromkeys(ROWS, 1.0),
    "frames/s": {100_000: 20.0},
}
MAP_SECONDS = 2.0  # from the command to the map
DRAWN = """setInterval(() => {
  if (document.getElementById("explorer")?.explorer?.model) window.drawn ??= Date.now();
}, 5)"""
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
    explorer = Explorer(lambda: Session(of_rows(rows(n))))
    thread = start(explorer)
    browser.show(1280, 800)
    browser.open(explorer.url)
    browser.until(f"{APP}?.alarm && {APP}.straightShares && !{APP}.lines.linear.busy", PATIENCE)
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


def started(browser, arguments):
    """The wall and CPU seconds of ``mercer explore`` until its address and until its map: medians.

    The first start is not measured: it stores bytecode where the installation left that to the first import.
    """
    found = [_start(browser, arguments) for _ in range(1 + STARTS)][1:]
    return {name: float(np.median([times[name] for times in found])) for name in found[0]}


def _start(browser, arguments):
    command = [sys.executable, "-m", "mercer", "explore", *arguments, "--no-browser"]
    begin = time.time()
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}  # else every import would compile its source
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    address = process.stdout.readline().strip()
    found = {"address s": time.time() - begin, "address CPU s": _cpu(process)}
    browser.ask("Page.navigate", url=address)
    browser.until("window.drawn", PATIENCE)
    found |= {"map CPU s": _cpu(process), "map s": browser.value("window.drawn") / 1000 - begin}
    process.terminate()
    process.wait()
    return found


def _cpu(process):
    """The CPU seconds of a process so far, from Linux's /proc."""
    user, system = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def ways(folder):
    """The ways to start: built-in digits, a table, a model file of it."""
    table, model = str(Path(folder) / "wine.csv"), str(Path(folder) / "wine.mercer")
    wine = load_wine()
    np.savetxt(table, wine.data, delimiter=",", header=",".join(wine.feature_names), comments="", fmt="%.6g")
    subprocess.run([sys.executable, "-m", "mercer", "fit", table, "-o", model], check=True, capture_output=True)
    return {"digits": [], "wine.csv": [table], "wine.mercer wine.csv": [model, table]}


def main():
    """Measure the starts and the tables, and show them in the documentation where all of them were measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", help="numbers of rows, separated by commas, and no starts")
    parser.add_argument("--start", nargs="?", const="", help="measure starts only; its value: arguments of the command")
    options = parser.parse_args()
    if PROGRAM is None:
        raise SystemExit("There is no Chromium: apt install chromium")
    chromium.PATIENCE = PATIENCE
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, {COLUMNS} columns")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Chromium(folder) as browser:
        counts = ROWS if options.rows is None else [int(n) for n in options.rows.split(",")]
        tables = {} if options.start is not None else {n: told(f"{n} rows", measured(browser, n), n) for n in counts}
        if options.rows is not None:
            return
        browser.ask("Page.addScriptToEvaluateOnNewDocument", source=DRAWN)
        commands = {options.start: shlex.split(options.start)} if options.start else ways(folder)
        starts = {name or "digits": told(name, started(browser, words)) for name, words in commands.items()}
    if tables:
        publish(tables, starts, load)


def told(name, figures, n=None):
    """Print the figures of one table or start as they are found, with their bars, and return them."""
    bars = {what: f" (bar {BARS[what][n]:g})" for what in figures if n in BARS.get(what, {})}
    print(
        f"{name}: " + ", ".join(f"{what} {value:.3g}{bars.get(what, '')}" for what, value in figures.items()),
        flush=True,
    )
    return figures


def publish(tables, starts, load):
    """Keep the figures in a file, and show them on the explorer's page."""
    kept = Results("explorer", again=True)
    for n, figures in tables.items():
        kept.once(lambda figures=figures: figures, n)
    for name, figures in starts.items():
        kept.once(lambda figures=figures: figures, name)
    lines = _table(f"{COLUMNS} columns", {f"{n:,} rows": of for n, of in tables.items()})
    lines += ["", *_table("from the command", starts), ""]
    lines += [
        f"Load average at the beginning: {load:.1f} on {os.cpu_count()} cores. Bar to the map: {MAP_SECONDS:g} s."
    ]
    kept.publish("explorer.md", lines)


def _table(first, rows):
    """Return the lines of a table: a name and its figures in each row."""
    names = list(next(iter(rows.values())))
    lines = [f"| {first} | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    return lines + [f"| {row} | " + " | ".join(f"{of[name]:.3g}" for name in names) + " |" for row, of in rows.items()]


if __name__ == "__main__":
    main()
