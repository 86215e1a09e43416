"""Pre-images by regression from coordinates to rows (Bakır, Weston & Schölkopf 2004)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ..kernels import RBF, Kernel
from ..rkhs import Expansion
from .base import PreimageResult


@dataclass(frozen=True)
class Learned:
    """Kernel ridge regression of the anchors on their coordinates, solved once: x̂(y) = Σ cᵢ k(y, yᵢ), (K + αI)c = X.

    ``kernel`` acts on the coordinates (None: an RBF whose γ is one over their total variance). ``rows`` are the
    inputs where the anchors are not rows themselves, as with a precomputed kernel.
    """

    alpha: float = 1e-3
    kernel: Kernel | None = None
    rows: Any = None

    def bind(self, subspace):
        along = subspace.axes(subspace.Z)  # ⟨φ(zᵢ), U⟩, which also turns coefficients into coordinates
        Y = along - subspace.offset
        rows = self._rows(subspace)
        kernel = RBF(gamma=1 / (Y.var(axis=0).sum() or 1.0)) if self.kernel is None else self.kernel
        mean = rows.mean(axis=0) if self.kernel is None else 0.0
        coefficients = ridge(kernel, Y, rows - mean, self.alpha)
        learned = Expansion(kernel, Y, coefficients)

        def nearest(target, near=None):
            return PreimageResult(learned(target.B.T @ along - subspace.offset) + mean, target)

        return nearest

    def _rows(self, subspace):
        rows = subspace.Z if self.rows is None else np.asarray(self.rows)
        if self.rows is None and np.issubdtype(rows.dtype, np.integer):
            raise ValueError(
                "A precomputed kernel has no rows to return to. Use preimage=Learned(rows=X) with the inputs "
                "behind the matrix."
            )
        if hasattr(rows, "toarray"):
            raise ValueError("Learned pre-images are not available for sparse rows. Use X.toarray().")
        return rows


def ridge(kernel, Y, X, alpha):
    """(k(Y, Y) + αI)⁻¹ X."""
    K = kernel(Y, Y)
    K.flat[:: len(K) + 1] += alpha
    return scipy.linalg.solve(K, X, assume_a="pos", overwrite_a=True)
