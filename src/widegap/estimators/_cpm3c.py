"""CPM3C: cutting plane multiclass maximum margin clustering."""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widegap._validation import (
    Interval,
    StrOptions,
    check_cluster_number,
    check_generator,
    check_rows,
    check_start_labels,
    check_threads,
    check_unlabelled,
)
from widegap.data._blocks import RowBlocks
from widegap.data._centred import CentredRows
from widegap.data._features import fit_kernel_map
from widegap.data._spectrum import leading_variances
from widegap.estimators._base import WeightVectorClusterer
from widegap.estimators._progress import log_record, progress_logging
from widegap.estimators._starts import Sample, kmeans_starts, random_start, rounded, spectral_start
from widegap.exceptions import InvalidDataError
from widegap.problems._base import Problem
from widegap.problems._margin import MarginTerm
from widegap.solvers._cccp import Search, search_from
from widegap.solvers._result import Point, Recorder, Result
from widegap.solvers._transport import assign

AUTO_COMPONENTS = 300
RANK_TOL = 1e-6


@dataclass(frozen=True)
class Plan:
    """How a default fit searches: the loop order, the ridge relative to the spectrum, and the starts.

    Of ``kmeans_runs`` runs of k-means the ``kmeans_starts`` best by inertia are followed, and all random starts.
    """

    order: str
    rho: float
    kmeans_runs: int
    kmeans_starts: int
    random_starts: int


def plan_for(n_clusters: int) -> Plan:
    """The default rules: no run sees a label; their constants were settled on digits, letters, satellite and news."""
    if n_clusters <= 2:
        return Plan("cuts_first", rho=0.3, kmeans_runs=2, kmeans_starts=2, random_starts=2)
    if n_clusters <= 4:
        return Plan("one_step", rho=0.3, kmeans_runs=10, kmeans_starts=4, random_starts=0)
    return Plan("linearize_first", rho=0.2, kmeans_runs=8, kmeans_starts=1, random_starts=0)


