"""The server: answers the page from the workspace; only ``act`` and ``again`` change anything."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from widegap._types import Floats
from widegap.exceptions import WidegapError
from widegap.explorer import _layouts as layouts
from widegap.explorer import _payloads as views
from widegap.explorer._export import EXPORTS, download
from widegap.explorer._fits import NotFitted, ShownFit
from widegap.explorer._guard import TooLargeRequestError
from widegap.explorer._question_payloads import questions
from widegap.explorer._worker import Worker
from widegap.explorer._workspace import ChangedError, Workspace
from widegap.features._neighbour_layout import neighbour_layout

PAGE = Path(__file__).parent / "page"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FILES = {path.name: path for path in PAGE.iterdir() if path.suffix in KINDS}
MOST_ANSWERED_ROWS = 200  # rows of one answer: the page asks for one or two
MOST_STREAMS = 32  # open pages: each holds one of the 100 connections that the server allows
BEAT = 15.0  # seconds between two signs of life: proxies close streams that are silent for 30 or 60


Query = Mapping[str, str]
Posted = dict[str, object]
Handler = Callable[[Request], Awaitable[Response]]


class BadRequestError(Exception):
    """A request that the page would not make."""


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


class Pages:
    """Answers to all requests."""

    def __init__(self, workspace: Workspace):
        self.workspace = workspace
        self.broadcast = Broadcast()
        self.worker = Worker(workspace, self.broadcast.tell)
        workspace.listen(self.broadcast.tell)
        self._places: dict[tuple[object, ...], Floats] = {}

    def routes(self) -> list[Route]:
        reads: dict[str, Callable[[Query], object]] = {
            "state": lambda asked: views.overview(self.workspace),
            "exports": lambda asked: list(EXPORTS),
            "clusters": lambda asked: views.shown_at(self.workspace, self._k(asked)),
            "profile": lambda asked: views.profile(self.workspace, self._k(asked)),
            "tree": lambda asked: views.tree(self.workspace),
            "row": lambda asked: views.row(self.workspace, _number(asked, "row")),
            "rows": self.rows,
            "questions": lambda asked: questions(self.workspace),
            "points": self.points,
            "numbers": self.numbers,
            "labels": self.labels,
            "sure": self.sure,
            "moved": self.moved,
        }
        posts: dict[str, Callable[[Posted], object]] = {
            "act": self.act,
            "again": self.again,
            "stop": self.stop,
            "find": self.find,
        }
        return [
            Route("/", _page("index.html")),
            *(Route(f"/{name}", _page(name)) for name in FILES),
            *(Route(f"/api/{name}", _get(function)) for name, function in reads.items()),
            *(Route(f"/api/{name}", _post(function), methods=["POST"]) for name, function in posts.items()),
            *(Route(f"/api/export/{name}", self.exported(name)) for name in EXPORTS),
            Route("/api/events", self.events),
        ]

    def _k(self, asked: Query) -> int:
        k = _number(asked, "k")
        if k not in self.workspace.fit.numbers:
            raise BadRequestError(
                f"k={k} must be from {self.workspace.fit.numbers[0]} to {self.workspace.fit.numbers[-1]}."
            )
        return k

    # Rows and points

    def rows(self, asked: Query) -> list[dict[str, object]]:
        try:
            numbers = [int(part) for part in asked.get("rows", "").split(",")]
        except ValueError:
            raise BadRequestError("rows must be numbers, separated by commas.") from None
        if len(numbers) > MOST_ANSWERED_ROWS:
            raise BadRequestError(f"At most {MOST_ANSWERED_ROWS} rows at a time.")
        return [views.short_row(self.workspace, number) for number in numbers]

    def points(self, asked: Query) -> bytes:
        """Rows (uint32, from 0) and places (float32 x, y) of the rows on the map."""
        workspace, layout = self.workspace, asked.get("layout", "scores")
        with workspace.lock:
            fit = workspace.fit
            made_of: dict[str, tuple[object, ...]] = {
                "scores": (id(fit), workspace.k),
                "neighbours": (),
                "columns": (asked.get("x"), asked.get("y")),
            }
        if layout not in made_of:
            raise BadRequestError(f"{layout!r:.40} is an unknown layout; choose from {', '.join(made_of)}.")
        key = (layout, *made_of[layout])
        if key not in self._places:
            if len(self._places) > 8:
                self._places.clear()
            self._places[key] = self._place(layout, fit, asked)
        places = np.ascontiguousarray(self._places[key], np.float32)
        return workspace.on_map.astype(np.uint32).tobytes() + places.tobytes()

    def numbers(self, asked: Query) -> bytes:
        """What people call the rows on the map: their numbers in the table, from 1 (uint32)."""
        return self.workspace.rows.numbers[self.workspace.on_map].astype(np.uint32).tobytes()

    def _place(self, layout: str, fit: ShownFit | NotFitted, asked: Query) -> Floats:
        workspace = self.workspace
        rows = workspace.on_map
        if layout == "columns":
            x, y = (workspace.rows.column(str(asked.get(axis, ""))) for axis in "xy")
            return layouts.by_columns(x, y, rows)
        if layout == "neighbours":
            return neighbour_layout(workspace.features, rows).places
        if not isinstance(fit, ShownFit):  # there are no scores yet
            return layouts.by_principal_axes(workspace.features, rows)
        return layouts.by_scores(fit.model_at(workspace.k), workspace.X, workspace.features, rows)

    def labels(self, asked: Query) -> bytes:
        """Keys (int32) of the rows on the map at a number of clusters."""
        k = self._k(asked)
        return self.workspace.fit.row_keys(k)[self.workspace.on_map].astype(np.int32).tobytes()

    def sure(self, asked: Query) -> bytes:
        """How sure each row on the map is at a number of clusters, from 0 to 255."""
        workspace = self.workspace
        sure = workspace.fit.sure_at(self._k(asked))
        if sure is None:
            return np.full(len(workspace.on_map), 255, np.uint8).tobytes()
        return np.rint(255 * sure[workspace.on_map].clip(0, 1)).astype(np.uint8).tobytes()

    def moved(self, asked: Query) -> bytes:
        """Which rows on the map the last fit moved, 0 or 1."""
        both = self.workspace.moved()
        if both is None:
            return np.zeros(len(self.workspace.on_map), np.uint8).tobytes()
        return (both[0] != both[1])[self.workspace.on_map].astype(np.uint8).tobytes()

    def find(self, asked: Posted) -> bytes:
        """Which rows on the map fit a query, 0 or 1, after the number of all that do (uint32)."""
        found = views.find(self.workspace, asked)
        count = np.array([np.count_nonzero(found)], np.uint32).tobytes()
        return count + found[self.workspace.on_map].astype(np.uint8).tobytes()

    # Actions

    def act(self, asked: Posted) -> dict[str, object]:
        data = asked.get("data", {})
        self.workspace.act(str(asked.get("kind")), data, base=_base(asked))
        self.worker.compute_ahead()
        return views.overview(self.workspace)

    def again(self, asked: Posted) -> dict[str, object]:
        self.worker.again(_base(asked))
        return {"started": True}

    def stop(self, asked: Posted) -> dict[str, object]:
        self.worker.stop()
        return {"stopping": self.worker.running}

    def exported(self, name: str) -> Handler:
        async def answer(request: Request) -> Response:
            content, kind = await run_in_threadpool(download, self.workspace, name)
            headers = {"content-disposition": f'attachment; filename="{name}"'}
            return Response(content, media_type=kind, headers=headers)

        return _shielded(answer)

    async def events(self, request: Request) -> Response:
        if len(self.broadcast) >= MOST_STREAMS:
            return JSONResponse({"error": "Too many pages are open; close some."}, 429)
        stream = self.broadcast.wait_all(lambda: json.dumps(self._news()))
        return StreamingResponse(stream, media_type="text/event-stream")

    def _news(self) -> dict[str, object]:
        saved = self.workspace.autosave
        return {
            "number": self.workspace.number,
            "progress": self.worker.progress,
            "trouble": None if saved is None else saved.trouble,
        }


def make_app(workspace: Workspace) -> tuple[Starlette, Pages]:
    """The application without its guard, and what answers."""
    pages = Pages(workspace)
    return Starlette(routes=pages.routes()), pages


def _number(asked: Query, name: str) -> int:
    try:
        return int(asked.get(name, ""))
    except ValueError:
        raise BadRequestError(f"{name} must be a whole number.") from None


def _base(asked: Posted) -> int:
    base = asked.get("base")
    if type(base) is not int:
        raise BadRequestError("base must be the number of the last action that the page knows.")
    return base


def _page(name: str) -> Handler:
    async def answer(request: Request) -> Response:
        path = FILES[name]
        return Response(path.read_bytes(), media_type=KINDS[path.suffix])

    return answer


def _answered(found: object) -> Response:
    if isinstance(found, bytes):
        return Response(found, media_type="application/octet-stream")
    return JSONResponse(found)


def _get(function: Callable[[Query], object]) -> Handler:
    async def answer(request: Request) -> Response:
        return _answered(await run_in_threadpool(function, request.query_params))

    return _shielded(answer)


def _post(function: Callable[[Posted], object]) -> Handler:
    async def answer(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return JSONResponse({"error": "The request must have the content type application/json."}, 415)
        try:
            asked = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise BadRequestError("The request is not valid JSON.") from None
        if not isinstance(asked, dict):
            raise BadRequestError("The request must be an object.")
        return _answered(await run_in_threadpool(function, asked))

    return _shielded(answer)


def _shielded(answer: Handler) -> Handler:
    """Errors as answers: a wrong request must never end the server."""

    async def shielded(request: Request) -> Response:
        try:
            return await answer(request)
        except ChangedError as error:
            return JSONResponse({"error": str(error), "changed": True}, 409)
        except TooLargeRequestError as error:
            return JSONResponse({"error": str(error)}, 413)
        except (BadRequestError, WidegapError, ValueError, OverflowError) as error:
            return JSONResponse({"error": str(error)[:600]}, 400)

    return shielded
