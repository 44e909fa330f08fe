"""The rule of predict: finer features where those of the search repeat too few labels, and the same ones elsewhere."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from widegap import MaxMarginClustering, persistence
from widegap.features._kernel_maps import NARROWER, finer_map, may_be_finer
from widegap.forest import _cluster_scores
from widegap.forest._cluster_scores import FAITHFUL, FEWEST_OF_CLUSTER, _rows_of_small


def spirals(n=2100, seed=0, group=0):
    """Two spirals in each other, and a group far from both: hard to repeat for means in a wide kernel."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    t = (0.1 + 0.9 * np.sqrt(rng.random(n))) * 3 * np.pi
    X = np.column_stack([t * np.cos(t + np.pi * y), t * np.sin(t + np.pi * y)]) + 0.4 * rng.normal(size=(n, 2))
    X[:group] = [25, 25] + 0.3 * rng.normal(size=(group, 2))
    return X


def fit(X, n_clusters=2, **parameters):
    return MaxMarginClustering(n_clusters, **{"random_state": 0, **parameters}).fit(X)


def repeated(model, X):
    """Share of the labels that ``predict`` repeats."""
    return np.mean(model.predict(X) == model.labels_)


def is_finer(model):
    return model.kernel_map_ is not model._kept.scoring.kernel_map


