"""TableEncoder: a table of any columns as numbers that people can read."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from widegap._warnings import warn_caller
from widegap.base._site import HasPage
from widegap.base._validation import StrOptions
from widegap.exceptions import ColumnWarning, InvalidDataError
from widegap.tables._columns import decide
from widegap.tables._decisions import Column, Wishes
from widegap.tables._encoding import about_new, how_to_change, read_column, side_by_side, texts_of
from widegap.tables._frames import Columns, as_columns, few, is_frame, nearest
from widegap.tables._number_formats import comma_evidence
from widegap.tables._scaling import SCALES, column_factors, scaled
from widegap.tables._text_topics import find_topics
from widegap.tables._values import Cells, missing_words

SAMPLED = 1000  # different texts of a column that tell the decimal sign of a table
OWN_COLUMNS = (("cluster", "margin"), ("widegap_cluster", "widegap_margin"))  # of an earlier run
OWN_NAMES = ("cluster_name", "widegap_cluster_name")  # which it wrote beside them, where clusters have names


class TableEncoder(HasPage, TransformerMixin, BaseEstimator):
    """Tables of numbers, words, dates and gaps as numbers, one readable column each.

    Every column is looked at once, in ``fit``: numbers (also ``€35,978.79``, ``12,5``, ``40 %`` and ``(120)``), yes and
    no in words, categories, dates and times are used; ids, constants, empty columns, free texts and the results of an
    earlier run are left out. :meth:`explain` says what was decided of each column, why, and how to change it. What was
    decided is plain values, which a model file holds as JSON.

    Arrays and sparse matrices have no names: their columns are numbers, and only their scale is decided.

    Parameters
    ----------
    columns : sequence of str, default=None
        Columns to use; None uses all that say something.
    drop : sequence of str, default=()
        Columns to leave out.
    numeric, categorical : sequence of str, default=()
        Columns to be used as numbers or as categories, whatever they look like.
    text_columns : sequence of str, default=()
        Columns of free text, whose topics enter as a view of their own.
    dates : {"elapsed", "parts"}, default="elapsed"
        Dates as days since the first one, or as year, month, weekday and hour.
    missing : {"fill", "refuse"}, default="fill"
        Gaps get the median of their column (categories: none); or are refused.
    na_values : sequence of str, default=()
        Words that mean a gap, besides "", "NA", "n/a", "unknown", "-" and the like.
    decimal : {"auto", ".", ","}, default="auto"
        Decimal sign of numbers in texts; "auto" takes for each column what reads more of its cells.
    scale : {"auto", "none", "standard", "minmax", "robust"}, default="auto"
        "auto" divides numbers by their standard deviation if categories stand beside them or their units differ.

    Attributes
    ----------
    columns_ : list of Column or None
        What was decided; None for arrays.
    factors_ : ndarray of shape (n_features_out,) or None
        What the columns are multiplied by.
    scaling_ : str
        What was done about the scale, in words.
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
        "scale": [StrOptions(set(SCALES))],
    }
    _stored: ClassVar[dict[str, Any]] = {
        "columns_": list[Column] | None,
        "factors_": np.ndarray | None,
        "scaling_": str,
        "n_features_in_": int,
        "n_features_out_": int,
        "feature_names_in_": np.ndarray,
    }

    def __init__(
        self,
        *,
        columns=None,
        drop=(),
        numeric=(),
        categorical=(),
        text_columns=(),
        dates="elapsed",
        missing="fill",
        na_values=(),
        decimal="auto",
        scale="auto",
    ):
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
        return scaled(self._fit(X).values, self.factors_)

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
        return scaled(self.readable(X), self.factors_)

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
        for line in reading.told:
            warn_caller(line, ColumnWarning)
        return reading.values

    def gaps(self, X: Any) -> Any:
        """Which rows lack a value in a column that is used.

        Parameters
        ----------
        X : as in fit

        Returns
        -------
        ndarray of bool, shape (n_samples,)
        """
        return self._apply(X).gaps

    def get_feature_names_out(self, input_features: Any = None) -> Any:
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
        """What was decided of every column.

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
        """Refuse what does not fit together, or is no number."""
        n = self.n_features_out_ if self.columns_ is None else sum(len(column.names) for column in self.columns_)
        fills = [column.fill for column in self.columns_ or () if column.fill is not None]
        widths = self.columns_ is None or len(self.columns_) == self.n_features_in_
        sizes = widths and n == self.n_features_out_ and (self.factors_ is None or self.factors_.shape == (n,))
        if not sizes or not np.isfinite([*fills, *(() if self.factors_ is None else self.factors_)]).all():
            raise InvalidDataError(
                "The model scales its columns by values that are not finite, or too few; fit it again."
            )

    # Inside ------------------------------------------------------------------------------------------------------

    def _fit(self, X: Any) -> "Reading":
        """Decide, and read the table before scaling."""
        self._validate_params()
        if is_frame(X):
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
        if is_frame(X):
            raise InvalidDataError(
                "The model was fitted on a matrix without names, but this is a table; pass an array."
            )
        with np.errstate(invalid="ignore"):  # infinities of both signs are added up, and then refused
            values = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        return Reading(values, np.zeros(values.shape[0], dtype=bool), [])

    def _decide(self, table: Columns) -> list[Column]:
        wishes = self._wishes(table)
        found = []
        pairs = zip(OWN_COLUMNS, OWN_NAMES, strict=True)
        own = {name for pair, title in pairs if set(pair) <= set(table.names) for name in (*pair, title)}
        for name in table:
            if name in self.drop or (wishes.columns and not wishes.named(name)):
                why = "you left it out" if name in self.drop else "not among the columns you asked for"
                found.append(Column(name, "left out", used=False, why=why))
            elif name in own and not wishes.named(name):
                change = "categorical" if name in OWN_NAMES else "numeric"
                found.append(Column(name, "result", used=False, why="an earlier run wrote it", change=change))
            else:
                found.append(self._decided(name, table.cells(name, wishes.gaps), wishes))
        if not any(column.used for column in found):
            reasons = "; ".join(f"{c.name!r} is {c.read_as}: {c.why}" for c in found[:5])
            raise InvalidDataError(
                f"No column tells rows apart ({reasons}); name those to use in numeric or categorical."
            )
        return found

    def _decided(self, name: str, cells: Cells, wishes: Wishes) -> Column:
        column = decide(name, cells, wishes)
        if column.used and column.read_as == "text":
            column.topics = find_topics(texts_of(cells))
            if column.topics is None:
                raise InvalidDataError(f"Column {name!r} has no topics, as no two rows share a word; leave it out.")
            column.why = f"{len(column.topics.names)} topics, by their words"
        return column

    def _wishes(self, table: Columns) -> Wishes:
        given = {
            option: _names(getattr(self, option)) for option in ("columns", "numeric", "categorical", "text_columns")
        }
        for option, names in (*given.items(), ("drop", _names(self.drop))):
            for name in names:
                if name not in table:
                    raise InvalidDataError(
                        f"{option} names {name!r}, which is not a column; {nearest(name, table.names)}"
                    )
        decimal = None if self.decimal == "auto" else self.decimal
        gaps = missing_words(self.na_values)
        usual = _usual_decimal(table, gaps) if decimal is None else decimal
        return Wishes(**given, decimal=decimal, usual_decimal=usual, dates=self.dates, gaps=gaps)

    def _read(self, X: Any, *, fitting: bool = False) -> "Reading":
        """Numbers of a table in its own units, rows with gaps, and what to tell of other rows than the fitted ones."""
        table = X if isinstance(X, Columns) else self._as_fitted(X)
        used = [column for column in self.columns_ or () if column.used]
        gaps, gap_words = np.zeros(table.n_rows, dtype=bool), missing_words(self.na_values)
        blocks: list[Any] = []
        told: list[str] = []
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
                told += about_new(column, cells, lacks)
        return Reading(side_by_side(blocks, table.n_rows), gaps, told)

    def _as_fitted(self, X: Any) -> Columns:
        if not is_frame(X):
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


class Reading:
    """Numbers of a table, which rows have gaps, and what to tell."""

    def __init__(self, values: Any, gaps: Any, told: list[str]):
        self.values, self.gaps, self.told = values, gaps, told


def _names(given: Any) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(map(str, given))


def _usual_decimal(table: Columns, gaps: frozenset[str]) -> str:
    """The decimal sign of most numbers: a column of 1.234 cannot tell by itself."""
    found = (table.cells(name, gaps) for name in table)
    texts = (cells.texts.slice(0, SAMPLED) for cells in found if cells.kind == "text" and cells.plain is None)
    return "," if sum(map(comma_evidence, texts)) > 0 else "."
