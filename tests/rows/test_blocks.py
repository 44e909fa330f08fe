"""Sources and blocks: what is read and how often, refusals, and that sparse rows stay sparse."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from _representations import REPRESENTATIONS, SPARSE, every_representation, rounding, table
from widegap.cutting_plane._hinge import HingeLoss, hinge_pass
from widegap.exceptions import InvalidDataError
from widegap.features._spectrum import leading_variances
from widegap.rows import RowBlocks, shards
from widegap.rows._blocks import Scorer
from widegap.rows._centred import CentredRows
from widegap.rows._protocols import add_in_place, add_up
from widegap.rows._sources import ArraySource, divided_columns, may_be_held, row_blocks


@pytest.mark.parametrize("add", [add_up, add_in_place])
def test_parts_are_added_from_the_first_to_the_last(add):
    first = [1]
    assert add(iter([first, [2], [3]])) == [1, 2, 3]
    assert first == ([1] if add is add_up else [1, 2, 3])
    assert add(iter([1, 2, 4])) == 7
    assert add(iter([])) is None


def test_rows_are_numbered(monkeypatch):
    monkeypatch.setattr("widegap.rows._blocks.CHUNK_ROWS", 4)
    X = table(11, 2)
    assert_array_equal(RowBlocks([ArraySource(X[:3]), ArraySource(X[3:])]).numbers(), np.arange(11))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_sums_of_a_block_are_those_of_plain_numpy(form, dtype):
    X, rng = (table(23, 4) + (table(23, 4) != 0)).astype(dtype), np.random.default_rng(0)
    (block,) = RowBlocks._read((row_blocks(form(X)).sources[0], 0, 23, 50))
    assert block.rows == slice(50, 73)
    for weights in (None, rng.integers(1, 6, 23).astype(float)):
        each = np.ones(23) if weights is None else weights
        mean = each @ X.astype(np.float64) / each.sum()
        found = block.moments() if weights is None else block.moments(weights)
        assert found[0] == each.sum()
        assert_allclose(found[1], mean, rtol=1e-12, atol=1e-14)
        assert_allclose(found[2], each @ np.square(X - mean), rtol=1e-12)
    chosen, counts = np.array([0, 3, 4, 20]), rng.integers(0, 3, (2, 4)).astype(float)
    old, new = np.array([0, 1, 2, 0], np.int32), np.array([1, 1, 0, 2], np.int32)
    part, Z = block.part(chosen, mean, 2.5), (X[chosen] - mean) / 2.5
    assert part.n_features == 4
    assert_allclose(part.weighted(counts), counts @ Z, rtol=1e-6, atol=1e-12)
    assert_allclose(part.weighted(counts[:, [1, 3]], np.array([1, 3])), counts[:, [1, 3]] @ Z[[1, 3]], rtol=1e-6)
    expected = np.einsum("mi,ip,ij->mpj", counts, np.eye(3)[new] - np.eye(3)[old], Z)
    assert_allclose(part.moved(counts, old, new, 3), expected, rtol=1e-6, atol=1e-9)
    W, b = rng.normal(size=(3, 4)), rng.normal(size=3)
    scorer = Scorer(W, b, mean)
    assert len(scorer) == 3
    assert_allclose(block.scores(scorer), (X - mean) @ W.T + b, rtol=1e-4, atol=1e-4)
    assert scorer.csr(np.dtype(dtype)) is scorer.csr(np.dtype(dtype))


class CountingSource:
    """Another source, with the number of times that each row was read."""

    def __init__(self, source):
        self.source, self.shape, self.dtype, self.spans = source, source.shape, source.dtype, source.spans
        self.reads = np.zeros(source.shape[0], int)

    def read(self, start, stop):
        self.reads[start:stop] += 1
        return self.source.read(start, stop)


class Counted:
    """RowBlocks whose reads are counted."""

    def __init__(self, blocks, n_threads=1):
        self.sources = [CountingSource(source) for source in blocks.sources]
        self.blocks = RowBlocks(self.sources, n_threads)

    def take_reads(self):
        """Reads of every row since the last call."""
        reads = np.concatenate([source.reads for source in self.sources])
        for source in self.sources:
            source.reads[:] = 0
        return reads

    def block_of_row(self):
        """Index of the block that holds each row."""
        firsts = [span[3] for span in self.blocks._spans]
        return np.searchsorted(firsts, np.arange(self.blocks.shape[0]), side="right") - 1


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut even small tables into many blocks; call with a size in bytes."""
    return partial(monkeypatch.setattr, "widegap.rows._sources.BLOCK_BYTES")


