"""Tables as numbers: which columns count, categories as 0 and 1, missing values, scales; kept with the model."""

import math
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from widegap.cli._cells import Cells, other_decimal
from widegap.cli._errors import CommandError, one_line
from widegap.cli._reading import Table
from widegap.cli._scaling import column_factors, scaled

MAX_LEVELS = 30  # text columns with more are names rather than categories, unless asked for
MOST_LEVELS = 1000
NO_NAMES = ("", "unnamed: 0")  # headers of row numbers, which other programs write
COUNTING_WORDS = {"#", "id", "ids", "idx", "index", "key", "no", "nr", "num", "number", "row", "rowid", "rownum", "uid"}
TIME_WORDS = {"age", "date", "day", "hour", "minute", "month", "second", "t", "time", "week", "year", "yr"}
MIN_COUNTED = 3  # rows; fewer numbers in a row say nothing
OWN_COLUMNS = (("cluster", "margin"), ("widegap_cluster", "widegap_margin"))


@dataclass
class Column:
    """One column of the table: a number (with the value that fills gaps) or a category with its levels."""

    name: str
    kind: str
    fill: float | None = None
    levels: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [self.name] if self.kind == "number" else [f"{self.name} = {level}" for level in self.levels]


@dataclass
class ColumnPlan:
    """How a table became numbers: columns (none for a matrix), their weights, and what happens to missing values."""

    columns: list[Column] | None
    n_features: int
    missing: str = "median"
    decimal: str = "."
    weights: list[float] | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, state: Any) -> "ColumnPlan":
        """From a model file; refuses what this version does not understand."""
        try:
            columns = state["columns"]
            found = cls(**{**state, "columns": None if columns is None else [Column(**column) for column in columns]})
            numbers = [*(found.weights or ()), *(column.fill or 0.0 for column in found.columns or ())]
            finite = all(map(math.isfinite, numbers))
        except (TypeError, KeyError) as error:
            raise CommandError(f"The model does not say how its table was read ({error}); fit it again.") from error
        if not finite:
            raise CommandError("The model scales its columns by values that are not finite; fit it again.")
        return found

    @property
    def names(self) -> list[str] | None:
        return None if self.columns is None else [name for column in self.columns for name in column.names]

    @property
    def flags(self) -> Any:
        """Which features are 0 or 1 because they stand for a category."""
        import numpy as np

        if self.columns is None:
            return np.zeros(self.n_features, dtype=bool)
        return np.array([column.kind == "category" for column in self.columns for _ in column.names])


@dataclass
class Rows:
    """Rows ready for an estimator: ``X`` scaled, ``values`` in their own units, ``kept`` their numbers in the table."""

    X: Any
    values: Any
    kept: Any
    notes: list[str]


@dataclass(frozen=True)
class Choices:
    """What the user said about columns."""

    columns: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    label_column: str | None = None
    missing: str = "median"
    decimal: str = "."
    scale: str = "auto"


def plan_columns(table: Table, choices: Choices) -> tuple[ColumnPlan, Rows]:
    """Decide how to read a table, and read it."""
    if table.frame is None:
        if choices.columns or choices.categorical or choices.label_column:
            raise CommandError(
                f"{table.name} has no names of columns; --columns and the like need a CSV or Parquet table."
            )
        plan, notes = ColumnPlan(None, table.matrix.shape[1], choices.missing), []
    else:
        columns, notes = _choose_columns(table, choices)
        plan = ColumnPlan(columns, 0, choices.missing, choices.decimal)
        plan.n_features = len(plan.names or ())
    rows = read_rows(table, plan, saved=False)
    plan.weights, said = column_factors(rows.values, plan.flags, choices.scale)
    rows.X = scaled(rows.values, plan.weights)
    rows.notes = [*table.notes, *notes, *rows.notes, *said]
    return plan, rows


