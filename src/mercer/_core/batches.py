"""Sources of batches: iterators of arrays or frames, Arrow data sets and readers, polars LazyFrames, Parquet files.

One batch is in memory at a time. No library is imported for this: a source belongs to one that the caller has imported,
except for paths of Parquet files, which pyarrow reads.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic, iglob
from os import PathLike
from typing import Any

import numpy as np

from .arrays import vstack

BATCH_ROWS = 2**16  # of Arrow data sets and LazyFrames: some megabytes


@dataclass(frozen=True)
class Source:
    """Batches of rows: ``read()`` starts at the first; a source that is read ``once`` is then used up."""

    read: Callable[[], Iterator[Any]]
    once: bool
    may_be_empty: bool = False  # whether a batch without rows is normal, as in a filtered data set

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Iterate over the numbers of the batches and the batches; a batch without rows is an error."""
        number = -1
        for number, batch in enumerate(self.read()):
            if getattr(batch, "shape", (1,))[0] == 0:
                if self.may_be_empty:
                    continue
                raise ValueError(f"Batch {number} is empty. Skip such batches, or end the iterator.")
            yield number, batch
        if number < 0:
            raise ValueError("The source yields no batches: at least one with samples is required.")


def as_source(X: Any) -> Source | None:
    """Return the batches of X, or None if X is not a source of batches."""
    if isinstance(X, str | PathLike):
        return _parquet(X)
    library = type(X).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(X, "to_batches") and hasattr(X, "scanner"):
        return Source(lambda: X.to_batches(batch_size=BATCH_ROWS), once=False, may_be_empty=True)
    if library == "pyarrow" and hasattr(X, "read_next_batch"):
        return Source(lambda: iter(X), once=True, may_be_empty=True)
    if library == "polars" and hasattr(X, "collect_schema") and not hasattr(X, "to_numpy"):
        return Source(lambda: _collected(X), once=False, may_be_empty=True)
    if hasattr(X, "__next__"):
        return Source(lambda: X, once=True)
    return None


def is_source(X: Any) -> bool:
    """Return True if X yields batches of rows and is not an array, a frame or a Dask collection."""
    if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "__array__"):
        return False
    return as_source(X) is not None


@contextmanager
def named(number: int, start: int = 0, batch: Any = None) -> Iterator[None]:
    """Let errors name the batch that they come from, the first row in it that is not finite, or else its first row."""
    try:
        yield
    except (ValueError, TypeError) as error:
        row = _first_bad_row(batch)
        place = (
            f"whose first row is row {start} of all" if row is None else f"row {row} of it (row {start + row} of all)"
        )
        raise type(error)(f"Batch {number}, {place}: {error}") from error


def _first_bad_row(batch: Any) -> int | None:
    """Return the first row with a number that is not finite, if the rows are numbers."""
    try:
        bad = np.flatnonzero(~np.isfinite(np.asarray(batch, float)).all(axis=1))
    except (ValueError, TypeError):  # not an array of numbers, as the error itself says
        return None
    return int(bad[0]) if len(bad) else None


def each(f: Callable[[Any], Any], source: Source) -> Iterator[Any]:
    """Yield ``f(batch)``, one batch in memory at a time; errors name the batch."""
    start = 0
    for number, batch in source:
        with named(number, start, batch):
            yield f(batch)
        start += len(batch)


class Sample:
    """A uniform random sample of at most ``most`` rows of a stream, in their order."""

    def __init__(self, most: int, rng: np.random.Generator):
        self.most, self.rng = most, rng
        self.seen, self.keys = 0, np.empty(0)
        self.rows: Any = None

    def add(self, X: Any) -> None:
        """Draw a random key for each row; the rows with the smallest keys are kept."""
        keys = self.rng.random(X.shape[0])
        near = keys <= (self.keys.max() if len(self.keys) >= self.most else 1.0)
        self.keys = np.append(self.keys, keys[near])
        self.rows = X[near] if self.rows is None else vstack(self.rows, X[near])
        self.seen += X.shape[0]
        if len(self.keys) > self.most:
            kept = np.sort(np.argpartition(self.keys, self.most)[: self.most])
            self.keys, self.rows = self.keys[kept], self.rows[kept]


def _collected(frame: Any) -> Iterator[Any]:
    """Return the batches of a polars LazyFrame."""
    if hasattr(frame, "collect_batches"):
        return iter(frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True))
    return _slices(frame)


def _slices(frame: Any) -> Iterator[Any]:
    start = 0
    while len(part := frame.slice(start, BATCH_ROWS).collect()):
        yield part
        start += len(part)


def _parquet(path: Any) -> Source:
    """Return the batches of a Parquet file, of a folder of such files, or of those that match a pattern."""
    try:
        from pyarrow.dataset import dataset
    except ImportError as error:
        raise ImportError(
            f"X is the path {str(path)!r}, and Parquet files need the package pyarrow: pip install 'mercer[tables]'."
        ) from error
    files = sorted(iglob(str(path))) if has_magic(str(path)) else str(path)
    if not files:
        raise FileNotFoundError(f"No file matches {str(path)!r}.")
    found = dataset(files, format="parquet")
    return Source(lambda: found.to_batches(batch_size=BATCH_ROWS), once=False, may_be_empty=True)
