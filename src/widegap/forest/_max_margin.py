"""MaxMarginClustering: the groups that a kernel margin keeps apart, found by merging and agreement, or by moves.

The estimator prepares rows, calls a search (``_forest_search.py``, ``_moves_search.py``) and stores its result. A
search by merging stays in memory (``_kept_search.py``) for other numbers of clusters, corrections and questions.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from widegap._types import Floats
from widegap.base._clusterer import COMMON_CONSTRAINTS, LABELS_OUT, Clusterer, Objective, take_over
from widegap.base._docs import shared_docs
from widegap.base._progress import logger
from widegap.base._records import Recorder
from widegap.base._validation import (
    COST,
    Interval,
    StrOptions,
    check_cluster_number,
    check_precomputed,
    check_rows,
    check_threads,
    kernel_constraints,
    one_point_error,
)
from widegap.constraints._side_information import (
    SIZE_CONSTRAINTS,
    RowConstraints,
    SideInformation,
    no_size_bounds,
    refuse_elsewhere,
)
from widegap.constraints._size_bounds import fewest_of_size
from widegap.constraints._taking_part import TakingPart
from widegap.features._coded_columns import CodedColumns
from widegap.features._column_groups import ColumnGroup, column_groups
from widegap.features._kernel_maps import KernelMap
from widegap.features._kernels import holds_values
from widegap.forest._choice import Candidate
from widegap.forest._cluster_number import ClusterNumberChoice
from widegap.forest._cluster_scores import ClusterScores, Scoring
from widegap.forest._forest_search import MOST_LANDMARKS, ForestSearch
from widegap.forest._joint_search import JointSearch
from widegap.forest._kept_clusterer import KeptSearchClusterer
from widegap.forest._kept_search import Extension, KeptSearch
from widegap.forest._linkage import MergeTree
from widegap.forest._moves_search import MovesSearch
from widegap.forest._number_search import ClusterNumberScore
from widegap.forest._pools import Forest
from widegap.forest._row_labels import RowLabels, largest_or_none
from widegap.forest._row_preparation import (
    KernelSettings,
    RowPreparation,
    RowsToFit,
    refuse_auto,
    refuse_equal_rows,
    refuse_on_workers,
)
from widegap.forest._search_result import SearchResult, StartRecord
from widegap.rows._collections import count_labels, is_collection
from widegap.rows._matrices import storage
from widegap.rows._protocols import Rows, constant_state
from widegap.rows._threads import one_blas_thread
from widegap.updating._joint_rows import Followed, JointRows
from widegap.updating._updatable import MEMORY

FEW_VALUES = 1 << 21  # rows times columns, or times components, below which OpenMP has one thread, too


@shared_docs
class MaxMarginClustering(KeptSearchClusterer):
    r"""Maximum margin clustering with a kernel least-squares margin: the estimator to try first.

    Finds groups that a kernel ridge classifier separates, by one of three searches. ``search="agree"`` looks for many
    more groups than wanted and merges those between which the classifier finds no margin, in dozens of ways; the
    clusters are what these agree on. This finds long, nested and very unequal clusters as well as round ones, and gives
    every number of clusters from one fit (:meth:`cut`) and, for every row, how sure its cluster is (``agreement_``).
    ``search="merge"`` is one such way alone.

    With centred Nystrom features of the kernel, turned to their principal axes with eigenvalues :math:`\lambda`, and
    whitened coordinates :math:`q_i = (\lambda + 1/C)^{-1/2} p_i`, the labels' variance that the classifier explains,
    summed over k - 1 contrasts, is

    .. math::  R^2 = \sum_p \frac{1}{n_p} \Big\| \sum_{i \in p} q_i \Big\|^2 .

    ``search="moves"`` maximises it directly, by exact single moves from many starts: the square-loss method of [1]_
    with its optimiser repaired. New rows go to the cluster with the nearest mean in these coordinates, whatever the
    search.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters k. "auto", with ``search="agree"`` or "merge", takes the largest number up to 50 whose
        clusters are all more clearly apart than rows without structure would be, else 1.

    search : {"agree", "merge", "moves"}, default="agree"
        "agree" takes clusters of any shape and size, "moves" prefers round ones of similar size. "merge" is a single
        tree of merges by margin: faster than "agree", and cuts at different numbers are nested. Starting labels
        (``init``) imply "moves". In sparse rows that ``standardize="auto"`` brings to length one, "agree" makes a small
        part a cluster only if its rows are farther from their neighbours than most, which near-duplicates are not.

    C : float, default=10.0
        Inverse ridge. Listing every row twice and halving C changes nothing.

    kernel : {"rbf", "linear", "poly", "cosine", "precomputed"} or callable, default="rbf"
        A callable takes two tables of rows and returns the matrix of kernel values. With "precomputed" X is the square
        matrix of the kernel between all rows, and for ``predict`` that of new rows (first) and the fitted ones.

    <gamma>

    <kernel_params>

    n_components : "auto" or int, default="auto"
        Landmarks, and so the rank of the features. "auto" is a quarter of the searched rows, but 150 at least and 300
        at most; for ``search="moves"`` every row up to 1000 rows, and 300 above.

    smoothing : "auto" or int, default="auto"
        Steps of averaging the features over mutual nearest neighbours. "auto" takes 2 and 8 steps, each for half of
        the members. For ``search="moves"`` it takes two steps where there are 1000 rows or more and at least 80 % of
        them have three mutual neighbours or more, and none elsewhere.

    n_neighbors : int, default=30
        Neighbours of a row in that graph.

    standardize : "auto" or bool, default="auto"
        Divide columns by their standard deviation. "auto" does so for dense data in which the largest deviation
        exceeds ten times the median one, that is where units clearly differ. Rows of sparse data it brings to length
        one, except for ``search="moves"``, so that documents are compared by their words and not by their length.

    columns : "auto", None or list of slice or str, default="auto"
        Columns of X that form one category each: slices, or names of a data frame; all others are numbers. "auto" takes
        them from what :class:`TableEncoder` attaches, and from columns of truth values or categories in a frame. Such
        tables, and those of TableEncoder in which half of the columns have at most 12 values, are divided by latent
        classes with ``search="agree"``, unless gaps between the numbers are plain. None: all columns are numbers.

    min_cluster_fraction : "auto" or float, default="auto"
        Every cluster keeps at least this fraction of n / k rows (and one row). "auto" means 0, and
        0.2 for ``search="moves"``.

    <size_min>

    <size_max>

    outliers : float or "auto", default=0
        Share of the rows that are outliers: those farthest from their neighbours among the other rows. They get the
        label -1 and take no part in the search; the choice is repeated until nothing changes. "auto" chooses rows that
        are clearly farther than most. Rows with a label or a link are never outliers. For new rows use ``predict(X,
        reject=True)``.

    init : {"k-means", "random", "spectral"} or array-like of shape (n_samples,), default="k-means"
        Starts of ``search="moves"``. "k-means" runs k-means, one time in three on the rows and else on the kernel
        features, and for two clusters adds thresholds along the eight leading principal axes and along random
        directions; "random" are random directions alone; "spectral" is one start, the normalised cut of a
        nearest-neighbour graph. Labels are refined from where they are.

    n_init : "auto" or int, default="auto"
        Number of k-means starts of ``search="moves"``, and of random directions where there are any; "auto" is 10.

    <memory>

    random_state : int, RandomState instance or None, default=None
        Determines landmarks, samples and starts.

    n_jobs : int, default=None
        Threads that share a pass over the data, as in :class:`CPM3C`.

    verbose : int, default=0
        Above 0, logs every member or start to the logger "widegap".

    callback : callable, default=None
        Called with the record of every member or start; returning True ends the search with those so far.

    <labels_out>

    Attributes
    ----------
    <labels_ alone>

    <classes_>

    agreement_ : ndarray of shape (n_samples,)
        How sure the cluster of each row is: the share of members that put it together with a row of its cluster, on
        average; for a row that was not searched, the mean of its group. High agreement means stable clusters, not real
        ones: on few rows without structure all members may agree by accident. Not for ``search="moves"``.

    tree_ : MergeTree
        The merges, with ``sizes``, ``margins``, ``cut(k)`` and ``to_linkage()`` for scipy's dendrograms; after "auto"
        ``words()`` says which are real splits. With "merge" its leaves are the groups; with "agree" the sets of rows on
        which all members agree, joined by how many members keep them together. Not for ``search="moves"``.

    n_clusters_choice_, n_clusters_scores_ : ClusterNumberChoice and list of ClusterNumberScore
        What "auto" chose, how sure that is and which other numbers are defensible, in one line by ``sentence()``; and
        why: separation, excess, strength and agreement for 2, 3, ... clusters.

    objective_ : float
        :math:`R^2` of the labels of the searched rows, between 0 and k - 1.

    starts_ : ndarray of shape (n_starts,)
        For ``search="moves"``: :math:`R^2` that every start led to. Of those that leave at most 1.1 times as much
        unexplained as the best, the most even cluster sizes win.

    smoothing_ : int
        For ``search="moves"``: steps of smoothing that were taken.

    coef_, intercept_ : ndarrays of shape (n_clusters, n_components) and (n_clusters,)
        Scores of the kernel features: a row belongs to the cluster with the nearest mean in whitened coordinates.

    candidates_ : list of Candidate
        The labelings between which the search chose, for every number of clusters at which it was cut. "gaps" and
        "communities" merge groups freely, "even" under a cap on the inequality of sizes; "moves" is for few clusters,
        "columns" for tables with categories, where it is followed unless gaps between the numbers are plain.

    history_ : list of StartRecord
        One record a start, or a member of the pool that was followed; ``callback`` gets those of the other pools, too.

    n_iter_ : int
        Number of these members or starts.

    converged_ : bool
        False if the callback ended the search.

    starved_ : bool
        Whether a cluster has no more rows than ``min_cluster_fraction`` demands, or would have fewer in a much better
        answer; then there is a ``StarvedClusterWarning``.

    <n_clusters_>

    <changes_>

    kernel_map_ : KernelMap or CodedColumns
        The feature map; the codes of the columns where clusters follow these.

    temperature_ : float
        Divisor of the scores for ``predict_proba``, fitted to the votes of the members of the search.

    reject_below_ : float
        ``predict(X, reject=True)`` returns -1 for rows whose largest score is below it.

    <n_features_in_>

    <feature_names_in_>

    Warns
    -----
    NoStructureWarning
        If the members disagree, or hardly any counts, and clusters are no further apart than those without structure.

    Notes
    -----
    Up to 100000 rows are searched. Of more, a sample of n * n_features / 2000 rows is, at least 10000 and at most
    100000; of sparse rows and of tables with categories 10000, and for ``search="moves"`` 5000 of more than 10000. All
    other rows get their cluster by ``predict``'s rule in one pass over the data; ``search="moves"`` without smoothing
    then makes exact moves on all rows. Above 10000 rows an index finds neighbours, and misses a few of them.

    ``predict`` knows neither the neighbour graph nor a bound on sizes, so ``predict(X)`` may differ from ``labels_``
    for rows at a boundary: 1 % on scikit-learn's digits, about 3 % on MNIST. Where 2000 dense rows or more differ in
    over 3 %, ``predict`` uses more landmarks and a narrower kernel than the search, and scores sparse rows of length
    one by their words (1 % differ on webkb, 4 % on cora). Clusters that follow columns are predicted as they are.

    Arrays and data frames of Dask stay on their workers, except for the sample: ``labels_``, ``agreement_`` and cuts
    are lazy arrays then. Not for ``search="moves"`` or a precomputed kernel.

    Known labels and links spread over the neighbours of rows and over the groups of all members, after a search that
    did not see them; the clusters that it found count for more than one label of a class, and for less than two. Known
    labels also train a classifier, and rows that are then sure of their cluster another (self-training); the more
    labels a class has, the more both decide. ``sample_weight`` makes copies of the searched rows: whole weights are met
    exactly if there is room, others in proportion; rows of weight 0 get their cluster by ``predict``'s rule.

    Memory: for the searched rows a few tables of n * n_components numbers, 16 bytes for every neighbour (30 of a row,
    60 above 10000 rows), and 4k + 20 to 8k + 40 weights a row while groups are merged; they are kept for ``cut``, but
    not in model files. Features of other rows are computed block by block. A precomputed kernel matrix is not copied.

    References
    ----------
    <Zhang, Tsang, Kwok 2009>

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widegap import MaxMarginClustering
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MaxMarginClustering(n_clusters=10, random_state=0).fit(X)
    >>> model.predict(X[:3]).shape, len(set(model.cut(5)))
    ((3,), 5)
    """

    _parameter_constraints: dict = {
        **COMMON_CONSTRAINTS,
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "search": [StrOptions({"agree", "merge", "moves"})],
        "C": [COST],
        **kernel_constraints(precomputed=True),
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "smoothing": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "standardize": [StrOptions({"auto"}), "boolean"],
        "columns": [StrOptions({"auto"}), list, tuple, None],
        "min_cluster_fraction": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        **SIZE_CONSTRAINTS,
        **MEMORY,
        "outliers": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
        "init": [StrOptions({"k-means", "random", "spectral"}), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        **LABELS_OUT,
    }
    _objective = Objective(
        "R²",
        "higher",
        "share of the cluster labels that a kernel ridge classifier explains, summed over k − 1 contrasts: between 0 "
        "and k − 1",
        most=lambda k: k - 1,
    )
    _record = StartRecord
    _stored = {
        "kernel_map_": KernelMap | CodedColumns | None,
        "temperature_": float,
        "agreement_": np.ndarray,
        "tree_": MergeTree,
        "n_clusters_scores_": list[ClusterNumberScore],
        "candidates_": list[Candidate],
        "n_clusters_choice_": ClusterNumberChoice,
        "reject_below_": float,
        "starts_": np.ndarray,
        "smoothing_": int,
    }
    _not_stored = Clusterer._not_stored | {"_kept", "_groups"}
    _command = "max-margin"
    _fits_collections = True

    history_: Sequence[StartRecord]
    _groups: Sequence[ColumnGroup] | None = None  # of the columns of the rows that are being fitted

    def __init__(
        self,
        n_clusters: Any = 2,
        *,
        search: str = "agree",
        C: float = 10.0,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: float | str = "median",
        kernel_params: dict[str, Any] | None = None,
        n_components: int | str = "auto",
        smoothing: int | str = "auto",
        n_neighbors: int = 30,
        standardize: bool | str = "auto",
        columns: Any = "auto",
        min_cluster_fraction: Any = "auto",
        size_min: Any = None,
        size_max: Any = None,
        outliers: float | str = 0,
        init: Any = "k-means",
        n_init: int | str = "auto",
        memory: int = 5000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[StartRecord], Any] | None = None,
        labels_out: str | PathLike[str] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.search = search
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.smoothing = smoothing
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.columns = columns
        self.min_cluster_fraction = min_cluster_fraction
        self.size_min = size_min
        self.size_max = size_max
        self.outliers = outliers
        self.init = init
        self.n_init = n_init
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.labels_out = labels_out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _check_stored(self) -> None:
        super()._check_stored()
        if not 0 < self.temperature_ < np.inf:
            raise ValueError(f"temperature_ is {self.temperature_}")
        agreement = getattr(self, "agreement_", np.ones(self.labels_.shape))  # single moves have none
        if agreement.dtype.kind != "f" or agreement.shape != self.labels_.shape:
            raise ValueError("agreement_ does not fit labels_")
        if np.isnan(self.reject_below_):
            raise ValueError("reject_below_ is not a number")
        if hasattr(self, "tree_"):
            self.tree_.check()

    # What the parameters ask for

    @property
    def _precomputed(self) -> bool:
        return holds_values(self.kernel)

    @property
    def _method(self) -> ForestSearch | MovesSearch:
        """The search; starting labels imply single moves."""
        is_named = isinstance(self.init, str)
        if self.search != "moves" and is_named:
            threads = check_threads(self.n_jobs)
            return ForestSearch(self.n_clusters, self.smoothing, self.n_neighbors, self.search == "merge", threads)
        fraction, init = self._fraction(MovesSearch.auto_fraction), self.init if is_named else None
        return MovesSearch(self.n_clusters, fraction, init, self.n_init, self.smoothing, self.n_neighbors)

    @property
    def _forest(self) -> Forest | None:
        return None if self._kept is None else self._kept.forest

    def _fraction(self, auto: float) -> float:
        return auto if self.min_cluster_fraction == "auto" else float(self.min_cluster_fraction)

    def _least_size(self, n_rows: int, n_clusters: int) -> int:
        return max(1, int(self._fraction(self._method.auto_fraction) * n_rows / n_clusters))

    def _fewest_clusters(self, constraints: RowConstraints, n_rows: int) -> int:
        """Clusters that constraints and ``size_max`` ask for, where the number is open."""
        if self.n_clusters != "auto":
            return 1
        return max(constraints.fewest_clusters, fewest_of_size(self.size_max, n_rows))

    def _expected_records(self, n_rows: int) -> int:
        return self._method.n_records(n_rows)

    def _read(self, X: Any) -> Rows:
        if self.n_clusters == "auto":
            refuse_auto(self._method.cuts_anywhere)
        if is_collection(X):
            refuse_on_workers(self._method.cuts_anywhere, self.search, self.outliers, precomputed=self._precomputed)
        blocks = check_rows(self, X, reset=True, n_threads=check_threads(self.n_jobs))
        check_cluster_number(blocks.shape[0], 1 if self.n_clusters == "auto" else self.n_clusters)
        dense = not self._precomputed and storage(X) == "dense"
        self._groups = column_groups(self.columns, X, blocks.shape[1]) if dense else None
        return blocks

    def _prepare(self, blocks: Rows, rng: np.random.Generator, side: SideInformation) -> RowsToFit:
        for name in (*MaxMarginClustering._stored, "_kept"):
            self.__dict__.pop(name, None)  # of an earlier fit by another search
        constraints, k = self._read_constraints(side, blocks.shape[0]), self.n_clusters
        if not blocks.in_process:
            refuse_elsewhere(constraints, self.size_max)
        if k != "auto":
            self._size_bounds(constraints, blocks.shape[0], k)
        if self._precomputed:
            check_precomputed(blocks.shape, self.standardize)
        rows = RowsToFit(blocks, side, constraints, self._groups)
        if rows.are_equal and k not in (1, "auto"):
            raise one_point_error("linear", None, blocks.shape[0], k)
        return rows

    def _store_single_cluster(self, rows: RowsToFit) -> None:
        super()._store_single_cluster(rows)
        self.labels_ = constant_state(rows.blocks, np.int32(0))
        self.classes_ = rows.constraints.classes_of(1)
        self.temperature_, self.reject_below_, self.kernel_map_ = 1.0, -np.inf, None
        if self._method.cuts_anywhere:
            leaf = np.array([rows.shape[0]])
            self.tree_ = MergeTree(np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0, np.int64), leaf)
            self.agreement_ = constant_state(rows.blocks, np.float64(1))
        else:
            self.starts_, self.smoothing_ = np.zeros(0), 0

    # Searching

    def _search(self, rows: RowsToFit, rng: np.random.Generator) -> None:
        # Between its products a search does other work, for which BLAS threads that wait for the next one take the
        # processor: with two of them a fit of 20,000 x 50 rows takes 1.7 times the processor seconds, and no less time.
        small = rows.shape[0] * max(rows.shape[1], MOST_LANDMARKS) < FEW_VALUES
        with one_blas_thread(openmp=small):
            if self.n_clusters == "auto" and rows.are_equal:
                refuse_equal_rows(rows.shape[0], self._fewest_clusters(rows.constraints, rows.shape[0]))
                self._size_bounds(rows.constraints, rows.shape[0], 1)
                self._store_single_cluster(rows)
            else:
                self._search_rows(rows, rng)

    def _search_rows(self, rows: RowsToFit, rng: np.random.Generator) -> None:
        """Search a sample (or all rows), store the result, then label all rows."""
        settings = KernelSettings(self.kernel, self.gamma, self.kernel_params, self.n_components, self.standardize)
        threads, method = check_threads(self.n_jobs), self._method
        searched = RowPreparation(method, settings, self.C, self.outliers, threads).run(rows, rng)
        part, kernel_map = searched.part, searched.kernel_map
        recorder = Recorder(StartRecord, self._all_callbacks(), logger.info if self.verbose else None)
        fewest = self._fewest_clusters(rows.constraints, rows.shape[0] - len(part.outlying))
        start = None
        if not isinstance(self.init, str):
            start = self._start_labels(rows.constraints, rows.shape[0], self.n_clusters)[part.searched]
        prepared = replace(searched.prepared, fewest=fewest, start=start)
        result = method.run(prepared, recorder, rng)
        self.converged_ = not recorder.stopped
        self._store_result(result, rows.constraints, recorder.records)
        scoring = Scoring(kernel_map, prepared.space, searched.outliers, int(rng.integers(2**31)))
        scores = scoring.fit(result)
        self._store_scores(scores)
        labelling = RowLabels(scores, self._size_bounds, bool(self.outliers))
        labels, nearest, marks = labelling.label(rows.blocks, part, kernel_map, prepared.space, result)
        if result.groups is not None:
            way = Extension.of(rows.blocks, nearest, marks, result.groups)
            side, read, records = rows.side, rows.constraints, recorder.records
            self._kept = KeptSearch(prepared.space, scoring, result, part, way, side, read, records)
        labels = labelling.constrain(rows.blocks, rows.constraints, labels)
        # Moves by coordinates that are not smoothed would undo what smoothing found; nor do they keep constraints.
        plain = rows.constraints.is_empty and not self.outliers and self.size_min is None and self.size_max is None
        if isinstance(method, MovesSearch) and not result.smoothing and plain and not part.searches_all:
            labels, mean, coef, constants = method.polish(rows.blocks, kernel_map, labels, self.C, rng)
            self._store_scores(replace(scores, mean=mean, coef=coef, constants=constants))
        self._store_labels(rows.blocks.publish(labels), rows.constraints)

    def _follow(self, old: Any, joint: JointRows) -> Followed:
        if not self._method.cuts_anywhere:
            return super()._follow(old, joint)
        inner = self._for_joint_rows(max(2, len(joint.numbers)))
        take_over(self, inner._fit(joint.rows, side=SideInformation(constraints=joint.constraints)))
        if self._kept is None:  # hardly any rows differ
            return super()._follow(old, joint)
        found = JointSearch(self._kept, joint).labels()
        kept = replace(self._kept, result=found.result, n_own=joint.n_new, side=SideInformation())
        labels = kept.label_all(self.labels_[: joint.n_new], lambda constraints, n, k: no_size_bounds(n, k))
        self._store_recut(kept, labels, found.numbers)
        alike, coordinates = labels.copy(), np.zeros((len(labels), found.coordinates.shape[1]), np.float32)
        alike[kept.part.searched], coordinates[kept.part.searched] = found.alike, found.coordinates
        alike = self._to_numbers(alike)
        return Followed(self._to_numbers(labels), alike, coordinates, found.lineage, found.n_settled, found.doubt)

    # Storing

    def _store_result(self, result: SearchResult, constraints: RowConstraints, records: Sequence[StartRecord]) -> None:
        """Store what a search found, except values of all rows."""
        self.history_ = [record for record in records if record.pool == result.pool]
        self.n_iter_ = len(self.history_)
        self.n_clusters_, self.objective_, self.starved_ = result.n_clusters, result.objective, result.starved
        self.classes_ = constraints.classes_of(result.n_clusters)
        if result.tree is not None:
            self.tree_ = result.tree
        if result.cuts is not None:
            self.candidates_ = result.cuts.forest.candidates
        if result.number is not None:
            self.n_clusters_choice_, self.n_clusters_scores_ = result.number.choice, result.number.scores
        if result.smoothing is not None:
            self.smoothing_ = result.smoothing
            self.starts_ = np.array([record.objective for record in self.history_])

    def _store_scores(self, scores: ClusterScores) -> None:
        self.kernel_map_ = scores.kernel_map
        self._mean, self.coef_, self._mean_scores = scores.mean, scores.coef, scores.constants
        self.intercept_ = scores.constants - scores.coef @ scores.mean
        self.temperature_, self.reject_below_ = scores.temperature, scores.least

    def _store_labels(self, labels: Any, constraints: RowConstraints) -> None:
        self.labels_ = self._to_numbers(labels)
        if self._kept is not None:
            agreement = self._kept.agreement_of_all(labels, has_outliers=bool(self.outliers))
            self.labels_, self.agreement_ = self._kept.own(self.labels_), self._kept.own(agreement)
        weighted = constraints.weighted
        present = labels if weighted is None else labels[weighted.present]
        sizes = count_labels(present[present >= 0] if self.outliers else present, self.n_clusters_)
        self.starved_ = bool(self.starved_ or sizes.min() <= self._least_size(len(present), self.n_clusters_))

    def _label_unfitted(self, X: Any, part: TakingPart, side: SideInformation, constraints: RowConstraints) -> None:
        super()._label_unfitted(X, part, side, constraints)
        if self._kept is not None:
            self._kept = self._kept.with_absent(part, self._nearest_groups(X, part.absent), side, constraints)
            self.agreement_ = self._kept.agreement_of_all(self.labels_, has_outliers=True)
        elif self._method.cuts_anywhere:
            self.agreement_ = part.to_all(self.agreement_, 1.0)  # one cluster of equal rows

    def _predict_or_reject(self, X: Any) -> np.ndarray[Any, Any]:
        check_is_fitted(self)
        return self._to_numbers(self._map_scores(X, partial(largest_or_none, least=self.reject_below_)))

    @shared_docs
    def predict_proba(self, X: Any) -> np.ndarray[Any, Any]:
        """Probability of every cluster, for each row.

        Parameters
        ----------
        <rows to assign>

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows have the sum 1; the largest is that of ``predict``. They are calibrated by the agreement of the
            members of the search, without labels: where all members make the same mistake, they are too sure.
        """
        check_is_fitted(self)
        return self._map_scores(X, self._probability_rule())

    def _probability_rule(self) -> Callable[[Floats], Floats]:
        """Probabilities of the clusters, from scores; without the estimator, so that workers can have it."""
        temperature = self.temperature_
        return lambda scores: softmax(scores / temperature, axis=1)
