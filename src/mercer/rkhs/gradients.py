"""Derivatives, with respect to a row, of what a subspace says of it: its coordinates, T² and r²."""

import numpy as np

from .._core.tiles import map_rows
from ..kernels.base import in_float64

TEMPORARIES = 4  # arrays of the size (rows, anchors) that a kernel's gradient has alive at once


def components(subspace, X):
    """∂y_j/∂x = Σᵢ B[i, j] ∂k(x, zᵢ)/∂x at each row: (n, q, d)."""
    kernel, Z, X = _differentiable(subspace, X)
    B = subspace.axes.B.astype(float)

    def tile(x):
        each = [kernel.gradient(x, Z, np.broadcast_to(b, (len(x), len(b)))) for b in B.T]
        return np.stack(each, axis=1) if each else np.empty((len(x), 0, x.shape[1]))

    return map_rows(tile, X, width=_width(subspace))


def t2(subspace, X):
    """∂T²/∂x = 2 Σ_j (y_j/λ_j) ∂y_j/∂x at each row: (n, d)."""
    kernel, Z, X = _differentiable(subspace, X)
    B, lam = subspace.axes.B.astype(float), subspace.variances

    def tile(x):
        return 2 * kernel.gradient(x, Z, (subspace.split(x)[0] / lam) @ B.T)

    return map_rows(tile, X, width=_width(subspace))


def r2(subspace, X):
    """∂r²/∂x = ∂k(x, x)/∂x − 2⟨∂φ(x), φ̄ + Uy⟩ at each row: (n, d).

    The part of φ that is projected, φ̄ + Uy = Φ(s + By), counts once for itself and once for its change with x.
    """
    kernel, Z, X = _differentiable(subspace, X)
    B, s = subspace.axes.B.astype(float), subspace.mean.B[:, 0].astype(float)

    def tile(x):
        Y, distance = subspace.split(x)
        slope = kernel.diag_gradient(x) - 2 * kernel.gradient(x, Z, Y @ B.T + s)
        return np.where(distance[:, None] > 0, slope, 0.0)  # a row in the subspace, or r² cut at 0, is at its least

    return map_rows(tile, X, width=_width(subspace))


def _differentiable(subspace, X):
    """The kernel, and anchors and rows in double precision; an error where there is no derivative."""
    kernel = subspace.kernel
    if not kernel.differentiable:
        raise ValueError(
            f"Gradients need a kernel with a derivative, and {kernel!r} has none. "
            "Use a kernel of mercer.kernels, such as RBF()."
        )
    if hasattr(subspace.Z, "toarray") or hasattr(X, "toarray"):
        raise ValueError("Gradients are not available for sparse rows. Fit on X.toarray().")
    return kernel, in_float64(subspace.Z), in_float64(X)


def _width(subspace):
    return TEMPORARIES * subspace.Z.shape[0]
