"""Rows that teach a classifier what they were given: logistic regression, by steps that need no line search.

    min_B  sum_i log sum_c exp(b_c'z_i) - b_{y_i}'z_i + (ridge / 2) |B|^2

over the rows that teach, their features z with a constant. The second derivatives are at most ``Z'Z / 2 + ridge``
(Boehning), which is factored once a lesson, and a step is

    B <- V - (Z'Z / 2 + ridge)^-1 (Z'(P - Y) + ridge V),

P the shares of the classes by V, which is B with momentum. The surest rows teach first, then those that the classifier
itself is surest of, until all have taught: so what is sure is carried along the shape of a class, further than
neighbours or clusters carry it.
"""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax, softmax

from widegap._types import Doubles

LESSONS = (0.5, 0.75, 1.0)  # shares of the rows that teach, the surest
STEPS = 8  # of each lesson, from what the last one left
RIDGE = 0.01  # where features have the mean squared length 1


def taught(Z: Doubles, said: Doubles, rows: Any, classes: Any) -> Doubles:
    """Logarithms of shares of classes, (n, c), that rows with the features Z get, taught by those that were ``said``.

    Known ``rows`` teach their ``classes`` in every lesson.
    """
    features = np.hstack([Z, np.ones((len(Z), 1), Z.dtype)])
    B = np.zeros((features.shape[1], said.shape[1]), Z.dtype)
    for part in LESSONS:
        taken, given = surest(said, rows, classes, max(len(rows), int(part * len(Z))))
        B = _lesson(features[taken], np.eye(len(B.T), dtype=Z.dtype)[given], B)
        said = log_softmax((features @ B).astype(np.float64), axis=1)
    return said


def surest(scores: Doubles, rows: Any, classes: Any, count: int) -> tuple[Any, Any]:
    """So many rows whose best score is farthest from the second, known rows first; and their classes."""
    found = scores.argmax(axis=1)
    found[rows] = classes
    two = np.partition(scores, -2, axis=1)[:, -2:]
    lead = two[:, 1] - two[:, 0]
    lead[rows] = np.inf
    taken = np.argsort(-lead, kind="stable")[:count]
    return taken, found[taken]


def _lesson(Z: Doubles, Y: Doubles, B: Doubles) -> Doubles:
    bound = Z.T @ Z / 2
    bound[np.diag_indices(len(bound))] += RIDGE
    factor, V = cho_factor(bound, overwrite_a=True, check_finite=False), B
    for step in range(STEPS):
        down = cho_solve(factor, Z.T @ (softmax(Z @ V, axis=1) - Y) + RIDGE * V, check_finite=False)
        last, B = B, V - down
        V = B + step / (step + 3) * (B - last)
    return B
