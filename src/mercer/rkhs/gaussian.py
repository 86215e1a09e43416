"""Gaussian densities in feature space: what Zhou and De Plaen & Suykens both put around a principal subspace."""

from dataclasses import dataclass

import numpy as np

from .expansion import Expansion
from .subspace import Subspace


@dataclass(frozen=True, eq=False)
class FeatureGaussian:
    """N(φ̄, U(Λ − ρ)Uᵀ + ρI): ``subspace`` holds φ̄, U and Λ > ρ, ``rho`` is the noise variance in every direction.

    At ρ = 0 it is the limit: ``energy`` is then r², what ρ·L̂ tends to (Zhou eq. 13), and nothing else is compared.
    """

    subspace: Subspace
    rho: float

    @classmethod
    def of(cls, subspace, rho):
        """The density whose noise is ρ: axes along which there is no more than noise are left out."""
        return cls(subspace[: int(np.sum(subspace.variances > rho))], float(rho))

    @property
    def _lam(self):
        return self.subspace.variances

    def mahalanobis(self, X):
        """Zhou eq. 12 in principal coordinates: L = Σ y²/λ + r²/ρ."""
        return mahalanobis(*self.subspace.split(X), self._lam, self.rho)

    def energy(self, X):
        """Zhou eq. 16: L̂ = L + Σ log(λ/ρ), −2 log density up to f·log(2πρ), a constant of ρ alone."""
        return energy(*self.subspace.split(X), self._lam, self.rho)

    def posterior_mean(self, X):
        """E[h | x] = (1 − ρ/λ)^½ λ^{−½} y, h ~ N(0, I): (n, q)."""
        return self.latent(self.subspace.project(X))

    @property
    def posterior_variance(self):
        """Var[h | x] = ρ/λ, the same for every x: (q,)."""
        return self.rho / self._lam

    def latent(self, Y):
        """Coordinates y → latent variables h."""
        return (Y * np.sqrt((1 - self.rho / self._lam) / self._lam)).astype(Y.dtype)

    def features(self, H) -> Expansion:
        """E[φ | h] = φ̄ + U(Λ − ρ)^½ h for each row h of H."""
        return self.subspace.lift((H * np.sqrt(self._lam - self.rho)).astype(H.dtype))


def mahalanobis(Y, r2, lam, rho):
    """L = Σ y²/λ + r²/ρ (Zhou eq. 12)."""
    return np.sum(Y.astype(float) ** 2 / lam, axis=1) + r2 / rho


def energy(Y, r2, lam, rho):
    """L̂ = Σ [y²/λ + log(λ/ρ)] + r²/ρ (Zhou eq. 16); r², the limit of ρL̂, where ρ = 0."""
    return r2 if rho == 0 else mahalanobis(Y, r2, lam, rho) + np.sum(np.log(lam / rho))
