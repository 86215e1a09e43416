"""Densities of several classes that can be compared: subspaces with shrunk covariances, energies, and ties.

All classes share one kernel and one ρ: a density in feature space is defined up to a constant that depends on these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.arrays import Array
from .._core.blas import single_blas
from .._core.tiles import map_rows
from ..kernels import Kernel
from ..linalg.operators import Covariance, Dense, Operator
from .basis import Moments
from .expansion import Expansion
from .gaussian import FeatureGaussian, energies, energy
from .landmarks import choose
from .subspace import Subspace, principal_subspace, splitter, subspace_of_moments

TIE_POWER = 2 / 3  # power of ε: two r² count as equal if their relative difference is smaller
SOFT = 0.01  # relative to the variance within classes: smallest scale of r² in probabilities
FINER = 1e-4  # relative to the variance within classes: noise variance at which ties of the limiting rule are broken


def class_subspaces(
    kernel: Kernel,
    X: Array,
    y: np.ndarray,
    q: Sequence[int | None] | None = None,
    *,
    gram: Operator | None = None,
    weights: np.ndarray | None = None,
    shrinkage: float = 0.0,
    solver: Any = "auto",
    rng: np.random.Generator | None = None,
) -> list[Subspace]:
    """Return the principal subspace about φ̄_c of (1 − γ)C_c + γ Σₖ pₖCₖ, γ = ``shrinkage``, for each class c.

    ``y`` contains the number of the class of each row, from 0; every class has a row. ``q`` is None (all axes) or one
    number for each class.
    """
    w, members = _weights(X, y, weights)
    q = [None] * members.shape[1] if q is None else q
    most = None if None in q else max(1, *(each or 1 for each in q))
    chosen = choose(solver, X.shape[0], most)
    classes = _Classes(kernel, X, y, w, members, gram, chosen if hasattr(chosen, "basis") else solver, rng)
    if hasattr(chosen, "basis"):
        subspaces = classes.inside_basis(most, shrinkage)
    elif shrinkage == 0:
        subspaces = classes.apart(q)
    elif shrinkage == 1:
        subspaces = classes.pooled(most)
    else:
        subspaces = classes.shrunk(q, shrinkage)
    return [subspace[:qc] for subspace, qc in zip(subspaces, q, strict=True)]


def _weights(X: Array | Operator, y: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the rows, which sum to 1, and their membership of the classes: (n,), (n, n_classes)."""
    w = np.full(X.shape[0], 1 / X.shape[0]) if weights is None else weights / weights.sum()
    return w, np.eye(y.max() + 1)[y]


