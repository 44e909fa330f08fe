"""Tables of numbers in a text whose lines are all alike: kept as the bytes they are, and read when they are asked for.

Where no cell is in quotes and every line has as many cells, the cells are what lies between two signs. Then a block of
bytes is an array of Arrow without a copy: its entries are by turns a cell and the sign behind it, which counts as
missing. One cast reads all cells of a block as numbers, however many columns they are in.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from widegap._types import Codes, Doubles
from widegap.tables._number_formats import is_digit

BLOCK = 1 << 20  # bytes that are read at once, and stay in the cache
LINES_TRIED = 100  # by which columns are taken for numbers, until one of their cells is none
NUMERIC_SHARE = 0.5  # share of the columns that are, so that a text is kept: strings of Arrow are faster to look at
EVERY_OTHER = 0b01010101  # bits of cells that are all there, and of the signs behind them
TEXT_COLUMNS_ALONE = 3  # that are read as texts one by one; more of them are faster by Arrow, and take more memory
RETURN, LINE_FEED, DIGIT_ZERO = b"\r\n0"


class _Cells(NamedTuple):
    """The cells of some lines: their bytes, and where each cell begins and ends."""

    content: Codes
    places: npt.NDArray[np.int32]

    def array(self, bits: Codes | None = None) -> pa.StringArray:
        """Cells and signs by turns; ``bits`` of those that are not missing."""
        present = None if bits is None else pa.py_buffer(bits)
        return pa.StringArray.from_buffers(
            len(self.places) - 1, pa.py_buffer(self.places), pa.py_buffer(self.content), present
        )


class RegularText:
    """A table in a text of regular lines; ``parse`` gives all of it as texts (Arrow)."""

    is_text = True

    def __init__(self, body: bytes, delimiter: str, names: list[str], parse: Callable[[], pa.Table]):
        self.column_names = names
        self._body, self._delimiter, self._parse = body, ord(delimiter), parse
        self._blocks: list[tuple[int, int]] = []  # first and last byte
        self._first_rows = [0]
        self._ends_in_return = b"\r" in body
        self._n_asked = 0
        self._texts: pa.Table | None = None
        self.numeric: set[int] = set()  # places of columns that hold numbers as far as the first lines tell

    @classmethod
    def find(
        cls, body: bytes, begin: int, delimiter: str, names: list[str], parse: Callable[[], pa.Table]
    ) -> Self | None:
        """The table whose first row begins at a byte; None if its lines are not regular, or hold few numbers."""
        found = cls(body, delimiter, names, parse)
        stop = len(body)
        while stop > begin and body[stop - 1] in (RETURN, LINE_FEED):
            stop -= 1
        while begin < stop:
            end = body.rfind(b"\n", begin, min(begin + BLOCK, stop)) + 1 or body.find(b"\n", begin, stop) + 1 or stop
            end = stop if begin + BLOCK >= stop else end
            found._blocks.append((begin, end))
            cells = found._cells(len(found._blocks) - 1)
            if cells is None:
                return None
            if len(found._blocks) == 1:
                found._look_for_numbers(cells)
                if len(found.numeric) < NUMERIC_SHARE * len(names):
                    return None
            found._first_rows.append(found._first_rows[-1] + len(cells.places) // 2 // len(names))
            begin = end
        return found if found.num_rows else None

    # As a table of Arrow -------------------------------------------------------------------------------------------

    @property
    def num_rows(self) -> int:
        return self._first_rows[-1]

    def __len__(self) -> int:
        return self.num_rows

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in self.column_names])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._parse().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """All of it as a frame of texts."""
        return self._parse().to_pandas()

    def take(self, rows: Any) -> pa.Table:
        """Some rows as texts."""
        return self._parse().take(rows)

    def column(self, place: int) -> pa.ChunkedArray:
        """The cells of a column as texts."""
        self._n_asked += 1
        if self._n_asked > TEXT_COLUMNS_ALONE:
            if self._texts is None:
                self._texts = self._parse()
            return self._texts.column(place)
        width = len(self.column_names)
        chunks = []
        for k in range(len(self._blocks)):
            cells = self._read(k)
            chunks.append(cells.array().take(pa.array(np.arange(2 * place, len(cells.places) - 1, 2 * width))))
        return pa.chunked_array(chunks, pa.string())

    # As numbers ----------------------------------------------------------------------------------------------------

    def text_at(self, row: int, place: int) -> str:
        """One cell."""
        k = int(np.searchsorted(self._first_rows, row, "right")) - 1
        found: str = self._read(k).array()[2 * ((row - self._first_rows[k]) * len(self.column_names) + place)].as_py()
        return found

    def read_numbers(self, table: Doubles, slots: Mapping[int, int]) -> set[int]:
        """Write columns of numbers to the slots of a table; those with other cells are given back.

        A column of numbers has gaps and numbers as programs write them, without zeros in front, as in codes.
        """
        failed: set[int] = set()
        for k in range(len(self._blocks)):
            cells = self._read(k)
            failed |= self._with_zeros_in_front(cells) & slots.keys()
            places = [place for place in slots if place not in failed]
            values = None
            while places:
                values = self._as_numbers(cells, places)
                wrong = self._wrong_columns(cells, places) if values is None else _infinite(values, places)
                if not wrong:
                    break
                failed |= wrong
                places, values = [place for place in places if place not in wrong], None
            if values is None:
                continue
            columns = [slots[place] for place in places]
            rows = slice(self._first_rows[k], self._first_rows[k + 1])
            if columns == places == list(range(len(self.column_names))) == list(range(table.shape[1])):
                table[rows] = values
            else:
                table[rows, columns] = values[:, places]
        return failed

    def _look_for_numbers(self, cells: _Cells) -> None:
        """Find the columns that hold numbers as far as the first lines tell."""
        width = len(self.column_names)
        first = _Cells(cells.content, cells.places[: 2 * LINES_TRIED * width + 1])
        places = list(range(width))
        wrong = self._wrong_columns(first, places) if self._as_numbers(first, places) is None else set()
        self.numeric = set(places) - wrong

    def _as_numbers(self, cells: _Cells, places: list[int]) -> Doubles | None:
        """The cells of all columns as numbers, NaN in other places; None if one of these places has another cell."""
        width = len(self.column_names)
        is_read = (cells.places[1::2] > cells.places[:-1:2]).reshape(-1, width)
        if len(places) < width:
            is_read[:, [place for place in range(width) if place not in set(places)]] = False
        is_full = bool(is_read.all())
        if is_full:
            bits = np.full(is_read.size // 4 + 1, EVERY_OTHER, np.uint8)
        else:
            bits = np.packbits(np.stack([is_read, np.zeros_like(is_read)], axis=-1), bitorder="little")
        try:
            found = pc.cast(cells.array(bits), pa.float64())
        except pa.ArrowInvalid:
            return None
        values = np.frombuffer(found.buffers()[1], np.float64, len(found))[::2].reshape(-1, width)
        return values if is_full else np.where(is_read, values, np.nan)

    def _wrong_columns(self, cells: _Cells, places: list[int]) -> set[int]:
        """Which columns have cells that are neither numbers nor empty."""
        wrong = set()
        width = len(self.column_names)
        for place in places:
            texts = cells.array().take(pa.array(np.arange(2 * place, len(cells.places) - 1, 2 * width)))
            try:
                pc.cast(texts.filter(pc.not_equal(texts, "")), pa.float64())
            except pa.ArrowInvalid:
                wrong.add(place)
        return wrong

    def _with_zeros_in_front(self, cells: _Cells) -> set[int]:
        """Columns with cells such as 007."""
        content = cells.content
        before, zero, after = content[:-2], content[1:-1], content[2:]
        is_first = (zero == DIGIT_ZERO) & ((before == self._delimiter) | (before == LINE_FEED))
        found = np.flatnonzero(is_first & is_digit(after)) + 1
        if content[0] == DIGIT_ZERO and is_digit(content[1:2])[0]:
            found = np.append(found, 0)
        return (
            set((np.searchsorted(cells.places[:-1:2], found) % len(self.column_names)).tolist())
            if len(found)
            else set()
        )

    # Blocks --------------------------------------------------------------------------------------------------------

    def _read(self, k: int) -> _Cells:
        cells = self._cells(k)
        assert cells is not None  # all blocks have been looked at
        return cells

    def _cells(self, k: int) -> _Cells | None:
        """The cells of a block; None if its lines are not regular."""
        begin, end = self._blocks[k]
        width = len(self.column_names)
        bytes_of: bytes | memoryview = memoryview(self._body)[begin:end]
        if self._body[end - 1] != LINE_FEED:
            bytes_of = bytes(bytes_of) + (b"\r\n" if self._ends_in_return else b"\n")
        content = np.frombuffer(bytes_of, np.uint8)
        ends = np.flatnonzero((content == self._delimiter) | (content == LINE_FEED))
        if len(ends) % width:
            return None
        is_line_end = (content[ends] == LINE_FEED).reshape(-1, width)
        if not is_line_end[:, -1].all() or is_line_end[:, :-1].any():
            return None
        places = np.empty(2 * len(ends) + 1, np.int32)
        places[0] = 0
        places[1::2] = ends
        np.add(ends, 1, out=places[2::2], casting="same_kind")
        if self._ends_in_return:
            last = places[1::2][width - 1 :: width]
            last -= 1
            n_returns = int(np.count_nonzero(content == RETURN))
            if n_returns != len(last) or not (content[last] == RETURN).all():
                return None
        return _Cells(content, places)


def _infinite(values: Doubles, places: list[int]) -> set[int]:
    """Which columns have a number that is too large."""
    if not np.isinf(values).any():
        return set()
    return {place for place in places if np.isinf(values[:, place]).any()}
