"""Communities of the neighbour graph: groups whose rows have more weight among each other than chance would give them.

*Objective.* S = W + W' are the symmetric weights of the graph, v_i = sum_j S_ij the volume of row i, T = sum_i v_i, and
g the resolution. Communities c maximise the modularity

    Q = sum over c of  E_cc / T - g (v_c / T)^2,     E_cc = sum of S_ij over i, j in c,  v_c = sum of v_i over i in c.

A larger resolution gives more and smaller communities. If row i, taken out of its community, joins c, then T Q / 2
grows by ``S_ic - g v_i v_c / T`` with S_ic the weights from i to c; alone it gets 0. The best move compares these.

*Search* (Blondel et al., "Fast unfolding of communities in large networks", 2008). Rows begin alone and are visited in
random order; each makes its best move, and the neighbours that it leaves behind are visited again. When no move of a
row raises Q, communities become the nodes of a smaller graph, where the same is done, until no community joins another.
To move single rows once more at the end would raise Q by 2 %, but the groups merge worse: of 70,000 digits of MNIST the
clusters fell from .96 to .87 in three of seven runs, without these moves in two of twenty.

*Cost.* A visit costs the edges of the row. Rows in the midst of others (hubs) have very many edges, and one of their
neighbours moves all the time. So visits are counted by edges, and in a large graph a level ends when every edge has
been looked at ``MOST_PASSES`` times in the mean, whether or not a gain is left. Hubs keep all of their edges.

*Number.* The resolution is adjusted until the number of communities is near the wanted one; ``CommunitySearch``
remembers it. Communities never span two components of the graph. A component with far fewer rows than a wanted group
(a row without edges above all) is a group by itself and does not count: else a few hundred rows apart from the rest
would leave no group for the rest. So there can be more groups than wanted, by the number of such components.

========  =====================================================================================
symbol    meaning
========  =====================================================================================
S         symmetric weights, CSR (n, n): ``columns`` and ``values`` of row i from ``ends[i]`` to ``ends[i + 1]``
volumes   v_i of the nodes; ``totals`` v_c of the communities
pull      g / T, by which the volume of a community repels
========  =====================================================================================
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from widegap._jit import jit
from widegap._types import Doubles, Ints, Labels, Mask, SparseMatrix

FIRST_RESOLUTION = 0.1  # for each wanted group, where the first search begins: .1 on digits, .05 on two Gaussians
COUNT_TOL = 0.3  # error of the logarithm of their number that groups may have; not tuned
MOST_TRIES = 4  # times that rows join parts for one number of groups; the nearest number counts
MOST_STEPS = 20  # resolutions that are tried on the graph of the parts: bisection of the widest step to 1 in 10^5
PARTS_FINER = 1.5  # resolution of the parts over the one expected: too few parts cost another try, too many nothing
WIDEST_STEP = 6.0  # from the resolution of the parts down to that of their communities; below, rows join other parts
FEWEST_OF_MEAN = 1 / 8  # of the rows of a mean group: a smaller component does not count as a group; not tuned
MOST_PASSES = (
    5  # visits of an edge, in the mean, before a level ends; 1000 take 3 to 8 times as long for the same purity
)
MOST_VISITS_OF_FEW = 1 << 20  # visits of edges that every graph may have: they take a hundredth of a second
MOST_COARSENINGS = 30  # a bound on the loop alone: 70,000 rows have four
LEAST_GAIN = 1e-10  # gains below this share of a row's volume are rounding
TINY_TOTAL = float(np.finfo(np.float64).tiny)  # of the weights of a graph without edges


@dataclass(frozen=True)
class _Graph:
    """A symmetric graph as compiled loops take it, the volumes of its nodes, and T."""

    ends: Ints
    columns: Labels
    values: Doubles
    volumes: Doubles
    total: float

    def between(self, labels: Labels) -> "_Graph":
        """The graph of communities; weights within one become an edge to itself, which local moves leave out."""
        sizes = np.bincount(labels)
        members, starts = np.argsort(labels, kind="stable"), np.concatenate([[0], np.cumsum(sizes)])
        k, n_edges = len(starts) - 1, len(self.columns)
        ends, columns, values = np.zeros(k + 1, np.int64), np.empty(n_edges, np.int32), np.empty(n_edges)
        edges = self.ends, self.columns, self.values, labels, members, starts
        _sum_edges(*edges, np.zeros(k), ends, columns, values)
        columns, values = columns[: ends[-1]].copy(), values[: ends[-1]].copy()  # without the room for more
        volumes = np.asarray(np.bincount(labels, self.volumes), dtype=np.float64)
        return _Graph(ends, columns, values, volumes, self.total)


def symmetric_graph(weights: SparseMatrix) -> SparseMatrix:
    """S = W + W' without empty entries, in float64: sums over communities are then exact enough to compare gains."""
    S: SparseMatrix = sp.csr_array(weights + weights.T).astype(np.float64)
    S.eliminate_zeros()
    return S


