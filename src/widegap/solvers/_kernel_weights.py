"""The master of several kernels: MKC's reduced dual, a small smooth convex problem over the cuts' multipliers alone.

Primal, over one weight matrix v_k a kernel, kernel weights w_k, the bias b and one slack a group of cuts::

    min  beta/2 sum_k |v_k|^2 / w_k + sum_g caps_g xi_g     s.t.  w >= 0,  |w|_p <= 1,  max b - min b <= balance,
         sum_k <a_ck, v_k> + <d_c, b> >= l_c - xi_g         for every cut c of group g

For fixed v the best weights are w_k ~ |v_k|^(2/(p+1)), which makes the first term beta/2 times the norm of
``problems/_kernel_norm.py``. Dual, with 1/p + 1/r = 1, which is what is solved::

    max_x  l'x - 1/(2 beta) |q(x)|_r - balance sum_j (D_j)_+    s.t.  x >= 0,  sum_{c in g} x_c <= caps_g
    q_k = x'G_k x,   D = sum_c x_c d_c

At the optimum w_k = (q_k / |q|_r)^(r-1), v_k = w_k / beta sum_c x_c a_ck. With h_k = G_k x / beta and N = |q|_r / beta,

    gradient of N/2   g = sum_k w_k h_k
    Hessian of N/2    sum_k w_k G_k / beta + 2 (r-1)/N (sum_k (q_k/|q|_r)^(r-2) h_k h_k' - g g')

The last sum of the dual is linear in two further multipliers a cluster, sigma and tau >= 0, with D + sigma - tau = 0;
b, in the box [0, balance], is the multiplier of that equation.

======== ============ =====================================================================
symbol   argument     meaning
======== ============ =====================================================================
G_k      grams        (M, m, m) inner products of the cuts' normals, kernel by kernel
l        linear       (m,) offsets of the cuts
d_c      biases       (m, k) bias rows of the cuts, each of sum zero
p, r     p            norm of the kernel weights, p > 1, and its dual exponent
x        multipliers  (m,) dual variables
w        weights      (M,) kernel weights
======== ============ =====================================================================

Method: a feasible primal-dual interior point with Mehrotra's predictor and corrector. Every iterate x is feasible, so
its dual value is a lower bound; W and b that follow from x give an upper one. It stops when the two differ by less than
``TOLERANCE`` of the upper one, which proves the answer without trust in the method. Units are those of ``_qp.py``.

For p near 1 the norm is nearly a maximum, and Newton's method on it crawls from kink to kink. There the kernel weights
become variables of their own, *lifted*, with a level L and prices zeta of w >= 0::

    (q_k / beta - L w_k^(p-1)) / 2 + zeta_k = 0,    sum_k w_k^p = 1,    zeta_k w_k = 0

which says w_k = (q_k / |q|_r)^(r-1) and L = N without its high powers; any w of norm 1 gives an upper value.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from widegap.exceptions import SolverError
from widegap.solvers._result import FloatArray

Norm = tuple[float, FloatArray, FloatArray]  # N, the kernel weights w, the products h_k

TOLERANCE = 1e-8
ACCEPTED = 1e-6  # rounding may keep nearly singular problems from the tolerance; beyond this they are refused
ZERO = 1e-7
MAX_ITERATIONS = 100
_TO_BOUNDARY = 0.995  # share of the way to the nearest bound that a step may go
_HALVINGS = 6
_IDLE = (1e-8, 1e-6, 1e-4)  # multipliers below these shares of their price are zero if the gap permits
_TINY = 1e-300
_NEAR_ONE = 1.1  # p below which the kernel weights are lifted at once


@dataclass(frozen=True)
class KernelSolution:
    """Multipliers, the kernel weights and the bias they imply, and the proof of how good they are.

    ``residual`` is the gap between ``primal`` and ``dual`` relative to the primal value: 0 if and only if all
    optimality conditions hold, as both points are feasible.
    """

    multipliers: FloatArray
    weights: FloatArray
    bias: FloatArray
    dual: float
    primal: float
    residual: float
    n_iter: int


@dataclass(frozen=True)
class _Dual:
    """The dual in its units: grams include 1 / beta; rows hold the caps, equality the bias (none without balance)."""

    grams: FloatArray
    linear: FloatArray
    biases: FloatArray
    rows: FloatArray
    caps: FloatArray
    balance: float
    exponent: float

    @property
    def size(self) -> int:
        """Number of cuts."""
        return len(self.linear)

    @property
    def p(self) -> float:
        """Norm of the kernel weights."""
        return self.exponent / (self.exponent - 1)

    def norm(self, x: FloatArray) -> Norm:
        """N, the kernel weights w and the products h_k at the cuts' multipliers."""
        h = self.grams @ x
        q = np.maximum(h @ x, 0.0)
        largest = float(q.max())
        if largest <= _TINY:
            return 0.0, np.full(len(q), len(q) ** (1 / self.exponent - 1)), h
        N = largest * float(((q / largest) ** self.exponent).sum() ** (1 / self.exponent))
        return N, (q / N) ** (self.exponent - 1), h

    def norm_with(self, x: FloatArray, w: FloatArray) -> Norm:
        """N, the weights w brought to p-norm 1, without those of kernels that play no part, and the products h_k."""
        N, implied, h = self.norm(x)
        if N <= 0:
            return N, implied, h
        w = np.where(h @ x > _TINY, w, 0.0)
        return N, w / (w**self.p).sum() ** (1 / self.p), h

    def curvature(self, N: float, w: FloatArray, h: FloatArray) -> FloatArray:
        """Hessian of N/2."""
        hessian = np.tensordot(w, self.grams, 1)
        if N > 0:
            ratios = w ** (1 / (self.exponent - 1))  # q / N
            factors = np.where(ratios > _TINY, w / np.maximum(ratios, _TINY), 0.0)
            g = w @ h
            hessian += (2 * (self.exponent - 1) / N) * ((h.T * factors) @ h - np.outer(g, g))
        return hessian

    def values(self, x: FloatArray, b: FloatArray, norm: Norm) -> tuple[float, float]:
        """Dual value of the feasible x, and a bound of the primal value of its weights with the bias b.

        The bound, the value itself where w are the weights that x implies, takes N for sum_k w_k q_k <= N.
        """
        N, w, h = norm
        D = x @ self.biases
        dual = float(self.linear @ x) - N / 2 - self.balance * float(np.maximum(D, 0).sum())
        heights = self.linear - w @ h - self.biases @ b
        slacks = np.where(self.rows > 0, heights, 0.0).max(axis=1)
        return dual, N / 2 + float(self.caps @ np.maximum(slacks, 0.0))

    def relative_gap(self, x: FloatArray, b: FloatArray, norm: Norm) -> float:
        """Distance of the two values relative to the primal one, or to a value that is as good as zero.

        That is 1e-3 in these units, or ``ZERO`` times the loss of zero weights, below which losses are rounding.
        """
        lower, upper = self.values(x, b, norm)
        return max(0.0, upper - lower) / max(upper, 1e-3, ZERO * float(self.caps.sum()))


