"""What a fitted search by merging can still do: other numbers of clusters, corrections, questions."""

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from widegap._types import Doubles, Labels
from widegap.base._validation import check_rows, check_threads
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._label_rules import rules_for
from widegap.constraints._outliers import split_point
from widegap.constraints._questions import Doubts, Question, add_answers, choose_questions
from widegap.constraints._selective_clusterer import SelectiveClusterer, label_absent, some_rows
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.constraints._size_bounds import fewest_of_size
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units, check_cliques
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._kernel_maps import FoldedScores, KernelMap
from widegap.forest._informed_cut import OpenCut
from widegap.forest._linkage import MergeTree
from widegap.forest._merge_search import Cut, Forest
from widegap.forest._number_search import ClusterNumberScore
from widegap.forest._probabilities import ProbabilityMixin
from widegap.forest._search_space import Extension, SearchSpace
from widegap.forest._single_moves import explained
from widegap.forest._temperature import fit_temperature, member_votes
from widegap.rows._collections import chunk_states, count_labels, in_chunks_of
from widegap.rows._few_rows import largest


class ForestCuts(ProbabilityMixin, SelectiveClusterer):
    """Base of clusterers whose searched rows (``_space``) and members (``_forest``) stay in memory after a fit."""

    _stored = {
        "agreement_": np.ndarray,
        "tree_": MergeTree,
        "n_clusters_scores_": list[ClusterNumberScore],
        "reject_below_": float,
    }
    _kept = frozenset({"_forest", "_space", "_extension", "_constraints", "_side", "_aside", "_open_cut", "_voters"})
    _not_stored = ProbabilityMixin._not_stored | _kept

    C: float
    search: str
    kernel_map_: KernelMap
    reject_below_: float
    _forest: Forest
    _space: SearchSpace
    _extension: Extension
    _side: SideInformation
    _constraints: RowConstraints
    _aside: Doubles  # features of searched rows that were set aside
    _voters: list[Labels]  # clusters of the searched rows by the members of the last cut
    _open_cut: OpenCut | None = None  # the last one, for corrections
    outliers: float | str

    def _check_stored(self) -> None:
        super()._check_stored()
        agreement = getattr(self, "agreement_", np.ones(self.labels_.shape))  # single moves have none
        if agreement.dtype.kind != "f" or agreement.shape != self.labels_.shape:
            raise ValueError("agreement_ does not fit labels_")
        if np.isnan(self.reject_below_):
            raise ValueError("reject_below_ is no number")
        if hasattr(self, "tree_"):
            self.tree_.check()

    @property
    def _by_moves(self) -> bool:
        """Whether the search makes single moves and leaves no forest."""
        raise NotImplementedError

    def _min_count(self, n: int) -> int:
        """Least rows of a cluster among n."""
        raise NotImplementedError

    # Other numbers of clusters

    def cut(self, k: int) -> np.ndarray[Any, Any]:
        """Clusters of the fitted rows at another number, without a new search.

        Parameters
        ----------
        k : int
            From 1 (from the number of known labels) to the number of groups of the search.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
            ``labels_`` if k is ``n_clusters_``. Of ``search="merge"`` cuts are nested: every cluster of ``cut(k)`` is a
            union of clusters of ``cut(k + 1)``. Of "agree" they need not be, as the members agree anew at each number;
            ``tree_.cut`` gives nested ones. Known labels, links and sizes are kept at every number, and rows that were
            set aside stay so.
        """
        most, least = self._kept_forest().most_clusters, max(1, len(self._constraints.classes))
        if not isinstance(k, Integral) or isinstance(k, bool) or not least <= k <= most:
            known = f" and {least} labels are known" if least > 1 else ""
            raise InvalidDataError(
                f"cut({k!r}) is not possible: the search formed {most} groups{known}, so k must be a whole number from "
                f"{least} to {most}; fit with a larger n_clusters for more."
            )
        if k == self.n_clusters_:
            return self.labels_
        if self._constraints.units is not None:
            check_cliques(self._constraints.units, int(k))
        return self._to_all(self._cut(int(k)).labels, int(k))

    def with_clusters(self, k: int) -> Self:
        """A fitted estimator for another number of clusters, without a new search.

        Parameters
        ----------
        k : int
            As for ``cut``.

        Returns
        -------
        estimator
            A new one, with ``labels_`` equal to ``cut(k)``; this one is left as it is.
        """
        labels = self.cut(k)
        other = self._copied().set_params(n_clusters=int(k))
        other._store_recut(int(k), labels)
        return other

    def _copied(self) -> Self:
        other, parameters = clone(self), self.get_params()
        vars(other).update({name: value for name, value in vars(self).items() if name not in parameters})
        return other

    def _store_recut(self, k: int, labels: Any = None) -> None:
        """Cut again; ``labels`` of all rows if they are known already."""
        searched = self._store_cut(k)
        if labels is None:
            labels = self._to_all(searched, k)
        searched = np.asarray(labels[self._space.chosen])  # computed where labels are lazy
        self.classes_ = self._constraints.classes_of(k)
        self._fix_scores(searched)
        self._judge_scores(searched)
        self._store_labels(labels)

    def _kept_forest(self) -> Forest:
        """The members of the search, or why there are none."""
        check_is_fitted(self)
        if hasattr(self, "_forest"):
            return self._forest
        if self._by_moves:
            raise NotSupportedError("search='moves' looks for one number of clusters; use 'agree' or 'merge' to cut.")
        raise NotSupportedError(
            "Other numbers of clusters need the search, which one cluster does without and a model file does not "
            "hold; fit the rows again, with two clusters or more."
        )

    def _cut(self, k: int) -> Cut:
        """The forest cut at k clusters, in the light of what is known."""
        units = self._searched_units()
        if units is None:
            return self._forest.cut(k)
        return self._cut_to_hear(k).hear(units)

    def _cut_to_hear(self, k: int) -> OpenCut:
        """The forest cut at k clusters, ready to hear what is known; the last one is kept."""
        if self._open_cut is None or self._open_cut.listener.k != k:
            self._open_cut = OpenCut.of(self._forest, self._space, k)
        return self._open_cut

    def _searched_units(self) -> Units | None:
        """What is known of the searched rows, if anything."""
        units = self._constraints.units
        if units is None:
            return None
        units = units.of_rows(self._space.chosen)
        return units if units.constrained.any() else None

    def _store_cut(self, k: int) -> Labels:
        """Cut the forest at k clusters, store what follows, and return the labels of the searched rows."""
        found = self._cut(k)
        self.n_clusters_, self.tree_, self.agreement_, self.starved_ = k, found.tree, found.agreement, False
        self._voters = found.members
        self.classes_ = self._constraints.classes_of(k)
        sizes = np.bincount(found.labels, minlength=k)
        self.objective_ = explained(self._space.whitened_sums(found.labels, k), sizes) if k > 1 else 0.0
        return found.labels

    def _to_all(self, searched: Labels, k: int) -> Any:
        """Labels of all rows that keep what is known, from those of the searched ones, without a look at the rows."""
        labels = self._extension.to_all_rows(searched, k)
        if not self._extension.in_process:
            return self._ruled_elsewhere(searched, labels, k)
        return in_chunks_of(self._ruled(searched, np.asarray(labels), k), labels)

    def _ruled(self, searched: Labels, labels: Labels, k: int) -> Labels:
        """The labels, moved at least cost where sizes, known labels or links demand it."""
        constraints, weighted = self._constraints, self._constraints.weighted
        inside = (np.asarray(self.labels_) >= 0) | constraints.constrained(len(labels))
        labels = np.where(inside, labels, -1).astype(np.int32)
        part = TakingPart.where(inside if weighted is None else inside & (constraints.weights > 0))
        rows, rule = part.present, self._rule_inside(part, k)
        if not rule.admits(labels[rows]):
            labels[rows] = rule.label(self._costs_by_place(searched, k)[self._extension.places[rows]]).labels
        if weighted is not None and constraints.units is not None:
            costs = self._costs_by_place(searched, k)[self._extension.places]
            labels = label_absent(constraints.units, labels, weighted, costs)
        return labels

    def _ruled_elsewhere(self, searched: Labels, labels: Any, k: int) -> Any:
        """The same where workers hold the labels, which know of least sizes and known labels alone."""
        constraints, rows = self._constraints, chunk_states(labels)
        rules = rules_for(rows, constraints.units, *self._size_bounds(constraints, rows.shape[0], k))
        if rules.allow(count_labels(labels, k)) and rules.keeps(rows.state(labels)):
            return labels
        table = self._costs_by_place(searched, k)
        (costs,), _ = rows.fold(lambda places: ((table[places],), 0), rows.state(self._extension.places))
        return rows.publish(rules.label(costs, None).labels, labels.dtype)

    def _rule_inside(self, part: TakingPart, k: int) -> LabelRule:
        """What labels of the rows that take part must keep."""
        constraints, n = self._constraints.of_fitted(part), len(part.present)
        units = Units.free(n) if constraints.units is None else constraints.units
        return LabelRule(*vars(units).values(), *self._size_bounds(constraints, n, k))

    def _costs_by_place(self, searched: Labels, k: int) -> Doubles:
        """What labels cost rows: searched ones by their scores; of a group any but its own as much as the dearest."""
        space = self._space
        coef, constants = space.nearest_mean_scores(searched, k)
        scores = (space.features - space.mean) @ coef.T + constants
        own = self._extension.labels_by_place(searched, k)
        costs = np.full((len(own), k), float(np.ptp(scores)) + 1)
        costs[len(own) - len(searched) :] = scores.max(axis=1, keepdims=True) - scores
        costs[np.arange(len(own)), own] = 0
        return costs

    def _fix_scores(self, labels: Labels) -> None:
        """Scores of the nearest mean of the clusters of the searched rows, as weights for the features."""
        self._store_scores(self._space.mean, *self._space.nearest_mean_scores(labels, self.n_clusters_))

    def _store_scores(self, mean: Doubles, coef: Doubles, mean_scores: Doubles) -> None:
        self._mean, self.coef_, self._mean_scores = mean, coef, mean_scores
        self.intercept_ = self._mean_scores - self.coef_ @ self._mean

    def _judge_scores(self, labels: Labels) -> None:
        """The temperature of the scores, and the score below which rows are rejected."""
        k, mean = self.n_clusters_, self._space.mean
        scores, outside = (
            (rows - mean) @ self.coef_.T + self._mean_scores for rows in (self._space.features, self._aside)
        )
        members = self._voters if hasattr(self, "_forest") else [labels]
        self.temperature_ = fit_temperature(scores, member_votes(members, labels, k))
        self.reject_below_ = split_point(scores.max(axis=1), outside.max(axis=1))

    def _predict_or_reject(self, X: Any) -> np.ndarray[Any, Any]:
        check_is_fitted(self)
        return self._map_scores(X, partial(largest_or_none, least=self.reject_below_))

    def _store_labels(self, labels: Any) -> None:
        self.labels_ = labels
        if hasattr(self, "_extension"):
            self.agreement_ = self._extension.to_all_means(self.agreement_)
            if self.outliers:
                self.agreement_ = np.where(labels < 0, 0.0, self.agreement_)
        weighted = self._constraints.weighted
        there = labels if weighted is None else labels[weighted.present]
        sizes = count_labels(there[there >= 0] if self.outliers else there, self.n_clusters_)
        self.starved_ = bool(self.starved_ or sizes.min() <= self._min_count(len(there)))

    def _label_rows_left_out(
        self, X: Any, part: TakingPart, side: SideInformation, constraints: RowConstraints
    ) -> None:
        super()._label_rows_left_out(X, part, side, constraints)
        self._side, self._constraints = side, constraints
        if hasattr(self, "_extension"):
            self._number_anew(part, some_rows(X, part.absent))
        elif hasattr(self, "agreement_"):
            self.agreement_ = part.to_all(self.agreement_, 1.0)  # one cluster of equal rows

    def _number_anew(self, part: TakingPart, absent: Any) -> None:
        """Number the searched rows in the table of all rows; the ``absent`` ones follow their nearest groups."""
        space, groups = self._space, self._extension.groups
        agreement = self.agreement_[space.chosen]
        coef, constants = space.nearest_mean_scores(groups, int(groups.max()) + 1)
        blocks = check_rows(self, absent, reset=False, n_threads=check_threads(self.n_jobs))
        nearest = FoldedScores(self.kernel_map_, coef, constants, space.mean).map(blocks, largest)
        self._space, self._extension = space.within(part), self._extension.within(part, nearest)
        self.agreement_ = np.where(self.labels_ < 0, 0.0, self._extension.to_all_means(agreement))

    # Corrections and questions

    def refit(self, *, known: Any = None, must_link: Any = None, cannot_link: Any = None) -> Self:
        """A fitted estimator for the same rows with more knowledge of them, without a new search.

        Parameters
        ----------
        known, must_link, cannot_link
            As for ``fit``; what is None stays as it was said before, what is given replaces it.

        Returns
        -------
        estimator
            A new one; this one is left as it is. Neighbours, features and members of the search are those of the last
            fit. Of more than 10000 rows, those that were not searched keep their labels and links, but do not inform
            others.
        """
        self._kept_forest()
        other, before = self._copied(), self._side
        other._side = replace(
            before,
            known=before.known if known is None else known,
            must_link=before.must_link if must_link is None else must_link,
            cannot_link=before.cannot_link if cannot_link is None else cannot_link,
        )
        other._constraints = other._read_constraints(other._side, len(self.labels_))
        k = self.n_clusters_
        if self.n_clusters == "auto":
            k = max(k, other._fewest_clusters(np.count_nonzero(self.labels_ >= 0)))
        if k > self._forest.most_clusters:
            raise InvalidDataError(
                f"Known labels and links ask for {k} clusters, but the search formed {self._forest.most_clusters} "
                "groups; fit the rows again, with the same labels and links."
            )
        other._store_recut(k)
        return other

    def _fewest_clusters(self, n_rows: int) -> int:
        """Clusters that there must be for what is known of the rows, and for ``size_max``."""
        return max(self._constraints.fewest_clusters, fewest_of_size(self.size_max, n_rows))

    def questions(self, n: int = 10) -> list[Question]:
        """Rows whose label would help most, to be answered and passed back.

        Parameters
        ----------
        n : int, default=10
            At most so many.

        Returns
        -------
        list of Question
            Each has ``row``, ``candidates`` (clusters), ``examples`` (a typical row of each candidate) and ``doubt``.
            First comes a row of each cluster without a known label, small ones aside, then rows between two clusters;
            each is the one whose answer would reach the most rows in doubt that those asked before do not reach.
            ``refit(known=answered(questions, answers))`` takes the answers in.
        """
        forest, chosen, units = self._kept_forest(), self._space.chosen, self._searched_units()
        _, first, copies = np.unique(chosen, return_index=True, return_inverse=True)
        labels, cut = np.asarray(self.labels_[chosen]), self._cut_to_hear(self.n_clusters_)
        doubts = Doubts(
            belief=cut.belief(units, labels),
            labels=labels,
            first_copy=first[copies],
            settled=np.zeros(len(chosen), bool) if units is None else units.anchors[units.of_row] >= 0,
            named=[label is not None for label in self.classes_],
            centrality=np.asarray(forest.graph.weights.sum(axis=0)).ravel(),
            groupings=list({id(member.groups): member.groups for member in forest.members}.values()),
            spread=cut.spread,
        )
        found = choose_questions(n, doubts)
        return [
            replace(q, row=int(chosen[q.row]), examples=tuple(int(chosen[row]) for row in q.examples)) for q in found
        ]

    def answered(self, questions: Any, answers: Any) -> np.ndarray[Any, Any]:
        """What is known of the labels of all rows once questions were answered, for ``refit``.

        Parameters
        ----------
        questions : sequence of Question
            From ``questions``.
        answers : sequence
            A label for each of them, None where it is not known.

        Returns
        -------
        ndarray of shape (n_samples,), dtype object
            Labels, those known before included, None elsewhere.
        """
        self._kept_forest()
        units, names = self._constraints.units, [*self._constraints.classes, None]
        before = np.full(len(self.labels_), -1) if units is None else units.anchors[units.of_row]
        return add_answers([names[p] for p in before], questions, answers)


def largest_or_none(scores: Any, least: float) -> Any:
    """Number of the largest score of every row, -1 where it is below the least."""
    return np.where(scores.max(axis=1) < least, -1, scores.argmax(axis=1)).astype(np.int32)
