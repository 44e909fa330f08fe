"""DocumentClustering: raw documents in, topics out."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widegap._warnings import warn_caller
from widegap.base._clusterer import Clusterer, Objective
from widegap.base._docs import shared_docs
from widegap.base._progress import logger
from widegap.base._records import Recorder
from widegap.base._validation import HasMethods, Interval, StrOptions, check_generator, digest_of
from widegap.constraints._side_information import SIZE_CONSTRAINTS
from widegap.documents._corpus import Corpus, cosines_to_means
from widegap.documents._linear_scores import explaining_weights
from widegap.documents._reader import DocumentReader
from widegap.documents._topic_constraints import TopicSay
from widegap.documents._topic_refits import TopicRefits
from widegap.documents._topic_rules import FLOOR
from widegap.documents._topic_search import FoundTopics, Reduction, TopicSearch
from widegap.documents._topic_steps import TopicRecord
from widegap.documents._topic_terms import TopicViews
from widegap.documents._vocabulary import TermChoice
from widegap.exceptions import InvalidDataError, StarvedClusterWarning


@shared_docs
class DocumentClustering(TopicViews, TopicRefits, TopicSay):
    """Topics of documents by maximum margin clustering.

    Documents become rows of term weights, (1 + ln tf) ln(n / df) of length one; these are reduced by latent semantic
    analysis (LSA), clustered by spherical k-means, and from there by :class:`CPM3C`, or by :class:`M2DCU` if there is
    a universum. A few rounds of self-training on all terms end the fit, so that every topic is a weight for each term:
    that is what scores new documents, and what :meth:`top_terms` shows. The largest matrix, documents by terms, stays
    sparse.

    Known labels, links and bounds on sizes hold in every step, so that they hold in ``labels_`` and shape the topics.
    There is no ``sample_weight``: the number of documents that hold a term decides its weight, and whether it counts
    at all, so that a document of weight 2 would not be the same as the document twice. Repeat it in X instead.

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

    stop_words : str, list of str or None, default="english"
        Words that do not count: those of a language by its English name, or of the one that "auto" recognises (all but
        English need the extra ``documents``), or a list.

    stemmer : "porter" or None, default=None
        "porter" counts English words with the same stem as one term.

    min_df : "auto" or int, default="auto"
        In how many documents a term must occur. "auto" is 3 from 200 documents on, 2 from 100, else 1.

    max_df : float, default=0.5
        In which fraction of the documents a term may occur.

    max_features : int or None, default=10000
        Most terms that stay, those in most documents first. None for all.

    n_components : "auto" or int, default="auto"
        Dimension of LSA. "auto" is 100, or one for eight documents in collections of fewer than 800.

    size_min, size_max : None, int, float or sequence of n_clusters of them, default=None
        Least and largest size of every topic: a number of documents, a share of those that have a topic as a float up
        to 1, or one for each topic. Bounds are met exactly, those that cannot be met are refused. Without ``size_min``
        a topic keeps a tenth of n / k documents; none is ever empty. For an estimator as ``method`` set its own.

    random_state : int, RandomState instance or None, default=None
        Determines the starts; also those of a ``method`` that leaves its own ``random_state`` open.

    <verbose>

    <callback>

    Attributes
    ----------
    labels_ : ndarray of shape (n_documents,), dtype int32
        Topic of each document. -1 for documents without any term (empty, only stop words or rare words) that no label
        or link ties to a topic, and for those that ``refit`` moved into the universum.

    topics_ : ndarray of shape (n_topics,), dtype int32
        Numbers of the topics: 0 to n_clusters - 1 after ``fit``; ``refit`` keeps those of the topics that stay.

    classes_ : list of length n_topics
        The known label of each topic in the order of ``topics_``, None for a topic without one. After ``fit``, labels
        have the first topics in sorted order.

    topic_names_ : dict of int to str
        The known label of each topic, or its first three terms.

    n_clusters_ : int
        Number of topics.

    objective_ : float or None
        Regularised squared hinge loss of ``coef_`` and ``intercept_`` as one-vs-rest classifiers of ``labels_``, a
        mean over documents and topics: 1 where nothing is separated, 0 for a single topic. On embeddings and the
        features of a transformer it is that of the method; None where another estimator's labels are scored by means.

    history_ : list of TopicRecord
        step, iteration, objective, flips and seconds: runs of the start, iterations of the margins, and rounds of
        self-training, which are the ones that lower ``objective_``.

    n_iter_ : int
        Rounds of self-training, or iterations of the method where there are none.

    converged_ : bool
        Whether the labels had settled by then; the rounds are few on purpose, so False is no reason to worry.

    starved_ : bool
        Whether a topic is as small as it may get, a tenth of n / k documents, so that this bound and not its terms
        decides its members. A warning then names it.

    coef_, intercept_ : ndarray of shape (n_topics, n_terms or n_features) and (n_topics,)
        Weights that score documents.

    terms_ : ndarray of str of shape (n_terms,), or None
        The terms; None for embeddings.

    term_weights_ : ndarray of shape (n_topics, n_terms), or None
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
        "stop_words": [str, list, tuple, set, frozenset, None],
        "stemmer": [StrOptions({"porter"}), None],
        "min_df": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_df": [Interval(Real, 0, 1, closed="right")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        **SIZE_CONSTRAINTS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }
    _objective = Objective(
        "squared hinge loss",
        "lower",
        "How badly weights of terms tell each topic from the rest, plus their size: 0 would be topics that nothing "
        "connects, 1 is where nothing is separated.",
    )
    _record = TopicRecord
    _stored = {
        **dict.fromkeys(("topics_", "coef_", "intercept_", "margins_", "centrality_"), np.ndarray),
        "term_weights_": np.ndarray | None,
        "objective_": float | None,
        "_reader": DocumentReader,
    }
    # The fitted documents and the reduction by LSA, which only ``refit`` needs.
    _not_stored = Clusterer._not_stored | {"_corpus", "_universum", "_marked", "_reduction", "_given"}

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
        n_components="auto",
        size_min=None,
        size_max=None,
        random_state=None,
        verbose=0,
        callback=None,
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
        self.size_min = size_min
        self.size_max = size_max
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def decision_function(self, X: Any) -> np.ndarray[Any, Any]:
        """Score of every document for every topic.

        Parameters
        ----------
        X : like that of ``fit``
            Documents to score.

        Returns
        -------
        ndarray of shape (n_documents, n_topics), or (n_documents,) for two topics
            For two topics the lead of the second over the first.
        """
        scores = self._scores(self._read_fitted(X))
        return scores[:, 1] - scores[:, 0] if self.n_clusters_ == 2 else scores

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
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
        if self._scores_terms:
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

    def _read_fitted(self, X):
        check_is_fitted(self)
        return self._reader.read(X)

    def _read(self, X):
        return X  # by ``_prepare``, which knows the names of columns

    def _prepare(self, X, rng, side, universum, feature_names):
        """The documents to cluster, all that is known of them at the start of a fit."""
        self._reader = DocumentReader(None if isinstance(self.features, str) else self.features)
        choice = TermChoice(self.min_df, self.max_df, self.max_features)
        words = {"stop_words": self.stop_words, "stemmer": self.stemmer}
        self._corpus = self._reader.read_first(X, choice, words, feature_names)
        self._rows_digest = digest_of(X)
        self._universum = [] if universum is None else [self._reader.read(universum, "universum")]
        self._marked = np.zeros(len(self._corpus.known), dtype=bool)
        self._given = side
        self._reduction = Reduction(self.n_components) if self.features == "lsa" else None
        return self._corpus

    def _search(self, corpus, rng):
        rules, active = self._rules_for(
            self._read_constraints(self._given, len(corpus.known)), self._marked, self.n_clusters
        )
        found = self._cluster(rules, active, None, self._marked, self._universum, rng)
        k = len(found.scores.coef)
        self._store(found, active, np.arange(k, dtype=np.int32), rules.heard.classes_of(k))

    def _store_single_cluster(self, corpus):
        self._search(corpus, check_generator(self.random_state))  # one topic has scores and terms, too

    def _cluster(self, rules, active, start, marked, universum, rng):
        """Labels and scores of the documents that take part."""
        corpus, outside = self._corpus.take(active), self._universum_features(marked, universum)
        recorder = Recorder(TopicRecord, self.callback, logger.info if self.verbose else None)
        search = TopicSearch(rules, rng, recorder)
        return self._found(search, corpus, start, outside)

    def _found(self, search, corpus, start, universum) -> FoundTopics:
        reduction = self._reduction if self._scores_terms else None
        if not isinstance(self.method, str):
            return search.by_estimator(self.method, corpus, universum, reduction)
        rows = self._scored_rows(corpus)
        if search.k == 1:
            return search.single(rows)
        if self._scores_terms:
            return search.in_terms(rows, start, universum, reduction)
        return search.in_features(rows, start, universum)

    def _universum_features(self, marked, universum):
        parts = [*universum, self._corpus.take(marked)] if marked.any() else universum
        if not parts:
            return None
        if self.method == "cpm3c":
            raise InvalidDataError("method='cpm3c' takes no universum; set method='m2dcu' or method='auto'.")
        joined = Corpus.joined(parts)
        return joined.features[joined.known] if joined.known.any() else None

    def _store(self, found, active, topics, classes):
        scores, rows = found.scores, self._scored_rows(self._corpus.take(active))
        self.topics_, self.n_clusters_, self.classes_ = topics, len(topics), classes
        self.coef_, self.intercept_ = scores.coef, scores.intercept
        self.labels_ = np.full(len(active), -1, dtype=np.int32)
        self.labels_[active] = np.append(topics, np.int32(-1))[scores.labels]
        self.term_weights_ = scores.coef if self._scores_terms else self._explain(active, scores.labels)
        self.margins_, self.centrality_ = (np.full(len(active), np.nan) for _ in range(2))
        self.margins_[active] = scores.leads(rows)
        known = scores.labels >= 0
        self.centrality_[self.labels_ >= 0] = cosines_to_means(rows[known], scores.labels[known], len(topics))
        self.objective_, self.starved_ = scores.objective, scores.starved
        self.history_, self.n_iter_, self.converged_ = found.records, found.n_iter, found.converged
        if self.starved_ and self.size_min is None:
            self._warn_starved()

    def _warn_starved(self):
        sizes = {int(topic): int(np.count_nonzero(self.labels_ == topic)) for topic in self.topics_}
        least = min(sizes.values())
        if self.size_max is not None and least > max(1, int(FLOOR * sum(sizes.values()) / len(sizes))):
            return  # the largest size decided, which the user asked for
        smallest = ", ".join(str(topic) for topic, size in sizes.items() if size == least)
        warn_caller(
            f"Topic {smallest} has {least} of {sum(sizes.values())} documents, the least that one of {len(sizes)} may "
            "have, so that this bound and not the terms decided some of them; lower n_clusters, or read these "
            "documents before you rely on the topic.",
            StarvedClusterWarning,
        )

    def _explain(self, active, labels):
        """Weights of terms for labels that were found in other features."""
        terms = self._corpus.take(active).terms
        return None if terms is None else explaining_weights(terms, labels, self.n_clusters_)
