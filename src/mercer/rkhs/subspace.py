"""Affine subspaces of the feature space, and the principal ones of a weighted covariance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from .._core.arrays import Array, asarray_like, cast, double, full, hstack, is_objects, largest, namespace, zeros
from .._core.blas import single_blas
from .._core.dask import is_lazy, take
from .._core.fields import NotNegative, Numbers
from .._core.registry import stored
from .._core.tiles import budget_bytes, budget_entries, map_rows, slices
from ..kernels import Kernel
from ..kernels.base import in_float64, is_wide
from ..linalg.eigenpairs import Eigenpairs, Report, eigenpairs
from ..linalg.operators import Covariance, Dense, Gram
from ..linalg.signs import signs
from ..linalg.solvers.davidson import Davidson
from ..linalg.solvers.exact import Exact
from ..linalg.solvers.lanczos import Lanczos
from .basis import Basis
from .expansion import Expansion
from .landmarks import Landmarks, choose, choose_for
from .moments import Moments
from .positive import reported
from .primal import Primal, anchors, on_anchors, primal

ROUNDED = 1e-7  # smallest tolerance of a solver for which the kernel matrix may be rounded to 2⁻³²
EXACT = 1e-9  # share of the variance: if more is outside a basis, it does not span the feature space


@stored("rkhs.Subspace")
@dataclass(frozen=True, eq=False)
class Subspace:
    """φ̄ + span U: orthonormal axes U and a mean φ̄ on the same points, with the variances λ along the axes.

    ``offset`` = ⟨U, φ̄⟩, ``mean_sqnorm`` = ‖φ̄‖², ``total_variance`` = tr C. The first two do the centring.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> subspace = KernelPCA(2).fit(X).subspace_
    >>> Y, r2 = subspace.split(X)
    >>> Y.shape, r2.shape, len(subspace.lift(Y))
    ((50, 2), (50,), 50)
    """

    axes: Expansion
    mean: Expansion
    variances: Annotated[Array, Numbers("axes", least=0)]
    total_variance: NotNegative
    offset: Annotated[Array, Numbers("axes")]
    mean_sqnorm: float
    report: Report
    moments: Moments | None = None  # in the basis of landmarks: ``partial_fit`` adds more rows to them

    def _check_parts(self) -> None:
        """Raise an error if axes and mean are not expansions on the same points."""
        if self.mean.B.shape != (self.axes.B.shape[0], 1) or self.mean.Z.shape != self.axes.Z.shape:
            raise ValueError("its axes and its mean are on different points")

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.axes.kernel

    @property
    def Z(self) -> Any:
        """The anchors."""
        return self.axes.Z

    def project(self, X: Array) -> Array:
        """Return the coordinates Y = Uᵀ(φ(x) − φ̄): (n, q)."""
        return self.axes(X) - self.offset

    def split(self, X: Array) -> tuple[Array, Array]:
        """Return coordinates and squared distance to the subspace, from one evaluation of the kernel: (n, q), (n,).

        r² = k(x, x) − 2⟨φ(x), φ̄⟩ + ‖φ̄‖² − Σ y², in float64: it is a difference of near-equal numbers.
        """
        parts, width = splitter([self])
        xp = namespace(self.offset)

        def tile(x: Array, k_xx: Array) -> Array:
            ((Y, relative),) = parts(x)
            return hstack(Y, xp.clip(k_xx + relative, 0, None))

        both = map_rows(tile, X, double(self.kernel.diag(X)), width=width)
        return both[:, :-1], both[:, -1]

    def training_coordinates(self, weights: Array | None, tol: float) -> Array | None:
        """Return Y of the training rows, λB/w, if the eigenpairs are accurate to ``tol``; else None.

        Y = λB/w follows from B = √w V/√Λ and AV = VΛ, without an evaluation of the kernel.
        """
        if self.moments is not None:
            return None
        if self.variances.shape[0] and self.report.residual * self.variances[0] > tol * self.variances[-1]:
            return None
        w = 1 / self.axes.B.shape[0] if weights is None else weights[:, None]
        return cast(self.axes.B * self.variances / w, self.axes.B.dtype)

    def __getitem__(self, j: Any) -> "Subspace":
        """Return some of the axes."""
        return replace(self, axes=self.axes[j], variances=self.variances[j], offset=self.offset[j])

    def moved(self, convert: Callable) -> "Subspace":
        """Return a copy with all arrays converted by ``convert``."""
        kernel, Z = self.kernel.moved(convert), convert(self.Z)
        return replace(
            self,
            axes=Expansion(kernel, Z, convert(self.axes.B)),
            mean=Expansion(kernel, Z, convert(self.mean.B)),
            variances=convert(self.variances),
            offset=convert(self.offset),
            moments=None if self.moments is None else self.moments.moved(convert),
        )

    def holding(self, share: float) -> int:
        """Return the number of axes that hold a share of the variance, or of all axes if they hold less."""
        q = self.variances.shape[0]
        if share >= 1 or self.total_variance <= 0:
            return q
        xp = namespace(self.variances)
        held = xp.cumulative_sum(self.variances) / self.total_variance
        return min(int(xp.count_nonzero(held < share)) + 1, q)

    def lift(self, Y: Array) -> Expansion:
        """Return the vectors φ̄ + U y for each row y of Y, of squared length ‖φ̄‖² + 2yᵀoffset + ‖y‖²."""
        xp = namespace(Y)
        Y = xp.asarray(Y)
        squares = self.mean_sqnorm + 2 * double(Y @ self.offset) + xp.sum(Y**2, axis=1, dtype=xp.float64)
        return replace(self.axes @ Y.T + self.mean, squares=squares)


def splitter(subspaces: Sequence[Subspace]) -> tuple[Callable[[Array], list[tuple[Array, Array]]], int]:
    """Return the function x ↦ [(Y, r² − k(x, x)), …] of subspaces on the same anchors, and its width for tiles.

    All axes and means share one product. Rows of a precomputed matrix do not contain k(x, x), which is left out.
    """
    B = double(hstack(*(part.B for s in subspaces for part in (s.axes, s.mean))))
    k_B, width = subspaces[0].kernel.product(in_float64(subspaces[0].Z), B)
    ends = np.cumsum([0, *(s.variances.shape[0] + 1 for s in subspaces)]).tolist()
    xp = namespace(B)

    def parts(x: Array) -> list[tuple[Array, Array]]:
        along = k_B(in_float64(x))
        found = []
        for s, i, j in zip(subspaces, ends[:-1], ends[1:], strict=True):
            Y = along[:, i : j - 1] - s.offset
            found.append((Y, s.mean_sqnorm - 2 * along[:, j - 1] - xp.sum(Y * Y, axis=1)))
        return found

    return parts, max(width, B.shape[1])


def principal_subspace(
    kernel: Kernel,
    X: Array,
    q: int | None = None,
    *,
    gram: Any = None,
    weights: Array | None = None,
    groups: Any = None,
    mean: Array | None = None,
    center: bool = True,
    solver: Any = "auto",
    rng: np.random.Generator | None = None,
) -> Subspace:
    """Return the leading axes of C = Σₙ wₙ(φₙ − φ̄)(φₙ − φ̄)ᵀ, w = ``weights`` (1/n).

    The covariance shares its eigenvalues with A = JᵀKJ, and its axes are U = ΦB, B = JV/√Λ. With ``groups`` each
    row is centred by the mean of its own group, and φ̄ is the mean of the first group; ``mean`` has a column of mean
    weights for each group.

    There are two methods: products with the operator A, or moments of coordinates in a basis. The second one is used
    for landmarks, and by ``solver="auto"`` if the kernel has fewer explicit features than there are rows.
    """
    if q == 0:  # the mean alone; one axis shows whether there is any variance
        settings: dict[str, Any] = {"groups": groups, "mean": mean, "center": center, "solver": solver, "rng": rng}
        return principal_subspace(kernel, X, 1, gram=gram, weights=weights, **settings)[:0]
    if is_lazy(X):
        return _lazy_subspace(kernel, X, q, weights, center, solver, rng)
    setting = primal(kernel, X, solver) if gram is None and groups is None and mean is None else None
    subspace = None if setting is None else _by_features(kernel, X, q, weights, center, setting)
    if subspace is not None:
        return subspace
    asked_auto = isinstance(solver, str) and solver == "auto"
    solver = choose_for(X, solver, X.shape[0], q)
    if hasattr(solver, "basis"):
        return _by_basis(kernel, X, q, weights, center, solver, rng)
    w = full((X.shape[0],), 1 / X.shape[0], X) if weights is None else double(asarray_like(weights, X))
    S = None if not center else w if mean is None else double(asarray_like(mean, X))
    if isinstance(solver, Davidson) and asked_auto and (is_wide(X) or is_objects(X) or kernel.factor(X) is not None):
        solver = Lanczos(tol=solver.tol)  # products with a stored matrix, or a sparse factor, are cheap
    if gram is None:
        gram = Gram(kernel, X)
        gram = gram.rounded() if getattr(solver, "tol", 0) >= ROUNDED else gram.repeated()
    A = Covariance(gram, w, S, groups)
    return _by_operator(kernel, X, q, A, solver, rng)


def _by_operator(
    kernel: Kernel, X: Array, q: int | None, A: Covariance, solver: Any, rng: np.random.Generator | None
) -> Subspace:
    """Return the subspace from eigenpairs of A = JᵀKJ."""
    w = A.w

    def rounding() -> float:
        """Return ‖φ̄‖² in units of λ: its rounding errors are those of A."""
        return largest(A.mean_sqnorms) * (X.shape[0] * largest(w) if A.centred else 0.0)

    pairs = eigenpairs(A, q, solver, rng, floor=rounding, definite=kernel.definite)
    xp = namespace(w)
    with single_blas:
        B = cast(A.J(pairs.vectors) / xp.sqrt(pairs.values), A.dtype)
        offset = cast(double(B.T) @ A.KS[:, 0], A.dtype)
    return Subspace(
        axes=Expansion(kernel, X, B),
        mean=Expansion(kernel, X, xp.astype(A.S[:, :1], A.dtype)),
        variances=pairs.values,
        total_variance=_total(float(xp.sum(A.diag())), pairs),
        offset=offset,
        mean_sqnorm=float(A.mean_sqnorms[0]),
        report=reported(kernel, pairs.info),
    )


def _total(trace: float, pairs: Eigenpairs) -> float:
    """Return tr C without the negative eigenvalues that were found.

    It is 0 if there are no axes, because the trace is then a rounding error.
    """
    if not pairs.values.shape[0]:
        return 0.0
    return max(trace + pairs.negative, float(namespace(pairs.values).sum(pairs.values)))


def _by_basis(
    kernel: Kernel,
    X: Array,
    q: int | None,
    weights: Array | None,
    center: bool,
    solver: Any,
    rng: np.random.Generator | None,
) -> Subspace:
    """Return the subspace inside the span of the basis that the solver chooses."""
    with single_blas:
        moments = solver.basis(kernel, X, q, weights, rng).moments(X, weights)
        return subspace_of_moments(moments, q, center, solver)


def _lazy_subspace(
    kernel: Kernel,
    X: Array,
    q: int | None,
    weights: Array | None,
    center: bool,
    solver: Any,
    rng: np.random.Generator | None,
) -> Subspace:
    """Return the subspace of a Dask array: by landmarks, for which the cluster returns only sums, or exactly.

    An exact model stores all rows, which therefore have to fit the memory budget; products with the kernel matrix are
    computed on the cluster.
    """
    solver = Landmarks() if isinstance(solver, str) and solver == "auto" else choose(solver, X.shape[0], q)
    if hasattr(solver, "basis"):
        return _by_basis(kernel, X, q, weights, center, solver, rng)
    if X.nbytes > budget_bytes():
        raise MemoryError(
            f"An exact model stores its {X.shape[0]} rows, {X.nbytes / 1e9:.1f} GB, and scikit-learn's working_memory "
            f"allows {budget_bytes() / 1e9:.1f} GB. Use solver='landmarks', or sklearn.set_config(working_memory=…)."
        )
    gram = Gram(kernel, take(X, slice(None)), home=X)
    weights = take(weights, slice(None))
    return principal_subspace(kernel, gram.X, q, gram=gram, weights=weights, center=center, solver=solver, rng=rng)


def _by_features(
    kernel: Kernel, X: Array, q: int | None, weights: Array | None, center: bool, setting: Primal
) -> Subspace | None:
    """Return the leading axes of C itself, which is smaller than A; None if the basis is not accurate enough."""
    rng = np.random.default_rng(0)  # the result does not depend on the seed
    with single_blas:
        basis, spanning = Basis.spanning(kernel, X, setting.features, rng)
        moments = basis.moments(X, None if weights is None else weights * X.shape[0])
        subspace = subspace_of_moments(moments, q, center, setting)
        if subspace.report.outside_share > EXACT:
            return None
        subspace = _with_signs(subspace, X, weights)
        chosen = anchors(spanning, X.shape[0], rng)
        axes, mean = (on_anchors(f, spanning, chosen, X) for f in (subspace.axes, subspace.mean))
    return replace(subspace, axes=axes, mean=mean)


def _with_signs(subspace: Subspace, X: Array, weights: Array | None) -> Subspace:
    """Return the subspace with signs that are determined by all rows, as in the dual."""
    w = None if weights is None else weights[:, None]
    columns = slices(len(subspace.axes), max(1, int(budget_entries() // X.shape[0])))
    parts = [signs(double(subspace[j].project(X)), w, X) for j in columns]
    flips = cast(namespace(parts[0]).concat(parts), subspace.axes.B.dtype)
    axes = replace(subspace.axes, B=subspace.axes.B * flips)
    return replace(subspace, axes=axes, offset=subspace.offset * flips)


def subspace_of_moments(moments: Moments, q: int | None = None, center: bool = True, solver: Any = None) -> Subspace:
    """Return the leading axes of the covariance inside the span of a basis, from the moments of f = Rᵀk(Z, x).

    C = Σ w ffᵀ − f̄f̄ᵀ = WΛWᵀ, axes B = RW, mean P_Zφ̄ = Rf̄. The part of φ outside the span follows from the trace:
    ``report.outside``.
    """
    basis = moments.basis
    f_mean = moments.first / moments.count if center else zeros(moments.first.shape, moments.first)
    f = f_mean.shape[0]
    C = moments.second / moments.count - f_mean[:, None] * f_mean
    mean_sqnorm = float(f_mean @ f_mean)
    rows = max(1.0, moments.count / f) if f else 1.0  # the rounding errors are those of sums over rows
    pairs = eigenpairs(Dense(C), q, Exact(), floor=lambda: rows * mean_sqnorm)
    W = pairs.vectors * signs((basis(basis.given) - f_mean) @ pairs.vectors, points=basis.given)
    total = moments.variance(center)
    outside = moments.outside / moments.count
    dtype = basis.dtype
    return Subspace(
        axes=Expansion(basis.kernel, basis.Z, cast(basis.R @ W, dtype)),
        mean=Expansion(basis.kernel, basis.Z, cast((basis.R @ f_mean)[:, None], dtype)),
        variances=pairs.values,
        total_variance=float(total) if pairs.values.shape[0] else 0.0,
        offset=cast(W.T @ f_mean, dtype),
        mean_sqnorm=mean_sqnorm,
        report=replace(
            reported(basis.kernel, pairs.info),
            solver=solver,
            outside=float(outside),
            outside_share=float(outside / total) if total > 0 else 0.0,
        ),
        moments=moments,
    )
