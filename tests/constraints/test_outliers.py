"""Which rows are set aside, by hand-made neighbours; and the line for new rows against trying every line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap.constraints import _outliers
from widegap.constraints._outliers import (
    NTH_NEIGHBOUR,
    in_secluded_groups,
    least_outlying_reach,
    split_point,
    typical_rows,
)


def neighbours(X, count):
    """The nearest other rows of each row, and their distances."""
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :count]
    return nearest, np.take_along_axis(distances, nearest, axis=1)


def cloud(n=60, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def kept_rows(X, outliers, held=None, count=12):
    held = np.zeros(len(X), dtype=bool) if held is None else held
    return typical_rows(*neighbours(X, count), outliers, held)


def test_far_rows_are_set_aside_and_the_cloud_stays():
    X = np.vstack([cloud(), [[40.0, 0.0], [0.0, 50.0]]])
    kept = kept_rows(X, "auto")
    assert not kept[-2:].any()
    assert kept[:-2].sum() >= 54  # a margin: a few rows at the rim of the cloud


def test_outliers_do_not_vouch_for_each_other():
    # Four together have three neighbours within reach; the NTH_NEIGHBOUR-th is in the cloud, far away.
    far = np.array([[60.0, 60.0], [60.1, 60.0], [60.0, 60.1], [60.1, 60.1]])
    assert len(far) <= NTH_NEIGHBOUR - 1
    assert not kept_rows(np.vstack([cloud(), far]), "auto")[-4:].any()


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.05, 3), (0.5, 31)])
def test_a_share_is_that_many_rows(share, count):
    X = np.vstack([cloud(), [[40.0, 0.0], [0.0, 50.0]]])
    kept = kept_rows(X, share)
    assert (~kept).sum() == count
    if count:
        assert not kept[-2:].any()


def test_held_rows_stay():
    X = np.vstack([cloud(), [[40.0, 0.0], [0.0, 50.0]]])
    held = np.zeros(62, dtype=bool)
    held[-1] = True
    for outliers in ("auto", 2 / 62):
        kept = kept_rows(X, outliers, held)
        assert kept[-1]
        assert not kept[-2]


def test_rows_that_are_all_alike_are_kept():
    assert kept_rows(np.zeros((20, 2)), "auto").all()
    grid = np.array([[i, j] for i in range(5) for j in range(5)], float)
    assert kept_rows(grid, "auto").sum() >= 21  # nothing but the corners lies apart


def test_the_neighbour_that_counts_is_the_fifth():
    # Five rows together and far: four neighbours are near, the fifth is not. Six vouch for each other.
    five, six = np.full((5, 2), 30.0) + cloud(5, 1) / 50, np.full((6, 2), 30.0) + cloud(6, 1) / 50
    assert not kept_rows(np.vstack([cloud(), five]), 5 / 65)[-5:].any()
    assert kept_rows(np.vstack([cloud(), six]), 6 / 66)[-6:].all()


@pytest.mark.parametrize("size", [6, 8, 11])
@pytest.mark.parametrize("dimensions", [2, 5, 20])
def test_a_small_cluster_as_compact_as_the_others_is_kept(size, dimensions):
    rng = np.random.default_rng(size)
    X = rng.normal(size=(200 + size + 2, dimensions))
    X[200:-2, 0] += 25  # fewer rows than neighbours are looked at, so wider gaps between them than elsewhere
    X[-2:, 1] -= 40, 60
    kept = kept_rows(X, "auto", count=12)
    assert kept[200:-2].all() and not kept[-2:].any()
    assert kept[:200].mean() > 0.85  # measured: 0.9 and more; rows at the rim of a Gaussian
    # As many rows all around the others are no cluster: they are nearer to these than to each other.
    around = rng.normal(size=(size, dimensions))
    X[200:-2] = 25 * around / np.linalg.norm(around, axis=1)[:, None]
    assert not kept_rows(X, "auto", count=12)[200:-2].any()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(2, 9))
def test_secluded_groups_are_those_of_all_distances(seed, size, count):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30 + size, 2)) * rng.choice([0.3, 1, 3])
    X[:size] = X[:size] * rng.choice([0.05, 1]) + rng.choice([0, 8])
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    expected = np.zeros(len(X), dtype=bool)
    for i in range(len(X)):  # a group is the nearest of any of its rows
        for m in range(NTH_NEIGHBOUR, count):
            inside = np.zeros(len(X), dtype=bool)
            inside[np.argsort(distances[i], kind="stable")[: m + 1]] = True
            if distances[inside][:, ~inside].min() > distances[inside][:, inside].max():
                expected |= inside
    np.testing.assert_array_equal(in_secluded_groups(*neighbours(X, count)), expected)


def test_units_play_no_part():
    X = np.vstack([cloud(seed=3), [[9.0, 9.0]]])
    np.testing.assert_array_equal(kept_rows(X, "auto"), kept_rows(1e6 * X, "auto"))


values = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(values, values)
def test_the_line_has_the_least_sum_of_both_rates(inside, outside):
    inside, outside = np.array(inside), np.array(outside)

    def errors(line):
        return (inside < line).mean() + (outside >= line).mean()

    every = [*inside, *outside, np.nextafter(max(inside.max(), outside.max()), np.inf)]
    assert errors(split_point(inside, outside)) == pytest.approx(min(map(errors, every)))


def test_without_rows_outside_the_line_is_just_below_the_least_value():
    assert 1 - 1e-5 < split_point(np.array([3.0, 1.0, 2.0]), np.array([])) < 1 - 1e-8


@pytest.mark.parametrize(("last", "stays"), [(3.6, True), (3.9, False)])
def test_the_line_is_two_and_a_half_deviations_beyond_the_median(last, stays):
    # Logarithms from -2 to 2: median 0, median deviation 1, so the line is at 2.5 * 1.4826 = 3.7.
    reach = np.append(np.linspace(-2, 2, 401), last)
    distances = np.exp(np.repeat(reach[:, None], NTH_NEIGHBOUR, axis=1))
    nearest = np.tile(np.arange(NTH_NEIGHBOUR), (len(reach), 1))
    kept = typical_rows(nearest, distances, "auto", np.zeros(len(reach), bool))
    assert kept[:-1].all() and kept[-1] == stays


@pytest.mark.parametrize(("share", "count"), [(0.024, 2), (0.026, 3), (0.01, 1), (0.004, 0)])
def test_a_share_is_rounded_and_the_farthest_go_first(share, count):
    reach = np.random.default_rng(0).permutation(100) / 100
    distances = np.exp(np.repeat(reach[:, None], NTH_NEIGHBOUR, axis=1))
    nearest = np.tile(np.arange(NTH_NEIGHBOUR), (100, 1))
    held = np.zeros(100, bool)
    held[:NTH_NEIGHBOUR] = True  # those that all others have as neighbours
    kept = typical_rows(nearest, distances, share, held)
    assert sorted(reach[~kept & ~held], reverse=True) == sorted(reach, reverse=True)[: int((~kept).sum())]
    out = np.argsort(-reach)[:count]
    np.testing.assert_array_equal(~kept, np.isin(np.arange(100), out) & ~held)


def test_the_fifth_neighbour_that_is_kept_counts():
    nearest = np.array([[1, 2, 3, 4, 5, 6, 7]])
    distances = np.array([[1.0, 2, 3, 4, 5, 6, 7]])
    kept = np.ones(8, bool)
    nearest, distances = np.repeat(nearest, 8, axis=0), np.repeat(distances, 8, axis=0)
    kept[0] = False
    assert least_outlying_reach(nearest, distances, kept) == pytest.approx(5)
    kept[2] = False
    assert least_outlying_reach(nearest, distances, kept) == pytest.approx(6)
    kept[[3, 4]] = False
    assert least_outlying_reach(nearest, distances, kept) == np.inf
    assert least_outlying_reach(nearest, distances, np.ones(8, bool)) == np.inf
    few = np.array([[1, 2], [0, 2], [0, 1]]), np.array([[1.0, 4], [1.0, 5], [4.0, 5]])
    assert least_outlying_reach(*few, np.array([False, True, True])) == pytest.approx(4)
    assert least_outlying_reach(np.array([[1], [0]]), np.zeros((2, 1)), np.array([False, True])) == pytest.approx(
        np.finfo(float).tiny
    )


def test_rows_go_and_come_back_for_twenty_rounds_at_most(monkeypatch):
    rounds = []

    def flicker(reach, kept, outliers):
        rounds.append(kept.copy())
        return kept.copy()  # all that are kept go, all others come back

    monkeypatch.setattr(_outliers, "_farthest", flicker)
    X = cloud(20)
    assert kept_rows(X, 0.1).all() and len(rounds) == 20


def test_the_line_without_outliers_is_a_millionth_of_the_span_below():
    assert split_point(np.array([3.0, 1.0, 2.0]), np.array([])) == 1 - 2e-6
    assert split_point(np.array([1.0, 2.0]), np.array([5.0])) in (1.0, np.nextafter(5.0, 9))
    assert split_point(np.array([5.0, 6.0]), np.array([1.0])) == 5
    assert split_point(np.array([5.0]), np.array([5.0])) in (5.0, np.nextafter(5.0, 9))
