"""What a workspace shows: plain values for JSON, each found anew from the state."""

import numpy as np

from widegap._types import Mask
from widegap._wording import ROWS_FROM, clip, plain
from widegap.corrections._corrections import CORRECTIONS
from widegap.corrections._events import Event
from widegap.exceptions import InvalidDataError
from widegap.explorer._cluster_names import correction_words, name_in_move, name_of
from widegap.explorer._fits import NotFitted, ShownFit
from widegap.explorer._identity import WholeNumbers
from widegap.explorer._workspace import Workspace
from widegap.report._charts import Scale, branches
from widegap.results._dendrogram import judged_tree, top_of_tree
from widegap.results._how_many import number_found
from widegap.results._profile import Contrasts

LISTED_FEATURES = 6  # of a cluster: its line in the list shows three, and twice as many terms of documents
PROFILE_COLUMNS = 40  # of the profile: those that separate clusters best, about two screens
TREE_LEAVES = 40  # of the tree: 40 lines of 13 pixels fit on a screen
TREE_PAGE_WIDTH, TREE_PAGE_ROW, TREE_EDGE = 640, 13, 70  # pixels; the edge is for the sizes of leaves
MOVES_LISTED = 12  # pairs of clusters between which rows moved: about one screen of the side bar
ROWS_OF_A_MOVE = 20  # numbers of rows that a move lists; of more the page selects all rows of the pair


def overview(workspace: Workspace) -> dict[str, object]:
    """Everything a page shows besides points and rows."""
    with workspace.lock:
        state, fit, k = workspace.state, workspace.fit, workspace.k
        rows = workspace.rows
        autosave = workspace.autosave
        return {
            "number": workspace.number,
            "title": workspace.title,
            "unit": rows.unit,
            "n_rows": rows.n_rows,
            "rows_from": ROWS_FROM,
            "on_map": len(workspace.on_map),
            "rows_before": 0 if workspace.rows_before is None else workspace.rows_before.n_rows,
            "update": _update(workspace),
            "columns": rows.names[:2000],
            "method": type(fit.model).__name__,
            "fitted": isinstance(fit, ShownFit),
            "fit": state.fit,
            "k": k,
            "next": workspace.next_number,
            "numbers": [fit.numbers[0], fit.numbers[-1]],
            "clusters": clusters(workspace, k),
            "sure": _mean_sure(fit, k),
            "surer": surer(workspace),
            "corrections": [_correction(workspace, event) for event in state.corrections],
            "supported": list(workspace.supported),
            "buttons": _buttons(workspace),
            "pending": workspace.pending,
            "anew": bool(workspace.pending) and workspace.searches_anew,
            "can_undo": workspace.can_undo,
            "can_redo": workspace.history.can_redo,
            "moved": moved(workspace),
            "working": workspace.working,
            "notes": [clip(note) for note in [*_number_note(fit), *workspace.notes, *_fit_notes(workspace)]],
            "saved": None if autosave is None else {"file": autosave.path.name, "trouble": autosave.trouble},
        }


def _update(workspace: Workspace) -> dict[str, object] | None:
    """What the last update of the model changed: a sentence on all clusters, on each, and on drift."""
    changes = workspace.changes
    if changes is None:
        return None
    drift = changes["drift"]
    return {
        "words": changes["words"],
        "clusters": [
            {"key": one["cluster"], "kind": one["kind"], "text": clip(one["text"])} for one in changes["clusters"]
        ],
        "drift": [drift["words"], *(clip(column["text"] + ".") for column in drift["columns"])],
    }


def _number_note(fit: ShownFit | NotFitted) -> list[str]:
    """Why there are as many clusters, where the fit chose their number."""
    found = number_found(fit.model) if isinstance(fit, ShownFit) else None
    return [] if found is None else [found["words"]]


def _fit_notes(workspace: Workspace) -> list[str]:
    number = workspace.state.fit
    return workspace.history.events[number - 1].data.get("notes", []) if number else []


def _mean_sure(fit: ShownFit | NotFitted, k: int) -> float | None:
    """How sure the clusters at k are: the mean over the rows that were fitted."""
    sure = fit.sure_at(k)
    return None if sure is None else plain(float((sure if fit.active is None else sure[fit.active]).mean()))


