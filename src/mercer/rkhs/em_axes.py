"""Axes of the components of a mixture, refined from those of the previous iteration."""

from collections.abc import Sequence

import numpy as np

from .._core.tiles import sum_rows
from ..linalg.ritz import Ritz, orthonormal, rayleigh_ritz
from .basis import Coordinates

ACCURATE = 1e-8  # residual of an axis, as a share of λ₁: the error of its likelihood is the square of this
PRODUCTS = 3  # products with the covariances in each iteration of EM; the next iteration starts from the result


def refined(
    at: Coordinates, weights: np.ndarray, means: np.ndarray, before: Sequence[np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return λ and W of the leading axes of each Σ wₙ(fₙ − mean)(fₙ − mean)ᵀ, from axes W that are near them.

    These are the best axes in a block Krylov space that contains the previous axes, so that the likelihood does not
    decrease. One pass over the coordinates multiplies all covariances. ``weights`` (k, n) and ``means`` (k, rank) have
    a row for each component.
    """
    bases = list(before)
    images = _products(at, weights, means, bases)
    for _ in range(PRODUCTS - 1):
        new = [_residuals(*each) for each in zip(_leading(bases, images, before), bases, strict=True)]
        images = [np.hstack(pair) for pair in zip(images, _products(at, weights, means, new), strict=True)]
        bases = [np.hstack(pair) for pair in zip(bases, new, strict=True)]
    return [(ritz.values[::-1], ritz.vectors[:, ::-1]) for ritz in _leading(bases, images, before)]


def _leading(bases: list[np.ndarray], images: list[np.ndarray], axes: Sequence[np.ndarray]) -> list[Ritz]:
    return [rayleigh_ritz(V, CV, W.shape[1], 0) for V, CV, W in zip(bases, images, axes, strict=True)]


def _residuals(ritz: Ritz, basis: np.ndarray) -> np.ndarray:
    """Return orthonormal directions outside the basis: the residuals of the axes that are not accurate yet."""
    left = ritz.residuals > ACCURATE
    return orthonormal((ritz.images - ritz.vectors * ritz.values)[:, left], basis)


def _products(at: Coordinates, weights: np.ndarray, means: np.ndarray, blocks: list[np.ndarray]) -> list[np.ndarray]:
    """Return the product of each covariance with its block of vectors."""
    widths = [V.shape[1] for V in blocks]
    own, stacked = np.repeat(np.arange(len(blocks)), widths), np.hstack(blocks)
    along = np.sum(means[own].T * stacked, axis=0)

    def tile(f: np.ndarray, w: np.ndarray) -> np.ndarray:
        return f.T @ (w[:, own] * (f @ stacked - along))

    return np.split(sum_rows(tile, at.F, weights.T, width=2 * at.rank), np.cumsum(widths)[:-1], axis=1)
