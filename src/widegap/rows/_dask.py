"""Rows on a Dask cluster: the passes of ``_blocks.py`` run where the rows are, and only small sums come back.

The chunks that one thread of a worker holds form a *shard*, a ``RowBlocks`` in the memory of that worker. A pass is one
task per shard; its new states stay there as a future, and a second task returns only the sum. So in each pass the
weights travel to each shard and the sums travel back, whatever the number of rows. A future depends on its shard and on
the states that went into it, never on earlier passes: graphs do not grow with the loop, and Dask can make again
whatever a lost worker held.

Chunks that are not persisted do not form shards: their graph is part of each pass, and every pass reads them again.

Imported only where X is a Dask collection.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, cast

import dask
import numpy as np
import scipy.sparse as sp
from dask.base import flatten
from distributed import CancelledError, Client, Future, futures_of

from widegap._types import Array, Floats, FloatType, Indices, Ints, Matrix
from widegap.exceptions import ClusterLostError
from widegap.rows._blocks import Block, RowBlocks
from widegap.rows._collections import DaskArray, DaskCollection
from widegap.rows._protocols import Parts, State, Total, add_up, end_to_end, marked
from widegap.rows._sources import row_blocks

_PassResult = tuple[Parts, Any]  # new states, and the sum
_Pass = tuple[Callable[..., _PassResult], Sequence[int]]  # its function, and which states it gets
_Reduction = tuple[tuple[Callable[..., Any], Callable[..., bool] | None], Sequence[int]]


@dataclass(frozen=True)
class DaskState:
    """One entry per row, stored with the shards: the ``index``-th state of the results of some pass."""

    results: Sequence[Future]
    index: int
    dtype: np.dtype[np.generic]


def _with_shards(state: State) -> DaskState:
    """A state of Dask rows: the futures that it is."""
    assert isinstance(state, DaskState)
    return state


@dataclass(frozen=True)
class Shard:
    """Some chunks, ``numbers`` in the whole, and their rows as blocks: a future, or a graph that computes them."""

    numbers: Sequence[int]
    blocks: object


class DaskRows:
    """Rows of a Dask collection, in chunks of ``lengths`` rows."""

    n_threads = 1  # Dask has its own
    in_process = False

    def __init__(
        self, client: Client, shards: Sequence[Shard], lengths: Sequence[int] | Ints, width: int, dtype: FloatType
    ):
        self._client, self._shards = client, shards
        self._lengths: Ints = np.array(lengths, np.int64)
        self.shape, self.dtype = (int(self._lengths.sum()), width), dtype

    def sweep(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        return self._run(_sweep, function, state)

    def reduce(
        self, function: Callable[..., Total], *state: State, where: Callable[..., bool] | None = None
    ) -> Total | None:
        return cast(Total | None, self._run(_reduce, (function, where), state)[1])

    def fold(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        return self._run(_fold, function, state, reads=False)

    def map(self, function: Callable[[Block], Array]) -> np.ndarray[Any, Any]:
        """``function(block)``, one entry per row, on the client."""
        return self.collect(self.sweep(lambda block: ((function(block),), 0))[0][0])

    def take(self, rows: Indices) -> Matrix:
        """Some rows, numbered in ascending order, collected from the workers."""
        found = [(shard, *self._find(shard, rows)) for shard in self._shards]
        parts = [self._submit(_take, (places,), shard) for shard, _, places in found if len(places)]
        order = np.concatenate([numbers for _, numbers, _ in found])
        return end_to_end(self._wait(parts))[np.argsort(order)]

    def _find(self, shard: Shard, rows: Indices) -> tuple[Indices, Indices]:
        """Which of some rows a shard has, and their places there."""
        first = np.cumsum(self._lengths) - self._lengths
        chunks = np.searchsorted(first + self._lengths, rows, side="right")
        mine = np.flatnonzero(np.isin(chunks, shard.numbers))
        within, lengths = np.zeros_like(first), self._lengths[shard.numbers]
        within[shard.numbers] = np.cumsum(lengths) - lengths
        return mine, rows[mine] + (within - first)[chunks[mine]]

    def place(self, values: Array) -> State:
        """An array of the client, sent as part of a task, which can run again if a worker is lost."""
        pieces = np.split(values, np.cumsum(self._lengths)[:-1])
        parts = [np.concatenate([pieces[c] for c in shard.numbers]) for shard in self._shards]
        return DaskState([self._submit(_placed, (_narrow(part), part.dtype)) for part in parts], 0, values.dtype)

    def mark(self, rows: Indices) -> State:
        results = []
        for shard in self._shards:
            numbers, places = self._find(shard, rows)
            marks = int(self._lengths[shard.numbers].sum()), places, numbers
            results.append(self._submit_beside(shard, _mark, marks))
        return DaskState(results, 0, np.dtype(np.int32))

    def numbers(self) -> State:
        ends = np.cumsum(self._lengths)
        spans = np.stack([ends - self._lengths, ends], axis=1)
        results = [self._submit_beside(shard, _numbers, spans[shard.numbers]) for shard in self._shards]
        return DaskState(results, 0, np.dtype(np.int64))

    def collect(self, state: State) -> np.ndarray[Any, Any]:
        found = _with_shards(state)
        parts = [self._client.submit(_piece, result, found.index, pure=False) for result in found.results]
        whole: list[Array] = self._wait(parts)
        pieces: dict[int, Array] = {}
        for shard, values in zip(self._shards, whole, strict=True):
            ends = np.cumsum(self._lengths[shard.numbers])[:-1]
            pieces |= dict(zip(shard.numbers, np.split(values, ends), strict=True))
        return np.concatenate([pieces[number] for number in sorted(pieces)])

    def publish(self, state: State) -> DaskArray:
        """A lazy array whose chunks are those of the collection."""
        import dask.array as da

        found = _with_shards(state)
        pieces: dict[int, DaskArray] = {}
        for shard, result in zip(self._shards, found.results, strict=True):
            start = 0
            for number in shard.numbers:
                length = int(self._lengths[number])
                piece = dask.delayed(_piece, pure=True)(result, found.index, start, start + length)
                pieces[number] = da.from_delayed(piece, (length,), found.dtype)
                start += length
        return _joined(pieces, self._lengths, found.dtype)

    def features(self, transform: Callable[[Matrix], Floats]) -> "DaskRows":
        """The rows after a feature map, held by the workers as the rows are."""
        shards = [Shard(shard.numbers, self._submit(_features, transform, shard)) for shard in self._shards]
        width, dtype = self._wait([self._client.submit(_form, shards[0].blocks)])[0]
        return DaskRows(self._client, shards, self._lengths, width, np.dtype(dtype))

    def _run(
        self, task: Callable[..., _PassResult], function: object, state: Sequence[State], *, reads: bool = True
    ) -> tuple[tuple[DaskState, ...], Any]:
        """One task per shard; the states stay where they are, the sums come here."""
        states = list(map(_with_shards, state))
        indices = [values.index for values in states]
        columns = [*([self._shards] if reads else []), *(s.results for s in states)]
        results = self._submit_all(partial(task, (function, indices)), columns)
        sums = self._wait(self._client.map(_sum_and_dtypes, results, pure=False))
        dtypes = [np.result_type(*kinds) for kinds in zip(*(kinds for _, kinds in sums), strict=True)]
        new = tuple(DaskState(results, index, dtype) for index, dtype in enumerate(dtypes))
        return new, add_up(part for part, _ in sums if part is not None)

    def _submit_beside(self, shard: Shard, task: Callable[..., _PassResult], argument: object) -> Future:
        """A task on the worker of a shard, which it does not read; a graph is left out, as it would be computed."""
        return self._submit(task, argument, *([] if dask.is_dask_collection(shard.blocks) else [shard]))

    def _submit_all(self, task: Callable[..., object], columns: Sequence[Sequence[Any]]) -> list[Future]:
        """A task for each shard, of the entries of all columns; in one message, unless rows are graphs."""
        plain = [[entry.blocks if isinstance(entry, Shard) else entry for entry in column] for column in columns]
        if any(map(dask.is_dask_collection, chain(*plain))):
            return [self._submit(task, *entries) for entries in zip(*plain, strict=True)]
        try:
            return self._client.map(task, *plain, pure=False)
        except Exception as error:
            raise _lost(error, self._client) from error

    def _submit(self, task: Callable[..., object], *arguments: object) -> Future:
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
    """States of the rows of a collection with known chunks, without the rows: lists of delayed chunks.

    Enough of ``Rows`` for the label steps under bounds (``constraints/_label_rules.py``).
    """

    in_process = False

    def __init__(self, like: DaskArray):
        self._lengths = like.chunks[0]
        self._filled = [number for number, length in enumerate(self._lengths) if length]
        self.shape = (int(sum(self._lengths)), 1)

    def state(self, values: DaskCollection) -> State:
        """A collection with these chunks as a state."""
        chunks = _delayed_chunks(values)
        return [chunks[number] for number in self._filled]

    def place(self, values: Array) -> State:
        pieces = np.split(values, np.cumsum(self._lengths)[:-1])
        return [dask.delayed(pieces[number]) for number in self._filled]

    def fold(self, function: Callable[..., tuple[Parts, Total]], *state: State) -> tuple[tuple[State, ...], Total]:
        made = dask.delayed(function, pure=False)
        results = dask.persist(*(made(*parts) for parts in zip(*map(_in_chunks, state), strict=True)))
        found = dask.compute(*(dask.delayed(_sum_and_dtypes)(result) for result in results))
        states = tuple([result[0][i] for result in results] for i in range(len(found[0][1])))
        return states, cast(Total, add_up(part for part, _ in found))

    def collect(self, state: State) -> np.ndarray[Any, Any]:
        return np.concatenate(dask.compute(*_in_chunks(state)))

    def take(self, state: State, rows: Indices) -> np.ndarray[Any, Any]:
        """The entries of some rows, numbered in ascending order; each chunk gives its own, so none travels whole."""
        lengths = np.array(self._lengths, np.int64)[self._filled]
        ends = np.cumsum(lengths)
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        chunks = zip(_in_chunks(state), parts, ends - lengths, strict=True)
        taken = [dask.delayed(partial(_entries_at, part - start))(chunk) for chunk, part, start in chunks if len(part)]
        return np.concatenate(dask.compute(*taken))

    def publish(self, state: State, dtype: np.dtype[np.generic]) -> DaskArray:
        """A lazy array with the chunks of the collection."""
        import dask.array as da

        pieces = {
            number: da.from_delayed(piece, (self._lengths[number],), dtype)
            for number, piece in zip(self._filled, _in_chunks(state), strict=True)
        }
        return _joined(pieces, self._lengths, dtype)


def _in_chunks(state: State) -> list[object]:
    """A state without rows: the delayed chunks that it is."""
    assert isinstance(state, list)
    return state


def _delayed_chunks(X: DaskCollection) -> list[Any]:
    """The chunks of a collection in their order, each delayed."""
    return list(np.ravel(np.asarray(X.to_delayed(), dtype=object)))


def _joined(pieces: dict[int, DaskArray], lengths: Sequence[int] | Ints, dtype: np.dtype[np.generic]) -> DaskArray:
    """Pieces by their numbers as one lazy array, in chunks of these lengths; those without a piece are empty."""
    import dask.array as da

    whole = da.concatenate([da.zeros(0, dtype=dtype), *(pieces[number] for number in sorted(pieces))])
    joined: DaskArray = whole.rechunk((tuple(np.asarray(lengths).tolist()),))  # concatenate leaves empty chunks out
    return joined


def _lost(error: Exception, client: Client) -> Exception:
    """The error to raise for a failed pass: that of the rows, or our own where the cluster is lost."""
    if client.status != "running" or isinstance(error, CancelledError):
        return ClusterLostError(
            f"The Dask client is {client.status}, so the passes of this fit cannot go on; keep the client open until "
            "fit returns, and until you have computed labels_."
        )
    return error


def _sweep(how: _Pass, blocks: RowBlocks, *results: _PassResult) -> _PassResult:
    function, indices = how
    return cast(_PassResult, blocks.sweep(function, *_parts(results, indices)))


def _reduce(how: _Reduction, blocks: RowBlocks, *results: _PassResult) -> _PassResult:
    (function, where), indices = how
    return (), blocks.reduce(function, *_parts(results, indices), where=where)


def _fold(how: _Pass, *results: _PassResult) -> _PassResult:
    function, indices = how
    return function(*_parts(results, indices))


def _parts(results: Sequence[_PassResult], indices: Sequence[int]) -> list[Array]:
    return [result[0][index] for result, index in zip(results, indices, strict=True)]


def _take(places: tuple[Indices], blocks: RowBlocks) -> Matrix:
    return blocks.take(*places)


def _mark(marks: tuple[int, Indices, Indices], *_shard: RowBlocks) -> _PassResult:
    return (marked(*marks),), None


def _numbers(spans: Ints, *_shard: RowBlocks) -> _PassResult:
    return (np.concatenate([np.arange(start, stop) for start, stop in spans]),), None


def _narrow(values: Array) -> Array:
    """Labels in as few bytes as they need."""
    if values.dtype.kind != "i":
        return values
    return values.astype(np.result_type(*map(np.min_scalar_type, (values.min(), values.max()))))


def _placed(sent: tuple[Array, np.dtype[np.generic]]) -> _PassResult:
    values, dtype = sent
    return (values.astype(dtype, copy=False),), None


def _sum_and_dtypes(result: _PassResult) -> tuple[Any, list[str]]:
    """What a result sends to the client: the sum, and the dtypes of the states."""
    return result[1], [state.dtype.str for state in result[0]]


def _piece(result: _PassResult, index: int, start: int = 0, stop: int | None = None) -> Array:
    return result[0][index][start:stop]


def _entries_at(places: Indices, values: Array) -> Array:
    return values[places]


def _features(transform: Callable[[Matrix], Floats], blocks: RowBlocks) -> RowBlocks:
    return row_blocks(blocks.map(lambda block: transform(block.take(slice(None)))))


def _form(blocks: RowBlocks) -> tuple[int, str]:
    return blocks.shape[1], blocks.dtype.str


def _load(chunks: Iterable[object], width: int) -> RowBlocks:
    """Chunks as the blocks of one shard; floats stay as they are, other numbers become float64."""
    tables = [table for table in map(_table, chunks) if table.shape[0]]
    return RowBlocks([row_blocks(table).sources[0] for table in tables or [np.empty((0, width))]])


def _table(chunk: Any) -> Matrix:
    table: Matrix = np.asarray(chunk) if not sp.issparse(chunk) else sp.csr_array(cast(Any, chunk))
    return table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)


def _length(chunk: Array) -> int:
    return int(chunk.shape[0])


class ChunkSource:
    """One chunk of a collection, computed in this process whenever it is read."""

    in_memory = False

    def __init__(self, chunk: Any, n_rows: int, width: int, dtype: FloatType):
        self._chunk, self.shape, self.dtype = chunk, (n_rows, width), dtype

    def spans(self) -> list[tuple[int, int]]:
        return [(0, self.shape[0])] if self.shape[0] else []

    def read(self, start: int, stop: int) -> Matrix:
        return _table(self._chunk.compute(scheduler="threads"))[start:stop]


def chunk_blocks(X: DaskCollection, width: int, dtype: FloatType, n_threads: int) -> RowBlocks:
    """The rows of a collection, read in this process; states get its chunks."""
    import dask.array as da

    chunks = _delayed_chunks(X)
    lengths: list[int] = dask.compute([dask.delayed(_length)(chunk) for chunk in chunks], scheduler="threads")[0]
    sources = [ChunkSource(*found, width, dtype) for found in zip(chunks, lengths, strict=True)]
    return RowBlocks(sources, n_threads, lambda state: da.from_array(state, chunks=(tuple(lengths),)))


def held_chunks(X: DaskCollection) -> list[Future] | None:
    """The chunks of a collection in their order if a cluster holds all of them, else None."""
    futures = futures_of(X)
    if hasattr(X, "npartitions") and type(getattr(X, "expr", None)).__name__ == "FromGraph":
        by_number = {future.key[1]: future for future in futures}  # a persisted frame has keys of its own
        found = [by_number.get(number) for number in range(X.npartitions)]
    else:
        by_key = {future.key: future for future in futures}
        found = [by_key.get(key) for key in flatten(X.__dask_keys__())]
    held = [future for future in found if future is not None]
    return held if len(held) == len(found) else None


def dask_rows(X: DaskCollection, client: Client, width: int, dtype: FloatType) -> DaskRows:
    """The rows of a collection that is cut along its rows only."""
    chunks = held_chunks(X)
    if chunks is not None:
        lengths = client.gather(client.map(_length, chunks, pure=False))
        groups = _groups(client, chunks)
        shards = [Shard(group, client.submit(_load, [chunks[c] for c in group], width, pure=False)) for group in groups]
    else:
        chunks = _delayed_chunks(X)
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
