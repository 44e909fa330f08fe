"""Support vector regression and classification on finite features, by an interior point method in their space.

    minimise  J(w, b) = |w|^2 / 2 + C sum_t max(0, e_t),    e_t = sigma_t (s_t - knot_t),  s = P w + b

Every t is a hinge on the score of one row. With sides sigma of +1 and -1 and knots y + epsilon and y - epsilon the sum
is the epsilon-insensitive loss of support vector regression (two hinges a row); with side -y and knot y it is the loss
of a support vector machine (one a row).

Symbols: xi_t >= max(0, e_t) slack, p_t = xi_t - e_t, a_t in (0, C) its multiplier, v_t = C - a_t; complementarity
a p = mu, v xi = mu; stationarity w + P' (sigma a) = 0, sum sigma a = 0. The slacks and the box hold throughout; each
Newton step costs one weighted Gram matrix P' diag(omega) P, that is n r^2, and two solves (predictor, corrector).
About 10 steps reach a relative duality gap of 1e-4 whatever C and the spectrum are. The Gram matrix of small features,
as bounded kernels have them, is summed in single precision, which halves its time: it only sets the direction, the gap
is computed in double precision. Where that does not suffice the machine is solved again in double precision.

A warm start takes the scores of a machine for similar targets and puts every hinge on the central path: with mu given,
a (xi - e) = mu and (C - a) xi = mu are solved by xi = (C e + 2 mu + sqrt(C^2 e^2 + 4 mu^2)) / 2C. Only stationarity is
then violated, by the rows whose targets moved, so mu follows their share. It saves a third of the steps.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from widegap._types import Doubles, Floats
from widegap.exceptions import SolverError

GRAM_ROWS = 4096  # rows whose weighted copy is made at a time
STEP_BACK = 0.995  # of the way to the nearest bound; at the bound itself the next step would be zero
SINGLE_LARGEST = 10.0  # beyond, rounding in single precision is not small against the regulariser
GRAM_RIDGE = 1e-14  # relative, on the diagonal of the Gram matrix, against rounding in the last steps
STALLED = 15  # steps without a smaller gap
WARM_FACTOR, WARM_LEAST = 8.0, 0.01  # mu / C of a warm start: factor times the share of moved rows, at least the least


@dataclass(frozen=True)
class Hinges:
    """``side`` and ``knot`` of shape (hinges a row, n)."""

    side: Doubles
    knot: Doubles


def regression_hinges(y: Doubles, epsilon: float) -> Hinges:
    """Epsilon-insensitive loss max(0, |s - y| - epsilon)."""
    return Hinges(np.stack([np.ones_like(y), -np.ones_like(y)]), np.stack([y + epsilon, y - epsilon]))


def classification_hinges(y: Doubles) -> Hinges:
    """Hinge loss max(0, 1 - y s)."""
    return Hinges(-y[None], y[None].copy())


@dataclass(frozen=True)
class Machine:
    """A fitted machine: weights, intercept, scores without intercept, J, and J minus the dual bound over J."""

    w: Doubles
    b: float
    f: Doubles
    objective: float
    gap: float
    n_iter: int


@dataclass
class _State:
    w: Doubles
    b: float
    f: Doubles  # P w
    xi: Doubles
    a: Doubles


@dataclass(frozen=True)
class WarmStart:
    """A machine of similar targets to start from, and the share of rows whose target has changed since."""

    machine: Machine
    moved: float


def solve_svm(
    P: Doubles, hinges: Hinges, C: float, warm: WarmStart | None = None, *, tol: float = 1e-4, max_iter: int = 100
) -> Machine:
    """Minimise J for centred features P of shape (n, r).

    Ensures a duality gap of at most ``tol`` times J, or raises SolverError.
    """
    state = _cold_state(P, hinges, C) if warm is None else _warm_state(warm, hinges, C)
    rows = P.astype(np.float32) if np.abs(P).max(initial=0.0) <= SINGLE_LARGEST else P
    machine = _iterate(P, rows, state, hinges, C, tol, max_iter)
    if not machine.gap <= tol:  # or it is NaN
        machine = _iterate(P, P, _cold_state(P, hinges, C), hinges, C, tol, max_iter)
    if not machine.gap <= tol:
        raise SolverError(
            f"The machine for C={C:g} has a relative duality gap of {machine.gap:.1e} after {machine.n_iter} steps, "
            f"more than {tol:.0e}; lower C or rescale the data."
        )
    return machine


def _cold_state(P: Doubles, hinges: Hinges, C: float) -> _State:
    n, r = P.shape
    excess = -hinges.side * hinges.knot
    return _State(np.zeros(r), 0.0, np.zeros(n), np.maximum(excess, 0) + 1.0, np.full(excess.shape, C / 2))


def _warm_state(warm: WarmStart, hinges: Hinges, C: float) -> _State:
    """The point of the central path that has the scores of the machine to start from."""
    w, b, f = warm.machine.w, warm.machine.b, warm.machine.f
    mu = C * min(max(WARM_FACTOR * warm.moved, WARM_LEAST), 1.0)
    e = hinges.side * (f + b - hinges.knot)
    root = np.hypot(C * e, 2 * mu)
    xi, p = (2 * mu + (root + C * e)) / (2 * C), (2 * mu + (root - C * e)) / (2 * C)
    return _State(w, b, f, xi, np.where(e > 0, C - mu / xi, mu / p))


def _iterate(
    P: Doubles, gram_rows: Floats, state: _State, hinges: Hinges, C: float, tol: float, max_iter: int
) -> Machine:
    """Newton steps until the gap is at most ``tol``, or stops falling; the machine of least gap.

    ``gram_rows`` is P in the precision of the Gram matrix.
    """
    best: Machine | None = None
    for iteration in range(max_iter):
        machine = _judge(P, state, hinges, C, iteration)
        if best is None or machine.gap < best.gap:
            best = machine
        if best.gap <= tol or iteration - best.n_iter > STALLED:
            break
        try:
            _newton_step(P, gram_rows, state, hinges, C)
        except np.linalg.LinAlgError:
            break
    assert best is not None
    return best


def _judge(P: Doubles, state: _State, hinges: Hinges, C: float, iteration: int) -> Machine:
    """Objective at the state's weights and at its multipliers."""
    e = hinges.side * (state.f + state.b - hinges.knot)
    objective = state.w @ state.w / 2 + C * np.maximum(e, 0).sum()
    beta = _feasible((hinges.side * state.a).sum(axis=0), C, hinges)
    w = -(P.T @ beta)
    dual = -w @ w / 2 + _conjugate(beta, hinges)
    gap = float((objective - dual) / max(abs(objective), np.finfo(float).tiny))
    return Machine(state.w, state.b, state.f, float(objective), gap, iteration)


