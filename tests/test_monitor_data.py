"""Data sets for monitoring: their sources give the arrays that the digests are of."""

import io
from urllib.error import URLError

import numpy as np
import pytest

from mercer import datasets
from mercer.datasets import fetching, monitoring


class Web:
    """Addresses and what they answer."""

    def __init__(self, answers):
        self.answers = answers

    def __call__(self, url, timeout):
        if url not in self.answers:
            raise URLError("unknown")
        return io.BytesIO(self.answers[url])


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def text(rows):
    file = io.StringIO()
    np.savetxt(file, rows)
    return file.getvalue().encode()


@pytest.fixture
def web():
    rng = np.random.default_rng(0)
    runs = {f"d{fault:02d}_te": rng.normal(size=(6, 4)) for fault in range(11)}
    files = {f"{monitoring.EASTMAN}{name}.dat": text(rows) for name, rows in runs.items()}
    files[f"{monitoring.EASTMAN}d00.dat"] = text(rng.normal(size=(4, 5)))
    files[f"{monitoring.ADBENCH}45_wine.npz"] = npz(X=np.arange(12).reshape(4, 3), y=[0, 0, 1, 0])
    return Web(files)


def test_sources_are_read(web, tmp_path, monkeypatch):
    monkeypatch.setattr(monitoring, "DIGESTS", {})
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    fetching.fetch("te", tmp_path, web)
    fetching.fetch("ad_wine", tmp_path, web)
    te, wine = datasets.load("te"), datasets.load("ad_wine")
    assert te["X_train"].shape == (5, 4)
    assert te["fault_10"].shape == te["X_test"].shape == (6, 4)
    assert wine["X"].dtype == float
    assert wine["y"].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("name", ["te", "ad_wine"])
def test_other_arrays_are_refused(name, web, tmp_path):
    with pytest.raises(FileNotFoundError, match="sha256 differs"):
        fetching.fetch(name, tmp_path, web)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted(monitoring.DIGESTS))
def test_the_digests_are_those_of_the_files(name):
    try:
        path = datasets.find(name)
    except FileNotFoundError:
        pytest.skip(f"MERCER_DATA has no {name}.npz")
    with np.load(path, allow_pickle=False) as arrays:
        values = {key: arrays[key] for key in arrays.files}
    assert fetching.digest(monitoring.as_numbers(values)) == monitoring.DIGESTS[name]
