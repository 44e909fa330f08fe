"""Columns of plain numbers, many at a time: read side by side, decided by the same rules as one column alone.

These are columns that a table holds as numbers, or as texts that are all written as programs write numbers. Where a
column is of no other kind for certain, because its header names no date and no code, the rules that apply are few:
constants, ids, gaps and the median of ``_columns.py``. Everything else is left to these rules column by column.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np

from widegap._types import Doubles, Ints, Mask
from widegap.rows._matrices import row_chunks
from widegap.tables._columns import DATE_WORDS, Column, constant, counting, gap_note, joined_notes, median
from widegap.tables._gaps import unused_if_lacking
from widegap.tables._ids import CODE_WORDS, SAMPLED, why_id, words_of
from widegap.tables._missing_codes import ROWS_LOOKED_AT, is_code, note_on_codes

CELLS_AT_ONCE = 1 << 17  # of some columns that are decided together: 1 MB


class NumberSource(Protocol):
    """Reads columns of numbers of a table by their places."""

    numeric: set[int]
    is_text: bool

    def read_numbers(self, table: Doubles, slots: Mapping[int, int]) -> set[int]:
        """Write columns to the slots of a table; those that are no plain numbers are given back."""
        ...

    def text_at(self, row: int, place: int) -> str:
        """A cell as it is written."""
        ...


class PlainNumbers:
    """Some columns of a table side by side, by name; NaN for gaps."""

    def __init__(self, source: NumberSource, chosen: Mapping[str, int], n_rows: int, gap_numbers: Doubles):
        self._source, self._places = source, chosen
        places = list(chosen.values())
        self.values: Doubles = np.empty((n_rows, len(places)))
        slots = {place: slot for slot, place in enumerate(places)}
        failed = source.read_numbers(self.values, slots) if slots else set()
        self.slots = {name: slots[place] for name, place in chosen.items() if place not in failed}
        self.notes: dict[str, str] = {}  # questions about columns, by name
        self.lacking: set[str] = set()  # names of columns with gaps
        for columns in self._blocks() if len(gap_numbers) else ():
            part = self.values[:, columns]
            part[np.isin(part, gap_numbers)] = np.nan
            self.values[:, columns] = part

    def __contains__(self, name: str) -> bool:
        return name in self.slots

    def of(self, name: str) -> Doubles:
        """The numbers of a column."""
        return self.values[:, self.slots[name]]

    def _blocks(self) -> Iterator[slice]:
        n_rows, n_slots = self.values.shape
        step = max(1, CELLS_AT_ONCE // max(1, n_rows))
        return (slice(start, start + step) for start in range(0, n_slots, step))

    def find_gaps(self) -> None:
        """Find the columns that have gaps."""
        names = dict(zip(self.slots.values(), self.slots, strict=True))
        for rows in row_chunks(len(self.values), max(1, self.values.shape[1])):
            found = np.flatnonzero(np.isnan(self.values[rows]).any(axis=0)).tolist()
            self.lacking.update(names[slot] for slot in found if slot in names)

    def decide(self, names: Iterable[str]) -> dict[str, Column]:
        """The decisions on columns that may be nothing but numbers; those of one kind only are missing."""
        wanted = set(names)
        found: dict[str, Column] = {}
        owner = {slot: name for name, slot in self.slots.items() if name in wanted}
        for columns in self._blocks():
            slots = [slot for slot in range(*columns.indices(self.values.shape[1])) if slot in owner]
            if slots:
                block = np.ascontiguousarray(self.values[:, slots].T)
                for name, column in self._decided([owner[slot] for slot in slots], block):
                    found[name] = column
        return found

    def _decided(self, names: list[str], values: Doubles) -> Iterator[tuple[str, Column]]:
        """The decisions on some columns, which are the rows of ``values``; these are overwritten."""
        n = values.shape[1]
        n_gaps = np.count_nonzero(np.isnan(values), axis=1)
        low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
        whole = _may_be_ids(values)
        counts = (values[:, 1] - values[:, 0] == 1) & np.isclose(high - low, n - 1)
        asked = self._coded(values, low, high)
        rows: list[int] = []
        reasons: dict[int, str] = {}
        for i, name in enumerate(names):
            if n_gaps[i] == n:
                continue
            if low[i] == high[i]:
                row = int(np.argmin(np.isnan(values[i])))
                text = self._source.text_at(row, self._places[name])
                yield name, constant(name, text, has_gaps=bool(n_gaps[i]))
                continue
            reason = why_id(name, values[i]) if whole[i] else ""
            if reason:
                yield name, Column(name, "id", used=False, why=reason, change="numeric")
                continue
            reasons[i] = counting(values[i]) if counts[i] else ""
            if asked[i]:
                self.notes[name] = note_on_codes(name, values[i])
            rows.append(i)
        fills = _medians_of_rows(values, n_gaps, rows)
        for i in rows:
            gaps = gap_note("", int(n_gaps[i]), n, f"the median, {fills[i]:g}")
            why = joined_notes(reasons[i], gaps)
            column = Column(names[i], "number", why=why, change="categorical", fill=float(fills[i]))
            if n_gaps[i]:
                self.lacking.add(names[i])
                column = unused_if_lacking(column, float(n_gaps[i] / n))
            yield names[i], column

    @staticmethod
    def _coded(values: Doubles, low: Doubles, high: Doubles) -> list[bool]:
        """Which columns may hold codes for missing values."""
        sample = values[:, :: max(1, values.shape[1] // ROWS_LOOKED_AT)]
        if sample.shape != values.shape:
            low, high = np.fmin.reduce(sample, axis=1), np.fmax.reduce(sample, axis=1)
        ends = np.stack([low, high], axis=1)
        likely = ((ends == np.floor(ends)) & ((ends == -1) | (np.abs(ends) >= 99))).any(axis=1)
        return [bool(likely[i]) and (is_code(low[i]) or is_code(high[i])) for i in range(len(likely))]

    def rearrange(self, places: Mapping[str, int], width: int) -> Doubles:
        """The columns at their places in a table of ``width``, in the memory where they are; they are gone then."""
        moves = [(self.slots[name], place) for name, place in places.items() if name in self.slots]
        sources, targets = [source for source, _ in moves], [target for _, target in moves]
        table, n_slots = self.values, self.values.shape[1]
        self.values = np.empty((0, 0))
        if sources == list(range(n_slots)) and targets == list(range(width)):
            return table
        n_rows = len(table)
        if not table.size:
            return np.empty((n_rows, width))
        chunks = row_chunks(n_rows, max(width, n_slots))
        if width > n_slots:
            table = _resized(table, n_rows * width)
            chunks = chunks[::-1]
        flat = table.reshape(-1)
        for rows in chunks:
            size = len(range(*rows.indices(n_rows)))
            part = flat[rows.start * n_slots : rows.start * n_slots + size * n_slots].reshape(size, n_slots)[:, sources]
            moved = np.zeros((size, width))
            moved[:, targets] = part
            flat[rows.start * width : rows.start * width + size * width] = moved.reshape(-1)
        del flat, part
        if width < n_slots:
            table = _resized(table, n_rows * width)
        return table.reshape(n_rows, width)


def _resized(table: Doubles, size: int) -> Doubles:
    """Its first numbers, and zeros behind them, in the same memory where that is possible."""
    table.resize(size, refcheck=False)
    return table


def may_be_plain(name: str) -> bool:
    """Whether the header of a column of numbers lets it be nothing but numbers: neither dates nor codes."""
    return not words_of(name) & (DATE_WORDS | CODE_WORDS)


def _may_be_ids(values: Doubles) -> Mask:
    """Which rows hold whole numbers only, as far as some of them tell."""
    sample = values[:, :: max(1, values.shape[1] // SAMPLED)]
    return np.asarray(((sample == np.floor(sample)) | np.isnan(sample)).all(axis=1))


def _medians_of_rows(values: Doubles, n_gaps: Ints, rows: list[int]) -> dict[int, float]:
    """The median of the numbers in each of some rows, which are put in another order."""
    full = [i for i in rows if not n_gaps[i]]
    found = {i: median(values[i][~np.isnan(values[i])]) for i in rows if n_gaps[i]}
    half = values.shape[1] // 2
    if len(full) == len(values):
        values.partition(half, axis=1)
        parted = values
    else:
        parted = np.partition(values[full], half, axis=1)
    middle = parted[:, half]
    if not values.shape[1] % 2:
        middle = (parted[:, :half].max(axis=1) + middle) / 2
    return found | dict(zip(full, middle.tolist(), strict=True))
