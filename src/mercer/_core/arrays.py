"""Array libraries: the only module that handles differences between NumPy and others (torch, CuPy, …).

NumPy follows the Array API standard, so that code below the models is written once: ``xp = namespace(x)``, then the
functions of the standard. Here are the few operations that the standard lacks, or for which NumPy has a faster form.
Arrays of other libraries stay on their device; only sizes, row numbers and variances are copied from it.
"""

import math
import sys
from typing import Any

import numpy as np
from scipy import sparse

Array = Any  # an array of any library that follows the standard, or a sparse matrix where a kernel supports it


def is_foreign(x: Any) -> bool:
    """Return True if ``x`` is not a NumPy array (for example a torch tensor)."""
    return not isinstance(x, np.ndarray | np.generic) and hasattr(x, "__dlpack__") and hasattr(x, "device")


def namespace(x: Any) -> Any:
    """Return the module whose functions take ``x``: NumPy for NumPy arrays and for everything that is not an array.

    Examples
    --------
    >>> namespace(np.zeros(2)) is np
    True
    """
    if isinstance(x, np.ndarray) or not is_foreign(x):
        return np
    try:
        from array_api_compat import array_namespace
    except ImportError as error:
        raise ImportError(
            f"Arrays of {type(x).__module__.split('.')[0]} need the package array-api-compat: "
            "pip install 'mercer[arrays]'. Or give NumPy arrays."
        ) from error
    return array_namespace(x)


def largest_cell(dtype: Any, d: int, xp: Any = np) -> float:
    """Return the largest number of which d squares, and squares of differences, can be added without overflow."""
    return (float(xp.finfo(dtype).max) / (8 * d)) ** 0.5  # (x − y)² ≤ 4x², and a factor of 2 as a margin


def home(x: Any) -> tuple[Any, Any]:
    """Return the namespace and the device of an array; the device of NumPy's arrays is None."""
    if not is_foreign(x):
        return np, None
    from array_api_compat import device

    return namespace(x), device(x)


def library(x: Any) -> str:
    """Return the name of the library that an array belongs to, with its device."""
    xp, device = home(x)
    return "NumPy" if xp is np else f"{xp.__name__.removeprefix('array_api_compat.').split('.')[0]} ({device})"


def asarray_like(values: Any, x: Any, dtype: Any = None) -> Array:
    """Return ``values``, anything that NumPy can convert, as an array of the library and on the device of ``x``."""
    xp, device = home(x)
    if xp is np or is_foreign(values):
        return xp.asarray(values, dtype=dtype)
    return xp.asarray(np.ascontiguousarray(values), dtype=dtype, device=device)


def full(shape: tuple[int, ...], value: float, x: Any, dtype: Any = None) -> Array:
    """Return a constant array of the library and on the device of ``x``; in float64 unless a dtype is given."""
    xp, device = home(x)
    dtype = xp.float64 if dtype is None else dtype
    return np.full(shape, value, dtype) if xp is np else xp.full(shape, value, dtype=dtype, device=device)


def zeros(shape: tuple[int, ...], x: Any, dtype: Any = None) -> Array:
    """Return zeros of the library and on the device of ``x``; in float64 unless a dtype is given."""
    return full(shape, 0.0, x, dtype) if is_foreign(x) else np.zeros(shape, np.float64 if dtype is None else dtype)


def eye(n: int, x: Any) -> Array:
    """Return the identity matrix in float64, of the library and on the device of ``x``."""
    xp, device = home(x)
    return np.eye(n) if xp is np else xp.eye(n, dtype=xp.float64, device=device)


def is_objects(x: Any) -> bool:
    """Return True if the cells of ``x`` are Python objects: rows that are not numbers."""
    return isinstance(x, np.ndarray) and x.dtype.kind == "O"


def precision(x: Any) -> Any:
    """Return the dtype of numbers computed from the rows ``x``: theirs, and float64 for objects."""
    return np.dtype(float) if is_objects(x) else x.dtype


def row_keys(X: np.ndarray) -> list[str]:
    """Return a text for each row of objects: equal for equal rows, and sorted independently of the order of rows."""
    return ["\0".join(map(_key, row)) for row in X]


def _key(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.shape}{value.tobytes().hex()}"
    if isinstance(value, frozenset):
        return repr(sorted(map(_key, value)))
    return repr(float(value)) if isinstance(value, int | float) else repr(value)


def cast(x: Any, dtype: Any) -> Array:
    """Return ``x``, which may be sparse, converted to a dtype; without a copy if it has that dtype.

    Rows that are objects have no precision, and are returned unchanged.
    """
    if is_objects(x):
        return x
    return namespace(x).astype(x, dtype, copy=False) if is_foreign(x) else x.astype(dtype, copy=False)


def double(x: Any) -> Array:
    """Return ``x`` converted to float64, without a copy if it is float64."""
    return cast(x, namespace(x).float64)


def has_double(x: Any) -> bool:
    """Return True if the device of ``x`` supports float64."""
    xp, device = home(x)
    return xp is np or "float64" in xp.__array_namespace_info__().dtypes(device=device, kind="real floating")


