"""Generalised maximum margin clustering as a semidefinite program, after Valizadegan and Jin.

With P = [I e] and w = (z, bias), the problem is

    max_gamma e'gamma   s.t.   P'K^-1 P + C_e (e; 0)(e; 0)' - Diag(gamma, 0) >= 0,   0 <= gamma <= C

Its last row and column hold no gamma, so the bias can be eliminated. What is left has n rows::

    max_gamma e'gamma   s.t.   Z = B - Diag(gamma) >= 0,   0 <= gamma <= C
    B = K^-1 - K^-1 e e' K^-1 / (e'K^-1 e) + C_e ee' = pinv(J K J) + C_e ee',      J = I - ee'/n

and is the dual of   min_{W >= 0}  <B, W> + C sum_i max(0, 1 - W_ii),   the relaxation W = zz' of

    min_z  z'Bz + C sum_i max(0, 1 - z_i^2) :

scores z of least norm, beyond -1 or 1, whose mean is near zero. The signs of z are the labels. WZ = 0 at the optimum,
so that the null vector of the slack Z is the leading eigenvector of W; if the null space has more dimensions, the
latter is still defined and is what is used. The solver is a primal-dual interior-point method (HKM direction,
predictor and corrector) on W, gamma and the multipliers p of gamma >= 0 and s of gamma <= C. It starts feasible
(diag W + s - p = e) and stays so, therefore both values are bounds all along. An iteration costs O(n^3) with small
constants: the linear system has n unknowns. (A plain log-barrier in gamma alone, tried first, lost precision.)

======== ============ ==================================================================
symbol   argument     meaning
======== ============ ==================================================================
K        kernel       (n, n) positive semidefinite, of mean diagonal about one
C        C            largest gamma of a row
B        B            (n, n) positive definite, from `score_norm`
======== ============ ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy import linalg

from widegap._types import Doubles
from widegap.cutting_plane._qp import solve_qp
from widegap.sdp._semidefinite import SDPRecord, SDPSolution, SignArray

STEP_FRACTION = 0.95  # of the way to the border of the cone
MIN_CENTRING = 1e-6
PHASE = "objective of given labels"


def score_value(B_inverse: Doubles, signs: SignArray) -> float:
    """min z'Bz subject to y_i z_i >= 1: GMMC's objective for given labels."""
    n = len(B_inverse)
    signed = B_inverse * np.outer(signs, signs)
    return 2 * solve_qp(signed, np.ones(n), np.full(n, -1), np.zeros(0), phase=PHASE).dual


def score_norm(kernel: Doubles, C_e: float, ridge: float) -> Doubles:
    """B of GMMC for a *centred* kernel; the ridge makes it exist where the kernel is singular.

    A centred kernel is zero along e, where the ridge alone would be inverted and rounding with it. What stands there
    does not matter, as B is centred, so it is filled up to the size of the kernel.
    """
    n = len(kernel)
    filled = kernel + np.trace(kernel) / n**2  # its eigenvalue along e is the mean of all
    inverse = linalg.inv(filled + ridge * np.eye(n))
    mean = inverse.mean(axis=0)
    B = inverse - mean - mean[:, None] + mean.mean() + C_e
    return (B + B.T) / 2


@dataclass(frozen=True)
class _Iterate:
    """A feasible point: Z = B - Diag(gamma) and W positive definite, all vectors positive, diag W + s - p = e."""

    W: Doubles
    p: Doubles
    s: Doubles
    gamma: Doubles
    room: Doubles  # C - gamma
    Z: Doubles

    @property
    def gap(self) -> float:
        return float((self.W * self.Z).sum() + self.p @ self.gamma + self.s @ self.room)

    def moved(self, step: _Step, primal: float, dual: float) -> _Iterate:
        """The point after steps of the given lengths in (W, p, s) and in gamma."""
        return _Iterate(
            W=self.W + primal * step.W,
            p=self.p + primal * step.p,
            s=self.s + primal * step.s,
            gamma=self.gamma + dual * step.gamma,
            room=self.room - dual * step.gamma,
            Z=self.Z - dual * np.diag(step.gamma),
        )


@dataclass(frozen=True)
class _Step:
    W: Doubles
    p: Doubles
    s: Doubles
    gamma: Doubles


class _Newton:
    """The factored Newton system at one point; solves for several targets."""

    def __init__(self, point: _Iterate):
        identity = np.eye(len(point.W))
        self.point = point
        self.root_Z = linalg.solve_triangular(np.linalg.cholesky(point.Z), identity, lower=True)
        self.root_W = linalg.solve_triangular(np.linalg.cholesky(point.W), identity, lower=True)
        self.Z_inverse = self.root_Z.T @ self.root_Z
        system = point.W * self.Z_inverse + np.diag(point.p / point.gamma + point.s / point.room)
        self.factor = linalg.cho_factor(system)

    def step(self, mu: float, affine: _Step | None = None) -> _Step:
        """Towards WZ = mu I, p gamma = mu, s room = mu; with the second-order terms of a first step if given."""
        at = self.point
        of_W = mu * self.Z_inverse - at.W
        of_p, of_s = mu / at.gamma - at.p, mu / at.room - at.s
        if affine is not None:
            of_W = of_W + _symmetric((affine.W * affine.gamma) @ self.Z_inverse)
            of_p = of_p - affine.p * affine.gamma / at.gamma
            of_s = of_s + affine.s * affine.gamma / at.room
        infeasibility = 1 - (at.W.diagonal() + at.s - at.p)  # rounding
        gamma = linalg.cho_solve(self.factor, infeasibility - of_W.diagonal() - of_s + of_p)
        return _Step(
            W=of_W + _symmetric((at.W * gamma) @ self.Z_inverse),
            p=of_p - at.p / at.gamma * gamma,
            s=of_s + at.s / at.room * gamma,
            gamma=gamma,
        )

    def lengths(self, step: _Step) -> tuple[float, float]:
        """How far the step can go until (W, p, s) or (Z, gamma, room) reach the border of their cones."""
        at = self.point
        primal = min(_to_border(self.root_W, step.W), _to_zero(at.p, step.p), _to_zero(at.s, step.s))
        dual = min(
            _to_border(self.root_Z, -np.diag(step.gamma)),
            _to_zero(at.gamma, step.gamma),
            _to_zero(at.room, -step.gamma),
        )
        return primal, dual


def _symmetric(X: Doubles) -> Doubles:
    return (X + X.T) / 2


def _to_border(root: Doubles, direction: Doubles) -> float:
    """Largest t with X + t * direction semidefinite, for X^-1 = root' root."""
    smallest = float(linalg.eigvalsh(root @ direction @ root.T, subset_by_index=[0, 0])[0])
    return -1 / smallest if smallest < 0 else np.inf


