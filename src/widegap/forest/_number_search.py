"""How many clusters some rows have: trees of their merges beside trees of rows without structure.

The statistic and the rule are in ``forest/_cluster_number.py``. The trees are those of the graph's rule with a
Gaussian kernel, on a sample of the rows, and on null tables: as many rows from a Gaussian and from a box of the same
covariance. Columns of few levels are spread first (``forest/_few_levels.py``). The graph reaches farther the more rows
there are: 20 neighbours of 4000 rows are too local to feel the border between clusters that touch.

The same sample, its graph and the curve of the null tables also judge every merge of any other tree of the rows
(``judged_tree``): the conductance of its cut, its separation, and its excess over the merges within clusters.

Where the number is given and clusters are only compared with null tables, the trees of the search itself serve, and
null tables get one set of landmarks: most of a fit would else go into a warning.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from widegap._types import Doubles, Floats, Indices, Ints, Labels
from widegap.features._kernel_maps import fit_kernel_map
from widegap.features._neighbours import LINKED, NeighbourGraph, neighbour_graph
from widegap.features._principal import PrincipalAxes
from widegap.forest._choice import GAPS
from widegap.forest._cluster_number import ClusterNumberChoice, NullCurve, NumberEvidence, NumberSteps, take_steps
from widegap.forest._column_search import ClassNumber
from widegap.forest._few_levels import spread_few_levels
from widegap.forest._linkage import MergeTree, cut_conductance
from widegap.forest._merge_search import LEADING, ROWS_A_GROUP, GroupPlan, grow
from widegap.forest._pools import Forest
from widegap.rows._matrices import sample_rows
from widegap.rows._sampling import drawn
from widegap.rows._sources import row_blocks

MOST_COMPARED_CLUSTERS = 50  # of a sample of 4000 rows, 80 a cluster; not tuned
TREE_ROWS = 4000  # bounds the time of three trees, two of them of null tables; not tuned
GROUPS_FOR = 20  # clusters for which groups are formed: with 10, many clusters are missed (benchmarks/choices.md)
TREE_LANDMARKS = 300  # as many as a fit of n_components="auto" has at most
FEW_LINKED, ROWS_A_LINK, MOST_LINKED = 2000, 50, 60  # 20 up to 2000 rows, 60 of 4000 (benchmarks/choices.md)
NULL_AXES = 200  # leading principal axes of wider tables; not tuned
NUMBER_PLAN: GroupPlan = ((1, 2), (1, 2))  # with one set the number in the digits depends on the seed
NULL_PLAN: GroupPlan = ((1, 2),)  # a curve of a thousand merges needs no more
ONE_SET: GroupPlan = ((1,),)  # of landmarks
AROUND_CHOSEN = 2  # numbers on either side whose agreement is measured: all of them would take longer than the search
TREE_RULE = "graph"


@dataclass(frozen=True)
class ClusterNumberScore:
    """Scores of a number of clusters.

    Attributes
    ----------
    n_clusters : int
    separation : float or None
        How much more clearly the two clusters that would be joined next are apart than those of a null table, in
        standard errors; about 0 without structure. None for latent classes, which are compared by likelihood.
    excess : float or None
        By how much all of these clusters are more clearly apart than parts of them are, at least; None as above.
    agreement : float or None
        Mean share of members that agree on a row's cluster, at this number; None for numbers far from the chosen one,
        and for latent classes.
    strength : float or None
        How clearly this number stands out from the defensible one before it (at first from a single cluster), relative
        to what is needed. "auto" takes the largest number of a strength above 1. None in models of older versions.
    """

    n_clusters: int
    separation: float | None
    excess: float | None
    agreement: float | None
    strength: float | None = None

    _added_later: ClassVar = ("strength",)


@dataclass(frozen=True)
class NumberReasons:
    """The number that "auto" chose, and the scores of all numbers."""

    choice: ClusterNumberChoice
    scores: list[ClusterNumberScore]


@dataclass(frozen=True)
class NumberSearch:
    """What a search for the number of clusters looked at and found.

    ``sampled`` are the numbers of the rows in the sample, ``graph`` is their neighbour graph, ``curve`` what null
    tables of them show, ``evidence`` the merges of their trees, and ``steps`` the way to the number.
    """

    sampled: Indices
    graph: NeighbourGraph
    curve: NullCurve
    evidence: NumberEvidence
    steps: NumberSteps

    def judged_tree(self, tree: MergeTree, leaf_of_row: Labels | Ints, k: int) -> MergeTree:
        """A tree of the rows, cut at k clusters, with the excess of its merges; ``leaf_of_row`` are its first groups.

        The excess is NaN where one side has fewer rows in the sample than a group of the null tables would.
        """
        phi, smaller = cuts_of_merges(tree, self.graph, leaf_of_row[self.sampled])
        known = np.flatnonzero(smaller >= ROWS_A_GROUP)[::-1]
        excess = np.full(len(tree.merges), np.nan)
        z = self.curve.separation(phi[known], smaller[known])
        excess[known] = self.evidence.excess_of(z, np.log(smaller[known]), k)
        return replace(tree, excess=excess)

    @property
    def choice(self) -> ClusterNumberChoice:
        """The number, and how sure it is."""
        return ClusterNumberChoice.of(self.steps, self.evidence)

    def reasons(self, forest: Forest, chosen: int) -> NumberReasons:
        """The choice, and the scores of every number that the members have groups for.

        Near the number of clusters that is ``chosen`` they have the agreement of the members, each from a cut.
        """
        near = range(chosen - AROUND_CHOSEN, chosen + AROUND_CHOSEN + 1)
        found = zip(self.evidence.z, self.steps.excess, self.steps.strengths, strict=False)
        scores = [
            ClusterNumberScore(k, float(z), float(excess), mean_agreement(forest, k) if k in near else None, float(rho))
            for k, (z, excess, rho) in enumerate(found, 2)
            if k <= forest.most_clusters
        ]
        return NumberReasons(self.choice, scores)


def reasons_by_columns(number: ClassNumber, most: int) -> NumberReasons:
    """The choice between numbers of latent classes, and the strengths of those that were compared, up to ``most``."""
    compared = [k for k in sorted(number.fits) if 1 < k <= most]
    scores = [ClusterNumberScore(k, None, None, None, number.strength(k)) for k in compared]
    return NumberReasons(number.choice, scores)


def mean_agreement(forest: Forest, k: int) -> float:
    """Mean share of the members that agree on a row's cluster at k."""
    return float(forest.cut(k).agreement.mean())


