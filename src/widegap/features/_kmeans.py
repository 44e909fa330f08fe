"""k-means of one table, many groups at a time: seeds far from each other, then means and rows by turns.

Seeds as in greedy k-means++: of a few rows drawn with odds proportional to the squared distance to the nearest seed so
far, the one that leaves the least sum of such distances is the next seed. Then every row joins the nearest mean and
means follow their rows, until they hardly move or have followed often enough.

Distances are scores: |x - c|^2 = |x|^2 - 2 (x'c - |c|^2 / 2), one product of matrices for all rows and means. Products
are taken in the dtype of the table, sums in float64. A mean that loses all its rows stays where it is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._jit import jit
from widegap._types import Labels

MEANS_TOL = 1e-4  # squared movement of all means together, relative to the mean variance of a column
TILE = 256  # rows whose scores are compared at a time
TRIALS = 2  # rows drawn for every seed: more cost most of the time, and groups that are merged again gain nothing


@dataclass(frozen=True)
class Groups:
    """Labels of all rows, and the sum of their squared distances to the means."""

    labels: Labels
    inertia: float


def kmeans(X: Any, m: int, turns: int, rng: np.random.Generator) -> Groups:
    """Up to m groups of the rows of a C-ordered array, by one run of ``turns`` turns; fewer if fewer rows differ."""
    means = X[_seeds(X, rng.random((m, TRIALS)))].astype(np.float64)
    labels, columns = np.full(len(X), -1, np.int32), np.ascontiguousarray(X.T)
    sums, counts = np.zeros(means.shape), np.zeros(len(means), np.int64)
    total, scatter = _lengths(X)
    least = MEANS_TOL * scatter / X.size
    for _ in range(turns):
        halves = np.einsum("ij,ij->i", means, means) / 2
        products = means.astype(X.dtype) @ columns
        changed, gained = _assign(X, products, halves.astype(X.dtype), labels, sums, counts)
        if _follow(means, sums, counts) <= least or not changed:
            break
    return Groups(labels, total - 2 * gained)


@jit
def _lengths(X):  # type: ignore[no-untyped-def]
    """Sums of the squared lengths of all rows, as they are and about their mean."""
    n, d = X.shape
    sums, total = np.zeros(d), 0.0
    for i in range(n):
        for j in range(d):
            value = np.float64(X[i, j])
            sums[j] += value
            total += value * value
    return total, max(0.0, total - np.square(sums).sum() / n)


@jit
def _seeds(X, chances):  # type: ignore[no-untyped-def]
    """Numbers of the seeds: one for every row of ``chances``, unless no rows are left that differ from all seeds."""
    n, d = X.shape
    m, trials = chances.shape
    seeds = np.zeros(m, np.int64)
    seeds[0] = min(int(chances[0, 0] * n), n - 1)
    owners, nearest, trial, best = np.zeros(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        nearest[i] = _distance(X, i, seeds[0])
    for s in range(1, m):
        sums = np.cumsum(nearest)
        if not sums[-1] > 0:
            return seeds[:s]
        least = np.inf
        for t in range(trials):
            row = min(np.searchsorted(sums, chances[s, t] * sums[-1], side="right"), n - 1)
            left = _distances_with(X, row, seeds[:s], owners, nearest, trial)
            if left < least:
                least = left
                seeds[s] = row
                best[:] = trial
        for i in range(n):
            if best[i] < nearest[i]:
                nearest[i], owners[i] = best[i], s
    return seeds


@jit
def _distances_with(X, row, seeds, owners, nearest, trial):  # type: ignore[no-untyped-def]
    """Squared distances of all rows to the nearest seed if ``row`` becomes one, in ``trial``, and their sum.

    A candidate at least twice as far from the nearest seed of a row as that row is cannot be nearer to it.
    """
    to_seeds = np.empty(len(seeds))
    for s in range(len(seeds)):
        to_seeds[s] = _distance(X, row, seeds[s]) / 4
    left = 0.0
    for i in range(len(nearest)):
        trial[i] = nearest[i]
        if to_seeds[owners[i]] < nearest[i]:
            trial[i] = min(_distance(X, i, row), nearest[i])
        left += trial[i]
    return left


@jit
def _distance(X, i, row):  # type: ignore[no-untyped-def]
    """Squared distance between two rows."""
    total = X[0, 0] * 0
    for j in range(X.shape[1]):
        step = X[i, j] - X[row, j]
        total += step * step
    return total


@jit
def _assign(X, products, halves, labels, sums, counts):  # type: ignore[no-untyped-def]
    """Every row to its best score: how many rows changed, and the sum of the scores.

    Labels, -1 at first, and sums and sizes of the groups follow in place. ``products`` (m, n): for some rows at a time,
    the scores for a mean are compared with the best so far.
    """
    n, d = X.shape
    m = len(halves)
    top, best = np.empty(TILE, products.dtype), np.empty(TILE, np.int32)
    changed = 0
    gained = 0.0
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        top[:] = -np.inf
        best[:] = 0
        for p in range(m):
            for i in range(size):
                score = products[p, start + i] - halves[p]
                better = score > top[i]
                top[i] = score if better else top[i]
                best[i] = np.int32(p) if better else best[i]
        for i in range(size):
            gained += top[i]
            p, former = best[i], labels[start + i]
            if p != former:
                changed += 1
                labels[start + i] = p
                counts[p] += 1
                for j in range(d):
                    sums[p, j] += X[start + i, j]
                if former >= 0:
                    counts[former] -= 1
                    for j in range(d):
                        sums[former, j] -= X[start + i, j]
    return changed, gained


@jit
def _follow(means, sums, counts):  # type: ignore[no-untyped-def]
    """Means to their rows, in place; the squared movement of all together."""
    moved = 0.0
    for p in range(len(counts)):
        if counts[p] > 0:
            for j in range(means.shape[1]):
                mean = sums[p, j] / counts[p]
                moved += (mean - means[p, j]) ** 2
                means[p, j] = mean
    return moved
