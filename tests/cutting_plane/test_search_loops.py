"""The loops of a search on scripted steps: when they stop, and what they count."""

from types import SimpleNamespace

import numpy as np
import pytest

from widegap.base._records import Point, StopFit
from widegap.cutting_plane import _cccp
from widegap.cutting_plane._cccp import cuts_first, linearize_first, one_step, search_from
from widegap.cutting_plane._cutting_plane import MasterSolution, _towards


class Scripted:
    """A search whose steps are given: (objective, gap, flips) of each."""

    def __init__(self, steps, tol, budget):
        self.steps, self.tol, self.budget = iter(steps), tol, budget
        self.best = SimpleNamespace(objective=np.inf)
        self.cuts, self.recorded = [], []

    def relabel_after_master(self):
        objective, gap, flips = next(self.steps)
        self.budget -= 1
        self.best.objective = min(self.best.objective, objective)
        return SimpleNamespace(objective=objective), [len(self.recorded)], flips, gap

    def record(self, objective, gap, flips):
        self.recorded.append((objective, gap, flips, len(self.cuts)))


@pytest.fixture(autouse=True)
def plain_cuts(monkeypatch):
    monkeypatch.setattr(_cccp, "add_all", lambda cuts, planes: cuts.extend(planes))


def outcome(order, steps, tol=0.01, budget=100):
    search = Scripted(steps, tol, budget)
    return order(search), len(search.recorded), search


@pytest.mark.parametrize(
    ("steps", "converged", "n"),
    [
        ([(1.0, 0.01, 0)], True, 1),  # a gap of just the tolerance
        ([(1.0, 0.0101, 0), (1.0, 0.005, 0)], True, 2),
        ([(1.0, 0.001, 3), (0.5, 0.001, 0)], True, 2),  # labels still move
        ([(1.0, 0.001, 1)] * 9 + [(1.0, 0.001, 1)], True, 9),  # eight without progress after the first
        ([(1.0, 0.02, 1)] * 12 + [(1.0, 0.01, 1)], True, 13),
        # Progress is a gain of more than a tenth of the tolerance in one step.
        ([(1.0 - 0.0009 * i, 0.001, 1) for i in range(30)], True, 9),
        ([(1.0 - 0.0012 * i, 0.001, 1) for i in range(30)], False, 29),
        ([(1.0 - 0.00005 * i, 0.001, 1) for i in range(30)], True, 9),
    ],
)
def test_one_step_ends_when_labels_rest_or_flicker(steps, converged, n):
    found, count, search = outcome(one_step, steps, budget=29 if not converged else 100)
    assert (found, count) == (converged, n)
    assert [entry[3] for entry in search.recorded] == list(range(1, n + 1))  # a cut is there before its record


def test_one_step_forgets_flickering_after_progress():
    steps = [(1.0, 0.001, 1)] * 8 + [(0.9, 0.001, 1)] * 9
    assert outcome(one_step, steps)[:2] == (True, 17)
    assert outcome(one_step, steps, budget=16)[:2] == (False, 16)


def test_cuts_first_settles_labels_before_it_cuts():
    steps = [(1.0, 0.5, 4), (0.9, 0.5, 2), (0.9, 0.5, 0), (0.8, 0.1, 0), (0.8, 0.008, 0)]
    found, count, search = outcome(cuts_first, steps)
    assert (found, count) == (True, 5)
    assert [entry[3] for entry in search.recorded] == [0, 0, 0, 1, 2] and len(search.cuts) == 3


@pytest.mark.parametrize(("second", "n_cuts"), [(0.991, 1), (0.989, 0)])
def test_cuts_first_goes_on_while_the_relaxed_objective_falls_by_a_hundredth(second, n_cuts):
    steps = [(1.5, 0.5, 4), (second + 0.5, 0.5, 4), (second + 0.5, 0.5, 0)]
    search = outcome(cuts_first, steps, budget=3)[2]
    assert [entry[3] for entry in search.recorded] == [0, 0, n_cuts]


@pytest.mark.parametrize(("gap", "tol", "converged"), [(0.01, 0.01, True), (0.011, 0.01, False)])
def test_cuts_first_ends_at_the_tolerance(gap, tol, converged):
    assert outcome(cuts_first, [(1.0, gap, 0)], tol, budget=1)[0] is converged


def scripted_linearisation(monkeypatch, rounds, tol, budget, inner=0.1):
    """Rounds are (objective after relabelling, gap of the convex problem, its iterations, flips)."""
    script, calls = iter(rounds), []
    records = []
    search = SimpleNamespace(
        tol=tol, budget=budget, cuts=[], labels=None, best=SimpleNamespace(objective=1.0), seen=[], begun=[]
    )

    def convex(problem, cuts, incumbent, inner_tol, max_iter, recorder):
        search.now = next(script)
        calls.append((inner_tol, max_iter))
        records.extend([None] * search.now[2])
        return SimpleNamespace(W=None, b=None, objective=1.0), search.now[1]

    step = SimpleNamespace(labels=None, planes=["plane"], bound_active=False, flips=None)
    search.problem = SimpleNamespace(relabel=lambda W, b, labels: step, objective=lambda W, planes: search.now[0])
    search.recorder = SimpleNamespace(records=records)
    search.move_to = lambda labels, flips: search.now[3]
    search.record = lambda objective, gap, flips: (records.append(None), search.seen.append((objective, gap, flips)))
    monkeypatch.setattr(_cccp, "minimize_convex", convex)
    return linearize_first(search, inner), calls, search


