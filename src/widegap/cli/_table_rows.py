"""A table on its way to an estimator: encoded by TableEncoder, with the words of the command line."""

from dataclasses import dataclass, field, replace
from typing import Any

from widegap.cli._errors import CommandError, in_options

# Parameters of TableEncoder and the options that set them.
OPTIONS = {
    "columns": "--columns",
    "drop": "--drop",
    "numeric": "--numeric",
    "categorical": "--categorical",
    "text_columns": "--text-column",
}
SHOWN = 12  # lines of the table of decisions; the rest is in the report


@dataclass(frozen=True)
class Choices:
    """What the user said about columns."""

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()
    label_column: str | None = None
    known: str | None = None
    weight_column: str | None = None
    missing: str = "median"
    na_values: tuple[str, ...] = ()
    decimal: str = "auto"
    dates: str = "elapsed"
    scale: str = "auto"

    def encoder(self) -> Any:
        """A TableEncoder that does so; rows with gaps are left out before it sees them."""
        from widegap import TableEncoder

        return TableEncoder(
            columns=self.columns or None,
            drop=(*self.drop, *filter(None, (self.label_column, self.known, self.weight_column))),
            numeric=self.numeric,
            categorical=self.categorical,
            text_columns=self.text_columns,
            dates=self.dates,
            missing="refuse" if self.missing == "refuse" else "fill",
            na_values=self.na_values,
            decimal=self.decimal,
            scale=self.scale,
        )


@dataclass
class Rows:
    """Rows for an estimator: ``X`` scaled, ``values`` in their own units, ``kept`` their numbers in the table."""

    encoder: Any
    X: Any
    values: Any
    kept: Any
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> Any:
        """Names of the columns of X; None for a matrix."""
        return None if self.encoder.columns_ is None else list(self.encoder.get_feature_names_out())

    @property
    def scales(self) -> bool:
        """Whether an estimator may look at the units of the columns itself: of tables whose scale nobody chose."""
        return self.encoder.scale == "auto" and self.encoder.columns_ is not None

    @property
    def ids(self) -> list[str]:
        """The columns that name the rows."""
        return [column.name for column in self.encoder.columns_ or () if column.read_as == "id"]

    @property
    def decimal(self) -> str:
        """The decimal sign of most columns of numbers."""
        signs = [column.decimal for column in self.encoder.columns_ or () if column.used and column.read_as == "number"]
        return "," if 2 * signs.count(",") > len(signs) else "."


def encode(table: Any, choices: Choices) -> Rows:
    """Decide how to read a table, and read it."""
    _check_names(table, choices)
    encoder = choices.encoder()
    try:
        rows = _fitted(encoder, table, choices.missing == "drop")
    except ValueError as error:
        raise CommandError(f"{table.name}: {in_options(str(error))}") from error
    rows.notes = [*table.notes, *rows.notes]
    return rows


def _fitted(encoder: Any, table: Any, drops: bool) -> Rows:
    import numpy as np

    from widegap.tables._scaling import scaled

    reading, kept = encoder._fit(table.rows), np.arange(table.n_rows)
    notes: list[str] = []
    if drops and reading.gaps.any():
        kept = np.flatnonzero(~reading.gaps)
        notes.append(_left_out(reading.gaps))
        if not len(kept):
            raise CommandError("Every row lacks a value; pass --missing median, or use fewer columns.")
        reading = encoder._fit(take(table.rows, kept))
    return Rows(encoder, scaled(reading.values, encoder.factors_), reading.values, kept, notes)


def apply(table: Any, encoder: Any, drops: bool) -> Rows:
    """Rows of a table in the way that a model fixed; ``drops`` if it leaves rows with gaps out."""
    import numpy as np

    from widegap.tables._scaling import scaled

    try:
        reading, kept = encoder._apply(table.rows), np.arange(table.n_rows)
    except ValueError as error:
        raise CommandError(f"{table.name}: {error}") from error
    notes, n = [*table.notes, *reading.notes], int(reading.gaps.sum())
    values = reading.values
    if drops and n:
        kept, values = np.flatnonzero(~reading.gaps), values[~reading.gaps]
        notes.append(_left_out(reading.gaps))
        if not len(kept):
            raise CommandError("Every row lacks a value, so none is left; fill some in: the model leaves them out.")
    elif n:
        notes.append(
            f"{n:,} {'row lacks' if n == 1 else 'rows lack'} a value; the medians of the fitted rows stand in."
        )
    return Rows(encoder, scaled(values, encoder.factors_), values, kept, notes)


