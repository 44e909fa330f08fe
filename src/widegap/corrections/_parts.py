"""A cluster split in two: the one meaning of a split, on the page and on the command line."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from widegap._types import Floats, Ints, Mask
from widegap.corrections._constraints import KeyedConstraints

# Bounds of the first fit on sizes and outliers, and its checkpoint: corrections go before them.
NEUTRAL_PARAMETERS = {"size_min": None, "size_max": None, "outliers": 0, "checkpoint": None}
# Of a larger cluster a sample is fitted and the rest predicted: a page waits for the answer, and 20,000 rows of ten
# columns took five seconds on two busy cores.
SPLIT_SAMPLE = 20_000


def unbounded_copy(model: Any, k: int) -> Any:
    """An unfitted copy of a model for k clusters, without the bounds that corrections may break."""
    found = clone(model)
    neutral = {name: value for name, value in NEUTRAL_PARAMETERS.items() if name in found.get_params()}
    return found.set_params(n_clusters=k, **neutral)


def two_parts(
    model: Any, X: Any, rows: Ints, constraints: KeyedConstraints, weights: Floats | None = None
) -> list[list[int]]:
    """The rows that stay and the rows that leave when a cluster is split, found by a fit of these rows alone.

    Rows that a person assigned stay; without any, the larger part does. Links hold between the two parts.

    Parameters
    ----------
    model : estimator
        Its unfitted copy finds the parts.
    X : rows
        All of them.
    rows : ndarray
        Those of the cluster.
    constraints : KeyedConstraints
        All corrections so far.
    weights : ndarray, default=None
        Weights of all rows.
    """
    held = np.isin(rows, [*constraints.by_hand])
    linked = np.concatenate([constraints.must_link.ravel(), constraints.cannot_link.ravel()])
    chosen = _sample(rows, held | np.isin(rows, linked))
    place = {int(row): i for i, row in enumerate(rows[chosen])}
    arguments: dict[str, Any] = {
        name: [(place[a], place[b]) for a, b in pairs.tolist() if a in place and b in place] or None
        for name, pairs in (("must_link", constraints.must_link), ("cannot_link", constraints.cannot_link))
    }
    if held.any():
        arguments["known"] = np.where(held[chosen], 0, -1)
    if weights is not None:
        arguments["sample_weight"] = weights[rows[chosen]]
    fitted = unbounded_copy(model, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever asks for two parts knows that they may hardly differ
        fitted.fit(X[rows[chosen]], **{name: value for name, value in arguments.items() if value is not None})
    labels = np.empty(len(rows), np.int64)
    labels[chosen] = fitted.labels_
    if len(chosen) < len(rows):
        labels[~np.isin(np.arange(len(rows)), chosen)] = fitted.predict(X[np.delete(rows, chosen)])
    stays = 0 if held.any() else int(np.bincount(labels).argmax())
    return [rows[labels == stays].tolist(), rows[labels != stays].tolist()]


def _sample(rows: Ints, needed: Mask) -> Ints:
    """Places of the rows to fit: all, or as many as a page can wait for, those with constraints among them."""
    if len(rows) <= SPLIT_SAMPLE:
        return np.arange(len(rows))
    drawn = np.random.default_rng(0).choice(len(rows), SPLIT_SAMPLE, replace=False)
    return np.union1d(drawn, np.flatnonzero(needed))
