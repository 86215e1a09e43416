"""Reduced sets: approximate vectors of the feature space by sums over fewer points.

The nearest Σ b_g φ(z_g) to f is its projection P_Z f onto span φ(Z): b = K_zz⁻¹f(z), for all vectors at once. The
points are rows selected one by one (:func:`select`), or are moved freely (:func:`move`), to make Σ_j w_j‖f_j − P_Z
f_j‖² small; :func:`reduced` expresses a subspace by them.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import minimize
from scipy.sparse import issparse, vstack

from .._core.arrays import Array
from .._core.blas import single_blas
from .._core.tiles import map_rows
from ..kernels import Kernel, Precomputed
from ..kernels.base import in_float64
from ..kernels.precomputed import PrecomputedBlock
from ..linalg.operators import Gram
from ..rkhs import Expansion, Subspace
from ..rkhs.basis import Basis

SHORT = 1e-4  # of the largest k(z, z): directions of smaller squared length get less weight
ROUNDING = 10  # times ε: a smaller remainder of k(z, z) is a rounding error
RIDGE = 1e-10  # of the mean of k(z, z), while points move: they may coincide, and K_zz must not become singular
FINE = 1e-12  # of Σ w‖f‖²: stop after an iteration that gains less
WIDTH = 4  # arrays of the size (points, rows) that a kernel's gradient holds at once
LOST = 1e-6  # cosine of the angle to span φ(Z) at which a combination of axes counts as lost
FIRST_COLUMNS = 64  # initial columns of the factor, which grows with the points chosen


@dataclass(frozen=True, eq=False)
class Targets:
    """The vectors to approximate: the axes and the mean of some subspaces, on the points of all of them.

    The error of an axis is φ = ‖u − P_Z u‖² ≤ 1. The error of a mean is relative to the variance around it: an error as
    large as the spread of the data counts as much as a lost axis.
    """

    subspaces: list[Subspace]

    @property
    def kernel(self) -> Kernel:
        return self.subspaces[0].kernel

    @property
    def dtype(self) -> np.dtype:
        return self.subspaces[0].axes.B.dtype

    @cached_property
    def _sets(self) -> tuple[list, list[int]]:
        """The different sets of points, and the number of the set of each subspace."""
        sets: list = []
        own: list[int] = []
        for s in self.subspaces:
            own.append(next((i for i, Z in enumerate(sets) if _same(s.Z, Z)), len(sets)))
            if own[-1] == len(sets):
                sets.append(s.Z)
        return sets, own

    @cached_property
    def Z(self) -> Array:
        """The points of all subspaces; shared sets occur once."""
        sets, _ = self._sets
        if len(sets) == 1:
            return sets[0]
        return vstack(sets).tocsr() if issparse(sets[0]) else np.concatenate(sets)

    @cached_property
    def vectors(self) -> Expansion:
        """The axes and the mean of one subspace after the other, in double precision."""
        squares = np.concatenate([np.append(np.ones(len(s.axes)), s.mean_sqnorm) for s in self.subspaces])
        sets, own = self._sets
        starts = np.cumsum([0, *(Z.shape[0] for Z in sets)])
        B = np.zeros((starts[-1], len(squares)))
        for s, i, mean in zip(self.subspaces, own, self.means, strict=True):
            B[starts[i] : starts[i + 1], mean - len(s.axes) : mean + 1] = np.hstack([s.axes.B, s.mean.B])
        return Expansion(self.kernel, in_float64(self.Z), B, squares)

    @cached_property
    def weights(self) -> np.ndarray:
        """1 for axes, 1 / tr C for means (1 / ‖φ̄‖² if there is no variance)."""
        return np.concatenate([np.append(np.ones(len(s.axes)), 1 / _spread(s)) for s in self.subspaces])

    @property
    def means(self) -> np.ndarray:
        """Which of the vectors are means."""
        return np.cumsum([len(s.axes) + 1 for s in self.subspaces]) - 1

    def whole(self) -> list[Subspace]:
        """The subspaces on all the points: coefficients of points that one of them does not have are zero."""
        parts = np.split(self.vectors.B.astype(self.dtype), self.means[:-1] + 1, axis=1)
        vectors = [Expansion(_kernel_on(self.kernel, self.Z), self.Z, B) for B in parts]
        pairs = zip(self.subspaces, vectors, strict=True)
        return [replace(s, axes=f[:-1], mean=f[-1], moments=None) for s, f in pairs]


def _same(Z: Array, other: Array) -> bool:
    return Z is other or (not issparse(Z) and Z.shape == other.shape and np.array_equal(Z, other))


def _spread(subspace: Subspace) -> float:
    """The squared length to which the error of a mean is relative."""
    return next((s for s in (subspace.total_variance, subspace.mean_sqnorm) if s > 0), 1.0)


def _kernel_on(kernel: Kernel, Z: Array) -> Kernel:
    """The kernel without stored values of other points."""
    return PrecomputedBlock.of(kernel, Z) if isinstance(kernel, Precomputed) else kernel


def select(
    f: Expansion, weights: np.ndarray, n_points: int, *, tol: float = 0.0, least: int = 0, dtype: Any = np.float64
) -> np.ndarray:
    """Select rows of f.Z greedily, each time the one that lowers Σ w‖f − P_Z f‖² most; return their numbers: O(n m²).

    Orthogonal least squares through a partial Cholesky factor of K. With φ̃ᵢ the part of φᵢ outside the span of those
    chosen, the gain of row i is Σ_j w_j⟨f_j, φ̃ᵢ⟩²/‖φ̃ᵢ‖². It is reduced a little if φ̃ᵢ is short: two close neighbours
    whose difference has the right direction would gain much, but their terms cancel in all digits. The selection stops
    at ``n_points`` rows, or if no row adds anything that ``dtype`` can represent, or with at least ``least`` rows if
    the largest w‖f − P_Z f‖² is at most ``tol``.
    """
    gram = Gram(f.kernel, f.Z)
    F, left, error = f(f.Z), gram.diag().astype(float), f.sqnorms().copy()
    largest = left.max(initial=0.0)
    L, rows = np.empty((len(left), min(n_points, FIRST_COLUMNS)), order="F"), list[int]()
    while (t := len(rows)) < n_points and (t < least or np.max(weights * error) > tol):
        clear = left > _rounding(n_points, dtype) * largest
        gain = np.divide(F**2 @ weights, left + SHORT * largest, out=np.zeros_like(left), where=clear)
        i = int(np.argmax(gain))
        if not gain[i] > 0:
            break
        if t == L.shape[1]:
            L = np.asfortranarray(np.hstack([L, np.empty_like(L)]))
        root = np.sqrt(left[i])
        L[:, t] = (gram.columns(np.array([i]))[:, 0] - L[:, :t] @ L[i, :t]) / root
        c = F[i] / root
        F -= np.outer(L[:, t], c)
        left = np.maximum(left - L[:, t] ** 2, 0)
        left[i] = 0
        error -= c**2
        rows.append(i)
    return np.array(rows or [0])  # a model has an anchor even if all its vectors are 0


def _rounding(n: int, dtype: Any) -> float:
    """Return the share of k(z, z) below which n points and coefficients of a precision give only rounding."""
    return max(n * np.finfo(float).eps, ROUNDING * float(np.finfo(dtype).eps))


def move(f: Expansion, weights: np.ndarray, Z: np.ndarray, max_iter: int) -> np.ndarray:
    """Move the points Z to a local minimum of Σ w‖f − P_Z f‖², for every differentiable kernel. The coefficients b =
    K_zz⁻¹f(z) are eliminated (variable projection), so that L-BFGS only moves the points. If nothing is gained (the
    errors were only rounding), Z itself is returned.
    """
    scale = f.Z.std(axis=0)
    scale = np.where(scale > 0, scale, 1)  # units in which columns are comparable: L-BFGS starts along the gradient
    lowest = 0.0 if f.kernel.nonnegative else -np.inf

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = captured(f, weights, z.reshape(Z.shape) * scale)
        return -value, -(slope * scale).ravel()

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": FINE, "gtol": FINE}
    start = (Z / scale).ravel()
    with single_blas:
        bounds = [(lowest, np.inf)] * len(start)
        end = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    moved = end.x.reshape(Z.shape) * scale
    before, after = (errors(f, weights, basis_on(f.kernel, points)).sum() for points in (Z, moved))
    return moved if after < before else Z


def captured(f: Expansion, weights: np.ndarray, Z: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ w‖P_Z f‖² / Σ w‖f‖² = Σ w f(z)ᵀK_zz⁻¹f(z) / Σ w‖f‖², up to a small ridge, and its gradient in Z.

    Since b = K_zz⁻¹f(z) is optimal, it is held constant: 2 Σ_j w_j b_gj ∂/∂z [f_j(z) − Σ_h b_hj k(z, z_h)] at z_g.
    """
    kernel, F = f.kernel, f(Z)
    K = kernel(Z, Z)
    K += RIDGE * np.mean(K.diagonal()) * np.eye(len(K))
    b = scipy.linalg.solve(K, F, assume_a="pos", check_finite=False)
    bw = b * weights

    def slope(z: np.ndarray, c: np.ndarray) -> np.ndarray:
        return 2 * (kernel.gradient(z, f.Z, c @ f.B.T) - kernel.gradient(z, Z, c @ b.T))

    whole = np.sum(weights * f.sqnorms())
    return np.sum(bw * F) / whole, map_rows(slope, Z, bw, width=WIDTH * f.Z.shape[0]) / whole


