"""What every request passes: names of this host only, the access token, and proof that the page itself asks."""

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "palmette_access"
PAGE_TOKEN = "x-palmette-token"
MOST_BYTES = 8_000_000  # of the body of a request that is not an upload
UPLOADS = "/api/uploads"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every response, unless it sets its own."""


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Middleware that refuses what the page did not ask for.

    A web site that the user visits elsewhere may send requests to this server. It cannot set the header with the page
    token, nor the `Origin`. One that points a name of its own to this machine (DNS rebinding) is refused by that
    name: a `Host` is an address, `localhost`, or the name of this machine.
    """

    def __init__(self, app: ASGIApp, host: str, access: str | None, page: str) -> None:
        """`access`: the token that every request must show; None where the server is for this machine alone."""
        self._app, self._access, self._page = app, access, page
        self._names = {"localhost", host.casefold(), socket.gethostname().casefold(), socket.getfqdn().casefold()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(Request(scope))
        await (refusal or self._app)(scope, receive, secured)

    def _refusal(self, request: Request) -> Response | None:
        headers, path = request.headers, request.scope["path"]
        if not self._is_here(headers.get("host", "")):
            return _refused(421, "other-host", "This server does not answer under that name.", "Use its address.")
        shown = headers.get("authorization", "").removeprefix("Bearer "), request.cookies.get(COOKIE, "")
        if self._access and not any(_same(one, self._access) for one in shown):
            given = request.query_params.get("token", "")
            if path == "/" and _same(given, self._access):
                entered = RedirectResponse("/", status_code=303)
                entered.set_cookie(COOKIE, given, httponly=True, samesite="strict")
                return entered
            return _refused(401, "no-access", "The access token is missing.", "Open the address that was printed.")
        if request.method in {"GET", "HEAD"}:
            return None
        origin = headers.get("origin", "")
        if origin.partition("://")[2] != headers.get("host") or not _same(headers.get(PAGE_TOKEN, ""), self._page):
            return _refused(403, "other-page", "The request does not come from this page.", "Reload the page.")
        length = headers.get("content-length", "")
        if path != UPLOADS and not (length.isdecimal() and int(length) <= MOST_BYTES):
            return _refused(413, "too-large", f"A request has at most {MOST_BYTES} bytes.", "Upload a file instead.")
        return None

    def _is_here(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.casefold() in self._names
        return True


def new_token() -> str:
    return secrets.token_urlsafe(24)


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _refused(status: int, code: str, message: str, remedy: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message, "remedy": remedy}}, status)
