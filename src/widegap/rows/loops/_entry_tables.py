"""Tables with a row of k numbers for every column of sparse rows, laid out so that an entry touches few cache lines.

A stored entry in column j needs the k weights of j. They are read as vectors of 8, 4, 2 or 1 numbers, which take a
quarter longer where they cross the border of a cache line. So weights are stored in groups of that many clusters, one
(d, lanes) table after the other, and memory begins at such a border. A group of 3, 5, 6 or 7 has some clusters
twice, the last of its first half: those of three are 0, 1, 1 and 2.
"""

import numpy as np

from widegap._types import Floats, FloatType

_DOUBLE = np.dtype(np.float64)
LINE_BYTES = 64  # a cache line of x86 and of most ARM processors; elsewhere borders are only less well met
MOST_LANES = 8  # the widest registers, in float64


def aligned_zeros(shape: tuple[int, ...], dtype: FloatType = _DOUBLE) -> Floats:
    """Zeros that begin at the border of a cache line."""
    size, item = int(np.prod(shape)), dtype.itemsize
    memory = np.zeros(size + LINE_BYTES // item, dtype)
    first = -memory.ctypes.data % LINE_BYTES // item
    return memory[first : first + size].reshape(shape)


def grouped(W: Floats, dtype: FloatType) -> Floats:
    """Weights (k, d) as groups of clusters, end to end: each has its first clusters, then its last."""
    k, d = W.shape
    sizes = [min(MOST_LANES, k - first) for first in range(0, k, MOST_LANES)]
    lanes = [1 << (size - 1).bit_length() for size in sizes]
    table = aligned_zeros((sum(lanes) * d,), dtype)
    for g, (size, width) in enumerate(zip(sizes, lanes, strict=True)):
        own = W[g * MOST_LANES :][:size]
        group = table[g * MOST_LANES * d :][: width * d].reshape(d, width)
        group[:, : width - width // 2] = own[: width - width // 2].T
        group[:, width - width // 2 :] = own[size - width // 2 :].T
    return table