def surer(workspace: Workspace) -> dict[str, object] | None:
    """How sure the first fit and what is shown are, and how many questions were answered in between."""
    answers = sum(bool(event.data.get("asked")) for event in workspace.history.active)
    first, now = workspace.opening, _mean_sure(workspace.fit, workspace.k)
    began = _mean_sure(first, first.own)
    return {"answers": answers, "first": now if began is None else began, "now": began if now is None else now}


def shown_at(workspace: Workspace, k: int) -> dict[str, object]:
    """The clusters at k, and how sure they are."""
    with workspace.lock:
        return {"clusters": clusters(workspace, k), "sure": _mean_sure(workspace.fit, k)}


def clusters(workspace: Workspace, k: int) -> list[dict[str, object]]:
    """The clusters at k: key, label of the model, name, size, how sure, and what sets each apart."""
    fit = workspace.fit
    if k not in fit.numbers:
        raise InvalidDataError(f"k={k} must be from {fit.numbers[0]} to {fit.numbers[-1]}.")
    labels, keys, sure = fit.cut(k), fit.keys(k), fit.sure_at(k)
    sizes = np.bincount(labels[labels >= 0], minlength=k)
    apart = _features(workspace, labels, k)
    found = [
        {
            "key": int(keys[label]),
            "label": int(fit.classes_at(k)[label]),
            "name": name_of(workspace, int(keys[label]), k),
            "size": int(sizes[label]),
            "share": float(sizes[label] / len(labels)),
            "sure": None if sure is None or not sizes[label] else plain(sure[labels == label].mean()),
            "apart": apart[label],
        }
        for label in range(k)
    ]
    outside = int(np.count_nonzero(labels < 0))
    if outside:
        found.append({"key": -1, "label": -1, "name": "no cluster (junk or outliers)", "size": outside,
                      "share": outside / len(labels), "sure": None, "apart": []})  # fmt: skip
    return found


def _features(workspace: Workspace, labels: WholeNumbers, k: int) -> list[list[dict[str, object]]]:
    """Of every cluster, the columns in which it differs most from the rest, or its terms."""
    fit, rows = workspace.fit, workspace.rows
    if rows.values is None:
        if (
            not hasattr(fit.model, "top_terms")
            or not isinstance(fit, ShownFit)
            or getattr(fit.model, "terms_", None) is None
        ):
            return [[] for _ in range(k)]
        terms = fit.model.top_terms(2 * LISTED_FEATURES)
        return [[{"feature": clip(term, 40)} for term in terms.get(int(topic), [])] for topic in fit.classes]
    found = Contrasts(rows.values, labels, rows.features, k)
    return [[_contrast(found, label, int(j)) for j in found.order(label)[:LISTED_FEATURES]] for label in range(k)]


def _contrast(found: Contrasts, label: int, j: int) -> dict[str, object]:
    """One column of a cluster against the others, in the words of the report: categories as per cent."""
    feature, mean, rest = found.features[j], found.means[label, j], found.rest[label, j]
    return {
        "feature": feature.name,
        "difference": plain(found.differences[label, j]),
        "mean": plain(mean),
        "rest": plain(rest),
        "text": feature.text(mean),
        "rest_text": feature.text(rest),
    }


def profile(workspace: Workspace, k: int) -> dict[str, object]:
    """The report's profile: means and shares in the columns that tell clusters apart best."""
    fit, rows = workspace.fit, workspace.rows
    if rows.values is None:
        return {"keys": [], "lines": []}
    found = Contrasts(rows.values, fit.cut(k), rows.features, k)
    return {"keys": fit.keys(k).tolist(), "lines": found.table(PROFILE_COLUMNS)["lines"]}


