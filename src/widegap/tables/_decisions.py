"""What is decided of a column: a record of plain values that a model file holds, and words for people."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widegap.tables._text_topics import Topics
from widegap.tables._values import MISSING, Cells

MOSTLY = 0.75  # share of the cells that decides what a column is; the others count as missing


@dataclass
class Column:
    """How one column is read.

    Attributes
    ----------
    name : str
    read_as : str
        "number", "yes/no", "category", "date", "time", "text"; or "id", "constant", "empty", "result", "left out".
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


def column_from(state: Any) -> Column:
    """A column from plain values, as a model file holds them."""
    topics = None if state["topics"] is None else Topics(**state["topics"])
    found = Column(**{**state, "topics": topics})
    texts = (found.name, found.read_as, found.why, found.change, found.decimal, found.form, found.origin)
    if not isinstance(found.levels, list) or not isinstance(found.parts, list) or type(found.used) is not bool:
        raise TypeError("lists and a truth value are expected in columns")
    if not all(isinstance(text, str) for text in (*texts, *found.levels, *found.parts)):
        raise TypeError("texts are expected in columns")
    if topics is not None:
        topics.check()
    if found.used and not _can_be_read(found):
        raise ValueError(f"column {found.name!r:.40} cannot be read as {found.read_as!r:.40}")
    return found


def _can_be_read(column: Column) -> bool:
    """Whether a column has what its kind needs to become numbers."""
    if column.topics is not None or column.read_as == "category":
        return True
    if column.read_as == "date" and not column.parts:
        np.datetime64(column.origin, "D")  # raises ValueError if it is no date
    kinds = {"number": column.decimal in (".", ","), "yes/no": len(column.levels) == 2, "date": True, "time": True}
    return type(column.fill) in (int, float) and kinds.get(column.read_as, False)


@dataclass(frozen=True)
class Wishes:
    """What the user said about columns, and what the table as a whole says about decimal signs."""

    columns: Sequence[str] = ()
    numeric: Sequence[str] = ()
    categorical: Sequence[str] = ()
    text_columns: Sequence[str] = ()
    decimal: str | None = None
    usual_decimal: str = "."
    dates: str = "elapsed"
    gaps: frozenset[str] = MISSING

    def named(self, name: str) -> bool:
        """Whether the user asked for a column by name."""
        return name in self.columns or name in self.numeric or name in self.categorical or name in self.text_columns


def words_of(name: str) -> set[str]:
    """The words of a header in lower case: "Row No.", "row_no" and "rowNo" have the same."""
    return set(re.findall(r"#|[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def mostly(read: Any, cells: Cells) -> bool:
    """Whether most cells that hold anything can be read."""
    present = cells.n - int(cells.missing.sum())
    return int((read & ~cells.missing).sum()) >= MOSTLY * present


def said(*parts: str) -> str:
    """What there is to say, in one line."""
    return "; ".join(part for part in parts if part)


def gap_words(cells: Cells, read: Any, fill: str) -> str:
    """What to say of cells without a value, and of cells that are something else than the rest."""
    n, odd = int(cells.missing.sum()), ~read & ~cells.missing
    wrong = int(odd.sum())
    parts = []
    if wrong:
        verb = "is" if wrong == 1 else "are"
        parts.append(f"{wrong:,} of {cells.n:,} cells {verb} something else ({cells.example(odd)[:30]!r}) and {verb} "
                     f"treated as missing")  # fmt: skip
    if n:
        parts.append(f"{n:,} of {cells.n:,} cells {'is' if n == 1 else 'are'} missing")
    return said(*parts, f"gaps filled with {fill}" if parts else "")


def constant(name: str, cells: Cells, value: str) -> Column:
    """A column that says the same of every row."""
    gaps = " where it has one" if cells.missing.any() else ""
    return Column(name, "constant", used=False, why=f"every row has the same value{gaps}, {value[:30]!r}")
