"""The dual of the master of several kernels, and the steps of an interior point on it.

The symbols, the equations and the method are at the top of ``_kernel_weights.py``.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from widegap._types import Doubles

NormParts = tuple[float, Doubles, Doubles]  # N, the kernel weights w, the products h_k

ZERO = 1e-7  # of the loss of zero weights: smaller losses are rounding
_TO_BOUNDARY = 0.995  # share of the way to the nearest bound that a step may go
_HALVINGS = 6  # of a step that makes things worse: to 1/64 of it, after which a worse point is accepted
_TINY = 1e-300  # below it a quotient would overflow


@dataclass(frozen=True)
class KernelDual:
    """The dual in its units: grams include 1 / beta; rows hold the caps, equality the bias (none without balance)."""

    grams: Doubles
    linear: Doubles
    biases: Doubles
    rows: Doubles
    caps: Doubles
    balance: float
    exponent: float

    @property
    def size(self) -> int:
        """Number of cuts."""
        return len(self.linear)

    @property
    def p(self) -> float:
        """NormParts of the kernel weights."""
        return self.exponent / (self.exponent - 1)

    def norm(self, x: Doubles) -> NormParts:
        """N, the kernel weights w and the products h_k at the cuts' multipliers."""
        h = self.grams @ x
        q = np.maximum(h @ x, 0.0)
        largest = float(q.max())
        if largest <= _TINY:
            return 0.0, np.full(len(q), len(q) ** (1 / self.exponent - 1)), h
        N = largest * float(((q / largest) ** self.exponent).sum() ** (1 / self.exponent))
        return N, (q / N) ** (self.exponent - 1), h

    def norm_with(self, x: Doubles, w: Doubles) -> NormParts:
        """N, the weights w brought to p-norm 1, 0 for kernels without variance, and the products h_k."""
        N, implied, h = self.norm(x)
        if N <= 0:
            return N, implied, h
        w = np.where(h @ x > _TINY, w, 0.0)
        return N, w / (w**self.p).sum() ** (1 / self.p), h

    def curvature(self, N: float, w: Doubles, h: Doubles) -> Doubles:
        """Hessian of N/2."""
        hessian = np.tensordot(w, self.grams, 1)
        if N > 0:
            ratios = w ** (1 / (self.exponent - 1))  # q / N
            factors = np.where(ratios > _TINY, w / np.maximum(ratios, _TINY), 0.0)
            g = w @ h
            hessian += (2 * (self.exponent - 1) / N) * ((h.T * factors) @ h - np.outer(g, g))
        return hessian

    def values(self, x: Doubles, b: Doubles, norm: NormParts) -> tuple[float, float]:
        """Dual value of the feasible x, and a bound of the primal value of its weights with the bias b.

        The bound, the value itself where w are the weights that x implies, takes N for sum_k w_k q_k <= N.
        """
        N, w, h = norm
        D = x @ self.biases
        dual = float(self.linear @ x) - N / 2 - self.balance * float(np.maximum(D, 0).sum())
        heights = self.linear - w @ h - self.biases @ b
        slacks = np.where(self.rows > 0, heights, 0.0).max(axis=1)
        return dual, N / 2 + float(self.caps @ np.maximum(slacks, 0.0))

    def relative_gap(self, x: Doubles, b: Doubles, norm: NormParts) -> float:
        """Distance of the two values relative to the primal one, or to a value that is as good as zero.

        That is 1e-3 in these units, or ``ZERO`` times the loss of zero weights, below which losses are rounding.
        """
        lower, upper = self.values(x, b, norm)
        return max(0.0, upper - lower) / max(upper, 1e-3, ZERO * float(self.caps.sum()))


