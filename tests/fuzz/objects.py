"""Rows that are not numbers: odd strings, sets, series and tables of categories, in the estimators and in files.

The rule is that of the estimators; besides, a model that was saved and loaded computes the same.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.io.encode import Unstorable
from mercer.kernels import (
    RBF,
    Categorical,
    GlobalAlignment,
    Jaccard,
    Linear,
    Normalized,
    OnColumns,
    RandomWarping,
    Spectrum,
    mixed,
)

from .estimators import ERRORS, SIZES, quietly, used

LETTERS = ["a", "b", "A", "\0", "é", "\u202e", "\ud800", "😀", " "]
PARTS = ["x", "", 0, 1.5, True, float("nan"), float("inf"), 10**30, "\x1b[31m", -0.0]
CATEGORIES = ["red", "", None, float("nan"), 3, 3.0, True, "3", "\ud800", np.float32(0.1), np.str_("red")]
STRANGE = [None, 7, b"abc", object(), [], {}, "abc", [[1.0, np.nan]], np.zeros((2, 2, 2)), {("a",)}]


def fitted(rng: np.random.Generator) -> str | None:
    """Fit a model with a kernel of objects, use it on its rows, and again from a file."""
    n = SIZES[rng.integers(len(SIZES))]
    make = [_strings, _sets, _series, _categories, _mixed][rng.integers(5)]
    kernel, X = make(rng, n)
    if rng.random() < 0.15:
        X = [*X]
        X[rng.integers(n)] = STRANGE[rng.integers(len(STRANGE))]
    kernel = Normalized(kernel) if rng.random() < 0.3 else kernel
    model, y = _model(rng, kernel), np.arange(n) % 3
    before, shown = dict(model.__dict__), repr(X)
    error = quietly(lambda: model.fit(X, y))
    if error is not None:
        if not isinstance(error, ERRORS):
            return f"{model!r}.fit raises {type(error).__name__}: {error}"
        return None if model.__dict__ == before else f"{model!r}: a failed fit ({error}) changes its state"
    return used(model, X, X) or _kept(model, X) or (None if repr(X) == shown else f"{model!r} changes its input")


def _kept(model: Any, X: Any) -> str | None:
    """Return what is wrong with the model after it was written to a file and read."""
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.mercer")
        error = quietly(lambda: mercer.save(model, path))
        if isinstance(error, Unstorable):
            return None
        error = error or quietly(lambda: found.append(mercer.load(path)))
    if error is not None:
        return f"{model!r} in a file: {type(error).__name__}: {error}"
    name = "transform" if hasattr(model, "transform") else "predict"
    results: list[Any] = []
    error = quietly(lambda: results.extend(getattr(each, name)(X) for each in (model, found[0])))
    if error is not None:
        return None if isinstance(error, ERRORS) else f"{model!r}.{name} of a file raises {error!r}"
    return None if np.array_equal(*map(np.asarray, results)) else f"{model!r}.{name} is another one in a file"


def _model(rng: np.random.Generator, kernel: Any) -> Any:
    q: Any = [1, 2, 0.9, None][rng.integers(4)]
    makers = [
        lambda: mercer.KernelPCA(q, kernel=kernel, solver=["auto", "landmarks"][rng.integers(2)], random_state=0),
        lambda: mercer.SupervisedKernelPCA(q, kernel=kernel, supervision=[0.0, 0.3, 1.0][rng.integers(3)]),
        lambda: mercer.ProbabilisticKernelPCA(1, kernel=kernel),
        lambda: mercer.SparseKernelPCA(1, kernel=kernel, max_iter=20),
        lambda: mercer.KernelPCAMixture(2, 1, kernel=kernel, n_init=1, max_iter=5, random_state=0),
        lambda: mercer.KernelPCAClassifier(kernel=kernel),
    ]
    return makers[min(len(makers) - 1, int(rng.integers(2 * len(makers))) // 2)]()


def _strings(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    letters = LETTERS[: rng.integers(1, len(LETTERS) + 1)]
    k = int(rng.integers(1, 5))
    kernel = Spectrum(
        k, mismatches=int(rng.integers(0, 2)), alphabet=[None, "ab", ""][min(2, int(rng.geometric(0.8)) - 1)]
    )
    return kernel, ["".join(rng.choice(letters, rng.integers(0, 12))) for _ in range(n)]


def _sets(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    if rng.random() < 0.3:
        return Jaccard(), rng.integers(0, 2, size=(n, rng.integers(1, 9)))
    kind = [set, list, frozenset][rng.integers(3)]
    return Jaccard(), [kind(PARTS[i] for i in rng.integers(0, len(PARTS), rng.integers(0, 6))) for _ in range(n)]


def _series(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    scale, channels = 10.0 ** rng.integers(-300, 301) if rng.random() < 0.4 else 1.0, int(rng.integers(1, 3))
    X = [rng.normal(size=(rng.integers(1, 15), channels)) * scale for _ in range(n)]
    if rng.random() < 0.1:
        X[rng.integers(n)][0, 0] = [np.nan, np.inf, 1e308, 0.0][rng.integers(4)]
    X = [each[:, 0] for each in X] if channels == 1 and rng.random() < 0.5 else X
    bandwidth = [None, None, 1.0, 1e-3, 1e200][rng.integers(5)]
    if rng.random() < 0.3:
        return RandomWarping(int(rng.integers(1, 9)), 5, bandwidth), X
    return GlobalAlignment(bandwidth), X


def _categories(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    d, kinds = int(rng.integers(1, 4)), int(rng.integers(1, len(CATEGORIES) + 1))
    X = [[CATEGORIES[i] for i in rng.integers(0, kinds, d)] for _ in range(n)]
    return Categorical(["hamming", "overlap"][rng.integers(2)], ["equal", "rarity"][rng.integers(2)]), X


def _mixed(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    _, X = _categories(rng, n)
    scale = 10.0 ** rng.integers(-200, 201) if rng.random() < 0.3 else 1.0
    table = np.empty((n, len(X[0]) + 1), dtype=object)
    for i, row in enumerate(X):
        table[i] = [*row, float(rng.normal()) * scale]
    numbers, categories = [table.shape[1] - 1], list(range(table.shape[1] - 1))
    kernel = [OnColumns(RBF(), numbers), OnColumns(Linear(), numbers)][rng.integers(2)] * OnColumns(
        Categorical(), categories
    )
    if rng.random() < 0.5:
        kernel = mixed(table, categories) if np.isfinite(table[:, -1].astype(float)).all() else kernel
    return kernel, table
