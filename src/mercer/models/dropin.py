"""scikit-learn's ``KernelPCA`` on this engine: switching is one import.

>>> from mercer.dropin import KernelPCA  # instead of sklearn.decomposition
>>> from sklearn.datasets import load_iris
>>> KernelPCA(2, kernel="rbf", gamma=0.1).fit_transform(load_iris().data).shape
(150, 2)
"""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.dense import SMALL
from .._core.registry import stored
from .._core.sklearn import Interval, StrOptions
from ..kernels import RBF, Cosine, FromFunction, Linear, Polynomial, Precomputed, Sigmoid
from ..linalg.eigenpairs import choose
from ..linalg.operators import Dense
from ..linalg.solvers.davidson import Davidson
from ..linalg.solvers.exact import Exact
from ..linalg.solvers.lanczos import Lanczos
from ..linalg.solvers.randomized import Randomized
from ..preimage.learned import ridge
from ..rkhs import principal_subspace
from . import validation

ZERO = 1e-12  # of λ₁: smaller eigenvalues are set to zero, as scikit-learn does in double precision
FINE = 1e-10  # residual that gives eigenvalues to the last digit
NEGATIVE = 1e-5  # of λ₁: larger negative eigenvalues are an error there


@stored("dropin.KernelPCA")
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Kernel PCA with exactly the parameters, attributes and errors of ``sklearn.decomposition.KernelPCA``.

    See scikit-learn's documentation for the parameters. What differs: the kernel matrix is not stored where it need
    not be, eigenpairs are checked, signs do not depend on rounding, ``eigen_solver`` chooses this engine's solver of
    the same accuracy, and ``n_jobs`` and ``copy_X`` have no effect (threads are those of BLAS; the caller's arrays
    are never written to).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.dropin import KernelPCA
    >>> KernelPCA(2, kernel="rbf", gamma=0.1).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        iterated_power="auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Fit the model; ``y`` is ignored."""
        with validation.unchanged_on_error(self):
            self._fit(X)
        return self

    def fit_transform(self, X, y=None, **params):
        """Fit the model and return the coordinates of the training rows."""
        self.fit(X, **params)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def transform(self, X):
        """Return the coordinates of each row, (n_samples, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=validation.DTYPES, reset=False)
        return _padded(self._subspace.project(X), self.eigenvalues_.shape[0])

    def inverse_transform(self, X):
        """Return rows for coordinates, by the ridge regression that ``fit_inverse_transform`` has learned."""
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available."
            )
        check_is_fitted(self)
        return self._score_kernel()(np.asarray(X), self.X_transformed_fit_) @ self.dual_coef_

    def _fit(self, X):
        self._validate_params()
        if self.fit_inverse_transform and isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        validation.check_unmasked(X)
        sparse = False if self.fit_inverse_transform else "csr"
        X = validate_data(self, X, accept_sparse=sparse, dtype=validation.DTYPES, copy=True)
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else self.gamma
        self._subspace = self._principal_subspace(X)
        self._set_eigenpairs(X.shape[0])
        self.X_fit_ = X
        if self.fit_inverse_transform:
            self.X_transformed_fit_ = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
            self.dual_coef_ = ridge(self._score_kernel(), self.X_transformed_fit_, X, self.alpha)

    def _principal_subspace(self, X):
        kernel, points, gram = self._kernel().bind(X), X, None
        if isinstance(kernel, Precomputed):
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
                )
            points, gram = np.arange(len(X))[:, None], Dense((X + X.T) / 2)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        solver = self._solver(X.shape[0], kernel.definite)
        subspace = principal_subspace(kernel, points, self.n_components, gram=gram, solver=solver, rng=rng)
        self._check_negative(subspace)
        keep = subspace.variances > ZERO * subspace.variances.max(initial=0.0)
        return subspace[keep]

    def _set_eigenpairs(self, n):
        """Scikit-learn's scale: unit eigenvectors of the centred matrix, n·λ; zeros where the rank ends."""
        values, B = n * self._subspace.variances, self._subspace.axes.B
        q = len(values)
        if self.n_components is not None and not self.remove_zero_eig:
            q = min(self.n_components, n)
        self.eigenvalues_ = _padded(values[None], q)[0].astype(B.dtype)
        self.eigenvectors_ = _padded((B * np.sqrt(values)).astype(B.dtype), q)

    def _check_negative(self, subspace):
        """Raise where scikit-learn would: when a negative eigenvalue is among those asked for.

        Its randomised solver asks for the largest moduli, the others for the largest values.
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

    def _solver(self, n, definite):
        """The solver of this engine that gives what is asked for; ``"arpack"`` means few pairs to full accuracy."""
        if self.eigen_solver == "auto":
            return choose("auto", n, self.n_components)  # in the dual: eigenvectors_ has an entry for each row
        if self.eigen_solver == "dense":
            return Exact()
        if self.eigen_solver == "randomized":
            return Randomized(power=4 if self.iterated_power == "auto" else self.iterated_power)
        if n <= SMALL or not definite:
            return Lanczos(self.tol, self.max_iter)
        return Davidson(max(self.tol, FINE))

    def _kernel(self):
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

    def _score_kernel(self):
        """The kernel of the same name, on coordinates."""
        return self._kernel()

    def _pairwise(self, X, Y):
        """Scikit-learn calls a kernel function for one pair of rows at a time."""
        return pairwise_kernels(X, Y, metric=self.kernel, **(self.kernel_params or {}))

    @property
    def _n_features_out(self):
        return self.eigenvalues_.shape[0]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_subspace")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.fit_inverse_transform  # what is learned are dense rows
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _padded(Y, q):
    """Y with columns of zeros up to q of them."""
    return Y if Y.shape[1] == q else np.pad(Y, ((0, 0), (0, q - Y.shape[1])))
