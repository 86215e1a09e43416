"""The rows that everything is measured on: drawn from fixed seeds, or read from the folder named by MERCER_DATA."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

WORDS = 100  # drawn for each text
SEED = 20260
CLUSTERS, SPREAD = 10, 0.3  # centres are standard normal, and each cluster is this wide
SMOKE = 11  # times √n rows are left in a smoke run: sizes keep their order, and the largest stay above 1500


@dataclass(frozen=True)
class Data:
    """``n`` rows of ``d`` columns from a source of ``SOURCES``."""

    source: str
    n: int
    d: int
    dtype: str = "float64"

    def __call__(self):
        return SOURCES[self.source](self.n, self.d).astype(self.dtype, copy=False)

    def __str__(self):
        return f"{self.n:,} × {self.d}".replace(",", " ") + f" {self.source}, {self.dtype}"

    def missing(self):
        """Why there are no such rows, or None."""
        if self.source in DRAWN or (folder() / f"{self.source}.npz").is_file():
            return None
        return f"set MERCER_DATA to a folder that holds {self.source}.npz"

    def shrunk(self):
        """The same kind of rows, few enough for a smoke run."""
        return replace(self, n=min(self.n, int(SMOKE * self.n**0.5)))


def folder():
    """The folder of the real data sets; one that does not exist where the variable is not set."""
    return Path(os.environ.get("MERCER_DATA") or "/nonexistent")


def normal(n, d):
    """Independent standard normal columns: a spectrum with no gap inside its degrees."""
    return np.random.default_rng(SEED).standard_normal((n, d))


def clusters(n, d):
    """A mixture of narrow normal clusters: a few large eigenvalues, then a cliff."""
    rng = np.random.default_rng(SEED)
    centres = rng.standard_normal((CLUSTERS, d))
    return centres[rng.integers(CLUSTERS, size=n)] + SPREAD * rng.standard_normal((n, d))


def falling(n, d):
    """Normal columns of variance 1/j, scaled to d in all: a spectrum that decays, as those of images do."""
    scale = np.arange(1, d + 1) ** -0.5
    return np.random.default_rng(SEED).standard_normal((n, d)) * scale * (d / np.sum(scale**2)) ** 0.5


def usps(n, d):
    return _some(_read("usps", "X_train"), n).astype(float)


def mnist(n, d):
    return _some(_read("mnist", "X_train"), n) / 255.0  # grey levels to [0, 1]


def covtype(n, d):
    """Columns of mean 0 and variance 1; a column that is constant among the rows stays 0."""
    X = _some(_read("covtype", "X"), n).astype(float)
    X -= X.mean(axis=0)
    scale = X.std(axis=0)
    X /= np.where(scale > 0, scale, 1)
    return X


def _read(name, key):
    with np.load(folder() / f"{name}.npz", allow_pickle=False) as arrays:
        return arrays[key]


def _some(X, n):
    """n rows by lot, in their order: real files are often sorted."""
    return X[np.sort(np.random.default_rng(SEED).choice(len(X), min(n, len(X)), replace=False))]


def positive(n, d):
    """Shares of a row, as in histograms: chi2 is a kernel of them."""
    return np.random.default_rng(SEED).dirichlet(np.ones(d), n)


def words(n, d):
    """Sparse rows like term frequencies of texts: 100 words each, few of them frequent, of length 1."""
    rng = np.random.default_rng(SEED)
    columns, counts = (rng.zipf(1.3, (n, WORDS)) - 1) % d, rng.integers(1, 10, (n, WORDS))
    X = csr_array((counts.ravel().astype(float), (np.repeat(np.arange(n), WORDS), columns.ravel())), shape=(n, d))
    return TfidfTransformer().fit_transform(X)


DRAWN = {"normal": normal, "clusters": clusters, "falling": falling, "positive": positive, "words": words}
SOURCES = DRAWN | {"usps": usps, "mnist": mnist, "covtype": covtype}
