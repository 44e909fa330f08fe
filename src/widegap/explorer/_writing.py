"""Rows with their clusters as text that no spreadsheet runs."""

import csv
import io
from typing import Any

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def harmless(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: a quote goes before text that begins like one."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA_SIGNS):
        return cell
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return f"'{cell}"
    return cell


def as_csv(frame: Any) -> str:
    """A table as CSV; gaps are empty, numbers are written so that reading gives the same ones."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([harmless(str(name)) for name in frame.columns])
    cells = frame.astype(object).where(frame.notna(), None)
    writer.writerows([harmless(cell) for cell in line] for line in cells.itertuples(index=False, name=None))
    return buffer.getvalue()
