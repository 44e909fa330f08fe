"""Which of several labelings of the same rows to take, by the neighbour graph and the classifier, without labels.

Clusters that follow gaps and clusters of similar size are both right somewhere: gaps decide where there are any, but
where classes touch and an odd corner lies apart, k clusters are spent on the corner. A labeling is judged by how many
edges it cuts for what it tells. With the conductance phi_p of cluster p, its share s_p of the rows and k clusters,

    q = (sum_p s_p phi_p + OFFSET) / h,      h = -sum_p s_p log s_p / log k

is its *cut per bit*: h, its *evenness*, is 1 where all sizes are equal and near 0 where one cluster has nearly all
rows, so that a cut along a gap is cheap, and one that tells hardly anything is dear. The offset is the share of edges
that even a perfect cut may cross; without it a corner of three rows that no edge leaves would cost nothing. q depends
neither on names nor on the order of rows nor on the scale of the weights.

Labelings are compared in a fixed order:

1. ``GAPS``, merged freely, comes first. ``COMMUNITIES``, merged freely from communities of the graph, takes its place
   if its q is smaller.
2. ``EVEN``, merged under a cap on inequality, is taken if its q is below ``EVEN_FACTOR`` of the first's, unless the
   classifier explains it much worse (R2 over k - 1, ``MOST_UNEXPLAINED``): a small group far from all others is a
   cluster, however few bits it tells.
3. ``MOVES``, found by single moves (``forest/_single_moves.py``), is a rival like ``EVEN`` if its q is smaller at all,
   with less patience for what the classifier explains worse (``MOVES_UNEXPLAINED``). It is also taken instead of what
   was taken so far if the classifier explains it better and its q is not much larger (``MOVES_FACTOR``), nor what it
   cuts without the offset (``MOST_TIMES_CUT``): a cut along a gap stays, however long and curved the clusters are.
   That is looked at for few clusters of similar size alone: for many, R2 does not tell good labels from bad, and it
   never sees why one cluster should be small.

4. ``BY_COLUMNS``, latent classes of a table with categories (``forest/_column_search.py``), is followed unless gaps are
   plain. The graph is then one of the numbers alone, as flags of a category make gaps that every cut along them seems
   to respect; with fewer than two numbers there are no gaps to follow. Gaps are plain if the members that follow them
   agree (``AGREED_GAPS``) and cut much less per bit than latent classes do (``GAPS_FACTOR``): moons and rings beside a
   flag are found, and clusters that touch are left to the columns.

The constants were compared on the halves of 61 public tasks and of others, with both halves in view
(``benchmarks/choices.md``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widegap._types import Floats, Labels
from widegap.features._neighbours import NeighbourGraph

GAPS, COMMUNITIES, EVEN, MOVES, BY_COLUMNS = "gaps", "communities", "even", "moves", "columns"
OFFSET = 0.03  # below it digits 1 and 8 are a corner against the rest; above 0.035 FCPS target loses its corners
EVEN_FACTOR = 0.9  # 0.85 to 1 do alike on the tasks that chose it; digits 1 and 8 have 0.885
MOST_UNEXPLAINED = 0.1  # two touching halves with a corner have 0.08 at most, far groups of 10 rows 0.19 and more
MOVES_UNEXPLAINED = 0.05  # the same for single moves: digits 1 and 8 have 0.03; with 0.1 thinned pairs lose 2 points
MOVES_FACTOR = 1.15  # 1.05 to 1.2 gain on both halves
MOST_TIMES_CUT = 2.5  # digits 4 and 9 have 1.7, spirals that no edge connects 7 and more; with 2 to 3 nothing changes
MOVES_CLUSTERS = 4  # the most for which R2 ranks labelings well: for 6 and more it does not
MOVES_EVENNESS = 0.9  # below it thinned pairs of classes lose what is gained elsewhere
AGREED_GAPS = 0.97  # penguins have 0.98 and more, moons 1; drawn tables whose gaps mislead 0.963 and less
GAPS_FACTOR = 0.85  # penguins have 0.4, moons 0.6; breast_w, whose latent classes are better, 0.9 and more
LEAST_EVENNESS = 0.01  # one cluster with all rows must not divide by 0


@dataclass(frozen=True)
class Merits:
    """The evidence for a labeling: its cut per bit (the less the better), evenness, and R2 over k - 1."""

    cut_per_bit: float
    evenness: float
    explained: float

    @property
    def cut(self) -> float:
        """The cut per bit without the offset: 0 where no edge is cut."""
        return self.cut_per_bit - OFFSET / max(self.evenness, LEAST_EVENNESS)


@dataclass(frozen=True)
class Candidate:
    """One of the labelings between which a search chose at a number of clusters.

    Attributes
    ----------
    n_clusters : int
        Number of clusters.
    pool : str
        What it is: "gaps" follows gaps between groups, "communities" follows those between communities of the
        neighbour graph, "even" keeps sizes from growing too unequal, "moves" is what a classifier explains best,
        "columns" follows all columns of a table with categories evenly.
    cut_per_bit : float
        Share of the edges of the neighbour graph that it cuts, for each unit of entropy of its sizes; smaller is
        better.
    explained : float
        Share of the labels that the classifier explains, at most 1.
    agreement : float
        Mean share of the members of its pool that agree on a row; of "moves" that of the pool it was compared with.
    chosen : bool
        Whether the clusters are those of this candidate.
    explained_columns : float or None
        Of a table with categories: the mean share of a column's variance that lies between the clusters, each column
        counted once.
    """

    n_clusters: int
    pool: str
    cut_per_bit: float
    explained: float
    agreement: float
    chosen: bool
    explained_columns: float | None = None

    _added_later: ClassVar[tuple[str, ...]] = ("explained_columns",)


def conductances(E: Floats) -> Floats:
    """Share of each cluster's edges that leave it (of the rest's, where that has fewer), by the weights E between."""
    volumes = E.sum(axis=1)
    leaving = volumes - np.diag(E)
    return leaving / np.maximum(np.minimum(volumes, volumes.sum() - volumes), np.finfo(np.float64).tiny)


def evenness(labels: Labels, k: int) -> float:
    """Entropy of the sizes of k clusters, relative to that of equal ones; 1 for a single cluster."""
    shares = np.bincount(labels, minlength=k) / len(labels)
    filled = shares[shares > 0]
    return -float((filled * np.log(filled)).sum()) / float(np.log(k)) if k > 1 else 1.0


def cut_per_bit(graph: NeighbourGraph, labels: Labels, k: int) -> float:
    """q of a labeling with k clusters; smaller is better."""
    shares = np.bincount(labels, minlength=k) / len(labels)
    cut = float((conductances(graph.weights_between(labels, k)) * shares).sum())
    return (cut + OFFSET) / max(evenness(labels, k), LEAST_EVENNESS)


def choose(merits: Mapping[str, Merits]) -> str:
    """The labeling that is taken, of those there are; the first of them has to be there."""
    best = next(iter(merits))
    if COMMUNITIES in merits and merits[COMMUNITIES].cut_per_bit < merits[best].cut_per_bit:
        best = COMMUNITIES
    rivals = [name for name in (EVEN, MOVES) if name in merits and _cuts_less(name, merits[name], merits[best])]
    best = min(rivals, key=lambda name: merits[name].cut_per_bit, default=best)
    if MOVES in merits and merits[best].evenness >= MOVES_EVENNESS and _explains_more(merits[MOVES], merits[best]):
        best = MOVES
    return best


def are_plain(gaps: Merits, agreement: float, columns: Merits) -> bool:
    """Whether to follow gaps in the numbers of a table, on which members agree so far, instead of its columns."""
    return agreement >= AGREED_GAPS and gaps.cut_per_bit < GAPS_FACTOR * columns.cut_per_bit


def may_be_moved(merits: Mapping[str, Merits], k: int) -> bool:
    """Whether single moves could be better than all labelings so far: for few clusters, of similar size in one."""
    even_enough = any(found.evenness >= MOVES_EVENNESS for found in merits.values())
    return 1 < k <= MOVES_CLUSTERS and even_enough


def _cuts_less(name: str, rival: Merits, best: Merits) -> bool:
    factor, unexplained = (EVEN_FACTOR, MOST_UNEXPLAINED) if name == EVEN else (1.0, MOVES_UNEXPLAINED)
    less = rival.cut_per_bit < factor * best.cut_per_bit and rival.evenness >= best.evenness
    return less and best.explained - rival.explained < unexplained


def _explains_more(moved: Merits, best: Merits) -> bool:
    little_more = moved.cut_per_bit < MOVES_FACTOR * best.cut_per_bit and moved.cut <= MOST_TIMES_CUT * best.cut
    return little_more and moved.explained > best.explained
