"""New clusters: groups of new rows where hardly any remembered row lies.

New rows and as many remembered ones, or somewhat more, form small groups by k-means in the coordinates of the search,
several times. A group belongs to the cluster that most of its rows have before the update. If new rows come from where
remembered ones came from, or a cluster has only grown, each row of a group is remembered with the same chance as the
rows of its cluster, or more often. Groups with less than ``MOST_EXPECTED`` of the remembered rows that this lets expect
are *scarce*, and all scarce groups of a cluster together have a binomial probability. They are new if it is smaller
than all that come out when the names "new" and "remembered" are shuffled: groups are formed without these
names, so that this counts for the choice of scarce groups, for their number, and for all partitions. A cluster that has
only moved a little is not new: its groups still have remembered rows, and rows in front of it have neighbours in it.
New groups that share neighbours are one cluster.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from widegap._types import Doubles, Floats, Indices, Labels, Mask
from widegap.features._kmeans import kmeans
from widegap.features._neighbours import neighbour_graph
from widegap.rows._matrices import indicators

# None of them may be as unusual: 1 in 200 updates from one source has a new cluster by chance. With 999 a class of
# digits that comes with 11 to 14 rows is missed in its first batch in 3 of 6 orders, with 99 in 2.
RENAMINGS = 199
MOST_EXPECTED = 0.25  # of the remembered rows that a group would have
# Rows of a group, on average, in each partition: small enough for a new cluster of twenty rows to have its own. They
# are new or remembered ones, whichever are fewer: a group that would have one remembered row often has none by chance.
GROUP_ROWS = (6, 8, 8, 10, 14)
MOST_GROUPS = 200  # so that time stays linear in the rows
MOST_GROUPED = 2_500  # new ones that form groups, to bound the time of all permutations
TIMES_REMEMBERED = 2  # as many remembered rows, at most: more would hide a small new cluster in larger groups
TURNS = 10  # of k-means; not tuned
JOINING_NEIGHBOURS = 10  # by which new groups are joined; not tuned
FEWEST_NEW_ROWS = 5  # of a new cluster
OWN_NEIGHBOURS = 5  # neighbours by which a new cluster keeps to itself
# Share of these that are in the cluster themselves. New classes of digits have 0.53 to 1, two of 21 below 0.65; stray
# rows of scarce groups 0.33 to 0.56, and the front of a cluster that moved by a deviation 0.47 to 0.64.
APART = 0.65


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
    new = thinned(np.flatnonzero(is_new), weights, MOST_GROUPED, rng)
    remembered = thinned(np.flatnonzero(~is_new), weights, TIMES_REMEMBERED * len(new), rng)
    if len(new) < FEWEST_NEW_ROWS or len(remembered) < FEWEST_NEW_ROWS:
        return found
    rows = np.concatenate([new, remembered])
    names = np.zeros((RENAMINGS + 1, len(rows)), np.float32)
    names[0, : len(new)] = 1
    for row in names[1:]:
        row[rng.choice(len(rows), len(new), replace=False)] = 1
    fewer = min(len(new), len(remembered))
    partitions = [JointGroups.of(P[rows], positions[rows], fewer // size, rng) for size in GROUP_ROWS]
    tests = [partition.test(names) for partition in partitions]
    level = min(float(test.log_p[1:].min()) for test in tests)
    novel = np.zeros(len(rows), bool)
    for partition, test in zip(partitions, tests, strict=True):
        novel |= (test.scarce[0] & (test.log_p[0] < level)[partition.clusters])[partition.groups]
    novel[len(new) :] = False
    found[rows] = _joined(np.ascontiguousarray(P[rows]), novel)
    return found


def thinned(rows: Indices, weights: Doubles, most: int, rng: np.random.Generator) -> Indices:
    """Some of the rows, light ones left out at random, so that those that stay stand for as many rows each."""
    kept = rows[rng.random(len(rows)) * weights[rows].max(initial=0.0) < weights[rows]]
    return kept if len(kept) <= most else np.sort(rng.choice(kept, most, replace=False))


@dataclass(frozen=True)
class GroupTest:
    """Which groups are scarce, and of every cluster the logarithm of the probability of its scarce groups.

    There is a row for every way to call rows new; the first is as they are.
    """

    scarce: Mask
    log_p: Doubles


@dataclass(frozen=True)
class JointGroups:
    """Groups of rows: of each row, how many rows each has, and to which cluster each belongs."""

    groups: Labels
    sizes: Doubles
    clusters: Labels
    n_clusters: int

    @classmethod
    def of(cls, P: Floats, positions: Labels, m: int, rng: np.random.Generator) -> "JointGroups":
        """m groups of all rows, whether new or not."""
        found = kmeans(np.ascontiguousarray(P), int(np.clip(m, 2, MOST_GROUPS)), TURNS, rng)
        groups = np.unique(found, return_inverse=True)[1].astype(np.int32)
        n_groups, k = int(groups.max()) + 1, int(positions.max()) + 1
        votes = np.bincount(groups * np.int64(k) + positions, minlength=n_groups * k).reshape(n_groups, k)
        return cls(groups, votes.sum(axis=1).astype(np.float64), votes.argmax(axis=1).astype(np.int32), k)

    def test(self, names: Floats) -> GroupTest:
        """The tests for several ways to call rows new, (ways, rows), 1 for new and 0 for remembered."""
        new: Doubles = np.asarray(names @ indicators(self.groups, len(self.sizes)), dtype=np.float64)
        remembered = self.sizes - new
        cluster_of: Any = indicators(self.clusters, self.n_clusters)
        odds = np.minimum(
            (remembered @ cluster_of) / np.maximum(new @ cluster_of, 1),
            remembered.sum(axis=1, keepdims=True) / new.sum(axis=1, keepdims=True),
        )
        scarce = remembered <= MOST_EXPECTED * odds[:, self.clusters] * new
        few, all_ = (remembered * scarce) @ cluster_of, (self.sizes * scarce) @ cluster_of
        return GroupTest(scarce, np.asarray(binom.logcdf(few, all_, odds / (1 + odds))))


def _joined(P: Floats, novel: Mask) -> Labels:
    """Clusters of some of the rows, those connected by neighbours, if they keep to themselves; -1 for all others."""
    found = np.full(len(P), -1, np.int32)
    chosen = np.flatnonzero(novel)
    if len(chosen) < FEWEST_NEW_ROWS:
        return found
    parts = neighbour_graph(P[chosen], JOINING_NEIGHBOURS).components()
    nearest = neighbour_graph(P, OWN_NEIGHBOURS).nearest
    clusters = 0
    for part in range(int(parts.max()) + 1):
        inside = np.zeros(len(P), bool)
        inside[chosen[parts == part]] = True
        if inside.sum() >= FEWEST_NEW_ROWS and inside[nearest[inside]].mean() >= APART:
            found[inside] = clusters
            clusters += 1
    return found
