"""How all rows of a fit get their clusters, from those of the searched ones, by the scores of the nearest mean."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from widegap._types import Floats, Ints
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._label_rules import rules_for
from widegap.constraints._side_information import RowConstraints
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units
from widegap.features._kernel_maps import FeatureMap, FoldedScores, KernelMap
from widegap.forest._cluster_scores import ClusterScores
from widegap.forest._search_result import SearchResult
from widegap.forest._search_space import SearchSpace
from widegap.rows._protocols import Rows, State

SizeBounds = Callable[[RowConstraints, int, int], tuple[Ints, Ints]]  # least and largest sizes, for rows and clusters


@dataclass(frozen=True)
class RowLabels:
    """How rows are labelled: by scores, within bounds on sizes, with outliers or without."""

    scores: ClusterScores
    bounds: SizeBounds
    has_outliers: bool

    def label(
        self, blocks: Rows, part: TakingPart, kernel_map: KernelMap, space: SearchSpace, result: SearchResult
    ) -> tuple[State, State, State]:
        """Labels of all rows, the nearest group of each if there are groups, and its number among the searched.

        ``kernel_map`` and ``space`` are those of the search, in which groups were formed.
        """
        labels, groups = result.labels, result.groups
        marks = nearest = blocks.mark(part.searched)
        if part.searches_all:
            (found,), _ = blocks.fold(lambda marks: ((labels[marks],), 0), marks)
        elif groups is None:
            found = self.scores.folded.map(blocks, self._largest_if_typical)
        else:
            found, nearest = self._label_and_group(blocks, kernel_map, space, result, marks)
        if self.has_outliers:
            kept = blocks.collect(found)  # rows on workers have no outliers
            kept[part.outlying], kept[part.searched] = -1, labels
        return found, nearest, marks

    @property
    def _largest_if_typical(self) -> Callable[[Any], Any]:
        """The rule of ``predict`` for rows that were not searched: -1 may be an answer if there are outliers."""
        return partial(largest_or_none, least=self.scores.least) if self.has_outliers else _largest

    def _label_and_group(
        self, blocks: Rows, kernel_map: FeatureMap, space: SearchSpace, result: SearchResult, marks: State
    ) -> tuple[State, State]:
        """Cluster and nearest group of every row; the searched rows keep their labels."""
        scores, k, labels, choose = self.scores, result.n_clusters, result.labels, self._largest_if_typical
        assert result.groups is not None
        if result.classes is not None:  # the codes of rows are there anyway
            kernel_map, coef, constants = classes_of_groups(result)
        else:
            coef, constants = space.nearest_group_scores(result.groups)
        if scores.kernel_map is not kernel_map:
            nearest = FoldedScores(kernel_map, coef, constants, space.mean).map(blocks, _largest)

            def winner(scores: Any, marks: Any) -> Any:
                return (np.where(marks < 0, choose(scores), labels[marks]),)

            return scores.folded.sweep(blocks, winner, marks)[0], nearest
        W = np.vstack([scores.coef, coef])
        b = np.concatenate([scores.constants, constants])

        def winners(scores: Any, marks: Any) -> Any:
            return np.where(marks < 0, choose(scores[:, :k]), labels[marks]), _largest(scores[:, k:])

        found, nearest = FoldedScores(kernel_map, W, b, scores.mean).sweep(blocks, winners, marks)
        return found, nearest

    def constrain(self, blocks: Rows, constraints: RowConstraints, labels: State) -> State:
        """The labels, moved at least cost in the scores where sizes, known labels or links demand it."""
        if self.has_outliers:
            return self._constrain_fitted(blocks, constraints, labels)
        k = len(self.scores.coef)
        rules = rules_for(blocks, constraints.units, *self.bounds(constraints, blocks.shape[0], k))
        counts = blocks.fold(lambda labels: ((), np.bincount(labels, minlength=k)), labels)[1]
        if rules.allow(counts) and rules.keeps(labels):
            return labels
        (costs,) = self.scores.folded.sweep(blocks, _costs, labels)
        return rules.label(costs, None).labels

    def _constrain_fitted(self, blocks: Rows, constraints: RowConstraints, labels: Any) -> Any:
        """The same where some rows are outliers, which count for nothing; constrained rows never are."""
        outlying = (labels < 0) & ~constraints.constrained(len(labels))
        part = TakingPart.where(np.ones(len(labels), bool), outlying)
        rule = rule_of_fitted(constraints, part, len(self.scores.coef), self.bounds)
        if (labels[part.fitted] < 0).any() or not rule.admits(labels[part.fitted]):
            (costs,) = self.scores.folded.sweep(blocks, _costs, labels)
            labels[part.fitted] = rule.label(blocks.collect(costs)[part.fitted]).labels
        return labels


def classes_of_groups(result: SearchResult) -> tuple[FeatureMap, Floats, Floats]:
    """Scores of groups by the codes of columns: how these are coded, weights and constants."""
    assert result.cuts is not None and result.cuts.forest.columns is not None and result.groups is not None
    columns = result.cuts.forest.columns
    found = columns.classes_of(result.groups, int(result.groups.max()) + 1)
    return columns.coding, found.log_codes, found.log_shares


def rule_of_fitted(constraints: RowConstraints, part: TakingPart, k: int, bounds: SizeBounds) -> LabelRule:
    """What labels of the fitted rows must keep."""
    inner, n = constraints.of_fitted(part), len(part.fitted)
    units = Units.free(n) if inner.units is None else inner.units
    return LabelRule.of_units(units, *bounds(inner, n, k))


def largest_or_none(scores: Any, least: float) -> Any:
    """Number of the largest score of every row, -1 where it is below the least."""
    return np.where(scores.max(axis=1) < least, -1, scores.argmax(axis=1)).astype(np.int32)


def _largest(scores: Any) -> Any:
    """Number of the largest score of every row."""
    return scores.argmax(axis=1).astype(np.int32)


def _costs(scores: Any, labels: Any) -> tuple[Any]:
    """The cost of every cluster for every row; its own is no dearer than any."""
    costs = -scores
    rows = np.flatnonzero(labels >= 0)
    costs[rows, labels[rows]] = costs[rows].min(axis=1)
    return (costs,)
