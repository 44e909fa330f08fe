"""The nearest rows by comparing all pairs of dense rows, and the compiled loops that all searches for neighbours share.

Products in float32 find the nearest rows, a block of rows after the other, and their distances are then computed from
the rows themselves. Rounding displaces a squared distance by about ``eps sqrt(d) (2 |x| + distance)^2``; where that is
more than a thousandth of the distance to the last neighbour (rows far from the mean and close to each other, equal
rows), products are taken in float64.
"""

import numpy as np

from widegap._jit import jit
from widegap._types import Doubles, Floats, Indices, Ints, Mask
from widegap.rows._threads import ordered_map

DISTANCES_HELD = 1 << 22  # distances of dense rows at a time, for every thread: 16 MiB; not tuned
LANES = 64  # lanes, at least, over which values are spread to bound the smallest
DECISIVE_ROUNDING = 1e-3  # rounding of a squared distance, relative to it, that may decide between neighbours


def nearest_rows(X: Floats, count: int, n_threads: int) -> tuple[Ints, Floats]:
    """The nearest other rows of all rows, and their distances, two tables (n, count)."""
    X = np.ascontiguousarray(X)
    centre = X.mean(axis=0, dtype=np.float64)
    columns = (X - centre.astype(X.dtype)).astype(np.float32, copy=False)
    nearest, distances = _search_rows(X, columns, np.arange(len(X)), count, n_threads)
    lengths = np.sqrt(np.einsum("ij,ij->i", columns, columns))
    blurred = np.flatnonzero(is_blurred(lengths, distances[:, -1], X.shape[1]))
    if len(blurred):
        nearest[blurred], distances[blurred] = _search_rows(X, X - centre, blurred, count, n_threads)
    return nearest, distances


def is_blurred(lengths: Floats, last: Floats, d: int) -> Mask:
    """For which rows the rounding of float32 products may decide between neighbours.

    ``lengths`` are those of the rows as the products have them, ``last`` the distances to the last neighbour.
    """
    rounding = np.finfo(np.float32).eps * (4 + np.sqrt(d)) * np.square(2 * lengths + last)
    return np.asarray(rounding > DECISIVE_ROUNDING * np.square(last))


def _search_rows(X: Floats, centred: Floats, wanted: Indices, count: int, n_threads: int) -> tuple[Ints, Floats]:
    """Neighbours of the rows numbered ``wanted``, found by products in the dtype of the centred rows."""
    norms, columns = np.einsum("ij,ij->i", centred, centred), -2 * centred.T
    step = max(1, DISTANCES_HELD // len(X))

    def search(start: int) -> tuple[Ints, Doubles]:
        rows = wanted[start : start + step]
        nearest = np.zeros((len(rows), count), np.int64)
        select_nearest(centred[rows] @ columns, norms, rows, nearest)
        distances: Doubles = measure_nearest(X, rows, X, nearest)
        return nearest, distances

    parts = list(ordered_map(search, range(0, len(wanted), step), n_threads))
    return np.concatenate([part for part, _ in parts]), np.concatenate([part for _, part in parts])


def select_nearest(products: Floats, norms: Floats, own: Ints, nearest: Ints) -> None:
    """For every row the numbers of the smallest of ``products + norms``, but for its own number if that is not -1.

    The products become these sums.
    """
    products += norms
    best = np.repeat(_bounds(products, nearest.shape[1])[:, None], nearest.shape[1], axis=1)
    rows, zeros = np.arange(len(own)), np.zeros(max(products.shape), products.dtype)
    merge_nearest(products, zeros[: len(own)], zeros[: len(norms)], np.arange(len(norms)), rows, own, best, nearest)


def _bounds(values: Floats, count: int) -> Floats:
    """For every row a bound below which more than ``count`` of its values are, infinite where there are few.

    The values are spread over lanes, and the lowest of more than ``count`` lanes are below the bound: this takes many
    numbers at a time, while a table of the best is updated one number at a time.
    """
    n, lanes = values.shape[1], max(LANES, 2 * count)
    if n < 2 * lanes:
        return np.full(len(values), np.inf, values.dtype)
    lowest = values[:, : n - n % lanes].reshape(len(values), -1, lanes).min(axis=1)
    lowest.partition(count, axis=1)
    bounds = np.nextafter(lowest[:, count], np.array(np.inf, values.dtype))
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
            while place > 0 and distances[r, place - 1] > total:
                distances[r, place] = distances[r, place - 1]
                nearest[r, place] = nearest[r, place - 1]
                place -= 1
            distances[r, place] = total
            nearest[r, place] = j
