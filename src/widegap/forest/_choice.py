"""Which of several labelings of the same rows to take, by the neighbour graph alone.

Clusters that follow gaps and clusters of similar size are both right somewhere: gaps decide where there are any, but
where classes touch and an odd corner lies apart, k clusters are spent on the corner. A labeling is judged by how many
edges it cuts for what it tells. With the conductance phi_p of cluster p, its share s_p of the rows and k clusters,

    q = (sum_p s_p phi_p + OFFSET) / h,      h = -sum_p s_p log s_p / log k

is its *cut per bit*: h is 1 where all sizes are equal and near 0 where one cluster has nearly all rows, so that a cut
along a gap is cheap, and one that tells hardly anything is dear. The offset is the share of edges that even a perfect
cut may cross; without it a corner of three rows that no edge leaves would cost nothing. q depends neither on names nor
on the order of rows nor on the scale of the weights.

Labelings are compared in a fixed order. ``GAPS``, merged freely, comes first; ``COMMUNITIES`` takes its place if its
modularity is larger; ``EVEN``, merged under a cap on inequality, is taken if its q is below ``EVEN_FACTOR`` of the q of
that; ``MOVES`` last, if its q is hardly larger and a classifier explains it better.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from widegap._types import Floats, Labels
from widegap.features._neighbours import NeighbourGraph

GAPS, EVEN = "gaps", "even"
OFFSET = 0.02  # a plateau from 0.01 to 0.02 on 47 public tasks and 40 drawn shapes (benchmarks/choices.md)
EVEN_FACTOR = 0.85  # a plateau from 0.8 to 0.85 on them; at 1 svmguide1 loses 19 points and image 12
LEAST_ENTROPY = 0.01  # relative to that of equal sizes: one cluster with all rows must not divide by 0


@dataclass(frozen=True)
class Candidate:
    """One of the labelings between which a search chose at a number of clusters.

    Attributes
    ----------
    n_clusters : int
        Number of clusters.
    pool : str
        What it is: "gaps" follows gaps between groups, "even" keeps sizes from growing too unequal.
    cut_per_bit : float
        Share of the edges of the neighbour graph that it cuts, for each unit of entropy of its sizes; smaller is
        better.
    chosen : bool
        Whether the clusters are those of this candidate.
    """

    n_clusters: int
    pool: str
    cut_per_bit: float
    chosen: bool


def conductances(E: Floats) -> Floats:
    """Share of each cluster's edges that leave it (of the rest's, where that has fewer), by the weights E between."""
    volumes = E.sum(axis=1)
    leaving = volumes - np.diag(E)
    return leaving / np.maximum(np.minimum(volumes, volumes.sum() - volumes), np.finfo(np.float64).tiny)


def cut_per_bit(graph: NeighbourGraph, labels: Labels, k: int) -> float:
    """q of a labeling with k clusters; smaller is better."""
    shares = np.bincount(labels, minlength=k) / len(labels)
    filled = shares[shares > 0]
    entropy = -float((filled * np.log(filled)).sum()) / np.log(k) if k > 1 else 1.0
    cut = float((conductances(graph.weights_between(labels, k)) * shares).sum())
    return (cut + OFFSET) / max(entropy, LEAST_ENTROPY)


def choose(cut_per_bits: Mapping[str, float]) -> str:
    """The pool whose labeling is taken, by the cut per bit of each."""
    even = cut_per_bits.get(EVEN, np.inf)
    return EVEN if even < EVEN_FACTOR * cut_per_bits[GAPS] else GAPS
