"""A labelled loss from three functions of scores: all that a new loss has to write.

    costs(scores)            loss l_i(z) of every row under every label, convex in the row's scores s_i
    codes(scores, labels)    for every row what fixes a plane below its loss
    planes(codes, labels)    that plane, for these or any other labels: offsets (rows,) and weights (rows, k) with

        l_i(z) >= offset_i - weights_i . s'     for all scores s', with equality at the scores and labels of the codes.

Validity for *any* label is what lets cuts outlive a relabelling; where nothing better is known, a label without a
plane of its own may have offset and weights zero, since losses are not negative. The rest (sums over rows, planes,
their moves, the best labels) follows here, a block at a time. ``examples/add_a_loss.py`` adds a loss; the hinge does
the same work in compiled loops of its own, and ``tests/test_score_loss.py`` compares the two.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from widegap._planes import Plane, PlaneShift
from widegap.data._blocks import Floats, Labels, Moves, Part
from widegap.data._centred import CentredRows

Codes = np.ndarray[Any, Any]


class ScoreLoss(ABC):
    """Mean over the rows of a function of their scores; ``cap`` is its weight in the objective."""

    def __init__(self, rows: CentredRows, n_clusters: int, *, cap: float = 1.0):
        self.rows = rows
        self.n_clusters = n_clusters
        self.cap = cap

    @abstractmethod
    def costs(self, scores: Floats) -> Floats:
        """Loss of every row under every label, shape (rows, k), never negative."""

    @abstractmethod
    def codes(self, scores: Floats, labels: Labels) -> Codes:
        """What fixes a plane below the loss of each row, one entry a row."""

    @abstractmethod
    def planes(self, codes: Codes, labels: Labels) -> tuple[Floats, Floats]:
        """Offsets (rows,) and weights (rows, k) of the planes that codes mean under labels."""

    def plane(self, W: Floats, b: Floats, labels: Labels) -> Plane:
        return self._pass(W, b, labels)[1]

    def best_labels(self, W: Floats, b: Floats) -> tuple[Labels, Plane]:
        return self._pass(W, b, None)

    def label_costs(self, W: Floats, b: Floats) -> Floats:
        return self.rows.map_scores(W, b, self.costs)

    def _pass(self, W: Floats, b: Floats, given: Labels | None) -> tuple[Labels, Plane]:
        """The plane at (W, b) for given labels, or else for those of least loss."""
        n = self.rows.shape[0]
        labels = np.empty(n, np.int32) if given is None else given
        found: dict[int, Codes] = {}

        def judge(scores: Floats, rows: slice) -> tuple[tuple[float, ...], Floats]:
            costs = self.costs(scores)
            if given is None:
                labels[rows] = costs.argmin(axis=1)
            found[rows.start] = codes = self.codes(scores, labels[rows])
            offsets, weights = self.planes(codes, labels[rows])
            return (costs[np.arange(len(costs)), labels[rows]].sum(), offsets.sum()), weights

        sums = self.rows.judge(W, b, judge)
        loss, offset = sums.values / n
        codes = np.concatenate([found[start] for start in sorted(found)])
        return labels, Plane(float(loss), float(offset), sums.normal / n, sums.bias / n, codes)

    def shift(self, codes: Sequence[Codes], moves: Moves) -> PlaneShift:
        n = self.rows.shape[0]

        def part(rows: Part, place: slice) -> PlaneShift:
            offset, normal, bias = [], [], []
            for code in codes:
                moved = code[moves.rows[place]]
                before, after = self.planes(moved, moves.old[place]), self.planes(moved, moves.new[place])
                weights = (after[1] - before[1]).T / n
                offset.append((after[0] - before[0]).sum() / n)
                normal.append(rows.weighted(weights))
                bias.append(weights.sum(axis=1))
            return PlaneShift(np.array(offset), np.array(normal), np.array(bias))

        return self.rows.sum_over(moves.rows, part)
