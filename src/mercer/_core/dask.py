"""Dask arrays: the only module that imports Dask.

Methods of rows return a Dask array for a Dask array. Sums over rows are computed on the cluster, in a tree, and only
the result comes to the client. Rows are identified by their number in the whole array, so that results do not depend on
the chunks. Nothing is scattered to the workers, so the results of a failed worker can be computed again.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import cached_property, partial, wraps
from typing import Any, TypeVar, cast

import numpy as np

from . import arrays
from .arrays import Array
from .batches import Source, as_source, each, is_source
from .dask_sums import Held, below, check_finite, chosen, of_block, part, summed

Method = TypeVar("Method", bound=Callable)

PAIR_BLOCKS = 24  # blocks of rows in a product with the whole kernel matrix, at most: 300 tasks
PAIR_ROWS = 1000  # of such a block, at least: a smaller task takes less time than its overhead


def is_lazy(X: Any) -> bool:
    """Return True if X is a Dask array or data frame; Dask is not imported for it."""
    return "dask" in sys.modules and type(X).__module__.split(".")[0] in {"dask", "dask_expr"}


def as_rows(X: Any, sizes: bool = True) -> Any:
    """Return X as a Dask array of floats whose blocks are whole rows; with ``sizes`` they are of known sizes.

    Unknown sizes, as of data frames and of filtered arrays, are computed, in one pass over the data.
    """
    X = _frame_values(X) if hasattr(X, "to_dask_array") else X
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: rows and columns are needed.")
    if type(X._meta).__module__.split(".")[0] in {"scipy", "sparse"}:
        raise TypeError("The blocks of the Dask array are sparse. Use X.map_blocks(lambda block: block.toarray()).")
    if X.dtype.kind not in "fiub":
        raise TypeError(f"The Dask array has the dtype {X.dtype}, and real numbers are needed. Use X.astype(float).")
    if sizes and not has_sizes(X):
        X = X.copy()
        X.compute_chunk_sizes()
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    X = X.rechunk({0: tuple(size for size in X.chunks[0] if size)}) if 0 in X.chunks[0] else X
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def has_sizes(X: Any) -> bool:
    """Return True if the numbers of rows of the blocks are known."""
    return not np.isnan(X.chunks[0]).any()


def _frame_values(frame: Any) -> Any:
    """Return the values of a data frame, or of a series, as floats; nullable and Arrow columns are converted."""
    dtypes = list(frame.dtypes) if frame.ndim == 2 else [frame.dtype]
    names = list(frame.columns) if frame.ndim == 2 else [frame.name]
    wrong = [str(name) for name, dtype in zip(names, dtypes, strict=True) if not _is_real(dtype)]
    if wrong:
        raise TypeError(f"Columns {', '.join(wrong)} of the Dask data frame hold no real numbers. Encode or drop them.")
    if not all(isinstance(dtype, np.dtype) for dtype in dtypes):
        frame = frame.map_partitions(_plain, _common(dtypes))
    return frame.to_dask_array()


def _common(dtypes: list) -> np.dtype:
    """Return float32 if all columns have it, whatever library they are of, else float64."""
    single = {"float32", "float32[pyarrow]", "float[pyarrow]"}
    return np.dtype(np.float32 if all(str(dtype).lower() in single for dtype in dtypes) else np.float64)


def _is_real(dtype: Any) -> bool:
    """Return True for the dtypes of real numbers and booleans, also nullable ones and those of Arrow."""
    kind = getattr(dtype, "kind", "O")
    return kind in "fiub" and not str(dtype).startswith(("date", "time", "duration"))


def _plain(part: Any, dtype: np.dtype) -> Any:
    """Return a pandas frame or series of plain floats; missing values are NaN."""
    values = part.to_numpy(dtype=dtype, na_value=np.nan)
    labels = {"columns": part.columns} if values.ndim == 2 else {"name": part.name}
    return type(part)(values, index=part.index, **labels)


def survey(X: Any, most: int) -> tuple[Any, np.ndarray]:
    """Return a Dask array of unknown sizes with its sizes, and a uniform random sample of its rows, in one pass."""
    held = Held(most, X.chunks[0])
    sizes, _, sample = summed(_drawn, held, [X], partial(_joined, most), "survey").compute()
    X = X.copy()
    X._chunks = (tuple(sizes), *X.chunks[1:])
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X, sample


Drawn = tuple[list[int], np.ndarray, np.ndarray]


def _drawn(block: np.ndarray, held: Any = None, block_id: Any = (0,)) -> Drawn:
    """Return the number of rows of a block, and the rows with the smallest random keys."""
    block, number = np.asarray(block), block_id[0]
    check_finite(block, range(len(block)), f"block {number} of the Dask array")
    keys = np.random.default_rng(number).random(len(block))
    return _smallest(held.value, [len(block)], keys, block)


def _joined(most: int, a: Drawn, b: Drawn) -> Drawn:
    return _smallest(most, a[0] + b[0], *(np.concatenate([a[i], b[i]]) for i in (1, 2)))


def _smallest(most: int, sizes: list[int], keys: np.ndarray, rows: np.ndarray) -> Drawn:
    kept = np.sort(np.argpartition(keys, most)[:most]) if len(keys) > most else slice(None)
    return sizes, keys[kept], rows[kept]


def take(X: Any, rows: Any) -> Any:
    """Return X[rows] in memory, or None if X is None. Rows of a Dask array, not validated before, must be finite."""
    if not is_lazy(X):
        return None if X is None else arrays.rows(X, rows)
    part = _kept(X, rows)
    if part is None:
        part = X[rows].compute()
        check_finite(part, np.arange(X.shape[0])[rows], "the Dask array")
    return part


class _Reading:
    """Some rows of a Dask array, sorted, and lazy numbers: all are computed in one pass, when one of them is needed."""

    def __init__(self, X: Any, rows: np.ndarray, numbers: dict[str, Any]):
        self.X, self.rows, self.lazy = X, rows, numbers

    @cached_property
    def found(self) -> tuple[np.ndarray, dict[str, float]]:
        import dask

        # numbers share the tasks that create blocks with X[rows], which takes longer to plan
        values, numbers = dask.compute(self.X[self.rows] if self.lazy else self._rows(), self.lazy)
        check_finite(values, self.rows, "the Dask array")
        return values, numbers

    def _rows(self) -> Any:
        """Return the rows, delayed."""
        sizes = self.X.chunks[0]
        blocks = np.unique(np.searchsorted(np.cumsum(sizes), self.rows, side="right"))
        return summed(chosen, Held(self.rows, sizes), [self.X], below, "rows", blocks)

    def take(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the rows of these numbers, or None if some are not among those to be read."""
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return self.found[0][places] if np.array_equal(self.rows[places], rows) else None


