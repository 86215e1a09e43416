"""The likelihood of rows in feature space under Tipping's sparse covariance.

C = ρI + Σᵢ wᵢφᵢφᵢᵀ is fitted to n rows, most wᵢ = 0 (Tipping 2001, eq. 4). With G = ΦᵀC⁻¹Φ everything is a function
of Sᵢ = Gᵢᵢ and Rᵢ = meanₙ Gᵢₙ²: the gradient is ½(R − S), EM is w + w²(R − S), the fast step is w·R/S, and at the
maximum R = S where w > 0 and R ≤ S where w = 0. Values are per row; times n they are those of the paper.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from ..._core import native
from ..._core.arrays import Array
from ..._core.dask import take
from ..._core.dense import interruptible, mirrored
from ..._core.memory import check_memory
from ..._core.tiles import CACHE_ENTRIES, LANES, fold_rows, map_rows, sum_rows
from ...kernels import Kernel
from ...kernels.base import in_float64
from ...linalg.cholesky import rpcholesky
from ...linalg.operators import Gram, Operator
from ...linalg.ritz import EPS
from ...linalg.signs import signs
from ..landmarks import ROWS_EACH

ARRAYS = LANES + 4  # number of m × m arrays: partial sums of products, a product for each thread, K and its factor
MOST_PRODUCTS = 10**9  # multiplications for one tile, which take a tenth of a second: Ctrl-C works between tiles
SAME = 1e-12  # ‖φᵢ − φⱼ‖² / k(xᵢ, xᵢ) of rows that are equal up to rounding errors


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The data of the likelihood: K of the m candidates Z, M = meanₙ k(Z, xₙ)k(xₙ, Z), and ``trace`` = mean k(x, x).

    ``rows`` are the numbers of the candidates, of which those with equal images are listed once; ``shares`` are the
    shares of the data that they represent.
    """

    K: np.ndarray
    M: np.ndarray
    trace: float
    rows: np.ndarray
    shares: np.ndarray
    negative_mass: float = 0.0  # the share of the spectrum of K that is negative, which is left out

    @classmethod
    def of(cls, kernel: Kernel, X: Array, candidates: np.ndarray, weights: Array | None = None) -> "Likelihood":
        """Make one pass over the rows X with weights that sum to 1 (None: 1/n); ``candidates`` are row numbers."""
        m = len(candidates)
        check_memory(f"Fitting {m} candidates", m, ARRAYS, "Give a smaller number of candidates.")
        p = np.broadcast_to(1 / X.shape[0], X.shape[:1]) if weights is None else weights
        trace = sum_rows(lambda x, p: p @ kernel.diag(in_float64(x)), X, p, width=X.shape[1])
        Z = in_float64(take(X, candidates))
        K = kernel(Z, Z) if np.issubdtype(Z.dtype, np.integer) else Gram(kernel, Z).dense()
        eps, K = np.finfo(K.dtype).eps, K.astype(float, copy=False)
        first = _first_of_equals(K)
        kept = np.flatnonzero(first == np.arange(len(K)))
        K, M, negative = _block(K, kept), _second_moment(kernel.onto(Z[kept]), X, p, len(kept)), 0.0
        if not kernel.definite:
            K, M, negative = _positive_part(K, M, eps)
        some = np.flatnonzero(K.diagonal() > EPS * K.diagonal().max())  # the image of a row at the origin is 0
        kept = kept[some]
        shares = np.bincount(first, take(p, candidates))[kept]
        shares = shares / max(shares.sum(), EPS)
        return cls(_block(K, some), _block(M, some), float(trace), candidates[kept], shares, negative)

    @property
    def largest_noise(self) -> float:
        """ρ_max = maxᵢ meanₙ k(xᵢ, xₙ)² / k(xᵢ, xᵢ): at a larger ρ all weights are 0."""
        return float(np.max(self.M.diagonal() / self.K.diagonal(), initial=0.0))

    def variances(self, active: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return mean y² of the rows along the axes Σᵢ Bᵢφᵢ over some candidates: diag BᵀMB."""
        return np.maximum(np.einsum("ij,ij->j", B, self.M[np.ix_(active, active)] @ B), 0)

    def signs(self, active: np.ndarray, B: np.ndarray, points: Array) -> np.ndarray:
        """Return ±1 for each of these axes, such that Σ y³ > 0 over all candidates."""
        return signs(self.K[:, active] @ B, self.shares[:, None], take(points, self.rows))

    def at(self, rho: float, w: np.ndarray) -> "SparseCovariance":
        """Return the covariance with the weights w, (m,)."""
        active = np.flatnonzero(w)
        return SparseCovariance(self, rho, active, np.asarray(w, float)[active])


def _block(A: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the square block of some rows, without a copy if they are all."""
    return A if len(index) == len(A) else A[np.ix_(index, index)]


def _first_of_equals(K: np.ndarray) -> np.ndarray:
    """Return, for each candidate, the number of the first one with the same image."""
    k = K.diagonal()
    tile = lambda K, k_x: np.argmax(np.abs(k_x[:, None] + k - 2 * K) <= SAME * k_x[:, None], axis=1)  # noqa: E731
    first = map_rows(tile, K, k, width=len(K))
    return first[first]


def _second_moment(k: Callable[[Array], Array], X: Array, p: Array, m: int) -> np.ndarray:
    """Return Σₙ pₙ k(Z, xₙ)k(xₙ, Z), in tall tiles: adding m × m matrices is slow."""

    def add(sums: tuple[np.ndarray], x: np.ndarray, p: np.ndarray) -> None:
        (M,) = sums
        F = k(in_float64(x)) * np.sqrt(p)[:, None]
        native.add_gram(M, F)

    width = max(1, m, m**2 * CACHE_ENTRIES // MOST_PRODUCTS)
    return mirrored(fold_rows(add, lambda: (np.zeros((m, m)),), X, p, width=width)[0])


def _positive_part(K: np.ndarray, M: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return K and M projected onto the positive part of K, and the negative share of the spectrum."""
    size = 4 * len(K) ** 0.5 * np.linalg.norm(K)
    try:
        interruptible(np.linalg.cholesky, K + EPS * size * np.eye(len(K)))
        return K, M, 0.0
    except np.linalg.LinAlgError:
        values, V = interruptible(np.linalg.eigh, K)
        mass = np.abs(values[values < -eps * size]).sum() / np.abs(values).sum()
        V, values = V[:, values > EPS * size], values[values > EPS * size]
        return V * values @ V.T, V @ (V.T @ M @ V) @ V.T, float(mass)


def choose_candidates(
    gram: Operator, m: int, rng: np.random.Generator, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the numbers of m rows, by randomly pivoted Cholesky on a random subset of at most 15·m rows."""
    n, most = gram.shape[0], ROWS_EACH * m
    if m >= n:
        return np.arange(n)
    rows = np.arange(n) if n <= most or not isinstance(gram, Gram) else np.sort(rng.choice(n, most, replace=False))
    part = Gram(gram.kernel, take(gram.X, rows)).coarse() if isinstance(gram, Gram) else gram
    pivots = rpcholesky(part, m, rng, take(weights, rows))[1]
    return np.sort(rows[pivots]) if len(pivots) else rows[:1]


def row_numbers(rows: Any, n: int) -> np.ndarray:
    """Return validated row numbers as an array."""
    rows = np.asarray(rows)
    if rows.ndim != 1 or len(rows) == 0 or not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(
            "candidates must be a number, or a list of row numbers; an array of shape "
            f"{rows.shape} and type {rows.dtype} was given."
        )
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"candidates must be row numbers from 0 to {n - 1}; {rows.min()} to {rows.max()} were given.")
    return rows


class SparseCovariance:
    """C = ρI + Σ w φφᵀ over the ``active`` candidates, computed from A = ρI + W^½KW^½, which is never singular.

    ``wS`` and ``wR`` are the diagonals of W^½GW^½ = A⁻¹W^½KW^½ and A⁻¹W^½MW^½A⁻¹, without a division by weights.
    ``value`` is the log-likelihood of a row, eq. (5) to (8) without −½D log ρ.
    """

    def __init__(self, data: Likelihood, rho: float, active: np.ndarray, w: np.ndarray) -> None:
        self.data, self.rho, self.active, self.w = data, rho, active, w
        root = np.sqrt(w)
        scale, block = root[:, None] * root, np.ix_(active, active)
        self._K = scale * data.K[block]
        self._inverse, log_det = _inverse(self._K, rho)
        self._AM = self._inverse @ (scale * data.M[block])
        self._projector = scale * self._inverse
        self.value = -(log_det + (data.trace - np.trace(self._AM)) / rho) / 2
        self.wS = np.einsum("ij,ij->i", self._inverse, self._K)
        self.wR = np.einsum("ij,ij->i", self._AM, self._inverse)

    def moved(self, w: np.ndarray) -> "SparseCovariance":
        """Return the covariance with other weights of the active candidates; those of weight 0 become inactive."""
        on = w > 0
        return SparseCovariance(self.data, self.rho, self.active[on], w[on])

    @property
    def weights(self) -> np.ndarray:
        """The weights of all candidates: (m,)."""
        w = np.zeros(len(self.data.K))
        w[self.active] = self.w
        return w

    @cached_property
    def statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """S and R of all candidates: (m,), (m,)."""
        data, a = self.data, self.active
        K = data.K[a]
        PK = self._projector @ K
        S = (data.K.diagonal() - np.einsum("ij,ij->j", K, PK)) / self.rho
        R = data.M[np.ix_(a, a)] @ PK - 2 * data.M[a]
        R = (data.M.diagonal() + np.einsum("ij,ij->j", PK, R)) / self.rho**2
        S[a], R[a] = self.wS / self.w, self.wR / self.w
        return S, R

    def gradient(self) -> np.ndarray:
        """Return ∂L/∂w = ½(R − S) of all candidates, eq. (9) and (10)."""
        S, R = self.statistics
        return (R - S) / 2

    def curvature(self) -> np.ndarray:
        """Return wᵢwⱼ ∂²L/∂wᵢ∂wⱼ = wᵢwⱼ(½Gᵢⱼ² − GᵢⱼQᵢⱼ), Q = meanₙ GᵢₙGₙⱼ, of the active candidates."""
        G = self._inverse @ self._K
        H = G * (G / 2 - self._AM @ self._inverse)
        return (H + H.T) / 2

    def em(self) -> np.ndarray:
        """Return eq. (13): w + w²(R − S)."""
        return self.w * (1 + self.wR - self.wS)

    def fast(self) -> np.ndarray:
        """Return eq. (14): w·R/S, which does not lower the likelihood either."""
        return self.w * self.wR / self.wS

    def optima(self) -> np.ndarray:
        """Return the best value of each weight, others fixed: (q̄² − s)/s², s = S/(1 − wS), q̄² = R/(1 − wS)²."""
        S, R = self.statistics
        left = 1 - self.weights * S
        return np.maximum((R / left - S) * left / S**2, 0)

    def gains(self) -> np.ndarray:
        """Return the gain of the best weight of each inactive candidate: ½(R/S − 1 − log R/S) where R > S."""
        S, R = self.statistics
        x = np.maximum(R / S, 1)
        x[self.active] = 1
        return (x - 1 - np.log(x)) / 2

    @property
    def kkt(self) -> float:
        """The violation of the conditions of a maximum: the largest |R/S − 1| where w > 0, or R/S − 1 where w = 0."""
        S, R = self.statistics
        x = R / S - 1
        x[self.active] = np.abs(x[self.active])
        return float(np.max(x, initial=0.0))

    @property
    def slack(self) -> float:
        """The largest |R/S − 1| where w > 0."""
        return float(np.max(np.abs(self.wR / self.wS - 1), initial=0.0))


def _inverse(K: np.ndarray, rho: float) -> tuple[np.ndarray, float]:
    """Return (ρI + K)⁻¹ and log|I + K/ρ|, by Cholesky."""
    if len(K) == 0:
        return K, 0.0
    A = K.copy()
    A.flat[:: len(K) + 1] += rho
    L = np.linalg.cholesky(A)
    lower = scipy.linalg.lapack.dpotri(L, lower=1)[0]
    return np.tril(lower) + np.tril(lower, -1).T, 2 * np.sum(np.log(L.diagonal() / rho**0.5))
