"""What labels must keep: bounds on sizes, held labels and links, for rows here and rows elsewhere."""

import numpy as np
import pytest

from _shards import Shards
from widegap.constraints._label_rules import feasible_bounds, size_rules, unit_rules
from widegap.constraints._transport import assign
from widegap.constraints._units import read_constraints
from widegap.exceptions import InfeasibleBalanceError

N = 30


def costs_of(seed=0):
    return np.random.default_rng(seed).normal(size=(N, 2)) + [0.0, 5.0]


def rows_at(place):
    rows = Shards((N, 2))
    rows.in_process = place == "here"
    return rows


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_least_sizes(place):
    rows, costs = rows_at(place), costs_of()
    labels = size_rules(rows, [10, 10], [N, N]).label(rows.cut(costs), None).labels
    labels = labels if place == "here" else rows.collect(labels)
    np.testing.assert_array_equal(labels, assign(costs, [10, 10]).labels)


def test_held_rows_elsewhere_count_where_they_are_held():
    # Eight rows are held in the first cluster, which is dear for them: they make up its least size.
    rows, costs = rows_at("elsewhere"), costs_of()[:, ::-1]
    known = np.where(np.arange(N) < 8, 0, -1)
    units = read_constraints(N, known=known, n_clusters=2).units
    labels = rows.collect(unit_rules(rows, units, [8, 0], [N, N], rows.cut).label(rows.cut(costs), None).labels)
    np.testing.assert_array_equal(labels, np.where(np.arange(N) < 8, 0, costs.argmin(axis=1)))


def test_largest_sizes_here():
    rows, costs = rows_at("here"), costs_of()
    labels = size_rules(rows, [0, 0], [20, N]).label(rows.cut(costs), None).labels
    assert (labels == 0).sum() == 20


def test_bounds_are_allowed_up_to_themselves():
    rules = size_rules(rows_at("here"), [10, 10], [20, 20])
    assert [rules.allow(np.array(counts)) for counts in ([10, 20], [20, 10], [9, 21], [21, 9])] == [1, 1, 0, 0]
    assert not size_rules(rows_at("here"), [10, 10], [20, 30]).allow(np.array([21, 10]))


def test_a_cluster_at_its_minimum_is_told_unless_its_rows_are_known():
    rules = size_rules(rows_at("here"), [10, 10], [N, N])
    assert rules.at_minimum(np.array([10, 20]))
    assert not rules.at_minimum(np.array([11, 19]))
    held = {row: 0 for row in range(10)}
    assert not known_rules("here", held, lower=10).at_minimum(np.array([10, 20]))


def test_sizes_that_do_not_fit_are_refused():
    size_rules(rows_at("here"), [15, 15], [N, N])
    with pytest.raises(InfeasibleBalanceError, match="2 clusters of at least 16 rows do not fit into 30"):
        size_rules(rows_at("here"), [15, 16], [N, N])


def known_rules(place, held, lower=0, **links):
    known = np.full(N, -1)
    for row, label in held.items():
        known[row] = label
    rows = rows_at(place)
    units = read_constraints(N, 2, known=known, **links).units
    bounds = np.full(2, lower), np.full(2, N)
    return unit_rules(rows, units, *bounds, rows.cut if place == "elsewhere" else np.asarray)


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_held_labels_are_kept_at_any_cost(place):
    held, costs, rows = {3: 1, 4: 1, 20: 0, 29: 1}, costs_of(), rows_at(place)
    rules = known_rules(place, held, lower=6)
    given = rows.cut(costs) if place == "elsewhere" else costs
    labels = rules.label(given, None).labels
    whole = rows.collect(labels) if place == "elsewhere" else labels
    assert all(whole[row] == label for row, label in held.items())
    assert (np.bincount(whole, minlength=2) >= 6).all()
    free = [row for row in range(N) if row not in held]
    taken = np.array([1, 3])
    exact = assign(costs[free], np.maximum(6 - taken, 0)).labels
    np.testing.assert_array_equal(whole[free], exact)
    assert rules.keeps(labels)


