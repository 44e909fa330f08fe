"""Pools of members, what the members of each agree on at any number of clusters, and which pool is followed.

A *pool* holds members of one kind: groups by k-means that merge freely, the same under a cap on inequality
(``forest/_linkage.py``), or communities of the graph (``forest/_communities.py``). Members
agree within their pool alone; members of two pools together would outvote each other where only one of them is right.
So every pool gives one labeling, and the graph decides between them (``forest/_choice.py``), anew for every number of
clusters.

A member is left out where it has a tiny cluster that is not isolated: a few rows in the midst of others are an artefact
of merging, a few rows apart from all others are not. What the members agree on is looked at once more where a cluster
is small (``forest/_small_clusters.py``). Of documents, where near-duplicates stand apart in every tree, small parts of
close rows do not count as clusters of a member (``forest/_condensed_cuts.py``).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from widegap._types import Floats, Labels
from widegap.features._neighbours import NeighbourGraph
from widegap.forest._agreement import Agreement, agree, row_agreement
from widegap.forest._choice import (
    BY_COLUMNS,
    GAPS,
    MOVES,
    Candidate,
    Merits,
    are_plain,
    choose,
    conductances,
    cut_per_bit,
    evenness,
    may_be_moved,
)
from widegap.forest._column_search import ColumnSearch
from widegap.forest._condensed_cuts import condensed_cut, rows_needed
from widegap.forest._latent_classes import LatentClasses
from widegap.forest._linkage import MergeTree
from widegap.forest._search_space import SearchSpace
from widegap.forest._single_moves import cluster_sums, explained
from widegap.forest._small_clusters import TINY_CLUSTER, border_to_drop, may_give_way

DIGITS = 11  # of the merits of a labeling: labelings that differ by names alone are equal
ISOLATED = 0.1  # conductance below which a cluster counts as isolated


@dataclass(frozen=True)
class Member:
    """The groups of all rows, after ``steps`` of smoothing, and one way to merge them."""

    pool: str
    rule: str
    steps: int
    groups: Labels
    tree: MergeTree

    @property
    def kind(self) -> str:
        """Pool, rule, number of groups and steps, for the record."""
        return f"{self.pool}, {self.rule}, {len(self.tree.leaf_sizes)} groups, {self.steps} steps"

    def labels(self, k: int, spacing: Floats | None = None) -> Labels:
        """Clusters of all rows where k are left; small parts of close rows are none if the spacing of rows is given."""
        return self._cut(k, spacing)[self.groups]

    def explained(self, sums: Floats, k: int, spacing: Floats | None) -> float:
        """R2 of these clusters, by the sums of the groups."""
        cut = self._cut(k, spacing)
        return explained(cluster_sums(sums, cut, k), np.bincount(cut, self.tree.leaf_sizes, k))

    def _cut(self, k: int, spacing: Floats | None) -> Labels:
        k = min(k, len(self.tree.leaf_sizes))
        if spacing is None:
            return self.tree.cut(k)
        return condensed_cut(self.tree, k, rows_needed(self.tree, self.groups, spacing, k))


@dataclass(frozen=True)
class Cut:
    """Clusters of all rows, what they were cut from, how much the members agree on each row, and their clusters.

    ``pool`` is the one whose members these are. ``classes`` are the latent classes that the clusters are, if any.
    """

    pool: str
    labels: Labels
    source: Agreement
    agreement: Floats
    members: list[Labels]
    classes: LatentClasses | None = None

    @property
    def tree(self) -> MergeTree:
        """The tree that they were cut from."""
        return self.source.tree

    def replaced_by(self, labels: Labels, k: int) -> "Cut":
        """Other clusters of the same rows; the tree is what they and the members agree on, with theirs at its top."""
        members = np.column_stack(self.members)
        source = agree(np.column_stack([members, *[labels] * (members.shape[1] + 1)]))  # more votes than the members
        labels = source.cut(k)
        return replace(self, labels=labels, source=source, agreement=row_agreement(members, labels, k))


@dataclass(frozen=True)
class Pool:
    """Members that merge in one way, the graph by which cuts are judged, and the spacing where cuts depend on it."""

    name: str
    members: list[Member]
    graph: NeighbourGraph
    spacing: Floats | None = None

    @property
    def most_clusters(self) -> int:
        """The largest number of clusters that every member has groups for."""
        return min(len(member.tree.leaf_sizes) for member in self.members)

    def cuts(self, k: int) -> list[Labels]:
        """Clusters of all rows by every member."""
        return [member.labels(k, self.spacing) for member in self.members]

    def cut(self, k: int) -> Cut:
        """What the members agree on at k clusters; of a single member its own cut."""
        if len(self.members) == 1:
            (member,) = self.members
            labels = member.labels(k, self.spacing)
            source = Agreement(member.tree, member.groups)
            return Cut(self.name, labels, source, np.ones(len(labels)), [labels])
        found = self._agreed(k)
        if 1 < k < self.most_clusters and may_give_way(np.bincount(found.labels, minlength=k)):
            return self._without_small_cluster(found, k) or found
        return found

    def share_sound(self, k: int) -> float:
        """Share of the members whose cut at k clusters counts."""
        return float(np.mean([self._is_sound(labels, k) for labels in self.cuts(k)]))

    def _agreed(self, k: int) -> Cut:
        """What the members agree on at k clusters, those left out that are not sound."""
        cuts = self.cuts(k)
        members = np.column_stack([labels for labels in cuts if self._is_sound(labels, k)] or cuts)
        found = agree(members)
        labels = found.cut(k)
        return Cut(self.name, labels, found, row_agreement(members, labels, k), cuts)

    def _without_small_cluster(self, found: Cut, k: int) -> Cut | None:
        """Another cut at k, where a small cluster gives way to a clear border between large ones.

        It comes from what the members agree on at k + 1, which also gives the agreement of each row.
        """
        fine = self._agreed(k + 1)
        if fine.labels.max() < k:
            return None
        pair = border_to_drop(found.labels, fine.labels, self.graph.weights_between(fine.labels, k + 1))
        if pair is None:
            return None
        source = Agreement(fine.tree.joined_first(k + 1, *pair), fine.source.item_of_row)
        return replace(found, labels=source.cut(k), source=source, agreement=fine.agreement)

    def _is_sound(self, labels: Labels, k: int) -> bool:
        """Whether every tiny cluster is isolated."""
        tiny = np.bincount(labels, minlength=k) < TINY_CLUSTER * len(labels) / k
        return not tiny.any() or bool((conductances(self.graph.weights_between(labels, k))[tiny] < ISOLATED).all())


@dataclass(frozen=True)
class Forest:
    """The pools of a search, by name, and the candidates of every number of clusters at which they were cut.

    ``space`` has the searched rows. ``moves``, if given, finds labels by single moves, from those chosen so far and
    from starts of its own. ``columns``, if given, finds latent classes of the rows' table.
    """

    pools: dict[str, Pool]
    space: SearchSpace
    moves: Callable[[int, Labels], Labels] | None = None
    columns: ColumnSearch | None = None
    _candidates: dict[int, list[Candidate]] = field(default_factory=dict, compare=False)

    @staticmethod
    def in_pools(members: list[Member], graph: NeighbourGraph, spacing: Floats | None = None) -> dict[str, Pool]:
        """The members, each in its pool."""
        names = dict.fromkeys(member.pool for member in members)
        parts = {name: [member for member in members if member.pool == name] for name in names}
        return {name: Pool(name, part, graph, spacing) for name, part in parts.items()}

    @property
    def graph(self) -> NeighbourGraph:
        """The graph by which cuts are judged."""
        return self.pools[GAPS].graph

    @property
    def most_clusters(self) -> int:
        """The largest number of clusters that every member has groups for."""
        return min(pool.most_clusters for pool in self.pools.values())

    @property
    def candidates(self) -> list[Candidate]:
        """Between which labelings was chosen, for every number of clusters at which the forest was cut."""
        return [candidate for k in sorted(self._candidates) for candidate in self._candidates[k]]

    @property
    def first_groups(self) -> Labels:
        """The groups of the rows by the first member."""
        return self.pools[GAPS].members[0].groups

    def trees(self, rule: str) -> list[MergeTree]:
        """The trees of the members that merge freely by a rule."""
        return [member.tree for member in self.pools[GAPS].members if member.rule == rule]

    def cut(self, k: int) -> Cut:
        """The labeling at k clusters that ``forest/_choice.py`` chooses: of a pool, by single moves, or by columns."""
        cuts = {name: pool.cut(k) for name, pool in self.pools.items()}
        merits = {name: self._merits(found.labels, k) for name, found in cuts.items()}
        best = choose(merits)
        if self.moves is not None and may_be_moved(merits, k):
            labels = self.moves(k, cuts[best].labels)
            merits[MOVES], cuts[MOVES] = self._merits(labels, k), cuts[best]
            if choose(merits) == MOVES:
                cuts[MOVES], best = cuts[best].replaced_by(labels, k), MOVES
        followed = self._by_columns(k, cuts[best])
        if followed is not None:
            cuts[BY_COLUMNS], merits[BY_COLUMNS] = followed, self._merits(followed.labels, k)
            agreement = float(cuts[best].agreement.mean())
            best = best if self._gaps_are_plain(merits[best], agreement, merits[BY_COLUMNS]) else BY_COLUMNS
        self._candidates[k] = [
            Candidate(
                k, name, found.cut_per_bit, found.explained, float(cuts[name].agreement.mean()), name == best,
                self._explained_columns(cuts[name].labels, k),
            )
            for name, found in merits.items()
        ]  # fmt: skip
        return cuts[best]

    def _by_columns(self, k: int, best: Cut) -> Cut | None:
        """Latent classes of the table as clusters, beside the pool that is best without them."""
        classes = None if self.columns is None or k == 1 else self.columns.classes(k)
        if self.columns is None or classes is None:
            return None
        labels = classes.labels(self.columns.codes)
        found = replace(best, members=self.columns.members(k)).replaced_by(labels, k)
        first_rows = np.unique(found.labels, return_index=True)[1]
        return replace(found, classes=classes.in_order(labels[first_rows].astype(np.int64)))

    def _gaps_are_plain(self, gaps: Merits, agreement: float, columns: Merits) -> bool:
        assert self.columns is not None
        return self.columns.measures_gaps and are_plain(gaps, agreement, columns)

    def _explained_columns(self, labels: Labels, k: int) -> float | None:
        return None if self.columns is None else float(self.columns.shares(labels, k).mean())

    def _merits(self, labels: Labels, k: int) -> Merits:
        sums, sizes = self.space.whitened_sums(labels, k), np.bincount(labels, minlength=k)
        share = explained(sums, sizes) / max(k - 1, 1)
        return Merits(
            *(round(merit, DIGITS) for merit in (cut_per_bit(self.graph, labels, k), evenness(labels, k), float(share)))
        )
