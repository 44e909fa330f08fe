"""Rows on a Dask cluster: the passes of ``_blocks.py`` run where the rows are, and only small sums come back.

The chunks that one thread of a worker holds make a *shard*, a ``RowBlocks`` in the memory of that worker. A pass is one
task a shard; its new states stay there as a future, and a second task hands on the sum alone. So what travels in a pass
is, for each shard, the weights on the way out and the sums on the way back, whatever the number of rows is. A future
depends on its shard and on the states that went into it, never on the passes before: graphs do not grow with the loop,
and a worker that is lost takes nothing with it that Dask could not make again.

Chunks that are not persisted are no shards: their graph is part of each pass, and every pass reads them again.

This module is imported only where a Dask collection was given.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from dask.base import flatten
from distributed import CancelledError, Client, Future, futures_of

from widegap.exceptions import ClusterLostError
from widegap.rows._blocks import RowBlocks
from widegap.rows._protocols import Parts, State, Total, add_up, end_to_end, marked
from widegap.rows._sources import row_blocks

Result = tuple[Parts, Any]  # new states, and the sum


@dataclass(frozen=True)
class DaskState:
    """One entry a row, with the shards: the ``index``-th state of the results of some pass."""

    results: Sequence[Future]
    index: int
    dtype: Any


@dataclass(frozen=True)
class Shard:
    """Some chunks, ``numbers`` in the whole, and their rows as blocks: a future, or a graph that makes them anew."""

    numbers: Sequence[int]
    blocks: Any


class DaskRows:
    """Rows of a Dask collection, ``chunks`` of which have the given ``lengths``."""

    n_threads = 1  # Dask has its own
    in_process = False

    def __init__(self, client: Client, shards: Sequence[Shard], lengths: Any, width: int, dtype: Any):
        self._client, self._shards = client, shards
        self._lengths = np.array(lengths, np.int64)
        self.shape, self.dtype = (int(self._lengths.sum()), width), np.dtype(dtype)

    def sweep(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        return self._run(_sweep, function, state)

    def reduce(
        self, function: Callable[..., Total], *state: State, where: Callable[..., bool] | None = None
    ) -> Total | None:
        found: Any = self._run(_reduce, (function, where), state)[1]
        return found

    def fold(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        return self._run(_fold, function, state, reads=False)

    def map(self, function: Callable[[Any], Any]) -> Any:
        """``function(block)``, one entry a row, on the client."""
        return self.collect(self.sweep(lambda block: ((function(block),), 0))[0][0])

    def take(self, rows: np.ndarray[Any, Any]) -> Any:
        """The given rows (ascending), drawn by the workers."""
        found = [(shard, *self._find(shard, rows)) for shard in self._shards]
        parts = [self._submit(_take, (places,), shard) for shard, _, places in found if len(places)]
        order = np.concatenate([numbers for _, numbers, _ in found])
        return end_to_end(self._wait(parts))[np.argsort(order)]

    def _find(self, shard: Shard, rows: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """Which of the given rows a shard has, and their places there."""
        first = np.cumsum(self._lengths) - self._lengths
        chunks = np.searchsorted(first + self._lengths, rows, side="right")
        mine = np.flatnonzero(np.isin(chunks, shard.numbers))
        within, lengths = np.zeros_like(first), self._lengths[shard.numbers]
        within[shard.numbers] = np.cumsum(lengths) - lengths
        return mine, rows[mine] + (within - first)[chunks[mine]]

    def place(self, values: np.ndarray[Any, Any]) -> State:
        """An array of the client, sent as part of a task, which can be run again where a worker is lost."""
        pieces = np.split(values, np.cumsum(self._lengths)[:-1])
        parts = [np.concatenate([pieces[c] for c in shard.numbers]) for shard in self._shards]
        return DaskState([self._submit(_placed, (_narrow(part), part.dtype)) for part in parts], 0, values.dtype)

    def mark(self, rows: np.ndarray[Any, Any]) -> State:
        results = []
        for shard in self._shards:
            numbers, places = self._find(shard, rows)
            given = int(self._lengths[shard.numbers].sum()), places, numbers
            results.append(self._submit_beside(shard, _mark, given))
        return DaskState(results, 0, np.dtype(np.int32))

    def numbers(self) -> State:
        ends = np.cumsum(self._lengths)
        spans = np.stack([ends - self._lengths, ends], axis=1)
        results = [self._submit_beside(shard, _numbers, spans[shard.numbers]) for shard in self._shards]
        return DaskState(results, 0, np.dtype(np.int64))

    def collect(self, state: State) -> np.ndarray[Any, Any]:
        whole = self._wait([self._client.submit(_piece, result, state.index, pure=False) for result in state.results])
        pieces: dict[int, Any] = {}
        for shard, values in zip(self._shards, whole, strict=True):
            ends = np.cumsum(self._lengths[shard.numbers])[:-1]
            pieces |= dict(zip(shard.numbers, np.split(values, ends), strict=True))
        return np.concatenate([pieces[number] for number in sorted(pieces)])

    def publish(self, state: State) -> Any:
        """A lazy array whose chunks are those of the collection."""
        import dask.array as da

        pieces: dict[int, Any] = {}
        for shard, result in zip(self._shards, state.results, strict=True):
            start = 0
            for number in shard.numbers:
                length = int(self._lengths[number])
                piece = dask.delayed(_piece, pure=True)(result, state.index, start, start + length)
                pieces[number] = da.from_delayed(piece, (length,), state.dtype)
                start += length
        empty = da.zeros(0, dtype=state.dtype)
        return da.concatenate([pieces.get(number, empty) for number in range(len(self._lengths))])

    def features(self, transform: Callable[[Any], Any]) -> "DaskRows":
        """The rows after a feature map, held by the workers as the rows are."""
        shards = [Shard(shard.numbers, self._submit(_features, transform, shard)) for shard in self._shards]
        width, dtype = self._wait([self._client.submit(_form, shards[0].blocks)])[0]
        return DaskRows(self._client, shards, self._lengths, width, dtype)

    def _run(
        self, task: Callable[..., Result], function: Any, state: Sequence[DaskState], *, reads: bool = True
    ) -> tuple[tuple[DaskState, ...], Any]:
        """One task a shard; the states stay where they are, the sums come here."""
        indices = [values.index for values in state]
        results = [
            self._submit(task, (function, indices), *([shard] if reads else []), *(s.results[i] for s in state))
            for i, shard in enumerate(self._shards)
        ]
        sums = self._wait([self._client.submit(_sum_and_dtypes, result, pure=False) for result in results])
        dtypes = [np.result_type(*kinds) for kinds in zip(*(kinds for _, kinds in sums), strict=True)]
        new = tuple(DaskState(results, index, dtype) for index, dtype in enumerate(dtypes))
        return new, add_up(part for part, _ in sums if part is not None)

    def _submit_beside(self, shard: Shard, task: Callable[..., Result], given: Any) -> Future:
        """A task where a shard is, which it does not look at; a graph would be computed."""
        return self._submit(task, given, *([] if dask.is_dask_collection(shard.blocks) else [shard]))

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Future:
        plain = [argument.blocks if isinstance(argument, Shard) else argument for argument in arguments]
        try:
            if any(dask.is_dask_collection(argument) for argument in plain):
                return self._client.compute(dask.delayed(task, pure=False)(*plain))
            return self._client.submit(task, *plain, pure=False)
        except Exception as error:
            raise _lost(error, self._client) from error

    def _wait(self, futures: list[Future]) -> list[Any]:
        try:
            return self._client.gather(futures)
        except Exception as error:
            raise _lost(error, self._client) from error


class ChunkStates:
    """What is held of every row of a collection of known chunks, without the rows: states are lists of delayed chunks.

    Enough of ``Rows`` for the label steps under bounds (``constraints/_label_rules.py``).
    """

    in_process = False

    def __init__(self, like: Any):
        self._lengths = like.chunks[0]
        self._filled = [number for number, length in enumerate(self._lengths) if length]
        self.shape = (int(sum(self._lengths)), 1)

    def state(self, values: Any) -> State:
        """A collection with these chunks as a state."""
        chunks = np.ravel(values.to_delayed())
        return [chunks[number] for number in self._filled]

    def place(self, values: np.ndarray[Any, Any]) -> State:
        pieces = np.split(values, np.cumsum(self._lengths)[:-1])
        return [dask.delayed(pieces[number]) for number in self._filled]

    def fold(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        made = dask.delayed(function, pure=False)
        results = dask.persist(*(made(*parts) for parts in zip(*state, strict=True)))
        found = dask.compute(*(dask.delayed(_sum_and_dtypes)(result) for result in results))
        states = tuple([result[0][i] for result in results] for i in range(len(found[0][1])))
        total: Any = add_up(part for part, _ in found)
        return states, total

    def collect(self, state: State) -> np.ndarray[Any, Any]:
        return np.concatenate(dask.compute(*state))

    def publish(self, state: State, dtype: Any) -> Any:
        """A lazy array with the chunks of the collection."""
        import dask.array as da

        pieces = {
            number: da.from_delayed(piece, (self._lengths[number],), dtype)
            for number, piece in zip(self._filled, state, strict=True)
        }
        empty = da.zeros(0, dtype=dtype)
        return da.concatenate([pieces.get(number, empty) for number in range(len(self._lengths))])


def _lost(error: Exception, client: Client) -> Exception:
    """What to tell of a pass that failed: errors of the rows as they are, of the cluster in words of our own."""
    if client.status != "running" or isinstance(error, CancelledError):
        return ClusterLostError(
            f"The Dask client is {client.status}, so the passes of this fit cannot go on; keep the client open until "
            "fit returns, and for as long as labels_ is to be computed."
        )
    return error


def _sweep(how: Any, blocks: RowBlocks, *results: Result) -> Result:
    function, indices = how
    return blocks.sweep(function, *_parts(results, indices))


def _reduce(how: Any, blocks: RowBlocks, *results: Result) -> Result:
    (function, where), indices = how
    return (), blocks.reduce(function, *_parts(results, indices), where=where)


def _fold(how: Any, *results: Result) -> Result:
    function, indices = how
    return function(*_parts(results, indices))


def _parts(results: Sequence[Result], indices: Sequence[int]) -> list[Any]:
    return [result[0][index] for result, index in zip(results, indices, strict=True)]


def _take(places: tuple[Any], blocks: RowBlocks) -> Any:
    return blocks.take(*places)


def _mark(given: tuple[Any, ...], *_near: RowBlocks) -> Result:
    return (marked(*given),), None


def _numbers(spans: Any, *_near: RowBlocks) -> Result:
    return (np.concatenate([np.arange(start, stop) for start, stop in spans]),), None


def _narrow(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Labels in as few bytes as they need."""
    if values.dtype.kind != "i":
        return values
    return values.astype(np.result_type(*map(np.min_scalar_type, (values.min(), values.max()))))