def solve_kernel_master(
    grams: FloatArray,
    linear: FloatArray,
    groups: npt.NDArray[Any],
    caps: FloatArray,
    biases: FloatArray,
    *,
    beta: float,
    balance: float,
    p: float,
) -> KernelSolution:
    """Solve the dual at the top of this module.

    Parameters
    ----------
    grams : (M, m, m) array
        Positive semi-definite; one per kernel, together not all zero unless no cut has a normal.
    linear : (m,) array
    groups : (m,) int array
        Group of each cut.
    caps : (n_groups,) array
        Largest sum of the multipliers of each group, > 0.
    biases : (m, k) array
    beta, balance, p : float
        beta > 0, balance >= 0 and p > 1.

    Returns
    -------
    KernelSolution

    Raises
    ------
    SolverError
        If the relative gap stays above ``ACCEPTED``.
    """
    linear_unit = float(np.abs(linear).max()) or 1.0
    largest = float(np.diagonal(grams, axis1=1, axis2=2).max()) / beta
    x_unit = min(float(caps.max()), linear_unit / largest if largest > 0 else np.inf)
    rows = (groups[None, :] == np.arange(len(caps))[:, None]).astype(np.float64)
    dual = _Dual(
        grams * (x_unit / (linear_unit * beta)),
        linear / linear_unit,
        biases,
        rows,
        caps / x_unit,
        balance / linear_unit,
        p / (p - 1),
    )
    # The corrector, good elsewhere, may lead astray where the norm is far from quadratic.
    attempts = [("reduced", True), ("reduced", False), ("lifted", True), ("lifted", False)]
    for form, correct in attempts if p >= _NEAR_ONE else attempts[2:] + attempts[:2]:
        x, b, norm, n_iter = _interior_point(dual, form == "lifted", correct)
        residual = dual.relative_gap(x, b, norm)
        if residual <= ACCEPTED:
            break
    lower, upper = dual.values(x, b, norm)
    if form == "lifted":
        upper -= (norm[0] - float(norm[1] @ (norm[2] @ x))) / 2
    unit = x_unit * linear_unit
    if not residual <= ACCEPTED:
        raise SolverError(
            f"The master of {len(grams)} kernels and {len(linear)} cuts was left with a relative gap of "
            f"{residual:.1e} after {n_iter} iterations; it must be <= {ACCEPTED:.0e}. Check that no kernel is larger "
            "than the others by many orders (normalize them), or lower C."
        )
    bias = (b - b.mean()) * linear_unit
    return KernelSolution(x * x_unit, norm[1], bias, lower * unit, upper * unit, residual, n_iter)


