"""Options that several commands share."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from widegap._catalogue import command_names
from widegap.cli._errors import CommandError, tell

Value = TypeVar("Value")
# Panels of the help, in the order of use.
COLUMNS, READING, KNOWLEDGE, RESULTS, RUN = "Columns", "Reading", "Your knowledge", "Results", "Run"


def _option(panel: str, *names: str, text: str) -> Any:
    """An option that the help shows in a panel."""
    return typer.Option(*names, help=text, rich_help_panel=panel)


def _replaced(*names: str) -> Any:
    """An option under its former name: hidden, and with a note wherever it is used."""
    return typer.Option(*names, hidden=True)


Quiet = Annotated[bool, _option(RUN, "--quiet", "-q", text="Print errors only.")]
Json = Annotated[bool, _option(RESULTS, "--json", text="Print one JSON document instead of the summary.")]
Debug = Annotated[bool, _option(RUN, "--debug", text="Show the full traceback of an error.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.", rich_help_panel=RUN)]
Output = Annotated[
    Path | None,
    _option(RESULTS, "--output", "-o", text="Rows with clusters: .csv, .tsv, .xlsx, .parquet, .jsonl; '-' prints CSV."),
]
Report = Annotated[Path | None, _option(RESULTS, "--report", text="Standalone HTML report, or .json.")]
HOLDS_ROWS = "it holds up to 5000 rows unless --without-rows."
Model = Annotated[Path | None, _option(RESULTS, "--model", text=f"Save the model to this file; {HOLDS_ROWS}")]
WithoutRows = Annotated[
    bool, _option(RESULTS, "--without-rows", text="Save the model without rows: smaller, but it cannot be updated.")
]
Names = Annotated[
    Path | None,
    _option(RESULTS, "--names", text="Names of clusters: JSON saved from the report, or lines like 0,name."),
]
Title = Annotated[str | None, _option(RESULTS, "--title", text="Title of the report (default: the name of the file).")]
Encoding = Annotated[str, _option(READING, "--encoding", text="Encoding of text files.")]
Delimiter = Annotated[str | None, _option(READING, "--delimiter", text="Delimiter of CSV files (default: detected).")]
Header = Annotated[
    bool | None,
    _option(READING, "--header/--no-header", text="Whether CSV files begin with column names (default: detected)."),
]
TextColumn = Annotated[
    str | None, _option(READING, "--text-column", text="Column or key of the texts in CSV or JSONL.")
]
KnownColumn = Annotated[
    str | None, _option(KNOWLEDGE, "--known-column", text="Column of known labels, empty where unknown; they are kept.")
]
FormerKnown = Annotated[str | None, _replaced("--known")]
MustLink = Annotated[
    Path | None,
    _option(
        KNOWLEDGE, "--must-link", text="CSV of two columns: pairs of rows in the same cluster, by number from 1 or id."
    ),
]
CannotLink = Annotated[
    Path | None, _option(KNOWLEDGE, "--cannot-link", text="CSV of two columns: pairs of rows in different clusters.")
]
WeightColumn = Annotated[
    str | None,
    _option(KNOWLEDGE, "--weight-column", text="Column of weights: 2 counts a row twice, 0 ignores it in the search."),
]
MinSize = Annotated[
    str | None, _option(KNOWLEDGE, "--min-size", text="Smallest allowed cluster, in rows (20) or as a share (5%).")
]
MaxSize = Annotated[
    str | None, _option(KNOWLEDGE, "--max-size", text="Largest allowed cluster, in rows or as a share.")
]
Outliers = Annotated[
    str | None, _option(KNOWLEDGE, "--outliers", text="Share of outliers, such as 5%, or auto; their cluster is -1.")
]


def current(value: Value | None, former: Value | None, option: str, former_option: str) -> Value | None:
    """The value of an option that may come under its former name, with a note on the error stream."""
    if former is None:
        return value
    tell(f"note: {former_option} is now {option}; the former name stops working in the next minor version.")
    return former if value is None else value


def check_method(name: str) -> str:
    """The name of a method, or of an estimator that the program has defined."""
    names = ["auto", *command_names()]
    if name not in names:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(names)}.")
    return name


Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar=f"[auto|{'|'.join(command_names())}]",
        callback=check_method,
        help="Clustering method.",
        rich_help_panel=RUN,
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


ScaleUse = Annotated[Scaling, _option(COLUMNS, "--scale", text="How to scale numbers.")]
DateUse = Annotated[Dates, _option(COLUMNS, "--dates", text="Dates as days, or as year, month, weekday and hour.")]
Gaps = Annotated[
    Missing, _option(COLUMNS, "--missing", text="Missing values: fill in the median, drop the rows, or refuse.")
]
DecimalSign = Annotated[Decimal, _option(READING, "--decimal", text="Decimal sign of numbers in text files.")]
UsedColumns = Annotated[str | None, _option(COLUMNS, "--columns", text="Use only these columns, separated by commas.")]
DroppedColumns = Annotated[str | None, _option(COLUMNS, "--drop", text="Leave these columns out.")]
NumericColumns = Annotated[str | None, _option(COLUMNS, "--numeric", text="Read these columns as numbers.")]
CategoricalColumns = Annotated[str | None, _option(COLUMNS, "--categorical", text="Read these columns as categories.")]
ColumnWeights = Annotated[
    list[str] | None,
    _option(COLUMNS, "--column-weight", text="Weight of a column, such as income=0.5; may be repeated."),
]
TopicColumns = Annotated[str | None, _option(COLUMNS, "--text-column", text="Columns of free text, used by topic.")]
LabelColumn = Annotated[
    str | None,
    _option(COLUMNS, "--label-column", text="Column of true classes: compared with the result, never used to cluster."),
]
GapWords = Annotated[
    str | None, _option(READING, "--na-values", text="More words for a missing value, separated by commas.")
]
ClusterNumber = Annotated[
    str, _option(RUN, "-k", "--clusters", text="Number of clusters; auto finds it, a range such as 2-8 compares.")
]
CheckpointFile = Annotated[
    Path | None,
    _option(RUN, "--checkpoint", text="Progress file: the same command resumes a killed run (--method cpm3c, mkc)."),
]


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
    found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d+)?)\s*(%?)\s*", text)
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
