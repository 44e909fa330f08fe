"""Cuts, corrections and questions of a search in memory, after fits and after updates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widegap import MaxMarginClustering
from widegap.exceptions import InvalidDataError, NotSupportedError

CENTRES = np.array([[0.0, 0, 0], [12, 0, 0], [0, 12, 0], [0, 0, 12]])


def blobs(n, seed=0, groups=(0, 1, 2)):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.resize(groups, n))
    return CENTRES[y] + rng.normal(size=(n, 3)), y


def fit(n=60, n_clusters=3, side=None, **options):
    X, y = blobs(n)
    return MaxMarginClustering(n_clusters, search="merge", random_state=0, **options).fit(X, **(side or {})), X, y


def some_known(y, rows, names="abcd"):
    known = np.full(len(y), None)
    known[rows] = [names[label] for label in y[rows]]
    return known


def number_of(model, group):
    return int(model.predict(CENTRES[[group]])[0])


@pytest.fixture(scope="module")
def model():
    return fit()[0]


@pytest.fixture(scope="module")
def updated():
    """A model, whose new rows have a fourth group, after an update in which ten of them did not count."""
    X, y = blobs(70, seed=1, groups=(0, 1, 2, 3))
    weights = (np.arange(70) >= 10).astype(float)
    return fit()[0].update(X, sample_weight=weights), X, y


class TestAfterAFit:
    def test_a_cut_is_the_model_of_that_number(self, model):
        assert model.cut(3) is model.labels_
        for k in (1, 2, 5):
            other = model.with_clusters(k)
            assert (other.n_clusters, other.n_clusters_, len(other.coef_)) == (k, k, k)
            assert_array_equal(other.labels_, model.cut(k))
            assert_array_equal(other._memory.labels, other.labels_[other._memory.places])
            assert other._memory.next_number == max(3, k)
        assert (model.n_clusters, model.n_clusters_) == (3, 3)
        same = model.with_clusters(3)
        assert same is not model and same._kept is model._kept

    def test_a_refit_has_the_labels_that_came_and_those_before(self, model):
        X, y = blobs(60)
        first = model.refit(known=some_known(y, [0, 1, 2, 3, 4, 5]))
        assert all(name == "abc"[label] for name, label in zip(np.array(first.classes_)[first.labels_], y, strict=True))
        a, b = np.flatnonzero(y == 0)[[-1, -2]]
        second = first.refit(must_link=[(a, b)])
        assert second.classes_ == first.classes_ and second.labels_[a] == second.labels_[b]
        assert second._memory.units.of_row[a] == second._memory.units.of_row[b]
        assert model._memory.units is None and model.classes_ == [None] * 3

    def test_more_labels_than_clusters_ask_for_more_where_the_number_is_open(self, model):
        known = some_known(np.arange(60) % 4, np.arange(8))
        with pytest.raises(InvalidDataError, match="4 labels"):
            model.refit(known=known)
        found = fit(n_clusters="auto")[0].refit(known=known)
        assert found.n_clusters_ == 4 and found.classes_ == list("abcd")
        assert_array_equal(found.labels_[:8], np.arange(8) % 4)

    def test_answers_to_questions_are_labels(self, model):
        _, y = blobs(60)
        asked = model.questions(4)
        assert 3 <= len(asked) <= 4 and len(model.questions()) <= 10
        known = model.answered(asked, ["abc"[y[q.row]] for q in asked[:-1]] + [None])
        assert sum(label is not None for label in known) == len(asked) - 1
        assert known[asked[0].row] == "abc"[y[asked[0].row]] and known[asked[-1].row] is None

    def test_numbers_within_the_bounds(self):
        bounded = fit(size_min=10)[0]
        assert bounded._with_room(range(2, 20)) == range(2, 7)
        assert bounded._with_room(range(7, 20)) == range(3, 4)
        assert fit()[0]._with_room(range(2, 9)) == range(2, 9)
        weighted = fit(size_min=10, side={"sample_weight": (np.arange(60) >= 20).astype(float)})[0]
        assert weighted._with_room(range(1, 20)) == range(1, 5)
        weighted._kept = None
        assert weighted._with_room(range(1, 20)) == range(3, 4)

    def test_without_a_search_there_are_no_cuts(self):
        moved = MaxMarginClustering(3, search="moves", random_state=0).fit(blobs(60)[0])
        with pytest.raises(NotSupportedError, match="search='moves' looks for one"):
            moved.cut(2)
        alone = MaxMarginClustering(1, random_state=0).fit(blobs(60)[0])
        alone._kept = None
        with pytest.raises(NotSupportedError, match="a model file does not hold"):
            alone.questions()


class TestAfterAnUpdate:
    def test_rows_that_did_not_count_have_places(self, updated):
        model, X, y = updated
        kept = model._kept
        assert kept.n_own == 70 and kept.part.n == 130 and len(kept.extension.places) == 130
        assert_array_equal(kept.part.searched, np.arange(10, 130))
        groups = kept.group_scores().of_rows(X[:10]).argmax(axis=1)
        assert_array_equal(kept.extension.places[:10], groups)
        assert model.n_clusters_ == 4 and model.labels_.shape == model.agreement_.shape == (70,)

    def test_cuts_keep_the_numbers_that_they_can(self, updated):
        model, _, y = updated
        assert_array_equal(model.cut(4), model.labels_)
        three, five = model.cut(3), model.with_clusters(5)
        assert_array_equal(five.labels_, model.cut(5))
        shared = set(five.cluster_numbers_.tolist()) & set(model.cluster_numbers_.tolist())
        assert len(shared) >= 3 and len(five.cluster_numbers_) == 5 and max(five.cluster_numbers_) >= 4
        assert len(np.unique(three)) == 3
        for p in np.unique(three):
            assert (model.labels_[three == p] == p).any() or p >= 4
        assert_array_equal(five._memory.labels >= 0, True)
        assert five._memory.next_number > max(five.cluster_numbers_)

    def test_labels_name_the_clusters_by_number(self, updated):
        model, _, y = updated
        found = model.refit(known=some_known(y, np.arange(10, 40)))
        names = dict(zip(found.cluster_numbers_.tolist(), found.classes_, strict=True))
        assert [names[number] for number in found.labels_.tolist()] == ["abcd"[label] for label in y]
        for group in range(4):
            assert names[number_of(model, group)] == "abcd"[group]
        more = found.refit(cannot_link=[(int(np.flatnonzero(y == 0)[0]), int(np.flatnonzero(y == 1)[0]))])
        assert more.classes_ == found.classes_

    def test_labels_from_before_stay(self):
        model, _, y = fit(side={"known": some_known(blobs(60)[1], np.arange(9))})
        later, groups = blobs(40, seed=2)
        found = model.update(later)
        assert found._kept.with_remembered(found._kept.constraints.of_rows(np.arange(40), 40)).classes == list("abc")
        again = found.refit(known=some_known(groups, [0, 1, 2], "abx"))
        assert set("abc") <= {name for name in again.classes_ if name}
        free = found.refit(must_link=[(0, int(np.flatnonzero(groups == groups[0])[1]))])
        assert free.classes_ == found.classes_

    def test_questions_are_about_new_rows_that_count(self, updated):
        model, _, _ = updated
        asked = model.questions(8)
        assert asked and all(10 <= question.row < 70 for question in asked)
        assert {p for question in asked for p in question.candidates} <= set(model.cluster_numbers_.tolist())
        known = model.answered(asked, ["x"] * len(asked))
        assert known.shape == (70,) and sum(label == "x" for label in known) == len(asked)

    def test_bounds_on_new_rows_cannot_be_kept_by_cuts(self):
        model = fit(size_max=0.5)[0].update(blobs(40, seed=2)[0])
        assert model._with_room(range(2, 9)) == range(3, 4)
        for ask in (lambda: model.cut(2), lambda: model.refit(known=[None] * 40), model.questions):
            with pytest.raises(NotSupportedError, match=r"size_min=None and size_max=0.5 bound the new rows"):
                ask()
        assert fit(size_max=0.5)[0].with_clusters(4).n_clusters_ == 4

    def test_rows_on_workers_leave_no_search(self):
        da = pytest.importorskip("dask.array")
        X, _ = blobs(40, seed=2)
        weights = (np.arange(40) > 3).astype(float)
        lazy = fit()[0].update(da.from_array(X, chunks=(20, 3)), sample_weight=weights)
        assert lazy._kept is None
        assert_array_equal(np.asarray(lazy.labels_), lazy.predict(X))

    def test_one_cluster_of_equal_rows_has_no_search(self):
        model = MaxMarginClustering("auto", random_state=0).fit(np.ones((20, 3)))
        assert model._kept is None and model.n_clusters_ == 1
        assert_allclose(model.agreement_, 1)
        weights = (np.arange(20) > 3).astype(float)
        found = MaxMarginClustering("auto", random_state=0).fit(np.ones((20, 3)), sample_weight=weights)
        assert_allclose(found.agreement_, 1) and assert_array_equal(found.labels_, 0)


def test_least_sizes_are_kept_by_cuts_of_lazy_rows():
    da = pytest.importorskip("dask.array")
    X, y = blobs(240, groups=(0, 0, 0, 1, 2))
    lazy = da.from_array(X, chunks=(80, 3))
    model = MaxMarginClustering(3, search="merge", size_min=30, random_state=0).fit(lazy)
    found = np.asarray(model.cut(4))
    assert np.bincount(found).min() >= 30 and len(np.unique(found)) == 4
    assert_array_equal(np.asarray(model.cut(2)), np.asarray(model.with_clusters(2).labels_))
