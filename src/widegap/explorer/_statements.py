"""What a person said of rows, as the arguments that ``fit`` takes, free of contradictions.

==========  ==============================  ==============================================================
kind        what the event holds            what it means for the next fit
==========  ==============================  ==============================================================
together    rows                            one cluster: must-links
apart       rows                            all in different clusters: cannot-links
is          rows, cluster (a key)           known labels; a later statement about a row replaces an earlier
junk        rows, gone                      no cluster at all; clusters that are gone with them are not replaced
merge       clusters, rows (typical ones)   known labels: the first key; one cluster fewer
split       cluster, new, parts             known labels: the key and a new one; one cluster more
==========  ==============================  ==============================================================
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from widegap.explorer._history import Statement
from widegap.problems._constraints import read_constraints

Pairs = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Constraints:
    """All statements together.

    Attributes
    ----------
    known : dict
        Key of the cluster of each row that is known.
    must_link, cannot_link : ndarrays of shape (m, 2)
        Pairs of rows.
    junk : ndarray
        Rows that belong nowhere.
    """

    known: dict[int, int]
    must_link: Pairs
    cannot_link: Pairs
    junk: np.ndarray[Any, np.dtype[np.int64]]

    def __bool__(self) -> bool:
        return bool(self.known or len(self.must_link) or len(self.cannot_link) or len(self.junk))

    def known_labels(self, n: int) -> np.ndarray[Any, np.dtype[np.int64]] | None:
        """The key of every row, -1 where it is not known; None if none is."""
        if not self.known:
            return None
        labels = np.full(n, -1)
        labels[list(self.known)] = list(self.known.values())
        return labels

    @property
    def rows(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """All rows that are spoken of."""
        links = [self.must_link.ravel(), self.cannot_link.ravel(), self.junk, np.array([*self.known], np.int64)]
        return np.unique(np.concatenate(links))

    def with_anchors(self, anchors: dict[int, int]) -> "Constraints":
        """The same, and rows that nobody spoke of stay where they are."""
        spoken = set(self.rows.tolist())
        return replace(self, known={**{row: key for row, key in anchors.items() if row not in spoken}, **self.known})

    def check(self) -> None:
        """Refuse statements that contradict each other, with the shortest chain that shows why."""
        rows = np.unique(np.concatenate([self.must_link.ravel(), self.cannot_link.ravel(), [*self.known]])).astype(int)
        known = self.known_labels(int(rows.max(initial=0)) + 1)
        if not len(rows):
            return
        # All rows up to the last that is spoken of, so that a message names them by their own numbers.
        read_constraints(int(rows.max()) + 1, None, known=known, must_link=self.must_link, cannot_link=self.cannot_link)


def constraints_of(statements: Iterable[Statement]) -> Constraints:
    """What the statements mean together; junk rows are in no other constraint."""
    known: dict[int, int] = {}
    must: list[tuple[int, int]] = []
    cannot: list[tuple[int, int]] = []
    junk: set[int] = set()
    for said in statements:
        rows = said.data.get("rows", [])
        if said.kind == "together":
            must += [(rows[0], row) for row in rows[1:]]
        elif said.kind == "apart":
            cannot += combinations(rows, 2)
        elif said.kind == "is":
            known.update(dict.fromkeys(rows, said.data["cluster"]))
            junk.difference_update(rows)
        elif said.kind == "junk":
            junk.update(rows)
        elif said.kind == "merge":
            keys = said.data["clusters"]
            known = {row: min(keys) if key in keys else key for row, key in known.items()}
            known |= {row: min(keys) for row in rows if row not in known}
        elif said.kind == "split":
            for key, part in zip((said.data["cluster"], said.data["new"]), said.data["parts"], strict=True):
                known |= {row: key for row in part if row not in known}
    known = {row: key for row, key in known.items() if row not in junk}
    return Constraints(known, _pairs(must, junk), _pairs(cannot, junk), np.array(sorted(junk), dtype=np.int64))


def count_after(statements: Iterable[Statement], k: int) -> int:
    """How many clusters are wanted after statements that no fit has seen yet."""
    for said in statements:
        if said.kind == "merge":
            k -= len(said.data["clusters"]) - 1
        elif said.kind == "junk":
            k -= said.data.get("gone", 0)
        elif said.kind == "split" or (said.kind == "is" and said.data.get("new")):
            k += 1
    return max(1, k)


def _pairs(pairs: list[tuple[int, int]], without: set[int]) -> Pairs:
    kept = {(min(a, b), max(a, b)) for a, b in pairs if a not in without and b not in without}
    return np.array(sorted(kept), dtype=np.int64).reshape(-1, 2)
