"""Validation that the models share, and the texts of the errors."""

from contextlib import contextmanager

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import check_non_negative, validate_data

from .._core import arrays, dask
from .._core.sklearn import CALLBACK_ATTRIBUTES, MOVE_ESTIMATOR, check_sample_weight
from .._core.warn import IndefiniteKernelWarning, once, warn

ASYMMETRY = 1e-6  # of the largest entry: more than rounding, so that the matrix is no kernel matrix
ALL_COMPONENTS = 5_000  # rows up to which all components are computed without asking
NEGLIGIBLE_MASS = 1e-8  # of the spectrum: below it, negative eigenvalues are rounding
DTYPES = [np.float64, np.float32]


@contextmanager
def unchanged_on_error(estimator):
    """Give the estimator back its state when the block raises, and warn of each thing once: the frame of every fit."""
    before = dict(estimator.__dict__)
    try:
        with once():
            yield
    except BaseException:
        state = estimator.__dict__
        of_callbacks = {name: value for name, value in state.items() if name.startswith(CALLBACK_ATTRIBUTES)}
        state.clear()
        state.update(before | of_callbacks)  # scikit-learn tears those down itself
        raise


def check_rows(estimator, X, kernel, *, fit=False):
    """Return X as a finite float32 or float64 array, or CSR matrix where the kernel takes one.

    Arrays of other libraries stay where they are if scikit-learn dispatches them, and are turned into NumPy's if not.
    """
    check_unmasked(X)
    if dispatched(X):
        check_portable(estimator, X, kernel)
    options = {"accept_sparse": "csr" if kernel.sparse else False, "dtype": dtypes(X)}
    X = validate_data(estimator, X, reset=fit, copy=fit and estimator._keeps_rows, **options)
    if kernel.nonnegative:
        check_non_negative(X, f"{type(estimator).__name__} with {kernel!r}")
    return X


def dispatched(X):
    """Whether X is an array of another library than NumPy, and scikit-learn leaves it where it is."""
    return arrays.is_foreign(X) and get_config()["array_api_dispatch"]


def dtypes(X):
    """The dtypes that rows may have; all others become the first."""
    xp = arrays.namespace(X) if dispatched(X) else np
    return [xp.float64, xp.float32]


def check_portable(estimator, X, kernel):
    """Refuse rows on a device where the estimator, or its kernel, works in NumPy's memory alone."""
    where, way_out = arrays.library(X), "Give the rows as a NumPy array."
    if not getattr(estimator, "_portable", False):
        raise TypeError(f"{type(estimator).__name__} takes NumPy arrays, and these rows are of {where}. {way_out}")
    if not kernel.portable:
        raise TypeError(
            f"{kernel!r} takes NumPy arrays, and these rows are of {where}. {way_out} Or use another kernel."
        )
    if not arrays.has_double(X):
        raise TypeError(f"Variances and distances are summed in float64, which {where} does not have. {way_out}")


def check_home(estimator, method, X, fitted):
    """Refuse rows that do not live where those of ``fit`` did."""
    if arrays.home(X) != arrays.home(fitted):
        raise ValueError(
            f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace and the same device "
            f"as those passed to fit(), which were of {arrays.library(fitted)}: these are of {arrays.library(X)}. Move "
            "the rows or the model ({MOVE_ESTIMATOR}), or fit again. Arrays of other "
            "libraries stay what they are under sklearn.set_config(array_api_dispatch=True), and become NumPy's else."
        )


def check_numpy(estimator, method, fitted):
    """Refuse what a model does on NumPy arrays alone."""
    if arrays.is_foreign(fitted):
        raise ValueError(
            f"{type(estimator).__name__}.{method}() works on NumPy arrays, and this model was fitted on those of "
            f"{arrays.library(fitted)}. Move the model ({MOVE_ESTIMATOR}), or fit it again."
        )


def check_lazy_rows(estimator, X, kernel=None, sample_weight=None):
    """Return a Dask array of rows, and its weights (None where none are given); its values are looked at in tasks."""
    names = getattr(X, "columns", None)
    X = dask.as_rows(X)
    estimator.n_features_in_ = X.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    if names is not None and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    if kernel is not None and kernel.nonnegative and dask.computed(X.min()) < 0:
        raise ValueError(f"Negative values in data passed to {type(estimator).__name__} with {kernel!r}.")
    if sample_weight is None:
        return X, None
    if sample_weight.shape != X.shape[:1]:
        raise ValueError(f"sample_weight.shape == {sample_weight.shape}, expected {X.shape[:1]}!")
    if dask.computed(sample_weight.min()) < 0 or dask.computed(sample_weight.max()) <= 0:
        raise ValueError("Sample weights must not be negative, and at least one row must count.")
    return X, sample_weight


