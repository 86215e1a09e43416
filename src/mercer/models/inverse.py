"""From coordinates back to samples: the methods that need pre-images, written once for all models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_is_fitted

from .._core.arrays import Array, is_objects
from .._core.dask import rowwise
from .._core.fields import Cache, Count, Maybe, Names
from ..kernels import Kernel, Precomputed
from ..preimage import LatentGrid, PreimageResult, bind_preimage, grid, in_batches, line, walk
from ..rkhs import Expansion, Subspace
from . import validation


class InverseMixin:
    """Mixin for models with a ``subspace_`` and a parameter ``preimage``.

    ``_project`` and ``_lift`` are the maps between samples, coordinates and feature space; ``_rows`` validates samples.
    """

    preimage: Any
    subspace_: Subspace
    kernel_: Kernel
    n_features_in_: Count
    feature_names_in_: Maybe[Names]
    _nearest: Cache
    _rows: Any

    def _project(self, X: Array) -> Array:
        """Return the coordinates of samples, as ``transform`` does."""
        return self.subspace_.project(X)

    def _lift(self, Y: Array) -> Expansion:
        """Return the vectors of the feature space with these coordinates."""
        return self.subspace_.lift(Y)

    @rowwise
    def inverse_transform(self, Y: Any) -> Array:
        """Return samples whose images in feature space are close to φ̄ + Uy: the pre-images of coordinates.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_components_)
            Coordinates, as returned by ``transform``.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Samples in the space of the data.
        """
        return self.preimages(Y).X

    def preimages(self, Y: Any, near: Any = None) -> PreimageResult:
        """Return the pre-images of coordinates, with the error of each.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_components_)
            Coordinates, as returned by ``transform``.
        near : array-like of shape (n_samples, n_features), default=None
            Samples from which iterative methods start.

        Returns
        -------
        result : PreimageResult
            ``X``, the samples; ``error``, ‖φ(x) − (φ̄ + Uy)‖² of each; ``n_iter``; ``fallback``, True where another
            method had to be used.
        """
        Y = self._check_coordinates(Y, "Y", "inverse_transform")
        if near is not None:
            near = self._rows(near) if is_objects(self.subspace_.Z) else self._check_near(near)
            validation.check_home(self, "preimages", near, self.subspace_.axes.B)
            if near.shape != (Y.shape[0], self.n_features_in_):
                shape = (Y.shape[0], self.n_features_in_)
                raise ValueError(f"near must have the shape (rows of Y, features) = {shape}, and has {near.shape}.")
        return self._found(self._lift, Y, near)

    def _check_near(self, near: Any) -> Array:
        return check_array(near, dtype=validation.dtypes(near), input_name="near")

    @rowwise
    def denoise(self, X: Any) -> Array:
        """Return denoised samples, the pre-images of the projections onto the subspace: (n_samples, n_features).

        For strong noise, ``preimage=Compensated()`` of :mod:`mercer.preimage` corrects its effect on distances.
        """
        return self._denoised(self._rows(X)).X

    def interpolate(self, first: Any, last: Any, n_steps: int = 10) -> np.ndarray:
        """Interpolate between two samples along the straight line between their coordinates.

        Parameters
        ----------
        first, last : array-like of shape (n_features,)
            Two samples.
        n_steps : int, default=10
            Number of samples to return, both ends included.

        Returns
        -------
        X : ndarray of shape (n_steps, n_features)
            Pre-images of the points on the line, each started from the one before. The ends are the pre-images of the
            projections of the two samples.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from mercer import KernelPCA
        >>> from mercer.kernels import RBF
        >>> X, _ = make_moons(100, random_state=0)
        >>> KernelPCA(8, kernel=RBF(2.0)).fit(X).interpolate(X[0], X[1], n_steps=5).shape
        (5, 2)
        """
        check_is_fitted(self)
        validation.check_numpy(self, "interpolate", self.subspace_.axes.B)
        if is_objects(self.subspace_.Z):
            ends = self._rows([first, last])
        else:
            one, other = (np.ravel(x.toarray() if issparse(x) else x) for x in (first, last))
            if len(one) != len(other):
                raise ValueError(f"first and last are one sample each, and have {len(one)} and {len(other)} values.")
            ends = check_array(np.stack([one, other]), dtype=validation.DTYPES, input_name="first and last")
        if ends.shape[1] != self.n_features_in_:
            raise ValueError(f"The samples have {ends.shape[1]} columns, and this model has {self.n_features_in_}.")
        Y = self._project(ends)
        near = None if isinstance(self.kernel_, Precomputed) else ends[:1]
        return walk(self._preimages(), self._lift, line(Y[:1], Y[1:], n_steps), near)[:, 0]

    def latent_grid(
        self, components: Sequence[int] = (0, 1), n_steps: int = 10, quantiles: Sequence[float] = (0.05, 0.95)
    ) -> LatentGrid:
        """Return the pre-images on a grid over two components, with the others at their means.

        Parameters
        ----------
        components : pair of int, default=(0, 1)
            The two components.
        n_steps : int, default=10
            Number of steps along each.
        quantiles : pair of float, default=(0.05, 0.95)
            Start and end of the grid, as quantiles of the coordinates of ``anchors_``.

        Returns
        -------
        grid : LatentGrid
            ``X`` of shape (n_steps, n_steps, n_features), with ``X[i, j]`` the pre-image at (``first[j]``,
            ``second[i]``), the order of ``pcolormesh(first, second, …)``.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from mercer import KernelPCA
        >>> X = load_digits().data[:200]
        >>> KernelPCA(5, kernel="rbf").set_params(kernel__gamma="median").fit(X).latent_grid(n_steps=3).X.shape
        (3, 3, 64)
        """
        check_is_fitted(self)
        validation.check_numpy(self, "latent_grid", self.subspace_.axes.B)
        q = self.subspace_.variances.shape[0]
        if not all(0 <= j < q for j in components) or len({*components}) != 2:
            raise ValueError(f"components must be two different numbers below {q}, and {components} was given.")
        first, second, blocks = grid(self._project(self.subspace_.Z), components, n_steps, quantiles)
        return LatentGrid(walk(self._preimages(), self._lift, blocks), first, second)

    def _check_coordinates(self, Y: Any, name: str, method: str) -> Array:
        """Return Y, an argument of this name, as an array with a column for each component."""
        check_is_fitted(self)
        validation.check_unmasked(Y)
        Y = check_array(Y, dtype=validation.dtypes(Y), input_name=name, ensure_min_features=0)
        validation.check_home(self, method, Y, self.subspace_.axes.B)
        q = self.subspace_.variances.shape[0]
        if Y.shape[1] != q:
            raise ValueError(f"{name} has {Y.shape[1]} columns, and this model has {q} components.")
        return Y

    def _denoised(self, X: Array) -> PreimageResult:
        """Return the pre-images of the projections of samples; a method may define its own projection."""
        near = None if isinstance(self.kernel_, Precomputed) or hasattr(X, "toarray") else X
        project = getattr(self._preimages(), "project", None)
        if project is None:
            return self._found(self._lift, self._project(X), near)
        return self._found(self.subspace_.lift, project(X), near)

    def _found(self, lift: Any, Y: Array, near: Array | None) -> PreimageResult:
        return in_batches(self._preimages(), lift, Y, near, self.subspace_.Z.shape)

    def _preimages(self) -> Any:
        """Return the pre-image method bound to the subspace; made at the first use, because some are trained."""
        if not hasattr(self, "_nearest"):
            self._nearest = bind_preimage(self.preimage, self.subspace_)
        return self._nearest
