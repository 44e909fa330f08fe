"""Where M2DCU, MKC and the choice of a start draw their lines, from both sides."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from widegap.constraints._side_information import RowConstraints
from widegap.cutting_plane._cpm3c import CPM3C
from widegap.cutting_plane._cutting_plane_clusterer import CuttingPlaneClusterer, _described
from widegap.cutting_plane._m2dcu import M2DCU
from widegap.cutting_plane._mkc import MKC, check_kernels, largest_lead, warn_of_collapse, warn_of_one_direction
from widegap.cutting_plane._norms import KernelNorm
from widegap.cutting_plane._reduced_sample import ReducedSample, is_wide
from widegap.cutting_plane._universum_loss import (
    UniversumLoss,
    UniversumReport,
    UniversumRows,
    check_nearness,
    universum_margins,
)
from widegap.exceptions import InactiveUniversumWarning, InvalidDataError, KernelWarning
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks


def messages(call, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments)
    return [(entry.category, str(entry.message)) for entry in caught]


@pytest.mark.parametrize(
    ("weights", "ranks", "told"),
    [
        ([0.9, 0.1], [1.0, 5.0], True),
        ([0.9, 0.1], [1.0, 2.0], True),
        ([0.9, 0.1], [1.0, 1.99], False),
        ([0.1, 0.9], [1.0, 5.0], False),
        ([0.9, 0.1], [3.0, 5.0], False),
        ([0.9], [1.0], False),
        ([0.8, 0.1, 0.1], [1.0, 1.0, 4.0], True),
    ],
)
def test_a_heavy_kernel_of_one_direction_is_told(weights, ranks, told):
    names = ["first", "second", "third"][: len(weights)]
    found = messages(warn_of_one_direction, names, np.array(weights), np.array(ranks))
    assert [kind for kind, _ in found] == [KernelWarning] * told
    if told:
        assert found[0][1].startswith(f"Kernel 'first' has the largest weight, {weights[0]:.2f}")


def test_a_collapse_is_told():
    ((kind, text),) = messages(warn_of_collapse, 0.99876, 0.003)
    assert kind is KernelWarning and text.startswith("The objective of 0.9988 is no better, within tol=0.003")


def kernel(name, share=0.0, map="map"):
    return SimpleNamespace(name=name, negative_share=share, map=map)


def test_indefinite_and_constant_kernels_are_told():
    stack = SimpleNamespace(active=["a"], kernels=[kernel("a"), kernel("b", 1e-9), kernel("c", map=None)])
    found = messages(check_kernels, stack, 10, 2)
    assert [kind for kind, _ in found] == [KernelWarning] * 2
    assert found[0][1].startswith("Kernel 'b' is not positive") and found[1][1].startswith("Kernel 'c' is constant")
    constant = SimpleNamespace(active=[], kernels=[kernel("c", map=None)])
    with pytest.raises(InvalidDataError, match="All 1 kernels are constant on the 10 rows"):
        check_kernels(constant, 10, 2)
    assert len(messages(check_kernels, constant, 10, 1)) == 1


@pytest.mark.parametrize(
    ("loss", "k", "balance", "objective", "collapsed"),
    [
        ("max", 3, 0.0, 0.9, True),
        ("max", 3, 0.0, 0.8999, False),
        ("max", 3, 0.25, 0.675, True),
        ("max", 3, 0.25, 0.6749, False),
        ("sum", 4, 0.0, 0.675, True),
        ("sum", 4, 0.0, 0.6749, False),
        ("max", 3, 1.5, 0.0, True),
        ("max", 2, 1.0, 1e-9, True),
    ],
)
def test_when_a_result_is_no_better_than_nothing(loss, k, balance, objective, collapsed):
    model = MKC(k, loss=loss, balance=balance, tol=0.1)
    result = SimpleNamespace(point=SimpleNamespace(objective=objective))
    assert model._collapsed(result) is collapsed


def test_the_largest_lead_by_hand():
    X = np.array([[0.0, 0], [4, 0], [2, 6], [2, -6]])
    rows = CentredRows(row_blocks(X))
    assert largest_lead(rows, 0.25) == pytest.approx(1 + 2 * (36 / 0.25) ** 0.5 / rows.scale)
    assert rows.scale == pytest.approx((80 / 4) ** 0.5)


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


@pytest.mark.parametrize(("k", "order"), [(2, "cuts_first"), (3, "linearize_first"), (1, "linearize_first")])
def test_the_plan_of_several_kernels(k, order):
    plan = MKC(k)._plan()
    assert (plan.order, plan.kmeans_runs, plan.kmeans_starts, plan.random_starts) == (order, 20, 20, 0)


@pytest.mark.parametrize(("tolerance", "kept"), [(0.5, 0.5), (1e-5, 1e-5), (0.9e-5, 0.0), (0.0, 0.0)])
def test_a_tiny_tolerance_is_none(tolerance, kept):
    assert UniversumLoss(None, tolerance=tolerance, cap=1.0).tolerance == kept


def test_margins_of_the_universum():
    found = universum_margins(np.array([[3.0, 1.0, 2.0], [0.0, 0.0, 0.0], [-1.0, 5.0, -4.0]]))
    np.testing.assert_allclose(found, [1.5, 0.0, 7.5])
    np.testing.assert_allclose(universum_margins(np.array([[3.0, 1.0]])), [2.0])


@pytest.mark.parametrize(("distance", "refused"), [(999.0, False), (1001.0, True)])
def test_a_universum_a_thousand_times_as_far_is_refused(distance, refused):
    frame = CentredRows(row_blocks(np.array([[3.0, 4.0], [-3.0, -4.0]])))
    assert frame.scale == 5
    universum = row_blocks(np.array([[distance * 5, 0.0]]))
    if not refused:
        check_nearness(universum, frame)
        return
    with pytest.raises(InvalidDataError, match=r"lies 1.0e\+03 times as far .* at most 1e\+03 times"):
        check_nearness(universum, frame)


@pytest.mark.parametrize(("n", "whole"), [(5000, True), (5001, False)])
def test_starts_see_five_thousand_rows_of_the_universum(n, whole):
    rows = UniversumRows(row_blocks(np.arange(2.0 * n).reshape(n, 2)), "auto", 0.5, np.random.default_rng(0))
    assert rows.whole is whole
    frame = CentredRows(row_blocks(np.array([[3.0, 4.0], [-3.0, -4.0]])))
    (sample,), (every,) = rows.on_sample(frame, 2.0), rows.on_all(frame, 2.0)
    assert sample.rows.shape == (5000, 2) and every.rows.shape == (n, 2)
    assert sample.cap == every.cap == 0.3 and sample.tolerance == 0.5
    given = UniversumRows(row_blocks(np.ones((3, 2))), 4.0, 0.5, np.random.default_rng(0))
    assert given.on_all(frame, 2.0)[0].cap == pytest.approx(4 * 2 * 25)
    assert UniversumRows(row_blocks(np.ones((3, 2))), 0, 0.5, np.random.default_rng(0)).on_all(frame, 2.0) == ()


@pytest.mark.parametrize(
    ("active", "C", "told"), [(False, "auto", True), (False, 2.0, True), (True, "auto", False), (False, 0, False)]
)
def test_a_universum_without_effect_is_told(active, C, told):
    model = M2DCU(2, C_universum=C)
    model.C_ = 10.0
    found = messages(model._store_report, UniversumReport(active, 7, 1, 2, 0.25, 0.5))
    assert [kind for kind, _ in found] == [InactiveUniversumWarning] * told
    assert model.C_universum_ == pytest.approx(3.0 if C == "auto" else C)
    assert model.universum_report_.n_rows == 7
    model._store_report(None)
    assert model.universum_report_ is None
    if told:
        assert "all its 7 rows have margins within margin_tolerance=0.5, on average 0.25; lower" in found[0][1]


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
