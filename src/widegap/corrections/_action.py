"""What an action is: the fields that it stores, how they are checked, and what follows from it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from widegap._types import Ints
from widegap._wording import counted
from widegap.corrections._constraints import Draft
from widegap.corrections._events import Event, LogState
from widegap.corrections._rules import FieldRule
from widegap.exceptions import InvalidDataError

MOST_ACTION_ROWS = 200_000  # rows of one action: the page sends them in a request of at most 4 MiB
LISTED_ROWS = 3  # beyond this, words give the count of rows: a line of the page holds about three numbers

EventData = dict[str, Any]


class Clusters(Protocol):
    """The clusters as they are shown, against which an action is checked."""

    @property
    def n_rows(self) -> int: ...

    @property
    def k(self) -> int: ...

    @property
    def corrected_keys(self) -> Ints:
        """Key of the cluster of every row after the corrections so far, -1 for none."""

    @property
    def cluster_keys(self) -> list[int]: ...

    @property
    def used_keys(self) -> set[int]:
        """Keys that belong to a cluster, whether it is shown or not."""

    @property
    def reach(self) -> range:
        """Numbers of clusters that need no new fit."""

    @property
    def corrections(self) -> list[Event]: ...

    @property
    def new_corrections(self) -> list[Event]:
        """Those that no fit has followed yet."""

    def two_parts(self, rows: Ints) -> list[list[int]]:
        """The rows that stay and those that leave when a cluster of these rows is split."""


@dataclass(frozen=True)
class Naming:
    """What rows and clusters are called where a correction is put into words; clusters have names and numbers."""

    unit: str
    numbers: Ints
    name_of: Callable[[int], str]
    number_of: Callable[[int], int]

    def rows(self, rows: Sequence[int]) -> str:
        """ "row 4", "rows 4 and 6", "12 rows"."""
        if len(rows) > LISTED_ROWS:
            return counted(len(rows), self.unit)
        return f"{self.unit}{'s' if len(rows) > 1 else ''} {_listed(str(self.numbers[row]) for row in rows)}"

    def clusters(self, keys: Iterable[int]) -> str:
        """ "Cluster 4", "Cluster 4 and mine"."""
        return _listed(map(self.name_of, keys))


class Action:
    """What a person does, by its ``kind``.

    Attributes
    ----------
    fields, optional : dict of FieldRule
        What its event holds, always and sometimes.
    """

    kind: ClassVar[str]
    fields: ClassVar[dict[str, FieldRule]] = {}
    optional: ClassVar[dict[str, FieldRule]] = {}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        """The data of its event; refuses what makes no sense."""
        return {}

    def follow(self, state: LogState, event: Event) -> LogState:
        """The state after it."""
        return state

    def words(self, data: EventData, naming: Naming) -> str:
        """What was done, in a few words; empty where a log need not list it."""
        return ""


class Correction(Action):
    """A constraint on rows, which the next fit follows.

    Attributes
    ----------
    button, shortcut : str
        What the page shows for the selected rows, and the key that does the same; a correction of anything but selected
        rows has no button of this kind.
    """

    button: ClassVar[str] = ""
    shortcut: ClassVar[str] = ""

    def follow(self, state: LogState, event: Event) -> LogState:
        return replace(state, corrections=[*state.corrections, event])

    def constrain(self, draft: Draft, data: EventData) -> None:
        """Add its constraints to those of the corrections before it."""
        raise NotImplementedError

    def added_clusters(self, data: EventData) -> int:
        """By how many clusters it changes the number of the next fit."""
        return 0


def asked_rows(clusters: Clusters, asked: EventData, least: int, most: int = MOST_ACTION_ROWS) -> list[int]:
    """The rows that an action names; refuses unknown rows, too few and too many."""
    rows = asked.get("rows")
    if not isinstance(rows, list) or not all(type(row) is int for row in rows):
        raise InvalidDataError(f"rows={rows!r:.40} must be a list of row numbers.")
    found = sorted(set(rows))
    n = clusters.n_rows
    if found and not (0 <= found[0] and found[-1] < n):
        raise InvalidDataError(f"rows holds {found[0]} to {found[-1]}, but rows are numbered from 0 to {n - 1}.")
    if len(found) < least:
        raise InvalidDataError(f"This needs at least {counted(least, 'row')}; you selected {len(found)}.")
    if len(found) > most:
        raise InvalidDataError(f"This takes at most {counted(most, 'row')}; you selected {len(found)}.")
    return found


def asked_key(clusters: Clusters, value: object) -> int:
    """The cluster that an action names, or the one that it was merged into; refuses unknown ones."""
    keys = clusters.cluster_keys
    if type(value) is not int or value not in keys:
        raise InvalidDataError(f"cluster={value!r:.40} does not exist; choose from {keys[:20]}.")
    for event in clusters.new_corrections:
        if event.kind == "merge" and value in event.data["clusters"]:
            value = int(event.data["clusters"][0])
    return value


def new_key(clusters: Clusters) -> int:
    """The smallest key that no cluster has or had."""
    taken: set[Any] = {*clusters.used_keys}
    for event in clusters.corrections:
        taken |= {event.data.get("cluster"), event.data.get("new"), *event.data.get("clusters", ())}
    return min(set(range(len(taken) + 1)) - taken)


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
