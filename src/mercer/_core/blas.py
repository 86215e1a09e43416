"""Threads of BLAS: one counted lock that keeps them from competing with the threads of the library."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class _Worker(threading.local):
    active = False  # True in a thread that is one of several that share work


_worker = _Worker()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Mark the calling thread as one of several that share work: functions that it calls start no threads."""
    before, _worker.active = _worker.active, True
    try:
        yield
    finally:
        _worker.active = before


class _SingleBlas:
    """A counted lock on the threads of BLAS: the first user sets their number to 1, the last one restores it.

    Everything that uses several threads holds it, from the smallest tile to a whole solver: with threads of its own
    besides these, BLAS spends most of its time waiting.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0

    def threads(self) -> int:
        """Return the limit of BLAS, as set by joblib's workers or ``threadpool_limits``; 1 in a worker thread."""
        if _worker.active:
            return 1
        with self.lock:
            return self.limit if self.users else _current_limit()

    def __enter__(self) -> int:
        with self.lock:
            if self.users == 0:
                self.limit = _current_limit()
                self.before = [library.num_threads for library in _libraries()]
                self.set([1] * len(self.before))
            self.users += 1
            return 1 if _worker.active else self.limit

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.set(self.before)

    @staticmethod
    def set(numbers: list[int]) -> None:
        """Set the number of threads of each BLAS library."""
        for library, number in zip(_libraries(), numbers, strict=True):
            # threadpoolctl ≥ 3.8 lets only the thread that set OpenBLAS's limit change it again, and the first and the
            # last user may be different threads: control is released around each change
            release = getattr(library, "clear_controlling_thread", lambda force: None)
            release(force=True)
            library.set_num_threads(number)
            release(force=True)


def _current_limit() -> int:
    return max((library.num_threads for library in _libraries()), default=1)


@cache
def _libraries() -> list[Any]:
    # cached: the search for loaded libraries takes milliseconds, a change of their limits microseconds
    return ThreadpoolController().select(user_api="blas").lib_controllers


single_blas = _SingleBlas()
