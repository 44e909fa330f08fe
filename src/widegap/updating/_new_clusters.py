"""New clusters: groups of new rows where hardly any remembered row lies.

The new rows alone form small groups, several times, by k-means in the coordinates of the search; the groups of new rows
are small however many rows are remembered. Every remembered row joins the group with the nearest mean. If new and
remembered rows come from one source, each row of a group is remembered with the same chance, so that the number of
remembered ones is binomial. A group is *new* if this number is far too small: by its tail probability, corrected for
the number of groups and partitions, and to below ``MOST_EXPECTED`` of what is expected, which a cluster that has only
moved or grown is not. New groups that share neighbours are one new cluster.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom

from widegap._types import Doubles, Floats, Labels, Mask
from widegap.features._kmeans import kmeans
from widegap.features._neighbours import neighbour_graph
from widegap.rows._matrices import distances_to

SIGNIFICANT = 0.01  # that any group is new in an update from the same source
MOST_EXPECTED = 0.25  # of the remembered rows that a group of this size would have
GROUP_ROWS = (8, 14)  # new rows of a group, on average, in each partition
MOST_GROUPS = 200  # so that time stays linear in the rows
TURNS = 10  # of k-means; not tuned
NEIGHBOURS = 10  # by which new groups are joined; not tuned
FEWEST_ROWS = 5  # of a new cluster


@dataclass(frozen=True)
class JointCounts:
    """New and remembered rows of some groups, by weight; ``share`` is that of the remembered among all."""

    new: Doubles
    remembered: Doubles
    share: float

    @property
    def tail(self) -> Doubles:
        """Probability of as few remembered rows, or fewer, if all rows come from one source."""
        total = np.round(self.new + self.remembered)
        return np.asarray(binom.cdf(np.round(self.remembered), total, self.share))

    @property
    def is_scarce(self) -> Mask:
        """Whether remembered rows are far fewer than expected."""
        odds = self.share / (1 - self.share)
        return np.asarray(self.remembered <= MOST_EXPECTED * odds * self.new)


def find_new_clusters(P: Floats, is_new: Mask, weights: Doubles, rng: np.random.Generator) -> Labels:
    """New clusters among joint rows: 0, 1, ... for rows that belong to one, -1 for all others.

    Parameters
    ----------
    P : ndarray of shape (n, d)
        Coordinates of the joint rows.
    is_new : ndarray of shape (n,)
        Which of them are new.
    weights : ndarray of shape (n,)
        What every row counts in the test: remembered rows as many as they are, relative to each other.
    """
    found = np.full(len(P), -1, np.int32)
    new, remembered = np.flatnonzero(is_new), np.flatnonzero(~is_new & (weights > 0))
    if len(new) < FEWEST_ROWS or not len(remembered):
        return found
    share = float(weights[remembered].sum() / (weights[remembered].sum() + weights[new].sum()))
    rows, partitions = np.ascontiguousarray(P[new]), []
    for size in GROUP_ROWS:
        m = int(np.clip(len(new) // size, 2, MOST_GROUPS))
        partitions.append(_Partition.of(rows, P[remembered], m, weights[new], weights[remembered], share, rng))
    n_tests = sum(len(partition.counts.new) for partition in partitions)
    novel = np.zeros(len(new), bool)
    for partition in partitions:
        novel |= partition.is_new(SIGNIFICANT / n_tests)[partition.groups]
    if novel.sum() >= FEWEST_ROWS:
        found[new[novel]] = _joined(rows[novel])
    return found


@dataclass(frozen=True)
class _Partition:
    """Groups of the new rows, and how many new and remembered rows each has."""

    groups: Labels
    counts: JointCounts

    @classmethod
    def of(
        cls,
        new: Floats,
        remembered: Floats,
        m: int,
        weights: Doubles,
        remembered_weights: Doubles,
        share: float,
        rng: np.random.Generator,
    ) -> "_Partition":
        groups = np.unique(kmeans(new, m, TURNS, rng).labels, return_inverse=True)[1]
        sizes = np.bincount(groups)
        means = np.stack([np.bincount(groups, column) / sizes for column in new.T.astype(np.float64)], axis=1)
        nearest = distances_to(means, remembered).argmin(axis=1)
        k, parts = len(sizes), ((groups, weights), (nearest, remembered_weights))
        of_new, of_remembered = (np.bincount(rows, weight, k).astype(np.float64) for rows, weight in parts)
        return cls(groups.astype(np.int32), JointCounts(of_new, of_remembered, share))

    def is_new(self, level: float) -> Mask:
        return self.counts.is_scarce & (self.counts.tail <= level)


def _joined(rows: Floats) -> Labels:
    """Clusters of some new rows, those connected by neighbours; rows of smaller parts join none."""
    nearest, n = neighbour_graph(rows, NEIGHBOURS).nearest, len(rows)
    ends = np.arange(n + 1) * nearest.shape[1]
    edges = sp.csr_array((np.ones(nearest.size), nearest.ravel(), ends), shape=(n, n))
    parts: Labels = connected_components(edges, directed=False)[1]
    sizes = np.bincount(parts)
    number = np.where(sizes >= FEWEST_ROWS, np.cumsum(sizes >= FEWEST_ROWS) - 1, -1)
    return number[parts].astype(np.int32)