class CommunitySearch:
    """Communities of the symmetric weights S, in the number that is wanted.

    ``resolution_per_group`` is where the next search begins: the last resolution over the number of groups wanted.
    """

    def __init__(self, S: SparseMatrix):
        volumes = np.asarray(S.sum(axis=1), dtype=np.float64).ravel()
        ends, columns = S.indptr.astype(np.int64), S.indices.astype(np.int32)
        self._graph = _Graph(ends, columns, S.data.astype(np.float64), volumes, max(float(volumes.sum()), TINY_TOTAL))
        self._components = connected_components(S, directed=False)[1]
        self.resolution_per_group = FIRST_RESOLUTION

    def find(self, wanted: int, rng: np.random.Generator) -> Labels:
        """About ``wanted`` groups, the largest first, among equal ones that of the first row."""
        n = len(self._components)
        if wanted >= n:
            return np.arange(n, dtype=np.int32)
        counted = self._counted(wanted)
        found, error, resolution = np.zeros(n, np.int32), np.inf, wanted * self.resolution_per_group
        for _ in range(MOST_TRIES):
            labels, resolution = self._adjusted(resolution, wanted, counted, rng)
            ratio = _n_counted(labels, counted) / wanted
            if abs(np.log(ratio)) < error:
                found, error = labels, float(abs(np.log(ratio)))
                self.resolution_per_group = resolution / wanted
            if error <= COUNT_TOL:
                break
            resolution /= ratio
        return _by_size(found)

    def at(self, resolution: float, rng: np.random.Generator) -> Labels:
        """The communities of one resolution, numbered from 0 in any order."""
        return _coarsened(self._graph, resolution, rng)

    def _adjusted(
        self, resolution: float, wanted: int, counted: Mask, rng: np.random.Generator
    ) -> tuple[Labels, float]:
        """Communities of a resolution near the given one, in the number wanted if possible, and that resolution.

        Rows join parts once, at a higher resolution than expected. To try lower ones on the graph of the parts costs
        little; higher ones would need smaller parts.
        """
        high = resolution * PARTS_FINER
        parts, low = _joined(self._graph, high, rng), high / WIDEST_STEP
        graph, counted_parts = self._graph.between(parts), np.bincount(parts, counted) > 0
        for _ in range(MOST_STEPS):
            labels = _coarsened(graph, resolution, rng)
            count = _n_counted(labels, counted_parts)
            if abs(np.log(count / wanted)) <= COUNT_TOL / 3:
                break
            low, high = (resolution, high) if count < wanted else (low, resolution)
            resolution *= wanted / count
            if not low < resolution < high:
                resolution = float(np.sqrt(low * high))
        return labels[parts], resolution

    def _counted(self, wanted: int) -> Mask:
        """The rows of components that are large enough to count; all rows if none is."""
        sizes = np.bincount(self._components)
        counted: Mask = (sizes >= FEWEST_OF_MEAN * len(self._components) / wanted)[self._components]
        return counted if counted.any() else ~counted


def _coarsened(graph: _Graph, resolution: float, rng: np.random.Generator) -> Labels:
    """Communities of the nodes of a graph by moves of nodes, then of communities, until none joins another."""
    labels = np.arange(len(graph.volumes), dtype=np.int32)
    for _ in range(MOST_COARSENINGS):
        joined = _joined(graph, resolution, rng)
        labels = joined[labels]
        if int(joined.max()) + 1 == len(joined):
            break
        graph = graph.between(joined)
    return labels


def _joined(graph: _Graph, resolution: float, rng: np.random.Generator) -> Labels:
    """Communities by local moves of nodes that begin alone."""
    labels = np.arange(len(graph.volumes), dtype=np.int32)
    local_moves(graph, labels, resolution, rng)
    return _compact(labels)


