"""DocumentClustering: raw documents in, topics out."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widegap._types import Floats, Labels, Mask, Matrix
from widegap.base._clusterer import Clusterer, Objective
from widegap.base._docs import shared_docs
from widegap.base._one_fit import one_fit
from widegap.base._progress import logger, progress_logging
from widegap.base._records import Recorder
from widegap.base._scored_clusterer import ScoredClusterer
from widegap.base._validation import HasMethods, Interval, StrOptions, check_cluster_number, check_generator, digest_of
from widegap.constraints._side_information import (
    SIZE_CONSTRAINTS,
    RowConstraints,
    SideInformation,
)
from widegap.constraints._units import check_cliques
from widegap.documents._corpus import Corpus, cosines_to_means
from widegap.documents._linear_scores import explaining_weights, minus_squared_hinges
from widegap.documents._reader import DocumentReader
from widegap.documents._stored_topics import check_stored_topics
from widegap.documents._topic_rules import (
    TopicRules,
    check_positions,
    check_topics,
    matched_topics,
    of_documents,
    refuse_for_method,
    taking_part,
    warn_of_starved,
)
from widegap.documents._topic_search import FoundTopics, Reduction, TopicRecord, TopicSearch
from widegap.documents._updatable_topics import UpdatableTopics
from widegap.documents._vocabulary import TermChoice, TermNames
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.updating._updatable import MEMORY

if TYPE_CHECKING:
    import pandas as pd

NAME_TERMS = 3  # in the name of a topic: as many as fit into a column of a table


@shared_docs
class DocumentClustering(UpdatableTopics, ScoredClusterer):
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

    memory : int, default=5000
        Most documents that the model remembers for ``update``: counts of their words, not the texts, which are also
        written to model files unless they are saved without rows. 0 remembers none.

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

    changes_, drift_ : list of TopicChange, and Drift
        After ``update``: what became of every topic, and whether the new documents come from the source of those
        before, with the terms that speak most against it.

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

    **Text.** Words are runs of two letters or more of any script, in lower case. Where there are no spaces between
    words, Han characters are cut into overlapping pairs, as most words have two; katakana is a word as it stands, and
    hiragana, which is mostly grammar, does not count. Thai, Lao, Burmese and Khmer are cut into pairs of signs.
    Documents that look like HTML lose their tags, comments, scripts and styles.

    **What to expect.** Without labels, topics that differ in size by a factor of ten are found badly by any method
    here. Constants of the method were tuned by accuracy on the public collections in the
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
        **MEMORY,
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
    _not_stored = Clusterer._not_stored | {"_corpus", "_universum", "_marked", "_reduction", "_remembered", "_side"}

    topics_: Labels
    labels_: Labels
    margins_: Floats
    centrality_: Floats
    term_weights_: Floats | None
    coef_: Floats
    intercept_: Floats
    objective_: Any  # float or None
    _reader: DocumentReader
    _corpus: Corpus
    _universum: list[Corpus]
    _marked: Mask
    _side: SideInformation
    _reduction: Reduction | None

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        method: Any = "auto",
        features: Any = "lsa",
        stop_words: str | Collection[str] | None = "english",
        stemmer: str | None = None,
        min_df: int | str = "auto",
        max_df: float = 0.5,
        max_features: int | None = 10_000,
        n_components: int | str = "auto",
        size_min: float | Sequence[float] | None = None,
        size_max: float | Sequence[float] | None = None,
        memory: int = 5000,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callable[[TopicRecord], bool | None] | None = None,
    ) -> None:
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
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        universum: Any = None,
        feature_names: Sequence[str] | None = None,
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
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
            TermNames of the columns of a sparse matrix.
        known : array-like of shape (n_documents,), default=None
            Labels of some documents, numbers or strings; -1, None or NaN where the label is not known. These documents
            keep their labels, and ``classes_`` tells which topic is which. There may be more topics than labels.
        must_link : array-like, default=None
            Documents that belong together: pairs of their positions, shape (m, 2), or one group a document, shape
            (n_documents,), with -1, None or NaN for none.
        cannot_link : array-like, default=None
            Documents that must be in different topics, in the same two forms; documents of a group are all apart.

        Returns
        -------
        DocumentClustering
            The fitted estimator.
        """
        side = SideInformation(known, must_link, cannot_link)
        return self._complete_fit(X, side=side, universum=universum, feature_names=feature_names)

    def fit_predict(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        universum: Any = None,
        feature_names: Sequence[str] | None = None,
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Labels:
        """Find the topics of documents and return ``labels_``.

        Parameters
        ----------
        X, y, universum, feature_names, known, must_link, cannot_link
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_documents,), dtype int32
        """
        links = {"known": known, "must_link": must_link, "cannot_link": cannot_link}
        return self.fit(X, y, universum=universum, feature_names=feature_names, **links).labels_

    def refit(
        self,
        *,
        universum_labels: Sequence[int] = (),
        universum_documents: Sequence[int] | Sequence[str] = (),
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
        """Fit again from the present labels, with more in the universum, or with new known labels and links.

        The topics that stay keep their numbers as far as their documents stay together, so that the two results can
        be compared. What was moved by earlier calls stays in the universum; labels and links of such documents no
        longer apply, as they have no topic.

        Parameters
        ----------
        universum_labels : sequence of int, default=()
            Topics whose documents belong to no topic; their number is subtracted from the number of topics.
        universum_documents : sequence of int or of str, default=()
            Positions of fitted documents, or further documents.
        known, must_link, cannot_link
            As for ``fit``, for all fitted documents; after ``update`` for the new ones, and those that are remembered
            keep theirs. None keeps those of the last fit, anything else replaces them. If all topics carry labels
            already, a new label makes a new topic.

        Returns
        -------
        DocumentClustering
            The estimator, fitted anew.
        """
        check_is_fitted(self)
        if not hasattr(self, "_corpus"):
            raise NotSupportedError("refit needs the fitted documents: model files hold none; fit again.")
        gone = check_topics(universum_labels, self.topics_)
        further, universum = list(universum_documents), self._universum
        marked = self._marked | np.isin(self._fitted_labels, gone)
        if further and isinstance(further[0], str):
            universum = [*universum, self._reader.read(further, "universum_documents")]
        elif further:
            marked[check_positions(further, len(self.labels_))] = True
        links = {"known": known, "must_link": must_link, "cannot_link": cannot_link}
        side = replace(self._side, **{name: value for name, value in links.items() if value is not None})
        with one_fit(self):
            self._refit(np.setdiff1d(self.topics_, gone), side, marked, universum)
        return self

    def decision_function(self, X: Any) -> Floats:
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
        return self._labels_and_scores(X)[1]

    def predict(self, X: Any) -> Labels:
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
        return self._labels_and_scores(X)[0]

    @property
    def terms_(self) -> TermNames | None:
        """ndarray of str of shape (n_terms,), or None: the terms."""
        return self._reader.terms

    def top_terms(self, n: int = 10) -> dict[int, list[str]]:
        """Terms with the largest weights for each topic.

        Parameters
        ----------
        n : int, default=10
            Most terms a topic; only terms in favour of the topic count.

        Returns
        -------
        dict of int to list of str
            Terms by topic, the strongest first. With a stemmer, a stem is shown as its most frequent word.
        """
        check_is_fitted(self)
        terms, weights = self.terms_, self.term_weights_
        if terms is None or weights is None:
            raise NotSupportedError(
                "top_terms needs terms, but fit got a dense array of embeddings; fit documents or a sparse matrix of "
                "counts instead, or documents with features=<the transformer that makes the embeddings>."
            )
        strongest = np.argsort(-weights, axis=1, kind="stable")[:, :n]
        return {
            int(topic): [str(terms[j]) for j in order if own[j] > 0]
            for topic, order, own in zip(self.topics_, strongest, weights, strict=True)
        }

    @property
    def topic_names_(self) -> dict[int, str]:
        """dict of int to str: the known label of each topic, or its first three terms, or its number without any."""
        check_is_fitted(self)
        terms = {} if self.terms_ is None else self.top_terms(NAME_TERMS)
        names = {topic: ", ".join(terms[topic]) if terms else f"topic {topic}" for topic in map(int, self.topics_)}
        labels = zip(names, getattr(self, "classes_", []), strict=False)  # model files of 0.1 have none
        kept = self.__dict__.get("_kept_names", {})  # some may be those of topics that a refit has dropped
        names |= {topic: name for topic, name in kept.items() if topic in names}
        return names | {topic: str(label) for topic, label in labels if label is not None}

    def representatives(self, n: int = 3) -> dict[int, list[int]]:
        """Most central documents of each topic: those with the largest cosine to the mean of their topic.

        Parameters
        ----------
        n : int, default=3
            Most documents a topic.

        Returns
        -------
        dict of int to list of int
            Positions of the documents in what was fitted, by topic, the most central first.
        """
        return self._first_documents(lambda: -self.centrality_, n)

    def borderline(self, n: int = 3) -> dict[int, list[int]]:
        """Documents of each topic with the smallest lead over another topic.

        Parameters
        ----------
        n : int, default=3
            Most documents a topic.

        Returns
        -------
        dict of int to list of int
            Positions of the documents in what was fitted, by topic, the least certain first.
        """
        return self._first_documents(lambda: self.margins_, n)

    def to_frame(self, of: str = "topics", *, n_terms: int = 10, n_documents: int = 3) -> "pd.DataFrame":
        """The result as a pandas DataFrame.

        Parameters
        ----------
        of : {"topics", "documents"}, default="topics"
            One row a topic (topic, size, name, top_terms, representatives), or one row a document (topic, name,
            margin, centrality). Documents without a topic have topic -1.
        n_terms, n_documents : int, default=10 and 3
            Length of the lists of terms and of representative documents.

        Returns
        -------
        pandas.DataFrame
        """
        check_is_fitted(self)
        try:
            import pandas as pd
        except ImportError as error:
            raise NotSupportedError("to_frame needs pandas, which is not installed: pip install pandas.") from error
        if of not in ("topics", "documents"):
            raise ValueError(f"of={of!r:.60} is not a kind of table; choose 'topics' or 'documents'.")
        names = self.topic_names_
        if of == "documents":
            shown = [names.get(int(topic), "") for topic in self.labels_]
            columns = {"topic": self.labels_, "name": shown, "margin": self.margins_, "centrality": self.centrality_}
            return pd.DataFrame(columns).rename_axis("document")
        terms = self.top_terms(n_terms) if self.terms_ is not None else dict.fromkeys(names, [])
        representatives = self.representatives(n_documents)
        rows = [
            (topic, int((self.labels_ == topic).sum()), name, terms[topic], representatives[topic])
            for topic, name in names.items()
        ]
        return pd.DataFrame(rows, columns=["topic", "size", "name", "top_terms", "representatives"])

    # Inside ------------------------------------------------------------------------------------------------------

    def _refusal_to_store(self) -> str | None:
        if self._scores_terms:
            return None
        return "Embeddings, and transformers of your own, have no model file; save an estimator fitted on them instead."

    @property
    def _scores_terms(self) -> bool:
        """Whether documents are scored by their terms rather than by their features."""
        return self.terms_ is not None and isinstance(self.features, str)

    def _scored_rows(self, corpus: Corpus) -> Matrix:
        return corpus.terms if corpus.terms is not None and self._scores_terms else corpus.features

    def _scores(self, corpus: Corpus) -> Floats:
        return np.asarray(self._scored_rows(corpus) @ self.coef_.T) + self.intercept_

    def _map_rows(self, X: Any, function: Callable[[Floats], Any]) -> Any:
        check_is_fitted(self)
        return function(self._scores(self._reader.read(X)))

    def _labels_and_scores(self, X: Any) -> tuple[Labels, Floats]:
        check_is_fitted(self)
        scores = self._scores(corpus := self._reader.read(X))
        return np.where(corpus.known, self.topics_[scores.argmax(axis=1)], np.int32(-1)), self._decision(scores)

    def _value_rule(self) -> Callable[[Floats], Floats]:
        return minus_squared_hinges

    def _read(self, X: Any) -> Any:
        return X  # by ``_prepare``, which knows the names of columns

    def _prepare(
        self,
        X: Any,
        rng: np.random.Generator,
        side: SideInformation | None = None,
        universum: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> Corpus:
        """The documents to cluster."""
        self._reader = DocumentReader(None if isinstance(self.features, str) else self.features)
        choice = TermChoice(self.min_df, self.max_df, self.max_features)
        words = {"stop_words": self.stop_words, "stemmer": self.stemmer}
        self._corpus = self._reader.read_first(X, choice, words, feature_names)
        self._rows_digest = digest_of(X)
        self._universum = [] if universum is None else [self._reader.read(universum, "universum")]
        self._marked = np.zeros(len(self._corpus.known), dtype=bool)
        self._side = SideInformation() if side is None else side
        self._reduction = Reduction(self.n_components) if self.features == "lsa" else None
        return self._corpus

    def _search(self, corpus: Corpus, rng: np.random.Generator) -> None:
        constraints = self._read_constraints(self._side, len(corpus.known))
        rules, active = self._rules_for(constraints, self._marked, self.n_clusters)
        found = self._cluster(rules, active, None, self._marked, self._universum, rng)
        k = len(found.scores.coef)
        self._store(found, active, np.arange(k, dtype=np.int32), rules.constraints.classes_of(k))

    def _store_single_cluster(self, corpus: Corpus) -> None:
        self._search(corpus, check_generator(self.random_state))  # one topic has scores and terms, too

    def _cluster(
        self,
        rules: TopicRules,
        active: Mask,
        start: Labels | None,
        marked: Mask,
        universum: list[Corpus],
        rng: np.random.Generator,
    ) -> FoundTopics:
        """Labels and scores of the documents that take part."""
        corpus, outside = self._corpus.take(active), self._universum_features(marked, universum)
        recorder = Recorder(TopicRecord, self._all_callbacks(), logger.info if self.verbose else None)
        return self._found(TopicSearch(rules, rng, recorder), corpus, start, outside)

    def _found(
        self, search: TopicSearch, corpus: Corpus, start: Labels | None, universum: Matrix | None
    ) -> FoundTopics:
        reduction = self._reduction if self._scores_terms else None
        if not isinstance(self.method, str):
            return search.by_estimator(self.method, corpus, universum, reduction)
        rows = self._scored_rows(corpus)
        if search.k == 1:
            return search.single(rows)
        if self._scores_terms:
            return search.in_terms(rows, start, universum, reduction)
        return search.in_features(rows, start, universum)

    def _universum_features(self, marked: Mask, universum: list[Corpus]) -> Matrix | None:
        parts = [*universum, self._corpus.take(marked)] if marked.any() else universum
        if not parts:
            return None
        if self.method == "cpm3c":
            raise InvalidDataError("method='cpm3c' takes no universum; set method='m2dcu' or method='auto'.")
        joined = Corpus.joined(parts)
        return joined.features[joined.known] if joined.known.any() else None

    def _store(self, found: FoundTopics, active: Mask, topics: Labels, classes: list[Any]) -> None:
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
            warn_of_starved(self.labels_, topics, self.size_max)

    def _explain(self, active: Mask, labels: Labels) -> Floats | None:
        """Weights of terms for labels that were found in other features."""
        terms = self._corpus.take(active).terms
        return None if terms is None else explaining_weights(terms, labels, self.n_clusters_)

    def _rules_for(self, constraints: RowConstraints, marked: Mask, k: int) -> tuple[TopicRules, Mask]:
        """Rules for k topics, and which documents take part: not those that were ``marked`` for the universum."""
        active = taking_part(self._corpus.known, constraints.units, marked)
        n = int(np.count_nonzero(active))
        check_cluster_number(n, k)
        constraints = of_documents(constraints, active)
        refuse_for_method(constraints, self.method, self.size_min, self.size_max)
        k = max(k, len(constraints.classes))
        if constraints.units is not None:
            check_cliques(constraints.units, k, np.flatnonzero(active))
        return TopicRules(constraints, self.size_min, self.size_max, n, k), active

    def _refit(self, topics: Labels, side: SideInformation, marked: Mask, universum: list[Corpus]) -> None:
        """Search from the present labels for the topics that are left; stored only once that has gone well."""
        # A label beyond the number of topics makes a topic of its own.
        constraints, labels, n_own = self._fitted_constraints(side), self._fitted_labels, len(self.labels_)
        rules, active = self._rules_for(constraints, marked, len(topics))
        # Documents without terms that are now tied to a topic have no label to start from; any will do.
        start = np.where(np.isin(labels, topics), np.searchsorted(topics, labels), -1)[active]
        with progress_logging(self.verbose):
            rng, begin = check_generator(self.random_state), start.clip(0).astype(np.int32)
            found = self._cluster(rules, active, begin, marked, universum, rng)
        topics = matched_topics(topics, start, found.scores.labels, len(found.scores.coef))
        order, classes = np.argsort(topics), rules.constraints.classes_of(len(topics))
        moved, further = marked & ~self._marked, universum[len(self._universum) :]
        self._side, self._marked, self._universum = side, marked, universum
        scores = found.scores.reordered(order)
        self._store(replace(found, scores=scores), active, topics[order], [classes[p] for p in order])
        self._complete_refit(constraints, moved, further, n_own)

    def _first_documents(self, key: Callable[[], Floats], n: int) -> dict[int, list[int]]:
        check_is_fitted(self)
        order = np.argsort(key(), kind="stable")
        labels = self.labels_[order]
        return {int(topic): order[labels == topic][:n].tolist() for topic in self.topics_}

    def _check_stored(self) -> None:
        check_stored_topics(self)
        if self._memory is not None:
            self._memory.check(self._reader, self.topics_)
