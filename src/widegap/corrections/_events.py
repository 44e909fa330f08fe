"""What a person did, as a list of events: the state of a workspace follows from them.

Every action is an event with a number. Undo and redo are events, too: nothing is ever removed from the list, and the
active events are found by replaying it. So a saved list can be replayed, two pages on one workspace can compare
numbers, and a list that ends early is a workspace at an earlier time. Events that came from the model file are marked
``opening``: they can be removed one by one, but not undone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from widegap.exceptions import InvalidDataError


@dataclass(frozen=True)
class Event:
    """One action: its number, its kind, when it happened, and its data, in values that JSON can hold."""

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
        """An event as it was saved; the workspace that replays it checks its data."""
        try:
            data = {key: value for key, value in entry.items() if key not in ("number", "kind", "at")}
            found = cls(entry["number"], str(entry["kind"]), str(entry["at"]), data)
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidDataError(f"{entry!r:.80} is not an event; it needs number, kind and at.") from error
        if type(found.number) is not int:
            raise InvalidDataError(f"{entry!r:.80} is not an event: its number is not a whole number.")
        return found


class History:
    """The events so far, and which of them are active."""

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
        """The event that an action would be; ``add`` appends it."""
        return Event(self.number + 1, kind, datetime.now(UTC).isoformat(timespec="seconds"), data)

    def add(self, event: Event) -> None:
        """Append an event."""
        if event.number != self.number + 1:
            raise InvalidDataError(f"Event {event.number} follows event {self.number}; the log is damaged there.")
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
        """The history with one more event; this one stays unchanged."""
        other = History()
        other.events, other.active, other._undone = [*self.events], [*self.active], [*self._undone]
        other.add(event)
        return other


@dataclass(frozen=True)
class LogState:
    """What follows from the active events.

    Attributes
    ----------
    fit : int
        Event of the current fit, 0 for the one that the workspace was opened with.
    k : int or None
        Number of clusters that the fit is cut at, None for its own.
    wanted : int or None
        Number of clusters of the next fit, None for the one that is shown.
    names : dict
        Names of clusters, by their keys.
    corrections : list of Event
        In the order in which they were made, without those that were removed.
    skipped : list of pairs of rows
        Questions that were skipped.
    """

    fit: int = 0
    k: int | None = None
    wanted: int | None = None
    names: dict[int, str] = field(default_factory=dict)
    corrections: list[Event] = field(default_factory=list)
    skipped: list[list[int]] = field(default_factory=list)
