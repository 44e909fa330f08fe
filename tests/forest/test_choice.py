"""Which labeling is taken: cut per bit against a loop over edges, what must not matter, and where every rule ends."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap.features._neighbours import NeighbourGraph, neighbour_graph
from widegap.forest import _choice
from widegap.forest._choice import Merits, are_plain, choose, conductances, cut_per_bit, evenness, may_be_moved

POOLS = ("gaps", "communities", "even", "moves")


def drawn_graph(seed, n=30, neighbors=5):
    """A graph of random rows, and random labels of three or four clusters, none of them empty."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return neighbour_graph(rng.normal(size=(n, 2)), neighbors), rng.permutation(labels).astype(np.int32), k


def edges(graph):
    """All directed edges with their weights, by the definition: scales are distances to the last neighbour."""
    nearest, distances = graph.nearest[:, : graph.linked], graph.distances[:, : graph.linked]
    for i, row in enumerate(nearest):
        for c, j in enumerate(row):
            yield i, int(j), math.exp(-(distances[i, c] ** 2) / (distances[i, -1] * distances[j, -1]))


def cut_per_bit_by_edges(graph, labels, k):
    """q by a loop over the edges: each counts for the clusters of both of its rows."""
    leaving, volume = [0.0] * k, [0.0] * k
    for i, j, weight in edges(graph):
        for row, other in ((i, j), (j, i)):
            volume[labels[row]] += weight
            leaving[labels[row]] += weight if labels[other] != labels[row] else 0.0
    shares = [sum(1 for label in labels if label == p) / len(labels) for p in range(k)]
    cut = sum(s * out / min(own, sum(volume) - own) for s, out, own in zip(shares, leaving, volume, strict=True))
    entropy = -sum(s * math.log(s) for s in shares) / math.log(k)
    return (cut + 0.03) / entropy


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_cut_per_bit_is_that_of_a_loop_over_edges(seed):
    graph, labels, k = drawn_graph(seed)
    assert cut_per_bit(graph, labels, k) == pytest.approx(cut_per_bit_by_edges(graph, labels, k), rel=1e-9)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_names_and_order_of_rows_do_not_matter(seed):
    graph, labels, k = drawn_graph(seed)
    rng = np.random.default_rng(seed)
    names, order = rng.permutation(k).astype(np.int32), rng.permutation(len(labels))
    other = NeighbourGraph(np.argsort(order)[graph.nearest[order]], graph.distances[order], graph.linked)
    assert cut_per_bit(other, names[labels[order]], k) == pytest.approx(cut_per_bit(graph, labels, k), rel=1e-9)


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-100, 1e-6, 0.3, 7.0, 1e100]))
@settings(max_examples=30, deadline=None)
def test_the_scale_of_weights_and_distances_does_not_matter(seed, scale):
    graph, labels, k = drawn_graph(seed)
    E = graph.weights_between(labels, k)
    np.testing.assert_allclose(conductances(scale * E), conductances(E), rtol=1e-9)
    farther = replace(graph, distances=1e3 * graph.distances)
    assert cut_per_bit(farther, labels, k) == pytest.approx(cut_per_bit(graph, labels, k), rel=1e-9)


def test_a_cut_along_a_gap_costs_the_offset_alone():
    X = np.concatenate([np.arange(10.0), 100 + np.arange(10.0)])[:, None]
    graph = neighbour_graph(X, 4)
    halves = (np.arange(20) >= 10).astype(np.int32)
    assert cut_per_bit(graph, halves, 2) == pytest.approx(_choice.OFFSET)
    across = (np.arange(20) % 2).astype(np.int32)
    assert cut_per_bit(graph, across, 2) > 0.3


def test_a_cut_that_tells_little_is_dear():
    """Three rows that no edge leaves, beside halves between which few edges run."""
    groups = [np.arange(20.0), 21.5 + np.arange(20.0), 500 + np.arange(4.0)]
    graph = neighbour_graph(np.concatenate(groups)[:, None], 3)
    corner = np.repeat([0, 0, 1], [20, 20, 4]).astype(np.int32)
    halves = np.repeat([0, 1, 1], [20, 20, 4]).astype(np.int32)
    assert graph.weights_between(corner, 2)[0, 1] == 0 < graph.weights_between(halves, 2)[0, 1]
    assert cut_per_bit(graph, halves, 2) < cut_per_bit(graph, corner, 2)


