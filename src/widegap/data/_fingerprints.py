"""Telling the rows of a fit from others: a digest of their number and of up to a thousand of them, evenly spread."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from widegap.data._tables import row_chunks

ROWS = 1000


def fingerprint(X: Any) -> str:
    """Digest of a table; the same for equal values, however they are stored."""
    n, width = X.shape
    chosen = np.linspace(0, n - 1, min(n, ROWS)).astype(np.intp)
    digest = _digest(f"{n} rows, {width} columns")
    sparse = None if isinstance(X, np.ndarray) else _canonical(X[chosen])
    for part in row_chunks(len(chosen), width):
        rows = _canonical(X[chosen[part]]) if sparse is None else sparse
        starts = rows.indptr if sparse is None else rows.indptr[part.start : part.stop + 1]
        entries = slice(starts[0], starts[-1])
        for values in (
            (starts - starts[0]).astype(np.int64),
            rows.indices[entries].astype(np.int64),
            rows.data[entries],
        ):
            digest.update(values)
    return digest.hexdigest()


def _canonical(rows: Any) -> Any:
    """The same values stored in the one way: each once, in the order of columns, and no zeros."""
    rows = sp.csr_array(rows, dtype=np.float64)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def text_fingerprint(texts: Iterable[str]) -> str:
    """Digest of documents."""
    digest = _digest("documents")
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(content)} ".encode() + content)
    return digest.hexdigest()


def _digest(start: str) -> Any:
    return blake2b(start.encode(), digest_size=16)
