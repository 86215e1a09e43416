"""Ritz pairs: the best that a subspace knows of an operator's eigenpairs."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg


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


def rayleigh_ritz(basis, images, q, passes):
    """The q largest Ritz pairs of A in the span of an orthonormal basis, of which images = A @ basis are known."""
    S = basis.T.astype(float) @ images.astype(float)
    values, W = np.linalg.eigh((S + S.T) / 2)
    W = W[:, -q:].astype(basis.dtype)
    return Ritz(values[-q:], basis @ W, images @ W, passes)


def orthonormal(block, basis):
    """An orthonormal basis of what the block adds to the span of ``basis``: fewer columns where it adds less."""
    lengths = norms(block)
    tiny = 100 * np.finfo(block.dtype).eps  # a column that loses all but this share of its length lay inside
    block = block[:, lengths > 0] / lengths[lengths > 0].astype(block.dtype)
    for _ in range(2):  # twice is enough (Kahan): the first pass leaves rounding, the second removes it
        block = block - basis @ (basis.T @ block)
        Q, R, _ = scipy.linalg.qr(block, mode="economic", pivoting=True, check_finite=False)
        block = Q[:, np.abs(R.diagonal()) > tiny]
        tiny = 0.5
    return block


def norms(block):
    """Lengths of columns, in float64: the squares of float32 numbers under- and overflow."""
    return np.linalg.norm(block.astype(float, copy=False), axis=0)
