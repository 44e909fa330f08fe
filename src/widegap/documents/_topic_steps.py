"""The steps of a document clustering: a start on the sphere, margins in few dimensions, weights of all terms.

1. Spherical k-means on rows of length one: centroids are renewed to length one, too, and a run is judged by the summed
   cosine of the rows and their centroids. Where labels are known, clusters are numbered by them, and the best run goes
   on with these documents in their places, as does k-means from the means of these if every topic has some.
2. Maximum margin clustering from there, with a bias, which finds topics of unequal size. It may also empty clusters
   that are real. Clusters to believe in can be found again by a classifier that has seen other documents: if weights
   from one half of the documents do not predict the labels of the other half well enough (``RECOVERY``, an adjusted
   Rand index), the step is done again in the order that stays close to the start, and without a bias.
3. Self-training of one-vs-rest squared hinges on all terms: fit weights to the labels, label by the weights, repeat.

No step sees a class. The constants were settled while looking at the accuracy on rec4, news4, news20, WebKB, Reuters,
RCV1 and Cora; how they depend on n, on samples of 60 to 200 documents.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from widegap._types import Labels
from widegap._warnings import muted
from widegap.base._records import IterationRecord
from widegap.constraints._known_starts import matched_to_anchors, with_anchors
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.cutting_plane._cpm3c import CPM3C
from widegap.cutting_plane._cutting_plane_clusterer import RANK_TOL
from widegap.cutting_plane._m2dcu import M2DCU
from widegap.documents._linear_scores import LinearScores, fit_linear_scores, fit_svm, relabelled
from widegap.documents._spherical_kmeans import LLOYD_STEPS, of_length_one, settled, spherical_runs
from widegap.documents._topic_rules import TopicRules
from widegap.features._spectrum import leading_variances
from widegap.rows._threads import one_blas_thread

LSA_RANK = 100
ROWS_A_DIMENSION = 8  # of LSA in small collections: with as many dimensions as documents all are equally far apart
SVD_STEPS = 2
STARTS = 20
MARGIN_STEPS = 40
TRAINING_STEPS = 5
RIDGE = 0.3  # weight of the regulariser, in units of the (k-1)-th variance
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


def lsa_rank(n_rows: int, k: int) -> int:
    """Dimension of LSA for a number of documents and topics."""
    return min(LSA_RANK, max(2 * k, n_rows // ROWS_A_DIMENSION))


def fit_lsa(X: Any, rank: int, seed: int) -> Any:
    """Latent semantic analysis: the leading singular vectors of rows, uncentred, rows again of length one."""
    svd = TruncatedSVD(min(rank, *X.shape), n_iter=SVD_STEPS, random_state=seed)
    with one_blas_thread():
        return make_pipeline(svd, Normalizer()).fit(X.astype(np.float32))  # half the time, and no more is needed


def spherical_labels(X: Any, k: int, rng: np.random.Generator, stop: Callable[[], bool] = lambda: False) -> Labels:
    """The best by summed cosine of several runs of spherical k-means; rows have length one.

    ``stop`` is called after every run; True ends them.
    """
    runs = []
    with one_blas_thread():
        for run in spherical_runs(X, k, STARTS, rng):
            runs.append(run)
            if stop():
                break
    return max(runs, key=lambda run: run[0])[1]


def informed_start(X: Any, labels: Labels, rules: TopicRules) -> Labels:
    """A start that has heard of known labels: spherical k-means goes on from it with these in their places.

    Where every topic has a label, it also begins at the means of these documents; the larger summed cosine wins.
    """
    units, k = rules.heard.units, rules.k
    if units is None or not rules.heard.classes:
        return labels
    starts = [matched_to_anchors(labels, units, None, k)]
    if len(rules.heard.classes) == k:
        anchors = units.anchors[units.of_row]
        told = np.flatnonzero(anchors >= 0)
        seeds = of_length_one(np.asarray(X[told].T @ np.eye(k, dtype=X.dtype)[anchors[told]]).T)
        starts.append(np.asarray(X @ seeds.T).argmax(axis=1).astype(np.int32))
    return max((_run_on(X, start, rules) for start in starts), key=lambda run: run[0])[1]


def _run_on(X: Any, labels: Labels, rules: TopicRules) -> tuple[float, Labels]:
    """Spherical k-means from labels, known ones in their places; the weighted sum of cosines, and the labels."""
    units, k = rules.heard.units, rules.k
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
    X: Any,
    terms: Any,
    start: Labels,
    universum: Any | None,
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


def _weight_of_loss(X: Any, k: int) -> float | str:
    variances = leading_variances(X, np.asarray(X.mean(axis=0)).ravel(), k - 1)
    variances = variances[variances > RANK_TOL * variances[0]]
    return 1 / (RIDGE * float(variances[-1])) if len(variances) else "auto"


def held_out_recovery(X: Any, labels: Labels, seed: int) -> float:
    """Agreement of labels with those that weights from the other half of the rows predict."""
    first = np.random.default_rng(seed).permutation(len(labels)) % 2 == 0
    found = np.full(len(labels), -1, dtype=np.int32)
    for half in (first, ~first):
        if len(np.unique(labels[half])) > 1:
            found[~half] = fit_svm(X[half], labels[half], seed).predict(X[~half])
    return float(adjusted_rand_score(labels, found))


def fit_method(
    X: Any, k: int, start: Any, universum: Any | None, seed: int, heard: RowConstraints, **settings: Any
) -> CPM3C | M2DCU:
    """M2DCU fitted with the universum, CPM3C where there is none."""
    settings = {**settings, "init": start, "random_state": seed}
    given = SideInformation(constraints=heard)
    if universum is None:
        return CPM3C(k, **settings)._fit(X, side=given)
    return M2DCU(k, loss="max", **settings)._fit(X, side=given, universum=universum)


def self_train(
    X: Any,
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
