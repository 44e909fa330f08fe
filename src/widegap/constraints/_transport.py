"""Cheapest labels under bounds on the cluster sizes, solved exactly.

The problem is a transportation problem and has an integral solution:

    min_z  sum_i c[i, z_i]      subject to   m[p] <= #{i : z_i = p} <= M[p]   for every cluster p

Its dual has one price per cluster, however many rows there are; without upper bounds

    max_{pi >= 0}  pi'm + sum_i min_p (c[i, p] - pi[p]),

and with them prices below zero, a fee to join p, cost pi'M.

=========  =========================================================================================
symbol     meaning
=========  =========================================================================================
c          costs, shape (n, k): price of giving label p to row i
m, M       min_counts, max_counts, shape (k,): least and largest number of rows per cluster
z          labels, shape (n,)
pi         prices, shape (k,): what one more required row in p would cost; a subsidy to join p
w[p, q]    min over the rows i now in p of c[i, q] - c[i, p]: the cheapest move from p to q
surplus    clusters with more rows than m; deficit: clusters with fewer
=========  =========================================================================================

Algorithm: successive shortest paths. Begin with every row at its cheapest label, then move one unit at a time
from a surplus cluster to a deficit cluster along a shortest path in the complete graph of the k clusters with
edge lengths w. The labels stay optimal for the counts they have, so they are optimal when the last deficit is
gone. Ensured at every step, with pi[p] the length of the shortest path from the surplus clusters to p:

* pi[q] <= pi[p] + w[p, q], which says that each row minimises c[i, p] - pi[p] at its own label;
* pi = 0 on surplus clusters, pi >= 0 elsewhere, and no pi[p] ever falls.

Moving a unit along a shortest path keeps all of it, so the distances found by the last search are the optimal
prices. They also serve as Johnson potentials: w[p, q] + pi[p] - pi[q] >= 0 although w itself may be negative,
so Dijkstra replaces Bellman-Ford. Besides taking k^2 in place of k^3 steps it makes rounding harmless: a
cycle of length -1e-17 can close a loop of Bellman-Ford parents; Dijkstra's parents always form a forest.

Upper bounds come second: labels that are optimal for the lower bounds alone may fill a cluster beyond M. One row at a
time leaves such a cluster, along a shortest path to a further node T: a cluster p with fewer than M[p] rows has an edge
of length 0 to T, and T one of length 0 to every cluster with more than m[p] rows. These edges keep the signs of the
prices, which are the distances minus that of T.

The edges (p, q) are binary heaps of row numbers, ordered by c[i, q] - c[i, p] read from c. A row that left p
stays in the heaps of p until it surfaces. Heaps have room for n/k arrivals; when a cluster has had that many,
all are built anew. A step adds at most one row to a cluster, so that happens less than k times.

Time, with D the total deficit (then the total excess): O(nk) when D = 0, else
O(nk (1 + Dk/n) + D (k^2 + L k log n)) where L is the number of edges of a path, mostly 1 or 2. Memory beside c: 25 n
bytes, and if D > 0 another 4 (k - 1) (n + min(kD, n + k)) bytes of heaps, at most about as much as c in float64.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widegap._jit import allocating_jit, jit
from widegap.constraints._size_bounds import check_max_counts, check_min_counts
from widegap.exceptions import InvalidDataError

# Differences of two costs, and sums of k of them, must not overflow.
_LARGEST_COST = 1e300


@dataclass(frozen=True)
class Assignment:
    """Optimal labels and the prices that prove them optimal.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
        Cluster of each row.
    prices : ndarray of shape (k,), float64
        Optimal dual prices: > 0 only where the cluster has exactly its minimum of rows, < 0 only where it has exactly
        its maximum. Each row's label minimises `costs[i] - prices` up to rounding.
    """

    labels: NDArray[np.int32]
    prices: NDArray[np.float64]


def assign(costs: ArrayLike, min_counts: ArrayLike, max_counts: ArrayLike | None = None) -> Assignment:
    """Label the rows at least total cost so that sizes of clusters are within bounds.

    Parameters
    ----------
    costs : array of shape (n, k)
        Finite costs of either sign, at most 1e300 in size. float32 and float64 arrays of any memory layout
        are read in place, other types are converted; all arithmetic is in float64.
    min_counts : integer array of shape (k,)
        Lower bounds on the cluster sizes, >= 0, with a sum of at most n.
    max_counts : integer array of shape (k,), default=None
        Upper bounds, not below the lower ones, with a sum of at least n. None for no bound.

    Returns
    -------
    Assignment
        The same for the same input. If the row-wise cheapest labels, the lowest index among equals, satisfy
        the bounds, it is these with zero prices.

    Raises
    ------
    InfeasibleBalanceError
        If a bound does not fit `costs`, or no labeling can meet them.
    InvalidDataError
        If `costs` is not a matrix of finite numbers.
    """
    c = _check_costs(costs)
    m = check_min_counts(min_counts, *c.shape)
    labels = _find_cheapest(c)
    counts = np.bincount(labels, minlength=c.shape[1])
    prices = np.zeros(c.shape[1])
    if np.any(counts < m):
        labels, prices = _fill_deficits(c, labels, counts, m)
        prices = np.maximum(prices, 0.0)
        counts = np.bincount(labels, minlength=c.shape[1])
    if max_counts is None:
        return Assignment(labels, prices)
    most = check_max_counts(max_counts, m, len(c))
    if np.any(counts > most):
        labels, prices = _empty_excess(c, labels, counts, m, most, prices)
    return Assignment(labels, prices)


def _check_costs(costs: ArrayLike) -> NDArray[np.floating]:
    """Return costs as a float32 or float64 matrix that the loops can read."""
    c = np.asarray(costs)
    if c.dtype not in (np.float32, np.float64):
        c = c.astype(np.float64)
    if c.ndim != 2 or c.shape[1] == 0:
        raise InvalidDataError(
            f"costs has shape {c.shape}; it must be (n_rows, n_clusters) with at least one cluster. "
            "Pass one row of costs per data row."
        )
    row = _find_unusable_row(c)
    if row >= 0:
        raise InvalidDataError(
            f"costs[{row}] = {c[row]}; all costs must be finite and at most {_LARGEST_COST:g} in size. "
            "Remove NaN and infinity from the data or rescale it."
        )
    return c


@jit
def _find_unusable_row(c: NDArray[np.floating]) -> int:
    """Return the first row with a NaN, infinite or oversized cost, or -1."""
    for i in range(c.shape[0]):
        for p in range(c.shape[1]):
            # Negated so that NaN, which compares false with everything, is caught too; in float64, as NumPy would round
            # the bound to float32, which is infinity, where these loops run as plain Python.
            if not abs(np.float64(c[i, p])) <= _LARGEST_COST:
                return i
    return -1


@allocating_jit
def _find_cheapest(c: NDArray[np.floating]) -> NDArray[np.int32]:
    """Return each row's cheapest label, the lowest among equals."""
    labels = np.empty(c.shape[0], dtype=np.int32)
    for i in range(c.shape[0]):
        best = 0
        for p in range(1, c.shape[1]):
            if c[i, p] < c[i, best]:
                best = p
        labels[i] = best
    return labels


