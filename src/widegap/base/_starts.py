"""Where a search begins: a sample of the rows, and starting labels on it.

Above ``START_SAMPLE`` rows the starts are tried on a sample only, and the weights of the best one label all rows, so
that choosing a start costs the same whatever n is. ``init`` means the same wherever it is a parameter: "k-means" is
k-means on the rows as the method sees them, that is after the kernel's map, "random" are random linear scores of those
rows, "spectral" is the normalised cut of a graph of nearest neighbours.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from widegap._types import Floats, Indices, Labels, Matrix
from widegap.exceptions import InvalidDataError
from widegap.features._rounding import LAST_BITS, on_grid
from widegap.rows._centred import CentredRows
from widegap.rows._sampling import all_or_drawn
from widegap.rows._sources import row_blocks
from widegap.rows._threads import one_blas_thread

START_SAMPLE = 5000  # rows on which starts are compared; not tuned
DRAWS = 4  # samples drawn, each twice as large, before the search for rows that differ is given up; not tuned
ALIKE = 0.9  # adjusted Rand index of starts that end in the same optimum; not tuned
AXES = 8  # principal axes tried as directions of a threshold, for two clusters; not tuned
QUIET_NUMBERS = 1 << 20  # numbers in a sample below which waking BLAS and OpenMP threads costs more than it saves


def rounded(value: float) -> float:
    """Six digits: runs that end in the same optimum differ by rounding, which must not decide between them."""
    return float(f"{value:.5e}")


def sample_size(n_clusters: int) -> int:
    """How many rows are enough to choose among starts."""
    return max(START_SAMPLE, 2 * n_clusters)


class Sample:
    """Some rows, two for every cluster at least: as a table ``X`` in memory, and centred as ``rows``.

    ``whole`` if they are all rows. If all rows drawn are equal, more are drawn, up to eight times as many. ``chosen``
    are the numbers of the rows, including those of ``wanted``.
    """

    def __init__(
        self, rows: CentredRows, n_clusters: int, rng: np.random.Generator, wanted: Sequence[int] | Indices = ()
    ):
        n = rows.shape[0]
        size = sample_size(n_clusters)
        for _ in range(DRAWS):
            chosen = all_or_drawn(n, size, rng)
            chosen = np.union1d(chosen, wanted).astype(np.intp) if len(wanted) else chosen
            self.chosen = chosen
            self.whole = len(chosen) == n and rows.blocks.in_process
            self.X = rows.blocks.take(chosen)
            self.rows = rows if self.whole else self._centred(rows)
            if self.rows.scale > 0 or rows.scale == 0:
                return
            size *= 2  # the few rows that differ were not drawn
        raise InvalidDataError(
            f"All of {len(chosen)} rows drawn from {n} to find a start are equal; too few rows differ to be found by "
            "sampling: remove repeated rows."
        )

    def _centred(self, rows: CentredRows) -> CentredRows:
        all_weights = rows.array_weights()
        weights = None if all_weights is None else all_weights[self.chosen]
        return CentredRows(row_blocks(self.X, n_threads=rows.blocks.n_threads), weights)


class StartRows(Protocol):
    """Rows that starts are made of: as a table in memory, and centred."""

    @property
    def X(self) -> Any: ...

    @property
    def rows(self) -> CentredRows: ...


def kmeans_starts(sample: StartRows, k: int, n_runs: int, keep: int, rng: np.random.Generator) -> list[Labels]:
    """Labels of the ``keep`` best by inertia of ``n_runs`` k-means runs, the best first; equal runs count once."""
    with one_blas_thread(openmp=bool(np.prod(sample.X.shape) < QUIET_NUMBERS)):
        runs = [_kmeans(sample.X, k, rng, sample.rows.array_weights()) for _ in range(n_runs)]
    distinct = {rounded(model.inertia_): model for model in reversed(runs)}
    return [distinct[inertia].labels_.astype(np.int32) for inertia in sorted(distinct)[:keep]]


def different_starts(starts: Sequence[Labels], keep: int) -> list[Labels]:
    """The first ``keep`` that differ from all before them by more than a few rows (adjusted Rand index)."""
    kept: list[Labels] = []
    for labels in starts:
        if len(kept) < keep and all(adjusted_rand_score(labels, other) < ALIKE for other in kept):
            kept.append(labels)
    return kept


def kmeans_labels(X: Matrix, k: int, rng: np.random.Generator) -> Labels:
    """Labels of one k-means run."""
    labels: Labels = _kmeans(X, k, rng).labels_.astype(np.int32)
    return labels


def _kmeans(X: Matrix, k: int, rng: np.random.Generator, weights: Floats | None = None) -> KMeans:
    with one_blas_thread(), warnings.catch_warnings():
        # Fewer distinct rows than clusters: the search that follows deals with it.
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        return KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(X, sample_weight=weights)


def spectral_labels(X: Matrix, k: int, rng: np.random.Generator) -> Labels:
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
        # Groups that no edge connects are the easy case, and a square sample is not meant as an affinity matrix.
        warnings.filterwarnings(
            "ignore", message="Graph is not fully connected|The spectral clustering API has changed"
        )
        return model.fit_predict(X).astype(np.int32)


def random_start(sample: StartRows, k: int, rng: np.random.Generator) -> Labels:
    """Labels by the largest of k random linear scores."""
    rows = sample.rows
    return rows.blocks.collect(rows.largest_scores(rng.standard_normal((k, rows.shape[1])), np.zeros(k)))


def sample_starts(
    init: str, sample: StartRows, k: int, n_runs: int, keep: int, n_random: int, rng: np.random.Generator
) -> list[Labels]:
    """Starting labels of a sample, the most promising first.

    With "k-means" the ``keep`` best of ``n_runs`` and ``n_random`` random ones, with "random" as many of these alone.
    """
    if init == "spectral":
        return [spectral_labels(sample.X, k, rng)]
    found = kmeans_starts(sample, k, n_runs, keep, rng) if init == "k-means" else []
    return found + [random_start(sample, k, rng) for _ in range(n_random + (0 if init == "k-means" else keep))]


def feature_starts(
    init: str, P: Floats, X: Matrix, k: int, n_init: int, min_count: int, rng: np.random.Generator
) -> Iterator[tuple[str, Labels]]:
    """(kind, labels) of starts on principal coordinates P of a kernel's features, made when they are needed.

    For two clusters there are also the best thresholds along axes and random directions. X are the rows themselves.
    """
    if init == "spectral":
        yield "spectral", spectral_labels(X, k, rng)
        return
    if init == "k-means":
        for i in range(n_init):
            # Every third run on the rows themselves: small far groups vanish in the kernel's coordinates.
            on_rows = i % 3 == 0
            yield "k-means on rows" if on_rows else "k-means", kmeans_labels(X if on_rows else P, k, rng)
    if k > 2:
        for _ in range(n_init if init == "random" else 0):
            yield "random", (P @ rng.standard_normal((P.shape[1], k))).argmax(axis=1).astype(np.int32)
        return
    for axis in range(min(AXES, P.shape[1]) if init == "k-means" else 0):
        yield f"axis {axis}", best_threshold(P[:, axis], min_count)
    for _ in range(n_init):
        yield "random", best_threshold(P @ rng.standard_normal(P.shape[1]), min_count)


def best_threshold(f: Floats, min_count: int) -> Labels:
    """Two clusters from one direction: the threshold with the largest between-cluster scatter (Otsu)."""
    f, n = on_grid(f), len(f)
    order = np.argsort(-f, kind="stable")
    sizes = np.arange(1, n)
    means = np.cumsum(f[order])[:-1] - sizes * f.mean()
    scatter = np.square(means) / (sizes * (n - sizes))
    allowed = (sizes >= min_count) & (n - sizes >= min_count)
    scatter = np.where(allowed, scatter, -1.0)
    cut = int(np.argmax(scatter >= (1 - LAST_BITS) * scatter.max())) + 1
    labels = np.zeros(n, np.int32)
    labels[order[:cut]] = 1
    return labels


def count_feature_starts(init: str, k: int, n_init: int) -> int:
    """How many starts ``feature_starts`` makes if the coordinates have enough axes."""
    if init == "spectral":
        return 1
    by_means = n_init if init == "k-means" else 0
    if k > 2:
        return by_means or n_init
    return by_means + (AXES if init == "k-means" else 0) + n_init
