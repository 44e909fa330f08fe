"""Tables as text: in the dialect that was read, numbers to the last digit, no cell that a spreadsheet would run."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from widegap.tables._arrow_tables import shortest
from widegap.tables._delimited import Dialect
from widegap.tables._number_formats import plain_numbers, read_numbers
from widegap.tables._values import MISSING, Cells

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
SHOWN_DIGITS = 6  # of margins in text files


def neutral(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: a quote goes before text that begins like one.

    Numbers, with whatever decimal sign and currency, and signs for missing values are left as they are.
    """
    if not isinstance(cell, str) or not cell.startswith(FORMULA_SIGNS) or cell.strip().lower() in MISSING:
        return cell
    return cell if cell[0] in "+-" and _is_number(cell) else f"'{cell}"


def _is_number(cell: str) -> bool:
    return bool(read_numbers(pa.array([cell]), np.ones(1, np.int64), None).read.any())


def with_results(frame: Any, results: Mapping[str, Any]) -> Any:
    """The table with more columns at its end, all under other names if one of these is taken."""
    prefix = ""
    while any(f"{prefix}{name}" in frame.columns for name in results):
        prefix += "widegap_"
    for name, values in results.items():
        frame[f"{prefix}{name}"] = values
    return frame


def ids_first(frame: Any, ids: Sequence[str]) -> Any:
    """The table with the columns that name its rows at the front."""
    front = [name for name in ids if name in frame.columns]
    return frame[[*front, *(name for name in frame.columns if name not in front)]]


def with_numbers(frame: Any, decimal: str) -> Any:
    """The table with numbers in place of texts, in the columns that hold nothing else; gaps become null.

    Columns with numbers such as 007 are names rather than numbers, and stay as they are.
    """
    import pandas as pd

    frame = frame.copy()
    for name in frame.columns:
        cells = Cells(frame[name])
        if cells.kind != "text" or not len(cells.texts) or cells.has_leading_zeros:
            continue
        values = plain_numbers(cells.texts, decimal)
        if np.isnan(values).any():
            continue
        whole = all(text.lstrip("+-").isdigit() and len(text) < 19 for text in cells.texts.to_pylist())
        if whole:
            texts = [*(int(text) for text in cells.texts.to_pylist()), None]
            frame[name] = pd.array(
                [texts[code] for code in cells.codes], dtype="Int64" if cells.missing.any() else "int64"
            )
        else:
            numbers = pd.array(cells.spread(values), dtype="float64")
            frame[name] = pd.array(numbers, dtype="Float64") if cells.missing.any() else numbers
    return frame


def dialect_for(ending: str, dialect: Dialect | None) -> Dialect:
    """How a text file is written: as the one that was read, but with tabs where the name says so."""
    kept = dialect or Dialect()
    delimiter = "\t" if ending == ".tsv" else "," if kept.delimiter == "\t" and ending == ".csv" else kept.delimiter
    return replace(kept, delimiter=delimiter, encoding="utf-8" if kept.encoding == "auto" else kept.encoding)


def delimited(frame: Any, dialect: Dialect | None = None) -> str:
    """A table as text, formulas in texts made harmless; margins, which come last, with a few digits.

    Lines are joined by Arrow, whole columns at a time. Only cells that need quotes, or look like formulas, are looked
    at one by one.
    """
    dialect = dialect or Dialect()
    sign = dialect.delimiter or ","
    names = list(frame.columns)
    last = len(names) - 1 if str(names[-1]).endswith("margin") else -1
    head = pa.array([str(neutral(name)) for name in names], pa.large_string())
    columns = [_written(frame.iloc[:, j], dialect, j == last) for j in range(len(names))]
    if len(names) == 1:  # an empty cell alone would be an empty line
        columns = [pc.if_else(pc.equal(columns[0], ""), pa.scalar('""', pa.large_string()), columns[0])]
    lines = pc.binary_join_element_wise(*columns, pa.scalar(sign, pa.large_string()))
    ends = pa.scalar(dialect.line_end, pa.large_string()), pa.scalar("", pa.large_string())
    _, places, content = pc.binary_join_element_wise(lines, *ends).buffers()  # all lines behind each other
    size = int(np.frombuffer(places, np.int64)[len(lines)]) if len(lines) else 0
    text = str(memoryview(content)[:size], "utf-8") if size else ""
    return sign.join(_quoted(head, dialect).to_pylist()) + dialect.line_end + text


