"""What a model remembers: sizes, weights, small clusters, rows with labels, and what fades."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from widegap.constraints._units import Units
from widegap.exceptions import InvalidDataError
from widegap.updating._memory import Memory, rows_to_remember


def remember(labels, size, weights=None, held=None, seed=0):
    labels = np.asarray(labels, np.int32)
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, float)
    held = np.zeros(len(labels), bool) if held is None else np.asarray(held)
    return rows_to_remember(labels, weights, held, size, np.random.default_rng(seed))


def memory_of(labels, weights, units=None, next_number=None):
    labels = np.asarray(labels, np.int32)
    rows = np.arange(2.0 * len(labels)).reshape(-1, 2)
    number = int(labels.max()) + 1 if next_number is None else next_number
    return Memory(rows, labels, np.asarray(weights, float), np.arange(len(labels)), units, number, len(labels))


def test_rows_from_before_the_last_update_come_after_the_new_ones():
    memory = memory_of([0, 1, 0, 1], [1, 1, 1, 1])
    assert memory.before_update.tolist() == []
    later = Memory(**{**vars(memory), "n_new": 3})
    assert later.before_update.tolist() == [3]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1, 5), min_size=1, max_size=200), st.integers(1, 300), st.integers(0, 10))
def test_weights_of_a_cluster_add_up_to_all_that_it_has_seen(labels, size, seed):
    rows, weights = remember(labels, size, seed=seed)
    labels = np.array(labels)
    assert len(rows) <= max(size, 6)
    assert (np.diff(rows) > 0).all() and (labels[rows] >= 0).all()
    for p in np.unique(labels[labels >= 0]):
        assert weights[labels[rows] == p].sum() == pytest.approx((labels == p).sum())


def test_all_rows_are_kept_while_there_is_room():
    rows, weights = remember([0, 1, -1, 1], 10)
    assert rows.tolist() == [0, 1, 3]
    assert weights.tolist() == [1, 1, 1]


def test_a_small_cluster_keeps_rows():
    labels = np.repeat([0, 1], [10_000, 20])
    rows, weights = remember(labels, 100)
    kept = np.bincount(labels[rows])
    assert kept[1] >= 10  # in proportion it would be none
    assert weights[labels[rows] == 1][0] == pytest.approx(20 / kept[1])


def test_heavy_rows_are_drawn_more_often():
    weights = np.repeat([1.0, 9.0], 500)
    drawn = [np.mean(remember(np.zeros(1000), 50, weights, seed=seed)[0] >= 500) for seed in range(40)]
    assert 0.85 < np.mean(drawn) < 0.93


def test_rows_with_labels_are_kept_and_count_only_if_drawn():
    held = np.zeros(1000, bool)
    held[:5] = True
    rows, weights = remember(np.zeros(1000), 10, held=held)
    assert set(range(5)) <= set(rows.tolist())
    assert weights.sum() == pytest.approx(1000)
    assert (weights[:5] == 0).any()


def test_rows_of_weight_zero_are_not_remembered():
    rows, _ = remember([0, 0, 0], 10, weights=[1, 0, 2])
    assert rows.tolist() == [0, 2]


def test_nothing_fades_at_zero_and_half_at_a_half():
    memory = memory_of([0, 1, 1], [4, 2, 2])
    assert memory.faded(0.0) is memory
    assert memory.faded(0.5).weights.tolist() == [2, 1, 1]
    assert memory.n_seen == 8


def test_a_cluster_of_less_than_a_row_is_forgotten_unless_a_label_holds_it():
    labels, weights = [0, 1], [100, 0.6]
    assert memory_of(labels, weights).faded(0.5).labels.tolist() == [0]
    units = Units(np.arange(2), np.ones(2, np.int64), np.array([-1, 0]), np.empty((0, 2), np.int64))
    assert memory_of(labels, weights, units).faded(0.5).labels.tolist() == [0, 1]


def test_numbers_are_never_given_back():
    memory = memory_of([0, 1], [10, 1], next_number=7)
    assert memory.faded(0.9).next_number == 7
    assert memory.relabelled(np.array([0, 9], np.int32), np.array([0, 9]), None).next_number == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.array([0, 5], np.int32)}, "clusters that it does not have"),
        ({"labels": np.array([0], np.int32)}, "labels of the rows"),
        ({"weights": np.array([1.0, np.nan])}, "not possible"),
        ({"weights": np.array([1.0, -1.0])}, "not possible"),
        ({"rows": np.array([[0.0, np.inf], [0, 0]])}, "finite"),
        ({"rows": np.zeros((2, 3))}, "columns"),
        ({"next_number": 1}, "clusters that it does not have"),
        ({"places": np.array([0, -4])}, "not possible"),
        ({"doubt": 0.0}, "spoke against"),
        ({"doubt": np.nan}, "spoke against"),
        ({"units": Units(np.array([0, 9]), np.ones(2, np.int64), np.full(2, -1), np.empty((0, 2), int))}, "not there"),
        ({"units": Units(np.arange(2), np.ones(2, np.int64), np.array([0, 7]), np.empty((0, 2), int))}, "not there"),
        ({"units": Units(np.arange(2), np.array([2, 0]), np.full(2, -1), np.empty((0, 2), int))}, "sizes"),
        ({"units": Units(np.arange(2), np.ones(2, np.int64), np.full(2, -1), np.array([[0, 8]]))}, "apart"),
    ],
)
def test_forged_rows_are_refused(change, message):
    memory = memory_of([0, 1], [1, 1])
    memory.check(2, [0, 1])
    with pytest.raises(ValueError, match=message):
        Memory(**{**vars(memory), **change}).check(2, [0, 1])


def quotas_by_loops(counts, shares, size):
    """How many rows every cluster keeps, one by one."""
    k = len(counts)
    wanted = [min(n, max(size * share, 0.25 * size / k)) for n, share in zip(counts, shares, strict=True)]
    factor = min(1.0, size / sum(wanted))
    found = [max(1, int(np.floor(want * factor))) for want in wanted]
    for _ in range(sum(found) - size):
        largest = found.index(max(found))
        if found[largest] > 1:
            found[largest] -= 1
    return found


@example([30, 1, 1, 1, 1, 1, 1], 4, 0)
@example([3, 3, 2], 8, 0)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=7), st.integers(1, 40), st.integers(0, 99))
def test_how_many_rows_a_cluster_keeps_by_loops(counts, size, seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(counts)), counts)).astype(np.int32)
    weights = rng.integers(1, 5, len(labels)).astype(float)
    if len(labels) <= size:
        assert remember(labels, size, weights)[1].tolist() == weights.tolist()
        return
    shares = np.bincount(labels, weights) / weights.sum()
    rows, kept = remember(labels, size, weights, seed=seed)
    expected = quotas_by_loops(counts, shares, size)
    assert np.bincount(labels[rows], minlength=len(counts)).tolist() == expected
    for p, quota in enumerate(expected):
        own = kept[labels[rows] == p]
        total = weights[labels == p].sum()
        np.testing.assert_allclose(own, weights[rows[labels[rows] == p]] if quota == counts[p] else total / quota)


def test_heavy_rows_come_first_by_exponential_clocks():
    weights = np.array([1.0, 5.0, 2.0, 1.0, 9.0, 1.0])
    rows, _ = remember(np.zeros(6), 3, weights)
    clocks = np.random.default_rng(0).exponential(size=6) / weights
    assert rows.tolist() == sorted(np.argsort(clocks)[:3].tolist())


def test_what_exactly_is_left_of_a_forgotten_cluster():
    memory = memory_of([0, 1, 1, 2], [100, 0.5, 0.5, 0.98])
    assert memory.faded(0.5).labels.tolist() == [0, 1, 1]  # half a row is left of cluster 1
    assert memory.faded(0.5).weights.tolist() == [50, 0.25, 0.25]
    assert memory.faded(0.5).places.tolist() == [0, 1, 2] and memory.faded(0.5).rows.tolist() == [
        [0, 1],
        [2, 3],
        [4, 5],
    ]
    assert memory.faded(0.5, [2]).labels.tolist() == [0, 1, 1, 2]
    with pytest.raises(InvalidDataError, match=r"forget=0.999 leaves less than 0.5 rows of every cluster, of 102 "):
        memory.faded(0.999)


def test_rows_that_became_outliers_are_forgotten():
    units = Units(np.arange(3), np.ones(3, np.int64), np.array([-1, 0, 1]), np.empty((0, 2), np.int64))
    memory = memory_of([0, 1, 1], [4, 2, 3], next_number=2)
    found = memory.relabelled(np.array([1, -1, 0], np.int32), np.array([0, 1]), units)
    assert found.labels.tolist() == [1, 0] and found.places.tolist() == [0, 2] and found.weights.tolist() == [4, 3]
    assert found.units.anchors[found.units.of_row].tolist() == [-1, 1] and found.next_number == 2
    assert memory.relabelled(memory.labels, np.array([0, 2]), None).next_number == 3
    assert memory.relabelled(memory.labels, np.zeros(0, np.int32), None).next_number == 2


def test_records_at_the_borders_of_what_is_possible():
    memory = memory_of([0, 1], [1, 0])
    for change in ({"doubt": 1.0, "n_settled": 0}, {"doubt": 1e-9, "n_settled": 9}, {"next_number": 9}):
        Memory(**{**vars(memory), **change}).check(2, [0, 1])
    for change, message in (
        ({"n_settled": -1}, "come from -1 rows"),
        ({"doubt": 1.001}, "by 1.001"),
        ({"rows": np.zeros((2, 2), int)}, "columns"),
        ({"rows": np.zeros(2)}, "columns"),
        ({"labels": np.zeros(2)}, "labels of the rows"),
        ({"weights": np.ones(3)}, "weights of the rows"),
        ({"weights": np.array([1.0, np.inf])}, "not possible"),
        ({"places": np.zeros(2)}, "places of the rows"),
    ):
        with pytest.raises(ValueError, match=message):
            Memory(**{**vars(memory), **change}).check(2, [0, 1])
    assert memory.n_rows == 2