def _mean_weights(w: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return a column of weights for each class, which sums to 1."""
    return members * w[:, None] / (w @ members)


@dataclass(frozen=True, eq=False)
class _Classes:
    """The rows of all classes, and the methods that compute their subspaces."""

    kernel: Kernel
    X: Array
    y: np.ndarray
    w: np.ndarray
    members: np.ndarray
    gram: Operator | None
    solver: Any
    rng: np.random.Generator | None

    def apart(self, q: Sequence[int | None]) -> Iterator[Subspace]:
        """γ = 0: each class separately."""
        for c, qc in enumerate(q):
            rows = np.flatnonzero(self.y == c)
            own = None if self.gram is None else Dense(self.gram.block(rows))
            yield self._principal(self.X[rows], qc, own, self.w[rows] / self.w[rows].sum())

    def shrunk(self, q: Sequence[int | None], shrinkage: float) -> Iterator[Subspace]:
        """wₙ = (1 − γ)·1[yₙ = c]/n_c + γ/n on all rows, each centred by the mean of its own class."""
        w, S = self.w, _mean_weights(self.w, self.members)
        for c, qc in enumerate(q):
            first = np.argsort(np.arange(len(q)) != c, kind="stable")  # the subspace has the mean of the first group
            wc = (1 - shrinkage) * S[:, c] + shrinkage * w
            yield self._principal(self.X, qc, self.gram, wc, np.argsort(first)[self.y], S[:, first])

    def pooled(self, q: int | None) -> Iterator[Subspace]:
        """γ = 1: one decomposition serves all classes, about different means."""
        S = _mean_weights(self.w, self.members)
        pooled = self._principal(self.X, q, self.gram, self.w, self.y, S)
        for s in S.T.astype(pooled.axes.B.dtype):
            mean = Expansion(self.kernel, self.X, s[:, None])
            offset = pooled.axes.inner(mean)[:, 0]
            yield replace(pooled, mean=mean, offset=offset, mean_sqnorm=float(mean.sqnorms()[0]))

    def _principal(
        self, X: Array, q: int | None, gram: Operator | None, w: np.ndarray, groups: Any = None, mean: Any = None
    ) -> Subspace:
        q, rng = q if q is None else max(q, 1), self.rng
        solver = self.solver
        return principal_subspace(
            self.kernel, X, q, gram=gram, weights=w, groups=groups, mean=mean, solver=solver, rng=rng
        )

    def inside_basis(self, q: int | None, shrinkage: float) -> Iterator[Subspace]:
        """The same covariances inside the span of landmarks that all classes share, from the moments of each class."""
        X, y, w = self.X, self.y, self.w
        with single_blas:
            basis = self.solver.basis(self.kernel, X, q, w, self.rng)
            classes = [basis.moments(X[y == c], w[y == c]) for c in range(y.max() + 1)]
        terms = [_about_mean(moments.scaled(1 / moments.count)) for moments in classes]
        C_pooled = sum(moments.count * C for moments, (_, C, _) in zip(classes, terms, strict=True))
        trace_pooled = sum(moments.count * trace for moments, (_, _, trace) in zip(classes, terms, strict=True))
        for mean, C, trace in terms:
            C = (1 - shrinkage) * C + shrinkage * C_pooled
            trace = (1 - shrinkage) * trace + shrinkage * trace_pooled
            moments = Moments(basis, 1.0, mean, C + np.outer(mean, mean), trace + mean @ mean)
            with single_blas:
                yield subspace_of_moments(moments, q, True, self.solver)


def _about_mean(moments: Moments) -> tuple[np.ndarray, np.ndarray, float]:
    """Return f̄, the covariance of f and tr C of rows whose weights sum to 1."""
    mean = moments.first
    return mean, moments.second - np.outer(mean, mean), moments.diagonal - mean @ mean


def variance_within(gram: Operator, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return Σ_c p_c tr C_c, without a decomposition."""
    w, members = _weights(gram, y, weights)
    return float(Covariance(gram, w, _mean_weights(w, members), y).diag().sum())


def pooled_variance(subspaces: Sequence[Subspace], shares: Sequence[float]) -> float:
    """Return Σ_c p_c tr C_c, which shrinkage does not change: the unit of ρ."""
    return float(sum(p * subspace.total_variance for p, subspace in zip(shares, subspaces, strict=True)))


def feature_gaussians(
    subspaces: Sequence[Subspace], shares: Sequence[float], noise_ratio: float
) -> list[FeatureGaussian]:
    """Return a density for each class, all at ρ = ``noise_ratio`` · Σ_c p_c tr C_c."""
    rho = noise_ratio * pooled_variance(subspaces, shares)
    return [FeatureGaussian.of(subspace, rho) for subspace in subspaces]


def class_joint(
    densities: Sequence[FeatureGaussian], X: Array, log_prior: np.ndarray, shares: Sequence[float], scale: float
) -> np.ndarray:
    """Return log p_c − ½L̂_c up to a constant for each row (Zhou eq. 21): (n, n_classes).

    At ρ = 0 it is −½r²_c/scale (eq. 23); the limit does not determine the scale, see :func:`limit_scale`.
    """
    subspaces, rho = [density.subspace for density in densities], densities[0].rho
    parts = relative_splits(subspaces, X)
    if rho > 0:
        both = zip(parts, subspaces, strict=True)
        return np.column_stack([-energy(Y, r2, s.variances, rho) / 2 for (Y, r2), s in both]) + log_prior
    finer = _closer(parts, subspaces, FINER * pooled_variance(subspaces, shares))
    moved = untied(np.array([outside for _, outside in parts]), finer, log_prior, _tie_width(parts, subspaces))
    return -moved.T / (2 * scale)


def limit_scale(subspaces: Sequence[Subspace], shares: Sequence[float]) -> float:
    """Return the mean of r² over the training rows, or a small share of their variance if that is larger."""
    left = sum(p * (s.total_variance - s.variances.sum()) for p, s in zip(shares, subspaces, strict=True))
    return float(max(left, SOFT * pooled_variance(subspaces, shares))) or 1.0


def relative_splits(subspaces: Sequence[Subspace], X: Array) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return Y and r² − k(x, x) for each subspace; rows of a precomputed matrix do not contain k(x, x).

    Subspaces on the same anchors share one evaluation of the kernel.
    """
    Zs = {id(s.Z): s.Z for s in subspaces}
    groups = [[c for c, s in enumerate(subspaces) if s.Z is Z] for Z in Zs.values()]
    found: dict = {}
    for group in groups:
        found.update(zip(group, _along([subspaces[c] for c in group], X), strict=True))
    return [found[c] for c in range(len(subspaces))]


def _along(subspaces: Sequence[Subspace], X: Array) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return Y and r² − k(x, x) for subspaces on the same anchors."""
    parts, width = splitter(subspaces)
    products = map_rows(lambda x: np.hstack([np.column_stack(part) for part in parts(x)]), X, width=width)
    ends = np.cumsum([len(s.variances) + 1 for s in subspaces])[:-1]
    for part in np.split(products, ends, axis=1):
        yield part[:, :-1], part[:, -1]


def _closer(parts: list[tuple[np.ndarray, np.ndarray]], subspaces: Sequence[Subspace], rho: float) -> np.ndarray:
    """Return L̂ at a small ρ, by which ties are broken; 0 if there is no variance within the classes."""
    if rho == 0:
        return np.zeros((len(parts), len(parts[0][1])))
    both = zip(parts, subspaces, strict=True)
    return np.array([energies(Y, r2, s.variances, [len(s.variances)], [rho])[0, 0] for (Y, r2), s in both])


def _tie_width(parts: list[tuple[np.ndarray, np.ndarray]], subspaces: Sequence[Subspace]) -> np.ndarray:
    """Return the difference up to which two r² count as equal: well above their rounding errors."""
    both = zip(parts, subspaces, strict=True)
    scale = [np.abs(r2) + np.sum(Y**2, axis=1) + s.mean_sqnorm for (Y, r2), s in both]
    return np.finfo(subspaces[0].axes.B.dtype).eps ** TIE_POWER * np.max(scale, axis=0)


def untied(r2: np.ndarray, finer: np.ndarray, log_prior: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return r² of each class (first axis); in a tie, that of the winning class is lowered by ``width``.

    Rows in the subspaces of several classes (duplicates, many axes) have equal r² up to rounding errors. Among the
    classes within ``width`` of the smallest r², the one with the lowest ``finer`` energy wins, then the one with the
    largest prior.
    """
    best = r2.min(axis=0)
    near = r2 <= best + width
    finer = np.where(near, finer, np.inf)
    lowest = finer.min(axis=0)
    near &= finer <= lowest + np.sqrt(np.finfo(float).eps) * np.abs(lowest)
    prior = np.where(near, log_prior.reshape(-1, *[1] * (r2.ndim - 1)), -np.inf)
    moved = r2.copy()
    winner = prior.argmax(axis=0)[None]
    np.put_along_axis(moved, winner, np.where(near.sum(axis=0) > 0, best - width, best)[None], axis=0)
    return moved
