"""What all corrections together mean for ``fit``: known labels, links and junk, free of contradictions."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from widegap.constraints._units import read_constraints

Pairs = np.ndarray[Any, np.dtype[np.int64]]


@dataclass
class Draft:
    """Constraints while corrections are gone through, one after the other.

    Attributes
    ----------
    by_hand, settled : dict
        Key of the cluster of rows: those that a person put there, and those that a merge or a split put there. A later
        correction of the whole cluster, or a link, may part the latter.
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

    def finished(self) -> "Constraints":
        """What it comes to; junk rows are in no other constraint."""
        known = {row: key for row, key in {**self.settled, **self.by_hand}.items() if row not in self.junk}
        settled = frozenset(row for row in known if row not in self.by_hand)
        must, cannot = (_pairs(pairs, self.junk) for pairs in (self.must, self.cannot))
        return Constraints(known, must, cannot, np.array(sorted(self.junk), dtype=np.int64), settled)


@dataclass(frozen=True)
class Constraints:
    """All corrections together.

    Attributes
    ----------
    known : dict
        Key of the cluster of each row that is known.
    must_link, cannot_link : ndarrays of shape (m, 2)
        Pairs of rows.
    junk : ndarray
        Rows that belong nowhere.
    settled : frozenset
        Rows among the known ones that merges and splits have put into their clusters, not a person one by one.
    """

    known: dict[int, int]
    must_link: Pairs
    cannot_link: Pairs
    junk: np.ndarray[Any, np.dtype[np.int64]]
    settled: frozenset[int] = frozenset()

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

    def check(self, numbers: np.ndarray[Any, Any]) -> None:
        """Refuse corrections that contradict each other, with the shortest chain that shows why.

        ``numbers`` are what people call the rows; the message names them so.
        """
        named = int(numbers.max(initial=0)) + 1
        known = np.full(named, -1)
        known[numbers[list(self.known)]] = list(self.known.values())
        links = {"must_link": numbers[self.must_link], "cannot_link": numbers[self.cannot_link]}
        read_constraints(named, None, known=known if self.known else None, **links)


def _pairs(pairs: list[tuple[int, int]], without: set[int]) -> Pairs:
    kept = {(min(a, b), max(a, b)) for a, b in pairs if a not in without and b not in without}
    return np.array(sorted(kept), dtype=np.int64).reshape(-1, 2)
