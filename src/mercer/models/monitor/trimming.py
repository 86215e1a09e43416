"""Training rows that may be abnormal: how many are too isolated to be normal, and which ones to leave out."""

import numpy as np

from ..._core.tiles import map_rows
from ...kernels import sqdist

REFERENCE = 2000  # number of rows to which others are compared
NEIGHBOURS = 20  # in addition to a possible cluster of abnormal rows: fewer do not represent the surroundings of a row
SUPPOSED = 0.1  # share of abnormal rows, even in one cluster, that can be detected if the share is not known
MARGIN = 2.0  # times the share is left out of the axes: it may be too small, and abnormal rows may have near neighbours
MOST_LEFT_OUT = 0.5  # of all rows, out of the axes
POWER = 0.5  # shape of the Weibull tail of normal rows: heavier than that of a normal distribution
BODY = 0.85  # quantile that, with the median, determines the slope of the tail
SURE = 2.0  # standard errors that are subtracted from the estimated share
APART = 1e-9  # of the largest value: values that are closer are equal up to rounding
LIKELY = 1.0  # the same, if the user states that there are abnormal rows


def suspects(X: np.ndarray, rng: np.random.Generator) -> float:
    """Return a lower bound of the share of rows that are too isolated to be normal, at most 10 %."""
    return min(bound(isolation(_some(X, rng), SUPPOSED, rng)), SUPPOSED)


def bound(isolated: np.ndarray, power: float = POWER, body: float = BODY, sure: float = SURE) -> float:
    """Return a lower bound of the share of values that a Weibull tail does not explain (Meinshausen & Rice 2006).

    Normal values are assumed to have a Weibull tail of shape ``power``: raised to this power, they have an exponential
    tail. Its rate is computed from their median and their quantile ``body``. The bound counts the values in excess of
    this tail, less ``sure`` standard errors. It is computed again with these values left out of the quantiles, until it
    grows by less than one value.
    """
    ordered = np.sort(isolated**power)
    share, more = 0.0, _excess(ordered, 0.0, body, sure)
    while more >= share + 1 / len(ordered) and share < SUPPOSED:
        share, more = more, _excess(ordered, more, body, sure)
    return share


def _excess(ordered: np.ndarray, share: float, body: float, sure: float, tied: float = 0.0) -> float:
    """Return the largest #{values ≥ v}/n − S(v) − sure·√(S(v)/n₁), S(v) the expected share of normal values above v.

    The standard error is that of n₁ rows, the number of different values: copies of a row are not independent. Return
    ``tied`` if so many values are equal that there is no tail.
    """
    n, different = len(ordered), 1 + np.count_nonzero(np.diff(ordered) > APART * ordered[-1])
    middle, upper = np.quantile(ordered[: round((1 - share) * n)], [0.5, body])
    if upper <= middle:
        return tied
    normal = (1 - share) / 2 * (2 * (1 - body)) ** (np.maximum(ordered - middle, 0) / (upper - middle))
    beyond = 1 - np.arange(n) / n - normal - sure * np.sqrt(normal / different)
    return float(np.max(beyond[ordered >= upper]))


def shown(isolated: np.ndarray, share: float) -> float:
    """Return the share of rows to leave out of the limits: at most ``share``, and only rows that no tail explains.

    Rows that the tail of the others explains are probably normal, and limits without them would be too tight. The tail
    is fitted without the given share of the rows. If the share that it does not explain, less one standard error, is
    smaller than the given share, it replaces the given share, and the tail is fitted again.
    """
    ordered = np.sort(isolated**POWER)
    while share > (found := max(_excess(ordered, share, BODY, LIKELY, tied=share), 0.0)) + 1 / len(ordered):
        share = found
    return share


def isolation(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return the distance of each row to its k-th neighbour.

    k is larger than the number of abnormal rows if their share is ``share``. Rows in a cluster of abnormal rows then
    count as isolated too, even if the share is somewhat too small.
    """
    some = _some(X, rng)
    k = min(NEIGHBOURS + round(share * len(some)), len(some) - 1)

    def kth(x: np.ndarray) -> np.ndarray:  # a row is its own first neighbour
        return np.sqrt(np.partition(sqdist(x, some), k, axis=1)[:, k])

    return map_rows(kth, X, width=len(some))


def nearest(isolated: np.ndarray, share: float) -> np.ndarray:
    """Return the mask of all rows but the most isolated ``share`` of them."""
    n = len(isolated)
    mask = np.ones(n, bool)
    mask[np.argsort(-isolated, kind="stable")[: round(share * n)]] = False
    return mask


def _some(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X if len(X) <= REFERENCE else X[np.sort(rng.choice(len(X), REFERENCE, replace=False))]
