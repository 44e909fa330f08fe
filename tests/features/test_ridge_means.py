"""Whitened means in the columns of sparse rows, against the same with dense matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.preprocessing import normalize

from widegap.features import _ridge_means
from widegap.features._ridge_means import conjugate_gradients, fit_ridge_means, held_out_scores

seeds = st.integers(0, 10**6)


@pytest.fixture(autouse=True)
def to_rounding(monkeypatch):
    monkeypatch.setattr(_ridge_means, "RESIDUAL", 1e-11)


def words(seed, n=40, d=60, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = normalize(rng.poisson(0.3, (n, d)).astype(dtype))
    return sp.csr_array(X), rng.integers(0, 3, n).astype(np.int32)


def by_definition(X, labels, k, ridge):
    """Scores of the rows by the scatter matrix of the columns."""
    A = X.toarray() - X.toarray().mean(axis=0)
    M = np.array([A[labels == p].mean(axis=0) if (labels == p).any() else 0 * A[0] for p in range(k)])
    W = np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), M.T).T
    return A @ W.T - (W * M).sum(axis=1) / 2


@given(seeds, st.sampled_from([5, 30, 80]), st.sampled_from([0.1, 1.5, 30.0]), st.sampled_from([3, 5]))
@settings(max_examples=30, deadline=None)
def test_scores_are_those_of_the_definition(seed, d, ridge, k):
    X, labels = words(seed, d=d)  # with k = 5 two clusters are empty
    assert_allclose(fit_ridge_means(X, labels, k, ridge).of(X), by_definition(X, labels, k, ridge), atol=1e-7)


@given(seeds, st.integers(1, 12), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_conjugate_gradients_solve_what_a_dense_solver_does(seed, n, k):
    rng = np.random.default_rng(seed)
    F, B = rng.normal(size=(n, n)), rng.normal(size=(n, k))
    B[:, 0] *= rng.integers(0, 2)  # a right side may be zero
    A = F @ F.T + np.eye(n)
    assert_allclose(conjugate_gradients(lambda V: A @ V, B), np.linalg.solve(A, B), atol=1e-6)


def test_order_names_copies_and_precision_do_not_matter():
    X, labels = words(0)
    scores = fit_ridge_means(X, labels, 3, 1.5).of(X)
    order, names = np.random.default_rng(1).permutation(40), np.array([2, 0, 1], np.int32)
    assert_allclose(fit_ridge_means(X[order], labels[order], 3, 1.5).of(X), scores, atol=1e-8)
    assert_allclose(fit_ridge_means(X, names[labels], 3, 1.5).of(X)[:, names], scores, atol=1e-8)
    twice = fit_ridge_means(sp.csr_array(sp.vstack([X, X])), np.tile(labels, 2), 3, 3.0)
    assert_allclose(2 * twice.of(X), scores, atol=1e-8)  # twice the scatter and the ridge
    single = fit_ridge_means(X.astype(np.float32), labels, 3, 1.5)
    assert_allclose(single.of(X.astype(np.float32)), scores, atol=1e-5)


def test_held_out_scores_are_those_of_the_other_half():
    X, labels = words(2)
    held_out = held_out_scores(X, labels, 3, 1.5, seed=0)
    first = np.random.default_rng(0).permutation(40) % 2 == 0
    for half in (first, ~first):
        A = X.toarray()[half]
        mean = A.mean(axis=0)
        M = np.array([A[labels[half] == p].mean(axis=0) - mean for p in range(3)])
        W = np.linalg.solve((A - mean).T @ (A - mean) + 0.75 * np.eye(60), M.T).T
        expected = ((X.toarray()[~half] - mean) @ W.T - (W * M).sum(axis=1) / 2) / 2
        assert_allclose(held_out[~half], expected, atol=1e-7)


def test_held_out_scores_do_not_know_labels_by_heart():
    X, labels = words(3, n=200, d=400)  # labels without any reason
    by_heart = (fit_ridge_means(X, labels, 3, 1.5).of(X).argmax(axis=1) == labels).mean()
    held_out = (held_out_scores(X, labels, 3, 1.5, seed=0).argmax(axis=1) == labels).mean()
    assert by_heart > 0.95 and held_out < 0.45


def test_columns_without_an_entry_cost_nothing():
    X, labels = words(4)
    wide = sp.csr_array((X.data, X.indices * 50_000, X.indptr), shape=(40, 60 * 50_000))
    found = fit_ridge_means(wide, labels, 3, 1.5)
    assert found.directions.shape == (3, 60 * 50_000) and found.directions.nnz <= 3 * 60
    assert_allclose(found.of(wide), fit_ridge_means(X, labels, 3, 1.5).of(X), atol=1e-8)
