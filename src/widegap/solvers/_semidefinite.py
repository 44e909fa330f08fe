"""The two semidefinite relaxations of maximum margin clustering, each with a proof of how good its answer is.

**MMC** (Xu et al.). The dual of a support vector machine without bias, minimised over the labels y::

    min_y  p(yy'),    p(M) = max_{0 <= lam <= C}  2 e'lam - lam'(K o M) lam

(o: entry by entry). p is convex in M. Replacing yy' by a positive semidefinite M gives, with the Schur complement and
the multipliers mu, nu of the box on lam, an SDP in n^2/2 unknowns, which SCS solves::

    min delta  s.t.  [[K o M, e + mu - nu], [., delta - 2C e'nu]] >= 0,  M >= 0,  diag M = e,  |Me| <= limit,
                     mu >= 0,  nu >= 0

Proof. From above: p(M) of SCS's M, after its negative eigenvalues are cut and its diagonal is brought back to one.
From below, for any lam in the box, any d and u, and eta >= 0 large enough to make the matrix semidefinite::

    p(M) >= 2 e'lam - e'd - limit |u|_1 - n eta,     Diag(d) + (ue' + eu')/2 + eta I - K o lam lam' >= 0

Neither uses SCS's own word for its accuracy. The first holds up to ``residual``, the part of |Me| above the limit.

**GMMC** (Valizadegan and Jin). With P = [I e] and w = (z, bias), the problem is

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

Both are to be run with BLAS held to one thread: the matrices are small, and on a busy machine of two cores threads
that wait for each other made n = 352 take 93 s instead of 0.9 s.

======== ============ ==================================================================
symbol   argument     meaning
======== ============ ==================================================================
K        kernel       (n, n) positive semidefinite, of mean diagonal about one
C        C            largest multiplier of a row
limit    limit        largest |e'y|, the difference of the cluster sizes
B        B            (n, n) positive definite, from `score_norm`
======== ============ ==================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from widegap.solvers._qp import solve_qp

FloatArray = npt.NDArray[np.float64]
SignArray = npt.NDArray[np.int8]

STEP_FRACTION = 0.95  # of the way to the border of the cone
MIN_CENTRING = 1e-6
ROOT2 = float(np.sqrt(2.0))


@dataclass(frozen=True)
class SDPRecord:
    """One iteration: the value of the relaxation's minimisation, its lower bound, and the seconds since the start."""

    iteration: int
    primal: float
    dual: float
    seconds: float

    @property
    def gap(self) -> float:
        """Primal minus dual value."""
        return self.primal - self.dual


@dataclass(frozen=True)
class SDPSolution:
    """The matrix that stands for yy' (or zz'), and the proof.

    Attributes
    ----------
    matrix : (n, n) array
        M of unit diagonal, or W; positive semidefinite.
    multipliers : (n,) array
        lam or gamma.
    primal, dual : float
        Upper and lower bound of the relaxation's optimal value. No labeling has an objective below ``dual``.
    residual : float
        How far max |Me| is above its limit; 0 for GMMC.
    converged : bool
        Whether the solver met its tolerance.
    history : list of SDPRecord
        Every iteration for GMMC, the last one for MMC.
    """

    matrix: FloatArray
    multipliers: FloatArray
    primal: float
    dual: float
    residual: float
    n_iter: int
    converged: bool
    history: list[SDPRecord]

    @property
    def gap(self) -> float:
        """Primal minus dual value, relative to the primal."""
        return (self.primal - self.dual) / abs(self.primal)

    @property
    def tightness(self) -> float:
        """Share of the leading eigenvalue in the trace: 1 if the matrix is yy', that is if the relaxation is exact."""
        values = np.linalg.eigvalsh(self.matrix)
        return float(values[-1] / values.sum())


def _oriented(scores: FloatArray) -> FloatArray:
    """The scores or their negatives, such that the first one is not positive."""
    return -scores if scores[0] > 0 else scores


def signs_within(scores: FloatArray, limit: float) -> tuple[SignArray, bool]:
    """Signs of the scores; if their sum exceeds the limit, the threshold moves until it does not.

    Returns
    -------
    signs : (n,) array of -1 and 1
    moved : bool
        Whether the limit decided.
    """
    n = len(scores)
    largest = int((n + limit) // 2)
    n_plus = int(np.count_nonzero(scores > 0))
    wanted = min(max(n_plus, n - largest), largest)
    signs = np.full(n, -1, np.int8)
    signs[np.argsort(-scores, kind="stable")[:wanted]] = 1
    return signs, wanted != n_plus


def round_matrix(
    matrix: FloatArray,
    limit: float,
    value: Callable[[SignArray], float],
    n_roundings: int,
    rng: np.random.Generator,
) -> tuple[SignArray, float, bool]:
    """Labels from the relaxation's matrix: of the leading eigenvector and random projections the best by ``value``.

    A projection is g'V for matrix = V'V and a normal vector g, as Goemans and Williamson do for the maximum cut.

    Returns
    -------
    signs : (n,) array of -1 and 1
    value : float
    moved : bool
        Whether the limit on |e'y| decided some labels.
    """
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 0))
    directions = [root @ rng.standard_normal(len(root)) for _ in range(n_roundings)]
    candidates = [signs_within(_oriented(scores), limit) for scores in [vectors[:, -1], *directions]]
    objectives = [value(signs) for signs, _ in candidates]
    best = int(np.argmin(objectives))
    return candidates[best][0], objectives[best], candidates[best][1]


