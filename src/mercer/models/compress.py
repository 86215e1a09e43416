"""Fitted models made small: the same estimator on few anchors, without its training data."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from .._core.registry import stored
from ..preimage import reduce
from ..rkhs import Subspace
from . import validation


class Compressible(Protocol):
    """What ``compress`` needs of a fitted model; ``KernelTransformer`` has it for models of one subspace."""

    @property
    def _rho(self) -> float:
        """The variance in every direction outside the subspaces, 0 where the model has none."""

    def _subspaces(self) -> list[Subspace]:
        """Return the subspaces that the model consists of."""

    def _with_subspaces(self, subspaces: list[Subspace]) -> Any:
        """Return a copy of the fitted model with other subspaces."""


@stored("models.Compression")
@dataclass(frozen=True, eq=False)
class Compression:
    """What became of a model, against the one that was given: the fitted attribute ``compression_``.

    ``errors`` holds φ = ‖u − P_Z u‖² ≤ 1 of each axis, of one subspace after the other where a model has several. A
    coordinate along that axis moved by at most √(2φ)·‖φ(x) − φ̄‖, whatever x is. ``mean_errors`` holds ‖φ̄ − P_Zφ̄‖² of
    each mean, as a share of the variance around it. ``n_anchors_before`` and ``n_anchors`` count kernel evaluations for
    each row that is transformed, ``bytes_before`` and ``bytes`` all arrays of the model.
    """

    n_anchors_before: int
    n_anchors: int
    errors: np.ndarray
    mean_errors: np.ndarray
    bytes_before: int
    bytes: int

    @property
    def error(self):
        """The largest error of an axis or a mean: what ``tol`` bounds."""
        return float(max(self.errors.max(initial=0.0), self.mean_errors.max(initial=0.0)))

    @property
    def speedup(self):
        """How many times fewer kernel evaluations ``transform`` needs."""
        return self.n_anchors_before / max(self.n_anchors, 1)


def compress(model, n_anchors=None, *, tol=None, free=False, max_iter=200):
    """Return a copy of a fitted model on few anchors, without its training data.

    One set of anchors carries the mean and the axes of all parts of the model. Anchors are chosen greedily among those
    that the model has, each the one that lowers the sum of all errors φ = ‖u − P_Z u‖² most; coefficients are the best
    ones for all axes at once. Axes are made orthonormal again, each paired with its own, and variances are those that
    the model has along them, so that coordinates, reconstruction errors, densities and pre-images all go on working.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package. It is not changed.
    n_anchors : int, default=None
        How many anchors to keep at most: fewer where fewer span the same. Give this or ``tol``.
    tol : float, default=None
        Keep as few anchors, in the order they are chosen, as leave no axis and no mean an error above this number
        between 0 and 1.
    free : bool, default=False
        Whether anchors may then leave the rows they were chosen from and move to where the errors are least. That takes
        dense rows and a differentiable kernel, and more time; it leaves a third of the errors, or far less.
    max_iter : int, default=200
        How many steps the moving anchors take at most.

    Returns
    -------
    model : estimator
        A fitted estimator of the same class, whose ``compression_`` tells the error of each component, and the anchors
        and bytes before and after.

    Examples
    --------
    >>> from mercer import KernelPCA, compress, datasets
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters(0)
    >>> kpca = KernelPCA(4, kernel=RBF(gamma=2.0)).fit(X)
    >>> small = compress(kpca, 12)
    >>> small.transform(X).shape, small.anchors_.shape
    ((90, 4), (12, 2))
    >>> bool(small.compression_.error < 0.01)
    True
    """
    check_model(model)
    targets = reduce.Targets(model._subspaces())
    check_arguments(targets, n_anchors, tol, free, max_iter)
    if n_anchors == targets.Z.shape[0]:
        subspaces, errors = targets.whole(), np.zeros(len(targets.weights))
    else:
        basis = _chosen(targets, n_anchors, tol, free, max_iter)
        subspaces = [reduce.reduced(s, basis, model._rho) for s in model._subspaces()]
        errors = reduce.errors(targets.vectors, targets.weights, basis)
    small = model._with_subspaces(subspaces)
    small.compression_ = Compression(
        n_anchors_before=targets.Z.shape[0],
        n_anchors=subspaces[0].Z.shape[0],
        errors=np.delete(errors, targets.means),
        mean_errors=errors[targets.means],
        bytes_before=nbytes(model),
        bytes=nbytes(small),
    )
    return small


def _chosen(targets, n_anchors, tol, free, max_iter):
    """The basis of the anchors asked for."""
    f, weights, dtype = targets.vectors, targets.weights, targets.dtype
    least = max(1, *(len(s.axes) for s in targets.subspaces))  # orthonormal axes need as many points
    most = targets.Z.shape[0] if n_anchors is None else n_anchors
    rows = reduce.select(f, weights, most, tol=tol or 0.0, least=least, dtype=dtype)
    Z = targets.Z[rows]
    if free and tol is None:
        Z = reduce.move(f, weights, f.Z[rows], max_iter)
    elif free:
        Z = reduce.fewest(f, weights, rows, max_iter, tol=tol, least=least, dtype=dtype)
    return reduce.basis_on(targets.kernel, Z.astype(targets.Z.dtype), dtype)


def check_model(model):
    """Refuse what cannot be taken apart."""
    if not hasattr(model, "_with_subspaces"):
        raise TypeError(
            f"compress takes a fitted estimator of mercer, such as KernelPCA, and {type(model).__name__} was given."
        )
    check_is_fitted(model)


def check_arguments(targets, n_anchors, tol, free, max_iter):
    """Refuse arguments that say too little, too much or what no model can do."""
    if (n_anchors is None) == (tol is None):
        given = "neither was" if tol is None else "both were"
        raise ValueError(f"compress takes either n_anchors or tol, and {given} given.")
    if tol is not None and not (isinstance(tol, Real) and 0 < float(tol) < 1):
        raise ValueError(f"tol must be a number between 0 and 1, the largest error of an axis, and {tol!r} was given.")
    if not isinstance(max_iter, Integral) or max_iter < 1:
        raise ValueError(f"max_iter must be an integer ≥ 1, and {max_iter!r} was given.")
    if n_anchors is not None:
        check_number(targets, n_anchors)
    if free:
        check_free(targets)
    check_definite(targets)


def check_number(targets, n_anchors):
    """Refuse more anchors than there are, and fewer than orthonormal axes need."""
    points, axes = targets.Z.shape[0], max(len(s.axes) for s in targets.subspaces)
    if isinstance(n_anchors, bool) or not isinstance(n_anchors, Integral) or n_anchors < 1:
        raise ValueError(f"n_anchors must be an integer ≥ 1, and {n_anchors!r} was given.")
    if n_anchors > points:
        raise ValueError(f"n_anchors={n_anchors} is more than the {points} anchors that the model has.")
    if n_anchors < axes:
        raise ValueError(
            f"n_anchors={n_anchors} is too few for {axes} components: orthonormal axes need at least as many points. "
            f"Give n_anchors ≥ {axes}, or fit the model with fewer components."
        )


def check_free(targets):
    """Refuse to move what has no place to go to or no slope to go down."""
    kernel = targets.kernel
    if not kernel.differentiable:
        raise ValueError(f"free=True needs a kernel with a derivative, and {kernel!r} has none. Use free=False.")
    if issparse(targets.Z):
        raise ValueError("free=True needs dense rows, and this model has sparse ones. Use free=False.")


def check_definite(targets):
    """Refuse a geometry in which squares are negative: no error would mean anything."""
    mass = max(s.report.negative_mass for s in targets.subspaces)
    if mass > validation.NEGLIGIBLE_MASS:
        raise ValueError(
            f"compress needs a positive semi-definite kernel, and {mass:.1%} of this matrix's spectrum is negative: "
            "errors would not be distances. Use another kernel, or landmarks."
        )


def nbytes(thing):
    """The bytes of all arrays that an object holds, each counted once."""
    arrays: dict = {}
    _collect(thing, arrays, set())
    return int(sum(arrays.values()))


def _collect(thing, arrays, seen):
    if id(thing) in seen or isinstance(thing, str | bytes | type):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        owner = thing.base if isinstance(thing.base, np.ndarray) else thing  # a view keeps all of it alive
        arrays[id(owner)] = owner.nbytes
        return
    parts = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list | tuple | set) else ()
    for part in [*parts, *getattr(thing, "__dict__", {}).values()]:
        _collect(part, arrays, seen)
