"""From rows of documents to topics: which steps are taken for which rows, and what is recorded on the way."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from widegap._types import Labels
from widegap.base._records import Recorder
from widegap.base._starts import sample_size
from widegap.documents._corpus import Corpus
from widegap.documents._linear_scores import LinearScores, fit_linear_scores, mean_scores, relabelled
from widegap.documents._topic_rules import TopicRules
from widegap.documents._topic_steps import (
    TopicRecord,
    fit_lsa,
    fit_method,
    informed_start,
    lsa_rank,
    self_train,
    sphere_margins,
    spherical_labels,
)
from widegap.exceptions import InvalidDataError
from widegap.forest._search_space import rows_to_search
from widegap.rows._matrices import count_distinct_rows


@dataclass(frozen=True)
class FoundTopics:
    """Labels and scores of topics, and how the search for them ended."""

    scores: LinearScores
    records: list[TopicRecord]
    n_iter: int = 0
    converged: bool = True


class Reduction:
    """LSA of rows of terms, of a given rank or one that suits their number; the first rows settle it."""

    def __init__(self, rank: int | str):
        self.rank = rank
        self._lsa: Any = None

    def settle(self, terms: Any, k: int, seed: int) -> None:
        """Fit it, unless that was done before."""
        if self._lsa is None:
            rank = lsa_rank(terms.shape[0], k) if isinstance(self.rank, str) else self.rank
            self._lsa = fit_lsa(terms, rank, seed)

    def __call__(self, terms: Any) -> Any:
        """Rows in few dimensions; float32 halves the reading."""
        return None if terms is None else self._lsa.transform(terms.astype(np.float32))


class TopicSearch:
    """The search for k topics; a stop that the callback asks for leads to a result by the shortest way left."""

    def __init__(self, rules: TopicRules, rng: np.random.Generator, recorder: Recorder[TopicRecord]):
        self.k, self.rules, self.rng, self.recorder = rules.k, rules, rng, recorder
        self.seed = int(rng.integers(2**31))
        self._counts: Counter[str] = Counter()

    def _note(self, step: str, objective: float | None = None, flips: int | None = None) -> bool:
        """Record a step; returns whether to stop."""
        iteration = self._counts[step]
        self._counts[step] += 1
        return self.recorder.add(step=step, iteration=iteration, objective=objective, flips=flips)

    def _note_margins(self, flips: int) -> bool:
        return self._note("margins", flips=flips)

    def _note_round(self, found: LinearScores, flips: int) -> bool:
        return self._note("terms", found.objective, flips)

    def single(self, rows: Any) -> FoundTopics:
        """One topic of all documents."""
        scores = mean_scores(rows, np.zeros(rows.shape[0], np.int32), 1)
        return FoundTopics(replace(scores, objective=0.0), self.recorder.records)

    def in_terms(self, rows: Any, start: Labels | None, universum: Any, reduction: Reduction | None) -> FoundTopics:
        """Topics of a sample of the documents in few dimensions, then of all documents in all terms."""
        _check_variety(rows)
        n, k, rng = rows.shape[0], self.k, self.rng
        seed = int(rng.integers(2**31))
        sample = rows_to_search(n, sample_size(k), self.rules.heard.units, rng)
        terms, rules = rows[sample], self.rules.of_rows(sample)
        Z, U = terms, universum
        if reduction is not None:
            reduction.settle(terms, k, seed)
            Z, U = reduction(terms), reduction(universum)
        labels = spherical_labels(Z, k, rng, lambda: self._note("start")) if start is None else start[sample]
        labels = informed_start(Z, labels, rules)
        if not self.recorder.stopped:
            labels = sphere_margins(Z, terms, labels, U, seed, rules, self._note_margins)
        found, n_rounds, settled = self_train(terms, labels, seed, rules, self._note_round)
        if n > len(sample):
            labels = relabelled(found, rows, self.rules).labels
            found = relabelled(fit_linear_scores(rows, labels, k, seed, self.rules.weights), rows, self.rules)
        return FoundTopics(found, self.recorder.records, n_rounds, settled)

    def in_features(self, rows: Any, start: Labels | None, universum: Any) -> FoundTopics:
        """Topics by maximum margin clustering of the rows as they are."""
        init = "k-means" if start is None else start

        def note(record: Any) -> bool:
            return self._note("margins", record.objective, record.flips)

        sizes = self.rules.sizes() if self.rules.is_sized else {}
        model = fit_method(rows, self.k, init, universum, self.seed, self.rules.alone(), callback=note, **sizes)
        scores = LinearScores(model.labels_, model.coef_, model.intercept_, model.objective_, model.starved_)
        return FoundTopics(scores, self.recorder.records, model.n_iter_, model.converged_)

    def by_estimator(self, method: Any, corpus: Corpus, universum: Any, reduction: Reduction | None) -> FoundTopics:
        """What a given estimator finds in the features; scores are in terms where these are what is reduced."""
        features = corpus.features
        if reduction is not None:
            _check_variety(features)
            reduction.settle(features, self.k, self.seed)
            features, universum = reduction(features), reduction(universum)
        others = {**self.rules.arguments(), **({} if universum is None else {"universum": universum})}
        labels = _foreign_labels(_seeded(method, self.seed), features, self.k, others)
        k = int(labels.max()) + 1
        if corpus.in_terms:
            return FoundTopics(fit_linear_scores(corpus.terms, labels, k, self.seed), self.recorder.records)
        return FoundTopics(mean_scores(corpus.features, labels, k), self.recorder.records)


def _check_variety(rows: Any) -> None:
    """Refuse documents that hold the same terms only."""
    if count_distinct_rows(rows, 2) < 2:
        raise InvalidDataError(
            f"All {rows.shape[0]} documents with any term hold the same terms, so nothing separates them into "
            "topics; set n_clusters=1, lower min_df, or check the documents."
        )


def _seeded(method: Any, seed: int) -> Any:
    """A copy of an estimator in which no random_state is left open."""
    model = clone(method)
    params = model.get_params()
    is_open = (name for name, value in params.items() if value is None and name.split("__")[-1] == "random_state")
    return model.set_params(**dict.fromkeys(is_open, seed))


def _foreign_labels(model: Any, X: Any, k: int, others: dict[str, Any]) -> Labels:
    """Labels 0, 1, ... of any clusterer, -1 where it has none; ``others`` are arguments of its ``fit``."""
    if "n_clusters" in model.get_params():
        model.set_params(n_clusters=k)
    model.fit(X, **others)
    found = np.asarray(model.labels_)
    if found.max() < 0:
        raise InvalidDataError(f"{model} found no cluster among {len(found)} documents; change its parameters.")
    kinds, labels = np.unique(found, return_inverse=True)
    return (labels - np.count_nonzero(kinds < 0)).astype(np.int32).clip(-1)
