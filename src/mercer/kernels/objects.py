"""Kernels of rows that are not numbers: the base class, and kernels of strings and of sets."""

import math
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from .._core.arrays import Array, is_objects
from .._core.registry import register
from .base import Kernel, checked_cells

LARGEST_CODE = 2**62  # upper bound of the code of a substring, because codes are int64
DENSE = 0.1  # share of nonzero entries above which dense products are faster than sparse ones

Encoded = tuple[Any, ...]  # arrays, or sparse matrices, with an entry for each row


class Objects(Kernel):
    """A kernel of objects: X is a table of dtype object, with only one column if each object is a whole row.

    A subclass defines how rows become arrays (``encoder``), once for each set of rows, and the kernel of two encoded
    sets (``between``).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Objects
    >>> class Length(Objects):
    ...     "k = the product of the lengths of two texts."
    ...     whole = True
    ...     cell = staticmethod(str)
    ...     def encoder(self, Z):
    ...         return lambda X: (np.array([float(len(text)) for text in X[:, 0]]),)
    ...     def between(self, x, z):
    ...         return np.outer(x[0], z[0])
    ...     def diag(self, X):
    ...         return self.encoder(X)(X)[0] ** 2
    >>> KernelPCA(1, kernel=Length()).fit_transform(["a", "bb", "cccccc"]).round(3).ravel()
    array([-2., -1.,  3.])
    """

    rows = "objects"
    takes = "objects"  # what a cell may contain, for error messages
    differentiable = False
    portable = False

    @staticmethod
    @abstractmethod
    def cell(value: Any) -> Any:
        """Return an object as it is stored; raise TypeError or ValueError if the kernel cannot use it."""

    @abstractmethod
    def encoder(self, Z: np.ndarray) -> Callable[[np.ndarray], Encoded]:
        """Return the function from rows to arrays that ``between`` compares with those of Z."""

    @abstractmethod
    def between(self, x: Encoded, z: Encoded) -> np.ndarray:
        """Return the matrix k(xᵢ, zⱼ) of encoded rows."""

    def checked(self, X: np.ndarray, names: Any = None) -> np.ndarray:
        if self.whole and X.shape[1] != 1:
            raise ValueError(
                f"{self!r} takes one object for each row, and the table has {X.shape[1]} columns. "
                f"Use OnColumns({type(self).__name__}(…), column) of mercer.kernels."
            )
        return checked_cells(X, self.cell, f"{type(self).__name__} takes {self.takes}", names)

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        Z = as_objects(Z, self.whole)
        encode = self.encoder(Z)
        z = encode(Z)
        return lambda x: self.between(encode(as_objects(x, self.whole)), z)

    def pairs(self, X: Array) -> Callable[[slice, slice], Array]:
        x = self.encoder(X)(X)
        return lambda i, j: self.between(tuple(part[i] for part in x), tuple(part[j] for part in x))


def as_objects(X: Any, whole: bool = False) -> np.ndarray:
    """Return rows as a table of objects, with one column if an object is a ``whole`` row; numbers may stay numbers.

    An array or sparse matrix of numbers stays as it is, unless an object is a whole row. In that case each of its rows
    becomes one object: a series, or the set of its columns that are not 0.
    """
    if isinstance(X, np.ndarray) and (is_objects(X) or not whole) and X.ndim == 2 and X.dtype.kind not in "US":
        return X
    if hasattr(X, "columns"):
        return np.column_stack([_column(np.asarray(X[name], dtype=object)) for name in X.columns])
    if issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and not whole):
        return X.astype(object) if isinstance(X, np.ndarray) else _column(list(X))
    X = list(X)
    if whole or not X or isinstance(X[0], str) or not hasattr(X[0], "__len__"):
        return _column(X)
    return np.vstack([_column(list(row)).T for row in X])


def _column(values: Any) -> np.ndarray:
    column = np.empty((len(values), 1), dtype=object)
    for i, value in enumerate(values):
        column[i, 0] = value
    return column


