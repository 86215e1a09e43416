"""Mixtures of Gaussian densities in feature space (Zhou, section 3), and their components in coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._core.arrays import Array
from .._core.tiles import map_rows, sum_rows
from ..kernels.base import in_float64
from ..linalg.eigenpairs import eigenpairs
from ..linalg.operators import Covariance, Dense, Operator
from ..linalg.signs import signs
from ..linalg.solvers.exact import Exact
from ..linalg.solvers.lanczos import Lanczos
from .basis import Coordinates
from .classes import relative_splits
from .em_axes import refined
from .expansion import Expansion
from .gaussian import FeatureGaussian, energy
from .loadings import LoadingStep
from .subspace import Subspace, splitter

NO_WEIGHT = 1e-20  # relative to all weights: rows with less weight do not change a digit
FEW_ROWS = 2  # rows for each coordinate, up to which the kernel matrix is small enough to be used
LAPACK_SIDE = 300  # coordinates up to which LAPACK finds a few axes faster than Lanczos
FEW_AXES = 5  # with at least this many coordinates for each axis, LAPACK would compute too many axes


@dataclass(frozen=True, eq=False)
class FeatureMixture:
    """Σᵢ mᵢ N(φ̄ᵢ, Σᵢ) (Zhou eq. 14): densities with the same ρ and anchors; each belongs to one of the clusters."""

    weights: np.ndarray
    densities: tuple[FeatureGaussian, ...]
    clusters: np.ndarray

    def cluster_logs(self, X: Array) -> np.ndarray:
        """Return the logarithm of each cluster's sum of terms: (n, n_clusters)."""
        return summed(self.logs(X), self.clusters, np.logaddexp)

    def logs(self, X: Array) -> np.ndarray:
        """Return log mᵢ − ½L̂ᵢ(x) for each row and density, from one evaluation of the kernel: (n, k).

        The logarithms of the terms of Zhou's eq. 14, up to the constant (f/2)·log(2πρ) that they share.
        """
        parts, width = splitter([density.subspace for density in self.densities])

        def tile(x: np.ndarray, k_xx: np.ndarray) -> np.ndarray:
            both = zip(self.densities, parts(x), strict=True)
            energies = [energy(Y, np.maximum(k_xx + r2, 0), g.subspace.variances, g.rho) for g, (Y, r2) in both]
            return np.log(self.weights) - np.column_stack(energies) / 2

        return map_rows(tile, X, self.densities[0].subspace.kernel.diag(in_float64(X)), width=width)


def relative_logs(mixtures: Sequence[FeatureMixture], X: Array) -> list[np.ndarray]:
    """Return log Σᵢ mᵢ exp(−½L̂ᵢ(x)) + k(x, x)/2ρ of each mixture, by which mixtures of one ρ can be compared.

    k(x, x) is not needed: rows of a precomputed matrix do not contain it. Mixtures on the same anchors share one
    evaluation of the kernel.
    """
    densities = [density for mixture in mixtures for density in mixture.densities]
    parts = relative_splits([density.subspace for density in densities], X)
    both = zip(densities, parts, strict=True)
    terms = iter([energy(Y, r2, density.subspace.variances, density.rho) / -2 for density, (Y, r2) in both])
    logs = [np.column_stack([next(terms) + np.log(m) for m in mixture.weights]) for mixture in mixtures]
    return [np.logaddexp.reduce(each, axis=1) for each in logs]


def summed(terms: np.ndarray, clusters: np.ndarray, add: np.ufunc = np.add) -> np.ndarray:
    """Return the sum over the parts of each cluster: (n, n_parts) → (n, n_clusters)."""
    return np.column_stack([add.reduce(terms[:, clusters == c], axis=1) for c in range(clusters.max() + 1)])


