"""DocumentClustering: raw documents in, topics out."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from widegap._validation import HasMethods, Interval, StrOptions, check_cluster_number, check_generator, digest_of
from widegap.data.text._corpus import Corpus, cosines_to_means, has_terms, input_kind
from widegap.data.text._vocabulary import DocumentTerms, TermChoice, TermMatrix
from widegap.data.text._words import check_documents
from widegap.estimators._base import Clusterer
from widegap.estimators._starts import SAMPLE
from widegap.estimators._topic_views import TopicViews
from widegap.estimators._topics import (
    Readout,
    fit_lsa,
    fit_method,
    fit_readout,
    matched_topics,
    mean_readout,
    relabelled,
    self_train,
    sphere_margins,
    spherical_labels,
)
from widegap.exceptions import InvalidDataError, NotSupportedError

LSA_RANK = 100


class DocumentClustering(TopicViews, Clusterer):
    """Topics of documents by maximum margin clustering.

    Documents become rows of term weights, (1 + ln tf) ln(n / df) of length one; these are reduced by latent semantic
    analysis (LSA), clustered by spherical k-means, and from there by :class:`CPM3C`, or by :class:`M2DCU` if there is
    a universum. A few rounds of self-training on all terms end the fit, so that every topic is a weight for each term:
    that is what scores new documents, and what :meth:`top_terms` shows. The largest matrix, documents by terms, stays
    sparse.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of topics.

    method : {"auto", "cpm3c", "m2dcu"} or estimator, default="auto"
        "auto" is "m2dcu" where there is a universum, else "cpm3c"; without a universum both are the same. An
        estimator clusters the features instead, with its own ``n_clusters`` replaced; its labels are kept as they are,
        and documents it labels -1 belong to no topic. A universum is passed on to its ``fit``.

    features : {"lsa", "tfidf"} or transformer, default="lsa"
        What is clustered: the leading ``n_components`` of LSA, all term weights, or what a transformer makes of the
        documents (of the sparse matrix, if that is what is fitted), such as sentence embeddings. With a transformer
        new documents are scored by its features; the terms then only explain the topics.

    stop_words : "english", list of str or None, default="english"
        Words that do not count.

    stemmer : "porter" or None, default=None
        "porter" counts English words with the same stem as one term.

    min_df : "auto" or int, default="auto"
        In how many documents a term must occur. "auto" is 3 from 200 documents on, 2 from 100, else 1.

    max_df : float, default=0.5
        In which fraction of the documents a term may occur.

    max_features : int or None, default=10000
        Most terms that stay, those in most documents first. None for all.

    n_components : int or None, default=None
        Dimension of LSA; None is 100.

    random_state : int, RandomState instance or None, default=None
        Determines the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_documents,), dtype int32
        Topic of each document. -1 for documents without any term (empty, only stop words or rare words), and for those
        that ``refit`` moved into the universum.

    topics_ : ndarray of shape (n_clusters_,), dtype int32
        Numbers of the topics: 0 to n_clusters - 1 after ``fit``; ``refit`` keeps those of the topics that stay.

    topic_names_ : dict of int to str
        The first three terms of each topic.

    n_clusters_ : int
        Number of topics.

    coef_, intercept_ : ndarray of shape (n_clusters_, n_terms or n_features) and (n_clusters_,)
        Weights that score documents.

    terms_ : ndarray of str of shape (n_terms,), or None
        The terms; None for embeddings.

    term_weights_ : ndarray of shape (n_clusters_, n_terms), or None
        Weight of each term for each topic: ``coef_``, unless the features are those of a transformer.

    margins_ : ndarray of shape (n_documents,)
        Lead of a document's topic over the next; negative where another topic scores higher, NaN where there is none.

    centrality_ : ndarray of shape (n_documents,)
        Cosine of a document and the mean of its topic; NaN where there is none.

    Notes
    -----
    **Other input.** A sparse matrix is taken for counts if all entries are whole numbers, and weighted; other
    entries are weights that only get length one. A dense array is a table of embeddings: it is clustered as it is by
    the method with its own defaults, which makes this class a clusterer for topic pipelines that reduce and name the
    topics themselves.

    **Text.** Words are runs of two letters or more of any script, in lower case; Chinese, Japanese, Thai and others
    that have no spaces between words are cut into pairs of signs. Documents that look like HTML lose their tags,
    scripts and styles.

    **What to expect.** Without labels, topics that differ in size by a factor of ten are found badly by any method
    here. Constants of the method were settled while looking at the accuracy on the public collections in the
    benchmarks.

    References
    ----------
    .. [1] D. Zhang, J. Wang, L. Si, "Document clustering with universum", SIGIR 2011.

    Examples
    --------
    >>> from widegap import DocumentClustering
    >>> notes = [
    ...     "bake the bread with flour and yeast", "knead flour, yeast and water for bread",
    ...     "bread needs salt, flour and time", "the goalkeeper saved a late goal",
    ...     "a late goal decided the match", "the match ended without a goal",
    ... ]
    >>> model = DocumentClustering(n_clusters=2, random_state=0).fit(notes)
    >>> groups = {model.labels_[0]: "food", model.labels_[3]: "sport"}
    >>> [groups[label] for label in model.labels_]
    ['food', 'food', 'food', 'sport', 'sport', 'sport']
    >>> groups[model.predict(["who scored the goal?"])[0]]
    'sport'
    >>> sorted(model.top_terms(2)[model.labels_[3]])
    ['goal', 'match']
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"auto", "cpm3c", "m2dcu"}), HasMethods(["fit"])],
        "features": [StrOptions({"lsa", "tfidf"}), HasMethods(["fit_transform", "transform"])],
        "stop_words": [StrOptions({"english"}), list, tuple, set, frozenset, None],
        "stemmer": [StrOptions({"porter"}), None],
        "min_df": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_df": [Interval(Real, 0, 1, closed="right")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }
    _stored = {
        **dict.fromkeys(("topics_", "coef_", "intercept_", "margins_", "centrality_"), np.ndarray),
        **dict.fromkeys(("terms_", "term_weights_"), np.ndarray | None),
        "_kind": str,
        "_reader": DocumentTerms | TermMatrix | None,
        "_n_columns": int,
    }
    # The fitted documents and the reduction by LSA, which only ``refit`` needs.
    _not_stored = Clusterer._not_stored | {"_corpus", "_universum", "_marked", "_encoder"}

    def __init__(
        self,
        n_clusters=2,
        *,
        method="auto",
        features="lsa",
        stop_words="english",
        stemmer=None,
        min_df="auto",
        max_df=0.5,
        max_features=10_000,
        n_components=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.features = features
        self.stop_words = stop_words
        self.stemmer = stemmer
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X, y=None, *, universum=None, feature_names=None):
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

        Returns
        -------
        DocumentClustering
            The fitted estimator.
        """
        self._validate_params()
        self._corpus = self._read_first(X, feature_names)
        self._rows_digest = digest_of(X)
        self._universum = [] if universum is None else [self._read(universum, "universum")]
        self._marked = np.zeros(len(self._corpus.known), dtype=bool)
        found, active = self._cluster(self.n_clusters, None, self._marked, self._universum)
        self._store(found, active, np.arange(len(found.coef), dtype=np.int32))
        return self

    def fit_predict(self, X, y=None, *, universum=None, feature_names=None):
        """Find the topics of documents and return ``labels_``.

        Parameters
        ----------
        X, y, universum, feature_names
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_documents,), dtype int32
        """
        return self.fit(X, y, universum=universum, feature_names=feature_names).labels_

    def refit(self, *, universum_labels=(), universum_documents=()):
        """Move topics or documents into the universum and fit again from the present labels.

        The topics that stay keep their numbers as far as their documents stay together, so that the two results can
        be compared. What was moved by earlier calls stays in the universum.

        Parameters
        ----------
        universum_labels : sequence of int, default=()
            Topics whose documents belong to no topic; their number is subtracted from the number of topics.
        universum_documents : sequence of int or of str, default=()
            Positions of fitted documents, or further documents.

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
            universum = [*universum, self._read(further, "universum_documents")]
        elif further:
            marked[self._check_positions(further)] = True
        topics = np.setdiff1d(self.topics_, gone)
        start = np.where(np.isin(self.labels_, topics), np.searchsorted(topics, self.labels_), -1).astype(np.int32)
        found, active = self._cluster(len(topics), start, marked, universum)
        topics = matched_topics(topics, start[active], found.labels, len(found.coef))
        order = np.argsort(topics)
        self._marked, self._universum = marked, universum
        self._store(found.reordered(order), active, topics[order])
        return self

    def decision_function(self, X):
        """Score of every document for every topic.

        Parameters
        ----------
        X : like that of ``fit``
            Documents to score.

        Returns
        -------
        ndarray of shape (n_documents, n_clusters_), or (n_documents,) for two topics
            For two topics the lead of the second over the first.
        """
        scores = self._scores(self._read_fitted(X))
        return scores[:, 1] - scores[:, 0] if self.n_clusters_ == 2 else scores

    def predict(self, X):
        """Topic with the largest score, for each document.

        Parameters
        ----------
        X : like that of ``fit``
            Documents to assign; they need not have been seen by ``fit``.

        Returns
        -------
        ndarray of shape (n_documents,), dtype int32
            -1 for documents that hold no term known from ``fit``.
        """
        corpus = self._read_fitted(X)
        return np.where(corpus.known, self.topics_[self._scores(corpus).argmax(axis=1)], np.int32(-1))

    def _refusal_to_store(self):
        if isinstance(self.features, str) and self._kind != "embeddings":
            return None
        return "Embeddings, and transformers of yours, have no model file; save an estimator fitted on them instead."

    @property
    def _scores_terms(self):
        """Whether documents are scored by their terms rather than by their features."""
        return self.terms_ is not None and isinstance(self.features, str)

    def _scored_rows(self, corpus):
        return corpus.terms if self._scores_terms else corpus.features

    def _scores(self, corpus):
        return np.asarray(self._scored_rows(corpus) @ self.coef_.T) + self.intercept_

    def _read_first(self, X, feature_names):
        """The documents to cluster; settles the terms and the features."""
        self._kind = input_kind(X)
        self._reader = self._encoder = self.terms_ = None
        if self._kind == "embeddings":
            corpus = _embeddings(X, "X")
            self._n_columns = corpus.features.shape[1]
            return corpus
        X = X if self._kind == "matrix" else check_documents(X)
        self._reader = self._new_reader(X, feature_names)
        terms = self._reader.fit_transform(X)
        self.terms_ = self._reader.terms
        if isinstance(self.features, str):
            return Corpus(terms, terms, has_terms(terms))
        self._encoder = clone(self.features)
        features = self._encoder.fit_transform(terms if self._kind == "matrix" else X)
        return Corpus(terms, features, has_terms(terms))

    def _new_reader(self, X, feature_names):
        n = X.shape[0] if self._kind == "matrix" else len(X)
        min_df = min(3, 1 + n // 100) if self.min_df == "auto" else self.min_df
        choice = TermChoice(min_df, self.max_df, self.max_features)
        if self._kind == "matrix":
            return TermMatrix(choice, feature_names)
        return DocumentTerms(choice, self.stop_words, self.stemmer)

    def _read_fitted(self, X):
        check_is_fitted(self)
        return self._read(X, "X")

    def _read(self, X, name):
        """Further documents as the fit sees them."""
        kind = input_kind(X)
        if kind != self._kind:
            raise InvalidDataError(f"{name} is of the kind {kind!r}, but fit got {self._kind!r}; pass the same kind.")
        if kind == "embeddings":
            return _embeddings(X, name, self._n_columns)
        X = X if kind == "matrix" else check_documents(X, name)
        terms = self._reader.transform(X)
        features = terms
        if not isinstance(self.features, str):
            features = self._encoder.transform(terms if kind == "matrix" else X)
        return Corpus(terms, features, has_terms(terms))

    def _cluster(self, k, start, marked, universum) -> tuple[Readout, Any]:
        """Labels and weights for the documents that take part, and which these are."""
        active = self._corpus.known & ~marked
        check_cluster_number(np.count_nonzero(active), k)
        corpus, others = self._corpus.take(active), self._universum_features(marked, universum)
        start = None if start is None else start[active]
        rows, rng = self._scored_rows(corpus), check_generator(self.random_state)
        seed = int(rng.integers(2**31))
        if not isinstance(self.method, str):
            found = self._cluster_otherwise(corpus, k, others, seed)
        elif k == 1:
            found = mean_readout(rows, np.zeros(rows.shape[0], np.int32), 1)
        elif self._scores_terms:
            found = self._cluster_terms(rows, k, start, others, rng)
        else:
            model = fit_method(rows, k, "k-means" if start is None else start, others, seed)
            found = Readout(model.labels_, model.coef_, model.intercept_)
        return found, active

    def _cluster_otherwise(self, corpus, k, universum, seed) -> Readout:
        """What the estimator given as the method finds."""
        rows, features = self._scored_rows(corpus), corpus.features
        if self._scores_terms:
            self._settle_lsa(rows, seed)
            features, universum = self._reduced(features), self._reduced(universum)
        labels = _foreign_labels(self.method, features, k, universum)
        n_found = int(labels.max()) + 1
        return fit_readout(rows, labels, n_found, seed) if self._scores_terms else mean_readout(rows, labels, n_found)

    def _settle_lsa(self, terms, seed):
        """Fit the reduction, if there is one and this is the first time."""
        if self.features == "lsa" and self._encoder is None:
            self._encoder = fit_lsa(terms, self.n_components or LSA_RANK, seed)

    def _cluster_terms(self, rows, k, start, universum, rng) -> Readout:
        """Topics of a sample of the documents in few dimensions, then of all documents in all terms."""
        n, seed = rows.shape[0], int(rng.integers(2**31))
        sample = np.arange(n) if n <= SAMPLE else np.sort(rng.choice(n, SAMPLE, replace=False))
        terms = rows[sample]
        self._settle_lsa(terms, seed)
        Z, U = self._reduced(terms), self._reduced(universum)
        start = spherical_labels(Z, k, rng) if start is None else start[sample]
        found = self_train(terms, sphere_margins(Z, terms, k, start, U, seed), k, seed)
        if n > SAMPLE:
            found = relabelled(fit_readout(rows, relabelled(found, rows).labels, k, seed), rows)
        return found

    def _reduced(self, terms):
        """Rows of terms as they are clustered; float32 halves the reading."""
        if terms is None or self._encoder is None:
            return terms
        return self._encoder.transform(terms).astype(np.float32)

    def _universum_features(self, marked, universum):
        parts = [*universum, self._corpus.take(marked)] if marked.any() else universum
        if not parts:
            return None
        if self.method == "cpm3c":
            raise InvalidDataError("method='cpm3c' takes no universum; set method='m2dcu' or method='auto'.")
        joined = Corpus.joined(parts)
        return joined.features[joined.known] if joined.known.any() else None

    def _store(self, found, active, topics):
        corpus = self._corpus.take(active)
        self.topics_, self.n_clusters_ = topics, len(topics)
        self.coef_, self.intercept_ = found.coef, found.intercept
        self.labels_ = np.full(len(active), -1, dtype=np.int32)
        self.labels_[active] = np.append(topics, np.int32(-1))[found.labels]
        self.term_weights_ = found.coef
        if not self._scores_terms:
            self.term_weights_ = self._explain(corpus, found.labels)
        self.margins_, self.centrality_ = (np.full(len(active), np.nan) for _ in range(2))
        clustered = self.labels_ >= 0
        labels = found.labels[found.labels >= 0]
        corpus = self._corpus.take(clustered)
        self.margins_[clustered] = _leads(self._scores(corpus), labels)
        self.centrality_[clustered] = cosines_to_means(self._scored_rows(corpus), labels, len(topics))

    def _explain(self, corpus, labels):
        """Weights of terms for labels that were found in other features."""
        if corpus.terms is None:
            return None
        return fit_readout(corpus.terms, labels, self.n_clusters_, 0).coef

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


def _embeddings(X, name, n_columns=None):
    X = check_array(X, dtype=[np.float64, np.float32], input_name=name)
    if n_columns not in (None, X.shape[1]):
        raise InvalidDataError(f"{name} has {X.shape[1]} columns, but the fit had {n_columns}: pass the same ones.")
    return Corpus(None, X, np.ones(len(X), dtype=bool))


def _foreign_labels(method, X, k, universum):
    """Labels 0, 1, ... of any clusterer, -1 where it has none."""
    model = clone(method)
    if "n_clusters" in model.get_params():
        model.set_params(n_clusters=k)
    model.fit(X) if universum is None else model.fit(X, universum=universum)
    found = np.asarray(model.labels_)
    if found.max() < 0:
        raise InvalidDataError(f"{model} found no cluster among {len(found)} documents; change its parameters.")
    kinds, labels = np.unique(found, return_inverse=True)
    return (labels - np.count_nonzero(kinds < 0)).astype(np.int32).clip(-1)


def _leads(scores, labels):
    """Lead of the own score over the largest other one; infinite for a single topic."""
    rows = np.arange(len(labels))
    own = scores[rows, labels]
    others = scores.copy()
    others[rows, labels] = -np.inf
    return own - others.max(axis=1)
