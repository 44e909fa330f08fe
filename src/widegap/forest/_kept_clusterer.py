"""What an estimator offers while its search is in memory: other numbers of clusters, corrections, and questions.

After an update the search is one of joint rows: first those of the table, which are the user's own, then remembered
ones (``forest/_kept_search.py``). Labels are stored of the own rows; clusters keep their numbers as long as most of
their rows are the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from widegap._types import Indices, Labels
from widegap.base._validation import check_rows, check_threads
from widegap.constraints._questions import Question
from widegap.constraints._selective_clusterer import some_rows
from widegap.constraints._side_information import RowConstraints, read_side_information
from widegap.exceptions import InfeasibleBalanceError, NotSupportedError
from widegap.forest._cluster_scores import ClusterScores
from widegap.forest._kept_search import KeptSearch, refuse_to_cut
from widegap.forest._search_result import SearchResult, StartRecord
from widegap.rows._collections import entries_at, is_collection, look_up
from widegap.rows._few_rows import largest
from widegap.rows._threads import one_blas_thread
from widegap.updating._joint_rows import UpdateRows
from widegap.updating._matching import match_clusters
from widegap.updating._updatable import UpdatableClusterer


class KeptSearchClusterer(UpdatableClusterer):
    """Base of a clusterer whose search can be cut again."""

    agreement_: np.ndarray[Any, Any]
    candidates_: Any
    _kept: KeptSearch | None = None  # the search, as long as it is in memory

    @property
    def _method(self) -> Any:
        """The search that the parameters ask for."""
        raise NotImplementedError

    def _fewest_clusters(self, constraints: RowConstraints, n_rows: int) -> int:
        """Clusters that constraints and ``size_max`` ask for, where the number is open."""
        raise NotImplementedError

    def _store_result(self, result: SearchResult, constraints: RowConstraints, records: Sequence[StartRecord]) -> None:
        """Store what a search found, except values of all rows."""
        raise NotImplementedError

    def _store_scores(self, scores: ClusterScores) -> None:
        """Store how rows are scored."""
        raise NotImplementedError

    def _store_labels(self, labels: Any, constraints: RowConstraints) -> None:
        """Store positions of the clusters of all rows, and what follows from them."""
        raise NotImplementedError

    @one_blas_thread()  # as in the fit
    def cut(self, k: int) -> np.ndarray[Any, Any]:
        """Clusters of the fitted rows at another number, without a new search.

        Parameters
        ----------
        k : int
            From 1 (from the number of known labels) to the number of groups of the search.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
            ``labels_`` if k is ``n_clusters_``. Cuts of ``search="merge"`` are nested: every cluster of ``cut(k)`` is a
            union of clusters of ``cut(k + 1)``. Those of "agree" need not be, as the members agree anew at each number;
            ``tree_.cut`` gives nested ones. Known labels, links and sizes are kept at every number, and outliers stay
            outliers.
        """
        kept = self._kept_search()
        if kept.check_number(k) == self.n_clusters_:
            return self.labels_
        kept, labels = kept.at(int(k)), self.labels_
        self.candidates_ = kept.forest.candidates
        found = kept.label_all(labels, self._size_bounds)
        if self._numbers is not None:
            found = look_up(np.append(self._numbers_of(kept, found), np.int32(-1)), found)  # -1 are outliers
        return kept.own(found)

    @one_blas_thread()
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
        kept = self._kept_search()
        other = self._copied().set_params(n_clusters=kept.check_number(k))
        if k != self.n_clusters_:
            kept = kept.at(int(k))
            other._store_recut(kept, kept.label_all(self.labels_, self._size_bounds))
        return other

    @one_blas_thread()
    def refit(self, *, known: Any = None, must_link: Any = None, cannot_link: Any = None) -> Self:
        """A fitted estimator for the same rows with more side information, without a new search.

        Parameters
        ----------
        known, must_link, cannot_link
            As for ``fit``; an argument replaces the one from before, None keeps that.

        Returns
        -------
        estimator
            A new one; this one is left as it is. Neighbours, features and members of the search are those of the last
            fit. Rows that were not searched keep their labels and links, but do not inform other rows.
        """
        kept, later = self._kept_search(), {"known": known, "must_link": must_link, "cannot_link": cannot_link}
        side = replace(kept.side, **{name: value for name, value in later.items() if value is not None})
        if kept.n_own is None:
            constraints = self._read_constraints(side, len(self.labels_))
            fewest = self._fewest_clusters(constraints, int(np.count_nonzero(self.labels_ >= 0)))
        else:  # after an update n_clusters no longer bounds how many clusters there are
            constraints = kept.with_remembered(read_side_information(side, len(self.labels_), None))
            fewest = constraints.fewest_clusters
        k = max(self.n_clusters_, fewest)
        kept = kept.with_side(side, constraints).at(kept.check_groups(k))
        other = self._copied()
        other._store_recut(kept, kept.label_all(self.labels_, self._size_bounds))
        return other

    @one_blas_thread()
    def questions(self, n: int = 10) -> list[Question]:
        """Rows whose label would help most, to be answered and passed back.

        Parameters
        ----------
        n : int, default=10
            Number of questions, at most.

        Returns
        -------
        list of Question
            Each has ``row``, ``candidates`` (clusters), ``examples`` (a typical row of each candidate) and ``doubt``.
            First comes a row of each cluster without a known label, except small ones, then rows between two clusters;
            each is the one whose answer would reach the most rows in doubt that those asked before do not reach.
            ``refit(known=answered(questions, answers))`` uses the answers.
        """
        kept = self._kept_search()
        found = kept.questions(n, kept.searched_labels(self._to_positions(self.labels_)), self.classes_)
        return [replace(q, candidates=tuple(map(int, self._to_numbers(np.array(q.candidates))))) for q in found]

    def answered(self, questions: Any, answers: Any) -> np.ndarray[Any, Any]:
        """The known labels of all rows once questions were answered, for ``refit``.

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
        return self._kept_search().answered(questions, answers)

    def _label_unsearched(self, X: Any, new: UpdateRows) -> None:
        super()._label_unsearched(X, new)
        if is_collection(X):
            self._kept = None  # its rows are not all in this process
        if self._kept is not None:
            nearest = self._nearest_groups(X, np.setdiff1d(np.arange(new.n), new.chosen))
            self._kept = self._kept.with_unsearched(new, nearest)

    def _nearest_groups(self, X: Any, rows: Indices) -> Labels:
        """The groups of the search that some rows are nearest to."""
        assert self._kept is not None
        blocks = check_rows(self, some_rows(X, rows), reset=False, n_threads=check_threads(self.n_jobs))
        found: Labels = blocks.collect(self._kept.group_scores().map(blocks, largest))
        return found

    @property
    def _is_bounded_update(self) -> bool:
        """Whether bounds on sizes are for the new rows of an update alone; cuts of its search would not keep them."""
        has_bounds = self.size_min is not None or self.size_max is not None
        return self._kept is not None and self._kept.n_own is not None and has_bounds

    def _kept_search(self) -> KeptSearch:
        check_is_fitted(self)
        kept = self._kept or refuse_to_cut(self._method.cuts_anywhere)
        if self._is_bounded_update:
            raise NotSupportedError(
                f"size_min={self.size_min!r} and size_max={self.size_max!r} bound the new rows of an update, and the "
                "search has remembered rows as well: cut and refit would not keep the bounds. Fit the rows again, or "
                "leave the bounds out."
            )
        return kept

    def _with_room(self, numbers: range) -> range:
        """Those of some numbers of clusters at which the search can be cut within the bounds on sizes."""
        own = range(self.n_clusters_, self.n_clusters_ + 1)
        if self._kept is None or self._is_bounded_update:
            return own
        constraints = self._kept.constraints
        weights = np.ones(1) if constraints.weights is None else constraints.weights
        n_rows = int(np.count_nonzero((self.labels_ >= 0) & (weights > 0)))

        def has_room(k: int) -> bool:
            try:
                self._size_bounds(constraints, n_rows, k)
            except InfeasibleBalanceError:
                return False
            return True

        found = [k for k in numbers if has_room(k)]
        return range(found[0], found[-1] + 1) if found else own

    def _copied(self) -> Self:
        other, parameters = clone(self), self.get_params()
        vars(other).update({name: value for name, value in vars(self).items() if name not in parameters})
        return other

    def _store_recut(self, kept: KeptSearch, labels: Any, numbers: Labels | None = None) -> None:
        """Store a search that was cut again, with positions of the clusters of all its rows."""
        if numbers is None and self._numbers is not None:
            numbers = self._numbers_of(kept, labels)
        self._numbers = numbers
        self._kept = kept
        self._store_result(kept.result, kept.constraints, kept.records)
        result = replace(kept.result, labels=entries_at(labels, kept.part.searched))
        self._store_scores(kept.scoring.fit(result))
        self._store_labels(labels, kept.constraints)
        if self._memory is not None:  # none yet while an update is going on
            remembered = self._to_numbers(entries_at(labels, self._memory.places))
            units = kept.constraints.units
            units = None if units is None else units.of_rows(self._memory.places)
            self._memory = self._memory.relabelled(remembered, self.cluster_numbers_, units)

    def _numbers_of(self, kept: KeptSearch, labels: Any) -> Labels:
        """Numbers of clusters that were cut again, by the rows that they share with those before; -1 do not count."""
        assert self._kept is not None and self._memory is not None
        before = self._to_numbers(self._kept.searched_labels(self._to_positions(self.labels_)))
        n_held = len(self._kept.constraints.classes)
        found, fixed = entries_at(labels, kept.part.searched), self.cluster_numbers_[:n_held]
        k, rows = kept.result.n_clusters, (before >= 0) & (found >= 0)
        match = match_clusters(found[rows], before[rows], np.ones(rows.sum()), k, self._memory.next_number, fixed)
        return match.numbers.astype(np.int32)
