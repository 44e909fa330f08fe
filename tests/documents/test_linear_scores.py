"""Linear scores of topics against their formulas, written out in loops, and against liblinear as it is called."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from widegap.constraints._side_information import RowConstraints
from widegap.documents._linear_scores import (
    LinearScores,
    explaining_weights,
    fit_linear_scores,
    fit_svm,
    judged,
    mean_scores,
    minus_squared_hinges,
    relabelled,
    weight_of_loss,
)
from widegap.documents._topic_rules import TopicRules


def groups(k, n=36, seed=0):
    """Rows of length one in k overlapping groups, and labels of which a few are wrong and some not known."""
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(n, 6))) + 0.8 * np.eye(6)[np.arange(n) % k]
    labels = (np.arange(n) % k).astype(np.int32)
    labels[:4] = (labels[:4] + 1) % k
    return X / np.linalg.norm(X, axis=1)[:, None], labels


@pytest.mark.parametrize(
    ("n", "C"), [(1, 0.5), (59, 0.5), (60, 0.5), (75, 0.4), (100, 0.3), (299, 30 / 299), (300, 0.1), (5000, 0.1)]
)
def test_the_weight_of_a_row_is_thirty_over_their_number_between_a_tenth_and_a_half(n, C):
    assert weight_of_loss(n) == pytest.approx(C, rel=1e-15)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_those_of_liblinear(k, weighted):
    X, labels = groups(k)
    labels[-5:] = -1
    weights = np.linspace(1, 3, len(X)) if weighted else None
    model = LinearSVC(C=0.5, dual=True, tol=0.01, random_state=7)
    model.fit(sp.csr_array(X[:-5]), labels[:-5], weights[:-5] if weighted else None)
    coef, intercept = model.coef_, model.intercept_
    if k == 2:
        coef, intercept = np.vstack([-coef, coef]), np.append(-intercept, intercept)
    found = fit_linear_scores(sp.csr_array(X), labels, k, 7, weights)
    np.testing.assert_array_equal(found.coef, coef)
    np.testing.assert_array_equal(found.intercept, intercept)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(found.of(X), X @ coef.T + intercept)
    np.testing.assert_array_equal(fit_svm(X, np.arange(36) % k, 3, C=0.2).coef_.shape, (1 if k == 2 else k, 6))
    explained = LinearSVC(C=0.1, dual=True, tol=0.01, random_state=0).fit(X[:-5], labels[:-5]).coef_
    np.testing.assert_array_equal(
        explaining_weights(X, labels, k), np.vstack([-explained, explained]) if k == 2 else explained
    )


def test_one_topic_is_scored_by_its_mean():
    X, labels = groups(2)
    one = np.where(np.arange(36) < 5, -1, 0).astype(np.int32)
    for found in (mean_scores(X, one, 1), fit_linear_scores(X, one, 1, 0)):
        np.testing.assert_allclose(found.coef, X[5:].mean(axis=0)[None])
        np.testing.assert_allclose(found.intercept, [-np.sum(X[5:].mean(axis=0) ** 2) / 2])
        assert found.leads(X)[5:].tolist() == [np.inf] * 31 and np.isnan(found.leads(X)[:5]).all()
        assert found.objective is None and not found.starved
    np.testing.assert_allclose(explaining_weights(X, one, 1), X[5:].mean(axis=0)[None])
    nearest = [np.argmin([np.sum((x - X[labels == p].mean(axis=0)) ** 2) for p in (0, 1)]) for x in X]
    assert mean_scores(X, labels, 2).of(X).argmax(axis=1).tolist() == nearest


def test_leads_by_hand():
    rows = np.array([[3.0, 1.0]] * 4)
    scores = LinearScores(
        np.array([0, 1, 2, -1], np.int32), np.array([[1.0, 0], [0, 1], [1, 2]]), np.array([0.0, 1, 1])
    )
    np.testing.assert_array_equal(scores.leads(rows), [-3.0, -4.0, 3.0, np.nan])  # scores are 3, 2 and 6


@pytest.mark.parametrize("k", [2, 4])
def test_the_objective_is_the_formula(k):
    X, labels = groups(k, n=75 + 3)
    labels[-3:] = -1
    rng = np.random.default_rng(1)
    found = LinearScores(labels, rng.normal(size=(k, 6)), rng.normal(size=k))
    scores, C, n, total = found.of(X), 0.4, 75, 0.0
    for p in range(k):
        total += (found.coef[p] @ found.coef[p] + found.intercept[p] ** 2) / (2 * C * n) / k
        for i in range(n):
            y = 1 if labels[i] == p else -1
            total += max(0.0, 1 - y * scores[i, p]) ** 2 / n / k
    assert judged(found, scores).objective == pytest.approx(total, rel=1e-12)
    for row, value in zip(scores, minus_squared_hinges(scores), strict=True):
        own = int(np.argmax(row))
        expected = sum(max(0.0, 1 - (1 if p == own else -1) * row[p]) ** 2 for p in range(k)) / k
        assert value == pytest.approx(-expected, rel=1e-12)
    nothing = LinearScores(labels, np.zeros((k, 6)), np.zeros(k))
    assert judged(nothing, nothing.of(X)).objective == 1  # as the module says


@pytest.mark.parametrize(("floor", "sizes", "raised"), [(0.1, 2, 1.15), (0.2, 4, 1.35)])
def test_an_intercept_goes_half_way_to_the_next_row(floor, sizes, raised):
    X = np.arange(40.0)[:, None]
    given = LinearScores(np.zeros(40, np.int32), np.array([[0.0], [0.1]]), np.array([0.0, 1.0]))
    found = relabelled(given, X, TopicRules(RowConstraints(), None, None, 40, 2, floor))
    assert found.labels.tolist() == [0] * sizes + [1] * (40 - sizes)
    np.testing.assert_allclose(found.intercept, [raised, 1.0])
    assert found.starved and found.objective == pytest.approx(judged(found, found.of(X)).objective)
