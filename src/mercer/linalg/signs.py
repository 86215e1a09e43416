"""Signs of eigenvectors, which do not depend on the order of rows, on duplicates, or on rounding."""

from typing import Any

import numpy as np

from .._core.arrays import Array, double, full, is_objects, largest, namespace, row_keys, row_numbers, rows

SKEW = 1e-4  # a smaller skewness does not determine the sign
TIE = 1e-6  # coordinates with a smaller difference count as equal
TINIEST = float(np.finfo(float).tiny)


def signs(Y: Array, w: Array | None = None, points: Any = None) -> Array:
    """Return ±1 for each column of coordinates such that Σ w y³ > 0; see ``_tied_sign`` if that is 0.

    The result does not depend on the order of the rows, and a duplicate counts like twice the weight.
    """
    xp, n = namespace(Y), Y.shape[0]
    w = full((n, 1), 1 / max(n, 1), Y) if w is None else w
    squares = Y * Y
    skewness = xp.sum(w * squares * Y, axis=0) / xp.clip(xp.sum(w * squares, axis=0) ** 1.5, TINIEST, None)
    flips = xp.sign(skewness)
    for j in row_numbers(xp.nonzero(~(abs(skewness) > SKEW))[0]).tolist():
        flips[j] = _tied_sign(Y[:, j], points)
    return flips


def _tied_sign(y: Array, points: Any) -> float:
    """Return the sign of the largest |y|; among ties, of the first row in the lexicographic order of the points."""
    xp = namespace(y)
    tied = xp.nonzero(abs(y) >= (1 - TIE) * xp.max(abs(y)))[0]
    first = 0 if points is None or tied.shape[0] == 1 else _first(rows(points, tied))
    return float(xp.sign(y[int(tied[first])]))


def _first(points: Any) -> int:
    """Return the number of the first row in lexicographic order, after rounding to a grid."""
    if is_objects(points):
        keys = row_keys(points)
        return keys.index(min(keys))
    points = double(points.toarray() if hasattr(points, "toarray") else points)
    xp = namespace(points)
    cells = xp.round(points / (TIE * largest(abs(points), TINIEST)))
    first = xp.ones_like(cells[:, 0], dtype=xp.bool)
    for j in range(cells.shape[1]):  # column by column: the array standard has no sort by several keys
        first &= cells[:, j] == xp.min(cells[:, j][first])
        if int(xp.count_nonzero(first)) == 1:
            break
    return int(xp.nonzero(first)[0][0])
