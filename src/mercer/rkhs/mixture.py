"""Mixtures of Gaussian densities in feature space (Zhou, section 3), and their parts in coordinates of the rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..eigen import Exact, Lanczos, Report, eigenpairs, signs
from ..gram import Dense, Gram
from ..kernels import Kernel
from ..kernels.base import in_float64
from ..landmarks import LandmarkBasis, Landmarks, pivoted_cholesky
from ..tiles import available_bytes, map_rows, sum_rows
from .expansion import Expansion
from .gaussian import FeatureGaussian, energy
from .subspace import Subspace

ARRAYS = 3  # n × n in float64: the Gram matrix, LAPACK's copy of it, its factor
NOTHING = 1e-20  # of all weights: rows of less add nothing that rounding would show
FEW = 300  # coordinates: up to here LAPACK finds a few axes faster than Lanczos does


@dataclass(frozen=True, eq=False)
class FeatureMixture:
    """Σᵢ mᵢ N(φ̄ᵢ, Σᵢ), densities of one ρ on the same anchors (Zhou eq. 14)."""

    weights: np.ndarray
    densities: tuple[FeatureGaussian, ...]

    def logs(self, X):
        """log mᵢ − ½L̂ᵢ(x) for each row and density, from one evaluation of the kernel: (n, k).

        The logarithms of the terms of Zhou's eq. 14, up to the constant (f/2)·log(2πρ) that they share.
        """
        subspaces = [density.subspace for density in self.densities]
        B = np.hstack([part.B for s in subspaces for part in (s.axes, s.mean)]).astype(float)
        k_B, width = subspaces[0].kernel.product(in_float64(subspaces[0].Z), B)
        ends = np.cumsum([len(s.variances) + 1 for s in subspaces])[:-1]

        def tile(x, k_xx):
            parts = np.split(k_B(in_float64(x)), ends, axis=1)
            energies = [_energy(g, part, k_xx) for g, part in zip(self.densities, parts, strict=True)]
            return np.log(self.weights) - np.column_stack(energies) / 2

        return map_rows(tile, X, subspaces[0].kernel.diag(in_float64(X)), width=width)


def _energy(density, along, k_xx):
    """L̂ from the inner products of φ(x) with the axes and the mean of a density."""
    subspace = density.subspace
    Y = along[:, :-1] - subspace.offset
    r2 = k_xx - 2 * along[:, -1] + subspace.mean_sqnorm - np.sum(Y**2, axis=1)
    return energy(Y, np.maximum(r2, 0), subspace.variances, density.rho)


def posterior(logs):
    """Responsibilities r = p(i | φ) (Zhou eq. 17) and log p(φ), from the logarithms of the terms: (n, k), (n,)."""
    log_p = np.logaddexp.reduce(logs, axis=1)
    return np.exp(logs - log_p[:, None]), log_p


@dataclass(frozen=True, eq=False)
class Factor:
    """Coordinates fₙ of φ(xₙ) in an orthonormal basis, and what lies outside it: k(xₙ, xₙ) = ‖fₙ‖² + outsideₙ.

    ``R`` writes the basis on the anchors ``Z`` as ΦR. Where the basis holds all of φ it is None: the axes of a
    weighted covariance are then written on the rows themselves, B = wY/λ, which loses fewer digits.
    """

    kernel: Kernel
    Z: Any
    F: np.ndarray
    outside: np.ndarray
    R: np.ndarray | None
    report: Report

    @classmethod
    def of(cls, kernel, X, solver, *, gram=None, q=None, weights=None, rng=None):
        """The factor of the rows of X: inside the span of landmarks, or of the whole Gram matrix."""
        if isinstance(solver, Landmarks):
            basis = LandmarkBasis.of(kernel, solver(kernel, X, q, weights, rng))
            F = map_rows(basis, X, width=2 * len(basis.R))
            return cls(kernel, basis.Z, F, _outside(kernel.diag(in_float64(X)), F), basis.R, Report(solver, 1, 0.0))
        _check_room(X.shape[0])
        K = (Gram(kernel, X) if gram is None else gram).dense()
        if kernel.definite:
            F = pivoted_cholesky(K)
            return cls(kernel, X, F, _outside(K.diagonal(), F), None, Report(solver, 1, 0.0))
        pairs = eigenpairs(Dense(K), None, Exact(), definite=False)  # the negative part is left out
        root = np.sqrt(pairs.values)
        F = pairs.vectors * root
        return cls(kernel, X, F, K.diagonal() - np.sum(F**2, axis=1), pairs.vectors / root, pairs.info)

    @property
    def rank(self):
        return self.F.shape[1]

    def component(self, w, q, rho):
        """The mean and the axes with λ > ρ, at most q, of the rows with weights w that sum to 1 (Zhou eq. 19, 20)."""
        mean = sum_rows(lambda f, w: w @ f, self.F, w, width=self.rank)
        if q == 0 or self.rank == 0:
            return Component(w, mean, np.empty((self.rank, 0)), np.empty(0), rho)
        lam, W = self._axes(w, mean, q)
        kept = lam > rho
        return Component(w, mean, W[:, kept], lam[kept], rho)

    def _axes(self, w, mean, q):
        """Eigenpairs of C = MᵀM, or of MMᵀ where that is smaller, M = √w(f − mean) of the rows that weigh anything."""

        def centred(f, w):
            own = w > NOTHING
            return np.sqrt(w[own])[:, None] * (f[own] - mean)

        def scatter(f, w):
            M = centred(f, w)
            return M.T @ M

        rounded = max(1.0, len(w) / self.rank) * (mean @ mean)  # the size of the sums over rows that were centred
        if np.count_nonzero(w > NOTHING) >= self.rank:
            return _leading(sum_rows(scatter, self.F, w, width=2 * self.rank), q, rounded)
        M = centred(self.F, w)
        lam, V = _leading(M @ M.T, q, rounded)
        return lam, M.T @ (V / np.sqrt(lam))

    def energies(self, components):
        """L̂ (Zhou eq. 16) of each row under each component, without a kernel: (n, k)."""

        def tile(f, outside):
            return np.column_stack([c.energy(f, outside) for c in components])

        return map_rows(tile, self.F, self.outside, width=2 * self.rank)

    def density(self, c):
        """The component as a density that takes new rows."""
        Y = (self.F - c.mean) @ c.W
        flips = signs(Y, c.w[:, None], None if self.R is not None else self.Z)
        W, Y = c.W * flips, Y * flips
        B, b = (c.w[:, None] * Y / c.lam, c.w) if self.R is None else (self.R @ W, self.R @ c.mean)
        outside = float(c.w @ self.outside)
        total = float(c.w @ np.sum((self.F - c.mean) ** 2, axis=1)) + outside
        subspace = Subspace(
            axes=Expansion(self.kernel, self.Z, B),
            mean=Expansion(self.kernel, self.Z, b[:, None]),
            variances=c.lam,
            total_variance=total,
            offset=W.T @ c.mean,
            mean_sqnorm=float(c.mean @ c.mean),
            report=replace(self.report, outside=outside, outside_share=outside / total if total > 0 else 0.0),
        )
        return FeatureGaussian(subspace, c.rho)


def _leading(A, q, rounded):
    """The q largest eigenvalues of a small matrix and their vectors, by the faster of two ways to the last digit."""
    few = q is None or len(A) <= FEW or 5 * q > len(A)
    pairs = eigenpairs(Dense(A), q, Exact() if few else Lanczos(), floor=lambda: rounded)
    return pairs.values, pairs.vectors


def _check_room(n):
    """Refuse a Gram matrix that does not fit, before it is made."""
    need, free = ARRAYS * 8 * n**2, available_bytes()
    if need > free:
        raise MemoryError(
            f"solver='exact' needs {ARRAYS} arrays of {n} × {n}, {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB are "
            "free. Use solver='landmarks'."
        )


def _outside(diagonal, F):
    return np.maximum(diagonal - np.sum(F**2, axis=1), 0)


@dataclass(frozen=True, eq=False)
class Component:
    """A density in the coordinates of a factor: N(mean, W(Λ − ρ)Wᵀ + ρI) of the rows with weights w."""

    w: np.ndarray
    mean: np.ndarray
    W: np.ndarray
    lam: np.ndarray
    rho: float

    def energy(self, f, outside):
        """L̂ of rows with coordinates f."""
        f = f - self.mean
        Y = f @ self.W
        r2 = np.sum(f**2, axis=1) - np.sum(Y**2, axis=1) + outside
        return energy(Y, np.maximum(r2, 0), self.lam, self.rho)
