"""Questions to the user: rows whose label would change most.

Groups of rows that the search formed stand or fall together, so one answer decides for a group. The first questions are
for clusters without a label: their most typical row gives them a name. Then come the groups in which the most doubt has
come together, and in each the doubtful row that most others have as a neighbour; candidates between which much has been
asked already wait for others.

    doubt of a row      1 - (votes for its first cluster - votes for its second), between 0 and 1
    worth of a group    sum of the doubt of its rows / (1 + questions about the same two clusters so far)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap.exceptions import InvalidDataError
from widegap.solvers._result import FloatArray, LabelArray


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


def choose_questions(
    n: int, votes: FloatArray, labels: LabelArray, groups: LabelArray, centrality: FloatArray, settled: Any, named: Any
) -> list[Question]:
    """Up to n questions about the searched rows, numbered among these.

    ``votes`` (rows, k) are those of the members, ``centrality`` (rows,) tells how many rows have a row as their
    neighbour, ``settled`` rows are not asked about, ``named`` (k,) are clusters that have a label.
    """
    k = votes.shape[1]
    order = np.argsort(-votes, axis=1, kind="stable")[:, :2]
    lead = votes[np.arange(len(votes)), order[:, 0]]
    second = votes[np.arange(len(votes)), order[:, -1]] if k > 1 else np.zeros(len(votes))
    doubt = 1 - (lead - second)
    typical = [_best_row(np.flatnonzero(labels == p), centrality * (1 - doubt / 2)) for p in range(k)]
    found = [
        Question(row, (p,), (row,), float(doubt[row]))
        for p, row in enumerate(typical)
        if row >= 0 and not named[p] and not settled[row]
    ][:n]
    worth = np.bincount(groups, np.where(settled, 0, doubt))
    asked: dict[tuple[int, ...], int] = {}
    rows_of = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
    row_of = [_best_row(rows, np.where(settled, 0, centrality * doubt)) for rows in rows_of]
    taken = {question.row for question in found}
    open_groups = {g for g, row in enumerate(row_of) if row >= 0 and not settled[row] and row not in taken}
    while len(found) < n and open_groups:
        pairs = {g: tuple(sorted(order[row_of[g]].tolist())) for g in open_groups}
        best = max(sorted(open_groups), key=lambda g: worth[g] / (1 + asked.get(pairs[g], 0)))
        open_groups.remove(best)
        asked[pairs[best]] = asked.get(pairs[best], 0) + 1
        row, candidates = row_of[best], tuple(order[row_of[best]].tolist())
        found.append(Question(row, candidates, tuple(typical[p] for p in candidates), float(doubt[row])))
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
