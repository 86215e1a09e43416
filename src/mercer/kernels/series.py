"""Kernels of series of different lengths: global alignment, and its approximation by random series."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core.arrays import Array
from .._core.native import alignments
from .._core.registry import register
from .base import plain
from .objects import Encoded, Objects, as_objects
from .width import _weighted_median, median_distance

MOST = 2**27  # pairs of points, in one call of the extension: a fraction of a second
BLOCK = 2**18  # entries of the arrays of alignments that NumPy computes at once: they fit the cache
RESCALED = 4  # points after which the sums over alignments are divided by the largest one, against over- and underflow
LARGEST = 1e300  # upper bound of γ
MOST_POINTS = 2000  # of the series that are used to compute the bandwidth


class _Series(Objects):
    """A kernel of series: arrays of shape (length,) or (length, channels)."""

    bandwidth: Any
    whole = True
    takes = "series of finite numbers: sequences, or arrays of shape (length, channels)"

    @staticmethod
    def cell(value: Any) -> np.ndarray:
        series = np.asarray(value, float)
        series = series[:, None] if series.ndim == 1 else series
        if series.ndim != 2 or 0 in series.shape or not np.isfinite(series).all() or isinstance(value, str):
            raise ValueError("not a series")
        return series

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        bound, series = copy(self), _as_series(X)
        if self.bandwidth is None:
            bound.bandwidth = _bandwidth(series, weights)
        if not (bound.bandwidth > 0 and 0 < bound._gamma < LARGEST):
            raise ValueError(f"bandwidth must be above 0, with a square in range, and {bound.bandwidth!r} was given.")
        return plain(bound)

    def diag(self, X: Array) -> Array:
        return np.ones(len(as_objects(X, self.whole)))

    @property
    def _gamma(self) -> float:
        if self.bandwidth is None:
            raise ValueError(f"{self!r} takes its bandwidth from data, but is not bound to any. Use kernel.bind(X).")
        with np.errstate(all="ignore"):
            return float(0.5 / np.square(np.float64(self.bandwidth)))


@register("alignment")
@dataclass(eq=False, repr=False)
class GlobalAlignment(_Series):
    """k = a(x, y) / √(a(x, x) a(y, y)), a the sum over all alignments of two series of Π κ(xᵢ, yⱼ).

    The global alignment kernel (Cuturi 2011) with κ = g/(2 − g), g = exp(−‖xᵢ − yⱼ‖²/2σ²), which is positive definite.
    a(x, y) overflows for long series, because it grows with the number of alignments, and is therefore normalised. The
    kernel costs length × length operations for each pair of rows; :class:`RandomWarping` is much faster for long
    series.

    Parameters
    ----------
    bandwidth : float or None, default=None
        σ; None is the median distance of points of the series times the root of the median length (Cuturi).

    Examples
    --------
    >>> from mercer.kernels import GlobalAlignment
    >>> GlobalAlignment(bandwidth=1.0)([[1.0, 2.0, 3.0]], [[1.0, 2.0, 2.0, 3.0], [3.0, 2.0]]).round(3)
    array([[0.76 , 0.032]])
    """

    bandwidth: float | None = None

    def encoder(self, Z: np.ndarray) -> Callable[[np.ndarray], Encoded]:
        def encode(X: np.ndarray) -> Encoded:
            series = _as_series(X)
            return series, _own_logs(series, self._gamma)

        return encode

    def pairs(self, X: Array) -> Callable[[slice, slice], Array]:
        x = self.encoder(X)(X)

        def tile(i: slice, j: slice) -> Array:
            of_i = tuple(part[i] for part in x)
            return self.between(of_i, of_i if i == j else tuple(part[j] for part in x))

        return tile

    def between(self, x: Encoded, z: Encoded) -> np.ndarray:
        return np.exp(_logs(x[0], z[0], self._gamma) - (x[1][:, None] + z[1]) / 2)


@register("warping")
@dataclass(eq=False, repr=False)
class RandomWarping(_Series):
    """k = f(x)ᵀf(y) / ‖f(x)‖‖f(y)‖, fᵣ(x) the global alignment kernel of x and the random series ωᵣ.

    Alignments with short random series (Wu et al. 2018) are explicit features: n rows need n·R alignments with at most
    ``max_length`` points, while :class:`GlobalAlignment` needs n² alignments of whole series. Series that
    are so far from all random series that every alignment underflows are treated as equal to each other, and orthogonal
    to all other series.

    Parameters
    ----------
    n_series : int, default=256
        R, the number of random series.
    max_length : int, default=25
        Their lengths are drawn from 1 to this number; their values are normal.
    bandwidth : float or None, default=None
        σ of the alignments, as in :class:`GlobalAlignment`.
    center, scale : sequence of float or None, default=None
        Mean and standard deviation of the values in each channel; None for those of the training series.
    seed : int, default=0
        Seed of the random series.

    Examples
    --------
    >>> from mercer.kernels import RandomWarping
    >>> series = [[1.0, 2.0, 3.0], [1.0, 2.0, 2.0, 3.0], [3.0, 2.0]]
    >>> RandomWarping().bind(series)(series, series).shape
    (3, 3)
    """

    n_series: int = 256
    max_length: int = 25
    bandwidth: float | None = None
    center: Any = None
    scale: Any = None
    seed: int = 0

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        bound, series = super().bind(X, weights, center), _as_series(X)
        points = np.concatenate(list(series))
        w = _of_points(series, weights)
        mean = np.average(points, axis=0, weights=w)
        spread = np.sqrt(np.average((points - mean) ** 2, axis=0, weights=w))
        bound.center = mean.tolist() if self.center is None else self.center
        bound.scale = spread.tolist() if self.scale is None else self.scale
        return bound

    def encoder(self, Z: np.ndarray) -> Callable[[np.ndarray], Encoded]:
        gamma, random = self._gamma, self._random()
        own = _own_logs(random, gamma)

        def encode(X: np.ndarray) -> Encoded:
            series = _as_series(X)
            logs = _logs(series, random, gamma) - own / 2  # a common factor of a row cancels below
            most = logs.max(axis=1, keepdims=True)
            far = most == -np.inf  # these series have an extra feature
            F = np.hstack([np.exp(logs - np.where(far, 0, most)), far])
            return (F / np.sqrt(np.sum(F**2, axis=1, keepdims=True)),)

        return encode

    def between(self, x: Encoded, z: Encoded) -> np.ndarray:
        return x[0] @ z[0].T

    def _random(self) -> np.ndarray:
        """Return the random series."""
        if self.center is None or self.scale is None:
            raise ValueError(f"{self!r} takes its scale from data, but is not bound to any. Use kernel.bind(X).")
        rng, channels = np.random.default_rng(self.seed), len(self.center)
        lengths = rng.integers(1, self.max_length + 1, self.n_series)
        drawn = [rng.standard_normal((length, channels)) for length in lengths]
        return _as_series([np.asarray(self.center) + np.asarray(self.scale) * each for each in drawn])


def _as_series(X: Any) -> np.ndarray:
    """Return rows as a vector of arrays of shape (length, channels), all with the same channels."""
    rows = as_objects(X, whole=True)
    series = np.empty(len(rows), dtype=object)
    for i, value in enumerate(rows[:, 0]):
        series[i] = _Series.cell(value)
    channels = sorted({each.shape[1] for each in series})
    if len(channels) > 1:
        raise ValueError(f"All series must have the same channels, and there are {channels}.")
    return series


def _of_points(series: np.ndarray, weights: Any) -> np.ndarray:
    """Return a weight for each point: that of its series."""
    return np.repeat(np.ones(len(series)) if weights is None else np.asarray(weights, float), [*map(len, series)])


def _bandwidth(series: np.ndarray, weights: Any) -> float:
    """Return the median distance of points times the root of the median length; 1 if all points are equal."""
    w = np.ones(len(series)) if weights is None else np.asarray(weights, float)
    of_points = None if weights is None else _of_points(series, w)
    t = median_distance(np.concatenate(list(series)), of_points, most=MOST_POINTS)
    length = _weighted_median(np.array([len(each) for each in series], float), w)
    return float(np.sqrt(t * length)) or 1.0


def _logs(x: Any, z: Any, gamma: float) -> np.ndarray:
    """Return log a(xᵢ, zⱼ) of all pairs; if x is z itself, each pair is computed once."""
    rows, columns, found = _by_length(x), _by_length(z), np.empty((len(x), len(z)))
    i, j = np.triu_indices(len(x)) if x is z else np.indices(found.shape).reshape(2, -1)
    i, j = rows[i], columns[j]
    found[i, j] = _aligned(x, i, z, j, gamma)
    if x is z:
        found[j, i] = found[i, j]
    return found


def _own_logs(x: Any, gamma: float) -> np.ndarray:
    """Return log a(xᵢ, xᵢ)."""
    order, found = _by_length(x), np.empty(len(x))
    found[order] = _aligned(x, order, x, order, gamma)
    return found


def _by_length(series: Any) -> np.ndarray:
    """Return the numbers of the series sorted by length: pairs computed together should have similar lengths."""
    return np.argsort([*map(len, series)], kind="stable")


def _aligned(x: Any, i: np.ndarray, z: Any, j: np.ndarray, gamma: float) -> np.ndarray:
    """Return log a(xᵢ, zⱼ) of some pairs (i, j)."""
    if not len(i):
        return np.empty(0)
    (X, of_x), (Z, of_z) = _joined(x), _joined(z)
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"The series have {X.shape[1]} channels, and those of the model {Z.shape[1]}.")
    in_c, longest_x, longest_z = alignments(), int(of_x[:, 1].max()), int(of_z[:, 1].max())
    compute, size = (_in_numpy, BLOCK) if in_c is None else (in_c, MOST // longest_x)
    size = max(1, size // longest_z)
    parts = [slice(start, start + size) for start in range(0, len(i), size)]
    return np.concatenate([compute(gamma, X, Z, np.hstack([of_x[i[part]], of_z[j[part]]])) for part in parts])


def _joined(series: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return all points, and for each series the number of its first one and how many there are."""
    lengths = np.array([*map(len, series)])
    return np.concatenate(list(series)), np.column_stack([np.cumsum(lengths) - lengths, lengths])