def margin_value(kernel: FloatArray, M: FloatArray, C: float) -> float:
    """p(M): twice the objective of the support vector machine without bias if M = yy'."""
    n = len(kernel)
    return 2 * solve_qp(kernel * M, np.ones(n), np.arange(n), np.full(n, C)).primal


def score_value(B_inverse: FloatArray, signs: SignArray) -> float:
    """min z'Bz subject to y_i z_i >= 1: GMMC's objective for given labels."""
    n = len(B_inverse)
    return 2 * solve_qp(B_inverse * np.outer(signs, signs), np.ones(n), np.full(n, -1), np.zeros(0)).dual


def score_norm(kernel: FloatArray, C_e: float, ridge: float) -> FloatArray:
    """B of GMMC for a *centred* kernel; the ridge makes it exist where the kernel is singular."""
    n = len(kernel)
    inverse = linalg.inv(kernel + ridge * np.eye(n))
    mean = inverse.mean(axis=0)
    B = inverse - mean - mean[:, None] + mean.mean() + C_e
    return (B + B.T) / 2


def _pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns below the diagonal, column by column as SCS wants them."""
    columns, rows = np.triu_indices(n, 1)
    return rows, columns


def _triangle(n: int) -> npt.NDArray[np.intp]:
    """Position of entry (i, j), i >= j, in SCS's packed lower triangle; (n, n), symmetric."""
    index = np.zeros((n, n), np.intp)
    columns, rows = np.triu_indices(n)
    index[rows, columns] = index[columns, rows] = np.arange(len(rows))
    return index


def _unpack(packed: FloatArray, n: int) -> FloatArray:
    """Symmetric matrix from SCS's packed triangle, whose entries off the diagonal carry a factor sqrt 2."""
    full = packed[_triangle(n)] / ROOT2
    full.flat[:: n + 1] *= ROOT2
    return full


