"""Data-dependent widths: the rules for ``gamma=None | "scale" | "median" | "local"``.

If no width is given, γ = ½ / median distance: exp(−‖x − y‖²/2σ²) with σ² the median squared distance. On 29 tables, raw
and standardised, no other multiple of 1/median was better for both components and classifiers (benchmarks/widths.py).
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._core import arrays
from .._core.arrays import Array, double, full, namespace
from .._core.dask import computed, is_lazy, lazy_variance, number_read, take
from .._core.tiles import slices

UNIT = 0.5  # exp(−½‖(x − y)/ℓ‖²)
CHUNK = 2**14  # rows
MEDIAN_ROWS = 2000  # whose pairs "median" uses: 4 million distances
DEFAULT_ROWS = 500  # whose pairs the default uses: accurate to a few per cent, in milliseconds
NEIGHBOUR = 10  # the neighbour whose distance "local" uses
ROUNDING = 1e-12  # of the largest distance: rows that are closer count as equal
LOCAL = 0.25  # γ · median squared distance to it: narrow enough for curved clusters, and wide enough for EM
DEFAULT = 0.5  # times 1/median: the width if none is given


def resolve_gamma(kernel: Any, X: Array, weights: Array | None = None) -> float:
    """Return the number that the ``gamma`` of a kernel means for the rows of X, each counted by its weight.

    ``kernel.distance`` is the statistic of a pair that γ multiplies; None for kernels of the inner product, whose
    default is 1/d as in scikit-learn.
    """
    gamma, distance = kernel.gamma, kernel.distance
    if isinstance(gamma, Real) and not isinstance(gamma, bool):
        if not 0 <= float(gamma) < np.inf:
            raise ValueError(f"gamma must be a finite number ≥ 0, and {gamma!r} was given.")
        return kernel.gamma
    if gamma is None and distance is None:
        return 1 / X.shape[1]
    if gamma is None:
        return DEFAULT / _nonzero(median_distance(X, weights, distance, DEFAULT_ROWS))
    if gamma == "scale":
        return 1 / (_nonzero(variance(X, weights)) * X.shape[1])
    if gamma == "median":
        return 1 / _nonzero(median_distance(X, weights, distance))
    if gamma == "local":
        return LOCAL / _nonzero(neighbour_distance(X, distance))
    raise ValueError(f"gamma must be a number, None, 'scale', 'median' or 'local', and {gamma!r} was given.")


def resolve_lengthscale(kernel: Any, d: int) -> float:
    """Return γ = ½, for rows that are divided by the lengthscale, after validation of both parameters."""
    if kernel.gamma not in {None, UNIT}:  # ½ was set by an earlier call
        raise ValueError(f"{kernel!r} has a gamma and a lengthscale. Give one: gamma = 1 / (2 lengthscale²).")
    lengthscale = np.asarray(kernel.lengthscale, float)
    if lengthscale.shape not in {(), (1,), (d,)} or not np.all(lengthscale > 0):
        raise ValueError(
            f"lengthscale must be a positive number or {d} of them, one for each column, "
            f"and {kernel.lengthscale!r} was given."
        )
    return UNIT


def unbound_gamma(kernel: Any, d: int) -> float:
    """Return the γ of a kernel that was not bound to data, if it depends on the number of columns alone."""
    if getattr(kernel, "lengthscale", None) is not None:
        return resolve_lengthscale(kernel, d)
    if kernel.gamma is None and kernel.distance is None:
        return 1 / d
    raise ValueError(
        f"{kernel!r} takes its width from data, but is not bound to any. Use kernel.bind(X), or give gamma a number."
    )


def variance(X: Array, weights: Array | None = None) -> float:
    """Return the weighted variance of all entries of X about one common mean."""
    if issparse(X):
        means, variances = mean_variance_axis(X, axis=0, weights=weights)
        return float(np.mean(variances) + np.var(means))
    if is_lazy(X):
        known = number_read(X, "variance")
        return float(computed(lazy_variance(X, weights)) if known is None else known)
    xp = namespace(X)
    w = full((X.shape[0],), 1.0, X) if weights is None else double(arrays.asarray_like(weights, X))
    tiles = slices(X.shape[0], CHUNK)  # the rows may be a file larger than memory
    total = float(xp.sum(w)) * X.shape[1]
    mean = sum(float(xp.sum(w[i] @ double(X[i, :]))) for i in tiles) / total
    return sum(float(xp.sum(w[i] @ (double(X[i, :]) - mean) ** 2)) for i in tiles) / total


def median_sqdist(X: Array, weights: Array | None = None) -> float:
    """Return the weighted median of ‖xᵢ − xⱼ‖² over all ordered pairs; of evenly spaced rows if there are many."""
    return median_distance(X, weights)


def median_distance(
    X: Array,
    weights: Array | None = None,
    distance: Callable[[Array, Array], Array] | None = None,
    most: int = MEDIAN_ROWS,
) -> float:
    """Return the weighted median of all distances above 0, by default ‖xᵢ − xⱼ‖², over ordered pairs of rows."""
    from .base import sqdist

    rows = np.linspace(0, X.shape[0] - 1, min(X.shape[0], most)).astype(int)
    part = double(take(X, rows))
    xp = namespace(part)
    t = xp.reshape((distance or sqdist)(part, part), (-1,))
    positive = t > 0 if bool(xp.any(t > 0)) else t >= 0
    if weights is None:
        return _median(t[positive])
    w = double(take(weights, rows))
    return _weighted_median(t[positive], xp.reshape(w[:, None] * w, (-1,))[positive])


def neighbour_distance(X: Array, distance: Callable[[Array, Array], Array] | None = None) -> float:
    """Return the median distance, by default squared, to the 10th neighbour among the distinct rows.

    If there are more than 2000 rows, only evenly spaced ones are used, also as neighbours. The result then does not
    depend on the number of rows.
    """
    from .base import sqdist

    rows = np.linspace(0, X.shape[0] - 1, min(X.shape[0], MEDIAN_ROWS)).astype(int)
    part = double(take(X, rows))
    t = (distance or sqdist)(part, part)
    xp = namespace(t)
    same = t <= ROUNDING * xp.max(t)
    first = xp.nonzero(xp.argmax(arrays.cast(same, xp.int8), axis=1) == arrays.asarray_like(np.arange(len(rows)), t))[0]
    nearest = xp.sort(arrays.columns(arrays.rows(t, first), first), axis=1)
    return _median(nearest[:, min(NEIGHBOUR, nearest.shape[0] - 1)])


def _median(t: Array) -> float:
    """Return the lower median, as :func:`_weighted_median` does for equal weights, without sorting."""
    middle = (t.shape[0] - 1) // 2
    return float(arrays.nth_smallest(t, middle))


def _weighted_median(t: Array, w: Array) -> float:
    """Return the smallest t such that the weights of the values up to it sum to half of all weights."""
    order = namespace(t).argsort(t)
    mass = namespace(w).cumulative_sum(arrays.rows(w, order))
    middle = int(namespace(t).searchsorted(mass, mass[-1:] / 2)[0])
    return float(t[int(order[middle])])


def _nonzero(statistic: float) -> float:
    """Return the statistic, or 1 for constant data and for data whose squares underflow."""
    return statistic if statistic >= np.finfo(float).tiny else 1.0