@dataclass(frozen=True)
class Iterate:
    """A feasible point x = (cuts, sigma, tau) and the prices z of x >= 0, y of the caps and nu of the equation.

    Where the kernel weights are lifted also these, w, with their prices zeta and the level.
    """

    dual: KernelDual
    x: Doubles
    z: Doubles
    y: Doubles
    nu: Doubles
    w: Doubles = field(default_factory=lambda: np.zeros(0))
    zeta: Doubles = field(default_factory=lambda: np.zeros(0))
    level: float = 0.0

    @classmethod
    def first(cls, dual: KernelDual) -> "Iterate":
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

    def lift(self) -> "Iterate":
        """The same point with equal kernel weights as variables of their own."""
        M, x = len(self.dual.grams), self.x[: self.dual.size]
        w = np.full(M, M ** (-1 / self.dual.p))
        level = max(float(w @ (self.dual.grams @ x @ x)), 1e-12)
        return replace(self, w=w, zeta=0.1 / w, level=level)

    def norm_at(self, x: Doubles) -> NormParts:
        """The norm as the proof sees it: with the lifted weights, else with those that x implies."""
        return self.dual.norm_with(x, self.w) if len(self.w) else self.dual.norm(x)

    def bias(self) -> Doubles:
        """The bias as the cuts see it, put into its box."""
        if not len(self.nu):
            return np.zeros(self.dual.biases.shape[1])
        return np.clip(self.nu, 0.0, self.dual.balance)

    def step(self, correct: bool) -> "Iterate":
        """One predictor and corrector, or a plain step towards a tenth of the present complementarity."""
        newton = Newton(self, self._matrix())
        change = newton.corrected() if correct else newton.direction(self.complementarity / 10, 0.0, 0.0, 0.0)
        length = min(1.0, _TO_BOUNDARY * newton.reach(change))
        # The norm is far from quadratic where p is near 1: a step that makes things worse is cut short.
        for _ in range(_HALVINGS):
            new = self._moved(change, length)
            if new.error <= 2 * self.error:
                break
            length /= 2
        return new

    def _moved(self, change: "ConeChange", length: float) -> "Iterate":
        return Iterate(
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
    def norm(self) -> NormParts:
        """N, the kernel weights and the products h_k here; lifted, the level and weights that are variables."""
        x = self.x[: self.dual.size]
        return (self.level, self.w, self.dual.grams @ x) if len(self.w) else self.dual.norm(x)

    @cached_property
    def slack(self) -> Doubles:
        """What is left of the caps."""
        return self.dual.caps - self.dual.rows @ self.x[: self.dual.size]

    @cached_property
    def complementarity(self) -> float:
        """Mean product of a variable and its price."""
        total = float(self.x @ self.z + self.slack @ self.y + self.w @ self.zeta)
        return total / (len(self.x) + len(self.y) + len(self.w))

    @cached_property
    def uphill(self) -> Doubles:
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
    def misfit(self) -> Doubles:
        """How far the lifted weights, each equation times its w, and last their norm are from what they should be."""
        if not len(self.w):
            return np.zeros(0)
        p, x = self.dual.p, self.x[: self.dual.size]
        powers = self.w**p
        weights = (self.w * (self.norm[2] @ x) - self.level * powers) / 2 + self.zeta * self.w
        return np.append(weights, self.level * (1 - powers.sum()) / (2 * p))

    def _matrix(self) -> Doubles:
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
class ConeChange:
    """A direction for everything an iterate holds, and for the slacks of the caps."""

    x: Doubles
    z: Doubles
    slack: Doubles
    y: Doubles
    nu: Doubles
    w: Doubles
    zeta: Doubles
    level: float


@dataclass(frozen=True)
class Newton:
    """The linear system of one iterate."""

    at: Iterate
    matrix: Doubles

    def direction(
        self, target: float, of_x: Doubles | float, of_slack: Doubles | float, of_w: Doubles | float
    ) -> ConeChange:
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
        return ConeChange(dx, r_x - z / x * dx, d_slack, dy, d_nu, relative * w, r_w - zeta * relative, d_level)

    def corrected(self) -> ConeChange:
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

    def reach(self, change: ConeChange) -> float:
        """How far, at most 1 / _TO_BOUNDARY, one can go before a positive quantity is zero."""
        at, limit = self.at, 1 / _TO_BOUNDARY
        pairs = [(at.x, change.x), (at.z, change.z), (at.slack, change.slack), (at.y, change.y)]
        if len(at.w):
            level, d_level = np.array([at.level]), np.array([change.level])
            pairs += [(at.w, change.w), (at.zeta, change.zeta), (level, d_level)]
        for values, steps in pairs:
            falling = steps < 0
            with np.errstate(over="ignore"):  # a step near 0 never leads to the boundary
                limit = min(limit, float((-values[falling] / steps[falling]).min(initial=np.inf)))
        return limit
