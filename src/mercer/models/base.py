"""The one abstract estimator: validation, fit and transform, written once."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import is_foreign, namespace
from .._core.dask import computed, is_lazy, rowwise
from .._core.registry import KERNELS
from .._core.sklearn import CallbackSupportMixin, reported, with_callbacks
from ..kernels import Precomputed, as_kernel
from ..rkhs.landmarks import chooses_basis
from . import diagnostics, validation
from .drawing import DrawsScores
from .inverse import Returning
from .kernel_parameter import Kernelled, bound_to

ACCURATE = 1e-6  # error of training coordinates that are read off the eigenvectors, relative to their size


class KernelTransformer(
    Kernelled,
    Returning,
    DrawsScores,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """A model whose fitted state is a ``Subspace``; a subclass says how it is found (``_find``)."""

    _doc_link_module = "mercer"
    _portable = False  # whether rows may be arrays of other libraries than NumPy, on their device
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
        with validation.unchanged_on_error(self), reported(self, X):
            self._fit(X, sample_weight)
        return self

    def _fit(self, X, sample_weight):
        """Fit, and return the coordinates of the training rows where the eigenvectors hold them, else None."""
        self._validate_params()
        kernel = as_kernel(self.kernel)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        if is_lazy(X):
            X, weights = validation.check_lazy_rows(self, X, kernel, sample_weight)
            return self._fit_lazy(kernel, X, weights, rng)
        X = validation.check_rows(self, X, kernel, fit=True)
        weights, counted = validation.check_weights(sample_weight, X)
        kernel, points, gram = bound_to(
            kernel, X, weights, counted, self.center, names=getattr(self, "feature_names_in_", None)
        )
        total = counted.shape[0] if weights is None else float(namespace(weights).sum(weights))
        w = None if weights is None else weights / total
        self.n_rows_ = float(total)
        self.subspace_ = self._find(kernel, points, gram, w, rng)
        diagnostics.warn_of_outside(self.subspace_.report)
        self.kernel_ = kernel
        self.__dict__.pop("_nearest", None)  # what was learned from an earlier fit
        self.__dict__.pop("compression_", None)
        return self._training_coordinates(w) if counted.shape[0] == X.shape[0] else None

    def _fit_lazy(self, kernel, X, weights, rng):
        """Fit on a Dask array, which stays where it is."""
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' takes a matrix in memory. Give the rows, and a kernel of them.")
        total = None if weights is None else float(computed(weights.sum()))
        self.n_rows_ = float(X.shape[0]) if total is None else total
        self.kernel_ = kernel.bind(X, weights, center=self.center)
        self.subspace_ = self._find(self.kernel_, X, None, None if total is None else weights / total, rng)
        self.__dict__.pop("_nearest", None)
        self.__dict__.pop("compression_", None)

    def _training_coordinates(self, w):
        """The coordinates of the rows of ``fit`` where the eigenvectors hold them, else None."""
        return self.subspace_.training_coordinates(w, ACCURATE)

    @with_callbacks
    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit the model and return the coordinates of the training rows; parameters as in ``fit``."""
        with validation.unchanged_on_error(self), reported(self, X):
            Y = self._fit(X, sample_weight)
        return self.transform(X) if Y is None else Y

    @rowwise
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
        X = self._rows(X, "transform")
        return self._finite(self._project(X), X)

    @rowwise
    def reconstruction_error(self, X):
        """Return r² = ‖φ(x) − its projection‖², the squared distance of each row to the subspace: (n_samples,).

        Large values tell rows that are unlike the training data (Hoffmann 2007; Zhou eq. 13).
        """
        check_is_fitted(self)
        X = self._rows(X, "reconstruction_error")
        return self._finite(self.subspace_.split(X)[1], X)

    def score(self, X, y=None):
        """Return −mean r² / total variance: 0 is perfect, about −1 is no better than the mean.

        It serves to choose ``n_components`` at one kernel. It cannot choose the kernel: γ → 0 makes all rows equal in
        feature space, and always wins.
        """
        error = self.reconstruction_error(X)
        error = float(computed(namespace(error).mean(error)))
        return -error / self.total_variance_ if self.total_variance_ > 0 else -error

    def _project(self, X):
        """Rows → what ``transform`` gives."""
        return self.subspace_.project(X)

    def _lift(self, Y):
        """What ``transform`` gives → vectors of the feature space."""
        return self.subspace_.lift(Y)

    @property
    def _keeps_rows(self):
        """Whether the model keeps the rows, which the caller may change later, rather than a choice of them."""
        return not chooses_basis(self.solver)

    def _rows(self, X, method="denoise"):
        X = validation.check_rows(self, X, self.kernel_)
        validation.check_home(self, method, X, self.subspace_.axes.B)
        return X

    def _finite(self, values, X):
        """The values, or the word that the kernel overflows on these rows."""
        xp = namespace(values)
        if not xp.all(xp.isfinite(values)):
            validation.check_diagonal(self.kernel_.diag(X), self.kernel_)
        return values

    @property
    def _rho(self):
        """The variance in every direction outside the subspace, of models that have any."""
        return 0.0

    def _subspaces(self):
        """The subspaces that the fitted model consists of."""
        return [self.subspace_]

    def _with_subspaces(self, subspaces):
        """A copy of the fitted model with other subspaces."""
        (subspace,) = subspaces
        return fitted_copy(self, subspace_=subspace, kernel_=subspace.kernel)

    @property
    def n_components_(self):
        """The number of components found: at most the rank."""
        return self.subspace_.variances.shape[0]

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

    def __getstate__(self):
        state = super().__getstate__()
        state.pop("_nearest", None)  # made again when it is needed: it holds functions
        return state

    def __sklearn_array_api_convert__(self, convert):
        """Return a copy whose arrays are what ``convert`` makes of them: how scikit-learn moves estimators."""
        if not hasattr(self, "subspace_"):
            return clone(self)
        subspace = self.subspace_.moved(convert)
        if is_foreign(subspace.axes.B):
            validation.check_portable(self, subspace.axes.B, self.kernel_)
        return fitted_copy(self, subspace_=subspace, kernel_=subspace.kernel)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "subspace_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        known = not isinstance(self.kernel, str) or self.kernel in KERNELS
        stays = self.solver not in ("lanczos", "em") and getattr(self.solver, "portable", True)
        tags.array_api_support = self._portable and known and as_kernel(self.kernel).portable and stays
        return tags


def fitted_copy(estimator, **changes):
    """A copy of a fitted estimator: parameters of its own, the same fitted attributes but for the changes."""
    copied, parameters = clone(estimator), estimator.get_params(deep=False)
    copied.__dict__.update({k: v for k, v in estimator.__dict__.items() if k not in {*parameters, "_nearest"}})
    copied.__dict__.update(changes)
    return copied
