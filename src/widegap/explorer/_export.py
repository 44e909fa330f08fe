"""What a person can download: the rows with their clusters, the model, a report, and a script that repeats it."""

import io
from collections.abc import Callable
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from widegap import describe, persistence
from widegap.corrections._actions import Rename
from widegap.corrections._corrections import Assign
from widegap.exceptions import InvalidDataError
from widegap.explorer._cluster_names import correction_words, name_of
from widegap.explorer._fits import ShownFit
from widegap.explorer._script import script
from widegap.explorer._workspace import Workspace
from widegap.report import render, summarize
from widegap.results._summary import number_rows
from widegap.tables._writing import delimited, dialect_for, json_lines, with_numbers, with_results


def export(workspace: Workspace, name: str) -> tuple[bytes, str]:
    """The content of a file to download, and its media type."""
    with workspace.lock:
        if not isinstance(workspace.fit, ShownFit):
            raise InvalidDataError("The rows are not clustered yet; wait for the first fit.")
        make, kind = EXPORTS[name]
        return make(workspace), kind


def rows_with_clusters(workspace: Workspace) -> Any:
    """The rows as they came, with cluster, its name and the margin; -1 and no name for rows in no cluster."""
    import pandas as pd

    fit, rows, k = workspace.fit, workspace.rows, workspace.k
    if rows.frame is not None:
        frame = rows.frame.reset_index(drop=True).copy()
    elif rows.titles is not None:
        frame = pd.DataFrame({"document": rows.titles})
    else:
        frame = pd.DataFrame({"row": rows.numbers})
    labels, keys = fit.cut(k), fit.keys(k)
    names = np.array([*(name_of(workspace, int(key)) for key in keys), ""], dtype=object)
    margins = describe.leads(describe.scores(workspace.model, workspace.X), labels)
    return with_results(frame, {"cluster": workspace.labels, "cluster_name": names[labels], "margin": margins})


def _csv(workspace: Workspace) -> bytes:
    """With the delimiter and the decimal sign of the file that was read; names may hold signs that only UTF-8 has."""
    return delimited(rows_with_clusters(workspace), dialect_for(".csv", workspace.rows.dialect)).encode()


def _json_lines(workspace: Workspace) -> bytes:
    return json_lines(_typed_frame(workspace)).encode()


def _parquet(workspace: Workspace) -> bytes:
    buffer = io.BytesIO()
    _typed_frame(workspace).to_parquet(buffer)
    return buffer.getvalue()


def _typed_frame(workspace: Workspace) -> Any:
    """The clustered rows with numbers in place of the texts that a text file holds."""
    frame, dialect = rows_with_clusters(workspace), workspace.rows.dialect
    return frame if dialect is None else with_numbers(frame, dialect.decimal or ".")


def _model(workspace: Workspace) -> bytes:
    with TemporaryDirectory(prefix="widegap-") as folder:
        path = Path(folder) / "model.widegap"
        extra = {**workspace.extra, "title": workspace.title, "names": workspace.names(), **_corrections(workspace)}
        if "corrections" in extra:
            extra.pop("fixed", None)  # of an older file: the log has it
        persistence.save(_named(workspace.pipeline, extra["names"]), path, extra=extra)
        return path.read_bytes()


def _corrections(workspace: Workspace) -> dict[str, Any]:
    """The corrections that the present model follows; the file of a model that takes none keeps what it held."""
    if Assign.kind not in workspace.supported:
        return {}
    followed = workspace.followed
    in_force = {event.number for event in workspace.corrections if event.number in followed}
    events = [one for one in workspace.history.active if one.number in in_force or one.kind == Rename.kind]
    keys = workspace.fit.keys(workspace.k).tolist()
    labels = workspace.fit.cut(workspace.k).tolist()
    return workspace.stored.continued(events, keys, labels, lambda event: correction_words(workspace, event)).stored()


def _named(model: Any, names: dict[str, str]) -> Any:
    """A model whose clusters have the names that people know, not the keys of a fit on the page."""
    last = describe.last_step(model)
    if not isinstance(getattr(last, "classes_", None), list):
        return model
    named = copy(last)
    named.classes_ = [names.get(str(label)) for label in range(len(last.classes_))]
    return Pipeline([*model.steps[:-1], (model.steps[-1][0], named)]) if hasattr(model, "steps") else named


def _report(workspace: Workspace) -> bytes:
    fit, rows = workspace.fit, workspace.rows
    kept = np.arange(rows.n_rows) if fit.active is None else np.flatnonzero(fit.active)
    whole = len(kept) == rows.n_rows
    shown: dict[str, Any] = {}
    if rows.values is not None:
        shown = {"values": rows.values if whole else rows.values[kept], "feature_names": rows.names}
    X = workspace.X if whole else workspace.X[kept]
    notes = [*workspace.notes]
    if not whole:
        notes.append(f"{rows.n_rows - len(kept)} rows were marked as junk and are not in this report.")
    summary = summarize(
        workspace.model,
        X,
        labels=workspace.labels[kept],
        items=[f"{rows.title(row)}: {rows.text(row)}" for row in kept.tolist()] if len(kept) <= 50_000 else None,
        title=workspace.title,
        notes=notes,
        **shown,
    )
    number_rows(summary, rows.kept[kept])
    keys = dict(zip(workspace.model_classes.tolist(), fit.keys(workspace.k).tolist(), strict=True))
    for cluster in summary["clusters"]:
        cluster["name"] = name_of(workspace, keys.get(cluster["label"], -1))
    return render(summary).encode()


EXPORTS: dict[str, tuple[Callable[[Workspace], bytes], str]] = {
    "assignments.csv": (_csv, "text/csv"),
    "assignments.parquet": (_parquet, "application/vnd.apache.parquet"),
    "assignments.jsonl": (_json_lines, "application/x-ndjson"),
    "model.widegap": (_model, "application/octet-stream"),
    "report.html": (_report, "text/html"),
    "reproduce.py": (lambda workspace: script(workspace).encode(), "text/x-python"),
}
