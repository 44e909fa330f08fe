"""The shared QP: exact cases, a referee (Clarabel), properties, and what happens when an engine fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from widegap.cutting_plane import _qp
from widegap.cutting_plane._qp import QPSolution, solve_qp
from widegap.exceptions import SolverError

KINDS = ["plain", "rank_one", "duplicates", "zero_rows"]


class Problem(NamedTuple):
    gram: np.ndarray
    linear: np.ndarray
    groups: np.ndarray
    caps: np.ndarray
    equality: np.ndarray | None = None


def random_cuts(rng: np.random.Generator, kind: str, m: int) -> np.ndarray:
    cuts = rng.normal(size=(m, int(rng.integers(1, m + 5))))
    if kind == "rank_one":
        cuts = rng.normal(size=(m, 1)) * cuts[:1]
    if kind == "duplicates":
        cuts = cuts[rng.integers(0, max(1, m // 2), m)]
    if kind == "zero_rows":
        cuts[rng.random(m) < 0.3] = 0.0
    return cuts


def random_problem(seed: int, kind: str, n_groups: int) -> Problem:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 40))
    cuts = random_cuts(rng, kind, m)
    groups = rng.integers(0, n_groups, m)
    return Problem(cuts @ cuts.T, rng.uniform(0, 1, m), groups, 10 ** rng.uniform(-1, 1, n_groups))


def balanced_problem(seed: int, kind: str, n_groups: int, balance: float, redundant_row: bool = False) -> Problem:
    """Cuts with a bias per cluster, and hard cuts t <= b_q <= t + balance; t = 0 without the redundant row."""
    plain = random_problem(seed, kind, n_groups)
    rng = np.random.default_rng(seed + 1000)
    m, k = plain.linear.size, int(rng.integers(2, 7))
    bias_rows = rng.normal(size=(m, k)) / 5
    bias_rows -= bias_rows.mean(axis=1, keepdims=True)
    gram = np.zeros((m + 2 * k, m + 2 * k))
    gram[:m, :m] = plain.gram
    linear = np.concatenate((plain.linear, np.zeros(k), np.full(k, -balance)))
    equality = np.hstack((bias_rows.T, np.eye(k), -np.eye(k)))
    if redundant_row:
        equality = np.vstack((equality, -equality.sum(axis=0)))
    groups = np.concatenate((plain.groups, np.full(2 * k, -1)))
    return Problem(gram, linear, groups, plain.caps, equality)


def clarabel_value(problem: Problem) -> float:
    """The optimal value by an engine that widegap does not use."""
    m, n_groups = problem.linear.size, problem.caps.size
    membership = (problem.groups == np.arange(n_groups)[:, None]).astype(float)
    equality = np.zeros((0, m)) if problem.equality is None else problem.equality
    rows = sparse.csc_matrix(np.vstack((-np.eye(m), membership, equality)))
    rhs = np.concatenate((np.zeros(m), problem.caps, np.zeros(len(equality))))
    cones = [clarabel.NonnegativeConeT(m + n_groups), clarabel.ZeroConeT(len(equality))]
    options = clarabel.DefaultSettings()
    options.verbose = False
    hessian = sparse.csc_matrix(np.triu(problem.gram))
    return -clarabel.DefaultSolver(hessian, -problem.linear, rows, rhs, cones, options).solve().obj_val


def assert_optimal(problem: Problem, solution: QPSolution) -> None:
    """Feasibility, values and slacks, recomputed here."""
    x = solution.multipliers
    size = 1 + abs(solution.primal)
    assert x.min() >= 0
    for group, cap in enumerate(problem.caps):
        assert x[problem.groups == group].sum() <= cap * (1 + 1e-12)
    margins = problem.gram @ x
    if problem.equality is not None:
        np.testing.assert_allclose(problem.equality @ x, 0, atol=1e-9 * (1 + x.max()))
        margins = margins + problem.equality.T @ solution.bias
    slack_of_cut = np.append(solution.slacks, 0.0)[problem.groups]
    assert (margins + slack_of_cut >= problem.linear - 1e-9).all()
    assert solution.slacks.min() >= 0
    assert solution.dual == pytest.approx(problem.linear @ x - x @ problem.gram @ x / 2, abs=1e-12 * size)
    assert solution.primal == pytest.approx(x @ problem.gram @ x / 2 + problem.caps @ solution.slacks, abs=1e-12 * size)
    assert abs(solution.gap) <= 1e-9 * size
    assert solution.residual <= 1e-9


# Exact cases -----------------------------------------------------------------------------------------------------


def test_two_cuts_by_hand():
    # The cap binds: x1 = 1 - xi, x2 = (1 - xi) / 4 and x1 + x2 = 1 give xi = 1/5.
    solution = solve_qp(np.diag([1.0, 4.0]), np.ones(2), np.zeros(2, dtype=int), np.ones(1))
    np.testing.assert_allclose(solution.multipliers, [0.8, 0.2], atol=1e-14)
    np.testing.assert_allclose(solution.slacks, [0.2], atol=1e-14)
    assert solution.dual == pytest.approx(0.6, abs=1e-14)
    assert solution.primal == pytest.approx(0.6, abs=1e-14)
    assert solution.bias.shape == (0,)
    assert solution.solver == "daqp"


@pytest.mark.parametrize("group", [0, -1])
@pytest.mark.parametrize("engine", ["daqp", "piqp"])
def test_bias_has_the_sign_of_the_primal(group, engine, monkeypatch):
    # The separating point of x = +1 (label +) and x = -3 (label -): w + b >= 1 and 3 w - b >= 1, so w = b = 1/2.
    if engine == "piqp":
        monkeypatch.setattr(_qp, "_solve_daqp", lambda problem, start: _qp._nothing(problem))
    gram = np.array([[1.0, 3.0], [3.0, 9.0]])
    solution = solve_qp(gram, np.ones(2), np.full(2, group), np.array([10.0]), np.array([[1.0, -1.0]]))
    assert solution.solver == engine
    np.testing.assert_allclose(solution.multipliers, [0.125, 0.125], atol=1e-9)
    np.testing.assert_allclose(solution.bias, [0.5], atol=1e-9)
    assert solution.primal == pytest.approx(0.125, abs=1e-9)


def test_two_groups_have_separate_caps_and_slacks():
    # Two independent problems: the first stops at its cap, the second at l / G.
    solution = solve_qp(np.diag([1.0, 2.0]), np.array([3.0, 1.0]), np.array([0, 1]), np.ones(2))
    np.testing.assert_allclose(solution.multipliers, [1.0, 0.5], atol=1e-14)
    np.testing.assert_allclose(solution.slacks, [2.0, 0.0], atol=1e-14)


@pytest.mark.parametrize(("gram", "linear", "expected"), [(2.0, 1.0, 0.5), (0.0, 1.0, 3.0), (1.0, -1.0, 0.0)])
def test_single_cut(gram, linear, expected):
    solution = solve_qp(np.array([[gram]]), np.array([linear]), np.zeros(1, dtype=int), np.array([3.0]))
    np.testing.assert_allclose(solution.multipliers, [expected], atol=1e-12)


def test_group_without_cuts_has_no_slack():
    solution = solve_qp(np.eye(1), np.ones(1), np.array([1]), np.array([0.5, 0.25]))
    np.testing.assert_allclose(solution.slacks, [0.0, 0.75], atol=1e-14)


def test_only_hard_cuts_need_no_caps():
    solution = solve_qp(np.diag([1.0, 2.0]), np.ones(2), np.full(2, -1), np.zeros(0))
    np.testing.assert_allclose(solution.multipliers, [1.0, 0.5], atol=1e-12)
    assert solution.slacks.shape == (0,)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_gram_of_any_size(scale):
    diagonal = scale * np.arange(1.0, 6.0)
    linear = np.linspace(0.2, 1.0, 5)
    unconstrained = linear / diagonal
    solution = solve_qp(np.diag(diagonal), linear, np.zeros(5, dtype=int), np.ones(1))
    if unconstrained.sum() <= 1:
        np.testing.assert_allclose(solution.multipliers, unconstrained, rtol=1e-9)
    else:
        assert solution.multipliers.sum() == pytest.approx(1.0, rel=1e-12)
        assert solution.gap <= 1e-9 * solution.primal


# Referee ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_clarabel(seed, n_groups, kind):
    problem = random_problem(seed, kind, n_groups)
    solution = solve_qp(*problem)
    assert_optimal(problem, solution)
    assert solution.dual == pytest.approx(clarabel_value(problem), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("balance", [0.0, 0.03, 1.0])
@pytest.mark.parametrize("redundant_row", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_balanced_clusters_agree_with_clarabel(seed, redundant_row, balance, n_groups, kind):
    problem = balanced_problem(seed, kind, n_groups, balance, redundant_row)
    solution = solve_qp(*problem)
    assert_optimal(problem, solution)
    assert solution.dual == pytest.approx(clarabel_value(problem), rel=1e-6, abs=1e-7)
    n_clusters = problem.equality.shape[0] - redundant_row
    bias = solution.bias[:n_clusters]
    assert np.ptp(bias) <= balance + 1e-9


# Properties ------------------------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Cuts on a coarse grid, so that ties, duplicates, zero rows and contradicting cuts are common."""
    m = draw(st.integers(1, 12))
    cuts = draw(hnp.arrays(np.int64, (m, draw(st.integers(1, 6))), elements=st.integers(-3, 3))).astype(float)
    linear = draw(hnp.arrays(np.int64, m, elements=st.integers(-2, 8))) / 8
    groups = draw(hnp.arrays(np.int64, m, elements=st.integers(0, 1)))
    caps = np.array(draw(st.lists(st.sampled_from([0.01, 0.5, 1.0, 10.0]), min_size=2, max_size=2)))
    return Problem(cuts @ cuts.T, linear, groups, caps)


