"""MaxMarginClustering: the groups that a kernel margin keeps apart, found by merging and agreement, or by moves."""

from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any

import numpy as np

from widegap.base._clusterer import COMMON_CONSTRAINTS, LABELS_OUT, Objective
from widegap.base._docs import shared_docs
from widegap.base._starts import count_feature_starts
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
from widegap.constraints._side_information import SIZE_CONSTRAINTS, SideInformation
from widegap.exceptions import InvalidDataError
from widegap.forest._forest_base import AUTO_COMPONENTS, ForestClusterer
from widegap.forest._forest_cuts import ForestCuts
from widegap.forest._linkage import MergeTree
from widegap.forest._merge_search import n_members
from widegap.forest._partition_search import StartRecord
from widegap.rows._blocks import RowBlocks
from widegap.rows._centred import CentredRows
from widegap.rows._collections import is_collection
from widegap.rows._protocols import constant
from widegap.rows._threads import one_blas_thread

SMALL = 1 << 21  # rows times columns, or times components, below which one thread does the algebra


@shared_docs
class MaxMarginClustering(ForestClusterer):
    r"""Maximum margin clustering with a kernel least-squares margin: the estimator to try first.

    Finds groups that a kernel ridge classifier tells apart, by one of three searches.

    ``search="agree"`` looks for many more groups than wanted and merges those between which the classifier finds no
    margin, in one or two dozen ways; the clusters are what these agree on. This finds long, nested and very unequal
    clusters as well as round ones, and gives every number of clusters from one fit (:meth:`cut`) and, for every row,
    how sure its cluster is (``agreement_``). ``search="merge"`` is one such way alone.

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
        Number of clusters k. "auto", with ``search="agree"`` or "merge", takes the largest number up to 25 whose
        clusters are all more clearly apart than rows without structure would be; 1 if there are none
        (``n_clusters_scores_`` tells why).

    search : {"agree", "merge", "moves"}, default="agree"
        "agree" takes clusters of any shape and size, "moves" prefers round ones of similar size. "merge" is a single
        tree of merges by margin: faster than "agree", and cuts at different numbers are nested. Starting labels
        (``init``) imply "moves". Of sparse rows that ``standardize="auto"`` brings to length one, "agree" takes a small
        part for a cluster only if its rows are farther from their neighbours than most are, as those of a rare subject
        are; near-duplicates of a document stay with others. "auto" still counts them.

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
        exceeds ten times the median one, that is where units clearly differ. But for ``search="moves"`` it brings rows
        of sparse data to length one, so that documents are compared by their words and not by their length.

    min_cluster_fraction : "auto" or float, default="auto"
        Every cluster keeps at least this fraction of n / k rows (and one row). "auto" is no bound, and 0.2 for
        ``search="moves"``.

    <size_min>

    <size_max>

    outliers : float or "auto", default=0
        Share of the rows to set aside: those farthest from their neighbours among the other rows. They get label -1 and
        take no part in the search; which they are is decided anew until nothing changes. "auto" sets rows aside that
        are clearly farther than most. Rows of which something is known always stay. New rows: ``predict(X,
        reject=True)``.

    init : {"k-means", "random", "spectral"} or array-like of shape (n_samples,), default="k-means"
        Starts of ``search="moves"``. "k-means" runs k-means, one time in three on the rows and else on the kernel
        features, and for two clusters adds thresholds along the eight leading principal axes and along random
        directions; "random" are random directions alone; "spectral" is one start, the normalised cut of a
        nearest-neighbour graph. Labels are refined from where they are.

    n_init : "auto" or int, default="auto"
        Number of k-means starts of ``search="moves"``, and of random directions where there are any; "auto" is 10.

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
        average; of a row that was not searched the mean of its group. Members with a tiny cluster that is not isolated
        do not count. It tells how stable clusters are, not that there are any: of few rows without structure all
        members may agree by chance. Not for ``search="moves"``.

    tree_ : MergeTree
        The merges, with ``sizes``, ``margins``, ``cut(k)`` and ``to_linkage()`` for scipy's dendrograms. Of "merge" it
        begins with the groups; of "agree" with the sets of rows on which all members agree, joined by how many members
        keep them together. Not for ``search="moves"``.

    n_clusters_scores_ : list of ClusterNumberScore
        Why "auto" chose its number: separation, excess and agreement for 2, 3, ... clusters.

    objective_ : float
        :math:`R^2` of the labels of the searched rows, between 0 and k - 1.

    starts_ : ndarray of shape (n_starts,)
        Of ``search="moves"``: :math:`R^2` that every start led to, before kicks. Starts that leave at most 1.1 times as
        much unexplained as the best, :math:`k - 1 - R^2`, count as equally good, and the most even cluster sizes among
        them win: many such starts with different labels show that the result is not sure.

    smoothing_ : int
        Of ``search="moves"``: steps of smoothing that were taken.

    coef_, intercept_ : ndarrays of shape (n_clusters, n_components) and (n_clusters,)
        Scores of the kernel features: a row belongs to the cluster with the nearest mean in whitened coordinates.

    history_ : list of StartRecord
        One record a member or start.

    n_iter_ : int
        Number of members or starts.

    converged_ : bool
        False if the callback ended the search.

    starved_ : bool
        Whether a cluster has no more rows than ``min_cluster_fraction`` demands, or would have fewer in a much better
        answer, of which a ``StarvedClusterWarning`` tells.

    <n_clusters_>

    kernel_map_ : KernelMap
        The feature map.

    temperature_ : float
        What scores are divided by for ``predict_proba``: fitted to how the members of the search vote.

    reject_below_ : float
        Largest score below which ``predict(X, reject=True)`` says -1.

    <n_features_in_>

    <feature_names_in_>

    Warns
    -----
    NoStructureWarning
        If the members disagree, or hardly any of them counts, and the clusters are no further apart than those of rows
        without structure. Of 150 to 200 such rows three fits in 160 were not warned of: members can agree by chance.

    Notes
    -----
    Above 10000 rows the search runs on a sample of 10000 (of 5000 for ``search="moves"``), and the others get their
    cluster by ``predict``'s rule in one pass over the data; ``search="moves"`` without smoothing then makes exact moves
    on all rows. With 5000, 10000, 20000 and 40000 rows searched the accuracy on MNIST is 79, 80, 82 and 84 %, on a
    million rows of two Gaussians 97, 98, 98 and 98 %, and on letters, of which there are 20000, 37, 37 and 32 %; 20000
    take twice the time, 40000 three to eight times.

    ``predict`` knows neither the neighbour graph nor a bound on sizes, so ``predict(X)`` may differ from ``labels_``
    for rows at a boundary: 1 % on scikit-learn's digits, at most 3.3 % on 22 other labelled tables, 5 % on the test
    set of MNIST, 8 to 19 % on sparse rows of words (cora, webkb, rcv1, four subjects of 20news), 28 % on all 20 groups
    of 20news.

    Arrays and data frames of Dask stay on their cluster, but for the sample: ``labels_``, ``agreement_`` and cuts are
    lazy arrays then. Not for ``search="moves"`` or a precomputed kernel.

    Known labels and links spread over the neighbours of rows and over the groups of all members, after a search that
    did not see them; the clusters that it found count for more than one label of a class, and for less than two. Known
    labels also teach a classifier, which is believed as far as it tells known labels that it has not seen, and rows
    that are then sure of their cluster teach another; both decide the more, the more labels a class has. So ``refit``
    with more labels takes a fraction of a fit, and ``questions`` tells whose labels would help most. ``sample_weight``
    makes copies of the searched rows: whole weights are met exactly if there is room, others in proportion, rows of
    weight 0 are left out and get their cluster by ``predict``'s rule.

    Memory: of the searched rows a few tables of n * n_components numbers, n_neighbors entries a row of the graph, and
    4k + 20 to 8k + 40 weights a row while groups are merged; they are kept for ``cut``, but not in model files. Kernel
    values and features of other rows are made block by block. A precomputed kernel matrix is not copied.

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
        "min_cluster_fraction": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        **SIZE_CONSTRAINTS,
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
    _stored = {"starts_": np.ndarray, "smoothing_": int}
    _command = "max-margin"
    _fits_collections = True

    def __init__(
        self,
        n_clusters=2,
        *,
        search="agree",
        C=10.0,
        kernel="rbf",
        gamma="median",
        kernel_params=None,
        n_components="auto",
        smoothing="auto",
        n_neighbors=30,
        standardize="auto",
        min_cluster_fraction="auto",
        size_min=None,
        size_max=None,
        outliers=0,
        init="k-means",
        n_init="auto",
        random_state=None,
        n_jobs=None,
        verbose=0,
        callback=None,
        labels_out=None,
    ):
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
        self.min_cluster_fraction = min_cluster_fraction
        self.size_min = size_min
        self.size_max = size_max
        self.outliers = outliers
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.labels_out = labels_out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    @property
    def _by_moves(self) -> bool:
        return self.search == "moves" or not isinstance(self.init, str)

    def _read(self, X: Any) -> RowBlocks:
        if self.n_clusters == "auto" and self._by_moves:
            raise InvalidDataError(
                "n_clusters='auto' needs the tree of a search by merging, but this one makes moves; give n_clusters a "
                "number, or use search='agree' without starting labels."
            )
        if is_collection(X):
            self._check_distributable()
        blocks = check_rows(self, X, reset=True, n_threads=check_threads(self.n_jobs))
        check_cluster_number(blocks.shape[0], 1 if self.n_clusters == "auto" else self.n_clusters)
        return blocks

    def _prepare(self, blocks: RowBlocks, rng: np.random.Generator, side: SideInformation) -> RowBlocks:
        for name in (*MaxMarginClustering._stored, *ForestCuts._stored, *ForestCuts._kept):
            vars(self).pop(name, None)  # of an earlier fit by another search
        self._side, self._constraints = side, self._check_constraints(side, blocks)
        if self._precomputed:
            check_precomputed(blocks.shape, self.standardize)
        if CentredRows(blocks).scale == 0 and self.n_clusters not in (1, "auto"):
            raise one_point_error("linear", None, blocks.shape[0], self.n_clusters)
        return blocks

    def _search(self, blocks: RowBlocks, rng: np.random.Generator) -> None:
        # On a busy machine BLAS and OpenMP threads that wait for each other can cost a hundredfold on small tables.
        small = blocks.shape[0] * max(blocks.shape[1], AUTO_COMPONENTS) < SMALL
        with one_blas_thread(openmp=True) if small else nullcontext():
            if self.n_clusters == "auto" and CentredRows(blocks).scale == 0:
                self._check_one_suffices(blocks.shape[0])
                self._store_single_cluster(blocks)
            else:
                self._search_rows(blocks, rng)

    def _check_one_suffices(self, n_rows: int) -> None:
        """Refuse labels, links and sizes that ask for several clusters of equal rows."""
        fewest = self._fewest_clusters(n_rows)
        if fewest > 1:
            raise InvalidDataError(
                f"All {n_rows} rows are equal, so they cannot be separated, but known labels, cannot_link or size_max "
                f"ask for {fewest} clusters; leave these out or check the data."
            )

    def _expected_records(self, n_rows: int) -> int:
        if not self._by_moves:
            return 1 if self.search == "merge" else n_members(n_rows, self._smoothings)
        return count_feature_starts(self.init, self.n_clusters, self._n_init) if isinstance(self.init, str) else 1

    def _store_single_cluster(self, rows: Any) -> None:
        super()._store_single_cluster(rows)
        self.labels_ = constant(rows, np.int32(0))
        self.classes_ = self._constraints.classes_of(1)
        self.temperature_, self.reject_below_ = 1.0, -np.inf
        self.kernel_map_ = None
        if self._by_moves:
            self.starts_, self.smoothing_ = np.zeros(0), 0
        else:
            leaf = np.array([rows.shape[0]])
            self.tree_ = MergeTree(np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0, np.int64), leaf)
            self.agreement_ = constant(rows, np.float64(1))