def test_linearize_first_solves_more_and_more_exactly(monkeypatch):
    rounds = [(0.9, 0.01, 2, 5), (0.8, 0.01, 3, 5), (0.7, 0.004, 1, 5), (0.7, 0.004, 1, 0), (0.6, 0.004, 1, 0)]
    converged, calls, search = scripted_linearisation(monkeypatch, rounds, tol=0.004, budget=50)
    assert converged and len(search.cuts) == 4
    assert calls == [(0.1, 49), (0.025, 46), (0.00625, 42), (0.004, 40)]
    assert search.budget == 50 - 2 - 3 - 1 - 1 - 4
    assert search.seen[1] == (0.8, 0.01, 5)


@pytest.mark.parametrize(
    ("rounds", "inner", "n"),
    [
        ([(0.5, 0.01, 1, 0)], 0.01, 1),
        ([(0.5, 0.01, 1, 1), (0.4, 0.01, 1, 0)], 0.01, 2),
        ([(0.995, 0.01, 1, 1)], 0.01, 1),  # stalled: a gain of at most the tolerance
        ([(0.98, 0.01, 1, 1), (0.975, 0.01, 1, 1)], 0.01, 2),
        ([(0.5, 0.011, 1, 0), (0.5, 0.01, 1, 0)], 0.01, 2),  # the convex problem was not solved
        ([(0.5, 0.01, 1, 0), (0.5, 0.01, 1, 0)], 0.04, 2),  # nor was it to the tolerance
        ([(0.5, 0.01, 1, 0), (0.5, 0.01, 1, 0), (0.5, 0.01, 1, 0)], 0.041, 3),
        ([(0.5, 0.01, 1, 0)], 0.0, 1),
    ],
)
def test_linearize_first_ends(monkeypatch, rounds, inner, n):
    converged, calls, _ = scripted_linearisation(monkeypatch, rounds, 0.01, 50, inner)
    assert converged and len(calls) == n


def test_linearize_first_runs_out_of_its_budget(monkeypatch):
    rounds = [(1.0 - 0.1 * i, 0.01, 2, 5) for i in range(9)]
    converged, calls, search = scripted_linearisation(monkeypatch, rounds, tol=0.01, budget=6)
    assert not converged and [most for _, most in calls] == [5, 2] and search.budget == 0


@pytest.mark.parametrize(
    ("bound", "step"),
    [(0.0, 1.0), (0.5, 1.0), (0.5 + 1e-9, 0.3), (0.9, 0.3), (0.999 - 1e-9, 0.3), (0.999 + 1e-9, 1.0), (1.0, 1.0)],
)
def test_the_way_to_the_master_is_short_between_two_gaps(bound, step):
    best = Point(np.array([[1.0, 2.0]]), np.array([3.0]), None, 2.0)
    master = MasterSolution(np.array([[11.0, -8.0]]), np.array([-7.0]), 0.0, 0.0)
    W, b = _towards(best, master, 2.0 * bound)
    np.testing.assert_allclose(W, [[1 + 10 * step, 2 - 10 * step]])
    np.testing.assert_allclose(b, [3 - 10 * step])


@pytest.mark.parametrize(
    ("order", "anneal", "stops", "betas", "converged", "settled"),
    [
        ("one_step", False, False, [0.3], True, True),
        ("linearize_first", False, False, [0.3], True, False),
        ("one_step", True, False, [1.0, 0.5, 0.3], True, True),
        ("one_step", True, True, [1.0, 0.3], False, False),
    ],
)
def test_a_search_counts_its_own_records(monkeypatch, order, anneal, stops, betas, converged, settled):
    seen, records, better = [], [None] * 7, SimpleNamespace(objective=0.5)

    def run(search):
        records.extend([None, None])
        if stops:
            raise StopFit(better)
        return True

    first = SimpleNamespace(objective=1.0)
    search = SimpleNamespace(
        recorder=SimpleNamespace(records=records), problem=SimpleNamespace(beta=0.3), set_beta=seen.append, best=first
    )
    monkeypatch.setattr(_cccp, "ORDERS", {order: run})
    monkeypatch.setattr(_cccp, "settle", lambda search: records.append("settled") or True)
    found = search_from(search, order, anneal=anneal)
    assert seen == betas and found.converged is converged and ("settled" in records) is settled
    assert found.n_iter == len(records) - 7
    assert found.point is (better if stops else first)
