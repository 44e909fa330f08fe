"""Whole tables: every function gives the same answer on every form of a table, and the one that plain NumPy gives."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from _representations import table
from widegap.exceptions import InvalidDataError
from widegap.features._principal import PrincipalAxes
from widegap.rows import _matrices as tables


def read_only(X, folder):
    X = X.copy()
    X.flags.writeable = False
    return X


def memmap(X, folder):
    np.save(folder / "table.npy", X)
    return np.load(folder / "table.npy", mmap_mode="r")


def long_indices(X, folder):
    held = sp.csr_array(X)
    held.indices, held.indptr = held.indices.astype(np.int64), held.indptr.astype(np.int64)
    return held


def untidy(X, folder):
    """Entries in two parts, some of which cancel, and stored zeros."""
    n, d = X.shape
    data = np.concatenate([X + 1, -np.ones((n, d))], axis=1).ravel()
    indices = np.tile(np.arange(d), 2 * n)
    return sp.csr_array((data, indices, np.arange(0, 2 * n * d + 1, 2 * d)), shape=(n, d))


FORMS = {
    "c_order": lambda X, folder: np.ascontiguousarray(X),
    "f_order": lambda X, folder: np.asfortranarray(X),
    "float32": lambda X, folder: X.astype(np.float32),
    "read_only": read_only,
    "memmap": memmap,
    "csr_array": lambda X, folder: sp.csr_array(X),
    "csr_matrix": lambda X, folder: sp.csr_matrix(X),
    "csr_float32": lambda X, folder: sp.csr_array(X.astype(np.float32)),
    "csr_long_indices": long_indices,
    "csr_untidy": untidy,
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def dense(X):
    return (X.toarray() if sp.issparse(X) else np.asarray(X)).astype(np.float64)


@every_form
def test_storage_and_rows(form, tmp_path):
    X = table(30, 5)
    made = form(X, tmp_path)
    assert tables.storage(made) == ("sparse" if sp.issparse(made) else "dense")
    for rows in (np.array([3, 17]), slice(4, 9), [29]):
        found = tables.dense_rows(made, rows)
        assert type(found) is np.ndarray and found.dtype == made.dtype
        assert_array_equal(found, X[rows])
    drawn = tables.sample_rows(made, 12, np.random.default_rng(0))
    expected = np.sort(np.random.default_rng(0).choice(30, 12, replace=False))
    assert_array_equal(dense(drawn), X[expected])
    assert_array_equal(dense(tables.sample_rows(made, 99, np.random.default_rng(0))), X)


@every_form
def test_moments_and_ranges(form, tmp_path):
    X = table(301, 6)
    X[:, 4] = 2.5
    made = form(X, tmp_path)
    mean, deviation = tables.column_moments(made)
    assert mean.dtype == deviation.dtype == np.float64
    assert_allclose(mean, X.mean(axis=0), rtol=1e-12, atol=1e-14)
    assert_allclose(deviation, X.std(axis=0), rtol=1e-12)
    assert deviation[4] == 0
    low, high = tables.column_ranges(made)
    assert_array_equal(low, X.min(axis=0))
    assert_array_equal(high, X.max(axis=0))


@every_form
def test_columns_far_from_zero_are_moved_there(form, tmp_path):
    X = table(40, 6, density=0.4)
    X[:, [1, 2]] = table(40, 2, seed=3) + 4096
    X[:, 3] = 7.0
    made = form(X, tmp_path)
    offsets = tables.column_offsets(made)
    new = form(table(12, 6, density=0.5), tmp_path)  # new rows may be anywhere, and sparse there
    assert_array_equal(dense(tables.shift_columns(new, offsets)), table(12, 6, density=0.5) - offsets)
    made = form(X, tmp_path)
    assert_array_equal(np.flatnonzero(offsets), [1, 2, 3])
    assert_allclose(offsets[1:4], X.mean(axis=0)[1:4], rtol=1e-15)
    found = tables.shift_columns(made, offsets)
    assert sp.issparse(found) == sp.issparse(made) and found.dtype == np.float64
    assert_array_equal(dense(found), X - offsets)
    assert_array_equal(dense(tables.without_far_offsets(made)), X - offsets)
    assert_array_equal(dense(made), X)  # which is left alone
    near = form(table(40, 6, density=0.4), tmp_path)
    assert tables.column_offsets(near) is None and tables.without_far_offsets(near) is near


@every_form
def test_weights(form, tmp_path):
    X = table(100, 4) * [1, 1, 1, 50]
    X[:, 2] = 7
    made = form(X, tmp_path)
    expected = np.divide(1, X.std(axis=0), where=[True, True, False, True], out=np.zeros(4))
    assert_allclose(tables.column_weights(made, True), expected, rtol=1e-6)
    assert tables.column_weights(made, False) is None
    auto = tables.column_weights(made, "auto")
    assert auto is None if sp.issparse(made) else auto == pytest.approx(expected, rel=1e-6)
    assert tables.column_weights(made[:, [0, 1, 2]], "auto") is None
    scaled = tables.scale_columns(made, expected)
    assert scaled.dtype == made.dtype and sp.issparse(scaled) == sp.issparse(made)
    assert_allclose(dense(scaled), X * expected, rtol=1e-6)
    assert tables.scale_columns(made, None) is made


def test_columns_that_vary_in_the_last_digit_only_get_no_weight():
    X = table(50, 3, density=1.0)
    X[:, 1] = 1.2345678901234567e19
    X[::2, 1] = np.nextafter(X[0, 1], np.inf)
    assert tables.column_moments(X)[1][1] == 0
    assert_array_equal(tables.column_weights(X, "auto"), [1, 0, 1])
    assert tables.column_weights(X, True)[1] == 0


@every_form
def test_distinct_rows(form, tmp_path):
    X = np.repeat(table(7, 4, density=0.6), 3, axis=0)
    X[0] *= -1.0  # minus zero is zero
    X[0] *= -1.0
    made = form(X, tmp_path)
    assert tables.count_distinct_rows(made, 100) == len(np.unique(X, axis=0))
    assert tables.count_distinct_rows(made, 4) == 4


@every_form
def test_shuffled_columns_keep_their_entries_and_lose_their_order(form, tmp_path):
    X = table(200, 5, density=0.5)
    made = form(X, tmp_path)
    found = tables.shuffle_columns(made, np.random.default_rng(0))
    assert sp.issparse(found) == sp.issparse(made) and found.dtype == made.dtype
    assert_array_equal(np.sort(dense(found), axis=0), np.sort(X, axis=0))
    same = [np.corrcoef(dense(found)[:, j], X[:, j])[0, 1] for j in range(5)]
    assert np.abs(same).max() < 0.3
    together = np.corrcoef(dense(found).T) - np.eye(5)
    assert np.abs(together).max() < 0.3
    again = tables.shuffle_columns(made, np.random.default_rng(0))
    assert_array_equal(dense(again), dense(found))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@every_form
def test_what_is_not_finite_is_refused(form, bad, tmp_path):
    X = table(10, 3)
    made = form(X, tmp_path)
    assert tables.check_finite(made) is made
    X[4, 1] = bad
    with pytest.raises(InvalidDataError, match="X contains NaN, infinity, or values too large for its dtype; impute"):
        tables.check_finite(form(X, tmp_path))
    with pytest.raises(InvalidDataError, match="The data contain NaN, infinity"):
        tables.column_moments(form(X, tmp_path))


@every_form
def test_principal_axes(form, tmp_path):
    X = table(90, 5) * [4, 2, 1, 1, 1]
    found = PrincipalAxes(form(X, tmp_path), 2, 0).coordinates(form(X, tmp_path))
    centred = X - X.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    expected = centred @ axes.T / np.sqrt(centred.var(axis=0).sum())
    assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (2, 600), (3, 1), (5, 2)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_principal_axes_are_as_many_as_there_are(shape, form):
    X = table(*shape, density=1.0)
    if shape[0] == 1:
        with pytest.raises(InvalidDataError, match="All 1 rows are equal"):
            PrincipalAxes(form(X), 2, 0)
        return
    X[1] += 1
    found = PrincipalAxes(form(X), 2, 0).coordinates(form(X))
    assert found.shape[0] == shape[0] and 1 <= found.shape[1] <= 2
    assert_allclose(found[:, 0].std(), np.linalg.svd(X - X.mean(axis=0))[1][0] / np.linalg.norm(X - X.mean(axis=0)))


# Edges of every bound, by hand


def test_chunks_of_rows_hold_as_many_numbers_as_the_cache(monkeypatch):
    monkeypatch.setattr(tables, "CACHED_NUMBERS", 12)
    assert tables.row_chunks(7, 4) == [slice(0, 3), slice(3, 6), slice(6, 9)]
    assert tables.row_chunks(2, 12) == tables.row_chunks(2, 99) == [slice(0, 1), slice(1, 2)]
    assert tables.row_chunks(0, 4) == []


@pytest.mark.parametrize(
    ("shape", "few"), [((16, 625), True), ((16, 626), False), ((17, 2), False), ((1, 10_000), True), ((0, 3), True)]
)
def test_few_sparse_rows_become_an_array(shape, few):
    X = sp.csr_array(shape)
    found = tables.dense_if_few(X)
    assert type(found) is np.ndarray if few else found is X
    assert found.shape == shape
    array = np.ones((2, 2))
    assert tables.dense_if_few(array) is array


@pytest.mark.parametrize(("dtype", "low", "high"), [(np.float64, 1e-18, 1e18), (np.float32, 1e-15, 1e15)])
def test_numbers_may_be_as_small_and_as_large_as_can_be_squared(dtype, low, high):
    X = np.ones((2, 2), dtype)
    for largest in (0.0, low, 1.0, high):
        assert tables.check_magnitude(X, largest) is X
    for largest, word in ((np.nextafter(low, 0), "vanish"), (np.nextafter(high, np.inf), "overflow")):
        with pytest.raises(InvalidDataError, match=f"squares of it {word} in {X.dtype}"):
            tables.check_magnitude(X, largest)


def test_a_number_is_a_giant_beyond_1e8_of_what_is_usual():
    X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 5.0]])  # usual is 1, about the medians 2 and 3
    for size in (1e8 + 3, 1e8 + 4):
        for sign in (1, -1):
            Y = X.copy()
            Y[4, 1] = sign * size + 6 * (sign < 0)  # the same distance from the median 3, or from 2 below it
            found = tables.lone_giant(Y, np.abs(Y).max())
            middle = np.median(Y[:, 1])
            assert (found is not None) == (abs(Y[4, 1] - middle) > 1e8)
            assert found is None or found == (abs(Y[4, 1] - middle), 1.0)
    assert tables.lone_giant(np.zeros((5, 2)), 1e30) is None
    Y = X * 0
    Y[2] = 1e20
    assert tables.lone_giant(Y, 1e20) is None  # what is usual is 0


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_medians_of_columns(n):
    X = np.random.default_rng(n).normal(size=(n, 4))
    assert_array_equal(tables._medians(X), np.median(X, axis=0))


def test_columns_have_other_units_beyond_ten_times_the_usual_deviation():
    X = np.array([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])
    assert tables.column_weights(X * [1, 1, 10], "auto") is None
    assert_allclose(tables.column_weights(X * [1, 1, 10.25], "auto"), [1, 1, 1 / 10.25])
    still = np.column_stack([X[:, :1], np.full(2, 7.0)])
    assert tables.column_weights(still, "auto") is None
    assert_array_equal(tables.column_weights(still, True), [1, 0])
    assert tables.column_weights(np.full((3, 2), 5.0), "auto") is None
    for standardize in (False, "auto"):
        assert tables.column_weights(sp.csr_array(X * [1, 1, 99]), standardize) is None


def test_a_column_is_far_beyond_a_thousand_deviations():
    X = np.array([[999.0, 1000.0, -1000.0, 3.0], [1001.0, 1002.0, -1002.0, 4.0]])
    assert_array_equal(tables.column_offsets(X), [0, 1001, -1001, 0])
    assert tables.column_offsets(X[:, [0, 3]]) is None


def test_a_sparse_table_of_more_than_1000_columns_holds_words():
    for width, words in ((1000, False), (1001, True)):
        twice = sp.csr_array((np.array([2.0, 2.0, -3.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, width))
        assert tables.largest_number(twice) == (3.0 if words else 4.0)  # of words, entries are not added up
        assert tables._holds_words(twice) == words
    assert not tables._holds_words(np.zeros((1, 1001)))
    assert tables.largest_number(np.zeros((0, 3))) == tables.largest_number(sp.csr_array((3, 4))) == 0


@every_form
def test_whole_columns_and_counts(form, tmp_path):
    X = table(30, 5)
    X[:, 1], X[:, 3] = np.arange(30) - 15, 0
    made = form(X, tmp_path)
    assert_array_equal(tables.whole_columns(made), [False, True, False, True, False])
    assert tables.count_distinct_rows(made, 31) == 30 and tables.count_distinct_rows(made, 3) == 3
    assert_array_equal(dense(tables.scale_table(made, np.arange(5.0), False)), X * np.arange(5))
    unit = dense(tables.scale_table(made, np.full(5, 2.0), True))
    assert_allclose(np.linalg.norm(unit, axis=1), np.ones(30), rtol=1e-6)


def test_indicators_and_means_of_clusters():
    assert_array_equal(tables.indicators(np.array([2, 0, 2]), 4).toarray(), np.eye(4)[[2, 0, 2]])
    means = tables.cluster_means(np.array([6.0, 0.0, -4.0]), np.array([3.0, 0.0, 0.5]))
    assert_array_equal(means, [2.0, np.nan, -8.0])
    X = np.array([[1.0, np.nan], [3.0, np.nan]])
    filled, present = tables.without_gaps(X)
    assert_array_equal(filled, [[1, 0], [3, 0]])  # a column of gaps alone has the mean 0
    assert_array_equal(present, [[1, 0], [1, 0]])


def test_dates_in_frames_are_refused_and_masks_that_mask_nothing_are_not():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0], "t": pd.to_datetime(["2020-01-01"])})
    with pytest.raises(InvalidDataError, match="Y holds datetime64.*, dates or durations in place of numbers"):
        tables.refuse_non_numbers(frame, "Y")
    masked = np.ma.masked_array([1.0, 2.0], [False, False])
    assert tables.refuse_non_numbers(masked) is masked
    assert tables.refuse_non_numbers(frame[["a"]]).shape == (1, 1)
