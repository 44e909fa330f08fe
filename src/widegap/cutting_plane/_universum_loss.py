"""The universum: its loss, its rows on their way into a fit, and the report on what they did.

Rows that belong to no cluster should have no clear favourite among the clusters.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from widegap._types import Floats, Indices
from widegap.base._records import Point, SearchRecorder
from widegap.base._starts import START_SAMPLE
from widegap.base._validation import check_numbers
from widegap.cutting_plane._cuts import CutSet, add_all
from widegap.cutting_plane._cutting_plane import minimize_convex
from widegap.cutting_plane._cutting_plane_clusterer import SearchOutcome
from widegap.cutting_plane._problem import Loss, Plane, Problem
from widegap.exceptions import InvalidDataError
from widegap.rows._blocks import PassSums, RowBlocks
from widegap.rows._centred import CentredRows, finite_moments
from widegap.rows._protocols import Parts, Rows, State
from widegap.rows._sampling import drawn
from widegap.rows._sources import row_blocks

# A smaller tolerance is 0: the offsets of planes would differ by less than the master's accuracy, which below 1e-6 left
# up to one QP in eight unsolved.
LEAST_TOLERANCE = 1e-5
AUTO_SHARE = 0.3  # weight of the universum relative to the target: 0.3 did no harm on news and web pages, 3 did
FARTHEST = 1e3  # root mean square distance, in that of the target rows; at six times this QPs began to fail
REFERENCE_TOL = 0.1  # the solution without the term is found to this fraction of the fit's tolerance


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
        """The plane that touches the loss at (W, b); the labels are those of the target and do not matter here."""
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


def _leads(scores: Floats, clusters: Indices) -> Floats:
    """Lead of one cluster of each row over the mean of the rest."""
    k = scores.shape[1]
    return k / (k - 1) * (scores[np.arange(len(scores)), clusters] - scores.mean(axis=1))


def check_universum(universum: Any, n_features: int, names: Any, n_threads: int) -> RowBlocks:
    """Universum rows as blocks: any form that ``fit`` takes, with the columns of the target rows."""
    columns = getattr(universum, "columns", None)
    if not isinstance(universum, RowBlocks):
        universum = check_numbers(universum, ensure_min_samples=0, ensure_min_features=0, input_name="universum")
    n_rows, n_columns = universum.shape
    if n_columns != n_features:
        raise InvalidDataError(
            f"universum has {n_columns} columns, X has {n_features}; both need the same ones: pass both through the "
            "same transformation."
        )
    if columns is not None and names is not None and list(columns) != list(names):
        raise InvalidDataError(
            f"universum has columns named {list(columns)[:5]} ..., X {list(names)[:5]} ...; both need the same ones in "
            "the same order: reorder those of the universum."
        )
    if not n_rows:
        raise InvalidDataError("universum has 0 rows; at least one is needed: set C_universum=0 to go without.")
    return row_blocks(universum, n_threads=n_threads)


def check_nearness(blocks: Rows, frame: CentredRows) -> None:
    """Refuse universum rows that are not finite, or so far from the target rows that no QP could weigh both."""
    moments = finite_moments(blocks, "universum rows")
    offset = moments.mean - frame.mean
    distance = float(np.sqrt(moments.variance + offset @ offset))
    if distance > FARTHEST * frame.scale > 0:
        raise InvalidDataError(
            f"The universum lies {distance / frame.scale:.1e} times as far from the mean of X as the rows of X do; at "
            f"most {FARTHEST:.0e} times is accepted. Pass both through the same transformation, or keep its nearest "
            "rows with widegap.universum.select."
        )


class UniversumRows:
    """All universum rows, and up to ``START_SAMPLE`` of them for the choice of a start; ``whole`` if none is left out.

    ``C`` weighs their loss for rows as they come; "auto" is ``AUTO_SHARE`` of the target's weight.
    """

    def __init__(self, blocks: Rows, C: float | str, tolerance: float, rng: np.random.Generator):
        n = blocks.shape[0]
        self.C, self.tolerance = C, tolerance
        self.whole = n <= START_SAMPLE
        self._all = self._sample = blocks
        if not self.whole:
            self._sample = row_blocks(blocks.take(drawn(n, START_SAMPLE, rng)), n_threads=blocks.n_threads)

    def on_sample(self, frame: CentredRows, beta: float) -> Sequence[Loss]:
        return self._terms(self._sample, frame, beta)

    def on_all(self, frame: CentredRows, beta: float) -> Sequence[Loss]:
        return self._terms(self._all, frame, beta)

    def _terms(self, blocks: Rows, frame: CentredRows, beta: float) -> Sequence[Loss]:
        cap = AUTO_SHARE if self.C == "auto" else float(self.C) * beta * frame.scale**2
        if not cap:
            return ()
        rows = CentredRows.in_frame_of(frame, blocks)
        return (UniversumLoss(rows, tolerance=self.tolerance, cap=cap),)

    def margins(self, frame: CentredRows, point: Point) -> Floats:
        """Margin of every universum row at some weights for the rows of ``frame``: one read."""
        rows = CentredRows.in_frame_of(frame, self._all)
        return universum_margins(self._all.collect(rows.scores(point.W, point.b)))


@dataclass(frozen=True)
class UniversumReport:
    """What the universum did to a fit.

    The margin of a universum row is the lead of its best cluster over the mean of the others. "Before" means at the
    weights that are best for the same labels without the universum, "after" at the weights of the fit.

    Attributes
    ----------
    active : bool
        Whether the universum changed the weights, that is, whether before some row lay outside the tolerance.
    n_rows : int
        Rows of the universum.
    n_inside_before, n_inside_after : int
        How many of them have a margin within the tolerance.
    mean_margin_before, mean_margin_after : float
        Their mean margin.
    """

    active: bool
    n_rows: int
    n_inside_before: int
    n_inside_after: int
    mean_margin_before: float
    mean_margin_after: float


def report_on(universum: UniversumRows, fit: SearchOutcome, tol: float, max_iter: int) -> UniversumReport:
    """Compare the fit's weights with those that the same labels ask for without the universum."""
    frame, problem, point = fit.rows, fit.problem, fit.best.point
    after = before = universum.margins(frame, point)
    if problem.extra_losses:
        before = universum.margins(frame, _without_extra_losses(problem, point, REFERENCE_TOL * tol, max_iter))
    return UniversumReport(
        active=bool(problem.extra_losses) and bool((before > universum.tolerance).any()),
        n_rows=len(after),
        n_inside_before=int(np.count_nonzero(before <= universum.tolerance)),
        n_inside_after=int(np.count_nonzero(after <= universum.tolerance)),
        mean_margin_before=float(before.mean()),
        mean_margin_after=float(after.mean()),
    )


def _without_extra_losses(problem: Problem, point: Point, tol: float, max_iter: int) -> Point:
    """The best weights for the labels of a point without the extra losses."""
    plain = replace(problem, extra_losses=())
    planes = plain.planes(point.W, point.b, point.labels)
    cuts = CutSet(plain.n_clusters, plain.n_features)
    add_all(cuts, planes)
    incumbent = replace(point, objective=plain.objective(point.W, planes))
    return minimize_convex(plain, cuts, incumbent, tol, max_iter, SearchRecorder(lambda: 0))[0]