grid = settings(max_examples=60, deadline=None)


@grid
@given(problems())
def test_dual_is_below_primal_and_both_meet(problem):
    solution = solve_qp(*problem)
    assert_optimal(problem, solution)
    assert solution.dual <= solution.primal + 1e-12 * (1 + abs(solution.primal))


@grid
@given(problems(), st.sampled_from([1e-6, 1e-2, 1e3, 1e6]), st.sampled_from([1e-6, 1e-1, 1e4]))
def test_change_of_units_scales_the_value(problem, cut_unit, cap_unit):
    # l in units of s and x in units of t need G in units of s / t; the value is then in units of s t.
    gram, linear, groups, caps, _ = problem
    plain = solve_qp(gram, linear, groups, caps)
    scaled = solve_qp(gram * cut_unit / cap_unit, linear * cut_unit, groups, caps * cap_unit)
    size = cut_unit * cap_unit
    assert scaled.dual == pytest.approx(plain.dual * size, rel=1e-8, abs=1e-8 * size)
    np.testing.assert_allclose(scaled.slacks, plain.slacks * cut_unit, atol=1e-6 * cut_unit)


@grid
@given(problems(), st.randoms(use_true_random=False))
def test_order_of_the_cuts_does_not_matter(problem, random):
    order = list(range(problem.linear.size))
    random.shuffle(order)
    shuffled = solve_qp(problem.gram[order][:, order], problem.linear[order], problem.groups[order], problem.caps)
    assert shuffled.dual == pytest.approx(solve_qp(*problem).dual, rel=1e-8, abs=1e-8)