class _Graph(NamedTuple):
    """Labels and the moves they allow; all arrays are updated in place.

    The heap of edge (p, q) is `pool[start[p, q]:start[p, q] + size[p, q]]`. The topmost row of each heap is
    always one that is now in p, and `w` holds its key, or infinity if p is empty. `arrivals` counts the rows that
    came to each cluster since its heaps were built.
    """

    labels: NDArray[np.int32]
    counts: NDArray[np.int64]
    arrivals: NDArray[np.int64]
    w: NDArray[np.float64]
    pool: NDArray[np.int32]
    start: NDArray[np.int64]
    size: NDArray[np.int64]


@allocating_jit
def _fill_deficits(
    c: NDArray[np.floating], cheapest: NDArray[np.int32], counts: NDArray[np.int64], m: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return optimal labels and prices; some cluster must have a deficit."""
    n, k = c.shape
    prices = np.zeros(k)
    deficit = np.maximum(m - counts, 0).sum()
    room = min(deficit, n // k + 1)
    graph = _make_graph(c, cheapest, counts, room)
    for _ in range(deficit):
        if graph.arrivals.max() == room:
            _build_heaps(c, graph, room)
        prices, parents = _search_paths(graph.w, graph.counts > m, prices)
        # Any deficit cluster would do; the nearest keeps paths short, and so arrivals few.
        sink = int(np.argmin(np.where(graph.counts < m, prices, np.inf)))
        _move_along_path(c, graph, parents, sink)
    return graph.labels, prices


@allocating_jit
def _make_graph(c: NDArray[np.floating], labels: NDArray[np.int32], counts: NDArray[np.int64], room: int) -> _Graph:
    """The labels with heaps of the moves they allow, and for ``room`` arrivals in each."""
    n, k = c.shape
    graph = _Graph(
        labels.copy(),
        counts.copy(),
        np.empty(k, dtype=np.int64),
        np.empty((k, k)),
        np.empty((k - 1) * (n + k * room), dtype=np.int32),
        np.empty((k, k), dtype=np.int64),
        np.empty((k, k), dtype=np.int64),
    )
    _build_heaps(c, graph, room)
    return graph


@allocating_jit
def _empty_excess(
    c: NDArray[np.floating],
    labels: NDArray[np.int32],
    counts: NDArray[np.int64],
    m: NDArray[np.int64],
    most: NDArray[np.int64],
    prices: NDArray[np.float64],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return optimal labels and prices from those that are optimal without upper bounds; some must be exceeded."""
    n, k = c.shape
    excess = np.maximum(counts - most, 0).sum()
    room = min(excess, n // k + 1)
    graph = _make_graph(c, labels, counts, room)
    w = np.full((k + 1, k + 1), np.inf)  # the last node is T
    potentials = np.zeros(k + 1)
    potentials[:k] = prices
    sources = np.zeros(k + 1, dtype=np.bool_)
    for _ in range(excess):
        if graph.arrivals.max() == room:
            _build_heaps(c, graph, room)
        w[:k, :k] = graph.w
        for p in range(k):
            w[p, k] = 0.0 if graph.counts[p] < most[p] else np.inf
            w[k, p] = 0.0 if graph.counts[p] > m[p] else np.inf
            sources[p] = graph.counts[p] > most[p]
        potentials, parents = _search_paths(w, sources, potentials)
        _move_along_path(c, graph, parents, int(parents[k]))
    return graph.labels, potentials[:k] - potentials[k]


@allocating_jit
def _search_paths(
    w: NDArray[np.float64], surplus: NDArray[np.bool_], prices: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return distances from the surplus clusters and each cluster's parent on its path, -1 at roots."""
    k = len(prices)
    distances = np.zeros(k)
    parents = np.full(k, -1)
    reduced = np.where(surplus, 0.0, np.inf)
    is_open = np.ones(k, dtype=np.bool_)
    for _ in range(k):
        p = -1
        for q in range(k):
            if is_open[q] and (p < 0 or reduced[q] < reduced[p]):
                p = q
        is_open[p] = False
        if parents[p] >= 0:
            # Summed from the edges, not as prices + reduced, which would drift over thousands of searches.
            distances[p] = distances[parents[p]] + w[parents[p], p]
        for q in range(k):
            length = reduced[p] + max(0.0, w[p, q] + prices[p] - prices[q])
            if is_open[q] and length < reduced[q]:
                reduced[q] = length
                parents[q] = p
    return distances, parents


@jit
def _move_along_path(c: NDArray[np.floating], graph: _Graph, parents: NDArray[np.int64], sink: int) -> None:
    """Move one row over every edge of the path that ends in sink."""
    graph.counts[sink] += 1
    # From the sink upwards: a row enters a cluster only after the one chosen to leave it has left.
    q = sink
    while parents[q] >= 0:
        row = graph.pool[graph.start[parents[q], q]]
        graph.labels[row] = q
        _push_row(c, graph, q, row)
        q = parents[q]
    graph.counts[q] -= 1
    q = sink
    while q >= 0:
        _drop_departed(c, graph, q)
        q = parents[q]


@jit
def _build_heaps(c: NDArray[np.floating], graph: _Graph, room: int) -> None:
    """Put every row into the heaps of its cluster, each with room for more rows."""
    k = c.shape[1]
    graph.size[:] = 0
    graph.arrivals[:] = 0
    end = 0
    for p in range(k):
        for q in range(k):
            graph.start[p, q] = end
            if p != q:
                end += graph.counts[p] + room
    for i in range(c.shape[0]):
        p = graph.labels[i]
        for q in range(k):
            if p != q:
                graph.pool[graph.start[p, q] + graph.size[p, q]] = i
                graph.size[p, q] += 1
    for p in range(k):
        for q in range(k):
            for at in range(graph.size[p, q] // 2 - 1, -1, -1):
                _sift_down(c, graph, p, q, at)
        _drop_departed(c, graph, p)


@jit
def _drop_departed(c: NDArray[np.floating], graph: _Graph, p: int) -> None:
    """Remove rows that left p from the tops of its heaps and renew its edge lengths."""
    for q in range(c.shape[1]):
        first = graph.start[p, q]
        while graph.size[p, q] > 0 and graph.labels[graph.pool[first]] != p:
            graph.size[p, q] -= 1
            graph.pool[first] = graph.pool[first + graph.size[p, q]]
            _sift_down(c, graph, p, q, 0)
        graph.w[p, q] = _move_cost(c, graph.pool[first], p, q) if graph.size[p, q] > 0 else np.inf


@jit
def _push_row(c: NDArray[np.floating], graph: _Graph, p: int, row: int) -> None:
    """Add a row to all heaps of cluster p."""
    graph.arrivals[p] += 1
    for q in range(c.shape[1]):
        if q == p:
            continue
        heap = graph.pool[graph.start[p, q] :]
        key = _move_cost(c, row, p, q)
        at = graph.size[p, q]
        graph.size[p, q] += 1
        while at > 0 and key < _move_cost(c, heap[(at - 1) // 2], p, q):
            heap[at] = heap[(at - 1) // 2]
            at = (at - 1) // 2
        heap[at] = row


@jit
def _sift_down(c: NDArray[np.floating], graph: _Graph, p: int, q: int, at: int) -> None:
    """Restore the order of heap (p, q) below position at."""
    heap = graph.pool[graph.start[p, q] :]
    size = graph.size[p, q]
    row = heap[at]
    key = _move_cost(c, row, p, q)
    child = 2 * at + 1
    while child < size:
        smallest = _move_cost(c, heap[child], p, q)
        if child + 1 < size:
            other = _move_cost(c, heap[child + 1], p, q)
            if other < smallest:
                child += 1
                smallest = other
        if key <= smallest:
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = row


@jit
def _move_cost(c: NDArray[np.floating], row: int, p: int, q: int) -> float:
    """Return the extra cost of a row of cluster p in cluster q."""
    return np.float64(c[row, q]) - np.float64(c[row, p])
