"""Messy files, one for each trap: ``messy/expected.json`` says how each must be read, or what is said instead.

Columns are given as what they are read as, with a minus if they are left out. ``first`` is the first row as numbers.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from widegap import TableEncoder
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError
from widegap.tables import read_table

FOLDER = Path(__file__).parent / "messy"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
READ = sorted(name for name, entry in EXPECTED.items() if "error" not in entry)
REFUSED = sorted(name for name, entry in EXPECTED.items() if "error" in entry)


def test_every_file_has_an_expectation():
    files = {path.name for path in FOLDER.iterdir()} - {"expected.json"}
    assert files == {name.partition("::")[0] for name in EXPECTED}
    assert len(files) >= 25


@pytest.mark.parametrize("name", READ)
def test_a_messy_file_is_read_as_expected(name):
    entry = EXPECTED[name]
    table = read_table(FOLDER / name)
    encoder = TableEncoder(scale="none")
    first = encoder.fit_transform(table.rows)[0].tolist()
    assert {c.name: c.read_as if c.used else f"-{c.read_as}" for c in encoder.columns_} == entry["columns"]
    assert table.n_rows == entry.get("rows", 24)
    assert [note for note in table.notes if not any(part in note for part in entry.get("notes", []))] == []
    assert len(table.notes) == len(entry.get("notes", []))
    whys = " | ".join(column.why for column in encoder.columns_)
    assert all(part in whys for part in entry.get("why", []))
    assert all(math.isclose(a, b) for a, b in zip(first, entry["first"], strict=True)), first


@pytest.mark.parametrize("name", [n for n in READ if n != "book.xlsx" and EXPECTED[n].get("clustered")])
def test_a_messy_file_gives_a_result(name, tmp_path, capsys):
    out = tmp_path / f"out{'.csv' if '.csv' in name else '.jsonl'}"
    assert main(["cluster", str(FOLDER / name), "-k", "2", "-o", str(out)]) == 0
    assert "24 rows, 2 clusters" in capsys.readouterr().out
    again = read_table(out)
    assert again.n_rows == 24
    assert list(again.frame.columns)[-3:] == ["cluster", "sure", "margin"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(name, capsys):
    assert main(["cluster", str(FOLDER / name), "-k", "2"]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" ...")]
    assert len(said) == 1
    assert EXPECTED[name]["error"] in said[0]


def test_bombs_are_not_unpacked(tmp_path):
    path = tmp_path / "zeros.csv.zst"
    packer = zstandard.ZstdCompressor(level=1)
    with path.open("wb") as file, packer.stream_writer(file) as stream:
        for _ in range(300):
            stream.write(b"0" * (1 << 20))
    assert path.stat().st_size < 1 << 16
    with pytest.raises(InvalidDataError, match="unpacks to more than 256 MB; if you trust it, unpack it first"):
        read_table(path)


THREADS = """
import os, sys
import pyarrow.csv
from widegap.tables import read_table
before = len(os.listdir("/proc/self/task"))
read_table("t.csv")
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted where Linux lists them")
def test_a_small_file_starts_no_pool_of_threads(tmp_path):
    # A command that ended in an error while Arrow's threads were starting was aborted, one time in ten. One reads.
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n3,z\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", THREADS], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 1
