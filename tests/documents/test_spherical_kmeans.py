"""Spherical k-means: every run ends where labels and centres agree, however many share a product."""

import numpy as np
import pytest
import scipy.sparse as sp

from widegap.documents import _spherical_kmeans as _sphere
from widegap.documents._spherical_kmeans import of_length_one, spherical_runs
from widegap.rows.loops._entry_tables import LINE_BYTES, grouped


def rows_on_the_sphere(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    return of_length_one(np.abs(rng.normal(size=(n, d))) + 2 * np.eye(d)[np.arange(n) % k])


@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_labels_are_the_nearest_centres_of_their_own_clusters(as_rows, k):
    X = rows_on_the_sphere(300, 8, 5)
    runs = list(spherical_runs(as_rows(X), k, 7, np.random.default_rng(0)))
    assert len(runs) == 7
    for total, labels in runs:
        centres = of_length_one(np.stack([X[labels == p].sum(axis=0) for p in range(k)]))
        cosines = X @ centres.T
        np.testing.assert_array_equal(labels, cosines.argmax(axis=1))
        assert total == pytest.approx(cosines.max(axis=1).sum())


def test_runs_find_clear_clusters_whether_they_share_products_or_not(monkeypatch):
    X = rows_on_the_sphere(200, 10, 4, seed=1)
    together = list(spherical_runs(X, 4, 6, np.random.default_rng(0)))
    monkeypatch.setattr(_sphere, "CENTRES_AT_ONCE", 8)
    apart = list(spherical_runs(X, 4, 6, np.random.default_rng(0)))
    assert len(together) == len(apart) == 6
    assert max(total for total, _ in together) == pytest.approx(max(total for total, _ in apart))


def test_seeds_are_different_rows():
    X = np.repeat(np.eye(4), 25, axis=0)
    for seeds in _sphere._seeds(X, 4, 9, np.random.default_rng(0)):
        assert sorted(seeds // 25) == [0, 1, 2, 3]


def test_an_empty_cluster_has_no_direction():
    np.testing.assert_array_equal(of_length_one(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "k, groups",
    [
        (1, [[0]]),
        (3, [[0, 1, 1, 2]]),
        (5, [[0, 1, 2, 3, 1, 2, 3, 4]]),
        (8, [range(8)]),
        (10, [range(8), [8, 9]]),
        (19, [range(8), range(8, 16), [16, 17, 17, 18]]),
    ],
)
def test_weights_are_stored_in_groups_from_a_cache_line_on(k, groups, dtype):
    W = np.arange(k * 5.0).reshape(k, 5)
    table = grouped(W, np.dtype(dtype))
    assert table.dtype == dtype
    assert table.ctypes.data % LINE_BYTES == 0
    np.testing.assert_array_equal(table, np.concatenate([W[list(group)].T.ravel() for group in groups]))