def weights(k, d, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, d)), rng.normal(size=k) / 4


@every_representation
@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_pass_reads_every_row_once(make_blocks, n_threads, small_blocks, tmp_path):
    small_blocks(600)
    counted = Counted(make_blocks(table(157, 6), tmp_path), n_threads)
    assert len(counted.blocks._spans) >= 3

    rows = CentredRows(counted.blocks)
    assert_array_equal(counted.take_reads(), 1)
    for k in (2, 3):
        W, b = weights(k, 6)
        labels = hinge_pass(rows, W, b, None, all_rivals=False).labels
        assert_array_equal(counted.take_reads(), 1)
        hinge_pass(rows, W, b, labels, all_rivals=True)
        assert_array_equal(counted.take_reads(), 1)
        rows.scores(W, b)
        assert_array_equal(counted.take_reads(), 1)
        rows.largest_scores(W, b)
        assert_array_equal(counted.take_reads(), 1)
    assert rows.n_passes == 1 + 2 * 4


@every_representation
def test_sums_and_take_read_only_the_blocks_they_need(make_blocks, small_blocks, tmp_path):
    small_blocks(600)
    X = table(157, 6)
    counted = Counted(make_blocks(X, tmp_path))
    rows = CentredRows(counted.blocks)
    counted.take_reads()
    block_of_row = counted.block_of_row()
    last = block_of_row[-1]
    assert last >= 2
    for wanted in ([0], [last], [0, last], [1], list(range(last + 1))):
        # First and last row of each wanted block: the ends are where an off-by-one would read a neighbour.
        ends = [np.flatnonzero(block_of_row == block)[[0, -1]] for block in wanted]
        moved = np.unique(np.concatenate(ends))
        old = np.zeros(157, np.int32)
        new = old.copy()
        new[moved] = 1
        rows.sum_moved(lambda some, old, new: some.weighted(np.ones((1, len(old)))), old, new)
        assert_array_equal(counted.take_reads(), np.isin(block_of_row, wanted))

        taken = counted.blocks.take(moved)
        assert_array_equal(counted.take_reads(), np.isin(block_of_row, wanted))
        assert_array_equal(taken.toarray() if sp.issparse(taken) else taken, X[moved])


@every_representation
def test_moved_rows_enter_one_cluster_and_leave_another(make_blocks, small_blocks, tmp_path):
    small_blocks(600)
    X = table(157, 6)
    rng = np.random.default_rng(0)
    old, new = rng.integers(0, 4, (2, 157)).astype(np.int32)
    counts = rng.integers(0, 3, (5, 157)).astype(float)
    rows = CentredRows(make_blocks(X, tmp_path))
    found = rows.sum_moved(lambda some, old, new, c: some.moved(c.T, old, new, 4), old, new, counts.T)
    Z = (X - X.mean(axis=0, dtype=np.float64)) / rows.scale
    steps = np.eye(4)[new] - np.eye(4)[old]
    np.testing.assert_allclose(found, np.einsum("mi,ip,ij->mpj", counts, steps, Z), rtol=0, atol=2e-4)


