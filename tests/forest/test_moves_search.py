"""The search by moves: how many rows, landmarks and starts, when it smooths, and what a bound on sizes keeps out."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widegap import MaxMarginClustering
from widegap.base._records import Recorder
from widegap.exceptions import StarvedClusterWarning
from widegap.features._principal import PrincipalMap, whiten
from widegap.forest import _moves_search
from widegap.forest._moves_search import FoundPartition, MovesSearch, QuickMoves, _beyond_bound, search_partition
from widegap.forest._search_result import StartRecord
from widegap.forest._single_moves import Partition


def search(k=3, fraction=0.2, init="k-means", n_init="auto", smoothing="auto", n_neighbors=30):
    return MovesSearch(k, fraction, init, n_init, smoothing, n_neighbors)


@pytest.mark.parametrize(
    ("n", "k", "searched", "landmarks"),
    [
        (999, 3, 999, 999),
        (1000, 3, 1000, 1000),
        (1001, 3, 1001, 300),
        (10_000, 3, 10_000, 300),
        (10_001, 3, 5000, 300),
    ],
)
def test_how_many_rows_are_looked_at(n, k, searched, landmarks):
    assert search(k).n_searched((n, 4), sparse=False, by_columns=False) == searched
    assert search(k).n_landmarks(n) == landmarks
    assert not search().follows_columns and not search().cuts_anywhere and not search().unit_rows


def test_how_many_starts_there_are():
    assert (search().n_starts, search(n_init=1).n_starts, search(n_init=7).n_starts) == (10, 1, 7)
    assert search(init=None).n_records(100) == 1
    assert search(init="spectral").n_records(100) == 1
    for k in (2, 3):
        X = np.random.default_rng(0).normal(size=(60, 2))
        X[:30] += 5
        for init in ("k-means", "random"):
            model = MaxMarginClustering(k, search="moves", init=init, n_init=2, random_state=0).fit(X)
            assert len(model.starts_) == model.n_iter_ == search(k, init=init, n_init=2).n_records(60)


@pytest.mark.parametrize(
    ("fraction", "n", "k", "least"),
    [(0.2, 100, 2, 10), (0.2, 99, 2, 9), (0.2, 9, 2, 1), (0.0, 100, 2, 1), (1.0, 9, 3, 3)],
)
def test_the_least_size(fraction, n, k, least):
    assert search(k, fraction).least_size(n) == least


class TestSmoothing:
    def steps(self, n, smoothing, reached=1.0):
        rng = np.random.default_rng(0)
        P = rng.normal(size=(n, 2))
        asked = []

        def smooth(P, steps):
            asked.append(steps)
            return P / 2

        principal = SimpleNamespace(transform=lambda Phi: P, lam=np.array([2.0, 1.0]))
        graph = SimpleNamespace(reached=reached, smooth=smooth)
        found, lam, steps = search(smoothing=smoothing).features(None, principal, P, graph)
        assert asked == ([steps] if steps else [])
        if not steps:
            assert found is P and lam is principal.lam
        else:
            centred = (P - P.mean(axis=0)) / 2
            np.testing.assert_allclose(found @ found.T, centred @ centred.T, atol=1e-9)
            np.testing.assert_allclose(lam, np.linalg.eigvalsh(centred.T @ centred)[::-1])
        return steps

    @pytest.mark.parametrize(("n", "reached", "steps"), [(1000, 1, 2), (999, 1, 0), (1000, 0.8, 2), (1000, 0.79, 0)])
    def test_auto_smooths_many_rows_that_the_graph_serves(self, n, reached, steps):
        assert self.steps(n, "auto", reached) == steps

    @pytest.mark.parametrize(("smoothing", "steps"), [(0, 0), (1, 1), (5, 5)])
    def test_as_many_steps_as_asked_for(self, smoothing, steps):
        assert self.steps(30, smoothing, reached=0.0) == steps

    def test_features_without_scatter_stay_as_they_were(self):
        P = np.array([[1.0], [-1.0]])
        graph = SimpleNamespace(reached=1.0, smooth=lambda P, steps: np.zeros_like(P))
        principal = SimpleNamespace(transform=lambda Phi: P, lam=np.ones(1))
        assert search(smoothing=1).features(None, principal, P, graph)[2] == 0


class TestBeyondTheBound:
    def far(self, monkeypatch, found, best=1.0, k=2, min_count=100):
        """Starts lead to labels of the objective ``found``; the best within the bound has ``best``."""
        asked = []

        def improve(Q, labels, k, least, rng):
            asked.append(least)
            return Partition(labels, found)

        monkeypatch.setattr(_moves_search, "improve_by_moves", improve)
        kept = Partition(np.zeros(4, np.int32), best)
        result = _beyond_bound(kept, np.zeros((4, 1)), [np.array([0, 0, 0, 1])], k, min_count, None)
        return asked, result

    @pytest.mark.parametrize(("min_count", "loose"), [(100, [10]), (60, [6]), (49, [5]), (6, [5]), (5, []), (1, [])])
    def test_a_tenth_of_the_bound_is_tried_and_five_rows_at_least(self, monkeypatch, min_count, loose):
        assert self.far(monkeypatch, 0.99, 0.5, min_count=min_count)[0] == loose

    @pytest.mark.parametrize(
        ("k", "best", "found", "told"),
        [(2, 0.5, 0.7500001, True), (2, 0.5, 0.75, False), (3, 1.0, 1.5000001, True), (3, 1.0, 1.4999, False)],
    )
    def test_less_than_half_may_be_left_unexplained(self, monkeypatch, k, best, found, told):
        result = self.far(monkeypatch, found, best, k)[1]
        assert (result is not None) == told and (not told or result.objective == found)

    def test_without_uneven_starts_nothing_is_missed(self):
        best = Partition(np.zeros(4, np.int32), 0.5)
        assert _beyond_bound(best, np.zeros((4, 1)), [], 2, 100, None) is None

    def test_what_is_missed_in_words(self):
        found = FoundPartition(Partition(np.array([0, 1]), 0.51234), Partition(np.repeat([0, 1], [3, 97]), 0.9))
        assert found.what_is_missed(0.2) == (
            "min_cluster_fraction=0.2 keeps out clusters that fit much better: one of them has 3.0% of the rows, and "
            "R2 would be 0.9 and not 0.512; set min_cluster_fraction below 0.06 to find them."
        )


@pytest.mark.parametrize(("far", "warns"), [(40.0, True), (2.0, False)])
def test_a_fit_warns_of_a_small_cluster_that_the_bound_keeps_out(far, warns, recwarn):
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[:12, 0] += far
    model = MaxMarginClustering(2, search="moves", min_cluster_fraction=0.5, random_state=0).fit(X)
    told = [str(found.message) for found in recwarn if found.category is StarvedClusterWarning]
    assert len(told) == warns and np.bincount(model.labels_).min() >= 75
    if warns:
        assert "4.0% of the rows" in told[0] and "below 0.08" in told[0] and model.starved_


class TestPartitions:
    X = np.vstack([np.random.default_rng(0).normal(size=(20, 2)) + c for c in ([0, 0], [9, 0], [0, 9])])
    principal = PrincipalMap.fit(X)
    Q = whiten(principal.transform(X), principal.lam, 1.0)
    RIGHT = np.repeat([0, 1, 2], 20).astype(np.int32)

    def test_every_start_goes_through_all_stages_and_is_recorded(self):
        recorder = Recorder(StartRecord, None, None)
        starts = [("a", self.RIGHT), ("b", np.arange(60, dtype=np.int32) % 3)]
        found = search_partition([self.Q / 2, self.Q], starts, 3, 1, recorder, np.random.default_rng(0))
        assert [(r.start, r.kind) for r in recorder.records] == [(0, "a"), (1, "b")]
        assert found.missed is None and recorder.records[0].objective == pytest.approx(found.best.objective)
        assert len(set(zip(found.best.labels.tolist(), self.RIGHT.tolist(), strict=True))) == 3

    def test_a_callback_ends_the_search(self):
        recorder = Recorder(StartRecord, lambda record: record.start == 1, None)
        starts = (("x", (np.arange(60, dtype=np.int32) + i) % 3) for i in range(5))
        found = search_partition([self.Q], starts, 3, 1, recorder, np.random.default_rng(0))
        assert len(recorder.records) == 2 and recorder.stopped and found.missed is None

    @pytest.mark.parametrize("k", [2, 3])
    def test_quick_starts_are_two_by_k_means_and_thresholds_for_two_clusters(self, k):
        P = np.ascontiguousarray(np.random.default_rng(0).normal(size=(50, 5)) * [5, 4, 3, 2, 1])
        starts = list(QuickMoves._starts(P, k, 4, np.random.default_rng(0)))
        assert len(starts) == (5 if k == 2 else 2)
        for axis, labels in enumerate(starts[2:]):
            assert P[labels == 1, axis].min() > P[labels == 0, axis].max() and min(np.bincount(labels)) >= 4
        assert len(list(QuickMoves._starts(P[:, :1].copy(), 2, 4, np.random.default_rng(0)))) == 3


def test_starting_labels_are_refined_with_the_ridge_that_counts_alone(monkeypatch):
    seen, improve = [], _moves_search.improve_by_moves
    monkeypatch.setattr(_moves_search, "improve_by_moves", lambda Q, *rest: seen.append(Q) or improve(Q, *rest))
    X = np.random.default_rng(0).normal(size=(40, 2))
    labels = (X[:, 0] > 0).astype(int)
    model = MaxMarginClustering(2, init=labels, random_state=0).fit(X)
    assert len(seen) == 1 and model.history_[0].kind == "given" and model.n_iter_ == 1
    seen.clear()
    MaxMarginClustering(2, search="moves", init="spectral", random_state=0).fit(X)
    assert len(seen) >= 2 and np.square(seen[0]).sum() < np.square(seen[1]).sum()  # a tenth of C first
    assert_array_equal(np.isfinite(seen[0]), True)


@pytest.mark.parametrize(("k", "n_starts"), [(2, 5), (3, 2)])
def test_quick_moves_choose_among_all_starts_and_what_there_was(k, n_starts, monkeypatch):
    seen, found, improve, choose = [], [], _moves_search.improve_by_moves, _moves_search.most_even

    def spy(Q, labels, k, least, rng):
        seen.append((Q, labels, least))
        return improve(Q, labels, k, least, rng)

    monkeypatch.setattr(_moves_search, "improve_by_moves", spy)
    monkeypatch.setattr(_moves_search, "most_even", lambda parts, k: found.extend(parts) or choose(parts, k))
    X = np.random.default_rng(0).normal(size=(90, 3)) + 6 * np.eye(3)[np.arange(90) % 3]
    forest = MaxMarginClustering(3, random_state=0).fit(X)._forest
    seen.clear(), found.clear()
    start = (np.arange(90) % k).astype(np.int32)
    labels = forest.moves(k, start)
    assert len(found) == n_starts + 1 and len(seen) == 2 * n_starts + 1
    assert {least for _, _, least in seen} == {int(0.2 * 90 / k)}
    early, late = seen[0][0], seen[1][0]
    assert [Q is early for Q, _, _ in seen] == [True, False] * n_starts + [False]
    assert all(Q is late for Q, _, _ in seen[1::2]) and seen[-1][0] is late and seen[-1][1] is start
    assert early.shape[1] <= 100 and np.square(early).sum() < np.square(late).sum()
    lam = np.square(late).sum(axis=0)
    ridge = np.square(early).sum(axis=0)  # lam / (lam + 10 / C) and lam / (lam + 1 / C)
    np.testing.assert_allclose(1 / ridge - 1, 10 * (1 / lam - 1)[: len(ridge)], rtol=1e-4)
    np.testing.assert_array_equal(labels, choose(found, k).labels)
    np.testing.assert_array_equal(forest.moves(k, start), labels)  # the same, whatever was asked before


def test_all_rows_are_moved_three_times_at_most(monkeypatch):
    monkeypatch.setattr(_moves_search, "MOST_MOVED", 80)
    monkeypatch.setattr(_moves_search, "sample_size", lambda k: 80)
    asked, improve = [], _moves_search.improve_by_moves
    monkeypatch.setattr(
        _moves_search, "improve_by_moves", lambda Q, *rest: asked.append((len(Q), *rest[1:])) or improve(Q, *rest)
    )
    X = np.random.default_rng(0).normal(size=(240, 2)) + 5 * (np.arange(240) % 2)[:, None]
    model = MaxMarginClustering(2, search="moves", n_init=1, random_state=0).fit(X)
    whole = [values for values in asked if values[0] == 240]
    assert len(whole) == 1 and whole[0][1:3] == (2, 24) and whole[0][4] == 3
    assert {values[0] for values in asked} == {80, 240}
    assert np.mean(model.predict(X) == model.labels_) > 0.98
    asked.clear()
    MaxMarginClustering(2, search="moves", n_init=1, random_state=0, outliers=0.01).fit(X)
    MaxMarginClustering(2, search="moves", n_init=1, random_state=0, size_min=5).fit(X)
    MaxMarginClustering(2, search="moves", n_init=1, random_state=0, smoothing=1).fit(X)
    assert asked and max(values[0] for values in asked) == 80
