"""CPM3C: cutting plane multiclass maximum margin clustering."""

from numbers import Real

from widegap._validation import Interval, StrOptions
from widegap.estimators._base import Objective
from widegap.estimators._cutting_plane_base import CuttingPlaneClusterer


class CPM3C(CuttingPlaneClusterer):
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
        **CuttingPlaneClusterer._parameter_constraints,
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }
    _objective = Objective(
        "hinge loss", "lower", "regularised clustering hinge; 1 would mean that nothing is separated"
    )
    _command = "cpm3c"
    _slow_remedy = "or lower C"

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
