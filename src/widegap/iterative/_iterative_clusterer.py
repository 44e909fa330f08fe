"""What IterSVM, IterSVR and IterLSSVM share: features, bisection by turns, the tree for ``predict``, the records."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from widegap._types import Doubles, Floats, Indices, Ints, Labels, Mask
from widegap._warnings import warn_caller
from widegap.base._clusterer import COMMON_CONSTRAINTS, Objective, WeightVectorClusterer
from widegap.base._docs import shared_docs
from widegap.base._progress import logger
from widegap.base._records import Recorder
from widegap.base._scored_clusterer import below_largest
from widegap.base._starts import rounded
from widegap.base._validation import (
    COST,
    Interval,
    StrOptions,
    check_rows,
    check_start_labels,
    kernel_constraints,
    one_point_error,
)
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError
from widegap.features._kernel_maps import KernelMap, fit_kernel_map
from widegap.features._kernels import check_kernel_params
from widegap.iterative._alternation import TAIL_TOL, Alternation, Axes, Step, alternate
from widegap.iterative._bisection import Tree, bisection_starts, divides_equal_rows, merged_labels, principal_axes
from widegap.iterative._svm import Machine, WarmStart
from widegap.iterative._threshold import TIE_TOL, Bounds, CutLosses, best_split, bisection_bounds
from widegap.rows._blocks import RowBlocks, Scorer
from widegap.rows._matrices import check_finite
from widegap.rows._threads import one_blas_thread

EXACT_KERNEL_ROWS = 2000  # up to here "auto" decomposes the whole kernel matrix
LOW_RANK = 300  # landmarks above that: 200 to 300 were enough on sets below 100,000 rows, chosen at random
LOW_RANK_TAIL = 1e-4  # as TAIL_TOL, but landmarks alone move the objective by more than that
SMALL_WORK = 1e10  # multiplications below which BLAS threads gain little, and lose much on a busy machine


@dataclass(frozen=True)
class TurnRecord:
    """One turn of regression and relabelling.

    Attributes
    ----------
    split, start, iteration : int
        Which bisection (always 0 for two clusters), which start of it, and the turn, all from 0.
    objective : float
        The regression's objective for the labels of the turn before.
    flips, n_positive : int
        Rows whose label the turn changed, and rows labelled +1 after it.
    bound_active : bool
        Whether ``min_cluster_fraction`` and not the loss decided the threshold.
    seconds : float
        Since the start of the fit.
    margin_counts, margin_edges : tuple
        Histogram of y_i f(x_i), the labels of the regression times its values: 40 counts and 41 edges.
    """

    split: int
    start: int
    iteration: int
    objective: float
    flips: int
    n_positive: int
    bound_active: bool
    seconds: float
    margin_counts: tuple[int, ...]
    margin_edges: tuple[float, ...]

    def line(self) -> str:
        """The record as one line of the log."""
        return (
            f"split {self.split}, start {self.start}, turn {self.iteration}: objective {self.objective:.6g}, "
            f"{self.flips} flips, {self.n_positive} positive, {self.seconds:.2f} s"
        )


@dataclass(frozen=True)
class _Turns:
    """Records the turns of one bisection."""

    recorder: Recorder[TurnRecord]
    split: int

    def add(self, start: int, step: Step) -> bool:
        return self.recorder.add(
            split=self.split,
            start=start,
            iteration=step.iteration,
            objective=step.machine.objective,
            flips=step.flips,
            n_positive=step.split.n_positive,
            bound_active=step.split.bound_active,
            margin_counts=step.margin_counts,
            margin_edges=step.margin_edges,
        )


@dataclass(frozen=True)
class _Bisection:
    """Two clusters of some rows: the turns that found them and the axes they worked on."""

    found: Alternation
    axes: Axes

    @property
    def positive(self) -> Mask:
        return self.found.step.split.y > 0


class IterativeClusterer(WeightVectorClusterer):
    """Base of the three methods: a subclass has its loss in ``_fit_machine`` and ``_cut_losses``."""

    kernel_map_: KernelMap | None
    _cut_losses: CutLosses  # a static method
    _objective = Objective(
        "objective", "lower", "regularised loss of the last regression; compare runs on the same data only"
    )
    _record = TurnRecord
    _stored = {"bisected_": np.ndarray, "cycled_": bool}

    _parameter_constraints: dict = {
        **COMMON_CONSTRAINTS,
        "C": [COST],
        **kernel_constraints(),
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "min_cluster_fraction": [Interval(Real, 0, 1, closed="both")],
        "init": [StrOptions({"auto", "k-means", "random", "spectral"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    @property
    def _n_score_vectors(self) -> int:
        return self.n_clusters_ - 1  # one a bisection

    def _fit_machine(self, axes: Axes, y: Doubles, warm: WarmStart | None) -> Machine:
        raise NotImplementedError

    def _prepare(self, blocks: RowBlocks, rng: np.random.Generator) -> RowBlocks:
        check_kernel_params(self.kernel, self.kernel_params)
        if not isinstance(self.init, str):
            self._check_start_labels(blocks.shape[0])
        return blocks

    def _search(self, blocks: RowBlocks, rng: np.random.Generator) -> None:
        n = blocks.shape[0]
        rank = self._rank(n)
        small = n * min(n, rank) ** 2 < SMALL_WORK
        with one_blas_thread(openmp=True) if small else nullcontext():
            self.kernel_map_ = self._fit_kernel_map(blocks, rank, rng)
            self._cluster(blocks, self._features(blocks), rng)

    def _store_single_cluster(self, rows: Any) -> None:
        super()._store_single_cluster(rows)
        self.kernel_map_, self.bisected_, self.cycled_ = None, np.zeros(0, np.int32), False

    def _check_start_labels(self, n: int) -> None:
        labels = check_start_labels(self.init, n, self.n_clusters)
        if self.n_clusters > 1 and labels.min() == labels.max():
            raise InvalidDataError(
                f"init gives all {n} rows the label {labels[0]}; a regression needs at least two labels to start from."
            )

    def _rank(self, n: int) -> int:
        """Landmarks of the kernel map."""
        if self.n_components != "auto":
            return self.n_components
        return n if n <= EXACT_KERNEL_ROWS else LOW_RANK

    def _fit_kernel_map(self, blocks: RowBlocks, rank: int, rng: np.random.Generator) -> KernelMap | None:
        if self.kernel == "linear" and blocks.shape[1] <= max(rank, LOW_RANK):
            return None
        return fit_kernel_map(
            blocks, self.kernel, gamma=self.gamma, params=self.kernel_params, n_components=rank, rng=rng
        )

    def _features(self, blocks: RowBlocks) -> Floats:
        """The table that the linear method works on: the kernel's features, or the rows themselves."""
        if self.kernel_map_ is not None:
            return self.kernel_map_.transform_blocks(blocks)
        d = blocks.shape[1]
        rows = Scorer(np.eye(d), np.zeros(d), np.zeros(d))
        return blocks.map(lambda block: block.scores(rows))

    def _cluster(self, blocks: RowBlocks, Phi: Floats, rng: np.random.Generator) -> None:
        """Bisect the largest cluster until there are enough."""
        n = len(Phi)
        check_finite(Phi)
        recorder = Recorder(TurnRecord, self._all_callbacks(), logger.info if self.verbose else None)
        tree = Tree(Phi.shape[1], Phi.mean(axis=0, dtype=np.float64))
        labels = np.zeros(n, np.int32)
        splits: list[Alternation] = []
        while tree.n_leaves < self.n_clusters and not (recorder.stopped and splits):
            cluster, rows, bisection = self._bisect_largest(blocks, Phi, labels, rng, recorder)
            step = bisection.found.step
            tree.add(cluster, bisection.axes.coef(step.machine.w), step.split.bias, bisection.axes.mean)
            labels[rows[bisection.positive]] = tree.n_leaves - 1
            splits.append(bisection.found)
        self._store(tree, labels, splits, recorder)

    def _bisect_largest(
        self, blocks: RowBlocks, Phi: Floats, labels: Labels, rng: np.random.Generator, recorder: Recorder[TurnRecord]
    ) -> tuple[int, Indices, _Bisection]:
        """Bisect the largest cluster that has two sides, those last whose bounds would divide equal rows.

        The error of the first if none has two sides.
        """
        sizes = np.bincount(labels)
        error: Exception | None = None
        for cluster in self._by_preference(Phi, labels, sizes):
            rows = np.flatnonzero(labels == cluster)
            try:
                inside = Phi if len(sizes) == 1 else Phi[rows]
                n_leaves = self._leaves(len(rows) / len(Phi), len(sizes))
                bisection = self._bisect(blocks, inside, rows, n_leaves, rng, _Turns(recorder, len(sizes) - 1))
                return cluster, rows, bisection
            except (InfeasibleBalanceError, InvalidDataError) as caught:
                error = error or caught
        assert error is not None  # there are more rows than clusters, so some cluster had two
        raise error

    def _by_preference(self, Phi: Floats, labels: Labels, sizes: Ints) -> list[int]:
        """Clusters of two rows or more, by size; those come last whose equal rows would have to be divided."""
        clusters = [int(cluster) for cluster in np.argsort(-sizes, kind="stable") if sizes[cluster] > 1]
        if len(clusters) < 2:
            return clusters

        def divides(cluster: int) -> bool:
            n_leaves = self._leaves(sizes[cluster] / len(Phi), len(sizes))
            bounds = bisection_bounds(int(sizes[cluster]), self.min_cluster_fraction, n_leaves)
            return divides_equal_rows(Phi[labels == cluster], bounds)

        return sorted(clusters, key=divides)

    def _leaves(self, share: float, n_clusters: int) -> int:
        """Clusters that a share of the rows will make in the end, when there are ``n_clusters`` so far."""
        return min(max(2, round(share * self.n_clusters)), self.n_clusters - n_clusters + 1)

    def _bisect(
        self, blocks: RowBlocks, Phi: Floats, rows: Indices, n_leaves: int, rng: np.random.Generator, turns: _Turns
    ) -> _Bisection:
        """The best of ``n_init`` searches for two clusters of some rows, which will be ``n_leaves`` in the end."""
        exact = self.kernel_map_ is None or self.kernel_map_.is_exact(blocks.shape[0])
        axes = principal_axes(Phi, self.C, TAIL_TOL if exact else LOW_RANK_TAIL)
        if not axes.P.shape[1]:
            raise one_point_error(self.kernel, blocks.take(rows), len(rows), self.n_clusters)
        bounds = partial(bisection_bounds, min_fraction=self.min_cluster_fraction, n_leaves=n_leaves)
        tie_tol = max(TIE_TOL, 8 * float(np.finfo(Phi.dtype).eps))
        results = []
        for start, y in enumerate(self._starts(axes, rows, bounds, rng)):
            results.append(
                alternate(
                    lambda y, warm: self._fit_machine(axes, y, warm),
                    lambda f: best_split(f, self._cut_losses, bounds(len(rows)), tie_tol),
                    y,
                    max_iter=self.max_iter,
                    record=partial(turns.add, start),
                )
            )
            if turns.recorder.stopped:
                break
        return _Bisection(min(results, key=lambda found: rounded(found.step.machine.objective)), axes)

    def _starts(
        self, axes: Axes, rows: Indices, bounds: Callable[[int], Bounds], rng: np.random.Generator
    ) -> list[Doubles]:
        """Starting labels of some rows: those of ``init`` where they divide the rows."""
        if isinstance(self.init, str):
            return bisection_starts(self.init, axes, bounds, self.n_init, rng)
        merged = merged_labels(np.asarray(self.init)[rows], axes.P, rng)
        return bisection_starts("auto", axes, bounds, 1, rng) if merged is None else [merged]

    def _store(self, tree: Tree, labels: Labels, splits: list[Alternation], recorder: Recorder[TurnRecord]) -> None:
        self.coef_, self.intercept_ = tree.coef, tree.intercept
        self.bisected_ = np.array(tree.bisected, np.int32)
        self._mean, self._mean_scores = tree.mean, tree.mean_scores
        self.labels_ = labels
        self.history_ = recorder.records
        self.n_clusters_ = tree.n_leaves
        self.n_iter_ = sum(found.n_iter for found in splits)
        self.objective_ = sum(found.step.machine.objective for found in splits)
        self.converged_ = all(found.converged or found.cycled for found in splits)
        self.cycled_ = any(found.cycled for found in splits)
        self.starved_ = any(found.step.split.bound_active for found in splits)
        if not self.converged_ and not recorder.stopped:
            warn_caller(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} turns with labels still changing; "
                "raise max_iter.",
                ConvergenceWarning,
            )

    def decision_function(self, X: Any) -> Floats:
        """Signed distance to the boundary, in units of the margin.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) for two clusters, else (n_samples, n_clusters)
            For two clusters positive in cluster 1. Otherwise the smallest margin on the way from the first bisection
            to each cluster; only a row's own cluster has a positive one.
        """
        return self._map_nodes(X, self._decision)

    def _decision(self, scores: Floats) -> Floats:
        return scores[:, 0] if self.n_clusters_ == 2 else self._leaf_scores(scores)

    def _labels_and_scores(self, X: Any) -> tuple[Any, Any]:
        nodes = self._map_nodes(X, lambda scores: scores)
        return self._leaf_labels(nodes), self._decision(nodes)

    @shared_docs
    def predict(self, X: Any) -> Labels:
        """Cluster of each row.

        Parameters
        ----------
        <rows to assign>

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        return self._map_nodes(X, self._leaf_labels)

    def _map_rows(self, X: Any, function: Callable[[Floats], Any]) -> Any:
        return self._map_nodes(X, function)

    def _distance_rule(self) -> Callable[[Floats], Floats]:
        half = 0.5 if self.n_clusters_ == 2 else 1.0  # of two scores, -f and f, the decision value is the difference
        return lambda nodes: below_largest(half * self._leaf_scores(nodes))

    def _value_rule(self) -> Callable[[Floats], Floats]:
        return self._minus_losses

    def _minus_losses(self, nodes: Floats) -> Floats:
        """Minus the loss of each row, added up over the bisections on its way."""
        labels, values = np.zeros(len(nodes), np.int32), np.zeros(len(nodes))
        for j, cluster in enumerate(self.bisected_):
            inside = labels == cluster
            values[inside] -= self._losses(np.abs(nodes[inside, j]))
            labels[inside & (nodes[:, j] > 0)] = j + 1
        return values

    def _losses(self, margins: Floats) -> Floats:
        """The method's loss of rows with given margins, for the side that they are on."""
        raise NotImplementedError

    def _check_stored(self) -> None:
        super()._check_stored()
        n_made = np.arange(self.n_clusters_ - 1)  # bisection j finds the clusters 0 to j
        fits = self.bisected_.dtype.kind == "i" and self.bisected_.shape == n_made.shape
        if not fits or not ((self.bisected_ >= 0) & (self.bisected_ <= n_made)).all():
            raise ValueError(f"bisected_ does not make {self.n_clusters_} clusters")

    def _map_nodes(self, X: Any, function: Callable[[Floats], Any]) -> np.ndarray[Any, Any]:
        """``function`` of the decision values of every row at every bisection, a block of rows at a time."""
        check_is_fitted(self)
        if len(self.bisected_):
            return self._map_scores(X, function)
        return function(np.zeros((check_rows(self, X, reset=False, n_threads=1).shape[0], 0)))

    def _leaf_labels(self, scores: Floats) -> Labels:
        labels = np.zeros(len(scores), np.int32)
        for j, cluster in enumerate(self.bisected_):
            labels[(labels == cluster) & (scores[:, j] > 0)] = j + 1
        return labels

    def _leaf_scores(self, scores: Floats) -> Floats:
        leaves = np.full((len(scores), self.n_clusters_), np.inf, scores.dtype)
        for j, cluster in enumerate(self.bisected_):
            leaves[:, j + 1] = np.minimum(leaves[:, cluster], scores[:, j])
            leaves[:, cluster] = np.minimum(leaves[:, cluster], -scores[:, j])
        return leaves if len(self.bisected_) else np.zeros((len(scores), 1))
