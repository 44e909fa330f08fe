"""What a column of a table is, why, and how to change that: decided once, kept with the model as plain values.

A column is read as a number, a yes/no, a category, a date, a time of day or a text. It is left out if it cannot tell
groups apart: an id, a constant, an empty column, too many different texts, the result of an earlier run. Options of the
user come before every rule.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from widegap._types import Doubles, Mask
from widegap.exceptions import InvalidDataError
from widegap.tables._dates import (
    DATES_TRIED,
    date_part,
    days_in,
    find_format,
    hours_in,
    looks_like_dates,
    looks_like_times,
)
from widegap.tables._ids import CODE_WORDS, FEWEST_IDS, MOSTLY_DIFFERENT, is_id_name, why_id, words_of
from widegap.tables._number_formats import Numbers
from widegap.tables._number_units import mixed_unit_words, one_unit
from widegap.tables._text_topics import Topics
from widegap.tables._values import MISSING, Cells

MOSTLY = 0.75  # share of the cells that decides what a column is; the others count as missing
MAX_LEVELS = 30  # texts with more different values are names rather than categories, unless asked for: not tuned
MOST_CATEGORIES = 1000  # columns of 0 and 1 that one column may become, even if asked for: 8 KB a row
WORDY = 3.0  # mean number of words from which different texts are called free text
CELLS_SEARCHED = 1000  # cells looked at for one that shows how a column is written
DATE_WORDS = frozenset("date day datum tag since until dob birth birthday born".split())
DATE_PARTS = ("year", "month", "weekday", "hour")


@dataclass
class Column:
    """How one column is read.

    Attributes
    ----------
    name : str
    read_as : str
        "number", "yes/no", "category", "date", "time", "text"; or "id", "constant", "empty", "repeat", "result",
        "left out".
    used : bool
    why : str
        The reason, in words.
    change : str
        The parameter of :class:`TableEncoder` that changes it.
    fill : float or None
        What a gap gets.
    levels : list of str
        Categories; for yes/no the two words.
    decimal, form, origin : str
        Decimal sign; format of dates; first date, as ISO 8601.
    parts : list of str
        Parts of dates that became columns; empty if that is the time since ``origin``.
    topics : Topics or None
        What a free text is about.
    unit : str
        What stands behind the numbers in the cells, such as "kg"; empty if nothing does.
    """

    name: str
    read_as: str
    used: bool = True
    why: str = ""
    change: str = ""
    fill: float | None = None
    levels: list[str] = field(default_factory=list)
    decimal: str = "."
    form: str = ""
    origin: str = ""
    parts: list[str] = field(default_factory=list)
    topics: Topics | None = None
    unit: str = ""

    @property
    def names(self) -> list[str]:
        """Names of the columns of numbers that it becomes."""
        if not self.used:
            return []
        if self.topics is not None:
            return [f"{self.name}: {topic}" for topic in self.topics.names]
        if self.read_as == "category":
            return [f"{self.name} = {level}" for level in self.levels]
        if self.read_as == "date":
            return [f"{self.name}: {part}" for part in self.parts] or [f"{self.name} (days since {self.origin})"]
        if self.read_as == "yes/no":
            return [f"{self.name} = {self.levels[0]}"]
        return [f"{self.name} (hours)" if self.read_as == "time" else self.name]

    @property
    def is_flag(self) -> bool:
        """Whether its numbers are 0 and 1 for lack of a unit."""
        return self.read_as in ("category", "yes/no")


@dataclass(frozen=True)
class ColumnOptions:
    """What the user asks of columns, and the decimal sign that most of the table has."""

    columns: Sequence[str] = ()
    numeric: Sequence[str] = ()
    categorical: Sequence[str] = ()
    text_columns: Sequence[str] = ()
    decimal: str | None = None
    usual_decimal: str = "."
    dates: str = "elapsed"
    gaps: frozenset[str] = MISSING
    none_is_gap: bool = False  # in every column, as the user says

    def named(self, name: str) -> bool:
        """Whether the user asked for a column by name."""
        return name in self.columns or name in self.numeric or name in self.categorical or name in self.text_columns


def decide(name: str, cells: Cells, options: ColumnOptions) -> Column:
    """What one column is."""
    if cells.missing.all():
        if options.named(name):
            raise InvalidDataError(f"Column {name!r} is empty; leave it out.")
        return Column(name, "empty", used=False, why="no cell holds a value")
    if name in options.text_columns:
        return Column(name, "text", why="you asked for its topics", change="drop")
    if name in options.categorical:
        return _as_category(name, cells, options, "you asked for categories")
    numbers = None if cells.kind in ("truth", "date") else cells.numbers(options.decimal, options.usual_decimal)
    unit = ""
    if numbers is not None and cells.kind == "text" and not (numbers.read | cells.missing).all():
        unit = one_unit(cells.units, int((~cells.missing).sum()))
        numbers = cells.numbers(options.decimal, options.usual_decimal, unit) if unit else numbers
    if name in options.numeric:
        return _as_asked_number(name, cells, numbers, unit)
    found = _as_dates(name, cells, options) or _as_truth(name, cells)
    if found is None and numbers is not None and mostly(numbers.read, cells) and not _is_code(name, cells, numbers):
        found = _as_number(name, cells, numbers, unit, options)
    if found is None:
        _check_decimal(name, cells, unit, options)
        found = _as_texts(name, cells, options)
    return found


def _check_decimal(name: str, cells: Cells, unit: str, options: ColumnOptions) -> None:
    """Refuse a decimal sign that the user named, where the other one would read a column as numbers."""
    if options.decimal is None or cells.kind != "text" or cells.has_leading_zeros:
        return
    other = "," if options.decimal == "." else "."
    read = cells.numbers(other, unit=unit).read
    if mostly(read, cells):
        odd = read & ~cells.numbers(options.decimal, unit=unit).read
        raise InvalidDataError(
            f"Column {name!r}: {cells.example(odd)[:30]!r} is not a number with {options.decimal!r} as decimal sign; "
            f"use {other!r}, or 'auto', which finds the sign of each column."
        )


# Numbers ----------------------------------------------------------------------------------------------------------


def _as_asked_number(name: str, cells: Cells, numbers: Numbers | None, unit: str) -> Column:
    if numbers is None or not numbers.read.any():
        raise InvalidDataError(
            f"Column {name!r} should be read as numbers, but none of its cells is a number (the first is "
            f"{cells.example(~cells.missing)[:30]!r}); leave it out of numeric."
        )
    return _number(name, cells, numbers, unit, "you asked for a number")


def _as_number(name: str, cells: Cells, numbers: Numbers, unit: str, options: ColumnOptions) -> Column | None:
    values = numbers.values[numbers.read]
    if not options.named(name):
        if (values == values[0]).all():
            return constant_column(name, cells, cells.example(numbers.read))
        reason = why_id(name, numbers.values)
        if reason:
            return Column(name, "id", used=False, why=reason, change="numeric")
    return _number(name, cells, numbers, unit, counting(numbers.values))


def _number(name: str, cells: Cells, numbers: Numbers, unit: str, why: str) -> Column:
    fill = median(numbers.values[numbers.read])
    is_plain = cells.kind != "text" or (cells.plain is not None and numbers.decimal == ".")
    dressed = "" if is_plain else _shown_reading(cells, numbers)
    gaps = gap_words(cells, numbers.read, f"the median, {fill:g}")
    why = joined_notes(why, f"in {unit}" if unit else "", dressed, gaps)
    return Column(name, "number", why=why, change="categorical", fill=fill, decimal=numbers.decimal, unit=unit)


def median(values: Doubles) -> float:
    """The same as numpy's, which looks for two places at once and for NaN besides."""
    half = len(values) // 2
    parted = np.partition(values, half)
    return float(parted[half] if len(values) % 2 else (parted[:half].max() + parted[half]) / 2)


