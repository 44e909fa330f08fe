"""``widegap refine``: a stored result, corrected by hand."""

from pathlib import Path
from typing import Annotated, Any

import typer

from widegap.cli import _options as options
from widegap.cli._cluster import Targets, summarize_job, write_job
from widegap.cli._errors import CommandError, guarded
from widegap.cli._predict import load_model


@guarded
def refine(
    model: Annotated[Path, typer.Argument(help="Model file, from 'cluster --model'.")],
    data: Annotated[Path, typer.Argument(help="The rows the model was fitted to.")],
    new_model: Annotated[Path, typer.Option("--model", help="File for the corrected model.")],
    merge: Annotated[
        list[str] | None, typer.Option(help="Merge clusters, such as 2,5. Can be repeated, like all corrections.")
    ] = None,
    split: Annotated[list[str] | None, typer.Option(help="Split a cluster in two.")] = None,
    move: Annotated[
        list[str] | None, typer.Option(help="Move rows to a cluster, such as 4,7-9:2; or a CSV file of both.")
    ] = None,
    rename: Annotated[list[str] | None, typer.Option(help="Name a cluster: 2=loyal.")] = None,
    set_aside: Annotated[list[str] | None, typer.Option(help="Rows that belong nowhere; their cluster is -1.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Let the other rows follow the corrections.")] = False,
    output: options.Output = None,
    report: options.Report = None,
    title: options.Title = None,
    encoding: options.Encoding = "auto",
    delimiter: options.Delimiter = None,
    header: options.Header = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Correct a stored result. Name clusters by number or name, rows by number from 1 or by id."""
    from widegap.cli._output import assignments, show
    from widegap.tables._delimited import Dialect

    if not any((merge, split, move, rename, set_aside)):
        raise CommandError("Nothing to correct; pass --merge, --split, --move, --rename or --set-aside.")
    targets = Targets(output, new_model, report)
    targets.check(model, options.file_of(data), json=json)
    stored = _open(model, data, Dialect(encoding, delimiter, header=header))
    for texts, correct in (
        (rename, stored.rename),
        (move, stored.move),
        (set_aside, stored.junk),
        (merge, stored.merge),
        (split, stored.split),
    ):
        correct(texts or ())
    estimator = stored.refit(follow=follow, quiet=quiet)
    job = stored.job(title)
    summary, margins = summarize_job(job, estimator)
    written = write_job(job, estimator, summary, margins, targets)
    if json:
        summary["assignments"] = assignments(job.rows.kept, estimator.labels_, margins)
    show(summary, written, quiet=quiet, json=json, to_stderr=targets.to_stdout)


def _open(model: Path, data: Path, dialect: Any) -> Any:
    """The stored result and its rows; refuses models that cannot be corrected, and other rows."""
    from inspect import signature

    from widegap.cli._refinement import Corrected
    from widegap.cli._table_rows import apply, model_parts
    from widegap.tables._reading import read_table

    estimator, extra = load_model(model)
    if hasattr(estimator, "topic_names_"):
        raise CommandError(
            f"{model} is a model of documents, and only tables are refined; pass labels and links to 'widegap "
            "documents' instead, with --known, --must-link, --cannot-link or --names."
        )
    if "large" in extra:
        raise CommandError(
            f"{model} is a model of a file too large for memory, which cannot be refined; refine a model of some of "
            "its rows, and predict the others."
        )
    encoder, estimator = model_parts(estimator)
    if "known" not in signature(estimator.fit).parameters:
        raise CommandError(
            f"{type(estimator).__name__} takes no known labels, so its result cannot be refined; cluster the rows with "
            "--method max-margin, cpm3c or mkc."
        )
    table = read_table(data, dialect)
    rows = apply(table, encoder, extra.get("missing") == "drop")
    return Corrected(estimator, extra, table, rows)
