"""Models after updates: one of their first clusters is forgotten, and a later one is new, so that numbers have gaps."""

from functools import cache

import numpy as np

from widegap import CPM3C, MaxMarginClustering

CENTRES = np.array([[0.0, 0.0, 0.0], [12.0, 0.0, 0.0], [0.0, 12.0, 0.0], [12.0, 12.0, 0.0], [6.0, 6.0, 14.0]])
KNOWN_GROUPS, LATER_GROUPS = (0, 1, 2, 3), (0, 2, 3, 4)


def rows_of(groups, n=240, seed=0):
    """Rows of some groups in turn, and the group of each."""
    group = np.array(groups)[np.arange(n) % len(groups)]
    return CENTRES[group] + np.random.default_rng(seed).normal(size=(n, 3)), group


@cache
def updated(method="forest"):
    """The model, its new rows and their groups; the group 1 is gone, and the group 4 is new."""
    estimators = {"forest": MaxMarginClustering(4, random_state=0), "cpm3c": CPM3C(4, random_state=0)}
    model = estimators[method].fit(rows_of(KNOWN_GROUPS)[0])
    X, group = rows_of(LATER_GROUPS, seed=1)
    for _ in range(2):  # what is left of a cluster without new rows is less than one row after the second
        model = model.update(X, forget=0.9)
    X, group = rows_of(LATER_GROUPS, seed=2)
    return model.update(X, forget=0.9), X, group
