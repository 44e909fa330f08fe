"""The border between methods and rows: passes with state.

What a method knows about every row, such as labels and the codes of cuts, is *state* of the blocks: a pass maps a block
and its part of the state to a part of the new state and a small sum. Methods above that border hold states without
looking inside. There are two implementations. In ``RowBlocks`` (``_blocks.py``) a state is an array with one entry per
row, and its parts are slices of it; in ``DaskRows`` (``_dask.py``) it stays with the workers that hold the rows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from widegap._types import Array, FloatType, Indices, Labels, Matrix
from widegap.rows._state_files import NewArray

# One entry per row, wherever the rows are: only the rows that made a state look inside.
State = object


class Source(Protocol):
    """Rows in one place: an array in memory, a memmap, a file. ``spans`` are the pieces that are best read at once.

    What is read may be a table, or an iterator over tables of which one is held at a time.
    """

    shape: tuple[int, int]
    dtype: FloatType
    in_memory: bool

    def spans(self) -> list[tuple[int, int]]: ...

    def read(self, start: int, stop: int) -> Matrix | Iterator[Matrix]: ...


class Sum(Protocol):
    """Anything that can be added up over blocks."""

    def __add__(self, other: Any, /) -> Any: ...


Total = TypeVar("Total", bound=Sum)
Parts = tuple[Array, ...]


class Rows(Protocol):
    """All rows, and passes over them with state. A function that is passed in must not hold on to rows itself."""

    shape: tuple[int, int]
    dtype: FloatType
    n_threads: int
    in_process: bool  # whether states are arrays of this process

    def sweep(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        """New states and a sum, of ``function(block, *parts)``: one read of the data."""

    def reduce(
        self, function: Callable[..., Total], *state: State, where: Callable[..., bool] | None = None
    ) -> Total | None:
        """Sum of ``function(block, *parts)``: one read of the blocks with ``where(*parts)``; None if there are none."""

    def fold(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        """New states and a sum, of ``function(*parts)``: the data are not read."""

    def take(self, rows: Indices) -> Matrix:
        """Some rows, numbered in ascending order, in memory, as one array or CSR array."""

    def place(self, values: Array) -> State:
        """An array with one entry per row as a state."""

    def mark(self, rows: Indices) -> State:
        """For every row its place in ``rows`` (ascending numbers of rows), or -1 if it is not among them."""

    def numbers(self) -> State:
        """For every row its number among all rows."""

    def collect(self, state: State) -> np.ndarray[Any, Any]:
        """A state as an array of this process."""

    def publish(self, state: State) -> Any:
        """A state in the form that users get: an array, or a lazy array of Dask."""


def constant_state(rows: Rows, value: np.generic) -> Any:
    """The value for every row, in the form that users get."""
    unmarked = rows.mark(np.zeros(0, np.intp))
    (state,), _ = rows.fold(lambda marks: ((np.full(len(marks), value),), 0), unmarked)
    return rows.publish(state)


def pieces(read: Matrix | Iterator[Matrix]) -> Iterator[Matrix]:
    """The tables that a source gave, one after the other."""
    return read if isinstance(read, Iterator) else iter((read,))


def add_up(parts: Iterator[Total]) -> Total | None:
    """Their sum, from the first to the last; None of nothing."""
    total = next(parts, None)
    for part in parts:
        total = total + part  # type: ignore[operator]
    return total


def add_in_place(parts: Iterator[Total]) -> Total | None:
    """The same, into the first of them, which nothing else may use: planes of text are as large as the rows."""
    total = next(parts, None)
    for part in parts:
        total += part  # type: ignore[operator]
    return total


def marked(n_rows: int, places: Indices, numbers: Indices, new_array: NewArray = np.empty) -> Labels:
    """Numbers at some places of n, and -1 elsewhere."""
    marks: Labels = new_array((n_rows,), np.dtype(np.int32))
    marks[:] = -1
    marks[places] = numbers
    return marks


def end_to_end(parts: Sequence[Matrix]) -> Matrix:
    """Tables of rows as one."""
    if len(parts) == 1:
        return parts[0]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts):
        return np.concatenate(arrays)
    return sp.vstack([sp.csr_array(part) for part in parts], format="csr")


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
