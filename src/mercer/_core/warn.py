"""Warnings of the library: their categories, and the line of the user's code that they point at."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OURS = ("mercer", "sklearn", "joblib", "contextlib", "functools")  # packages whose lines are not the user's


class MercerWarning(UserWarning):
    """Base class of all warnings of the library.

    ``warnings.simplefilter("ignore", mercer.MercerWarning)`` silences all of them, a subclass one kind.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from mercer import KernelPCA, MercerWarning
    >>> from mercer.kernels import RBF
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", MercerWarning)
    ...     model = KernelPCA(2, kernel=RBF(1e6)).fit(np.eye(5))  # a kernel that is far too narrow
    >>> [warning.category.__name__ for warning in caught]
    ['KernelWidthWarning']
    """


class KernelWidthWarning(MercerWarning):
    """The kernel is too narrow or too wide for the data: its matrix is close to the identity, or to a constant."""


class ColumnScaleWarning(MercerWarning):
    """Some columns have a much larger scale than the others and decide the distances alone."""


class RepeatedRowsWarning(MercerWarning):
    """Many rows are copies of others: weights would save time and memory."""


class LandmarkWarning(MercerWarning):
    """A considerable share of the variance lies outside the span of the landmarks."""


class IndefiniteKernelWarning(MercerWarning):
    """The kernel matrix has negative eigenvalues, which are left out."""


class ComponentsWarning(MercerWarning):
    """Fewer components than requested, or components that are not informative."""


class NoiseWarning(MercerWarning):
    """The noise variance leaves nothing outside, or nothing inside, the subspace."""


_given: ContextVar[set | None] = ContextVar("given", default=None)


@contextmanager
def once() -> Iterator[None]:
    """Give each category of warning once inside the block: a fit of many models speaks once."""
    if _given.get() is not None:
        yield
        return
    token = _given.set(set())
    try:
        yield
    finally:
        _given.reset(token)


def warn(message: str, category: type[Warning] = MercerWarning) -> None:
    """Issue a warning that points at the line of the user's code that led to it."""
    given = _given.get()
    if given is None or category not in given:
        warnings.warn(message, category, stacklevel=_user_level())
    if given is not None:
        given.add(category)


def _user_level() -> int:
    """Return the stacklevel, counted from ``warn``, of the first frame outside of mercer and scikit-learn."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame, level = frame.f_back, level + 1
    return level
