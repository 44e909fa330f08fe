"""Sources, states in files and what a file must not do: sizes of blocks and edges of every bound, by hand."""

import errno
import os
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from _representations import table
from widegap.exceptions import InvalidDataError
from widegap.rows import RowBlocks, _sources, _state_files, shards
from widegap.rows._file_sizes import check_compressed, check_npz, check_row_count, check_width
from widegap.rows._protocols import Filling, constant_state, end_to_end, marked
from widegap.rows._same_file import SameFile
from widegap.rows._sampling import all_or_drawn, drawn, drawn_as_repeated
from widegap.rows._sources import (
    ArraySource,
    CsrSource,
    MappedBlocks,
    divided_columns,
    feature_rows,
    held_table,
    may_be_held,
    row_blocks,
)
from widegap.rows._state_files import StateFolder, state_arrays, write_labels

NO_LIMIT = 4 << 20  # bytes of a block, as `shards` promises


@pytest.mark.parametrize(
    ("n_rows", "n_bytes", "expected"),
    [
        (0, 0, []),
        (1, 10 * NO_LIMIT, [(0, 1)]),
        (10, NO_LIMIT, [(0, 10)]),
        (10, NO_LIMIT + 1, [(0, 5), (5, 10)]),
        (10, 2 * NO_LIMIT, [(0, 5), (5, 10)]),
        (10, 2 * NO_LIMIT + 1, [(0, 4), (4, 8), (8, 10)]),
        (3, 99 * NO_LIMIT, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_blocks_are_of_equal_size_and_take_4_mib_at_most(n_rows, n_bytes, expected):
    assert _sources._spans(n_rows, n_bytes) == expected


def test_blocks_of_sources_follow_from_the_bytes_of_their_numbers(monkeypatch):
    monkeypatch.setattr(_sources, "BLOCK_BYTES", 96)
    X = np.ones((12, 2))  # 16 bytes a row
    assert ArraySource(X).spans() == [(0, 6), (6, 12)]
    assert ArraySource(X, np.dtype(np.float32)).spans() == [(0, 12)]
    assert CsrSource(sp.csr_array(X)).spans() == [(0, 12)]  # 24 numbers and 24 places, 288 bytes, a quarter of which
    assert CsrSource(sp.csr_array(np.ones((17, 2)))).spans() == [(0, 9), (9, 17)]  # 102


def test_blocks_of_sparse_rows_are_made_once_and_leave_the_rows_as_they_are():
    X = table(9, 4)
    source = CsrSource(sp.csr_array(X))
    part = source.read(2, 7)
    assert source.read(2, 7) is part and np.shares_memory(part.data, source.X.data)
    assert_array_equal(part.toarray(), X[2:7])
    assert row_blocks(X).n_threads == RowBlocks([ArraySource(X)]).n_threads == 1


def test_entries_that_are_stored_twice_are_added_up_in_a_copy(tmp_path):
    twice = sp.csr_array((np.array([2.0, 3.0, -1.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    sp.save_npz(tmp_path / "x.npz", twice)
    for rows in (row_blocks(twice), shards([tmp_path / "x.npz"])):
        held = rows.sources[0].read(0, 2)
        assert held.nnz == 2 and twice.nnz == 3
        assert_array_equal(held.toarray(), [[0, 5, 0], [-1, 0, 0]])


def test_rows_that_are_read_cannot_be_written_to():
    X = np.ones((3, 2))
    (block,) = RowBlocks._read((ArraySource(X), 0, 3, 0))
    assert not block.take(slice(None)).flags.writeable and X.flags.writeable
    X.flags.writeable = False
    (block,) = RowBlocks._read((ArraySource(X), 0, 3, 0))
    assert np.shares_memory(block.X, X)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_taken_sparse_rows_have_short_indices(dtype):
    X = sp.csr_array(table(9, 4))
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    taken = row_blocks(X).take(np.array([1, 8]))
    assert taken.indices.dtype == taken.indptr.dtype == np.int32


def test_a_table_is_held_only_in_the_form_of_a_copy(tmp_path):
    X, long = np.ones((4, 3)), sp.csr_array(np.ones((4, 3)))
    assert held_table(row_blocks(X)) is X
    short = sp.csr_array(X)
    assert held_table(row_blocks(short)) is short
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    fixed = X.copy()
    fixed.flags.writeable = False
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")
    others = [row_blocks(long), row_blocks(fixed), row_blocks(mapped), row_blocks(X.T), object()]
    others += [RowBlocks([ArraySource(X, np.dtype(np.float32))]), RowBlocks([ArraySource(X)] * 2)]
    assert [held_table(rows) for rows in others] == [None] * 7


def test_64_mib_of_features_may_be_held():
    rows = SimpleNamespace(shape=(1 << 20, 3), dtype=np.dtype(np.float64))
    assert may_be_held(rows, 8) and not may_be_held(rows, 9)
    sources = [SimpleNamespace(shape=(1 << 20, 3), dtype=rows.dtype, in_memory=here, spans=list) for here in (1, 0)]
    assert may_be_held(RowBlocks(sources[:1]), 9) and not may_be_held(RowBlocks(sources), 9)


@pytest.mark.parametrize("table_bytes", [0, 1 << 20])
def test_mapped_rows_are_those_of_the_map_a_few_at_a_time(table_bytes, monkeypatch, tmp_path):
    np.save(tmp_path / "x.npy", table(11, 3))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    monkeypatch.setattr(_sources, "TABLE_BYTES", table_bytes)
    monkeypatch.setattr(_sources, "BLOCK_BYTES", 3 * 5 * 8)  # spans of 4, 4 and 3 rows; 3 rows of features
    sizes = []

    def transform(part):
        sizes.append(len(part))
        return np.column_stack([part, part[:, :2] ** 2])

    expected = transform(np.asarray(X))
    rows = feature_rows(row_blocks(X, n_threads=1), transform, 5)
    assert isinstance(rows, MappedBlocks) == (not table_bytes) and rows.shape == (11, 5)
    sizes.clear()
    assert_array_equal(rows.map(lambda block: block.take(slice(None))), expected)
    assert sizes == ([] if table_bytes else [2, 2, 2, 2, 3])
    assert_array_equal(rows.take(np.array([0, 5, 10])), expected[[0, 5, 10]])
    columns, divisors = np.array([4, 1]), np.array([2.0, 8.0])
    found = divided_columns(rows, columns, divisors)
    assert_array_equal(found.take(np.arange(11)), expected[:, columns] / divisors)


@pytest.mark.parametrize("n", [3, 4, 5, 8, 9])
def test_states_are_folded_a_chunk_at_a_time(n, monkeypatch):
    monkeypatch.setattr("widegap.rows._blocks.CHUNK_ROWS", 4)
    rows, state = row_blocks(table(n, 2)), np.arange(n)
    ((doubled,), sizes) = rows.fold(lambda part: ((2 * part,), [len(part)]), state)
    assert_array_equal(doubled, 2 * state)
    assert sizes == [4] * (n // 4) + [n % 4] * (n % 4 > 0)
    assert_array_equal(rows.numbers(), state)
    assert_array_equal(constant_state(rows, np.float64(2.5)), np.full(n, 2.5))


def test_marks_parts_and_tables_end_to_end():
    assert_array_equal(marked(5, np.array([1, 3]), np.array([7, 9])), [-1, 7, -1, 9, -1])
    filling = Filling(5, (np.zeros((2, 1), np.float32), np.zeros(2, np.int32)))
    filling.add((np.ones((2, 1), np.float32), np.array([1, 2], np.int32)))
    filling.add((np.full((3, 1), 1 / 3), np.array([3, 4, 5], np.int32)))
    assert [array.dtype for array in filling.arrays] == [np.float64, np.int32]
    assert_array_equal(filling.arrays[0].ravel(), [1, 1, 1 / 3, 1 / 3, 1 / 3])
    assert_array_equal(filling.arrays[1], [1, 2, 3, 4, 5])
    X = np.eye(3)
    one, two = end_to_end([X]), end_to_end([X, sp.csr_array(X)])
    assert one is X and sp.issparse(two) and two.format == "csr"
    assert_array_equal(two.toarray(), np.vstack([X, X]))
    assert_array_equal(end_to_end([X, 2 * X]), np.vstack([X, 2 * X]))


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 9])
def test_labels_are_written_in_chunks(n, monkeypatch, tmp_path):
    monkeypatch.setattr(_state_files, "CHUNK_ROWS", 4)
    labels = np.arange(n, dtype=np.int32) - 1
    found = write_labels(labels, tmp_path / "labels.npy")
    assert not found.flags.writeable
    assert_array_equal(found, labels)
    assert_array_equal(np.load(tmp_path / "labels.npy"), labels)


def test_states_in_files_have_room_before_they_are_written_to(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(os, "posix_fallocate", lambda handle, first, size: asked.append((first, size)), raising=False)
    made = StateFolder(tmp_path)((3, 2), np.dtype(np.float64))
    assert asked == [(0, 48)] and made.shape == (3, 2)
    made[:] = 1.5
    assert (made == 1.5).all() and StateFolder(tmp_path)((0, 2), np.dtype(np.float64)).shape == (0, 2)
    assert len(asked) == 1

    def full(handle, first, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="No space left"):
        StateFolder(tmp_path)((3, 2), np.dtype(np.float64))
    monkeypatch.delattr(os, "posix_fallocate")
    assert StateFolder(tmp_path)((3, 2), np.dtype(np.int32)).shape == (3, 2)
    assert state_arrays(None) is np.empty and state_arrays(tmp_path / "labels.npy").folder == tmp_path


def test_a_file_that_changes_is_noticed_before_and_after_it_is_read(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"123")
    file = SameFile(path)
    with file.while_read():
        pass
    times = os.stat(path)
    changes = {
        "longer": lambda: path.write_bytes(b"1234"),
        "later": lambda: os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1_000_000_000)),
        "gone": path.unlink,
    }
    for change in changes.values():
        path.write_bytes(b"123")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        with file.while_read():
            pass
        with pytest.raises(InvalidDataError, match="was changed, or is gone, since it was opened"), file.while_read():
            change()
        begun = []
        with pytest.raises(InvalidDataError, match="was changed, or is gone"), file.while_read():
            begun.append(True)
        assert not begun


def test_what_a_file_may_declare_ends_at_a_ratio_to_its_bytes(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"12")
    monkeypatch.setattr("widegap.rows._file_sizes.FREE_ROWS", 1)
    check_row_count(2000, path)
    with pytest.raises(InvalidDataError, match="declares 2,001 rows in 2 bytes"):
        check_row_count(2001, path)
    monkeypatch.setattr("widegap.rows._file_sizes.FREE_COLUMNS", 1)
    for width, wrong in ((32, False), (33, True)):
        X = sp.csr_array((np.ones(2), [0, 1], [0, 2]), shape=(1, width))
        if wrong:
            with pytest.raises(InvalidDataError, match="f has 33 columns, but only 2 entries"):
                check_width(X, "f")
        else:
            assert check_width(X, "f") is X


def test_a_header_may_declare_as_many_bytes_as_there_are(tmp_path):
    for count, wrong in ((16, False), (17, True)):
        with (tmp_path / "part.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (count,)})
        assert (tmp_path / "part.npy").stat().st_size == 128 == 16 * 8
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.write(tmp_path / "part.npy", "X.npy")
        with (tmp_path / "a.npz").open("rb") as file:
            if wrong:
                with pytest.raises(InvalidDataError, match=r"declares shape \(17,\) of float64 in 128 bytes"):
                    check_npz(file, "a")
            else:
                check_npz(file, "a")
                assert file.tell() == 0


def test_columns_of_endless_rows_are_refused(tmp_path):
    sp.save_npz(tmp_path / "x.npz", sp.csc_array((20_000_000, 1)))
    with pytest.raises(InvalidDataError, match="declares 20,000,000 rows in .* bytes, so it is damaged"):
        shards([tmp_path / "x.npz"])


RIGHT = {"n_entries": 3, "indices": [0, 3, 1], "indptr": [0, 2, 3], "shape": (2, 4)}
ENDS, OUTSIDE, SHAPE = "do not end where its entries do", "lie outside its shape", "do not match its shape"
WRONG = [
    ({"indices": [0, 4, 1]}, OUTSIDE), ({"indices": [0, -1, 1]}, OUTSIDE), ({"n_entries": 4}, ENDS),
    ({"indptr": [1, 2, 3]}, ENDS), ({"indptr": [0, 2, 2]}, ENDS), ({"indptr": [0, 4, 3]}, ENDS),
    ({"indices": [0, 1], "n_entries": 3}, ENDS), ({"indptr": [0, 3]}, SHAPE), ({"shape": (2, 4, 1)}, SHAPE),
    ({"shape": (2, -4)}, SHAPE), ({"shape": (2, 4.0)}, SHAPE), ({"indices": [[0, 3, 1]]}, SHAPE),
    ({"indptr": [0, 1, 2, 3]}, SHAPE),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_parts_of_a_sparse_matrix_are_checked(dtype):
    def check(change):
        parts = RIGHT | change
        indices, indptr = (np.array(parts[name], dtype) for name in ("indices", "indptr"))
        check_compressed(parts["n_entries"], indices, indptr, parts["shape"])

    check({})
    check({"n_entries": 0, "indices": [], "indptr": [0, 0, 0]})
    check({"n_entries": 0, "indices": [], "indptr": [0], "shape": (0, 0)})
    for change, words in WRONG:
        with pytest.raises(ValueError, match=words):
            check(change)
    with pytest.raises(ValueError, match="indices of int16 and int32, not of int32 or int64"):
        check_compressed(1, np.zeros(1, np.int16), np.array([0, 1], np.int32), (1, 1))


def test_samples_are_as_large_as_asked_and_never_larger_than_there_are_rows():
    def rng():
        return np.random.default_rng(0)

    weights = np.array([0.0, 3.0, 0.0, 1.0, 1.0])
    assert [len(drawn(5, size, rng())) for size in (4, 5, 6)] == [4, 5, 5]
    assert_array_equal(drawn(5, 3, rng(), weights), [1, 3, 4])
    assert_array_equal(drawn(5, 4, rng(), weights), [1, 3, 4])
    assert len(drawn(5, 2, rng(), weights)) == 2
    assert_array_equal(drawn(5, 3, rng()), np.sort(rng().choice(5, 3, replace=False)))
    many = np.bincount(drawn_as_repeated(5, 5000, rng(), weights), minlength=5)
    assert (np.abs(many - 1000 * weights) < 150).all()
    assert_array_equal(drawn_as_repeated(5, 3, rng(), None), drawn(5, 3, rng()))
    for n, size in ((5, 5), (4, 5)):
        before = rng()
        assert_array_equal(all_or_drawn(n, size, before), np.arange(n))
        assert before.random() == rng().random()
    assert_array_equal(all_or_drawn(6, 5, rng()), drawn(6, 5, rng()))
