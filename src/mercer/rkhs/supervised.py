"""Axes that depend on a target: the leading ones of (1 − a)C + aTTᵀ, T the covariance of φ with the target.

With centred target columns √wΔ = QΣ, C = ΦJJᵀΦᵀ and T = ΦJQΣ, so that the sum is ΦJMJᵀΦᵀ, M = (1 − a)I + aQΣ²Qᵀ.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.arrays import cast, double
from .._core.blas import single_blas
from .._core.dask import computed, is_lazy
from .._core.tiles import sum_rows
from ..kernels import Kernel
from ..linalg.eigenpairs import Report, eigenpairs
from ..linalg.operators import Covariance, Dense, Gram
from ..linalg.ritz import EPS
from ..linalg.signs import signs
from ..linalg.solvers.exact import Exact
from .basis import Basis
from .expansion import Expansion
from .landmarks import Landmarks, choose
from .moments import Moments
from .positive import reported
from .primal import Primal, anchors, on_anchors, primal
from .subspace import EXACT, Subspace


@dataclass(frozen=True, eq=False)
class Target:
    """Centred target columns √wΔ = QΣ of n rows: Q orthonormal (n, r), Σ in descending order from 1.

    Σ₁ = 1 puts TTᵀ on the scale of the covariance: TTᵀ ≼ C. For classes, one-hot/√p_c, all of Σ are 1 and TTᵀ is the
    covariance between classes.
    """

    Q: np.ndarray
    sigma: np.ndarray
    w: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray, weights: Any = None) -> "Target":
        """Return the target of columns Δ (n, c) for rows of weights that sum to 1; a constant target has rank 0."""
        n = len(columns)
        w = np.full(n, 1 / n) if weights is None else np.asarray(computed(weights), float)
        Q, sigma, _ = np.linalg.svd(np.sqrt(w)[:, None] * (columns - w @ columns), full_matrices=False)
        rounding = n * EPS * np.sqrt(w @ np.sum(columns**2, axis=1))
        kept = sigma > rounding
        return cls(Q[:, kept], sigma[kept] / sigma[0] if kept.any() else sigma[kept], w)

    @property
    def J(self) -> np.ndarray:
        """√w QΣ (n, r), whose columns sum to 0: T = ΦJ."""
        return np.sqrt(self.w)[:, None] * self.Q * self.sigma

    @property
    def by_chance(self) -> float:
        """The mean of tr TTᵀ / tr C over all permutations of the target among the rows: ΣΣ²/(n − 1) without weights."""
        repeated = float(self.w @ self.w)
        return float(self.sigma @ self.sigma) * repeated / (1 - repeated) if repeated < 1 else 0.0


@dataclass(frozen=True, eq=False)
class Supervised:
    """A subspace, ‖Tᵀu‖² of each axis u, and tr TTᵀ; its ``variances`` are uᵀCu, in no particular order."""

    subspace: Subspace
    dependence: np.ndarray
    total_dependence: float

    def holding(self, share: float, a: float) -> int:
        """Return the number of axes that hold a share of the trace of (1 − a)C + aTTᵀ."""
        held = np.cumsum((1 - a) * self.subspace.variances + a * self.dependence)
        total = (1 - a) * self.subspace.total_variance + a * self.total_dependence
        return min(int(np.count_nonzero(held < share * total)) + 1, len(held))

    def __getitem__(self, j: Any) -> "Supervised":
        """Return some of the axes."""
        return replace(self, subspace=self.subspace[j], dependence=self.dependence[j])


def supervised_subspace(
    kernel: Kernel,
    X: Any,
    q: int | None,
    target: Target,
    a: float,
    *,
    gram: Any = None,
    weights: Any = None,
    solver: Any = "auto",
    rng: np.random.Generator,
) -> Supervised:
    """Return the q leading axes of (1 − a)C + aTTᵀ, 0 < a ≤ 1; for a = 1 from an r × r matrix, r = rank of T."""
    n, rank = X.shape[0], len(target.sigma)
    q = min(rank, n if q is None else q) if a == 1 else q
    setting = None if gram is not None or is_lazy(X) else primal(kernel, X, solver)
    if setting is not None:
        found = _by_features(kernel, X, q, target, a, weights, setting)
        if found is not None:
            return found
    solver = Landmarks() if is_lazy(X) and isinstance(solver, str) and solver == "auto" else choose(solver, n, q)
    if hasattr(solver, "basis"):
        with single_blas:
            return _in_basis(solver.basis(kernel, X, q, weights, rng), X, q, target, a, weights, solver)
    if is_lazy(X):
        raise ValueError(f"A Dask collection is fitted with solver='landmarks', and {solver!r} was given.")
    gram = Gram(kernel, X) if gram is None else gram
    if a == 1:
        return _by_target(kernel, X, q, target, gram)
    A = _Mixed(gram.repeated() if isinstance(gram, Gram) else gram, target, a)
    pairs = eigenpairs(A, q, solver, rng, floor=lambda: n * A.w.max() * A.mean_sqnorms[0], definite=kernel.definite)
    B = double(A.J(pairs.vectors)) / np.sqrt(pairs.values)
    K_BJ = double(gram @ np.hstack([B, target.J]))
    return _on_rows(kernel, X, target, B, A.KS[:, 0], K_BJ[:, : B.shape[1]], K_BJ[:, B.shape[1] :], gram, pairs.info)


def _by_target(kernel: Kernel, X: Any, q: int | None, target: Target, gram: Any) -> Supervised:
    """Return the axes of TTᵀ from the r × r matrix TᵀT = JᵀKJ, in one product with K."""
    J, w = target.J, target.w
    with single_blas:
        K_wJ = double(gram @ np.hstack([w[:, None], J]))
        K_w, KJ = K_wJ[:, 0], K_wJ[:, 1:]
        A = J.T @ KJ
        rows = X.shape[0] / max(J.shape[1], 1)  # rounding errors are those of sums over rows
        pairs = eigenpairs(Dense((A + A.T) / 2), q, Exact(), floor=lambda: rows * float(w @ K_w))
        V = pairs.vectors / np.sqrt(pairs.values)
        return _on_rows(kernel, X, target, J @ V, K_w, KJ @ V, KJ, gram, replace(pairs.info, passes=1))


def _on_rows(
    kernel: Kernel,
    X: Any,
    target: Target,
    B: np.ndarray,
    K_w: np.ndarray,
    KB: np.ndarray,
    KJ: np.ndarray,
    gram: Any,
    report: Report,
) -> Supervised:
    """Return the axes ΦB with their signs, and the variance and dependence along each."""
    w, offset = target.w, B.T @ K_w
    Y = KB - offset
    flips = signs(Y, w[:, None], X)
    mean_sqnorm = float(w @ K_w)
    subspace = Subspace(
        axes=Expansion(kernel, X, cast(B * flips, gram.dtype)),
        mean=Expansion(kernel, X, cast(w[:, None], gram.dtype)),
        variances=w @ Y**2,
        total_variance=float(w @ double(gram.diag())) - mean_sqnorm,
        offset=cast(offset * flips, gram.dtype),
        mean_sqnorm=mean_sqnorm,
        report=reported(kernel, report),
    )
    return Supervised(subspace, np.sum((target.J.T @ Y) ** 2, axis=0), float(np.sum(target.J * KJ)))


def _by_features(
    kernel: Kernel, X: Any, q: int | None, target: Target, a: float, weights: Any, setting: Primal
) -> Supervised | None:
    """Return the axes from explicit features, on anchors that span the space; None if these are not accurate enough."""
    rng = np.random.default_rng(0)  # the result does not depend on the seed
    with single_blas:
        basis, spanning = Basis.spanning(kernel, X, setting.features, rng)
        found = _in_basis(basis, X, q, target, a, weights, setting)
        if found.subspace.report.outside_share > EXACT:
            return None
        chosen = anchors(spanning, X.shape[0], rng)
        axes, mean = (on_anchors(f, spanning, chosen, X) for f in (found.subspace.axes, found.subspace.mean))
    return replace(found, subspace=replace(found.subspace, axes=axes, mean=mean))


def _in_basis(basis: Basis, X: Any, q: int | None, target: Target, a: float, weights: Any, solver: Any) -> Supervised:
    """Return the axes inside the span of a basis: C from the moments of coordinates f, T = Σ w f δᵀ."""
    moments = basis.moments(X, weights)
    T = sum_rows(lambda x, *j: basis(x).T @ np.stack(j, axis=1), X, *target.J.T, width=2 * basis.rank)
    mean = moments.first / moments.count
    C = moments.second / moments.count - np.outer(mean, mean)
    rows = max(1.0, moments.count / max(len(mean), 1)) * (1 - a)  # rounding errors are those of sums over rows
    pairs = eigenpairs(Dense((1 - a) * C + a * T @ T.T), q, Exact(), floor=lambda: rows * float(mean @ mean))
    W = pairs.vectors * signs((basis(basis.given) - mean) @ pairs.vectors, points=basis.given)
    subspace = on_basis(moments, W, np.sum(W * (C @ W), axis=0), replace(pairs.info, solver=solver))
    return Supervised(subspace, np.sum((T.T @ W) ** 2, axis=0), float(np.sum(T**2)))


def on_basis(moments: Moments, W: np.ndarray, variances: np.ndarray, report: Report) -> Subspace:
    """Return the subspace of orthonormal axes W in a basis, about the mean of the moments."""
    basis, mean, total = moments.basis, moments.first / moments.count, float(moments.variance())
    outside = moments.outside / moments.count
    report = replace(reported(basis.kernel, report), outside=outside, outside_share=outside / total if total > 0 else 0)
    return Subspace(
        axes=Expansion(basis.kernel, basis.Z, cast(basis.R @ W, basis.dtype)),
        mean=Expansion(basis.kernel, basis.Z, cast((basis.R @ mean)[:, None], basis.dtype)),
        variances=variances,
        total_variance=total if W.shape[1] else 0.0,
        offset=cast(W.T @ mean, basis.dtype),
        mean_sqnorm=float(mean @ mean),
        report=report,
    )


class _Mixed(Covariance):
    """M½AM½, A = JᵀKJ, M½ = √(1 − a)(I − QQᵀ) + Q((1 − a) + aΣ²)½Qᵀ: its eigenvalues are those of (1 − a)C + aTTᵀ."""

    def __init__(self, gram: Any, target: Target, a: float) -> None:
        super().__init__(gram, target.w, target.w)
        self.target, self.a, self.Q = target, a, cast(target.Q, gram.dtype)
        self.rest = (1 - a) ** 0.5
        self.more = cast(np.sqrt(1 - a + a * target.sigma**2) - self.rest, gram.dtype)

    def half(self, V: np.ndarray) -> np.ndarray:
        """Return M½ V."""
        return self.rest * V + self.Q @ (self.more[:, None] * (self.Q.T @ V))

    def J(self, V: np.ndarray) -> np.ndarray:
        return super().J(self.half(V))

    def Jt(self, M: np.ndarray) -> np.ndarray:
        return self.half(super().Jt(M))

    def coarse(self) -> "_Mixed":
        gram = self.gram.coarse()
        return self if gram is self.gram else _Mixed(gram, self.target, self.a)

    def congruence(self, F: np.ndarray) -> np.ndarray:
        """Return FᵀJMJᵀF: the term of the covariance with weight 1 − a, and the term of the target."""
        FtT = double(F.T @ cast(super().J(self.Q * cast(self.target.sigma, self.dtype)), self.dtype))
        return (1 - self.a) * super().congruence(F) + self.a * FtT @ FtT.T

    def columns(self, index: np.ndarray) -> np.ndarray:
        return self @ np.eye(self.shape[0], dtype=self.dtype)[:, index]

    def diag(self) -> np.ndarray:
        return self.dense().diagonal()

    def dense(self) -> np.ndarray:
        return self.half(self.half(super().dense()).T)
