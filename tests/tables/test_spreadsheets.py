"""Spreadsheets of three formats, files that would fill the memory, and headers that are not one line of names.

``spreadsheets/book.xls`` was written by xlwt and ``book.ods`` by odfpy, with the same two sheets.
"""

import struct
import subprocess
import sys
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

from widegap import TableEncoder
from widegap.exceptions import InvalidDataError
from widegap.results import EncodedRows
from widegap.tables import read_table
from widegap.tables._delimited import Dialect

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


def write_xlsx(path, rows, part="worksheets/sheet1.xml", texts=(), merged=()):
    """A workbook of one sheet from its rows in XML, texts that cells may name, and merged cells such as B1:C1."""
    merges = "".join(f'<mergeCell ref="{found}"/>' for found in merged)
    merges = f'<mergeCells count="{len(merged)}">{merges}</mergeCells>' if merged else ""
    data = f"<sheetData>{rows}</sheetData>{merges}"
    sheet = f'{HEAD}<worksheet xmlns="{SPACE}spreadsheetml/2006/main">{data}</worksheet>'
    shared = f'{HEAD}<sst xmlns="{SPACE}spreadsheetml/2006/main">{"".join(f"<si><t>{t}</t></si>" for t in texts)}</sst>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in PARTS.items():
            archive.writestr(name, content.replace("{part}", part))
        archive.writestr("xl/sharedStrings.xml", shared)
        archive.writestr(f"xl/{part}", sheet)
    return path


def in_xml(lines):
    """Rows of cells in XML: numbers, texts, and None for empty cells."""
    found = []
    for i, line in enumerate(lines, 1):
        cells = [
            f'<c r="{chr(65 + j)}{i}" t="inlineStr"><is><t>{cell}</t></is></c>'
            if isinstance(cell, str)
            else f'<c r="{chr(65 + j)}{i}"><v>{cell}</v></c>'
            for j, cell in enumerate(line)
            if cell is not None
        ]
        found.append(f'<row r="{i}">{"".join(cells)}</row>')
    return "".join(found)


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


# Headers of two lines ------------------------------------------------------------------------------------------------

BODY = [["north", 10, 7, 12, 8, "ok"], ["south", 20, 15, 19, 14, "late"], ["west", 5, 4, 6, 4, None]]
NAMES = ["region", "sales", "cost", "sales", "cost", "remark"]
GROUPS = [None, 2023, None, 2024, None, None]
JOINED = ["region", "2023 / sales", "2023 / cost", "2024 / sales", "2024 / cost", "remark"]
NOTE = "The header has two lines, which were joined: '2023 / sales' and so on."


def test_groups_above_the_names_of_a_sheet_are_joined_to_them(tmp_path):
    path = write_xlsx(tmp_path / "sales.xlsx", in_xml([GROUPS, NAMES, *BODY]), merged=["B1:C1", "D1:E1"])
    table = read_table(path)
    assert list(table.frame.columns) == JOINED
    assert table.frame["2023 / sales"].tolist() == [10, 20, 5]
    assert table.notes == [NOTE]


def test_a_title_and_names_that_reach_over_both_lines(tmp_path):
    groups, names = ["region", 2023, None, 2024, None, "remark"], [None, *NAMES[1:-1], None]
    lines = [["Sales by region"], [], groups, names, *BODY]
    merged = ["A1:F1", "A3:A4", "B3:C3", "D3:E3", "F3:F4"]
    table = read_table(write_xlsx(tmp_path / "sales.xlsx", in_xml(lines), merged=merged))
    assert list(table.frame.columns) == JOINED
    assert table.notes == ["1 row above the table was not read.", NOTE]


def test_without_merged_cells_a_group_reaches_up_to_the_next(tmp_path):
    table = read_table(write_xlsx(tmp_path / "sales.xlsx", in_xml([GROUPS, NAMES, *BODY])))
    assert list(table.frame.columns) == [*JOINED[:-1], "2024 / remark"]


@pytest.mark.parametrize("groups", [",2023,,2024,,", ",2023,2023,2024,2024,"])
def test_text_files_have_such_headers_too(tmp_path, groups):
    path = tmp_path / "sales.csv"
    body = [",".join("" if cell is None else str(cell) for cell in line) for line in BODY]
    path.write_text("\n".join([groups, ",".join(NAMES), *body]), encoding="utf-8")
    table = read_table(path)
    assert list(table.frame.columns)[:5] == JOINED[:5]
    assert table.frame["2024 / cost"].tolist() == ["8", "14", "4"]
    assert (table.notes, table.first_line) == ([NOTE], 3)


@pytest.mark.parametrize(
    "lines",
    [
        [[None, "age", "size"], ["Ann", 31, 170], ["Bob", 45, 181]],  # a column without a name
        [[None, "age", "size"], ["Ann", "unknown", "n/a"], ["Bob", 45, 181], ["Eve", 5, 110]],  # gaps in the first row
        [["name", "weight", "size"], ["Ann", "too heavy", 170], ["Bob", 80, 181], ["Eve", 60, 165]],
        [["name", "town", "shop"], ["Ann", "Ulm", "north"], ["Bob", "Bonn", "south"]],  # words alone
        [["a", "a", "a"], ["x", "y", "z"], ["u", "v", "w"]],
    ],
)
def test_a_row_is_not_taken_as_a_second_header(tmp_path, lines):
    table = read_table(write_xlsx(tmp_path / "t.xlsx", in_xml(lines)))
    assert table.n_rows == len(lines) - 1
    assert not [note for note in table.notes if "two lines" in note]


# Tables of one column ------------------------------------------------------------------------------------------------

ONE_COLUMN = "Only one column found; is {} the delimiter? Pass --delimiter {} to use it."


@pytest.mark.parametrize(
    ("name", "text", "delimiter", "sign"),
    [
        ("t.csv", "a;b;c\n1;2;3\n4;5;6\n7;8;9\n", ",", ";"),
        ("t.tsv", "a,b\n1,2\n4,5\n7,8\n", None, ","),
        ("t.csv", "a\tb\n1\t2\n4\t5\n7\t8\n", ",", "tab"),
        ("t.txt", "x y z\n1.5 2 3\n4 5.5 6\n7 8 9.5\n", None, " "),
    ],
)
def test_a_delimiter_is_asked_about_where_one_column_is_found(tmp_path, name, text, delimiter, sign):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_table(path, Dialect(delimiter=delimiter)).notes == [ONE_COLUMN.format(repr(sign), repr(sign))]
    assert len(read_table(path, Dialect(delimiter=sign)).frame.columns) > 1
    if delimiter is not None:  # and where the one column is of no use
        question = f"No column tells rows apart .*Only one column found; is {sign!r} the delimiter"
        with pytest.raises(InvalidDataError, match=question):
            EncodedRows.fit(read_table(path, Dialect(delimiter=delimiter)), TableEncoder(), "median")


@pytest.mark.parametrize(
    "text",
    [
        "size\n1.5\n2.5\n3.5\n",
        "size\n1,5\n2,5\n3,5\n",
        "name\nAnn Lee\nBob May\nEve Fox\n",
        "said\nyes; and no\nnever\nwell; yes; no\n",
        "at\n10:30\n11:30\n12:30\n",
    ],
)
def test_one_column_is_often_right(tmp_path, text):
    path = tmp_path / "one.tsv"
    path.write_text(text, encoding="utf-8")
    assert read_table(path).notes == []
