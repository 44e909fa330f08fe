"""What a column of a table is, why, and how to change that: decided once, kept with the model as plain values.

A column is read as a number, a yes/no, a category, a date, a time of day or a text; or it says nothing about groups and
is left out: an id, a constant, an empty column, too many different texts, the result of an earlier run. What the user
asks for goes before every rule.
"""

import re
from typing import Any

import numpy as np

from widegap.exceptions import InvalidDataError
from widegap.tables._date_columns import as_dates
from widegap.tables._decisions import MOSTLY, Column, Wishes, constant, gap_words, mostly, said, words_of
from widegap.tables._number_formats import Numbers
from widegap.tables._values import Cells

MAX_LEVELS = 30  # texts with more different values are names rather than categories, unless asked for
MOST_LEVELS = 1000
WORDY = 3.0  # mean number of words from which different texts are called free text
EXAMPLES = 1000  # cells looked at for one that shows how a column is written
FEWEST_IDS = 5  # rows; fewer different numbers say nothing
NO_NAMES = ("", "unnamed: 0")  # headers of row numbers, which other programs write
ID_WORDS = frozenset(
    "# id ids idx index key no nr num number row rowid rownum uid uuid guid ref reference account acct".split()
)
CODE_WORDS = frozenset(
    "zip zipcode postcode postal plz code codes sku ean isbn gtin fips phone tel telephone mobile fax iban vat".split()
)
TIME_WORDS = frozenset("age date day hour minute month second t time week year yr".split())
MEASURES = frozenset("count of total amount sum qty quantity rooms items orders visits".split())


def decide(name: str, cells: Cells, wishes: Wishes) -> Column:
    """What one column is."""
    if cells.missing.all():
        if wishes.named(name):
            raise InvalidDataError(f"Column {name!r} is empty; leave it out.")
        return Column(name, "empty", used=False, why="no cell holds a value")
    if name in wishes.text_columns:
        return Column(name, "text", why="you asked for its topics", change="drop")
    if name in wishes.categorical:
        return _as_category(name, cells, wishes, "you asked for categories")
    numbers = None if cells.kind in ("truth", "date") else cells.numbers(wishes.decimal, wishes.usual_decimal)
    if name in wishes.numeric:
        return _as_asked_number(name, cells, numbers, wishes)
    found = as_dates(name, cells, wishes) or _as_truth(name, cells)
    if found is None and numbers is not None and mostly(numbers.read, cells) and not _is_code(name, cells, numbers):
        found = _as_number(name, cells, numbers, wishes)
    if found is None:
        _check_decimal(name, cells, wishes)
        found = _as_texts(name, cells, wishes)
    return found


def _check_decimal(name: str, cells: Cells, wishes: Wishes) -> None:
    """Refuse a decimal sign that the user named, where the other one would make numbers of a column."""
    if wishes.decimal is None or cells.kind != "text" or cells.has_leading_zeros:
        return
    other = "," if wishes.decimal == "." else "."
    read = cells.numbers(other).read
    if mostly(read, cells):
        odd = read & ~cells.numbers(wishes.decimal).read
        raise InvalidDataError(
            f"Column {name!r}: {cells.example(odd)[:30]!r} is not a number with {wishes.decimal!r} as decimal sign; "
            f"use {other!r}, or none, so that each column tells its own."
        )


# Numbers ----------------------------------------------------------------------------------------------------------


def _as_asked_number(name: str, cells: Cells, numbers: Numbers | None, wishes: Wishes) -> Column:
    if numbers is None or not numbers.read.any():
        raise InvalidDataError(
            f"Column {name!r} should be read as numbers, but none of its cells is one (the first is "
            f"{cells.example(~cells.missing)[:30]!r}); leave it out of numeric."
        )
    return _number(name, cells, numbers, "you asked for a number")


def _as_number(name: str, cells: Cells, numbers: Numbers, wishes: Wishes) -> Column | None:
    values = numbers.values[numbers.read]
    if not wishes.named(name):
        if (values == values[0]).all():
            return constant(name, cells, cells.example(numbers.read))
        reason = _why_id(name, numbers.values)
        if reason:
            return Column(name, "id", used=False, why=reason, change="numeric")
    return _number(name, cells, numbers, _counting(name, numbers.values))


def _number(name: str, cells: Cells, numbers: Numbers, why: str) -> Column:
    fill = _median(numbers.values[numbers.read])
    is_plain = cells.kind != "text" or (cells.plain is not None and numbers.decimal == ".")
    dressed = "" if is_plain else _shown_reading(cells, numbers)
    gaps = gap_words(cells, numbers.read, f"the median, {fill:g}")
    return Column(
        name, "number", why=said(why, dressed, gaps), change="categorical", fill=fill, decimal=numbers.decimal
    )


def _median(values: Any) -> float:
    """The same as numpy's, which looks for two places at once and for NaN besides."""
    half = len(values) // 2
    parted = np.partition(values, half)
    return float(parted[half] if len(values) % 2 else (parted[:half].max() + parted[half]) / 2)


