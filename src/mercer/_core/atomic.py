"""Files that appear whole or not at all."""

import os
import secrets
import shutil
import stat
from contextlib import contextmanager, suppress


@contextmanager
def replacing(path):
    """Open a file beside ``path`` for writing; it takes the place of ``path`` when the block ends without an error.

    Until then, and after an error such as a full disk, an older file is there unchanged. What is no regular file (a
    device, a named pipe) is written to as it is.
    """
    given, path = path, os.path.realpath(path)
    try:
        with _device(path) if _is_device(path) else _beside(path) as file:
            yield file
    except OSError as error:
        error.filename = given  # a full disk does not say which file it had no room for
        raise


def _is_device(path):
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


@contextmanager
def _device(path):
    with open(path, "wb") as file:
        yield file


@contextmanager
def _beside(path):
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
