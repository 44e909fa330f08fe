"""Labels that a regularised least-squares classifier explains best: k-means objective, exact single moves, kicks.

With centred features Phi (n, r), ``Phi'Phi = U diag(lam) U'`` and ridge rho, put ``Q = Phi U (lam + rho)^(-1/2)``.
The least-squares fit of centred, standardised codes of a labeling z explains the share

    R2(z) = sum_p |S_p|^2 / n_p,     S_p = sum of the rows of Q in cluster p,  n_p their number,

which is the between-cluster scatter of k-means on the rows of Q; for k = 2 it is |Q't|^2 / n with codes
t = sqrt(n-/n+), -sqrt(n+/n-), and at most 1; in general at most k - 1. Moving row i from p to q changes it by exactly

    |S_p - Q_i|^2 / (n_p - 1) - |S_p|^2 / n_p + |S_q + Q_i|^2 / (n_q + 1) - |S_q|^2 / n_q.

A sweep visits the rows in random order and takes the best gain at once (Hartigan), so R2 never falls and cannot
cycle. At its end every row is nearest to its own cluster's mean, unless the bound on cluster sizes holds it back.

Starts that end with nearly the same R2 are common, and then R2 says little about which is right: what a fit leaves
unexplained, k - 1 - R2, varies by as much between samples of one source. Among such ties the most even sizes win.

========  =====================================================================================
symbol    meaning
========  =====================================================================================
n, r, k   rows, features, clusters
Q         whitened features, (n, r)
h         squared lengths of the rows of Q
S, counts sums (k, r) and sizes (k,) of the clusters
========  =====================================================================================
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._jit import jit
from widegap._types import Floats, Labels
from widegap.base._starts import rounded
from widegap.constraints._transport import assign
from widegap.rows._matrices import row_chunks

GAIN_TOL = 1e-10  # gains below this share of the objective are rounding
SHAKEN = 0.15  # share of the rows that a kick relabels
TIE = 1.1  # unexplained shares within this factor of the smallest count as equal


@dataclass(frozen=True)
class Partition:
    """Labels and their R2."""

    labels: Labels
    objective: float


@jit
def _sweep(Q, h, order, labels, sums, squares, counts, min_count, least_gain):  # type: ignore[no-untyped-def]
    """Offer every row its best move, in the given order; returns how many rows moved and what they gained."""
    r = Q.shape[1]
    k = len(counts)
    moved = 0
    gained = 0.0
    for i in order:
        p = labels[i]
        if counts[p] <= min_count or counts[p] <= 1:
            continue
        own = 0.0
        for j in range(r):
            own += sums[p, j] * Q[i, j]
        loss = (squares[p] - 2 * own + h[i]) / (counts[p] - 1) - squares[p] / counts[p]
        best = 0.0
        target = -1
        target_product = 0.0
        for q in range(k):
            if q == p:
                continue
            product = 0.0
            for j in range(r):
                product += sums[q, j] * Q[i, j]
            present = squares[q] / counts[q] if counts[q] > 0 else 0.0
            gain = loss + (squares[q] + 2 * product + h[i]) / (counts[q] + 1) - present
            if gain > best + least_gain:
                best = gain
                target = q
                target_product = product
        if target >= 0:
            squares[p] += h[i] - 2 * own
            squares[target] += h[i] + 2 * target_product
            counts[p] -= 1
            counts[target] += 1
            labels[i] = target
            for j in range(r):
                sums[p, j] -= Q[i, j]
                sums[target, j] += Q[i, j]
            moved += 1
            gained += best
    return moved, gained


def cluster_sums(Q: Any, labels: Labels, k: int) -> Floats:
    """Sum of the rows of every cluster in float64, shape (k, r)."""
    sums, labels = np.zeros((k, Q.shape[1])), labels.astype(np.int32, copy=False)
    is_ready = Q.dtype == np.float64 and Q.flags.c_contiguous  # in many small searches: chunks would take as long
    for rows in [slice(None)] if is_ready else row_chunks(*Q.shape):
        _add_rows(Q[rows].astype(np.float64, order="C", copy=False), labels[rows], sums)
    return sums


@jit
def _add_rows(Q, labels, sums):  # type: ignore[no-untyped-def]
    """Add every row to the sum of its cluster."""
    for i in range(Q.shape[0]):
        p = labels[i]
        for j in range(Q.shape[1]):
            sums[p, j] += Q[i, j]


def r_squared(Q: Any, labels: Labels, k: int) -> float:
    """R2 of a labeling, by its definition."""
    return explained(cluster_sums(Q, labels, k), np.bincount(labels, minlength=k))


def explained(sums: Floats, counts: Any) -> float:
    """R2 from the sums and sizes of the clusters."""
    return float((np.square(sums).sum(axis=1) / np.maximum(counts, 1)).sum())


def improve_by_moves(
    Q: Any, labels: Labels, k: int, min_count: int, rng: np.random.Generator, max_sweeps: int = 100
) -> Partition:
    """Exact single moves until none gains; the result meets the bound on sizes even if the start does not."""
    labels = meet_bound(Q, labels, k, min_count).astype(np.int32, copy=True)
    h = np.einsum("ij,ij->i", Q, Q, dtype=np.float64)
    for _ in range(max_sweeps):
        sums, counts = cluster_sums(Q, labels, k), np.bincount(labels, minlength=k)
        squares = np.square(sums).sum(axis=1)
        objective = float((squares / np.maximum(counts, 1)).sum())
        order = rng.permutation(len(Q))
        moved, _ = _sweep(Q, h, order, labels, sums, squares, counts, min_count, GAIN_TOL * objective)
        if not moved:
            break
    return Partition(labels, r_squared(Q, labels, k))


def meet_bound(Q: Any, labels: Labels, k: int, min_count: int) -> Labels:
    """The labels, or where a cluster is too small the cheapest reassignment by distance to the cluster means."""
    counts = np.bincount(labels, minlength=k)
    if counts.min() >= min_count:
        return labels
    means = cluster_sums(Q, labels, k) / np.maximum(counts, 1)[:, None]
    return assign(np.square(means).sum(axis=1) - 2 * (Q @ means.T), np.full(k, min_count)).labels


def kick(best: Partition, Q: Any, k: int, min_count: int, n_kicks: int, rng: np.random.Generator) -> Partition:
    """Give a random share of the rows random labels and improve again; keeps what is better."""
    n = len(Q)
    for _ in range(n_kicks):
        labels = best.labels.copy()
        shaken = rng.choice(n, max(1, int(SHAKEN * n)), replace=False)
        labels[shaken] = rng.integers(0, k, len(shaken))
        found = improve_by_moves(Q, labels, k, min_count, rng)
        if found.objective > best.objective * (1 + GAIN_TOL):
            best = found
    return best


def most_even(found: list[Partition], k: int) -> Partition:
    """Of the partitions that leave hardly more unexplained than the best, the one with the largest entropy of sizes."""
    least = k - 1 - max(partition.objective for partition in found)
    tied = [partition for partition in found if k - 1 - partition.objective <= TIE * max(least, 0.0)]
    return max(tied or found, key=lambda partition: (_entropy(partition.labels, k), rounded(partition.objective)))


def _entropy(labels: Labels, k: int) -> float:
    """Entropy of the cluster sizes, to nine digits: partitions equal up to names must compare equal."""
    shares = np.bincount(labels, minlength=k) / len(labels)
    return round(float(-(shares * np.log(np.maximum(shares, 1e-300))).sum()), 9)
