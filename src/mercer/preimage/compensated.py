"""Projections of noisy rows, corrected for the distance that noise adds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arrays import Array
from .._core.registry import stored
from .._core.tiles import map_rows
from ..kernels import Radial, sqdist
from ..rkhs import Expansion, Subspace
from .base import Nearest, PreimageResult, as_preimage

SAMPLE = 1000  # anchors whose nearest neighbours give the usual distance: their median is accurate to a few per cent


@stored("preimage.Compensated")
@dataclass(frozen=True)
class Compensated:
    """A method with a correction for noisy rows: ``denoise`` first subtracts the noise from their squared distances.

    Noise in many columns adds about the same number c to all squared distances of a row, so that k(x, z) and the
    coordinates shrink. ``denoise`` then projects with κ(t − c) instead of k(x, z) = κ(t), t = ‖x − z‖². For
    ``excess="nearest"`` c is the squared distance to the nearest anchor minus the usual one between neighbouring
    anchors (the median), or 0 if that is negative. If ``excess`` is a number, it is c (in units of the lengthscale, if
    the kernel has one): d·σ² for Gaussian noise in d columns. Pre-images of coordinates are those of ``method``.

    It needs a radial kernel. It helps most if the noise is strong and there are many columns; clean rows hardly change.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import RBF
    >>> from mercer.preimage import Compensated
    >>> rng = np.random.default_rng(0)
    >>> angle = np.linspace(0, 6, 200)[:, None]
    >>> X = np.cos(angle + np.arange(30))  # a circle, in thirty columns
    >>> noisy = X + 0.5 * rng.normal(size=X.shape)
    >>> def error(preimage):
    ...     model = KernelPCA(6, kernel=RBF(0.1), preimage=preimage).fit(X)
    ...     return np.mean((model.denoise(noisy) - X) ** 2)
    >>> print(f"{error(Compensated()):.3f}, without compensation {error('auto'):.3f}")
    0.008, without compensation 0.009
    """

    method: Any = "auto"
    excess: Any = "nearest"

    @property
    def exact(self) -> bool:
        return getattr(self.method, "exact", False)

    def bind(self, subspace: Subspace) -> Nearest:
        """Return the function from vectors to points, with the projection of noisy rows as its ``project``."""
        if not isinstance(subspace.kernel, Radial):
            raise ValueError(
                f"Compensated needs a radial kernel, and this model has {subspace.kernel!r}. "
                f"Use preimage={self.method!r} itself."
            )
        return _Bound(as_preimage(self.method, subspace.kernel).bind(subspace), projection(subspace, self.excess))


@dataclass(frozen=True)
class _Bound:
    nearest: Nearest
    project: Callable[[Array], Array]

    def __call__(self, target: Expansion, near: Array | None = None) -> PreimageResult:
        return self.nearest(target, near)


def projection(subspace: Subspace, excess: float | str = "nearest") -> Callable[[Array], Array]:
    """Return the function from noisy rows to Y = κ(max(t − c, 0)) B − offset."""
    if isinstance(excess, str) and excess != "nearest":
        raise ValueError(
            f"excess={excess!r} is unknown. Give 'nearest', or the number to subtract from squared distances."
        )
    kernel = subspace.kernel
    Z = kernel.scaled(subspace.Z)
    usual = _usual(Z) if isinstance(excess, str) else None

    def project(x: Array) -> Array:
        t = sqdist(kernel.scaled(x), Z)
        t -= excess if usual is None else np.maximum(t.min(axis=1, keepdims=True) - usual, 0)
        return kernel.profile(np.maximum(t, 0, out=t)) @ subspace.axes.B - subspace.offset

    return lambda X: map_rows(project, X, width=2 * len(Z))


def _usual(Z: Array) -> float:
    """The median squared distance from an anchor to the nearest other one; infinite if there is only one."""
    index = np.unique(np.linspace(0, len(Z) - 1, min(SAMPLE, len(Z))).astype(int))

    def to_nearest(i: np.ndarray) -> np.ndarray:
        t = sqdist(Z[i], Z)
        t[np.arange(len(i)), i] = np.inf
        return t.min(axis=1)

    return np.median(map_rows(to_nearest, index, width=2 * len(Z)))
