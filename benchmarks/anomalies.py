"""Abnormal rows in ten tables: the default monitor beside PyOD's KPCA and scikit-learn's detectors, all with defaults.

    MERCER_DATA=… python benchmarks/anomalies.py [--seeds 3] [--rows 2000] [--only shuttle http] [--large | --rules]

One protocol for all: the rows of a table are shuffled, a part of one half (2000 rows at most, because the Gram matrix
of a peer must fit) is fitted on without labels, abnormal rows among them; a part of the other half is scored. Tables
are given raw. Figures are means over seeds: the area under the ROC curve (AUROC) and average precision (AP). PyOD takes
part where it is installed. ``--large`` gives time and memory on whole tables of more than 100 000 rows, each in a
process of its own. ``--rules`` varies the numbers in the rules of the default estimator, one at a time, on other draws
than those of the table: they should not matter much.
"""

import argparse
import json
import resource
import subprocess
import sys
import warnings
from time import process_time

import numpy as np
from data import folder
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from mercer import KernelPCAMonitor
from mercer.monitor import default

TEST = 5000
RARE = 20  # abnormal rows that a test has at least, else it takes more rows
MOST_TEST = 10_000
TABLES = ["annthyroid", "celeba", "http", "mammography", "musk", "pendigits", "satimage2", "shuttle", "skin", "thyroid"]
VARIED = {"WIDTH": (0.03, 0.1, 0.3, 1.0), "SHARE": (0.9, 0.95, 0.98, 0.99), "THIN": (2, 3, 5, np.inf)}
OTHER_DRAWS = 100  # the seed from which on rules are varied
LARGE = ("celeba", "skin", "http")


def contenders(seed):
    """Name ↦ a function from rows to fit on to a function from rows to scores, the higher the more abnormal."""

    def sklearn(model):
        return lambda X: (fitted := model.fit(X)) and (lambda x: -fitted.score_samples(x))

    table = {
        "mercer": sklearn(KernelPCAMonitor(random_state=seed)),
        "IsolationForest": sklearn(IsolationForest(random_state=seed)),
        "OneClassSVM": sklearn(OneClassSVM()),
        "LocalOutlierFactor": sklearn(LocalOutlierFactor(novelty=True)),
    }
    try:
        from pyod.models.kpca import KPCA
    except ImportError:
        return table
    return table | {"PyOD KPCA": lambda X: KPCA(random_state=seed).fit(X).decision_function}


def read(name):
    with np.load(folder() / f"ad_{name}.npz", allow_pickle=False) as arrays:
        return arrays["X"].astype(float), arrays["y"]


def split(X, y, seed, rows):
    """Rows to fit on, rows to score and their labels."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[: len(X) // 2][:rows], order[len(X) // 2 :]
    few = y[test[:TEST]].sum() < RARE
    test = test[: MOST_TEST if few else TEST]
    return X[train], X[test], y[test]


def figures(name, seeds, rows):
    """Contender ↦ (AUROC, AP, seconds), means over seeds."""
    X, y = read(name)
    found = {}
    for seed in range(seeds):
        train, test, labels = split(X, y, seed, rows)
        for contender, fit in contenders(seed).items():
            start = process_time()
            scores = fit(train)(test)
            seconds = process_time() - start
            row = roc_auc_score(labels, scores), average_precision_score(labels, scores), seconds
            found.setdefault(contender, []).append(row)
    return {contender: np.mean(rows, axis=0) for contender, rows in found.items()}


def table(names, seeds, rows):
    """Print both figures for every table, and their means."""
    results = {}
    for name in names:
        results[name] = figures(name, seeds, rows)
        row = "  ".join(f"{c} {a:.3f}/{p:.3f} {t:.1f} s" for c, (a, p, t) in results[name].items())
        print(f"{name:<12} {row}", file=sys.stderr, flush=True)
    columns = list(next(iter(results.values())))
    for place, figure in enumerate(("AUROC", "AP", "CPU seconds to fit and score")):
        print(f"\n{figure}, {rows} rows to fit on, mean of {seeds} seeds\n\n| table | " + " | ".join(columns) + " |")
        print("|---" * (len(columns) + 1) + "|")
        digits = 1 if place == 2 else 3
        for name, row in results.items():
            print(f"| {name} | " + " | ".join(f"{row[c][place]:.{digits}f}" for c in columns) + " |")
        means = [np.mean([row[c][place] for row in results.values()]) for c in columns]
        print("| **mean** | " + " | ".join(f"**{mean:.{digits}f}**" for mean in means) + " |")


def one(name, contender):
    """Fit and score a whole table; print seconds of CPU, megabytes and the figures."""
    X, y = read(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = process_time()
    scores = contenders(0)[contender](X)(X)
    seconds, after = process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = seconds, (after - before) / 1024, roc_auc_score(y, scores), average_precision_score(y, scores)
    print(json.dumps(row))


def large(names, limit):
    """Print time and memory of whole tables."""
    print(
        "\n| table | rows × columns | contender | CPU seconds | MB beyond the data | AUROC | AP |\n" + "|---" * 7 + "|"
    )
    for name in names:
        X, _ = read(name)
        shape = f"{len(X):,} × {X.shape[1]}".replace(",", " ")
        gram = f"needs {2 * 8 * len(X) ** 2 / 1e9:,.0f} GB for two Gram matrices".replace(",", " ")
        print(f"| {name} | {shape} | PyOD KPCA | – | {gram} | – | – |")
        for contender in ("mercer", "IsolationForest", "LocalOutlierFactor", "OneClassSVM"):
            command = [sys.executable, __file__, "--one", name, contender]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
                seconds, megabytes, auroc, ap = json.loads(done.stdout)
                row = f"{seconds:.1f} | {megabytes:.0f} | {auroc:.3f} | {ap:.3f}"
            except subprocess.TimeoutExpired:
                row = f"more than {limit} (stopped) | – | – | –"
            print(f"| {name} | {shape} | {contender} | {row} |", flush=True)


def rules(names, seeds, rows):
    """Print the mean figures over all tables for other numbers in the rules of the default estimator."""
    print(f"\nMean of {len(names)} tables, {rows} rows to fit on, mean of {seeds} other seeds\n")
    print("| rule | AUROC | AP |\n|---|---|---|")
    for rule, values in VARIED.items():
        usual = getattr(default, rule)
        for value in values:
            setattr(default, rule, value)
            found = []
            for name in names:
                X, y = read(name)
                for seed in range(OTHER_DRAWS, OTHER_DRAWS + seeds):
                    train, test, labels = split(X, y, seed, rows)
                    scores = contenders(seed)["mercer"](train)(test)
                    found.append((roc_auc_score(labels, scores), average_precision_score(labels, scores)))
            auroc, ap = np.mean(found, axis=0)
            mark = " (default)" if value == usual else ""
            print(f"| {rule} = {value:g}{mark} | {auroc:.3f} | {ap:.3f} |", flush=True)
        setattr(default, rule, usual)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--limit", type=int, default=300, help="seconds for a contender on a large table")
    parser.add_argument("--one", nargs=2, metavar=("TABLE", "CONTENDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one:
        one(*options.one)
    elif options.large:
        large(options.only or LARGE, options.limit)
    elif options.rules:
        rules(options.only or TABLES, options.seeds, options.rows)
    else:
        table(options.only or TABLES, options.seeds, options.rows)


if __name__ == "__main__":
    main()
