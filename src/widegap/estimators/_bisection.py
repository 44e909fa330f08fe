"""Parts of recursive bisection: the tree of hyperplanes, and starting labels for two clusters."""

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from widegap.data._blocks import RowBlocks
from widegap.data._centred import CentredRows
from widegap.data._kernels import far_pair
from widegap.data._sources import row_blocks
from widegap.data._tables import near_origin
from widegap.data._threads import one_blas_thread
from widegap.estimators._starts import SAMPLE, Sample, spectral_labels

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
    X = near_origin(blocks.take(rows[chosen]))
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
    first, second = far_pair(X, thorough, rng)
    side = second < first
    if not side.any():
        return np.zeros(X.shape[0], np.int32)
    # Means of the two sides rather than the seeds: an ordinary array also where the rows are sparse.
    weights = np.stack([~side / np.count_nonzero(~side), side / np.count_nonzero(side)]).astype(X.dtype)
    with one_blas_thread():
        return KMeans(2, init=weights @ X, n_init=1).fit(X).labels_