@every_representation
@pytest.mark.parametrize("chunk_rows", [7, 1000])
def test_weighted_sums_over_some_rows(make_blocks, chunk_rows, small_blocks, monkeypatch, tmp_path):
    small_blocks(600)
    monkeypatch.setattr("widegap.rows._centred.MOVED_ROWS", chunk_rows)
    X = table(157, 6)
    rows = CentredRows(make_blocks(X, tmp_path))
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(157, 60, replace=False))
    weights = rng.integers(0, 5, (3, 60)).astype(float)
    sizes = []

    def part(some, old, new, numbers):
        sizes.append(len(numbers))
        assert_array_equal(new, old + 1)
        place = np.searchsorted(chosen, numbers)
        half = np.arange(0, sizes[-1], 2)
        return some.weighted(weights[:, place]) + some.weighted(weights[:, place][:, half], half)

    old = np.zeros(157, np.int32)
    found = rows.sum_moved(part, old, old + np.isin(np.arange(157), chosen), np.arange(157))
    assert rows.sum_moved(part, old, old, np.arange(157)) is None
    assert sum(sizes) == 60 and max(sizes) <= chunk_rows
    doubled = weights.copy()
    first = 0
    for size in sizes:
        doubled[:, first : first + size : 2] *= 2
        first += size
    expected = doubled @ ((X[chosen] - X.mean(axis=0)) / rows.scale)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_map_fills_one_array(small_blocks):
    """The scores of a million rows, and never a second copy of them."""
    X = np.zeros((100_000, 4), np.float32)
    blocks = row_blocks(X)
    assert len(blocks._spans) == 1
    small_blocks(X.nbytes // 50)
    blocks = row_blocks(X)
    tracemalloc.start()
    try:
        out = blocks.map(lambda block: np.ones((block.rows.stop - block.rows.start, 20)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert out.shape == (100_000, 20) and (out == 1).all()
    assert peak < 1.2 * out.nbytes


def test_map_promotes_where_sources_have_several_dtypes():
    tables = [np.ones((3, 2), np.float32), np.full((2, 2), 1 / 3), np.ones((1, 2), np.float32)]
    found = RowBlocks([ArraySource(X) for X in tables]).map(lambda block: block.take(slice(None)))
    assert found.dtype == np.float64
    assert_array_equal(found, np.vstack(tables))


@every_representation
def test_take_gives_the_rows_in_their_own_form(make_blocks, small_blocks, tmp_path, request):
    small_blocks(600)
    X = table(157, 6)
    blocks = make_blocks(X, tmp_path)
    for chosen in (np.arange(157), np.array([0, 156]), np.array([77]), np.arange(20, 140, 7)):
        taken = blocks.take(chosen)
        if any(f"[{name}]" in request.node.name for name in SPARSE):
            assert sp.issparse(taken) and taken.format == "csr"
        assert taken.dtype == blocks.dtype
        assert_array_equal(taken.toarray() if sp.issparse(taken) else taken, X[chosen])


@every_representation
@pytest.mark.parametrize("k", [2, 5])
def test_block_size_does_not_matter(make_blocks, k, small_blocks, tmp_path):
    X = table(331, 6)
    W, b = weights(k, 6)
    small_blocks(1 << 30)
    whole = make_blocks(X, tmp_path)
    reference = CentredRows(whole)
    expected = hinge_pass(reference, W, b, None, all_rivals=True)
    for size in (1, 500, 5000):
        small_blocks(size)
        blocks = row_blocks(whole)
        rows = CentredRows(blocks)
        assert_allclose(rows.mean, reference.mean, rtol=1e-12, atol=1e-14)
        assert rows.scale == pytest.approx(reference.scale, rel=1e-12)
        found = hinge_pass(rows, W, b, None, all_rivals=True)
        assert_array_equal(found.labels, expected.labels)
        assert_array_equal(found.codes, expected.codes)
        tol = rounding(blocks)
        assert found.pairs == expected.pairs
        assert found.loss == pytest.approx(expected.loss, rel=tol)
        assert_allclose(found.normal, expected.normal, rtol=tol, atol=tol * 300)
        assert_allclose(rows.scores(W, b), reference.scores(W, b), rtol=tol, atol=tol)


def test_block_size_follows_the_bytes(small_blocks):
    small_blocks(1000)
    X = table(100, 5)
    spans = row_blocks(X)._spans
    assert [span[1:3] for span in spans] == [(start, start + 25) for start in (0, 25, 50, 75)]
    assert len(row_blocks(X.astype(np.float32))._spans) == 2
    small_blocks(1)
    assert len(row_blocks(X)._spans) == 100


@every_representation
@pytest.mark.parametrize("k", [2, 5])
def test_threads_change_no_bit(make_blocks, k, small_blocks, tmp_path):
    small_blocks(700)
    X = table(331, 6)
    W, b = weights(k, 6)
    blocks = make_blocks(X, tmp_path)
    one, *others = (CentredRows(row_blocks(blocks, n_threads=n_threads)) for n_threads in (1, 2, 3))
    expected = hinge_pass(one, W, b, None, all_rivals=False)
    rolled = np.roll(expected.labels, 1)
    for rows in others:
        assert_array_equal(rows.mean, one.mean)
        assert rows.scale == one.scale
        found = hinge_pass(rows, W, b, None, all_rivals=False)
        assert (found.loss, found.pairs) == (expected.loss, expected.pairs)
        for name in ("normal", "bias"):
            assert_array_equal(getattr(found, name), getattr(expected, name))
        assert_array_equal(found.labels, expected.labels)
        assert_array_equal(found.codes, expected.codes)
        assert_array_equal(rows.scores(W, b), one.scores(W, b))
        losses = (HingeLoss(each, k, loss="sum") for each in (rows, one))
        shifts = [loss.shift([expected.codes], expected.labels, rolled) for loss in losses]
        assert_array_equal(*(shift.normal for shift in shifts))


@every_representation
@pytest.mark.parametrize("k", [2, 5])
def test_row_order_does_not_matter(make_blocks, k, small_blocks, tmp_path):
    small_blocks(700)
    X = table(331, 6)
    order = np.random.default_rng(5).permutation(331)
    W, b = weights(k, 6)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    rows, mixed = (CentredRows(make_blocks(Y, tmp_path / sub)) for Y, sub in ((X, "a"), (X[order], "b")))
    expected, found = (hinge_pass(each, W, b, None, all_rivals=True) for each in (rows, mixed))
    assert_array_equal(found.labels, expected.labels[order])
    assert_array_equal(found.codes, expected.codes[order])
    tol = rounding(rows.blocks)
    assert found.loss == pytest.approx(expected.loss, rel=tol)
    assert_allclose(found.normal, expected.normal, rtol=tol, atol=tol * 300)


@every_representation
def test_reading_leaves_the_caller_s_rows_alone(make_blocks, tmp_path):
    X = table(57, 4)
    kept = X.copy()
    blocks = make_blocks(X, tmp_path)
    rows = CentredRows(blocks)
    hinge_pass(rows, *weights(3, 4), None, all_rivals=False)
    assert_array_equal(X, kept)
    writeable = np.ones((5, 2))
    row_blocks(writeable).map(lambda block: block.take(slice(None)))
    assert writeable.flags.writeable


class TestDuplicateEntries:
    def make(self):
        X = table(40, 5)
        once = sp.csr_array(X)
        data = np.concatenate([once.data / 2, once.data / 2])
        coo = once.tocoo()
        order = np.argsort(np.tile(coo.row, 2), kind="stable")
        indptr = 2 * once.indptr
        twice = sp.csr_array((data[order], np.tile(coo.col, 2)[order], indptr), shape=X.shape)
        assert not twice.has_canonical_format and twice.nnz == 2 * once.nnz
        return X, twice

    def check(self, blocks, X):
        rows, expected = CentredRows(blocks), CentredRows(row_blocks(X))
        assert_allclose(rows.mean, expected.mean, rtol=1e-13, atol=1e-15)
        assert rows.scale == pytest.approx(expected.scale, rel=1e-13)
        W, b = weights(3, 5)
        assert_allclose(rows.scores(W, b), expected.scores(W, b), rtol=1e-12, atol=1e-12)
        assert_array_equal(blocks.take(np.arange(40)).toarray(), X)

    def test_in_memory_they_are_summed_in_a_copy(self):
        X, twice = self.make()
        parts = [part.copy() for part in (twice.data, twice.indices, twice.indptr)]
        self.check(row_blocks(twice), X)
        for part, kept in zip((twice.data, twice.indices, twice.indptr), parts, strict=True):
            assert_array_equal(part, kept)

    def test_in_a_shard_they_are_summed_on_reading(self, tmp_path):
        X, twice = self.make()
        sp.save_npz(tmp_path / "twice.npz", twice)
        self.check(shards([tmp_path / "twice.npz"]), X)

    def test_unsorted_columns_are_read_right(self):
        X = table(40, 5)
        back = sp.csr_array(X)
        for i in range(40):
            row = slice(back.indptr[i], back.indptr[i + 1])
            back.indices[row], back.data[row] = back.indices[row][::-1].copy(), back.data[row][::-1].copy()
        self.check(row_blocks(sp.csr_array((back.data, back.indices, back.indptr), shape=X.shape)), X)


class TestShards:
    @pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool, np.float16, ">f8", ">f4"])
    @pytest.mark.parametrize("suffix", ["npy", "npz"])
    def test_other_numbers_become_float64(self, dtype, suffix, tmp_path):
        X = (np.arange(60).reshape(20, 3) % 7 % 2).astype(dtype)
        path = tmp_path / f"X.{suffix}"
        np.save(path, X) if suffix == "npy" else np.savez(path, X=X)
        blocks = shards([path])
        assert blocks.dtype == np.float64
        assert_array_equal(blocks.take(np.arange(20)), X)
        assert_allclose(CentredRows(blocks).mean, X.astype(float).mean(axis=0))

    def test_integer_npy_is_not_read_as_a_whole(self, tmp_path, small_blocks):
        small_blocks(1 << 16)
        np.save(tmp_path / "X.npy", np.ones((200_000, 10), np.uint8))
        CentredRows(shards([tmp_path / "X.npy"]))  # compile
        tracemalloc.start()
        try:
            CentredRows(shards([tmp_path / "X.npy"]))
            assert tracemalloc.get_traced_memory()[1] < 2 << 20  # the table takes 2 MB, 16 MB as float64
        finally:
            tracemalloc.stop()

    def test_order_of_the_files_is_the_order_of_the_rows(self, tmp_path):
        X = table(30, 3)
        for name, rows in (("b", slice(0, 10)), ("a", slice(10, 12)), ("c", slice(12, 30))):
            np.save(tmp_path / f"{name}.npy", X[rows])
        paths = [tmp_path / "b.npy", str(tmp_path / "a.npy"), tmp_path / "c.npy"]
        assert_array_equal(shards(paths).take(np.arange(30)), X)

    def test_empty_shards_are_passed_over(self, tmp_path):
        X = table(10, 3)
        np.save(tmp_path / "none.npy", X[:0])
        np.savez(tmp_path / "nothing.npz", X=X[:0])
        np.save(tmp_path / "all.npy", X)
        blocks = shards([tmp_path / name for name in ("none.npy", "all.npy", "nothing.npz")])
        assert blocks.shape == (10, 3)
        assert_array_equal(blocks.take(np.arange(10)), X)
        CentredRows(blocks)

    @pytest.mark.parametrize("save", [sp.csr_matrix, sp.csc_array, sp.bsr_array])
    def test_other_compressed_formats_of_save_npz_are_read(self, save, tmp_path):
        X = table(12, 4)
        sp.save_npz(tmp_path / "X.npz", save(X))
        taken = shards([tmp_path / "X.npz"]).take(np.arange(12))
        assert taken.format == "csr"
        assert_array_equal(taken.toarray(), X)

    def test_row_blocks_keeps_the_sources(self, tmp_path):
        np.save(tmp_path / "X.npy", table(10, 3))
        blocks = shards([tmp_path / "X.npy"])
        again = row_blocks(blocks, n_threads=2)
        assert again.sources is blocks.sources and (blocks.n_threads, again.n_threads) == (1, 2)


class TestRefusals:
    def refuse(self, paths, match):
        with pytest.raises(InvalidDataError, match=match):
            shards(paths)

    def test_wrong_suffix(self, tmp_path):
        (tmp_path / "X.csv").write_text("1,2")
        self.refuse([tmp_path / "X.csv"], r"X\.csv ends in '\.csv'; shards must be .* files: convert it")

    def test_not_a_list(self, tmp_path):
        self.refuse("X.npy", r"shards\(\) got 'X\.npy'; pass a list of one or more file names")
        self.refuse(tmp_path / "X.npy", "pass a list of one or more file names")

    @pytest.mark.parametrize("paths", [[], ()])
    def test_empty_list(self, paths):
        self.refuse(paths, r"shards\(\) got [\[\(][\]\)]; pass a list of one or more")

    def test_unequal_columns(self, tmp_path):
        np.save(tmp_path / "a.npy", np.ones((3, 4)))
        np.savez(tmp_path / "b.npz", X=np.ones((3, 2)))
        self.refuse([tmp_path / "a.npy", tmp_path / "b.npz"], r"Shards have \[2, 4\] columns; all must have the same")

    @pytest.mark.parametrize("shape", [(3,), (), (2, 3, 4)])
    def test_not_a_table(self, shape, tmp_path):
        np.save(tmp_path / "a.npy", np.ones(shape))
        np.savez(tmp_path / "a.npz", X=np.ones(shape))
        for suffix in ("npy", "npz"):
            path = tmp_path / f"a.{suffix}"
            self.refuse([path], rf"a\.{suffix} has {len(shape)} dimensions; rows must form a table of 2: reshape")

    def test_pickled_objects(self, tmp_path):
        X = np.array([[{"a": 1}]], dtype=object)
        np.save(tmp_path / "a.npy", X, allow_pickle=True)
        np.savez(tmp_path / "a.npz", X=X)
        self.refuse([tmp_path / "a.npy"], r"a\.npy cannot be read as \.npy: .*objects.*Write it again")
        self.refuse([tmp_path / "a.npz"], r"a\.npz cannot be read as \.npz: .*allow_pickle.*Write it again")

    @pytest.mark.parametrize("dtype", ["U3", "S2", complex, "datetime64[s]"])
    def test_no_numbers(self, dtype, tmp_path):
        X = np.zeros((2, 2), dtype)
        np.save(tmp_path / "a.npy", X)
        np.savez(tmp_path / "a.npz", X=X)
        for suffix in ("npy", "npz"):
            self.refuse([tmp_path / f"a.{suffix}"], rf"a\.{suffix} has dtype .*; only numbers can be clustered")

    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"garbage that is long enough", b"\x93NUMPY"])
    @pytest.mark.parametrize("suffix", ["npy", "npz"])
    def test_broken_file(self, content, suffix, tmp_path):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(content)
        self.refuse([path], rf"a\.{suffix} cannot be read as \.{suffix}: .*Write it again with numpy")

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    def test_damaged_archive(self, save, tmp_path):
        save(tmp_path / "a.npz", X=np.arange(4000.0).reshape(400, 10))
        content = bytearray((tmp_path / "a.npz").read_bytes())
        content[900:1000] = bytes(100)
        (tmp_path / "a.npz").write_bytes(content)
        self.refuse([tmp_path / "a.npz"], r"a\.npz cannot be read as \.npz")

    def test_suffix_that_lies(self, tmp_path):
        with open(tmp_path / "a.npz", "wb") as file:
            np.save(file, np.ones((2, 2)))
        with open(tmp_path / "a.npy", "wb") as file:
            np.savez(file, X=np.ones((2, 2)))
        self.refuse([tmp_path / "a.npz"], r"a\.npz cannot be read as \.npz")
        self.refuse([tmp_path / "a.npy"], r"a\.npy cannot be read as \.npy")

    def test_archive_without_a_table(self, tmp_path):
        np.savez(tmp_path / "a.npz", Y=np.ones((2, 2)), Z=np.ones(3))
        self.refuse([tmp_path / "a.npz"], r"a\.npz holds the arrays \['Y', 'Z'\]; expected an array named 'X'")

    def test_column_beyond_the_table(self, tmp_path):
        X = sp.csr_array(np.eye(3))
        np.savez(tmp_path / "a.npz", data=X.data, indices=[0, 99, 2], indptr=X.indptr, shape=X.shape, format=b"csr")
        self.refuse(
            [tmp_path / "a.npz"], r"a\.npz cannot be read as \.npz: entries of a sparse matrix lie outside its shape"
        )

    @pytest.mark.parametrize("suffix", ["npy", "npz"])
    def test_missing_file(self, suffix, tmp_path):
        with pytest.raises(FileNotFoundError, match=rf"none\.{suffix}"):
            shards([tmp_path / f"none.{suffix}"])


