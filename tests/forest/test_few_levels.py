"""Columns of few levels are spread without gaps, and nothing else changes."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from widegap import MaxMarginClustering
from widegap.forest._few_levels import FEW_LEVELS, spread_few_levels, spread_levels

RNG = np.random.default_rng
columns = st.lists(st.integers(-3, 3), min_size=5, max_size=80).filter(lambda values: len(set(values)) > 1)


@given(columns, st.integers(0, 99))
def test_mean_deviation_and_order_stay(values, seed):
    values = np.array(values, float)
    spread = spread_levels(values, RNG(seed))
    np.testing.assert_allclose([spread.mean(), spread.std()], [values.mean(), values.std()], atol=1e-9)
    for low, high in zip(np.unique(values)[:-1], np.unique(values)[1:], strict=True):
        assert spread[values == low].max() < spread[values == high].min()


def test_levels_take_their_share_of_the_ranks():
    """By hand: one row in four is 0, so zeros fill the lowest quarter of the range, and ones the rest."""
    values = np.repeat([0.0, 1.0], [2500, 7500])
    spread = spread_levels(values, RNG(0))
    u = (spread - spread.min()) / np.ptp(spread)
    assert u[:2500].max() == pytest.approx(0.25, abs=0.01)
    assert np.diff(np.sort(u)).max() < 0.002  # no gap, where there was one of the whole range


def test_only_columns_of_few_levels_change():
    rng = RNG(0)
    X = np.column_stack([rng.standard_normal(200), rng.integers(0, 3, 200), np.ones(200), rng.integers(0, 40, 200)])
    before, spread = X.copy(), spread_few_levels(X, RNG(1))
    assert (X == before).all()
    assert (spread[:, [0, 2, 3]] == X[:, [0, 2, 3]]).all()
    assert len(np.unique(spread[:, 1])) == 200
    assert (spread == spread_few_levels(X, RNG(1))).all()
    assert spread_few_levels(X.astype(np.float32), RNG(1)).dtype == np.float32


@pytest.mark.parametrize("levels", [2, FEW_LEVELS, FEW_LEVELS + 1])
def test_how_many_levels_are_few(levels):
    X = np.column_stack([RNG(0).standard_normal(300), np.arange(300) % levels])
    assert (spread_few_levels(X, RNG(1))[:, 1] != X[:, 1]).any() == (levels <= FEW_LEVELS)


def test_a_late_level_counts():
    """A column that looks constant in its first rows."""
    flags = np.r_[np.zeros(250), np.ones(50)]
    X = np.column_stack([RNG(0).standard_normal(300), flags])
    assert len(np.unique(spread_few_levels(X, RNG(1))[:, 1])) == 300


def test_discrete_and_sparse_tables_stay():
    discrete = RNG(0).integers(0, 4, (200, 5)).astype(float)
    assert spread_few_levels(discrete, RNG(1)) is discrete
    words = sp.csr_array(np.column_stack([RNG(0).standard_normal(200), discrete]))
    assert spread_few_levels(words, RNG(1)) is words


@pytest.mark.parametrize("seed", range(3))
def test_flags_that_go_with_nothing_make_no_clusters(seed):
    """50 such tables: no false alarm, and 50 without spreading."""
    rng = RNG(seed)
    flags = rng.integers(0, 2, (400, 2)) * 2.0
    X = np.column_stack([rng.standard_normal((400, 3)), flags])
    assert MaxMarginClustering("auto", random_state=0).fit(X).n_clusters_ == 1
