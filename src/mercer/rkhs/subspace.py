"""Affine subspaces of the feature space, and the principal ones of a weighted covariance."""

from dataclasses import dataclass, replace

import numpy as np

from ..eigen import Exact, Report, choose, eigenpairs, signs
from ..gram import Covariance, Dense, Gram
from ..kernels.base import in_float64
from ..landmarks import LandmarkBasis, Landmarks, Moments
from ..lazy import is_lazy, take
from ..tiles import budget_bytes, budget_entries, map_rows, single_blas, slices
from .expansion import Expansion
from .primal import anchors, on_anchors, primal, spanning_basis

EXACT = 1e-9  # of the variance: where more than this lies outside a basis, it does not span the feature space


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
    moments: Moments | None = None  # of the landmarks that it came from: more rows can be added to them

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
        B = np.hstack([self.axes.B, self.mean.B]).astype(float)
        k_B, width = self.kernel.product(in_float64(self.Z), B)

        def tile(x, k_xx):
            along = k_B(in_float64(x))
            Y = along[:, :-1] - self.offset
            distance = k_xx - 2 * along[:, -1] + self.mean_sqnorm
            return np.column_stack([Y, np.maximum(distance - np.sum(Y**2, axis=1), 0)])

        both = map_rows(tile, X, self.kernel.diag(X).astype(float), width=width)
        return both[:, :-1], both[:, -1]

    def training_coordinates(self, weights, tol):
        """Y of the rows that the axes were found on, λB/w, where the eigenpairs are good to ``tol``; else None.

        From B = √w V Λ^{−½} and AV = VΛ: no kernel is evaluated.
        """
        if self.moments is not None:
            return None
        if len(self.variances) and self.report.residual * self.variances[0] > tol * self.variances[-1]:
            return None
        w = 1 / self.axes.B.shape[0] if weights is None else weights[:, None]
        return (self.axes.B * self.variances / w).astype(self.axes.B.dtype)

    def __getitem__(self, j):
        """Some of the axes."""
        return replace(self, axes=self.axes[j], variances=self.variances[j], offset=self.offset[j])

    def holding(self, share):
        """The number of axes that hold a share of the variance; all of them where they hold less."""
        if share >= 1 or self.total_variance <= 0:
            return len(self.variances)
        held = np.cumsum(self.variances) / self.total_variance
        return min(int(np.searchsorted(held, share)) + 1, len(held))

    def lift(self, Y):
        """The vectors φ̄ + U y for each row y of Y, of squared length ‖φ̄‖² + 2yᵀoffset + ‖y‖²."""
        Y = np.asarray(Y)
        squares = self.mean_sqnorm + 2 * (Y @ self.offset).astype(float) + np.sum(Y**2, axis=1, dtype=float)
        return replace(self.axes @ Y.T + self.mean, squares=squares)


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

    ``solver="auto"`` decomposes C itself where the kernel has fewer explicit features than there are rows.
    """
    n = X.shape[0]
    if is_lazy(X):
        return _lazy_subspace(kernel, X, q, weights, center, solver, rng)
    setting = primal(kernel, X, solver) if gram is None and groups is None and mean is None else None
    subspace = None if setting is None else _primal_subspace(kernel, X, q, weights, center, setting)
    if subspace is not None:
        return subspace
    solver = choose(solver, n, q)
    if isinstance(solver, Landmarks):
        return _subspace_of_landmarks(kernel, X, q, weights, center, solver, rng)
    w = np.full(n, 1 / n) if weights is None else np.asarray(weights, float)
    S = None if not center else (w if mean is None else np.asarray(mean, float)).reshape(n, -1)
    A = Covariance(Gram(kernel, X).repeated() if gram is None else gram, w, S, groups)

    def rounding():
        """The size of what is centred, ‖φ̄‖², in the units of λ: its rounding is what A inherits."""
        return A.mean_sqnorms.max() * (n * w.max() if center else 0.0)

    pairs = eigenpairs(A, q, solver, rng, floor=rounding, definite=kernel.definite)
    with single_blas:
        B = (A.J(pairs.vectors) / np.sqrt(pairs.values)).astype(A.dtype)
        offset = (B.T.astype(float) @ A.KS[:, 0]).astype(A.dtype)
    return Subspace(
        axes=Expansion(kernel, X, B),
        mean=Expansion(kernel, X, A.S[:, :1].astype(A.dtype)),
        variances=pairs.values,
        total_variance=float(A.diag().sum()) if len(pairs.values) else 0.0,  # else it is all rounding
        offset=offset,
        mean_sqnorm=float(A.mean_sqnorms[0]),
        report=pairs.info,
    )


def _subspace_of_landmarks(kernel, X, q, weights, center, solver, rng):
    with single_blas:
        basis = LandmarkBasis.of(kernel, solver(kernel, X, q, weights, rng))
        return landmark_subspace(basis.moments(X, weights), q, center, solver)


def _lazy_subspace(kernel, X, q, weights, center, solver, rng):
    """Landmarks, and nothing but sums comes from the cluster; or, where another solver is named, the exact subspace.

    An exact model keeps all rows, which therefore have to fit the memory budget; products by the kernel matrix are
    still made where the blocks are.
    """
    solver = Landmarks() if isinstance(solver, str) and solver == "auto" else choose(solver, X.shape[0], q)
    if isinstance(solver, Landmarks):
        return _subspace_of_landmarks(kernel, X, q, weights, center, solver, rng)
    if X.nbytes > budget_bytes():
        raise MemoryError(
            f"An exact model keeps its {X.shape[0]} rows, {X.nbytes / 1e9:.1f} GB, and scikit-learn's working_memory "
            f"allows {budget_bytes() / 1e9:.1f} GB. Use solver='landmarks', or sklearn.set_config(working_memory=…)."
        )
    gram = Gram(kernel, take(X, slice(None)), home=X)
    weights = take(weights, slice(None))
    return principal_subspace(kernel, gram.X, q, gram=gram, weights=weights, center=center, solver=solver, rng=rng)


def _primal_subspace(kernel, X, q, weights, center, setting):
    """The leading axes of C itself, which is smaller than A; None where the basis has lost too much to rounding."""
    rng = np.random.default_rng(0)  # the result is exact, whatever is drawn: one seed for all
    with single_blas:
        basis, rows = spanning_basis(kernel, X, setting.features, rng)
        moments = basis.moments(X, None if weights is None else weights * X.shape[0])
        subspace = landmark_subspace(moments, q, center, setting)
        if subspace.report.outside_share > EXACT:
            return None
        subspace = _with_signs(subspace, X, weights)
        chosen = anchors(rows, X.shape[0], rng)
        axes, mean = (on_anchors(f, rows, chosen, X) for f in (subspace.axes, subspace.mean))
    return replace(subspace, axes=axes, mean=mean)


def _with_signs(subspace, X, weights):
    """The same subspace with its signs decided by all rows, as in the dual."""
    w = None if weights is None else weights[:, None]
    columns = slices(len(subspace.axes), max(1, int(budget_entries() // X.shape[0])))
    parts = [signs(subspace[j].project(X).astype(float), w, X) for j in columns]
    flips = np.concatenate(parts).astype(subspace.axes.B.dtype)
    axes = replace(subspace.axes, B=subspace.axes.B * flips)
    return replace(subspace, axes=axes, offset=subspace.offset * flips)


def landmark_subspace(moments, q=None, center=True, solver=None):
    """Return the leading axes of the covariance inside the span of landmarks, from the moments of f = Rᵀk(Z, x).

    C = Σ w ffᵀ − f̄f̄ᵀ = WΛWᵀ, axes B = RW, mean P_Zφ̄ = Rf̄. What of φ lies outside the span is known from the trace:
    ``report.outside``.
    """
    basis = moments.basis
    f_mean = moments.first / moments.count if center else np.zeros_like(moments.first)
    C = moments.second / moments.count - np.outer(f_mean, f_mean)
    rows = max(1.0, moments.count / len(f_mean)) if len(f_mean) else 1.0  # the sums that were rounded were over rows
    pairs = eigenpairs(Dense(C), q, Exact(), floor=lambda: rows * (f_mean @ f_mean))
    W = pairs.vectors * signs((basis(basis.given) - f_mean) @ pairs.vectors, points=basis.given)
    total = (moments.diagonal / moments.count) - f_mean @ f_mean
    outside = max(moments.diagonal - np.trace(moments.second), 0.0) / moments.count
    dtype = basis.dtype
    return Subspace(
        axes=Expansion(basis.kernel, basis.Z, (basis.R @ W).astype(dtype)),
        mean=Expansion(basis.kernel, basis.Z, (basis.R @ f_mean)[:, None].astype(dtype)),
        variances=pairs.values,
        total_variance=float(total) if len(pairs.values) else 0.0,
        offset=(W.T @ f_mean).astype(dtype),
        mean_sqnorm=float(f_mean @ f_mean),
        report=replace(
            pairs.info,
            solver=solver,
            outside=float(outside),
            outside_share=float(outside / total) if total > 0 else 0.0,
        ),
        moments=moments,
    )
