"""Drift: p-values of rows from one source are even, and those of others small."""

import numpy as np

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
