"""Label step, machines on finite features, and their alternation, against definitions and LIBSVM."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from widegap.exceptions import InfeasibleBalanceError, SolverError
from widegap.iterative import _alternation, _svm
from widegap.iterative._alternation import alternate, relaxed_search, solve_least_squares
from widegap.iterative._bisection import principal_axes
from widegap.iterative._svm import WarmStart, classification_hinges, regression_hinges, solve_svm
from widegap.iterative._threshold import (
    absolute_losses,
    best_split,
    bisection_bounds,
    hinge_losses,
    square_losses,
)
from widegap.metrics import clustering_error

LOSSES = {
    "square": (square_losses, lambda v, y: np.square(v - y)),
    "absolute": (absolute_losses, lambda v, y: np.abs(v - y)),
    "hinge": (hinge_losses, lambda v, y: np.maximum(0, 1 - y * v)),
}
every_loss = pytest.mark.parametrize("name", LOSSES)


# The label step


def loss_of_cut(values, m, name):
    """Least loss over b with the m largest of descending values positive; it is least at a kink, or at the mean."""
    y = np.where(np.arange(len(values)) < m, 1.0, -1.0)
    biases = [(y - values).mean()] if name == "square" else y - values
    return min(LOSSES[name][1](values + b, y).sum() for b in biases)


def best_by_definition(f, name, low, high):
    """The O(n^2) definition (times n for the kinks); cuts between equal values only if there is no other."""
    values = np.sort(f)[::-1]
    within = range(low, high + 1)
    cuts = [m for m in within if values[m - 1] > values[m]] or list(within)
    return min(loss_of_cut(values, m, name) for m in cuts)


distinct_values = st.integers(2, 14).flatmap(lambda n: arrays(float, n, elements=st.floats(-4, 4, width=16)))
tied_values = st.integers(2, 14).flatmap(
    lambda n: arrays(float, n, elements=st.sampled_from([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0]))
)


@every_loss
@settings(deadline=None, max_examples=100)
@given(
    f=(distinct_values | tied_values).filter(lambda f: len(np.unique(f)) > 1),
    fraction=st.floats(0, 1),
    shift=st.sampled_from([0.0, 3.0, -1e6]),
)
def test_split_equals_its_definition(name, f, fraction, shift):
    [(low, high)] = bisection_bounds(len(f), fraction)
    f = f + shift
    split = best_split(f, LOSSES[name][0], [(low, high)])  # whatever values are equal
    scale = 1 + abs(shift)
    assert split.loss == pytest.approx(best_by_definition(f, name, low, high), abs=1e-9 * scale)
    assert low <= split.n_positive <= high
    assert split.n_positive == np.count_nonzero(split.y > 0)
    if f[split.y > 0].min() > f[split.y < 0].max():
        np.testing.assert_array_equal(f + split.bias > 0, split.y > 0)
    if not split.bound_active:
        assert split.loss <= best_by_definition(f, name, 1, len(f) - 1) + 1e-9 * scale


@every_loss
@settings(deadline=None, max_examples=50)
@given(f=distinct_values.filter(lambda f: len(np.unique(f)) > 1), seed=st.integers(0, 99))
def test_split_does_not_depend_on_the_order_of_rows(name, f, seed):
    order = np.random.default_rng(seed).permutation(len(f))
    split, moved = (best_split(values, LOSSES[name][0], [(1, len(f) - 1)]) for values in (f, f[order]))
    assert split.loss == pytest.approx(moved.loss, abs=1e-9)


@every_loss
def test_split_of_a_large_sample_equals_its_definition(name):
    f = np.random.default_rng(0).normal(size=301) ** 3
    [(low, high)] = bisection_bounds(301, 0.6)
    split = best_split(f, LOSSES[name][0], [(low, high)])
    assert split.loss == pytest.approx(best_by_definition(f, name, low, high), rel=1e-10)


@every_loss
def test_four_points_by_hand(name):
    split = best_split(np.array([1.0, -1.0, 1.0, -1.0]) + 7, LOSSES[name][0], [(1, 3)])
    np.testing.assert_array_equal(split.y, [1, -1, 1, -1])
    assert split.loss == 0 and split.bias == -7 and not split.bound_active


@pytest.mark.parametrize(
    ("n", "fraction", "n_leaves", "bounds"),
    [
        (100, 0.94, 2, [(47, 53)]),  # |n_plus - n/2| <= 0.03 n
        (100, 0.7, 2, [(35, 65)]),
        (100, 1.0, 2, [(50, 50)]),
        (7, 1.0, 2, [(3, 4)]),
        (2, 1.0, 2, [(1, 1)]),
        (3, 0.0, 2, [(1, 2)]),
        (9, 0.0, 2, [(1, 8)]),
        (100, 0.94, 3, [(32, 37), (63, 68)]),
        (99, 1.0, 3, [(33, 33), (66, 66)]),
        (100, 1.0, 3, [(33, 34), (66, 67)]),
        (100, 0.8, 4, [(40, 60)]),
        (100, 0.9, 5, [(36, 46), (54, 64)]),
        (2, 1.0, 3, [(1, 1), (1, 1)]),
    ],
)
def test_bounds_of_a_bisection_follow_its_share_of_clusters(n, fraction, n_leaves, bounds):
    assert bisection_bounds(n, fraction, n_leaves) == bounds


@every_loss
def test_best_of_several_bounds(name):
    f = np.random.default_rng(0).normal(size=60) ** 3
    bounds = [(20, 20), (40, 40)]
    split = best_split(f, LOSSES[name][0], bounds)
    assert split.loss == pytest.approx(min(best_by_definition(f, name, *pair) for pair in bounds))
    assert split.n_positive in (20, 40)


@every_loss
def test_a_bound_that_costs_nothing_is_not_called_active(name):
    for seed in range(20):
        half = 1e5 * np.random.default_rng(seed).uniform(1, 2, 21)
        f = np.concatenate([half, -half, [0.0]])  # mirrored, so the cuts m and 43 - m lose the same
        best = best_split(f, LOSSES[name][0], [(1, 42)]).n_positive
        for m in (best, 43 - best):
            assert not best_split(f, LOSSES[name][0], [(m, m)]).bound_active


@every_loss
def test_bounds_that_would_divide_equal_values_are_passed_over(name):
    f = np.array([2.0] * 6 + [0.0, -1.0, -2.0])
    assert best_split(f, LOSSES[name][0], [(3, 3), (6, 6)]).n_positive == 6


@every_loss
def test_equal_values_are_refused(name):
    with pytest.raises(InfeasibleBalanceError, match="All 6 decision values are equal, .* raise C"):
        best_split(np.full(6, 0.3), LOSSES[name][0], [(1, 5)])


@every_loss
@pytest.mark.parametrize("n_equal", [2, 8, 98])
def test_equal_values_are_divided_in_their_order_if_the_bound_asks_for_it(name, n_equal):
    f = np.concatenate([[2.0], np.zeros(n_equal), [-1.0]])
    half = (n_equal + 2) // 2
    split = best_split(f, LOSSES[name][0], [(half, half)])
    np.testing.assert_array_equal(split.y > 0, np.arange(n_equal + 2) < half)
    assert split.bound_active
    assert best_split(f, LOSSES[name][0], [(1, n_equal + 1)]).n_positive in (1, n_equal + 1)


# Machines


def problem(n=120, seed=0, gamma=0.05):
    """Features of a kernel and labels that it cannot fit, with the centred kernel matrix."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, 4)) + 0.7 * y[:, None]
    K = rbf_kernel(X, gamma=gamma)
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-12
    return vectors[:, keep] * np.sqrt(values[keep]), y, K


