"""New and remembered rows as one table: places, what each row counts, and what is known of it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widegap.constraints._units import Units
from widegap.features._column_groups import ColumnGroup, EncodedTable
from widegap.updating._changes import Lineage
from widegap.updating._joint_rows import Followed, JointRows, UpdateRows, _held_classes, join_rows
from widegap.updating._memory import Memory

NO_PAIRS = np.empty((0, 2), np.int64)


def new_rows(chosen=(1, 3, 4), n=6, groups=None):
    chosen = np.array(chosen)
    return UpdateRows(np.arange(2.0 * len(chosen)).reshape(-1, 2), chosen, np.full(len(chosen), 2.0), chosen, n, groups)


def memory(labels=(0, 3, 3), units=None, dtype=np.float64):
    rows = 10 + np.arange(2 * len(labels)).reshape(-1, 2).astype(dtype)
    weights = np.arange(1.0, 1 + len(labels))
    return Memory(rows, np.array(labels, np.int32), weights, np.arange(len(labels)), units, 5, 4, 7, 0.5)


def test_places_of_searched_rows_are_those_among_all():
    new = new_rows()
    assert_array_equal(new.among_all(np.arange(6)), [1, 3, 4, 6, 7, 8])
    assert not new.all_searched and new_rows((0, 1), 2).all_searched
    assert_array_equal(new_rows((), 4).among_all(np.arange(2)), [4, 5])


def test_rows_and_what_is_known_of_them_are_joined():
    units = Units(np.array([0, 1, 1]), np.array([1, 2]), np.array([0, -1]), NO_PAIRS)
    predicted = np.array([1, 0, 1, 1, 1, 0], np.int32)
    joint = join_rows(new_rows(), memory(units=units, dtype=np.float32), np.array([0, 3]), predicted, ["a", None])
    assert joint.rows.dtype == np.float64 and joint.rows.shape == (6, 2)
    assert_array_equal(joint.rows[:, 0], [0, 2, 4, 10, 12, 14])
    assert_array_equal(joint.is_new, [True] * 3 + [False] * 3)
    assert_array_equal(joint.weights, [2, 2, 2, 1, 2, 3])
    assert_array_equal(joint.before, [1, 0, 1, 0, 1, 1])  # remembered rows stay in theirs, whatever is predicted
    assert_array_equal(joint.predicted, predicted)
    assert_array_equal(joint.constraints.units.anchors[joint.constraints.units.of_row], [-1, -1, -1, 0, -1, -1])
    assert joint.constraints.units.of_row[4] == joint.constraints.units.of_row[5]
    assert joint.constraints.classes == ["a"]
    assert (joint.n_new, joint.next_number, joint.n_settled, joint.doubt) == (3, 5, 7, 0.5)


def test_without_constraints_and_with_columns_that_belong_together():
    groups = [ColumnGroup(0, 2, True)]
    predicted = np.zeros(6, np.int32)
    joint = join_rows(new_rows(groups=groups), memory(), np.array([0, 3]), predicted, [None, None])
    assert isinstance(joint.rows, EncodedTable) and list(joint.rows.column_groups) == groups
    assert joint.constraints.units is None and joint.constraints.classes == []
    assert not isinstance(join_rows(new_rows(), memory(), np.array([0, 3]), predicted, []).rows, EncodedTable)


@pytest.mark.parametrize(
    ("classes", "anchors", "held"),
    [
        ([None, None, None], None, []),
        ([None, "b", None], None, [None, "b"]),
        ([None, "b", None], [2, -1], [None, "b", None]),
        (["a", None, None], [-1, 0], ["a"]),
        ([None, None, None], [-1, -1], []),
    ],
)
def test_clusters_up_to_the_last_that_is_held(classes, anchors, held):
    units = None
    if anchors is not None:
        units = Units(np.arange(2), np.ones(2, np.int64), np.array(anchors), NO_PAIRS)
    assert _held_classes(classes, units) == held


def test_counts_add_up_to_the_rows_that_tell_independently():
    weights = np.array([1.0, 1.0, 4.0, 2.0, 2.0, 2.0, 2.0])
    found = JointRows(np.zeros((7, 1)), 3, weights, *[np.zeros(7, np.int32)] * 3, None, 1)
    assert found.counts[:3].sum() == pytest.approx(36 / 18)
    np.testing.assert_allclose(found.counts[:3], np.array([1, 1, 4]) * 6 / 18)
    np.testing.assert_allclose(found.counts[3:], 1.0)
    weightless = JointRows(np.zeros((2, 1)), 1, np.array([1.0, 0.0]), *[np.zeros(2, np.int32)] * 3, None, 1)
    assert_array_equal(weightless.counts, [1, 0])


def test_what_is_compared_was_found_in_one_way():
    labels, alike = np.array([0, 1, 1], np.int32), np.array([0, 0, 1], np.int32)
    followed = Followed(labels, alike, np.ones((3, 2)), Lineage([0, 1], [0, 1]))
    assert (followed.n_settled, followed.doubt) == (0, 1.0)
    joint = JointRows(np.zeros((3, 1)), 1, np.array([2.0, 3.0, 1.0]), *[labels] * 3, None, 2)
    assert (joint.n_settled, joint.doubt) == (0, 1.0)
    found = followed.compared(joint, ["spend"])
    assert found.labels is alike and found.columns == ["spend"] and found.rows is joint.rows
    np.testing.assert_allclose(found.weights, [1, 3 * 4 / 10, 4 / 10])
    assert (found.n_new, found.n_remembered) == (1.0, pytest.approx(1.6))
