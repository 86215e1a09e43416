"""Imputation: move rows with missing entries towards a principal subspace until they converge.

The result minimises the squared distance r² to the subspace among the rows that agree with the known entries.
Alternating projections onto the subspace and pre-images lower r² at every step.
"""

from collections.abc import Callable, Sequence

import numpy as np

from .._core.tiles import row_tiles
from ..kernels import Radial
from ..rkhs import Subspace
from . import as_preimage

TEMPORARIES = 6  # arrays of the size (rows, anchors) in memory at once
HIDDEN = 0.1  # share of the known values that are hidden to measure errors
CANCELLED = 1e-3  # of Σ|gκ′|: a smaller sum of weights has cancelled

Step = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # x ↦ the next point, and r² of x


def completions(
    subspace: Subspace, Z: np.ndarray, starts: Sequence[np.ndarray | float], max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the completed rows from each start, their r², and the number of iterations: (s, n, d), (s, n), int.

    Each start has the initial values of the NaN entries: a number, one row (d,) for all rows, or an array (n, d).
    """
    missing = np.isnan(Z)
    begun = np.concatenate([np.where(missing, start, Z) for start in starts])
    X, n_iter = _settle(subspace, begun, np.tile(missing, (len(starts), 1)), max_iter, tol)
    return X.reshape(-1, *Z.shape), subspace.split(X)[1].reshape(-1, len(Z)), n_iter


def nearest(donors: np.ndarray, Z: np.ndarray, p: int) -> np.ndarray:
    """Return for each row of Z the p donors that are nearest in its known entries, the nearest first: (p, n, d)."""
    known = ~np.isnan(Z)
    full = np.where(known, Z, 0.0)
    t = -2 * (full @ donors.T) + known.astype(Z.dtype) @ (donors**2).T  # without Σz², which is the same for all donors
    order = np.argsort(t, axis=1, kind="stable")[:, :p]
    return donors[order].transpose(1, 0, 2)


def hide(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of a tenth of the known values, to be hidden; every row and column keeps at least one."""
    known = ~np.isnan(Z)
    hidden = known & (rng.random(Z.shape) < HIDDEN)
    hidden &= (known & ~hidden).any(axis=0)
    return hidden & (known & ~hidden).any(axis=1, keepdims=True)


def average(ends: np.ndarray, r2: np.ndarray, rho: float) -> np.ndarray:
    """Σ w·end / Σ w over the starts, w = exp(−r²/ρ): (n, d)."""
    w = np.exp(-(r2 - r2.min(axis=0)) / max(rho, np.finfo(float).eps))
    return np.einsum("sn,snd->nd", w / w.sum(axis=0), ends)


def _settle(
    subspace: Subspace, X: np.ndarray, missing: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, int]:
    """Step until no row moves by ``tol``; a step that increases r² is halved."""
    step, before = _steps(subspace), X.copy()
    r2, going, n_iter = np.full(len(X), np.inf), np.flatnonzero(missing.any(axis=1)), 0
    while len(going) and n_iter < max_iter:
        n_iter += 1
        tiles = [going[rows] for rows in row_tiles(len(going), TEMPORARIES * subspace.Z.shape[0])]
        moved = [_move(step, X, before, r2, missing, rows) for rows in tiles]
        going = going[np.concatenate(moved) > tol]
    return X, n_iter


def _move(
    step: Step, X: np.ndarray, before: np.ndarray, r2: np.ndarray, missing: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Move some rows in place; return the root mean square change of their missing entries."""
    x, gone = X[rows], missing[rows]
    goal, now = step(x)
    worse = (now > r2[rows])[:, None]
    new = np.where(gone, np.where(worse, (x + before[rows]) / 2, goal), x)
    kept = worse[:, 0]
    before[rows[~kept]], r2[rows[~kept]] = x[~kept], now[~kept]
    X[rows] = new
    return np.sqrt(np.sum((new - x) ** 2, axis=1) / gone.sum(axis=1))


def _steps(subspace: Subspace) -> Step:
    """Return the function x ↦ pre-image of the projection of φ(x), and r² of x.

    For radial kernels the pre-image is one step of the fixed point x ← Σ gᵢκ′(tᵢ)zᵢ / Σ gᵢκ′(tᵢ), g = s + By, from
    the same evaluation of the kernel. The projection changes with the row, so that iterating until its pre-image has
    converged would be wasted work.
    """
    if not isinstance(subspace.kernel, Radial):
        nearest = as_preimage("auto", subspace.kernel).bind(subspace)

        def step(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            Y, r2 = subspace.split(x)
            return nearest(subspace.lift(Y), x).X, r2

        return step
    B, s, Z = (part.astype(float) for part in (subspace.axes.B, subspace.mean.B[:, 0], subspace.Z))
    both = subspace.kernel.with_slope(Z)

    def fixed_point(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k, slope = both(x)
        Y = k @ B - subspace.offset
        r2 = 1 - 2 * (k @ s) + subspace.mean_sqnorm - np.sum(Y**2, axis=1)  # κ(0) = 1
        slope *= Y @ B.T + s
        total = slope.sum(axis=1)
        sound = np.abs(total) > CANCELLED * np.abs(slope).sum(axis=1)
        goal = slope @ Z / np.where(sound, total, 1.0)[:, None]
        return np.where(sound[:, None], goal, x), r2

    return fixed_point