def primal(Phi, w, b, y, C, loss):
    return w @ w / 2 + C * loss(Phi @ w + b, y).sum()


@pytest.mark.parametrize("C", [0.01, 1.0, 500.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.5])
def test_regression_agrees_with_libsvm(C, epsilon):
    Phi, y, K = problem()
    axes = principal_axes(Phi, 1e6)
    machine = solve_svm(axes.P, regression_hinges(y, epsilon), C, tol=1e-8)
    referee = SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=1e-6).fit(K, y)
    w = Phi[referee.support_].T @ referee.dual_coef_[0]

    def loss(v, y):
        return np.maximum(0, np.abs(v - y) - epsilon)

    expected = primal(Phi, w, referee.intercept_[0], y, C, loss)
    assert expected * (1 - 1e-3) <= machine.objective <= expected * (1 + 1e-7)  # LIBSVM stops a little above
    assert machine.objective == pytest.approx(primal(axes.P, machine.w, machine.b, y, C, loss), rel=1e-12)
    assert 0 <= machine.gap <= 1e-8
    f = Phi @ w  # the weights are unique, the intercept need not be
    np.testing.assert_allclose(machine.f, f - f.mean(), atol=0.02)


@pytest.mark.parametrize("C", [0.01, 1.0, 500.0])
def test_classification_agrees_with_libsvm(C):
    Phi, y, K = problem()
    axes = principal_axes(Phi, 1e6)
    machine = solve_svm(axes.P, classification_hinges(y), C, tol=1e-8)
    referee = SVC(kernel="precomputed", C=C, tol=1e-6).fit(K, y)
    w = Phi[referee.support_].T @ referee.dual_coef_[0]
    expected = primal(Phi, w, referee.intercept_[0], y, C, LOSSES["hinge"][1])
    assert expected * (1 - 1e-3) <= machine.objective <= expected * (1 + 1e-7)
    assert 0 <= machine.gap <= 1e-8


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    "hinges", [lambda y: regression_hinges(y, 0.05), classification_hinges], ids=["regression", "classification"]
)
def test_machines_are_solved_whatever_the_scale(hinges, scale, C):
    Phi, y, _ = problem(60)
    axes = principal_axes(Phi, 1e3)
    machine = solve_svm(axes.P * scale, hinges(y), C / scale**2)
    assert machine.gap <= 1e-4


