"""The time limit of a case, in seconds of the processor, so that a busy machine makes no difference."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 20.0  # of the processor
WAITING = 10  # times as long may a case take on the clock


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
    before, begin = {each: signal.signal(each, stop) for each in (signal.SIGALRM, signal.SIGPROF)}, time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WAITING * SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in before.items():
            signal.signal(each, handler)
    if time.process_time() - begin > SECONDS:
        raise TooLong
