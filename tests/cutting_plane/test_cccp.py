"""The non-convex search: descent, what every order ends with, annealing, stopping, records, degenerate data."""

from dataclasses import dataclass, field, replace

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
from widegap.base._records import Recorder, SearchRecorder, StopFit
from widegap.constraints._label_rules import unit_rules
from widegap.constraints._units import read_constraints
from widegap.cutting_plane._cccp import ORDERS, Search, annealing_schedule, linearize_first, search_from
from widegap.cutting_plane._cutting_plane import envelope

ORDER_NAMES = sorted(ORDERS)
LOSSES = ["max", "sum"]
N, D = 40, 3


@dataclass
class WatchedSearch(Search):
    """A search that keeps what it knew whenever it recorded an iteration of its own: objective, labels, records."""

    seen: list = field(default_factory=list)

    def record(self, objective, gap, flips):
        self.seen.append((objective, self.labels.copy(), len(self.recorder.records)))
        super().record(objective, gap, flips)


def random_case(seed, k, loss="max", bound=0.0, balance=0.0, feasible=True):
    """A problem whose clusters keep a fraction ``bound`` of n / k rows, and starting labels."""
    rng = np.random.default_rng(seed)
    X, beta = blobs(rng, N, D, k, spread=2.0), 10 ** rng.uniform(-2, -0.3)
    min_count = int(bound * N / k)
    problem = make_problem(X, k, beta, loss=loss, balance=balance, min_count=min_count)
    return centre(X), problem, random_labels(rng, N, k, max(1, min_count) if feasible else 0)


def watch(problem, labels, **options):
    search = make_search(problem, labels, **options)
    return WatchedSearch(**{name: getattr(search, name) for name in Search.__dataclass_fields__})


cases = st.tuples(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 3, 4]),
    st.sampled_from(LOSSES),
    st.sampled_from([0.0, 0.3, 0.9, 1.0]),
)


# Descent and the end of a search ---------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(cases, st.sampled_from([0.0, 0.3]), st.booleans())
def test_linearize_first_never_raises_the_objective(case, balance, feasible):
    Z, problem, labels = random_case(*case, balance=balance, feasible=feasible)
    search = watch(problem, labels, tol=1e-4, max_iter=150)
    least = search.best.objective
    linearize_first(search)
    assert search.seen
    records, done = search.recorder.records, 0
    for objective, _, first in search.seen:
        # Trial points between two relabellings may be worse; what they lead to may not.
        least = min([least, *(r.objective for r in records[done:first])])
        assert objective <= least * (1 + 1e-10)
        least, done = objective, first
    assert search.best.objective == search.seen[-1][0]
    assert search.best.objective == pytest.approx(numpy_objective(Z, search.best, problem.beta, case[2]), rel=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 4]), st.sampled_from(LOSSES))
