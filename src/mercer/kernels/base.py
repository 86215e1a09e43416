"""The base classes of kernels: functions of two rows, usually a profile of one statistic of the pair."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from .._core import arrays, native
from .._core.arrays import Array, asarray_like, hstack, namespace
from .._core.keywords import Keywords
from .._core.tiles import in_threads, slices
from .width import resolve_gamma, resolve_lengthscale, unbound_gamma

K = TypeVar("K", bound="Kernel")
WIDE, WIDE_COLUMNS = 4, 4096  # least columns for each row, and in all, for products by blocks of columns
BLOCK_COLUMNS, WIDE_ROWS = 64, 256  # columns of a block, and rows of a tile of the result
MIRRORED_ROWS = 32
MOST_SHOWN = 60  # characters of a cell in an error message
MOST_FEATURES = 1000  # of an explicit map: with more, a kernel matrix is faster


class Kernel(Keywords, ABC, BaseEstimator):
    """A positive (semi-)definite function of two rows.

    Kernels have scikit-learn's ``get_params``/``set_params``, so that ``kernel__gamma`` can be searched; they compare
    with ``==`` by class and parameters, and combine by ``+``, ``*`` and multiplication with a number.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF, Linear
    >>> kernel = RBF(gamma=0.5) + 0.1 * Linear()
    >>> kernel(np.eye(2), np.eye(2)).shape
    (2, 2)
    >>> RBF(gamma="median").bind(np.array([[0.0], [1.0], [2.0]]))
    RBF(gamma=1.0)
    """

    rows: Any = "numbers"  # or "objects": strings, sets, series, categories
    whole: Any = False  # True if an object is a whole row, and not one cell of several
    sparse = False  # True if rows may be a sparse matrix
    nonnegative = False  # True if no entry of the rows may be negative
    stationary = False  # True if k(x, y) depends on x − y alone
    differentiable = True  # True if it has a gradient
    definite = True  # True if every Gram matrix is positive semi-definite
    distance: ClassVar[Any] = None  # the statistic that γ multiplies, for two sets of rows; None for inner products
    portable = True  # True if rows may be arrays of other libraries than NumPy, on their device
    __array_ufunc__ = None  # with NumPy's numbers, `number * kernel` then calls __rmul__

    def __call__(self, X: Array, Y: Array) -> Array:
        """Return the matrix k(xᵢ, yⱼ), of shape (n, m)."""
        return self.onto(Y)(X)

    @abstractmethod
    def onto(self, Z: Array) -> Callable[[Array], Array]:
        """Return the function x ↦ k(x, Z); terms that depend on Z alone are computed once."""

    def pairs(self, X: Array) -> Callable[[slice, slice], Array]:
        """Return the function (i, j) ↦ k(X[i], X[j]) of two slices of rows."""
        return lambda i, j: self(X[i, :], X[j, :])

    def factor(self, X: Array) -> Any:
        """Return the sparse F with k(X, X) = FFᵀ, if there is one for sparse rows; else None."""
        return None

    def wide_gram(self, X: Array) -> np.ndarray | None:
        """Return k(X, X) by products over blocks of columns, if there are many more columns than rows; else None."""
        return None

    def product(self, Z: Array, B: Array) -> tuple[Callable[[Array], Array], int]:
        """Return the function x ↦ k(x, Z) @ B, and the number of entries that it needs for a row."""
        k = self.onto(Z)
        return lambda x: k(x) @ B, Z.shape[0]

    def symmetric(self, X: Array) -> Callable[[np.ndarray, int, int], np.ndarray] | None:
        """Return the function (V, i, s) ↦ the i-th of s shares of k(X, X) @ V if a fused function exists, else None."""
        return None

    @abstractmethod
    def diag(self, X: Array) -> Array:
        """Return k(xᵢ, xᵢ), of shape (n,)."""

    def checked(self, X: np.ndarray, names: Any = None) -> np.ndarray:
        """Return a table of objects with each cell converted for this kernel; raise an error that names a wrong
        cell."""
        most = arrays.largest_cell(np.float64, max(1, X.shape[1]))
        numbers = checked_cells(X, _number, f"{type(self).__name__} takes numbers", names)
        return checked_cells(numbers, partial(_at_most, most), f"squares of numbers beyond {most:.2g} overflow", names)

    def on(self, names: Any) -> Self:
        """Return the kernel with names of columns replaced by their positions among ``names``, or itself."""
        return self

    def categories(self, d: int) -> np.ndarray:
        """Return a mask of d columns: True for those that are compared as categories."""
        return np.zeros(d, bool)

    def rank(self, d: int, center: bool = True) -> int | None:
        """Return the dimension that rows of d columns can span in feature space; None if it has no bound."""
        return None

    def n_features(self, d: int) -> int | None:
        """Return the number of explicit features on d columns; None if there are infinitely many, or too many."""
        return None

    def features(self, X: Array) -> Array:
        """Return the explicit features φ(X), with φ(x)ᵀφ(y) = k(x, y): (n, f)."""
        raise TypeError(f"{self!r} has no explicit map of at most {MOST_FEATURES} features on {X.shape[1]} columns.")

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        """Return Σᵢ C[n, i] ∂k(x, zᵢ)/∂x at each row xₙ of X: (n, d)."""
        raise TypeError(f"{self!r} has no derivative.")

    def diag_gradient(self, X: Array) -> Array:
        """Return ∂k(x, x)/∂x at each row: twice the derivative in the first argument, by symmetry."""
        one = np.ones((1, 1))
        return np.vstack([2 * self.gradient(x, x, one) for x in X[:, None, :]])

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        """Return a copy in which the parameters that depend on data are numbers; the kernel itself is not changed."""
        bound = copy(self)
        if hasattr(self, "gamma"):
            bound.gamma = resolve_gamma(self, X, weights)
        return plain(bound)

    def moved(self, convert: Callable[[Array], Array]) -> Self:
        """Return a copy with all arrays converted by ``convert``."""
        return plain(copy(self))

    def ready(self, d: int) -> Self:
        """Return the kernel itself, or a copy with the number that ``gamma=None`` means for d columns."""
        if isinstance(self.gamma, Real):
            return self
        ready = copy(self)
        ready.gamma = unbound_gamma(self, d)
        return ready

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)  # type: ignore[attr-defined]
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # parameters may be arrays, and change

    def __add__(self, other: Any) -> "Kernel":
        from .compose import Sum

        return NotImplemented if isinstance(other, Real) else Sum(self, other)

    def __mul__(self, other: Any) -> "Kernel":
        from .compose import Product, Scaled

        return Scaled(self, other) if isinstance(other, Real) else Product(self, other)

    __rmul__ = __mul__


class Profile(Kernel):
    """k = profile(t) of one statistic t of the pair. A profile may overwrite its argument."""

    native_kind: ClassVar[int | None] = None  # number of the profile in the C extension

    @abstractmethod
    def profile(self, t: Array) -> Array:
        """Return k as a function of t."""

    @abstractmethod
    def slope(self, t: Array) -> Array:
        """Return dk/dt."""


class Radial(Profile):
    """k = profile(t), t = ‖x − y‖², of width ``gamma``, or of one ``lengthscale`` for each column.

    ``gamma`` is a number; ``None`` = ½ / median of the squared distances, which adapts to the data; ``"median"`` =
    1 / median; ``"local"`` = ¼ / median of the squared distances to the 10th neighbour; or ``"scale"`` =
    1/(d · variance), as in ``SVC``. ``lengthscale`` ℓ (a number, or one for each column) stands for γ = 1/(2ℓ²).

    Examples
    --------
    A custom kernel defines its profile, and the derivative and the inverse of the profile.

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> from typing import Any
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Radial
    >>> @dataclass(eq=False, repr=False)
    ... class Cauchy(Radial):
    ...     gamma: Any = None
    ...     lengthscale: Any = None
    ...     def profile(self, t):
    ...         return 1 / (1 + self.gamma * t)
    ...     def slope(self, t):
    ...         return -self.gamma / (1 + self.gamma * t) ** 2
    ...     def inverse(self, v):
    ...         return (1 / v - 1) / self.gamma
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> KernelPCA(2, kernel=Cauchy(0.5)).fit(X).denoise(X).shape
    (30, 2)
    """

    sparse = True
    stationary = True
    distance = staticmethod(lambda X, Y: sqdist(X, Y))
    rough = False  # True if the profile has a kink at t = 0: small rounded distances are then set to 0
    gamma: Any
    lengthscale: Any
    _misplaced = {
        "sigma": "Use .from_sigma(σ), which is γ = 1/(2σ²).",
        "radius": "Use .from_radius(r), which is γ = 1/r².",
        "length_scale": "It is called lengthscale.",
        "bandwidth": "Use .from_sigma(bandwidth), which is γ = 1/(2σ²).",
    }

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        if self.lengthscale is None:
            return super().bind(X, weights, center)
        bound = copy(self)
        bound.gamma = resolve_lengthscale(self, X.shape[1])
        return plain(bound)

    @classmethod
    def from_sigma(cls, sigma: float, **parameters: Any) -> Self:
        """Return the kernel of standard deviation σ: γ = 1/(2σ²)."""
        return cls(gamma=1 / (2 * sigma**2), **parameters)

    @classmethod
    def from_radius(cls, r: float, **parameters: Any) -> Self:
        """Return the kernel of radius r: γ = 1/r²."""
        return cls(gamma=1 / r**2, **parameters)

    @abstractmethod
    def inverse(self, v: Array) -> Array:
        """Return the t at which the profile is v, 0 < v ≤ 1."""

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        kernel = self.ready(Z.shape[1])
        tile = native.tile(kernel, kernel.scaled(Z)) or _radial_tile(kernel, kernel.scaled(Z))
        return lambda x: tile(kernel.scaled(as_rows_of(Z, x)))

    def pairs(self, X: Array) -> Callable[[slice, slice], Array]:
        kernel = self.ready(X.shape[1])
        if kernel.rough or issparse(X) or native.tile(kernel, X) is not None:
            return super().pairs(X)
        X = kernel.scaled(X)
        X = X - namespace(X).mean(X, axis=0)
        k = native.expanded(kernel, X)
        if k is not None:
            x2 = sqnorms(X)
            return lambda i, j: k(x2[i], x2[j], native.matmul(X[i], X[j].T))
        left, right = _factors(X)
        return lambda i, j: native.profile(kernel, native.matmul(left[i, :], right[j, :].T))

    def wide_gram(self, X: Array) -> np.ndarray | None:
        kernel = self.ready(X.shape[1])
        if kernel.lengthscale is not None or kernel.distance is not Radial.distance or not is_wide(X):
            return None
        G = inner_products(X, X.mean(axis=0, dtype=float))
        norms = G.diagonal().copy()
        for i in row_slices(G):
            G[i] *= -2
            G[i] += norms[i, None] + norms
            G[i] = native.profile(kernel, np.maximum(G[i], 0, out=G[i]))
        np.fill_diagonal(G, 1.0)
        return G

    def product(self, Z: Array, B: Array) -> tuple[Callable[[Array], Array], int]:
        kernel = self.ready(Z.shape[1])
        fused = native.product(kernel, kernel.scaled(Z), B)
        if fused is None:
            return super().product(Z, B)
        return lambda x: fused(kernel.scaled(as_rows_of(Z, x))), sum(B.shape[1:], 1)

    def symmetric(self, X: Array) -> Callable[[np.ndarray, int, int], np.ndarray] | None:
        kernel = self.ready(X.shape[1])
        return native.symmetric(kernel, kernel.scaled(X))

    def diag(self, X: Array) -> Array:
        return ones(X)  # every profile is 1 at t = 0

    def profile_and_slope(self, t: Array) -> tuple[Array, Array]:
        """Return κ(t) and κ′(t)."""
        return self.profile(namespace(t).asarray(t, copy=True)), self.slope(t)

    def with_slope(self, Z: Array) -> Callable[[Array], tuple[Array, Array]]:
        """Return the function x ↦ κ(t), κ′(t) of t = ‖x − z‖²; terms that depend on Z alone are computed once."""
        kernel = self.ready(Z.shape[1])
        tile = _radial_tile(_WithSlope(kernel), kernel.scaled(Z))
        return lambda x: tile(kernel.scaled(x))

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        """2 Σ C κ′(t)(x − z)/ℓ²."""
        kernel = self.ready(Z.shape[1])
        x, z = kernel.scaled(X), kernel.scaled(Z)
        t = sqdist(x, z)
        D = 2 * C * np.where(t > 0, kernel.slope(np.maximum(t, np.finfo(t.dtype).tiny)), 0)
        D = D.sum(axis=1, keepdims=True) * x - D @ z
        return D if kernel.lengthscale is None else D / np.asarray(kernel.lengthscale)

    def diag_gradient(self, X: Array) -> Array:
        return np.zeros_like(X)

    def scaled(self, X: Array) -> Array:
        """Return X in units of the lengthscale."""
        if self.lengthscale is None:
            return X
        if issparse(X):
            return X.multiply(1 / np.asarray(self.lengthscale, X.dtype)).tocsr()
        return X / asarray_like(self.lengthscale, X, X.dtype)


def _radial_tile(kernel: Any, Z: Array) -> Callable[[Array], Any]:
    """Return the function x ↦ profile(‖x − Z‖²), by matrix products, for dense and sparse rows."""
    if issparse(Z):
        z2 = sqnorms(Z)
        return lambda x: native.profile(kernel, _expanded(x, Z, z2, kernel.rough))
    origin = namespace(Z).mean(Z, axis=0)  # distances do not depend on the origin, but their rounding errors do
    Z = Z - origin
    z2 = sqnorms(Z)
    if kernel.rough:
        return lambda x: native.profile(kernel, _expanded(x - origin, Z, z2, rough=True))
    k = native.expanded(kernel, Z)
    if k is not None:
        return lambda x: _about(origin, x, Z, z2, k)
    right = _factors(Z)[1]
    return lambda x: native.profile(kernel, native.matmul(_factors(x - origin)[0], right.T))


def _about(origin: np.ndarray, x: np.ndarray, Z: np.ndarray, z2: np.ndarray, k: Callable) -> np.ndarray:
    """Return k(x, Z), with distances about the origin from inner products."""
    dtype = np.result_type(x, Z)
    x, Z, z2 = (x - origin).astype(dtype, copy=False), Z.astype(dtype, copy=False), z2.astype(dtype, copy=False)
    return k(sqnorms(x), z2, native.matmul(x, Z.T))


def _factors(X: Array) -> tuple[Array, Array]:
    """Return [−2x, ‖x‖², 1] and [x, 1, ‖x‖²], whose product is ‖x − x′‖²."""
    x2, one = sqnorms(X), ones(X)
    return hstack(-2 * X, x2, one), hstack(X, one, x2)


def _expanded(X: Array, Z: Array, z2: Array, rough: bool) -> Array:
    """Return ‖x − z‖² = ‖x‖² + ‖z‖² − 2xᵀz; rounding may make it negative."""
    x2 = sqnorms(X)[:, None]
    t = dot(X, Z)
    t *= -2
    t += x2
    t += z2
    if rough:
        t[t < 8 * arrays.eps(t) * (x2 + z2)] = 0
    return t


def sqdist(X: Array, Y: Array) -> Array:
    """Return ‖xᵢ − yⱼ‖², of shape (n, m)."""
    return _radial_tile(_Identity(), Y)(X)


class _WithSlope:
    """A profile that returns κ and κ′; an infinite slope, that of a kink at t = 0, is set to 0."""

    native_kind = None

    def __init__(self, kernel: "Radial") -> None:
        self.rough, self.both = kernel.rough, kernel.profile_and_slope

    def profile(self, t: Array) -> tuple[Array, Array]:
        k, slope = self.both(t)
        if self.rough:
            slope[namespace(slope).isinf(slope)] = 0
        return k, slope


class _Identity:
    rough = True
    native_kind = None

    @staticmethod
    def profile(t: Array) -> Array:
        return t


def as_rows_of(Z: Array, x: Array) -> Array:
    """Return x as a dense array if Z is dense."""
    return x.toarray() if issparse(x) and not issparse(Z) else x


class Projective(Profile):
    """k = profile(t), t = xᵀy.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear, Polynomial, Projective
    >>> [cls.__name__ for cls in (Linear, Polynomial, RBF) if issubclass(cls, Projective)]
    ['Linear', 'Polynomial']
    """

    sparse = True

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        return lambda x: self.profile(dot(x, Z))

    def wide_gram(self, X: Array) -> np.ndarray | None:
        return self.profile(inner_products(X)) if type(self).onto is Projective.onto and is_wide(X) else None

    def diag(self, X: Array) -> Array:
        return self.profile(sqnorms(X))

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        """Σ C κ′(xᵀz) z."""
        return (C * self.slope(X @ Z.T)) @ Z


def checked_cells(X: np.ndarray, cell: Callable[[Any], Any], takes: str, names: Any = None) -> np.ndarray:
    """Return ``cell(value)`` of all cells of a table; for a TypeError or ValueError, raise one that names the cell."""
    checked = np.empty_like(X)
    for place, value in np.ndenumerate(X):
        try:
            checked[place] = cell(value)
        except (TypeError, ValueError):
            row, column = place[0], place[1] if names is None else repr(names[place[1]])
            shown = repr(value) if len(repr(value)) <= MOST_SHOWN else f"{repr(value)[:MOST_SHOWN]}…"
            raise ValueError(f"The cell of row {row}, column {column}, is {shown}, and {takes}.") from None
    return checked


def _number(value: Any) -> float:
    if isinstance(value, str) or not np.isfinite(float(value)):
        raise ValueError("not a finite number")
    return float(value)


def _at_most(most: float, value: float) -> float:
    if abs(value) > most:
        raise ValueError("its square, or a sum of squares, overflows")
    return value


def is_wide(X: Array) -> bool:
    """Return True for a dense NumPy array with many more columns than rows, of which each tile would copy all."""
    return isinstance(X, np.ndarray) and not arrays.is_objects(X) and X.shape[1] >= max(WIDE_COLUMNS, WIDE * X.shape[0])


def inner_products(X: np.ndarray, origin: np.ndarray | None = None) -> np.ndarray:
    """Return XXᵀ in float64, of rows about ``origin`` if it is given, by a product for each block of columns.

    One half of each product is computed and added in place, so that only the result is large.
    """
    n, columns = X.shape
    G, block = np.zeros((n, n)), np.empty((n, min(columns, BLOCK_COLUMNS)))

    def copy_rows(start: int, lane: Iterable[slice]) -> None:
        stop = start + block.shape[1]
        for i in lane:
            np.subtract(X[i, start:stop], 0.0 if origin is None else origin[start:stop], out=block[i], dtype=float)

    def add_rows(lane: Iterable[slice]) -> None:
        for i in lane:
            native.add_product(G[i, i.start :], block[i], block[i.start :].T)

    for start in range(0, columns, BLOCK_COLUMNS):
        block = block[:, : columns - start]
        in_threads(partial(copy_rows, start), row_slices(G))
        in_threads(add_rows, row_slices(G))
    for i in slices(n, MIRRORED_ROWS):  # each copy of a part of G to another part makes a temporary array
        G[i.start :, i] = G[i, i.start :].T
    return G


def row_slices(G: np.ndarray) -> list[slice]:
    """Return slices of some rows, so that temporary arrays are small."""
    return [slice(i, i + WIDE_ROWS) for i in range(0, len(G), WIDE_ROWS)]


def dot(X: Array, Z: Array) -> Array:
    """Return xᵢᵀzⱼ of dense or sparse rows, as a dense matrix."""
    return safe_sparse_dot(X, Z.T, dense_output=True) if issparse(X) or issparse(Z) else native.matmul(X, Z.T)


def sqnorms(X: Array) -> Array:
    """Return ‖x‖² of dense or sparse rows."""
    return row_norms(X, squared=True) if issparse(X) else arrays.sqnorms(X)


def inverses(norms: Array) -> Array:
    """Return 1/‖·‖, and 0 if the norm is 0."""
    xp = namespace(norms)
    return xp.where(norms > 0, 1 / xp.where(norms > 0, norms, 1.0), 0.0)


def ones(X: Array) -> Array:
    """Return a one for each row."""
    return arrays.full((X.shape[0],), 1.0, X, X.dtype)


def plain(kernel: K) -> K:
    """Replace NumPy scalars among the parameters, which other libraries do not accept, by Python numbers."""
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, np.generic):
            setattr(kernel, name, value.item())
    return kernel


def in_float64(X: Array) -> Array:
    """Return the rows in float64; integers, the row numbers of a precomputed kernel, are not converted."""
    return X if namespace(X).isdtype(X.dtype, "integral") else arrays.double(X)
