"""Tables of every library as Arrow: the one place that knows pandas, polars and others apart.

Whatever has ``__arrow_c_stream__`` (polars, Arrow, DuckDB and more) hands its columns over as they are. Frames of
pandas are converted column by column, because their objects may be of different types in one column, which Arrow
refuses: such a column becomes texts.
"""

import ctypes
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from widegap.rows._known_frames import arrow_table, has_arrow_columns, refuse_lazy

if TYPE_CHECKING:
    import pandas as pd


def is_table(X: Any) -> bool:
    """Whether X has named columns."""
    return has_arrow_columns(X) or type(X) is dict or hasattr(type(X), "columns")


class ArrowColumns(NamedTuple):
    """Names of the columns of a frame or dict, a function that gives each by its place, and the number of rows.

    ``numeric`` are the places of those whose type says that they are numbers.
    """

    names: list[str]
    at: Callable[[int], pa.ChunkedArray]
    n_rows: int
    numeric: set[int]


def arrow_columns(X: Any) -> ArrowColumns:
    """The columns of a frame or dict."""
    if has_arrow_columns(X) and not hasattr(X, "iloc"):
        table = X if isinstance(X, pa.Table) else arrow_table(X)
        numeric = {j for j, kind in enumerate(table.schema.types) if is_numeric(kind)}
        return ArrowColumns(list(table.column_names), table.column, table.num_rows, numeric)
    refuse_lazy(X)
    import pandas as pd

    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    numeric = {j for j, kind in enumerate(frame.dtypes) if isinstance(kind, np.dtype) and kind.kind in "iuf"}
    names = [str(name) for name in frame.columns]
    return ArrowColumns(names, lambda j: arrow_column(frame.iloc[:, j]), len(frame), numeric)


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def arrow_column(column: Any) -> pa.ChunkedArray:
    """A column of any library in Arrow: numbers, truth values, times and texts as they are, other cells as texts."""
    if isinstance(column, pa.ChunkedArray):
        return column
    if not isinstance(column, pa.Array):
        column = _from_pandas(column)
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _from_pandas(series: "pd.Series") -> pa.Array | pa.ChunkedArray:
    import pandas as pd

    kinds = pd.api.types
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    is_number = kinds.is_numeric_dtype(series.dtype) and not kinds.is_complex_dtype(series.dtype)
    if kinds.is_bool_dtype(series.dtype):
        return pa.array(series.astype("boolean"), from_pandas=True)
    if is_number or kinds.is_datetime64_any_dtype(series.dtype):
        return pa.array(series, from_pandas=True)
    if isinstance(series.dtype, pd.StringDtype | pd.ArrowDtype):
        return pa.array(series, from_pandas=True)
    return texts_of_objects(series.astype(object).where(series.notna(), None).tolist())


def texts_of_objects(cells: list[Any]) -> pa.StringArray:
    """Cells of any type as texts; None stays a gap."""
    found: pa.StringArray = pa.array([None if cell is None else str(shortest(cell)) for cell in cells], pa.string())
    return found


def shortest(cell: Any) -> Any:
    """A float as the shortest text that reads as the same number; other values as they are."""
    return repr(float(cell)).removesuffix(".0") if isinstance(cell, float) else cell


def release_memory() -> None:
    """Give back the memory that Arrow, and on Linux NumPy, keep for later, after large arrays were freed."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux" and hasattr(own := ctypes.CDLL(None), "malloc_trim"):
        own.malloc_trim(0)
