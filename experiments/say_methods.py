"""What it is worth to know some labels or links: ours with and without them, and what others make of the same.

``budget`` labels of every class are drawn by the seed. The accuracy counts the rows without a label alone: "named" by
the names that a method gives them, "matched" with clusters mapped one to one to classes, which needs no names, so that
a fit without labels is judged alike ("free").
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from experiments.baselines import dense
from experiments.cells import Outcome, RefusedError, Task, method
from experiments.linked_kmeans import NoAssignmentError, cop_kmeans, pairs_of, pck_means
from widegap import MaxMarginClustering
from widegap.metrics import clustering_accuracy

LINKS_PER_100 = 20
MANY_FEATURES = 100  # dense rows with more are reduced for the methods of others, as sparse ones are
UNITS_DIFFER = 10  # columns are standardised where the largest deviation is so many times the median one, as by ours
KERNEL_FEATURES = 200
SELF_ROUNDS = 10  # rounds of self-training; each adds the surest tenth of the rows
ANSWERS = (1, 2, 4, 8)  # answers, as multiples of the number of clusters

Partition = Callable[[Any, int, Any, Any, np.random.Generator], Any]


def known_labels(y: Any, budget: int, seed: int) -> Any:
    """The classes of so many rows of each class, None for all others."""
    rng, known = np.random.default_rng(seed), np.full(len(y), None, dtype=object)
    for c in np.unique(y):
        rows = rng.choice(np.flatnonzero(y == c), budget, replace=False)
        known[rows] = y[rows]
    return known


def drawn_links(y: Any, seed: int) -> tuple[Any, Any]:
    """Must-links and cannot-links: random pairs of rows by whether their classes are the same."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(len(y), 2, replace=False) for _ in range(LINKS_PER_100 * len(y) // 100)])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return pairs[same], pairs[~same]


def broken(labels: Any, must: Any, cannot: Any) -> int:
    """How many links the labels do not keep."""
    apart = labels[must[:, 0]] != labels[must[:, 1]]
    together = labels[cannot[:, 0]] == labels[cannot[:, 1]]
    return int(apart.sum() + together.sum())


def plain_rows(task: Task) -> Any:
    """Dense rows of few columns for the methods of others, standardised where units clearly differ."""
    X = dense(task, MANY_FEATURES)
    deviations = X.std(axis=0)
    differ = deviations.max() > UNITS_DIFFER * np.median(deviations)
    return StandardScaler().fit_transform(X) if differ and not issparse(task.X) else X


def _matched(y: Any, labels: Any) -> float:
    return round(100 * float(clustering_accuracy(y, labels)), 3)


def _named(y: Any, names: Any) -> float:
    """Share of the names that are right; None is wrong."""
    return round(100 * float(np.mean([a == b for a, b in zip(names, y.tolist(), strict=True)])), 3)


def _outcome(task: Task, known: Any, labels: Any, names: Any) -> Outcome:
    """Judged where no label was known; ``names`` are those of the clusters."""
    rows = np.array([label is None for label in known])
    given = [names[p] for p in labels[rows]]
    return Outcome(labels, {"named": _named(task.y[rows], given), "matched": _matched(task.y[rows], labels[rows])})


_FITS: dict[tuple[int, int], tuple[Task, MaxMarginClustering]] = {}  # those of one data set at a time


def _free_fit(task: Task, seed: int) -> MaxMarginClustering:
    """A fit that knows nothing; one serves all budgets, and links, of the same data set."""
    if any(of is not task for of, _ in _FITS.values()):
        _FITS.clear()
    if (id(task), seed) not in _FITS:
        _FITS[id(task), seed] = task, MaxMarginClustering(task.n_clusters, random_state=seed).fit(task.X)
    return _FITS[id(task), seed][1]


@method("known labels")
def known_ours(task: Task, seed: int, budget: int) -> Outcome:
    """Ours; ``refit`` gives what a fit with the same labels gives."""
    known = known_labels(task.y, budget, seed)
    free = _free_fit(task, seed)
    model = free.refit(known=known)
    found = _outcome(task, known, model.labels_, model.classes_)
    rows = np.array([label is None for label in known])
    return Outcome(found.labels, {**found.extra, "free": _matched(task.y[rows], free.labels_[rows])})


def _classified(task: Task, seed: int, budget: int, classify: Callable[[Any], Any]) -> Outcome:
    """By the numbers of classes that a function finds from those that are known, -1 elsewhere."""
    known = known_labels(task.y, budget, seed)
    classes = np.unique(task.y).tolist()
    numbers = np.array([-1 if label is None else classes.index(label) for label in known])
    return _outcome(task, known, classify(numbers), classes)


