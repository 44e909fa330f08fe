"""Ways to find the number of clusters without being told: each gives labels and its number, from 1 or 2 to ``MOST``."""

from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture

from experiments.baselines import DENSE_FEATURES, dense
from experiments.cells import Outcome, Task, method
from widegap import MaxMarginClustering
from widegap.selection import compare_cluster_numbers

MOST = 25
JUDGED_ROWS = 1000  # of the silhouette: distances between all pairs of more rows take too long
REFERENCES = 5  # tables without structure for the gap statistic
PATIENCE = 3  # numbers by which a criterion may get worse before the search ends
TRIED = 10  # most clusters of the comparison by stability, which fits everything several times
SUBSAMPLES = 2


def _outcome(task: Task, labels: Any, n_clusters: int | None = None) -> Outcome:
    found = len(np.unique(labels)) if n_clusters is None else n_clusters
    return Outcome(labels, {"number": int(found), "classes": task.n_clusters})


@method("number by auto")
def by_auto(task: Task, seed: int) -> Outcome:
    """What our estimator finds."""
    return _outcome(task, MaxMarginClustering("auto", random_state=seed).fit_predict(task.X))


@method("number by stability")
def by_stability(task: Task, seed: int) -> Outcome:
    """The most stable number of our own comparison; of equally stable ones the largest. It cannot answer 1."""
    model = MaxMarginClustering(random_state=seed)
    numbers = range(2, TRIED + 1)
    records = compare_cluster_numbers(model, task.X, numbers, n_subsamples=SUBSAMPLES, random_state=seed)
    best = max(records, key=lambda record: (round(record.stability, 2), record.n_clusters)).n_clusters
    return _outcome(task, np.zeros(task.X.shape[0], dtype=int), best)


@method("number by HDBSCAN", seeded=False)
def by_hdbscan(task: Task, seed: int) -> Outcome:
    """Noise alone counts as one cluster."""
    labels = HDBSCAN(copy=True).fit_predict(dense(task, DENSE_FEATURES))
    return _outcome(task, labels, max(1, int(labels.max()) + 1))


@method("number by silhouette")
def by_silhouette(task: Task, seed: int) -> Outcome:
    """The largest mean silhouette of k-means. It cannot answer 1."""
    X = dense(task, DENSE_FEATURES)
    rows = min(JUDGED_ROWS, len(X))
    found = [KMeans(k, n_init=3, random_state=seed).fit_predict(X) for k in range(2, MOST + 1)]
    scores = [_silhouette(X, labels, rows, seed) for labels in found]
    return _outcome(task, found[int(np.argmax(scores))])


def _silhouette(X: Any, labels: Any, rows: int, seed: int) -> float:
    chosen = np.random.default_rng(seed).choice(len(X), rows, replace=False)
    return float(silhouette_score(X[chosen], labels[chosen])) if len(np.unique(labels[chosen])) > 1 else -1.0


@method("number by gap")
def by_gap(task: Task, seed: int) -> Outcome:
    """Gap statistic of Tibshirani et al. (2001), references from a box along the principal axes, its own rule."""
    X = PCA(random_state=0).fit_transform(dense(task, DENSE_FEATURES))
    rng = np.random.default_rng(seed)
    references = [rng.uniform(X.min(axis=0), X.max(axis=0), X.shape) for _ in range(REFERENCES)]
    gap, last = -np.inf, np.zeros(len(X), dtype=int)
    for k in range(1, MOST + 1):
        model = KMeans(k, n_init=3, random_state=seed).fit(X)
        chance = [np.log(KMeans(k, n_init=1, random_state=seed).fit(table).inertia_) for table in references]
        now = float(np.mean(chance)) - float(np.log(model.inertia_))
        if gap >= now - float(np.std(chance)) * np.sqrt(1 + 1 / REFERENCES):
            break
        gap, last = now, model.labels_
    return _outcome(task, last)


@method("number by BIC")
def by_bic(task: Task, seed: int) -> Outcome:
    """The least Bayesian information criterion of Gaussian mixtures with full covariances."""
    X = dense(task, DENSE_FEATURES)
    least, labels, waited = np.inf, np.zeros(len(X), dtype=int), 0
    for k in range(1, MOST + 1):
        model = GaussianMixture(k, reg_covar=1e-3 * X.var(axis=0).mean(), random_state=seed).fit(X)
        bic = model.bic(X)
        waited = 0 if bic < least else waited + 1
        if bic < least:
            least, labels = bic, model.predict(X)
        if waited == PATIENCE:
            break
    return _outcome(task, labels)
