"""Self-training by logistic regression, with steps that need no line search.

    min_B  sum_i log sum_c exp(b_c'z_i) - b_{y_i}'z_i + (ridge / 2) |B|^2

over the rows that train it, their features z with a constant. The second derivatives are at most ``Z'Z / 2 + ridge``
(Boehning), which is factored once a round, and a step is

    B <- V - (Z'Z / 2 + ridge)^-1 (Z'(P - Y) + ridge V),

P the shares of the classes by V, which is B with momentum. The surest rows train it first, then those that the
classifier itself is surest of, until all rows do: so labels follow the shape of a class further than neighbours or
clusters carry them.
"""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax, softmax

from widegap._types import Floats

TRAINED_SHARES = (0.5, 0.75, 1.0)  # of the rows that train, the surest; one round each
LOGISTIC_STEPS = 8  # of each round, from where the last one ended; not tuned
LOGISTIC_RIDGE = 0.01  # where features have the mean squared length 1


def self_trained(Z: Floats, scores: Floats, rows: Any, classes: Any) -> Floats:
    """Logarithms of shares of classes, (n, c), of rows with the features Z, by a classifier trained on ``scores``.

    Known ``rows`` train it with their ``classes`` in every round.
    """
    features = np.hstack([Z, np.ones((len(Z), 1), Z.dtype)])
    B = np.zeros((features.shape[1], scores.shape[1]), Z.dtype)
    for part in TRAINED_SHARES:
        taken, targets = surest(scores, rows, classes, max(len(rows), int(part * len(Z))))
        B = _logistic_regression(features[taken], np.eye(len(B.T), dtype=Z.dtype)[targets], B)
        scores = log_softmax((features @ B).astype(np.float64), axis=1)
    return scores


def surest(scores: Floats, rows: Any, classes: Any, count: int) -> tuple[Any, Any]:
    """The ``count`` rows whose best score is farthest from the second, known rows first; and their classes."""
    found = scores.argmax(axis=1)
    found[rows] = classes
    two = np.partition(scores, -2, axis=1)[:, -2:]
    lead = two[:, 1] - two[:, 0]
    lead[rows] = np.inf
    taken = np.argsort(-lead, kind="stable")[:count]
    return taken, found[taken]


def _logistic_regression(Z: Floats, Y: Floats, B: Floats) -> Floats:
    bound = Z.T @ Z / 2
    bound[np.diag_indices(len(bound))] += LOGISTIC_RIDGE
    factor, V = cho_factor(bound, overwrite_a=True, check_finite=False), B
    for step in range(LOGISTIC_STEPS):
        down = cho_solve(factor, Z.T @ (softmax(Z @ V, axis=1) - Y) + LOGISTIC_RIDGE * V, check_finite=False)
        last, B = B, V - down
        V = B + step / (step + 3) * (B - last)
    return B