@method("known labels, LabelSpreading")
def known_spreading(task: Task, seed: int, budget: int) -> Outcome:
    """Over the seven nearest neighbours, the number that scikit-learn has by default."""
    X, model = plain_rows(task), LabelSpreading(kernel="knn", max_iter=100)
    return _classified(task, seed, budget, lambda numbers: model.fit(X, numbers).transduction_)


def _self_trained(task: Task, seed: int, budget: int, X: Any) -> Outcome:
    model = SelfTrainingClassifier(
        LogisticRegression(C=10, max_iter=200),
        criterion="k_best",
        k_best=max(1, len(X) // SELF_ROUNDS),
        max_iter=SELF_ROUNDS,
    )
    scaled = X / X.std()
    return _classified(task, seed, budget, lambda numbers: model.fit(scaled, numbers).predict(scaled))


@method("known labels, linear self-training")
def known_linear(task: Task, seed: int, budget: int) -> Outcome:
    return _self_trained(task, seed, budget, plain_rows(task))


@method("known labels, RBF self-training")
def known_rbf(task: Task, seed: int, budget: int) -> Outcome:
    """Logistic regression on features of the RBF kernel, of the width that scikit-learn calls "scale"."""
    X = plain_rows(task)
    features = Nystroem(gamma=1 / (X.shape[1] * X.var()), n_components=KERNEL_FEATURES, random_state=seed)
    return _self_trained(task, seed, budget, features.fit_transform(X))


def _partitioned(task: Task, seed: int, links: tuple[Any, Any], partition: Partition) -> Any:
    try:
        return partition(plain_rows(task), task.n_clusters, *links, np.random.default_rng(seed))
    except NoAssignmentError as error:
        raise RefusedError(str(error)) from None


def _known_kmeans(task: Task, seed: int, budget: int, partition: Partition) -> Outcome:
    """A cluster is named by the most of its known labels."""
    known = known_labels(task.y, budget, seed)
    labels = _partitioned(task, seed, pairs_of(known), partition)
    names: dict[int, Any] = dict.fromkeys(range(task.n_clusters))
    for p in names:
        inside = [label for label in known[labels == p] if label is not None]
        names[p] = max(inside, key=inside.count) if inside else None
    return _outcome(task, known, labels, names)


@method("known labels, COP-k-means")
def known_cop(task: Task, seed: int, budget: int) -> Outcome:
    return _known_kmeans(task, seed, budget, cop_kmeans)


@method("known labels, PCK-means")
def known_pck(task: Task, seed: int, budget: int) -> Outcome:
    return _known_kmeans(task, seed, budget, pck_means)


@method("links")
def links_ours(task: Task, seed: int) -> Outcome:
    """Ours with and without links, judged on all rows."""
    links = drawn_links(task.y, seed)
    free = _free_fit(task, seed)
    labels = free.refit(must_link=links[0], cannot_link=links[1]).labels_
    figures = {"free": _matched(task.y, free.labels_), "matched": _matched(task.y, labels)}
    return Outcome(labels, {**figures, "broken": broken(labels, *links)})


def _links_kmeans(task: Task, seed: int, partition: Partition) -> Outcome:
    links = drawn_links(task.y, seed)
    labels = _partitioned(task, seed, links, partition)
    return Outcome(labels, {"matched": _matched(task.y, labels), "broken": broken(labels, *links)})


@method("links, COP-k-means")
def links_cop(task: Task, seed: int) -> Outcome:
    return _links_kmeans(task, seed, cop_kmeans)


@method("links, PCK-means")
def links_pck(task: Task, seed: int) -> Outcome:
    return _links_kmeans(task, seed, pck_means)


@method("questions")
def questions(task: Task, seed: int) -> Outcome:
    """Accuracy of all rows after answers to questions, asked in rounds of k, and after as many random labels."""
    k, classes = task.n_clusters, task.y.tolist()
    model = free = MaxMarginClustering(k, random_state=seed).fit(task.X)
    order = np.random.default_rng(seed).permutation(len(task.y))
    figures = {"free": _matched(task.y, free.labels_)}
    for turn in range(1, max(ANSWERS) + 1):
        asked = model.questions(k)
        model = model.refit(known=model.answered(asked, [classes[question.row] for question in asked]))
        if turn in ANSWERS:
            known = np.full(len(task.y), None, dtype=object)
            known[order[: turn * k]] = task.y[order[: turn * k]]
            figures[f"asked {turn}"] = _matched(task.y, model.labels_)
            figures[f"random {turn}"] = _matched(task.y, free.refit(known=known).labels_)
    return Outcome(model.labels_, figures)
