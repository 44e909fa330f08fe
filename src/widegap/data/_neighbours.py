"""Smoothing of features over the graph of mutual nearest neighbours of some rows.

A(i, j) = 1 if i and j are among each other's ``n_neighbors`` nearest, and A(i, i) = 1; R = D^-1 A with D the row sums.
``R^t P`` replaces every row of P by an average over the rows that t steps reach, which draws rows of one dense region
together and leaves gaps between regions. Rows with hardly a mutual neighbour are not smoothed; where they are many
(high-dimensional noise, hubs) the average of the others would distort the picture, so ``reached`` tells how many rows
the graph serves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.neighbors import kneighbors_graph

from widegap.data._blocks import Floats
from widegap.data._tables import near_origin
from widegap.data._threads import one_blas_thread

WORKING_MEMORY = 64  # MiB of distances at a time
FEW = 3  # mutual neighbours below which the graph does not serve a row


@dataclass(frozen=True)
class NeighbourGraph:
    """The averaging operator R, and the share of rows with at least ``FEW`` mutual neighbours."""

    average: Any
    reached: float

    def smooth(self, P: Floats, steps: int) -> Floats:
        """``R^steps P``."""
        for _ in range(steps):
            P = self.average @ P
        return P


def mutual_neighbours(X: Any, n_neighbors: int) -> NeighbourGraph:
    """The graph of the rows of X by Euclidean distance; the distances are computed block by block."""
    n = X.shape[0]
    with config_context(working_memory=WORKING_MEMORY), one_blas_thread():
        nearest = sp.csr_array(kneighbors_graph(near_origin(X), min(n_neighbors, n - 1), mode="connectivity"))
    mutual = nearest.minimum(nearest.T)
    degrees = np.asarray(mutual.sum(axis=1)).ravel()
    average = sp.diags_array(1 / (degrees + 1)) @ (mutual + sp.eye_array(n))
    return NeighbourGraph(sp.csr_array(average), float((degrees >= FEW).mean()))
