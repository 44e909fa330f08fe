"""MMC: maximum margin clustering by semidefinite programming."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from widegap.base._clusterer import Objective
from widegap.base._docs import shared_docs
from widegap.base._validation import Interval
from widegap.rows._threads import one_blas_thread
from widegap.sdp._mmc_relaxation import import_scs, margin_value, solve_mmc
from widegap.sdp._semidefinite_clusterer import Relaxation, SDPClusterer

__all__ = ["MMC"]


@shared_docs
class MMC(SDPClusterer):
    r"""Maximum margin clustering (MMC) by semidefinite programming.

    Seeks the labels for which a support vector machine through the mean of the rows has the lowest objective [1]_,

    .. math::  \min_{y \in \{-1, 1\}^n} \min_w \; \|w\|^2 + 2 C \sum_i \max(0,\; 1 - y_i \langle w, \phi(x_i) \rangle),
               \qquad |e'y| \le (1 - \mathrm{min\_cluster\_fraction}) n,

    by replacing :math:`yy'` in its dual by a positive semidefinite matrix M, which makes the problem convex. No start
    is needed, and the answer bounds every labeling from below. The price is n^2 / 2 unknowns: see Notes. Needs the
    extra "sdp": ``pip install "widegap[sdp]"``.

    Parameters
    ----------
    <n_clusters, at most two>

    C : float, default=1.0
        Weight of the loss against the norm, for a kernel whose centred matrix is brought to mean diagonal one.

    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        A callable takes two tables of rows and returns the matrix of kernel values.

    gamma : {"median", "diameter"} or float, default="median"
        Coefficient of "rbf" and "poly". "median" is :math:`1 / (1.5 m)^2` with m the median distance of the rows,
        "diameter" :math:`1 / (4 D)^2` with D the largest.

    <kernel_params>

    min_cluster_fraction : float, default=0.94
        Each of the clusters has at least this share of n / 2 rows; half a row less is always allowed if n is odd.

    n_roundings : int, default=0
        Random projections of M that are tried as labels beside its leading eigenvector (the paper's); the lowest
        objective wins.

    max_samples : int, default=200
        More rows than this are refused.

    tol : float, default=1e-4
        Tolerance of SCS's residuals.

    max_iter : int, default=10000
        Most iterations of SCS.

    random_state : int, RandomState instance or None, default=None
        Determines the random projections, if there are any; all else is deterministic.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), dtype int32
        Cluster of each row; the first row is in cluster 0, unless ``min_cluster_fraction`` moved it.

    objective_ : float
        Objective of ``labels_``, in the formula above with the kernel in its own units.

    lower_bound_ : float
        Proven: no labeling within the bound on sizes has a lower objective. Where both agree the labels are optimal.

    gap_ : float
        Proven relative distance of the semidefinite program's solution from its optimum.

    tightness_ : float
        Share of the leading eigenvalue in the trace of M; 1 if the relaxation is exact.

    history_ : list of SDPRecord
        One record, of the last iteration: primal, dual, gap, seconds.

    n_iter_ : int
        Iterations of SCS.

    converged_ : bool
        Whether SCS met ``tol``.

    starved_ : bool
        Whether ``min_cluster_fraction``, and not the sign of the eigenvector, decided the cluster of some rows.

    <n_clusters_>

    kernel_map_ : KernelMap
        The function of the support vector machine that assigns new rows, fitted to ``labels_``: its support vectors
        and their weights, which give one number a row.

    coef_, intercept_ : ndarray of shape (2, 1) and (2,)
        Scores of the clusters: that number and the machine's intercept, halved, with either sign.

    <n_features_in_>

    <feature_names_in_>

    Notes
    -----
    There is no ``sample_weight``: the program holds a matrix of all rows, at most a few hundred. Repeat rows instead.

    The program has no bias (with one it would not be convex). The paper's hyperplane passes through the origin;
    here the kernel is centred first, so that it passes through the mean and a shift of X changes nothing with the
    linear and the Gaussian kernel.

    Measured on one core with ``tol=1e-4`` on digits 3 and 8: 50 rows 0.2 s, 100 rows 1.5 s, 200 rows 17 s, at proven
    gaps of 0.05 to 0.2 %. The relaxation is loose there (``tightness_`` 0.5 to 0.7), so that rounding matters. Errors
    in percent on the first 50 + 50 rows of the digits 3-8, 1-7, 2-7 and 8-9: 0, 1, 3, 9 with the eigenvector, and
    1, 0, 0, 2 with ``n_roundings=100``, which costs less than a second; the figures in [2]_ for subsets of this size
    are 2, 0, 15, 3.

    References
    ----------
    .. [1] L. Xu, J. Neufeld, B. Larson, D. Schuurmans, "Maximum margin clustering", NIPS 2004.
    .. [2] K. Zhang, I. Tsang, J. Kwok, "Maximum margin clustering made practical", IEEE TNN 20(4), 2009.

    Examples
    --------
    >>> from widegap import MMC
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> MMC(kernel="linear").fit_predict(X)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    _objective = Objective(
        "margin objective", "lower", "of an SVM for these labels; see lower_bound_ for the least possible"
    )
    _parameter_constraints: dict = {
        **SDPClusterer._parameter_constraints,
        "C": [Interval(Real, 1e-12, 1e3, closed="both")],  # beyond, SCS makes no progress within max_iter
        "min_cluster_fraction": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        C: float = 1.0,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: str | float = "median",
        kernel_params: dict[str, Any] | None = None,
        min_cluster_fraction: float = 0.94,
        n_roundings: int = 0,
        max_samples: int = 200,
        tol: float = 1e-4,
        max_iter: int = 10000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.min_cluster_fraction = min_cluster_fraction
        self.n_roundings = n_roundings
        self.max_samples = max_samples
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _relax(self, kernel: np.ndarray) -> Relaxation:
        n = len(kernel)
        # An odd number of rows has no halves, and no cluster may be empty.
        limit = min(max((1 - self.min_cluster_fraction) * n, n % 2), n - 2)
        import_scs()
        with one_blas_thread():  # anew, as scs has brought a BLAS of its own
            solution = solve_mmc(kernel, self.C, limit, tol=self.tol, max_iter=self.max_iter)
        return Relaxation(
            solution, limit, lambda signs: margin_value(kernel, np.outer(signs, signs).astype(float), self.C)
        )

    def _svm_cost(self) -> float:
        return self.C
