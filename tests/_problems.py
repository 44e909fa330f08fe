"""Small problems, put together from the engine's pieces, and what plain NumPy and Clarabel say about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import clarabel
import numpy as np
from scipy import sparse

from widegap.base._records import Point, SearchRecorder
from widegap.constraints._label_rules import size_rules
from widegap.cutting_plane._cccp import Search
from widegap.cutting_plane._hinge import HingeLoss
from widegap.cutting_plane._problem import Problem
from widegap.cutting_plane._universum_loss import UniversumLoss
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks


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
    term = HingeLoss(CentredRows(row_blocks(X)), k, loss=loss)
    rules = size_rules(term.rows.blocks, np.full(k, min_count), np.full(k, n))
    return Problem(term, n, k, d, beta, rules, balance=balance)


def make_recorder(problem: Problem, callback=None) -> SearchRecorder:
    return SearchRecorder(lambda: problem.target.rows.n_passes, callback)


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


@dataclass(frozen=True)
class Universum:
    """Universum rows V, centred and scaled as the target rows are, with the constants of their term."""

    V: np.ndarray
    tolerance: float
    cap: float

    def losses(self, scores: np.ndarray) -> np.ndarray:
        """psi of every row, straight from the definition: the best score against the mean of the other ones."""
        k = scores.shape[1]
        best = scores.max(axis=1)
        return np.maximum(0, best - (scores.sum(axis=1) - best) / (k - 1) - self.tolerance)

    def value(self, point: Point) -> float:
        """The term as it enters F."""
        return self.cap * self.losses(self.V @ point.W.T + point.b).mean()


def make_universum_problem(
    X: np.ndarray, U: np.ndarray, k: int, beta: float, *, tolerance: float = 0.5, cap: float = 1.0, **options
):
    """The clustering problem over the rows of X with the universum U, and its universum for the referees."""
    problem = make_problem(X, k, beta, **options)
    rows = problem.target.rows
    term = UniversumLoss(CentredRows.in_frame_of(rows, row_blocks(U)), tolerance=tolerance, cap=cap)
    return replace(problem, extra_losses=(term,)), Universum((U - rows.mean) / rows.scale, tolerance, cap)


def clarabel_value(
    Z: np.ndarray,
    labels: np.ndarray,
    k: int,
    beta: float,
    loss: str,
    balance: float = 0.0,
    universum: Universum | None = None,
) -> float:
    """Optimum of the convex problem with all its slacks: one a row (max) or one a row and rival (sum).

    Variables are W, b, t and the slacks, those of the universum rows last; balance = 0 leaves b and t at zero.
    """
    n, d = Z.shape
    V = np.zeros((0, d)) if universum is None else universum.V
    pairs = [(i, r) for i in range(n) for r in range(k) if r != labels[i]]
    n_slacks = n if loss == "max" else len(pairs)
    first_bias, first_slack = k * d, k * d + k + 1
    size = first_slack + n_slacks + len(V)

    def score_row(x, coefficients, slack):
        """Coefficients of sum_p coefficients_p s_p(x) - slack."""
        row = np.zeros(size)
        row[:first_bias] = np.outer(coefficients, x).ravel()
        row[first_bias : first_slack - 1] = coefficients
        row[first_slack + slack] = -1.0
        return row

    eye = np.eye(k)
    hinges = [
        score_row(Z[i], eye[r] - eye[labels[i]], i if loss == "max" else pair) for pair, (i, r) in enumerate(pairs)
    ]
    leads = [score_row(V[j], k / (k - 1) * (eye[t] - 1 / k), n_slacks + j) for j in range(len(V)) for t in range(k)]
    nonnegative = -np.eye(size)[first_slack:]
    box = np.zeros((2 * k, size))
    box[:k, first_bias : first_bias + k], box[:k, first_slack - 1] = -np.eye(k), 1.0
    box[k:, first_bias : first_bias + k], box[k:, first_slack - 1] = np.eye(k), -1.0
    anchor = np.zeros((1, size))
    anchor[0, first_slack - 1] = 1.0
    rows = sparse.csc_matrix(np.vstack([*hinges, *leads, nonnegative, box, anchor]))
    tolerances = np.full(len(leads), 0.0 if universum is None else universum.tolerance)
    limits = np.concatenate(
        [-np.ones(len(pairs)), tolerances, np.zeros(len(nonnegative) + k), np.full(k, balance), [0.0]]
    )
    hessian = sparse.diags_array(np.where(np.arange(size) < k * d, beta, 0.0), format="csc")
    price = np.zeros(size)
    price[first_slack : first_slack + n_slacks] = 1 / n if loss == "max" else 1 / (n * k)
    if universum is not None:
        price[first_slack + n_slacks :] = universum.cap / len(V)
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(limits) - 1), clarabel.ZeroConeT(1)]
    return clarabel.DefaultSolver(hessian, price, rows, limits, cones, options).solve().obj_val
