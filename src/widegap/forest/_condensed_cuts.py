"""Cuts of a tree of merges in which small parts do not count as clusters.

The cut of a tree at k clusters undoes its last k - 1 merges, whatever they split off. Where a few rows stand apart from
all others, as near-duplicates among documents do, these are the last to be merged. So they take up the k clusters, and
nearly everything else stays in one.

A *condensed* cut walks down from the root and undoes merges in the reverse order, too, but a merge counts only if the
smaller side has as many rows as it *needs*:

    rows >= needed     the smaller side is a new cluster, the larger one keeps the name of the whole
    else               both sides keep the name of the whole

until there are k clusters; what is below stays together. A tree that has fewer than k - 1 such merges is walked again
with half of what was needed, and so on. Where nothing is needed the cut is that of the tree.

How many rows a part needs depends on their *spacing*: the rank, from 0 to 1, of the distance of a row to its tenth
neighbour. A rare class has few rows where others have many, so these are farther from their neighbours than most are.
A part of mean spacing ``WIDE_SPACING`` or more needs ``TINY_CLUSTER`` n / k rows. In other parts rows are as close as
elsewhere, or closer, so they are likely a piece of something larger: pages from one template, reports in one wording.
They need ``PIECE_SHARE`` n / k rows.
"""

import numpy as np
import numpy.typing as npt

from widegap._types import Floats, Ints, Labels
from widegap.forest._linkage import MergeTree
from widegap.forest._small_clusters import TINY_CLUSTER

WIDE_SPACING = 0.75  # small rare classes had 0.85 to 0.97, pieces of classes 0.04 to 0.58 (benchmarks/choices.md)
PIECE_SHARE = 0.2  # of n / k rows, settled on 51 sets of sparse rows (benchmarks/choices.md)


def condensed_cut(tree: MergeTree, k: int, needed: Floats) -> Labels:
    """Cluster of each first group at k clusters (at most as many as groups), numbered as they split off.

    ``needed`` has a number for every group of the tree, first those that it begins with.
    """
    sizes = np.concatenate([tree.leaf_sizes, tree.sizes])
    while True:
        names, found = _names(tree.merges, sizes, k, needed)
        if found == k or needed.max() < 1:
            return names[: len(tree.leaf_sizes)]
        needed = needed / 2


def rows_needed(tree: MergeTree, groups: Labels, spacing: Floats, k: int) -> Floats:
    """How many rows every group of the tree needs to be one of k clusters.

    ``groups`` has the first group of every row, ``spacing`` that of every row.
    """
    sums = [*np.bincount(groups, spacing, len(tree.leaf_sizes))]
    for a, b in tree.merges:
        sums.append(sums[a] + sums[b])
    means = np.array(sums) / np.concatenate([tree.leaf_sizes, tree.sizes])
    shares: npt.NDArray[np.float64] = np.where(means >= WIDE_SPACING, TINY_CLUSTER, PIECE_SHARE)
    return shares * len(groups) / k


def _names(merges: Ints, sizes: Ints, k: int, needed: Floats) -> tuple[Labels, int]:
    """The cluster of every group of the tree, those that it begins with first; and how many clusters there are."""
    names, found = np.zeros(len(sizes), np.int32), 1
    first = len(sizes) - len(merges)  # number of the first merge
    of_large = np.take_along_axis(merges, sizes[merges].argmax(axis=1)[:, None], axis=1)[:, 0]
    of_small = merges.sum(axis=1) - of_large
    is_enough = sizes[of_small] >= needed[of_small]
    for step in range(len(merges) - 1, -1, -1):
        large, small = of_large[step], of_small[step]
        names[large] = names[small] = names[first + step]
        if found < k and is_enough[step]:
            names[small] = found
            found += 1
    return names, found
