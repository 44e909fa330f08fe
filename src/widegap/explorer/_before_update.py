"""What an updated model knows of the time before: rows that it remembers, for the map, and what became of clusters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Floats, Labels, Matrix
from widegap.explorer._rows import ShownRows
from widegap.results._shown_changes import shown_changes
from widegap.updating._memory import Memory

MOST_REMEMBERED = 5_000  # rows behind the others: the default of ``memory``; more are drawn from


@dataclass(frozen=True)
class RowsBefore:
    """Rows that a model remembered before its last update.

    Attributes
    ----------
    rows : table
        As the estimator takes them.
    numbers : ndarray of shape (m,)
        Numbers of the clusters that they are in after it, which are the keys of these clusters on the page.
    """

    rows: Matrix
    numbers: Labels

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.numbers)

    @classmethod
    def of(cls, model: Any, X: Any, seed: int = 0) -> "RowsBefore | None":
        """Those of a model, or a sample; None if there are none, or if X are not the new rows of the update.

        A model of topics has none: it remembers words, and not the terms by which the map places documents.
        """
        memory = getattr(model, "_memory", None)
        if not isinstance(memory, Memory) or not describe.is_fitted_on(model, X):
            return None
        rows = memory.before_update
        if not len(rows):
            return None
        if len(rows) > MOST_REMEMBERED:
            rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_REMEMBERED, replace=False))
        return cls(memory.rows[rows], memory.labels[rows])


def update_changes(
    model: Any, X: Any, rows: ShownRows, names: Mapping[str, str], factors: Floats | None
) -> dict[str, Any] | None:
    """What the last update of a model changed, as the report tells it; None if these are not the rows of an update.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : rows or documents
        As the model takes them.
    rows : ShownRows
        The same, as they are shown.
    names : mapping
        Names of clusters by number, those that are gone included.
    factors : ndarray or None
        By what the values that are shown were multiplied to become X.
    """
    if not hasattr(model, "changes_") or not describe.is_fitted_on(model, X):
        return None
    called = {change.cluster: names.get(str(change.cluster), "") for change in model.changes_}
    return shown_changes(model, rows.features if rows.values is not None else (), called, factors, rows.unit)
