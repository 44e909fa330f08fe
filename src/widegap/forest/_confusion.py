"""How much of the rows of each group a large-margin classifier would give to other groups.

With the indicators Y (n, m) of the groups, principal coordinates P (n, r) and the ridge rho, the least-squares
classifier has the leave-one-out scores

    G = (P (P'P + rho)^-1 P'Y + mean(Y) - h Y) / (1 - h),     h_i = leverage of row i + 1/n,

each row being scored by a classifier that was trained without it. Scores below 1/m, what a guess would give, count as
nothing. P is centred and P'P is diagonal, so nothing has to be solved.
"""

import numpy as np

from widegap._types import Floats, Labels
from widegap.forest._single_moves import cluster_sums
from widegap.rows._matrices import row_chunks

CONFUSION_RIDGE = 0.01  # of the mean eigenvalue of P'P: the classifier only has to be well posed
MOST_LEVERAGE = 1 - 1e-6  # rounding must not leave a row without a classifier


def confusion_of_groups(P: Floats, labels: Labels, m: int) -> Floats:
    """How much of each group's rows goes to every group, Y'G, by the leave-one-out scores G above."""
    n, r = P.shape
    squares = np.einsum("ij,ij->j", P, P, dtype=np.float64)
    inverse = 1 / (squares + CONFUSION_RIDGE * squares.sum() / r)
    coef = inverse[:, None] * cluster_sums(P, labels, m).T
    shares, coef = np.bincount(labels, minlength=m) / n, coef.astype(P.dtype)
    found = np.zeros((m, m))
    for rows in row_chunks(n, m):
        leverages = np.minimum(1 / n + np.square(P[rows]) @ inverse, MOST_LEVERAGE)
        scores = P[rows] @ coef + shares
        scores[np.arange(len(scores)), labels[rows]] -= leverages
        scores *= (1 / (1 - leverages))[:, None]
        scores *= scores >= 1 / m
        found += cluster_sums(scores, labels[rows], m)
    return found
