"""Columns of texts of which many are the same: each different one once, and its number in every row."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from widegap.tables._arrow_tables import release_memory

FEW_TEXTS = 1 / 2  # different texts per row, in the first rows, up to which a column is kept so
ROWS_OF_REPEATS = 4096  # which tell how often texts repeat; not tuned
MOST_BYTES = 1 << 30  # of one array of texts, whose places have 32 bits


def compact(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Batches of texts as one table, whose columns of few different ones are dictionaries."""
    columns: list[list[pa.Array]] = []
    names: list[str] = []
    repeats: list[bool] = []
    for batch in batches:
        if not columns:
            names, repeats = batch.schema.names, [_repeats(column) for column in batch.columns]
            columns = [[] for _ in names]
        for j, column in enumerate(batch.columns):
            columns[j].append(pc.dictionary_encode(column) if repeats[j] else column)
    found: list[Any] = []
    while columns:
        chunks = columns.pop(0)
        # As one piece: many small ones among those that are free again keep memory from being given back.
        found.append(_narrow(chunks) if isinstance(chunks[0], pa.DictionaryArray) else _joined(chunks))
    release_memory()
    return pa.Table.from_arrays(found, names=names)


def _joined(chunks: list[pa.Array]) -> Any:
    """Texts one behind the other; as they are where they are too many for one array."""
    is_short = sum(chunk.nbytes for chunk in chunks) < MOST_BYTES
    return pa.concat_arrays(chunks) if is_short else pa.chunked_array(chunks)


def _repeats(column: pa.StringArray) -> bool:
    """Whether a column holds few different texts."""
    first = column.slice(0, ROWS_OF_REPEATS)
    return len(pc.unique(first)) <= FEW_TEXTS * len(first)


def _narrow(chunks: list[Any]) -> pa.DictionaryArray:
    """A column of dictionaries with one dictionary, and numbers of as few bytes as it needs."""
    unified = pa.chunked_array(chunks).unify_dictionaries().chunks
    size = len(unified[0].dictionary)
    kind = next(kind for kind in (pa.int8(), pa.int16(), pa.int32()) if size <= np.iinfo(kind.to_pandas_dtype()).max)
    indices = pa.concat_arrays([chunk.indices.cast(kind) for chunk in unified])
    return pa.DictionaryArray.from_arrays(indices, unified[0].dictionary)
