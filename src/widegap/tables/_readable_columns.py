"""A table as numbers in its own units, with its gaps, for averages that people read.

An encoder fills gaps and scales columns for a clusterer. An average should do neither: it is over the cells that have
a value, and a date is a day of the calendar.
"""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Array, Doubles, Matrix
from widegap.tables._encoder import TableEncoder


@dataclass(frozen=True)
class ReadableColumns:
    """Columns of numbers, NaN for gaps; ``first_days`` are the dates from which the numbers of a column count days."""

    names: list[str]
    values: Matrix
    first_days: dict[int, str]

    def shown(self, j: int, numbers: Doubles) -> Array:
        """Numbers of column j, as days of the calendar if they are."""
        if j not in self.first_days:
            return numbers
        seconds = np.where(np.isnan(numbers), np.nan, np.round(numbers * 86_400))
        elapsed = np.array([np.timedelta64("NaT") if np.isnan(s) else np.timedelta64(int(s), "s") for s in seconds])
        return np.datetime64(self.first_days[j], "s") + elapsed.astype("timedelta64[s]")


def readable_columns(table: Any, encoder: TableEncoder | None) -> ReadableColumns:
    """The columns of a table that an encoder uses; without one, those that a table of this kind would have.

    A category is a column of 0 and 1 for each of its levels.
    """
    encoder = TableEncoder(scale="none").fit(table) if encoder is None else copy.copy(encoder)
    values = encoder.set_params(missing="fill")._apply(table).observed
    if encoder.columns_ is None:
        return ReadableColumns(list(encoder.get_feature_names_out()), values, {})
    names: list[str] = []
    first_days: dict[int, str] = {}
    for column in encoder.columns_:
        is_day = column.used and column.read_as == "date" and not column.parts
        if is_day:
            first_days[len(names)] = column.origin
        names += [column.name] if is_day else column.names
    return ReadableColumns(names, values, first_days)
