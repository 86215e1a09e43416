"""Ritz pairs: the best that a subspace knows of an operator's eigenpairs."""

from dataclasses import dataclass

import numpy as np

EPS = np.finfo(float).eps
INSIDE = 100


@dataclass(frozen=True, eq=False)
class Ritz:
    """What a solver returns: approximate eigenvalues, orthonormal vectors and A @ vectors, in any order."""

    values: np.ndarray
    vectors: np.ndarray
    images: np.ndarray
    passes: int
    note: str = ""

    @property
    def residuals(self):
        """‖Av − λv‖ for each pair, relative to the largest |λ|."""
        scale = np.abs(self.values).max(initial=np.finfo(float).tiny)
        return norms(self.images - self.vectors * self.values.astype(self.vectors.dtype)) / scale


def rayleigh_ritz(basis, images, q, passes, S=None):
    """The q largest Ritz pairs of A in the span of an orthonormal basis, of which images = A @ basis are known.

    ``S`` = basisᵀ A basis, where it is known too.
    """
    S = projection(basis, images) if S is None else S
    values, W = np.linalg.eigh((S + S.T) / 2)
    W = W[:, -q:].astype(basis.dtype)
    return Ritz(values[-q:], basis @ W, images @ W, passes)


def projection(basis, images):
    """basisᵀ images, in float64."""
    return basis.T.astype(float, copy=False) @ images.astype(float, copy=False)


def orthonormal(block, basis):
    """An orthonormal basis of what the block adds to the span of ``basis``: fewer columns where it adds less."""
    lengths = norms(block)
    block = block[:, lengths > 0] / lengths[lengths > 0].astype(block.dtype)
    share = INSIDE * np.finfo(block.dtype).eps  # a direction that loses all but this share of its length lay inside
    for least in (share, 0.5):  # twice is enough (Kahan): the first pass leaves rounding, the second removes it
        block = block - basis @ (basis.T @ block)
        squares, W = np.linalg.eigh(projection(block, block))
        kept = squares > max(least, EPS**0.5) ** 2  # squares that are smaller are all rounding
        block = block @ (W[:, kept] / np.sqrt(squares[kept])).astype(block.dtype)
    return polished(block)


def polished(block):
    """Nearly orthonormal columns made orthonormal: B L⁻ᵀ of BᵀB = LLᵀ."""
    L = np.linalg.cholesky(projection(block, block))
    return block @ np.linalg.inv(L).T.astype(block.dtype)


def norms(block):
    """Lengths of columns, in float64: the squares of float32 numbers under- and overflow."""
    return np.linalg.norm(block.astype(float, copy=False), axis=0)
