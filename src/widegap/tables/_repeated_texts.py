"""Columns of texts of which many are the same: each different one once, and its number in every row."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FEW_TEXTS = 1 / 2  # different texts per row, in the first rows, up to which a column is kept so
FIRST_ROWS = 4096


def compact(batches: Iterable[pa.RecordBatch], pool: pa.MemoryPool) -> pa.Table:
    """Batches of texts as one table, whose columns of words are dictionaries; numbers are read faster as texts."""
    columns: list[list[pa.Array]] = []
    names: list[str] = []
    repeats: list[bool] = []
    for batch in batches:
        if not columns:
            names, repeats = batch.schema.names, [_repeats(column) for column in batch.columns]
            columns = [[] for _ in names]
        for j, column in enumerate(batch.columns):
            columns[j].append(pc.dictionary_encode(column, memory_pool=pool) if repeats[j] else column)
    found = []
    while columns:
        chunks = columns.pop(0)
        found.append(_narrow(pa.chunked_array(chunks)) if isinstance(chunks[0], pa.DictionaryArray) else pa.chunked_array(chunks))
    return pa.Table.from_arrays(found, names=names)


def _repeats(column: pa.StringArray) -> bool:
    """Whether a column holds few different texts that are no numbers."""
    first = column.slice(0, FIRST_ROWS)
    if len(pc.unique(first)) > FEW_TEXTS * len(first):
        return False
    try:
        pc.cast(first.filter(pc.not_equal(first, "")), pa.float64())
    except pa.ArrowInvalid:
        return True
    return False


def _narrow(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of dictionaries with one dictionary, and numbers of as few bytes as it needs."""
    unified = column.unify_dictionaries()
    size = len(unified.chunk(0).dictionary)
    kind = next(kind for kind in (pa.int8(), pa.int16(), pa.int32()) if size <= np.iinfo(kind.to_pandas_dtype()).max)
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(chunk.indices.cast(kind), chunk.dictionary) for chunk in unified.chunks]
    )
