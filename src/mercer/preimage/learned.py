"""Pre-images by regression from coordinates to rows (Bakır, Weston & Schölkopf 2004)."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import scipy.linalg

from .._core.arrays import Array
from .._core.dense import interruptible
from .._core.registry import register
from ..kernels import RBF, Kernel
from ..rkhs import Expansion, Subspace
from .base import Anchors, Nearest, PreimageResult, found


@register("learned")
@dataclass(frozen=True)
class Learned:
    """Kernel ridge regression of the anchors on their coordinates, solved once: x̂(y) = Σ cᵢ k(y, yᵢ), (K + αI)c = X.

    ``kernel`` acts on the coordinates (None: an RBF whose γ is ``gamma`` over their total variance; ``Linear()`` for a
    linear map). ``rows`` are the inputs if the anchors are row numbers, as with a precomputed kernel.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> from mercer.preimage import Learned
    >>> X, _ = datasets.moons(n=100)
    >>> model = KernelPCA(8, kernel=RBF(4.0), preimage=Learned(alpha=0.001)).fit(X)
    >>> print(f"{abs(model.denoise(X) - X).mean():.2f}")
    0.01
    """

    alpha: float = 1e-2
    gamma: float = 1.0
    kernel: Kernel | None = None
    rows: Any = None

    def bind(self, subspace: Subspace) -> Nearest:
        """Train, and return the function from vectors to points."""
        anchors = Anchors(subspace, self.rows)
        along = anchors.at_anchors[:, :-1]  # ⟨φ(zᵢ), U⟩, which also turns coefficients into coordinates
        Y = along - subspace.offset
        kernel = RBF(gamma=self.gamma / (Y.var(axis=0).sum() or 1.0)) if self.kernel is None else self.kernel
        mean = anchors.rows.mean(axis=0)
        learned = Expansion(kernel, Y, ridge(kernel, Y, anchors.rows - mean, self.alpha))

        def nearest(target: Expansion, near: Array | None = None) -> PreimageResult:
            X = learned(target.B.T @ along - subspace.offset) + mean
            return found(X.astype(target.B.dtype), target)

        return nearest


def ridge(kernel: Kernel, Y: Array, X: Array, alpha: float) -> Array:
    """(k(Y, Y) + αI)⁻¹ X."""
    K = kernel(Y, Y)
    K.flat[:: len(K) + 1] += alpha
    return interruptible(partial(scipy.linalg.solve, assume_a="pos", overwrite_a=True), K, X)
