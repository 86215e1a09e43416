"""Errors, log-losses and calibration of classifiers over many tables.

    MERCER_DATA=… python benchmarks/classification.py [--seeds 2] [--rows 400] [--tables 12] [--without name …]

Two thirds of each table, at most ``--rows``, are fitted after standardisation, and at most 1000 others judge. ECE is
the expected calibration error of the largest probability, in 15 bins. Means over tables with standard errors over seeds
of these means; seconds of CPU for a fit and a prediction. Gaussian processes are fitted on tables of at most 200 rows,
and all others are compared with them there by the column of ratios: log-loss over that of the calibrated SVC.
"""

import argparse
import warnings
from time import process_time

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from widths import tables

from mercer import KernelPCA, KernelPCAClassifier, KernelPCAClassifierCV

BINS, TEST_ROWS, SMALL, LEAST_ROWS = 15, 1000, 200, 5
SVC_GRID = {"C": [0.1, 1, 10, 100, 1000], "gamma": ["scale", 0.01, 0.1, 1.0]}
MODELS = {
    "KernelPCAClassifier": lambda: KernelPCAClassifier(random_state=0),
    "… calibration=None": lambda: KernelPCAClassifier(calibration=None, random_state=0),
    "KernelPCAClassifierCV": lambda: KernelPCAClassifierCV(random_state=0),
    "SVC, calibrated": lambda: CalibratedClassifierCV(SVC()),
    "SVC, tuned, calibrated": lambda: CalibratedClassifierCV(GridSearchCV(SVC(), SVC_GRID, cv=3)),
    "random forest": lambda: RandomForestClassifier(random_state=0),
    "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "logistic regression on 20 components": lambda: make_pipeline(
        KernelPCA(20), StandardScaler(), LogisticRegression()
    ),
    "Gaussian process (small tables)": lambda: GaussianProcessClassifier(random_state=0),
}


def split(X, y, rows, seed):
    """Return standardised training rows, test rows and their labels, without classes of fewer than 5 rows."""
    order = np.random.default_rng(seed).permutation(len(X))
    n = min(rows, 2 * len(X) // 3)
    classes, counts = np.unique(y[order[:n]], return_counts=True)
    order = np.concatenate([order[:n], order[n : n + TEST_ROWS]])
    kept = np.isin(y[order], classes[counts >= LEAST_ROWS])
    train, test = order[:n][kept[:n]], order[n:][kept[n:]]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def judged(model, X, y, X_new, y_new):
    """Return error, log-loss, expected calibration error, and seconds."""
    start = process_time()
    model.fit(X, y)
    p = model.predict_proba(X_new)
    seconds = process_time() - start
    right, sure = model.classes_[p.argmax(axis=1)] == y_new, p.max(axis=1)
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [abs(np.sum(right[bins == b]) - np.sum(sure[bins == b])) for b in range(BINS)]
    return 1 - right.mean(), log_loss(y_new, p, labels=model.classes_), sum(gaps) / len(right), seconds


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--without", nargs="*", default=[])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    models = {name: make for name, make in MODELS.items() if name not in options.without}
    found = {name: {} for name in models}
    for table, X, y in list(tables())[: options.tables]:
        for seed in range(options.seeds):
            parts = split(X, y, options.rows, seed)
            for name, make in models.items():
                if "small" not in name or len(parts[0]) <= SMALL:
                    found[name].setdefault(table, []).append(judged(make(), *parts))
    report(found)


def report(found):
    """Print a row for each model: means over tables, and the worst ratio of log-losses to the calibrated SVC's."""
    peer = {table: np.mean([row[1] for row in rows]) for table, rows in found["SVC, calibrated"].items()}
    print(f"{len(peer)} tables\n\n| model | error | log-loss | ECE | seconds | log-loss over SVC's | worst table |")
    print("|---|---|---|---|---|---|---|")
    for name, by_table in found.items():
        rows = np.array([by_table[table] for table in by_table])  # tables, seeds, figures
        means = rows.mean(axis=0)
        se = means.std(axis=0, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.full(4, np.nan)
        mean = means.mean(axis=0)
        losses = {table: np.mean([row[1] for row in by_table[table]]) for table in by_table}
        worst = max(losses, key=lambda table: losses[table] / peer[table])
        cells = [f"{100 * mean[0]:.1f} ± {100 * se[0]:.1f} %", *(f"{mean[i]:.3f} ± {se[i]:.3f}" for i in (1, 2))]
        ratio = sum(losses.values()) / sum(peer[table] for table in losses)
        cells += [f"{mean[3]:.2f}", f"{ratio:.2f}", f"{worst}: {losses[worst] / peer[worst]:.2f}"]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
