"""The positive part of a kernel that is not positive semi-definite, such as tanh, as a kernel of its own."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from .._core.arrays import Array, asarray_like, cast, double, full, largest, namespace, precision, zeros
from .._core.blas import single_blas
from .._core.dense import SMALL, has_cholesky, interruptible
from .._core.registry import stored
from .._core.tiles import map_rows
from ..kernels import Kernel
from ..kernels.base import in_float64
from ..linalg.eigenpairs import Report, rounding
from ..linalg.operators import Covariance, Dense, Gram


@stored("kernels.PositivePart")
@dataclass(eq=False, repr=False)
class PositivePart(Kernel):
    """k₊(x, y) = f(x)ᵀf(y), f(x) = Wᵀk(Z, x) − offset: the positive part of the centred matrix of a kernel.

    A = JᵀKJ = V₊Λ₊V₊ᵀ − V₋|Λ₋|V₋ᵀ, W = JV₊Λ₊^{−½}. Only axes with λ > |λ_min| are kept: coordinates of new rows along
    the others are noise. k₊ is positive semi-definite, and k₊(x, x) is the squared length inside the span of the rows.
    """

    kernel: Kernel
    Z: Any
    W: Any
    offset: Any
    lowest: float  # the smallest eigenvalue of A
    negative_mass: float  # Σ|λ₋| / Σ|λ|
    kept: float  # the share of Σλ₊ along the axes that are kept

    rows = property(lambda self: self.kernel.rows)
    whole = property(lambda self: self.kernel.whole)
    sparse = property(lambda self: self.kernel.sparse)  # type: ignore[assignment]
    nonnegative = property(lambda self: self.kernel.nonnegative)  # type: ignore[assignment]
    differentiable = property(lambda self: self.kernel.differentiable)  # type: ignore[assignment]
    portable = property(lambda self: self.kernel.portable)  # type: ignore[assignment]

    def _check_parts(self) -> None:
        """Raise an error for a positive part of a positive part: each evaluates its kernel twice."""
        if any(isinstance(part, PositivePart) for part in self.get_params(deep=True).values() if part is not self):
            raise ValueError("its kernel is a positive part already")

    def __repr__(self) -> str:
        return f"PositivePart({self.kernel!r}, {self.W.shape[1]} axes)"

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        """Return the kernel itself, which is bound."""
        return self

    def checked(self, X: Any, names: Any = None) -> Any:
        return self.kernel.checked(X, names)

    def categories(self, d: int) -> Any:
        return self.kernel.categories(d)

    def coordinates(self, X: Array) -> Array:
        """Return f(x) = Wᵀk(Z, x) − offset of each row: (n, axes)."""
        product, width = self.kernel.product(in_float64(self.Z), self.W)
        return map_rows(lambda x: product(in_float64(x)), X, width=width) - self.offset

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        F = self.coordinates(Z)
        return lambda x: _as(x, self.coordinates(x) @ F.T)

    def pairs(self, X: Array) -> Callable[[slice, slice], Array]:
        F = self.coordinates(X)
        return lambda i, j: _as(X, F[i, :] @ F[j, :].T)

    def product(self, Z: Array, B: Array) -> tuple[Callable[[Array], Array], int]:
        """Return x ↦ k₊(x, Z) @ B = k(x, Z₀) @ W(FᵀB) − offsetᵀFᵀB: it costs as much as a product with k."""
        FB = self.coordinates(Z).T @ double(B)
        product, width = self.kernel.product(in_float64(self.Z), self.W @ FB)
        shift = self.offset @ FB
        return lambda x: _as(x, product(in_float64(x)) - shift), width

    def diag(self, X: Array) -> Array:
        return _as(X, namespace(self.W).sum(self.coordinates(X) ** 2, axis=1))

    def rank(self, d: int, center: bool = True) -> int:
        return self.W.shape[1]

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        """Σᵢ C[n, i] f(zᵢ)ᵀ ∂f(x)/∂x."""
        return self.kernel.gradient(X, in_float64(self.Z), (C @ self.coordinates(Z)) @ self.W.T)

    def diag_gradient(self, X: Array) -> Array:
        """2 f(x)ᵀ ∂f(x)/∂x."""
        return 2 * self.kernel.gradient(X, in_float64(self.Z), self.coordinates(X) @ self.W.T)

    def moved(self, convert: Callable[[Array], Array]) -> Self:
        Z, W, offset = map(convert, (self.Z, self.W, self.offset))
        return replace(self, kernel=self.kernel.moved(convert), Z=Z, W=W, offset=offset)


def positive_part(
    kernel: Kernel, X: Array, gram: Any = None, weights: Array | None = None, center: bool = True
) -> Kernel:
    """Return the kernel, or its positive part if its matrix on these rows has negative eigenvalues.

    The positive part needs the whole spectrum, so it is used for at most ``SMALL`` rows. With more rows the kernel is
    returned unchanged.
    """
    n = X.shape[0]
    if kernel.definite or n > SMALL:
        return kernel
    w = full((n,), 1 / n, X) if weights is None else double(asarray_like(weights, X))
    w = w / namespace(w).sum(w)
    A = Covariance(Gram(kernel, X) if gram is None else gram, w, w if center else None)
    with single_blas:
        matrix = A.dense()
        floor = largest(abs(A.mean_sqnorms)) if center else 0.0
        return kernel if _is_definite(matrix, A, floor) else _of_spectrum(kernel, X, A, matrix, floor)


def given(kernel: Kernel) -> Kernel:
    """Return the kernel that the user gave, even if its positive part is used."""
    return kernel.kernel if isinstance(kernel, PositivePart) else kernel


def reported(kernel: Kernel, report: Report) -> Report:
    """Return the report, with the share that the positive part of a kernel leaves out."""
    if not isinstance(kernel, PositivePart):
        return report
    what = f"the positive part of {kernel.kernel!r} was used: {kernel.W.shape[1]} axes, {kernel.kept:.1%} of Σλ₊"
    note = f"{report.note}; {what}" if report.note else what
    return replace(report, lowest=kernel.lowest, negative_mass=kernel.negative_mass, note=note)


def _is_definite(matrix: Array, A: Covariance, floor: float) -> bool:
    """Return True if the matrix, with the rounding error of its largest eigenvalue added, has a Cholesky factor."""
    size = max(float(namespace(matrix).linalg.matrix_norm(matrix)), floor)
    return size == 0 or has_cholesky(Dense(matrix), rounding(A.shape[0], A.root) * size)


def _of_spectrum(kernel: Kernel, X: Array, A: Covariance, matrix: Array, floor: float) -> Kernel:
    xp = namespace(matrix)
    lam, V = interruptible(xp.linalg.eigh, matrix)
    lowest, error = float(lam[0]), rounding(A.shape[0], A.root) * max(float(lam[-1]), floor)
    if lowest > -error:
        return kernel
    threshold = max(-lowest, error) if lam[-1] > -lowest else error  # if none is above |λ_min|, keep all λ₊
    first = A.shape[0] - int(xp.count_nonzero(lam > threshold))
    W = double(A.J(cast(V[:, first:], A.dtype))) / xp.sqrt(lam[first:])
    offset = W.T @ A.KS[:, 0] if A.centred else zeros((W.shape[1],), W)
    positive, mass = float(xp.sum(xp.clip(lam, 0, None))), float(xp.sum(abs(lam)))
    kept = float(xp.sum(lam[first:])) / positive if positive > 0 else 0.0
    return PositivePart(kernel, X, W, offset, lowest, 1 - positive / mass if mass > 0 else 0.0, kept)


def _as(x: Array, K: Array) -> Array:
    """Return K in the dtype of the rows, unless these are row numbers."""
    return K if namespace(x).isdtype(x.dtype, "integral") else cast(K, precision(x))
