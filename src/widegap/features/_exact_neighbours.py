"""The nearest rows by comparing all pairs of rows, and the compiled loops that all searches for neighbours share.

Products in float32 find the nearest rows and a few more, a block of rows after the other, and their distances are then
computed from the rows themselves. Of rows at the same distance those with lower numbers are nearer. Rounding displaces
a squared distance by about ``eps sqrt(d) (2 |x| + distance)^2``; where a row that was not among the few could be nearer
by as much (many rows at the same distance, rows far from the mean and close to each other), products are taken in
float64, and rounded, so that equal distances are equal.
"""

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from widegap._jit import jit
from widegap._types import Doubles, Floats, Indices, Ints, Mask, SparseMatrix
from widegap.features._rounding import LAST_BITS
from widegap.rows._matrices import row_chunks
from widegap.rows._threads import ordered_map

DISTANCES_HELD = 1 << 22  # distances of dense rows at a time, for every thread: 16 MiB; not tuned
LANES = 64  # lanes, at least, over which values are spread to bound the smallest
SPARE = 4  # rows beyond the neighbours asked for; not tuned
SAME_DISTANCE = 1e-9  # of the squared distance to the last neighbour: finer differences count as ties; not tuned
SPARSE_BITS = 32  # of the longest squared length of sparse rows: finer differences count as ties; not tuned
DECISIVE_ROUNDING = 1e-3  # rounding of a squared distance, relative to it, that may decide between neighbours


def nearest_rows(X: Floats, count: int, n_threads: int) -> tuple[Ints, Floats]:
    """The nearest other rows of all rows, and their distances, two tables (n, count)."""
    if len(X) == 1:  # a row has no others: infinitely far
        return np.zeros((1, count), np.int64), np.full((1, count), np.inf)
    X = np.ascontiguousarray(X)
    centre = X.mean(axis=0, dtype=np.float64)
    columns = (X - centre.astype(X.dtype)).astype(np.float32, copy=False)
    lengths = np.sqrt(np.einsum("ij,ij->i", columns, columns))
    every, width = np.arange(len(X)), min(count + SPARE, len(X) - 1)
    nearest, distances, beyond = _search_rows(X, columns, every, np.zeros(len(X)), width, n_threads)
    last = np.square(distances[:, count - 1])
    beyond = np.square(lengths) + (np.inf if width == len(X) - 1 else beyond)
    beyond -= _rounding(lengths, distances[:, -1], X.shape[1])
    nearest, distances = nearest[:, :count].copy(), distances[:, :count].copy()
    missed = np.flatnonzero(~(last * (1 + LAST_BITS) < beyond))  # also where float32 overflows
    if len(missed):
        least = np.finfo(np.float64).tiny
        steps = np.ldexp(1.0, np.frexp(np.maximum(SAME_DISTANCE * last[missed], least))[1])
        chosen, away, _ = _search_rows(X, X - centre, missed, steps, width, n_threads)
        nearest[missed], distances[missed] = chosen[:, :count], away[:, :count]
    return nearest, distances


