"""The way back from coordinates to rows, written once for all models."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from .._core.dask import rowwise
from ..kernels import Precomputed
from ..preimage import LatentGrid, bind_preimage, grid, in_batches, line, walk
from . import validation


class Returning:
    """What a model with a subspace and a setting ``preimage`` does on the way back."""

    preimage: Any
    subspace_: Any
    kernel_: Any
    n_features_in_: int
    _lift: Any
    _project: Any
    _rows: Any

    def inverse_transform(self, Y):
        """Return rows whose images are near φ̄ + Uy: the pre-images of coordinates.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_components_)
            Coordinates, as ``transform`` gives them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows in the space of the data.
        """
        return self.preimages(Y).X

    def preimages(self, Y, near=None):
        """Return the pre-images of coordinates, with how well each came back.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_components_)
            Coordinates, as ``transform`` gives them.
        near : array-like of shape (n_samples, n_features), default=None
            Rows to begin from, for the methods that iterate.

        Returns
        -------
        result : PreimageResult
            ``X``, the rows; ``error``, ‖φ(x) − (φ̄ + Uy)‖² for each; ``n_iter``; ``fallback``, which rows another
            method had to find.
        """
        check_is_fitted(self)
        Y = check_array(Y, dtype=validation.dtypes(Y), input_name="Y", ensure_min_features=0)
        validation.check_home(self, "inverse_transform", Y, self.subspace_.axes.B)
        if Y.shape[1] != self._q_found:
            raise ValueError(f"Y has {Y.shape[1]} columns, and this model has {self._q_found} components.")
        if near is not None:
            near = check_array(near, dtype=validation.dtypes(near), input_name="near")
            validation.check_home(self, "preimages", near, self.subspace_.axes.B)
            if near.shape != (Y.shape[0], self.n_features_in_):
                raise ValueError(
                    f"near must have a row for each row of Y and a column for each feature, "
                    f"{(Y.shape[0], self.n_features_in_)}, and has the shape {near.shape}."
                )
        return self._found(self._lift, Y, near)

    @rowwise
    def denoise(self, X):
        """Return rows of the kind that the model knows, near the given ones: the pre-images of their projections.

        Where noise is strong, ``preimage=Compensated()`` of :mod:`mercer.preimage` undoes what it did to distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Noisy rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows whose images are nearest to the projections of φ(x) onto the subspace.
        """
        check_is_fitted(self)
        return self._denoised(self._rows(X)).X

    def interpolate(self, first, last, n_steps=10):
        """Walk from one row to another along the straight line between their coordinates.

        Parameters
        ----------
        first, last : array-like of shape (n_features,)
            Two rows.
        n_steps : int, default=10
            The number of rows to return, the two ends included.

        Returns
        -------
        X : ndarray of shape (n_steps, n_features)
            The pre-images of points on the line, each begun from the one before; the ends are those of the
            projections of the two rows.

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
        ends = check_array(
            np.stack([np.ravel(first), np.ravel(last)]), dtype=validation.DTYPES, input_name="the two rows"
        )
        if ends.shape[1] != self.n_features_in_:
            raise ValueError(f"The rows have {ends.shape[1]} columns, and this model has {self.n_features_in_}.")
        Y = self._project(ends)
        near = None if isinstance(self.kernel_, Precomputed) else ends[:1]
        return walk(self._preimages(), self._lift, line(Y[:1], Y[1:], n_steps), near)[:, 0]

    def latent_grid(self, components=(0, 1), n_steps=10, quantiles=(0.05, 0.95)):
        """Return what lies behind a grid over two components, the others held at their means.

        Parameters
        ----------
        components : pair of int, default=(0, 1)
            The two components.
        n_steps : int, default=10
            The number of steps along each.
        quantiles : pair of float, default=(0.05, 0.95)
            Where the ranges begin and end, as quantiles of the coordinates of ``anchors_``.

        Returns
        -------
        grid : LatentGrid
            ``X`` of shape (n_steps, n_steps, n_features), whose ``X[i, j]`` is the pre-image at (``first[j]``,
            ``second[i]``): as ``pcolormesh(first, second, …)`` draws it.

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
        if not all(0 <= j < self._q_found for j in components) or len({*components}) != 2:
            raise ValueError(
                f"components must be two different numbers below {self._q_found}, and {components} was given."
            )
        Y = self._project(self.subspace_.Z)
        first, second, blocks = grid(Y, components, n_steps, quantiles)
        return LatentGrid(walk(self._preimages(), self._lift, blocks), first, second)

    @property
    def _q_found(self):
        return self.subspace_.variances.shape[0]

    def _denoised(self, X):
        """The pre-images of the projections of rows, projected as the method asks for."""
        near = None if isinstance(self.kernel_, Precomputed) or hasattr(X, "toarray") else X
        project = getattr(self._preimages(), "project", None)
        if project is None:
            return self._found(self._lift, self._project(X), near)
        return self._found(self.subspace_.lift, project(X), near)

    def _found(self, lift, Y, near):
        return in_batches(self._preimages(), lift, Y, near, self.subspace_.Z.shape)

    def _preimages(self):
        """The bound pre-image method; made at its first use, because some have to be trained."""
        if not hasattr(self, "_nearest"):
            self._nearest = bind_preimage(self.preimage, self.subspace_)
        return self._nearest
