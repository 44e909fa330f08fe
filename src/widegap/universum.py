"""Ways to make a universum, rows that belong to no cluster, for :class:`widegap.M2DCU`.

``rest`` takes rows of other classes, ``random`` draws rows uniformly and ``means`` merges cluster centres; ``select``
keeps the rows that are closest to the data, ``boundary`` those nearest to the boundaries of a first clustering. All
give the same rows for the same ``random_state``.
"""

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_consistent_length

from widegap._types import Doubles, Floats, Indices, Matrix
from widegap.base._validation import check_cluster_number, check_generator, check_numbers
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._principal import PrincipalAxes
from widegap.rows._matrices import column_ranges, storage
from widegap.rows._threads import one_blas_thread

__all__ = ["boundary", "means", "random", "rest", "select"]

MIXTURE_ROWS = 5  # rows of X that a full covariance needs for each of its dimensions and components
MAX_COUNT = 10_000_000  # rows of a universum; a mistyped number is refused before memory runs out
MAX_DIMENSIONS = 50  # of a full covariance: 1275 numbers a component. Not tuned


def rest(X: Any, y: npt.ArrayLike, keep: Sequence[Any]) -> Matrix:
    """Rows of all classes but those that are to be clustered.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows of all classes.
    y : array-like of shape (n_samples,)
        Class of each row.
    keep : sequence of labels
        Classes to be clustered, each present in y.

    Returns
    -------
    ndarray or CSR matrix of shape (n_universum, n_features)
        The rows of the other classes, in their order.

    Examples
    --------
    >>> from widegap import universum
    >>> X = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    >>> universum.rest(X, ["cats", "dogs", "cars"], keep=["cats", "dogs"])
    array([[4., 5.]])
    """
    rows = _check_table(X, "X")
    labels: npt.NDArray[np.generic] = np.asarray(y)
    check_consistent_length(rows, labels)
    classes = np.unique(labels)
    if np.ndim(keep) != 1:
        raise InvalidDataError(f"keep={keep!r} is not a list of classes; pass one, such as [{keep!r}].")
    unknown = [label for label in keep if label not in classes]
    if unknown:
        raise InvalidDataError(f"keep holds {unknown}, which are not in y; choose among the classes {_few(classes)}.")
    left = np.flatnonzero(~np.isin(labels, list(keep)))
    if not len(left):
        raise InvalidDataError(
            f"keep holds all {len(classes)} classes of y, so that no row is left for a universum; leave out a class."
        )
    return rows[left]


def random(X: Any, n: int, random_state: Any = None) -> Floats:
    """Rows drawn uniformly between the least and the largest value of every column of X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to be clustered. Sparse ones are refused: reduce them first, for example with ``TruncatedSVD``.
    n : int
        Number of rows to draw.
    random_state : int, RandomState instance or None, default=None
        Determines the draw.

    Returns
    -------
    ndarray of shape (n, n_features)
        In the dtype of X.

    Examples
    --------
    >>> from widegap import universum
    >>> U = universum.random([[0.0, -1.0], [1.0, 1.0]], n=5, random_state=0)
    >>> U.shape, bool((U[:, 0] >= 0).all())
    ((5, 2), True)
    """
    rows = _check_table(X, "X")
    _check_count("n", n, 1)
    if storage(rows) == "sparse":
        raise NotSupportedError(
            f"X is a sparse matrix of {rows.shape[1]} columns; rows drawn between their least and largest values would "
            "be dense and far from all rows of X. Reduce first, for example with TruncatedSVD, then draw."
        )
    low, high = column_ranges(rows)
    draws = check_generator(random_state).random((n, rows.shape[1]))
    return (low + draws * (high - low)).astype(rows.dtype)


def means(X: Any, n_clusters: int, *, n_init: int = 10, random_state: Any = None) -> Floats:
    """Midpoints of every two centres of k-means: rows that lie between two clusters.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to be clustered.
    n_clusters : int
        Number k of clusters, at least 2.
    n_init : int, default=10
        Runs of k-means; the best is used.
    random_state : int, RandomState instance or None, default=None
        Determines the runs.

    Returns
    -------
    ndarray of shape (k * (k - 1) / 2, n_features)
        In the order (0, 1), (0, 2), ..., (1, 2), ... of the centres.

    Examples
    --------
    >>> from widegap import universum
    >>> universum.means([[0.0], [0.2], [4.0], [4.2]], n_clusters=2, random_state=0)
    array([[2.1]])
    """
    rows = _check_table(X, "X")
    _check_count("n_clusters", n_clusters, 2)
    check_cluster_number(rows.shape[0], n_clusters)
    with one_blas_thread():
        centres: Floats = KMeans(n_clusters, n_init=n_init, random_state=_seed(random_state)).fit(rows).cluster_centers_
    first, second = np.triu_indices(n_clusters, 1)
    return (centres[first] + centres[second]) / 2


