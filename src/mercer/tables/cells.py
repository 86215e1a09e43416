"""Lines into columns: by NumPy where a block of lines is plain numbers, else cell by cell."""

import csv
from contextlib import suppress
from itertools import chain

import numpy as np

from .table import SHOWN, TableError

MISSING = {"", "na", "n/a", "nan", "null", "none"}


def records(block, rest, dialect):
    """Number within the block, and fields, of each record that begins in it; quotes may reach into the rest."""
    reader = csv.reader(chain(block, rest), **dialect)
    while (line := reader.line_num) < len(block):
        yield line, next(reader)


def plain(block, index, fields, delimiter, wordy=frozenset()):
    """The wanted columns of lines without quotes: numbers, but texts for those that are ``wordy``; None where not.

    NumPy reads the numbers. It counts the fields itself where it reads all columns, and passes over empty lines.
    """
    numeric = [i for i in index if i not in wordy]
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
        found |= {i: tuple(row[i].strip() for row in split) for i in index if i in wordy}
    return [found[i] for i in index]


def cells(block, rest, fields, dialect, begin):
    """Line numbers and rows of fields of a block that begins at line ``begin``; the fields of each are counted."""
    numbers, rows = [], []
    try:
        for line, row in records(block, rest, dialect):
            row = row or [""]
            if len(row) != fields:
                raise TableError(f"{rest.source}: line {begin + line} {_miscounted(row, fields, dialect)}")
            rows.append(row)
            numbers.append(begin + line)
    except csv.Error as error:
        raise TableError(f"{rest.source}: line {begin + len(rows)} or later: {error}. Look at its quotes.") from None
    return np.array(numbers), rows


def _miscounted(row, fields, dialect):
    if row == [""]:
        return "is empty, and rows follow it."
    mark = repr(dialect["delimiter"])
    return f"has {len(row)} field{'s' * (len(row) != 1)}, and line 1 has {fields}. A {mark} in a field needs quotes."


def as_numbers(texts, decimal):
    """An array of numbers, NaN where a cell is missing, or the stripped texts where not all are numbers."""
    if decimal == "." and "_" not in "".join(texts):  # Python reads 1_000
        with suppress(ValueError):
            return np.fromiter(map(float, texts), float, len(texts))
    values = [number(text, decimal) for text in texts]
    return tuple(text.strip() for text in texts) if None in values else np.array(values, float)


def number(text, decimal="."):
    """The number that a text stands for, NaN where it stands for a missing one, None where it is none."""
    text = text.strip()
    if text.lower() in MISSING:
        return np.nan
    if decimal != ".":
        text = text.replace(".", "x").replace(decimal, ".")
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def column(parts, numbers, name, source, decimal):
    """The parts of a column as one array, and where its first words are if it has both numbers and words."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts), ""
    texts = np.array([text for part in parts for text in _texts(part)], dtype=object)
    meanings = {text: number(text, decimal) for text in set(texts)}  # few, where they are categories
    values = [meanings[text] for text in texts]
    words = [i for i, value in enumerate(values) if value is None]
    missing = np.array([value is not None and np.isnan(value) for value in values])
    texts[missing] = None
    for i in np.flatnonzero([value is not None for value in values] & ~missing):
        texts[i] = repr(values[i]).removesuffix(".0")  # one spelling, so that labels 1 and 1.0 are one
    if len(words) + missing.sum() == len(values):
        return texts, ""
    first = ", ".join(str(numbers[i]) for i in words[:SHOWN]) + (", …" if len(words) > SHOWN else "")
    count = "" if len(words) == 1 else f" ({len(words)} such cells, in lines {first})"
    word = texts[words[0]]
    return texts, f"{source}: line {numbers[words[0]]}, column {name!r}: {_shown(word)} is no number{count}."


def _texts(part):
    return part if isinstance(part, tuple) else map(repr, part.tolist())


def _shown(text):
    return repr(text if len(text) <= 40 else text[:40] + "…")  # a line of the terminal has room for that
