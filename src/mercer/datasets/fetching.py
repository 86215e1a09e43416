"""Downloads of real data sets from their public sources: checked against a digest, stored as ``.npz`` files."""

import csv
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from .._core.atomic import replacing
from . import monitoring
from .download import FetchError, download, gunzip, open_url

STANFORD = "https://hastie.su.domains/ElemStatLearn/datasets/"
RDATASETS = "https://vincentarelbundock.github.io/Rdatasets/csv/MASS/"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
IDA = "https://github.com/tdiethe/gunnar_raetsch_benchmark_datasets/raw/master/benchmarks.mat"
IDA_DIGEST = "47c19e4bc4716edc4077cfa5ea61edf4d02af4ec51a0ecfe035626ae8b561c75"
IDA_NAMES = (
    *("banana", "breast_cancer", "diabetis", "flare_solar", "german", "heart", "image"),
    *("ringnorm", "splice", "thyroid", "titanic", "twonorm", "waveform"),
)
DIGESTS = {  # of the arrays, independent of the file format
    "usps": "246ac4109d6426add78fe456a33f59b61a94c9cd0ae4e7f0bad2dacf4353913d",
    "pima": "1535dac5f6956f90c40ab6420d8ddeccfbc6d02586c09392f79e8e6dbdd58e49",
    "mnist": "0e32d75eb9f6fad3aa20fc7b2607c842af36ff16c0910a40432c496a529083ed",
    "mnist01": "508b5829dfd4049e12675a53d9447c670391d805f9d58dfc7f5b216ee784887c",
}
IDX_HEADERS = {"images": 16, "labels": 8}  # bytes before the pixels, and before the labels

Arrays = dict[str, np.ndarray]
Read = Callable[[str], bytes]  # from a URL


def fetch(name: str, folder: Path, opener: Callable[..., Any] = open_url) -> Path:
    """Download a data set, write ``name.npz`` into a folder, which is created if necessary, and return its path.

    Raises :class:`FetchError`, a FileNotFoundError, whatever fails: no source, no answer, a download that is cut short,
    too long, a web page or not the data set. Nothing is kept then. ``opener`` is a replacement for
    ``urllib.request.urlopen``.
    """
    if name not in SOURCES:
        raise FetchError(f"There is no public source for {name!r}. Available: {', '.join(SOURCES)}.")
    way_out = f"Try again later, or put {name}.npz into the folder {folder} by hand."
    try:
        arrays = SOURCES[name](lambda url: download(url, opener))
        if digest(arrays) != (DIGESTS | monitoring.DIGESTS).get(name, digest(arrays)):
            raise ValueError("its sha256 differs")
    except FetchError as error:
        raise FetchError(str(error), way_out) from None
    except Exception as error:  # readers of untrusted bytes raise many kinds
        raise FetchError(f"The download of {name!r} is not the expected data set: {error}.", way_out) from None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.npz"
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return path


def digest(arrays: Arrays) -> str:
    """Return the sha256 of names, types, shapes and contents."""
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        whole.update(f"{name} {array.dtype.str} {array.shape}".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


def _usps(read: Read) -> Arrays:
    def rows(part: str) -> tuple[np.ndarray, np.ndarray]:
        table = np.loadtxt(io.BytesIO(gunzip(read(f"{STANFORD}zip.{part}.gz"))), ndmin=2)
        return table[:, 1:].astype(np.float32), table[:, 0].astype(np.uint8)

    return _parts(rows("train"), rows("test"))


def _pima(read: Read) -> Arrays:
    def rows(part: str) -> tuple[np.ndarray, np.ndarray]:
        lines = list(csv.reader(io.StringIO(read(f"{RDATASETS}Pima.{part}.csv").decode())))[1:]
        diabetic = [line[-1] == "Yes" for line in lines]
        return np.array([line[1:-1] for line in lines], float), np.array(diabetic, np.uint8)

    return _parts(rows("tr"), rows("te"))


def _mnist(read: Read) -> Arrays:
    def values(part: str, kind: str, dimensions: int) -> np.ndarray:
        data = gunzip(read(f"{MNIST}{part}-{kind}-idx{dimensions}-ubyte.gz"))
        return np.frombuffer(data, np.uint8, offset=IDX_HEADERS[kind])

    def rows(part: str) -> tuple[np.ndarray, np.ndarray]:
        y = values(part, "labels", 1)
        return values(part, "images", 3).reshape(len(y), -1), y

    return _parts(rows("train"), rows("t10k"))


def _mnist01(read: Read) -> Arrays:
    whole = _mnist(read)
    kept = {part: whole[f"y_{part}"] <= 1 for part in ("train", "test")}
    return {key: values[kept[key.partition("_")[2]]] for key, values in whole.items()}


def _parts(train: tuple[np.ndarray, ...], test: tuple[np.ndarray, ...]) -> Arrays:
    return {"X_train": train[0], "y_train": train[1], "X_test": test[0], "y_test": test[1]}


def _ida(name: str) -> Callable[[Read], Arrays]:
    """Return the function that reads one data set: its rows, and the row indices of every split."""

    def arrays(read: Read) -> Arrays:
        data = read(IDA)
        if hashlib.sha256(data).hexdigest() != IDA_DIGEST:
            raise ValueError("its sha256 differs")
        x, t, train, test = loadmat(io.BytesIO(data), variable_names=[name])[name][0][0]
        return {
            "X": x.astype(float),
            "y": t.ravel().astype(np.int8),
            "train_idx": train.astype(np.int16) - 1,  # numbered from 1
            "test_idx": test.astype(np.int16) - 1,
        }

    return arrays


SOURCES: dict[str, Callable[[Read], Arrays]] = {"usps": _usps, "pima": _pima, "mnist": _mnist, "mnist01": _mnist01}
SOURCES |= {f"ida_{name}": _ida(name) for name in IDA_NAMES}
SOURCES |= monitoring.SOURCES
