"""Pre-images by gradient descent, for every differentiable kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arrays import Array
from .._core.registry import register
from ..kernels import Kernel, Radial
from ..rkhs import Expansion, Subspace
from ..rkhs.positive import PositivePart
from .base import Anchors, Nearest, PreimageResult, found, start
from .descent import descend


@register("gradient")
@dataclass(frozen=True)
class Gradient:
    """Minimise k(x, x) − 2f(x) by L-BFGS, from the nearest anchor, within ``bounds`` = (lowest, highest) if given.

    This is ‖φ(x) − f‖² up to a constant, f(x) = ⟨φ(x), f⟩. For kernels that are not positive semi-definite, the default
    bounds are the ranges of the columns of the anchors.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> from mercer.preimage import Gradient
    >>> X, _ = datasets.moons(n=100)
    >>> model = KernelPCA(8, kernel=RBF(4.0), preimage=Gradient()).fit(X)
    >>> print(f"{abs(model.denoise(X) - X).mean():.2f}")
    0.06
    """

    max_iter: int = 200
    tol: float = 1e-6
    bounds: Any = None
    exact = True

    def bind(self, subspace: Subspace) -> Nearest:
        """Return the function from vectors to points."""
        kernel = subspace.kernel
        if not kernel.differentiable:
            raise ValueError(
                f"Gradient needs a kernel with a derivative, and {kernel!r} has none. Use preimage='smoother'."
            )
        anchors = Anchors(subspace)
        Z = anchors.rows.astype(float)
        rise = _radial(kernel, Z) if isinstance(kernel, Radial) else _general(kernel, Z)
        length = float(np.sqrt(np.mean(Z.var(axis=0)))) or 1.0
        bounds = (Z.min(axis=0), Z.max(axis=0)) if self.bounds is None and _indefinite(kernel) else self.bounds
        box = {} if bounds is None else dict(zip(("lower", "upper"), bounds, strict=True))

        def nearest(target: Expansion, near: Array | None = None) -> PreimageResult:
            G = target.B.T.astype(float)
            X, n_iter = descend(
                lambda rows, X: _distance(kernel, rise, G[rows], X),
                start(anchors, target, near).astype(float),
                length,
                max_iter=self.max_iter,
                tol=self.tol,
                **box,
            )
            return found(X.astype(target.B.dtype), target, n_iter)

        return nearest


def _indefinite(kernel: Kernel) -> bool:
    """Return True if k(x, x) − 2f(x) may decrease without end outside the range of the data."""
    return not kernel.definite or isinstance(kernel, PositivePart)


def _distance(kernel: Kernel, rise: Callable, G: Array, X: Array) -> tuple[Array, Array]:
    """k(x, x) − 2f(x) and its gradient; k(x, x) of a stationary kernel is constant."""
    f, gradient = rise(G, X)
    return kernel.diag(X) - 2 * f, (0 if kernel.stationary else kernel.diag_gradient(X)) - 2 * gradient


def _general(kernel: Kernel, Z: Array) -> Callable:
    """(G, X) ↦ f(x) = Σ gᵢk(x, zᵢ) and its gradient."""
    k = kernel.onto(Z)
    return lambda G, X: (np.sum(G * k(X), axis=1), kernel.gradient(X, Z, G))


def _radial(kernel: Radial, Z: Array) -> Callable:
    """f(x) and its gradient from one evaluation of the distances: ∂f/∂x = 2 Σ gᵢκ′(tᵢ)(x − zᵢ)/ℓ²."""
    both, scale = kernel.with_slope(Z), 1.0 if kernel.lengthscale is None else np.asarray(kernel.lengthscale) ** -2.0

    def rise(G: Array, X: Array) -> tuple[Array, Array]:
        k, slope = both(X)
        slope *= 2 * G
        return np.sum(G * k, axis=1), (slope.sum(axis=1, keepdims=True) * X - slope @ Z) * scale

    return rise
