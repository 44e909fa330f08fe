"""Which cluster is which, against all ways to match them."""

from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap.updating._matching import match_clusters


def match(found, before, k=None, next_number=None, weights=None, fixed=()):
    found, before = np.asarray(found, np.int32), np.asarray(before, np.int32)
    weights = np.ones(len(found)) if weights is None else np.asarray(weights, float)
    k = int(found.max()) + 1 if k is None else k
    next_number = int(before.max()) + 1 if next_number is None else next_number
    return match_clusters(found, before, weights, k, next_number, np.array(fixed, np.int64))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=60))
def test_the_weight_of_kept_pairs_is_that_of_the_best_of_all_matchings(pairs):
    found, before = np.array(pairs).T
    overlaps = np.zeros((4, 4))
    np.add.at(overlaps, (found, before), 1)
    best = max(permutations(range(4)), key=lambda order: sum(overlaps[f, p] for f, p in enumerate(order)))
    if all(2 * overlaps[f, p] > max(overlaps[f].sum(), overlaps[:, p].sum()) for f, p in enumerate(best)):
        assert match(found, before, 4, 4).numbers.tolist() == list(best)


def test_order_and_size_do_not_matter():
    before = np.repeat([0, 1, 2], [5, 50, 20])
    found = np.array([2, 0, 1])[before]
    for rows in (np.arange(75), np.random.default_rng(0).permutation(75)):
        result = match(found[rows], before[rows])
        assert result.numbers.tolist() == [1, 2, 0]
        assert result.clean


def test_a_divided_cluster_leaves_its_number_to_the_larger_part():
    result = match(np.repeat([0, 1, 2], [30, 20, 50]), np.repeat([0, 1], [50, 50]))
    assert result.numbers.tolist() == [0, 2, 1]
    assert result.parents[1] == 0
    assert not result.clean


def test_a_number_goes_to_no_part_that_is_less_than_half_of_its_cluster():
    result = match(np.repeat([0, 1, 2], [22, 20, 18]), np.repeat([0], [60]), next_number=1)
    assert result.numbers.tolist() == [1, 2, 3]
    assert result.parents.tolist() == [0, 0, 0]


def test_joined_clusters_keep_the_number_of_the_larger_also_if_neither_is_most_of_both():
    before = np.repeat([0, 1, 2, 3], [40, 35, 35, 50])
    result = match(np.repeat([0, 1], [110, 50]), before, 2)
    assert result.numbers.tolist() == [0, 3]
    assert not result.clean


def test_a_number_is_given_once_and_new_ones_are_those_that_were_never_used():
    result = match([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], next_number=9)
    assert result.numbers.tolist() == [9, 10, 11]


def test_clusters_with_known_labels_keep_their_numbers_whatever_they_share():
    before, found = np.repeat([0, 1], [10, 10]), np.repeat([1, 0], [10, 10])
    assert match(found, before).numbers.tolist() == [1, 0]
    assert match(found, before, fixed=[0]).numbers[0] == 0


def test_weights_decide():
    result = match([0, 0, 0, 1], [0, 0, 1, 0], weights=[1, 1, 5, 3])
    assert result.numbers.tolist() == [1, 0]


def test_just_half_is_not_most():
    """Of cluster 0 half is in the first cluster found, or half of that comes from it: the number goes to neither."""
    assert match([0, 0, 1, 1], [0, 0, 0, 0], next_number=1).numbers.tolist() == [1, 2]
    assert match([0, 0, 0, 1], [0, 0, 0, 0], next_number=1).numbers.tolist() == [0, 1]
    # All of cluster 0 is in the first, but only half of that comes from it.
    assert match([0, 0, 0, 0, 1, 1], [0, 0, 1, 2, 1, 2], 2).numbers.tolist() == [3, 4]
    assert match([0, 0, 0, 0, 1, 1], [0, 0, 0, 2, 1, 2], 2).numbers.tolist() == [0, 3]


def test_parents_are_where_most_comes_from_and_none_where_nothing_does():
    result = match([0, 0, 0, 1], [2, 1, 2, 0], 3)
    assert result.parents.tolist() == [2, 0, -1]
    assert result.numbers.tolist() == [2, 0, 3] and not result.clean


def test_a_match_is_clean_if_every_cluster_before_has_an_heir_of_its_own():
    assert match([0, 0, 1, 1], [1, 1, 0, 0]).clean
    assert match([0, 0, 1, 1], [1, 1, 0, 0], next_number=5).clean  # numbers without rows do not count
    assert not match([0, 0, 1, 1, 1], [0, 0, 1, 1, 2], 2).clean  # a small one was joined
    assert not match([0, 0, 1, 1], [0, 0, 1, 1], 3).clean  # a cluster found without rows


def test_names_that_are_fixed_outweigh_all_rows():
    found, before = np.repeat([0, 1, 2], [50, 3, 3]), np.repeat([1, 0, 2], [50, 3, 3])
    assert match(found, before, fixed=[0, 1]).numbers.tolist() == [0, 1, 2]
    assert match(found, before, weights=np.full(56, 1e-9), fixed=[2]).numbers[0] == 2
    assert match(found, before).numbers.tolist() == [1, 0, 2]
