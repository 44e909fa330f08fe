"""The server: the page's files and the answers to its requests over HTTP, and a stream that tells of changes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from widegap._nesting import nesting
from widegap.explorer._answers import (
    JSON,
    REFUSED,
    Answers,
    BadRequestError,
    Posted,
    Query,
    encoded,
    refusal,
)
from widegap.explorer._bundle import PAGE
from widegap.explorer._guard import TooLargeRequestError
from widegap.explorer._workspace import ChangedError, Workspace

KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FILES = {path.name: path for path in PAGE.iterdir() if path.suffix in KINDS}
MAX_REQUEST_DEPTH = 20  # of a request: the page sends three
MOST_STREAMS = 32  # open pages: each holds one of the 100 connections that the server allows
BEAT = 15.0  # seconds between two signs of life: proxies close streams that are silent for 30 or 60


Handler = Callable[[Request], Awaitable[Response]]


class Broadcast:
    """Tells all open pages that something has changed."""

    def __init__(self) -> None:
        self._queues: dict[asyncio.Queue[None], asyncio.AbstractEventLoop] = {}
        self._ended = False

    def __len__(self) -> int:
        return len(self._queues)

    def tell(self) -> None:
        """May be called from any thread."""
        for queue, loop in [*self._queues.items()]:
            try:
                loop.call_soon_threadsafe(_put, queue)
            except RuntimeError:  # the loop is closed
                self._queues.pop(queue, None)

    def end(self) -> None:
        """Release all pages: a server that has to cut them off prints a traceback."""
        self._ended = True
        self.tell()

    async def wait_all(self, message: Callable[[], str]) -> AsyncIterator[str]:
        """What to send to one page, now and after every change."""
        queue: asyncio.Queue[None] = asyncio.Queue(1)
        self._queues[queue] = asyncio.get_running_loop()
        try:
            while not self._ended:
                yield f"data: {message()}\n\n"
                try:
                    await asyncio.wait_for(queue.get(), BEAT)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._queues.pop(queue, None)


def _put(queue: asyncio.Queue[None]) -> None:
    if queue.empty():
        queue.put_nowait(None)


class Pages(Answers):
    """The answers over HTTP."""

    def __init__(self, workspace: Workspace):
        self.broadcast = Broadcast()
        self.on_page: Callable[[], object] = lambda: None  # called when a browser has asked for the page
        super().__init__(workspace, self.broadcast.tell, served_by=("starlette", "uvicorn"))

    def routes(self) -> list[Route]:
        return [
            Route("/", self.page),
            *(Route(f"/{name}", _page(name)) for name in FILES),
            *(Route(f"/api/{name}", _get(function)) for name, function in self.reads.items()),
            *(Route(f"/api/{name}", _post(function), methods=["POST"]) for name, function in self.posts.items()),
            Route("/api/events", self.events),
        ]

    async def page(self, request: Request) -> Response:
        self.on_page()
        return await _page("index.html")(request)

    async def events(self, request: Request) -> Response:
        if len(self.broadcast) >= MOST_STREAMS:
            return JSONResponse({"error": "Too many pages are open; close some."}, 429)
        stream = self.broadcast.wait_all(lambda: json.dumps(self.news()))
        return StreamingResponse(stream, media_type="text/event-stream")


def make_app(workspace: Workspace) -> tuple[Starlette, Pages]:
    """The application without its guard, and what answers."""
    pages = Pages(workspace)
    return Starlette(routes=pages.routes()), pages


def _page(name: str) -> Handler:
    async def answer(request: Request) -> Response:
        path = FILES[name]
        return Response(path.read_bytes(), media_type=KINDS[path.suffix])

    return answer


def _answered(found: object) -> Response:
    content = encoded(found)
    headers = {"content-disposition": f'attachment; filename="{content.file}"'} if content.file else None
    return Response(content.body, media_type=content.kind, headers=headers)


def _get(function: Callable[[Query], object]) -> Handler:
    async def answer(request: Request) -> Response:
        return _answered(await run_in_threadpool(function, request.query_params))

    return _shielded(answer)


def _post(function: Callable[[Posted], object]) -> Handler:
    async def answer(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != JSON:
            return JSONResponse({"error": f"The request must have the content type {JSON}."}, 415)
        body = await request.body()
        try:
            text = body.decode("utf-8")
            asked = None if nesting(text) > MAX_REQUEST_DEPTH else json.loads(text)
        except ValueError:
            raise BadRequestError("The request is not valid JSON.") from None
        if not isinstance(asked, dict):
            raise BadRequestError(f"The request must be an object, nested {MAX_REQUEST_DEPTH} deep at most.")
        return _answered(await run_in_threadpool(function, asked))

    return _shielded(answer)


def _shielded(answer: Handler) -> Handler:
    """Errors as answers: a wrong request must never end the server."""

    async def shielded(request: Request) -> Response:
        try:
            return await answer(request)
        except TooLargeRequestError as error:
            return JSONResponse(refusal(error), 413)
        except REFUSED as error:
            return JSONResponse(refusal(error), 409 if isinstance(error, ChangedError) else 400)

    return shielded
