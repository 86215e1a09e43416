"""Control limits of T² and SPE, and the classical distributions of both statistics for normal data."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ..._core.registry import stored

CONSTANT = 1e-4  # times the mean: the smallest standard deviation that is assumed for nearly constant values


@stored("monitor.Limits")
class Limits(NamedTuple):
    """The limits of both charts: a row beyond either is an alarm.

    A statistic that cannot raise alarms has an infinite limit.

    Examples
    --------
    >>> from mercer import KernelPCAMonitor, datasets
    >>> monitor = KernelPCAMonitor(random_state=0).fit(datasets.three_tanks(n=500)[0])
    >>> monitor.limits_._fields
    ('t2', 'spe')
    """

    t2: float
    spe: float


def hotelling(q: int, n: int) -> Any:
    """Return the distribution of T² of new rows, q(n² − 1)/(n(n − q))·F_{q, n−q}."""
    if n <= q:
        raise ValueError(
            f"The F limit of T² needs more rows than components, and there are {n} rows and {q} components. "
            "Ask for fewer components, or use limits='holdout'."
        )
    return stats.f(q, n - q, scale=q * (n**2 - 1) / (n * (n - q)))


def scaled_chi2(values: np.ndarray) -> Any:
    """Return the distribution g·χ²_h with the mean and variance of the values: g = s²/(2m), h = 2m²/s² (Box 1954)."""
    mean = float(np.mean(values)) or 1.0
    variance = max(float(np.var(values, ddof=1)), (CONSTANT * mean) ** 2)
    return stats.chi2(2 * mean**2 / variance, scale=variance / (2 * mean))


def each(alpha: float) -> float:
    """Return 1 − √(1 − α), the alarm rate of each of two independent charts whose joint alarm rate is α."""
    return -np.expm1(np.log1p(-alpha) / 2)
