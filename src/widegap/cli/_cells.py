"""Cells of a table as numbers and as names of categories, alike whether a text file or Parquet holds them."""

import re
from functools import cached_property
from numbers import Integral
from typing import Any

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
BOOLEANS = frozenset({"true", "false"})
PLAIN_NUMBER = re.compile(r"[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d{1,2})?")
WHOLE_NUMBER = re.compile(r"[-+]?\d{1,18}")
GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
NO_NUMBER = "no number"


def is_missing(cell: str) -> bool:
    """Whether a cell of a text file stands for a gap."""
    return cell.strip().lower() in MISSING


def plain_number(cell: str, decimal: str) -> str:
    """A number written with this decimal sign as Python writes it; other texts come out as no numbers.

    With another decimal sign than the point, points separate thousands: 1.500 is 1500. Anywhere else, as in 1.5, they
    are refused rather than guessed at.
    """
    if decimal == ".":
        return cell
    whole, sign, rest = cell.strip().partition(decimal)
    if "." in whole:
        whole = whole.replace(".", "") if GROUPED.fullmatch(whole) else NO_NUMBER
    return f"{whole}.{NO_NUMBER if '.' in rest else rest}" if sign else whole


def is_number(cell: Any, decimal: str = ".") -> bool:
    """Whether a cell reads as a number, written with this decimal sign."""
    try:
        float(plain_number(cell, decimal) if isinstance(cell, str) else cell)
    except (TypeError, ValueError):
        return False
    return True


def shortest(cell: Any) -> Any:
    """A float as the shortest text that reads as the same number; other values as they are."""
    return repr(float(cell)).removesuffix(".0") if isinstance(cell, float) else cell


def level_name(cell: Any, decimal: str = ".") -> str:
    """Name of the category that a cell stands for: 1, 1.0 and "1.0" have one, and so have True and "TRUE"."""
    if isinstance(cell, Integral) and not isinstance(cell, bool):
        return str(int(cell))
    text = str(shortest(cell)).strip()
    if text.lower() in BOOLEANS:
        return text.capitalize()
    plain = plain_number(text, decimal) if isinstance(cell, str) else text
    if plain.lstrip("+-").isdigit() or not PLAIN_NUMBER.fullmatch(plain):
        return text
    return str(shortest(float(plain)))


def other_decimal(cell: str, decimal: str) -> str | None:
    """The decimal sign that would make a number of a cell that is none with this one."""
    if decimal == ".":
        return "," if DECIMAL_COMMA.fullmatch(cell) else None
    return "." if PLAIN_NUMBER.fullmatch(cell) and not is_number(cell, decimal) else None


class Cells:
    """The cells of one column: ``numbers`` (NaN where there are none), and which are ``missing``."""

    def __init__(self, series: Any, decimal: str):
        import numpy as np
        import pandas as pd

        self.is_boolean = pd.api.types.is_bool_dtype(series.dtype)  # categories, not quantities
        self.decimal = decimal
        self.is_typed = self.is_boolean or pd.api.types.is_numeric_dtype(series.dtype)
        if self.is_typed:
            self.numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
            self._cells, self.missing = series, np.isnan(self.numbers)
            return
        self._cells = series.astype(object).where(series.notna(), "").astype(str).str.strip()
        self.missing = series.isna().to_numpy(dtype=bool) | self._cells.map(is_missing).to_numpy(dtype=bool)
        plain = self._cells if decimal == "." else self._cells.map(lambda cell: plain_number(cell, decimal))
        self.numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)

    @cached_property
    def names(self) -> Any:
        """The category that each cell stands for."""
        import numpy as np

        names = np.empty(len(self.missing), dtype=object)
        names[:] = [level_name(cell, self.decimal) for cell in self._cells.tolist()]
        return names

    def text(self, row: int) -> str:
        """A cell as it is written."""
        return str(self._cells.iloc[row])

    @property
    def misread(self) -> Any:
        """Which cells would be numbers with another decimal sign."""
        import numpy as np

        return np.array([other_decimal(str(cell), self.decimal) is not None for cell in self._cells])

    @property
    def grouping(self) -> str | None:
        """How points that separate thousands were read, by the first example; None where there is none."""
        if self.decimal == "." or self.is_typed:
            return None
        cells = (cell for cell in self._cells if GROUPED.fullmatch(cell.partition(self.decimal)[0]))
        found = next(cells, None)
        return None if found is None else f"{found} is {float(plain_number(found, self.decimal)):.15g}"
