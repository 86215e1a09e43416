"""Mixed tables: one kernel for each kind of column, one-hot columns, and Gower's similarity. Takes some minutes.

    MERCER_DATA=… python benchmarks/mixed.py [--quick] [--seeds 5] [--again]
    python benchmarks/mixed.py times        CPU seconds of a fit on 2,000 rows of objects

Tables of at most 500 rows: `heart`, `german`, `breast` and `covtype` of MERCER_DATA, whose columns with few different
values, or with one-hot groups, are categories; `orders`, made from a seed: three groups that differ in two of six
categories and two of four numbers; `wine` and `cancer`, half of whose columns are cut into four classes each.
Neighbours: accuracy of five nearest neighbours on five components, fitted on one half of the rows, for the other.
Monitor: area under the ROC curve of `KernelPCAMonitor`, fitted on half of the largest class, for the other half and all
other classes. Means over seeds with standard errors.
"""

import sys
import time
import warnings
from functools import partial

import numpy as np
from data import folder
from results import Results, options
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
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

ROWS, COMPONENTS = 500, 5
FEW = 10  # different values: a column of no more is a category
QUARTILES = (0.25, 0.5, 0.75)


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


def cut(load, rng):
    """Return a table of scikit-learn, half of whose columns are cut into four classes."""
    X, y = load(return_X_y=True)
    some = rng.permutation(len(X))[:ROWS]
    X, y, categories = X[some], y[some], rng.permutation(X.shape[1])[: X.shape[1] // 2]
    for j in categories:
        X[:, j] = np.searchsorted(np.quantile(X[:, j], QUARTILES), X[:, j])
    return X, y, np.sort(categories)


TABLES = {
    "orders": orders,
    **{name: partial(from_file, f"ida_{name}") for name in ("heart", "german")},
    "breast": partial(from_file, "ida_breast_cancer"),
    "covtype": partial(from_file, "covtype"),
    "wine": partial(cut, load_wine),
    "cancer": partial(cut, load_breast_cancer),
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


def neighbours(X, y, kernel, seed):
    """Return the accuracy of five nearest neighbours on the components of one half of the rows, for the other."""
    train, test = train_test_split(np.arange(len(X)), test_size=0.5, random_state=seed)
    model = KernelPCA(COMPONENTS, kernel=kernel).fit(X[train])
    return KNeighborsClassifier().fit(model.transform(X[train]), y[train]).score(model.transform(X[test]), y[test])


def monitor(X, y, kernel, seed):
    """Return the area under the ROC curve of a monitor of one half of the largest class."""
    largest, rng = np.bincount(y).argmax(), np.random.default_rng(seed)
    normal = rng.permutation(np.flatnonzero(y == largest))
    train, rest = normal[: len(normal) // 2], np.append(normal[len(normal) // 2 :], np.flatnonzero(y != largest))
    model = KernelPCAMonitor(KernelPCA(20, kernel=kernel), in_time=False, random_state=seed).fit(X[train])
    return roc_auc_score(y[rest] != largest, -model.score_samples(X[rest]))


def times(rng, n=2000):
    """Print the CPU seconds of a fit of each kernel of objects."""
    genes = ["".join(rng.choice(list("ACGT"), size)) for size in rng.integers(50, 150, n)]
    sets = [set(rng.integers(0, 3000, size).tolist()) for size in rng.integers(0, 60, n)]
    series = [rng.normal(size=size).cumsum() for size in rng.integers(20, 40, n)]
    codes = rng.integers(0, 5, (n, 15)).astype(str)
    print("| rows | kernel | CPU seconds |\n|---|---|---|")
    for what, rows, kernel in (
        ("strings of 50 to 150 letters", genes, Spectrum(3)),
        ("", genes, Spectrum(6)),
        ("", genes, Spectrum(5, mismatches=1)),
        ("sets of up to 60 numbers", sets, Jaccard()),
        ("15 categories", codes, Categorical()),
        ("series of 20 to 40 numbers", series, GlobalAlignment()),
        ("", series, RandomWarping()),
    ):
        start = time.process_time()
        KernelPCA(5, kernel=kernel).fit(rows)
        print(f"| {what} | `{' '.join(repr(kernel).split())}` | {time.process_time() - start:.1f} |", flush=True)


def measured(measure, name, way, seed):
    """Return one figure of one way on one table."""
    X, y, categories = TABLES[name](np.random.default_rng(seed))
    rows, kernel = ways(X, categories)[way]
    return float(measure(rows, y, kernel, seed))


def main():
    """Measure what the file of results does not have, and write a table for neighbours and one for the monitor."""
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["times"]:
        return times(np.random.default_rng(0))
    given = options(__doc__, seeds=(5, 2))
    results, seeds, lines = Results("mixed", given.again), range(given.seeds), []
    for measure in (neighbours, monitor):
        lines += [f"| {measure.__name__} | {' | '.join(TABLES)} | mean |", "|---" * (len(TABLES) + 2) + "|"]
        for way in ("`mixed(X)`", "the same, weights by rarity", "one-hot + `RBF()`", "Gower's similarity"):
            key = (measure.__name__, way)
            found = np.array(
                [[results.once(lambda: measured(measure, t, way, s), *key, t, s) for t in TABLES] for s in seeds]  # noqa: B023
            )
            error = found.std(axis=0, ddof=1) / np.sqrt(len(seeds))
            cells = [f"{mean:.3f} ± {e:.3f}" for mean, e in zip(found.mean(axis=0), error, strict=True)]
            lines.append(f"| {way} | {' | '.join(cells)} | {found.mean():.3f} |".replace("0.", "."))
        lines.append("")
    return results.publish("guides/objects.md", lines[:-1])


if __name__ == "__main__":
    main()
