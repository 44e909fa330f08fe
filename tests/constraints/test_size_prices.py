"""Labels by prices, where rows are elsewhere: as cheap as the exact solution, with the sizes that were asked for."""

import numpy as np
import pytest

from _shards import Shards
from widegap.constraints import _size_prices as _prices
from widegap.constraints._size_prices import assign_by_prices
from widegap.constraints._transport import assign
from widegap.exceptions import SolverError


def priced(costs, wanted, n_pieces=3):
    rows = Shards(costs.shape, n_pieces)
    found = assign_by_prices(rows, rows.cut(costs), wanted)
    return rows.collect(found.labels), found.prices, rows


@pytest.mark.parametrize("seed", range(12))
def test_as_cheap_as_the_exact_labels(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(20, 90)), int(rng.integers(2, 6))
    costs = rng.normal(size=(n, k)) + 3 * rng.random(k)
    wanted = rng.multinomial(n - k, np.ones(k) / k)
    labels, prices, rows = priced(costs, wanted, n_pieces=int(rng.integers(1, 5)))
    exact = assign(costs, wanted)
    assert labels.dtype == np.int32
    assert (np.bincount(labels, minlength=k) >= wanted).all()
    each = np.arange(n)
    assert costs[each, labels].sum() == pytest.approx(costs[each, exact.labels].sum(), abs=1e-7 * np.ptp(costs) * n)
    assert (prices >= 0).all()
    reduced = costs - prices
    assert (reduced[each, labels] - reduced.min(axis=1)).max() < 1e-8 * np.ptp(costs)  # the prices explain the labels
    assert rows.folds < 60


def test_the_range_is_that_of_all_shards():
    rows, costs = Shards((40, 2)), np.linspace(-3.0, 5.0, 80).reshape(40, 2)
    assert _prices._range(rows, rows.cut(costs)) == 8.0
    assert _prices._range(rows, rows.cut(costs + 7)) == 8.0


def test_clusters_that_are_wanted_little_pay_nothing():
    costs = np.random.default_rng(0).normal(size=(60, 3))
    labels, prices, rows = priced(costs, [1, 1, 1])
    np.testing.assert_array_equal(labels, costs.argmin(axis=1))
    np.testing.assert_array_equal(prices, 0)
    assert rows.folds == 5  # range, noise, sample, counts, labels: nothing was searched


def test_equal_rows_are_divided():
    labels, _, _ = priced(np.zeros((40, 2)) + [0.0, 1.0], [20, 20], n_pieces=1)
    np.testing.assert_array_equal(np.bincount(labels), [20, 20])


def test_prices_of_a_sample_are_mended_on_all_rows(monkeypatch):
    # A sample of every tenth row, which are unlike the others: its prices are wrong.
    monkeypatch.setattr(_prices, "PRICED_ROWS", 12)
    rng = np.random.default_rng(1)
    costs = rng.normal(size=(120, 3))
    costs[::10, 0] += 50
    wanted = np.array([60, 30, 20])
    labels, _, _ = priced(costs, wanted, n_pieces=1)
    assert (np.bincount(labels) >= wanted).all()
    exact, each = assign(costs, np.bincount(labels)), np.arange(120)  # the cheapest for the sizes they have
    assert costs[each, labels].sum() == pytest.approx(costs[each, exact.labels].sum(), abs=1e-6)


def test_equal_rows_of_several_shards_are_divided_too():
    labels, _, _ = priced(np.zeros((40, 2)) + [0.0, 1.0], [19, 21], n_pieces=4)
    np.testing.assert_array_equal(np.bincount(labels), [19, 21])


@pytest.mark.parametrize("seed", range(4))
def test_clusters_that_outbid_each_other_get_their_rows(seed, monkeypatch):
    monkeypatch.setattr(_prices, "PRICED_ROWS", 60)
    monkeypatch.setattr(_prices, "PRICE_ROUNDS", 8)
    scores = np.random.default_rng(seed).normal(size=(600, 5)) + 0.5 * np.arange(5)
    costs = np.maximum(0, 1 + scores.max(axis=1, keepdims=True) - scores)
    labels, _, _ = priced(costs, [120] * 5)
    np.testing.assert_array_equal(np.bincount(labels), [120] * 5)
    each, exact = np.arange(600), assign(costs, [120] * 5)
    assert costs[each, labels].sum() == pytest.approx(costs[each, exact.labels].sum(), rel=0.01)


def test_sizes_that_are_not_met_are_an_error(monkeypatch):
    monkeypatch.setattr(_prices, "PRICED_ROWS", 12)
    monkeypatch.setattr(_prices, "PRICE_ROUNDS", 0)
    costs = np.random.default_rng(1).normal(size=(120, 3))
    costs[::10, 0] -= 50  # the sample has enough rows of cluster 0, all rows have not
    with pytest.raises(SolverError, match=r"Cluster 0 got \d+ rows in 0 rounds of prices, but must have 90, which"):
        priced(costs, [90, 10, 10], n_pieces=1)


def test_large_clusters_may_lack_one_in_a_thousand_but_none_is_empty():
    rng = np.random.default_rng(2)
    costs = rng.random((4000, 2)) + [0.0, 2.0]
    labels, _, _ = priced(costs, [0, 2000])
    assert abs(int((labels == 1).sum()) - 2000) <= 2
    labels, _, _ = priced(costs, [0, 1])
    assert (labels == 1).sum() == 1


def test_costs_that_are_all_equal():
    labels, prices, _ = priced(np.zeros((9, 3)), [3, 3, 3])
    np.testing.assert_array_equal(np.bincount(labels), [3, 3, 3])
    assert np.isfinite(prices).all()
