"""Run a law, and compare values with errors that say what was compared and how much it differs."""

from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDING = 100  # units in the last place, of the largest entry
DIFFERENCE = 1e-5  # step of a central difference, as a share of the argument: its error is about 1e-10
DIFFERENCE_TOL = 1e-6


def obeyed(law: Callable, subject: Any, *args: Any) -> None:
    """Run a law; an error names the subject and the law."""
    try:
        law(subject, *args)
    except AssertionError as error:
        raise AssertionError(f"{subject!r} breaks a law: {law.__doc__}\n{error}") from error


def size(values: Any) -> float:
    """Return the largest |entry|; 0 if there is none."""
    return float(np.abs(values).max(initial=0))


def same(actual: Any, expected: Any, what: str) -> None:
    """Check that two values are equal."""
    assert actual == expected, f"{what} is {actual}, and {expected} is right"


def close(actual: Any, expected: Any, what: str, scale: float | None = None, dtype: Any = None) -> None:
    """Check that two arrays are equal to rounding in ``dtype``, of the largest entry."""
    scale = size(expected) if scale is None else scale
    eps = np.finfo(np.asarray(actual).dtype if dtype is None else dtype).eps
    within(actual, expected, ROUNDING * eps * scale, what)


def within(actual: Any, expected: Any, tol: Any, what: str) -> None:
    """Check that two arrays have the same shape and differ by no more than ``tol``."""
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    same(actual.shape, expected.shape, f"the shape of {what}")
    excess = np.abs(actual - expected) - tol
    if excess.size and not np.all(excess <= 0):  # NaN fails too
        worst = np.unravel_index(np.argmax(np.nan_to_num(excess, nan=np.inf)), excess.shape)
        raise AssertionError(
            f"{what} differ: {actual[worst]:.17g} and {expected[worst]:.17g} at {tuple(map(int, worst))}, "
            f"more than {np.broadcast_to(tol, excess.shape)[worst]:.3g} apart"
        )
