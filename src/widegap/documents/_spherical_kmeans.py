"""Spherical k-means, several runs at a time: centres of length one, and rows join the centre of the largest cosine.

Seeds are those of greedy k-means++: of a few rows drawn with odds proportional to the squared distance to the nearest
seed so far, the one that leaves the least sum of such distances is next. Then labels and centres are renewed by turns,
until few labels change. A run is judged by the summed cosine of rows and centres.

Runs share their products with the rows: one of a matrix takes a fraction of the time of as many of slim ones. Cosines
are (runs, k, rows), so that what is done for a row is done for many rows at once. Runs that have ended leave.
"""

from collections.abc import Iterator

import numpy as np

from widegap._types import Floats, Indices, Labels, Matrix
from widegap.rows._matrices import dense_rows

LLOYD_STEPS = 100  # a bound that runs hardly meet: they end when few labels change
SETTLED = 0.001  # k-means and self-training end when no more than this fraction of the labels changes
CENTRES_AT_ONCE = 200  # of all runs that share a product with the rows: not tuned


def spherical_runs(X: Matrix, k: int, n_runs: int, rng: np.random.Generator) -> Iterator[tuple[float, Labels]]:
    """Summed cosine and labels of every run; rows, dense or CSR, have length one.

    Runs end some at a time, so who stops early saves those that were not begun.
    """
    most = max(1, CENTRES_AT_ONCE // k)
    for first in range(0, n_runs, most):
        yield from _runs(X, k, min(most, n_runs - first), rng)


def _runs(X: Matrix, k: int, n_runs: int, rng: np.random.Generator) -> list[tuple[float, Labels]]:
    centres = dense_rows(X, _seeds(X, k, n_runs, rng).ravel()).reshape(n_runs, k, -1)
    labels = np.full((n_runs, X.shape[0]), -1, np.int32)
    found = [(-np.inf, last) for last in labels]
    going = np.arange(n_runs)
    for step in range(LLOYD_STEPS):
        last, (labels, best) = labels, _nearest(X, centres)
        ended = np.array([step == LLOYD_STEPS - 1 or settled(*pair) for pair in zip(last, labels, strict=True)])
        for run in np.flatnonzero(ended):
            found[going[run]] = float(best[run].sum()), labels[run]
        if ended.all():
            break
        going, labels = going[~ended], labels[~ended]
        centres = of_length_one(_class_sums(X, labels, k))
    return found


def _nearest(X: Matrix, centres: Floats) -> tuple[Labels, Floats]:
    """Label of every row in every run, and its cosine."""
    n_runs, k, d = centres.shape
    cosines = _products(X, centres.reshape(-1, d)).reshape(n_runs, k, -1)
    best, labels = cosines[:, 0].copy(), np.zeros((n_runs, X.shape[0]), np.int32)
    for p in range(1, k):
        np.copyto(labels, p, where=cosines[:, p] > best)
        np.maximum(best, cosines[:, p], out=best)
    return labels, best


def _class_sums(X: Matrix, labels: Labels, k: int) -> Floats:
    """Sum of the rows of every cluster in every run, shape (runs, k, d); labels are (runs, rows)."""
    members = (labels[:, None] == np.arange(k, dtype=np.int32)[:, None]).astype(X.dtype)
    return np.asarray(members.reshape(-1, X.shape[0]) @ X).reshape(*members.shape[:2], -1)


def _seeds(X: Matrix, k: int, n_runs: int, rng: np.random.Generator) -> Indices:
    """Numbers of rows, shape (runs, k)."""
    n, trials = X.shape[0], 2 + int(np.log(k))
    each = np.arange(n_runs)
    seeds = np.empty((n_runs, k), np.intp)
    seeds[:, 0] = rng.integers(n, size=n_runs)
    nearest = _distances(X, seeds[:, 0])
    for p in range(1, k):
        sums = np.cumsum(nearest, axis=1, dtype=np.float64)
        draws = rng.random((n_runs, trials)) * sums[:, -1:]
        drawn = np.stack([np.searchsorted(sums[run], draws[run]) for run in each]).clip(max=n - 1)
        left = _distances(X, drawn.ravel()).reshape(n_runs, trials, n)
        np.minimum(left, nearest[:, None], out=left)
        best = left.sum(axis=2, dtype=np.float64).argmin(axis=1)
        seeds[:, p], nearest = drawn[each, best], left[each, best]
    return seeds


def _distances(X: Matrix, chosen: Indices) -> Floats:
    """Squared distances of some rows to all."""
    return np.maximum(2 - 2 * _products(X, dense_rows(X, chosen)), 0)


def _products(X: Matrix, centres: Floats) -> Floats:
    """Products of centres (m, d) and rows, shape (m, rows)."""
    return np.ascontiguousarray(centres @ X.T)


def settled(last: Labels, labels: Labels) -> bool:
    """Whether labels hardly change."""
    return bool(np.count_nonzero(last != labels) <= SETTLED * len(labels))


def of_length_one(centres: Floats) -> Floats:
    """Vectors divided by their lengths; those of empty clusters stay at 0."""
    lengths = np.sqrt(np.einsum("...j,...j->...", centres, centres))[..., None]
    return np.divide(centres, lengths, out=np.zeros_like(centres), where=lengths > 0)
