"""The dual of several kernels: its derivatives by differences, its steps by the equations that they solve."""

import numpy as np
import pytest

from widegap.cutting_plane._kernel_dual import ConeChange, Iterate, KernelDual, Newton

M, SIZE, K = 3, 5, 2


def dual_of(seed=0, balance=0.7, exponent=2.0):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(M, SIZE, 4))
    groups = np.array([0, 1, 0, 1, 0])
    return KernelDual(
        factors @ factors.transpose(0, 2, 1),
        rng.uniform(0.5, 1, SIZE),
        rng.normal(size=(SIZE, K)),
        (groups == np.arange(2)[:, None]).astype(float),
        np.array([1.5, 0.8]),
        balance,
        exponent,
    )


def point_of(seed=0, lifted=False, **settings):
    dual, rng = dual_of(seed, **settings), np.random.default_rng(seed)
    point = Iterate.first(dual)
    moved = Iterate(
        dual, point.x * rng.uniform(0.6, 1.4, len(point.x)), point.z, point.y, rng.normal(size=len(point.nu))
    )
    return moved.lift() if lifted else moved


EXPONENTS = pytest.mark.parametrize("exponent", [1.3, 2.0, 5.0])


@EXPONENTS
def test_the_norm_and_its_weights(exponent):
    dual, x = dual_of(exponent=exponent), np.random.default_rng(1).uniform(size=SIZE)
    q = np.array([x @ G @ x for G in dual.grams])
    N, w, h = dual.norm(x)
    assert N == pytest.approx((q**exponent).sum() ** (1 / exponent))
    assert dual.p == pytest.approx(exponent / (exponent - 1)) and (w**dual.p).sum() == pytest.approx(1)
    assert w @ q == pytest.approx(N)
    np.testing.assert_allclose(h, [G @ x for G in dual.grams])
    N, w, _ = dual.norm(np.zeros(SIZE))
    assert N == 0 and (w**dual.p).sum() == pytest.approx(1) and np.ptp(w) == 0
    given = dual.norm_with(x, np.array([1.0, 2.0, 3.0]))
    assert given[0] == dual.norm(x)[0] and (given[1] ** dual.p).sum() == pytest.approx(1)
    np.testing.assert_allclose(given[1] / given[1][0], [1, 2, 3])
    assert dual.size == SIZE


@EXPONENTS
def test_gradient_and_curvature_by_differences(exponent):
    dual, x, step = dual_of(exponent=exponent), np.random.default_rng(1).uniform(size=SIZE), 1e-5
    each = step * np.eye(SIZE)
    gradient = [(dual.norm(x + e)[0] - dual.norm(x - e)[0]) / (4 * step) for e in each]
    N, w, h = dual.norm(x)
    np.testing.assert_allclose(w @ h, gradient, rtol=1e-6)

    def slope(at):
        _, w, h = dual.norm(at)
        return w @ h

    curvature = np.array([(slope(x + e) - slope(x - e)) / (2 * step) for e in each])
    np.testing.assert_allclose(dual.curvature(N, w, h), curvature, rtol=1e-4, atol=1e-5)


def test_values_of_both_problems():
    dual, x = dual_of(), np.random.default_rng(1).uniform(size=SIZE)
    b = np.array([0.1, 0.5])
    N, w, h = dual.norm(x)
    D = x @ dual.biases
    lower, upper = dual.values(x, b, (N, w, h))
    assert lower == pytest.approx(dual.linear @ x - N / 2 - 0.7 * sum(max(0.0, part) for part in D))
    heights = [dual.linear[c] - sum(w[m] * h[m, c] for m in range(M)) - dual.biases[c] @ b for c in range(SIZE)]
    slacks = [max(0.0, *(heights[c] for c in range(SIZE) if dual.rows[g, c])) for g in range(2)]
    assert upper == pytest.approx(N / 2 + dual.caps @ slacks)
    assert dual.relative_gap(x, b, (N, w, h)) == pytest.approx((upper - lower) / upper)


@pytest.mark.parametrize("balance", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(4))
def test_the_first_point_is_inside(balance, seed):
    dual = dual_of(seed, balance)
    point = Iterate.first(dual)
    assert len(point.x) == SIZE + (2 * K if balance else 0) and len(point.nu) == (K if balance else 0)
    assert point.x.min() > 0 and point.z.min() >= 0.1 and point.slack.min() > 0
    np.testing.assert_allclose(point.slack * point.y, 0.1)
    np.testing.assert_allclose(dual.rows @ point.x[:SIZE], np.minimum(dual.caps, 1) / 2)
    if balance:
        np.testing.assert_allclose(
            point.x[:SIZE] @ dual.biases + point.x[SIZE : SIZE + K] - point.x[SIZE + K :], 0, atol=1e-15
        )
        assert point.bias().min() >= 0 and point.bias().max() <= balance
    total = point.x @ point.z + point.slack @ point.y
    assert point.complementarity == pytest.approx(total / (len(point.x) + 2))


