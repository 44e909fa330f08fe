"""Small problems, put together from the engine's pieces, and what plain NumPy and Clarabel say about them."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from widegap.data._centred import CentredRows
from widegap.data._sources import row_blocks
from widegap.problems._base import Problem
from widegap.problems._margin import MarginTerm
from widegap.solvers._cccp import Search
from widegap.solvers._result import Point, Recorder
from widegap.solvers._transport import assign


def blobs(rng: np.random.Generator, n: int, d: int, k: int, spread: float = 1.0) -> np.ndarray:
    """Rows around k random centres, far from the origin and in a random unit."""
    centres = rng.normal(size=(k, d)) * spread
    X = centres[rng.integers(0, k, n)] + rng.normal(size=(n, d))
    return X * 10 ** rng.uniform(-2, 2) + 5.0


def random_labels(rng: np.random.Generator, n: int, k: int, min_count: int = 1) -> np.ndarray:
    """Labels with at least min_count rows in every cluster."""
    labels = rng.integers(0, k, n)
    labels[: k * min_count] = np.tile(np.arange(k), min_count)
    return rng.permutation(labels).astype(np.int32)


def centre(X: np.ndarray) -> np.ndarray:
    """Rows as the problems see them: mean zero, total variance one."""
    Z = X - X.mean(axis=0)
    return Z / np.sqrt(np.square(Z).sum(axis=1).mean())


def make_problem(X: np.ndarray, k: int, beta: float, *, loss: str = "max", balance: float = 0.0, min_count: int = 0):
    """The clustering problem over the rows of X."""
    n, d = X.shape
    term = MarginTerm(CentredRows(row_blocks(X)), k, loss=loss)
    return Problem(term, n, k, d, beta, assign, balance=balance, min_count=min_count)


def make_recorder(problem: Problem, callback=None) -> Recorder:
    return Recorder(lambda: problem.target.rows.n_passes, callback)


def make_search(problem: Problem, labels: np.ndarray, *, tol: float = 1e-6, max_iter: int = 500, callback=None):
    return Search.from_labels(problem, labels, make_recorder(problem, callback), tol, max_iter)


def row_losses(scores: np.ndarray, labels: np.ndarray, loss: str) -> np.ndarray:
    """Hinge of every row, straight from the definition."""
    n, k = scores.shape
    hinges = np.maximum(0, 1 + scores - scores[np.arange(n), labels][:, None])
    hinges[np.arange(n), labels] = 0
    return hinges.max(axis=1) if loss == "max" else hinges.sum(axis=1) / k


def numpy_objective(Z: np.ndarray, point: Point, beta: float, loss: str = "max") -> float:
    """F(W, b; labels) for centred rows, by the formula at the top of ``problems``."""
    scores = Z @ point.W.T + point.b
    return beta / 2 * np.square(point.W).sum() + row_losses(scores, point.labels, loss).mean()


def clarabel_value(Z: np.ndarray, labels: np.ndarray, k: int, beta: float, loss: str, balance: float = 0.0) -> float:
    """Optimum of the convex problem with all its slacks: one a row (max) or one a row and rival (sum).

    Variables are W, b, t and the slacks; balance = 0 leaves b and t at zero.
    """
    n, d = Z.shape
    pairs = [(i, r) for i in range(n) for r in range(k) if r != labels[i]]
    n_slacks = n if loss == "max" else len(pairs)
    first_bias, first_slack = k * d, k * d + k + 1
    size = first_slack + n_slacks
    A = np.zeros((len(pairs), size))
    for row, (i, r) in enumerate(pairs):
        for cluster, sign in ((labels[i], -1.0), (r, 1.0)):
            A[row, cluster * d : (cluster + 1) * d] = sign * Z[i]
            A[row, first_bias + cluster] = sign
        A[row, first_slack + (i if loss == "max" else row)] = -1.0
    nonnegative = np.zeros((n_slacks, size))
    nonnegative[:, first_slack:] = -np.eye(n_slacks)
    box = np.zeros((2 * k, size))
    box[:k, first_bias : first_bias + k], box[:k, first_slack - 1] = -np.eye(k), 1.0
    box[k:, first_bias : first_bias + k], box[k:, first_slack - 1] = np.eye(k), -1.0
    anchor = np.zeros((1, size))
    anchor[0, first_slack - 1] = 1.0
    rows = sparse.csc_matrix(np.vstack([A, nonnegative, box, anchor]))
    limits = np.concatenate([-np.ones(len(pairs)), np.zeros(n_slacks), np.zeros(k), np.full(k, balance), [0.0]])
    hessian = sparse.diags_array(np.where(np.arange(size) < k * d, beta, 0.0), format="csc")
    price = np.where(np.arange(size) < first_slack, 0.0, 1 / n if loss == "max" else 1 / (n * k))
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(limits) - 1), clarabel.ZeroConeT(1)]
    return clarabel.DefaultSolver(hessian, price, rows, limits, cones, options).solve().obj_val
