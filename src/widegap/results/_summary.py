"""A fitted clustering as a dict of plain values: what reports show, and what programs can read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import numpy as np

from widegap import describe
from widegap._versions import versions
from widegap._wording import ROWS_FROM, clip, plain
from widegap.base._fit_fingerprint import processor
from widegap.base._numbered_clusters import numbers_of
from widegap.results._cautions import plain_warnings
from widegap.results._certainty import agreement_of
from widegap.results._dendrogram import judged_tree, top_of_tree
from widegap.results._example_rows import RowDescriber
from widegap.results._followed_kind import followed_kind
from widegap.results._how_many import number_found
from widegap.results._names import fit_names
from widegap.results._row_views import RowView
from widegap.rows._threads import one_blas_thread

SCHEMA = "widegap.report/2"
MAP_POINTS = 3000  # drawn without delay by a browser; more overlap
CURVE_POINTS = 2000  # of the search, more than the chart has pixels
UNSURE = 0.5  # share of the members that agree on a row, below which it is unsure: no majority


@one_blas_thread()  # between small products, threads that wait took up to ten times the time of a summary of digits
def summarize_view(
    view: RowView, model: Any, own: Mapping[int, str], title: str, notes: Sequence[str], max_points: int
) -> dict[str, Any]:
    """The summary of rows that are described; ``own`` are names of clusters that need no other."""
    estimator, steps = describe.last_step(model), getattr(model, "steps", ())
    describer = RowDescriber(view, view.named(own))
    edges = describe.margin_bins(view.margins)
    summary: dict[str, Any] = {
        "schema": SCHEMA,
        "title": clip(title),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": type(estimator).__name__,
        "unit": view.unit,
        "n_rows": view.n_rows,
        "rows_from": ROWS_FROM,
        "n_features": view.n_columns,
        "n_clusters": len(view.kinds),
        "number": number_found(estimator),
        "kind": followed_kind(estimator, weighted=view.weighted) if view.is_fit else None,
        "fitted": view.is_fit,
        "objective": _objective(estimator),
        "clusters": [{**cluster, "named": cluster["label"] in own} for cluster in _clusters(view, describer, edges)],
        "profile": view.profile(),
        "decided": view.decided(),
        "tree": _tree(estimator, judged_tree),
        "unassigned": int(np.count_nonzero(view.labels < 0)),
        "margin_edges": edges,
        "map": _map(view, describer, max_points) if max_points else None,
        "search": _search(estimator),
        "kernels": _kernels(estimator),
        "universum": _universum(estimator),
        "settings": _settings(estimator, steps),
        "versions": {**versions(), **processor()},
        "fingerprint": _fingerprint(estimator),
    }  # fmt: skip
    summary["warnings"] = [*map(clip, notes), *plain_warnings(estimator, summary)]
    if summary["number"] is not None and summary["number"]["sure"] is None:
        _without_certainty(summary)
    return summary


def number_rows(summary: dict[str, Any], numbers: Any) -> None:
    """Number the rows of a summary as in the table that they are some of; ``numbers`` begin with ``ROWS_FROM``."""
    for row in _shown_rows(summary):
        row["row"] = int(numbers[row["row"]])


def _shown_rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The examples and the points of the map."""
    examples = [row for cluster in summary["clusters"] for row in (*cluster["representatives"], *cluster["borderline"])]
    return [*examples, *(summary["map"] or {}).get("points", ())]


def _without_certainty(summary: dict[str, Any]) -> None:
    """Take out how sure clusters and rows are, where rows are too few to tell: members of a search agree on any."""
    for cluster in summary["clusters"]:
        cluster["agreement"] = cluster["unsure"] = None
    for row in _shown_rows(summary):
        row["sure"] = None
    if summary["search"] is not None:
        summary["search"]["agreement"] = None


def summarize_fit(estimator: Any) -> dict[str, Any]:
    """What a fitted estimator shows without its rows: sizes, how sure they are, the tree and the search."""
    labels = np.asarray(estimator.labels_)
    sure = agreement_of(estimator)
    clusters: list[dict[str, Any]] = [
        {
            "label": int(label),
            "name": name,
            "size": int(np.count_nonzero(labels == label)),
            "share": float(np.mean(labels == label)),
            "separates": [],
            "margin": None,
            "agreement": None if sure is None or not (labels == label).any() else float(sure[labels == label].mean()),
            "representatives": [],
        }
        for label, name in fit_names(estimator, np.sort(numbers_of(estimator, labels))).items()
    ]
    return {
        **dict.fromkeys(("map", "n_features", "profile", "changes")),
        "schema": SCHEMA,
        "title": type(estimator).__name__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": type(estimator).__name__,
        "unit": "document" if hasattr(estimator, "topic_names_") else "row",
        "n_rows": len(labels),
        "rows_from": ROWS_FROM,
        "n_clusters": len(clusters),
        "number": number_found(estimator),
        "objective": _objective(estimator),
        "clusters": clusters,
        "tree": _tree(estimator, attrgetter("tree_")),  # shown in a notebook at once: nothing is computed for it
        "margin_edges": [],
        "search": _search(estimator),
        "kernels": _kernels(estimator),
        "universum": _universum(estimator),
        "settings": _settings(estimator, ()),
        "versions": {**versions(), **processor()},
        "fingerprint": _fingerprint(estimator),
        "warnings": ["widegap.report.summarize(model, X) shows what sets the clusters apart."],
    }  # fmt: skip


