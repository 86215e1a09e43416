"""Streaming over the rows of an array: the only module that handles memory and threads.

Every large computation has one of three forms: stack ``f(tile)`` (:func:`map_rows`), add ``f(tile)``
(:func:`sum_rows`), or multiply by a symmetric matrix whose tiles are computed on demand (:func:`symmetric_rows`).

The height of a tile follows from scikit-learn's ``working_memory``, which all threads share, and from the processor's
cache. Tiles are assigned to lanes in turn and lanes are added in order, so that the bits of a result do not depend on
the number of threads. Arrays of other libraries are processed on their device, one tile after the other: the device
itself works in parallel.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, reduce
from itertools import combinations_with_replacement
from operator import add, iadd
from typing import Any

import numpy as np
from sklearn import get_config

from . import cpus
from .arrays import Array, cast, is_foreign, namespace, zeros
from .blas import single_blas, single_threaded
from .dask import fold_blocks, is_lazy

CACHE_ENTRIES = 2**18  # of a tile: 2 MB of float64, near the second-level cache and far above the cost of a call
FEW_ENTRIES = 2**20  # of a matrix changed in place: one thread takes a few milliseconds, as starting others does
DEVICE_ENTRIES = 2**24  # of a tile on a device: 128 MB of float64, enough to keep thousands of cores busy
SHARE_ENTRIES = 10**8  # of a kernel matrix: a few tenths of a second
SMALL_SIDE = 128  # of square tiles where there are few rows: the upper tiles are then little more than half of all
TEMPORARIES = 2  # arrays of the size of a tile that a kernel allocates at once
BYTES = 8
SHARES = 16  # of rows, so that threads have the same work, unless a tile then fills less than half of the cache
LANES = 8  # partial sums, whatever the number of threads
MOST_THREADS = 256  # beside the threads that call
PASS = "pass over the kernel matrix"
ROWS = "rows"
LONG = 100  # tiles of rows: a pass of more reports its progress

Pairs = Callable[[slice, slice], Array]  # (i, j) ↦ the tile of rows i and columns j of a symmetric matrix
Products = Callable[[Array, Array, Array, bool], tuple[Array, Any]]
Watch = Callable[[str, int], Iterator[None]]  # (name, number of tiles) ↦ a generator that is resumed after each tile


def map_rows(f: Callable[..., Array], *arrays: Array, width: int) -> Array:
    """Stack ``f(tile, …)`` over tiles of rows; ``width`` is the number of entries that ``f`` needs for a row."""
    n, xp = arrays[0].shape[0], namespace(arrays[0])
    tiles = row_tiles(n, width, arrays[0])
    if xp is not np and len(tiles) == 1:
        return f(*arrays)
    if xp is not np:
        return xp.concat([f(*(a[tile, ...] for a in arrays)) for tile in tiles])
    if len(tiles) == 1:
        with single_blas:
            return f(*arrays)
    out: list[np.ndarray] = []  # empty until the first tile shows the shape and the dtype
    lock = threading.Lock()

    def work(lane: Iterable[slice]) -> None:
        for tile in lane:
            part = f(*(a[tile] for a in arrays))
            with lock:
                if not out:
                    out.append(np.empty((n, *part.shape[1:]), part.dtype))
            out[0][tile] = part

    in_threads(work, tiles)
    return out[0]


def for_rows(f: Callable[[slice], None], n: int, width: int, x: Array) -> None:
    """Call ``f(rows)``, which changes a matrix of n rows like ``x`` in place, for slices of rows."""

    def work(lane: Iterable[slice]) -> None:
        for rows in lane:
            f(rows)

    if n * width <= FEW_ENTRIES and not is_foreign(x):
        with single_blas:
            work(row_tiles(n, width, x))
    else:
        over_items(work, row_tiles(n, width, x), x)


def over_items(work: Callable[[Iterable], Any], items: Sequence, x: Array, name: str | None = None) -> None:
    """Call ``work(items)`` in threads, or in this thread if ``x`` is an array on a device."""
    work(items) if is_foreign(x) else in_threads(work, items, name)


def sum_rows(f: Callable[..., Any], *arrays: Array, width: int) -> Any:
    """Add ``f(tile, …)``, a new array for each tile, over tiles of rows."""
    if is_lazy(arrays[0]):
        return fold_blocks(OneThread(lambda *blocks: sum_rows(f, *blocks, width=width)), add, arrays, ROWS)
    return _over_rows(lambda tiles: reduce(iadd, (f(*tile) for tile in tiles)), iadd, arrays, width)


def fold_rows(
    f: Callable[..., None], start: Callable[[], tuple[Array, ...]], *arrays: Array, width: int
) -> tuple[Array, ...]:
    """Call ``f(sums, tile, …)``, which adds to a tuple of arrays that begins as ``start()``, over tiles of rows."""

    def fold(tiles: Iterable[tuple]) -> tuple[Array, ...]:
        sums = start()
        for tile in tiles:
            f(sums, *tile)
        return sums

    if is_lazy(arrays[0]):
        part = OneThread(lambda *blocks: fold_rows(f, start, *blocks, width=width))
        return fold_blocks(part, lambda a, b: tuple(map(add, a, b)), arrays, ROWS)
    return _over_rows(fold, lambda a, b: tuple(map(iadd, a, b)), arrays, width)


def _over_rows(work: Callable[[Iterator[tuple]], Any], plus: Callable, arrays: tuple[Array, ...], width: int) -> Any:
    """Add ``work(tiles)`` over the lanes."""
    rows = row_tiles(arrays[0].shape[0], width, arrays[0])
    name = ROWS if len(rows) > LONG else None
    if is_foreign(arrays[0]):
        return work(tuple(a[tile, ...] for a in arrays) for tile in followed(name, rows))
    return reduce(plus, in_threads(lambda lane: work(tuple(a[tile] for a in arrays) for tile in lane), rows, name))


class OneThread:
    """The function f without threads of its own, BLAS included: a worker of a cluster runs several such tasks."""

    def __init__(self, f: Callable):
        self.f = f

    def __call__(self, *args: Any) -> Any:
        with single_threaded(), single_blas:
            return self.f(*args)


def sum_shares(f: Callable[[int, int], np.ndarray], entries: float) -> np.ndarray:
    """Add ``f(i, s)`` over i < s, the i-th of s equal shares of the work; each is short enough to be interrupted."""
    shares = max(LANES if entries > CACHE_ENTRIES else 1, int(entries / SHARE_ENTRIES))
    return reduce(iadd, in_threads(lambda lane: reduce(iadd, (f(i, shares) for i in lane)), range(shares), PASS))


def _products(tile: Array, V_i: Array, V_j: Array, mirrored: bool) -> tuple[Array, Array | None]:
    """Return tile @ V_j and, if the tile also stands for its mirror image, tileᵀ @ V_i."""
    return tile @ V_j, tile.T @ V_i if mirrored else None


def symmetric_rows(
    f: Pairs, V: Array, kept: dict[tuple[int, int], Array] | None = None, products: Products = _products
) -> Array:
    """Return K @ V for the symmetric K whose tiles are ``f(i, j)``; only those on or above the diagonal are computed.

    ``kept``, a dictionary, stores them for the next product. ``products`` multiplies by a tile that is not an array of
    the values of K.
    """

    def work(lane: Iterable[tuple[slice, slice]]) -> Array:
        out = zeros(V.shape, V)  # sums over many tiles, in float64
        for i, j in lane:
            tile = None if kept is None else kept.get((i.start, j.start))
            if tile is None:
                tile = f(i, j)
                if kept is not None:
                    kept[i.start, j.start] = tile
            K_V, Kt_V = products(tile, V[i, ...], V[j, ...], i != j)
            out[i, ...] += K_V
            if i != j:
                out[j, ...] += Kt_V
        return out

    if is_foreign(V):
        return cast(work(followed(PASS, upper_tiles(V.shape[0], V))), V.dtype)
    return reduce(iadd, in_threads(work, upper_tiles(len(V), V), PASS)).astype(V.dtype, copy=False)


def symmetric_matrix(f: Pairs, n: int, x: Array) -> Array:
    """Return the symmetric n × n matrix of tiles ``f(i, j)``, in float64 and of the library of ``x``."""
    K = zeros((n, n), x) if is_foreign(x) else np.empty((n, n))

    def work(lane: Iterable[tuple[slice, slice]]) -> None:
        for i, j in lane:
            K[i, j] = f(i, j)
            if i != j:
                K[j, i] = K[i, j].T

    if n**2 <= CACHE_ENTRIES and not is_foreign(x):  # starting threads would take longer
        with single_blas:
            work(upper_tiles(n, x))
    else:
        over_items(work, upper_tiles(n, x), x, "kernel matrix")
    return K


def upper_tiles(n: int, x: Array) -> list[tuple[slice, slice]]:
    """Return pairs of slices for the square tiles on or above the diagonal of an n × n matrix like ``x``."""
    fitting = _entries(x) if is_foreign(x) else min(_entries(), max(SMALL_SIDE, n // 4) ** 2)
    return list(combinations_with_replacement(slices(n, max(1, int(fitting**0.5))), 2))


def row_tiles(n: int, width: int, x: Array = None) -> list[slice]:
    """Return slices of n rows for tiles of arrays like ``x`` (default NumPy); one slice if n is 0."""
    height = int(_entries(x) // max(1, width))
    return slices(n, max(1, height if is_foreign(x) else min(height, max(height // 2, n // SHARES))))


def _entries(x: Array = None) -> float:
    """Return the number of entries of a tile that fit the cache, or keep a device busy, and fit the memory budget."""
    if is_foreign(x):
        return min(DEVICE_ENTRIES, budget_bytes() / (BYTES * TEMPORARIES))
    return min(CACHE_ENTRIES, budget_entries())


def slices(n: int, height: int, start: int = 0) -> list[slice]:
    """Return slices of ``height`` rows that cover ``range(start, n)``; one empty slice if there are none."""
    return [slice(i, min(i + height, n)) for i in range(start, max(n, start + 1), height)]


def budget_bytes() -> float:
    """Return scikit-learn's ``working_memory`` in bytes."""
    return get_config()["working_memory"] * 2**20


