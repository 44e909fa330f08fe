"""How an exported model reads the columns of a table: the decisions of a ``TableEncoder`` as plain values.

Every format reads numbers, categories and yes/no, and fills gaps as the encoder does. Dates are read by the Python file
alone. Topics of texts and times of day, and dates in other formats than ISO 8601, are refused by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from widegap._types import Doubles
from widegap.exceptions import NotSupportedError

if TYPE_CHECKING:
    from widegap.tables._columns import Column
    from widegap.tables._encoder import TableEncoder

READ_AS = {"number", "category", "yes/no"}  # what every format can read


@dataclass(frozen=True)
class ColumnPlan:
    """How one column becomes numbers. ``truth`` has the number of every word of a yes/no, in lower case."""

    name: str
    read_as: str
    fill: float | None
    levels: tuple[str, ...]
    truth: dict[str, float]
    decimal: str
    parts: tuple[str, ...]
    origin: float

    @property
    def spelled_words(self) -> dict[str, float]:
        """The words of a yes/no in their usual spellings, for formats that compare texts as they are."""
        found: dict[str, float] = {}
        for word, value in self.truth.items():
            found |= {spelling: value for spelling in (word, word.upper(), word.capitalize())}
        return found | dict(zip(self.levels, (1.0, 0.0), strict=True))


@dataclass(frozen=True)
class TablePlan:
    """The columns that are used, what the numbers are multiplied by, and what means a gap."""

    columns: tuple[ColumnPlan, ...]
    factors: Doubles | None
    fills: bool
    gaps: tuple[str, ...]
    gap_numbers: Doubles


def table_plan(encoder: "TableEncoder", *, dates: bool) -> TablePlan | None:
    """The plan of a fitted encoder; None for one that only scales a matrix. Formats without ``dates`` refuse them."""
    from widegap.tables._values import gap_numbers, missing_words

    if encoder.columns_ is None:
        return None
    used = [column for column in encoder.columns_ if column.used]
    gaps = missing_words(encoder.na_values)
    factors = None if encoder.factors_ is None else np.asarray(encoder.factors_, np.float64)
    columns = tuple(_column_plan(column, gaps, dates=dates) for column in used)
    return TablePlan(columns, factors, encoder.missing == "fill", tuple(sorted(gaps)), gap_numbers(gaps))


def _column_plan(column: "Column", gaps: frozenset[str], *, dates: bool) -> ColumnPlan:
    from widegap.tables._dates import ISO

    readable = READ_AS | ({"date"} if dates else set())
    if column.topics is not None or column.read_as not in readable:
        kind = "the topics of a text" if column.topics is not None else f"a {column.read_as}"
        other = " or export a .py file" if column.read_as == "date" and not dates else ""
        raise NotSupportedError(
            f"Column {column.name!r} is read as {kind}, which this format cannot do; fit without it "
            f"(drop=[{column.name!r}]), or as numbers of your own{',' if other else ''}{other}."
        )
    if column.read_as == "date" and column.form not in ("", ISO):
        raise NotSupportedError(
            f"Column {column.name!r} has dates in the format {column.form!r}, and an exported model reads ISO 8601 "
            "alone, such as 2024-01-31; convert the column before the fit."
        )
    origin = float(np.datetime64(column.origin, "D").astype(int)) if column.origin else 0.0
    truth = _truth_words(column.levels, gaps) if column.read_as == "yes/no" else {}
    return ColumnPlan(
        str(column.name),
        column.read_as,
        column.fill,
        tuple(map(str, column.levels)),
        truth,
        column.decimal,
        tuple(column.parts),
        origin,
    )


def _truth_words(levels: Iterable[str], gaps: frozenset[str]) -> dict[str, float]:
    """The words for yes and no that mean no gap: those of every column, and before them its own."""
    from widegap.tables._values import TRUTH_WORDS

    yes, no = levels
    pairs: list[Any] = [*reversed(TRUTH_WORDS), ("1.0", "0.0")]
    found: dict[str, float] = {}
    for positive, negative in pairs:
        found |= {positive: 1.0, negative: 0.0}
    found |= {yes.lower(): 1.0, no.lower(): 0.0}
    return {word: value for word, value in found.items() if word not in gaps}
