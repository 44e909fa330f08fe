"""Small fits and updates whose labels are stored in ``tests/stored_labels.json``: whoever changes any has to mean it.

The fits go through every search, kernel, kind of column and constraint. The tables are small and their clusters
overlap, so that a start, a tie or a constant decides some rows. ``python tests/_stored_labels.py`` stores what the
present code gives, and git shows which fits changed.
"""

import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine, make_moons

from _corpora import corpus
from _mixed_tables import customers
from widegap import (
    CPM3C,
    GMMC,
    M2DCU,
    MKC,
    MMC,
    DocumentClustering,
    IterLSSVM,
    IterSVM,
    IterSVR,
    MaxMarginClustering,
)

STORED = Path(__file__).with_name("stored_labels.json")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
KNOWN = 12  # rows


def digits(n, classes=10):
    X, y = load_digits(return_X_y=True)
    rows = np.flatnonzero(y < classes)
    return X[rows[:n]], y[rows[:n]]


def strings(n=400):
    """Long clusters side by side, with rows between them."""
    X, y = make_moons(n, noise=0.16, random_state=3)
    return X, y


def counts():
    """Documents of four subjects with many equal distances: a few words of twenty, each once."""
    rng = np.random.default_rng(0)
    rows = [rng.choice(20, 6, replace=False) + 15 * (i % 4) for i in range(240)]
    return sp.csr_array((np.ones(1440), np.concatenate(rows), np.arange(0, 1441, 6)), shape=(240, 65)), np.arange(
        240
    ) % 4


