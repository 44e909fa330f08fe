"""The search by merging: the number of clusters if it is open, the members, their agreement, and doubts about it.

The members and their trees are those of ``_merge_search.py``; numbers of clusters are compared in
``_number_search.py``.
"""

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import ClassVar, Literal

import numpy as np

from widegap._types import Floats
from widegap._warnings import warn_caller
from widegap.base._records import Recorder
from widegap.exceptions import NoStructureWarning
from widegap.forest._choice import COMMUNITIES, EVEN, GAPS
from widegap.forest._merge_search import (
    COMMUNITY_PLAN,
    COMMUNITY_ROWS,
    COMMUNITY_RULES,
    LEADING,
    PLAN_BESIDE,
    SMOOTHINGS,
    grow,
    grow_communities,
    n_members,
    plan_of_members,
    search_graph,
)
from widegap.forest._moves_search import QuickMoves
from widegap.forest._number_search import find_number, reasons_by_columns, separations_found
from widegap.forest._pools import Forest, Member
from widegap.forest._search_result import ForestCuts, SearchResult, StartRecord
from widegap.forest._search_space import LEAST_SAMPLE, PreparedRows, n_searched

MOST_LANDMARKS = 300  # 300 and 150 landmarks do alike on 14 sets of 212 to 1016 rows (benchmarks/choices.md)
LEAST_LANDMARKS = 150  # at least: a quarter of few rows would be fewer still
ROWS_FOR_MOVES = 2_000  # below which single moves are a candidate: they take half as long as the search itself
DOUBTFUL = 0.9  # agreement of the members below which the clusters are compared with rows without structure
LEAST_SOUND = 0.3  # share of sound members below which they are, too: less than one of the three rules
NULL_SEPARATION = 2.5  # separation that rows without structure can reach


