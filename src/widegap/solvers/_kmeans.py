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
from widegap.solvers._result import LabelArray

TOL = 1e-4  # squared movement of all means together, relative to the mean variance of a column
TRIALS = 2  # rows drawn for every seed: more cost most of the time, and groups that are merged again gain nothing


@dataclass(frozen=True)
class Groups:
    """Labels of all rows, and the sum of their squared distances to the means."""

    labels: LabelArray
    inertia: float


def kmeans(X: Any, m: int, turns: int, rng: np.random.Generator) -> Groups:
    """Up to m groups of the rows of a C-ordered array, by one run of so many turns; fewer where fewer rows differ."""
    means = X[_seeds(X, rng.random((m, TRIALS)))].astype(np.float64)
    labels = np.zeros(len(X), np.int32)
    total = float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    least = TOL * float(X.var(axis=0, dtype=np.float64).mean())
    for _ in range(turns):
        centres = means.astype(X.dtype)
        halves = np.square(means).sum(axis=1) / 2
        changed, gained, sums, counts = _assign(X, X @ centres.T, halves.astype(X.dtype), labels)
        filled = counts > 0
        former = means.copy()
        means[filled] = sums[filled] / counts[filled, None]
        if not changed or np.square(means - former).sum() <= least:
            break
    return Groups(labels, total - 2 * gained)


@jit
def _seeds(X, chances):  # type: ignore[no-untyped-def]
    """Numbers of the seeds: one for every row of ``chances``, unless no rows are left that differ from all seeds."""
    n, d = X.shape
    m, trials = chances.shape
    seeds = np.zeros(m, np.int64)
    seeds[0] = min(int(chances[0, 0] * n), n - 1)
    nearest, trial, best = np.empty(n), np.empty(n), np.empty(n)
    _distances(X, seeds[0], nearest)
    for s in range(1, m):
        sums = np.cumsum(nearest)
        if not sums[-1] > 0:
            return seeds[:s]
        least = np.inf
        for t in range(trials):
            row = min(np.searchsorted(sums, chances[s, t] * sums[-1], side="right"), n - 1)
            _distances(X, row, trial)
            left = 0.0
            for i in range(n):
                trial[i] = min(trial[i], nearest[i])
                left += trial[i]
            if left < least:
                least = left
                seeds[s] = row
                best[:] = trial
        nearest[:] = best
    return seeds


@jit
def _distances(X, row, out):  # type: ignore[no-untyped-def]
    """Squared distances of all rows to one of them."""
    n, d = X.shape
    for i in range(n):
        total = X[0, 0] * 0
        for j in range(d):
            step = X[i, j] - X[row, j]
            total += step * step
        out[i] = total


@jit
def _assign(X, products, halves, labels):  # type: ignore[no-untyped-def]
    """Every row to its best score, in place: rows that changed, sum of the scores, sums and sizes of the groups."""
    n, d = X.shape
    m = len(halves)
    sums, counts = np.zeros((m, d)), np.zeros(m, np.int64)
    changed = 0
    gained = 0.0
    for i in range(n):
        best = 0
        top = products[i, 0] - halves[0]
        for p in range(1, m):
            score = products[i, p] - halves[p]
            if score > top:
                top = score
                best = p
        if labels[i] != best:
            labels[i] = best
            changed += 1
        gained += top
        counts[best] += 1
        for j in range(d):
            sums[best, j] += X[i, j]
    return changed, gained, sums, counts
