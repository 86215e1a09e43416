"""Mixed tables: one kernel for each kind of column, one-hot columns, and Gower's similarity. Takes some minutes.

MERCER_DATA=… python benchmarks/mixed.py
python benchmarks/mixed.py times        seconds of a fit on 2,000 rows of objects

Tables: `heart`, `german` and `covtype` of MERCER_DATA, whose columns with few different values, or with one-hot groups,
are categories; and `orders`, made from a seed: three groups that differ in two of six categories and two of four
numbers. Neighbours: accuracy of five nearest neighbours on five components, in five folds. Monitor: area under the ROC
curve of `KernelPCAMonitor`, fitted on half of the largest class, for the other half and all other classes.
"""

import sys
import time
import warnings
from functools import partial

import numpy as np
from data import folder
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from mercer import KernelPCA, KernelPCAMonitor
from mercer.kernels import (
    RBF,
    Categorical,
    FromFunction,
    GlobalAlignment,
    Jaccard,
    OnColumns,
    RandomWarping,
    Spectrum,
    mixed,
)

ROWS, COMPONENTS, REPEATS = 900, 5, 5
FEW = 10  # different values: a column of no more is a category


def orders(rng):
    """Return codes and numbers of three groups, with their labels."""
    y = rng.integers(3, size=ROWS)
    codes = rng.integers(6, size=(ROWS, 6))
    for j in (0, 1):
        codes[:, j] = np.where(rng.random(ROWS) < 0.6, y + 3 * j, codes[:, j])
    numbers = rng.normal(size=(ROWS, 4)) + 0.8 * np.eye(3)[y] @ rng.normal(size=(3, 4)) * [1, 1, 0, 0]
    return np.column_stack([codes, numbers * [1, 10, 1, 100]]), y, np.arange(6)


def from_file(name, rng):
    """Return some rows of a table of MERCER_DATA, labels, and its categorical columns."""
    with np.load(folder() / f"{name}.npz") as file:
        X, y = file["X"], file["y"].ravel()
    some = rng.choice(len(X), min(ROWS, len(X)), replace=False)
    X, y = X[some].astype(float), np.unique(y[some], return_inverse=True)[1]
    if name == "covtype":  # ten numbers, and one-hot groups of 4 and 40 columns
        X = np.column_stack([X[:, :10], X[:, 10:14].argmax(axis=1), X[:, 14:54].argmax(axis=1)])
        return X, y, np.array([10, 11])
    return X, y, np.flatnonzero([len(np.unique(column)) <= FEW for column in X.T])


TABLES = {
    "orders": orders,
    **{name: partial(from_file, f"ida_{name}") for name in ("heart", "german")},
    "covtype": partial(from_file, "covtype"),
}


def onehot(X, categories):
    """Return standardised numbers and one-hot categories."""
    numbers = np.delete(X, categories, axis=1)
    numbers = (numbers - numbers.mean(axis=0)) / np.maximum(numbers.std(axis=0), 1e-12)
    return np.column_stack([numbers, *((X[:, [j]] == np.unique(X[:, j])).astype(float) for j in categories)])


def gower(X, categories):
    """Return the function of two sets of rows that is one minus Gower's distance."""
    span = np.maximum(np.ptp(X, axis=0), 1e-12)
    is_category = np.isin(np.arange(X.shape[1]), categories)

    def similarity(A, B):
        s = np.zeros((len(A), len(B)))
        for a, b, r, same in zip(A.T, B.T, span, is_category, strict=True):
            s += (a[:, None] == b) if same else 1 - np.minimum(np.abs(a[:, None] - b) / r, 1)
        return s / A.shape[1]

    return similarity


def rarity(X, categories):
    """Return the mixed kernel with rare categories weighted more."""
    kernel = mixed(X, categories.tolist())
    weighted = Categorical(weights="rarity", gamma=kernel.k2.k1.gamma)
    return kernel.k1 * OnColumns(weighted, kernel.k2.columns)


def ways(X, categories):
    """Return rows and a kernel for each way, by its name in the table."""
    return {
        "`mixed(X)`": (X, mixed(X, categories.tolist())),
        "the same, weights by rarity": (X, rarity(X, categories)),
        "one-hot + `RBF()`": (onehot(X, categories), RBF()),
        "Gower's similarity": (X, FromFunction(gower(X, categories))),
    }


def neighbours(X, y, kernel):
    """Return the accuracy of five nearest neighbours on components."""
    hits = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = KernelPCA(COMPONENTS, kernel=kernel).fit(X[train])
        knn = KNeighborsClassifier().fit(model.transform(X[train]), y[train])
        hits.append(knn.score(model.transform(X[test]), y[test]))
    return np.mean(hits)


def monitor(X, y, kernel):
    """Return the mean area under the ROC curve over random halves of the largest class."""
    largest, areas = np.bincount(y).argmax(), []
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        normal = rng.permutation(np.flatnonzero(y == largest))
        train, rest = normal[: len(normal) // 2], np.append(normal[len(normal) // 2 :], np.flatnonzero(y != largest))
        model = KernelPCAMonitor(KernelPCA(20, kernel=kernel), in_time=False, random_state=seed).fit(X[train])
        areas.append(roc_auc_score(y[rest] != largest, -model.score_samples(X[rest])))
    return np.mean(areas)


def times(rng, n=2000):
    """Print the seconds of a fit of each kernel of objects."""
    genes = ["".join(rng.choice(list("ACGT"), size)) for size in rng.integers(50, 150, n)]
    sets = [set(rng.integers(0, 3000, size).tolist()) for size in rng.integers(0, 60, n)]
    series = [rng.normal(size=size).cumsum() for size in rng.integers(20, 40, n)]
    codes = rng.integers(0, 5, (n, 15)).astype(str)
    print("| rows | kernel | seconds |\n|---|---|---|")
    for what, rows, kernel in (
        ("strings of 50 to 150 letters", genes, Spectrum(3)),
        ("", genes, Spectrum(6)),
        ("", genes, Spectrum(5, mismatches=1)),
        ("sets of up to 60 numbers", sets, Jaccard()),
        ("15 categories", codes, Categorical()),
        ("series of 20 to 40 numbers", series, GlobalAlignment()),
        ("", series, RandomWarping()),
    ):
        start = time.perf_counter()
        KernelPCA(5, kernel=kernel).fit(rows)
        print(f"| {what} | `{' '.join(repr(kernel).split())}` | {time.perf_counter() - start:.1f} |", flush=True)


def main(names):
    """Print a table for neighbours and one for the monitor."""
    warnings.simplefilter("ignore")
    if names == ["times"]:
        return times(np.random.default_rng(0))
    tables = {name: TABLES[name](np.random.default_rng(0)) for name in names}
    for title, measure in (("neighbours", neighbours), ("monitor", monitor)):
        print(f"| {title} |", " | ".join(tables), "|")
        print("|---" * (len(tables) + 1) + "|")
        for way in ("`mixed(X)`", "the same, weights by rarity", "one-hot + `RBF()`", "Gower's similarity"):
            values = []
            for X, y, categories in tables.values():
                rows, kernel = ways(X, categories)[way]
                values.append(f"{measure(rows, y, kernel):.3f}".lstrip("0"))
            print(f"| {way} |", " | ".join(values), "|")
        print()
    return None


if __name__ == "__main__":
    main(sys.argv[1:] or list(TABLES))
