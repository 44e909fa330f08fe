"""Questions whose answers would help most, in the form in which the page asks them."""

import numpy as np

from widegap import describe
from widegap.explorer._fits import ShownFit
from widegap.explorer._payloads import short_row
from widegap.explorer._workspace import Workspace

ASKED = 5  # questions at a time: the page shows one and may skip a few before it asks again


def questions(workspace: Workspace, n: int = ASKED) -> list[dict[str, object]]:
    """Pairs of rows that may belong together or not; none where the model cannot use the answer."""
    with workspace.lock:
        if "together" not in workspace.supported or not isinstance(workspace.fit, ShownFit) or workspace.k < 2:
            return []
        state = workspace.state
        settled = {tuple(pair) for pair in state.skipped}
        settled |= {tuple(event.data["rows"]) for event in state.corrections if event.data.get("asked")}
        wanted = n + workspace.k + len(settled)
        ask = doubtful_pairs if hasattr(workspace.model, "questions") else unsure_pairs
        pairs = [pair for pair in ask(workspace, wanted) if pair not in settled][:n]
        return [{"rows": list(pair), "shown": [short_row(workspace, row) for row in pair]} for pair in pairs]


def doubtful_pairs(workspace: Workspace, n: int) -> list[tuple[int, int]]:
    """What the model itself would ask: doubtful rows, each with a typical row of its likeliest cluster."""
    active = workspace.fit.active
    rows = np.arange(workspace.rows.n_rows) if active is None else np.flatnonzero(active)
    asked = workspace.model.questions(n)
    pairs = [sorted((int(rows[one.row]), int(rows[one.examples[0]]))) for one in asked if len(one.candidates) > 1]
    return [(first, second) for first, second in pairs if first != second]


def unsure_pairs(workspace: Workspace, n: int) -> list[tuple[int, int]]:
    """For models that ask nothing: the rows nearest to a boundary, each with the surest row of its cluster."""
    fit, k, rows = workspace.fit, workspace.k, workspace.on_map
    labels = fit.cut(k)[rows]
    margins = describe.leads(describe.scores(fit.model_at(k), workspace.X[rows]), labels)
    surest = {label: int(rows[labels == label][np.nanargmax(margins[labels == label])]) for label in set(labels) - {-1}}
    order = [place for place in np.argsort(margins, kind="stable")[: 4 * n] if labels[place] >= 0]
    pairs = [sorted((int(rows[place]), surest[labels[place]])) for place in order]
    return list(dict.fromkeys((first, second) for first, second in pairs if first != second))[:n]
