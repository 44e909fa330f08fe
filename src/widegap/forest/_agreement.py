"""What several clusterings of the same rows agree on.

Every member puts each row into one of its own clusters. The co-association of two rows is the share of members that
keep them together; average linkage on it, cut at k clusters, is the agreement. Rows with the same labels in all members
are one item that weighs as much as it has rows, so the cost depends on the number u of distinct label rows and not on
n: u^2 numbers and steps. Above ``MOST_ITEMS`` the rarer items first join the frequent one with which most members keep
them.

Co-associations are shares of few members, so many are equal. Among merges at the same height those that touch fewer
rows come first: a fragment finds its place before two clusters are joined.

A row's agreement is its mean co-association with its own cluster: 1 where all members agree.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from widegap._types import Floats, Labels
from widegap.features._rounding import LAST_BITS
from widegap.forest._linkage import MergeTree, tree_of

MOST_ITEMS = 2500  # their co-associations take 50 MB, growing with the square; not tuned
MOST_CODES = 1 << 62  # a product of label numbers must stay below 2^63, the largest int64


@dataclass(frozen=True)
class Agreement:
    """The tree of the agreement, whose first groups are the items; and the item of every row."""

    tree: MergeTree
    item_of_row: Labels | npt.NDArray[np.int64]

    def cut(self, k: int) -> Labels:
        """Clusters of all rows, at most as many as there are items."""
        return self.tree.cut(min(k, len(self.tree.leaf_sizes)))[self.item_of_row]


def agree(members: npt.NDArray[np.int32]) -> Agreement:
    """Average linkage on the co-association of ``members``, shape (n, members)."""
    items, item_of_row, weights = _distinct_rows(members)
    # Most frequent first: which of two equal merges comes first must not depend on names or on the order of rows.
    order = np.argsort(-weights, kind="stable")
    items, weights, item_of_row = items[order], weights[order], np.argsort(order)[item_of_row]
    if len(items) > MOST_ITEMS:
        nearest = np.concatenate([np.arange(MOST_ITEMS), _nearest_items(items[MOST_ITEMS:], items[:MOST_ITEMS])])
        items, item_of_row = items[:MOST_ITEMS], nearest[item_of_row]
        weights = np.bincount(nearest, weights, MOST_ITEMS).astype(np.int64)
    together = np.mean(items[:, None, :] == items[None, :, :], axis=2) if len(items) < 200 else _together(items)
    return Agreement(average_linkage(together, weights), item_of_row)


def _distinct_rows(
    members: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The distinct rows in their order, the number of that of every row, and how often each occurs.

    Each row gets one number as its code; codes are numbered again before they grow too long for int64.
    """
    codes, n_codes = np.zeros(len(members), np.int64), 1
    for member in members.T:
        n_labels = int(member.max()) + 1
        if n_codes * n_labels > MOST_CODES:
            kinds, codes = np.unique(codes, return_inverse=True)
            n_codes = len(kinds)
        codes, n_codes = codes * n_labels + member, n_codes * n_labels
    _, first, item_of_row, weights = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    return members[first], item_of_row, weights


def row_agreement(members: npt.NDArray[np.int32], labels: Labels, k: int) -> Floats:
    """Mean co-association of each row with the rows of its cluster, over the members, between 0 and 1."""
    sizes = np.bincount(labels, minlength=k)
    total = np.zeros(len(labels))
    for member in members.T:
        pairs = member * np.int64(k) + labels
        total += np.bincount(pairs)[pairs]
    return total / sizes[labels] / members.shape[1]


def _together(items: npt.NDArray[np.int32]) -> Floats:
    """Share of members that keep two items together, shape (u, u)."""
    total = np.zeros((len(items), len(items)), np.float32)
    for member in items.T:
        total += member[:, None] == member[None, :]
    return (total / items.shape[1]).astype(np.float64)


def _nearest_items(rare: npt.NDArray[np.int32], frequent: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """For each rare item the frequent one with which most members keep it."""
    found = np.zeros(len(rare), np.int64)
    for first in range(0, len(rare), 256):
        part = rare[first : first + 256]
        shared = sum(
            (column[:, None] == other[None, :]).astype(np.int16)
            for column, other in zip(part.T, frequent.T, strict=True)
        )
        found[first : first + 256] = shared.argmax(axis=1)
    return found


def average_linkage(similarity: Floats, weights: npt.NDArray[np.int64]) -> MergeTree:
    """Average linkage of weighted items by chains of nearest neighbours."""
    pairs, similarities = _merge_chains(similarity.copy(), weights.astype(np.float64))
    return _sorted_tree(pairs[:, 0], pairs[:, 1], 1 - similarities, weights)


def _merge_chains(S: Floats, sizes: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """Merge mutual nearest neighbours: the pairs, of which the second joins the first, and their similarities.

    Steps are few, so plain NumPy is fast enough; what is no candidate has a similarity of minus infinity.
    """
    u = len(sizes)
    pairs, similarities = np.zeros((u - 1, 2), np.int64), np.zeros(u - 1)
    np.fill_diagonal(S, -np.inf)
    alive, chain = np.ones(u, dtype=bool), list[int]()
    for step in range(u - 1):
        if not chain:
            chain.append(int(alive.argmax()))
        while True:
            former = chain[-2] if len(chain) > 1 else -1
            nearest = _nearest_item(S[chain[-1]], former)
            if nearest == former:
                break
            chain.append(nearest)
        a, b = sorted((chain.pop(), chain.pop()))
        pairs[step], similarities[step] = (a, b), S[a, b]
        S[a] = (sizes[a] * S[a] + sizes[b] * S[b]) / (sizes[a] + sizes[b])
        S[:, a] = S[a]
        S[:, b] = -np.inf
        sizes[a] += sizes[b]
        alive[b] = False
    return pairs, similarities


def _nearest_item(similarities: Floats, former: int) -> int:
    """The item with the largest similarity: the one before in the chain, or else the first, if several have it."""
    best, top, first = former, similarities[former] if former >= 0 else -np.inf, 0
    while (later := similarities[first:] > top + LAST_BITS).any():
        best = first + int(later.argmax())
        top, first = similarities[best], best + 1
    return best


def _sorted_tree(
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    heights: Floats,
    weights: npt.NDArray[np.int64],
) -> MergeTree:
    """The merges of a chain by height, then by the rows they touch, with groups numbered in that order."""
    u = len(weights)
    made = np.zeros(u - 1, np.int64)
    sizes = weights.copy()
    for step, (a, b) in enumerate(zip(first, second, strict=True)):
        sizes[a] += sizes[b]
        made[step] = sizes[a]
    heights = np.maximum(np.round(heights, 12), 0.0)
    order = np.lexsort((made, heights))  # a part is never larger than the whole, so parts come first
    return tree_of(np.column_stack([first, second])[order], heights[order], weights)
