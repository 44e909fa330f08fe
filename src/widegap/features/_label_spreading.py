"""Labels that spread over the neighbours of rows and over sets of rows.

    F <- alpha ((1 - w) S F + w B B'F) + (1 - alpha) Y,      S = D^-1/2 (W + W') D^-1/2,     B = H N^-1/2 / sqrt(h),

W are directed weights between neighbours, H (n, sets) the indicators of the sets, N their sizes, h how many of them
hold a row. A step of B B' replaces the values of a row by means over its sets, so that one label reaches a whole set at
once, and S decides at borders. The constants were settled with labels, on digits, segment and letters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from widegap._types import Floats, Indices, Ints, Labels, SparseMatrix
from widegap.rows._blocks import csr_parts

ALPHA = 0.95  # share of a step that comes from neighbours and sets
SETS = 0.15  # w
SPREAD_STEPS = 40  # 0.95^40 is 0.13: more change little
REACH_STEPS = 10  # as good as all of them at finding the rows that a label reaches first


@dataclass(frozen=True)
class Spread:
    """The operator above: S, CSR (n, n), and B, CSR (n, sets)."""

    graph: SparseMatrix
    sets: SparseMatrix

    @classmethod
    def of(cls, weights: SparseMatrix, sets: Sequence[tuple[Labels | Ints, int]]) -> "Spread":
        """From the weights W and, for each way to divide the rows, the set of every row and how often it counts."""
        both: SparseMatrix = sp.csr_array(weights + weights.T)
        roots = 1 / np.sqrt(np.maximum(np.asarray(both.sum(axis=1)).ravel(), np.finfo(np.float64).tiny))
        graph = sp.csr_array(sp.diags_array(roots) @ both @ sp.diags_array(roots))
        joined = sp.hstack([_normalised(labels) * np.sqrt(times) for labels, times in sets], format="csr")
        joined /= np.sqrt(sum(times for _, times in sets))
        return cls(graph.astype(np.float32), sp.csr_array(joined).astype(np.float32))

    def __call__(self, Y: Floats) -> Floats:
        """The values that the seeds Y spread to all rows; columns without seeds stay empty and cost nothing."""
        sown = Y.any(axis=0)
        found = np.zeros_like(Y)
        if sown.any():
            found[:, sown] = self._steps(Y[:, sown], SPREAD_STEPS)
        return found

    def reach(self, rows: Indices) -> Floats:
        """How much of a label of each of some rows reaches every row, (rows, n); the largest value of a column is 1.

        Rows of dense regions spread more; dividing by what a row keeps for itself makes them comparable.
        """
        Y = np.zeros((self.graph.shape[0], len(rows)), np.float32)
        Y[rows, np.arange(len(rows))] = 1
        F = self._steps(Y, REACH_STEPS).T
        F /= np.sqrt(F[np.arange(len(rows)), rows])[:, None]
        return F / np.maximum(F.max(axis=0, initial=0.0), np.finfo(np.float32).tiny)

    def spread_values(self, values: Floats) -> Floats:
        """Values of all rows, (n,), spread over their neighbours and sets."""
        return self._steps(values.astype(np.float32)[:, None], REACH_STEPS)[:, 0]

    def _steps(self, Y: Floats, count: int) -> Floats:
        from widegap.rows.loops._vectors import ORDERED_LANES

        n, c = Y.shape
        F = np.zeros((n, -(-c // ORDERED_LANES) * ORDERED_LANES), Y.dtype)
        F[:, :c] = Y
        own, back = (1 - ALPHA) * F, self.sets.T.tocsr()
        for _ in range(count):
            F = ALPHA * ((1 - SETS) * _product(self.graph, F) + SETS * _product(self.sets, _product(back, F))) + own
        return F[:, :c]


def _product(A: SparseMatrix, F: Floats) -> Floats:
    from widegap.rows.loops._vectors import products_in_order

    out = np.empty((A.shape[0], F.shape[1]), F.dtype)
    products_in_order(*csr_parts(A), F, out)
    return out


def _normalised(labels: Labels | Ints) -> SparseMatrix:
    n, m = len(labels), int(labels.max()) + 1
    roots = 1 / np.sqrt(np.maximum(np.bincount(labels, minlength=m), 1))
    return sp.csr_array((roots[labels], labels, np.arange(n + 1)), shape=(n, m))