@grid
@given(problems(), st.data())
def test_duplicate_cut_does_not_change_the_optimum(problem, data):
    copied = data.draw(st.integers(0, problem.linear.size - 1))
    cuts = np.append(np.arange(problem.linear.size), copied)
    doubled = solve_qp(problem.gram[cuts][:, cuts], problem.linear[cuts], problem.groups[cuts], problem.caps)
    assert doubled.dual == pytest.approx(solve_qp(*problem).dual, rel=1e-8, abs=1e-8)


# Warm start ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_warm_start_gives_the_same_answer(seed, kind):
    for problem in (random_problem(seed, kind, 2), balanced_problem(seed, kind, 1, 0.03, redundant_row=True)):
        cold = solve_qp(*problem)
        far = np.linspace(0, 5, problem.linear.size)
        for start in (cold.multipliers, np.zeros(problem.linear.size), far):
            warm = solve_qp(*problem, start=start)
            assert_optimal(problem, warm)
            assert warm.dual == pytest.approx(cold.dual, rel=1e-9, abs=1e-9)


def test_start_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"start has shape \(3,\), but there are 2 multipliers.*Pad it with zeros"):
        solve_qp(np.eye(2), np.ones(2), np.zeros(2, dtype=int), np.ones(1), start=np.zeros(3))


# Failure ---------------------------------------------------------------------------------------------------------