_reading: ContextVar[_Reading | None] = ContextVar("reading", default=None)


@contextmanager
def reading(X: Any, rows: np.ndarray, **numbers: Any) -> Iterator[None]:
    """Let rows of a Dask array, sorted, and numbers be computed in one pass when :func:`take` needs some of them."""
    token = _reading.set(_Reading(X, rows, numbers))
    try:
        yield
    finally:
        _reading.reset(token)


def number_read(X: Any, name: str) -> float | None:
    """Return a number that is computed when rows of X are read, or None."""
    read = _reading.get()
    planned = read is not None and read.X.name == getattr(X, "name", None) and name in read.lazy
    return read.found[1][name] if read is not None and planned else None


def _kept(X: Any, rows: Any) -> np.ndarray | None:
    read = _reading.get()
    return None if read is None or read.X.name != X.name or isinstance(rows, slice) else read.take(rows)


def computed(x: Any) -> Any:
    """Return the value of a lazy result, and any other object unchanged."""
    return x.compute() if is_lazy(x) else x


def mean(values: Any) -> float:
    """Return the mean of values, of a Dask array, or of an iterator of arrays."""
    if hasattr(values, "__next__"):
        sums = np.sum([(float(arrays.namespace(part).sum(part)), part.shape[0]) for part in values], axis=0)
        return float(sums[0] / sums[1])
    return float(computed(arrays.namespace(values).mean(values)))


def as_weights(weights: Any) -> Any:
    """Return a Dask series or array of weights as a vector of floats with blocks of known sizes."""
    if hasattr(weights, "to_dask_array"):
        weights = _frame_values(weights)
    if not has_sizes(weights):
        weights = weights.copy()
        weights.compute_chunk_sizes()
    return weights.astype(np.float64)


def extremes(values: Any) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    if not is_lazy(values):
        return float(np.min(values)), float(np.max(values))
    import dask

    return dask.compute(values.min(), values.max())


def lazy_variance(X: Any, weights: Any) -> Any:
    """Return the weighted variance of all entries of a Dask array, a lazy number that needs one pass."""
    if weights is None:
        return X.var()
    w = _column(weights, X.chunks[0])
    origin = X[:1].mean()  # near the data, so that the difference of squares is accurate
    count, first, second = w.sum() * X.shape[1], (w * (X - origin)).sum(), (w * (X - origin) ** 2).sum()
    return second / count - (first / count) ** 2


def map_blocks(f: Callable[[np.ndarray], np.ndarray], X: Any, name: str) -> Any:
    """Return the Dask array of blocks ``f(block)``; f of a row of zeros gives its number of columns and its dtype."""
    import dask.array as da
    from dask import delayed

    X = as_rows(X, sizes=False)
    like = np.asarray(f(np.zeros((1, X.shape[1]), X.dtype)))
    chunks = (X.chunks[0], *((size,) for size in like.shape[1:]))
    return da.map_blocks(
        of_block,
        X,
        held=delayed(Held(f, X.chunks[0], like[:0])),
        name=None,
        token=name,
        dtype=like.dtype,
        chunks=chunks,
        drop_axis=[] if like.ndim == 2 else [1],
        meta=np.empty((0,) * like.ndim, like.dtype),
    )


