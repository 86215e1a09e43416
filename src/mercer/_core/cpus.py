"""Processors: threads that share the work of a caller run on other processors than the caller does.

A woken thread often starts on the processor of the thread that woke it, and waits there for milliseconds, as long as a
whole pass over a few thousand rows. In virtual machines this is the rule: Linux does not count on a processor that the
host has put to sleep.
"""

import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import suppress

_threads: list[int] = []  # the system's numbers of the threads that may share work
_last: tuple[int, int, frozenset[int]] | None = None  # their number, the processor of the caller, and those it may use


def _processor_of_caller() -> Callable[[], int] | None:
    """Return the function that tells the processor of the calling thread, where Linux has one."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    with suppress(OSError, AttributeError):
        return ctypes.CDLL(None).sched_getcpu
    return None


_processor = _processor_of_caller()


def register() -> None:
    """Say that the calling thread may share the work of others."""
    _threads.append(threading.get_native_id())


def forget() -> None:
    """Forget all threads: a forked process has none of them."""
    global _last
    _threads.clear()
    _last = None


def keep_apart() -> None:
    """Allow the registered threads all processors that the caller may use, but for the one it runs on now."""
    global _last
    if _processor is None:
        return
    allowed = frozenset(os.sched_getaffinity(0))
    now = len(_threads), _processor(), allowed
    if now == _last or len(allowed) < 2:
        return
    _last = now
    for thread in tuple(_threads):
        with suppress(OSError):  # it has ended, or the system does not permit it
            os.sched_setaffinity(thread, allowed - {now[1]})
