"""The words for what a monitor cannot do, or can do badly."""

import warnings
from numbers import Integral, Real

import numpy as np


def check_chart(smoothing, run):
    """Refuse a chart that cannot be drawn."""
    if not (isinstance(smoothing, Real) and 0 < float(smoothing) <= 1):
        raise ValueError(f"smoothing must be a number in (0, 1], and {smoothing!r} was given.")
    if not (isinstance(run, Integral) and int(run) >= 1):
        raise ValueError(f"run must be a whole number of rows, at least 1, and {run!r} was given.")


def warn_of_constants(X, names):
    """Warn of columns that tell nothing."""
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if len(constant):
        named = constant.tolist() if names is None else names[constant].tolist()
        warnings.warn(
            f"The columns {named} are constant: nothing tells how much they may change, and a change counts in raw "
            "units. Look at these sensors, or leave the columns out.",
            stacklevel=4,
        )


def warn_of_few_rows(model, n):
    """Warn of a model that has a component for every row."""
    asked = getattr(model, "n_components", None)
    if isinstance(asked, Integral) and asked >= n:
        warnings.warn(
            f"{asked} components are asked for, and {n} rows have at most {n - 1}: the model fits every row, and its "
            "limits say little. Ask for fewer components, or give more rows.",
            stacklevel=4,
        )