@pytest.mark.parametrize(
    "hinges", [lambda y: regression_hinges(y, 0.05), classification_hinges], ids=["regression", "classification"]
)
def test_machine_of_one_class_is_its_intercept(hinges):
    Phi, y, _ = problem(40)
    machine = solve_svm(principal_axes(Phi, 1.0).P, hinges(np.ones(40)), 1.0)
    assert np.abs(machine.f).max() < 1e-3 and machine.b >= 0.95 - 1e-3


def test_unsolved_machine_says_so():
    Phi, y, _ = problem()
    with pytest.raises(SolverError, match="relative duality gap of .* after 1 steps, more than 1e-08; lower C or"):
        solve_svm(principal_axes(Phi, 1.0).P, classification_hinges(y), 1.0, tol=1e-8, max_iter=2)


def test_a_machine_that_all_but_converged_says_so_too():
    Phi, y, _ = problem()
    P, hinges = principal_axes(Phi, 1.0).P, classification_hinges(y)
    n_iter = solve_svm(P, hinges, 1.0).n_iter
    with pytest.raises(SolverError, match="relative duality gap of [0-9.]+e-0[234] after .* steps, more than 1e-04"):
        solve_svm(P, hinges, 1.0, max_iter=n_iter)  # the first round judges the start


@pytest.mark.parametrize(
    "hinges", [lambda y: regression_hinges(y, 0.05), classification_hinges], ids=["regression", "classification"]
)
@pytest.mark.parametrize("flips", [0, 2, 20, 60])
def test_warm_start_changes_the_steps_and_not_the_machine(hinges, flips):
    Phi, y, _ = problem()
    P = principal_axes(Phi, 1e3).P
    before = solve_svm(P, hinges(y), 10.0)
    y[np.random.default_rng(0).permutation(120)[:flips]] *= -1
    cold = solve_svm(P, hinges(y), 10.0)
    warm = solve_svm(P, hinges(y), 10.0, WarmStart(before, flips / 120))
    assert warm.gap <= 1e-4
    assert warm.objective == pytest.approx(cold.objective, rel=2e-4)
    if flips <= 2:
        assert warm.n_iter < cold.n_iter + (flips > 0)  # fewer from the same labels, never more from nearly the same


def test_a_warm_start_lies_on_the_central_path():
    rng = np.random.default_rng(0)
    P, y = rng.normal(size=(40, 3)), np.where(np.arange(40) % 2, 1.0, -1.0)
    C, hinges = 2.5, classification_hinges(y)
    warm = WarmStart(solve_svm(P - P.mean(axis=0), hinges, C), 0.1)
    state = _svm._warm_state(warm, hinges, C)
    mu = C * _svm.WARM_FACTOR * warm.moved
    excess = hinges.side * (state.f + state.b - hinges.knot)
    assert mu > C * _svm.WARM_LEAST
    np.testing.assert_allclose((C - state.a) * state.xi, mu, rtol=1e-9)
    np.testing.assert_allclose(state.a * (state.xi - excess), mu, rtol=1e-9)


@pytest.mark.parametrize(
    "hinges", [lambda y: regression_hinges(y, 0.05), classification_hinges], ids=["regression", "classification"]
)
def test_useless_warm_start_is_given_up(hinges):
    Phi, y, _ = problem()
    P = principal_axes(Phi, 1e3).P
    expected = solve_svm(P, hinges(y), 10.0)
    useless = _svm.Machine(np.full(P.shape[1], 1e20), 1e20, P.sum(axis=1) * 1e20, 0.0, 0.0, 1)
    found = solve_svm(P, hinges(y), 10.0, WarmStart(useless, 0.0))
    assert found.objective == pytest.approx(expected.objective, rel=2e-4)


