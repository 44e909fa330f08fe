"""Options that several commands share."""

import re
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
Names = Annotated[Path | None, typer.Option("--names", help="Names of clusters: JSON saved from the report, or lines like 0,name.")]  # fmt: skip  # noqa: E501
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of text files; auto detects it.")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Delimiter of CSV files; guessed if not given.")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether CSV files begin with names of columns; guessed if not given.")]  # fmt: skip  # noqa: E501
MinSize = Annotated[str | None, typer.Option("--min-size", help="Smallest allowed cluster, in rows (20) or as a share (5%).")]  # fmt: skip  # noqa: E501
MaxSize = Annotated[str | None, typer.Option("--max-size", help="Largest allowed cluster, in rows or as a share.")]
Outliers = Annotated[str | None, typer.Option("--outliers", help="Set aside rows that belong nowhere: a share such as 5%, or auto; their cluster is -1.")]  # fmt: skip  # noqa: E501
Known = Annotated[str | None, typer.Option("--known", help="Column of the labels you know, empty elsewhere; these rows keep their label.")]  # fmt: skip  # noqa: E501
MustLink = Annotated[Path | None, typer.Option("--must-link", help="CSV of two columns: rows that belong together, by their numbers from 1 or their ids.")]  # fmt: skip  # noqa: E501
CannotLink = Annotated[Path | None, typer.Option("--cannot-link", help="The same for rows that must be in different clusters.")]  # fmt: skip  # noqa: E501
WeightColumn = Annotated[str | None, typer.Option("--weight-column", help="Column of weights: 2 counts a row twice, 0 leaves it out of the search.")]  # fmt: skip  # noqa: E501
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


class Dates(StrEnum):
    """What dates become."""

    elapsed = "elapsed"
    parts = "parts"


class Decimal(StrEnum):
    """Decimal signs."""

    auto = "auto"
    point = "."
    comma = ","


class Missing(StrEnum):
    """What happens to missing values."""

    median = "median"
    drop = "drop"
    refuse = "refuse"


DateUse = Annotated[Dates, typer.Option(help="Dates as days, or as year, month, weekday and hour.")]
Gaps = Annotated[Missing, typer.Option(help="Gaps: fill in the median, drop the rows, or refuse.")]
DecimalSign = Annotated[Decimal, typer.Option(help="Decimal sign of numbers in text files.")]


def cluster_numbers(text: str) -> range:
    """``5``, ``3..10`` or ``3-10`` as a range of numbers; its end may lie anywhere, so it must not become a list."""
    found = re.fullmatch(r"\s*(\d{1,18})\s*(?:(?:\.\.|-|–)\s*(\d{1,18}))?\s*", text)
    if found is None:
        raise CommandError(
            f"-k {text!r} is not a number of clusters; pass one such as 5, a range such as 3-10, or auto."
        )
    first, last = int(found[1]), int(found[2] or found[1])
    if first < 1 or last < first:
        raise CommandError(f"-k {text!r} is out of range; numbers begin at 1, and a range goes upwards.")
    return range(first, last + 1)


def size(text: str, option: str) -> int | float:
    """``20`` as a number of rows, ``5%`` as a share of them."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    share = found is not None and bool(found[2])
    value = float(found[1]) if found is not None else -1.0
    if found is None or (share and not 0 < value < 100) or (not share and (value < 1 or value != int(value))):
        raise CommandError(f"{option} {text!r} must be a number of rows, such as 20, or a share, such as 5%.")
    return value / 100 if share else int(value)


def outlier_share(text: str) -> float | str:
    """``0.05`` or ``5%`` as a share of the rows; ``auto`` as it is."""
    if text.strip() == "auto":
        return "auto"
    found = re.fullmatch(r"\s*(\d*\.?\d+)\s*(%?)\s*", text)
    share = float(found[1]) / (100 if found[2] else 1) if found is not None else -1.0
    if not 0 < share < 1:
        raise CommandError(f"--outliers {text!r} must be a share of the rows, such as 5% or 0.05, or auto.")
    return share


def names(text: str | None) -> tuple[str, ...]:
    """Names separated by commas; ``\\,`` is a comma inside a name."""
    parts = re.split(r"(?<!\\),", text) if text else []
    return tuple(name.replace("\\,", ",").strip() for name in parts if name.strip())


def file_of(source: Path) -> Path:
    """The file of a source such as ``shop.db::orders``."""
    name = str(source)
    return source if "::" not in name or source.exists() else Path(name.partition("::")[0])
