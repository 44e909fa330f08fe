"""``update`` and ``partial_fit``: identities, sequences of calls, constraints, sizes, weights, Dask, files."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs

from tests._old_models import file_of
from widegap import CPM3C, MKC, MaxMarginClustering, persistence
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.metrics import clustering_accuracy

CENTRES = np.array([[0.0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8], [8, 8, 8]])


def blobs(counts, seed=0, shift=0.0):
    """Rows and their blobs; as many of each as ``counts`` says."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return CENTRES[y] + rng.normal(size=(len(y), 3)) + shift, y


def fitted(counts=(150, 150, 150), estimator=MaxMarginClustering, n_clusters=3, side=None, **parameters):
    X, y = blobs(counts)
    return estimator(n_clusters, random_state=0, **parameters).fit(X, **(side or {})), X, y


def number_of(model, blob):
    """The cluster that a model predicts in the middle of a blob."""
    return int(model.predict(CENTRES[[blob]])[0])


def kinds(model):
    return {change.cluster: change.kind for change in model.changes_}


ESTIMATORS = pytest.mark.parametrize("estimator", [MaxMarginClustering, CPM3C, MKC])


@ESTIMATORS
def test_clusters_keep_their_numbers_and_the_old_model_is_left_as_it_is(estimator):
    model, _, _ = fitted(estimator=estimator)
    before = copy.deepcopy(vars(model))
    X, y = blobs((60, 30, 90), seed=1)
    other = model.update(X)
    assert isinstance(other, estimator)
    assert other.labels_.shape == (180,)
    for blob in range(3):
        assert number_of(other, blob) == number_of(model, blob)
        assert (other.labels_[y == blob] == number_of(model, blob)).mean() > 0.98
    assert other.cluster_numbers_.tolist() == [0, 1, 2]
    assert np.array_equal(model.labels_, before["labels_"])
    assert not hasattr(model, "changes_")


@ESTIMATORS
def test_a_new_blob_gets_the_next_number_and_the_number_of_clusters_follows(estimator):
    model, _, _ = fitted(estimator=estimator)
    X, y = blobs((100, 100, 100, 60), seed=1)
    other = model.update(X)
    assert other.n_clusters == 3
    assert other.n_clusters_ == 4
    assert number_of(other, 3) == 3
    assert (other.labels_[y == 3] == 3).mean() > 0.95
    assert kinds(other) == {0: "kept", 1: "kept", 2: "kept", 3: "new"} or kinds(other)[3] == "new"
    assert other.decision_function(X).shape == (360, 4)
    assert other.transform(X).shape == (360, 4)


@ESTIMATORS
def test_a_blob_that_is_missing_is_told_and_its_number_stays(estimator):
    model, _, _ = fitted(estimator=estimator)
    X, _ = blobs((200, 0, 200), seed=1)
    other = model.update(X)
    assert kinds(other)[number_of(model, 1)] == "vanished"
    assert number_of(other, 1) == number_of(model, 1)
    assert other.drift_.p_value < 0.05


def test_a_forgotten_cluster_is_retired_and_its_number_is_not_used_again():
    model, _, _ = fitted()
    gone = number_of(model, 1)
    for seed in range(10):
        X, _ = blobs((100, 0, 100), seed=seed + 1)
        model = model.update(X, forget=0.6)
    assert gone not in model.cluster_numbers_
    assert model.n_clusters_ == 2
    X, _ = blobs((100, 0, 100, 0, 100), seed=20)
    model = model.update(X)
    assert number_of(model, 4) == 3
    assert gone not in model.labels_


def test_a_cluster_between_whose_halves_the_gap_closes():
    rng = np.random.default_rng(0)
    far = rng.normal(size=(300, 2)) + [0, 30]
    old = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + [9, 0], far])
    model = MaxMarginClustering(3, random_state=0).fit(old)
    between = np.column_stack([rng.uniform(0, 9, 900), rng.normal(size=900)])
    other = model.update(np.vstack([between, far + 0.1]), forget=0.5)
    merged = [change for change in other.changes_ if change.kind == "merged"]
    assert len(merged) == 1
    assert merged[0].related[0] in other.cluster_numbers_
    assert merged[0].cluster not in other.cluster_numbers_
    assert other.n_clusters_ == 2


