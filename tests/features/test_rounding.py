"""Grids, and signs of axes: what rounding may not change."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from widegap.features._rounding import GRID_BITS, on_grid, with_fixed_signs

TABLES = arrays(np.int64, (7, 3), elements=st.integers(-(10**9), 10**9)).map(lambda table: table / 1024)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(TABLES)
@example(np.array([[16777214, 3, 3]]) / 1024)  # the largest becomes a power of two
def test_values_become_the_nearest_multiples_of_a_power_of_two(dtype, X):
    found = on_grid(X, dtype)
    assert found.dtype == dtype
    bits = GRID_BITS[found.dtype.itemsize]
    step = 2.0 ** (np.frexp(np.abs(X).max() * (1 + 2.0**-bits))[1] - bits)
    assert_array_equal(found, np.round(X / step) * step)
    assert_array_equal(on_grid(found), found)


def test_values_that_differ_by_rounding_become_equal():
    X = np.random.default_rng(0).normal(size=(1000, 5))
    for dtype, error in ((np.float32, 1e-14), (np.float64, 1e-15)):
        same = on_grid(X, dtype) == on_grid(X * (1 + error), dtype)
        assert same.mean() > 0.998


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-310, 1e300, 1.7e308])
def test_values_of_any_size_stay_what_they_are(value):
    assert_allclose(on_grid(np.array([[value, 0.0]])), [[value, 0.0]], rtol=1e-11)
    assert on_grid(np.empty((0, 3))).shape == (0, 3)


@given(TABLES, arrays(np.bool_, 3))
def test_axes_do_not_depend_on_their_signs(X, turned):
    signs = np.where(turned, -1.0, 1.0)
    found = with_fixed_signs(X * signs)
    assert_array_equal(found, with_fixed_signs(X))
    assert_array_equal(np.abs(found), np.abs(X))


def test_of_large_entries_that_are_alike_the_first_is_positive():
    for error in (-1e-12, 0.0, 1e-12):
        axis = np.array([[0.1], [-0.7], [0.7 + error], [0.2]])
        assert with_fixed_signs(axis)[1, 0] > 0