def fewest(
    f: Expansion, weights: np.ndarray, rows: np.ndarray, max_iter: int, *, tol: float, least: int, dtype: Any
) -> np.ndarray:
    """Return the fewest moved points with errors up to ``tol`` that bisection finds, starting from the first selected
    rows."""
    low, high, found = least, len(rows), f.Z[rows]
    while low < high:
        middle = (low + high) // 2
        Z = move(f, weights, f.Z[rows[:middle]], max_iter)
        if np.max(errors(f, weights, basis_on(f.kernel, Z, dtype))) <= tol:
            high, found = middle, Z
        else:
            low = middle + 1
    return found


def basis_on(kernel: Kernel, Z: Array, dtype: Any = np.float64) -> Basis:
    """Return an orthonormal basis of span φ(Z), without points that add nothing that ``dtype`` can represent."""
    basis = Basis.of(kernel, Z)
    left = basis.R.diagonal() ** -2.0  # what each point adds to the previous ones, in decreasing order
    rank = int(np.sum(left > _rounding(len(left), dtype) * left.max(initial=0.0)))
    return replace(basis, Z=basis.Z[:rank], R=basis.R[:rank, :rank])


def errors(f: Expansion, weights: np.ndarray, basis: Basis) -> np.ndarray:
    """Return w‖f − P_Z f‖² = w(‖f‖² − ‖Rᵀf(z)‖²) for each vector."""
    c = basis.R.T @ f(in_float64(basis.Z))
    return np.maximum(weights * (f.sqnorms() - np.sum(c**2, axis=0)), 0)


