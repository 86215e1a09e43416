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
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from .desk import SECONDS, Desk, Replaced, Stopped
from .guard import Guard
from .packing import packed
from .session import KINDS, KNOWN, Answer, Session, in_words

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
SERVER: dict[str, Any] = {  # settings of uvicorn, whose own log is off: the address is the first line printed
    "log_config": None,
    "log_level": "critical",
    "access_log": False,
    "server_header": False,
    "lifespan": "off",
    "ws": "none",
    "limit_concurrency": 200,
    "timeout_keep_alive": BEAT_SECONDS,
    "timeout_graceful_shutdown": 1,
}


class Explorer:
    """A server for one session; ``url`` is the address to open."""

    def __init__(self, session: Session, host: str = LOOPBACK[0], port: int = 0, seconds: float = SECONDS):
        if host not in LOOPBACK:
            raise ValueError(
                f"The explorer serves this machine only, on {' or '.join(LOOPBACK)}, and host={host!r} was given. "
                "To use it from another machine, forward the port with ssh -L."
            )
        self.session, self.seconds = session, seconds
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # with TCP named, asyncio sets its no-delay option: else an answer waits 40 ms for the client's next packet
        self.socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.socket.bind((host, port))
        posts = dict.fromkeys(KINDS, self._answer) | {"table": self._table, "stop": self._stop, "alive": self._alive}
        routes = [Route(path, self._file) for path in FILES]
        routes += [Route(f"/api/{kind}", answer, methods=["POST"]) for kind, answer in posts.items()]
        self.guard = Guard(Starlette(routes=routes), host, self.socket.getsockname()[1])
        self.server = uvicorn.Server(uvicorn.Config(self.guard, **SERVER))
        self.pages, self.last_seen = 0, 0.0
        self.body_seconds, self.alone_seconds = BODY_SECONDS, ALONE_SECONDS

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return self.guard.url

    def run(self) -> None:
        """Serve until the page has been closed for a minute, or Ctrl-C."""
        with suppress(KeyboardInterrupt):
            asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.desk = Desk(self.seconds)
        watcher = asyncio.create_task(self._end_when_alone())
        try:
            await self.server.serve(sockets=[self.socket])
        finally:
            watcher.cancel()
            self.desk.close()
            self.socket.close()

    def start(self) -> threading.Thread:
        """Serve on another thread, and return it once the server answers."""
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        while not self.server.started and thread.is_alive():
            time.sleep(0.01)
        return thread

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
        return Response(resources.files(__package__).joinpath(name).read_bytes(), media_type=kind)

    async def _answer(self, request: Request) -> Response:
        kind = request.url.path.rpartition("/")[2]
        return await self._told(kind, request, MOST_JSON, lambda text: self.session.answer(kind, _parsed(text)))

    async def _table(self, request: Request) -> Response:
        return await self._told("table", request, MOST_CSV, self.session.table)

    async def _told(self, kind: str, request: Request, most: int, work: Callable[[bytes], Answer]) -> Response:
        """Return what ``work(body)`` gives when its turn has come, or its error in plain words."""
        close = {"Connection": "close"}
        try:
            body = await self._body(request, most)
            answer = await self.desk.do(kind, lambda: packed(*work(body)))
        except Replaced:
            return JSONResponse({"replaced": True}, 409)
        except Stopped as error:
            return JSONResponse({"error": str(error), "stopped": True}, 409)
        except TooLarge as error:
            return JSONResponse({"error": f"The request is larger than {error.args[0]} bytes."}, 413, close)
        except TimeoutError:
            return JSONResponse({"error": "The request took too long to arrive."}, 408, close)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            known = isinstance(error, KNOWN)
            return JSONResponse({"error": in_words(error)}, 422 if known else 500)
        return Response(answer, media_type="application/octet-stream")

    async def _stop(self, request: Request) -> Response:
        self.desk.stop()
        return JSONResponse({})

    async def _alive(self, request: Request) -> Response:
        return StreamingResponse(self._pulse(), media_type="application/json")

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
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > most:
            raise TooLarge(most)
        parts, size = [], 0
        async with asyncio.timeout(self.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise TooLarge(most)
                parts.append(part)
        return b"".join(parts)


class TooLarge(Exception):
    """A body that is larger than allowed."""


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text or b"{}")
    except (ValueError, RecursionError):
        raise ValueError("The request is not JSON.") from None


def open_browser(url: str) -> bool:
    """Open the address in a browser with a window, where there is one."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not screen and sys.platform not in {"darwin", "win32"}:
        return False
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
