"""Numbers that describe a fitted clustering: scores, margins, what sets clusters apart, where to draw rows.

Everything here works on estimators of this package, clusterers of scikit-learn and pipelines that end in one, on dense
and sparse rows, and leaves the estimator alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from widegap._types import Doubles, Floats, Indices, Ints, Matrix
from widegap.base._numbered_clusters import numbers_of, places_of
from widegap.base._validation import (
    check_labels,
    check_numbers,
    check_row_numbers,
    check_row_weights,
    digest_of,
    holds_numbers,
)
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._principal import PrincipalAxes
from widegap.rows._collections import is_collection
from widegap.rows._known_frames import frame_of_clusters, known_frame, library_of
from widegap.rows._matrices import cluster_means, column_moments, column_sums, sample_rows, without_gaps, zeros_for_gaps

__all__ = [
    "centers",
    "contrasts",
    "is_fitted_on",
    "labels",
    "last_step",
    "layout",
    "leads",
    "margin_bins",
    "margin_profile",
    "scores",
    "spread_sample",
    "unwrap",
]

HISTOGRAM_BINS = 30  # of margins, as bars of one chart of the report; not tuned
AXIS_ROWS = 2000  # rows whose principal axes serve as the second direction where there is one boundary only


def last_step(estimator: Any) -> Any:
    """The clusterer of a model: the last step of a pipeline, or the estimator itself.

    Parameters
    ----------
    estimator : estimator or pipeline

    Returns
    -------
    estimator
    """
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return estimator


def unwrap(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The clusterer of a model, and rows as it sees them: transformed by the steps before it, if it ends a pipeline.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted.
    X : rows or documents
        As the model takes them.

    Returns
    -------
    clusterer, rows
    """
    while hasattr(estimator, "steps"):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator.steps[-1][1]
    return estimator, X


def is_fitted_on(estimator: Any, X: Any) -> bool:
    """Whether these are the rows that an estimator was fitted on.

    Estimators of this package that were fitted on tables in memory or on documents remember a digest of them: of their
    number and of up to 1000, evenly spread. For other estimators only the number of rows is compared.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of str
        Rows, or documents.

    Returns
    -------
    bool
    """
    estimator, X = unwrap(estimator, X)
    digest = getattr(estimator, "_rows_digest", None)
    if digest is not None:
        return digest == digest_of(X)
    return hasattr(estimator, "labels_") and len(estimator.labels_) == _count(X)


def labels(estimator: Any, X: Any) -> Ints:
    """Clusters of rows: those found by the fit if these are its rows, and else those that ``predict`` gives.

    The two can differ on the rows of the fit, where bounds on sizes or neighbours decided.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted; a clusterer without ``predict``, such as DBSCAN, knows the rows of its fit only.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of str
        Rows, or documents.

    Returns
    -------
    ndarray of shape (n_samples,), dtype int
        -1 for rows without a cluster.
    """
    estimator, X = unwrap(estimator, X)
    name = type(estimator).__name__
    if hasattr(estimator, "predict"):
        # Of rows that a model does not remember, prediction is the safe answer.
        known = hasattr(estimator, "_rows_digest") and is_fitted_on(estimator, X)
        return np.asarray(estimator.labels_ if known else estimator.predict(X))
    if not hasattr(estimator, "labels_"):
        raise InvalidDataError(f"{name} has neither labels_ nor predict: fit it first, or pass a clusterer.")
    n = len(estimator.labels_)
    if n != _count(X):
        raise NotSupportedError(
            f"X has {_count(X)} rows, but {name} has no predict and knows only the {n} rows of its fit; pass these, or "
            "labels of your own."
        )
    return np.asarray(estimator.labels_)


