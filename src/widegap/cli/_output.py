"""What a command leaves behind: the rows with their clusters, the report, and a screenful of summary."""

import csv
import io
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from widegap.cli._cells import PLAIN_NUMBER, WHOLE_NUMBER, is_missing, is_number, plain_number, shortest
from widegap.cli._errors import CommandError, one_line
from widegap.cli._places import replacing, write_text
from widegap.cli._reading import Table

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
WRITABLE = (".csv", ".tsv", ".parquet", ".json", ".jsonl", "")
NAMED = 3  # features of each cluster on the screen
SHOWN_DIGITS = 6  # of margins in text files
WRITTEN_COLUMNS = 100  # of a matrix; of wider ones only the numbers of the rows are written


def neutral(cell: Any, decimal: str = ".") -> Any:
    """A cell that no spreadsheet takes for a formula: a quote goes before text that begins like one.

    Numbers, written with the decimal sign of the file, and signs for missing values are left as they are.
    """
    if not isinstance(cell, str) or not cell.startswith(FORMULA_SIGNS):
        return cell
    return cell if is_number(cell, decimal) or is_missing(cell) else f"'{cell}"


def check_output(path: Path | None) -> None:
    """Refuse an ending that is not written, before the work."""
    if path is not None and str(path) != "-" and path.suffix.lower() not in WRITABLE:
        raise CommandError(
            f"{path}: rows are written as .csv, .tsv, .parquet or .jsonl, not as {path.suffix}; rename it."
        )


def clustered_frame(table: Table, kept: Any, labels: Any, margins: Any) -> Any:
    """The input rows with cluster and margin; of a matrix their numbers too, and if it is wide or sparse only these."""
    import pandas as pd

    from widegap.data._tables import storage

    if table.frame is not None:
        frame = table.frame.iloc[kept].reset_index(drop=True).copy()
    else:
        frame = pd.DataFrame({"row": kept})
        if storage(table.matrix) == "dense" and table.matrix.shape[1] <= WRITTEN_COLUMNS:
            names = [f"column {j}" for j in range(table.matrix.shape[1])]
            frame = pd.concat([frame, pd.DataFrame(table.matrix[kept], columns=names)], axis=1)
    return with_results(frame, {"cluster": labels, "margin": margins})


def with_results(frame: Any, results: Mapping[str, Any]) -> Any:
    """The table with more columns at its end, under other names if these are taken."""
    for name, values in results.items():
        while name in frame.columns:
            name = f"widegap_{name}"
        frame[name] = values
    return frame


def with_numbers(frame: Any, decimal: str) -> Any:
    """The table with numbers in place of texts, in the columns that hold nothing else; gaps become null.

    Columns with numbers such as 007 are names rather than numbers, and stay as they are.
    """
    import pandas as pd

    frame = frame.copy()
    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name].dtype):
            continue
        texts = [str(cell).strip() for cell in frame[name]]
        cells = [None if is_missing(text) else plain_number(text, decimal) for text in texts]
        present = [cell for cell in cells if cell is not None]
        if not present or not all(PLAIN_NUMBER.fullmatch(cell) for cell in present):
            continue
        whole = all(WHOLE_NUMBER.fullmatch(cell) for cell in present)
        numbers = [cell if cell is None else int(cell) if whole else float(cell) for cell in cells]
        kind = "Int64" if whole else "Float64"
        frame[name] = pd.array(numbers, dtype=kind if None in numbers else kind.lower())
    return frame


def write_frame(path: Path, frame: Any, decimal: str = ".", *, from_text: bool = False) -> None:
    """Write a table by the ending of its name; "-" is CSV on standard output.

    ``from_text`` says that cells are texts because a text file was read, in which numbers have this decimal sign.
    """
    ending = path.suffix.lower()
    if from_text and ending in (".parquet", ".json", ".jsonl"):
        frame = with_numbers(frame, decimal)
    if ending == ".parquet":
        with replacing(path) as temporary:
            frame.to_parquet(temporary)
        return
    if ending in (".json", ".jsonl"):
        write_text(path, json_lines(frame))
        return
    write_text(path, delimited(frame, "\t" if ending == ".tsv" else ",", decimal))


