"""What a user says of documents besides their texts: labels of some, links, sizes."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from widegap._types import Mask
from widegap.base._validation import check_cluster_number
from widegap.constraints._side_information import (
    ConstrainedClusterer,
    RowConstraints,
    SideInformation,
    read_side_information,
)
from widegap.constraints._units import Units, check_cliques
from widegap.documents._corpus import Corpus
from widegap.documents._topic_rules import TopicRules
from widegap.exceptions import NotSupportedError


class TopicSay(ConstrainedClusterer):
    """``fit`` of a document clustering, and what it hears.

    Documents have no weights: how many of them hold a term decides what the term weighs and whether it counts at all.
    """

    method: Any
    _corpus: Corpus
    _given: SideInformation

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        universum: Any = None,
        feature_names: Sequence[str] | None = None,
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
        """Find the topics of documents.

        Parameters
        ----------
        X : list of str, sparse matrix or array of shape (n_documents, n_features)
            Documents, their counts or weights of terms, or their embeddings.
        y : ignored
            Present by convention.
        universum : like X, default=None
            Documents that belong to no topic: boilerplate, other subjects.
        feature_names : sequence of str, default=None
            Names of the columns of a sparse matrix.
        known : array-like of shape (n_documents,), default=None
            Labels of some documents, numbers or strings; -1, None or NaN where the label is not known. These documents
            keep their labels, and ``classes_`` tells which topic is which. There may be more topics than labels.
        must_link : array-like, default=None
            Documents that belong together: pairs of their positions, shape (m, 2), or one group a document, shape
            (n_documents,), with -1, None or NaN for none.
        cannot_link : array-like, default=None
            Documents that must be in different topics, in the same two forms; documents of a group are all apart.

        Returns
        -------
        DocumentClustering
            The fitted estimator.
        """
        given = SideInformation(known, must_link, cannot_link)
        return self._complete_fit(X, side=given, universum=universum, feature_names=feature_names)

    def fit_predict(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        universum: Any = None,
        feature_names: Sequence[str] | None = None,
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> np.ndarray[Any, Any]:
        """Find the topics of documents and return ``labels_``.

        Parameters
        ----------
        X, y, universum, feature_names, known, must_link, cannot_link
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_documents,), dtype int32
        """
        said = {"known": known, "must_link": must_link, "cannot_link": cannot_link}
        return self.fit(X, y, universum=universum, feature_names=feature_names, **said).labels_

    def _rules_for(self, heard: RowConstraints, marked: Mask, k: int) -> tuple[TopicRules, Mask]:
        """What k topics must keep, and which documents take part: not those that were ``marked`` for the universum."""
        active = taking_part(self._corpus.known, heard.units, marked)
        n = int(np.count_nonzero(active))
        check_cluster_number(n, k)
        heard = of_documents(heard, active)
        self._refuse_for_method(heard)
        k = max(k, len(heard.classes))
        if heard.units is not None:
            check_cliques(heard.units, k, np.flatnonzero(active))
        return TopicRules(heard, self.size_min, self.size_max, n, k), active

    def _hear_anew(self, given: SideInformation) -> RowConstraints:
        """What was said of the fitted documents; a label too many makes a topic of its own."""
        return read_side_information(given, len(self._corpus.known), None)

    def _refuse_for_method(self, heard: RowConstraints) -> None:
        """Refuse what an estimator that is given as method cannot be told."""
        if isinstance(self.method, str):
            return
        if self.size_min is not None or self.size_max is not None:
            raise NotSupportedError(
                f"size_min={self.size_min!r} and size_max={self.size_max!r} are for method='auto', 'cpm3c' and "
                f"'m2dcu'; set the bounds of {self.method} instead, if it has any."
            )
        taken = inspect.signature(self.method.fit).parameters
        missing = [] if heard.units is None else [name for name in SAID if name not in taken]
        if missing:
            raise NotSupportedError(
                f"fit of {self.method} takes no {missing[0]}; use method='auto', or an estimator that does, such as "
                "MaxMarginClustering."
            )


SAID = ("known", "must_link", "cannot_link")


def taking_part(has_terms: Mask, units: Units | None, marked: Mask) -> Mask:
    """Documents that are clustered: those with any term, and those that labels or links tie to a topic."""
    inside = has_terms & ~marked
    if units is None:
        return inside
    tied = units.anchors >= 0
    tied[units.of_row[inside]] = True
    return tied[units.of_row] & ~marked


def of_documents(heard: RowConstraints, active: Mask) -> RowConstraints:
    """What was said of some of all documents, and only the labels that are known of these."""
    if heard.units is None:
        return heard
    units = heard.units.of_rows(np.flatnonzero(active))
    present = np.unique(units.anchors[units.anchors >= 0])
    place = np.full(len(heard.classes) + 1, -1)
    place[present] = np.arange(len(present))
    units = replace(units, anchors=place[units.anchors])
    classes = [heard.classes[p] for p in present]
    return RowConstraints(units if units.constrained.any() else None, classes)
