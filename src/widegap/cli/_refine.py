"""``widegap refine``: a stored result, corrected by hand."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._cluster import add_columns
from widegap.cli._delivery import Targets, deliver
from widegap.cli._errors import CommandError, guarded
from widegap.cli._phases import tell_reading
from widegap.cli._predict import load_model, read_stored_rows

if TYPE_CHECKING:
    from widegap.cli._refinement import Corrected
    from widegap.tables._delimited import Dialect


def _correction(help: str) -> Any:
    return typer.Option(help=help, rich_help_panel=options.KNOWLEDGE)


@guarded
def refine(
    model: Annotated[Path, typer.Argument(help="Model file, from 'cluster --model'.")],
    data: Annotated[Path, typer.Argument(help="The rows the model was fitted to.")],
    new_model: Annotated[
        Path,
        typer.Option(
            "--model", help=f"Save the corrected model; {options.HOLDS_ROWS}", rich_help_panel=options.RESULTS
        ),
    ],
    merge: Annotated[
        list[str] | None, _correction(help="Merge clusters, such as 2,5. Every correction can be repeated.")
    ] = None,
    split: Annotated[list[str] | None, _correction(help="Split a cluster in two.")] = None,
    move: Annotated[
        list[str] | None, _correction(help="Move rows to a cluster, such as 4,7-9:2; or a CSV file of both.")
    ] = None,
    rename: Annotated[list[str] | None, _correction(help="Name a cluster: 2=loyal.")] = None,
    outliers: Annotated[
        list[str] | None, _correction(help="Rows that belong to no cluster, such as 4,7-9; their cluster is -1.")
    ] = None,
    former_outliers: Annotated[list[str] | None, typer.Option("--set-aside", hidden=True)] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Reassign less typical rows.", rich_help_panel=options.KNOWLEDGE)
    ] = False,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    output: options.Output = None,
    report: options.Report = None,
    without_rows: options.WithoutRows = False,
    title: options.Title = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Correct a stored result. Name clusters by number or name, rows by number from 1 or by id."""
    from widegap.tables._delimited import Dialect

    outliers = options.current(outliers, former_outliers, "--outliers", "--set-aside")
    if not any((merge, split, move, rename, outliers)):
        raise CommandError("Nothing to correct; pass --merge, --split, --move, --rename or --outliers.")
    targets = Targets(output, new_model, report, with_rows=not without_rows)
    targets.check(model, options.file_of(data), json=json)
    tell_reading(data, quiet=quiet)
    stored = _open(model, data, Dialect(encoding, delimiter, header=header))
    for texts, correct in (
        (rename, stored.rename),
        (move, stored.move),
        (outliers, stored.junk),
        (merge, stored.merge),
        (split, stored.split),
    ):
        correct(texts or ())
    result = stored.refit(title, follow=follow, quiet=quiet)
    deliver(result, targets, quiet=quiet, json=json, finish=lambda summary: add_columns(summary, stored.rows))


def _open(model: Path, data: Path, dialect: "Dialect") -> "Corrected":
    """The stored result and its rows; refuses models that cannot be corrected, and other rows."""
    from inspect import signature

    from widegap import describe
    from widegap.cli._refinement import Corrected
    from widegap.results import EncodedRows

    estimator, extra = load_model(model)
    if hasattr(estimator, "topic_names_"):
        raise CommandError(
            f"{model} is a model of documents, and only tables can be refined; cluster the documents again "
            "with --known-column, --must-link, --cannot-link or --names."
        )
    if "large" in extra:
        raise CommandError(
            f"{model} is a model of a file too large for memory, which cannot be refined; cluster some of its rows, "
            "refine that model, and predict the rest."
        )
    clusterer = describe.last_step(estimator)
    if "known" not in signature(clusterer.fit).parameters:
        raise CommandError(
            f"{type(clusterer).__name__} takes no known labels, so its result cannot be refined; cluster the rows with "
            "--method max-margin, cpm3c or mkc."
        )
    rows = read_stored_rows(estimator, extra, data, None, dialect)
    assert isinstance(rows, EncodedRows)  # documents were refused
    return Corrected(clusterer, extra, rows)
