"""How fast the default monitor is, and what a smaller one loses.

    MERCER_DATA=… python benchmarks/monitor_speed.py [--seeds 2] [--only wine glass]

Times: 1000 normal rows of 20 columns to fit on, 20,000 rows to score, CPU seconds on one thread, the best of three.
Losses: AUROC and AP on the tables of ``anomalies.py``, fitted on at most 1000 normal rows, and false alarms at α = 1 %.
Rows are those of a table, by the default number of landmarks and by 200, or are treated as rows in time (whose models
have few anchors anyway).
"""

import argparse
import warnings
from time import process_time

import numpy as np
from anomalies import names, quality, read, split

from mercer import KernelPCAMonitor

FIT_ROWS, COLUMNS, SCORE_ROWS, REPEATS = 1000, 20, 20_000, 3
SMALL = 200


def usual(X, seed):
    return KernelPCAMonitor(in_time=False, random_state=seed).fit(X)


def small(X, seed):
    return KernelPCAMonitor(in_time=False, n_landmarks=SMALL, random_state=seed).fit(X)


def process(X, seed):
    return KernelPCAMonitor(in_time=True, random_state=seed).fit(X)


SIZES = {"default": usual, "200 landmarks": small, "in time": process}


def times():
    """Print CPU seconds to fit and rows scored in a CPU second."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(FIT_ROWS, COLUMNS)), rng.normal(size=(SCORE_ROWS, COLUMNS))
    print(f"\n{FIT_ROWS} rows × {COLUMNS} columns\n\n| monitor | CPU s to fit | rows scored a second |\n|---|---|---|")
    for name, fit in SIZES.items():
        fits, scores = [], []
        for _ in range(REPEATS):
            start = process_time()
            monitor = fit(X, 0)
            middle = process_time()
            monitor.score_samples(new)
            fits.append(middle - start)
            scores.append(process_time() - middle)
        print(f"| {name} | {min(fits):.2f} | {SCORE_ROWS / min(scores):,.0f} |", flush=True)


def losses(tables, seeds):
    """Print AUROC, AP and false alarms, means over tables and seeds."""
    found = {name: [] for name in SIZES}
    for table in tables:
        X, y = read(table)
        for seed in range(seeds):
            train, test, labels = split(X, y, seed, FIT_ROWS, "normal")
            for name, fit in SIZES.items():
                monitor = fit(train, seed)
                alarms = monitor.predict(test[labels == 0]) < 0
                found[name].append((*quality(labels, -monitor.score_samples(test)), alarms.mean()))
    print(f"\n{len(tables)} tables, {seeds} seeds\n\n| monitor | AUROC | AP | false alarms |\n|---|---|---|---|")
    for name, rows in found.items():
        auroc, ap, alarms = np.mean(rows, axis=0)
        print(f"| {name} | {auroc:.3f} | {ap:.3f} | {alarms:.2%} |")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    times()
    losses(names() if options.only is None else options.only, options.seeds)


if __name__ == "__main__":
    main()
