"""Lines and grids in the space of coordinates, and their pre-images."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .base import Nearest


@dataclass(frozen=True, eq=False)
class LatentGrid:
    """Rows over a grid of two coordinates: ``X[i, j]`` is the pre-image at (``first[j]``, ``second[i]``).

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> X, _ = datasets.moons(n=100)
    >>> KernelPCA(2, kernel=RBF(1.0)).fit(X).latent_grid(n_steps=5).X.shape
    (5, 5, 2)
    """

    X: np.ndarray
    first: np.ndarray
    second: np.ndarray


def walk(nearest: Nearest, lift: Callable, blocks: Iterable, near: Any = None) -> np.ndarray:
    """Return the pre-images of blocks of coordinates, each started from those of the previous block: (b, p, d)."""
    points = []
    for Y in blocks:
        near = nearest(lift(Y), near).X
        points.append(near.toarray() if issparse(near) else near)
    return np.stack(points)


def line(first: np.ndarray, last: np.ndarray, n: int) -> np.ndarray:
    """Return n points on a line, both ends included, as blocks of one: (n, 1, q)."""
    share = np.linspace(0, 1, n, dtype=first.dtype)[:, None, None]
    return (1 - share) * first + share * last


def grid(
    Y: np.ndarray, components: Sequence[int], n: int, quantiles: Sequence[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two ranges, between quantiles of the coordinates Y, and the grid over them: (n,), (n,), (n, n, q).

    The other coordinates stay at their means.
    """
    low, high = np.quantile(Y[:, list(components)], quantiles, axis=0)
    ranges = np.linspace(low, high, n, dtype=Y.dtype, axis=1)
    blocks = np.tile(Y.mean(axis=0, dtype=float).astype(Y.dtype), (n, n, 1))
    for j, values in zip(components, np.meshgrid(*ranges), strict=True):
        blocks[:, :, j] = values
    return ranges[0], ranges[1], blocks
