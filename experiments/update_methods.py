"""Updates with new rows: a table in ten batches, rows from the same source, and rows that changed in a known way."""

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.cells import Outcome, Task, method, task
from widegap import MaxMarginClustering

BATCHES = 10
APPEARS, GONE = 5, 7  # batches from which one class is there, and from which another is not
CLEAR = 0.6  # share of its largest class that gives a cluster a clear class
STRUCTURE = ("new", "split", "merged", "vanished")
SAME_ROWS = (600, 300)  # before, and new ones
CHANGED_ROWS = (1000, 1000)


def batches(y: Any, seed: int) -> tuple[list[Any], Any, Any]:
    """Rows of every batch in random order; the class that appears, and the one that vanishes."""
    rng = np.random.default_rng(seed)
    appears, gone = rng.permutation(np.unique(y))[:2]
    order = rng.permutation(len(y))
    number = np.arange(len(y)) * BATCHES // len(y)
    classes = y[order]
    used = ~((classes == appears) & (number < APPEARS)) & ~((classes == gone) & (number >= GONE))
    return [order[used & (number == i)] for i in range(BATCHES)], appears, gone


def clear_classes(y: Any, labels: Any) -> dict[int, Any]:
    """Clusters most of whose rows are of one class, and that class."""
    found = {}
    for p in np.unique(labels):
        classes, counts = np.unique(y[labels == p], return_counts=True)
        if counts.max() > CLEAR * counts.sum():
            found[int(p)] = classes[counts.argmax()]
    return found


@method("updated in batches")
def updated_in_batches(task: Task, seed: int, memory: int = 5000) -> Outcome:
    """One class appears and one vanishes on the way; labels are those that the last model predicts for all rows."""
    X, y = task.X, task.y
    parts, appears, gone = batches(y, seed)
    model = MaxMarginClustering(task.n_clusters - 1, random_state=seed, memory=memory).fit(X[parts[0]])
    seen, before, swaps, late, told = parts[0], clear_classes(y[parts[0]], model.labels_), 0, None, False
    for i, rows in enumerate(parts[1:], 1):
        model = model.update(X[rows])
        seen = np.concatenate([seen, rows])
        now = clear_classes(y[seen], model.predict(X[seen]))
        swaps += sum(before[p] != now[p] for p in before.keys() & now.keys())
        before |= now
        if i >= APPEARS and late is None and appears in now.values():
            late = i - APPEARS
        gone_clusters = {p for p, c in before.items() if c == gone}
        told |= i >= GONE and any(c.kind == "vanished" and c.cluster in gone_clusters for c in model.changes_)
    extra = {"swaps": int(swaps), "late": BATCHES if late is None else late, "told": bool(told)}
    return Outcome(model.predict(X), extra)


@method("one fit of all batches")
def one_fit(task: Task, seed: int) -> Outcome:
    """The same rows at once."""
    rows = np.concatenate(batches(task.y, seed)[0])
    model = MaxMarginClustering(task.n_clusters, random_state=seed).fit(task.X[rows])
    return Outcome(model.predict(task.X))


@method("one fit of the rows of an update")
def fit_of_update(task: Task, seed: int, memory: int = 300) -> Outcome:
    """As many rows as the last update sees: those of the last batch, and some of the others."""
    parts = batches(task.y, seed)[0]
    earlier = np.concatenate(parts[:-1])
    drawn = np.random.default_rng(seed).choice(earlier, min(memory, len(earlier)), replace=False)
    rows = np.concatenate([parts[-1], drawn])
    model = MaxMarginClustering(task.n_clusters, random_state=seed).fit(task.X[rows])
    return Outcome(model.predict(task.X))


# Drawn sources: rows by a generator, and how many


def _clouds(rng: np.random.Generator, spread: float, d: int, k: int) -> Callable[[int], tuple[Any, Any]]:
    centres = rng.normal(size=(k, d)) * spread

    def draw(n: int) -> tuple[Any, Any]:
        y = rng.integers(k, size=n)
        return centres[y] + rng.normal(size=(n, d)), y

    return draw


def _skewed(rng: np.random.Generator) -> Callable[[int], tuple[Any, Any]]:
    centres = 2 * rng.normal(size=(4, 4))

    def draw(n: int) -> tuple[Any, Any]:
        y = rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
        return np.exp((centres[y] + rng.normal(size=(n, 4)) / 2) / 2), y

    return draw


SOURCES = {
    "apart": lambda rng: _clouds(rng, 3, 6, 5),
    "touching": lambda rng: _clouds(rng, 1.5, 3, 4),
    "skewed": _skewed,
}


@task("drawn source")
def drawn_source(name: str) -> Task:
    """One draw; the methods below draw their own with every seed."""
    X, y = SOURCES[name](np.random.default_rng(0))(sum(SAME_ROWS))
    return Task(X, y, n_clusters=len(np.unique(y)))


def _told(model: Any) -> dict[str, Any]:
    kinds = [change.kind for change in model.changes_]
    return {"drift": model.drift_.p_value <= 0.05, "structure": any(kind in STRUCTURE for kind in kinds)}


@method("updated from the same source")
def same_source(task: Task, seed: int, source: str = "") -> Outcome:
    """An update with rows from the source of the fit: of a drawn one, or of the rows of the task."""
    rng = np.random.default_rng([7, seed])
    if source:
        draw = SOURCES[source](rng)
        old, new = draw(SAME_ROWS[0])[0], draw(SAME_ROWS[1])[0]
    else:
        order = rng.permutation(len(task.y))
        old, new = np.split(task.X[order], 2)[:2] if len(order) % 2 == 0 else np.split(task.X[order[1:]], 2)
    model = MaxMarginClustering(task.n_clusters, random_state=seed).fit(old).update(new)
    return Outcome(np.zeros(len(task.y), dtype=int), _told(model))


@method("updated after a change")
def changed_source(task: Task, seed: int, change: str = "share") -> Outcome:
    """Five clouds; one falls from 20 to 10 % of the rows, or its centre moves by half a standard deviation.

    It moves along one column ("column"), or in any direction ("centre").
    """
    rng = np.random.default_rng([8, seed])
    centres = 4 * rng.normal(size=(5, 6))
    old, new = (rng.choice(5, n, p=p) for n, p in zip(CHANGED_ROWS, _shares(change), strict=True))
    X, Z = (centres[y] + rng.normal(size=(len(y), 6)) for y in (old, new))
    if change != "share":
        direction = rng.normal(size=6) if change == "centre" else np.eye(6)[0]
        Z[new == 0] += direction / np.linalg.norm(direction) / 2
    model = MaxMarginClustering(5, random_state=seed).fit(X)
    number = int(np.bincount(model.labels_[old == 0]).argmax())
    kinds = {record.cluster: record.kind for record in model.update(Z).changes_}
    wanted = ("shrunk",) if change == "share" else ("moved",)
    return Outcome(np.zeros(len(task.y), dtype=int), {"told": kinds.get(number) in wanted})


def _shares(change: str) -> tuple[list[float], list[float]]:
    even = [0.2] * 5
    return even, [0.1, 0.225, 0.225, 0.225, 0.225] if change == "share" else even
