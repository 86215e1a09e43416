"""Kernels of series of different lengths: global alignment, and its approximation by random series."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core.arrays import Array
from .._core.native import align
from .._core.registry import register
from .base import plain
from .objects import Encoded, Objects, as_objects
from .radial import RBF
from .width import _weighted_median, median_distance

BLOCK = 2**18  # entries of the arrays of alignments that are computed at once: they fit the cache
COLUMNS = 128  # number of series that a block of others is aligned with
RESCALED = 4  # points after which the sums over alignments, which grow or shrink with each, are divided by the largest
MOST_POINTS = 2000  # of the series: the bandwidth is computed from them


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
        if not bound.bandwidth > 0:
            raise ValueError(f"bandwidth must be a number above 0, and {self.bandwidth!r} was given.")
        return plain(bound)

    def diag(self, X: Array) -> Array:
        return np.ones(len(as_objects(X, self.whole)))

    @property
    def _gamma(self) -> float:
        if self.bandwidth is None:
            raise ValueError(f"{self!r} takes its bandwidth from data, but is not bound to any. Use kernel.bind(X).")
        return 1 / (2 * float(self.bandwidth) ** 2)


@register("alignment")
@dataclass(eq=False, repr=False)
class GlobalAlignment(_Series):
    """k = a(x, y) / √(a(x, x) a(y, y)), a the sum over all alignments of two series of Π κ(xᵢ, yⱼ).

    The global alignment kernel (Cuturi 2011) with κ = g/(2 − g), g = exp(−‖xᵢ − yⱼ‖²/2σ²), which is positive definite.
    a(x, y) grows with the number of alignments beyond any number type, and is therefore normalised. It costs
    length × length operations for each pair of rows; :class:`RandomWarping` is much faster for long series.

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

    def between(self, x: Encoded, z: Encoded) -> np.ndarray:
        return np.exp(_logs(x[0], z[0], self._gamma) - (x[1][:, None] + z[1]) / 2)


@register("warping")
@dataclass(eq=False, repr=False)
class RandomWarping(_Series):
    """k = f(x)ᵀf(y) / ‖f(x)‖‖f(y)‖, fᵣ(x) the global alignment kernel of x and the random series ωᵣ.

    Alignments with short random series (Wu et al. 2018) are explicit features: n rows need n·R alignments with at most
    ``max_length`` points, while :class:`GlobalAlignment` needs n² alignments of whole series.

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
            logs = _logs(series, random, gamma) - own / 2  # a factor of each row is divided by below
            F = np.exp(logs - logs.max(axis=1, keepdims=True))
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
    """Return log a(xᵢ, zⱼ) of all pairs, in blocks of series of similar lengths, which need little padding."""
    found = np.empty((len(x), len(z)))
    for columns in _by_length(z, COLUMNS):
        longest = len(z[columns[-1]])
        for rows in _by_length(x, max(1, BLOCK // ((longest + 1) * len(columns)))):
            found[np.ix_(rows, columns)] = _block(x[rows], z[columns], gamma)
    return found


def _by_length(series: Any, size: int) -> list[np.ndarray]:
    """Return the numbers of the series in the order of their lengths, as many as ``size`` at a time."""
    order = np.argsort([*map(len, series)], kind="stable")
    return [order[i : i + size] for i in range(0, len(order), size)]


def _block(x: Any, z: Any, gamma: float) -> np.ndarray:
    xs, zs = _padded(x), _padded(z)
    if xs.shape[2] != zs.shape[2]:
        raise ValueError(f"The series have {xs.shape[2]} channels, and those of the model {zs.shape[2]}.")
    g, flat = RBF(gamma), zs.reshape(-1, zs.shape[2])
    local = lambda t: g(flat, xs[t]).reshape(*zs.shape[:2], -1)  # noqa: E731
    found = np.empty((len(x), len(z)))
    ends = np.array([*map(len, z)])
    lengths = np.array([*map(len, x)])
    for t, sums, logs in _sweep(local, len(xs)):
        done = np.flatnonzero(lengths == t)
        found[done] = _log(sums[ends, np.arange(len(z))][:, done]).T + logs[:, done].T
    return found


def _own_logs(x: Any, gamma: float) -> np.ndarray:
    """Return log a(xᵢ, xᵢ)."""
    if not len(x):
        return np.empty(0)
    xs, found = _padded(x), np.empty(len(x))
    lengths = np.array([*map(len, x)])
    local = lambda t: np.exp(-gamma * np.sum((xs - xs[t]) ** 2, axis=2))  # noqa: E731
    for t, sums, logs in _sweep(local, len(xs)):
        done = np.flatnonzero(lengths == t)
        found[done] = _log(sums[t, done]) + logs[done]
    return found


def _sweep(local: Callable[[int], np.ndarray], steps: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield, after each of the first points t of x, the sums a(x₁…x_t, z₁…z_s) for all s up to a factor, and its log.

    a(t, s) = κ(x_t, z_s)(a(t − 1, s − 1) + a(t − 1, s) + a(t, s − 1)), with a(0, 0) = 1 and κ = g/(2 − g), for all
    pairs at once; ``local(t)`` is g of the point x_t and all z_s, of shape (s, pairs…).
    """
    for t in range(steps):
        g = local(t)
        if t == 0:
            before = np.zeros((len(g) + 1, *g.shape[1:]))
            sums, before[0], logs = np.zeros_like(before), 1.0, np.zeros(g.shape[1:])
        align(g, before, sums)
        if t % RESCALED == 0:
            size = sums.max(axis=0)
            size[size == 0] = 1.0
            sums /= size
            logs += np.log(size)
        yield t + 1, sums, logs
        before[0] = 0.0
        before, sums = sums, before


def _padded(series: Any) -> np.ndarray:
    """Return the series side by side, with zeros at the ends of the shorter ones: (length, n, channels)."""
    padded = np.zeros((max(map(len, series), default=1), len(series), series[0].shape[1] if len(series) else 1))
    for i, each in enumerate(series):
        padded[: len(each), i] = each
    return padded


def _log(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(values)
