"""Labels of all rows from those of the searched ones: by the largest score, or the least cost that keeps the rules."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widegap import MaxMarginClustering
from widegap.forest import _search_space
from widegap.forest._row_labels import _costs, _largest, largest_or_none
from widegap.rows._sources import row_blocks


def test_rows_below_the_least_score_have_no_cluster():
    scores = np.array([[0.5, 0.2], [0.1, 0.49], [0.7, 0.7], [-1, -2]])
    assert_array_equal(largest_or_none(scores, 0.5), [0, -1, 0, -1])
    assert largest_or_none(scores, 0.5).dtype == _largest(scores).dtype == np.int32
    assert_array_equal(_largest(scores), [0, 1, 0, 0])


def test_a_rows_own_cluster_is_no_dearer_than_any():
    scores = np.array([[0.5, 0.2, 0.1], [0.1, 0.4, 0.0], [0.7, 0.6, 0.0]])
    labels = np.array([1, -1, 0])
    (found,) = _costs(scores, labels)
    assert_allclose(found, [[-0.5, -0.5, -0.1], [-0.1, -0.4, 0.0], [-0.7, -0.6, 0.0]])
    assert_allclose(scores[0], [0.5, 0.2, 0.1])


def blobs(n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.resize([0, 0, 0, 1, 2], n))
    return rng.normal(size=(n, 2)) + 9 * np.eye(3, 2)[y], y


@pytest.fixture
def few_searched(monkeypatch):
    monkeypatch.setattr(_search_space, "SEARCH_ROWS", 80)
    monkeypatch.setattr(_search_space, "LEAST_SAMPLE", 80)


@pytest.mark.parametrize("search", ["merge", "moves"])
def test_rows_beyond_the_search_are_predicted(few_searched, monkeypatch, search):
    monkeypatch.setattr("widegap.forest._moves_search.MOST_MOVED", 80)
    monkeypatch.setattr("widegap.forest._moves_search.sample_size", lambda k: 80)
    X, _ = blobs()
    model = MaxMarginClustering(3, search=search, smoothing=1, random_state=0).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
    if search == "merge":
        searched = model._kept.part.searched
        assert len(searched) == 80
        places, n_groups = model._kept.extension.places, int(model._kept.result.groups.max()) + 1
        assert_array_equal(places[searched], n_groups + np.arange(80))
        rest = np.setdiff1d(np.arange(240), searched)
        assert_array_equal(places[rest], model._kept.group_scores().of_rows(X[rest]).argmax(axis=1))


def test_outliers_beyond_the_search_are_rows_below_the_least_score(few_searched):
    X, _ = blobs()
    X[::40] += 60 * np.array([1, -1])
    model = MaxMarginClustering(3, search="merge", outliers=0.05, random_state=0).fit(X)
    part = model._kept.part
    rest = np.setdiff1d(np.arange(240), np.concatenate([part.searched, part.outlying]))
    assert_array_equal(model.labels_[rest], model.predict(X[rest], reject=True))
    assert (model.labels_[part.outlying] == -1).all() and (model.labels_[part.searched] >= 0).all()
    assert (model.labels_[rest] < 0).any() and part.outlying.size


def test_bounds_move_rows_at_the_least_cost(few_searched):
    X, _ = blobs()
    free = MaxMarginClustering(3, search="merge", random_state=0).fit(X)
    sizes = np.bincount(free.labels_)
    bound = MaxMarginClustering(3, search="merge", size_max=130, random_state=0).fit(X)
    assert sizes.max() == 144 and np.bincount(bound.labels_).max() == 130
    moved = np.flatnonzero(bound.labels_ != free.labels_)
    assert len(moved) == 14
    scores = free._scores(row_blocks(X))
    large = np.flatnonzero(free.labels_ == sizes.argmax())
    loss = scores[large].max(axis=1) - np.sort(scores[large], axis=1)[:, -2]
    assert set(moved) == set(large[np.argsort(loss)[:14]])
    loose = MaxMarginClustering(3, search="merge", size_max=144, random_state=0).fit(X)
    assert_array_equal(loose.labels_, free.labels_)


def test_labelled_rows_are_no_outliers_and_bounds_are_for_the_others():
    X, y = blobs()
    X[:3] += 80
    known = np.where(np.arange(240) < 3, y, -1)
    model = MaxMarginClustering(3, search="merge", outliers=0.1, size_min=40, random_state=0).fit(X, known=known)
    assert (model.labels_[:3] >= 0).all()
    inside = model.labels_[model.labels_ >= 0]
    assert np.bincount(inside).min() >= 40 and 200 <= len(inside) < 240
    for a in range(3):
        assert model.classes_[model.labels_[a]] == y[a]
