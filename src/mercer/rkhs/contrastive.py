"""Contrastive axes: the leading axes of C₁ − αC₀, where C₁ is the covariance of samples and C₀ that of a background.

Each covariance is centred at its own mean.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.arrays import double, vstack
from .._core.blas import single_blas
from .._core.dense import SMALL
from .._core.memory import check_memory
from .._core.tiles import map_rows
from ..kernels import Kernel
from ..linalg.eigenpairs import Eigenpairs, eigenpairs
from ..linalg.operators import Dense
from ..linalg.signs import signs
from ..linalg.solvers.exact import Exact
from .basis import GRAM_ARRAYS, Basis
from .landmarks import Landmarks
from .moments import Moments
from .primal import primal
from .subspace import Subspace
from .supervised import on_basis

CANDIDATES = np.geomspace(0.1, 1000, 20)  # contrasts, in units of tr C₁ / tr C₀
ALIKE = 0.5  # |det WᵀW′| of two sets of axes: above it they count as similar
SHOWN = 2  # axes that are compared: the two that a plot shows


@dataclass(frozen=True, eq=False)
class Contrast:
    """The covariances C₁ of samples and C₀ of a background in one basis, and the coordinates F and F₀ of the rows."""

    moments: Moments
    C: np.ndarray
    background: np.ndarray
    F: np.ndarray
    F0: np.ndarray
    solver: Any

    @classmethod
    def of(
        cls, kernel: Kernel, X: Any, background: Any, q: int | None, weights: Any, solver: Any, rng: np.random.Generator
    ) -> "Contrast":
        """Return both covariances in a basis of the span of all rows, or of landmarks among them."""
        together = vstack(X, background)
        with single_blas:
            basis, used = _basis(kernel, together, q, solver, rng)
            basis = replace(basis, condition=np.inf)  # each tile is multiplied by R: C₁ − αC₀ needs this accuracy
            moments, others = basis.moments(X, weights), basis.moments(background)
            F, F0 = (map_rows(lambda x: basis(x), rows, width=2 * basis.rank) for rows in (X, background))
        return cls(moments, _covariance(moments), _covariance(others), F, F0, used)

    def axes(self, alpha: float, q: int | None) -> Eigenpairs:
        """Return the leading eigenpairs of C₁ − αC₀; only positive eigenvalues count, the lowest one is reported."""
        return eigenpairs(Dense(self.C - alpha * self.background), q, Exact(), floor=self._size, definite=False)

    def _size(self) -> float:
        """Return the mean of k(x, x) times the rows per basis vector: the scale of rounding errors in the sums."""
        f = max(self.moments.first.shape[0], 1)
        return max(1.0, self.moments.count / f) * self.moments.diagonal / self.moments.count

    def subspace(self, alpha: float, q: int | None) -> tuple[Subspace, np.ndarray]:
        """Return the axes with the variance of the samples along each, and that of the background."""
        basis, pairs = self.moments.basis, self.axes(alpha, q)
        mean = self.moments.first / self.moments.count
        W = pairs.vectors * signs((basis(basis.given) - mean) @ pairs.vectors, points=basis.given)
        variances, others = (np.sum(W * (C @ W), axis=0) for C in (self.C, self.background))
        subspace = on_basis(self.moments, W, variances, replace(pairs.info, solver=self.solver))
        return replace(subspace, total_variance=float(self.moments.variance())), others

    def choose(self) -> tuple[float, np.ndarray]:
        """Return the chosen contrast α, and the candidates: one from each range of α with similar axes.

        Along one of its components, the samples separate into two groups more clearly than for the other candidates,
        compared with the background along the same component.
        """
        unit = np.trace(self.C) / max(float(np.trace(self.background)), np.finfo(float).tiny)
        found = [(alpha * unit, self.axes(alpha * unit, SHOWN).vectors) for alpha in CANDIDATES]
        shown = max(W.shape[1] for _, W in found)  # a contrast with fewer positive eigenvalues gives no picture
        if shown == 0:
            return 0.0, np.zeros(1)
        few = [group[len(group) // 2] for group in _ranges([(alpha, W) for alpha, W in found if W.shape[1] == shown])]
        best = max(few, key=lambda pair: np.max(separation(self.F @ pair[1]) - separation(self.F0 @ pair[1])))
        return float(best[0]), np.array([alpha for alpha, _ in few])


def separation(Y: np.ndarray) -> np.ndarray:
    """Return the share of the variance of each column between two groups, those below and above the best threshold.

    It is 2/π for a large normal sample, and 1 for two groups of any sizes without variance of their own.
    """
    n, Y = len(Y), np.sort(Y - Y.mean(axis=0), axis=0)
    below = np.arange(1, n)[:, None]
    between = np.max(np.cumsum(Y, axis=0)[:-1] ** 2 * n / (below * (n - below)), axis=0, initial=0)
    squares = np.sum(Y**2, axis=0)
    return between / np.where(squares > 0, squares, 1)


def _basis(kernel: Kernel, X: Any, q: int | None, solver: Any, rng: np.random.Generator) -> tuple[Basis, Any]:
    setting, named = primal(kernel, X, solver), solver if isinstance(solver, str) else ""
    if setting is not None:
        return Basis.spanning(kernel, X, setting.features, np.random.default_rng(0))[0], setting
    if named == "landmarks" or (named == "auto" and X.shape[0] > SMALL):
        solver = Landmarks()
    if hasattr(solver, "basis"):
        return solver.basis(kernel, X, q, None, rng), solver
    check_memory("solver='exact'", X.shape[0], GRAM_ARRAYS, "Use solver='landmarks'.")
    return Basis.of(kernel, X), Exact()


def _covariance(moments: Moments) -> np.ndarray:
    mean = moments.first / moments.count
    return double(moments.second / moments.count) - np.outer(mean, mean)


def _ranges(found: list[tuple[float, np.ndarray]]) -> list[list[tuple[float, np.ndarray]]]:
    """Return consecutive contrasts in groups: within a group, the axes are similar to those of the first one."""
    groups: list[list[tuple[float, np.ndarray]]] = []
    for alpha, W in found:
        first = groups[-1][0][1] if groups else W[:, :0]
        alike = first.shape == W.shape and abs(np.linalg.det(first.T @ W)) > ALIKE
        if alike:
            groups[-1].append((alpha, W))
        else:
            groups.append([(alpha, W)])
    return groups