def garbage(problem: _qp._Scaled, start: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    return np.full(problem.linear.size, 0.7), np.full(len(problem.rows) - problem.n_caps, -3.0)


@pytest.mark.parametrize("kind", KINDS)
def test_fallback_is_used_when_daqp_is_wrong(kind, monkeypatch):
    cases = [random_problem(7, kind, 2), balanced_problem(7, kind, 2, 0.03, redundant_row=True)]
    expected = [solve_qp(*problem) for problem in cases]
    assert {solution.solver for solution in expected} == {"daqp"}
    monkeypatch.setattr(_qp, "_solve_daqp", garbage)
    for problem, right in zip(cases, expected, strict=True):
        solution = solve_qp(*problem)
        assert solution.solver == "piqp"
        assert_optimal(problem, solution)
        assert solution.dual == pytest.approx(right.dual, rel=1e-8)


def test_error_names_gap_residual_and_size_when_both_engines_fail(monkeypatch):
    monkeypatch.setattr(_qp, "_solve_daqp", garbage)
    monkeypatch.setattr(_qp, "_solve_piqp", garbage)
    problem = random_problem(7, "plain", 1)
    expected = rf"m = {problem.linear.size} multipliers.*daqp: gap .*, residual .*; piqp: gap .*, residual .*"
    with pytest.raises(SolverError, match=expected):
        solve_qp(*problem)


def off_by(share):
    """An engine whose answer is a little less than the right one."""
    right = _qp._solve_daqp

    def engine(problem, start):
        x, bias = right(problem, start)
        return x * (1 - share), bias

    return engine


def test_the_better_of_two_answers_that_nearly_pass_is_taken(monkeypatch):
    problem = random_problem(7, "plain", 1)
    right = solve_qp(*problem)
    worse, better, wrong = off_by(1e-8), off_by(3e-9), off_by(1e-3)
    monkeypatch.setattr(_qp, "_solve_daqp", worse)
    monkeypatch.setattr(_qp, "_solve_piqp", better)
    found = solve_qp(*problem)
    assert found.solver == "piqp" and found.gap > _qp.QP_TOLERANCE * abs(found.primal)  # it tells that it is not exact
    assert found.dual == pytest.approx(right.dual, rel=1e-7)
    monkeypatch.setattr(_qp, "_solve_piqp", wrong)
    assert solve_qp(*problem).solver == "daqp"
    monkeypatch.setattr(_qp, "_solve_daqp", wrong)
    with pytest.raises(SolverError, match="was not solved"):
        solve_qp(*problem)


def test_engines_that_return_nan_are_an_error_not_a_crash(monkeypatch):
    problem = random_problem(7, "plain", 1)
    nan = np.full(problem.linear.size, np.nan)
    monkeypatch.setattr("daqp.solve", lambda *args, **options: (nan, 0.0, -1, {"lam": np.append(nan, 0.0)}))
    assert solve_qp(*problem).solver == "piqp"
    broken = SimpleNamespace(
        settings=SimpleNamespace(),
        setup=lambda **data: None,
        solve=lambda: None,
        result=SimpleNamespace(x=nan, y=np.zeros(0)),
    )
    monkeypatch.setattr("piqp.DenseSolver", lambda: broken)
    with pytest.raises(SolverError, match="not solved"):
        solve_qp(*problem)


def test_contradicting_hard_cuts_are_an_error_not_an_answer():
    # w >= 1 and -w >= 1: the dual is unbounded.
    gram = np.array([[1.0, -1.0], [-1.0, 1.0]])
    with pytest.raises(SolverError, match=r"hard cuts \(group -1\) can be satisfied together"):
        solve_qp(gram, np.ones(2), np.full(2, -1), np.zeros(0))


def test_indefinite_gram_is_an_error_not_an_answer():
    with pytest.raises(SolverError, match="positive semi-definite"):
        solve_qp(np.diag([-1.0, 1.0]), np.ones(2), np.zeros(2, dtype=int), np.ones(1))


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
def test_curvature_of_any_size_without_caps(size):
    solution = solve_qp(size * np.diag([1.0, 2.0]), np.ones(2), np.full(2, -1), np.zeros(0))
    np.testing.assert_allclose(size * solution.multipliers, [1.0, 0.5], rtol=1e-6)
