"""M2DCU: maximum margin clustering with non-examples."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np

from widegap._types import Labels
from widegap._warnings import warn_caller
from widegap.base._clusterer import Objective
from widegap.base._docs import shared_docs
from widegap.base._records import IterationRecord
from widegap.base._validation import COST, Interval, StrOptions, check_threads
from widegap.constraints._side_information import SideInformation
from widegap.cutting_plane._cutting_plane_clusterer import CuttingPlaneClusterer, Prepared, SearchOutcome
from widegap.cutting_plane._universum_loss import (
    AUTO_SHARE,
    UniversumReport,
    UniversumRows,
    check_nearness,
    check_universum,
    report_on,
)
from widegap.exceptions import InactiveUniversumWarning, InvalidDataError
from widegap.rows._blocks import RowBlocks
from widegap.rows._centred import CentredRows
from widegap.rows._fingerprints import digest_of_rows
from widegap.rows._known_frames import known_frame
from widegap.rows._protocols import Rows


@shared_docs
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
    <n_clusters>

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

    <kernel>

    <gamma>

    <kernel_params>

    <n_components>

    <balance>

    <min_cluster_fraction>

    <size_min>

    <size_max>

    <outliers>

    order : {"auto", "cuts_first", "linearize_first", "one_step"}, default="auto"
        How relabelling and cutting alternate. "linearize_first" is the paper's order and never raises the objective;
        "cuts_first" is that of CPM3C; "one_step" relabels after every plane. "auto" is "cuts_first" for k = 2,
        "one_step" for k = 3 or 4 and "linearize_first" above. With ``C`` or ``C_universum`` well above
        "auto" only "linearize_first" converges reliably.

    <annealing>

    loss : {"sum", "max"}, default="sum"
        "sum" is the formula above; "max" counts the strongest rival only, as CPM3C does.

    <init>

    <n_init>

    <tol>

    max_iter : int, default=300
        Most iterations of one start; each reads X and the universum once (X three times where the count bound is
        active).

    <random_state>

    <n_jobs>

    <verbose>

    <callback>

    <checkpoint>

    <labels_out>

    Attributes
    ----------
    <labels_>

    <classes_>

    <coef_>

    <intercept_>

    C_, C_universum_ : float
        The weights used.

    universum_report_ : UniversumReport or None
        Whether the universum was active, how many of its rows lie within the tolerance, and their mean margin, each
        with the universum and without it. None without a universum, with one cluster, and if the callback stopped
        the fit.

    objective_ : float
        F at the solution. Where nothing is separated (W = 0) it is (k - 1) / k, or 1 with ``loss="max"``.

    <history_>

    <n_iter_>

    <converged_>

    <starved_>

    <reject_beyond_>

    <n_clusters_>

    <kernel_map_>

    <n_features_in_>

    <feature_names_in_>

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
    a few rows far from all of X outweigh the rest: ``widegap.universum.select`` keeps those near X. What to expect,
    in points of accuracy against ``C_universum=0``: +0.1 to +2.0 on four news groups with 2000 documents of other
    groups (tf-idf, seeds 0 to 3), +0.2 to +4.2 on their LSA, and -2.0 to +1.4 on digits with the other digits.

    In a pipeline the universum must go through the same transformations as X, which scikit-learn's metadata routing
    does in ``Pipeline.fit``: see the example. Do not use ``Pipeline.fit_predict`` for this: up to scikit-learn 1.9 it
    passes the universum on untransformed. The notes of :class:`CPM3C` on scaling, balance and sample weights apply
    here too; there are twice as many planes.

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
        "C": [StrOptions({"auto"}), COST],
        "C_universum": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="both")],
        "margin_tolerance": [Interval(Real, 0, None, closed="left")],
    }
    _objective = Objective("hinge loss", "lower", "regularised clustering hinge of the rows and of the universum")
    _stored = {"C_universum_": float, "universum_report_": UniversumReport | None}
    _slow_remedy = "lower C or C_universum, or set order='linearize_first'"

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        C: str | float = "auto",
        C_universum: str | float = "auto",
        margin_tolerance: float = 0.5,
        kernel: str | Callable[..., Any] = "linear",
        gamma: str | float = "median",
        kernel_params: dict[str, Any] | None = None,
        n_components: str | int = "auto",
        balance: float = 0.0,
        min_cluster_fraction: float = 0.3,
        size_min: Any = None,
        size_max: Any = None,
        outliers: float | str = 0,
        order: str = "auto",
        annealing: bool = False,
        loss: str = "sum",
        init: Any = "k-means",
        n_init: str | int = "auto",
        tol: float = 0.01,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[IterationRecord], Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        labels_out: str | PathLike[str] | None = None,
    ) -> None:
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
        self.size_min = size_min
        self.size_max = size_max
        self.outliers = outliers
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
        self.checkpoint = checkpoint
        self.labels_out = labels_out

    def fit(
        self,
        X: Any,
        y: Any = None,
        universum: Any = None,
        *,
        known: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Find the clusters of the rows of X, whose boundaries run through the universum.

        Parameters
        ----------
        X, y, known, must_link, cannot_link, sample_weight
            As for :meth:`CPM3C.fit`; constraints and weights apply to the rows of X.
        universum : {array-like, sparse matrix, RowBlocks} of shape (n_universum, n_features), default=None
            Rows that belong to no cluster; dense or sparse whatever X is. May be left out only if ``C_universum=0``.

        Returns
        -------
        M2DCU
            The fitted estimator.
        """
        side = SideInformation(known, must_link, cannot_link, sample_weight)
        return self._complete_fit(X, side=side, universum=known_frame(universum))

    def fit_predict(self, X: Any, y: Any = None, universum: Any = None, **side: Any) -> Labels:
        """Find the clusters of the rows of X and return ``labels_``.

        Parameters
        ----------
        X, y, universum
            As for ``fit``.
        **side
            Further arguments of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        return self.fit(X, y, universum, **side).labels_

    def _prepare(
        self,
        blocks: Rows,
        rng: np.random.Generator,
        side: SideInformation,
        further: str = "",
        universum: Any = None,
    ) -> Prepared:
        """The rows and, as an extra loss, the universum."""
        if universum is None and self.C_universum != 0:
            raise InvalidDataError(
                f"fit got no universum, but C_universum={self.C_universum!r}; pass fit(X, universum=U) with rows that "
                "belong to no cluster (widegap.universum makes some), or set C_universum=0 to cluster without. In a "
                "pipeline, enable metadata routing and call set_fit_request(universum=True)."
            )
        if universum is None:
            return super()._prepare(blocks, rng, side)
        names = getattr(self, "feature_names_in_", None)
        universum = check_universum(universum, self.n_features_in_, names, check_threads(self.n_jobs))
        digest = "" if self.checkpoint is None else digest_of_rows(universum)
        prepared = super()._prepare(blocks, rng, side, digest)
        return replace(prepared, extra_losses=self._universum_rows(universum, prepared.rows, rng))

    def _universum_rows(self, universum: RowBlocks, rows: CentredRows, rng: np.random.Generator) -> UniversumRows:
        blocks = self._features(universum)
        check_nearness(blocks, rows)
        return UniversumRows(blocks, self.C_universum, self.margin_tolerance, rng)

    def _store(self, found: SearchOutcome) -> None:
        super()._store(found)
        report = None
        if isinstance(found.extra_losses, UniversumRows) and not found.recorder.stopped:
            report = report_on(found.extra_losses, found, self.tol, self.max_iter)
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
