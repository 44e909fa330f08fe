"""Tables stored by columns: Parquet, read a row group at a time, and Arrow (Feather), read a record batch at a time.

Such a piece is one block, so that a thread holds one of them, decoded, besides its table of numbers. Files are opened
for every read: readers of pyarrow are not made for several threads.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from widegap.exceptions import InvalidDataError, NotSupportedError

_EXTRA = "{} needs pyarrow to be read: pip install pyarrow."


class _File(Protocol):
    """How one format is read."""

    def lengths(self) -> list[int]: ...

    def fields(self) -> list[tuple[str, Any]]: ...

    def columns(self, piece: int) -> Any: ...


class _Parquet:
    def __init__(self, path: Path):
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(path)

    def lengths(self) -> list[int]:
        metadata = self._file.metadata
        return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def fields(self) -> list[tuple[str, Any]]:
        return [(field.name, field.type) for field in self._file.schema_arrow]

    def columns(self, piece: int) -> Any:
        return self._file.read_row_group(piece, use_threads=False).columns


class _Arrow:
    def __init__(self, path: Path):
        import pyarrow as pa

        self._reader = pa.ipc.open_file(pa.memory_map(str(path)))

    def lengths(self) -> list[int]:
        return [self._reader.get_batch(i).num_rows for i in range(self._reader.num_record_batches)]

    def fields(self) -> list[tuple[str, Any]]:
        return [(field.name, field.type) for field in self._reader.schema]

    def columns(self, piece: int) -> Any:
        return self._reader.get_batch(piece).columns


FORMATS: dict[str, Callable[[Path], _File]] = {
    ".parquet": _Parquet,
    ".pq": _Parquet,
    ".feather": _Arrow,
    ".arrow": _Arrow,
}


class ColumnarSource:
    """A Parquet or Arrow file of numbers; missing ones are NaN, which a fit refuses."""

    in_memory = False

    def __init__(self, path: Path):
        self.path = path
        file, types = self._open(), self._numeric()
        self._lengths = file.lengths()
        self.names = [name for name, _ in file.fields()]
        self.shape = (sum(self._lengths), len(self.names))
        self.dtype = np.dtype(np.float32 if types == {"float"} else np.float64)

    def _open(self) -> _File:
        try:
            import pyarrow as pa
        except ImportError as error:
            raise NotSupportedError(_EXTRA.format(self.path)) from error
        try:
            return FORMATS[self.path.suffix](self.path)
        except pa.ArrowException as error:
            raise InvalidDataError(
                f"Shard {self.path} cannot be read as {self.path.suffix}: {error}. Write it anew with pyarrow."
            ) from error

    def _numeric(self) -> set[str]:
        """The types of the columns; refuses those that are no numbers."""
        import pyarrow.types as kinds

        found = set()
        for name, kind in self._open().fields():
            if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
                raise InvalidDataError(
                    f"Column {name!r} of {self.path} has type {kind}; only numbers can be clustered: encode or drop it."
                )
            found.add(str(kind))
        return found

    def spans(self) -> list[tuple[int, int]]:
        ends = np.cumsum(self._lengths).tolist()
        return [(end - length, end) for end, length in zip(ends, self._lengths, strict=True) if length]

    def read(self, start: int, stop: int) -> Any:
        table = np.empty((stop - start, self.shape[1]), self.dtype)
        file, ends = self._open(), np.cumsum(self._lengths)
        for piece in range(np.searchsorted(ends, start, side="right"), np.searchsorted(ends, stop) + 1):
            first = ends[piece] - self._lengths[piece]
            begin, end = max(start, first), min(stop, ends[piece])
            for j, column in enumerate(file.columns(piece)):
                table[begin - start : end - start, j] = column.to_numpy(zero_copy_only=False)[
                    begin - first : end - first
                ]
        return table