def test_linearize_first_never_raises_the_objective_with_links_either(seed, k, loss):
    rng = np.random.default_rng(seed)
    truth, X = rng.integers(0, k, N), blobs(rng, N, D, k, spread=2.0)
    pairs = rng.integers(0, N, (20, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    units = read_constraints(N, k, known=None, must_link=pairs[same], cannot_link=pairs[~same]).units
    problem = make_problem(X, k, 10 ** rng.uniform(-2, -0.3), loss=loss)
    blocks = problem.target.rows.blocks
    rules = unit_rules(blocks, units, np.zeros(k, np.int64), np.full(k, N), blocks.place)
    search = watch(replace(problem, rules=rules), truth.astype(np.int32), tol=1e-4, max_iter=100)
    least = search.best.objective
    linearize_first(search)
    for objective, labels, _ in search.seen:
        assert objective <= least * (1 + 1e-10)
        assert (labels[pairs[same]][:, 0] == labels[pairs[same]][:, 1]).all()
        assert (labels[pairs[~same]][:, 0] != labels[pairs[~same]][:, 1]).all()
        least = objective


@settings(deadline=None, max_examples=60)
@given(cases, st.sampled_from(ORDER_NAMES), st.sampled_from([0.0, 0.3]), st.booleans(), st.booleans())
def test_every_order_ends_with_a_point_that_is_what_it_says(case, order, balance, anneal, feasible):
    Z, problem, labels = random_case(*case, balance=balance, feasible=feasible)
    search = make_search(problem, labels, tol=1e-3, max_iter=60)
    start, records = search.best.objective, search.recorder.records
    result = search_from(search, order, anneal=anneal)
    point, beta = result.point, problem.beta
    assert np.bincount(point.labels, minlength=case[1]).min() >= problem.rules.lower.max()
    assert point.objective == pytest.approx(numpy_objective(Z, point, beta, case[2]), rel=1e-9)
    assert np.ptp(point.b) <= balance + 1e-8
    assert 1 <= result.n_iter == len(records) <= 60
    assert point.objective <= min([r.objective for r in records if r.beta == beta], default=np.inf) * (1 + 1e-10)
    if not anneal:
        assert point.objective == pytest.approx(min([start, *(r.objective for r in records)]), rel=1e-10)
    if result.converged:
        assert records[-1].gap <= 1e-3 * records[-1].objective
        assert records[-1].beta == beta


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("order", ORDER_NAMES)
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_labels_that_came_to_rest_are_solved_to_the_tolerance(order, loss, tol):
    proved = 0
    for seed in range(12):
        Z, problem, labels = random_case(seed, 2 + seed % 2, loss, bound=0.3)
        search = make_search(problem, labels, tol=tol)
        result = search_from(search, order, anneal=False)
        last, point = search.recorder.records[-1], result.point
        if not result.converged or last.flips:
            continue  # labels that flicker without gain: the gap is that of the labels before
        proved += 1
        optimum = clarabel_value(Z, point.labels, problem.n_clusters, problem.beta, loss)
        assert point.objective <= optimum / (1 - tol) * (1 + 1e-7)
        assert point.objective - last.gap <= optimum * (1 + 1e-7)
    assert proved >= 6


@pytest.mark.parametrize("anneal", [False, True])
@pytest.mark.parametrize("order", ORDER_NAMES)
@pytest.mark.parametrize("k", [2, 3])
def test_without_a_count_bound_labels_are_the_largest_scores(order, k, anneal):
    for seed in range(8):
        Z, problem, labels = random_case(seed, k)
        point = search_from(make_search(problem, labels), order, anneal=anneal).point
        assert not point.bound_active
        np.testing.assert_array_equal(point.labels, (Z @ point.W.T + point.b).argmax(axis=1))


@pytest.mark.parametrize("order", ORDER_NAMES)
def test_two_far_groups_are_found_from_their_labels_turned_by_half(order):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) * 0.1 + truth[:, None] * np.array([4.0, 1.0])
    start = truth.copy()
    start[15:25] = 1 - start[15:25]
    result = search_from(make_search(make_problem(X, 2, 0.1, min_count=6), start.astype(np.int32)), order, anneal=False)
    assert result.converged
    assert len(set(zip(truth, result.point.labels, strict=True))) == 2


@pytest.mark.parametrize("order", ORDER_NAMES)
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_the_budget_is_kept_and_running_out_of_it_is_told(order, max_iter):
    _, problem, labels = random_case(3, 3)
    search = make_search(problem, labels, tol=1e-9, max_iter=max_iter)
    result = search_from(search, order, anneal=False)
    assert result.n_iter == len(search.recorder.records) == max_iter
    assert not result.converged


def test_a_start_below_the_count_bound_is_mended_before_it_is_judged():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(12, 2))
        lonely = (np.arange(12) == 0).astype(np.int32)
        search = make_search(make_problem(X, 2, 0.1, min_count=4), lonely)
        assert np.bincount(search.best.labels).min() >= 4
        np.testing.assert_array_equal(search.labels, search.best.labels)
        assert search.best.objective == pytest.approx(numpy_objective(centre(X), search.best, 0.1))


def test_a_start_within_the_count_bound_is_kept():
    Z, problem, labels = random_case(0, 3, bound=1.0)
    search = make_search(problem, labels)
    np.testing.assert_array_equal(search.labels, labels)
    assert search.best.objective == pytest.approx(numpy_objective(Z, search.best, problem.beta))
    assert len(search.cuts) == 1


