"""Control limits of T² and SPE at a joint rate of false alarms."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from ..._core.registry import stored

ROUNDING = 1e-10  # of the variance in feature space: an SPE below it is no distance


@stored("monitor.Limits")
class Limits(NamedTuple):
    """The limits of both charts: a row beyond either is an alarm.

    Examples
    --------
    >>> from mercer import KernelPCAMonitor, datasets
    >>> monitor = KernelPCAMonitor(random_state=0).fit(datasets.three_tanks(n=500)[0])
    >>> monitor.limits_._fields
    ('t2', 'spe')
    """

    t2: float
    spe: float


def empirical(t2, spe, alpha):
    """Limits that a share ``alpha`` of the rows exceed in at least one chart, at the same rank in both.

    A row's rank is the larger of its ranks in the two charts, so that the rate is joint whatever their dependence.
    The rank ⌈(n + 1)(1 − α)⌉ of n rows makes the expected rate α for a row to come; where there are too few rows for
    it (n < 1/α − 1), each chart's tail is that of g·χ²_h.
    """
    n = len(t2)
    rank = int(np.ceil((n + 1) * (1 - alpha)))
    if rank > n:
        return tails(t2, spe, alpha)
    joint = np.maximum(*(stats.rankdata(values, "ordinal") for values in (t2, spe)))
    place = int(np.sort(joint)[rank - 1]) - 1
    return Limits(float(np.sort(t2)[place]), float(np.sort(spe)[place]))


def tails(t2, spe, alpha):
    """Limits of each chart by g·χ²_h, matched to the mean and the variance of the rows' values."""
    return Limits(*(scaled_chi2(values, each(alpha)) for values in (t2, spe)))


def classical(t2, spe, alpha, q, n):
    """T² by Hotelling's law for new rows, q(n² − 1)/(n(n − q))·F_{q, n−q}; SPE by g·χ²_h (Box 1954; Nomikos 1995)."""
    limit = 0.0
    if q > 0:
        if n <= q:
            raise ValueError(
                f"The F limit of T² needs more rows than components, and there are {n} rows and {q} components. "
                "Ask for fewer components, or use limits='holdout'."
            )
        limit = q * (n**2 - 1) / (n * (n - q)) * stats.f.ppf(1 - each(alpha), q, n - q)
    return Limits(float(limit), scaled_chi2(spe, each(alpha)))


def each(alpha):
    """The rate of one of two independent charts, 1 − √(1 − α), that makes their joint rate α."""
    return -np.expm1(np.log1p(-alpha) / 2)


def scaled_chi2(values, alpha):
    """The 1 − α quantile of g·χ²_h: g = variance / (2 mean), h = 2 mean² / variance."""
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    if mean <= 0 or variance <= np.finfo(float).eps * mean**2:
        return max(mean, 0.0)
    return float(stats.gamma.ppf(1 - alpha, mean**2 / variance, scale=variance / mean))


def above_rounding(limits, total_variance):
    """The limits, where a model leaves no residual: those of rounding, so that ratios to them stay finite."""
    tiny = np.finfo(float).tiny
    return Limits(max(limits.t2, ROUNDING), max(limits.spe, ROUNDING * total_variance, tiny))
