"""Rows that a second fit puts into other clusters are counted by the best matching of clusters, of all matchings."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widegap.results._verification import _n_in_other_clusters

LABELS = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=12)


@pytest.mark.parametrize("before, found, n_different", [
    (np.zeros(10, int), np.repeat([0, 1], 5), 5),
    (np.repeat([0, 1], 5), np.zeros(10, int), 5),
    (np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3), 6),
    (np.array([5, 5, 9, -1]), np.array([1, 1, 0, -1]), 0),
    (np.full(3, -1), np.zeros(3, int), 3),
])  # fmt: skip
def test_a_cluster_that_falls_apart_is_still_matched_with_a_part(before, found, n_different):
    assert _n_in_other_clusters(before, found) == n_different


@given(LABELS)
def test_no_other_matching_leaves_fewer_rows(pairs):
    before, found = np.array(pairs).T
    renamed = (np.array([*numbers, -1])[found] for numbers in permutations(range(4)))
    assert _n_in_other_clusters(before, found) == min(np.count_nonzero(names != before) for names in renamed)
