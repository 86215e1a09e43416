"""Arrays as bytes in NumPy's ``.npy`` format: plain numbers and strings only, with untrusted headers."""

import lzma
import math
import struct
import zipfile
import zlib
from io import BytesIO

import numpy as np
from numpy.lib import format as npy

PLAIN = "biufU"  # booleans, integers, floats, strings: no objects, which would be pickles
MOST_HEADER = 10_000  # bytes of text in front of an array: NumPy's own limit
LARGEST_CHARACTER, SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)
# what zipfile raises for damaged members and records of an ``.npz`` file
ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OverflowError),
    *(NotImplementedError, EOFError, RuntimeError, OSError, ValueError),
)
LARGEST_NUMBER = 8  # bytes: long doubles differ between machines


def dump(array: np.ndarray) -> tuple[bytes, memoryview]:
    """Return an array as the bytes of a ``.npy`` file: its header, and its memory, without a copy if possible."""
    array = np.asarray(array)
    check_dtype(array.dtype)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    header = BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    return header.getvalue(), np.ravel(array.T if by_columns else array).view(np.uint8).data


def parse(data: np.ndarray) -> np.ndarray:
    """Return the array in ``data``, the bytes of a ``.npy`` file as an array of uint8, as a view of them.

    The length that the header declares must be that of the data, so that a false header allocates nothing.
    """
    head = BytesIO(data[: MOST_HEADER + len(npy.MAGIC_PREFIX) + 6].tobytes())
    try:
        version = npy.read_magic(head)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = read_header(head, max_header_size=MOST_HEADER)
    except Exception:  # NumPy raises many kinds, those of the tokenizer and RecursionError among them
        raise ValueError("it has no header of an array that can be read") from None
    check_dtype(dtype)
    if any(type(side) is not int or side < 0 for side in shape):  # a boolean is an int too
        raise ValueError(f"its header declares the shape {shape}")
    body, length = data[head.tell() :], math.prod(shape) * dtype.itemsize
    if len(body) != length:
        raise ValueError(f"its header declares {length} bytes of numbers, and it has {len(body)}")
    array = (body if body.ctypes.data % dtype.alignment == 0 else body.copy()).view(dtype)
    native = array.astype(dtype.newbyteorder("="), copy=False)
    if dtype.kind == "U":
        _check_characters(native)
    try:
        return native.reshape(shape, order="F" if fortran else "C")
    except (ValueError, OverflowError):  # sides beyond 2⁶³, beside one of 0
        raise ValueError(f"its header declares the shape {shape}") from None


def _check_characters(texts: np.ndarray) -> None:
    """Raise ValueError for strings that are not Unicode text, which Python could not convert or print."""
    codes = texts.view(np.uint32)
    if ((codes > LARGEST_CHARACTER) | ((codes >= SURROGATES[0]) & (codes <= SURROGATES[1]))).any():
        raise ValueError("it has strings that are not Unicode text")


def check_dtype(dtype: np.dtype) -> None:
    """Raise ValueError unless the dtype is one of plain numbers or strings."""
    if dtype.kind not in PLAIN or dtype.hasobject or dtype.kind != "U" and dtype.itemsize > LARGEST_NUMBER:
        raise ValueError(f"it is an array of {dtype}, and only plain numbers and strings can be stored")
    if dtype.itemsize == 0:
        raise ValueError("it is an array of empty strings")
