"""TableEncoder: turns a table of any columns into numbers that people can read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from widegap._types import Doubles, Floats, Mask
from widegap._warnings import warn_caller
from widegap.base._site import HasPage
from widegap.base._validation import StrOptions
from widegap.exceptions import ColumnWarning, InvalidDataError
from widegap.features._column_groups import ColumnGroup, EncodedTable
from widegap.tables._arrow_tables import is_table
from widegap.tables._columns import Column, ColumnOptions, decide
from widegap.tables._dates import date_part, read_dates, read_times
from widegap.tables._frames import Columns, as_columns, few, nearest
from widegap.tables._number_formats import comma_evidence
from widegap.tables._scaling import SCALINGS, column_factors, scaled
from widegap.tables._text_topics import find_topics, topic_weights
from widegap.tables._values import Cells, missing_words, truth_value

TEXTS_SAMPLED = 1000  # different texts of a column with which the decimal sign of a table is found: enough to see one
OWN_COLUMNS = (("cluster", "margin"), ("widegap_cluster", "widegap_margin"))  # of an earlier run
OWN_NAMES = ("cluster_name", "widegap_cluster_name")  # which it wrote beside them, where clusters have names
# What changes the reading of a column: the parameter of TableEncoder that names it.
CHANGES = {"numeric", "categorical", "drop", "text_columns"}
ROWS_AT_ONCE = 4096  # of all columns, which stay in the cache: 4096 rows of 8 bytes are 32 KB a column


class TableEncoder(HasPage, TransformerMixin, BaseEstimator):
    """Turn messy tables of numbers, words, dates and gaps into features, each with a readable name.

    ``fit`` decides on every column: numbers (also ``€35,978.79``, ``12,5``, ``40 %`` and ``(120)``), yes and
    no in words, categories, dates and times are used; ids, constants, empty columns, free texts and the results of an
    earlier run are left out. :meth:`explain` lists each decision, its reason, and how to change it. A model file holds
    the decisions as JSON.

    Arrays and sparse matrices have no names: their columns are numbers, and only their scale is decided.

    Parameters
    ----------
    columns : sequence of str, default=None
        Columns to use; None uses all that may tell rows apart.
    drop : sequence of str, default=()
        Columns to leave out.
    numeric, categorical : sequence of str, default=()
        Columns to be used as numbers or as categories, whatever they look like.
    text_columns : sequence of str, default=()
        Columns of free text, whose topics enter as a view of their own.
    dates : {"elapsed", "parts"}, default="elapsed"
        Dates as days since the first one, or as year, month, weekday and hour.
    missing : {"fill", "refuse"}, default="fill"
        Fill gaps with the median of the fitted rows (categories: no category), or refuse them.
    na_values : sequence of str, default=()
        Words that mean a gap, besides "", "NA", "n/a", "unknown", "-" and the like.
    decimal : {"auto", ".", ","}, default="auto"
        Decimal sign of numbers in texts; "auto" takes, for each column, the one that reads more of its cells.
    scale : {"auto", "none", "standard", "minmax", "robust"}, default="auto"
        "auto" divides numbers by their standard deviation if there are also categories or their units differ.

    Attributes
    ----------
    columns_ : list of Column or None
        The decision on each column; None for arrays.
    factors_ : ndarray of shape (n_features_out,) or None
        What the columns are multiplied by.
    scaling_ : str
        How the columns were scaled, in words.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Of tables with names.

    Examples
    --------
    >>> import pandas as pd
    >>> from widegap import TableEncoder
    >>> frame = pd.DataFrame({"price": ["€1,200", "€950", "n/a"], "kind": ["new", "used", "used"]})
    >>> encoder = TableEncoder(scale="none").fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['price', 'kind = new', 'kind = used']
    >>> encoder.transform(frame).tolist()
    [[1200.0, 1.0, 0.0], [950.0, 0.0, 1.0], [1075.0, 0.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict] = {
        "columns": ["array-like", None],
        "drop": ["array-like"],
        "numeric": ["array-like"],
        "categorical": ["array-like"],
        "text_columns": ["array-like"],
        "dates": [StrOptions({"elapsed", "parts"})],
        "missing": [StrOptions({"fill", "refuse"})],
        "na_values": ["array-like"],
        "decimal": [StrOptions({"auto", ".", ","})],
        "scale": [StrOptions(set(SCALINGS))],
    }
    _stored: ClassVar[dict[str, Any]] = {
        "columns_": list[Column] | None,
        "factors_": np.ndarray | None,
        "scaling_": str,
        "n_features_in_": int,
        "n_features_out_": int,
        "feature_names_in_": np.ndarray,
    }

    columns_: list[Column] | None
    factors_: Floats | None
    scaling_: str
    n_features_in_: int
    n_features_out_: int
    feature_names_in_: npt.NDArray[np.object_]

    def __init__(
        self,
        *,
        columns: Iterable[str] | None = None,
        drop: Iterable[str] = (),
        numeric: Iterable[str] = (),
        categorical: Iterable[str] = (),
        text_columns: Iterable[str] = (),
        dates: str = "elapsed",
        missing: str = "fill",
        na_values: Iterable[str] = (),
        decimal: str = "auto",
        scale: str = "auto",
    ) -> None:
        self.columns = columns
        self.drop = drop
        self.numeric = numeric
        self.categorical = categorical
        self.text_columns = text_columns
        self.dates = dates
        self.missing = missing
        self.na_values = na_values
        self.decimal = decimal
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide how every column is read.

        Parameters
        ----------
        X : frame of pandas, polars or Arrow, or {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Decide how every column is read, and read them.

        Parameters
        ----------
        X : frame of pandas, polars or Arrow, or {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
            Present by convention.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features_out)
        """
        return self._scaled(self._fit(X).values)

    def transform(self, X: Any) -> Any:
        """Read a table as the fitted one was read.

        Parameters
        ----------
        X : as in fit
            Columns are found by name, and may be in any order.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features_out)
        """
        return self._scaled(self.readable(X))

    def readable(self, X: Any) -> Any:
        """The same as :meth:`transform` in the units of the table: not scaled.

        Parameters
        ----------
        X : as in fit

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features_out)
        """
        reading = self._apply(X)
        for line in reading.notes:
            warn_caller(line, ColumnWarning)
        return reading.values

    def gaps(self, X: Any) -> Mask:
        """Which rows lack a value in a column that is used.

        Parameters
        ----------
        X : as in fit

        Returns
        -------
        ndarray of bool, shape (n_samples,)
        """
        return self._apply(X).gaps

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns of the result.

        Parameters
        ----------
        input_features : ignored
            Present by convention.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        if self.columns_ is None:
            names = getattr(self, "feature_names_in_", None)
            found = [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)
        else:
            found = [name for column in self.columns_ for name in column.names]
        return np.array(found, dtype=object)

    def explain(self) -> list[dict[str, str]]:
        """The decision on every column, and its reason.

        Returns
        -------
        list of dict
            With the keys "column", "read as", "why" and "how to change": the parameter to pass.
        """
        check_is_fitted(self)
        return [
            {"column": c.name, "read as": c.read_as if c.used else f"{c.read_as} (not used)", "why": c.why,
             "how to change": how_to_change(c)}
            for c in self.columns_ or ()
        ]  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    def _check_stored(self) -> None:
        """Refuse parts that do not fit together, or are not finite."""
        n = self.n_features_out_ if self.columns_ is None else sum(len(column.names) for column in self.columns_)
        fills = [column.fill for column in self.columns_ or () if column.fill is not None]
        widths = self.columns_ is None or len(self.columns_) == self.n_features_in_
        sizes = widths and n == self.n_features_out_ and (self.factors_ is None or self.factors_.shape == (n,))
        if not sizes or not np.isfinite([*fills, *(() if self.factors_ is None else self.factors_)]).all():
            raise InvalidDataError(
                "The model scales its columns by values that are not finite, or too few; fit it again."
            )

    # Inside ------------------------------------------------------------------------------------------------------

    def _scaled(self, values: Any) -> Any:
        """What ``transform`` returns, from values in the units of a table; it knows which columns are one column."""
        found = scaled(values, self.factors_)
        if self.columns_ is None:
            return found
        used = [column for column in self.columns_ if column.names]
        ends = np.cumsum([0, *(len(column.names) for column in used)]).tolist()
        parts = zip(used, ends, ends[1:], strict=False)
        return EncodedTable.of(found, [ColumnGroup(first, stop, column.is_flag) for column, first, stop in parts])

    def _fit(self, X: Any) -> "Reading":
        """Decide, and read the table before scaling."""
        self._validate_params()
        if is_table(X):
            table = as_columns(X)
            self.feature_names_in_ = np.array(table.names, dtype=object)
            self.n_features_in_ = len(table.names)
            self.columns_ = self._decide(table)
            reading = self._read(table, fitting=True)
            flags = np.array([c.is_flag for c in self.columns_ for _ in c.names], dtype=bool)
            view = np.array([c.topics is not None for c in self.columns_ for _ in c.names], dtype=bool)
        else:
            reading = self._matrix(X, reset=True)
            self.columns_ = None
            flags = view = np.zeros(reading.values.shape[1], dtype=bool)
        self.factors_, self.scaling_ = column_factors(reading.values, flags, view, self.scale)
        self.n_features_out_ = reading.values.shape[1]
        return reading

    def _apply(self, X: Any) -> "Reading":
        """Read a table as the fitted one, before scaling."""
        check_is_fitted(self)
        return self._matrix(X, reset=False) if self.columns_ is None else self._read(X)

    def _matrix(self, X: Any, *, reset: bool) -> "Reading":
        if is_table(X):
            raise InvalidDataError(
                "The model was fitted on a matrix without names, but this is a table; pass an array."
            )
        with np.errstate(invalid="ignore"):  # infinities of both signs are added up, and then refused
            values = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        return Reading(values, np.zeros(values.shape[0], dtype=bool), [])

    def _decide(self, table: Columns) -> list[Column]:
        options = self._options(table)
        found = []
        pairs = zip(OWN_COLUMNS, OWN_NAMES, strict=True)
        own = {name for pair, title in pairs if set(pair) <= set(table.names) for name in (*pair, title)}
        for name in table:
            if name in self.drop or (options.columns and not options.named(name)):
                why = "you left it out" if name in self.drop else "not among the columns you asked for"
                found.append(Column(name, "left out", used=False, why=why))
            elif name in own and not options.named(name):
                change = "categorical" if name in OWN_NAMES else "numeric"
                found.append(Column(name, "result", used=False, why="an earlier run wrote it", change=change))
            else:
                found.append(self._decided(name, table.cells(name, options.gaps), options))
        if not any(column.used for column in found):
            reasons = "; ".join(f"{c.name!r} is {c.read_as}: {c.why}" for c in found[:5])
            raise InvalidDataError(
                f"No column tells rows apart ({reasons}); name those to use in numeric or categorical."
            )
        return found

    def _decided(self, name: str, cells: Cells, options: ColumnOptions) -> Column:
        column = decide(name, cells, options)
        if column.used and column.read_as == "text":
            column.topics = find_topics(texts_of(cells))
            if column.topics is None:
                raise InvalidDataError(f"Column {name!r} has no topics, as no two rows share a word; leave it out.")
            column.why = f"{len(column.topics.names)} topics, by their words"
        return column

    def _options(self, table: Columns) -> ColumnOptions:
        chosen = {
            option: _names(getattr(self, option)) for option in ("columns", "numeric", "categorical", "text_columns")
        }
        for option, names in (*chosen.items(), ("drop", _names(self.drop))):
            for name in names:
                if name not in table:
                    raise InvalidDataError(
                        f"{option} names {name!r}, which is not a column; {nearest(name, table.names)}"
                    )
        decimal = None if self.decimal == "auto" else self.decimal
        gaps = missing_words(self.na_values)
        usual = _usual_decimal(table, gaps) if decimal is None else decimal
        return ColumnOptions(**chosen, decimal=decimal, usual_decimal=usual, dates=self.dates, gaps=gaps)

    def _read(self, X: Any, *, fitting: bool = False) -> "Reading":
        """Numbers of a table in its own units, rows with gaps, and notes on rows other than the fitted ones."""
        table = X if isinstance(X, Columns) else self._as_fitted(X)
        used = [column for column in self.columns_ or () if column.used]
        gaps, gap_words = np.zeros(table.n_rows, dtype=bool), missing_words(self.na_values)
        blocks: list[Doubles] = []
        notes: list[str] = []
        for column in used:
            cells = table.cells(column.name, gap_words)
            block, lacks = read_column(column, cells)
            if lacks.any() and self.missing == "refuse":
                raise InvalidDataError(
                    f"Column {column.name!r} lacks {int(lacks.sum()):,} of {table.n_rows:,} values; fill them in, "
                    "leave the column or the rows out, or pass missing='fill'."
                )
            blocks.append(block)
            gaps |= lacks
            if not fitting:
                notes += notes_on_new(column, cells, lacks)
        return Reading(side_by_side(blocks, table.n_rows), gaps, notes)

    def _as_fitted(self, X: Any) -> Columns:
        if not is_table(X):
            raise InvalidDataError(
                f"The model needs the columns {few(self.feature_names_in_)}, but this is a matrix without names; pass "
                "a table."
            )
        table = as_columns(X)
        absent = [c.name for c in self.columns_ or () if c.used and c.name not in table]
        if absent:
            raise InvalidDataError(
                f"The table lacks the columns {few(absent)} that the model was fitted with; "
                f"{nearest(absent[0], table.names)}"
            )
        return table


@dataclass(frozen=True)
class Reading:
    """Numbers of a table, which rows have gaps, and notes for the user."""

    values: Any
    gaps: Mask
    notes: list[str]


def _names(names: str | Iterable[Any] | None) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else tuple(map(str, names))


def _usual_decimal(table: Columns, gaps: frozenset[str]) -> str:
    """The decimal sign of most numbers: a column of 1.234 cannot tell by itself."""
    found = (table.cells(name, gaps) for name in table)
    texts = (cells.texts.slice(0, TEXTS_SAMPLED) for cells in found if cells.kind == "text" and cells.plain is None)
    return "," if sum(map(comma_evidence, texts)) > 0 else "."


# Cells as numbers -------------------------------------------------------------------------------------------------


def read_column(column: Column, cells: Cells) -> tuple[Doubles, Mask]:
    """Numbers of one column, gaps filled, and which rows lack a value."""
    if column.topics is not None:
        return topic_weights(texts_of(cells), column.topics), np.zeros(cells.n, dtype=bool)
    if column.read_as == "category":
        return _flags(column, cells)
    values = _values(column, cells)
    lacks = np.isnan(values)
    filled = np.where(lacks, np.nan if column.fill is None else column.fill, values) if lacks.any() else values
    if column.read_as != "date":
        return filled[:, None], lacks
    if column.parts:
        return np.column_stack([date_part(filled, part) for part in column.parts]), lacks
    return (filled - np.datetime64(column.origin, "D").astype(int))[:, None], lacks


def _values(column: Column, cells: Cells) -> Doubles:
    """Numbers, days, hours or 0 and 1; NaN for gaps and for what cannot be read."""
    if column.read_as == "yes/no":
        return _truth_values(column, cells)
    if column.read_as == "date":
        if cells.kind == "date":
            return cells.numbers(None).values
        found = cells.spread(read_dates(cells.texts, column.form or "ISO8601")) if cells.kind == "text" else None
    elif column.read_as == "time":
        found = cells.spread(read_times(cells.texts)) if cells.kind == "text" else None
    else:
        decimal = column.decimal if cells.kind == "text" else None
        found = cells.numbers(decimal).values
        if cells.kind == "text" and np.isnan(found).all():  # the words of truth values, where 0 and 1 were fitted
            found = cells.spread([truth_value(text) for text in cells.texts.to_pylist()])
    return np.full(cells.n, np.nan) if found is None else found


def _truth_values(column: Column, cells: Cells) -> Doubles:
    yes, no = column.levels
    levels, codes = cells.levels
    known = {yes.lower(): 1.0, no.lower(): 0.0}
    values = np.array([*(known.get(level.lower(), truth_value(level)) for level in levels), np.nan])
    return values[codes]


def _flags(column: Column, cells: Cells) -> tuple[Doubles, Mask]:
    """One column of 0 and 1 for each category."""
    levels, codes = cells.levels
    place = {level: j for j, level in enumerate(column.levels)}
    found = np.array([*(place.get(level, -1) for level in levels), -1])[codes]
    block = np.zeros((cells.n, len(column.levels)))
    known = np.flatnonzero(found >= 0)
    block[known, found[known]] = 1
    return block, cells.missing


def side_by_side(blocks: list[Doubles], n_rows: int) -> Doubles:
    """Columns as one table: some rows of all at a time, which stay in the cache where whole columns do not."""
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
    table = np.empty((n_rows, ends[-1]))
    for start in range(0, n_rows, ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        for block, left, right in zip(blocks, ends[:-1], ends[1:], strict=True):
            table[rows, left:right] = block[rows]
    return table


def notes_on_new(column: Column, cells: Cells, lacks: Mask) -> list[str]:
    """Notes on rows that the encoder was not fitted on; refuses a column of another kind."""
    odd = lacks & ~cells.missing
    if odd.any() and (lacks.all() or odd.sum() == (~cells.missing).sum()):
        raise InvalidDataError(
            f"Column {column.name!r} was a {column.read_as} when the model was fitted, but no cell is one now "
            f"(the first is {cells.example(odd)[:30]!r}); correct the column."
        )
    notes = []
    if odd.any():
        notes.append(
            f"Column {column.name!r}: {_counted(odd)} cannot be read as a {column.read_as} "
            f"({cells.example(odd)[:30]!r}) and {_verb(odd)} treated as missing."
        )
    if column.read_as == "category" and column.topics is None:
        levels, codes = cells.levels
        new = np.array([*(level not in set(column.levels) for level in levels), False])[codes]
        if new.any():
            example = next(level for level in levels if level not in set(column.levels))
            notes.append(
                f"Column {column.name!r}: {_counted(new)} {'has a category' if new.sum() == 1 else 'have categories'} "
                f"that the model has not seen ({example[:30]!r}) and {'counts' if new.sum() == 1 else 'count'} as none."
            )
    return notes


def _counted(rows: Mask) -> str:
    n = int(rows.sum())
    return "1 row" if n == 1 else f"{n:,} rows"


def _verb(rows: Mask) -> str:
    return "is" if rows.sum() == 1 else "are"


def texts_of(cells: Cells) -> list[str]:
    """The texts of all cells; gaps are empty."""
    texts = [*cells.texts.to_pylist(), ""]
    return [texts[code] for code in cells.codes]


def how_to_change(column: Column) -> str:
    """The parameter that changes what was decided, as in a call of TableEncoder."""
    if column.change in CHANGES:
        return f"{column.change}=[{column.name!r}]"
    return {"dates": "dates='parts'"}.get(column.change, "")
