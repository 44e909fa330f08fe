"""``update`` of topics: new documents, and those that are remembered, searched again from the topics they have.

Words are counted once. Terms keep their columns and weights; words that pass the rules of ``TermChoice`` among new and
remembered documents become terms, too. The search begins at the topics that the model gives to the new documents, at
those of the remembered ones, and at new topics where new documents lie apart from all that is remembered; it goes on
by self-training alone, which stays near its start, so that topics keep their numbers; where it does not, documents stay
in the topics they began in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from widegap._types import Doubles, Floats, Labels, Mask, Matrix
from widegap.base._clusterer import take_over
from widegap.base._one_fit import one_fit
from widegap.base._progress import logger, progress_logging
from widegap.base._records import Recorder
from widegap.base._starts import sample_size
from widegap.base._validation import check_generator, digest_of
from widegap.constraints._side_information import (
    ConstrainedClusterer,
    RowConstraints,
    SideInformation,
    read_side_information,
)
from widegap.constraints._units import Units
from widegap.documents._corpus import Corpus, presence
from widegap.documents._reader import DocumentReader
from widegap.documents._spherical_kmeans import of_length_one
from widegap.documents._topic_changes import TopicChange
from widegap.documents._topic_memory import TopicMemory, remember
from widegap.documents._topic_rules import TopicRules, of_documents, taking_part
from widegap.documents._topic_search import FoundTopics, Reduction, TopicRecord, TopicSearch
from widegap.documents._vocabulary import RawDocuments
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._principal import PrincipalAxes
from widegap.rows._sampling import all_or_drawn
from widegap.updating._changes import Change, Compared, Lineage, find_changes
from widegap.updating._drift import Drift, find_drift
from widegap.updating._joint_rows import JointRows
from widegap.updating._new_clusters import find_new_clusters
from widegap.updating._updatable import (
    NO_MEMORY,
    NO_PAIRS,
    UPDATE_AXES,
    checked_share,
    keeps_clusters,
    named_clusters,
)

GROWTH_STEPS = 5  # by which new topics grow from their cores; not tuned


@dataclass(frozen=True)
class JointDocuments:
    """The new documents, then the remembered ones, read with the terms of all.

    Attributes
    ----------
    raw : RawDocuments
        With all their words.
    corpus : Corpus
        With their terms.
    universum : list of Corpus
        The universum with the same terms, if there is any.
    reader : DocumentReader
        What has read them.
    rows : JointRows
        Topics, weights and constraints of the documents. Topics with known labels come first.
    """

    raw: RawDocuments
    corpus: Corpus
    universum: list[Corpus]
    reader: DocumentReader
    rows: JointRows

    @classmethod
    def of(cls, old: "UpdatableTopics", new: RawDocuments, memory: TopicMemory) -> "JointDocuments":
        """New documents joined with what a model remembers."""
        documents, n_new = memory.documents, new.rows.shape[0]
        raw = RawDocuments.joined([new, memory.raw])
        weights = np.concatenate([np.ones(n_new), documents.weights])
        reader = old._reader.grown(raw, weights)
        order = _labelled_first(old.topics_, documents.labels, documents.units)
        scored = old._reader.corpus_of(raw)
        predicted = np.where(scored.known, old._scores(scored)[:, order].argmax(axis=1), -1).astype(np.int32)
        position = np.full(documents.next_number, -1, np.int32)
        position[old.topics_[order]] = np.arange(len(order))
        before = np.concatenate([predicted[:n_new], position[documents.labels]])
        constraints = _joint_constraints(documents.units, order, old.classes_, n_new)
        corpus = reader.corpus_of(raw)
        rows = JointRows(
            corpus.features, n_new, weights, old.topics_[order], before, predicted, constraints, documents.next_number
        )
        universum = [reader.corpus_of(part) for part in memory.raw_universum]
        return cls(raw, corpus, universum, reader, rows)

    def start(self, coordinates: Floats, fresh: Labels) -> Labels:
        """Positions of topics to begin with: new ones, those from before, or else the nearest.

        A new topic is only known by its core at first. New documents that are nearer to it than to any other topic
        join it, a few times; what is remembered stays where it was.
        """
        before, k = self.rows.before, len(self.rows.numbers)
        n_topics = k + int(fresh.max(initial=-1)) + 1
        labels = np.where(fresh >= 0, k + fresh, before)
        for _ in range(GROWTH_STEPS):
            placed = np.flatnonzero(labels >= 0)
            sums = np.eye(n_topics)[labels[placed]].T @ (self.rows.counts[placed, None] * coordinates[placed])
            nearest = (coordinates @ of_length_one(sums).T).argmax(axis=1)
            joining = (labels < 0) | (self.rows.is_new & (nearest >= k))
            labels = np.where(joining, nearest, labels)
        return labels.astype(np.int32)


def _labelled_first(topics: Labels, remembered: Labels, units: Units | None) -> Labels:
    """Positions of the topics of which anything is remembered; those that known labels hold come first."""
    anchors = np.empty(0, np.int64) if units is None else units.anchors[units.anchors >= 0]
    living = np.flatnonzero(np.isin(topics, remembered))
    return living[np.argsort(~np.isin(living, anchors), kind="stable")].astype(np.int32)


def _joint_constraints(units: Units | None, order: Labels, classes: Sequence[Any], n_new: int) -> RowConstraints:
    """Labels and links of the remembered documents, whose anchors are positions among all topics before."""
    if units is None:
        return RowConstraints()
    place = np.full(len(classes) + 1, -1)  # the last is that of free units
    place[order] = np.arange(len(order))
    units = replace(units, anchors=place[units.anchors])
    held = [classes[p] for p in order[: len(np.unique(units.anchors[units.anchors >= 0]))]]
    return RowConstraints(Units.free(n_new).followed_by(units), held)


@dataclass(frozen=True)
class RememberedPart:
    """What ``refit`` of an updated model needs of the documents that come after the new ones.

    ``labels`` are their topics and ``constraints`` their labels and links; ``weights`` are those of all documents.
    """

    labels: Labels
    constraints: RowConstraints
    weights: Doubles

    def after(self, own: RowConstraints, n_own: int) -> RowConstraints:
        """Constraints on all documents, from those on the ``n_own`` new ones."""
        later = self.constraints
        if later.units is None and own.units is not None:
            later = RowConstraints(Units.free(len(self.labels)))
        return replace(own.followed_by(later, n_own), weights=self.weights)


class UpdatableTopics(ConstrainedClusterer):
    """Base of DocumentClustering with ``update`` and ``partial_fit``."""

    _stored: ClassVar = {
        "_memory": TopicMemory | None,
        "changes_": list[TopicChange] | list[Change],
        "drift_": Drift,
        "_kept_names": dict[int, str],
    }

    memory: int
    method: Any
    features: Any
    n_components: Any
    topics_: Labels
    topic_names_: Any
    margins_: Floats
    centrality_: Floats
    changes_: list[Change]
    drift_: Drift
    _memory: TopicMemory | None = None
    _kept_names: dict[int, str]
    _reader: DocumentReader
    _corpus: Corpus
    _universum: list[Corpus]
    _marked: Mask
    _side: SideInformation
    _reduction: Reduction | None
    _remembered: RememberedPart | None = None  # after an update, as long as its documents are in memory

    @property
    def cluster_numbers_(self) -> Labels:
        """The numbers of the topics, as ``topics_``."""
        check_is_fitted(self)
        return self.topics_.copy()

    def _scores(self, corpus: Corpus) -> Floats:
        raise NotImplementedError

    def _found(
        self, search: TopicSearch, corpus: Corpus, start: Labels | None, universum: Matrix | None
    ) -> FoundTopics:
        raise NotImplementedError

    def _universum_features(self, marked: Mask, universum: list[Corpus]) -> Matrix | None:
        raise NotImplementedError

    def _store(self, found: FoundTopics, active: Mask, topics: Labels, classes: list[Any]) -> None:
        raise NotImplementedError

    # Remembering

    def _whole_fit(self, X: Any, **options: Any) -> Self:
        for name in (*UpdatableTopics._stored, "_remembered"):
            self.__dict__.pop(name, None)  # of an earlier fit or update
        super()._whole_fit(X, **options)
        raw = self._corpus.raw
        if self.memory and raw is not None and isinstance(self.method, str):
            n = len(self.labels_)
            units = self._topic_units(self._read_constraints(self._side, n))
            outside = [part.raw for part in self._universum if part.raw is not None]
            self._memory = remember(
                raw, self.labels_, np.ones(n), units, self.memory, int(self.topics_.max()) + 1, outside, n
            )
        self._corpus = replace(self._corpus, raw=None)
        return self

    def _topic_units(self, constraints: RowConstraints) -> Units | None:
        """Labels and links with anchors that are positions among the topics."""
        if constraints.units is None:
            return None
        labels = list(self.classes_)
        place = [labels.index(label) if label in labels else -1 for label in constraints.classes]
        return replace(constraints.units, anchors=np.array([*place, -1])[constraints.units.anchors])

    @property
    def _fitted_labels(self) -> Labels:
        """Topics of all documents that a refit sees: after an update, remembered ones follow the new ones."""
        return self.labels_ if self._remembered is None else np.append(self.labels_, self._remembered.labels)

    def _fitted_constraints(self, side: SideInformation) -> RowConstraints:
        """Labels and links of these documents."""
        found = read_side_information(side, len(self.labels_), None)
        return found if self._remembered is None else self._remembered.after(found, len(self.labels_))

    def _complete_refit(self, constraints: RowConstraints, marked: Mask, further: list[Corpus], n_own: int) -> None:
        """Remember what a refit has found; ``marked`` and ``further`` documents have just gone to the universum."""
        if self._memory is not None:
            outside = [part.raw for part in further if part.raw is not None]
            units = self._topic_units(constraints)
            self._memory = self._memory.refitted(self.labels_, self.topics_, units, marked, outside, self.memory)
        if self._remembered is not None:
            self._part_remembered(replace(self._remembered, labels=self.labels_[n_own:]), n_own)

    def _part_remembered(self, part: RememberedPart, n_own: int) -> None:
        """Values of the new documents are those of the user; topics of the others stay for ``refit``."""
        self._remembered = part
        for name in ("labels_", "margins_", "centrality_"):
            setattr(self, name, getattr(self, name)[:n_own])

    # Updating

    def update(self, X: Any, *, forget: float = 0.0) -> Self:
        """A fitted estimator that has also seen the documents of X; topics keep their numbers and names.

        Parameters
        ----------
        X : like that of ``fit``
            New documents.
        forget : float, default=0.0
            Share of its weight that every remembered document loses before the new ones are added, from 0 to below 1:
            0.5 lets what was seen an update ago count half.

        Returns
        -------
        DocumentClustering
            A new one; this one is left as it is. ``labels_`` are those of the new documents, ``changes_`` and
            ``drift_`` tell what changed. Terms keep their columns and weights in documents, and new terms follow. The
            search sees the new documents and the remembered ones (``memory``), so that time does not depend on how
            many came before. A topic that is made of new documents, where hardly any were before, gets the next free
            number; ``n_clusters_`` follows. Bounds on sizes are those of ``fit`` alone.
        """
        check_is_fitted(self)
        memory = self._checked_memory().faded(checked_share(forget), named_clusters(self))
        new = self._reader.read_raw(X)
        if not new.rows.shape[0]:
            raise InvalidDataError("X holds no documents; update needs at least one.")
        other: Self = clone(self)
        with progress_logging(other.verbose):
            other._follow(self, JointDocuments.of(self, new, memory))
        other._rows_digest = digest_of(X)
        return other

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """``update`` in place; the first call is a ``fit``.

        Parameters
        ----------
        X
            As for ``update``.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        if not hasattr(self, "labels_"):
            return self.fit(X)
        with one_fit(self):
            take_over(self, self.update(X))
        return self

    def _checked_memory(self) -> TopicMemory:
        if self._memory is not None:
            return self._memory
        name = type(self).__name__
        if not isinstance(self.method, str):
            raise NotSupportedError(
                f"{name} with method={self.method!r:.60} cannot be updated: another estimator does not begin at the "
                "topics that there are; use method='auto', or fit all documents again."
            )
        if not isinstance(self.features, str):
            raise NotSupportedError(
                f"{name} with features={self.features!r:.60} cannot be updated: it does not remember texts, which the "
                "transformer would need; pass what it makes of the documents to fit and update instead of the "
                "documents."
            )
        why = "memory=0" if not self.memory else "its model file holds none"
        raise NotSupportedError(NO_MEMORY.format(name=name, why=why).replace("rows", "documents"))

    def _follow(self, old: "UpdatableTopics", joint: JointDocuments) -> None:
        """Search the joint documents from the topics that they have, and store what is found."""
        self._reader, self._corpus, self._universum = joint.reader, joint.corpus, joint.universum
        self._reduction = Reduction(self.n_components) if self.features == "lsa" else None
        rows, rng = joint.rows, check_generator(self.random_state)
        nothing = np.zeros(len(rows.weights), bool)
        active = taking_part(joint.corpus.known, rows.constraints.units, nothing)
        coordinates = self._coordinates(active, len(rows.numbers))
        fresh = np.full(len(active), -1, np.int32)
        fresh[active] = find_new_clusters(
            coordinates[active],
            rows.is_new[active],
            rows.weights[active],
            np.maximum(rows.before[active], 0),
            np.random.default_rng(0),
        )
        k = len(rows.numbers) + int(fresh.max(initial=-1)) + 1
        start = joint.start(coordinates, fresh)
        constraints = of_documents(replace(rows.constraints, weights=rows.weights), active)
        rules = TopicRules(constraints, None, None, int(active.sum()), k, floor=0.0)
        found = self._continued(rules, active, start[active], rng)
        if not keeps_clusters(found.scores.labels, start[active], rows.weights[active], k):
            anchors = Units(np.arange(rules.n), np.ones(rules.n, np.int64), start[active].astype(np.int64), NO_PAIRS)
            rules = TopicRules(replace(constraints, units=anchors), None, None, rules.n, k, floor=0.0)
            found = self._continued(rules, active, start[active], rng)
        numbers = np.append(rows.numbers, rows.next_number + np.arange(k - len(rows.numbers))).astype(np.int32)
        order = np.argsort(numbers)
        # A topic that has nearly been forgotten may be as small as it gets: nothing to warn of.
        found = replace(found, scores=replace(found.scores.reordered(order), starved=False))
        known = dict(zip(old.topics_.tolist(), old.classes_, strict=True))
        self._store(found, active, numbers[order], [known.get(p) for p in numbers[order].tolist()])
        self._complete_update(old, joint, coordinates)

    def _continued(self, rules: TopicRules, active: Mask, start: Labels, rng: np.random.Generator) -> FoundTopics:
        """Topics of the documents that take part, from those they have."""
        corpus = self._corpus.take(active)
        recorder = Recorder(TopicRecord, self.callback, logger.info if self.verbose else None)
        search = TopicSearch(rules, rng, recorder)
        if search.k == 1 or corpus.terms is None:
            outside = self._universum_features(np.zeros(len(active), bool), self._universum)
            return self._found(search, corpus, start, outside)
        return search.onwards(corpus.terms, start)

    def _coordinates(self, active: Mask, k: int) -> Floats:
        """Documents in few dimensions; zero for those without terms."""
        features = self._corpus.features
        chosen = np.flatnonzero(active)
        if self._corpus.terms is None:
            return np.asarray(PrincipalAxes(features, UPDATE_AXES, 0).coordinates(features), np.float32)
        reduction = Reduction(UPDATE_AXES)
        reduction.settle(features[chosen[all_or_drawn(len(chosen), sample_size(k), np.random.default_rng(0))]], k, 0)
        return np.asarray(reduction(features), np.float32)

    def _complete_update(self, old: "UpdatableTopics", joint: JointDocuments, coordinates: Floats) -> None:
        """Store what an update tells and remembers; labels are those of the new documents alone."""
        rows, labels = joint.rows, self.labels_
        self._kept_names = {p: name for p, name in old.topic_names_.items() if p in self.topics_}
        lineage = Lineage(rows.numbers.tolist(), self.topics_.tolist())
        compared = self._compared(joint, labels, coordinates)
        self.changes_ = find_changes(compared, lineage, old.topic_names_ | self.topic_names_)
        self.drift_ = find_drift(compared, np.random.default_rng(0))
        next_number = max(rows.next_number, int(self.topics_.max()) + 1)
        units = self._topic_units(rows.constraints)
        outside = [part.raw for part in joint.universum if part.raw is not None]
        self._memory = remember(joint.raw, labels, rows.weights, units, self.memory, next_number, outside, rows.n_new)
        self._corpus = replace(self._corpus, raw=None)
        self._marked, self._side = np.zeros(len(labels), bool), SideInformation()
        remembered = np.arange(rows.n_new, len(labels))
        part = rows.constraints.of_rows(remembered, len(remembered))
        self._part_remembered(RememberedPart(labels[rows.n_new :], part, rows.weights), rows.n_new)

    def _compared(self, joint: JointDocuments, labels: Labels, coordinates: Floats) -> Compared:
        """Documents by the terms that they hold."""
        terms, rows = joint.corpus.terms, joint.rows
        if terms is None:
            names = [f"column {j}" for j in range(joint.corpus.features.shape[1])]
            return Compared(joint.corpus.features, coordinates, labels, rows.is_new, rows.counts, names)
        names = list(map(str, self._reader.terms if self._reader.terms is not None else ()))
        return Compared(presence(terms), coordinates, labels, rows.is_new, rows.counts, names, TopicChange)
