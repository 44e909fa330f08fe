"""Documents, matrices of terms or embeddings as a Corpus: what the first ones settle holds for all that follow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from widegap.base._validation import check_documents, input_kind
from widegap.documents._corpus import Corpus, Transformer, has_terms
from widegap.documents._vocabulary import DocumentTerms, TermChoice, TermMatrix, TermNames
from widegap.exceptions import InvalidDataError
from widegap.rows._frames import known_frame


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
        terms = self.vocabulary.fit_transform(X)
        if self.transformer is None:
            return Corpus(terms, terms, has_terms(terms))
        features = self.transformer.fit_transform(terms if self.kind == "matrix" else X)
        return Corpus(terms, features, has_terms(terms))

    def read(self, X: Any, name: str = "X") -> Corpus:
        """Further documents as the first ones were read."""
        X = known_frame(X)
        kind = input_kind(X)
        if kind != self.kind:
            raise InvalidDataError(f"{name} is of the kind {kind!r}, but fit got {self.kind!r}; pass the same kind.")
        if self.vocabulary is None:
            return self._embeddings(X, name)
        X = X if kind == "matrix" else check_documents(X, name)
        terms = self.vocabulary.transform(X)
        if self.transformer is None:
            return Corpus(terms, terms, has_terms(terms))
        return Corpus(terms, self.transformer.transform(terms if kind == "matrix" else X), has_terms(terms))

    def _embeddings(self, X: Any, name: str) -> Corpus:
        X = check_array(X, dtype=[np.float64, np.float32], input_name=name)
        if self.n_columns not in (None, X.shape[1]):
            raise InvalidDataError(
                f"{name} has {X.shape[1]} columns, but the fit had {self.n_columns}: pass the same ones."
            )
        return Corpus(None, X, np.ones(len(X), dtype=bool))
