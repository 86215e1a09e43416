"""Checks of data and parameters that the models share, with the texts of their errors and warnings."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_non_negative, validate_data

from .._core import arrays, dask
from .._core.arrays import Array
from .._core.batches import is_source
from .._core.sklearn import CALLBACK_ATTRIBUTES, MOVE_ESTIMATOR, check_sample_weight, reported
from .._core.tiles import in_threads, upper_tiles
from .._core.warn import IndefiniteKernelWarning, once, warn
from ..kernels import Kernel, Precomputed
from ..kernels.objects import as_objects
from ..rkhs import Subspace
from ..rkhs.landmarks import chooses_basis

ASYMMETRY = 1e-6  # relative to the largest entry: a larger difference is not a rounding error
ALL_COMPONENTS = 5_000  # samples up to which all components are computed without an explicit solver
NEGLIGIBLE_MASS = 1e-8  # share of the spectrum up to which negative eigenvalues are rounding errors
MOST_ROWS = 10**7  # largest number of rows of a precomputed matrix, which would take 800 TB
LARGEST_SQUARED = 1e153  # about the root of the largest float64
DTYPES = [np.float64, np.float32]
OF_EARLIER_FITS = ("_nearest", "_density", "_first_rows", "compression_")  # attributes that a new fit removes


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Restore the state of the estimator if the block raises, and give each kind of warning once."""
    before = dict(estimator.__dict__)
    try:
        with once():
            yield
    except BaseException:
        state = estimator.__dict__
        of_callbacks = {name: value for name, value in state.items() if name.startswith(CALLBACK_ATTRIBUTES)}
        state.clear()
        state.update(before | of_callbacks)  # scikit-learn removes those itself
        raise


@contextmanager
def fitting(estimator: Any, X: Any, y: Any = None) -> Iterator[None]:
    """Validate the parameters and report progress to callbacks while the block fits the estimator."""
    with unchanged_on_error(estimator), reported(estimator, X, y):
        estimator._validate_params()
        if not hasattr(estimator, "_fit_lazy"):
            check_in_memory(X)
            check_in_memory(y)
        for name in OF_EARLIER_FITS:
            estimator.__dict__.pop(name, None)
        yield


def check_rows(estimator: Any, X: Any, kernel: Kernel, *, fit: bool = False, copy: bool = False) -> Array:
    """Return X as a finite float32 or float64 array, or as a CSR matrix if the kernel takes one.

    For kernels of objects (``rows = "objects"``) X becomes a table of objects, unless it is an array of numbers.
    With array API dispatch, arrays of other libraries stay in their library; otherwise they are converted to NumPy.
    """
    check_unmasked(X)
    if kernel.rows == "objects" and not _are_numbers(X, kernel):
        return _check_objects(estimator, X, kernel, fit)
    if dispatched(X):
        check_portable(estimator, X, kernel)
    elif fit and arrays.is_foreign(X):
        warn(
            f"X is an array of {type(X).__module__.partition('.')[0]}, and it is converted to NumPy; results are NumPy "
            "arrays too. Use sklearn.set_config(array_api_dispatch=True) to compute in its library and on its device, "
            "or give a NumPy array."
        )
    copy = copy and not (
        isinstance(kernel, Precomputed) and isinstance(X, np.memmap)
    )  # a memory-mapped matrix is only read
    options = {"accept_sparse": "csr" if kernel.sparse else False, "dtype": dtypes(X)}
    with _naming_imputer(type(estimator).__name__):
        X = validate_data(estimator, X, reset=fit, copy=copy, **options)
    check_cells(X, getattr(estimator, "feature_names_in_", None))
    if kernel.nonnegative:
        check_non_negative(X, f"{type(estimator).__name__} with {kernel!r}")
    return X


def _are_numbers(X: Any, kernel: Kernel) -> bool:
    """Return True for an array of numbers, whose rows are tables of cells to the kernel."""
    numbers = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
    return not kernel.whole and (numbers or hasattr(X, "toarray") or arrays.is_foreign(X))


def _check_objects(estimator: Any, X: Any, kernel: Kernel, fit: bool) -> np.ndarray:
    """Return the rows as a table of objects, checked cell by cell by the kernel."""
    rows = as_objects(X, kernel.whole)
    for size, what in zip(rows.shape, ("samples", "columns"), strict=True):
        if size == 0:
            raise ValueError(f"Found 0 {what}, while a minimum of 1 is required by {type(estimator).__name__}.")
    validate_data(estimator, X if hasattr(X, "columns") else rows, reset=fit, skip_check_array=True)
    names = getattr(estimator, "feature_names_in_", None)
    return kernel.on(names).checked(rows, names)


