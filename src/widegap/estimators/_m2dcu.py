"""M2DCU: maximum margin clustering with non-examples."""

from numbers import Real
from typing import Any, Self

import numpy as np

from widegap._validation import Interval, StrOptions, check_threads
from widegap.data._blocks import RowBlocks
from widegap.data._centred import CentredRows
from widegap.estimators._base import Objective, warn_caller
from widegap.estimators._cutting_plane_base import NO_OTHERS, CuttingPlaneClusterer, Fit, Prepared
from widegap.estimators._universum_rows import (
    AUTO_SHARE,
    UniversumReport,
    UniversumRows,
    check_nearness,
    check_universum,
    report_on,
)
from widegap.exceptions import InactiveUniversumWarning, InvalidDataError


class M2DCU(CuttingPlaneClusterer):
    r"""Maximum margin document clustering with universum (M2DCU).

    A universum is a set of rows that are known to belong to none of the clusters: boilerplate, other topics, mixtures.
    The boundaries should separate the rows of X widely and run through the universum. With scores
    :math:`s_i = W (x_i - \bar x) + b`, also for the N universum rows, which are centred by the mean of X, too, it
    minimises [1]_

    .. math::  F(W, b) = \frac{1}{2 C} \|W\|^2
               + \frac{1}{nk} \sum_i \min_z \sum_{r \ne z} \max(0,\; 1 - s_{iz} + s_{ir})
               + \frac{C_u}{C N} \sum_j \max\Bigl(0,\; \frac{k}{k-1}
                 \bigl(\max_t s_{jt} - \tfrac1k \textstyle\sum_t s_{jt}\bigr) - \epsilon\Bigr),

    the paper's objective divided by C. The last sum is convex and is cut at the best cluster of each row, as
    a second slack in the QP of :class:`CPM3C`, so that the objective never rises when labels and planes are renewed;
    under the linearisation of the paper it can. Without the universum (``C_universum=0``) this is the paper's M2DCU-0
    and equal to ``CPM3C(loss="sum")``.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters k.

    C : "auto" or float, default="auto"
        Weight of the loss of the rows of X against the regulariser (the paper's :math:`C_l`), for features
        as they come. "auto" is free of labels: :math:`1 / (\rho \lambda_{k-1})` with the (k-1)-th largest eigenvalue
        of the covariance (of at most 5000 rows) and :math:`\rho` = 0.3 up to four clusters, 0.2 above.

    C_universum : "auto" or float, default="auto"
        Weight :math:`C_u` of the loss of the universum, in the same unit. "auto" is 0.3 times the weight of the rows of
        X. 0 leaves the universum out; ``fit`` then needs none.

    margin_tolerance : float, default=0.5
        Margin :math:`\epsilon` up to which a universum row costs nothing; less than 1e-5 counts as 0. Rows of X
        are asked for a margin of 1.

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
        How relabelling and cutting alternate. "linearize_first" is the paper's order and never raises the objective;
        "cuts_first" is that of CPM3C; "one_step" relabels after every plane. "auto" is "cuts_first" for k = 2,
        "one_step" for k = 3 or 4 and "linearize_first" above. With ``C`` or ``C_universum`` well above
        "auto" only "linearize_first" converges reliably.

    annealing : bool, default=False
        Begin with a strong regulariser and halve it down to 1 / C, which frees "linearize_first" from its start.

    loss : {"sum", "max"}, default="sum"
        "sum" is the formula above; "max" counts the strongest rival only, as CPM3C does.

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
        Most iterations of one start; each reads X and the universum once (X three times where the count bound is
        active).

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
        Cluster of each row of X: ``predict(X)``, except for rows that ``min_cluster_fraction`` moved.

    coef_ : ndarray of shape (n_clusters, n_features)
        Weight vectors; in the space of the kernel's features if there is a kernel.

    intercept_ : ndarray of shape (n_clusters,)
        Constants of the scores ``coef_ @ x + intercept_``.

    C_, C_universum_ : float
        The weights used.

    universum_report_ : UniversumReport or None
        Whether the universum was active, how many of its rows lie within the tolerance, and their mean margin, each
        with the universum and without it. None without a universum, with one cluster, and if the callback stopped
        the fit.

    objective_ : float
        F at the solution. Where nothing is separated (W = 0) it is (k - 1) / k, or 1 with ``loss="max"``.

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

    Warns
    -----
    InactiveUniversumWarning
        If the universum had no effect, because all its rows have margins within the tolerance without it. That happens
        where the regulariser is strong, as margins are small then. Seen at "auto", without the universum: 94 % of its
        rows within 0.5 for two news groups in tf-idf, 39 to 72 % for pairs of digits. Lower ``margin_tolerance`` or
        raise ``C``.

    See Also
    --------
    widegap.universum : Ways to a universum, and the choice of its most useful rows.

    Notes
    -----
    A universum row outside the tolerance pulls at the weights in proportion to its distance from the mean of X, so that
    a few rows far from all of X outweigh the others: ``widegap.universum.select`` keeps those near X. What to expect,
    in points of accuracy against ``C_universum=0``: +0.1 to +2.0 on four news groups with 2000 documents of other
    groups (tf-idf, seeds 0 to 3), +0.2 to +4.2 on their LSA, and -2.0 to +1.4 on digits with the other digits.

    In a pipeline the universum must go through the same transformations as X, which scikit-learn's metadata routing
    does in ``Pipeline.fit``: see the example. Do not use ``Pipeline.fit_predict`` for this: up to scikit-learn 1.9 it
    passes the universum on untransformed. What is said of scaling, balance and sample weights in :class:`CPM3C` holds
    here; there are twice as many planes.

    References
    ----------
    .. [1] D. Zhang, J. Wang, L. Si, "Document clustering with universum", SIGIR 2011.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from widegap import M2DCU, universum
    >>> X, y = load_digits(return_X_y=True)
    >>> U = universum.rest(X, y, keep=[3, 8])
    >>> X = X[(y == 3) | (y == 8)]
    >>> model = M2DCU(n_clusters=2, margin_tolerance=0.1, random_state=0).fit(X, universum=U)
    >>> report = model.universum_report_
    >>> report.active, report.mean_margin_after < report.mean_margin_before
    (True, True)

    The same behind a scaler that is fitted to X and applied to both:

    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     model.set_fit_request(universum=True)
    ...     steps = [("scale", MinMaxScaler()), ("cluster", model)]
    ...     pipeline = Pipeline(steps, transform_input=["universum"]).fit(X, universum=U)
    M2DCU(margin_tolerance=0.1, random_state=0)
    """

    _parameter_constraints: dict = {
        **CuttingPlaneClusterer._parameter_constraints,
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "C_universum": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "margin_tolerance": [Interval(Real, 0, None, closed="left")],
    }
    _objective = Objective("hinge loss", "lower", "regularised clustering hinge of the rows and of the universum")
    _stored = {"C_universum_": float, "universum_report_": UniversumReport | None}
    _slow_remedy = "lower C or C_universum, or set order='linearize_first'"

    def __init__(
        self,
        n_clusters=2,
        *,
        C="auto",
        C_universum="auto",
        margin_tolerance=0.5,
        kernel="linear",
        gamma="median",
        kernel_params=None,
        n_components="auto",
        balance=0.0,
        min_cluster_fraction=0.3,
        order="auto",
        annealing=False,
        loss="sum",
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
        self.C_universum = C_universum
        self.margin_tolerance = margin_tolerance
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

    def fit(self, X: Any, y: Any = None, universum: Any = None) -> Self:
        """Find the clusters of the rows of X, whose boundaries run through the universum.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
            Rows to cluster; float32 and float64 are used as they are. ``widegap.data.shards`` reads rows from files.
        y : ignored
            Present by convention.
        universum : {array-like, sparse matrix, RowBlocks} of shape (n_universum, n_features), default=None
            Rows that belong to no cluster; dense or sparse whatever X is. May be left out only if ``C_universum=0``.

        Returns
        -------
        M2DCU
            The fitted estimator.
        """
        return self._fit(X, universum=universum)

    def fit_predict(self, X: Any, y: Any = None, universum: Any = None) -> np.ndarray[Any, Any]:
        """Find the clusters of the rows of X and return ``labels_``.

        Parameters
        ----------
        X, y, universum
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        return self.fit(X, y, universum=universum).labels_

    def _prepare(self, blocks: RowBlocks, rng: np.random.Generator, universum: Any = None) -> Prepared:
        if universum is None and self.C_universum != 0:
            raise InvalidDataError(
                f"fit got no universum, but C_universum={self.C_universum!r}; pass fit(X, universum=U) with rows that "
                "belong to no cluster (widegap.universum makes some), or set C_universum=0 to cluster without. In a "
                "pipeline, enable metadata routing and call set_fit_request(universum=True)."
            )
        rows = super()._prepare(blocks, rng).rows
        return Prepared(rows, NO_OTHERS if universum is None else self._universum_rows(universum, rows, rng))

    def _universum_rows(self, universum: Any, rows: CentredRows, rng: np.random.Generator) -> UniversumRows:
        names = getattr(self, "feature_names_in_", None)
        blocks = check_universum(universum, self.n_features_in_, names, check_threads(self.n_jobs))
        blocks = self._features(blocks)
        check_nearness(blocks, rows)
        return UniversumRows(blocks, self.n_clusters, self.C_universum, self.margin_tolerance, rng)

    def _store(self, found: Fit) -> None:
        super()._store(found)
        report = None
        if isinstance(found.others, UniversumRows) and not found.recorder.stopped:
            report = report_on(found.others, found, self.tol, self.max_iter)
        self._store_report(report)

    def _store_single_cluster(self, rows: Any) -> None:
        super()._store_single_cluster(rows)
        self._store_report(None)

    def _store_report(self, report: UniversumReport | None) -> None:
        self.C_universum_ = AUTO_SHARE * self.C_ if self.C_universum == "auto" else float(self.C_universum)
        self.universum_report_ = report
        if report is not None and self.C_universum != 0 and not report.active:
            warn_caller(
                f"The universum had no effect: without it all its {report.n_rows} rows have margins within "
                f"margin_tolerance={self.margin_tolerance}, on average {report.mean_margin_before:.2g}; lower "
                f"M2DCU's margin_tolerance, or raise its C above {self.C_:.3g}. In a DocumentClustering "
                "both are set by method=M2DCU(...).",
                InactiveUniversumWarning,
            )
