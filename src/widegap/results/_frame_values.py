"""Data frames as numbers in their own units, read by a TableEncoder; texts and ids stay out."""

from typing import Any

import numpy as np

from widegap._types import Doubles
from widegap._warnings import muted
from widegap.exceptions import ColumnWarning, InvalidDataError, NotSupportedError


def is_data_frame(X: Any) -> bool:
    """Whether rows are a data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def frame_values(frame: Any) -> tuple[Doubles, list[str], frozenset[int]]:
    """Values of the columns that tell rows apart, their names, and which of them are dates, as days since 1970.

    Categories become one column of 0 and 1 each, 0 in all where a cell is empty; other columns have NaN there.
    """
    try:
        from widegap.tables import TableEncoder

        with muted(ColumnWarning):  # whoever fitted the model has seen what is to be said of the columns
            encoder = TableEncoder(scale="none").fit(frame)
    except NotSupportedError:  # without pyarrow, numbers alone
        numbers = frame.select_dtypes("number")
        return numbers.to_numpy(dtype=float, na_value=np.nan), [str(name) for name in numbers.columns], frozenset()
    except InvalidDataError:  # no column tells rows apart
        return np.zeros((len(frame), 0)), [], frozenset()
    values = encoder._observed(frame)
    names: list[str] = []
    dates: list[int] = []
    for column in encoder.columns_ or ():
        for name in column.names:
            j = len(names)
            is_date = column.read_as == "date"
            if is_date:
                values[:, j] += np.datetime64(column.origin, "D").astype(int)
                dates.append(j)
            names.append(column.name if is_date else name)
    return values, names, frozenset(dates)


def row_names(X: Any) -> Any:
    """The index of a frame where it names rows, and does not only count them; else None."""
    index = getattr(X, "index", None)
    if not is_data_frame(X) or index is None or type(index).__name__ == "RangeIndex":
        return None
    numbers = getattr(index, "dtype", None)
    return None if numbers is not None and numbers.kind in "iu" and index.is_monotonic_increasing else index