@register("spectrum")
@dataclass(eq=False, repr=False)
class Spectrum(Objects):
    """k = Σᵤ cᵤ(x)cᵤ(y), cᵤ(x) the number of substrings of length k of x with at most m mismatches to u.

    The spectrum kernel of strings (Leslie, Eskin & Noble 2002), and the mismatch kernel (Leslie et al. 2004) for
    m = ``mismatches`` > 0. u runs over the strings of length k of ``alphabet``, by default the characters of the
    training strings; substrings with other characters do not count. Long strings have large values:
    ``Normalized(Spectrum(k))`` does not depend on their length.

    Examples
    --------
    >>> from mercer.kernels import Normalized, Spectrum
    >>> Spectrum(2)(["banana"], ["ananas"])
    array([[8.]])
    >>> Normalized(Spectrum(2))(["banana"], ["banana"]).round(6)
    array([[1.]])
    """

    k: int = 3
    mismatches: int = 0
    alphabet: str | None = None
    whole = True
    takes = "strings"

    @staticmethod
    def cell(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError("not a string")
        return str(value)

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        if not (self.k >= 1 and 0 <= self.mismatches < self.k):
            raise ValueError(f"{self!r}: k must be at least 1, and mismatches at least 0 and below k.")
        bound = copy(self)
        bound.alphabet = _letters(as_objects(X, self.whole)) if self.alphabet is None else self.alphabet
        return bound

    def encoder(self, Z: np.ndarray) -> Callable[[np.ndarray], Encoded]:
        codes = self._coder(Z)
        known = np.unique(codes(Z)[1])

        def encode(X: np.ndarray) -> Encoded:
            row, code = codes(X)
            place = np.searchsorted(known, code)
            found = place < len(known)
            found[found] = known[place[found]] == code[found]
            ones = np.ones(np.count_nonzero(found))
            return (csr_array((ones, (row[found], place[found])), shape=(len(X), max(1, len(known)))),)

        return encode

    def between(self, x: Encoded, z: Encoded) -> np.ndarray:
        return dot(x[0], z[0])

    def diag(self, X: Array) -> Array:
        X = as_objects(X, self.whole)
        counts = self.encoder(X)(X)[0]
        return np.asarray((counts * counts).sum(axis=1)).ravel()

    def _coder(self, Z: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Return the function from strings to the row numbers and the codes of their substrings with mismatches."""
        if self.alphabet is None and self.mismatches:
            raise ValueError(
                f"{self!r} takes its alphabet from data, but is not bound to any. Use kernel.bind(X), or give alphabet."
            )
        letters = _points(_letters(Z) if self.alphabet is None else self.alphabet)
        if len(letters) ** self.k >= LARGEST_CODE:
            raise ValueError(f"{self!r}: {len(letters)} characters have too many substrings of this length. Lower k.")
        powers = len(letters) ** np.arange(self.k)

        def codes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            row, digits = _windows(X[:, 0], letters, self.k)
            near = [digits @ powers]
            for places in chain(*(combinations(range(self.k), r) for r in range(1, self.mismatches + 1))):
                for shifts in product(range(1, len(letters)), repeat=len(places)):
                    other = digits.copy()
                    other[:, places] = (other[:, places] + shifts) % len(letters)
                    near.append(other @ powers)
            return np.tile(row, len(near)), np.concatenate(near)

        return codes


def _letters(X: np.ndarray) -> str:
    return "".join(sorted(set().union(*map(set, X[:, 0]))))


def _points(text: str) -> np.ndarray:
    """Return the code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _windows(texts: np.ndarray, letters: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all substrings of length k, as numbers of sorted letters, and the number of the text of each."""
    order = np.argsort(letters)
    points = _points("".join(texts))
    row = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    if len(points) < k or not len(letters):
        return np.empty(0, int), np.empty((0, k), int)
    place = np.minimum(np.searchsorted(letters[order], points), len(letters) - 1)
    known = letters[order][place] == points
    view = np.lib.stride_tricks.sliding_window_view
    inside = (row[: len(row) - k + 1] == row[k - 1 :]) & view(known, k).all(axis=1)
    return row[: len(inside)][inside], view(place, k)[inside].astype(np.int64)


@register("jaccard")
@dataclass(eq=False, repr=False)
class Jaccard(Objects):
    """k = |x ∩ y| / |x ∪ y| of two sets, and 1 if both are empty: the Jaccard or Tanimoto similarity.

    Rows are sets (or lists) of strings or numbers, or rows of an array of fingerprints, each of which is the set of its
    columns that are not 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Jaccard
    >>> Jaccard()([{"a", "b"}, {"c"}], [{"b", "c"}])
    array([[0.33333333],
           [0.5       ]])
    >>> Jaccard()(np.array([[1, 1, 0]]), np.array([[0, 1, 1]])).round(3)
    array([[0.333]])
    """

    whole = True
    takes = "sets of strings or numbers, or rows of numbers"

    @staticmethod
    def cell(value: Any) -> frozenset:
        if issparse(value):
            value = np.asarray(value.todense())
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            return frozenset(np.flatnonzero(value).tolist())
        parts = [part.item() if isinstance(part, np.generic) else part for part in value]
        parts = [math.nan if part != part else part for part in parts]  # one object: a set finds NaN only by identity
        if isinstance(value, str) or not all(isinstance(part, str | int | float) for part in parts):
            raise TypeError("not a set")
        return frozenset(parts)

    def encoder(self, Z: np.ndarray) -> Callable[[np.ndarray], Encoded]:
        known: dict[Any, int] = {}
        for each in Z[:, 0]:
            for part in self.cell(each):
                known.setdefault(part, len(known))

        def encode(X: np.ndarray) -> Encoded:
            sets = [self.cell(each) for each in X[:, 0]]
            found = [[known[part] for part in each if part in known] for each in sets]
            ends = np.cumsum([0, *map(len, found)])
            places = np.fromiter(chain.from_iterable(found), int, ends[-1])
            ones = csr_array((np.ones(ends[-1]), places, ends), shape=(len(X), max(1, len(known))))
            return ones, np.array([len(each) for each in sets], float)

        return encode

    def between(self, x: Encoded, z: Encoded) -> np.ndarray:
        shared = dot(x[0], z[0])
        union = x[1][:, None] + z[1] - shared
        return np.divide(shared, union, out=np.ones_like(shared), where=union > 0)

    def diag(self, X: Array) -> Array:
        return np.ones(len(as_objects(X, self.whole)))


def dot(x: Any, z: Any) -> np.ndarray:
    """Return x zᵀ of two sparse matrices as a dense array."""
    if min(x.nnz, z.nnz) > DENSE * min(x.shape[0], z.shape[0]) * x.shape[1]:
        return x.toarray() @ z.toarray().T
    return (x @ z.T).toarray()
