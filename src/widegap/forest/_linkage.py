"""Greedy merging of many small groups into few large ones, and the margin between two groups.

Clusters that are long, nested or of very different sizes are hard to find at once and easy to assemble: a search for
many more groups than wanted rarely puts rows of two clusters into one, and what remains is to join the groups that no
margin separates. Every rule below has a similarity of two groups a and b, S(a, b); the nearest pair is merged, then the
next, down to one group, so that one run gives every number of clusters.

*Margin* is the linkage proper: how much of a's rows would a large-margin classifier of the groups give to b? With the
indicators Y (n, m) of the groups and the leave-one-out scores G of a classifier (``_confusion.py``)

    E = Y'G + (Y'G)',      S(a, b) = E_ab / (n_a n_b)

is the mean score that rows of one group have for the other: large where the classifier confuses the two,
nothing where a wide margin lies between them. E is a sum over rows, so merging adds its rows and columns, exactly.

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
        """S, shape (m, m); entries of groups that were merged into others are meaningless."""

    def merge(self, a: int, b: int) -> None:
        """Group b joins group a and is gone."""

    def merge_all(self, ledger: "Ledger") -> None:
        """Merge the nearest pair until one group is left."""


class Ledger(NamedTuple):
    """What every rule's merging keeps account of; arrays that are written as it goes.

    ``weights`` are the sums that margins are computed from. ``closeness``, ``counts`` and ``nearness`` are E, sizes and
    S of the average linkage that decides ties. ``sizes`` and ``names`` are those of the groups that are ``alive``;
    ``differences`` holds the sum of the differences of their sizes over all pairs, ``cap`` bounds their Gini index.
    ``tops`` are the largest similarities of every group to those of larger numbers, infinite where they are unknown.
    ``merges``, ``margins`` and ``made`` become the tree.
    """

    weights: Any
    closeness: Any
    counts: Any
    nearness: Any
    sizes: Any
    names: Any
    alive: Any
    differences: Any
    cap: float
    tops: Any
    merges: Any
    margins: Any
    made: Any


class AverageLinkage:
    """S(a, b) = E_ab / (n_a n_b) for a symmetric E that is a sum over rows."""

    def __init__(self, E: Floats, sizes: npt.NDArray[Any]):
        self._E, self._sizes = E.astype(np.float64, order="C", copy=True), sizes.astype(np.float64)
        self._S = self._E / np.outer(self._sizes, self._sizes)

    def similarity(self) -> Floats:
        return self._S

    def merge(self, a: int, b: int) -> None:
        _merge_average(self._E, self._sizes, self._S, a, b)

    def merge_all(self, ledger: Ledger) -> None:
        nothing, no_labels = np.zeros((0, 0)), np.zeros(0, np.int32)
        _merge_groups(self._E, nothing, nothing, no_labels, self._sizes, self._S, *ledger)


class DegreeLinkage:
    """The degree product of a directed graph; ``into`` and ``out`` are I and O, shape (m, n), which merging changes."""

    def __init__(self, into: Floats, out: Floats, labels: Labels, sizes: npt.NDArray[Any]):
        self._into, self._out, self._labels = into, out, labels.astype(np.int32)
        self._sizes = sizes.astype(np.float64)
        self._D = np.zeros((len(into), len(into)))
        _add_degree_products(into, out, self._labels, self._D)
        shares = self._D / np.square(self._sizes)
        self._S = shares + shares.T

    def similarity(self) -> Floats:
        return self._S

    def merge(self, a: int, b: int) -> None:
        _merge_degree(self._D, self._into, self._out, self._labels, self._sizes, self._S, a, b)

    def merge_all(self, ledger: Ledger) -> None:
        _merge_groups(self._D, self._into, self._out, self._labels, self._sizes, self._S, *ledger)


@jit
def _add_degree_products(into, out, labels, D):  # type: ignore[no-untyped-def]
    """Add the products to D, shape (m, m)."""
    for a in range(len(D)):
        for i in range(len(labels)):
            D[labels[i], a] += into[a, i] * out[a, i]


@jit
def _add_group(E, a, b):  # type: ignore[no-untyped-def]
    """Add row and column b of sums between groups to those of a."""
    for c in range(len(E)):
        E[a, c] += E[b, c]
    for c in range(len(E)):
        E[c, a] += E[c, b]


@jit
def _merge_average(E, sizes, S, a, b):  # type: ignore[no-untyped-def]
    """Group b joins a: E, sizes and the similarities of a."""
    _add_group(E, a, b)
    sizes[a] += sizes[b]
    for c in range(len(E)):
        S[a, c] = E[a, c] / (sizes[a] * sizes[c])
        S[c, a] = S[a, c]


@jit
def _merge_degree(D, into, out, labels, sizes, S, a, b):  # type: ignore[no-untyped-def]
    """Group b joins a: the tables, labels, sizes and the similarities of a."""
    sizes[a] += sizes[b]
    for c in range(len(D)):
        D[a, c] += D[b, c]
        D[c, a] = 0.0
    for i in range(len(labels)):
        if labels[i] == b:
            labels[i] = a
        into[a, i] += into[b, i]
        out[a, i] += out[b, i]
        D[labels[i], a] += into[a, i] * out[a, i]
    for c in range(len(D)):
        S[a, c] = D[a, c] / sizes[c] ** 2 + D[c, a] / sizes[a] ** 2
        S[c, a] = S[a, c]


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
    root, name, sizes = np.arange(m), np.arange(m), leaf_sizes.copy()
    merges, kept, made = [], [], []
    for (first, second), margin in zip(pairs, margins, strict=True):
        a, b = _find(root, first), _find(root, second)
        if a == b:
            continue
        root[b] = a
        sizes[a] += sizes[b]
        merges.append(sorted((name[a], name[b])))
        kept.append(margin)
        made.append(sizes[a])
        name[a] = m + len(merges) - 1
    return MergeTree(np.reshape(merges, (-1, 2)).astype(np.int64), np.array(kept), np.array(made, np.int64), leaf_sizes)


def _find(root: npt.NDArray[np.int64], node: int) -> int:
    while root[node] != node:
        root[node] = root[root[node]]
        node = root[node]
    return int(node)


def merge_all(
    rule: LinkageRule, cuts: Floats, second: Floats, leaf_sizes: npt.NDArray[np.int64], cap: float = NO_CAP
) -> MergeTree:
    """Merge the nearest pair until one group is left.

    ``cuts`` are the symmetric sums that margins are computed from, ``second`` (m, m) the nearness that decides ties,
    from 0 to 1. While the Gini index of the sizes exceeds ``cap``, a smallest cluster is one of the pair.
    """
    m = len(leaf_sizes)
    counts, weights = leaf_sizes.astype(np.float64), cuts.astype(np.float64, order="C", copy=True)
    closeness = second * np.outer(counts, counts)
    ledger = Ledger(
        weights,
        closeness,
        counts,
        second.astype(np.float64, order="C", copy=True),
        sizes=leaf_sizes.astype(np.int64),
        names=np.arange(m),
        alive=np.ones(m, dtype=bool),
        differences=np.array([np.abs(np.subtract.outer(leaf_sizes, leaf_sizes)).sum() // 2]),
        cap=float(cap),
        tops=np.full(m, np.inf),
        merges=np.zeros((m - 1, 2), np.int64),
        margins=np.zeros(m - 1),
        made=np.zeros(m - 1, np.int64),
    )
    rule.merge_all(ledger)
    return MergeTree(ledger.merges, ledger.margins, ledger.made, leaf_sizes)


@jit
def _merge_groups(  # type: ignore[no-untyped-def]
    E, into, out, labels, sizes, S,
    weights, closeness, counts, nearness, whole, names, alive, differences, cap, tops, merges, margins, made,
):  # fmt: skip
    """All merges of a rule: an average linkage if there are no rows, else the degree product. See ``Ledger``."""
    m = len(S)
    total, a = 0, m - 1
    for c in range(m):
        total += whole[c]
    for step in range(m - 1):
        _renew_tops(S, alive, tops, a)
        only_smallest = differences[0] / ((m - step - 1) * total) > cap  # the Gini index
        a, b = _nearest(S, tops, nearness, alive, whole, only_smallest)
        _forget_tops(S, tops, a, b)
        _join_sizes(whole, alive, differences, a, b)
        first, second = names[a], names[b]
        merges[step, 0] = first if first < second else second
        merges[step, 1] = second if first < second else first
        across, inside = weights[a, b], weights[a, a] if weights[a, a] < weights[b, b] else weights[b, b]
        margins[step] = 1 - (across / (inside + across) if across > 0 else 0.0)  # as in cut_conductance
        _add_group(weights, a, b)
        _merge_average(closeness, counts, nearness, a, b)
        made[step] = whole[a]
        names[a] = m + step
        if len(labels):
            _merge_degree(E, into, out, labels, sizes, S, a, b)
        else:
            _merge_average(E, sizes, S, a, b)


@jit
def _join_sizes(sizes, alive, differences, a, b):  # type: ignore[no-untyped-def]
    """Group b joins a: sizes, who is alive, and the sum of the differences."""
    one, other = sizes[a], sizes[b]
    change = -abs(one - other)
    for c in range(len(sizes)):
        if alive[c] and c != a and c != b:
            change += abs(one + other - sizes[c]) - abs(one - sizes[c]) - abs(other - sizes[c])
    differences[0] += change
    sizes[a] = one + other
    alive[b] = False


@jit
def _nearest(S, tops, beside, alive, sizes, only_smallest):  # type: ignore[no-untyped-def]
    """The most similar pair a < b of the groups that are left; ``tops`` mark the rows of S that may hold it."""
    m = len(alive)
    top, highest, least = TINY, -np.inf, -1
    for a in range(m):
        if alive[a]:
            top = S[a, a] if S[a, a] > top else top
            top = tops[a] if tops[a] > top else top
            highest = tops[a] if tops[a] > highest else highest
            least = sizes[a] if least < 0 or sizes[a] < least else least
    best, first, second = -np.inf, 0, 0
    for a in range(m):
        if alive[a] and (only_smallest or tops[a] >= highest - 2 * SECOND * top):
            for b in range(a + 1, m):
                if alive[b] and (not only_smallest or sizes[a] == least or sizes[b] == least):
                    value = S[a, b] / top + SECOND * beside[a, b]
                    if value > best + LAST_BITS:
                        best, first, second = value, a, b
    return first, second


@jit
def _forget_tops(S, tops, a, b):  # type: ignore[no-untyped-def]
    """Before b joins a: tops that may be lost become infinite."""
    tops[a] = np.inf
    for c in range(b):
        if S[c, b] >= tops[c] or (c < a and S[c, a] >= tops[c]):
            tops[c] = np.inf


@jit
def _renew_tops(S, alive, tops, a):  # type: ignore[no-untyped-def]
    """After another group has joined a: the tops that are forgotten or exceeded."""
    for c in range(len(S)):
        if tops[c] == np.inf:
            top = -np.inf
            for b in range(c + 1, len(S)):
                top = S[c, b] if alive[b] and S[c, b] > top else top
            tops[c] = top
        elif c < a and S[c, a] > tops[c]:
            tops[c] = S[c, a]


def cut_conductance(weights: Floats, a: int, b: int) -> float:
    """Conductance of the cut between a and b inside their union: 0 where nothing crosses it, 1 where all does."""
    across = float(weights[a, b])
    inside = float(min(weights[a, a], weights[b, b]))
    return across / (inside + across) if across > 0 else 0.0
