"""The label step against brute force, linear programming and its own duality certificate."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from widegap.constraints import _transport
from widegap.constraints._transport import Assignment, assign
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError

Costs = NDArray[np.floating]
Counts = NDArray[np.int64]


def brute_force_cost(costs: Costs, min_counts: Counts) -> float:
    """Least cost over all labelings."""
    n, k = costs.shape
    labelings = np.array(list(product(range(k), repeat=n)))
    counts = (labelings[:, :, None] == np.arange(k)).sum(axis=1)
    feasible = labelings[(counts >= min_counts).all(axis=1)]
    return float(costs[np.arange(n), feasible].sum(axis=1).min())


def linear_program_cost(costs: Costs, min_counts: Counts) -> float:
    """Least cost of the transportation problem's relaxation, which is integral."""
    n, k = costs.shape
    one_label_per_row = sparse.kron(sparse.eye_array(n), np.ones((1, k)), format="csr")
    sizes = sparse.kron(np.ones((1, n)), sparse.eye_array(k), format="csr")
    solution = linprog(
        costs.ravel(), A_ub=-sizes, b_ub=-min_counts, A_eq=one_label_per_row, b_eq=np.ones(n), method="highs"
    )
    assert solution.success
    return float(solution.fun)


def cost_of(costs: Costs, found: Assignment) -> float:
    """What the labels cost."""
    return float(costs[np.arange(len(costs)), found.labels].astype(np.float64).sum())


def check_certificate(costs: Costs, min_counts: Counts, found: Assignment) -> None:
    """Feasibility, primal = dual, and complementary slackness: together these prove optimality."""
    costs = costs.astype(np.float64)
    n, k = costs.shape
    counts = np.bincount(found.labels, minlength=k)
    own = costs[np.arange(n), found.labels]
    priced = costs - found.prices
    size = 1.0 + np.abs(costs).sum()

    assert found.labels.dtype == np.int32 and found.prices.dtype == np.float64
    assert (counts >= min_counts).all()
    assert (found.prices >= 0).all()
    assert (found.prices[counts > min_counts] == 0).all()
    np.testing.assert_allclose(
        priced[np.arange(n), found.labels],
        priced.min(axis=1),
        rtol=0,
        atol=1e-12 * (1 + np.abs(priced).max(initial=0.0)),
    )
    dual = found.prices @ min_counts + priced.min(axis=1).sum()
    assert own.sum() == pytest.approx(dual, rel=1e-9, abs=1e-12 * size)


def make_cases() -> dict[str, tuple[Costs, Counts]]:
    """Problems of about 60 rows and 5 clusters, one for every shape that could go wrong."""
    rng = np.random.default_rng(0)
    n, k = 60, 5
    normal = rng.normal(size=(n, k))
    even = np.full(k, n // k)
    skewed = np.array([0, 0, 45, 0, 8])
    ties = rng.integers(0, 3, size=(n, k)).astype(float)
    line = (rng.uniform(size=(n, 1)) * 0.3 - np.arange(k) / k) ** 2
    return {
        "normal-even": (normal, even),
        "normal-skewed": (normal, skewed),
        "normal-no-bounds": (normal, np.zeros(k, dtype=int)),
        "ties-even": (ties, even),
        "ties-skewed": (ties, skewed),
        "all-rows-equal": (np.tile(rng.normal(size=k), (n, 1)), np.array([20, 0, 10, 5, 20])),
        "all-costs-equal": (np.ones((n, k)), even),
        "one-wanted-by-all": (normal - 10.0 * (np.arange(k) == 3), even),
        "one-wanted-by-none": (normal + 10.0 * (np.arange(k) == 3), np.array([1, 2, 3, 50, 4])),
        "paths-over-a-line": (line, even),
        "everyone-in-one-cluster": (normal, np.array([0, n, 0, 0, 0])),
        "huge-and-tiny": (normal * 10.0 ** rng.integers(-8, 9, size=(n, 1)), even),
        "offset": (normal + 1e6, even),
        "float32": (normal.astype(np.float32), even),
        "fortran-order": (np.asfortranarray(normal), skewed),
        "strided": (rng.normal(size=(n, 2 * k))[:, ::2], skewed),
        "integer-dtype": (rng.integers(-9, 9, size=(n, k)), even),
        "two-clusters": (normal[:, :2], np.array([10, 50])),
        "one-cluster": (normal[:, :1], np.array([60])),
        "one-row": (normal[:1], np.array([0, 0, 0, 1, 0])),
        "more-clusters-than-rows": (normal[:3], np.array([1, 0, 1, 1, 0])),
        "no-rows": (normal[:0], np.zeros(k, dtype=int)),
    }


CASES = make_cases()


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request: pytest.FixtureRequest) -> tuple[Costs, Counts]:
    return request.param


def test_four_rows_by_hand():
    """All rows prefer cluster 0; the two that lose least, 1 and 3, go; a third would cost 4."""
    costs = np.array([[0.0, 5.0], [0.0, 1.0], [0.0, 4.0], [0.0, 2.0]])
    found = assign(costs, np.array([1, 2]))
    np.testing.assert_array_equal(found.labels, [0, 1, 0, 1])
    np.testing.assert_array_equal(found.prices, [0.0, 2.0])


