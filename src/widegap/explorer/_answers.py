"""What the page may ask, by name: one table, which the server and the widget of notebooks both answer from.

``reads`` take a query (texts by name, as in an address) and change nothing; ``posts`` take an object, and ``act``,
``again`` and ``select`` change something. An answer is bytes, or whatever JSON can say; ``encoded`` gives it as it
travels.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from widegap._types import Floats
from widegap._versions import versions
from widegap.exceptions import WidegapError
from widegap.explorer import _layouts as layouts
from widegap.explorer import _payloads as views
from widegap.explorer._export import EXPORTS, download
from widegap.explorer._fits import NotFitted, ShownFit
from widegap.explorer._question_payloads import questions
from widegap.explorer._worker import Worker
from widegap.explorer._workspace import ChangedError, Workspace

MOST_ANSWERED_ROWS = 200  # rows of one answer: the page asks for one or two
JSON = "application/json"


Query = Mapping[str, str]
Posted = dict[str, object]


class BadRequestError(Exception):
    """A request that the page would not make."""


REFUSED = (ChangedError, BadRequestError, WidegapError, ValueError, OverflowError)  # errors that the page is told


def refusal(error: Exception) -> dict[str, object]:
    """What the page is told of a request that was refused."""
    if isinstance(error, ChangedError):
        return {"error": str(error), "changed": True}
    return {"error": str(error)[:600]}


@dataclass(frozen=True)
class Content:
    """An answer as it travels: its bytes, their media type and, of a download, the name of the file."""

    body: bytes
    kind: str = "application/octet-stream"
    file: str | None = None


def encoded(found: object) -> Content:
    """An answer as bytes: those that are none become JSON."""
    if isinstance(found, Content):
        return found
    if isinstance(found, bytes):
        return Content(found)
    text = json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Content(text.encode(), JSON)


class Answers:
    """Answers to all requests of pages that show a workspace.

    Parameters
    ----------
    workspace : Workspace
    tell : callable
        Called, from any thread, when ``news`` has something new.
    served_by : sequence of str
        Packages that carry the answers to the page, which tells their versions.
    """

    def __init__(self, workspace: Workspace, tell: Callable[[], None], served_by: Sequence[str]):
        self.workspace = workspace
        self.worker = Worker(workspace, tell)
        workspace.listen(tell)
        self._places: dict[tuple[object, ...], Floats] = {}
        self.reads: dict[str, Callable[[Query], object]] = {
            "state": lambda asked: views.overview(workspace),
            "about": lambda asked: versions(served_by),
            "exports": lambda asked: list(EXPORTS),
            "clusters": lambda asked: views.shown_at(workspace, self._k(asked)),
            "profile": lambda asked: views.profile(workspace, self._k(asked)),
            "tree": lambda asked: views.tree(workspace),
            "row": lambda asked: views.row(workspace, _number(asked, "row")),
            "rows": self.rows,
            "questions": lambda asked: questions(workspace),
            "points": self.points,
            "behind": self.behind,
            "numbers": self.numbers,
            "labels": self.labels,
            "sure": self.sure,
            "moved": self.moved,
            **{f"export/{name}": self._export_of(name) for name in EXPORTS},
        }
        self.posts: dict[str, Callable[[Posted], object]] = {
            "act": self.act,
            "again": self.again,
            "stop": self.stop,
            "find": self.find,
            "select": self.select,
        }

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
        on_map = self.workspace.on_map
        return on_map.astype(np.uint32).tobytes() + _as_bytes(self._places_of(asked)[: len(on_map)])

    def behind(self, asked: Query) -> bytes:
        """Keys (int32) and places (float32 x, y) of rows from before an update, if the layout has places for them."""
        workspace = self.workspace
        places = self._places_of(asked)[len(workspace.on_map) :]
        if workspace.rows_before is None or not len(places):
            return b""
        return workspace.rows_before.numbers.astype(np.int32).tobytes() + _as_bytes(places)

    def _places_of(self, asked: Query) -> Floats:
        """Places of the rows on the map, and then of those behind them."""
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
        return self._places[key]

    def numbers(self, asked: Query) -> bytes:
        """What people call the rows on the map: their numbers in the table, from 1 (uint32)."""
        return self.workspace.rows.numbers[self.workspace.on_map].astype(np.uint32).tobytes()

    def _place(self, layout: str, fit: ShownFit | NotFitted, asked: Query) -> Floats:
        workspace = self.workspace
        rows = workspace.on_map
        if layout == "columns":
            x, y = (workspace.rows.column(str(asked.get(axis, ""))) for axis in "xy")
            return layouts.by_columns(x, y, rows)
        behind = None if workspace.rows_before is None else workspace.rows_before.rows
        if layout == "neighbours":
            return layouts.by_neighbours(workspace.features, rows, behind)
        if not isinstance(fit, ShownFit):  # there are no scores yet
            return layouts.by_principal_axes(workspace.features, rows)
        return layouts.by_scores(fit.model_at(workspace.k), workspace.X, workspace.features, rows, behind)

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

    def select(self, asked: Posted) -> dict[str, object]:
        """Which rows the page has selected."""
        self.workspace.select(asked.get("rows"))
        return {"selected": len(self.workspace.selected)}

    def _export_of(self, name: str) -> Callable[[Query], Content]:
        return lambda asked: Content(*download(self.workspace, name), name)

    def news(self) -> dict[str, object]:
        """What pages are told after every change."""
        saved = self.workspace.autosave
        return {
            "number": self.workspace.number,
            "progress": self.worker.progress,
            "trouble": None if saved is None else saved.trouble,
        }


def _as_bytes(places: Floats) -> bytes:
    return np.ascontiguousarray(places, np.float32).tobytes()


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