@pytest.mark.parametrize("place", ["here", "elsewhere"])
@pytest.mark.parametrize("row", [0, 20, 29])
def test_a_single_held_label_that_is_lost_is_seen(place, row):
    rules = known_rules(place, {0: 0, 20: 1, 29: 0})
    labels = np.zeros(N, np.int32)
    labels[20] = 1
    cut = Shards((N, 2)).cut if place == "elsewhere" else np.asarray
    assert rules.keeps(cut(labels)) is True
    labels[row] = 1 - labels[row]
    assert rules.keeps(cut(labels)) is False


def test_what_counts_as_linked():
    assert not known_rules("here", {0: 0, 1: 0}).linked  # held by a label, not by each other
    assert known_rules("here", {}, must_link=[[0, 1]]).linked
    assert known_rules("here", {}, cannot_link=[[0, 1]]).linked


def test_bounds_give_way_to_links():
    units = read_constraints(N, 2, must_link=[list(pair) for pair in zip(range(19), range(1, 20), strict=True)]).units
    lower, upper = feasible_bounds(units, np.array([12, 12]), np.array([N, N]), relax_upper=False)
    np.testing.assert_array_equal(lower, [6, 6])
    np.testing.assert_array_equal(upper, [N, N])
    kept = feasible_bounds(units, np.array([10, 10]), np.array([N, N]), relax_upper=False)[0]
    np.testing.assert_array_equal(kept, [10, 10])
    lower, upper = feasible_bounds(units, np.array([2, 2]), np.array([15, 15]), relax_upper=True)
    np.testing.assert_array_equal(lower, [0, 0])
    np.testing.assert_array_equal(upper, [N, N])
    upper = feasible_bounds(units, np.array([2, 2]), np.array([15, 15]), relax_upper=False)[1]
    np.testing.assert_array_equal(upper, [15, 15])


def test_a_cluster_at_its_minimum_by_known_rows_and_others():
    held = {row: 0 for row in range(9)}
    assert known_rules("here", held, lower=10).at_minimum(np.array([10, 20]))  # nine are known, ten are asked for
    assert size_rules(rows_at("here"), [0, 10], [N, N]).at_minimum(np.array([0, 30]))
    assert not size_rules(rows_at("here"), [0, 10], [N, N]).at_minimum(np.array([1, 29]))


def test_sizes_that_just_fit_are_taken():
    assert size_rules(rows_at("here"), [15, 15], [N, N]).lower.tolist() == [15, 15]
    with pytest.raises(InfeasibleBalanceError, match="2 clusters of at least 16 rows do not fit into 30 rows"):
        size_rules(rows_at("here"), [15, 16], [N, N])


def test_least_sizes_are_halved_until_links_have_room():
    units = read_constraints(6, must_link=[(0, 1), (0, 2), (0, 3), (0, 4)], n_clusters=2).units  # five, and one
    full = np.full(2, 6)
    assert [bound.tolist() for bound in feasible_bounds(units, np.array([3, 3]), full, relax_upper=False)] == [
        [1, 1],
        [6, 6],
    ]
    assert [bound.tolist() for bound in feasible_bounds(units, np.array([1, 1]), full, relax_upper=False)] == [
        [1, 1],
        [6, 6],
    ]
    small = np.full(2, 4)
    assert [bound.tolist() for bound in feasible_bounds(units, np.array([1, 1]), small, relax_upper=True)] == [
        [0, 0],
        [6, 6],
    ]
    assert [bound.tolist() for bound in feasible_bounds(units, np.array([1, 1]), small, relax_upper=False)] == [
        [0, 0],
        [4, 4],
    ]
    three = read_constraints(3, cannot_link=[(0, 1), (1, 2), (0, 2)], n_clusters=3).units
    kept = feasible_bounds(three, np.array([0, 0]), np.array([3, 3]), relax_upper=True)
    assert [bound.tolist() for bound in kept] == [[0, 0], [3, 3]]
