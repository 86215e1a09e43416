"""The kernel of a mixed table, made from the types of its columns."""

from collections import Counter
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from .base import Kernel
from .categorical import Categorical
from .compose import OnColumns
from .objects import as_objects
from .radial import RBF

EXPONENT = 0.25  # a: −log k at the mean distance of two rows; compared on twelve tables (docs/design.md)


def mixed(X: Any, categorical: Sequence[Any] | None = None) -> Kernel:
    """Return ``OnColumns(RBF(…), numbers) * OnColumns(Categorical(…), categories)`` with widths from a table.

    Each column of numbers is divided by its standard deviation. At the mean distances the exponents of the two kernels
    add up to −¼. Each has a share proportional to its number of columns, so that neither kind outweighs the other.
    Missing numbers are ignored here, but are an error in ``fit``; a missing category is a category of its own.

    Parameters
    ----------
    X : data frame, or array of objects or numbers, of shape (n_samples, n_features)
        The training table. Columns of strings, booleans and categories are categorical.
    categorical : sequence of names or positions, default=None
        The categorical columns, if they cannot be inferred from the types.

    Returns
    -------
    kernel : Kernel
        The product; for a table of one kind, the kernel of that kind.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import mixed
    >>> table = np.array([[1.0, "red"], [2.0, "blue"], [4.0, "red"]], dtype=object)
    >>> kernel = mixed(table)
    >>> [type(part.k1).__name__ for part in kernel.parts], kernel.k2.columns
    (['RBF', 'Categorical'], [1])
    """
    table, names = as_objects(X), _names(X)
    chosen = None if categorical is None else set(categorical)
    of_kind: dict[bool, list[int]] = {False: [], True: []}
    for j, name in enumerate(names):
        of_kind[_is_category(X, table[:, j], name) if chosen is None else name in chosen].append(j)
    if chosen is not None and len(of_kind[True]) != len(chosen):
        raise ValueError(f"categorical={list(categorical or [])} names columns that are not in the table.")
    makers = {False: _of_numbers, True: _of_categories}
    parts = [
        OnColumns(makers[kind](table[:, index], len(index) / len(names)), [names[j] for j in index])
        for kind, index in of_kind.items()
        if index
    ]
    return parts[0] if len(parts) == 1 else parts[0] * parts[1]


def _names(X: Any) -> list:
    """Return the names of a frame's columns, if all are strings, or positions."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else list(range(as_objects(X).shape[1]))


def _is_category(X: Any, values: np.ndarray, name: Any) -> bool:
    """Return True for a column of strings, booleans or of a frame's categorical type."""
    if hasattr(X, "columns") and str(X[name].dtype) == "category":
        return True
    known = [value for value in map(Categorical.cell, values) if value is not None]
    return not all(isinstance(value, Real) and not isinstance(value, bool) for value in known)


def _of_numbers(values: np.ndarray, share: float) -> RBF:
    """exp(−a share Σ(Δ/s)²/2d), s the standard deviations: the mean of Σ(Δ/s)² over all pairs is 2d."""
    values = values.astype(float)
    most = np.nanmax(np.abs(values), axis=0, initial=0)
    most[most == 0] = 1.0
    scale = np.nanstd(values / most, axis=0) * most  # of quotients: squares of the values may overflow
    widths = np.where(scale > 0, scale, 1.0) * np.sqrt(values.shape[1] / (EXPONENT * share))
    return RBF(lengthscale=widths.tolist())


def _of_categories(values: np.ndarray, share: float) -> Categorical:
    """exp(−a share h/m), h the share of columns that differ and m its mean over all pairs."""
    counts = [np.array([*Counter(map(Categorical.cell, column)).values()]) for column in values.T]
    mean = np.mean([1 - np.sum((count / len(values)) ** 2) for count in counts])
    return Categorical(gamma=float(EXPONENT * share / mean) if mean > 0 else 1.0)
