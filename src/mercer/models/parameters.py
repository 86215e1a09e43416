"""Parameters that several estimators share: their constraints, random numbers and counts."""

from collections.abc import Callable
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._core.registry import KERNELS, PREIMAGES, SOLVERS
from .._core.sklearn import HasMethods, Interval, Named, RealNotInt
from ..kernels import Kernel

KernelLike = str | Kernel | Callable[..., Any]
AT_LEAST_0 = Interval(Integral, 0, None, closed="left")
AT_LEAST_1 = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
SHARED: dict[str, list] = {
    "n_components": [AT_LEAST_1, Interval(RealNotInt, 0, 1, closed="neither"), None],  # a number, a share, or all
    "kernel": [Named(KERNELS), callable],
    "center": ["boolean"],
    "solver": [Named(SOLVERS, "auto"), callable],
    "preimage": [Named(PREIMAGES, "auto"), HasMethods("bind")],
    "max_iter": [AT_LEAST_1],
    "tol": [NOT_NEGATIVE],
    "random_state": ["random_state"],
}
FROM_0 = [AT_LEAST_0, *SHARED["n_components"][1:]]  # 0 components: the mean alone


def constraints(*shared: str, **own: list) -> dict[str, list]:
    """Return the constraints of an estimator, as scikit-learn checks them: shared ones by name, and its own."""
    return {name: SHARED[name] for name in shared} | own


def generator(random_state: Any) -> np.random.Generator:
    """Return the NumPy generator for a ``random_state`` of scikit-learn."""
    if type(random_state) is int:
        return np.random.default_rng(_seed(random_state))
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


@lru_cache(maxsize=1000)
def _seed(random_state: int) -> int:
    """Return the seed for an integer; cached, because scikit-learn's generator is slow to start."""
    return check_random_state(random_state).randint(2**31)


def check_count(name: str, value: Any) -> None:
    """Raise an error if an argument is not an integer ≥ 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be an integer ≥ 1, and {value!r} was given.")
