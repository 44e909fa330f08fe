"""What CPM3C, M2DCU and MKC share: the plan of a fit, its starts, and the search by cutting planes.

``_search`` is the whole of a fit after the rows are prepared: starts on a sample, the best of them carried to all rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib.metadata import version
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from widegap._types import Floats, Labels
from widegap._warnings import warn_caller
from widegap.base._clusterer import COMMON_CONSTRAINTS, LABELS_OUT, WeightVectorClusterer
from widegap.base._progress import logger
from widegap.base._records import IterationRecord, Point, SearchRecorder, SolverResult
from widegap.base._scored_clusterer import lost_margin, lost_margins
from widegap.base._starts import Sample, rounded, sample_starts
from widegap.base._validation import (
    Interval,
    StrOptions,
    kernel_constraints,
    one_point_error,
)
from widegap.constraints._known_starts import matched_to_anchors, some_of_each_label
from widegap.constraints._label_rules import Rules, feasible_bounds, size_rules, unit_rules
from widegap.constraints._rejection import OutlierRejection
from widegap.constraints._side_information import SIZE_CONSTRAINTS, RowConstraints, SideInformation, refuse_elsewhere
from widegap.cutting_plane._cccp import Search, search_from
from widegap.cutting_plane._hinge import HingeLoss
from widegap.cutting_plane._norms import Ridge
from widegap.cutting_plane._problem import Loss, Problem
from widegap.cutting_plane._reduced_sample import START_STEPS, START_TOL, ReducedSample, is_wide
from widegap.exceptions import InvalidDataError
from widegap.features._kernel_maps import KernelMap, fit_kernel_map
from widegap.features._spectrum import leading_variances
from widegap.rows._centred import CentredRows
from widegap.rows._checkpoint import Checkpoint, CheckpointedRows
from widegap.rows._fingerprints import digest_of_rows
from widegap.rows._protocols import Rows
from widegap.rows._sources import feature_rows
from widegap.rows._threads import one_blas_thread

# Features of a kernel. Not tuned here: 200 to 300 were enough for other methods on sets below 100,000 rows.
AUTO_LANDMARKS = 300
VARIANCE_TOL = 1e-6  # of the largest variance; below it is rounding, and the data have no such direction


@dataclass(frozen=True)
class SearchPlan:
    """How a default fit searches: the loop order, the ridge relative to the spectrum, and the starts.

    Of ``kmeans_runs`` runs of k-means the ``kmeans_starts`` best by inertia are followed, and all random starts.
    """

    order: str
    rho: float
    kmeans_runs: int
    kmeans_starts: int
    random_starts: int


def default_plan(n_clusters: int) -> SearchPlan:
    """The default rules: no run sees a label; their constants were settled on digits, letters, satellite and news."""
    if n_clusters <= 2:
        return SearchPlan("cuts_first", rho=0.3, kmeans_runs=2, kmeans_starts=2, random_starts=2)
    if n_clusters <= 4:
        return SearchPlan("one_step", rho=0.3, kmeans_runs=10, kmeans_starts=4, random_starts=0)
    return SearchPlan("linearize_first", rho=0.2, kmeans_runs=8, kmeans_starts=1, random_starts=0)


class ExtraLosses(Protocol):
    """Losses over rows that are not clustered. ``whole`` is whether a sample and all rows are the same."""

    whole: bool

    def on_sample(self, frame: CentredRows, beta: float) -> Sequence[Loss]:
        """The losses for the choice of a start, their rows centred and scaled like those of ``frame``."""

    def on_all(self, frame: CentredRows, beta: float) -> Sequence[Loss]:
        """The losses for the search on all rows."""


class NoExtraLosses:
    """Only the rows to be clustered."""

    whole = True

    def on_sample(self, frame: CentredRows, beta: float) -> Sequence[Loss]:
        return ()

    on_all = on_sample


NO_EXTRA_LOSSES = NoExtraLosses()


@dataclass(frozen=True)
class Prepared:
    """The rows to be clustered as the problem sees them, their constraints, and losses over further rows."""

    rows: CentredRows
    constraints: RowConstraints
    extra_losses: ExtraLosses = NO_EXTRA_LOSSES

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape


@dataclass(frozen=True)
class SearchOutcome:
    """What a search ends with: the rows and the problem over all of them, the best result, and how it was found."""

    rows: CentredRows
    extra_losses: ExtraLosses
    problem: Problem
    best: SolverResult
    recorder: SearchRecorder


class CuttingPlaneClusterer(OutlierRejection):
    """Base of clusterers that minimise a hinge over weight vectors and labels by cutting planes.

    ``_slow_remedy`` of a subclass is what it advises where a search is slow.
    """

    _slow_remedy: ClassVar[str]
    _not_stored = WeightVectorClusterer._not_stored | {"checkpoint"}
    _fits_collections = True
    checkpoint: str | PathLike[str] | None = None
    _record = IterationRecord
    _stored = {"C_": float}

    _parameter_constraints: dict = {
        **COMMON_CONSTRAINTS,
        **kernel_constraints(),
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "balance": [Interval(Real, 0, None, closed="left")],
        "min_cluster_fraction": [Interval(Real, 0, 1, closed="both")],
        **SIZE_CONSTRAINTS,
        "outliers": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
        "order": [StrOptions({"auto", "cuts_first", "linearize_first", "one_step"})],
        "annealing": ["boolean"],
        "loss": [StrOptions({"max", "sum"})],
        "init": [StrOptions({"k-means", "random", "spectral"}), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "checkpoint": [str, PathLike, None],
        **LABELS_OUT,
    }

    def _value_rule(self) -> Callable[[Floats], Floats]:
        return lost_margins if self.loss == "sum" else lost_margin

    def _fit_rows(self, X: Any, rng: np.random.Generator, **further: Any) -> None:
        # Blocks are mapped side by side, and products of some dozen cuts are too small to be shared. Features that are
        # made anew would depend, in the last digit, on the number of threads.
        with one_blas_thread():
            super()._fit_rows(X, rng, **further)

    def _prepare(self, blocks: Rows, rng: np.random.Generator, side: SideInformation, further: str = "") -> Prepared:
        """The rows after the kernel's map if there is one."""
        constraints = self._check_constraints(side, blocks.shape[0], blocks.in_process)
        self.kernel_map_ = self._fit_kernel_map(blocks, constraints.weights, rng)
        return Prepared(
            CentredRows(self._checkpointed(self._features(blocks), constraints, further), constraints.weights),
            constraints,
        )

    def _check_constraints(self, side: SideInformation, n_rows: int, in_process: bool) -> RowConstraints:
        """The constraints of the rows; refuses those that cannot hold, or not where the rows are."""
        constraints = self._read_constraints(side, n_rows)
        if not in_process:
            refuse_elsewhere(constraints, self.size_max)
        self._size_bounds(constraints, n_rows, self.n_clusters)
        self.classes_ = constraints.classes_of(self.n_clusters)
        return constraints

    def _checkpointed(self, rows: Rows, constraints: RowConstraints, further: str) -> Rows:
        """The rows, with their passes kept in the checkpoint if there is one; ``further`` is a digest of other rows."""
        if self.checkpoint is None:
            return rows
        if not isinstance(self.random_state, Integral):
            raise InvalidDataError(
                f"A checkpoint needs a fit that can be repeated, but random_state={self.random_state!r}; set it to an "
                "integer."
            )
        identity = identity_of(self, rows, constraints.digest(), further)
        return CheckpointedRows(rows, Checkpoint(Path(self.checkpoint), identity))

    def _fit_kernel_map(self, blocks: Rows, weights: Floats | None, rng: np.random.Generator) -> KernelMap | None:
        """The kernel as features; None where the rows themselves are the features."""
        if self.kernel == "linear" or self.n_clusters == 1:  # one cluster has no use for features
            return None
        n_components = AUTO_LANDMARKS if self.n_components == "auto" else self.n_components
        return fit_kernel_map(
            blocks,
            self.kernel,
            gamma=self.gamma,
            params=self.kernel_params,
            n_components=n_components,
            rng=rng,
            row_weights=weights,
        )

    def _features(self, blocks: Rows) -> Rows:
        """The rows as the linear method sees them."""
        if not isinstance(self.kernel_map_, KernelMap):
            return blocks
        return feature_rows(blocks, self.kernel_map_.transform, self.kernel_map_.projection.shape[1])

    def _search(self, prepared: Prepared, rng: np.random.Generator) -> None:
        """Search from several starts on a sample, then from the best on all rows; store what was found."""
        rows, constraints, extra_losses = prepared.rows, prepared.constraints, prepared.extra_losses
        if rows.scale == 0:
            some = self.kernel_map_.landmarks if isinstance(self.kernel_map_, KernelMap) else None
            raise one_point_error(self.kernel, some, rows.shape[0], self.n_clusters)
        recorder = SearchRecorder(lambda: rows.n_passes, self._all_callbacks(), logger.info if self.verbose else None)
        sample = Sample(rows, self.n_clusters, rng, some_of_each_label(constraints.units))
        beta = self._beta(rows, sample)
        if isinstance(self.init, str):
            seen = constraints if sample.whole else constraints.of_rows(sample.chosen, rows.shape[0])
            best, done = self._best_on_sample(sample, seen, extra_losses, beta, rng, recorder)
        problem = self._problem(rows, constraints, beta, extra_losses.on_all(rows, beta))
        if not isinstance(self.init, str):
            labels = self._start_labels(constraints, rows.shape[0], self.n_clusters)
            labels = matched_to_anchors(labels, constraints.units, constraints.weights, self.n_clusters)
            best = self._search_from_labels(problem, labels, recorder, self.tol, self.max_iter)
        elif not done:
            best = self._carry_over(problem, best, recorder)
        if not best.converged:
            best = _relabelled(best, problem)
        self._store(SearchOutcome(rows, extra_losses, problem, best, recorder))

    def _plan(self) -> SearchPlan:
        return default_plan(self.n_clusters)

    def _beta(self, rows: CentredRows, sample: Sample) -> float:
        """Weight of the regulariser for rescaled rows."""
        if self.C != "auto":
            return 1 / (self.C * rows.scale**2)
        seen = sample.rows
        variances = leading_variances(sample.X, seen.mean, self.n_clusters - 1, seen.array_weights()) / seen.scale**2
        # Data of rank below k - 1 have no further variance: take the last direction that has any.
        return self._plan().rho * float(variances[variances > VARIANCE_TOL * variances[0]][-1])

    def _problem(
        self, rows: CentredRows, constraints: RowConstraints, beta: float, extra_losses: Sequence[Loss]
    ) -> Problem:
        n, d = rows.shape
        k = self.n_clusters
        term = HingeLoss(rows, k, loss=self.loss)
        return Problem(
            term, n, k, d, beta, self._rules(rows.blocks, constraints), balance=self.balance, extra_losses=extra_losses
        )

    def _rules(self, rows: Rows, constraints: RowConstraints) -> Rules:
        """What labels of these rows must keep: all rows, or those of a sample with bounds in proportion."""
        sampled = constraints.n_sampled_from is not None
        lower, upper = self._size_bounds(constraints, rows.shape[0], self.n_clusters)
        if constraints.units is None:
            return size_rules(rows, lower, upper)
        if sampled or self.size_min is None:
            lower, upper = feasible_bounds(constraints.units, lower, upper, relax_upper=sampled)
        return unit_rules(rows, constraints.units, lower, upper, rows.place)

    def _best_on_sample(
        self,
        sample: Sample,
        constraints: RowConstraints,
        extra_losses: ExtraLosses,
        beta: float,
        rng: np.random.Generator,
        recorder: SearchRecorder,
    ) -> tuple[SolverResult, bool]:
        """The best start of a sample, and whether the search for it was one on all rows and columns."""
        problem = self._problem(sample.rows, constraints, beta, extra_losses.on_sample(sample.rows, beta))
        # The norm of a list of kernels knows their columns, even of a list of one.
        if is_wide(sample) and isinstance(problem.norm, Ridge) and not problem.extra_losses:
            reduced = ReducedSample.of(sample, self.n_clusters, rng)
            problem = self._problem(reduced.rows, constraints, beta * reduced.stretch**2, ())
            starts = self._starts(reduced, constraints, rng)
            tol, steps = max(self.tol, START_TOL), min(self.max_iter, START_STEPS)
            return reduced.lifted(self._best_start(starts, problem, recorder, tol, steps)), False
        starts = self._starts(sample, constraints, rng)
        found = self._best_start(starts, problem, recorder, self.tol, self.max_iter)
        return found, sample.whole and extra_losses.whole

    def _best_start(
        self, starts: Sequence[Labels], problem: Problem, recorder: SearchRecorder, tol: float, max_iter: int
    ) -> SolverResult:
        """Search from every start; the lowest objective among the runs that did not starve."""
        results: list[SolverResult] = []
        for i, labels in enumerate(starts):
            recorder.begin(i)
            results.append(self._search_from_labels(problem, labels, recorder, tol, max_iter))
            if recorder.stopped:
                break
        return min(results, key=lambda result: (self._degenerate(result, problem), rounded(result.point.objective)))

    def _search_from_labels(
        self, problem: Problem, labels: Labels, recorder: SearchRecorder, tol: float, max_iter: int
    ) -> SolverResult:
        placed = problem.target.rows.blocks.place(labels)
        search = Search.from_labels(problem, placed, recorder, tol, max_iter)
        return search_from(search, self._plan().order if self.order == "auto" else self.order, anneal=self.annealing)

    def _carry_over(self, problem: Problem, found: SolverResult, recorder: SearchRecorder) -> SolverResult:
        """Go on with all rows where the search on the sample ended; from there the objective only falls."""
        recorder.begin(recorder.start + 1)
        search = Search.from_weights(problem, found.point.W, found.point.b, recorder, self.tol, self.max_iter)
        if recorder.stopped:
            return replace(found, point=search.best)
        result = search_from(search, "linearize_first", anneal=False)
        return replace(result, n_iter=found.n_iter + result.n_iter)

    def _starts(
        self, sample: Sample | ReducedSample, constraints: RowConstraints, rng: np.random.Generator
    ) -> list[Labels]:
        """Starting labels of the sample, the most promising first."""
        plan = self._plan()
        n_runs, keep, n_random = plan.kmeans_runs, plan.kmeans_starts, plan.random_starts
        if self.n_init != "auto":
            n_runs, keep, n_random = self.n_init, self.n_init, 0
        starts = sample_starts(self.init, sample, self.n_clusters, n_runs, keep, n_random, rng)
        return [
            matched_to_anchors(labels, constraints.units, constraints.weights, self.n_clusters) for labels in starts
        ]

    def _degenerate(self, result: SolverResult, problem: Problem) -> bool:
        """Whether a result is a last resort; a least size that the user asked for does not make it one."""
        return self.size_min is None and problem.starved(result.point)

    def _store(self, found: SearchOutcome) -> None:
        rows, problem, best = found.rows, found.problem, found.best
        point = best.point
        self.coef_, self.intercept_ = rows.to_input_space(point.W, point.b)
        self._mean, self._mean_scores = rows.mean, point.b
        self.labels_ = rows.blocks.publish(point.labels)
        self.C_ = 1 / (problem.beta * rows.scale**2)
        self.objective_ = point.objective
        self.history_ = found.recorder.records
        self.n_iter_ = best.n_iter
        self.n_clusters_ = self.n_clusters
        self.converged_ = best.converged
        self.starved_ = problem.starved(point)
        if not best.converged and not found.recorder.stopped:
            warn_caller(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations at an objective of "
                f"{point.objective:.2g} whose gap is not yet below tol={self.tol}; raise max_iter or tol, "
                f"{self._slow_remedy}.",
                ConvergenceWarning,
            )

    def _store_single_cluster(self, rows: Any) -> None:
        super()._store_single_cluster(rows)
        self.C_ = np.nan


