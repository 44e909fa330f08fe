"""Starts with known labels: every numbering is tried."""

from itertools import permutations

import numpy as np
import pytest

from widegap.constraints._known_starts import matched_to_anchors, some_of_each_label, with_anchors
from widegap.constraints._units import Units, read_constraints


def units_of(known):
    return read_constraints(len(known), None, known=known).units


def test_fifty_rows_of_each_label_at_least():
    known = np.r_[np.zeros(49), np.ones(99), np.full(100, 2), np.full(250, 3), np.full(7, -1)].astype(int)
    found = some_of_each_label(units_of(known))
    assert [np.count_nonzero(known[found] == p) for p in range(4)] == [49, 99, 50, 50]
    assert len(found) == 248
    assert found[-50:].tolist() == list(range(248, 498, 5))
    assert len(some_of_each_label(None)) == len(some_of_each_label(Units.free(5))) == 0
    assert some_of_each_label(units_of(np.array([-1, 4, -1]))).tolist() == [1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_get_the_numbers_of_most_known_rows(seed, weighted):
    rng = np.random.default_rng(seed)
    labels, known = rng.integers(0, 4, 30).astype(np.int32), rng.integers(-1, 3, 30)
    weights = rng.uniform(0.1, 5, 30) if weighted else None
    each = np.ones(30) if weights is None else weights
    found = matched_to_anchors(labels, units_of(known), weights, 4)
    numbers = {int(p): int(found[labels == p][0]) for p in np.unique(labels)}
    assert len(set(numbers.values())) == len(numbers) and all(
        (found[labels == p] == q).all() for p, q in numbers.items()
    )
    best = max(each[np.array(order)[labels] == known].sum() for order in permutations(range(4)))
    assert each[found == known].sum() == pytest.approx(best)
    assert found.dtype == np.int32


def test_numbers_stay_where_known_rows_do_not_decide():
    labels = np.array([0, 1, 2, 3, 3], np.int32)
    assert matched_to_anchors(labels, None, None, 4) is labels
    assert matched_to_anchors(labels, Units.free(5), None, 4) is labels
    found = matched_to_anchors(labels, units_of([-1, 0, -1, -1, -1]), None, 4)
    assert found.tolist() == [1, 0, 2, 3, 3]  # 0 and 1 change places, and no other
    tied = matched_to_anchors(np.array([0, 1], np.int32), units_of([0, -1]), None, 2)
    assert tied.tolist() == [0, 1]


def test_known_labels_take_their_places():
    found = with_anchors(np.array([2, 2, 0, 1]), units_of([-1, 0, 1, -1]))
    assert found.tolist() == [2, 0, 1, 1] and found.dtype == np.int32
