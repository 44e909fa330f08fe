"""What the other packages ask of rows and files, function by function, against plain NumPy."""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from _representations import table
from widegap.exceptions import InvalidDataError
from widegap.rows import shards
from widegap.rows._file_sizes import check_npz, check_row_count, check_width
from widegap.rows._known_frames import frame_of_clusters, known_frame
from widegap.rows._matrices import (
    check_finite,
    check_magnitude,
    column_sums,
    count_missing,
    distances_to,
    refuse_non_numbers,
    stacked,
    without_gaps,
    zeros_for_gaps,
)
from widegap.rows._sampling import all_or_drawn, drawn, drawn_as_repeated

X = table(20, 5)
SPARSE = sp.csr_array(X)


def test_samples_with_weights_and_without():
    weights = np.arange(20.0)
    for size in (3, 19, 50):
        for found in (drawn(20, size, np.random.default_rng(0), weights), drawn(20, size, np.random.default_rng(0))):
            assert len(set(found)) == len(found) and (np.diff(found) > 0).all()
        assert 0 not in drawn(20, size, np.random.default_rng(0), weights)
    repeated = drawn_as_repeated(20, 500, np.random.default_rng(0), weights)
    assert len(repeated) == 500 and 0 not in repeated and (repeated >= 10).mean() > 0.6
    assert len(drawn_as_repeated(20, 500, np.random.default_rng(0), None)) == 20
    assert_array_equal(all_or_drawn(20, 20, np.random.default_rng(0)), np.arange(20))
    assert len(all_or_drawn(20, 7, np.random.default_rng(0))) == 7


def test_dense_and_sparse_tables_answer_alike():
    centres = X[:3] + 0.5
    expected = np.linalg.norm(X[:, None] - centres, axis=2)
    for rows in (X, SPARSE):
        assert_allclose(column_sums(rows), X.sum(axis=0))
        assert_allclose(distances_to(centres, rows), expected, atol=1e-7)
        for other in (X, SPARSE):
            below = stacked(rows, other)
            assert sp.issparse(below) == (rows is SPARSE or other is SPARSE)
            assert_array_equal(below.toarray() if sp.issparse(below) else below, np.vstack([X, X]))
    gaps = X.copy()
    gaps[[0, 3], 2] = np.nan
    assert_array_equal(count_missing(gaps), [0, 0, 2, 0, 0])
    assert_array_equal(count_missing(sp.csr_array(gaps)), [0, 0, 2, 0, 0])
    filled, present = without_gaps(gaps)
    assert_allclose(filled[0, 2], np.nanmean(gaps[:, 2]))
    assert_array_equal(zeros_for_gaps(filled, present), np.nan_to_num(gaps))
    assert without_gaps(X)[1] is None and zeros_for_gaps(SPARSE, None) is SPARSE


def test_numbers_that_are_none_are_refused():
    with pytest.raises(InvalidDataError, match="masked array with 1 masked entries"):
        refuse_non_numbers(np.ma.masked_array([1.0, 2.0], [True, False]))
    with pytest.raises(InvalidDataError, match="dates or durations in place of numbers"):
        refuse_non_numbers(np.zeros(2, "m8[s]"))
    with pytest.raises(InvalidDataError, match="NaN, infinity, or values too large"):
        check_finite(np.array([[np.inf]]))
    for largest, word in ((1e-170, "vanish"), (1e170, "overflow")):
        with pytest.raises(InvalidDataError, match=f"squares of it {word} in float64"):
            check_magnitude(X, largest)
    assert refuse_non_numbers(X) is check_finite(X) is check_magnitude(X, 1.0) is X


def test_files_that_claim_more_than_they_hold(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"12")
    check_row_count(10_000_000, path)
    with pytest.raises(InvalidDataError, match="declares 10,000,001 rows in 2 bytes"):
        check_row_count(10_000_001, path)
    with pytest.raises(InvalidDataError, match="has 1,048,577 columns, but only 1 entries"):
        check_width(sp.csr_array((np.ones(1), [0], [0, 1]), shape=(1, (1 << 20) + 1)), "f")
    for head, match in (({"shape": (9, 9)}, r"declares shape \(9, 9\) of float64"), (None, "unsupported version")):
        part, archive = io.BytesIO(), io.BytesIO()
        if head is None:
            np.lib.format.write_array(part, X, version=(3, 0))
        else:
            np.lib.format.write_array_header_1_0(part, {"descr": "<f8", "fortran_order": False, **head})
        with zipfile.ZipFile(archive, "w") as parts:
            parts.writestr("note.txt", "no array")
            parts.writestr("X.npy", part.getvalue())
        with pytest.raises(InvalidDataError, match=match):
            check_npz(archive, "f")


def test_columns_of_one_name(tmp_path):
    pq.write_table(pa.Table.from_arrays([pa.array(X[:, 0]), pa.array(X[:, 1])], ["a", "a"]), tmp_path / "t.parquet")
    assert_array_equal(shards([tmp_path / "t.parquet"]).take(np.arange(20)), X[:, :2])


def test_frames_of_other_packages():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1.5, 2.5], "b": [1, 2]})
    assert known_frame(frame.to_arrow().to_batches()[0]).to_dict("list") == {"a": [1.5, 2.5], "b": [1, 2]}
    assert known_frame({"view": X})["view"] is X
    with pytest.raises(InvalidDataError, match=r"lazy frame; call \.collect\(\) first"):
        known_frame(frame.lazy())
    sums = pa.table({"a": pa.array([1, 2], pa.decimal128(20, 2))})
    assert known_frame(sums)["a"].dtype == np.float64
    column = pa.chunked_array([[1.0]])
    assert known_frame(column) is column
    found = {library: frame_of_clusters({"a": X[:2, 0]}, np.array([0, 3]), library) for library in ("polars", "pandas")}
    assert found["polars"]["cluster"].to_list() == found["pandas"].index.tolist() == [0, 3]
