"""What a command prints: one JSON document, or a screenful of summary."""

import json
import sys
from typing import Any

from widegap.cli._errors import one_line

SHORT_NAME = 24  # letters of a cluster's name, so that the figures beside it fit on 80 columns
SHORT_CLASS = 16  # letters of a class above its column, so that a few classes fit on 80 columns
NAMED_FEATURES = 3  # of each cluster, so that most clusters take one line of the screen or two


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def short_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary without the points of the map and the records of the search."""
    return {key: value for key, value in summary.items() if key not in ("map", "search", "decisions")}


def screen(to_stderr: bool = False) -> Any:
    """A console whose caller handles a closed pipe."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Screen(stderr=to_stderr, highlight=False)


def print_summary(summary: dict[str, Any], written: list[str], to_stderr: bool = False) -> None:
    """One screenful: sizes, what separates each cluster, notes, and what was written."""
    from rich.text import Text

    from widegap.cli._compare import print_chart

    console = screen(to_stderr)
    console.print(Text(_headline(summary)))
    words = (summary.get("recommendation") or summary["number"] or {}).get("words")
    if words:
        console.print(Text(words))
    if summary["kind"]:
        console.print(Text(summary["kind"]["words"]))
    _print_changes(console, summary)
    _print_clusters(console, summary)
    _print_classes(console, summary)
    if summary.get("recommendation"):
        print_chart(console, summary["recommendation"])
    _print_decisions(console, summary)
    for note in summary["warnings"]:
        _print_line(console, f"note: {one_line(note)}", style="yellow")
    for line in written:
        _print_line(console, one_line(line))


def _print_changes(console: Any, summary: dict[str, Any]) -> None:
    """What an update changed: a sentence for every cluster that is not as before, and whether rows drift."""
    changes = summary.get("changes")
    if changes is None:
        return
    from rich.text import Text

    drift = changes["drift"]
    console.print(Text(changes["words"]))
    for record in changes["clusters"]:
        if record["kind"] != "kept":
            console.print(Text(f"  {one_line(record['text'])}"))
    columns = "; ".join(column["text"] for column in drift["columns"])
    console.print(Text(one_line(drift["words"] + (f" Columns: {columns}." if columns else ""))))


def _group(summary: dict[str, Any]) -> str:
    """What the clusters are called: those of documents are topics."""
    return "topic" if summary["unit"] == "document" else "cluster"


def _is_sure(summary: dict[str, Any]) -> bool:
    """Whether it is known how sure the clusters are."""
    return summary["fitted"] and (summary["search"] or {}).get("agreement") is not None


def _headline(summary: dict[str, Any]) -> str:
    """Rows, clusters, method, and how good the result is."""
    from widegap._wording import counted

    objective = summary["objective"]
    counts = f"{counted(summary['n_rows'], summary['unit'])}, {counted(summary['n_clusters'], _group(summary))}"
    line = f"{counts} by {summary['method']}"
    if _is_sure(summary):
        line += f", {_percent(summary['search']['agreement'])} sure"
    if objective and summary["fitted"]:
        if objective["share"] is not None:
            # Where clusters follow columns, the next line says how much of these they explain.
            follows_columns = (summary["kind"] or {}).get("pool") == "columns"
            line += "" if follows_columns else f", {_percent(objective['share'])} of the cluster labels explained"
        elif summary["n_clusters"] > 1:
            line += f", {objective['name']} {objective['value']:.4g} ({objective['better']} is better)"
    return line


def _print_clusters(console: Any, summary: dict[str, Any]) -> None:
    """One line a cluster: size, how sure it is, its median margin as the written table has it, what it is like."""
    from rich.table import Table as Grid
    from rich.text import Text

    from widegap._wording import number

    document, sure = summary["unit"] == "document", _is_sure(summary)
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for heading in (_group(summary), "size", "", *(["sure"] if sure else []), "margin"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column("top terms" if document else "what sets it apart (mean here, and elsewhere)")
    for cluster in summary["clusters"]:
        margin = cluster["margin"]
        grid.add_row(
            Text(_called(cluster)),
            f"{cluster['size']:,}",
            _percent(cluster["share"]),
            *([_percent(cluster["agreement"])] if sure else []),
            number(margin["median"]) if margin else "",
            Text(one_line(_apart(cluster["separates"], document))),
        )
    console.print(grid)


def _print_classes(console: Any, summary: dict[str, Any]) -> None:
    """Clusters against true classes, where the user named a column of them."""
    classes = summary.get("classes")
    if classes is None:
        return
    from rich.table import Table as Grid
    from rich.text import Text

    from widegap._wording import clip

    grid = Grid(box=None, pad_edge=False, header_style="dim")
    grid.add_column("cluster", justify="right", no_wrap=True)
    for name in classes["classes"]:
        grid.add_column(Text(one_line(clip(name, SHORT_CLASS))), justify="right")
    for line in classes["lines"]:
        label = "none" if line["cluster"] < 0 else str(line["cluster"])
        grid.add_row(label, *(f"{count:,}" for count in line["counts"]))
    console.print(Text(f"Rows of each class of {one_line(classes['column'])!r}, which was not used:"))
    console.print(grid)
    console.print(Text(classes["words"]))


def _print_line(console: Any, line: str, style: str = "") -> None:
    """A line, wrapped between words alone: a long path stays whole, so that it can be copied."""
    from rich.text import Text

    console.print(Text(line, style=style), overflow="ignore", crop=False)


def _print_decisions(console: Any, summary: dict[str, Any]) -> None:
    """The table of what was decided for the columns, where there is one."""
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

    name = f" {one_line(clip(cluster['name'], SHORT_NAME))}" if cluster.get("named") else ""
    return f"{cluster['label']}{name}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _apart(items: list[dict[str, Any]], document: bool) -> str:
    if document:
        return ", ".join(item["feature"] for item in items[: 3 * NAMED_FEATURES])
    return ", ".join(f"{item['feature']} {item['text']} ({item['rest_text']})" for item in items[:NAMED_FEATURES])