@contextmanager
def _naming_imputer(name: str) -> Iterator[None]:
    """Extend errors on missing values by advice how to fill them, and errors on strings by kernels that accept them."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(
                f"{error}. This kernel takes numbers. Strings, sets, series and categories need a kernel for objects, "
                "such as Spectrum, Jaccard, GlobalAlignment or Categorical of mercer.kernels; for a table with numbers "
                "and categories use mercer.kernels.mixed(X)."
            ) from None
        if "contains NaN" not in str(error):
            raise
        raise ValueError(
            f"{str(error).splitlines()[0]} {name} does not accept missing values: fill them first, for example with "
            f"make_pipeline(KernelPCAImputer(), {name}(…))."
        ) from None


def check_cells(X: Any, names: Any = None) -> None:
    """Raise an error that names the cell if squares of the data overflow, since no kernel could be evaluated."""
    cells = X.data if hasattr(X, "toarray") else X
    if 0 in cells.shape:
        return
    xp = arrays.namespace(cells)
    most = arrays.largest_cell(cells.dtype, X.shape[1], xp)
    if _largest(cells) <= most:
        return
    large = xp.abs(cells) > most
    found = X.tocoo() if hasattr(X, "toarray") else None
    i = int(xp.argmax(xp.reshape(arrays.cast(large, xp.int8), (-1,))))
    row, column = (int(found.row[i]), int(found.col[i])) if found is not None else divmod(i, X.shape[1])
    raise ValueError(
        f"{place(row, column, names)} is {float(X[row, column]):g}, and squares of such numbers overflow in "
        f"{str(cells.dtype).rpartition('.')[2]}: at most {most:.2g} is possible here. Divide the column by a constant."
    )


def _largest(cells: Array) -> float:
    """Return the largest absolute value; missing values do not count. No array is allocated in NumPy."""
    if arrays.is_foreign(cells):
        return arrays.largest(abs(cells))
    return max(0.0, float(np.fmax.reduce(cells, axis=None)), -float(np.fmin.reduce(cells, axis=None)))  # not NaN


def place(row: int, column: int, names: Any = None) -> str:
    """Return the position of a cell for an error message."""
    return f"The cell of row {row}, column {column if names is None else repr(names[column])},"


def dispatched(X: Any) -> bool:
    """Return True if X is an array of another library than NumPy and array API dispatch is on."""
    return arrays.is_foreign(X) and get_config()["array_api_dispatch"]


def dtypes(X: Any) -> list:
    """Return the dtypes that are kept; data of any other dtype are converted to the first."""
    xp = arrays.namespace(X) if dispatched(X) else np
    return [xp.float64, xp.float32]


def check_portable(estimator: Any, X: Any, kernel: Kernel) -> None:
    """Raise an error if the estimator, its kernel or the device of X cannot work outside NumPy."""
    where, way_out = arrays.library(X), "Give X as a NumPy array."
    if not getattr(estimator, "_portable", False):
        raise TypeError(f"{type(estimator).__name__} takes NumPy arrays, and X is an array of {where}. {way_out}")
    if not kernel.portable:
        raise TypeError(f"{kernel!r} takes NumPy arrays, and X is an array of {where}. {way_out}")
    if not arrays.is_writable(X):
        raise TypeError(f"Results are written into arrays part by part, which {where} does not allow. {way_out}")
    if not arrays.has_double(X):
        raise TypeError(f"Variances and distances are summed in float64, which {where} does not have. {way_out}")


def check_home(estimator: Any, method: str, X: Any, fitted: Any) -> None:
    """Raise an error if X is of another array library or on another device than the data of ``fit``."""
    if arrays.home(X) != arrays.home(fitted):
        raise ValueError(
            f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace and the same device "
            f"as those passed to fit(), which were of {arrays.library(fitted)}: these are of {arrays.library(X)}. Move "
            f"the data or the model ({MOVE_ESTIMATOR}), or fit again. Arrays of other libraries are kept under "
            "sklearn.set_config(array_api_dispatch=True), and converted to NumPy without it."
        )


def check_numpy(estimator: Any, method: str, fitted: Any) -> None:
    """Raise an error if the model was fitted on arrays of another library than NumPy."""
    if arrays.is_foreign(fitted):
        raise ValueError(
            f"{type(estimator).__name__}.{method}() works on NumPy arrays, and this model was fitted on those of "
            f"{arrays.library(fitted)}. Move the model ({MOVE_ESTIMATOR}), or fit it again."
        )


def check_lazy_rows(
    estimator: Any, X: Any, sample_weight: Any = None, sizes: bool = True, kernel: Kernel | None = None
) -> tuple[Any, Any]:
    """Return a Dask array and its weights, or None for the weights; values are checked in tasks.

    Without ``sizes`` the numbers of rows in the blocks may be unknown, and weights are then returned as they are.
    """
    if kernel is not None and kernel.whole:
        raise TypeError(
            f"{kernel!r} takes rows in memory, and a Dask collection was given. Use partial_fit, or batches."
        )
    names = getattr(X, "columns", None)
    X = dask.as_rows(X, sizes)
    estimator.n_features_in_ = X.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    if names is not None and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    return X, lazy_weights(X, sample_weight) if dask.has_sizes(X) else sample_weight


def lazy_weights(X: Any, sample_weight: Any) -> Any:
    """Return the weights of the rows of a Dask array, a vector in memory or a Dask array; None if none are given."""
    if sample_weight is None:
        return None
    lazy = dask.is_lazy(sample_weight)
    weights = dask.as_weights(sample_weight) if lazy else np.asarray(sample_weight, float)
    if weights.shape != X.shape[:1]:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {X.shape[:1]}!")
    least, most = dask.extremes(weights)
    if not (least >= 0 and 0 < most < np.inf):
        raise ValueError("Sample weights must be finite and not negative, and at least one must be positive.")
    return weights


def check_lazy_batch(estimator: Any, X: Any, sample_weight: Any = None) -> tuple[Any, Any]:
    """Return a Dask array, a batch for a fitted estimator, and its weights."""
    if getattr(estimator.solver, "half_life", None) is not None:
        raise ValueError("partial_fit with Landmarks(half_life=…) takes batches in memory, not a Dask collection.")
    dask.check_names(estimator, X)
    X = dask.as_rows(X)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    return X, lazy_weights(X, sample_weight)


def check_in_memory(X: Any) -> None:
    """Raise an error for a Dask collection or a source of batches where a method would have to gather all rows.

    Methods that work block by block, or on sums of blocks, do not call this function.
    """
    lazy = dask.is_lazy(X)
    if not lazy and not is_source(X):
        return
    what = "a Dask collection" if lazy else "a source of batches"
    way_out = "Give an array in memory, X.compute()" if lazy else "Give an array in memory"
    raise TypeError(
        f"{_public_caller()} needs all samples in memory, and {what} was given. {way_out}, or a part of the samples. "
        "KernelPCA and ProbabilisticKernelPCA with solver='landmarks' are fitted without gathering the samples."
    )


def _public_caller() -> str:
    """Return Class.method of the method that the user called, for an error message."""
    frame, name = sys._getframe(2), "This method"
    while frame is not None:
        owner, method = frame.f_locals.get("self"), frame.f_code.co_name
        if isinstance(owner, BaseEstimator) and not method.startswith("_") and hasattr(type(owner), method):
            name = f"{type(owner).__name__}.{method}"
        frame = frame.f_back  # type: ignore[assignment]
    return name


def check_features(estimator: Any, subspaces: Iterable[Subspace]) -> None:
    """Raise an error if the points of a subspace have another number of columns than the estimator states.

    Of a precomputed kernel, points are row numbers, and the file does not hold the whole matrix.
    """
    d = estimator.n_features_in_
    for subspace in subspaces:
        Z, precomputed = subspace.Z, isinstance(subspace.kernel, Precomputed)
        if not Z.max(initial=-1) < d <= MOST_ROWS if precomputed else Z.shape[1] != d:
            raise ValueError(f"it has points of shape {Z.shape} and states {d} features")


def check_unmasked(X: Any) -> None:
    """Raise an error for a masked array, whose mask would be ignored, and for rows that are not in memory."""
    check_in_memory(X)
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError("X is a masked array, and masks are not supported. Use X.filled(value) or drop the rows.")


def missing_where(X: Any) -> str:
    """Return a sentence that locates missing or infinite cells of X and says what to do; empty if there are none."""
    try:
        cells = np.asarray(X, float)
    except (TypeError, ValueError):  # not a table of numbers
        return ""
    missing = np.isnan(cells)
    found = np.argwhere(missing if missing.any() else np.isinf(cells))
    if len(found) == 0:
        return ""
    row, column = found[0]
    names = getattr(X, "columns", None)
    column = f"column {column}" if names is None else f"column {list(names)[column]!r}"
    what = "values are missing" if missing.any() else "values are infinite"
    return (
        f"\n{len(found)} {what}, the first in row {row}, {column}. "
        "Fill them, for example with mercer.KernelPCAImputer, or drop the rows."
    )


def check_weights(sample_weight: Any, X: Array) -> tuple[Array | None, Array]:
    """Return the positive weights, or None if no weights are given, and the row numbers that they belong to."""
    if sample_weight is None:
        return None, np.arange(X.shape[0])
    xp = arrays.namespace(X)
    weights = check_sample_weight(sample_weight, X, dtype=xp.float64, ensure_non_negative=True)
    counted = xp.nonzero(weights)[0]
    if counted.shape[0] == 0:
        raise ValueError("All sample weights are zero: at least one must be positive.")
    return arrays.rows(weights, counted), counted


def check_gram(K: np.ndarray) -> None:
    """Raise an error for a matrix that cannot be k(X, X)."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"A precomputed kernel must be a square matrix of k(x_i, x_j) at fit, and the shape is {K.shape}."
        )
    scale, asymmetry = np.max(in_threads(partial(_extremes, K), upper_tiles(K.shape[0], K)), axis=0)
    if K.shape[0] > 1 and scale > 0 and not K.diagonal().any():
        raise ValueError(
            "The precomputed matrix has a zero diagonal, like a matrix of distances: it is not a kernel matrix. "
            "Convert distances D to a kernel first, for example np.exp(-gamma * D**2)."
        )
    if asymmetry > ASYMMETRY * scale:
        raise ValueError("The precomputed matrix is not symmetric, as k(x_i, x_j) = k(x_j, x_i) must be.")


