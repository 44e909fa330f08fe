"""What a person can download: the rows with their clusters, the model, a report, and a script that repeats it."""

import io
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from widegap import describe, persistence
from widegap._atomic import passing_folder
from widegap._types import Indices
from widegap.base._numbered_clusters import numbers_of
from widegap.corrections._actions import Rename
from widegap.corrections._corrections import Assign
from widegap.exceptions import InvalidDataError
from widegap.explorer._cluster_names import correction_words, name_of
from widegap.explorer._fits import ShownFit
from widegap.explorer._script import script
from widegap.explorer._workspace import Workspace
from widegap.report import render
from widegap.results import PlainRows, Result
from widegap.tables._writing import delimited, dialect_for, json_lines, with_numbers

MOST_LISTED_ITEMS = 50_000  # rows whose texts are made for a report, which shows some thousands of them


def download(workspace: Workspace, name: str) -> tuple[bytes, str]:
    """The content of a file to download, and its media type."""
    with workspace.lock:
        if not isinstance(workspace.fit, ShownFit):
            raise InvalidDataError("The rows are not clustered yet; wait for the first fit.")
        make, kind = EXPORTS[name]
        return make(workspace), kind


def _result(workspace: Workspace, kept: Indices, *, with_items: bool = False) -> Result:
    """Some rows as people know them, with the clusters and the names that the page shows."""
    rows, whole = workspace.rows, len(kept) == workspace.rows.n_rows
    keys = zip(workspace.model_classes.tolist(), workspace.fit.keys(workspace.k).tolist(), strict=True)
    shown = PlainRows(
        workspace.X if whole else workspace.X[kept],
        rows.values if whole or rows.values is None else rows.values[kept],
        rows.names if rows.values is not None else None,
        rows.frame if whole or rows.frame is None else rows.frame.iloc[kept].reset_index(drop=True),
        None if rows.titles is None else [rows.titles[row] for row in kept.tolist()],
        [f"{rows.title(row)}: {rows.text(row)}" for row in kept.tolist()] if with_items else None,
        rows.kept[kept],
        rows.dialect,
        [*workspace.notes],
    )
    names = {label: name_of(workspace, key) for label, key in keys}
    return Result(workspace.model, shown, labels=workspace.labels[kept], names=names, title=workspace.title)


def _frame(workspace: Workspace) -> Any:
    return _result(workspace, np.arange(workspace.rows.n_rows)).frame()


def _csv(workspace: Workspace) -> bytes:
    """With the delimiter and the decimal sign of the file that was read; names may hold signs that only UTF-8 has."""
    return delimited(_frame(workspace), dialect_for(".csv", workspace.rows.dialect)).encode()


def _json_lines(workspace: Workspace) -> bytes:
    return json_lines(_typed_frame(workspace)).encode()


def _parquet(workspace: Workspace) -> bytes:
    buffer = io.BytesIO()
    _typed_frame(workspace).to_parquet(buffer)
    return buffer.getvalue()


def _typed_frame(workspace: Workspace) -> Any:
    """The clustered rows with numbers in place of the texts that a text file holds."""
    frame, dialect = _frame(workspace), workspace.rows.dialect
    return frame if dialect is None else with_numbers(frame, dialect.decimal or ".")


def _model(workspace: Workspace) -> bytes:
    with passing_folder("widegap-") as folder:
        path = folder / "model.widegap"
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
    numbers = dict(zip(keys, workspace.model_classes.tolist(), strict=True))
    labels = workspace.labels.tolist()
    words = partial(correction_words, workspace)
    return workspace.stored.continued(events, numbers, labels, words).stored()


def _named(model: Any, names: dict[str, str]) -> Any:
    """A model whose clusters have the names that people know, not the keys of a fit on the page."""
    last = describe.last_step(model)
    if not isinstance(getattr(last, "classes_", None), list):
        return model
    named = copy(last)
    named.classes_ = [names.get(str(label)) for label in numbers_of(last, -1)]
    return Pipeline([*model.steps[:-1], (model.steps[-1][0], named)]) if hasattr(model, "steps") else named


def _report(workspace: Workspace) -> bytes:
    fit, n = workspace.fit, workspace.rows.n_rows
    kept = np.arange(n) if fit.active is None else np.flatnonzero(fit.active)
    result = _result(workspace, kept, with_items=len(kept) <= MOST_LISTED_ITEMS)
    if len(kept) < n:
        result.rows.notes.append(f"{n - len(kept)} rows were marked as junk and are not in this report.")
    return render(result.summary()).encode()


EXPORTS: dict[str, tuple[Callable[[Workspace], bytes], str]] = {
    "assignments.csv": (_csv, "text/csv"),
    "assignments.parquet": (_parquet, "application/vnd.apache.parquet"),
    "assignments.jsonl": (_json_lines, "application/x-ndjson"),
    "model.widegap": (_model, "application/octet-stream"),
    "report.html": (_report, "text/html"),
    "reproduce.py": (lambda workspace: script(workspace).encode(), "text/x-python"),
}
