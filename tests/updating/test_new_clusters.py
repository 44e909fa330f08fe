"""New clusters: found where they are, and not where rows only moved or became more."""

import numpy as np
import pytest

from widegap.updating._new_clusters import find_new_clusters, thinned


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
