"""The likelihood of rows in feature space under Tipping's sparse covariance, and all that it needs of them.

C = ρI + Σᵢ wᵢφᵢφᵢᵀ is fitted to n rows, most wᵢ = 0 (Tipping 2001, eq. 4). With G = ΦᵀC⁻¹Φ all of it is a function of
Sᵢ = Gᵢᵢ and Rᵢ = meanₙ Gᵢₙ²: the gradient is ½(R − S), EM is w + w²(R − S), the fast step is w·R/S, and at the maximum
R = S where w > 0 and R ≤ S where w = 0. Values are per row: times n they are the paper's.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from ..._core.dask import take
from ..._core.memory import available_bytes
from ..._core.tiles import LANES, fold_rows, map_rows, sum_rows
from ...kernels.base import in_float64
from ...linalg.cholesky import rpcholesky
from ...linalg.operators import Gram
from ...linalg.signs import signs
from ..basis import TALL
from ..landmarks import ROWS_EACH

EPS = np.finfo(float).eps
ARRAYS = LANES + 4  # m × m: sums of products that are kept apart, a product for each thread, K and what is left of it
SAME = 1e-12  # ‖φᵢ − φⱼ‖² / k(xᵢ, xᵢ) of rows that are equal but for rounding


@dataclass(frozen=True, eq=False)
class Likelihood:
    """All that the likelihood keeps of n rows: K of the m candidates Z, M = meanₙ k(Z, xₙ)k(xₙ, Z), and mean k(x, x).

    ``rows`` are the numbers of the candidates, those with equal images once; ``shares`` is the part of the data that
    each stands for.
    """

    K: np.ndarray
    M: np.ndarray
    trace: float
    rows: np.ndarray
    shares: np.ndarray
    negative_mass: float = 0.0  # of the spectrum of K, which is left out

    @classmethod
    def of(cls, kernel, X, candidates, weights=None):
        """One pass over the rows X with weights that sum to 1 (None: 1/n); ``candidates`` are numbers of rows."""
        _check_memory(len(candidates))
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
        some = np.flatnonzero(K.diagonal() > EPS * K.diagonal().max())  # a row at the origin spans nothing
        kept = kept[some]
        shares = np.bincount(first, take(p, candidates))[kept]
        shares = shares / max(shares.sum(), EPS)
        return cls(_block(K, some), _block(M, some), float(trace), candidates[kept], shares, negative)

    @property
    def largest_noise(self):
        """ρ_max = maxᵢ meanₙ k(xᵢ, xₙ)² / k(xᵢ, xᵢ): from here on the first weight would lower the likelihood."""
        return float(np.max(self.M.diagonal() / self.K.diagonal(), initial=0.0))

    def variances(self, active, B):
        """mean y² of the rows along the axes Σᵢ Bᵢφᵢ over some candidates: diag BᵀMB."""
        return np.maximum(np.einsum("ij,ij->j", B, self.M[np.ix_(active, active)] @ B), 0)

    def signs(self, active, B, points):
        """±1 for each of these axes, such that Σ y³ > 0 over the candidates, however many of them are active."""
        return signs(self.K[:, active] @ B, self.shares[:, None], take(points, self.rows))

    def at(self, rho, w):
        """The covariance whose weights are w, (m,)."""
        active = np.flatnonzero(w)
        return SparseCovariance(self, rho, active, np.asarray(w, float)[active])


def _check_memory(m):
    """Refuse before anything is allocated."""
    need, free = ARRAYS * 8 * m**2, available_bytes()
    if need > free:
        raise MemoryError(
            f"{m} candidates need about {ARRAYS} arrays of {m} × {m}, {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB are "
            "free. Give a smaller number of candidates."
        )


def _block(A, index):
    """The square block of some rows; the matrix itself where they are all."""
    return A if len(index) == len(A) else A[np.ix_(index, index)]


def _first_of_equals(K):
    """For each candidate the number of the first one that has the same image."""
    k = K.diagonal()
    tile = lambda K, k_x: np.argmax(np.abs(k_x[:, None] + k - 2 * K) <= SAME * k_x[:, None], axis=1)  # noqa: E731
    first = map_rows(tile, K, k, width=len(K))
    return first[first]


def _second_moment(k, X, p, m):
    """Σₙ pₙ k(Z, xₙ)k(xₙ, Z), in tiles so tall that making the products takes longer than adding them."""

    def add(sums, x, p):
        (M,) = sums
        F = k(in_float64(x)) * np.sqrt(p)[:, None]
        M += F.T @ F

    return fold_rows(add, lambda: (np.zeros((m, m)),), X, p, width=max(1, m // TALL))[0]


def _positive_part(K, M, eps):
    """K and M inside the span where K is positive, and the share of the spectrum that lies below its rounding ε."""
    size = 4 * len(K) ** 0.5 * np.linalg.norm(K)
    try:
        np.linalg.cholesky(K + EPS * size * np.eye(len(K)))
        return K, M, 0.0
    except np.linalg.LinAlgError:
        values, V = np.linalg.eigh(K)
        mass = np.abs(values[values < -eps * size]).sum() / np.abs(values).sum()
        V, values = V[:, values > EPS * size], values[values > EPS * size]
        return V * values @ V.T, V @ (V.T @ M @ V) @ V.T, float(mass)


def choose_candidates(gram, m, rng, weights=None):
    """Return the numbers of m rows by randomly pivoted Cholesky, among fifteen rows for each where there are more."""
    n, most = gram.shape[0], ROWS_EACH * m
    if m >= n:
        return np.arange(n)
    rows = np.arange(n) if n <= most or not isinstance(gram, Gram) else np.sort(rng.choice(n, most, replace=False))
    part = Gram(gram.kernel, take(gram.X, rows)).coarse() if isinstance(gram, Gram) else gram
    pivots = rpcholesky(part, m, rng, take(weights, rows))[1]
    return np.sort(rows[pivots]) if len(pivots) else rows[:1]


def row_numbers(rows, n):
    """Return numbers of rows as an array, or say what is wrong with them."""
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
    """C = ρI + Σ w φφᵀ over the ``active`` candidates, by way of A = ρI + W^½KW^½, which is never singular.

    ``wS`` and ``wR`` are the diagonals of W^½GW^½ = A⁻¹W^½KW^½ and A⁻¹W^½MW^½A⁻¹: nothing is divided by a weight.
    ``value`` is the log-likelihood of a row, eq. (5) to (8) but for −½D log ρ.
    """

    def __init__(self, data, rho, active, w):
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

    def moved(self, w):
        """The covariance with other weights of the active candidates, of which those at 0 are active no more."""
        on = w > 0
        return SparseCovariance(self.data, self.rho, self.active[on], w[on])

    @property
    def weights(self):
        """w of all candidates: (m,)."""
        w = np.zeros(len(self.data.K))
        w[self.active] = self.w
        return w

    @cached_property
    def statistics(self):
        """S and R of all candidates: (m,), (m,)."""
        data, a = self.data, self.active
        K = data.K[a]
        PK = self._projector @ K
        S = (data.K.diagonal() - np.einsum("ij,ij->j", K, PK)) / self.rho
        R = data.M[np.ix_(a, a)] @ PK - 2 * data.M[a]
        R = (data.M.diagonal() + np.einsum("ij,ij->j", PK, R)) / self.rho**2
        S[a], R[a] = self.wS / self.w, self.wR / self.w
        return S, R

    def gradient(self):
        """∂L/∂w = ½(R − S) of all candidates, eq. (9) and (10)."""
        S, R = self.statistics
        return (R - S) / 2

    def curvature(self):
        """wᵢwⱼ ∂²L/∂wᵢ∂wⱼ = wᵢwⱼ(½Gᵢⱼ² − GᵢⱼQᵢⱼ), Q = meanₙ GᵢₙGₙⱼ, of the active candidates."""
        G = self._inverse @ self._K
        H = G * (G / 2 - self._AM @ self._inverse)
        return (H + H.T) / 2

    def em(self):
        """Eq. (13): w + w²(R − S)."""
        return self.w * (1 + self.wR - self.wS)

    def fast(self):
        """Eq. (14): w·R/S, which never lowers the likelihood either."""
        return self.w * self.wR / self.wS

    def optima(self):
        """The best value of each weight while the others stay: (q̄² − s)/s² with s = S/(1 − wS), q̄² = R/(1 − wS)²."""
        S, R = self.statistics
        left = 1 - self.weights * S
        return np.maximum((R / left - S) * left / S**2, 0)

    def gains(self):
        """What the best weight of each candidate that has none would add: ½(R/S − 1 − log R/S) where R > S."""
        S, R = self.statistics
        x = np.maximum(R / S, 1)
        x[self.active] = 1
        return (x - 1 - np.log(x)) / 2

    @property
    def kkt(self):
        """How far this is from a maximum: the largest |R/S − 1| where w > 0, or R/S − 1 where w = 0."""
        S, R = self.statistics
        x = R / S - 1
        x[self.active] = np.abs(x[self.active])
        return float(np.max(x, initial=0.0))

    @property
    def slack(self):
        """The largest |R/S − 1| where w > 0."""
        return float(np.max(np.abs(self.wR / self.wS - 1), initial=0.0))


def _inverse(K, rho):
    """(ρI + K)⁻¹ and log|I + K/ρ|, by Cholesky."""
    if len(K) == 0:
        return K, 0.0
    A = K.copy()
    A.flat[:: len(K) + 1] += rho
    L = np.linalg.cholesky(A)
    lower = scipy.linalg.lapack.dpotri(L, lower=1)[0]
    return np.tril(lower) + np.tril(lower, -1).T, 2 * np.sum(np.log(L.diagonal() / rho**0.5))
