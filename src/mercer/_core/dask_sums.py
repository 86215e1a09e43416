"""Sums over the blocks of a Dask array: what a task does with a block, and the tree of tasks that adds the results.

A scheduler needs about a millisecond for a task, however small it is. The task of a block is therefore fused with those
that create the block, and where there are many tiny blocks one task takes several of them, one after the other.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any
from uuid import uuid4

import numpy as np

from . import arrays

ARITY = 8  # sums that one task adds
TASKS = 256  # for blocks, before a task takes several: enough for as many workers
BYTES = 2**20  # of the blocks that one task takes: the work is then much longer than a millisecond


class Held:
    """A value that many tasks share, which the graph holds only once; ``none`` is its result for no rows.

    ``starts`` are the numbers of the first rows of the blocks; NaN if the sizes of the blocks before are unknown.
    """

    def __init__(self, value: Any, sizes: Sequence[float] = (), none: Any = None):
        self.value, self.none = value, none
        self.starts = np.cumsum((0, *sizes))


def summed(task: Callable, held: Held, blocks: Sequence[Any], add: Callable, name: str, wanted: Any = None) -> Any:
    """Return the delayed sum of ``task(block, …, held=held, block_id=(i, 0))`` over blocks of rows of Dask arrays.

    ``wanted`` are the numbers of the blocks to add; all if None. ``add`` is not in place.
    """
    import dask.array as da
    from dask import delayed
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    X = blocks[0]
    shape: dict[str, Any] = {"dtype": object, "meta": np.empty((0, 0), object), "chunks": (X.chunks[0], (1,))}
    lazy = da.map_blocks(task, *blocks, held=delayed(held), token=name, **shape)
    parts = lazy.to_delayed().ravel()
    keys = [parts[i].key for i in (range(len(parts)) if wanted is None else wanted)]
    graph, total, label = dict(parts[0].dask), partial(reduce, add), f"{name}-sum-{uuid4().hex}"
    together = _blocks_of_a_task(X, len(keys))
    if together > 1:
        graph, keys = _gathered(graph | _persisted(graph, lazy.dask), keys, together, add)
    level = 0
    while len(keys) > 1 or level == 0:
        tasks = {(label, level, i): (total, keys[i * ARITY : (i + 1) * ARITY]) for i in range(-(-len(keys) // ARITY))}
        graph, keys, level = graph | tasks, list(tasks), level + 1
    return Delayed(keys[0], HighLevelGraph.from_collections(label, graph), layer=label)


def _blocks_of_a_task(X: Any, n: int) -> int:
    """Return how many of n blocks one task takes."""
    mean = X.nbytes / X.numblocks[0]
    return max(1, n // TASKS if np.isnan(mean) else min(n // TASKS, int(BYTES // max(1, mean))))


def _gathered(graph: dict, keys: list, together: int, add: Callable) -> tuple[dict, list]:
    """Return a graph in which tasks compute several of the keys, with all that only one of them needs, and its keys.

    What more than one key needs, and the results that workers have already (of a persisted array), stay outside.
    """
    from dask.core import get_dependencies

    needs = {key: get_dependencies(graph, key) for key in graph}
    users = Counter(other for others in needs.values() for other in others)
    tasks = {}
    for i in range(0, len(keys), together):
        inner: dict[Any, Any] = {}
        outer: dict[Any, None] = {}
        left = keys[i : i + together]
        while left:
            key = left.pop()
            if users[key] < 2 and not _is_future(graph[key]):
                inner[key] = graph[key]
                left += needs[key]
            else:
                outer[key] = None
        tasks["gathered-" + uuid4().hex] = (_Several(inner, keys[i : i + together], list(outer), add), list(outer))
        for key in inner:
            del graph[key]
    return graph | tasks, list(tasks)


def _persisted(graph: dict, whole: Any) -> dict:
    """Return the futures of a persisted array, which an optimised graph names but does not hold."""
    named = set().union(*(getattr(node, "dependencies", ()) for node in graph.values()))
    return {key: whole[key] for key in named - set(graph)}


def _is_future(node: Any) -> bool:
    return type(node).__module__.startswith("distributed")


class _Several:
    """A task that adds the results of several tasks, computed one after the other from what they share."""

    def __init__(self, graph: dict, keys: list, given: list, add: Callable):
        self.graph, self.keys, self.given, self.add = graph, keys, given, add

    def __call__(self, values: list) -> Any:
        from dask.core import get

        shared = dict(zip(self.given, values, strict=True))
        return reduce(self.add, (get(self._needed(key), [key], shared.copy())[0] for key in self.keys))

    def _needed(self, key: Any) -> dict:
        """Return the tasks that a key needs."""
        from dask.core import get_dependencies

        left, needed = [key], {}
        while left:
            key = left.pop()
            if key in self.graph:
                needed[key] = self.graph[key]
                left += get_dependencies(self.graph, key)
        return needed


def of_block(block: np.ndarray, held: Any = None, block_id: Any = (0,)) -> np.ndarray:
    """Return the rows of a result for a block of rows."""
    if held is not None and len(block) == 0:
        return held.none
    return np.asarray(_of_finite(held, block_id, block))


def part(block: np.ndarray, *others: np.ndarray, held: Any = None, block_id: Any = (0,)) -> Any:
    """Return what a block of rows contributes to a sum."""
    if len(block) == 0:
        return None
    return _of_finite(held, block_id, block, *(other[:, 0] for other in others))


def chosen(block: np.ndarray, held: Any = None, block_id: Any = (0,)) -> np.ndarray:
    """Return the rows of a block whose numbers are among those that are held, in ascending order."""
    start = held.starts[block_id[0]]
    first, end = np.searchsorted(held.value, [start, start + len(block)])
    return np.asarray(block)[held.value[first:end] - start]


def below(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rows of a and of b."""
    return np.concatenate([a, b])


def _of_finite(held: Held, block_id: Sequence[int], block: np.ndarray, *others: np.ndarray) -> Any:
    """Return ``f(block, …)`` of the f that is held; an error names the rows of the block."""
    block, start = np.asarray(block), held.starts[block_id[0]]
    known = not np.isnan(start)
    first = int(start) if known else 0
    where = f"rows {first} to {first + len(block) - 1} of {'the Dask array' if known else 'a block of the Dask array'}"
    check_finite(block, range(first, first + len(block)), where)
    try:
        return held.value(block, *others)
    except ValueError as error:
        raise ValueError(f"{error} (in {where})") from error


def check_finite(block: np.ndarray, rows: Any, where: str) -> None:
    """Raise ValueError if a block, whose rows have these numbers, holds NaN or infinity."""
    most = arrays.largest_cell(block.dtype, block.shape[1]) if block.dtype.kind == "f" and block.ndim > 1 else np.inf
    if block.size == 0 or -most <= block.min() <= block.max() <= most < np.inf:  # NaN is not; no temporary arrays
        return
    fine = np.isfinite(block) & (np.abs(block) <= most)
    if fine.all():
        return
    row, *column = np.argwhere(~fine)[0]
    what = "NaN or infinity" if not np.isfinite(block).all() else f"Numbers above {most:.2g}, whose squares overflow,"
    raise ValueError(
        f"{what} in {where}; the first is in row {rows[row]}, column {column[0] if column else 0}. "
        "Fill or drop such rows before fit."
    )
