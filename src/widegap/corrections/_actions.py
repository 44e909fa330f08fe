"""Everything that a person can do besides correcting, and what follows from a log of all actions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from widegap._wording import clip
from widegap.corrections import _rules as rules
from widegap.corrections._action import Action, Clusters, Data, asked_key, asked_rows
from widegap.corrections._constraints import Constraints, Draft
from widegap.corrections._corrections import CORRECTIONS
from widegap.corrections._events import Event, State, Statement
from widegap.exceptions import InvalidDataError

MOST_CLUSTERS = 1_000  # nobody can look at more
NAME_LENGTH = 80  # of a cluster, so that it fits on the map


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
        return {"cluster": asked_key(clusters, asked.get("cluster")), "name": clip(" ".join(name.split()), NAME_LENGTH)}

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
        return {"rows": asked_rows(clusters, asked, 1, 2)}

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
