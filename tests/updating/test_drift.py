"""Drift: p-values of rows from one source are even, and those of others small."""

import numpy as np
import pytest

from widegap.updating._changes import Compared
from widegap.updating._drift import find_drift


def drift(rows, labels, n_new, weights=None, seed=0):
    is_new = np.arange(len(rows)) < n_new
    weights = np.ones(len(rows)) if weights is None else weights
    names = [f"c{j}" for j in range(rows.shape[1])]
    found = Compared(rows, rows[:, :3], labels.astype(np.int32), is_new, weights, names)
    return find_drift(found, np.random.default_rng(seed))


def drawn(seed, shares=(0.5, 0.3, 0.2), n=400):
    rng = np.random.default_rng(seed)
    labels = rng.choice(len(shares), n, p=shares)
    return rng.normal(size=(n, 5)) + 4 * labels[:, None], labels


def test_p_values_of_one_source_are_even():
    found = [drift(*drawn(seed), 150, seed=seed).p_value for seed in range(120)]
    assert 0.42 < np.mean(found) < 0.58
    assert np.mean(np.array(found) <= 0.05) <= 0.1
    assert np.mean(np.array(found) <= 0.5) >= 0.35


def test_thinned_rows_are_even_where_a_small_cluster_is_remembered_more_often():
    found = []
    for seed in range(60):
        rows, labels = drawn(seed, (0.9, 0.1), 1200)
        new, old = np.arange(300), np.arange(300, 1200)
        large = old[labels[old] == 0]
        kept = np.concatenate([new, large[: len(large) // 3], old[labels[old] == 1]])
        weights = np.where((np.arange(len(kept)) >= 300) & (labels[kept] == 0), 3.0, 1.0)
        found.append(drift(rows[kept], labels[kept], 300, weights, seed).p_value)
    assert np.mean(np.array(found) <= 0.05) <= 0.12


def test_another_share_of_a_cluster_is_drift():
    old, new = drawn(0, (0.5, 0.3, 0.2)), drawn(1, (0.6, 0.3, 0.1))
    result = drift(np.vstack([new[0], old[0]]), np.concatenate([new[1], old[1]]), 400)
    assert result.p_value < 0.01


def test_another_mean_of_a_column_is_drift_and_the_column_is_named():
    rows, labels = drawn(3)
    rows[:150, 4] += 1.5
    result = drift(rows, labels, 150)
    assert result.p_value < 0.01
    assert result.columns[0].column == "c4"
    assert result.columns[0].p_value < 0.05
    assert result.columns[0].after - result.columns[0].before > 1


def test_a_cluster_that_moves_alone_is_drift():
    rows, labels = drawn(4)
    moved = (np.arange(400) < 200) & (labels == 2)
    rows[moved, 0] += 1.5
    assert drift(rows, labels, 200).p_value < 0.01


def test_few_rows_say_nothing():
    rows, labels = drawn(0, n=20)
    assert drift(rows, labels, 5).p_value == 1.0


def test_constant_columns_are_no_drift():
    rows, labels = drawn(0)
    rows[:, 1] = 7.0
    assert np.isfinite([column.p_value for column in drift(rows, labels, 100).columns]).all()


def by_loops(rows, coordinates, labels, is_new, seed):
    """The p-value and those of the columns, from means of every permutation."""
    rng = np.random.default_rng(seed)
    old, new = np.flatnonzero(~is_new & (labels >= 0)), np.flatnonzero(is_new & (labels >= 0))
    rng.random(len(old)), rng.random(len(new))  # by which light rows are left out
    order, first = np.concatenate([old, new]), len(old)
    X, inside, labels = rows[order], coordinates[order, :5].copy(), labels[order]
    shares, centres = [], []
    for p in np.unique(labels):
        own = labels == p
        shares.append(own / own.std())
        for axis in (inside - inside[own].mean(axis=0)).T:
            centres.append(own * axis / (own * axis).std())
    tables = np.column_stack(shares), np.column_stack(centres), X / X.std(axis=0)
    statistics = []
    for deal in range(400):
        called = np.arange(len(order)) >= first
        if deal:
            called = np.isin(np.arange(len(order)), rng.choice(len(order), len(new), replace=False))
        statistics.append([np.square(table[called].mean(axis=0) - table[~called].mean(axis=0)) for table in tables])
    values = np.array([[found[0].sum(), found[1].sum(), found[2].max()] for found in statistics])
    ranks = (values[:, None] <= values[None] + 1e-9).sum(axis=1).min(axis=1)
    most = np.array([found[2].max() for found in statistics])
    return np.mean(ranks <= ranks[0]), np.mean(most[:, None] >= statistics[0][2] - 1e-12, axis=0), statistics[0][2]


@pytest.mark.parametrize("seed", range(4))
def test_p_values_by_loops(seed):
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(70, 7)), rng.integers(-1, 3, 70).astype(np.int32)
    rows[:30, 2] += 0.4
    is_new = np.arange(70) < 30
    coordinates = rows @ rng.normal(size=(7, 7))
    found = Compared(rows, coordinates, labels, is_new, np.ones(70), [f"c{j}" for j in range(7)])
    result = find_drift(found, np.random.default_rng(seed))
    p_value, of_columns, differences = by_loops(rows, coordinates, labels, is_new, seed)
    assert result.p_value == pytest.approx(p_value, abs=0.0101)  # shares tie, and rounding parts some ties
    assert 400 * result.p_value == pytest.approx(round(400 * result.p_value), abs=1e-9)
    order = np.argsort(-differences)[:5]
    assert [column.column for column in result.columns] == [f"c{j}" for j in order]
    np.testing.assert_allclose([column.p_value for column in result.columns], of_columns[order], atol=1e-12)
    kinds = ~is_new & (labels >= 0), is_new & (labels >= 0)
    for values, kind in zip(("before", "after"), kinds, strict=True):
        np.testing.assert_allclose([getattr(c, values) for c in result.columns], rows[kind].mean(axis=0)[order])


@pytest.mark.parametrize(("n_new", "n_old", "says"), [(10, 10, True), (9, 30, False), (30, 9, False)])
def test_ten_rows_of_either_kind_are_compared(n_new, n_old, says):
    rows = np.random.default_rng(0).normal(size=(n_new + n_old, 2))
    rows[:n_new] += 9
    labels = np.zeros(n_new + n_old)
    result = drift(rows, labels, n_new)
    assert (result.p_value < 0.01) == says and (len(result.columns) == 2) == says
    labels[0] = -1  # an outlier counts for nothing
    assert drift(rows, labels, n_new).columns == () or n_new > 10


def test_of_very_many_rows_some_are_dealt(monkeypatch):
    rows, labels = drawn(0)
    before = drift(rows, labels, 200).columns
    monkeypatch.setattr("widegap.updating._drift.MOST_DEALT", 199)
    assert drift(rows, labels, 200).columns != before
    monkeypatch.setattr("widegap.updating._drift.MOST_DEALT", 200)
    assert drift(rows, labels, 200).columns == before


def test_of_either_kind_five_thousand_rows_are_dealt(monkeypatch):
    dealt = []
    monkeypatch.setattr("widegap.updating._drift._differences", lambda old, new, rng: dealt.append((old, new)) or 1 / 0)
    for n_new, n_old in ((5001, 5002), (5000, 4999)):
        with pytest.raises(ZeroDivisionError):
            drift(np.zeros((n_new + n_old, 1)), np.zeros(n_new + n_old), n_new)
    assert dealt == [(5000, 5000), (4999, 5000)]
