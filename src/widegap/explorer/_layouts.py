"""Places of rows on the map that a reader may choose: by scores, or by two columns.

At most ``MAP_ROWS`` rows are on the map, the same ones as long as a workspace lives. The map begins with nearest
neighbours, as in reports and plots: ``features/_neighbour_layout.py``.
"""

from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Floats, Ints, Matrix
from widegap.rows._matrices import without_gaps
from widegap.updating._memory import Memory

MAP_ROWS = 100_000  # rows on the map: seven frames a second without a graphics card (benchmarks/explorer.py)

BACKGROUND_ROWS = 2_000  # remembered rows behind the others: enough to see where they lie; not tuned


def map_rows(n: int, seed: int = 0) -> Ints:
    """Numbers of the rows on the map: all, or a sample."""
    if n <= MAP_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MAP_ROWS, replace=False))


def rows_before_update(model: Any, seed: int = 0) -> Matrix | None:
    """Rows that an updated model remembers from before its last update, or a sample; None where there are none.

    A model of topics remembers words, not the terms that the map places documents by: it has none.
    """
    memory = getattr(model, "_memory", None)
    if not isinstance(memory, Memory):
        return None
    old = np.flatnonzero(memory.places >= len(model.labels_))  # an update counts new rows first
    if len(old) > BACKGROUND_ROWS:
        old = np.sort(np.random.default_rng(seed).choice(old, BACKGROUND_ROWS, replace=False))
    return memory.rows[old] if len(old) else None


def by_scores(model: Any, X: Any, features: Any, rows: Ints) -> Floats:
    """Places along the margins; principal axes of the features for a model without scores."""
    return describe.layout(_part(features, rows), describe.scores(model, _part(X, rows)), np.arange(len(rows)))


def by_principal_axes(X: Any, rows: Ints) -> Floats:
    """Places along the two directions in which rows differ most."""
    return describe.layout(_part(X, rows), None, np.arange(len(rows)))


def by_columns(x: Floats, y: Floats, rows: Ints) -> Floats:
    """Places by two columns; a row that lacks a value is in the middle."""
    return np.asarray(without_gaps(np.column_stack([x, y]))[0])[rows]


def _part(X: Any, rows: Ints) -> Any:
    if hasattr(X, "shape"):
        return X if len(rows) == X.shape[0] else X[rows]
    return X if len(rows) == len(X) else [X[row] for row in rows]
