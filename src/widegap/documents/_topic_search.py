"""The search for topics: a start on the sphere, margins in few dimensions, weights of all terms.

1. Spherical k-means on rows of length one: centroids are renewed to length one, too, and a run is judged by the summed
   cosine of the rows and their centroids. Where labels are known, clusters are numbered by them, and the best run goes
   on with these documents in their places, as does k-means from the means of these if every topic has some.
2. Maximum margin clustering from there, with a bias, which finds topics of unequal size. It may also empty clusters
   that are real. Clusters to believe in can be found again by a classifier that has seen other documents: if weights
   from one half of the documents do not predict the labels of the other half well enough (``RECOVERY``, an adjusted
   Rand index), the step is done again in the order that stays close to the start, and without a bias.
3. Self-training of one-vs-rest squared hinges on all terms: fit weights to the labels, label by the weights, repeat.

No step sees a class. The constants were tuned by accuracy on rec4, news4, news20, WebKB, Reuters,
RCV1 and Cora; how they depend on n, on samples of 60 to 200 documents.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from widegap._types import Floats, Labels, Matrix
from widegap._warnings import muted
from widegap.base._records import IterationRecord, Recorder
from widegap.base._starts import sample_size
from widegap.constraints._known_starts import matched_to_anchors, with_anchors
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.cutting_plane._cpm3c import CPM3C
from widegap.cutting_plane._cutting_plane_clusterer import VARIANCE_TOL
from widegap.cutting_plane._m2dcu import M2DCU
from widegap.documents._corpus import Corpus, Transformer
from widegap.documents._linear_scores import (
    LinearScores,
    fit_linear_scores,
    fit_svm,
    judged,
    mean_scores,
    relabelled,
)
from widegap.documents._spherical_kmeans import LLOYD_STEPS, of_length_one, settled, spherical_runs
from widegap.documents._topic_rules import TopicRules
from widegap.exceptions import InvalidDataError
from widegap.features._spectrum import leading_variances
from widegap.forest._search_space import rows_to_search
from widegap.rows._matrices import count_distinct_rows
from widegap.rows._threads import one_blas_thread

# The usual size in latent semantic analysis; settled with the others below on the collections named above.
LSA_RANK = 100
DOCUMENTS_A_DIMENSION = 8  # of LSA in small collections: with as many dimensions as documents all are equally far apart
LSA_STEPS = 2  # power iterations of the randomised SVD: LSA needs the leading space, not single vectors
KMEANS_RUNS = 20  # of which the best is taken: not tuned by itself; runs share their products with the rows
MARGIN_STEPS = 40  # most iterations: self-training follows, which needs no converged labels
TRAINING_STEPS = 5  # rounds, few on purpose: not tuned by itself, settled with the others
MARGIN_RIDGE = 0.3  # weight of the regulariser, in units of the (k-1)-th variance
BALANCE = 0.3  # how far mean scores may differ
RECOVERY = 0.85  # seen with the bias: 0.86-0.95 where it helps (Reuters, RCV1, news4, rec4), 0.70-0.82 where it harms


@dataclass(frozen=True)
class TopicRecord:
    """One step on the way to the topics.

    Attributes
    ----------
    step : {"start", "margins", "terms"}
        A run of spherical k-means, an iteration of maximum margin clustering, or a round of self-training.
    iteration : int
        Number within the step, from 0.
    objective : float or None
        ``objective_`` as it stands; None before there are scores to judge.
    flips : int or None
        Documents whose topic changed; None for starts, whose topics have no common numbers.
    seconds : float
        Since the start of the search.
    """

    step: str
    iteration: int
    objective: float | None
    flips: int | None
    seconds: float

    def line(self) -> str:
        """The step as one line of the log."""
        reached = "" if self.objective is None else f", objective {self.objective:.6g}"
        changed = "" if self.flips is None else f", {self.flips} flips"
        return f"{self.step} {self.iteration}{reached}{changed}, {self.seconds:.2f} s"


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
        self._lsa: Transformer | None = None

    def settle(self, terms: Matrix, k: int, seed: int) -> None:
        """Fit it, unless that was done before."""
        if self._lsa is None:
            rank = lsa_rank(terms.shape[0], k) if isinstance(self.rank, str) else self.rank
            self._lsa = fit_lsa(terms, rank, seed)

    def __call__(self, terms: Matrix) -> Matrix:
        """Rows in few dimensions; float32 halves the reading."""
        assert self._lsa is not None
        return self._lsa.transform(terms.astype(np.float32))


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

    def single(self, rows: Matrix) -> FoundTopics:
        """One topic of all documents."""
        scores = mean_scores(rows, np.zeros(rows.shape[0], np.int32), 1)
        return FoundTopics(replace(scores, objective=0.0), self.recorder.records)

    def in_terms(
        self, rows: Matrix, start: Labels | None, universum: Matrix | None, reduction: Reduction | None
    ) -> FoundTopics:
        """Topics of a sample of the documents in few dimensions, then of all documents in all terms."""
        _check_variety(rows)
        n, k, rng = rows.shape[0], self.k, self.rng
        seed = int(rng.integers(2**31))
        sample = rows_to_search(n, sample_size(k), self.rules.constraints.units, rng)
        terms, rules = rows[sample], self.rules.of_rows(sample)
        Z, U = terms, universum
        if reduction is not None:
            reduction.settle(terms, k, seed)
            Z, U = reduction(terms), None if universum is None else reduction(universum)
        labels = spherical_labels(Z, k, rng, lambda: self._note("start")) if start is None else start[sample]
        labels = informed_start(Z, labels, rules)
        if not self.recorder.stopped:
            labels = sphere_margins(Z, terms, labels, U, seed, rules, self._note_margins)
        found, n_rounds, settled = self_train(terms, labels, seed, rules, self._note_round)
        if n > len(sample):
            labels = relabelled(found, rows, self.rules).labels
            found = relabelled(fit_linear_scores(rows, labels, k, seed, self.rules.weights), rows, self.rules)
        return FoundTopics(found, self.recorder.records, n_rounds, settled)

    def onwards(self, rows: Matrix, start: Labels) -> FoundTopics:
        """Topics in all terms from those of an earlier search, whose margins need not be found again."""
        found, n_rounds, settled = self_train(rows, start, self.seed, self.rules, self._note_round)
        return FoundTopics(found, self.recorder.records, n_rounds, settled)

    def in_features(self, rows: Matrix, start: Labels | None, universum: Matrix | None) -> FoundTopics:
        """Topics by maximum margin clustering of the rows as they are."""
        init: Labels | str = "k-means" if start is None else start

        def note(record: IterationRecord) -> bool:
            return self._note("margins", record.objective, record.flips)

        sizes = self.rules.sizes() if self.rules.is_sized else {}
        model = fit_method(rows, self.k, init, universum, self.seed, self.rules.alone(), callback=note, **sizes)
        scores = LinearScores(model.labels_, model.coef_, model.intercept_, model.objective_, model.starved_)
        return FoundTopics(scores, self.recorder.records, model.n_iter_, model.converged_)

    def by_estimator(
        self, method: Any, corpus: Corpus, universum: Matrix | None, reduction: Reduction | None
    ) -> FoundTopics:
        """What a given estimator finds in the features; scores are in terms where these are what is reduced."""
        features = corpus.features
        if reduction is not None:
            _check_variety(features)
            reduction.settle(features, self.k, self.seed)
            features, universum = reduction(features), None if universum is None else reduction(universum)
        arguments: dict[str, Any] = {
            **self.rules.arguments(),
            **({} if universum is None else {"universum": universum}),
        }
        labels = _foreign_labels(_seeded(method, self.seed), features, self.k, arguments)
        k = int(labels.max()) + 1
        if corpus.in_terms:
            scores = fit_linear_scores(corpus.features, labels, k, self.seed)
            scores = judged(scores, scores.of(corpus.features)) if k > 1 else scores
            return FoundTopics(scores, self.recorder.records)
        return FoundTopics(mean_scores(corpus.features, labels, k), self.recorder.records)


def _check_variety(rows: Matrix) -> None:
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


def _foreign_labels(model: Any, X: Matrix, k: int, arguments: dict[str, Any]) -> Labels:
    """Labels 0, 1, ... of any clusterer, -1 where it has none; ``arguments`` are those of its ``fit``."""
    if "n_clusters" in model.get_params():
        model.set_params(n_clusters=k)
    model.fit(X, **arguments)
    found = np.asarray(model.labels_)
    if found.max() < 0:
        raise InvalidDataError(f"{model} found no cluster among {len(found)} documents; change its parameters.")
    kinds, labels = np.unique(found, return_inverse=True)
    return (labels - np.count_nonzero(kinds < 0)).astype(np.int32).clip(-1)


# The steps ---------------------------------------------------------------------------------------------------------


class MarginModel(Protocol):
    """What a maximum margin clustering finds, as far as topics need it."""

    labels_: Labels
    coef_: Floats
    intercept_: Floats
    objective_: float
    starved_: bool
    converged_: bool
    n_iter_: int


def lsa_rank(n_rows: int, k: int) -> int:
    """Dimension of LSA for a number of documents and topics."""
    return min(LSA_RANK, max(2 * k, n_rows // DOCUMENTS_A_DIMENSION))


def fit_lsa(X: Matrix, rank: int, seed: int) -> Transformer:
    """Latent semantic analysis: the leading singular vectors of rows, uncentred, rows again of length one."""
    svd = TruncatedSVD(min(rank, *X.shape), n_iter=LSA_STEPS, random_state=seed)
    with one_blas_thread():
        # Half the time in single precision, and no more is needed.
        found: Transformer = make_pipeline(svd, Normalizer()).fit(X.astype(np.float32))
    return found


def spherical_labels(X: Matrix, k: int, rng: np.random.Generator, stop: Callable[[], bool] = lambda: False) -> Labels:
    """The best by summed cosine of several runs of spherical k-means; rows have length one.

    ``stop`` is called after every run; True ends them.
    """
    runs = []
    with one_blas_thread():
        for run in spherical_runs(X, k, KMEANS_RUNS, rng):
            runs.append(run)
            if stop():
                break
    return max(runs, key=lambda run: run[0])[1]


def informed_start(X: Matrix, labels: Labels, rules: TopicRules) -> Labels:
    """A start that keeps known labels: spherical k-means goes on from it with these in their places.

    Where every topic has a label, it also begins at the means of these documents; the larger summed cosine wins.
    """
    units, k = rules.constraints.units, rules.k
    if units is None or not rules.constraints.classes:
        return labels
    starts = [matched_to_anchors(labels, units, None, k)]
    if len(rules.constraints.classes) == k:
        anchors = units.anchors[units.of_row]
        anchored = np.flatnonzero(anchors >= 0)
        seeds = of_length_one(np.asarray(X[anchored].T @ np.eye(k, dtype=X.dtype)[anchors[anchored]]).T)
        starts.append(np.asarray(X @ seeds.T).argmax(axis=1).astype(np.int32))
    return max((_run_on(X, start, rules) for start in starts), key=lambda run: run[0])[1]


def _run_on(X: Matrix, labels: Labels, rules: TopicRules) -> tuple[float, Labels]:
    """Spherical k-means from labels, known ones in their places; the weighted sum of cosines, and the labels."""
    units, k = rules.constraints.units, rules.k
    assert units is not None
    weights = np.ones(len(labels)) if rules.weights is None else rules.weights
    labels = with_anchors(labels, units)
    for _ in range(LLOYD_STEPS):
        members = (weights[:, None] * np.eye(k)[labels]).astype(X.dtype)
        cosines = np.asarray(X @ of_length_one(np.asarray(X.T @ members).T).T)
        last, labels = labels, with_anchors(cosines.argmax(axis=1), units)
        if settled(last, labels):
            break
    return float(weights @ cosines[np.arange(len(labels)), labels]), labels


def sphere_margins(
    X: Matrix,
    terms: Matrix,
    start: Labels,
    universum: Matrix | None,
    seed: int,
    rules: TopicRules,
    stop: Callable[[int], bool],
) -> Labels:
    """Maximum margin labels of rows of length one, from starting labels; ``terms`` are the rows to judge them by.

    ``stop`` is called after every iteration with the number of labels it changed; True ends them.
    """
    stopped = False

    def note(record: IterationRecord) -> bool:
        nonlocal stopped
        stopped = stop(record.flips)
        return stopped

    k = rules.k
    settings = {"C": _weight_of_loss(X, k), **rules.sizes(), "max_iter": MARGIN_STEPS, "callback": note}
    margins = partial(fit_method, X, k, start, universum, seed, rules.alone(), **settings)
    with muted(ConvergenceWarning):  # a few iterations suffice: self-training follows
        labels = margins(order="one_step", balance=BALANCE).labels_
        if not stopped and held_out_recovery(terms, labels, seed) < RECOVERY:
            labels = margins(order="linearize_first").labels_
    return labels


def _weight_of_loss(X: Matrix, k: int) -> float | str:
    variances = leading_variances(X, np.asarray(X.mean(axis=0)).ravel(), k - 1)
    variances = variances[variances > VARIANCE_TOL * variances[0]]
    return 1 / (MARGIN_RIDGE * float(variances[-1])) if len(variances) else "auto"


def held_out_recovery(X: Matrix, labels: Labels, seed: int) -> float:
    """Agreement of labels with those that weights from the other half of the rows predict."""
    first = np.random.default_rng(seed).permutation(len(labels)) % 2 == 0
    found = np.full(len(labels), -1, dtype=np.int32)
    for half in (first, ~first):
        if len(np.unique(labels[half])) > 1:
            found[~half] = fit_svm(X[half], labels[half], seed).predict(X[~half])
    return float(adjusted_rand_score(labels, found))


def fit_method(
    X: Matrix,
    k: int,
    start: Labels | str,
    universum: Matrix | None,
    seed: int,
    constraints: RowConstraints,
    **settings: Any,
) -> MarginModel:
    """M2DCU fitted with the universum, CPM3C where there is none."""
    settings = {**settings, "init": start, "random_state": seed}
    side = SideInformation(constraints=constraints)
    if universum is None:
        return CPM3C(k, **settings)._fit(X, side=side)
    return M2DCU(k, loss="max", **settings)._fit(X, side=side, universum=universum)


def self_train(
    X: Matrix,
    labels: Labels,
    seed: int,
    rules: TopicRules,
    stop: Callable[[LinearScores, int], bool] = lambda found, flips: False,
) -> tuple[LinearScores, int, bool]:
    """Fit weights to the labels, label by the weights as the rules let them, and so on for a few rounds.

    Returns the scores, the number of rounds and whether the labels have settled. ``stop`` is called after every round
    with its scores and how many labels it changed; True ends them.
    """
    for n_rounds in range(1, TRAINING_STEPS + 1):
        last, found = labels, relabelled(fit_linear_scores(X, labels, rules.k, seed, rules.weights), X, rules)
        labels = found.labels
        if stop(found, int(np.count_nonzero(last != labels))):
            break
        if settled(last, labels):
            return found, n_rounds, True
    return found, n_rounds, False