def test_a_chain_is_cheaper_than_a_direct_move():
    """Cluster 2 costs 9 to fill from cluster 0 directly, but 1 + 1 if row 2 goes there and row 0 replaces it."""
    costs = np.array([[0.0, 1.0, 9.0], [0.0, 8.0, 9.0], [9.0, 0.0, 1.0]])
    found = assign(costs, np.array([1, 1, 1]))
    np.testing.assert_array_equal(found.labels, [1, 0, 2])


def test_agrees_with_linear_program_and_certificate(case):
    costs, min_counts = case
    found = assign(costs, min_counts)
    check_certificate(costs, min_counts, found)
    if len(costs):
        expected = linear_program_cost(costs.astype(np.float64), min_counts)
        assert cost_of(costs, found) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_row_order_does_not_change_the_cost(case):
    costs, min_counts = case
    order = np.random.default_rng(1).permutation(len(costs))
    shuffled = assign(costs[order], min_counts)
    expected = cost_of(costs, assign(costs, min_counts))
    assert cost_of(costs[order], shuffled) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_inputs_are_untouched_and_results_repeat(case):
    costs, min_counts = case[0].copy(), case[1].copy()
    first, second = assign(costs, min_counts), assign(costs, min_counts)
    np.testing.assert_array_equal(costs, case[0])
    np.testing.assert_array_equal(min_counts, case[1])
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.prices, second.prices)


@st.composite
def small_problems(draw: st.DrawFn) -> tuple[Costs, Counts]:
    """At most 7 rows and 3 clusters, with bounds that the rows can satisfy."""
    n, k = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    integers = st.integers(-3, 3).map(float)
    costs = draw(arrays(np.float64, (n, k), elements=draw(st.sampled_from([integers, st.floats(-1e3, 1e3)]))))
    bounded_rows = draw(st.lists(st.integers(0, k - 1), max_size=n))
    return costs, np.bincount(bounded_rows, minlength=k) if bounded_rows else np.zeros(k, dtype=int)