def test_a_share_and_a_centre_that_change_are_told():
    X, _ = blobs((400, 400, 200))
    model = MaxMarginClustering(3, random_state=0).fit(X)
    small = number_of(model, 2)
    X, _ = blobs((450, 450, 100), seed=1)
    assert kinds(model.update(X))[small] == "shrunk"
    X, y = blobs((400, 400, 200), seed=2)
    X[y == 2, 0] += 0.5
    change = next(change for change in model.update(X).changes_ if change.cluster == small)
    assert change.kind == "moved"
    assert change.columns[0].column == "column 0"
    assert change.columns[0].after - change.columns[0].before == pytest.approx(0.5, abs=0.25)


def test_rows_from_the_same_source_change_nothing():
    alarms, structure = 0, 0
    for seed in range(12):
        X, _ = blobs((150, 150, 100), seed=seed)
        new, _ = blobs((75, 75, 50), seed=1000 + seed)
        other = MaxMarginClustering(3, random_state=seed).fit(X).update(new)
        alarms += other.drift_.p_value <= 0.05
        structure += any(kind in ("new", "split", "merged", "vanished") for kind in kinds(other).values())
    assert structure == 0
    assert alarms <= 3


def test_memory_is_bounded_and_updates_go_on():
    model, _, _ = fitted(memory=60)
    for seed in range(6):
        model = model.update(blobs((80, 80, 80), seed=seed + 1)[0])
        assert model._memory.n_rows <= 60
    assert model._memory.n_seen == pytest.approx(450 + 6 * 240)
    assert model.cluster_numbers_.tolist() == [0, 1, 2]


def test_partial_fit_is_update_in_place():
    X, _ = blobs((100, 100, 100))
    new, _ = blobs((50, 50, 50), seed=1)
    model = MaxMarginClustering(3, random_state=0).partial_fit(X)
    expected = model.update(new)
    assert model.partial_fit(new) is model
    assert np.array_equal(model.labels_, expected.labels_)
    assert [change.text for change in model.changes_] == [change.text for change in expected.changes_]
    assert not hasattr(model.fit(X), "changes_")
    assert model.cluster_numbers_.tolist() == [0, 1, 2]


# With what else there is


def test_known_labels_are_kept_with_their_names():
    X, y = blobs((100, 100, 100))
    known = np.full(300, None, dtype=object)
    known[np.flatnonzero(y == 1)[:3]], known[np.flatnonzero(y == 2)[:3]] = "loyal", "away"
    model = MaxMarginClustering(3, random_state=0).fit(X, known=known)
    other = model.update(blobs((50, 50, 50, 40), seed=1)[0]).update(blobs((50, 50, 50, 40), seed=2)[0])
    names = dict(zip(other.cluster_numbers_.tolist(), other.classes_, strict=True))
    assert names[number_of(other, 1)] == "loyal"
    assert names[number_of(other, 2)] == "away"
    assert names[number_of(other, 3)] is None


def test_links_of_remembered_rows_hold_in_the_next_search():
    X, y = blobs((100, 100, 100))
    a, b = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    model = MaxMarginClustering(3, random_state=0, memory=50).fit(X, must_link=[(a, b)])
    other = model.update(blobs((50, 50, 50), seed=1)[0])
    places = other._memory.units.of_row
    linked = np.flatnonzero(np.bincount(places)[places] == 2)
    assert len(linked) == 2
    assert len(set(other._memory.labels[linked])) == 1


def test_rows_of_weight_zero_do_not_count():
    model, _, _ = fitted()
    X, y = blobs((60, 60, 60, 60), seed=1)
    weights = np.where(y == 3, 0.0, 1.0)
    other = model.update(X, sample_weight=weights)
    assert other.n_clusters_ == 3
    assert other.labels_.shape == (240,)
    assert set(other.labels_) <= {0, 1, 2}
    assert other._memory.n_seen == pytest.approx(450 + 180)


def test_weights_count_as_copies_in_what_is_told():
    model, _, _ = fitted()
    X, y = blobs((60, 60, 60), seed=1)
    p = number_of(model, 0)
    heavy = next(c for c in model.update(X, sample_weight=np.where(y == 0, 3.0, 1.0)).changes_ if c.cluster == p)
    assert heavy.share_after == pytest.approx(0.6, abs=0.02)


def test_sizes_bound_the_new_rows():
    model, _, _ = fitted(size_max=0.4)
    other = model.update(blobs((100, 20, 20), seed=1)[0])
    assert np.bincount(other.labels_).max() <= 0.4 * 140
    with pytest.raises(NotSupportedError, match="bound the new rows"):
        other.cut(2)


