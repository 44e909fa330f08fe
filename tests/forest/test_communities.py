"""Communities: modularity by its definition, all partitions of few nodes, planted groups, and what must not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from widegap.features._neighbours import neighbour_graph
from widegap.forest._communities import COUNT_TOL, CommunitySearch, local_moves, symmetric_graph


def random_weights(seed, n=8, density=0.5):
    """Symmetric weights of a few nodes, dense, without loops."""
    rng = np.random.default_rng(seed)
    W = np.where(rng.random((n, n)) < density, rng.random((n, n)), 0.0)
    np.fill_diagonal(W, 0)
    return W + W.T


def planted_weights(sizes, rng, within=0.5, between=0.02):
    """Random edges, dense within the groups of these sizes and rare between them; and the group of every node."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(groups[:, None] == groups[None, :], within, between)
    W = np.triu(rng.random(chance.shape) < chance, 1) * rng.uniform(0.5, 1, chance.shape)
    return W + W.T, groups


def quality(S, labels, resolution=1.0):
    """Q by a loop over all pairs of nodes."""
    T, v = S.sum(), S.sum(axis=1)
    pairs = [(i, j) for i in range(len(S)) for j in range(len(S)) if labels[i] == labels[j]]
    return sum(S[i, j] / T - resolution * v[i] * v[j] / T**2 for i, j in pairs)


