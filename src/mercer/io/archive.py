"""The model file: a zip of one manifest and plain arrays, whose last bytes are the digest of all others.

Members are stored as they are, without compression, so that no member is larger than the file. Nothing is believed:
sizes are checked before anything is read, names and classes come from closed lists.
"""

import hashlib
import json
import os
import re
import struct
import zipfile

import numpy as np

from .._core import npy
from .._core.atomic import replacing

MANIFEST = "manifest.json"
ARRAY = re.compile(r"arrays/[0-9]{1,6}\.npy")
SEAL = b"mercer model sha256 "  # the zip's comment, in front of the digest
DIGEST = 64  # hexadecimal digits
END = 22  # bytes of the record that ends a zip, without its comment
LOCATOR = 20  # bytes of the record in front of it that zips of more than 4 GB have
MOST_MANIFEST = 2**24  # bytes: room for the names of 100 000 columns
MOST_VALUES = 2**20  # in the manifest: commas and brackets
MOST_DIRECTORY = 2**22  # bytes of the zip's directory: some 60 000 arrays
CHUNK = 2**20
# what zipfile raises on records that make no sense
ZIP_ERRORS = (zipfile.BadZipFile, struct.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, hostile, too new, or something else altogether."""


def write(path, manifest, arrays):
    """Write the manifest and the arrays (name → ``.npy`` parts) in place of what is at ``path``, or nothing."""
    text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if len(text) > MOST_MANIFEST or _values(text) > MOST_VALUES:
        raise ModelFileError(f"{path}: the model has more names and settings than a model file holds.")
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            _add(archive, MANIFEST, [text])
            for name, parts in arrays.items():
                _add(archive, name, parts)
            archive.comment = SEAL + b"0" * DIGEST
        if file.seekable():  # else a pipe, which cannot be read back
            file.seek(-DIGEST, os.SEEK_END)
            end = file.tell()
            digest = _digest(file, end)
            file.seek(end)
            file.write(digest)


def _add(archive, name, parts):
    info = zipfile.ZipInfo(name)  # without a date: equal models make equal files
    info.create_system, info.external_attr = 3, 0o644 << 16  # Unix, readable by all
    with archive.open(info, "w", force_zip64=sum(map(len, parts)) > zipfile.ZIP64_LIMIT) as member:
        for part in parts:
            member.write(part)


class Archive:
    """A model file, open for reading, whose every byte is as it was written."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            self._check_seal(file)
            try:
                with zipfile.ZipFile(file) as archive:
                    self._check_members(archive)
                    self.manifest = self._manifest(archive)
                    self.arrays = {name: self._array(archive, name) for name in self.manifest["arrays"]}
            except ModelFileError:
                raise
            except ZIP_ERRORS as error:
                raise self.wrong(f"it is no sound zip file ({error})") from None

    def wrong(self, what):
        """The one error for all that can be wrong with a file."""
        return ModelFileError(f"{self.path}: {what}.")

    def _check_seal(self, file):
        """Refuse a file that is not what was written, and say where it differs."""
        start = file.read(4)
        if start[:2] != b"PK":
            hint = " (it looks like a pickle, which is never opened)" if start[:1] == b"\x80" else ""
            raise self.wrong(f"it is no model file{hint}")
        if self.size < LOCATOR + END + len(SEAL) + DIGEST:
            raise self.wrong(f"it is cut short, in the member {MANIFEST!r}")
        file.seek(-LOCATOR - END - len(SEAL) - DIGEST, os.SEEK_END)
        locator, end, seal, digest = (file.read(length) for length in (LOCATOR, END, len(SEAL), DIGEST))
        if seal != SEAL:
            raise self.wrong(f"it is cut short or no model file: it has no digest at its end, and {_last(file)}")
        if digest != _digest(file, self.size - DIGEST):
            raise self.wrong(f"it is damaged, {_culprit(file)}")
        (directory,) = struct.unpack("<I", end[12:16])
        claims_more = locator[:4] == b"PK\6\7" and self.size <= zipfile.ZIP64_LIMIT
        if end[:4] != b"PK\5\6" or directory > MOST_DIRECTORY or claims_more:
            raise self.wrong("the directory of its members is too large or damaged")

    def _check_members(self, archive):
        """Refuse members that are not ours, twice there, compressed, encrypted, or larger than the file."""
        members, seen = archive.infolist(), set()
        for member in members:
            name = member.filename
            if name != MANIFEST and not ARRAY.fullmatch(name):
                raise self.wrong(f"the member {name!r} is none that a model file has")
            if name in seen:
                raise self.wrong(f"the member {name!r} is there twice")
            seen.add(name)
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                raise self.wrong(f"the member {name!r} is compressed or encrypted, which no model file is")
            if member.file_size != member.compress_size or member.file_size > self.size:
                raise self.wrong(f"the member {name!r} declares a size that it has not")
        if sum(member.file_size for member in members) > self.size:
            raise self.wrong("its members together declare more than the file has")

    def _manifest(self, archive):
        if MANIFEST not in archive.namelist():
            raise self.wrong(f"it has no member {MANIFEST!r}")
        if archive.getinfo(MANIFEST).file_size > MOST_MANIFEST:
            raise self.wrong(f"the member {MANIFEST!r} is larger than {MOST_MANIFEST // 2**20} MB")
        text = archive.read(MANIFEST)
        if _values(text) > MOST_VALUES:
            raise self.wrong(f"the member {MANIFEST!r} has more than {MOST_VALUES} values")
        try:
            manifest = json.loads(text)
            digests = manifest["arrays"]
            if not all(isinstance(digest, str) for digest in digests.values()):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self.wrong(f"the member {MANIFEST!r} is no manifest of a model") from None
        missing = {MANIFEST, *digests} ^ set(archive.namelist())
        if missing:
            raise self.wrong(f"the manifest and the members differ in {min(missing)!r}")
        return manifest

    def _array(self, archive, name):
        data = np.empty(archive.getinfo(name).file_size, np.uint8)
        with archive.open(name) as member:
            for start in range(0, len(data), CHUNK):
                part = np.frombuffer(member.read(CHUNK), np.uint8)
                data[start : start + CHUNK] = part
        if hashlib.sha256(data.data).hexdigest() != self.manifest["arrays"][name]:
            raise self.wrong(f"the member {name!r} is not what its sha256 says")
        try:
            return npy.parse(data)
        except ValueError as error:
            raise self.wrong(f"the member {name!r}: {error}") from None


def _values(text):
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _digest(file, end):
    """SHA-256 of the first ``end`` bytes, in hexadecimal digits."""
    file.seek(0)
    digest = hashlib.sha256()
    for start in range(0, end, CHUNK):
        digest.update(file.read(min(CHUNK, end - start)))
    return digest.hexdigest().encode()


def _walk(file):
    """Name, start and end of each member that the headers between them tell of, in the order of the file."""
    size, start = os.fstat(file.fileno()).st_size, 0
    while True:
        file.seek(start)
        header = file.read(30)  # the fixed part of a local header
        if len(header) < 30 or header[:4] != b"PK\3\4":
            return
        length, name, extra = struct.unpack("<IHH", header[22:30])
        text = file.read(name).decode(errors="replace")
        yield text, start + 30 + name + extra, start + 30 + name + extra + length
        start += 30 + name + extra + length
        if start > size:
            return


def _last(file):
    """Where a file that was cut short ends."""
    size, name = os.fstat(file.fileno()).st_size, MANIFEST
    for name, _, end in _walk(file):
        if end > size:
            return f"it ends in the member {name!r}"
    return f"it ends after the member {name!r}"


def _culprit(file):
    """The first member that is not as its digest says, or the zip's own records."""
    members = list(_walk(file))
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
    return f"in the member {MANIFEST!r} or in the zip's own records"
