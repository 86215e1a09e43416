"""Comma-separated text, read strictly: every line has the fields of the first, and nothing is guessed."""

import csv
from contextlib import closing

import numpy as np

from .cells import as_numbers, cells, column, number, plain, records
from .lines import Lines
from .table import Table, TableError, check_names

BLOCK = 2**19  # cells that are turned into numbers at once
MARKS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def read_text(stream, source, select, *, delimiter=None, decimal=".", header=True):
    """Return the selected columns of a text as a ``Table``.

    Parameters
    ----------
    stream : buffered binary file
        UTF-8, with or without a byte order mark.
    source : str
        Its name, for errors.
    select : callable
        From all names, and whether they are the source's own, to those that are wanted.
    delimiter : str, default=None
        A comma where it is None.
    decimal : {".", ","}, default="."
        The decimal mark.
    header : bool, default=True
        Whether the first line has the names; else they are x0, x1, …
    """
    with closing(Lines(stream, source)) as lines:
        return _table(lines, source, select, delimiter, decimal, header)


def _table(lines, source, select, delimiter, decimal, header):
    dialect = {"delimiter": delimiter or ",", "strict": True, "skipinitialspace": True}
    if dialect["delimiter"] == decimal:
        raise TableError(f"{source}: {decimal!r} is the delimiter and the decimal mark. Pass another --delimiter.")
    first = lines.take(1)
    if not first:
        raise TableError(f"{source}: there is nothing in it.")
    fields, first = _first_record(first, lines, dialect)
    _check_delimiter(fields, delimiter, source)
    names = _names(fields, source) if header else [f"x{i}" for i in range(len(fields))]
    wanted = select(names, header)
    columns, mixed, numbers = _columns([] if header else first, lines, names, wanted, dialect, decimal)
    others = tuple(name for name in names if name not in columns)
    return Table(columns, source, numbers, mixed, others, named=header)


def _first_record(first, lines, dialect):
    """The fields of the first record, and its lines: one, unless a quoted field runs over several."""
    taken = list(first)

    def more():
        for line in lines:
            taken.append(line)
            yield line

    try:
        return next(records(first, more(), dialect))[1] or [""], taken
    except csv.Error as error:
        raise TableError(f"{lines.source}: line 1: {error}. Look at its quotes.") from None


def _check_delimiter(fields, delimiter, source):
    """A single field that is full of another delimiter is no single field."""
    if len(fields) > 1 or delimiter is not None:
        return
    for mark, word in MARKS.items():
        if mark in fields[0]:
            shown = repr(mark) if mark != "\t" else "tab"
            raise TableError(
                f"{source}: line 1 has no comma but {word}. Pass --delimiter {shown} if they "
                "separate the fields (and --decimal ',' if the numbers have decimal commas)."
            )


def _names(fields, source):
    if all(number(field) is not None for field in fields) and any(field.strip() for field in fields):
        raise TableError(f"{source}: line 1 has numbers where names are expected. Pass --no-header if it has no names.")
    names = [field.strip() for field in fields]
    check_names(names, f"{source}: line 1")
    return names


def _columns(first, lines, names, wanted, dialect, decimal):
    """Columns by name, the words in those that should be numbers, and the line of each row."""
    at = {name: i for i, name in enumerate(names)}
    index = [at[name] for name in wanted]
    parts: list[list] = [[] for _ in wanted]
    wordy: set[int] = set()  # columns that were no numbers in an earlier block
    numbers, most = [], max(1, BLOCK // len(names))
    while block := first or lines.take(most):
        begin, first = lines.count - len(block) + 1, []
        new = plain(block, index, len(names), dialect["delimiter"], wordy) if decimal == "." else None
        if new is not None:
            numbers.append(np.arange(begin, begin + len(block)))
        else:
            found, rows = cells(block, lines, len(names), dialect, begin)
            numbers.append(found)
            fields = list(zip(*rows, strict=True))
            new = [as_numbers(fields[i], decimal) for i in index]
            wordy |= {i for i, piece in zip(index, new, strict=True) if isinstance(piece, tuple)}
        for part, piece in zip(parts, new, strict=True):
            part.append(piece)
    if not numbers:
        raise TableError(f"{lines.source}: there is a header and no rows.")
    places = np.concatenate(numbers)
    made = {n: column(part, places, n, lines.source, decimal) for n, part in zip(wanted, parts, strict=True)}
    return (
        {name: values for name, (values, _) in made.items()},
        {name: problem for name, (_, problem) in made.items() if problem},
        places,
    )
