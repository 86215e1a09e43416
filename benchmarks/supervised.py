"""Few components that depend on a target, beside linear discriminant analysis, PLS and supervised UMAP.

    MERCER_DATA=… python benchmarks/supervised.py [--quick] [--seeds 10] [--again]

Needs umap-learn (the extra ``docs``). Random halves of at most 600 rows of each table, columns standardised, no setting
chosen: a method is fitted on one half, and five nearest neighbours on its components predict the target of the other
half. Accuracy for classes and R² for numbers, means over seeds with standard errors. Classes: c − 1 components, at most
nine; numbers: two, where the method has two.
"""

import warnings
from itertools import product

import numpy as np
from results import Results, options, table
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
    make_friedman2,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA, SupervisedKernelPCA, datasets

ROWS, MOST = 600, 9  # rows, and components
EVERY = 400  # rows of the forest table, one is used


class PLS(TransformerMixin, BaseEstimator):
    """Partial least squares, of one-hot columns if the target has classes."""

    def __init__(self, n_components=2, classes=False):
        self.n_components, self.classes = n_components, classes

    def fit(self, X, y):
        target = (y[:, None] == np.unique(y)).astype(float) if self.classes else y
        self.model_ = PLSRegression(self.n_components).fit(X, target)
        return self

    def transform(self, X):
        return self.model_.transform(X)


def umap(**settings):
    from umap import UMAP

    return UMAP(random_state=0, n_jobs=1, **settings)


FOR_CLASSES = {
    "KernelPCA": lambda q: KernelPCA(q),
    "supervision=0.5": lambda q: SupervisedKernelPCA(q, supervision=0.5),
    "SupervisedKernelPCA": lambda q: SupervisedKernelPCA(q),
    "LDA": lambda q: LinearDiscriminantAnalysis(n_components=q),
    "PLS": lambda q: PLS(q, classes=True),
    "UMAP, supervised": lambda q: umap(n_components=max(q, 2)),
}
FOR_NUMBERS = {
    "KernelPCA": lambda q: KernelPCA(q),
    "supervision=0.5": lambda q: SupervisedKernelPCA(q, supervision=0.5, target="numbers"),
    "SupervisedKernelPCA, one": lambda q: SupervisedKernelPCA(target="numbers"),
    'target="rbf"': lambda q: SupervisedKernelPCA(q, target="rbf"),
    "PLS": lambda q: PLS(q),
    "UMAP, supervised": lambda q: umap(n_components=q, target_metric="l2"),
}


def rows_of(name):
    """Return a table of MERCER_DATA with its two classes."""
    data = datasets.load(name)
    return data["X"].astype(float), data["y"].ravel()


def elevation(seed):
    """Return nine numbers about patches of forest, and their height above the sea."""
    X = datasets.load("covtype")["X"][::EVERY].astype(float)
    return X[:, 1:10], X[:, 0]


def shells(seed):
    """Return rows whose target is their distance from the centre: it has no covariance with any column."""
    X = np.random.default_rng(seed).normal(size=(ROWS, 5))
    return X, np.linalg.norm(X, axis=1)


def proline(seed):
    X = load_wine().data
    return X[:, :-1], X[:, -1]


CLASSES = {
    "wine": lambda seed: load_wine(return_X_y=True),
    "cancer": lambda seed: load_breast_cancer(return_X_y=True),
    "digits": lambda seed: load_digits(return_X_y=True),
    "heart": lambda seed: rows_of("ida_heart"),
    "image": lambda seed: rows_of("ida_image"),
    "ringnorm": lambda seed: rows_of("ida_ringnorm"),
    "splice": lambda seed: rows_of("ida_splice"),
}
NUMBERS = {
    "diabetes": lambda seed: load_diabetes(return_X_y=True),
    "proline": proline,
    "elevation": elevation,
    "friedman 1": lambda seed: make_friedman1(ROWS, noise=1.0, random_state=seed),
    "friedman 2": lambda seed: make_friedman2(ROWS, noise=50.0, random_state=seed),
    "shells": shells,
}


def score(model, neighbours, X, y, seed):
    """Return the score of nearest neighbours on the components of one half, for the other half."""
    some = np.random.default_rng(seed).permutation(len(X))[:ROWS]
    classes = y[some] if isinstance(neighbours, KNeighborsClassifier) else None
    X1, X2, y1, y2 = train_test_split(X[some], y[some], test_size=0.5, random_state=seed, stratify=classes)
    return make_pipeline(StandardScaler(), model, neighbours).fit(X1, y1).score(X2, y2)


def main():
    """Measure what the file of results does not have, and print the tables."""
    given = options(__doc__, seeds=(10, 3))
    results, seeds = Results("supervised", given.again), range(given.seeds)
    warnings.simplefilter("ignore")
    few = lambda y: min(len(np.unique(y)) - 1, MOST)  # noqa: E731
    for methods, tables, q_of, neighbours in (
        (FOR_CLASSES, CLASSES, few, KNeighborsClassifier),
        (FOR_NUMBERS, NUMBERS, lambda y: 2, KNeighborsRegressor),
    ):
        for (method, make), (name, load), seed in product(methods.items(), tables.items(), seeds):
            X, y = load(seed)
            work = lambda: score(make(q_of(y)), neighbours(), X, y, seed)  # noqa: B023, E731
            results.once(work, method, name, seed)
        print(table("supervised", tables))


if __name__ == "__main__":
    main()