def test_outliers_of_the_new_rows_are_not_remembered():
    for estimator in (MaxMarginClustering, CPM3C):
        model, _, _ = fitted(estimator=estimator, outliers=0.03)
        X, _ = blobs((80, 80, 80), seed=1)
        X[:2] = [200, 200, -200]
        other = model.update(X)
        assert (other.labels_[:2] == -1).all()
        assert np.abs(other._memory.rows).max() < 100
        assert other.predict([[200.0, 200, -200]], reject=True)[0] == -1
        other.update(X)


def test_sparse_rows_and_single_precision():
    X, _ = blobs((100, 100, 100))
    new, _ = blobs((50, 50, 50), seed=1)
    dense = MaxMarginClustering(3, random_state=0, standardize=False).fit(X).update(new)
    single = (
        MaxMarginClustering(3, random_state=0, standardize=False)
        .fit(X.astype(np.float32))
        .update(new.astype(np.float32))
    )
    assert (dense.labels_ == single.labels_).mean() > 0.98
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.where(np.arange(300)[:, None] < 150, [0.1] * 20 + [1] * 20, [1] * 20 + [0.1] * 20))
    words = sp.csr_array(counts.astype(float))
    model = CPM3C(2, random_state=0).fit(words)
    other = model.update(words[:100])
    assert sp.issparse(other._memory.rows)
    assert other.predict(words).shape == (300,)


def test_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    X, _ = blobs((100, 100, 100))
    frame = pd.DataFrame(X, columns=["a", "b", "spend"])
    model = MaxMarginClustering(3, random_state=0).fit(frame)
    new = pd.DataFrame(blobs((50, 50, 50), seed=1)[0] + [0, 0, 1.0], columns=["a", "b", "spend"])
    other = model.update(new)
    assert other.feature_names_in_.tolist() == ["a", "b", "spend"]
    assert other.drift_.columns[0].column == "spend"
    with pytest.raises(ValueError, match="feature names"):
        other.update(new.rename(columns={"spend": "cost"}))


def test_rows_of_dask_are_updated_by_a_sample_and_labelled_lazily():
    da = pytest.importorskip("dask.array")
    model, _, _ = fitted()
    X, y = blobs((100, 100, 100, 60), seed=1)
    lazy = da.from_array(X, chunks=(90, 3))
    other = model.update(lazy)
    assert other.n_clusters_ == 4
    assert (np.asarray(other.labels_)[y == 3] == 3).mean() > 0.95


def test_a_fit_of_rows_of_dask_can_be_updated():
    da = pytest.importorskip("dask.array")
    X, y = blobs((100, 100, 100))
    model = MaxMarginClustering(3, random_state=0).fit(da.from_array(X, chunks=(90, 3)))
    new, kinds = blobs((80, 80, 80, 60), seed=1)
    other = model.update(new)
    assert other.n_clusters_ == 4 and (other.labels_[kinds == 3] == 3).mean() > 0.95
    for kind in range(3):  # numbers stay
        number = np.bincount(np.asarray(model.labels_)[y == kind]).argmax()
        assert (other.labels_[kinds == kind] == number).mean() > 0.95


def test_categories_are_followed():
    from widegap import TableEncoder  # noqa: PLC0415

    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)

    def table(n, shares, seed):
        kind = np.random.default_rng(seed).choice(3, n, p=shares)
        return pd.DataFrame(
            {
                "spend": rng.normal(size=n) * 5 + 40 * kind,
                "channel": np.array(["web", "shop", "phone"])[kind],
                "plan": np.array(["s", "m", "l"])[np.where(rng.random(n) < 0.9, kind, rng.integers(3, size=n))],
            }
        )

    encoder = TableEncoder()
    model = MaxMarginClustering(3, random_state=0).fit(encoder.fit_transform(table(400, [0.4, 0.4, 0.2], 1)))
    same = model.update(encoder.transform(table(300, [0.4, 0.4, 0.2], 2)))
    assert "new" not in kinds(same).values()
    other = model.update(encoder.transform(table(600, [0.5, 0.45, 0.05], 3)))
    assert sorted(other.cluster_numbers_) == [0, 1, 2]
    assert "shrunk" in kinds(other).values()


# Cuts, corrections and questions after an update


@pytest.fixture(scope="module")
def updated():
    model, _, _ = fitted()
    X, y = blobs((100, 0, 100, 60), seed=1)
    return model.update(X), X, y