def _placed(given: tuple[np.ndarray[Any, Any], Any]) -> Result:
    values, dtype = given
    return (values.astype(dtype, copy=False),), None


def _sum_and_dtypes(result: Result) -> tuple[Any, list[str]]:
    """What of a result goes to the client: the sum, and what the states are."""
    return result[1], [state.dtype.str for state in result[0]]


def _piece(result: Result, index: int, start: int = 0, stop: int | None = None) -> Any:
    return result[0][index][start:stop]


def _features(transform: Callable[[Any], Any], blocks: RowBlocks) -> RowBlocks:
    return row_blocks(blocks.map(lambda block: transform(block.take(slice(None)))))


def _form(blocks: RowBlocks) -> tuple[int, str]:
    return blocks.shape[1], blocks.dtype.str


def _load(chunks: Iterable[Any], width: int) -> RowBlocks:
    """Chunks as the blocks of one shard; floats stay as they are, other numbers become float64."""
    tables = [table for table in map(_table, chunks) if table.shape[0]]
    return RowBlocks([row_blocks(table).sources[0] for table in tables or [np.empty((0, width))]])


def _table(chunk: Any) -> Any:
    sparse: Any = chunk if sp.issparse(chunk) else None
    table: Any = np.asarray(chunk) if sparse is None else sp.csr_array(sparse)
    return table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)


