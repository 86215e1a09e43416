"""Encoding of models as JSON values and arrays, without code.

None, booleans, numbers, strings and lists represent themselves. Anything else is an object whose first key is its type:
``{"array": name}``, ``{"tuple": […]}``, ``{"made": class, …}`` and so on.
"""

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from .._core.registry import file_name
from .._core.sklearn import CALLBACK_ATTRIBUTES
from . import schema
from .objects import encode_table

DEEPEST = 40  # levels of nesting: more than any model has, fewer than Python's stack allows
TRANSIENT = (*CALLBACK_ATTRIBUTES, "_metadata_request", "_sklearn_version")  # of scikit-learn, not of the model
ALTERNATIVE = "Or save this model with skops, joblib or pickle, and load such files only from sources that you trust."

Store = Callable[[np.ndarray], str]


class Unstorable(TypeError):
    """A part of a model that is not data and cannot be saved.

    Examples
    --------
    >>> import mercer
    >>> model = mercer.KernelPCA(kernel=lambda X, Y: X @ Y.T)
    >>> try:
    ...     mercer.save(model, "model.mercer")
    ... except mercer.io.Unstorable as error:
    ...     print(str(error).partition(". ")[0])
    KernelPCA.kernel is the function '<lambda>', and a model file contains data and no code
    """


def encode(value: Any, store: Store, where: str, depth: int = 0) -> Any:
    """Return a value that JSON can represent; ``store(array)`` saves an array and returns its name."""
    if depth > DEEPEST:
        raise Unstorable(f"{where} is nested more than {DEEPEST} levels deep, or contains itself.")

    def inner(part: Any, name: str) -> Any:
        return encode(part, store, f"{where}{name}", depth + 1)

    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [inner(part, f"[{i}]") for i, part in enumerate(value)]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return {"tuple": [inner(part, f"[{i}]") for i, part in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": [[inner(key, " key"), inner(part, f"[{key!r}]")] for key, part in value.items()]}
    if isinstance(value, slice):
        return {"slice": [inner(end, "") for end in (value.start, value.stop, value.step)]}
    if isinstance(value, np.generic):
        return {"scalar": value.dtype.str, "value": inner(value.item(), "")}
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 2:
        return encode_table(value, inner)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"objects": [inner(part, "[…]") for part in value.ravel().tolist()], "shape": list(value.shape)}
    if isinstance(value, np.ndarray):
        return {"array": _stored(value, store, where)}
    if issparse(value):
        return _sparse(value, inner)
    if isinstance(value, np.random.RandomState):
        return {"random_state": inner(value.get_state(), "")}
    return _made(value, inner, where)


def _stored(array: np.ndarray, store: Store, where: str) -> str:
    try:
        return store(array)
    except ValueError as error:
        raise Unstorable(f"{where} cannot be stored: {error}.") from None


def _sparse(matrix: Any, inner: Callable) -> dict[str, Any]:
    """Encode a sparse matrix or array, in CSR unless it is in CSC format."""
    matrix = matrix if matrix.format in {"csr", "csc"} else matrix.tocsr()
    parts = {part: inner(getattr(matrix, part), f".{part}") for part in ("data", "indices", "indptr")}
    return {"sparse": type(matrix).__name__, "shape": list(map(int, matrix.shape)), **parts}


def _made(value: Any, inner: Callable, where: str) -> dict[str, Any]:
    """Encode an instance of a known class by its constructor parameters and the rest of its state."""
    name = file_name(type(value))
    if name is None:
        raise Unstorable(f"{where} is {_describe(value)} {ALTERNATIVE}")
    cls: Any = type(value)
    settled, params, state = _parameters(value), schema.parameters(cls), schema.state(cls)
    own = {key: part for key, part in _state(value).items() if key not in settled and schema.is_data(cls, key)}
    for key in own.keys() - state.keys():
        raise Unstorable(f"{where}.{key} is not declared. Annotate it in the class {cls.__name__} to store it.")
    encoded = {
        "made": name,
        "params": {key: inner(part, f".{key}") for key, part in settled.items() if key in params},
        "state": {key: inner(part, f".{key}") for key, part in own.items()},
    }
    try:
        schema.check(value)
    except schema.Invalid as error:
        raise Unstorable(f"{where} cannot be stored: {error}.") from None
    return encoded


def _parameters(value: Any) -> dict[str, Any]:
    if isinstance(value, BaseEstimator | GaussianProcessKernel):
        return value.get_params(deep=False)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return value._asdict() if hasattr(value, "_asdict") else {}


def _state(value: Any) -> dict[str, Any]:
    """Return the state of an object without transient attributes."""
    state = value.__getstate__() or {}
    return {key: part for key, part in state.items() if not key.startswith(TRANSIENT)}


def _describe(value: Any) -> str:
    if callable(value) and not isinstance(value, BaseEstimator) and not is_dataclass(value):
        return (
            f"the function {getattr(value, '__name__', value)!r}, and a model file contains data and no code. "
            "Use the kernels of mercer.kernels, which can be added and multiplied."
        )
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    return f"of the class {name}, which model files do not support (mercer.io.CLASSES)."
