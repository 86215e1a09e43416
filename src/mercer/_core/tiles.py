"""Streaming over the rows of an array: the only place that knows about memory and threads.

Large work is one of three sentences: stack ``f(tile)`` (:func:`map_rows`), add ``f(tile)`` (:func:`sum_rows`), or
multiply by a symmetric matrix whose tiles are made on the way (:func:`symmetric_rows`).

A tile's height follows from scikit-learn's ``working_memory``, which all threads share, and from the processor's
cache. Tiles go to lanes in turn and lanes are added in order: however many threads share them, the bits are the same.
Arrays of other libraries are worked on where they lie, one tile after the other: a device is its own parallelism.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from itertools import combinations_with_replacement
from operator import add, iadd

import numpy as np
from sklearn import get_config

from .arrays import cast, is_foreign, namespace, zeros
from .blas import single_blas, single_threaded
from .dask import fold_blocks, is_lazy

CACHE_ENTRIES = 2**18  # of a tile: 2 MB of float64, near the second-level cache and far above the cost of a call
DEVICE_ENTRIES = 2**24  # of a tile on a device: 128 MB of float64, enough to keep thousands of cores busy
SHARE_ENTRIES = 10**8  # of a kernel matrix: a few tenths of a second
SMALL_SIDE = 128  # of square tiles where there are few rows: their upper half is then little more than a half
TEMPORARIES = 2  # arrays of a tile's size that are alive at once inside a kernel
BYTES = 8
LANES = 8  # sums that are kept apart, however many threads there are
PASS = "pass over the kernel matrix"
ROWS = "rows"
MANY = 100  # tiles of rows: a pass that is worth watching
POLL_SECONDS = 0.05


def map_rows(f, *arrays, width):
    """Stack ``f(tile, …)`` over tiles of rows; ``width`` is the number of entries that ``f`` needs for a row."""
    n = arrays[0].shape[0]
    if is_foreign(arrays[0]):
        return namespace(arrays[0]).concat([f(*(a[tile, ...] for a in arrays)) for tile in device_tiles(n, width)])
    tiles = row_tiles(n, width)
    with single_blas:
        first = f(*(a[tiles[0]] for a in arrays))
    if len(tiles) == 1:
        return first
    out = np.empty((n, *first.shape[1:]), first.dtype)
    out[tiles[0]] = first

    def work(lane):
        for tile in lane:
            out[tile] = f(*(a[tile] for a in arrays))

    in_threads(work, tiles[1:])
    return out


def for_rows(f, n, width, x):
    """Call ``f(rows)`` for slices of rows of a matrix of n rows of the library of x, which it changes."""

    def work(lane):
        for rows in lane:
            f(rows)

    over_items(work, device_tiles(n, width) if is_foreign(x) else row_tiles(n, width), x)


def over_items(work, items, x, name=None):
    """Call ``work(items)`` in threads; at once for an array of another library: a device is its own parallelism."""
    work(items) if is_foreign(x) else in_threads(work, items, name)


def sum_rows(f, *arrays, width):
    """Add ``f(tile, …)``, a new array for each tile, over tiles of rows."""
    if is_lazy(arrays[0]):
        return fold_blocks(OneThread(lambda *blocks: sum_rows(f, *blocks, width=width)), add, arrays, ROWS)
    return _over_rows(lambda tiles: reduce(iadd, (f(*tile) for tile in tiles)), iadd, arrays, width)


def fold_rows(f, start, *arrays, width):
    """Add over tiles of rows what ``f(sums, tile, …)`` puts into a tuple of arrays, which begins as ``start()``."""

    def fold(tiles):
        sums = start()
        for tile in tiles:
            f(sums, *tile)
        return sums

    if is_lazy(arrays[0]):
        part = OneThread(lambda *blocks: fold_rows(f, start, *blocks, width=width))
        return fold_blocks(part, lambda a, b: tuple(map(add, a, b)), arrays, ROWS)
    return _over_rows(fold, lambda a, b: tuple(map(iadd, a, b)), arrays, width)


def _over_rows(work, plus, arrays, width):
    """Add up ``work(tiles)`` of each lane."""
    if is_foreign(arrays[0]):
        rows = device_tiles(arrays[0].shape[0], width)
        rows = followed(ROWS, rows) if len(rows) > MANY else rows
        return work(tuple(a[tile, ...] for a in arrays) for tile in rows)
    rows = row_tiles(arrays[0].shape[0], width)
    lanes = in_threads(
        lambda lane: work(tuple(a[tile] for a in arrays) for tile in lane), rows, ROWS if len(rows) > MANY else None
    )
    return reduce(plus, lanes)


class OneThread:
    """f on the thread that calls it and no other, BLAS included: a worker of a cluster has many such threads."""

    def __init__(self, f):
        self.f = f

    def __call__(self, *args):
        with single_threaded(), single_blas:
            return self.f(*args)


def sum_shares(f, entries):
    """Add ``f(i, s)`` for i < s: work that divides itself into s equal shares, each short enough to be interrupted."""
    shares = max(LANES if entries > CACHE_ENTRIES else 1, int(entries / SHARE_ENTRIES))

    def work(lane):
        return reduce(iadd, (f(i, shares) for i in lane))

    return reduce(iadd, in_threads(work, range(shares), PASS))


def symmetric_rows(f, V, kept=None):
    """K @ V for the symmetric K whose tiles are ``f(i, j)``: only those on or above the diagonal are made.

    ``kept``, a dictionary, holds them from one product to the next.
    """

    def work(lane):
        out = zeros(V.shape, V)  # sums over many tiles, in float64
        for i, j in lane:
            tile = f(i, j) if kept is None else kept.get((i.start, j.start))
            if tile is None:
                tile = kept[i.start, j.start] = f(i, j)
            out[i, ...] += tile @ V[j, ...]
            if i != j:
                out[j, ...] += tile.T @ V[i, ...]
        return out

    if is_foreign(V):
        return cast(work(followed(PASS, _device_pairs(V.shape[0]))), V.dtype)
    return reduce(iadd, in_threads(work, upper_tiles(len(V)), PASS)).astype(V.dtype, copy=False)


def keeps(n, itemsize):
    """Whether the upper tiles of an n × n matrix fit the memory budget."""
    return n**2 / 2 * itemsize <= budget_bytes()


def symmetric_matrix(f, n, x):
    """The symmetric n × n matrix, in float64 beside x, of tiles ``f(i, j)``: the upper ones are made and mirrored."""
    K = zeros((n, n), x) if is_foreign(x) else np.empty((n, n))

    def work(lane):
        for i, j in lane:
            K[i, j] = f(i, j)
            if i != j:
                K[j, i] = K[i, j].T

    if is_foreign(x):
        work(_device_pairs(n))
    elif n**2 <= CACHE_ENTRIES:  # starting threads would take longer
        with single_blas:
            work(upper_tiles(n))
    else:
        in_threads(work, upper_tiles(n), "kernel matrix")
    return K


def upper_tiles(n, side=None):
    """Pairs of slices for square tiles on or above the diagonal of an n × n matrix."""
    side = side or max(1, int(min(CACHE_ENTRIES, budget_entries(), max(SMALL_SIDE, n // 4) ** 2) ** 0.5))
    return list(combinations_with_replacement(slices(n, side), 2))


def _device_pairs(n):
    """Pairs of slices for the upper tiles on a device."""
    return upper_tiles(n, max(1, int(min(DEVICE_ENTRIES, _device_entries()) ** 0.5)))


def row_tiles(n, width):
    """Slices of rows that fit the cache and the memory budget; one slice when ``n`` is 0."""
    return slices(n, max(1, int(min(CACHE_ENTRIES, budget_entries()) // max(1, width))))


def device_tiles(n, width):
    """Slices of rows for a device, which has no cache to fit and nothing to share."""
    return slices(n, max(1, int(min(DEVICE_ENTRIES, _device_entries()) // max(1, width))))


def slices(n, height):
    """Slices of ``height`` rows that cover ``range(n)``."""
    return [slice(i, min(i + height, n)) for i in range(0, max(n, 1), height)]


def budget_bytes():
    """Scikit-learn's ``working_memory``."""
    return get_config()["working_memory"] * 2**20


