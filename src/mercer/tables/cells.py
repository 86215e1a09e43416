"""From lines to columns: by NumPy if a block of lines contains only numbers, else cell by cell."""

import csv
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from .lines import Lines
from .table import SHOWN, TableError

MISSING = {"", "na", "n/a", "nan", "null", "none"}
SHOWN_TEXT = 40  # characters of a cell that an error message quotes
Dialect = dict[str, Any]  # arguments of csv.reader


def records(block: list[str], rest: Iterable[str], dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each record of a block; a quoted field may continue in ``rest``."""
    reader = csv.reader(chain(block, rest), **dialect)
    while (line := reader.line_num) < len(block):
        yield line, next(reader)


def parse_fast(
    block: list[str], index: list[int], fields: int, delimiter: str, textual: Set[int] = frozenset()
) -> list | None:
    """Return the columns ``index`` of lines without quotes, or None if they cannot be parsed by NumPy.

    Columns in ``textual`` are returned as texts, others as numbers. NumPy itself counts the fields if it reads all
    columns, and skips empty lines.
    """
    numeric = [i for i in index if i not in textual]
    every = len(numeric) == fields
    if not every and any(line.count(delimiter) != fields - 1 or '"' in line for line in block):
        return None
    try:
        X = np.loadtxt(block, delimiter=delimiter, comments=None, usecols=None if every else sorted(numeric), ndmin=2)
    except ValueError:
        return None
    if X.shape != (len(block), len(numeric)):
        return None
    found = dict(zip(sorted(numeric), X.T, strict=True))
    if len(numeric) < len(index):
        split = [line.split(delimiter) for line in block]
        found |= {i: tuple(row[i].strip() for row in split) for i in index if i in textual}
    return [found[i] for i in index]


def parse_records(block: list[str], rest: Lines, fields: int, dialect: Dialect, begin: int) -> tuple[np.ndarray, list]:
    """Return line numbers and fields of the records of a block that begins at line ``begin``."""
    numbers, rows = [], []
    try:
        for line, row in records(block, rest, dialect):
            row = row or [""]
            if len(row) != fields:
                raise TableError(f"{rest.source}: line {begin + line} {_field_count_error(row, fields, dialect)}")
            rows.append(row)
            numbers.append(begin + line)
    except csv.Error as error:
        raise TableError(f"{rest.source}: line {begin + len(rows)} or later: {error}. Check its quotes.") from None
    return np.array(numbers), rows


def _field_count_error(row: list[str], fields: int, dialect: Dialect) -> str:
    if row == [""]:
        return "is empty, but rows follow it."
    delimiter = repr(dialect["delimiter"])
    found = f"has {len(row)} field{'s' * (len(row) != 1)}"
    return f"{found}, but line 1 has {fields}. A field that contains {delimiter} must be quoted."


def as_numbers(texts: Sequence[str], decimal: str) -> np.ndarray | tuple[str, ...]:
    """Return an array of numbers, with NaN for missing cells, or the stripped texts if not all are numbers."""
    if decimal == "." and "_" not in "".join(texts):  # float accepts 1_000
        with suppress(ValueError):
            return np.fromiter(map(float, texts), float, len(texts))
    values = [number(text, decimal) for text in texts]
    return tuple(text.strip() for text in texts) if None in values else np.array(values, float)


def number(text: str, decimal: str = ".") -> float | None:
    """Return the number in a text, NaN if it means a missing value, None if it is not a number."""
    text = text.strip()
    if text.lower() in MISSING:
        return np.nan
    if decimal != ".":
        text = text.replace(".", "x").replace(decimal, ".")
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def join(parts: list, lines: np.ndarray, name: str, source: str, decimal: str) -> tuple[np.ndarray, str]:
    """Return the parts of a column as one array, and an error message if numbers and texts are mixed in it."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts), ""
    texts = np.array([text for part in parts for text in _texts(part)], dtype=object)
    parsed = {text: number(text, decimal) for text in set(texts)}  # few distinct ones, if they are categories
    values = [parsed[text] for text in texts]
    textual = [i for i, value in enumerate(values) if value is None]
    missing = np.array([value is not None and np.isnan(value) for value in values])
    texts[missing] = None
    for i in np.flatnonzero([value is not None for value in values] & ~missing):
        texts[i] = repr(values[i]).removesuffix(".0")  # labels 1 and 1.0 are the same
    if len(textual) + missing.sum() == len(values):
        return texts, ""
    first = ", ".join(str(lines[i]) for i in textual[:SHOWN]) + (", …" if len(textual) > SHOWN else "")
    count = "" if len(textual) == 1 else f" ({len(textual)} such cells, in lines {first})"
    text = texts[textual[0]]
    shown = repr(text if len(text) <= SHOWN_TEXT else text[:SHOWN_TEXT] + "…")
    return texts, f"{source}: line {lines[textual[0]]}, column {name!r}: {shown} is not a number{count}."


def _texts(part: np.ndarray | tuple[str, ...]) -> Iterable[str]:
    return part if isinstance(part, tuple) else map(repr, part.tolist())
