"""Rows that live elsewhere: the only place that knows Dask.

A Dask array comes in as it is and goes out as one; what is summed over rows is summed on the cluster, in a tree, and
only the sum comes to the client. Rows are known by their number in the whole array, so that no result depends on how
they are cut into blocks. Nothing is scattered: a worker that dies takes with it what can be computed again.
"""

import sys
from contextlib import contextmanager
from copy import copy
from functools import wraps

import numpy as np

from . import arrays

ARITY = 8  # sums that one task adds up
PAIR_BLOCKS = 24  # blocks of rows in a product by the whole kernel matrix, at most: 300 tasks
PAIR_ROWS = 1000  # of such a block, at least: below it a task costs more than its work


def is_lazy(X):
    """Whether X is a Dask array or data frame; Dask is not imported to tell."""
    return "dask" in sys.modules and type(X).__module__.split(".")[0] in {"dask", "dask_expr"}


def as_rows(X):
    """Return X as a Dask array of floats whose blocks are whole rows, of known sizes."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: rows and columns are needed.")
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError(
            "The Dask array has chunks of unknown sizes, and rows are known by their number. Use "
            "X.compute_chunk_sizes(), or df.to_dask_array(lengths=True) for a data frame."
        )
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def take(X, rows):
    """X[rows] in memory; None of None. Rows that come from a cluster are looked at here, others were before."""
    if not is_lazy(X):
        return None if X is None else arrays.rows(X, rows)
    part = X[rows].compute()
    if not np.isfinite(part).all():
        first = np.argwhere(~np.isfinite(part))[0]
        raise ValueError(_not_finite("the Dask array", np.arange(X.shape[0])[rows][first[0]], *first[1:]))
    return part


def computed(x):
    """What a lazy result comes to; anything else as it is."""
    return x.compute() if is_lazy(x) else x


def lazy_ones(X):
    """A Dask array of a one for each row of X, which no graph carries along."""
    import dask.array as da

    return da.ones(X.shape[0], chunks=(X.chunks[0],))


def map_blocks(f, X, name):
    """Return the Dask array whose blocks are ``f(block)``; its columns and dtype are those of f on a row of zeros."""
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


def fold_blocks(f, add, arrays, name):
    """Add up ``f(block, …)`` over the blocks of rows, on the cluster; return the sum. ``add`` changes no argument."""
    from dask import delayed

    first, *others = arrays
    sizes = first.chunks[0]
    ends = np.cumsum(sizes)
    others = [_blocks(other, sizes, ends) for other in others]
    held, added = delayed(_Held(f)), delayed(_Held(add))
    part, total = delayed(_part, name=name), delayed(_total, name=f"{name}-sum")
    parts = [
        part(held, int(ends[i] - sizes[i]), block, *(other[i] for other in others))
        for i, block in enumerate(_blocks(first, sizes, ends))
        if sizes[i]
    ]
    while len(parts) > 1:
        parts = [total(added, parts[i : i + ARITY]) for i in range(0, len(parts), ARITY)]
    return parts[0].compute()


def symmetric_blocks(f, X, V, name):
    """K @ V for the K whose blocks are f(x, y): those on or above the diagonal are made, on the cluster."""
    import dask
    from dask import delayed

    X = X.rechunk({0: max(PAIR_ROWS, -(-X.shape[0] // PAIR_BLOCKS)), 1: -1})
    sizes = X.chunks[0]
    ends = np.cumsum(sizes)
    blocks = _blocks(X, sizes, ends)
    parts = [delayed(V[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    held, pair, total = delayed(_Held(f)), delayed(_pair, name=name, nout=2), delayed(_sum, name=f"{name}-sum")
    sums: list[list] = [[] for _ in blocks]
    for i, x in enumerate(blocks):
        for j in range(i, len(blocks)):
            along, across = pair(held, x, blocks[j], parts[i], parts[j], i == j)
            sums[i].append(along)
            if i != j:
                sums[j].append(across)
    return np.concatenate(dask.compute(*(total(products) for products in sums)))


def rowwise(method):
    """Let a method of rows answer a Dask array with one: the method of each block, when it is asked for."""

    @wraps(method)
    def of_rows(self, X):
        if not is_lazy(X):
            return method(self, X)
        _check_names(self, X)
        return map_blocks(_Bound(self, method), X, f"{type(self).__name__}-{method.__name__}")

    return of_rows


def _check_names(estimator, X):
    """Refuse a data frame whose columns are not those of ``fit``."""
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and hasattr(X, "columns") and list(fitted) != list(X.columns):
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"{list(fitted)} were seen at fit, and {list(X.columns)} are given."
        )


class _Bound:
    """A method of a fitted estimator, as one object that travels; blocks are arrays, whose columns have no names."""

    def __init__(self, estimator, method):
        self.estimator, self.name = copy(estimator), method.__name__
        self.estimator.__dict__.pop("feature_names_in_", None)

    def __call__(self, X):
        return np.asarray(getattr(self.estimator, self.name)(X))


class _Held:
    """Something that many tasks share: it stands in the graph once, however large it is."""

    def __init__(self, value):
        self.value = value


def _blocks(array, sizes, ends):
    """The blocks of rows of an array, cut as those of the first one."""
    if not is_lazy(array):
        return [array[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    array = array if array.chunks[0] == tuple(sizes) else array.rechunk({0: tuple(sizes)})
    return list(array.to_delayed().ravel())


def _block(block, held=None, block_info=None):
    start = block_info[0]["array-location"][0][0] if block_info else 0
    return _of_finite(held.value, start, block)


def _part(held, start, block, *others):
    return _of_finite(held.value, start, block, *others)


def _of_finite(f, start, block, *others):
    """``f(block, …)``; where the block is to blame for an error, the error names its rows."""
    block = np.asarray(block)
    where = f"rows {start} to {start + len(block) - 1} of the Dask array"
    if not np.isfinite(block).all():
        row, *column = np.argwhere(~np.isfinite(block))[0]
        raise ValueError(_not_finite(where, start + row, *column))
    try:
        return f(block, *others)
    except ValueError as error:
        raise ValueError(f"{error} (in {where})") from error


def _not_finite(where, row, column=0):
    return f"NaN or infinity in {where}; the first is in row {row}, column {column}. Fill or drop such rows before fit."


def _total(added, parts):
    total = parts[0]
    for part in parts[1:]:
        total = added.value(total, part)
    return total


def _pair(held, x, y, v_x, v_y, same):
    """k(x, y) v_y and k(y, x) v_x."""
    tile = held.value(np.asarray(x), np.asarray(y))
    return tile @ v_y, None if same else tile.T @ v_x


def _sum(products):
    return np.sum(products, axis=0)


@contextmanager
def cluster(address=None, workers=None):
    """A client of the scheduler at an address, or of a local cluster that listens on loopback only."""
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


def read_parquet(pattern, columns=None):
    """Return a Dask data frame of Parquet files; ``pattern`` may hold * and ?."""
    import dask.dataframe as dd

    return dd.read_parquet(pattern, columns=columns)


def means_and_scales(X):
    """Means and standard deviations of columns, 1 where a column is constant, in one pass and without cancellation."""
    import dask

    mean, scale = dask.compute(X.mean(axis=0), X.std(axis=0))
    return mean, np.where(scale > 0, scale, 1.0)