def _interior_point(dual: _Dual, lifted: bool, correct: bool) -> tuple[FloatArray, FloatArray, Norm, int]:
    """Cuts' multipliers, bias and norm of the best gap seen, idle multipliers exactly zero, and the iterations."""
    state = _Iterate.first(dual)
    if lifted:
        state = state.lift()
    best, least = state, np.inf
    for n_iter in range(1, MAX_ITERATIONS + 1):  # noqa: B007 - the count is returned
        state = state.step(correct)
        x = state.x[: dual.size]
        gap = dual.relative_gap(x, state.bias(), state.norm_at(x))
        if gap <= least:
            best, least = state, gap
        if least <= TOLERANCE or not (np.isfinite(gap) and state.x.all() and state.slack.all()):
            break
    x = best.x[: dual.size]
    for share in _IDLE:
        cleared = np.where(x < share * best.z[: dual.size], 0.0, x)
        if dual.relative_gap(cleared, best.bias(), best.norm_at(cleared)) <= max(least, TOLERANCE):
            x = cleared
    return x, best.bias(), best.norm_at(x), n_iter


@dataclass(frozen=True)
class _Iterate:
    """A feasible point x = (cuts, sigma, tau) and the prices z of x >= 0, y of the caps and nu of the equation.

    Where the kernel weights are lifted also these, w, with their prices zeta and the level.
    """

    dual: _Dual
    x: FloatArray
    z: FloatArray
    y: FloatArray
    nu: FloatArray
    w: FloatArray = field(default_factory=lambda: np.zeros(0))
    zeta: FloatArray = field(default_factory=lambda: np.zeros(0))
    level: float = 0.0

    @classmethod
    def first(cls, dual: _Dual) -> "_Iterate":
        """Well inside the caps, at about the size of the solution."""
        shares = np.minimum(dual.caps, 1.0) / 2 / np.maximum(dual.rows.sum(axis=1), 1)
        x = shares @ dual.rows
        if dual.balance > 0:
            D = x @ dual.biases
            x = np.concatenate([x, np.maximum(-D, 0) + x.mean(), np.maximum(D, 0) + x.mean()])
        slack = dual.caps - dual.rows @ x[: dual.size]
        mu = 0.1
        n_equations = dual.biases.shape[1] if dual.balance > 0 else 0
        return cls(dual, x, np.maximum(mu, mu / np.maximum(x, 1e-3)), mu / slack, np.zeros(n_equations))

    def lift(self) -> "_Iterate":
        """The same point with equal kernel weights as variables of their own."""
        M, x = len(self.dual.grams), self.x[: self.dual.size]
        w = np.full(M, M ** (-1 / self.dual.p))
        level = max(float(w @ (self.dual.grams @ x @ x)), 1e-12)
        return replace(self, w=w, zeta=0.1 / w, level=level)

    def norm_at(self, x: FloatArray) -> Norm:
        """The norm as the proof sees it: with the lifted weights, else with those that x implies."""
        return self.dual.norm_with(x, self.w) if len(self.w) else self.dual.norm(x)

    def bias(self) -> FloatArray:
        """The bias as the cuts see it, put into its box."""
        if not len(self.nu):
            return np.zeros(self.dual.biases.shape[1])
        return np.clip(self.nu, 0.0, self.dual.balance)

    def step(self, correct: bool) -> "_Iterate":
        """One predictor and corrector, or a plain step towards a tenth of the present complementarity."""
        newton = _Newton(self, self._matrix())
        change = newton.corrected() if correct else newton.direction(self.complementarity / 10, 0.0, 0.0, 0.0)
        length = min(1.0, _TO_BOUNDARY * newton.reach(change))
        # The norm is far from quadratic where p is near 1: a step that makes things worse is cut short.
        for _ in range(_HALVINGS):
            new = self._moved(change, length)
            if new.error <= 2 * self.error:
                break
            length /= 2
        return new

    def _moved(self, change: "_Change", length: float) -> "_Iterate":
        return _Iterate(
            self.dual,
            self.x + length * change.x,
            self.z + length * change.z,
            self.y + length * change.y,
            self.nu + length * change.nu,
            self.w + length * change.w,
            self.zeta + length * change.zeta,
            self.level + length * change.level,
        )

    @cached_property
    def norm(self) -> Norm:
        """N, the kernel weights and the products h_k here; lifted, the level and weights that are variables."""
        x = self.x[: self.dual.size]
        return (self.level, self.w, self.dual.grams @ x) if len(self.w) else self.dual.norm(x)

    @cached_property
    def slack(self) -> FloatArray:
        """What is left of the caps."""
        return self.dual.caps - self.dual.rows @ self.x[: self.dual.size]

    @cached_property
    def complementarity(self) -> float:
        """Mean product of a variable and its price."""
        total = float(self.x @ self.z + self.slack @ self.y + self.w @ self.zeta)
        return total / (len(self.x) + len(self.y) + len(self.w))

    @cached_property
    def uphill(self) -> FloatArray:
        """Gradient of the Lagrangian."""
        dual, m, e = self.dual, self.dual.size, len(self.nu)
        _, w, h = self.norm
        total = -self.z
        total[:m] += w @ h - dual.linear + self.y @ dual.rows
        if e:
            total[:m] += dual.biases @ self.nu
            total[m : m + e] += self.nu
            total[m + e :] += dual.balance - self.nu
        return total

    @cached_property
    def error(self) -> float:
        """How far the optimality conditions are from being met."""
        return float(np.abs(self.uphill).max()) + self.complementarity + float(np.abs(self.misfit).sum())

    @cached_property
    def misfit(self) -> FloatArray:
        """How far the lifted weights, each equation times its w, and last their norm are from what they should be."""
        if not len(self.w):
            return np.zeros(0)
        p, x = self.dual.p, self.x[: self.dual.size]
        powers = self.w**p
        weights = (self.w * (self.norm[2] @ x) - self.level * powers) / 2 + self.zeta * self.w
        return np.append(weights, self.level * (1 - powers.sum()) / (2 * p))

    def _matrix(self) -> FloatArray:
        """The Newton matrix of x, bordered by the caps, the equation of the bias and the lifted weights, if any.

        Eliminating the caps as well would drown the curvature of nearly equal cuts once a cap is tight.
        """
        dual, m, size, n_caps, e = self.dual, self.dual.size, len(self.x), len(self.y), len(self.nu)
        total = size + n_caps + e + len(self.misfit)
        matrix = np.zeros((total, total))
        matrix[:m, :m] = np.tensordot(self.w, dual.grams, 1) if len(self.w) else dual.curvature(*self.norm)
        matrix[np.arange(size), np.arange(size)] += self.z / self.x
        caps, equation = slice(size, size + n_caps), slice(size + n_caps, size + n_caps + e)
        if len(self.w):  # unknowns are the relative changes of w and of the level
            weights, powers = slice(size + n_caps + e, total - 1), self.level * self.w**dual.p / 2
            matrix[weights, :m] = self.w[:, None] * self.norm[2]
            matrix[:m, weights] = matrix[weights, :m].T
            matrix[weights, weights] = np.diag(-(dual.p - 1) * powers - self.zeta * self.w)
            matrix[weights, -1] = matrix[-1, weights] = -powers
        matrix[caps, :m], matrix[:m, caps] = dual.rows, dual.rows.T
        matrix[caps, caps] = np.diag(-self.slack / self.y)
        if e:
            equality = np.hstack([dual.biases.T, np.eye(e), -np.eye(e)])
            matrix[equation, :size], matrix[:size, equation] = equality, equality.T
        return matrix


