"""Which reader a table needs, and how results are written."""

import csv
import io
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from .._core import npy
from .._core.atomic import replacing
from .binary import read_npy, read_npz, read_parquet, write_parquet
from .table import TableError
from .text import read_text

FORMATS = ("csv", "tsv", "parquet", "npy", "npz")
PIPE = "-"
_SUFFIXES = {".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
_SUFFIXES |= {".npy": "npy", ".npz": "npz"}
_STARTS = {b"PAR1": "parquet", b"\x93NUM": "npy", b"PK\x03\x04": "npz"}  # a pipe has no name that tells
_BINARY = {"npy": read_npy, "npz": read_npz, "parquet": read_parquet}
_ROWS = 10_000  # written at once


def format_of(path, given=None):
    """The format of a path, by its ending; None for a pipe, whose first bytes will tell."""
    if given or path == PIPE:
        return given
    found = _SUFFIXES.get(Path(path).suffix.lower())
    if found is None:
        raise TableError(f"{path}: its ending tells no format. Pass one of {', '.join(FORMATS)} with --from or --to.")
    return found


def read(path, select, *, format=None, delimiter=None, decimal=".", header=True):
    """Return the columns of a table that ``select`` asks for, given all names; the path ``"-"`` is standard input."""
    format, source = format_of(path, format), "standard input" if path == PIPE else str(path)
    with _opened(path) as stream:
        format = format or _STARTS.get(stream.peek(4)[:4], "csv")
        if format in _BINARY:
            return _BINARY[format](stream, source, select)
        delimiter = "\t" if format == "tsv" and delimiter is None else delimiter
        return read_text(stream, source, select, delimiter=delimiter, decimal=decimal, header=header)


def _opened(path):
    if path != PIPE:
        return open(path, "rb")
    return io.BufferedReader(_Unclosed(sys.stdin.buffer))


class _Unclosed(io.RawIOBase):
    """Standard input, which stays open when its reader is done."""

    def __init__(self, stream):
        self._stream = stream

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def write(columns, path, *, format=None):
    """Write columns of equal length (name → values); ``path`` may be ``"-"`` for standard output.

    A file appears whole or not at all. Numbers are written so that reading gives them back to the last bit.
    """
    format = format_of(path, format) or "csv"
    if path == PIPE:
        try:
            _write(sys.stdout.buffer, columns, format, "standard output")
            sys.stdout.buffer.flush()
        except OSError as error:
            error.filename = "standard output"
            raise
        return
    with replacing(path) as stream:
        _write(stream, columns, format, str(path))


def _write(stream, columns, format, source):
    if format in {"csv", "tsv"}:
        _write_text(stream, columns, "\t" if format == "tsv" else ",")
    elif format == "parquet":
        write_parquet(stream, columns, source)
    elif format == "npy":
        for part in npy.dump(_matrix(columns, source)):
            stream.write(part)
    else:
        np.savez(stream, X=_matrix(columns, source), columns=np.array(list(columns)))


def _write_text(stream, columns, delimiter):
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    values = list(columns.values())
    try:
        writer.writerow(columns)
        for start in range(0, len(values[0]) if values else 0, _ROWS):
            writer.writerows(zip(*(part[start : start + _ROWS].tolist() for part in values), strict=True))
    finally:
        with suppress(OSError):  # a closed pipe has said so already
            text.detach()  # else the stream would be closed with it


def _matrix(columns, source):
    words = [name for name, values in columns.items() if values.dtype.kind not in "biuf"]
    if words:
        raise TableError(f"{source}: column {words[0]!r} holds words, which a matrix cannot. Write CSV or Parquet.")
    return np.column_stack(list(columns.values())) if columns else np.empty((0, 0))
