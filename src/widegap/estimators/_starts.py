"""Starting labels: k-means, random hyperplanes, spectral, or given.

k-means and spectral clustering run on a sample of at most ``SAMPLE`` rows and are extended to all rows by the nearest
centre, so that a start costs a small part of the fit whatever n is, for data of every kind.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from threadpoolctl import threadpool_limits

from widegap.data._centred import CentredRows

SAMPLE = 5000
SPECTRAL_SAMPLE = 2000
SMALL = 1 << 20  # numbers in a sample below which waking BLAS and OpenMP threads costs more than it saves

Labels = np.ndarray[Any, np.dtype[np.int32]]


def draw_sample(rows: CentredRows, size: int, rng: np.random.Generator) -> Any:
    """Up to ``size`` rows in memory, in ascending order."""
    n = rows.shape[0]
    return rows.blocks.take(np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False)))


def kmeans_starts(rows: CentredRows, k: int, n_runs: int, keep: int, rng: np.random.Generator) -> list[Labels]:
    """Labels from the ``keep`` best by inertia of ``n_runs`` k-means runs on one sample, the best first."""
    sample = draw_sample(rows, SAMPLE, rng)
    runs = []
    with threadpool_limits(1 if np.prod(sample.shape) < SMALL else None):
        for _ in range(n_runs):
            model = KMeans(k, n_init=1, random_state=int(rng.integers(2**31)))
            runs.append(model.fit(sample))
    runs.sort(key=lambda model: model.inertia_)
    return [nearest_centre(rows, model.cluster_centers_) for model in runs[:keep]]


def spectral_start(rows: CentredRows, k: int, rng: np.random.Generator) -> Labels:
    """Normalised cut of the nearest-neighbour graph of a sample, extended by the nearest cluster mean."""
    sample = draw_sample(rows, SPECTRAL_SAMPLE, rng)
    n = sample.shape[0]
    model = SpectralClustering(
        k,
        affinity="nearest_neighbors",
        n_neighbors=min(10, n),
        assign_labels="cluster_qr",
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():
        # Groups that no edge connects are the easy case, and a square sample is no affinity matrix.
        warnings.filterwarnings(
            "ignore", message="Graph is not fully connected|The spectral clustering API has changed"
        )
        labels = np.arange(n) if n <= k else model.fit_predict(sample)
    members = np.eye(k)[labels].T / np.maximum(1, np.bincount(labels, minlength=k))[:, None]
    return nearest_centre(rows, np.asarray((sample.T @ members.T).T))


def random_start(rows: CentredRows, k: int, rng: np.random.Generator) -> Labels:
    """Labels by the largest of k random linear scores."""
    return rows.largest_scores(rng.standard_normal((k, rows.shape[1])), np.zeros(k))


def nearest_centre(rows: CentredRows, centres: np.ndarray[Any, Any]) -> Labels:
    """Index of the nearest centre of every row, in one read."""
    W = (centres - rows.mean) / rows.scale
    return rows.largest_scores(W, -0.5 * np.einsum("kd,kd->k", W, W))
