"""The rows of a workspace as people see them: cells, texts, columns in their own units, and what a search finds."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from widegap._types import Doubles, Floats, Ints, Mask, Matrix
from widegap._wording import RowTexts, clip, plain, row_number
from widegap.documents._markup import plain_text
from widegap.exceptions import InvalidDataError
from widegap.results._profile import Feature, features_of
from widegap.rows._matrices import dense_rows
from widegap.tables._delimited import Dialect

ROW_CELLS = 200  # cells of the open row: more slow the page down, and nobody reads them
ROW_TEXT = 20_000  # characters of the open document: about ten pages


class ShownRows:
    """What is shown of every row.

    Parameters
    ----------
    X : rows or documents
        As the model takes them; of a DataFrame all cells are shown, and columns of numbers compared.
    values : table of numbers, default=None
        The same rows in the units in which to show them; None for X.
    names : sequence of str, default=None
        Names of the columns of ``values``.
    frame : DataFrame, default=None
        The rows as they came, for their cells.
    titles : sequence of str, default=None
        What each document is called.
    dialect : Dialect, default=None
        How the text file was written that the frame was read from; its cells are texts then.
    kept : sequence of int, default=None
        Rows of the table, from 0, that these are; None if they are all of it.
    ids : sequence, default=None
        Values of the column that names the rows, if the table has one: ``widegap refine`` takes these.

    Attributes
    ----------
    kept, numbers : ndarrays
        The rows of the table that these are, from 0, and what people call them: the same from 1.
    """

    def __init__(
        self,
        X: Any,
        *,
        values: Any = None,
        names: Sequence[str] | None = None,
        frame: Any = None,
        titles: Sequence[str] | None = None,
        dialect: Dialect | None = None,
        kept: Ints | None = None,
        ids: Sequence[object] | None = None,
    ):
        self.n_rows: int = X.shape[0] if hasattr(X, "shape") else len(X)
        self.kept: Ints = np.arange(self.n_rows) if kept is None else np.asarray(kept)
        self.numbers: Ints = row_number(self.kept)
        self.is_text = isinstance(X, list | tuple) and bool(X) and isinstance(X[0], str)
        self.unit = "document" if self.is_text else "row"
        self.texts: Sequence[str] | None = [plain_text(text) for text in X] if self.is_text else None
        if hasattr(X, "select_dtypes"):
            frame, X = X if frame is None else frame, X.select_dtypes("number")
        self.titles, self.frame, self.dialect, self.ids = titles, frame, dialect, ids
        table = None if self.is_text else (X if values is None else values)
        if names is None and table is not None:
            names = getattr(table, "columns", None)
            names = [f"column {j}" for j in range(table.shape[1])] if names is None else names
        self.names = [] if names is None else [clip(str(name), 80) for name in names]
        if table is not None and hasattr(table, "to_numpy"):
            table = table.to_numpy()
        self.values: Matrix | None = table
        self._check()

    def _check(self) -> None:
        for what, found in (("frame", self.frame), ("titles", self.titles), ("ids", self.ids)):
            if found is not None and len(found) != self.n_rows:
                raise InvalidDataError(f"{what} has {len(found)} rows for {self.n_rows} of X; pass the same ones.")
        if self.values is not None and len(self.names) != self.values.shape[1]:
            raise InvalidDataError(f"There are {len(self.names)} names for {self.values.shape[1]} columns; name each.")

    @cached_property
    def features(self) -> list[Feature]:
        """How to read each column of numbers."""
        return features_of(self.names, self.values)

    def title(self, row: int) -> str:
        """A few words for one row."""
        if self.texts is not None:
            return clip(self.titles[row], 80) if self.titles is not None else f"document {self.numbers[row]}"
        named = "" if self.ids is None else f" ({clip(self.ids[row], 40)})"
        return f"row {self.numbers[row]}{named}"

    def text(self, row: int) -> str:
        """One or two lines on a row."""
        if self.texts is not None:
            return clip(self.texts[row])
        if self.frame is not None:
            return RowTexts(self.frame)[row].text
        values = self._numbers_of(row)
        return clip(", ".join(f"{self.names[j]} {values[j]:.3g}" for j in np.flatnonzero(values)[:8]) or "all zero")

    def cells(self, row: int) -> list[list[object]]:
        """Name and value of every cell of a row, or its whole text."""
        if self.texts is not None:
            return [["text", clip(self.texts[row], ROW_TEXT)]]
        if self.frame is not None:
            found = self.frame.iloc[row]
            return [[clip(name, 80), plain(value)] for name, value in list(found.items())[:ROW_CELLS]]
        values = self._numbers_of(row)
        shown = np.arange(len(values)) if len(values) <= ROW_CELLS else np.flatnonzero(values)[:ROW_CELLS]
        return [[self.names[j], plain(values[j])] for j in shown]

    def _numbers_of(self, row: int) -> Floats:
        """The numbers of one row."""
        assert self.values is not None
        return dense_rows(self.values, np.array([row]))[0]

    def column(self, name: str) -> Doubles:
        """The numbers of one column."""
        if self.values is None or name not in self.names:
            raise InvalidDataError(f"There is no column {clip(name, 40)!r} of numbers.")
        found: Doubles = dense_rows(self.values[:, [self.names.index(name)]], slice(None))[:, 0].astype(np.float64)
        return found

    def matching(self, text: str) -> Mask:
        """Which rows hold a text, in any of their cells; capitals do not matter."""
        text = text.casefold()
        if self.texts is not None:
            titles = self.titles or [""] * self.n_rows
            both = zip(self.texts, titles, strict=True)
            return np.array([text in body.casefold() or text in str(title).casefold() for body, title in both])
        found = np.zeros(self.n_rows, bool)
        if self.frame is None:
            return self.numbers == int(text) if text.isdecimal() and len(text) < 19 else found
        for name in self.frame.columns:
            column = self.frame[name].astype(str).str.casefold()
            found |= column.str.contains(text, regex=False).to_numpy(bool)
        return found
