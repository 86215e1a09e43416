"""Kernels of the inner product t = xᵀy."""

from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Annotated, Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms

from .._core.arrays import Array, cast, columns, double, hstack, in_place, namespace
from .._core.dask import computed, is_lazy
from .._core.fields import Numbers
from .._core.registry import register
from .base import MOST_FEATURES, Projective, as_rows_of, in_float64, inner_products, inverses, is_wide, ones, sqnorms


@register("linear")
@dataclass(eq=False, repr=False)
class Linear(Projective):
    """k = xᵀy. Centred models subtract the mean of the data first, which avoids rounding errors for data far from 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Linear
    >>> KernelPCA(2, kernel=Linear()).fit(load_iris().data).explained_variance_ratio_.round(3)
    array([0.925, 0.053])
    """

    origin: Annotated[Any, Numbers("d")] = field(default=None, init=False)

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        bound = copy(self)
        if center and not issparse(X):
            bound.origin = _mean(X, weights)
        return bound

    def moved(self, convert: Callable[[Array], Array]) -> Self:
        moved = copy(self)
        moved.origin = None if self.origin is None else convert(self.origin)
        return moved

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        if self.origin is None:
            return super().onto(Z)
        centred = self._about_origin(Z)
        return lambda x: self._about_origin(as_rows_of(Z, x)) @ centred.T

    def factor(self, X: Array) -> Any:
        return X if issparse(X) and self.origin is None else None

    def wide_gram(self, X: Array) -> np.ndarray | None:
        return inner_products(X, self.origin) if is_wide(X) else None

    def product(self, Z: Array, B: Array) -> tuple[Callable[[Array], Array], int]:
        """x ↦ (x − o)ᵀ((Z − o)ᵀB): the cost for a row does not depend on the number of points."""
        M = cast(in_float64(self._about_origin(Z)).T @ double(B), B.dtype)
        return lambda x: self._about_origin(self._dense(x)) @ M, Z.shape[1]

    def diag(self, X: Array) -> Array:
        return super().diag(self._about_origin(self._dense(X)))

    def rank(self, d: int, center: bool = True) -> int | None:
        return d

    def n_features(self, d: int) -> int | None:
        return d if d <= MOST_FEATURES else None

    def features(self, X: Array) -> Array:
        """φ(x) = x − origin."""
        if self.n_features(X.shape[1]) is None:
            return super().features(X)
        return self._about_origin(X.toarray() if issparse(X) else X)

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        return C @ self._about_origin(Z)

    def profile(self, t: Array) -> Array:
        return t

    def slope(self, t: Array) -> Array:
        return np.ones_like(t)

    def _dense(self, X: Array) -> Array:
        """Return sparse rows as a dense array if an origin has to be subtracted."""
        return X.toarray() if issparse(X) and self.origin is not None else X

    def _about_origin(self, X: Array) -> Array:
        return X if self.origin is None else cast(X - self.origin, X.dtype)


def _mean(X: Array, weights: Array | None) -> Array:
    """Return the weighted mean of the rows, in float64 also for float32 rows."""
    if is_lazy(X):
        return computed(np.average(X, axis=0, weights=weights))
    xp = namespace(X)
    return (
        xp.sum(X, axis=0, dtype=xp.float64) / X.shape[0] if weights is None else weights @ double(X) / xp.sum(weights)
    )


class _Affine(Projective):
    """A profile of γt + c₀."""

    gamma: Any
    coef0: float

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        return Projective.onto(self.ready(Z.shape[1]), Z)

    def diag(self, X: Array) -> Array:
        return Projective.diag(self.ready(X.shape[1]), X)

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        return Projective.gradient(self.ready(Z.shape[1]), X, Z, C)

    def argument(self, t: Array) -> Array:
        t *= self.gamma
        t += self.coef0
        return t