def _in_numpy(gamma: float, X: np.ndarray, Z: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return log a of pairs of series: for each, the first point in X, the number of points, and the same in Z.

    a(t, s) = κ(x_t, z_s)(a(t − 1, s − 1) + a(t − 1, s) + a(t, s − 1)), with a(0, 0) = 1 and κ = g/(2 − g), is computed
    for all pairs at once, and divided by its largest entry after every few points.
    """
    start, length, start_z, length_z = pairs.T
    z = Z[start_z + np.minimum(np.arange(length_z.max())[:, None], length_z - 1)]  # (point, pair, channel)
    found, logs = np.empty(len(pairs)), np.zeros(len(pairs))
    before = np.zeros((len(z) + 1, len(pairs)))
    before[0] = 1.0
    for t in range(length.max()):
        with np.errstate(over="ignore"):
            g = np.exp(-gamma * np.sum((z - X[start + np.minimum(t, length - 1)]) ** 2, axis=2))
        g /= 2 - g
        sums = np.zeros_like(before)
        for s, weight in enumerate(g):
            sums[s + 1] = (before[s] + before[s + 1] + sums[s]) * weight
        if t % RESCALED == 0:
            size = sums.max(axis=0)
            size[size == 0] = 1.0
            sums /= size
            logs += np.log(size)
        done = np.flatnonzero(length == t + 1)
        with np.errstate(divide="ignore"):
            found[done] = np.log(sums[length_z[done], done]) + logs[done]
        before = sums
    return found