@pytest.mark.parametrize("balance", [0.0, 0.7])
def test_uphill_is_the_gradient_of_the_lagrangian(balance):
    point, step = point_of(balance=balance), 1e-6
    dual = point.dual

    def lagrangian(x):
        cuts = x[:SIZE]
        total = dual.norm(cuts)[0] / 2 - dual.linear @ cuts + point.y @ (dual.rows @ cuts) - point.z @ x
        if balance:
            total += (
                point.nu @ (cuts @ dual.biases + x[SIZE : SIZE + K] - x[SIZE + K :]) + balance * x[SIZE + K :].sum()
            )
        return total

    n = len(point.x)
    expected = [(lagrangian(point.x + e) - lagrangian(point.x - e)) / (2 * step) for e in step * np.eye(n)]
    np.testing.assert_allclose(point.uphill, expected, atol=1e-7)
    assert point.error == pytest.approx(np.abs(point.uphill).max() + point.complementarity)


@pytest.mark.parametrize("lifted", [False, True])
@pytest.mark.parametrize("balance", [0.0, 0.7])
def test_a_direction_solves_the_linearised_equations(lifted, balance):
    point = point_of(lifted=lifted, balance=balance)
    dual, n, rng = point.dual, len(point.x), np.random.default_rng(2)
    of_x, of_slack, of_w = rng.normal(size=n), rng.normal(size=2), rng.normal(size=len(point.w))
    change = Newton(point, point._matrix()).direction(0.05, of_x, of_slack, of_w)
    np.testing.assert_allclose(point.x * change.z + point.z * change.x, 0.05 - of_x - point.x * point.z, atol=1e-9)
    np.testing.assert_allclose(change.slack, -dual.rows @ change.x[:SIZE])
    products = point.slack * change.y + point.y * change.slack
    np.testing.assert_allclose(products, 0.05 - of_slack - point.slack * point.y, atol=1e-9)
    if balance:
        equation = change.x[:SIZE] @ dual.biases + change.x[SIZE : SIZE + K] - change.x[SIZE + K :]
        np.testing.assert_allclose(equation, 0, atol=1e-9)
    if lifted:
        products = point.w * change.zeta + point.zeta * change.w
        np.testing.assert_allclose(products, 0.05 - of_w - point.w * point.zeta, atol=1e-9)
    small = 1e-6
    moved, back = point._moved(change, small), point._moved(change, -small)
    np.testing.assert_allclose((moved.uphill - back.uphill) / (2 * small), -point.uphill, atol=1e-5)
    if lifted:  # the equations are linear in w up to its own size: compare them divided by it
        change_of = (moved.misfit[:-1] / moved.w - back.misfit[:-1] / back.w) / (2 * small)
        np.testing.assert_allclose(change_of, -point.misfit[:-1] / point.w, atol=1e-5)


def test_steps_reach_to_the_boundary():
    point = point_of(balance=0.0)
    newton = Newton(point, point._matrix())
    zero = ConeChange(*(np.zeros(n) for n in (SIZE, SIZE, 2, 2, 0, 0, 0)), 0.0)
    most = newton.reach(zero)
    assert 1 < most < 1.1
    for name, values in (("x", point.x), ("z", point.z), ("slack", point.slack), ("y", point.y)):
        change = ConeChange(**{**vars(zero), name: -4 * values * np.eye(len(values))[1]})
        assert newton.reach(change) == pytest.approx(0.25)
        assert newton.reach(ConeChange(**{**vars(zero), name: 4 * values})) == most


@pytest.mark.parametrize("lifted", [False, True])
@pytest.mark.parametrize(("correct", "exponent"), [(True, 2.0), (True, 5.0), (False, 1.3), (False, 2.0), (False, 5.0)])
def test_steps_close_the_gap(lifted, correct, exponent):
    dual = dual_of(exponent=exponent)
    point = Iterate.first(dual).lift() if lifted else Iterate.first(dual)
    first = point.error
    for _ in range(40):
        point = point.step(correct)
        if point.error < 1e-7 * first:
            break
    assert min(point.x.min(), point.z.min(), point.slack.min(), point.y.min()) > 0
    assert point.error < 1e-6 * first
    x = point.x[:SIZE]
    assert dual.relative_gap(x, point.bias(), point.norm_at(x)) < 1e-4
