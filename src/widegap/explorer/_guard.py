"""Who may talk to the server: whoever has the token, from the page itself, in requests of a sane size.

The token is the first part of every path, so that styles, modules and the stream of events carry it without cookies,
which browsers would share with every other port of the machine. ``Host`` must be an address that the server was opened
under (a page elsewhere whose name is made to point here has another), and ``Origin``, which browsers send with posts,
must be the page's own. Whoever lacks the token learns nothing: all paths are not found. No other page may frame this
one: a notebook does not need to, since its widget is no page of this server.
"""

import secrets
from collections.abc import Awaitable, Callable, Container
from typing import Any

MAX_BODY = 4 << 20  # bytes: 200,000 selected rows, the most that one action takes, with room to spare
MAX_HEADERS = 16_384  # bytes: h11's limit is for headers that come in parts, not for those that come at once
MOST_POSTS = 16  # at once: bodies take 64 MiB at most; pages wait for an answer before they send the next
MAX_PATH = 8_000  # characters: the longest the page sends holds two names of columns
TOO_LARGE = f"A request may have at most {MAX_BODY >> 20} MiB."
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
    "content-security-policy": POLICY,
}

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class TooLargeRequestError(Exception):
    """A body is larger than any that the page sends."""


class Guard:
    """ASGI layer before the application; strips the token from the path.

    Parameters
    ----------
    app : ASGI application
    token : str
        The secret of this server.
    hosts : container of str
        Values of ``Host`` under which the server was opened, with their port, in lower case.
    """

    def __init__(self, app: Any, token: str, hosts: Container[str]):
        self._app, self._token, self._hosts = app, token.encode(), hosts
        self._posts = 0

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer(_sending(send), *refusal)
            return
        inner = {**scope, "path": scope["path"][len(self._token) + 1 :] or "/", "root_path": ""}
        inner["raw_path"] = inner["path"].encode("utf-8", "replace")
        is_post = scope["method"] == "POST"
        self._posts += is_post
        try:
            await self._app(inner, _limited(receive), _sending(send))
        finally:
            self._posts -= is_post

    def _refusal(self, scope: dict[str, Any]) -> tuple[int, str] | None:
        if sum(len(name) + len(value) + len(b": \r\n") for name, value in scope["headers"]) > MAX_HEADERS:
            return 431, f"The headers of a request may have at most {MAX_HEADERS} bytes."
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        host = headers.get(b"host", [])
        if len(host) != 1 or host[0].decode("latin-1").lower() not in self._hosts:
            return 403, "The server does not answer at this address; use the one that it printed."
        origin = headers.get(b"origin", [])
        if origin and (len(origin) > 1 or origin[0].lower() != b"http://" + host[0].lower()):
            return 403, "Requests from other pages are refused."
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "Only GET and POST are answered."
        if scope["method"] == "POST" and headers.get(b"sec-fetch-site", [b"same-origin"]) != [b"same-origin"]:
            return 403, "Posts from other pages are refused."
        first = scope["path"][1:].partition("/")[0].encode("utf-8", "replace")
        if len(scope["path"]) > MAX_PATH or not secrets.compare_digest(first, self._token):
            return 404, "Not found."
        length = headers.get(b"content-length", [b"0"])[0]
        if not length.isdigit() or int(length[:12]) > MAX_BODY:
            return 413, TOO_LARGE
        if scope["method"] == "POST" and self._posts >= MOST_POSTS:
            return 429, f"The server works on {MOST_POSTS} posts already; wait for their answers."
        return None


def _sending(send: Send) -> Send:
    async def guarded(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *own]}
        await send(message)

    return guarded


def _limited(receive: Receive) -> Receive:
    total = 0

    async def counted() -> Any:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MAX_BODY:
            raise TooLargeRequestError(TOO_LARGE)
        return message

    return counted


async def _answer(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
