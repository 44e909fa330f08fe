"""Tables as numbers: which columns count, categories as 0 and 1, missing values, scales; kept with the model."""

import math
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from widegap.cli._errors import CommandError, one_line
from widegap.cli._reading import MISSING, Table

MAX_LEVELS = 30  # text columns with more are names rather than categories, unless asked for
MOST_LEVELS = 1000
NO_NAMES = ("", "unnamed: 0")  # headers of row numbers, which other programs write
COUNTING_WORDS = {"#", "id", "ids", "idx", "index", "key", "no", "nr", "num", "number", "row", "rowid", "rownum", "uid"}
TIME_WORDS = {"age", "date", "day", "hour", "minute", "month", "second", "t", "time", "week", "year", "yr"}
MIN_COUNTED = 3  # rows; fewer numbers in a row say nothing
OWN_COLUMNS = (("cluster", "margin"), ("widegap_cluster", "widegap_margin"))
SHOWN_CELLS = 8
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


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
class Encoding:
    """How a table became numbers: columns (none for a matrix), their weights, and what happens to missing values."""

    columns: list[Column] | None
    n_features: int
    missing: str = "median"
    decimal: str = "."
    weights: list[float] | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, state: Any) -> "Encoding":
        """From a model file; refuses what this version does not understand."""
        try:
            columns = state["columns"]
            found = cls(**{**state, "columns": None if columns is None else [Column(**column) for column in columns]})
            numbers = [*(found.weights or ()), *(column.fill or 0.0 for column in found.columns or ())]
            finite = all(map(math.isfinite, numbers))
        except (TypeError, KeyError) as error:
            raise CommandError(f"The model does not say how its table was read ({error}); fit it again.") from error
        if not finite:
            raise CommandError("The model scales its columns by values that are no finite numbers; fit it again.")
        return found

    @property
    def names(self) -> list[str] | None:
        return None if self.columns is None else [name for column in self.columns for name in column.names]


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


def fit_encoding(table: Table, choices: Choices) -> tuple[Encoding, Rows]:
    """Decide how to read a table, and read it."""
    if table.frame is None:
        if choices.columns or choices.categorical or choices.label_column:
            raise CommandError(
                f"{table.name} has no names of columns; --columns and the like need a CSV or Parquet table."
            )
        encoding, notes = Encoding(None, table.matrix.shape[1], choices.missing), []
    else:
        columns, notes = _choose_columns(table, choices)
        encoding = Encoding(columns, 0, choices.missing, choices.decimal)
        encoding.n_features = len(encoding.names or ())
    rows = encode(table, encoding, saved=False)
    encoding.weights, said = _weights(rows.values, encoding, choices.scale)
    rows.X = _scaled(rows.values, encoding.weights)
    rows.notes = [*table.notes, *notes, *rows.notes, *said]
    return encoding, rows


def encode(table: Table, encoding: Encoding, *, saved: bool = True) -> Rows:
    """Rows of a table in the way that was fixed before; ``saved`` if by a model, so that no option changes it."""
    import numpy as np

    from widegap.report._wording import counted

    if encoding.columns is None:
        if table.matrix is None:
            raise CommandError(
                f"The model was fitted on a matrix without names, but {table.name} is a table; pass .npy."
            )
        if table.matrix.shape[1] != encoding.n_features:
            raise CommandError(
                f"{table.name} has {table.matrix.shape[1]} columns, but the model was fitted with "
                f"{encoding.n_features}; pass the same ones."
            )
        everything = np.arange(table.matrix.shape[0])
        notes = list(table.notes) if saved else []
        return Rows(_scaled(table.matrix, encoding.weights), table.matrix, everything, notes)
    if table.frame is None:
        raise CommandError(
            f"The model needs the columns {_few([c.name for c in encoding.columns])}; {table.name} has no names."
        )
    absent = [column.name for column in encoding.columns if column.name not in table.frame.columns]
    if absent:
        raise CommandError(f"{table.name} lacks the columns {_few(absent)} that the model was fitted with.")
    notes = list(table.notes) if saved else []
    blocks, gaps = [], np.zeros(len(table.frame), dtype=bool)
    for column in encoding.columns:
        block, missing = _column_block(table, column, encoding, notes, saved)
        blocks.append(block)
        gaps |= missing
    values = np.hstack(blocks)
    kept = np.arange(len(values))
    if encoding.missing == "drop" and gaps.any():
        kept = np.flatnonzero(~gaps)
        values = values[kept]
        n = int(gaps.sum())
        notes.append(f"{counted(n, 'row')} with missing values {'was' if n == 1 else 'were'} left out.")
        if not len(kept):
            remedy = "fill some in: the model leaves them out" if saved else "pass --missing median, or fewer --columns"
            raise CommandError(f"Every row has a missing value, so none is left; {remedy}.")
    return Rows(_scaled(values, encoding.weights), values, kept, notes)


