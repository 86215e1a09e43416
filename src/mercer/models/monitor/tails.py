"""Tail probabilities of T² and SPE among rows that the model has not seen, and their combination in one score.

The tail probability of a statistic is computed from its rank among the calibration rows. Beyond the largest of these, a
generalised Pareto distribution is used, so that rows with larger values still differ in their scores. The smaller of
the two tail probabilities of a row is the combined statistic. It is calibrated in the same way once more, so that the
alarm rate holds for both charts together, whatever the dependence between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ..._core.fields import Numbers
from ..._core.registry import stored
from .limits import Limits, each, hotelling, scaled_chi2
from .rules import effective

TOP = 0.1  # share of the calibration values, the largest ones, that the tail is fitted to
FEWEST = 10  # smallest number of values that the tail is fitted to
HEAVIEST = 0.5  # largest shape: from here on the variance, from which the shape is computed, is infinite
RESOLUTION = 1e-6  # of the largest value: the smallest scale of a tail
ROUNDING = 1e-10  # of the variance in feature space: an SPE below it is a rounding error
LAW_KNOTS = -np.linspace(0, 12, 241)  # log₁₀ of the probabilities at which a distribution in closed form is tabulated


@stored("monitor.Tail")
@dataclass(frozen=True, eq=False)
class Tail:
    """log P(V ≥ v): linear between ``knots``, and a generalised Pareto distribution beyond the last of them."""

    knots: Annotated[np.ndarray, Numbers("k")]
    log_p: Annotated[np.ndarray, Numbers("k")]
    shape: float
    scale: float

    def log(self, values: Any) -> np.ndarray:
        """Return log P(V ≥ v) of each value; it decreases strictly beyond the last knot."""
        inside = np.interp(values, self.knots, self.log_p)
        excess = np.maximum(np.asarray(values) - self.knots[-1], 0) / self.scale
        return inside - (np.log1p(self.shape * excess) / self.shape if self.shape > 0 else excess)

    def inverse(self, log_p: float) -> float:
        """Return the value whose tail probability is given."""
        inside = np.interp(-log_p, -self.log_p, self.knots)
        beyond = max(float(self.log_p[-1]) - log_p, 0.0)
        return float(inside + self.scale * (np.expm1(self.shape * beyond) / self.shape if self.shape > 0 else beyond))


def by_ranks(values: np.ndarray, n_effective: float | None = None) -> Tail:
    """Return the tail of calibration values: P = #{values ≥ v}/(n + 1) at each, a fitted tail beyond the largest.

    The value at P = α is exceeded at the expected rate α by a further value that is continuous and exchangeable with
    the calibration values. If these count like ``n_effective`` = n_e < n independent values, P = (1 + n_e(#{values ≥ v}
    − 1)/n)/(n_e + 1): the largest one has P = 1/(n_e + 1).
    """
    n, ordered = len(values), np.sort(values)
    knots, first = np.unique(ordered, return_index=True)
    n_e = n if n_effective is None else n_effective
    log_p = np.log((1 + n_e * (n - first - 1) / n) / (n_e + 1))
    if knots[0] > 0:  # statistics are not negative
        knots, log_p = np.append(0.0, knots), np.append(0.0, log_p)
    return Tail(knots, log_p, *_pareto(ordered))


def _pareto(ordered: np.ndarray) -> tuple[float, float]:
    """Return shape ξ ≥ 0 and scale of the Pareto distribution beyond the largest value, by the moments of the excesses.

    ξ = (1 − m²/s²)/2 and σ = m(1 − ξ) for the mean m and variance s² of the values above a threshold u, less u; beyond
    the largest value the scale is σ + ξ(max − u). A bounded law (ξ < 0) could not rank values beyond its bound.
    """
    k = min(max(FEWEST, int(TOP * len(ordered))), len(ordered) - 1)
    excess = ordered[-k:] - ordered[-k - 1]
    mean, variance = excess.mean(), excess.var()
    shape = min(max((1 - mean**2 / variance) / 2, 0.0), HEAVIEST) if variance > 0 else 0.0
    scale = mean * (1 - shape) + shape * excess[-1]
    return float(shape), float(max(scale, RESOLUTION * ordered[-1]) or 1.0)


def by_law(law: Any, alpha: float) -> Tail:
    """Return the tail of a frozen distribution of SciPy, with a knot at ``alpha``, exponential beyond the last one."""
    log_p = np.unique(np.append(LAW_KNOTS * np.log(10), np.log(alpha)))[::-1]  # from 0 down
    knots = law.isf(np.exp(log_p))
    slope = (knots[-1] - knots[-2]) / (log_p[-2] - log_p[-1])
    return Tail(knots, log_p, 0.0, float(slope) or 1.0)


@stored("monitor.Tails")
@dataclass(frozen=True, eq=False)
class Tails:
    """The tails of T² (None if it is not used) and of SPE, and that of the smaller of their tail probabilities."""

    t2: Tail | None
    spe: Tail
    joint: Tail
    floor: float

    def log_p(self, t2: np.ndarray, spe: np.ndarray) -> np.ndarray:
        """Return the joint log tail probability of each row."""
        return self.joint.log(self.surprise(t2, spe))

    def surprise(self, t2: np.ndarray, spe: np.ndarray) -> np.ndarray:
        """Return −log p, with p the smaller tail probability of the two charts."""
        return _surprise(self.t2, self.spe, t2, np.maximum(spe, self.floor))

    def limits(self, alpha: float) -> Limits:
        """Return the limits that are exceeded in at least one chart at the rate ``alpha``."""
        log_p = -self.joint.inverse(np.log(alpha))
        return Limits(np.inf if self.t2 is None else self.t2.inverse(log_p), self.spe.inverse(log_p))


def _surprise(t2_tail: Tail | None, spe_tail: Tail, t2: np.ndarray, spe: np.ndarray) -> np.ndarray:
    log_p = spe_tail.log(spe)
    return -(log_p if t2_tail is None else np.minimum(log_p, t2_tail.log(t2)))


def calibrated(
    calibration: np.ndarray, charts: Sequence[str], total_variance: float, n_effective: float | None = None
) -> Tails:
    """Return the tails from T² and SPE of calibration rows, the columns of ``calibration``."""
    floor = ROUNDING * total_variance
    t2, spe = calibration[:, 0], np.maximum(calibration[:, 1], floor)
    t2_tail, spe_tail = by_ranks(t2, n_effective) if "t2" in charts else None, by_ranks(spe, n_effective)
    surprise = by_ranks(_surprise(t2_tail, spe_tail, t2, spe), n_effective)
    # beyond the calibration rows −log of the joint probability increases by as much as the surprise
    return Tails(t2_tail, spe_tail, Tail(surprise.knots, surprise.log_p, 0.0, 1.0), floor)


def in_time(calibration: np.ndarray, charts: Sequence[str], total_variance: float) -> Tails:
    """Return the tails from calibration rows in time, which count like a smaller number of independent rows."""
    n_effective = effective(calibrated(calibration, charts, total_variance).surprise(*calibration.T))
    return calibrated(calibration, charts, total_variance, n_effective)


def classical(calibration: np.ndarray, alpha: float, q: int, total_variance: float) -> Tails:
    """Return the tails by Hotelling's F distribution and g·χ²_h, for independent charts: joint p = 1 − (1 − p)²."""
    floor, n = ROUNDING * total_variance, len(calibration)
    one = each(alpha)
    t2 = by_law(hotelling(q, n), one) if q > 0 else by_ranks(calibration[:, 0])
    spe = by_law(scaled_chi2(np.maximum(calibration[:, 1], floor)), one)
    surprise = np.unique(np.append(-LAW_KNOTS * np.log(10), -np.log(one)))
    joint = Tail(surprise, _sidak(surprise), 0.0, 1.0)
    return Tails(t2, spe, joint, floor)


def _sidak(surprise: np.ndarray) -> np.ndarray:
    """log(1 − (1 − p)²) = log p + log(2 − p) for p = exp(−surprise)."""
    return -surprise + np.log(2 - np.exp(-surprise))
