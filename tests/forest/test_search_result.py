"""Searches as objects: prepared rows in, one frozen result out, which the estimator stores."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widegap import MaxMarginClustering
from widegap.base._records import Recorder
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.constraints._units import read_constraints
from widegap.forest._forest_search import ForestSearch
from widegap.forest._moves_search import MovesSearch
from widegap.forest._row_preparation import KernelSettings, RowPreparation, RowsToFit
from widegap.forest._search_result import SearchResult, StartRecord
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
