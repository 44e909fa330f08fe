"""How many rows of a table are searched: a function of its shape, bounded, and growing with it."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from widegap import MaxMarginClustering
from widegap.forest import _search_space
from widegap.forest._search_space import LEAST_SAMPLE, SEARCH_ROWS, SPARSE_ROWS, VALUES_A_ROW, n_searched

ROWS, COLUMNS, CLUSTERS = st.integers(2, 10**9), st.integers(1, 10**5), st.integers(1, 500)


@given(n=ROWS, d=COLUMNS, k=CLUSTERS, sparse=st.booleans())
def test_it_is_bounded(n, d, k, sparse):
    found = n_searched((n, d), k, sparse=sparse)
    most = min(SEARCH_ROWS, SPARSE_ROWS) if sparse else SEARCH_ROWS
    assert min(n, LEAST_SAMPLE) <= found <= max(most, 2 * k)
    assert found >= 2 * k
    assert found == n_searched((n, d), k, sparse=sparse)


@given(n=ROWS, d=COLUMNS, k=CLUSTERS)
def test_up_to_the_bound_all_rows_are_searched(n, d, k):
    assert n_searched((min(n, SEARCH_ROWS), d), k, sparse=False) >= min(n, SEARCH_ROWS)


@given(n=st.integers(SEARCH_ROWS + 1, 10**9), d=COLUMNS, more=st.integers(0, 10**8), wider=st.integers(0, 10**4))
def test_samples_grow_with_the_table(n, d, more, wider):
    found = n_searched((n, d), 2, sparse=False)
    assert found == min(SEARCH_ROWS, max(LEAST_SAMPLE, n * d // VALUES_A_ROW))
    assert n_searched((n + more, d), 2, sparse=False) >= found
    assert n_searched((n, d + wider), 2, sparse=False) >= found


def test_nothing_else_counts():
    assert list(inspect.signature(n_searched).parameters) == ["shape", "n_clusters", "sparse"]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((70_000, 784), 100_000),
        ((100_000, 2), 100_000),
        ((100_001, 2), 10_000),
        ((10**6, 20), 10_000),
        ((10**6, 100), 50_000),
        ((10**7, 50), 100_000),
    ],
)
def test_known_values(shape, expected):
    assert n_searched(shape, 10, sparse=False) == expected
    assert n_searched(shape, 10, sparse=True) == 10_000


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array])
@pytest.mark.parametrize("seed", [0, 1])
def test_fits_search_as_many_rows(form, seed, monkeypatch):
    monkeypatch.setattr(_search_space, "SEARCH_ROWS", 300)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 3)) + 9 * rng.integers(0, 2, (500, 1))
    for rows in (200, 300, 301, 500):
        model = MaxMarginClustering(2, random_state=seed, standardize=False).fit(form(X[:rows]))
        assert len(model._kept.part.searched) == min(rows, 300)
        assert model.labels_.shape == (rows,)


def test_a_sample_has_two_rows_a_cluster(monkeypatch):
    monkeypatch.setattr(_search_space, "SEARCH_ROWS", 20)
    X = np.random.default_rng(0).normal(size=(200, 2)) + 30 * (np.arange(200) % 30)[:, None]
    model = MaxMarginClustering(30, random_state=0).fit(X)
    assert len(model._kept.part.searched) == 60 and len(np.unique(model.labels_)) == 30
