"""The explorer's server: a page, its two resources, and one address for each kind of request, on loopback only."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from importlib import resources
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from .desk import LOADING, SECONDS, Desk, in_words, on_thread
from .guard import HEADERS, Guard

if TYPE_CHECKING:
    from .session import Session

LOOPBACK = ("127.0.0.1", "::1")
FILES = {  # the only files that are served: address → package resource, content type
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/explorer.js": ("explorer.js", "text/javascript; charset=utf-8"),
    "/explorer.css": ("explorer.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
MOST_JSON = 16 << 20  # bytes: the numbers of two million selected rows
MOST_CSV = 128 << 20
BODY_SECONDS = 20.0  # in which a request must have been sent
PULSE_SECONDS = 0.25  # between two looks at what is being done
BEAT_SECONDS = 5.0  # after which the stream says that it is alive
ALONE_SECONDS = 60.0  # without a page, after which the server stops
FAREWELL_SECONDS = 10.0  # for a browser that was started to show why there is no session
OVER = "The server has stopped: correct this, and start mercer explore again."
BINARY = "application/octet-stream"
SERVER: dict[str, Any] = {  # settings of uvicorn, whose own log is off: the address is the first line printed
    "log_config": None,
    "log_level": "critical",
    "access_log": False,
    "server_header": False,
    "headers": list(HEADERS.items()),
    "lifespan": "off",
    "proxy_headers": False,
    "ws": "none",
    "limit_concurrency": 200,
    "timeout_keep_alive": BEAT_SECONDS,
    "timeout_graceful_shutdown": 1,
}


class Explorer:
    """A server for the session that ``make()`` returns while the page opens; ``url`` is the address to open."""

    session: Session

    def __init__(self, make: Callable[[], Session], host: str = LOOPBACK[0], seconds: float = SECONDS):
        if host not in LOOPBACK:
            raise ValueError(
                f"The explorer serves this machine only, on {' or '.join(LOOPBACK)}, and host={host!r} was given. "
                "To use it from another machine, forward the port with ssh -L."
            )
        self.make, self.seconds = make, seconds
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # with TCP named, asyncio sets its no-delay option: else an answer waits 40 ms for the client's next packet
        self.socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.socket.bind((host, 0))  # a free port
        self.socket.listen()  # a browser that is faster than the server waits
        routes = [*(Route(path, self._file) for path in FILES), Route("/api/{kind}", self._answer, methods=["POST"])]
        self.guard = Guard(Starlette(routes=routes), host, self.socket.getsockname()[1])
        self.url = self.guard.url
        self.server = uvicorn.Server(uvicorn.Config(self.guard, **SERVER))
        self.pages, self.last_seen = 0, 0.0
        self.failure: Exception | None = None  # of ``make``
        self.loaded, self.failure_shown = asyncio.Event(), asyncio.Event()
        self.awaits_page = False  # a browser was started
        self.body_seconds, self.alone_seconds = BODY_SECONDS, ALONE_SECONDS

    def run(self) -> None:
        """Serve until the page has been closed for a minute, or Ctrl-C; raise what made ``make`` fail."""
        try:
            asyncio.run(self._serve())
        except KeyboardInterrupt:
            if not self.loaded.is_set():
                raise
        if self.failure is not None:
            raise self.failure

    async def _serve(self) -> None:
        self.desk = Desk(self.seconds)
        tasks = [asyncio.create_task(work) for work in (self._load(), self._end_when_alone())]
        try:
            await self.server.serve(sockets=[self.socket])
        finally:
            for task in tasks:
                task.cancel()
            self.desk.close()
            self.socket.close()

    async def _load(self) -> None:
        """Make the session; where that fails, stop as soon as the page has shown why."""
        try:
            self.session = await on_thread(self.make, LOADING)
            self.loaded.set()
        except Exception as error:
            self.failure = error
            self.loaded.set()
            if self.pages or self.awaits_page:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.failure_shown.wait(), FAREWELL_SECONDS)
            self.stop()

    def stop(self) -> None:
        """End the server."""
        self.server.should_exit = True

    async def _end_when_alone(self) -> None:
        while True:
            await asyncio.sleep(PULSE_SECONDS)
            if self.last_seen and not self.pages and time.monotonic() - self.last_seen > self.alone_seconds:
                self.stop()

    # answers

    async def _file(self, request: Request) -> Response:
        name, kind = FILES[request.url.path]
        cookie = {"Set-Cookie": self.guard.new_cookie} if request.url.path == "/" else {}
        return Response(resources.files(__package__).joinpath(name).read_bytes(), headers=cookie, media_type=kind)

    async def _answer(self, request: Request) -> Response:
        """Return the session's answer when its turn has come, or a status and what is wrong in plain words."""
        kind = request.path_params["kind"]
        if kind == "alive":
            return StreamingResponse(self._pulse(), media_type="application/json")
        if kind == "stop":
            self.desk.stop()
            return Response()
        body = await self._body(request, MOST_CSV if kind == "table" else MOST_JSON)
        await self.loaded.wait()
        if self.failure is not None:
            self.failure_shown.set()
            raise HTTPException(410, f"{self.failure} {OVER}")
        from .session import KINDS  # not before: it imports NumPy and scikit-learn

        if kind not in {*KINDS, "table"}:
            raise HTTPException(404, f"There is no request {kind!r}.")
        try:
            return Response(await self.desk.do(kind, lambda: self._work(kind, body)), media_type=BINARY)
        except Exception as error:
            raise HTTPException(*in_words(error)) from None

    def _work(self, kind: str, body: bytes) -> bytes:
        from .packing import packed

        if kind == "table":
            return packed(*self.session.table(body))
        try:
            parsed = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            raise ValueError("The request is not JSON.") from None
        return packed(*self.session.answer(kind, parsed))

    async def _pulse(self) -> AsyncIterator[bytes]:
        """Say what is being done, line by line, for as long as the page is open."""
        self.pages += 1
        told, when = None, 0.0
        try:
            while not self.server.should_exit:
                if self.desk.busy != told or time.monotonic() - when > BEAT_SECONDS:
                    told, when = self.desk.busy, time.monotonic()
                    yield json.dumps(told).encode() + b"\n"
                await asyncio.sleep(PULSE_SECONDS)
        finally:
            self.pages, self.last_seen = self.pages - 1, time.monotonic()

    async def _body(self, request: Request, most: int) -> bytes:
        """Return the body of a request, unless it is too large or too slow."""
        closed = {"Connection": "close"}  # the rest of the body is not read
        too_large = HTTPException(413, f"The request is larger than {most >> 20} MB.", closed)
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.body_seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise too_large
        except TimeoutError:
            raise HTTPException(408, "The request took too long to arrive.", closed) from None
        except ClientDisconnect:
            raise HTTPException(400) from None
        return bytes(body)


def open_browser(url: str) -> bool:
    """Start a browser with a window on a thread of its own; return False where there is no screen."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not screen and sys.platform not in {"darwin", "win32"}:
        return False
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    return True
