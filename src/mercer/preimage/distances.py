"""Pre-images from distances to the nearest anchors (Kwok & Tsang 2004)."""

from dataclasses import dataclass

import numpy as np

from .._core.arrays import Array
from .._core.registry import register
from ..rkhs import Expansion, Subspace
from .base import Anchors, Nearest, PreimageResult, check_radial, found

FAR = 1e4  # times the largest squared distance of an anchor to the mean: an upper bound for squared distances
FLAT = 1e-9  # of the largest eigenvalue: smaller ones are rounding errors (repeated rows)


@register("distances")
@dataclass(frozen=True)
class Distances:
    """The point whose distances to ``neighbours`` anchors best fit those computed from the kernel.

    ‖f − φ(zᵢ)‖² = 2 − 2κ(tᵢ) is solved for tᵢ, the squared distances; the point is their least-squares fit.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> from mercer.preimage import Distances
    >>> X, _ = datasets.moons(n=100)
    >>> model = KernelPCA(8, kernel=RBF(4.0), preimage=Distances(neighbours=5)).fit(X)
    >>> print(f"{abs(model.denoise(X) - X).mean():.2f}")
    0.07
    """

    neighbours: int = 10
    exact = True

    def bind(self, subspace: Subspace) -> Nearest:
        """Return the function from vectors to points."""
        check_radial(self, subspace.kernel)
        kernel, anchors = subspace.kernel, Anchors(subspace)
        Z = kernel.scaled(anchors.rows).astype(float)
        far = FAR * np.sum((Z - Z.mean(axis=0)) ** 2, axis=1).max(keepdims=True)
        least = max(float(kernel.profile(far)[0]), np.finfo(float).tiny)

        def nearest(target: Expansion, near: Array | None = None) -> PreimageResult:
            values = anchors.values(target)
            k = min(self.neighbours, values.shape[1])
            index = np.argpartition(values, -k, axis=1)[:, -k:]
            cosines = np.take_along_axis(values, index, axis=1) + (1 - target.sqnorms()[:, None]) / 2
            X = from_distances(Z[index], kernel.inverse(np.clip(cosines, least, 1.0)))
            scale = 1.0 if kernel.lengthscale is None else np.asarray(kernel.lengthscale)
            return found((X * scale).astype(target.B.dtype), target)

        return nearest


def from_distances(N: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return x with ‖x − nᵢ‖² ≈ tᵢ for each set of neighbours N (p, k, d), by least squares in their affine span.

    With nᵢ about their mean n̄, 2(x − n̄)ᵀnᵢ = ‖nᵢ‖² − tᵢ + const; the constant is orthogonal to the centred nᵢ.
    """
    mean = N.mean(axis=1, keepdims=True)
    N = N - mean
    right = (np.sum(N**2, axis=2) - t) / 2
    values, vectors = np.linalg.eigh(N @ N.transpose(0, 2, 1))
    kept = values > FLAT * values[:, -1:]
    inverse = np.where(kept, 1 / np.where(kept, values, 1), 0)
    solution = vectors @ (inverse[:, :, None] * (vectors.transpose(0, 2, 1) @ right[:, :, None]))
    return mean[:, 0] + (N.transpose(0, 2, 1) @ solution)[:, :, 0]
