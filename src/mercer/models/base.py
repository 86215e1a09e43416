"""The abstract base class of the transformers: ``fit`` and ``transform``, written once."""

from abc import abstractmethod
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, is_foreign, namespace
from .._core.batches import Source, as_source, is_source
from .._core.dask import computed, is_lazy, lazy_variance, mean, number_read, reading, rowwise
from .._core.fields import Maybe, NotNegative
from .._core.registry import KERNELS, SOLVERS
from .._core.sklearn import CallbackSupportMixin, with_callbacks
from ..kernels import Kernel, Precomputed, as_kernel
from ..linalg.eigenpairs import Report
from ..linalg.operators import Dense
from ..rkhs import Subspace
from ..rkhs.landmarks import chooses_basis, rows_for_fit
from ..rkhs.positive import given
from . import diagnostics, validation
from .drawing import ScorePlotMixin
from .inverse import InverseMixin
from .kernel_parameter import KernelParameterMixin, bound_to
from .parameters import generator

CACHES = ("_nearest", "_density", "_data")  # computed again when needed; not copied and not saved
ACCURATE = 1e-6  # relative error up to which training coordinates are computed from the eigenvectors


class KernelTransformer(
    KernelParameterMixin,
    InverseMixin,
    ScorePlotMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Base class of models whose fitted state is a ``Subspace``; a subclass defines how it is found (``_find``)."""

    _doc_link_module = "mercer"
    _portable = False  # whether X may be an array of another library than NumPy
    center: Any
    random_state: Any
    solver: Any
    n_rows_: NotNegative
    compression_: Maybe[Any]

    def _check_parts(self) -> None:
        """Raise an error if a model from a file does not have the number of features that it states."""
        validation.check_features(self, self._subspaces())

    @abstractmethod
    def _find(self, kernel: Kernel, X: Any, gram: Dense | None, weights: Any, rng: np.random.Generator) -> Subspace:
        """Return the subspace; ``kernel`` is bound, ``weights`` sum to 1 or are None."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples; for ``kernel="precomputed"`` the matrix k(xᵢ, xⱼ). With landmarks also a Dask collection,
            or anything that yields batches: an iterator of arrays or frames, an Arrow data set or record batch reader,
            a polars LazyFrame, the path of Parquet files.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights: a sample of weight 2 counts like two equal samples, one of weight 0 is ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with validation.fitting(self, X):
            self._fit(X, sample_weight)
        return self

    def _fit(self, X: Any, sample_weight: Any) -> Array | None:
        """Fit the model; return the coordinates of the training samples if the eigenvectors give them, else None."""
        kernel, rng = as_kernel(self.kernel), generator(self.random_state)
        if is_source(X):
            self._fit_batches(kernel, cast(Source, as_source(X)), sample_weight, rng)
            return None
        if is_lazy(X):
            self._fit_collection(kernel, X, sample_weight, rng)
            return None
        X = validation.check_rows(self, X, kernel, fit=True, copy=self._keeps_rows)
        weights, counted = validation.check_weights(sample_weight, X)
        names = getattr(self, "feature_names_in_", None)
        policy = getattr(self, "indefinite", "clip")
        kernel, points, gram = bound_to(kernel, X, weights, counted, self.center, names, policy)
        self.n_rows_ = float(counted.shape[0] if weights is None else namespace(weights).sum(weights))
        w = None if weights is None else weights / self.n_rows_
        self.subspace_ = self._find(kernel, points, gram, w, rng)
        diagnostics.warn_of_outside(self.subspace_.report)
        self.kernel_ = given(kernel)
        return self._training_coordinates(w) if counted.shape[0] == X.shape[0] else None

    def _fit_batches(self, kernel: Kernel, source: Source, sample_weight: Any, rng: np.random.Generator) -> None:
        """Fit the model on batches; only models that can be computed from sums over rows support this."""
        validation.check_in_memory(source.read())

    def _fit_collection(self, kernel: Kernel, X: Any, sample_weight: Any, rng: np.random.Generator) -> None:
        """Fit the model on a Dask collection."""
        X, weights = validation.check_lazy_rows(self, X, sample_weight, kernel=kernel)
        self._fit_lazy(kernel, X, weights, rng)

    def _fit_lazy(self, kernel: Kernel, X: Any, weights: Any, rng: np.random.Generator) -> None:
        """Fit the model on a Dask array, which is not loaded into memory."""
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' takes a matrix in memory. Give the samples and another kernel.")
        numbers = {"variance": lazy_variance(X, weights)} if getattr(kernel, "gamma", None) == "scale" else {}
        numbers |= {"least": X.min()} if kernel.nonnegative else {}
        with reading(X, rows_for_fit(X.shape[0], self.solver, getattr(self, "_most", None), rng), **numbers):
            if (number_read(X, "least") or 0) < 0:
                raise ValueError(f"Negative values in data passed to {type(self).__name__} with {kernel!r}.")
            self.n_rows_ = float(X.shape[0] if weights is None else computed(weights.sum()))
            self.kernel_ = kernel.on(getattr(self, "feature_names_in_", None)).bind(X, weights, center=self.center)
            w = None if weights is None else weights / self.n_rows_
            self.subspace_ = self._find(self.kernel_, X, None, w, rng)

    def _training_coordinates(self, w: Array | None) -> Array | None:
        """Return the coordinates of the training samples if the eigenvectors give them, else None."""
        return self.subspace_.training_coordinates(w, ACCURATE)

    @with_callbacks
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit the model and return the coordinates of the training samples; parameters as in ``fit``."""
        if is_source(X) and cast(Source, as_source(X)).once:
            raise ValueError("fit_transform reads its samples twice, and this source can be read once. Use fit.")
        with validation.fitting(self, X):
            Y = self._fit(X, sample_weight)
        return self.transform(X) if Y is None else Y

    @rowwise
    def transform(self, X: Any) -> Array:
        """Return the coordinates y = Uᵀ(φ(x) − φ̄) of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for ``kernel="precomputed"`` the matrix k(x, training samples).

        Returns
        -------
        Y : ndarray of shape (n_samples, n_components_)
            The coordinates along the principal axes.
        """
        X = self._rows(X, "transform")
        return self._finite(self._project(X), X)

    @rowwise
    def reconstruction_error(self, X: Any) -> Array:
        """Return r² = ‖φ(x) − its projection‖², the squared distance of each sample to the subspace: (n_samples,).

        Samples unlike the training data have large values (Hoffmann 2007; Zhou eq. 13).
        """
        X = self._rows(X, "reconstruction_error")
        return self._finite(self.subspace_.split(X)[1], X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return −mean r² / total variance: 0 is perfect, about −1 is no better than the mean.

        Use it to choose ``n_components`` for a given kernel, but not to choose the kernel: with γ → 0 all samples
        become equal in feature space, and the score becomes perfect.
        """
        error = mean(self.reconstruction_error(X))
        return -error / self.total_variance_ if self.total_variance_ > 0 else -error

    @property
    def _keeps_rows(self) -> bool:
        """Whether the model keeps the training samples, so that ``fit`` has to copy them."""
        return not chooses_basis(self.solver)

    def _rows(self, X: Any, method: str = "denoise") -> Array:
        """Return validated samples for a method of the fitted model."""
        check_is_fitted(self)
        X = validation.check_rows(self, X, self.kernel_)
        validation.check_home(self, method, X, self.subspace_.axes.B)
        return X

    def _finite(self, values: Array, X: Array) -> Array:
        """Return the values; raise an error if the kernel overflows on the samples."""
        xp = namespace(values)
        if not xp.all(xp.isfinite(values)):
            validation.check_diagonal(X, self.kernel_)
        return values

    @property
    def _rho(self) -> float:
        """The noise variance outside the subspace; 0 for models without one (see :mod:`mercer.models.compress`)."""
        return 0.0

    def _subspaces(self) -> list[Subspace]:
        return [self.subspace_]

    def _with_subspaces(self, subspaces: list[Subspace]) -> Any:
        (subspace,) = subspaces
        return fitted_copy(self, subspace_=subspace, kernel_=given(subspace.kernel))

    @property
    def n_components_(self) -> int:
        """The number of components found, at most the numerical rank."""
        return self.subspace_.variances.shape[0]

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def anchors_(self) -> Array:
        """The samples that the axes are expanded on; row numbers for a precomputed kernel."""
        return self.subspace_.Z

    @property
    def solver_(self) -> Report:
        """The solver that was used, its passes over the matrix and its residual."""
        return self.subspace_.report

    @property
    def total_variance_(self) -> float:
        """tr C, the total variance in feature space."""
        return self.subspace_.total_variance

    @property
    def explained_variance_(self) -> Array:
        """λ, the eigenvalues of the covariance in feature space."""
        return self.subspace_.variances

    @property
    def explained_variance_ratio_(self) -> Array:
        """λ / tr C; the sum is less than 1 unless all components are kept."""
        return self.subspace_.variances / self.subspace_.total_variance

    @property
    def eigenvalues_(self) -> Array:
        """n·λ, the eigenvalues of the centred kernel matrix, as in scikit-learn."""
        return self.n_rows_ * self.subspace_.variances

    def __getstate__(self) -> dict:
        return {name: value for name, value in super().__getstate__().items() if name not in CACHES}

    def __sklearn_array_api_convert__(self, convert: Any) -> Any:
        """Return a copy with all arrays converted by ``convert``; called by scikit-learn to move estimators."""
        if not hasattr(self, "subspace_"):
            return clone(self)
        subspace = self.subspace_.moved(convert)
        if is_foreign(subspace.axes.B):
            validation.check_portable(self, subspace.axes.B, self.kernel_)
        return fitted_copy(self, subspace_=subspace, kernel_=given(subspace.kernel))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "subspace_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        known = not isinstance(self.kernel, str) or self.kernel in KERNELS
        portable = self._portable and known and as_kernel(self.kernel).portable
        tags.array_api_support = portable and _is_portable(self.solver)
        return tags


def _is_portable(solver: Any) -> bool:
    """Return True if a solver, or the registered solver of this name, accepts arrays of other libraries than NumPy."""
    if isinstance(solver, str) and solver != "auto":
        solver = SOLVERS.get(solver)
    return getattr(solver, "portable", solver is not None)


def fitted_copy(estimator: Any, **changes: Any) -> Any:
    """Return a copy of a fitted estimator with its own parameters and the same attributes, except for ``changes``."""
    copied, parameters = clone(estimator), estimator.get_params(deep=False)
    copied.__dict__.update({k: v for k, v in estimator.__dict__.items() if k not in {*parameters, *CACHES}})
    copied.__dict__.update(changes)
    return copied
