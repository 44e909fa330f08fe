"""Every correction, one class each: a new one is a class here, in ``CORRECTIONS``.

``check`` turns a request into plain data of known kinds, ``fields`` are checked again when the data come from a file,
``constrain`` adds the constraints for the next fit, and ``words`` is what people read. The page makes a button for
every correction with a ``button``.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from widegap._wording import counted
from widegap.corrections import _rules as rules
from widegap.corrections._action import (
    Clusters,
    Correction,
    EventData,
    Naming,
    asked_key,
    asked_rows,
    new_key,
)
from widegap.corrections._constraints import Draft
from widegap.corrections._events import Event, LogState
from widegap.exceptions import InvalidDataError

LEFT = 0.1  # of a cluster's rows: with fewer left, people mean the whole cluster, and the next fit has one fewer


class Together(Correction):
    """Rows belong to one cluster."""

    kind = "together"
    button, shortcut = "Keep together", "t"
    fields = {"rows": rules.TWO_ROWS}
    optional = {"asked": rules.FLAG}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        return {"rows": asked_rows(clusters, asked, 2), **_asked(asked)}

    def constrain(self, draft: Draft, data: EventData) -> None:
        first, *rest = data["rows"]
        draft.link(must=[(first, row) for row in rest])

    def words(self, data: EventData, naming: Naming) -> str:
        return f"linked {naming.rows(data['rows'])}"


class Apart(Correction):
    """Rows belong to different clusters, each to another."""

    kind = "apart"
    button, shortcut = "Keep apart", "d"
    fields = {"rows": rules.TWO_ROWS}
    optional = {"asked": rules.FLAG}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        most, rows = max(2, clusters.k), asked.get("rows")
        if isinstance(rows, list) and len(set(map(str, rows))) > most:
            raise InvalidDataError(
                f"{len(rows)} rows cannot all be in different clusters: there are only {clusters.k}. Select two."
            )
        return {"rows": asked_rows(clusters, asked, 2, most), **_asked(asked)}

    def constrain(self, draft: Draft, data: EventData) -> None:
        draft.link(cannot=combinations(data["rows"], 2))

    def words(self, data: EventData, naming: Naming) -> str:
        return f"separated {naming.rows(data['rows'])}"


class Links(Correction):
    """Pairs of rows that belong together, or apart."""

    kind = "links"
    fields = {"must_link": rules.LINKS, "cannot_link": rules.LINKS}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        for name, rule in self.fields.items():
            if not rule.holds(asked.get(name), (), clusters.n_rows):
                raise InvalidDataError(f"{name}={asked.get(name)!r:.40} must be {rule.words}.")
        return {name: asked[name] for name in self.fields}

    def constrain(self, draft: Draft, data: EventData) -> None:
        draft.link(*([(a, b) for a, b in data[name]] for name in self.fields))

    def words(self, data: EventData, naming: Naming) -> str:
        kinds = (("must_link", "must-link"), ("cannot_link", "cannot-link"))
        return f"added {' and '.join(counted(len(data[name]), word) for name, word in kinds if data[name])}"


class Assign(Correction):
    """Rows belong to a cluster, or to a new one; a later correction of a row replaces an earlier.

    ``settled`` rows are those that a merge or a split put there, in older model files.
    """

    kind = "is"
    fields = {"rows": rules.SOME_ROWS, "cluster": rules.KEY}
    optional = {"new": rules.FLAG, "settled": rules.FLAG}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        rows = asked_rows(clusters, asked, 1)
        if asked.get("cluster") != "new":
            return {"rows": rows, "cluster": asked_key(clusters, asked.get("cluster"))}
        return {"rows": rows, "cluster": new_key(clusters), "new": True}

    def constrain(self, draft: Draft, data: EventData) -> None:
        layer = draft.settled if data.get("settled") else draft.by_hand
        layer.update(dict.fromkeys(data["rows"], data["cluster"]))
        draft.junk.difference_update(data["rows"])

    def added_clusters(self, data: EventData) -> int:
        return int(bool(data.get("new")))

    def words(self, data: EventData, naming: Naming) -> str:
        why = " by a merge or a split" if data.get("settled") else ""
        return f"assigned {naming.rows(data['rows'])} to {naming.clusters([data['cluster']])}{why}"


class Junk(Correction):
    """Rows belong to no cluster; a cluster that loses almost all its rows is not replaced."""

    kind = "junk"
    button, shortcut = "Mark as junk", "j"
    fields = {"rows": rules.SOME_ROWS}
    optional = {"gone": rules.LESS}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        rows = asked_rows(clusters, asked, 1, max(1, clusters.n_rows - 1))
        keys = clusters.corrected_keys
        before, after = (np.bincount(part[part >= 0], minlength=1) for part in (keys, np.delete(keys, rows)))
        after = np.pad(after, (0, len(before) - len(after)))
        gone = int(np.count_nonzero((before > 0) & (after < LEFT * before)))
        return {"rows": rows, **({"gone": gone} if gone else {})}

    def constrain(self, draft: Draft, data: EventData) -> None:
        draft.junk.update(data["rows"])

    def added_clusters(self, data: EventData) -> int:
        return -int(data.get("gone", 0))

    def words(self, data: EventData, naming: Naming) -> str:
        return f"marked {naming.rows(data['rows'])} as junk"


class Merge(Correction):
    """Clusters become one: all their rows go into the first, which takes the first name among them."""

    kind = "merge"
    fields = {"clusters": rules.KEYS, "rows": rules.SOME_ROWS}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        named = asked.get("clusters")
        if not isinstance(named, list) or len({str(key) for key in named}) < 2:
            raise InvalidDataError(f"clusters={named!r:.40} must name two clusters or more.")
        keys = sorted({asked_key(clusters, key) for key in named})
        if len(keys) < 2:
            raise InvalidDataError(f"clusters={named!r:.40} are merged already.")
        rows = np.flatnonzero(np.isin(clusters.corrected_keys, keys)).tolist()
        if not rows:
            raise InvalidDataError(f"clusters={named!r:.40} have no rows left to merge.")
        return {"clusters": keys, "rows": rows}

    def follow(self, state: LogState, event: Event) -> LogState:
        keys = event.data["clusters"]
        name = next((state.names[key] for key in keys if state.names.get(key)), None)
        names = state.names if name is None else {**state.names, keys[0]: name}
        return super().follow(replace(state, names=names), event)

    def constrain(self, draft: Draft, data: EventData) -> None:
        kept, *gone = data["clusters"]
        for layer in (draft.by_hand, draft.settled):
            layer.update({row: kept for row, key in layer.items() if key in gone})
        draft.settled.update(dict.fromkeys(data["rows"], kept))

    def added_clusters(self, data: EventData) -> int:
        return 1 - len(data["clusters"])

    def words(self, data: EventData, naming: Naming) -> str:
        return f"merged {naming.clusters(data['clusters'])}"


class SplitInTwo(Correction):
    """A cluster becomes two: the rows of the first part stay, those of the second go to a new cluster."""

    kind = "split"
    fields = {"cluster": rules.KEY, "new": rules.KEY, "parts": rules.PARTS}

    def check(self, clusters: Clusters, asked: EventData) -> EventData:
        key = asked_key(clusters, asked.get("cluster"))
        inside = np.flatnonzero(clusters.corrected_keys == key)
        if len(inside) < 2:
            raise InvalidDataError(f"Cluster {key} has {counted(len(inside), 'row')}; a split needs at least two.")
        parts = clusters.two_parts(inside)
        if not parts[1]:
            raise InvalidDataError(
                f"Cluster {key} cannot be split: its {len(inside)} rows are equal, or all of them are assigned to it."
            )
        return {"cluster": key, "new": new_key(clusters), "parts": parts}

    def constrain(self, draft: Draft, data: EventData) -> None:
        draft.settled = {row: key for row, key in draft.settled.items() if key != data["cluster"]}
        for key, part in zip((data["cluster"], data["new"]), data["parts"], strict=True):
            draft.settled.update(dict.fromkeys(part, key))

    def added_clusters(self, data: EventData) -> int:
        return 1

    def words(self, data: EventData, naming: Naming) -> str:
        return f"split {naming.clusters([data['cluster']])} in two"


CORRECTIONS: dict[str, Correction] = {
    one.kind: one for one in (Together(), Apart(), Links(), Assign(), Junk(), Merge(), SplitInTwo())
}


def _asked(asked: EventData) -> EventData:
    return {"asked": True} if asked.get("asked") is True else {}