def _written(series: Any, dialect: Dialect, is_rounded: bool) -> Any:
    """Cells of a column as they are written: an array of texts without nulls."""
    import pandas as pd

    if isinstance(series.dtype, pd.StringDtype):
        found: Any = pa.array(series, pa.large_string(), from_pandas=True)
        texts = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        is_text = True
    elif isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu":
        return pa.array(series.to_numpy()).cast(pa.large_string())
    else:
        cells = _cells(series)
        is_text = any(isinstance(cell, str) for cell in cells)
        texts = pa.array([_cell_text(cell, dialect, is_rounded) for cell in cells], pa.large_string())
    texts = pc.fill_null(texts, "")
    return _quoted(_harmless(texts) if is_text else texts, dialect)


def _cell_text(cell: Any, dialect: Dialect, is_rounded: bool) -> str | None:
    """A cell: a number to the last digit, or with a few, and never as a power of ten where it is large."""
    if cell is None or isinstance(cell, str):
        return cell
    if not isinstance(cell, float):
        return str(cell)
    text = f"{cell:.{SHOWN_DIGITS}g}" if is_rounded else str(shortest(cell))
    text = str(shortest(float(text))) if is_rounded and "e+" in text else text
    return text.replace(".", ",") if dialect.decimal == "," else text


def _harmless(texts: Any) -> Any:
    """Texts without those that a spreadsheet would run."""
    begins = pc.is_in(pc.utf8_slice_codeunits(texts, 0, 1), pa.array(FORMULA_SIGNS, pa.large_string()))

    def changed(distinct: Any) -> list[str]:
        short = distinct.cast(pa.string())
        ones = np.ones(len(short), np.int64)
        # Most are negative numbers; which sign is the decimal one does not matter here.
        numbers = read_numbers(short, ones, ".").read | read_numbers(short, ones, ",").read
        pairs = zip(distinct.to_pylist(), numbers, strict=True)
        return [text if text[0] in "+-" and is_number else neutral(text) for text, is_number in pairs]

    return _replaced(texts, begins, changed)


def _quoted(texts: Any, dialect: Dialect) -> Any:
    """Texts with quotes around those that need them."""
    special = "".join(dict.fromkeys(f'{dialect.delimiter or ","}"\r\n{dialect.line_end}'))
    content = texts.buffers()[2]
    content = b"" if content is None else content.to_pybytes()
    if not any(sign.encode() in content for sign in special):
        return texts
    needs = pc.match_substring_regex(texts, f"[{re.escape(special)}]")
    return _replaced(texts, needs, lambda distinct: [_quoted_cell(text, dialect) for text in distinct.to_pylist()])


def _quoted_cell(text: str, dialect: Dialect) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=dialect.delimiter or ",", lineterminator=dialect.line_end).writerow([text])
    return buffer.getvalue().removesuffix(dialect.line_end)


def _replaced(texts: Any, chosen: Any, changed: Callable[[Any], list[str]]) -> Any:
    """Texts with those that are chosen changed, each different one once."""
    if not pc.any(chosen).as_py():
        return texts
    some = pc.filter(texts, chosen).dictionary_encode()
    new = pa.array(changed(some.dictionary), pa.large_string())
    return pc.replace_with_mask(texts, chosen, new.take(some.indices))


def json_lines(frame: Any) -> str:
    """A table as one JSON object a line; gaps and numbers that are not finite are null."""
    names = [str(name) for name in frame.columns]
    rows = zip(*(map(_finite, _cells(frame.iloc[:, j])) for j in range(len(names))), strict=True)
    objects = (dict(zip(names, row, strict=True)) for row in rows)
    return "".join(json.dumps(entry, ensure_ascii=False, default=str) + "\n" for entry in objects)


def _cells(series: Any) -> list[Any]:
    """Python values of a column, None for gaps; floats of 16 or 32 bits with the digits that tell them apart."""
    import pandas as pd

    short = getattr(series.dtype, "numpy_dtype", series.dtype)
    cells = series.tolist()
    if series.isna().any():
        cells = [None if gap else cell for cell, gap in zip(cells, series.isna(), strict=True)]
    if short in (np.float16, np.float32):
        kind = np.dtype(short).type
        return [None if cell is None else float(str(kind(cell))) for cell in cells]
    if pd.api.types.is_object_dtype(series.dtype):
        return [cell.tolist() if hasattr(cell, "tolist") else cell for cell in cells]
    return cells


def _finite(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
