"""Tables and texts as files, written whole or not at all."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from widegap._atomic import replacing
from widegap.results._spreadsheet_files import sheet_writer

if TYPE_CHECKING:
    import pandas as pd

    from widegap.tables._delimited import Dialect


def write_frame(path: Path, frame: "pd.DataFrame", dialect: "Dialect | None" = None) -> None:
    """Write a table by the ending of its name; "-" is CSV on standard output.

    ``dialect`` is that of the text file the cells were read from, which are texts then; it is kept.
    """
    from widegap.tables._writing import delimited, dialect_for, json_lines, with_numbers

    ending = path.suffix.lower()
    if dialect is not None and ending in (".parquet", ".xlsx", ".json", ".jsonl"):
        frame = with_numbers(frame, dialect.decimal or ".")
    if ending == ".parquet":
        with replacing(path) as temporary:
            frame.to_parquet(temporary)
    elif ending == ".xlsx":
        with replacing(path) as temporary, sheet_writer(temporary, path) as write:
            write(frame)
    elif ending in (".json", ".jsonl"):
        write_text(path, json_lines(frame))
    else:
        kept = dialect_for(ending, dialect)
        write_text(path, delimited(frame, kept), kept.encoding)


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a text, in UTF-8 if the encoding lacks some of its letters; "-" is standard output."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    try:
        content = text.encode(encoding)
    except UnicodeEncodeError:
        content = text.encode("utf-8")
    with replacing(path) as temporary:
        temporary.write_bytes(content)
