"""Refreshing landmarks in a stream: badly represented rows become landmarks, the least useful landmarks are dropped."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arrays import Array, asarray_like, double, largest, namespace, rows, vstack
from .._core.dask import take
from ..kernels.base import in_float64
from ..linalg.cholesky import rpcholesky
from ..linalg.operators import Gram
from .basis import Basis
from .landmarks import ROWS_EACH, Landmarks, sample_rows
from .moments import Moments

ADDED = 2  # a refresh adds at most one landmark for this many existing ones
WORSE = 1.1  # in units of the share outside of earlier rows: above it, recent rows are represented clearly worse
SPANNED = 1e-9  # relative to k(x, x): a smaller squared distance to the span is a rounding error


@dataclass(frozen=True, eq=False)
class Followed:
    """Moments of all rows so far, the mean squared distance of recent rows to the span, and the landmarks exchanged."""

    moments: Moments
    recent: float
    exchanged: int = 0


def follow(
    seen: Moments,
    recent: float,
    X: Array,
    weights: Array | None,
    setting: Landmarks,
    m: int,
    center: bool,
    rng: np.random.Generator,
) -> Followed:
    """Return the moments of the rows seen and of a batch X, on landmarks that represent both.

    ``recent`` is a moving average over about m rows, so that the size of the batches does not matter.
    """
    batch = seen.basis.moments(X, weights)
    total = seen + batch
    recent = _moving(recent, batch, m)
    share = recent / max(total.variance(center), np.finfo(float).tiny)
    if setting.fixed or share <= _tolerance(seen, setting, m, center):
        return Followed(total, recent)
    basis = seen.basis
    some = _badly_represented(basis, X, weights, max(m // ADDED, m - basis.rank), rng)
    if some is None:
        return Followed(total, recent)
    grown = Basis.of(basis.kernel, vstack(basis.Z, some))
    batch = grown.moments(X, weights)
    moments = seen.into(grown) + batch
    kept = most_useful(moments, m)
    smaller = Basis.of(basis.kernel, rows(grown.Z, kept))
    exchanged = int(np.count_nonzero(grown.kept[kept] >= basis.Z.shape[0]))
    batch = batch.into(smaller)
    return Followed(moments.into(smaller), batch.outside / batch.count, exchanged)


def _moving(recent: float, batch: Moments, m: int) -> float:
    """Return the average distance of recent rows: those of the batch, and earlier ones if it is small."""
    old = 0.5 ** (batch.rows / m)
    return old * recent + (1 - old) * batch.outside / batch.count


def _tolerance(seen: Moments, setting: Landmarks, m: int, center: bool) -> float:
    """Return the share outside above which landmarks are added; nearly 0 while there are fewer than m."""
    if seen.basis.rank < m:
        return SPANNED
    assert setting.refresh is not None
    before = seen.outside / seen.count / max(seen.variance(center), np.finfo(float).tiny)
    return min(setting.refresh, max(WORSE * before, SPANNED))


def _badly_represented(
    basis: Basis, X: Array, weights: Array | None, most: int, rng: np.random.Generator
) -> Array | None:
    """Return rows for new landmarks: pivots of k(x, y) − f(x)ᵀf(y) on the batch; None if all are in the span."""
    part, some = sample_rows(X, ROWS_EACH * basis.Z.shape[0], rng)
    w = None if weights is None else take(weights, some)
    left: Any = Residual(Gram(basis.kernel, in_float64(part)), basis(part))
    farthest, scale = largest(left.diag()), largest(basis.kernel.diag(part))
    if farthest <= SPANNED * scale:
        return None
    _, pivots = rpcholesky(left, most, rng, w, tol=SPANNED * scale / farthest)
    return rows(part, np.sort(pivots))


class Residual:
    """The operator K − FFᵀ: inner products of the parts of images outside a span; F are the coordinates inside it."""

    def __init__(self, gram: Gram, F: Array):
        self.gram, self.F = gram, double(F)
        self.shape, self.dtype = gram.shape, gram.dtype

    def diag(self) -> Array:
        """Return the squared distances to the span."""
        return self.gram.diag() - namespace(self.F).sum(self.F**2, axis=1)

    def columns(self, index: np.ndarray) -> Array:
        """Return some columns."""
        return self.gram.columns(index) - self.F @ rows(self.F, index).T

    def block(self, index: np.ndarray) -> Array:
        """Return the square block of some rows and columns."""
        return self.gram.block(index) - rows(self.F, index) @ rows(self.F, index).T


def most_useful(moments: Moments, m: int) -> np.ndarray:
    """Return the numbers of m landmarks: the one with the least loss eᵀK⁻¹SK⁻¹e / eᵀK⁻¹e is dropped repeatedly.

    S = Σ w k(Z, x)k(x, Z); K⁻¹ = RRᵀ and K⁻¹SK⁻¹ = RΣwffᵀRᵀ are updated at each step.
    """
    R, xp = moments.basis.R, namespace(moments.basis.R)
    G, H = R @ R.T, R @ moments.second @ R.T
    left = xp.ones_like(G[:, 0], dtype=xp.bool)
    for _ in range(R.shape[0] - m):
        g, h = xp.linalg.diagonal(G), xp.linalg.diagonal(H)
        j = int(xp.argmin(xp.where(left, h / xp.where(left, g, 1.0), xp.inf)))
        along, across = G[:, j] / G[j, j], xp.asarray(H[:, j], copy=True)
        H += across[j] * along[:, None] * along - along[:, None] * across - across[:, None] * along
        G -= G[j, j] * along[:, None] * along
        left[j] = False
    return np.asarray([i for i in range(R.shape[0]) if bool(left[i])], int)


def fading(n: int, half_life: float, weights: Any, like: Array) -> Any:
    """Return weights of n rows, which halve with every ``half_life`` later rows."""
    fade = asarray_like(0.5 ** (np.arange(n - 1, -1, -1) / half_life), like)
    return fade if weights is None else weights * fade