def is_writable(x: Any) -> bool:
    """Return True if entries of ``x`` can be replaced, as in all libraries but JAX."""
    if not is_foreign(x):
        return True
    from array_api_compat import is_writeable_array

    return is_writeable_array(x)


def eps(x: Any) -> float:
    """Return the distance from 1 to the next number in the dtype of ``x``."""
    return float(namespace(x).finfo(x.dtype).eps)


def rows(X: Any, index: Any) -> Array:
    """Return ``X[index]`` for a slice, for row numbers (a NumPy array is allowed), or for a mask."""
    if not is_foreign(X):
        return X[index]
    return X[index, ...] if isinstance(index, slice) else _take(X, index, 0)


def columns(X: Any, index: Any) -> Array:
    """Return ``X[:, index]`` for a slice, for column numbers, or for a mask."""
    if not is_foreign(X) or isinstance(index, slice):
        return X[:, index]
    return _take(X, index, 1)


def _take(X: Any, index: Any, axis: int) -> Array:
    xp = namespace(X)
    if not is_foreign(index):
        index = np.asarray(index)
        index = asarray_like(np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64), X)
    elif index.dtype == xp.bool:
        index = xp.nonzero(index)[0]
    return xp.take(X, index, axis=axis)


def row_numbers(index: Any) -> np.ndarray:
    """Return row numbers as a NumPy array."""
    return host(index).astype(int) if is_foreign(index) else np.asarray(index)


def host(x: Any) -> np.ndarray:
    """Return an array as a float64 NumPy array, in one transfer from its device if its library can do that."""
    view = shared(x) if is_foreign(x) else x
    if view is not None:
        return np.asarray(view, float)
    flat = namespace(x).reshape(x, (-1,))
    values = flat.tolist() if hasattr(flat, "tolist") else [float(value) for value in flat]
    return np.asarray(values, float).reshape(x.shape)


def shared(x: Any) -> np.ndarray | None:
    """Return a NumPy view of an array of another library, or None if it is not in the memory of the process."""
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return None


def in_memory(x: Any) -> np.ndarray | None:
    """Return a NumPy view of an array of another library, or None for NumPy's own arrays and those on a device."""
    return shared(x) if is_foreign(x) else None


def hstack(*parts: Any) -> Array:
    """Return columns and blocks of columns side by side, in their common dtype."""
    if not is_foreign(parts[0]):
        return np.column_stack(parts)
    return namespace(parts[0]).concat([part if part.ndim == 2 else part[:, None] for part in parts], axis=1)


def vstack(*parts: Any) -> Array:
    """Return the rows of arrays, or of sparse matrices, below each other."""
    if hasattr(parts[0], "toarray"):
        return sparse.vstack(parts, format="csr")
    return namespace(parts[0]).concat(parts)


def scatter_rows(values: Any, places: np.ndarray, n: int) -> Array:
    """Return an array of n rows with ``values`` at the row numbers ``places`` and zeros elsewhere."""
    source = np.full(n, len(places))  # for each row, its number in ``values``, to which a row of zeros is appended
    source[places] = np.arange(len(places))
    return rows(namespace(values).concat([values, zeros((1, values.shape[1]), values, values.dtype)]), source)


def with_rows(X: Any, index: np.ndarray, values: Any) -> Array:
    """Return a copy of X with the rows of these numbers replaced by ``values``."""
    if not is_foreign(X):
        X = X.copy()
        X[index] = values
        return X
    xp, n = namespace(X), X.shape[0]
    source = np.arange(n)
    source[index] = n + np.arange(len(index))
    return rows(xp.concat([X, xp.astype(values, X.dtype, copy=False)]), source)


def largest(x: Any, least: float = 0.0) -> float:
    """Return the larger of ``least`` and the largest entry; ``least`` for an empty array, NaN if an entry is NaN."""
    most = float(namespace(x).max(x)) if math.prod(x.shape) else least
    return least if most <= least else most


def nth_smallest(t: Any, n: int) -> Array:
    """Return the entry number n, from 0, in ascending order."""
    return namespace(t).sort(t)[n] if is_foreign(t) else np.partition(t, n)[n]


def largest_places(values: Any, k: int) -> Array:
    """Return the column numbers of the k largest entries of each row, in any order."""
    if is_foreign(values):
        return namespace(values).argsort(values, axis=1)[:, values.shape[1] - k :]
    return np.argpartition(values, -k, axis=1)[:, -k:]


def sqnorms(X: Any, dtype: Any = None) -> Array:
    """Return Σ x² of each row, in the dtype of X unless another one is given."""
    if is_foreign(X):
        return namespace(X).sum(X * X, axis=1, dtype=X.dtype if dtype is None else dtype)
    return np.einsum("ij,ij->i", X, X, dtype=dtype)


def in_place(name: str, t: Any, *others: Any) -> Array:
    """Apply the function of this name to ``t``, which is overwritten if its library supports that."""
    if is_foreign(t):
        return getattr(namespace(t), {"power": "pow"}.get(name, name))(t, *others)
    return getattr(np, name)(t, *others, out=t)


def linalg_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions by which array libraries report that a decomposition failed."""
    torch = sys.modules.get("torch")
    return (np.linalg.LinAlgError,) if torch is None else (np.linalg.LinAlgError, torch.linalg.LinAlgError)
