"""Fitting a document clustering again without what the user has recognised as junk."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_is_fitted

from widegap._types import Labels
from widegap.base._progress import progress_logging
from widegap.base._validation import check_generator
from widegap.exceptions import InvalidDataError, NotSupportedError


class TopicRefits:
    """``refit`` of a document clustering, which remembers its documents and its universum."""

    def refit(
        self,
        *,
        universum_labels: Sequence[int] = (),
        universum_documents: Sequence[int] | Sequence[str] = (),
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
        """Fit again from the present labels, with topics or documents moved into the universum, or with more known.

        The topics that stay keep their numbers as far as their documents stay together, so that the two results can
        be compared. What was moved by earlier calls stays in the universum; what was said of such documents no longer
        counts, as they have no topic.

        Parameters
        ----------
        universum_labels : sequence of int, default=()
            Topics whose documents belong to no topic; their number is subtracted from the number of topics.
        universum_documents : sequence of int or of str, default=()
            Positions of fitted documents, or further documents.
        known, must_link, cannot_link
            As for ``fit``, of all fitted documents; what is None stays as it was said before, what is given replaces
            it. If all topics carry labels already, a label that is new makes a new topic.

        Returns
        -------
        DocumentClustering
            The estimator, fitted anew.
        """
        check_is_fitted(self)
        if not hasattr(self, "_corpus"):
            raise NotSupportedError("refit needs the fitted documents, which a model file does not hold; fit again.")
        gone = self._check_topics(universum_labels)
        further, universum = list(universum_documents), self._universum
        marked = self._marked | np.isin(self.labels_, gone)
        if further and isinstance(further[0], str):
            universum = [*universum, self._reader.read(further, "universum_documents")]
        elif further:
            marked[self._check_positions(further)] = True
        said = {"known": known, "must_link": must_link, "cannot_link": cannot_link}
        given = replace(self._given, **{name: value for name, value in said.items() if value is not None})
        self._refit(np.setdiff1d(self.topics_, gone), given, marked, universum)
        return self

    def _refit(self, topics, given, marked, universum):
        """Search from the present labels for the topics that are left; stored only once that has gone well."""
        rules, active = self._rules_for(self._hear_anew(given), marked, len(topics))
        start = np.where(np.isin(self.labels_, topics), np.searchsorted(topics, self.labels_), -1)[active]
        with progress_logging(self.verbose):
            rng = check_generator(self.random_state)
            # Documents without terms that are now tied to a topic have no label to start from; any will do.
            found = self._cluster(rules, active, start.clip(0).astype(np.int32), marked, universum, rng)
        k = len(found.scores.coef)
        topics = matched_topics(topics, start, found.scores.labels, k)
        order, classes = np.argsort(topics), rules.heard.classes_of(k)
        self._given, self._marked, self._universum = given, marked, universum
        found = replace(found, scores=found.scores.reordered(order))
        self._store(found, active, topics[order], [classes[p] for p in order])

    def _check_topics(self, labels):
        labels = np.atleast_1d(np.asarray(labels, dtype=np.int64))
        unknown = np.setdiff1d(labels, self.topics_)
        if len(unknown):
            raise InvalidDataError(
                f"universum_labels holds {unknown.tolist()}, but the topics are {self.topics_.tolist()}; choose among "
                "these."
            )
        if len(np.unique(labels)) == len(self.topics_):
            raise InvalidDataError(
                f"universum_labels={labels.tolist()} would leave no topic; leave at least one out of it."
            )
        return labels

    def _check_positions(self, positions):
        n, found = len(self.labels_), np.asarray(positions)
        if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n:
            raise InvalidDataError(
                f"universum_documents={positions!r:.80} must be positions from 0 to {n - 1} of fitted documents, or "
                "further documents as str."
            )
        return found


def matched_topics(topics: Labels, old: Labels, new: Labels, k: int) -> Labels:
    """A topic for each of k new clusters: that of the old cluster it overlaps most with, one-to-one, or a new one."""
    overlap = np.zeros((len(topics), k))
    both = (old >= 0) & (new >= 0)
    np.add.at(overlap, (old[both], new[both]), 1)
    found = topics.max() + 1 + np.arange(k, dtype=np.int32)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    found[columns] = topics[rows]
    return found
