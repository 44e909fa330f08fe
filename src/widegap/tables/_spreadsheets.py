"""Spreadsheets: .xlsx, .xlsm, .xls and .ods. Formulas give the values that were saved with them; nothing is run.

calamine reads 20,000 rows of 12 cells in 1.5 s of processor time, this check included, where openpyxl took 2.9 s and
reads .xlsx alone. But it lays a sheet out as a full rectangle: a file of 1 KB with a single cell in XFD1048576 would
take half a terabyte, and the process would be killed. So before calamine sees a file, one pass over it finds how far
its cells reach, and how long their texts are, each time they are used. (Texts of .xls are not counted: a file of 1 MB
could make 4 GB of them.)
"""

import io
import re
import struct
import zipfile
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, TypeAlias
from xml.parsers import expat

from widegap.exceptions import InvalidDataError
from widegap.tables._delimited import column_names
from widegap.tables._frames import few
from widegap.tables._headers import Spans, joined_header, note_on_header
from widegap.tables._unpacking import FREE_BYTES, RATIO

if TYPE_CHECKING:
    import pandas as pd

Cell: TypeAlias = int | float | str | bool | datetime | date | time | timedelta | None

# Every sheet may be that large: not tuned, some 160 MB at an estimated 40 bytes a cell.
FREE_CELLS = 4_000_000
# Larger sheets may have this many cells for each filled one: a table of that size with three empty cells in four.
CELLS_A_FILLED_CELL = 4
OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
CELL_NAME = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
SHARED_STRINGS = "xl/sharedstrings.xml"
# Records of a cell in an .xls file of any version: formula, number, label, truth value, several numbers, shared text.
XLS_CELLS = frozenset({0x06, 0x206, 0x406, 0x03, 0x203, 0x04, 0x204, 0x05, 0x205, 0xBD, 0xD6, 0xFD, 0x7E, 0x27E})
XLS_SEVERAL = 0xBD  # the one record with several cells, which ends in its last column
XLS_SHEET = 0x809  # begins a sheet


def read_spreadsheet(content: bytes, name: str, sheet: str | None) -> tuple["pd.DataFrame", list[str]]:
    """The table on one sheet, and what was noticed."""
    import pandas as pd

    names, chosen, cells, spans = _sheet(content, name, sheet)
    filled = [i for i, row in enumerate(cells) if any(cell is not None for cell in row)]
    rows = [cells[i] for i in filled]
    notes = []
    if len(names) > 1 and sheet is None:
        notes.append(f"Sheet {chosen!r} was read, of {len(names)}; name another as {name}::{names[1]}.")
    if not rows:
        return pd.DataFrame(), notes
    above = _rows_above(rows)
    if above:
        notes.append(
            f"{above} row{'s' if above > 1 else ''} above the table {'were' if above > 1 else 'was'} not read."
        )
    head, body = rows[above], rows[above + 1 :]
    width = max((j + 1 for row in rows[above:] for j, cell in enumerate(row) if cell is not None), default=0)
    header = ["" if cell is None else str(cell) for cell in head[:width]]
    if body:
        joined = joined_header(head[:width], body[0][:width], body[1:], spans.get(filled[above]))
        if joined is not None:
            header, body = joined, body[1:]
            notes.append(note_on_header(header))
    columns, more = column_names(header, width)
    frame = pd.DataFrame([row[:width] for row in body], columns=columns)
    return frame.infer_objects(), [*notes, *more]


