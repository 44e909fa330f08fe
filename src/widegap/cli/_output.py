"""What a command leaves behind: the rows with their clusters, the report, and a screenful of summary."""

import json
import sys
from pathlib import Path
from typing import Any

from widegap.cli._errors import CommandError, one_line
from widegap.cli._places import replacing, write_text

WRITABLE = (".csv", ".tsv", ".parquet", ".json", ".jsonl", "")
SHORT = 24  # letters of a cluster's name on the screen
NAMED = 3  # features of each cluster on the screen
WRITTEN_COLUMNS = 100  # of a matrix; of wider ones only the numbers of the rows are written


def check_output(path: Path | None) -> None:
    """Refuse an ending that is not written, before the work."""
    if path is not None and str(path) != "-" and path.suffix.lower() not in WRITABLE:
        raise CommandError(
            f"{path}: rows are written as .csv, .tsv, .parquet or .jsonl, not as {path.suffix}; rename it."
        )


def clustered_frame(table: Any, rows: Any, labels: Any, margins: Any, names: dict[int, str]) -> Any:
    """The input rows with cluster and margin; of a matrix their numbers too, and if it is wide or sparse only these.

    ``names`` are those of clusters that the user has named, or known labels; they stand beside the clusters.
    """
    import pandas as pd

    from widegap._wording import row_number
    from widegap.rows._matrices import storage
    from widegap.tables._writing import ids_first, with_results

    kept = rows.kept
    if table.frame is not None:
        frame = ids_first(table.frame.iloc[kept].reset_index(drop=True), rows.ids).copy()
    else:
        frame = pd.DataFrame({"row": row_number(kept)})
        if storage(table.matrix) == "dense" and table.matrix.shape[1] <= WRITTEN_COLUMNS:
            columns = [f"column {j}" for j in range(table.matrix.shape[1])]
            frame = pd.concat([frame, pd.DataFrame(table.matrix[kept], columns=columns)], axis=1)
    titles = {"cluster_name": [names.get(int(label), "") for label in labels]} if names else {}
    return with_results(frame, {"cluster": labels, **titles, "margin": margins})


def write_frame(path: Path, frame: Any, dialect: Any = None) -> None:
    """Write a table by the ending of its name; "-" is CSV on standard output.

    ``dialect`` is that of the text file the cells were read from, which are texts then; it is kept.
    """
    from widegap.tables._writing import delimited, dialect_for, json_lines, with_numbers

    ending = path.suffix.lower()
    if dialect is not None and ending in (".parquet", ".json", ".jsonl"):
        frame = with_numbers(frame, dialect.decimal or ".")
    if ending == ".parquet":
        with replacing(path) as temporary:
            frame.to_parquet(temporary)
    elif ending in (".json", ".jsonl"):
        write_text(path, json_lines(frame))
    else:
        kept = dialect_for(ending, dialect)
        write_text(path, delimited(frame, kept), kept.encoding)


def write_report(path: Path, summary: dict[str, Any]) -> None:
    """The page, or the dict itself for a name that ends in .json."""
    from widegap.report import render

    text = json.dumps(summary, ensure_ascii=False) if path.suffix.lower() == ".json" else render(summary)
    write_text(path, text)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def assignments(rows: Any, labels: Any, margins: Any) -> list[dict[str, Any]]:
    """The cluster and the margin of every row, by its number from ``ROWS_FROM``, for JSON."""
    import math

    pairs = zip(rows, labels, margins, strict=True)
    return [
        {"row": int(row), "cluster": int(label), "margin": float(margin) if math.isfinite(margin) else None}
        for row, label, margin in pairs
    ]


def short_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary without the points of the map and the records of the search."""
    return {key: value for key, value in summary.items() if key not in ("map", "search", "decisions")}


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

    from widegap._wording import counted
    from widegap.cli._compare import print_chart

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
    words = (summary.get("recommendation") or summary["number"] or {}).get("words")
    if words:
        console.print(Text(words))
    document = summary["unit"] == "document"
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for heading in ("cluster", "size", "", *(["sure"] if sure else []), "margin"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column("top terms" if document else "what sets it apart (mean here, and elsewhere)")
    for cluster in summary["clusters"]:
        margin = cluster["margin"]
        grid.add_row(
            Text(_called(cluster)),
            f"{cluster['size']:,}",
            _percent(cluster["share"]),
            *([_percent(cluster["agreement"])] if sure else []),
            _percent(margin["relative"]) if margin else "",
            Text(one_line(_apart(cluster["separates"], document))),
        )
    console.print(grid)
    if summary.get("recommendation"):
        print_chart(console, summary["recommendation"])
    _print_decisions(console, summary)
    for note in summary["warnings"]:
        _print_line(console, f"note: {one_line(note)}", style="yellow")
    for line in written:
        _print_line(console, one_line(line))


def _print_line(console: Any, line: str, style: str = "") -> None:
    """A line, wrapped between words alone: a long path stays whole, so that it can be copied."""
    from rich.text import Text

    console.print(Text(line, style=style), overflow="ignore", crop=False)


def _print_decisions(console: Any, summary: dict[str, Any]) -> None:
    """The table of what was decided of the columns, where there is one."""
    lines = summary.get("decisions")
    if not lines:
        return
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for heading in ("column", "read as", "why", "how to change"):
        grid.add_column(heading)
    for line in lines:
        grid.add_row(*(Text(one_line(cell)) for cell in line))
    console.print(grid)
    if summary.get("scaling"):
        console.print(Text(f"{summary['scaling']} --scale changes it."))


def _called(cluster: dict[str, Any]) -> str:
    """The number of a cluster, and its name if the user gave it one."""
    from widegap._wording import clip

    name = f" {one_line(clip(cluster['name'], SHORT))}" if cluster.get("named") else ""
    return f"{cluster['label']}{name}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _apart(items: list[dict[str, Any]], document: bool) -> str:
    if document:
        return ", ".join(item["feature"] for item in items[: 3 * NAMED])
    return ", ".join(f"{item['feature']} {item['text']} ({item['rest_text']})" for item in items[:NAMED])
