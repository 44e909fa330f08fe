"""Rows that teach a classifier: against scikit-learn's logistic regression, and what it carries on."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from widegap.constraints import _self_training as _taught
from widegap.constraints._self_training import self_trained, surest


def test_steps_lead_to_logistic_regression(monkeypatch):
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(90, 4)), np.eye(3)[rng.integers(0, 3, 90)]
    features = np.hstack([Z, np.ones((90, 1))])
    monkeypatch.setattr(_taught, "LOGISTIC_STEPS", 300)
    monkeypatch.setattr(_taught, "LOGISTIC_RIDGE", 1.0)
    B = _taught._logistic_regression(features, Y, np.zeros((5, 3)))
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(features, Y.argmax(axis=1))
    np.testing.assert_allclose(B.T, model.coef_, atol=1e-5)


def test_the_surest_rows_come_first_and_known_ones_before_them():
    scores = np.array([[0.0, 1.0], [0.0, 3.0], [2.0, 0.0], [0.1, 0.0]])
    taken, found = surest(scores, np.array([3]), np.array([1]), 3)
    assert taken.tolist() == [3, 1, 2] and found.tolist() == [1, 1, 0]


def test_what_is_sure_is_carried_along_the_shape_of_a_class():
    rng = np.random.default_rng(1)
    along, side = rng.uniform(-1, 1, 400), np.arange(400) % 2
    Z = np.column_stack([along, 0.2 * (side - 0.5) + rng.normal(scale=0.02, size=400)])
    Z = (Z - Z.mean(axis=0)) / np.sqrt(np.square(Z - Z.mean(axis=0)).sum(axis=1).mean())
    hints = np.where(along > 0, 0.9 * side + 0.05, 0.6)[:, None]  # at the other end all rows seem of one class
    shares = np.hstack([1 - hints, hints])
    rows = np.array([0, 1])
    said = self_trained(Z, np.log(shares), rows, side[rows])
    assert np.exp(said).sum(axis=1) == pytest.approx(1)
    assert np.mean(shares.argmax(axis=1) == side) < 0.8 < 0.9 < np.mean(said.argmax(axis=1) == side)
