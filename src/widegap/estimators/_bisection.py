"""Parts of recursive bisection: the tree of hyperplanes, starting labels for two clusters, and the kernel's width."""

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from widegap.data._blocks import RowBlocks
from widegap.data._centred import CentredRows
from widegap.data._kernel_maps import draw_rows
from widegap.data._sources import row_blocks
from widegap.estimators._starts import SAMPLE, Sample, spectral_labels
from widegap.exceptions import InvalidDataError

DIAMETER_SAMPLE = 2000
DIAMETER_FACTOR = 4.0
FAR_TRIES = 10
ZERO_SQUARED = 1e-14  # equal rows come out some roundings apart, relative to their squared length

Floats = np.ndarray[Any, Any]


class Tree:
    """Hyperplanes ``coef @ phi + intercept``, one a bisection, all over the same features.

    Bisection j splits the cluster ``bisected[j]``; the rows on the positive side become cluster j + 1.
    """

    def __init__(self, n_features: int, mean: Floats):
        self.mean = mean
        self.coef = np.zeros((0, n_features))
        self.mean_scores = np.zeros(0)  # values at ``mean``
        self.bisected: list[int] = []

    @property
    def n_leaves(self) -> int:
        return len(self.bisected) + 1

    @property
    def intercept(self) -> Floats:
        return self.mean_scores - self.coef @ self.mean

    def add(self, cluster: int, coef: Floats, bias: float, mean: Floats) -> None:
        """Split ``cluster`` by ``coef @ (phi - mean) + bias``."""
        self.coef = np.vstack([self.coef, coef])
        self.mean_scores = np.append(self.mean_scores, bias + coef @ (self.mean - mean))
        self.bisected.append(cluster)


def diameter_gamma(blocks: RowBlocks, rng: np.random.Generator) -> float:
    """1 / (4 D)^2 with D the largest distance among up to 2000 rows."""
    X = draw_rows(blocks, DIAMETER_SAMPLE, rng)
    squared = _far_pair(X, True, rng)[0].max()
    if not squared > ZERO_SQUARED * row_norms(X, squared=True).max():
        raise InvalidDataError("All rows drawn for the kernel width are equal; give gamma a number.")
    return float(1 / (DIAMETER_FACTOR**2 * squared))


def start_labels(
    init: str, blocks: RowBlocks, rows: Floats, P: Floats, rng: np.random.Generator, *, first: bool
) -> Floats:
    """Labels -1.0 and 1.0 for the given rows, whose features are P; the first k-means start has the farthest seeds.

    k-means and spectral clustering see up to 5000 of the rows; the others join the nearer mean in feature space.
    """
    if init == "random":
        f = P @ rng.standard_normal(P.shape[1])
        return np.where(f > np.median(f), 1.0, -1.0)
    n = len(rows)
    chosen = np.arange(n) if n <= SAMPLE else np.sort(rng.choice(n, SAMPLE, replace=False))
    X = blocks.take(rows[chosen])
    if init == "spectral":
        found = spectral_labels(Sample(CentredRows(row_blocks(X)), rng).X, 2, rng)
    else:
        found = far_kmeans(X, first, rng)
    if len(np.unique(found)) < 2:  # the drawn rows are equal
        return np.where(P[:, 0] > 0, 1.0, -1.0)
    if n <= SAMPLE:
        return np.where(found > 0, 1.0, -1.0)
    means = [P[chosen[found == side]].mean(axis=0) for side in (0, 1)]
    f = P @ (means[1] - means[0])
    return np.where(f > (means[1] @ means[1] - means[0] @ means[0]) / 2, 1.0, -1.0)


def merged_labels(given: Any, P: Floats, rng: np.random.Generator) -> Floats | None:
    """Given groups merged into -1.0 and 1.0: 2-means of their means. None if there are not two of them."""
    groups, codes = np.unique(given, return_inverse=True)
    if len(groups) < 2:
        return None
    sides = np.arange(2)
    if len(groups) > 2:
        sides = far_kmeans(np.stack([P[codes == group].mean(axis=0) for group in range(len(groups))]), True, rng)
    return np.where(sides[codes] > 0, 1.0, -1.0) if sides.any() else None


def far_kmeans(X: Any, thorough: bool, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int32]]:
    """2-means from two rows that are far apart."""
    first, second = _far_pair(X, thorough, rng)
    side = second < first
    if not side.any():
        return np.zeros(X.shape[0], np.int32)
    # Means of the two sides rather than the seeds: an ordinary array also where the rows are sparse.
    weights = np.stack([~side / np.count_nonzero(~side), side / np.count_nonzero(side)]).astype(X.dtype)
    return KMeans(2, init=weights @ X, n_init=1).fit(X).labels_


def _far_pair(X: Any, thorough: bool, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Squared distances of all rows to a random row and to the row farthest from it.

    A thorough search goes on from there as long as the distance grows, from several random rows: it nearly always
    finds the two rows that are farthest apart, so that the start does not depend on chance.
    """
    X = X.astype(np.float64)
    norms = row_norms(X, squared=True)

    def distances(row: int) -> Floats:
        return norms + norms[row] - 2 * safe_sparse_dot(X, X[[row]].T, dense_output=True)[:, 0]

    best: tuple[float, Floats, Floats] | None = None
    for _ in range(FAR_TRIES if thorough else 1):
        first = distances(int(rng.integers(X.shape[0])))
        second = distances(int(first.argmax()))
        while thorough and second.max() > first.max():
            first, second = second, distances(int(second.argmax()))
        if best is None or first.max() > best[0]:
            best = float(first.max()), first, second
    assert best is not None
    return best[1], best[2]
