"""GMMC: generalised maximum margin clustering."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from widegap.base._clusterer import Objective
from widegap.base._docs import shared_docs
from widegap.base._validation import Interval
from widegap.sdp._gmmc_relaxation import score_norm, score_value, solve_gmmc
from widegap.sdp._semidefinite_clusterer import Relaxation, SDPClusterer

__all__ = ["GMMC"]


@shared_docs
class GMMC(SDPClusterer):
    r"""Generalised maximum margin clustering (GMMC).

    Seeks scores z, one a row, of least norm and beyond -1 or 1, whose signs are the labels [1]_,

    .. math::  \min_{z, b} \; (z + b e)' K^{-1} (z + b e) + C_e (e'z)^2 + C \sum_i \max(0,\; 1 - z_i^2),

    by replacing :math:`zz'` by a positive semidefinite matrix W. The dual has only n unknowns, which makes it much
    faster than `MMC`, and there is a bias b. Solved by an interior-point method of our own; no extra is needed.

    Parameters
    ----------
    <n_clusters, at most two>

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

    n_clusters_, kernel_map_, coef_, intercept_, n_features_in_, feature_names_in_
        As for `MMC`.

    Notes
    -----
    There is no ``sample_weight``: the program holds a matrix of all rows, at most a thousand. Repeat rows instead.

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
        **SDPClusterer._parameter_constraints,
        "C_e": [Interval(Real, 0, None, closed="neither")],
        "ridge": [Interval(Real, 1e-9, 1e6, closed="both")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        C: float = 100.0,
        C_e: float = 1.0,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: str | float = "median",
        kernel_params: dict[str, Any] | None = None,
        ridge: float = 1e-3,
        n_roundings: int = 0,
        max_samples: int = 1000,
        tol: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
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

    def _relax(self, kernel: np.ndarray) -> Relaxation:
        B = score_norm(kernel, self.C_e, self.ridge)
        solution = solve_gmmc(B, self.C, tol=self.tol, max_iter=self.max_iter)
        inverse = np.linalg.inv(B)
        inverse = (inverse + inverse.T) / 2
        return Relaxation(solution, len(kernel) - 2, lambda signs: score_value(inverse, signs))

    def _svm_cost(self) -> float:
        return 1 / self.ridge
