"""Pre-images by Mika's fixed point, for all points at once."""

from dataclasses import dataclass

import numpy as np

from .base import Anchors, check_radial, distances, found, start
from .smoother import smooth

CANCELLED = 1e-3  # of Σ|gκ′|: a sum of weights below this is all cancellation
HALVINGS = 5


@dataclass(frozen=True)
class FixedPoint:
    """x ← Σ gᵢκ′(tᵢ)zᵢ / Σ gᵢκ′(tᵢ), tᵢ = ‖x − zᵢ‖² (Mika et al. 1999), for radial kernels.

    A step that would lower f(x) is halved. A point where the weights cancel, or that ends farther off than the mean of
    its ``neighbours`` nearest anchors, takes that mean: ``fallback`` says which did.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> from mercer.preimage import FixedPoint
    >>> X, _ = datasets.moons(n=100)
    >>> model = KernelPCA(8, kernel=RBF(4.0), preimage=FixedPoint(max_iter=200)).fit(X)
    >>> bool(abs(model.denoise(X) - X).mean() < 0.1)
    True
    """

    max_iter: int = 100
    tol: float = 1e-6
    neighbours: int = 10
    exact = True

    def bind(self, subspace):
        """Return the function from vectors to points."""
        check_radial(self, subspace.kernel)
        anchors = Anchors(subspace)
        both = subspace.kernel.with_slope(anchors.rows)

        def nearest(target, near=None):
            X, n_iter = self._climb(both, anchors.rows, target.B.T, start(anchors, target, near))
            mean = smooth(anchors.values(target), anchors.rows, self.neighbours).astype(X.dtype)
            worse = distances(target, mean) < distances(target, X)
            fallback = np.where(worse, "smoother", "").astype(object)
            return found(np.where(worse[:, None], mean, X), target, n_iter, fallback)

        return nearest

    def _climb(self, both, Z, G, X):
        """Raise f(x) = Σ gᵢκ(tᵢ) of every row from where it is; rows that have settled are left alone."""
        X, n_iter, rows = X.copy(), np.zeros(len(X), int), np.arange(len(X))
        spread = float(np.mean(Z.var(axis=0))) or 1.0
        f, C = _weights(both, G, X)
        for _ in range(self.max_iter):
            total = C.sum(axis=1, keepdims=True)
            sound = np.abs(total[:, 0]) > CANCELLED * np.abs(C).sum(axis=1)
            rows, f, C, total = rows[sound], f[sound], C[sound], total[sound]
            if len(rows) == 0:
                break
            n_iter[rows] += 1
            moved, f_new, C_new = _step(both, G[rows], X[rows], C @ Z / total, f)
            going = np.mean((moved - X[rows]) ** 2, axis=1) > self.tol**2 * spread
            X[rows] = moved
            rows, f, C = rows[going], f_new[going], C_new[going]
        return X, n_iter


def _step(both, G, X, goal, f):
    """Go to the goal, or half as far, until f is not lower than before; stay where no step helps."""
    moved = goal.copy()
    f_new, C = _weights(both, G, moved)
    for halving in range(HALVINGS + 1):
        worse = np.flatnonzero(f_new < f)
        if len(worse) == 0:
            break
        moved[worse] = X[worse] if halving == HALVINGS else (moved[worse] + X[worse]) / 2
        f_new[worse], C[worse] = _weights(both, G[worse], moved[worse])
    return moved, f_new, C


def _weights(both, G, X):
    """f(x) and the weights gᵢκ′(tᵢ) of the anchors."""
    k, slope = both(X)
    k *= G
    slope *= G
    return k.sum(axis=1, dtype=float), slope
