"""Seeds that spread over neighbours and sets: columns are independent of each other."""

import numpy as np
import pytest
import scipy.sparse as sp

from widegap.features._label_spreading import ALPHA, SETS, SPREAD_STEPS, Spread
from widegap.rows.loops._vectors import products_in_order


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    dense = rng.random((60, 60)) * (rng.random((60, 60)) < 0.1)
    return dense, [(rng.integers(0, 4, 60), 2), (rng.integers(0, 15, 60), 1)]


def test_the_formula_by_dense_matrices(parts):
    W, sets = parts
    both = W + W.T
    S = both / np.sqrt(np.outer(both.sum(axis=1), both.sum(axis=1)))
    BB = np.zeros((60, 60))
    for labels, times in sets:
        same = labels[:, None] == labels
        BB += times * same / same.sum(axis=1)
    BB /= sum(times for _, times in sets)
    Y = np.zeros((60, 3), np.float32)
    Y[[4, 9], [0, 2]] = 1  # the column between has no seeds
    F = Y.astype(np.float64)
    for _ in range(SPREAD_STEPS):
        F = ALPHA * ((1 - SETS) * (S @ F) + SETS * (BB @ F)) + (1 - ALPHA) * Y
    found = Spread.of(sp.csr_array(W), sets)(Y)
    np.testing.assert_allclose(found, F, rtol=1e-4, atol=1e-7)
    assert not found[:, 1].any() and found[:, 0].min() > 0


@pytest.mark.parametrize("columns", [1, 16, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_scipy_to_the_last_bit(dtype, columns):
    rng = np.random.default_rng(1)
    A = sp.random_array((30, 50), density=0.3, format="csr", rng=rng).astype(dtype)
    F = rng.normal(size=(50, columns)).astype(dtype)
    padded, out = np.zeros((50, 32), dtype), np.empty((30, 32), dtype)
    padded[:, :columns] = F
    products_in_order(A.data, A.indices, A.indptr, padded, out)
    np.testing.assert_array_equal(out[:, :columns], A @ F)
    assert not out[:, columns:].any()


def test_nothing_spreads_from_nothing(parts):
    W, sets = parts
    assert not Spread.of(sp.csr_array(W), sets)(np.zeros((60, 2), np.float32)).any()


def test_reach_and_spread_values_by_dense_matrices(parts):
    W, sets = parts
    spread = Spread.of(sp.csr_array(W), sets)
    step = ALPHA * ((1 - SETS) * spread.graph.toarray() + SETS * (spread.sets @ spread.sets.T).toarray())

    def spread_ten_times(Y):
        F = Y
        for _ in range(10):
            F = step @ F + (1 - ALPHA) * Y
        return F

    rows, values = np.array([4, 9, 33]), np.random.default_rng(0).normal(size=60)
    np.testing.assert_allclose(spread.spread_values(values), spread_ten_times(values), rtol=1e-4, atol=1e-6)
    F = spread_ten_times(np.eye(60)[:, rows]).T
    F /= np.sqrt(F[np.arange(3), rows])[:, None]
    found = spread.reach(rows)
    np.testing.assert_allclose(found, F / F.max(axis=0), rtol=1e-3, atol=1e-6)
    assert found.shape == (3, 60) and found.dtype == np.float32
    np.testing.assert_allclose(found.max(axis=0), 1, rtol=1e-6)
