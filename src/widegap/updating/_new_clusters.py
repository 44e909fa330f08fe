"""New clusters: groups of new rows where hardly any remembered row lies.

New rows and as many remembered ones, or somewhat more, form small groups by k-means in the coordinates of the search,
several times. A group belongs to the cluster that most of its rows have before the update. If new rows come from where
remembered ones came from, or a cluster has only grown, each row of a group is remembered with the same chance as the
rows of its cluster, or more often. Groups with less than ``MOST_EXPECTED`` of the remembered rows that this lets expect
are *scarce*, and all scarce groups of a cluster together have a binomial probability. They are new if it is smaller
than nearly all that come out when the names "new" and "remembered" are dealt out again: groups are formed without these
names, so that this counts for the choice of scarce groups, for their number, and for all partitions. A cluster that has
only moved a little is not new: its groups still have remembered rows. New groups that share neighbours are one cluster.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom

from widegap._types import Doubles, Floats, Indices, Labels, Mask
from widegap.features._kmeans import kmeans
from widegap.features._neighbours import neighbour_graph

SIGNIFICANT = 0.01  # chance that any cluster is called new if all rows come from one source
PERMUTATIONS = 299
MOST_EXPECTED = 0.25  # of the remembered rows that a group would have
# New rows of a group, on average, in each partition: small enough for a new cluster of twenty rows to have its own.
GROUP_ROWS = (6, 8, 8, 10, 14)
MOST_GROUPS = 200  # so that time stays linear in the rows
MOST_ROWS = 5_000  # new ones that form groups
TIMES_REMEMBERED = 2  # as many remembered rows, at most: more would hide a small new cluster in larger groups
TURNS = 10  # of k-means; not tuned
NEIGHBOURS = 10  # by which new groups are joined; not tuned
FEWEST_ROWS = 5  # of a new cluster


def find_new_clusters(P: Floats, is_new: Mask, weights: Doubles, positions: Labels, rng: np.random.Generator) -> Labels:
    """New clusters among joint rows: 0, 1, ... for rows that belong to one, -1 for all others.

    Parameters
    ----------
    P : ndarray of shape (n, d)
        Coordinates of the joint rows, each averaged with those of its neighbours, which draws clusters together.
    is_new : ndarray of shape (n,)
        Which of them are new.
    weights : ndarray of shape (n,)
        How many rows each stands for, among the new and among the remembered ones.
    positions : ndarray of shape (n,)
        Clusters of the rows before the update; of new rows those that the old model predicts.
    """
    found = np.full(len(P), -1, np.int32)
    new = thinned(np.flatnonzero(is_new), weights, MOST_ROWS, rng)
    remembered = thinned(np.flatnonzero(~is_new), weights, TIMES_REMEMBERED * len(new), rng)
    if len(new) < FEWEST_ROWS or len(remembered) < FEWEST_ROWS:
        return found
    rows = np.concatenate([new, remembered])
    partitions = [Partition.of(P[rows], positions[rows], len(new) // size, rng) for size in GROUP_ROWS]
    names = np.zeros((PERMUTATIONS + 1, len(rows)), bool)
    names[0, : len(new)] = True
    for row in names[1:]:
        row[rng.choice(len(rows), len(new), replace=False)] = True
    tests = [[partition.test(row) for partition in partitions] for row in names]
    least = np.sort([min(test.log_p.min() for test in one) for one in tests[1:]])
    level = least[max(0, int(SIGNIFICANT * len(least)) - 1)]
    novel = np.zeros(len(rows), bool)
    for partition, test in zip(partitions, tests[0], strict=True):
        novel |= (test.scarce & (test.log_p < level)[partition.clusters])[partition.groups]
    novel = np.flatnonzero(novel[: len(new)])
    if len(novel) >= FEWEST_ROWS:
        found[new[novel]] = _joined(np.ascontiguousarray(P[new[novel]]))
    return found


def thinned(rows: Indices, weights: Doubles, most: int, rng: np.random.Generator) -> Indices:
    """Some of the rows, light ones left out at random, so that those that stay stand for as many rows each."""
    kept = rows[rng.random(len(rows)) * weights[rows].max(initial=0.0) < weights[rows]]
    return kept if len(kept) <= most else np.sort(rng.choice(kept, most, replace=False))


@dataclass(frozen=True)
class GroupTest:
    """Which groups are scarce, and of every cluster the logarithm of the probability of its scarce groups."""

    scarce: Mask
    log_p: Doubles


@dataclass(frozen=True)
class Partition:
    """Groups of rows: of each row, how many rows each has, and to which cluster each belongs."""

    groups: Labels
    sizes: Doubles
    clusters: Labels
    n_clusters: int

    @classmethod
    def of(cls, P: Floats, positions: Labels, m: int, rng: np.random.Generator) -> "Partition":
        """m groups of all rows, whether new or not."""
        found = kmeans(np.ascontiguousarray(P), int(np.clip(m, 2, MOST_GROUPS)), TURNS, rng).labels
        groups = np.unique(found, return_inverse=True)[1].astype(np.int32)
        n_groups, k = int(groups.max()) + 1, int(positions.max()) + 1
        votes = np.bincount(groups * np.int64(k) + positions, minlength=n_groups * k).reshape(n_groups, k)
        return cls(groups, votes.sum(axis=1).astype(np.float64), votes.argmax(axis=1).astype(np.int32), k)

    def test(self, is_new: Mask) -> GroupTest:
        """The test for one way to call rows new."""
        new = np.bincount(self.groups, is_new, len(self.sizes)).astype(np.float64)
        remembered, k = self.sizes - new, self.n_clusters
        all_new, all_old = (np.bincount(self.clusters, part, k) for part in (new, remembered))
        odds = np.minimum(all_old / np.maximum(all_new, 1), remembered.sum() / new.sum())
        scarce = remembered <= MOST_EXPECTED * odds[self.clusters] * new
        few, all_ = (np.bincount(self.clusters, part * scarce, k) for part in (remembered, self.sizes))
        return GroupTest(scarce, np.asarray(binom.logcdf(few, all_, odds / (1 + odds))))


def _joined(rows: Floats) -> Labels:
    """Clusters of some new rows, those connected by neighbours; rows of smaller parts join none."""
    nearest, n = neighbour_graph(rows, NEIGHBOURS).nearest, len(rows)
    ends = np.arange(n + 1) * nearest.shape[1]
    edges = sp.csr_array((np.ones(nearest.size), nearest.ravel(), ends), shape=(n, n))
    parts: Labels = connected_components(edges, directed=False)[1]
    sizes = np.bincount(parts)
    number = np.where(sizes >= FEWEST_ROWS, np.cumsum(sizes >= FEWEST_ROWS) - 1, -1)
    return number[parts].astype(np.int32)
