"""Bounds on cluster sizes as users give them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widegap.constraints._size_bounds import (
    check_known_sizes,
    check_max_counts,
    feasible_minimum,
    fewest_of_size,
    read_sizes,
    scale_sizes,
)
from widegap.exceptions import InfeasibleBalanceError


def sizes(size_min, size_max, n_rows, n_clusters):
    return [bound.tolist() for bound in read_sizes(size_min, size_max, n_rows, n_clusters)]


def test_numbers_shares_and_one_for_every_cluster():
    assert sizes(None, None, 10, 3) == [[0, 0, 0], [10, 10, 10]]
    assert sizes(2, 5, 10, 3) == [[2, 2, 2], [5, 5, 5]]
    assert sizes(0.2, 0.5, 10, 2) == [[2, 2], [5, 5]]
    assert sizes([1, 0.29], [0.31, np.int64(90)], 100, 2) == [[1, 29], [31, 90]]
    assert sizes(0, 1.0, 10, 2) == sizes(0.0, 1.0, 10, 2) == [[0, 0], [10, 10]]
    assert sizes(0, 2**40, 10, 2) == [[0, 0], [2**40, 2**40]]


@given(st.integers(1, 500), st.integers(1, 20))
def test_an_even_share_can_always_be_met(n_rows, n_clusters):
    lower, upper = read_sizes(1 / n_clusters, 1 / n_clusters, n_rows, n_clusters)
    assert lower.sum() <= n_rows <= upper.sum() and (upper - lower <= 1).all()


@pytest.mark.parametrize(
    ("size_min", "size_max", "message"),
    [
        (4, None, r"size_min=4 asks for 3 x 4 = 12 rows, but there are 10; lower it or n_clusters"),
        ([4, 4, 3], None, r"size_min=\[4, 4, 3\] asks for 4 \+ 4 \+ 3 = 11 rows, but there are 10"),
        (None, 3, r"size_max=3 leaves room for 3 x 3 = 9 rows, but there are 10; raise it or n_clusters"),
        ([5, 0, 0], [4, 9, 9], r"size_min asks for 5 rows in cluster 0 and size_max allows 4; lower the one or raise"),
        ([1, 2], None, r"size_min has 2 entries, but n_clusters=3; pass one number, or one for every cluster"),
        (
            -1,
            None,
            r"size_min holds -1; give a number of rows as an integer from 0 to 2\^40, or a share .* from 0 to 1",
        ),
        (10**30, None, r"size_min holds 10{30}; give a number of rows as an integer from 0 to 2\^40"),
        (None, 1.5, r"size_max holds 1.5; give a number"),
        (None, [True, 5, 5], r"size_max holds True; give a number"),
        (["a", 0, 0], None, r"size_min holds 'a'"),
        (float("nan"), None, r"size_min holds nan"),
    ],
)
def test_refuses_bounds_that_cannot_be(size_min, size_max, message):
    with pytest.raises(InfeasibleBalanceError, match=message):
        read_sizes(size_min, size_max, 10, 3)


def test_known_rows_may_make_bounds_impossible():
    known = np.array([6, 0, 0])
    check_known_sizes(np.array([2, 2, 2]), np.array([6, 6, 6]), known, 10)
    with pytest.raises(
        InfeasibleBalanceError, match=r"6 rows are known to be in cluster 0, but size_max allows 5; rai"
    ):
        check_known_sizes(np.zeros(3, int), np.array([5, 9, 9]), known, 10)
    with pytest.raises(
        InfeasibleBalanceError, match=r"size_min ask for 6 \+ 3 \+ 3 = 12 rows, but there are 10; lower"
    ):
        check_known_sizes(np.full(3, 3), np.full(3, 9), known, 10)


def test_a_least_size_gives_way_to_what_is_known():
    assert feasible_minimum(3, np.zeros(3, int), 10).tolist() == [3, 3, 3]
    assert feasible_minimum(3, np.array([7, 0, 0]), 10).tolist() == [0, 1, 1]
    assert feasible_minimum(3, np.array([9, 1, 0]), 10).tolist() == [0, 0, 0]


def test_bounds_of_a_sample_are_in_proportion():
    lower, upper = scale_sizes(np.array([10, 40]), np.array([50, 60]), np.zeros(2, np.int64), 100, 30)
    np.testing.assert_array_equal(lower, [3, 12])
    np.testing.assert_array_equal(upper, [15, 18])


def test_bounds_of_a_sample_leave_room_for_known_labels():
    # 18 of 20 drawn rows are known to be in the first cluster: 10 for each gives way to 5, then to 2.
    lower, upper = scale_sizes(np.array([50, 50]), np.array([50, 50]), np.array([18, 0]), 100, 20)
    np.testing.assert_array_equal(lower, [2, 2])
    np.testing.assert_array_equal(upper, [18, 10])


def test_upper_bounds_may_equal_the_lower_ones_and_hold_just_all_rows():
    least = np.array([2, 3])
    assert check_max_counts([2, 3], least, 5).tolist() == [2, 3]
    with pytest.raises(InfeasibleBalanceError, match="not below the lower bounds"):
        check_max_counts([2, 2], least, 4)
    with pytest.raises(InfeasibleBalanceError, match="max_counts"):
        check_max_counts([2, 3], least, 6)


def test_as_few_clusters_as_have_room_for_all_rows():
    sizes = [(None, 1), (5, 2), (4, 3), (10, 1), (3, 4), (0.5, 2), (0.3, 4), ([4, 4, 4], 3)]
    assert [fewest_of_size(size, 10) for size, _ in sizes] == [fewest for _, fewest in sizes]
