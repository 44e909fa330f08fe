"""The graph of nearest neighbours of some rows, found once: it smooths features and measures how near groups are.

*Smoothing.* A(i, j) = 1 if i and j are among each other's ``n_neighbors`` nearest, and A(i, i) = 1; R = D^-1 A with D
the row sums. ``R^t P`` replaces every row of P by an average over the rows that t steps reach, which draws rows of one
dense region together and leaves gaps between regions. Rows with hardly a mutual neighbour are not smoothed; where there
are many of them (high-dimensional noise, hubs) the average of the others would distort the picture, so ``reached`` is
the share of rows that the graph serves.

*Nearness.* Edges from a row to its ``linked`` nearest weigh

    w_ij = exp(-d_ij^2 / (s_i s_j)),     s_i the distance from row i to the last of these,

so that a step counts as much in a sparse region as in a dense one. Equal rows have the largest weight.

*Search.* Up to ``EXACT_ROWS`` dense rows are compared with all others (``_exact_neighbours.py``), more rows with those
of near cells (``_neighbour_index.py``). Sparse rows are always compared with all: principal axes do not find neighbours
of documents (in RCV1, of 30 neighbours 40 % are among the nearest 50 in 64 axes, 50 % in 256).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from widegap._jit import jit_in_order
from widegap._types import Doubles, Floats, Ints, Labels, Matrix, SparseMatrix
from widegap.features._exact_neighbours import nearest_rows, nearest_sparse_rows
from widegap.features._neighbour_index import NeighbourIndex
from widegap.rows._matrices import without_far_offsets
from widegap.rows._threads import one_blas_thread

WORKING_MEMORY = 64  # MiB of distances of sparse rows at a time; not tuned
FEW_MUTUAL = 3  # mutual neighbours below which the graph does not serve a row
LINKED = 20  # neighbours with a weight, unless said otherwise
EXACT_ROWS = 10_000  # dense rows of which all pairs are compared: 2 s at 784 columns, and time grows with the square
TENTH = 10  # neighbour by whose distance rows are ranked
FIFTH = 5  # of few rows no more than a fifth are neighbours: else all are averaged into one


@dataclass(frozen=True)
class NeighbourGraph:
    """The nearest other rows of every row, shape (n, n_neighbors), and their distances, the nearest first.

    Edges to the first ``linked`` of them have a weight. A neighbour takes 16 bytes: 96 MB for 60 of 100,000 rows.
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
        n, count = self.nearest.shape
        edges = (np.ones(n * count, np.int8), self.nearest.ravel(), np.arange(n + 1) * count)
        into = sp.csr_array(edges, shape=(n, n)).T.tocsr()
        mutual = into.T.tocsr().multiply(into) + sp.eye_array(n, dtype=np.int8, format="csr")
        counts = np.diff(mutual.indptr)
        shares = np.repeat((1 / counts).astype(np.float32), counts)
        return sp.csr_array((shares, mutual.indices, mutual.indptr), shape=(n, n))

    def smooth(self, P: Floats, steps: int) -> Floats:
        """``R^steps P``, in the dtype of P."""
        average = self.average
        shares = 1 / np.diff(average.indptr).astype(P.dtype)
        for _ in range(steps):
            smoothed = np.zeros(P.shape, P.dtype)
            _add_averages(average.indices, average.indptr, shares, P, smoothed)
            P = smoothed
        return P

    @cached_property
    def _values(self) -> Floats:
        """The weights w of the edges to the first neighbours of every row, (n, up to ``linked``)."""
        distances, nearest = self.distances[:, : self.linked], self.nearest[:, : self.linked]
        scales = np.maximum(distances[:, -1], np.finfo(np.float64).tiny ** 0.5)
        return np.exp(-np.square(distances) / (scales[:, None] * scales[nearest]))

    @cached_property
    def weights(self) -> SparseMatrix:
        """The directed weights w, CSR (n, n)."""
        n, width = self._values.shape
        ends = np.arange(0, n * width + 1, width)
        return sp.csr_array((self._values.ravel(), self.nearest[:, :width].ravel(), ends), shape=(n, n))

    def components(self) -> Labels:
        """Connected parts of the rows, by all neighbours, from 0 on."""
        n, count = self.nearest.shape
        edges = sp.csr_array((np.ones(n * count), self.nearest.ravel(), np.arange(n + 1) * count), shape=(n, n))
        found: Labels = connected_components(edges, directed=False)[1]
        return found

    def weights_to(self, labels: Labels | Ints, k: int) -> tuple[Floats, Floats]:
        """Weights from every row to the rows of each group, and from these to the row, two tables (k, n)."""
        n, width = self._values.shape
        nearest, labels = self.nearest[:, :width], labels.astype(np.int64)
        out = _sums_at(labels[nearest] * n + np.arange(n)[:, None], self._values, (k, n))
        return out, _sums_at(labels[:, None] * n + nearest, self._values, (k, n))

    def weights_between(self, labels: Labels | Ints, k: int) -> Floats:
        """Sums of the weights between the rows of two groups, in both directions, (k, k)."""
        labels = labels.astype(np.int64)
        pairs = labels[:, None] * k + labels[self.nearest[:, : self._values.shape[1]]]
        sums = _sums_at(pairs, self._values, (k, k))
        return sums + sums.T


def neighbour_graph(X: Matrix, n_neighbors: int, n_threads: int = 1, linked: int = LINKED) -> NeighbourGraph:
    """The graph of the rows of X by Euclidean distance; distances are computed block by block.

    Every row has ``n_neighbors`` neighbours, or a fifth of the rows if there are few. Above ``EXACT_ROWS`` dense rows
    a few of the nearest may be missing.
    """
    count = min(n_neighbors, max(1, X.shape[0] // FIFTH))
    X = without_far_offsets(X)
    if isinstance(X, np.ndarray):
        if len(X) > EXACT_ROWS:
            return NeighbourGraph(*NeighbourIndex.fit(X).of_rows(count, n_threads), linked)
        with one_blas_thread():
            return NeighbourGraph(*nearest_rows(X, count, n_threads), linked)
    return NeighbourGraph(*nearest_sparse_rows(X, count, n_threads), linked)


def distance_to_nearest(X: Matrix, queries: Matrix, count: int) -> Floats:
    """Distance from each of the queried rows to the last of its ``count`` nearest among the rows of X."""
    with config_context(working_memory=WORKING_MEMORY), one_blas_thread():
        return np.asarray(NearestNeighbors(n_neighbors=count).fit(X).kneighbors(queries)[0][:, -1])


def _sums_at(places: Ints, values: Floats, shape: tuple[int, int]) -> Doubles:
    """A table of the sums of the values that have a place in it, counted row by row."""
    sums = np.bincount(places.ravel(), values.ravel(), shape[0] * shape[1])
    return np.asarray(sums, dtype=np.float64).reshape(shape)


@jit_in_order
def _add_averages(columns, ends, shares, P, found):  # type: ignore[no-untyped-def]
    """Add R P: of every row the mean of the rows numbered in its part of ``columns``, four of them at a time."""
    d = P.shape[1]
    for i in range(len(P)):
        first, last = ends[i], ends[i + 1]
        alone = (last - first) % 4
        for place in range(first, first + alone):
            a = columns[place]
            for j in range(d):
                found[i, j] += P[a, j]
        for place in range(first + alone, last, 4):
            a, b, c, e = columns[place], columns[place + 1], columns[place + 2], columns[place + 3]
            for j in range(d):
                found[i, j] += (P[a, j] + P[b, j]) + (P[c, j] + P[e, j])
        for j in range(d):
            found[i, j] *= shares[i]
