"""Schemas of stored classes: the contents of a model file are checked against the annotations of each class.

The parameters of a class are those of its constructor; its state are its other annotated attributes, which do not hide
methods. A value must have the annotated type, an array the declared shape (see :mod:`mercer._core.fields`), and an
estimator valid parameters. A class whose parts must agree in more than shapes has a method ``_check_parts``. Attributes
that are not annotated are neither written nor read.
"""

import inspect
import math
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._core.fields import AtLeast, Labels, Numbers, Optional_, Unstored
from .._core.registry import FILE_CLASSES, file_name
from .classes import FOREIGN

OUTPUT = {"_sklearn_output_config": dict[Literal["transform"], Literal["default", "pandas", "polars"]]}


class Invalid(ValueError):
    """A value that is not what its class declares."""


@cache
def parameters(cls: type) -> dict[str, Any]:
    """Return the parameters of a constructor with their types."""
    if cls in FOREIGN:
        return FOREIGN[cls].parameters
    hints = {} if hasattr(cls, "_parameter_constraints") else _hints(cls)  # scikit-learn's constraints say more
    if is_dataclass(cls):
        return {field.name: hints.get(field.name, Any) for field in fields(cls) if field.init}
    names = inspect.signature(cls).parameters
    return {name: hints.get(name, Any) for name in names}


@cache
def state(cls: type) -> dict[str, Any]:
    """Return the other attributes that a stored object may have, with their types."""
    if cls in FOREIGN:
        return FOREIGN[cls].state
    model = issubclass(cls, BaseEstimator) and hasattr(cls, "fit")

    def is_state(name: str, hint: Any) -> bool:
        """By scikit-learn's rule, attributes set by ``fit`` end with an underscore; private ones begin with one."""
        follows = name.endswith("_") or name.startswith("_") or not model
        return follows and name != "_" and is_data(cls, name) and not _unstored(hint)

    hints = {name: hint for name, hint in _hints(cls).items() if is_state(name, hint)} | (OUTPUT if model else {})
    return {name: hint for name, hint in hints.items() if name not in parameters(cls)}


def _hints(cls: type) -> dict[str, Any]:
    """Return the annotations of a class; names imported for type checkers only are those of stored classes, or Any."""
    stored: dict[str, Any] = {each.__name__: each for each in FILE_CLASSES.values()}
    known: dict[str, Any] = {}
    while True:
        try:
            return get_type_hints(cls, localns=known, include_extras=True)
        except NameError as error:
            known[str(error.name)] = stored.get(str(error.name), Any)


def is_data(cls: type, key: str) -> bool:
    """Return True if an attribute does not hide a method, property or cached value of the class."""
    found = inspect.getattr_static(cls, key, None)
    slot = isinstance(found, types.MemberDescriptorType)
    return key.isidentifier() and not key.startswith("__") and (slot or not hasattr(found, "__get__"))


def check(made: Any) -> None:
    """Raise Invalid, which names the attribute, unless an object matches the declarations of its class."""
    cls: Any = type(made)
    sides: dict[str, int] = {}
    declared = parameters(cls) | state(cls)
    fitted = any(name in vars(made) for name in state(cls) if name.endswith("_")) if hasattr(cls, "fit") else True
    settled = made.get_params(deep=False) if isinstance(made, BaseEstimator) else {}  # may be stored under other names
    for name, hint in declared.items():
        if name in parameters(cls) or hasattr(made, name):
            value = settled[name] if name in settled else getattr(made, name)
            by_default = (
                value is None and getattr(cls, name, Any) is None
            )  # attributes that the class itself may leave open
            problem = None if by_default else _problem(value, hint, made, sides) or _unfitted(name, value)
        else:
            problem = "is missing" if fitted and not _optional(hint) and name not in OUTPUT else None
        if problem is not None:
            raise Invalid(f"{file_name(cls)}.{name} {problem}")
    try:
        if hasattr(made, "_validate_params") and hasattr(cls, "_parameter_constraints") and cls not in FOREIGN:
            made._validate_params()
        if hasattr(cls, "_check_parts") and fitted:
            made._check_parts()
    except Exception as error:
        raise Invalid(f"{file_name(cls)}: {error}") from None


def _unfitted(name: str, value: Any) -> str | None:
    """Return what is wrong with an estimator that belongs to a fitted state, or None."""
    if not name.endswith("_") or not isinstance(value, BaseEstimator) or not hasattr(value, "fit"):
        return None
    try:
        check_is_fitted(value)
    except NotFittedError:
        return "is not fitted"
    return None


def _optional(hint: Any) -> bool:
    return any(isinstance(mark, Optional_) for mark in _marks(hint))


def _unstored(hint: Any) -> bool:
    return get_origin(hint) is ClassVar or any(isinstance(mark, Unstored) for mark in _marks(hint))


