"""The rows that a search sees: a sample of the data, as the kernel sees them, with features and principal axes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap.data._kernel_maps import KernelMap
from widegap.data._principal import PrincipalMap
from widegap.data._tables import near_origin
from widegap.solvers._result import FloatArray, LabelArray
from widegap.solvers._single_moves import cluster_sums

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
    principal : PrincipalMap
        Principal axes of the features.
    """

    chosen: Any
    rows: Any
    features: Any
    principal: PrincipalMap

    @classmethod
    def of(cls, sample: Any, chosen: Any, kernel_map: KernelMap, *, precomputed: bool) -> "SearchSpace":
        """The space of the rows ``sample``, numbered ``chosen``."""
        features = kernel_map.transform(sample)
        principal = PrincipalMap.fit(features)
        rows = principal.transform(features) if precomputed else near_origin(kernel_map.scaled(sample))
        return cls(chosen, rows, features, principal)

    @property
    def is_point(self) -> bool:
        """Whether the features have no scatter but rounding."""
        return bool(self.principal.lam.sum() <= POINT * np.square(self.features, dtype=np.float64).sum())

    def whitened(self, C: float) -> Any:
        """Q of the rows, for the ridge 1 / C."""
        whitening = self.principal.whitening(1 / C).astype(self.features.dtype)
        return (self.features - self.principal.mean.astype(self.features.dtype)) @ whitening


def nearest_mean_scores(
    Q: FloatArray, principal: PrincipalMap, labels: LabelArray, k: int, C: float
) -> tuple[FloatArray, FloatArray]:
    """Scores ``M_p . q - |M_p|^2 / 2`` of the nearest cluster mean M_p: weights of centred features, and constants."""
    counts = np.bincount(labels, minlength=k)
    means = cluster_sums(Q, labels, k) / np.maximum(counts, 1)[:, None]
    return means @ principal.whitening(1 / C).T, -0.5 * np.square(means).sum(axis=1)


@dataclass(frozen=True)
class Extension:
    """How clusters of the searched rows become clusters of all rows, for any number of them.

    ``groups`` (n,) are the groups of all rows: of the searched ones as the search formed them, of the others by the
    nearest mean. A row that was not searched goes where most of the searched rows of its group are.
    """

    chosen: Any
    groups: LabelArray

    def to_all_rows(self, labels: LabelArray, k: int) -> LabelArray:
        """Clusters of all rows."""
        votes = np.zeros((int(self.groups.max()) + 1, k), np.int64)
        np.add.at(votes, (self.groups[self.chosen], labels), 1)
        found = votes.argmax(axis=1).astype(np.int32)[self.groups]
        found[self.chosen] = labels
        return found

    def to_all_means(self, values: FloatArray) -> FloatArray:
        """Values of the searched rows for all rows: for others the mean of their group."""
        groups = self.groups[self.chosen]
        counts = np.bincount(groups, minlength=int(self.groups.max()) + 1)
        found = (np.bincount(groups, values, len(counts)) / np.maximum(counts, 1))[self.groups]
        found[self.chosen] = values
        return found
