"""The search for labels of units against trying every labeling, and its moves one at a time."""

from itertools import product

import numpy as np
import pytest

from widegap.constraints import _hard_units
from widegap.constraints._hard_units import HardUnits, _DepthFirst, _Steps, improve, search_labels


def problem(seed, coupled):
    rng = np.random.default_rng(seed)
    u, k = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    sizes = rng.integers(1, 4, u)
    pairs = np.array([(a, b) for a in range(u) for b in range(a + 1, u) if rng.random() < 0.25]).reshape(-1, 2)
    allowed = rng.random((u, k)) < 0.85
    allowed[~allowed.any(axis=1)] = True
    n = int(sizes.sum())
    lower = rng.integers(0, 3, k) if coupled else np.zeros(k, int)
    upper = np.maximum(lower, rng.integers(n // k, n + 1, k)) if coupled else np.full(k, n)
    return HardUnits.of(sizes, allowed, pairs, coupled=coupled), rng.normal(size=(u, k)), lower, upper


def best_labels(hard, c, lower, upper, pairs_of):
    """The cheapest labels of all units that keep every rule, by trying all of them."""
    best, cost = None, np.inf
    for labels in product(range(c.shape[1]), repeat=len(c)):
        labels = np.array(labels)
        counts = np.bincount(labels, hard.sizes, c.shape[1])
        keeps = hard.allowed[np.arange(len(c)), labels].all() and (counts >= lower).all() and (counts <= upper).all()
        keeps = keeps and all(labels[a] != labels[b] for a, others in hard.neighbours.items() for b in others)
        value = c[np.arange(len(c)), labels].sum()
        if keeps and value < cost:
            best, cost = labels, value
    return best, cost


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("coupled", [False, True])
def test_the_search_finds_the_best_labels_if_every_unit_is_hard(seed, coupled):
    hard, c, lower, upper = problem(seed, coupled)
    # So that no unit is easy: those that are, are made hard ones of a component of their own.
    easy = [[unit] for unit in range(len(c)) if unit not in hard.units]
    components = hard.components + easy
    components = [sum(components, [])] if coupled else components
    hard = HardUnits(hard.sizes, hard.allowed, hard.neighbours, np.arange(len(c)), components)
    found, proven = search_labels(hard, c, lower, upper)
    expected, cost = best_labels(hard, c, lower, upper, None)
    assert proven
    if expected is None:
        assert found is None
    else:
        assert c[np.arange(len(c)), found].sum() == pytest.approx(cost)
        np.testing.assert_array_equal(found, expected)


def test_units_that_are_apart_or_uneven_are_hard():
    sizes, allowed = np.array([1, 2, 1, 1, 3, 0]), np.ones((6, 2), bool)
    alone = HardUnits.of(sizes, allowed, np.array([[0, 2], [2, 3]]), coupled=False)
    assert alone.units.tolist() == [0, 2, 3] and alone.components == [[2, 0, 3]]
    assert alone.neighbours == {0: [2], 2: [0, 3], 3: [2]}
    coupled = HardUnits.of(sizes, allowed, np.array([[0, 2], [2, 3]]), coupled=True)
    assert coupled.units.tolist() == [0, 1, 2, 3, 4, 5] and coupled.components == [[4, 1, 2, 0, 3, 5]]
    two = HardUnits.of(np.array([1, 1, 2, 2]), np.ones((4, 2), bool), np.array([[0, 1], [2, 3]]), coupled=False)
    assert two.components == [[2, 3], [0, 1]]  # large units first


def test_a_search_gives_up_after_its_nodes(monkeypatch):
    hard = HardUnits.of(np.ones(8, int), np.ones((8, 3), bool), np.array([[i, i + 1] for i in range(7)]), coupled=False)
    c = np.random.default_rng(0).normal(size=(8, 3))
    lower, upper = np.zeros(3, int), np.full(3, 8)
    assert search_labels(hard, c, lower, upper)[1]
    monkeypatch.setattr(_hard_units, "NODES", 8)
    found, proven = search_labels(hard, c, lower, upper)
    assert found is not None and not proven  # eight steps down, and the first labels
    monkeypatch.setattr(_hard_units, "NODES", 7)
    assert search_labels(hard, c, lower, upper) == (None, False)


def test_after_the_first_labels_a_search_has_fewer_nodes(monkeypatch):
    hard = HardUnits.of(np.ones(8, int), np.ones((8, 3), bool), np.array([[i, i + 1] for i in range(7)]), coupled=False)
    c = np.random.default_rng(0).normal(size=(8, 3))
    lower, upper = np.zeros(3, int), np.full(3, 8)
    monkeypatch.setattr(_hard_units, "REFINEMENT", 0)
    first, proven = search_labels(hard, c, lower, upper)
    assert not proven
    taken = [int(np.argmin(c[hard.components[0][0]]))]
    for unit in hard.components[0][1:]:
        near = [
            taken[hard.components[0].index(other)]
            for other in hard.neighbours[unit]
            if other in hard.components[0][: len(taken)]
        ]
        taken.append(next(int(p) for p in np.argsort(c[unit]) if p not in near))
    assert first[hard.components[0]].tolist() == taken  # each the cheapest label that is left


def test_clusters_can_be_filled_up_to_the_last_row():
    hard = HardUnits.of(np.array([2, 1, 1]), np.ones((3, 2), bool), np.empty((0, 2), int), coupled=True)
    search = _DepthFirst(hard, np.zeros((3, 2)), hard.components[0], np.array([2, 1]), np.array([4, 4]), 2)
    assert search.rest == [4, 2] and search.sizes == [2]
    assert search._can_be_filled(0, 2, 1) and not search._can_be_filled(0, 2, 0)
    assert search._can_be_filled(1, 2, 2) and not search._can_be_filled(1, 2, 1)
    free = _DepthFirst(hard, np.zeros((3, 2)), hard.components[0], np.array([0, 0]), np.array([4, 4]), 2)
    assert free._can_be_filled(1, 2, 0)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("coupled", [False, True])
def test_moves_and_swaps_never_cost_and_end_where_none_helps(seed, coupled):
    hard, c, lower, upper = problem(seed, coupled)
    hard = HardUnits(hard.sizes, hard.allowed, hard.neighbours, np.arange(len(c)), hard.components)
    expected, _ = best_labels(hard, -c, lower, upper, None)  # the dearest
    if expected is None:
        return
    each = np.arange(len(c))
    found = improve(hard, c, expected, lower, upper)
    assert c[each, found].sum() <= c[each, expected].sum()

    def keeps(labels):
        counts = np.bincount(labels, hard.sizes, c.shape[1])
        return (
            hard.allowed[each, labels].all()
            and (counts >= lower).all()
            and (counts <= upper).all()
            and all(labels[a] != labels[b] for a, others in hard.neighbours.items() for b in others)
        )

    assert keeps(found)
    for unit, p in product(each, range(c.shape[1])):
        moved = found.copy()
        moved[unit] = p
        assert not keeps(moved) or c[each, moved].sum() >= c[each, found].sum() - 1e-9
    for u, v in product(each, each):
        swapped = found.copy()
        swapped[[u, v]] = found[[v, u]]
        blockers = sum(found[other] == found[v] for other in hard.neighbours.get(u, ()))
        if keeps(swapped) and blockers <= 1:
            assert c[each, swapped].sum() >= c[each, found].sum() - 1e-9
    steps = _Steps(hard, c, found, lower, upper)
    assert not any(steps.improve(unit) for unit in range(len(c)))
    assert steps.counts == np.bincount(found, hard.sizes, c.shape[1]).tolist()
