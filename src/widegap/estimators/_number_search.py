"""How many clusters some rows have: trees of their merges beside trees of rows without structure.

The statistic and the rule are in ``solvers/_cluster_number.py``. The trees are those of the graph's rule with a
Gaussian kernel, on a sample of the rows, and on as many rows from a Gaussian and from a box of the same covariance.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap.data._chance import chance_tables
from widegap.data._kernel_maps import fit_kernel_map
from widegap.data._neighbours import neighbour_graph
from widegap.data._sources import row_blocks
from widegap.data._tables import sample_rows
from widegap.estimators._merge_search import LEADING, Forest, grow
from widegap.solvers._cluster_number import Separations, separations
from widegap.solvers._merging import MergeTree

MOST_CLUSTERS = 25
COMPARED_ROWS = 4000
GROUPS_FOR = 10  # clusters for which groups are formed
RANK = 300
DRAWS = 4  # sets of landmarks
DRAWS_TO_WARN = 2  # where no number is looked for


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


def find_separations(rows: Any, n_neighbors: int, rng: np.random.Generator, draws: int = DRAWS) -> Separations:
    """Separations of the merges of a table of rows, for up to ``MOST_CLUSTERS`` clusters."""
    rows = sample_rows(rows, COMPARED_ROWS, rng)
    chance = [tree for table in chance_tables(rows, rng) for tree in _trees(table, n_neighbors, rng, draws)]
    return separations(_trees(rows, n_neighbors, rng, draws), chance, MOST_CLUSTERS)


def _trees(rows: Any, n_neighbors: int, rng: np.random.Generator, draws: int) -> list[MergeTree]:
    def features() -> Any:
        found = fit_kernel_map(row_blocks(rows), "rbf", gamma="median", params=None, n_components=RANK, rng=rng)
        return found.leading(LEADING).transform(rows)

    graph = neighbour_graph(rows, n_neighbors)
    return [member.tree for member in grow(features, graph, GROUPS_FOR, rng, draws, rules=("graph",))]


def number_scores(found: Separations, forest: Forest) -> list[ClusterNumberScore]:
    """The separations beside the agreement of the members, for every number that these have groups for."""
    pairs = zip(found.separation, found.excess, strict=True)
    return [
        ClusterNumberScore(k, float(separation), float(excess), float(forest.cut(k).agreement.mean()))
        for k, (separation, excess) in enumerate(pairs, 2)
        if k <= forest.most_clusters
    ]