# Annealing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("beta", "schedule"),
    [
        (2.0, [2.0]),
        (1.0, [1.0]),
        (0.9, [1.0, 0.9]),
        (0.5, [1.0, 0.5]),
        (0.3, [1.0, 0.5, 0.3]),
        (0.1, [1.0, 0.5, 0.25, 0.125, 0.1]),
    ],
)
def test_annealing_halves_beta_from_one_down_to_its_own(beta, schedule):
    assert annealing_schedule(beta) == schedule


@pytest.mark.parametrize("order", ORDER_NAMES)
def test_an_annealed_search_visits_the_stages_in_order_and_ends_at_its_own_beta(order):
    rng = np.random.default_rng(1)
    problem = make_problem(blobs(rng, N, D, 2), 2, 0.1)
    search = make_search(problem, random_labels(rng, N, 2))
    search_from(search, order, anneal=True)
    betas = [r.beta for r in search.recorder.records]
    assert list(dict.fromkeys(betas)) == [1.0, 0.5, 0.25, 0.125, 0.1]
    assert betas == sorted(betas, reverse=True)
    assert (problem.beta, search.problem.beta) == (0.1, 0.1)


@settings(deadline=None, max_examples=40)
@given(cases, st.lists(st.floats(0.01, 2.0), min_size=1, max_size=4))
def test_cuts_stay_below_the_objective_through_new_betas_and_labels(case, betas):
    Z, problem, labels = random_case(*case)
    rng = np.random.default_rng(case[0])
    k, loss = case[1], case[2]
    search = make_search(problem, labels)
    for beta in betas:
        search.set_beta(beta)
        for _ in range(3):
            point, planes, _, _ = search.relabel_after_master()
            search.cuts.add(0, planes[0])
        search.move_to(rng.integers(0, k, N).astype(np.int32))
        assert search.problem.beta == beta
        for size in (0.1, 1.0, 10.0):
            W, b = rng.normal(size=(k, D)) * size, rng.normal(size=k)
            true = beta / 2 * np.square(W).sum() + row_losses(Z @ W.T + b, search.labels, loss).mean()
            assert envelope(search.cuts, W, b, search.problem) <= true + 1e-9
        # And it touches where the last cut was taken, once labels are what they were then.
        search.move_to(point.labels)
        touched = envelope(search.cuts, point.W, point.b, search.problem)
        assert touched == pytest.approx(point.objective, rel=1e-9)


@settings(deadline=None, max_examples=20)
@given(cases, st.floats(0.01, 2.0))
def test_a_new_beta_judges_the_best_point_anew(case, beta):
    Z, problem, labels = random_case(*case)
    search = make_search(problem, labels)
    for _ in range(3):
        search.relabel_after_master()
    W, own_beta = search.best.W, problem.beta
    search.set_beta(beta)
    assert search.best.W is W
    assert problem.beta == own_beta  # the next start uses the same problem
    assert search.best.objective == pytest.approx(numpy_objective(Z, search.best, beta, case[2]), rel=1e-9)


# Callback and records --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [0, 1, 4, 9])
@pytest.mark.parametrize("anneal", [False, True])
@pytest.mark.parametrize("order", ORDER_NAMES)
def test_a_callback_stops_the_search_with_the_best_point_so_far(order, anneal, last):
    Z, problem, labels = random_case(12, 3)
    search = make_search(problem, labels, tol=1e-9, callback=lambda record: record.iteration == last)
    start = search.best.objective
    result = search_from(search, order, anneal=anneal)
    assert (result.converged, result.n_iter, search.recorder.stopped) == (False, last + 1, True)
    assert result.point.objective == pytest.approx(numpy_objective(Z, result.point, problem.beta), rel=1e-9)
    if not anneal:
        least = min([start, *(r.objective for r in search.recorder.records)])
        assert result.point.objective == pytest.approx(least, rel=1e-10)


@pytest.mark.parametrize("answer", [None, False, 0, 1, "stop", np.False_])
def test_only_true_stops(answer):
    _, problem, labels = random_case(1, 2)
    seen = []
    search = make_search(problem, labels, callback=lambda record: seen.append(record) or answer)
    assert search_from(search, "one_step", anneal=False).converged
    assert seen == search.recorder.records


