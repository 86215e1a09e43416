"""Threads of BLAS: one counted lock that keeps them from competing with ours.

threadpoolctl 3.8 and later let only the thread that set OpenBLAS's limit change it again; ours may come and go on
different threads, so that control is released around each change (``clear_controlling_thread``, absent before 3.8).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


class _Inside(threading.local):
    flag = False  # whether this thread is one of several that share work


_inside = _Inside()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Mark the calling thread as one of several that share work: what it calls starts no more threads."""
    before, _inside.flag = _inside.flag, True
    try:
        yield
    finally:
        _inside.flag = before


class _SingleBlas:
    """One counted lock on BLAS's threads: the first one in sets them to 1, the last one out restores them.

    Work that divides itself among threads holds it, from the smallest tile to a whole solver: a BLAS with threads of
    its own beside them waits for itself, many times as long as it works.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.users = 0

    def threads(self):
        """BLAS's own limit, which joblib's workers and the user's ``threadpool_limits`` set; 1 inside a stripe."""
        if _inside.flag:
            return 1
        with self.lock:
            return self.limit if self.users else _current_limit()

    def __enter__(self):
        with self.lock:
            if self.users == 0:
                self.limit = _current_limit()
                self.before = [library.num_threads for library in _libraries()]
                self.set([1] * len(self.before))
            self.users += 1
            return 1 if _inside.flag else self.limit

    def __exit__(self, *_):
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.set(self.before)

    @staticmethod
    def set(numbers):
        for library, number in zip(_libraries(), numbers, strict=True):
            # threadpoolctl lets one thread alone set OpenBLAS's limit, and ours may come and go on different ones
            release = getattr(library, "clear_controlling_thread", lambda force: None)
            release(force=True)
            library.set_num_threads(number)
            release(force=True)


def _current_limit():
    return max((library.num_threads for library in _libraries()), default=1)


@cache
def _libraries():
    # found once: the search for loaded libraries costs milliseconds, a change of their limits microseconds
    return ThreadpoolController().select(user_api="blas").lib_controllers


single_blas = _SingleBlas()
