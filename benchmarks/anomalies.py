"""Abnormal rows in nineteen tables: the default monitor beside PyOD's and scikit-learn's detectors.

    MERCER_DATA=… make bench-peers
    MERCER_DATA=… python benchmarks/anomalies.py [--seeds 5 3] [--rows 1000] [--again] [--large [skin …]]

Two protocols, the same for all. *Normal*: fitted on half of the normal rows, at most ``rows`` of them; the other normal
rows and all abnormal ones are scored. *Contaminated*: fitted on half of all rows with the abnormal ones among them,
whose share the monitor is given as ``contamination``; the other half is scored. At most 3000 rows are scored, with the
table's own share of abnormal ones, 20 of them at least. mercer scales columns itself; all other detectors are given
standardized columns. Figures are the area under the ROC curve (AUROC) and average precision (AP), means over seeds.
Differences have two standard errors: over tables, for what to expect of another table, and over draws of these.

``--large`` gives time and memory on whole tables of more than 100,000 rows, each in a process of its own. How the
default estimator's rules were chosen is measured in ``monitor_rules.py``.
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
from results import Results
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from mercer import KernelPCAMonitor

TEST = 3000
RARE = 20  # abnormal rows that a test has at least, where the table has them
PROTOCOLS = ("normal", "contaminated")
DIGITS = 5
CLEAR = 0.02  # of average precision: smaller differences are not listed
LARGE = ("celeba", "skin", "http")


def contenders(seed, share=0.0):
    """Name ↦ a function from rows to fit on to a function from rows to scores, the higher the more abnormal."""

    def sklearn(model):
        def fit(X):
            fitted = make_pipeline(StandardScaler(), model).fit(X)
            return lambda x: -fitted.score_samples(x)

        return fit

    def mercer(X):
        fitted = KernelPCAMonitor(contamination=share, random_state=seed).fit(X)
        return lambda x: -fitted.score_samples(x)

    own = {"mercer": mercer}
    peers = {
        "IsolationForest": sklearn(IsolationForest(random_state=seed)),
        "OneClassSVM": sklearn(OneClassSVM()),
        "LocalOutlierFactor": sklearn(LocalOutlierFactor(novelty=True)),
    }
    return own | pyod(seed) | peers


def pyod(seed):
    """The detectors of PyOD, where it is installed."""
    try:
        from pyod.models.ecod import ECOD
        from pyod.models.knn import KNN
        from pyod.models.kpca import KPCA
    except ImportError:
        return {}

    def scaled(model):
        def fit(X):
            scaler = StandardScaler().fit(X)
            fitted = model.fit(scaler.transform(X))
            return lambda x: fitted.decision_function(scaler.transform(x))

        return fit

    return {
        "PyOD KPCA": scaled(KPCA(random_state=seed)),
        "PyOD KNN": scaled(KNN()),
        "PyOD ECOD": scaled(ECOD()),
    }


def names():
    return sorted(path.stem.removeprefix("ad_") for path in folder().glob("ad_*.npz"))


def read(name):
    with np.load(folder() / f"ad_{name}.npz", allow_pickle=False) as arrays:
        return arrays["X"].astype(float), arrays["y"]


def split(X, y, seed, rows, protocol):
    """Rows to fit on, rows to score and their labels."""
    rng = np.random.default_rng(seed)
    normal, abnormal = (rng.permutation(np.flatnonzero(y == label)) for label in (0, 1))
    n = min(rows, len(normal if protocol == "normal" else y) // 2)
    bad = 0 if protocol == "normal" else round(n * y.mean())
    train = np.append(normal[: n - bad], abnormal[:bad])
    normal, abnormal = normal[n - bad :], abnormal[bad:]
    if len(normal) + len(abnormal) > TEST:
        few = max(min(RARE, len(abnormal)), round(TEST * y.mean()))
        normal, abnormal = normal[: TEST - few], abnormal[:few]
    test = np.append(normal, abnormal)
    return X[rng.permutation(train)], X[test], y[test]


def quality(labels, scores):
    return roc_auc_score(labels, scores), average_precision_score(labels, scores)


def figures(fit, train, test, labels):
    """AUROC, AP, CPU seconds to fit, and to score 1000 rows."""
    start = process_time()
    score = fit(train)
    middle = process_time()
    scores = score(test)
    end = process_time()
    row = *quality(labels, scores), middle - start, (end - middle) * 1000 / len(test)
    return [round(float(value), DIGITS) for value in row]


def measured(results, name, seeds, rows, protocol):
    """Contender ↦ figures of shape (seeds, 4)."""
    X, y = read(name)
    share = 0.0 if protocol == "normal" else min(float(y.mean()), 0.49)
    found = {}
    for seed in range(seeds):
        parts = split(X, y, seed, rows, protocol)
        for contender, fit in contenders(seed, share).items():
            row = results.once(lambda: figures(fit, *parts), protocol, name, contender, seed)  # noqa: B023
            found.setdefault(contender, []).append(row)
    return {contender: np.array(rows) for contender, rows in found.items()}


def table(found, protocol):
    """Yield the lines of a table: figures of each data set, and means with standard errors."""
    columns = list(next(iter(found.values())))
    yield from (f"Fitted on {protocol} rows, means of {len(next(iter(found.values()))[columns[0]])} draws:", "")
    yield "| table | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, row in found.items():
        yield line(name, ("{:.3f} / {:.3f}".format(*row[c].mean(axis=0)) for c in columns))
    values = {c: np.array([row[c] for row in found.values()]) for c in columns}  # (tables, seeds, 4)
    yield line("**mean**", ("{:.3f} / {:.3f}".format(*values[c].mean(axis=(0, 1))) for c in columns))
    for i, figure in enumerate(("AUROC", "AP")):
        ahead = {c: (values["mercer"] - values[c])[:, :, i] for c in columns}
        cells = [f"{ahead[c].mean():+.3f} ± {error(ahead[c].mean(axis=1)):.3f}" for c in columns[1:]]
        yield line(f"mercer ahead by, {figure}", ["", *cells])
        cells = [f"± {error(ahead[c].mean(axis=0)):.3f}" for c in columns[1:]]
        yield line("standard error over draws of the same tables", ["", *cells])
    yield line("CPU s to fit", (f"{values[c][..., 2].mean():.2f}" for c in columns))
    yield line("CPU s to score 1000 rows", (f"{values[c][..., 3].mean():.3f}" for c in columns))
    yield ""
    yield f"Ahead of the monitor by more than {CLEAR} of average precision: {'; '.join(leads(found, columns[1:]))}."
    yield ""


def leads(found, peers):
    """Yield each peer with the tables on which its average precision is clearly above the monitor's."""
    for peer in peers:
        ahead = [name for name, row in found.items() if np.mean(row[peer][:, 1] - row["mercer"][:, 1]) > CLEAR]
        if ahead:
            yield f"{peer} on {', '.join(ahead)}"


