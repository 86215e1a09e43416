"""The one abstract estimator: validation, fit, transform and inverse_transform, written once."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from .. import _checks
from ..gram import Dense
from ..kernels import NAMES, Precomputed, as_kernel
from ..landmarks import Landmarks
from ..preimage import PreimageResult, as_preimage, squared_error
from ..tiles import row_tiles
from .progress import CallbackSupportMixin, reported, with_callbacks

BATCHES = 4  # arrays of the size (points, anchors) that a pre-image method has alive at once
ACCURATE = 1e-6  # error of training coordinates that are read off the eigenvectors, relative to their size


class KernelTransformer(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A model whose fitted state is a ``Subspace``; a subclass says how it is found (``_find``)."""

    _doc_link_module = "mercer"
    kernel: Any
    center: Any
    preimage: Any
    random_state: Any
    solver: Any

    @abstractmethod
    def _find(self, kernel, X, gram, weights, rng):
        """Return the subspace: ``kernel`` is bound, ``weights`` sum to 1 or are None, ``gram`` may be None."""

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; for ``kernel="precomputed"`` the matrix k(xᵢ, xⱼ).
        y : None
            Not used; present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 counts as two rows, a row of weight 0 as none.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with _checks.unchanged_on_error(self), reported(self, X):
            self._fit(X, sample_weight)
        return self

    def _fit(self, X, sample_weight):
        """Fit, and return the coordinates of the training rows where the eigenvectors hold them, else None."""
        self._validate_params()
        kernel = as_kernel(self.kernel)
        X = _checks.check_rows(self, X, kernel, fit=True)
        weights, counted = _checks.check_weights(sample_weight, X)
        if isinstance(kernel, Precomputed):
            _checks.check_gram(X)
            kernel, points, gram = kernel.bind(X), counted[:, None], Dense(X[np.ix_(counted, counted)])
        else:
            points, gram = X if len(counted) == X.shape[0] else X[counted], None
            kernel = kernel.bind(points, weights, center=self.center)
        _checks.check_diagonal(kernel.diag(points), kernel)
        w = None if weights is None else weights / weights.sum()
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.subspace_ = self._find(kernel, points, gram, w, rng)
        self.kernel_ = kernel
        self.n_rows_ = float(len(counted) if weights is None else weights.sum())
        self.__dict__.pop("_nearest", None)  # what was learned from an earlier fit
        return self.subspace_.training_coordinates(w, ACCURATE) if len(counted) == X.shape[0] else None

    @with_callbacks
    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit the model and return the coordinates of the training rows; parameters as in ``fit``."""
        with _checks.unchanged_on_error(self), reported(self, X):
            Y = self._fit(X, sample_weight)
        return self.transform(X) if Y is None else Y

    def transform(self, X):
        """Return the coordinates y = Uᵀ(φ(x) − φ̄) of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; for ``kernel="precomputed"`` the matrix k(x, training rows).

        Returns
        -------
        Y : ndarray of shape (n_samples, n_components_)
            The coordinates along the principal axes.
        """
        check_is_fitted(self)
        X = self._rows(X)
        return self._finite(self.subspace_.project(X), X)

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
        Y = check_array(Y, dtype=_checks.DTYPES, input_name="Y", ensure_min_features=0)
        if Y.shape[1] != self.n_components_:
            raise ValueError(f"Y has {Y.shape[1]} columns, and this model has {self.n_components_} components.")
        near = None if near is None else check_array(near, dtype=_checks.DTYPES, input_name="near")
        nearest, lift = self._preimages(), self.subspace_.lift
        tiles = row_tiles(len(Y), BATCHES * self.subspace_.Z.shape[0])
        parts = [nearest(lift(Y[rows]), None if near is None else near[rows]) for rows in tiles]
        X, n_iter, fallback = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "n_iter", "fallback")
        )
        # lifted again where the error is asked for: the vectors of all rows would take more room than all else
        errors = lambda: np.concatenate([squared_error(X[rows], lift(Y[rows])) for rows in tiles])  # noqa: E731
        return PreimageResult(X, n_iter, fallback, errors)

    def denoise(self, X):
        """Return rows of the kind that the model knows, near the given ones: the pre-images of their projections.

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
        X = self._rows(X)
        rows = None if isinstance(self.kernel_, Precomputed) or hasattr(X, "toarray") else X
        return self.preimages(self.subspace_.project(X), near=rows).X

    def reconstruction_error(self, X):
        """Return r² = ‖φ(x) − its projection‖², the squared distance of each row to the subspace: (n_samples,).

        Large values tell rows that are unlike the training data (Hoffmann 2007; Zhou eq. 13).
        """
        check_is_fitted(self)
        X = self._rows(X)
        return self._finite(self.subspace_.split(X)[1], X)

    def score(self, X, y=None):
        """Return −mean r² / total variance: 0 is perfect, about −1 is no better than the mean.

        It serves to choose ``n_components`` at one kernel. It cannot choose the kernel: γ → 0 makes all rows equal in
        feature space, and always wins.
        """
        error = float(np.mean(self.reconstruction_error(X)))
        return -error / self.total_variance_ if self.total_variance_ > 0 else -error

    @property
    def _keeps_rows(self):
        """Whether the model keeps the rows, which the caller may change later, rather than a choice of them."""
        return not isinstance(self.solver, Landmarks) and self.solver != "landmarks"

    def _rows(self, X):
        return _checks.check_rows(self, X, self.kernel_)

    def _finite(self, values, X):
        """The values, or the word that the kernel overflows on these rows."""
        if not np.all(np.isfinite(values)):
            _checks.check_diagonal(self.kernel_.diag(X), self.kernel_)
        return values

    def _preimages(self):
        """The bound pre-image method; made at its first use, because some have to be trained."""
        if not hasattr(self, "_nearest"):
            self._nearest = as_preimage(self.preimage, self.kernel_).bind(self.subspace_)
        return self._nearest

    @property
    def n_components_(self):
        """The number of components found: at most the rank."""
        return len(self.subspace_.variances)

    @property
    def _n_features_out(self):
        return self.n_components_

    @property
    def anchors_(self):
        """The rows that the model keeps; row numbers for a precomputed kernel."""
        return self.subspace_.Z

    @property
    def solver_(self):
        """What was done to find the subspace, and how well."""
        return self.subspace_.report

    @property
    def total_variance_(self):
        """tr C, the variance in feature space, whether or not a component holds it."""
        return self.subspace_.total_variance

    @property
    def explained_variance_(self):
        """λ, the eigenvalues of the covariance in feature space."""
        return self.subspace_.variances

    @property
    def explained_variance_ratio_(self):
        """λ / tr C: true shares, which sum to less than 1 unless all components are kept."""
        return self.subspace_.variances / self.subspace_.total_variance

    @property
    def eigenvalues_(self):
        """n·λ, the eigenvalues of the centred kernel matrix, as in scikit-learn."""
        return self.n_rows_ * self.subspace_.variances

    def set_params(self, **params):
        """Set parameters; ``kernel__gamma`` works on a kernel given by name too."""
        if isinstance(self.kernel, str) and any(name.startswith("kernel__") for name in params):
            self.kernel = as_kernel(self.kernel)
        return super().set_params(**params)

    def __getstate__(self):
        state = super().__getstate__()
        state.pop("_nearest", None)  # made again when it is needed: it holds functions
        return state

    def __sklearn_is_fitted__(self):
        return hasattr(self, "subspace_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        if isinstance(self.kernel, str) and self.kernel not in NAMES:
            return tags  # fit will say so
        kernel = as_kernel(self.kernel)
        tags.input_tags.sparse = kernel.sparse
        tags.input_tags.pairwise = isinstance(kernel, Precomputed)
        tags.input_tags.positive_only = kernel.nonnegative
        return tags