def budget_entries() -> float:
    """Return the number of entries of a tile that the memory budget allows each thread."""
    return budget_bytes() / (BYTES * TEMPORARIES * single_blas.threads())


def threads() -> int:
    """Return the number of threads in use here: as many as BLAS may use, and 1 inside one of them."""
    return single_blas.threads()


def in_threads(work: Callable[[Iterator], Any], items: Sequence, name: str | None = None) -> list:
    """Return ``[work(lane), …]`` for each lane of the items: lane l has the items l, l + L, l + 2L, …

    The threads share the lanes, BLAS is limited to one thread, and L does not depend on the number of threads (up to
    L): neither do the results. An exception in one thread, such as Ctrl-C in the main thread, stops the others at
    their next item. Work with a name reports its progress, see :func:`watched`.
    """
    with single_blas as limit:
        lanes = min(len(items), max(LANES, limit))
        count = min(limit, lanes)
        stop = threading.Event()
        failures: list[BaseException] = []

        def lane(first: int, reports: Iterator[None]) -> Iterator:
            for item in items[first::lanes]:
                if stop.is_set():
                    raise RuntimeError("stopped by an error in another thread")
                yield item
                next(reports, None)

        def run(thread: int) -> list:
            mine = range(thread, lanes, count)
            reports: Iterator[None] = iter(())
            if thread == 0 and name:
                reports = _watcher.get()(name, sum(len(items[first::lanes]) for first in mine))
                next(reports, None)
            try:
                with single_threaded():
                    return [work(lane(first, reports)) for first in mine]
            except BaseException as failure:
                failures.append(failure)
                stop.set()
                raise

        if count == 1:
            return run(0)
        cpus.keep_apart()
        others = [_pool().submit(run, thread) for thread in range(1, count)]
        try:
            results = [run(0), *(other.result() for other in others)]
        except BaseException:
            stop.set()
            wait(others)
            if failures:
                raise failures[0] from None  # not the errors of the threads that it stopped
            raise
        return [results[first % count][first // count] for first in range(lanes)]


@cache
def _pool() -> ThreadPoolExecutor:
    """Return a pool of threads that is kept: to start new threads takes as long as a pass over a few thousand rows."""
    return ThreadPoolExecutor(MOST_THREADS, "mercer", cpus.register)


def _forget_threads() -> None:
    _pool.cache_clear()
    cpus.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)  # a forked process has none of them


def followed(name: str | None, items: Sequence) -> Iterator:
    """Iterate over the items of other work; if it has a name, report each that is done to :func:`watched`."""
    reports = _watcher.get()(name, len(items)) if name else iter(())
    next(reports, None)
    for item in items:
        yield item
        next(reports, None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Start the generator ``watch(name, total)`` at every pass that has a name, and resume it after each tile.

    Only the tiles of the first thread are counted: they stand for all.
    """
    token = _watcher.set(watch)
    try:
        yield
    finally:
        _watcher.reset(token)


_watcher: ContextVar[Watch] = ContextVar("watcher", default=lambda name, total: iter(()))
