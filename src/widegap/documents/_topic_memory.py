"""What a model of topics remembers: documents as counts of all their words, so that words may become terms later.

Texts are not kept. The universum is remembered as well, as it has a part in every search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from widegap._types import Doubles, Labels, Mask, Matrix
from widegap.constraints._units import Units
from widegap.documents._reader import DocumentReader
from widegap.documents._vocabulary import RawDocuments
from widegap.rows._sampling import all_or_drawn
from widegap.updating._memory import Memory, rows_to_remember


@dataclass(frozen=True)
class TopicMemory:
    """Documents that a model remembers.

    Attributes
    ----------
    documents : Memory
        Counts of words, rows of a matrix, or embeddings, and the topics of the documents.
    words : ndarray of str or None
        The words, one a column; None for a matrix and for embeddings.
    universum : table or None
        Documents that belong to no topic, with the same columns.
    """

    documents: Memory
    words: np.ndarray | None
    universum: Matrix | None

    @property
    def raw(self) -> RawDocuments:
        """The documents."""
        return RawDocuments(self.documents.rows, self.words)

    @property
    def raw_universum(self) -> list[RawDocuments]:
        """The universum, if there is any."""
        return [] if self.universum is None else [RawDocuments(self.universum, self.words)]

    def faded(self, forget: float, named: Labels) -> "TopicMemory":
        """The same documents, which count less; topics that are ``named`` are not forgotten."""
        return replace(self, documents=self.documents.faded(forget, named))

    def refitted(
        self,
        labels: Labels,
        topics: Labels,
        units: Units | None,
        marked: Mask,
        further: Sequence[RawDocuments],
        size: int,
    ) -> "TopicMemory":
        """The same documents after a refit: their topics, labels and links.

        Those that are ``marked`` have gone to the universum, of which ``size`` are kept, as have ``further`` ones.
        """
        places = self.documents.places
        moved = np.flatnonzero(marked[places])
        gone = [self.raw.of(moved)] if len(moved) else []
        units = None if units is None else units.of_rows(places)
        documents = self.documents.relabelled(labels[places], topics, units)
        raw = RawDocuments(documents.rows, self.words)
        return _stored(documents, raw, [*self.raw_universum, *gone, *further], size)

    def check(self, reader: DocumentReader, topics: Labels) -> None:
        """Raise an error if a file holds documents that do not fit together."""
        self.documents.check(self.documents.rows.shape[1], topics.tolist())
        for raw in (self.raw, *self.raw_universum):
            reader.check_raw(raw)


def remember(
    raw: RawDocuments,
    labels: Labels,
    weights: Doubles,
    units: Units | None,
    size: int,
    next_number: int,
    universum: Sequence[RawDocuments],
    n_new: int,
) -> TopicMemory:
    """A sample of documents, and the universum; labels are numbers of topics, those of -1 are not remembered."""
    held = np.zeros(len(labels), bool) if units is None else units.constrained
    kept, weights = rows_to_remember(labels, weights, held, size, np.random.default_rng(0))
    units = None if units is None else units.of_rows(kept)
    raw = raw.of(kept)
    return _stored(Memory(raw.rows, labels[kept], weights, kept, units, next_number, n_new), raw, universum, size)


def _stored(documents: Memory, raw: RawDocuments, universum: Sequence[RawDocuments], size: int) -> TopicMemory:
    """The memory with words that occur in it, and with at most ``size`` documents of the universum."""
    outside = RawDocuments.joined(universum) if universum else raw.of(slice(0, 0))
    outside = outside.of(all_or_drawn(outside.rows.shape[0], size, np.random.default_rng(0)))
    n, joined = raw.rows.shape[0], RawDocuments.joined([raw, outside]).of_used_words()
    n_outside = outside.rows.shape[0]
    return TopicMemory(replace(documents, rows=joined.rows[:n]), joined.words, joined.rows[n:] if n_outside else None)