def tree(workspace: Workspace) -> dict[str, object] | None:
    """The last merges of the tree as branches of the report's dendrogram, the last of them on the left.

    ``leaves`` are sizes from top to bottom. Merges are as far apart as their order says, so that a line between two of
    them, at ``cuts[k]``, stands for a number of clusters.
    """
    found = judged_tree(workspace.fit.model)
    m = 0 if found is None else min(TREE_LEAVES, len(found.leaf_sizes))
    top = None if found is None else top_of_tree(found, m)
    if found is None or top is None:
        return None
    across = Scale([0.0, float(m)], TREE_PAGE_WIDTH - TREE_EDGE, TREE_EDGE / 4)
    paths = branches({**top, "heights": range(1, m)}, across, TREE_PAGE_ROW)
    sizes = np.bincount(found.cut(m), found.leaf_sizes, m)
    shown = slice(len(found.leaf_sizes) - m, None)
    merges = zip(paths, found.margins[shown].tolist(), found.sizes[shown].tolist(), top["words"], strict=True)
    return {
        "width": TREE_PAGE_WIDTH,
        "row": TREE_PAGE_ROW,
        "labels": TREE_PAGE_WIDTH - TREE_EDGE + 6,
        "leaves": [int(sizes[leaf]) for leaf in top["leaves"]],
        "merges": [
            {"path": path, "margin": plain(margin), "size": int(size), "word": word}
            for path, margin, size, word in merges
        ],
        "cuts": {k: across(m - k + 0.5) for k in range(1, m + 1)},
    }


def row(workspace: Workspace, number: int) -> dict[str, object]:
    """One row with all its cells."""
    _check_row(workspace, number)
    return {**short_row(workspace, number), "cells": workspace.rows.cells(number)}


def short_row(workspace: Workspace, number: int) -> dict[str, object]:
    """One row in a few words."""
    _check_row(workspace, number)
    sure, key = workspace.fit.sure_at(workspace.k), int(workspace.keys[number])
    return {
        "row": number,
        "number": int(workspace.rows.numbers[number]),
        "title": workspace.rows.title(number),
        "text": workspace.rows.text(number),
        "key": key,
        "cluster": name_of(workspace, key),
        "sure": None if sure is None else plain(sure[number]),
    }


def _check_row(workspace: Workspace, number: int) -> None:
    if not 0 <= number < workspace.rows.n_rows:
        raise InvalidDataError(f"There is no row {number}; rows are numbered from 0 to {workspace.rows.n_rows - 1}.")


def moved(workspace: Workspace) -> dict[str, object] | None:
    """Which rows the last fit moved, from where to where."""
    both = workspace.moved()
    if both is None:
        return None
    before, after = both
    changed = np.flatnonzero(before != after)
    pairs = np.stack([before[changed], after[changed]], axis=1)
    kinds, place, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOVES_LISTED]
    place = place.ravel()
    moves = [
        {"from": int(kinds[i, 0]), "to": int(kinds[i, 1]), "count": int(counts[i]),
         "names": [name_in_move(workspace, key) for key in kinds[i].tolist()],
         "rows": changed[place == i][:ROWS_OF_A_MOVE].tolist()}
        for i in order
    ]  # fmt: skip
    return {"total": len(changed), "moves": moves}


def _buttons(workspace: Workspace) -> list[dict[str, str]]:
    """Corrections of selected rows that the model can follow."""
    kinds = [CORRECTIONS[kind] for kind in workspace.supported]
    return [{"kind": one.kind, "label": one.button, "shortcut": one.shortcut} for one in kinds if one.button]


def _correction(workspace: Workspace, event: Event) -> dict[str, object]:
    """A correction in words."""
    return {
        "number": event.number,
        "kind": event.kind,
        "words": correction_words(workspace, event),
        "asked": bool(event.data.get("asked")),
    }


def find(workspace: Workspace, query: dict[str, object]) -> Mask:
    """Which rows hold a text, have a column within limits, and are in some clusters."""
    found = np.ones(workspace.rows.n_rows, bool)
    text, column, keys = query.get("text"), query.get("column"), query.get("clusters")
    if text:
        if not isinstance(text, str) or len(text) > 200:
            raise InvalidDataError(f"text={text!r:.40} must be a text of at most 200 characters.")
        found &= workspace.rows.matching(text)
    if column:
        values = workspace.rows.column(str(column))
        for limit, keep in (("low", np.greater_equal), ("high", np.less_equal)):
            bound = query.get(limit)
            if bound is not None:
                if isinstance(bound, bool) or not isinstance(bound, int | float):
                    raise InvalidDataError(f"{limit}={bound!r:.40} must be a number.")
                found &= keep(values, float(bound))
    if keys is not None:
        if not isinstance(keys, list) or not all(type(key) is int for key in keys):
            raise InvalidDataError(f"clusters={keys!r:.40} must be a list of clusters.")
        found &= np.isin(workspace.keys, keys)
    return found