def row_texts(table: Table, kept: Any) -> "RowTexts | None":
    """What to show of every row; None for matrices."""
    return None if table.frame is None else RowTexts(table.frame, kept)


class RowTexts:
    """The first cells of every row as text, made when asked for."""

    def __init__(self, frame: Any, kept: Any):
        self._frame, self._kept = frame, kept

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, row: int) -> str:
        cells = self._frame.iloc[int(self._kept[row]), :SHOWN_CELLS]
        return ", ".join(f"{name} {value}" for name, value in cells.items())


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
        column = _plan(table, name, choices, notes)
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
                f"Columns {pair[0]!r} and {pair[1]!r} look like results and were left out (--columns to insist)."
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


def _plan(table: Table, name: str, choices: Choices, notes: list[str]) -> Column | None:
    """How to read one column; None with a note if it is of no use."""
    import numpy as np

    asked = name in choices.columns
    numbers, missing, texts = _cells(table.frame[name], choices.decimal)
    present = ~missing
    if not present.any():
        notes.append(f"Column {name!r} is empty and was left out.")
        return None
    readable = np.isfinite(numbers) & present
    if name not in choices.categorical and 2 * readable.sum() >= present.sum():
        if not readable[present].all():
            raise _not_a_number(table, name, texts, present & ~readable)
        if not asked and _counts_rows(name, numbers):
            notes.append(f"Column {name!r} numbers the rows and was left out (--columns to insist).")
            return None
        if not asked and _counts_up(numbers):
            notes.append(f"Column {name!r} goes up by one from row to row and was used (--columns to leave it out).")
        return Column(name, "number", fill=float(np.median(numbers[present])))
    commas = np.array([bool(DECIMAL_COMMA.fullmatch(text)) for text in texts]) & present
    if name not in choices.categorical and 2 * commas.sum() > present.sum():
        raise _not_a_number(table, name, texts, commas)
    levels = sorted(set(texts[present].tolist()))
    if len(levels) > MOST_LEVELS:
        if not asked:
            notes.append(f"Column {name!r} has {len(levels):,} different texts and was left out.")
            return None
        raise CommandError(
            f"Column {name!r} has {len(levels):,} different texts, too many for categories; leave it out."
        )
    if not asked and name not in choices.categorical and len(levels) > min(MAX_LEVELS, max(2, table.n_rows // 2)):
        notes.append(f"Column {name!r} has {len(levels):,} different texts and was left out (--columns to insist).")
        return None
    return Column(name, "category", levels=levels)


def _cells(series: Any, decimal: str) -> tuple[Any, Any, Any]:
    """Numbers (NaN where there are none), which cells are missing, and the cells as text."""
    import numpy as np
    import pandas as pd

    if pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_numeric_dtype(series.dtype):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers, np.isnan(numbers), numbers.astype(str).astype(object)
    texts = series.astype(object).where(series.notna(), "").astype(str).str.strip()
    missing = (series.isna() | texts.str.lower().isin(MISSING)).to_numpy(dtype=bool)
    plain = texts.str.replace(decimal, ".", regex=False) if decimal != "." else texts
    numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers, missing, texts.to_numpy(dtype=object)


def _not_a_number(table: Table, name: str, texts: Any, wrong: Any, saved: bool = False) -> CommandError:
    import numpy as np

    row = int(np.flatnonzero(wrong)[0])
    cell = str(texts[row])
    place = f"line {row + table.first_line}" if table.first_line else f"row {row}"
    decimal = "pass --decimal ',', " if DECIMAL_COMMA.fullmatch(cell) else ""
    remedy = f"{decimal}correct it, pass --categorical {name!r}, or leave the column out with --columns"
    if saved:
        remedy = "correct it: the model was fitted with numbers there"
    return CommandError(
        f"{table.name}, {place}, column {name!r}: {one_line(cell)[:40]!r} is not a finite number; {remedy}."
    )


def _column_block(table: Table, column: Column, encoding: Encoding, notes: list[str], saved: bool) -> tuple[Any, Any]:
    """Numbers of one column, and which rows lack a value."""
    import numpy as np

    from widegap.report._wording import counted

    numbers, missing, texts = _cells(table.frame[column.name], encoding.decimal)
    if missing.any() and encoding.missing == "refuse":
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
            raise _not_a_number(table, column.name, texts, wrong, saved)
        if missing.any() and encoding.missing == "median":
            notes.append(f"Column {column.name!r}: {_values(missing)} filled in with the median, {column.fill:g}.")
        return np.where(missing, column.fill, numbers)[:, None], missing
    place = {level: j for j, level in enumerate(column.levels)}
    found = np.array([place.get(text, -1) for text in texts])
    found[missing] = -1
    block = np.zeros((len(found), len(column.levels)))
    known = np.flatnonzero(found >= 0)
    block[known, found[known]] = 1
    unknown = int(np.count_nonzero((found < 0) & ~missing))
    if unknown:
        said = "1 row has a value" if unknown == 1 else f"{unknown:,} rows have values"
        notes.append(f"Column {column.name!r}: {said} that the model has not seen.")
    if missing.any() and encoding.missing == "median":
        notes.append(f"Column {column.name!r}: {_values(missing)} left as none of the categories.")
    return block, missing


def _weights(values: Any, encoding: Encoding, scale: str) -> tuple[list[float] | None, list[str]]:
    """Factors of the columns, and what to say about them; columns of 0 and 1 keep their scale."""
    import numpy as np
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler

    from widegap.data._kernel_maps import column_weights

    flags = np.zeros(values.shape[1], dtype=bool)
    if encoding.columns is not None:
        flags = np.array([column.kind == "category" for column in encoding.columns for _ in column.names])
    dense = isinstance(values, np.ndarray)
    if scale == "auto":
        mixed = bool(flags.any() and not flags.all())
        found = column_weights(values, True if mixed else "auto")
        why = "Beside categories, columns of numbers were" if mixed else "Columns have different units, so each was"
        said = [f"{why} divided by the standard deviation (--scale none to keep them)."]
    elif scale == "none":
        found, said = None, []
    elif scale == "standard":
        found, said = column_weights(values, True), ["Columns were divided by their standard deviations."]
    elif scale == "minmax":
        scaler = (MinMaxScaler() if dense else MaxAbsScaler()).fit(values)
        found = scaler.scale_ if dense else 1 / scaler.scale_
        said = ["Columns were brought to ranges of length 1."]
    else:
        found = 1 / RobustScaler(with_centering=False).fit(values).scale_
        said = ["Columns were divided by the ranges of their middle halves."]
    if found is None:
        return None, []
    return np.where(flags, 1.0, found).tolist(), said


def _scaled(values: Any, weights: list[float] | None) -> Any:
    import numpy as np

    from widegap.data._kernel_maps import scale_columns

    return scale_columns(values, None if weights is None else np.asarray(weights))


def _values(missing: Any) -> str:
    n = int(missing.sum())
    return "1 missing value was" if n == 1 else f"{n:,} missing values were"


def _few(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return f"{shown}, ..." if len(names) > 10 else shown