def check_unmasked(X):
    """Refuse a masked array: its mask would be dropped without a word."""
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError("X is a masked array, and masks are not supported. Use X.filled(value) or drop the rows.")


def missing_where(X):
    """A sentence that names the first missing values of X and what to do, or nothing where none are missing."""
    try:
        missing = np.argwhere(np.isnan(np.asarray(X, float)))
    except (TypeError, ValueError):  # no table of numbers
        return ""
    if len(missing) == 0:
        return ""
    row, column = missing[0]
    names = getattr(X, "columns", None)
    column = f"column {column}" if names is None else f"column {list(names)[column]!r}"
    return (
        f"\n{len(missing)} values are missing, the first in row {row}, {column}. "
        "Fill them, for example with mercer.KernelPCAImputer, or drop the rows."
    )


def check_weights(sample_weight, X):
    """Return the weights above zero (None where none are given), and the numbers of the rows that have one."""
    if sample_weight is None:
        return None, np.arange(X.shape[0])
    xp = arrays.namespace(X)
    weights = check_sample_weight(sample_weight, X, dtype=xp.float64, ensure_non_negative=True)
    counted = xp.nonzero(weights)[0]
    if counted.shape[0] == 0:
        raise ValueError("All sample weights are zero: at least one row must count.")
    return arrays.rows(weights, counted), counted


def check_gram(K):
    """Refuse a matrix that cannot be k(X, X), and say why."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"A precomputed kernel must be a square matrix of k(x_i, x_j) at fit, and the shape is {K.shape}."
        )
    scale = np.abs(K).max(initial=0.0)
    if K.shape[0] > 1 and scale > 0 and not K.diagonal().any():
        raise ValueError(
            "The precomputed matrix has zeros on its diagonal, as a matrix of distances has: no kernel does. "
            "Turn distances D into a kernel first, for example np.exp(-gamma * D**2)."
        )
    if np.abs(K - K.T).max(initial=0.0) > ASYMMETRY * scale:
        raise ValueError("The precomputed matrix is not symmetric, as k(x_i, x_j) = k(x_j, x_i) must be.")


def check_diagonal(diagonal, kernel):
    """Refuse a kernel that overflows on the data: |k(x, y)|² ≤ k(x, x) k(y, y), so that its diagonal tells."""
    xp = arrays.namespace(diagonal)
    finite = xp.isfinite(diagonal)
    if not xp.all(finite):
        first = int(xp.argmin(arrays.cast(finite, xp.int8)))
        raise ValueError(
            f"{kernel!r} overflows on these data: k(x, x) is not finite for row {first}. "
            "Scale the columns, for example with StandardScaler, or lower gamma or degree."
        )


def check_all_components(n_components, n):
    """Refuse the whole spectrum of a large matrix unless it is meant."""
    if isinstance(n_components, int | np.integer) or n <= ALL_COMPONENTS:
        return
    gigabytes = 3 * 8 * n**2 / 1e9
    raise ValueError(
        f"n_components={n_components!r} needs all eigenvalues of a {n} × {n} matrix: about {gigabytes:.1f} GB and "
        f"time of order n³. Give a number of components, or solver=Exact() (mercer.eigen) if this is meant."
    )


def check_indefinite(policy, report):
    """Warn of negative eigenvalues, which are left out, or refuse them."""
    if report.negative_mass < NEGLIGIBLE_MASS:
        return
    what = f"The kernel matrix is indefinite: its smallest eigenvalue (of the covariance) is {report.lowest:.3g}"
    if policy == "error":
        raise ValueError(
            f"{what}. Use a positive definite kernel, add a multiple of the identity to the matrix, or "
            "indefinite='clip' to leave the negative part out."
        )
    warn(
        f"{what}, and negative ones hold {report.negative_mass:.1%} of the spectrum's mass. They are left out. "
        "Use a positive definite kernel; KernelPCA(indefinite='error') refuses others.",
        IndefiniteKernelWarning,
    )
