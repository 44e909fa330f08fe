"""The universum loss: rows that belong to no cluster should have no clear favourite among the clusters.

The margin of a universum row is the lead of its best cluster over the mean of the others, which its loss allows up to
a tolerance:

    m_j   = max_t s_jt - mean_{r != t} s_jr = k/(k-1) (max_t s_jt - mean_t s_jt)
    psi_j = max(0, m_j - eps),     L(W, b) = 1/N sum_j psi_j.

A maximum of linear functions minus a linear one, so L is convex, needs no labels and enters the master as a second
slack group. Its plane at (W, b), with t_j the best cluster of row j and J the rows with m_j > eps, is

    L >= k/((k-1) N) sum_{j in J} <e_{t_j} - 1/k, W x_j + b> - eps |J| / N.

========  ============  ============================================================================
symbol    argument      meaning
========  ============  ============================================================================
N, k      -             universum rows, clusters
eps       tolerance     margin that costs nothing (the paper's epsilon_1)
C_u/C     cap           weight of the loss relative to the target's
x_j       rows          universum rows, centred and scaled as the *target* rows are
========  ============  ============================================================================

The paper takes psi for a difference of convex functions and replaces max_t s_jt by s_{j u_j}, u_j the best cluster at
the last weights. That is a lower bound of psi, where the descent of CCCP needs an upper one: the loss can be lowered by
letting a row change sides, and the true objective rises, as ``tests/cutting_plane/test_universum_loss.py`` shows.
"""

from functools import partial
from typing import Any

import numpy as np

from widegap._types import Floats
from widegap.cutting_plane._planes import Plane
from widegap.rows._blocks import PassSums
from widegap.rows._centred import CentredRows
from widegap.rows._protocols import Parts, State

# A smaller tolerance is 0: the offsets of planes would differ by less than the master's accuracy, which below 1e-6 left
# up to one QP in eight unsolved.
LEAST_TOLERANCE = 1e-5


def universum_margins(scores: Floats) -> Floats:
    """Lead of the best cluster over the mean of the others, for rows of scores (N, k)."""
    return _leads(scores.astype(np.float64, copy=False), scores.argmax(axis=1))


class UniversumLoss:
    """The convex loss over universum rows."""

    def __init__(self, rows: CentredRows, *, tolerance: float, cap: float):
        self.rows = rows
        self.tolerance = tolerance if tolerance >= LEAST_TOLERANCE else 0.0
        self.cap = cap

    def plane(self, W: Floats, b: Floats, labels: State) -> Plane:
        """The plane that touches the loss at (W, b); the labels are those of the target and have no part in it."""
        n, sums = self.rows.shape[0], self._sums(W, b)
        loss, n_active = sums.values
        return Plane(float(loss / n), float(-self.tolerance * n_active / n), sums.normal / n, sums.bias / n, None)

    def _sums(self, W: Floats, b: Floats) -> PassSums:
        return self.rows.judge(W, b, partial(_judge, tolerance=self.tolerance))[1]


def _judge(scores: Floats, tolerance: float) -> tuple[tuple[float, ...], Floats, Parts]:
    """Loss and number of the rows beyond the tolerance, and the weight of each row in every cluster's normal."""
    k = scores.shape[1]
    top = scores.argmax(axis=1)
    excess = _leads(scores, top) - tolerance
    active = excess > 0
    weights = np.zeros_like(scores)
    weights[active] = k / (k - 1) * (1 / k - np.eye(k)[top[active]])
    return (float(excess[active].sum()), float(np.count_nonzero(active))), weights, ()


def _leads(scores: Floats, clusters: np.ndarray[Any, Any]) -> Floats:
    """Lead of the given clusters over the mean of the others."""
    k = scores.shape[1]
    return k / (k - 1) * (scores[np.arange(len(scores)), clusters] - scores.mean(axis=1))
