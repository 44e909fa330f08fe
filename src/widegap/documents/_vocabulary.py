"""From counts of words to rows of term weights: which words stay, log tf * idf, rows of length one.

Documents and matrices of counts or weights end as the same: a CSR array with one column a kept term. A weight is
(1 + ln tf) ln(n / df): a term of all documents weighs nothing. Rows without any kept term are zero.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from widegap._types import Doubles, Floats, Indices, Ints, Matrix, SparseMatrix
from widegap.base._validation import check_documents
from widegap.documents._languages import detect_language, stop_words_of
from widegap.documents._porter import porter_stem
from widegap.documents._words import count_words
from widegap.exceptions import InvalidDataError
from widegap.rows._protocols import end_to_end

TermNames: TypeAlias = npt.NDArray[np.object_]  # of terms

STEMMERS: dict[str | None, Callable[[str], str]] = {None: str, "porter": porter_stem}


def is_finite(values: Floats) -> bool:
    """Whether an array of a model file holds finite numbers."""
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())


@dataclass(frozen=True)
class RawDocuments:
    """Documents before their terms are chosen: how often each word occurs in each.

    ``words`` are the names of the columns. They are None for a matrix of terms and for embeddings, whose columns are
    always the same.
    """

    rows: Matrix
    words: TermNames | None = None

    @property
    def counts(self) -> SparseMatrix:
        """The rows of documents and matrices."""
        assert not isinstance(self.rows, np.ndarray)
        return self.rows

    @staticmethod
    def joined(parts: Sequence["RawDocuments"]) -> "RawDocuments":
        """The documents of several collections, with the words of all."""
        named = [part.words for part in parts if part.words is not None]
        if not named:
            return RawDocuments(end_to_end([part.rows for part in parts]))
        words = np.array(sorted({word for one in named for word in one}), dtype=object)
        place = {word: j for j, word in enumerate(words)}
        aligned = [
            _merge(part.counts, np.array([place[word] for word in one], dtype=np.intp), len(words))
            for part, one in zip(parts, named, strict=True)
        ]
        return RawDocuments(end_to_end(aligned), words)

    def of(self, documents: Indices | slice) -> "RawDocuments":
        """Some of the documents, and all words."""
        return RawDocuments(self.rows[documents], self.words)

    def of_used_words(self) -> "RawDocuments":
        """The same without words that no document holds; a matrix keeps its columns."""
        if self.words is None:
            return self
        used = np.unique(self.counts.indices)
        return RawDocuments(self.counts[:, used], self.words[used])


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
        frequencies, least = np.bincount(counts.indices, minlength=n_terms), self._least(n)
        kept = np.flatnonzero((frequencies >= least) & (frequencies <= self.max_df * n))
        if not len(kept):
            raise self._no_terms_error(n, int(np.count_nonzero(frequencies)), least)
        if self.max_features is not None and len(kept) > self.max_features:
            most = np.argsort(-frequencies[kept], kind="stable")[: self.max_features]
            kept = np.sort(kept[most])
        return kept, np.log(n / frequencies[kept])

    def further_columns_and_idf(self, counts: SparseMatrix, n_old: int, weights: Doubles) -> tuple[Indices, Floats]:
        """The columns to add to the first ``n_old``, which stay, and ln(n / df) of each.

        Documents stand for as many as their weights say. ``max_features`` is for old and new terms together, but old
        ones that are no longer among the most frequent make room for new ones.
        """
        n, n_terms = counts.shape
        frequencies = np.bincount(counts.indices, minlength=n_terms)
        weighted = np.bincount(counts.indices, np.repeat(weights, np.diff(counts.indptr)), n_terms)
        total = float(weights.sum())
        kept = (frequencies >= self._least(n)) & (weighted > 0) & (weighted <= self.max_df * total)
        kept[:n_old] = frequencies[:n_old] > 0
        chosen = np.flatnonzero(kept)
        if self.max_features is not None:
            chosen = chosen[np.argsort(-frequencies[chosen], kind="stable")[: self.max_features]]
        chosen = np.sort(chosen[chosen >= n_old])
        return chosen, np.log(total / weighted[chosen])

    def _least(self, n: int) -> int:
        return min(3, 1 + n // 100) if isinstance(self.min_df, str) else self.min_df

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

    def check_counts(self, raw: RawDocuments) -> None:
        """Refuse counts of a model file that are not those of such a matrix."""
        _check_entries(raw, self._are_counts)
        if raw.words is not None or raw.counts.shape[1] != self._n_columns:
            raise ValueError(f"it remembers documents of other terms than the {self._n_columns} of its matrix")

    def fit_transform(self, X: Any) -> SparseMatrix:
        """Rows of the matrix from which terms are chosen."""
        return self.choose(self.first_counts(X))

    def first_counts(self, X: Any) -> RawDocuments:
        """Entries of the matrix from which terms are to be chosen."""
        counts = _check_matrix(X)
        self._are_counts = bool((counts.data == np.rint(counts.data)).all())
        self._n_columns = counts.shape[1]
        return RawDocuments(counts)

    def choose(self, raw: RawDocuments) -> SparseMatrix:
        """Choose the terms; rows of the documents that settle them."""
        names = self._names(self._n_columns)
        self._columns, self._idf = self.choice.columns_and_idf(raw.counts)
        self.terms = names[self._columns]
        return self.weigh(raw)

    def transform(self, X: Any) -> SparseMatrix:
        """Rows of any matrix with the same columns."""
        return self.weigh(self.count(X))

    def count(self, X: Any) -> RawDocuments:
        """Entries of any matrix with the same columns."""
        counts = _check_matrix(X)
        if counts.shape[1] != self._n_columns:
            raise InvalidDataError(
                f"X has {counts.shape[1]} columns, but the fit had {self._n_columns}: pass the same terms."
            )
        return RawDocuments(counts)

    def grown(self, raw: RawDocuments, weights: Doubles) -> Self:
        """The same terms, and those that documents, which have weights, add to them."""
        other, n_old = copy.copy(self), len(self._columns)
        columns = np.append(self._columns, np.setdiff1d(np.arange(self._n_columns), self._columns))
        kept, idf = self.choice.further_columns_and_idf(sp.csr_array(raw.counts[:, columns]), n_old, weights)
        other._columns = np.append(self._columns, columns[kept])
        other._idf = np.append(self._idf, idf)
        other.terms = np.append(self.terms, self._names(self._n_columns)[columns[kept]])
        return other

    def _names(self, n_columns: int) -> TermNames:
        if self.names is None:
            return np.array([f"x{j}" for j in range(n_columns)], dtype=object)
        if len(self.names) != n_columns:
            raise InvalidDataError(
                f"feature_names has {len(self.names)} entries, X has {n_columns} columns; one name a column is needed."
            )
        return np.asarray(self.names, dtype=object)

    def weigh(self, raw: RawDocuments) -> SparseMatrix:
        """Rows of documents that were raw."""
        return _weigh(raw.counts[:, self._columns], self._idf if self._are_counts else None)


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

    def check_counts(self, raw: RawDocuments) -> None:
        """Refuse counts of a model file that are not those of words."""
        _check_entries(raw, whole=True)
        words = raw.words
        if (
            words is None
            or words.dtype.kind != "O"
            or words.shape != raw.counts.shape[1:]
            or len(set(words.tolist())) < len(words)
        ):
            raise ValueError("it remembers documents whose words have no column each")

    def fit_transform(self, documents: Any) -> SparseMatrix:
        """Rows of the documents from which terms are chosen."""
        return self.choose(self.first_counts(documents))

    def first_counts(self, documents: Any) -> RawDocuments:
        """Words of the documents from which terms are to be chosen."""
        documents = check_documents(documents)
        if self.language == "auto":
            self.language = detect_language(documents)
            self._stop_words = frozenset() if self.language is None else stop_words_of(self.language)
        return self.count(documents)

    def choose(self, raw: RawDocuments) -> SparseMatrix:
        """Choose the terms; rows of the documents that settle them."""
        stems, names, column_of = self._group(*_totals(raw))
        counts = _merge(raw.counts, column_of, len(stems))
        kept, self._idf = self.choice.columns_and_idf(counts)
        self._column = {stems[j]: i for i, j in enumerate(kept)}
        self.terms = names[kept]
        return _weigh(counts[:, kept], self._idf)

    def transform(self, documents: Any) -> SparseMatrix:
        """Rows of any documents; unknown words do not count."""
        return self.weigh(self.count(documents))

    def count(self, documents: Any) -> RawDocuments:
        """Words of any documents, stop words left out."""
        counts, words = count_words(check_documents(documents))
        kept = np.array([j for j, word in enumerate(words) if word not in self._stop_words], dtype=np.intp)
        return RawDocuments(counts[:, kept], words[kept])

    def weigh(self, raw: RawDocuments) -> SparseMatrix:
        """Rows of documents that were raw; unknown words do not count."""
        assert raw.words is not None
        stem = STEMMERS[self.stemmer]
        column_of = np.array([self._column.get(stem(word), -1) for word in raw.words], dtype=np.intp)
        return _weigh(_merge(raw.counts, column_of, len(self._column)), self._idf)

    def grown(self, raw: RawDocuments, weights: Doubles) -> Self:
        """The same terms in their columns, and those that documents, which have weights, add to them."""
        other, n_old = copy.copy(self), len(self._column)
        stems, names, place = self._group(*_totals(raw))
        columns = {stem: n_old + j for j, stem in enumerate(stems)} | self._column
        column_of = np.array([columns[stem] for stem in stems], dtype=np.intp)[place]
        counts = _merge(raw.counts, column_of, n_old + len(stems))
        kept, idf = self.choice.further_columns_and_idf(counts, n_old, weights)
        added = kept - n_old
        other._column = self._column | {stems[j]: n_old + i for i, j in enumerate(added)}
        other._idf = np.append(self._idf, idf)
        other.terms = np.append(self.terms, names[added])
        return other

    def _group(self, words: TermNames, totals: Floats | Ints) -> tuple[list[str], TermNames, Indices]:
        """The distinct stems, the most frequent word of each, and the stem of every word."""
        stem = STEMMERS[self.stemmer]
        stem_of = [stem(word) for word in words]
        stems = sorted(set(stem_of))
        place = {found: j for j, found in enumerate(stems)}
        column_of = np.array([place[found] for found in stem_of], dtype=np.intp)
        names = np.empty(len(stems), dtype=object)
        rising = np.argsort(totals, kind="stable")
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


def _check_entries(raw: RawDocuments, whole: bool) -> None:
    """Refuse entries of a model file that are not positive, or not whole where they count words."""
    entries = raw.counts.data
    if not np.isfinite(entries).all() or (entries <= 0).any() or (whole and (entries != np.rint(entries)).any()):
        raise ValueError("it remembers documents in which words occur a number of times that is not possible")


def _totals(raw: RawDocuments) -> tuple[TermNames, Floats]:
    """Words, and how often each occurs."""
    assert raw.words is not None
    return raw.words, np.asarray(raw.counts.sum(axis=0)).ravel()


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