@dataclass(frozen=True)
class _Change:
    """A direction for everything an iterate holds, and for the slacks of the caps."""

    x: FloatArray
    z: FloatArray
    slack: FloatArray
    y: FloatArray
    nu: FloatArray
    w: FloatArray
    zeta: FloatArray
    level: float


@dataclass(frozen=True)
class _Newton:
    """The linear system of one iterate."""

    at: _Iterate
    matrix: FloatArray

    def direction(self, target: float, of_x: Any, of_slack: Any, of_w: Any) -> _Change:
        """Newton step to complementarity products ``target``, less the given second-order terms."""
        x, z, y, slack, rows = self.at.x, self.at.z, self.at.y, self.at.slack, self.at.dual.rows
        w, zeta, misfit = self.at.w, self.at.zeta, self.at.misfit
        r_x, r_slack, r_w = (target - of_x) / x - z, (target - of_slack) / slack - y, (target - of_w) / w - zeta
        lifted = -misfit - np.append(r_w * w, 0.0) if len(w) else misfit
        right = np.concatenate([r_x - self.at.uphill, -r_slack * slack / y, np.zeros(len(self.at.nu)), lifted])
        try:
            solution = np.linalg.solve(self.matrix, right)
        except np.linalg.LinAlgError:  # equal cuts: any division of the weight among them is as good
            solution = np.linalg.lstsq(self.matrix, right)[0]
        ends = np.cumsum([len(x), len(y), len(self.at.nu), len(w)])
        dx, dy, d_nu, relative, level = np.split(solution, ends)
        d_slack = -rows @ dx[: rows.shape[1]]
        d_level = float(level.sum()) * self.at.level
        return _Change(dx, r_x - z / x * dx, d_slack, dy, d_nu, relative * w, r_w - zeta * relative, d_level)

    def corrected(self) -> _Change:
        """The step to zero complementarity, repeated with what it taught: its second-order terms and its reach."""
        at = self.at
        guess = self.direction(0.0, 0.0, 0.0, 0.0)
        length = self.reach(guess)
        reached = float((at.x + length * guess.x) @ (at.z + length * guess.z))
        reached += float((at.slack + length * guess.slack) @ (at.y + length * guess.y))
        reached += float((at.w + length * guess.w) @ (at.zeta + length * guess.zeta))
        mu = at.complementarity
        target = mu * (reached / (len(at.x) + len(at.y) + len(at.w)) / mu) ** 3
        return self.direction(target, guess.x * guess.z, guess.slack * guess.y, guess.w * guess.zeta)

    def reach(self, change: _Change) -> float:
        """How far, at most 1 / _TO_BOUNDARY, one can go before a positive quantity is zero."""
        at, limit = self.at, 1 / _TO_BOUNDARY
        pairs = [(at.x, change.x), (at.z, change.z), (at.slack, change.slack), (at.y, change.y)]
        if len(at.w):
            level, d_level = np.array([at.level]), np.array([change.level])
            pairs += [(at.w, change.w), (at.zeta, change.zeta), (level, d_level)]
        for values, steps in pairs:
            falling = steps < 0
            limit = min(limit, float((-values[falling] / steps[falling]).min(initial=np.inf)))
        return limit
