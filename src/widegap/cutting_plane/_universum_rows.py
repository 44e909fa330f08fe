"""Universum rows on their way into a fit: checks, their term of the objective, and what the fit reports of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widegap.base._records import Point, SearchRecorder
from widegap.base._starts import START_SAMPLE
from widegap.base._validation import check_numbers
from widegap.cutting_plane._cuts import CutSet, add_all
from widegap.cutting_plane._cutting_plane import minimize_convex
from widegap.cutting_plane._cutting_plane_clusterer import Fit
from widegap.cutting_plane._problem import Loss, Problem
from widegap.cutting_plane._universum_loss import UniversumLoss, universum_margins
from widegap.exceptions import InvalidDataError
from widegap.rows._blocks import RowBlocks
from widegap.rows._centred import CentredRows, finite_moments
from widegap.rows._sampling import drawn
from widegap.rows._sources import row_blocks

AUTO_SHARE = 0.3  # weight of the universum relative to the target: 0.3 did no harm on news and web pages, 3 did
FARTHEST = 1e3  # root mean square distance, in that of the target rows; at six times this QPs began to fail
REFERENCE_TOL = 0.1  # the solution without the term is found to this fraction of the fit's tolerance


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


def check_nearness(blocks: RowBlocks, frame: CentredRows) -> None:
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

    def __init__(self, blocks: RowBlocks, C: float | str, tolerance: float, rng: np.random.Generator):
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

    def _terms(self, blocks: RowBlocks, frame: CentredRows, beta: float) -> Sequence[Loss]:
        cap = AUTO_SHARE if self.C == "auto" else self.C * beta * frame.scale**2
        if not cap:
            return ()
        rows = CentredRows.in_frame_of(frame, blocks)
        return (UniversumLoss(rows, tolerance=self.tolerance, cap=cap),)

    def margins(self, frame: CentredRows, point: Point) -> np.ndarray[Any, Any]:
        """Margin of every universum row at some weights for the rows of ``frame``: one read."""
        return universum_margins(CentredRows.in_frame_of(frame, self._all).scores(point.W, point.b))


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


def report_on(universum: UniversumRows, fit: Fit, tol: float, max_iter: int) -> UniversumReport:
    """Compare the fit's weights with those that the same labels ask for without the universum."""
    frame, problem, point = fit.rows, fit.problem, fit.best.point
    after = before = universum.margins(frame, point)
    if problem.others:
        before = universum.margins(frame, _without_others(problem, point, REFERENCE_TOL * tol, max_iter))
    return UniversumReport(
        active=bool(problem.others) and bool((before > universum.tolerance).any()),
        n_rows=len(after),
        n_inside_before=int(np.count_nonzero(before <= universum.tolerance)),
        n_inside_after=int(np.count_nonzero(after <= universum.tolerance)),
        mean_margin_before=float(before.mean()),
        mean_margin_after=float(after.mean()),
    )


def _without_others(problem: Problem, point: Point, tol: float, max_iter: int) -> Point:
    """The best weights for the labels of a point without the further terms."""
    plain = replace(problem, others=())
    planes = plain.planes(point.W, point.b, point.labels)
    cuts = CutSet(plain.n_clusters, plain.n_features)
    add_all(cuts, planes)
    incumbent = replace(point, objective=plain.objective(point.W, planes))
    return minimize_convex(plain, cuts, incumbent, tol, max_iter, SearchRecorder(lambda: 0))[0]
