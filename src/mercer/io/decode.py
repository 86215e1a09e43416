"""Decoding of models: only known classes are created, and only from data."""

import inspect
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .._core.npy import check_dtype
from .._core.registry import file_class
from .classes import ONLY
from .encode import DEEPEST, is_data

SPARSE = {"csr_matrix", "csc_matrix", "csr_array", "csc_array"}
MERSENNE = 624  # words of the state of NumPy's RandomState; a position beyond them would read other memory
Arrays = dict[str, np.ndarray]


class Malformed(ValueError):
    """Values that are not an encoded model."""


def decode(value: Any, arrays: Arrays, depth: int = 0) -> Any:
    """Return the object that ``encode`` encoded; ``arrays`` maps names to arrays."""
    if depth > DEEPEST + 2:  # a stored part may add a level or two of its own
        raise Malformed("values are nested too deeply")

    def inner(part: Any) -> Any:
        return decode(part, arrays, depth + 1)

    if isinstance(value, list):
        return [inner(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), None)
    if kind not in _KINDS:
        raise Malformed(f"{kind!r} is not a type of value")
    try:
        return _KINDS[kind](value, inner, arrays)
    except Malformed:
        raise
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise Malformed(f"a value of type {kind!r} cannot be decoded ({type(error).__name__}: {error})") from None


def _float(value: dict, inner: Callable, arrays: Arrays) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value["float"]]


def _dict(value: dict, inner: Callable, arrays: Arrays) -> dict:
    return {inner(key): inner(part) for key, part in value["dict"]}


def _array(value: dict, inner: Callable, arrays: Arrays) -> np.ndarray:
    if value["array"] not in arrays:
        raise Malformed(f"there is no member {value['array']!r}")
    return arrays[value["array"]]


def _scalar(value: dict, inner: Callable, arrays: Arrays) -> np.generic:
    dtype = np.dtype(str(value["scalar"]))
    check_dtype(dtype)
    return dtype.type(inner(value["value"]))


def _objects(value: dict, inner: Callable, arrays: Arrays) -> np.ndarray:
    parts, shape = [inner(part) for part in value["objects"]], [int(side) for side in value["shape"]]
    if min(shape, default=1) < 0 or math.prod(shape) != len(parts):
        raise Malformed(f"{len(parts)} objects do not fill the shape {shape}")
    array = np.empty(len(parts), dtype=object)
    array[:] = parts
    return array.reshape(shape)


def _sparse(value: dict, inner: Callable, arrays: Arrays) -> Any:
    if value["sparse"] not in SPARSE:
        raise Malformed(f"{value['sparse']!r} is not a sparse format")
    data, indices, indptr = (inner(value[part]) for part in ("data", "indices", "indptr"))
    matrix = getattr(scipy.sparse, value["sparse"])((data, indices, indptr), shape=tuple(map(int, value["shape"])))
    matrix.check_format(full_check=True)  # indices beyond the shape would write into other memory
    return matrix


def _random_state(value: dict, inner: Callable, arrays: Arrays) -> np.random.RandomState:
    name, key, position, has_gauss, cached = inner(value["random_state"])
    if name != "MT19937" or key.shape != (MERSENNE,) or not 0 <= int(position) <= MERSENNE:
        raise Malformed("the state of a random generator is damaged")
    state = np.random.RandomState()
    state.set_state((name, key.astype(np.uint32), int(position), int(bool(has_gauss)), float(cached)))
    return state


def _made(value: dict, inner: Callable, arrays: Arrays) -> Any:
    """Create an object of a known class: call its constructor with data, then set its state."""
    name = value["made"]
    try:
        cls = file_class(name)
    except (KeyError, TypeError):
        raise Malformed(f"the class {name!r} is unknown: from another package, or a newer version of mercer") from None
    params = {key: inner(part) for key, part in value["params"].items()}
    state = {key: inner(part) for key, part in value["state"].items()}
    unknown = set(params) - ONLY.get(name, _parameters(cls)) | {key for key in state if not is_data(cls, key)}
    if unknown:
        raise Malformed(f"{name} has no {', '.join(map(repr, sorted(unknown)))}")
    made = cls(**params)
    if state:
        made.__dict__.update(state)
    _check(name, made)
    return made


def _parameters(cls: type) -> set[str]:
    """Return the parameter names of a constructor."""
    if is_dataclass(cls):
        return {field.name for field in fields(cls) if field.init}
    return set(inspect.signature(cls).parameters)


def _check(name: str, made: Any) -> None:
    """Raise an error for an expansion whose coefficients do not fit its points."""
    if name != "rkhs.Expansion":
        return
    if made.B.ndim != 2 or len(made.Z.shape) != 2 or made.B.shape[0] != made.Z.shape[0]:
        raise Malformed(f"coefficients of shape {made.B.shape} do not fit points of shape {made.Z.shape}")


_KINDS = {
    "float": _float,
    "tuple": lambda value, inner, arrays: tuple(inner(part) for part in value["tuple"]),
    "dict": _dict,
    "slice": lambda value, inner, arrays: slice(*map(inner, value["slice"])),
    "scalar": _scalar,
    "objects": _objects,
    "array": _array,
    "sparse": _sparse,
    "random_state": _random_state,
    "made": _made,
}
