"""k-means of one table, many groups at a time: seeds far from each other, then means and rows by turns.

Seeds as in greedy k-means++: of a few rows drawn with odds proportional to the squared distance to the nearest seed so
far, the one that leaves the least sum of such distances is the next seed. Then every row joins the nearest mean and
means follow their rows, until they hardly move or have followed often enough.

Distances are scores: |x - c|^2 = |x|^2 - 2 (x'c - |c|^2 / 2), one product of matrices for all rows and means. Products
are taken in the dtype of the table, sums in float64. A mean that loses all its rows stays where it is.

Rows are rounded to a grid (``_rounding.py``), so that distances between them are exact or nearly so. Where the best
score exceeds the next by less than rounding may add, sums in float64 decide, and the first of equal means wins.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._jit import jit
from widegap._types import Doubles, Ints, Labels
from widegap.features._rounding import LAST_BITS, on_grid

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
    X = on_grid(_with_finite_products(X))
    means = X[_seeds(X, rng.random((m, TRIALS)))].astype(np.float64)
    labels, columns = np.full(len(X), -1, np.int32), np.ascontiguousarray(X.T)
    sums, counts = np.zeros(means.shape), np.zeros(len(means), np.int64)
    total = float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    scatter = max(0.0, total - float(np.square(X.sum(axis=0, dtype=np.float64)).sum()) / len(X))
    slack = 2 * ((X.shape[1] + 4) * float(np.finfo(X.dtype).eps) + LAST_BITS)
    least, longest = MEANS_TOL * scatter / X.size, float(np.einsum("ij,ij->i", X, X).max(initial=0))
    for _ in range(turns):
        halves = np.einsum("ij,ij->i", means, means) / 2
        size = np.sqrt(longest * 2 * halves.max()) + 2 * halves.max()  # of the terms of a score
        products = means.astype(X.dtype) @ columns
        changed, gained = _assign(X, products, means, halves, (slack * size, LAST_BITS * size), labels, sums, counts)
        if _follow(means, sums, counts) <= least or not changed:
            break
    return Groups(labels, total - 2 * gained)


def _with_finite_products(X: Any) -> Any:
    """The rows in double precision if products of them, or of their means, exceed what theirs can hold."""
    largest = float(np.abs(X).max(initial=0.0))
    return X if 4 * X.shape[1] * largest * largest < float(np.finfo(X.dtype).max) else X.astype(np.float64)


def _seeds(X: Any, chances: Doubles) -> Ints:
    """Numbers of the seeds: one for every row of ``chances``, unless no rows are left that differ from all seeds."""
    n, m = len(X), len(chances)
    seeds, owners = np.zeros(m, np.int64), np.zeros(n, np.int64)
    seeds[0] = min(int(chances[0, 0] * n), n - 1)
    return seeds[: _choose_seeds(X, chances, seeds, owners, np.empty((4, n)), np.empty(m))]


@jit
def _choose_seeds(X, chances, seeds, owners, tables, to_seeds):  # type: ignore[no-untyped-def]
    """Write the seeds behind the first; return how many there are.

    Rows of ``tables`` are the squared distances to the nearest seed, their running sums, the distances with a candidate
    and with the best candidate; ``owners`` are the places of the nearest seeds.
    """
    n = len(X)
    for i in range(n):
        tables[0, i] = _distance(X, i, seeds[0])
    for s in range(1, len(seeds)):
        total = 0.0
        for i in range(n):
            total += tables[0, i]
            tables[1, i] = total
        if not total > 0:
            return s
        least = np.inf
        for t in range(chances.shape[1]):
            low, high = 0, n - 1  # the first row whose running sum exceeds a share of the total
            while low < high:
                middle = (low + high) // 2
                if tables[1, middle] > chances[s, t] * total:
                    high = middle
                else:
                    low = middle + 1
            left = _distances_with(X, low, seeds, s, owners, tables, to_seeds)
            if left < least * (1 - LAST_BITS):
                least = left
                seeds[s] = low
                for i in range(n):
                    tables[3, i] = tables[2, i]
        for i in range(n):
            if tables[3, i] < tables[0, i]:
                tables[0, i] = tables[3, i]
                owners[i] = s
    return len(seeds)


@jit
def _distances_with(X, row, seeds, n_seeds, owners, tables, to_seeds):  # type: ignore[no-untyped-def]
    """Squared distances of all rows to the nearest seed if ``row`` becomes one, in ``tables[2]``, and their sum.

    A candidate at least twice as far from the nearest seed of a row as that row is cannot be nearer to it.
    """
    for s in range(n_seeds):
        to_seeds[s] = _distance(X, row, seeds[s]) / 4
    left = 0.0
    for i in range(len(X)):
        value = tables[0, i]
        if to_seeds[owners[i]] < value:
            distance = _distance(X, i, row)
            value = distance if distance < value else value
        tables[2, i] = value
        left += value
    return left


@jit
def _distance(X, i, row):  # type: ignore[no-untyped-def]
    """Squared distance between two rows."""
    total = 0.0
    for j in range(X.shape[1]):
        step = np.float64(X[i, j] - X[row, j])
        total += step * step
    return total


def _assign(
    X: Any,
    products: Any,
    means: Doubles,
    halves: Doubles,
    ties: tuple[float, float],
    labels: Labels,
    sums: Doubles,
    counts: Ints,
) -> tuple[int, float]:
    """Every row to its best score: how many rows changed, and the sum of the scores.

    ``ties`` are the largest differences of scores that rounding explains in the dtype of the table, and in float64.
    Labels, -1 at first, and sums and sizes of the groups follow in place.
    """
    tops, best = np.empty((2, TILE), products.dtype), np.empty(TILE, np.int32)
    rough = halves.astype(products.dtype)
    found: tuple[int, float] = _assign_tiles(
        X, products, rough, means, halves, *ties, labels, sums, counts, tops[0], tops[1], best
    )
    return found


@jit
def _assign_tiles(  # type: ignore[no-untyped-def]
    X, products, rough, means, halves, slack, tie, labels, sums, counts, top, second, best
):
    """The same: for some rows at a time, scores (m, n) for a mean are compared with the ``top`` of the ``best``."""
    n, d = X.shape
    changed = 0
    gained = 0.0
    for start in range(0, n, TILE):
        size = TILE if n - start > TILE else n - start
        for i in range(TILE):
            top[i] = -np.inf
            second[i] = -np.inf
            best[i] = 0
        for p in range(len(rough)):
            for i in range(size):
                score = products[p, start + i] - rough[p]
                better = score > top[i]
                beaten = top[i] if better else score
                second[i] = beaten if beaten > second[i] else second[i]
                top[i] = score if better else top[i]
                best[i] = np.int32(p) if better else best[i]
        for i in range(size):
            gained += top[i]
            p, former = best[i], labels[start + i]
            if top[i] - second[i] <= slack:
                p = _nearest_mean(X, start + i, products, rough, means, halves, top[i] - slack, tie)
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
def _nearest_mean(X, i, products, rough, means, halves, least, tie):  # type: ignore[no-untyped-def]
    """The mean nearest to a row, the first of equal ones, of those whose rough scores are at least ``least``."""
    best, most = np.int32(0), -np.inf
    for p in range(len(rough)):
        if products[p, i] - rough[p] >= least:
            score = -halves[p]
            for j in range(X.shape[1]):
                score += X[i, j] * means[p, j]
            if score > most + tie:
                best, most = np.int32(p), score
    return best


def _follow(means: Doubles, sums: Doubles, counts: Ints) -> float:
    """Means to their rows, in place; the squared movement of all together."""
    used = counts > 0
    moved = sums[used] / counts[used, None] - means[used]
    means[used] = sums[used] / counts[used, None]
    return float(np.square(moved).sum())
