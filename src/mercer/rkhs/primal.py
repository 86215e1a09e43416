"""The primal space: feature spaces so small that their covariance is decomposed itself, rather than a kernel matrix."""

from dataclasses import dataclass, replace

import numpy as np

from .. import arrays
from ..arrays import elsewhere, largest, namespace, numbers, stacked, zeros
from ..landmarks import LandmarkBasis
from ..tiles import map_rows

CANDIDATES = 3  # rows drawn for each feature: among so many, some that span the space and do so well
ANCHORS = 500  # rows to write axes on, where fewer would do: pre-images begin from them
ROUNDING = 100 * float(np.finfo(float).eps)  # of the largest k(x, x): what is left of a row that lies in the span


@dataclass(frozen=True)
class Primal:
    """Eigenpairs of the covariance of ``features`` explicit features, in one pass over n rows: O(n·features²), exact.

    What ``solver="auto"`` does where a kernel has fewer features than there are rows; ``Kernel.features`` is the map.
    The basis is orthonormal and stands on as many rows as span the space, so that axes are expansions here too.
    """

    features: int


def primal(kernel, X, solver="auto"):
    """Return the setting where ``solver="auto"`` finds a primal space smaller than the dual one, else None."""
    f = kernel.n_features(X.shape[1]) if isinstance(solver, str) and solver == "auto" else None
    return None if f is None or f >= X.shape[0] else Primal(f)


def spanning_basis(kernel, X, f, rng):
    """Return an orthonormal basis of span φ(X), of at most f vectors on rows of X, and the numbers of those rows.

    Some rows are drawn at random; where they do not span all others, those that are farthest off join them.
    """
    n = X.shape[0]
    rows, rank = np.sort(rng.choice(n, min(n, CANDIDATES * f), replace=False)), -1
    while True:
        basis = LandmarkBasis.of(kernel, arrays.rows(X, rows))
        far = np.empty(0, int)
        if basis.R.shape[1] not in (f, rank):
            rank = basis.R.shape[1]
            far = _farthest(outside(basis, X), min(n, f), ROUNDING * largest(kernel.diag(basis.given)))
        if len(far) == 0:
            return replace(basis, condition=np.inf), rows[basis.kept]  # turned tile by tile: it keeps all digits
        rows = np.union1d(rows, far)


def _farthest(left, f, least):
    """The numbers of the f largest entries, of those that are above the least."""
    if elsewhere(left):
        order = namespace(left).argsort(left)[-f:]
        return numbers(order[arrays.rows(left, order) > least])
    far = np.argpartition(left, -f)[-f:]
    return far[left[far] > least]


def anchors(rows, n, rng):
    """Numbers of the rows to write axes on: those that span the space, and others for pre-images to begin from."""
    others = np.setdiff1d(np.arange(n), rows, assume_unique=True)
    more = max(0, min(n, ANCHORS) - len(rows))
    return np.sort(np.append(rows, rng.choice(others, more, replace=False)))


def on_anchors(f, rows, chosen, X):
    """The same vectors on more of the rows, with no part in those that are new."""
    place = np.full(len(chosen), len(rows))  # of each in B, whose row after the last is of zeros
    place[np.searchsorted(chosen, rows)] = np.arange(len(rows))
    B = arrays.rows(stacked([f.B, zeros((1, f.B.shape[1]), f.B, f.B.dtype)]), place)
    return replace(f, Z=X if len(chosen) == X.shape[0] else arrays.rows(X, chosen), B=B)


def outside(basis, X):
    """k(x, x) − ‖f‖²: the squared distance of each image to the span of the basis."""
    xp = namespace(X)
    tile = lambda x, k_xx: k_xx - xp.sum(basis(x) ** 2, axis=1)  # noqa: E731
    return map_rows(tile, X, basis.kernel.diag(X), width=len(basis.kept))
