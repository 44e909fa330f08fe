"""Questions to the user: rows whose label would say most about other rows.

Rows are chosen one after the other, each for what its answer adds to the answers before:

    gain(i)      trust(i) sum_j worth(j) max(0, reach(i, j) - covered(j)),
    covered(j)   max of reach(a, j) over asked rows a
    worth(j)     LEAST_WORTH + doubt(j), 0 where the label is known
    doubt(j)     1 - (share of its first cluster - share of its second), from 0 to 1
    reach(i, j)  how much of a label of row i comes to row j (``features/_label_spreading.py``)
    trust(i)     min(1, HUB / h_i), h_i how often row i is a neighbour of others, against the mean

Doubt alone would ask along one border again and again, and about rows that nothing depends on; reach alone would ask
about what is clear. A *hub* is a neighbour of rows of all kinds, as short documents are, so that its label reaches many
and says little about them. The first questions give names, one to each cluster without a label that is not small: of
its rows the one that gains most, which is a typical row of the part of the cluster that is least certain. Candidates
are one row of every group that the search formed, the one with the most doubt in reach, and a typical row of every
cluster that is to be named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from widegap._types import Floats, Labels, Mask
from widegap.exceptions import InvalidDataError
from widegap.features._label_spreading import Spread

LEAST_WORTH = 0.1  # worth of a row without doubt; not tuned
HUB = 3.0  # times as often a neighbour as rows are in the mean: from here on, a label is trusted less
SMALL_CLUSTER = 0.3  # of the mean size: clusters below it are not named for their own sake
LEAST_CANDIDATES = 150  # rows that are compared with each other, at least
MOST_ASKED = 300  # answers whose reach is followed; of more, evenly spaced ones


@dataclass(frozen=True)
class Question:
    """A row whose label is asked for.

    Attributes
    ----------
    row : int
        Its number among the fitted rows.
    candidates : tuple of int
        Clusters that it may belong to, the likeliest first: two, or one where a cluster is to be named.
    examples : tuple of int
        A typical row of each candidate, to compare with. ``(row, examples[0])`` is a pair for ``must_link`` if the
        two belong together, for ``cannot_link`` if not.
    doubt : float
        How undecided the search is about the row, from 0 to 1.
    """

    row: int
    candidates: tuple[int, ...]
    examples: tuple[int, ...]
    doubt: float


@dataclass(frozen=True)
class Doubts:
    """Likely clusters of the searched rows, and how far an answer would reach.

    Attributes
    ----------
    belief : ndarray of shape (rows, k)
        Share of each cluster, rows of sum 1.
    labels : ndarray of shape (rows,)
        Clusters.
    settled : ndarray of shape (rows,)
        Whether the label is known.
    named : sequence of k
        Whether a cluster has a label.
    centrality : ndarray of shape (rows,)
        How many rows have a row as their neighbour, by weight.
    groupings : list of ndarray of shape (rows,)
        Groups that the search formed, in all of its ways.
    spread : Spread
        How labels spread.
    first_copy : ndarray of shape (rows,)
        The first copy of every row; weights make several copies.
    own : ndarray of shape (rows,) or None
        Whether the user has the row: after an update remembered rows are neither asked about nor shown. None: all.
    """

    belief: Floats
    labels: Labels
    settled: Any
    named: Sequence[bool]
    centrality: Floats
    groupings: list[Labels]
    spread: Spread
    first_copy: Any
    own: Mask | None = None

    @cached_property
    def at_hand(self) -> Mask:
        """Which rows the user has."""
        return np.ones(len(self.labels), bool) if self.own is None else self.own

    @cached_property
    def order(self) -> Any:
        """The two likeliest clusters of every row, (rows, 2)."""
        return np.argsort(-self.belief, axis=1, kind="stable")[:, :2]

    @cached_property
    def doubt(self) -> Floats:
        """How undecided every row is, 0 where its label is known."""
        rows, k = np.arange(len(self.belief)), self.belief.shape[1]
        second = self.belief[rows, self.order[:, -1]] if k > 1 else 0.0
        return np.where(self.settled, 0.0, 1 - (self.belief[rows, self.order[:, 0]] - second))

    @cached_property
    def worth(self) -> Floats:
        """How much the label of every row is worth."""
        return np.where(self.settled, 0.0, LEAST_WORTH + self.doubt)

    @cached_property
    def trust(self) -> Floats:
        """How much the label of a row is worth for the rows that it reaches."""
        hubs = self.centrality / np.maximum(self.centrality.mean(), np.finfo(np.float64).tiny)
        return np.minimum(1, HUB / np.maximum(hubs, 1))

    @cached_property
    def unnamed(self) -> list[int]:
        """Clusters without a name, not small, whose typical row is not known."""
        large = np.bincount(self.labels, minlength=len(self.typical)) >= SMALL_CLUSTER * len(self.labels) / len(
            self.typical
        )
        open_ = [row >= 0 and not self.settled[row] for row in self.typical]
        return [p for p in range(len(large)) if large[p] and open_[p] and not self.named[p]]

    @cached_property
    def typical(self) -> list[int]:
        """A central row of each cluster with little doubt; -1 for a cluster without rows at hand."""
        clusters = (np.flatnonzero((self.labels == p) & self.at_hand) for p in range(self.belief.shape[1]))
        return [self._best_row(rows, self.centrality * (1 - self.doubt / 2)) for rows in clusters]

    def candidates(self, most: int) -> list[int]:
        """A row of every group, those of the groups worth most first, without known ones; and of unnamed clusters."""
        open_ = self.at_hand & ~self.settled
        in_reach = self.spread.spread_values(self.worth) * self.trust * open_
        worth: dict[int, float] = {}
        for groups in self.groupings:
            sums = np.bincount(groups, self.worth)
            rows_of = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
            for total, rows in zip(sums.tolist(), rows_of, strict=True):
                row = self._best_row(rows, in_reach)
                worth[row] = max(total, worth.get(row, 0.0))
        found = [row for row in sorted(worth, key=lambda row: (-worth[row], row)) if open_[row]][:most]
        return list(dict.fromkeys([*found, *(self.typical[p] for p in self.unnamed)]))

    def _best_row(self, rows: Any, values: Floats) -> int:
        return int(self.first_copy[rows[np.argmax(values[rows])]]) if len(rows) else -1


def choose_questions(n: int, doubts: Doubts) -> list[Question]:
    """Up to n questions about the searched rows, numbered among these."""
    coverage = Coverage.of(doubts, max(LEAST_CANDIDATES, 3 * n))
    names: dict[int, int] = {}
    for _ in doubts.unnamed[:n]:
        row = coverage.take([p for p in doubts.unnamed if p not in names])
        names[int(doubts.labels[row])] = row
    found = [coverage.take() for _ in range(min(n - len(names), len(coverage.left)))]
    shown = [[p for p in doubts.order[row].tolist() if doubts.typical[p] >= 0] for row in found]
    asked = [(names[p], (p,)) for p in sorted(names)] + list(zip(found, map(tuple, shown), strict=True))
    return [
        Question(row, clusters, tuple(doubts.typical[p] for p in clusters), float(doubts.doubt[row]))
        for row, clusters in asked
    ]


@dataclass
class Coverage:
    """Rows that may be asked about, their reach, what is covered, and which of them are left."""

    doubts: Doubts
    rows: Any
    reach: Floats
    covered: Floats
    left: list[int]

    @classmethod
    def of(cls, doubts: Doubts, most: int) -> "Coverage":
        rows, known = doubts.candidates(most), np.flatnonzero(doubts.settled)
        answered = known[:: max(1, -(-len(known) // MOST_ASKED))].tolist()
        reach = doubts.spread.reach(np.array([*rows, *answered], np.int64))
        covered = reach[len(rows) :].max(axis=0, initial=0.0)
        return cls(doubts, np.array(rows, np.int64), reach, covered, list(range(len(rows))))

    def take(self, clusters: Sequence[int] | None = None) -> int:
        """The row of the largest gain, of some clusters or of all, which is then covered."""
        among = self.left
        if clusters is not None:
            among = [place for place in among if self.doubts.labels[self.rows[place]] in clusters]
        gains = np.maximum(self.reach[among] - self.covered, 0) @ self.doubts.worth
        gains *= self.doubts.trust[self.rows[among]]
        best = among[int(np.argmax(gains))]
        self.left.remove(best)
        self.covered = np.maximum(self.covered, self.reach[best])
        return int(self.rows[best])


def add_answers(known: list[Any], questions: Sequence[Question], answers: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Labels known so far (None where there is none) and the answers; None leaves a question open."""
    if len(answers) != len(questions):
        raise InvalidDataError(
            f"{len(answers)} answers were given to {len(questions)} questions; pass one for each, None where it is "
            "not known."
        )
    labels = np.array([*known, None], dtype=object)[:-1]  # None keeps numpy from making a table of it
    for question, answer in zip(questions, answers, strict=True):
        if answer is not None:
            labels[question.row] = answer
    return labels
