"""Scores and sums of dense rows, six at a time, by vector instructions that numba does not find by itself.

A tile R (TILE_ROWS, width) holds centred rows, and zeros beyond the last column, so that no loop has a remainder.
W and the sums have the same width. Twelve running sums, of six rows and two clusters, keep both multipliers of a core
busy, and a number that has been loaded is used two or six times. While a tile is copied and scored, the rows of the
next one are prefetched: reading and computing would take turns otherwise.

Kept after a measurement against plain numba with BLAS products of 32 or 128 rows at a time: a pass over 20,000 x 784
float32 numbers took 1.3 times as long for two clusters, and 1.4 times as long for ten, on one thread.

    tile_scores    S[r, p]  = R[r] . W[p]
    move_row       N[z] += R[r],  N[q] -= R[r]
    add_tile       t += sum_r c[r] R[r]
"""

from typing import Any

from numba import types
from numba.core import cgutils

from widegap._jit import jit
from widegap._types import Floats
from widegap.rows.loops._lanes import REGISTER_BYTES, Lanes, array_of, int64, intrinsic, prefetch

TILE_ROWS = 6  # with two clusters 12 running sums: as many as 16 registers hold beside the numbers they are made of
_FETCHED = 4  # rows of the next tile that are prefetched while this one is copied, the others while it is scored


def _row(builder: Any, array: Any, index: Any) -> Any:
    """Where a row of a table begins."""
    return builder.gep(array.data, [builder.mul(cgutils.unpack_tuple(builder, array.shape)[1], index)])


@intrinsic(prefer_literal=True)
def _products(typing, R, W, S, p, X, following, clusters, ahead):  # type: ignore[no-untyped-def]
    """Scores of a tile for some clusters from p on; meanwhile ``ahead`` rows of X from ``following`` are prefetched."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds, first = signature.args, args[3]
        tile, weights, scores, rows = (array_of(context, builder, kinds[i], args[i]) for i in (0, 1, 2, 4))
        lanes, n_clusters = Lanes(context, builder, kinds[0].dtype), clusters.literal_value
        R_rows = [_row(builder, tile, int64(r)) for r in range(TILE_ROWS)]
        W_rows = [_row(builder, weights, builder.add(first, int64(c))) for c in range(n_clusters)]
        next_rows = [_row(builder, rows, builder.add(args[5], int64(r))) for r in range(ahead.literal_value)]
        sums = [lanes.sums(n_clusters) for _ in range(TILE_ROWS)]

        def step(j):  # type: ignore[no-untyped-def]
            w = [lanes.load(builder.gep(row, [j])) for row in W_rows]
            for row, places in zip(R_rows, sums, strict=True):
                x = lanes.load(builder.gep(row, [j]))
                for c, place in enumerate(places):
                    builder.store(lanes.multiply_add(x, w[c], builder.load(place)), place)
            for row in next_rows:
                prefetch(builder, builder.gep(row, [j]))

        lanes.each(int64(0), cgutils.unpack_tuple(builder, tile.shape)[1], lanes.lanes, step)
        for r, places in enumerate(sums):
            out = builder.gep(_row(builder, scores, int64(r)), [first])
            for c, place in enumerate(places):
                builder.store(lanes.total(builder.load(place)), builder.gep(out, [int64(c)]))
        return context.get_dummy_value()

    return types.void(R, W, S, p, X, following, clusters, ahead), generate


@intrinsic
def move_row(typing, R, r, N, z, q):  # type: ignore[no-untyped-def]
    """Add row r of a tile to row z of N, and subtract it from row q."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        tile, sums = array_of(context, builder, kinds[0], args[0]), array_of(context, builder, kinds[2], args[2])
        lanes = Lanes(context, builder, kinds[0].dtype)
        row, to, off = _row(builder, tile, args[1]), _row(builder, sums, args[3]), _row(builder, sums, args[4])

        def step(j):  # type: ignore[no-untyped-def]
            x, gains, loses = lanes.load(builder.gep(row, [j])), builder.gep(to, [j]), builder.gep(off, [j])
            lanes.store(builder.fadd(lanes.load(gains), x), gains)
            lanes.store(builder.fsub(lanes.load(loses), x), loses)

        lanes.each(int64(0), cgutils.unpack_tuple(builder, tile.shape)[1], lanes.lanes, step)
        return context.get_dummy_value()

    return types.void(R, types.int64, N, types.int64, types.int64), generate


