"""Pre-images by a weighted mean of the anchors (Schreurs & Suykens 2018; De Plaen & Suykens eq. 19)."""

from dataclasses import dataclass
from typing import Any

from .._core.arrays import Array, cast, double, largest_places, namespace
from .._core.arrays import rows as rows_of
from .._core.registry import register
from ..rkhs import Expansion, Subspace
from .base import Anchors, Nearest, PreimageResult, found


@register("smoother")
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
    portable = True

    def bind(self, subspace: Subspace) -> Nearest:
        """Return the function from vectors to points."""
        anchors = Anchors(subspace, self.rows)

        def nearest(target: Expansion, near: Array | None = None) -> PreimageResult:
            X = smooth(anchors.values(target), anchors.rows, self.neighbours)
            return found(cast(X, target.B.dtype), target)

        return nearest


def smooth(values: Array, points: Array, neighbours: int) -> Array:
    """Return the mean of the points of largest values, weighted by them; the best point where no value is positive."""
    xp, k = namespace(values), min(neighbours, points.shape[0])
    index = largest_places(values, k)
    chosen = xp.take_along_axis(values, index, axis=1)
    w = xp.clip(chosen, 0, None)
    none = xp.sum(w, axis=1, keepdims=True) == 0
    w = xp.where(none, xp.astype(chosen == xp.max(chosen, axis=1, keepdims=True), w.dtype), w)
    w = w / xp.sum(w, axis=1, keepdims=True)
    near = xp.reshape(rows_of(double(points), xp.reshape(index, (-1,))), (*index.shape, points.shape[1]))
    return xp.matmul(w[:, None, :], near)[:, 0, :]
