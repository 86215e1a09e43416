"""Reduced sets for each axis: every component as a sum over a few points of its own."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.registry import stored
from ..preimage import reduce
from ..rkhs import Expansion, Subspace
from .compress import check_kernel, check_model
from .parameters import check_count


@stored("models.ReducedAxes")
@dataclass(frozen=True, eq=False)
class ReducedAxes:
    """Axes û_k = Σ_g b_kg φ(z_kg), each with points of its own, and their ``errors`` = ‖u_k − û_k‖² (slides 24).

    ``constants`` are ⟨û_k, φ̄⟩, so that no training data are needed. The axes are not orthonormal: coordinates are
    defined, distances to the subspace are not (see :func:`mercer.compress` for these).
    """

    axes: list[Expansion]
    constants: np.ndarray
    errors: np.ndarray

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates Σ_g b_kg k(z_kg, x) − c_k of each sample: (n_samples, n_components)."""
        X = np.asarray(X)
        return np.column_stack([axis(X) for axis in self.axes]) - self.constants

    @property
    def points(self) -> list[np.ndarray]:
        """The points of each axis."""
        return [axis.Z for axis in self.axes]


def reduce_axes(model: Any, n_points: int, *, free: bool = True, max_iter: int = 200) -> ReducedAxes:
    """Approximate every component of a fitted model by a sum over a few points of its own.

    The points of an axis are selected greedily among the anchors and, with ``free``, moved to a local minimum of ‖u −
    P_Z u‖², the squared distance of the axis u to the span of its points Z. :func:`mercer.compress` uses one set of
    points for all axes and the mean instead: q axes then need q times fewer points, and distances and densities stay
    defined.

    Parameters
    ----------
    model : estimator
        A fitted model of one subspace, such as :class:`KernelPCA`.
    n_points : int
        Number of points of each axis.
    free : bool, default=True
        Whether to move the points after the selection; the kernel must be differentiable, and the rows dense.
    max_iter : int, default=200
        Maximum number of optimisation steps for each axis.

    Returns
    -------
    axes : ReducedAxes
        ``transform``, ``points``, ``constants`` and the ``errors`` of the axes.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, reduce_axes
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters(0)
    >>> kpca = KernelPCA(4, kernel=RBF(gamma=2.0)).fit(X)
    >>> few = reduce_axes(kpca, 6)
    >>> few.transform(X).shape
    (90, 4)
    >>> print(f"{few.errors.max():.0e}")  # the largest error of an axis
    2e-04
    """
    subspaces = check_model(model)._subspaces()
    if len(subspaces) != 1:
        raise ValueError(f"reduce_axes takes a model of one subspace, and {type(model).__name__} has {len(subspaces)}.")
    check_count("n_points", n_points)
    check_count("max_iter", max_iter)
    check_kernel(reduce.Targets(subspaces), free)
    (subspace,) = subspaces
    parts = [_axis(subspace, k, n_points, max_iter if free else 0) for k in range(len(subspace.axes))]
    constants = [float(axis.inner(_on(subspace, subspace.mean.B))[0, 0]) for axis, _ in parts]
    return ReducedAxes([axis for axis, _ in parts], np.array(constants), np.array([error for _, error in parts]))


def _on(subspace: Subspace, B: np.ndarray) -> Expansion:
    """Return vectors on the anchors, in double precision."""
    return Expansion(subspace.kernel, subspace.Z.astype(float, copy=False), B.astype(float))


def _axis(subspace: Subspace, k: int, n_points: int, max_iter: int) -> tuple[Expansion, float]:
    """Return one axis on a few points, b = K_zz⁻¹u(z), and ‖u − û‖²; the points are moved in ``max_iter`` steps."""
    u, one = _on(subspace, subspace.axes.B[:, k : k + 1]), np.ones(1)
    Z = u.Z[reduce.select(u, one, min(n_points, u.Z.shape[0]))]
    if max_iter:
        Z = reduce.move(u, one, Z, max_iter)
    basis = reduce.basis_on(subspace.kernel, Z)
    axis = Expansion(subspace.kernel, basis.Z, basis.R @ basis.of_vectors(u))
    return axis, float(reduce.errors(u, one, basis)[0])
