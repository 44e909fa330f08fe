"""What a universum is worth: M2DCU with rows chosen by a rule against the same run without, and amid junk."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from experiments.cells import Outcome, RefusedError, Task, method
from experiments.judge import judge
from experiments.text_methods import candidates
from widegap import M2DCU, universum
from widegap.metrics import clustering_accuracy

SOURCES = {"all kinds": candidates, "rest": lambda task, seed: task.rest}
SOURCES["random"] = lambda task, seed: universum.random(task.X, len(task.rest), seed)
SOURCES["means"] = lambda task, seed: universum.means(task.X, task.n_clusters, random_state=seed)


class _Without:
    """Runs without a universum, kept for one task: each rule is compared with the same ones."""

    task: Task | None = None
    found: dict[tuple[int, int, float], Any] = {}


def _without(task: Task, k: int, seed: int, factor: float) -> Any:
    """M2DCU-0 with k clusters, and a multiple of the label-free C."""
    if task is not _Without.task:
        _Without.task, _Without.found = task, {}
    if (k, seed, 1.0) not in _Without.found:
        _Without.found[k, seed, 1.0] = M2DCU(k, C_universum=0, random_state=seed).fit(task.X)
    usual = _Without.found[k, seed, 1.0]
    if (k, seed, factor) not in _Without.found:
        found = M2DCU(k, C=factor * usual.C_, C_universum=0, random_state=seed).fit(task.X)
        _Without.found[k, seed, factor] = found
    return _Without.found[k, seed, factor]


def _near_each_pair(U: Any, model: Any, fraction: float) -> Any:
    """As many rows for every two clusters: those whose scores for the two differ least among rows near either."""
    scores = model.decision_function(U)
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    first, second = np.triu_indices(scores.shape[1], 1)
    number = max(1, round(fraction * len(U) / len(first)))
    best = np.maximum(scores[:, first], scores[:, second])
    away = np.abs(scores[:, first] - scores[:, second]) + scores.max(axis=1, keepdims=True) - best
    return U[np.unique(np.argsort(away, axis=0, kind="stable")[:number])]


def _chosen(U: Any, rows: str, fraction: float, task: Task, base: Any, seed: int) -> Any:
    """A part of the universum; "long" and "short" expect the shortest document first."""
    number = int(np.ceil(fraction * len(U)))
    if rows == "likely":
        return universum.select(U, task.X, task.n_clusters, fraction, random_state=seed)
    if rows == "near":
        return universum.boundary(U, base, fraction)
    if rows == "near each pair":
        return _near_each_pair(U, base, fraction)
    if rows in ("short", "long"):
        return U[:number] if rows == "short" else U[-number:]
    return U[np.sort(np.random.default_rng(seed).permutation(len(U))[:number])]


@method("M2DCU by rule")
def by_rule(
    task: Task,
    seed: int,
    source: str = "rest",
    rows: str = "drawn",
    fraction: float = 1.0,
    share: float = 0.3,
    shared_start: bool = False,
    more_clusters: int = 0,
    factor: float = 1.0,
    tolerance: float = 0.5,
) -> Outcome:
    """``share`` is C_universum / C, ``factor`` a multiple of the label-free C. Noted is what the run without finds."""
    k = task.n_clusters + more_clusters
    base = _without(task, k, seed, factor)
    U = _chosen(SOURCES[source](task, seed), rows, fraction, task, base, seed)
    start = {"init": base.labels_} if shared_start else {}
    settings = {"C": base.C_, "C_universum": share * base.C_, "margin_tolerance": tolerance, "random_state": seed}
    model = M2DCU(k, **settings, **start).fit(task.X, universum=U)
    plain, found = judge(task.y, base.labels_), judge(task.y, model.labels_)
    active = bool(model.universum_report_ and model.universum_report_.active)
    gains = {f"gain_{name}": round(found[name] - plain[name], 3) for name in ("accuracy", "nmi")}
    return Outcome(model.labels_, {**gains, "active": active, "universum": len(U)})


@method("M2DCU amid junk")
def amid_junk(task: Task, seed: int, junk: float, by: str, share: float = 0.3) -> Outcome:
    """Half of the rest may be mixed in, the other half are examples of it.

    ``by`` says what tells junk: the margins "without" a universum, those with the examples as "universum", or
    "logistic" regression of the examples against all rows. As many rows as there is junk are set aside; noted are how
    much of the junk is left in topics, and how many rows of topics have the right one.
    """
    if task.rest is None:
        raise RefusedError("needs documents of other classes")
    order = np.random.default_rng(seed).permutation(len(task.rest))
    n_junk = round(junk / (1 - junk) * len(task.X))
    if 2 * n_junk > len(order):
        raise RefusedError(f"{len(order)} documents of other classes: {2 * n_junk} are needed")
    mixed, examples = task.rest[order[:n_junk]], task.rest[order[n_junk:]]
    X = np.vstack([task.X, mixed])
    model = M2DCU(task.n_clusters, C_universum=0, random_state=seed).fit(X)
    if by == "universum":
        model = M2DCU(task.n_clusters, C_universum=share * model.C_, random_state=seed).fit(X, universum=examples)
    margins = _margins(model, X)
    if by == "logistic":
        known = np.r_[np.ones(len(X)), np.zeros(len(examples))]
        told = LogisticRegression(C=10, class_weight="balanced", max_iter=1000)
        margins = told.fit(np.vstack([X, examples]), known).decision_function(X)
    is_topic = np.arange(len(X)) < len(task.X)
    kept = np.sort(np.argsort(margins, kind="stable")[n_junk:])
    labels = model.labels_[: len(task.X)]
    topics = kept[is_topic[kept]]
    right = clustering_accuracy(task.y[topics], labels[topics]) * len(topics)
    noted = {"junk_left": (len(kept) - len(topics)) / n_junk, "kept_right": right / len(kept)}
    noted = {name: round(100 * float(value), 3) for name, value in noted.items()}
    return Outcome(labels, noted)


def _margins(model: Any, X: Any) -> Any:
    """The lead of the best cluster over the mean of all, which the universum is to have small."""
    scores = model.decision_function(X)
    return np.abs(scores) if scores.ndim == 1 else scores.max(axis=1) - scores.mean(axis=1)
