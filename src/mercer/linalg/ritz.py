"""Ritz pairs: the best approximations of eigenpairs inside a subspace."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core.arrays import Array, double, namespace
from .._core.tiles import map_rows, sum_rows

EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)
INSIDE = 100  # in units of ε: a direction with a shorter remainder lies inside the span


@dataclass(frozen=True, eq=False)
class Ritz:
    """The result of a solver: approximate eigenvalues, orthonormal vectors and A @ vectors, in any order."""

    values: Array
    vectors: Array
    images: Array
    passes: int
    note: str = ""

    @cached_property
    def residuals(self) -> Array:
        """‖Av − λv‖ for each pair, relative to the largest |λ|."""
        xp = namespace(self.vectors)
        scale = float(xp.max(abs(self.values))) if self.values.shape[0] else 1.0
        theta = xp.astype(self.values, self.vectors.dtype, copy=False)

        def squares(images: Array, V: Array) -> Array:
            return xp.sum(xp.square(double(images - V * theta)), axis=0)

        return xp.sqrt(sum_rows(squares, self.images, self.vectors, width=2 * theta.shape[0])) / max(scale, TINY)


def rayleigh_ritz(basis: Array, images: Array, q: int, passes: int, S: Array | None = None) -> Ritz:
    """Return the q largest Ritz pairs of A in the span of an orthonormal basis, given images = A @ basis.

    ``S`` = basisᵀ A basis, if it is known.
    """
    xp = namespace(basis)
    S = projection(basis, images) if S is None else S
    values, W = xp.linalg.eigh((S + S.T) / 2)
    first = max(values.shape[0] - q, 0)
    W = xp.astype(W[:, first:], basis.dtype, copy=False)
    vectors, images = (map_rows(lambda block: block @ W, part, width=2 * S.shape[0]) for part in (basis, images))
    return Ritz(values[first:], vectors, images, passes)


def projection(basis: Array, images: Array) -> Array:
    """Return basisᵀ images, in float64."""
    width = basis.shape[1] + images.shape[1]
    return sum_rows(lambda b, i: double(b).T @ double(i), basis, images, width=width)


def orthonormal(block: Array, basis: Array) -> Array:
    """Return an orthonormal basis of the part of the block outside the span of ``basis``, without dependent columns."""
    lengths, xp, dtype = norms(block), namespace(block), block.dtype
    some = xp.nonzero(lengths > 0)[0]
    block = xp.take(block, some, axis=1) / xp.astype(xp.take(lengths, some), dtype, copy=False)
    share = INSIDE * float(xp.finfo(dtype).eps)  # a direction with a shorter remainder lies inside the span
    for least in (share, 0.5):  # two orthogonalisations are enough (Kahan)
        block = block - basis @ (basis.T @ block)
        squares, W = xp.linalg.eigh(projection(block, block))
        kept = xp.nonzero(squares > max(least, EPS**0.5) ** 2)[0]  # smaller squares are rounding errors
        block = block @ xp.astype(xp.take(W, kept, axis=1) / xp.sqrt(xp.take(squares, kept)), dtype, copy=False)
    return polished(block)


def polished(block: Array) -> Array:
    """Orthonormalise nearly orthonormal columns: B L⁻ᵀ with BᵀB = LLᵀ."""
    xp = namespace(block)
    L = xp.linalg.cholesky(projection(block, block))
    return block @ xp.astype(xp.linalg.inv(L).T, block.dtype, copy=False)


def norms(block: Array) -> Array:
    """Return the lengths of columns, in float64: squares of float32 numbers underflow and overflow."""
    xp = namespace(block)
    return xp.linalg.vector_norm(xp.astype(block, xp.float64, copy=False), axis=0)