def identity_of(estimator: BaseEstimator, rows: Rows, constraints: str, further: str) -> dict[str, str]:
    """What two fits must have in common to be the same: the method, its settings, and digests of all rows."""
    settings = {
        name: _described(value)
        for name, value in estimator.get_params().items()
        if name not in ("callback", "checkpoint", "labels_out", "memory", "n_jobs", "verbose")
    }
    found = {"version": version("widegap"), "method": type(estimator).__name__, **settings}
    digests = {"the digest of the rows": digest_of_rows(rows), "the digest of further rows": further}
    digests |= {"the digest of labels, links and weights": constraints} if constraints else {}
    return {**found, "the number of rows": str(rows.shape[0]), **digests}


def _described(value: Any) -> str:
    """A setting in words that are the same in every process: arrays by a digest, functions by their names."""
    if isinstance(value, list | tuple) and not all(isinstance(item, Real) for item in value):
        return f"[{', '.join(map(_described, value))}]"
    if np.ndim(value):
        return blake2b(np.ascontiguousarray(value).tobytes()).hexdigest()
    return getattr(value, "__qualname__", repr(value))


def _relabelled(result: SolverResult, problem: Problem) -> SolverResult:
    """The result with the best labels for its weights, which an unimproved start or a stopped fit may lack."""
    W, b = result.point.W, result.point.b
    step = problem.relabel(W, b, result.point.labels)
    point = Point(W, b, step.labels, problem.objective(W, step.planes), step.bound_active)
    return replace(result, point=point)
