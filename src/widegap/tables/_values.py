"""The cells of one column, whatever holds them: gaps, numbers, names of categories, truth values.

Texts are read once for each different one. Words that mean a gap, spaces around a cell and the type in which a file
holds a column make no difference: 1, 1.0 and "1.0" are the same number and the same category; so are True and "true".
"""

import re
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from widegap._types import Doubles, Ints, Mask
from widegap.exceptions import InvalidDataError
from widegap.tables._arrow_tables import arrow_column, is_numeric, shortest, texts_of_objects
from widegap.tables._number_formats import Numbers, bytes_of, is_digit, read_numbers, read_plain
from widegap.tables._number_units import units_in, without_unit

if TYPE_CHECKING:
    import pandas as pd

NONE = "none"  # a gap, but for columns of words
MISSING = frozenset(
    {"", "na", "n/a", "#n/a", "nan", "null", NONE, "nil", "?", "-", "--", "–", "—", ".", "unknown", "missing", "n.a.",
     "n.a", "not available", "not applicable", "<na>", "nat", "k.a.", "unbekannt", "#div/0!", "#value!", "#ref!"}
)  # fmt: skip
TRUTH_WORDS = (
    ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off"), ("ja", "nein"), ("j", "n"), ("oui", "non"),
    ("si", "no"), ("sí", "no"), ("sim", "não"), ("wahr", "falsch"), ("vrai", "faux"), ("tak", "nie"), ("1", "0"),
)  # fmt: skip
TEXTS_AT_ONCE = 1 << 16  # of which a copy is made
CELLS_TRIED = 4096  # by which a column is taken to hold another text in nearly every cell
SHARE_APART = 0.75  # of these cells that are different then; not tuned
MOST_TRUTH_WORDS = 6  # three spellings of each of two words, such as yes, Yes and YES
PLAIN_NUMBER = re.compile(r"[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d{1,2})?")


def missing_words(more: Iterable[Any] = ()) -> frozenset[str]:
    """Words that mean a gap, with those of the user, in lower case."""
    return MISSING | stated_words(more)


def stated_words(words: Iterable[Any]) -> frozenset[str]:
    """Words of the user as they are compared: in lower case, without spaces around them."""
    return frozenset(str(word).strip().lower() for word in words)


@cache  # every column asks for the same words
def gap_numbers(words: frozenset[str]) -> Doubles:
    """The numbers among words that mean a gap, such as -99."""
    return np.array([float(word) for word in words if PLAIN_NUMBER.fullmatch(word)])


def level_name(text: str) -> str:
    """Name of the category that a text stands for: "1.0" and "1.00" have the same, and so have "true" and "TRUE"."""
    if text.lower() == NONE:
        return NONE
    if text.lower() in ("true", "false"):
        return text.capitalize()
    if text.lstrip("+-").isdigit() or not PLAIN_NUMBER.fullmatch(text):
        return text
    return str(shortest(float(text)))


