"""A table as codes: for every column a few numbers that are 0 or more and have the sum 1.

A category has a code for each of its levels: 1 for that of the row, 0 for the others; a row without a level has none.
A number has a code for each of some knots t_1 < t_2 < ...: a value between two knots is shared between them,

    c_j(x) = (t_(j+1) - x) / (t_(j+1) - t_j),     c_(j+1)(x) = 1 - c_j(x),      t_j <= x <= t_(j+1),

known as fuzzy coding. Values beyond the ends have the code of the end. The knots are the values themselves where a
column has few, and quantiles elsewhere: codes do not depend on the scale of a column, hardly on far values, and change
continuously with a number, so that a model of codes treats numbers and categories alike. A gap in a category has no
code at all and so favours nothing; a gap in a number was filled before.

The codes of a column are multiplied by its weight.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Doubles, Floats
from widegap.features._column_groups import ColumnGroup
from widegap.features._kernel_maps import FeatureMap
from widegap.rows._matrices import dense_rows, row_chunks

FEW_LEVELS = 12  # values of a column up to which each is a knot: months, grades, small counts; not tuned
KNOTS = 8  # of a number with more values: 6 and 8 do alike on mixed tables, 4 lose 0.026 of ARI (benchmarks/choices.md)


@dataclass(frozen=True)
class ColumnCode:
    """How columns ``first`` to ``stop - 1`` become codes.

    ``knots`` has the knots of a number. Of flags it has, for every column, the value above which the flag is raised.
    """

    first: int
    stop: int
    is_category: bool
    weight: float
    knots: Doubles

    @property
    def n_codes(self) -> int:
        """How many codes they become."""
        return len(self.knots)

    def codes(self, values: Floats) -> Doubles:
        """Codes of the columns of some rows."""
        if self.is_category:
            return np.where(values > self.knots, self.weight, 0.0)
        n, last = len(values), len(self.knots) - 1
        place = np.interp(values[:, 0], self.knots, np.arange(last + 1.0))
        below = np.minimum(place.astype(np.intp), last - 1)
        found, rows = np.zeros((n, last + 1)), np.arange(n)
        found[rows, below] = (1 - (place - below)) * self.weight
        found[rows, below + 1] = (place - below) * self.weight
        return found


@dataclass(frozen=True)
class CodedColumns(FeatureMap):
    """The map from the rows of a dense table to their codes."""

    columns: list[ColumnCode]

    @classmethod
    def fit(cls, X: Floats, groups: Sequence[ColumnGroup]) -> "CodedColumns":
        """Codes for the columns of a table; a column of a single value has none."""
        found = [code for group in groups for code in _codes(X[:, group.columns].astype(np.float64), group)]
        return cls([code for code in found if code.n_codes > 1])

    @property
    def ends(self) -> list[int]:
        """Where the codes of the columns begin, and where the last ones end."""
        return [0, *np.cumsum([code.n_codes for code in self.columns]).tolist()]

    @property
    def n_codes(self) -> int:
        """The number of all codes."""
        return self.ends[-1]

    def transform(self, X: Any) -> Doubles:
        table = dense_rows(X, slice(None))
        ends = self.ends
        found = np.empty((len(table), ends[-1]))
        for code, left, right in zip(self.columns, ends, ends[1:], strict=False):
            found[:, left:right] = code.codes(table[:, code.first : code.stop])
        return found

    def folded(self, W: Floats, b: Floats) -> Callable[[Any], Floats]:
        def scores(X: Any) -> Floats:
            found = np.empty((X.shape[0], len(W)))
            for rows in row_chunks(X.shape[0], self.n_codes):
                found[rows] = self.transform(X[rows]) @ W.T + b
            return found

        return scores


def _codes(values: Doubles, group: ColumnGroup) -> list[ColumnCode]:
    """Codes of a group: of all flags together, of every number on its own; several numbers share the weight."""
    first, width = group.first, values.shape[1]
    if group.is_category and width > 1:
        high = values.max(axis=0)
        return [ColumnCode(first, group.stop, True, group.weight, np.where(high > 0, high / 2, np.inf))]
    return [
        ColumnCode(first + j, first + j + 1, False, group.weight / width, _knots(column, group.is_category))
        for j, column in enumerate(values.T)
    ]


def _knots(column: Doubles, is_category: bool) -> Doubles:
    """The values of a column, or quantiles if it is a number and has many."""
    values = np.unique(column)
    if is_category or len(values) <= FEW_LEVELS:
        return values
    return np.unique(np.quantile(column, np.linspace(0, 1, KNOTS)))
