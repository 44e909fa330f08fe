"""Clusters that hear what is known: labels reach neighbours, wrong rows do not outweigh clusters, links are kept."""

import numpy as np
import pytest

from widegap.constraints._known_classes import LEAST, KnownClasses
from widegap.constraints._seeded_clusters import SPREAD, SeededClusters, _divided, _seeds, _to_shares
from widegap.constraints._units import read_constraints

GROUPS = np.repeat([0, 1, 2], 6)


def spread(Y):
    """Each row shares half of what it has with its group, in equal parts."""
    sums = np.zeros((3, Y.shape[1]))
    np.add.at(sums, GROUPS, Y)
    return 0.5 * Y + 0.5 * sums[GROUPS] / 6


def told(found, known=None, **links):
    """Labels and shares of 18 rows in three groups after ``found`` has heard what is known, {row: label}."""
    column = np.full(18, -1)
    for row, label in (known or {}).items():
        column[row] = label
    constraints = read_constraints(18, 3, known=column, **links)
    return SeededClusters.of(spread, np.asarray(found, np.int32), 3).constrained(constraints.units)


def heard(found, known=None, **links):
    return told(found, known, **links)[0]


def test_without_knowledge_clusters_stay_as_they_are():
    np.testing.assert_array_equal(heard(GROUPS), GROUPS)
    np.testing.assert_array_equal(heard(2 - GROUPS), 2 - GROUPS)


def test_labels_name_the_clusters_they_lie_in():
    labels = heard(GROUPS, {0: 2, 7: 0, 13: 1})
    np.testing.assert_array_equal(labels, np.array([2, 0, 1])[GROUPS])


def test_two_labels_name_two_clusters_and_leave_the_third():
    np.testing.assert_array_equal(heard(GROUPS, {0: 1, 6: 0}), np.array([1, 0, 2])[GROUPS])


def test_clusters_that_no_label_names_get_the_numbers_that_are_left():
    labels = heard(GROUPS, {8: 0})
    assert set(labels[6:12]) == {0}
    assert len(set(labels[:6])) == len(set(labels[12:])) == 1
    assert set(labels) == {0, 1, 2}


def test_one_odd_row_is_kept_but_moves_nobody():
    labels = heard(GROUPS, {0: 0, 1: 0, 6: 1, 7: 1, 12: 2, 13: 2, 5: 1})
    assert labels[5] == 1
    np.testing.assert_array_equal(np.delete(labels, 5), np.delete(GROUPS, 5))


def test_many_labels_outweigh_the_clusters_that_were_found():
    wrong = GROUPS.copy()
    wrong[3:6] = 1  # half of the first group was taken for the second
    labels = heard(wrong, {0: 0, 1: 0, 3: 0, 4: 0, 6: 1, 7: 1, 12: 2, 13: 2})
    np.testing.assert_array_equal(labels, GROUPS)


def test_linked_rows_share_a_cluster_and_pass_it_on():
    labels = heard(GROUPS, {0: 0, 6: 1, 12: 2}, must_link=[[1, 2], [2, 3]], cannot_link=[[4, 10]])
    assert labels[1] == labels[2] == labels[3]
    assert labels[4] != labels[10]
    np.testing.assert_array_equal(labels, GROUPS)


def test_linked_rows_pass_on_what_they_get_as_if_it_were_known():
    found, known = GROUPS.copy(), {0: 0, 6: 1}
    found[15:] = 1  # half of the third group was taken for the second
    labels, shares = told(found, known, must_link=[[13, 14]])
    assert labels[13] == labels[14] == 2
    np.testing.assert_allclose(shares, told(found, {**known, 13: 2, 14: 2})[1])
    assert np.abs(shares - told(found, known)[1]).max() > 0.01  # 0.038: it matters


def test_rows_that_must_be_apart_are():
    labels = heard(GROUPS, cannot_link=[[0, 1]])
    assert labels[0] != labels[1]


class Sure(KnownClasses):
    """Stands in for what rows are taught: they repeat what was likely."""

    def self_trained(self, shares):
        return np.log(np.maximum(self.likely, LEAST))


class Classifier:
    """Stands in for views of the rows: rather sure that all rows are of the last label that is known."""

    def classes(self, known):
        rows, names = np.flatnonzero(known >= 0), np.unique(known[known >= 0])
        likely = np.tile(0.1 + 0.8 * np.eye(len(names))[-1], (len(known), 1))
        return Sure(names, likely, [], rows, np.searchsorted(names, known[rows]))


def test_a_classifier_decides_among_known_labels_alone():
    column = np.full(18, -1)
    column[[0, 6]] = 0, 1
    units = read_constraints(18, 3, known=column).units
    _, plain = SeededClusters.of(spread, GROUPS, 3).constrained(units)
    labels, shares = SeededClusters.of(spread, GROUPS, 3, Classifier()).constrained(units)
    np.testing.assert_allclose(shares[:, 2], plain[:, 2])  # the cluster without a name keeps what it has
    assert (shares[:6, 0] < plain[:6, 0]).all() and shares.sum(axis=1) == pytest.approx(1)
    np.testing.assert_array_equal(labels, GROUPS)  # one label a class says little


@pytest.mark.parametrize("each", [1, 90])
def test_the_more_labels_the_more_a_classifier_has_to_say(each):
    shares, q, r = np.array([[0.5, 0.2, 0.3]]), np.array([0.1, 0.9]), each / (each + SPREAD)
    told = Sure(np.array([0, 1]), q[None], [], np.arange(2 * each), np.arange(2 * each) % 2)
    p = (1 - r) * shares[0, :2] + r * 0.7 * q
    expected = p * q**r
    np.testing.assert_allclose(_divided(shares, told)[0], [*(0.7 * expected / expected.sum()), 0.3])


def test_seeds_have_columns_of_sum_one():
    Y = _seeds(np.array([0, -1, 0, 2]), 3)
    np.testing.assert_array_equal(Y, [[0.5, 0, 0], [0, 0, 0], [0.5, 0, 0], [0, 0, 1]])


def test_shares_have_rows_of_sum_one():
    F = np.array([[1.0, 0.0], [3.0, 1.0], [0.0, 0.0]])
    shares = _to_shares(F)
    np.testing.assert_allclose(shares, [[1, 0], [0.75 / 1.75, 1 / 1.75], [0.5, 0.5]])
    assert shares.sum(axis=1) == pytest.approx(1)
