"""Documents on their way through a fit, whatever they came as."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from widegap._types import Floats, Mask


@dataclass(frozen=True)
class Corpus:
    """Documents as rows of term weights (None for embeddings) and as the features that are clustered.

    ``known`` tells which documents hold any term.
    """

    terms: Any
    features: Any
    known: Mask

    @property
    def in_terms(self) -> bool:
        """Whether the terms are what is clustered."""
        return self.features is self.terms

    def take(self, chosen: Mask) -> "Corpus":
        """Some of the documents."""
        terms = None if self.terms is None else self.terms[chosen]
        return Corpus(terms, terms if self.in_terms else self.features[chosen], self.known[chosen])

    @staticmethod
    def joined(parts: Sequence["Corpus"]) -> "Corpus":
        """All documents of several corpora."""
        terms = None if parts[0].terms is None else _stack([part.terms for part in parts])
        features = terms if parts[0].in_terms else _stack([part.features for part in parts])
        return Corpus(terms, features, np.concatenate([part.known for part in parts]))


def has_terms(rows: sp.csr_array) -> Mask:
    """Which rows are not zero."""
    return np.asarray(np.diff(rows.indptr) > 0)


def cosines_to_means(rows: Any, labels: np.ndarray[Any, Any], k: int) -> Floats:
    """Cosine of every row and the mean row of its cluster."""
    means = np.asarray(rows.T @ np.eye(k)[labels]).T
    products = np.asarray(rows @ means.T)[np.arange(len(labels)), labels]
    squares = rows * rows if isinstance(rows, np.ndarray) else rows.multiply(rows)
    lengths = np.sqrt(np.asarray(squares.sum(axis=1)).ravel()) * np.linalg.norm(means, axis=1)[labels]
    return products / np.maximum(lengths, np.finfo(np.float64).tiny)


def _stack(parts: Sequence[Any]) -> Any:
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
