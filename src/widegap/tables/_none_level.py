"""The word "none": a level among words, a gap elsewhere.

"Other debtors: none" is an answer; "price: none" is a gap. A column is first decided with "none" as a gap. It becomes a
level, in any case of its letters, if the other cells alone make a category and

- most of them are words, which begin with a letter: 12, 00123, <5 and 12 kg are not;
- they are neither dates nor both words for yes and no. "yes" alone is a word like others: "none" is its opposite.

Words that the user calls gaps stay gaps. The decision is kept as a level of the column, so that new rows follow it.
"""

from collections.abc import Callable

import numpy as np

from widegap.tables._columns import MOSTLY, Column, ColumnOptions, decide, joined_notes
from widegap.tables._dates import looks_like_dates
from widegap.tables._values import NONE, Cells


def gaps_of(column: Column, gaps: frozenset[str]) -> frozenset[str]:
    """The words that mean a gap in a column that was decided."""
    return gaps - {NONE} if column.read_as == "category" and NONE in column.levels else gaps


def decide_with_none(name: str, cells_by: Callable[[frozenset[str]], Cells], options: ColumnOptions) -> Column:
    """What one column is, and whether "none" is one of its levels; ``cells_by`` gives its cells by words for gaps."""
    cells = cells_by(options.gaps)
    column = decide(name, cells, options)
    # A constant is one level: beside "none" it is two.
    if options.none_is_gap or column.read_as not in ("category", "constant") or not _are_words(cells):
        return column
    answers = cells_by(options.gaps - {NONE})
    n = int(np.count_nonzero(cells.missing & ~answers.missing))
    found = decide(name, answers, options) if n else column
    if not n or found.read_as != "category":  # it may be one level too many
        return column
    verb = "is" if n == 1 else "are"
    found.why = joined_notes(found.why, f"{n:,} of {cells.n:,} cells {verb} {NONE!r}, a category among words")
    found.change = "na_values"
    return found


def _are_words(cells: Cells) -> bool:
    """Whether some cells are gaps, and most of the others words."""
    if cells.kind != "text" or not cells.missing.any():
        return False
    if cells.truth is not None or looks_like_dates(cells.texts, MOSTLY):
        return False
    is_word = np.array([text[0].isalpha() for text in cells.texts.to_pylist()], dtype=bool)
    return bool(cells.counts[is_word].sum() >= MOSTLY * cells.counts.sum())
