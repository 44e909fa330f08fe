"""Cuts of a tree of merges in which small parts do not count as clusters.

The cut of a tree at k clusters undoes its last k - 1 merges, whatever they split off. Where a few rows stand apart from
all others (near-duplicates among documents, one font among letters) these are the last to be merged, so they take up
the k clusters, and nearly everything else stays in one.

A *condensed* cut walks down from the root and undoes merges in the reverse order, too, but of these only those count
that leave at least ``least`` rows on both sides:

    both sides >= least     the smaller side is a new cluster, the larger one keeps the name of the whole
    else                    both sides keep the name of the whole

until there are k clusters; what is below stays together. So every cluster has at least ``least`` rows. A tree that has
fewer than k - 1 such merges is walked again with half as many rows, and so on: with none to spare, every merge counts
and the cut is that of the tree.
"""

import numpy as np

from widegap._jit import jit
from widegap.solvers._merging import MergeTree
from widegap.solvers._result import LabelArray


def condensed_cut(tree: MergeTree, k: int, least: float) -> LabelArray:
    """Cluster of each first group at k clusters (at most as many as groups), numbered as they split off."""
    sizes = np.concatenate([tree.leaf_sizes, tree.sizes])
    while True:
        names, found = _names(tree.merges, sizes, k, least)
        if found == k or least < 1:
            return names[: len(tree.leaf_sizes)].astype(np.int32)
        least /= 2


@jit
def _names(merges, sizes, k, least):  # type: ignore[no-untyped-def]
    """The cluster of every group of the tree, those that it begins with first; and how many clusters there are."""
    names = np.zeros(len(sizes), np.int64)
    first = len(sizes) - len(merges)  # groups that are no merge
    found = 1
    for step in range(len(merges) - 1, -1, -1):
        large, small = merges[step]
        if sizes[large] < sizes[small]:
            large, small = small, large
        names[large] = names[small] = names[first + step]
        if found < k and sizes[small] >= least:
            names[small] = found
            found += 1
    return names, found
