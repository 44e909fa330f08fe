"""Neighbours found by blocks, against scikit-learn's, in every representation and where float32 fails."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from widegap.features import _exact_neighbours
from widegap.features._neighbours import neighbour_graph


def exact(X, count):
    """Distances and numbers of the nearest other rows, in float64."""
    return NearestNeighbors(n_neighbors=count, algorithm="brute").fit(np.asarray(X, np.float64)).kneighbors()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), [(50, 1), (300, 2), (300, 40)])
def test_neighbours_are_the_nearest_rows(n, d, dtype):
    X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
    graph = neighbour_graph(X, 10)
    distances, nearest = exact(X, 10)
    assert_allclose(graph.distances, distances, rtol=1e-5)
    assert (graph.nearest == nearest).mean() > 0.999  # neighbours as near as rounding may change places


def test_blocks_and_threads_change_nothing(monkeypatch):
    X = np.random.default_rng(1).normal(size=(200, 5))
    whole = neighbour_graph(X, 8)
    monkeypatch.setattr(_exact_neighbours, "DISTANCES_HELD", 200 * 7)
    for n_threads in (1, 3):
        parts = neighbour_graph(X, 8, n_threads)
        assert_array_equal(parts.nearest, whole.nearest)
        assert_array_equal(parts.distances, whole.distances)


def test_close_rows_far_from_the_others():
    """Two tight bunches a million times as far apart as they are wide: float32 products know nothing of them."""
    rng = np.random.default_rng(2)
    X = np.repeat([0.0, 1e6], 40)[:, None] + rng.normal(size=(80, 3))
    distances, nearest = exact(X[:40], 6)
    graph = neighbour_graph(X, 6)
    assert_allclose(graph.distances[:40], distances, rtol=1e-6)
    assert_array_equal(graph.nearest[:40], nearest)
    assert (graph.nearest[40:] >= 40).all()


def test_equal_rows_are_at_distance_0_and_no_row_is_its_own_neighbour():
    X = np.repeat(np.random.default_rng(3).normal(size=(10, 4)), 6, axis=0)
    graph = neighbour_graph(X, 5)
    assert (graph.distances == 0).all()
    assert (graph.nearest // 6 == np.arange(60)[:, None] // 6).all()
    assert (graph.nearest != np.arange(60)[:, None]).all()


def test_sparse_rows_have_the_same_neighbours():
    X = np.random.default_rng(4).normal(size=(80, 6)) * (np.random.default_rng(5).random((80, 6)) < 0.5)
    dense, sparse = neighbour_graph(X, 5), neighbour_graph(sp.csr_array(X), 5)
    assert_allclose(sparse.distances, dense.distances, atol=1e-6)


def test_mutual_neighbours_averages_and_weights_are_their_definitions():
    rng = np.random.default_rng(0)
    X, P = rng.normal(size=(80, 3)), rng.normal(size=(80, 7))
    graph, labels = neighbour_graph(X, 12), rng.integers(0, 5, 80)
    near = np.zeros((80, 80), bool)
    np.put_along_axis(near, graph.nearest, True, axis=1)
    A = (near & near.T) | np.eye(80, dtype=bool)
    np.testing.assert_allclose(graph.average.toarray(), A / A.sum(axis=1, keepdims=True), rtol=1e-6)
    R = A / A.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(graph.smooth(P, 3), R @ R @ R @ P, atol=1e-9)
    W, Y = graph.weights.toarray(), np.eye(5)[labels]
    out, into = graph.weights_to(labels, 5)
    np.testing.assert_allclose(out, (W @ Y).T)
    np.testing.assert_allclose(into, Y.T @ W)
    np.testing.assert_allclose(graph.weights_between(labels, 5), Y.T @ (W + W.T) @ Y)


def ranked(X, count):
    """The nearest other rows of small integers, the lowest numbers first where distances are equal."""
    squares = np.square(X[:, None] - X[None]).sum(axis=2)
    np.fill_diagonal(squares, squares.max() + 1)
    return np.argsort(squares, axis=1, kind="stable")[:, :count]


@pytest.mark.parametrize("high", [1, 2, 16])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_of_equally_near_rows_the_first_are_neighbours(high, container):
    """Whatever order libraries add in: here that of the columns."""
    rng = np.random.default_rng(6)
    X = rng.integers(0, high + 1, (150, 20)).astype(float)
    for order in (np.arange(20), rng.permutation(20)):
        for shift in (0.0, 1 / 3) if container is np.asarray else (0.0,):
            graph = neighbour_graph(container(X[:, order] + shift), 12)
            assert_array_equal(graph.nearest, ranked(X, 12))
