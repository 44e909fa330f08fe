"""One convex problem, labels fixed, to a relative gap: a cutting-plane method on the dual of its master.

Master over the planes c of groups g (see ``cutting_plane/_problem.py`` for the symbols), in the dual:

    max_{lam >= 0}  sum_c lam_c offset_c - 1/(2 beta) |sum_c lam_c normal_c|^2 - balance/2 |D|_1,
    D = sum_c lam_c bias_c,   sum of lam over group g <= cap_g.

W = 1/beta sum_c lam_c normal_c. With balance = 0 the bias is zero and the last term is absent. Otherwise
``t <= b_p <= t + balance`` adds 2k multipliers without cap: sigma (lower) and tau (upper), ``D + sigma - tau = 0``,
and b is the multiplier of that equation. The master's value is a lower bound of F for the current labels. With several
kernels the square becomes another norm, and the master is not a QP: see ``_kernel_weights.py``.

The next plane is not taken at the master's minimiser, which swings from side to side while planes are few, but on the
way to it from the best point so far. Where that plane does not cut the minimiser off, the point itself is better, by
``STEP`` times the gap; so each read of the data raises the bound or lowers F. Close to the optimum the master knows all
planes that matter, and its minimiser is what ends the search; far from it there is nothing to stay close to.
"""

from dataclasses import dataclass

import numpy as np

from widegap._types import Doubles
from widegap.base._records import Point, SearchRecorder, StopFit
from widegap.cutting_plane._cuts import CutSet, add_all
from widegap.cutting_plane._kernel_weights import solve_kernel_master
from widegap.cutting_plane._problem import Problem
from widegap.cutting_plane._qp import solve_qp

STEP = 0.3  # of the way to the master's minimiser. Not tuned finely: 1 swings, much less crawls
SMALL_GAP, LARGE_GAP = 1e-3, 0.5  # relative gaps between which the step is not all the way, as said above
MASTER_PHASE = "master problem of the cutting planes"  # in the words of an error


@dataclass(frozen=True)
class MasterSolution:
    """Minimiser of the planes' upper envelope plus regulariser, and that minimum: a lower bound of F.

    ``residual`` proves it: the duality gap relative to the value, or the largest violation of a constraint.
    """

    W: Doubles
    b: Doubles
    lower_bound: float
    residual: float


def empty_cuts(problem: Problem) -> CutSet:
    """A set of cuts that fits the problem."""
    return CutSet(problem.n_clusters, problem.n_features, problem.norm.blocks(problem.n_features))


def solve_master(cuts: CutSet, beta: float, caps: Doubles, balance: float, p: float = 2.0) -> MasterSolution:
    """Solve the master and let idle planes retire; ``p`` matters with several kernels only."""
    if len(cuts.grams) > 1:
        multipliers, solution = _several_kernels(cuts, beta, caps, balance, p)
    else:
        multipliers, solution = _one_kernel(cuts, beta, caps, balance)
    cuts.retire(multipliers)
    return solution


def _several_kernels(
    cuts: CutSet, beta: float, caps: Doubles, balance: float, p: float
) -> tuple[Doubles, MasterSolution]:
    found = solve_kernel_master(
        cuts.grams, cuts.offsets, cuts.groups, caps, cuts.biases, beta=beta, balance=balance, p=p
    )
    W = cuts.weigh_kernels(cuts.combine(found.multipliers) / beta, found.weights)
    return found.multipliers, MasterSolution(W, found.bias, found.dual, found.residual)


def _one_kernel(cuts: CutSet, beta: float, caps: Doubles, balance: float) -> tuple[Doubles, MasterSolution]:
    m, k = len(cuts), cuts.shape[0]
    if balance > 0:
        free = np.zeros(2 * k)
        gram = np.zeros((m + 2 * k, m + 2 * k))
        gram[:m, :m] = cuts.gram / beta
        linear = np.concatenate([cuts.offsets, free[:k], np.full(k, -balance)])
        groups = np.concatenate([cuts.groups, np.full(2 * k, -1)])
        equality = np.hstack([cuts.biases.T, np.eye(k), -np.eye(k)])
        found = solve_qp(gram, linear, groups, caps, equality, phase=MASTER_PHASE)
        b = found.bias - found.bias.mean()
    else:
        found = solve_qp(cuts.gram / beta, cuts.offsets, cuts.groups, caps, start=cuts.multipliers, phase=MASTER_PHASE)
        b = np.zeros(k)
    multipliers = found.multipliers[:m]
    residual = max(found.residual, abs(found.gap) / max(found.primal, 1e-300))
    return multipliers, MasterSolution(cuts.combine(multipliers) / beta, b, found.dual, residual)


def _towards(best: Point, master: MasterSolution, lower_bound: float) -> tuple[Doubles, Doubles]:
    """Weights and bias on the way from the best point to the master's."""
    step = STEP if SMALL_GAP < 1 - lower_bound / best.objective < LARGE_GAP else 1.0
    return best.W + step * (master.W - best.W), best.b + step * (master.b - best.b)


def envelope(cuts: CutSet, W: Doubles, b: Doubles, problem: Problem) -> float:
    """Regulariser plus the planes' upper envelope at (W, b): what the master believes F to be there."""
    heights = cuts.heights(W, b)
    value = problem.beta / 2 * problem.norm.value(W)
    for group, cap in enumerate(problem.caps):
        value += cap * max(0.0, float(heights[cuts.groups == group].max(initial=0.0)))
    return value


def minimize_convex(
    problem: Problem, cuts: CutSet, incumbent: Point, tol: float, max_iter: int, recorder: SearchRecorder
) -> tuple[Point, float]:
    """Minimise F for the incumbent's labels until its gap is below ``tol`` times F; never worse than the incumbent.

    Requires a plane taken at the incumbent to be among the cuts. Returns the best point, and its gap: the distance to
    the last lower bound, or to 0, which is one, if there was no iteration.
    """
    best, lower_bound = incumbent, 0.0
    for _ in range(max_iter):
        master = solve_master(cuts, problem.beta, problem.caps, problem.balance, problem.norm.p)
        recorder.note_residual(master.residual)
        lower_bound = max(lower_bound, master.lower_bound)  # planes that retired since proved it
        if best.objective - lower_bound <= tol * best.objective:
            break
        # The master of several kernels fails on planes between its minimisers where sizes of kernels differ by 1e6.
        W, b = (master.W, master.b) if len(cuts.grams) > 1 else _towards(best, master, lower_bound)
        planes = problem.planes(W, b, best.labels)
        objective = problem.objective(W, planes)
        add_all(cuts, planes)
        if objective < best.objective:
            best = Point(W, b, best.labels, objective, best.bound_active)
        try:
            recorder.add(objective=objective, gap=objective - lower_bound, cuts=len(cuts), flips=0, beta=problem.beta)
        except StopFit:
            raise StopFit(best) from None
    return best, max(0.0, best.objective - lower_bound)  # below zero by rounding alone
