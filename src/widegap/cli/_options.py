"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from widegap._catalogue import command_names
from widegap.cli._errors import CommandError

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of the summary.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Number that makes the run repeatable.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Rows with cluster and margin: .csv, .tsv, .parquet, .jsonl; '-' prints CSV.")]  # fmt: skip  # noqa: E501
Report = Annotated[Path | None, typer.Option("--report", help="Standalone HTML report (or .json).")]
Model = Annotated[Path | None, typer.Option("--model", help="Save the model for 'widegap predict'.")]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of text files.")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Delimiter of CSV files; guessed if not given.")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether CSV files begin with names of columns; guessed if not given.")]  # fmt: skip  # noqa: E501
Title = Annotated[str | None, typer.Option("--title", help="Title of the report; the file's name if not given.")]


def check_method(name: str) -> str:
    """The name of a method; estimators that the program has defined count, too."""
    names = ["auto", *command_names()]
    if name not in names:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(names)}.")
    return name


Method = Annotated[
    str,
    typer.Option(
        "--method", metavar=f"[auto|{'|'.join(command_names())}]", callback=check_method, help="How to cluster."
    ),
]


class Scaling(StrEnum):
    """Scales of columns."""

    auto = "auto"
    none = "none"
    standard = "standard"
    minmax = "minmax"
    robust = "robust"


class Missing(StrEnum):
    """What happens to missing values."""

    median = "median"
    drop = "drop"
    refuse = "refuse"


def cluster_numbers(text: str) -> range:
    """``5`` or ``3..10`` as a range of numbers; its end may lie anywhere, so that it must not become a list."""
    low, dots, high = text.partition("..")
    try:
        first = int(low)
        last = int(high) if dots else first
    except ValueError:
        raise CommandError(
            f"-k {text!r} is not a number of clusters; pass one such as 5, a range such as 3..10, or auto."
        ) from None
    if first < 1 or last < first:
        raise CommandError(f"-k {text!r} is out of range; numbers begin at 1, and a range goes upwards.")
    return range(first, last + 1)


def names(text: str | None) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()
