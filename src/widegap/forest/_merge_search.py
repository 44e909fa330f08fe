"""Search by over-clustering and merging: many small groups, trees that assemble them, and what the trees agree on.

Looking for k clusters at once goes wrong where clusters are long, nested or of very unequal size; looking for many more
*groups* than clusters hardly ever does. So rows are first split into groups (k-means on smoothed kernel features), the
groups are merged down to one by several rules (``forest/_linkage.py``), and every tree is cut at k. Each such cut is a
*member*. No single rule is best everywhere; what the members agree on (``forest/_agreement.py``) is better than most
of them, and nearly the same for every seed.

Four sets of landmarks and two strengths of smoothing give eight ways to form groups, every other set with twice as many
groups; three rules each make 24 members. Fewer rows have 12, from two sets of landmarks or, where a second set would
cost as much as the merging itself, from one in which groups are formed twice (``PLANS``). A member is left out where it
has a tiny cluster that is not isolated: a few rows in the midst of others are an artefact of merging, a
few rows apart from all others are not. What the members agree on is looked at once more where a cluster is small
(``forest/_small_clusters.py``). Of documents, where near-duplicates stand apart in every tree, small parts of close
rows do not count as clusters of a member (``forest/_condensed_cuts.py``).

Members are rough on purpose: leading features only, and one run of k-means on few axes from seeds drawn in haste. Each
is as good as a careful one to within the noise, at less than half of the time, and twice as many agree better.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from widegap._types import Floats, Labels
from widegap.features._kmeans import kmeans
from widegap.features._neighbours import NeighbourGraph
from widegap.features._principal import PrincipalMap
from widegap.forest._agreement import Agreement, agree, row_agreement
from widegap.forest._condensed_cuts import condensed_cut, rows_needed
from widegap.forest._confusion import confusion_of_groups
from widegap.forest._linkage import AverageLinkage, DegreeLinkage, LinkageRule, MergeTree, merge_all
from widegap.forest._search_space import ROUNDED_SCATTER
from widegap.forest._single_moves import cluster_sums, explained
from widegap.forest._small_clusters import TINY_CLUSTER, border_to_drop, may_give_way

GroupPlan = Sequence[Sequence[int]]

SMOOTHINGS = (2, 8)  # steps of averaging over neighbours before groups are formed
LEADING = 100  # features of the kernel that members see
GROUP_AXES = 40  # principal axes on which groups are formed
GROUP_TURNS = 20  # of k-means: those that would follow move no row to another cluster
GROUP_TURNS_OF_FEW = 10  # the same, where the rows are so few that their plan is one of PLANS
ROWS_A_GROUP = 8  # in the mean, at least, for a classifier and for edges between groups; not tuned
ALL_RULES = ("margin", "graph", "degree product")
PLAN: GroupPlan = ((1,), (2,), (1,), (2,))  # for every set of landmarks: how many times the least number of groups
PLANS: dict[int, GroupPlan] = {1500: ((1, 2),), 2000: ((1,), (2,))}  # of fewer rows than these
ISOLATED = 0.1  # conductance below which a cluster counts as isolated


@dataclass(frozen=True)
class Member:
    """The groups of all rows, after ``steps`` of smoothing, and one way to merge them."""

    rule: str
    steps: int
    groups: Labels
    tree: MergeTree

    @property
    def kind(self) -> str:
        """Rule, number of groups and steps, for the record."""
        return f"{self.rule}, {len(self.tree.leaf_sizes)} groups, {self.steps} steps"

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
    """Clusters of all rows, what they were cut from, how much the members agree on each row, and their clusters."""

    labels: Labels
    source: Agreement
    agreement: Floats
    members: list[Labels]

    @property
    def tree(self) -> MergeTree:
        """The tree that they were cut from."""
        return self.source.tree


@dataclass(frozen=True)
class Forest:
    """The members, the graph by which their cuts are judged, and the spacing of the rows where cuts depend on it."""

    members: list[Member]
    graph: NeighbourGraph
    spacing: Floats | None = None

    @property
    def most_clusters(self) -> int:
        """The largest number of clusters that every member has groups for."""
        return min(len(member.tree.leaf_sizes) for member in self.members)

    def trees(self, rule: str) -> list[MergeTree]:
        """The trees of the members that merge by a rule."""
        return [member.tree for member in self.members if member.rule == rule]

    def cuts(self, k: int) -> list[Labels]:
        """Clusters of all rows by every member."""
        return [member.labels(k, self.spacing) for member in self.members]

    def cut(self, k: int) -> Cut:
        """What the members agree on at k clusters; of a single member its own cut."""
        if len(self.members) == 1:
            (member,) = self.members
            labels = member.labels(k, self.spacing)
            return Cut(labels, Agreement(member.tree, member.groups), np.ones(len(labels)), [labels])
        found = self._agreed(k)
        if 1 < k < self.most_clusters and may_give_way(np.bincount(found.labels, minlength=k)):
            return self._without_small_cluster(found, k) or found
        return found

    def _agreed(self, k: int) -> Cut:
        """What the members agree on at k clusters, those left out that are not sound."""
        cuts = self.cuts(k)
        members = np.column_stack([labels for labels in cuts if self._is_sound(labels, k)] or cuts)
        found = agree(members)
        labels = found.cut(k)
        return Cut(labels, found, row_agreement(members, labels, k), cuts)

    def share_sound(self, k: int) -> float:
        """Share of the members whose cut at k clusters counts."""
        return float(np.mean([self._is_sound(labels, k) for labels in self.cuts(k)]))

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
        return Cut(source.cut(k), source, fine.agreement, found.members)

    def _is_sound(self, labels: Labels, k: int) -> bool:
        """Whether every tiny cluster is isolated."""
        tiny = np.bincount(labels, minlength=k) < TINY_CLUSTER * len(labels) / k
        return not tiny.any() or bool((conductances(self.graph, labels, k)[tiny] < ISOLATED).all())


def conductances(graph: NeighbourGraph, labels: Labels, k: int) -> Floats:
    """Share of each cluster's edges that leave it (of the rest's, where that has fewer), in both directions."""
    E = graph.weights_between(labels, k)
    volumes = E.sum(axis=1)
    leaving = volumes - np.diag(E)
    return leaving / np.maximum(np.minimum(volumes, volumes.sum() - volumes), np.finfo(np.float64).tiny)


def plan_of_members(n: int) -> GroupPlan:
    """From how many sets of landmarks members of n rows grow, and with how many groups."""
    return next((plan for rows, plan in PLANS.items() if n < rows), PLAN)


def n_members(n: int, smoothings: Sequence[int] = SMOOTHINGS) -> int:
    """How many members n rows have."""
    return sum(map(len, plan_of_members(n))) * len(smoothings) * len(ALL_RULES)


def n_groups(n: int, k: int, times: int) -> int:
    """How many groups to form of n rows for k clusters."""
    return min(n, max(k, min(n // ROWS_A_GROUP, times * (4 * k + 20))))


def grow(
    features: Callable[[], Floats],
    graph: NeighbourGraph,
    k: int,
    rng: np.random.Generator,
    plan: GroupPlan,
    smoothings: Sequence[int] = SMOOTHINGS,
    rules: Sequence[str] = ALL_RULES,
) -> Iterator[Member]:
    """The members, one after the other; ``features`` makes features of all rows, each time from other landmarks."""
    for multiples in plan:
        Phi = smoothed = features().astype(np.float32, copy=False)
        done, least = 0, ROUNDED_SCATTER * float(np.square(Phi, dtype=np.float64).sum())
        for steps in smoothings:
            smoothed, done = graph.smooth(smoothed, steps - done), steps
            P = _coordinates(smoothed, Phi, least)
            for times in multiples:
                groups, m = form_groups(P, n_groups(len(P), k, times), rng)
                graph_sums = GroupGraph.of(graph, P, groups, m)
                for rule in rules:
                    yield Member(rule, steps, groups, graph_sums.merge(RULES[rule](P, graph_sums)))


def _coordinates(smoothed: Floats, Phi: Floats, least: float) -> Floats:
    """Principal coordinates of smoothed features; of the features themselves where these have hardly any scatter."""
    principal = PrincipalMap.fit(smoothed)
    if principal.lam.sum() > least:
        return principal.transform(smoothed)
    return PrincipalMap.fit(Phi).transform(Phi)


def form_groups(P: Floats, m: int, rng: np.random.Generator) -> tuple[Labels, int]:
    """Groups by k-means on the leading principal axes, and their number: fewer where rows repeat."""
    axes = np.ascontiguousarray(P[:, :GROUP_AXES])
    found = kmeans(axes, m, GROUP_TURNS_OF_FEW if len(P) < max(PLANS) else GROUP_TURNS, rng)
    filled = np.bincount(found.labels) > 0
    return (np.cumsum(filled, dtype=np.int32) - 1)[found.labels], int(filled.sum())


@dataclass(frozen=True)
class GroupGraph:
    """The neighbour graph between groups: the sums E of its weights, (m, m).

    ``closeness`` (m, m) is the nearness of the groups' means, which decides between groups that nothing connects.
    """

    graph: NeighbourGraph
    groups: Labels
    sizes: Any
    E: Floats
    closeness: Floats

    @classmethod
    def of(cls, graph: NeighbourGraph, P: Floats, groups: Labels, m: int) -> "GroupGraph":
        sizes = np.bincount(groups, minlength=m)
        means = cluster_sums(P, groups, m) / sizes[:, None]
        apart = cdist(means, means, "sqeuclidean")
        closeness = 1 / (1 + apart / max(float(apart.mean()), np.finfo(np.float64).tiny))
        return cls(graph, groups, sizes, graph.weights_between(groups, m), closeness)

    def merge(self, rule: LinkageRule) -> MergeTree:
        """The tree of a rule."""
        return merge_all(rule, self.E, self.closeness, self.sizes)


def _margin(P: Floats, graph: GroupGraph) -> LinkageRule:
    confused = confusion_of_groups(P, graph.groups, len(graph.sizes))
    return AverageLinkage(confused + confused.T, graph.sizes)


def _graph(P: Floats, graph: GroupGraph) -> LinkageRule:
    return AverageLinkage(graph.E, graph.sizes)


def _degree_product(P: Floats, graph: GroupGraph) -> LinkageRule:
    out, into = graph.graph.weights_to(graph.groups, len(graph.sizes))
    return DegreeLinkage(into, out, graph.groups, graph.sizes)


RULES: dict[str, Callable[[Floats, GroupGraph], LinkageRule]] = {
    "margin": _margin,
    "graph": _graph,
    "degree product": _degree_product,
}
