"""Arrays of other libraries than NumPy (torch, CuPy, …): the only place that knows array namespaces.

The layers below the models take such an array as they take NumPy's, work where it lies and answer there. What they
write, ``xp.sqrt(x)`` with ``xp = namespace(x)``, is the Array API standard; here are the few words that NumPy spells
otherwise, or for which it has a faster one. Only numbers come back from a device: sizes, row numbers, variances.
"""

import math
import sys

import numpy as np


def elsewhere(x):
    """Whether x is an array of another library than NumPy, on its own device."""
    return not isinstance(x, np.ndarray | np.generic) and hasattr(x, "__dlpack__") and hasattr(x, "device")


def namespace(x):
    """The module whose functions take x: NumPy itself for its own arrays and for all that is no array of the standard.

    Examples
    --------
    >>> namespace(np.zeros(2)) is np
    True
    """
    if isinstance(x, np.ndarray) or not elsewhere(x):
        return np
    try:
        from array_api_compat import array_namespace
    except ImportError as error:
        raise ImportError(
            f"Arrays of {type(x).__module__.split('.')[0]} need the package array-api-compat: "
            "pip install 'mercer[arrays]'. Or give NumPy arrays."
        ) from error
    return array_namespace(x)


def home(x):
    """Namespace and device of an array: where it lives. All of NumPy is one place."""
    if not elsewhere(x):
        return np, None
    from array_api_compat import device

    return namespace(x), device(x)


def library(x):
    """The name of the library that an array belongs to, and of its device."""
    xp, device = home(x)
    return "NumPy" if xp is np else f"{xp.__name__.split('.')[-1]} ({device})"


def placed(values, x, dtype=None):
    """Numbers that NumPy has drawn or counted, where x lives; in float64 where they are no integers, or of a dtype."""
    xp, device = home(x)
    if xp is np:
        return np.asarray(values, dtype)
    return xp.asarray(np.ascontiguousarray(values), dtype=dtype, device=device)


def full(shape, value, x, dtype=None):
    """An array of one number where x lives, in float64 or of a dtype."""
    xp, device = home(x)
    dtype = xp.float64 if dtype is None else dtype
    return np.full(shape, value, dtype) if xp is np else xp.full(shape, value, dtype=dtype, device=device)


def zeros(shape, x, dtype=None):
    """Zeros where x lives, in float64 or of a dtype."""
    return full(shape, 0.0, x, dtype) if elsewhere(x) else np.zeros(shape, np.float64 if dtype is None else dtype)


def eye(n, x):
    """The identity where x lives, in float64."""
    xp, device = home(x)
    return np.eye(n) if xp is np else xp.eye(n, dtype=xp.float64, device=device)


def cast(x, dtype):
    """x in a dtype, itself where it has it."""
    return namespace(x).astype(x, dtype, copy=False) if elsewhere(x) else x.astype(dtype, copy=False)


def double(x):
    """x in float64, itself where it is."""
    return cast(x, namespace(x).float64)


def single(x):
    """x in float32, itself where it is."""
    return cast(x, namespace(x).float32)


def is_single(x):
    """Whether x is in float32."""
    return x.dtype == namespace(x).float32


def has_double(x):
    """Whether the device of x knows float64."""
    xp, device = home(x)
    return xp is np or "float64" in xp.__array_namespace_info__().dtypes(device=device, kind="real floating")


def is_integer(x):
    """Whether x holds integers: row numbers."""
    return namespace(x).isdtype(x.dtype, "integral") if elsewhere(x) else np.issubdtype(x.dtype, np.integer)


def eps(x):
    """The rounding of 1 in the dtype of x."""
    return float(namespace(x).finfo(x.dtype).eps)


def rows(X, index):
    """X[index] for a slice, or for row numbers that may be NumPy's."""
    if not elsewhere(X):
        return X[index]
    return X[index, ...] if isinstance(index, slice) else _taken(X, index, 0)


def columns(X, index):
    """X[:, index] for a slice, for column numbers, or for a mask."""
    if not elsewhere(X):
        return X[:, index]
    return X[:, index] if isinstance(index, slice) else _taken(X, index, 1)


def _taken(X, index, axis):
    xp = namespace(X)
    if not elsewhere(index):
        index = placed(np.asarray(index, dtype=np.int64), X)
    elif index.dtype == xp.bool:
        index = xp.nonzero(index)[0]
    return xp.take(X, index, axis=axis)


def numbers(index):
    """Row numbers as NumPy has them, one after the other where they lie on a device."""
    return np.array([int(i) for i in index], int) if elsewhere(index) else np.asarray(index)


def side_by_side(*parts):
    """Columns and blocks of columns as one matrix."""
    if not elsewhere(parts[0]):
        return np.column_stack(parts)
    xp = namespace(parts[0])
    blocks = [part if part.ndim == 2 else part[:, None] for part in parts]
    dtype = xp.result_type(*blocks)
    return xp.concat([xp.astype(block, dtype, copy=False) for block in blocks], axis=1)


def stacked(parts):
    """Blocks of rows as one array."""
    return namespace(parts[0]).concat(parts, axis=0) if elsewhere(parts[0]) else np.concatenate(parts)


def at_least(x, low):
    """max(x, low) for each entry and one number."""
    return namespace(x).clip(x, min=low) if elsewhere(x) else np.maximum(x, low)


def largest(x, least=0.0):
    """The largest entry and ``least``, as a number: that alone where x is empty."""
    most = float(namespace(x).max(x)) if math.prod(x.shape) else least
    return least if most <= least else most  # NaN where there is one


def count(mask):
    """How many entries are true."""
    return int(namespace(mask).count_nonzero(mask))


def product(A, B):
    """A @ B of two dtypes, in the wider one."""
    return namespace(A).matmul(A, B)


def cumsum(x, axis=0):
    """Sums of the first 1, 2, … entries along an axis."""
    return namespace(x).cumulative_sum(x, axis=axis) if elsewhere(x) else np.cumsum(x, axis=axis)


def diagonal(K):
    """The diagonal of a matrix."""
    return namespace(K).linalg.diagonal(K) if elsewhere(K) else K.diagonal()


def sqnorms(X, dtype=None):
    """Σ x² over each row, in the dtype of X or in another one."""
    if elsewhere(X):
        return namespace(X).sum(X * X, axis=1, dtype=X.dtype if dtype is None else dtype)
    return np.einsum("ij,ij->i", X, X, dtype=dtype)


def copied(x):
    """A new array of the same numbers."""
    return namespace(x).asarray(x, copy=True) if elsewhere(x) else np.array(x)


def written_over(name, t, *others):
    """The function of this name of t, written over t where its library can."""
    if elsewhere(t):
        return getattr(namespace(t), {"power": "pow"}.get(name, name))(t, *others)
    return getattr(np, name)(t, *others, out=t)


def failures():
    """The errors by which libraries say that a decomposition failed."""
    torch = sys.modules.get("torch")
    return (np.linalg.LinAlgError,) if torch is None else (np.linalg.LinAlgError, torch.linalg.LinAlgError)
