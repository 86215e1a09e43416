"""Encoding of tables of objects, column by column: strings, sets and series as arrays, not as values of JSON."""

from collections.abc import Callable
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

BYTES_OF_CELL = 256  # bytes of a small set, or of an array without its numbers
BYTES_OF_MEMBER = 64  # bytes per element of a set: its table has up to four entries for each
BYTES_OF_STRING = 64  # without its text
BYTES_OF_NUMBER = 32  # with the place in its table


class BadColumn(ValueError):
    """Parts that do not form a column."""


def encode_table(table: np.ndarray, inner: Callable) -> dict[str, Any]:
    """Return the columns of a table of objects, encoded."""
    return {"columns": [_encoded(column.tolist(), inner) for column in table.T], "rows": len(table)}


def _encoded(values: list, inner: Callable) -> Any:
    """Encode a list: numbers as an array, strings, sets and series one after the other, others as codes of few."""
    types = {type(value) for value in values}
    if types == {float}:
        return inner(np.array(values), "")
    if types == {str}:
        text = [value.encode("utf-8", "surrogatepass") for value in values]
        return {"strings": inner(np.frombuffer(b"".join(text), np.uint8).copy(), ""), "lengths": _lengths(text, inner)}
    if types == {frozenset}:
        members = [member for value in values for member in sorted(value, key=repr)]
        return {"sets": _coded(members, inner), "lengths": _lengths(values, inner)}
    if types == {np.ndarray}:
        return {"series": inner(np.concatenate(values), ""), "lengths": _lengths(values, inner)}
    return _coded(values, inner)


def _coded(values: list, inner: Callable) -> dict[str, Any]:
    """Encode values, many of which are equal, as codes."""
    keys = [(type(value).__name__, repr(value)) for value in values]  # 1, 1.0 and True are equal, and three values
    different = dict(zip(keys, values, strict=True))
    places = {key: i for i, key in enumerate(different)}
    codes = np.array([places[key] for key in keys], np.int64)
    return {"codes": inner(codes, ""), "of": [inner(value, "[…]") for value in different.values()]}


def _lengths(values: list, inner: Callable) -> Any:
    return inner(np.array([len(value) for value in values], np.int64), "")


def decode_table(value: dict, inner: Callable, source: Any) -> np.ndarray:
    """Return the table encoded by ``encode_table``; parts of a model that shared one share it again."""
    text = repr(value)
    source.spend(4 * len(text))
    key = sha256(text.encode("utf-8", "surrogatepass")).digest()
    if key not in source.tables:
        source.tables[key] = _table([inner(column) for column in value["columns"]], int(value["rows"]), source)
    return source.tables[key]


def _table(columns: list, n: int, source: Any) -> np.ndarray:
    for column in columns:
        if len(column) != n:
            raise BadColumn(f"a column has {len(column)} cells, and the table {n} rows")
    source.spend(BYTES_OF_NUMBER * n * len(columns))
    table = np.empty((n, len(columns)), dtype=object)
    for j, column in enumerate(columns):
        cells = _plain(column, "f").tolist() if isinstance(column, np.ndarray) else column
        for i, cell in enumerate(cells):
            table[i, j] = cell
    return table


def decode_strings(value: dict, inner: Callable, source: Any) -> list[str]:
    """Return strings."""
    text, lengths = _plain(inner(value["strings"]), "u"), _numbers(inner(value["lengths"]))
    source.spend(4 * text.nbytes + BYTES_OF_STRING * len(lengths))
    parts = map(text.tobytes().__getitem__, _parts(lengths, len(text)))
    return [part.decode("utf-8", "surrogatepass") for part in parts]


def decode_sets(value: dict, inner: Callable, source: Any) -> list[frozenset]:
    """Return sets."""
    members, lengths = inner(value["sets"]), _numbers(inner(value["lengths"]))
    source.spend(BYTES_OF_CELL * len(lengths) + BYTES_OF_MEMBER * len(members))
    parts = [members[part] for part in _parts(lengths, len(members))]
    for part in parts:
        source.check_keys(part)
    return [frozenset(part) for part in parts]


def decode_series(value: dict, inner: Callable, source: Any) -> list[np.ndarray]:
    """Return series."""
    points, lengths = inner(value["series"]), _numbers(inner(value["lengths"]))
    source.spend(points.nbytes + BYTES_OF_CELL * len(lengths))
    return [points[part].copy() for part in _parts(lengths, len(points))]


def decode_codes(value: dict, inner: Callable, source: Any) -> list:
    """Return values that are numbered."""
    codes, different = _numbers(inner(value["codes"])), [inner(part) for part in value["of"]]
    source.spend(8 * len(codes))
    if codes and not 0 <= min(codes) <= max(codes) < len(different):
        raise BadColumn("a code has no value")
    return [different[code] for code in codes]


def _plain(array: Any, kinds: str) -> np.ndarray:
    """Return a vector of one of some kinds of numbers, or raise BadColumn."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in kinds:
        raise BadColumn("a column has other parts than vectors of numbers")
    return array


def _numbers(array: Any) -> list[int]:
    """Return a vector of integers as a list."""
    return _plain(array, "iu").tolist()


def _parts(lengths: list, n: int) -> list[slice]:
    """Return slices of these lengths, which must cover n entries."""
    ends = list(accumulate(lengths, initial=0))
    if min(lengths, default=0) < 0 or ends[-1] != n:
        raise BadColumn(f"parts of {ends[-1]} entries do not fill a list of {n}")
    return [slice(start, end) for start, end in pairwise(ends)]


KINDS = {
    "columns": decode_table,
    "strings": decode_strings,
    "sets": decode_sets,
    "series": decode_series,
    "codes": decode_codes,
}
