"""Pre-images by a weighted mean of the anchors (Schreurs & Suykens 2018; De Plaen & Suykens eq. 19)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._core.arrays import Array, cast, double, largest_places, namespace
from .._core.arrays import rows as rows_of
from .._core.registry import register
from ..rkhs import Expansion, Subspace
from .base import Anchors, Nearest, PreimageResult, found


@register("smoother")
@dataclass(frozen=True)
class Smoother:
    """x = x̄ + Σ wᵢ(zᵢ − x̄) / (Σ wᵢ + sΣ|wᵢ|) over the ``neighbours`` anchors of largest f(zᵢ) (eq. 19).

    The kernel vector is the uncentred one: the centred one sums to zero.

    Parameters
    ----------
    neighbours : int or None, default=10
        The number of anchors; None for all of them, whose mean x̄ then dominates.
    rows : array of shape (n_anchors, n_features), default=None
        The inputs, if anchors are row numbers (a precomputed kernel).
    weights : {"clipped", "linear"}, default="clipped"
        wᵢ = max(f(zᵢ), 0), or wᵢ = f(zᵢ): eq. 19 itself with ``neighbours=None`` and s = 0.
    stabilizer : float, default=0.0
        s, the stabilising term of the denominator in units of Σ|wᵢ|: linear weights may sum to nearly 0. Only for
        dense rows.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> from mercer.preimage import Smoother
    >>> X, _ = datasets.moons(n=100)
    >>> model = KernelPCA(8, kernel=RBF(4.0), preimage=Smoother(neighbours=5)).fit(X)
    >>> print(f"{abs(model.denoise(X) - X).mean():.2f}")
    0.06
    """

    neighbours: int | None = 10
    rows: Any = None
    weights: str = "clipped"
    stabilizer: float = 0.0
    portable = True

    def bind(self, subspace: Subspace) -> Nearest:
        """Return the function from vectors to points."""
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights must be one of {sorted(WEIGHTS)}, and {self.weights!r} was given.")
        if self.stabilizer and issparse(subspace.Z):
            raise ValueError(f"stabilizer={self.stabilizer!r} adds the mean, which is not sparse. Use stabilizer=0.")
        anchors = Anchors(subspace, self.rows, sparse=True)
        neighbours = anchors.rows.shape[0] if self.neighbours is None else self.neighbours

        def nearest(target: Expansion, near: Array | None = None) -> PreimageResult:
            X = smooth(anchors.values(target), anchors.rows, neighbours, WEIGHTS[self.weights], self.stabilizer)
            return found(cast(X, target.B.dtype), target)

        return nearest


def clipped(values: Array) -> Array:
    """Return max(f(z), 0)."""
    return namespace(values).clip(values, 0, None)


def linear(values: Array) -> Array:
    """Return f(z)."""
    return values


WEIGHTS: dict[str, Callable[[Array], Array]] = {"clipped": clipped, "linear": linear}


def smooth(
    values: Array,
    points: Array,
    neighbours: int,
    weights: Callable[[Array], Array] = clipped,
    stabilizer: float = 0.0,
) -> Array:
    """Return the weighted mean of the points of largest values, or the best point if the weights sum to 0."""
    xp, k = namespace(values), min(neighbours, points.shape[0])
    index = largest_places(values, k)
    chosen = xp.take_along_axis(values, index, axis=1)
    w = weights(chosen)
    size = xp.sum(w, axis=1, keepdims=True) + stabilizer * xp.sum(abs(w), axis=1, keepdims=True)
    best = xp.astype(chosen == xp.max(chosen, axis=1, keepdims=True), w.dtype)
    w, size = xp.where(size == 0, best, w), xp.where(size == 0, xp.sum(best, axis=1, keepdims=True), size)
    w, points = w / size, double(points)
    if issparse(points):
        places = np.arange(0, index.size + 1, k)
        return csr_array((w.ravel(), index.ravel(), places), shape=(len(w), points.shape[0])) @ points
    near = xp.reshape(rows_of(points, xp.reshape(index, (-1,))), (*index.shape, points.shape[1]))
    X = xp.matmul(w[:, None, :], near)[:, 0, :]
    if stabilizer == 0:
        return X
    return X + (1 - xp.sum(w, axis=1, keepdims=True)) * xp.mean(points, axis=0)
