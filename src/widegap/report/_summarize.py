"""A fitted clustering as a dict of plain values: what ``render`` shows, and what programs can read."""

import platform
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.utils import check_array

from widegap import describe
from widegap.exceptions import InvalidDataError
from widegap.report._warnings import plain_warnings
from widegap.report._wording import clip, plain

SCHEMA = "widegap.report/1"
MAP_POINTS = 3000
TOP_FEATURES = 6
EXAMPLES = 5
CURVE_POINTS = 2000
PACKAGES = ("widegap", "numpy", "scipy", "scikit-learn", "numba")


def summarize(
    estimator: Any,
    X: Any,
    *,
    labels: Any = None,
    feature_names: Sequence[str] | None = None,
    values: Any = None,
    items: Sequence[str] | None = None,
    title: str = "Clusters",
    notes: Sequence[str] = (),
    max_points: int = MAP_POINTS,
) -> dict[str, Any]:
    """Describe a fitted clustering as a dict that JSON can hold.

    Parameters
    ----------
    estimator : estimator
        Fitted estimator of this package, or a ``DocumentClustering``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of str
        Rows to report on, not necessarily those that were fitted; documents for a ``DocumentClustering``.
    labels : array-like of shape (n_samples,), default=None
        Their clusters. None takes ``labels_`` if X has as many rows as were fitted, and ``predict(X)`` otherwise.
    feature_names : sequence of str, default=None
        Names of the columns; None takes ``feature_names_in_`` or numbers.
    values : {array-like, sparse matrix}, default=None
        The same rows in the units in which to show them, if X was scaled; may have other columns, named by
        ``feature_names``.
    items : sequence of str, default=None
        What to show of every row on the map and among the examples; None shows the row's values.
    title : str, default="Clusters"
        Title of the page.
    notes : sequence of str, default=()
        What the reader has to know of the data, shown with the warnings.
    max_points : int, default=3000
        Most rows on the map; of more a sample is drawn.

    Returns
    -------
    dict
        With the keys schema ("widegap.report/1"; the number grows when keys change their meaning), title, created,
        method, unit, n_rows, n_features, n_clusters, objective, clusters, margin_edges, map, search, kernels,
        universum, settings, versions, warnings, and fitted: whether these are the rows of the fit, which objective and
        search tell of, or others.
    """
    view = _DocumentView(estimator, X, labels) if hasattr(estimator, "topic_names_") else _RowView(estimator, X, labels)
    if items is not None and len(items) != view.n_rows:
        raise InvalidDataError(f"items has {len(items)} entries for {view.n_rows} rows; pass one a row.")
    if values is not None:
        view.show(values)
    view.name_columns(feature_names)
    if items is not None:
        view.item = lambda row: clip(items[row])
    edges = describe.margin_bins(view.margins)
    summary: dict[str, Any] = {
        "schema": SCHEMA,
        "title": clip(title),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": type(estimator).__name__,
        "unit": view.unit,
        "n_rows": view.n_rows,
        "n_features": view.n_features,
        "n_clusters": len(view.kinds),
        "fitted": np.array_equal(view.labels, getattr(estimator, "labels_", ())),
        "objective": _objective(estimator),
        "clusters": _clusters(view, edges),
        "unassigned": int(np.count_nonzero(view.labels < 0)),
        "margin_edges": edges,
        "map": _map(view, max_points),
        "search": _search(estimator),
        "kernels": _kernels(estimator),
        "universum": _universum(estimator),
        "settings": {name: plain(value) for name, value in estimator.get_params(deep=False).items()},
        "versions": _versions(),
    }
    summary["warnings"] = [*map(clip, notes), *plain_warnings(estimator, summary)]
    return summary


