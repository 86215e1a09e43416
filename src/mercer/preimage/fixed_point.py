"""Pre-images by Mika's fixed point, for all points at once."""

from dataclasses import dataclass

import numpy as np

from ..kernels import sqdist
from .base import Anchors, check_radial, distances, found, start
from .smoother import smooth

CANCELLED = 1e-3  # of Σ|gκ′|: a sum of weights below this is all cancellation
HALVINGS = 5


@dataclass(frozen=True)
class FixedPoint:
    """x ← Σ gᵢκ′(tᵢ)zᵢ / Σ gᵢκ′(tᵢ), tᵢ = ‖x − zᵢ‖² (Mika et al. 1999), for radial kernels.

    A step that would lower f(x) is halved. A point where the weights cancel, or that ends farther off than the mean of
    its ``neighbours`` nearest anchors, takes that mean: ``fallback`` says which did.
    """

    max_iter: int = 100
    tol: float = 1e-6
    neighbours: int = 10

    def bind(self, subspace):
        """Return the function from vectors to points."""
        check_radial(self, subspace.kernel)
        kernel, anchors = subspace.kernel, Anchors(subspace)

        def nearest(target, near=None):
            X, n_iter = self._climb(kernel, anchors.rows, target.B.T, start(anchors, target, near))
            mean = smooth(anchors.values(target), anchors.rows, self.neighbours).astype(X.dtype)
            worse = distances(target, mean) < distances(target, X)
            fallback = np.where(worse, "smoother", "").astype(object)
            return found(np.where(worse[:, None], mean, X), target, n_iter, fallback)

        return nearest

    def _climb(self, kernel, Z, G, X):
        """Raise f(x) = Σ gᵢκ(tᵢ) of every row from where it is; rows that have settled are left alone."""
        X, n_iter, rows = X.copy(), np.zeros(len(X), int), np.arange(len(X))
        anchors, spread = kernel.scaled(Z), float(np.mean(Z.var(axis=0))) or 1.0
        f, C = _weights(kernel, anchors, G, X)
        for _ in range(self.max_iter):
            total = C.sum(axis=1, keepdims=True)
            sound = np.abs(total[:, 0]) > CANCELLED * np.abs(C).sum(axis=1)
            rows, f, C, total = rows[sound], f[sound], C[sound], total[sound]
            if len(rows) == 0:
                break
            n_iter[rows] += 1
            moved, f_new, C_new = self._step(kernel, anchors, G[rows], X[rows], C @ Z / total, f)
            going = np.mean((moved - X[rows]) ** 2, axis=1) > self.tol**2 * spread
            X[rows] = moved
            rows, f, C = rows[going], f_new[going], C_new[going]
        return X, n_iter

    @staticmethod
    def _step(kernel, anchors, G, X, goal, f):
        """Go to the goal, or half as far, until f is not lower than before; stay where no step helps."""
        moved = goal.copy()
        f_new, C = _weights(kernel, anchors, G, moved)
        for halving in range(HALVINGS + 1):
            worse = np.flatnonzero(f_new < f)
            if len(worse) == 0:
                break
            moved[worse] = X[worse] if halving == HALVINGS else (moved[worse] + X[worse]) / 2
            f_new[worse], C[worse] = _weights(kernel, anchors, G[worse], moved[worse])
        return moved, f_new, C


def _weights(kernel, anchors, G, X):
    """f(x) and the weights gᵢκ′(tᵢ) of the anchors."""
    k, slope = kernel.profile_and_slope(sqdist(kernel.scaled(X), anchors))
    k *= G
    slope *= G
    return k.sum(axis=1, dtype=float), slope
