"""The search for labels by R2: exact gains, monotone sweeps, the global optimum of small problems."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap.base._starts import best_threshold
from widegap.forest._single_moves import (
    Partition,
    _entropy,
    _sweep,
    cluster_sums,
    improve_by_moves,
    kick,
    meet_bound,
    most_even,
    r_squared,
)


def centred(rng, n, r):
    Q = rng.normal(size=(n, r))
    return Q - Q.mean(axis=0)


def by_definition(Q, labels, k):
    """R2 as the share of the codes' variance that projecting on Q explains, from explicit sums."""
    total = 0.0
    for p in range(k):
        members = Q[labels == p]
        if len(members):
            total += np.square(members.sum(axis=0)).sum() / len(members)
    return total


def sweep(Q, labels, k, order, min_count=1):
    labels = labels.astype(np.int32)
    sums, counts = cluster_sums(Q, labels, k), np.bincount(labels, minlength=k)
    h = np.square(Q).sum(axis=1)
    moved, gained = _sweep(Q, h, np.asarray(order), labels, sums, np.square(sums).sum(axis=1), counts, min_count, 0.0)
    np.testing.assert_allclose(sums, cluster_sums(Q, labels, k), atol=1e-9)
    np.testing.assert_array_equal(counts, np.bincount(labels, minlength=k))
    return labels, moved, gained


def test_four_points_by_hand():
    Q = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    assert r_squared(Q, np.array([0, 0, 1, 1], np.int32), 2) == pytest.approx(9 / 2 + 9 / 2)
    labels, moved, gained = sweep(Q, np.array([0, 1, 1, 1]), 2, [1])
    np.testing.assert_array_equal(labels, [0, 0, 1, 1])
    assert (moved, gained) == (1, pytest.approx(9.0 - (4.0 + 4 / 3)))


def test_two_clusters_are_the_fit_of_standardised_codes():
    rng = np.random.default_rng(0)
    Q = centred(rng, 30, 4)
    labels = np.repeat([0, 1], [11, 19]).astype(np.int32)
    codes = np.where(labels == 1, np.sqrt(11 / 19), -np.sqrt(19 / 11))
    assert r_squared(Q, labels, 2) == pytest.approx(np.square(Q.T @ codes).sum() / 30)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans())
def test_a_single_move_gains_what_recomputing_says(seed, k, single):
    rng = np.random.default_rng(seed)
    Q = centred(rng, 25, 3)
    before = rng.integers(0, k, 25).astype(np.int32)
    order = [int(rng.integers(25))] if single else rng.permutation(25)
    after, moved, gained = sweep(Q, before, k, order)
    change = by_definition(Q, after, k) - by_definition(Q, before, k)
    assert gained == pytest.approx(change, abs=1e-9)
    assert moved == np.count_nonzero(before != after) or not single
    if single:  # the move taken is the best of all moves of that row
        rivals = [np.where(np.arange(25) == order[0], q, before) for q in range(k)]
        allowed = rivals if np.bincount(before)[before[order[0]]] > 1 else [before]
        assert by_definition(Q, after, k) == pytest.approx(max(by_definition(Q, z, k) for z in allowed), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.sampled_from([np.float32, np.float64]))
def test_r2_never_falls_and_ends_where_every_row_is_nearest_to_its_mean(seed, k, dtype):
    rng = np.random.default_rng(seed)
    Q = centred(rng, 60, 3).astype(dtype)
    start = rng.integers(0, k, 60).astype(np.int32)
    values = [r_squared(Q, meet_bound(Q, start, k, 1), k)]
    for sweeps in (1, 2, 4, 50):
        values.append(improve_by_moves(Q, start, k, 1, np.random.default_rng(1), sweeps).objective)
    assert (np.diff(values) >= -1e-5 * values[-1]).all()
    found = improve_by_moves(Q, start, k, 1, np.random.default_rng(1))
    assert found.objective == pytest.approx(by_definition(Q.astype(float), found.labels, k), rel=1e-5)
    means = cluster_sums(Q, found.labels, k) / np.bincount(found.labels, minlength=k)[:, None]
    distances = np.square(Q[:, None] - means).sum(axis=2)
    assert (distances[np.arange(60), found.labels] <= distances.min(axis=1) + 1e-5).all()


@pytest.mark.parametrize("min_count", [3, 10, 20])
def test_the_bound_on_sizes_holds(min_count):
    rng = np.random.default_rng(2)
    Q = centred(rng, 60, 2)
    Q[:3] += 50  # three rows that would be a cluster of their own
    for start in (np.zeros(60, np.int32), rng.integers(0, 3, 60).astype(np.int32)):
        labels = improve_by_moves(Q, start, 3, min_count, rng).labels
        assert np.bincount(labels, minlength=3).min() >= min_count