@intrinsic
def add_tile(typing, R, c, t):  # type: ignore[no-untyped-def]
    """Add the rows of a tile, each times its factor, to t."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        tile, factors, total = (array_of(context, builder, *pair) for pair in zip(signature.args, args, strict=True))
        lanes = Lanes(context, builder, signature.args[0].dtype)
        rows = [_row(builder, tile, int64(r)) for r in range(TILE_ROWS)]
        pulls = [lanes.spread(builder.load(builder.gep(factors.data, [int64(r)]))) for r in range(TILE_ROWS)]

        def step(j):  # type: ignore[no-untyped-def]
            place = builder.gep(total.data, [j])
            value = lanes.load(place)
            for row, pull in zip(rows, pulls, strict=True):
                value = lanes.multiply_add(lanes.load(builder.gep(row, [j])), pull, value)
            lanes.store(value, place)

        lanes.each(int64(0), cgutils.unpack_tuple(builder, tile.shape)[1], lanes.lanes, step)
        return context.get_dummy_value()

    return types.void(R, c, t), generate


def padded_width(X: Floats) -> int:
    """The width of tiles: the number of columns, rounded up to whole vectors."""
    lanes = REGISTER_BYTES // X.itemsize
    return -(-X.shape[1] // lanes) * lanes


@intrinsic(prefer_literal=True)
def _centre_row(typing, X, i, mean, R, r, ahead):  # type: ignore[no-untyped-def]
    """R[r] = X[i] - mean, up to the last whole vector; with ``ahead`` 1, row i + TILE_ROWS of X is prefetched."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        rows, centre, tile = (array_of(context, builder, kinds[a], args[a]) for a in (0, 2, 3))
        lanes = Lanes(context, builder, kinds[0].dtype)
        source, target = _row(builder, rows, args[1]), _row(builder, tile, args[4])
        following = _row(builder, rows, builder.add(args[1], int64(TILE_ROWS)))

        def step(j):  # type: ignore[no-untyped-def]
            x, m = (lanes.load(builder.gep(place, [j])) for place in (source, centre.data))
            lanes.store(builder.fsub(x, m), builder.gep(target, [j]))
            if ahead.literal_value:
                prefetch(builder, builder.gep(following, [j]))

        d = cgutils.unpack_tuple(builder, rows.shape)[1]
        lanes.each(int64(0), builder.and_(d, int64(-lanes.lanes)), lanes.lanes, step)
        return context.get_dummy_value()

    return types.void(X, i, mean, R, r, ahead), generate


@jit
def load_tile(X, mean, first, R):  # type: ignore[no-untyped-def]
    """Copy up to six centred rows into R; return how many."""
    n, d = X.shape
    rows = TILE_ROWS if n - first > TILE_ROWS else n - first
    whole = d - d % (REGISTER_BYTES // X.itemsize)
    for r in range(rows):
        if r < _FETCHED:
            _centre_row(X, first + r, mean, R, r, 1)
        else:
            _centre_row(X, first + r, mean, R, r, 0)
        for j in range(whole, d):
            R[r, j] = X[first + r, j] - mean[j]
    return rows


@jit
def tile_scores(R, W, S, X, following):  # type: ignore[no-untyped-def]
    """S[r, p] = R[r] . W[p], two clusters at a time; the next tile of X begins at row ``following``."""
    k = W.shape[0]
    later = following + _FETCHED
    if k < 3:
        for p in range(k):
            _products(R, W, S, p, X, later, 1, 2)
        return
    _products(R, W, S, 0, X, later, 2, 1)
    _products(R, W, S, 2 if k > 4 else k - 2, X, later + 1, 2, 1)
    for p in range(4, k, 2):
        _products(R, W, S, p if p + 2 < k else k - 2, X, later, 2, 0)
