"""The archive of a model file: a zip of one manifest and plain arrays; its last bytes are a digest of all others.

Members are not compressed, so that no member is larger than the file. Nothing in a file is trusted: sizes are checked
before anything is read, and only known member names are accepted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO

from .._core.atomic import replacing
from .._core.text import visible

if TYPE_CHECKING:
    import numpy as np

KIND = "mercer model"
MANIFEST = "manifest.json"
ARRAY = re.compile(r"arrays/[0-9]{1,6}\.npy")
SEAL = b"mercer model sha256 "  # the comment of the zip, before the digest
DIGEST = 64  # hexadecimal digits
END = 22  # bytes of the last record of a zip, without its comment
LOCATOR = 20  # bytes of the record before it in zips of more than 4 GB
HEADER = 30  # bytes of the fixed part of a member's header
MOST_MANIFEST = 2**24  # bytes: enough for the names of 100 000 columns
MOST_VALUES = 2**20  # in the manifest, counted by commas and brackets
MOST_ARRAYS = 20_000  # each takes about 0.2 ms to read
LARGEST_SIDE = 10**6  # of an array without numbers, unless the file has more bytes
MOST_DIRECTORY = 2**22  # bytes of the directory of the zip, before its members are counted
LONGEST_MESSAGE, LONGEST_PATH = 500, 200  # characters
CHUNK = 2**20
FACTOR, FLOOR = 8, 2**25  # a file may become 8 times as large in memory as it is, plus 32 MB
TOO_LARGE = f"{FACTOR} times its size and {FLOOR // 2**20} MB of memory"
BYTES_OF_DICT, BYTES_OF_LIST, BYTES_OF_VALUE = 512, 128, 64  # in memory, of one in JSON, before and after decoding
# what zipfile raises for invalid records
ZIP_ERRORS = (zipfile.BadZipFile, struct.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, malicious, too new, or not a model file.

    The message is one line of at most 500 characters, and shows control characters escaped.

    Examples
    --------
    >>> import os, tempfile, mercer
    >>> path = os.path.join(tempfile.mkdtemp(), "table.mercer")
    >>> with open(path, "w") as file:
    ...     print("a,b", file=file)
    >>> try:
    ...     mercer.load(path)
    ... except mercer.io.ModelFileError as error:
    ...     print(str(error).removeprefix(path))
    : it is not a model file.
    """

    def __init__(self, message: str) -> None:
        message = visible(message[:LONGEST_MESSAGE])
        super().__init__(message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…")


def write(path: str | PathLike[str], manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write the manifest and the arrays (name → ``.npy`` parts) to a file, completely or not at all."""
    dumped = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = dumped.encode("utf-8", "surrogatepass")  # as json.loads reads it: strings of tables may be beyond Unicode
    size = len(text) + sum(len(part) for parts in arrays.values() for part in parts)
    if len(text) > MOST_MANIFEST or _values(text) > MOST_VALUES or _left(text, size) < 0:
        raise ModelFileError(f"{path}: the model has more names and settings than a model file can store.")
    if len(arrays) > MOST_ARRAYS:
        raise ModelFileError(f"{path}: the model has {len(arrays)} arrays, and a model file can store {MOST_ARRAYS}.")
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            _add(archive, MANIFEST, [text])
            for name, parts in arrays.items():
                _add(archive, name, parts)
            archive.comment = SEAL + b"0" * DIGEST
        if file.seekable():  # not a pipe
            file.seek(-DIGEST, os.SEEK_END)
            end = file.tell()
            digest = _digest(file, end)
            file.seek(end)
            file.write(digest)


def _add(archive: zipfile.ZipFile, name: str, parts: Any) -> None:
    info = zipfile.ZipInfo(name)  # without a date, so that equal models have equal files
    info.create_system, info.external_attr = 3, 0o644 << 16  # Unix, readable by all
    with archive.open(info, "w", force_zip64=sum(map(len, parts)) > zipfile.ZIP64_LIMIT) as member:
        for part in parts:
            member.write(part)


class Archive:
    """The manifest and the arrays of a model file whose digest is correct. The manifest is read without NumPy."""

    def __init__(self, path: str | PathLike[str]):
        self.path = path
        with open(path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            self._check_seal(file)
            with self._unzipped(file) as archive:
                self._check_members(archive)
                self.manifest = self._manifest(archive)

    def arrays(self) -> dict[str, np.ndarray]:
        """Read the arrays; each must match its digest in the manifest."""
        with open(self.path, "rb") as file, self._unzipped(file) as archive:
            return {name: self._array(archive, name) for name in self.manifest["arrays"]}

    @contextmanager
    def _unzipped(self, file: BinaryIO) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except ModelFileError:
            raise
        except ZIP_ERRORS as error:
            raise self.error(f"it is not a valid zip file ({error})") from None

    def error(self, problem: str) -> ModelFileError:
        """Return the error for any problem of the file."""
        path = os.fspath(self.path)
        return ModelFileError(f"{path if len(path) < LONGEST_PATH else '…' + path[-LONGEST_PATH:]}: {problem}.")

    def _check_seal(self, file: BinaryIO) -> None:
        """Raise an error that names the damaged member if the digest of the file is wrong."""
        start = file.read(4)
        if start[:2] != b"PK":
            hint = " (it looks like a pickle, which is never loaded)" if start[:1] == b"\x80" else ""
            raise self.error(f"it is not a model file{hint}")
        if self.size < LOCATOR + END + len(SEAL) + DIGEST:
            raise self.error(f"it is cut short, in the member {MANIFEST!r}")
        file.seek(-LOCATOR - END - len(SEAL) - DIGEST, os.SEEK_END)
        locator, end, seal, digest = (file.read(length) for length in (LOCATOR, END, len(SEAL), DIGEST))
        if seal != SEAL:
            raise self.error(f"it is cut short or not a model file: it has no digest, and {_describe_end(file)}")
        if digest != _digest(file, self.size - DIGEST):
            raise self.error(f"it is damaged, {_find_damage(file)}")
        (directory,) = struct.unpack("<I", end[12:16])
        claims_more = locator[:4] == b"PK\6\7" and self.size <= zipfile.ZIP64_LIMIT
        if end[:4] != b"PK\5\6" or directory > MOST_DIRECTORY or claims_more:
            raise self.error("the directory of its members is too large or damaged")

    def _check_members(self, archive: zipfile.ZipFile) -> None:
        """Raise an error for members that are unknown, duplicate, compressed, encrypted, or larger than the file."""
        members, seen = archive.infolist(), set()
        if len(members) > MOST_ARRAYS + 1:  # and the manifest
            raise self.error(f"it has {len(members)} members, more than {MOST_ARRAYS} arrays and a manifest")
        for member in members:
            name = member.filename
            if name != MANIFEST and not ARRAY.fullmatch(name):
                raise self.error(f"the member {name!r} does not belong in a model file")
            if name in seen:
                raise self.error(f"the member {name!r} occurs twice")
            seen.add(name)
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                raise self.error(f"the member {name!r} is compressed or encrypted, which is not allowed")
            if member.file_size != member.compress_size or member.file_size > self.size:
                raise self.error(f"the member {name!r} declares a wrong size")
        if sum(member.file_size for member in members) > self.size:
            raise self.error("its members declare more bytes than the file has")

    def _manifest(self, archive: zipfile.ZipFile) -> dict[str, Any]:
        if MANIFEST not in archive.namelist():
            raise self.error(f"it has no member {MANIFEST!r}")
        if archive.getinfo(MANIFEST).file_size > MOST_MANIFEST:
            raise self.error(f"the member {MANIFEST!r} is larger than {MOST_MANIFEST // 2**20} MB")
        text = archive.read(MANIFEST)
        if _values(text) > MOST_VALUES:
            raise self.error(f"the member {MANIFEST!r} has more than {MOST_VALUES} values")
        self.left = _left(text, self.size)  # bytes that decoding may still allocate
        if self.left < 0:
            raise self.error(f"the member {MANIFEST!r} would take more than {TOO_LARGE}")
        try:
            manifest = json.loads(text)
            digests = manifest["arrays"]
            if not all(isinstance(digest, str) for digest in digests.values()):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self.error(f"the member {MANIFEST!r} is not the manifest of a model") from None
        missing = {MANIFEST, *digests} ^ set(archive.namelist())
        if missing:
            raise self.error(f"the manifest and the members differ in {min(missing)!r}")
        return manifest

    def _array(self, archive: zipfile.ZipFile, name: str) -> np.ndarray:
        import numpy as np

        from .._core import npy

        data = np.empty(archive.getinfo(name).file_size, np.uint8)
        with archive.open(name) as member:
            for start in range(0, len(data), CHUNK):
                data[start : start + CHUNK] = np.frombuffer(member.read(CHUNK), np.uint8)
        if hashlib.sha256(data.data).hexdigest() != self.manifest["arrays"][name]:
            raise self.error(f"the member {name!r} does not match its sha256")
        try:
            array = npy.parse(data)
        except ValueError as error:
            raise self.error(f"the member {name!r}: {error}") from None
        if max(array.shape, default=0) > max(self.size, LARGEST_SIDE):  # beside a side of 0
            raise self.error(f"the member {name!r} declares the shape {array.shape} without numbers")
        return array


def _values(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _left(text: bytes, size: int) -> int:
    """Return the bytes that a file of this size may still take in memory, besides its arrays and its manifest."""
    dicts, lists, values = text.count(b"{"), text.count(b"["), text.count(b",") + text.count(b":")
    parsed = BYTES_OF_DICT * dicts + BYTES_OF_LIST * lists + BYTES_OF_VALUE * values
    return FACTOR * size + FLOOR - 2 * size - 4 * len(text) - parsed  # a character takes up to four bytes


def _digest(file: BinaryIO, end: int) -> bytes:
    """Return the SHA-256 of the first ``end`` bytes, in hexadecimal digits."""
    file.seek(0)
    digest = hashlib.sha256()
    for start in range(0, end, CHUNK):
        digest.update(file.read(min(CHUNK, end - start)))
    return digest.hexdigest().encode()


def _members(file: BinaryIO) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and end of each member, according to their headers."""
    size, start = os.fstat(file.fileno()).st_size, 0
    while start <= size:
        file.seek(start)
        header = file.read(HEADER)
        if len(header) < HEADER or header[:4] != b"PK\3\4":
            return
        length, name, extra = struct.unpack("<IHH", header[22:])
        text = file.read(name).decode(errors="replace")
        start += HEADER + name + extra
        yield text, start, start + length
        start += length


def _describe_end(file: BinaryIO) -> str:
    """Say in which member a file that was cut short ends."""
    size, name = os.fstat(file.fileno()).st_size, MANIFEST
    for name, _, end in _members(file):
        if end > size:
            return f"it ends in the member {name!r}"
    return f"it ends after the member {name!r}"


def _find_damage(file: BinaryIO) -> str:
    """Say which member does not match its digest."""
    members = list(_members(file))
    try:
        name, start, end = members[0]
        file.seek(start)
        digests = json.loads(file.read(end - start))["arrays"]
    except (IndexError, ValueError, KeyError, TypeError, RecursionError):
        return f"in the member {MANIFEST!r}"
    for name, start, end in members[1:]:
        file.seek(start)
        if hashlib.sha256(file.read(end - start)).hexdigest() != digests.get(name):
            return f"in the member {name!r}"
    return f"in the member {MANIFEST!r} or in the records of the zip"
