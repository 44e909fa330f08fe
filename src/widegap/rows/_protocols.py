"""The border between methods and rows: passes with state.

What a method knows of every row, such as labels and the codes of cuts, is *state* of the blocks: a pass maps a block
and its part of the state to a part of the new state and a small sum. Who stands above that border holds states without
looking inside. There are two implementations. In ``RowBlocks`` (``_blocks.py``) a state is an array with one entry a
row, and its parts are views; in ``DaskRows`` (``_dask.py``) it stays with the workers that hold the rows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from widegap.rows._state_files import NewArray

State = Any  # one entry a row, wherever the rows are


class Source(Protocol):
    """Rows in one place: an array in memory, a memmap, a file. ``spans`` is how it likes to be read.

    What is read may be a table, or an iterator over tables of which one is held at a time.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    in_memory: bool

    def spans(self) -> list[tuple[int, int]]: ...

    def read(self, start: int, stop: int) -> Any: ...


class Sum(Protocol):
    """Anything that can be added up over blocks."""

    def __add__(self, other: Any, /) -> Any: ...


Total = TypeVar("Total", bound=Sum)
Parts = tuple[np.ndarray[Any, Any], ...]


class Rows(Protocol):
    """All rows, and passes over them with state. Whatever is passed as a function must not hold on to rows itself."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    n_threads: int
    in_process: bool  # whether states are arrays of this process

    def sweep(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        """New states and a sum, of ``function(block, *parts)``: one read of the data."""

    def reduce(
        self, function: Callable[..., Total], *state: State, where: Callable[..., bool] | None = None
    ) -> Total | None:
        """Sum of ``function(block, *parts)``: one read, but only of blocks with ``where(*parts)``; None if none has."""

    def fold(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        """New states and a sum, of ``function(*parts)``: the data are not read."""

    def take(self, rows: np.ndarray[Any, Any]) -> Any:
        """The given rows (ascending) in memory, as one array or CSR array."""

    def place(self, values: np.ndarray[Any, Any]) -> State:
        """An array with one entry a row as a state."""

    def mark(self, rows: np.ndarray[Any, Any]) -> State:
        """For every row its number among the given ones (ascending), and -1 for the others."""

    def numbers(self) -> State:
        """For every row its number among all rows."""

    def collect(self, state: State) -> np.ndarray[Any, Any]:
        """A state as an array of this process."""

    def publish(self, state: State) -> Any:
        """A state in the form in which users get it."""


def constant(rows: Rows, value: np.generic) -> Any:
    """The value for every row, in the form in which users get states."""
    nobody = rows.mark(np.zeros(0, np.intp))
    (state,), _ = rows.fold(lambda marks: ((np.full(len(marks), value),), 0), nobody)
    return rows.publish(state)


def pieces(read: Any) -> Iterator[Any]:
    """The tables that a source gave, one after the other."""
    return read if isinstance(read, Iterator) else iter((read,))


def add_up(parts: Iterator[Total]) -> Total | None:
    """Their sum, from the first to the last; None of nothing."""
    total = next(parts, None)
    for part in parts:
        total = total + part  # type: ignore[operator]
    return total


def add_in_place(parts: Iterator[Total]) -> Total | None:
    """The same, into the first of them, which must be nobody else's: planes of text are as large as the rows."""
    total = next(parts, None)
    for part in parts:
        total += part  # type: ignore[operator]
    return total


def marked(n_rows: int, places: Any, numbers: Any, new_array: NewArray = np.empty) -> np.ndarray[Any, Any]:
    """Numbers at some places of n, and -1 elsewhere."""
    marks = new_array((n_rows,), np.dtype(np.int32))
    marks[:] = -1
    marks[places] = numbers
    return marks


def end_to_end(parts: Sequence[Any]) -> Any:
    """Tables of rows as one."""
    if len(parts) == 1:
        return parts[0]
    if any(map(sp.issparse, parts)):
        return sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts)


class Filling:
    """Arrays of all rows that are filled as their parts come, so that nothing is held twice."""

    def __init__(self, n_rows: int, first: Parts, new_array: NewArray = np.empty):
        self.arrays = tuple(new_array((n_rows, *part.shape[1:]), part.dtype) for part in first)
        self._done = 0

    def add(self, parts: Parts) -> None:
        """Take in the next rows."""
        arrays = []
        for array, part in zip(self.arrays, parts, strict=True):
            if not np.can_cast(part.dtype, array.dtype):  # sources of several dtypes
                array = array.astype(np.promote_types(part.dtype, array.dtype))
            array[self._done : self._done + len(part)] = part
            arrays.append(array)
        self.arrays = tuple(arrays)
        self._done += len(parts[0]) if parts else 0