def _length(chunk: Any) -> int:
    return int(chunk.shape[0])


class ChunkSource:
    """One chunk of a collection, computed in this process whenever it is read."""

    in_memory = False

    def __init__(self, chunk: Any, n_rows: int, width: int, dtype: Any):
        self._chunk, self.shape, self.dtype = chunk, (n_rows, width), np.dtype(dtype)

    def spans(self) -> list[tuple[int, int]]:
        return [(0, self.shape[0])] if self.shape[0] else []

    def read(self, start: int, stop: int) -> Any:
        return _table(self._chunk.compute(scheduler="threads"))[start:stop]


def chunk_blocks(X: Any, width: int, dtype: Any, n_threads: int) -> RowBlocks:
    """The rows of a collection, read in this process; states get its chunks."""
    import dask.array as da

    chunks = list(np.ravel(X.to_delayed()))
    lengths = dask.compute([dask.delayed(_length)(chunk) for chunk in chunks], scheduler="threads")[0]
    sources = [ChunkSource(*found, width, dtype) for found in zip(chunks, lengths, strict=True)]
    return RowBlocks(sources, n_threads, lambda state: da.from_array(state, chunks=(tuple(lengths),)))


def held_chunks(X: Any) -> list[Future] | None:
    """The chunks of a collection in their order if a cluster holds all of them, else None."""
    futures = futures_of(X)
    if hasattr(X, "npartitions") and type(getattr(X, "expr", None)).__name__ == "FromGraph":
        by_number = {future.key[1]: future for future in futures}  # a persisted frame has keys of its own
        found: list[Any] = [by_number.get(number) for number in range(X.npartitions)]
    else:
        by_key = {future.key: future for future in futures}
        found = [by_key.get(key) for key in flatten(X.__dask_keys__())]
    return None if None in found else found