class Cells:
    """The cells of one column.

    ``kind`` is "number", "truth", "date" or "text": what the column's type says before its texts are looked at.
    """

    def __init__(self, column: Any, gaps: frozenset[str] = MISSING):
        self._gap_words = gaps
        self._gap_numbers = gap_numbers(gaps)
        self._column = arrow_column(column)
        self._numbers: dict[tuple[str | None, str, str], Numbers] = {}
        self._dates: dict[str, Doubles] = {}
        self.kind = _kind(self._column.type)
        self.n = len(self._column)
        if self.kind != "text":
            self._typed = as_floats(self._column, self.kind)
            if self.kind == "number":
                self._typed = self._without_gap_numbers(self._typed)

    # Texts -----------------------------------------------------------------------------------------------------

    @cached_property
    def strings(self) -> pa.StringArray:
        """The cells as they are written."""
        return _as_strings(self._column)

    @cached_property
    def _dictionary(self) -> pa.DictionaryArray | None:
        """The cells of a column that holds each text once; None if others do not, or some texts are in no cell."""
        if not pa.types.is_dictionary(self._column.type) or not pa.types.is_string(self._column.type.value_type):
            return None
        column = self._column.unify_dictionaries()
        if not self.n:
            return None
        found: pa.DictionaryArray = pa.concat_arrays(column.chunks)
        used = pc.unique(found.indices.drop_null())
        return found if len(used) == len(found.dictionary) and not found.dictionary.null_count else None

    @property
    def _written(self) -> pa.StringArray:
        """Texts of which every one is in a cell, and every cell has one."""
        return self.strings if self._dictionary is None else self._dictionary.dictionary

    @cached_property
    def _encoded(self) -> tuple[pa.StringArray, Ints]:
        """The different texts without spaces around them, and which of them every cell has; -1 for gaps."""
        found = self.strings.dictionary_encode() if self._dictionary is None else self._dictionary
        return self._without_gaps(found)

    def _without_gaps(self, found: pa.DictionaryArray) -> tuple[pa.StringArray, Ints]:
        codes = found.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        texts = pc.utf8_trim_whitespace(found.dictionary)
        if not texts.equals(found.dictionary):  # texts that differed in their spaces alone become one
            trimmed = texts.dictionary_encode()
            texts = trimmed.dictionary
            codes = np.append(trimmed.indices.to_numpy(zero_copy_only=False), -1)[codes]
        gap = self._are_gaps(texts)
        if gap.any():
            place = np.append(np.where(gap, -1, np.cumsum(~gap) - 1), -1)
            codes, texts = place[codes], pc.filter(texts, pa.array(~gap))
        return texts, _short(codes, len(texts))

    def _are_gaps(self, texts: pa.StringArray) -> Mask:
        """Which texts, without spaces around them, are words that mean a gap."""
        words = pa.array(sorted(self._gap_words), pa.string())
        some = (texts.slice(i, TEXTS_AT_ONCE) for i in range(0, len(texts), TEXTS_AT_ONCE))
        found = [pc.is_in(pc.utf8_lower(part), words).to_numpy(zero_copy_only=False) for part in some]
        return np.concatenate(found).astype(bool) if found else np.zeros(0, dtype=bool)

    @cached_property
    def _apart(self) -> tuple[pa.StringArray, Mask] | None:
        """Where nearly every cell is another text: those of all cells without spaces, and which cells have one.

        To find the different ones among them takes longer than to read each. None for other columns.
        """
        first = self.strings.slice(0, CELLS_TRIED) if self._dictionary is None else ()
        if len(first) < CELLS_TRIED or len(pc.unique(first)) < SHARE_APART * CELLS_TRIED:
            return None
        texts = pc.utf8_trim_whitespace(pc.fill_null(self.strings, ""))
        texts = self.strings if texts.equals(self.strings) else texts
        present = ~self._are_gaps(texts)
        return (texts if present.all() else pc.filter(texts, pa.array(present))), present

    def first_texts(self, n: int) -> pa.StringArray:
        """The first n of ``texts``, found in the first cells where that is enough."""
        size = 2 * n
        while self._dictionary is None and "_encoded" not in self.__dict__ and size < self.n:
            texts, _ = self._without_gaps(self.strings.slice(0, size).dictionary_encode())
            if len(texts) >= n:
                return texts.slice(0, n)
            size *= 4
        return self.texts.slice(0, n)

    def forget_texts(self) -> None:
        """Drop the texts, but not what they were found to mean; they are got again where they are asked for."""
        few = self.kind == "text" and self._dictionary is not None
        for name in ("strings", "_apart", *(("plain",) if few else ())):
            self.__dict__.pop(name, None)
        if few:  # whose meaning is found again at once
            self._numbers.clear()
            self._dates.clear()

    @property
    def texts(self) -> pa.StringArray:
        """The different texts without those that mean a gap."""
        return self._encoded[0]

    @property
    def codes(self) -> Ints:
        """Which of ``texts`` each cell has; -1 for gaps."""
        return self._encoded[1]

    @cached_property
    def counts(self) -> Ints:
        """How many cells have each of ``texts``."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    def spread(self, values: npt.ArrayLike) -> Doubles:
        """Values of the different texts as values of the cells; NaN for gaps."""
        return np.append(values, np.nan)[self.codes]

    def dates(self, form: str, read: Callable[[pa.StringArray], npt.ArrayLike]) -> Doubles:
        """Values of the cells that ``read`` finds in texts of a format, which is read once."""
        if form not in self._dates:
            self._dates[form] = self.spread(read(self.texts))
        return self._dates[form]

    # What cells mean -------------------------------------------------------------------------------------------

    @cached_property
    def plain(self) -> Doubles | None:
        """All cells as numbers if every one is a gap or a number as programs write it; None otherwise."""
        if self.kind != "text":
            return self._typed if self.kind == "number" else None
        if self.has_leading_zeros:
            return None
        cells, empty = self._written, pc.equal(self._written, "")
        if pc.any(empty).as_py():
            cells = pc.if_else(empty, pa.scalar(None, cells.type), cells)
        found = None if cells.null_count == len(cells) else read_plain(cells)
        if found is not None and self._dictionary is not None:
            found = np.append(found, np.nan)[self._dictionary.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
        return None if found is None else self._without_gap_numbers(found)

    def _without_gap_numbers(self, values: Doubles) -> Doubles:
        """The values, NaN where one of them means a gap."""
        if not len(self._gap_numbers):
            return values
        return np.where(np.isin(values, self._gap_numbers), np.nan, values)

    @cached_property
    def has_leading_zeros(self) -> bool:
        """Whether some texts are digits with leading zeros, as in codes: 00123."""
        content, offsets = bytes_of(self._written)
        if not len(content):
            return False
        zeros = np.flatnonzero(content[np.minimum(offsets[:-1], len(content) - 1)] == ord("0"))
        zeros = zeros[offsets[zeros + 1] - offsets[zeros] > 1]
        zeros = zeros[is_digit(content[offsets[zeros] + 1])]
        if not len(zeros):
            return False
        return bool(pc.any(pc.match_substring_regex(self._written.take(pa.array(zeros)), r"^0\d+$")).as_py())

    def numbers(self, decimal: str | None, usual: str = ".", unit: str = "") -> Numbers:
        """The numbers of the cells, in ``unit`` if that is behind them; NaN for gaps and for texts that are none."""
        if (decimal, usual, unit) not in self._numbers:
            self._numbers[decimal, usual, unit] = self._read_numbers(decimal, usual, unit)
        return self._numbers[decimal, usual, unit]

    @cached_property
    def units(self) -> dict[str, int]:
        """How many cells have each unit behind a number, the most common first; empty if most have none."""
        return units_in(self.texts, self.counts) if self.kind == "text" and self.plain is None else {}

    def _read_numbers(self, decimal: str | None, usual: str, unit: str) -> Numbers:
        if self.kind != "text":
            return Numbers(self._typed, ".")
        point_is_thousands = "," in (decimal, usual) and bool(pc.any(pc.match_substring(self._written, ".")).as_py())
        if self.plain is not None and not point_is_thousands:
            return Numbers(self.plain, usual if decimal is None else decimal)
        texts, present = self._apart or (self.texts, None)
        counts = self.counts if present is None else np.ones(len(texts), np.int64)
        found = read_numbers(without_unit(texts, unit) if unit else texts, counts, decimal, usual)
        if present is None:
            values = self.spread(found.values)
        else:
            values = np.full(self.n, np.nan)
            values[present] = found.values
        spread = Numbers(values, found.decimal)
        self._numbers[found.decimal, ".", unit] = spread  # as it will be asked for once its sign is known
        return spread

    @cached_property
    def missing(self) -> Mask:
        """Which cells are gaps."""
        if self.kind != "text":
            return np.isnan(self._typed)
        if self.plain is not None:
            return np.isnan(self.plain)
        return self.codes < 0 if self._apart is None else ~self._apart[1]

    @cached_property
    def levels(self) -> tuple[list[str], Ints]:
        """Names of the categories, sorted, and which each cell has; -1 for gaps."""
        if self.kind == "text":
            names = np.array([level_name(text) for text in self.texts.to_pylist()], dtype=object)
            codes = self.codes
        elif self.kind == "truth":
            names, codes = np.array(["False", "True"], dtype=object), np.nan_to_num(self._typed, nan=-1).astype(int)
        else:
            distinct, codes = np.unique(self._typed, return_inverse=True)
            names = np.array([str(shortest(float(value))) for value in distinct], dtype=object)
            codes = np.where(self.missing, -1, codes)
        if not len(names):
            return [], codes
        found, place = np.unique(names.astype(str), return_inverse=True)
        place = np.append(place, -1)[codes]
        present = np.bincount(place[place >= 0], minlength=len(found)) > 0
        order = np.append(np.where(present, np.cumsum(present) - 1, -1), -1)
        return found[present].tolist(), _short(order[place], len(found))

    @cached_property
    def truth(self) -> tuple[str, str] | None:
        """The words for yes and no, if the cells hold no others; in the spelling of the column."""
        if self.kind == "truth":
            return "True", "False"
        is_words = (
            self.kind == "text"
            and self.plain is None
            and len(self.first_texts(MOST_TRUTH_WORDS + 1)) <= MOST_TRUTH_WORDS
        )
        names = self.levels[0] if is_words else []
        spelled = {name.lower(): name for name in names}
        for yes, no in TRUTH_WORDS[:-1]:
            if len(spelled) == 2 and set(spelled) == {yes, no}:
                return spelled[yes], spelled[no]
        return None

    def example(self, wrong: Mask) -> str:
        """The first cell, as it is written, among those that a mask marks."""
        return str(self.cell(int(np.flatnonzero(wrong)[0])))

    def cell(self, row: int) -> Any:
        """A cell as it is written."""
        return (
            self.strings[row].as_py() if self.kind == "text" and self._dictionary is None else self._column[row].as_py()
        )


def _short(codes: Ints, n: int) -> Ints:
    """Codes from -1 to n - 1 in as few bytes as they need."""
    kind = next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if n <= np.iinfo(kind).max)
    return codes.astype(kind, copy=False)


def truth_value(name: str) -> float:
    """1 for a word that means yes, 0 for one that means no, NaN for others."""
    word = name.strip().lower()
    for yes, no in (*TRUTH_WORDS, ("1.0", "0.0")):
        if word in (yes, no):
            return float(word == yes)
    return np.nan


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "truth"
    if is_numeric(kind):
        return "number"
    return "date" if pa.types.is_timestamp(kind) or pa.types.is_date(kind) else "text"


def as_floats(column: pa.ChunkedArray, kind: str) -> Doubles:
    """Numbers, truth values as 0 and 1, dates as days since 1970; NaN for gaps."""
    found = _days(column) if kind == "date" else pc.cast(column, pa.float64(), safe=False).to_numpy()
    return found if np.isfinite(found).all() else np.where(np.isinf(found), np.nan, found)


def _days(column: pa.ChunkedArray) -> Doubles:
    """Days since 1970 with their fractions, by the clock of the column's time zone."""
    import pandas as pd

    try:
        return days_of(pd.Series(pd.to_datetime(column.to_pandas())))
    except (NotImplementedError, ValueError, OverflowError) as error:
        raise InvalidDataError(
            f"A column of dates holds one that no calendar has ({error!s:.150}); correct it, or leave the column out."
        ) from error


def days_of(dates: "pd.Series") -> Doubles:
    """Days since 1970 with their fractions of a column of dates; NaN for gaps.

    They are counted in the column's own unit: a date such as 9999-12-31 cannot be counted in nanoseconds.
    """
    times = (dates.dt.tz_localize(None) if dates.dt.tz is not None else dates).to_numpy()
    found: Doubles = (times - np.zeros((), times.dtype)) / np.timedelta64(1, "D")
    return found


def _as_strings(column: pa.ChunkedArray) -> pa.StringArray:
    """The cells of any other column as texts."""
    joined: Any = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if pa.types.is_dictionary(joined.type):
        distinct = joined.dictionary
        if pa.types.is_string_view(distinct.type):  # which Arrow cannot yet decode
            joined = pa.DictionaryArray.from_arrays(joined.indices, pc.cast(distinct, pa.string()))
        joined = joined.dictionary_decode()
    kind: pa.DataType = joined.type
    is_text = any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))
    if pa.types.is_string(kind):
        return joined
    return pc.cast(joined, pa.string()) if is_text else texts_of_objects(joined.to_pylist())
