"""What an action is: the fields that it stores, how they are checked, and what it means."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from widegap._wording import counted
from widegap.corrections._constraints import Draft
from widegap.corrections._events import Event, State, Statement
from widegap.corrections._rules import Rule
from widegap.exceptions import InvalidDataError

MOST_ROWS = 200_000  # that one action names: the page sends them in a request of 4 MiB
LISTED_ROWS = 3  # of which words give the numbers

Data = dict[str, Any]


class Clusters(Protocol):
    """The clusters as they are shown, which an action is checked against."""

    @property
    def n_rows(self) -> int: ...

    @property
    def k(self) -> int: ...

    @property
    def keys(self) -> np.ndarray[Any, Any]:
        """Key of the cluster of every row, -1 for none."""

    @property
    def cluster_keys(self) -> list[int]: ...

    @property
    def reach(self) -> range:
        """Numbers of clusters that need no new fit."""

    @property
    def statements(self) -> list[Statement]: ...

    def halves(self, rows: np.ndarray[Any, Any]) -> list[list[int]]:
        """Rows that stand for the two parts of some others."""


@dataclass(frozen=True)
class Words:
    """What rows and clusters are called where a correction is told in words."""

    unit: str
    numbers: np.ndarray[Any, Any]
    name_of: Callable[[int], str]

    def rows(self, rows: Sequence[int], plural: str, singular: str = "") -> str:
        """ "rows 4 and 6 are junk", "row 4 is junk", "12 rows are junk"."""
        verb = plural if len(rows) > 1 else singular
        if len(rows) > LISTED_ROWS:
            return f"{counted(len(rows), self.unit)} {verb}"
        *first, last = [str(self.numbers[row]) for row in rows]
        listed = f"{', '.join(first)} and {last}" if first else last
        return f"{self.unit}{'s' if first else ''} {listed} {verb}"

    def clusters(self, keys: Iterable[int]) -> str:
        return ", ".join(map(self.name_of, keys))


class Action:
    """What a person does, by its ``kind``.

    Attributes
    ----------
    fields, optional : dict of Rule
        What its event holds, always and sometimes.
    """

    kind: ClassVar[str]
    fields: ClassVar[dict[str, Rule]] = {}
    optional: ClassVar[dict[str, Rule]] = {}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        """What its event is to hold; refuses what makes no sense."""
        return {}

    def follow(self, state: State, event: Event) -> State:
        """The state after it."""
        return state


class Correction(Action):
    """Something that a person says about rows, which the next fit follows."""

    def follow(self, state: State, event: Event) -> State:
        said = Statement(event.number, event.kind, event.data)
        return replace(state, statements=[*state.statements, said])

    def constrain(self, draft: Draft, data: Data) -> None:
        """Add what it means to the constraints of those before it."""
        raise NotImplementedError

    def added_clusters(self, data: Data) -> int:
        """How many clusters more the next fit has for it."""
        return 0

    def words(self, data: Data, words: Words) -> str:
        """What was said, in a few words."""
        raise NotImplementedError


def asked_rows(clusters: Clusters, asked: Data, least: int, most: int = MOST_ROWS) -> list[int]:
    """The rows that an action names; refuses what is none, too few and too many."""
    rows = asked.get("rows")
    if not isinstance(rows, list) or not all(type(row) is int for row in rows):
        raise InvalidDataError(f"rows={rows!r:.40} must be a list of row numbers.")
    found = sorted(set(rows))
    n = clusters.n_rows
    if found and not (0 <= found[0] and found[-1] < n):
        raise InvalidDataError(f"rows holds {found[0]} to {found[-1]}, but rows are numbered from 0 to {n - 1}.")
    if len(found) < least:
        raise InvalidDataError(f"This needs {least} rows or more; {len(found)} are selected.")
    if len(found) > most:
        raise InvalidDataError(f"This takes {most} rows at most; {len(found)} are selected.")
    return found


def asked_key(clusters: Clusters, value: Any) -> int:
    """The cluster that an action names; refuses what is none."""
    keys = clusters.cluster_keys
    if type(value) is not int or value not in keys:
        raise InvalidDataError(f"cluster={value!r:.40} is none of the clusters {keys[:20]}.")
    return value


def new_key(clusters: Clusters) -> int:
    """The least key that nothing has."""
    taken: set[Any] = {*clusters.cluster_keys}
    for said in clusters.statements:
        taken |= {said.data.get("cluster"), said.data.get("new"), *said.data.get("clusters", ())}
    return min(set(range(len(taken) + 1)) - taken)
