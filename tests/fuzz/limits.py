"""The time limit of a case."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 20.0  # of one case, on a busy machine


class TooLong(BaseException):
    """A case beyond its time limit; no handler for errors catches it."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise TooLong if the block takes longer than the limit."""

    def stop(*_: object) -> None:
        raise TooLong

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before, begin = signal.signal(signal.SIGALRM, stop), time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if time.monotonic() - begin > SECONDS:
        raise TooLong