def budget_entries():
    """The number of entries of a tile that the budget allows each thread."""
    return budget_bytes() / (BYTES * TEMPORARIES * single_blas.threads())


def _device_entries():
    """The number of entries of a tile that the budget allows where nobody else works."""
    return budget_bytes() / (BYTES * TEMPORARIES)


def threads():
    """How many threads work here: as many as BLAS may use, and 1 inside one of them."""
    return single_blas.threads()


def in_threads(work, items, name=None):
    """``[work(lane), …]`` for each lane of the items, BLAS held to one thread; lane l has the items l, l + L, l + 2L, …

    The threads share the lanes, and L does not depend on how many threads there are (up to L of them): neither do
    the results. An exception in one thread, Ctrl-C in the first among them, ends the others at their next item. Work
    with a name is long enough to be watched.
    """
    with single_blas as limit:
        lanes = min(len(items), max(LANES, limit))
        count = min(limit, lanes)
        stop, failures = threading.Event(), []

        def lane(first, reports):
            for item in items[first::lanes]:
                if stop.is_set():
                    raise RuntimeError("stopped by an error in another thread")
                yield item
                next(reports, None)

        def run(thread):
            mine = range(thread, lanes, count)
            reports = iter(())
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
        with ThreadPoolExecutor(count - 1) as pool:
            others = [pool.submit(run, thread) for thread in range(1, count)]
            try:
                results = [run(0), *(other.result() for other in others)]
            except BaseException:
                stop.set()
                if failures:
                    raise failures[0] from None  # not the word of those that it stopped
                raise
        return [results[first % count][first // count] for first in range(lanes)]


def followed(name, items):
    """Go through the items of work that is no pass over rows, and tell whoever watches of each that is done."""
    reports = _watcher.get()(name, len(items))
    next(reports, None)
    for item in items:
        yield item
        next(reports, None)


@contextmanager
def watched(watch):
    """Start the generator ``watch(name, total)`` with every pass that has a name, and resume it after each tile.

    Only the first thread's tiles are told: they stand for all.
    """
    token = _watcher.set(watch)
    try:
        yield
    finally:
        _watcher.reset(token)


def interruptible(f, *args):
    """``f(*args)`` on a thread that the main one waits for: Ctrl-C is answered even where LAPACK would not look up."""
    if threading.current_thread() is not threading.main_thread():
        return f(*args)
    done: list = []

    def run():
        try:
            done.append((f(*args), None))
        except BaseException as error:  # handed to the main thread, whatever it is
            done.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
    result, error = done[0]
    if error is not None:
        raise error
    return result


_watcher: ContextVar = ContextVar("watcher", default=lambda name, total: iter(()))
