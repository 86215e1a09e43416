"""What a fitted pipeline does to rows before a kernel sees them."""

from contextlib import suppress

import numpy as np
from sklearn.pipeline import Pipeline


def parts(estimator):
    """The preparation of rows, a function, and the model at the end: of a pipeline, or of a model alone."""
    if not isinstance(estimator, Pipeline):
        return (lambda X: X), estimator
    before, model = estimator[:-1], estimator[-1]
    return (lambda X: np.asarray(before.transform(X))) if len(before) else (lambda X: X), model


def names(estimator, X, d):
    """Names of the d columns that the kernel sees: those of the table, or of what was made of it, or x0, x1, …"""
    columns = getattr(X, "columns", None)
    named = None if columns is None else np.asarray(list(columns), dtype=object)
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        with suppress(AttributeError, ValueError):  # of a step that cannot tell
            named = np.asarray(estimator[:-1].get_feature_names_out(named), dtype=object)
    return [f"x{i}" for i in range(d)] if named is None or len(named) != d else [str(name) for name in named]