def partitions(n):
    """All partitions of n nodes, as labels in order of their first node."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*labels, c] for labels in found for c in range(max(labels) + 2)]
    return np.array(found)


def search(S):
    return CommunitySearch(sp.csr_array(S))


def same_groups(a, b):
    return adjusted_rand_score(a, b) == 1.0


def indicator_sums(S, labels):
    Y = np.eye(int(labels.max()) + 1)[labels]
    return Y.T @ S @ Y


def test_communities_of_few_nodes_are_nearly_the_best_of_all_partitions():
    shortfalls = []
    everything = partitions(8)
    together = (everything[:, :, None] == everything[:, None, :]).reshape(len(everything), -1)
    for seed in range(30):
        S = random_weights(seed, 8, 0.4)
        v, T = S.sum(axis=1), S.sum()
        best = (together @ (S / T - np.outer(v, v) / T**2).ravel()).max()
        found = max(quality(S, search(S).at(1.0, np.random.default_rng(start))) for start in range(3))
        assert found <= best + 1e-12
        shortfalls.append(best - found)
    assert np.mean(np.array(shortfalls) < 1e-12) >= 0.9  # 1.0 was measured
    assert max(shortfalls) < 0.02


@pytest.mark.parametrize("start", ["alone", "random", "one group"])
@given(seed=st.integers(0, 10_000), resolution=st.sampled_from([0.5, 1.0, 2.0, 5.0]))
@settings(max_examples=20, deadline=None)
def test_after_local_moves_no_single_move_raises_the_modularity(start, seed, resolution):
    S, rng = random_weights(seed, 10, 0.3), np.random.default_rng(seed)
    labels = {"alone": np.arange(10), "random": rng.integers(0, 4, 10), "one group": np.zeros(10)}[start].astype(
        np.int32
    )
    local_moves(search(S)._graph, labels, resolution, rng)
    reached = quality(S, labels, resolution)
    for i in range(len(S)):
        for other in {*labels.tolist(), next(iter(set(range(11)) - set(labels.tolist())))}:
            moved = labels.copy()
            moved[i] = other
            assert quality(S, moved, resolution) <= reached + 1e-9


@given(seed=st.integers(0, 10_000), resolution=st.sampled_from([0.5, 1.0, 2.0, 5.0]))
@settings(max_examples=25, deadline=None)
def test_no_two_communities_gain_by_joining(seed, resolution):
    S = random_weights(seed, 12, 0.3)
    labels = search(S).at(resolution, np.random.default_rng(seed))
    reached = quality(S, labels, resolution)
    for a in range(labels.max() + 1):
        for b in range(a):
            assert quality(S, np.where(labels == a, b, labels), resolution) <= reached + 1e-9


@given(seed=st.integers(0, 10_000), resolution=st.sampled_from([0.5, 1.0, 3.0]))
@settings(max_examples=40, deadline=None)
def test_gains_are_differences_of_modularity(seed, resolution):
    S, rng = random_weights(seed, 12), np.random.default_rng(seed)
    labels = rng.integers(0, 4, len(S)).astype(np.int32)
    before = quality(S, labels, resolution)
    gained = local_moves(search(S)._graph, labels, resolution, rng)
    assert gained >= 0
    assert quality(S, labels, resolution) - before == pytest.approx(2 * gained / S.sum(), abs=1e-10)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_the_graph_of_communities_has_the_modularity_of_their_rows(seed):
    S, rng = random_weights(seed, 12), np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, 5, len(S)), return_inverse=True)[1].astype(np.int32)
    graph = search(S)._graph.between(labels)
    E = sp.csr_array((graph.values, graph.columns, graph.ends)).toarray()
    np.testing.assert_allclose(E, indicator_sums(S, labels), atol=1e-12)
    np.testing.assert_allclose(graph.volumes, E.sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_planted_groups_are_found(seed):
    rng = np.random.default_rng(seed)
    S, groups = planted_weights([30, 40, 50, 60, 70], rng)
    labels = search(S).find(5, rng)
    assert same_groups(labels, groups)
    assert np.bincount(labels).tolist() == [70, 60, 50, 40, 30]
    assert labels.dtype == np.int32


def test_equal_groups_are_numbered_by_their_first_row():
    rng = np.random.default_rng(0)
    S, groups = planted_weights([20] * 4, rng, 0.9, 0.0)
    np.testing.assert_array_equal(search(S).find(4, rng), groups)
    backwards = search(S[::-1, ::-1]).find(4, rng)
    np.testing.assert_array_equal(backwards, groups)


@given(seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_order_of_rows_and_scale_of_weights_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    S, _ = planted_weights([25, 30, 35, 40], rng)
    labels = search(S).find(4, np.random.default_rng(seed))
    order = rng.permutation(len(S))
    assert same_groups(search(S[np.ix_(order, order)]).find(4, np.random.default_rng(seed)), labels[order])
    for scale in (1e-200, 1e-7, 3.0, 1e100):
        np.testing.assert_array_equal(search(scale * S).find(4, np.random.default_rng(seed)), labels)


@pytest.fixture(scope="module")
def digits_graph():
    X, y = load_digits(return_X_y=True)
    return neighbour_graph(X, 30), y


def test_the_number_of_groups_is_near_the_wanted_one(digits_graph):
    graph, _ = digits_graph
    found, rng = CommunitySearch(symmetric_graph(graph.weights)), np.random.default_rng(0)
    for wanted in (5, 10, 60, 120, 200, 30):
        labels = found.find(wanted, rng)
        assert abs(np.log((labels.max() + 1) / wanted)) <= COUNT_TOL


def test_groups_of_digits_are_pure(digits_graph):
    graph, y = digits_graph
    labels = CommunitySearch(symmetric_graph(graph.weights)).find(60, np.random.default_rng(0))
    majorities = [np.bincount(y[labels == group]).max() for group in range(labels.max() + 1)]
    assert sum(majorities) / len(y) > 0.95


def test_a_seed_decides_the_groups(digits_graph):
    graph, _ = digits_graph
    S = symmetric_graph(graph.weights)
    first, again, other = (CommunitySearch(S).find(60, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not same_groups(first, other)


def test_symmetric_graph_sums_both_directions_and_drops_empty_weights():
    W = sp.csr_array((np.array([1.0, 0.0, 2.0]), np.array([1, 2, 0]), np.array([0, 1, 2, 3])), shape=(3, 3))
    S = symmetric_graph(W)
    np.testing.assert_array_equal(S.toarray(), [[0, 1, 2], [1, 0, 0], [2, 0, 0]])
    assert S.nnz == 4
    assert S.dtype == np.float64


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_graph_without_edges_has_groups_of_one_row(n):
    for wanted in (1, 3, 20):
        assert len(np.unique(search(np.zeros((n, n))).find(wanted, np.random.default_rng(0)))) == n


def test_as_many_groups_as_rows_are_the_rows():
    S = random_weights(0)
    for wanted in (8, 9):
        np.testing.assert_array_equal(search(S).find(wanted, np.random.default_rng(0)), np.arange(8))


def test_equal_weights_between_all_rows_end_with_labels():
    labels = search(np.ones((30, 30)) - np.eye(30)).find(5, np.random.default_rng(0))
    assert labels.shape == (30,)
    assert labels.max() + 1 == len(np.unique(labels))


def test_rows_without_edges_leave_the_groups_to_the_rest():
    rng = np.random.default_rng(0)
    S, groups = planted_weights([40] * 10, rng)
    apart = np.zeros((600, 600))
    apart[:400, :400] = S
    labels = search(apart).find(10, rng)
    assert same_groups(labels[:400], groups)
    assert labels.max() + 1 == 10 + 200


def test_components_are_never_joined_and_large_ones_are_divided():
    rng = np.random.default_rng(1)
    first, groups = planted_weights([40] * 8, rng)
    S = np.zeros((400, 400))
    S[:320, :320] = first
    S[320:, 320:] = random_weights(2, 80)
    labels = search(S).find(9, rng)
    assert same_groups(labels[:320], groups)
    assert not set(labels[:320]) & set(labels[320:])


def test_hubs_neither_stop_the_search_nor_join_all_groups():
    rng = np.random.default_rng(0)
    S, groups = planted_weights([150] * 8, rng, 0.15, 0.001)
    hubs = np.arange(0, len(S), 150)
    S[hubs] += 0.05  # a weak edge to every row
    S[:, hubs] += 0.05
    np.fill_diagonal(S, 0)
    labels = search(S).find(8, rng)
    others = np.setdiff1d(np.arange(len(S)), hubs)
    assert adjusted_rand_score(labels[others], groups[others]) > 0.99
