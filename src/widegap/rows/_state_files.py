"""States of rows in files, for fits on more rows than a few bytes per row leave memory for.

``RowBlocks`` makes the array of a new state by a function of a shape and a dtype: ``np.empty``, or a ``StateFolder``.
The files of a folder have no name, vanish with the last array that maps them, and are written back by the operating
system as it needs memory. Labels go to a file with a name when the fit is done.

Kept after a measurement: a fit of CPM3C on 5,000,000 rows in a file takes 85 MiB for its states in memory, and 8 MiB
with a folder. ``widegap cluster`` relies on it for files larger than memory.
"""

import os
import tempfile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from widegap._atomic import replacing
from widegap._types import Labels
from widegap.exceptions import InvalidDataError

# Rows of a state that are worked on at a time: a few MiB, whatever the number of rows; not tuned.
CHUNK_ROWS = 1 << 20


class NewArray(Protocol):
    """Makes an array that is to be filled."""

    def __call__(self, shape: tuple[int, ...], dtype: np.dtype[Any], /) -> np.ndarray[Any, Any]: ...


class StateFolder:
    """Arrays in nameless files of a folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, shape: tuple[int, ...], dtype: np.dtype[Any], /) -> np.ndarray[Any, Any]:
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if not n_bytes:
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            _reserve(file.fileno(), n_bytes)
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))


def _reserve(handle: int, n_bytes: int) -> None:
    """Give a file its length: a full disk raises an error here, not a bus error when the array is written to."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, n_bytes)
    else:
        os.ftruncate(handle, n_bytes)


def state_arrays(labels_out: str | os.PathLike[str] | None) -> NewArray:
    """Where the states of a fit are stored: in memory, or beside the file of its labels."""
    if labels_out is None:
        return np.empty
    path = Path(labels_out)
    if path.suffix != ".npy":
        raise InvalidDataError(f"labels_out={str(path)!r} must end in .npy; rename it.")
    if not path.parent.is_dir():
        raise InvalidDataError(f"labels_out={str(path)!r}: the folder {str(path.parent)!r} does not exist; create it.")
    return StateFolder(path.parent)


def write_labels(labels: Labels, path: str | os.PathLike[str]) -> Labels:
    """Write the labels to an .npy file, which appears whole, and return a read-only memmap of it.

    A memmap of a former file at this path keeps the former labels.
    """
    with replacing(path) as temporary, temporary.open("wb") as file:  # a memmap ends the program on a full disk
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(labels))
        for start in range(0, len(labels), CHUNK_ROWS):
            file.write(labels[start : start + CHUNK_ROWS].tobytes())
    return np.lib.format.open_memmap(path, "r")