def test_numpys_true_stops_too():
    recorder = SearchRecorder(lambda: 0, callback=lambda record: np.True_)
    with pytest.raises(StopFit):
        recorder.add(objective=1.0, gap=1.0, cuts=1, flips=0, beta=1.0)
    assert recorder.stopped
    assert len(recorder.records) == 1


@pytest.mark.parametrize("order", ORDER_NAMES)
def test_records_count_iterations_reads_flips_and_time(order):
    _, problem, labels = random_case(5, 3, bound=0.3)
    recorder = make_recorder(problem)
    for start in range(2):
        recorder.begin(start)
        first = len(recorder.records)
        search = WatchedSearch.from_labels(problem, labels, recorder, 1e-4, 100)
        search_from(search, order, anneal=False)
        records = recorder.records[first:]
        assert [r.iteration for r in records] == list(range(len(records)))
        assert {r.start for r in records} == {start}
        before = labels
        flipped = []
        for _, after, index in search.seen:
            flipped.append(np.count_nonzero(before != after))
            assert recorder.records[index].flips == flipped[-1]
            before = after
        assert sum(r.flips for r in records) == sum(flipped) > 0
    assert (np.diff([r.passes for r in recorder.records]) >= 1).all()
    assert recorder.records[-1].passes == problem.target.rows.n_passes
    assert (np.diff([r.seconds for r in recorder.records]) >= 0).all()
    assert recorder.records[0].seconds >= 0
    assert all(1 <= r.cuts for r in recorder.records)


@pytest.mark.parametrize("order", ["one_step", "cuts_first"])
def test_an_iteration_reads_the_data_once_while_the_bound_is_inactive(order):
    _, problem, labels = random_case(6, 3)
    search = make_search(problem, labels)
    search_from(search, order, anneal=False)
    steps = np.diff([r.passes for r in search.recorder.records])
    assert sorted(steps)[-2:] == [1, 2]  # the one more is the plane at the best point, when the search settles there
    assert (steps >= 1).all()


def test_the_log_hears_every_record():
    heard = []
    recorder = SearchRecorder(lambda: 7, log=heard.append)
    recorder.add(objective=1.0, gap=0.5, cuts=2, flips=3, beta=0.1)
    (record,) = recorder.records
    assert heard == [record.line()]
    assert (record.passes, record.cuts, record.flips, record.beta) == (7, 2, 3, 0.1)


def test_iterations_of_every_start_are_counted_from_zero():
    recorder = SearchRecorder(lambda: 0)
    for start in (0, 1):
        recorder.begin(start)
        for _ in range(3):
            assert recorder.add(objective=1.0, gap=0.5, cuts=2, flips=3, beta=0.1) is False
    assert [(r.start, r.iteration) for r in recorder.records] == [(s, i) for s in (0, 1) for i in range(3)]


@dataclass(frozen=True)
class Toy:
    objective: float
    seconds: float

    def line(self) -> str:
        return f"objective {self.objective}"


def test_a_recorder_takes_any_record():
    heard = []
    recorder = Recorder(Toy, lambda record: record.objective < 1, heard.append)
    assert not recorder.add(objective=2.0)
    assert recorder.add(objective=0.5)
    assert recorder.stopped
    assert heard == ["objective 2.0", "objective 0.5"]
    assert [record.objective for record in recorder.records] == [2.0, 0.5]
    assert 0 <= recorder.records[0].seconds <= recorder.records[1].seconds


# Degenerate data -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("anneal", [False, True])
@pytest.mark.parametrize("order", ORDER_NAMES)
@pytest.mark.parametrize("k", [2, 3])
def test_all_rows_in_one_cluster_without_a_bound_ends_at_the_trivial_point(order, k, anneal):
    X = np.random.default_rng(0).normal(size=(30, 2)) + 3
    search = make_search(make_problem(X, k, 0.1), np.zeros(30, np.int32))
    result = search_from(search, order, anneal=anneal)
    assert result.n_iter < 60
    assert result.point.objective <= 1 + 1e-9


@pytest.mark.parametrize("order", ORDER_NAMES)
@pytest.mark.parametrize("k", [2, 3])
def test_all_rows_in_one_cluster_with_a_bound_gets_away_from_zero(order, k):
    X = np.random.default_rng(1).normal(size=(30, 2)) + 3
    search = make_search(make_problem(X, k, 0.1, min_count=3), np.zeros(30, np.int32), tol=1e-4)
    assert np.abs(search.best.W).max() > 0
    result = search_from(search, order, anneal=False)
    assert np.bincount(result.point.labels, minlength=k).min() >= 3
    assert result.point.objective < 0.9


