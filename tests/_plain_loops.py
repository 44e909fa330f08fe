"""The loops that are made of LLVM vectors, in plain NumPy: nothing checks an index inside such a vector.

``tests/rows/test_passes.py`` compares each with its compiled loop. Under ``NUMBA_DISABLE_JIT=1``, where numba has no
LLVM vectors, ``install`` puts them in the places of the compiled ones, so that whole fits run as plain Python. They
refuse what a compiled loop would read or write beyond an array.
"""

import numpy as np

from widegap.rows.loops import _passes
from widegap.rows.loops._lanes import REGISTER_BYTES

TILE_ROWS = _passes.TILE_ROWS
NAMES = "load_tile", "tile_scores", "move_row", "add_tile", "add_products", "add_rows"


def install():
    for name in NAMES:
        setattr(_passes, name, globals()[name])


def check(*indices, tables=()):
    """Each pair (index, length) is within bounds; tables are contiguous, and tiles are whole vectors wide."""
    for index, length in indices:
        if not 0 <= index < length:
            raise IndexError(f"index {index} is out of bounds of {length}")
    for table in tables:
        if not table.flags.c_contiguous or table.shape[-1] * table.itemsize % REGISTER_BYTES:
            raise IndexError(f"a table of shape {table.shape} and strides {table.strides} is no table of whole vectors")


def load_tile(X, mean, first, R):
    n, d = X.shape
    rows = min(TILE_ROWS, n - first)
    check((first, n), (rows - 1, len(R)), (d - 1, R.shape[1]), (d - 1, len(mean)), tables=[R])
    R[:rows, :d] = X[first : first + rows] - mean
    return rows


def tile_scores(R, W, S, X, following):
    check((TILE_ROWS - 1, len(R)), (TILE_ROWS - 1, len(S)), (len(W) - 1, S.shape[1]), tables=[R, W])
    S[:] = R @ W.T


def move_row(R, r, N, z, q):
    check((r, len(R)), (z, len(N)), (q, len(N)), tables=[R, N])
    N[z] += R[r]
    N[q] -= R[r]


def add_tile(R, c, t):
    check((TILE_ROWS - 1, len(R)), (TILE_ROWS - 1, len(c)), tables=[R, t])
    t[0] += c @ R


def add_products(data, indices, first, last, W, d, S, r):
    entries, columns = entries_of(data, indices, first, last)
    k = S.shape[1]
    check((r, len(S)), (k * d - 1, len(W)), *((j, d) for j in columns))
    S[r] += entries @ columns_of(W, d, k)[columns]


def add_rows(data, indices, first, last, N, c):
    entries, columns = entries_of(data, indices, first, last)
    check((len(c) - 1, N.shape[1]), *((j, len(N)) for j in columns))
    np.add.at(N, columns, np.outer(entries, c))


def entries_of(data, indices, first, last):
    if last > first:
        check((first, len(data)), (last - 1, len(data)), (last - 1, len(indices)))
    return data[first:last], indices[first:last]


def columns_of(W, d, k):
    """Weights (d, k) from their groups of 8, then 4, 2 and 1 clusters, as many as there are."""
    sizes = [8] * (k // 8) + [size for size in (4, 2, 1) if k & size]
    stops = np.cumsum(sizes) * d
    return np.hstack([W[stop - size * d : stop].reshape(d, size) for size, stop in zip(sizes, stops, strict=True)])