def _marks(hint: Any) -> tuple:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _problem(value: Any, hint: Any, owner: Any, sides: dict[str, int]) -> str | None:
    """Return what is wrong with a value, or None."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        own = [_marked(value, mark, owner, sides) for mark in inner[1:] if not isinstance(mark, Optional_)]
        return next((problem for problem in [_problem(value, inner[0], owner, sides), *own] if problem), None)
    if origin in (Union, types.UnionType):
        problems = [_problem(value, part, owner, sides) for part in inner]
        return None if None in problems else problems[0]
    if origin is Literal:
        return None if value in inner else f"is {value!r}, not one of {inner}"
    if isinstance(origin, type):
        return _of_container(value, origin, inner, owner, sides)
    return None if _is_of(value, hint) else f"is {_kind(value)}, not {getattr(hint, '__name__', hint)}"


def _of_container(value: Any, origin: type, inner: tuple, owner: Any, sides: dict[str, int]) -> str | None:
    """Return what is wrong with a list, tuple or mapping, or with one of its parts, or None."""
    if not _is_of(value, origin):
        return f"is {_kind(value)}, not {origin.__name__}"
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict) and len(inner) == len(("key", "value")):
        pairs = [pair for item in value.items() for pair in zip(item, inner, strict=True)]
    elif isinstance(value, tuple) and Ellipsis not in inner:
        if len(value) != len(inner):
            return f"has {len(value)} parts, not {len(inner)}"
        pairs = list(zip(value, inner, strict=True))
    elif isinstance(value, list | tuple):
        pairs = [(part, inner[0]) for part in value]
    return next((problem for part in pairs if (problem := _problem(*part, owner, sides))), None)


def _is_of(value: Any, hint: Any) -> bool:
    """Return True if the type of a value is the annotated one; NumPy's numbers count as Python's."""
    if hint is Any:
        return True  # whatever a file can hold is data
    if hint is None or hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
    if not isinstance(hint, type) or getattr(hint, "_is_protocol", False):
        return True  # a type that cannot be checked
    return callable(value) if hint is Callable else isinstance(value, hint)


def _kind(value: Any) -> str:
    return repr(value) if isinstance(value, int | float | str) or value is None else f"of type {type(value).__name__}"


def _marked(value: Any, mark: Any, owner: Any, sides: dict[str, int]) -> str | None:
    if isinstance(mark, AtLeast):
        fine = isinstance(value, Real) and mark.least <= float(value) < math.inf
        return None if fine else f"is {_kind(value)}, not a number from {mark.least:g}"
    return _of_array(value, mark, owner, sides) if isinstance(mark, Numbers) else None


def _of_array(value: Any, mark: Numbers, owner: Any, sides: dict[str, int]) -> str | None:
    """Return what is wrong with the dtype, the shape or the values of an array, or None."""
    if not isinstance(value, np.ndarray) and not (mark.sparse and issparse(value)):
        return f"is {_kind(value)}, not an array"
    if value.dtype.kind not in mark.kinds:
        return f"is an array of {value.dtype}"
    expected = tuple(_side(side, owner, sides) for side in mark.sides)
    fits = [known in (None, side) for known, side in zip(expected, value.shape, strict=False)]
    if len(expected) != value.ndim or not all(fits):
        wanted = ", ".join(str(name if size is None else size) for name, size in zip(mark.sides, expected, strict=True))
        return f"has the shape {value.shape}, not ({wanted})"
    sides.update({str(name): side for name, side in zip(mark.sides, value.shape, strict=True)})
    if value.dtype.kind == "O":
        cell = _is_name if isinstance(mark, Labels) else _is_cell
        return None if all(map(cell, value.ravel())) else "holds other values than it may"
    entries = value.data if issparse(value) else value
    if value.dtype.kind == "f" and mark.finite and not np.isfinite(entries).all():
        return "is not finite"
    return f"has values below {mark.least:g}" if mark.least > -math.inf and (entries < mark.least).any() else None


def _is_name(value: Any) -> bool:
    return isinstance(value, str | Real) or value is None


def _is_cell(value: Any) -> bool:
    """Return True for what a row of objects may hold: a string, a number, None, a set of such, a series."""
    if isinstance(value, frozenset):
        return all(map(_is_name, value))
    if isinstance(value, np.ndarray):
        return value.ndim == 2 and value.dtype.kind == "f" and bool(np.isfinite(value).all())
    return _is_name(value)


def _side(side: str | int, owner: Any, sides: dict[str, int]) -> int | None:
    """Return the size of a side, or None if it is not known yet."""
    if isinstance(side, int):
        return side
    if side in sides or len(side) == 1:
        return sides.get(side)
    found: Any = owner
    for name in side.split("."):
        found = getattr(found, name)
    return int(found) if isinstance(found, Integral) else len(found)