def _objective(estimator: Any) -> dict[str, Any] | None:
    kind = getattr(estimator, "_objective", None)
    if kind is None or getattr(estimator, "objective_", None) is None:
        return None
    k, value = int(estimator.n_clusters_), plain(float(estimator.objective_))
    most = kind.most(k) if kind.most is not None and k > 1 else None
    share = value / most if most and value is not None else None
    return {
        "name": kind.name,
        "value": value,
        "most": plain(most),
        "share": share,
        "better": kind.better,
        "meaning": kind.meaning,
    }


def _clusters(view: RowView, describer: RowDescriber, edges: list[float]) -> list[dict[str, Any]]:
    pictures = view.pictures()
    found = [_cluster(view, describer, int(label), edges) for label in view.kinds]
    for place, cluster in enumerate(found):
        cluster["picture"] = None if pictures is None else pictures[place]
    return found


def _cluster(view: RowView, describer: RowDescriber, label: int, edges: list[float]) -> dict[str, Any]:
    inside = view.labels == label
    size = int(np.count_nonzero(inside))
    margin = describe.margin_profile(view.margins[inside], edges)
    if margin is not None:
        margin["relative"] = describer.relative(margin["median"])
    sure = None if view.sure is None or not size else view.sure[inside]
    columns = view.example_columns(label)
    return {
        "label": label,
        "name": describer.names[label],
        "size": size,
        "share": size / max(1, view.n_rows),
        "separates": view.separates(label),
        "margin": margin,
        "agreement": None if sure is None else float(sure.mean()),
        "unsure": None if sure is None else int(np.count_nonzero(sure < UNSURE)),
        "columns": [view.features[group].column for group in columns],
        "representatives": _examples(view, describer, view.representatives(label), columns),
        "borderline": _examples(view, describer, view.borderline(label), columns),
    }


def _examples(view: RowView, describer: RowDescriber, rows: Sequence[int], columns: list[int]) -> list[dict[str, Any]]:
    return [{**describer.describe(row), "cells": [view.cell(row, group) for group in columns]} for row in rows]


def _tree(estimator: Any, tree_of: Callable[[Any], Any]) -> dict[str, Any] | None:
    k = int(getattr(estimator, "n_clusters_", 0))
    if hasattr(estimator, "changes_"):  # clusters kept their rows from before, whatever the tree of the search says
        return None
    return None if k <= 2 or not hasattr(estimator, "tree_") else top_of_tree(tree_of(estimator), k)


def _map(view: RowView, describer: RowDescriber, max_points: int) -> dict[str, Any]:
    rows = describe.spread_sample(view.labels, max_points)
    places, made_by = view.place(rows)
    return {
        "points": [
            {**describer.describe(row), "x": plain(x), "y": plain(y), "cluster": int(view.labels[row])}
            for row, (x, y) in zip(rows, places, strict=True)
        ],
        "shown": len(rows),
        "total": view.n_rows,
        "layout": made_by,
    }


def _search(estimator: Any) -> dict[str, Any] | None:
    history = getattr(estimator, "history_", None) or ()
    records = [asdict(record) for record in history if is_dataclass(record) and not isinstance(record, type)]
    records = [record for record in records if plain(record.get("objective")) is not None]
    if not records:
        return None
    if hasattr(estimator, "agreement_"):  # objectives do not describe its members; one agrees with itself
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


def _fingerprint(estimator: Any) -> dict[str, str]:
    """Digests of the fit, and its versions and processor where these are others than here and now."""
    found = getattr(estimator, "_fingerprint", None)
    if found is None:
        return {}
    here, shown = {**versions(), **processor()}, {"rows": found.rows or "", "labels": found.labels or ""}
    other = {name: text for name, text in {**found.versions, **found.processor}.items() if here.get(name) != text}
    return {name: clip(text, 80) for name, text in {**shown, **other}.items() if text}
