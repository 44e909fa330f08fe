"""Questions to the user: rows whose label would tell most about other rows.

The first questions are for clusters without a label: their most typical row gives them a name. Then rows are chosen one
after the other, each for what its answer adds to the answers before:

    gain(i)      sum_j doubt(j) max(0, reach(i, j) - covered(j)),   covered(j) = max of reach(a, j) over asked rows a
    doubt(j)     1 - (what speaks for its first cluster - for its second), from 0 to 1
    reach(i, j)  how much of a label of row i comes to row j (``data/_spread.py``)

Doubt alone would ask along one border again and again, and about rows that nothing depends on; reach alone would ask
about what is clear. Candidates are one row of every group that the search formed: the one with the most doubt in reach.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from widegap.data._spread import Spread
from widegap.exceptions import InvalidDataError
from widegap.solvers._result import FloatArray, LabelArray

CANDIDATES = 150  # rows that are compared with each other, at least
MOST_ASKED = 300  # answers whose reach is followed; of more, some stand for all


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
    """What is believed of the searched rows, and what an answer would reach.

    Attributes
    ----------
    belief : ndarray of shape (rows, k)
        What speaks for each cluster, rows of sum 1.
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
    """

    belief: FloatArray
    labels: LabelArray
    settled: Any
    named: Sequence[bool]
    centrality: FloatArray
    groupings: list[LabelArray]
    spread: Spread

    @cached_property
    def order(self) -> Any:
        """The two clusters of every row that most speaks for, (rows, 2)."""
        return np.argsort(-self.belief, axis=1, kind="stable")[:, :2]

    @cached_property
    def doubt(self) -> FloatArray:
        """How undecided every row is, 0 where its label is known."""
        rows, k = np.arange(len(self.belief)), self.belief.shape[1]
        second = self.belief[rows, self.order[:, -1]] if k > 1 else 0.0
        return np.where(self.settled, 0.0, 1 - (self.belief[rows, self.order[:, 0]] - second))

    @cached_property
    def typical(self) -> list[int]:
        """A central row of each cluster of which there is little doubt; -1 for one without rows."""
        clusters = (np.flatnonzero(self.labels == p) for p in range(self.belief.shape[1]))
        return [_best_row(rows, self.centrality * (1 - self.doubt / 2)) for rows in clusters]

    def candidates(self, most: int) -> list[int]:
        """A row of every group, those of the groups with the most doubt first, without known ones."""
        in_reach = self.spread.near(self.doubt) * ~self.settled
        worth: dict[int, float] = {}
        for groups in self.groupings:
            sums = np.bincount(groups, self.doubt)
            rows_of = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
            for total, rows in zip(sums.tolist(), rows_of, strict=True):
                row = _best_row(rows, in_reach)
                worth[row] = max(total, worth.get(row, 0.0))
        return [row for row in sorted(worth, key=lambda row: (-worth[row], row)) if not self.settled[row]][:most]


def choose_questions(n: int, doubts: Doubts) -> list[Question]:
    """Up to n questions about the searched rows, numbered among these."""
    unnamed = [p for p, row in enumerate(doubts.typical) if row >= 0 and not doubts.named[p]]
    naming = [
        Question(row, (p,), (row,), float(doubts.doubt[row]))
        for p, row in ((p, doubts.typical[p]) for p in unnamed)
        if not doubts.settled[row]
    ][:n]
    taken = [question.row for question in naming]
    found = _telling_rows(n - len(naming), doubts, taken) if n > len(naming) else []
    clusters = [tuple(doubts.order[row].tolist()) for row in found]
    return naming + [
        Question(row, pair, tuple(doubts.typical[p] for p in pair), float(doubts.doubt[row]))
        for row, pair in zip(found, clusters, strict=True)
    ]


def _telling_rows(n: int, doubts: Doubts, taken: list[int]) -> list[int]:
    """Up to n rows of the largest gain, one after the other."""
    candidates = [row for row in doubts.candidates(max(CANDIDATES, 3 * n)) if row not in taken]
    known = np.flatnonzero(doubts.settled)
    asked = [*known[:: max(1, -(-len(known) // MOST_ASKED))].tolist(), *taken]
    reach = doubts.spread.reach(np.array([*candidates, *asked], np.int64))
    covered = reach[len(candidates) :].max(axis=0, initial=0.0)
    open_ones, found = list(range(len(candidates))), []
    while open_ones and len(found) < n:
        gains = np.maximum(reach[open_ones] - covered, 0) @ doubts.doubt
        best = open_ones.pop(int(np.argmax(gains)))
        found.append(candidates[best])
        covered = np.maximum(covered, reach[best])
    return found


def _best_row(rows: Any, values: FloatArray) -> int:
    return int(rows[np.argmax(values[rows])]) if len(rows) else -1


def add_answers(known: list[Any], questions: Sequence[Question], answers: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Labels known so far (None where there is none) and the answers, of which None leaves a question open."""
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