class TestEvenness:
    @pytest.mark.parametrize("k", [2, 3, 7])
    def test_equal_sizes_have_one(self, k):
        assert evenness(np.repeat(np.arange(k), 5).astype(np.int32), k) == pytest.approx(1)

    def test_one_cluster_has_one(self):
        assert evenness(np.zeros(9, np.int32), 1) == 1

    def test_all_rows_in_one_of_several_have_none(self):
        labels = np.zeros(9, np.int32)
        assert evenness(labels, 3) == 0
        graph = neighbour_graph(np.arange(9.0)[:, None], 2)
        assert cut_per_bit(graph, labels, 3) == pytest.approx(_choice.OFFSET / _choice.LEAST_EVENNESS)

    def test_a_known_value(self):
        labels = np.repeat([0, 1], [3, 1]).astype(np.int32)  # 3/4 and 1/4: 0.811278 bits
        assert evenness(labels, 2) == pytest.approx(0.8112781244591328)

    @given(sizes=st.lists(st.integers(1, 30), min_size=2, max_size=6))
    def test_moving_a_row_from_a_larger_cluster_to_a_smaller_one_raises_it(self, sizes):
        largest, smallest = int(np.argmax(sizes)), int(np.argmin(sizes))
        moved = list(sizes)
        moved[largest] -= 1
        moved[smallest] += 1
        before, after = (evenness(np.repeat(np.arange(len(s)), s).astype(np.int32), len(s)) for s in (sizes, moved))
        assert 0 < before <= 1 + 1e-12
        assert after > before or sizes[largest] - sizes[smallest] <= 1


def merits(q=1.0, h=1.0, r2=0.5):
    return Merits(cut_per_bit=q, evenness=h, explained=r2)


JUST = 1e-9


class TestFirst:
    def test_it_stays_where_nothing_is_better(self):
        assert choose({"gaps": merits()}) == "gaps"
        for pool in POOLS[1:]:
            assert choose({"gaps": merits(), pool: merits()}) == "gaps"

    def test_communities_need_any_smaller_cut(self):
        assert choose({"gaps": merits(), "communities": merits(1 - JUST)}) == "communities"
        assert choose({"gaps": merits(), "communities": merits(1 + JUST, r2=0.9)}) == "gaps"
        # nothing else counts: neither sizes nor what the classifier explains
        assert choose({"gaps": merits(), "communities": merits(1 - JUST, 0.01, 0.0)}) == "communities"

    def test_one_cluster_is_that_of_the_first(self):
        graph = neighbour_graph(np.arange(9.0)[:, None], 2)
        labels = np.zeros(9, np.int32)
        only = Merits(cut_per_bit(graph, labels, 1), evenness(labels, 1), 0.0)
        assert only == Merits(_choice.OFFSET, 1.0, 0.0)
        assert not may_be_moved({"gaps": only}, 1)
        assert choose(dict.fromkeys(POOLS, only)) == "gaps"


class TestRivals:
    """Labelings that cut less: under a cap on inequality, or by single moves."""

    @pytest.mark.parametrize(("rival", "border"), [("even", _choice.EVEN_FACTOR), ("moves", 1.0)])
    def test_they_need_a_smaller_cut(self, rival, border):
        assert choose({"gaps": merits(), rival: merits(border - JUST)}) == rival
        assert choose({"gaps": merits(), rival: merits(border)}) == "gaps"
        assert choose({"gaps": merits(2.0), rival: merits(2 * border - JUST)}) == rival

    @pytest.mark.parametrize(
        ("rival", "most"), [("even", _choice.MOST_UNEXPLAINED), ("moves", _choice.MOVES_UNEXPLAINED)]
    )
    def test_they_must_not_be_explained_much_worse(self, rival, most):
        far = merits(1.0, h=0.1, r2=0.8)
        assert choose({"gaps": far, rival: merits(0.1, r2=0.8 - most + JUST)}) == rival
        assert choose({"gaps": far, rival: merits(0.1, r2=0.8 - most - JUST)}) == "gaps"
        assert choose({"gaps": far, rival: merits(0.1, r2=0.95)}) == rival

    @pytest.mark.parametrize("rival", ["even", "moves"])
    def test_they_must_be_as_even(self, rival):
        assert choose({"gaps": merits(h=0.6), rival: merits(0.1, h=0.6)}) == rival
        assert choose({"gaps": merits(h=0.6), rival: merits(0.1, h=0.6 - JUST)}) == "gaps"

    def test_they_are_compared_with_the_communities_that_were_taken(self):
        three = {"gaps": merits(1.0), "communities": merits(0.8), "even": merits(0.75)}
        assert choose(three) == "communities"  # 0.75 is below 0.9, but not below 0.9 times 0.8
        assert choose({**three, "even": merits(0.7)}) == "even"
        assert choose({**three, "communities": merits(1.1)}) == "even"

    def test_of_two_the_smaller_cut_counts(self):
        uneven = merits(1.0, h=0.1)
        assert choose({"gaps": uneven, "even": merits(0.5), "moves": merits(0.4, r2=0.49)}) == "moves"
        assert choose({"gaps": uneven, "even": merits(0.4), "moves": merits(0.5, r2=0.49)}) == "even"

    def test_moves_need_not_wait_for_even_sizes(self):
        """As of digits 1 and 8, where the cut under a cap is sometimes just not small enough."""
        found = {"gaps": merits(0.0907, 0.2, 0.958), "even": merits(0.083, 0.99, 0.916)}
        assert choose(found) == "gaps"
        assert choose({**found, "moves": merits(0.0785, 0.99, 0.926)}) == "moves"