@pytest.mark.parametrize("order", ORDER_NAMES)
def test_labels_with_equal_cluster_means_do_not_break_the_search(order):
    X = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    result = search_from(make_search(make_problem(X, 2, 0.1, min_count=1), np.array([0, 0, 1, 1], np.int32)), order,
                         anneal=False)  # fmt: skip
    assert result.point.objective <= 1 + 1e-9
    assert np.bincount(result.point.labels, minlength=2).min() >= 1


@pytest.mark.parametrize("order", ORDER_NAMES)
@pytest.mark.parametrize("loss", LOSSES)
def test_duplicate_rows_of_three_kinds(order, loss):
    kinds = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    truth = np.repeat([0, 1, 2], 10)
    start = truth.copy()
    start[:3] = 1
    problem = make_problem(kinds[truth], 3, 0.05, loss=loss, min_count=5)
    result = search_from(make_search(problem, start.astype(np.int32)), order, anneal=False)
    point = result.point
    assert point.objective == pytest.approx(numpy_objective(centre(kinds[truth]), point, 0.05, loss))
    assert len(set(zip(truth, point.labels, strict=True))) == 3


@pytest.mark.parametrize("order", ORDER_NAMES)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_as_many_clusters_as_rows(order, k):
    X = np.random.default_rng(k).normal(size=(k, 2))
    problem = make_problem(X, k, 0.1, min_count=1)
    point = search_from(make_search(problem, np.zeros(k, np.int32)), order, anneal=False).point
    assert sorted(point.labels) == list(range(k))
    assert point.objective == pytest.approx(numpy_objective(centre(X), point, 0.1))


@pytest.mark.parametrize("order", ORDER_NAMES)
def test_one_feature(order):
    X = np.concatenate([np.linspace(0, 1, 10), np.linspace(5, 6, 10)])[:, None]
    start = (np.arange(20) % 3 == 0).astype(np.int32)
    point = search_from(make_search(make_problem(X, 2, 0.1, min_count=3), start), order, anneal=False).point
    assert len(set(zip(np.repeat([0, 1], 10), point.labels, strict=True))) == 2


@pytest.mark.parametrize("order", ORDER_NAMES)
def test_one_huge_outlier_is_a_cluster_only_where_the_bound_lets_it(order):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2)) + np.repeat([[0.0, 0.0], [6.0, 0.0]], 20, axis=0)
    X[7] *= 1000
    start = random_labels(rng, 40, 2, 10)
    alone = search_from(make_search(make_problem(X, 2, 0.1), start), order, anneal=False).point
    assert np.bincount(alone.labels, minlength=2).min() == 1
    held = search_from(make_search(make_problem(X, 2, 0.1, min_count=6), start), order, anneal=False).point
    assert np.bincount(held.labels, minlength=2).min() >= 6
    assert np.isfinite(held.objective)
    assert held.objective == pytest.approx(numpy_objective(centre(X), held, 0.1), rel=1e-8)
    assert held.objective >= alone.objective


@pytest.mark.parametrize("order", ORDER_NAMES)
def test_a_search_whose_budget_is_spent_has_not_converged(order):
    _, problem, labels = random_case(5, 3)
    result = search_from(make_search(problem, labels, tol=1e-9, max_iter=3), order, anneal=False)
    assert not result.converged
    assert result.n_iter <= 4  # linearizing may need one for its last relabelling


def test_a_search_may_begin_at_weights():
    _, problem, labels = random_case(3, 3)
    first = search_from(make_search(problem, labels), "one_step", anneal=False).point
    search = Search.from_weights(problem, first.W, first.b, make_recorder(problem, None), 1e-6, 500)
    np.testing.assert_array_equal(search.labels, problem.relabel(first.W, first.b).labels)
    assert search.best.objective <= first.objective * (1 + 1e-9)
    assert search_from(search, "one_step", anneal=False).point.objective <= first.objective * (1 + 1e-9)
