"""Votes of members and the temperature of scores, against their definitions."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from widegap.forest._temperature import fit_temperature, member_votes


def entropy(scores, votes, temperature):
    return -(votes * log_softmax(scores / temperature, axis=1)).sum()


def test_votes_are_shares_of_the_members_clusters():
    labels = np.array([0, 0, 1, 1], np.int32)
    same, all_in_one = labels, np.zeros(4, np.int32)
    assert_allclose(member_votes([same], labels, 2), np.eye(2)[labels])
    assert_allclose(member_votes([same, all_in_one], labels, 2), (np.eye(2)[labels] + 0.5) / 2)


def test_no_other_temperature_has_a_lower_cross_entropy():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        scores = scale * rng.normal(size=(200, 4))
        votes = rng.dirichlet(np.ones(4), 200) * 0.3 + 0.7 * np.eye(4)[scores.argmax(axis=1)]
        found = fit_temperature(scores, votes)
        least = entropy(scores, votes, found)
        assert all(least <= entropy(scores, votes, found * factor) for factor in (0.5, 0.97, 1.03, 2.0))


def test_scores_of_any_size_do_not_overflow():
    scores = np.array([[1e6, 0.0], [0.0, 1e6], [5e5, 6e5]])
    assert np.isfinite(fit_temperature(scores, np.eye(2)[[0, 1, 0]]))


def test_equal_scores_and_single_clusters_have_the_temperature_1():
    assert fit_temperature(np.zeros((5, 3)), np.full((5, 3), 1 / 3)) == 1
    assert fit_temperature(np.arange(5.0)[:, None], np.ones((5, 1))) == 1


def test_scores_that_all_members_agree_with_are_no_sharper_than_needed():
    scores = np.random.default_rng(0).normal(size=(300, 3))
    scores[np.arange(300), scores.argmax(axis=1)] += 1.0
    votes = np.eye(3)[scores.argmax(axis=1)]
    found = fit_temperature(scores, votes)
    assert entropy(scores, votes, found) / 300 < 1e-5
    assert found > 0.02  # the probabilities of rows between two clusters are not all 0 or 1