@settings(deadline=None, max_examples=150)
@given(small_problems())
def test_agrees_with_brute_force(problem):
    costs, min_counts = problem
    found = assign(costs, min_counts)
    check_certificate(costs, min_counts, found)
    assert cost_of(costs, found) == pytest.approx(brute_force_cost(costs, min_counts), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_random_problems_agree_with_linear_program(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(40, 80)), int(rng.integers(2, 9))
    costs = rng.normal(size=(n, k)) + rng.normal(size=k) * rng.integers(0, 4)
    if seed % 2:
        costs = costs.round()
    min_counts = rng.multinomial(n if seed % 3 == 0 else int(rng.integers(n + 1)), rng.dirichlet(np.ones(k)))
    found = assign(costs, min_counts)
    check_certificate(costs, min_counts, found)
    assert cost_of(costs, found) == pytest.approx(linear_program_cost(costs, min_counts), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("total", [3000, 5000])
def test_larger_problem_proves_itself(dtype, total):
    rng = np.random.default_rng(2)
    costs = (rng.normal(size=(5000, 8)) - 2.0 * (np.arange(8) < 2)).astype(dtype)
    min_counts = np.full(8, total // 8)
    found = assign(costs, min_counts)
    assert (found.labels != costs.argmin(axis=1)).sum() > 1000
    check_certificate(costs, min_counts, found)


def test_satisfied_bounds_leave_the_cheapest_labels(monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("the cheapest labels satisfy the bounds, so no heap may be built")

    monkeypatch.setattr(_transport, "_fill_deficits", refuse)
    costs = np.random.default_rng(3).integers(0, 4, size=(500, 6)).astype(float)
    cheapest = costs.argmin(axis=1)
    found = assign(costs, np.bincount(cheapest, minlength=6))
    np.testing.assert_array_equal(found.labels, cheapest)
    np.testing.assert_array_equal(found.prices, np.zeros(6))


def test_a_move_between_equal_costs_is_free():
    found = assign(np.zeros((4, 2)), np.array([0, 3]))
    assert np.bincount(found.labels)[1] == 3
    np.testing.assert_array_equal(found.prices, 0)


@pytest.mark.parametrize(
    ("min_counts", "message"),
    [
        (
            [3, 2],
            r"min_counts sums to 5 but there are only 4 rows; .* Lower the bounds or the number of clusters",
        ),
        ([2**62, 2**62], r"min_counts sums to 9223372036854775808 but there are only 4 rows"),
        ([1, 1, 1], r"min_counts has shape \(3,\) but costs has 2 columns; .* Pass an array of shape \(2,\)"),
        (2, r"min_counts has shape \(\) but costs has 2 columns"),
        ([-1, 2], r"min_counts = \[-1  2\]; .* must be integers >= 0\. Round .* use 0 for no bound"),
        ([0.5, 1.5], r"min_counts = \[0\.5 1\.5\]; .* must be integers >= 0"),
    ],
)
def test_refuses_impossible_bounds(min_counts, message):
    with pytest.raises(InfeasibleBalanceError, match=message):
        assign(np.zeros((4, 2)), np.array(min_counts))


@pytest.mark.parametrize("row", range(3))
@pytest.mark.parametrize("column", range(2))
def test_an_unusable_cost_is_found_wherever_it_is(row, column):
    costs = np.zeros((3, 2))
    costs[row, column] = np.nan
    with pytest.raises(InvalidDataError, match=rf"costs\[{row}\]"):
        assign(costs, np.zeros(2, np.int64))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e301])
def test_refuses_unusable_costs(value):
    costs = np.zeros((4, 2))
    costs[2, 1] = value
    with pytest.raises(InvalidDataError, match=r"costs\[2\] = .* must be finite and at most 1e\+300 .* Remove NaN"):
        assign(costs, np.array([1, 1]))


@pytest.mark.parametrize("shape", [(4,), (4, 0), (4, 2, 1)])
def test_refuses_costs_that_are_no_matrix(shape):
    with pytest.raises(InvalidDataError, match=r"costs has shape .* must be \(n_rows, n_clusters\) .* Pass one row"):
        assign(np.zeros(shape), np.array([1, 1]))


# Upper bounds


def check_two_sided(costs: Costs, lower: Counts, upper: Counts) -> None:
    """Feasibility, signs of the prices, complementary slackness and primal = dual."""
    found = assign(costs, lower, upper)
    n, k = costs.shape
    counts = np.bincount(found.labels, minlength=k)
    priced = costs - found.prices
    size = 1.0 + np.abs(costs).sum()
    assert (counts >= lower).all() and (counts <= upper).all()
    assert (found.prices[counts > lower] <= 1e-12 * size).all()
    assert (found.prices[counts < upper] >= -1e-12 * size).all()
    gain, fee = np.maximum(found.prices, 0), np.minimum(found.prices, 0)
    dual = gain @ lower + fee @ np.minimum(upper, n) + priced.min(axis=1).sum()
    assert cost_of(costs, found) == pytest.approx(dual, rel=1e-9, abs=1e-11 * size)


@st.composite
def two_sided_problems(draw: st.DrawFn) -> tuple[Costs, Counts, Counts]:
    """Small problems with bounds about some sizes that add up to n."""
    n, k = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    integers = st.integers(-3, 3).map(float)
    costs = draw(arrays(np.float64, (n, k), elements=draw(st.sampled_from([integers, st.floats(-1e3, 1e3)]))))
    sizes = np.bincount(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), minlength=k)
    slack = draw(arrays(np.int64, (2, k), elements=st.integers(0, 3)))
    return costs, np.maximum(sizes - slack[0], 0), sizes + slack[1]


@cache
def all_labelings(n, k):
    """Every labeling of n rows by k clusters, and its sizes."""
    labelings = np.array(list(product(range(k), repeat=n)))
    return labelings, (labelings[:, :, None] == np.arange(k)).sum(axis=1)


@settings(deadline=None, max_examples=150)
@given(two_sided_problems())
def test_upper_bounds_agree_with_brute_force(problem):
    costs, lower, upper = problem
    n, k = costs.shape
    labelings, counts = all_labelings(n, k)
    feasible = labelings[((counts >= lower) & (counts <= upper)).all(axis=1)]
    expected = costs[np.arange(n), feasible].sum(axis=1).min()
    assert cost_of(costs, assign(costs, lower, upper)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    check_two_sided(costs, lower, upper)


@pytest.mark.parametrize("seed", range(10))
def test_upper_bounds_prove_themselves(seed):
    rng = np.random.default_rng(seed)
    n, k = 2000, 6
    costs = rng.normal(size=(n, k)) + rng.normal(size=k)
    sizes = rng.multinomial(n, rng.dirichlet(np.full(k, 3.0)))
    check_two_sided(costs, sizes * 9 // 10, sizes + rng.integers(0, 40, size=k))


def test_upper_bounds_that_are_met_change_nothing():
    costs = np.random.default_rng(0).normal(size=(300, 4))
    plain = assign(costs, np.full(4, 70))
    bounded = assign(costs, np.full(4, 70), np.full(4, 300))
    np.testing.assert_array_equal(plain.labels, bounded.labels)
    np.testing.assert_array_equal(plain.prices, bounded.prices)


@pytest.mark.parametrize(
    ("max_counts", "message"),
    [
        ([1, 2], r"max_counts sums to 3 but there are 4 rows; .* Raise the bounds or the number of clusters"),
        ([0, 9], r"max_counts = \[0 9\] with min_counts = \[1 1\]; .* not below the lower bounds. Raise them"),
        ([9], r"max_counts = \[9\] .* one per cluster"),
        ([2.5, 2.5], r"max_counts = \[2.5 2.5\] .* must be integers"),
    ],
)
def test_refuses_impossible_upper_bounds(max_counts, message):
    with pytest.raises(InfeasibleBalanceError, match=message):
        assign(np.zeros((4, 2)), np.array([1, 1]), np.array(max_counts))
