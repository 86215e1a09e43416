"""Compositions of kernels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core.arrays import Array, columns, is_objects, namespace
from .._core.registry import stored
from .base import Kernel, inverses, plain


def _of_all(name: str) -> Any:
    """Return a property that is True if it is True for all parts."""
    return property(lambda self: all(getattr(part, name) for part in self.parts))


class _Composed(Kernel):
    """A kernel whose parameters are kernels."""

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        return self._mapped(lambda part: part.bind(X, weights, center=False))

    def moved(self, convert: Callable[[Array], Array]) -> Self:
        return self._mapped(lambda part: part.moved(convert))

    def _mapped(self, f: Callable[[Kernel], Kernel]) -> Self:
        """Return the composition of f(part)."""
        params = self.get_params(deep=False).items()
        return plain(type(self)(**{name: f(part) if isinstance(part, Kernel) else part for name, part in params}))

    @property
    def parts(self) -> list[Kernel]:
        """The kernels among the parameters."""
        return [part for part in self.get_params(deep=False).values() if isinstance(part, Kernel)]

    def checked(self, X: np.ndarray, names: Any = None) -> np.ndarray:
        for part in self.parts:
            X = part.checked(X, names)
        return X

    def on(self, names: Any) -> Self:
        return self._mapped(lambda part: part.on(names))

    def categories(self, d: int) -> np.ndarray:
        return np.any([part.categories(d) for part in self.parts], axis=0)

    rows = property(lambda self: "objects" if any(part.rows == "objects" for part in self.parts) else "numbers")
    whole = property(lambda self: any(part.whole for part in self.parts))
    sparse = _of_all("sparse")
    nonnegative: Any = property(lambda self: any(part.nonnegative for part in self.parts))
    stationary = _of_all("stationary")
    differentiable = _of_all("differentiable")
    definite = _of_all("definite")
    portable = _of_all("portable")


@stored("kernels.Sum")
@dataclass(eq=False, repr=False)
class Sum(_Composed):
    """k = k₁ + k₂.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> RBF(0.5) + Linear()
    Sum(k1=RBF(gamma=0.5), k2=Linear())
    """

    k1: Kernel
    k2: Kernel

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        f, g = self.k1.onto(Z), self.k2.onto(Z)
        return lambda x: f(x) + g(x)

    def diag(self, X: Array) -> Array:
        return self.k1.diag(X) + self.k2.diag(X)

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        return self.k1.gradient(X, Z, C) + self.k2.gradient(X, Z, C)


@stored("kernels.Product")
@dataclass(eq=False, repr=False)
class Product(_Composed):
    """k = k₁k₂.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> RBF(0.5) * Linear()
    Product(k1=RBF(gamma=0.5), k2=Linear())
    """

    k1: Kernel
    k2: Kernel

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        f, g = self.k1.onto(Z), self.k2.onto(Z)
        return lambda x: f(x) * g(x)

    def diag(self, X: Array) -> Array:
        return self.k1.diag(X) * self.k2.diag(X)

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        return self.k1.gradient(X, Z, C * self.k2(X, Z)) + self.k2.gradient(X, Z, C * self.k1(X, Z))


@stored("kernels.Scaled")
@dataclass(eq=False, repr=False)
class Scaled(_Composed):
    """k = c·k₁, c > 0.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> 2.0 * RBF(0.5)
    Scaled(c=2.0, k1=RBF(gamma=0.5))
    """

    k1: Kernel
    c: float

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        if not self.c > 0:
            raise ValueError(f"A kernel can be scaled by a positive number only, and {self.c!r} was given.")
        return super().bind(X, weights, center)

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        f = self.k1.onto(Z)
        c = float(self.c)  # a NumPy float64 would convert float32 arrays to float64
        return lambda x: c * f(x)

    def diag(self, X: Array) -> Array:
        return float(self.c) * self.k1.diag(X)

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        return self.k1.gradient(X, Z, float(self.c) * C)


@stored("kernels.OnColumns")
@dataclass(eq=False, repr=False)
class OnColumns(_Composed):
    """k = k₁ on some columns: indices, a slice, a boolean mask, or names of a frame's columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear, OnColumns
    >>> OnColumns(Linear(), [0])(np.array([[2.0, 9.0]]), np.array([[3.0, 9.0]]))
    array([[6.]])
    """

    k1: Kernel
    columns: Any
    whole = False  # rows have several cells, which may be objects

    def checked(self, X: np.ndarray, names: Any = None) -> np.ndarray:
        X, index = X.copy(), self._positions(X.shape[1])
        X[:, index] = self.k1.checked(X[:, index], None if names is None else np.asarray(names)[index])
        return X

    def on(self, names: Any) -> Self:
        columns = [self.columns] if isinstance(self.columns, str) else self.columns
        if isinstance(columns, slice) or not any(isinstance(column, str) for column in columns):
            return self
        known = {} if names is None else {name: i for i, name in enumerate(names)}
        unknown = [column for column in columns if column not in known]
        if unknown:
            have = "the rows have no names" if names is None else f"there are {', '.join(map(repr, known))}"
            raise ValueError(f"OnColumns: there is no column {unknown[0]!r}; {have}. Give positions, or a data frame.")
        return type(self)(self.k1, [known[column] for column in columns])

    def categories(self, d: int) -> np.ndarray:
        mask, index = np.zeros(d, bool), self._positions(d)
        mask[index] = self.k1.categories(len(index))
        return mask

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        self._positions(X.shape[1])
        return OnColumns(self.k1.bind(self._of(X), weights, center=False), self.columns)

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        f = self.k1.onto(self._of(Z))
        return lambda x: f(self._of(x))

    def diag(self, X: Array) -> Array:
        return self.k1.diag(self._of(X))

    def _positions(self, d: int) -> np.ndarray:
        """Return the positions among d columns; raise ValueError if a column is missing."""
        try:
            return np.atleast_1d(np.arange(d)[self.columns])
        except IndexError as error:
            raise ValueError(f"OnColumns: the rows have {d} columns, and columns={self.columns!r}: {error}.") from None

    def _of(self, X: Array) -> Array:
        part = columns(X, [self.columns] if isinstance(self.columns, int) else self.columns)
        return part.astype(float) if is_objects(part) and self.k1.rows == "numbers" else part

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        full = np.zeros_like(X)
        full[:, self.columns] = self.k1.gradient(X[:, self.columns], Z[:, self.columns], C)
        return full


@stored("kernels.Normalized")
@dataclass(eq=False, repr=False)
class Normalized(_Composed):
    """k = k₁(x, y) / √(k₁(x, x) k₁(y, y)), and 0 if k₁(x, x) is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Normalized, Polynomial
    >>> Normalized(Polynomial(degree=2)).diag(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 1.])
    """

    k1: Kernel

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        f, z = self.k1.onto(Z), _inverse_norms(self.k1.diag(Z))
        return lambda x: f(x) * _inverse_norms(self.k1.diag(x))[:, None] * z

    def diag(self, X: Array) -> Array:
        squares = self.k1.diag(X)  # once: a kernel that is normalized many times would take 2ⁿ evaluations
        return squares * _inverse_norms(squares) ** 2

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        """The quotient rule: ∂k₁ over both norms, minus ½ (Σ C k) ∂k₁(x, x) / k₁(x, x)."""
        x, z = _inverse_norms(self.k1.diag(X))[:, None], _inverse_norms(self.k1.diag(Z))
        along = np.sum(C * self(X, Z), axis=1, keepdims=True) * x**2
        return self.k1.gradient(X, Z, C * x * z) - along / 2 * self.k1.diag_gradient(X)


def _inverse_norms(squares: Array) -> Array:
    return inverses(namespace(squares).sqrt(namespace(squares).clip(squares, 0, None)))
