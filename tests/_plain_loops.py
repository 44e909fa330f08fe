"""The loops that are made of LLVM vectors, in plain NumPy: nothing checks an index inside such a vector.

Under ``NUMBA_DISABLE_JIT=1``, where numba has no LLVM vectors, ``install`` puts these in their places, so that whole
fits run as plain Python. They refuse what a compiled loop would read or write beyond an array.
"""

import numpy as np

from widegap.rows.loops import _passes, _tiles, _vectors
from widegap.rows.loops._lanes import REGISTER_BYTES

TILE_ROWS = _tiles.TILE_ROWS


def install():
    for module in (_tiles, _passes, _vectors):
        for loop in (_centre_row, _products, move_row, add_tile, _add_products, _add_rows):
            if hasattr(module, loop.__name__):
                setattr(module, loop.__name__, loop)


def check(*indices, tables=()):
    """Each pair (index, length) is within bounds; tables are contiguous, and tiles are whole vectors wide."""
    for index, length in indices:
        if not 0 <= index < length:
            raise IndexError(f"index {index} is out of bounds of {length}")
    for table in tables:
        if not table.flags.c_contiguous or table.shape[-1] * table.itemsize % REGISTER_BYTES:
            raise IndexError(f"a table of shape {table.shape} and strides {table.strides} is no table of whole vectors")


def _centre_row(X, i, mean, R, r, ahead):
    whole = X.shape[1] - X.shape[1] % (REGISTER_BYTES // X.itemsize)
    check((i, len(X)), (r, len(R)), (whole, R.shape[1] + 1), (whole, len(mean) + 1), tables=[R])
    R[r, :whole] = X[i, :whole] - mean[:whole]


def _products(R, W, S, p, X, following, clusters, ahead):
    last = p + clusters - 1
    check((p, len(W)), (last, len(W)), (last, S.shape[1]), (TILE_ROWS, len(R) + 1), (TILE_ROWS, len(S) + 1))
    check(tables=[R, W])
    S[:TILE_ROWS, p : last + 1] = R[:TILE_ROWS] @ W[p : last + 1].T


def move_row(R, r, N, z, q):
    check((r, len(R)), (z, len(N)), (q, len(N)), tables=[R, N])
    N[z] += R[r]
    N[q] -= R[r]


def add_tile(R, c, t):
    check((TILE_ROWS, len(R) + 1), (TILE_ROWS, len(c) + 1), tables=[R, t])
    t[0] += c[:TILE_ROWS] @ R[:TILE_ROWS]


def _add_products(data, indices, first, last, W, d, S, r, column, lanes):
    entries, columns = entries_of(data, indices, first, last)
    check((r, len(S)), (column + lanes - 1, S.shape[1]), ((column + lanes) * d - 1, len(W)), *((j, d) for j in columns))
    group = W[column * d : (column + lanes) * d].reshape(d, lanes)
    S[r, column : column + lanes] += entries @ group[columns]


def _add_rows(data, indices, first, last, N, c, column, lanes):
    entries, columns = entries_of(data, indices, first, last)
    check((column + lanes - 1, N.shape[1]), (column + lanes - 1, len(c)), *((j, len(N)) for j in columns))
    np.add.at(N[:, column : column + lanes], columns, np.outer(entries, c[column : column + lanes]))


def entries_of(data, indices, first, last):
    if last > first:
        check((first, len(data)), (last - 1, len(data)), (last - 1, len(indices)))
    return data[first:last], indices[first:last]
