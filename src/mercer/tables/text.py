"""Delimiter-separated text, read strictly: every record must have as many fields as the first."""

import csv
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from .cells import Dialect, as_numbers, join, number, parse_fast, parse_records, records
from .lines import Lines
from .table import Select, Table, TableError, check_names

BLOCK = 2**19  # number of cells parsed at once
DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def read_text(
    stream: Any, source: str, select: Select, *, delimiter: str | None = None, decimal: str = ".", header: bool = True
) -> Table:
    """Return the selected columns of a buffered binary stream of UTF-8 text.

    ``source`` is its name in error messages; ``select`` returns the names of the columns to read. The delimiter is a
    comma by default. Without a header the columns are named x0, x1, …
    """
    dialect = {"delimiter": delimiter or ",", "strict": True, "skipinitialspace": True}
    if dialect["delimiter"] == decimal:
        raise TableError(f"{source}: {decimal!r} is both the delimiter and the decimal mark. Pass another --delimiter.")
    with closing(Lines(stream, source)) as lines:
        first = lines.take(1)
        if not first:
            raise TableError(f"{source}: the file is empty.")
        fields, first = _first_record(first, lines, dialect)
        _check_delimiter(fields, delimiter, source)
        names = _names(fields, source) if header else [f"x{i}" for i in range(len(fields))]
        wanted = select(names, header)
        columns, mixed, numbers = _columns([] if header else first, lines, names, wanted, dialect, decimal)
    others = tuple(name for name in names if name not in columns)
    return Table(columns, source, numbers, mixed, others, named=header)


def _first_record(first: list[str], lines: Lines, dialect: Dialect) -> tuple[list[str], list[str]]:
    """Return the fields of the first record and its lines: several if a quoted field contains line ends."""
    taken = list(first)

    def more() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    try:
        return next(records(first, more(), dialect))[1] or [""], taken
    except csv.Error as error:
        raise TableError(f"{lines.source}: line 1: {error}. Check its quotes.") from None


def _check_delimiter(fields: list[str], delimiter: str | None, source: str) -> None:
    """Raise an error if there is a single field that contains other delimiters."""
    if len(fields) > 1 or delimiter is not None:
        return
    for character, name in DELIMITERS.items():
        if character in fields[0]:
            shown = repr(character) if character != "\t" else "tab"
            raise TableError(
                f"{source}: line 1 has no comma but {name}. Pass --delimiter {shown} if they separate the fields (and "
                "--decimal ',' if the numbers have decimal commas)."
            )


def _names(fields: list[str], source: str) -> list[str]:
    if all(number(field) is not None for field in fields) and any(field.strip() for field in fields):
        raise TableError(f"{source}: line 1 has numbers instead of names. Pass --no-header if there is no header.")
    names = [field.strip() for field in fields]
    check_names(names, f"{source}: line 1")
    return names


def _columns(
    first: list[str], lines: Lines, names: list[str], wanted: list[str], dialect: Dialect, decimal: str
) -> tuple[dict[str, np.ndarray], dict[str, str], np.ndarray]:
    """Return the columns by name, error messages for columns that mix numbers and texts, and the line of each row."""
    at = {name: i for i, name in enumerate(names)}
    index = [at[name] for name in wanted]
    parts: list[list] = [[] for _ in wanted]
    textual: set[int] = set()  # columns that contained text in an earlier block
    numbers, most = [], max(1, BLOCK // len(names))
    while block := first or lines.take(most):
        begin, first = lines.count - len(block) + 1, []
        new = parse_fast(block, index, len(names), dialect["delimiter"], textual) if decimal == "." else None
        if new is not None:
            numbers.append(np.arange(begin, begin + len(block)))
        else:
            found, rows = parse_records(block, lines, len(names), dialect, begin)
            numbers.append(found)
            fields = list(zip(*rows, strict=True))
            new = [as_numbers(fields[i], decimal) for i in index]
            textual |= {i for i, piece in zip(index, new, strict=True) if isinstance(piece, tuple)}
        for part, piece in zip(parts, new, strict=True):
            part.append(piece)
    if not numbers:
        raise TableError(f"{lines.source}: the table has a header and no rows.")
    places = np.concatenate(numbers)
    made = {n: join(part, places, n, lines.source, decimal) for n, part in zip(wanted, parts, strict=True)}
    columns = {name: values for name, (values, _) in made.items()}
    return columns, {name: problem for name, (_, problem) in made.items() if problem}, places
