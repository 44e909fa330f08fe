"""Where searches begin: thresholds by brute force, how many starts there are and of which kinds, samples."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from widegap.base import _starts
from widegap.base._starts import (
    Sample,
    best_threshold,
    count_feature_starts,
    different_starts,
    feature_starts,
    kmeans_starts,
    random_start,
    rounded,
    sample_size,
    sample_starts,
    spectral_labels,
)
from widegap.exceptions import InvalidDataError
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

X = np.random.default_rng(0).normal(size=(60, 3)) + 8 * np.eye(3)[np.arange(60) % 3]


def rng():
    return np.random.default_rng(0)


def rows_of(table, weights=None):
    return CentredRows(row_blocks(table), weights)


@pytest.mark.parametrize("least", [1, 2, 4, 5])
def test_the_best_threshold_has_the_largest_scatter_between_its_sides(least):
    for seed in range(20):
        f = np.random.default_rng(seed).integers(0, 30, 10).astype(float)
        found = best_threshold(f, least)
        order = np.argsort(-f, kind="stable")
        scatter = {}
        for cut in range(least, 10 - least + 1):
            high, low = f[order[:cut]], f[order[cut:]]
            scatter[cut] = cut * (10 - cut) * (high.mean() - low.mean()) ** 2
        best = next(cut for cut, value in scatter.items() if value >= max(scatter.values()) * (1 - 1e-11))
        assert_array_equal(np.flatnonzero(found), np.sort(order[:best]))
        assert found.dtype == np.int32
    assert_array_equal(best_threshold(np.array([1.0, 0.0, 1.0, 0.0]), 1), [1, 0, 1, 0])
    assert_array_equal(best_threshold(np.array([0.0, 9.0, 8.0]), 1), [0, 1, 1])
    assert_array_equal(best_threshold(np.array([0.0, 1.0, 2.0]), 1), [0, 0, 1])  # of two equal ones the first


@pytest.mark.parametrize(
    ("init", "k", "kinds"),
    [
        ("spectral", 2, ["spectral"]),
        ("spectral", 3, ["spectral"]),
        ("random", 3, ["random"] * 4),
        ("random", 2, ["random"] * 4),
        ("k-means", 3, ["k-means on rows", "k-means", "k-means", "k-means on rows"]),
        ("k-means", 2, ["k-means on rows", "k-means", "k-means", "k-means on rows"]
         + [f"axis {a}" for a in range(8)] + ["random"] * 4),
    ],
)  # fmt: skip
def test_starts_on_features_are_as_many_as_are_counted(init, k, kinds):
    P = np.hstack([X, X**2, X**3])
    found = list(feature_starts(init, P, X, k, 4, 1, rng()))
    assert [kind for kind, _ in found] == kinds
    assert count_feature_starts(init, k, 4) == len(kinds)
    for kind, labels in found:
        assert labels.dtype == np.int32 and labels.shape == (60,) and 0 <= labels.min() <= labels.max() < k
        if kind.startswith("axis"):
            assert_array_equal(labels, best_threshold(P[:, int(kind[5:])], 1))
    few = list(feature_starts(init, X, X, k, 4, 1, rng()))
    assert len(few) == len(kinds) - 5 * (init == "k-means" and k == 2)  # three axes of eight


def test_starts_of_a_sample_are_the_best_means_and_random_ones():
    sample = Sample(rows_of(X), 3, rng())
    assert sample.whole and sample.rows.shape == (60, 3)
    assert_array_equal(sample.chosen, np.arange(60))
    for init, least, most in (("k-means", 2, 3), ("random", 3, 3), ("spectral", 1, 1)):
        found = sample_starts(init, sample, 3, 5, 2, 1, rng())
        assert least <= len(found) <= most
    runs = kmeans_starts(sample, 4, 6, 9, rng())
    inertias = [sum(np.square(X[y == p] - X[y == p].mean(axis=0)).sum() for p in np.unique(y)) for y in runs]
    assert inertias == sorted(inertias) and len({rounded(value) for value in inertias}) == len(runs)
    best = kmeans_starts(sample, 4, 6, 1, rng())
    assert len(best) == 1 and adjusted_rand_score(best[0], runs[0]) == 1
    scores = (X - X.mean(axis=0)) @ rng().standard_normal((3, 3)).T
    assert_array_equal(random_start(sample, 3, rng()), scores.argmax(axis=1))


def test_starts_that_are_alike_count_once():
    first = np.arange(60) % 3
    near, far = first.copy(), np.arange(60) // 20
    near[0] = 1
    assert adjusted_rand_score(first, near) > 0.9
    assert [len(different_starts([first, near, far, first], keep)) for keep in (0, 1, 2, 5)] == [0, 1, 2, 2]
    assert rounded(1.23456749) == 1.23457 and rounded(123456.49) == 123456.0


def test_few_rows_are_clusters_of_their_own_in_spectral_starts():
    assert_array_equal(spectral_labels(X[:3], 3, rng()), [0, 1, 2])
    assert_array_equal(spectral_labels(X[:2], 3, rng()), [0, 1])
    assert adjusted_rand_score(spectral_labels(X, 3, rng()), np.arange(60) % 3) == 1
    assert len(np.unique(spectral_labels(X[:4], 3, rng()))) == 3


def test_samples_are_two_rows_a_cluster_at_least_and_hold_those_wanted(monkeypatch):
    assert (sample_size(2), sample_size(2500), sample_size(2501)) == (5000, 5000, 5002)
    monkeypatch.setattr(_starts, "START_SAMPLE", 10)
    weights = 1.0 + np.arange(60)
    sample = Sample(rows_of(X, weights), 3, rng(), [59, 0])
    assert not sample.whole and 10 <= len(sample.chosen) <= 12 and {0, 59} <= set(sample.chosen)
    assert_array_equal(sample.X, X[sample.chosen])
    assert_array_equal(sample.rows.array_weights(), weights[sample.chosen])
    assert len(Sample(rows_of(X), 3, rng()).chosen) == 10 and len(Sample(rows_of(X), 6, rng()).chosen) == 12


def test_samples_grow_up_to_eight_times_to_find_rows_that_differ(monkeypatch):
    monkeypatch.setattr(_starts, "START_SAMPLE", 5)
    sizes, some = [], np.zeros((100, 2))
    some[99] = 1

    def first_rows(n, size, generator):
        sizes.append(size)
        return np.arange(size)

    monkeypatch.setattr(_starts, "all_or_drawn", first_rows)
    with pytest.raises(InvalidDataError, match="All of 40 rows drawn from 100 to find a start are equal"):
        Sample(rows_of(some), 2, rng())
    assert sizes == [5, 10, 20, 40]
    some[12] = 2
    sizes.clear()
    assert len(Sample(rows_of(some), 2, rng()).chosen) == 20 and sizes == [5, 10, 20]
    sizes.clear()
    Sample(rows_of(np.zeros((100, 2))), 2, rng())  # nothing to be found
    assert sizes == [5]
