"""Compression of fitted models: the same estimator on few anchors, without its training data."""

from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, Protocol, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from .._core.fields import Numbers
from .._core.registry import stored
from ..preimage import reduce
from ..rkhs import Basis, Subspace
from . import validation
from .parameters import check_count


class Compressible(Protocol):
    """The methods that :func:`compress` needs of a fitted model; ``KernelTransformer`` has them for models of one
    subspace."""

    @property
    def _rho(self) -> float:
        """The noise variance in every direction outside the subspaces; 0 for models without one."""

    def _subspaces(self) -> list[Subspace]:
        """Return the subspaces that the model consists of."""

    def _with_subspaces(self, subspaces: list[Subspace]) -> Any:
        """Return a copy of the model with these subspaces in place of its own."""


Model = TypeVar("Model")
NEEDED = ("_rho", "_subspaces", "_with_subspaces")  # the members of the protocol


@stored("models.Compression")
@dataclass(frozen=True, eq=False)
class Compression:
    """The result of a compression, compared with the original model: the fitted attribute ``compression_``.

    ``errors`` holds φ = ‖u − P_Z u‖² ≤ 1 of each axis u, subspace by subspace, where P_Z is the projection onto the
    span of the new anchors Z. A coordinate along that axis changes by at most √(2φ)·‖φ(x) − φ̄‖ for any x.
    ``mean_errors`` holds ‖φ̄ − P_Zφ̄‖² of each mean, relative to the variance around it. ``n_anchors_before`` and
    ``n_anchors`` are the numbers of kernel evaluations for each sample to be transformed, ``bytes_before`` and
    ``bytes`` the sizes of all arrays of the model.
    """

    n_anchors_before: int
    n_anchors: int
    errors: Annotated[np.ndarray, Numbers("a")]
    mean_errors: Annotated[np.ndarray, Numbers("s")]
    bytes_before: int
    bytes: int

    @property
    def error(self) -> float:
        """The largest error of an axis or a mean, which ``tol`` bounds."""
        return float(max(self.errors.max(initial=0.0), self.mean_errors.max(initial=0.0)))

    @property
    def speedup(self) -> float:
        """The factor by which ``transform`` needs fewer kernel evaluations."""
        return self.n_anchors_before / max(self.n_anchors, 1)


def compress(
    model: Model, n_anchors: int | None = None, *, tol: float | None = None, free: bool = False, max_iter: int = 200
) -> Model:
    """Return a copy of a fitted model on few anchors, without its training data.

    The mean and the axes of all parts of the model are expanded on one set of anchors. These are selected greedily
    among the anchors of the model: each step adds the anchor that reduces the sum of all errors φ = ‖u − P_Z u‖² most,
    where u is an axis and P_Z the projection onto the span of the selected anchors Z. Coefficients are optimal for all
    axes at once. Axes are orthonormalised again and matched to the original ones, and their variances are those of the
    model along the new axes. Coordinates, reconstruction errors, densities and pre-images therefore remain available.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package. It is not changed.
    n_anchors : int, default=None
        Maximum number of anchors; fewer are kept if they span the same space. Give either this or ``tol``.
    tol : float, default=None
        Keep as few of the selected anchors as possible such that no axis and no mean has an error above this number
        between 0 and 1.
    free : bool, default=False
        Whether to optimise the positions of the anchors after the selection. This needs dense data, a differentiable
        kernel and more time; it reduces the errors to a third or less.
    max_iter : int, default=200
        Maximum number of optimisation steps with ``free=True``.

    Returns
    -------
    model : estimator
        A fitted estimator of the same class. Its ``compression_`` has the error of each component, and the numbers of
        anchors and bytes before and after.

    Examples
    --------
    >>> from mercer import KernelPCA, compress, datasets
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters(0)
    >>> kpca = KernelPCA(4, kernel=RBF(gamma=2.0)).fit(X)
    >>> small = compress(kpca, 12)
    >>> small.transform(X).shape, small.anchors_.shape
    ((90, 4), (12, 2))
    >>> print(f"{small.compression_.error:.4f}")  # relative, of the axes
    0.0009
    """
    fitted = check_model(model)
    targets = reduce.Targets(fitted._subspaces())
    check_arguments(targets, n_anchors, tol, free, max_iter)
    if n_anchors == targets.Z.shape[0]:
        subspaces, errors = targets.whole(), np.zeros(len(targets.weights))
    else:
        basis = _chosen(targets, n_anchors, tol, free, max_iter)
        subspaces = [reduce.reduced(s, basis, fitted._rho) for s in fitted._subspaces()]
        errors = reduce.errors(targets.vectors, targets.weights, basis)
    small = fitted._with_subspaces(subspaces)
    small.compression_ = Compression(
        n_anchors_before=targets.Z.shape[0],
        n_anchors=subspaces[0].Z.shape[0],
        errors=np.delete(errors, targets.means),
        mean_errors=errors[targets.means],
        bytes_before=nbytes(model),
        bytes=nbytes(small),
    )
    return small


