"""Rows that take no part in a fit, for their weight or as outliers, beside labels and links of all rows."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from widegap import CPM3C, M2DCU, MKC, MaxMarginClustering
from widegap.constraints._selective_clusterer import label_absent
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import read_constraints

MODELS = [
    MaxMarginClustering(3, random_state=0),
    MaxMarginClustering(3, search="moves", random_state=0),
    CPM3C(3, random_state=0),
    M2DCU(3, C_universum=0, random_state=0),
    MKC(3, kernels=["linear", "cosine"], random_state=0),
]
names = ["agree", "moves", "CPM3C", "M2DCU", "MKC"]


def three_groups(n=60, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 3
    return groups, 4 * np.eye(3)[groups] + rng.normal(size=(n, 3))


@pytest.fixture(scope="module")
def weighted():
    """A fit without every fourth row, and the weights."""
    X, weights = three_groups(120)[1], np.where(np.arange(120) % 4 == 1, 0.0, 1.0)
    return MaxMarginClustering(3, random_state=0).fit(X, sample_weight=weights), weights


def test_absent_rows_get_the_cheapest_label_that_links_allow():
    units = read_constraints(6, 3, must_link=[(0, 4)], cannot_link=[(1, 5), (3, 5)]).units
    part = TakingPart.where(np.array([1, 1, 1, 1, 0, 0], bool), np.array([0, 0, 1, 0, 0, 0], bool))
    labels = np.array([2, 0, -1, 1, 0, 0], np.int32)
    costs = np.zeros((6, 3))
    costs[4], costs[5] = [-5, 0, 0], [-3, -2, -1]
    assert label_absent(units, labels, part, costs).tolist() == [2, 0, -1, 1, 2, 2]
    free = read_constraints(6, 3).units
    assert label_absent(free, labels, part, costs).tolist() == [2, 0, -1, 1, 0, 0]


def test_searched_rows():
    part = TakingPart.where(np.ones(3, bool))
    assert not part.searches_all
    assert replace(part, searched=np.arange(3)).searches_all
    assert not replace(part, searched=np.array([0, 1, 1])).searches_all
    assert not replace(part, searched=np.array([0, 2])).searches_all
    inside = replace(part, outlying=np.array([1]), searched=np.array([0, 2])).within(np.array([4, 6, 9]), 12)
    assert (
        inside.present.tolist() == [4, 6, 9] and inside.outlying.tolist() == [6] and inside.searched.tolist() == [4, 9]
    )
    assert inside.fitted.tolist() == [4, 9] and len(inside.absent) == 9


def test_the_way_back():
    part = TakingPart.where(np.array([True, False, True, True, False]))
    assert part.present.tolist() == [0, 2, 3] and part.absent.tolist() == [1, 4]
    assert part.to_all(np.array([7, 8, 9]), [5, 6]).tolist() == [7, 5, 8, 9, 6]
    inner = TakingPart.where(np.array([False, True, True]))
    assert inner.within(part.fitted, part.n).present.tolist() == [2, 3]


def test_outlying_rows_count_but_are_not_fitted():
    part = TakingPart.where(np.array([True, False, True, True]), np.array([False, True, True, False]))
    assert part.outlying.tolist() == [2] and part.fitted.tolist() == [0, 3] and part.absent.tolist() == [1]
    assert part.to_all(np.array([4, 5]), 6).tolist() == [4, 6, -1, 5]


def test_cuts_have_all_rows_and_those_that_took_part_as_they_are_alone(weighted):
    model, weights = weighted
    alone = MaxMarginClustering(3, random_state=0).fit(three_groups(120)[1][weights > 0])
    for k in (1, 2, 5):
        found = model.cut(k)
        assert len(found) == 120 and set(found) == set(range(k))
        assert_array_equal(found[weights > 0], alone.cut(k))
        other = model.with_clusters(k)
        assert_array_equal(other.labels_, found)
        assert other.agreement_.shape == (120,)


def test_corrections_speak_of_the_rows_of_the_table(weighted):
    model, weights = weighted
    groups = three_groups(120)[0]
    known = np.where(np.arange(120) < 12, np.array(["c", "a", "b"])[groups], None)
    later = model.refit(known=known)
    assert later.classes_ == ["a", "b", "c"]
    assert np.mean(np.array(later.classes_)[later.labels_] == np.array(["c", "a", "b"])[groups]) > 0.9
    assert all(later.classes_[later.labels_[row]] == known[row] for row in range(12))
    fresh = MaxMarginClustering(3, random_state=0).fit(three_groups(120)[1], known=known, sample_weight=weights)
    assert_array_equal(later.labels_[weights > 0], fresh.labels_[weights > 0])
    linked = later.refit(cannot_link=[(33, 36), (37, 40)], must_link=[(13, 17), (13, 18)])
    z = linked.labels_
    assert z[33] != z[36] and z[37] != z[40] and z[13] == z[17] == z[18]


def test_questions_number_the_rows_of_the_table_and_ask_for_each_once(weighted):
    model, weights = weighted
    questions = model.questions(30)
    asked = [question.row for question in questions]
    assert len(asked) == len(set(asked)) and (weights[asked] > 0).all()
    assert max(asked) > 90  # rows that took part are fewer
    for question in questions:
        assert_array_equal(model.labels_[list(question.examples)], question.candidates)
    answers = model.answered(questions, ["a"] * len(questions))
    assert_array_equal(np.flatnonzero(answers == "a"), np.sort(asked))


@pytest.mark.filterwarnings("ignore::widegap.exceptions.NoStructureWarning")
def test_copies_of_a_row_are_asked_for_once():
    _, X = three_groups(40)
    X += np.random.default_rng(1).normal(size=X.shape) * 3
    for seed in range(8):
        weights = np.random.default_rng(seed).integers(0, 5, 40)
        asked = [q.row for q in MaxMarginClustering(3, random_state=0).fit(X, sample_weight=weights).questions(40)]
        assert len(asked) == len(set(asked))


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_a_known_row_without_weight_stays_apart_from_others(model):
    _, X = three_groups()
    weights = np.ones(60)
    weights[[0, 1, 2, 9]] = 0
    for near in range(3):  # rows of the group whose label only a row without weight carries
        rows = range(3 + near, 24 + near, 3)
        known = np.array([None] * 60)
        known[:3] = ["a", "b", "c"]
        links = [(near, row) for row in rows if row != 9]
        fitted = clone(model).fit(X, sample_weight=weights, known=known, cannot_link=links)
        assert [fitted.classes_[label] for label in fitted.labels_[:3]] == ["a", "b", "c"]
        assert all(fitted.labels_[a] != fitted.labels_[b] for a, b in links)


@pytest.mark.parametrize("model", MODELS, ids=names)
@pytest.mark.parametrize("outliers", ["auto", 0.2])
def test_outliers_weights_and_what_is_known(model, outliers):
    _, X = three_groups()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        weights = rng.choice([0.0, 0.3, 1.0, 2.0], 60)
        known = np.array([None] * 60)
        known[:3] = ["a", "b", "c"]
        a, b, c, d, e, f = rng.choice(np.arange(3, 60), 6, replace=False).tolist()
        said = {"known": known, "must_link": [(a, b), (c, d)], "cannot_link": [(e, f)]}
        z = clone(model).set_params(outliers=outliers).fit(X + rng.normal(size=X.shape), sample_weight=weights, **said)
        z = z.labels_
        assert z[:3].tolist() == [0, 1, 2] and z[a] == z[b] >= 0 and z[c] == z[d] >= 0 and z[e] != z[f]
        assert min(z[e], z[f]) >= 0


@pytest.mark.parametrize("model", MODELS[1:], ids=names[1:])
def test_starting_labels_are_those_of_the_table(model):
    groups, X = three_groups()
    weights = np.where(np.arange(60) % 7 == 2, 0.0, 1.0)
    fitted = clone(model).set_params(init=groups).fit(X, sample_weight=weights)
    alone = clone(model).set_params(init=groups[weights > 0]).fit(X[weights > 0])
    assert_array_equal(fitted.labels_[weights > 0], alone.labels_)
