"""Which clusters an update takes: every rule by hand, at its borders, with a search whose answers are given."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import hypergeom

from widegap.constraints._side_information import RowConstraints
from widegap.forest import _joint_search
from widegap.forest._joint_search import JointSearch
from widegap.forest._search_result import SearchResult
from widegap.updating._joint_rows import JointRows

JUST = 1e-9


class Cuts:
    """Stands in for the cuts of a forest: labels for every number of clusters at which it may be asked."""

    def __init__(self, found):
        self.found = found

    def result(self, k, units):
        labels = np.array(self.found[k], np.int32)
        return SearchResult(labels=labels, n_clusters=k, objective=0.0, members=[labels])

    def keeping(self, labels, k):
        return Cuts({k: labels})


class Space:
    """Rows on a line, each as far from a cluster as from its mean."""

    def __init__(self, places):
        self.features, self.mean = np.array(places, float)[:, None], np.zeros(1)

    def leading(self, count):
        return self.features

    def nearest_mean_scores(self, labels, k):
        means = np.array([[self.features[labels == p].mean()] for p in range(k)])
        return means, -0.5 * np.square(means).sum(axis=1)


class Graph:
    def __init__(self, to=None):
        self.to = to

    def smooth(self, P, steps):
        return P

    def weights_to(self, labels, k):
        return self.to, None


def search(monkeypatch, before, found=(), *, n_new, cuts=(), fresh=None, places=None, to=None, otherwise=1.0, **more):
    """A search of joint rows with the clusters ``before``; ``cuts`` are pairs of labels and what they cut."""
    n, k = len(before), max(before) + 1
    told = {tuple(labels): value for labels, value in cuts}

    def cut_per_bit(graph, labels, k):
        assert k == max(labels) + 1
        return told.get(tuple(labels.tolist()), otherwise)

    monkeypatch.setattr(_joint_search, "cut_per_bit", cut_per_bit)
    fresh = np.full(n, -1, np.int32) if fresh is None else np.array(fresh, np.int32)
    monkeypatch.setattr(_joint_search, "find_new_clusters", lambda *arguments: fresh)
    classes = list(more.pop("classes", ()))
    kept = SimpleNamespace(
        part=SimpleNamespace(searched=np.arange(n)),
        space=Space(range(n) if places is None else places),
        cuts=Cuts(dict(found)),
        units=None,
        constraints=SimpleNamespace(classes=classes, fewest_clusters=more.pop("fewest", 1)),
        forest=SimpleNamespace(graph=Graph(to), columns=more.pop("columns", None), most_clusters=more.pop("most", 9)),
    )
    values = {"numbers": np.arange(k, dtype=np.int32), "predicted": np.array(before, np.int32), "next_number": k}
    joint = JointRows(
        rows=np.zeros((n, 1)),
        n_new=n_new,
        weights=np.ones(n),
        before=np.array(before, np.int32),
        constraints=RowConstraints(),
        **(values | more),
    )
    return JointSearch(kept, joint)


# Six new rows, then six remembered ones, of two clusters.
BEFORE = [0, 0, 0, 1, 1, 1] * 2
ALIKE = [1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0]  # says the same of the remembered rows, in other names
IN_ORDER = [1 - p for p in ALIKE]
OTHER = [0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0]  # divides cluster 0, whose last row is with one of the other


class TestTwoClusters:
    def test_a_search_that_agrees_draws_the_borders_if_it_cuts_less(self, monkeypatch):
        cuts = [(BEFORE, 1.0), (ALIKE, 1 - JUST)]
        found = search(monkeypatch, BEFORE, {2: ALIKE}, n_new=6, cuts=cuts).labels()
        assert_array_equal(found.result.labels, IN_ORDER)
        assert_array_equal(found.alike, IN_ORDER)
        assert_array_equal(found.numbers, [0, 1])
        assert (found.n_settled, found.doubt) == (12, 1.0)
        assert (found.lineage.before, found.lineage.after) == ([0, 1], [0, 1])
        assert found.lineage.parents == found.lineage.heirs == {}

    def test_else_clusters_stay_and_old_doubts_are_forgotten(self, monkeypatch):
        predicted = np.array([0] * 7 + [1] * 5, np.int32)
        found = search(monkeypatch, BEFORE, {2: ALIKE}, n_new=6, doubt=0.8, n_settled=1, predicted=predicted).labels()
        assert_array_equal(found.result.labels, BEFORE)
        assert_array_equal(found.alike, BEFORE[:6] + [0] + [1] * 5)  # remembered rows as new ones are: predicted
        assert_array_equal(found.numbers, [0, 1])
        assert (found.n_settled, found.doubt) == (0, 1.0)

    @pytest.mark.parametrize(("ratio", "settled"), [(0.75 - JUST, 12), (0.75, 0), (1.2, 0)])
    def test_a_search_that_contradicts_has_to_be_far_better(self, monkeypatch, ratio, settled):
        found = search(monkeypatch, BEFORE, {2: OTHER}, n_new=6, cuts=[(OTHER, ratio)]).labels()
        assert (found.n_settled, found.doubt) == (settled, 1.0)
        if settled:
            assert (found.lineage.parents, found.lineage.heirs) == ({2: 0}, {1: 0})
        assert_array_equal(found.result.labels, OTHER if settled else BEFORE)

    @pytest.mark.parametrize(
        ("settled", "before", "ratio", "doubt"),
        [
            (8, 1.0, 0.9, 0.9),  # 12 rows are 1.5 times as many as 8
            (9, 1.0, 0.9, 1.0),
            (0, 0.8, 0.9, 1.0),  # clusters that come from no search are not doubted
            (8, 0.9, 0.9, 0.81),
            (8, 1.0, 0.97 - JUST, 0.97 - JUST),
            (8, 0.9, 0.97, 1.0),  # hardly better: the doubt is over
            (8, 1.0, 0.75, 0.75),  # not below 0.75
        ],
    )
    def test_contradictions_are_multiplied(self, monkeypatch, settled, before, ratio, doubt):
        more = {"n_settled": settled, "doubt": before}
        found = search(monkeypatch, BEFORE, {2: OTHER}, n_new=6, cuts=[(OTHER, ratio)], **more).labels()
        assert_array_equal(found.result.labels, BEFORE)
        assert found.doubt == pytest.approx(doubt, abs=1e-12) and found.n_settled == 0

    @pytest.mark.parametrize(("finer", "most", "k"), [(0.95 - JUST, 9, 3), (0.95, 9, 2), (0.1, 2, 2), (0.1, 3, 3)])
    def test_a_doubtful_search_gives_way_to_one_for_more_clusters(self, monkeypatch, finer, most, k):
        three = [0, 0, 2, 1, 1, 1, 0, 0, 2, 1, 1, 1]
        found = {2: OTHER, 3: three}
        more = {"n_settled": 8, "doubt": 0.8, "most": most, "cuts": [(OTHER, 0.9), (three, finer)]}
        found = search(monkeypatch, BEFORE, found, n_new=6, **more).labels()
        assert len(found.numbers) == k and found.n_settled == 12 and found.doubt == 1.0
        if k == 3:
            assert_array_equal(found.numbers, [0, 1, 2])
            assert found.lineage.parents == {2: 0}


def test_one_cluster_is_that_of_the_search(monkeypatch):
    found = search(monkeypatch, [0] * 5, {1: [0] * 5}, n_new=2).labels()
    assert found.numbers.tolist() == [0] and found.numbers.dtype == np.int32
    assert_array_equal(found.alike, [0] * 5)
    assert (found.n_settled, found.doubt, found.lineage.after) == (0, 1.0, [0])
    assert found.coordinates.shape == (5, 1)


class TestNewClusters:
    BEFORE = [1, 1, 1, 0, 0, 0, 0, 1, 1, 1]
    PLACES = [31.0, 30.0, 28.0, 0.5, 29.0, 0.0, 0.2, 10.0, 11.0, 29.5]
    FRESH = [0, 0, -1, -1, -1, -1, -1, -1, -1, -1]
    IN_TURN = [0, 1] * 5

    def test_they_get_the_new_rows_that_a_classifier_gives_them(self, monkeypatch):
        found = search(monkeypatch, self.BEFORE, n_new=5, fresh=self.FRESH, places=self.PLACES)
        assert_array_equal(found.fresh, [0, 0, 0, -1, 0, -1, -1, -1, -1, -1])  # the last is remembered
        assert found.n_fresh == 1

    def test_they_grow_three_times(self, monkeypatch):
        """Beside a cluster at 0 a border lies in the middle; every row that is taken moves it: 50, 40, 34, 30."""
        places = [100.0, 60.0, 45.0, 36.0, 32.0, *[0.0] * 1000]
        found = search(monkeypatch, [0] * 1005, n_new=5, fresh=[0, *[-1] * 1004], places=places, otherwise=0.0)
        assert_array_equal(found.fresh[:6], [0, 0, 0, 0, -1, -1])

    def test_one_that_would_lose_all_rows_stays_as_it_was_found(self, monkeypatch):
        places = [1.0, 9.0, 0.0, 0.0, 10.0, 10.0]
        found = search(monkeypatch, [0, 1, 0, 0, 1, 1], n_new=2, fresh=[0, 0, -1, -1, -1, -1], places=places)
        assert_array_equal(found.fresh, [0, 0, -1, -1, -1, -1])

    @pytest.mark.parametrize(("cut", "n_fresh"), [(1.5, 1), (1.5 + JUST, 0)])
    def test_they_hardly_cut_more_edges(self, monkeypatch, cut, n_fresh):
        with_new = [2, 2, 2, 0, 2, 0, 0, 1, 1, 1]
        more = {"fresh": self.FRESH, "places": self.PLACES, "cuts": [(with_new, cut)]}
        assert search(monkeypatch, self.BEFORE, n_new=5, **more).n_fresh == n_fresh

    @pytest.mark.parametrize(("cut", "n_fresh"), [(0.0899, 1), (0.0901, 0)])
    def test_beside_one_cluster_they_cut_hardly_any(self, monkeypatch, cut, n_fresh):
        more = {"fresh": [0, 0, -1, -1], "places": [9.0, 9.1, 0.0, 0.1], "cuts": [([1, 1, 0, 0], cut)]}
        assert search(monkeypatch, [0] * 4, n_new=2, **more).n_fresh == n_fresh

    def test_tables_with_categories_are_not_asked_for_edges(self, monkeypatch):
        with_new = [2, 2, 2, 0, 2, 0, 0, 1, 1, 1]
        more = {"fresh": self.FRESH, "places": self.PLACES, "cuts": [(with_new, 99.0)], "columns": object()}
        assert search(monkeypatch, self.BEFORE, n_new=5, **more).n_fresh == 1
        assert search(monkeypatch, self.BEFORE, n_new=5, columns=object()).n_fresh == 0

    @pytest.mark.parametrize(
        ("most", "expected"),
        [(1, [-1] * 7), (2, [-1, -1, 0, 0, 0, -1, -1]), (3, [1, 1, 0, 0, 0, -1, -1]), (9, [1, 1, 0, 0, 0, -1, -1])],
    )
    def test_the_largest_come_first_and_no_more_than_groups(self, monkeypatch, most, expected):
        more = {"fresh": [0, 0, 1, 1, 1, -1, -1], "places": [50, 51, 90, 91, 92, 0, 1], "most": most}
        found = search(monkeypatch, [0] * 7, n_new=5, otherwise=0.0, **more)
        assert_array_equal(found.fresh, expected)

    def test_they_have_numbers_of_their_own(self, monkeypatch):
        kept = [2, 2, 2, 0, 2, 0, 0, 1, 1, 1]
        more = {"fresh": self.FRESH, "places": self.PLACES, "next_number": 7}
        found = search(monkeypatch, self.BEFORE, {3: kept, 2: self.IN_TURN}, n_new=5, **more).labels()
        assert found.numbers.tolist() == [0, 1, 7]
        assert_array_equal(found.result.labels, kept)
        assert found.lineage.parents == {}  # nothing is told of parents unless the search decides

    def test_one_of_new_rows_was_not_split_from_another(self, monkeypatch):
        kept = [2, 2, 2, 0, 2, 0, 0, 1, 1, 1]
        better = [0, 0, 0, 1, 0, 1, 1, 2, 2, 2]
        more = {"fresh": self.FRESH, "places": self.PLACES, "next_number": 7, "cuts": [(better, 0.5)]}
        found = search(monkeypatch, self.BEFORE, {3: better, 2: self.IN_TURN}, n_new=5, **more).labels()
        assert found.numbers.tolist() == [0, 1, 7] and found.lineage.parents == {}
        assert_array_equal(found.result.labels, kept)
        assert found.n_settled == 10


class TestJoined:
    """Three clusters, of which new rows may have filled the gap between the first and the last."""

    BEFORE = [0] * 20 + [2] * 20 + [0] * 20 + [2] * 20 + [1] * 5
    ONE = [0] * 80 + [1] * 5
    JOINED = ONE

    def search(self, monkeypatch, n_between=20, cut=0.9, found=None, **more):
        """``n_between`` of the first 20 new rows have a third of their weights, or more, in the other cluster."""
        n = len(self.BEFORE)
        to = np.zeros((3, n))
        to[self.BEFORE, np.arange(n)] = 3.0
        to[2, :n_between] = 1.0 + 1e-9
        to[2, n_between:20] = 1.0  # exactly a quarter: not between
        to[0, 40:60] = 5.0
        to[2, 40:60] = 0.5
        found = {2: self.ONE if found is None else found, 3: self.BEFORE}
        more = {"to": to, "cuts": [(self.JOINED, cut)], **more}
        return search(monkeypatch, self.BEFORE, found, n_new=40, **more)

    def test_two_become_one(self, monkeypatch):
        predicted = np.array(self.BEFORE, np.int32)
        predicted[-1] = 0
        found = self.search(monkeypatch, predicted=predicted).labels()
        assert_array_equal(found.result.labels, self.JOINED)
        assert_array_equal(found.alike, self.JOINED[:-1] + [0])
        assert found.numbers.tolist() == [0, 1]
        assert found.lineage.heirs == {2: 0} and found.lineage.parents == {}
        assert (found.n_settled, found.doubt) == (0, 1.0)

    def test_numbers_above_move_down(self, monkeypatch):
        """Of clusters 0, 1 and 2 the first two become one."""
        names = np.array([0, 2, 1])
        before, one = names[self.BEFORE], [0] * 80 + [1] * 5
        found = self.search(monkeypatch)
        found.joint = replace(found.joint, before=before.astype(np.int32), predicted=before.astype(np.int32))
        found.kept.cuts.found = {2: [1 - p for p in one], 3: before.tolist()}
        to = found.kept.forest.graph.to
        found.kept.forest.graph.to = to[names]
        result = found.labels()
        assert_array_equal(result.result.labels, one)
        assert_array_equal(result.alike, one)
        assert result.numbers.tolist() == [0, 2] and result.lineage.heirs == {1: 0}

    def test_not_where_the_search_keeps_them_apart(self, monkeypatch):
        crossed = [i % 2 for i in range(85)]
        assert len(self.search(monkeypatch, found=crossed).labels().numbers) == 3
        assert len(self.search(monkeypatch, found=[0] * 85).labels().numbers) == 3

    @pytest.mark.parametrize(("cut", "k"), [(1 - JUST, 2), (1.0, 3)])
    def test_not_where_one_cluster_cuts_no_less(self, monkeypatch, cut, k):
        assert len(self.search(monkeypatch, cut=cut).labels().numbers) == k

    @pytest.mark.parametrize(("more", "k"), [({"fewest": 3}, 3), ({"fewest": 2}, 2), ({"classes": "ab"}, 2),
                                             ({"classes": "abc"}, 3)])  # fmt: skip
    def test_not_where_labels_or_links_hold_them(self, monkeypatch, more, k):
        assert len(self.search(monkeypatch, **more).labels().numbers) == k

    @pytest.mark.parametrize("n_between", range(21))
    def test_far_too_many_of_the_rows_between_are_new(self, monkeypatch, n_between):
        """Of 80 rows of both clusters 40 are new; as many of the rows between, by chance, in 1 of 300 tables."""
        chance = hypergeom.sf(n_between - 1, 80, n_between, 40)
        found = self.search(monkeypatch, n_between)._is_bridged(np.array(self.BEFORE), 0, 2, 3)
        assert found == (chance < 0.01 / 3)

    def test_old_rows_between_speak_against_it(self, monkeypatch):
        found = self.search(monkeypatch)
        found.kept.forest.graph.to[2, 40:60] = 9.0
        assert not found._is_bridged(np.array(self.BEFORE), 0, 2, 3)

    def test_of_two_there_is_none(self, monkeypatch):
        assert search(monkeypatch, BEFORE, n_new=6)._joined(np.array(BEFORE), np.arange(2), 1.0) is None


class TestMeasures:
    def test_known_clusters_stay_first(self, monkeypatch):
        """Of three clusters the first two carry labels; the search numbers them as it likes."""
        before, found = [0, 1, 2] * 4, [0, 1, 2] * 4
        more = {"classes": "ab", "numbers": np.array([5, 3, 1], np.int32), "next_number": 6, "cuts": [(found, 0.5)]}
        kept = [0, 1, 2] * 4
        kept[0] = 1
        found = search(monkeypatch, kept, {3: found, 2: [0] * 12}, n_new=3, **more).labels()
        assert found.numbers.tolist() == [5, 3, 1]
        assert_array_equal(found.result.labels, before)
        assert found.n_settled == 12

    def test_new_numbers_have_no_gaps(self, monkeypatch):
        one = search(monkeypatch, BEFORE, n_new=6, next_number=4)
        labels = np.array([0, 0, 0, 1, 1, 2] * 2, np.int32)
        found = one._of(one.kept.cuts.keeping(labels, 3).result(3, None), np.array([0, 9, 7]), labels)
        assert found.numbers.tolist() == [0, 5, 4]
        assert found.lineage.heirs == {1: 5}  # most of its remembered rows

    def test_a_cluster_of_new_rows_has_more_than_half(self, monkeypatch):
        found = search(monkeypatch, BEFORE, n_new=6)
        found.fresh = np.array([0, 0, *[-1] * 10])
        rows = np.arange(12)
        assert [found._is_made_of_new_rows(rows < n) for n in (2, 3, 4, 5)] == [True, True, False, False]

    def test_where_clusters_follow_columns_the_less_explained_is_the_evidence(self, monkeypatch):
        columns = SimpleNamespace(shares=lambda labels, k: np.array([0.2, 0.6]) / k)
        found = search(monkeypatch, BEFORE, n_new=6, columns=columns)
        followed = SimpleNamespace(classes=object())
        assert found._cut(np.array(BEFORE), 2, followed) == pytest.approx(5)
        assert found._cut(np.array(BEFORE), 2, SimpleNamespace(classes=None)) == 1.0
        found.kept.forest.columns = SimpleNamespace(shares=lambda labels, k: np.zeros(2))
        assert found._cut(np.array(BEFORE), 2, followed) == pytest.approx(1 / np.finfo(float).tiny)
