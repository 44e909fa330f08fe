"""Where results go: checked before the work, then written and shown in one way by every command."""

import json as json_text
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from widegap.cli._errors import INTERRUPTED, CommandError, tell
from widegap.cli._output import print_json, print_summary, short_summary
from widegap.cli._phases import tell_writing
from widegap.cli._places import check_distinct, check_writable, partial_name

if TYPE_CHECKING:
    from widegap.results import Result
    from widegap.results._large_result import LargeResult

ROW_ENDINGS = (".csv", ".tsv", ".xlsx", ".parquet", ".json", ".jsonl", "")
PAGE_ENDINGS = (".html", ".htm", ".json", "")  # the last writes to a device or a name of the user's own


@dataclass(frozen=True)
class Targets:
    """Files for results."""

    output: Path | None = None
    model: Path | None = None
    report: Path | None = None
    with_rows: bool = True  # whether the model file holds rows

    def check(self, *inputs: Path | None, json: bool = False) -> None:
        """Refuse places that cannot be written to, or that are read, before the work begins."""
        output = self.output
        if output is not None and str(output) != "-" and output.suffix.lower() not in ROW_ENDINGS:
            raise CommandError(
                f"{output}: rows are written as .csv, .tsv, .xlsx, .parquet or .jsonl, not as {output.suffix}; "
                "rename it."
            )
        check_distinct({"-o": output, "--model": self.model, "--report": self.report}, inputs, json)
        if self.report is not None and self.report.suffix.lower() not in PAGE_ENDINGS:
            page = self.report.with_suffix(".html").name
            raise CommandError(f"--report {self.report}: the report is a page of HTML; name it {page}.")
        if str(self.model) == "-":
            raise CommandError("--model - is not possible: a model cannot be printed; name a file.")
        for path in (output, self.model, self.report):
            if path is not None and str(path) != "-":
                check_writable(path)

    def check_rows(self, n_rows: int) -> None:
        """Refuse more rows than the file for them can hold, as soon as their number is known."""
        from widegap.results._spreadsheet_files import check_sheet

        if self.output is not None:
            check_sheet(self.output, n_rows)

    def partial(self) -> "Targets":
        """The same under names that mark an interrupted fit."""
        output, model, report = (path and partial_name(path) for path in (self.output, self.model, self.report))
        return Targets(output, model, report, self.with_rows)

    @property
    def to_stdout(self) -> bool:
        return "-" in (str(self.output), str(self.report))


def deliver(
    result: "Result | LargeResult",
    targets: Targets,
    *,
    quiet: bool,
    json: bool,
    interrupted: bool = False,
    finish: Callable[[dict[str, Any]], None] = lambda summary: None,
) -> None:
    """Write what was asked for, and show the summary, which is made only if it is used.

    ``finish`` adds to the summary what the command alone knows. After an interrupted fit the command ends here.
    """
    targets = targets.partial() if interrupted else targets
    written = []
    if targets.output is not None:
        tell_writing(targets.output, quiet=quiet)
        result.write(targets.output)
        written.append(f"{_unit(result)}s: {targets.output}")
    if targets.model is not None:
        tell_writing(targets.model, quiet=quiet)
        result.save(targets.model, rows=targets.with_rows)
        written.append(f"model: {targets.model} ({_size(targets.model)})")
    if targets.report is not None or json or not quiet:
        summary = result.summary() if targets.report is not None else result.summary(0)  # a map is for pages alone
        finish(summary)
        if targets.report is not None:
            tell_writing(targets.report, quiet=quiet)
            write_report(targets.report, summary)
            written.append(f"report: {targets.report}")
        _show(result, summary, written, quiet=quiet, json=json, to_stderr=targets.to_stdout)
    if interrupted:
        where = "; ".join(written) if written else "no file was requested"
        tell(f"Interrupted: this is the best result so far ({where}).")
        raise typer.Exit(INTERRUPTED)


def _size(path: Path) -> str:
    """The size of a file for people."""
    n = path.stat().st_size
    return f"{n / 1e6:.1f} MB" if n >= 1e6 else f"{max(1, round(n / 1e3))} kB"


def write_report(path: Path, summary: dict[str, Any]) -> None:
    """The page, or the dict itself for a name that ends in .json."""
    from widegap.report import render
    from widegap.results._written_files import write_text

    is_json = path.suffix.lower() == ".json"
    write_text(path, json_text.dumps(summary, ensure_ascii=False) if is_json else render(summary))


def _unit(result: "Result | LargeResult") -> str:
    from widegap.results import DocumentRows, Result

    return "document" if isinstance(result, Result) and isinstance(result.rows, DocumentRows) else "row"


def _show(
    result: "Result | LargeResult",
    summary: dict[str, Any],
    written: list[str],
    *,
    quiet: bool,
    json: bool,
    to_stderr: bool,
) -> None:
    """The summary in the form that was asked for; a file too large for memory has no list of rows in JSON."""
    from widegap.results import Result

    if json:
        rows = {"assignments": result.assignments()} if isinstance(result, Result) else {}
        print_json({**short_summary(summary), **rows, "written": written})
    elif not quiet:
        print_summary(summary, written, to_stderr=to_stderr)
