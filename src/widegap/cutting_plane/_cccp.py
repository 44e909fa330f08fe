"""The non-convex problem: three orders of relabelling (CCCP) and cutting, and annealing of the regulariser.

F(W, b) = min over labels z of the convex F(W, b; z), z restricted to labelings that keep the rules.

- ``linearize_first``: relabel, then solve the convex problem for these labels. Both steps lower F(W, b; z), so it
  never rises; it commits early to its start.
- ``cuts_first`` (as published): for a fixed set of cuts alternate master and relabelling until labels settle, then
  add the most violated cut. A true descent method only on the relaxed problem; explores more at k = 2.
- ``one_step``: relabel after every master and add the cut found on the way: one read of the data an iteration.

All keep the best point seen by its true objective. The last two may stop while labels flicker, or have passed their
best point by then; so they end by linearizing at it, and what is returned is optimal for its own labels, up to the
tolerance.

Annealing runs an order on beta = 1, 1/2, 1/4, ... down to the problem's own beta, each from where the last one ended:
strong regularisation first lets labels move freely. Planes are valid for every beta, so none is lost between stages.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from widegap._types import Doubles
from widegap.base._records import Point, SearchRecorder, SolverResult, StopFit
from widegap.cutting_plane._cuts import CutSet, add_all
from widegap.cutting_plane._cutting_plane import empty_cuts, envelope, minimize_convex, solve_master
from widegap.cutting_plane._problem import Plane, Problem
from widegap.rows._protocols import State

CCCP_TOL = 0.01  # as published: the inner alternation of cuts_first ends when it gains less than 1 %
FLICKER_PATIENCE = 8  # iterations without progress after which labels that still flicker count as settled


@dataclass
class Search:
    """State of one search: the cuts, the labels they are linearised at, and the best point so far."""

    problem: Problem
    cuts: CutSet
    labels: State
    best: Point
    recorder: SearchRecorder
    tol: float
    budget: int

    @classmethod
    def from_labels(
        cls, problem: Problem, labels: State, recorder: SearchRecorder, tol: float, max_iter: int
    ) -> "Search":
        """Begin at the weights that labels suggest, with the plane there as the first cut.

        Labels that break a rule are mended first: a point with such labels must not win for being lower.
        """
        W, b = problem.weights_of(labels), np.zeros(problem.n_clusters)
        if not problem.admits(labels):
            labels = problem.relabel(W, b).labels
            W = problem.weights_of(labels)
        planes = problem.planes(W, b, labels)
        cuts = empty_cuts(problem)
        add_all(cuts, planes)
        best = Point(W, b, labels, problem.objective(W, planes))
        return cls(problem, cuts, labels, best, recorder, tol, max_iter)

    @classmethod
    def from_weights(
        cls, problem: Problem, W: Doubles, b: Doubles, recorder: SearchRecorder, tol: float, max_iter: int
    ) -> "Search":
        """Begin at some weights and the labels that are best there."""
        step = problem.relabel(W, b)
        cuts = empty_cuts(problem)
        add_all(cuts, step.planes)
        best = Point(W, b, step.labels, problem.objective(W, step.planes), step.bound_active)
        return cls(problem, cuts, step.labels, best, recorder, tol, max_iter)

    def set_beta(self, beta: float) -> None:
        """Change the regulariser; the best point is judged anew, its loss being the same."""
        change = (beta - self.problem.beta) / 2 * self.problem.norm.value(self.best.W)
        self.problem = replace(self.problem, beta=beta)
        self.best = replace(self.best, objective=self.best.objective + change)

    def move_to(self, labels: State, flips: int | None = None) -> int:
        """Linearise all cuts at new labels; return how many rows flipped, which may be known."""
        flips = self.problem.count_flips(self.labels, labels) if flips is None else flips
        if flips:
            self.cuts.shift(0, self.problem.target_shift(self.cuts.codes(0), self.labels, labels))
            self.labels = labels
        return flips

    def relabel_after_master(self) -> tuple[Point, list[Plane], int, float]:
        """Solve the master, relabel at its answer; return that point, its planes, the flips and the gap there."""
        problem = self.problem
        master = solve_master(self.cuts, problem.beta, problem.caps, problem.balance, problem.norm.p)
        self.recorder.note_residual(master.residual)
        step = problem.relabel(master.W, master.b, self.labels)
        flips = self.move_to(step.labels, step.flips)
        objective = problem.objective(master.W, step.planes)
        gap = objective - envelope(self.cuts, master.W, master.b, problem)
        point = Point(master.W, master.b, step.labels, objective, step.bound_active)
        self.budget -= 1
        if objective < self.best.objective:
            self.best = point
        return point, step.planes, flips, gap

    def record(self, objective: float, gap: float, flips: int) -> None:
        self.recorder.add(objective=objective, gap=gap, cuts=len(self.cuts), flips=flips, beta=self.problem.beta)


Order = Callable[[Search], bool]


def one_step(search: Search) -> bool:
    """Relabel after every master; returns whether it converged."""
    reference, since = np.inf, 0
    while search.budget > 0:
        point, planes, flips, gap = search.relabel_after_master()
        add_all(search.cuts, planes)
        search.record(point.objective, gap, flips)
        since = 0 if search.best.objective < reference * (1 - search.tol / 10) else since + 1
        reference = min(reference, search.best.objective) if since else search.best.objective
        if gap <= search.tol * point.objective and (flips == 0 or since >= FLICKER_PATIENCE):
            return True
    return False


def cuts_first(search: Search) -> bool:
    """Settle the labels for the present cuts, then add the most violated one; returns whether it converged."""
    while search.budget > 0:
        relaxed = np.inf
        while search.budget > 0:
            point, planes, flips, gap = search.relabel_after_master()
            search.record(point.objective, gap, flips)
            last, relaxed = relaxed, point.objective - gap
            if flips == 0 or relaxed > (1 - CCCP_TOL) * last:
                break
        add_all(search.cuts, planes)
        if gap <= search.tol * point.objective:
            return True
    return False


def linearize_first(search: Search, inner_tol: float = 0.1) -> bool:
    """Solve the convex problem for the labels, relabel, repeat until no label changes or F stalls.

    ``inner_tol`` is the gap of the first convex problem; it shrinks to the search's own.
    """
    inner_tol = max(search.tol, inner_tol)
    while search.budget > 0:
        before, used = search.best.objective, len(search.recorder.records)
        problem, recorder = search.problem, search.recorder
        point, gap = minimize_convex(problem, search.cuts, search.best, inner_tol, search.budget - 1, recorder)
        solved = gap <= inner_tol * point.objective
        search.budget -= len(recorder.records) - used
        step = problem.relabel(point.W, point.b, search.labels)
        flips = search.move_to(step.labels, step.flips)
        add_all(search.cuts, step.planes)
        objective = problem.objective(point.W, step.planes)
        search.best = Point(point.W, point.b, step.labels, objective, step.bound_active)
        search.budget -= 1
        search.record(objective, gap, flips)
        stalled = before - objective <= search.tol * objective
        if (flips == 0 or stalled) and solved and inner_tol <= search.tol:
            return True
        inner_tol = max(search.tol, inner_tol / 4)
    return False


def settle(search: Search) -> bool:
    """Go back to the best point and make it optimal for its labels."""
    best = search.best
    search.move_to(best.labels)
    add_all(search.cuts, search.problem.planes(best.W, best.b, best.labels))
    return linearize_first(search, search.tol)


ORDERS: dict[str, Order] = {
    "one_step": one_step,
    "cuts_first": cuts_first,
    "linearize_first": linearize_first,
}


def annealing_schedule(beta: float) -> list[float]:
    """1, 1/2, 1/4, ... above beta, then beta itself."""
    halvings = max(0, int(np.ceil(np.log2(1 / beta))))
    return [2.0**-i for i in range(halvings)] + [beta]


def search_from(search: Search, order: str, *, anneal: bool) -> SolverResult:
    """Run one order to its end, annealed or not; a callback that asks to stop ends it with the best point."""
    first, last_beta = len(search.recorder.records), search.problem.beta
    converged = False
    try:
        for beta in annealing_schedule(last_beta) if anneal else [last_beta]:
            search.set_beta(beta)
            converged = ORDERS[order](search)
        if converged and order != "linearize_first":
            converged = settle(search)
    except StopFit as stop:
        converged = False
        search.best = stop.point or search.best
        search.set_beta(last_beta)
    return SolverResult(search.best, len(search.recorder.records) - first, converged)
