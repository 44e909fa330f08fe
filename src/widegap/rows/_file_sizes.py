"""The declared size of a file, compared with what it can hold: a few bytes must not ask for gigabytes.

Weights, means and cuts take some numbers for every column, whether it has entries or not, and labels some bytes for
every row. A file with few entries may still name column 2,000,000,000, and a header may declare any shape.
"""

import math
import os
import zipfile
from collections.abc import Sequence
from typing import IO

import numpy as np

from widegap._types import Ints, Labels, SparseMatrix
from widegap.exceptions import InvalidDataError

FREE_COLUMNS = 1 << 20  # always allowed: the width of scikit-learn's hashed terms
COLUMNS_AN_ENTRY = 16  # not tuned: far more than text has, whose columns hold several entries each
FREE_ROWS = 10_000_000  # always allowed: their labels take 40 MB
INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))  # what scipy's compiled loops are made for
ROWS_A_BYTE = 1000  # not tuned: far beyond what runs of equal values were seen to reach


def check_width(X: SparseMatrix, name: str | os.PathLike[str]) -> SparseMatrix:
    """A sparse matrix from a file; refuses one with far more columns than entries."""
    entries, width = int(X.nnz), int(X.shape[1])
    if width > max(FREE_COLUMNS, COLUMNS_AN_ENTRY * entries):
        raise InvalidDataError(
            f"{name} has {width:,} columns, but only {entries:,} entries; more than {FREE_COLUMNS:,} columns need an "
            f"entry for every {COLUMNS_AN_ENTRY} of them: renumber the columns that are used, from 0 or 1."
        )
    return X


def check_compressed(n_entries: int, indices: Ints | Labels, indptr: Ints | Labels, shape: Sequence[object]) -> None:
    """Raise ValueError if these are not the parts of a compressed sparse matrix: loops over its entries do not check.

    ``shape`` is (rows, columns), or (columns, rows) where columns are compressed. Bounds are compared, not subtracted,
    because differences may wrap around; scipy's own check skips a matrix that seems empty.
    """
    lengths = [length for length in shape if type(length) is int and length >= 0]
    whole = len(lengths) == len(shape) == 2
    if not whole or {part.ndim for part in (indices, indptr)} != {1} or len(indptr) != lengths[0] + 1:
        raise ValueError(f"the parts of a sparse matrix do not match its shape {tuple(shape)!r:.60}")
    if {indices.dtype, indptr.dtype} - set(INDEX_TYPES):
        raise ValueError(f"a sparse matrix has indices of {indices.dtype} and {indptr.dtype}, not of int32 or int64")
    rising = indptr[0] == 0 and bool((indptr[1:] >= indptr[:-1]).all())
    if not rising or indptr[-1] != len(indices) or len(indices) != n_entries:
        raise ValueError("the rows of a sparse matrix do not end where its entries do")
    if len(indices) and not (indices.min() >= 0 and indices.max() < lengths[1]):
        raise ValueError(f"entries of a sparse matrix lie outside its shape {tuple(shape)}")


def check_row_count(n_rows: int, path: str | os.PathLike[str]) -> None:
    """Refuse a file that declares more rows than its bytes could describe."""
    size = os.stat(path).st_size
    if n_rows > max(FREE_ROWS, ROWS_A_BYTE * size):
        raise InvalidDataError(f"{path} declares {n_rows:,} rows in {size:,} bytes, so it is damaged; write it again.")


def check_npz(file: IO[bytes], name: str | os.PathLike[str]) -> None:
    """Refuse an archive with an array whose header declares more than its entry holds."""
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if entry.filename.endswith(".npy"):
                with archive.open(entry) as part:
                    _check_header(part, entry.file_size, f"{name} ({entry.filename})")
    file.seek(0)


def _check_header(part: IO[bytes], size: int, name: str) -> None:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    read = readers.get(np.lib.format.read_magic(part))
    if read is None:
        raise InvalidDataError(f"{name} uses an unsupported version of NumPy's format; write it again.")
    shape, _, dtype = read(part)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > size:
        raise InvalidDataError(f"{name} declares shape {shape} of {dtype} in {size:,} bytes; write it again.")
