"""Orthonormal bases of spans of images: coordinates of φ(x), distances to the span, and moments of coordinates.

Landmarks, explicit features, the rows of a mixture, the classes of a classifier and the noise of a sample all use such
a basis ΦR, with R = L⁻ᵀ and K_ZZ = LLᵀ.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from .._core import native
from .._core.arrays import (
    Array,
    asarray_like,
    cast,
    double,
    full,
    in_memory,
    largest,
    namespace,
    precision,
    row_numbers,
    rows,
    shared,
    zeros,
)
from .._core.dask import computed, is_lazy
from .._core.dense import inverse_of_lower, mirrored, pivoted_cholesky, times_upper
from .._core.fields import Numbers
from .._core.memory import check_memory
from .._core.registry import stored
from .._core.tiles import fold_rows, map_rows
from ..kernels import Kernel
from ..kernels.base import in_float64
from ..linalg.cholesky import rpcholesky
from ..linalg.eigenpairs import Report, eigenpairs
from ..linalg.operators import Dense, Gram
from ..linalg.ritz import EPS
from ..linalg.solvers.exact import Exact
from .expansion import Expansion
from .moments import Moments
from .positive import reported

SINGLE_CONDITION = 1e3  # condition number of K_ZZ up to which single precision is enough for rows in single precision
RAW_CONDITION = 1e5  # condition number of K_ZZ: below it, moments of k(x, Z) itself are accurate enough
GRAM_ARRAYS = 3  # n × n in float64: the Gram matrix, its copy and its factor
DRAWN = 3  # rows drawn for each feature: enough to span the space with a well-conditioned basis
IN_SPAN = 100 * EPS  # relative to the largest k(x, x): a row at a smaller squared distance to the span is inside it


@stored("landmarks.LandmarkBasis")
@dataclass(frozen=True, eq=False)
class Basis:
    """An orthonormal basis ΦR of span φ(Z): K_ZZ = LLᵀ, cut at its numerical rank, R = L⁻ᵀ on the rows kept."""

    kernel: Kernel
    Z: Annotated[Array, Numbers("m", "d", kinds="biufO", sparse=True)]
    R: Annotated[Array, Numbers("m", "r")]
    condition: float
    given: Annotated[
        Array, Numbers("n", "d", kinds="biufO", sparse=True)
    ]  # all points: the dropped ones also determine the signs
    kept: Annotated[Any, Numbers("m", kinds="iu", least=0)] = None  # the numbers of the points Z among ``given``

    @classmethod
    def of(cls, kernel: Kernel, Z: Array) -> "Basis":
        """Return the basis of span φ(Z); linearly dependent points are dropped."""
        F, kept = pivoted_cholesky(kernel(in_float64(Z), in_float64(Z)))
        L = rows(F, kept)
        R = inverse_of_lower(L).T if len(kept) else L
        return cls(kernel, rows(Z, kept), R, float((L[0, 0] / L[-1, -1]) ** 2) if len(kept) else 1.0, Z, kept)

    @classmethod
    def among(cls, kernel: Kernel, Z: Array, tol: float) -> "Basis":
        """Return a basis on some of the points Z: no φ(z) has more than ``tol`` of its squared length outside the span.

        K_ZZ is not stored. Every call chooses the same points, so that samples depend only on their own seed.
        """
        xp, Z = namespace(Z), in_float64(Z)
        gram = Dense(kernel(Z, Z)) if xp.isdtype(Z.dtype, "integral") else Gram(kernel, Z)
        _, kept = rpcholesky(gram, Z.shape[0], np.random.default_rng(0), tol=tol)
        R = inverse_of_lower(xp.linalg.cholesky(gram.block(kept))).T
        return cls(kernel, rows(Z, kept), R, np.inf, Z, kept)

    @classmethod
    def spanning(cls, kernel: Kernel, X: Array, f: int, rng: np.random.Generator) -> tuple["Basis", np.ndarray]:
        """Return a basis of span φ(X), of at most f vectors, and the numbers of the rows that it consists of.

        Some rows are drawn at random; if others are outside their span, those at the largest distance are added.
        """
        n = X.shape[0]
        chosen, rank = np.sort(rng.choice(n, min(n, DRAWN * f), replace=False)), -1
        while True:
            basis = cls.of(kernel, rows(X, chosen))
            far = np.empty(0, int)
            if basis.R.shape[1] not in (f, rank):
                rank = basis.R.shape[1]
                far = _farthest(basis.outside(X), min(n, f), IN_SPAN * largest(kernel.diag(basis.given)))
            if len(far) == 0:
                return replace(basis, condition=np.inf), chosen[
                    basis.kept
                ]  # with this condition, moments multiply each tile by R, which is accurate
            chosen = np.union1d(chosen, far)

    def moved(self, convert: Any) -> "Basis":
        """Return a copy with all arrays converted by ``convert``."""
        Z, R, given = map(convert, (self.Z, self.R, self.given))
        return replace(self, kernel=self.kernel.moved(convert), Z=Z, R=R, given=given)

    @property
    def rank(self) -> int:
        """The number of basis vectors."""
        return self.R.shape[1]

    @property
    def single(self) -> bool:
        """True if the products in the moments may be in single precision: the points are, and K_ZZ is well conditioned.

        Rounding errors of the sums are multiplied by its condition number.
        """
        return self.condition <= SINGLE_CONDITION and self.dtype == namespace(self.Z).float32

    @property
    def dtype(self) -> Any:
        """The dtype of coefficients: that of the points, and float64 where these are row numbers or objects."""
        xp = namespace(self.Z)
        return xp.float64 if xp.isdtype(self.Z.dtype, "integral") else precision(self.Z)

    def __call__(self, X: Array) -> Array:
        """Return f = Rᵀk(Z, x) for each row: the coordinates of φ(x) in the basis."""
        return times_upper(self.kernel(in_float64(X), in_float64(self.Z)), self.R)

    def of_vectors(self, f: Expansion) -> Array:
        """Return the coordinates of vectors of the feature space in the basis: (rank, p)."""
        return self.R.T @ f(self.Z)

    def outside(self, X: Array) -> Array:
        """Return k(x, x) − ‖f‖²: the squared distance of each image to the span of the basis."""
        xp = namespace(X)
        tile = lambda x, k_xx: k_xx - xp.sum(self(x) ** 2, axis=1)  # noqa: E731
        return map_rows(tile, X, self.kernel.diag(X), width=self.rank)

    def moments(self, X: Array, weights: Array | None = None) -> Moments:
        """Return the sums over the rows of 1, f, ffᵀ and k(x, x), in one pass over tiles of rows.

        If K_ZZ is well conditioned, k(x, Z) is summed and the sums are multiplied by R; otherwise every tile is. Tiles
        of rows in single precision are then multiplied in single precision (:attr:`single`), and added in double.
        Arrays of another library are read by NumPy if they are in the memory of the process.
        """
        view = in_memory(X)
        if view is not None:
            sums = self.moved(shared).moments(view, None if weights is None else shared(weights))
            first, second = (asarray_like(part, self.R) for part in (sums.first, sums.second))
            return replace(sums, basis=self, first=first, second=second)
        turned, exact = self.condition > RAW_CONDITION, (lambda x: x) if self.single else in_float64
        k, m = self.kernel.onto(exact(self.Z)), self.R.shape[0]

        def add(sums: Any, x: Array, w: Array | None = None) -> None:
            x = exact(x)
            w = full(x.shape[:1], 1.0, x) if w is None else w
            f = times_upper(k(x), self.R) if turned else k(x)
            first, second, diagonal = sums
            first += cast(w, f.dtype) @ f  # BLAS cannot multiply by a broadcast scalar
            if weights is not None:
                f *= cast(namespace(w).sqrt(w), f.dtype)[:, None]
            native.add_gram(second, f)
            diagonal += w @ double(self.kernel.diag(x))

        start = lambda: (zeros((m,), self.R), zeros((m, m), self.R), zeros((1,), self.R))  # noqa: E731
        given = (X,) if weights is None else (X, weights)
        first, second, diagonal = fold_rows(add, start, *given, width=max(1, m))
        second = mirrored(second)
        if not turned:
            turn = lambda S: map_rows(lambda s: times_upper(s, self.R), S, width=m).T  # noqa: E731
            first, second = self.R.T @ first, turn(turn(second))
        count = float(X.shape[0] if weights is None else _sum(weights))
        return Moments(self, count, first, second, float(diagonal[0]), int(X.shape[0]))


def _sum(weights: Array) -> Any:
    """Return the sum of weights, which may be a Dask array."""
    return computed(weights.sum()) if is_lazy(weights) else namespace(weights).sum(weights)


def _farthest(left: Array, f: int, least: float) -> np.ndarray:
    """Return the numbers of the f largest entries that are above ``least``."""
    order = namespace(left).argsort(left)[-f:]
    return row_numbers(order[rows(left, order) > least])


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates fₙ of φ(xₙ) in an orthonormal basis, and the squared distance: k(xₙ, xₙ) = ‖fₙ‖² + outsideₙ.

    The basis is ΦR on the anchors ``Z``. ``R`` is None if the basis spans all φ(xₙ): the axes of a weighted covariance
    are then expansions on the rows themselves, B = wY/λ, which is more accurate.
    """

    kernel: Kernel
    Z: Array
    F: np.ndarray
    outside: np.ndarray
    R: np.ndarray | None
    report: Report
    K: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        X: Array,
        solver: Any,
        *,
        gram: Any = None,
        q: int | None = None,
        weights: Array | None = None,
        rng: np.random.Generator | None = None,
    ) -> "Coordinates":
        """Return the coordinates of the rows of X in the span of landmarks, or of all rows."""
        if hasattr(solver, "basis"):
            basis = solver.basis(kernel, X, q, weights, rng)
            F = map_rows(basis, X, width=2 * basis.rank)
            return cls(
                kernel,
                basis.Z,
                F,
                _outside(kernel.diag(in_float64(X)), F),
                basis.R,
                reported(kernel, Report(solver, 1, 0.0)),
            )
        check_memory("solver='exact'", X.shape[0], GRAM_ARRAYS, "Use solver='landmarks'.")
        K = (Gram(kernel, X) if gram is None else gram).dense()
        if kernel.definite:
            F = pivoted_cholesky(K)[0]
            return cls(kernel, X, F, _outside(K.diagonal(), F), None, reported(kernel, Report(solver, 1, 0.0)), K)
        pairs = eigenpairs(Dense(K), None, Exact(), definite=False)  # negative eigenvalues are left out
        root = np.sqrt(pairs.values)
        F = pairs.vectors * root
        return cls(kernel, X, F, K.diagonal() - np.sum(F**2, axis=1), pairs.vectors / root, pairs.info)

    @property
    def rank(self) -> int:
        """The number of coordinates."""
        return self.F.shape[1]

    @cached_property
    def sqnorms(self) -> np.ndarray:
        """k(xₙ, xₙ) = ‖fₙ‖² + outsideₙ: (n,)."""
        return np.sum(self.F**2, axis=1) + self.outside

    @cached_property
    def gram(self) -> np.ndarray:
        """⟨fₙ, fₘ⟩, which is K if the basis spans all φ(xₙ): (n, n)."""
        return self.F @ self.F.T if self.K is None else self.K


def _outside(diagonal: np.ndarray, F: np.ndarray) -> np.ndarray:
    return np.maximum(diagonal - np.sum(F**2, axis=1), 0)
