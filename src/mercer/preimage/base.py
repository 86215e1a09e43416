"""What a pre-image method is: settings whose ``bind(subspace)`` gives a function of expansions.

The function takes p vectors of the feature space and returns a ``PreimageResult``: p points whose images are near
them. ``near`` gives points to begin from, where there are any. A method sees vectors, not models. It is ``exact`` where
the image of a row comes back to that row, and not to one like it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..kernels import Kernel, Linear, Precomputed, Radial
from ..rkhs import Expansion

IN_SPAN = 1e-6  # of the size of the coefficients: a target that is a combination of the axes and the mean


@dataclass(frozen=True, eq=False)
class PreimageResult:
    """Points whose images are near given vectors, and how each was found.

    ``n_iter`` counts the iterations of each point, ``fallback`` names the method that took over where the one that was
    asked for failed ("" elsewhere). ``measure`` computes the error, when it is asked for.

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

    X: np.ndarray
    n_iter: np.ndarray
    fallback: np.ndarray
    measure: Callable[[], np.ndarray]

    @cached_property
    def error(self):
        """‖φ(x) − f‖² for each point and its vector: (p,)."""
        return self.measure()


def squared_error(X, target):
    """‖φ(x_j) − f_j‖²."""
    return np.maximum(distances(target, X) + target.sqnorms(), 0)


def found(X, target, n_iter=None, fallback=None):
    """The result of a method, which did not iterate unless it says so."""
    n_iter = np.zeros(len(X), int) if n_iter is None else n_iter
    fallback = np.full(len(X), "", dtype=object) if fallback is None else fallback
    return PreimageResult(X, n_iter, fallback, lambda: squared_error(X, target))


class Anchors:
    """What methods ask of the anchors: the rows behind them, and the values f(zᵢ) = ⟨φ(zᵢ), f⟩ of vectors there.

    Targets are combinations of the axes and the mean, whose values at the anchors are computed once.
    """

    def __init__(self, subspace, rows=None):
        self.kernel, self.Z = subspace.kernel, subspace.Z
        self.rows = _rows(subspace, rows)
        self.basis = np.hstack([subspace.axes.B, subspace.mean.B]).astype(float)
        self.at_anchors = Expansion(self.kernel, self.Z, self.basis)(self.Z)

    @cached_property
    def inverse(self):
        """From coefficients to coordinates: the pseudo-inverse of the basis."""
        return np.linalg.pinv(self.basis)

    def values(self, target):
        """f_j(zᵢ): (p, m)."""
        M = self.inverse @ target.B
        outside = self.basis @ M
        outside -= target.B
        if np.abs(outside, out=outside).max(initial=0.0) <= IN_SPAN * np.abs(target.B).max(initial=0.0):
            return M.T @ self.at_anchors.T
        return target(self.Z).T

    def nearest(self, target):
        """For each vector the number of the anchor whose image is nearest: argmin k(z, z) − 2f(z)."""
        return np.argmin(self.kernel.diag(self.Z) - 2 * self.values(target), axis=1)


def _rows(subspace, rows):
    """The anchors as points to return to."""
    if rows is not None:
        rows = np.asarray(rows)
        return rows[subspace.Z[:, 0]] if np.issubdtype(subspace.Z.dtype, np.integer) else rows
    if np.issubdtype(subspace.Z.dtype, np.integer):
        raise ValueError(
            "A precomputed kernel has no rows to return to. Use preimage=Smoother(rows=X) or Learned(rows=X) of "
            "mercer.preimage, with the rows behind the matrix."
        )
    if hasattr(subspace.Z, "toarray"):
        raise ValueError("Pre-images are not available for sparse rows. Fit on X.toarray().")
    return subspace.Z


def check_radial(method, kernel):
    """Refuse a kernel that is no function of the distance, and name the method that serves it."""
    if not isinstance(kernel, Radial):
        raise ValueError(
            f"{type(method).__name__} needs a radial kernel, and this model has {kernel!r}. "
            "Use preimage='gradient', which works for every differentiable kernel."
        )


def start(anchors, target, near):
    """Where to begin: at the anchor whose image is nearest, or at ``near`` where that is nearer still."""
    X = anchors.rows[anchors.nearest(target)].astype(target.B.dtype)
    if near is None:
        return X
    near = np.asarray(near, X.dtype)
    better = distances(target, near) < distances(target, X)
    return np.where(better[:, None], near, X)


def distances(target, X):
    """k(x, x) − 2f(x): the squared distance to each vector, but for its own square."""
    return np.asarray(target.kernel.diag(X), float) - 2 * target.at(X)


def as_preimage(preimage, kernel: Kernel) -> Any:
    """Return the method that a name stands for; ``"auto"`` by this table.

    ============================  =================================================
    linear kernel                 closed form
    radial kernel                 ``FixedPoint``, with the smoother as its fallback
    precomputed, or a function    ``Smoother``: it needs no derivative
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
    from . import METHODS, ClosedForm, FixedPoint, Gradient, Smoother

    if not isinstance(preimage, str):
        return preimage
    if preimage in METHODS:
        return METHODS[preimage]()
    if preimage != "auto":
        raise ValueError(f"{preimage!r} is no pre-image method. Give 'auto', {', '.join(map(repr, METHODS))}, or one.")
    if isinstance(kernel, Linear):
        return ClosedForm()
    if isinstance(kernel, Radial):
        return FixedPoint()
    return Gradient() if kernel.differentiable and not isinstance(kernel, Precomputed) else Smoother()
