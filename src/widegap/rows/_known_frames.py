"""Frames of any library by one protocol: whatever has ``__arrow_c_stream__`` hands its columns over as Arrow.

pandas and polars are read as they are: scikit-learn knows them and keeps the names of their columns. Any other frame,
of Arrow, DuckDB and more, becomes one of pandas here, once for each call, since some streams can be read only once.
"""

from typing import TYPE_CHECKING, Any

from widegap._types import Ints
from widegap.exceptions import InvalidDataError, NotSupportedError

if TYPE_CHECKING:
    import pyarrow as pa

KNOWN = ("pandas", "polars")  # libraries whose frames scikit-learn reads with the names of their columns


def has_arrow_columns(X: Any) -> bool:
    """Whether X hands its columns over as Arrow."""
    return hasattr(X, "__arrow_c_stream__")


def library_of(X: Any) -> str:
    """The package that X's class comes from."""
    return type(X).__module__.partition(".")[0].lstrip("_")


def refuse_lazy(X: Any) -> None:
    """Refuse a frame whose rows are not computed yet."""
    if hasattr(type(X), "collect") and hasattr(type(X), "columns") and not has_arrow_columns(X):
        raise InvalidDataError("X is a lazy frame; call .collect() first.")


def arrow_table(X: Any) -> "pa.Table":
    """A frame by its protocol, read once."""
    import pyarrow as pa

    return pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else pa.table(X)


def known_frame(X: Any) -> Any:
    """X itself where it is an array or a frame that scikit-learn knows; a frame of pandas in place of any other.

    Of a dict, which holds views of the same rows, each.
    """
    if type(X) is dict:
        return {name: known_frame(view) for name, view in X.items()}
    refuse_lazy(X)
    if not has_arrow_columns(X) or library_of(X) in KNOWN:
        return X
    try:
        import pandas  # noqa: F401 - what Arrow makes frames of
        import pyarrow as pa
    except ImportError as error:
        raise NotSupportedError(
            f"X is a frame of {library_of(X)}, which pandas and pyarrow read: pip install 'widegap[table]'."
        ) from error
    if isinstance(X, pa.ChunkedArray):  # a single column
        return X
    table = arrow_table(X)
    for j, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):  # sums of DuckDB, which would become objects
            table = table.set_column(j, field.name, table.column(j).cast(pa.float64()))
    return table.to_pandas(date_as_object=False, ignore_metadata=True)


def frame_of_clusters(columns: dict[str, Any], numbers: Ints, library: str) -> Any:
    """A frame with one row per cluster, of the library that the rows came from; the columns alone without pandas."""
    if library == "polars":
        import polars as pl

        finer = {name: v.astype("M8[us]") if v.dtype.kind == "M" else v for name, v in columns.items()}  # not seconds
        return pl.DataFrame({"cluster": numbers, **finer})
    try:
        import pandas as pd
    except ImportError:
        return columns
    return pd.DataFrame(columns, index=pd.Index(numbers, name="cluster"))
