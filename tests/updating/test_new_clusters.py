"""New clusters: found where they are, and not where rows only moved or became more."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from widegap.updating import _new_clusters
from widegap.updating._new_clusters import GroupTest, JointGroups, _joined, find_new_clusters, thinned


def joint(new, remembered):
    """Coordinates, which are new, weights and positions of two lists of blobs: (centre, rows, position)."""
    rng = np.random.default_rng(len(new) + 10 * len(remembered))
    parts = [(rng.normal(size=(n, 3)) + centre, n, p) for centre, n, p in [*new, *remembered]]
    n_new = sum(n for _, n, _ in new)
    P = np.vstack([part for part, _, _ in parts]).astype(np.float32)
    positions = np.concatenate([np.full(n, p) for _, n, p in parts]).astype(np.int32)
    return P, np.arange(len(P)) < n_new, np.ones(len(P)), positions


def find(*arguments, seed=0):
    return find_new_clusters(*arguments, np.random.default_rng(seed))


OLD = [(0, 300, 0), (6, 300, 1)]


@pytest.mark.parametrize("n", [12, 40, 300])
def test_a_blob_of_new_rows_is_a_cluster(n):
    # The old model has put it into its second cluster.
    found = find(*joint([(0, 150, 0), (6, 150, 1), (12, n, 1)], OLD))
    assert (found[300 : 300 + n] == 0).mean() > 0.8
    assert (found[:300] >= 0).mean() < 0.05
    assert (found[300 + n :] == -1).all()


def test_few_remembered_rows_are_enough():
    found = find(*joint([(0, 400, 0), (6, 400, 1), (12, 100, 1)], [(0, 60, 0), (6, 60, 1)]))
    assert (found[800:900] == 0).mean() > 0.8
    assert (found[:800] >= 0).mean() < 0.05


def test_two_blobs_are_two_clusters():
    found = find(*joint([(0, 150, 0), (6, 150, 1), (14, 50, 1), (-9, 40, 0)], OLD))
    assert sorted([np.median(found[300:350]), np.median(found[350:390])]) == [0, 1]
    assert (found >= 0).sum() < 90 + 0.05 * 300


def test_a_cluster_that_has_grown_tenfold_is_not_new():
    found = find(*joint([(0, 100, 0), (6, 600, 1)], [(0, 300, 0), (6, 30, 1)]))
    assert (found == -1).all()


def test_a_cluster_that_has_moved_a_little_is_not_new():
    found = find(*joint([(0, 150, 0), (6.5, 150, 1)], OLD))
    assert (found == -1).all()


def test_rows_of_one_source_have_no_new_cluster():
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        P = (rng.normal(size=(600, 3)) + 3 * rng.integers(3, size=(600, 1))).astype(np.float32)
        positions = rng.integers(3, size=600).astype(np.int32)
        alarms += find(P, np.arange(600) < 250, np.ones(600), positions, seed=seed).max() >= 0
    assert alarms <= 3  # 1 % are expected


def test_few_rows_are_no_cluster():
    P, is_new, weights, positions = joint([(20, 4, 0)], OLD)
    assert (find(P, is_new, weights, positions) == -1).all()


def test_light_rows_are_left_out_in_proportion():
    weights = np.repeat([1.0, 4.0], 2000)
    kept = thinned(np.arange(4000), weights, 10_000, np.random.default_rng(0))
    assert 400 < (kept < 2000).sum() < 600
    assert (kept >= 2000).sum() == 2000
    assert len(thinned(np.arange(4000), weights, 100, np.random.default_rng(0))) == 100


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_thinning_knows_only_the_ratios_of_weights(scale):
    rows, weights = np.arange(3, 43), np.random.default_rng(1).random(43)
    expected = thinned(rows, weights, 12, np.random.default_rng(0))
    np.testing.assert_array_equal(thinned(rows, scale * weights, 12, np.random.default_rng(0)), expected)
    assert len(thinned(rows[:0], weights, 12, np.random.default_rng(0))) == 0


@pytest.mark.parametrize("seed", range(5))
def test_tests_of_scarce_groups_by_loops(seed):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(9), rng.integers(0, 9, 81)]).astype(np.int32)
    clusters = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2], np.int32)
    sizes = np.bincount(groups).astype(float)
    names = (rng.random((6, 90)) < 0.4 + 0.3 * (groups == 2)).astype(np.float32)
    found = JointGroups(groups, sizes, clusters, 3).test(names)
    for way, row in enumerate(names):
        new = np.bincount(groups, row, 9)
        old = sizes - new
        for p in range(3):
            inside = clusters == p
            odds = min(old[inside].sum() / max(new[inside].sum(), 1), old.sum() / new.sum())
            scarce = inside & (old <= 0.25 * odds * new)
            np.testing.assert_array_equal(found.scarce[way][inside], scarce[inside])
            chance = binom.cdf(old[scarce].sum(), sizes[scarce].sum(), odds / (1 + odds))
            assert found.log_p[way, p] == pytest.approx(np.log(chance), abs=1e-9)


def test_a_group_of_a_quarter_of_what_is_expected_is_scarce():
    """Two rows are remembered of a group of ``n`` new ones; of the cluster there are as many of either kind."""
    for n, is_scarce in ((8, True), (7, False)):
        names = np.repeat([1, 0, 1, 0], [n, 2, 10, n + 8])[None].astype(np.float32)
        groups = np.repeat([0, 1], [n + 2, n + 18]).astype(np.int32)
        found = JointGroups(groups, np.bincount(groups).astype(float), np.zeros(2, np.int32), 1).test(names)
        assert found.scarce[0].tolist() == [is_scarce, False]


def test_groups_belong_to_the_cluster_of_most_of_their_rows(monkeypatch):
    asked = []

    def kmeans(P, m, turns, rng):
        asked.append((m, turns))
        return np.array([5, 5, 5, 2, 2, 9], np.int32)

    monkeypatch.setattr(_new_clusters, "kmeans", kmeans)
    positions = np.array([0, 2, 2, 1, 1, 0], np.int32)
    found = [JointGroups.of(np.zeros((6, 1)), positions, m, None) for m in (0, 1, 2, 37, 200, 201)]
    assert asked == [(m, 10) for m in (2, 2, 2, 37, 200, 200)]
    assert found[0].groups.tolist() == [1, 1, 1, 0, 0, 2] and found[0].sizes.tolist() == [2, 3, 1]
    assert found[0].clusters.tolist() == [1, 2, 0] and found[0].n_clusters == 3


@pytest.mark.parametrize(
    ("n_new", "n_old", "sizes"),
    [
        (60, 300, [10, 7, 7, 6, 4]),
        (60, 40, [6, 5, 5, 4, 2]),
        (5, 5, [0, 0, 0, 0, 0]),
        (4, 90, []),
        (90, 4, []),
        (3000, 6000, [416, 312, 312, 250, 178]),
    ],
)
def test_how_many_rows_form_how_many_groups(monkeypatch, n_new, n_old, sizes):
    """Up to 2,500 new rows, and twice as many remembered ones at most."""
    asked = []

    def of(P, positions, m, rng):
        assert len(P) == len(positions) == min(n_new, 2500) + min(n_old, 2 * min(n_new, 2500))
        asked.append(m)
        return SimpleNamespace(
            groups=np.zeros(len(P), np.int32),
            clusters=np.zeros(1, np.int32),
            test=lambda names: tests.append(names) or GroupTest(np.zeros((200, 1), bool), np.zeros((200, 1))),
        )

    tests = []
    monkeypatch.setattr(_new_clusters, "JointGroups", SimpleNamespace(of=of))
    n = n_new + n_old
    found = find(np.zeros((n, 1), np.float32), np.arange(n) < n_new, np.ones(n), np.zeros(n, np.int32))
    assert asked == sizes and (found == -1).all() and len(found) == n
    if sizes:
        assert tests[0].shape[0] == 200 and (tests[0].sum(axis=1) == min(n_new, 2500)).all()
        assert tests[0][0, : min(n_new, 2500)].all()


@pytest.mark.parametrize(("own", "scarce", "is_new"), [(-5.0, True, True), (-3.0, True, False), (-5.0, False, False)])
def test_scarce_groups_are_new_if_no_shuffled_names_are_as_unusual(monkeypatch, own, scarce, is_new):
    log_p = np.concatenate([[own], np.linspace(0, -3, 199)])[:, None]
    test = GroupTest(np.full((200, 1), scarce), log_p)
    groups = SimpleNamespace(groups=np.zeros(60, np.int32), clusters=np.zeros(1, np.int32), test=lambda names: test)
    monkeypatch.setattr(_new_clusters, "JointGroups", SimpleNamespace(of=lambda *arguments: groups))
    novel = []
    monkeypatch.setattr(_new_clusters, "_joined", lambda P, rows: novel.append(rows) or np.full(60, -1))
    find(np.zeros((60, 1), np.float32), np.arange(60) < 20, np.ones(60), np.zeros(60, np.int32))
    assert novel[0].tolist() == [is_new] * 20 + [False] * 40  # remembered rows are never in a new cluster


@pytest.mark.parametrize(("rows", "own", "expected"), [(5, 17, 0), (5, 16, -1), (4, 20, -1), (20, 65, 0), (20, 64, -1)])
def test_new_clusters_keep_to_themselves(monkeypatch, rows, own, expected):
    """``own`` of the five neighbours of every row, all together, are in the cluster: 65 % at least; 5 rows at least."""
    nearest = np.full((40, 5), 39)
    nearest[:rows].ravel()[:own] = 0
    graphs = {10: SimpleNamespace(components=lambda: np.zeros(rows, int)), 5: SimpleNamespace(nearest=nearest)}
    monkeypatch.setattr(_new_clusters, "neighbour_graph", lambda P, count: graphs[count])
    found = _joined(np.zeros((40, 1)), np.arange(40) < rows)
    assert found.tolist() == [expected] * rows + [-1] * (40 - rows)


def test_parts_of_few_rows_are_left_out_and_others_numbered(monkeypatch):
    parts = np.repeat([0, 1, 2], [6, 4, 5])
    nearest = np.repeat(np.r_[0, 6, 10, 39], [6, 4, 5, 25])[:, None].repeat(5, axis=1)
    graphs = {10: SimpleNamespace(components=lambda: parts), 5: SimpleNamespace(nearest=nearest)}
    monkeypatch.setattr(_new_clusters, "neighbour_graph", lambda P, count: graphs[count])
    found = _joined(np.zeros((40, 1)), np.arange(40) < 15)
    assert found.tolist() == [0] * 6 + [-1] * 4 + [1] * 5 + [-1] * 25


def test_heavy_rows_stay_and_of_too_many_some_are_drawn():
    rows, weights = np.arange(2, 10), np.array([9, 9, 0.0, 3, 3.5, 4, 4, 4, 4, 1])
    draws = np.random.default_rng(1).random(8)
    expected = [row for row, draw in zip(rows, draws, strict=True) if 4 * draw < weights[row]]
    assert thinned(rows, weights, 8, np.random.default_rng(1)).tolist() == expected
    assert len(expected) < 8 and 2 not in expected
    few = thinned(rows, weights, 3, np.random.default_rng(1))
    assert len(few) == 3 and (np.diff(few) > 0).all() and set(few) <= set(expected)
    assert thinned(rows, weights, len(expected), np.random.default_rng(1)).tolist() == expected


def test_a_cluster_with_a_single_new_row_has_the_odds_of_its_own_rows():
    """13 remembered rows beside one: of a group of four with that row, three are no more than a quarter of 13."""
    groups, clusters = np.repeat([0, 1, 2], [90, 4, 10]).astype(np.int32), np.array([0, 1, 1], np.int32)
    names = np.zeros((1, 104), np.float32)
    names[0, [0, 90]] = 1
    found = JointGroups(groups, np.array([90.0, 4, 10]), clusters, 2).test(names)
    assert found.scarce[0].tolist() == [False, True, False]
    np.testing.assert_allclose(found.log_p[0], [0, binom.logcdf(3, 4, 13 / 14)])
