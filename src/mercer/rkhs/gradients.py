"""Derivatives of the coordinates, T² and r² of a row with respect to the row."""

import numpy as np

from .._core.arrays import Array
from .._core.tiles import map_rows
from ..kernels import Kernel
from ..kernels.base import in_float64
from .subspace import Subspace

GRADIENT_ARRAYS = 4  # number of arrays of shape (rows, anchors) that the gradient of a kernel allocates at once


def components(subspace: Subspace, X: Array) -> np.ndarray:
    """Return ∂y_j/∂x = Σᵢ B[i, j] ∂k(x, zᵢ)/∂x at each row: (n, q, d)."""
    kernel, Z, X = _differentiable(subspace, X)
    B = subspace.axes.B.astype(float)

    def tile(x: np.ndarray) -> np.ndarray:
        each = [kernel.gradient(x, Z, np.broadcast_to(b, (len(x), len(b)))) for b in B.T]
        return np.stack(each, axis=1) if each else np.empty((len(x), 0, x.shape[1]))

    return map_rows(tile, X, width=_width(subspace))


def t2(subspace: Subspace, X: Array) -> np.ndarray:
    """Return ∂T²/∂x = 2 Σ_j (y_j/λ_j) ∂y_j/∂x at each row: (n, d)."""
    kernel, Z, X = _differentiable(subspace, X)
    B, lam = subspace.axes.B.astype(float), subspace.variances

    def tile(x: np.ndarray) -> np.ndarray:
        return 2 * kernel.gradient(x, Z, (subspace.split(x)[0] / lam) @ B.T)

    return map_rows(tile, X, width=_width(subspace))


def r2(subspace: Subspace, X: Array) -> np.ndarray:
    """Return ∂r²/∂x = ∂k(x, x)/∂x − 2⟨∂φ(x), φ̄ + Uy⟩ at each row, with φ̄ + Uy = Φ(s + By): (n, d)."""
    kernel, Z, X = _differentiable(subspace, X)
    B, s = subspace.axes.B.astype(float), subspace.mean.B[:, 0].astype(float)

    def tile(x: np.ndarray) -> np.ndarray:
        Y, distance = subspace.split(x)
        slope = kernel.diag_gradient(x) - 2 * kernel.gradient(x, Z, Y @ B.T + s)
        return np.where(distance[:, None] > 0, slope, 0.0)  # r² = 0 is a minimum

    return map_rows(tile, X, width=_width(subspace))


def _differentiable(subspace: Subspace, X: Array) -> tuple[Kernel, np.ndarray, np.ndarray]:
    """Return the kernel, and anchors and rows in float64; raise ValueError if there is no derivative."""
    kernel = subspace.kernel
    if not kernel.differentiable:
        raise ValueError(
            f"Gradients need a kernel with a derivative, and {kernel!r} has none. "
            "Use a kernel of mercer.kernels, such as RBF()."
        )
    if hasattr(subspace.Z, "toarray") or hasattr(X, "toarray"):
        raise ValueError("Gradients are not available for sparse rows. Fit on X.toarray().")
    return kernel, in_float64(subspace.Z), in_float64(X)


def _width(subspace: Subspace) -> int:
    return GRADIENT_ARRAYS * subspace.Z.shape[0]
