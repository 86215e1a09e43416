"""L-BFGS for many small problems at once: every step evaluates all objectives that have not converged."""

from collections.abc import Callable

import numpy as np

MEMORY = 8  # pairs of steps and changes of gradient that approximate the curvature
DECREASE, CURVATURE = 1e-4, 0.9  # of the slope: the usual constants of the weak Wolfe conditions
TRIALS = 30  # steps tried along one direction: down to 1e-9 of the first one
FIRST_STEP = 0.1  # of the length: the first step, before any curvature is known
GAIN = 1e-4  # of the tolerance: stop after an iteration that gained less, in units of the objective
POSITIVE = 1e-10  # cosine of step and change of gradient: below it a pair shows no positive curvature


def descend(
    objective: Callable,
    X: np.ndarray,
    length: float,
    *,
    max_iter: int,
    tol: float,
    lower: float | np.ndarray = -np.inf,
    upper: float | np.ndarray = np.inf,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the objective of every row within a box; return the points and the number of iterations of each.

    ``objective(rows, X)`` gives the values (p,) and gradients (p, d) of those rows at X; ``length`` is the scale of the
    points. A row has converged if its gradient, in units of ``length``, is below ``tol``, or an iteration gains
    nothing.
    """
    X, n_iter, rows = np.clip(X, lower, upper), np.zeros(len(X), int), np.arange(len(X))
    f, g = objective(rows, X)
    memory = _Memory(X.shape)
    for _ in range(max_iter):
        held = ((X[rows] <= lower) & (g[rows] > 0)) | ((X[rows] >= upper) & (g[rows] < 0))
        free = np.where(held, 0, g[rows])  # the gradient, without the part that would leave the box
        going = np.abs(free).max(axis=1, initial=0) * length > tol * np.maximum(np.abs(f[rows]), 1)
        rows, held, free = rows[going], held[going], free[going]
        if len(rows) == 0:
            break
        n_iter[rows] += 1
        known = memory.scale[rows] > 0
        D = np.where(held, 0, memory.direction(rows, free, FIRST_STEP * length))
        x, f_new, g_new = _search(objective, rows, X[rows], f[rows], g[rows], D, lower, upper)
        memory.add(rows, x - X[rows], np.where(held, 0, g_new - g[rows]))
        settled = f[rows] - f_new <= GAIN * tol * np.maximum(np.abs(f_new), 1)
        X[rows], f[rows], g[rows] = x, f_new, g_new
        memory.forget(rows[settled])
        rows = rows[~settled | known]  # with a memory: once more, along the gradient
    return X, n_iter


class _Memory:
    """The last steps and changes of gradient of every row, for the two loops of L-BFGS."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.S, self.C = np.zeros((MEMORY, *shape)), np.zeros((MEMORY, *shape))
        self.inverse = np.zeros((MEMORY, shape[0]))  # 1 / sᵀc, and 0 for pairs that are not used
        self.scale = np.zeros(shape[0])  # sᵀc / cᵀc of the last pair; 0 if there is none
        self.at = 0

    def add(self, rows: np.ndarray, S: np.ndarray, C: np.ndarray) -> None:
        """Remember a step if it shows positive curvature."""
        sc, cc = np.sum(S * C, axis=1), np.sum(C**2, axis=1)
        sound = sc > POSITIVE * np.sqrt(np.sum(S**2, axis=1) * cc)
        self.S[self.at, rows], self.C[self.at, rows] = S, C
        self.inverse[self.at] = 0
        self.inverse[self.at, rows[sound]] = 1 / sc[sound]
        self.scale[rows[sound]] = (sc / np.where(sound, cc, 1))[sound]
        self.at = (self.at + 1) % MEMORY

    def forget(self, rows: np.ndarray) -> None:
        """Discard all steps."""
        self.inverse[:, rows], self.scale[rows] = 0, 0

    def direction(self, rows: np.ndarray, g: np.ndarray, first: float) -> np.ndarray:
        """Return −Hg by the two loops, or the gradient scaled to the length ``first`` before the first step."""
        D, order = g.copy(), [(self.at + i) % MEMORY for i in range(MEMORY)]
        weights = {}
        for i in reversed(order):
            weights[i] = self.inverse[i, rows] * np.sum(self.S[i, rows] * D, axis=1)
            D -= weights[i][:, None] * self.C[i, rows]
        bare = first / np.linalg.norm(g, axis=1)
        D *= np.where(self.scale[rows] > 0, self.scale[rows], bare)[:, None]
        for i in order:
            along = self.inverse[i, rows] * np.sum(self.C[i, rows] * D, axis=1)
            D += (weights[i] - along)[:, None] * self.S[i, rows]
        return -D


def _search(
    objective: Callable,
    rows: np.ndarray,
    X: np.ndarray,
    f: np.ndarray,
    g: np.ndarray,
    D: np.ndarray,
    lower: float | np.ndarray,
    upper: float | np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Step along D until both Wolfe conditions hold: halve the step if it is too long, double it if it is too short.

    Bisection between the longest step that was too short and the shortest that was too long (Lewis & Overton 2013)
    also converges at kinks. The lowest point found is returned, or the first one if no step helps.
    """
    best, f_best, g_best = X.copy(), f.copy(), g.copy()
    slope = np.sum(g * D, axis=1)
    step, short, far = np.ones(len(rows)), np.zeros(len(rows)), np.full(len(rows), np.inf)
    trying = np.flatnonzero(slope < 0)
    for _ in range(TRIALS):
        if len(trying) == 0:
            break
        reached = X[trying] + step[trying, None] * D[trying]
        x = np.clip(reached, lower, upper)
        f_x, g_x = objective(rows[trying], x)
        low = f_x <= f[trying] + DECREASE * np.sum(g[trying] * (x - X[trying]), axis=1)
        slope_x = np.sum(
            g_x * D[trying] * (x == reached), axis=1
        )  # coordinates clipped to the box do not move any more
        flat = slope_x >= CURVATURE * slope[trying]
        better = f_x < f_best[trying]
        changed = trying[better]
        best[changed], f_best[changed], g_best[changed] = x[better], f_x[better], g_x[better]
        far[trying[~low]] = step[trying[~low]]
        short[trying[low]] = step[trying[low]]
        trying = trying[~(low & flat)]
        step[trying] = np.where(np.isinf(far[trying]), 2 * short[trying], (short[trying] + far[trying]) / 2)
    return best, f_best, g_best
