"""A search in memory: the way to all rows, whose rows are whose after an update, and what may be asked of it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widegap import MaxMarginClustering
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.constraints._taking_part import TakingPart
from widegap.constraints._units import Units, read_constraints
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.forest import _kept_search
from widegap.forest._kept_search import Extension, KeptSearch, refuse_to_cut
from widegap.forest._search_result import SearchResult
from widegap.rows._sources import row_blocks
from widegap.updating._joint_rows import UpdateRows

NO_PAIRS = np.empty((0, 2), np.int64)
GROUPS = np.array([0, 0, 0, 1, 1], np.int32)  # of the searched rows


def kept(n=7, searched=(0, 1, 2, 4, 6), constraints=None, n_own=None, labels=(0, 1, 1, 0, 0), **more):
    result = SearchResult(np.array(labels, np.int32), 2, 0.5, [], agreement=np.array([1, 0.5, 0, 1, 0.2]))
    places = np.array([2, 3, 4, 0, 5, 1, 6])
    values = {
        "space": None,
        "scoring": None,
        "result": result,
        "part": TakingPart(n, np.arange(n), searched=np.array(searched)),
        "extension": Extension(places, GROUPS, True),
        "side": SideInformation(),
        "constraints": RowConstraints() if constraints is None else constraints,
        "records": [],
        "n_own": n_own,
    }
    return KeptSearch(**(values | more))


class TestExtension:
    def test_places_are_groups_or_searched_rows(self):
        rows = row_blocks(np.zeros((5, 1)))
        nearest, marks = np.array([1, 0, 1, 1, 0]), np.array([-1, 0, 1, -1, 2])
        found = Extension.of(rows, nearest, marks, np.array([0, 0, 1], np.int32))
        assert_array_equal(found.places, [1, 2, 3, 1, 4])
        assert found.places.dtype == np.int32 and found.in_process

    def test_rows_beside_the_searched_go_where_most_of_their_group_are(self):
        found = Extension(np.array([0, 1, 2, 6, 5]), GROUPS, True)
        assert_array_equal(
            found.labels_by_place(np.array([0, 1, 1, 1, 0]), 3), [1, 0, 0, 1, 1, 1, 0]
        )  # a tie: the first
        assert_array_equal(found.to_all_rows(np.array([0, 1, 1, 1, 0]), 3), [1, 0, 0, 0, 1])
        assert_allclose(found.to_all_means(np.array([0.0, 3.0, 3.0, 1.0, 0.5])), [2, 0.75, 0, 0.5, 1.0])

    def test_numbers_of_groups_without_rows(self):
        found = Extension(np.array([1, 0, 2]), np.array([0, 2], np.int32), True)
        assert_array_equal(found.to_all_means(np.array([4.0, 8.0])), [0, 4, 8])


class TestOwnRows:
    def test_without_an_update_all_rows_are_the_users(self):
        one = kept()
        labels = np.array([5, 6, 7, 8, 9, 10, 11])
        assert one.own(labels) is labels
        assert_array_equal(one.searched_labels(labels), [5, 6, 7, 9, 11])
        constraints = RowConstraints()
        assert one.with_remembered(constraints) is constraints

    def test_after_an_update_the_first_are(self):
        one = kept(n_own=4)
        assert_array_equal(one.own(np.arange(7)), np.arange(4))
        assert_array_equal(one.searched_labels(np.array([9, 8, 7, 6])), [9, 8, 7, 0, 0])
        assert_array_equal(one.result.labels, [0, 1, 1, 0, 0])

    @pytest.mark.parametrize(
        ("remembered", "later", "anchors"),
        [
            (None, None, None),
            (None, [1, -1, -1, 0], [1, -1, -1, 0, -1, -1, -1]),
            ([-1, -1, -1, -1, 0, -1, 1], None, [-1, -1, -1, -1, 0, -1, 1]),
            ([-1, -1, -1, -1, 0, -1, 1], [1, -1, -1, 0], [1, -1, -1, 0, 0, -1, 1]),
        ],
    )
    def test_remembered_rows_keep_their_labels(self, remembered, later, anchors):
        def constraints(anchors):
            if anchors is None:
                return RowConstraints()
            own = Units(np.arange(len(anchors)), np.ones(len(anchors), np.int64), np.array(anchors), NO_PAIRS)
            return RowConstraints(own, ["a", "b"])

        found = kept(n_own=4, constraints=constraints(remembered)).with_remembered(constraints(later))
        if anchors is None:
            assert found.units is None
        else:
            assert_array_equal(found.units.anchors[found.units.of_row], anchors)
            assert found.classes == ["a", "b"]


class TestUnsearchedRows:
    def test_rows_without_weight_get_the_place_of_their_group(self):
        one = kept(n=5, searched=range(5), extension=Extension(np.arange(2, 7), GROUPS, True), n_own=3)
        chosen = np.array([1, 2, 5])
        new = UpdateRows(None, chosen, np.ones(3), chosen, 6)
        found = one.with_unsearched(new, np.array([1, 0, 1]))
        assert_array_equal(found.extension.places, [1, 2, 3, 0, 1, 4, 5, 6])
        assert_array_equal(found.part.searched, [1, 2, 5, 6, 7])
        assert (found.part.n, found.n_own, found.constraints.units) == (8, 6, None)

    def test_and_constraints_stay_with_the_remembered_rows(self):
        units = Units(np.arange(5), np.ones(5, np.int64), np.array([-1, -1, -1, 1, 0]), NO_PAIRS)
        more = {"extension": Extension(np.arange(2, 7), GROUPS, True), "constraints": RowConstraints(units, ["a", "b"])}
        chosen = np.array([1, 2, 5])
        new = UpdateRows(None, chosen, np.ones(3), chosen, 6)
        found = kept(n=5, searched=range(5), n_own=3, **more).with_unsearched(new, np.array([1, 0, 1]))
        anchors = found.constraints.units.anchors[found.constraints.units.of_row]
        assert_array_equal(anchors, [-1] * 6 + [1, 0])

    def test_rows_that_take_no_part(self):
        one = kept(n=5, searched=range(5), extension=Extension(np.arange(2, 7), GROUPS, True))
        whole = TakingPart(8, np.array([0, 2, 3, 5, 7]))
        side, constraints = SideInformation(), RowConstraints()
        found = one.with_absent(whole, np.array([0, 1, 1]), side, constraints)
        assert_array_equal(found.extension.places, [2, 0, 3, 4, 1, 5, 1, 6])
        assert_array_equal(found.part.searched, [0, 2, 3, 5, 7])
        assert found.part.n == 8 and found.side is side and found.constraints is constraints


def test_the_agreement_of_outliers_is_0():
    one, labels = kept(), np.array([0, -1, 1, 0, -1, 0, 1])
    by_place = [1.0, 0.5, 0.0, 0.5, 1.0, 0.6, 0.2]  # rows 3 and 5 have the means of the groups 0 and 1
    assert_allclose(one.agreement_of_all(labels, has_outliers=False), by_place)
    assert_allclose(one.agreement_of_all(labels, has_outliers=True), np.where(labels < 0, 0, by_place))


class TestNumbers:
    def search(self, most=6, classes=(), units=None):
        cuts = SimpleNamespace(forest=SimpleNamespace(most_clusters=most))
        result = replace(kept().result, cuts=cuts)
        return kept(constraints=RowConstraints(units, list(classes)), result=result)

    def test_whole_numbers_from_one_to_the_groups(self):
        one = self.search()
        assert [one.check_number(k) for k in (1, 2, 6, np.int32(3))] == [1, 2, 6, 3]
        for k in (0, 7, -1, 2.0, "2", None, True):
            with pytest.raises(InvalidDataError, match=r"formed 6 groups, so k must be a whole number from 1 to 6"):
                one.check_number(k)

    def test_no_fewer_than_known_labels(self):
        one = self.search(classes="ab")
        assert one.check_number(2) == 2
        with pytest.raises(InvalidDataError, match="6 groups and 2 labels are known, so k must be .* from 2 to 6"):
            one.check_number(1)

    def test_rows_that_must_be_apart(self):
        units = read_constraints(7, 3, cannot_link=[(0, 1), (1, 2), (0, 2)]).units
        one = self.search(units=units)
        assert one.check_number(3) == 3
        assert one.check_number(2) == 2  # what there is is not asked again
        with pytest.raises(InvalidDataError, match="n_clusters=1"):
            one.check_number(1)

    def test_groups_for_labels_and_links(self):
        assert self.search().check_groups(6) == 6
        with pytest.raises(InvalidDataError, match="ask for 7 clusters, but the search formed 6 groups"):
            self.search().check_groups(7)

    def test_searches_that_cannot_be_cut(self):
        with pytest.raises(NotSupportedError, match="search='moves' looks for one number"):
            refuse_to_cut(False)
        with pytest.raises(NotSupportedError, match="which one cluster does without"):
            refuse_to_cut(True)


def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 7 * np.eye(3, 2)[np.arange(60) % 3]
    return MaxMarginClustering(3, search="merge", random_state=0).fit(X)


def test_costs_of_labels_by_place():
    one = fitted()._kept
    labels, k = one.result.labels, 3
    coef, constants = one.space.nearest_mean_scores(labels, k)
    scores = (one.space.features - one.space.mean) @ coef.T + constants
    found, n_groups = one._costs_by_place(), int(one.result.groups.max()) + 1
    expected = scores.max(axis=1, keepdims=True) - scores
    expected[np.arange(60), labels] = 0
    assert_allclose(found[n_groups:], expected)
    own = one.extension.labels_by_place(labels, k)[:n_groups]
    dearest = scores.max() - scores.min() + 1
    assert_allclose(found[:n_groups], np.where(np.arange(k) == own[:, None], 0, dearest))


def test_questions_are_by_the_rows_of_the_table():
    """Every row is there twice and out of order; a question is about the first of its copies."""
    model = fitted()
    one, labels = model._kept, model._kept.result.labels
    searched = 2 * (np.arange(60) // 2) + 10
    part = TakingPart(80, np.arange(80), searched=searched)
    found = replace(one, part=part).questions(6, labels, [None] * 3)
    assert 3 <= len(found) <= 6
    for question in found:
        assert question.row in searched and set(question.examples) <= set(searched.tolist())
        assert 0 <= question.doubt <= 1 and len(question.candidates) == len(question.examples)
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kept_search, "choose_questions", lambda n, doubts: asked.append(doubts) or [])
        replace(one, part=part, n_own=20).questions(3, labels, [None, "b", None])
    assert_array_equal(asked[0].own, searched < 20)
    assert_array_equal(asked[0].first_copy, 2 * (np.arange(60) // 2))
    assert asked[0].named == [False, True, False] and not asked[0].settled.any()
    assert_allclose(asked[0].centrality, one.forest.graph.weights.toarray().sum(axis=0))
    assert len(asked[0].groupings) == 1
    mine = replace(one, n_own=40).questions(10, labels, [None] * 3)
    assert mine and all(question.row < 40 for question in mine)
