"""MaxMarginClustering: kernel least-squares margin, exact moves, low rank, any number of clusters."""

from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any

import numpy as np

from widegap._validation import (
    Interval,
    StrOptions,
    check_precomputed,
    check_start_labels,
    kernel_constraints,
    one_point_error,
)
from widegap.data._blocks import RowBlocks, Scorer
from widegap.data._centred import CentredRows
from widegap.data._kernel_maps import KernelMap, fit_kernel_map, fit_precomputed_map
from widegap.data._kernels import holds_values
from widegap.data._neighbours import mutual_neighbours
from widegap.data._principal import PrincipalMap, whiten
from widegap.data._sampling import drawn
from widegap.data._sources import row_blocks
from widegap.data._tables import column_weights, near_origin, scale_columns
from widegap.data._threads import one_blas_thread
from widegap.estimators._base import COMMON_CONSTRAINTS, Objective, WeightVectorClusterer, warn_caller
from widegap.estimators._docs import shared_docs
from widegap.estimators._partition_search import FoundPartition, StartRecord, search_partition
from widegap.estimators._progress import logger
from widegap.estimators._starts import count_feature_starts, feature_starts, sample_size
from widegap.exceptions import StarvedClusterWarning
from widegap.solvers._result import Recorder
from widegap.solvers._single_moves import Partition, cluster_sums, improve
from widegap.solvers._transport import assign

SEARCH_ROWS = 10_000  # up to so many rows all are searched, above a sample
AUTO_COMPONENTS = 300
EXACT_ROWS = 1_000  # up to so many rows the kernel is not approximated
SMOOTHING_STEPS = 2
SMOOTHED_ROWS = 1_000  # smaller tables lose by smoothing
REACHED = 0.8  # share of rows that the neighbour graph must serve for smoothing="auto" to use it
POINT = 1e-12  # scatter of the features relative to their size that is rounding
CONTINUATION = (0.1, 1.0)  # every start is improved with a tenth of C first: fewer directions, fewer poor optima
POLISH_SWEEPS = 3
SMALL = 1 << 21  # rows times columns, or times components, below which one thread does the algebra


