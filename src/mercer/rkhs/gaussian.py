"""Gaussian densities in feature space: what Zhou and De Plaen & Suykens both put around a principal subspace."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from .. import arrays
from ..arrays import (
    cast,
    count,
    cumsum,
    double,
    elsewhere,
    eps,
    eye,
    is_integer,
    namespace,
    placed,
    side_by_side,
    stacked,
    zeros,
)
from ..gram import Dense, Gram
from ..kernels.base import in_float64
from ..landmarks import inverse_of_lower, rpcholesky
from .expansion import Expansion
from .subspace import Subspace

ROUNDING = 10  # times √n·ε: a share of the variance that is no more than the rounding of a trace


@dataclass(frozen=True, eq=False)
class FeatureGaussian:
    """N(φ̄, U(Λ − ρ)Uᵀ + ρI): ``subspace`` holds φ̄, U and Λ > ρ, ``rho`` is the noise variance in every direction.

    At ρ = 0 it is the limit: ``energy`` is then r², what ρ·L̂ tends to (Zhou eq. 13), and nothing else is compared.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ProbabilisticKernelPCA
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> density = ProbabilisticKernelPCA(2).fit(X).density_
    >>> density.mahalanobis(X).shape
    (50,)
    """

    subspace: Subspace
    rho: float

    @classmethod
    def of(cls, subspace, rho):
        """The density whose noise is ρ: axes along which there is no more than noise are left out."""
        return cls(subspace[: count(subspace.variances > rho)], float(rho))

    @property
    def _lam(self):
        return self.subspace.variances

    def mahalanobis(self, X):
        """Zhou eq. 12 in principal coordinates: L = Σ y²/λ + r²/ρ."""
        Y, r2 = self.subspace.split(X)
        return mahalanobis(Y, r2, self._lam, self.rho)

    def energy(self, X):
        """Zhou eq. 16: L̂ = L + Σ log(λ/ρ), −2 log density up to f·log(2πρ), a constant of ρ alone."""
        Y, r2 = self.subspace.split(X)
        return energy(Y, r2, self._lam, self.rho)

    def energies(self, X):
        """L̂ of the densities with the first 0, 1, …, q of these axes at the same ρ: (n, q + 1)."""
        Y, r2 = self.subspace.split(X)
        return energies(Y, r2, self._lam, self.rho)

    def posterior_mean(self, X):
        """E[h | x] = (1 − ρ/λ)^½ λ^{−½} y, h ~ N(0, I): (n, q)."""
        return self.latent(self.subspace.project(X))

    @property
    def posterior_variance(self):
        """Var[h | x] = ρ/λ, the same for every x: (q,)."""
        return self.rho / self._lam

    def latent(self, Y):
        """Coordinates y → latent variables h."""
        return cast(Y * namespace(Y).sqrt((1 - self.rho / self._lam) / self._lam), Y.dtype)

    def features(self, H) -> Expansion:
        """E[φ | h] = φ̄ + U(Λ − ρ)^½ h for each row h of H."""
        return self.subspace.lift(cast(H * namespace(H).sqrt(self._lam - self.rho), H.dtype))

    def sample(self, p, rng) -> Expansion:
        """Draw p vectors from the density, with the noise in all of span φ(Z): k_c of them has De Plaen's B Bᵀ."""
        return self.sample_given(rng.standard_normal((p, self._lam.shape[0])), rng)

    def sample_given(self, H, rng) -> Expansion:
        """Draw φ | h = φ̄ + U(Λ − ρ)^½ h + √ρ ΦRξ, ξ ~ N(0, I), for each row h of H; ΦR is a basis of span φ(Z)."""
        H, xp = H if elsewhere(H) else placed(H, self._lam), namespace(self._lam)
        mean = self.features(cast(H, self.subspace.axes.B.dtype))
        if self.rho == 0:
            return mean
        basis = self._basis
        noise = sqrt(self.rho) * placed(rng.standard_normal((H.shape[0], basis.R.shape[1])), self._lam)
        along = xp.sum(noise * basis.coordinates(H * xp.sqrt(self._lam - self.rho)), axis=1)
        squares = mean.squares + 2 * along + xp.sum(noise**2, axis=1)
        return replace(mean, B=basis.added(mean.B, noise), squares=squares)

    def covariance(self):
        """Σ = U(Λ − ρ)Uᵀ + ρI as a matrix, in the explicit features of the kernel: (f, f)."""
        U = double(self.subspace.kernel.features(self.subspace.Z).T) @ double(self.subspace.axes.B)
        return (U * (self._lam - self.rho)) @ U.T + self.rho * eye(U.shape[0], U)

    def __getstate__(self):
        return {"subspace": self.subspace, "rho": self.rho}  # the basis is made again when it is needed

    @cached_property
    def _basis(self):
        return _Basis.of(self.subspace)


