"""The graph of nearest neighbours of some rows, found once: it smooths features and tells how near groups are.

*Smoothing.* A(i, j) = 1 if i and j are among each other's ``n_neighbors`` nearest, and A(i, i) = 1; R = D^-1 A with D
the row sums. ``R^t P`` replaces every row of P by an average over the rows that t steps reach, which draws rows of one
dense region together and leaves gaps between regions. Rows with hardly a mutual neighbour are not smoothed; where they
are many (high-dimensional noise, hubs) the average of the others would distort the picture, so ``reached`` tells how
many rows the graph serves.

*Nearness.* Edges from a row to its 20 nearest weigh

    w_ij = exp(-d_ij^2 / (s_i s_j)),     s_i the distance from row i to its 20th neighbour,

so that a step counts for as much in a sparse region as in a dense one. Equal rows are as near as can be.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from widegap.data._blocks import Floats
from widegap.data._tables import near_origin
from widegap.data._threads import one_blas_thread

WORKING_MEMORY = 64  # MiB of distances at a time
FEW = 3  # mutual neighbours below which the graph does not serve a row
LINKED = 20  # neighbours with a weight
FIFTH = 5  # of few rows no more than a fifth are neighbours: else all are averaged into one


@dataclass(frozen=True)
class NeighbourGraph:
    """The nearest other rows of every row, shape (n, n_neighbors), and their distances, the nearest first."""

    nearest: np.ndarray[Any, np.dtype[np.int64]]
    distances: Floats

    @cached_property
    def _mutual(self) -> Any:
        one_way = self._edges(np.ones(self.nearest.shape, np.float32))
        return one_way.minimum(one_way.T)

    @cached_property
    def _degrees(self) -> Floats:
        return np.asarray(self._mutual.sum(axis=1)).ravel()

    @property
    def reached(self) -> float:
        """Share of rows with at least ``FEW`` mutual neighbours."""
        return float((self._degrees >= FEW).mean())

    @cached_property
    def average(self) -> Any:
        """The averaging operator R."""
        loops = sp.eye_array(len(self.nearest), dtype=np.float32)
        return sp.csr_array(sp.diags_array((1 / (self._degrees + 1)).astype(np.float32)) @ (self._mutual + loops))

    def smooth(self, P: Floats, steps: int) -> Floats:
        """``R^steps P``, in the dtype of P."""
        average = self.average.astype(P.dtype, copy=False)
        for _ in range(steps):
            P = average @ P
        return P

    @cached_property
    def weights(self) -> Any:
        """The directed weights w, CSR (n, n)."""
        linked = min(LINKED, self.nearest.shape[1])
        distances, nearest = self.distances[:, :linked], self.nearest[:, :linked]
        scales = np.maximum(distances[:, -1], np.finfo(np.float64).tiny ** 0.5)
        return self._edges(np.exp(-np.square(distances) / (scales[:, None] * scales[nearest])))

    def weights_to(self, labels: Any, k: int) -> tuple[Floats, Floats]:
        """Weights from every row to the rows of each group, and from these to the row, two tables (n, k)."""
        n = len(labels)
        members = sp.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, k))
        return (self.weights @ members).toarray(), (self.weights.T @ members).toarray()

    def _edges(self, values: Any) -> Any:
        """A CSR matrix of values at the first so many neighbours of every row."""
        n, width = values.shape
        ends = np.arange(0, n * width + 1, width)
        return sp.csr_array((values.ravel(), self.nearest[:, :width].ravel(), ends), shape=(n, n))


def neighbour_graph(X: Any, n_neighbors: int) -> NeighbourGraph:
    """The graph of the rows of X by Euclidean distance; distances are computed block by block.

    Every row has ``n_neighbors`` neighbours, or a fifth of the rows where these are few.
    """
    search = NearestNeighbors(n_neighbors=min(n_neighbors, max(1, X.shape[0] // FIFTH)))
    with config_context(working_memory=WORKING_MEMORY), one_blas_thread():
        distances, nearest = search.fit(near_origin(X)).kneighbors()
    return NeighbourGraph(nearest, np.asarray(distances, dtype=np.float64))