def model_parts(model: Any) -> tuple[Any, Any]:
    """The encoder and the clusterer of a saved model."""
    if not hasattr(model, "steps"):
        raise CommandError(
            "The model does not say how its table was read; fit it again, with 'widegap cluster --model' or as a "
            "pipeline that begins with a TableEncoder."
        )
    return model[0], model[-1]


def take(rows: Any, kept: Any) -> Any:
    """Some rows of a table or a matrix."""
    if hasattr(rows, "iloc"):
        return rows.iloc[kept].reset_index(drop=True)
    return rows.take(kept) if hasattr(rows, "take") and hasattr(rows, "schema") else rows[kept]


def _left_out(gaps: Any) -> str:
    n = int(gaps.sum())
    return f"{n:,} {'row lacks' if n == 1 else 'rows lack'} a value and {'was' if n == 1 else 'were'} left out."


def _check_names(table: Any, choices: Choices) -> None:
    """Refuse columns that the table lacks, in the words of the options that name them."""
    from widegap.tables._frames import as_columns, nearest

    named = {option: getattr(choices, name) for name, option in OPTIONS.items()}
    for name in ("label_column", "known", "weight_column"):
        column = getattr(choices, name)
        named[f"--{name.replace('_', '-')}"] = () if column is None else (column,)
    if table.columns is None:
        used = next((option for option, names in named.items() if names), None)
        if used is not None:
            raise CommandError(f"{table.name} has no names of columns; {used} is for tables such as CSV or Parquet.")
        return
    known = as_columns(table.columns).names
    if choices.known is not None and choices.known == choices.label_column:
        raise CommandError(
            f"--known and --label-column both name {choices.known!r}; rows keep their known labels, so a comparison "
            "with them says nothing: leave one of the two out."
        )
    for option, names in named.items():
        for name in names:
            if name not in known:
                raise CommandError(f"{table.name} has no column {name!r} ({option}); {nearest(name, known)}")


def decisions(encoder: Any) -> list[dict[str, Any]]:
    """What was decided of every column, and the option that changes it."""
    return [
        {"column": c.name, "read_as": c.read_as, "used": c.used, "why": c.why, "change": option_for(c)}
        for c in encoder.columns_ or ()
    ]  # fmt: skip


def option_for(column: Any) -> str:
    """The option that changes what was decided of a column."""
    if column.change in OPTIONS:
        return f"{OPTIONS[column.change]} {quoted(column.name)}"
    return {"dates": "--dates parts"}.get(column.change, "")


def quoted(name: str) -> str:
    """A name of a column as it stands on the command line."""
    import shlex

    return shlex.quote(name.replace(",", "\\,"))


def decision_lines(encoder: Any) -> list[tuple[str, str, str, str]]:
    """Lines for the screen: columns with a story one by one, plain numbers together, no more than a few."""
    told = [c for c in encoder.columns_ or () if c.why or not c.used]
    plain = [c.name for c in encoder.columns_ or () if not c.why and c.used]
    told = [c for c in told if c.why != "not among the columns you asked for"]
    lines = [(c.name, c.read_as if c.used else f"{c.read_as}, not used", c.why, option_for(c)) for c in told[:SHOWN]]
    if len(told) > SHOWN:
        lines.append((f"{len(told) - SHOWN:,} more", "", "see --report or --json", ""))
    if plain:
        shown = ", ".join(plain[:4]) + (f" and {len(plain) - 4:,} more" if len(plain) > 4 else "")
        lines.append((shown, "number", "", ""))
    return lines


def with_dialect(table: Any, rows: Rows) -> Any:
    """How rows are to be written: as the file was, with its decimal sign; None for files that are no text."""
    return None if table.dialect is None else replace(table.dialect, decimal=rows.decimal)


def single_rows(table: Any, encoder: Any, kept: Any) -> dict[str, Any]:
    """Where the report takes the cells and ids of single rows from; nothing for matrices."""
    if table.frame is None:
        return {}
    frame = table.frame.iloc[kept].reset_index(drop=True)
    ids = next((column.name for column in encoder.columns_ or () if column.read_as == "id"), None)
    return {"frame": frame, "ids": None if ids is None else frame[ids].tolist()}