def fold_blocks(f: Callable, add: Callable, arrays: Sequence[Any], name: str) -> Any:
    """Return the sum of ``f(block, …)`` over the blocks of rows, computed on the cluster; ``add`` is not in place."""
    X, sizes = arrays[0], arrays[0].chunks[0]
    blocks = [X, *(_column(array, sizes) for array in arrays[1:])]
    return summed(part, Held(f, sizes), blocks, add, name, np.flatnonzero(sizes)).compute()


def _column(array: Any, sizes: Sequence[int]) -> Any:
    """Return a vector, one number for each row, as a Dask array of one column in blocks of the given sizes."""
    import dask.array as da

    array = array if is_lazy(array) else da.from_array(np.asarray(array), chunks=(tuple(sizes),))
    array = array if array.chunks[0] == tuple(sizes) else array.rechunk({0: tuple(sizes)})
    return array[:, None]


def symmetric_blocks(f: Callable, X: Any, V: Array, name: str) -> np.ndarray:
    """Return K @ V for the symmetric K of blocks f(x, y): the upper ones are computed, on the cluster."""
    import dask
    from dask import delayed

    X = X.rechunk({0: max(PAIR_ROWS, -(-X.shape[0] // PAIR_BLOCKS)), 1: -1})
    sizes = X.chunks[0]
    ends = np.cumsum(sizes)
    blocks = _blocks(X, sizes, ends)
    parts = [delayed(V[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    held, pair = delayed(Held(f)), delayed(_pair, name=name, nout=2)
    total = delayed(partial(np.sum, axis=0), name=f"{name}-sum")
    sums: list[list] = [[] for _ in blocks]
    for i, x in enumerate(blocks):
        for j in range(i, len(blocks)):
            along, across = pair(held, x, blocks[j], parts[i], parts[j], i == j)
            sums[i].append(along)
            if i != j:
                sums[j].append(across)
    return np.concatenate(dask.compute(*(total(products) for products in sums)))


def rowwise(method: Method) -> Method:
    """Decorate a method of rows: for a Dask array it returns a Dask array, computed block by block."""

    @wraps(method)
    def of_rows(self: Any, X: Any) -> Any:
        if not is_lazy(X):
            return each(partial(method, self), cast(Source, as_source(X))) if is_source(X) else method(self, X)
        if method.__name__ != "inverse_transform":  # whose columns are components
            check_names(self, X)
        estimator = copy(self)
        estimator.__dict__.pop("feature_names_in_", None)  # blocks are arrays, whose columns have no names
        return map_blocks(getattr(estimator, method.__name__), X, f"{type(self).__name__}-{method.__name__}")

    return cast(Method, of_rows)


def check_names(estimator: Any, X: Any) -> None:
    """Raise ValueError if the columns of a data frame are not those of ``fit``."""
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and hasattr(X, "columns") and list(fitted) != list(X.columns):
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"{list(fitted)} were seen at fit, and {list(X.columns)} are given."
        )


def _blocks(array: Any, sizes: Sequence[int], ends: np.ndarray) -> list[Any]:
    """Return the blocks of rows of an array, of the given sizes."""
    if not is_lazy(array):
        return [array[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    array = array if array.chunks[0] == tuple(sizes) else array.rechunk({0: tuple(sizes)})
    return list(array.to_delayed().ravel())


def _pair(held: Held, x: Array, y: Array, v_x: Array, v_y: Array, same: bool) -> tuple[Array, Array | None]:
    """Return k(x, y) v_y and k(y, x) v_x."""
    tile = held.value(np.asarray(x), np.asarray(y))
    return tile @ v_y, None if same else tile.T @ v_x


@contextmanager
def cluster(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start a local cluster that listens on the loopback interface only."""
    from distributed import Client, LocalCluster

    if address is not None:
        with Client(address) as client:
            yield client
        return
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as local,
        Client(local) as client,
    ):
        yield client


def read_parquet(pattern: str, columns: list[str] | None = None) -> Any:
    """Return a Dask data frame of Parquet files; ``pattern`` may contain * and ?."""
    import dask.dataframe as dd

    return dd.read_parquet(pattern, columns=columns)


def means_and_scales(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation (1 for constant columns) of each column, without NaN, in one pass."""
    import dask
    import dask.array as da

    X = as_rows(X, sizes=False)
    mean, scale = dask.compute(da.nanmean(X, axis=0), da.nanstd(X, axis=0))
    return mean, np.where(scale > 0, scale, 1.0)


def distinct(frame: Any, name: str) -> Any:
    """Return the distinct values of a column of a Dask data frame, as a frame in memory."""
    return frame[[name]].drop_duplicates().compute()


def map_frames(frame: Any, f: Callable[..., np.ndarray], argument: Any, columns: list[str]) -> Any:
    """Return the Dask data frame of partitions ``f(part, argument)``, arrays with these columns."""
    import pandas as pd

    meta = pd.DataFrame(np.empty((0, len(columns))), columns=columns)
    return frame.map_partitions(_as_frame, f, argument, columns, meta=meta)


def _as_frame(part: Any, f: Callable[..., np.ndarray], argument: Any, columns: list[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(f(part, argument), columns=columns)
