"""File formats: which reader a table needs, and how results are written."""

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._core import npy
from .._core.atomic import replacing
from .._core.memory import available_bytes
from .binary import read_feather, read_npy, read_npz, read_parquet, write_feather, write_parquet
from .table import NUMERIC, Select, Table, TableError
from .text import read_text

FORMATS = ("csv", "tsv", "parquet", "feather", "npy", "npz")
PIPE = "-"
GZIP = b"\x1f\x8b"  # first bytes of a compressed file
_SUFFIXES = {".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
_SUFFIXES |= {".npy": "npy", ".npz": "npz", ".feather": "feather", ".arrow": "feather", ".ipc": "feather"}
_CONVERT = "Read it with pandas and write a table: pandas.{reader}(path).to_csv(new, index=False)."
_REFUSED = {  # suffixes of tables that are not read → what to do
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), "Save the sheet as CSV."),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), _CONVERT.format(reader="read_json")),
    **dict.fromkeys((".h5", ".hdf5", ".hdf"), _CONVERT.format(reader="read_hdf")),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), "A pickle can run code when it is loaded. Save the table as CSV."),
    **dict.fromkeys((".sav", ".dta", ".sas7bdat", ".rds", ".rdata", ".mat"), "Export the table as CSV."),
    **dict.fromkeys((".zip", ".bz2", ".xz", ".zst", ".7z", ".tar"), "Unpack it first; .csv.gz is read as it is."),
}
_STARTS = {
    b"PAR1": "parquet",
    b"ARRO": "feather",
    b"FEA1": "feather",
    b"\x93NUM": "npy",
    b"PK\x03\x04": "npz",
}  # first bytes, for standard input
_BINARY: dict[str, Callable] = {"npy": read_npy, "npz": read_npz, "parquet": read_parquet, "feather": read_feather}
DEFAULTS = {"format": None, "delimiter": None, "decimal": ".", "header": True}  # of ``read``
_ROWS = 10_000  # written at once


def format_of(path: str | Path, given: str | None = None) -> str | None:
    """Return the format given, or that of the file extension; None for a pipe, whose first bytes are checked later."""
    if given or path == PIPE:
        return given
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    found = _SUFFIXES.get(([""] + [suffix for suffix in suffixes if suffix != ".gz"])[-1])
    if found is None and (suffix := Path(path).suffix.lower()) in _REFUSED:
        raise TableError(f"{path}: {suffix} files are not read. {_REFUSED[suffix]}")
    if found is None:
        known = ", ".join(FORMATS)
        raise TableError(f"{path}: cannot infer the format from the file extension. Pass {known} with --from or --to.")
    return found


def read(
    path: str | Path,
    select: Select | None = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    header: bool = True,
) -> Table:
    """Read the columns that ``select`` returns when called with all names, by default all of them.

    The path ``"-"`` is standard input; a file that is compressed by gzip is decompressed.
    """
    select = _all if select is None else select
    given = {"format": format, "delimiter": delimiter, "decimal": decimal, "header": header}
    reading = {name: value for name, value in given.items() if value != DEFAULTS[name]}
    format, source = format_of(path, format), "standard input" if path == PIPE else str(path)
    with _opened(path) as stream:
        format = format or _STARTS.get(stream.peek(4)[:4], "csv")
        if format in _BINARY:
            return replace(_BINARY[format](stream, source, select), reading=reading)
        delimiter = "\t" if format == "tsv" and delimiter is None else delimiter
        table = read_text(stream, source, select, delimiter=delimiter, decimal=decimal, header=header)
        return replace(table, reading=reading)


def _all(names: list[str], named: bool, more: list[str] | tuple[str, ...] = ()) -> list[str]:
    return names


class _Decompressed(gzip.GzipFile):
    """A compressed file whose damage is an error of the table."""

    def __init__(self, stream: Any):
        super().__init__(fileobj=stream)
        self.source, self.left = stream.name, available_bytes()

    def read(self, size: int | None = -1) -> bytes:
        try:
            data = super().read(size)
            self.left -= len(data)
            if self.left < 0:
                raise TableError(f"{self.source}: decompressed, it is larger than the available memory.")
            return data
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TableError(f"{self.source}: the compressed file is cut short or damaged ({error}).") from None


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    if path != PIPE:
        with open(path, "rb") as stream:
            yield io.BufferedReader(_Decompressed(stream)) if stream.peek(2)[:2] == GZIP else stream
        return
    stream = io.BufferedReader(sys.stdin.buffer)  # type: ignore[arg-type]
    try:
        yield stream
    finally:
        stream.detach()  # standard input stays open


def write(columns: dict[str, np.ndarray], path: str | Path, *, format: str | None = None) -> None:
    """Write columns of equal length (name → values); the path ``"-"`` is standard output.

    A file is written completely or not at all. Numbers are written so that reading returns the same bits.
    """
    format = format_of(path, format) or "csv"
    compressed = str(path).lower().endswith(".gz")
    if compressed and format not in {"csv", "tsv"}:
        raise TableError(f"{path}: only CSV and TSV are written compressed. Leave out .gz.")
    if path == PIPE:
        with _standard_output() as stream:
            _write(stream, columns, format, "standard output")
        return
    with replacing(path) as stream:
        if not compressed:
            _write(stream, columns, format, str(path))
            return
        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as archive:  # no date: equal tables give equal files
            _write(archive, columns, format, str(path))  # type: ignore[arg-type]


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    """Standard output with a buffer, which writes all bytes or raises: without one (PYTHONUNBUFFERED) it may not."""
    if sys.stdout is None:
        raise TableError("Standard output is closed. Pass the name of a file to -o.")
    stream: Any = sys.stdout.buffer
    raw = isinstance(stream, io.RawIOBase)
    stream = io.BufferedWriter(stream) if raw else stream
    try:
        yield stream
        stream.flush()
    except OSError as error:
        error.filename = "standard output"
        raise
    finally:
        if raw:
            with suppress(OSError):  # the first error is reported
                stream.detach()


def _write(stream: BinaryIO, columns: dict[str, np.ndarray], format: str, source: str) -> None:
    if format in {"csv", "tsv"}:
        _write_text(stream, columns, "\t" if format == "tsv" else ",")
    elif format == "parquet":
        write_parquet(stream, columns, source)
    elif format == "feather":
        write_feather(stream, columns, source)
    elif format == "npy":
        for part in npy.dump(_matrix(columns, source)):
            stream.write(part)
    else:
        np.savez(stream, X=_matrix(columns, source), columns=np.array(list(columns)))


def _write_text(stream: BinaryIO, columns: dict[str, np.ndarray], delimiter: str) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    values = list(columns.values())
    try:
        writer.writerow(columns)
        for start in range(0, len(values[0]) if values else 0, _ROWS):
            writer.writerows(zip(*(part[start : start + _ROWS].tolist() for part in values), strict=True))
    except BaseException:
        with suppress(OSError):  # the first error is reported
            text.detach()
        raise
    text.detach()  # so that the stream stays open; what is left is written, or an error raised


def _matrix(columns: dict[str, np.ndarray], source: str) -> np.ndarray:
    for name, values in columns.items():
        if values.dtype.kind not in NUMERIC:
            raise TableError(f"{source}: column {name!r} contains text, which .npy cannot store. Write CSV or Parquet.")
    return np.column_stack(list(columns.values())) if columns else np.empty((0, 0))
