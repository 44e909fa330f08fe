"""Classes of all rows from a few known ones, and leave-one-out predictions of the known rows.

*Least squares.* For features z_i and class indicators y_i (less 1 / c, of c classes) of known rows, every class of the
same total weight w,

    min_B  sum_i w_i |y_i - B'z_i|^2 + rho |B|^2,      diag(w)^1/2 Z = U diag(e)^1/2 V',

the prediction of a row without its own label needs no new solution: with h the diagonal of ``U diag(e / (e + rho)) U'``
it is ``y_i - (y_i - B'z_i) / (1 - h_i)``.

*Self-training.* The same with a constant; then the surest rows join with their predicted classes, a fifth more of
all rows in every round, until all take part. There is no formula for leaving a row out of that, so known rows are left
out in five turns, every fifth of each class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Floats
from widegap.constraints._self_training import surest

TRAINING_ROUNDS = 5  # of self-training, a fifth of the rows more in each; not tuned
HELD_OUT_TURNS = 5  # in which known rows are left out of self-training: five-fold cross-validation
SINGULAR_TOL = 1e-10  # of the largest eigenvalue of a Gram matrix: what is below is rounding in double precision
MOST_FITTED = 1 - 1e-9  # of h: a row that its own label decides alone cannot be left out


@dataclass(frozen=True)
class ClassScores:
    """Scores of a classifier: of all rows, (n, c), and of known rows by a fit without them, (m, c)."""

    scores: Floats
    held_out: Floats


def least_squares(Z: Floats, rows: Any, classes: Any, ridges: Sequence[float]) -> list[ClassScores]:
    """One classifier a ridge, from the classes 0 to c - 1 of the known rows of the features Z."""
    Y, weights = _targets(classes), _balanced(classes)
    roots = np.sqrt(weights)[:, None]
    known = Z[rows].astype(np.float64)
    e, U = _left_singular(roots * known)
    inside = U.T @ (roots * Y)
    coefficients, held_out = [], []
    for ridge in ridges:
        shrunk = U * (e / (e + ridge))
        own = np.minimum(np.einsum("ij,ij->i", shrunk, U), MOST_FITTED)[:, None]
        held_out.append(Y - (Y - shrunk @ inside / roots) / (1 - own))
        coefficients.append(known.T @ (roots * (U @ (inside / (e + ridge)[:, None]))))
    scores = np.hsplit(Z @ np.hstack(coefficients).astype(Z.dtype), len(ridges))
    return [ClassScores(*pair) for pair in zip(scores, held_out, strict=True)]


def self_training(Z: Floats, rows: Any, classes: Any, ridge: float) -> ClassScores:
    """Self-training from the known rows; one that is the only one of its class is not left out."""
    turns = _turns(classes)
    scores = _self_trained(Z, rows, classes, ridge)
    held_out = scores[rows]
    for turn in range(turns.max() + 1):
        out = turns == turn
        held_out[out] = _self_trained(Z, rows[~out], classes[~out], ridge)[rows[out]]
    return ClassScores(scores, held_out)


def _self_trained(Z: Floats, rows: Any, classes: Any, ridge: float) -> Floats:
    scores = _with_constant(Z, rows, classes, ridge)
    for share in np.arange(1, TRAINING_ROUNDS + 1) / TRAINING_ROUNDS:
        taken, found = surest(scores, rows, classes, max(len(rows), int(share * len(Z))))
        scores = _with_constant(Z, taken, found, ridge)
    return scores


def _with_constant(Z: Floats, rows: Any, classes: Any, ridge: float) -> Floats:
    """Scores of all rows, by least squares about the mean of classes of the same weight."""
    weights, Y, inside = _balanced(classes).astype(Z.dtype), _targets(classes).astype(Z.dtype), Z[rows]
    mean = weights @ inside / weights.sum()
    centred = inside - mean
    weighted = (centred * weights[:, None]).T
    gram = weighted @ centred
    gram[np.diag_indices(len(gram))] += ridge
    return (Z - mean) @ np.linalg.solve(gram, weighted @ Y)


def _targets(classes: Any) -> Floats:
    count = int(classes.max()) + 1
    return np.eye(count)[classes] - 1 / count


def _balanced(classes: Any) -> Floats:
    """Weights of rows; of each class their sum is 1."""
    return 1 / np.bincount(classes)[classes]


def _turns(classes: Any) -> Any:
    """In which turn each row is left out, by its place in its class; -1 where its class would vanish."""
    sizes, order = np.bincount(classes), np.argsort(classes, kind="stable")
    places = np.empty(len(classes), np.int64)
    places[order] = np.arange(len(classes)) - (np.cumsum(sizes) - sizes)[classes[order]]
    return np.where(sizes[classes] > 1, places % HELD_OUT_TURNS, -1)


def _left_singular(G: Floats) -> tuple[Floats, Floats]:
    """Squared singular values and left singular vectors, from the smaller of the two Gram matrices."""
    if len(G) <= G.shape[1]:
        e, U = np.linalg.eigh(G @ G.T)
        return np.maximum(e, 0), U
    e, V = np.linalg.eigh(G.T @ G)
    kept = e > SINGULAR_TOL * e[-1]
    return e[kept], G @ V[:, kept] / np.sqrt(e[kept])