def _shown_reading(cells: Cells, numbers: Numbers) -> str:
    """An example of a cell that is not written plainly, and the number it stands for; empty if there is none."""
    rows = np.flatnonzero(numbers.read)[:CELLS_SEARCHED].tolist()
    signs = [r"[^\d.+eE-]|\..*\."]
    if numbers.decimal == ",":  # a point that parts thousands is what could be misread
        signs.insert(0, r"\.")
    found = (row for sign in signs for row in rows if re.search(sign, str(cells.cell(row)).strip()))
    row = next(found, None)
    if row is None:
        return ""
    comma = "decimal comma, " if numbers.decimal == "," else ""
    return f"{comma}{str(cells.cell(row)).strip()} is {numbers.values[row]:.15g}"


def counting(values: Doubles) -> str:
    if len(values) >= FEWEST_IDS and (np.diff(values) == 1).all():
        return "it goes up by one from row to row"
    return ""


def _is_code(name: str, cells: Cells, numbers: Numbers) -> bool:
    """Whether whole numbers are names: zip codes, or anything with zeros in front."""
    if cells.kind == "text" and cells.has_leading_zeros:
        return True
    values = numbers.values[numbers.read]
    return bool(words_of(name) & CODE_WORDS) and bool((values == np.floor(values)).all())


