"""Files that fuzzing found to end in errors of other packages: read now, or refused in words."""

import sqlite3
import zipfile
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from PIL import Image

from widegap import TableEncoder
from widegap.cli._document_reading import read_documents
from widegap.cli._errors import CommandError
from widegap.cli._pictures import read_picture
from widegap.exceptions import InvalidDataError
from widegap.rows import shards
from widegap.tables import read_table


@pytest.fixture
def file(tmp_path):
    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


@pytest.mark.parametrize("above", ["\n", " \n", "\r\n\r\n"])
@pytest.mark.parametrize("columns", [2, 3])
def test_empty_lines_above_a_table(above, columns, file):
    lines = ["a,b,c", "1,2,3", "4,5,6"]
    table = read_table(file("t.csv", above + "\n".join(line[: 2 * columns - 1] for line in lines)))
    assert table.frame.to_dict("list") == dict(zip("abc"[:columns], (["1", "4"], ["2", "5"], ["3", "6"]), strict=False))
    assert table.first_line == above.count("\n") + 2


def test_a_header_without_names_is_no_empty_line(file):
    assert read_table(file("t.csv", ",\nx,y\nz,w\n")).frame.to_numpy().tolist() == [["x", "y"], ["z", "w"]]


@pytest.mark.parametrize("above", [60 * "\n", "sep=,\n\n"])
def test_empty_lines_that_hide_the_header(above, file):
    with pytest.raises(InvalidDataError, match="has an empty line where its header should be; delete"):
        read_table(file("t.csv", above + "a,b\n1,2\n"))


@pytest.mark.parametrize("text", ["5", "true", "1e5"])
def test_json_that_is_no_table(text, file):
    with pytest.raises(InvalidDataError, match="is not a table; it needs objects such as"):
        read_table(file("t.json", text))


@pytest.mark.parametrize("text", [r'[{"a": "\ud83d"}]', r'[{"a\uDE00": 1}]', r'{"a": ["x", "\ud83d"]}'])
def test_json_with_half_a_letter(text, file):
    with pytest.raises(InvalidDataError, match=r"holds half a letter, \\ud[0-9a-f]{3} alone; write it as a pair"):
        read_table(file("t.json", text))
    whole = text.replace("ud83d", "ud83d\\ude00").replace("uDE00", "ud83d\\ude00")
    assert len(read_table(file("t.json", whole)).frame)


def test_documents_with_half_a_letter(file):
    with pytest.raises(InvalidDataError, match=r"holds half a letter, \\ud83d alone"):
        read_documents(file("d.jsonl", '{"text": "a"}\n{"text": "\\ud83d"}\n'), None, "auto")


def test_packed_files_that_are_damaged(file):
    zstandard = pytest.importorskip("zstandard")
    content = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(b"a,b\n1,2\n" * 50))
    content[-6] ^= 255
    with pytest.raises(InvalidDataError, match="is damaged, or not what its name says"):
        read_table(file("t.csv.zst", bytes(content)))


def test_arrays_without_rows(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((0, 3)))
    with pytest.raises(InvalidDataError, match="has no rows; nothing to cluster"):
        read_table(tmp_path / "t.npy")


def test_compressed_columns_that_claim_many_rows(tmp_path):
    claim = sp.csc_array((np.ones(1), np.array([0]), np.array([0, 1])), shape=(1 << 40, 1))
    sp.save_npz(tmp_path / "t.npz", claim)
    with pytest.raises(InvalidDataError, match=r"declares 1,099,511,627,776 rows in [\d,]+ bytes, so it is damaged"):
        read_table(tmp_path / "t.npz")


FAR = pd.Series(["2024-01-02 12:00", "9999-12-31"])


@pytest.mark.parametrize(
    "dates",
    [FAR, pd.Series(pd.to_datetime(FAR, format="ISO8601").dt.date), pa.array([19724, 2932896], pa.date32())],
    ids=["text", "date", "arrow"],
)
def test_dates_that_mean_for_ever(dates):
    """Nanoseconds since 1970 end in the year 2262, and 9999-12-31 stands for no end in many tables."""
    encoder = TableEncoder(scale="none")
    rows = pa.table({"until": dates}) if isinstance(dates, pa.Array) else pd.DataFrame({"until": dates})
    days = encoder.fit_transform(rows)[:, 0]
    assert days[1] - days[0] == pytest.approx(
        (np.datetime64("9999-12-31") - np.datetime64("2024-01-02")).astype(int), abs=1
    )
    assert encoder.columns_[0].read_as == "date"


