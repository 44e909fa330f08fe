"""Tables with a row of k numbers for every column of sparse rows, laid out so that an entry touches few cache lines.

A stored entry in column j needs the k weights of j. They are read as vectors of 8, 4, 2 or 1 numbers, which take a
quarter longer where they cross the border of a cache line. So weights are stored in groups of that many clusters, one
(d, lanes) table after the other, and memory begins at such a border.
"""

import numpy as np

from widegap._types import Floats, FloatType

_DOUBLE = np.dtype(np.float64)
LINE_BYTES = 64  # a cache line of x86 and of most ARM processors; elsewhere borders are only less well met


def aligned_zeros(shape: tuple[int, ...], dtype: FloatType = _DOUBLE) -> Floats:
    """Zeros that begin at the border of a cache line."""
    size, item = int(np.prod(shape)), dtype.itemsize
    memory = np.zeros(size + LINE_BYTES // item, dtype)
    first = -memory.ctypes.data % LINE_BYTES // item
    return memory[first : first + size].reshape(shape)


def grouped(W: Floats, dtype: FloatType) -> Floats:
    """Weights (k, d) as groups of clusters, end to end."""
    k, d = W.shape
    table = aligned_zeros((k * d,), dtype)
    first = 0
    while first < k:
        lanes = min(8, 1 << ((k - first).bit_length() - 1))
        part = slice(first, first + lanes)
        table[first * d : (first + lanes) * d].reshape(d, lanes)[:] = W[part].T
        first += lanes
    return table
