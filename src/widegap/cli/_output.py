"""What a command leaves behind: the rows with their clusters, the report, and a screenful of summary."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

from widegap.cli._errors import CommandError, one_line
from widegap.cli._files import replacing, write_text
from widegap.cli._tables import Table

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
WRITABLE = (".csv", ".tsv", ".parquet", ".json", ".jsonl", "")
NAMED = 3  # features of each cluster on the screen


def neutral(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: a quote goes before text that begins like one."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_SIGNS) else cell


def check_output(path: Path | None) -> None:
    """Refuse an ending that is not written, before the work."""
    if path is not None and str(path) != "-" and path.suffix.lower() not in WRITABLE:
        raise CommandError(
            f"{path}: rows are written as .csv, .tsv, .parquet or .jsonl, not as {path.suffix}; rename it."
        )


def clustered_frame(table: Table, kept: Any, labels: Any, margins: Any) -> Any:
    """The input rows with cluster and margin; of a matrix the row numbers instead."""
    import pandas as pd

    frame = pd.DataFrame({"row": kept}) if table.frame is None else table.frame.iloc[kept].reset_index(drop=True)
    frame = frame.copy()
    for name, values in (("cluster", labels), ("margin", margins)):
        while name in frame.columns:
            name = f"widegap_{name}"
        frame[name] = values
    return frame


def write_frame(path: Path, frame: Any) -> None:
    """Write a table by the ending of its name; "-" is CSV on standard output."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        with replacing(path) as temporary:
            frame.to_parquet(temporary)
        return
    if ending in (".json", ".jsonl"):
        write_text(path, frame.to_json(orient="records", lines=True, force_ascii=False) + "\n")
        return
    write_text(path, delimited(frame, "\t" if ending == ".tsv" else ","))


def delimited(frame: Any, delimiter: str = ",") -> str:
    """A table as text, formulas in texts made harmless; numbers are left as they are."""
    from widegap.cli._tables import is_number

    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow([neutral(name) for name in frame.columns])
    columns = []
    for name in frame.columns:
        cells = frame[name].tolist()
        text = not all(is_number(cell) or cell == "" for cell in cells)
        columns.append([neutral(cell) for cell in cells] if text else cells)
    for row in zip(*columns, strict=True):
        writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
    return buffer.getvalue()


def write_report(path: Path, summary: dict[str, Any]) -> None:
    """The page, or the dict itself for a name that ends in .json."""
    from widegap.report import render

    text = json.dumps(summary, ensure_ascii=False) if path.suffix.lower() == ".json" else render(summary)
    write_text(path, text)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def short_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary without the points of the map and the records of the search."""
    return {key: value for key, value in summary.items() if key not in ("map", "search")}


def print_summary(summary: dict[str, Any], written: list[str], to_stderr: bool = False) -> None:
    """One screenful: sizes, what separates each cluster, notes, and what was written."""
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console(stderr=to_stderr, highlight=False)
    objective = summary["objective"]
    line = f"{summary['n_rows']:,} {summary['unit']}s, {summary['n_clusters']} clusters by {summary['method']}"
    if objective:
        line += f", {objective['name']} {objective['value']:.4g} ({objective['better']} is better)"
    console.print(Text(line))
    document = summary["unit"] == "document"
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for heading, justify in (("cluster", "right"), ("size", "right"), ("", "right"), ("margin", "right")):
        grid.add_column(heading, justify=justify, no_wrap=True)
    grid.add_column("top terms" if document else "what sets it apart (standard deviations)")
    for cluster in summary["clusters"]:
        margin = cluster["margin"]
        grid.add_row(
            str(cluster["label"]),
            f"{cluster['size']:,}",
            f"{100 * cluster['share']:.0f} %",
            f"{margin['median']:.3g}" if margin else "",
            Text(one_line(_apart(cluster["separates"], document))),
        )
    console.print(grid)
    for note in summary["warnings"]:
        console.print(Text(f"note: {one_line(note)}", style="yellow"))
    for line in written:
        console.print(Text(one_line(line)))


def _apart(items: list[dict[str, Any]], document: bool) -> str:
    if document:
        return ", ".join(item["feature"] for item in items[: 3 * NAMED])
    return ", ".join(f"{item['feature']} {item['difference']:+.1f}" for item in items[:NAMED])