class CPM3C(WeightVectorClusterer):
    r"""Cutting plane multiclass maximum margin clustering (CPM3C).

    Finds k weight vectors and a labeling that minimise the multi-class hinge of Crammer and Singer,

    .. math::  F(W, b) = \frac{1}{2C} \|W\|^2
               + \frac{1}{n} \sum_i \min_z \max(0,\; 1 - s_{iz} + \max_{r \ne z} s_{ir}),
               \qquad s_i = W (x_i - \bar x) + b,

    that is, the labels that a support vector machine would separate with the widest margin [1]_. The n slacks of that
    problem are replaced by one slack and a handful of cutting planes, each found in one read of the data; labels and
    planes are renewed in turn. Time is linear in the stored entries of X, and sparse X stays sparse. Two clusters are
    the method CPMMC.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters k.

    C : "auto" or float, default="auto"
        Weight of the loss against the regulariser, as in a support vector machine (the paper's :math:`1/\beta`), for
        features as they come. "auto" is free of labels: :math:`1 / (\rho \lambda_{k-1})` with the (k-1)-th largest
        eigenvalue of the covariance (of at most 5000 rows) and :math:`\rho` = 0.3 up to four clusters, 0.2 above.

    kernel : {"linear", "rbf", "poly", "cosine"} or callable, default="linear"
        Anything but "linear" clusters Nystrom features of the kernel. A callable takes two tables of rows and
        returns the matrix of kernel values.

    gamma : "median" or float, default="median"
        Coefficient of "rbf" and "poly". "median" is :math:`1 / (1.5 m)^2` with m the median distance of some rows.

    kernel_params : dict, default=None
        Further arguments of the kernel, such as ``degree``.

    n_components : "auto" or int, default="auto"
        Landmarks of the kernel's feature map; "auto" is 300. The features take n * n_components numbers of memory.

    balance : float, default=0.0
        How far the mean scores of two clusters may differ (the paper's l divided by n). 0 means no bias: boundaries
        pass through the mean of the rows, which suits clusters of similar size; raise it for very unequal ones.

    min_cluster_fraction : float, default=0.3
        Every cluster keeps at least this fraction of n / k rows (and one row, if not 0). The balance of mean scores
        alone does not keep clusters from vanishing when k > 2.

    order : {"auto", "cuts_first", "linearize_first", "one_step"}, default="auto"
        How relabelling and cutting alternate. "cuts_first" is the paper's order; "linearize_first" never raises the
        objective; "one_step" relabels after every plane. "auto" takes them in this order for k = 2, k > 4 and
        k = 3 or 4.

    annealing : bool, default=False
        Begin with a strong regulariser and halve it down to 1 / C, which frees "linearize_first" from its start.

    loss : {"max", "sum"}, default="max"
        "max" is the formula above; "sum" adds up the hinges of all rivals, divided by k.

    init : {"k-means", "random", "spectral"} or array-like of shape (n_samples,), default="k-means"
        Starting labels. "random" are the regions of random linear scores. Given labels start the search on all rows;
        otherwise, above 5000 rows, the starts are compared on a sample of that size and the best goes on with all.

    n_init : "auto" or int, default="auto"
        Number of starts; k-means runs with the same result count once. The lowest objective wins among the searches
        in which no cluster fell to its minimum. "auto" is two k-means and two random starts for k = 2, and the best
        four by inertia of ten k-means runs for k = 3 or 4. For more clusters, where the objective says little about
        quality, it is one search from the best of eight k-means runs.

    tol : float, default=0.01
        A search ends when, for its labels, the gap between the objective and its lower bound is below ``tol`` times
        the objective, and new labels gain no more than that.

    max_iter : int, default=300
        Most iterations of one start; each reads the data once (three times where the count bound is active).

    random_state : int, RandomState instance or None, default=None
        Determines the starts and the samples. The result does not depend on the number of threads.

    n_jobs : int, default=None
        Threads that share a pass over the data. None uses as many as scikit-learn's own parallel loops; data that fit
        into one block of 4 MiB always use one.

    verbose : int, default=0
        Above 0, logs every iteration to the logger "widegap" (to stderr if logging is not set up).

    callback : callable, default=None
        Called with the record of every iteration; returning True stops the fit, which keeps its best result so far.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), dtype int32
        Cluster of each row: ``predict(X)``, except for rows that ``min_cluster_fraction`` moved.

    coef_ : ndarray of shape (n_clusters, n_features)
        Weight vectors; in the space of the kernel's features if there is a kernel.

    intercept_ : ndarray of shape (n_clusters,)
        Constants of the scores ``coef_ @ x + intercept_``.

    C_ : float
        The value of C used.

    objective_ : float
        F at the solution. Where nothing is separated (W = 0) it is 1, or (k - 1) / k with ``loss="sum"``.

    history_ : list of IterationRecord
        objective, gap, cuts, passes, flips, beta and seconds of every iteration of every start.

    n_iter_ : int
        Iterations of the start that was kept, on the sample and on all rows.

    converged_ : bool
        Whether that run met ``tol``.

    starved_ : bool
        Whether a cluster fell to its minimum size, so that the bound and not the margin decides its members.

    n_clusters_ : int
        Number of clusters.

    kernel_map_ : KernelMap or None
        The feature map of the kernel.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was a frame with string column names.

    Notes
    -----
    Rows are centred and brought to total variance 1 without copying X; a shift or a change of unit changes nothing.
    Features are *not* brought to the same variance: do so first where their units differ. Without a bias
    (``balance=0``) all boundaries pass through the mean, so that in one or two columns only as many clusters can be
    told apart as there are directions: give ``balance`` a value there, or use a kernel.

    Memory beside X: k * d numbers and n * ceil(k/8) bytes a plane, 24 planes as a rule, a sample of 5000 rows, and
    n * k costs while the bound on cluster sizes is active.

    There is no ``sample_weight``: with weights the bound on cluster sizes would no longer be a transportation problem.
    Repeat rows instead.

    References
    ----------
    .. [1] B. Zhao, F. Wang, C. Zhang, "Efficient multiclass maximum margin clustering", ICML 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widegap import CPM3C
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = CPM3C(n_clusters=2, random_state=0).fit(X)
    >>> [int((model.labels_[y == digit] == model.predict(X[y == digit][:1])).sum()) for digit in (0, 1)]
    [178, 182]
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions({"linear", "rbf", "poly", "cosine"}), callable],
        "gamma": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "kernel_params": [dict, None],
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "balance": [Interval(Real, 0, None, closed="left")],
        "min_cluster_fraction": [Interval(Real, 0, 1, closed="both")],
        "order": [StrOptions({"auto", "cuts_first", "linearize_first", "one_step"})],
        "annealing": ["boolean"],
        "loss": [StrOptions({"max", "sum"})],
        "init": [StrOptions({"k-means", "random", "spectral"}), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C="auto",
        kernel="linear",
        gamma="median",
        kernel_params=None,
        n_components="auto",
        balance=0.0,
        min_cluster_fraction=0.3,
        order="auto",
        annealing=False,
        loss="max",
        init="k-means",
        n_init="auto",
        tol=0.01,
        max_iter=300,
        random_state=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.balance = balance
        self.min_cluster_fraction = min_cluster_fraction
        self.order = order
        self.annealing = annealing
        self.loss = loss
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y=None):
        """Find the clusters of the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
            Rows to cluster; float32 and float64 are used as they are. ``widegap.data.shards`` reads rows from files.
        y : ignored
            Present by convention. Labels with -1 for unknown are refused: they are reserved for later use.

        Returns
        -------
        CPM3C
            The fitted estimator.
        """
        self._validate_params()
        check_unlabelled(y)
        blocks = check_rows(self, X, reset=True, n_threads=check_threads(self.n_jobs))
        check_cluster_number(blocks.shape[0], self.n_clusters)
        rng = check_generator(self.random_state)
        self.kernel_map_ = self._fit_kernel_map(blocks, rng)
        rows = CentredRows(self._features(blocks))
        with progress_logging(self.verbose):
            if self.n_clusters == 1:
                self._store_single_cluster(rows)
            else:
                self._search(rows, rng)
        return self

    def _fit_kernel_map(self, blocks: RowBlocks, rng: np.random.Generator):
        if self.kernel == "linear" or self.n_clusters == 1:  # one cluster has no use for features
            return None
        n_components = AUTO_COMPONENTS if self.n_components == "auto" else self.n_components
        return fit_kernel_map(
            blocks, self.kernel, gamma=self.gamma, params=self.kernel_params, n_components=n_components, rng=rng
        )

    def _search(self, rows: CentredRows, rng: np.random.Generator) -> None:
        """Search from several starts on a sample, then from the best on all rows."""
        if rows.scale == 0:
            raise InvalidDataError(
                f"All {rows.shape[0]} rows are equal, so they cannot be separated into {self.n_clusters} clusters; "
                "use n_clusters=1 or check the data."
            )
        recorder = Recorder(lambda: rows.n_passes, self.callback, log_record if self.verbose else None)
        plan = plan_for(self.n_clusters)
        sample = Sample(rows, rng)
        beta = self._beta(rows, sample, plan)
        if isinstance(self.init, str):
            best = self._best_start(sample, self._problem(sample.rows, beta), plan, rng, recorder)
        problem = self._problem(rows, beta)
        if not isinstance(self.init, str):
            labels = check_start_labels(self.init, rows.shape[0], self.n_clusters)
            best = self._search_from_labels(problem, labels, plan, recorder)
        elif not sample.whole:
            best = self._carry_over(problem, best, recorder)
        if not best.converged:
            best = _relabelled(best, problem)
        self._store(rows, problem, best, recorder)

    def _beta(self, rows: CentredRows, sample: Sample, plan: Plan) -> float:
        """Weight of the regulariser for rescaled rows."""
        if self.C != "auto":
            return 1 / (self.C * rows.scale**2)
        variances = leading_variances(sample.X, sample.rows.mean, self.n_clusters - 1) / sample.rows.scale**2
        # Data of rank below k - 1 have no further variance: take the last direction that has any.
        return plan.rho * float(variances[variances > RANK_TOL * variances[0]][-1])

    def _problem(self, rows: CentredRows, beta: float) -> Problem:
        n, d = rows.shape
        k = self.n_clusters
        min_count = max(1, int(self.min_cluster_fraction * n / k)) if self.min_cluster_fraction else 0
        term = MarginTerm(rows, k, loss=self.loss)
        return Problem(term, n, k, d, beta, assign, balance=self.balance, min_count=min_count)

    def _best_start(
        self, sample: Sample, problem: Problem, plan: Plan, rng: np.random.Generator, recorder: Recorder
    ) -> Result:
        """Search from every start; the lowest objective among the runs that did not starve."""
        results: list[Result] = []
        for i, labels in enumerate(self._starts(sample, plan, rng)):
            recorder.begin(i)
            results.append(self._search_from_labels(problem, labels, plan, recorder))
            if recorder.stopped:
                break
        return min(results, key=lambda result: (self._starved(result, problem), rounded(result.point.objective)))

    def _search_from_labels(self, problem: Problem, labels: Any, plan: Plan, recorder: Recorder) -> Result:
        search = Search.from_labels(problem, labels, recorder, self.tol, self.max_iter)
        return search_from(search, plan.order if self.order == "auto" else self.order, anneal=self.annealing)

    def _carry_over(self, problem: Problem, found: Result, recorder: Recorder) -> Result:
        """Go on with all rows where the search on the sample ended; from there the objective only falls."""
        recorder.begin(recorder.start + 1)
        search = Search.from_weights(problem, found.point.W, found.point.b, recorder, self.tol, self.max_iter)
        if recorder.stopped:
            return replace(found, point=search.best)
        result = search_from(search, "linearize_first", anneal=False)
        return replace(result, n_iter=found.n_iter + result.n_iter)

    def _starts(self, sample: Sample, plan: Plan, rng: np.random.Generator):
        """Starting labels of the sample, the most promising first."""
        k = self.n_clusters
        if self.init == "spectral":
            return [spectral_start(sample, k, rng)]
        if self.init == "random":
            n_init = plan.kmeans_starts + plan.random_starts if self.n_init == "auto" else self.n_init
            return [random_start(sample, k, rng) for _ in range(n_init)]
        if self.n_init != "auto":
            return kmeans_starts(sample, k, self.n_init, self.n_init, rng)
        starts = kmeans_starts(sample, k, plan.kmeans_runs, plan.kmeans_starts, rng)
        return starts + [random_start(sample, k, rng) for _ in range(plan.random_starts)]

    def _starved(self, result: Result, problem: Problem) -> bool:
        counts = np.bincount(result.point.labels, minlength=self.n_clusters)
        return bool(result.point.bound_active or counts.min() <= problem.min_count)

    def _store(self, rows: CentredRows, problem: Problem, best: Result, recorder: Recorder) -> None:
        point = best.point
        self.coef_, self.intercept_ = rows.to_input_space(point.W, point.b)
        self._mean, self._mean_scores = rows.mean, point.b
        self.labels_ = point.labels
        self.C_ = 1 / (problem.beta * rows.scale**2)
        self.objective_ = point.objective
        self.history_ = recorder.records
        self.n_iter_ = best.n_iter
        self.n_clusters_ = self.n_clusters
        self.converged_ = best.converged
        self.starved_ = self._starved(best, problem)
        if not best.converged and not recorder.stopped:
            warnings.warn(
                f"CPM3C stopped after max_iter={self.max_iter} iterations at an objective of {point.objective:.2g} "
                f"whose gap is not yet below tol={self.tol}; raise max_iter or tol, or lower C.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _store_single_cluster(self, rows: CentredRows) -> None:
        n, d = rows.shape
        self.coef_, self.intercept_ = np.zeros((1, d)), np.zeros(1)
        self._mean, self._mean_scores = rows.mean, np.zeros(1)
        self.labels_ = np.zeros(n, np.int32)
        self.C_ = np.nan
        self.objective_ = 0.0
        self.history_: list[Any] = []
        self.n_iter_, self.n_clusters_ = 0, 1
        self.converged_, self.starved_ = True, False


def _relabelled(result: Result, problem: Problem) -> Result:
    """The result with the best labels of its weights; an unimproved start, or a stopped fit, may have others."""
    W, b = result.point.W, result.point.b
    step = problem.relabel(W, b)
    point = Point(W, b, step.labels, problem.objective(W, step.planes), step.bound_active)
    return replace(result, point=point)
