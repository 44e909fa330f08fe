"""Excel files: what calamine reads from them is what was written, and texts stay texts."""

import io
import re
import zipfile
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from widegap.exceptions import InvalidDataError
from widegap.results._spreadsheet_files import CELL_LETTERS, SHEET_ROWS, check_sheet, column_letters, sheet_writer
from widegap.results._written_files import write_frame

PRINTABLE = st.characters(exclude_categories=("Cc", "Cs", "Cn", "Co"))
CELLS = st.one_of(
    st.none(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300),
    st.text(PRINTABLE, min_size=1, max_size=12),
    st.sampled_from(["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "_x0041_", "<b>&amp;</b>", " two  spaces "]),
)


def sheet_of(content):
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    return book.get_sheet_by_index(0).to_python(skip_empty_area=False)


def written(path, frame):
    write_frame(path, frame)
    return path.read_bytes()


@settings(deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6))
def test_cells_are_read_as_they_were_written(rows, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "cells.xlsx"
    columns = zip("ab", zip(*rows, strict=True), strict=True)
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns})
    content = written(path, frame)
    head, *body = sheet_of(content)
    assert head == ["a", "b"]
    body = [[None if cell == "" else cell for cell in (*row, "", "")[:2]] for row in body]
    assert body + [[None, None]] * (len(rows) - len(body)) == [list(row) for row in rows]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = [archive.read(name).decode() for name in archive.namelist()]
    assert all(ElementTree.fromstring(part) is not None for part in parts)
    assert not any(re.search(r"<f[ >]", part) for part in parts if "sheetData" in part)


def test_dates_numbers_and_gaps(tmp_path):
    frame = pd.DataFrame(
        {
            "day": pd.Series([datetime(2024, 2, 29), datetime(2024, 2, 29, 13, 30), None]),
            "old": pd.Series([datetime(1850, 1, 1), None, None], dtype=object),
            "short": np.array([0.1, np.nan, np.inf], dtype=np.float32),
            "whole": pd.array([2**60, None, 3], dtype="Int64"),
            "truth": [True, False, True],
        }
    )
    head, *body = sheet_of(written(tmp_path / "t.xlsx", frame))
    assert head == list(frame.columns)
    assert body[0][:4] == [datetime(2024, 2, 29).date(), "1850-01-01 00:00:00", 0.1, str(2**60)]
    assert body[1] == [datetime(2024, 2, 29, 13, 30), "", "", "", False]
    assert body[2][2:] == ["", 3.0, True]


def test_what_no_sheet_holds_is_cut_or_replaced(tmp_path):
    frame = pd.DataFrame({"text": ["x" * 40_000, "a\x00b\x1fc"]})
    _, long, odd = sheet_of(written(tmp_path / "t.xlsx", frame))
    assert len(long[0]) == CELL_LETTERS and long[0].endswith("x…")
    assert odd == ["a\ufffdb\ufffdc"]


def test_too_many_rows_and_columns_are_refused_with_the_remedy(tmp_path):
    path = Path("big.xlsx")
    check_sheet(path, SHEET_ROWS - 1)
    check_sheet(Path("big.csv"), 10**9)
    with pytest.raises(InvalidDataError, match=r"holds 1,048,575 rows, and there are 1,048,576; name it big\.csv or"):
        check_sheet(path, SHEET_ROWS)
    with pytest.raises(InvalidDataError, match=r"holds 16,384 columns, and there are 16,385; name it big\.csv"):
        check_sheet(path, 3, 16_385)


def test_a_table_in_parts_has_one_header(tmp_path):
    frame = pd.DataFrame({"a": range(5)})
    with sheet_writer(tmp_path / "t.xlsx", tmp_path / "t.xlsx") as write:
        write(frame[:2])
        write(frame[2:])
    assert sheet_of((tmp_path / "t.xlsx").read_bytes()) == [["a"], *([float(i)] for i in range(5))]


def test_columns_are_counted_in_letters():
    assert [column_letters(j) for j in (0, 25, 26, 701, 702, 16_383)] == ["A", "Z", "AA", "ZZ", "AAA", "XFD"]
