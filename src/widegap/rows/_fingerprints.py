"""Recognising the rows of a fit, by digests that are the same for equal values, however they are stored.

``fingerprint`` looks at up to a thousand rows of a table, evenly spread, and costs next to nothing. ``digest_of_rows``
reads all rows, wherever they are, and notices any change:

    sum_i mix(h_i + mix(i))  mod 2^64,    h_i = sum_j key_j bits(x_ij)  mod 2^64,    key_j odd, bits(0) = 0,

a sum, so it does not depend on how rows are cut into blocks and where these are; a single changed entry always changes
h_i, and mix, a bijection, spreads the change over all bits.
"""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from widegap._types import Doubles, Ints, Matrix, SparseMatrix
from widegap.rows._blocks import Block
from widegap.rows._matrices import row_chunks
from widegap.rows._protocols import Rows

DIGEST_ROWS = 1000  # enough to recognise other data, few enough to look at in every fit
# The increment and the two multipliers of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
_GAMMA, _FIRST, _SECOND = (np.uint64(value) for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))

_Bits = npt.NDArray[np.uint64]


def fingerprint(X: Matrix) -> str:
    """Digest of a table; the same for equal values, however they are stored."""
    n, width = X.shape
    chosen = np.linspace(0, n - 1, min(n, DIGEST_ROWS)).astype(np.intp)
    digest = _digest(f"{n} rows, {width} columns")
    sparse = None if isinstance(X, np.ndarray) else _canonical_copy(X[chosen])
    for part in row_chunks(len(chosen), width):
        for array in _dense_entries(X[chosen[part]]) if sparse is None else _sparse_entries(sparse, part):
            digest.update(array.data)
    return digest.hexdigest()


def _dense_entries(rows: Matrix) -> tuple[Ints, Ints, Doubles]:
    """Starts of rows, columns and values of an array's entries, as CSR has them: five times as fast as by scipy."""
    assert isinstance(rows, np.ndarray)
    present = rows != 0
    starts, columns = np.append(0, np.cumsum(present.sum(axis=1))), np.nonzero(present)[1]
    return starts.astype(np.int64), columns.astype(np.int64, order="C"), rows[present].astype(np.float64, copy=False)


def _sparse_entries(rows: SparseMatrix, part: slice) -> tuple[Ints, Ints, Doubles]:
    """The same of some rows of a canonical CSR matrix."""
    starts = rows.indptr[part.start : part.stop + 1].astype(np.int64)
    entries = slice(starts[0], starts[-1])
    return starts - starts[0], rows.indices[entries].astype(np.int64), rows.data[entries].astype(np.float64)


def digest_of_rows(rows: Rows) -> str:
    """Digest of all rows in their order: one read."""
    n, width = rows.shape
    total = rows.reduce(_row_hashes, rows.numbers())
    assert total is not None
    return _digest(f"{n} rows, {width} columns, {int(total[0])}").hexdigest()


def _row_hashes(block: Block, numbers: Ints) -> _Bits:
    """Sum over the rows of a block, an array of one number, because arrays wrap around without a warning."""
    X = block.take(slice(None))
    keys = _mixed(np.arange(X.shape[1], dtype=np.uint64)) | np.uint64(1)
    hashes: _Bits
    if isinstance(X, np.ndarray):
        hashes = _words(X) @ keys
    else:
        rows = _canonical_copy(X)
        hashes = np.asarray(sp.csr_array((_words(rows.data), rows.indices, rows.indptr), shape=rows.shape) @ keys)
    return _mixed(hashes + _mixed(numbers.astype(np.uint64))).sum(keepdims=True)


def _words(values: npt.NDArray[np.number]) -> _Bits:
    """The bits of numbers, the upper half added to the lower, which is often empty; minus zero is zero."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


def _mixed(words: _Bits) -> _Bits:
    """SplitMix64's mixing of every number."""
    words = words + _GAMMA
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


def _canonical_copy(rows: Matrix) -> SparseMatrix:
    """The same values in float64, in one form: each stored once, in the order of columns, and no zeros."""
    doubles = rows.astype(np.float64)
    found: SparseMatrix = sp.csr_array(doubles) if isinstance(doubles, np.ndarray) else doubles
    found.sum_duplicates()
    found.eliminate_zeros()
    return found


def text_fingerprint(texts: Iterable[str]) -> str:
    """Digest of documents."""
    digest = _digest("documents")
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(content)} ".encode() + content)
    return digest.hexdigest()


def label_fingerprint(labels: npt.NDArray[np.integer]) -> str:
    """Digest of labels, whatever their dtype."""
    digest = _digest(f"{len(labels)} labels")
    digest.update(np.ascontiguousarray(labels, np.int64).data)
    return digest.hexdigest()


def _digest(start: str) -> blake2b:
    return blake2b(start.encode(), digest_size=16)
