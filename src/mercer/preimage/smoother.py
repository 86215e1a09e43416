"""Pre-images by a weighted mean of the anchors (Schreurs & Suykens 2018; De Plaen & Suykens eq. 19)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Anchors, found


@dataclass(frozen=True)
class Smoother:
    """x = Σ wᵢzᵢ / Σ wᵢ over the anchors of largest wᵢ = max(f(zᵢ), 0).

    The kernel vector is the uncentred one: the centred one sums to zero. Without the cut to a few ``neighbours`` the
    mean of all anchors would take over. ``rows`` are the inputs where anchors are none (a precomputed kernel).

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> from mercer.preimage import Smoother
    >>> X, _ = datasets.moons(n=100)
    >>> model = KernelPCA(8, kernel=RBF(4.0), preimage=Smoother(neighbours=5)).fit(X)
    >>> bool(abs(model.denoise(X) - X).mean() < 0.1)
    True
    """

    neighbours: int = 10
    rows: Any = None

    def bind(self, subspace):
        """Return the function from vectors to points."""
        anchors = Anchors(subspace, self.rows)

        def nearest(target, near=None):
            X = smooth(anchors.values(target), anchors.rows, self.neighbours)
            return found(X.astype(target.B.dtype), target)

        return nearest


def smooth(values, rows, neighbours):
    """The mean of the rows of largest values, weighted by them; the row of the largest where none is positive."""
    k = min(neighbours, len(rows))
    index = np.argpartition(values, -k, axis=1)[:, -k:]
    w = np.maximum(np.take_along_axis(values, index, axis=1), 0)
    best = np.argmax(np.take_along_axis(values, index, axis=1), axis=1)
    w[np.arange(len(w)), best] += w.sum(axis=1) == 0
    return np.einsum("pk,pkd->pd", w / w.sum(axis=1, keepdims=True), rows[index])
