"""The steps of an update one by one: what is read, searched, kept within bounds, and remembered."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widegap import CPM3C, MaxMarginClustering
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.updating import _updatable
from widegap.updating._joint_rows import JointRows
from widegap.updating._updatable import checked_share, keeps_clusters, named_clusters

CENTRES = np.array([[0.0, 0, 0], [12, 0, 0], [0, 12, 0], [0, 0, 12]])


def blobs(n, seed=0, groups=(0, 1, 2)):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.resize(groups, n))
    return CENTRES[y] + rng.normal(size=(n, 3)), y


@pytest.fixture(scope="module")
def model():
    return CPM3C(3, random_state=0).fit(blobs(60)[0])


@pytest.fixture
def draws(monkeypatch):
    """Out of how many rows how many were to be drawn at most."""
    asked, draw = [], _updatable.all_or_drawn
    monkeypatch.setattr(_updatable, "all_or_drawn", lambda n, size, rng: asked.append((n, size)) or draw(n, size, rng))
    return asked


@pytest.mark.parametrize("value", [0, 0.0, 0.5, np.float32(0.25), 1 - 1e-12])
def test_shares_to_forget(value):
    assert checked_share(value) == float(value)


@pytest.mark.parametrize("value", [-1e-12, 1, 1.0, 2, True, False, "0.5", None, np.nan, np.inf])
def test_what_is_no_share(value):
    with pytest.raises(InvalidDataError, match="a number from 0 to below 1"):
        checked_share(value)


def test_clusters_are_kept_if_none_is_divided_or_named_otherwise():
    start, weights = np.repeat([0, 1], [4, 4]), np.ones(8)
    assert keeps_clusters(start, start, weights, 2)
    assert keeps_clusters(np.array([0, 0, 0, 1, 1, 1, 1, 1]), start, weights, 2)
    assert not keeps_clusters(1 - start, start, weights, 2)
    assert not keeps_clusters(np.array([0, 0, 1, 1, 1, 1, 1, 1]), start, weights, 2)


def test_clusters_with_labels_are_held():
    found = SimpleNamespace(cluster_numbers_=np.array([0, 3, 7]), classes_=["a", None, ""])
    assert named_clusters(found).tolist() == [0, 7]


class TestNewRows:
    def test_all_are_searched_while_there_is_room(self, model, draws):
        X, _ = blobs(30, seed=1)
        found = model._new_rows(X, None)
        assert draws == [(30, 90_000)] and found.all_searched and found.n == 30 and found.groups is None
        assert_array_equal(found.table, X)
        assert_array_equal(found.weights, np.ones(30))
        assert_array_equal(found.counted, np.arange(30))

    def test_some_stand_for_all_that_count(self, model, monkeypatch):
        monkeypatch.setattr(_updatable, "SEARCHED_ROWS", 8)
        X, _ = blobs(30, seed=1)
        weights = np.where(np.arange(30) < 10, 0.0, 1.0 + np.arange(30) % 2)
        found = model._new_rows(X, weights)
        assert len(found.chosen) == 8 and found.chosen.min() >= 10 and (np.diff(found.chosen) > 0).all()
        assert_array_equal(found.table, X[found.chosen])
        assert_array_equal(found.counted, np.arange(10, 30))
        np.testing.assert_allclose(found.weights, (1.0 + found.chosen % 2) * 20 / 8)

    def test_columns_of_frames_of_categories_belong_together(self):
        X = np.column_stack([blobs(60)[0], np.eye(2)[np.arange(60) % 2]])
        model = MaxMarginClustering(3, search="merge", columns=[slice(3, 5)], random_state=0).fit(X)
        (*_, last) = model._new_rows(X[:9], None).groups
        assert (last.first, last.stop, last.is_category) == (3, 5, True)


class TestMemory:
    def test_of_many_rows_twenty_times_as_many_are_drawn_first(self, draws):
        X, _ = blobs(150)
        model = CPM3C(3, memory=5, random_state=0).fit(X)
        assert (150, 100) in draws
        memory = model._memory
        assert memory.n_rows == 3 and memory.n_seen == pytest.approx(150)
        assert_array_equal(memory.rows, X[memory.places])
        assert_array_equal(memory.labels, model.labels_[memory.places])
        assert (memory.next_number, memory.n_new, memory.n_settled, memory.doubt) == (3, 150, 150, 1.0)
        draws.clear()
        CPM3C(3, memory=8, random_state=0).fit(X)
        assert (150, 160) in draws

    def test_rows_with_labels_are_kept_beside_them(self):
        X, y = blobs(150)
        known = np.where(np.arange(150) >= 146, y, -1)
        model = CPM3C(3, memory=5, random_state=0).fit(X, known=known, sample_weight=1.0 + np.arange(150) % 2)
        assert set(range(146, 150)) <= set(model._memory.places.tolist())
        assert len(model._memory.places) <= 9 and model._memory.units.constrained.sum() == 4
        assert 190 < model._memory.n_seen < 260  # a sample of 225

    def test_none_is_kept_where_none_is_wanted(self):
        model = CPM3C(3, memory=0, random_state=0).fit(blobs(60)[0])
        assert model._memory is None and not hasattr(model, "_constraints")
        with pytest.raises(NotSupportedError, match=r"needs: memory=0. Fit the rows again with memory=5000"):
            model.update(blobs(9)[0])

    def test_a_fit_forgets_the_updates_before_it(self, model):
        later = model.update(blobs(30, seed=1)[0])
        assert later._memory.n_new == 30 and later._memory.n_seen == 90 and len(later.changes_) == 3
        assert later._memory.n_settled == 60  # clusters come from the fit still
        again = later.fit(blobs(40, seed=2)[0])
        assert not hasattr(again, "changes_") and not hasattr(again, "drift_")
        assert again._memory.n_new == again._memory.n_settled == 40


def test_forgotten_clusters_have_no_position():
    model = CPM3C(3, random_state=0).fit(blobs(60)[0])
    fresh, _ = blobs(40, seed=1, groups=(0, 2))
    gone = int(model.predict(CENTRES[[1]])[0])
    names = [int(model.predict(CENTRES[[group]])[0]) for group in (0, 2)]
    later = model.update(fresh, forget=0.9).update(fresh, forget=0.9)
    assert sorted(later.cluster_numbers_) == sorted(names) and gone not in later.labels_
    assert [int(later.predict(CENTRES[[group]])[0]) for group in (0, 2)] == names
    memory = later._memory.faded(0.0)
    joint = later._joined(later._new_rows(fresh, None), memory)
    assert_array_equal(joint.numbers, sorted(names))
    assert_array_equal(joint.before[40:], np.searchsorted(sorted(names), memory.labels))
    assert joint.next_number == 3 and joint.n_new == 40


class TestBounds:
    def test_new_rows_are_moved_where_bounds_demand_it(self):
        X, _ = blobs(60)
        model = CPM3C(3, size_min=15, random_state=0).fit(X)
        new = blobs(48, seed=2, groups=(0, 0, 0, 1, 2))[0]
        found = model.update(new)
        assert np.bincount(found.labels_).min() == 15
        roomy = CPM3C(3, size_max=40, random_state=0).fit(X)
        loose = roomy.update(new)
        assert_array_equal(loose.labels_, CPM3C(3, random_state=0).fit(X).update(new).labels_)
        assert np.bincount(roomy.set_params(size_max=18).update(new).labels_).max() == 18

    def test_the_search_of_joint_rows_has_none(self):
        model = MaxMarginClustering(3, size_min=4, size_max=50, outliers=0.1, columns=[slice(0, 1)], labels_out="a")
        inner = model._for_joint_rows(5)
        parameters = inner.get_params()
        assert parameters["n_clusters"] == 5 and parameters["columns"] == "auto" and parameters["labels_out"] is None
        assert parameters["size_min"] is parameters["size_max"] is None
        assert (parameters["outliers"], parameters["init"]) == (0.1, "k-means")
        start = np.zeros(4)
        inner = CPM3C(3, outliers=0.1, size_min=2, checkpoint="a")._for_joint_rows(2, start)
        assert inner.init is start and inner.outliers == 0 and inner.size_min is inner.checkpoint is None


def test_new_rows_that_the_old_model_rejects_are_left_out():
    rows = np.zeros((5, 1))
    joint = JointRows(rows, 3, np.ones(5), *[np.zeros(5, np.int32)] * 3, None, 1)
    old = SimpleNamespace(predict=lambda X, reject: np.array([0, -1, 2]) if reject else None)
    assert CPM3C(2, outliers=0.1)._typical(old, joint).tolist() == [True, False, True, True, True]
    assert CPM3C(2)._typical(old, joint).tolist() == [True] * 5


def test_rows_that_were_not_searched_get_what_is_predicted(monkeypatch):
    X, _ = blobs(60)
    model = MaxMarginClustering(3, search="merge", random_state=0).fit(X)
    new = blobs(50, seed=3)[0]
    weights = np.where(np.arange(50) < 20, 0.0, 1.0)
    found = model.update(new, sample_weight=weights)
    sure = found.predict_proba(new).max(axis=1)
    np.testing.assert_allclose(found.agreement_[:20], sure[:20])
    assert_array_equal(found.agreement_[20:], np.ones(30))  # a single member agrees with itself
    assert_array_equal(found.labels_[:20], found.predict(new[:20]))
    assert found._memory.n_seen == 90 and not (found._memory.places < 20).any()
    assert found._rows_digest  # of all rows
    assert_array_equal(found._memory.rows[found._memory.places < 50], new[20:])
    assert_array_equal(found._memory.before_update, np.arange(30, 90))


def test_names_of_columns_are_told():
    pd = pytest.importorskip("pandas")
    names = ["a", "b", "spend"]
    model = CPM3C(3, random_state=0).fit(pd.DataFrame(blobs(60)[0], columns=names))
    found = model.update(pd.DataFrame(blobs(60, seed=1)[0] + [0, 0, 2], columns=names))
    assert found.feature_names_in_.tolist() == names and found.drift_.columns[0].column == "spend"
    plain = CPM3C(3, random_state=0).fit(blobs(60)[0]).update(blobs(60, seed=1)[0] + [0, 0, 2])
    assert plain.drift_.columns[0].column == "column 2"