def test_features_too_large_for_single_precision_are_solved_in_double(monkeypatch):
    Phi, y, _ = problem()
    P = principal_axes(Phi, 1e3).P
    seen = []
    original = _svm._weighted_gram
    monkeypatch.setattr(_svm, "_weighted_gram", lambda P, omega: seen.append(P.dtype) or original(P, omega))
    small, large = (solve_svm(P * scale, classification_hinges(y), 1.0 / scale**2) for scale in (1.0, 1e3))
    assert small.objective == pytest.approx(large.objective * 1e6, rel=2e-4)
    assert set(seen[: small.n_iter]) == {np.dtype(np.float32)} and set(seen[small.n_iter :]) == {np.dtype(np.float64)}


def test_blocks_of_the_gram_matrix_add_up(monkeypatch):
    Phi, y, _ = problem()
    P = principal_axes(Phi, 1.0).P
    expected = solve_svm(P, classification_hinges(y), 1.0, tol=1e-8).objective
    monkeypatch.setattr(_svm, "GRAM_ROWS", 7)
    assert solve_svm(P, classification_hinges(y), 1.0, tol=1e-8).objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_least_squares_agree_with_the_dual_system(C):
    Phi, y, K = problem()
    machine = solve_least_squares(principal_axes(Phi, 1e6), y, C)
    n = len(y)
    system = np.block([[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), K + np.eye(n) / C]])
    solution = np.linalg.solve(system, np.concatenate([[0.0], y]))
    np.testing.assert_allclose(machine.f + machine.b, K @ solution[1:] + solution[0], atol=1e-5)
    H = np.linalg.inv(K + np.eye(n) / C)
    A = H - np.outer(H.sum(0), H.sum(0)) / H.sum()
    assert machine.objective == pytest.approx(y @ A @ y / 2, rel=1e-5)  # J of METHODS, halved


def test_axes_are_centred_and_orthogonal():
    Phi, _, _ = problem()
    axes = principal_axes(Phi + 5, 1e4)
    np.testing.assert_allclose(axes.P.T @ axes.P, np.diag(axes.lam), atol=1e-9)
    np.testing.assert_allclose(axes.P.sum(axis=0), 0, atol=1e-9)
    w = np.random.default_rng(0).normal(size=axes.P.shape[1])
    np.testing.assert_allclose((Phi + 5 - axes.mean) @ axes.coef(w), axes.P @ w, atol=1e-9)


def test_short_axes_are_left_out_and_hardly_matter():
    Phi, y, _ = problem(gamma=0.002)
    few, all_axes = principal_axes(Phi, 10.0), principal_axes(Phi, 1e9)
    assert few.P.shape[1] < 0.7 * all_axes.P.shape[1]
    objectives = [solve_svm(axes.P, regression_hinges(y, 0.05), 10.0).objective for axes in (few, all_axes)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_no_axes(dtype):
    assert principal_axes(np.full((30, 3), 0.1, dtype), 1.0).P.shape[1] == 0


# The alternation


def by_square_loss(C=1.0, fraction=0.6):
    Phi, y, _ = problem()
    axes = principal_axes(Phi, C)
    bounds = bisection_bounds(len(y), fraction)

    def fit(y, warm=None):
        return solve_least_squares(axes, y, C)

    return fit, lambda f: best_split(f, square_losses, bounds)


def run(fit, relabel, y, max_iter=100, stop=None):
    steps = []

    def record(step):
        steps.append(step)
        return stop is not None and len(steps) >= stop

    return alternate(fit, relabel, y, max_iter=max_iter, record=record), steps


@pytest.mark.parametrize("seed", range(5))
def test_square_loss_never_increases_and_ends_in_a_fixed_point(seed):
    fit, relabel = by_square_loss()
    y = np.where(np.random.default_rng(seed).permutation(120) < 60, 1.0, -1.0)
    found, steps = run(fit, relabel, y)
    objectives = [step.machine.objective for step in steps]
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])
    assert found.converged and not found.cycled and found.n_iter == len(steps)
    np.testing.assert_array_equal(relabel(fit(found.step.split.y).f).y, found.step.split.y)


def scripted(labelings, objectives):
    """A fit whose values lead from each labeling to the next one, and from the last to the first of the cycle."""
    labelings = [np.array(y, float) for y in labelings]

    def fit(y, warm):
        here = next(i for i, known in enumerate(labelings) if (known == y).all())
        following = labelings[here + 1] if here + 1 < len(labelings) else labelings[1]
        return _svm.Machine(np.zeros(1), 0.0, following, objectives[here], 0.0, 1)

    return fit, lambda f: best_split(f, square_losses, [(1, len(f) - 1)])


