"""Pipelines that end with a model: the preprocessing of samples, and the names of the features."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline


def parts(estimator: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return the preprocessing, a function of samples, and the final model of a fitted pipeline or a model."""
    if not isinstance(estimator, Pipeline):
        return (lambda X: X), estimator
    before, model = estimator[:-1], estimator[-1]
    return (lambda X: np.asarray(before.transform(X))) if len(before) else (lambda X: X), model


def names(estimator: Any, X: Any, d: int) -> list[str]:
    """Return the names of the d features that the kernel sees: those of the pipeline or the table, or x0, x1, …"""
    columns = getattr(X, "columns", None)
    named = None if columns is None else np.asarray(list(columns), dtype=object)
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        with suppress(AttributeError, ValueError):  # of a step without get_feature_names_out
            named = np.asarray(estimator[:-1].get_feature_names_out(named), dtype=object)
    return [f"x{i}" for i in range(d)] if named is None or len(named) != d else [str(name) for name in named]
