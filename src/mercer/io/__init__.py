"""Model files: data, no code. ``save`` writes an estimator into one file, ``load`` reads it back.

The file is a zip of a JSON manifest and ``.npy`` arrays. Only classes of a closed list are made from it
(``CLASSES``), so that a file from a stranger can be opened; damage to any byte is found.
"""

import hashlib
import platform
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from .. import __version__
from .._core import npy
from .._core.registry import file_name
from .archive import Archive, ModelFileError, write
from .classes import CLASSES, TRUSTED_TYPES
from .decode import Malformed, decode
from .encode import Unstorable, encode

FORMAT = 1  # of the file; readers know all versions up to this one
KIND = "mercer model"


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a model file holds: the estimator, how tables become its rows (or None), and who wrote it with what."""

    model: Any
    recipe: Any
    versions: dict[str, str]
    format: int
    size: int


def save(model, path, *, recipe=None):
    """Write an estimator into a file, which appears whole or not at all.

    Parameters
    ----------
    model : estimator
        Any estimator of mercer, fitted or not.
    path : str or path-like
        Where to; a file that is there is replaced once the new one is complete.
    recipe : Recipe, default=None
        How a table becomes the rows that the model takes, as the command line stores it.

    Raises
    ------
    TypeError
        If a part of the model is no data, such as a function given as kernel.

    Examples
    --------
    >>> import numpy as np, tempfile, os, mercer
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = mercer.KernelPCA(2).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mercer")
    >>> mercer.save(model, path)
    >>> bool(np.all(mercer.load(path).transform(X) == model.transform(X)))
    True
    """
    if not _is_ours(model):
        raise Unstorable(
            f"{type(model).__name__} is no estimator of mercer, and a model file holds one of those. "
            "skops or joblib keep whole pipelines."
        )
    names: dict[str, str] = {}  # digest → name: an array that occurs twice is stored once
    parts: dict[str, Any] = {}

    def store(array):
        header, body = npy.dump(array)
        digest = hashlib.sha256(header)
        digest.update(body)
        name = names.setdefault(digest.hexdigest(), f"arrays/{len(names)}.npy")
        parts[name] = [header, body]
        return name

    versions = {
        "mercer": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    manifest = {
        "kind": KIND,
        "format": FORMAT,
        "versions": versions,
        "model": encode(model, store, type(model).__name__),
        "recipe": encode(recipe, store, "recipe"),
    }
    write(path, manifest | {"arrays": {name: digest for digest, name in names.items()}}, parts)


def load(path):
    """Return the estimator that ``save`` or ``mercer fit`` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : estimator
        Equal to the one that was saved, to the last bit.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or was written by a newer mercer. No code of a file is ever run,
        and nothing larger than the file is allocated.

    Warns
    -----
    UserWarning
        If the file also holds a recipe for tables: the model then takes rows that the recipe has made. Use
        :func:`mercer.io.read` to have both.

    Examples
    --------
    >>> import os, tempfile, mercer
    >>> X, _ = mercer.datasets.rings(n=60)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mercer")
    >>> mercer.save(mercer.KernelPCA(2).fit(X), path)
    >>> mercer.load(path)
    KernelPCA(n_components=2)
    """
    file = read(path)
    if file.recipe is not None:
        warnings.warn(
            f"{path} also holds how a table becomes the rows of this model (columns, scales). Use "
            "file = mercer.io.read(path), and give file.model the rows file.recipe.rows(table).",
            stacklevel=2,
        )
    return file.model


def read(path):
    """Return all that a model file holds, as a ``ModelFile``; errors as of ``load``.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    file : ModelFile
        The model, its recipe, and who wrote it.

    Examples
    --------
    >>> import os, tempfile, mercer
    >>> X, _ = mercer.datasets.rings(n=60)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mercer")
    >>> mercer.save(mercer.KernelPCA(2).fit(X), path)
    >>> file = mercer.io.read(path)
    >>> file.format, sorted(file.versions)
    (1, ['mercer', 'numpy', 'python', 'scikit-learn', 'scipy'])
    """
    archive = Archive(path)
    manifest = archive.manifest
    format_, versions = manifest.get("format"), manifest.get("versions")
    if manifest.get("kind") != KIND or type(format_) is not int or format_ < 1 or not isinstance(versions, dict):
        raise archive.wrong("its manifest is not that of a model")
    if format_ > FORMAT:
        raise archive.wrong(
            f"it has format {format_}, written by mercer {versions.get('mercer')}, and this is mercer {__version__}, "
            f"which reads formats up to {FORMAT}: pip install -U mercer"
        )
    try:
        model, recipe = (decode(manifest[part], archive.arrays) for part in ("model", "recipe"))
    except KeyError as missing:
        raise archive.wrong(f"its manifest has no {missing}") from None
    except (Malformed, RecursionError) as error:
        raise archive.wrong(f"its manifest cannot be followed: {error}") from None
    if not _is_ours(model) or not (recipe is None or hasattr(recipe, "rows")):
        raise archive.wrong("it holds no model")
    return ModelFile(model, recipe, {str(key): str(value) for key, value in versions.items()}, format_, archive.size)


def _is_ours(model):
    """Return True for an estimator that is registered; scikit-learn's own classes occur inside of one only."""
    registered = file_name(type(model)) is not None and not type(model).__module__.startswith("sklearn.")
    return registered and isinstance(model, BaseEstimator) and hasattr(model, "fit")


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
