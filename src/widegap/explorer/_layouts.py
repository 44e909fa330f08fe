"""Places of rows on the map that a reader may choose: by scores, or by two columns.

At most ``MAP_ROWS`` rows are on the map, the same ones as long as a workspace lives. The map begins with nearest
neighbours, as in reports and plots: ``features/_neighbour_layout.py``.
"""

from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Floats, Ints, Matrix
from widegap.features._neighbour_layout import neighbour_layout
from widegap.rows._matrices import stacked, without_gaps
from widegap.rows._sources import row_blocks

MAP_ROWS = 100_000  # rows on the map, of which fewer are drawn while it moves (benchmarks/explorer.py)


def map_rows(n: int, seed: int = 0) -> Ints:
    """Numbers of the rows on the map: all, or a sample."""
    if n <= MAP_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MAP_ROWS, replace=False))


def by_neighbours(features: Matrix, rows: Ints, behind: Matrix | None) -> Floats:
    """Places that keep nearest neighbours together, of rows on the map and then of those behind them."""
    if behind is None:
        return neighbour_layout(features, rows).places
    both = stacked(features, behind)
    return neighbour_layout(both, np.concatenate([rows, np.arange(features.shape[0], both.shape[0])])).places


def by_scores(model: Any, X: Any, features: Any, rows: Ints, behind: Matrix | None) -> Floats:
    """Places along the margins, of rows on the map and then of those behind them.

    For a model without scores they are along principal axes of the features.
    """
    shown, scores = _part(features, rows), describe.scores(model, _part(X, rows))
    if behind is not None:
        shown = stacked(shown, behind)
        unnamed = row_blocks(behind)  # blocks have no names of columns to compare with those of the fit
        scores = None if scores is None else np.concatenate([scores, describe.scores(model, unnamed)])
    return describe.layout(shown, scores, np.arange(shown.shape[0]))


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