class TestMovesInstead:
    """Single moves replace what was taken if the classifier explains them better."""

    def test_they_need_a_better_explanation(self):
        assert choose({"gaps": merits(), "moves": merits(r2=0.5 + JUST)}) == "moves"
        assert choose({"gaps": merits(), "moves": merits(1.0, r2=0.5)}) == "gaps"

    def test_they_must_not_cut_much_more(self):
        border = _choice.MOVES_FACTOR
        assert choose({"gaps": merits(), "moves": merits(border - JUST, r2=0.9)}) == "moves"
        assert choose({"gaps": merits(), "moves": merits(border, r2=0.9)}) == "gaps"

    def test_a_cut_along_a_gap_stays(self):
        """As of two spirals: hardly an edge is cut, and no classifier explains them."""
        along = merits(_choice.OFFSET + 0.001, 1.0, 0.6)
        most = _choice.OFFSET + 0.001 * _choice.MOST_TIMES_CUT
        assert choose({"gaps": along, "moves": merits(most + 1e-6, 1.0, 0.9)}) == "gaps"
        assert choose({"gaps": along, "moves": merits(most - 1e-6, 1.0, 0.9)}) == "moves"

    def test_what_they_replace_has_similar_sizes(self):
        border, moved = _choice.MOVES_EVENNESS, merits(h=0.1, r2=0.9)
        assert choose({"gaps": merits(h=border), "moves": moved}) == "moves"
        assert choose({"gaps": merits(h=border - JUST), "moves": moved}) == "gaps"

    def test_they_are_compared_with_what_was_taken_before(self):
        all_of_them = {"gaps": merits(1.0, 0.1), "even": merits(0.5, r2=0.45), "moves": merits(0.57, r2=0.46)}
        assert choose(all_of_them) == "moves"
        assert choose({**all_of_them, "moves": merits(0.58, r2=0.46)}) == "even"
        assert choose({**all_of_them, "moves": merits(0.57, r2=0.44)}) == "even"

    def test_they_are_looked_for_where_clusters_are_few_and_one_labeling_is_even(self):
        border, most = _choice.MOVES_EVENNESS, _choice.MOVES_CLUSTERS
        even, uneven = merits(h=border), merits(h=border - JUST)
        assert [may_be_moved({"gaps": even}, k) for k in (1, 2, most, most + 1)] == [False, True, True, False]
        assert may_be_moved({"gaps": uneven, "even": even}, 2)
        assert not may_be_moved({"gaps": uneven, "even": uneven}, 2)


@given(values=st.lists(st.tuples(*[st.floats(0.01, 1)] * 3), min_size=4, max_size=4))
def test_the_order_in_which_others_are_listed_does_not_matter(values):
    found = {name: Merits(*value) for name, value in zip(POOLS, values, strict=True)}
    orders = itertools.permutations(POOLS[1:])
    assert len({choose({name: found[name] for name in ("gaps", *order)}) for order in orders}) == 1


@pytest.mark.parametrize(
    ("agreement", "q", "plain"),
    [(0.97, 0.85 - JUST, True), (0.97 - JUST, 0.1, False), (0.97, 0.85, False), (1.0, 0.1, True)],
)
def test_gaps_are_plain_if_members_agree_and_cut_much_less_than_latent_classes(agreement, q, plain):
    assert are_plain(merits(q), agreement, merits(1.0)) == plain
    assert are_plain(merits(2 * q), agreement, merits(2.0)) == plain


def test_conductances_by_hand():
    E = np.array([[6.0, 1, 0], [1, 2, 1], [0, 1, 8]])  # volumes 7, 4 and 9
    np.testing.assert_allclose(conductances(E), [1 / 7, 2 / 4, 1 / 9])
    np.testing.assert_allclose(conductances(np.array([[9.0, 1], [1, 1]])), [1 / 2, 1 / 2])  # of what has fewer
    np.testing.assert_array_equal(conductances(np.array([[9.0, 0], [0, 0]])), [0, 0])


def test_the_cut_without_the_offset():
    assert merits(0.5, 0.6).cut == pytest.approx(0.5 - 0.03 / 0.6)
    assert merits(5.0, 0.001).cut == pytest.approx(5 - 0.03 / 0.01)


def test_a_candidate_of_an_old_file_has_no_columns():
    assert _choice.Candidate(2, "gaps", 0.1, 0.5, 1.0, True).explained_columns is None


def test_rules_at_the_very_border():
    """More digits than the merits of a fit have, so that each comparison is known."""
    first = merits(1.0, 0.9, 0.5)
    assert choose({"gaps": first, "even": merits(0.9, 0.9, 0.5)}) == "gaps"
    assert choose({"gaps": merits(1.0, 0.1, 0.5), "even": merits(0.5, 0.1, 0.5 - 0.25)}) == "gaps"
    assert choose({"gaps": first, "communities": merits(1.0, 1.0, 0.9)}) == "gaps"
    even = merits(_choice.OFFSET + 0.01, 1.0, 0.5)  # two and a half times its cut is still allowed
    assert choose({"gaps": even, "moves": merits(1.15 * even.cut_per_bit - JUST, 1.0, 0.6)}) == "moves"