# Dates and times of day ---------------------------------------------------------------------------------------------


def _as_dates(name: str, cells: Cells, options: ColumnOptions) -> Column | None:
    """A column of dates or times; None if it is neither."""
    if cells.kind == "date":
        return _date(name, cells, cells.numbers(None).values, "", "", options)
    if cells.kind != "text":
        return None
    if cells.plain is not None:
        return _as_digit_dates(name, cells, cells.plain[~cells.missing], options)
    if looks_like_times(cells.first_texts(DATES_TRIED), MOSTLY):
        hours = hours_in(cells)
        if mostly(~np.isnan(hours), cells):
            fill = float(np.nanmedian(hours))
            why = joined_notes("times of day", gap_words(cells, ~np.isnan(hours), f"the median, {fill:.4g} h"))
            return Column(name, "time", why=why, change="categorical", fill=fill)
    if not looks_like_dates(cells.first_texts(DATES_TRIED), MOSTLY):
        return None
    form, ambiguous = find_format(cells.texts)
    if not form:
        return None
    note = "day and month could be the other way round; read as " + ("month/day" if form[1] == "m" else "day/month")
    return _date(name, cells, days_in(cells, form), form, note if ambiguous else "", options)


def _as_digit_dates(name: str, cells: Cells, values: Doubles, options: ColumnOptions) -> Column | None:
    """Whole numbers such as 20240131 under a name that mentions dates."""
    if not words_of(name) & DATE_WORDS or not ((values >= 19000101) & (values <= 21001231)).all():
        return None
    return _date(name, cells, days_in(cells, "%Y%m%d"), "%Y%m%d", "", options)


def _date(name: str, cells: Cells, days: Doubles, form: str, note: str, options: ColumnOptions) -> Column | None:
    read = ~np.isnan(days)
    if not mostly(read, cells):
        return None
    if np.ptp(days[read]) == 0 and not options.named(name):
        return constant_column(name, cells, cells.example(read))
    origin = np.datetime64(int(np.floor(np.nanmin(days))), "D")
    fill = float(np.nanmedian(days))
    shown = np.datetime64(int(fill), "D")
    wanted = DATE_PARTS if options.dates == "parts" else ()
    parts = [part for part in wanted if len(np.unique(date_part(days[read], part))) > 1]
    what = f"dates from {origin} to {np.datetime64(int(np.nanmax(days)), 'D')}"
    why = joined_notes(what, note, gap_words(cells, read, f"the median, {shown}"))
    return Column(name, "date", why=why, change="dates", fill=fill, form=form, origin=str(origin), parts=parts)


# Yes and no -----------------------------------------------------------------------------------------


def _as_truth(name: str, cells: Cells) -> Column | None:
    if cells.truth is None:
        return None
    yes, no = cells.truth
    levels, codes = cells.levels
    if len(levels) == 1:
        return constant_column(name, cells, levels[0])
    common = yes if np.mean(codes[codes >= 0] == levels.index(yes)) >= 0.5 else no
    gaps = gap_words(cells, codes >= 0, f"the more common answer, {common}")
    why = joined_notes(f"the words {yes} and {no}" if cells.kind == "text" else "", gaps)
    return Column(name, "yes/no", why=why, change="drop", fill=float(common == yes), levels=[yes, no])


# Categories and other texts ---------------------------------------------------------------------------------------


def _as_category(name: str, cells: Cells, options: ColumnOptions, why: str) -> Column:
    levels, codes = cells.levels
    if len(levels) > MOST_CATEGORIES:
        raise InvalidDataError(
            f"Column {name!r} has {len(levels):,} different values, too many for categories (at most "
            f"{MOST_CATEGORIES:,}); leave it out."
        )
    gaps = int(np.count_nonzero(codes < 0))
    verbs = "is missing and has" if gaps == 1 else "are missing and have"
    missing = f"{gaps:,} of {cells.n:,} cells {verbs} no category" if gaps else ""
    return Column(name, "category", why=joined_notes(why, missing), change="drop", levels=levels)


