"""How many clusters some rows have: trees of their merges beside trees of rows without structure.

The statistic and the rule are in ``forest/_cluster_number.py``. The trees are those of the graph's rule with a
Gaussian kernel, on a sample of the rows, and on as many rows from a Gaussian and from a box of the same covariance.
Where clusters that were asked for are only to be told from chance, the trees of the search itself serve, and one set of
landmarks for the rows of chance: most of a fit would else go into a warning.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Doubles
from widegap.features._kernel_maps import fit_kernel_map
from widegap.features._neighbours import neighbour_graph
from widegap.forest._cluster_number import Separations, separations
from widegap.forest._linkage import MergeTree
from widegap.forest._merge_search import LEADING, PLAN, Forest, Plan, grow
from widegap.forest._null_tables import chance_tables
from widegap.rows._matrices import sample_rows
from widegap.rows._sources import row_blocks

MOST_CLUSTERS = 25
COMPARED_ROWS = 4000
GROUPS_FOR = 10  # clusters for which groups are formed
RANK = 300
ONE_SET = ((1,),)  # of landmarks
RULE = "graph"


@dataclass(frozen=True)
class ClusterNumberScore:
    """What speaks for a number of clusters.

    Attributes
    ----------
    n_clusters : int
    separation : float
        How much more clearly the two clusters that would be joined next are apart than chance keeps them, in standard
        errors; about 0 without structure.
    excess : float
        By how much all of these clusters are more clearly apart than parts of them are, at least; the number is the
        largest at which it exceeds 3.5.
    agreement : float
        Mean share of members that agree on a row's cluster, at this number.
    """

    n_clusters: int
    separation: float
    excess: float
    agreement: float


def find_separations(rows: Any, n_neighbors: int, rng: np.random.Generator) -> Separations:
    """Separations of the merges of a table of rows, for up to ``MOST_CLUSTERS`` clusters."""
    rows = sample_rows(rows, COMPARED_ROWS, rng)
    trees = _Trees(n_neighbors, GROUPS_FOR, PLAN, RANK, rng)
    return separations(trees.of(rows), trees.of_chance(rows), MOST_CLUSTERS)


def separations_found(forest: Forest, k: int, rows: Any, n_neighbors: int, rng: np.random.Generator) -> Doubles:
    """Separations of the merges from k, k - 1, ... clusters of the rows, by what a search for k has grown of them."""
    trees, found = _Trees(n_neighbors, k, ONE_SET, LEADING, rng), forest.trees(RULE)
    if rows.shape[0] > COMPARED_ROWS or not found:
        rows = sample_rows(rows, COMPARED_ROWS, rng)
        found = trees.of(rows)
    return separations(found, trees.of_chance(rows), k).separation


@dataclass(frozen=True)
class _Trees:
    """How trees are grown: neighbours of a row, clusters to form groups for, the plan, landmarks of a set."""

    n_neighbors: int
    k: int
    plan: Plan
    rank: int
    rng: np.random.Generator

    def of(self, rows: Any) -> list[MergeTree]:
        def features() -> Any:
            blocks = row_blocks(rows)
            found = fit_kernel_map(blocks, "rbf", gamma="median", params=None, n_components=self.rank, rng=self.rng)
            return found.leading(LEADING).transform(rows)

        graph = neighbour_graph(rows, self.n_neighbors)
        return [member.tree for member in grow(features, graph, self.k, self.rng, self.plan, rules=(RULE,))]

    def of_chance(self, rows: Any) -> list[MergeTree]:
        """Trees of as many rows without structure."""
        return [tree for table in chance_tables(rows, self.rng) for tree in self.of(table)]


def number_scores(found: Separations, forest: Forest) -> list[ClusterNumberScore]:
    """The separations beside the agreement of the members, for every number that these have groups for."""
    pairs = zip(found.separation, found.excess, strict=True)
    return [
        ClusterNumberScore(k, float(separation), float(excess), float(forest.cut(k).agreement.mean()))
        for k, (separation, excess) in enumerate(pairs, 2)
        if k <= forest.most_clusters
    ]
