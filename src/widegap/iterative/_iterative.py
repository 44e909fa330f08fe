"""IterSVM, IterSVR and IterLSSVM: maximum margin clustering by turns of regression and relabelling."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from widegap._types import Doubles, Floats
from widegap.base._docs import shared_docs
from widegap.base._validation import Interval
from widegap.iterative._alternation import Axes, solve_least_squares
from widegap.iterative._iterative_clusterer import IterativeClusterer, TurnRecord
from widegap.iterative._svm import Machine, WarmStart, classification_hinges, regression_hinges, solve_svm
from widegap.iterative._threshold import absolute_losses, hinge_losses, square_losses

__all__ = ["IterLSSVM", "IterSVM", "IterSVR", "TurnRecord"]

RIDGE_MOVED = 0.03  # a start from the ridge regression counts as this share of moved targets: fewest steps


@shared_docs
class IterSVR(IterativeClusterer):
    r"""Iterative support vector regression (IterSVR): two clusters by turns of regression and relabelling.

    Finds labels :math:`y \in \{-1, 1\}^n` and a function :math:`f(x) = w^\top \phi(x) + b` that minimise [1]_

    .. math::  \frac12 \|w\|^2 + C \sum_i \max(0,\; |f(x_i) - y_i| - \epsilon).

    Labels and regression take turns: with the labels fixed w and b solve a convex problem, with w fixed the best labels
    and bias under a bound on the cluster sizes come from sorting the values, in O(n log n). The loss also
    punishes values far beyond the margin, so that labels near the boundary are free to move, which they are not under
    the hinge of :class:`IterSVM`.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters. More than two come from bisecting the largest cluster again and again, within the same
        features.

    C : float, default=500.0
        Weight of the loss against the regulariser, as in a support vector regression.

    epsilon : float, default=0.05
        Errors up to this size cost nothing, as in a support vector regression. Must be small, or labels stay.

    kernel : {"rbf", "linear", "poly", "cosine"} or callable, default="rbf"
        The Gaussian is :math:`\exp(-\gamma \|x - x'\|^2)`. A callable takes two tables of rows and returns the
        matrix of kernel values.

    gamma : {"diameter", "median"} or float, default="diameter"
        Coefficient of "rbf" and "poly". "diameter" is :math:`1 / (4 D)^2` with D the largest distance (among at most
        2000 rows), "median" :math:`1 / (1.5 m)^2` with m the median distance of some rows. The paper's :math:`\sigma`
        is :math:`1 / \sqrt\gamma`, chosen there with labels; below 2 D labels mostly stay as they started where
        there are many columns.

    <kernel_params>

    n_components : "auto" or int, default="auto"
        Landmarks of the kernel's feature map; the map is exact if there are as many as rows. "auto" is exact up to
        2000 rows, which takes an n x n matrix for a while, and 300 landmarks above. Memory: n * n_components numbers.

    min_cluster_fraction : float, default=0.94
        Every bisection gives a side that will be s of m clusters at least this share of the s/m of its rows that equal
        clusters would have, to the nearest whole number: of two clusters each has at least
        ``min_cluster_fraction`` n / 2 rows. Equal rows are divided, in their order, if that cannot be met otherwise.
        The paper takes 0.94 for balanced data and 0.7 for unbalanced; 0 sets no bound.

    init : {"auto", "k-means", "random", "spectral"} or array-like of shape (n_samples,), default="auto"
        Starting labels. "k-means" is the paper's: it begins with the two rows that are farthest apart, its further
        starts with a random row and the row farthest from it. "auto" compares it with other k-means runs and with
        halves along the leading axes, by the objective of a least-squares search from each. "random" is a random
        hyperplane through the median. All use the kernel's features. If ``init`` has more than two labels, 0 to
        n_clusters - 1, every bisection merges those it meets into two, by 2-means of their means.

    n_init : int, default=1
        Number of starts; the lowest objective wins.

    max_iter : int, default=100
        Most turns of one start.

    random_state : int, RandomState instance or None, default=None
        Determines starts, landmarks and samples.

    n_jobs : int, default=None
        Threads that compute the kernel's features. None uses as many as scikit-learn's own parallel loops.

    verbose : int, default=0
        Above 0, logs every turn to the logger "widegap" (to stderr if logging is not set up).

    callback : callable, default=None
        Called with the record of every turn; returning True stops the fit, which keeps that turn's labels.

    Attributes
    ----------
    <labels_ alone>

    n_clusters_ : int
        Number of clusters; fewer than asked for only if the callback stopped the bisections.

    coef_ : ndarray of shape (n_clusters - 1, n_components)
        Weights of every bisection over the kernel's features, or over the columns of X for the linear kernel.

    intercept_ : ndarray of shape (n_clusters - 1,)
        Constants of the decision values.

    bisected_ : ndarray of shape (n_clusters - 1,), dtype int32
        Which cluster each bisection split. Its negative side kept the number, the positive side of bisection j
        became cluster j + 1.

    objective_ : float
        Objective of the regression that gave the labels, summed over bisections.

    history_ : list of TurnRecord
        objective, flips, n_positive, bound_active, seconds and a histogram of :math:`y_i f(x_i)` for every turn.

    n_iter_ : int
        Turns of the start that was kept, summed over bisections.

    converged_ : bool
        Whether every bisection ended in labels that reproduce themselves, or in a cycle of labelings.

    cycled_ : bool
        Whether one ended in a cycle; then its member of least objective was kept.

    starved_ : bool
        Whether ``min_cluster_fraction`` and not the loss decided a threshold.

    <kernel_map_>

    <n_features_in_>

    <feature_names_in_>

    Notes
    -----
    There is no ``sample_weight``: the methods are as published, and their bound on sizes, along the sorted scores,
    counts rows. `CPM3C` takes weights.

    The regression is solved by an interior point method on the features, about 10 steps of n r^2 operations for r
    components, to a relative duality gap of 1e-4.

    References
    ----------
    <Zhang, Tsang, Kwok 2009>

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widegap import IterSVR
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = IterSVR(random_state=0).fit(X)
    >>> int((model.labels_ == y).sum()) in (0, len(y))
    True
    """

    _parameter_constraints: dict = {
        **IterativeClusterer._parameter_constraints,
        "epsilon": [Interval(Real, 0, 1, closed="left")],
    }
    _command = "iter-svr"
    _cut_losses = staticmethod(absolute_losses)

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        C: float = 500.0,
        epsilon: float = 0.05,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: str | float = "diameter",
        kernel_params: dict[str, Any] | None = None,
        n_components: str | int = "auto",
        min_cluster_fraction: float = 0.94,
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[TurnRecord], Any] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.min_cluster_fraction = min_cluster_fraction
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _fit_machine(self, axes: Axes, y: Doubles, warm: WarmStart | None) -> Machine:
        warm = warm or WarmStart(solve_least_squares(axes, y, self.C), RIDGE_MOVED)
        return solve_svm(axes.P, regression_hinges(y, self.epsilon), self.C, warm)

    def _losses(self, margins: Floats) -> Floats:
        return np.maximum(0.0, np.abs(margins - 1) - self.epsilon)


@shared_docs
class IterLSSVM(IterativeClusterer):
    r"""Iterative least squares support vector machine (IterLSSVM): turns of ridge regression and relabelling.

    Finds labels :math:`y \in \{-1, 1\}^n` and a function :math:`f(x) = w^\top \phi(x) + b` that minimise [1]_

    .. math::  \frac12 \|w\|^2 + \frac{C}{2} \sum_i (f(x_i) - y_i)^2.

    Labels and regression take turns: with the labels fixed w and b solve a convex problem, with w fixed the best labels
    and bias under a bound on the cluster sizes come from sorting the values, in O(n log n). The features are
    decomposed once; after that a turn costs n r operations for r components.

    Parameters
    ----------
    <n_clusters>

    C : float, default=100.0
        Weight of the loss against the regulariser, as in a least squares support vector machine.

    <parameters as for IterSVR>

    <attributes as for IterSVR>

    References
    ----------
    <Zhang, Tsang, Kwok 2009>

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widegap import IterLSSVM
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = IterLSSVM(random_state=0).fit(X)
    >>> int((model.labels_ == y).sum()) in (0, len(y))
    True
    """

    _command = "iter-lssvm"
    _cut_losses = staticmethod(square_losses)

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        C: float = 100.0,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: str | float = "diameter",
        kernel_params: dict[str, Any] | None = None,
        n_components: str | int = "auto",
        min_cluster_fraction: float = 0.94,
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[TurnRecord], Any] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.min_cluster_fraction = min_cluster_fraction
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _fit_machine(self, axes: Axes, y: Doubles, warm: WarmStart | None) -> Machine:
        return solve_least_squares(axes, y, self.C)

    def _losses(self, margins: Floats) -> Floats:
        return np.square(margins - 1) / 2


@shared_docs
class IterSVM(IterativeClusterer):
    r"""Iterative support vector machine (IterSVM): turns of classification and relabelling.

    Finds labels :math:`y \in \{-1, 1\}^n` and a function :math:`f(x) = w^\top \phi(x) + b` that minimise [1]_

    .. math::  \frac12 \|w\|^2 + C \sum_i \max(0,\; 1 - y_i f(x_i)).

    Labels and regression take turns: with the labels fixed w and b solve a convex problem, with w fixed the best labels
    and bias under a bound on the cluster sizes come from sorting the values, in O(n log n). This is the
    method the paper argues against: the hinge leaves rows far beyond the margin, so that it costs much to flip them and
    the search stays near its start. It is here for comparison; use :class:`IterSVR` or :class:`IterLSSVM`.

    How early it stops depends on the kernel. Two overlapping normal groups, 20 random starts, paper's C: with the
    linear kernel it flipped fewer labels than IterSVR in all 20 (median 4 against 103), with ``gamma="median"`` in 17
    (20 against 31), with the default, wide Gaussian in 9 (106 against 70): there it does not stop early.

    Parameters
    ----------
    <n_clusters>

    C : float, default=10.0
        Weight of the loss against the regulariser, as in a support vector machine.

    <parameters as for IterSVR>

    <attributes as for IterSVR>

    References
    ----------
    <Zhang, Tsang, Kwok 2009>

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from widegap import IterSVM
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = IterSVM(random_state=0).fit(X)
    >>> int((model.labels_ == y).sum()) in (0, len(y))
    True
    """

    _command = "iter-svm"
    _cut_losses = staticmethod(hinge_losses)

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        C: float = 10.0,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: str | float = "diameter",
        kernel_params: dict[str, Any] | None = None,
        n_components: str | int = "auto",
        min_cluster_fraction: float = 0.94,
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[TurnRecord], Any] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.min_cluster_fraction = min_cluster_fraction
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _fit_machine(self, axes: Axes, y: Doubles, warm: WarmStart | None) -> Machine:
        return solve_svm(axes.P, classification_hinges(y), self.C, warm)

    def _losses(self, margins: Floats) -> Floats:
        return np.maximum(0.0, 1 - margins)
