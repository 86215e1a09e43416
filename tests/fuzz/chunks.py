"""Dask arrays in odd chunks, empty ones among them: the same result as in memory, or a ``ValueError``."""

import warnings

import numpy as np

import mercer
from mercer.kernels import RBF
from mercer.rkhs.landmarks import Landmarks

TOLERANCE = 1e-6  # of the largest coordinate
ROWS, COLUMNS = 30, 3
LARGE = 1e150  # squares overflow beyond


def chunked(rng: np.random.Generator) -> str | None:
    """Fit a model to a table in random chunks, and transform it in other ones."""
    try:
        import dask
        import dask.array as da
    except ImportError:
        return None
    scale = 10.0 ** rng.integers(-3, 4)
    X = rng.normal(size=(ROWS, COLUMNS)) * scale
    if rng.random() < 0.2:
        X[rng.integers(ROWS), rng.integers(COLUMNS)] = [np.nan, np.inf, 1e200][rng.integers(3)]
    solver = Landmarks(12) if rng.random() < 0.7 else "auto"
    lazy, model = (
        da.from_array(X, chunks=(_sizes(rng, ROWS), _sizes(rng, COLUMNS))),
        lambda: _model(solver, 0.3 / scale**2),
    )
    with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("ignore")
        try:
            found = np.asarray(model().fit(lazy).transform(lazy.rechunk((_sizes(rng, ROWS), -1))).compute())
        except ValueError as error:
            unsound = not np.isfinite(X).all() or np.abs(X).max() > LARGE
            return None if unsound else f"chunks {lazy.chunks}: sound data are refused: {error}"
        except Exception as error:
            return f"chunks {lazy.chunks}: {type(error).__name__}: {error}"
        expected = model().fit(X).transform(X)
    if found.shape != expected.shape:
        return f"chunks {lazy.chunks}: the shape is {found.shape}, not {expected.shape}"
    error = np.abs(found - expected).max(initial=0.0)
    return None if error <= TOLERANCE * np.abs(expected).max(initial=1.0) else f"chunks {lazy.chunks}: off by {error:g}"


def _model(solver: object, gamma: float) -> mercer.KernelPCA:
    return mercer.KernelPCA(2, kernel=RBF(gamma=gamma), solver=solver, random_state=0)


def _sizes(rng: np.random.Generator, n: int) -> tuple[int, ...]:
    """Return sizes of chunks that add up to n, some of them 0."""
    cuts = np.sort(rng.integers(0, n + 1, size=rng.integers(0, 5)))
    return tuple(int(size) for size in np.diff([0, *cuts, n]))
