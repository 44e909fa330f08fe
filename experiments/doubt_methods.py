"""Rows that belong nowhere, and how far probabilities can be believed."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import HDBSCAN
from sklearn.mixture import GaussianMixture

from experiments.baselines import DENSE_FEATURES, dense
from experiments.cells import TASKS, Outcome, Task, method, task
from widegap import MaxMarginClustering

NOISE = -1  # the class of rows that were mixed in
NOISE_SHARE = 0.1  # of the clean rows
BINS = 10  # of the calibration error


@task("contaminated")
def contaminated(name: str) -> Task:
    """ "digits-uniform" or "digits-shuffled": noise rows between the extremes of every column, or of its values."""
    family, _, kind = name.partition("-")
    clean = TASKS[family]("all")
    rng, X = np.random.default_rng(0), clean.X.astype(float)
    n = round(NOISE_SHARE * len(X))
    if kind == "uniform":
        noise = rng.uniform(X.min(axis=0), X.max(axis=0), (n, X.shape[1]))
    else:
        noise = rng.permuted(X, axis=0)[:n]
    order = rng.permutation(len(X) + n)
    y = np.concatenate([clean.y, np.full(n, NOISE)])
    return Task(np.vstack([X, noise])[order], y[order], n_clusters=clean.n_clusters)


def best_match(y: Any, labels: Any) -> dict[Any, Any]:
    """Clusters to classes, one to one, so that most rows are right; -1 is no cluster."""
    clusters, classes = np.unique(labels[labels >= 0]), np.unique(y)
    counts = np.array([[np.sum((labels == p) & (y == c)) for c in classes] for p in clusters]).reshape(-1, len(classes))
    return {clusters[i]: classes[j] for i, j in zip(*linear_sum_assignment(-counts), strict=True)}


def _noise_outcome(task: Task, labels: Any) -> Outcome:
    """Accuracy of the clean rows, where -1 is wrong, and how much of the noise was set aside."""
    clean, aside = task.y != NOISE, labels < 0
    match = best_match(task.y[clean], labels[clean])
    right = np.mean([match.get(p) == c for p, c in zip(labels[clean], task.y[clean], strict=True)])
    hits = np.sum(aside & ~clean)
    figures = {"clean": right, "recall": hits / np.sum(~clean), "precision": hits / max(1, np.sum(aside))}
    return Outcome(labels, {name: round(100 * float(value), 3) for name, value in figures.items()})


@method("noise, outliers")
def noise_ours(task: Task, seed: int, outliers: Any = 0) -> Outcome:
    """Ours; with no outliers it ignores the problem."""
    model = MaxMarginClustering(task.n_clusters, outliers=outliers, random_state=seed)
    return _noise_outcome(task, model.fit_predict(task.X))


@method("noise, clean fit")
def noise_absent(task: Task, seed: int) -> Outcome:
    """Ours on the clean rows alone: what could be had."""
    clean = task.y != NOISE
    labels = np.full(len(task.y), -1)
    labels[clean] = MaxMarginClustering(task.n_clusters, random_state=seed).fit_predict(task.X[clean])
    return _noise_outcome(task, labels)


@method("noise, HDBSCAN", seeded=False)
def noise_hdbscan(task: Task, seed: int) -> Outcome:
    """With its own number of clusters."""
    return _noise_outcome(task, HDBSCAN(copy=True).fit_predict(dense(task, DENSE_FEATURES)))


def calibration(y: Any, probabilities: Any) -> dict[str, float]:
    """Expected calibration error in % and Brier score (0 to 2), clusters mapped one to one to classes.

    The error is the mean over ten equal bins of the largest probability, weighted by rows, of the distance between that
    probability and the share of right rows.
    """
    labels = probabilities.argmax(axis=1)
    match = best_match(y, labels)
    names = [match.get(p) for p in range(probabilities.shape[1])]
    truth = np.array([[name is not None and c == name for name in names] for c in y], dtype=float)
    sure, right = probabilities.max(axis=1), truth[np.arange(len(y)), labels]
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [abs(np.sum(sure[bins == b] - right[bins == b])) for b in range(BINS)]
    brier = np.sum((probabilities - truth) ** 2, axis=1) + (truth.sum(axis=1) == 0)
    return {"error": round(100 * float(np.sum(gaps)) / len(y), 3), "brier": round(float(brier.mean()), 4)}


@method("probabilities")
def probabilities_ours(task: Task, seed: int) -> Outcome:
    found = MaxMarginClustering(task.n_clusters, random_state=seed).fit(task.X).predict_proba(task.X)
    return Outcome(found.argmax(axis=1), calibration(task.y, found))


@method("probabilities, GMM full")
def probabilities_mixture(task: Task, seed: int) -> Outcome:
    X = dense(task, DENSE_FEATURES)
    model = GaussianMixture(task.n_clusters, reg_covar=1e-3 * X.var(axis=0).mean(), random_state=seed).fit(X)
    found = model.predict_proba(X)
    return Outcome(found.argmax(axis=1), calibration(task.y, found))