def test_other_numbers_keep_the_numbers_that_they_can(updated):
    model, X, _ = updated
    assert np.array_equal(model.cut(4), model.labels_)
    finer = model.with_clusters(5)
    assert len(finer.labels_) == len(X)
    assert len(set(finer.cluster_numbers_) & set(model.cluster_numbers_)) >= 3
    assert set(np.unique(model.cut(3))) <= {*model.cluster_numbers_.tolist(), 4}
    assert np.array_equal(np.unique(finer.labels_), np.unique(finer.predict(X)))


def test_corrections_go_on_from_the_clusters_of_the_update(updated):
    model, X, y = updated
    known = np.full(len(X), None, dtype=object)
    known[np.flatnonzero(y == 3)[:2]] = "fresh"
    other = model.refit(known=known)
    assert other.classes_[other.cluster_numbers_.tolist().index(3)] == "fresh"
    assert (other.labels_ == model.labels_).mean() > 0.98
    again = other.update(blobs((50, 0, 50, 30), seed=5)[0])
    assert again.classes_[again.cluster_numbers_.tolist().index(3)] == "fresh"


def test_questions_are_about_the_new_rows(updated):
    model, X, _ = updated
    found = model.questions(8)
    assert found
    for question in found:
        assert 0 <= question.row < len(X)
        assert all(0 <= row < len(X) for row in question.examples)
        assert set(question.candidates) <= set(model.cluster_numbers_.tolist())
    answers = [int(model.labels_[question.row]) for question in found]
    assert len(model.answered(found, answers)) == len(X)


def test_tags_pickles_and_clones(updated):
    model, X, _ = updated
    other = pickle.loads(pickle.dumps(model))
    assert np.array_equal(other.predict(X), model.predict(X))
    assert not hasattr(clone(model), "labels_")


# Model files


@ESTIMATORS
def test_a_model_file_alone_can_be_updated(estimator, tmp_path):
    model, X, _ = fitted(estimator=estimator)
    new, _ = blobs((60, 60, 60, 40), seed=1)
    persistence.save(model, tmp_path / "a.widegap")
    loaded, _ = persistence.load(tmp_path / "a.widegap")
    expected, found = model.update(new), loaded.update(new)
    assert np.array_equal(expected.labels_, found.labels_)
    assert [change.text for change in expected.changes_] == [change.text for change in found.changes_]
    persistence.save(found, tmp_path / "b.widegap")
    again, _ = persistence.load(tmp_path / "b.widegap")
    assert np.array_equal(again.predict(X), found.predict(X))
    assert again.changes_ == found.changes_
    assert again.drift_ == found.drift_
    assert np.array_equal(again.cluster_numbers_, found.cluster_numbers_)