def test_cycle_is_detected_and_its_best_member_kept():
    labelings = [[1, -1, -1, -1], [1, 1, -1, -1], [1, -1, 1, -1], [-1, 1, 1, -1]]
    fit, relabel = scripted(labelings, objectives=[0.5, 3.0, 1.0, 2.0])  # the first is not on the cycle
    found, steps = run(fit, relabel, np.array(labelings[0], float))
    assert found.cycled and not found.converged
    assert found.n_iter == len(steps) == 4
    assert found.step.machine.objective == 1.0 and found.step.iteration == 2
    np.testing.assert_array_equal(found.step.split.y, labelings[3])


def test_alternation_stops_when_told_or_tired():
    fit, relabel = by_square_loss()
    y = np.where(np.random.default_rng(0).permutation(120) < 60, 1.0, -1.0)
    for found in (run(fit, relabel, y, stop=1)[0], run(fit, relabel, y, max_iter=1)[0]):
        assert found.n_iter == 1 and not found.converged and not found.cycled
        assert found.step.flips > 0


def test_histogram_counts_every_row():
    fit, relabel = by_square_loss()
    _, steps = run(fit, relabel, np.where(np.arange(120) < 60, 1.0, -1.0))
    for step in steps:
        assert sum(step.margin_counts) == 120
        assert len(step.margin_edges) == len(step.margin_counts) + 1


# The relaxed search


def digit_pair(first, second):
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, [first, second])
    return X[chosen], y[chosen]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_relaxed_search_does_not_depend_on_the_scale(scale):
    X, _ = digit_pair(2, 7)
    expected = relaxed_search(principal_axes(X, tail_tol=0.0), np.where(X[:, 20] > 8, 1.0, -1.0), [(100, 256)])
    axes = principal_axes(X * scale, tail_tol=0.0)
    found = relaxed_search(axes, np.where(X[:, 20] > 8, 1.0, -1.0), [(100, 256)])
    np.testing.assert_array_equal(found.step.split.y, expected.step.split.y)


@pytest.mark.parametrize("freedom", [0.5, 10.0, 40.0])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_cost_of_degrees_of_freedom(freedom, scale):
    lam = scale * np.geomspace(1, 1e-8, 50)
    C = _alternation._cost_of(freedom, lam)
    assert (lam / (lam + 1 / C)).sum() == pytest.approx(freedom)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 3), (40, 30), (400, 4)])
def test_relaxed_search_of_few_rows_or_axes(n, d):
    axes = principal_axes(np.random.default_rng(0).normal(size=(n, d)), tail_tol=0.0)
    found = relaxed_search(axes, np.where(np.arange(n) % 2, 1.0, -1.0), [(1, n - 1)])
    assert found.converged and 1 <= found.step.split.n_positive <= n - 1


def test_relaxed_search_leaves_a_start_where_turns_at_once_stay():
    """Digits 2 and 7, as many axes as pixels: from k-means 2.5 % err after least squares alone, none after relaxing."""
    X, y = digit_pair(2, 7)
    axes, bounds = principal_axes(X, tail_tol=0.0), bisection_bounds(len(X), 0.94)
    start = np.where(KMeans(2, n_init=1, random_state=0).fit(X).labels_, 1.0, -1.0)
    found = relaxed_search(axes, start, bounds)
    assert clustering_error(y, found.step.split.y) < clustering_error(y, start) / 2


def test_values_that_differ_by_rounding_only_are_not_divided():
    f = np.array([3.0, 2.0, 1.0 + 1e-12, 1.0, 0.0, -1.0])

    def best_between_equals(values):  # at three positives
        return np.where(np.arange(1, 6) == 3, 0.0, 1.0), np.zeros(5)

    assert best_split(f, best_between_equals, [(1, 5)]).n_positive != 3
    forced = best_split(f, best_between_equals, [(3, 3)])
    assert forced.n_positive == 3 and forced.bound_active
    assert best_split(f + [0, 0, 1e-9, 0, 0, 0], best_between_equals, [(1, 5)]).n_positive == 3


def test_values_that_differ_less_than_labels_can_be_told_apart_are_refused():
    with pytest.raises(InfeasibleBalanceError, match="All 4 decision values are equal"):
        best_split(np.array([0.0, 1e-14, 2e-14, 5e-14]), LOSSES["hinge"][0], [(1, 3)])
