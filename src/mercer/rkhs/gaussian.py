"""Gaussian densities in feature space around a principal subspace (Zhou; De Plaen & Suykens)."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._core.arrays import (
    Array,
    asarray_like,
    cast,
    double,
    eps,
    eye,
    full,
    hstack,
    is_foreign,
    is_objects,
    namespace,
    row_keys,
    rows,
    scatter_rows,
)
from .._core.dask import is_lazy
from .._core.fields import NotNegative
from .._core.registry import stored
from ..kernels import Kernel
from .basis import Basis
from .expansion import Expansion
from .subspace import Subspace

TRACE_ERROR = 10  # relative rounding error of a trace, in units of √n·ε


@stored("rkhs.FeatureGaussian")
@dataclass(frozen=True, eq=False)
class FeatureGaussian:
    """N(φ̄, U(Λ − ρ)Uᵀ + ρI): ``subspace`` holds φ̄, U and Λ > ρ, ``rho`` is the noise variance in every direction.

    At ρ = 0 it is the limit: ``energy`` is then r², the limit of ρ·L̂ (Zhou eq. 13).

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
    rho: NotNegative

    @classmethod
    def of(cls, subspace: Subspace, rho: float) -> "FeatureGaussian":
        """Return the density of noise variance ρ; axes of variance λ ≤ ρ are left out."""
        above = namespace(subspace.variances).count_nonzero(subspace.variances > rho)
        return cls(subspace[: int(above)], float(rho))

    @property
    def _lam(self) -> Array:
        return self.subspace.variances

    def mahalanobis(self, X: Array) -> Array:
        """Return Zhou eq. 12 in principal coordinates: L = Σ y²/λ + r²/ρ."""
        Y, r2 = self.subspace.split(X)
        return mahalanobis(Y, r2, self._lam, self.rho)

    def energy(self, X: Array) -> Array:
        """Return Zhou eq. 16: L̂ = L + Σ log(λ/ρ), −2 log density up to f·log(2πρ), a constant of ρ alone."""
        Y, r2 = self.subspace.split(X)
        return energy(Y, r2, self._lam, self.rho)

    def energies(self, X: Array) -> Array:
        """Return L̂ of the densities with the first 0, 1, …, q of these axes at the same ρ: (n, q + 1)."""
        Y, r2 = self.subspace.split(X)
        return energies(Y, r2, self._lam, range(self._lam.shape[0] + 1), [self.rho])[0, ...].T

    def posterior_mean(self, X: Array) -> Array:
        """Return E[h | x] = y√(1 − ρ/λ)/√λ, h ~ N(0, I): (n, q)."""
        return self.latent(self.subspace.project(X))

    @property
    def posterior_variance(self) -> Array:
        """Var[h | x] = ρ/λ, the same for every x: (q,)."""
        return self.rho / self._lam

    def latent(self, Y: Array) -> Array:
        """Return the latent variables h of coordinates y."""
        return cast(Y * namespace(Y).sqrt((1 - self.rho / self._lam) / self._lam), Y.dtype)

    def features(self, H: Array) -> Expansion:
        """Return E[φ | h] = φ̄ + U√(Λ − ρ) h for each row h of H."""
        return self.subspace.lift(cast(H * namespace(H).sqrt(self._lam - self.rho), H.dtype))

    def sample(self, p: int, rng: np.random.Generator) -> Expansion:
        """Draw p vectors from the density, with noise in all of span φ(Z) (De Plaen & Suykens)."""
        return self.sample_given(rng.standard_normal((p, self._lam.shape[0])), rng)

    def sample_given(self, H: Array, rng: np.random.Generator) -> Expansion:
        """Draw φ | h = φ̄ + U√(Λ − ρ) h + √ρ ΦRξ, ξ ~ N(0, I), for each row h of H; ΦR is a basis of span φ(Z)."""
        H, xp = asarray_like(H, self._lam), namespace(self._lam)
        mean = self.features(cast(H, self.subspace.axes.B.dtype))
        if self.rho == 0:
            return mean
        basis, along = self._noise_basis
        noise = sqrt(self.rho) * asarray_like(rng.standard_normal((H.shape[0], basis.rank)), self._lam)
        latent = hstack(H * xp.sqrt(self._lam - self.rho), full((H.shape[0], 1), 1.0, H))  # the ones are for φ̄
        squares = mean.squares + 2 * xp.sum(noise * (latent @ along.T), axis=1) + xp.sum(noise**2, axis=1)
        B = mean.B + scatter_rows(cast(basis.R @ noise.T, mean.B.dtype), basis.kept, mean.B.shape[0])
        return replace(mean, B=B, squares=squares)

    def covariance(self) -> Array:
        """Return Σ = U(Λ − ρ)Uᵀ + ρI as a matrix, in the explicit features of the kernel: (f, f)."""
        U = double(self.subspace.kernel.features(self.subspace.Z).T) @ double(self.subspace.axes.B)
        return (U * (self._lam - self.rho)) @ U.T + self.rho * eye(U.shape[0], U)

    def __getstate__(self) -> dict:
        return {"subspace": self.subspace, "rho": self.rho}  # the basis is computed again when it is needed

    @cached_property
    def _noise_basis(self) -> tuple[Basis, Array]:
        """A basis of span φ(Z), and the coordinates of the axes and the mean in it.

        At most √ε of ‖φ(z)‖² lies outside it: in coefficients of further vectors, rounding errors exceed the noise.
        """
        subspace = self.subspace
        basis = Basis.among(subspace.kernel, subspace.Z, tol=eps(subspace.axes.B) ** 0.5)
        B = double(hstack(subspace.axes.B, subspace.mean.B))
        return basis, basis.of_vectors(Expansion(subspace.kernel, basis.given, B))


