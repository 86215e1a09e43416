"""Who may talk to the explorer: the page that it has opened itself, and nobody else.

Any page that the user visits can send requests to 127.0.0.1, and by DNS rebinding read the answers. Every request is
therefore asked for the exact host, the page for the token of the printed address (exchanged for a cookie), and
whatever reaches the session for the token in a header, our own origin and a content type that no form can send.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

TOKEN_BYTES = 32
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
NO_TOKEN = "The token is missing or wrong. Open the address that mercer explore has printed."
TOKEN_HEADER = "x-mercer-token"
API = "/api/"
TYPES = ("application/json", "text/csv")

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Guard:
    """Refuses requests before the application sees them, and puts the security headers on every answer."""

    def __init__(self, app: Any, host: str, port: int):
        self.app = app
        self.host = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.origin = f"http://{self.host}"
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.cookie = secrets.token_urlsafe(TOKEN_BYTES)  # not the token: cookies are shared by all ports of a host
        self.cookie_name = f"mercer-{port}"

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"{self.origin}/?token={self.token}"

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        """Pass on what is allowed."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # policy violation
            return
        refusal = self.refusal(scope, _read(scope))
        if refusal is None:
            await self.app(scope, receive, self._secured(scope, send))
        else:
            await _refuse(self._secured(scope, send), *refusal)

    def refusal(self, scope: dict[str, Any], headers: dict[str, list[str]]) -> tuple[int, str] | None:
        """Return the status and the reason why a request is refused, or None."""
        if headers.get("host") != [self.host]:
            return 421, "This host is not served here."
        if not scope["path"].startswith(API):
            if scope["method"] != "GET":
                return 405, "Only GET is allowed here."
            return None if self._has_token(scope) or self._has_cookie(headers) else (403, NO_TOKEN)
        if scope["method"] != "POST":
            return 405, "Only POST is allowed here."
        site = headers.get("sec-fetch-site", ["none"])[0]
        if headers.get("origin") != [self.origin] or site not in {"same-origin", "none"}:
            return 403, "The request does not come from this page."
        if not _same(headers.get(TOKEN_HEADER, [""])[0], self.token):
            return 403, NO_TOKEN
        if headers.get("content-type", [""])[0].partition(";")[0].strip().lower() not in TYPES:
            return 415, "The content type must be application/json or text/csv."
        return None

    def _has_token(self, scope: dict[str, Any]) -> bool:
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=8)
        return scope["path"] == "/" and _same(query.get("token", [""])[0], self.token)

    def _has_cookie(self, headers: dict[str, list[str]]) -> bool:
        pairs = (part.strip().partition("=") for line in headers.get("cookie", []) for part in line.split(";"))
        return any(name == self.cookie_name and _same(value, self.cookie) for name, _, value in pairs)

    def _secured(self, scope: dict[str, Any], send: Send) -> Send:
        """Return ``send`` with our headers on the answer, and the cookie where the token was shown."""
        new = dict(HEADERS)
        if scope["method"] == "GET" and self._has_token(scope):
            new["Set-Cookie"] = f"{self.cookie_name}={self.cookie}; HttpOnly; SameSite=Strict; Path=/"
        more = [(name.lower().encode(), value.encode()) for name, value in new.items()]

        async def secured(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *more]
            await send(message)

        return secured


def _read(scope: dict[str, Any]) -> dict[str, list[str]]:
    """Return the headers by name; one that was sent twice has two values, and matches no single one."""
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _same(given: str, secret: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


async def _refuse(send: Send, status: int, reason: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode()})
