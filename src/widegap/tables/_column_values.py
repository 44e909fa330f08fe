"""Cells of a decided column as numbers: gaps filled, flags of categories, and notes on new rows.

One rule holds for the fitted rows and for new ones. A gap in numbers, dates and times gets the median of the fitted
rows, a gap in yes/no the more common answer, and a gap in a category has no category: 0 in all of its columns. What
cannot be read is a gap as well, and a category that was not fitted counts as none.
"""

from collections.abc import Callable

import numpy as np

from widegap._types import Doubles, Mask
from widegap.exceptions import InvalidDataError
from widegap.rows._matrices import row_chunks
from widegap.tables._columns import Column
from widegap.tables._dates import ISO, date_part, days_in, hours_in
from widegap.tables._plain_numbers import PlainNumbers
from widegap.tables._text_topics import topic_weights
from widegap.tables._values import Cells, truth_value


def read_column(column: Column, cells: Cells, table: Doubles) -> Mask:
    """Write the numbers of one column, gaps filled, into its own columns of a table; gives the rows that lack one."""
    if column.topics is not None:
        table[:] = topic_weights(texts_of(cells), column.topics)
        return np.zeros(cells.n, dtype=bool)
    if column.read_as == "category":
        return _flags(column, cells, table)
    values = numbers_in(column, cells)
    lacks = np.isnan(values)
    filled = np.where(lacks, np.nan if column.fill is None else column.fill, values) if lacks.any() else values
    if column.read_as == "date" and not column.parts:
        np.subtract(filled, np.datetime64(column.origin, "D").astype(int), out=table[:, 0])
    else:
        parts = (date_part(filled, part) for part in column.parts) if column.read_as == "date" else (filled,)
        for j, part in enumerate(parts):
            table[:, j] = part
    return lacks


def numbers_in(column: Column, cells: Cells) -> Doubles:
    """Numbers, days, hours or 0 and 1; NaN for gaps and for what cannot be read."""
    if column.read_as == "yes/no":
        return _truth_values(column, cells)
    if column.read_as == "date":
        if cells.kind == "date":
            return cells.numbers(None).values
        found = days_in(cells, column.form or ISO) if cells.kind == "text" else None
    elif column.read_as == "time":
        found = hours_in(cells) if cells.kind == "text" else None
    else:
        decimal = column.decimal if cells.kind == "text" else None
        found = cells.numbers(decimal, unit=column.unit).values
        if cells.kind == "text" and np.isnan(found).all():  # the words of truth values, where 0 and 1 were fitted
            found = cells.spread([truth_value(text) for text in cells.texts.to_pylist()])
    return np.full(cells.n, np.nan) if found is None else found


def _truth_values(column: Column, cells: Cells) -> Doubles:
    yes, no = column.levels
    levels, codes = cells.levels
    known = {yes.lower(): 1.0, no.lower(): 0.0}
    values = np.array([*(known.get(level.lower(), truth_value(level)) for level in levels), np.nan])
    return values[codes]


def _flags(column: Column, cells: Cells, table: Doubles) -> Mask:
    """One column of 0 and 1 for each category."""
    levels, codes = cells.levels
    place = {level: j for j, level in enumerate(column.levels)}
    places = np.array([*(place.get(level, -1) for level in levels), -1])
    table[:] = 0
    for rows in row_chunks(cells.n, 1):
        found = places[codes[rows]]
        known = np.flatnonzero(found >= 0)
        table[rows][known, found[known]] = 1
    return cells.missing


def notes_on_new(column: Column, cells: Cells, lacks: Mask) -> list[str]:
    """Notes on rows that the encoder was not fitted on; refuses a column of another kind."""
    odd = lacks & ~cells.missing
    if odd.any() and (lacks.all() or odd.sum() == (~cells.missing).sum()):
        raise InvalidDataError(
            f"Column {column.name!r} was a {column.read_as} when the model was fitted, but no cell is one now "
            f"(the first is {cells.example(odd)[:30]!r}); correct the column."
        )
    notes = []
    if odd.any():
        notes.append(
            f"Column {column.name!r}: {_counted(odd)} cannot be read as a {column.read_as} "
            f"({cells.example(odd)[:30]!r}) and {_verb(odd)} treated as missing."
        )
    if column.read_as == "category" and column.topics is None:
        levels, codes = cells.levels
        new = np.array([*(level not in set(column.levels) for level in levels), False])[codes]
        if new.any():
            example = next(level for level in levels if level not in set(column.levels))
            notes.append(
                f"Column {column.name!r}: {_counted(new)} {'has a category' if new.sum() == 1 else 'have categories'} "
                f"that the model has not seen ({example[:30]!r}) and {'counts' if new.sum() == 1 else 'count'} as none."
            )
    return notes


def _counted(rows: Mask) -> str:
    n = int(rows.sum())
    return "1 row" if n == 1 else f"{n:,} rows"


def _verb(rows: Mask) -> str:
    return "is" if rows.sum() == 1 else "are"


class ColumnValues:
    """What columns hold that are decided on: numbers that were read side by side, or the cells of one column."""

    def __init__(self, numbers: PlainNumbers, cells: Callable[[str], Cells], n_rows: int):
        self._numbers, self.cells, self.n_rows = numbers, cells, n_rows

    def numbers(self, column: Column) -> Doubles:
        """The numbers of a column, NaN for gaps."""
        if column.name in self._numbers:
            return self._numbers.of(column.name)
        cells = self.cells(column.name)
        found = numbers_in(column, cells)
        cells.forget_texts()
        return found

    def missing(self, name: str) -> float:
        """The share of gaps."""
        gaps = np.isnan(self._numbers.of(name)) if name in self._numbers else self.cells(name).missing
        return float(gaps.mean())


def texts_of(cells: Cells) -> list[str]:
    """The texts of all cells; gaps are empty."""
    texts = [*cells.texts.to_pylist(), ""]
    return [texts[code] for code in cells.codes]