@pytest.mark.parametrize(("form", "k"), [("csr", 2), ("csr", 3), ("csr_shards", 2), ("mixed_shards", 3)])
def test_sparse_rows_are_never_densified(form, k, tmp_path):
    n, d = 100_000, 125_000  # 100 GB as a table
    rng = np.random.default_rng(0)
    X = sp.csr_array((rng.normal(size=100_000), (rng.integers(0, n, 100_000), rng.integers(0, d, 100_000))), (n, d))
    if form == "csr":
        blocks = row_blocks(X)
    else:
        paths = [tmp_path / "0.npz", tmp_path / "1.npz"]
        sp.save_npz(paths[0], X[: n // 2])
        sp.save_npz(paths[1], X[n // 2 :])
        if form == "mixed_shards":
            paths.append(tmp_path / "2.npy")
            np.save(paths[2], np.ones((2, d), np.float32))
        blocks = shards(paths)
    n = blocks.shape[0]
    W, b = weights(k, d)
    tracemalloc.start()
    try:
        rows = CentredRows(blocks)
        term = HingeLoss(rows, k, loss="sum")
        labels, plane = term.best_labels(W, b)
        term.plane(W, b, np.roll(labels, 1))
        rows.scores(W, b)
        rows.largest_scores(W, b)
        term.shift([plane.codes, plane.codes], labels, np.roll(labels, 1))
        rows.class_sums(labels, k)
        sample = blocks.take(np.arange(0, n, 200))
        assert sp.issparse(sample)
        leading_variances(sample, rows.mean, k)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200 << 20
    assert plane.loss > 0


def test_the_list_of_representations_is_what_it_says(tmp_path):
    """Guards the other tests: dtypes, layouts and the number of sources are really different."""
    X = table(20, 3)
    made = {}
    for name, make in REPRESENTATIONS.items():
        (tmp_path / name).mkdir()
        made[name] = make(X, tmp_path / name)
    assert {name for name, blocks in made.items() if blocks.dtype == np.float32} == {
        "float32",
        "csr_float32",
        "feather_shards",
    }
    assert made["f_order"].sources[0].X.flags.f_contiguous and not made["f_order"].sources[0].X.flags.c_contiguous
    assert not made["read_only"].sources[0].X.flags.writeable
    assert isinstance(made["memmap"].sources[0].X, np.memmap)
    assert isinstance(made["npy_shards"].sources[1].X, np.memmap)
    assert made["csr_long_indices"].sources[0].X.indices.dtype == np.int64
    assert len(made["mixed_shards"].sources) == 3 and isinstance(made["mixed_shards"].sources[0], ArraySource)
    for name, blocks in made.items():
        whole = [source.read(0, source.shape[0]) for source in blocks.sources]
        assert {sp.issparse(part) for part in whole} == ({True, False} if name == "mixed_shards" else {name in SPARSE})
        assert_array_equal(np.concatenate([sp.csr_array(part).toarray() for part in whole]), X)


class InPieces(ArraySource):
    """A source that gives each span in three pieces."""

    def read(self, start, stop):
        yield from np.array_split(super().read(start, stop), 3)


def test_rows_of_a_span_in_pieces_meet_their_own_state_and_are_found_by_number():
    X, state = table(11, 2), np.arange(11.0)
    rows = RowBlocks([InPieces(X[:7]), InPieces(X[7:])])
    assert_array_equal(rows.map(lambda block: block.take(slice(None))), X)
    ((found,), _) = rows.sweep(lambda block, part: ((part * block.take(slice(None))[:, 0],), 0), state)
    assert_array_equal(found, state * X[:, 0])
    for chosen in ([0, 10], [3, 4, 6, 7], list(range(11))):
        assert_array_equal(rows.take(np.array(chosen)), X[chosen])


@pytest.mark.parametrize("columns", [[0, 1, 2], [2, 0]])
def test_features_are_divided_in_place_only_if_all_of_them_are_kept(columns):
    X, divisors = table(5, 3) + 1, np.array([2.0, 4.0, 8.0])[: len(columns)]
    before = X.copy()
    found = divided_columns(RowBlocks([ArraySource(X)]), np.array(columns), divisors)
    expected = before[:, columns] / divisors
    assert_array_equal(found.map(lambda block: block.take(slice(None))), expected)
    assert_array_equal(X, expected if len(columns) == 3 else before)


def test_features_of_rows_in_a_file_may_be_held_up_to_a_number_of_bytes(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", table(10, 3))
    rows = row_blocks(np.load(tmp_path / "x.npy", mmap_mode="r"))
    monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", 10 * 4 * 8)
    assert may_be_held(rows, 4) and not may_be_held(rows, 5)
    assert may_be_held(row_blocks(table(10, 3)), 5)
