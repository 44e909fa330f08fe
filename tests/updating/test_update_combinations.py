"""Updates where weights, labels, sizes, outliers, numbers and files meet: what walks over the calls have found."""

import numpy as np
import pytest

from widegap import CPM3C, MaxMarginClustering, describe
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.updating._matching import match_clusters

CENTRES = np.array([[0.0, 0, 0], [12, 0, 0], [0, 12, 0], [0, 0, 12]])
NAMES = np.array(["a", "b", "c", "d"])


def blobs(n, seed=0, groups=(0, 1, 2)):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.resize(groups, n))
    return CENTRES[y] + rng.normal(size=(n, 3)), y


def some_known(y, rows):
    known = np.full(len(y), None)
    known[rows] = NAMES[y[rows]]
    return known


def called(model):
    """The names of the rows' clusters."""
    names = dict(zip(model.cluster_numbers_.tolist(), model.classes_, strict=True))
    return np.array([names[number] for number in model.labels_.tolist()])


def forest(n=60, n_clusters=3, side=None, **options):
    X, y = blobs(n)
    return MaxMarginClustering(n_clusters, search="merge", random_state=0, **options).fit(X, **(side or {})), y


@pytest.fixture(scope="module")
def updated():
    """A model after an update in which the first rows did not count, the new rows and their groups."""
    X, y = blobs(50, seed=1)
    weights = np.ones(50)
    weights[:20] = 0
    return forest()[0].update(X, sample_weight=weights), X, y


def test_rows_that_did_not_count_are_numbered_like_all_others(updated):
    model, X, y = updated
    assert (model.with_clusters(2).labels_ == model.cut(2)).all() and len(model.cut(4)) == 50
    asked = model.questions(6)
    assert all(question.row >= 20 for question in asked)
    answers = NAMES[y[[question.row for question in asked]]]
    known = model.answered(asked, answers)
    assert known.shape == (50,) and all(known[q.row] == answer for q, answer in zip(asked, answers, strict=True))
    found = model.refit(known=some_known(y, [0, 1, 2, 30, 31, 32]))
    assert (called(found) == NAMES[y]).mean() > 0.95


def test_what_is_remembered_are_the_rows_that_count(updated):
    model, X, _ = updated
    places = model._memory.places
    own = places[places < 50]
    assert own.min() >= 20
    np.testing.assert_array_equal(model._memory.rows[places < 50], X[own])
    assert len(model._memory.before_update) == 60


def test_sizes_bound_the_rows_that_count():
    X, _ = blobs(60)
    model = CPM3C(3, size_min=8, random_state=0).fit(X)
    later, y = blobs(48, seed=2)
    weights = (y != 1).astype(float)
    weights[np.flatnonzero(y == 1)[:4]] = 1
    found = model.update(later, sample_weight=weights)
    assert np.bincount(found.labels_[weights > 0], minlength=3).min() >= 8


def test_sizes_need_the_rows_in_this_process_if_some_do_not_count():
    da = pytest.importorskip("dask.array")
    X, _ = blobs(60)
    model = CPM3C(3, size_min=2, random_state=0).fit(X)
    weights = np.arange(60) % 2
    with pytest.raises(NotSupportedError, match="size_min=2.*leave out rows of weight 0"):
        model.update(da.from_array(X, chunks=(20, 3)), sample_weight=weights)


def test_a_kernel_draws_landmarks_among_rows_with_weight():
    X, y = blobs(60)
    weights = np.ones(60)
    weights[:30] = 0
    model = CPM3C(3, kernel="rbf", random_state=0)
    model.fit(X, known=some_known(y, np.arange(30)), sample_weight=weights)
    assert model.update(blobs(20, seed=3)[0]).labels_.shape == (20,)


def test_nothing_left_to_be_updated_is_refused():
    X, _ = blobs(30)
    model = CPM3C(3, random_state=0).fit(X)
    with pytest.raises(InvalidDataError, match=r"forget=0.99 leaves less than 0.5 rows.*forget less"):
        model.update(X, forget=0.99)


def test_clusters_with_labels_are_never_joined():
    X, y = blobs(30)
    model = MaxMarginClustering(3, random_state=0).fit(X, known=some_known(y, np.arange(30)))
    for seed in range(6):
        between, _ = blobs(40, seed, (0, 1))
        found = model.update(between * np.linspace(0, 1, 40)[:, None])
        assert found.classes_[:3] == ["a", "b", "c"]


def test_labels_of_a_refit_hold_clusters_and_stay_with_them():
    model, y = forest(side={"known": some_known(blobs(60)[1], [])}, memory=9)
    rows = np.setdiff1d(np.arange(60), model._memory.places)[:20]
    named = model.refit(known=some_known(y, rows))
    numbers = dict(zip(named.classes_, named.cluster_numbers_.tolist(), strict=True))
    later, groups = blobs(40, seed=4, groups=(0, 3))
    found = named.update(later, forget=0.99)
    assert dict(zip(found.classes_, found.cluster_numbers_.tolist(), strict=True)).items() >= numbers.items()
    assert (found.labels_[groups == 0] == numbers["a"]).mean() > 0.9


def test_a_refit_after_an_update_may_name_more_clusters_than_the_fit_had():
    model, _ = forest()
    X, y = blobs(80, seed=5, groups=(0, 1, 2, 3))
    model = model.update(X)
    assert model.n_clusters_ == 4
    found = model.refit(known=some_known(y, np.arange(40)))
    assert sorted(name for name in found.classes_ if name) == ["a", "b", "c", "d"]
    assert (called(found) == NAMES[y]).mean() > 0.9


def test_outliers_of_an_update_are_outliers_of_its_cuts():
    model, _ = forest(outliers="auto")
    X, _ = blobs(60, seed=6, groups=(0, 2, 3))
    X[:2] = [[60, -60, 60], [-70, 50, 50]]
    model = model.update(X, forget=0.9)
    assert model._numbers is not None and (model.labels_[:2] == -1).all()
    for k in (2, 4, 5):
        assert (model.cut(k)[:2] == -1).all()
        np.testing.assert_array_equal(model.cut(k), model.with_clusters(k).labels_)


def test_a_cluster_number_is_given_to_one_cluster():
    # Most of cluster 0 is in the first cluster found, which the assignment gives another number.
    found = np.array([0] * 9 + [1] * 4 + [0] * 8, np.int32)
    before = np.array([0] * 9 + [0] * 4 + [1] * 8, np.int32)
    numbers = match_clusters(found, before, np.ones(21), 2, 2).numbers.tolist()
    assert len(set(numbers)) == 2


def test_the_score_of_a_model_whose_new_rows_are_all_outliers():
    model, _ = forest(outliers=0.1)
    X = np.array([[500.0, -500, 500], [-700, 500, 500]])
    found = model.update(X)
    assert (found.labels_ == -1).all() and np.isfinite(found.score(blobs(60)[0]))


def test_rows_are_known_again_although_some_did_not_count(updated):
    model, X, _ = updated
    assert describe.is_fitted_on(model, X) and not describe.is_fitted_on(model, X[::-1])
