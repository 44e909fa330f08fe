"""Columns and tables that lack most of their values.

Filled gaps are all alike, so that a column which is mostly gaps is one value with a few exceptions. A column that lacks
``MOSTLY_LACKING`` of its values is not used unless the user names it.
"""

import math
from collections.abc import Mapping

from widegap.exceptions import InvalidDataError
from widegap.tables._columns import Column, replaced

MOSTLY_LACKING = 0.9  # share of the cells: at nine of ten, filled cells decide every median and deviation
HALF_LACKING = 0.5  # share of all cells of the used columns from which a warning is given


def unused_if_lacking(column: Column, share: float) -> Column:
    """The decision on a column that lacks a share of its values, and is not used if that is nearly all."""
    if not column.used or share < MOSTLY_LACKING:
        return column
    change = "numeric" if column.read_as == "number" else "categorical" if column.is_flag else ""
    return replaced(column, column.read_as, f"lacks {whole_percent(share)} of its values", change)


def refuse_if_all_lack(shares: Mapping[str, float]) -> None:
    """Refuse a table without a column to use, if all are nearly empty; ``shares`` of missing cells by name."""
    if shares and min(shares.values()) >= MOSTLY_LACKING:
        shown = ", ".join(f"{name!r} {whole_percent(share)}" for name, share in list(shares.items())[:5])
        raise InvalidDataError(
            f"Every column lacks {whole_percent(MOSTLY_LACKING)} or more of its values ({shown}); fill some in, or "
            "name the columns to use all the same in numeric or categorical."
        )


def note_on_gaps(n_missing: int, n_cells: int) -> str:
    """A note on a table that lacks more than half of the cells of its used columns; empty if it does not."""
    if n_missing <= HALF_LACKING * n_cells:
        return ""
    return (
        f"The columns that are used lack {whole_percent(n_missing / n_cells)} of their values. Gaps are filled with "
        "medians, so that clusters may show which cells are missing; leave out columns with many gaps."
    )


def note_on_empty_rows(n: int) -> str:
    """A note on rows that lack every value that is used; empty if there are none."""
    if n == 0:
        return ""
    if n == 1:
        return "1 row lacks every value that is used and holds filled cells alone. Leave it out before the fit."
    return f"{n:,} rows lack every value that is used; filled, they are all alike. Leave them out before the fit."


def whole_percent(share: float) -> str:
    """A share in whole percent, rounded down: 100 % is all."""
    return f"{math.floor(100 * share + 1e-9)} %"
