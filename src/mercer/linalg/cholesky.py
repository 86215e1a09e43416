"""Pivoted Cholesky factors of positive semi-definite operators, up to the numerical rank."""

import numpy as np

from .._core.arrays import (
    Array,
    asarray_like,
    cast,
    double,
    eps,
    host,
    largest,
    namespace,
    row_numbers,
    rows,
    sqnorms,
    zeros,
)
from .._core.dense import inverse_of_lower
from .._core.native import matmul
from .._core.tiles import map_rows
from .operators import Operator

BATCH = 120  # candidates per round: enough for fast matrix products, few enough for most to be accepted


def rpcholesky(
    A: Operator, rank: int, rng: np.random.Generator, weights: Array | None = None, tol: float | None = None
) -> tuple[Array, np.ndarray]:
    """Return F with A ≈ FFᵀ and its pivots, by accelerated randomly pivoted Cholesky (Epperly, Tropp & Webber 2024).

    Candidates are drawn in batches with probabilities proportional to the diagonal of A − FFᵀ. Some are rejected, so
    that the pivots have the same distribution as pivots drawn one at a time; most of the work is in matrix products.
    The algorithm stops early if the whole diagonal of A − FFᵀ is below ``tol`` times the largest entry of A.
    ``weights`` multiply the probabilities.
    """
    diagonal = A.diag()
    xp = namespace(diagonal)
    left = xp.clip(double(diagonal), 0, None)
    w = xp.ones_like(left) if weights is None else weights
    tol = 10 * eps(diagonal) if tol is None else tol
    floor = tol * largest(left)
    F, pivots = zeros((A.shape[0], min(rank, A.shape[0])), left, A.dtype), np.empty(0, int)
    while (k := len(pivots)) < F.shape[1] and largest(left) > floor:
        left[left <= floor] = 0
        drawn = _drawn(left * w / (left @ w), rng)
        known = double(rows(F[:, :k], drawn))
        H = double(A.block(drawn)) - known @ known.T
        accepted, L = _rejection_cholesky(H, rows(left, drawn), rng, floor)
        accepted = accepted[: F.shape[1] - k]
        new, L = drawn[accepted], L[: len(accepted), : len(accepted)]
        F[:, k : k + len(new)] = _eliminated(A.columns(new), F[:, :k], rows(F[:, :k], new), L)
        left -= sqnorms(F[:, k : k + len(new)], xp.float64)
        others = np.ones(A.shape[0])
        others[new] = 0
        left = xp.clip(left, 0, None) * asarray_like(others, left)
        pivots = np.append(pivots, new)
    return F[:, : len(pivots)], pivots


def _drawn(p: Array, rng: np.random.Generator) -> np.ndarray:
    """Draw candidates: row numbers, each row with its probability p."""
    xp = namespace(p)
    mass = xp.cumulative_sum(p)
    return row_numbers(xp.searchsorted(mass / mass[-1], asarray_like(rng.random(BATCH), p), side="right"))


def _eliminated(columns: Array, F: Array, F_new: Array, L: Array) -> Array:
    """Return (columns − F F_newᵀ) L⁻ᵀ, the new columns of the factor."""
    turn = cast(inverse_of_lower(L).T, F.dtype)
    return map_rows(
        lambda column, f: matmul(column - matmul(f, F_new.T), turn), columns, F, width=L.shape[0] + F.shape[1]
    )


def _rejection_cholesky(H: Array, before: Array, rng: np.random.Generator, floor: float) -> tuple[np.ndarray, Array]:
    """Accept candidate i with probability (current diagonal entry) / (entry when drawn), then eliminate it.

    The matrix is small and is computed on the host: on a device, every decision would wait for a transfer.
    """
    accepted: list[int] = []
    H_, n = host(H), H.shape[0]
    L, left = np.zeros_like(H_), H_.diagonal().copy()
    bars = np.maximum(rng.uniform(size=n) * host(before), floor)
    for i in range(n):
        if left[i] > bars[i]:
            k = len(accepted)
            L[:, k] = (H_[:, i] - L[:, :k] @ L[i, :k]) / np.sqrt(left[i])
            left -= L[:, k] ** 2
            accepted.append(i)
    return np.array(accepted, int), asarray_like(np.tril(L[accepted, : len(accepted)]), H)
