"""Training rows that may be abnormal: how many are too sparse to be normal, and which ones to leave out."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ...kernels import RationalQuadratic
from ...kernels.width import median_sqdist
from ...rkhs import Expansion

REFERENCE = 2000  # rows by which others are judged
NEIGHBOURS = 20  # at least: fewer see too little of a row's surroundings
MARGIN = 2.0  # times the share of abnormal rows is left out of the axes: some of them are denser than normal rows
MOST_LEFT_OUT = 0.5  # of all rows
HALVINGS = 6  # beyond the third quartile, in steps from the median to it: a law that halves at each step has
EXPECTED = 0.25 * 0.5**HALVINGS  # 0.4 % of its rows there


def excess(X, rng):
    """Return the share of rows that are sparser than an exponential tail explains.

    Sparse is −log of the mean of k(x, ·), k = 1/(1 + t/median). Beyond its third quartile the tail is taken to halve,
    at the slowest, over each distance from the median to the third quartile. What lies beyond six such distances, less
    the 0.4 % that may, is in excess.
    """
    some = _some(X, rng)
    kernel = RationalQuadratic(gamma=1 / (median_sqdist(X) or 1.0))
    sparse = -np.log(Expansion(kernel, some, np.full((len(some), 1), 1 / len(some)))(X)[:, 0])
    median, third = np.quantile(sparse, [0.5, 0.75])
    beyond = np.mean(sparse > third + HALVINGS * (third - median))
    return float(max(beyond - EXPECTED, 0.0)) if third > median else 0.0


def isolation(X, share, rng):
    """Return the distance of each row to its k-th neighbour.

    k is the number of abnormal rows where ``share`` of them are, so that no cluster of abnormal rows is dense.
    """
    some = _some(X, rng)
    k = min(max(NEIGHBOURS, round(share * len(some))), len(some) - 1)
    return NearestNeighbors(n_neighbors=k + 1).fit(some).kneighbors(X)[0][:, -1]  # a row is its own first neighbour


def nearest(isolated, share):
    """Return the mask of all rows but the most isolated ``share`` of them."""
    n = len(isolated)
    mask = np.ones(n, bool)
    mask[np.argsort(-isolated, kind="stable")[: round(share * n)]] = False
    return mask


def _some(X, rng):
    return X if len(X) <= REFERENCE else X[np.sort(rng.choice(len(X), REFERENCE, replace=False))]