def _shown_reading(cells: Cells, numbers: Numbers) -> str:
    """An example of a cell that is not written plainly, and the number it stands for; empty if there is none."""
    rows = np.flatnonzero(numbers.read)[:EXAMPLES].tolist()
    signs = [r"[^\d.+eE-]|\..*\."]
    if numbers.decimal == ",":  # a point that parts thousands is what could be misread
        signs.insert(0, r"\.")
    found = (row for sign in signs for row in rows if re.search(sign, str(cells.cell(row)).strip()))
    row = next(found, None)
    if row is None:
        return ""
    comma = "decimal comma, " if numbers.decimal == "," else ""
    return f"{comma}{str(cells.cell(row)).strip()} is {numbers.values[row]:.15g}"


def _why_id(name: str, values: Any) -> str:
    """Why a column of numbers tells rows apart rather than measuring something; empty if it measures."""
    if len(values) < FEWEST_IDS or np.isnan(values).any() or not (values == np.floor(values)).all():
        return ""
    if len(np.unique(values)) < len(values):
        return ""
    words = words_of(name)
    if name.strip().lower() in NO_NAMES or re.fullmatch(r"column \d+", name):
        return "it has no name, and a different whole number in every row"
    if words & MEASURES:
        return ""
    if words & ID_WORDS:
        return "its name says so, and every row has a different whole number"
    low, high = values.min(), values.max()
    if not words & TIME_WORDS and low in (0, 1) and high - low == len(values) - 1:
        return f"it numbers the rows from {low:g} to {high:g}"
    return ""


def _counting(name: str, values: Any) -> str:
    if len(values) >= FEWEST_IDS and (np.diff(values) == 1).all():
        return "it goes up by one from row to row"
    return ""


def _is_code(name: str, cells: Cells, numbers: Numbers) -> bool:
    """Whether whole numbers are names: zip codes, or anything with zeros in front."""
    if cells.kind == "text" and cells.has_leading_zeros:
        return True
    values = numbers.values[numbers.read]
    return bool(words_of(name) & CODE_WORDS) and bool((values == np.floor(values)).all())


# Yes and no -----------------------------------------------------------------------------------------


def _as_truth(name: str, cells: Cells) -> Column | None:
    if cells.truth is None:
        return None
    yes, no = cells.truth
    levels, codes = cells.levels
    if len(levels) == 1:
        return constant(name, cells, levels[0])
    common = yes if np.mean(codes[codes >= 0] == levels.index(yes)) >= 0.5 else no
    gaps = gap_words(cells, codes >= 0, f"the more common answer, {common}")
    why = said(f"the words {yes} and {no}" if cells.kind == "text" else "", gaps)
    return Column(name, "yes/no", why=why, change="drop", fill=float(common == yes), levels=[yes, no])


# Categories and other texts ---------------------------------------------------------------------------------------


def _as_category(name: str, cells: Cells, wishes: Wishes, why: str) -> Column:
    levels, codes = cells.levels
    if len(levels) > MOST_LEVELS:
        raise InvalidDataError(
            f"Column {name!r} has {len(levels):,} different values, too many for categories (at most {MOST_LEVELS:,}); "
            "leave it out."
        )
    gaps = int(np.count_nonzero(codes < 0))
    verbs = "is missing and has" if gaps == 1 else "are missing and have"
    missing = f"{gaps:,} of {cells.n:,} cells {verbs} no category" if gaps else ""
    return Column(name, "category", why=said(why, missing), change="drop", levels=levels)


def _as_texts(name: str, cells: Cells, wishes: Wishes) -> Column:
    levels, codes = cells.levels
    n, present = len(levels), int(np.count_nonzero(codes >= 0))
    if wishes.named(name):
        return _as_category(name, cells, wishes, f"{n} different values")
    if n == 1:
        return constant(name, cells, levels[0])
    words = np.mean([len(level.split()) for level in levels[:1000]])
    if n <= min(MAX_LEVELS, max(2, cells.n // 2)):
        why = f"{n} different values{_code_words(name, cells)}{_mixed_words(cells, wishes)}"
        return _as_category(name, cells, wishes, why)
    if words >= WORDY:
        why = f"free text, {words:.0f} words on average"
        return Column(name, "text", used=False, why=why, change="text_columns")
    if n == present and (words_of(name) & (ID_WORDS | CODE_WORDS) or words < 1.5):
        return Column(name, "id", used=False, why="every row has a different value", change="categorical")
    why = f"{n:,} different values in {present:,} rows, too many for categories{_mixed_words(cells, wishes)}"
    return Column(name, "left out", used=False, why=why, change="categorical" if n <= MOST_LEVELS else "")


def _code_words(name: str, cells: Cells) -> str:
    if cells.kind == "text" and cells.has_leading_zeros:
        return ", codes with leading zeros"
    return ", codes judging by its name" if words_of(name) & CODE_WORDS else ""


def _mixed_words(cells: Cells, wishes: Wishes) -> str:
    """How many cells are numbers, where some are and some are not."""
    if cells.kind != "text":
        return ""
    read = cells.numbers(wishes.decimal, wishes.usual_decimal).read
    share = np.count_nonzero(read) / max(1, np.count_nonzero(~cells.missing))
    return f", and only {100 * share:.0f} % of its cells are numbers" if 0.2 < share < MOSTLY else ""