def find_number(rows: Any, n_neighbors: int, rng: np.random.Generator) -> NumberSearch:
    """The number of clusters of a table of rows, up to ``MOST_COMPARED_CLUSTERS``."""
    sampled = drawn(rows.shape[0], TREE_ROWS, rng)
    rows = spread_few_levels(rows[sampled], rng)
    linked = n_linked(len(sampled))
    trees = _Trees(max(n_neighbors, linked), linked, GROUPS_FOR, NUMBER_PLAN, TREE_LANDMARKS, rng)
    graph = trees.graph(rows)
    found, curve = trees.of(rows, graph), NullCurve.fit(replace(trees, plan=NULL_PLAN).of_null(rows))
    evidence = NumberEvidence.of(found, curve)
    return NumberSearch(sampled, graph, curve, evidence, take_steps(evidence, MOST_COMPARED_CLUSTERS))


def n_linked(n: int) -> int:
    """Neighbours of each of n rows with a weight: a border is felt only by edges that reach across it."""
    return min(MOST_LINKED, LINKED + max(0, n - FEW_LINKED) // ROWS_A_LINK)


def separations_found(forest: Forest, k: int, rows: Any, n_neighbors: int, rng: np.random.Generator) -> Floats:
    """Separations of the merges from k, k - 1, ... clusters of the rows, by what a search for k has grown of them."""
    trees, found = _Trees(n_neighbors, LINKED, k, ONE_SET, LEADING, rng), forest.trees(TREE_RULE)
    if rows.shape[0] > TREE_ROWS or not found:
        rows = sample_rows(rows, TREE_ROWS, rng)
        found = trees.of(rows, trees.graph(rows))
    return NumberEvidence.of(found, NullCurve.fit(trees.of_null(rows))).z[: k - 1]


@dataclass(frozen=True)
class _Trees:
    """How trees are grown.

    ``n_neighbors`` of every row smooth, ``linked`` of them have a weight; groups are formed for ``k`` clusters by
    ``plan``, from ``rank`` landmarks a set.
    """

    n_neighbors: int
    linked: int
    k: int
    plan: GroupPlan
    rank: int
    rng: np.random.Generator

    def graph(self, rows: Any) -> NeighbourGraph:
        """The neighbour graph of the rows."""
        return replace(neighbour_graph(rows, self.n_neighbors), linked=self.linked)

    def of(self, rows: Any, graph: NeighbourGraph) -> list[MergeTree]:
        def features() -> Any:
            blocks = row_blocks(rows)
            found = fit_kernel_map(blocks, "rbf", gamma="median", params=None, n_components=self.rank, rng=self.rng)
            return found.leading(LEADING).transform(rows)

        members = grow(features, graph, self.k, self.rng, self.plan, rules=(TREE_RULE,), pools=(GAPS,))
        return [member.tree for member in members]

    def of_null(self, rows: Any) -> list[MergeTree]:
        """Trees of the null tables of the rows."""
        tables = null_tables(rows, self.rng)
        return [tree for table in tables for tree in self.of(table, self.graph(table))]


def null_tables(X: Any, rng: np.random.Generator) -> Iterator[Floats]:
    """Two tables without structure, with as many rows as X and its covariance: one Gaussian and one box.

    They are in coordinates along the principal axes of X, so that distances are those of its own columns.
    """
    found = PrincipalAxes(X, NULL_AXES, int(rng.integers(2**31))).coordinates(X)
    deviations = found.std(axis=0)
    yield rng.standard_normal(found.shape) * deviations
    yield rng.uniform(-np.sqrt(3), np.sqrt(3), found.shape) * deviations


def cuts_of_merges(tree: MergeTree, graph: NeighbourGraph, leaves: Labels | Ints) -> tuple[Doubles, Doubles]:
    """Conductance of each merge's cut on a graph of rows, and the rows of its smaller group; rows by their leaves."""
    m = len(tree.leaf_sizes)
    weights, counts = graph.weights_between(leaves, m), np.bincount(leaves, minlength=m).astype(np.float64)
    place, phi, smaller = np.arange(2 * m - 1), np.zeros(m - 1), np.zeros(m - 1)
    for step, (first, second) in enumerate(tree.merges):
        a, b = place[first], place[second]
        phi[step], smaller[step] = cut_conductance(weights, a, b), min(counts[a], counts[b])
        weights[a] += weights[b]
        weights[:, a] += weights[:, b]
        counts[a] += counts[b]
        place[m + step] = a
    return phi, smaller
