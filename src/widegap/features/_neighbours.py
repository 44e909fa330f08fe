"""The graph of nearest neighbours of some rows, found once: it smooths features and measures how near groups are.

*Smoothing.* A(i, j) = 1 if i and j are among each other's ``n_neighbors`` nearest, and A(i, i) = 1; R = D^-1 A with D
the row sums. ``R^t P`` replaces every row of P by an average over the rows that t steps reach, which draws rows of one
dense region together and leaves gaps between regions. Rows with hardly a mutual neighbour are not smoothed; where there
are many of them (high-dimensional noise, hubs) the average of the others would distort the picture, so ``reached`` is
the share of rows that the graph serves.

*Nearness.* Edges from a row to its 20 nearest (``linked``) weigh

    w_ij = exp(-d_ij^2 / (s_i s_j)),     s_i the distance from row i to its 20th neighbour,

so that a step counts as much in a sparse region as in a dense one. Equal rows have the largest weight.

*Search.* All pairs of dense rows are compared, a block of rows after the other: products in float32 find the nearest
rows, and their distances are then computed from the rows themselves. Rounding displaces a squared distance by about
``eps sqrt(d) (2 |x| + distance)^2``; where that is more than a thousandth of the distance to the last neighbour (rows
far from the mean and close to each other, equal rows), products are taken in float64.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from widegap._jit import jit
from widegap._types import Doubles, Floats, Indices, Ints, Labels, Matrix, SparseMatrix
from widegap.rows._matrices import without_far_offsets
from widegap.rows._threads import one_blas_thread, ordered_map

WORKING_MEMORY = 64  # MiB of distances of sparse rows at a time; not tuned
DISTANCES_HELD = 1 << 22  # distances of dense rows at a time, for every thread: 16 MiB; not tuned
LANES = 64  # lanes, at least, over which values are spread to bound the smallest
HALVINGS = 8  # bisections of the range of the lanes: a tighter bound would not save what it costs
FEW_MUTUAL = 3  # mutual neighbours below which the graph does not serve a row
LINKED = 20  # neighbours with a weight
TENTH = 10  # neighbour by whose distance rows are ranked
DECISIVE_ROUNDING = 1e-3  # rounding of a squared distance, relative to it, that may decide between neighbours
FIFTH = 5  # of few rows no more than a fifth are neighbours: else all are averaged into one


@dataclass(frozen=True)
class NeighbourGraph:
    """The nearest other rows of every row, shape (n, n_neighbors), and their distances, the nearest first.

    Edges to the first ``linked`` of them have a weight.
    """

    nearest: Ints
    distances: Floats
    linked: int = LINKED

    @property
    def reached(self) -> float:
        """Share of rows with at least ``FEW_MUTUAL`` mutual neighbours."""
        return float((np.diff(self.average.indptr) > FEW_MUTUAL).mean())  # a row is one of its own entries

    @property
    def spacing(self) -> Floats:
        """How far every row is from its tenth neighbour (or its last), as a rank from 0 to 1."""
        distances = self.distances[:, :TENTH][:, -1]
        ascending = np.sort(distances)
        ranks = np.searchsorted(ascending, distances, "left") + np.searchsorted(ascending, distances, "right")
        return ranks / (2 * len(distances))

    @cached_property
    def average(self) -> SparseMatrix:
        """The averaging operator R."""
        n = len(self.nearest)
        columns, ends = _mutual(self.nearest)
        counts = np.diff(ends)
        shares = np.repeat((1 / counts).astype(np.float32), counts)
        return sp.csr_array((shares, columns, ends), shape=(n, n))

    def smooth(self, P: Floats, steps: int) -> Floats:
        """``R^steps P``, in the dtype of P."""
        average = self.average
        for _ in range(steps):
            smoothed: Floats = _averages(average.indices, average.indptr, P)
            P = smoothed
        return P

    @cached_property
    def _values(self) -> Floats:
        """The weights w of the edges to the first neighbours of every row, (n, up to ``linked``)."""
        linked = min(self.linked, self.nearest.shape[1])
        distances, nearest = self.distances[:, :linked], self.nearest[:, :linked]
        scales = np.maximum(distances[:, -1], np.finfo(np.float64).tiny ** 0.5)
        return np.exp(-np.square(distances) / (scales[:, None] * scales[nearest]))

    @cached_property
    def weights(self) -> SparseMatrix:
        """The directed weights w, CSR (n, n)."""
        n, width = self._values.shape
        ends = np.arange(0, n * width + 1, width)
        return sp.csr_array((self._values.ravel(), self.nearest[:, :width].ravel(), ends), shape=(n, n))

    def weights_to(self, labels: Labels | Ints, k: int) -> tuple[Floats, Floats]:
        """Weights from every row to the rows of each group, and from these to the row, two tables (k, n)."""
        tables: tuple[Doubles, Doubles] = _sums_to(self._values, self.nearest, labels, k)
        return tables

    def weights_between(self, labels: Labels | Ints, k: int) -> Floats:
        """Sums of the weights between the rows of two groups, in both directions, (k, k)."""
        sums: Doubles = _sums_between(self._values, self.nearest, labels, k)
        return sums + sums.T


def neighbour_graph(X: Matrix, n_neighbors: int, n_threads: int = 1) -> NeighbourGraph:
    """The graph of the rows of X by Euclidean distance; distances are computed block by block.

    Every row has ``n_neighbors`` neighbours, or a fifth of the rows if there are few.
    """
    count = min(n_neighbors, max(1, X.shape[0] // FIFTH))
    X = without_far_offsets(X)
    with config_context(working_memory=WORKING_MEMORY), one_blas_thread():
        if isinstance(X, np.ndarray):
            return NeighbourGraph(*_nearest_rows(X, count, n_threads))
        distances, nearest = NearestNeighbors(n_neighbors=count).fit(X).kneighbors()
    return NeighbourGraph(nearest, np.asarray(distances, dtype=np.float64))


def distance_to_nearest(X: Matrix, queries: Matrix, count: int) -> Floats:
    """Distance from each of the queried rows to the last of its ``count`` nearest among the rows of X."""
    with config_context(working_memory=WORKING_MEMORY), one_blas_thread():
        return np.asarray(NearestNeighbors(n_neighbors=count).fit(X).kneighbors(queries)[0][:, -1])


def _nearest_rows(X: Floats, count: int, n_threads: int) -> tuple[Ints, Floats]:
    """The nearest other rows of all rows, and their distances, two tables (n, count)."""
    X = np.ascontiguousarray(X)
    centre = X.mean(axis=0, dtype=np.float64)
    columns = (X - centre.astype(X.dtype)).astype(np.float32, copy=False)
    nearest, distances = _search_rows(X, columns, np.arange(len(X)), count, n_threads)
    reach = 2 * np.sqrt(np.einsum("ij,ij->i", columns, columns)) + distances[:, -1]
    rounding = np.finfo(np.float32).eps * (4 + np.sqrt(X.shape[1])) * np.square(reach)
    blurred = np.flatnonzero(rounding > DECISIVE_ROUNDING * np.square(distances[:, -1]))
    if len(blurred):
        nearest[blurred], distances[blurred] = _search_rows(X, X - centre, blurred, count, n_threads)
    return nearest, distances


def _search_rows(X: Floats, centred: Floats, wanted: Indices, count: int, n_threads: int) -> tuple[Ints, Floats]:
    """Neighbours of the rows numbered ``wanted``, found by products in the dtype of the centred rows."""
    norms, columns = np.einsum("ij,ij->i", centred, centred), -2 * centred.T
    step = max(1, DISTANCES_HELD // len(X))

    def search(start: int) -> tuple[Ints, Doubles]:
        rows = wanted[start : start + step]
        nearest = np.zeros((len(rows), count), np.int64)
        _select(centred[rows] @ columns, norms, rows, nearest)
        distances: Doubles = _measure(X, rows, nearest)
        return nearest, distances

    parts = list(ordered_map(search, range(0, len(wanted), step), n_threads))
    return np.concatenate([part for part, _ in parts]), np.concatenate([part for _, part in parts])


@jit
def _mutual(nearest):  # type: ignore[no-untyped-def]
    """Every row and those of its neighbours that have it as theirs: numbers in ascending order, and where rows end."""
    n, count = nearest.shape
    owners, starts = _owners(nearest)
    columns, ends = np.empty(n * (count + 1), np.int64), np.zeros(n + 1, np.int64)
    neighbour_of = np.full(n, -1)
    filled = 0
    for i in range(n):
        for c in range(count):
            neighbour_of[nearest[i, c]] = i
        neighbour_of[i] = i
        for place in range(starts[i], starts[i + 1]):
            if neighbour_of[owners[place]] == i:
                columns[filled] = owners[place]
                filled += 1
        ends[i + 1] = filled
    return columns[:filled], ends


@jit
def _owners(nearest):  # type: ignore[no-untyped-def]
    """For every row those that have it among their neighbours, and itself, in ascending order; and where they start."""
    n, count = nearest.shape
    starts = np.zeros(n + 2, np.int64)
    for i in range(n):
        starts[i + 2] += 1
        for c in range(count):
            starts[nearest[i, c] + 2] += 1
    starts = np.cumsum(starts)
    owners = np.empty(starts[n + 1], np.int64)
    for i in range(n):
        owners[starts[i + 1]] = i
        starts[i + 1] += 1
        for c in range(count):
            j = nearest[i, c]
            owners[starts[j + 1]] = i
            starts[j + 1] += 1
    return owners, starts


@jit
def _averages(columns, ends, P):  # type: ignore[no-untyped-def]
    """R P: of every row the mean of the rows numbered in its part of ``columns``, four of them at a time."""
    n, d = P.shape
    found = np.empty((n, d), P.dtype)
    for i in range(n):
        first, last = ends[i], ends[i + 1]
        alone = (last - first) % 4
        found[i] = 0
        for place in range(first, first + alone):
            a = columns[place]
            for j in range(d):
                found[i, j] += P[a, j]
        for place in range(first + alone, last, 4):
            a, b, c, e = columns[place], columns[place + 1], columns[place + 2], columns[place + 3]
            for j in range(d):
                found[i, j] += (P[a, j] + P[b, j]) + (P[c, j] + P[e, j])
        share = P.dtype.type(1) / P.dtype.type(last - first)
        for j in range(d):
            found[i, j] *= share
    return found


@jit
def _sums_to(values, nearest, labels, k):  # type: ignore[no-untyped-def]
    """Sums of the edges from every row to the rows of each group, and of those back, two tables (k, n)."""
    n, width = values.shape
    out, into = np.zeros((k, n)), np.zeros((k, n))
    for i in range(n):
        for c in range(width):
            j = nearest[i, c]
            out[labels[j], i] += values[i, c]
            into[labels[i], j] += values[i, c]
    return out, into


@jit
def _sums_between(values, nearest, labels, k):  # type: ignore[no-untyped-def]
    """Sums of the edges from the rows of each group to those of each, (k, k)."""
    sums = np.zeros((k, k))
    for i in range(len(values)):
        for c in range(values.shape[1]):
            sums[labels[i], labels[nearest[i, c]]] += values[i, c]
    return sums


@jit
def _select(products, norms, rows, nearest):  # type: ignore[no-untyped-def]
    """For every row the numbers of the smallest of ``products + norms``, but for the row itself."""
    n, count = len(norms), nearest.shape[1]
    values, best = np.empty(n, products.dtype), np.empty(count, products.dtype)
    lowest, candidates = np.empty(max(LANES, 2 * count), products.dtype), np.empty(n + 1, np.int64)
    for r in range(len(rows)):
        for j in range(n):
            values[j] = products[r, j] + norms[j]
        values[rows[r]] = np.inf
        n_candidates = _within_bound(values, count, lowest, candidates)
        best[:] = np.inf
        for c in range(n_candidates):
            j = candidates[c]
            value = values[j]
            if value < best[count - 1]:
                place = count - 1
                while place > 0 and best[place - 1] > value:
                    best[place] = best[place - 1]
                    nearest[r, place] = nearest[r, place - 1]
                    place -= 1
                best[place] = value
                nearest[r, place] = j


@jit
def _within_bound(values, count, lowest, candidates):  # type: ignore[no-untyped-def]
    """How many values are within a bound that at least ``count`` of them meet, and their numbers, in ``candidates``.

    The values are spread over lanes. Bisection finds a bound that the lowest values of ``count`` lanes meet: these
    loops take many numbers at a time, while a table of the best is updated one number at a time.
    """
    n, lanes = len(values), len(lowest)
    if n < 2 * lanes:
        candidates[:n] = np.arange(n)
        return n
    for lane in range(lanes):
        lowest[lane] = values[lane]
    for start in range(lanes, n - lanes + 1, lanes):
        for lane in range(lanes):
            value = values[start + lane]
            lowest[lane] = value if value < lowest[lane] else lowest[lane]
    low = high = lowest[0]
    for lane in range(1, lanes):
        low = lowest[lane] if lowest[lane] < low else low
        high = lowest[lane] if lowest[lane] > high else high
    for _ in range(HALVINGS):
        middle = low + (high - low) * values.dtype.type(0.5)
        below = np.int32(0)
        for lane in range(lanes):
            below += np.int32(lowest[lane] <= middle)
        low, high = (low, middle) if below >= count else (middle, high)
    found = 0
    for j in range(n):
        candidates[found] = j
        found += values[j] <= high
    return found


@jit
def _measure(X, rows, nearest):  # type: ignore[no-untyped-def]
    """Distances to the rows that were selected; these are sorted by them."""
    distances = np.zeros(nearest.shape)
    for r in range(len(rows)):
        for c in range(nearest.shape[1]):
            j = nearest[r, c]
            total = 0.0
            for f in range(X.shape[1]):
                step = np.float64(X[rows[r], f]) - np.float64(X[j, f])
                total += step * step
            place = c
            while place > 0 and distances[r, place - 1] > total:
                distances[r, place] = distances[r, place - 1]
                nearest[r, place] = nearest[r, place - 1]
                place -= 1
            distances[r, place] = total
            nearest[r, place] = j
    return np.sqrt(distances)
