"""The dict of a report, made from a model and its rows in one call."""

from collections.abc import Mapping, Sequence
from typing import Any

from widegap.report._notebook import Summary
from widegap.results import PlainRows, Result
from widegap.results._summary import MAP_POINTS


def summarize(
    estimator: Any,
    X: Any,
    *,
    labels: Any = None,
    feature_names: Sequence[str] | None = None,
    values: Any = None,
    frame: Any = None,
    items: Sequence[Any] | None = None,
    ids: Sequence[Any] | None = None,
    names: Mapping[Any, str] | None = None,
    title: str = "Clusters",
    notes: Sequence[str] = (),
    max_points: int = MAP_POINTS,
) -> dict[str, Any]:
    """Describe a fitted clustering as a dict that JSON can hold.

    Parameters
    ----------
    estimator : estimator or pipeline
        Fitted estimator of this package, clusterer of scikit-learn, or pipeline that ends in one of them.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of str
        Rows to report on, not necessarily those that were fitted; documents for a ``DocumentClustering``. For a
        pipeline whatever its first step takes.
    labels : array-like of shape (n_samples,), default=None
        Their clusters. None takes what :func:`widegap.describe.labels` says: ``labels_`` if these are the rows of the
        fit, and ``predict(X)`` otherwise.
    feature_names : sequence of str, default=None
        Names of the columns; None takes ``feature_names_in_`` or numbers. Columns of 0 and 1 named "city = Paris" are
        shown as the shares of one column "city".
    values : {array-like, sparse matrix}, default=None
        The same rows in the units in which to show them, if X was scaled; may have other columns, named by
        ``feature_names``. NaN are gaps.
    frame : data frame, default=None
        The same rows as they were read: examples show its cells. Without ``values`` the means and shares are its, too.
        A pipeline that is given a frame needs no other.
    items : sequence of str, or of (title, text), default=None
        What to show of every row on the map and among the examples; None shows the row's values.
    ids : sequence, default=None
        What to call every row beside its number; None takes the index of a frame.
    names : mapping, default=None
        Names of clusters by their labels; the others are named by the known label that they carry (``classes_``), or
        by what sets them apart.
    title : str, default="Clusters"
        Title of the page.
    notes : sequence of str, default=()
        What the reader has to know of the data, shown with the warnings.
    max_points : int, default=3000
        Most rows on the map; of more a sample is drawn.

    Returns
    -------
    dict
        With the keys schema ("widegap.report/2"; the number grows when keys change their meaning), title, created,
        method, unit, n_rows, rows_from (the number of the first row of X in this dict: 0), n_features (columns of the
        table as it was read), n_clusters, number (what "auto" found and why, or None), kind (what the clusters follow,
        or None), objective, clusters, profile (means and shares of clusters, column by column), decided (how much each
        column decided, or None), changes (what the last update changed and whether rows drift, or None), tree,
        margin_edges, map, search, kernels, universum, settings, versions, fingerprint (digests of the fit, and its
        versions and processor where they differ from those here), warnings, and fitted: whether these are the rows of
        the fit, which objective and search tell of, or others. The page numbers rows from 1. A notebook shows
        the dict as the page.
    """
    rows = PlainRows(X, values, feature_names, frame, ids, items, notes=list(notes))
    return Summary(Result(estimator, rows, labels=labels, names=names, title=title).summary(max_points))