def _sheet(content: bytes, name: str, sheet: str | None) -> tuple[list[str], str, list[list[Cell]], dict[int, Spans]]:
    """The names of the sheets of a workbook, the one that was read, its cells, and merged cells of its rows."""
    try:
        from python_calamine import CalamineWorkbook, SheetTypeEnum
    except ImportError as error:
        raise InvalidDataError(f"{name}: spreadsheets need python-calamine: pip install 'widegap[table]'.") from error
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(_checked(content, name)))
        names = [entry.name for entry in book.sheets_metadata if entry.typ == SheetTypeEnum.WorkSheet]
        if sheet is not None and sheet not in names:
            raise InvalidDataError(f"{name} has no sheet {sheet!r}; it has {few(names)}.")
        chosen = sheet or names[0]
        found = book.get_sheet_by_name(chosen)
        cells, spans = found.to_python(skip_empty_area=False), _spans(found.merged_cell_ranges)
    except (InvalidDataError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged file causes in zipfile, expat, struct or calamine
        raise InvalidDataError(
            f"{name} is not a spreadsheet, or is damaged ({error}); save it again as .xlsx."
        ) from error
    return names, chosen, [[_cell(value) for value in row] for row in cells], spans


def _spans(merged: list[tuple[tuple[int, int], tuple[int, int]]] | None) -> dict[int, Spans]:
    """First and last column of merged cells by their row, for those that reach over several columns."""
    spans: dict[int, Spans] = {}
    for (top, left), (_, right) in merged or ():
        if right > left:
            spans.setdefault(top, []).append((left, right))
    return spans


def _cell(value: Cell) -> Cell:
    """A cell as people wrote it: None if it is empty, whole numbers without a fraction, dates with a time."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) is date:
        return datetime(value.year, value.month, value.day)
    return None if value == "" else value


def _rows_above(rows: list[list[Cell]]) -> int:
    """Titles above the header: rows with one filled cell, where the table is at least three wide."""
    filled = [sum(cell is not None for cell in row) for row in rows]
    if max(filled) < 3:
        return 0
    above = next((j for j, n in enumerate(filled) if n > 1), 0)
    return above if above + 1 < len(rows) else 0


# How large a file would become ----------------------------------------------------------------------------------------


@dataclass
class _Extent:
    """How far the filled cells of one sheet reach, and how many there are."""

    rows: int = 0
    columns: int = 0
    filled: int = 0

    def add(self, row: int, column: int) -> None:
        """Count a cell, by its place from 1."""
        self.rows, self.columns, self.filled = max(self.rows, row), max(self.columns, column), self.filled + 1


def _checked(content: bytes, name: str) -> bytes:
    """The file without parts that are not looked at; refuses one that would fill the memory."""
    extents, safe = _xls_extents(content) if content.startswith(OLE_MAGIC) else _zip_extents(content, name)
    cells, filled = sum(found.rows * found.columns for found in extents), sum(found.filled for found in extents)
    if cells > max(FREE_CELLS, CELLS_A_FILLED_CELL * filled):
        far = max(extents, key=lambda found: found.rows * found.columns)
        raise InvalidDataError(
            f"{name} has a sheet of {far.rows:,} rows and {far.columns:,} columns, but only {filled:,} filled cells; "
            "delete the cells far away from the table, or save the table as CSV."
        )
    return safe


def _xls_extents(content: bytes) -> tuple[list[_Extent], bytes]:
    """The sheets of an .xls file, which is a stream of records in an OLE container, and the file."""
    import olefile

    with olefile.OleFileIO(io.BytesIO(content), raise_defects=olefile.DEFECT_INCORRECT) as container:
        stream = next((found for found in ("Workbook", "Book") if container.exists(found)), None)
        if stream is None:
            raise ValueError("it holds no workbook")
        body = container.openstream(stream).read()
    found, place = [_Extent()], 0
    while place + 4 <= len(body):
        kind, length = struct.unpack_from("<HH", body, place)
        place += 4
        if kind == XLS_SHEET:
            found.append(_Extent())
        elif kind in XLS_CELLS and length >= 4:
            row, column = struct.unpack_from("<HH", body, place)
            last = struct.unpack_from("<H", body, place + length - 2)[0] if kind == XLS_SEVERAL else column
            found[-1].add(row + 1, max(column, last) + 1)
        place += length
    return found, content


def _zip_extents(content: bytes, name: str) -> tuple[list[_Extent], bytes]:
    """The sheets of an .xlsx or .ods file, and an archive of those of its parts that were looked at."""
    most, kept, sheets = max(FREE_BYTES, RATIO * len(content)), io.BytesIO(), _SheetParser()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(kept, "w") as copy:
        parts = {part.filename: part for part in archive.infolist()}
        total = sum(part.file_size for part in parts.values())
        if total <= most:
            for part in parts.values():
                if part.filename.endswith((".xml", ".rels")):
                    copy.writestr(part.filename, body := archive.read(part))
                    sheets.read(body, is_shared=part.filename.lower() == SHARED_STRINGS)
                elif part.filename == "mimetype":
                    copy.writestr(part.filename, archive.read(part))
            total += sheets.text_size
    if total > most:
        raise InvalidDataError(f"{name} unpacks to {total >> 20:,} MB; if you trust it, save it as CSV first.")
    return sheets.extents, kept.getvalue()


class _SheetParser:
    """Finds the filled cells in parts of .xlsx and .ods files; other elements are passed over.

    A text of .xlsx is stored once and named by its number in every cell that has it; a cell or row of .ods is stored
    once with the number of times it is repeated. Cells of .xlsx need not say where they are: places never go back, so
    that none is further away than it seems here.
    """

    def __init__(self) -> None:
        self.extents: list[_Extent] = []
        self._repeated_size = 0
        self._lengths: list[int] = []
        self._uses: Counter[int] = Counter()
        self._is_shared = self._names_text = self._is_new = False
        self._row = self._column = 0
        self._row_repeats = self._column_repeats = 1

    @property
    def text_size(self) -> int:
        """Letters of all cells together."""
        used = (count * self._lengths[text] for text, count in self._uses.items() if 0 <= text < len(self._lengths))
        return self._repeated_size + sum(used)

    def read(self, body: bytes, is_shared: bool) -> None:
        """Read one part; ``is_shared`` marks the one with the texts of .xlsx."""
        self.extents.append(_Extent())
        self._is_shared, self._row, self._column = is_shared, 0, 0
        self._row_repeats = self._column_repeats = 1
        parser = expat.ParserCreate("utf-8")  # whatever the file declares: calamine reads no other encoding
        parser.buffer_text = True
        parser.StartElementHandler, parser.CharacterDataHandler = self._start, self._text
        parser.Parse(body, True)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "c":
            self._names_text = attributes.get("t") == "s"
            row, column = _place(attributes.get("r"))
            self._row, self._column, self._is_new = max(self._row, row), max(self._column + 1, column), True
        elif tag in ("v", "f", "is", "p"):
            self._count()
        elif tag == "row":
            self._row, self._column = max(self._row, int(attributes.get("r", self._row + 1))), 0
        elif tag == "si":
            self._lengths += [0] * self._is_shared
        elif tag in ("table-cell", "covered-table-cell"):
            self._column_repeats = _repeats(attributes, "number-columns-repeated")
            self._column, self._is_new = self._column + self._column_repeats, True
            if any("value" in name for name in attributes):
                self._count()
        elif tag == "table-row":
            self._row_repeats = _repeats(attributes, "number-rows-repeated")
            self._row, self._column = self._row + self._row_repeats, 0
        elif tag == "table":
            self.extents.append(_Extent())
            self._row = self._column = 0

    def _count(self) -> None:
        """Count the present cell, once."""
        if self._is_new:
            self.extents[-1].add(self._row, self._column)
            self._is_new = False

    def _text(self, text: str) -> None:
        if self._is_shared and self._lengths:
            self._lengths[-1] += len(text)
        elif self._names_text and text.strip().isdigit():
            self._uses[int(text)] += 1
        else:
            self._repeated_size += len(text) * (self._row_repeats * self._column_repeats - 1)


def _place(name: str | None) -> tuple[int, int]:
    """Row and column of a cell such as B7, from 1; 0 without a name."""
    if name is None:
        return 0, 0
    found = CELL_NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"no cell is called {name[:20]!r}")
    column = 0
    for letter in found[1].upper():
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(found[2]), column


def _repeats(attributes: dict[str, str], name: str) -> int:
    """How often an element of .ods is repeated."""
    return next((int(value) for key, value in attributes.items() if key.endswith(name)), 1)
