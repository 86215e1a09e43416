"""Real data sets from their public sources: fetched once, checked against a digest, kept as ``.npz`` files."""

import csv
import gzip
import hashlib
import io
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from scipy.io import loadmat

from .._core.atomic import replacing

STANFORD = "https://hastie.su.domains/ElemStatLearn/datasets/"
RDATASETS = "https://vincentarelbundock.github.io/Rdatasets/csv/MASS/"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
IDA = "https://github.com/tdiethe/gunnar_raetsch_benchmark_datasets/raw/master/benchmarks.mat"
IDA_DIGEST = "47c19e4bc4716edc4077cfa5ea61edf4d02af4ec51a0ecfe035626ae8b561c75"
IDA_NAMES = (
    *("banana", "breast_cancer", "diabetis", "flare_solar", "german", "heart", "image"),
    *("ringnorm", "splice", "thyroid", "titanic", "twonorm", "waveform"),
)
DIGESTS = {  # of the arrays, whatever file they came in
    "usps": "246ac4109d6426add78fe456a33f59b61a94c9cd0ae4e7f0bad2dacf4353913d",
    "pima": "1535dac5f6956f90c40ab6420d8ddeccfbc6d02586c09392f79e8e6dbdd58e49",
    "mnist": "0e32d75eb9f6fad3aa20fc7b2607c842af36ff16c0910a40432c496a529083ed",
    "mnist01": "508b5829dfd4049e12675a53d9447c670391d805f9d58dfc7f5b216ee784887c",
}
IDX_HEADERS = {"images": 16, "labels": 8}  # bytes before the pixels, and before the labels
PATIENCE = 60  # seconds without an answer


def fetch(name, folder, opener=urlopen):
    """Fetch a data set into a folder and return its path.

    Parameters
    ----------
    name : str
        ``"usps"``, ``"pima"``, ``"mnist"``, ``"mnist01"``, or ``"ida_…"``.
    folder : Path
        Where ``name.npz`` is written; it is made where there is none.
    opener : callable
        Opens an address, as ``urllib.request.urlopen``.

    Returns
    -------
    path : Path
        The file.

    Raises
    ------
    FileNotFoundError
        Where there is no such set, its source does not answer, or what came is not the set.
    """
    if name not in SOURCES:
        raise FileNotFoundError(f"There is no public source for {name!r}. Those that have one: {', '.join(SOURCES)}.")
    try:
        arrays = SOURCES[name](lambda url: _read(url, opener))
    except (URLError, TimeoutError, ConnectionError) as error:
        raise FileNotFoundError(f"The source of {name!r} does not answer ({error}).") from None
    if name in DIGESTS and digest(arrays) != DIGESTS[name]:
        raise FileNotFoundError(f"What the source of {name!r} has given is not that data set: its sha256 differs.")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.npz"
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)
    return path


def digest(arrays):
    """The sha256 of names, types, shapes and contents."""
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        whole.update(f"{name} {array.dtype.str} {array.shape}".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


def _read(url, opener):
    with opener(url, timeout=PATIENCE) as answer:
        return answer.read()


def _usps(read):
    def rows(part):
        table = np.loadtxt(io.BytesIO(gzip.decompress(read(f"{STANFORD}zip.{part}.gz"))), ndmin=2)
        return table[:, 1:].astype(np.float32), table[:, 0].astype(np.uint8)

    return _parts(rows("train"), rows("test"))


def _pima(read):
    def rows(part):
        lines = list(csv.reader(io.StringIO(read(f"{RDATASETS}Pima.{part}.csv").decode())))[1:]
        diabetic = [line[-1] == "Yes" for line in lines]
        return np.array([line[1:-1] for line in lines], float), np.array(diabetic, np.uint8)

    return _parts(rows("tr"), rows("te"))


def _mnist(read):
    def values(part, kind, dimensions):
        data = gzip.decompress(read(f"{MNIST}{part}-{kind}-idx{dimensions}-ubyte.gz"))
        return np.frombuffer(data, np.uint8, offset=IDX_HEADERS[kind])

    def rows(part):
        y = values(part, "labels", 1)
        return values(part, "images", 3).reshape(len(y), -1), y

    return _parts(rows("train"), rows("t10k"))


def _mnist01(read):
    whole = _mnist(read)
    kept = {part: whole[f"y_{part}"] <= 1 for part in ("train", "test")}
    return {key: values[kept[key.partition("_")[2]]] for key, values in whole.items()}


def _parts(train, test):
    return {"X_train": train[0], "y_train": train[1], "X_test": test[0], "y_test": test[1]}


def _ida(name):
    """The function that reads one set: different rows once each, and the rows of every split by their numbers."""

    def arrays(read):
        data = read(IDA)
        if hashlib.sha256(data).hexdigest() != IDA_DIGEST:
            raise FileNotFoundError(f"What {IDA} has given is not the benchmark: its sha256 differs.")
        x, t, train, test = loadmat(io.BytesIO(data), variable_names=[name])[name][0][0]
        return {
            "X": x.astype(float),
            "y": t.ravel().astype(np.int8),
            "train_idx": train.astype(np.int16) - 1,  # they count from 1
            "test_idx": test.astype(np.int16) - 1,
        }

    return arrays


SOURCES = {"usps": _usps, "pima": _pima, "mnist": _mnist, "mnist01": _mnist01}
SOURCES |= {f"ida_{name}": _ida(name) for name in IDA_NAMES}