@shared_docs
class MaxMarginClustering(WeightVectorClusterer):
    r"""Maximum margin clustering with a kernel least-squares margin: the estimator to try first.

    Finds the labels that a kernel ridge classifier explains best. With centred Nystrom features of the kernel, turned
    to their principal axes with eigenvalues :math:`\lambda`, and whitened coordinates
    :math:`q_i = (\lambda + 1/C)^{-1/2} p_i`, it maximises how much of the labels' variance the fit explains, summed
    over k - 1 contrasts,

    .. math::  R^2 = \sum_p \frac{1}{n_p} \Big\| \sum_{i \in p} q_i \Big\|^2,

    which, unlike the raw loss of a support vector machine, does not favour unequal cluster sizes. The search makes
    exact single moves from many starts and never lowers :math:`R^2`. This is the square-loss method of [1]_ with its
    optimiser repaired, for any number of clusters and in time linear in n.

    Where the data have a neighbourhood structure, the features of the searched rows are first averaged over mutual
    nearest neighbours.

    Parameters
    ----------
    <n_clusters>

    C : float, default=10.0
        Inverse ridge. Listing every row twice and halving C changes nothing.

    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        A callable takes two tables of rows and returns the matrix of kernel values. With "precomputed" X is the square
        matrix of the kernel between all rows, and for ``predict`` that of new rows (first) and the fitted ones.

    <gamma>

    <kernel_params>

    n_components : "auto" or int, default="auto"
        Landmarks, and so the rank of the features; "auto" is every row up to 1000 rows, and 300 above.

    smoothing : "auto" or int, default="auto"
        Steps of averaging over mutual nearest neighbours. "auto" takes two steps where there are 1000 rows or more and
        at least 80 % of them have three mutual neighbours or more, and none elsewhere.

    n_neighbors : int, default=30
        Neighbours of a row in that graph.

    standardize : "auto" or bool, default="auto"
        Divide columns by their standard deviation. "auto" does so for dense data in which the largest deviation
        exceeds ten times the median one, that is where units clearly differ.

    min_cluster_fraction : float, default=0.2
        Every cluster keeps at least this fraction of n / k rows (and one row).

    init : {"k-means", "random", "spectral"} or array-like of shape (n_samples,), default="k-means"
        Starts of the search. "k-means" runs k-means, one time in three on the rows and else on the kernel features, and
        for two clusters adds thresholds along the eight leading principal axes and along random directions; "random"
        are random directions alone; "spectral" is one start, the normalised cut of a nearest-neighbour graph.

    n_init : "auto" or int, default="auto"
        Number of k-means starts, and of random directions where there are any; "auto" is 10.

    random_state : int, RandomState instance or None, default=None
        Determines landmarks, samples and starts.

    n_jobs : int, default=None
        Threads that share a pass over the data, as in :class:`CPM3C`.

    verbose : int, default=0
        Above 0, logs every start to the logger "widegap".

    callback : callable, default=None
        Called with the record of every start; returning True ends the search with the best so far.

    Attributes
    ----------
    <labels_ alone>

    objective_ : float
        :math:`R^2` of the labels of the searched rows, between 0 and k - 1.

    starts_ : ndarray of shape (n_starts,)
        :math:`R^2` that every start led to, before kicks. Starts that leave at most 1.1 times as much unexplained as
        the best, :math:`k - 1 - R^2`, count as equally good, and the most even cluster sizes among them win: many
        such starts with different labels show that the result is not sure.

    smoothing_ : int
        Steps of smoothing that were taken.

    coef_, intercept_ : ndarrays of shape (n_clusters, n_components) and (n_clusters,)
        Scores of the kernel features: a row belongs to the cluster with the nearest mean in whitened coordinates.

    history_ : list of StartRecord
        One record a start.

    n_iter_ : int
        Number of starts.

    converged_ : bool
        False if the callback ended the search.

    starved_ : bool
        Whether a cluster has no more rows than ``min_cluster_fraction`` demands, or would have fewer in a much better
        answer, of which a ``StarvedClusterWarning`` tells.

    <n_clusters_>

    kernel_map_ : KernelMap
        The feature map.

    <n_features_in_>

    <feature_names_in_>

    Notes
    -----
    Above 10000 rows the search runs on a sample of 5000 and is extended to all rows by ``predict``'s rule; without
    smoothing, exact moves on all rows follow.

    ``predict`` knows neither the neighbour graph nor the bound on sizes, so with smoothing or an active bound
    ``predict(X)`` may differ from ``labels_`` for some rows (0.6 % on scikit-learn's digits).

    Memory: up to 10000 rows a few tables of n * n_components numbers. Above, one such table in the dtype of X, or none
    at all with smoothing; kernel values and the features of ``predict`` are made block by block. The neighbour graph
    holds n_neighbors entries a searched row. A precomputed kernel matrix is read as it is and not copied.

    References
    ----------
    <Zhang, Tsang, Kwok 2009>

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widegap import MaxMarginClustering
    >>> X, y = load_digits(return_X_y=True)
    >>> MaxMarginClustering(n_clusters=10, random_state=0).fit(X).predict(X[:3]).shape
    (3,)
    """

    _parameter_constraints: dict = {
        **COMMON_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        **kernel_constraints(precomputed=True),
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "smoothing": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "standardize": [StrOptions({"auto"}), "boolean"],
        "min_cluster_fraction": [Interval(Real, 0, 1, closed="both")],
        "init": [StrOptions({"k-means", "random", "spectral"}), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    }
    _objective = Objective(
        "R²",
        "higher",
        "share of the cluster labels that a kernel ridge classifier explains, summed over k − 1 contrasts: between 0 "
        "and k − 1",
        most=lambda k: k - 1,
    )
    _record = StartRecord
    _stored = {"starts_": np.ndarray, "smoothing_": int}
    _command = "max-margin"

    def __init__(
        self,
        n_clusters=2,
        *,
        C=10.0,
        kernel="rbf",
        gamma="median",
        kernel_params=None,
        n_components="auto",
        smoothing="auto",
        n_neighbors=30,
        standardize="auto",
        min_cluster_fraction=0.2,
        init="k-means",
        n_init="auto",
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
        self.smoothing = smoothing
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.min_cluster_fraction = min_cluster_fraction
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _prepare(self, blocks: RowBlocks, rng: np.random.Generator) -> RowBlocks:
        if self._precomputed:
            check_precomputed(blocks.shape, self.standardize)
        if CentredRows(blocks).scale == 0 and self.n_clusters > 1:
            raise one_point_error(self.kernel, blocks, blocks.shape[0], self.n_clusters)
        return blocks

    def _search(self, blocks: RowBlocks, rng: np.random.Generator) -> None:
        # On a busy machine BLAS and OpenMP threads that wait for each other can cost a hundredfold on small tables.
        small = blocks.shape[0] * max(blocks.shape[1], AUTO_COMPONENTS) < SMALL
        with one_blas_thread(openmp=True) if small else nullcontext():
            self._search_rows(blocks, rng)

    def _search_rows(self, blocks: RowBlocks, rng: np.random.Generator) -> None:
        """Search a sample (or all rows), then label all."""
        n = blocks.shape[0]
        whole = n <= SEARCH_ROWS
        chosen = np.arange(n) if whole else drawn(n, sample_size(self.n_clusters), rng)
        sample = blocks.take(chosen)
        self.kernel_map_ = self._fit_map(sample, chosen, n, rng)
        features = self.kernel_map_.transform(sample)
        principal = PrincipalMap.fit(features)
        if principal.lam.sum() <= POINT * np.square(features, dtype=np.float64).sum():
            raise one_point_error(self.kernel, sample, len(features), self.n_clusters)
        P = principal.transform(features)
        rows = P if self._precomputed else near_origin(scale_columns(sample, self.kernel_map_.weights))
        P, lam = self._smoothed(P, principal.lam, rows)
        found = self._best_partition(P, lam, rows, self._given_labels(n, chosen), rng)
        labels = self._label_all(blocks, features, principal, found.best, whole, rng)
        self.labels_ = labels
        self.objective_ = found.best.objective
        self.n_clusters_ = self.n_clusters
        at_bound = np.bincount(labels, minlength=self.n_clusters).min() <= self._min_count(n)
        self.starved_ = bool(at_bound or found.missed is not None)
        if found.missed is not None:
            warn_caller(found.what_is_missed(self.min_cluster_fraction), StarvedClusterWarning)

    @property
    def _precomputed(self) -> bool:
        return holds_values(self.kernel)

    def _fit_map(self, sample: Any, chosen: Any, n: int, rng: np.random.Generator) -> KernelMap:
        """Features of the kernel from the searched rows."""
        if self._precomputed:
            return fit_precomputed_map(sample, chosen, self._rank(n), rng)
        return fit_kernel_map(
            row_blocks(sample),
            self.kernel,
            gamma=self.gamma,
            params=self.kernel_params,
            n_components=self._rank(n),
            rng=rng,
            weights=column_weights(sample, self.standardize),
        )

    def _rank(self, n: int) -> int:
        if self.n_components != "auto":
            return self.n_components
        return n if n <= EXACT_ROWS else AUTO_COMPONENTS

    def _min_count(self, n: int) -> int:
        return max(1, int(self.min_cluster_fraction * n / self.n_clusters))

    def _smoothed(self, P: Any, lam: Any, rows: Any) -> tuple[Any, Any]:
        """Principal coordinates after smoothing over the neighbours of the rows, if there is any."""
        self.smoothing_ = 0
        if self.smoothing == 0 or (self.smoothing == "auto" and len(P) < SMOOTHED_ROWS):
            return P, lam
        graph = mutual_neighbours(rows, self.n_neighbors)
        self.smoothing_ = self.smoothing if self.smoothing != "auto" else SMOOTHING_STEPS * (graph.reached >= REACHED)
        if not self.smoothing_:
            return P, lam
        P = graph.smooth(P, self.smoothing_)
        turned = PrincipalMap.fit(P)
        return turned.transform(P), turned.lam

    def _best_partition(self, P: Any, lam: Any, X: Any, given: Any, rng: np.random.Generator) -> FoundPartition:
        """The best R2 over all starts."""
        # Labels that the user gave are refined, not led elsewhere first.
        factors = CONTINUATION if given is None else CONTINUATION[-1:]
        stages = [whiten(P, lam, 1 / (factor * self.C)) for factor in factors]
        recorder = Recorder(StartRecord, self.callback, logger.info if self.verbose else None)
        min_count = self._min_count(len(P))
        starts = self._starts(P, X, min_count, given, rng)
        found = search_partition(stages, starts, self.n_clusters, min_count, recorder, rng)
        self.starts_ = np.array([record.objective for record in recorder.records])
        self.history_, self.n_iter_, self.converged_ = recorder.records, len(recorder.records), not recorder.stopped
        return found

    def _given_labels(self, n: int, chosen: Any) -> Any:
        """Starting labels of the searched rows if the user gave any, else None."""
        return None if isinstance(self.init, str) else check_start_labels(self.init, n, self.n_clusters)[chosen]

    def _starts(self, P: Any, X: Any, min_count: int, given: Any, rng: np.random.Generator) -> Any:
        if given is not None:
            return [("given", given)]
        return feature_starts(self.init, P, X, self.n_clusters, self._n_init, min_count, rng)

    @property
    def _n_init(self) -> int:
        return 10 if self.n_init == "auto" else self.n_init

    def _expected_records(self) -> int:
        return count_feature_starts(self.init, self.n_clusters, self._n_init) if isinstance(self.init, str) else 1

    def _label_all(
        self, blocks: RowBlocks, features: Any, principal: PrincipalMap, best: Partition, whole: bool, rng: Any
    ) -> Any:
        """Fix the scores by the means of the found clusters, and label the rows that were not searched."""
        rho = 1 / self.C
        self._fix_scores(principal.whiten_in_place(features, rho), principal, best.labels)
        if whole:
            return best.labels
        if self.smoothing_:  # moves by coordinates that are not smoothed would undo what smoothing found
            return self._with_bound(self._map_blocks(blocks, lambda scores: scores))
        features = self.kernel_map_.transform_blocks(blocks)
        scorer = Scorer(self.coef_, self._mean_scores, self._mean)
        labels = self._with_bound(row_blocks(features).map(lambda block: block.scores(scorer)))
        # Whitened by all rows, not by the sample: with the sample's covariance the moves go astray.
        principal = PrincipalMap.fit(features)
        Q = principal.whiten_in_place(features, rho)
        labels = improve(Q, labels, self.n_clusters, self._min_count(len(Q)), rng, POLISH_SWEEPS).labels
        self._fix_scores(Q, principal, labels)
        return labels

    def _with_bound(self, scores: Any) -> Any:
        """Labels by the largest score, moved at least cost where a cluster would be too small."""
        n, k = scores.shape
        labels = scores.argmax(axis=1).astype(np.int32)
        if np.bincount(labels, minlength=k).min() < self._min_count(n):
            labels = assign(-scores, np.full(k, self._min_count(n))).labels
        return labels

    def _fix_scores(self, Q: Any, principal: PrincipalMap, labels: Any) -> None:
        """Scores ``M_p . q - |M_p|^2 / 2`` of the nearest cluster mean M_p, as weights for the features."""
        counts = np.bincount(labels, minlength=self.n_clusters)
        means = cluster_sums(Q, labels, self.n_clusters) / np.maximum(counts, 1)[:, None]
        self.coef_ = means @ principal.whitening(1 / self.C).T
        self._mean = principal.mean
        self._mean_scores = -0.5 * np.square(means).sum(axis=1)
        self.intercept_ = self._mean_scores - self.coef_ @ self._mean

    def _store_single_cluster(self, rows: Any) -> None:
        super()._store_single_cluster(rows)
        self.kernel_map_, self.starts_, self.smoothing_ = None, np.zeros(0), 0
