"""Tables as .xlsx files: one sheet, streamed row by row, of which a spreadsheet runs nothing.

An .xlsx file is a ZIP archive of XML. A cell is a number (``<v>``), a truth value (``t="b"``) or a text
(``t="inlineStr"``); a formula would be an element ``<f>``, which is never written here, so a text that begins with "="
stays a text. Dates are numbers of days with a style. A sheet of the format has at most ``SHEET_ROWS`` rows, the first
of which names the columns.
"""

import math
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from widegap.exceptions import InvalidDataError

# Limits of the format.
SHEET_ROWS, SHEET_COLUMNS, CELL_LETTERS = 1_048_576, 16_384, 32_767
EXACT = 2**53  # whole numbers beyond it lose digits in a spreadsheet, so they are written as texts
DAY_ZERO = datetime(1899, 12, 30)
FIRST_DAY = datetime(1900, 3, 1)  # spreadsheets disagree about days before, because of a 29 February 1900
PLAIN_DATE, DATE_AND_TIME = 1, 2  # places of the styles below
# Letters that XML cannot hold; and what would be read as an escape of one.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets>'
        '<sheet name="clusters" sheetId="1" r:id="rId1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>'
    ),
    "xl/styles.xml": (
        f'<styleSheet xmlns="{_MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
        '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
        '<cellXfs count="3"><xf/><xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="22" applyNumberFormat="1"/>'
        "</cellXfs></styleSheet>"
    ),
}
_SHEET_HEAD = (
    f'<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>'
)


def check_sheet(path: Path, n_rows: int, n_columns: int = 1) -> None:
    """Refuse a table that no sheet holds; the name says whether it is to become one."""
    if path.suffix.lower() != ".xlsx":
        return
    most = SHEET_ROWS - 1
    if n_rows > most:
        raise InvalidDataError(
            f"{path}: a sheet of Excel holds {most:,} rows, and there are {n_rows:,}; name it "
            f"{path.with_suffix('.csv').name} or {path.with_suffix('.parquet').name}."
        )
    if n_columns > SHEET_COLUMNS:
        raise InvalidDataError(
            f"{path}: a sheet of Excel holds {SHEET_COLUMNS:,} columns, and there are {n_columns:,}; name it "
            f"{path.with_suffix('.csv').name} or {path.with_suffix('.parquet').name}."
        )


@contextmanager
def sheet_writer(path: Path, named: Path) -> Iterator[Callable[[Any], None]]:
    """A function that appends a data frame to the sheet; ``named`` is what errors call the file at ``path``."""
    written = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in _PARTS.items():
            archive.writestr(name, _HEAD + text)
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:

            def write(frame: Any) -> None:
                nonlocal written
                check_sheet(named, max(0, written - 1) + len(frame), len(frame.columns))
                names = [] if written else [tuple(map(str, frame.columns))]
                rows = zip(*(_values(frame.iloc[:, j]) for j in range(len(frame.columns))), strict=True)
                letters = [column_letters(j) for j in range(len(frame.columns))]
                for row in chain(names, rows):
                    written += 1
                    cells = "".join(cell(f"{at}{written}", value) for at, value in zip(letters, row, strict=True))
                    sheet.write(f'<row r="{written}">{cells}</row>'.encode())

            sheet.write((_HEAD + _SHEET_HEAD).encode())
            yield write
            sheet.write(b"</sheetData></worksheet>")


def column_letters(j: int) -> str:
    """The name of a column by its place, from 0: A, B, ..., Z, AA."""
    found, j = "", j + 1
    while j:
        j, rest = divmod(j - 1, 26)
        found = chr(ord("A") + rest) + found
    return found


def cell(place: str, value: Any) -> str:
    """One cell as XML; empty for gaps and numbers that are not finite."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, float) or (isinstance(value, int) and abs(value) <= EXACT):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    if isinstance(value, date) and (days := _days(value)) is not None:
        style = DATE_AND_TIME if isinstance(value, datetime) and value.time() != datetime.min.time() else PLAIN_DATE
        return f'<c r="{place}" s="{style}"><v>{days!r}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{_text(value)}</t></is></c>'


def _days(value: date) -> float | None:
    """A date as a spreadsheet counts days; None if it cannot."""
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    if moment.tzinfo is not None or moment < FIRST_DAY:
        return None
    return (moment - DAY_ZERO).total_seconds() / 86_400


def _text(value: Any) -> str:
    """A text as XML holds it, cut to what a cell holds."""
    text = str(value)
    text = text if len(text) <= CELL_LETTERS else text[: CELL_LETTERS - 1] + "…"
    return escape(_FORBIDDEN.sub("\ufffd", _ESCAPE.sub("_x005F_", text)))


def _values(series: Any) -> list[Any]:
    """Python values of a column, None for gaps; short floats with the digits that tell them apart."""
    import numpy as np

    gaps = series.isna()
    kind = getattr(series.dtype, "numpy_dtype", series.dtype)
    found = series.tolist()
    if kind in (np.float16, np.float32):
        short = np.dtype(kind).type
        found = [value if value is None else float(str(short(value))) for value in found]
    return [None if gap else value for value, gap in zip(found, gaps, strict=True)] if gaps.any() else found
