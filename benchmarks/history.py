"""Benchmarks over time: measure a few cases, append the numbers to ``history.csv`` and plot the whole file.

``make bench-history`` runs it, at least before each release. Times are CPU seconds of all threads, the least of several
runs: they depend little on what else the machine does, and are compared on one machine only.
"""

import csv
import datetime
import os
import subprocess
import sys
import warnings
from importlib.metadata import distribution
from pathlib import Path

from cases import find
from measure import in_fresh_process, interleaved, warm_up
from report import processor

import mercer

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
from sizes import MB, import_time  # noqa: E402

FILE, PICTURE = HERE / "history.csv", HERE / "history.svg"
CASES = ("few-1000-q10", "exact-5000", "landmarks-20000", "transform-float64")
REQUIREMENTS = ("numpy", "scipy", "scikit-learn", "click", "joblib", "threadpoolctl", "narwhals")
FIELDS = ("date", "commit", "version", "machine", "load", "measure", "unit", "value")
PANELS = 2  # side by side


def main():
    smoke = "--smoke" in sys.argv[1:]  # tiny sizes, and nothing is written: only shows that the script works
    rows = measured(smoke)
    for row in rows:
        print(f"{row['measure']}: {row['value']} {row['unit']}")
    if not smoke:
        append(FILE, rows)
        plot(FILE, PICTURE)


def measured(smoke):
    """One row for each number: times of the cases and of the imports, sizes of the installation."""
    load = os.getloadavg()[0]
    values = {name: ("CPU s", in_fresh_process(fastest, name, smoke)) for name in CASES}
    values["import mercer"] = "CPU s", import_time("mercer")
    values["from mercer import KernelPCA"] = "CPU s", import_time()
    values["size of mercer"] = "MB", size(HERE.parent.glob("src/mercer/**/*"))
    values["size with requirements"] = "MB", values["size of mercer"][1] + sum(map(installed, REQUIREMENTS))
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True)
    same = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%MZ"),
        "commit": commit.stdout.strip(),
        "version": mercer.__version__,
        "machine": processor(),
        "load": f"{load:.1f}",
    }
    return [same | {"measure": name, "unit": unit, "value": f"{value:.4g}"} for name, (unit, value) in values.items()]


def fastest(name, smoke):
    """The least CPU seconds of mercer in a case of ``CASES``."""
    case = find(name, smoke)
    X = case.data()
    warm_up([case.ours], X)
    with warnings.catch_warnings(action="ignore"):  # of few landmarks: the time is what counts here
        laps, _ = interleaved({case.ours.label: case.ours.ready(X)}, case.rounds, case.ours.label)
    return min(cpu for _, cpu in laps[case.ours.label])


def installed(name):
    """Megabytes of an installed package; 0 where this version of scikit-learn does not need it."""
    try:
        files = distribution(name).files or []
    except ModuleNotFoundError:
        return 0.0
    return size(Path(file.locate()) for file in files)


def size(paths):
    """Megabytes of files, without bytecode."""
    kept = [path for path in paths if path.is_file() and path.suffix != ".pyc"]
    return sum(path.stat().st_size for path in kept) / MB


def append(path, rows):
    """Add rows to the file, which begins with the names of the fields."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(rows)


def plot(path, picture):
    """Draw every measure in a panel of its own: a line for each machine, against the date."""
    from matplotlib.figure import Figure

    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    measures = dict.fromkeys((row["measure"], row["unit"]) for row in rows)
    figure = Figure(figsize=(10, 2.2 * -(-len(measures) // PANELS)), layout="constrained")  # inches
    axes = figure.subplots(-(-len(measures) // PANELS), PANELS, squeeze=False).ravel()
    for ax, (name, unit) in zip(axes, measures, strict=False):
        for machine in dict.fromkeys(row["machine"] for row in rows):
            chosen = [row for row in rows if (row["measure"], row["machine"]) == (name, machine)]
            dates = [datetime.datetime.fromisoformat(row["date"]) for row in chosen]
            ax.plot(dates, [float(row["value"]) for row in chosen], "o-", label=machine)
        ax.set(title=name, ylabel=unit, ylim=(0, None))
        ax.tick_params("x", rotation=30)
    axes[0].legend()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main()
