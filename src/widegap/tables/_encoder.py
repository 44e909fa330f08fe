"""TableEncoder: turns a table of any columns into numbers that people can read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from widegap._types import Doubles, Floats, Mask
from widegap._warnings import warn_caller
from widegap.base._callbacks import CallbackSupportMixin, begin_fit_task, end_fit_task, with_callbacks
from widegap.base._site import HasPage
from widegap.base._validation import StrOptions
from widegap.exceptions import ColumnWarning, InvalidDataError
from widegap.features._column_groups import ColumnGroup, EncodedTable
from widegap.tables._arrow_tables import is_table, release_memory
from widegap.tables._column_values import ColumnValues, notes_on_new, numbers_in, read_column, texts_of
from widegap.tables._column_weights import check_column_weights, notes_on_weights, weighted_factors
from widegap.tables._columns import Column, ColumnOptions
from widegap.tables._frames import Columns, as_columns, few, nearest
from widegap.tables._gaps import note_on_empty_rows, note_on_gaps, refuse_if_all_lack, unused_if_lacking
from widegap.tables._missing_codes import note_on_codes
from widegap.tables._none_level import decide_with_none, gaps_of
from widegap.tables._number_formats import comma_evidence
from widegap.tables._plain_numbers import PlainNumbers, may_be_plain
from widegap.tables._repeats import leave_out_repeats
from widegap.tables._scaling import SCALINGS, column_factors, scaled
from widegap.tables._text_topics import find_topics
from widegap.tables._unrelated import leave_out_unrelated
from widegap.tables._values import NONE, Cells, gap_numbers, missing_words, stated_words

ROWS_OF_LARGE_TEXTS = 100_000  # whose texts are large enough to give their memory back as soon as they are read
TEXTS_SAMPLED = 1000  # different texts of a column with which the decimal sign of a table is found: enough to see one
OWN_COLUMNS = (("cluster", "margin"), ("widegap_cluster", "widegap_margin"))  # of an earlier run
OWN_NAMES = ("cluster_name", "widegap_cluster_name")  # which it wrote beside them, where clusters have names
OWN_SURE = ("sure", "widegap_sure")  # and where the search tells how sure a cluster is
# What changes the reading of a column: the parameter of TableEncoder that names it.
CHANGES = {"numeric", "categorical", "drop", "text_columns"}


class TableEncoder(HasPage, CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """Turn messy tables of numbers, words, dates and gaps into features, each with a readable name.

    ``fit`` decides on every column: numbers (also ``€35,978.79``, ``12,5``, ``40 %``, ``(120)`` and ``12 cm``), yes
    and no in words, categories, dates and times are used; ids, constants, empty columns, columns that repeat another
    one or lack nine of ten values, free texts and the results of an earlier run are left out. :meth:`explain` lists
    each decision, its reason, and how to change it. ``fit`` warns (``ColumnWarning``) of numbers that may mean a gap,
    such as -99, and of tables that lack most of their values. A model file holds the decisions as JSON.

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
        Fill gaps, in fitted and in new rows, with the median of the fitted ones (yes/no: the more common answer;
        categories: no category), or refuse them.
    na_values : sequence of str, default=()
        Words or numbers that mean a gap, such as "-99", besides "", "NA", "n/a", "unknown", "-" and the like.
        "none" is a gap among numbers, dates and yes/no, and a category among words unless it is named here.
    decimal : {"auto", ".", ","}, default="auto"
        Decimal sign of numbers in texts; "auto" takes, for each column, the one that reads more of its cells.
    scale : {"auto", "none", "standard", "minmax", "robust"}, default="auto"
        "auto" divides numbers by their standard deviation if there are also categories or their units differ.
    weights : dict of str to float, default=None
        How often the squared distance in a column counts, by name: ``{"channel": 0.5}`` halves it. Columns without a
        weight count once; 0 leaves a column out. All features of a category or date have its weight. Pass
        ``MaxMarginClustering(standardize=False)``, which may otherwise undo large weights.

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
        "weights": [Mapping, None],
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
        weights: Mapping[str, float] | None = None,
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
        self.weights = weights

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
        _warn(self._fit(X).notes)
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
        reading = self._fit(X)
        _warn(reading.notes)
        return self._scaled(reading.values, in_place=self.columns_ is not None)

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
        return self._scaled(self.readable(X), in_place=self.columns_ is not None)

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
        _warn(reading.notes)
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

    def _scaled(self, values: Any, *, in_place: bool = False) -> Any:
        """What ``transform`` returns, from values in the units of a table; it knows which columns are one column."""
        found = scaled(values, self.factors_, in_place=in_place)
        if self.columns_ is None:
            return found
        used = [column for column in self.columns_ if column.names]
        ends = np.cumsum([0, *(len(column.names) for column in used)]).tolist()
        weights = self.weights or {}
        groups = [
            ColumnGroup(first, stop, column.is_flag, float(weights.get(column.name, 1.0)))
            for column, first, stop in zip(used, ends, ends[1:], strict=False)
        ]
        return EncodedTable.of(found, groups)

    def _observed(self, X: Any) -> Any:
        """The same as :meth:`readable` with NaN in place of filled cells."""
        reading = self._apply(X)
        _warn(reading.notes)
        return reading.observed

    @with_callbacks
    def _fit(self, X: Any) -> "Reading":
        """Decide, and read the table before scaling."""
        self._validate_params()
        begin_fit_task(self, X, 0)
        if is_table(X):
            table = as_columns(X)
            self.feature_names_in_ = np.array(table.names, dtype=object)
            self.n_features_in_ = len(table.names)
            if table.n_rows < 2:
                rows = "1 row" if table.n_rows else "no rows"
                raise InvalidDataError(f"The table has {rows}; at least 2 are needed.")
            weights = check_column_weights(self.weights, table.names)
            self.columns_, numbers = self._decide(table, weights)
            reading = self._read(table, numbers, fitting=True)
            reading.notes.extend(notes_on_weights(self.columns_, weights))
            flags = np.array([c.is_flag for c in self.columns_ for _ in c.names], dtype=bool)
            view = np.array([c.topics is not None for c in self.columns_ for _ in c.names], dtype=bool)
        else:
            if self.weights:
                raise InvalidDataError("weights names columns, but this is a matrix without names; pass a table.")
            reading = self._matrix(X, reset=True)
            self.columns_ = None
            flags = view = np.zeros(reading.values.shape[1], dtype=bool)
        self.factors_, self.scaling_ = column_factors(reading.values, flags, view, self.scale)
        if self.columns_ is not None:
            self.factors_ = weighted_factors(self.factors_, self.columns_, weights)
        self.n_features_out_ = reading.values.shape[1]
        end_fit_task(self, X)
        return reading

    def _apply(self, X: Any) -> "Reading":
        """Read a table as the fitted one, before scaling."""
        check_is_fitted(self)
        if self.columns_ is None:
            return self._matrix(X, reset=False)
        table = self._as_fitted(X)
        used = [column for column in self.columns_ if column.used and column.read_as == "number"]
        numbers = self._plain_numbers(table, {column.name: column.decimal for column in used})
        numbers.find_gaps()
        return self._read(table, numbers)

    def _matrix(self, X: Any, *, reset: bool) -> "Reading":
        if is_table(X):
            raise InvalidDataError(
                "The model was fitted on a matrix without names, but this is a table; pass an array."
            )
        with np.errstate(invalid="ignore"):  # infinities of both signs are added up, and then refused
            values = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        return Reading(values, np.zeros(values.shape[0], dtype=bool), [])

    def _plain_numbers(self, table: Columns, decimals: Mapping[str, str]) -> PlainNumbers:
        """Those of some columns, by name with their decimal signs, that are plain numbers; not texts with a comma."""
        source = table.number_source
        points = [name for name, sign in decimals.items() if sign == "." or not source.is_text]
        chosen = {name: j for name in points if (j := table.place(name)) in source.numeric}
        return PlainNumbers(source, chosen, table.n_rows, gap_numbers(missing_words(self.na_values)))

    def _excluded(self, table: Columns, weights: Mapping[str, float], options: ColumnOptions) -> dict[str, Column]:
        """The decisions on columns that are not looked at."""
        found: dict[str, Column] = {}
        written = zip(OWN_COLUMNS, OWN_NAMES, OWN_SURE, strict=True)
        own = {name for pair, *beside in written if set(pair) <= set(table.names) for name in (*pair, *beside)}
        for name in table:
            if name in self.drop or (options.columns and not options.named(name)):
                why = "you left it out" if name in self.drop else "not among the columns you asked for"
                found[name] = Column(name, "left out", used=False, why=why)
            elif weights.get(name) == 0:
                found[name] = Column(name, "left out", used=False, why="its weight is 0", change="weights")
            elif name in own and not options.named(name):
                change = "categorical" if name in OWN_NAMES else "numeric"
                found[name] = Column(name, "result", used=False, why="an earlier run wrote it", change=change)
        return found

    def _decide(self, table: Columns, weights: Mapping[str, float]) -> tuple[list[Column], PlainNumbers]:
        """What every column is, and the numbers of those that are plain numbers."""
        options = self._options(table)
        excluded = self._excluded(table, weights, options)
        free = [n for n in table if n not in excluded and not options.named(n) and may_be_plain(n)]
        numbers = self._plain_numbers(table, dict.fromkeys(free, "."))
        if options.decimal is None:
            options = replace(options, usual_decimal=_usual_decimal(table, options.gaps, numbers))
        if "," in (options.decimal, options.usual_decimal):  # by which a point parts thousands
            numbers = self._plain_numbers(table, dict.fromkeys(free, ","))
        decided = {**excluded, **numbers.decide(free)}
        found = [decided.get(name) or self._decided(name, table, options) for name in table]
        gaps_by_name = {column.name: gaps_of(column, options.gaps) for column in found}

        def cells_of(name: str) -> Cells:
            return table.cells(name, gaps_by_name[name])

        values = ColumnValues(numbers, cells_of, table.n_rows)
        for leave_out in (leave_out_repeats, leave_out_unrelated):
            found = leave_out(found, values, options.named)
        if not any(column.used for column in found):
            tried = [column.name for column in found if column.read_as not in ("left out", "result")]
            refuse_if_all_lack({name: values.missing(name) for name in tried})
            reasons = "; ".join(f"{c.name!r} is {c.read_as}: {c.why}" for c in found[:5])
            raise InvalidDataError(
                f"No column tells rows apart ({reasons}); name those to use in numeric or categorical."
            )
        return found, numbers

    def _decided(self, name: str, table: Columns, options: ColumnOptions) -> Column:
        column = decide_with_none(name, partial(table.cells, name), options)
        cells = table.cells(name, gaps_of(column, options.gaps))
        if not options.named(name):
            column = unused_if_lacking(column, float(cells.missing.mean()))
        if column.used and column.read_as == "text":
            column.topics = find_topics(texts_of(cells))
            if column.topics is None:
                raise InvalidDataError(f"Column {name!r} has no topics, as no two rows share a word; leave it out.")
            column.why = f"{len(column.topics.names)} topics, by their words"
        if not column.used:
            table.forget(name)
        cells.forget_texts()
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
        return ColumnOptions(
            **chosen,
            decimal=decimal,
            usual_decimal=decimal or ".",
            dates=self.dates,
            gaps=missing_words(self.na_values),
            none_is_gap=NONE in stated_words(self.na_values),
        )

    def _read(self, table: Columns, numbers: PlainNumbers, *, fitting: bool = False) -> "Reading":
        """Numbers of a table in its own units, rows with gaps, and notes on rows other than the fitted ones."""
        used = [column for column in self.columns_ or () if column.used]
        ends = np.cumsum([0, *(len(column.names) for column in used)]).tolist()
        places = dict(zip((column.name for column in used), ends, strict=False))
        if table.n_rows >= ROWS_OF_LARGE_TEXTS:
            release_memory()
        values = numbers.rearrange(places, ends[-1])
        gaps, gap_words = np.zeros(table.n_rows, dtype=bool), missing_words(self.na_values)
        lacks_all, no_gaps = np.ones(table.n_rows, dtype=bool), np.zeros(table.n_rows, dtype=bool)
        filled: dict[int, Mask] = {}
        notes: list[str] = []
        n_missing = 0
        for column, first, stop in zip(used, ends, ends[1:], strict=False):
            if column.name in numbers:
                lacks = _fill_gaps(values[:, first], column) if column.name in numbers.lacking else no_gaps
            else:
                cells = table.cells(column.name, gaps_of(column, gap_words))
                lacks = read_column(column, cells, values[:, first:stop])
            n = 0 if lacks is no_gaps else int(np.count_nonzero(lacks))
            if n and self.missing == "refuse":
                raise InvalidDataError(
                    f"Column {column.name!r} lacks {n:,} of {table.n_rows:,} values; fill them in, "
                    "leave the column or the rows out, or pass missing='fill'."
                )
            if column.name in numbers:
                notes += filter(None, [numbers.notes.get(column.name, "")])
            else:
                notes += _notes_on_fitted(column, cells) if fitting else notes_on_new(column, cells, lacks)
                table.forget(column.name)
            if not n:
                lacks_all = no_gaps
                continue
            # Parts of a date are whole numbers, and have no place for a gap; a gap in a category is 0 in all its flags.
            if column.fill is not None and not column.parts:
                filled[first] = lacks
            gaps |= lacks
            lacks_all = lacks_all & lacks if lacks_all is not no_gaps else no_gaps
            n_missing += n
        if fitting:
            n_empty = int(np.count_nonzero(lacks_all))
            notes += filter(None, [note_on_gaps(n_missing, table.n_rows * len(used)), note_on_empty_rows(n_empty)])
        return Reading(values, gaps, notes, filled)

    def _as_fitted(self, X: Any) -> Columns:
        if not is_table(X):
            raise InvalidDataError(
                f"The model needs the columns {few(self.feature_names_in_)}, but this is a matrix without names; pass "
                "a table."
            )
        table = as_columns(X)
        absent = [c.name for c in self.columns_ or () if c.used and c.name not in table]
        if absent:
            columns = "column" if len(absent) == 1 else "columns"
            raise InvalidDataError(
                f"The table lacks the {columns} {few(absent)} that the model was fitted with; "
                f"{nearest(absent[0], table.names)}"
            )
        return table


