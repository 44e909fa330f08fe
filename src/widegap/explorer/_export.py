"""What a person takes home: the rows with their clusters, the model, a report, and the script that does it again."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from widegap import persistence
from widegap.exceptions import InvalidDataError
from widegap.explorer._fits import Fit
from widegap.explorer._views import name_of
from widegap.explorer._workspace import Workspace
from widegap.report import render, summarize


def export(workspace: Workspace, name: str) -> tuple[bytes, str]:
    """The content of a file to download, and its media type."""
    with workspace.lock:
        if not isinstance(workspace.fit, Fit):
            raise InvalidDataError("The rows are not clustered yet; wait for the first fit.")
        make, kind = EXPORTS[name]
        return make(workspace), kind


def _model(workspace: Workspace) -> bytes:
    with TemporaryDirectory(prefix="widegap-") as folder:
        path = Path(folder) / "model.widegap"
        persistence.save(workspace.model, path, extra=workspace.model_extra())
        return path.read_bytes()


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
        notes.append(f"{rows.n_rows - len(kept)} rows were said to be junk and are not in this report.")
    summary = summarize(
        workspace.model,
        X,
        labels=workspace.labels[kept],
        items=[f"{rows.title(row)}: {rows.text(row)}" for row in kept] if len(kept) <= 50_000 else None,
        title=workspace.title,
        notes=notes,
        **shown,
    )
    keys = dict(zip(workspace.model_classes.tolist(), fit.keys(workspace.k).tolist(), strict=True))
    for cluster in summary["clusters"]:
        cluster["name"] = name_of(workspace, keys.get(cluster["label"], -1))
    return render(summary).encode()


EXPORTS: dict[str, tuple[Callable[[Workspace], bytes], str]] = {
    "model.widegap": (_model, "application/octet-stream"),
    "report.html": (_report, "text/html"),
}
