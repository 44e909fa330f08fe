"""Rows of a result: as a model takes them, and as people know them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from widegap._types import Indices
from widegap._wording import counted, row_number, titled
from widegap.exceptions import InvalidDataError
from widegap.rows._matrices import storage

if TYPE_CHECKING:
    import pandas as pd

    from widegap.tables import Table, TableEncoder
    from widegap.tables._delimited import Dialect
    from widegap.tables._encoder import Reading

WRITTEN_COLUMNS = 100  # of a matrix; a spreadsheet of more is not read, so wider ones give the row numbers alone


class InputRows(Protocol):
    """What a result knows of its rows; None where there is nothing to know.

    Attributes
    ----------
    X : rows or documents
        As the model takes them.
    values, feature_names
        The same rows as numbers in the units of the user, and the names of these columns.
    frame : DataFrame
        The rows as they were read.
    ids, items : sequences
        What every row is called, and what is shown of it.
    kept : ndarray of int
        Their places in the table, from 0; None if they are all of it.
    dialect : Dialect
        How the text file was written that they come from.
    notes : list of str
        What was noticed on reading.
    """

    @property
    def X(self) -> Any: ...
    @property
    def values(self) -> Any: ...
    @property
    def feature_names(self) -> Sequence[str] | None: ...
    @property
    def frame(self) -> "pd.DataFrame | None": ...
    @property
    def ids(self) -> Sequence[Any] | None: ...
    @property
    def items(self) -> Sequence[Any] | None: ...
    @property
    def kept(self) -> Indices | None: ...
    @property
    def dialect(self) -> "Dialect | None": ...
    @property
    def notes(self) -> list[str]: ...

    def written(self) -> "pd.DataFrame":
        """A new frame of what is written of every row beside its cluster."""
        ...


@dataclass
class PlainRows:
    """Rows that are already in memory."""

    X: Any
    values: Any = None
    feature_names: Sequence[str] | None = None
    frame: Any = None
    ids: Sequence[Any] | None = None
    items: Sequence[Any] | None = None
    kept: Indices | None = None
    dialect: "Dialect | None" = None
    notes: list[str] = field(default_factory=list)

    def written(self) -> "pd.DataFrame":
        """The frame, or the numbers of the rows with their ids."""
        import pandas as pd

        if self.frame is not None:
            found: pd.DataFrame = self.frame.reset_index(drop=True).copy()
            return found
        if self.ids is not None:
            return pd.DataFrame({"document": list(self.ids)})
        n = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
        return pd.DataFrame({"row": row_number(np.arange(n) if self.kept is None else self.kept)})


class EncodedRows:
    """Rows of a table and the encoder that made numbers of them.

    Parameters
    ----------
    table : Table
        As it was read.
    encoder : TableEncoder
        Fitted.
    reading : Reading
        The rows that are kept, read by the encoder. ``values`` are its numbers in the units of the table, NaN where
        the file has no number.
    kept : ndarray of int
        Their places in the table.
    missing : str
        What happens to rows with gaps: "median", "drop" or "refuse".
    notes : list of str
    """

    items = None

    def __init__(
        self, table: "Table", encoder: "TableEncoder", reading: "Reading", kept: Indices, missing: str, notes: list[str]
    ):
        self.table, self.encoder, self.values, self.kept = table, encoder, reading.observed, kept
        self.missing, self.notes = missing, notes
        self.X = encoder._scaled(reading.values)

    @classmethod
    def fit(cls, table: "Table", encoder: "TableEncoder", missing: str) -> "EncodedRows":
        """Decide how to read a table, and read it; "drop" leaves rows with gaps out before anything is decided."""
        try:
            reading, kept = encoder._fit(table.rows), np.arange(table.n_rows)
            notes = list(table.notes)
            if missing == "drop" and reading.gaps.any():
                kept = np.flatnonzero(~reading.gaps)
                dropped = _dropped(len(reading.gaps) - len(kept))
                if not len(kept):
                    raise InvalidDataError(
                        "every row lacks a value, so that none is left; fill them in, or use fewer columns."
                    )
                reading = encoder._fit(_take(table.rows, kept))
                notes.append(dropped)
            notes += reading.notes
        except ValueError as error:
            only = len(getattr(encoder, "feature_names_in_", ())) == 1
            why = " ".join(["", *table.notes]) if only else ""  # a wrong delimiter makes one column of a table
            raise InvalidDataError(f"{table.name}: {error}{why}") from error
        return cls(table, encoder, reading, kept, missing, notes)

    @classmethod
    def read(cls, table: "Table", encoder: "TableEncoder", missing: str) -> "EncodedRows":
        """Read another table as a fitted encoder does."""
        try:
            reading, kept = encoder._apply(table.rows), np.arange(table.n_rows)
        except ValueError as error:
            raise InvalidDataError(f"{table.name}: {error}") from error
        notes, n = [*table.notes, *reading.notes], int(reading.gaps.sum())
        if missing == "drop" and n:
            kept = np.flatnonzero(~reading.gaps)
            reading = replace(reading, values=reading.values[kept], gaps=reading.gaps[kept], filled={})
            notes.append(_dropped(n))
            if not len(kept):
                raise InvalidDataError("Every row lacks a value, and the model leaves such rows out; fill some in.")
        elif n:
            notes.append(f"{counted(n, 'row')} {'lacks' if n == 1 else 'lack'} a value; filled with training medians.")
        return cls(table, encoder, reading, kept, missing, notes)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of X; None for a matrix."""
        return None if self.encoder.columns_ is None else list(self.encoder.get_feature_names_out())

    @property
    def scales(self) -> bool:
        """Whether an estimator may look at the units of the columns itself: of tables with the default scale."""
        is_default = self.encoder.scale == "auto" and not self.encoder.weights
        return bool(is_default and self.encoder.columns_ is not None)

    @cached_property
    def id_columns(self) -> list[str]:
        """The columns that name the rows: ids that none of them shares with another."""
        ids = [column.name for column in self.encoder.columns_ or () if column.read_as == "id"]
        return [name for name in ids if self.table.frame[name].dropna().is_unique]

    @property
    def decimal(self) -> str:
        """The decimal sign of most columns of numbers."""
        signs = [column.decimal for column in self.encoder.columns_ or () if column.used and column.read_as == "number"]
        return "," if 2 * signs.count(",") > len(signs) else "."

    @property
    def dialect(self) -> "Dialect | None":
        """How rows are written: as the file was, with its decimal sign; None for files that are not text."""
        return None if self.table.dialect is None else replace(self.table.dialect, decimal=self.decimal)

    @cached_property
    def frame(self) -> "pd.DataFrame | None":
        """The rows as they were read; None for a matrix."""
        found = self.table.frame
        return None if found is None else found.iloc[self.kept].reset_index(drop=True)

    @property
    def ids(self) -> list[Any] | None:
        """The first column that names the rows."""
        return None if self.frame is None or not self.id_columns else self.frame[self.id_columns[0]].tolist()

    def written(self) -> "pd.DataFrame":
        """The table with its ids first; of a matrix the numbers of the rows, with its columns unless it is wide."""
        import pandas as pd

        from widegap.tables._writing import ids_first

        if self.frame is not None:
            found: pd.DataFrame = ids_first(self.frame, self.id_columns).copy()
            return found
        frame, matrix = pd.DataFrame({"row": row_number(self.kept)}), self.table.matrix
        if storage(matrix) != "dense" or matrix.shape[1] > WRITTEN_COLUMNS:
            return frame
        return pd.concat([frame, pd.DataFrame(matrix[self.kept], columns=matrix_columns(matrix.shape[1]))], axis=1)


