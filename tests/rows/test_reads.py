"""How often a fit reads its rows before the search begins."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering
from widegap.base import _validation
from widegap.exceptions import InvalidDataError
from widegap.forest._forest_search import ForestSearch
from widegap.rows import _matrices
from widegap.rows._blocks import CsrBlock, DenseBlock, RowBlocks
from widegap.rows._matrices import column_ranges, largest_number, lone_giant
from widegap.rows._sources import ArraySource, held_table, row_blocks

X, _ = make_blobs(300, 4, centers=3, random_state=0)
MANY, _ = make_blobs(1200, 4, centers=3, random_state=0)  # more than set the width of a kernel


class CountingSource(ArraySource):
    """An array that counts the rows that were read."""

    def __init__(self, table, blocks):
        super().__init__(table)
        self.n_read, self.size = 0, len(table) // blocks

    def spans(self):
        return [(start, start + self.size) for start in range(0, self.shape[0], self.size)]

    def read(self, start, stop):
        self.n_read += stop - start
        return super().read(start, stop)


class BegunError(Exception):
    """A search would begin."""


@pytest.fixture
def without_search(monkeypatch):
    def begin(*arguments):
        raise BegunError

    monkeypatch.setattr(ForestSearch, "run", begin)


@pytest.mark.parametrize("k", [3, "auto"])
@pytest.mark.usefixtures("without_search")
@pytest.mark.parametrize(("in_memory", "reads"), [(True, 1), (False, 2)], ids=["memory", "file"])
def test_rows_of_a_source_are_read_for_their_moments_and_those_of_files_for_the_sample(k, in_memory, reads):
    source = CountingSource(MANY, blocks=10)
    source.in_memory = in_memory
    with pytest.raises(BegunError):
        MaxMarginClustering(k, random_state=0).fit(RowBlocks([source]))
    first_block = len(MANY) // 10  # for the row that tells whether rows are sparse
    assert source.n_read == reads * len(MANY) + first_block


@pytest.mark.parametrize("k", [3, "auto"])
@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.usefixtures("without_search")
def test_a_table_in_memory_is_read_for_its_largest_number_and_its_moments(monkeypatch, form, k):
    reads = []

    def counted(own, block, *weights):
        reads.append(block.X.shape)
        return own(block, *weights)

    for kind in (DenseBlock, CsrBlock):
        monkeypatch.setattr(kind, "moments", lambda block, *weights, own=kind.moments: counted(own, block, *weights))
    largest = _validation.largest_number
    monkeypatch.setattr(_validation, "largest_number", lambda rows: reads.append("largest") or largest(rows))
    monkeypatch.setattr(_matrices, "column_ranges", lambda rows: reads.append(rows.shape))  # for suspected giants only
    with pytest.raises(BegunError):
        MaxMarginClustering(k, random_state=0, standardize=False).fit(form(MANY))
    assert [read for read in reads if read in ("largest", MANY.shape)] == ["largest", MANY.shape]


def test_rows_in_memory_are_not_copied_to_be_sampled():
    blocks = row_blocks(X)
    assert held_table(blocks) is X
    assert held_table(row_blocks(np.asfortranarray(X))) is None  # sums would be taken in another order
    assert held_table(RowBlocks([ArraySource(X), ArraySource(X)])) is None


@pytest.mark.parametrize("standardize", [False, True])
def test_a_search_that_is_kept_does_not_change_with_the_users_table(standardize):
    table = X.copy()
    model = MaxMarginClustering(3, random_state=0, standardize=standardize).fit(table)
    expected = MaxMarginClustering(3, random_state=0, standardize=standardize).fit(X.copy())
    table[:] = 0
    np.testing.assert_array_equal(model.cut(5), expected.cut(5))
    assert not np.shares_memory(model._kept.space.rows, table)


def test_a_fit_leaves_the_table_as_it_is():
    table = X.copy()
    MaxMarginClustering("auto", random_state=0).fit(table)
    np.testing.assert_array_equal(table, X)


def sparse_tables():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.4)
    table[:, 0] = np.abs(table[:, 0]) + 1  # a column without zeros
    table[:, 1] = 0
    twice = sp.csr_array((np.array([2.0, 3.0, -1.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    return [sp.csr_array(table), sp.csr_array(table.astype(np.float32)), sp.csr_array((3, 4)), twice]


@pytest.mark.parametrize("table", sparse_tables(), ids=["float64", "float32", "empty", "stored twice"])
def test_ranges_of_sparse_columns_are_those_of_the_dense_table(monkeypatch, table):
    monkeypatch.setattr(sp.csr_array, "tocsc", None)  # the table is not turned to columns
    low, high = column_ranges(table)
    np.testing.assert_array_equal(low, table.toarray().min(axis=0))
    np.testing.assert_array_equal(high, table.toarray().max(axis=0))


def test_ranges_of_many_rows_are_those_of_all_of_them():
    table = np.random.default_rng(0).normal(size=(200_000, 3))
    low, high = column_ranges(table)
    np.testing.assert_array_equal([low, high], [table.min(axis=0), table.max(axis=0)])


@pytest.mark.parametrize("form", [np.array, np.asfortranarray, sp.csr_array], ids=["dense", "columns", "sparse"])
def test_the_largest_number_is_that_of_all_rows_whatever_its_sign(form):
    table = np.random.default_rng(0).normal(size=(200_000, 3))
    table[150_000, 1], table[3, 2] = -9.0, 8.0
    assert largest_number(form(table)) == 9
    assert largest_number(form(-table)) == 9
    table[199_999, 0] = np.nan
    assert np.isnan(largest_number(form(table)))


def test_the_largest_number_of_sparse_tables():
    twice = sp.csr_array((np.array([2.0, 3.0, -1.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    assert largest_number(twice) == 5  # what is stored twice is added up
    assert largest_number(sp.csr_array((3, 4))) == 0
    words = sp.csr_array((np.array([2.0, -3.0]), (np.array([0, 1]), np.array([7, 1500]))), shape=(3, 2000))
    assert largest_number(words) == 3


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_columns_are_read_for_a_giant_only_where_there_may_be_one(monkeypatch, form, offset):
    table = np.random.default_rng(0).normal(size=(2000, 3)) + offset
    table[77, 1] = 1e10
    largest, usual = lone_giant(form(table), 1e10)
    assert largest == pytest.approx(1e10, rel=1e-3)
    assert 0.5 < usual < 1
    table[77, 1] = 1e7
    monkeypatch.setattr(_matrices, "column_ranges", None)
    assert lone_giant(form(table), 1e7) is None


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_numbers_that_are_not_finite_are_refused_as_before(form, wrong):
    table = X.copy()
    table[7, 2] = wrong
    with pytest.raises((InvalidDataError, ValueError), match="NaN|infinity"):
        MaxMarginClustering(3).fit(form(table))
