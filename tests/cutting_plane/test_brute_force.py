"""The search against the global optimum over all labelings, on problems small enough to enumerate them.

For two clusters and no bias, w = W_1 - W_0 carries everything: |W|^2 = |w|^2 / 2 at the optimum, so that a labeling
y in {-1, 1}^n costs

    min_w  beta/4 |w|^2 + 1/n sum_i max(0, 1 - y_i w.x_i)
    = max_a  sum_i a_i - 1/beta |sum_i a_i y_i x_i|^2    over 0 <= a_i <= 1/n.

Coordinate ascent on all duals at once gives a lower bound for every labeling and an upper bound for the best one;
labelings whose lower bound is above it are out, and the few that are left are solved to 1e-9.
"""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.cluster import KMeans

from _problems import blobs, centre, clarabel_value, make_problem, make_search, numpy_objective
from widegap import CPM3C
from widegap.cutting_plane._cccp import ORDERS, search_from
from widegap.cutting_plane._qp import solve_qp

ORDER_NAMES = sorted(ORDERS)
N_RANDOM_STARTS = 10
quick_and_whole = pytest.mark.parametrize("n_cases", [30, pytest.param(100, marks=pytest.mark.slow)])
FRACTIONS = [0.3, 0.8, 1.0]  # of n / 2 rows at least; 0.8 changes 4 of 100 optima, 1.0 changes 39


class Case(NamedTuple):
    X: np.ndarray
    Z: np.ndarray
    beta: float
    min_count: int
    optimum: float


