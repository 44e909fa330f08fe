"""How members of a search vote for its clusters, and the temperature at which scores agree with the votes.

A member that puts row i into a cluster of its own votes for p with the share of that cluster's rows whose cluster is p
in the end: v_ip, the mean over the members. Scores s make probabilities at a temperature T, and

    H(T) = -sum over i, p of v_ip log P_ip(T),      P_ip(T) = exp(s_ip / T) / sum_q exp(s_iq / T)

is the cross-entropy between votes and probabilities. It is convex in the sharpness 1 / T, so that its minimum is where

    H'(1/T) = sum over i, p of (w_i P_ip(T) - v_ip) s_ip,      w_i the sum of the votes of row i,

changes its sign. The search for it takes Newton's steps, or halves the interval where these would leave it, until
another temperature would hardly change H. Where all members agree with the scores there is no minimum: H falls with T,
and the search ends where hardly anything is left to fall. Where members disagree T is high. A search with one member,
or without any, has only its own labels to go by, and its probabilities are surer than they should be.
"""

from collections.abc import Sequence

import numpy as np

from widegap._types import Floats, Labels

TEMPERATURES = 1e-4, 1e4  # of temperatures, relative to the standard deviation of the scores
SLOPE_TOL = 1e-6  # change of H by a row, for a change of log T, at which the search ends
NEWTON_STEPS = 100  # halving alone narrows the range to rounding in 60


def member_votes(members: Sequence[Labels], labels: Labels, k: int) -> Floats:
    """How the members vote for k clusters, (n, k), rows of sum 1."""
    total = np.zeros((len(labels), k))
    for member in members:
        own = int(member.max()) + 1
        shared = np.bincount(member * np.int64(k) + labels, minlength=own * k).reshape(own, k)
        total += (shared / np.maximum(shared.sum(axis=1, keepdims=True), 1))[member]
    return total / len(members)


def fit_temperature(scores: Floats, votes: Floats) -> float:
    """The temperature of the least cross-entropy between votes and probabilities."""
    scale = float(scores.std())
    if scale == 0 or scores.shape[1] == 1:
        return 1.0
    low, high = (1 / (factor * scale) for factor in TEMPERATURES[::-1])
    sharpness = 1 / scale
    for _ in range(NEWTON_STEPS):
        slope, bend = _slope(scores, votes, sharpness)
        if abs(slope) * sharpness <= SLOPE_TOL * len(scores):
            break
        low, high = (low, sharpness) if slope > 0 else (sharpness, high)
        newton = sharpness - slope / bend if bend > 0 else np.inf
        sharpness = newton if low < newton < high else np.sqrt(low * high)
    return float(1 / sharpness)


def _slope(scores: Floats, votes: Floats, sharpness: float) -> tuple[float, float]:
    """H' and H'' at a sharpness; a row's scores are taken from its largest, so that none overflows."""
    below = scores - scores.max(axis=1, keepdims=True)
    shares = np.exp(sharpness * below)
    shares /= shares.sum(axis=1, keepdims=True)
    means = np.einsum("ij,ij->i", shares, below)
    squares = np.einsum("ij,ij,ij->i", shares, below, below)
    weights = votes.sum(axis=1)
    slope = weights @ means - np.einsum("ij,ij->", votes, below)
    return float(slope), float(weights @ (squares - np.square(means)))
