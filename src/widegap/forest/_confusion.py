"""How much of the rows of each group a large-margin classifier would give to other groups.

With the indicators Y (n, m) of the groups, principal coordinates P (n, r) and the ridge rho, the least-squares
classifier has the leave-one-out scores

    G = (P (P'P + rho)^-1 P'Y + mean(Y) - h Y) / (1 - h),     h_i = leverage of row i + 1/n,

each row being scored by a classifier that was trained without it. Scores below 1/m, what a guess would give, count as
nothing. P is centred and P'P is diagonal, so nothing has to be solved.
"""

import numpy as np

from widegap._jit import jit
from widegap._types import Floats, Labels
from widegap.forest._single_moves import cluster_sums

CONFUSION_RIDGE = 0.01  # of the mean eigenvalue of P'P: the classifier only has to be well posed
MOST_LEVERAGE = 1 - 1e-6  # rounding must not leave a row without a classifier


def confusion_of_groups(P: Floats, labels: Labels, m: int) -> Floats:
    """How much of each group's rows goes to every group, Y'G, by the leave-one-out scores G above."""
    n, r = P.shape
    squares = np.einsum("ij,ij->j", P, P, dtype=np.float64)
    inverse = 1 / (squares + CONFUSION_RIDGE * squares.sum() / r)
    coef = inverse[:, None] * cluster_sums(P, labels, m).T
    found = np.zeros((m, m))
    _add_confusion(P, inverse, P @ coef.astype(P.dtype), labels, np.bincount(labels, minlength=m) / n, found)
    return found


@jit
def _add_confusion(P, inverse, scores, labels, shares, found):  # type: ignore[no-untyped-def]
    """Add Y'G, from the scores of the classifier without its constants, the shares of the groups."""
    n, m = scores.shape
    for i in range(n):
        leverage = 1 / n
        for j in range(P.shape[1]):
            leverage += P[i, j] * P[i, j] * inverse[j]
        leverage = leverage if leverage < MOST_LEVERAGE else MOST_LEVERAGE
        own = labels[i]
        for p in range(m):
            score = (scores[i, p] + shares[p] - (leverage if p == own else 0.0)) / (1 - leverage)
            found[own, p] += score if score >= 1 / m else 0.0