@dataclass(frozen=True, eq=False)
class _Basis:
    """An orthonormal basis ΦR of span φ(Z), on the ``rows`` of Z that span it, and where φ̄ and U lie in it."""

    rows: np.ndarray
    R: Any
    axes: Any
    mean: Any

    @classmethod
    def of(cls, subspace):
        """Cut where what is left of φ(z) is the root of rounding: coefficients beyond would hold more error than noise.

        The same rows for every call: samples depend on their own seed alone.
        """
        Z, kernel = in_float64(subspace.Z), subspace.kernel
        K = Dense(double(kernel(Z, Z))) if is_integer(Z) else Gram(kernel, Z)
        _, rows = rpcholesky(K, Z.shape[0], np.random.default_rng(0), tol=eps(subspace.axes.B) ** 0.5)
        L = namespace(Z).linalg.cholesky(K.block(rows))
        R = inverse_of_lower(L).T
        B = double(side_by_side(subspace.axes.B, subspace.mean.B))
        along = R.T @ Expansion(kernel, Z, B)(arrays.rows(Z, rows))
        return cls(rows, R, along[:, :-1], along[:, -1])

    def added(self, B, noise):
        """B with the coefficients of noise, given in the basis, added at its rows."""
        more = cast(self.R @ noise.T, B.dtype)
        if not elsewhere(B):
            B = B.copy()
            B[self.rows] += more
            return B
        place = np.full(B.shape[0], len(self.rows))  # of each row in ``more``, whose row after the last is of zeros
        place[self.rows] = np.arange(len(self.rows))
        return B + arrays.rows(stacked([more, zeros((1, more.shape[1]), B, B.dtype)]), place)

    def coordinates(self, Y):
        """The coordinates of φ̄ + Uy in the basis: (n, rank)."""
        return self.mean + Y @ self.axes.T


def noise_variance(subspace, q, dimensions):
    """ρ = (tr C − Σ_{p≤q} λ_p) / (dimensions − q), the most likely one: the mean variance of what q axes leave.

    It is 0 where they leave nothing but rounding.
    """
    total = subspace.total_variance
    tail = total - float(namespace(subspace.variances).sum(subspace.variances[:q]))
    rounding = ROUNDING * subspace.Z.shape[0] ** 0.5 * eps(subspace.axes.B)
    return float(tail / (dimensions - q)) if tail > rounding * total and dimensions > q else 0.0


def mahalanobis(Y, r2, lam, rho):
    """L = Σ y²/λ + r²/ρ (Zhou eq. 12)."""
    return namespace(Y).sum(double(Y) ** 2 / lam, axis=1) + r2 / rho


def energies(Y, r2, lam, rho):
    """L̂ for the first 0, 1, …, q axes at one ρ, by sums along them: (n, q + 1)."""
    squares, xp = double(Y) ** 2, namespace(Y)
    whole = (r2 + xp.sum(squares, axis=1)) / rho  # without any axis: all is noise
    gains = squares * (1 / lam - 1 / rho) + xp.log(lam / rho)
    return side_by_side(whole, whole[:, None] + cumsum(gains, axis=1))


def energy(Y, r2, lam, rho):
    """L̂ = Σ [y²/λ + log(λ/ρ)] + r²/ρ (Zhou eq. 16); r², the limit of ρL̂, where ρ = 0."""
    return r2 if rho == 0 else mahalanobis(Y, r2, lam, rho) + namespace(lam).sum(namespace(lam).log(lam / rho))
