"""Spreadsheets of three formats, and files that would fill the memory.

``spreadsheets/book.xls`` was written by xlwt and ``book.ods`` by odfpy, with the same two sheets.
"""

import struct
import subprocess
import sys
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

from widegap.exceptions import InvalidDataError
from widegap.tables import read_table

FOLDER = Path(__file__).parent / "spreadsheets"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
SPACE = "http://schemas.openxmlformats.org/"
DOCUMENT = f"{SPACE}officeDocument/2006/relationships"
RELATIONS = f'{HEAD}<Relationships xmlns="{SPACE}package/2006/relationships"><Relationship Id="r1" Type="{DOCUMENT}'
PARTS = {
    "_rels/.rels": f'{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'{RELATIONS}/worksheet" Target="{{part}}"/></Relationships>',
    "xl/workbook.xml": (
        f'{HEAD}<workbook xmlns="{SPACE}spreadsheetml/2006/main" xmlns:r="{DOCUMENT}">'
        '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
    ),
}


def write_xlsx(path, rows, part="worksheets/sheet1.xml", texts=()):
    """A workbook of one sheet from its rows in XML, and texts that cells may name."""
    sheet = f'{HEAD}<worksheet xmlns="{SPACE}spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>'
    shared = f'{HEAD}<sst xmlns="{SPACE}spreadsheetml/2006/main">{"".join(f"<si><t>{t}</t></si>" for t in texts)}</sst>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in PARTS.items():
            archive.writestr(name, content.replace("{part}", part))
        archive.writestr("xl/sharedStrings.xml", shared)
        archive.writestr(f"xl/{part}", sheet)
    return path


@pytest.mark.parametrize("name", ["book.xls", "book.ods"])
def test_xls_and_ods_are_read(name):
    path = FOLDER / name
    table = read_table(path)
    assert list(table.frame.columns) == ["name", "size", "bought", "paid", "share"]
    assert table.frame["name"].tolist() == ["Ann", "Bob", "Zoë"]
    assert table.frame["size"].tolist() == [3, None, "n/a"]
    assert table.frame["paid"].tolist() == [True, False, True]
    assert table.frame["share"].tolist() == [0.5, 12.25, -7.0]
    assert table.frame["bought"].tolist() == [datetime(2024, 1, 31), datetime(2024, 2, 1), datetime(2024, 3, 5, 13, 30)]
    assert table.notes == [
        f"Sheet 'data' was read, of 2; name another as {path}::notes.",
        "1 row above the table was not read.",
    ]
    with pytest.raises(InvalidDataError, match="has no sheet 'more'; it has 'data', 'notes'"):
        read_table(f"{path}::more")


def test_cells_of_xlsx_have_their_types(tmp_path):
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
        '<row r="3"><c r="A3"><v>2</v></c><c t="b"><v>1</v></c></row><row><c><v>2.5</v></c></row>'
    )
    frame = read_table(write_xlsx(tmp_path / "t.xlsx", rows, texts=["size", "good"])).frame
    assert frame["size"].tolist() == [2, 2.5]
    assert frame["good"].tolist() == [True, None]


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        ('<row r="1"><c r="A1"><v>1</v></c></row><row r="9"><c r="XFD1048576"><v>2</v></c></row>', "16,384"),
        ('<row r="1048575"><c r="XFC1"><v>2</v></c><c><v>3</v></c></row><row><c><v>1</v></c></row>', "16,384"),
        ('<x:row xmlns:x="a" r="900000"><x:c><x:v>1</x:v></x:c></x:row><row r="1"><c r="ZZ1"><is/></c></row>', "702"),
    ],
)  # fmt: skip
def test_cells_far_away_are_refused(tmp_path, rows, size):
    path = write_xlsx(tmp_path / "far.xlsx", rows)
    with pytest.raises(
        InvalidDataError, match=f"far.xlsx has a sheet of .*{size} columns, but only [123] filled cells"
    ):
        read_table(path)


def test_empty_cells_far_away_do_no_harm(tmp_path):
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c r="A2"><v>2</v></c><c r="XFD1048576" s="1"/></row>'
    assert read_table(write_xlsx(tmp_path / "styled.xlsx", rows)).n_rows == 1


def test_a_long_text_in_many_cells_is_refused(tmp_path):
    rows = "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(1, 10_001))
    path = write_xlsx(tmp_path / "long.xlsx", rows, texts=["x" * 32_767])
    with pytest.raises(InvalidDataError, match="unpacks to 313 MB; if you trust it, save it as CSV first"):
        read_table(path)


def test_a_sheet_under_a_strange_name_is_not_read(tmp_path):
    rows = '<row r="1"><c r="XFD1048576"><v>2</v></c></row>'
    path = write_xlsx(tmp_path / "hidden.xlsx", rows, part="media/image1.png")
    with pytest.raises(InvalidDataError, match="is not a spreadsheet, or is damaged"):
        read_table(path)


@pytest.mark.parametrize("place", [(65_535, 65_535), (60_000, 255)])
def test_far_cells_of_xls_are_refused(tmp_path, place):
    content = bytearray((FOLDER / "book.xls").read_bytes())
    record = content.index(struct.pack("<HHHH", 0x205, 8, 4, 3))  # the truth value in the last row
    content[record + 4 : record + 8] = struct.pack("<HH", *place)
    path = tmp_path / "far.xls"
    path.write_bytes(content)
    rows, columns = place[0] + 1, place[1] + 1
    with pytest.raises(InvalidDataError, match=f"a sheet of {rows:,} rows and {columns:,} columns, but only 20 filled"):
        read_table(path)


@pytest.mark.parametrize(
    ("rows", "columns", "refusal"),
    [(60_000, 2_000, "unpacks to .* MB"), (1, 5_000_000, "a sheet of 5 rows and 5,000,004 columns")],
)
def test_repeated_cells_of_ods_are_refused(tmp_path, rows, columns, refusal):
    path = tmp_path / "repeated.ods"
    with zipfile.ZipFile(FOLDER / "book.ods") as book, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in book.namelist():
            start = b'<table:table-row><table:table-cell office:value-type="string"><text:p>Ann'
            more = b' table:number-rows-repeated="%d"><table:table-cell table:number-columns-repeated="%d" '
            changed = start.replace(b"><table:table-cell ", more % (rows, columns))
            copy.writestr(name, book.read(name).replace(start, changed))
    with pytest.raises(InvalidDataError, match=refusal):
        read_table(path)


@pytest.mark.parametrize("name", ["book.xls", "book.ods"])
def test_damaged_files_are_refused_in_one_line(tmp_path, name):
    content = (FOLDER / name).read_bytes()
    path = tmp_path / name
    for cut in (9, 600, len(content) // 2):
        path.write_bytes(content[:cut])
        with pytest.raises(InvalidDataError, match="is not a spreadsheet, or is damaged"):
            read_table(path)


def test_without_its_package_a_remedy_is_named(tmp_path):
    code = (
        "import sys; sys.modules['python_calamine'] = None\n"
        "from widegap.tables import read_table\n"
        f"read_table({str(FOLDER / 'book.xls')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "spreadsheets need python-calamine: pip install 'widegap[table]'" in done.stderr