def make_case(seed, fraction):
    """10 to 12 rows in 1 to 3 dimensions, without structure or around two centres, in a random unit."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(10, 13)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-2, 2) if seed % 2 else blobs(rng, n, d, 2, spread=2.0)
    beta, min_count = 10 ** rng.uniform(-2, 0), max(1, int(fraction * n / 2))
    Z = centre(X)
    return Case(X, Z, beta, min_count, global_optimum(Z, beta, min_count)[0])


def all_labelings(n, min_count):
    """Every way to split n rows in two that meets the bound; the last row is in cluster 0, names being no matter."""
    labelings = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1
    sizes = labelings.sum(axis=1)
    return labelings[(sizes >= min_count) & (n - sizes >= min_count)]


def labeling_value(Z, signs, beta):
    """Optimum of the convex problem of one labeling, by its dual over the rows."""
    rows = Z * signs[:, None]
    n = len(Z)
    return solve_qp(2 / beta * (rows @ rows.T), np.ones(n), np.arange(n), np.full(n, 1 / n)).dual


def global_optimum(Z, beta, min_count):
    """Least value of F over all labelings, and that labeling."""
    n = len(Z)
    signs = 2.0 * all_labelings(n, min_count) - 1
    a, w = np.zeros(signs.shape), np.zeros((len(signs), Z.shape[1]))
    curvature = 2 / beta * np.square(Z).sum(axis=1)
    for _ in range(40):
        for i in range(n):
            new = np.clip(a[:, i] + (1 - signs[:, i] * (w @ Z[i])) / max(curvature[i], 1e-12), 0, 1 / n)
            w += 2 / beta * np.outer((new - a[:, i]) * signs[:, i], Z[i])
            a[:, i] = new
        regulariser = beta / 4 * np.square(w).sum(axis=1)
        upper = (regulariser + np.maximum(0, 1 - signs * (w @ Z.T)).mean(axis=1)).min()
        left = a.sum(axis=1) - regulariser <= upper * (1 + 1e-12)
        signs, a, w = signs[left], a[left], w[left]
    values = [labeling_value(Z, s, beta) for s in signs]
    return min(values), (signs[np.argmin(values)] > 0).astype(np.int32)


def starts_of(case, seed):
    """k-means, then random hyperplanes through the mean."""
    rng = np.random.default_rng([seed, 1])
    yield KMeans(2, n_init=1, random_state=seed).fit_predict(case.X).astype(np.int32)
    for _ in range(N_RANDOM_STARTS):
        yield (case.Z @ rng.normal(size=case.Z.shape[1]) > 0).astype(np.int32)


def finds_optimum(case, seed, orders):
    """Whether some start reaches the optimum under some order; every run on the way must be honest."""
    for start in starts_of(case, seed):
        for order in orders:
            problem = make_problem(case.X, 2, case.beta, min_count=case.min_count)
            point = search_from(make_search(problem, start, tol=1e-7), order, anneal=False).point
            assert np.bincount(point.labels, minlength=2).min() >= case.min_count
            assert point.objective == pytest.approx(numpy_objective(case.Z, point, case.beta), rel=1e-9)
            assert point.objective >= case.optimum * (1 - 1e-6)
            if point.objective <= case.optimum * (1 + 1e-6):
                return True
    return False


# The referee itself ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_referee_agrees_with_clarabel_on_every_labeling_of_six_rows(seed):
    rng = np.random.default_rng(seed)
    Z, beta = centre(rng.normal(size=(6, 2))), [0.02, 0.2, 1.0][seed]
    values = {}
    for labels in all_labelings(6, 1):
        values[tuple(labels)] = clarabel_value(Z, labels, 2, beta, "max")
        assert labeling_value(Z, 2.0 * labels - 1, beta) == pytest.approx(values[tuple(labels)], rel=1e-6)
    for min_count in (1, 2, 3):
        optimum, labels = global_optimum(Z, beta, min_count)
        assert min(labels.sum(), 6 - labels.sum()) >= min_count
        allowed = [v for z, v in values.items() if min_count <= sum(z) <= 6 - min_count]
        assert optimum == pytest.approx(min(allowed), rel=1e-6)


def test_labelings_are_all_splits_once():
    assert len(all_labelings(5, 0)) == 16
    assert len(all_labelings(5, 1)) == 15
    assert len(all_labelings(5, 2)) == 10
    assert len(all_labelings(6, 3)) == 10


# The search ------------------------------------------------------------------------------------------------------


# Measured: 100, 100, 100 of seeds 0-99 (all of the first 30) and 100, 99, 100 of seeds 1000-1099.
@quick_and_whole
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_starts_over_all_orders_find_the_global_optimum(fraction, n_cases):
    found = sum(finds_optimum(make_case(seed, fraction), seed, ORDER_NAMES) for seed in range(n_cases))
    assert found >= 0.95 * n_cases


# Measured, same seeds and fractions: cuts_first 95, 95, 92 and 98, 96, 96; linearize_first 98, 98, 99 and 96, 95, 95;
# one_step 96, 96, 94 and 99, 97, 94.
@pytest.mark.slow
@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("order", ORDER_NAMES)
def test_starts_of_one_order_mostly_find_the_global_optimum(order, fraction):
    found = sum(finds_optimum(make_case(seed, fraction), seed, [order]) for seed in range(100))
    assert found >= 90


def estimator_objectives(seed, order, fraction):
    """Objective of the fitted estimator, the lowest of all its starts, and the global optimum."""
    case = make_case(seed, fraction)
    variance = np.square(case.X - case.X.mean(axis=0)).sum(axis=1).mean()
    model = CPM3C(
        2, C=1 / (case.beta * variance), init="random", n_init=20, order=order, tol=1e-8, max_iter=1000,
        min_cluster_fraction=fraction, random_state=seed,
    ).fit(case.X)  # fmt: skip
    return model.objective_, min(record.objective for record in model.history_), case.optimum


# Measured of 100: one_step 98 (and 30 of 30), cuts_first 96, linearize_first 100; with n_init=10: 95, 96, 95.
@quick_and_whole
@pytest.mark.parametrize(
    "order", ["one_step", *(pytest.param(o, marks=pytest.mark.slow) for o in ("cuts_first", "linearize_first"))]
)
def test_the_estimator_finds_the_global_optimum(order, n_cases):
    results = [estimator_objectives(seed, order, 0.3) for seed in range(n_cases)]
    assert all(objective >= optimum * (1 - 1e-6) for objective, _, optimum in results)
    assert sum(objective <= optimum * (1 + 1e-6) for objective, _, optimum in results) >= 0.95 * n_cases


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDER_NAMES)
def test_with_a_bound_that_bites_some_start_of_the_estimator_finds_the_global_optimum(order):
    # The estimator itself prefers runs that the bound did not decide, so its objective_ may be higher on purpose.
    results = [estimator_objectives(seed, order, 0.8) for seed in range(100)]
    assert all(objective >= optimum * (1 - 1e-6) for objective, _, optimum in results)
    assert sum(lowest <= optimum * (1 + 1e-6) for _, lowest, optimum in results) >= 95


def bounded_objective(seed):
    """Objective of a fit with bounds on sizes that bite, in the forms that users give them, and the optimum."""
    case = make_case(seed, 1.0)
    n = len(case.X)
    most = -(-n // 2) + seed % 2
    optimum, _ = global_optimum(case.Z, case.beta, n - most)
    bounds = [{"size_max": most}, {"size_min": n - most}, {"size_min": n - most, "size_max": most}][seed % 3]
    variance = np.square(case.X - case.X.mean(axis=0)).sum(axis=1).mean()
    model = CPM3C(
        2, C=1 / (case.beta * variance), init="random", n_init=20, order="one_step", tol=1e-6, max_iter=1000,
        min_cluster_fraction=0, random_state=seed, **bounds,
    ).fit(case.X)  # fmt: skip
    sizes = np.bincount(model.labels_, minlength=2)
    assert sizes.min() >= n - most and sizes.max() <= most
    return model.objective_ / optimum


# Measured: 30 of 30; one where a run that a bound decided was passed over was 1.37 before.
def test_fits_within_bounds_on_sizes_are_within_a_percent_of_brute_force():
    ratios = np.array([bounded_objective(seed) for seed in range(12)])
    assert (ratios >= 1 - 1e-6).all()
    assert (ratios <= 1.01).sum() >= 11
