"""The rows that a search sees: a sample of the data, as the kernel sees them, with features and principal axes."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from widegap._types import Doubles, Labels
from widegap.constraints._taking_part import TakingPart
from widegap.features._kernel_maps import KernelMap
from widegap.features._principal import PrincipalMap, centred_gram, ridge_whitening
from widegap.forest._single_moves import cluster_sums
from widegap.rows._collections import look_up
from widegap.rows._matrices import near_origin
from widegap.rows._protocols import Rows, State

POINT = 1e-12  # scatter of the features relative to their size that is rounding


@dataclass(frozen=True)
class SearchSpace:
    """Some rows of the data.

    Attributes
    ----------
    chosen : ndarray
        Their numbers, ascending.
    rows : table
        The rows as the kernel sees them; of a precomputed kernel their principal coordinates.
    features : ndarray
        Kernel features.
    mean, gram : ndarray
        Mean of the features, and their products about it.
    C : float
        Inverse ridge.
    """

    chosen: Any
    rows: Any
    features: Any
    mean: Doubles
    gram: Doubles
    C: float

    @classmethod
    def of(cls, sample: Any, chosen: Any, kernel_map: KernelMap, C: float, *, precomputed: bool) -> "SearchSpace":
        """The space of the rows ``sample``, numbered ``chosen``."""
        features = kernel_map.transform(sample)
        mean, gram = centred_gram(features)
        if precomputed:
            rows = PrincipalMap.of(mean, gram).transform(features)
        else:
            rows = near_origin(kernel_map.scaled(sample))
        return cls(chosen, rows, features, mean, gram, C)

    @cached_property
    def principal(self) -> PrincipalMap:
        """Principal axes of the features."""
        return PrincipalMap.of(self.mean, self.gram)

    @property
    def is_point(self) -> bool:
        """Whether the features have no scatter but rounding."""
        return bool(np.trace(self.gram) <= POINT * np.square(self.features, dtype=np.float64).sum())

    def within(self, part: TakingPart) -> "SearchSpace":
        """The same rows, numbered in the table of which these are a part."""
        return replace(self, chosen=part.fitted[self.chosen])

    def is_all(self, n: int) -> bool:
        """Whether these are all of n rows, each once."""
        return len(self.chosen) == n and bool((np.diff(self.chosen) > 0).all())

    def leading(self, count: int) -> Any:
        """Coordinates on the first so many principal axes, in float32."""
        axes = self.principal.rotation[:, :count].astype(np.float32)
        return (self.features - self.mean.astype(self.features.dtype)).astype(np.float32, copy=False) @ axes

    @cached_property
    def _whitening(self) -> Doubles:
        return ridge_whitening(self.gram, 1 / self.C)

    def whitened_sums(self, labels: Labels, k: int) -> Doubles:
        """Sums of the rows of every cluster in whitened coordinates of the ridge 1 / C, which no row needs alone."""
        counts = np.bincount(labels, minlength=k)
        return (cluster_sums(self.features, labels, k) - np.outer(counts, self.mean)) @ self._whitening

    def nearest_mean_scores(self, labels: Labels, k: int) -> tuple[Doubles, Doubles]:
        """What ``nearest_mean_scores`` finds for clusters of these rows."""
        return nearest_mean_scores(self.whitened_sums(labels, k), self._whitening, np.bincount(labels, minlength=k))


def nearest_mean_scores(sums: Doubles, whitening: Doubles, counts: Any) -> tuple[Doubles, Doubles]:
    """Scores ``M_p . q - |M_p|^2 / 2`` of the nearest cluster mean M_p: weights of centred features, and constants.

    ``sums`` are those of the clusters' rows in the coordinates that ``whitening`` makes of centred features.
    """
    means = sums / np.maximum(counts, 1)[:, None]
    return means @ whitening.T, -0.5 * np.square(means).sum(axis=1)


@dataclass(frozen=True)
class Extension:
    """How clusters of the searched rows become clusters of all rows, for any number of them.

    ``groups`` are the groups of the searched rows, as the search formed them. A row that was not searched belongs to
    the group with the nearest mean, and goes where most searched rows of that group are. ``places`` (n,) tell where
    every row looks up its values: at its group, or, if it was searched, at the number of groups plus its own number
    among the searched ones. They are lazy where the rows are; ``in_process`` tells whether this process holds them.
    """

    places: Any
    groups: Labels
    in_process: bool

    @classmethod
    def of(cls, rows: Rows, nearest: State, marks: State, groups: Labels) -> "Extension":
        """From the nearest groups of rows that were not searched, and the numbers of those that were, else -1."""
        n_groups = int(groups.max()) + 1

        def places(nearest: Any, marks: Any) -> Any:
            return ((np.where(marks < 0, nearest, n_groups + marks).astype(np.int32),), 0)

        return cls(rows.publish(rows.fold(places, nearest, marks)[0][0]), groups, rows.in_process)

    def within(self, part: TakingPart, nearest: Any) -> "Extension":
        """The same for the table of which these rows are a part; the others have these nearest groups."""
        return replace(self, places=part.to_all(self.places, nearest))

    def to_all_rows(self, labels: Labels, k: int) -> Any:
        """Clusters of all rows."""
        return look_up(self.labels_by_place(labels, k), self.places)

    def labels_by_place(self, labels: Labels, k: int) -> Labels:
        """Clusters of the groups, most of whose searched rows are there, and of the searched rows."""
        votes = np.zeros((int(self.groups.max()) + 1, k), np.int64)
        np.add.at(votes, (self.groups, labels), 1)
        return np.concatenate([votes.argmax(axis=1), labels]).astype(np.int32)

    def to_all_means(self, values: Doubles) -> Any:
        """Values of the searched rows for all rows: for others the mean of their group."""
        means = np.bincount(self.groups, values) / np.maximum(np.bincount(self.groups), 1)
        return look_up(np.concatenate([means, values]), self.places)
