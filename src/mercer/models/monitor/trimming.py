"""Training rows that may be abnormal: which are the sparsest, and how many of them are too sparse to be normal."""

import numpy as np

from ...kernels import RationalQuadratic
from ...kernels.width import median_sqdist
from ...rkhs import Expansion
from .default import InnerScaler

REFERENCE = 1000  # rows by which density is judged
MARGIN = 1.5  # times the share of abnormal rows is left out of the axes: some of them are denser than normal rows
HALVINGS = 6  # beyond the third quartile, in steps from the median to it: a law that halves at each step has
EXPECTED = 0.25 * 0.5**HALVINGS  # 0.4 % of its rows there


def sparseness(X, rng):
    """Return −log of the mean of k(x, ·) over some rows, k = 1/(1 + t/median), for each row of X in robust scales."""
    X = InnerScaler().fit_transform(np.asarray(X, float))
    n = len(X)
    some = X if n <= REFERENCE else X[np.sort(rng.choice(n, REFERENCE, replace=False))]
    kernel = RationalQuadratic(gamma=1 / (median_sqdist(X) or 1.0))
    density = Expansion(kernel, some, np.full((len(some), 1), 1 / len(some)))(X)[:, 0]
    return -np.log(density)


def excess(sparse):
    """Return the share of rows that are sparser than an exponential tail explains.

    The tail beyond the third quartile is taken to halve, at the slowest, over each distance from the median to the
    third quartile. What lies beyond six such distances, less the 0.4 % that may, is in excess.
    """
    median, third = np.quantile(sparse, [0.5, 0.75])
    beyond = np.mean(sparse > third + HALVINGS * (third - median))
    return float(max(beyond - EXPECTED, 0.0)) if third > median else 0.0


def denser(sparse, share):
    """Return the mask of all rows but the sparsest ``share`` of them."""
    n = len(sparse)
    mask = np.ones(n, bool)
    mask[np.argsort(-sparse, kind="stable")[: round(share * n)]] = False
    return mask
