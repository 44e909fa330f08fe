"""What a person did, as a list of events: the state of a workspace is what follows from them.

Every action is an event with a number. Undo and redo are events, too: nothing is ever taken out of the list, and what
counts at present (``active``) is found by going through it once more. So a list that was saved can be replayed, two
pages on one workspace can compare numbers, and a list that ends early is a workspace at an earlier time. Events that
were there before, in the model file, say ``opening``: they can be taken back one by one, but not undone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from widegap.exceptions import InvalidDataError


@dataclass(frozen=True)
class Event:
    """One action: its number, its kind, when it happened, and what it says, in values that JSON can hold."""

    number: int
    kind: str
    at: str
    data: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"number": self.number, "kind": self.kind, "at": self.at, **self.data}

    @property
    def is_opening(self) -> bool:
        """Whether it was in the model file that was opened."""
        return bool(self.data.get("opening"))

    @classmethod
    def from_json(cls, entry: Any) -> "Event":
        """An event as it was saved; what it says is checked by the workspace that replays it."""
        try:
            data = {key: value for key, value in entry.items() if key not in ("number", "kind", "at")}
            found = cls(entry["number"], str(entry["kind"]), str(entry["at"]), data)
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidDataError(f"{entry!r:.80} is no event of a session; it lacks {error}.") from error
        if type(found.number) is not int:
            raise InvalidDataError(f"{entry!r:.80} is no event of a session: its number is not a whole number.")
        return found


class History:
    """The events so far, and which of them count."""

    def __init__(self, events: Iterable[Event] = ()):
        self.events: list[Event] = []
        self.active: list[Event] = []
        self._undone: list[Event] = []
        for event in events:
            self.add(event)

    @property
    def number(self) -> int:
        """Number of the last event, 0 if there is none."""
        return self.events[-1].number if self.events else 0

    @property
    def can_undo(self) -> bool:
        return bool(self.active) and not self.active[-1].is_opening

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

    def next(self, kind: str, data: dict[str, Any]) -> Event:
        """The event that an action would be; ``add`` makes it count."""
        return Event(self.number + 1, kind, datetime.now(UTC).isoformat(timespec="seconds"), data)

    def add(self, event: Event) -> None:
        """Let an event count."""
        if event.number != self.number + 1:
            raise InvalidDataError(f"Event {event.number} follows event {self.number}; the session is damaged there.")
        if event.kind == "undo":
            if not self.can_undo:
                raise InvalidDataError("There is nothing to undo.")
            self._undone.append(self.active.pop())
        elif event.kind == "redo":
            if not self._undone:
                raise InvalidDataError("There is nothing to redo.")
            self.active.append(self._undone.pop())
        else:
            self.active.append(event)
            self._undone.clear()
        self.events.append(event)

    def after(self, event: Event) -> "History":
        """The history that one more event would make; this one is left as it is."""
        other = History()
        other.events, other.active, other._undone = [*self.events], [*self.active], [*self._undone]
        other.add(event)
        return other


@dataclass(frozen=True)
class Statement:
    """What a person said about some rows, and the number of the event."""

    number: int
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class State:
    """What follows from the active events.

    Attributes
    ----------
    fit : int
        Event of the fit that counts, 0 for the one that the workspace was opened with.
    k : int or None
        Number of clusters that the fit is cut at, None for its own.
    wanted : int or None
        Number of clusters that the next fit is to have, None for the one that is shown.
    names : dict
        Names that were given to clusters, by their keys.
    statements : list of Statement
        In the order in which they were made, without those that were dropped.
    skipped : list of pairs of rows
        Questions that were passed over.
    """

    fit: int = 0
    k: int | None = None
    wanted: int | None = None
    names: dict[int, str] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    skipped: list[list[int]] = field(default_factory=list)
