"""Tables of every kind, by column: pandas, polars, Arrow, dicts of columns and lists."""

import difflib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from widegap.exceptions import InvalidDataError
from widegap.tables._values import Cells


def is_frame(X: Any) -> bool:
    """Whether X has named columns."""
    return isinstance(X, pa.Table | pa.RecordBatch) or type(X) is dict or hasattr(type(X), "columns")


def as_columns(X: Any) -> "Columns":
    """A table with named columns of pandas, polars or Arrow."""
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    if isinstance(X, pa.Table):
        return Columns(list(X.column_names), X.column, X.num_rows)
    if hasattr(X, "to_arrow") and hasattr(X, "collect_schema"):  # polars; a lazy frame has to be collected first
        return as_columns(X.to_arrow())
    if hasattr(X, "collect") and not hasattr(X, "iloc"):
        raise InvalidDataError("X is a lazy frame; call .collect() first.")
    import pandas as pd

    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    return Columns([str(name) for name in frame.columns], lambda j: frame.iloc[:, j], len(frame))


class Columns:
    """Names and cells of a table."""

    def __init__(self, names: list[str], at: Any, n_rows: int):
        self.names, self._at, self.n_rows = names, at, n_rows
        self._cells: dict[str, Cells] = {}
        self._places = {name: j for j, name in enumerate(names)}
        if len(self._places) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise InvalidDataError(f"Columns must have different names, but {few(twice)} occur more than once; rename.")

    def cells(self, name: str, gaps: frozenset[str]) -> Cells:
        """The cells of a column, read once for as long as this table is looked at."""
        if name not in self._cells:
            self._cells[name] = Cells(self._at(self._places[name]), gaps)
        return self._cells[name]

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)


def few(names: Any) -> str:
    """The first names of a list, quoted."""
    names = list(names)
    shown = ", ".join(map(repr, names[:10]))
    return f"{shown}, ..." if len(names) > 10 else shown


def nearest(name: str, names: list[str]) -> str:
    """What the table has instead of a name that it lacks: similar names, or the first ones."""
    lower = {known.lower(): known for known in reversed(names)}
    close = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"it has {few(names)}."
