"""Continuity of components: new axes keep the signs and the order of the previous ones as far as possible."""

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._core.arrays import Array, asarray_like, cast, columns, double, is_foreign, rows
from .subspace import Subspace

CLOSE = 1.02  # ratio of variances up to which components keep their order: the sampling error of 5000 rows


def aligned(new: Subspace, old: Subspace) -> Subspace:
    """Return the new axes with the signs and the order that bring them closest to the old ones.

    The order changes only among axes of nearly equal variance. This is the Procrustes problem over signed permutations:
    they map principal axes to principal axes, and general rotations do not.
    """
    if len(new.axes) == 0 or len(old.axes) == 0:
        return new
    values = _overlap(new, old)
    order = _order(_numpy(new.variances[:, None])[:, 0], values)
    previous = _previous(values[:, order])
    signs = np.array([1.0 if i < 0 or values[i, j] >= 0 else -1.0 for i, j in zip(previous, order, strict=True)])
    turned = _reordered(new, order)
    flips = asarray_like(signs, new.axes.B, new.axes.B.dtype)
    return replace(
        turned, axes=replace(turned.axes, B=turned.axes.B * flips), offset=turned.offset * cast(flips, new.offset.dtype)
    )


def _overlap(new: Subspace, old: Subspace) -> np.ndarray:
    """Return the inner products of old and new axes; if the kernel has changed, correlations on the old anchors."""
    if new.kernel == old.kernel:
        overlap = double(old.axes.inner(new.axes))
        return _numpy(overlap) if is_foreign(overlap) else overlap
    before, after = (np.asarray(subspace.project(old.Z), float) for subspace in (old, new))
    before, after = before / np.linalg.norm(before, axis=0), after / np.linalg.norm(after, axis=0)
    return before.T @ after


def _numpy(matrix: Array) -> np.ndarray:
    """Return a small matrix of any library as a NumPy array."""
    n, m = matrix.shape
    return np.array([[float(matrix[i, j]) for j in range(m)] for i in range(n)]).reshape(n, m)


def _previous(overlap: np.ndarray) -> np.ndarray:
    """Return for each new component the number of the old one that it continues, −1 for none."""
    found = np.full(overlap.shape[1], -1)
    before, after = linear_sum_assignment(-np.abs(overlap))
    found[after] = before
    return found


def _order(variances: np.ndarray, overlap: np.ndarray) -> np.ndarray:
    """Return the new order: neighbours of close variance are exchanged if the old axes had the opposite order."""
    order, previous = np.arange(len(variances)), _previous(overlap)
    for _ in range(len(order)):
        for j in range(len(order) - 1):
            a, b = order[j], order[j + 1]
            if previous[a] > previous[b] >= 0 and variances[a] < CLOSE * variances[b]:
                order[j], order[j + 1] = b, a
    return order


def _reordered(subspace: Subspace, order: np.ndarray) -> Subspace:
    axes = replace(subspace.axes, B=columns(subspace.axes.B, order))
    return replace(subspace, axes=axes, variances=rows(subspace.variances, order), offset=rows(subspace.offset, order))
