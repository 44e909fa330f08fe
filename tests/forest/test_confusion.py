"""Confusion of groups: every row scored by a classifier that was trained without it."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from widegap.forest._confusion import confusion_of_groups


def by_leaving_out(P, labels, m):
    """Y'G with a ridge regression on all other rows, solved anew for each row."""
    n, r = P.shape
    ridge = 0.01 * np.square(P).sum() / r
    Y, found = np.eye(m)[labels], np.zeros((m, m))
    table = np.column_stack([P, np.ones(n)])
    penalty = np.diag([ridge] * r + [0.0])
    for i in range(n):
        rest = np.arange(n) != i
        coef = np.linalg.solve(table[rest].T @ table[rest] + penalty, table[rest].T @ Y[rest])
        scores = table[i] @ coef
        found[labels[i]] += np.where(scores >= 1 / m, scores, 0)
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("m", [2, 5])
def test_scores_are_those_of_classifiers_without_the_row(seed, m):
    rng = np.random.default_rng(seed)
    P = PCA().fit_transform(rng.normal(size=(40, 6)) * [5, 3, 2, 1, 1, 0.1])
    labels = np.concatenate([np.arange(m), rng.integers(0, m, 40 - m)]).astype(np.int32)
    np.testing.assert_allclose(confusion_of_groups(P, labels, m), by_leaving_out(P, labels, m), atol=1e-9)