def coarse_fit(X, *arguments, **parameters):
    """The same fit with the features of the search alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cluster_scores, "FAITHFUL", 0.0)
        return fit(X, *arguments, **parameters)


@pytest.fixture(scope="module")
def X():
    return spirals()


@pytest.fixture(scope="module")
def model(X):
    return fit(X)


@pytest.mark.parametrize("seed", range(3))
def test_finer_scores_repeat_more_labels(seed):
    X = spirals(seed=seed)
    coarse, fine = coarse_fit(X), fit(X)
    np.testing.assert_array_equal(coarse.labels_, fine.labels_)
    assert not is_finer(coarse) and is_finer(fine)
    assert repeated(coarse, X) < FAITHFUL  # 0.91 was measured
    assert repeated(fine, X) > 0.96  # 0.98


def test_new_rows_go_where_their_neighbours_are(model):
    new = spirals(seed=0)[::2] + 0.05
    assert np.mean(model.predict(new) == model.labels_[::2]) > 0.95


def test_the_map_is_that_of_the_rule(model, X):
    scores = (model.kernel_map_.transform(X) - model._mean) @ model.coef_.T + model._mean_scores
    np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(X))
    assert model.coef_.shape == (2, model.kernel_map_.projection.shape[1])
    base = model._kept.scoring.kernel_map
    assert model.kernel_map_.params["gamma"] == pytest.approx(NARROWER * base.params["gamma"])
    assert model.kernel_map_.kernel == base.kernel


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_scores_are_the_same_in_two_ways(dtype, shift):
    """Those that fit them see rows scaled and shifted; those of predict see them as they came."""
    X = (spirals() * [1, 100] + shift).astype(dtype)
    model = fit(X, standardize=True)
    assert is_finer(model)
    scoring, result = model._kept.scoring, model._kept.result
    found = scoring.fit(result)
    np.testing.assert_array_equal(found.coef, model.coef_)  # a second fit of scores gives the same
    again = found.folded.of_rows(X)
    space = scoring._space
    inside = found.kernel_map.of_scaled().transform(space.rows) - found.mean
    tol = 1e-10 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(again, inside @ found.coef.T + found.constants, atol=tol * np.ptp(again))
    assert found.faithful == repeated(model, X)
    assert found.faithful > FAITHFUL


def test_finer_scores_are_only_taken_where_they_repeat_more(X, monkeypatch):
    poor = coarse_fit(X)
    monkeypatch.setattr(_cluster_scores, "finer_map", lambda kernel_map, *_: kernel_map.leading(1))
    model = fit(X)
    assert not is_finer(model)
    np.testing.assert_array_equal(model.coef_, poor.coef_)


def test_few_rows_keep_the_features_of_the_search():
    X = spirals(1990)
    assert repeated(fit(X), X) < FAITHFUL
    assert not is_finer(fit(X))


def test_faithful_features_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 3)) + 9 * (np.arange(2100) % 2)[:, None]
    model = fit(X)
    assert not is_finer(model) and repeated(model, X) == 1


class TestOtherKernels:
    def test_kernels_without_a_width(self, X):
        for kernel in ("linear", "poly", "cosine"):
            model = fit(X, kernel=kernel)
            assert not is_finer(model) and repeated(model, X) < FAITHFUL

    def test_a_precomputed_kernel(self, X):
        K = rbf_kernel(X, gamma=0.002)
        model = fit(K, kernel="precomputed")
        assert not is_finer(model) and repeated(model, K) < FAITHFUL
        np.testing.assert_array_equal(model.predict(K), coarse_fit(K, kernel="precomputed").predict(K))

    def test_sparse_rows(self, X):
        model = fit(sp.csr_array(X), standardize=False)
        assert not is_finer(model)

    def test_who_may_be_finer(self, model, X):
        base = model._kept.scoring.kernel_map
        assert may_be_finer(base, X) and not may_be_finer(base, X[:1999]) and not may_be_finer(base, sp.csr_array(X))


class TestMap:
    def test_a_seed_decides(self, model, X):
        base = model._kept.scoring.kernel_map
        space = model._kept.space
        maps = [finer_map(base, space.rows, space.features, space.offsets, seed) for seed in (1, 1, 2)]
        np.testing.assert_array_equal(maps[0].landmarks, maps[1].landmarks)
        assert not np.array_equal(maps[0].landmarks, maps[2].landmarks)

    def test_its_kernel_is_that_of_its_landmarks(self, model):
        """Of a Nystrom map: inner products of features of landmarks are kernel values."""
        found = model.kernel_map_.of_scaled()
        features = found.transform(found.landmarks)
        expected = rbf_kernel(found.landmarks, gamma=found.params["gamma"])
        np.testing.assert_allclose(features @ features.T, expected, atol=1e-4)

    def test_landmarks_are_means_of_rows(self, model):
        rows, marks = model._kept.space.rows, model.kernel_map_.landmarks
        assert len(marks) == len(rows) // 8
        assert (marks >= rows.min(axis=0) - 1e-6).all() and (marks <= rows.max(axis=0) + 1e-6).all()
        np.testing.assert_allclose(marks.mean(axis=0), rows.mean(axis=0), atol=0.15 * rows.std())


class TestSmallClusters:
    @given(
        sizes=st.lists(st.integers(1, 400), min_size=1, max_size=5), drawn=st.integers(1, 300), seed=st.integers(0, 99)
    )
    @settings(max_examples=40, deadline=None)
    def test_every_cluster_has_enough_rows_or_all(self, sizes, drawn, seed):
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int32)
        rows = np.sort(rng.choice(len(labels), min(drawn, len(labels)), replace=False))
        more = _rows_of_small(labels, rows, len(sizes))
        assert len(np.unique(more)) == len(more) and not np.intersect1d(more, rows).size
        before, after = (np.bincount(labels[which], minlength=len(sizes)) for which in (rows, np.union1d(rows, more)))
        for size, old, new in zip(sizes, before, after, strict=True):
            assert new == max(old, min(size, FEWEST_OF_CLUSTER))

    def test_a_small_cluster_is_repeated_where_few_of_its_rows_are_drawn(self, monkeypatch):
        monkeypatch.setattr(_cluster_scores, "FINE_ROWS", 800)
        X = spirals(group=30)
        model = fit(X, 3)
        assert sorted(np.bincount(model.labels_))[0] == 30 and is_finer(model)
        far = model.labels_ == model.labels_[0]
        assert far.sum() == 30 and (model.predict(X[far]) == model.labels_[0]).all()
        assert repeated(model, X) > 0.95  # 0.97 was measured


def test_a_model_file_predicts_the_same(model, X, tmp_path):
    persistence.save(model, tmp_path / "m.widegap")
    loaded, _ = persistence.load(tmp_path / "m.widegap")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.kernel_map_.landmarks, model.kernel_map_.landmarks)


def test_other_numbers_of_clusters_have_their_own_scores(model, X):
    for k in (3, 5):
        other = model.with_clusters(k)
        assert other.coef_.shape[0] == k
        assert repeated(other, X) > 0.95
        if is_finer(other):
            np.testing.assert_array_equal(other.kernel_map_.landmarks, model.kernel_map_.landmarks)


def test_probabilities_fit_the_labels(model, X):
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))


def test_outliers_are_rejected_by_finer_scores(X):
    far = np.array([[40.0, 40], [-45, 30], [60, -50], [0, 90], [-80, 0]])
    table = np.vstack([X, far])
    model = fit(table, outliers=len(far) / len(table))
    assert (model.labels_[-5:] == -1).all() and (model.labels_ < 0).sum() == 5
    assert is_finer(model)
    found = model.predict(table, reject=True)
    assert (found[-5:] == -1).all()
    assert np.mean(found[:-5] == -1) < 0.05

    assert (model.predict(table) >= 0).all()


def test_rows_beyond_the_search_are_labelled_by_finer_scores(monkeypatch):
    monkeypatch.setattr("widegap.forest._search_space.SEARCH_ROWS", 2100)
    X = spirals(4000)
    model = fit(X)
    assert len(model._kept.part.searched) == 2100 and is_finer(model)
    others = np.setdiff1d(np.arange(4000), model._kept.part.searched)
    np.testing.assert_array_equal(model.predict(X)[others], model.labels_[others])
    truth = np.arange(4000) % 2
    assert max(np.mean(model.labels_ == truth), np.mean(model.labels_ != truth)) > 0.95
