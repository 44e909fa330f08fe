"""From counts of words to rows of term weights: which words stay, log tf * idf, rows of length one.

Documents and matrices of counts or weights end as the same: a CSR array with one column a kept term. A weight is
(1 + ln tf) ln(n / df): a term of all documents weighs nothing. Rows without any kept term are zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from widegap._types import Floats, Indices, Ints, SparseMatrix
from widegap.base._validation import check_documents
from widegap.documents._languages import detect_language, stop_words_of
from widegap.documents._porter import porter_stem
from widegap.documents._words import count_words
from widegap.exceptions import InvalidDataError

TermNames: TypeAlias = npt.NDArray[np.object_]  # of terms

STEMMERS: dict[str | None, Callable[[str], str]] = {None: str, "porter": porter_stem}


def is_finite(values: Floats) -> bool:
    """Whether an array of a model file holds finite numbers."""
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())


@dataclass(frozen=True)
class TermChoice:
    """Which terms stay: those in at least ``min_df`` documents and at most the fraction ``max_df`` of them.

    Of these the ``max_features`` in most documents. A ``min_df`` of "auto" is 3 from 200 documents on, 2 from 100,
    else 1.
    """

    min_df: int | str
    max_df: float
    max_features: int | None

    def columns_and_idf(self, counts: sp.csr_array) -> tuple[Indices, Floats]:
        """The kept columns of a matrix without stored zeros, and ln(n / df) of each."""
        n, n_terms = counts.shape
        frequencies = np.bincount(counts.indices, minlength=n_terms)
        least = min(3, 1 + n // 100) if isinstance(self.min_df, str) else self.min_df
        kept = np.flatnonzero((frequencies >= least) & (frequencies <= self.max_df * n))
        if not len(kept):
            raise self._no_terms_error(n, int(np.count_nonzero(frequencies)), least)
        if self.max_features is not None and len(kept) > self.max_features:
            most = np.argsort(-frequencies[kept], kind="stable")[: self.max_features]
            kept = np.sort(kept[most])
        return kept, np.log(n / frequencies[kept])

    def _no_terms_error(self, n: int, n_terms: int, least: int) -> InvalidDataError:
        if not n_terms:
            return InvalidDataError(
                f"The {n} documents hold no words besides stop words, so nothing tells them apart; check the documents."
            )
        return InvalidDataError(
            f"None of the {n_terms} terms occurs in at least min_df={least} and in at most the fraction "
            f"max_df={self.max_df:g} of the {n} documents; lower min_df, raise max_df, or check the documents."
        )


class TermMatrix:
    """Rows of term weights from a matrix of counts, if all entries are whole, or else of weights.

    After ``fit_transform`` the attribute ``terms`` holds the name of each column.
    """

    terms: TermNames
    _stored = {
        "choice": TermChoice,
        "names": Any,
        "terms": np.ndarray,
        "_are_counts": bool,
        "_columns": np.ndarray,
        "_idf": np.ndarray,
        "_n_columns": int,
    }

    def __init__(self, choice: TermChoice, names: Sequence[str] | None = None):
        self.choice, self.names = choice, names

    def check(self) -> None:
        """Refuse columns of a model file that do not fit each other."""
        columns = self._columns
        whole = columns.dtype.kind == "i" and columns.shape == self._idf.shape == (len(self.terms),)
        if not whole or not is_finite(self._idf) or not ((columns >= 0) & (columns < self._n_columns)).all():
            raise ValueError(f"its {len(self.terms)} terms do not fit the columns of a matrix")

    def fit_transform(self, X: Any) -> SparseMatrix:
        """Rows of the matrix from which terms are chosen."""
        counts = _check_matrix(X)
        names = self._names(counts.shape[1])
        self._are_counts = bool((counts.data == np.rint(counts.data)).all())
        self._columns, self._idf = self.choice.columns_and_idf(counts)
        self.terms = names[self._columns]
        self._n_columns = counts.shape[1]
        return self._rows(counts)

    def transform(self, X: Any) -> SparseMatrix:
        """Rows of any matrix with the same columns."""
        counts = _check_matrix(X)
        if counts.shape[1] != self._n_columns:
            raise InvalidDataError(
                f"X has {counts.shape[1]} columns, but the fit had {self._n_columns}: pass the same terms."
            )
        return self._rows(counts)

    def _names(self, n_columns: int) -> TermNames:
        if self.names is None:
            return np.array([f"x{j}" for j in range(n_columns)], dtype=object)
        if len(self.names) != n_columns:
            raise InvalidDataError(
                f"feature_names has {len(self.names)} entries, X has {n_columns} columns; one name a column is needed."
            )
        return np.asarray(self.names, dtype=object)

    def _rows(self, counts: sp.csr_array) -> SparseMatrix:
        return _weigh(counts[:, self._columns], self._idf if self._are_counts else None)


class DocumentTerms:
    """Rows of term weights from documents. Words with the same stem are one term, named by the most frequent of them.

    Stop words are a list, or those of a language; "auto" recognises it. After ``fit_transform`` the attribute ``terms``
    holds the name of each column, and ``language`` the language, None if it was not asked for or none was recognised.
    """

    terms: TermNames
    language: str | None = None
    _stored = {
        "choice": TermChoice,
        "stemmer": str | None,
        "terms": np.ndarray,
        "_stop_words": frozenset[str],
        "language": str | None,
        "_idf": np.ndarray,
        "_column": dict[str, int],
    }

    def __init__(self, choice: TermChoice, stop_words: Any, stemmer: str | None):
        self.choice, self.stemmer = choice, stemmer
        self.language = stop_words if isinstance(stop_words, str) else None
        self._stop_words: frozenset[str] = frozenset()
        if not isinstance(stop_words, str):
            self._stop_words = frozenset(stop_words or ())
        elif stop_words != "auto":
            self._stop_words = stop_words_of(stop_words)

    def check(self) -> None:
        """Refuse terms of a model file that do not fit each other."""
        n = len(self.terms)
        fit = self.stemmer in STEMMERS and is_finite(self._idf) and self._idf.shape == (n,)
        if not fit or sorted(self._column.values()) != list(range(n)):
            raise ValueError(f"its {n} terms have no column each")

    def fit_transform(self, documents: Any) -> SparseMatrix:
        """Rows of the documents from which terms are chosen."""
        documents = check_documents(documents)
        if self.language == "auto":
            self.language = detect_language(documents)
            self._stop_words = frozenset() if self.language is None else stop_words_of(self.language)
        counts, words = count_words(documents)
        stems, names, column_of = self._group(words, np.asarray(counts.sum(axis=0)).ravel())
        counts = _merge(counts, column_of, len(stems))
        kept, self._idf = self.choice.columns_and_idf(counts)
        self._column = {stems[j]: i for i, j in enumerate(kept)}
        self.terms = names[kept]
        return _weigh(counts[:, kept], self._idf)

    def transform(self, documents: Any) -> SparseMatrix:
        """Rows of any documents; unknown words do not count."""
        counts, words = count_words(check_documents(documents))
        stem = STEMMERS[self.stemmer]
        column_of = [self._column.get(stem(word), -1) if word not in self._stop_words else -1 for word in words]
        return _weigh(_merge(counts, np.array(column_of, dtype=np.intp), len(self._column)), self._idf)

    def _group(self, words: TermNames, totals: Floats | Ints) -> tuple[list[str], TermNames, Indices]:
        """The distinct stems, the most frequent word of each, and the stem of every word (-1 for stop words)."""
        stem = STEMMERS[self.stemmer]
        stem_of = [None if word in self._stop_words else stem(word) for word in words]
        stems = sorted({found for found in stem_of if found is not None})
        place: dict[str | None, int] = {found: j for j, found in enumerate(stems)}
        column_of = np.array([place.get(found, -1) for found in stem_of], dtype=np.intp)
        names = np.empty(len(stems), dtype=object)
        rising = np.argsort(totals, kind="stable")
        rising = rising[column_of[rising] >= 0]
        names[column_of[rising]] = words[rising]  # the last one assigned is the most frequent
        return stems, names, column_of


def _check_matrix(X: Any) -> sp.csr_array:
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    rows = sp.csr_array(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if rows.data.size and rows.data.min() < 0:
        raise InvalidDataError(
            f"X holds the value {rows.data.min():g}, but counts and weights of terms are not negative; pass embeddings "
            "as a dense array."
        )
    return rows


def _merge(counts: sp.csr_array, column_of: Indices, n_columns: int) -> sp.csr_array:
    """Add up columns that go to the same place; those that go to -1 are left out."""
    sources = np.flatnonzero(column_of >= 0)
    ones = np.ones(len(sources))
    return counts @ sp.csr_array((ones, (sources, column_of[sources])), shape=(len(column_of), n_columns))


def _weigh(counts: sp.csr_array, idf: Floats | None) -> SparseMatrix:
    """Rows of length one, in place: (1 + ln tf) idf of counts, or weights as they are where there is no idf."""
    if idf is not None:
        counts.data = (1 + np.log(counts.data)) * idf[counts.indices].astype(counts.dtype)
    counts.eliminate_zeros()
    counts.sort_indices()
    dtype = sp.get_index_dtype(maxval=max(counts.nnz, *counts.shape))  # liblinear wants small ones wherever they do
    counts.indices, counts.indptr = counts.indices.astype(dtype), counts.indptr.astype(dtype)
    found: SparseMatrix = normalize(counts, copy=False)
    return found
