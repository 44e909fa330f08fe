"""k-means of many groups: its definition, scikit-learn's as a referee, and what must not matter."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances

from widegap.features import _kmeans
from widegap.features._kmeans import kmeans


@pytest.fixture(scope="module")
def digits():
    return np.ascontiguousarray(load_digits().data[:600])


def means_of(X, labels):
    return np.array([X[labels == p].mean(axis=0) for p in np.unique(labels)])


def inertia(X, labels):
    return sum(np.square(X[labels == p] - X[labels == p].mean(axis=0)).sum() for p in np.unique(labels))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_row_is_with_the_nearest_mean_at_the_end(digits, dtype, monkeypatch):
    monkeypatch.setattr(_kmeans, "MEANS_TOL", 0.0)
    labels = kmeans(digits.astype(dtype), 20, 300, np.random.default_rng(0))
    squared = euclidean_distances(digits, means_of(digits, labels), squared=True)
    own = np.unique(labels, return_inverse=True)[1]
    assert (squared[np.arange(len(digits)), own] <= squared.min(axis=1) * (1 + 1e-4)).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200, 1e305])
def test_the_scale_of_rows_does_not_matter(digits, scale):
    scaled = [kmeans(digits * factor, 20, 300, np.random.default_rng(0)) for factor in (1.0, scale)]
    np.testing.assert_array_equal(*scaled)


def test_as_good_as_scikit_learn(digits):
    """Mean inertia of ten runs each; they differ by 0.1 to 0.3 %, single runs by 1 %."""
    ours = np.mean([inertia(digits, kmeans(digits, 40, 300, np.random.default_rng(seed))) for seed in range(10)])
    theirs = np.mean([KMeans(40, n_init=1, random_state=seed).fit(digits).inertia_ for seed in range(10)])
    assert ours == pytest.approx(theirs, rel=0.02)


def test_separated_groups_are_found():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(12), 30)
    X = 100 * rng.normal(size=(12, 3))[truth] + rng.normal(size=(360, 3))
    labels = kmeans(X, 12, 300, rng)
    assert len(set(zip(truth, labels, strict=True))) == len(set(labels)) == 12


def test_fewer_distinct_rows_than_groups():
    X = np.repeat(np.arange(3.0), 5)[:, None]
    labels = kmeans(X, 8, 300, np.random.default_rng(0))
    assert len(set(labels)) == len(set(zip(labels, X[:, 0], strict=True))) == 3


def test_single_precision_does_not_overflow():
    """Features of a polynomial kernel can be this large: their squares exceed single precision, not double."""
    X = np.array([-2.5e18] * 30 + [8e19], np.float32)[:, None]
    found = kmeans(X, 2, 300, np.random.default_rng(0))
    assert sorted(np.bincount(found)) == [1, 30]


def test_rows_that_changed_are_counted():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    centres, labels = np.array([[0.0], [10.0]]), np.array([0, 1, 0, -1], np.int32)
    sums, counts = np.array([[9.0], [1.0]]), np.array([2, 1])
    halves = np.square(centres).sum(axis=1) / 2
    changed = _kmeans._assign(X, centres @ X.T, centres, halves, (0.0, 0.0), labels, sums, counts)
    assert changed == 3
    np.testing.assert_array_equal(labels, [0, 0, 1, 1])
    np.testing.assert_array_equal(sums, [[1.0], [19.0]])
    np.testing.assert_array_equal(counts, [2, 2])


def test_seeds_are_drawn_by_their_squared_distance_also_the_last_row():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.append(rng.normal(size=20), 1e6)[:, None]  # which has nearly all of the sum
        assert 20 in _kmeans._seeds(X, rng.random((2, 3)))


def test_the_first_seed_is_drawn_among_all_rows():
    X = np.arange(10.0)[:, None]
    assert [_kmeans._seeds(X, np.array([[chance, 0.5]]))[0] for chance in (0.0, 0.35, 1.0)] == [0, 3, 9]


def test_distances_are_squared_and_of_differences():
    X = np.array([[5.0, 1.0], [5.0, 3.0], [8.0, 5.0]])
    assert [_kmeans._distance(X, i, 0) for i in range(3)] == [0.0, 4.0, 25.0]


def test_a_row_between_two_means_goes_to_the_first():
    centres, labels, empty = np.array([[0.0], [10.0]]), np.array([-1], np.int32), (np.zeros((2, 1)), np.zeros(2, int))
    halves = np.square(centres).sum(axis=1) / 2
    for products in ([[0.0], [50.0]], [[0.0], [50.000001]], [[0.000001], [50.0]]):  # as a library may round them
        _kmeans._assign(np.array([[5.0]]), np.array(products), centres, halves, (1e-5, 1e-9), labels, *empty)
        assert labels[0] == 0


@pytest.mark.parametrize("n", [255, 256, 257, 513])
def test_rows_about_a_tile_join_the_nearest_mean(n):
    """One turn by hand: scores, sums and sizes of all groups."""
    rng = np.random.default_rng(n)
    X, centres = rng.normal(size=(n, 3)), rng.normal(size=(5, 3))
    expected = euclidean_distances(X, centres).argmin(axis=1)
    halves, labels = np.square(centres).sum(axis=1) / 2, np.full(n, -1, np.int32)
    sums, counts = np.zeros((5, 3)), np.zeros(5, np.int64)
    products = (centres @ X.T).astype(np.float32)
    for changed in (n, 0):
        assert _kmeans._assign(X, products, centres, halves, (1e-5, 1e-9), labels, sums, counts) == changed
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_array_equal(counts, np.bincount(expected, minlength=5))
        np.testing.assert_allclose(sums, np.eye(5)[expected].T @ X, atol=1e-12)
    before, used = centres.copy(), counts > 0
    moved = _kmeans._follow(centres, sums, np.where(np.arange(5) == 2, 0, counts))
    used[2] = False
    means = sums[used] / counts[used, None]
    np.testing.assert_allclose(centres[used], means)
    np.testing.assert_array_equal(centres[2], before[2])
    assert moved == pytest.approx(np.square(means - before[used]).sum())


def test_seeds_are_the_better_of_two_candidates_and_distances_follow():
    """By hand: running sums of squared distances decide which row a chance draws."""
    X = np.array([[0.0], [1.0], [4.0], [9.0]])
    # From row 0 the squares are 0, 1, 16, 81, with the sums 0, 1, 17, 98. A chance of 0.1 draws row 2, 0.2 row 3.
    # With row 2 as a seed 0 + 1 + 0 + 25 is left, with row 3 it is 0 + 1 + 16 + 0.
    for second, expected in (([0.1, 0.2], 3), ([0.2, 0.1], 3), ([0.1, 0.1], 2), ([0.005, 0.1], 2)):
        chances = np.array([[0.0, 0.0], second])
        assert _kmeans._seeds(X, chances).tolist() == [0, expected]
    third = _kmeans._seeds(X, np.array([[0.0, 0.0], [0.2, 0.2], [0.05, 0.05]]))  # 0, 1, 16, 0: 0.05 of 17 is below 1
    assert third.tolist() == [0, 3, 1]
    assert len(_kmeans._seeds(X[[0, 0, 3]], np.full((3, 2), 0.5))) == 2
    assert _kmeans.TRIALS == 2