def _chosen(targets: Any, n_anchors: int | None, tol: float | None, free: bool, max_iter: int) -> Basis:
    """Return the basis on the anchors to keep."""
    f, weights, dtype = targets.vectors, targets.weights, targets.dtype
    least = max(1, *(len(s.axes) for s in targets.subspaces))  # orthonormal axes need as many points
    most = targets.Z.shape[0] if n_anchors is None else n_anchors
    rows = reduce.select(f, weights, most, tol=tol or 0.0, least=least, dtype=dtype)
    Z = targets.Z[rows]
    if free and tol is None:
        Z = reduce.move(f, weights, f.Z[rows], max_iter)
    elif free and tol is not None:
        Z = reduce.fewest(f, weights, rows, max_iter, tol=tol, least=least, dtype=dtype)
    return reduce.basis_on(targets.kernel, Z.astype(targets.Z.dtype), dtype)


def check_model(model: Any) -> Compressible:
    """Return the model; raise an error if it is not fitted or cannot be compressed."""
    missing = [name for name in NEEDED if not hasattr(type(model), name)]
    if missing:
        raise TypeError(
            f"compress takes a fitted estimator of mercer, such as KernelPCA, and {type(model).__name__} was given, "
            f"which has no {', '.join(missing)} (the protocol mercer.models.compress.Compressible)."
        )
    check_is_fitted(model)
    return model


def check_arguments(targets: Any, n_anchors: Any, tol: Any, free: bool, max_iter: Any) -> None:
    """Raise an error for arguments that are invalid, or impossible for this model."""
    if (n_anchors is None) == (tol is None):
        given = "neither was" if tol is None else "both were"
        raise ValueError(f"compress takes either n_anchors or tol, and {given} given.")
    if tol is not None and not (isinstance(tol, Real) and 0 < float(tol) < 1):
        raise ValueError(f"tol must be a number between 0 and 1, the largest error of an axis, and {tol!r} was given.")
    check_count("max_iter", max_iter)
    if n_anchors is not None:
        check_number(targets, n_anchors)
    check_kernel(targets, free)


def check_number(targets: Any, n_anchors: Any) -> None:
    """Raise an error for more anchors than there are, or fewer than orthonormal axes need."""
    points, axes = targets.Z.shape[0], max(len(s.axes) for s in targets.subspaces)
    check_count("n_anchors", n_anchors)
    if n_anchors > points:
        raise ValueError(f"n_anchors={n_anchors} is more than the {points} anchors that the model has.")
    if n_anchors < axes:
        raise ValueError(
            f"n_anchors={n_anchors} is too few for {axes} components: orthonormal axes need at least as many points. "
            f"Give n_anchors ≥ {axes}, or fit the model with fewer components."
        )


def check_kernel(targets: Any, free: bool) -> None:
    """Raise an error if the anchors cannot be optimised, or the kernel is indefinite."""
    if free and not targets.kernel.differentiable:
        raise ValueError(f"free=True needs a kernel with a derivative, not {targets.kernel!r}. Use free=False.")
    if free and issparse(targets.Z):
        raise ValueError("free=True needs dense rows, and this model has sparse ones. Use free=False.")
    mass = max(s.report.negative_mass for s in targets.subspaces)
    if mass > validation.NEGLIGIBLE_MASS:
        raise ValueError(
            f"compress needs a positive semi-definite kernel, and {mass:.1%} of this matrix's spectrum is negative: "
            "errors would not be distances. Use another kernel, or landmarks."
        )


def nbytes(thing: Any) -> int:
    """Return the size in bytes of all arrays that an object holds, each counted once."""
    arrays: dict = {}
    _collect(thing, arrays, set())
    return int(sum(arrays.values()))


def _collect(thing: Any, arrays: dict, seen: set) -> None:
    if id(thing) in seen or isinstance(thing, str | bytes | type):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        owner = thing.base if isinstance(thing.base, np.ndarray) else thing  # a view keeps the whole array in memory
        arrays[id(owner)] = owner.nbytes
        return
    parts = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list | tuple | set) else ()
    for part in [*parts, *getattr(thing, "__dict__", {}).values()]:
        _collect(part, arrays, seen)