def line(head, cells):
    return "| " + " | ".join([head, *cells]) + " |"


def error(values):
    """The standard error of the mean."""
    return values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan


def one(name, contender):
    """Fit and score a whole table; print seconds of CPU, megabytes and the figures."""
    X, y = read(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = process_time()
    scores = contenders(0, min(float(y.mean()), 0.49))[contender](X)(X)
    seconds, after = process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps((seconds, (after - before) / 1024, *quality(y, scores))))


def large(tables, limit):
    """Print time and memory of whole tables."""
    print(
        "\n| table | rows × columns | contender | CPU seconds | MB beyond the data | AUROC | AP |\n" + "|---" * 7 + "|"
    )
    for name in tables:
        X, _ = read(name)
        shape = f"{len(X):,} × {X.shape[1]}"
        for contender in ("mercer", "IsolationForest"):
            command = [sys.executable, __file__, "--one", name, contender]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
                seconds, megabytes, auroc, ap = json.loads(done.stdout)
                row = f"{seconds:.1f} | {megabytes:.0f} | {auroc:.3f} | {ap:.3f}"
            except subprocess.TimeoutExpired:
                row = f"more than {limit} (stopped) | – | – | –"
            print(f"| {name} | {shape} | {contender} | {row} |", flush=True)


def main():
    """Measure what the file of results does not have, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(5, 3), help="draws for each of the two protocols")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--again", action="store_true", help="ignore figures that are kept from an earlier run")
    parser.add_argument("--large", nargs="*", metavar="TABLE", help="time and memory of whole tables")
    parser.add_argument("--limit", type=int, default=300, help="seconds for a contender on a large table")
    parser.add_argument("--one", nargs=2, metavar=("TABLE", "CONTENDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one:
        one(*options.one)
        return
    if options.large is not None:
        large(options.large or LARGE, options.limit)
        return
    results, lines = Results("anomalies", options.again), []
    for protocol, seeds in zip(PROTOCOLS, options.seeds, strict=True):
        found = {name: measured(results, name, seeds, options.rows, protocol) for name in names()}
        lines += table(found, protocol)
    results.publish("monitoring.md", lines[:-1])


if __name__ == "__main__":
    main()
