"""Steps of the two semidefinite solvers, each against the equations that it is to satisfy."""

from itertools import product

import numpy as np
import pytest
from scipy import linalg

from widegap.sdp._gmmc import (
    GMMC,
    _first_point,
    _Newton,
    _Step,
    _to_border,
    _to_zero,
    score_norm,
    score_value,
    solve_gmmc,
)
from widegap.sdp._mmc import MMC, _correlation, _lower_bound, _triangle, _unpack, margin_value


def kernel_of(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n + 2))
    X -= X.mean(axis=0)
    K = X @ X.T
    return K / (K.trace() / n)


@pytest.mark.parametrize("n", [3, 6])
def test_the_norm_of_scores_by_its_formula(n):
    K = kernel_of(n)
    P = np.eye(n) - 1 / n
    full = K + np.ones((n, n)) * K.trace() / n**2 + 0.2 * np.eye(n)
    expected = P @ np.linalg.inv(full) @ P + 0.7
    found = score_norm(K, 0.7, 0.2)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)


def point_of(n=6, C=3.0, seed=0):
    return _first_point(score_norm(kernel_of(n, seed), 1.0, 0.1), C), score_norm(kernel_of(n, seed), 1.0, 0.1), C


@pytest.mark.parametrize("C", [0.01, 3.0, 100.0])
def test_the_first_point_is_inside_and_feasible(C):
    point, B, _ = point_of(C=C)
    np.testing.assert_allclose(point.W.diagonal() + point.s - point.p, 1)
    np.testing.assert_allclose(point.Z, B - np.diag(point.gamma))
    np.testing.assert_allclose(point.room, C - point.gamma)
    least = np.linalg.eigvalsh(B)[0]
    np.testing.assert_allclose(point.gamma, min(least, C) / 2)
    assert np.linalg.eigvalsh(point.W)[0] > 0 and np.linalg.eigvalsh(point.Z)[0] > 0
    assert point.p.min() > 0 and point.s.min() > 0 and point.W.diagonal().min() == pytest.approx(2)
    np.testing.assert_allclose(point.s * point.room, point.W[0] @ point.Z[:, 0])
    expected = np.trace(point.W @ point.Z) + point.p @ point.gamma + point.s @ (C - point.gamma)
    assert point.gap == pytest.approx(expected)


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_a_newton_step_solves_the_linearised_equations(mu):
    point, _, _ = point_of()
    affine = _Newton(point).step(0.0)
    for second in (None, affine):
        step = _Newton(point).step(mu, second)
        np.testing.assert_allclose(step.W.diagonal() + step.s - step.p, 0, atol=1e-9)
        extra_p = 0 if second is None else second.p * second.gamma
        extra_s = 0 if second is None else second.s * second.gamma
        np.testing.assert_allclose(
            step.p * point.gamma + point.p * step.gamma + extra_p, mu - point.p * point.gamma, atol=1e-9
        )
        np.testing.assert_allclose(
            step.s * point.room - point.s * step.gamma - extra_s, mu - point.s * point.room, atol=1e-9
        )
        dZ = -np.diag(step.gamma)
        inverse = np.linalg.inv(point.Z)
        raw = mu * inverse - point.W - point.W @ dZ @ inverse
        if second is not None:
            raw -= second.W @ -np.diag(second.gamma) @ inverse
        np.testing.assert_allclose(step.W, (raw + raw.T) / 2, atol=1e-9)
    moved = point.moved(step, 0.25, 0.5)
    np.testing.assert_allclose(moved.W, point.W + step.W / 4)
    np.testing.assert_allclose(moved.Z, point.Z + dZ / 2)
    np.testing.assert_allclose(moved.gamma + moved.room, 3.0)
    np.testing.assert_allclose([moved.p - point.p, moved.s - point.s], [step.p / 4, step.s / 4])


def test_how_far_a_step_can_go():
    assert _to_zero(np.array([1.0, 2.0]), np.array([-4.0, 3.0])) == 0.25
    assert _to_zero(np.array([1.0, 2.0]), np.array([0.0, 3.0])) == np.inf
    assert _to_zero(np.array([1.0, 2.0]), np.array([-4.0, -16.0])) == 0.125
    assert _to_border(np.diag([0.5, 1.0]), np.diag([-1.0, 2.0])) == pytest.approx(4)
    assert _to_border(np.eye(2), np.diag([0.0, 2.0])) == np.inf
    point, _, _ = point_of()
    newton = _Newton(point)
    zero = _Step(np.zeros((6, 6)), np.zeros(6), np.zeros(6), np.zeros(6))
    assert newton.lengths(zero) == (np.inf, np.inf)
    for name, expected in (("p", (0.5, np.inf)), ("s", (0.5, np.inf))):
        step = _Step(**{**vars(zero), name: -2 * getattr(point, name)})
        assert newton.lengths(step) == pytest.approx(expected)
    assert newton.lengths(_Step(**{**vars(zero), "W": -2 * point.W})) == pytest.approx((0.5, np.inf))
    down = newton.lengths(_Step(**{**vars(zero), "gamma": -4 * point.gamma}))
    assert down == pytest.approx((np.inf, 0.25))
    up = np.full(6, 1.0)
    least = min(linalg.eigvalsh(point.Z)[0], point.room.min())
    assert newton.lengths(_Step(**{**vars(zero), "gamma": up})) == pytest.approx((np.inf, least))


