"""The base of pre-image methods: settings whose ``bind(subspace)`` returns a function of expansions.

The function takes p vectors of the feature space and returns a ``PreimageResult``: p points whose images are near
them. ``near`` optionally gives points to start from. A method works with vectors, not with models. A method is
``exact`` if the pre-image of the image of a row is that row, and not only a similar one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._core.arrays import (
    Array,
    asarray_like,
    cast,
    double,
    hstack,
    is_foreign,
    is_objects,
    largest,
    library,
    namespace,
)
from .._core.arrays import rows as rows_of
from .._core.registry import PREIMAGES
from ..kernels import Kernel, Linear, Precomputed, Radial
from ..kernels.base import in_float64
from ..rkhs import Expansion, Subspace

IN_SPAN = 1e-6  # of the largest coefficient: with a smaller error, a target is a combination of axes and mean


@dataclass(frozen=True, eq=False)
class PreimageResult:
    """Points whose images are near given vectors, and how each was found.

    ``n_iter`` counts the iterations of each point. ``fallback`` names the method that was used if the requested one
    failed, "" otherwise. ``measure`` computes the error on demand.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> X, _ = datasets.moons(n=100)
    >>> model = KernelPCA(8, kernel=RBF(4.0)).fit(X)
    >>> result = model.preimages(model.transform(X[:3]))
    >>> result.X.shape, result.error.shape
    ((3, 2), (3,))
    """

    X: Array
    n_iter: Array
    fallback: np.ndarray
    measure: Callable[[], Array]

    @cached_property
    def error(self) -> Array:
        """‖φ(x) − f‖² for each point and its vector: (p,)."""
        return self.measure()


Nearest = Callable[..., PreimageResult]  # (target: Expansion, near: rows or None) ↦ points


def squared_error(X: Array, target: Expansion) -> Array:
    """Return ‖φ(x_j) − f_j‖²."""
    return namespace(X).clip(distances(target, X) + target.sqnorms(), 0, None)


def found(X: Array, target: Expansion, n_iter: Array | None = None, fallback: Any = None) -> PreimageResult:
    """Return the result of a method; ``n_iter=None`` is for methods that do not iterate."""
    n_iter = asarray_like(np.zeros(X.shape[0], int), target.B) if n_iter is None else n_iter
    fallback = np.full(X.shape[0], "", dtype=object) if fallback is None else fallback
    return PreimageResult(X, n_iter, fallback, lambda: squared_error(X, target))


class Anchors:
    """The data of the anchors that methods use: their rows, and the values f(zᵢ) = ⟨φ(zᵢ), f⟩ of vectors f.

    Targets are combinations of the axes and the mean, whose values at the anchors are computed once.
    """

    def __init__(self, subspace: Subspace, rows: Array | None = None, sparse: bool = False) -> None:
        self.kernel, self.Z = subspace.kernel, subspace.Z
        self.rows = _rows(subspace, rows, sparse)
        self.basis = double(hstack(subspace.axes.B, subspace.mean.B))
        self.at_anchors = Expansion(self.kernel, in_float64(self.Z), self.basis)(in_float64(self.Z))

    @cached_property
    def inverse(self) -> Array:
        """The pseudo-inverse of the basis, which maps coefficients to coordinates."""
        return namespace(self.basis).linalg.pinv(self.basis)

    def values(self, target: Expansion) -> Array:
        """f_j(zᵢ): (p, m)."""
        B = double(target.B)
        M = self.inverse @ B
        if largest(abs(self.basis @ M - B)) <= IN_SPAN * largest(abs(B)):
            return M.T @ self.at_anchors.T
        return double(target(self.Z)).T

    def nearest(self, target: Expansion) -> Array:
        """For each vector the number of the anchor whose image is nearest: argmin k(z, z) − 2f(z)."""
        values = self.values(target)
        return namespace(values).argmin(double(self.kernel.diag(self.Z)) - 2 * values, axis=1)


def _rows(subspace: Subspace, rows: Array | None, sparse: bool) -> Array:
    """Return the rows of the anchors; sparse ones if the method can use them."""
    numbered = namespace(subspace.Z).isdtype(subspace.Z.dtype, "integral")
    if rows is not None:
        rows = asarray_like(rows, subspace.Z)
        return rows[subspace.Z[:, 0]] if numbered else rows
    if numbered:
        raise ValueError(
            "A precomputed kernel does not contain the rows that pre-images consist of. Use preimage=Smoother(rows=X) "
            "or Learned(rows=X) of mercer.preimage, where X are the rows from which the matrix was computed."
        )
    if hasattr(subspace.Z, "toarray") and not sparse:
        raise ValueError(
            "This pre-image method needs dense rows, and the model was fitted on sparse ones. Use preimage='smoother', "
            "which returns sparse rows, or fit on X.toarray()."
        )
    return subspace.Z


def check_radial(method: Any, kernel: Kernel) -> None:
    """Raise an error for a kernel that is not a function of the distance, and name a method that supports it."""
    if not isinstance(kernel, Radial):
        raise ValueError(
            f"{type(method).__name__} needs a radial kernel, and this model has {kernel!r}. "
            "Use preimage='gradient', which works for every differentiable kernel."
        )


def start(anchors: Anchors, target: Expansion, near: Array | None) -> Array:
    """Return the starting points: the anchor whose image is nearest, or ``near`` if its image is nearer."""
    X = cast(rows_of(anchors.rows, anchors.nearest(target)), target.B.dtype)
    if near is None:
        return X
    near = asarray_like(near, X, X.dtype)
    better = distances(target, near) < distances(target, X)
    return namespace(X).where(better[:, None], near, X)


def distances(target: Expansion, X: Array) -> Array:
    """k(x, x) − 2f(x): the squared distance to each vector, without ‖f‖²."""
    return double(target.kernel.diag(X)) - 2 * target.at(X)


def as_preimage(preimage: Any, kernel: Kernel) -> Any:
    """Return the pre-image method for a name; ``"auto"`` follows this table.

    ============================  =================================================
    linear kernel                 closed form
    radial kernel                 ``FixedPoint``, with the smoother as its fallback
    precomputed, or a function    ``Smoother``: it needs no derivative
    tables with categories        ``Vote``
    other objects                 ``NearestAnchor``
    any other                     ``Gradient``
    ============================  =================================================

    Parameters
    ----------
    preimage : str or method
        A name; a method is returned as it is.
    kernel : Kernel
        The kernel of the model.

    Returns
    -------
    method : method
        An instance.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear, Polynomial
    >>> from mercer.preimage import as_preimage
    >>> [type(as_preimage("auto", kernel)).__name__ for kernel in (RBF(1.0), Linear(), Polynomial(3))]
    ['FixedPoint', 'ClosedForm', 'Gradient']
    """
    from . import ClosedForm, FixedPoint, Gradient, NearestAnchor, Smoother, Vote

    if not isinstance(preimage, str):
        return preimage
    if preimage != "auto":
        if preimage in PREIMAGES:
            return PREIMAGES[preimage]()
        raise ValueError(
            f"Unknown pre-image method {preimage!r}. Give 'auto', one of {PREIMAGES.quoted()}, or an instance."
        )
    if kernel.rows == "objects":
        return NearestAnchor() if kernel.whole else Vote()
    if isinstance(kernel, Linear):
        return ClosedForm()
    if isinstance(kernel, Radial):
        return FixedPoint()
    return Gradient() if kernel.differentiable and not isinstance(kernel, Precomputed) else Smoother()


def bind_preimage(preimage: Any, subspace: Subspace) -> Nearest:
    """Return the function from vectors to points of a pre-image method (an instance or a name) for a subspace.

    ``"auto"`` uses the smoother for sparse rows. For arrays of other libraries than NumPy, it uses the smoother instead
    of methods that support only NumPy, such as the gradient.
    """
    from . import NearestAnchor, Smoother, Vote

    method = as_preimage(preimage, subspace.kernel)
    if is_objects(subspace.Z) and not isinstance(method, NearestAnchor | Vote):
        raise ValueError(f"{method!r} needs rows of numbers. Use preimage='nearest', or 'vote' for a table.")
    if hasattr(subspace.Z, "toarray") and isinstance(preimage, str) and preimage == "auto":
        method = Smoother()
    if is_foreign(subspace.Z) and not getattr(method, "portable", False):
        if preimage != "auto":
            raise ValueError(
                f"{method!r} works on NumPy arrays, and this model was fitted on those of {library(subspace.Z)}. Use "
                "preimage='fixed_point' or 'smoother', or fit on NumPy arrays."
            )
        method = Smoother()
    return method.bind(subspace)
