"""A drop-in replacement for scikit-learn's ``KernelPCA``: only the import changes."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.dense import SMALL
from .._core.fields import Count, Maybe, Names, Numbers
from .._core.registry import stored
from .._core.sklearn import Interval, StrOptions
from ..kernels import RBF, Cosine, FromFunction, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from ..linalg.eigenpairs import choose
from ..linalg.operators import Dense
from ..linalg.solvers.davidson import Davidson
from ..linalg.solvers.exact import Exact
from ..linalg.solvers.lanczos import Lanczos
from ..linalg.solvers.randomized import Randomized
from ..preimage.learned import ridge
from ..rkhs import Subspace, principal_subspace
from . import validation
from .kernel_parameter import takes_objects
from .parameters import AT_LEAST_0, AT_LEAST_1, NOT_NEGATIVE, constraints, generator

ZERO = 1e-12  # relative to λ₁: smaller eigenvalues are set to zero, as scikit-learn does in double precision
FINE = 1e-10  # residual that gives eigenvalues to the last digit
NEGATIVE = 1e-5  # relative to λ₁: larger negative eigenvalues are an error in scikit-learn


@stored("dropin.KernelPCA")
@dataclass(eq=False, repr=False)
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Kernel PCA with exactly the parameters, attributes and errors of ``sklearn.decomposition.KernelPCA``.

    See scikit-learn's documentation for the parameters. There are few differences: the kernel matrix is stored only if
    it is needed, eigenpairs are checked, signs do not depend on rounding, ``eigen_solver`` selects a solver of this
    package with the same accuracy, and ``n_jobs`` and ``copy_X`` have no effect (threads are those of BLAS; the
    caller's arrays are never modified).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.dropin import KernelPCA
    >>> KernelPCA(2, kernel="rbf", gamma=0.1).fit_transform(load_iris().data).shape
    (150, 2)
    """

    n_components: int | None = None
    _: KW_ONLY
    kernel: str | Callable = "linear"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    kernel_params: dict | None = None
    alpha: float = 1.0
    fit_inverse_transform: bool = False
    eigen_solver: str = "auto"
    tol: float = 0
    max_iter: int | None = None
    iterated_power: int | str = "auto"
    remove_zero_eig: bool = False
    random_state: Any = None
    copy_X: bool = True
    n_jobs: int | None = None

    n_features_in_: Count = field(init=False)
    feature_names_in_: Maybe[Names] = field(init=False)
    gamma_: float = field(init=False)
    _subspace: Subspace = field(init=False)
    eigenvalues_: Annotated[np.ndarray, Numbers("q")] = field(init=False)
    eigenvectors_: Annotated[np.ndarray, Numbers("n", "q")] = field(init=False)
    X_fit_: Annotated[Any, Numbers("n", "n_features_in_", sparse=True)] = field(init=False)
    X_transformed_fit_: Maybe[Annotated[np.ndarray, Numbers("n", "q")]] = field(init=False)
    dual_coef_: Maybe[Annotated[np.ndarray, Numbers("n", "n_features_in_")]] = field(init=False)
    _parameter_constraints = constraints(
        *("tol", "random_state"),
        n_components=[AT_LEAST_1, None],
        kernel=[StrOptions({"linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"}), callable],
        gamma=[NOT_NEGATIVE, None],
        degree=[NOT_NEGATIVE],
        coef0=[Interval(Real, None, None, closed="neither")],
        kernel_params=[dict, None],
        alpha=[NOT_NEGATIVE],
        fit_inverse_transform=["boolean"],
        eigen_solver=[StrOptions({"auto", "dense", "arpack", "randomized"})],
        max_iter=[AT_LEAST_1, None],
        iterated_power=[AT_LEAST_0, StrOptions({"auto"})],
        remove_zero_eig=["boolean"],
        copy_X=["boolean"],
        n_jobs=[None, Integral],
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model; ``y`` is ignored."""
        with validation.fitting(self, X):
            self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> np.ndarray:
        """Fit the model and return the coordinates of the training samples."""
        self.fit(X, **params)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of each sample: (n_samples, n_components)."""
        check_is_fitted(self)
        validation.check_unmasked(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=validation.DTYPES, reset=False)
        validation.check_cells(X, getattr(self, "feature_names_in_", None))
        return _padded(self._subspace.project(X), self.eigenvalues_.shape[0])

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return samples for coordinates, by the ridge regression of ``fit_inverse_transform=True``."""
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available."
            )
        check_is_fitted(self)
        validation.check_unmasked(X)
        return self._kernel()(np.asarray(X), self.X_transformed_fit_) @ self.dual_coef_

    def _fit(self, X: Any) -> None:
        if self.fit_inverse_transform and isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        if takes_objects(self):
            raise ValueError("mercer.dropin.KernelPCA takes numbers, as scikit-learn's does. Use mercer.KernelPCA.")
        validation.check_unmasked(X)
        sparse = False if self.fit_inverse_transform else "csr"
        X = validate_data(self, X, accept_sparse=sparse, dtype=validation.DTYPES, copy=True)
        validation.check_cells(X, getattr(self, "feature_names_in_", None))
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else self.gamma
        self._subspace = self._principal_subspace(X)
        self._set_eigenpairs(X.shape[0])
        self.X_fit_ = X
        if self.fit_inverse_transform:
            self.X_transformed_fit_ = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
            self.dual_coef_ = ridge(self._kernel(), self.X_transformed_fit_, X, self.alpha)

    def _principal_subspace(self, X: Any) -> Subspace:
        kernel, points, gram = self._kernel().bind(X), X, None
        if isinstance(kernel, Precomputed):
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
                )
            points, gram = np.arange(len(X))[:, None], Dense((X + X.T) / 2)
        rng = generator(self.random_state)
        solver = self._solver(X.shape[0], kernel.definite)
        subspace = principal_subspace(kernel, points, self.n_components, gram=gram, solver=solver, rng=rng)
        self._check_negative(subspace)
        keep = subspace.variances > ZERO * subspace.variances.max(initial=0.0)
        return subspace[keep]

    def _set_eigenpairs(self, n: int) -> None:
        """Set unit eigenvectors of the centred matrix and n·λ, as in scikit-learn, padded with zeros."""
        values, B = n * self._subspace.variances, self._subspace.axes.B
        q = len(values)
        if self.n_components is not None and not self.remove_zero_eig:
            q = min(self.n_components, n)
        self.eigenvalues_ = _padded(values[None], q)[0].astype(B.dtype)
        self.eigenvectors_ = _padded((B * np.sqrt(values)).astype(B.dtype), q)

    def _check_negative(self, subspace: Subspace) -> None:
        """Raise an error as scikit-learn does: if a negative eigenvalue is among those computed.

        The randomised solver of scikit-learn computes the eigenvalues with the largest modulus, its other solvers the
        largest eigenvalues.
        """
        report, found = subspace.report, subspace.variances
        largest, smallest = found.max(initial=0.0), found.min(initial=0.0 if report.last <= 0 else np.inf)
        negative = report.lowest if self.eigen_solver == "randomized" and -report.lowest > smallest else report.last
        if -negative > NEGATIVE * max(largest, subspace.mean_sqnorm):
            raise ValueError(
                "There are significant negative eigenvalues "
                f"({-negative / max(largest, np.finfo(float).tiny):g} of the maximum positive). "
                "Either the matrix is not PSD, or there was an issue while computing the eigendecomposition of the "
                "matrix."
            )

    def _solver(self, n: int, definite: bool) -> Any:
        """Return the solver for ``eigen_solver``; ``"arpack"`` means few pairs to full accuracy."""
        if self.eigen_solver == "auto":
            return choose("auto", n, self.n_components)  # in the dual: eigenvectors_ has an entry for each sample
        if self.eigen_solver == "dense":
            return Exact()
        if self.eigen_solver == "randomized":
            return Randomized(power=4 if isinstance(self.iterated_power, str) else self.iterated_power)
        if n <= SMALL or not definite:
            return Lanczos(self.tol, self.max_iter)
        return Davidson(max(self.tol, FINE))

    def _kernel(self) -> Kernel:
        if callable(self.kernel):
            return FromFunction(self._pairwise)
        gamma, coef0 = self.gamma_, self.coef0
        return {
            "linear": Linear(),
            "poly": Polynomial(self.degree, gamma, coef0),
            "rbf": RBF(gamma),
            "sigmoid": Sigmoid(gamma, coef0),
            "cosine": Cosine(),
            "precomputed": Precomputed(),
        }[self.kernel]

    def _pairwise(self, X: Any, Y: Any) -> np.ndarray:
        """Return the kernel matrix of a function, which scikit-learn calls for one pair of samples at a time."""
        return pairwise_kernels(X, Y, metric=self.kernel, **(self.kernel_params or {}))

    @property
    def _n_features_out(self) -> int:
        return self.eigenvalues_.shape[0]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_subspace")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.fit_inverse_transform  # the regression targets are dense
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _padded(Y: np.ndarray, q: int) -> np.ndarray:
    """Return Y with columns of zeros added up to q of them."""
    return Y if Y.shape[1] == q else np.pad(Y, ((0, 0), (0, q - Y.shape[1])))
