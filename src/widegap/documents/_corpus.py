"""Documents on their way through a fit, whatever they came as."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from widegap._types import Floats, Labels, Mask, Matrix, SparseMatrix
from widegap.documents._vocabulary import RawDocuments
from widegap.rows._protocols import end_to_end


class Transformer(Protocol):
    """What makes features of documents, or of their terms."""

    def fit_transform(self, X: Any) -> Matrix: ...
    def transform(self, X: Any) -> Matrix: ...


@dataclass(frozen=True)
class Corpus:
    """Documents as rows of term weights (None for embeddings) and as the features that are clustered.

    ``known`` tells which documents hold any term; ``raw`` has all their words, where they were just read.
    """

    terms: Matrix | None
    features: Matrix
    known: Mask
    raw: RawDocuments | None = None

    @property
    def in_terms(self) -> bool:
        """Whether the terms are what is clustered."""
        return self.features is self.terms

    def take(self, chosen: Mask) -> "Corpus":
        """Some of the documents."""
        terms = None if self.terms is None else self.terms[chosen]
        features = terms if terms is not None and self.in_terms else self.features[chosen]
        return Corpus(terms, features, self.known[chosen])

    @staticmethod
    def joined(parts: Sequence["Corpus"]) -> "Corpus":
        """All documents of several corpora."""
        found = [part.terms for part in parts if part.terms is not None]
        terms = end_to_end(found) if found else None
        features = terms if terms is not None and parts[0].in_terms else end_to_end([part.features for part in parts])
        return Corpus(terms, features, np.concatenate([part.known for part in parts]))


def has_terms(rows: SparseMatrix) -> Mask:
    """Which rows are not zero."""
    return np.asarray(np.diff(rows.indptr) > 0)


def presence(rows: Matrix) -> Matrix:
    """1 where a document holds a term; the mean of a column is the share of documents that do."""
    assert not isinstance(rows, np.ndarray)
    found = rows.copy()
    found.data = np.ones_like(found.data)
    return found


def cosines_to_means(rows: Matrix, labels: Labels, k: int) -> Floats:
    """Cosine of every row and the mean row of its cluster."""
    means = np.asarray(rows.T @ np.eye(k)[labels]).T
    products = np.asarray(rows @ means.T)[np.arange(len(labels)), labels]
    lengths = _lengths(rows) * np.linalg.norm(means, axis=1)[labels]
    return products / np.maximum(lengths, np.finfo(np.float64).tiny)


def _lengths(rows: Matrix) -> Floats:
    squares = rows * rows if isinstance(rows, np.ndarray) else rows.multiply(rows)
    return np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