def reduced(subspace: Subspace, basis: Basis, rho: float = 0.0) -> Subspace:
    """Return the subspace expressed in a basis of span φ(Z).

    The mean becomes P_Zφ̄, the axes U′ = P_Z U G^{−½} with G = UᵀP_ZU. Of all orthonormal axes inside span φ(Z) these
    are the nearest to U (they maximise tr U′ᵀU): each stays paired with its original. Gram–Schmidt would put the errors
    on the last axes, and new principal axes would mix those of similar variances. ‖u_k − u′_k‖² ≤ 2φ_k with φ_k = ‖u_k
    − P_Z u_k‖² = 1 − G_kk, so that a coordinate moves by at most √(2φ_k)·‖φ(x) − φ̄‖.

    Variances are those that the model has along the new axes, λ′ − ρ = diag G^½(Λ − ρ)G^½, where ρ is its variance in
    every direction outside U. Of all densities with these axes and this mean, the one with these variances is nearest
    to the model in Kullback–Leibler divergence. The total variance is taken about the new mean, tr C + ‖φ̄ − P_Zφ̄‖²,
    as r² is.
    """
    f = Targets([subspace]).vectors
    c = basis.R.T @ f(in_float64(basis.Z))
    c_axes, c_mean = c[:, :-1], c[:, -1]
    left, cosines, right = np.linalg.svd(c_axes, full_matrices=False)
    if len(c) < len(subspace.axes) or cosines.min(initial=1.0) < LOST:
        raise ValueError(
            f"{len(c)} anchors are too few: a combination of the {len(subspace.axes)} axes lies outside their span. "
            "Give more anchors, or a smaller tol."
        )
    U, root_G = left @ right, right.T * cosines @ right
    kernel, dtype = _kernel_on(basis.kernel, basis.Z), subspace.axes.B.dtype
    return replace(
        subspace,
        axes=Expansion(kernel, basis.Z, (basis.R @ U).astype(dtype)),
        mean=Expansion(kernel, basis.Z, (basis.R @ c_mean)[:, None].astype(dtype)),
        variances=rho + root_G**2 @ (subspace.variances - rho),
        total_variance=subspace.total_variance + max(subspace.mean_sqnorm - c_mean @ c_mean, 0.0),
        offset=(U.T @ c_mean).astype(dtype),
        mean_sqnorm=float(c_mean @ c_mean),
        moments=None,
    )
