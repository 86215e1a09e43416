"""Kernels of the squared distance t = ‖x − y‖², and the Laplacian and χ² kernels."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core import native
from .._core.arrays import Array, in_place, namespace
from .._core.dense import cityblock
from .._core.native import exp_into
from .._core.registry import register, stored
from .base import Profile, Radial, ones

Width = Any  # a number, None, "scale" or "median"


class _Exponential(Profile):
    """k = exp(−γt)."""

    gamma: Width

    def profile(self, t: Array) -> Array:
        t *= -self.gamma
        return exp_into(t)

    def slope(self, t: Array) -> Array:
        return -self.gamma * self.profile(namespace(t).asarray(t, copy=True))

    def inverse(self, v: Array) -> Array:
        """Return the t at which the profile is v, 0 < v ≤ 1."""
        return -np.log(v) / self.gamma


@register("rbf")
@dataclass(eq=False, repr=False)
class RBF(_Exponential, Radial):
    """k = exp(−γt), t = ‖x − y‖²: the Gaussian kernel.

    Parameters
    ----------
    gamma : float, "scale", "median", "local" or None, default=None
        γ; None is ½ / median squared distance of the rows (σ² = the median), ``"median"`` is 1 / median, ``"local"`` is
        ¼ / median squared distance to the 10th neighbour, and ``"scale"`` is 1/(d · variance) as in ``SVC``.
    lengthscale : float or array-like of shape (d,), default=None
        ℓ, or one ℓ for each column, in place of γ = 1/(2ℓ²).

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> RBF.from_sigma(2.0)
    RBF(gamma=0.125)
    """

    gamma: Width = None
    lengthscale: Any = None
    native_kind = 0

    def profile_and_slope(self, t: Array) -> tuple[Array, Array]:
        k = self.profile(t)
        return k, -self.gamma * k


@stored("kernels.InverseMultiquadric")
@dataclass(eq=False, repr=False)
class InverseMultiquadric(Radial):
    """k = 1/√(1 + γt), t = ‖x − y‖².

    Parameters
    ----------
    gamma, lengthscale : default=None
        The width, as in :class:`RBF`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import InverseMultiquadric
    >>> InverseMultiquadric(gamma=1.5)(np.eye(2), np.eye(2))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    gamma: Width = None
    lengthscale: Any = None
    native_kind = 1

    def profile(self, t: Array) -> Array:
        t *= self.gamma
        t += 1
        t = in_place("sqrt", t)
        return in_place("reciprocal", t)

    def slope(self, t: Array) -> Array:
        return -self.gamma / 2 * (1 + self.gamma * t) ** -1.5

    def inverse(self, v: Array) -> Array:
        return (v**-2.0 - 1) / self.gamma


@stored("kernels.RationalQuadratic")
@dataclass(eq=False, repr=False)
class RationalQuadratic(Radial):
    """k = 1/(1 + γt/α)^α, t = ‖x − y‖²; α → ∞ is the RBF.

    Parameters
    ----------
    alpha : float, default=1.0
        α; smaller values give a heavier tail.
    gamma, lengthscale : default=None
        The width, as in :class:`RBF`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=1.0, gamma=0.5)(np.eye(2), np.eye(2))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    alpha: float = 1.0
    gamma: Width = None
    lengthscale: Any = None
    native_kind = 2

    def profile(self, t: Array) -> Array:
        t *= self.gamma / self.alpha
        t += 1
        return in_place("power", t, -self.alpha)

    def slope(self, t: Array) -> Array:
        return -self.gamma * (1 + self.gamma / self.alpha * t) ** (-self.alpha - 1)

    def inverse(self, v: Array) -> Array:
        return (v ** (-1 / self.alpha) - 1) * self.alpha / self.gamma


@register("matern")
@dataclass(eq=False, repr=False)
class Matern(Radial):
    """The Matérn kernel of smoothness ν ∈ {½, 3/2, 5/2}; ν → ∞ is the RBF.

    With u = √(4νγ) ‖x − y‖, ν = ½: exp(−u);  3/2: (1 + u) exp(−u);  5/2: (1 + u + u²/3) exp(−u).

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        The smoothness ν.
    gamma, lengthscale : default=None
        The width, as in :class:`RBF`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Matern
    >>> Matern(nu=0.5, gamma=0.25)(np.eye(2), np.eye(2)).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    nu: float = 1.5
    gamma: Width = None
    lengthscale: Any = None

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        if self.nu not in _MATERN:
            raise ValueError(f"Matern takes nu = 0.5, 1.5 or 2.5, and {self.nu!r} was given. For larger nu use RBF.")
        return super().bind(X, weights, center)

    @property
    def rough(self) -> bool:  # type: ignore[override]
        return self.nu < 1

    @property
    def native_kind(self) -> int | None:  # type: ignore[override]
        return {0.5: 3, 1.5: 4, 2.5: 5}.get(self.nu)

    def profile(self, t: Array) -> Array:
        u = self._u(t)
        value = _MATERN[self.nu][0](u)
        value *= exp_into(in_place("negative", u))
        return value

    def slope(self, t: Array) -> Array:
        """dk/dt = dk/du · 2νγ/u; infinite at t = 0 for ν = ½."""
        u = self._u(namespace(t).asarray(t, copy=True))
        with np.errstate(divide="ignore"):
            return -2 * self.nu * self.gamma * _MATERN[self.nu][1](u) * namespace(u).exp(-u)

    def inverse(self, v: Array) -> Array:
        """Solve k(u) = v by Newton's method from the left, where it is monotone: k is convex beyond its inflection."""
        v = np.asarray(v, float)
        u = np.maximum(-np.log(v), 0)  # k ≥ e^{−u}: the start is on the left of the root
        value, minus_slope_over_u = _MATERN[self.nu]
        for _ in range(_NEWTON_STEPS):
            slope = minus_slope_over_u(u) * u if self.nu > 1 else np.ones_like(u)
            step = (value(u) * np.exp(-u) - v) / np.maximum(slope * np.exp(-u), np.finfo(float).tiny)
            u = np.maximum(u + np.minimum(step, 1.0), 0)
        return u**2 / (4 * self.nu * self.gamma)

    def _u(self, t: Array) -> Array:
        t *= 4 * self.nu * self.gamma
        return in_place("sqrt", t)


