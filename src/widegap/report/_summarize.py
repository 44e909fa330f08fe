"""A fitted clustering as a dict of plain values: what ``render`` shows, and what programs can read."""

import platform
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from widegap import describe
from widegap.exceptions import InvalidDataError
from widegap.report._numbers import number_found
from widegap.report._views import RowView, view_of
from widegap.report._warnings import plain_warnings
from widegap.report._wording import clip, plain

SCHEMA = "widegap.report/1"
MAP_POINTS = 3000
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
    estimator : estimator or pipeline
        Fitted estimator of this package, clusterer of scikit-learn, or pipeline that ends in one of them.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or list of str
        Rows to report on, not necessarily those that were fitted; documents for a ``DocumentClustering``. For a
        pipeline whatever its first step takes.
    labels : array-like of shape (n_samples,), default=None
        Their clusters. None takes what :func:`widegap.describe.labels` says: ``labels_`` if these are the rows of the
        fit, and ``predict(X)`` otherwise.
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
        method, unit, n_rows, n_features, n_clusters, number (what "auto" found and why, or None), objective, clusters,
        margin_edges, map, search, kernels, universum, settings, versions, warnings, and fitted: whether these are the
        rows of the fit, which objective and search tell of, or others.
    """
    view, steps = view_of(estimator, X, labels), getattr(estimator, "steps", ())
    estimator = describe.last_step(estimator)
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
        "number": number_found(estimator),
        "fitted": view.is_fit,
        "objective": _objective(estimator),
        "clusters": _clusters(view, edges),
        "unassigned": int(np.count_nonzero(view.labels < 0)),
        "margin_edges": edges,
        "map": _map(view, max_points),
        "search": _search(estimator),
        "kernels": _kernels(estimator),
        "universum": _universum(estimator),
        "settings": _settings(estimator, steps),
        "versions": _versions(),
    }
    summary["warnings"] = [*map(clip, notes), *plain_warnings(estimator, summary)]
    return summary


def _objective(estimator: Any) -> dict[str, Any] | None:
    told = getattr(estimator, "_objective", None)
    if told is None or getattr(estimator, "objective_", None) is None:
        return None
    most = told.most(estimator.n_clusters_) if told.most is not None and estimator.n_clusters_ > 2 else None
    value = plain(float(estimator.objective_))
    return {"name": told.name, "value": value, "most": plain(most), "better": told.better, "meaning": told.meaning}


def _clusters(view: RowView, edges: list[float]) -> list[dict[str, Any]]:
    return [_cluster(view, int(label), edges) for label in view.kinds]


def _cluster(view: RowView, label: int, edges: list[float]) -> dict[str, Any]:
    inside = view.labels == label
    size = int(np.count_nonzero(inside))
    return {
        "label": label,
        "name": view.title(label),
        "size": size,
        "share": size / max(1, view.n_rows),
        "separates": view.features(label),
        "margin": describe.margin_profile(view.margins[inside], edges),
        "agreement": view.agreement(inside),
        "representatives": _examples(view, view.representatives(label)),
        "borderline": _examples(view, view.borderline(label)),
    }


def _examples(view: RowView, rows: Sequence[int]) -> list[dict[str, Any]]:
    return [{"row": int(row), "text": view.item(row), "margin": plain(view.margins[row])} for row in rows]


def _map(view: RowView, max_points: int) -> dict[str, Any] | None:
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
    if hasattr(estimator, "agreement_"):  # its members are not told by their objectives; one agrees with itself
        agreement = float(estimator.agreement_.mean()) if len(records) > 1 else None
        return {"starts": [], "curve": [], "members": len(records), "agreement": agreement}
    if "iteration" not in records[0]:  # one record a start
        starts = [{key: plain(value) for key, value in record.items()} for record in records]
        return {"starts": starts, "curve": [], "members": 0, "agreement": None}
    kept = records[:: -(-len(records) // CURVE_POINTS)]
    keys = ("split", "start", "iteration", "objective", "gap", "flips", "seconds")
    curve = [
        {"start": 0, "iteration": i, **{key: plain(r[key]) for key in keys if key in r}} for i, r in enumerate(kept)
    ]
    return {"starts": [], "curve": curve, "members": 0, "agreement": None}


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


def _settings(estimator: Any, steps: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The parameters of the clusterer, after the steps of the pipeline that it ends."""
    found = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    return {"pipeline": " → ".join(clip(name, 80) for name, _ in steps), **found} if steps else found


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
