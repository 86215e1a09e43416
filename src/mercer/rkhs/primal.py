"""The primal space: feature spaces so small that their covariance is decomposed itself, rather than a kernel matrix."""

from dataclasses import dataclass, replace

import numpy as np

from ..landmarks import LandmarkBasis
from ..tiles import map_rows

CANDIDATES = 3  # rows drawn for each feature: among so many, some that span the space and do so well
ANCHORS = 500  # rows to write axes on, where fewer would do: pre-images begin from them
ROUNDING = 100 * np.finfo(float).eps  # of the largest k(x, x): what is left of a row that lies in the span


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
        basis = LandmarkBasis.of(kernel, X[rows])
        far = np.empty(0, int)
        if len(basis.R) not in (f, rank):
            rank, left = len(basis.R), outside(basis, X)
            far = np.argpartition(left, -min(n, f))[-min(n, f) :]
            far = far[left[far] > ROUNDING * kernel.diag(X[rows]).max(initial=0.0)]
        if len(far) == 0:
            return replace(basis, condition=np.inf), rows[basis.kept]  # turned tile by tile: it keeps all digits
        rows = np.union1d(rows, far)


def anchors(rows, n, rng):
    """Numbers of the rows to write axes on: those that span the space, and others for pre-images to begin from."""
    others = np.setdiff1d(np.arange(n), rows, assume_unique=True)
    more = max(0, min(n, ANCHORS) - len(rows))
    return np.sort(np.append(rows, rng.choice(others, more, replace=False)))


def on_anchors(f, rows, chosen, X):
    """The same vectors on more of the rows, with no part in those that are new."""
    B = np.zeros((len(chosen), f.B.shape[1]), f.B.dtype)
    B[np.searchsorted(chosen, rows)] = f.B
    return replace(f, Z=X if len(chosen) == X.shape[0] else X[chosen], B=B)


def outside(basis, X):
    """k(x, x) − ‖f‖²: the squared distance of each image to the span of the basis."""
    return map_rows(lambda x, k_xx: k_xx - np.sum(basis(x) ** 2, axis=1), X, basis.kernel.diag(X), width=len(basis.R))
