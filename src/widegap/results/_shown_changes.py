"""What an update changed, as people see it: sentences with the names of clusters, averages in the units of the table.

An estimator compares the rows that it is given, which a ``TableEncoder`` has scaled; here averages go back to the units
of the table, and columns to their names. Screen, report and explorer show the same dict.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widegap._types import Floats
from widegap._wording import clip, counted, plain
from widegap.results._profile import Feature
from widegap.updating._changes import SIGNIFICANT, Change, ColumnChange
from widegap.updating._drift import Drift

LONGEST_COLUMN = 60  # letters of a column in a sentence
AS_BEFORE = "kept"


def shown_changes(
    estimator: Any, features: Sequence[Feature], names: Mapping[int, str], factors: Floats | None, unit: str = "row"
) -> dict[str, Any] | None:
    """What the last update of an estimator changed; None if it was not updated.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    features : sequence of Feature
        How each column of its rows is read; empty for documents.
    names : mapping
        Names of clusters by number, those that are gone included.
    factors : ndarray or None
        By what a table was multiplied to become the rows.
    unit : str, default="row"
        What a row is called.

    Returns
    -------
    dict
        ``words``, one sentence on all clusters; ``clusters``, a record for each, the changed ones first, with kind,
        cluster, name, share_before, share_after, p_value, related, columns and text; and ``drift``, with p_value, words
        and columns. Each column has column, before, after, text and p_value.
    """
    changes: list[Change] | None = getattr(estimator, "changes_", None)
    if changes is None:
        return None
    columns = _Columns(estimator, features, factors)
    shown = [_record(change, names.get(change.cluster, ""), columns) for change in changes]
    changed = [record for record in shown if record["kind"] != AS_BEFORE]
    return {
        "words": _words(shown, changed, "topic" if unit == "document" else "cluster"),
        "clusters": [*changed, *(record for record in shown if record["kind"] == AS_BEFORE)],
        "drift": _drift(estimator.drift_, columns, unit),
    }


class _Columns:
    """Columns of an estimator as people know them."""

    def __init__(self, estimator: Any, features: Sequence[Feature], factors: Floats | None):
        names = getattr(estimator, "feature_names_in_", None)
        n = int(getattr(estimator, "n_features_in_", 0))
        known = [f"column {j}" for j in range(n)] if names is None else list(map(str, names))
        self.places = {name: j for j, name in enumerate(known)} if len(features) == len(known) else {}
        self.features, self.factors = features, factors

    def shown(self, change: ColumnChange) -> dict[str, Any]:
        """A column with its averages, in numbers and in words."""
        j = self.places.get(change.column)
        feature = Feature(change.column, change.column, 0) if j is None else self.features[j]
        factor = 1.0 if j is None or self.factors is None else float(self.factors[j])
        before, after = (value / factor if factor else np.nan for value in (change.before, change.after))
        kind = "" if feature.kind == "share" else "average "
        column = clip(feature.name, LONGEST_COLUMN)
        return {
            "column": column,
            "before": plain(before),
            "after": plain(after),
            "p_value": change.p_value,
            "text": f"{kind}{column} {feature.text(before)} → {feature.text(after)}",
        }


def _record(change: Change, name: str, columns: _Columns) -> dict[str, Any]:
    shown = [columns.shown(column) for column in change.columns]
    told = [column["text"] for column in shown if column["p_value"] < SIGNIFICANT]
    return {
        "kind": change.kind,
        "cluster": change.cluster,
        "name": name,
        "share_before": change.share_before,
        "share_after": change.share_after,
        "p_value": change.p_value,
        "related": list(change.related),
        "columns": shown,
        "text": change.worded(name, told),
    }


def _words(shown: list[dict[str, Any]], changed: list[dict[str, Any]], group: str) -> str:
    if not changed:
        return f"No {group} changed: {counted(len(shown), group)} as before."
    kinds = list(dict.fromkeys(record["kind"] for record in changed))
    counts = [f"{sum(record['kind'] == kind for record in changed)} {kind}" for kind in kinds]
    return f"{len(changed)} of {counted(len(shown), group)} changed: {', '.join(counts)}."


def _drift(drift: Drift, columns: _Columns, unit: str) -> dict[str, Any]:
    p = drift.p_value
    if p < SIGNIFICANT:
        words = f"The new {unit}s differ from those before (p = {p:.2g})."
    else:
        words = f"Nothing says that the new {unit}s come from another source than those before (p = {p:.2g})."
    told = [columns.shown(column) for column in drift.columns if column.p_value < SIGNIFICANT]
    return {"p_value": p, "words": words, "columns": told if p < SIGNIFICANT else []}
