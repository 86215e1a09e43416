"""Nearest neighbours on supervised components: the table of docs/guides/supervised.md. Takes a minute.

python benchmarks/supervised.py
"""

import warnings

from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA, SupervisedKernelPCA

TABLES = {"iris": (load_iris, 2), "wine": (load_wine, 2), "cancer": (load_breast_cancer, 1), "digits": (load_digits, 9)}
ROWS = 600
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def models(q: int) -> dict[str, BaseEstimator]:
    """Return the ways to q components, by their names in the table."""
    return {
        "`KernelPCA`": KernelPCA(q),
        "`SupervisedKernelPCA(supervision=0.5)`": SupervisedKernelPCA(q, supervision=0.5),
        "`SupervisedKernelPCA()`": SupervisedKernelPCA(q),
        "`LinearDiscriminantAnalysis`": LinearDiscriminantAnalysis(n_components=q),
    }


def accuracy(model: BaseEstimator, name: str) -> float:
    """Return the cross-validated accuracy of five nearest neighbours on the components of one table."""
    X, y = (part[:ROWS] for part in TABLES[name][0](return_X_y=True))
    return cross_val_score(make_pipeline(StandardScaler(), model, KNeighborsClassifier()), X, y, cv=FOLDS).mean()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("| components |", " | ".join(f"{name}, {q}" for name, (_, q) in TABLES.items()), "|")
    print("|---" * (len(TABLES) + 1) + "|")
    for row in models(1):
        values = [accuracy(models(q)[row], name) for name, (_, q) in TABLES.items()]
        print(f"| {row} |", " | ".join(f"{value:.3f}".lstrip("0") for value in values), "|")
