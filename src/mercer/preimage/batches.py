"""Pre-images of many vectors, some at a time: what is alive at once fits the memory budget."""

import numpy as np

from ..tiles import LANES, budget_entries, in_threads, slices
from .base import PreimageResult, squared_error

ALIVE = 4  # arrays of the size (points, anchors) that a method has at once, beside the temporaries of a kernel
ROWS_ALIVE = 20  # rows that it has for a point: ten neighbours and their copies, or eight steps and gradients
BATCH_ENTRIES = 2**21  # of those arrays: fewer points leave products of matrices half idle, more gain nothing
FEW = 32  # points: a batch is not made smaller for the sake of more threads
PASS = "pre-images"


def in_batches(nearest, lift, Y, near, shape):
    """Return the pre-images of the vectors ``lift(y)``, on anchors of that shape, for each row y: one PreimageResult.

    Batches share the threads, and the pass can be watched (:func:`mercer.tiles.watched`).
    """
    rows = batches(len(Y), *shape)
    parts: list = [None] * len(rows)

    def work(lane):
        for i in lane:
            found = nearest(lift(Y[rows[i]]), None if near is None else near[rows[i]])
            parts[i] = found.X, found.n_iter, found.fallback  # not the vectors, which the result holds on to

    in_threads(work, range(len(rows)), PASS)
    X, n_iter, fallback = (np.concatenate(part) for part in zip(*parts, strict=True))

    def errors():
        """Lifted again where the error is asked for: the vectors of all rows would take more room than all else."""
        return np.concatenate([squared_error(X[i], lift(Y[i])) for i in rows])

    return PreimageResult(X, n_iter, fallback, errors)


def batches(n, m, d=0):
    """Slices of n points over m anchors of d columns that fit the budget, enough of them for the threads."""
    fitting = int(min(BATCH_ENTRIES, budget_entries()) // (ALIVE * max(m, 1) + ROWS_ALIVE * d))
    return slices(n, max(1, min(fitting, max(FEW, -(-n // LANES)))))
