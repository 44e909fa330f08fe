"""Rows that a model has not seen: half of the rows is fitted, ``predict`` labels the rest, and fitted rows again."""

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from experiments.cells import Outcome, Task, method
from widegap import MaxMarginClustering
from widegap.metrics import clustering_accuracy


def halves(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Rows to fit and rows to predict, drawn at random, each in the order of the file."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[: n_rows // 2]), np.sort(order[n_rows // 2 :])


def _percent(share: float) -> float:
    return round(100 * float(share), 3)


def _on_half(model: Any, task: Task, seed: int) -> Outcome:
    """Accuracy of either half, clusters mapped to classes for each alone, and how often ``predict`` repeats a label."""
    fitted, new = halves(task.X.shape[0], seed)
    labels = np.empty(task.X.shape[0], dtype=int)
    labels[fitted] = model.fit(task.X[fitted]).labels_
    labels[new] = model.predict(task.X[new])
    figures = {
        "fitted": clustering_accuracy(task.y[fitted], labels[fitted]),
        "new": clustering_accuracy(task.y[new], labels[new]),
        "same": np.mean(model.predict(task.X[fitted]) == labels[fitted]),
    }
    return Outcome(labels, {name: _percent(value) for name, value in figures.items()})


@method("MaxMarginClustering on half")
def max_margin_on_half(task: Task, seed: int) -> Outcome:
    return _on_half(MaxMarginClustering(task.n_clusters, random_state=seed), task, seed)


@method("KMeans(10) on half")
def kmeans_on_half(task: Task, seed: int) -> Outcome:
    return _on_half(KMeans(task.n_clusters, n_init=10, random_state=seed), task, seed)


@method("MaxMarginClustering, fitted rows predicted")
def max_margin_predicted(task: Task, seed: int) -> Outcome:
    """Labels of ``predict`` for the fitted rows, and how many rows have the same in ``labels_``."""
    model = MaxMarginClustering(task.n_clusters, random_state=seed).fit(task.X)
    found = model.predict(task.X)
    figures = {
        "fitted": clustering_accuracy(task.y, model.labels_),
        "predicted": clustering_accuracy(task.y, found),
        "same": np.mean(found == model.labels_),
    }
    return Outcome(found, {name: _percent(value) for name, value in figures.items()})
