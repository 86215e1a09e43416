"""Decoding of models: only known classes are created, only from data, within a budget, and checked by their schemas."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator

from .._core.npy import check_dtype
from .._core.registry import file_class
from . import objects, schema
from .archive import TOO_LARGE
from .encode import DEEPEST

SPARSE = {"csr_matrix", "csc_matrix", "csr_array", "csc_array"}
MERSENNE = 624  # words of the state of NumPy's RandomState; a position beyond them would read other memory
BYTES_OF_OBJECT = 1024  # an upper bound for a small object with its attributes
MOST_ESTIMATORS = 2_000  # their parameters are validated one by one, which takes time
SECONDS, BYTES_PER_SECOND = 5.0, 2**25  # of the processor: 10 s for a file of 20 MB, which allows 152 MB
MOST_ALIKE = 100  # keys with the same hash: more are chosen to make dictionaries and sets slow


class Malformed(ValueError):
    """Values that are not an encoded model."""


class Source:
    """The arrays of a file by name, and its budget: the bytes, estimators and time that decoding may still take."""

    def __init__(self, arrays: dict[str, np.ndarray], left: int):
        self.arrays, self.left, self.estimators = arrays, left, MOST_ESTIMATORS
        self.tables: dict[bytes, np.ndarray] = {}  # of objects, by a digest of their encoding
        self.end = time.thread_time() + SECONDS + left / BYTES_PER_SECOND

    def spend(self, cost: int) -> None:
        """Count an allocation; raise Malformed if it is one too many, or the time is over."""
        self.left -= cost
        if self.left < 0:
            raise Malformed(f"it would take more than {TOO_LARGE}")
        if time.thread_time() > self.end:
            raise Malformed("it takes too long to decode")

    def check_keys(self, keys: Iterable) -> None:
        """Raise Malformed for keys that were chosen to have the same hash."""
        if max(Counter(map(hash, keys)).values(), default=0) > MOST_ALIKE:
            raise Malformed("its keys were chosen to take long")

    def spend_estimator(self) -> None:
        """Count an estimator; raise Malformed if it is one too many."""
        self.estimators -= 1
        if self.estimators < 0:
            raise Malformed(f"it holds more than {MOST_ESTIMATORS} estimators")


def decode(value: Any, source: Source, depth: int = 0) -> Any:
    """Return the object encoded by ``encode``."""
    if depth > DEEPEST + 2:  # a stored part may add a level or two of its own
        raise Malformed("values are nested too deeply")

    def inner(part: Any) -> Any:
        return decode(part, source, depth + 1)

    if isinstance(value, list):
        return [inner(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), None)
    if kind not in _KINDS:
        raise Malformed(f"{kind!r} is not a type of value")
    source.spend(BYTES_OF_OBJECT)
    try:
        return _KINDS[kind](value, inner, source)
    except Malformed:
        raise
    except schema.Invalid as error:
        raise Malformed(str(error)) from None
    except Exception as error:  # constructors and checks of many classes, on values of any type
        raise Malformed(f"a value of type {kind!r} cannot be decoded ({type(error).__name__}: {error})") from None


def _float(value: dict, inner: Callable, source: Source) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value["float"]]


def _dict(value: dict, inner: Callable, source: Source) -> dict:
    pairs = [(inner(key), inner(part)) for key, part in value["dict"]]
    source.check_keys(key for key, _ in pairs)
    return dict(pairs)


def _array(value: dict, inner: Callable, source: Source) -> np.ndarray:
    if value["array"] not in source.arrays:
        raise Malformed(f"there is no member {value['array']!r}")
    return source.arrays[value["array"]]


def _scalar(value: dict, inner: Callable, source: Source) -> np.generic:
    dtype = np.dtype(str(value["scalar"]))
    check_dtype(dtype)
    number = inner(value["value"])
    if not isinstance(number, bool | int | float | str):
        raise Malformed("a scalar holds more than one value")  # NumPy would make an array
    return dtype.type(number)


def _objects(value: dict, inner: Callable, source: Source) -> np.ndarray:
    parts, shape = [inner(part) for part in value["objects"]], [int(side) for side in value["shape"]]
    if min(shape, default=1) < 0 or math.prod(shape) != len(parts):
        raise Malformed(f"{len(parts)} objects do not fill the shape {shape}")
    array = np.empty(len(parts), dtype=object)
    array[:] = parts
    return array.reshape(shape)


def _sparse(value: dict, inner: Callable, source: Source) -> Any:
    if value["sparse"] not in SPARSE:
        raise Malformed(f"{value['sparse']!r} is not a sparse format")
    data, indices, indptr = (inner(value[part]) for part in ("data", "indices", "indptr"))
    source.spend(2 * sum(part.nbytes for part in (data, indices, indptr)))  # SciPy copies what it has to convert
    matrix = getattr(scipy.sparse, value["sparse"])((data, indices, indptr), shape=tuple(map(int, value["shape"])))
    matrix.check_format(full_check=True)  # indices beyond the shape would write into other memory
    return matrix


def _random_state(value: dict, inner: Callable, source: Source) -> np.random.RandomState:
    source.spend(8 * MERSENNE)
    name, key, position, has_gauss, cached = inner(value["random_state"])
    if name != "MT19937" or key.shape != (MERSENNE,) or not 0 <= int(position) <= MERSENNE:
        raise Malformed("the state of a random generator is damaged")
    state = np.random.RandomState()
    state.set_state((name, key.astype(np.uint32), int(position), int(bool(has_gauss)), float(cached)))
    return state


def _made(value: dict, inner: Callable, source: Source) -> Any:
    """Create an object of a known class: call its constructor with data, set its state, and check the whole."""
    name = value["made"]
    try:
        cls = file_class(name)
    except (KeyError, TypeError):
        raise Malformed(f"the class {name!r} is unknown: from another package, or a newer version of mercer") from None
    if issubclass(cls, BaseEstimator):
        source.spend_estimator()
    unknown = [*value["params"].keys() - schema.parameters(cls), *value["state"].keys() - schema.state(cls)]
    if unknown:
        raise Malformed(f"{name} has no {min(unknown)!r}")
    made = cls(**{key: inner(part) for key, part in value["params"].items()})
    state = {key: inner(part) for key, part in value["state"].items()}
    if state:
        made.__dict__.update(state)
    schema.check(made)
    return made


_KINDS = {
    "float": _float,
    "tuple": lambda value, inner, source: tuple(inner(part) for part in value["tuple"]),
    "dict": _dict,
    "slice": lambda value, inner, source: slice(*map(inner, value["slice"])),
    "scalar": _scalar,
    "objects": _objects,
    **objects.KINDS,
    "array": _array,
    "sparse": _sparse,
    "random_state": _random_state,
    "made": _made,
}
