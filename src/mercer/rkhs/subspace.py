"""Affine subspaces of the feature space, and the principal ones of a weighted covariance."""

from dataclasses import dataclass, replace

import numpy as np

from ..eigen import Report, eigenpairs
from ..gram import Covariance, Gram
from ..tiles import map_rows
from .expansion import Expansion


@dataclass(frozen=True, eq=False)
class Subspace:
    """φ̄ + span U: orthonormal axes U and a mean φ̄ on the same points, with the variances λ along the axes.

    ``offset`` = ⟨U, φ̄⟩, ``mean_sqnorm`` = ‖φ̄‖², ``total_variance`` = tr C. Centring lives in these two numbers alone.
    """

    axes: Expansion
    mean: Expansion
    variances: np.ndarray
    total_variance: float
    offset: np.ndarray
    mean_sqnorm: float
    report: Report

    @property
    def kernel(self):
        return self.axes.kernel

    @property
    def Z(self):
        return self.axes.Z

    def project(self, X):
        """Coordinates Y = Uᵀ(φ(x) − φ̄): (n, q)."""
        return self.axes(X) - self.offset

    def split(self, X):
        """Coordinates and squared distance to the subspace, from one evaluation of the kernel: (n, q), (n,).

        r² = k(x, x) − 2⟨φ(x), φ̄⟩ + ‖φ̄‖² − Σ y², in float64: it is a difference of near-equal numbers.
        """
        X, Z = in_float64(X), in_float64(self.Z)
        both = Expansion(self.kernel, Z, np.hstack([self.axes.B, self.mean.B]))(X)
        Y, along_mean = both[:, :-1] - self.offset, both[:, -1]
        distance = map_rows(self.kernel.diag, X, width=X.shape[1]) - 2 * along_mean + self.mean_sqnorm
        return Y, np.maximum(distance - np.sum(Y**2, axis=1), 0)

    def training_coordinates(self, weights, tol):
        """Y of the rows that the axes were found on, λB/w, where the eigenpairs are good to ``tol``; else None.

        From B = √w V Λ^{−½} and AV = VΛ: no kernel is evaluated.
        """
        if len(self.variances) and self.report.residual * self.variances[0] > tol * self.variances[-1]:
            return None
        w = 1 / self.axes.B.shape[0] if weights is None else weights[:, None]
        return (self.axes.B * self.variances / w).astype(self.axes.B.dtype)

    def __getitem__(self, j):
        """Some of the axes."""
        return replace(self, axes=self.axes[j], variances=self.variances[j], offset=self.offset[j])

    def lift(self, Y):
        """The vectors φ̄ + U y for each row y of Y."""
        return self.axes @ np.asarray(Y).T + self.mean


def in_float64(X):
    """Rows in double precision; row numbers of a precomputed kernel stay what they are."""
    return X if np.issubdtype(X.dtype, np.integer) else X.astype(float, copy=False)


def principal_subspace(
    kernel,
    X,
    q=None,
    *,
    gram=None,
    weights=None,
    groups=None,
    mean=None,
    center=True,
    solver="auto",
    rng=None,
):
    """Return the leading axes of C = Σₙ wₙ(φₙ − φ̄)(φₙ − φ̄)ᵀ, w = ``weights`` (1/n).

    The covariance shares its eigenvalues with A = JᵀKJ, and its axes are U = ΦB, B = JVΛ^{−½}. With ``groups`` each
    row is centred by the mean of its own group (mean weights: a column of ``mean`` each), and φ̄ is the first one's.
    """
    n = X.shape[0]
    w = np.full(n, 1 / n) if weights is None else np.asarray(weights, float)
    S = None if not center else (w if mean is None else np.asarray(mean, float)).reshape(n, -1)
    A = Covariance(Gram(kernel, X) if gram is None else gram, w, S, groups)

    def rounding():
        """The size of what is centred, ‖φ̄‖², in the units of λ: its rounding is what A inherits."""
        return A.mean_sqnorms.max() * (n * w.max() if center else 0.0)

    pairs = eigenpairs(A, q, solver, rng, floor=rounding, definite=kernel.definite)
    dtype = A.dtype
    B = (A.J(pairs.vectors) / np.sqrt(pairs.values)).astype(dtype)
    s = A.S[:, :1]
    return Subspace(
        axes=Expansion(kernel, X, B),
        mean=Expansion(kernel, X, s.astype(dtype)),
        variances=pairs.values,
        total_variance=float(A.diag().sum()),
        offset=(B.T.astype(float) @ A.KS[:, 0]).astype(dtype),
        mean_sqnorm=float(A.mean_sqnorms[0]),
        report=pairs.info,
    )
