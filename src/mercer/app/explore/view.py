"""A fitted model of any kind, seen on rows: their coordinates, the way back, novelty, and what the model predicts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaincc, ndtr
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ...kernels import RBF, Precomputed
from ...models.kernel_pca import KernelPCA
from ...models.monitor.contributions import contributions
from ...models.pipelines import parts
from ...tables import Recipe
from .data import Data, dense
from .settings import LANDMARKS_FROM, SEED, Refused

NEIGHBOURS = 10  # rows whose mean gives the coordinates that a point of the map leaves open
STEPS = 24  # of a walk between two rows
THRESHOLDS = 200  # positions of the alarm's limit
SCREE = 30  # components of the scree plot
STAND_IN = 10  # components of the map of a model that has none of its own
SYMMETRIC = 1e-3  # skewness below which the normal law is taken
ALPHA = 0.01  # share of the rows that the limit flags until it is moved


class View:
    """A model and the rows it is shown on; ``map`` is the model with a subspace that gives the coordinates.

    Kernel PCA, sparse and probabilistic models are their own map, a monitor has one inside. For mixtures, classifiers
    and whatever else, the map is the kernel PCA of the same rows with the same kernel.
    """

    def __init__(self, model: Any, data: Data, recipe: Recipe, X: Any):
        self.model, self.data, self.recipe, self.X = model, data, recipe, X
        if getattr(model, "lags", 0):
            raise Refused("A monitor with lags sees rows together, and this page shows them one by one: mercer report.")
        inside = getattr(model, "estimator_", getattr(model, "best_estimator_", model))
        self.prepared, last = parts(inside)
        self.before = inside[:-1] if isinstance(inside, Pipeline) and len(inside) > 1 else None
        check_is_fitted(last)
        self.rows = np.asarray(self.prepared(X))
        self.own_map = hasattr(last, "subspace_") and hasattr(last, "preimages")
        self.estimator = inside if self.own_map else None
        self.map = last if self.own_map else _stand_in(last, self.rows)
        self.about: dict[str, Any] = {}  # the description of the model for the page
        if isinstance(self.map.kernel_, Precomputed):
            raise Refused("A model of a precomputed kernel has no rows to show. Fit a model on the rows themselves.")

    @cached_property
    def Y(self) -> Any:
        """The coordinates of all rows: (n, q)."""
        return np.asarray(self.map.transform(self.rows), float)

    @cached_property
    def linear(self) -> Any:
        """The linear PCA of the same rows, with as many components as there are columns or components."""
        q = max(2, min(self.Y.shape[1], self.rows.shape[1]))
        return KernelPCA(q, kernel="linear", random_state=SEED).fit(self.rows)

    @cached_property
    def scree(self) -> list[float]:
        """The shares of the first components, more of them than the model has."""
        q, found = min(SCREE, len(self.rows) - 1), self.map
        if self.Y.shape[1] < q and self.own_map:
            found = _fitted(q, self.map.kernel_, self.rows, center=self.map.center)
        return np.asarray(found.explained_variance_ratio_, float).tolist()

    # the way back

    def point(self, axes: Sequence[int], at: Sequence[float], row: int | None) -> Any:
        """Return all coordinates of a point of the map: the others are those of a row, or of the rows around."""
        set_ = {j: value for j, value in zip(axes, at, strict=True) if j < self.Y.shape[1]}
        if row is None:
            gaps = sum((self.Y[:, j] - value) ** 2 for j, value in set_.items()) + np.zeros(len(self.Y))
            k = min(NEIGHBOURS, len(gaps))
            y = self.Y[np.argpartition(gaps, k - 1)[:k]].mean(axis=0)
        else:
            y = self.Y[row].copy()
        y[list(set_)] = list(set_.values())
        return y

    def back(self, y: Any) -> tuple[list[Any], float]:
        """Return the cells of the pre-image of coordinates, and its squared error."""
        found = self.map.preimages(np.asarray(y)[None])
        return self.cells(found.X)[0], float(found.error[0])

    def walk(self, first: int, last: int) -> tuple[list[list[Any]], Any]:
        """Return the cells of rows between two rows, and the coordinates that they are the pre-images of."""
        points = self.map.interpolate(self.rows[first], self.rows[last], n_steps=STEPS)
        t = np.linspace(0, 1, STEPS)[:, None]
        return self.cells(points), (1 - t) * self.Y[first] + t * self.Y[last]

    def cells(self, rows: Any) -> list[list[Any]]:
        """Return rows of the map's model as cells of the table: in its units, and words where they are most likely."""
        X = np.asarray(dense(rows), float)
        if self.before is not None and not hasattr(self.before, "inverse_transform"):
            raise Refused("A step of this pipeline has no inverse_transform, so that there is no way back.")
        X = X if self.before is None else np.asarray(self.before.inverse_transform(X))
        return [list(cells) for cells in zip(*(x.tolist() for x in self.recipe.table(X).values()), strict=True)]

    # novelty

    @property
    def novelty_name(self) -> str:
        """What the novelty is."""
        names = {"p_values": "−log p", "limits_": "largest share of a limit", "score_samples": "−log density"}
        known = (name for method, name in names.items() if hasattr(self.model, method))
        return next(known, "squared distance to the components")

    @cached_property
    def novelty(self) -> Any:
        """How unusual each row is: (n,)."""
        if hasattr(self.model, "score_samples"):
            return -np.asarray(self.model.score_samples(self.X), float)
        return np.asarray(self.map.reconstruction_error(self.rows), float)

    @cached_property
    def p_values(self) -> Any:
        """The p-value of each row: the model's, or by the gamma law that ``law`` names."""
        if hasattr(self.model, "p_values"):
            return np.asarray(self.model.p_values(self.X), float)
        return _tail(self.novelty)

    @property
    def law(self) -> str:
        """Where the p-values come from."""
        return "the model's p-values" if hasattr(self.model, "p_values") else "a gamma law"

    def limits(self) -> tuple[dict[str, Any], Any]:
        """Return positions of the limit, how many rows each flags and how many by chance, and the rows in order.

        A limit flags the rows above it, so that the limit of k rows is the novelty of row k + 1. The gamma law is
        Pearson's type III with the mean, variance and skewness of all rows.
        """
        n, half, order = len(self.novelty), THRESHOLDS // 2, np.argsort(-self.novelty, kind="stable")
        rows = order[np.unique(np.r_[np.arange(min(n, half)), np.geomspace(1, n - 1, half)].astype(int))]
        flagged = np.searchsorted(-self.novelty[order], -self.novelty[rows], side="left")
        known = hasattr(self.model, "offset_")
        start = np.sum(self.novelty > -self.model.offset_) if known else np.ceil(ALPHA * n)
        return {
            "name": self.novelty_name,
            "law": self.law,
            "limits": self.novelty[rows].tolist(),
            "flagged": flagged.tolist(),
            "expected": (n * self.p_values[rows]).tolist(),
            "start": int(np.argmin(np.abs(flagged - start))),
        }, order

    def contributions(self, row: int) -> tuple[Any, str]:
        """Return how much each variable adds to the squared distance of a row, or None and the reason."""
        if self.estimator is None:
            return None, "The model has no single subspace to measure a distance to."
        try:
            found = contributions(self.estimator, self.X[row : row + 1], "spe")[0]
        except ValueError as error:  # of a kernel without a derivative, of columns that a pipeline replaces, and so on
            return None, str(error)
        texts, encoded = self.recipe.categories, self.recipe.encoded
        widths = [len(texts[name]) if name in encoded else 1 for name in self.recipe.columns]
        return np.add.reduceat(found, np.cumsum([0, *widths[:-1]])).tolist(), ""

    # predictions

    @cached_property
    def predicted(self) -> Any:
        """The class, cluster or alarm of each row, or None."""
        if self.predicts is None:
            return None
        found = np.asarray(self.model.predict(self.X))
        return np.where(found < 0, "alarm", "usual") if hasattr(self.model, "limits_") else found

    @property
    def predicts(self) -> str | None:
        """What ``predicted`` holds, in a word."""
        words = {"classes_": "predicted class", "limits_": "state", "predict": "cluster"}
        known = [word for name, word in words.items() if hasattr(self.model, name)]
        return known[0] if hasattr(self.model, "predict") else None


def _stand_in(model: Any, X: Any) -> Any:
    """Return the kernel PCA of the rows with the kernel of a model that gives no coordinates."""
    kernel = getattr(model, "kernel_", None)
    if kernel is None:
        kernel = model._kernel().bind(X) if hasattr(model, "_kernel") else RBF("median")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a model that the user did not ask for
        return _fitted(min(STAND_IN, len(X) - 1), kernel, X)


def _fitted(q: int, kernel: Any, X: Any, **settings: Any) -> Any:
    solver = "landmarks" if len(X) > LANDMARKS_FROM else "auto"
    return KernelPCA(q, kernel=kernel, solver=solver, random_state=SEED, **settings).fit(X)


def _tail(values: Any) -> Any:
    """Return the share of rows beyond each value under Pearson's type III law with the moments of all values."""
    spread = values.std()
    if spread == 0:
        return np.zeros(len(values))
    z = (values - values.mean()) / spread
    skew = float(np.mean(z**3))
    if skew < SYMMETRIC:
        return ndtr(-z)
    a = 4 / skew**2  # shape of the gamma law, whose mean is a and whose variance is a
    return gammaincc(a, np.clip(a + z * np.sqrt(a), 0, None))
