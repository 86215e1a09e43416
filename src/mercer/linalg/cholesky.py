"""Pivoted Cholesky factors of positive semi-definite operators, to the numerical rank."""

from typing import Any

import numpy as np

from .._core.arrays import (
    Array,
    asarray_like,
    cast,
    double,
    eps,
    largest,
    namespace,
    row_numbers,
    rows,
    sqnorms,
    zeros,
)
from .._core.dense import inverse_of_lower
from .._core.tiles import map_rows

CANDIDATES = 120  # drawn in a round: enough for matrix products, few enough to be accepted


def rpcholesky(
    A: Any, rank: int, rng: np.random.Generator, weights: Array | None = None, tol: float | None = None
) -> tuple[Array, np.ndarray]:
    """Return F with A ≈ FFᵀ and its pivots, by accelerated randomly pivoted Cholesky (Epperly, Tropp & Webber 2024).

    Candidates are drawn with probability proportional to the diagonal that is left, and accepted by a second draw
    that undoes the staleness of the first: the pivots are distributed as if drawn one at a time, and the work is in
    matrix products. It ends early where what is left is ``tol`` of the largest diagonal entry. ``weights`` multiply
    the probabilities.
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
        for i in new.tolist():
            left[i] = 0
        left = xp.clip(left, 0, None)
        pivots = np.append(pivots, new)
    return F[:, : len(pivots)], pivots


def _drawn(p: Array, rng: np.random.Generator) -> np.ndarray:
    """Return the numbers of candidates, each row drawn with its probability p."""
    xp = namespace(p)
    mass = xp.cumulative_sum(p)
    return row_numbers(xp.searchsorted(mass / mass[-1], asarray_like(rng.random(CANDIDATES), p), side="right"))


def _eliminated(columns: Array, F: Array, F_new: Array, L: Array) -> Array:
    """Return (columns − F F_newᵀ) L⁻ᵀ: what earlier pivots leave of new columns, made orthogonal to each other."""
    turn = cast(inverse_of_lower(L).T, F.dtype)
    return map_rows(lambda column, f: (column - f @ F_new.T) @ turn, columns, F, width=L.shape[0] + F.shape[1])


def _rejection_cholesky(H: Array, before: Array, rng: np.random.Generator, floor: float) -> tuple[np.ndarray, Array]:
    """Go through the candidates: accept i with probability (what is left of it) / (what was), then eliminate it."""
    accepted: list[int] = []
    n, xp = H.shape[0], namespace(H)
    L, left = xp.zeros_like(H), xp.asarray(xp.linalg.diagonal(H), copy=True)
    bars = xp.clip(asarray_like(rng.uniform(size=n), H) * before, floor, None)
    for i in range(n):
        if left[i] > bars[i]:
            k = len(accepted)
            L[:, k] = (H[:, i] - L[:, :k] @ L[i, :k]) / xp.sqrt(left[i])
            left -= L[:, k] ** 2
            accepted.append(i)
    return np.array(accepted, int), xp.tril(rows(L, accepted)[:, : len(accepted)])
