"""Tables from binary files: NumPy's ``.npy`` and ``.npz``; Parquet, Feather and Arrow files with pyarrow."""

import io
import zipfile
from typing import Any, BinaryIO

import numpy as np

from .._core import npy
from .._core.memory import available_bytes
from .._core.npy import ZIP_ERRORS
from .table import NUMERIC, Select, Table, TableError, check_names

ARROW_STREAM = b"\xff\xff\xff\xff"  # first bytes of a stream of record batches
MATRIX = "X"  # the array to use if an .npz file has several with two dimensions


def read_npy(stream: BinaryIO, source: str, select: Select) -> Table:
    """Return the columns x0, x1, … of an array."""
    return _from_array(_parse(np.frombuffer(stream.read(), np.uint8), source), source, select, {})


def read_npz(stream: BinaryIO, source: str, select: Select) -> Table:
    """Return the columns of the array ``X``, or of the only array with two dimensions.

    One-dimensional arrays are extra columns, which are read only if ``select`` returns their names.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(stream.read())) as archive:
            need = sum(member.file_size for member in archive.infolist())
            _check_memory(need, source)
            arrays = {
                name.removesuffix(".npy"): _parse(np.frombuffer(archive.read(name), np.uint8), f"{source}: {name}")
                for name in archive.namelist()
            }
    except TableError:
        raise
    except ZIP_ERRORS as error:
        raise TableError(f"{source}: it is not a valid .npz file ({error}).") from None
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    name = MATRIX if MATRIX in matrices else matrices[0] if len(matrices) == 1 else None
    if name is None:
        found = f"no array {MATRIX!r} and {len(matrices)} arrays with two dimensions"
        raise TableError(f"{source}: it has {found}; one is needed.")
    rows = len(arrays[name])
    extra = {key: array for key, array in arrays.items() if array.ndim == 1 and len(array) == rows}
    return _from_array(arrays[name], source, select, extra)


def _check_memory(need: int, source: str) -> None:
    if need > available_bytes():
        raise TableError(f"{source}: it needs {need / 1e9:.1f} GB, more than the available memory.")


def _parse(data: np.ndarray, source: str) -> np.ndarray:
    try:
        return npy.parse(data)
    except ValueError as error:
        raise TableError(f"{source}: {error}.") from None


def _from_array(array: np.ndarray, source: str, select: Select, extra: dict[str, np.ndarray]) -> Table:
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.dtype.kind == "U":
        raise TableError(f"{source}: an array of {array.dtype} with shape {array.shape} is not a table of numbers.")
    if 0 in array.shape:
        raise TableError(f"{source}: an array of shape {array.shape} has no rows.")
    names = [f"x{i}" for i in range(array.shape[1])]
    at = {name: i for i, name in enumerate(names)}
    wanted = select(names, False, [name for name in extra if name not in at])
    columns = {name: _column(array[:, at[name]] if name in at else extra[name]) for name in wanted}
    return Table(columns, source, others=tuple(name for name in names if name not in columns), named=False)


def _column(values: np.ndarray) -> np.ndarray:
    """Return a column of floats, or of objects if the values are not numbers."""
    return values.astype(float if values.dtype.kind in NUMERIC else object)


def read_parquet(stream: BinaryIO, source: str, select: Select) -> Table:
    """Return the selected columns of a Parquet file, read by pyarrow; one row group at a time is in memory as Arrow."""
    arrow, parquet = _pyarrow(source)
    try:
        on_disk = isinstance(getattr(stream, "raw", None), io.FileIO) and stream.seekable()
        file = parquet.ParquetFile(stream if on_disk else arrow.BufferReader(stream.read()))
        names = file.schema_arrow.names
        check_names(names, source)
        wanted = select(names, True)
        if file.metadata.num_rows == 0:
            raise TableError(f"{source}: the table has no rows.")
        needs = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
        _check_memory(needs, source)
        parts: dict[str, list[np.ndarray]] = {name: [] for name in wanted}
        for i in range(file.metadata.num_row_groups):
            for name, values in zip(wanted, file.read_row_group(i, columns=wanted).select(wanted).columns, strict=True):
                parts[name].append(_from_arrow(values, name, source, arrow))
    except TableError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:  # a ValueError for names that are not UTF-8
        raise TableError(f"{source}: it is not a valid Parquet file ({_first_line(error)}).") from None
    columns = {name: np.concatenate(parts.pop(name)) for name in wanted}
    return Table(columns, source, others=tuple(name for name in names if name not in columns))


def read_feather(stream: BinaryIO, source: str, select: Select) -> Table:
    """Return the selected columns of a Feather or Arrow file, read by pyarrow."""
    arrow, _ = _pyarrow(source)
    from pyarrow import feather, ipc

    content = stream.read()
    try:
        data = arrow.BufferReader(content)
        table = ipc.open_stream(data).read_all() if content[:4] == ARROW_STREAM else feather.read_table(data)
        table.validate(full=True)
        names = table.column_names
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{source}: it is not a valid Feather or Arrow file ({_first_line(error)}).") from None
    check_names(names, source)
    wanted = select(names, True)
    if table.num_rows == 0:
        raise TableError(f"{source}: the table has no rows.")
    columns = {name: _from_arrow(table.column(name), name, source, arrow) for name in wanted}
    return Table(columns, source, others=tuple(name for name in names if name not in columns))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _from_arrow(values: Any, name: str, source: str, arrow: Any) -> np.ndarray:
    """Return a column; an error names it if its values are damaged, or dates beyond Python's range."""
    try:
        found = _converted(values, arrow)
    except (arrow.ArrowException, OverflowError, ValueError) as error:
        raise TableError(
            f"{source}: column {name!r} has values that cannot be read ({_first_line(error)}). Correct them, or leave "
            f"it out with --exclude {name!r}."
        ) from None
    if found is None:
        raise TableError(f"{source}: column {name!r} has the type {values.type}. Leave it out with --exclude {name!r}.")
    return found


def _converted(values: Any, arrow: Any) -> np.ndarray | None:
    """Return a column as numbers or texts, or None if it has another type."""
    kind = arrow.types
    if kind.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if kind.is_string(values.type) or kind.is_large_string(values.type):
        return np.array(values.to_pylist(), dtype=object)
    if kind.is_boolean(values.type) or kind.is_integer(values.type) or kind.is_floating(values.type):
        return values.cast(arrow.float64(), safe=False).to_numpy()
    if kind.is_temporal(values.type):
        return np.array([None if value is None else str(value) for value in values.to_pylist()], dtype=object)
    return None


def write_parquet(stream: BinaryIO, columns: dict[str, np.ndarray], source: str) -> None:
    """Write columns as Parquet."""
    arrow, parquet = _pyarrow(source)
    parquet.write_table(arrow.table({name: arrow.array(values) for name, values in columns.items()}), stream)


def write_feather(stream: BinaryIO, columns: dict[str, np.ndarray], source: str) -> None:
    """Write columns as Feather, which is an Arrow file."""
    arrow, _ = _pyarrow(source)
    from pyarrow import feather

    feather.write_feather(arrow.table({name: arrow.array(values) for name, values in columns.items()}), stream)


def _pyarrow(source: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise TableError(f"{source}: this format needs pyarrow ({error}): pip install 'mercer[tables]'") from None
    return pyarrow, pyarrow.parquet
