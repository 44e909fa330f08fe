"""Which columns of X are one column of a table: by the user, by TableEncoder, by a frame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests._mixed_tables import customers
from widegap import TableEncoder
from widegap.exceptions import InvalidDataError
from widegap.features._column_groups import ColumnGroup, EncodedTable, column_groups, shuffle_groups

GROUPS = [ColumnGroup(0, 1), ColumnGroup(1, 2), ColumnGroup(2, 5, True), ColumnGroup(5, 6, True)]


def test_arrays_of_the_encoder_carry_their_groups_through_slices_of_rows():
    X = TableEncoder().fit_transform(customers()[0])
    assert column_groups("auto", X, 6) == GROUPS == column_groups("auto", X[10:20], 6)
    assert column_groups("auto", X[np.arange(5)], 6) == GROUPS
    for other in (X[:, :3], X[:, ::-1], X.T, X[0], np.asarray(X)):
        assert getattr(other, "column_groups", None) is None


def test_an_encoded_table_is_an_ordinary_array_otherwise():
    values = np.arange(12.0).reshape(2, 6)
    X = EncodedTable.of(values, GROUPS)
    np.testing.assert_array_equal(X @ np.ones(6), values.sum(axis=1))
    assert np.shares_memory(X, values) and (X + 1).column_groups == GROUPS


def test_shuffled_groups_keep_their_rows_of_flags():
    X = TableEncoder().fit_transform(customers()[0])
    found = shuffle_groups(X, np.random.default_rng(0))
    assert found.column_groups == GROUPS and (found[:, 2:5].sum(axis=1) == 1).all()
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(X, axis=0))
    assert not (np.asarray(found) == np.asarray(X)).all(axis=1).all()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_frames_of_the_encoder_tell_by_the_names_of_flags(container):
    X = TableEncoder().set_output(transform=container).fit_transform(customers()[0])
    assert column_groups("auto", X, 6) == GROUPS


def test_frames_tell_by_types():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [True, False], "c": pd.Categorical([3, 4]), "d": [5, 6]})
    expected = [ColumnGroup(0, 1), ColumnGroup(1, 2, True), ColumnGroup(2, 3, True), ColumnGroup(3, 4)]
    assert column_groups("auto", frame, 4) == expected
    assert column_groups("auto", pl.DataFrame({"a": [1.0, 2.0], "b": [True, False]}), 2) == expected[:2]
    assert column_groups("auto", frame[["a", "d"]], 2) is None
    assert column_groups(None, frame, 4) is None


def test_names_with_an_equals_sign_are_no_flags_unless_the_values_are():
    frame = pd.DataFrame({"rate = low": [0.1, 0.2, 0.3], "rate = high": [1.5, 0.2, 0.7]})
    assert column_groups("auto", frame, 2) is None


def test_the_user_says_which_columns_are_one_category():
    assert column_groups([slice(2, 5), slice(5, 6)], np.zeros((3, 6)), 6) == GROUPS
    frame = TableEncoder().set_output(transform="pandas").fit_transform(customers()[0])
    assert column_groups(["channel", "member"], frame, 6) == GROUPS
    assert column_groups(["visits"], frame, 6)[1] == ColumnGroup(1, 2, True)
    assert column_groups([], frame, 6) == [ColumnGroup(j, j + 1) for j in range(6)]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([slice(4, 4)], "not a run of the 6 columns"),
        ([slice(0, 6, 2)], "pass slices such as slice"),
        (["channel"], "X has no names; pass slices"),
        ([slice(0, 2), slice(1, 3)], "column 1 of X into two categories"),
    ],
)
def test_what_cannot_be_a_category_is_refused(columns, words):
    with pytest.raises(InvalidDataError, match=words):
        column_groups(columns, np.zeros((3, 6)), 6)
    with pytest.raises(InvalidDataError, match="'chanel', but X has no such column"):
        column_groups(["chanel"], customers()[0], 4)
