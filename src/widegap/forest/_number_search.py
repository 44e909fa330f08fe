"""How many clusters some rows have: trees of their merges beside trees of rows without structure.

The statistic and the rule are in ``forest/_cluster_number.py``. The trees are those of the graph's rule with a
Gaussian kernel, on a sample of the rows, and on null tables: as many rows from a Gaussian and from a box of the same
covariance. Where the number is given and clusters are only compared with null tables, the trees of the search itself
serve, and null tables get one set of landmarks: most of a fit would else go into a warning.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Floats
from widegap.features._kernel_maps import fit_kernel_map
from widegap.features._neighbours import neighbour_graph
from widegap.features._principal import PrincipalAxes
from widegap.forest._choice import GAPS
from widegap.forest._cluster_number import Separations, separations
from widegap.forest._linkage import MergeTree
from widegap.forest._merge_search import LEADING, PLAN, GroupPlan, grow
from widegap.forest._pools import Forest
from widegap.rows._matrices import sample_rows
from widegap.rows._sources import row_blocks

MOST_COMPARED_CLUSTERS = 25  # of a sample of 4000 rows, 160 a cluster; not tuned
TREE_ROWS = 4000  # bounds the time of three trees, two of them of null tables; not tuned
GROUPS_FOR = 10  # clusters for which groups are formed
TREE_LANDMARKS = 300  # as many as a fit of n_components="auto" has at most
NULL_AXES = 200  # leading principal axes of wider tables; not tuned
ONE_SET = ((1,),)  # of landmarks
TREE_RULE = "graph"


@dataclass(frozen=True)
class ClusterNumberScore:
    """Scores of a number of clusters.

    Attributes
    ----------
    n_clusters : int
    separation : float
        How much more clearly the two clusters that would be joined next are apart than those of a null table, in
        standard errors; about 0 without structure.
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
    """Separations of the merges of a table of rows, for up to ``MOST_COMPARED_CLUSTERS`` clusters."""
    rows = sample_rows(rows, TREE_ROWS, rng)
    trees = _Trees(n_neighbors, GROUPS_FOR, PLAN, TREE_LANDMARKS, rng)
    return separations(trees.of(rows), trees.of_null(rows), MOST_COMPARED_CLUSTERS)


def separations_found(forest: Forest, k: int, rows: Any, n_neighbors: int, rng: np.random.Generator) -> Floats:
    """Separations of the merges from k, k - 1, ... clusters of the rows, by what a search for k has grown of them."""
    trees, found = _Trees(n_neighbors, k, ONE_SET, LEADING, rng), forest.trees(TREE_RULE)
    if rows.shape[0] > TREE_ROWS or not found:
        rows = sample_rows(rows, TREE_ROWS, rng)
        found = trees.of(rows)
    return separations(found, trees.of_null(rows), k).separation


@dataclass(frozen=True)
class _Trees:
    """How trees are grown: neighbours of a row, clusters to form groups for, the plan, landmarks of a set."""

    n_neighbors: int
    k: int
    plan: GroupPlan
    rank: int
    rng: np.random.Generator

    def of(self, rows: Any) -> list[MergeTree]:
        def features() -> Any:
            blocks = row_blocks(rows)
            found = fit_kernel_map(blocks, "rbf", gamma="median", params=None, n_components=self.rank, rng=self.rng)
            return found.leading(LEADING).transform(rows)

        graph = neighbour_graph(rows, self.n_neighbors)
        members = grow(features, graph, self.k, self.rng, self.plan, rules=(TREE_RULE,), pools=(GAPS,))
        return [member.tree for member in members]

    def of_null(self, rows: Any) -> list[MergeTree]:
        """Trees of the null tables of the rows."""
        return [tree for table in null_tables(rows, self.rng) for tree in self.of(table)]


def null_tables(X: Any, rng: np.random.Generator) -> Iterator[Floats]:
    """Two tables without structure, with as many rows as X and its covariance: one Gaussian and one box.

    They are in coordinates along the principal axes of X, so that distances are those of its own columns.
    """
    found = PrincipalAxes(X, NULL_AXES, int(rng.integers(2**31))).coordinates(X)
    deviations = found.std(axis=0)
    yield rng.standard_normal(found.shape) * deviations
    yield rng.uniform(-np.sqrt(3), np.sqrt(3), found.shape) * deviations


def number_scores(found: Separations, forest: Forest) -> list[ClusterNumberScore]:
    """The separations beside the agreement of the members, for every number that these have groups for."""
    pairs = zip(found.separation, found.excess, strict=True)
    return [
        ClusterNumberScore(k, float(separation), float(excess), float(forest.cut(k).agreement.mean()))
        for k, (separation, excess) in enumerate(pairs, 2)
        if k <= forest.most_clusters
    ]
