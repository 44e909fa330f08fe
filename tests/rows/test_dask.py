"""Rows and states of Dask, function by function, against the same in memory: a cluster of threads of this process."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster
from numpy.testing import assert_array_equal

from _clusters import forget_client
from _representations import table
from widegap.exceptions import InvalidDataError
from widegap.rows import _collections
from widegap.rows._collections import (
    chunk_states,
    collection_rows,
    count_labels,
    entries_at,
    in_chunks_of,
    is_collection,
    look_up,
    map_collection,
)
from widegap.rows._dask import ChunkSource, ChunkStates, DaskRows, _groups, _load, _lost, _narrow, _table, dask_rows

N, D = 23, 3
X = table(N, D)
CHUNKS = (5, 0, 1, 10, 7)


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def alone(monkeypatch):
    """Without a cluster, and without threads."""
    forget_client(monkeypatch)
    with dask.config.set(scheduler="synchronous"):
        yield


def lazy(values, chunks=CHUNKS):
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def on_cluster(client, form):
    rows = lazy(X)
    if form == "csr":
        rows = rows.map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, D)))
    return dask_rows(rows if form == "graphs" else client.persist(rows), client, D, np.dtype(np.float64))


@pytest.mark.parametrize("form", ["held", "graphs", "csr"])
def test_passes_of_rows_on_a_cluster_are_those_in_memory(client, form):
    rows, ids = on_cluster(client, form), np.arange(N)
    assert isinstance(rows, DaskRows) and rows.shape == (N, D) and rows.n_threads == 1 and not rows.in_process

    def dense(block):
        part = block.take(slice(None))
        return part.toarray() if sp.issparse(part) else part

    assert_array_equal(rows.map(dense), X)
    numbers = rows.numbers()
    assert_array_equal(rows.collect(numbers), ids)
    placed = rows.place(ids * 300)
    assert placed.dtype == np.int64 and rows.collect(placed).dtype == np.int64
    (first, second), total = rows.sweep(
        lambda block, n, p: ((n + p, (dense(block)[:, 0] > 0)), np.append(dense(block).sum(axis=0), len(n))),
        numbers, placed,
    )  # fmt: skip
    assert_array_equal(rows.collect(first), 301 * ids)
    assert_array_equal(rows.collect(second), X[:, 0] > 0)
    assert (first.index, second.index, first.dtype, second.dtype) == (0, 1, np.int64, np.bool_)
    np.testing.assert_allclose(total, [*X.sum(axis=0), N])
    (swapped,), count = rows.fold(lambda b, a: ((np.where(b, a, -1),), int(b.sum())), second, first)
    assert_array_equal(rows.collect(swapped), np.where(X[:, 0] > 0, 301 * ids, -1))
    assert count == (X[:, 0] > 0).sum()
    published = rows.publish(swapped)
    assert published.chunks == (CHUNKS,) and published.dtype == np.int64
    assert_array_equal(published.compute(scheduler=client.get), rows.collect(swapped))
    chosen = np.array([0, 4, 5, 6, 15, 16, 22])
    taken = rows.take(chosen)
    assert sp.issparse(taken) == (form == "csr")
    assert_array_equal(taken.toarray() if form == "csr" else taken, X[chosen])
    marks = np.full(N, -1)
    marks[chosen] = np.arange(7)
    assert_array_equal(rows.collect(rows.mark(chosen)), marks)
    assert rows.reduce(lambda block, n: n.sum(), numbers, where=lambda n: bool((n == 22).any())) >= 22
    assert rows.reduce(lambda block, n: n.sum(), numbers, where=lambda n: False) is None
    mapped = rows.features(lambda part: (part.toarray() if sp.issparse(part) else part)[:, :2].astype(np.float32) * 2)
    assert mapped.shape == (N, 2) and mapped.dtype == np.float32
    assert_array_equal(mapped.map(dense), 2 * X[:, :2])


def test_threads_of_a_worker_share_its_chunks(client):
    chunks = [client.submit(np.ones, (1, D), key=f"one-{i}", workers=[worker]) for i, worker in
              enumerate(sorted(client.nthreads()) * 3)]  # fmt: skip
    client.gather(chunks)
    assert sorted(map(sorted, _groups(client, chunks))) == [[0, 2], [1, 3], [4], [5]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.bool_])
def test_chunks_become_blocks_of_floats(dtype):
    parts = [X[:4].astype(dtype), X[:0].astype(dtype), X[4:9].astype(dtype)]
    for form in (np.asarray, sp.csr_matrix):
        rows = _load(map(form, parts), D)
        assert rows.shape == (9, D) and len(rows.sources) == 2
        assert rows.dtype == (np.float32 if dtype == np.float32 else np.float64)
        assert sp.issparse(_table(form(parts[0]))) == (form is sp.csr_matrix)
    assert _load([parts[1]], D).shape == (0, D)


def test_labels_travel_in_few_bytes():
    for most, size in ((127, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)):
        for least in (0, -1):
            found = _narrow(np.array([least, most], np.int64))
            assert_array_equal(found, [least, most])
            assert least or found.itemsize == size
    floats = np.array([1.0, 2.0])
    assert _narrow(floats) is floats


def test_an_error_of_the_rows_stays_what_it_is(client):
    error = ValueError("of the rows")
    assert _lost(error, client) is error
    with pytest.raises(ZeroDivisionError):
        on_cluster(client, "held").reduce(lambda block: 1 // 0)


def test_chunks_without_a_cluster_are_read_one_by_one(alone):
    rows, names, warning = collection_rows(lazy(X), 3)
    assert names is None and warning is None
    assert rows.shape == (N, D) and rows.n_threads == 3 and len(rows._spans) == 4
    assert_array_equal(rows.take(np.arange(N)), X)
    published = rows.publish(np.arange(N))
    assert published.chunks == (CHUNKS,)
    source = ChunkSource(lazy(X).to_delayed()[3, 0], 10, D, np.dtype(np.float64))
    assert source.spans() == [(0, 10)] and not source.in_memory
    assert_array_equal(source.read(2, 7), X[8:13])
    assert ChunkSource(None, 0, D, np.dtype(np.float64)).spans() == []
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    rows, names, _ = collection_rows(frame, 1)
    assert list(names) == list("abc")
    assert_array_equal(rows.take(np.arange(N)), X)
    assert collection_rows(frame.rename(columns={"a": 0}), 1)[1] is None
    assert [collection_rows(lazy(X.astype(kind)), 1)[0].dtype for kind in ("f4", "f8", "i8")] == ["f4", "f8", "f8"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (da.zeros(4), "X has 1 dimensions"),
        (da.zeros((4, 2), dtype="U1"), "X has dtype <U1; only numbers"),
        (da.zeros((4, 3), chunks=(4, 2)), r"cut into 2 chunks along its columns.*X\.rechunk\({1: 3}\)"),
        (dd.from_pandas(pd.DataFrame({"a": [1.0], "b": ["x"]}), npartitions=1), "Column 'b' of X has dtype"),
    ],
)
def test_collections_that_are_no_tables_of_numbers_are_refused(alone, wrong, words):
    with pytest.raises(InvalidDataError, match=words):
        collection_rows(wrong, 1)


def test_states_of_chunks_without_the_rows(alone):
    like = lazy(np.arange(N))
    states = chunk_states(like)
    assert isinstance(states, ChunkStates) and states.shape == (N, 1) and not states.in_process
    values, placed = states.state(like), states.place(10.0 * np.arange(N))
    assert_array_equal(states.collect(values), np.arange(N))
    (low, high, third), total = states.fold(lambda a, b: ((a + b, a - b, a % 3), len(a)), values, placed)
    assert total == N
    for state, expected in zip((low, high, third), (11.0, -9.0, None), strict=True):
        wanted = np.arange(N) % 3 if expected is None else expected * np.arange(N)
        assert_array_equal(states.collect(state), wanted)
    published = states.publish(third, np.dtype(np.int64))
    assert published.chunks == (CHUNKS,)
    assert_array_equal(published.compute(), np.arange(N) % 3)
    for chosen in ([0], [22], [4, 5, 6], list(range(N)), [5, 16]):
        rows = np.array(chosen)
        assert_array_equal(states.take(low, rows), 11.0 * rows)
        assert_array_equal(entries_at(like, rows), rows)
        assert_array_equal(entries_at(np.arange(N) + 1, rows), rows + 1)


@pytest.mark.parametrize("n", [0, 3, 4, 5, 9])
def test_labels_are_counted_and_looked_up_lazy_or_not(alone, n, monkeypatch):
    monkeypatch.setattr(_collections, "CHUNK_ROWS", 4)
    labels = np.arange(n) % 3
    expected = np.bincount(labels, minlength=5)
    assert_array_equal(count_labels(labels, 5), expected)
    names = np.array([5, 7, 9], np.int32)
    assert not is_collection(look_up(names, labels))
    assert_array_equal(look_up(names, labels), names[labels])
    assert in_chunks_of(labels, labels) is labels
    if n:
        held = da.from_array(labels, chunks=2)
        assert_array_equal(count_labels(held, 5), expected)
        found = look_up(names, held)
        assert is_collection(found) and found.dtype == np.int32
        assert_array_equal(found.compute(), names[labels])
        assert in_chunks_of(labels * 2.5, held).chunks == held.chunks


def test_functions_of_chunks_are_lazy_also_where_chunks_are_empty(alone):
    def first_two(part):
        assert len(part)  # never called of an empty chunk
        return part[:, :2].astype(np.float32)

    wide, flat = map_collection(lazy(X), first_two), map_collection(lazy(X), lambda part: part.sum(axis=1))
    assert (wide.shape, wide.chunks, wide.dtype) == ((N, 2), (CHUNKS, (2,)), np.float32)
    assert (flat.shape, flat.chunks, flat.dtype) == ((N,), (CHUNKS,), np.float64)
    assert_array_equal(wide.compute(), X[:, :2].astype(np.float32))
    assert_array_equal(flat.compute(), X.sum(axis=1))