def select(U: Any, X: Any, n_clusters: int, fraction: float = 0.1, *, random_state: Any = None) -> Matrix:
    """The part of a universum that is closest to the data, by a Gaussian mixture fitted to the data.

    Parameters
    ----------
    U : {array-like, sparse matrix} of shape (n_universum, n_features)
        Universum to choose from.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to be clustered.
    n_clusters : int
        Number k of components of the mixture.
    fraction : float, default=0.1
        Part of the rows of U to keep, above 0 and at most 1, rounded up.
    random_state : int, RandomState instance or None, default=None
        Determines the mixture.

    Returns
    -------
    ndarray or CSR matrix of shape (ceil(fraction * n_universum), n_features)
        The likeliest rows of U, in their order; equally likely ones in the order of U.

    Notes
    -----
    The components have full covariances, which need 5 rows of X for each dimension and component. With fewer rows, or
    more than 50 columns, the mixture is fitted to as many leading principal components of X as the rows allow, and
    ignores what U has outside of them. Sparse rows are not densified.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from widegap import universum
    >>> X, _ = make_blobs(100, centers=[[0, 0], [4, 4]], random_state=0)
    >>> universum.select([[0.5, 0.5], [90, 90], [3, 4], [-50, 7]], X, n_clusters=2, fraction=0.5, random_state=0)
    array([[0.5, 0.5],
           [3. , 4. ]])
    """
    choice, rows = _check_table(U, "U"), _check_table(X, "X", least=2)
    if choice.shape[1] != rows.shape[1]:
        raise InvalidDataError(
            f"U has {choice.shape[1]} columns, X has {rows.shape[1]}; both need the same ones: pass both through the "
            "same transformation."
        )
    _check_count("n_clusters", n_clusters, 1)
    check_cluster_number(rows.shape[0], n_clusters)
    _check_fraction(fraction)
    return choice[_first(-_log_likelihoods(choice, rows, n_clusters, _seed(random_state)), fraction)]


def boundary(U: Any, clusterer: Any, fraction: float = 0.3) -> Matrix:
    """The part of a universum that lies nearest to the boundaries of a fitted clusterer.

    Parameters
    ----------
    U : {array-like, sparse matrix} of shape (n_universum, n_features)
        Universum to choose from.
    clusterer : estimator
        Fitted, with ``decision_function``: M2DCU with ``C_universum=0``, CPM3C, or another one of this package.
    fraction : float, default=0.3
        Part of the rows of U to keep, above 0 and at most 1, rounded up.

    Returns
    -------
    ndarray or CSR matrix of shape (ceil(fraction * n_universum), n_features)
        The rows of U whose two best scores differ least, in their order.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from widegap import CPM3C, universum
    >>> X, _ = make_blobs(100, centers=[[0, 0], [4, 4]], random_state=0)
    >>> model = CPM3C(2, random_state=0).fit(X)
    >>> universum.boundary([[-0.5, -0.5], [9, 9], [2, 2], [1.5, 2.5]], model, fraction=0.5)
    array([[2. , 2. ],
           [1.5, 2.5]])
    """
    choice = _check_table(U, "U")
    _check_fraction(fraction)
    if not hasattr(clusterer, "decision_function"):
        raise InvalidDataError(
            f"clusterer is {clusterer!r:.60}, which has no decision_function; pass a fitted CPM3C, M2DCU or the like."
        )
    scores: Floats = clusterer.decision_function(choice)
    if scores.ndim == 1:
        leads = np.abs(scores)
    elif scores.shape[1] < 2:
        raise InvalidDataError("clusterer has one cluster, and so no boundary; fit it with two clusters or more.")
    else:
        ordered = np.sort(scores, axis=1)
        leads = ordered[:, -1] - ordered[:, -2]
    return choice[_first(leads, fraction)]


def _check_fraction(fraction: float) -> None:
    if not isinstance(fraction, Real) or not 0 < fraction <= 1:
        raise ValueError(f"fraction={fraction!r} of the universum cannot be kept; it must be above 0 and at most 1.")


def _first(values: Floats, fraction: float) -> Indices:
    """Places of the smallest values, ascending."""
    n_kept = int(np.ceil(fraction * len(values)))
    return np.sort(np.argsort(values, kind="stable")[:n_kept])


def _log_likelihoods(U: Matrix, X: Matrix, n_clusters: int, seed: int) -> Doubles:
    """Log-likelihood of every row of U under a mixture fitted to the principal coordinates of X."""
    n, d = X.shape
    size = max(1, min(d, MAX_DIMENSIONS, n // (MIXTURE_ROWS * n_clusters)))
    axes = PrincipalAxes(X, size, seed)
    mixture = GaussianMixture(n_clusters, random_state=seed)
    with one_blas_thread(), warnings.catch_warnings():
        # The order of the rows does not wait for the last digits of the mixture.
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(axes.coordinates(X))
    found: Doubles = mixture.score_samples(axes.coordinates(U))
    return found


def _check_table(X: Any, name: str, least: int = 1) -> Matrix:
    """Rows as an array or a CSR matrix of finite numbers."""
    table: Matrix = check_numbers(X, ensure_min_samples=least, input_name=name)
    return table


def _check_count(name: str, value: int, least: int) -> None:
    if not isinstance(value, Integral) or not least <= value <= MAX_COUNT:
        raise ValueError(f"{name}={value!r} is out of range; it must be an integer from {least} to {MAX_COUNT:,}.")


def _seed(random_state: Any) -> int:
    return int(check_generator(random_state).integers(2**31))


def _few(values: npt.NDArray[np.generic]) -> str:
    """The values as text, the first ten if there are more."""
    shown = ", ".join(map(str, values[:10].tolist()))
    return f"{shown}, ..." if len(values) > 10 else shown
