"""Options about columns: the encoder they make, and how its decisions are shown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from widegap.cli._errors import CommandError, in_options

if TYPE_CHECKING:
    from widegap.results import EncodedRows
    from widegap.tables import Table, TableEncoder
    from widegap.tables._columns import Column

# Parameters of TableEncoder and the options that set them.
OPTIONS = {
    "columns": "--columns",
    "drop": "--drop",
    "numeric": "--numeric",
    "categorical": "--categorical",
    "text_columns": "--text-column",
}
SHOWN = 12  # lines of the table of decisions, so that the summary stays on one screen; the report has the rest


@dataclass(frozen=True)
class TableOptions:
    """What the user chose for columns."""

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()
    label_column: str | None = None
    known_column: str | None = None
    weight_column: str | None = None
    missing: str = "median"
    na_values: tuple[str, ...] = ()
    decimal: str = "auto"
    dates: str = "elapsed"
    scale: str = "auto"
    weights: tuple[tuple[str, float], ...] = ()

    @property
    def uses(self) -> dict[str, str]:
        """What columns that are not clustered are there for."""
        uses = {
            self.label_column: "it has the labels",
            self.known_column: "it has the known labels",
            self.weight_column: "it has the weights of the rows",
        }
        return {name: why for name, why in uses.items() if name is not None}

    def encoder(self) -> "TableEncoder":
        """A TableEncoder with these parameters; rows with gaps are dropped before it sees them."""
        from widegap import TableEncoder

        return TableEncoder(
            columns=self.columns or None,
            drop=(*self.drop, *filter(None, (self.label_column, self.known_column, self.weight_column))),
            numeric=self.numeric,
            categorical=self.categorical,
            text_columns=self.text_columns,
            dates=self.dates,
            missing="refuse" if self.missing == "refuse" else "fill",
            na_values=self.na_values,
            decimal=self.decimal,
            scale=self.scale,
            weights=dict(self.weights) or None,
        )


def encode(table: "Table", chosen: "TableOptions") -> "EncodedRows":
    """Decide how to read a table, and read it."""
    from widegap.exceptions import InvalidDataError
    from widegap.results import EncodedRows

    _check_names(table, chosen)
    try:
        rows = EncodedRows.fit(table, chosen.encoder(), chosen.missing)
    except InvalidDataError as error:
        raise CommandError(in_options(str(error))) from error
    rows.notes = [in_options(note) for note in rows.notes]
    for column in rows.encoder.columns_ or ():
        column.why = chosen.uses.get(column.name, column.why)
    return rows


def stated_weights(texts: Sequence[str] | None) -> tuple[tuple[str, float], ...]:
    """``income=0.5`` as a column and its weight, of every text; a name may hold further signs of equality."""
    found: dict[str, float] = {}
    for text in texts or ():
        name, sign, value = text.rpartition("=")
        name = name.strip()
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not sign or not name or not 0 <= weight < math.inf:
            raise CommandError(
                f"--column-weight {text!r} must be a column and a number from 0, such as income=0.5, which makes its "
                "squared distances count half; 0 leaves it out."
            )
        if name in found:
            raise CommandError(f"--column-weight names {name!r} twice; keep one of the two.")
        found[name] = weight
    return tuple(found.items())


def _check_names(table: "Table", chosen: "TableOptions") -> None:
    """Refuse columns that the table lacks, in the words of the options that name them."""
    from widegap.tables._frames import as_columns, nearest

    named = {option: getattr(chosen, name) for name, option in OPTIONS.items()}
    for name in ("label_column", "known_column", "weight_column"):
        column = getattr(chosen, name)
        named[f"--{name.replace('_', '-')}"] = () if column is None else (column,)
    named["--column-weight"] = tuple(name for name, _ in chosen.weights)
    if table.columns is None:
        used = next((option for option, names in named.items() if names), None)
        if used is not None:
            raise CommandError(f"{table.name} has no column names; {used} is for tables such as CSV or Parquet.")
        return
    known = as_columns(table.columns).names
    if chosen.known_column is not None and chosen.known_column == chosen.label_column:
        raise CommandError(
            f"--known-column and --label-column both name {chosen.known_column!r}; known labels are kept, so comparing "
            "the result with them shows nothing: leave one of the two out."
        )
    for option, names in named.items():
        for name in names:
            if name not in known:
                raise CommandError(f"{table.name} has no column {name!r} ({option}); {nearest(name, known)}")


def decisions(encoder: "TableEncoder") -> list[dict[str, Any]]:
    """What was decided for every column, and the option that changes it."""
    return [
        {"column": c.name, "read_as": c.read_as, "used": c.used, "why": c.why, "change": option_for(c)}
        for c in encoder.columns_ or ()
    ]  # fmt: skip


def option_for(column: "Column") -> str:
    """The option that changes what was decided for a column."""
    if column.change in OPTIONS:
        return f"{OPTIONS[column.change]} {quoted(column.name)}"
    return {"dates": "--dates parts", "na_values": "--na-values none"}.get(column.change, "")


def quoted(name: str) -> str:
    """A column name as it stands on the command line."""
    import shlex

    return shlex.quote(name.replace(",", "\\,"))


def decision_lines(encoder: "TableEncoder") -> list[tuple[str, str, str, str]]:
    """Lines for the screen: columns with a reason one by one, plain numbers together."""
    named = {*(encoder.columns or ()), *encoder.numeric, *encoder.categorical, *encoder.text_columns, *encoder.drop}
    columns = [c for c in encoder.columns_ or () if not encoder.columns or c.name in named]
    shown = [c for c in columns if c.why or not c.used]
    plain = [c.name for c in columns if not c.why and c.used]
    lines = [(c.name, c.read_as if c.used else f"{c.read_as}, not used", c.why, option_for(c)) for c in shown[:SHOWN]]
    if len(shown) > SHOWN:
        lines.append((f"{len(shown) - SHOWN:,} more", "", "see --report or --json", ""))
    if plain:
        few = ", ".join(plain[:4]) + (f" and {len(plain) - 4:,} more" if len(plain) > 4 else "")
        lines.append((few, "number", "", ""))
    return lines