def test_dates_beyond_all_calendars():
    far = pa.array([10**12, 5], pa.timestamp("s", "Europe/Berlin"))
    with pytest.raises(InvalidDataError, match="holds one that no calendar has .* leave the column out"):
        TableEncoder().fit(pa.table({"when": far}))


@pytest.fixture
def columnar(tmp_path):
    def make(old, new):
        """A Feather file of the columns ``text`` and ``number`` with some bytes changed."""
        frame, path = pd.DataFrame({"text": ["flour", "yeast"], "number": [1.5, 2.5]}), tmp_path / "t.feather"
        frame.to_feather(path, compression="uncompressed")
        content = path.read_bytes()
        assert old in content
        path.write_bytes(content.replace(old, new))
        return path

    return make


@pytest.mark.parametrize(("old", "new"), [(b'"numpy_type"', b'"numpy_typo"'), (b'"float64"', b'"floqt64"')])
def test_notes_for_pandas_that_are_damaged(old, new, columnar):
    with pytest.raises(InvalidDataError, match=r"is not a Feather file, or is damaged: .*; write it again"):
        read_table(columnar(old, new))


def test_places_of_texts_beyond_their_end(columnar):
    """Arrow would read there, which ends the process."""
    places = np.array([0, 5, 10], np.int64).tobytes()
    far = np.array([0, 5, 1 << 50], np.int64).tobytes()
    with pytest.raises(InvalidDataError, match=r"is not a Feather file, or is damaged: .*; write it again"):
        read_table(columnar(places, far))


def test_letters_that_are_none(columnar):
    with pytest.raises(InvalidDataError, match="is damaged: .*Invalid UTF8"):
        read_table(columnar(b"flouryeast", b"flour\xffeast"))


def test_a_page_of_parquet_that_is_damaged(tmp_path):
    """Rows of shards are read after the file was opened."""
    path = tmp_path / "t.parquet"
    pd.DataFrame({"number": np.arange(9.0)}).to_parquet(path, compression="none")
    content = bytearray(path.read_bytes())
    content[4:8] = b"\xff" * 4  # the head of the first page
    path.write_bytes(content)
    rows = shards([path])
    with pytest.raises(InvalidDataError, match=r"(?s)cannot be read as \.parquet: .* Write it again with pyarrow"):
        rows.take(np.arange(9))


@pytest.mark.parametrize("name", ["sheet", "database"])
def test_other_damages(name, tmp_path):
    if name == "sheet":
        path = tmp_path / "t.xlsx"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>" * 20)
        content = bytearray(path.read_bytes())
        place = content.index(b"xl/workbook.xml") + len("xl/workbook.xml")
        content[place : place + 4] = b"\xff" * 4
    else:
        path = tmp_path / "t.db"
        with closing(sqlite3.connect(path)) as held:
            held.execute("CREATE TABLE t (a)")
            held.executemany("INSERT INTO t VALUES (?)", [("flour",), ("yeast",)])
            held.commit()
        content = bytearray(path.read_bytes().replace(b"flour", b"fl\xffur"))
    path.write_bytes(content)
    with pytest.raises(InvalidDataError, match="or is damaged"):
        read_table(path)


def test_pictures_that_claim_many_pixels(tmp_path):
    path = tmp_path / "t.tif"
    Image.new("F", (4, 4)).save(path)
    length = b"\x01\x01\x04\0\x01\0\0\0"  # the tag of the number of lines, before the number itself
    content = path.read_bytes()
    assert content.count(length + b"\x04\0\0\0") == 1
    path.write_bytes(content.replace(length + b"\x04\0\0\0", length + b"\0\0\xc6\0"))
    with pytest.raises(CommandError, match=r"declares 4 x 12,976,128 pixels in \d+ bytes, so it is damaged or empty"):
        read_picture(path)
