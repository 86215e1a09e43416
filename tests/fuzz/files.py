"""Hostile model files: bytes, manifests and arrays of sound files, changed at random and sealed again.

The rule: a ``ModelFileError`` of one line, or a model whose methods work or raise an error of a documented kind.
"""

import io
import json
import tempfile
import warnings
import zipfile
from copy import deepcopy
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.io import ModelFileError, archive
from mercer.models.validation import MOST_ROWS

KEPT = sorted((Path(__file__).parents[1] / "data").glob("*.mercer"))
LONGEST = 500  # characters of an error
WIDEST = 10_000  # columns of the rows that a model is tried on
ERRORS = (ValueError, TypeError, NotImplementedError, MemoryError, OverflowError, FloatingPointError)
METHODS = ("transform", "reconstruction_error", "predict", "predict_proba", "score_samples")
ROWS = 3
VALUES: list[Any] = [None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 1e308, -1e-308, "", "x", "\0\x1b\u202e", [], {}]
VALUES += [{"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"dict": []}, {"slice": [0, 1, None]}, {"array": "x"}]
VALUES += [{"made": "models.KernelPCA", "params": {}, "state": {}}, {"scalar": "<f8", "value": 1.0}, "/etc/passwd"]
VALUES += [{"made": "sklearn.Pipeline", "params": {"steps": []}, "state": {"memory": "/tmp"}}, [[[[1]]]], "rbf"]


@cache
def sound() -> list[tuple[bytes, list[tuple[str, bytes]]]]:
    """Return the kept files as bytes and as members."""
    files = [path.read_bytes() for path in KEPT]
    return [(data, members(data)) for data in files]


def members(data: bytes) -> list[tuple[str, bytes]]:
    """Return names and contents of a file."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def sealed(parts: list[tuple[str, bytes]]) -> bytes:
    """Return a zip of the members with a right digest."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as found:
        for name, data in parts:
            found.writestr(name, data)
        found.comment = archive.SEAL + b"0" * archive.DIGEST
    return seal_again(file.getvalue())


def seal_again(data: bytes) -> bytes:
    """Return the bytes with the right digest at their end."""
    body = data[: -archive.DIGEST]
    return body + sha256(body).hexdigest().encode()


def raw_bytes(rng: np.random.Generator) -> str | None:
    """Change, cut, repeat or insert some bytes; half of the files get the right digest."""
    data = bytearray(sound()[rng.integers(len(KEPT))][0])
    for _ in range(rng.integers(1, 6)):
        at, n = int(rng.integers(len(data))), int(rng.integers(1, 30))
        action = rng.integers(5)
        if action == 0:
            data[at] = rng.integers(256)
        elif action == 1:
            data[at] ^= 1 << rng.integers(8)
        elif action == 2:
            del data[at : at + n]
        elif action == 3:
            data[at:at] = rng.bytes(n)
        else:
            data[at:at] = data[max(0, at - n) : at]
    data = data[: rng.integers(1, len(data))] if rng.random() < 0.1 else data
    return judged(seal_again(bytes(data)) if rng.random() < 0.5 else bytes(data))


def manifest(rng: np.random.Generator) -> str | None:
    """Replace, remove, move or add some values of the manifest."""
    parts = list(sound()[rng.integers(len(KEPT))][1])
    found = json.loads(parts[0][1])
    for _ in range(rng.integers(1, 4)):
        places = list(_places(found))
        where, key = places[rng.integers(len(places))]
        action = rng.integers(4)
        if action == 0:
            where[key] = deepcopy(VALUES[rng.integers(len(VALUES))])
        elif action == 1:
            del where[key]
        elif action == 2:
            other, name = places[rng.integers(len(places))]
            where[key] = json.loads(json.dumps(other[name]))
        elif isinstance(where, dict):
            where[["memory", "path_", "kernel_", "native_kind", "fit", "__class__"][rng.integers(6)]] = "/tmp"
    return judged(sealed([(parts[0][0], json.dumps(found).encode()), *parts[1:]]))


def _places(value: Any) -> Any:
    """Yield each container with each key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(items):
        yield value, key
        yield from _places(part)


def arrays(rng: np.random.Generator) -> str | None:
    """Replace an array by one of another shape, dtype or content, with the right digest."""
    parts = dict(sound()[rng.integers(len(KEPT))][1])
    found = json.loads(parts["manifest.json"])
    names = sorted(found["arrays"])
    name = names[rng.integers(len(names))]
    old = np.load(io.BytesIO(parts[name]))
    parts[name] = _dumped(_changed(old, rng))
    found["arrays"][name] = sha256(parts[name]).hexdigest()
    return judged(sealed(list((parts | {"manifest.json": json.dumps(found).encode()}).items())))


def _changed(old: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    action = rng.integers(6)
    new = np.array(old, dtype=float) if old.dtype.kind in "biuf" else np.zeros(old.shape)
    if action == 0:
        return new.astype([np.float32, np.float16, np.int64, np.int8, bool, "U3", np.uint64][rng.integers(7)])
    if action == 1:
        return np.zeros(rng.integers(0, 5, size=rng.integers(0, 4)))
    if action == 2:
        return old.T
    if new.size and action in (3, 4):
        new.flat[rng.integers(new.size)] = [np.nan, np.inf, -1e300, 1e300, -1.0][rng.integers(5)]
        return new
    return np.concatenate([new, new]) if new.ndim else new[None]


def _dumped(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def judged(data: bytes) -> str | None:
    """Load a file and use the model; return what was mishandled, or None."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "model.mercer")
        path.write_bytes(data)
        try:
            model = mercer.io.read(path).model
        except ModelFileError as error:
            text = str(error)
            return None if len(text) <= LONGEST and text.isprintable() else f"the error is not one line: {text!r}"
        except Exception as error:
            return f"loading raises {type(error).__name__}: {error}"
        return _used(model)


def _used(model: Any) -> str | None:
    d = getattr(model, "n_features_in_", None)
    if d is None or d > WIDEST:
        return None if d is None or d <= MOST_ROWS else f"it states {d} features"
    X = np.linspace(0.1, 1, ROWS * d).reshape(ROWS, d)
    with np.errstate(all="ignore"):
        for name in METHODS:
            if hasattr(model, name):
                try:
                    getattr(model, name)(X)
                except ERRORS:
                    pass
                except Exception as error:
                    return f"{type(model).__name__}.{name} raises {type(error).__name__}: {error}"
    return None
