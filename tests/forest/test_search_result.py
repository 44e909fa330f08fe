"""Searches as objects: prepared rows in, one frozen result out, which the estimator stores."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widegap import MaxMarginClustering
from widegap.base._records import Recorder
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.constraints._units import read_constraints
from widegap.forest._agreement import row_agreement
from widegap.forest._forest_search import ForestSearch
from widegap.forest._moves_search import MovesSearch
from widegap.forest._row_preparation import KernelSettings, RowPreparation, RowsToFit
from widegap.forest._search_result import ForestCuts, SearchResult, StartRecord, views_of
from widegap.forest._temperature import member_votes
from widegap.rows._sources import row_blocks

GROUPS = np.arange(90) % 3
X = 4 * np.eye(3)[GROUPS] + np.random.default_rng(0).normal(size=(90, 3))
SEARCHES = {
    "merge": ForestSearch(3, "auto", 30, one_tree=True, n_threads=1),
    "moves": MovesSearch(3, 0.2, "k-means", "auto", "auto", 30),
}


def run(search, **side):
    """The result of a search of all rows, and the records of its members or starts."""
    rng, recorder = np.random.default_rng(0), Recorder(StartRecord, None, None)
    found = read_constraints(len(X), 3, **side)
    constraints = RowConstraints(found.units, found.classes) if side else RowConstraints()
    preparation = RowPreparation(search, KernelSettings("rbf", "median", None, "auto", "auto"), 10.0, 0, 1)
    searched = preparation.run(RowsToFit(row_blocks(X), SideInformation(), constraints), rng)
    return search.run(searched.prepared, recorder, rng), recorder.records


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_returns_one_frozen_result(name):
    result, records = run(SEARCHES[name])
    assert isinstance(result, SearchResult) and result.n_clusters == 3 and len(records) >= 1
    assert_array_equal(np.bincount(result.labels), [30, 30, 30])
    assert 0 < result.objective <= 2 and all(len(member) == 90 for member in result.members)
    with pytest.raises(FrozenInstanceError):
        result.labels = None


@pytest.mark.parametrize("name", SEARCHES)
def test_the_estimator_stores_what_the_search_found(name):
    result, records = run(SEARCHES[name])
    model = MaxMarginClustering(3, search=name, random_state=0).fit(X)
    assert_array_equal(model.labels_, result.labels)
    assert model.objective_ == pytest.approx(result.objective) and model.n_iter_ == len(records)
    assert (model._kept is None) == (result.cuts is None)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_keeps_the_constraints_of_its_rows(name):
    labels, _ = run(SEARCHES[name], known=["b", "a"] + [None] * 88, cannot_link=[(2, 5)])
    assert labels.labels[0] == 1 and labels.labels[1] == 0 and labels.labels[2] != labels.labels[5]


def test_cuts_at_other_numbers_come_from_the_result():
    result, _ = run(SEARCHES["merge"])
    model = MaxMarginClustering(3, search="merge", random_state=0).fit(X)
    for k in (1, 2, 5):
        again = result.cuts.result(k, None)
        assert again.n_clusters == k and again.cuts is result.cuts
        assert_array_equal(again.labels, model.cut(k))


def test_a_fit_by_moves_leaves_nothing_of_a_search_by_merging():
    model = MaxMarginClustering(3, random_state=0).fit(X)
    private = {name for name in vars(model) if name.startswith("_")}
    assert "_kept" in private and model._forest is model._kept.forest
    model.set_params(search="moves").fit(X)
    assert {name for name in vars(model) if name.startswith("_")} == private - {"_kept"} and model._forest is None


@pytest.fixture(scope="module")
def cuts():
    return MaxMarginClustering(3, random_state=0).fit(X)._kept.result.cuts


class TestForestCuts:
    def test_an_update_keeps_labels_at_their_number(self, cuts):
        labels = ((np.arange(90) + 1) % 3).astype(np.int32)
        kept = cuts.keeping(labels, 3)
        assert_array_equal(kept.result(3, None).labels, labels)
        assert kept.cut(3).pool == cuts.cut(3).pool and kept.forest is cuts.forest
        assert_array_equal(kept.result(2, None).labels, cuts.result(2, None).labels)
        members = np.column_stack(cuts.cut(3).members)
        assert_allclose(kept.cut(3).agreement, row_agreement(members, labels, 3))
        assert kept.cut(3).classes is None

    def test_what_a_result_has(self, cuts):
        for k in (1, 2, 4):
            found, result = cuts.cut(k), cuts.result(k, None)
            assert (result.n_clusters, result.pool, result.cuts) == (k, found.pool, cuts)
            assert result.number is result.smoothing is result.classes is None and not result.starved
            assert_array_equal(result.leaf_of_row, found.source.item_of_row)
            assert_array_equal(result.groups, cuts.forest.first_groups)
            own = cuts.forest.space
            sums = own.whitened_sums(result.labels, k)
            expected = (np.square(sums).sum(axis=1) / np.bincount(result.labels)).sum() if k > 1 else 0.0
            assert result.objective == pytest.approx(expected)
        assert SearchResult(GROUPS, 3, 0.0, []).groups is None

    def test_the_last_cut_stays_ready(self, cuts):
        first = cuts.unconstrained(3)
        assert cuts.unconstrained(3) is first and cuts.unconstrained(4) is not first
        assert cuts.unconstrained(4).seeded.k == 4

    def test_merges_are_judged_on_demand_and_then_always(self, cuts):
        fresh = ForestCuts(cuts.forest)
        result = fresh.result(3, None)
        assert np.isnan(result.tree.excess).all()
        judged = fresh.judged_tree(result, 30)
        assert not np.isnan(judged.excess).all()
        np.testing.assert_array_equal(fresh.result(3, None).tree.excess, judged.excess)
        np.testing.assert_array_equal(ForestCuts(cuts.forest).judged_tree(result, 30).excess, judged.excess)

    def test_what_constraints_spread_over(self, cuts):
        found = cuts.unconstrained(3)
        assert found.pool is cuts.forest.pools[found.found.pool] and found.columns is None
        votes = found.belief(None, found.found.labels)
        assert votes.shape == (90, 3)
        assert_allclose(votes, member_votes(found.found.members, found.found.labels, 3))
        units = read_constraints(90, 3, known=["a"] + [None] * 89).units
        assert_allclose(found.belief(units, found.found.labels).sum(axis=1), 1)
        again = found.constrained(units)
        assert again.labels[0] == 0 and again.classes is None
        assert_allclose(again.agreement, row_agreement(np.column_stack(found.found.members), again.labels, 3))


class TestViews:
    @pytest.mark.parametrize("columns", [3, 260])
    def test_features_to_classify_rows_by(self, columns):
        rows = np.random.default_rng(0).normal(size=(90, columns))
        model = MaxMarginClustering(3, search="merge", n_components=20, random_state=0)
        forest = model.fit(rows)._forest
        views = views_of(forest.space, forest.graph)
        P = forest.space.leading(100).astype(float)
        plain = P / np.square(P).sum(axis=0) ** 0.25  # halfway between as they are and whitened

        def unit(F):
            F = F - F.mean(axis=0)
            return F / np.sqrt(np.square(F).sum(axis=1).mean())

        assert_allclose(views.plain, unit(plain), atol=1e-4)
        parts = [unit(plain), *(unit(forest.graph.smooth(P, steps)) for steps in (2, 8))]
        assert_allclose(views.smooth, np.hstack(parts) / np.sqrt(3), atol=1e-4)
        assert (views.wide is None) == (columns == 3)
        if columns > 3:
            assert views.wide.shape == (90, 50) and np.square(views.wide).sum(axis=1).mean() == pytest.approx(
                1, rel=1e-4
            )


def test_a_record_as_a_line():
    record = StartRecord(3, "gaps, margin", 1.23456789, 0.126)
    assert record.line() == "3, gaps, margin: R2 1.23457, 0.13 s" and record.pool == ""