def _to_zero(x: Doubles, direction: Doubles) -> float:
    """Largest t with x + t * direction >= 0."""
    falling = direction < 0
    return float((x[falling] / -direction[falling]).min(initial=np.inf))


def _first_point(B: Doubles, C: float) -> _Iterate:
    """Feasible and near the central path: W is a multiple of Z^-1 with a diagonal of at least two."""
    n = len(B)
    gamma = np.full(n, 0.5 * min(float(linalg.eigvalsh(B, subset_by_index=[0, 0])[0]), C))
    Z = B - np.diag(gamma)
    Z_inverse = linalg.inv(Z)
    scale = 2 / Z_inverse.diagonal().min()
    W = scale * _symmetric(Z_inverse)
    s = scale / (C - gamma)
    return _Iterate(W, W.diagonal() + s - 1, s, gamma, C - gamma, Z)


def solve_gmmc(B: Doubles, C: float, *, tol: float, max_iter: int) -> SDPSolution:
    """Solve the SDP of GMMC by a primal-dual interior-point method.

    Parameters
    ----------
    B : (n, n) array
        Positive definite, see `score_norm`.
    C : float
        Largest gamma, > 0.
    tol : float
        Relative gap at which to stop; down to about 1e-8.
    max_iter : int
        Most iterations; 16 to 25 are usual.

    Returns
    -------
    SDPSolution
        Not converged if ``max_iter`` or the precision of the arithmetic ended the iterations.
    """
    began = perf_counter()
    point = _first_point(B, C)
    history = [_record(0, point, began)]
    while history[-1].gap > tol * history[-1].dual and len(history) <= max_iter:
        try:
            newton = _Newton(point)
            affine = newton.step(0.0)
            primal, dual = newton.lengths(affine)
            reached = point.moved(affine, min(1, primal), min(1, dual)).gap / point.gap
            centring = max(MIN_CENTRING, min(1.0, reached**2))
            step = newton.step(centring * point.gap / (3 * len(B)), affine)
            primal, dual = newton.lengths(step)
        except np.linalg.LinAlgError:  # W or Z is singular to working precision
            break
        point = point.moved(step, min(1, STEP_FRACTION * primal), min(1, STEP_FRACTION * dual))
        history.append(_record(len(history), point, began))
    return SDPSolution(
        matrix=point.W,
        multipliers=point.gamma,
        primal=history[-1].primal,
        dual=history[-1].dual,
        residual=0.0,
        n_iter=len(history) - 1,
        converged=history[-1].gap <= tol * history[-1].dual,
        history=history,
    )


def _record(iteration: int, point: _Iterate, began: float) -> SDPRecord:
    dual = float(point.gamma.sum())
    return SDPRecord(iteration, dual + point.gap, dual, perf_counter() - began)
