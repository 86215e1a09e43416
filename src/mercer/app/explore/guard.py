"""Who may talk to the explorer: the page that it has opened itself, and nobody else.

Any page that the user visits can send requests to 127.0.0.1, and by DNS rebinding read the answers. Every request is
therefore asked for the exact host, the page for the token of the printed address (exchanged for a cookie), and
whatever reaches the session for the token in a header, our own origin and a content type that no form can send.
"""

from __future__ import annotations

import hmac
import secrets

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN_BYTES = 32
HEADERS = {  # of every answer
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
    """Refuses requests before the application sees them."""

    def __init__(self, app: ASGIApp, host: str, port: int):
        self.app = app
        self.host = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.origin = f"http://{self.host}"
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.cookie = secrets.token_urlsafe(TOKEN_BYTES)  # not the token: cookies are shared by all ports of a host
        self.cookie_name = f"mercer-{port}"
        self.new_cookie = f"{self.cookie_name}={self.cookie}; HttpOnly; SameSite=Strict; Path=/"
        self.url = f"{self.origin}/?token={self.token}"  # the address to open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is allowed."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # policy violation
            return
        refusal = self.refusal(Request(scope))
        answer = PlainTextResponse(refusal[1], refusal[0], {"connection": "close"}) if refusal else self.app
        await answer(scope, receive, send)

    def refusal(self, request: Request) -> tuple[int, str] | None:
        """Return the status and the reason why a request is refused, or None."""
        headers, method = request.headers, request.method
        if headers.getlist("host") != [self.host]:
            return 421, "This host is not served here."
        if not request.scope["path"].startswith(API):
            if method != "GET":
                return 405, "Only GET is allowed here."
            has_token = request.scope["path"] == "/" and _same(request.query_params.get("token", ""), self.token)
            has_cookie = _same(request.cookies.get(self.cookie_name, ""), self.cookie)
            return None if has_token or has_cookie else (403, NO_TOKEN)
        if method != "POST":
            return 405, "Only POST is allowed here."
        site = headers.get("sec-fetch-site", "none")
        if headers.getlist("origin") != [self.origin] or site not in {"same-origin", "none"}:
            return 403, "The request does not come from this page."
        if not _same(headers.get(TOKEN_HEADER, ""), self.token):
            return 403, NO_TOKEN
        if headers.get("content-type", "").partition(";")[0].strip().lower() not in TYPES:
            return 415, "The content type must be application/json or text/csv."
        return None


def _same(given: str, secret: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())
