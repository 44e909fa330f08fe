"""Headers of two lines: groups above, often merged cells, and names below; joined as "2023 / sales".

The second line is taken as part of the header if

- each of its filled cells is a word, neither a number nor a word for a gap;
- each column has a name in one of the two lines, and some group reaches over several columns: its cells are empty, or
  repeat it, where the second line has names;
- at least ``FEWEST_NUMBERS`` columns are numbers or dates from the third line on, where the second has a word. A row of
  the table would hold a number there.
"""

from collections.abc import Sequence
from datetime import date, time, timedelta
from typing import Any

from widegap.tables._values import MISSING

FEWEST_NUMBERS = 2  # columns; in one alone, the first row may hold a word such as "too heavy"
MOSTLY_NUMBERS = 0.75  # share of the filled cells of such a column, as for columns that are read as numbers
ROWS_BELOW = 50  # in which the columns are looked at; tables hardly change further down

Line = Sequence[Any]
Spans = list[tuple[int, int]]  # first and last column of merged cells


def joined_header(first: Line, second: Line, below: Sequence[Line], spans: Spans | None = None) -> list[str] | None:
    """Names of the columns from two lines; None if the second is a row of the table.

    ``spans`` are the merged cells of the first line; None if they are not known, and then a group reaches up to the
    next one.
    """
    width = max(len(first), len(second))
    groups, names = _texts(first, width), _texts(second, width)
    if not all(group or name for group, name in zip(groups, names, strict=True)):
        return None
    if any(name and not _is_word(cell) for name, cell in zip(names, _padded(second, width), strict=True)):
        return None
    numbers = [j for j in range(width) if names[j] and _is_column_of_numbers(below[:ROWS_BELOW], j)]
    reaching = _reaching(groups, names, spans)
    if len(numbers) < FEWEST_NUMBERS or not _has_wide_group(reaching, names):
        return None
    return [
        f"{group} / {name}" if group and name else group or name for group, name in zip(reaching, names, strict=True)
    ]


def note_on_header(names: list[str]) -> str:
    """What is said of a header of two lines."""
    shown = next((name for name in names if " / " in name), names[0])
    return f"The header has two lines, which were joined: {shown!r} and so on."


def _reaching(groups: list[str], names: list[str], spans: Spans | None) -> list[str]:
    """The group of every column, also where its cell is empty."""
    found = list(groups)
    for start, end in spans or ():
        if start < len(groups):
            found[start : end + 1] = [groups[start]] * (min(end, len(groups) - 1) - start + 1)
    if not spans:
        present = ""
        for j, (group, name) in enumerate(zip(groups, names, strict=True)):
            present = "" if not name else group or present  # a column without a second name is not a group
            found[j] = present or group
    return found


def _has_wide_group(reaching: list[str], names: list[str]) -> bool:
    """Whether two neighbouring columns with names of their own belong to one group."""
    pairs = zip(range(len(names)), range(1, len(names)), strict=False)
    return any(reaching[i] and reaching[i] == reaching[j] and names[i] and names[j] for i, j in pairs)


def _padded(line: Line, width: int) -> list[Any]:
    return [*line[:width], *[None] * (width - len(line))]


def _texts(line: Line, width: int) -> list[str]:
    return ["" if cell is None else str(cell).strip() for cell in _padded(line, width)]


def _is_word(cell: Any) -> bool:
    return isinstance(cell, str) and not _is_figure(cell) and cell.strip().lower() not in MISSING


def _is_figure(cell: Any) -> bool:
    """Whether a cell is a number or a date, as a spreadsheet or a text file has it."""
    if not isinstance(cell, str):
        return isinstance(cell, int | float | date | time | timedelta)
    digits = sum(sign.isdigit() for sign in cell)
    return digits > 0 and not any(sign.isalpha() for sign in cell)


def _is_column_of_numbers(rows: Sequence[Line], j: int) -> bool:
    cells = [row[j] for row in rows if j < len(row) and row[j] is not None and str(row[j]).strip()]
    return bool(cells) and sum(map(_is_figure, cells)) >= MOSTLY_NUMBERS * len(cells)