def test_a_file_without_rows_holds_none_and_says_so(tmp_path):
    model, X, _ = fitted()
    persistence.save(model, tmp_path / "with.widegap")
    persistence.save(model, tmp_path / "without.widegap", rows=False)
    loaded, _ = persistence.load(tmp_path / "without.widegap")
    assert (tmp_path / "without.widegap").stat().st_size < (tmp_path / "with.widegap").stat().st_size
    assert np.array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(NotSupportedError, match="its model file holds none"):
        loaded.update(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("estimator", [MaxMarginClustering, partial(CPM3C, kernel="rbf"), CPM3C, MKC])
def test_a_file_without_rows_scores_as_before(estimator, n_clusters, dtype, tmp_path):
    """Features of a kernel are folded into the scores, to the last bit."""
    X, _ = blobs((150, 150, 150))
    model = estimator(n_clusters, random_state=0).fit(X.astype(dtype))
    persistence.save(model, tmp_path / "without.widegap", rows=False)
    loaded, _ = persistence.load(tmp_path / "without.widegap")
    new = blobs((50, 50, 50), seed=2)[0].astype(dtype)
    assert np.array_equal(loaded.decision_function(new), model.decision_function(new))
    if estimator is MaxMarginClustering:
        assert np.array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert loaded.score(new) == model.score(new)


def test_a_file_from_before_loads_and_says_why_it_cannot_be_updated():
    model, _ = persistence.load(file_of("MaxMarginClustering"))
    with pytest.raises(NotSupportedError, match="remembers no rows"):
        model.update(np.zeros((5, model.n_features_in_)))


def test_refusals():
    model, X, _ = fitted()
    for forget in (-0.1, 1.0, "a", True, np.nan):
        with pytest.raises(InvalidDataError, match="forget="):
            model.update(X, forget=forget)
    with pytest.raises(ValueError, match="features"):
        model.update(X[:, :2])
    with pytest.raises(NotSupportedError, match="memory=0"):
        fitted(memory=0)[0].update(X)
    kernel = X @ X.T
    with pytest.raises(NotSupportedError, match="precomputed kernel"):
        MaxMarginClustering(3, kernel="precomputed", random_state=0).fit(kernel).update(kernel)
    views = {"a": X[:, :2], "b": X[:, 1:]}
    model = MKC(3, kernels=[("a", "rbf", "a"), ("b", "rbf", "b")], random_state=0).fit(views)
    with pytest.raises(NotSupportedError, match="several views"):
        model.update(views)


def test_an_interrupted_update_leaves_the_model():
    def stop(record):
        raise KeyboardInterrupt

    model, X, _ = fitted()
    labels = model.labels_.copy()
    model.set_params(callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.update(X)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X)
    assert np.array_equal(model.labels_, labels)
    assert not hasattr(model, "changes_")


def test_one_cluster_gets_a_second():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = MaxMarginClustering(1, random_state=0).fit(X)
    new = np.vstack([X[:100] + 0.01, X[:60] + 15])
    other = model.update(new)
    assert other.n_clusters_ == 2
    assert set(other.labels_[100:]) == {1}


def test_updates_do_not_depend_on_the_order_of_old_rows():
    X, y = make_blobs(400, centers=4, random_state=3)
    new, _ = make_blobs(100, centers=4, random_state=3)
    order = np.random.default_rng(0).permutation(400)
    first = MaxMarginClustering(4, random_state=0).fit(X).update(new)
    second = MaxMarginClustering(4, random_state=0).fit(X[order]).update(new)
    pairs = set(zip(first.labels_.tolist(), second.labels_.tolist(), strict=True))
    assert len(pairs) == 4


@pytest.mark.parametrize("memory", [5000, 300])
def test_digits_in_batches(memory):
    """A class appears in the sixth of ten batches: it has its own number at once, and others keep theirs."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(X))
    X, y, batch = X[order], y[order], np.arange(len(X)) * 10 // len(X)
    used = ~((y == 4) & (batch < 5)) & ~((y == 0) & (batch >= 7))
    parts = [(X[used & (batch == i)], y[used & (batch == i)]) for i in range(10)]
    model = MaxMarginClustering(9, random_state=0, memory=memory).fit(parts[0][0])
    vanished = set()
    for i, (rows, _) in enumerate(parts[1:], 1):
        model = model.update(rows)
        vanished |= {c.cluster for c in model.changes_ if c.kind == "vanished"} if i >= 7 else set()
        if i == 6:
            four = np.bincount(model.predict(X[y == 4])).argmax()
            assert np.mean(y[model.predict(X) == four] == 4) > 0.8
    zero = np.bincount(model.predict(X[y == 0])).argmax()
    assert zero in vanished
    assert np.bincount(model.predict(X[y == 4])).argmax() == four


def test_clusters_of_few_rows_give_way_to_those_of_many(monkeypatch):
    """160 digits are too few for their classes; what three times as many show is taken, and told."""
    X, y = load_digits(return_X_y=True)
    first, *later = np.array_split(np.random.default_rng(0).permutation(len(X))[:480], 3)
    model = MaxMarginClustering(10, random_state=0).fit(X[first])

    def accuracy_after_updates():
        updated = model
        for rows in later:
            updated = updated.update(X[rows])
        return clustering_accuracy(y, updated.predict(X)), {c.kind for c in updated.changes_}

    accuracy, kinds = accuracy_after_updates()
    monkeypatch.setattr("widegap.forest._joint_search.CLEARLY_MORE", np.inf)  # contradictions are forgotten
    stubborn, _ = accuracy_after_updates()
    assert accuracy > stubborn + 0.05
    assert "split" in kinds


def test_a_new_cluster_of_many_rows_is_not_called_split():
    """Only some of many new rows are looked at for new clusters; the cluster that they lead to is new all the same."""
    model, _, _ = fitted((300, 300, 300))
    other = model.update(blobs((2000, 2000, 2000, 3000), seed=1)[0])
    assert {c.cluster: c.kind for c in other.changes_}[3] == "new"
