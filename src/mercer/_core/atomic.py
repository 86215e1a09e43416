"""Atomic writing: a file is replaced as a whole or not at all."""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

TEMPORARY = re.compile(r"\..*\.[0-9a-f]{8}\.mercer-tmp")


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a temporary file for writing, which replaces ``path`` when the block ends without an error.

    Until then, and after an error such as a full disk, an older file stays unchanged. If ``path`` is not a regular
    file (a device, a named pipe), it is written to directly. Temporary files that a killed process left in the folder
    are removed; those of running processes are locked, and stay.
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
    _remove_abandoned(folder)
    temporary = os.path.join(folder, f".{name[:64]}.{secrets.token_hex(4)}.mercer-tmp")
    try:
        with _locked(temporary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.path.exists(path):
                shutil.copymode(path, temporary)
            if fcntl:  # still locked, so that no process considers it abandoned
                os.replace(temporary, path)
        if not fcntl:
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _remove_abandoned(folder: str) -> None:
    """Remove temporary files that no process has open any more."""
    with suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), open(entry.path, "rb") if fcntl else nullcontext() as file:
                    if file is not None:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error if its process still runs
                    os.unlink(entry.path)


def _locked(path: str) -> BinaryIO:
    """Open a new file and lock it until it is closed."""
    while True:
        file = open(path, "x+b")  # noqa: SIM115 (the caller closes it)
        if fcntl:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink == 0:  # another process considered it abandoned before it was locked
                file.close()
                continue
        return file
