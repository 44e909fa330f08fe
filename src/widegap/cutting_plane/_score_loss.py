"""A labelled loss from three functions of scores: all that a new loss needs.

    costs(scores)            loss l_i(z) of every row under every label, convex in the row's scores s_i
    codes(scores, labels)    for every row what fixes a plane below its loss
    planes(codes, labels)    that plane, for these or any other labels: offsets (rows,) and weights (rows, k) with

        l_i(z) >= offset_i - weights_i . s'     for all scores s', with equality at the scores and labels of the codes.

Validity for *any* label is what lets cuts outlive a relabelling; where nothing better is known, a label without a
plane of its own may have offset and weights zero, since losses are not negative. The rest (sums over rows, planes,
their moves, the best labels) follows here, a block at a time. ``examples/add_a_loss.py`` adds a loss; the hinge does
the same work in compiled loops of its own, and ``tests/cutting_plane/test_score_loss.py`` compares the two.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from widegap._types import Floats, Labels
from widegap.cutting_plane._problem import Plane, PlaneShift
from widegap.rows._blocks import Part
from widegap.rows._centred import CentredRows, optional_state, times_weights
from widegap.rows._protocols import Parts, State

RowCodes = np.ndarray[Any, Any]


class ScoreLoss(ABC):
    """Mean over the rows of a function of their scores; ``cap`` is its weight in the objective."""

    def __init__(self, rows: CentredRows, n_clusters: int, *, cap: float = 1.0):
        self.rows = rows
        self.n_clusters = n_clusters
        self.cap = cap

    def _alone(self) -> Self:
        """A copy without rows, whose functions travel to rows that are elsewhere; rows must not travel along."""
        alone = copy(self)
        del alone.rows
        return alone

    @abstractmethod
    def costs(self, scores: Floats) -> Floats:
        """Loss of every row under every label, shape (rows, k), never negative."""

    @abstractmethod
    def codes(self, scores: Floats, labels: Labels) -> RowCodes:
        """What fixes a plane below the loss of each row, one entry a row."""

    @abstractmethod
    def planes(self, codes: RowCodes, labels: Labels) -> tuple[Floats, Floats]:
        """Offsets (rows,) and weights (rows, k) of the planes that codes mean under labels."""

    def plane(self, W: Floats, b: Floats, labels: State) -> Plane:
        return self._pass(W, b, labels)[1]

    def best_labels(self, W: Floats, b: Floats, held: State | None = None) -> tuple[State, Plane]:
        return self._pass(W, b, held)

    def label_costs(self, W: Floats, b: Floats) -> State:
        return self.rows.map_scores(W, b, self._alone().costs)

    def _pass(self, W: Floats, b: Floats, labels: State | None) -> tuple[State, Plane]:
        """The plane at (W, b) for these labels, or, where they are None or -1, for those of least loss."""
        n, is_labelled, loss = self.rows.total, labels is not None, self._alone()

        def judge(scores: Floats, *parts: Any) -> tuple[tuple[float, ...], Floats, Parts]:
            row_weights = parts[is_labelled:]
            costs = loss.costs(scores)
            chosen = costs.argmin(axis=1).astype(np.int32)
            chosen = np.where(parts[0] < 0, chosen, parts[0]) if is_labelled else chosen
            codes = loss.codes(scores, chosen)
            offsets, weights = loss.planes(codes, chosen)
            losses = costs[np.arange(len(costs)), chosen]
            values = times_weights(losses, *row_weights).sum(), times_weights(offsets, *row_weights).sum()
            return values, times_weights(weights.T, *row_weights).T, (chosen, codes)

        (labels, codes), sums = self.rows.judge(
            W, b, judge, *optional_state(labels), *optional_state(self.rows.weights)
        )
        value, offset = sums.values / n
        return labels, Plane(float(value), float(offset), sums.normal / n, sums.bias / n, codes)

    def shift(self, codes: Sequence[State], old: State, new: State) -> PlaneShift | None:
        n, m, loss = self.rows.total, len(codes), self._alone()

        def part(rows: Part, old: Labels, new: Labels, *parts: Any) -> PlaneShift:
            offset, normal, bias = [], [], []
            for moved in parts[:m]:
                before, after = loss.planes(moved, old), loss.planes(moved, new)
                weights = times_weights((after[1] - before[1]).T, *parts[m:]) / n
                offset.append(times_weights(after[0] - before[0], *parts[m:]).sum() / n)
                normal.append(rows.weighted(weights))
                bias.append(weights.sum(axis=1))
            return PlaneShift(np.array(offset), np.array(normal), np.array(bias))

        return self.rows.sum_moved(part, old, new, *codes, *optional_state(self.rows.weights))
