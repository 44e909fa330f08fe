"""Questions whose answers would help most, in the form in which the page asks them."""

from typing import Any

import numpy as np

from widegap import describe
from widegap.explorer._fits import Fit
from widegap.explorer._views import short_row
from widegap.explorer._workspace import Workspace

ASKED = 5


def questions(workspace: Workspace, n: int = ASKED) -> list[dict[str, Any]]:
    """Pairs of rows of which it should be said whether they belong together; none where that cannot be used."""
    with workspace.lock:
        if "together" not in workspace.supported or not isinstance(workspace.fit, Fit) or workspace.k < 2:
            return []
        settled = {tuple(pair) for pair in workspace.state.skipped}
        for said in workspace.state.statements:
            settled.add(tuple(said.data.get("rows", ())))
        pairs = [pair for pair in unsure_pairs(workspace, n + len(settled)) if pair not in settled][:n]
        return [{"rows": list(pair), "shown": [short_row(workspace, row) for row in pair]} for pair in pairs]


def unsure_pairs(workspace: Workspace, n: int) -> list[tuple[int, int]]:
    """The least sure rows on the map, each with the surest row of its cluster."""
    fit, k, rows = workspace.fit, workspace.k, workspace.on_map
    labels = fit.cut(k)[rows]
    X = workspace.X[rows]
    margins = describe.leads(describe.scores(fit.model_at(k), X), labels)
    doubt = margins if fit.sure is None else np.where(labels >= 0, fit.sure[rows], np.inf)
    order = np.lexsort([margins, doubt])
    surest = {label: int(rows[labels == label][np.nanargmax(margins[labels == label])]) for label in np.unique(labels)}
    found = []
    for place in order[: 4 * n]:
        row, other = int(rows[place]), surest[labels[place]]
        if labels[place] >= 0 and row != other:
            found.append((min(row, other), max(row, other)))
    return list(dict.fromkeys(found))[:n]