_NEWTON_STEPS = 60
# k(u)·e^u and −k′(u)·e^u / u
_MATERN: dict[float, Any] = {
    0.5: (lambda u: namespace(u).ones_like(u), lambda u: 1 / u),
    1.5: (lambda u: 1 + u, lambda u: namespace(u).ones_like(u)),
    2.5: (lambda u: 1 + u + u * u / 3, lambda u: (1 + u) / 3),
}


class _Distance(_Exponential):
    """k = exp(−γt) of a distance t that is not the Euclidean one."""

    def diag(self, X: Array) -> Array:
        return ones(X)

    def gradient(self, X: Array, Z: Array, C: Array) -> Array:
        """−γ Σ C k ∂t/∂x, one column after the other."""
        kernel = self.ready(Z.shape[1])
        D = -kernel.gamma * C * kernel(X, Z)
        columns = [np.sum(D * self.rate(x[:, None], z), axis=1) for x, z in zip(X.T, Z.T, strict=True)]
        return np.column_stack(columns)

    @staticmethod
    @abstractmethod
    def rate(x: Array, z: Array) -> Array:
        """∂t/∂x of one column."""


@register("laplacian")
@dataclass(eq=False, repr=False)
class Laplacian(_Distance):
    """k = exp(−γ‖x − y‖₁).

    Parameters
    ----------
    gamma : float, "scale", "median", "local" or None, default=None
        γ, as in :class:`RBF`, with the median of ‖x − y‖₁.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(gamma=0.5)(np.eye(2), np.eye(2)).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    gamma: Width = None
    stationary = True
    native_kind = 6
    distance = staticmethod(cityblock)

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        kernel = self.ready(Z.shape[1])
        return native.tile(kernel, Z) or (lambda x: kernel.profile(cityblock(x, Z)))

    def product(self, Z: Array, B: Array) -> tuple[Callable[[Array], Array], int]:
        fused = native.product(self.ready(Z.shape[1]), Z, B)
        return super().product(Z, B) if fused is None else (fused, sum(B.shape[1:], 1))

    def symmetric(self, X: Array) -> Callable[[np.ndarray, int, int], np.ndarray] | None:
        return native.symmetric(self.ready(X.shape[1]), X)

    @staticmethod
    def rate(x: Array, z: Array) -> Array:
        return np.sign(x - z)


@register("chi2")
@dataclass(eq=False, repr=False)
class Chi2(_Distance):
    """k = exp(−γ Σ (x − y)²/(x + y)), for histograms: no entry may be negative.

    Parameters
    ----------
    gamma : float, "scale", "median", "local" or None, default=1.0
        γ, as in :class:`RBF`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Chi2
    >>> Chi2(gamma=0.5)(np.eye(2), np.eye(2)).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    gamma: Width = 1.0
    nonnegative = True
    portable = False
    distance = staticmethod(lambda X, Y: _chi2(_writeable(X), _writeable(Y)))

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        kernel, Z = self.ready(Z.shape[1]), _writeable(Z)
        return lambda x: kernel.profile(_chi2(_writeable(x), Z).astype(x.dtype))

    @staticmethod
    def rate(x: Array, z: Array) -> Array:
        total = x + z
        return np.divide((x - z) * (x + 3 * z), total**2, out=np.zeros_like(total), where=total > 0)


def _chi2(X: Array, Y: Array) -> np.ndarray:
    """Σ (x − y)²/(x + y) over the columns."""
    from sklearn.metrics.pairwise import additive_chi2_kernel

    return -additive_chi2_kernel(X, Y)


def _writeable(X: Array) -> np.ndarray:
    """Return X, or a copy of read-only rows, which scikit-learn does not accept."""
    return X if X.flags.writeable else X.copy()