class _RowView:
    """Rows of a table, their clusters and their scores."""

    unit = "row"

    def __init__(self, estimator: Any, X: Any, labels: Any):
        self.names = getattr(estimator, "feature_names_in_", None)
        self.X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.shown = self.X
        self.n_rows, self.n_features = self.X.shape
        self.labels = _labels(estimator, X, self.n_rows, labels)
        self.kinds = np.arange(max(int(estimator.n_clusters_), int(self.labels.max()) + 1))
        self.scores = _scores(estimator, X, len(self.kinds))
        self.margins = np.full(self.n_rows, np.nan)
        if self.scores is not None:
            self.margins = describe.leads(self.scores, self.labels)
        self.pairwise = estimator.__sklearn_tags__().input_tags.pairwise
        self.item = self._values
        self._strongest: Any = None

    def show(self, values: Any) -> None:
        """Take the values to be shown from another table of the same rows."""
        self.shown = check_array(values, accept_sparse="csr", dtype=[np.float64, np.float32])
        if self.shown.shape[0] != self.n_rows:
            raise InvalidDataError(f"values has {self.shown.shape[0]} rows for {self.n_rows} of X; pass the same ones.")
        self.n_features = self.shown.shape[1]

    def name_columns(self, names: Sequence[str] | None) -> None:
        if names is not None:
            self.names = names
        if self.names is None:
            self.names = [f"column {j}" for j in range(self.n_features)]
        if len(self.names) != self.n_features:
            raise InvalidDataError(f"feature_names has {len(self.names)} names for {self.n_features} columns.")
        self.names = [clip(name, 80) for name in self.names]

    def title(self, label: int) -> str:
        return f"Cluster {label}"

    def place(self, rows: Any) -> Any:
        return describe.layout(self.X, self.scores, rows)

    def features(self, label: int) -> list[dict[str, Any]]:
        """The columns in which a cluster differs most from all other rows."""
        if self.pairwise or len(self.kinds) < 2:
            return []
        if self._strongest is None:
            self._strongest = describe.contrasts(self.shown, self.labels, len(self.kinds))
        differences, means, rest = (table[label] for table in self._strongest)
        order = np.argsort(-np.abs(differences), kind="stable")[:TOP_FEATURES]
        return [
            {
                "feature": self.names[j],
                "difference": plain(differences[j]),
                "mean": plain(means[j]),
                "rest_mean": plain(rest[j]),
            }
            for j in order
            if differences[j]
        ]

    def representatives(self, label: int) -> list[int]:
        """Rows with the largest margins: deepest inside."""
        return self._ends(label, -self.margins)

    def borderline(self, label: int) -> list[int]:
        return self._ends(label, self.margins)

    def _ends(self, label: int, key: Any) -> list[int]:
        rows = np.flatnonzero((self.labels == label) & np.isfinite(key))
        return rows[np.argsort(key[rows], kind="stable")[:EXAMPLES]].tolist()

    def _values(self, row: int) -> str:
        values = self.shown[[row]]
        values = values if isinstance(values, np.ndarray) else values.toarray()
        parts = [f"{self.names[j]} {values[0, j]:.3g}" for j in np.flatnonzero(values[0])[:8]]
        return clip(", ".join(parts) or "all zero")


class _DocumentView(_RowView):
    """Documents and their topics."""

    unit = "document"

    def __init__(self, estimator: Any, X: Any, labels: Any):
        self.documents = X
        self.estimator = estimator
        fitted = len(X) == len(estimator.labels_) and labels is None
        self.n_rows, self.n_features = len(X), len(estimator.terms_) if estimator.terms_ is not None else None
        found = np.asarray(_labels(estimator, X, self.n_rows, labels))
        self.kinds = np.asarray(estimator.topics_)
        self.labels = found
        # Scores have one column a topic, topics may be numbered with gaps.
        self.scores = _scores(estimator, X, len(self.kinds))
        place = np.full(int(self.kinds.max()) + 2, -1)
        place[self.kinds] = np.arange(len(self.kinds))
        self.margins = np.asarray(estimator.margins_, dtype=float) if fitted else np.full(self.n_rows, np.nan)
        if not fitted and self.scores is not None:
            self.margins = describe.leads(self.scores, place[found])
        self.fitted = fitted
        self.item = lambda row: clip(self.documents[row])

    def name_columns(self, names: Sequence[str] | None) -> None:
        self.terms = self.estimator.top_terms(2 * TOP_FEATURES) if self.estimator.terms_ is not None else {}

    def title(self, label: int) -> str:
        return clip(self.estimator.topic_names_[label], 80)

    def place(self, rows: Any) -> Any:
        if self.scores is None:
            return None
        if self.scores.shape[1] > 2:
            return describe.layout(None, self.scores, rows)
        lead = self.scores[rows, -1] - self.scores[rows, 0]
        centrality = self.estimator.centrality_[rows] if self.fitted else np.zeros(len(rows))
        return np.column_stack([lead, np.nan_to_num(centrality)])

    def features(self, label: int) -> list[dict[str, Any]]:
        return [{"feature": clip(term, 80)} for term in self.terms.get(label, [])]

    def representatives(self, label: int) -> list[int]:
        if not self.fitted:
            return self._ends(label, -self.margins)
        return self.estimator.representatives(EXAMPLES)[label]