def _feasible(beta: Doubles, C: float, hinges: Hinges) -> Doubles:
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


def _conjugate(beta: Doubles, hinges: Hinges) -> float:
    """Minimum over s of (loss - beta s), for scores that the multipliers leave free: minus sum beta * knot."""
    total = 0.0
    for side, knot in zip(hinges.side, hinges.knot, strict=True):
        part = np.where(side * beta > 0, beta, 0.0)
        total -= part @ knot
    return total


def _weighted_gram(P: Floats, omega: Doubles) -> Doubles:
    """(r + 1)-square matrix of [P, 1] weighted by omega."""
    r = P.shape[1]
    G = np.zeros((r + 1, r + 1))
    root = np.sqrt(omega).astype(P.dtype)
    for start in range(0, len(P), GRAM_ROWS):
        rows = slice(start, start + GRAM_ROWS)
        block = P[rows] * root[rows, None]
        G[:r, :r] += block.T @ block
        G[:r, r] += block.T @ root[rows]
    G[r, :r] = G[:r, r]
    G[r, r] = omega.sum()
    return G


def _newton_step(P: Doubles, gram_rows: Floats, state: _State, hinges: Hinges, C: float) -> None:
    """One predictor-corrector step, in place."""
    side = hinges.side
    r = P.shape[1]
    a, xi = state.a, state.xi
    v = C - a
    p = xi - side * (state.f + state.b - hinges.knot)
    if min(part.min() for part in (a, v, xi, p)) <= 0:
        raise np.linalg.LinAlgError("rounding has put a variable on its bound")
    mu = float((a * p + v * xi).sum() / (2 * a.size))
    ratio = a / v
    denominator = p + ratio * xi
    omega = a / denominator
    G = _weighted_gram(gram_rows, omega.sum(axis=0))
    G[np.arange(r), np.arange(r)] += 1.0
    G[np.arange(r + 1), np.arange(r + 1)] *= 1 + GRAM_RIDGE
    factor = cho_factor(G, overwrite_a=True, check_finite=True)

    def direction(first: Doubles, second: Doubles) -> tuple[Doubles, float, Doubles, Doubles, Doubles]:
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


def _longest(a: Doubles, da: Doubles, v: Doubles, xi: Doubles, dxi: Doubles, p: Doubles, dp: Doubles) -> float:
    """Longest step, at most 1, that keeps a, v = C - a, xi and p from below zero."""
    rates = (np.min(da / a), np.min(-da / v), np.min(dxi / xi), np.min(dp / p))
    return 1.0 if min(rates) >= -1 else -1 / min(rates)
