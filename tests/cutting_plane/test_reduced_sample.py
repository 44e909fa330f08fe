"""Starts of wide rows in few dimensions: the frame they are found in, and what a whole fit makes of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from widegap import CPM3C, MKC
from widegap.base._records import Point, SolverResult
from widegap.base._starts import Sample
from widegap.cutting_plane import _cutting_plane_clusterer as _cutting_plane_base
from widegap.cutting_plane._hinge import HingeLoss
from widegap.cutting_plane._reduced_sample import WIDE_COLUMNS, ReducedSample, is_wide
from widegap.features._spectrum import leading_variances, leading_vectors
from widegap.metrics import clustering_accuracy
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

both_forms = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def topics(n, d, k, seed=0):
    """Rows of counts in which every topic prefers words of its own, and the topics."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    rates = np.full((k, d), 0.01)
    for p in range(k):
        rates[p, p * 40 : (p + 1) * 40] = 0.2
    return rng.poisson(rates[y]).astype(float), y


def sample_of(X):
    return Sample(CentredRows(row_blocks(X)), 3, np.random.default_rng(0))


@both_forms
def test_leading_vectors_span_what_an_exact_decomposition_does(form):
    X, _ = topics(400, 300, 3)
    V = leading_vectors(form(X), 3, seed=0)
    assert_allclose(V @ V.T, np.eye(3), atol=1e-5)
    exact = np.linalg.svd(X, full_matrices=False)[2][:3]
    cosines = np.linalg.svd(exact @ V.T, compute_uv=False)
    assert cosines.min() > 0.98


def test_rare_columns_have_no_part_in_a_leading_direction():
    X, _ = topics(400, 300, 3)
    X[:, 250:] = 0
    X[:2, 250] = 9
    assert not leading_vectors(sp.csr_array(X), 3, seed=0)[:, 250:].any()


@both_forms
def test_lifted_weights_score_and_cost_the_same(form):
    sample = sample_of(form(topics(500, 300, 3)[0]))
    reduced = ReducedSample.of(sample, 3, np.random.default_rng(0))
    w, b = np.random.default_rng(1).normal(size=(3, reduced.X.shape[1])), np.array([0.1, -0.2, 0.1])
    point = Point(w, b, np.zeros(500, np.int32), 0.0)
    W = reduced.lifted(SolverResult(point, 0, True)).point.W
    assert_allclose(sample.rows.scores(W, b), reduced.rows.scores(w, b), atol=1e-6)
    assert np.vdot(W, W) == pytest.approx(reduced.stretch**2 * np.vdot(w, w), rel=1e-5)
    losses = [
        HingeLoss(rows, 3, loss="max").best_labels(v, b)[1].loss for rows, v in ((sample.rows, W), (reduced.rows, w))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


@pytest.mark.parametrize("offset", [0, 1000])
def test_variances_of_single_precision_rows_far_from_zero(offset):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(600, 450)) * np.linspace(3, 0.1, 450) + offset).astype(np.float32)
    expected = np.linalg.eigvalsh(np.cov(X.astype(np.float64), rowvar=False, bias=True))[::-1][:4]
    assert_allclose(leading_variances(X, X.mean(axis=0, dtype=np.float64), 4), expected, rtol=2e-3)


def test_only_a_sample_of_wide_rows_is_reduced(monkeypatch):
    monkeypatch.setattr("widegap.base._starts.START_SAMPLE", 1100)
    X = sp.random_array((1200, 1050), density=0.02, rng=np.random.default_rng(0), format="csr")
    assert is_wide(sample_of(X))
    assert not is_wide(sample_of(X[:1100]))
    assert is_wide(sample_of(X[:, : WIDE_COLUMNS + 1]))
    assert not is_wide(sample_of(X[:, :WIDE_COLUMNS]))


@both_forms
def test_fit_of_wide_rows_finds_the_topics(form, monkeypatch):
    """The objective is that of all rows and columns, and not above where a search on all columns ends."""
    monkeypatch.setattr("widegap.base._starts.START_SAMPLE", 1100)
    X, y = topics(1500, 1050, 3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = CPM3C(3, random_state=0).fit(form(X))
    assert clustering_accuracy(y, found.labels_) > 0.99
    assert found.converged_
    np.testing.assert_array_equal(found.predict(form(X)), found.labels_)
    monkeypatch.setattr(_cutting_plane_base, "is_wide", lambda sample: False)
    assert found.objective_ <= CPM3C(3, random_state=0).fit(form(X)).objective_ * (1 + 2 * found.tol)


def test_a_list_of_one_kernel_with_many_components_keeps_its_columns():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=5500)
    X = rng.normal(size=(5500, 10))
    X[np.arange(5500), y] += 8
    model = MKC(3, kernels=["rbf"], n_components=1100, max_iter=20, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) > 0.99
