"""``widegap predict`` and ``widegap report``: a saved model on other rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from widegap.cli import _options as options
from widegap.cli._errors import CommandError, guarded
from widegap.cli._names_file import read_names, stored_names
from widegap.cli._places import check_distinct, check_writable

ModelFile = Annotated[Path, typer.Argument(help="Model file, from 'cluster --model' or 'documents --model'.")]
Data = Annotated[Path, typer.Argument(help="Rows with the columns the model was fitted to, or documents.")]


@guarded
def predict(
    model: ModelFile,
    data: Data,
    output: options.Output = None,
    text_column: Annotated[str | None, typer.Option(help="Column of the texts in a CSV or JSONL file.")] = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Assign new rows to the clusters of a saved model."""
    from widegap.cli._output import check_output, show
    from widegap.tables._delimited import Dialect

    check_output(output)
    check_distinct({"-o": output}, (model, data), json)
    if output is not None and str(output) != "-":
        check_writable(output)
    found = _apply(model, data, text_column, Dialect(encoding, delimiter, header=header), None)
    written = []
    if output is not None:
        found.write(output)
        written.append(f"rows: {output}")
    if quiet and not json:
        return  # nobody looks at a summary
    summary = found.summarize()
    if json and found.assign is not None:
        summary["assignments"] = found.assign()
    show(summary, written, quiet=quiet, json=json, to_stderr=str(output) == "-")


@guarded
def report(
    model: ModelFile,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML page, or .json.")] = Path("report.html"),
    title: options.Title = None,
    names: options.Names = None,
    text_column: Annotated[str | None, typer.Option(help="Column of the texts in a CSV or JSONL file.")] = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a report on rows and their clusters by a saved model."""
    from widegap.cli._output import write_report
    from widegap.tables._delimited import Dialect

    check_distinct({"-o": output}, (model, data))
    if str(output) != "-":
        check_writable(output)
    found = _apply(model, data, text_column, Dialect(encoding, delimiter, header=header), title, read_names(names))
    write_report(output, found.summarize())
    if not quiet and str(output) != "-":
        print(f"report: {output}")


def load_model(model: Path) -> tuple[Any, Any]:
    """What a model file holds: the estimator, and what the command that wrote it added."""
    from widegap import persistence

    if not model.exists():
        raise CommandError(f"{model}: no such file; 'widegap cluster --model {model.name}' makes one.")
    return persistence.load(model)


class _Found(NamedTuple):
    """Clusters of rows: how to summarize them, to write the table, and to list them for JSON unless they are too many.

    A table is written without a summary, which takes far longer than the clusters.
    """

    summarize: Callable[[], dict[str, Any]]
    write: Callable[[Path], None]
    assign: Callable[[], Any] | None = None


def _apply(
    model: Path, data: Path, text_column: str | None, dialect: Any, title: str | None, names: Any = None
) -> _Found:
    estimator, extra = load_model(model)
    title = title or str(extra.get("title") or data.stem)
    names = {**stored_names(extra), **(names or {})}
    if hasattr(estimator, "topic_names_"):
        from widegap.cli._documents import describe_documents

        return _Found(*describe_documents(estimator, data, text_column, dialect.encoding, title, names))
    if "large" in extra:
        from widegap.cli._large import describe_large

        return _Found(*describe_large(estimator, extra, data, title))
    return _Found(*_describe_rows(estimator, extra, data, dialect, title, names))


def _describe_rows(estimator: Any, extra: Any, data: Path, dialect: Any, title: str, names: Any) -> Any:
    from widegap import describe
    from widegap.cli._output import assignments, clustered_frame, write_frame
    from widegap.cli._table_rows import apply, model_parts, single_rows, with_dialect
    from widegap.results._names import own_names, known_names
    from widegap.tables._reading import read_table

    encoder, estimator = model_parts(estimator)
    table = read_table(data, dialect, least="at least one row")
    rows = apply(table, encoder, extra.get("missing") == "drop")
    labels = describe.labels(estimator, rows.X)
    clusters = range(estimator.n_clusters_)
    own = known_names(estimator, clusters) | own_names(names, clusters)

    def summary() -> Any:
        from widegap.report import summarize
        from widegap.results._summary import number_rows

        found = summarize(
            estimator,
            rows.X,
            labels=labels,
            values=rows.values,
            feature_names=rows.names,
            **single_rows(table, encoder, rows.kept),
            title=title,
            names=names,
            notes=rows.notes,
        )
        number_rows(found, rows.kept)
        return found

    def margins() -> Any:
        return describe.leads(describe.scores(estimator, rows.X), labels)

    def write(path: Path) -> None:
        write_frame(path, clustered_frame(table, rows, labels, margins(), own), with_dialect(table, rows))

    return summary, write, lambda: assignments(rows.kept, labels, margins())
