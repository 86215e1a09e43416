"""Pre-images of many vectors in batches that fit the memory budget."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from .._core.arrays import Array, namespace
from .._core.tiles import LANES, budget_entries, over_items, slices
from .base import PreimageResult, squared_error

ALIVE = 4  # arrays of the size (points, anchors) that a method holds at once, besides the temporaries of a kernel
ROWS_ALIVE = 20  # rows that a method holds per point: ten neighbours and their copies, or eight steps and gradients
BATCH_ENTRIES = (
    2**21
)  # of each of these arrays: matrix products are inefficient in smaller batches, and no faster in larger ones
FEW = 32  # points: a batch is not made smaller to use more threads
PASS = "pre-images"


def in_batches(nearest: Callable, lift: Callable, Y: Array, near: Array | None, shape: tuple) -> PreimageResult:
    """Return the pre-images of the vectors ``lift(y)`` for each row y of Y; ``shape`` is the shape of the anchors.

    Batches run on several threads and report their progress to :func:`mercer._core.tiles.watched`.
    """
    tiles = batches(Y.shape[0], *shape)
    parts: list = [None] * len(tiles)

    def work(lane: Any) -> None:
        for i in lane:
            found = nearest(lift(Y[tiles[i], :]), None if near is None else near[tiles[i], :])
            parts[i] = found.X, found.n_iter, found.fallback  # not the vectors, which the result would keep in memory

    over_items(work, range(len(tiles)), Y, PASS)
    xp = namespace(Y)
    X, n_iter, fallback = zip(*parts, strict=True)
    X = stacked(X)

    def errors() -> Array:
        """Lift again to compute the error: the vectors of all rows would need more memory than everything else."""
        return xp.concat([squared_error(X[i, :], lift(Y[i, :])) for i in tiles])

    return PreimageResult(X, xp.concat(n_iter), np.concatenate(fallback), errors)


def stacked(parts: Sequence[Array]) -> Array:
    """Return rows below each other, dense or sparse."""
    return vstack(parts).tocsr() if issparse(parts[0]) else namespace(parts[0]).concat(parts)


def batches(n: int, m: int, d: int = 0) -> list[slice]:
    """Return slices of n points over m anchors of d columns that fit the budget, enough for all threads."""
    fitting = int(min(BATCH_ENTRIES, budget_entries()) // (ALIVE * max(m, 1) + ROWS_ALIVE * d))
    return slices(n, max(1, min(fitting, max(FEW, -(-n // LANES)))))