def test_gmmc_closes_the_gap_in_few_steps():
    B = score_norm(kernel_of(12), 1.0, 1e-2)
    found = solve_gmmc(B, 5.0, tol=1e-8, max_iter=100)
    gaps = [record.gap for record in found.history]
    assert found.converged and found.n_iter == len(gaps) - 1 <= 14
    assert [record.iteration for record in found.history] == list(range(len(gaps)))
    assert all(later < 0.6 * gap for gap, later in zip(gaps, gaps[1:], strict=False))
    assert gaps[-1] <= 1e-8 * found.dual < gaps[-2]
    cut = solve_gmmc(B, 5.0, tol=1e-8, max_iter=3)
    assert cut.n_iter == 3 and not cut.converged and len(cut.history) == 4
    assert found.primal == found.history[-1].primal and found.dual == found.history[-1].dual
    assert found.residual == 0 and found.gap == (found.primal - found.dual) / found.primal


@pytest.mark.parametrize("seed", range(6))
def test_any_dual_vector_proves_a_bound_of_mmc(seed):
    n, C, limit = 6, 0.8, 2.0
    K = kernel_of(n, seed)
    rng = np.random.default_rng(seed)
    lam, bound = _lower_bound(K, C, limit, 0.3 * rng.normal(size=4 * n + n * (n + 1) // 2 + (n + 1) * (n + 2) // 2))
    best = np.inf
    for rest in product((-1, 1), repeat=n - 1):
        y = np.array((1, *rest), float)
        if abs(y.sum()) <= limit:
            best = min(best, margin_value(K, np.outer(y, y), C))
    assert bound <= best and lam.min() >= 0 and lam.max() <= C
    nothing, zero = _lower_bound(K, C, limit, np.zeros(4 * n + n * (n + 1) // 2 + (n + 1) * (n + 2) // 2))
    assert zero == 0 and not nothing.any()


def test_the_bound_of_mmc_by_hand():
    n, C, limit = 2, 0.5, 1.0
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    y = np.zeros(4 * n + 3 + 6)
    y[2 * n : 3 * n], y[3 * n : 4 * n] = [0.25, 0.0], [0.0, 0.5]  # u = 0.25, -0.5
    y[4 * n : 4 * n + 3] = [2.0, 0.0, 3.0]
    y[4 * n + 3 :] = 2**0.5 * np.array([0.0, 0.0, -0.25, 0.0, -9.0, 0.0])  # lam = 0.25, and 0.5 at its bound
    lam, bound = _lower_bound(K, C, limit, y)
    assert lam.tolist() == pytest.approx([0.25, 0.5])
    d = np.array([2 + 0.0625 - 0.25, 3 + 0.25 + 0.5])
    slack = np.diag(d) + np.array([[0.25, -0.125], [-0.125, -0.5]]) - K * np.outer(lam, lam)
    eta = max(0.0, -np.linalg.eigvalsh(slack)[0])
    assert bound == pytest.approx(1.5 - d.sum() - 0.75 - 2 * eta)


def test_packed_triangles():
    assert _triangle(3).tolist() == [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
    packed = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    root = 2**0.5
    expected = [[1, 2 / root, 3 / root], [2 / root, 4, 5 / root], [3 / root, 5 / root, 6]]
    np.testing.assert_allclose(_unpack(packed, 3), expected)


def test_the_nearest_correlation_matrix_keeps_one():
    M = np.array([[1.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(_correlation(M), M)
    np.testing.assert_allclose(_correlation(np.array([[1.0, 3.0], [3.0, 1.0]])), np.ones((2, 2)))
    assert np.linalg.eigvalsh(_correlation(np.array([[1.0, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])))[0] > -1e-12


def test_scores_of_two_labelings():
    B = np.diag([1.0, 2.0, 4.0])
    assert score_value(np.linalg.inv(B), np.array([1, -1, 1])) == pytest.approx(7)


@pytest.mark.parametrize(
    ("Estimator", "expected"),
    [
        (GMMC, {"C": 100, "C_e": 1, "ridge": 1e-3, "max_samples": 1000, "tol": 1e-6, "max_iter": 100}),
        (MMC, {"C": 1, "min_cluster_fraction": 0.94, "max_samples": 200, "tol": 1e-4, "max_iter": 10_000}),
    ],
)
def test_defaults(Estimator, expected):
    params = Estimator().get_params()
    assert {name: params[name] for name in expected} == expected
    assert params["n_clusters"] == 2 and params["n_roundings"] == 0
