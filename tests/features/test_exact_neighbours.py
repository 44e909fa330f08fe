"""The loops that searches for neighbours share, against sorting: ties, own rows, blocks, and bounds of rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from widegap.features import _exact_neighbours
from widegap.features._exact_neighbours import (
    is_blurred,
    measure_nearest,
    merge_nearest,
    nearest_rows,
    nearest_sparse_rows,
    select_nearest,
)
from widegap.features._neighbours import NeighbourGraph, distance_to_nearest, neighbour_graph
from widegap.features._rounding import LAST_BITS


def sorted_by_all_pairs(X, count):
    """The nearest other rows, the lowest numbers first where distances are equal, and the distances."""
    D = cdist(X.astype(np.float64), X.astype(np.float64))
    np.fill_diagonal(D, np.inf)
    nearest = np.argsort(D, axis=1, kind="stable")[:, :count]
    return nearest, np.take_along_axis(D, nearest, axis=1)


@pytest.mark.parametrize("held", [1, 60, 1 << 22])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_block_of_rows_finds_what_sorting_finds(held, dtype, monkeypatch):
    monkeypatch.setattr(_exact_neighbours, "DISTANCES_HELD", held)
    rng = np.random.default_rng(0)
    for n, d, count in ((2, 1, 1), (6, 2, 5), (23, 3, 4), (23, 3, 17), (23, 3, 18), (23, 3, 22)):
        X = rng.integers(0, 4, (n, d)).astype(dtype)
        nearest, distances = sorted_by_all_pairs(X, count)
        for found in (nearest_rows(X, count, 1), nearest_sparse_rows(sp.csr_array(X), count, 1)):
            assert_array_equal(found[0], nearest)
            assert_allclose(found[1], distances, rtol=1e-12)


def test_a_row_alone_has_neighbours_infinitely_far_away():
    nearest, distances = nearest_rows(np.ones((1, 3)), 2, 1)
    assert_array_equal(nearest, [[0, 0]])
    assert_array_equal(distances, [[np.inf, np.inf]])


def test_rounding_of_single_precision_decides_beyond_a_thousandth():
    eps = float(np.finfo(np.float32).eps)
    # eps (4 + sqrt(d)) (2 length + last)^2 against last^2 / 1000, with d = 9 and last = 1
    edge = (np.sqrt(1e-3 / (7 * eps)) - 1) / 2
    assert_array_equal(is_blurred(edge * np.array([0.999, 1.001]), np.ones(2), 9), [False, True])
    assert_array_equal(is_blurred(7 * edge * np.array([0.999, 1.001]), np.full(2, 7.0), 9), [False, True])
    assert_array_equal(is_blurred(np.array([0.0, 1.0]), np.zeros(2), 9), [False, True])
    assert_allclose(_exact_neighbours._rounding(np.array([3.0]), np.array([2.0]), 4), eps * 6 * 64)


@pytest.mark.parametrize("n", [5, 127, 128, 300, 1000])
def test_selected_rows_are_those_of_the_smallest_sums(n):
    rng = np.random.default_rng(n)
    for count in (1, 4, min(n - 1, 70)):
        sums, own = rng.permutation(7 * n).reshape(7, n).astype(np.float32), np.array([0, n - 1, -1, 2, 3, -1, 4])
        expected = sums.copy()
        expected[own >= 0, own[own >= 0]] = np.inf
        order = np.argsort(expected, axis=1)[:, :count]
        nearest = np.zeros((7, count), np.int64)
        last = select_nearest(sums, own, nearest)
        assert_array_equal(nearest, order)
        assert_array_equal(last, np.take_along_axis(expected, order, axis=1)[:, -1])


def test_more_than_count_values_are_below_a_bound():
    rng = np.random.default_rng(0)
    for count, n in ((3, 127), (3, 128), (3, 1000), (40, 159), (40, 160), (40, 700)):
        values = rng.normal(size=(9, n)).astype(np.float32)
        bounds = _exact_neighbours._bounds(values, count)
        assert np.isinf(bounds).all() == (n < 2 * max(64, 2 * count))
        assert ((values < bounds[:, None]).sum(axis=1) > count).all()
        ties = _exact_neighbours._bounds(np.zeros((2, n), np.float32), count)
        assert (ties > 0).all()
    overflown = np.full((2, 400), np.nan)
    overflown[1] = 1
    found = _exact_neighbours._bounds(overflown, 3)
    assert np.isinf(found[0]) and found[1] == np.nextafter(1, 2)


def test_columns_are_merged_into_the_smallest_so_far():
    best, nearest = np.array([[1.0, 5.0, np.inf], [2.0, 4.0, 9.0]]), np.array([[10, 11, -1], [12, 13, 14]])
    products = np.array([[0.0, 3.0, 5.0, -0.5]])
    merge_nearest(products, np.array([2.0]), np.array([1.0, 0.0, 0.0, 0.0]), np.array([20, 21, 22, 13]),
                  np.array([1]), np.array([0, 21]), best, nearest)  # fmt: skip
    # Of row 1, whose own number is 21: 3 as number 20, 7 as 22 and 1.5 as 13.
    assert_array_equal(best, [[1, 5, np.inf], [1.5, 2, 3]])
    assert_array_equal(nearest, [[10, 11, -1], [13, 12, 20]])


def test_distances_are_measured_and_sorted_with_lower_numbers_first():
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0], [-1.0, 0.0], [5.0, 0.0]], np.float32)
    nearest = np.array([[1, 4, 3, 2]])
    assert_array_equal(measure_nearest(X, np.array([0]), X, nearest), [[1, 1, 5, 5]])
    assert_array_equal(nearest, [[2, 3, 1, 4]])


def test_rows_are_as_near_up_to_the_last_bits():
    near = _exact_neighbours._is_nearer
    tie, beyond = 1.0 + LAST_BITS / 2, 1.0 + 3 * LAST_BITS
    assert near(1.0, 5, beyond, 1) and not near(beyond, 1, 1.0, 5)
    assert near(1.0, 1, tie, 5) and near(tie, 1, 1.0, 5) and near(1.0, 1, 1.0, 5)
    assert not near(1.0, 5, tie, 1) and not near(tie, 5, 1.0, 1) and not near(1.0, 5, 1.0, 5)


@pytest.mark.parametrize(("n", "count"), [(2, 1), (4, 1), (5, 1), (9, 1), (10, 2), (14, 2), (15, 3), (60, 7), (90, 7)])
def test_of_few_rows_a_fifth_are_neighbours(n, count):
    X = np.random.default_rng(0).normal(size=(n, 2))
    assert neighbour_graph(X, 7).nearest.shape == (n, count)


def test_shares_ranks_parts_and_weights_of_a_graph_by_hand():
    # A path 0 - 1 - 2 - 3 - 4 and a pair 5 - 6; each row names two others.
    nearest = np.array([[1, 2], [0, 2], [1, 3], [2, 4], [3, 2], [6, 6], [5, 5]])
    distances = np.array([[1.0, 2.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    graph = NeighbourGraph(nearest[:5], distances[:5], linked=2)
    assert graph.reached == 0
    assert_allclose(graph.spacing, [0.8, 0.3, 0.3, 0.3, 0.8])
    assert_array_equal(graph.components(), np.zeros(5))
    parts = NeighbourGraph(np.array([[1], [0], [3], [2]]), np.array([[1.0], [1.0], [0.0], [0.0]]), linked=1)
    assert_array_equal(parts.components(), [0, 0, 1, 1])
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = np.exp(-1)
    expected[2, 3] = expected[3, 2] = 1  # equal rows
    assert_allclose(parts.weights.toarray(), expected)
    # All rows of a clique of four have three mutual neighbours, those of a clique of three have two.
    four = NeighbourGraph(np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]), np.ones((4, 3)))
    assert four.reached == 1
    three = NeighbourGraph(np.array([[1, 2], [0, 2], [0, 1]]), np.ones((3, 2)))
    assert three.reached == 0
    far = NeighbourGraph(np.zeros((12, 11), int), np.arange(12.0)[:, None] + np.arange(11.0)[::-1] * -1)
    ranks = np.argsort(np.argsort(far.distances[:, 9]))
    assert_allclose(far.spacing, (2 * ranks + 1) / 24)  # by the tenth of eleven


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_distance_to_the_last_of_the_nearest(form):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(30, 3)), rng.normal(size=(7, 3))
    expected = np.sort(cdist(Q, X), axis=1)
    for count in (1, 4):
        assert_allclose(distance_to_nearest(form(X), form(Q), count), expected[:, count - 1], rtol=1e-7)
