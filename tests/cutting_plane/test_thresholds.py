"""Where M2DCU, MKC and the choice of a start draw their lines, from both sides."""

from types import SimpleNamespace

import numpy as np
import pytest

from widegap.constraints._side_information import RowConstraints
from widegap.cutting_plane._cpm3c import CPM3C
from widegap.cutting_plane._cutting_plane_clusterer import CuttingPlaneClusterer, _described
from widegap.cutting_plane._mkc import MKC
from widegap.cutting_plane._norms import KernelNorm
from widegap.cutting_plane._reduced_sample import ReducedSample, is_wide
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks


@pytest.mark.parametrize("p", [1.5, 2.0, 7.0])
def test_the_norm_of_kernels_and_its_weights(p):
    norm = KernelNorm((2, 1, 3), p)
    W = np.random.default_rng(0).normal(size=(3, 6))
    lengths = np.array([np.linalg.norm(W[:, :2]), np.linalg.norm(W[:, 2]), np.linalg.norm(W[:, 3:])])
    np.testing.assert_allclose(norm.lengths(W), lengths)
    power = 2 * p / (p + 1)
    assert norm.value(W) == pytest.approx((lengths**power).sum() ** (2 / power))
    weights = norm.weights(W)
    assert (weights**p).sum() == pytest.approx(1) and (lengths**2 / weights).sum() == pytest.approx(norm.value(W))
    assert norm.value(0 * W) == 0
    np.testing.assert_allclose(norm.weights(0 * W), [3 ** (-1 / p)] * 3)
    assert norm.blocks(6) == (2, 1, 3)


@pytest.mark.parametrize(
    ("shape", "whole", "wide"),
    [((501, 501), False, True), ((500, 501), False, False), ((501, 500), False, False), ((501, 501), True, False)],
)
def test_starts_are_tried_in_few_dimensions_where_rows_are_wide(shape, whole, wide):
    assert is_wide(SimpleNamespace(whole=whole, X=np.empty(shape))) is wide


@pytest.mark.parametrize(("k", "rank"), [(2, 30), (4, 40)])
def test_few_dimensions_are_twenty_and_five_a_cluster(k, rank):
    X = np.random.default_rng(0).normal(size=(70, 60))
    sample = SimpleNamespace(X=X, rows=CentredRows(row_blocks(X)))
    found = ReducedSample.of(sample, k, np.random.default_rng(0))
    assert found.X.shape == (70, rank) and found.V.shape == (rank, 60)
    assert found.stretch == pytest.approx(sample.rows.scale / CentredRows(row_blocks(found.X)).scale)


@pytest.mark.parametrize(("C", "beta"), [(4.0, 0.01), (0.5, 0.08)])
def test_the_weight_of_the_regulariser_by_the_scale(C, beta):
    rows = CentredRows(row_blocks(np.array([[3.0, 4.0], [-3.0, -4.0]])))
    assert CPM3C(2, C=C)._beta(rows, None) == pytest.approx(beta)


def test_auto_C_goes_by_the_direction_before_the_number_of_clusters():
    X = np.zeros((400, 5))
    X[np.arange(400), np.arange(400) % 4] = (
        np.where(np.arange(400) % 8 < 4, 1, -1) * np.array([8.0, 4, 2, 1])[np.arange(400) % 4]
    )
    rows = CentredRows(row_blocks(X))
    sample = SimpleNamespace(X=X, rows=rows)
    for k, variance, rho in ((2, 16.0, 0.3), (3, 4.0, 0.3), (5, 0.25, 0.2), (6, 0.25, 0.2)):
        assert CPM3C(k)._beta(rows, sample) == pytest.approx(rho * variance / rows.scale**2, rel=1e-6)


def test_a_user_s_least_size_makes_no_result_a_last_resort():
    result, problem = SimpleNamespace(point=None), SimpleNamespace(starved=lambda point: True)
    assert CPM3C(2)._degenerate(result, problem) is True
    assert CPM3C(2, size_min=3)._degenerate(result, problem) is False
    model = MKC(2, size_min=3)
    for objective, degenerate in ((0.5, False), (1.0, True)):
        assert model._degenerate(SimpleNamespace(point=SimpleNamespace(objective=objective)), problem) is degenerate


@pytest.mark.parametrize(("n_init", "expected"), [("auto", (10, 4, 0)), (6, (6, 6, 0)), (1, (1, 1, 0))])
def test_the_number_of_starts(monkeypatch, n_init, expected):
    seen = []

    def starts(init, sample, k, n_runs, keep, n_random, rng):
        seen.append((n_runs, keep, n_random))
        return [np.zeros(4, np.int32)]

    monkeypatch.setattr("widegap.cutting_plane._cutting_plane_clusterer.sample_starts", starts)
    CuttingPlaneClusterer._starts(CPM3C(3, n_init=n_init), None, RowConstraints(), None)
    assert seen == [expected]


def test_settings_in_words():
    assert _described([1, 2.5]) == _described(np.array([1, 2.5])) != _described([1, 2.6])
    assert _described(["a", ("rbf", {"gamma": 1})]) == "['a', ['rbf', {'gamma': 1}]]"
    assert _described(np.mean) == "mean" and _described(3) == "3" and _described(None) == "None"
