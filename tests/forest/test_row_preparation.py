"""Rows as a search sees them: weights of columns, outliers, samples, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from widegap import MaxMarginClustering
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._column_groups import ColumnGroup
from widegap.forest._forest_search import ForestSearch
from widegap.forest._row_preparation import (
    KernelSettings,
    RowPreparation,
    RowsToFit,
    _first_rows_of_table,
    refuse_auto,
    refuse_equal_rows,
    refuse_on_workers,
    searched_units,
)
from widegap.forest._search_space import SearchSpace, nearest_mean_scores, rows_by_weight, rows_to_search
from widegap.rows._sources import row_blocks


def preparation(kernel="rbf", standardize="auto", outliers=0, unmeasured=None, n_components="auto", one_tree=True):
    settings = KernelSettings(kernel, "median", None, n_components, standardize)
    return RowPreparation(ForestSearch(2, "auto", 5, one_tree, 1), settings, 10.0, outliers, 1, unmeasured)


def to_fit(X, groups=None, **side):
    return RowsToFit(row_blocks(X), SideInformation(), RowConstraints(**side), groups)


X = np.random.default_rng(0).normal(size=(60, 3)) + 6 * (np.arange(60) % 2)[:, None]


class TestColumns:
    def test_unmeasured_ones_have_the_weight_0(self):
        one = preparation(unmeasured=[1])
        assert_array_equal(one._column_weights(X), [1, 0, 1])
        scaled = preparation(standardize=True, unmeasured=[0, 2])._column_weights(X)
        assert_allclose(scaled, [0, 1 / X[:, 1].std(), 0])
        assert preparation()._column_weights(X) is None
        assert preparation(unmeasured=[])._column_weights(X) is None
        assert preparation("precomputed", unmeasured=[1])._column_weights(X) is None

    def test_rows_are_compared_by_angle_where_they_are_sparse_and_nothing_else_is_said(self):
        assert preparation()._by_angle(sp.csr_array(X)) is True
        assert preparation()._by_angle(X) is False
        assert preparation(standardize=False)._by_angle(sp.csr_array(X)) is False

    @pytest.mark.parametrize(("late", "n", "found"), [(999, 1001, True), (1000, 1001, False)])
    def test_the_first_thousand_rows_tell_whether_columns_have_few_values(self, late, n, found):
        """Twelve values are few; the thirteenth comes after so many rows."""
        table = np.column_stack([np.arange(n) % 12, np.arange(n)]).astype(float)
        table[late, 0] = 99
        first = _first_rows_of_table(to_fit(table, [ColumnGroup(0, 1), ColumnGroup(1, 2)]))
        assert (first is None) == found
        assert first is None or len(first) == 1000

    def test_other_tables_have_none(self):
        table = np.column_stack([np.arange(60) % 2, np.arange(60)]).astype(float)
        groups = [ColumnGroup(0, 1), ColumnGroup(1, 2)]
        assert _first_rows_of_table(to_fit(table, groups)).shape == (60, 2)
        assert _first_rows_of_table(to_fit(table)) is None
        assert _first_rows_of_table(to_fit(sp.csr_array(table), groups)) is None


class TestEqualRows:
    @pytest.mark.parametrize(("table", "equal"), [(np.ones((5, 2)), True), (np.eye(5), False)])
    def test_no_column_varies(self, table, equal):
        assert to_fit(table).are_equal == equal

    def test_labels_that_ask_for_several_clusters_of_them(self):
        refuse_equal_rows(9, 1)
        with pytest.raises(InvalidDataError, match=r"All 9 rows are equal.*ask for 2 clusters"):
            refuse_equal_rows(9, 2)
        with pytest.raises(InvalidDataError, match="ask for 2 clusters"):
            MaxMarginClustering("auto").fit(np.ones((9, 2)), cannot_link=[(0, 1)])


def test_refusals():
    refuse_auto(True)
    with pytest.raises(InvalidDataError, match="n_clusters='auto' needs the tree"):
        refuse_auto(False)
    refuse_on_workers(True, "agree", 0, precomputed=False)
    for arguments, message in (
        ((True, "agree", 0.1, False), "outliers=0.1 on rows of Dask"),
        ((False, "agree", 0, False), "init=<labels> on rows of Dask"),
        ((False, "moves", 0, False), "search='moves' on rows of Dask"),
        ((True, "agree", 0, True), "kernel='precomputed' on rows of Dask"),
    ):
        with pytest.raises(NotSupportedError, match=message):
            refuse_on_workers(*arguments[:3], precomputed=arguments[3])


class TestSearchedRows:
    def test_all_rows_and_their_features(self):
        found = preparation().run(to_fit(X), np.random.default_rng(0))
        assert found.part.searches_all and found.outliers.shape == (0, 3) and found.prepared.units is None
        assert found.prepared.columns is None and not found.prepared.by_angle
        features = found.prepared.feature_sets
        first, second, third = next(features), next(features), next(features)
        assert_array_equal(first, found.prepared.space.features[:, : first.shape[1]])
        assert first.shape[0] == 60 and first.shape[1] <= 100 and second.shape == third.shape
        again = preparation().run(to_fit(X), np.random.default_rng(0)).prepared.feature_sets
        assert_array_equal(next(again), first)
        assert preparation(n_components=7).run(to_fit(X), np.random.default_rng(0)).kernel_map.projection.shape[1] == 7

    def test_outliers_are_left_out_and_labelled_rows_are_not(self):
        table = X.copy()
        table[[4, 9, 30]] += [[300, 0, 0], [0, -300, 0], [0, 0, 300]]
        found = preparation(outliers=0.05).run(to_fit(table), np.random.default_rng(0))
        assert found.part.outlying.tolist() == [4, 9, 30] and len(found.part.searched) == 57
        assert_array_equal(found.outliers, table[[4, 9, 30]])
        assert len(found.prepared.space.rows) == 57
        units = Units(np.arange(60), np.ones(60, np.int64), np.where(np.arange(60) == 9, 0, -1), np.empty((0, 2), int))
        held = preparation(outliers=0.05).run(to_fit(table, units=units, classes=["a"]), np.random.default_rng(0))
        assert 9 in held.part.searched and 4 in held.part.outlying
        assert held.prepared.units.anchors.max() == 0

    def test_rows_of_weight_are_copies(self):
        weights = np.where(np.arange(60) < 20, 0.0, 1.0 + np.arange(60) % 2)
        found = preparation().run(to_fit(X, weights=weights), np.random.default_rng(0))
        assert_array_equal(np.bincount(found.part.searched, minlength=60), weights)
        assert_array_equal(found.prepared.space.rows - found.prepared.space.rows[0],
                           X[found.part.searched] - X[found.part.searched[0]])  # fmt: skip

    def test_constraints_of_the_searched_rows(self):
        units = Units(np.arange(4), np.ones(4, np.int64), np.array([-1, 1, -1, -1]), np.empty((0, 2), int))
        part = TakingPart(4, np.arange(4), searched=np.array([1, 3]))
        assert searched_units(RowConstraints(units), part).anchors.tolist() == [1, -1]
        assert searched_units(RowConstraints(units), TakingPart(4, np.arange(4), searched=np.array([0, 3]))) is None
        assert searched_units(RowConstraints(), part) is None


class TestSamples:
    def test_weights_are_met_evenly(self):
        rng = np.random.default_rng(0)
        assert_array_equal(rows_by_weight(np.array([2.0, 0, 1, 3]), 9, rng), [0, 0, 2, 3, 3, 3])
        assert_array_equal(rows_by_weight(np.array([2.0, 0, 1, 3]), 6, rng), [0, 0, 2, 3, 3, 3])
        few = rows_by_weight(np.array([2.0, 0, 0, 2]), 2, rng)
        assert_array_equal(few, [0, 3])
        drawn = np.concatenate([rows_by_weight(np.array([0.5, 0, 1.5, 0.0]), 9, rng) for _ in range(200)])
        assert len(drawn) == 400  # two rows have a weight
        assert_allclose(np.bincount(drawn), [100, 0, 300], atol=30)

    def test_as_many_constrained_rows_again(self):
        anchors = np.where(np.arange(50) >= 30, 0, -1)
        units = Units(np.arange(50), np.ones(50, np.int64), anchors, np.empty((0, 2), int))
        rng = np.random.default_rng(0)
        found = rows_to_search(50, 8, units, rng)
        assert 8 <= (found >= 30).sum() <= 16 and len(np.unique(found)) == len(found) and (np.diff(found) > 0).all()
        assert len(rows_to_search(50, 8, None, rng)) == 8
        assert_array_equal(rows_to_search(50, 50, units, rng), np.arange(50))
        assert set(range(30, 50)) <= set(rows_to_search(50, 20, units, rng).tolist())


class TestSpace:
    def space(self):
        features = np.random.default_rng(1).normal(size=(30, 4)) * [4, 3, 2, 1] + 2
        centred = features - features.mean(axis=0)
        return SearchSpace(features, None, features, features.mean(axis=0), centred.T @ centred, 5.0), centred

    def test_sums_and_scores_in_whitened_coordinates(self):
        space, centred = self.space()
        labels = (np.arange(30) % 3).astype(np.int32)
        values, vectors = np.linalg.eigh(space.gram)
        Q = centred @ vectors / np.sqrt(values + 1 / 5.0)
        sums = np.array([Q[labels == p].sum(axis=0) for p in range(3)])
        found = space.whitened_sums(labels, 3)
        assert_allclose(found @ found.T, sums @ sums.T, atol=1e-9)
        coef, constants = space.nearest_mean_scores(labels, 3)
        means = sums / 10
        assert_allclose(centred @ coef.T + constants, Q @ means.T - 0.5 * np.square(means).sum(axis=1), atol=1e-9)
        groups = space.nearest_group_scores(labels)
        assert_allclose(groups[0], coef), assert_allclose(groups[1], constants)

    def test_clusters_without_rows_have_scores(self):
        coef, constants = nearest_mean_scores(np.array([[2.0, 0], [0, 0]]), np.eye(2), np.array([2, 0]))
        assert_allclose(coef, [[1, 0], [0, 0]])
        assert_allclose(constants, [-0.5, 0])

    def test_leading_coordinates(self):
        space, centred = self.space()
        found = space.leading(2)
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        assert found.dtype == np.float32 and found.shape == (30, 2)
        assert_allclose(np.abs(found), np.abs(centred @ axes[:2].T), rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize(("scatter", "is_point"), [(0.0, True), (0.9e-12, True), (1.1e-12, False)])
    def test_a_scatter_that_is_rounding(self, scatter, is_point):
        features = np.ones((4, 2))
        space = SearchSpace(features, None, features, np.ones(2), np.diag([scatter * 8, 0]), 1.0)
        assert space.is_point == is_point


def test_by_columns_no_more_rows_than_needed(monkeypatch):
    monkeypatch.setattr("widegap.forest._forest_search.LEAST_SAMPLE", 50)
    table = np.column_stack([X, np.arange(60) % 2])
    groups = [*(ColumnGroup(j, j + 1) for j in range(3)), ColumnGroup(3, 4, True)]
    found = preparation(one_tree=False).run(to_fit(table, groups), np.random.default_rng(0))
    assert len(found.part.searched) == 50 and found.prepared.columns.measures_gaps
    assert_array_equal(found.prepared.columns.table, table[found.part.searched])
    narrow = preparation(one_tree=False).run(to_fit(table[:, 2:], groups[:1] + [ColumnGroup(1, 2, True)]),
                                             np.random.default_rng(0))  # fmt: skip
    assert not narrow.prepared.columns.measures_gaps
    assert preparation().run(to_fit(table, groups), np.random.default_rng(0)).prepared.columns is None
