"""``widegap export``: a saved model as a file that runs without widegap."""

from pathlib import Path
from typing import Annotated

import typer

from widegap.cli import _options as options
from widegap.cli._errors import CommandError, guarded
from widegap.cli._places import check_distinct, check_writable
from widegap.cli._predict import load_model


@guarded
def export_model(
    model: Annotated[Path, typer.Argument(help="Model file, from 'cluster --model'; not of documents.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Exported model: .py (NumPy), .onnx or .sql.", rich_help_panel=options.RESULTS
        ),
    ],
    table: Annotated[str, typer.Option(help="Table that a .sql file reads.", rich_help_panel=options.RESULTS)] = "rows",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that a .sql file passes on beside its results; may be repeated.",
            rich_help_panel=options.RESULTS,
        ),
    ] = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a saved model as a Python file, an ONNX graph or an SQL query, which run without widegap."""
    from widegap.exporting import export

    check_distinct({"-o": output}, (model,), False)
    check_writable(output)
    estimator, extra = load_model(model)
    if "large" in extra:  # names and factors of the columns stand beside the model, not in it
        raise CommandError(
            f"{model} was fitted on a file too large to be read whole, and such models cannot be exported; fit a "
            "sample of the rows, such as the first 100,000, and export that model."
        )
    export(estimator, output, table=table, keep=tuple(keep or ()))
    if not quiet:
        print(f"exported: {output}")