def read_rows(table: Table, plan: ColumnPlan, *, saved: bool = True) -> Rows:
    """Rows of a table in the way that was fixed before; ``saved`` if by a model, so that no option changes it."""
    import numpy as np

    from widegap.report._wording import counted

    if plan.columns is None:
        if table.matrix is None:
            raise CommandError(
                f"The model was fitted on a matrix without names, but {table.name} is a table; pass .npy."
            )
        if table.matrix.shape[1] != plan.n_features:
            raise CommandError(
                f"{table.name} has {table.matrix.shape[1]} columns, but the model was fitted with "
                f"{plan.n_features}; pass the same ones."
            )
        everything = np.arange(table.matrix.shape[0])
        notes = list(table.notes) if saved else []
        return Rows(scaled(table.matrix, plan.weights), table.matrix, everything, notes)
    if table.frame is None:
        raise CommandError(
            f"The model needs the columns {_few([c.name for c in plan.columns])}; {table.name} has no names."
        )
    absent = [column.name for column in plan.columns if column.name not in table.frame.columns]
    if absent:
        raise CommandError(f"{table.name} lacks the columns {_few(absent)} that the model was fitted with.")
    notes = list(table.notes) if saved else []
    blocks, gaps = [], np.zeros(len(table.frame), dtype=bool)
    for column in plan.columns:
        block, missing = _column_block(table, column, plan, notes, saved)
        blocks.append(block)
        gaps |= missing
    values = np.hstack(blocks)
    kept = np.arange(len(values))
    if plan.missing == "drop" and gaps.any():
        kept = np.flatnonzero(~gaps)
        values = values[kept]
        n = int(gaps.sum())
        notes.append(f"{counted(n, 'row')} with missing values {'was' if n == 1 else 'were'} left out.")
        if not len(kept):
            remedy = "fill some in: the model leaves them out" if saved else "pass --missing median, or fewer --columns"
            raise CommandError(f"Every row has a missing value, so none is left; {remedy}.")
    return Rows(scaled(values, plan.weights), values, kept, notes)


def _choose_columns(table: Table, choices: Choices) -> tuple[list[Column], list[str]]:
    frame = table.frame
    for name in (*choices.columns, *choices.categorical, *([choices.label_column] if choices.label_column else [])):
        if name not in frame.columns:
            raise CommandError(f"{table.name} has no column {name!r}; it has {_few(list(frame.columns))}.")
    if not frame.columns.is_unique:
        raise CommandError(f"{table.name} names a column twice; rename one.")
    notes: list[str] = []
    own = _own_columns(frame, choices, notes)
    wanted = choices.columns or [name for name in frame.columns if name != choices.label_column and name not in own]
    columns = []
    for name in wanted:
        column = _column_of(table, name, choices, notes)
        if column is not None:
            columns.append(column)
    if not columns:
        raise CommandError(f"{table.name} has no column to cluster by. {' '.join(notes)} Name some with --columns.")
    categories = [column.name for column in columns if column.kind == "category"]
    if categories:
        notes.append(f"Categories became one column of 0 and 1 for each value: {_few(categories)}.")
    return columns, notes


def _own_columns(frame: Any, choices: Choices, notes: list[str]) -> set[str]:
    """Columns that an earlier run has written."""
    own: set[str] = set()
    for pair in OWN_COLUMNS:
        if set(pair) <= set(frame.columns) and not choices.columns and not set(pair) & set(choices.categorical):
            own.update(pair)
            notes.append(
                f"Columns {pair[0]!r} and {pair[1]!r} look like results and were left out (name them in --columns to "
                "use them)."
            )
    return own


