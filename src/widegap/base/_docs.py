"""Texts of parameters, attributes and references that docstrings of several estimators share, each written once.

``@shared_docs`` replaces a line ``<name>`` in the docstring of a class or method by the text, so that ``help`` shows
all of it. The name of a text is that of what it documents, or the one in brackets above it.
"""

import re
from textwrap import indent
from typing import TypeVar

Documented = TypeVar("Documented")

SHARED_TEXTS = r"""
n_clusters : int, default=2
    Number of clusters k.

[n_clusters, at most two]
n_clusters : int, default=2
    2, or 1 for the trivial answer. `CPM3C` finds more.

kernel : {"linear", "rbf", "poly", "cosine"} or callable, default="linear"
    Anything but "linear" clusters Nystrom features of the kernel. A callable takes two tables of rows and
    returns the matrix of kernel values.

gamma : {"median", "diameter"} or float, default="median"
    Coefficient of "rbf" and "poly". "median" is :math:`1 / (1.5 m)^2` with m the median distance of some rows,
    "diameter" :math:`1 / (4 D)^2` with D the largest distance of some.

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

size_min : None, int, float or sequence of n_clusters of them, default=None
    Least size of every cluster: a number of rows, a share of all rows as a float up to 1, or one for each cluster.
    With None ``min_cluster_fraction`` decides, which is ignored otherwise.

size_max : None, int, float or sequence of n_clusters of them, default=None
    Largest size of every cluster, in the same form; None means no bound. Bounds are met exactly; bounds that cannot be
    met raise an error.

memory : int, default=5000
    Most rows that the model remembers for ``update``: a weighted sample of every cluster, which is also written to
    model files unless they are saved without rows. 0 remembers none.

[changes_]
changes_, drift_ : list of Change, and Drift
    After ``update``: what became of every cluster, each with ``kind``, ``cluster``, ``share_before``, ``share_after``,
    ``p_value`` and ``text``; and the p-value that the new rows come from the source of those before, with the columns
    that speak most against it.

outliers : float or "auto", default=0
    Rows to leave out as outliers: a share of all, or, with "auto", the rows that lie far outside the bulk, by the
    distance to their nearest neighbours among the rows that are kept, repeated until nothing changes. They get label -1
    and have no influence; rows with known labels or links are kept, and bounds on sizes count the rows that are kept.
    Distances are between the rows of X, whatever the kernel and the weights. Above 10000 rows, outliers are found
    by comparison with a sample of that size. For a table in memory; not with starting labels.

checkpoint : path, default=None
    File that stores the sums of all passes over the rows. A fit with the same settings and rows continues where the
    last one was killed, and ends with the same labels; the file of another fit raises an error. ``random_state`` must
    be a number. The file is kept when the fit is done.

labels_out : path, default=None
    File, ending in ``.npy``, for the labels; ``labels_`` is then a read-only memmap of it. During the fit, labels and
    codes are stored in temporary files of the same folder instead of memory. Not for Dask collections, whose
    ``labels_`` are lazy.

annealing : bool, default=False
    Begin with a strong regulariser and halve it down to 1 / C, so that "linearize_first" depends less on its start.

loss : {"max", "sum"}, default="max"
    "max" is the formula above; "sum" adds up the hinges of all rivals, divided by k.

init : {"k-means", "random", "spectral"} or array-like of shape (n_samples,), default="k-means"
    Starting labels. "random" are the regions of random linear scores. An array starts the search on all rows;
    otherwise, above 5000 rows, the starts are compared on a sample of that size and the best continues on all rows.
    If there are more than 500 columns, the sample is reduced to its leading dimensions first.

n_init : "auto" or int, default="auto"
    Number of starts; k-means runs with the same result count once. The lowest objective wins among the searches
    in which no cluster fell to its minimum. "auto" is two k-means and two random starts for k = 2, and the best
    four by inertia of ten k-means runs for k = 3 or 4. For more clusters, where the objective hardly reflects
    quality, it is one search from the best of eight k-means runs.

tol : float, default=0.01
    A search ends when the gap between the objective for its labels and the lower bound is below ``tol`` times the
    objective, and new labels gain no more than that.

random_state : int, RandomState instance or None, default=None
    Determines the starts and the samples. The result does not depend on the number of threads.

n_jobs : int, default=None
    Threads that share a pass over the data. None uses as many as scikit-learn's own parallel loops; data that fit
    into one block of 4 MiB always use one.

verbose : int, default=0
    Above 0, logs every iteration to the logger "widegap" (to stderr if logging is not set up).

callback : callable, default=None
    Called with the record of every iteration; returning True stops the fit, which keeps its best result so far.

labels_ : ndarray of shape (n_samples,), dtype int32
    Cluster of each row: that of ``predict(X)``, except for rows moved by known labels, links or bounds on sizes.

classes_ : list of length n_clusters
    The known label of each cluster, None for a cluster without one. Known labels take the first clusters, sorted.

[rows to fit]
X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
    Rows to cluster; float32 and float64 are used as they are. ``widegap.rows.shards`` reads rows from files.
y : ignored
    Present by convention.

[rows to assign]
X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
    Rows to assign; they need not have been seen by ``fit``.

[labels_ alone]
labels_ : ndarray of shape (n_samples,), dtype int32
    Cluster of each row.

coef_ : ndarray of shape (n_clusters, n_features)
    Weight vectors; in the space of the kernel's features if there is a kernel.

intercept_ : ndarray of shape (n_clusters,)
    Constants of the scores ``coef_ @ x + intercept_``.

C_ : float
    The value of C used.

history_ : list of IterationRecord
    objective, gap, cuts, passes, flips, beta and seconds of every iteration of every start.

n_iter_ : int
    Iterations of the start that was kept, on the sample and on all rows.

converged_ : bool
    Whether that run met ``tol``.

starved_ : bool
    Whether a cluster fell to its minimum size, so that the bound and not the margin decides its members.

reject_beyond_ : float
    Rows farther from the mean of their cluster than this many times the median distance get -1 from
    ``predict(X, reject=True)``. Only after a fit with ``outliers``.

n_clusters_ : int
    Number of clusters.

kernel_map_ : KernelMap or None
    The feature map of the kernel.

n_features_in_ : int
    Number of features seen in fit.

feature_names_in_ : ndarray of shape (n_features,)
    Names of the features, if X was a frame with string column names.

[any fitted model]
model : estimator or pipeline
    Fitted estimator of this package, clusterer of scikit-learn, or pipeline that ends in one of them.

[names of clusters]
names : mapping, default=None
    Names of clusters by their labels; the others have the names that the report gives them.

[X, to name clusters]
X : {array-like, frame, sparse matrix} of shape (n_samples, n_features), or list of str, default=None
    The rows of the fit. With them, clusters are named by what sets them apart, as in the report.
names : mapping, default=None
    Names of clusters by their labels.

ax : matplotlib.axes.Axes, default=None
    Where to draw; None makes a new figure.

[parameters as for IterSVR]
kernel, gamma, kernel_params, n_components, min_cluster_fraction, init, n_init
    As for :class:`IterSVR`.
max_iter, random_state, n_jobs, verbose, callback
    As for :class:`IterSVR`.

[attributes as for IterSVR]
Attributes
----------
labels_, n_clusters_, coef_, intercept_, bisected_, objective_, history_, n_iter_
    As for :class:`IterSVR`.
converged_, cycled_, starved_, kernel_map_, n_features_in_, feature_names_in_
    As for :class:`IterSVR`.

[Zhang, Tsang, Kwok 2009]
.. [1] K. Zhang, I. W. Tsang, J. T. Kwok, "Maximum margin clustering made practical", IEEE Transactions on Neural
   Networks 20(4), 2009.
"""


def _named(text: str) -> tuple[str, str]:
    """The name of a text, and the text without it."""
    first, _, rest = text.partition("\n")
    return (first[1:-1], rest) if first.startswith("[") else (first.split()[0], text)


_TEXTS = dict(map(_named, SHARED_TEXTS.strip().split("\n\n")))


def shared_docs(documented: Documented) -> Documented:
    """Fill in the texts that the docstring of a class or function names."""
    text = documented.__doc__
    if text is not None:  # it is where Python leaves docstrings out
        documented.__doc__ = re.sub(r"^( *)<(.+)>$", lambda m: indent(_TEXTS[m[2]], m[1]), text, flags=re.MULTILINE)
    return documented
