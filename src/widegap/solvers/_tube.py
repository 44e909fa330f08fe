"""Support vector regression and classification on finite features, by an interior point method in their space.

    minimise  J(w, b) = |w|^2 / 2 + C sum_t max(0, e_t),    e_t = sigma_t (s_t - knot_t),  s = P w + b

Every term t is a one-sided hinge on the score of one row. With ``sides`` +1 and -1 and knots y + epsilon and
y - epsilon the sum is the epsilon-insensitive loss (two terms a row); with side -y and knot y it is the hinge of a
support vector machine (one term a row).

Symbols: xi_t >= max(0, e_t) slack, p_t = xi_t - e_t, a_t in (0, C) its multiplier, v_t = C - a_t; complementarity
a p = mu, v xi = mu; stationarity w + P' (sigma a) = 0, sum sigma a = 0. The slacks and the box hold throughout; each
Newton step costs one weighted Gram matrix P' diag(omega) P, that is n r^2, and two solves (predictor, corrector).
About 10 steps reach a relative duality gap of 1e-4 whatever C and the spectrum are; a warm start would save two.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from widegap.exceptions import SolverError
from widegap.solvers._result import FloatArray

GRAM_ROWS = 4096  # rows whose weighted copy is made at a time
STEP_BACK = 0.995
RIDGE = 1e-14  # relative, against rounding in the last steps


@dataclass(frozen=True)
class Hinges:
    """The terms: ``side[j]`` and ``knot[j]`` of shape (groups, n), one row of both for each term a data row has."""

    side: FloatArray
    knot: FloatArray


def tube(y: FloatArray, epsilon: float) -> Hinges:
    """Epsilon-insensitive loss around the targets y."""
    return Hinges(np.stack([np.ones_like(y), -np.ones_like(y)]), np.stack([y + epsilon, y - epsilon]))


def margin(y: FloatArray) -> Hinges:
    """Hinge max(0, 1 - y s)."""
    return Hinges(-y[None], y[None].copy())


@dataclass(frozen=True)
class Machine:
    """A fitted machine: weights, intercept, scores without intercept, J, and J minus the dual bound over J."""

    w: FloatArray
    b: float
    f: FloatArray
    objective: float
    gap: float
    n_iter: int


@dataclass
class _State:
    w: FloatArray
    b: float
    f: FloatArray  # P w
    xi: FloatArray
    a: FloatArray


def solve_hinges(P: FloatArray, hinges: Hinges, C: float, *, tol: float = 1e-4, max_iter: int = 100) -> Machine:
    """Minimise J for centred features P of shape (n, r).

    Ensures a duality gap of at most ``tol`` times J, or raises SolverError.
    """
    side, knot = hinges.side, hinges.knot
    n, r = P.shape
    excess = -side * knot
    state = _State(np.zeros(r), 0.0, np.zeros(n), np.maximum(excess, 0) + 1.0, np.full(side.shape, C / 2))
    best: Machine | None = None
    for iteration in range(max_iter):
        machine = _judge(P, state, hinges, C, iteration)
        if best is None or machine.gap < best.gap:
            best = machine
        if best.gap <= tol:
            return best
        try:
            _newton_step(P, state, hinges, C)
        except np.linalg.LinAlgError:
            break
    assert best is not None
    if best.gap <= 1e3 * tol:  # rounding stopped it near the solution
        return best
    raise SolverError(
        f"The machine for C={C:g} has a relative duality gap of {best.gap:.1e} after {best.n_iter} steps, more than "
        f"{tol:.0e}; lower C or rescale the data."
    )


def _judge(P: FloatArray, state: _State, hinges: Hinges, C: float, iteration: int) -> Machine:
    """Objective at the state's weights and at its multipliers."""
    e = hinges.side * (state.f + state.b - hinges.knot)
    objective = state.w @ state.w / 2 + C * np.maximum(e, 0).sum()
    beta = _feasible((hinges.side * state.a).sum(axis=0), C, hinges)
    w = -(P.T @ beta)
    dual = -w @ w / 2 + _conjugate(beta, hinges)
    gap = float((objective - dual) / max(abs(objective), np.finfo(float).tiny))
    return Machine(state.w, state.b, state.f, float(objective), gap, iteration)


