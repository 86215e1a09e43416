"""Dask arrays: the only module that imports Dask.

Methods of rows return a Dask array for a Dask array. Sums over rows are computed on the cluster, in a tree, and only
the result comes to the client. Rows are identified by their number in the whole array, so that results do not depend on
the chunks. Nothing is scattered to the workers: all that a failed worker held can be computed again.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial, reduce, wraps
from typing import Any, TypeVar, cast

import numpy as np

from . import arrays
from .arrays import Array

Method = TypeVar("Method", bound=Callable)

ARITY = 8  # sums that one task adds
PAIR_BLOCKS = 24  # blocks of rows in a product with the whole kernel matrix, at most: 300 tasks
PAIR_ROWS = 1000  # of such a block, at least: a smaller task takes less time than its overhead


def is_lazy(X: Any) -> bool:
    """Return True if X is a Dask array or data frame; Dask is not imported for it."""
    return "dask" in sys.modules and type(X).__module__.split(".")[0] in {"dask", "dask_expr"}


def as_rows(X: Any) -> Any:
    """Return X as a Dask array of floats whose blocks are whole rows, of known sizes."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: rows and columns are needed.")
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError(
            "The Dask array has chunks of unknown sizes, and rows are identified by their number. Use "
            "X.compute_chunk_sizes(), or df.to_dask_array(lengths=True) for a data frame."
        )
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def take(X: Any, rows: Any) -> Any:
    """Return X[rows] in memory, or None if X is None. Rows of a Dask array, not validated before, must be finite."""
    if not is_lazy(X):
        return None if X is None else arrays.rows(X, rows)
    part = X[rows].compute()
    _check_finite(part, np.arange(X.shape[0])[rows], "the Dask array")
    return part


def computed(x: Any) -> Any:
    """Return the value of a lazy result, and any other object unchanged."""
    return x.compute() if is_lazy(x) else x


def lazy_ones(X: Any) -> Any:
    """Return a Dask array with a one for each row of X, created on the workers."""
    import dask.array as da

    return da.ones(X.shape[0], chunks=(X.chunks[0],))


def map_blocks(f: Callable[[np.ndarray], np.ndarray], X: Any, name: str) -> Any:
    """Return the Dask array of blocks ``f(block)``; f of a row of zeros gives its number of columns and its dtype."""
    import dask.array as da
    from dask import delayed

    X = as_rows(X)
    like = np.asarray(f(np.zeros((1, X.shape[1]), X.dtype)))
    chunks = (X.chunks[0], *((size,) for size in like.shape[1:]))
    return da.map_blocks(
        _block,
        X,
        held=delayed(_Held(f)),
        name=None,
        token=name,
        dtype=like.dtype,
        chunks=chunks,
        drop_axis=[] if like.ndim == 2 else [1],
        meta=np.empty((0,) * like.ndim, like.dtype),
    )


def fold_blocks(f: Callable, add: Callable, arrays: Sequence[Any], name: str) -> Any:
    """Return the sum of ``f(block, …)`` over the blocks of rows, computed on the cluster; ``add`` is not in place."""
    from dask import delayed

    sizes = arrays[0].chunks[0]
    ends = np.cumsum(sizes)
    blocks = zip(*(_blocks(array, sizes, ends) for array in arrays), strict=True)
    held, part = delayed(_Held(f)), delayed(_of_finite, name=name)
    total = delayed(partial(reduce, add), name=f"{name}-sum")
    parts = [part(held, int(end - n), *block) for n, end, block in zip(sizes, ends, blocks, strict=True) if n]
    while len(parts) > 1:
        parts = [total(parts[i : i + ARITY]) for i in range(0, len(parts), ARITY)]
    return parts[0].compute()


def symmetric_blocks(f: Callable, X: Any, V: Array, name: str) -> np.ndarray:
    """Return K @ V for the symmetric K of blocks f(x, y): the upper ones are computed, on the cluster."""
    import dask
    from dask import delayed

    X = X.rechunk({0: max(PAIR_ROWS, -(-X.shape[0] // PAIR_BLOCKS)), 1: -1})
    sizes = X.chunks[0]
    ends = np.cumsum(sizes)
    blocks = _blocks(X, sizes, ends)
    parts = [delayed(V[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    held, pair = delayed(_Held(f)), delayed(_pair, name=name, nout=2)
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
            return method(self, X)
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


class _Held:
    """A value that many tasks share, which the graph holds only once."""

    def __init__(self, value: Any):
        self.value = value


def _blocks(array: Any, sizes: Sequence[int], ends: np.ndarray) -> list[Any]:
    """Return the blocks of rows of an array, of the given sizes."""
    if not is_lazy(array):
        return [array[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    array = array if array.chunks[0] == tuple(sizes) else array.rechunk({0: tuple(sizes)})
    return list(array.to_delayed().ravel())


def _block(block: np.ndarray, held: Any = None, block_info: Any = None) -> np.ndarray:
    start = block_info[0]["array-location"][0][0] if block_info else 0
    return np.asarray(_of_finite(held, start, block))


def _of_finite(held: _Held, start: int, block: np.ndarray, *others: np.ndarray) -> Any:
    """Return ``f(block, …)`` of the f that is held; an error names the rows of the block."""
    block = np.asarray(block)
    where = f"rows {start} to {start + len(block) - 1} of the Dask array"
    _check_finite(block, start + np.arange(len(block)), where)
    try:
        return held.value(block, *others)
    except ValueError as error:
        raise ValueError(f"{error} (in {where})") from error


def _check_finite(block: np.ndarray, rows: np.ndarray, where: str) -> None:
    """Raise ValueError if a block, whose rows have these numbers, holds NaN or infinity."""
    if np.isfinite(block).all():
        return
    row, *column = np.argwhere(~np.isfinite(block))[0]
    raise ValueError(
        f"NaN or infinity in {where}; the first is in row {rows[row]}, column {column[0] if column else 0}. "
        "Fill or drop such rows before fit."
    )


def _pair(held: _Held, x: Array, y: Array, v_x: Array, v_y: Array, same: bool) -> tuple[Array, Array | None]:
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
    """Return the mean and the standard deviation (1 for constant columns) of each column, in one pass."""
    import dask

    mean, scale = dask.compute(X.mean(axis=0), X.std(axis=0))
    return mean, np.where(scale > 0, scale, 1.0)