def spanned_dimensions(kernel: Kernel, X: Array, center: bool) -> int:
    """Return the dimension D of the span of the rows of X in feature space.

    Distinct rows span one dimension each, minus one if they are centred, unless the rank of the kernel is smaller.
    """
    distinct = X.shape[0] if is_lazy(X) or is_foreign(X) else count_distinct(X)
    return dimensions(distinct, kernel, X.shape[1], center)


def dimensions(distinct: int, kernel: Kernel, d: int, center: bool) -> int:
    """Return the dimension that a number of different rows of d columns span in feature space."""
    most = distinct - 1 if center else distinct
    known = kernel.rank(d, center)
    return max(1, most if known is None else min(known, most))


def count_distinct(X: Array) -> int:
    """Return the number of different rows."""
    if is_objects(X):
        return len(set(row_keys(X)))
    if not issparse(X):
        return len(np.unique(X, axis=0))
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return len({(X.indices[i:j].tobytes(), X.data[i:j].tobytes()) for i, j in ends})


def noise_variance(subspace: Subspace, q: int, dimensions: float) -> float:
    """Return ρ = (tr C − Σ_{p≤q} λ_p) / (dimensions − q), the maximum-likelihood one: the mean variance outside q axes.

    It is 0 if only rounding errors are left.
    """
    total = subspace.total_variance
    tail = total - float(namespace(subspace.variances).sum(subspace.variances[:q]))
    rounding = TRACE_ERROR * subspace.Z.shape[0] ** 0.5 * eps(subspace.axes.B)
    return float(tail / (dimensions - q)) if tail > rounding * total and dimensions > q else 0.0


def mahalanobis(Y: Array, r2: Array, lam: Array, rho: float) -> Array:
    """Return L = Σ y²/λ + r²/ρ (Zhou eq. 12)."""
    return namespace(Y).sum(double(Y) ** 2 / lam, axis=1) + r2 / rho


def energy(Y: Array, r2: Array, lam: Array, rho: float) -> Array:
    """Return L̂ = Σ [y²/λ + log(λ/ρ)] + r²/ρ (Zhou eq. 16); r², the limit of ρL̂, if ρ = 0."""
    return r2 if rho == 0 else mahalanobis(Y, r2, lam, rho) + namespace(lam).sum(namespace(lam).log(lam / rho))


def energies(Y: Array, r2: Array, lam: Array, q: Any, rho: Any) -> Array:
    """Return L̂ (Zhou eq. 16) for every ρ and q at once, by cumulative sums over the axes: (len(rho), len(q), n).

    ``Y`` and ``r2`` are those of all axes. Axes with λ ≤ ρ are left out; at ρ = 0 it is the limit r² (Zhou eq. 13).
    """
    xp, squares = namespace(Y), double(Y).T ** 2
    outside = r2 + xp.flip(_cumulated(xp.flip(squares, axis=0)), axis=0)  # ‖φ − φ̄‖² − Σ y² would be less accurate
    along, logs = _cumulated(squares / lam[:, None]), _cumulated(xp.log(lam))
    above = [int(xp.count_nonzero(lam > one)) for one in rho]
    kept = np.minimum(np.array(above)[:, None], np.asarray(q)).ravel()
    rho = asarray_like(np.repeat(np.asarray(rho, float), len(q)), outside)
    finite = xp.where(rho > 0, rho, 1.0)[:, None]
    left = rows(outside, kept)
    log_ratios = rows(logs, kept)[:, None] - asarray_like(1.0 * kept[:, None], outside) * xp.log(finite)
    energy = left / finite + rows(along, kept) + log_ratios
    return xp.reshape(xp.where(rho[:, None] > 0, energy, left), (len(above), -1, r2.shape[0]))


def _cumulated(terms: Array) -> Array:
    """Return the sums of the first 0, 1, 2, … terms."""
    return namespace(terms).cumulative_sum(terms, axis=0, include_initial=True)