def blobs(n, k, d, spread, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.normal(size=(k, d))[y] * spread + rng.normal(size=(n, d)), y


TABLES = {
    "digits": lambda: digits(300),
    "few digits": lambda: digits(90, 3),
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "moons": strings,
    "words": counts,
    "texts": lambda: corpus(300),
    "blobs": lambda: blobs(260, 4, 3, 1.8),
    "two blobs": lambda: blobs(60, 2, 3, 1.5, seed=4),
    "noise": lambda: blobs(150, 1, 4, 0.0),
    "customers": lambda: customers(260),
    "many rows": lambda: blobs(2600, 6, 4, 1.7),
}
table = cache(lambda name: TABLES[name]())


def known(y):
    """Classes of the first rows, and -1."""
    return {"known": np.where(np.arange(len(y)) < KNOWN, y, -1)}


def linked(y):
    """Links between rows that follow each other in the second dozen."""
    pairs = np.arange(KNOWN, 2 * KNOWN).reshape(-1, 2)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def both(y):
    return known(y) | linked(y)


def weighted(y):
    return {"sample_weight": 1.0 + np.arange(len(y)) % 3}


def nothing(y):
    return {}


# Each fit: its table, the estimator, the number of clusters, settings and what is known of the rows.
MARGIN = MaxMarginClustering
FITS = {
    **{f"{table}, {search}": (table, MARGIN, k, {"search": search}, nothing)
       for table, k in (("digits", 10), ("iris", 3), ("wine", 3), ("moons", 2), ("words", 4), ("texts", 5),
                        ("blobs", 4))
       for search in ("agree", "merge", "moves")},
    **{f"{table}, auto, {search}": (table, MARGIN, "auto", {"search": search}, nothing)
       for table in ("digits", "iris", "wine", "moons", "words", "blobs", "noise") for search in ("agree", "merge")},
    **{f"blobs, {side.__name__}, {search}": ("blobs", MARGIN, 4, {"search": search}, side)
       for side in (known, linked, both, weighted) for search in ("agree", "merge", "moves")},
    **{f"digits, {side.__name__}": ("digits", MARGIN, 10, {}, side) for side in (known, linked, both, weighted)},
    **{f"{table}, outliers {share}": (table, MARGIN, 3, {"outliers": share}, nothing)
       for table in ("iris", "blobs", "words") for share in ("auto", 0.1)},
    **{f"wine, {kernel}, {search}": ("wine", MARGIN, 3, {"kernel": kernel, "search": search}, nothing)
       for kernel in ("linear", "poly", "cosine") for search in ("agree", "moves")},
    **{f"iris, {name}": ("iris", MARGIN, 3, settings, nothing) for name, settings in {
        "gamma 0.3": {"gamma": 0.3}, "diameter": {"gamma": "diameter"}, "C 1": {"C": 1.0},
        "rank 20": {"n_components": 20},
        "smoothing 1": {"smoothing": 1}, "8 neighbours": {"n_neighbors": 8}, "standardized": {"standardize": True},
        "sizes": {"size_min": 45, "size_max": 60}, "size share": {"size_min": 0.3},
        "balanced": {"min_cluster_fraction": 0.9},
        "moves, sizes": {"search": "moves", "size_min": 45, "size_max": 60},
        "moves, balanced": {"search": "moves", "min_cluster_fraction": 0.95},
        "moves, random": {"search": "moves", "init": "random"},
        "moves, spectral": {"search": "moves", "init": "spectral"},
        "moves, 2": {"search": "moves", "n_clusters": 2}, "moves, smooth": {"search": "moves", "smoothing": 3},
    }.items()},
    **{f"customers, {search}": ("customers", MARGIN, 3, {"search": search}, nothing)
       for search in ("agree", "merge", "moves")},
    "customers, auto": ("customers", MARGIN, "auto", {}, nothing),
    "customers, known": ("customers", MARGIN, 3, {}, both),
    "many rows, agree": ("many rows", MARGIN, 6, {}, nothing),
    "many rows, moves": ("many rows", MARGIN, 6, {"search": "moves"}, nothing),
    **{f"{table}, {cls.__name__}": (table, cls, k, {}, nothing)
       for table, k in (("iris", 3), ("blobs", 4), ("moons", 2), ("texts", 5))
       for cls in (CPM3C, M2DCU, IterSVM, IterSVR, IterLSSVM)},
    **{f"blobs, {cls.__name__}, {side.__name__}": ("blobs", cls, 4, {}, side)
       for cls in (CPM3C, M2DCU) for side in (known, linked, both, weighted)},
    **{f"iris, CPM3C, {name}": ("iris", CPM3C, 3, settings, nothing) for name, settings in {
        "rbf": {"kernel": "rbf"}, "C": {"C": 0.5}, "balance": {"balance": 0.1}, "outliers": {"outliers": 0.1},
        "annealing": {"annealing": True}, "sum": {"loss": "sum"}, "random": {"init": "random"},
        "sizes": {"size_min": 45}, "two": {"n_clusters": 2},
    }.items()},
    **{f"{table}, MKC": (table, MKC, k, {}, nothing) for table, k in (("iris", 3), ("moons", 2))},
    **{f"two blobs, {cls.__name__}": ("two blobs", cls, 2, {}, nothing)
       for cls in (MMC, GMMC, IterSVM, IterSVR, IterLSSVM)},
    **{f"texts, documents, {side.__name__}": ("texts", DocumentClustering, 5, {}, side)
       for side in (nothing, known, both)},
    **{f"texts, documents, {name}": ("texts", DocumentClustering, 5, settings, nothing) for name, settings in {
        "tfidf": {"features": "tfidf"}, "m2dcu": {"method": "m2dcu"}, "sizes": {"size_min": 50},
        "rank 20": {"n_components": 20},
    }.items()},
}  # fmt: skip


# Models that are updated by rows among which is a class that they have not seen.
UPDATES = {
    f"{table}, {cls.__name__}, forget {forget}": (table, cls, k, forget)
    for table, cls, k in (
        ("blobs", MARGIN, 3), ("words", MARGIN, 3), ("iris", MARGIN, 2), ("wine", CPM3C, 2), ("blobs", CPM3C, 3),
        ("texts", DocumentClustering, 4),
    )
    for forget in (0.0, 0.6)
}  # fmt: skip


def as_text(labels):
    """One letter a row, of a thousand rows at most."""
    labels = np.asarray(labels)
    return "".join("." if label < 0 else DIGITS[label] for label in labels[:: 1 + len(labels) // 1000].tolist())


def figures(model):
    """What a fit says of itself, to five digits."""
    found = [model.objective_] if hasattr(model, "objective_") else []
    found += [model.agreement_.mean()] if hasattr(model, "agreement_") else []
    found += [
        getattr(model, name)
        for name in ("temperature_", "reject_below_", "C_")
        if np.ndim(getattr(model, name, [0])) == 0
    ]
    if hasattr(model, "tree_"):
        found += [model.tree_.margins.sum(), model.tree_.sizes.astype(float).sum()]
    for score in getattr(model, "n_clusters_scores_", [])[:6]:
        found += [score.separation, score.excess, score.strength]
    return [float(f"{value:.5g}") for value in found if value is not None and np.isfinite(value)]


def outcome(fit):
    """Labels and figures of a fit, of another number of clusters and after an update."""
    name, cls, k, settings, side = FITS[fit]
    X, y = table(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(**{"n_clusters": k, "random_state": 0, **settings})
        if name == "customers":
            from widegap import TableEncoder

            encoder = TableEncoder().fit(X)
            X = encoder.transform(X)
        others = {"universum": (X[:40] + X[-40:]) / 2} if cls is M2DCU else {}
        model.fit(X, **others, **side(y))
        found = {"labels": as_text(model.labels_), "figures": figures(model)}
        if hasattr(model, "predict"):
            found["predicted"] = as_text(model.predict(X))
        if cls is MARGIN and settings.get("search") != "moves" and side is not weighted:
            if "size" not in fit and k != "auto":
                found["cut"] = as_text(model.cut(k + 2))
            found["questions"] = [question.row for question in model.questions(5)]
    return found


def updated(fit):
    """Labels of a model after two updates, and what it says of them."""
    name, cls, k, forget = UPDATES[fit]
    X, y = table(name)
    seen = (y != y.max()) & (np.arange(len(y)) % 3 > 0)
    later = np.flatnonzero(~seen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(k, random_state=0).fit(X[np.flatnonzero(seen)])
        model = model.update(X[later[::2]], forget=forget)
        found = {"first": as_text(model.labels_)}
        model = model.update(X[later[1::2]], forget=forget)
    changes = [
        f"{change.kind} {change.cluster}: {change.share_before:.3g} {change.share_after:.3g} {change.related}"
        for change in model.changes_
    ]
    return found | {"labels": as_text(model.labels_), "changes": changes}


if __name__ == "__main__":
    found = {fit: outcome(fit) for fit in FITS} | {f"update of {fit}": updated(fit) for fit in UPDATES}
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
