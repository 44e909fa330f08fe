"""Rows of Parquet and Arrow files are those of the table, whatever the types of columns and the pieces of a file."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from widegap.exceptions import InvalidDataError
from widegap.rows._columnar import ColumnarSource

N, PIECE = 11, 4
WRITERS = {
    "parquet": lambda table, path: pq.write_table(table, path, row_group_size=PIECE),
    "feather": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed", chunksize=PIECE),
}
TYPES = [pa.bool_(), pa.int8(), pa.uint8(), pa.int32(), pa.uint64(), pa.float32(), pa.float64()]


def written(kinds, form, folder, missing=False):
    """A file with a column of each type, and its numbers."""
    numbers = np.random.default_rng(0).integers(0, 2, (N, len(kinds))).astype(float)
    if missing:
        numbers[3] = numbers[9] = np.nan
    columns = [pa.array([None if x != x else x for x in column], pa.float64()).cast(kind) for column, kind in
               zip(numbers.T, kinds, strict=True)]  # fmt: skip
    path = folder / f"x.{form}"
    WRITERS[form](pa.table(columns, [f"c{j}" for j in range(len(kinds))]), path)
    return path, numbers


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("form", WRITERS)
def test_every_span_of_rows_is_read_as_written(form, missing, tmp_path):
    path, numbers = written(TYPES, form, tmp_path, missing)
    source = ColumnarSource(path)
    assert source.shape == numbers.shape
    assert source.spans() == [(0, 4), (4, 8), (8, 11)]
    for start in range(N):
        for stop in range(start + 1, N + 1):
            np.testing.assert_array_equal(source.read(start, stop), numbers[start:stop])


@pytest.mark.parametrize("form", WRITERS)
def test_named_columns_come_in_their_order(form, tmp_path):
    path, numbers = written(TYPES, form, tmp_path)
    source = ColumnarSource(path, ["c4", "c0", "c6"])
    assert source.shape == (N, 3)
    np.testing.assert_array_equal(source.read(2, 9), numbers[2:9, [4, 0, 6]])


def test_single_precision_is_kept_only_where_all_columns_have_it(tmp_path):
    for kinds, expected in (([pa.float32()] * 2, np.float32), ([pa.float32(), pa.int8()], np.float64)):
        source = ColumnarSource(written(kinds, "parquet", tmp_path)[0])
        assert source.dtype == expected == source.read(0, N).dtype


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize(("kind", "word"), [(pa.string(), "string"), (pa.timestamp("ms"), r"timestamp\[ms\]")])
def test_columns_that_hold_no_numbers_are_refused_unless_others_are_asked_for(form, kind, word, tmp_path):
    path = tmp_path / f"x.{form}"
    WRITERS[form](pa.table([pa.array([1.5, 2.5]), pa.array([None, None], kind)], ["a", "b"]), path)
    assert ColumnarSource.column_names(path) == ["a", "b"]
    with pytest.raises(InvalidDataError, match=f"Column 'b' of .* has type {word}; only numbers can be clustered"):
        ColumnarSource(path)
    np.testing.assert_array_equal(ColumnarSource(path, ["a"]).read(0, 2), [[1.5], [2.5]])


def test_pieces_without_rows_are_no_spans(tmp_path):
    schema = pa.schema([("a", pa.float64())])
    with pa.ipc.new_file(str(tmp_path / "x.feather"), schema) as writer:
        for rows in ([], [1.0, 2.0], [], [3.0]):
            writer.write_batch(pa.record_batch([pa.array(rows, pa.float64())], schema=schema))
    source = ColumnarSource(tmp_path / "x.feather")
    assert source.spans() == [(0, 2), (2, 3)] and not source.in_memory
    np.testing.assert_array_equal(source.read(0, 3).ravel(), [1.0, 2.0, 3.0])