def test_kicks_never_lose():
    rng = np.random.default_rng(3)
    Q = centred(rng, 40, 4)
    best = improve_by_moves(Q, rng.integers(0, 3, 40).astype(np.int32), 3, 1, rng)
    kicked = kick(best, Q, 3, 1, 10, rng)
    assert kicked.objective >= best.objective
    assert kicked.objective == pytest.approx(by_definition(Q, kicked.labels, 3))


def optimum(Q, min_count):
    """Largest R2 over all labelings into two clusters."""
    n = len(Q)
    codes = np.array(list(product([0, 1], repeat=n - 1)), dtype=float)
    ones = np.hstack([np.zeros((len(codes), 1)), codes])
    sizes = ones.sum(axis=1)
    allowed = (sizes >= min_count) & (n - sizes >= min_count)
    sums = ones[allowed] @ Q
    size = sizes[allowed]
    return float((np.square(sums).sum(axis=1) * n / (size * (n - size))).max())


def test_the_search_finds_the_global_optimum_of_small_problems():
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        Q = centred(rng, 12, int(rng.integers(1, 5)))
        starts = [rng.integers(0, 2, 12).astype(np.int32) for _ in range(10)]
        starts += [best_threshold(Q @ rng.normal(size=Q.shape[1]), 2) for _ in range(8)]
        best = max((improve_by_moves(Q, z, 2, 2, rng) for z in starts), key=lambda found: found.objective)
        best = kick(best, Q, 2, 2, 5, rng)
        value = optimum(Q, 2)
        assert best.objective <= value * (1 + 1e-9)
        hits += best.objective >= value * (1 - 1e-9)
    assert hits >= 95


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-5, 5), min_size=4, max_size=20), st.integers(1, 2))
def test_the_threshold_is_the_best_of_all(values, min_count):
    f = np.array(values, dtype=float)
    labels = best_threshold(f, min_count)
    assert min_count <= labels.sum() <= len(f) - min_count
    Q = (f - f.mean())[:, None]
    order = np.argsort(-f, kind="stable")
    best = 0.0
    for size in range(min_count, len(f) - min_count + 1):
        z = np.zeros(len(f), np.int32)
        z[order[:size]] = 1
        best = max(best, by_definition(Q, z, 2))
    assert by_definition(Q, labels, 2) == pytest.approx(best, abs=1e-12)


def partition(sizes, objective):
    return Partition(np.repeat(np.arange(len(sizes)), sizes).astype(np.int32), objective)


def test_ties_go_to_even_sizes_and_others_to_the_objective():
    uneven, even, poor = partition([90, 10], 0.95), partition([52, 48], 0.946), partition([50, 50], 0.94)
    assert most_even([uneven, even, poor], 2) is even  # 0.054 unexplained is within 1.1 * 0.05, 0.06 is not
    assert most_even([uneven, poor], 2) is uneven
    named_otherwise = partition([48, 52], 0.947)
    assert most_even([even, named_otherwise], 2) is named_otherwise  # equally even: the larger objective
    assert most_even([partition([3, 97], 1 + 1e-12), even], 2).objective > 1  # nothing unexplained is never tied


def test_ties_of_three_clusters_count_what_two_contrasts_leave():
    uneven, even = partition([80, 10, 10], 1.9), partition([34, 33, 33], 1.891)
    assert most_even([uneven, even], 3) is even
    assert most_even([uneven, partition([34, 33, 33], 1.889)], 3) is uneven


def test_a_cluster_that_is_too_small_gets_the_row_that_costs_least():
    # Means 5/6 and 10: of the rows of the large cluster 4 is nearest to the other mean.
    Q = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 4.0, 10.0])[:, None]
    labels = np.array([0, 0, 0, 0, 0, 0, 1], np.int32)
    np.testing.assert_array_equal(meet_bound(Q, labels, 2, 2), [0, 0, 0, 0, 0, 1, 1])
    assert meet_bound(Q, labels, 2, 1) is labels


def test_entropy_of_sizes_by_hand():
    assert _entropy(np.array([0, 0, 1, 1]), 2) == pytest.approx(np.log(2), abs=1e-9)
    assert _entropy(np.array([0, 0, 0, 1]), 3) == pytest.approx(2 * np.log(2) - 0.75 * np.log(3), abs=1e-9)
