"""Every action that a person can take, one class each: what it stores, how that is checked, and what it means.

A further correction is one more class here, in ``ACTIONS``, and a button on the page. What comes from outside becomes
plain data of known kinds before it counts (``check``), and is checked again when it comes from a file (``fields``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np

from widegap.corrections import _rules as rules
from widegap.corrections._constraints import Constraints, Draft
from widegap.corrections._events import Event, State, Statement
from widegap.corrections._rules import Rule
from widegap.exceptions import InvalidDataError
from widegap.report._wording import clip, counted

MOST_ROWS = 200_000  # that one action names: the page sends them in a request of 4 MiB
MOST_CLUSTERS = 1_000  # nobody can look at more
NAME_LENGTH = 80  # of a cluster, so that it fits on the map
LEFT = 0.1  # of a cluster's rows: if no more stay than that, the cluster is junk as a whole
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


class Together(Correction):
    """Rows belong to one cluster."""

    kind = "together"
    fields = {"rows": rules.TWO_ROWS}
    optional = {"asked": rules.FLAG}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        return {"rows": _rows(clusters, asked, 2), **_asked(asked)}

    def constrain(self, draft: Draft, data: Data) -> None:
        first, *others = data["rows"]
        draft.link(must=[(first, row) for row in others])

    def words(self, data: Data, words: Words) -> str:
        return words.rows(data["rows"], "belong together")


class Apart(Correction):
    """Rows belong to different clusters, each to another."""

    kind = "apart"
    fields = {"rows": rules.TWO_ROWS}
    optional = {"asked": rules.FLAG}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        most, rows = max(2, clusters.k), asked.get("rows")
        if isinstance(rows, list) and len(set(map(str, rows))) > most:
            raise InvalidDataError(
                f"{len(rows)} rows cannot all be in different clusters, as there are {clusters.k}; select two."
            )
        return {"rows": _rows(clusters, asked, 2, most), **_asked(asked)}

    def constrain(self, draft: Draft, data: Data) -> None:
        draft.link(cannot=combinations(data["rows"], 2))

    def words(self, data: Data, words: Words) -> str:
        return words.rows(data["rows"], "do not belong together")


class Links(Correction):
    """Pairs of rows that belong together, or apart."""

    kind = "links"
    fields = {"must_link": rules.LINKS, "cannot_link": rules.LINKS}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        for name, rule in self.fields.items():
            if not rule.holds(asked.get(name), (), clusters.n_rows):
                raise InvalidDataError(f"{name}={asked.get(name)!r:.40} must be {rule.words}.")
        return {name: asked[name] for name in self.fields}

    def constrain(self, draft: Draft, data: Data) -> None:
        draft.link(*([(a, b) for a, b in data[name]] for name in self.fields))

    def words(self, data: Data, words: Words) -> str:
        kinds = (("must_link", "must-link"), ("cannot_link", "cannot-link"))
        return " and ".join(counted(len(data[name]), word) for name, word in kinds if data[name])


class Assign(Correction):
    """Rows belong to a cluster, or to a new one; a later statement about a row replaces an earlier.

    ``settled`` rows are those that a merge or a split put there, in a model that was opened.
    """

    kind = "is"
    fields = {"rows": rules.ROWS, "cluster": rules.KEY}
    optional = {"new": rules.FLAG, "settled": rules.FLAG}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        rows = _rows(clusters, asked, 1)
        if asked.get("cluster") != "new":
            return {"rows": rows, "cluster": _key(clusters, asked.get("cluster"))}
        return {"rows": rows, "cluster": _new_key(clusters), "new": True}

    def constrain(self, draft: Draft, data: Data) -> None:
        layer = draft.settled if data.get("settled") else draft.by_hand
        layer.update(dict.fromkeys(data["rows"], data["cluster"]))
        draft.junk.difference_update(data["rows"])

    def added_clusters(self, data: Data) -> int:
        return int(bool(data.get("new")))

    def words(self, data: Data, words: Words) -> str:
        name = words.clusters([data["cluster"]])
        why = " by a merge or a split" if data.get("settled") else ""
        return words.rows(data["rows"], f"are {name}{why}", f"is {name}{why}")


class Junk(Correction):
    """Rows belong to no cluster; clusters that are gone with them are not replaced."""

    kind = "junk"
    fields = {"rows": rules.ROWS}
    optional = {"gone": rules.LESS}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        rows = _rows(clusters, asked, 1, max(1, clusters.n_rows // 2))
        keys = clusters.keys
        before, after = (np.bincount(part[part >= 0], minlength=1) for part in (keys, np.delete(keys, rows)))
        after = np.pad(after, (0, len(before) - len(after)))
        gone = int(np.count_nonzero((before > 0) & (after < LEFT * before)))
        return {"rows": rows, **({"gone": gone} if gone else {})}

    def constrain(self, draft: Draft, data: Data) -> None:
        draft.junk.update(data["rows"])

    def added_clusters(self, data: Data) -> int:
        return -int(data.get("gone", 0))

    def words(self, data: Data, words: Words) -> str:
        return words.rows(data["rows"], "are junk", "is junk")


class Merge(Correction):
    """Clusters are one: all their rows go into the first of them, as ``widegap refine --merge`` does it."""

    kind = "merge"
    fields = {"clusters": rules.KEYS, "rows": rules.ROWS}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        given = asked.get("clusters")
        if not isinstance(given, list) or len({str(key) for key in given}) < 2:
            raise InvalidDataError(f"clusters={given!r:.40} must name two clusters or more.")
        keys = sorted({_key(clusters, key) for key in given})
        return {"clusters": keys, "rows": np.flatnonzero(np.isin(clusters.keys, keys)).tolist()}

    def constrain(self, draft: Draft, data: Data) -> None:
        gone, kept = set(data["clusters"]), min(data["clusters"])
        for layer in (draft.by_hand, draft.settled):
            layer.update({row: kept for row, key in layer.items() if key in gone})
        draft.settled.update(dict.fromkeys(data["rows"], kept))

    def added_clusters(self, data: Data) -> int:
        return 1 - len(data["clusters"])

    def words(self, data: Data, words: Words) -> str:
        return f"{words.clusters(data['clusters'])} are one cluster"


class Split(Correction):
    """A cluster is two: typical rows of its parts stand for them."""

    kind = "split"
    fields = {"cluster": rules.KEY, "new": rules.KEY, "parts": rules.PARTS}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        key = _key(clusters, asked.get("cluster"))
        inside = np.flatnonzero(clusters.keys == key)
        if len(inside) < 4:
            raise InvalidDataError(f"This cluster has {len(inside)} rows; splitting needs at least four.")
        return {"cluster": key, "new": _new_key(clusters), "parts": clusters.halves(inside)}

    def constrain(self, draft: Draft, data: Data) -> None:
        draft.settled = {row: key for row, key in draft.settled.items() if key != data["cluster"]}
        for key, part in zip((data["cluster"], data["new"]), data["parts"], strict=True):
            draft.settled.update(dict.fromkeys(part, key))

    def added_clusters(self, data: Data) -> int:
        return 1

    def words(self, data: Data, words: Words) -> str:
        return f"{words.clusters([data['cluster']])} is two clusters"


class Slide(Action):
    """Another number of clusters of the same fit."""

    kind = "k"
    fields = {"k": rules.COUNT}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        k, reach = asked.get("k"), clusters.reach
        if type(k) is not int or k not in reach:
            raise InvalidDataError(f"k={k!r:.40} must be a whole number from {reach[0]} to {reach[-1]}.")
        return {"k": k}

    def follow(self, state: State, event: Event) -> State:
        return replace(state, k=event.data["k"], wanted=None)


class Number(Action):
    """The number of clusters that the next fit is to have."""

    kind = "number"
    fields = {"k": rules.COUNT}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        k, most = asked.get("k"), min(MOST_CLUSTERS, clusters.n_rows)
        if type(k) is not int or not 1 <= k <= most:
            raise InvalidDataError(f"k={k!r:.40} must be a whole number from 1 to {most}.")
        return {"k": k}

    def follow(self, state: State, event: Event) -> State:
        return replace(state, wanted=event.data["k"])


class Rename(Action):
    """A name for a cluster."""

    kind = "rename"
    fields = {"cluster": rules.KEY, "name": rules.TEXT}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        name = asked.get("name")
        if not isinstance(name, str):
            raise InvalidDataError(f"name={name!r:.40} must be a text.")
        return {"cluster": _key(clusters, asked.get("cluster")), "name": clip(" ".join(name.split()), NAME_LENGTH)}

    def follow(self, state: State, event: Event) -> State:
        return replace(state, names={**state.names, event.data["cluster"]: event.data["name"]})


class Drop(Action):
    """A correction is taken back, whenever it was made."""

    kind = "drop"
    fields = {"statement": rules.EARLIER}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        number = asked.get("statement")
        if type(number) is not int or number not in [said.number for said in clusters.statements]:
            raise InvalidDataError(f"statement={number!r:.40} is none of those that were made.")
        return {"statement": number}

    def follow(self, state: State, event: Event) -> State:
        kept = [said for said in state.statements if said.number != event.data["statement"]]
        return replace(state, statements=kept)


class Skip(Action):
    """A question is passed over."""

    kind = "skip"
    fields = {"rows": rules.ROWS}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        return {"rows": _rows(clusters, asked, 1, 2)}

    def follow(self, state: State, event: Event) -> State:
        return replace(state, skipped=[*state.skipped, event.data["rows"]])


class Undo(Action):
    """The last action is undone; see ``History``."""

    kind = "undo"


class Redo(Action):
    """The action that was undone last is done again; see ``History``."""

    kind = "redo"


class Again(Action):
    """A fit that follows the corrections; a workspace makes it, nobody sends it."""

    kind = "again"
    fields = {
        "parent": rules.FIT,
        "using": rules.ALL_EARLIER,
        "k": rules.COUNT_OR_NONE,
        "shown": rules.COUNT,
        "labels": rules.TEXT,
    }
    optional = {"notes": rules.TEXTS}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        raise InvalidDataError(_no_action(self.kind))

    def follow(self, state: State, event: Event) -> State:
        return replace(state, fit=event.number, k=None, wanted=None)


CORRECTIONS: dict[str, Correction] = {
    one.kind: one for one in (Together(), Apart(), Links(), Assign(), Junk(), Merge(), Split())
}
ACTIONS: dict[str, Action] = {
    **CORRECTIONS,
    **{one.kind: one for one in (Slide(), Number(), Rename(), Drop(), Skip(), Again(), Undo(), Redo())},
}


def checked(clusters: Clusters, kind: str, asked: Any) -> Data:
    """What an event of this kind holds; refuses what makes no sense."""
    if kind not in ACTIONS:
        raise InvalidDataError(_no_action(kind))
    if not isinstance(asked, dict):
        raise InvalidDataError(f"An action takes an object, not {asked!r:.40}.")
    return ACTIONS[kind].check(clusters, asked)


def check_saved(event: Event, before: Sequence[Event], n_rows: int) -> None:
    """Refuse an event that no workspace on so many rows would have saved after these."""
    action = ACTIONS.get(event.kind)
    if action is None:
        raise InvalidDataError(f"Action {event.number} is no event of a session: {event.kind!r:.40} is not known.")
    optional = {**action.optional, "opening": rules.FLAG}
    given = {name: rule for name, rule in optional.items() if name in event.data}
    for name, rule in {**action.fields, **given}.items():
        if name not in event.data or not rule.holds(event.data[name], before, n_rows):
            raise InvalidDataError(
                f"Action {event.number} of the session ({event.kind}): {name}={event.data.get(name)!r:.40} must be "
                f"{rule.words}. Restore the file as it was saved, or start a new session."
            )


def state_of(events: Iterable[Event], opening_names: Mapping[int, str] | None = None) -> State:
    """The state after some active events; ``opening_names`` are those of the model that was opened."""
    state = State(names=dict(opening_names or {}))
    for event in events:
        state = ACTIONS[event.kind].follow(state, event)
    return state


def constraints_of(statements: Iterable[Statement]) -> Constraints:
    """What the corrections mean together."""
    draft = Draft()
    for said in statements:
        CORRECTIONS[said.kind].constrain(draft, said.data)
    return draft.finished()


def count_after(statements: Iterable[Statement], k: int) -> int:
    """How many clusters are wanted after corrections that no fit has seen yet."""
    return max(1, k + sum(CORRECTIONS[said.kind].added_clusters(said.data) for said in statements))


def _no_action(kind: str) -> str:
    known = ", ".join(name for name in ACTIONS if name != Again.kind)
    return f"{kind!r:.40} is no action; there are {known}."


def _rows(clusters: Clusters, asked: Data, least: int, most: int = MOST_ROWS) -> list[int]:
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


def _key(clusters: Clusters, value: Any) -> int:
    keys = clusters.cluster_keys
    if type(value) is not int or value not in keys:
        raise InvalidDataError(f"cluster={value!r:.40} is none of the clusters {keys[:20]}.")
    return value


def _new_key(clusters: Clusters) -> int:
    """The least key that nothing has."""
    taken = {*clusters.cluster_keys}
    for said in clusters.statements:
        taken |= {said.data.get("cluster"), said.data.get("new"), *said.data.get("clusters", ())}
    return min(set(range(len(taken) + 1)) - taken)


def _asked(asked: Data) -> Data:
    return {"asked": True} if asked.get("asked") is True else {}
