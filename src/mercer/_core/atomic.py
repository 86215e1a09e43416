"""Atomic writing: a file is replaced as a whole or not at all."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a temporary file for writing, which replaces ``path`` when the block ends without an error.

    Until then, and after an error such as a full disk, an older file stays unchanged. If ``path`` is not a regular
    file (a device, a named pipe), it is written to directly.
    """
    target = os.path.realpath(path)
    try:
        with open(target, "wb") if _is_device(target) else _temporary(target) as file:
            yield file
    except OSError as error:
        error.filename = path  # the error of a full disk does not name the file
        raise


def _is_device(path: str) -> bool:
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


@contextmanager
def _temporary(path: str) -> Iterator[BinaryIO]:
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:64]}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
