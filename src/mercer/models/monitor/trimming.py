"""Training rows that may be abnormal: how many are too sparse to be normal, and which ones to leave out."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ...kernels import RationalQuadratic
from ...kernels.width import median_sqdist
from ...rkhs import Expansion

REFERENCE = 2000  # rows by which others are judged
NEIGHBOURS = 20  # beyond a cluster of abnormal rows: fewer see too little of a row's surroundings
MARGIN = 2.0  # times the share of abnormal rows is left out of the axes: a share may be too small, a row too dense
MOST_LEFT_OUT = 0.5  # of all rows
HALVINGS = 6  # beyond the third quartile, in steps from the median to it: a law that halves at each step has
EXPECTED = 0.25 * 0.5**HALVINGS  # 0.4 % of its rows there


def excess(X: np.ndarray, rng: np.random.Generator) -> float:
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


def isolation(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return the distance of each row to its k-th neighbour.

    k is larger than the number of abnormal rows where ``share`` of them are, so that no cluster of abnormal rows is
    dense, even if the share is somewhat too small.
    """
    some = _some(X, rng)
    k = min(NEIGHBOURS + round(share * len(some)), len(some) - 1)
    return NearestNeighbors(n_neighbors=k + 1).fit(some).kneighbors(X)[0][:, -1]  # a row is its own first neighbour


def nearest(isolated: np.ndarray, share: float) -> np.ndarray:
    """Return the mask of all rows but the most isolated ``share`` of them."""
    n = len(isolated)
    mask = np.ones(n, bool)
    mask[np.argsort(-isolated, kind="stable")[: round(share * n)]] = False
    return mask


def _some(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X if len(X) <= REFERENCE else X[np.sort(rng.choice(len(X), REFERENCE, replace=False))]
