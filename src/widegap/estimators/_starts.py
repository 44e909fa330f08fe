"""Where a search begins: a sample of the rows, and starting labels on it.

Above ``SAMPLE`` rows the many starts are tried on a sample only, and the best is carried to all rows by its weights,
so that choosing a start costs the same whatever n is.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from widegap.data._centred import CentredRows
from widegap.data._sources import row_blocks
from widegap.data._threads import one_blas_thread

SAMPLE = 5000
ALIKE = 0.9
SMALL = 1 << 20  # numbers in a sample below which waking BLAS and OpenMP threads costs more than it saves

Labels = np.ndarray[Any, np.dtype[np.int32]]


def rounded(value: float) -> float:
    """Six digits: runs that end in the same optimum differ by rounding, which must not decide between them."""
    return float(f"{value:.5e}")


class Sample:
    """Up to ``SAMPLE`` rows: as a table ``X`` in memory, and centred as ``rows``; ``whole`` if none was left out."""

    def __init__(self, rows: CentredRows, rng: np.random.Generator):
        n = rows.shape[0]
        self.whole = n <= SAMPLE
        chosen = np.arange(n) if self.whole else np.sort(rng.choice(n, SAMPLE, replace=False))
        self.X = rows.blocks.take(chosen)
        self.rows = rows if self.whole else CentredRows(row_blocks(self.X, n_threads=rows.blocks.n_threads))
        if self.rows.scale == 0:  # the few rows that differ were not drawn
            self.rows, self.whole = rows, True
            self.X = rows.blocks.take(np.arange(n))


def kmeans_starts(sample: Sample, k: int, n_runs: int, keep: int, rng: np.random.Generator) -> list[Labels]:
    """Labels of the ``keep`` best by inertia of ``n_runs`` k-means runs, the best first; equal runs count once."""
    with one_blas_thread(openmp=bool(np.prod(sample.X.shape) < SMALL)):
        runs = [_kmeans(sample.X, k, rng) for _ in range(n_runs)]
    distinct = {rounded(model.inertia_): model for model in reversed(runs)}
    return [distinct[inertia].labels_.astype(np.int32) for inertia in sorted(distinct)[:keep]]


def different_starts(starts: Sequence[Labels], keep: int) -> list[Labels]:
    """The first ``keep`` that differ from all before them by more than a few rows (adjusted Rand index)."""
    kept: list[Labels] = []
    for labels in starts:
        if len(kept) < keep and all(adjusted_rand_score(labels, other) < ALIKE for other in kept):
            kept.append(labels)
    return kept


def kmeans_labels(X: Any, k: int, rng: np.random.Generator) -> Labels:
    """Labels of one k-means run."""
    return _kmeans(X, k, rng).labels_.astype(np.int32)


def _kmeans(X: Any, k: int, rng: np.random.Generator) -> KMeans:
    with one_blas_thread(), warnings.catch_warnings():
        # Fewer distinct rows than clusters: the search that follows deals with it.
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        return KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(X)


def spectral_labels(X: Any, k: int, rng: np.random.Generator) -> Labels:
    """Normalised cut of the nearest-neighbour graph."""
    n = X.shape[0]
    if n <= k:
        return np.arange(n, dtype=np.int32)
    model = SpectralClustering(
        k,
        affinity="nearest_neighbors",
        n_neighbors=min(10, n),
        assign_labels="cluster_qr",
        random_state=int(rng.integers(2**31)),
    )
    with one_blas_thread(), warnings.catch_warnings():
        # Groups that no edge connects are the easy case, and a square sample is no affinity matrix.
        warnings.filterwarnings(
            "ignore", message="Graph is not fully connected|The spectral clustering API has changed"
        )
        return model.fit_predict(X).astype(np.int32)


def random_start(sample: Sample, k: int, rng: np.random.Generator) -> Labels:
    """Labels by the largest of k random linear scores."""
    rows = sample.rows
    return rows.largest_scores(rng.standard_normal((k, rows.shape[1])), np.zeros(k))
