"""Problem and convex solver: planes, label step, and the optimum for fixed labels against Clarabel."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _problems import (
    blobs,
    centre,
    clarabel_value,
    make_problem,
    make_recorder,
    make_search,
    numpy_objective,
    random_labels,
    row_losses,
)
from widegap.base._records import Point, Recorder, SearchRecorder
from widegap.constraints._label_rules import size_rules
from widegap.constraints._transport import assign
from widegap.cutting_plane import _cuts
from widegap.cutting_plane._cuts import CutSet, add_all
from widegap.cutting_plane._cutting_plane import envelope, minimize_convex, solve_master
from widegap.cutting_plane._hinge import HingeLoss
from widegap.cutting_plane._problem import Plane, Problem
from widegap.exceptions import InfeasibleBalanceError
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

SIZES = {2: (30, 3), 3: (40, 4), 5: (50, 5)}
LOSSES = ["max", "sum"]


def solve_convex(problem, labels, tol=1e-8, max_iter=1000):
    """Best point, its gap and the records of a search with labels held fixed."""
    search = make_search(problem, labels)
    point, gap = minimize_convex(problem, search.cuts, search.best, tol, max_iter, search.recorder)
    return point, gap, search.recorder.records


# The convex problem ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("balance", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_convex_optimum_agrees_with_clarabel(k, loss, balance, seed):
    rng = np.random.default_rng([k, seed])
    n, d = SIZES[k]
    X, beta = blobs(rng, n, d, k), 10 ** rng.uniform(-2.5, -0.5)
    Z = centre(X)
    separable = (Z @ rng.normal(size=(d, k))).argmax(axis=1).astype(np.int32)
    labels = random_labels(rng, n, k) if seed % 2 else separable
    point, gap, records = solve_convex(make_problem(X, k, beta, loss=loss, balance=balance), labels)
    optimum = clarabel_value(Z, labels, k, beta, loss, balance)
    assert point.objective == pytest.approx(optimum, rel=1e-6)
    assert point.objective == pytest.approx(numpy_objective(Z, point, beta, loss), rel=1e-10)
    np.testing.assert_array_equal(point.labels, labels)
    assert np.ptp(point.b) <= balance + 1e-8
    assert gap <= 1e-8 * point.objective
    assert point.objective - gap <= optimum * (1 + 1e-7)
    for record in records:
        assert record.gap >= -1e-8 * optimum
        assert record.objective - record.gap <= optimum * (1 + 1e-7)
        assert record.objective >= optimum * (1 - 1e-7)


def test_the_bias_is_used_where_it_helps():
    # One wide and one far cluster on a line, of 8 and 2 rows: without a bias the boundary is the mean, at 1.
    X = np.array([[0.0]] * 8 + [[5.0]] * 2)
    labels = np.repeat([0, 1], [8, 2]).astype(np.int32)
    values = [solve_convex(make_problem(X, 2, 0.05, balance=balance), labels)[0] for balance in (0.0, 0.5, 5.0)]
    assert values[0].objective > values[1].objective * 1.01 > values[2].objective * 1.02
    np.testing.assert_array_equal(values[0].b, 0)
    assert np.ptp(values[1].b) == pytest.approx(0.5, abs=1e-8)


def test_lower_bounds_rise_while_no_used_plane_is_dropped():
    rng = np.random.default_rng(0)
    X = blobs(rng, 40, 3, 3)
    _, _, records = solve_convex(make_problem(X, 3, 0.02), random_labels(rng, 40, 3))
    bounds = [r.objective - r.gap for r in records]
    assert len(bounds) > 5
    assert (np.diff(bounds) >= -1e-9).all()


@pytest.mark.parametrize("k", [3, 5])
def test_with_the_usual_capacity_bounds_stay_valid_and_the_usual_tolerance_is_met(k):
    rng = np.random.default_rng(1)
    X, beta = blobs(rng, 60, 30, k), 0.01
    labels = random_labels(rng, 60, k)
    optimum = clarabel_value(centre(X), labels, k, beta, "max")
    point, gap, records = solve_convex(make_problem(X, k, beta), labels, tol=0.01, max_iter=300)
    assert gap <= 0.01 * point.objective
    assert optimum <= point.objective <= optimum * 1.011
    assert all(r.objective - r.gap <= optimum * (1 + 1e-7) for r in records)
    assert max(r.cuts for r in records) <= _cuts.CAPACITY + 1


def test_never_worse_than_the_incumbent_and_honest_without_iterations():
    rng = np.random.default_rng(2)
    problem = make_problem(blobs(rng, 30, 3, 2), 2, 0.1)
    labels = random_labels(rng, 30, 2)
    best, _, _ = solve_convex(problem, labels)
    cuts = CutSet(2, 3)
    add_all(cuts, problem.planes(best.W, best.b, labels))
    for max_iter in (0, 1, 2):
        point, gap = minimize_convex(problem, cuts, best, 1e-12, max_iter, make_recorder(problem))
        assert point.objective <= best.objective
        assert gap == pytest.approx(best.objective) if max_iter == 0 else 0 <= gap < best.objective


def test_master_by_hand():
    # One feature, two clusters, rows -1 and 1 with labels 0 and 1: one plane, offset 1, normal (-1, 1).
    # F = beta/2 (w0^2 + w1^2) + max(0, 1 - (w1 - w0)); for beta = 1: w1 = -w0 = 1/2 and F = 1/4.
    problem = make_problem(np.array([[-1.0], [1.0]]), 2, 1.0)
    labels = np.array([0, 1], np.int32)
    cuts = CutSet(2, 1)
    add_all(cuts, problem.planes(np.zeros((2, 1)), np.zeros(2), labels))
    np.testing.assert_allclose(cuts.normals, [[-1, 1]])
    np.testing.assert_allclose(cuts.offsets, [1])
    master = solve_master(cuts, 1.0, problem.caps, 0.0)
    np.testing.assert_allclose(master.W, [[-0.5], [0.5]], atol=1e-12)
    assert master.lower_bound == pytest.approx(0.25)
    # beta = 4: the cap holds the multiplier a at 1, F = a - |normal|^2 a^2 / (2 beta) = 3/4 with the slack at 1/2.
    assert solve_master(cuts, 4.0, problem.caps, 0.0).lower_bound == pytest.approx(0.75)


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_master_of_two_kernels_by_hand(p):
    # One plane, offset 1, its normal (-1, 1) in the first kernel and half of that in the second: squares 2 and 1/2.
    # Their weights lie in the unit ball of the p-norm, so the square of the normal is their q-norm, 1/p + 1/q = 1,
    # and F = a - |normal|^2 a^2 / 2 is largest at a = 1 / |normal|^2.
    cuts = CutSet(2, 2, [1, 1])
    cuts.add(0, Plane(1.0, 1.0, np.array([[-1.0, -0.5], [1.0, 0.5]]), np.zeros(2), None))
    square = np.linalg.norm([2.0, 0.5], p / (p - 1))
    master = solve_master(cuts, 1.0, np.array([9.0]), 0.0, p)
    assert master.lower_bound == pytest.approx(1 / (2 * square), rel=1e-7)
    np.testing.assert_allclose(master.W[0], -master.W[1])


def test_the_masters_value_is_the_envelope_at_its_answer():
    rng = np.random.default_rng(3)
    for balance in (0.0, 0.3):
        search = make_search(make_problem(blobs(rng, 40, 3, 3), 3, 0.1, balance=balance), random_labels(rng, 40, 3))
        problem, cuts = search.problem, search.cuts
        for _ in range(6):
            master = solve_master(cuts, problem.beta, problem.caps, balance)
            value = envelope(cuts, master.W, master.b, problem)
            assert value == pytest.approx(master.lower_bound, rel=1e-8)
            add_all(cuts, problem.planes(master.W, master.b, search.labels))


def test_every_record_is_logged_by_its_line():
    @dataclass
    class Step:
        value: int
        seconds: float

        def line(self):
            return f"step {self.value}"

    lines = []
    recorder = Recorder(Step, callback=lambda record: record.value == 2, log=lines.append)
    assert [recorder.add(value=value) for value in (1, 2)] == [False, True]
    assert lines == ["step 1", "step 2"] and [record.value for record in recorder.records] == [1, 2]


# Planes and label step -------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 3, 5, 9]),
    st.sampled_from(LOSSES),
    st.sampled_from([0.1, 1.0, 10.0]),
)
def test_a_plane_touches_its_term_and_lies_below_it_for_any_labels(seed, k, loss, size):
    rng = np.random.default_rng(seed)
    n, d = 25, 3
    X = blobs(rng, n, d, k)
    Z, problem = centre(X), make_problem(X, k, 0.1, loss=loss)
    labels, new = (rng.integers(0, k, n).astype(np.int32) for _ in range(2))
    W, b = rng.normal(size=(k, d)) * size, rng.normal(size=k)
    (plane,) = problem.planes(W, b, labels)
    true = row_losses(Z @ W.T + b, labels, loss).mean()
    assert plane.loss == pytest.approx(true, rel=1e-9)
    assert plane.offset - np.vdot(plane.normal, W) - plane.bias @ b == pytest.approx(true, rel=1e-9, abs=1e-9)
    cuts = CutSet(k, d)
    add_all(cuts, [plane])
    cuts.shift(0, problem.target_shift(cuts.codes(0), labels, new))
    for _ in range(5):
        V, c = rng.normal(size=(k, d)) * size, rng.normal(size=k)
        scores = Z @ V.T + c
        assert (
            plane.offset - np.vdot(plane.normal, V) - plane.bias @ c <= row_losses(scores, labels, loss).mean() + 1e-9
        )
        assert cuts.heights(V, c)[0] <= row_losses(scores, new, loss).mean() + 1e-9
    # There and back again is where it was.
    cuts.shift(0, problem.target_shift(cuts.codes(0), new, labels))
    np.testing.assert_allclose(cuts.normals[0], plane.normal.ravel(), atol=1e-10)
    np.testing.assert_allclose(cuts.biases[0], plane.bias, atol=1e-10)
    assert cuts.offsets[0] == pytest.approx(plane.offset, abs=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [2, 3, 9])
def test_a_moved_plane_equals_the_cut_at_the_new_labels(k, loss):
    """With the codes written out: offset and normal by the formula of ``_margin``."""
    rng = np.random.default_rng(k)
    n, d = 20, 3
    X = blobs(rng, n, d, k)
    Z, problem = centre(X), make_problem(X, k, 0.1, loss=loss)
    labels, new = (rng.integers(0, k, n).astype(np.int32) for _ in range(2))
    planes = problem.planes(rng.normal(size=(k, d)), np.zeros(k), labels)
    cuts = CutSet(k, d)
    add_all(cuts, planes)
    cuts.shift(0, problem.target_shift(cuts.codes(0), labels, new))
    active = np.unpackbits(planes[0].codes, axis=1, bitorder="little")[:, :k].astype(float)
    unit = 1 / n if loss == "max" else 1 / (n * k)
    signs = np.eye(k)[new] * active.sum(axis=1, keepdims=True) - active
    np.testing.assert_allclose(cuts.normals[0], unit * (signs.T @ Z).ravel(), atol=1e-12)
    np.testing.assert_allclose(cuts.biases[0], unit * signs.sum(axis=0), atol=1e-12)
    active[np.arange(n), new] = 0
    assert cuts.offsets[0] == pytest.approx(unit * active.sum())


def test_no_planes_to_move_is_no_error():
    labels = np.array([0, 1, 0, 1], np.int32)
    problem, cuts = make_problem(np.arange(4.0)[:, None], 2, 0.1), CutSet(2, 1)
    cuts.shift(0, problem.target_shift(cuts.codes(0), labels, 1 - labels))
    assert len(cuts) == 0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [2, 4])
def test_label_costs_are_the_losses_of_every_label(k, loss):
    rng = np.random.default_rng(k)
    X = blobs(rng, 30, 3, k)
    problem, W, b = make_problem(X, k, 0.1, loss=loss), rng.normal(size=(k, 3)), rng.normal(size=k)
    scores = centre(X) @ W.T + b
    expected = np.stack([row_losses(scores, np.full(30, p), loss) for p in range(k)], axis=1)
    np.testing.assert_allclose(problem.target.label_costs(W, b), expected, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_relabel_reads_once_or_three_times(loss):
    rng = np.random.default_rng(4)
    X, W = blobs(rng, 60, 3, 3), rng.normal(size=(3, 3))
    scores = centre(X) @ W.T
    least = int(np.bincount(scores.argmax(axis=1), minlength=3).min())
    for min_count, reads in ((0, 1), (least, 1), (least + 1, 3), (20, 3)):
        problem = make_problem(X, 3, 0.1, loss=loss, min_count=min_count)
        before = problem.target.rows.n_passes
        step = problem.relabel(W, np.zeros(3))
        assert problem.target.rows.n_passes - before == reads
        assert step.bound_active == (reads == 3)
        assert np.bincount(step.labels, minlength=3).min() >= min_count
        assert step.planes[0].loss == pytest.approx(row_losses(scores, step.labels, loss).mean())
        if reads == 1:
            np.testing.assert_array_equal(step.labels, scores.argmax(axis=1))


def test_relabel_is_the_cheapest_labeling_that_meets_the_bound():
    rng = np.random.default_rng(5)
    X, W = blobs(rng, 8, 2, 2), np.array([[3.0, 0.0], [-3.0, 1.0]])
    b = np.array([2.0, -2.0])
    scores = centre(X) @ W.T + b
    for min_count in range(5):
        step = make_problem(X, 2, 0.1, min_count=min_count).relabel(W, b)
        labelings = (np.arange(256)[:, None] >> np.arange(8)) & 1
        sizes = labelings.sum(axis=1)
        allowed = labelings[(sizes >= min_count) & (8 - sizes >= min_count)]
        cheapest = min(row_losses(scores, z, "max").mean() for z in allowed)
        assert step.planes[0].loss == pytest.approx(cheapest)


@pytest.mark.parametrize(("k", "min_count"), [(3, 4), (2, 6), (11, 1)])
def test_a_count_bound_that_does_not_fit_is_refused(k, min_count):
    message = rf"{k} clusters of at least {min_count} rows do not fit into 10 rows; lower min_cluster_fraction or n_clu"
    with pytest.raises(InfeasibleBalanceError, match=message):
        make_problem(np.arange(10.0)[:, None], k, 0.1, min_count=min_count)


def test_a_count_bound_that_just_fits_is_taken():
    assert make_problem(np.arange(10.0)[:, None], 2, 0.1, min_count=5).rules.lower.tolist() == [5, 5]


# Weights that start a search -------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5])
def test_starting_weights_point_to_the_cluster_means_with_mean_margin_one(k):
    rng = np.random.default_rng(k)
    X = blobs(rng, 40, 6, k)
    Z, labels = centre(X), random_labels(rng, 40, k)
    W = make_problem(X, k, 0.1).weights_of(labels)
    means = np.array([Z[labels == p].mean(axis=0) for p in range(k)])
    np.testing.assert_allclose(W * np.vdot(means, means) / np.vdot(W, means), means, atol=1e-10)
    scores = Z @ W.T
    own = scores[np.arange(40), labels]
    assert np.mean(own - (scores.sum(axis=1) - own) / (k - 1)) == pytest.approx(1.0)


@pytest.mark.parametrize("offset", [0.0, 0.1, 1e6])
def test_labels_in_one_cluster_give_zero_weights_not_scaled_up_rounding(offset):
    X = np.random.default_rng(6).normal(size=(50, 3)) + offset
    W = make_problem(X, 3, 0.1).weights_of(np.zeros(50, np.int32))
    np.testing.assert_array_equal(W, np.zeros((3, 3)))


def test_an_empty_cluster_gets_zero_weights_and_the_others_their_means():
    X = np.random.default_rng(7).normal(size=(30, 2))
    labels = np.where(np.arange(30) < 15, 0, 2).astype(np.int32)
    W = make_problem(X, 3, 0.1).weights_of(labels)
    np.testing.assert_array_equal(W[1], 0)
    assert np.vdot(W[0], W[0]) > 0


def test_objective_is_regulariser_plus_capped_losses():
    rng = np.random.default_rng(8)
    X, labels = blobs(rng, 20, 2, 2), random_labels(rng, 20, 2)
    problem, W = make_problem(X, 2, 0.7), rng.normal(size=(2, 2))
    problem.target.cap = 3.0
    planes = problem.planes(W, np.zeros(2), labels)
    one = numpy_objective(centre(X), Point(W, np.zeros(2), labels, 0.0), 0.0)
    assert problem.objective(W, planes) == pytest.approx(0.35 * np.square(W).sum() + 3 * one)


def test_the_recorder_keeps_the_largest_residual():
    recorder = SearchRecorder(None, None)
    for residual in (1e-9, 1e-7, 1e-8):
        recorder.note_residual(residual)
    assert recorder.residual == 1e-7


def test_where_a_bound_decides_rows_count_by_their_weights():
    rng = np.random.default_rng(0)
    X, weights = blobs(rng, 30, 3, 2), rng.uniform(0.2, 3, 30)
    target = HingeLoss(CentredRows(row_blocks(X), weights), 2, loss="max")
    problem = Problem(target, 30, 2, 3, 0.1, size_rules(target.rows.blocks, [15, 15], [30, 30]))
    W, b = rng.normal(size=(2, 3)), np.array([3.0, 0.0])
    step = problem.relabel(W, b, None)
    costs = target.label_costs(W, b)
    assert step.bound_active
    np.testing.assert_array_equal(step.labels, assign(costs * weights[:, None], [15, 15]).labels)
    assert (step.labels != assign(costs, [15, 15]).labels).any()
