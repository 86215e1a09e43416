"""Tables from binary files: NumPy's ``.npy`` and ``.npz``, and Parquet by pyarrow."""

import io
import zipfile

import numpy as np

from .._core import npy
from .._core.memory import available_bytes
from .table import Table, TableError, check_names

MATRIX = "X"  # the array of an .npz file that has several


def read_npy(stream, source, select):
    """Return the columns x0, x1, … of the array in a stream."""
    return _of_array(_parsed(np.frombuffer(stream.read(), np.uint8), source), source, select, {})


def read_npz(stream, source, select):
    """Return the columns of the array X, or of the only one with two dimensions; arrays of one are columns by name.

    They are read where ``select`` asks for them, and no part of the rows otherwise.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(stream.read())) as archive:
            _check_room(archive, source)
            arrays = {
                name.removesuffix(".npy"): _parsed(np.frombuffer(archive.read(name), np.uint8), f"{source}: {name}")
                for name in archive.namelist()
            }
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError, OSError) as error:
        raise TableError(f"{source}: it is no sound .npz file ({error}).") from None
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    name = MATRIX if MATRIX in matrices else matrices[0] if len(matrices) == 1 else None
    if name is None:
        raise TableError(f"{source}: it has no array {MATRIX!r} and {len(matrices)} of two dimensions; one is needed.")
    rows = len(arrays[name])
    beside = {key: array for key, array in arrays.items() if array.ndim == 1 and len(array) == rows}
    return _of_array(arrays[name], source, select, beside)


def _check_room(archive, source):
    need = sum(member.file_size for member in archive.infolist())
    if need > available_bytes():
        raise TableError(f"{source}: it would take {need / 1e9:.1f} GB, more memory than there is.")


def _parsed(data, source):
    try:
        return npy.parse(data)
    except ValueError as error:
        raise TableError(f"{source}: {error}.") from None


def _of_array(array, source, select, beside):
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.dtype.kind == "U":
        raise TableError(f"{source}: an array of {array.dtype} and shape {array.shape} is no table of numbers.")
    if 0 in array.shape:
        raise TableError(f"{source}: there are no rows in an array of shape {array.shape}.")
    names = [f"x{i}" for i in range(array.shape[1])]
    at = {name: i for i, name in enumerate(names)}
    wanted = select(names, False, [name for name in beside if name not in at])
    columns = {name: np.asarray(array[:, at[name]], float) if name in at else _column(beside[name]) for name in wanted}
    return Table(columns, source, others=tuple(name for name in names if name not in columns), named=False)


def _column(values):
    """A column of floats, or of words."""
    values = np.asarray(values)
    return values.astype(float) if values.dtype.kind in "biuf" else values.astype(object)


def read_parquet(stream, source, select):
    """Return the selected columns of a Parquet file; pyarrow reads it."""
    arrow, parquet = _pyarrow(source)
    try:
        file = parquet.ParquetFile(arrow.BufferReader(stream.read()))
        names = file.schema_arrow.names
        check_names(names, source)
        wanted = select(names, True)
        if file.metadata.num_rows == 0:
            raise TableError(f"{source}: there are columns and no rows.")
        data = file.read(columns=wanted)
    except (arrow.ArrowException, OSError) as error:
        raise TableError(f"{source}: it is no sound Parquet file ({str(error).splitlines()[0]}).") from None
    columns = {name: _of_arrow(data.column(name), name, source, arrow) for name in wanted}
    return Table(columns, source, others=tuple(name for name in names if name not in columns))


def _of_arrow(values, name, source, arrow):
    kind = arrow.types
    if kind.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if kind.is_string(values.type) or kind.is_large_string(values.type):
        return np.array(values.to_pylist(), dtype=object)
    if kind.is_boolean(values.type) or kind.is_integer(values.type) or kind.is_floating(values.type):
        return values.cast(arrow.float64(), safe=False).to_numpy()
    raise TableError(f"{source}: column {name!r} holds {values.type}. Leave it out with --exclude {name!r}.")


def write_parquet(stream, columns, source):
    """Write columns as Parquet."""
    arrow, parquet = _pyarrow(source)
    parquet.write_table(arrow.table({name: arrow.array(values) for name, values in columns.items()}), stream)


def _pyarrow(source):
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise TableError(f"{source}: Parquet needs pyarrow, which is not here: pip install 'mercer[tables]'") from None
    except ImportError as error:
        raise TableError(f"{source}: Parquet needs pyarrow, which does not work here: {error}.") from None
    return pyarrow, pyarrow.parquet
