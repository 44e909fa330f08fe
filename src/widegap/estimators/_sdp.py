"""MMC and GMMC: maximum margin clustering by semidefinite programming, for small tables and two clusters."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from widegap._validation import (
    Interval,
    check_generator,
    check_rows,
    kernel_constraints,
)
from widegap.data._blocks import RowBlocks
from widegap.data._centred import CentredRows
from widegap.data._kernel_maps import centre_kernel, check_values, decompose, without_offsets
from widegap.data._kernels import kernel_matrix, kernel_options, settle_width
from widegap.data._sources import row_blocks
from widegap.data._tables import check_finite, shift_columns
from widegap.data._threads import one_blas_thread
from widegap.estimators._base import Clusterer, Objective, warn_caller
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.solvers._semidefinite import (
    SDPRecord,
    SDPSolution,
    margin_value,
    round_matrix,
    score_norm,
    score_value,
    solve_gmmc,
    solve_mmc,
)


class _SDPClusterer(Clusterer):
    """What both share: the centred kernel, the guards, labels from the relaxation and an SVM for new rows."""

    _record = SDPRecord
    n_jobs = 1
    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        **kernel_constraints(),
        "n_roundings": [Interval(Integral, 0, None, closed="left")],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _refusal_to_store(self) -> str | None:
        return f"{type(self).__name__} has no model file; fit CPM3C or IterSVR to keep a model."

    def _read(self, X: Any) -> RowBlocks:
        self._check_two_clusters()
        blocks = super()._read(X)
        self._check_size(blocks.shape[0])
        return blocks

    def _search(self, blocks: RowBlocks, rng: np.random.Generator) -> None:
        self.n_clusters_ = self.n_clusters
        with one_blas_thread():  # as the solvers ask for, with the reason
            self._fit_rows(check_finite(blocks.take(np.arange(blocks.shape[0]))).astype(np.float64))

    def _fit_rows(self, rows: Any) -> None:
        rows, self._offsets = without_offsets(self.kernel, rows)
        self._rows = rows
        self._kernel_params = self._resolve_kernel(rows)
        gram = check_values(kernel_matrix(rows, rows, self.kernel, self._kernel_params), repr(self.kernel))
        kernel = self._centre(gram)
        self._scale = kernel.trace() / len(kernel)
        self._fit_labels(kernel / self._scale)
        self._svm = SVC(kernel="precomputed", C=self._svm_cost()).fit(gram / self._scale, self.labels_)

    def _check_two_clusters(self) -> None:
        if self.n_clusters > 2:
            raise NotSupportedError(
                f"n_clusters={self.n_clusters}, but {type(self).__name__} finds two clusters at most; "
                f"use CPM3C(n_clusters={self.n_clusters})."
            )

    def _check_size(self, n: int) -> None:
        if n > self.max_samples:
            raise InvalidDataError(
                f"X has {n} rows, more than max_samples={self.max_samples}: {type(self).__name__} solves a "
                "semidefinite program whose time grows at least with the cube of their number. Cluster all rows with "
                "MaxMarginClustering, CPM3C or IterSVR, fit a sample and call predict on the rest, or raise "
                "max_samples."
            )

    def _store_single_cluster(self, rows: Any) -> None:
        super()._store_single_cluster(rows)
        self.lower_bound_ = self.gap_ = 0.0
        self.tightness_ = 1.0

    def _resolve_kernel(self, rows: Any) -> dict[str, Any]:
        """The kernel's arguments, with the width set; refuses rows that are all equal."""
        if CentredRows(row_blocks(rows)).scale == 0:
            raise InvalidDataError(
                f"All {rows.shape[0]} rows are equal, so they cannot be separated into 2 clusters; check the data."
            )
        options = kernel_options(self.kernel, self.gamma, self.kernel_params)
        return settle_width(self.kernel, options, lambda size: rows, np.random.default_rng(0))

    def _centre(self, gram: np.ndarray) -> np.ndarray:
        """The kernel about the mean of the rows in its space; refuses what no hyperplane could separate."""
        spectrum = decompose(gram, np.float64, centred=True)
        spectrum.check_margin(self.kernel, len(gram))
        if not spectrum.projection.shape[1]:
            raise InvalidDataError(
                f"Kernel {self.kernel!r} maps all {len(gram)} rows to the same point; choose other parameters, such "
                "as a larger gamma."
            )
        return centre_kernel((gram + gram.T) / 2)

    def _store(self, solution: SDPSolution, limit: float, value: Any) -> None:
        """Labels from the relaxation, and what is known about it; values in units of the kernel as it came."""
        rng = check_generator(self.random_state)
        signs, labelled, moved = round_matrix(solution.matrix, limit, value, self.n_roundings, rng)
        self.labels_ = (signs > 0).astype(np.int32)
        self.objective_ = labelled / self._scale
        self.lower_bound_ = solution.dual / self._scale
        self.gap_ = solution.gap
        self.tightness_ = solution.tightness
        self.history_ = solution.history
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        self.starved_ = moved
        if not solution.converged:
            warn_caller(
                f"{type(self).__name__} stopped after {solution.n_iter} iterations with a relative gap of "
                f"{solution.gap:.2g}, before it met tol={self.tol}; raise tol"
                + (", or max_iter." if solution.n_iter >= self.max_iter else ": no further progress was possible."),
                ConvergenceWarning,
            )

    def decision_function(self, X):
        """Score of every row in the support vector machine fitted to ``labels_``; positive is cluster 1.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
            Rows to score, any number.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        blocks = check_rows(self, X, reset=False, n_threads=1)
        if self.n_clusters_ == 1:
            return np.zeros(blocks.shape[0])
        return blocks.map(lambda block: self._score(block.take(slice(None)).astype(np.float64)))

    def _score(self, rows: Any) -> np.ndarray:
        gram = kernel_matrix(shift_columns(rows, self._offsets), self._rows, self.kernel, self._kernel_params)
        return self._svm.decision_function(gram / self._scale)

    def predict(self, X):
        """Cluster of every row by the sign of ``decision_function``.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
            Rows to assign; they need not have been seen by ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
            For rows seen by ``fit``, ``labels_`` except where the support vector machine leaves a row on the other
            side of its margin.
        """
        return (self.decision_function(X) > 0).astype(np.int32)


class MMC(_SDPClusterer):
    r"""Maximum margin clustering (MMC) by semidefinite programming.

    Seeks the labels for which a support vector machine through the mean of the rows has the lowest objective [1]_,

    .. math::  \min_{y \in \{-1, 1\}^n} \min_w \; \|w\|^2 + 2 C \sum_i \max(0,\; 1 - y_i \langle w, \phi(x_i) \rangle),
               \qquad |e'y| \le (1 - \mathrm{min\_cluster\_fraction}) n,

    by replacing :math:`yy'` in its dual by a positive semidefinite matrix M, which makes the problem convex. No start
    is needed, and the answer bounds every labeling from below. The price is n^2 / 2 unknowns: see Notes. Needs the
    extra "sdp": ``pip install "widegap[sdp]"``.

    Parameters
    ----------
    n_clusters : int, default=2
        2, or 1 for the trivial answer. `CPM3C` finds more.

    C : float, default=1.0
        Weight of the loss against the norm, for a kernel whose centred matrix is brought to mean diagonal one.

    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        A callable takes two tables of rows and returns the matrix of kernel values.

    gamma : "median" or float, default="median"
        Coefficient of "rbf" and "poly". "median" is :math:`1 / (1.5 m)^2` with m the median distance of the rows.

    kernel_params : dict, default=None
        Further arguments of the kernel, such as ``degree``.

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

    n_clusters_ : int
        Number of clusters.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was a frame with string column names.

    Notes
    -----
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
    """

    _objective = Objective(
        "margin objective", "lower", "of an SVM for these labels; see lower_bound_ for the least possible"
    )
    _parameter_constraints: dict = {
        **_SDPClusterer._parameter_constraints,
        "min_cluster_fraction": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C=1.0,
        kernel="rbf",
        gamma="median",
        kernel_params=None,
        min_cluster_fraction=0.94,
        n_roundings=0,
        max_samples=200,
        tol=1e-4,
        max_iter=10000,
        random_state=None,
    ):
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

    def _fit_labels(self, kernel: np.ndarray) -> None:
        n = len(kernel)
        limit = min(
            max((1 - self.min_cluster_fraction) * n, n % 2), n - 2
        )  # an odd n has no halves, and no cluster may be empty
        solution = solve_mmc(kernel, self.C, limit, tol=self.tol, max_iter=self.max_iter)
        self._store(solution, limit, lambda signs: margin_value(kernel, np.outer(signs, signs).astype(float), self.C))

    def _svm_cost(self) -> float:
        return self.C


class GMMC(_SDPClusterer):
    r"""Generalised maximum margin clustering (GMMC).

    Seeks scores z, one a row, of least norm and beyond -1 or 1, whose signs are the labels [1]_,

    .. math::  \min_{z, b} \; (z + b e)' K^{-1} (z + b e) + C_e (e'z)^2 + C \sum_i \max(0,\; 1 - z_i^2),

    by replacing :math:`zz'` by a positive semidefinite matrix W. The dual has only n unknowns, which makes it much
    faster than `MMC`, and there is a bias b. Solved by an interior-point method of our own; no extra is needed.

    Parameters
    ----------
    n_clusters : int, default=2
        2, or 1 for the trivial answer. `CPM3C` finds more.

    C : float, default=100.0
        Price of a row between -1 and 1, for a kernel whose centred matrix is brought to mean diagonal one. The default
        is so high that no row is there; lower ones (0.1) leave rows undecided.

    C_e : float, default=1.0
        Weight of the balance, in the same units.

    kernel, gamma, kernel_params
        As for `MMC`.

    ridge : float, default=0.001
        Added to the diagonal of the kernel (of mean diagonal one), whose inverse the method needs. Equal rows make a
        kernel singular, and so does the linear kernel with fewer features than rows.

    n_roundings : int, default=0
        Random projections of W that are tried as labels beside its leading eigenvector (the paper's).

    max_samples : int, default=1000
        More rows than this are refused.

    tol : float, default=1e-6
        Relative duality gap at which to stop.

    max_iter : int, default=100
        Most iterations; 15 to 25 are usual.

    random_state : int, RandomState instance or None, default=None
        Determines the random projections.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), dtype int32
        Cluster of each row: the sign of the leading eigenvector of W, which spans the null space of the dual's slack
        matrix where that has one dimension. The first row is in cluster 0.

    objective_ : float
        Objective of ``labels_`` if all scores must be beyond -1 or 1, with the kernel in its own units.

    lower_bound_ : float
        Proven: no labeling has a lower objective.

    gap_, tightness_, history_, n_iter_, converged_
        As for `MMC`; ``history_`` has a record for every iteration.

    starved_ : bool
        Whether all signs were the same, so that the last row by score makes up the other cluster.

    n_clusters_, n_features_in_, feature_names_in_
        As for `MMC`.

    Notes
    -----
    Measured on one core: 100 rows 0.05 s, 357 rows 1.2 s, 771 rows 8 s, 1000 rows 21 s. Errors in percent on the first
    50 + 50 rows of the digits 3-8, 1-7, 2-7 and 8-9: 0, 1, 2, 8, and 1, 0, 0, 3 with ``n_roundings=100``; the figures
    in [2]_ for subsets of this size are 0, 0, 2, 7. On all rows of these digits 5.6, 0.3, 0.6, 10.5, and 1.7, 0.3, 0,
    10.7 with roundings; [2]_ has 4.2, 0, 0, 5.9.

    New rows are assigned by a support vector machine with C = 1 / ridge, fitted to the labels.

    References
    ----------
    .. [1] H. Valizadegan, R. Jin, "Generalized maximum margin clustering and unsupervised kernel learning", NIPS 2006.
    .. [2] K. Zhang, I. Tsang, J. Kwok, "Maximum margin clustering made practical", IEEE TNN 20(4), 2009.

    Examples
    --------
    >>> from widegap import GMMC
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> GMMC(kernel="linear").fit_predict(X)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    _objective = Objective("score norm", "lower", "of scores beyond -1 or 1; see lower_bound_ for the least possible")
    _parameter_constraints: dict = {
        **_SDPClusterer._parameter_constraints,
        "C_e": [Interval(Real, 0, None, closed="neither")],
        "ridge": [Interval(Real, 1e-9, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C=100.0,
        C_e=1.0,
        kernel="rbf",
        gamma="median",
        kernel_params=None,
        ridge=1e-3,
        n_roundings=0,
        max_samples=1000,
        tol=1e-6,
        max_iter=100,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.C_e = C_e
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.ridge = ridge
        self.n_roundings = n_roundings
        self.max_samples = max_samples
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit_labels(self, kernel: np.ndarray) -> None:
        B = score_norm(kernel, self.C_e, self.ridge)
        solution = solve_gmmc(B, self.C, tol=self.tol, max_iter=self.max_iter)
        inverse = np.linalg.inv(B)
        inverse = (inverse + inverse.T) / 2
        self._store(solution, len(kernel) - 2, lambda signs: score_value(inverse, signs))

    def _svm_cost(self) -> float:
        return 1 / self.ridge
