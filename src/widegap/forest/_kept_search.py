"""A finished search by merging, kept in memory: clusters of all rows at other numbers, and questions to the user."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from widegap._types import Floats, Labels
from widegap.constraints._label_rules import rules_for
from widegap.constraints._questions import Doubts, Question, add_answers, choose_questions
from widegap.constraints._selective_clusterer import label_absent
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units, check_cliques
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._kernel_maps import FoldedScores
from widegap.forest._cluster_scores import Scoring
from widegap.forest._pools import Forest
from widegap.forest._row_labels import SizeBounds, rule_of_fitted
from widegap.forest._row_preparation import searched_units
from widegap.forest._search_result import ForestCuts, SearchResult, StartRecord
from widegap.forest._search_space import SearchSpace
from widegap.rows._collections import chunk_states, count_labels, entries_at, in_chunks_of, look_up
from widegap.rows._protocols import Rows, State
from widegap.updating._joint_rows import UpdateRows


@dataclass(frozen=True)
class Extension:
    """How clusters of the searched rows become clusters of all rows, for any number of them.

    ``groups`` are the groups of the searched rows, as the search formed them. A row that was not searched belongs to
    the group with the nearest mean, and goes where most searched rows of that group are. ``places`` (n,) are where
    every row looks up its values: at its group, or, if it was searched, at the number of groups plus its own number
    among the searched ones. They are lazy where the rows are; ``in_process`` is True if this process holds them.
    """

    places: Any
    groups: Labels
    in_process: bool

    @classmethod
    def of(cls, rows: Rows, nearest: State, marks: State, groups: Labels) -> "Extension":
        """From the nearest groups of rows that were not searched, and the numbers of those that were, else -1."""
        n_groups = int(groups.max()) + 1

        def places(nearest: Any, marks: Any) -> Any:
            return ((np.where(marks < 0, nearest, n_groups + marks).astype(np.int32),), 0)

        return cls(rows.publish(rows.fold(places, nearest, marks)[0][0]), groups, rows.in_process)

    def to_all_rows(self, labels: Labels, k: int) -> Any:
        """Clusters of all rows."""
        return look_up(self.labels_by_place(labels, k), self.places)

    def labels_by_place(self, labels: Labels, k: int) -> Labels:
        """Clusters of the groups, most of whose searched rows are there, and of the searched rows."""
        votes = np.zeros((int(self.groups.max()) + 1, k), np.int64)
        np.add.at(votes, (self.groups, labels), 1)
        return np.concatenate([votes.argmax(axis=1), labels]).astype(np.int32)

    def to_all_means(self, values: Floats) -> Any:
        """Values of the searched rows for all rows: the mean of the group for rows that were not searched."""
        means = np.bincount(self.groups, values) / np.maximum(np.bincount(self.groups), 1)
        return look_up(np.concatenate([means, values]), self.places)


@dataclass(frozen=True)
class KeptSearch:
    """A search that serves other numbers of clusters, other constraints, and questions.

    Attributes
    ----------
    space : SearchSpace
        The searched rows.
    scoring : Scoring
        Their features, and how clusters are scored.
    result : SearchResult
        What the search found.
    part : TakingPart
        The searched rows by their numbers in the table.
    extension : Extension
        The way to all rows of the table.
    side, constraints
        Side information as it came, and as it was read.
    records : sequence of StartRecord
        One of every member, in the order in which they were found.
    n_own : int or None
        After an update: how many rows of the table are the user's; those after them are remembered ones.
    """

    space: SearchSpace
    scoring: Scoring
    result: SearchResult
    part: TakingPart
    extension: Extension
    side: SideInformation
    constraints: RowConstraints
    records: Sequence[StartRecord]
    n_own: int | None = None

    def own(self, values: Any) -> Any:
        """Values of the user's rows, from those of all rows."""
        return values if self.n_own is None else values[: self.n_own]

    def searched_labels(self, labels: Any) -> Labels:
        """Labels of the searched rows, from those of the user's; remembered ones have those that were found."""
        if self.n_own is None:
            return entries_at(labels, self.part.searched)
        found: Labels = self.result.labels.copy()
        own = self.part.searched < self.n_own
        found[own] = labels[self.part.searched[own]]
        return found

    def with_remembered(self, constraints: RowConstraints) -> RowConstraints:
        """Constraints on the user's rows, and those that the remembered rows have."""
        if self.n_own is None:
            return constraints
        remembered = np.arange(self.n_own, self.part.n)
        if self.constraints.units is not None:
            return constraints.followed_by(self.constraints.of_rows(remembered, len(remembered)), self.n_own)
        free = RowConstraints(None if constraints.units is None else Units.free(len(remembered)))
        return constraints.followed_by(free, self.n_own)

    @property
    def cuts(self) -> ForestCuts:
        """Cuts at any number of clusters."""
        assert self.result.cuts is not None
        return self.result.cuts

    @property
    def forest(self) -> Forest:
        """The members."""
        return self.cuts.forest

    @cached_property
    def units(self) -> Units | None:
        """Constraints on the searched rows."""
        return searched_units(self.constraints, self.part)

    def at(self, k: int) -> "KeptSearch":
        """The same search cut at k clusters."""
        return replace(self, result=self.cuts.result(k, self.units, self.result.number))

    def check_number(self, k: Any) -> int:
        """k, if it is a number of clusters at which the search can be cut."""
        most, least = self.forest.most_clusters, max(1, len(self.constraints.classes))
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not least <= k <= most:
            known = f" and {least} labels are known" if least > 1 else ""
            raise InvalidDataError(
                f"cut({k!r}) is not possible: the search formed {most} groups{known}, so k must be a whole number from "
                f"{least} to {most}; fit with a larger n_clusters for more."
            )
        if k != self.result.n_clusters and self.constraints.units is not None:
            check_cliques(self.constraints.units, int(k))
        return int(k)

    def check_groups(self, k: int) -> int:
        """k, if there are as many groups as known labels and links ask for."""
        if k > self.forest.most_clusters:
            raise InvalidDataError(
                f"Known labels and links ask for {k} clusters, but the search formed {self.forest.most_clusters} "
                "groups; fit the rows again, with the same labels and links."
            )
        return k

    def with_side(self, side: SideInformation, constraints: RowConstraints) -> "KeptSearch":
        """The same search with other side information, yet to be cut again."""
        return replace(self, side=side, constraints=constraints)

    def with_absent(
        self, part: TakingPart, nearest: Labels, side: SideInformation, constraints: RowConstraints
    ) -> "KeptSearch":
        """The same for the whole table; ``nearest`` are the groups of the absent rows."""
        places = part.to_all(self.extension.places, nearest)
        return replace(
            self,
            part=self.part.within(part.fitted, part.n),
            extension=replace(self.extension, places=places),
            side=side,
            constraints=constraints,
        )

    def with_unsearched(self, new: UpdateRows, nearest: Labels) -> "KeptSearch":
        """The same after an update for all new rows; ``nearest`` are the groups of those that were not searched."""
        remembered = np.arange(len(new.chosen), self.part.n)
        rows, n = new.among_all(np.arange(self.part.n)), new.n + len(remembered)
        places = np.empty(n, self.extension.places.dtype)
        places[rows], places[np.setdiff1d(np.arange(new.n), new.chosen)] = self.extension.places, nearest
        units = self.constraints.units
        units = None if units is None else Units.free(new.n).followed_by(units.of_rows(remembered))
        return replace(
            self,
            part=self.part.within(rows, n),
            extension=replace(self.extension, places=places),
            constraints=replace(self.constraints, units=units),
            n_own=new.n,
        )

    def group_scores(self) -> FoldedScores:
        """Scores of the groups, for rows that were not searched."""
        coef, constants = self.space.nearest_group_scores(self.extension.groups)
        return FoldedScores(self.scoring.kernel_map, coef, constants, self.space.mean)

    def agreement_of_all(self, labels: Any, *, has_outliers: bool) -> Any:
        """The agreement of all rows, 0 for outliers."""
        assert self.result.agreement is not None
        agreement = self.extension.to_all_means(self.result.agreement)
        return np.where(labels < 0, 0.0, agreement) if has_outliers else agreement

    # Labels of all rows

    def label_all(self, before: Any, bounds: SizeBounds) -> Any:
        """Labels of all rows that keep the constraints; outliers are those of the labels ``before``."""
        labels = self.extension.to_all_rows(self.result.labels, self.result.n_clusters)
        if not self.extension.in_process:
            return self._label_on_workers(labels, bounds)
        if self.n_own is not None:  # remembered rows are no outliers
            before = np.pad(np.asarray(before), (0, self.part.n - self.n_own))
        return in_chunks_of(self._keep_constraints(np.asarray(labels), np.asarray(before) < 0, bounds), labels)

    def _keep_constraints(self, labels: Labels, outlying: Any, bounds: SizeBounds) -> Labels:
        """The labels, moved at least cost where sizes, known labels or links demand it."""
        constraints, k = self.constraints, self.result.n_clusters
        outlying = outlying & ~constraints.constrained(len(labels))
        present = np.ones(len(labels), bool) if constraints.weights is None else constraints.weights > 0
        part = TakingPart.where(present, outlying)
        labels = np.where(outlying, -1, labels).astype(np.int32)
        rows, rule = part.fitted, rule_of_fitted(constraints, part, k, bounds)
        if not rule.admits(labels[rows]):
            labels[rows] = rule.label(self._costs_by_place()[self.extension.places[rows]]).labels
        if constraints.units is not None and len(part.absent):
            labels = label_absent(constraints.units, labels, part, self._costs_by_place()[self.extension.places])
        return labels

    def _label_on_workers(self, labels: Any, bounds: SizeBounds) -> Any:
        """The same where workers hold the labels: they keep least sizes and known labels alone."""
        rows, k = chunk_states(labels), self.result.n_clusters
        rules = rules_for(rows, self.constraints.units, *bounds(self.constraints, rows.shape[0], k))
        if rules.allow(count_labels(labels, k)) and rules.keeps(rows.state(labels)):
            return labels
        table = self._costs_by_place()
        (costs,), _ = rows.fold(lambda places: ((table[places],), 0), rows.state(self.extension.places))
        return rows.publish(rules.label(costs, None).labels, labels.dtype)

    def _costs_by_place(self) -> Floats:
        """Costs of labels: of searched rows by their scores; of a group any but its own as much as the dearest."""
        space, searched, k = self.space, self.result.labels, self.result.n_clusters
        coef, constants = space.nearest_mean_scores(searched, k)
        scores = (space.features - space.mean) @ coef.T + constants
        own = self.extension.labels_by_place(searched, k)
        costs = np.full((len(own), k), float(np.ptp(scores)) + 1)
        costs[len(own) - len(searched) :] = scores.max(axis=1, keepdims=True) - scores
        costs[np.arange(len(own)), own] = 0
        return costs

    # Questions

    def questions(self, n: int, labels: Labels, classes: Sequence[Any]) -> list[Question]:
        """Up to n rows of the table whose label would help most; ``labels`` are those of the searched rows."""
        searched, units, cut = self.part.searched, self.units, self.cuts.unconstrained(self.result.n_clusters)
        _, first, copies = np.unique(searched, return_index=True, return_inverse=True)
        doubts = Doubts(
            belief=cut.belief(units, labels),
            labels=labels,
            first_copy=first[copies],
            settled=np.zeros(len(searched), bool) if units is None else units.anchors[units.of_row] >= 0,
            named=[label is not None for label in classes],
            centrality=np.asarray(self.forest.graph.weights.sum(axis=0)).ravel(),
            groupings=list({id(member.groups): member.groups for member in cut.pool.members}.values()),
            spread=cut.spread,
            own=None if self.n_own is None else searched < self.n_own,
        )
        found = choose_questions(n, doubts)
        return [
            replace(q, row=int(searched[q.row]), examples=tuple(int(searched[row]) for row in q.examples))
            for q in found
        ]

    def answered(self, questions: Sequence[Question], answers: Sequence[Any]) -> np.ndarray[Any, Any]:
        """Known labels of all rows, with the answers to questions."""
        units, names = self.constraints.units, [*self.constraints.classes, None]
        before = np.full(self.part.n, -1) if units is None else units.anchors[units.of_row]
        return add_answers(self.own([names[p] for p in before]), questions, answers)


def refuse_to_cut(cuts_anywhere: bool) -> NoReturn:
    """Say why no search is in memory."""
    if not cuts_anywhere:
        raise NotSupportedError("search='moves' looks for one number of clusters; use 'agree' or 'merge' to cut.")
    raise NotSupportedError(
        "Other numbers of clusters need the search, which one cluster does without and a model file does not hold; "
        "fit the rows again, with two clusters or more."
    )