def nearest_sparse_rows(X: SparseMatrix, count: int, n_threads: int) -> tuple[Ints, Floats]:
    """The same for CSR rows: products of sparse rows are sums in a fixed order, and their rounding is small."""
    X = X.astype(np.float64)
    norms, columns = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel(), X.T
    step = np.ldexp(1.0, np.frexp(norms.max(initial=0.0))[1] - SPARSE_BITS)
    size, far = max(1, DISTANCES_HELD // X.shape[0]), 1.5 / np.finfo(np.float64).eps * step

    def search(start: int) -> tuple[Ints, Doubles]:
        rows = np.arange(start, min(start + size, X.shape[0]))
        squares: Doubles = safe_sparse_dot(X[rows], columns, dense_output=True)
        squares *= -2
        squares += norms
        squares += norms[rows, None]
        nearest, rounded = np.zeros((len(rows), count), np.int64), squares + far
        rounded -= far
        select_nearest(rounded, rows, nearest)
        return nearest, np.sqrt(np.maximum(np.take_along_axis(squares, nearest, axis=1), 0.0))

    parts = list(ordered_map(search, range(0, X.shape[0], size), n_threads))
    return np.concatenate([part for part, _ in parts]), np.concatenate([part for _, part in parts])


def is_blurred(lengths: Floats, last: Floats, d: int) -> Mask:
    """For which rows the rounding of float32 products may decide between neighbours.

    ``lengths`` are those of the rows as the products have them, ``last`` the distances to the last neighbour.
    """
    return np.asarray(_rounding(lengths, last, d) > DECISIVE_ROUNDING * np.square(last))


def _rounding(lengths: Floats, last: Floats, d: int) -> Floats:
    """By how much squared distances that are not larger than the last may be wrong in float32."""
    return np.asarray(np.finfo(np.float32).eps * (4 + np.sqrt(d)) * np.square(2 * lengths + last))


def _search_rows(
    X: Floats, centred: Floats, wanted: Indices, steps: Doubles, count: int, n_threads: int
) -> tuple[Ints, Floats, Floats]:
    """Neighbours of the rows numbered ``wanted``, found by products in the dtype of the centred rows.

    Also their distances, and a bound on the squared distances of all other rows less the row's own squared length. The
    products are rounded to multiples of ``steps``, a number for each row, unless these are 0.
    """
    norms, columns = np.einsum("ij,ij->i", centred, centred), -2 * centred.T
    size = max(1, DISTANCES_HELD // len(X))

    def search(start: int) -> tuple[Ints, Doubles, Floats]:
        places = slice(start, start + size)
        rows = wanted[places]
        nearest, products = np.zeros((len(rows), count), np.int64), centred[rows] @ columns
        products += norms
        if steps.any():
            products += norms[rows, None]
            far = 1.5 / np.finfo(np.float64).eps * steps[places, None]
            products += far
            products -= far
        beyond = select_nearest(products, rows, nearest)
        distances: Doubles = measure_nearest(X, rows, X, nearest)
        return nearest, distances, beyond

    parts = list(ordered_map(search, range(0, len(wanted), size), n_threads))
    return tuple(np.concatenate(found) for found in zip(*parts, strict=True))  # type: ignore[return-value]


def select_nearest(sums: Floats, own: Ints, nearest: Ints) -> Floats:
    """For every row the numbers of the smallest of its ``sums``, but for its own number if that is not -1.

    Returns the largest of those selected.
    """
    best = np.repeat(_bounds(sums, nearest.shape[1])[:, None], nearest.shape[1], axis=1)
    rows, zeros = np.arange(len(own)), np.zeros(max(sums.shape), sums.dtype)
    n = sums.shape[1]
    merge_nearest(sums, zeros[: len(own)], zeros[:n], np.arange(n), rows, own, best, nearest)
    return best[:, -1]


def _bounds(values: Floats, count: int) -> Floats:
    """For every row a bound below which more than ``count`` of its values are, infinite where there are few.

    The values are spread over lanes, and the lowest of more than ``count`` lanes are below the bound: this takes many
    numbers at a time, while a table of the best is updated one number at a time. Halves of the columns are compared
    until hardly more lanes are left than that takes.
    """
    lanes, bounds = max(LANES, 2 * count), np.full(len(values), np.inf, values.dtype)
    if values.shape[1] < 2 * lanes:
        return bounds
    for rows in row_chunks(*values.shape):
        lowest = values[rows]
        while lowest.shape[1] >= 2 * lanes:
            half = lowest.shape[1] // 2
            lowest = np.minimum(lowest[:, :half], lowest[:, half : 2 * half])
        lowest.partition(count, axis=1)
        bounds[rows] = lowest[:, count]
    bounds = np.nextafter(bounds, np.array(np.inf, values.dtype))
    bounds[np.isnan(bounds)] = np.inf  # some values overflow
    return bounds


@jit
def merge_nearest(products, lengths, norms, numbers, rows, own, best, nearest):  # type: ignore[no-untyped-def]
    """Merge some numbered columns of distances into the smallest of every row so far, in place.

    ``products + lengths + norms`` (by row, by column) are squared distances of the rows numbered ``rows`` in the tables
    of the smallest, ``best`` and ``nearest``; a row's own number is left out.
    """
    last = best.shape[1] - 1
    for r in range(len(rows)):
        i = rows[r]
        bound = best[i, last] - lengths[r]
        for j in range(len(norms)):
            value = products[r, j] + norms[j]
            if value < bound and numbers[j] != own[i]:
                value += lengths[r]
                place = last
                while place > 0 and best[i, place - 1] > value:
                    best[i, place] = best[i, place - 1]
                    nearest[i, place] = nearest[i, place - 1]
                    place -= 1
                best[i, place] = value
                nearest[i, place] = numbers[j]
                bound = best[i, last] - lengths[r]


def measure_nearest(queries: Floats, rows: Indices, X: Floats, nearest: Ints) -> Doubles:
    """Distances from the queries numbered ``rows`` to the rows selected for each, which are sorted by them in place."""
    distances = np.zeros(nearest.shape)
    _measure(queries, rows, X, nearest, distances)
    return np.sqrt(distances)


@jit
def _measure(queries, rows, X, nearest, distances):  # type: ignore[no-untyped-def]
    """The squares of these distances."""
    for r in range(len(rows)):
        for c in range(nearest.shape[1]):
            j = nearest[r, c]
            total = 0.0
            for f in range(X.shape[1]):
                step = np.float64(queries[rows[r], f]) - np.float64(X[j, f])
                total += step * step
            place = c
            while place > 0 and _is_nearer(total, j, distances[r, place - 1], nearest[r, place - 1]):
                distances[r, place] = distances[r, place - 1]
                nearest[r, place] = nearest[r, place - 1]
                place -= 1
            distances[r, place] = total
            nearest[r, place] = j


@jit
def _is_nearer(square, number, other, other_number):  # type: ignore[no-untyped-def]
    """Whether a row is nearer than another, or as near with a lower number."""
    gap, tie = other - square, LAST_BITS * square
    return gap > tie or (gap >= -tie and number < other_number)
