"""Digits in ten batches, as in ``experiments/update_methods.py``: a class that appears, clusters that are mended."""

import numpy as np
from sklearn.datasets import load_digits

from experiments.loaders import load_optdigits
from experiments.update_methods import APPEARS, batches, clear_classes
from tests._data import requires_data
from widegap import MaxMarginClustering
from widegap.metrics import clustering_accuracy


def updated(X, parts, seed):
    model = MaxMarginClustering(9, random_state=seed).fit(X[parts[0]])
    for rows in parts[1:]:
        model = model.update(X[rows])
    return model


@requires_data
def test_a_new_cluster_is_not_joined_with_its_neighbour_at_once():
    X, y = load_optdigits(return_X_y=True)
    parts, appears, _ = batches(y, 1)
    model = updated(X, parts[: APPEARS + 1], 1)
    seen = np.concatenate(parts[: APPEARS + 1])
    kinds = [change.kind for change in model.changes_]
    assert kinds.count("new") == 1
    assert "merged" not in kinds
    assert clear_classes(y[seen], model.predict(X[seen]))[9] == appears


def test_searches_that_contradict_clusters_again_and_again_mend_them():
    X, y = load_digits(return_X_y=True)
    parts, _, _ = batches(y, 1)
    model = MaxMarginClustering(9, random_state=1).fit(X[parts[0]])
    mended = []
    for rows in parts[1:]:
        doubt, model = model._memory.doubt, model.update(X[rows])
        assert 0.75 < model._memory.doubt <= 1
        if doubt < 1 and {"split"} <= {change.kind for change in model.changes_}:
            mended.append(model._memory.doubt)
    assert mended == [1, 1]  # what was said against the former clusters does not count against these
    assert 1 - clustering_accuracy(y, model.predict(X)) < 0.15  # 0.11; 0.15 if two old clusters become one