def posterior(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return r = p(i | φ) (Zhou eq. 17) and log p(φ), from the logarithms of the terms: (n, k), (n,)."""
    log_p = np.logaddexp.reduce(logs, axis=1)
    return np.exp(logs - log_p[:, None]), log_p


def components(
    at: Coordinates, weights: np.ndarray, q: Sequence[int | None], rho: float, before: "Sequence[Component | None]"
) -> "list[Component]":
    """Return the component of each row of weights, which sum to 1 (Zhou eq. 19, 20).

    With many coordinates, a few axes are refined from the previous ones if their number is unchanged.
    """
    near = {i: last for i, last in enumerate(before) if last is not None and _refines(at, len(last.lam), q[i])}
    found = {i: component(at, w, q[i], rho) for i, w in enumerate(weights) if i not in near}
    if near:
        own = weights[list(near)]
        means = _means(at, own)
        axes = refined(at, own, means, [last.W for last in near.values()])
        found |= {i: Component.above(rho, *each) for i, *each in zip(near, own, means, axes, strict=True)}
    return [found[i] for i in range(len(weights))]


def _refines(at: Coordinates, found: int, q: int | None) -> bool:
    """Return True if the previous axes are refined; with few coordinates, LAPACK is fast enough."""
    return found == q and 0 < FEW_AXES * found <= at.rank and at.rank > LAPACK_SIDE


def component(at: Coordinates, w: np.ndarray, q: int | None, rho: float) -> "Component":
    """Return the mean and the axes with λ > ρ, at most q, of rows with weights w that sum to 1 (Zhou eq. 19, 20)."""
    mean = _means(at, w[None])[0]
    none = np.empty(0), np.empty((at.rank, 0))
    return Component.above(rho, w, mean, _axes(at, w, mean, q) if q != 0 and at.rank else none)


def loading_steps(
    at: Coordinates, weights: np.ndarray, q: Sequence[int | None], rho: float, before: "Sequence[Component | None]"
) -> "list[Component]":
    """Return each component after one step of EM for its loadings: see :func:`loading_step`."""
    return [loading_step(at, w, q[i], rho, before[i]) for i, w in enumerate(weights)]


def loading_step(
    at: Coordinates, w: np.ndarray, q: int | None, rho: float, before: "Component | None" = None
) -> "Component":
    """Return the component after one step of EM for its loadings: L ← CL(ρI + M⁻¹LᵀCL)⁻¹, M = ρI + LᵀL (Zhou eq. 11).

    L = W(Λ − ρ)^½ are the loadings ΦJQ in coordinates. The first loadings are those of the initial responsibilities.
    """
    if before is None or len(before.lam) == 0:
        return component(at, w, q, rho)
    mean = _means(at, w[None])[0]
    root = np.sqrt(w)[:, None] * (at.F - mean)
    L = before.W * np.sqrt(np.maximum(before.lam - rho, 0))
    CL = root.T @ (root @ L)
    step = LoadingStep.of(L.T @ L, L.T @ CL, rho)
    U, s, _ = np.linalg.svd(CL @ step.turn, full_matrices=False)
    return Component(w, mean, U, s**2 + rho, rho)


def _means(at: Coordinates, weights: np.ndarray) -> np.ndarray:
    """Return the mean for each row of weights: (k, rank)."""
    return sum_rows(lambda f, w: w.T @ f, at.F, weights.T, width=at.rank)


def _axes(at: Coordinates, w: np.ndarray, mean: np.ndarray, q: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenpairs of C = MᵀM, M = √w(f − mean) of rows with any weight, or of MMᵀ if that takes less work.

    MMᵀ is JᵀKJ: with few rows for each coordinate, K is computed once for all weights.
    """
    own = np.flatnonzero(w > NO_WEIGHT)
    few, rounded = len(w) <= FEW_ROWS * at.rank, max(1.0, len(w) / at.rank) * (mean @ mean)  # sums before centring
    if not few and len(own) >= at.rank:
        return _leading(Dense(_scatter(at, w, mean)), q, rounded)
    K = at.gram if few and len(own) == len(w) else at.gram[np.ix_(own, own)] if few else at.F[own] @ at.F[own].T
    lam, V = _leading(Covariance(Dense(K), w[own], w[own]), q, rounded)
    B = np.zeros((len(w), len(lam)))
    B[own] = np.sqrt(w[own])[:, None] * V / np.sqrt(lam)
    return lam, at.F.T @ B - np.outer(mean, B.sum(axis=0))


def _scatter(at: Coordinates, w: np.ndarray, mean: np.ndarray) -> np.ndarray:
    def tile(f: np.ndarray, w: np.ndarray) -> np.ndarray:
        M = np.sqrt(w)[:, None] * (f - mean)
        return M.T @ M

    return sum_rows(tile, at.F, w, width=2 * at.rank)


def component_energies(coordinates: Coordinates, components: "Sequence[Component]") -> np.ndarray:
    """Return L̂ (Zhou eq. 16) of each row under each component, from one product with the coordinates: (n, k)."""
    ends = np.cumsum([c.W.shape[1] + 1 for c in components])[:-1]
    stacked = np.hstack([np.column_stack([c.W, c.mean]) for c in components])

    def tile(f: np.ndarray, norms: np.ndarray) -> np.ndarray:
        parts = np.split(f @ stacked, ends, axis=1)
        return np.column_stack([c.energy(part, norms) for c, part in zip(components, parts, strict=True)])

    return map_rows(tile, coordinates.F, coordinates.sqnorms, width=coordinates.rank)


def density(at: Coordinates, c: "Component") -> FeatureGaussian:
    """Return the component as a density that can be evaluated at new rows."""
    Y = (at.F - c.mean) @ c.W
    flips = signs(Y, c.w[:, None], None if at.R is not None else at.Z)
    W, Y = c.W * flips, Y * flips
    B, b = (c.w[:, None] * Y / c.lam, c.w) if at.R is None else (at.R @ W, at.R @ c.mean)
    outside = float(c.w @ at.outside)
    total = float(c.w @ np.sum((at.F - c.mean) ** 2, axis=1)) + outside
    subspace = Subspace(
        axes=Expansion(at.kernel, at.Z, B),
        mean=Expansion(at.kernel, at.Z, b[:, None]),
        variances=c.lam,
        total_variance=total,
        offset=W.T @ c.mean,
        mean_sqnorm=float(c.mean @ c.mean),
        report=replace(at.report, outside=outside, outside_share=outside / total if total > 0 else 0.0),
    )
    return FeatureGaussian(subspace, c.rho)


def _leading(A: Operator, q: int | None, rounded: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the q largest eigenpairs of a small matrix, by the faster of two accurate solvers."""
    n = A.shape[0]
    few = q is None or n <= LAPACK_SIDE or FEW_AXES * q > n
    pairs = eigenpairs(A, q, Exact() if few else Lanczos(), floor=lambda: rounded)
    return pairs.values, pairs.vectors


@dataclass(frozen=True, eq=False)
class Component:
    """A density in coordinates: N(mean, W(Λ − ρ)Wᵀ + ρI) of the rows with weights w."""

    w: np.ndarray
    mean: np.ndarray
    W: np.ndarray
    lam: np.ndarray
    rho: float

    @classmethod
    def above(cls, rho: float, w: np.ndarray, mean: np.ndarray, axes: tuple[np.ndarray, np.ndarray]) -> "Component":
        """Return the component with those axes (λ, W) that have λ > ρ."""
        kept = axes[0] > rho
        return cls(w, mean, axes[1][:, kept], axes[0][kept], rho)

    def energy(self, products: np.ndarray, norms: np.ndarray) -> np.ndarray:
        """Return L̂ of rows f with k(x, x) = ``norms``; ``products`` has fᵀW and, in its last column, f·mean."""
        Y = products[:, :-1] - self.mean @ self.W
        r2 = norms - 2 * products[:, -1] + self.mean @ self.mean - np.sum(Y**2, axis=1)
        return energy(Y, np.maximum(r2, 0), self.lam, self.rho)