def _words(name: str) -> set[str]:
    """The words of a header in lower case: "Row No.", "row_no" and "rowNo" have the same."""
    return set(re.findall(r"#|[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def _counts_up(numbers: Any) -> bool:
    """Whether a column holds integers that go up by one."""
    import numpy as np

    return len(numbers) >= MIN_COUNTED and bool((numbers == np.floor(numbers)).all() and (np.diff(numbers) == 1).all())


def _counts_rows(name: str, numbers: Any) -> bool:
    """Whether a column numbers the rows rather than measuring something.

    That is, its integers go up by one from 0 or 1 and its name does not speak of time, or its name says that it counts;
    or it has no name and its integers differ. Years that go up by one are a quantity.
    """
    import numpy as np

    if name.strip().lower() in NO_NAMES and len(numbers) >= MIN_COUNTED:
        whole = (np.isfinite(numbers) & (numbers == np.floor(numbers))).all()
        return bool(whole) and len(np.unique(numbers)) == len(numbers)
    if not _counts_up(numbers):
        return False
    words = _words(name)
    return bool(words & COUNTING_WORDS) or (numbers[0] in (0, 1) and not words & TIME_WORDS)


def _column_of(table: Table, name: str, choices: Choices, notes: list[str]) -> Column | None:
    """How to read one column; None with a note if it is of no use."""
    import numpy as np

    asked = name in choices.columns
    cells = Cells(table.frame[name], choices.decimal)
    numbers, present = cells.numbers, ~cells.missing
    if not present.any():
        notes.append(f"Column {name!r} is empty and was left out.")
        return None
    readable = np.isfinite(numbers) & present
    categorical = name in choices.categorical or cells.is_boolean
    if not categorical and 2 * readable.sum() >= present.sum():
        if not readable[present].all():
            raise _not_a_number(table, name, cells, present & ~readable)
        if not asked and _counts_rows(name, numbers):
            notes.append(f"Column {name!r} numbers the rows and was left out (name it in --columns to use it).")
            return None
        if not asked and _counts_up(numbers):
            notes.append(f"Column {name!r} goes up by one from row to row and was used (--columns to leave it out).")
        return Column(name, "number", fill=float(np.median(numbers[present])))
    misread = cells.misread & present
    if not categorical and 2 * misread.sum() > present.sum():
        raise _not_a_number(table, name, cells, misread)
    levels = sorted(set(cells.names[present].tolist()))
    if len(levels) > MOST_LEVELS:
        if not asked:
            notes.append(f"Column {name!r} has {len(levels):,} different texts and was left out.")
            return None
        raise CommandError(
            f"Column {name!r} has {len(levels):,} different texts, too many for categories; leave it out."
        )
    if not asked and not categorical and len(levels) > min(MAX_LEVELS, max(2, table.n_rows // 2)):
        notes.append(
            f"Column {name!r} has {len(levels):,} different texts and was left out (name it in --columns to use it)."
        )
        return None
    return Column(name, "category", levels=levels)


def _not_a_number(table: Table, name: str, cells: Cells, wrong: Any, saved: bool = False) -> CommandError:
    import numpy as np

    row = int(np.flatnonzero(wrong)[0])
    cell = cells.text(row)
    place = f"line {row + table.first_line}" if table.first_line else f"row {row}"
    sign = other_decimal(cell, cells.decimal)
    option = f"pass --decimal {sign!r}, " if sign else ""
    remedy = f"{option}correct it, pass --categorical {name!r}, or leave the column out with --columns"
    if saved:
        remedy = "correct it: the model was fitted with numbers there"
    return CommandError(
        f"{table.name}, {place}, column {name!r}: {one_line(cell)[:40]!r} is not a finite number; {remedy}."
    )


def _column_block(table: Table, column: Column, plan: ColumnPlan, notes: list[str], saved: bool) -> tuple[Any, Any]:
    """Numbers of one column, and which rows lack a value."""
    import numpy as np

    from widegap.report._wording import counted

    cells = Cells(table.frame[column.name], plan.decimal)
    numbers, missing = cells.numbers, cells.missing
    if missing.any() and plan.missing == "refuse":
        remedy = (
            "pass --missing median to fill them in, --missing drop to leave those rows out, or leave the column out "
            "with --columns"
        )
        if saved:
            remedy = "fill them in, or fit the model without --missing refuse"
        raise CommandError(f"Column {column.name!r} lacks {counted(int(missing.sum()), 'value')}; {remedy}.")
    if column.kind == "number":
        wrong = ~np.isfinite(numbers) & ~missing
        if wrong.any():
            raise _not_a_number(table, column.name, cells, wrong, saved)
        if cells.grouping is not None:
            notes.append(f"Column {column.name!r}: points were read as thousands separators: {cells.grouping}.")
        if missing.any() and plan.missing == "median":
            notes.append(f"Column {column.name!r}: {_values(missing)} filled in with the median, {column.fill:g}.")
        return np.where(missing, column.fill, numbers)[:, None], missing
    place = {level: j for j, level in enumerate(column.levels)}
    found = np.array([place.get(name, -1) for name in cells.names])
    found[missing] = -1
    block = np.zeros((len(found), len(column.levels)))
    known = np.flatnonzero(found >= 0)
    block[known, found[known]] = 1
    unknown = int(np.count_nonzero((found < 0) & ~missing))
    if unknown:
        said = "1 row has a value" if unknown == 1 else f"{unknown:,} rows have values"
        notes.append(f"Column {column.name!r}: {said} that the model has not seen.")
    if missing.any() and plan.missing == "median":
        notes.append(f"Column {column.name!r}: {_values(missing)} left as none of the categories.")
    return block, missing


def _values(missing: Any) -> str:
    n = int(missing.sum())
    return "1 missing value was" if n == 1 else f"{n:,} missing values were"


def _few(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return f"{shown}, ..." if len(names) > 10 else shown
