"""One computation at a time, which can be stopped; the page keeps but its newest request of a kind waiting."""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

SECONDS = 60.0  # that one computation may take
LOADING = "mercer-loading"  # name of the thread that makes the session
GRACE_SECONDS = 1.0  # for a computation to end by itself at its next tile of rows


class Stopped(Exception):
    """The computation was stopped, by the user or because its time was up."""


def in_words(error: Exception) -> tuple[int, str]:
    """Return the status of an error and what it says; a fault of mercer also has its traceback printed."""
    text = " ".join(str(error).split())
    if isinstance(error, Stopped):
        return 409, text
    if isinstance(error, MemoryError):
        return 422, f"There is not enough memory. {text}".strip()
    if isinstance(error, ValueError | TypeError | OSError) and type(error) is not TypeError:
        return 422, text
    traceback.print_exception(error)
    return 500, f"Something went wrong inside mercer: {type(error).__name__}: {text}"


async def on_thread(work: Callable[[], Any], name: str) -> Any:
    """Run ``work()`` on a thread that does not keep the process alive: a read of a pipe cannot be interrupted."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await asyncio.wrap_future(future)


class Desk:
    """Works on one request after the other, each on a thread of its own."""

    def __init__(self, seconds: float = SECONDS):
        self.seconds = seconds
        self.turn = asyncio.Lock()
        self.busy: dict[str, Any] = {}  # what is being done, for whoever watches
        self._stop_at = float("inf")
        self._reason = ""
        self._lock = threading.Lock()
        self._thread: int | None = None  # that computes

    async def do(self, kind: str, work: Callable[[], Any]) -> Any:
        """Run ``work()`` when its turn comes."""
        async with self.turn:
            self._stop_at = time.monotonic() + self.seconds
            self._reason = f"The computation took longer than {self.seconds:g} seconds and was stopped. Take fewer "
            self._reason += "components or rows, or start mercer explore with a longer --time-limit."
            running = asyncio.ensure_future(on_thread(lambda: self._run(kind, work), "mercer-explore"))
            while not (await asyncio.wait([running], timeout=GRACE_SECONDS))[0]:
                if time.monotonic() > self._stop_at + GRACE_SECONDS:
                    self._interrupt()
            return running.result()

    def stop(self) -> None:
        """Ask the running computation to end."""
        self._reason = "The computation was stopped. The model before it is still there."
        self._stop_at = time.monotonic()

    def close(self) -> None:
        """Stop at once."""
        self.stop()
        self._interrupt()

    def _run(self, kind: str, work: Callable[[], Any]) -> Any:
        from ..._core.tiles import watched

        self.busy = {"kind": kind, "done": 0.0}
        try:
            self._thread = threading.get_ident()
            try:
                with watched(self._watch):
                    return work()
            finally:
                with self._lock:
                    self._thread = None
        except Stopped:
            raise Stopped(self._reason) from None
        finally:
            self.busy = {}

    def _watch(self, name: str, total: int) -> Iterator[None]:
        """Follow one pass over the rows, and end it where it is to stop."""
        for done in range(total + 1):
            if time.monotonic() > self._stop_at:
                raise Stopped
            self.busy = self.busy | {"done": done / max(1, total)}
            yield

    def _interrupt(self) -> None:
        """Raise ``Stopped`` in the thread that computes: for loops that make no pass over rows."""
        with self._lock:
            if self._thread is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), ctypes.py_object(Stopped))