def _labels(estimator: Any, X: Any, n_rows: int, labels: Any) -> Any:
    if labels is None:
        fitted = getattr(estimator, "labels_", None)
        labels = fitted if fitted is not None and len(fitted) == n_rows else estimator.predict(X)
    labels = np.asarray(labels)
    if len(labels) != n_rows:
        raise InvalidDataError(f"labels has {len(labels)} entries for {n_rows} rows; pass one a row.")
    return labels


def _scores(estimator: Any, X: Any, n_clusters: int) -> Any:
    table = describe.scores(estimator, X)
    return table if table is None or table.shape[1] == n_clusters else None


def _objective(estimator: Any) -> dict[str, Any] | None:
    told = getattr(estimator, "_objective", None)
    if told is None or getattr(estimator, "objective_", None) is None:
        return None
    most = told.most(estimator.n_clusters_) if told.most is not None and estimator.n_clusters_ > 2 else None
    value = plain(float(estimator.objective_))
    return {"name": told.name, "value": value, "most": plain(most), "better": told.better, "meaning": told.meaning}


def _clusters(view: _RowView, edges: list[float]) -> list[dict[str, Any]]:
    return [_cluster(view, int(label), edges) for label in view.kinds]


def _cluster(view: _RowView, label: int, edges: list[float]) -> dict[str, Any]:
    inside = view.labels == label
    size = int(np.count_nonzero(inside))
    return {
        "label": label,
        "name": view.title(label),
        "size": size,
        "share": size / max(1, view.n_rows),
        "separates": view.features(label),
        "margin": describe.margin_profile(view.margins[inside], edges),
        "representatives": _examples(view, view.representatives(label)),
        "borderline": _examples(view, view.borderline(label)),
    }


def _examples(view: _RowView, rows: Sequence[int]) -> list[dict[str, Any]]:
    return [{"row": int(row), "text": view.item(row), "margin": plain(view.margins[row])} for row in rows]


def _map(view: _RowView, max_points: int) -> dict[str, Any] | None:
    rows = describe.spread_sample(view.labels, max_points)
    coordinates = view.place(rows)
    if coordinates is None:
        return None
    kind = {2: "one boundary", 3: "exact"}.get(len(view.kinds), "projected")
    return {
        "points": [
            {"row": int(row), "x": plain(x), "y": plain(y), "cluster": int(view.labels[row]), "text": view.item(row),
             "margin": plain(view.margins[row])}
            for row, (x, y) in zip(rows, coordinates, strict=True)
        ],
        "shown": len(rows),
        "total": view.n_rows,
        "kind": "principal" if view.scores is None or len(view.kinds) == 1 else kind,
    }  # fmt: skip


def _search(estimator: Any) -> dict[str, Any] | None:
    records = [asdict(record) for record in getattr(estimator, "history_", None) or () if is_dataclass(record)]
    records = [record for record in records if plain(record.get("objective")) is not None]
    if not records:
        return None
    if "iteration" not in records[0]:  # one record a start
        return {"starts": [{key: plain(value) for key, value in record.items()} for record in records], "curve": []}
    kept = records[:: -(-len(records) // CURVE_POINTS)]
    keys = ("split", "start", "iteration", "objective", "gap", "flips", "seconds")
    curve = [
        {"start": 0, "iteration": i, **{key: plain(r[key]) for key in keys if key in r}} for i, r in enumerate(kept)
    ]
    return {"starts": [], "curve": curve}


def _kernels(estimator: Any) -> list[dict[str, Any]] | None:
    weights = getattr(estimator, "kernel_weights_", None)
    if weights is None:
        return None
    names = getattr(estimator, "kernel_names_", None)
    if names is None:
        stack = getattr(getattr(estimator, "kernel_map_", None), "active", ())
        names = [kernel.name for kernel in stack]
    if len(names) != len(weights):
        names = [f"kernel {j}" for j in range(len(weights))]
    return [{"name": clip(name, 80), "weight": plain(weight)} for name, weight in zip(names, weights, strict=True)]


def _universum(estimator: Any) -> dict[str, Any] | None:
    report = getattr(estimator, "universum_report_", None)
    return None if report is None else {key: plain(value) for key, value in asdict(report).items()}


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
