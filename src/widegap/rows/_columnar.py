"""Tables stored by columns: Parquet, read a row group at a time, and Arrow (Feather), read a record batch at a time.

Such a piece is one block, so that a thread holds its table of numbers and one decoded column. Files are opened for
every read, because pyarrow's readers are not thread-safe.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from widegap._types import Array, Floats, FloatType
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.rows._file_sizes import check_row_count
from widegap.rows._same_file import SameFile

if TYPE_CHECKING:
    from pyarrow import DataType

_EXTRA = "Reading {} needs pyarrow: pip install pyarrow."


class _Column(Protocol):
    """A column of pyarrow."""

    def to_numpy(self, zero_copy_only: bool = ...) -> Array: ...


class _File(Protocol):
    """How one format is read."""

    def lengths(self) -> list[int]: ...

    def fields(self) -> list[tuple[str, "DataType"]]: ...

    def columns(self, piece: int, places: Sequence[int]) -> Iterable[_Column]:
        """Some columns of a piece, by their places; one is held at a time."""


class _Parquet:
    def __init__(self, path: Path):
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(path, memory_map=True, pre_buffer=False)

    def lengths(self) -> list[int]:
        metadata = self._file.metadata
        return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def fields(self) -> list[tuple[str, "DataType"]]:
        return [(field.name, field.type) for field in self._file.schema_arrow]

    def columns(self, piece: int, places: Sequence[int]) -> Iterable[_Column]:
        names: list[str] = self._file.schema_arrow.names
        if len(set(names)) < len(names):  # pyarrow selects columns by name
            whole = self._file.read_row_group(piece, use_threads=False)
            yield from (whole.column(place) for place in places)
            return
        for place in places:
            yield self._file.read_row_group(piece, columns=[names[place]], use_threads=False).column(0)


class _Arrow:
    def __init__(self, path: Path):
        import pyarrow as pa

        self._reader = pa.ipc.open_file(pa.memory_map(str(path)))

    def lengths(self) -> list[int]:
        return [self._reader.get_batch(i).num_rows for i in range(self._reader.num_record_batches)]

    def fields(self) -> list[tuple[str, "DataType"]]:
        return [(field.name, field.type) for field in self._reader.schema]

    def columns(self, piece: int, places: Sequence[int]) -> Iterable[_Column]:
        batch = self._reader.get_batch(piece)
        batch.validate(full=True)  # Arrow believes what a file says about its own buffers
        return (batch.column(place) for place in places)


COLUMNAR_FORMATS: dict[str, Callable[[Path], _File]] = {
    ".parquet": _Parquet,
    ".pq": _Parquet,
    ".feather": _Arrow,
    ".arrow": _Arrow,
}


def _opened(path: Path, place: Path) -> _File:
    """The file at a place, by the path under which errors name it."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise NotSupportedError(_EXTRA.format(path)) from error
    try:
        return COLUMNAR_FORMATS[path.suffix.lower()](place)
    except pa.ArrowException as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InvalidDataError:
    return InvalidDataError(f"{path} cannot be read as {path.suffix}: {error}. Write it again with pyarrow.")


class ColumnarSource:
    """A Parquet or Arrow file of numbers, or some columns of it; missing numbers are NaN, which a fit refuses."""

    in_memory = False

    def __init__(self, path: Path, names: Sequence[str] | None = None):
        self.path, self._same = path, SameFile(path)
        file = self._open()
        known = [name for name, _ in file.fields()]
        self.names = known if names is None else list(names)
        self._places = list(range(len(known))) if names is None else [known.index(name) for name in names]
        self._lengths, types = self._piece_lengths(file), self._numeric()
        self.shape = (sum(self._lengths), len(self.names))
        check_row_count(self.shape[0], path)
        self.dtype: FloatType = np.dtype(np.float32 if types == {"float"} else np.float64)

    @staticmethod
    def column_names(path: Path) -> list[str]:
        """All columns of a file, numeric or not."""
        return [name for name, _ in _opened(path, path).fields()]

    def _open(self) -> _File:
        return _opened(self.path, self._same.place)

    def _piece_lengths(self, file: _File) -> list[int]:
        import pyarrow as pa

        try:
            return file.lengths()
        except pa.ArrowMemoryError as error:
            raise InvalidDataError(
                f"{self.path} asks for more memory than there is ({error}), so it is damaged, or too large for this "
                "machine; write it again, or in parts."
            ) from error

    def _numeric(self) -> set[str]:
        """The types of the columns; refuses columns that are not numeric."""
        import pyarrow.types as kinds

        found: set[str] = set()
        fields = self._open().fields()
        for name, kind in (fields[place] for place in self._places):
            if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
                raise InvalidDataError(
                    f"Column {name!r} of {self.path} has type {kind}; only numbers can be clustered: encode or drop it."
                )
            found.add(str(kind))
        return found

    def spans(self) -> list[tuple[int, int]]:
        ends: list[int] = np.cumsum(self._lengths).tolist()
        return [(end - length, end) for end, length in zip(ends, self._lengths, strict=True) if length]

    def read(self, start: int, stop: int) -> Floats:
        import pyarrow as pa

        with self._same.while_read():
            try:
                return self._read(start, stop)
            except pa.ArrowMemoryError:
                raise
            except (ValueError, OSError, pa.ArrowException) as error:  # of a page, which opening does not look at
                raise _damaged(self.path, error) from error

    def _read(self, start: int, stop: int) -> Floats:
        table: Floats = np.empty((stop - start, self.shape[1]), self.dtype)
        file, ends = self._open(), np.cumsum(self._lengths)
        for piece in range(int(np.searchsorted(ends, start, side="right")), int(np.searchsorted(ends, stop)) + 1):
            first = int(ends[piece]) - self._lengths[piece]
            begin, end = max(start, first), min(stop, int(ends[piece]))
            for j, column in enumerate(file.columns(piece, self._places)):
                table[begin - start : end - start, j] = column.to_numpy(zero_copy_only=False)[
                    begin - first : end - first
                ]
        return table
