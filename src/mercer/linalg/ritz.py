"""Ritz pairs: the best that a subspace knows of an operator's eigenpairs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arrays import Array, cast, columns, double, eps, largest, namespace

EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)
INSIDE = 100


@dataclass(frozen=True, eq=False)
class Ritz:
    """What a solver returns: approximate eigenvalues, orthonormal vectors and A @ vectors, in any order."""

    values: Any
    vectors: Any
    images: Any
    passes: int
    note: str = ""

    @property
    def residuals(self) -> Array:
        """‖Av − λv‖ for each pair, relative to the largest |λ|."""
        scale = largest(abs(self.values), TINY)
        return norms(self.images - self.vectors * cast(self.values, self.vectors.dtype)) / scale


def rayleigh_ritz(basis: Array, images: Array, q: int, passes: int, S: Array | None = None) -> Ritz:
    """Return the q largest Ritz pairs of A in the span of an orthonormal basis, of which images = A @ basis are known.

    ``S`` = basisᵀ A basis, where it is known too.
    """
    S = projection(basis, images) if S is None else S
    values, W = namespace(S).linalg.eigh((S + S.T) / 2)
    first = max(values.shape[0] - q, 0)
    W = cast(W[:, first:], basis.dtype)
    return Ritz(values[first:], basis @ W, images @ W, passes)


def projection(basis: Array, images: Array) -> Array:
    """Return basisᵀ images, in float64."""
    return double(basis.T) @ double(images)


def orthonormal(block: Array, basis: Array) -> Array:
    """Return an orthonormal basis of what the block adds to the span of ``basis``: fewer columns where it adds less."""
    lengths, xp = norms(block), namespace(block)
    block = columns(block, lengths > 0) / cast(lengths[lengths > 0], block.dtype)
    share = INSIDE * eps(block)  # a direction that loses all but this share of its length lay inside
    for least in (share, 0.5):  # twice is enough (Kahan): the first pass leaves rounding, the second removes it
        block = block - basis @ (basis.T @ block)
        squares, W = xp.linalg.eigh(projection(block, block))
        kept = squares > max(least, EPS**0.5) ** 2  # squares that are smaller are all rounding
        block = block @ cast(columns(W, kept) / xp.sqrt(squares[kept]), block.dtype)
    return polished(block)


def polished(block: Array) -> Array:
    """Return nearly orthonormal columns made orthonormal: B L⁻ᵀ with BᵀB = LLᵀ."""
    xp = namespace(block)
    L = xp.linalg.cholesky(projection(block, block))
    return block @ cast(xp.linalg.inv(L).T, block.dtype)


def norms(block: Array) -> Array:
    """Return the lengths of columns, in float64: the squares of float32 numbers underflow and overflow."""
    return namespace(block).linalg.vector_norm(double(block), axis=0)
