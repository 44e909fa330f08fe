"""Methods of the iterSVR paper under its settings: widths as multiples of D, its starts, and turns one by one.

D is the largest distance between rows. Where a method here looks at ``task.y`` it is to judge: the error of a start or
a turn, the objective that the classes have.
"""

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from experiments.cells import Outcome, RefusedError, Task, method
from experiments.kernel_baselines import gaussian, leading_vectors, normalised_cut, squared_distances
from widegap import GMMC, MMC, IterLSSVM, IterSVM, IterSVR
from widegap.metrics import clustering_accuracy

DIAMETER_ROWS = 2000
CUT_WIDTH = 1.0  # of the affinity of normalised cut, in D


def diameter(X: Any) -> float:
    """The largest distance among up to 2000 rows."""
    rows = np.arange(X.shape[0])
    if len(rows) > DIAMETER_ROWS:
        rows = np.random.default_rng(0).choice(rows, DIAMETER_ROWS, replace=False)
    return float(euclidean_distances(X[rows]).max())


def _gamma(X: Any, width: float | None) -> dict[str, float]:
    """The coefficient of a Gaussian of sigma = ``width`` D; without a width the estimator's own rule."""
    return {} if width is None else {"gamma": (width * diameter(X)) ** -2.0}


def _by_width(estimator: Any) -> None:
    """Noted is the objective of the labels found, and of the classes, to tell a poor search from a poor objective."""

    @method(f"{estimator.__name__} by width")
    def run(task: Task, seed: int, width: float, **settings: Any) -> Outcome:
        settings |= _gamma(task.X, width)
        model = estimator(task.n_clusters, random_state=seed, **settings).fit(task.X)
        classes = (task.y == np.unique(task.y)[-1]).astype(int)
        oracle = estimator(task.n_clusters, random_state=seed, init=classes, max_iter=1, **settings).fit(task.X)
        noted = {
            "iterations": int(model.n_iter_),
            "objective": float(model.objective_),
            "of_classes": float(oracle.history_[0].objective),
        }
        return Outcome(model.labels_, noted)


def _convex_by_width(estimator: Any) -> None:
    """Without chance: the program is convex and its eigenvector gives the labels."""

    @method(f"{estimator.__name__} by width", seeded=False)
    def run(task: Task, seed: int, most_rows: int, width: float | None = None, **settings: Any) -> Any:
        if task.X.shape[0] > most_rows:
            raise RefusedError(f"more than {most_rows} rows")
        return estimator(random_state=seed, **_gamma(task.X, width), **settings).fit_predict(task.X)


for estimator in (IterSVM, IterSVR, IterLSSVM):
    _by_width(estimator)
for estimator in (MMC, GMMC):
    _convex_by_width(estimator)


@method("NCut by sign", seeded=False)
def cut_by_sign(task: Task, seed: int, width: float = CUT_WIDTH) -> Any:
    """Normalised cut of two clusters by the sign of the second eigenvector, as Shi and Malik began it."""
    W = gaussian(squared_distances(task.X), width)
    root = np.sqrt(W.sum(axis=1, dtype=np.float64))
    W /= root[:, None].astype(np.float32)
    W /= root.astype(np.float32)
    vectors = leading_vectors(W, 2, np.random.default_rng(seed))
    second = vectors[:, np.abs(vectors.T @ root).argmin()]  # the first is the root of the degrees
    return (second > 0).astype(int)


def start_of(task: Task, start: str, seed: int) -> Any:
    """Labels to begin with; k-means is the paper's: one run from random rows."""
    if start == "random":
        return np.random.default_rng(seed).permutation(task.X.shape[0]) % 2
    if start == "k-means":
        return KMeans(2, n_init=1, init="random", random_state=seed).fit_predict(task.X)
    if start == "cut by sign":
        return cut_by_sign(task, seed)
    return normalised_cut(task, seed, width=CUT_WIDTH)


@method("start, then IterSVR")
def started(task: Task, seed: int, start: str, iterate: bool = True) -> Outcome:
    """A start alone, or what IterSVR makes of it; the error of the start is noted for comparison."""
    labels = start_of(task, start, seed)
    noted = {"start_error": _error(task, labels)}
    if iterate:
        labels = IterSVR(init=labels, random_state=seed).fit(task.X).labels_
    return Outcome(labels, noted)


@method("turn by turn", seeded=False)
def turn_by_turn(task: Task, seed: int, C: float, epsilon: float | None = None, start: str = "cut by sign") -> Outcome:
    """IterSVM, or IterSVR if there is an ``epsilon``, with the linear kernel.

    Noted after every turn: its error, the objective of a support vector machine trained with its labels (half of the
    paper's, which has |w|^2 + 2 C ...), and of the last turn the histogram of y f.
    """
    tube = {} if epsilon is None else {"epsilon": epsilon}
    estimator = IterSVM if epsilon is None else IterSVR
    first = start_of(task, start, seed)
    whole = estimator(C=C, kernel="linear", init=first, random_state=seed, **tube).fit(task.X)
    turns = [first]
    for n_turns in range(1, whole.n_iter_ + 1):
        part = estimator(C=C, kernel="linear", init=first, max_iter=n_turns, random_state=seed, **tube)
        turns.append(part.fit(task.X).labels_)
    last = whole.history_[-1]
    noted = {
        "iterations": int(whole.n_iter_),
        "errors": [_error(task, labels) for labels in turns],
        "objectives": [_svm_objective(task, labels, C) for labels in turns],
        "margins": [round(float(edge), 4) for edge in last.margin_edges],
        "counts": [int(count) for count in last.margin_counts],
    }
    return Outcome(whole.labels_, noted)


def _svm_objective(task: Task, labels: Any, C: float) -> float:
    """Of the hinge loss, for given labels: what the first turn of IterSVM finds."""
    return float(IterSVM(C=C, kernel="linear", init=labels, max_iter=1).fit(task.X).history_[0].objective)


def _error(task: Task, labels: Any) -> float:
    return round(100 * (1 - float(clustering_accuracy(task.y, labels))), 3)