def _feasible(beta: FloatArray, C: float, hinges: Hinges) -> FloatArray:
    """Row multipliers moved to sum zero within their box, so that they prove a bound."""
    upper = C * (hinges.side > 0).any(axis=0)
    lower = -C * (hinges.side < 0).any(axis=0)
    beta = np.clip(beta, lower, upper)
    for _ in range(5):
        total = beta.sum()
        room = (beta - lower) if total > 0 else (upper - beta)
        free = room.sum()
        if abs(total) <= 1e-15 * C * len(beta) or free <= 0:
            break
        beta = beta - np.sign(total) * room * min(1.0, abs(total) / free)
    return beta


def _conjugate(beta: FloatArray, hinges: Hinges) -> float:
    """Minimum over s of (loss - beta s), for scores that the multipliers leave free: minus sum beta * knot."""
    total = 0.0
    for side, knot in zip(hinges.side, hinges.knot, strict=True):
        part = np.where(side * beta > 0, beta, 0.0)
        total -= part @ knot
    return total


def _weighted_gram(P: FloatArray, omega: FloatArray) -> FloatArray:
    """(r + 1)-square matrix of [P, 1] weighted by omega."""
    r = P.shape[1]
    G = np.zeros((r + 1, r + 1))
    root = np.sqrt(omega)
    for start in range(0, len(P), GRAM_ROWS):
        rows = slice(start, start + GRAM_ROWS)
        block = P[rows] * root[rows, None]
        G[:r, :r] += block.T @ block
        G[:r, r] += block.T @ root[rows]
    G[r, :r] = G[:r, r]
    G[r, r] = omega.sum()
    return G


def _newton_step(P: FloatArray, state: _State, hinges: Hinges, C: float) -> None:
    """One predictor-corrector step, in place."""
    side = hinges.side
    r = P.shape[1]
    a, xi = state.a, state.xi
    v = C - a
    p = xi - side * (state.f + state.b - hinges.knot)
    mu = float((a * p + v * xi).sum() / (2 * a.size))
    ratio = a / v
    denominator = p + ratio * xi
    omega = a / denominator
    G = _weighted_gram(P, omega.sum(axis=0))
    G[np.arange(r), np.arange(r)] += 1.0
    G[np.arange(r + 1), np.arange(r + 1)] *= 1 + RIDGE
    factor = cho_factor(G, overwrite_a=True, check_finite=True)

    def direction(
        first: FloatArray, second: FloatArray
    ) -> tuple[FloatArray, float, FloatArray, FloatArray, FloatArray]:
        """Solve with right sides ``first`` of a p and ``second`` of v xi: dw, db, df, dxi, da."""
        g = (first - ratio * second) / denominator
        pull = (side * (a + g)).sum(axis=0)
        step = cho_solve(factor, -np.concatenate([state.w + P.T @ pull, [pull.sum()]]), check_finite=False)
        df = P @ step[:r]
        da = omega * side * (df + step[r]) + g
        dxi = (second + xi * da) / v
        return step[:r], float(step[r]), df, dxi, da

    _, db, df, dxi, da = direction(-a * p, -v * xi)
    dp = dxi - side * (df + db)
    length = _longest(a, da, v, xi, dxi, p, dp)
    after = float(
        ((a + length * da) * (p + length * dp) + (v - length * da) * (xi + length * dxi)).sum() / (2 * a.size)
    )
    target = mu * (after / mu) ** 3
    dw, db, df, dxi, da = direction(target - a * p - da * dp, target - v * xi + da * dxi)
    dp = dxi - side * (df + db)
    length = min(1.0, STEP_BACK * _longest(a, da, v, xi, dxi, p, dp))
    state.w = state.w + length * dw
    state.b += length * db
    state.f = state.f + length * df
    state.xi = xi + length * dxi
    state.a = a + length * da


def _longest(
    a: FloatArray, da: FloatArray, v: FloatArray, xi: FloatArray, dxi: FloatArray, p: FloatArray, dp: FloatArray
) -> float:
    """Longest step, at most 1, that keeps a, v = C - a, xi and p from below zero."""
    rates = (np.min(da / a), np.min(-da / v), np.min(dxi / xi), np.min(dp / p))
    return 1.0 if min(rates) >= -1 else -1 / min(rates)
