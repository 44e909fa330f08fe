"""Search by over-clustering and merging: many small groups, trees that assemble them, and what the trees agree on.

Looking for k clusters at once goes wrong where clusters are long, nested or of very unequal size; looking for many more
*groups* than clusters hardly ever does. So rows are first split into groups (k-means on smoothed kernel features), the
groups are merged down to one by several rules (``forest/_linkage.py``), and every tree is cut at k. Each such cut is a
*member*. No single rule is best everywhere; what the members agree on (``forest/_agreement.py``) is better than most
of them, and nearly the same for every seed. The same groups and rules are merged twice, freely and under a cap on the
inequality of sizes: two *pools* of members, between which ``forest/_pools.py`` chooses.

Four sets of landmarks and two strengths of smoothing give eight ways to form groups, every other set with twice as many
groups; three rules each make 24 members of a pool. Fewer rows have 12, from two sets of landmarks or, where a second
set would cost as much as the merging itself, from one in which groups are formed twice (``PLANS``).

Members are rough on purpose: leading features only, and one run of k-means on few axes from seeds drawn in haste. Each
is as good as a careful one to within the noise, at less than half of the time, and twice as many agree better.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from widegap._types import Floats, Labels, Matrix
from widegap.features._kmeans import kmeans
from widegap.features._neighbours import EXACT_ROWS, NeighbourGraph, neighbour_graph
from widegap.features._principal import PrincipalMap
from widegap.features._rounding import on_grid
from widegap.forest._choice import COMMUNITIES, EVEN, GAPS
from widegap.forest._communities import CommunitySearch, symmetric_graph
from widegap.forest._confusion import confusion_of_groups
from widegap.forest._linkage import NO_CAP, AverageLinkage, DegreeLinkage, LinkageRule, MergeTree, merge_all
from widegap.forest._pools import Member
from widegap.forest._search_space import ROUNDED_SCATTER
from widegap.forest._single_moves import cluster_sums

GroupPlan = Sequence[Sequence[int]]

SMOOTHINGS = (2, 8)  # steps of averaging over neighbours before groups are formed
LEADING = 100  # features of the kernel that members see
GROUP_AXES = 40  # principal axes on which groups are formed
GROUP_TURNS = 20  # of k-means: those that would follow move no row to another cluster
GROUP_TURNS_OF_FEW = 10  # the same, where the rows are so few that their plan is one of PLANS
ROWS_A_GROUP = 8  # in the mean, at least, for a classifier and for edges between groups; not tuned
ALL_RULES = ("margin", "graph", "degree product")
PLAN: GroupPlan = ((1,), (2,), (1,), (2,))  # for every set of landmarks: how many times the least number of groups
PLAN_OF_MANY: GroupPlan = ((1,), (2,))  # of COMMUNITY_ROWS rows and more, whose communities are groups as well
PLAN_BESIDE: GroupPlan = ((1, 2),)  # where latent classes are followed, and members serve constraints and the tree
PLANS: dict[int, GroupPlan] = {1500: ((1, 2),), 2000: ((1,), (2,))}  # of fewer rows than these
COMMUNITY_ROWS = 5_000  # from which communities are groups, too: with fewer rows svmguide1 and image lose by them
COMMUNITY_PLAN = (1, 2) * 4  # times the least number of groups, for every partition; 4 partitions vary between seeds
COMMUNITY_RULES = ("graph", "degree product")  # groups of the graph are merged by the graph
WIDER = 2  # times as many neighbours for more than EXACT_ROWS rows: the reach of the graph must grow with them
WIDER_LINKED = 40  # of them have a weight
CAPS = {GAPS: NO_CAP, EVEN: 0.3}  # on the Gini index of the sizes, of every pool; 0.3 is Genie's


def plan_of_members(n: int, *, has_communities: bool) -> GroupPlan:
    """From how many sets of landmarks members of n rows grow, and with how many groups."""
    if has_communities and n >= COMMUNITY_ROWS:
        return PLAN_OF_MANY
    return next((plan for rows, plan in PLANS.items() if n < rows), PLAN)


def n_members(n: int, smoothings: Sequence[int] = SMOOTHINGS) -> int:
    """How many members n rows have whose groups are those of k-means, in all pools."""
    return sum(map(len, plan_of_members(n, has_communities=True))) * len(smoothings) * len(ALL_RULES) * len(CAPS)


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
    pools: Sequence[str] = (GAPS, EVEN),
) -> Iterator[Member]:
    """The members, one after the other; ``features`` makes features of all rows, each time from other landmarks."""
    for multiples in plan:
        Phi = smoothed = on_grid(features(), np.float32)
        done, least = 0, ROUNDED_SCATTER * float(np.square(Phi, dtype=np.float64).sum())
        for steps in smoothings:
            smoothed, done = graph.smooth(smoothed, steps - done), steps
            P = _coordinates(smoothed, Phi, least)
            for times in multiples:
                groups, m = form_groups(P, n_groups(len(P), k, times), rng)
                graph_sums = GroupGraph.of(graph, P, groups, m)
                for rule in rules:
                    linkage = RULES[rule](P, graph_sums)
                    for pool in pools:
                        own = linkage if pool == pools[-1] else deepcopy(linkage)  # merging changes it
                        yield Member(pool, rule, steps, groups, graph_sums.merge(own, CAPS[pool]))


def search_graph(rows: Matrix, n_neighbors: int, n_threads: int) -> NeighbourGraph:
    """The graph of a search, with a wider reach where there are many rows."""
    if rows.shape[0] <= EXACT_ROWS:
        return neighbour_graph(rows, n_neighbors, n_threads)
    return neighbour_graph(rows, WIDER * n_neighbors, n_threads, WIDER_LINKED)


def grow_communities(graph: NeighbourGraph, P: Floats, k: int, rng: np.random.Generator) -> Iterator[Member]:
    """Members whose groups are communities of the graph; P are features of the rows."""
    search = CommunitySearch(symmetric_graph(graph.weights))
    for times in COMMUNITY_PLAN:
        groups = search.find(n_groups(len(P), k, times), rng)
        graph_sums = GroupGraph.of(graph, P, groups, int(groups.max()) + 1)
        for rule in COMMUNITY_RULES:
            tree = graph_sums.merge(RULES[rule](P, graph_sums))
            yield Member(COMMUNITIES, rule, 0, groups, tree)


def _coordinates(smoothed: Floats, Phi: Floats, least: float) -> Floats:
    """Principal coordinates of smoothed features; of the features themselves where these have hardly any scatter."""
    principal = PrincipalMap.fit(smoothed)
    if principal.lam.sum() > least:
        return principal.transform(smoothed)
    return PrincipalMap.fit(Phi).transform(Phi)


def form_groups(P: Floats, m: int, rng: np.random.Generator) -> tuple[Labels, int]:
    """Groups by k-means on the leading principal axes, and their number: fewer where rows repeat."""
    axes = np.ascontiguousarray(on_grid(P[:, :GROUP_AXES], np.float32))
    labels = kmeans(axes, m, GROUP_TURNS_OF_FEW if len(P) < max(PLANS) else GROUP_TURNS, rng)
    filled = np.bincount(labels) > 0
    return (np.cumsum(filled, dtype=np.int32) - 1)[labels], int(filled.sum())


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

    def merge(self, rule: LinkageRule, cap: float = NO_CAP) -> MergeTree:
        """The tree of a rule, under a cap on the inequality of sizes; merging changes the rule."""
        return merge_all(rule, self.E, self.closeness, self.sizes, cap)


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
