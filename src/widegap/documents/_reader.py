"""Documents, matrices of terms or embeddings as a Corpus: what the first ones settle holds for all that follow."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from widegap._types import Doubles
from widegap.base._validation import check_documents, input_kind
from widegap.documents._corpus import Corpus, Transformer, has_terms
from widegap.documents._vocabulary import DocumentTerms, RawDocuments, TermChoice, TermMatrix, TermNames
from widegap.exceptions import InvalidDataError
from widegap.rows._known_frames import known_frame


class DocumentReader:
    """Reads documents, each time in the kind and with the terms of the first time.

    ``terms`` are the names of the terms, None for embeddings. A ``transformer`` makes the features that are clustered;
    without one they are the terms.
    """

    _stored = {
        "kind": str,
        "vocabulary": DocumentTerms | TermMatrix | None,
        "transformer": None,
        "n_columns": int | None,
    }

    kind: str
    vocabulary: DocumentTerms | TermMatrix | None
    n_columns: int | None

    def __init__(self, transformer: Transformer | None = None):
        self.transformer: Transformer | None = None if transformer is None else clone(transformer)

    @property
    def terms(self) -> TermNames | None:
        """Names of the terms."""
        return None if self.vocabulary is None else self.vocabulary.terms

    def check_terms(self) -> int:
        """Number of terms of a reader from a model file; refuses one that could not read."""
        expected = {"documents": DocumentTerms, "matrix": TermMatrix}.get(self.kind)
        if self.vocabulary is None or type(self.vocabulary) is not expected:
            raise ValueError(f"documents of the kind {self.kind!r:.40} do not go with its vocabulary")
        self.vocabulary.check()
        return len(self.vocabulary.terms)

    def check_raw(self, raw: RawDocuments) -> None:
        """Refuse documents of a model file that this reader has not read."""
        if self.vocabulary is not None:
            self.vocabulary.check_counts(raw)

    def read_first(self, X: Any, choice: TermChoice, words: dict[str, Any], names: Sequence[str] | None) -> Corpus:
        """The documents that settle kind, terms and features.

        ``words`` are the arguments of DocumentTerms, ``names`` those of the columns of a matrix.
        """
        self.kind, self.vocabulary, self.n_columns = input_kind(X), None, None
        if self.kind == "embeddings":
            corpus = self._embeddings(X, "X")
            self.n_columns = corpus.features.shape[1]
            return corpus
        if self.kind == "matrix":
            self.vocabulary = TermMatrix(choice, names)
        else:
            X, self.vocabulary = check_documents(X), DocumentTerms(choice, **words)
        raw = self.vocabulary.first_counts(X)
        terms = self.vocabulary.choose(raw)
        if self.transformer is None:
            return Corpus(terms, terms, has_terms(terms), raw)
        features = self.transformer.fit_transform(terms if self.kind == "matrix" else X)
        return Corpus(terms, features, has_terms(terms))

    def read(self, X: Any, name: str = "X") -> Corpus:
        """Further documents as the first ones were read."""
        X = known_frame(X)
        kind = self._checked_kind(X, name)
        X = check_documents(X, name) if kind == "documents" else X
        corpus = self.corpus_of(self.read_raw(X, name))
        if self.transformer is None or corpus.terms is None:
            return corpus
        return replace(corpus, features=self.transformer.transform(corpus.terms if kind == "matrix" else X))

    def read_raw(self, X: Any, name: str = "X") -> RawDocuments:
        """Further documents with all their words, whether these are terms or not."""
        kind = self._checked_kind(X, name)
        if self.vocabulary is None:
            return RawDocuments(self._embeddings(X, name).features)
        return self.vocabulary.count(check_documents(X, name) if kind == "documents" else X)

    def corpus_of(self, raw: RawDocuments) -> Corpus:
        """Rows of documents with the terms that the first ones settled."""
        if self.vocabulary is None:
            return Corpus(None, raw.rows, np.ones(raw.rows.shape[0], dtype=bool), raw)
        terms = self.vocabulary.weigh(raw)
        return Corpus(terms, terms, has_terms(terms), raw)

    def grown(self, raw: RawDocuments, weights: Doubles) -> "DocumentReader":
        """A reader with the same terms, and those that documents, which have weights, add to them."""
        other = copy.copy(self)
        other.vocabulary = None if self.vocabulary is None else self.vocabulary.grown(raw, weights)
        return other

    def _checked_kind(self, X: Any, name: str) -> str:
        kind = input_kind(X)
        if kind != self.kind:
            raise InvalidDataError(f"{name} is of the kind {kind!r}, but fit got {self.kind!r}; pass the same kind.")
        return kind

    def _embeddings(self, X: Any, name: str) -> Corpus:
        X = check_array(X, dtype=[np.float64, np.float32], input_name=name)
        if self.n_columns not in (None, X.shape[1]):
            raise InvalidDataError(
                f"{name} has {X.shape[1]} columns, but the fit had {self.n_columns}: pass the same ones."
            )
        return self.corpus_of(RawDocuments(X))
