"""Tables from files: CSV, TSV, Parquet, npy, npz, svmlight."""

import csv
import io
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from widegap.cli._cells import is_number
from widegap.cli._errors import CommandError

SNIFFED = 1 << 16
READABLE = ".csv, .tsv, .txt, .parquet, .npy, .npz, .svm, .svmlight, .libsvm"


@dataclass
class Table:
    """A table with named columns (``frame``), or a matrix of numbers (``matrix``), and what was noticed on reading."""

    name: str
    frame: Any = None
    matrix: Any = None
    notes: list[str] = field(default_factory=list)
    first_line: int = 2  # line of the first row in a text file
    from_text: bool = False  # cells are texts, whatever they mean

    @property
    def n_rows(self) -> int:
        return len(self.frame) if self.frame is not None else self.matrix.shape[0]

    def row_texts(self, kept: Any) -> Any:
        """What to show of some rows; None for matrices."""
        from widegap.report._wording import RowTexts

        return None if self.frame is None else RowTexts(self.frame, kept)


@dataclass(frozen=True)
class Dialect:
    """How a text file is to be read; None where that is guessed."""

    encoding: str = "utf-8"
    delimiter: str | None = None
    decimal: str = "."
    header: bool | None = None


def read_table(source: Path, dialect: Dialect | None = None, *, least: str = "at least two rows") -> Table:
    """Read a file by its ending; "-" is CSV from standard input. ``least`` is what an empty file lacks."""
    dialect = dialect or Dialect()
    if str(source) == "-":
        return _read_delimited(sys.stdin.buffer.read(), "standard input", dialect, least)
    if source.is_dir():
        raise CommandError(f"{source} is a folder; name a file ('widegap documents' reads folders of texts).")
    if not source.exists():
        raise CommandError(f"{source}: no such file; check the name.")
    if not source.stat().st_size:
        raise CommandError(f"{source} is empty; it needs a header and {least}.")
    ending = source.suffix.lower()
    if ending in (".npy", ".npz"):
        return _read_arrays(source)
    if ending in (".svm", ".svmlight", ".libsvm"):
        return _read_svmlight(source)
    if ending in (".parquet", ".pq"):
        return _read_parquet(source)
    if ending not in (".csv", ".tsv", ".txt", ".tab", ".data", ""):
        raise CommandError(f"{source}: files ending in {ending} are not read; convert it to one of {READABLE}.")
    if ending in (".tsv", ".tab") and dialect.delimiter is None:
        dialect = replace(dialect, delimiter="\t")
    return _read_delimited(source.read_bytes(), str(source), dialect, least)


def _read_delimited(content: bytes, name: str, dialect: Dialect, least: str) -> Table:
    import pandas as pd

    text = decode(content, name, dialect.encoding)
    if not text.strip():
        raise CommandError(f"{name} is empty; it needs a header and {least}.")
    delimiter = _checked(dialect.delimiter) or _delimiter(text, dialect.decimal)
    head = next(csv.reader(io.StringIO(text[:SNIFFED]), delimiter=delimiter), [])
    headless, notes = _is_headless(head, dialect)
    try:
        frame = pd.read_csv(
            io.StringIO(text), sep=delimiter, dtype=str, keep_default_na=False, header=None if headless else 0
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise CommandError(
            f"{name} cannot be read as a table: {error}; check the quotes and delimiters there."
        ) from error
    if isinstance(frame.index, pd.MultiIndex) or not isinstance(frame.index, pd.RangeIndex):
        raise CommandError(f"{name}: rows have more cells than the header has names; name every column.")
    frame = frame.fillna("")  # short rows
    if headless:
        frame.columns = [f"column {j}" for j in range(frame.shape[1])]
    frame.columns = [str(column) for column in frame.columns]
    if not len(frame):
        raise CommandError(f"{name} has a header but no rows; it needs {least}.")
    return Table(name, frame=frame, notes=notes, first_line=1 if headless else 2, from_text=True)


def _is_headless(head: list[str], dialect: Dialect) -> tuple[bool, list[str]]:
    """Whether the first line is a row rather than names of columns, and what to say about it."""
    if dialect.header is not None:
        return not dialect.header, []
    n_numbers = sum(is_number(cell, dialect.decimal) for cell in head)
    if head and n_numbers == len(head):
        said = "The first line holds numbers only: taken for a row, not for names of columns (--header if it is names)."
        return True, [said]
    if n_numbers:
        shown = next(cell for cell in head if is_number(cell, dialect.decimal))
        return False, [
            f"The first line was taken for names of columns, though {shown.strip()!r} is a number; pass --no-header if "
            "it is a row."
        ]
    return False, []


NO_TEXT = f"rename it by what it is, one of {READABLE}"


def decode(content: bytes, name: str, encoding: str, remedy: str = NO_TEXT) -> str:
    """The text of a file; ``remedy`` is for one that holds none."""
    if b"\0" in content[:SNIFFED] and not encoding.lower().replace("-", "").startswith("utf16"):
        raise CommandError(f"{name} is not a text file: it contains zero bytes; {remedy}.")
    try:
        return content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CommandError(f"{name} is not {encoding} in line {line}; pass --encoding, such as latin-1.") from error
    except LookupError as error:
        raise CommandError(f"--encoding {encoding}: no such encoding; try utf-8, latin-1 or cp1252.") from error


def _checked(delimiter: str | None) -> str | None:
    delimiter = "\t" if delimiter in ("\\t", "tab") else delimiter
    if delimiter is not None and len(delimiter) != 1:
        raise CommandError(f"--delimiter {delimiter!r} must be a single character, or 'tab'.")
    return delimiter


def _delimiter(text: str, decimal: str) -> str:
    """The sign that occurs most in the first line; the decimal sign only if there is no other."""
    first = text[:SNIFFED].splitlines()[0]
    found = [sign for sign in ",;\t|" if sign in first]
    return max([sign for sign in found if sign != decimal] or found or [","], key=first.count)


def _read_parquet(source: Path) -> Table:
    try:
        import pandas as pd
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise CommandError(f"{source}: Parquet needs pandas and pyarrow: pip install 'widegap[cli]'.") from error
    try:
        frame = pd.read_parquet(source)
    except (ValueError, pyarrow.ArrowException) as error:
        raise CommandError(f"{source} is not a Parquet file, or is damaged: {error}; write it again.") from error
    if not frame.shape[0] or not frame.shape[1]:
        raise CommandError(f"{source} has {frame.shape[0]} rows and {frame.shape[1]} columns; nothing to cluster.")
    frame.columns = [str(column) for column in frame.columns]
    return Table(str(source), frame=frame.reset_index(drop=True), first_line=0)


def _read_arrays(source: Path) -> Table:
    import numpy as np

    from widegap.data import shards

    blocks = shards([source])
    return Table(str(source), matrix=blocks.take(np.arange(blocks.shape[0])), first_line=0)


def _read_svmlight(source: Path) -> Table:
    from sklearn.datasets import load_svmlight_file

    from widegap.data._file_claims import check_width

    try:
        X, _ = load_svmlight_file(str(source))
    except (ValueError, IndexError, OverflowError) as error:
        raise CommandError(f"{source} is not an svmlight file: {error}; lines look like '1 3:0.5 7:1'.") from error
    note = "The first number of every line (the class) was not used."
    return Table(str(source), matrix=check_width(X, source), notes=[note], first_line=1)
