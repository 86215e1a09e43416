"""Errors, log-losses and calibration of classifiers over many tables.

    MERCER_DATA=… python benchmarks/classification.py [--quick] [--seeds 3] [--rows 400] [--tables 12] [--again]

Two thirds of each table, at most ``--rows``, are fitted after standardisation, and at most 1000 others judge. ECE is
the expected calibration error of the largest probability, in 15 bins. Means over tables with standard errors over seeds
of these means; seconds of CPU for a fit and a prediction. Gaussian processes are fitted to at most 200 rows. The last
columns are the mean log-loss over that of the calibrated SVC on the same tables, and its largest ratio on one table.
"""

import warnings
from time import process_time

import numpy as np
from results import Results, options
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
    '… scoring="neg_log_loss"': lambda: KernelPCAClassifierCV(scoring="neg_log_loss", random_state=0),
    "SVC": SVC,
    "SVC, tuned": lambda: GridSearchCV(SVC(), SVC_GRID, cv=5),
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
    """Return error, log-loss, expected calibration error, and seconds; None for what needs probabilities."""
    start = process_time()
    model.fit(X, y)
    if not hasattr(model, "predict_proba"):
        return 1 - model.score(X_new, y_new), None, None, process_time() - start
    p = model.predict_proba(X_new)
    seconds = process_time() - start
    right, sure = model.classes_[p.argmax(axis=1)] == y_new, p.max(axis=1)
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [abs(np.sum(right[bins == b]) - np.sum(sure[bins == b])) for b in range(BINS)]
    return 1 - right.mean(), log_loss(y_new, p, labels=model.classes_), sum(gaps) / len(right), seconds


def main():
    """Measure what the file of results does not have, and write the table."""
    given = options(__doc__, seeds=(3, 3), rows=(400, 200), tables=(100, 12))
    results = Results("classification", given.again)
    warnings.simplefilter("ignore")
    found = {name: {} for name in MODELS}
    for table, X, y in every(list(tables()), given.tables):
        for seed in range(given.seeds):
            parts = split(X, y, given.rows, seed)
            if len(set(parts[1])) < 2:  # too few rows of the other class
                break
            for name, make in MODELS.items():
                if "small" not in name or len(parts[0]) <= SMALL:
                    row = results.once(lambda: judged(make(), *parts), name, table, seed)  # noqa: B023
                    found[name].setdefault(table, []).append(row)
    whole = {name: {t: rows for t, rows in of.items() if len(rows) == given.seeds} for name, of in found.items()}
    results.publish("guides/classifying.md", list(lines(whole)))


def every(all_tables, most):
    """Return at most so many tables, evenly spaced in the list."""
    return [all_tables[i] for i in np.unique(np.linspace(0, len(all_tables) - 1, most).astype(int))]


def lines(found):
    """Yield a row for each model: means over tables, and the worst ratio of log-losses to the calibrated SVC's."""
    peer = {table: np.mean([row[1] for row in rows]) for table, rows in found["SVC, calibrated"].items()}
    yield f"| {len(peer)} tables | error | log-loss | ECE | seconds | log-loss over SVC's | worst table |"
    yield "|---|---|---|---|---|---|---|"
    for name, by_table in found.items():
        rows = np.array([by_table[table] for table in by_table], float)  # tables, seeds, figures
        means = rows.mean(axis=0)
        se, mean = means.std(axis=0, ddof=1) / np.sqrt(len(means)), means.mean(axis=0)
        if np.isnan(mean[1]):
            yield f"| {name} | {100 * mean[0]:.1f} ± {100 * se[0]:.1f} % | – | – | {mean[3]:.2f} | – | – |"
            continue
        losses = {table: np.mean([row[1] for row in by_table[table]]) for table in by_table}
        worst = max(losses, key=lambda table: losses[table] / peer[table])
        cells = [f"{100 * mean[0]:.1f} ± {100 * se[0]:.1f} %", *(f"{mean[i]:.3f} ± {se[i]:.3f}" for i in (1, 2))]
        ratio = sum(losses.values()) / sum(peer[table] for table in losses)
        cells += [f"{mean[3]:.2f}", f"{ratio:.2f}", f"{worst}: {losses[worst] / peer[worst]:.2f}"]
        yield f"| {name} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
