"""Greedy merging of many small groups into few large ones, and the margin between two groups.

Clusters that are long, nested or of very different sizes are hard to find at once and easy to assemble: a search for
many more groups than wanted rarely puts rows of two clusters into one, and what remains is to join the groups that no
margin separates. Every rule below has a similarity of two groups a and b, S(a, b); the nearest pair is merged, then the
next, down to one group, so that one run gives every number of clusters.

*Margin* is the linkage proper: how much of a's rows would a large-margin classifier of the groups give to b? With the
indicators Y (n, m) of the groups and the leave-one-out scores G of a classifier (``_confusion.py``)

    E = Y'G + (Y'G)',      S(a, b) = E_ab / (n_a n_b)

is the mean score that rows of one group have for the other: large where the classifier confuses the two,
nothing where a wide margin lies between them. E is a sum over rows: if two groups merge, the S of the new one is the
mean of theirs, weighted by their sizes.

*Graph* is its company: the same average with E = W + W' summed over the neighbour graph W instead of the classifier.

*Degree product* (Zhang et al., "Graph degree linkage", ECCV 2012) asks that rows of b both point to a and are pointed
at by a, which keeps a few bridges between two groups from joining them. With I_i(a), O_i(a) the weights of the edges
from a to row i and from row i to a,

    D(b, a) = sum over i in b of I_i(a) O_i(a),      S(a, b) = D(b, a) / n_a^2 + D(a, b) / n_b^2.

When a and b merge, rows of D add up, and its one new column is a sum over the rows of the table.

Groups that nothing connects tie at 0; then the nearness of their means decides, as a second criterion that is summed
the same way.

*A cap on inequality* (Gagolewski et al., "Genie", 2016) keeps a few large clusters from swallowing all others while odd
corners stay clusters to the end. With the sizes s of the m clusters that are left, their Gini index is

    G = sum over pairs of |s_a - s_b| / ((m - 1) sum of s),

0 where all are equal and 1 where one has all rows. While G exceeds the cap, only merges that involve a smallest cluster
are allowed. The sum over pairs follows every merge in m steps.

========  =======================================================
symbol    meaning
========  =======================================================
n, m      rows, groups at the beginning
W         directed weights of the neighbour graph, CSR (n, n)
E, D      sums between groups, (m, m)
========  =======================================================
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from widegap._jit import jit
from widegap._types import Floats, Labels
from widegap.features._rounding import LAST_BITS
from widegap.forest._split_words import split_words

SECOND = 1e-7  # weight of the second criterion: it decides between ties alone
NO_CAP = 1.0  # the Gini index never exceeds it
TINY = float(np.finfo(np.float64).tiny)  # similarities that are all 0 are divided by it


class LinkageRule(Protocol):
    """The similarity of groups, and how it changes when two of them merge."""

    def similarity(self) -> Floats:
        """S of the first groups, shape (m, m)."""

    def merge_all(self, ledger: "Ledger") -> None:
        """Merge the nearest pair until one group is left."""


class Ledger(NamedTuple):
    """What every rule's merging keeps account of; arrays that are written as it goes.

    ``tables`` (3, m, m) are S, the nearness that decides ties, and the sums that margins are computed from. ``sizes``
    are 0 for groups that have joined others; ``differences`` is the sum of the differences of the first sizes over all
    pairs, ``cap`` bounds their Gini index. ``tops`` are the largest similarities of every group to those of larger
    numbers, infinite where they are unknown. Group ``pairs[s, 1]`` joins group ``pairs[s, 0]`` in step s; ``margins``
    are those between them.
    """

    tables: Floats
    sizes: Floats
    differences: float
    cap: float
    tops: Floats
    pairs: npt.NDArray[np.int64]
    margins: Floats


class AverageLinkage:
    """S(a, b) = E_ab / (n_a n_b) for a symmetric E that is a sum over rows."""

    def __init__(self, E: Floats, sizes: npt.NDArray[Any]):
        self._S = E / np.outer(sizes, sizes)

    def similarity(self) -> Floats:
        return self._S

    def merge_all(self, ledger: Ledger) -> None:
        no_rows = np.zeros((0, 0))
        _merge_groups(no_rows, no_rows, no_rows, np.zeros(0, np.int32), *ledger)


class DegreeLinkage:
    """The degree product of a directed graph; ``into`` and ``out`` are I and O, shape (m, n), which merging changes."""

    def __init__(self, into: Floats, out: Floats, labels: Labels, sizes: npt.NDArray[Any]):
        self._into, self._out, self._labels = into, out, labels.astype(np.int32)
        self._D = np.zeros((len(into), len(into)))
        _add_degree_products(into, out, self._labels, self._D)
        self._sizes = sizes.astype(np.float64)

    def similarity(self) -> Floats:
        shares = self._D / np.square(self._sizes)
        return np.asarray(shares + shares.T)

    def merge_all(self, ledger: Ledger) -> None:
        _merge_groups(self._D, self._into, self._out, self._labels, *ledger)


@jit
def _add_degree_products(into, out, labels, D):  # type: ignore[no-untyped-def]
    """Add the products to D, shape (m, m)."""
    for a in range(len(D)):
        for i in range(len(labels)):
            D[labels[i], a] += into[a, i] * out[a, i]


@dataclass(frozen=True)
class MergeTree:
    """The merges from m groups to one, in their order.

    Attributes
    ----------
    merges : ndarray of shape (m - 1, 2)
        The two groups of every merge: 0 to m - 1 are the first groups, m + s is what merge s made.
    margins : ndarray of shape (m - 1,)
        How clearly the two were apart: 1 minus the conductance of the cut between them (see ``cut_conductance``).
    sizes : ndarray of shape (m - 1,)
        Rows of the group that the merge made.
    leaf_sizes : ndarray of shape (m,)
        Rows of the first groups.
    excess : ndarray of shape (m - 1,)
        How much more clearly the two are apart than the parts within them (see ``_cluster_number.py``); NaN where it
        was not measured.
    """

    merges: npt.NDArray[np.int64]
    margins: Floats
    sizes: npt.NDArray[np.int64]
    leaf_sizes: npt.NDArray[np.int64]
    excess: Floats = None  # type: ignore[assignment]

    _added_later: ClassVar = ("excess",)

    def __post_init__(self) -> None:
        if self.excess is None:
            object.__setattr__(self, "excess", np.full(len(self.margins), np.nan))

    def check(self) -> None:
        """Raise ValueError if this is not a tree, as in a forged model file: compiled loops do not check."""
        m = len(self.leaf_sizes)
        shapes = (self.merges.shape, self.margins.shape, self.sizes.shape, self.leaf_sizes.shape)
        if m < 1 or shapes != ((m - 1, 2), (m - 1,), (m - 1,), (m,)):
            raise ValueError(f"its tree of {m} groups has parts of the shapes {shapes}")
        made_before = self.merges < np.arange(m, 2 * m - 1)[:, None]
        once = len(np.unique(self.merges)) == self.merges.size
        if not (made_before.all() and once and (self.merges >= 0).all() and np.isfinite(self.margins).all()):
            raise ValueError("the merges of its tree do not join groups that there are")
        if not (self.leaf_sizes > 0).all():
            raise ValueError("groups of its tree have no rows")
        if self.excess.shape != (m - 1,) or np.isinf(self.excess).any():
            raise ValueError("the excess of its tree does not fit its merges")

    def cut(self, k: int) -> Labels:
        """Cluster of each first group where k are left; clusters are numbered by size, the largest first."""
        return _largest_first(self.merges, self.leaf_sizes, k)

    def joined_first(self, k: int, a: int, b: int) -> "MergeTree":
        """The tree in which, of the clusters of ``cut(k)``, a and b are merged next; the others follow as before."""
        m = len(self.leaf_sizes)
        leaves = np.arange(2 * m - 1)  # one leaf of every group
        for step, (part, _) in enumerate(self.merges):
            leaves[m + step] = leaves[part]
        labels = self.cut(k)
        pair = [np.flatnonzero(labels == cluster)[0] for cluster in (a, b)]
        pairs = np.insert(leaves[self.merges], m - k, pair, axis=0)
        return tree_of(pairs, np.insert(self.margins, m - k, self.margins[m - k]), self.leaf_sizes)

    def words(self) -> list[str]:
        """Whether each merge joined two real clusters: "clear", "likely", "as in a cloud", or "" if not measured."""
        return split_words(self.excess)

    def to_linkage(self) -> Floats:
        """The tree as ``scipy.cluster.hierarchy`` wants it; heights are the margins and never fall."""
        heights = np.maximum.accumulate(self.margins) if len(self.margins) else self.margins
        counts = np.ones(2 * len(self.leaf_sizes) - 1)
        for step, pair in enumerate(self.merges):
            counts[len(self.leaf_sizes) + step] = counts[pair].sum()
        return np.column_stack([self.merges, heights, counts[len(self.leaf_sizes) :]]).astype(np.float64)


def _largest_first(merges: npt.NDArray[np.int64], leaf_sizes: npt.NDArray[np.int64], k: int) -> Labels:
    """Clusters of the first groups where k are left; of equal ones that with the lowest number comes first."""
    m = len(leaf_sizes)
    parent = np.arange(2 * m - 1)
    parent[merges[: m - k]] = np.arange(m, 2 * m - k)[:, None]
    while not np.array_equal(parent, above := parent[parent]):  # half the way to the top is left after each step
        parent = above
    sizes = np.bincount(parent[:m], leaf_sizes, 2 * m - 1)
    names = np.empty(2 * m - 1, np.int32)
    names[np.argsort(-sizes, kind="stable")] = np.arange(2 * m - 1)
    return names[parent[:m]]


def tree_of(pairs: npt.NDArray[np.int64], margins: Floats, leaf_sizes: npt.NDArray[np.int64]) -> MergeTree:
    """The tree that joins the groups of two leaves after the other; pairs that are together already are passed over."""
    m = len(leaf_sizes)
    root, name, sizes = list(range(m)), list(range(m)), leaf_sizes.tolist()
    merges, kept, made = [], [], []
    for (first, second), margin in zip(pairs.tolist(), margins.tolist(), strict=True):
        a, b = _find(root, first), _find(root, second)
        if a == b:
            continue
        root[b] = a
        sizes[a] += sizes[b]
        merges.append((min(name[a], name[b]), max(name[a], name[b])))
        kept.append(margin)
        made.append(sizes[a])
        name[a] = m + len(merges) - 1
    return MergeTree(np.reshape(merges, (-1, 2)).astype(np.int64), np.array(kept), np.array(made, np.int64), leaf_sizes)


def _find(root: list[int], node: int) -> int:
    while root[node] != node:
        root[node] = root[root[node]]
        node = root[node]
    return node


def merge_all(
    rule: LinkageRule, cuts: Floats, second: Floats, leaf_sizes: npt.NDArray[np.int64], cap: float = NO_CAP
) -> MergeTree:
    """Merge the nearest pair until one group is left.

    ``cuts`` are the symmetric sums that margins are computed from, ``second`` (m, m) the nearness that decides ties,
    from 0 to 1. While the Gini index of the sizes exceeds ``cap``, a smallest cluster is one of the pair.
    """
    m = len(leaf_sizes)
    tables = np.stack([rule.similarity(), second, cuts]).astype(np.float64, copy=False)
    sizes, pairs, margins = leaf_sizes.astype(np.float64), np.zeros((m - 1, 2), np.int64), np.zeros(m - 1)
    differences = float(np.abs(np.subtract.outer(sizes, sizes)).sum() / 2)
    rule.merge_all(Ledger(tables, sizes, differences, float(cap), np.full(m, np.inf), pairs, margins))
    return tree_of(pairs, margins, leaf_sizes)


@jit
def _merge_groups(D, into, out, labels, tables, sizes, differences, cap, tops, pairs, margins):  # type: ignore[no-untyped-def]
    """All merges of a rule: an average linkage if there are no rows, else the degree product. See ``Ledger``."""
    m, total = len(sizes), 0.0
    for c in range(m):
        total += sizes[c]
    for step in range(m - 1):
        only_smallest = differences / ((m - step - 1) * total) > cap  # the Gini index
        a, b = _nearest(tables, sizes, tops, only_smallest)
        pairs[step, 0] = a
        pairs[step, 1] = b
        across, inside, other = tables[2, a, b], tables[2, a, a], tables[2, b, b]
        inside = other if other < inside else inside
        margins[step] = 1 - (across / (inside + across) if across > 0 else 0.0)  # as in cut_conductance
        tops[a] = np.inf
        for c in range(b):
            if tables[0, c, b] >= tops[c] or (c < a and tables[0, c, a] >= tops[c]):
                tops[c] = np.inf
        _join(tables, sizes, a, b)
        differences += _join_sizes(sizes, a, b)
        if len(labels):
            _join_degree(D, into, out, labels, sizes, tables, a, b)
        for c in range(a):
            tops[c] = tables[0, c, a] if tables[0, c, a] > tops[c] else tops[c]


@jit
def _join_sizes(sizes, a, b):  # type: ignore[no-untyped-def]
    """Group b joins a: sizes; returns how the sum of their differences, |x - y| = x + y - 2 min(x, y), changes."""
    one, other = sizes[a], sizes[b]
    both = one + other
    sizes[a] = 0.0
    sizes[b] = 0.0
    change = 2 * (one if one < other else other) - both
    for c in range(len(sizes)):
        size = sizes[c]
        shared = (one if one < size else size) + (other if other < size else size) - (both if both < size else size)
        change += 2 * shared - size
    sizes[a] = both
    return change


@jit
def _join(tables, sizes, a, b):  # type: ignore[no-untyped-def]
    """Group b joins a: average similarity and nearness, and the sums for margins."""
    for t in range(3):
        one = sizes[a] / (sizes[a] + sizes[b]) if t < 2 else 1.0
        other = sizes[b] / (sizes[a] + sizes[b]) if t < 2 else 1.0
        for c in range(len(sizes)):
            tables[t, a, c] = one * tables[t, a, c] + other * tables[t, b, c]
        tables[t, a, a] = one * tables[t, a, a] + other * tables[t, a, b]
        for c in range(len(sizes)):
            tables[t, c, a] = tables[t, a, c]


@jit
def _join_degree(D, into, out, labels, sizes, tables, a, b):  # type: ignore[no-untyped-def]
    """Group b has joined a: the tables of the degree product, labels, and the similarities of a."""
    for c in range(len(sizes)):
        D[a, c] += D[b, c]
        D[c, a] = 0.0
    for i in range(len(labels)):
        if labels[i] == b:
            labels[i] = a
        into[a, i] += into[b, i]
        out[a, i] += out[b, i]
        D[labels[i], a] += into[a, i] * out[a, i]
    for c in range(len(sizes)):
        if sizes[c] > 0:
            tables[0, a, c] = D[a, c] / (sizes[c] * sizes[c]) + D[c, a] / (sizes[a] * sizes[a])
            tables[0, c, a] = tables[0, a, c]


@jit
def _nearest(tables, sizes, tops, only_smallest):  # type: ignore[no-untyped-def]
    """The most similar pair a < b of the groups that are left; tops mark the rows of S that may hold it."""
    m = len(sizes)
    top, highest, least = TINY, -np.inf, np.inf
    for a in range(m):
        if sizes[a] > 0:
            if tops[a] == np.inf:
                tops[a] = -np.inf
                for b in range(a + 1, m):
                    if sizes[b] > 0 and tables[0, a, b] > tops[a]:
                        tops[a] = tables[0, a, b]
            highest = tops[a] if tops[a] > highest else highest
            top = tables[0, a, a] if tables[0, a, a] > top else top
            least = sizes[a] if sizes[a] < least else least
    top = highest if highest > top else top
    best, first, second = -np.inf, 0, 0
    for a in range(m):
        if sizes[a] > 0 and (only_smallest or tops[a] >= highest - 2 * SECOND * top):
            for b in range(a + 1, m):
                if sizes[b] > 0 and (not only_smallest or sizes[a] == least or sizes[b] == least):
                    value = tables[0, a, b] / top + SECOND * tables[1, a, b]
                    if value > best + LAST_BITS:
                        best, first, second = value, a, b
    return first, second


def cut_conductance(weights: Floats, a: int, b: int) -> float:
    """Conductance of the cut between a and b inside their union: 0 where nothing crosses it, 1 where all does."""
    across = float(weights[a, b])
    inside = float(min(weights[a, a], weights[b, b]))
    return across / (inside + across) if across > 0 else 0.0