def _extremes(K: np.ndarray, tiles: Iterable[tuple[slice, slice]]) -> tuple[float, float]:
    """Return the largest |K| in these tiles, and the largest |K − Kᵀ|."""
    scale = asymmetry = 0.0
    for i, j in tiles:
        tile = K[i, j]
        scale = max(scale, float(tile.max(initial=0.0)), -float(tile.min(initial=0.0)))
        asymmetry = max(asymmetry, float(np.abs(tile - K[j, i].T).max(initial=0.0)))
    return scale, asymmetry


def check_diagonal(X: Array, kernel: Kernel, names: Any = None) -> None:
    """Raise an error if the kernel overflows on the data; the diagonal shows this, since |k(x, y)|² ≤ k(x, x) k(y, y).

    Squares of the kernel values must not overflow either, because eigensolvers add them.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = arrays.double(kernel.diag(X))
    xp = arrays.namespace(diagonal)
    fine = abs(diagonal) < LARGEST_SQUARED / diagonal.shape[0]
    if xp.all(fine):
        return
    row = int(xp.argmin(arrays.cast(fine, xp.int8)))
    where = f"row {row}"
    if not isinstance(kernel, Precomputed) and not arrays.is_objects(X):
        cells = X[row].toarray().ravel() if hasattr(X, "toarray") else X[row, :]
        where = place(row, int(xp.argmax(abs(cells))), names).removesuffix(",").replace("The cell of ", "")
    raise ValueError(
        f"{kernel!r} overflows on these data: k(x, x) is {float(diagonal[row]):.3g} for {where}. "
        "Scale the columns, for example with StandardScaler, or lower gamma or degree."
    )


def check_all_components(n: int, solver: Any, n_components: Any) -> None:
    """Raise an error before all eigenvalues of a large matrix are computed, unless a solver instance is given."""
    if n <= ALL_COMPONENTS or not isinstance(solver, str) or chooses_basis(solver):
        return
    gigabytes = 3 * 8 * n**2 / 1e9  # three matrices in float64: the kernel matrix, LAPACK's copy, the eigenvectors
    raise ValueError(
        f"n_components={n_components!r} needs all eigenvalues of a {n} × {n} matrix: about {gigabytes:.1f} GB and "
        "time of order n³. Give a number of components, or solver=Exact() (mercer.eigen) if this is intended."
    )


def check_indefinite(policy: str, lowest: float, negative_mass: float) -> None:
    """Warn that negative eigenvalues are ignored, or raise an error if ``policy`` is ``"error"``."""
    if negative_mass < NEGLIGIBLE_MASS:
        return
    what = f"The kernel matrix is indefinite: its smallest eigenvalue (of the covariance) is {lowest:.3g}"
    if policy == "error":
        raise ValueError(
            f"{what}. Use a positive definite kernel, add a multiple of the identity to the matrix, or use "
            "indefinite='clip' to ignore the negative part."
        )
    warn(
        f"{what}, and negative eigenvalues hold {negative_mass:.1%} of the spectrum's mass. They are ignored. "
        "Use a positive definite kernel; KernelPCA(indefinite='error') raises an error instead.",
        IndefiniteKernelWarning,
    )
