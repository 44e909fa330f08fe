"""Every correction, one class each: a further one is a class here, in ``CORRECTIONS``, and a button on the page.

What comes from outside becomes plain data of known kinds before it counts (``check``), and is checked again when it
comes from a file (``fields``). ``constrain`` says what it means for the next fit, ``words`` what people read.
"""

from itertools import combinations

import numpy as np

from widegap._wording import counted
from widegap.corrections import _rules as rules
from widegap.corrections._action import Clusters, Correction, Data, Words, asked_key, asked_rows, new_key
from widegap.corrections._constraints import Draft
from widegap.exceptions import InvalidDataError

LEFT = 0.1  # of a cluster's rows: if no more stay than that, the cluster is junk as a whole


class Together(Correction):
    """Rows belong to one cluster."""

    kind = "together"
    fields = {"rows": rules.TWO_ROWS}
    optional = {"asked": rules.FLAG}

    def check(self, clusters: Clusters, asked: Data) -> Data:
        return {"rows": asked_rows(clusters, asked, 2), **_asked(asked)}

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
        return {"rows": asked_rows(clusters, asked, 2, most), **_asked(asked)}

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
        rows = asked_rows(clusters, asked, 1)
        if asked.get("cluster") != "new":
            return {"rows": rows, "cluster": asked_key(clusters, asked.get("cluster"))}
        return {"rows": rows, "cluster": new_key(clusters), "new": True}

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
        rows = asked_rows(clusters, asked, 1, max(1, clusters.n_rows // 2))
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
        keys = sorted({asked_key(clusters, key) for key in given})
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
        key = asked_key(clusters, asked.get("cluster"))
        inside = np.flatnonzero(clusters.keys == key)
        if len(inside) < 4:
            raise InvalidDataError(f"This cluster has {len(inside)} rows; splitting needs at least four.")
        return {"cluster": key, "new": new_key(clusters), "parts": clusters.halves(inside)}

    def constrain(self, draft: Draft, data: Data) -> None:
        draft.settled = {row: key for row, key in draft.settled.items() if key != data["cluster"]}
        for key, part in zip((data["cluster"], data["new"]), data["parts"], strict=True):
            draft.settled.update(dict.fromkeys(part, key))

    def added_clusters(self, data: Data) -> int:
        return 1

    def words(self, data: Data, words: Words) -> str:
        return f"{words.clusters([data['cluster']])} is two clusters"


CORRECTIONS: dict[str, Correction] = {
    one.kind: one for one in (Together(), Apart(), Links(), Assign(), Junk(), Merge(), Split())
}


def _asked(asked: Data) -> Data:
    return {"asked": True} if asked.get("asked") is True else {}
