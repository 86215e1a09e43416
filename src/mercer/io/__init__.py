"""Model files, which contain data and no code: ``save`` writes an estimator to a file, ``load`` reads it.

A file is a zip archive of a JSON manifest and ``.npy`` arrays. Only classes of a closed list (``CLASSES``) are created
from it, so that files from untrusted sources can be loaded. Damage to any byte is detected.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .archive import ModelFileError
    from .classes import CLASSES, TRUSTED_TYPES
    from .encode import Unstorable
    from .files import FORMAT, ModelFile, load, read, save

_HOMES = {"ModelFileError": "archive", "CLASSES": "classes", "TRUSTED_TYPES": "classes", "Unstorable": "encode"}
_HOMES |= dict.fromkeys(["FORMAT", "ModelFile", "load", "read", "save"], "files")


def __getattr__(name: str) -> Any:
    """Import public names at their first use: ``mercer info`` reads a manifest without NumPy."""
    if name in _HOMES:
        return getattr(import_module(f"mercer.io.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'mercer.io' has no attribute {name!r}")


__all__ = [
    "CLASSES",
    "FORMAT",
    "TRUSTED_TYPES",
    "ModelFile",
    "ModelFileError",
    "Unstorable",
    "load",
    "read",
    "save",
]