def _count(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def scores(estimator: Any, X: Any) -> Floats | None:
    """Score of every row for every cluster.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_samples, n_clusters), or None
        For two clusters minus and plus half the decision value, so that the two differ by it. None for estimators
        without ``decision_function``.
    """
    estimator, X = unwrap(estimator, X)
    if not hasattr(estimator, "decision_function"):
        return None
    return score_of_each(estimator.decision_function(X))


def score_of_each(decision: npt.ArrayLike) -> Floats:
    """The scores of all clusters, two of them as well."""
    values: Doubles = np.asarray(decision, dtype=np.float64)
    return np.column_stack([-values / 2, values / 2]) if values.ndim == 1 else values


def leads(table: Floats | None, labels: npt.ArrayLike) -> Floats:
    """Lead of every row's own cluster over the best other one.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_clusters), or None
        Scores; None if the method has none.
    labels : array-like of shape (n_samples,)
        Clusters, -1 for rows without one.

    Returns
    -------
    ndarray of shape (n_samples,)
        Negative where another cluster scores higher; NaN for rows without a cluster, and if there is only one.
    """
    if table is None:
        return np.full(len(check_labels(labels)), np.nan)
    _check_two_axes(table, "table")
    own_cluster = check_labels(labels, len(table), table.shape[1])
    found = np.full(len(table), np.nan)
    rows = np.flatnonzero(own_cluster >= 0)
    if table.shape[1] < 2 or not len(rows):
        return found
    rivals = table[rows]  # a copy
    own = rivals[np.arange(len(rows)), own_cluster[rows]]
    rivals[np.arange(len(rows)), own_cluster[rows]] = -np.inf
    found[rows] = own - rivals.max(axis=1)
    return found


def contrasts(X: Matrix, labels: npt.ArrayLike, n_clusters: int) -> tuple[Floats, Floats, Floats]:
    """What sets each cluster apart from all other rows, column by column.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Rows; NaN in a dense table are gaps, which do not count.
    labels : array-like of shape (n_samples,)
        Clusters, -1 for rows without one; these count as other rows.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    differences, means, means_of_the_others : ndarrays of shape (n_clusters, n_features)
        The differences are in standard deviations of the column over all rows; 0 for constant columns, and
        for clusters that have no row or all of them. A mean of no values is NaN.
    """
    _check_two_axes(X, "X")
    clusters = check_labels(labels, X.shape[0], n_clusters)
    filled, present = without_gaps(X)
    counted = zeros_for_gaps(filled, present)
    sums, sizes = _cluster_sums(counted, present, clusters, n_clusters)
    counts = np.full(1, float(len(clusters)))
    deviations = column_moments(filled)[1]
    if present is not None:
        observed: Doubles = present.sum(axis=0, dtype=np.float64)
        deviations = deviations * np.sqrt(counts / np.maximum(observed, 1))  # filled cells do not vary
        counts = observed
    total = np.asarray(column_sums(counted), dtype=np.float64).reshape(1, -1)
    means, rest = cluster_means(sums, sizes), cluster_means(total - sums, counts - sizes)
    varying = (deviations > 0) & (sizes > 0) & (sizes < counts)  # otherwise there is nothing to compare
    differences = np.where(varying, (means - rest) / np.where(varying, deviations, 1.0), 0.0)
    return differences, means, rest


def _cluster_sums(
    X: Matrix, present: Floats | None, clusters: Ints, k: int, weights: Doubles | None = None
) -> tuple[Doubles, Doubles]:
    """Sums of every column over each cluster, and how many rows (or what weight) they are of.

    ``X`` has 0 in gaps and ``present`` is 0 there; without gaps it is None, and the numbers of rows are a column.
    """
    members: Doubles = np.zeros((len(clusters), k), dtype=X.dtype)
    rows = np.flatnonzero(clusters >= 0)
    members[rows, clusters[rows]] = 1 if weights is None else weights[rows]
    sums = np.asarray(X.T @ members, dtype=np.float64).T
    if present is None:
        return sums, members.sum(axis=0, dtype=np.float64)[:, None]
    return sums, np.asarray(present.T @ members, dtype=np.float64).T


def centers(estimator: Any, X: Any, *, table: Any = None, sample_weight: npt.ArrayLike | None = None) -> Any:
    """Averages of each cluster in the user's units: means of numbers and dates, shares of categories.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted. If a :class:`TableEncoder` is the first step of a pipeline, the columns are those that it uses.
    X : {frame, array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, as the model takes them. Their clusters are ``labels(estimator, X)``; rows without one do not count.
    table : {frame, array-like, sparse matrix} with the rows of X, default=None
        What is averaged instead of X: the table from which a kernel matrix or embeddings were made.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; None weighs all alike.

    Returns
    -------
    pandas.DataFrame, or dict of str to ndarray where pandas is not installed
        One row per cluster, by its number, and a column for each number, date and level of a category
        (``city = Bonn``); that of a level is the share of the cluster's rows that have it. Gaps do not count in means,
        and have no level. NaN for a cluster without rows. A frame of numbers keeps all its columns; a frame with text
        loses those that tell nothing about groups, such as ids and free texts. Where the averaged rows are a
        frame of polars, so is the result, with the cluster as its first column.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from widegap import MaxMarginClustering, TableEncoder, describe
    >>> frame = pd.DataFrame({"age": [21, 23, 22, 64, 66, 65], "city": ["Bonn", "Bonn", "Bonn", "Ulm", "Ulm", "Ulm"]})
    >>> model = make_pipeline(TableEncoder(), MaxMarginClustering(2, random_state=0)).fit(frame)
    >>> sorted(describe.centers(model, frame)["age"].tolist())
    [22.0, 65.0]
    """
    if is_collection(X) or is_collection(table):
        raise NotSupportedError("centers reads rows in memory; pass a sample of the collection, or X.compute().")
    X, table = known_frame(X), known_frame(table)
    clusterer = last_step(estimator)
    if table is None and getattr(clusterer, "_precomputed", False):
        raise InvalidDataError("X is a kernel matrix, whose columns are rows; pass what to average as table=...")
    clusters = labels(estimator, X)
    found = _user_columns(estimator, X, table)
    check_labels(clusters, found.values.shape[0])
    numbers = np.sort(numbers_of(clusterer, clusters))
    clusters, k = places_of(numbers, clusters), len(numbers)
    weights = None if sample_weight is None else check_row_weights(sample_weight, len(clusters))
    filled, present = without_gaps(found.values)
    means = cluster_means(*_cluster_sums(zeros_for_gaps(filled, present), present, clusters, k, weights))
    shown = {name: found.shown(j, means[:, j]) for j, name in enumerate(found.names)}
    return frame_of_clusters(shown, numbers, library_of(X if table is None else table))


@dataclass(frozen=True)
class _PlainColumns:
    """Columns of numbers that are shown as they are."""

    names: list[str]
    values: Any

    def shown(self, j: int, numbers: Doubles) -> Doubles:
        return numbers


def _user_columns(estimator: Any, X: Any, table: Any) -> Any:
    """The columns to average: of a table with words as an encoder reads it, else as they are."""
    first = estimator.steps[0][1] if hasattr(estimator, "steps") else None
    rows, is_encoder = X if table is None else table, table is None and hasattr(first, "readable")
    names = getattr(rows, "column_names", getattr(rows, "columns", None))
    if is_encoder or (names is not None and not holds_numbers(rows)):
        # Arrow is needed for tables alone.
        return import_module("widegap.tables._readable_columns").readable_columns(rows, first if is_encoder else None)
    values = check_numbers(rows, ensure_all_finite="allow-nan")
    return _PlainColumns([f"x{j}" for j in range(values.shape[1])] if names is None else list(map(str, names)), values)


def margin_bins(margins: npt.ArrayLike) -> list[float]:
    """Edges of a histogram that shows all but the farthest margins, and zero; empty if there are none.

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        Margins; those that are not finite do not count.

    Returns
    -------
    list of float
    """
    finite = _finite(margins)
    if not len(finite):
        return []
    low, high = np.quantile(finite, [0.005, 0.995])
    if not low < high:
        low, high = low - 0.5, high + 0.5
    edges: list[float] = np.linspace(min(float(low), 0.0), max(float(high), 0.0), HISTOGRAM_BINS + 1).tolist()
    return edges


def _finite(margins: npt.ArrayLike) -> Doubles:
    """The margins that are finite."""
    values: npt.NDArray[np.generic] = np.asarray(margins)
    if values.dtype.kind == "c":
        raise InvalidDataError("margins are complex numbers; pass real ones.")
    found = values.astype(np.float64)
    return found[np.isfinite(found)]


def margin_profile(margins: npt.ArrayLike, edges: Sequence[float]) -> dict[str, Any] | None:
    """Median, 5 % and 95 % quantile of the finite margins, how many are negative, and their histogram.

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        Margins.
    edges : list of float
        From ``margin_bins``; margins beyond the ends count in the last bins.

    Returns
    -------
    dict with median, low, high, negative and counts; None if there is nothing to count
    """
    finite = _finite(margins)
    borders: Doubles = np.asarray(edges)
    if borders.ndim != 1 or borders.dtype.kind not in "biuf":
        raise InvalidDataError(f"edges={edges!r:.40} must be a list of numbers in rising order; margin_bins makes one.")
    if not len(finite) or not len(borders):
        return None
    low, median, high = np.quantile(finite, [0.05, 0.5, 0.95]).tolist()
    counts = np.histogram(np.clip(finite, borders[0], borders[-1]), borders)[0].tolist()
    return {
        "median": median,
        "low": low,
        "high": high,
        "negative": int(np.count_nonzero(finite < 0)),
        "counts": counts,
    }


def spread_sample(labels: npt.ArrayLike, size: int, seed: int = 0) -> Indices:
    """Numbers of at most ``size`` rows in which every cluster has its share, and small ones some more.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Clusters.
    size : int
        Most rows.
    seed : int, default=0
        Determines the draw.

    Returns
    -------
    ndarray of int, ascending
        All rows if there are no more than ``size``.
    """
    clusters: Ints = check_labels(labels)
    if not isinstance(size, Integral) or size < 0:
        raise InvalidDataError(f"size={size!r} is not a number of rows; pass an integer of at least 0.")
    if len(clusters) <= size:
        return np.arange(len(clusters))
    rng = np.random.default_rng(seed)
    kinds, counts = np.unique(clusters, return_counts=True)
    least = np.minimum(counts, size // (4 * len(kinds)))
    quota = least + ((counts - least) * ((size - least.sum()) / max(1, (counts - least).sum()))).astype(int)
    chosen = [
        rng.choice(np.flatnonzero(clusters == kind), n, replace=False) for kind, n in zip(kinds, quota, strict=True)
    ]
    return np.sort(np.concatenate(chosen))


def layout(X: Any, table: Floats | None, rows: npt.ArrayLike, seed: int = 0) -> Floats:
    """Two coordinates of some rows, along the margin directions where there are any.

    With three clusters or more the clusters are the corners of a regular polygon, neighbours those whose scores are
    most alike, and a row is drawn to every corner in proportion to its score there. With three clusters nothing is
    lost that way. With two clusters the first is the decision value, and the second what the leading principal axes of
    the rows add to it. Without scores both are principal axes.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Rows.
    table : ndarray of shape (n_samples, n_clusters) or None
        Their scores.
    rows : array of int
        Numbers of the rows to place.
    seed : int, default=0
        Determines the rows that principal axes are taken from.

    Returns
    -------
    ndarray of shape (len(rows), 2)
    """
    for name, rows_of in (("X", X), ("table", table)):
        if rows_of is not None or (X is None and table is None):
            _check_two_axes(rows_of, name)
    chosen: Ints = check_row_numbers(rows, X.shape[0] if table is None else len(table))
    if table is not None and X is not None and len(table) != X.shape[0]:
        raise InvalidDataError(f"table has {len(table)} rows, X has {X.shape[0]}; pass the scores of the rows of X.")
    if table is not None and table.shape[1] > 2:
        return table[chosen] @ _corners(table)
    coordinates = _principal(X, chosen, seed)
    if table is None or table.shape[1] < 2:
        return coordinates
    lead = table[chosen, 1] - table[chosen, 0]
    design = np.column_stack([np.ones(len(lead)), lead])
    residual = coordinates - design @ np.linalg.lstsq(design, coordinates, rcond=None)[0]
    return np.column_stack([lead, residual[:, residual.var(axis=0).argmax()]])


def _principal(X: Matrix, rows: Ints, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    found = np.zeros((len(rows), 2))
    try:
        coordinates = PrincipalAxes(sample_rows(X, AXIS_ROWS, rng), 2, seed).coordinates(X[rows])
    except InvalidDataError:  # all rows are equal: they share one place
        return found
    found[:, : coordinates.shape[1]] = coordinates
    return found


def _corners(table: Floats) -> Floats:
    """Corners of a regular polygon, one a cluster, in the order of the clusters around the middle of their scores."""
    k = table.shape[1]
    best = table.argmax(axis=1)
    means = np.array([table[best == p].mean(axis=0) if (best == p).any() else np.zeros(k) for p in range(k)])
    centred = means - means.mean(axis=0)
    place = centred @ np.linalg.svd(centred)[2][:2].T
    rank = np.argsort(np.argsort(np.arctan2(place[:, 1], place[:, 0]), kind="stable"), kind="stable")
    angles = 2 * np.pi * (rank - rank[0]) / k + np.pi / 2  # cluster 0 on top, whatever the sign of the axes
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _check_two_axes(X: Any, name: str) -> None:
    if len(getattr(X, "shape", ())) != 2:
        raise InvalidDataError(f"{name} has shape {np.shape(X)}; pass an array with a row for each sample.")
    if getattr(X, "dtype", np.dtype(float)).kind not in "biuf":
        raise InvalidDataError(f"{name} holds values of type {X.dtype}; pass an array of numbers.")
