"""How members of a search vote for its clusters, and the temperature at which scores say the same.

A member that puts row i into a cluster of its own votes for p with the share of that cluster's rows whose cluster is p
in the end: v_ip, the mean over the members. Scores s make probabilities at a temperature T, and

    H(T) = -sum over i, p of v_ip log P_ip(T),      P_ip(T) = exp(s_ip / T) / sum_q exp(s_iq / T)

is the cross-entropy between votes and probabilities. It is convex in 1 / T; its minimum is sought over log T.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from widegap._jit import jit
from widegap.solvers._result import FloatArray, LabelArray

RANGE = 1e-4, 1e4  # of temperatures, relative to the standard deviation of the scores


def member_votes(members: Sequence[LabelArray], labels: LabelArray, k: int) -> FloatArray:
    """How the members vote for k clusters, (n, k), rows of sum 1."""
    total = np.zeros((len(labels), k))
    for member in members:
        own = int(member.max()) + 1
        shared = np.bincount(member * np.int64(k) + labels, minlength=own * k).reshape(own, k)
        total += (shared / np.maximum(shared.sum(axis=1, keepdims=True), 1))[member]
    return total / len(members)


def fit_temperature(scores: FloatArray, votes: FloatArray) -> float:
    """The temperature of the least cross-entropy between votes and probabilities."""
    scale = float(scores.std())
    if scale == 0 or scores.shape[1] == 1:
        return 1.0
    bounds = tuple(np.log(np.array(RANGE) * scale))
    found = minimize_scalar(lambda log: _cross_entropy(scores, votes, np.exp(-log)), bounds=bounds, method="bounded")
    return float(np.exp(found.x))


@jit
def _cross_entropy(scores, votes, sharpness):  # type: ignore[no-untyped-def]
    """H at the temperature 1 / sharpness; a row's scores are taken from its largest, so that none overflows."""
    n, k = scores.shape
    total = 0.0
    for i in range(n):
        top = scores[i, 0]
        for p in range(1, k):
            top = max(top, scores[i, p])
        spread, fit, weight = 0.0, 0.0, 0.0
        for p in range(k):
            below = sharpness * (scores[i, p] - top)
            spread += np.exp(below)
            fit += votes[i, p] * below
            weight += votes[i, p]
        total += weight * np.log(spread) - fit
    return total
