"""States of rows in files, for fits of so many rows that even a few bytes a row are too much for memory.

``RowBlocks`` makes the array of a new state by a function of a shape and a dtype: ``np.empty``, or that of a folder.
Files of a folder have no name, vanish with the last array that looks into them, and are written by the operating system
when it likes, so that they cost no memory that others need. Labels go to a file with a name when the fit is done.
"""

import os
import tempfile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from widegap._atomic import replacing
from widegap.exceptions import InvalidDataError

CHUNK_ROWS = 1 << 20  # rows of a state that are worked on at a time


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
    """Give a file its length; where the disk is full this fails here, and not when the array is written to."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, n_bytes)
    else:
        os.ftruncate(handle, n_bytes)


def state_arrays(labels_out: str | os.PathLike[str] | None) -> NewArray:
    """Where the states of a fit live: in memory, or beside the file that its labels go to."""
    if labels_out is None:
        return np.empty
    path = Path(labels_out)
    if path.suffix != ".npy":
        raise InvalidDataError(f"labels_out={str(path)!r} is to hold an array; give it a name that ends in .npy.")
    if not path.parent.is_dir():
        raise InvalidDataError(f"labels_out={str(path)!r}: there is no folder {str(path.parent)!r}; make it first.")
    return StateFolder(path.parent)


def write_labels(labels: np.ndarray[Any, Any], path: str | os.PathLike[str]) -> np.ndarray[Any, Any]:
    """The labels as an .npy file, which appears whole; returned is a view of it that cannot be written to.

    A view of a file that was there before goes on to show the former labels.
    """
    with replacing(path) as temporary:
        out = np.lib.format.open_memmap(temporary, "w+", labels.dtype, labels.shape)
        for start in range(0, len(labels), CHUNK_ROWS):
            out[start : start + CHUNK_ROWS] = labels[start : start + CHUNK_ROWS]
        out.flush()
        del out
    return np.lib.format.open_memmap(path, "r")
