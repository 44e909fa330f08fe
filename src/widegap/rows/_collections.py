"""Dask collections at the door: what is accepted, and the rows that they become.

Nothing here imports Dask unless a collection of it was given.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.rows._state_files import CHUNK_ROWS

_EXTRA = "Rows of Dask need the packages dask and distributed: pip install 'widegap[dask]'."


def is_collection(X: Any) -> bool:
    """Whether X is an array or a data frame of Dask."""
    return "dask" in sys.modules and sys.modules["dask"].is_dask_collection(X)


def collection_rows(X: Any, n_threads: int) -> tuple[Any, Any, str | None]:
    """The rows of a collection, the names of its columns or None, and what to warn of.

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
    "X is not persisted, so that each pass of the fit computes its chunks again; if they fit into the memory of the "
    "cluster, call X = X.persist() first."
)


def map_collection(X: Any, function: Callable[[Any], Any]) -> Any:
    """``function`` of every chunk, one entry a row, as a lazy array."""
    X, _ = _as_array(X)
    sample = function(np.zeros((1, X.shape[1]), _float_dtype(X)))
    chunks = {"drop_axis": [1]} if sample.ndim == 1 else {"chunks": (X.chunks[0], (sample.shape[1],))}
    part = partial(_of_chunk, function=function, width=sample.shape[1:], dtype=sample.dtype)
    return X.map_blocks(part, dtype=sample.dtype, meta=sample[:0], **chunks)


def look_up(table: np.ndarray[Any, Any], places: Any) -> Any:
    """``table[places]``, lazy where the places are a collection."""
    if not is_collection(places):
        return table[places]
    import dask

    # Delayed: one entry of the graph, not one a chunk.
    return places.map_blocks(_entries, table=dask.delayed(table), dtype=table.dtype, meta=table[:0])


def in_chunks_of(values: np.ndarray[Any, Any], like: Any) -> Any:
    """Values of this process, lazy in the chunks of ``like`` where that is a collection."""
    if not is_collection(like):
        return values
    import dask.array as da

    return da.from_array(values, chunks=like.chunks)


def chunk_states(like: Any) -> Any:
    """What passes over states need, for the chunks of a collection."""
    from widegap.rows import _dask

    return _dask.ChunkStates(like)


def count_labels(labels: Any, k: int) -> np.ndarray[Any, Any]:
    """How often each of k labels occurs, whether they are lazy or not; a few at a time, as counting takes copies."""
    if is_collection(labels):
        return np.asarray(np.bincount(labels, minlength=k))
    starts = range(0, len(labels), CHUNK_ROWS)
    return sum((np.bincount(labels[i : i + CHUNK_ROWS], minlength=k) for i in starts), np.zeros(k, np.int64))


def _entries(places: Any, *, table: Any) -> Any:
    return table[places]


def _of_chunk(chunk: Any, *, function: Callable[[Any], Any], width: tuple[int, ...], dtype: Any) -> Any:
    return function(chunk) if chunk.shape[0] else np.empty((0, *width), dtype)


def _as_array(X: Any) -> tuple[Any, Any]:
    """A Dask array of two dimensions cut along the first only, and names of columns."""
    names = None
    if hasattr(X, "to_dask_array"):
        names = np.array(list(X.columns), dtype=object) if all(isinstance(name, str) for name in X.columns) else None
        wrong = [name for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "O") not in "biuf"]
        if wrong:
            raise InvalidDataError(
                f"Column {wrong[0]!r} of X has dtype {X.dtypes[wrong[0]]}; only numbers can be clustered: encode or "
                "drop it."
            )
        X = X.to_dask_array()
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


def _float_dtype(X: Any) -> Any:
    return X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
