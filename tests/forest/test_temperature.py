"""Votes of members and the temperature of scores, against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from widegap.forest._temperature import _slope, fit_temperature, member_votes


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


def votes_by_loops(members, labels, k):
    """Every row's share of the rows of its cluster, member by member."""
    found = np.zeros((len(labels), k))
    for i in range(len(labels)):
        for member in members:
            for j in np.flatnonzero(member == member[i]):
                found[i, labels[j]] += 1 / np.count_nonzero(member == member[i]) / len(members)
    return found


def test_votes_by_loops():
    rng = np.random.default_rng(0)
    for k, m in ((1, 1), (3, 4), (4, 2)):
        labels = rng.integers(0, k, 25).astype(np.int32)
        members = [rng.integers(0, count, 25).astype(np.int32) for count in rng.integers(1, 9, m)]
        assert_allclose(member_votes(members, labels, k), votes_by_loops(members, labels, k))


@pytest.mark.parametrize("disagree", [0.05, 0.3, 0.6])
def test_the_temperature_is_that_of_a_general_solver(disagree):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(300, 3))
    votes = (1 - disagree) * np.eye(3)[scores.argmax(axis=1)] + disagree * rng.dirichlet(np.ones(3), 300)
    votes *= rng.integers(1, 3, 300)[:, None]  # rows may have more votes than one
    options = {"xatol": 1e-10}
    best = minimize_scalar(
        lambda z: entropy(scores, votes, np.exp(z)), bounds=(-6, 6), method="bounded", options=options
    )
    assert np.log(fit_temperature(scores, votes)) == pytest.approx(best.x, abs=1e-4)


def test_slopes_are_derivatives():
    rng = np.random.default_rng(2)
    scores, votes = rng.normal(size=(40, 3)), rng.dirichlet(np.ones(3), 40) * 2
    at, step = 1.7, 1e-5
    h = [entropy(scores, votes, 1 / sharpness) for sharpness in (at - step, at, at + step)]
    slope, bend = _slope(scores, votes, at)
    assert slope == pytest.approx((h[2] - h[0]) / (2 * step), rel=1e-6)
    assert bend == pytest.approx((h[2] - 2 * h[1] + h[0]) / step**2, rel=1e-3)


def test_votes_against_all_scores_are_met_by_the_highest_temperature():
    scores = np.random.default_rng(0).normal(size=(200, 2))
    against = np.eye(2)[scores.argmin(axis=1)]
    assert 100 < fit_temperature(scores, against) / scores.std() <= 1e4