def dask_rows(X: Any, client: Client, width: int, dtype: Any) -> DaskRows:
    """The rows of a collection that is cut along its rows only."""
    chunks = held_chunks(X)
    if chunks is not None:
        lengths = client.gather(client.map(_length, chunks, pure=False))
        groups = _groups(client, chunks)
        shards = [Shard(group, client.submit(_load, [chunks[c] for c in group], width, pure=False)) for group in groups]
    else:
        chunks = list(np.ravel(X.to_delayed()))
        lengths = client.gather(client.compute([dask.delayed(_length)(chunk) for chunk in chunks]))
        shards = [Shard([c], dask.delayed(_load)([chunk], width)) for c, chunk in enumerate(chunks)]
    filled = [shard for shard in shards if sum(lengths[c] for c in shard.numbers)]
    return DaskRows(client, filled, lengths, width, dtype)


def _groups(client: Client, chunks: Sequence[Future]) -> list[list[int]]:
    """Numbers of the chunks that each thread of the cluster will read, those of a worker among its threads."""
    threads, holders = client.nthreads(), client.who_has(chunks)
    by_worker: dict[str, list[int]] = {}
    for number, chunk in enumerate(chunks):
        by_worker.setdefault(min(holders.get(chunk.key) or ["nobody"]), []).append(number)
    groups = []
    for worker in sorted(by_worker):
        parts = np.array_split(by_worker[worker], min(threads.get(worker, 1), len(by_worker[worker])))
        groups += [part.tolist() for part in parts]
    return groups
