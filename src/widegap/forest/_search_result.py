"""What a search finds, and how a search by merging is cut again: at other numbers of clusters, with other constraints.

Known labels and links come after the members of a search, which did not see them (``constraints/_seeded_clusters.py``):
they spread over the neighbours of rows, over the groups of all members, and over their clusters.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from widegap._types import Floats, Ints, Labels
from widegap.constraints._known_classes import Views
from widegap.constraints._seeded_clusters import SeededClusters
from widegap.constraints._units import Units
from widegap.features._label_spreading import Spread
from widegap.features._neighbours import NeighbourGraph, neighbour_graph
from widegap.features._principal import leading_directions
from widegap.forest._agreement import row_agreement
from widegap.forest._column_search import ColumnSearch
from widegap.forest._latent_classes import LatentClasses
from widegap.forest._linkage import MergeTree
from widegap.forest._merge_search import LEADING, SMOOTHINGS
from widegap.forest._number_search import NumberReasons, NumberSearch, find_number
from widegap.forest._pools import Cut, Forest, Pool
from widegap.forest._search_space import SearchSpace
from widegap.forest._single_moves import explained
from widegap.forest._temperature import member_votes

DIRECTIONS = 50  # leading ones, of rows with more columns than features; not tuned


@dataclass(frozen=True)
class StartRecord:
    """One start, or one member of a pool: number and kind, the R2 it led to, and the seconds since the search began."""

    start: int
    kind: str
    objective: float
    seconds: float
    pool: str = ""

    _added_later: ClassVar[tuple[str, ...]] = ("pool",)

    def line(self) -> str:
        """The record as one line of the log."""
        return f"{self.start}, {self.kind}: R2 {self.objective:.6g}, {self.seconds:.2f} s"


@dataclass(frozen=True)
class SearchResult:
    """What a search finds in the searched rows.

    Attributes
    ----------
    labels : ndarray
        Their clusters.
    n_clusters : int
        Number of clusters.
    objective : float
        R2 of the clusters.
    members : list of ndarray
        Clusters by every member; the labels alone where a search has no members.
    agreement : ndarray or None
        How sure the cluster of each row is.
    pool : str
        The pool whose members agree on the clusters; empty where a search has no pools.
    tree : MergeTree or None
        The tree that the clusters were cut from.
    classes : LatentClasses or None
        The latent classes that the clusters are, where they follow the columns of a table.
    leaf_of_row : ndarray or None
        The first group of that tree to which each row belongs.
    number : NumberReasons or None
        Why "auto" chose its number.
    smoothing : int or None
        Steps of smoothing of a search by moves.
    starved : bool
        Whether the bound on sizes keeps a much better answer out.
    cuts : ForestCuts or None
        The way to other numbers of clusters.
    """

    labels: Labels
    n_clusters: int
    objective: float
    members: list[Labels]
    agreement: Floats | None = None
    pool: str = ""
    tree: MergeTree | None = None
    classes: LatentClasses | None = None
    leaf_of_row: Labels | Ints | None = None
    number: NumberReasons | None = None
    smoothing: int | None = None
    starved: bool = False
    cuts: "ForestCuts | None" = None

    @property
    def groups(self) -> Labels | None:
        """The groups of the rows by the first member, if there are members."""
        return None if self.cuts is None else self.cuts.forest.first_groups


class ForestCuts:
    """Cuts of a forest at any number of clusters; the last one stays ready for other constraints.

    A search for the number of clusters judges the merges of their trees; where there was none, it runs on demand.
    """

    def __init__(self, forest: Forest, numbers: NumberSearch | None = None, kept: Cut | None = None):
        self.forest, self._numbers = forest, numbers
        self._kept = kept  # in place of the cut of the forest at its number of clusters
        self._last: UnconstrainedCut | None = None

    def keeping(self, labels: Labels, k: int) -> "ForestCuts":
        """The same cuts, but at k these labels: clusters that an update keeps."""
        found = self.cut(k)
        classes = None
        if self.forest.columns is not None and found.classes is not None:
            classes = self.forest.columns.classes_of(labels, k)
        agreement = row_agreement(np.column_stack(found.members), labels, k)
        kept = replace(found, labels=labels, agreement=agreement, classes=classes)
        return ForestCuts(self.forest, self._numbers, kept)

    def cut(self, k: int) -> Cut:
        """The clusters at k without constraints."""
        if self._kept is not None and k == int(self._kept.labels.max()) + 1:
            return self._kept
        return self.forest.cut(k)

    def result(self, k: int, units: Units | None, number: NumberReasons | None = None) -> SearchResult:
        """The clusters at k that keep the constraints."""
        found = self.cut(k) if units is None else self.unconstrained(k).constrained(units)
        sizes, leaf_of_row = np.bincount(found.labels, minlength=k), found.source.item_of_row
        return SearchResult(
            labels=found.labels,
            n_clusters=k,
            objective=explained(self.forest.space.whitened_sums(found.labels, k), sizes) if k > 1 else 0.0,
            members=found.members,
            agreement=found.agreement,
            pool=found.pool,
            tree=found.tree if self._numbers is None else self._numbers.judged_tree(found.tree, leaf_of_row, k),
            classes=found.classes,
            leaf_of_row=leaf_of_row,
            number=number,
            cuts=self,
        )

    def judged_tree(self, result: SearchResult, n_neighbors: int) -> MergeTree:
        """The tree of a result with the excess of its merges; the first call takes about as long as a fit."""
        assert result.tree is not None and result.leaf_of_row is not None
        if self._numbers is None:
            # A seed of its own: looking at a search must not change what it does next.
            self._numbers = find_number(self.forest.space.rows, n_neighbors, np.random.default_rng(0))
        return self._numbers.judged_tree(result.tree, result.leaf_of_row, result.n_clusters)

    def unconstrained(self, k: int) -> "UnconstrainedCut":
        """The cut at k without constraints, with all that these need."""
        if self._last is None or self._last.seeded.k != k:
            self._last = UnconstrainedCut.of(self.forest, self.cut(k), k)
        return self._last


@dataclass(frozen=True)
class UnconstrainedCut:
    """A cut of a forest without constraints, and what these spread over; ready for constraints of any kind."""

    found: Cut
    pool: Pool
    columns: ColumnSearch | None
    spread: Spread
    seeded: SeededClusters

    @classmethod
    def of(cls, forest: Forest, found: Cut, k: int) -> "UnconstrainedCut":
        """Labels spread over the groups of all members of the pool that is followed, and their clusters at k and 2k."""
        finer = min(2 * k, forest.most_clusters)
        pool = forest.pools[found.pool]
        sets = [(labels, 1) for labels in (*found.members, *pool.cuts(finer))]
        groups = [member.groups for member in pool.members]
        times = Counter(map(id, groups))
        sets += [(labels, times.pop(id(labels))) for labels in groups if id(labels) in times]
        spread = Spread.of(forest.graph.weights, sets)
        seeded = SeededClusters.of(spread, found.labels, k, views_of(forest.space, forest.graph))
        return cls(found, pool, forest.columns, spread, seeded)

    def constrained(self, units: Units) -> Cut:
        """The cut whose clusters keep the constraints and follow from them."""
        k, classes = self.seeded.k, None
        if self.columns is not None and self.found.classes is not None:
            labels, classes = self.columns.constrained(self.found.labels, units, k)
        else:
            labels, _ = self.seeded.constrained(units)
        agreement = row_agreement(np.column_stack(self.found.members), labels, k)
        return replace(self.found, labels=labels, agreement=agreement, classes=classes)

    def belief(self, units: Units | None, labels: Labels) -> Floats:
        """The share of each cluster in each row, (n, k): votes of the members for ``labels`` without constraints."""
        if units is None:
            return member_votes(self.found.members, labels, self.seeded.k)
        if self.columns is not None and self.found.classes is not None:
            _, classes = self.columns.constrained(self.found.labels, units, self.seeded.k)
            return softmax(classes.scores(self.columns.codes), axis=1)
        return self.seeded.constrained(units)[1]


def views_of(space: SearchSpace, graph: NeighbourGraph) -> Views:
    """Features to classify rows by.

    Kernel features count halfway between as they are and whitened: what separates classes may vary little. Beside
    them they count averaged over neighbours, as the members of a search see them.
    """
    P = space.leading(LEADING)
    plain = _unit(P / np.maximum(np.square(P).sum(axis=0), np.finfo(P.dtype).tiny) ** 0.25)
    smooth = np.hstack([plain, *(_unit(graph.smooth(P, steps)) for steps in SMOOTHINGS)])
    wide = leading_directions(space.rows, DIRECTIONS) if space.rows.shape[1] > space.features.shape[1] else None
    return Views(plain, smooth / np.sqrt(np.float32(1 + len(SMOOTHINGS))), None if wide is None else _unit(wide))


def _unit(F: Floats) -> Floats:
    """Features about their mean, of the mean squared length 1."""
    F = F - F.mean(axis=0)
    return F / max(float(np.sqrt(np.square(F).sum(axis=1).mean())), float(np.finfo(F.dtype).tiny) ** 0.5)


def constrained_labels(rows: Any, n_neighbors: int, found: Labels, k: int, units: Units) -> Labels:
    """Clusters that keep the constraints, from those of a search without members."""
    spread = Spread.of(neighbour_graph(rows, n_neighbors).weights, [(found, 1)])
    return SeededClusters.of(spread, found, k).constrained(units)[0]
