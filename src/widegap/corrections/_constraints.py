"""What all corrections together mean for ``fit``: known labels, links and junk, free of contradictions."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from widegap._types import Ints
from widegap.constraints._units import read_constraints


@dataclass
class Draft:
    """Constraints while corrections are replayed, one after the other.

    Attributes
    ----------
    by_hand, settled : dict
        Key of the cluster of rows: those that a person put there, and those that a merge or a split put there. A later
        correction of the whole cluster, or a link, may move the latter.
    must, cannot : list of pairs of rows
    junk : set of rows
    """

    by_hand: dict[int, int] = field(default_factory=dict)
    settled: dict[int, int] = field(default_factory=dict)
    must: list[tuple[int, int]] = field(default_factory=list)
    cannot: list[tuple[int, int]] = field(default_factory=list)
    junk: set[int] = field(default_factory=set)

    def link(self, must: Iterable[tuple[int, int]] = (), cannot: Iterable[tuple[int, int]] = ()) -> None:
        """Add links; their rows are where the links put them, no longer where a merge did."""
        must, cannot = [*must], [*cannot]
        self.must += must
        self.cannot += cannot
        for row in {row for pair in (*must, *cannot) for row in pair}:
            self.settled.pop(row, None)

    def finished(self) -> "KeyedConstraints":
        """The constraints; junk rows are in no other one."""
        known = {row: key for row, key in {**self.settled, **self.by_hand}.items() if row not in self.junk}
        settled = frozenset(row for row in known if row not in self.by_hand)
        must, cannot = (_pairs(pairs, self.junk) for pairs in (self.must, self.cannot))
        return KeyedConstraints(known, must, cannot, np.array(sorted(self.junk), dtype=np.int64), settled)


@dataclass(frozen=True)
class KeyedConstraints:
    """All corrections together; clusters are named by their keys.

    Attributes
    ----------
    known : dict
        Key of the cluster of each row whose cluster is known.
    must_link, cannot_link : ndarrays of shape (m, 2)
        Pairs of rows.
    junk : ndarray
        Rows that belong to no cluster.
    settled : frozenset
        Rows among the known ones that merges and splits have put into their clusters, not a person one by one.
    """

    known: dict[int, int]
    must_link: Ints
    cannot_link: Ints
    junk: Ints
    settled: frozenset[int] = frozenset()

    @property
    def by_hand(self) -> dict[int, int]:
        """The known rows that a person assigned one by one."""
        return {row: key for row, key in self.known.items() if row not in self.settled}

    def known_labels(self, n: int) -> Ints | None:
        """The key of every row, -1 where it is not known; None if none is."""
        return self.corrected(np.full(n, -1)) if self.known else None

    def corrected(self, keys: Ints) -> Ints:
        """Keys of all rows after the corrections, of which those before are given; -1 for none."""
        found = np.array(keys, np.int64)
        found[list(self.known)] = list(self.known.values())
        found[self.junk] = -1
        return found

    @property
    def rows(self) -> Ints:
        """All rows in any of the constraints."""
        links = [self.must_link.ravel(), self.cannot_link.ravel(), self.junk, np.array([*self.known], np.int64)]
        return np.unique(np.concatenate(links))

    def with_anchors(self, anchors: dict[int, int]) -> "KeyedConstraints":
        """The same, and rows without a constraint stay where ``anchors`` says they are."""
        bound = set(self.rows.tolist())
        return replace(self, known={**{row: key for row, key in anchors.items() if row not in bound}, **self.known})

    def check(self, numbers: Ints) -> None:
        """Refuse corrections that contradict each other, with the shortest chain that shows why.

        ``numbers`` are what people call the rows; the message uses them.
        """
        named = int(numbers.max(initial=0)) + 1
        known = np.full(named, -1)
        known[numbers[list(self.known)]] = list(self.known.values())
        links = {"must_link": numbers[self.must_link], "cannot_link": numbers[self.cannot_link]}
        read_constraints(named, None, known=known if self.known else None, **links)


def _pairs(pairs: list[tuple[int, int]], without: set[int]) -> Ints:
    kept = {(min(a, b), max(a, b)) for a, b in pairs if a not in without and b not in without}
    return np.array(sorted(kept), dtype=np.int64).reshape(-1, 2)
