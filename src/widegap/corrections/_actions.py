"""Everything that a person can do besides correcting, and what follows from a log of actions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from widegap._wording import clip
from widegap.corrections import _rules as rules
from widegap.corrections._action import Action, Clusters, EventData, Naming, asked_key, asked_rows
from widegap.corrections._constraints import Draft, KeyedConstraints
from widegap.corrections._corrections import CORRECTIONS
from widegap.corrections._events import Event, LogState
from widegap.exceptions import InvalidDataError

MOST_ASKED_CLUSTERS = 1_000  # of the next fit: nobody can look at more
NAME_LENGTH = 80  # characters of a cluster's name: more does not fit into a column of the profile


class Slide(Action):
    """Another number of clusters of the same fit."""

    kind = "k"
    fields = {"k": rules.COUNT}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        k, reach = asked.get("k"), clusters.reach
        if type(k) is not int or k not in reach:
            raise InvalidDataError(f"k={k!r:.40} must be a whole number from {reach[0]} to {reach[-1]}.")
        return {"k": k}

    def follow(self, state: LogState, event: Event) -> LogState:
        return replace(state, k=event.data["k"], wanted=None)


class Number(Action):
    """The number of clusters of the next fit."""

    kind = "number"
    fields = {"k": rules.COUNT}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        k, most = asked.get("k"), min(MOST_ASKED_CLUSTERS, clusters.n_rows)
        if type(k) is not int or not 1 <= k <= most:
            raise InvalidDataError(f"k={k!r:.40} must be a whole number from 1 to {most}.")
        return {"k": k}

    def follow(self, state: LogState, event: Event) -> LogState:
        return replace(state, wanted=event.data["k"])


class Rename(Action):
    """A name for a cluster."""

    kind = "rename"
    fields = {"cluster": rules.KEY, "name": rules.TEXT}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        name = asked.get("name")
        if not isinstance(name, str):
            raise InvalidDataError(f"name={name!r:.40} must be a text.")
        return {"cluster": asked_key(clusters, asked.get("cluster")), "name": clip(" ".join(name.split()), NAME_LENGTH)}

    def follow(self, state: LogState, event: Event) -> LogState:
        return replace(state, names={**state.names, event.data["cluster"]: event.data["name"]})

    def words(self, data: EventData, naming: Naming) -> str:
        return f"renamed cluster {naming.number_of(data['cluster'])} to {data['name']!r}"


class Drop(Action):
    """A correction is removed, whenever it was made."""

    kind = "drop"
    fields = {"statement": rules.EARLIER}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        number = asked.get("statement")
        if type(number) is not int or number not in [event.number for event in clusters.corrections]:
            raise InvalidDataError(f"statement={number!r:.40} is not the number of a correction.")
        return {"statement": number}

    def follow(self, state: LogState, event: Event) -> LogState:
        kept = [one for one in state.corrections if one.number != event.data["statement"]]
        return replace(state, corrections=kept)


class Skip(Action):
    """A question is skipped."""

    kind = "skip"
    fields = {"rows": rules.SOME_ROWS}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        return {"rows": asked_rows(clusters, asked, 1, 2)}

    def follow(self, state: LogState, event: Event) -> LogState:
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
    optional = {"notes": rules.SOME_TEXTS}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        raise InvalidDataError(_unknown(self.kind))

    def follow(self, state: LogState, event: Event) -> LogState:
        return replace(state, fit=event.number, k=None, wanted=None)


ACTIONS: dict[str, Action] = {
    **CORRECTIONS,
    **{one.kind: one for one in (Slide(), Number(), Rename(), Drop(), Skip(), Again(), Undo(), Redo())},
}


def checked(clusters: Clusters, kind: str, asked: object) -> EventData:
    """What an event of this kind holds; refuses what makes no sense."""
    if kind not in ACTIONS:
        raise InvalidDataError(_unknown(kind))
    if not isinstance(asked, dict):
        raise InvalidDataError(f"data={asked!r:.40} must be an object.")
    return ACTIONS[kind].check(clusters, asked)


def check_saved(event: Event, before: Sequence[Event], n_rows: int) -> None:
    """Refuse an event that no workspace with this number of rows would have saved after these."""
    action = ACTIONS.get(event.kind)
    if action is None:
        raise InvalidDataError(f"Action {event.number} of the log has an unknown kind, {event.kind!r:.40}.")
    optional = {**action.optional, "opening": rules.FLAG, "words": rules.TEXT}
    present = {name: rule for name, rule in optional.items() if name in event.data}
    for name, rule in {**action.fields, **present}.items():
        if name not in event.data or not rule.holds(event.data[name], before, n_rows):
            raise InvalidDataError(
                f"Action {event.number} of the log ({event.kind}): {name}={event.data.get(name)!r:.40} must be "
                f"{rule.words}. Restore the file as it was saved, or start again without it."
            )


def state_of(events: Iterable[Event], opening_names: Mapping[int, str] | None = None) -> LogState:
    """The state after some active events; ``opening_names`` are those of the model that was opened."""
    state = LogState(names=dict(opening_names or {}))
    for event in events:
        state = ACTIONS[event.kind].follow(state, event)
    return state


def constraints_of(corrections: Iterable[Event]) -> KeyedConstraints:
    """The constraints of all corrections together."""
    draft = Draft()
    for event in corrections:
        CORRECTIONS[event.kind].constrain(draft, event.data)
    return draft.finished()


def count_after(corrections: Iterable[Event], k: int) -> int:
    """The number of clusters after corrections that no fit has followed yet."""
    return max(1, k + sum(CORRECTIONS[event.kind].added_clusters(event.data) for event in corrections))


def in_words(event: Event, naming: Naming) -> str:
    """An event in words: those that were stored with it, or those of its class."""
    stored = event.data.get("words")
    return stored if isinstance(stored, str) else ACTIONS[event.kind].words(event.data, naming)


def _unknown(kind: str) -> str:
    known = ", ".join(name for name in ACTIONS if name != Again.kind)
    return f"{kind!r:.40} is an unknown action; choose from {known}."