def _assemble(kernel: FloatArray, C: float, limit: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Data and cones of ``min c'x  s.t.  Ax + s = b, s in cones``."""
    from scipy.sparse import csc_array

    n = len(kernel)
    rows, columns = _pairs(n)
    pairs, each = np.arange(len(rows)), np.arange(n)
    delta, mu, nu = len(rows), len(rows) + 1 + each, len(rows) + 1 + n + each  # unknowns after M below the diagonal
    ones, off = np.ones(n), np.ones(len(rows))
    top, block = 4 * n, 4 * n + n * (n + 1) // 2
    in_M, in_block = top + _triangle(n), block + _triangle(n + 1)
    corner = in_block[n, n]
    entries = [  # row, column, value
        (each, mu, -ones),
        (n + each, nu, -ones),
        *((start + i, pairs, sign * off) for start, sign in ((2 * n, 1), (3 * n, -1)) for i in (rows, columns)),
        (in_M[rows, columns], pairs, -ROOT2 * off),
        (in_block[rows, columns], pairs, -ROOT2 * kernel[rows, columns]),
        (in_block[n, :n], mu, -ROOT2 * ones),
        (in_block[n, :n], nu, ROOT2 * ones),
        (np.array([corner]), np.array([delta]), -np.ones(1)),
        (np.full(n, corner), nu, 2 * C * ones),
    ]
    b = np.zeros(corner + 1)
    b[2 * n : 3 * n], b[3 * n : 4 * n] = limit - 1, limit + 1
    b[in_M.diagonal()] = 1
    b[in_block.diagonal()[:n]] = kernel.diagonal()
    b[in_block[n, :n]] = ROOT2
    i, j, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    c = np.zeros(len(rows) + 1 + 2 * n)
    c[delta] = 1
    A = csc_array((values, (i, j)), shape=(b.size, c.size))
    A.sort_indices()
    return {"A": A, "b": b, "c": c}, {"l": 4 * n, "s": [n, n + 1]}


def import_scs() -> Any:
    """The package, or an error that says how to get it."""
    try:
        import scs
    except ImportError as error:
        raise ImportError('MMC needs the package scs, which is not installed: pip install "widegap[sdp]".') from error
    return scs


def solve_mmc(kernel: FloatArray, C: float, limit: float, *, tol: float, max_iter: int) -> SDPSolution:
    """Solve the SDP of MMC with SCS and prove the answer.

    Parameters
    ----------
    kernel : (n, n) array
        Positive semidefinite, n >= 2, mean diagonal about one.
    C, limit : float
        Both > 0; a labeling with |e'y| <= limit must exist.
    tol : float
        Absolute and relative tolerance of SCS's residuals.
    max_iter : int
        Most iterations of SCS.

    Returns
    -------
    SDPSolution
    """
    scs = import_scs()
    began = perf_counter()
    data, cones = _assemble(kernel, C, limit)
    answer = scs.SCS(data, cones, eps_abs=tol, eps_rel=tol, max_iters=max_iter, verbose=False).solve()
    info = answer["info"]
    n = len(kernel)
    rows, columns = _pairs(n)
    M = np.eye(n)
    M[rows, columns] = M[columns, rows] = np.nan_to_num(answer["x"][: len(rows)])
    M = _correlation(M)
    multipliers, dual = _lower_bound(kernel, C, limit, np.nan_to_num(answer["y"]))
    primal = margin_value(kernel, M, C)
    return SDPSolution(
        matrix=M,
        multipliers=multipliers,
        primal=primal,
        dual=dual,
        residual=max(0.0, float(np.abs(M.sum(axis=0)).max()) - limit),
        n_iter=int(info["iter"]),
        converged=info["status"] == "solved",
        history=[SDPRecord(int(info["iter"]), primal, dual, perf_counter() - began)],
    )


def _correlation(M: FloatArray) -> FloatArray:
    """A positive semidefinite matrix of unit diagonal near M."""
    values, vectors = np.linalg.eigh(M)
    root = vectors * np.sqrt(np.maximum(values, 0))
    root /= np.maximum(linalg.norm(root, axis=1), np.finfo(np.float64).tiny)[:, None]
    M = root @ root.T
    np.fill_diagonal(M, 1)
    return M


def _lower_bound(kernel: FloatArray, C: float, limit: float, y: FloatArray) -> tuple[FloatArray, float]:
    """lam and a bound that holds whatever the accuracy of SCS's dual vector y."""
    n = len(kernel)
    u = y[2 * n : 3 * n] - y[3 * n : 4 * n]
    of_M = _unpack(y[4 * n : 4 * n + n * (n + 1) // 2], n)
    of_block = _unpack(y[4 * n + n * (n + 1) // 2 :], n + 1)
    lam = np.clip(-of_block[n, :n], 0, C)
    d = of_M.diagonal() + kernel.diagonal() * lam**2 - u
    slack = np.diag(d) + (u + u[:, None]) / 2 - kernel * np.outer(lam, lam)
    eta = max(0.0, -float(linalg.eigvalsh(slack, subset_by_index=[0, 0])[0]))
    return lam, float(2 * lam.sum() - d.sum() - limit * np.abs(u).sum() - n * eta)


@dataclass(frozen=True)
class _Iterate:
    """A feasible point: Z = B - Diag(gamma) and W positive definite, all vectors positive, diag W + s - p = e."""

    W: FloatArray
    p: FloatArray
    s: FloatArray
    gamma: FloatArray
    room: FloatArray  # C - gamma
    Z: FloatArray

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
    W: FloatArray
    p: FloatArray
    s: FloatArray
    gamma: FloatArray


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


def _symmetric(X: FloatArray) -> FloatArray:
    return (X + X.T) / 2


def _to_border(root: FloatArray, direction: FloatArray) -> float:
    """Largest t with X + t * direction semidefinite, for X^-1 = root' root."""
    smallest = float(linalg.eigvalsh(root @ direction @ root.T, subset_by_index=[0, 0])[0])
    return -1 / smallest if smallest < 0 else np.inf


def _to_zero(x: FloatArray, direction: FloatArray) -> float:
    """Largest t with x + t * direction >= 0."""
    falling = direction < 0
    return float((x[falling] / -direction[falling]).min(initial=np.inf))


def _first_point(B: FloatArray, C: float) -> _Iterate:
    """Feasible and near the central path: W is a multiple of Z^-1 with a diagonal of at least two."""
    n = len(B)
    gamma = np.full(n, 0.5 * min(float(linalg.eigvalsh(B, subset_by_index=[0, 0])[0]), C))
    Z = B - np.diag(gamma)
    Z_inverse = linalg.inv(Z)
    scale = 2 / Z_inverse.diagonal().min()
    W = scale * _symmetric(Z_inverse)
    s = scale / (C - gamma)
    return _Iterate(W, W.diagonal() + s - 1, s, gamma, C - gamma, Z)


def solve_gmmc(B: FloatArray, C: float, *, tol: float, max_iter: int) -> SDPSolution:
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