@dataclass
class DocumentRows:
    """Texts, what each is called, and the table they came from if there was one.

    ``names`` are those that the documents have, or "row 1" or "line 1", where ``counted`` is "row" or "line";
    ``entries`` are the objects of JSON lines, and ``junk`` the names of documents that were taken out.
    """

    names: list[str]
    X: list[str]
    frame: Any = None
    notes: list[str] = field(default_factory=list)
    dialect: "Dialect | None" = None
    titles: list[str] | None = None
    counted: str | None = None
    entries: list[dict[str, Any]] | None = None
    junk: tuple[str, ...] = ()
    values = feature_names = kept = None

    @property
    def ids(self) -> list[str]:
        """What every document is called."""
        return self.names

    @property
    def columns(self) -> list[str]:
        """What there is besides the texts, by name."""
        if self.entries is not None:
            return list(dict.fromkeys(key for entry in self.entries for key in entry))
        return [] if self.frame is None else [str(name) for name in self.frame.columns]

    def column(self, name: str) -> list[Any]:
        """A column of the table, or what JSON lines hold under a key, None where they have none."""
        if self.entries is not None:
            return [None if entry.get(name) is None else str(entry[name]) for entry in self.entries]
        found: list[Any] = self.frame[name].tolist()
        return found

    @property
    def items(self) -> list[tuple[str, str]]:
        """Title and body of every document; the title is its first line where nothing else gives one."""
        if self.titles is None:
            return [(item.title, item.text) for item in map(titled, self.X)]
        return list(zip(self.titles, self.X, strict=True))

    def without(self, chosen: set[int]) -> "DocumentRows":
        """The documents without some of them."""
        rows = [i for i in range(len(self.X)) if i not in chosen]
        return replace(
            self,
            names=[self.names[i] for i in rows],
            X=[self.X[i] for i in rows],
            frame=None if self.frame is None else self.frame.iloc[rows].reset_index(drop=True),
            titles=None if self.titles is None else [self.titles[i] for i in rows],
            entries=None if self.entries is None else [self.entries[i] for i in rows],
            junk=tuple(self.names[i] for i in sorted(chosen)),
        )

    def written(self) -> "pd.DataFrame":
        """The table that the documents came from, or their names."""
        import pandas as pd

        if self.frame is None:
            return pd.DataFrame({"document": self.names})
        found: pd.DataFrame = self.frame.copy()
        return found


def matrix_columns(n: int) -> list[str]:
    """What the columns of a matrix are called where it is written."""
    return [f"column {j}" for j in range(n)]


def _take(rows: Any, kept: Indices) -> Any:
    """Some rows of a table or a matrix."""
    if hasattr(rows, "iloc"):
        return rows.iloc[kept].reset_index(drop=True)
    return rows.take(kept) if hasattr(rows, "take") and hasattr(rows, "schema") else rows[kept]


def _dropped(n: int) -> str:
    return f"{counted(n, 'row')} {'lacks a value and was' if n == 1 else 'lack a value and were'} left out."
