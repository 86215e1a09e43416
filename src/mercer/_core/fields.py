"""Declarations of the values that attributes may have; model files are checked against them.

The annotations of a class are its schema (:mod:`mercer.io.schema`). ``Annotated`` adds what a type cannot express:
``Annotated[np.ndarray, Numbers("m", "q")]``, ``Annotated[float, AtLeast(0)]``.
"""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, TypeVar

T = TypeVar("T")


class Numbers:
    """An array of numbers with the given sides, in the dtypes of ``kinds``, finite unless ``finite=False``.

    A side is a number, a letter (equal letters are equal sizes within one object), or an attribute of the object: an
    integer, or something with a length. With ``sparse=True``, a sparse matrix is accepted too; with ``"O"`` among the
    kinds, objects: strings, numbers, None, sets of them, and series (two-dimensional arrays of finite numbers).
    """

    def __init__(
        self, *sides: str | int, kinds: str = "biuf", finite: bool = True, least: float = -inf, sparse: bool = False
    ):
        self.sides, self.kinds, self.finite, self.least, self.sparse = sides, kinds, finite, least, sparse


class Labels(Numbers):
    """An array of labels: numbers or strings, also as objects."""

    def __init__(self, *sides: str | int):
        super().__init__(*sides, kinds="biufUO")


@dataclass(frozen=True)
class AtLeast:
    """A finite number that is not below ``least``."""

    least: float


@dataclass(frozen=True)
class Optional_:
    """An attribute that may be missing."""


@dataclass(frozen=True)
class Unstored:
    """An attribute that is computed again when it is needed, and not stored in files."""


Maybe = Annotated[T, Optional_()]
Cache = Annotated[Any, Unstored()]
Names = Annotated[Any, Labels("n_features_in_")]
NotNegative = Annotated[float, AtLeast(0)]
Count = Annotated[int, AtLeast(0)]
