"""Who may talk to the explorer: the page that it has opened itself, and nobody else.

Any page that the user visits can send requests to 127.0.0.1, and by DNS rebinding read the answers. Every request is
therefore asked for the exact host, the page for the token of the printed address (exchanged for a cookie), and
whatever reaches the session for the token in a header, our own origin and a content type that no form can send.
"""

from __future__ import annotations

import hmac
import secrets

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class Guard:
    """Refuses requests before the application sees them, and puts the security headers on every answer."""

    def __init__(self, app: ASGIApp, host: str, port: int):
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is allowed."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # policy violation
            return
        refusal = self.refusal(scope, Headers(scope=scope))
        if refusal is None:
            new = HEADERS | (self._new_cookie() if self._has_token(scope) else {})
            await self.app(scope, receive, _with(new, send))
        else:
            answer = PlainTextResponse(refusal[1], refusal[0], {"connection": "close"})
            await answer(scope, receive, _with(HEADERS, send))

    def refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Return the status and the reason why a request is refused, or None."""
        if headers.getlist("host") != [self.host]:
            return 421, "This host is not served here."
        if not scope["path"].startswith(API):
            if scope["method"] != "GET":
                return 405, "Only GET is allowed here."
            return None if self._has_token(scope) or self._has_cookie(headers) else (403, NO_TOKEN)
        if scope["method"] != "POST":
            return 405, "Only POST is allowed here."
        site = headers.get("sec-fetch-site", "none")
        if headers.getlist("origin") != [self.origin] or site not in {"same-origin", "none"}:
            return 403, "The request does not come from this page."
        if not _same(headers.get(TOKEN_HEADER, ""), self.token):
            return 403, NO_TOKEN
        if headers.get("content-type", "").partition(";")[0].strip().lower() not in TYPES:
            return 415, "The content type must be application/json or text/csv."
        return None

    def _has_token(self, scope: Scope) -> bool:
        return scope["path"] == "/" and _same(QueryParams(scope["query_string"]).get("token", ""), self.token)

    def _has_cookie(self, headers: Headers) -> bool:
        pairs = (part.strip().partition("=") for line in headers.getlist("cookie") for part in line.split(";"))
        return any(name == self.cookie_name and _same(value, self.cookie) for name, _, value in pairs)

    def _new_cookie(self) -> dict[str, str]:
        return {"Set-Cookie": f"{self.cookie_name}={self.cookie}; HttpOnly; SameSite=Strict; Path=/"}


def _with(headers: dict[str, str], send: Send) -> Send:
    """Return ``send`` with headers on the answer."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return sent


def _same(given: str, secret: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())
