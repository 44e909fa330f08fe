"""Files that are not read whole: rows come in block by block, results go out as they come.

A file of numbers (.npy, or Parquet and Feather all of whose columns are numbers) that would take more than ``LARGE``
bytes in memory is read anew in every pass of the fit, and once more to be written with its clusters. What the fit knows
of every row lies in a temporary file. The summary tells the sizes of the clusters by all rows, the rest by a sample.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from widegap.exceptions import InvalidDataError, NotSupportedError

LARGE = 256 << 20  # bytes; not tuned: smaller files fit into the memory of any machine, and are faster there
COUNTED = 1000  # rows by which a column that numbers the rows is known; hardly any other column rises by 1 for so long
STREAMED = (".parquet", ".pq", ".feather", ".arrow")  # endings of files that are read some columns and rows at a time


@dataclass(frozen=True)
class LargeFile:
    """Rows of a file; ``names`` of its columns, None for a matrix. ``factors`` of the columns are for the estimator."""

    path: Path
    source: Any
    names: list[str] | None
    notes: list[str] = field(default_factory=list)
    factors: Any = None

    @property
    def n_rows(self) -> int:
        return int(self.source.shape[0])

    def rows(self, position: Callable[[int, int], None] = lambda start, stop: None) -> Any:
        """The rows as an estimator sees them; ``position`` is called with what is being read."""
        from widegap.rows import RowBlocks
        from widegap.rows._matrices import scale_columns
        from widegap.rows._sources import MappedSource

        factors = self.factors

        class Watched(MappedSource):
            def read(self, start: int, stop: int) -> Iterator[Any]:
                position(start, stop)
                return super().read(start, stop)

        def scaled(X: Any) -> Any:
            return scale_columns(X, factors)

        return RowBlocks([Watched(self.source, scaled, self.source.shape[1], self.source.dtype)])

    def pieces(self) -> Iterator[tuple[int, Any]]:
        """The rows in their own units, some at a time, with the number of the first."""
        from widegap.rows._protocols import pieces

        for start, stop in self.source.spans():
            for X in pieces(self.source.read(start, stop)):
                yield start, X
                start += len(X)


def large_file(path: Path, columns: Sequence[str] = ()) -> LargeFile | None:
    """The file, or some columns of it, if it is too large to be read whole and can be streamed; else None."""
    ending = path.suffix.lower()
    if ending not in (".npy", *STREAMED) or not path.is_file():
        return None
    from widegap.rows import shards
    from widegap.rows._columnar import ColumnarSource

    if ending == ".npy" and columns:
        return None
    try:
        if ending == ".npy":
            (source,) = shards([path]).sources
            found = LargeFile(path, source, None)
        else:
            source = ColumnarSource(path, columns or None)
            found = LargeFile(path, source, source.names)
    except (InvalidDataError, NotSupportedError, ValueError):  # the usual way has the words for it
        return None
    large = source.shape[0] * source.shape[1] * source.dtype.itemsize > LARGE
    return found if large else None


def without_row_numbers(file: LargeFile) -> LargeFile:
    """The file without columns that number its rows, as their first values tell, and without results of ours."""
    import numpy as np

    from widegap.rows._columnar import ColumnarSource

    if file.names is None:
        return file
    first = file.source.read(0, min(COUNTED, file.n_rows))
    counting = (np.diff(first, axis=0) == 1).all(axis=0) & (len(first) > 2)
    own = {"cluster", "sure", "margin"} if {"cluster", "margin"} <= set(file.names) else set()
    left = [name for name, counts in zip(file.names, counting, strict=True) if counts or name in own]
    kept = [name for name in file.names if name not in left]
    if not left or not kept:
        return file
    note = f"Columns that number the rows, or are results, were left out: {', '.join(map(repr, left))} (--columns)."
    return LargeFile(file.path, ColumnarSource(file.path, kept), kept, [*file.notes, note])


def with_scale(file: LargeFile, scale: str) -> LargeFile:
    """The file with the factors of its columns: "none", "standard", or "auto", which looks whether units differ."""
    import numpy as np

    from widegap.rows._centred import finite_moments
    from widegap.rows._matrices import UNITS_DIFFER

    if scale == "none":
        return file
    moments = finite_moments(file.rows(), f"rows of {file.path}")
    deviations = np.where(moments.varies, np.sqrt(moments.scatter / moments.n_rows), 0.0)
    varying = deviations[deviations > 0]
    if scale == "auto" and (not len(varying) or varying.max() <= UNITS_DIFFER * np.median(varying)):
        return file
    factors = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    note = "Columns were divided by their standard deviations (--scale none to keep them)."
    return LargeFile(file.path, file.source, file.names, [*file.notes, note], factors)


def stored_columns(file: LargeFile) -> dict[str, Any]:
    """What a model file says of the columns."""
    factors = None if file.factors is None else file.factors.tolist()
    return {"names": file.names, "n_features": int(file.source.shape[1]), "factors": factors}


def stored_file(path: Path, stored: Any) -> LargeFile:
    """A file as the model was fitted on one, whatever its size."""
    import math

    import numpy as np

    from widegap.rows import shards
    from widegap.rows._columnar import ColumnarSource

    try:
        names, n_features, factors = stored["names"], int(stored["n_features"]), stored["factors"]
        if factors is not None and not (len(factors) == n_features and all(map(math.isfinite, factors))):
            raise ValueError("its factors are not one finite number a column")
        if names is not None and not (len(names) == n_features and all(isinstance(name, str) for name in names)):
            raise ValueError("its names are not one a column")
    except (TypeError, KeyError, ValueError) as error:
        raise InvalidDataError(f"The model does not say how its file was read ({error}); fit it again.") from error
    if path.suffix.lower() not in ((".npy",) if names is None else STREAMED):
        wanted = ".npy" if names is None else ".parquet or .feather"
        raise InvalidDataError(f"The model was fitted on a large file of {wanted}, but {path} is not one; convert it.")
    if not path.exists():
        raise InvalidDataError(f"{path}: no such file; check the name.")
    if names is None:
        (source,) = shards([path]).sources
    else:
        known = ColumnarSource.column_names(path)
        absent = [name for name in names if name not in known]
        if absent:
            columns = "column" if len(absent) == 1 else "columns"
            raise InvalidDataError(f"{path} lacks the {columns} {', '.join(map(repr, absent[:5]))} of the model.")
        source = ColumnarSource(path, names)
    if source.shape[1] != n_features:
        raise InvalidDataError(f"{path} has {source.shape[1]} columns, but the model was fitted with {n_features}.")
    return LargeFile(path, source, names, [], None if factors is None else np.array(factors))