def _as_texts(name: str, cells: Cells, options: ColumnOptions) -> Column:
    levels, codes = cells.levels
    n, present = len(levels), int(np.count_nonzero(codes >= 0))
    if options.named(name):
        return _as_category(name, cells, options, f"{n} different values")
    if n == 1:
        return constant_column(name, cells, levels[0])
    words = np.mean([len(level.split()) for level in levels[:1000]])
    if n <= min(MAX_LEVELS, max(2, cells.n // 2)):
        why = f"{n} different values{_code_words(name, cells)}{_mixed_words(cells, options)}"
        return _as_category(name, cells, options, why)
    if words >= WORDY:
        why = f"free text, {words:.0f} words on average"
        return Column(name, "text", used=False, why=why, change="text_columns")
    is_named_id = is_id_name(name) or bool(words_of(name) & CODE_WORDS)
    if n >= MOSTLY_DIFFERENT * present if is_named_id else n == present and words < 1.5:
        every = "every" if n == present else "nearly every"
        return Column(name, "id", used=False, why=f"{every} row has a different value", change="categorical")
    why = f"{n:,} different values in {present:,} rows, too many for categories{_mixed_words(cells, options)}"
    return Column(name, "left out", used=False, why=why, change="categorical" if n <= MOST_CATEGORIES else "")


def _code_words(name: str, cells: Cells) -> str:
    if cells.kind == "text" and cells.has_leading_zeros:
        return ", codes with leading zeros"
    return ", codes judging by its name" if words_of(name) & CODE_WORDS else ""


def _mixed_words(cells: Cells, options: ColumnOptions) -> str:
    """How many cells are numbers, where some are and some are not; or which units they have, if these differ."""
    if cells.kind != "text":
        return ""
    read = cells.numbers(options.decimal, options.usual_decimal).read
    share = int(read.sum()) / max(1, int((~cells.missing).sum()))
    if 0.2 < share < MOSTLY:
        return f", and only {100 * share:.0f} % of its cells are numbers"
    return mixed_unit_words(cells.units, int((~cells.missing).sum()))


# Words -----------------------------------------------------------------------------------------------------------


def mostly(read: Mask, cells: Cells) -> bool:
    """Whether most cells that hold anything can be read."""
    present = cells.n - int(cells.missing.sum())
    return int((read & ~cells.missing).sum()) >= MOSTLY * present


def joined_notes(*parts: str) -> str:
    """The parts that are not empty, in one line."""
    return "; ".join(part for part in parts if part)


def gap_words(cells: Cells, read: Mask, fill: str) -> str:
    """A note on cells without a value, and on cells of another kind than the rest."""
    n, odd = int(cells.missing.sum()), ~read & ~cells.missing
    wrong = int(odd.sum())
    other = ""
    if wrong:
        verb = "is" if wrong == 1 else "are"
        example = cells.example(odd)[:30]
        other = f"{wrong:,} of {cells.n:,} cells {verb} something else ({example!r}) and {verb} treated as missing"
    return gap_note(other, n, cells.n, fill)


def gap_note(other: str, n: int, n_cells: int, fill: str) -> str:
    """The same, from a note on cells of another kind and the number of cells without a value."""
    missing = f"{n:,} of {n_cells:,} cells {'is' if n == 1 else 'are'} missing" if n else ""
    return joined_notes(other, missing, f"gaps filled with {fill}" if other or n else "")


def replaced(column: Column, read_as: str, why: str, change: str) -> Column:
    """A column that another rule leaves out after all."""
    return replace(column, read_as=read_as, used=False, why=why, change=change)


def constant_column(name: str, cells: Cells, value: str) -> Column:
    """A column with the same value in every row."""
    return constant(name, value, has_gaps=bool(cells.missing.any()))


def constant(name: str, value: str, *, has_gaps: bool) -> Column:
    """The same, where the value and whether there are gaps is known."""
    gaps = " where it has one" if has_gaps else ""
    return Column(name, "constant", used=False, why=f"every row has the same value{gaps}, {value[:30]!r}")