def delimited(frame: Any, delimiter: str = ",", decimal: str = ".") -> str:
    """A table as text, formulas in texts made harmless.

    Numbers are written so that reading gives the same ones; margins, which come last, with a few digits.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow([neutral(name) for name in frame.columns])
    columns = [_cells(frame[name]) for name in frame.columns]
    if columns and str(frame.columns[-1]).endswith("margin"):
        columns[-1] = [cell if cell is None else float(f"{cell:.{SHOWN_DIGITS}g}") for cell in columns[-1]]
    writer.writerows(zip(*([neutral(shortest(cell), decimal) for cell in cells] for cells in columns), strict=True))
    return buffer.getvalue()


def json_lines(frame: Any) -> str:
    """A table as one JSON object a line; gaps and numbers that are not finite are null."""
    names = [str(name) for name in frame.columns]
    rows = zip(*(map(_finite, _cells(frame[name])) for name in frame.columns), strict=True)
    objects = (dict(zip(names, row, strict=True)) for row in rows)
    return "".join(json.dumps(entry, ensure_ascii=False, default=str) + "\n" for entry in objects)


def _cells(series: Any) -> list[Any]:
    """Python values of a column, None for gaps; floats of 16 or 32 bits with the digits that tell them apart."""
    import numpy as np
    import pandas as pd

    short = getattr(series.dtype, "numpy_dtype", series.dtype)
    cells = [None if pd.api.types.is_scalar(cell) and pd.isna(cell) else cell for cell in series.tolist()]
    if short in (np.float16, np.float32):
        kind = np.dtype(short).type
        return [None if cell is None else float(str(kind(cell))) for cell in cells]
    return [cell.tolist() if hasattr(cell, "tolist") else cell for cell in cells]


def _finite(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


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


def show(summary: dict[str, Any], written: list[str], *, quiet: bool, json: bool, to_stderr: bool) -> None:
    """The summary in the form that was asked for; JSON also if all else is to be quiet."""
    if json:
        print_json({**short_summary(summary), "written": written})
    elif not quiet:
        print_summary(summary, written, to_stderr=to_stderr)


def screen(to_stderr: bool = False) -> Any:
    """A console that leaves it to the caller what happens when nobody reads."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Screen(stderr=to_stderr, highlight=False)


def print_summary(summary: dict[str, Any], written: list[str], to_stderr: bool = False) -> None:
    """One screenful: sizes, what separates each cluster, notes, and what was written."""
    from rich.table import Table as Grid
    from rich.text import Text

    from widegap.report._wording import counted

    console = screen(to_stderr)
    objective = summary["objective"]
    counts = f"{counted(summary['n_rows'], summary['unit'])}, {counted(summary['n_clusters'], 'cluster')}"
    line = f"{counts} by {summary['method']}"
    sure = summary["fitted"] and (summary["search"] or {}).get("agreement") is not None
    if sure:
        line += f", {_percent(summary['search']['agreement'])} sure"
    if objective and summary["fitted"]:
        if objective["share"] is not None:
            line += f", {_percent(objective['share'])} explained"
        elif summary["n_clusters"] > 1:
            line += f", {objective['name']} {objective['value']:.4g} ({objective['better']} is better)"
    console.print(Text(line))
    if summary["number"]:
        console.print(Text(summary["number"]["words"]))
    document = summary["unit"] == "document"
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for heading in ("cluster", "size", "", *(["sure"] if sure else []), "margin"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column("top terms" if document else "what sets it apart (mean here, and elsewhere)")
    for cluster in summary["clusters"]:
        margin = cluster["margin"]
        grid.add_row(
            str(cluster["label"]),
            f"{cluster['size']:,}",
            _percent(cluster["share"]),
            *([_percent(cluster["agreement"])] if sure else []),
            _percent(margin["relative"]) if margin else "",
            Text(one_line(_apart(cluster["separates"], document))),
        )
    console.print(grid)
    for note in summary["warnings"]:
        console.print(Text(f"note: {one_line(note)}", style="yellow"))
    for line in written:
        console.print(Text(one_line(line)))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _apart(items: list[dict[str, Any]], document: bool) -> str:
    if document:
        return ", ".join(item["feature"] for item in items[: 3 * NAMED])
    return ", ".join(f"{item['feature']} {item['text']} ({item['rest_text']})" for item in items[:NAMED])
