"""The functions ``save``, ``load`` and ``read`` of model files."""

import hashlib
import platform
import re
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from .. import __version__
from .._core import npy
from .._core.registry import file_name
from .._core.warn import warn
from ..tables.recipe import Recipe
from .archive import KIND, Archive, write
from .decode import Malformed, Source, decode
from .encode import Unstorable, encode
from .facts import facts, of_table

FORMAT = 1  # version of the file format; all versions up to this one can be read
RELEASE = re.compile(r"\d{1,4}(\.\d{1,4}){1,3}")  # the numbers of a version


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The contents of a model file: the estimator, the recipe for tables (or None), versions, format and size.

    Examples
    --------
    >>> import os, tempfile, mercer
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mercer")
    >>> mercer.save(mercer.KernelPCA(2).fit(mercer.datasets.rings(n=60)[0]), path)
    >>> file = mercer.io.read(path)
    >>> file.model, file.format, sorted(file.versions)
    (KernelPCA(n_components=2), 1, ['mercer', 'numpy', 'python', 'scikit-learn', 'scipy'])
    """

    model: Any
    recipe: Any
    versions: dict[str, str]
    format: int
    size: int


def save(model: Any, path: str | PathLike[str], *, recipe: Any = None) -> None:
    """Write an estimator to a file, completely or not at all.

    Parameters
    ----------
    model : estimator
        An estimator of mercer, fitted or not.
    path : str or path-like
        The file to write; an existing file is replaced when the new one is complete.
    recipe : Recipe, default=None
        How tables are converted to rows for the model, as stored by the command line.

    Raises
    ------
    TypeError
        If a part of the model is not data, such as a function as kernel.

    Examples
    --------
    >>> import numpy as np, tempfile, os, mercer
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = mercer.KernelPCA(2).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.mercer")
    >>> mercer.save(model, path)
    >>> np.abs(mercer.load(path).transform(X) - model.transform(X)).max().item()
    0.0
    """
    if not _is_mercer_estimator(model):
        raise Unstorable(
            f"{type(model).__name__} is not an estimator of mercer, so it cannot be saved in a model file. "
            "Use skops or joblib to save whole pipelines."
        )
    names: dict[str, str] = {}  # digest → name: equal arrays are stored once
    parts: dict[str, Any] = {}

    def store(array: np.ndarray) -> str:
        header, body = npy.dump(array)
        digest = hashlib.sha256(header)
        digest.update(body)
        name = names.setdefault(digest.hexdigest(), f"arrays/{len(names)}.npy")
        parts[name] = [header, body]
        return name

    libraries = {"mercer": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    manifest = {
        "kind": KIND,
        "format": FORMAT,
        "versions": libraries | {"scikit-learn": sklearn.__version__, "python": platform.python_version()},
        "about": facts(model) | ({} if recipe is None else {"table": of_table(recipe)}),
        "model": encode(model, store, type(model).__name__),
        "recipe": encode(recipe, store, "recipe"),
    }
    write(path, manifest | {"arrays": {name: digest for digest, name in names.items()}}, parts)


def load(path: str | PathLike[str]) -> Any:
    """Load an estimator that ``save`` or ``mercer fit`` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : estimator
        Identical to the one that was saved, to the last bit.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or was written by a newer version of mercer. No code from a file is
        ever run, at most eight times its size (and 32 MB) is allocated, and the content of the model is checked.

    Warns
    -----
    UserWarning
        If the file also contains a recipe for tables: the model then expects rows prepared by the recipe. Use
        :func:`mercer.io.read` to load both.

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
        warn(
            f"{path} also contains the recipe that prepares tables for this model (columns, scales). Use "
            "file = mercer.io.read(path), and pass file.recipe.rows(table) to file.model."
        )
    return file.model


def read(path: str | PathLike[str]) -> ModelFile:
    """Read everything in a model file; errors are those of ``load``.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    file : ModelFile
        The model, its recipe, and the versions that wrote it.

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
        raise archive.error("its manifest is not that of a model")
    if format_ > FORMAT:
        advice = _advice(versions) or ": pip install -U mercer"
        raise archive.error(f"it has format {format_}, and at most {FORMAT} is known{advice}")
    try:
        source = Source(archive.arrays(), archive.left)
        model, recipe = (decode(manifest[part], source) for part in ("model", "recipe"))
    except KeyError as missing:
        raise archive.error(f"its manifest has no {missing}") from None
    except (Malformed, RecursionError) as error:
        raise archive.error(f"its manifest cannot be decoded: {error}{_advice(versions)}") from None
    if not _is_mercer_estimator(model) or not (recipe is None or isinstance(recipe, Recipe)):
        raise archive.error("it contains no model")
    return ModelFile(model, recipe, {str(key): str(value) for key, value in versions.items()}, format_, archive.size)


def _advice(versions: dict) -> str:
    """Return advice on the version to install for a file of a later version; an empty text for other files."""
    writer = str(versions.get("mercer"))
    if not RELEASE.fullmatch(writer) or _numbers(writer) <= _numbers(__version__):
        return ""
    return f"; mercer {writer} wrote it, and this is {__version__}: pip install 'mercer>={writer}'"


def _numbers(version: str) -> list[int]:
    release = RELEASE.match(version)
    return [int(number) for number in release[0].split(".")] if release else []


def _is_mercer_estimator(model: Any) -> bool:
    """Return True for a registered estimator; scikit-learn's own classes are allowed only inside of one."""
    registered = file_name(type(model)) is not None and not type(model).__module__.startswith("sklearn.")
    return registered and isinstance(model, BaseEstimator) and hasattr(model, "fit")
