"""The subject of a report: a fitted model and rows, with optional names, classes and units."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...models.monitor.lags import as_runs, lagged
from ...models.pipelines import parts

REASONS = 3  # variables named for an unusual row
MOST_NUMBERS = 10  # up to so many different numbers are coloured as classes


@dataclass(frozen=True)
class Subject:
    """A fitted model, rows, their indices in the table and names of the columns; classes, a colour and units if any."""

    model: Any
    X: np.ndarray
    index: np.ndarray
    columns: list[str]
    y: np.ndarray | None = None
    color: tuple[str, np.ndarray] | None = None
    units: np.ndarray | None = None
    filled: np.ndarray | None = None
    spread: np.ndarray | None = None
    training: bool = False

    @property
    def last(self) -> Any:
        """The model, or the last step of a pipeline."""
        return parts(self.model)[1]

    @cached_property
    def inner(self) -> "Subject":
        """The model inside a monitor, with the rows and columns that it gets; other models are unchanged."""
        lags = getattr(self.model, "lags", 0)
        return replace(
            self,
            model=getattr(self.model, "estimator_", self.model),
            X=lagged(self.X, lags, as_runs(None, len(self.X))),
            columns=[name + (f" ({lag} before)" if lag else "") for lag in range(lags + 1) for name in self.columns],
        )

    @cached_property
    def prepared(self) -> np.ndarray:
        """The rows as the last step gets them."""
        return np.asarray(parts(self.model)[0](self.X))

    @cached_property
    def coordinates(self) -> tuple[np.ndarray, bool]:
        """The first components of the rows, and whether they are the model's own (else: of a new kernel PCA)."""
        if hasattr(self.inner.model, "transform"):
            return np.asarray(self.inner.model.transform(self.inner.X)), True
        from ... import KernelPCA

        kernel = getattr(self.last, "kernel_", "rbf")
        return KernelPCA(2, kernel=kernel, random_state=0).fit_transform(self.prepared), False

    def colours(self) -> dict[str, np.ndarray]:
        """Return the names and values by which the map is coloured."""
        found: dict[str, np.ndarray] = {}
        if self.color is not None:
            found[self.color[0]] = as_colour(self.color[1])
        if self.y is not None:
            found["class"] = np.asarray([str(label) for label in self.y])
        elif hasattr(self.model, "predict_proba"):
            name = "predicted class" if hasattr(self.model, "classes_") else "cluster"
            found[name] = np.asarray([str(label) for label in self.model.predict(self.X)])
        if hasattr(self.inner.last, "reconstruction_error"):
            found["novelty"] = self.inner.last.reconstruction_error(self.inner.prepared)
        return found


def as_colour(values: np.ndarray) -> np.ndarray:
    """Return numbers if more than ``MOST_NUMBERS`` are different, otherwise strings."""
    values = np.asarray(values)
    try:
        numbers = np.array([np.nan if value is None else float(value) for value in values])
    except ValueError:
        return np.asarray([str(value) for value in values])
    few = len(np.unique(numbers)) <= MOST_NUMBERS
    return np.asarray([f"{number:g}" for number in numbers]) if few else numbers
