"""``widegap predict`` and ``widegap report``: a saved model on other rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._errors import CommandError, guarded
from widegap.cli._files import check_writable

ModelFile = Annotated[Path, typer.Argument(help="Model file, from 'cluster --model' or 'documents --model'.")]
Data = Annotated[Path, typer.Argument(help="Rows with the columns of the fit; documents for a model of documents.")]


@guarded
def predict(
    model: ModelFile,
    data: Data,
    output: options.Output = None,
    text_column: Annotated[str | None, typer.Option(help="Column of the texts in a CSV or JSONL file.")] = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Assign new rows to the clusters of a saved model."""
    from widegap.cli._output import check_output, print_json, print_summary, short_summary, write_frame

    check_output(output)
    found = _apply(model, data, text_column, encoding, delimiter, None)
    written = []
    if output is not None:
        write_frame(output, found.frame())
        written.append(f"rows: {output}")
    if quiet:
        return
    if json:
        print_json({**short_summary(found.summary), "written": written})
    else:
        print_summary(found.summary, written, to_stderr=str(output) == "-")


@guarded
def report(
    model: ModelFile,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML page, or .json.")] = Path("report.html"),
    title: options.Title = None,
    text_column: Annotated[str | None, typer.Option(help="Column of the texts in a CSV or JSONL file.")] = None,
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a report on rows and their clusters by a saved model."""
    from widegap.cli._output import write_report

    if str(output) != "-":
        check_writable(output)
    found = _apply(model, data, text_column, encoding, delimiter, title)
    write_report(output, found.summary)
    if not quiet and str(output) != "-":
        print(f"report: {output}")


class _Found:
    """Clusters of rows: a summary, and the table to write."""

    def __init__(self, summary: dict[str, Any], frame: Any):
        self.summary, self.frame = summary, frame


def _apply(
    model: Path, data: Path, text_column: str | None, encoding: str, delimiter: str | None, title: str | None
) -> _Found:
    from widegap import persistence

    if not model.exists():
        raise CommandError(f"{model}: no such file; 'widegap cluster --model {model.name}' makes one.")
    estimator, extra = persistence.load(model)
    title = title or str(extra.get("title") or data.stem)
    if hasattr(estimator, "topic_names_"):
        from widegap.cli._documents import describe_documents

        return _Found(*describe_documents(estimator, data, text_column, encoding, title))
    return _Found(*_describe_rows(estimator, extra, data, encoding, delimiter, title))


def _describe_rows(estimator: Any, extra: Any, data: Path, encoding: str, delimiter: str | None, title: str) -> Any:
    from widegap import describe
    from widegap.cli._encoding import Encoding, encode, row_texts
    from widegap.cli._output import clustered_frame
    from widegap.cli._tables import read_table
    from widegap.report import summarize

    table = read_table(data, encoding=encoding, delimiter=delimiter)
    how = Encoding.from_json(extra.get("encoding"))
    rows = encode(table, how)
    labels = estimator.predict(rows.X)
    summary = summarize(
        estimator,
        rows.X,
        labels=labels,
        values=rows.values,
        feature_names=how.names,
        items=row_texts(table, rows.kept),
        title=title,
        notes=rows.notes,
    )

    def frame() -> Any:
        return clustered_frame(table, rows.kept, labels, describe.leads(describe.scores(estimator, rows.X), labels))

    return summary, frame
