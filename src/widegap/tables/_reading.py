"""Tables from files: text of any dialect, spreadsheets, JSON, Parquet, Feather, SQLite, arrays, svmlight.

``folder/book.xlsx::Sheet1``, ``shop.db::orders`` and ``all.zip::part.csv`` name a part of a file.
"""

import io
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from widegap.exceptions import InvalidDataError
from widegap.tables._delimited import Dialect, read_delimited
from widegap.tables._foreign import PARQUET, read_columnar, read_json, read_sqlite
from widegap.tables._spreadsheets import read_spreadsheet
from widegap.tables._standard_input import read_standard_input
from widegap.tables._unpacking import PACKED, packing, unpack

TEXT_FILES = (".csv", ".tsv", ".txt", ".tab", ".data", "")
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
JSONS = (".json", ".jsonl", ".ndjson")
COLUMN_FILES = (*PARQUET, ".feather", ".arrow", ".ipc")
DATABASES = (".db", ".sqlite", ".sqlite3")
FILE_KINDS = ".csv, .tsv, .txt, .xlsx, .xls, .ods, .json, .jsonl, .parquet, .feather, .db, .npy, .npz, .svm, or one of these with .gz, .zip, .bz2, .xz, .zst"  # fmt: skip  # noqa: E501
OTHER_ENDING = f"if it is another kind of file, give it its own ending: {FILE_KINDS}"


@dataclass
class Table:
    """A table with named columns (Arrow or pandas), or a matrix of numbers, and notes of the reader."""

    name: str
    columns: Any = None
    matrix: Any = None
    notes: list[str] = field(default_factory=list)
    first_line: int = 0  # line of the first row in a text file; 0 where there are no lines
    dialect: Dialect | None = None  # of a text file, whose cells are texts, whatever they mean

    @property
    def n_rows(self) -> int:
        return self.matrix.shape[0] if self.columns is None else len(self.columns)

    @property
    def rows(self) -> Any:
        """What an encoder takes."""
        return self.matrix if self.columns is None else self.columns

    @cached_property
    def frame(self) -> Any:
        """The table as a pandas frame; None for a matrix."""
        if self.columns is None or not hasattr(self.columns, "to_pandas"):
            return self.columns
        return self.columns.to_pandas()


def read_table(source: Path | str, dialect: Dialect | None = None, *, least: str = "at least two rows") -> Table:
    """Read a file by its ending; "-" is CSV or JSON from standard input. ``least`` is what an empty file lacks."""
    dialect = dialect or Dialect()
    if str(source) == "-":
        return _from_bytes(read_standard_input(), "standard input", "", dialect, least)
    path, part = _split(source)
    _check_exists(path, least)
    ending = path.suffix.lower()
    if ending in (".npy", ".npz"):
        return _read_arrays(path)
    if ending in (".svm", ".svmlight", ".libsvm"):
        return _read_svmlight(path)
    if ending in DATABASES:
        return Table(str(source), *read_sqlite(path, part))
    if ending in SPREADSHEETS:
        return _framed(str(source), read_spreadsheet(path.read_bytes(), str(path), part), least)
    if ending in COLUMN_FILES:
        return _framed(str(path), (read_columnar(path, str(path), ending), []), least)
    if ending not in (*TEXT_FILES, *JSONS, *PACKED):
        raise InvalidDataError(f"{path}: files ending in {ending} are not read; convert it to one of {FILE_KINDS}.")
    return _from_bytes(path.read_bytes(), str(path), ending, dialect, least, part)


def _split(source: Path | str) -> tuple[Path, str | None]:
    """The file, and the part of it that is named behind ``::``."""
    name, _, part = str(source).partition("::")
    return (Path(source), None) if not part or Path(source).exists() else (Path(name), part)


def _check_exists(path: Path, least: str) -> None:
    if path.is_dir():
        raise InvalidDataError(f"{path} is a folder; name a file ('widegap documents' reads folders of texts).")
    if not path.exists():
        raise InvalidDataError(f"{path}: no such file; check the name.")
    if not path.stat().st_size:
        raise InvalidDataError(f"{path} is empty; it needs a header and {least}.")


def _from_bytes(content: bytes, name: str, ending: str, dialect: Dialect, least: str, part: str | None = None) -> Table:
    """A table from the bytes of a text file, packed or not."""
    packed = packing(content)
    if packed and (ending in PACKED or not ending):
        content, inner = unpack(content, name, part)
        ending = Path(inner or Path(name).stem).suffix.lower()
        if ending in SPREADSHEETS:
            return _framed(name, read_spreadsheet(content, name, None), least)
        if ending in COLUMN_FILES:
            return _framed(name, (read_columnar(io.BytesIO(content), name, ending), []), least)
        if ending not in (*TEXT_FILES, *JSONS):
            raise InvalidDataError(
                f"{name} holds a file ending in {ending}, which cannot be read while compressed; unpack it first."
            )
    elif ending in PACKED:
        raise InvalidDataError(f"{name} is not compressed, although its name says so; rename it.")
    if ending in JSONS or (not ending and content.lstrip()[:1] in (b"{", b"[")):
        return _framed(name, read_json(content, name, dialect.encoding), least)
    if ending in (".tsv", ".tab") and dialect.delimiter is None:
        dialect = replace(dialect, delimiter="\t")
    found = read_delimited(content, name, dialect, least, OTHER_ENDING)
    return Table(name, found.table, None, found.notes, found.first_line, found.dialect)


def _framed(name: str, found: tuple[Any, list[str]], least: str) -> Table:
    columns, notes = found
    if not len(columns) or not len(columns.columns):
        raise InvalidDataError(f"{name} has {len(columns)} rows and {len(columns.columns)} columns; it needs {least}.")
    return Table(name, columns, None, notes)


def _read_arrays(source: Path) -> Table:
    """Rows of .npy and .npz, as a whole; files beyond memory go through ``widegap.rows`` instead."""
    import numpy as np

    from widegap.rows import shards

    blocks = shards([source])
    if not blocks.shape[0]:
        raise InvalidDataError(f"{source} has no rows; nothing to cluster.")
    return Table(str(source), matrix=blocks.take(np.arange(blocks.shape[0])))


def _read_svmlight(source: Path) -> Table:
    from sklearn.datasets import load_svmlight_file

    from widegap.rows._file_sizes import check_width

    try:
        X, _ = load_svmlight_file(str(source))
    except (ValueError, IndexError, OverflowError) as error:
        raise InvalidDataError(f"{source} is not an svmlight file: {error}; lines look like '1 3:0.5 7:1'.") from error
    note = "The first number of every line (the class) was not used."
    return Table(str(source), matrix=check_width(X, source), notes=[note], first_line=1)
