"""What to write instead, for a table that is not yet numbers: one that has text, or missing cells.

scikit-learn refuses such a table. Here its error is replaced by one that names the first such column and shows the line
to write. The table is read again to find that column, which costs time only where there is an error anyway.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from widegap._types import Array
from widegap.exceptions import InvalidDataError
from widegap.features._kernels import holds_values
from widegap.rows._matrices import count_missing, storage

LONGEST_CALL = 60  # characters of an estimator in a message; a longer one is shown without its parameters
LONGEST_CELL = 30  # characters of a cell in a message


@dataclass(frozen=True)
class RefusedTable:
    """A table that scikit-learn refused.

    Attributes
    ----------
    X : frame, array-like or sparse matrix
    estimator : object or None
        Which was to cluster it; None where X is one of several views.
    name, source : str
        What messages call it, and how a user's program does.
    """

    X: Any
    estimator: object | None
    name: str = "X"
    source: str = "X"

    def error(self, error: Exception) -> Exception:
        """The error to raise: with the remedy if text or NaN is the cause, else the one that was raised."""
        text = self._text()
        if text is not None:
            place, cell = text
            return InvalidDataError(
                f"Column {place} of {self.name} has text ({cell[:LONGEST_CELL]!r}), but only numbers can be clustered; "
                f"encode the table first: {self._encoded()}"
            )
        if "contains NaN" not in str(error):
            return error
        table = check_array(self.X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
        missing = count_missing(table)
        n, place = int(missing.sum()), self._place(int(np.flatnonzero(missing)[0]))
        cells = f"1 missing cell, in column {place}" if n == 1 else f"{n:,} missing cells, the first in column {place}"
        return InvalidDataError(f"Input {self.name} contains NaN: {cells}. {self._filled()}")

    @property
    def _names(self) -> list[object] | None:
        """Names of the columns of a frame of pandas, polars or Arrow; None for an array."""
        found = getattr(self.X, "column_names", getattr(self.X, "columns", None))
        return None if found is None else list(found)

    def _place(self, j: int) -> str:
        """A column by its name, or by its number from 0."""
        return str(j) if self._names is None else repr(self._names[j])

    def _encoded(self) -> str:
        """The line that encodes the table. TableEncoder reads an array as numbers without gaps, so it gets a frame."""
        table = f"pandas.DataFrame({self.source})" if self._names is None else self.source
        if self.estimator is None:
            return f"TableEncoder().fit_transform({table})"
        return f"make_pipeline(TableEncoder(), {_call(self.estimator)}).fit({table})"

    def _filled(self) -> str:
        """What fills missing cells, with the line to write."""
        if holds_values(getattr(self.estimator, "kernel", "linear")):
            return "A kernel matrix cannot be filled; leave out the rows and columns that have them."
        if storage(self.X) == "sparse" and self.estimator is not None:
            line = f"make_pipeline(SimpleImputer(), {_call(self.estimator)}).fit(X)"
            return f"SimpleImputer of scikit-learn fills them: {line}"
        return f"TableEncoder fills them: {self._encoded()}"

    def _columns(self) -> Iterator[Array]:
        """The cells of each column; none if this is not a table of two dimensions, or sparse."""
        X = self.X
        if self._names is not None:
            # By place where there is one: pandas allows two columns of one name.
            names = enumerate(self._names)
            yield from (np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[name]) for j, name in names)
        elif storage(X) == "dense":
            cells = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
            yield from cells.T if cells.ndim == 2 else ()

    def _text(self) -> tuple[str, str] | None:
        """The first column with text that is not a number, and the first such cell."""
        for j, cells in enumerate(self._columns()):
            if cells.dtype.kind not in "biufc":
                texts = (cell for cell in cells.tolist() if isinstance(cell, str | bytes) and not _is_number(cell))
                found = next(texts, None)
                if found is not None:
                    return self._place(j), found if isinstance(found, str) else repr(found)
        return None


def _call(estimator: object) -> str:
    """An estimator as one writes it, with the parameters that are not the default."""
    text = " ".join(repr(estimator).split())
    return text if len(text) <= LONGEST_CALL else f"{type(estimator).__name__}(...)"


def _is_number(cell: str | bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
