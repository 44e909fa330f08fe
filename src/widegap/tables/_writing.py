"""Tables as text: in the dialect that was read, numbers to the last digit, no cell that a spreadsheet would run."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

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
    import numpy as np
    import pyarrow as pa

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
    import numpy as np
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
    """A table as text, formulas in texts made harmless; margins, which come last, with a few digits."""
    dialect = dialect or Dialect()
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=dialect.delimiter or ",", lineterminator=dialect.line_end)
    writer.writerow([neutral(name) for name in frame.columns])
    last = len(frame.columns) - 1 if str(frame.columns[-1]).endswith("margin") else -1
    columns = [_written(frame.iloc[:, j], dialect, j == last) for j in range(len(frame.columns))]
    writer.writerows(zip(*columns, strict=True))
    return buffer.getvalue()


def _written(series: Any, dialect: Dialect, is_rounded: bool) -> list[Any]:
    """Cells of a column as they are written."""
    found = _cells(series)
    if is_rounded:
        found = [cell if cell is None else float(f"{cell:.{SHOWN_DIGITS}g}") for cell in found]
    if any(isinstance(cell, float) for cell in found):
        texts = [shortest(cell) for cell in found]
        return [t.replace(".", ",") if isinstance(t, str) else t for t in texts] if dialect.decimal == "," else texts
    if any(isinstance(cell, str) and cell.startswith(FORMULA_SIGNS) for cell in found):
        harmless = {cell: neutral(cell) for cell in set(found)}
        return [harmless[cell] for cell in found]
    return found


def json_lines(frame: Any) -> str:
    """A table as one JSON object a line; gaps and numbers that are not finite are null."""
    names = [str(name) for name in frame.columns]
    rows = zip(*(map(_finite, _cells(frame.iloc[:, j])) for j in range(len(names))), strict=True)
    objects = (dict(zip(names, row, strict=True)) for row in rows)
    return "".join(json.dumps(entry, ensure_ascii=False, default=str) + "\n" for entry in objects)


def _cells(series: Any) -> list[Any]:
    """Python values of a column, None for gaps; floats of 16 or 32 bits with the digits that tell them apart."""
    import numpy as np
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
