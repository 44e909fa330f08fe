"""MKC: multiple kernel clustering. What it reads, the estimator, and what it finds out about its kernels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widegap._types import Doubles, Floats, Labels
from widegap._warnings import warn_caller
from widegap.base._clusterer import Clusterer, Objective
from widegap.base._docs import shared_docs
from widegap.base._records import IterationRecord, Point, SolverResult
from widegap.base._starts import Sample, different_starts
from widegap.base._validation import (
    COST,
    Interval,
    StrOptions,
    check_cluster_number,
    check_rows,
    check_threads,
    check_views,
    kernel_constraints,
)
from widegap.constraints._side_information import RowConstraints, SideInformation
from widegap.cutting_plane._cutting_plane_clusterer import CuttingPlaneClusterer, Prepared, SearchOutcome, SearchPlan
from widegap.cutting_plane._norms import KernelNorm
from widegap.cutting_plane._problem import Loss, Problem
from widegap.cutting_plane._reduced_sample import ReducedSample
from widegap.exceptions import InvalidDataError, KernelWarning
from widegap.features._kernel_rows import is_views, n_rows
from widegap.features._kernel_specs import KernelSpec, TableColumns, raw_views, read_specs
from widegap.features._kernel_stack import KernelStack, fit_kernel_stack
from widegap.rows._centred import CentredRows, optional_state
from widegap.rows._protocols import Rows
from widegap.updating._updatable import MEMORY, UpdatableClusterer

KEPT_STARTS = 4  # of twenty k-means runs; settled with the other defaults on digits, letters, satellite and ringnorm
AUTO_LANDMARKS_A_KERNEL = 100  # the search holds the features of all kernels side by side; settled as KEPT_STARTS
DEFAULT_KERNELS = ("linear", "poly", "rbf", ("rbf", {"width": 0.75}))
ONE_DIRECTION = 1.1  # effective rank below which nearly all of a kernel lies in one direction


@shared_docs
class MKC(UpdatableClusterer, CuttingPlaneClusterer):
    r"""Multiple kernel clustering (MKC).

    Finds, together, k weight vectors for each of M kernels, the weights of the kernels and a labeling that minimise
    [1]_

    .. math::  F(v, w, b) = \frac{1}{2C} \sum_{m=1}^M \frac{\|v_m\|^2}{w_m}
               + \frac{1}{n} \sum_i \min_z \max(0,\; 1 - s_{iz} + \max_{r \ne z} s_{ir}),
               \qquad s_i = \sum_m v_m (\Phi_m(x_i) - \bar\Phi_m) + b,
               \qquad w \ge 0,\; \|w\|_p \le 1 .

    For the labels found, that is a support vector machine with the kernel :math:`\sum_m w_m K_m`, weights chosen for
    the widest margin. Kernels may look at different columns or different tables, so that text, numbers and pictures of
    the same samples can be clustered together. The weights have a closed form, which leaves the problem of
    :class:`CPM3C` with another norm in place of :math:`\|W\|`; its master is solved by a small interior-point method.

    Parameters
    ----------
    <n_clusters>

    kernels : list, default=("linear", "poly", "rbf", ("rbf", {"width": 0.75}))
        The kernels. Each is one of

        - a name: "linear", "poly", "rbf", "cosine", or "precomputed" for a matrix of kernel values in place of rows;
        - a pair of name and parameters, ``("poly", {"degree": 2})``: "degree" and "coef0" of "poly"; "gamma" of "poly"
          and "rbf", a number, "median" or "diameter"; or for "rbf" in its place "width", in medians of the distance of
          two rows (1.5);
        - a function that takes two tables of rows and returns the matrix of kernel values;
        - a transformer: the linear kernel of what it makes of the rows;
        - a triple of a name of your own, one of the above, and where it looks: columns of X (numbers, names, a mask or
          a slice), or the key of a view if X is a dict.

        A kernel without a place to look takes all of X, and every view in turn if X is a dict.

    C : float, default=10.0
        Weight of the loss against the regulariser, as in :class:`CPM3C`.

    norm : float, default=2.0
        p, above 1, the norm of the kernel weights. Towards 1 few kernels get all the weight; large values make all
        weights 1. Checked down to 1.01.

    normalize : "trace" or None, default="trace"
        Bring every kernel to the same trace, which is the variance of its features. Otherwise kernels in larger units
        count for more.

    n_components : "auto" or int, default="auto"
        Landmarks, and thereby most features, of every kernel; "auto" is 100. With as many as there are rows the kernels
        are exact. The features of all kernels are up to n * M * n_components numbers; those of rows in files are held
        only up to 64 MiB, and otherwise made anew in every pass.

    <balance>

    <min_cluster_fraction>

    <size_min>

    <size_max>

    <outliers>

    order : {"auto", "cuts_first", "linearize_first", "one_step"}, default="auto"
        How relabelling and cutting alternate, see :class:`CPM3C`. "auto" is "cuts_first", the paper's order, for two
        clusters and "linearize_first" for more.

    <annealing>

    <loss>

    init : {"k-means", "random", "spectral"} or array-like of shape (n_samples,), default="k-means"
        Starting labels, from the features of all kernels side by side. Given labels start the search on all rows;
        otherwise, above 5000 rows, the starts are compared on a sample of that size and the best goes on with all.

    n_init : "auto" or int, default="auto"
        Number of starts; k-means runs with the same result count once. The lowest objective wins among the searches
        that neither starved a cluster nor collapsed. "auto" is the best four by inertia of twenty k-means runs (or of
        random starts) that are not much alike.

    <memory>

    tol : float, default=0.003
        A search ends when, for its labels, the gap between the objective and its lower bound is below ``tol`` times
        the objective, and new labels gain no more than that.

    max_iter : int, default=300
        Most iterations of one start; each reads the features once (three times where the count bound is active).

    random_state : int, RandomState instance or None, default=None
        Determines the landmarks, the starts and the samples. The result does not depend on the number of threads.

    <n_jobs>

    <verbose>

    <callback>

    <checkpoint>

    <labels_out>

    Attributes
    ----------
    <labels_>

    <classes_>

    kernel_names_ : list of str
        Names of the kernels, in the order of the next three attributes.

    kernel_weights_ : ndarray of shape (n_kernels,)
        w; of p-norm 1, and 0 for a kernel that is constant on the rows. They measure how much margin a kernel gives for
        its trace, *not* how relevant it is: a kernel with all its variance in one direction gives much margin
        whatever that direction means.

    kernel_margins_ : ndarray of shape (n_kernels,)
        What each kernel contributes to the mean lead of a row's cluster over its best rival.

    kernel_ranks_ : ndarray of shape (n_kernels,)
        Effective rank of each centred kernel, :math:`(\sum_j \lambda_j)^2 / \sum_j \lambda_j^2`.

    coef_ : ndarray of shape (n_clusters, n_features_of_all_kernels)
        Weight vectors in the space of the features of all kernels that are not constant, side by side.

    intercept_ : ndarray of shape (n_clusters,)
        Constants of the scores.

    <C_>

    objective_ : float
        F at the solution. Where nothing is separated it is 1 - balance, or (k - 1) / k of that with ``loss="sum"``.

    kkt_residual_ : float
        The worst relative duality gap of any master problem of the fit: how exactly they were solved.

    collapsed_ : bool
        Whether the objective is, within ``tol``, no better than where nothing is separated.

    <history_>

    <n_iter_>

    <converged_>

    <starved_>

    <reject_beyond_>

    <n_clusters_>

    <changes_>

    kernel_map_ : KernelStack
        The fitted kernels, as ``kernel_map_.kernels``; each knows its ``negative_share``.

    n_features_in_ : int
        Number of features seen in fit, unless X was a dict.

    <feature_names_in_>

    Warns
    -----
    KernelWarning
        If a kernel is indefinite, so that its negative part was left out; if it is constant, and therefore ignored; if
        it has the largest weight only because it lies in one direction; or if the result collapsed.

    Notes
    -----
    The paper's problem does not depend on where the features are centred, as its bias is free; only the trace does, and
    it is taken of the centred kernels. M copies of one kernel act as that kernel times :math:`M^{1/2}` (for p = 2),
    that is as a larger C: many similar kernels weaken the regulariser.

    The defaults, C, the two widths and 100 landmarks, were settled on pairs and quadruples of digits and letters,
    satellite, ringnorm and five MNIST digits, all of them seen with their labels.

    A callable or precomputed kernel is used through its values at the landmarks alone, as a named one is: the same
    kernel gives the same result in every form. Transformers are cloned and fitted to all rows, but to a sample of 5000
    of a table on disk or on a cluster that takes more than 64 MiB.

    Rows in files are read block by block. Dask collections are clustered as by :class:`CPM3C`; the workers hold the
    features, twice for a moment.

    X may be a dict of views by name: tables in memory with the same rows in the same order. Only views that a kernel
    uses are read. A transformer's view may be anything that it accepts, such as a list of documents. With a precomputed
    kernel, X is the kernel matrix of shape (n_samples, n_samples).

    References
    ----------
    .. [1] B. Zhao, J. T. Kwok, C. Zhang, "Multiple kernel clustering", SDM 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widegap import MKC
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = MKC(n_clusters=2, random_state=0).fit(X)
    >>> sorted(int((model.labels_ == cluster).sum()) for cluster in (0, 1))
    [178, 182]

    Kernels of different tables, here of two halves of the picture:

    >>> views = {"top": X[:, :32], "bottom": X[:, 32:]}
    >>> model = MKC(kernels=[("top", "rbf", "top"), ("bottom", "linear", "bottom")], random_state=0).fit(views)
    >>> model.kernel_names_, model.predict(views).shape
    (['top', 'bottom'], (360,))
    """

    _parameter_constraints: dict = {
        **{
            name: rule
            for name, rule in CuttingPlaneClusterer._parameter_constraints.items()
            if name not in kernel_constraints()
        },
        **MEMORY,
        "kernels": [list, tuple],
        "C": [COST],
        "norm": [Interval(Real, 1, 1e6, closed="right")],
        "normalize": [StrOptions({"trace"}), None],
    }
    _objective = Objective("hinge loss", "lower", "regularised clustering hinge over the weighted kernels")
    _stored = {
        "kernel_map_": KernelStack,
        "kernel_names_": list[str],
        "kernel_weights_": np.ndarray,
        "kernel_margins_": np.ndarray,
        "kernel_ranks_": np.ndarray,
        "kkt_residual_": float,
        "collapsed_": bool,
        "_has_views": bool,
    }
    _command = "mkc"
    _slow_remedy = "or lower C"

    kernel_map_: KernelStack

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        kernels: Sequence[Any] = DEFAULT_KERNELS,
        C: float = 10.0,
        norm: float = 2.0,
        normalize: str | None = "trace",
        n_components: str | int = "auto",
        balance: float = 0.0,
        min_cluster_fraction: float = 0.3,
        size_min: Any = None,
        size_max: Any = None,
        outliers: float | str = 0,
        order: str = "auto",
        annealing: bool = False,
        loss: str = "max",
        init: Any = "k-means",
        n_init: str | int = "auto",
        memory: int = 5000,
        tol: float = 0.003,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[IterationRecord], Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        labels_out: str | PathLike[str] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.C = C
        self.norm = norm
        self.normalize = normalize
        self.n_components = n_components
        self.balance = balance
        self.min_cluster_fraction = min_cluster_fraction
        self.size_min = size_min
        self.size_max = size_max
        self.outliers = outliers
        self.order = order
        self.annealing = annealing
        self.loss = loss
        self.init = init
        self.n_init = n_init
        self.memory = memory
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.labels_out = labels_out

    @property
    def _precomputed(self) -> bool:
        entries = [entry if isinstance(entry, tuple) else (entry,) for entry in self.kernels]
        return any(isinstance(part, str) and part == "precomputed" for entry in entries for part in entry)

    def _read(self, X: Any) -> tuple[Any, list[KernelSpec]]:
        """The checked table or views, and what each kernel reads of them."""
        self._has_views = is_views(X)
        rows: Any
        rows, specs = (read_views if self._has_views else read_kernel_table)(self, X, self.kernels)
        check_cluster_number(n_rows(rows), self.n_clusters)
        return rows, specs

    def _prepare(self, blocks: Any, rng: np.random.Generator, side: SideInformation, further: str = "") -> Prepared:
        """The features of all kernels."""
        X, specs = blocks
        constraints = self._check_constraints(side, n_rows(X), self._has_views or X.in_process)
        rank = AUTO_LANDMARKS_A_KERNEL if self.n_components == "auto" else int(self.n_components)
        threads, normalize = check_threads(self.n_jobs), self.normalize is not None
        self.kernel_map_, features = fit_kernel_stack(
            X, specs, n_components=rank, normalize=normalize, n_threads=threads, rng=rng, weights=constraints.weights
        )
        check_kernels(self.kernel_map_, n_rows(X), self.n_clusters)
        return Prepared(
            CentredRows(self._checkpointed(features, constraints, further), constraints.weights), constraints
        )

    def _search(self, prepared: Prepared, rng: np.random.Generator) -> None:
        super()._search(prepared, rng)
        if self.collapsed_:
            warn_of_collapse(self.objective_, self.tol)
        warn_of_one_direction(self.kernel_names_, self.kernel_weights_, self.kernel_ranks_)

    def _plan(self) -> SearchPlan:
        order = "cuts_first" if self.n_clusters == 2 else "linearize_first"
        return SearchPlan(order, rho=np.nan, kmeans_runs=20, kmeans_starts=20, random_starts=0)  # no rho: C is a number

    def _starts(
        self, sample: Sample | ReducedSample, constraints: RowConstraints, rng: np.random.Generator
    ) -> list[Labels]:
        starts = super()._starts(sample, constraints, rng)
        # Many k-means runs are much alike; the objective is a good judge only of those that are not.
        return different_starts(starts, KEPT_STARTS) if self.n_init == "auto" else starts

    def _problem(
        self, rows: CentredRows, constraints: RowConstraints, beta: float, extra_losses: Sequence[Loss]
    ) -> Problem:
        problem = super()._problem(rows, constraints, beta, extra_losses)
        balance = min(self.balance, largest_lead(rows, beta)) if self.balance > 1 else self.balance
        return replace(problem, norm=KernelNorm(self.kernel_map_.sizes, float(self.norm)), balance=balance)

    def _degenerate(self, result: SolverResult, problem: Problem) -> bool:
        return super()._degenerate(result, problem) or self._collapsed(result)

    def _collapsed(self, result: SolverResult) -> bool:
        """Whether weights of zero and the largest bias would do as well, within the tolerance."""
        trivial = max(0.0, 1 - self.balance)
        if self.loss == "sum":
            trivial *= (self.n_clusters - 1) / self.n_clusters
        return bool(result.point.objective >= (1 - self.tol) * trivial)

    def _store(self, found: SearchOutcome) -> None:
        super()._store(found)
        point = found.best.point
        norm = KernelNorm(self.kernel_map_.sizes, float(self.norm))
        self.kkt_residual_ = found.recorder.residual
        self.collapsed_ = self._collapsed(found.best)
        self._store_kernels(norm.weights(point.W), kernel_margins(found.rows, norm, point))

    def _store_kernels(self, weights: Floats, margins: Floats) -> None:
        """Weights and margins of all kernels, 0 for those that are not active."""
        kernels = self.kernel_map_.kernels
        active = [kernel.map is not None for kernel in kernels]
        self.kernel_names_ = [kernel.name for kernel in kernels]
        self.kernel_ranks_ = np.array([kernel.effective_rank for kernel in kernels])
        self.kernel_weights_, self.kernel_margins_ = np.zeros((2, len(kernels)))
        self.kernel_weights_[active], self.kernel_margins_[active] = weights, margins

    def _store_single_cluster(self, rows: Any) -> None:
        super()._store_single_cluster(rows)
        norm = KernelNorm(self.kernel_map_.sizes, float(self.norm))
        self.kkt_residual_, self.collapsed_ = 0.0, False
        self._store_kernels(norm.weights(self.coef_) if norm.sizes else np.zeros(0), np.zeros(len(norm.sizes)))

    def _map_scores(self, X: Any, function: Callable[[Any], Any]) -> Any:
        check_is_fitted(self)
        check_form(self, X, self._has_views)
        if not self._has_views:
            return super()._map_scores(X, function)
        return function(self._folded().of_rows(read_new_views(self.kernel_map_, X)))


def read_views(estimator: Clusterer, views: Mapping[str, Any], kernels: Any) -> tuple[dict[str, Any], list[KernelSpec]]:
    """The views that the kernels look at, checked, and where each of them looks."""
    specs = read_specs(kernels, list(views))
    for name in ("n_features_in_", "feature_names_in_", "_rows_digest"):
        estimator.__dict__.pop(name, None)  # of an earlier fit on a table
    used = {spec.source: views[spec.source] for spec in specs}
    return check_views(used, raw_views((spec.source, spec.is_transformer) for spec in specs)), specs


def read_kernel_table(estimator: Clusterer, X: Any, kernels: Any) -> tuple[Rows, list[KernelSpec]]:
    """The checked rows of a table, and where each kernel looks in it."""
    rows = check_rows(estimator, X, reset=True, n_threads=check_threads(estimator.n_jobs))
    return rows, read_specs(kernels, TableColumns(rows.shape[1], getattr(estimator, "feature_names_in_", None)))


def check_form(estimator: Clusterer, X: Any, has_views: bool) -> None:
    """Refuse a table of new rows where views were fitted, and the other way round."""
    if is_views(X) != has_views:
        raise InvalidDataError(
            f"{type(estimator).__name__} was fitted on {'a dict of views' if has_views else 'one table'}; "
            "pass new rows in the same form."
        )


def read_new_views(stack: KernelStack, views: Mapping[str, Any]) -> dict[str, Any]:
    """Views of new rows, checked against those that the kernels were fitted on."""
    uses = [(kernel.source, kernel.transformer is not None) for kernel in stack.kernels]
    used = {name: view for name, view in views.items() if name in dict(uses)}
    checked = check_views(used, raw_views(uses))
    stack.check_views(checked)
    return checked


def check_kernels(stack: KernelStack, n_rows: int, n_clusters: int) -> None:
    """Warn of kernels that are indefinite or constant; refuse several clusters if all are constant."""
    if not stack.active and n_clusters > 1:
        raise InvalidDataError(
            f"All {len(stack.kernels)} kernels are constant on the {n_rows} rows, so they cannot be separated into "
            f"{n_clusters} clusters; use fewer clusters or check the data."
        )
    for kernel in stack.kernels:
        if kernel.negative_share > 0:
            _warn(
                f"Kernel {kernel.name!r} is not positive semidefinite: {kernel.negative_share:.1%} of its spectrum "
                "is negative and was left out; use another kernel, or K @ K.T of a similarity matrix K."
            )
        if kernel.map is None:
            _warn(f"Kernel {kernel.name!r} is constant on these rows and gets the weight 0; leave it out.")


def warn_of_collapse(objective: float, tol: float) -> None:
    """Warn that nothing was separated."""
    _warn(
        f"The objective of {objective:.4g} is no better, within tol={tol}, than where nothing is separated; the labels "
        "mean little. Raise C, lower balance or change the kernels."
    )


def warn_of_one_direction(names: list[str], weights: Floats, ranks: Floats) -> None:
    """Warn if the heaviest kernel owes its weight to lying in one direction while another does not lie in one."""
    heaviest = int(weights.argmax())
    if ranks[heaviest] < ONE_DIRECTION and (np.delete(ranks, heaviest) >= 2).any():
        _warn(
            f"Kernel {names[heaviest]!r} has the largest weight, {weights[heaviest]:.2f}, but nearly all its variance "
            "is in one direction, which gives margin whatever that direction means; compare with a fit without it."
        )


def _warn(message: str) -> None:
    warn_caller(message, KernelWarning)


def largest_lead(rows: CentredRows, beta: float) -> float:
    """A difference of biases that no solution exceeds, as it would give all rows to one cluster, and some to spare.

    At a solution the regulariser is at most 1, the loss of zero weights: |W|^2 <= 2 / beta. A larger bound on the mean
    scores means the same, and only costs the master its digits.
    """
    mean = rows.mean
    largest = rows.blocks.reduce(
        lambda block: _Largest(float(np.square(block.take(slice(None)) - mean).sum(axis=1).max()))
    )
    assert largest is not None
    return 1 + 2 * float(np.sqrt(largest.value / beta)) / rows.scale


@dataclass(frozen=True)
class _Largest:
    """A number; their sum is the largest."""

    value: float

    def __add__(self, other: "_Largest") -> "_Largest":
        return _Largest(max(self.value, other.value))


def kernel_margins(rows: CentredRows, norm: KernelNorm, point: Point) -> Doubles:
    """Mean lead of a row's cluster over its best rival that each kernel contributes: one read."""
    k, ends = len(point.W), np.cumsum(norm.sizes)
    W = np.tile(point.W, (1 + len(ends), 1))  # of all kernels, then of each alone
    for m, (stop, size) in enumerate(zip(ends, norm.sizes, strict=True), start=1):
        W[m * k : (m + 1) * k, : stop - size] = 0
        W[m * k : (m + 1) * k, stop:] = 0
    b = np.concatenate([point.b, np.zeros(k * len(ends))])

    def leads(scores: Floats, labels: Labels, *weights: Floats) -> Doubles:
        everyone = np.arange(len(labels))
        scores = scores.reshape(len(labels), -1, k)
        rivals = scores[:, 0].copy()
        rivals[everyone, labels] = -np.inf
        parts = scores[everyone, 1:, labels] - scores[everyone, 1:, rivals.argmax(axis=1)]
        return (parts * weights[0][:, None] if weights else parts).sum(axis=0, dtype=np.float64)

    return rows.sum_scores(W, b, leads, point.labels, *optional_state(rows.weights)) / rows.total
