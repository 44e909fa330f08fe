"""``widegap predict`` and ``widegap report``: a saved model on other rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._delivery import Targets, deliver, write_report
from widegap.cli._errors import CommandError, guarded
from widegap.cli._names_file import read_names
from widegap.cli._phases import tell_reading, tell_writing

if TYPE_CHECKING:
    from widegap.results import DocumentRows, EncodedRows, InputRows, Result
    from widegap.results._large_files import LargeFile
    from widegap.results._large_result import LargeResult
    from widegap.tables._delimited import Dialect

ModelFile = Annotated[Path, typer.Argument(help="Model file, from 'cluster --model' or 'documents --model'.")]
NewRows = Annotated[Path, typer.Argument(help="Rows with the columns of the fitted table, or documents.")]
DEFAULT_PAGE = Path("report.html")


@guarded
def predict(
    model: ModelFile,
    data: NewRows,
    text_column: options.TextColumn = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    output: options.Output = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Assign new rows to the clusters of a saved model."""
    from widegap.tables._delimited import Dialect

    targets = Targets(output)
    targets.check(model, data, json=json)
    tell_reading(data, quiet=quiet)
    found = _open(model, data, text_column, Dialect(encoding, delimiter, header=header), None, {})
    deliver(found, targets, quiet=quiet, json=json)


@guarded
def report(
    model: ModelFile,
    data: NewRows,
    text_column: options.TextColumn = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    page: Annotated[
        Path | None,
        typer.Option("--report", help="HTML page, or .json (default: report.html).", rich_help_panel=options.RESULTS),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", hidden=True)] = None,
    title: options.Title = None,
    names: options.Names = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a report on rows and their clusters by a saved model."""
    from widegap.tables._delimited import Dialect

    page = options.current(page, output, "--report", "-o") or DEFAULT_PAGE
    Targets(report=page).check(model, data)
    dialect = Dialect(encoding, delimiter, header=header)
    own_names = read_names(names)
    tell_reading(data, quiet=quiet)
    found = _open(model, data, text_column, dialect, title, own_names)
    tell_writing(page, quiet=quiet)
    write_report(page, found.summary())
    if not quiet and str(page) != "-":
        print(f"report: {page}")


def load_model(model: Path) -> tuple[Any, dict[str, Any]]:
    """What a model file holds: the estimator, and the dict that was stored beside it."""
    from widegap import persistence

    _check_model(model)
    return persistence.load(model)


def _check_model(model: Path) -> None:
    if not model.exists():
        raise CommandError(f"{model}: no such file; 'widegap cluster --model {model.name}' makes one.")


def _open(
    model: Path, data: Path, text_column: str | None, dialect: "Dialect", title: str | None, names: dict[str, str]
) -> "Result | LargeResult":
    """The clusters of rows or documents in a file by a stored model."""
    from widegap.results import Result

    def read(estimator: Any, extra: dict[str, Any]) -> "InputRows | LargeFile":
        if "large" not in extra:
            return read_stored_rows(estimator, extra, data, text_column, dialect)
        from widegap.results._large_files import stored_file

        return stored_file(data, extra["large"])

    _check_model(model)
    return Result.open(model, read, names=names, title=title, untitled=data.stem)


def read_stored_rows(
    estimator: Any, extra: dict[str, Any], data: Path, text_column: str | None, dialect: "Dialect"
) -> "DocumentRows | EncodedRows":
    """Rows or documents of a file, as a stored model takes them."""
    if hasattr(estimator, "topic_names_"):
        from widegap.cli._document_reading import read_documents

        return read_documents(data, text_column, dialect.encoding)
    from widegap.results import EncodedRows
    from widegap.tables._reading import read_table

    if not hasattr(estimator, "steps"):
        raise CommandError(
            "The model does not hold how its table was read; fit it again, with 'widegap cluster --model' or as a "
            "pipeline that begins with a TableEncoder."
        )
    table = read_table(data, dialect, least="at least one row")
    return EncodedRows.read(table, estimator[0], str(extra.get("missing", "median")))