def local_moves(graph: _Graph, labels: Labels, resolution: float, rng: np.random.Generator) -> float:
    """Moves of single nodes while they raise Q, which change the labels; returns by how much T Q / 2 has grown."""
    order = rng.permutation(len(labels)).astype(np.int32)
    pull = resolution / graph.total
    n = len(labels)
    totals, sizes = np.bincount(labels, graph.volumes, n), np.bincount(labels, minlength=n).astype(np.int32)
    empty, queue, touched = np.empty((3, n), np.int32)
    n_empty, most = np.count_nonzero(sizes == 0), max(MOST_PASSES * len(graph.columns), MOST_VISITS_OF_FEW)
    empty[:n_empty] = np.flatnonzero(sizes == 0)
    edges = graph.ends, graph.columns, graph.values, graph.volumes
    memory = totals, sizes, empty, queue, touched, np.zeros(n), np.zeros(n, dtype=bool)
    gained: float = _visit(*edges, labels, pull, order, most, n_empty, *memory)
    return gained


def _compact(labels: Labels) -> Labels:
    """The labels numbered from 0 without gaps."""
    used = np.bincount(labels) > 0
    return (np.cumsum(used, dtype=np.int32) - 1)[labels]


def _n_counted(labels: Labels, counted: Mask) -> int:
    """How many labels occur among the rows that count."""
    return int(np.count_nonzero(np.bincount(labels, counted)))


def _by_size(labels: Labels) -> Labels:
    """The labels numbered by the size of the groups, the largest first, then by their first row."""
    _, first, groups, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), np.int32)
    rank[np.lexsort((first, -sizes))] = np.arange(len(first), dtype=np.int32)
    return rank[groups]


@jit
def _visit(  # type: ignore[no-untyped-def]
    ends, columns, values, volumes, labels, pull, order, left, n_empty,
    totals, sizes, empty, queue, touched, to, waiting,
):  # fmt: skip
    """Visit the nodes in order, and again those whose neighbour has left, then all once more, until none has moved.

    Volumes of communities change for nodes that are no neighbours, too: hence the last rounds. Labels are below n.
    ``totals`` and ``sizes`` are those of the communities, ``empty`` begins with those that have no node.
    """
    n, head, length, gained, settled = len(labels), 0, 0, 0.0, False
    while left >= 0:
        if length == 0:
            if settled:
                break
            head, length, settled = 0, n, True
            for i in range(n):
                queue[i] = order[i]
                waiting[i] = True
        i = queue[head]
        head = head + 1 if head + 1 < n else 0
        length -= 1
        waiting[i] = False
        left -= ends[i + 1] - ends[i]
        own, n_touched = labels[i], 0
        for place in range(ends[i], ends[i + 1]):
            j = columns[place]
            if j != i:
                c = labels[j]
                touched[n_touched] = c  # there is room: other nodes are in n - 1 communities at most
                n_touched += to[c] == 0.0  # without a branch, which processors guess wrong
                to[c] += values[place]
        totals[own] -= volumes[i]
        present = to[own] - pull * volumes[i] * totals[own]
        best, most = own, present + LEAST_GAIN * volumes[i]
        if sizes[own] > 1 and most < 0.0:
            best, most = empty[n_empty - 1], 0.0
        for t in range(n_touched):
            c = touched[t]
            value = to[c] - pull * volumes[i] * totals[c]
            if value > most + LEAST_GAIN * volumes[i]:
                best, most = c, value
            to[c] = 0.0
        totals[best] += volumes[i]
        if best == own:
            continue
        gained += most - present
        settled = False
        if sizes[best] == 0:
            n_empty -= 1
        sizes[own] -= 1
        sizes[best] += 1
        if sizes[own] == 0:
            empty[n_empty] = own
            n_empty += 1
        labels[i] = best
        for place in range(ends[i], ends[i + 1]):
            j = columns[place]
            if labels[j] != best and not waiting[j]:
                waiting[j] = True
                queue[head + length if head + length < n else head + length - n] = j
                length += 1
    return gained


@jit
def _sum_edges(ends, columns, values, labels, members, starts, to, new_ends, found, sums):  # type: ignore[no-untyped-def]
    """Sums of the weights between communities, as CSR; ``members`` are their nodes, from ``starts[c]`` on.

    ``to`` are zeros for all communities.
    """
    filled = 0
    for c in range(len(to)):
        first = filled
        for m in range(starts[c], starts[c + 1]):
            for place in range(ends[members[m]], ends[members[m] + 1]):
                other = labels[columns[place]]
                if to[other] == 0.0:
                    found[filled] = other
                    filled += 1
                to[other] += values[place]
        for place in range(first, filled):
            sums[place] = to[found[place]]
            to[found[place]] = 0.0
        new_ends[c + 1] = filled