@dataclass(frozen=True)
class Reading:
    """Numbers of a table, which rows have gaps, notes for the user, and the filled cells by column of ``values``."""

    values: Any
    gaps: Mask
    notes: list[str]
    filled: dict[int, Mask] = field(default_factory=dict)

    @property
    def observed(self) -> Any:
        """The numbers with NaN in the cells that were filled, for averages that people read."""
        if not self.filled:
            return self.values
        found = self.values.copy()
        for j, rows in self.filled.items():
            found[rows, j] = np.nan
        return found


def _fill_gaps(values: Doubles, column: Column) -> Mask:
    """Fill the gaps in a column of numbers, and return where they were."""
    lacks = np.isnan(values)
    values[lacks] = np.nan if column.fill is None else column.fill
    return lacks


def _warn(notes: Iterable[str]) -> None:
    for line in notes:
        warn_caller(line, ColumnWarning)


def _notes_on_fitted(column: Column, cells: Cells) -> list[str]:
    """Questions about the numbers of a column that is used."""
    if column.read_as != "number":
        return []
    note = note_on_codes(column.name, numbers_in(column, cells))
    return [note] if note else []


def _names(names: str | Iterable[Any] | None) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else tuple(map(str, names))


def _usual_decimal(table: Columns, gaps: frozenset[str], numbers: PlainNumbers) -> str:
    """The decimal sign of most numbers: a column of 1.234 cannot tell by itself."""
    evidence = 0
    for cells in (table.cells(name, gaps) for name in table if name not in numbers):
        if cells.kind == "text" and cells.plain is None:
            evidence += comma_evidence(cells.first_texts(TEXTS_SAMPLED))
        cells.forget_texts()
    return "," if evidence > 0 else "."


def how_to_change(column: Column) -> str:
    """The parameter that changes what was decided, as in a call of TableEncoder."""
    if column.change in CHANGES:
        return f"{column.change}=[{column.name!r}]"
    if column.change == "weights":
        return f"weights={{{column.name!r}: 1}}"
    return {"dates": "dates='parts'", "na_values": f"na_values=[{NONE!r}]"}.get(column.change, "")