@dataclass(frozen=True)
class ForestSearch:
    """A search by merging.

    Attributes
    ----------
    n_clusters : int or "auto"
        Number of clusters.
    smoothing : int or "auto"
        Steps of smoothing of the members.
    n_neighbors : int
        Neighbours of a row in the graph.
    one_tree : bool
        Whether one member is enough.
    n_threads : int
        Threads that find neighbours.
    """

    n_clusters: int | Literal["auto"]
    smoothing: int | str
    n_neighbors: int
    one_tree: bool
    n_threads: int

    @property
    def follows_columns(self) -> bool:
        """Whether clusters may follow the columns of a table."""
        return not self.one_tree

    cuts_anywhere: ClassVar[bool] = True  # one search serves every number of clusters
    unit_rows: ClassVar[bool] = True  # sparse rows are normalised to length one
    auto_fraction: ClassVar[float] = 0.0  # of min_cluster_fraction="auto": clusters may be as small as they are

    @property
    def smoothings(self) -> tuple[int, ...]:
        """Steps of smoothing of the members."""
        return SMOOTHINGS if self.smoothing == "auto" else (int(self.smoothing),)

    def n_searched(self, shape: tuple[int, int], *, sparse: bool, by_columns: bool) -> int:
        """How many rows of a table to search, at most; clusters that follow columns need no more to be known well."""
        most = n_searched(shape, 1 if self.n_clusters == "auto" else self.n_clusters, sparse=sparse)
        return min(most, LEAST_SAMPLE) if by_columns else most

    def n_landmarks(self, n: int) -> int:
        """How many landmarks n searched rows get."""
        return min(MOST_LANDMARKS, max(LEAST_LANDMARKS, n // 4))

    def n_records(self, n: int) -> int:
        """How many members n rows have; sparse rows of length one have no communities, and fewer."""
        if self.one_tree:
            return 1
        of_communities = len(COMMUNITY_PLAN) * len(COMMUNITY_RULES) if n >= COMMUNITY_ROWS else 0
        return n_members(n, self.smoothings) + of_communities

    def run(self, prepared: PreparedRows, recorder: Recorder[StartRecord], rng: np.random.Generator) -> SearchResult:
        """Clusters on which the members agree; fewer than asked for where hardly any rows differ."""
        rows = prepared.space.rows
        columns = prepared.columns
        found, by_columns, reasons = None, None, None
        if self.n_clusters != "auto":
            k = self.n_clusters
        elif columns is not None:
            by_columns = columns.number()
            k = max(by_columns.n_clusters, prepared.fewest)
        else:
            found = find_number(rows, self.n_neighbors, rng)
            k = max(found.steps.n_clusters, prepared.fewest)
        forest = self._grow(max(2, k), prepared, recorder, rng)
        if by_columns is not None:
            reasons = reasons_by_columns(by_columns, forest.most_clusters)
        elif found is not None:
            reasons = found.reasons(forest, k)
        result = ForestCuts(forest, found).result(k, prepared.units, reasons)
        if reasons is None:
            self._warn_of_doubt(result, forest, rng)
        return result

    def _warn_of_doubt(self, result: SearchResult, forest: Forest, rng: np.random.Generator) -> None:
        """Warn if a given number of clusters divides rows without structure."""
        k = result.n_clusters
        if forest.columns is not None and result.classes is not None:
            if not forest.columns.n_axes:
                _warn_of_independent_columns(k)
        elif doubt := _doubt(result, forest):
            separation = separations_found(forest, k, forest.space.rows, self.n_neighbors, rng)
            _warn_without_structure(k, separation, doubt)

    def _grow(
        self, k: int, prepared: PreparedRows, recorder: Recorder[StartRecord], rng: np.random.Generator
    ) -> Forest:
        """The members, until the callback asks to stop."""
        space = prepared.space
        graph = search_graph(space.rows, self.n_neighbors, self.n_threads)
        spacing = graph.spacing if prepared.by_angle and not self.one_tree else None
        members: list[Member] = []
        n, features = space.rows.shape[0], partial(next, prepared.feature_sets)
        # Documents are merged freely alone. Of 22 sets of sparse rows 57.3 % are right then (halves 55.9, 58.6), with a
        # cap beside it 56.6 (55.5, 57.7), with communities 55.6 (55.0, 56.1); 41 others 76.3, 76.2 and 74.3.
        # So are tables that latent classes divide: the members then serve constraints and the tree alone.
        columns = prepared.columns
        freely = prepared.by_angle or columns is not None
        pools = (GAPS,) if freely else (GAPS, EVEN)
        plan = plan_of_members(n, has_communities=not freely) if columns is None else PLAN_BESIDE
        found = grow(features, graph, k, rng, plan, self.smoothings, pools=pools)
        if n >= COMMUNITY_ROWS and not freely:
            found = chain(found, grow_communities(graph, space.leading(LEADING), k, rng))
        for member in found:
            if not members or member.groups is not members[-1].groups:
                sums = space.whitened_sums(member.groups, len(member.tree.leaf_sizes))
            members.append(member)
            objective = member.explained(sums, k, spacing)
            record = {"start": len(members) - 1, "kind": member.kind, "objective": objective, "pool": member.pool}
            if recorder.add(**record) or self.one_tree:
                break
        # Not for documents, whose rows are compared by their words: a kernel of few clusters says little about these.
        quick = len(space.features) < ROWS_FOR_MOVES and not freely and not self.one_tree
        moves = QuickMoves(space, graph, int(rng.integers(2**31))) if quick else None
        return Forest(Forest.in_pools(members, graph, spacing), space, moves, columns)


def _doubt(result: SearchResult, forest: Forest) -> str:
    """The reason to doubt clusters: members disagree, or few of them count, which may agree by accident.

    Communities vary more between partitions than groups by k-means; where either agree, there is no doubt.
    """
    assert result.agreement is not None
    agreement, sound = float(result.agreement.mean()), forest.pools[result.pool].share_sound(result.n_clusters)
    if result.pool == COMMUNITIES:
        found = {(c.n_clusters, c.pool): c.agreement for c in forest.candidates}
        agreement = max(agreement, found[result.n_clusters, GAPS])
    if agreement < DOUBTFUL:
        return f"the members of the search agree only to {100 * agreement:.0f} %"
    if sound < LEAST_SOUND:
        return f"{100 * (1 - sound):.0f} % of the members of the search were left out for clusters of stray rows"
    return ""


def _warn_of_independent_columns(k: int) -> None:
    warn_caller(
        f"The columns of the table do not go together: they share no more than columns that were shuffled one by one. "
        f"The {k} clusters divide them all the same: do not read much into them.",
        NoStructureWarning,
    )


def _warn_without_structure(k: int, separation: Floats, doubt: str) -> None:
    if separation.max(initial=0.0) < NULL_SEPARATION:
        warn_caller(
            f"The {k} clusters are no further apart than clusters of rows without structure, and {doubt}: do not "
            "read much into them. n_clusters='auto' tells whether another number does better.",
            NoStructureWarning,
        )
