"""Training rows that may be abnormal: how many are too isolated to be normal, and which ones to leave out."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

REFERENCE = 2000  # rows by which others are judged
NEIGHBOURS = 20  # beyond a cluster of abnormal rows: fewer see too little of a row's surroundings
SUPPOSED = 0.1  # share of abnormal rows in one cluster that is seen if the share is not known
MARGIN = 2.0  # times the share of abnormal rows is left out of the axes: a share may be too small, a row too dense
MOST_LEFT_OUT = 0.5  # of all rows
BODY = 0.85  # quantile up to which rows are taken to be normal
HALVINGS = np.log2(0.5 / (1 - BODY))  # of the number of rows beyond, from the median to this quantile
SURE = 2.0  # standard errors


def suspects(X: np.ndarray, rng: np.random.Generator) -> float:
    """Return the share of rows that are more isolated than a Weibull tail of shape ½ explains, at most 10 %.

    It is a lower bound, with two standard errors in hand (Meinshausen & Rice 2006). The bound is found again for the
    rows that remain, until it grows by less than a row.
    """
    ordered = np.sort(np.sqrt(isolation(_some(X, rng), SUPPOSED, rng)))
    share, more = 0.0, _excess(ordered, 0.0)
    while more >= share + 1 / len(ordered) and share < SUPPOSED:
        share, more = more, _excess(ordered, more)
    return min(share, SUPPOSED)


def _excess(ordered: np.ndarray, share: float) -> float:
    """The largest #{values ≥ v}/n − S(v) − 2√(S(v)/n), where S(v) are the normal ones, 1 − ``share`` of all.

    S falls exponentially beyond their median, as fast as it does from there to their 85th percentile.
    """
    n = len(ordered)
    middle, upper = np.quantile(ordered[: round((1 - share) * n)], [0.5, BODY])
    if upper <= middle:
        return 0.0
    normal = (1 - share) * 0.5 ** (1 + HALVINGS * (ordered - middle) / (upper - middle))
    beyond = 1 - np.arange(n) / n - normal - SURE * np.sqrt(normal / n)
    return float(np.max(beyond[ordered >= upper]))


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
