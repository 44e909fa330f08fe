"""Dask collections: which ones are accepted, and how they become rows.

Nothing here imports Dask unless X is one of its collections.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast

import numpy as np

from widegap._types import Array, FloatType, Indices, Ints, Matrix
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.rows._protocols import Rows
from widegap.rows._state_files import CHUNK_ROWS

if TYPE_CHECKING:
    from widegap.rows._dask import ChunkStates

_EXTRA = "Rows of Dask need the packages dask and distributed: pip install 'widegap[dask]'."


class DaskCollection(Protocol):
    """What is used of a Dask array or data frame."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def to_delayed(self) -> Sequence[Any]: ...

    def __dask_keys__(self) -> Sequence[Any]: ...


class DaskArray(DaskCollection, Protocol):
    """What is used of a Dask array."""

    @property
    def ndim(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[np.generic]: ...

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]: ...

    def map_blocks(self, function: Callable[..., object], **options: object) -> "DaskArray": ...


class _DaskFrame(DaskCollection, Protocol):
    """What is used of a Dask data frame."""

    @property
    def columns(self) -> Sequence[object]: ...

    @property
    def dtypes(self) -> Mapping[object, object]: ...

    def to_dask_array(self) -> DaskArray: ...


def is_collection(X: object) -> TypeGuard[DaskArray]:
    """Whether X is an array or a data frame of Dask."""
    return "dask" in sys.modules and sys.modules["dask"].is_dask_collection(X)


def collection_rows(X: DaskCollection, n_threads: int) -> tuple[Rows, Array | None, str | None]:
    """The rows of a collection, the names of its columns or None, and a warning or None.

    With a client of ``distributed`` they stay on its cluster; without one they are read chunk by chunk in this process.
    """
    try:
        from distributed import get_client

        from widegap.rows import _dask
    except ImportError as error:
        raise NotSupportedError(_EXTRA) from error
    array, names = _as_array(X)
    form = array.shape[1], _float_dtype(array)
    try:
        client = get_client()
    except ValueError:
        return _dask.chunk_blocks(X, *form, n_threads), names, None
    warning = _AGAIN if _dask.held_chunks(X) is None else None
    return _dask.dask_rows(X, client, *form), names, warning


_AGAIN = (
    "X is not persisted, so each pass of the fit computes its chunks again; if they fit into the memory of the "
    "cluster, call X = X.persist() first."
)


def map_collection(X: DaskCollection, function: Callable[[Matrix], Array]) -> DaskArray:
    """``function`` of every chunk, one entry per row, as a lazy array."""
    array, _ = _as_array(X)
    sample = function(np.zeros((1, array.shape[1]), _float_dtype(array)))
    part = partial(_of_chunk, function=function, width=sample.shape[1:], dtype=sample.dtype)
    if sample.ndim == 1:
        return array.map_blocks(part, dtype=sample.dtype, meta=sample[:0], drop_axis=[1])
    chunks = array.chunks[0], (sample.shape[1],)
    return array.map_blocks(part, dtype=sample.dtype, meta=sample[:0], chunks=chunks)


def look_up(table: Array, places: Any) -> Any:
    """``table[places]``, lazy where the places are a collection."""
    if not is_collection(places):
        return table[places]
    # The table goes with each task, as weights do in a pass. As a task of its own it would draw tasks to the worker
    # that holds it, and the places of whole chunks would travel there.
    return places.map_blocks(partial(_entries, table=table), dtype=table.dtype, meta=table[:0])


def entries_at(values: Any, rows: Indices) -> np.ndarray[Any, Any]:
    """``values[rows]`` in this process, for rows in ascending order; lazy values are computed."""
    if not is_collection(values):
        return np.asarray(values[rows])
    states = chunk_states(values)
    return states.take(states.state(values), rows)


def in_chunks_of(values: Array, like: object) -> Any:
    """Values of this process, lazy in the chunks of ``like`` where that is a collection."""
    if not is_collection(like):
        return values
    import dask.array as da

    return da.from_array(values, chunks=like.chunks)


def chunk_states(like: DaskArray) -> "ChunkStates":
    """What passes over states need, for the chunks of a collection."""
    from widegap.rows import _dask

    return _dask.ChunkStates(like)


def count_labels(labels: Any, k: int) -> Ints:
    """How often each of k labels occurs, lazy or not; a part at a time, because counting makes copies."""
    if is_collection(labels):
        import dask.array as da

        return np.asarray(da.bincount(labels, minlength=k))
    starts = range(0, len(labels), CHUNK_ROWS)
    return sum((np.bincount(labels[i : i + CHUNK_ROWS], minlength=k) for i in starts), np.zeros(k, np.int64))


def _entries(places: Indices, *, table: Array) -> Array:
    return table[places]


def _of_chunk(
    chunk: Matrix, *, function: Callable[[Matrix], Array], width: tuple[int, ...], dtype: np.dtype[np.generic]
) -> Array:
    return function(chunk) if chunk.shape[0] else np.empty((0, *width), dtype)


def _is_frame(X: DaskCollection) -> TypeGuard[_DaskFrame]:
    return hasattr(X, "to_dask_array")


def _array_of_frame(frame: _DaskFrame) -> tuple[DaskArray, Array | None]:
    """The array of a frame of numbers, and the names of its columns if all are strings."""
    named = all(isinstance(name, str) for name in frame.columns)
    wrong = [name for name, dtype in frame.dtypes.items() if getattr(dtype, "kind", "O") not in "biuf"]
    if wrong:
        raise InvalidDataError(
            f"Column {wrong[0]!r} of X has dtype {frame.dtypes[wrong[0]]}; only numbers can be clustered: encode or "
            "drop it."
        )
    return frame.to_dask_array(), np.array(list(frame.columns), dtype=object) if named else None


def _as_array(collection: DaskCollection) -> tuple[DaskArray, Array | None]:
    """A Dask array of two dimensions cut along the first only, and names of columns."""
    X, names = _array_of_frame(collection) if _is_frame(collection) else (cast(DaskArray, collection), None)
    if X.ndim != 2:
        raise InvalidDataError(f"X has {X.ndim} dimensions; rows must form a table of 2: reshape it.")
    if X.dtype.kind not in "biuf":
        raise InvalidDataError(f"X has dtype {X.dtype}; only numbers can be clustered: encode it first.")
    if len(X.chunks[1]) > 1:
        raise InvalidDataError(
            f"X is cut into {len(X.chunks[1])} chunks along its columns; a chunk must hold whole rows: use "
            f"X.rechunk({{1: {X.shape[1]}}})."
        )
    return X, names


def _float_dtype(X: DaskArray) -> FloatType:
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
