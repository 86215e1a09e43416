"""Constructors whose error for an unknown keyword says which parameter to use instead."""

import inspect
from typing import Any, ClassVar


class _Signature:
    """The signature of ``__init__``: that of ``__new__`` accepts everything."""

    def __get__(self, _: Any, cls: type) -> inspect.Signature:
        parameters = list(inspect.signature(cls.__init__).parameters.values())  # type: ignore[misc]
        return inspect.Signature(parameters[1:])


class Keywords:
    """Mixin for classes whose ``_misplaced`` maps unknown keywords to advice for the error message."""

    _misplaced: ClassVar[dict[str, str]] = {}
    __signature__ = _Signature()

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        for name in cls._misplaced.keys() & keywords.keys():
            if name not in inspect.signature(cls).parameters:
                raise TypeError(f"{cls.__name__} has no parameter {name!r}. {cls._misplaced[name]}")
        return super().__new__(cls)
