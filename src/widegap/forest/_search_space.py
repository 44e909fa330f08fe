"""The rows that a search sees: which of a table, and how the kernel sees them, with features and principal axes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from widegap._types import Floats, Indices, Ints, Labels, Matrix
from widegap.constraints._units import Units
from widegap.features._kernel_maps import KernelMap
from widegap.features._principal import PrincipalMap, centred_gram, ridge_whitening
from widegap.forest._column_search import ColumnSearch
from widegap.forest._single_moves import cluster_sums
from widegap.rows._centred import Moments
from widegap.rows._matrices import column_offsets, shift_columns
from widegap.rows._sampling import all_or_drawn

SEARCH_ROWS = 100_000  # more rows are sampled: a graph of as many takes half a minute at most
LEAST_SAMPLE = 10_000  # rows of a sample, at least
VALUES_A_ROW = 2_000  # values of a table for every row of its sample: a search then takes no longer than k-means does
SPARSE_ROWS = (
    10_000  # more sparse rows are sampled: the index finds no neighbours of documents, and all pairs take long
)
ROUNDED_SCATTER = 1e-12  # scatter of the features relative to their size that is rounding: squares in double precision


@dataclass(frozen=True)
class SearchSpace:
    """Some rows of a table, as a search sees them.

    Attributes
    ----------
    rows : table
        The rows as the kernel sees them, less ``offsets``; of a precomputed kernel their principal coordinates.
    offsets : ndarray or None
        Offsets of columns that lie far from 0.
    features : ndarray
        Kernel features.
    mean, gram : ndarray
        Mean of the features, and their products about it.
    C : float
        Inverse ridge.
    """

    rows: Matrix
    offsets: Floats | None
    features: Floats
    mean: Floats
    gram: Floats
    C: float

    @classmethod
    def of(
        cls, sample: Matrix, kernel_map: KernelMap, C: float, moments: Moments | None = None, *, precomputed: bool
    ) -> "SearchSpace":
        """The space of the rows ``sample``; with their ``moments`` they are the user's own, and are copied."""
        features = kernel_map.transform(sample)
        mean, gram = centred_gram(features)
        if precomputed:
            return cls(PrincipalMap.of(mean, gram).transform(features), None, features, mean, gram, C)
        rows = kernel_map.scaled(sample)
        offsets = column_offsets(rows, moments if rows is sample else None)
        shifted = shift_columns(rows, offsets)
        if shifted is sample and moments is not None:
            shifted = sample.copy()
        return cls(shifted, offsets, features, mean, gram, C)

    @cached_property
    def principal(self) -> PrincipalMap:
        """Principal axes of the features."""
        return PrincipalMap.of(self.mean, self.gram)

    @property
    def is_point(self) -> bool:
        """Whether the features have no scatter but rounding."""
        return bool(np.trace(self.gram) <= ROUNDED_SCATTER * np.square(self.features, dtype=np.float64).sum())

    def leading(self, count: int) -> Any:
        """Coordinates on the first ``count`` principal axes, in float32."""
        axes = self.principal.rotation[:, :count].astype(np.float32)
        return (self.features - self.mean.astype(self.features.dtype)).astype(np.float32, copy=False) @ axes

    @cached_property
    def _whitening(self) -> Floats:
        return ridge_whitening(self.gram, 1 / self.C)

    def whitened_sums(self, labels: Labels, k: int) -> Floats:
        """Sums of the rows of every cluster in whitened coordinates of the ridge 1 / C."""
        counts = np.bincount(labels, minlength=k)
        return (cluster_sums(self.features, labels, k) - np.outer(counts, self.mean)) @ self._whitening

    def nearest_mean_scores(self, labels: Labels, k: int) -> tuple[Floats, Floats]:
        """What ``nearest_mean_scores`` finds for clusters of these rows."""
        return nearest_mean_scores(self.whitened_sums(labels, k), self._whitening, np.bincount(labels, minlength=k))

    def nearest_group_scores(self, groups: Labels) -> tuple[Floats, Floats]:
        """The same for groups of these rows."""
        return self.nearest_mean_scores(groups, int(groups.max()) + 1)


def nearest_mean_scores(sums: Floats, whitening: Floats, counts: Any) -> tuple[Floats, Floats]:
    """Scores ``M_p . q - |M_p|^2 / 2`` of the nearest cluster mean M_p: weights of centred features, and constants.

    ``sums`` are those of the clusters' rows in the whitened coordinates of centred features.
    """
    means = sums / np.maximum(counts, 1)[:, None]
    return means @ whitening.T, -0.5 * np.square(means).sum(axis=1)


@dataclass(frozen=True)
class PreparedRows:
    """What a search takes.

    Attributes
    ----------
    space : SearchSpace
        The searched rows.
    units : Units or None
        Constraints on them, if there are any.
    feature_sets : iterator of ndarray
        Leading features of the rows; each time from other landmarks, first from those of ``space``.
    columns : ColumnSearch or None
        The search that follows the columns of a table with categories.
    by_angle : bool
        Whether rows have length one, as documents that are compared by their words.
    fewest : int
        Clusters that constraints ask for, at least.
    start : ndarray or None
        Labels to start from.
    """

    space: SearchSpace
    units: Units | None
    feature_sets: Iterator[Floats]
    by_angle: bool
    columns: ColumnSearch | None = None
    fewest: int = 1
    start: Labels | None = None


def n_searched(shape: tuple[int, int], n_clusters: int, *, sparse: bool) -> int:
    """How many rows of a table a search looks at, at most: all of them, or a sample; two a cluster at least."""
    n, d = shape
    most = min(SEARCH_ROWS, SPARSE_ROWS) if sparse else SEARCH_ROWS
    if n > most:
        most = min(most, max(LEAST_SAMPLE, n * d // VALUES_A_ROW))
    return max(most, 2 * n_clusters)


def rows_by_weight(weights: Floats, most: int, rng: np.random.Generator) -> Indices:
    """Indices of rows, ascending, each as often as its weight says, up to ``most`` of them.

    Whole weights are met exactly if there is room; else rows are drawn in proportion, evenly spaced along the weights.
    """
    whole = bool((weights == np.floor(weights)).all())
    size = min(most, int(weights.sum()) if whole else np.count_nonzero(weights))
    ends = np.cumsum(weights) * (size / weights.sum())
    ends[np.flatnonzero(weights)[-1] :] = size  # rounding must not leave the last place empty
    return np.searchsorted(ends, np.arange(size) + rng.random(), side="right")


def rows_to_search(n: int, most: int, units: Units | None, rng: np.random.Generator) -> Ints:
    """Indices of up to ``most`` of n rows, and of up to as many constrained ones."""
    chosen = all_or_drawn(n, most, rng)
    if units is None:
        return chosen
    constrained = np.flatnonzero(units.constrained)
    return np.union1d(chosen, constrained[all_or_drawn(len(constrained), most, rng)])
