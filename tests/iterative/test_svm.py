"""Parts of the interior-point solver, each against its definition."""

import numpy as np
import pytest

from widegap.iterative import _svm
from widegap.iterative._svm import (
    WarmStart,
    _cold_state,
    _conjugate,
    _feasible,
    _judge,
    _longest,
    _newton_step,
    _warm_state,
    _weighted_gram,
    classification_hinges,
    regression_hinges,
    solve_svm,
)


def case(seed=0, n=12, r=3, kind="regression"):
    rng = np.random.default_rng(seed)
    P, y = rng.normal(size=(n, r)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return P - P.mean(axis=0), regression_hinges(y, 0.1) if kind == "regression" else classification_hinges(y), y


KINDS = pytest.mark.parametrize("kind", ["regression", "classification"])


def test_hinges_add_up_to_the_losses():
    scores, y = np.linspace(-2, 2, 9), np.where(np.arange(9) % 2, 1.0, -1.0)
    for hinges, loss in (
        (regression_hinges(y, 0.3), np.maximum(0, np.abs(scores - y) - 0.3)),
        (classification_hinges(y), np.maximum(0, 1 - y * scores)),
    ):
        np.testing.assert_allclose(np.maximum(0, hinges.side * (scores - hinges.knot)).sum(axis=0), loss, atol=1e-15)


@KINDS
def test_a_cold_state_is_inside_by_one(kind):
    P, hinges, _ = case(kind=kind)
    state = _cold_state(P, hinges, 6.0)
    assert not state.w.any() and state.b == 0 and not state.f.any()
    assert (state.a == 3).all()
    p = state.xi + hinges.side * hinges.knot
    np.testing.assert_allclose(np.minimum(state.xi, p), 1)


@KINDS
@pytest.mark.parametrize(("moved", "mu"), [(0.0, 0.01), (0.001, 0.01), (0.01, 0.08), (0.125, 1.0), (0.5, 1.0)])
def test_a_warm_state_is_on_the_central_path(kind, moved, mu):
    P, hinges, _ = case(kind=kind)
    machine = solve_svm(P, hinges, 2.0)
    state = _warm_state(WarmStart(machine, moved), hinges, 2.0)
    p = state.xi - hinges.side * (machine.f + machine.b - hinges.knot)
    np.testing.assert_allclose(state.a * p, 2 * mu, rtol=1e-9)
    np.testing.assert_allclose((2 - state.a) * state.xi, 2 * mu, rtol=1e-9)


@KINDS
@pytest.mark.parametrize("seed", range(5))
def test_multipliers_of_sum_zero_in_their_box(kind, seed):
    _, hinges, y = case(seed, kind=kind)
    beta = _feasible(np.random.default_rng(seed).normal(scale=4, size=12), 2.0, hinges)
    assert abs(beta.sum()) < 1e-12
    assert (beta <= 2 + 1e-12).all() and (beta >= -2 - 1e-12).all()
    if kind == "classification":
        assert (beta * -y >= -1e-12).all()
    inside = np.zeros(12)
    np.testing.assert_array_equal(_feasible(inside, 2.0, hinges), inside)
    # All at their bound on one side, and one row: there is no room.
    one = regression_hinges(np.array([1.0]), 0.1)
    assert abs(_feasible(np.array([3.0]), 2.0, one)[0]) < 1e-12


@KINDS
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_of_multipliers_is_the_dual(kind, seed):
    P, hinges, y = case(seed, kind=kind)
    state = _cold_state(P, hinges, 1.5)
    rng = np.random.default_rng(seed)
    state.w, state.b = rng.normal(size=3), 0.3
    state.f, state.a = P @ state.w, rng.uniform(0, 1.5, hinges.side.shape)
    machine = _judge(P, state, hinges, 1.5, 7)
    score = state.f + state.b
    loss = np.maximum(0, np.abs(score - y) - 0.1) if kind == "regression" else np.maximum(0, 1 - y * score)
    assert machine.objective == pytest.approx(state.w @ state.w / 2 + 1.5 * loss.sum())
    beta = _feasible((hinges.side * state.a).sum(axis=0), 1.5, hinges)
    of_rows = -beta * y - 0.1 * np.abs(beta) if kind == "regression" else -beta * y
    assert _conjugate(beta, hinges) == pytest.approx(of_rows.sum())
    dual = -np.square(P.T @ beta).sum() / 2 + of_rows.sum()
    assert machine.gap == pytest.approx((machine.objective - dual) / machine.objective)
    assert machine.n_iter == 7 and machine.gap > 0


@pytest.mark.parametrize("size", [4, 5, 100])
def test_the_weighted_gram_matrix(monkeypatch, size):
    monkeypatch.setattr(_svm, "GRAM_ROWS", size)
    P, _, _ = case()
    omega = np.random.default_rng(1).uniform(0.1, 2, 12)
    wide = np.hstack([P, np.ones((12, 1))])
    np.testing.assert_allclose(_weighted_gram(P, omega), wide.T @ (omega[:, None] * wide), atol=1e-13)


def test_the_longest_step_stays_inside():
    one = np.ones(2)
    zero = np.zeros(2)

    def longest(da=zero, dxi=zero, dp=zero):
        return _longest(one, da, 2 * one, one, dxi, one, dp)

    assert longest() == 1 and longest(da=np.array([-1.0, 2.0])) == 1
    assert longest(da=np.array([-4.0, 0])) == 0.25 and longest(da=np.array([8.0, 0])) == 0.25
    assert longest(dxi=np.array([0.0, -2.0])) == 0.5 and longest(dp=np.array([-5.0, 0])) == 0.2
    assert longest(da=np.array([-2.0, 0]), dxi=np.array([-4.0, 0])) == 0.25


@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_newton_steps_keep_the_equations_and_close_the_gap_fast(kind, seed):
    P, hinges, _ = case(seed, n=40, kind=kind)
    C = 1.5
    state = _cold_state(P, hinges, C)
    state.a = state.a * np.random.default_rng(seed).uniform(0.5, 1.5, state.a.shape)
    gaps = []
    for step in range(14):
        p = state.xi - hinges.side * (state.f + state.b - hinges.knot)
        assert min(state.a.min(), (C - state.a).min(), state.xi.min(), p.min()) > 0
        np.testing.assert_allclose(state.f, P @ state.w, atol=1e-9)
        gaps.append(_judge(P, state, hinges, C, step).gap)
        if gaps[-1] < 1e-9:
            break
        _newton_step(P, P, state, hinges, C)
    pull = (hinges.side * state.a).sum(axis=0)
    assert abs(pull.sum()) < 1e-6
    np.testing.assert_allclose(state.w, -P.T @ pull, atol=1e-6)
    assert min(gaps) < 1e-8
    assert all(later < 0.9 * gap for gap, later in zip(gaps, gaps[2:], strict=False) if gap > 1e-7)
