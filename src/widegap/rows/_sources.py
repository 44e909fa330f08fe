"""Where rows come from: arrays and memmaps, CSR matrices, files on disk; ``row_blocks`` chooses the source.

Float32 and float64 keep their precision. Files are opened without pickle: an ``.npy`` shard is memory-mapped and
read block by block, an ``.npz`` shard (an array named X, or scipy's ``save_npz``) is read whole, once per pass; Parquet
and Arrow are in ``_columnar.py``.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import scipy.sparse as sp

from widegap._types import Floats, FloatType, Indices, Matrix, SparseMatrix
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.rows._blocks import RowBlocks
from widegap.rows._columnar import COLUMNAR_FORMATS, ColumnarSource
from widegap.rows._file_sizes import check_compressed, check_npz, check_row_count, check_width
from widegap.rows._protocols import Rows, Source, pieces
from widegap.rows._same_file import SameFile
from widegap.rows._state_files import NewArray

TABLE_BYTES = 64 << 20  # features of rows on disk up to this size are kept in memory; not tuned
BLOCK_BYTES = 4 << 20  # large enough to hide the cost of a Python call, small enough for the cache and two threads


def _is_mapped(X: object) -> bool:
    """Whether an array shows a part of a file."""
    while X is not None and not isinstance(X, np.memmap):
        X = getattr(X, "base", None)
    return X is not None


def _spans(n_rows: int, n_bytes: int) -> list[tuple[int, int]]:
    """Cut rows into blocks of at most BLOCK_BYTES, or one row, of equal size: threads then finish together."""
    count = max(1, -(-n_bytes // BLOCK_BYTES))
    size = max(1, -(-n_rows // count))
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


class ArraySource:
    """An ndarray or memmap, in any memory order; blocks become ``dtype`` as they are read."""

    def __init__(self, X: Floats, dtype: FloatType | None = None):
        self.X, self.dtype = X, dtype or X.dtype
        self.shape = (X.shape[0], X.shape[1])
        self.in_memory = not _is_mapped(X)

    def spans(self) -> list[tuple[int, int]]:
        return _spans(self.shape[0], self.shape[0] * self.shape[1] * self.dtype.itemsize)

    def read(self, start: int, stop: int) -> Floats:
        return self.X[start:stop].astype(self.dtype, copy=False)


class NpySource(ArraySource):
    """An ``.npy`` file, mapped, whose rows are refused if the file changes."""

    def __init__(self, path: Path):
        self._file = SameFile(path)
        X = np.lib.format.open_memmap(path, mode="r")
        super().__init__(X, _float_dtype(X, path))

    def read(self, start: int, stop: int) -> Floats:
        with self._file.while_read():
            return super().read(start, stop)  # no copy: a later change is seen with the next piece


class CsrSource:
    """A CSR matrix in memory; blocks share its three arrays."""

    in_memory = True

    def __init__(self, X: SparseMatrix):
        if not X.has_canonical_format:  # moments need every entry stored once
            X = X.copy()
            X.sum_duplicates()
        self.X, self.shape, self.dtype = X, X.shape, X.dtype
        self._blocks: dict[tuple[int, int], SparseMatrix] = {}

    def spans(self) -> list[tuple[int, int]]:
        # A block adds up its own (k, d) normal, which for text is as large as the rows: fewer, larger blocks.
        return _spans(self.shape[0], (self.X.data.nbytes + self.X.indices.nbytes) // 4)

    def read(self, start: int, stop: int) -> SparseMatrix:
        if (start, stop) not in self._blocks:  # kept, because scipy checks every index of a new one
            lo, hi = self.X.indptr[start], self.X.indptr[stop]
            parts = (self.X.data[lo:hi], self.X.indices[lo:hi], self.X.indptr[start : stop + 1] - lo)
            self._blocks[start, stop] = sp.csr_array(parts, shape=(stop - start, self.shape[1]), copy=False)
        return self._blocks[start, stop]


class NpzSource:
    """An ``.npz`` file that is read whole in every pass, so that a thread holds one shard at a time."""

    in_memory = False

    def __init__(self, path: Path):
        self.path, self._file = path, SameFile(path)
        X = self._load()
        self.shape, self.dtype = (X.shape[0], X.shape[1]), X.dtype

    def _load(self) -> Matrix:
        # Opened here, because np.load leaves the file open when it is not an archive.
        with open(self._file.place, "rb") as file:
            check_npz(file, self.path)
            with np.load(file, allow_pickle=False) as archive:
                names = archive.files
                if "X" in names:
                    X = archive["X"]
                    return X.astype(_float_dtype(X, self.path), copy=False)
            if "indptr" not in names:
                raise InvalidDataError(
                    f"{self.path} holds the arrays {sorted(names)}; expected an array named 'X' "
                    "or a matrix written by scipy.sparse.save_npz."
                )
        rows = check_width(_as_csr(sp.load_npz(self._file.place), self.path), self.path)
        rows.sum_duplicates()  # moments need every entry stored once
        return rows.astype(_float_dtype(rows, self.path), copy=False)

    def spans(self) -> list[tuple[int, int]]:
        return [(0, self.shape[0])]

    def read(self, start: int, stop: int) -> Matrix:
        with self._file.while_read():
            return self._load()


def _as_csr(X: Any, path: Path) -> SparseMatrix:
    """A compressed matrix of a file as CSR; refuses entries out of bounds, which loops would read, and endless rows."""
    shape = [length // block for length, block in zip(X.shape, getattr(X, "blocksize", (1, 1)), strict=True)]
    check_compressed(len(X.data), X.indices, X.indptr, shape[::-1] if X.format == "csc" else shape)
    check_row_count(X.shape[0], path)  # columns of any number of rows take little space
    found: SparseMatrix = sp.csr_array(X)
    return found


class _Shaped(Protocol):
    """A table of any kind of entries."""

    @property
    def ndim(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[np.generic]: ...


def _float_dtype(X: _Shaped, path: Path) -> FloatType:
    """Float32 and float64 stay; integers and booleans become float64; anything else is refused."""
    if X.ndim != 2:
        raise InvalidDataError(f"{path} has {X.ndim} dimensions; rows must form a table of 2: reshape it.")
    if X.dtype.kind not in "biuf":
        raise InvalidDataError(f"{path} has dtype {X.dtype}; only numbers can be clustered: encode it first.")
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


def _shard(path: str | os.PathLike[str]) -> Source:
    """Open one file as a source."""
    path = Path(path)
    ending = path.suffix.lower()
    try:
        if ending == ".npy":
            return NpySource(path)
        if ending == ".npz":
            return NpzSource(path)
        if ending in COLUMNAR_FORMATS:
            return ColumnarSource(path)
    except (InvalidDataError, NotSupportedError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # whatever a damaged file causes in zipfile, zlib, tokenize or NumPy
        raise InvalidDataError(
            f"{path} cannot be read as {path.suffix}: {error}. Write it again with numpy."
        ) from error
    raise InvalidDataError(
        f"{path} ends in '{path.suffix}'; shards must be .npy, .npz, .parquet or .feather files: convert it."
    )


def shards(paths: Sequence[str | os.PathLike[str]]) -> RowBlocks:
    """Rows stored in several files, in the order given, without loading them together.

    Parameters
    ----------
    paths : sequence of paths
        Tables with the same number of columns: ``.npy``, ``.npz`` (an array named X, or scipy's ``save_npz``),
        ``.parquet`` or ``.feather``. Pass the result to an estimator's ``fit`` or ``predict`` in place of an array.
        Each thread of a fit holds up to two pieces at a time: 4 MiB of an ``.npy`` file, a whole ``.npz`` shard, a row
        group of Parquet, or a record batch of Feather.

    Returns
    -------
    RowBlocks
    """
    if isinstance(paths, str | os.PathLike) or not paths:
        raise InvalidDataError(f"shards() got {paths!r}; pass a list of one or more file names.")
    sources = [_shard(path) for path in paths]
    widths = {source.shape[1] for source in sources}
    if len(widths) > 1:
        raise InvalidDataError(f"Shards have {sorted(widths)} columns; all must have the same: check the files.")
    return RowBlocks([source for source in sources if source.shape[0]] or sources)


def row_blocks(X: Matrix | RowBlocks, *, n_threads: int = 1, new_array: NewArray = np.empty) -> RowBlocks:
    """Blocks over a validated array, memmap, CSR matrix or other RowBlocks, to be read by ``n_threads`` threads."""
    if isinstance(X, RowBlocks):
        return RowBlocks(X.sources, n_threads, new_array=new_array)
    return RowBlocks([ArraySource(X) if isinstance(X, np.ndarray) else CsrSource(X)], n_threads, new_array=new_array)


def held_table(rows: Rows) -> Matrix | None:
    """The table that rows in memory are read from, without a copy; None if there is none in the form of a copy."""
    source = rows.sources[0] if isinstance(rows, RowBlocks) and len(rows.sources) == 1 else None
    if isinstance(source, CsrSource) and source.X.indices.dtype == np.int32:
        return source.X
    if not isinstance(source, ArraySource) or not source.in_memory or source.X.dtype != source.dtype:
        return None
    return source.X if source.X.flags.c_contiguous and source.X.flags.writeable else None


def may_be_held(rows: Rows, width: int) -> bool:
    """Whether ``width`` features of all rows may be held in memory: if the rows are, or if the features are few."""
    if isinstance(rows, RowBlocks) and all(source.in_memory for source in rows.sources):
        return True
    return bool(rows.shape[0] * width * rows.dtype.itemsize <= TABLE_BYTES)


class MappedSource:
    """Another source after a feature map, which is applied whenever rows are read, to a few MiB at a time."""

    in_memory = False

    def __init__(self, source: Source, transform: Callable[[Matrix], Floats], width: int, dtype: FloatType):
        self._source, self._transform = source, transform
        self.shape, self.dtype = (source.shape[0], width), dtype

    def spans(self) -> list[tuple[int, int]]:
        return self._source.spans()

    def read(self, start: int, stop: int) -> Iterator[Floats]:
        for X in pieces(self._source.read(start, stop)):
            for first, last in _spans(X.shape[0], X.shape[0] * self.shape[1] * self.dtype.itemsize):
                yield self._transform(X[first:last])


class MappedBlocks(RowBlocks):
    """Rows after a feature map, mapped again in every pass; ``take`` maps only the rows that it takes."""

    def __init__(self, rows: RowBlocks, transform: Callable[[Matrix], Floats], width: int):
        sources = [MappedSource(source, transform, width, rows.dtype) for source in rows.sources]
        super().__init__(sources, rows.n_threads, rows.to_user_form, rows.new_array)
        self._rows, self._transform = rows, transform

    def take(self, rows: Indices) -> Floats:
        return self._transform(self._rows.take(rows))


class _RemoteRows(Rows, Protocol):
    """Rows that are mapped where they are."""

    def features(self, transform: Callable[[Matrix], Floats]) -> Rows: ...


def feature_rows(rows: Rows, transform: Callable[[Matrix], Floats], width: int) -> Rows:
    """Rows after a feature map: a table of ``width`` columns where it may be held, else mapped in every pass."""
    if not isinstance(rows, RowBlocks):
        return cast(_RemoteRows, rows).features(transform)
    if not may_be_held(rows, width):
        return MappedBlocks(rows, transform, width)
    table = rows.map(lambda block: transform(block.take(slice(None))))
    return RowBlocks([ArraySource(table)], rows.n_threads, rows.to_user_form, rows.new_array)


def divided_columns(rows: Rows, columns: Indices, divisors: Floats) -> Rows:
    """Some columns of rows from ``feature_rows``, each divided by its own number.

    A table of them is divided in place: all features of all rows would otherwise be held twice.
    """

    def divided(X: Matrix, out: Floats | None = None) -> Floats:
        assert isinstance(X, np.ndarray)  # features are dense
        return np.divide(X if len(columns) == X.shape[1] else X[:, columns], divisors.astype(X.dtype), out=out)

    if isinstance(rows, MappedBlocks) or not isinstance(rows, RowBlocks) or len(columns) < rows.shape[1]:
        return feature_rows(rows, divided, len(columns))
    for source in rows.sources:
        assert isinstance(source, ArraySource)
        divided(source.X, out=source.X)
    return rows