@register("poly")
@dataclass(eq=False, repr=False)
class Polynomial(_Affine):
    """k = (γxᵀy + c₀)^degree.

    Parameters
    ----------
    degree : float, default=3
        The degree; for integers and c₀ ≥ 0 the features are products of up to ``degree`` columns.
    gamma : float, "scale", "median" or None, default=None
        γ, as in :class:`RBF`.
    coef0 : float, default=1.0
        c₀; if it is 0, all products have exactly ``degree`` factors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Polynomial
    >>> x = np.array([[1.0, 2.0]])
    >>> k = Polynomial(degree=2, gamma=1.0)
    >>> k(x, x)
    array([[36.]])
    >>> k.features(x).shape  # x₁², x₂², x₁x₂, x₁, x₂, 1
    (1, 6)
    """

    degree: float = 3
    gamma: Any = None
    coef0: float = 1.0

    def profile(self, t: Array) -> Array:
        t = self.argument(t)
        if self.degree == 2:
            return in_place("multiply", t, t)
        if self.degree == 3:  # two products take a tenth of the time of a power
            return in_place("multiply", t, t * t)
        return in_place("power", t, self.degree)

    def slope(self, t: Array) -> Array:
        return self.degree * self.gamma * (self.gamma * t + self.coef0) ** (self.degree - 1)

    def rank(self, d: int, center: bool = True) -> int | None:
        """Return the number of monomials without the constant one, which centring removes."""
        if self.degree != int(self.degree) or self.degree < 1 or self.coef0 < 0:
            return None  # not a polynomial, or not positive semi-definite
        f = comb(d + int(self.degree) - (self.coef0 == 0), int(self.degree))
        return f - 1 if center and self.coef0 else f

    def n_features(self, d: int) -> int | None:
        """Return the number of monomials of all degrees up to ``degree``, or of that degree alone if c₀ = 0."""
        f = self.rank(d, center=False)
        return f if f is not None and f <= MOST_FEATURES else None

    def features(self, X: Array) -> Array:
        """√(multinomial) Π x′ over all products of ``degree`` factors from x′ = (√γ x, √c₀)."""
        if self.n_features(X.shape[1]) is None:
            return super().features(X)
        kernel = self.ready(X.shape[1])
        x = (X.toarray() if issparse(X) else X) * float(kernel.gamma**0.5)
        if kernel.coef0 > 0:
            x = hstack(x, float(kernel.coef0**0.5) * ones(x))
        return hstack(
            *(
                times**0.5 * namespace(x).prod(columns(x, factors), axis=1)
                for factors, times in _products(x.shape[1], int(kernel.degree))
            )
        )


def _products(d: int, degree: int) -> Iterator[tuple[list[int], int]]:
    """Yield the indices of the factors of each product of ``degree`` out of d factors, and its number of orderings."""
    for factors in combinations_with_replacement(range(d), degree):
        yield list(factors), factorial(degree) // prod(map(factorial, Counter(factors).values()))


@register("sigmoid")
@dataclass(eq=False, repr=False)
class Sigmoid(_Affine):
    """k = tanh(γxᵀy + c₀): not positive definite, see the parameter ``indefinite`` of the models.

    Parameters
    ----------
    gamma : float, "scale", "median" or None, default=None
        γ, as in :class:`RBF`.
    coef0 : float, default=1.0
        c₀.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Sigmoid
    >>> Sigmoid(gamma=1.0, coef0=0.0)(np.eye(2), np.eye(2)).round(4)
    array([[0.7616, 0.    ],
           [0.    , 0.7616]])
    """

    gamma: Any = None
    coef0: float = 1.0
    definite = False

    def profile(self, t: Array) -> Array:
        t = self.argument(t)
        return in_place("tanh", t)

    def slope(self, t: Array) -> Array:
        return self.gamma * (1 - np.tanh(self.gamma * t + self.coef0) ** 2)


@register("cosine")
@dataclass(eq=False, repr=False)
class Cosine(Projective):
    """k = xᵀy / (‖x‖‖y‖), and 0 if a row is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Cosine
    >>> Cosine()(np.array([[3.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 5.0]]))
    array([[1., 0.]])
    """

    def rank(self, d: int, center: bool = True) -> int | None:
        return d

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        onto = super().onto(_unit(Z))
        return lambda x: onto(_unit(x))

    def factor(self, X: Array) -> Any:
        return _unit(X) if issparse(X) else None

    def product(self, Z: Array, B: Array) -> tuple[Callable[[Array], Array], int]:
        """x ↦ x̂ᵀ(ẐᵀB), as for the linear kernel."""
        M = cast(in_float64(_unit(Z)).T @ double(B), B.dtype)
        return lambda x: _unit(x) @ M, Z.shape[1]

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        """(Σ C ẑ − (Σ C k) x̂) / ‖x‖."""
        x, z = normalize(X), normalize(Z)
        along = np.sum(C * (x @ z.T), axis=1, keepdims=True) * x
        norms = row_norms(X)[:, None]
        return np.divide(C @ z - along, norms, out=np.zeros_like(along), where=norms > 0)

    def diag(self, X: Array) -> Array:
        return super().diag(_unit(X))

    def profile(self, t: Array) -> Array:
        return t

    def slope(self, t: Array) -> Array:
        return np.ones_like(t)


def _unit(X: Array) -> Array:
    """Return the rows scaled to length 1; rows of length 0 are not changed."""
    return normalize(X) if issparse(X) else X * inverses(namespace(X).sqrt(sqnorms(X)))[:, None]
